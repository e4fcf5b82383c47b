/* sorted_keys.h - the keys of a Lua table in a fixed order.
 *
 * The order of Lua's own next() differs between two starts of the daemon. A hook that builds a list
 * in that order would return changed data each time, and changed data causes reruns. So tables are
 * always traversed in this order: numbers ascending, strings by bytes, false, true, then other keys
 * in no fixed order. */
#pragma once

#include <lua.h>
#include <stdint.h>

/* Push an array of the keys of the table at `index`; returns their number. Charged to the run. */
uint32_t sorted_keys_push_sorted(lua_State *lua, int index);
