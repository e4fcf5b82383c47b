/* lua_api.h - the Lua table `halligan`: the functions that the code of a role may call.
 *
 * They apply to the current run: each appends a hook command to its struct task and has no other
 * effect, so the commands of a hook that fails are discarded. docs/hooks.md describes them for
 * authors. */
#pragma once

#include <lua.h>

/* Add the table to the library of a new state. Must be called inside sandbox_run. */
void lua_api_open(lua_State *lua);
