/* lua_libraries.h - the part of Lua's own library that a hook may use.
 *
 * Left out: whatever reaches outside (io, os, require, debug), compiles (load), matches by
 * backtracking (string.find and its kin), runs beside the count of instructions (coroutine,
 * setmetatable with its __gc), or differs from run to run (random, addresses, the order of next).
 * What is left cannot be changed by the code that uses it, so nothing is handed from one run to
 * the next.
 */
#pragma once

#include <lua.h>

/* Make the library of a new state. Inside sandbox_run only, like the two below. */
void lua_libraries_open(lua_State *lua);
/* Take the table on top of the stack and make it readable under this name. */
void lua_libraries_add(lua_State *lua, const char *name);
/* Push a new, empty table of globals behind which the library stands. */
void lua_libraries_push_globals(lua_State *lua);
