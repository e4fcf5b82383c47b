/* removed_calls.h - finds functions of `halligan` in Lua code that earlier versions had.
 *
 * Without this, such code would be loaded, and its hooks would fail when they are called. The code
 * is only read, not run. */
#pragma once

#include "base/text/str.h"

/* The line (from 1) of the first use of halligan.boot_served, outside of comments and strings; 0:
 * there is none. */
uint32_t removed_calls_find(struct str code);
