#include "hooks/sorted_keys.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/text/str.h"
#include "hooks/sandbox.h"

/* Keys are collected into a Lua array and, if they are not sorted already, copied into a userdata
 * block, which the collector frees even after a Lua error, and sorted with qsort(3). Strings are
 * owned by the table, which is on the stack all the time. Work is charged as instructions, because
 * these loops run in C; reaching the limit raises a Lua error. */

enum rank { RANK_NUMBER, RANK_TEXT, RANK_FALSE, RANK_TRUE, RANK_OTHER };

struct key {
    enum rank rank;
    bool is_integer;
    uint32_t position; /* position before sorting */
    lua_Integer integer;
    lua_Number number;
    struct str text; /* owned by the table */
};

static struct key sorted_keys_read(lua_State *lua, int index, uint32_t position)
{
    struct key key = {.rank = RANK_OTHER, .position = position};
    size_t len;
    switch (lua_type(lua, index)) {
    case LUA_TNUMBER:
        key.rank = RANK_NUMBER;
        key.is_integer = lua_isinteger(lua, index);
        key.integer = key.is_integer ? lua_tointeger(lua, index) : 0;
        key.number = lua_tonumber(lua, index);
        break;
    case LUA_TSTRING:
        key.rank = RANK_TEXT;
        key.text.at = lua_tolstring(lua, index, &len);
        key.text.len = (uint32_t)len;
        break;
    case LUA_TBOOLEAN: key.rank = lua_toboolean(lua, index) ? RANK_TRUE : RANK_FALSE; break;
    default: break;
    }
    return key;
}

/* A total order: equal keys keep their position. */
static int sorted_keys_compare(const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->rank == RANK_TEXT)
        return str_cmp(a->text, b->text);
    if (a->rank == RANK_NUMBER && a->is_integer && b->is_integer && a->integer != b->integer)
        return a->integer < b->integer ? -1 : 1;
    if (a->rank == RANK_NUMBER && a->number < b->number)
        return -1;
    if (a->rank == RANK_NUMBER && a->number > b->number)
        return 1;
    return a->position < b->position ? -1 : a->position > b->position;
}

/* Push an array of the unsorted keys; returns their number and whether they are sorted already. */
static uint32_t sorted_keys_push_unsorted(lua_State *lua, int index, bool *out_sorted)
{
    uint32_t count = 0;
    uint64_t bytes = 0;
    struct key before = {0};
    *out_sorted = true;
    lua_newtable(lua);
    lua_pushnil(lua);
    while (lua_next(lua, index)) {
        lua_pop(lua, 1);
        const struct key key = sorted_keys_read(lua, -1, count++);
        bytes += key.text.len;
        if (count > 1 && *out_sorted)
            *out_sorted = sorted_keys_compare(&before, &key) < 0;
        before = key;
        lua_pushvalue(lua, -1);
        lua_rawseti(lua, -3, count);
    }
    sandbox_charge(lua, count / 4u + bytes / 64u);
    return count;
}

static uint32_t sorted_keys_bit_length(uint32_t n)
{
    return n ? 32u - (uint32_t)__builtin_clz(n) : 0;
}

uint32_t sorted_keys_push_sorted(lua_State *lua, int index)
{
    bool sorted;
    index = lua_absindex(lua, index);
    luaL_checkstack(lua, 8, "too many levels");
    const uint32_t count = sorted_keys_push_unsorted(lua, index, &sorted);
    if (sorted)
        return count;
    sandbox_charge(lua, (uint64_t)count * sorted_keys_bit_length(count) / 4u);
    struct key *keys = lua_newuserdatauv(lua, sizeof *keys * count, 0);
    for (uint32_t i = 0; i < count; i++) {
        lua_rawgeti(lua, -2, i + 1);
        keys[i] = sorted_keys_read(lua, -1, i);
        lua_pop(lua, 1);
    }
    qsort(keys, count, sizeof *keys, sorted_keys_compare);
    lua_createtable(lua, (int)count, 0);
    for (uint32_t i = 0; i < count; i++) {
        lua_rawgeti(lua, -3, keys[i].position + 1);
        lua_rawseti(lua, -2, i + 1);
    }
    lua_replace(lua, -3);
    lua_pop(lua, 1);
    return count;
}
