/* script_syntax.h - do the scripts of roles have a syntax that their shell can read?
 *
 * Each script of each role of a file is given to its own shell with -n, which reads it and runs
 * nothing: the shell that its first line names, or sh for a *.sh that names none, as the script jig
 * does it. Scripts in other languages are not looked at, nor is a shell that is not installed. What
 * a shell refuses is an error, and the barclamp is kept out, as with Lua that does not compile.
 *
 * Bounded: a shell has 5 s for one script, and all of them 30 s; what is not looked at then is
 * warned about.
 */
#pragma once

#include <stdatomic.h>

#include "content/tree.h"

/* `stop`: when true, the rest is left out; NULL: never. */
void script_syntax_check(struct diagnostics *r, struct content_tree *tree, const atomic_bool *stop);
/* File `i` is not imported. It is a draft from now on; one in JSON is left out. */
void script_syntax_exclude(struct content_tree *tree, uint32_t i);
