/* sorted_keys.h - the keys of a Lua table, in order.
 *
 * The order in which Lua itself walks a table differs from one start of the daemon to the next. A
 * hook that builds a list from it would say something new each time, and what is new makes things
 * run again. So nothing here walks a table in any order but this one: numbers ascending, texts by
 * bytes, false, true, and last whatever else is a key, in no order.
 */
#pragma once

#include <lua.h>
#include <stdint.h>

/* Push an array of the keys of the table at `index`; how many there are. Charged to the run. */
uint32_t sorted_keys_push_sorted(lua_State *lua, int index);
