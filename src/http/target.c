#include "http/http_private.h"

#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Only a query writes a space as plus. */
static bool decode(struct arena *a, struct str raw, bool plus_is_space, struct str *out_text)
{
    char *at = arena_alloc(a, raw.len);
    uint32_t len = 0;
    for (uint32_t i = 0; i < raw.len; i++) {
        char c = raw.at[i];
        if (c == '+' && plus_is_space)
            c = ' ';
        if (c == '%') {
            const int high = i + 2 < raw.len ? hex_digit(raw.at[i + 1]) : -1;
            const int low = i + 2 < raw.len ? hex_digit(raw.at[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high * 16 + low);
            i += 2;
        }
        at[len++] = c;
    }
    const struct str text = {at, len};
    if (!str_is_clean(text))
        return false;
    *out_text = text;
    return true;
}

static bool parse_query(struct http_request *request, struct str raw)
{
    struct http_pair **link = &request->query;
    uint32_t end;
    for (uint32_t at = 0; at < raw.len; at = end + 1) {
        end = str_find(raw, '&', at);
        if (end == at)
            continue;
        const struct str part = str_slice(raw, at, end);
        const uint32_t equals = str_find(part, '=', 0);
        struct http_pair *pair = arena_new(&request->arena, struct http_pair);
        if (!decode(&request->arena, str_slice(part, 0, equals), true, &pair->name) ||
            !decode(&request->arena, str_slice(part, equals + 1, part.len), true, &pair->value))
            return false;
        *link = pair;
        link = &pair->next;
    }
    return true;
}

/* "http://host/path" is how a client speaks to a proxy, and every server has to understand it. */
static struct str without_authority(struct str raw)
{
    static const struct str schemes[] = {{"http://", 7}, {"https://", 8}};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        const uint32_t len = schemes[i].len;
        if (!str_eq_nocase(str_slice(raw, 0, len), schemes[i]))
            continue;
        const uint32_t slash = str_find(raw, '/', len);
        const uint32_t mark = str_find(raw, '?', len);
        if (slash < mark)
            return str_slice(raw, slash, raw.len);
        return mark == raw.len ? STR("/") : STR("");
    }
    return raw;
}

static bool has_blanks(struct str s)
{
    for (uint32_t i = 0; i < s.len; i++)
        if ((unsigned char)s.at[i] <= ' ' || s.at[i] == '\x7f')
            return true;
    return false;
}

bool target_parse(struct http_request *request, struct str raw)
{
    const struct str target = without_authority(raw);
    const uint32_t mark = str_find(target, '?', 0);
    return str_starts(target, STR("/")) && !has_blanks(target) &&
           decode(&request->arena, str_slice(target, 0, mark), false, &request->path) &&
           parse_query(request, str_slice(target, mark + 1, target.len));
}

bool http_query(const struct http_request *request, struct str name, struct str *out_value)
{
    for (const struct http_pair *pair = request->query; pair; pair = pair->next)
        if (str_eq(pair->name, name)) {
            *out_value = pair->value;
            return true;
        }
    return false;
}
