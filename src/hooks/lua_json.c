#include "hooks/lua_json.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "hooks/sandbox.h"
#include "hooks/sorted_keys.h"
#include "model/limits.h"

/* Two converters: a recursive descent parser that pushes Lua values directly, and a writer that
 * produces canonical JSON. Both work on the Lua stack inside the sandbox: memory is charged to the
 * state, and errors leave by longjmp, so they own no memory outside the state or the arena of the
 * task. */

static char key_array; /* registry key (by address) of the metatable that marks arrays */

void lua_json_open(lua_State *lua)
{
    lua_newtable(lua);
    lua_rawsetp(lua, LUA_REGISTRYINDEX, &key_array);
}

void lua_json_push_null(lua_State *lua)
{
    lua_pushlightuserdata(lua, NULL);
}

void lua_json_mark_array(lua_State *lua)
{
    lua_rawgetp(lua, LUA_REGISTRYINDEX, &key_array);
    lua_setmetatable(lua, -2);
}

bool lua_json_is_array(lua_State *lua, int index)
{
    if (!lua_getmetatable(lua, index))
        return false;
    lua_rawgetp(lua, LUA_REGISTRYINDEX, &key_array);
    const bool same = lua_rawequal(lua, -1, -2);
    lua_pop(lua, 2);
    return same;
}

/* ---- JSON to Lua ---- */

/* The JSON is parsed directly into Lua values without an intermediate tree, because this is most of
 * the cost of a hook call. The text is canonical, so there is one way to write everything; other
 * text is refused. */
struct reader {
    lua_State *lua;
    const char *at;
    const char *end;
    uint32_t depth;
};

/* Members collected on the stack before the table is created with the right size. */
enum { HELD = 32 };

NORETURN static void lua_json_refuse_text(struct reader *r)
{
    luaL_error(r->lua, "the argument of the hook is not a document");
    impossible("luaL_error returned");
}

static char lua_json_peek(const struct reader *r)
{
    return r->at < r->end ? *r->at : 0;
}

static void lua_json_expect(struct reader *r, char c)
{
    if (lua_json_peek(r) != c)
        lua_json_refuse_text(r);
    r->at++;
}

static void lua_json_expect_word(struct reader *r, const char *word)
{
    for (; *word; word++)
        lua_json_expect(r, *word);
}

static uint32_t lua_json_hex_digit(struct reader *r)
{
    const char c = lua_json_peek(r);
    r->at++;
    if (c >= '0' && c <= '9')
        return (uint32_t)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (uint32_t)(c - 'a') + 10;
    lua_json_refuse_text(r);
}

/* In canonical text only quotes, backslashes and control characters are escaped. */
static char lua_json_read_escape(struct reader *r)
{
    static const char letters[] = "\"\\bfnrt", meanings[] = "\"\\\b\f\n\r\t";
    const char letter = lua_json_peek(r);
    const char *found = letter ? strchr(letters, letter) : NULL;
    if (found) {
        r->at++;
        return meanings[found - letters];
    }
    lua_json_expect_word(r, "u00");
    const uint32_t high = lua_json_hex_digit(r), low = lua_json_hex_digit(r);
    if (high > 1 || high + low == 0)
        lua_json_refuse_text(r);
    return (char)(high << 4 | low);
}

/* Push a string with escapes, from its first backslash on. */
static void lua_json_push_escaped(struct reader *r, const char *backslash)
{
    luaL_Buffer b;
    luaL_buffinit(r->lua, &b);
    luaL_addlstring(&b, r->at, (size_t)(backslash - r->at));
    r->at = backslash;
    while (lua_json_peek(r) != '"') {
        if (r->at == r->end)
            lua_json_refuse_text(r);
        char c = *r->at++;
        if (c == '\\')
            c = lua_json_read_escape(r);
        luaL_addchar(&b, c);
    }
    luaL_pushresult(&b);
}

static void lua_json_push_string(struct reader *r)
{
    lua_json_expect(r, '"');
    const char *quote = memchr(r->at, '"', (size_t)(r->end - r->at));
    if (!quote)
        lua_json_refuse_text(r);
    const char *backslash = memchr(r->at, '\\', (size_t)(quote - r->at));
    if (backslash) {
        lua_json_push_escaped(r, backslash);
    } else {
        lua_pushlstring(r->lua, r->at, (size_t)(quote - r->at));
        r->at = quote;
    }
    r->at++;
}

/* Parse an integer of 64 bits. */
static bool lua_json_read_integer(const char *at, const char *end, lua_Integer *out_value)
{
    const bool minus = *at == '-';
    uint64_t value = 0;
    at += minus;
    if (at == end || end - at > 19)
        return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        value = value * 10 + (uint64_t)(*at - '0'); /* 19 digits fit */
    }
    if (value > (uint64_t)INT64_MAX + minus)
        return false;
    *out_value = (lua_Integer)(minus ? 0 - value : value);
    return true;
}

static bool lua_json_is_in_number(char c)
{
    return char_is_digit(c) || c == '-' || c == '.' || c == 'e' || c == 'E' || c == '+';
}

static void lua_json_push_number(struct reader *r)
{
    char text[400];
    lua_Integer whole;
    const char *end = r->at;
    while (end < r->end && lua_json_is_in_number(*end))
        end++;
    if (end == r->at || *r->at == '+' || *r->at == '.')
        lua_json_refuse_text(r);
    if (lua_json_read_integer(r->at, end, &whole)) {
        lua_pushinteger(r->lua, whole);
    } else {
        const size_t len = (size_t)(end - r->at);
        char *stop;
        if (len >= sizeof text)
            luaL_error(r->lua, "a number of %d digits is more than Lua can hold", (int)len);
        memcpy(text, r->at, len);
        text[len] = 0;
        const double number = strtod(text, &stop);
        if (*stop)
            lua_json_refuse_text(r);
        if (!isfinite(number))
            luaL_error(r->lua, "the number %s is larger than Lua can hold", text);
        lua_pushnumber(r->lua, number);
    }
    r->at = end;
}

static void lua_json_push_value(struct reader *r);

/* Move the `count` pairs on top of the stack into the table at `table`, making it if it is not
 * there yet. */
static void lua_json_move_members(struct reader *r, int table, uint32_t count, bool made)
{
    lua_State *lua = r->lua;
    if (!made) {
        lua_createtable(lua, 0, (int)count);
        lua_replace(lua, table);
    }
    for (int at = table + 1; at <= table + 2 * (int)count; at += 2) {
        lua_pushvalue(lua, at);
        lua_pushvalue(lua, at + 1);
        lua_rawset(lua, table);
    }
    lua_settop(lua, table);
}

static void lua_json_push_object(struct reader *r)
{
    uint32_t held = 0;
    bool made = false;
    lua_pushnil(r->lua); /* replaced by the table below */
    const int table = lua_gettop(r->lua);
    r->at++;
    for (bool first = true; lua_json_peek(r) != '}'; first = false) {
        if (!first)
            lua_json_expect(r, ',');
        lua_json_push_string(r);
        lua_json_expect(r, ':');
        lua_json_push_value(r);
        if (++held == HELD) {
            lua_json_move_members(r, table, held, made);
            made = true;
            held = 0;
        }
    }
    lua_json_move_members(r, table, held, made);
    r->at++;
}

static void lua_json_push_array(struct reader *r)
{
    lua_Integer count = 0;
    lua_newtable(r->lua);
    lua_json_mark_array(r->lua);
    r->at++;
    while (lua_json_peek(r) != ']') {
        if (count)
            lua_json_expect(r, ',');
        lua_json_push_value(r);
        lua_rawseti(r->lua, -2, ++count);
    }
    r->at++;
}

/* Recursion is bounded by JSON_DEPTH_MAX. */
static void lua_json_push_value(struct reader *r)
{
    const char c = lua_json_peek(r);
    if (c == '"') {
        lua_json_push_string(r);
    } else if (c == '{' || c == '[') {
        if (++r->depth > JSON_DEPTH_MAX)
            lua_json_refuse_text(r);
        luaL_checkstack(r->lua, 2 * HELD + 8, "a document of too many levels");
        if (c == '{')
            lua_json_push_object(r);
        else
            lua_json_push_array(r);
        r->depth--;
    } else if (c == 't') {
        lua_json_expect_word(r, "true");
        lua_pushboolean(r->lua, true);
    } else if (c == 'f') {
        lua_json_expect_word(r, "false");
        lua_pushboolean(r->lua, false);
    } else if (c == 'n') {
        lua_json_expect_word(r, "null");
        lua_json_push_null(r->lua);
    } else {
        lua_json_push_number(r);
    }
}

void lua_json_push(lua_State *lua, struct str canonical)
{
    struct reader r = {
        .lua = lua, .at = canonical.at, .end = canonical.at + canonical.len, .depth = 0};
    if (!canonical.len)
        lua_json_refuse_text(&r);
    lua_json_push_value(&r);
    if (r.at != r.end)
        lua_json_refuse_text(&r);
}

/* ---- Lua to JSON ---- */

struct writer {
    lua_State *lua;
    struct buf out;
    uint32_t depth;
};

/* Tables may contain each other many times: limit the size of the text while it grows. */
static void lua_json_check_size(struct writer *w, uint64_t more)
{
    if (w->out.len + more > DOC_MAX)
        luaL_error(w->lua, "a document of more than %d bytes", (int)DOC_MAX);
}

static void lua_json_put_word(struct writer *w, const char *word)
{
    lua_json_check_size(w, strlen(word));
    buf_put_z(&w->out, word);
}

static void lua_json_put_string(struct writer *w, int index)
{
    size_t len;
    const char *at = lua_tolstring(w->lua, index, &len);
    lua_json_check_size(w, len + 2);
    const struct str text = {at, (uint32_t)len};
    if (!str_is_clean(text))
        luaL_error(w->lua, "a text that is not UTF-8 has no place in a document");
    json_write_string(&w->out, text);
    lua_json_check_size(w, 0);
    sandbox_charge(w->lua, 1 + len / 64);
}

/* With a point or an exponent, so that it is read back as a double. */
static void lua_json_put_double(struct writer *w, double number)
{
    char text[40];
    if (!isfinite(number))
        luaL_error(w->lua, "a number that is %s has no place in a document",
                   isnan(number) ? "not a number" : "infinite");
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    lua_json_put_word(w, text);
    if (!strpbrk(text, ".e"))
        lua_json_put_word(w, ".0");
}

static void lua_json_put_number(struct writer *w, int index)
{
    char text[32];
    if (lua_isinteger(w->lua, index)) {
        snprintf(text, sizeof text, "%lld", (long long)lua_tointeger(w->lua, index));
        lua_json_put_word(w, text);
    } else {
        lua_json_put_double(w, lua_tonumber(w->lua, index));
    }
}

static void lua_json_put_value(struct writer *w, int index);

/* The table and its sorted keys are at `table` and above it on the stack. */
static void lua_json_put_array(struct writer *w, int table, uint32_t count)
{
    lua_json_put_word(w, "[");
    for (uint32_t i = 1; i <= count; i++) {
        int is_number;
        lua_rawgeti(w->lua, table + 1, i);
        if (lua_tointegerx(w->lua, -1, &is_number) != (lua_Integer)i || !is_number ||
            lua_type(w->lua, -1) != LUA_TNUMBER)
            luaL_error(w->lua, "a list with gaps, or with other keys than 1 to n");
        lua_rawget(w->lua, table);
        if (i > 1)
            lua_json_put_word(w, ",");
        lua_json_put_value(w, lua_gettop(w->lua));
        lua_pop(w->lua, 1);
    }
    lua_json_put_word(w, "]");
}

static void lua_json_put_object(struct writer *w, int table, uint32_t count)
{
    lua_json_put_word(w, "{");
    for (uint32_t i = 1; i <= count; i++) {
        if (lua_rawgeti(w->lua, table + 1, i) != LUA_TSTRING)
            luaL_error(w->lua, "a %s as a key has no place in a document",
                       luaL_typename(w->lua, -1));
        if (i > 1)
            lua_json_put_word(w, ",");
        lua_json_put_string(w, lua_gettop(w->lua));
        lua_json_put_word(w, ":");
        lua_rawget(w->lua, table);
        lua_json_put_value(w, lua_gettop(w->lua));
        lua_pop(w->lua, 1);
    }
    lua_json_put_word(w, "}");
}

static void lua_json_put_table(struct writer *w, int index)
{
    if (++w->depth > DOC_DEPTH_MAX)
        luaL_error(w->lua, "a document of more than %d levels", (int)DOC_DEPTH_MAX);
    luaL_checkstack(w->lua, 16, "a document of too many levels");
    lua_pushvalue(w->lua, index);
    const int table = lua_gettop(w->lua);
    const bool marked = lua_json_is_array(w->lua, table);
    const uint32_t count = sorted_keys_push_sorted(w->lua, table);
    const bool starts_as_list = count && lua_rawgeti(w->lua, -1, 1) == LUA_TNUMBER;
    lua_settop(w->lua, table + 1);
    if (marked || starts_as_list)
        lua_json_put_array(w, table, count);
    else
        lua_json_put_object(w, table, count);
    lua_settop(w->lua, table - 1);
    w->depth--;
}

/* Recursion is bounded by DOC_DEPTH_MAX. */
static void lua_json_put_value(struct writer *w, int index)
{
    switch (lua_type(w->lua, index)) {
    case LUA_TBOOLEAN: lua_json_put_word(w, lua_toboolean(w->lua, index) ? "true" : "false"); break;
    case LUA_TLIGHTUSERDATA: lua_json_put_word(w, "null"); break;
    case LUA_TNUMBER: lua_json_put_number(w, index); break;
    case LUA_TSTRING: lua_json_put_string(w, index); break;
    case LUA_TTABLE: lua_json_put_table(w, index); break;
    default: luaL_error(w->lua, "a %s has no place in a document", luaL_typename(w->lua, index));
    }
    sandbox_charge(w->lua, 1);
}

struct str lua_json_take(lua_State *lua, int index, struct arena *arena)
{
    struct writer w = {.lua = lua, .out = buf_in(arena), .depth = 0};
    lua_json_put_value(&w, lua_absindex(lua, index));
    return buf_str(&w.out);
}
