/* lua_match.h - looking into texts, in time that grows with their length and no faster.
 *
 * What stands in for Lua's patterns, which backtrack and are not counted (DECISIONS D20). These are
 * functions of the table `halligan`; docs/hooks.md says how they are called.
 */
#pragma once

#include <lua.h>

int lua_match_match(lua_State *lua); /* (text, regex) -> does it match anywhere?    */
int lua_match_find(lua_State *lua);  /* (text, part[, from]) -> first, last; or nil */
int lua_match_split(lua_State *lua); /* (text, separator) -> array of the pieces    */
