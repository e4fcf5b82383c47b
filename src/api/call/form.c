#include "api/call/form.h"

/* Decoder of application/x-www-form-urlencoded. The functions have no state. Each pair is inserted
 * into the JSON object as it is decoded; decoding stops at the first error, which is returned as a
 * sentence for the reply. The object then has the pairs before it and must not be used. */

static const char form_too_many[] = "the request has more than 1000 parameters";

static int form_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes "+" and "%XX". False: malformed, or the result is not UTF-8 without NUL. */
static bool form_decode(struct arena *a, struct str s, struct str *out_text)
{
    char *text = arena_alloc(a, s.len + 1u);
    uint32_t len = 0;
    for (uint32_t i = 0; i < s.len; i++) {
        char c = s.at[i] == '+' ? ' ' : s.at[i];
        if (c == '%') {
            const int high = i + 2 < s.len ? form_hex_digit(s.at[i + 1]) : -1;
            const int low = i + 2 < s.len ? form_hex_digit(s.at[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        }
        text[len++] = c;
    }
    *out_text = (struct str){text, len};
    return str_is_clean(*out_text);
}

/* The object or array `name`. A value of another kind is replaced: the last of equal names wins. */
static struct json *form_container(struct arena *a, struct json *into, struct str name,
                                   enum json_kind kind)
{
    const struct json *there = json_get(into, name);
    if (there && there->kind == kind) {
        /* json_get() returns a const pointer; find the same member of the own tree. */
        for (struct json *member = into->first; member; member = member->next)
            if (member == there)
                return member;
    }
    struct json *made = json_make(a, kind);
    json_set(into, name, made);
    return made;
}

static void form_add(struct arena *a, struct json *into, struct str name, struct str value)
{
    struct json *text = json_make_string(a, value);
    const uint32_t open = str_find(name, '[', 0);
    const struct str outer = str_slice(name, 0, open);
    const struct str inner = str_slice(name, open + 1, name.len ? name.len - 1 : 0);
    if (open == name.len || open == 0 || !str_ends(name, STR("]")))
        json_set(into, name, text);
    else if (inner.len == 0)
        json_append(form_container(a, into, outer, JSON_ARRAY), text);
    else
        json_set(form_container(a, into, outer, JSON_OBJECT), inner, text);
}

const char *form_read_pairs(struct arena *a, const struct http_pair *pairs, struct json *into)
{
    uint32_t count = 0;
    for (const struct http_pair *pair = pairs; pair; pair = pair->next) {
        if (++count > FORM_PAIRS_MAX)
            return form_too_many;
        if (!str_is_clean(pair->name) || !str_is_clean(pair->value))
            return "a query parameter is not valid UTF-8 without NUL";
        form_add(a, into, pair->name, pair->value);
    }
    return NULL;
}

const char *form_read(struct arena *a, struct str body, struct json *into)
{
    uint32_t count = 0;
    for (uint32_t at = 0; at < body.len;) {
        const uint32_t end = str_find(body, '&', at);
        const struct str pair = str_slice(body, at, end);
        const uint32_t equals = str_find(pair, '=', 0);
        struct str name, value;
        at = end + 1;
        if (pair.len == 0)
            continue;
        if (++count > FORM_PAIRS_MAX)
            return form_too_many;
        if (!form_decode(a, str_slice(pair, 0, equals), &name) ||
            !form_decode(a, str_slice(pair, equals + 1, pair.len), &value))
            return "the form in the body is not correctly percent-encoded UTF-8";
        form_add(a, into, name, value);
    }
    return NULL;
}
