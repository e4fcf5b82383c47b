/* script_syntax.h - checks the syntax of the scripts of roles.
 *
 * Each script of each role is parsed by its shell with -n, which executes nothing. The shell is
 * that of the first line, or sh for a *.sh without one, as in the script jig. Scripts in other
 * languages are not checked, nor are scripts for a shell that is not installed. A syntax error
 * prevents the import of the barclamp, like Lua code that does not compile.
 *
 * A shell has 5 s for one script, and all scripts together have 30 s; scripts that are not checked
 * within this time are reported with a warning.
 */
#pragma once

#include <stdatomic.h>

#include "content/tree.h"

/* Check all files and drafts of the tree; files with errors are excluded. If *stop becomes true,
 * the remaining scripts are not checked; stop may be NULL. */
void script_syntax_check(struct diagnostics *r, struct content_tree *tree, const atomic_bool *stop);
/* Exclude file `i` from the import: a YAML file becomes a draft, a JSON file is removed. */
void script_syntax_exclude(struct content_tree *tree, uint32_t i);
