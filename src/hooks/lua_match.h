/* lua_match.h - string search for hooks, in time linear in the length of the text.
 *
 * Replaces Lua's patterns, which backtrack and are not covered by the count of instructions (ADR
 * 0007). These are functions of the table `halligan`; docs/hooks.md describes them. */
#pragma once

#include <lua.h>

int lua_match_match(lua_State *lua); /* (text, regex) -> does it match anywhere?    */
int lua_match_find(lua_State *lua);  /* (text, part[, from]) -> first, last; or nil */
int lua_match_split(lua_State *lua); /* (text, separator) -> array of the pieces    */
