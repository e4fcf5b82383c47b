/* beside.h - the files that lie beside a barclamp: are they what its roles need?
 *
 * Looks at names, kinds and permissions only; no script is read. What is missing, cannot be used,
 * or belongs to no role goes into the report.
 */
#pragma once

#include "hooks/code_finder.h"
#include "cli/rehearsal.h"

/* What lies where files of roles lie, and belongs to none. To be called right after the tree was
 * read: an error of reading means that roles may be missing, any other does not. */
void beside_check_owners(struct report *report, const struct content_tree *tree);

struct beside {
    const struct rehearsal *rehearsal; /* which jig is of which class */
    const struct code_finder *code;
    struct report *report;
};

/* What the roles need. */
void beside_check_roles(const struct beside *b, const struct content_tree *tree);
