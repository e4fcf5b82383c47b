/* name_check.h - finds names in a barclamp that refer to objects that do not exist.
 *
 * Checked are required roles, wanted attribs and the roles that jigs require. The check runs after
 * all imports, so that their order does not matter. Objects that a draft of the tree defines count
 * as existing, because they will exist when the draft is corrected.
 */
#pragma once

#include "content/tree.h"

struct core;

void name_check_run(struct diagnostics *report, const struct core *core,
                    const struct content_tree *tree, const struct barclamp_file *file);
