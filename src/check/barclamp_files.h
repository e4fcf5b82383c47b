/* barclamp_files.h - checks whether the files that the roles of a barclamp need exist.
 *
 * Checks names, types and permissions only; script_syntax.h reads the scripts. Files that are
 * missing, cannot be used, or belong to no role are reported.
 */
#pragma once

#include "content/tree.h"
#include "hooks/code_finder.h"

struct core;

/* Warn about files in the directories of role files that belong to no role. Must be called directly
 * after the tree was read, because it takes every error in the report for a file that could not be
 * read and whose roles may be missing. */
void barclamp_files_check_owners(struct diagnostics *report, const struct content_tree *tree);

struct barclamp_files {
    const struct core *core;        /* which jig is of which class */
    const struct code_finder *code; /* NULL: only its presence is checked */
    struct diagnostics *report;
};

/* Check the files of role `i` of a file; and those of all roles of a file. */
void barclamp_files_check_role(const struct barclamp_files *b, const struct barclamp_file *file,
                               const struct json *role, uint32_t i);
void barclamp_files_check_roles(const struct barclamp_files *b, const struct barclamp_file *file);
