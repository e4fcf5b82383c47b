#include "hooks/removed_calls.h"

#include <stdbool.h>
#include <string.h>

/* The code is split into tokens as Lua does it, as far as that is needed here: names with numbers,
 * strings, and everything else byte by byte. Code that Lua does not accept may be split in another
 * way; the compiler refuses it. A function that was removed is named as `halligan.NAME` or
 * `halligan["NAME"]`; a use through another variable is not found, and fails when it is called. */

#define REMOVED_CALLS_NAME STR("boot_served")

enum lua_token { LUA_TOKEN_END, LUA_TOKEN_NAME, LUA_TOKEN_STRING, LUA_TOKEN_SIGN };

struct lua_scan {
    struct str code;
    uint32_t at, line;
    struct str text; /* of the token: a name, the content of a string, or one byte */
};

static char lua_scan_peek(const struct lua_scan *s, uint32_t ahead)
{
    const uint64_t at = (uint64_t)s->at + ahead;
    return at < s->code.len ? s->code.at[at] : 0;
}

static void lua_scan_move(struct lua_scan *s, uint32_t to)
{
    for (; s->at < to && s->at < s->code.len; s->at++)
        s->line += s->code.at[s->at] == '\n';
}

static bool lua_scan_is_word(char c)
{
    return char_is_letter(c) || char_is_digit(c) || c == '_';
}

/* "[", equals signs, "[": the number of bytes; 0: no long bracket begins here. */
static uint32_t lua_scan_bracket(const struct lua_scan *s)
{
    uint32_t length = 1;
    if (lua_scan_peek(s, 0) != '[')
        return 0;
    while (lua_scan_peek(s, length) == '=')
        length++;
    return lua_scan_peek(s, length) == '[' ? length + 1 : 0;
}

/* Move behind the long string that begins here, with an opening bracket of this length. */
static void lua_scan_long_string(struct lua_scan *s, uint32_t length)
{
    const uint32_t from = s->at + length;
    for (uint32_t end = from; end < s->code.len; end++) {
        uint32_t signs = 1;
        if (s->code.at[end] != ']')
            continue;
        while (end + signs < s->code.len && s->code.at[end + signs] == '=')
            signs++;
        if (signs + 1 == length && end + signs < s->code.len && s->code.at[end + signs] == ']') {
            s->text = str_slice(s->code, from, end);
            lua_scan_move(s, end + length);
            return;
        }
    }
    s->text = str_slice(s->code, from, s->code.len);
    lua_scan_move(s, s->code.len);
}

static void lua_scan_string(struct lua_scan *s)
{
    uint32_t end = s->at + 1;
    while (end < s->code.len && s->code.at[end] != s->code.at[s->at] && s->code.at[end] != '\n')
        end += s->code.at[end] == '\\' ? 2 : 1;
    s->text = str_slice(s->code, s->at + 1, end);
    lua_scan_move(s, end + 1);
}

static void lua_scan_comment(struct lua_scan *s)
{
    lua_scan_move(s, s->at + 2);
    const uint32_t bracket = lua_scan_bracket(s);
    if (bracket)
        lua_scan_long_string(s, bracket);
    else
        lua_scan_move(s, str_find(s->code, '\n', s->at));
}

/* Skip what is before the next token: white space and comments. */
static void lua_scan_skip(struct lua_scan *s)
{
    for (;;) {
        const char c = lua_scan_peek(s, 0);
        if (c == '-' && lua_scan_peek(s, 1) == '-')
            lua_scan_comment(s);
        else if (c && strchr(" \t\r\n\v\f", c))
            lua_scan_move(s, s->at + 1);
        else
            return;
    }
}

static enum lua_token lua_scan_next(struct lua_scan *s)
{
    lua_scan_skip(s);
    const char c = lua_scan_peek(s, 0);
    const uint32_t bracket = lua_scan_bracket(s);
    uint32_t length = 1;
    if (s->at >= s->code.len)
        return LUA_TOKEN_END;
    if (bracket) {
        lua_scan_long_string(s, bracket);
        return LUA_TOKEN_STRING;
    }
    if (c == '"' || c == '\'') {
        lua_scan_string(s);
        return LUA_TOKEN_STRING;
    }
    const bool is_word = lua_scan_is_word(c);
    while (is_word && lua_scan_is_word(lua_scan_peek(s, length)))
        length++;
    s->text = str_slice(s->code, s->at, s->at + length);
    lua_scan_move(s, s->at + length);
    return is_word ? LUA_TOKEN_NAME : LUA_TOKEN_SIGN;
}

uint32_t removed_calls_find(struct str code)
{
    struct lua_scan s = {.code = code, .line = 1};
    struct str before = STR(""), last = STR("");
    for (enum lua_token kind; (kind = lua_scan_next(&s)) != LUA_TOKEN_END;) {
        const struct str sign = kind == LUA_TOKEN_STRING ? STR("[") : STR(".");
        if (kind != LUA_TOKEN_SIGN && str_eq(s.text, REMOVED_CALLS_NAME) && str_eq(last, sign) &&
            str_eq(before, STR("halligan")))
            return s.line;
        before = last;
        last = kind == LUA_TOKEN_STRING ? STR("") : s.text;
    }
    return 0;
}
