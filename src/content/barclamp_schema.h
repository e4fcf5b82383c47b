/* barclamp_schema.h - the schema of a barclamp file: its keys and the types of their values.
 *
 * Tables list the keys of each map and the type of each value. The check continues after an error.
 * It accepts only trees of yaml_read: every error has a line, and the wrong value is marked as
 * broken (yaml.h).
 */
#pragma once

#include "base/json/json.h"
#include "content/diagnostics.h"

/* Add an error to the report for each wrong value or missing key, and a warning for each unknown
 * key. */
void barclamp_schema_check(struct diagnostics *r, struct str file, const struct json *tree);
