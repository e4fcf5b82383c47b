#include "cli/output/document.h"

#include <string.h>

static bool is_container(const struct json *value)
{
    return value->kind == JSON_ARRAY || value->kind == JSON_OBJECT;
}

static void put_spaces(struct buf *b, uint32_t count)
{
    memset(buf_room(b, count), ' ', count);
    b->len += count;
}

/* ---- JSON ---- */

/* As deep as json_read allows, so the recursion is bounded. */
static void put_json(struct buf *b, const struct json *value, uint32_t indent)
{
    const bool is_object = value->kind == JSON_OBJECT;
    if (!is_container(value) || !value->first) {
        json_write_to(b, value);
        return;
    }
    buf_put_z(b, is_object ? "{\n" : "[\n");
    for (const struct json *child = value->first; child; child = child->next) {
        put_spaces(b, indent + 2);
        if (is_object) {
            json_write_string(b, child->key);
            buf_put_z(b, ": ");
        }
        put_json(b, child, indent + 2);
        buf_put_z(b, child->next ? ",\n" : "\n");
    }
    put_spaces(b, indent);
    buf_put_c(b, is_object ? '}' : ']');
}

void document_put_json(struct buf *b, const struct json *value)
{
    put_json(b, value, 0);
    buf_put_c(b, '\n');
}

/* ---- YAML ---- */

/* What YAML 1.1 or 1.2 takes for something else, in small letters. */
static bool is_word_of_yaml(struct str text)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on",
                                        "off",  "null",  "y",   "n",  "nan"};
    for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (str_eq_nocase(text, str_from(words[i])))
            return true;
    return false;
}

static bool is_plain(struct str text)
{
    if (text.len == 0 || !(char_is_letter(text.at[0]) || text.at[0] == '_') ||
        text.at[text.len - 1] == ' ')
        return false;
    for (uint32_t i = 0; i < text.len; i++)
        if (!char_is_letter(text.at[i]) && !char_is_digit(text.at[i]) &&
            !(text.at[i] && strchr("-_./@+ ", text.at[i])))
            return false;
    return !is_word_of_yaml(text);
}

struct escape {
    const char *bytes;
    const char *text;
};

/* What JSON lets stand as it is and YAML does not, or takes for a line's end. C1 (C2 80 to C2 9F)
 * comes to these. */
static const struct escape escapes[] = {{"\x7f", "\\x7f"},           {"\xe2\x80\xa8", "\\u2028"},
                                        {"\xe2\x80\xa9", "\\u2029"}, {"\xef\xbb\xbf", "\\ufeff"},
                                        {"\xef\xbf\xbe", "\\ufffe"}, {"\xef\xbf\xbf", "\\uffff"}};

/* How many bytes it escaped; 0: there was nothing to escape. */
static uint32_t put_escaped(struct buf *b, struct str rest)
{
    for (uint32_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++)
        if (str_starts(rest, str_from(escapes[i].bytes))) {
            buf_put_z(b, escapes[i].text);
            return str_from(escapes[i].bytes).len;
        }
    const bool is_c1 =
        rest.len > 1 && (unsigned char)rest.at[0] == 0xc2 && (unsigned char)rest.at[1] < 0xa0;
    if (!is_c1)
        return 0;
    buf_put_z(b, "\\x");
    buf_put_hex(b, rest.at + 1, 1);
    return 2;
}

static bool may_need_escape(unsigned char c)
{
    return c == 0x7f || c == 0xc2 || c == 0xe2 || c == 0xef;
}

static void put_quoted(struct buf *b, struct str text)
{
    struct buf quoted = buf_in(b->arena);
    json_write_string(&quoted, text);
    const struct str all = buf_str(&quoted);
    for (uint32_t at = 0; at < all.len;) {
        const bool may = may_need_escape((unsigned char)all.at[at]);
        const uint32_t size = may ? put_escaped(b, str_slice(all, at, all.len)) : 0;
        if (size == 0)
            buf_put_c(b, all.at[at]);
        at += size ? size : 1;
    }
}

static void put_text(struct buf *b, struct str text)
{
    if (is_plain(text))
        buf_put_str(b, text);
    else
        put_quoted(b, text);
}

static void put_scalar(struct buf *b, const struct json *value)
{
    if (value->kind == JSON_STRING)
        put_text(b, value->text);
    else
        json_write_to(b, value);
    buf_put_c(b, '\n');
}

/* `is_placed`: the line has come to the indent already. Bounded as above. */
static void put_block(struct buf *b, const struct json *value, uint32_t indent, bool is_placed)
{
    const bool is_object = value->kind == JSON_OBJECT;
    for (const struct json *child = value->first; child; child = child->next) {
        const bool is_deep = is_container(child) && child->first;
        if (!is_placed)
            put_spaces(b, indent);
        is_placed = false;
        if (is_object) {
            put_text(b, child->key);
            buf_put_z(b, is_deep ? ":\n" : ": ");
        } else {
            buf_put_z(b, "- ");
        }
        if (is_deep)
            put_block(b, child, indent + 2, !is_object);
        else
            put_scalar(b, child);
    }
}

void document_put_yaml(struct buf *b, const struct json *value)
{
    if (is_container(value) && value->first)
        put_block(b, value, 0, false);
    else
        put_scalar(b, value);
}
