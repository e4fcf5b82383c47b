/* barclamp_schema.h - what a barclamp's file may look like.
 *
 * The keys of each map of the format, and the shape of each value, stand in tables here. Checking
 * goes on after each mistake. Only trees that yaml_read made can be checked: every complaint has
 * its line, and what it is about is marked as broken (yaml.h).
 */
#pragma once

#include "base/json/json.h"
#include "content/diagnostics.h"

/* Says what is wrong with a barclamp as errors, and which keys mean nothing here as warnings. */
void barclamp_schema_check(struct diagnostics *r, struct str file, const struct json *tree);
