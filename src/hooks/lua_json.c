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

static char key_array; /* its address is a key of the registry: what marks arrays */

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

/* Straight from the text, without a tree between: this is most of what calling a hook costs. The
 * text is canonical, so there is one way to write everything; what cannot be read that way is
 * refused, not repaired. */
struct reader {
    lua_State *lua;
    const char *at;
    const char *end;
    uint32_t depth;
};

/* Members that wait on the stack for a table of the right size. */
enum { HELD = 32 };

NORETURN static void refuse_text(struct reader *r)
{
    luaL_error(r->lua, "what the hook was given is not a document");
    impossible("luaL_error returned");
}

static char peek(const struct reader *r)
{
    return r->at < r->end ? *r->at : 0;
}

static void expect(struct reader *r, char c)
{
    if (peek(r) != c)
        refuse_text(r);
    r->at++;
}

static void expect_word(struct reader *r, const char *word)
{
    for (; *word; word++)
        expect(r, *word);
}

static uint32_t hex_digit(struct reader *r)
{
    const char c = peek(r);
    r->at++;
    if (c >= '0' && c <= '9')
        return (uint32_t)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (uint32_t)(c - 'a') + 10;
    refuse_text(r);
}

/* In canonical text only quotes, backslashes and control characters are escaped. */
static char read_escape(struct reader *r)
{
    static const char letters[] = "\"\\bfnrt", meanings[] = "\"\\\b\f\n\r\t";
    const char letter = peek(r);
    const char *found = letter ? strchr(letters, letter) : NULL;
    if (found) {
        r->at++;
        return meanings[found - letters];
    }
    expect_word(r, "u00");
    const uint32_t high = hex_digit(r), low = hex_digit(r);
    if (high > 1 || high + low == 0)
        refuse_text(r);
    return (char)(high << 4 | low);
}

/* A text with escapes in it, from its first backslash on. */
static void push_escaped(struct reader *r, const char *backslash)
{
    luaL_Buffer b;
    luaL_buffinit(r->lua, &b);
    luaL_addlstring(&b, r->at, (size_t)(backslash - r->at));
    r->at = backslash;
    while (peek(r) != '"') {
        if (r->at == r->end)
            refuse_text(r);
        char c = *r->at++;
        if (c == '\\')
            c = read_escape(r);
        luaL_addchar(&b, c);
    }
    luaL_pushresult(&b);
}

static void push_string(struct reader *r)
{
    expect(r, '"');
    const char *quote = memchr(r->at, '"', (size_t)(r->end - r->at));
    if (!quote)
        refuse_text(r);
    const char *backslash = memchr(r->at, '\\', (size_t)(quote - r->at));
    if (backslash) {
        push_escaped(r, backslash);
    } else {
        lua_pushlstring(r->lua, r->at, (size_t)(quote - r->at));
        r->at = quote;
    }
    r->at++;
}

/* A whole number, if it is one of 64 bits. */
static bool read_integer(const char *at, const char *end, lua_Integer *out_value)
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

static bool is_in_number(char c)
{
    return char_is_digit(c) || c == '-' || c == '.' || c == 'e' || c == 'E' || c == '+';
}

static void push_number(struct reader *r)
{
    char text[400];
    lua_Integer whole;
    const char *end = r->at;
    while (end < r->end && is_in_number(*end))
        end++;
    if (end == r->at || *r->at == '+' || *r->at == '.')
        refuse_text(r);
    if (read_integer(r->at, end, &whole)) {
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
            refuse_text(r);
        if (!isfinite(number))
            luaL_error(r->lua, "the number %s is larger than Lua can hold", text);
        lua_pushnumber(r->lua, number);
    }
    r->at = end;
}

static void push_value(struct reader *r);

/* Move the `count` pairs on top of the stack into the table at `table`, making it if it is not
 * there yet. */
static void settle(struct reader *r, int table, uint32_t count, bool made)
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

static void push_object(struct reader *r)
{
    uint32_t held = 0;
    bool made = false;
    lua_pushnil(r->lua); /* here the table will stand */
    const int table = lua_gettop(r->lua);
    r->at++;
    for (bool first = true; peek(r) != '}'; first = false) {
        if (!first)
            expect(r, ',');
        push_string(r);
        expect(r, ':');
        push_value(r);
        if (++held == HELD) {
            settle(r, table, held, made);
            made = true;
            held = 0;
        }
    }
    settle(r, table, held, made);
    r->at++;
}

static void push_array(struct reader *r)
{
    lua_Integer count = 0;
    lua_newtable(r->lua);
    lua_json_mark_array(r->lua);
    r->at++;
    while (peek(r) != ']') {
        if (count)
            expect(r, ',');
        push_value(r);
        lua_rawseti(r->lua, -2, ++count);
    }
    r->at++;
}

/* Recursion is bounded by JSON_DEPTH_MAX. */
static void push_value(struct reader *r)
{
    const char c = peek(r);
    if (c == '"') {
        push_string(r);
    } else if (c == '{' || c == '[') {
        if (++r->depth > JSON_DEPTH_MAX)
            refuse_text(r);
        luaL_checkstack(r->lua, 2 * HELD + 8, "a document of too many levels");
        if (c == '{')
            push_object(r);
        else
            push_array(r);
        r->depth--;
    } else if (c == 't') {
        expect_word(r, "true");
        lua_pushboolean(r->lua, true);
    } else if (c == 'f') {
        expect_word(r, "false");
        lua_pushboolean(r->lua, false);
    } else if (c == 'n') {
        expect_word(r, "null");
        lua_json_push_null(r->lua);
    } else {
        push_number(r);
    }
}

void lua_json_push(lua_State *lua, struct str canonical)
{
    struct reader r = {
        .lua = lua, .at = canonical.at, .end = canonical.at + canonical.len, .depth = 0};
    if (!canonical.len)
        refuse_text(&r);
    push_value(&r);
    if (r.at != r.end)
        refuse_text(&r);
}

/* ---- Lua to JSON ---- */

struct writer {
    lua_State *lua;
    struct buf out;
    uint32_t depth;
};

/* Tables may hold one another many times over: the text is measured while it grows. */
static void check_size(struct writer *w, uint64_t more)
{
    if (w->out.len + more > DOC_MAX)
        luaL_error(w->lua, "a document of more than %d bytes", (int)DOC_MAX);
}

static void put_word(struct writer *w, const char *word)
{
    check_size(w, strlen(word));
    buf_put_z(&w->out, word);
}

static void put_string(struct writer *w, int index)
{
    size_t len;
    const char *at = lua_tolstring(w->lua, index, &len);
    check_size(w, len + 2);
    const struct str text = {at, (uint32_t)len};
    if (!str_is_clean(text))
        luaL_error(w->lua, "a text that is not UTF-8 has no place in a document");
    json_write_string(&w->out, text);
    check_size(w, 0);
    sandbox_charge(w->lua, 1 + len / 64);
}

/* With a point or an exponent, so that it is read as what it was. */
static void put_double(struct writer *w, double number)
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
    put_word(w, text);
    if (!strpbrk(text, ".e"))
        put_word(w, ".0");
}

static void put_number(struct writer *w, int index)
{
    char text[32];
    if (lua_isinteger(w->lua, index)) {
        snprintf(text, sizeof text, "%lld", (long long)lua_tointeger(w->lua, index));
        put_word(w, text);
    } else {
        put_double(w, lua_tonumber(w->lua, index));
    }
}

static void put_value(struct writer *w, int index);

/* The table and its sorted keys lie at `table` and above it. */
static void put_array(struct writer *w, int table, uint32_t count)
{
    put_word(w, "[");
    for (uint32_t i = 1; i <= count; i++) {
        int is_number;
        lua_rawgeti(w->lua, table + 1, i);
        if (lua_tointegerx(w->lua, -1, &is_number) != (lua_Integer)i || !is_number ||
            lua_type(w->lua, -1) != LUA_TNUMBER)
            luaL_error(w->lua, "a list with gaps, or with other keys than 1 to n");
        lua_rawget(w->lua, table);
        if (i > 1)
            put_word(w, ",");
        put_value(w, lua_gettop(w->lua));
        lua_pop(w->lua, 1);
    }
    put_word(w, "]");
}

static void put_object(struct writer *w, int table, uint32_t count)
{
    put_word(w, "{");
    for (uint32_t i = 1; i <= count; i++) {
        if (lua_rawgeti(w->lua, table + 1, i) != LUA_TSTRING)
            luaL_error(w->lua, "a %s as a key has no place in a document",
                       luaL_typename(w->lua, -1));
        if (i > 1)
            put_word(w, ",");
        put_string(w, lua_gettop(w->lua));
        put_word(w, ":");
        lua_rawget(w->lua, table);
        put_value(w, lua_gettop(w->lua));
        lua_pop(w->lua, 1);
    }
    put_word(w, "}");
}

static void put_table(struct writer *w, int index)
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
        put_array(w, table, count);
    else
        put_object(w, table, count);
    lua_settop(w->lua, table - 1);
    w->depth--;
}

/* Recursion is bounded by DOC_DEPTH_MAX. */
static void put_value(struct writer *w, int index)
{
    switch (lua_type(w->lua, index)) {
    case LUA_TBOOLEAN: put_word(w, lua_toboolean(w->lua, index) ? "true" : "false"); break;
    case LUA_TLIGHTUSERDATA: put_word(w, "null"); break;
    case LUA_TNUMBER: put_number(w, index); break;
    case LUA_TSTRING: put_string(w, index); break;
    case LUA_TTABLE: put_table(w, index); break;
    default: luaL_error(w->lua, "a %s has no place in a document", luaL_typename(w->lua, index));
    }
    sandbox_charge(w->lua, 1);
}

struct str lua_json_take(lua_State *lua, int index, struct arena *arena)
{
    struct writer w = {.lua = lua, .out = buf_in(arena), .depth = 0};
    put_value(&w, lua_absindex(lua, index));
    return buf_str(&w.out);
}
