/* lua_json.h - JSON documents as Lua values and back.
 *
 * An object is a table with texts as keys; an array is a table with the keys 1 to n that carries a
 * mark, so that an empty one is known again. Null is halligan.null, because nil is no value. Whole
 * numbers of 64 bits stay exact; other numbers are what a double holds of them, written with the
 * fewest digits that read back the same. All of it inside sandbox_run: what cannot be converted
 * raises an error.
 */
#pragma once

#include <lua.h>
#include <stdbool.h>

#include "base/text/buf.h"
#include "base/text/str.h"

/* Prepare a new state. */
void lua_json_open(lua_State *lua);
/* Push the value of a canonical JSON text. */
void lua_json_push(lua_State *lua, struct str canonical);
void lua_json_push_null(lua_State *lua);
/* Mark the table on top of the stack as an array. */
void lua_json_mark_array(lua_State *lua);
bool lua_json_is_array(lua_State *lua, int index); /* is it marked? */

/* The canonical JSON text of the value at `index`. A table without mark is an array when its keys
 * are 1 to n, and an object when it is empty. Refused: functions, texts that are not UTF-8,
 * numbers that are none, other keys, more than DOC_DEPTH_MAX levels, more than DOC_MAX bytes. */
struct str lua_json_take(lua_State *lua, int index, struct arena *arena);
