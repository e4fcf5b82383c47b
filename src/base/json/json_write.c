/* json_write.c - the writer of canonical text. Members are sorted in the tree already, so the text
 * is written in one pass, without recursion. Stateless; a tree that is too deep aborts. */
#include "base/json/json.h"

static bool json_char_is_plain(unsigned char c)
{
    return c >= 0x20 && c != '"' && c != '\\';
}

/* The letter of a two-character escape; 0: the byte has none. */
static char escape_letter(char c)
{
    switch (c) {
    case '"':
    case '\\': return c;
    case '\b': return 'b';
    case '\f': return 'f';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    default: return 0;
    }
}

static void write_escape(struct buf *b, char c)
{
    char letter = escape_letter(c);
    if (letter) {
        buf_put_c(b, '\\');
        buf_put_c(b, letter);
    } else {
        buf_put_z(b, "\\u00");
        buf_put_hex(b, &c, 1);
    }
}

void json_write_string(struct buf *b, struct str s)
{
    buf_put_c(b, '"');
    uint32_t from = 0;
    while (from < s.len) {
        uint32_t to = from;
        while (to < s.len && json_char_is_plain((unsigned char)s.at[to]))
            to++;
        buf_put(b, s.at + from, to - from);
        if (to < s.len)
            write_escape(b, s.at[to++]);
        from = to;
    }
    buf_put_c(b, '"');
}

/* A scalar, or the opening bracket of a container. */
static void write_head(struct buf *b, const struct json *value)
{
    switch (value->kind) {
    case JSON_NULL: buf_put_z(b, "null"); break;
    case JSON_FALSE: buf_put_z(b, "false"); break;
    case JSON_TRUE: buf_put_z(b, "true"); break;
    case JSON_NUMBER:
        must(value->text.len);
        buf_put_str(b, value->text);
        break;
    case JSON_STRING: json_write_string(b, value->text); break;
    case JSON_ARRAY: buf_put_c(b, '['); break;
    case JSON_OBJECT: buf_put_c(b, '{'); break;
    }
}

static void write_close(struct buf *b, const struct json *container)
{
    buf_put_c(b, container->kind == JSON_OBJECT ? '}' : ']');
}

void json_write_to(struct buf *b, const struct json *value)
{
    const struct json *open[JSON_DEPTH_MAX];
    uint32_t depth = 0;
    for (;;) {
        if (depth && open[depth - 1]->kind == JSON_OBJECT) {
            json_write_string(b, value->key);
            buf_put_c(b, ':');
        }
        write_head(b, value);
        if (value->kind == JSON_ARRAY || value->kind == JSON_OBJECT) {
            /* A text that json_read would refuse must never be stored. */
            must(depth < JSON_DEPTH_MAX);
            if (value->first) {
                open[depth++] = value;
                value = value->first;
                continue;
            }
            write_close(b, value);
        }
        while (depth && !value->next) {
            value = open[--depth];
            write_close(b, value);
        }
        /* A sibling of the outermost value belongs to its parent and is not written. */
        if (depth == 0)
            return;
        buf_put_c(b, ',');
        value = value->next;
    }
}

struct str json_write(struct arena *a, const struct json *value)
{
    struct buf b = buf_in(a);
    json_write_to(&b, value);
    return buf_str(&b);
}

err json_canonical(struct arena *a, struct str text, struct str *out_text, uint32_t *out_offset,
                   const char **out_what)
{
    struct json *value;
    err e = json_read(a, text, &value, out_offset, out_what);
    if (e)
        return e;
    *out_text = json_write(a, value);
    return OK;
}
