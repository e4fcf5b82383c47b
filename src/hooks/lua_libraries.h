/* lua_libraries.h - the part of the Lua standard library that hooks may use.
 *
 * Not included: functions with access to the outside (io, os, require, debug), compilation (load),
 * backtracking patterns (string.find and others), code that escapes the count of instructions
 * (coroutine, setmetatable with __gc), and anything that differs between runs (random, addresses,
 * the order of next). The code cannot modify the library, so no data passes from one run to the
 * next. */
#pragma once

#include <lua.h>

/* Create the library of a new state. Must be called inside sandbox_run, like the two functions
 * below. */
void lua_libraries_open(lua_State *lua);
/* Pop the table on top of the stack and add it read-only under this name. */
void lua_libraries_add(lua_State *lua, const char *name);
/* Push a new, empty table of globals that inherits from the library. */
void lua_libraries_push_globals(lua_State *lua);
