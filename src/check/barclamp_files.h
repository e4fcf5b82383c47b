/* barclamp_files.h - the files that lie beside a barclamp: are they what its roles need?
 *
 * Looks at names, kinds and permissions only; script_syntax.h reads them. What is missing, cannot
 * be used, or belongs to no role goes into the report.
 */
#pragma once

#include "content/tree.h"
#include "hooks/code_finder.h"

struct core;

/* What lies where files of roles lie, and belongs to none. To be called right after the tree was
 * read: an error of reading means that roles may be missing, any other does not. */
void barclamp_files_check_owners(struct diagnostics *report, const struct content_tree *tree);

struct barclamp_files {
    const struct core *core;        /* which jig is of which class */
    const struct code_finder *code; /* NULL: only its presence is checked */
    struct diagnostics *report;
};

/* What a role needs, the i-th of its file; and what all roles of a file need. */
void barclamp_files_check_role(const struct barclamp_files *b, const struct barclamp_file *file,
                               const struct json *role, uint32_t i);
void barclamp_files_check_roles(const struct barclamp_files *b, const struct barclamp_file *file);
