/* code_finder.h - lists the hooks that Lua files of roles define, for the check of barclamps.
 *
 * Compiles and runs each file once, in the same sandbox as later calls, and stores what it defines.
 * It lives as long as the arena of the report. */
#pragma once

#include "content/barclamp_file.h"

struct seen_code;

struct code_finder {
    struct seen_code *seen; /* newest first */
};

struct hook_finder code_finder_hook_finder(struct code_finder *f);

/* True if this file defines do_transition. False for a file that was not read or is invalid. */
bool code_finder_has_transition(const struct code_finder *f, const char *lua_path);
