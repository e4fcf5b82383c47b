/* code_finder.h - which hooks the Lua files of roles define, and what else they do.
 *
 * Compiles and runs each file once, in the sandbox it would run in, and remembers what it saw. It
 * lives as long as the report's arena.
 */
#pragma once

#include "content/barclamp_file.h"

struct seen_code;

struct code_finder {
    struct seen_code *seen; /* newest first */
};

struct hook_finder code_finder_seam(struct code_finder *f);

/* Does this file define do_transition? False for one that was not found, or is wrong. */
bool code_finder_has_transition(const struct code_finder *f, const char *lua_path);
