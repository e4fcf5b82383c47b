/* name_check.h - names in a barclamp that no imported object has.
 *
 * Roles that are required, attribs that are wanted, roles that jigs need. It is asked when every
 * barclamp has been imported, so that the order of imports does not matter. What a draft of the
 * tree brings counts as there: once the draft is corrected, it is.
 */
#pragma once

#include "content/tree.h"

struct core;

void name_check_run(struct diagnostics *report, const struct core *core,
                    const struct content_tree *tree, const struct barclamp_file *file);
