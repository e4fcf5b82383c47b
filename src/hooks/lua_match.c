#include "hooks/lua_match.h"

#include <lauxlib.h>
#include <string.h>

#include "base/regex/regex.h"
#include "hooks/lua_json.h"
#include "hooks/sandbox.h"

/* No state: C functions that Lua code calls. A search cannot be interrupted, so its cost in
 * instructions is computed from the lengths before it is done. find and split charge it first,
 * which ends the run if the limit is reached. match must free memory that is not owned by Lua, so
 * it searches only if the limit suffices and charges afterwards. Invalid arguments and patterns
 * raise a Lua error. */

enum {
    PATTERN_MAX = 4096,  /* bytes of a regular expression */
    PART_MAX = 256,      /* bytes of a part or separator */
    PROGRAM_BYTES = 16,  /* bytes of one instruction of a compiled expression, approximately */
    STEPS_PER_UNIT = 64, /* its steps that take as long as one Lua instruction, approximately */
};

static struct str lua_match_arg(lua_State *lua, int index)
{
    size_t len;
    const char *at = luaL_checklstring(lua, index, &len);
    return (struct str){at, (uint32_t)len};
}

/* The arena must be freed, and a Lua error would skip that (longjmp): so no function is called in
 * between that may raise one. */
static const char *lua_match_search(struct str text, struct str pattern, int64_t units_left,
                                    uint64_t *out_units, bool *out_found)
{
    struct arena arena = {0};
    struct regex *regex = NULL;
    const char *what = NULL;
    const err e = regex_compile(&arena, pattern, false, &regex, &what);
    const uint64_t program = 1 + arena_used(&arena) / PROGRAM_BYTES;
    *out_units = program / STEPS_PER_UNIT + program * text.len / STEPS_PER_UNIT;
    if (e == OK && *out_units < (uint64_t)units_left)
        *out_found = regex_search(regex, text, &arena);
    arena_fini(&arena);
    return e == OK ? NULL : what;
}

int lua_match_match(lua_State *lua)
{
    const struct str text = lua_match_arg(lua, 1), pattern = lua_match_arg(lua, 2);
    luaL_argcheck(lua, str_is_clean(text), 1, "text is not UTF-8");
    luaL_argcheck(lua, pattern.len <= PATTERN_MAX && str_is_clean(pattern), 2,
                  "not UTF-8, or too long");
    sandbox_charge(lua, 1 + (text.len + pattern.len) / 64u);
    uint64_t units;
    bool found = false;
    const char *what = lua_match_search(text, pattern, sandbox_of(lua)->units_left, &units, &found);
    sandbox_charge(lua, units);
    if (what)
        return luaL_error(lua, "the pattern \"%s\" cannot be used: %s", lua_tostring(lua, 2), what);
    lua_pushboolean(lua, found);
    return 1;
}

static struct str lua_match_part_arg(lua_State *lua, int index)
{
    const struct str part = lua_match_arg(lua, index);
    luaL_argcheck(lua, part.len > 0 && part.len <= PART_MAX, index, "empty, or too long");
    return part;
}

/* The position of `part` at or after `from`, or text.len + 1. `part` is not empty. */
static uint32_t lua_match_find_part(struct str text, struct str part, uint32_t from)
{
    while (from + part.len <= text.len) {
        const char *at = memchr(text.at + from, part.at[0], text.len - part.len - from + 1);
        if (!at)
            break;
        from = (uint32_t)(at - text.at);
        if (memcmp(at, part.at, part.len) == 0)
            return from;
        from++;
    }
    return text.len + 1;
}

int lua_match_find(lua_State *lua)
{
    const struct str text = lua_match_arg(lua, 1), part = lua_match_part_arg(lua, 2);
    const lua_Integer from = luaL_optinteger(lua, 3, 1);
    luaL_argcheck(lua, from >= 1, 3, "positions start at 1");
    sandbox_charge(lua, 1 + (uint64_t)text.len * part.len / 64);
    const uint32_t at = from > (lua_Integer)text.len
                            ? text.len + 1
                            : lua_match_find_part(text, part, (uint32_t)from - 1);
    if (at > text.len)
        return 0;
    lua_pushinteger(lua, (lua_Integer)at + 1);
    lua_pushinteger(lua, (lua_Integer)at + part.len);
    return 2;
}

int lua_match_split(lua_State *lua)
{
    const struct str text = lua_match_arg(lua, 1), separator = lua_match_part_arg(lua, 2);
    sandbox_charge(lua, 1 + (uint64_t)text.len * separator.len / 64);
    lua_newtable(lua);
    lua_json_mark_array(lua);
    uint32_t from = 0;
    for (lua_Integer count = 1;; count++) {
        uint32_t to = lua_match_find_part(text, separator, from);
        const bool is_last = to > text.len;
        if (is_last)
            to = text.len;
        lua_pushlstring(lua, text.at + from, to - from);
        lua_rawseti(lua, -2, count);
        if (is_last)
            return 1;
        from = to + separator.len;
        sandbox_charge(lua, 1);
    }
}
