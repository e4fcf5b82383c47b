/* lua_json.h - conversion of JSON documents to Lua values and back.
 *
 * An object is a table with string keys; an array is a table with the keys 1 to n and a metatable
 * as mark, so that an empty array is distinguished from an empty object. Null is halligan.null,
 * because nil is not a value. Integers of 64 bits stay exact; other numbers become doubles and are
 * written with the fewest digits that read back the same. All functions must be called inside
 * sandbox_run: they raise a Lua error for what cannot be converted. */
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
bool lua_json_is_array(lua_State *lua, int index); /* true if it has the mark */

/* The canonical JSON of the value at `index`. A table without mark is an array if its keys are 1 to
 * n, and an object if it is empty. Refused: functions, strings that are not UTF-8, NaN and
 * infinity, other keys, more than DOC_DEPTH_MAX levels, more than DOC_MAX bytes. */
struct str lua_json_take(lua_State *lua, int index, struct arena *arena);
