/* lua_api.h - `halligan`, the table through which the code of a role speaks.
 *
 * Its functions belong to the run that is going on: they put wishes into its struct task. They
 * touch nothing else, so what a hook wishes is forgotten when it fails. docs/hooks.md tells authors
 * what each of them does.
 */
#pragma once

#include <lua.h>

/* Add the table to the library of a new state. Inside sandbox_run. */
void lua_api_open(lua_State *lua);
