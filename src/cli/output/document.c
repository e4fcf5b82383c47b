#include "cli/output/document.h"

#include <string.h>

/* Serializes JSON values for people: indented JSON, or YAML in block style. Stateless: text is
 * appended to the buffer of the caller. Nothing can fail; the only order is that of the members.
 *
 * A YAML string is written plain if it can only be read as that string, otherwise in double quotes
 * with the escapes of JSON, plus those that YAML needs in addition. */

/* A list or an object. */
static bool document_is_container(const struct json *value)
{
    return value->kind == JSON_ARRAY || value->kind == JSON_OBJECT;
}

static void document_put_spaces(struct buf *b, uint32_t count)
{
    memset(buf_room(b, count), ' ', count);
    b->len += count;
}

/* ---- JSON ---- */

/* Recursive; the depth is bounded by json_read (JSON_DEPTH_MAX). */
static void put_json_indented(struct buf *b, const struct json *value, uint32_t indent)
{
    const bool is_object = value->kind == JSON_OBJECT;
    if (!document_is_container(value) || !value->first) {
        json_write_to(b, value);
        return;
    }
    buf_put_z(b, is_object ? "{\n" : "[\n");
    for (const struct json *child = value->first; child; child = child->next) {
        document_put_spaces(b, indent + 2);
        if (is_object) {
            json_write_string(b, child->key);
            buf_put_z(b, ": ");
        }
        put_json_indented(b, child, indent + 2);
        buf_put_z(b, child->next ? ",\n" : "\n");
    }
    document_put_spaces(b, indent);
    buf_put_c(b, is_object ? '}' : ']');
}

void document_put_json(struct buf *b, const struct json *value)
{
    put_json_indented(b, value, 0);
    buf_put_c(b, '\n');
}

/* ---- YAML ---- */

/* Plain scalars that YAML 1.1 or 1.2 reads as null, a boolean or a number, in any case. */
static bool is_reserved_word(struct str text)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on",
                                        "off",  "null",  "y",   "n",  "nan"};
    for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (str_eq_nocase(text, str_from(words[i])))
            return true;
    return false;
}

/* True for a word that begins with a letter or underscore and has no character with a meaning in
 * YAML. This is stricter than YAML requires. */
static bool is_plain_scalar(struct str text)
{
    if (text.len == 0 || !(char_is_letter(text.at[0]) || text.at[0] == '_') ||
        text.at[text.len - 1] == ' ')
        return false;
    for (uint32_t i = 0; i < text.len; i++)
        if (!char_is_letter(text.at[i]) && !char_is_digit(text.at[i]) &&
            !(text.at[i] && strchr("-_./@+ ", text.at[i])))
            return false;
    return !is_reserved_word(text);
}

struct escape {
    const char *bytes; /* a character in UTF-8 */
    const char *text;  /* its YAML escape */
};

/* Characters that are allowed in a JSON string but not in YAML, or that YAML reads as a line break.
 * C1 control characters (bytes C2 80 to C2 9F) are handled in put_yaml_escape. */
static const struct escape escapes[] = {{"\x7f", "\\x7f"},           {"\xe2\x80\xa8", "\\u2028"},
                                        {"\xe2\x80\xa9", "\\u2029"}, {"\xef\xbb\xbf", "\\ufeff"},
                                        {"\xef\xbf\xbe", "\\ufffe"}, {"\xef\xbf\xbf", "\\uffff"}};

/* Write an escape for the character at the start of `rest`. The count of its bytes; 0: it needs no
 * escape, and nothing was written. */
static uint32_t put_yaml_escape(struct buf *b, struct str rest)
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

static void put_yaml_quoted(struct buf *b, struct str text)
{
    struct buf quoted = buf_in(b->arena);
    json_write_string(&quoted, text);
    const struct str all = buf_str(&quoted);
    for (uint32_t at = 0; at < all.len;) {
        /* The characters in `escapes` and C1 control characters begin with one of these bytes. */
        const unsigned char c = (unsigned char)all.at[at];
        const bool may_escape = c == 0x7f || c == 0xc2 || c == 0xe2 || c == 0xef;
        const uint32_t size = may_escape ? put_yaml_escape(b, str_slice(all, at, all.len)) : 0;
        if (size == 0)
            buf_put_c(b, all.at[at]);
        at += size ? size : 1;
    }
}

static void put_yaml_string(struct buf *b, struct str text)
{
    if (is_plain_scalar(text))
        buf_put_str(b, text);
    else
        put_yaml_quoted(b, text);
}

static void put_yaml_scalar(struct buf *b, const struct json *value)
{
    if (value->kind == JSON_STRING)
        put_yaml_string(b, value->text);
    else
        json_write_to(b, value);
    buf_put_c(b, '\n');
}

/* `is_indented`: the current line already has the indent (after "- "). The recursion is bounded
 * like that of put_json_indented. */
static void put_yaml_block(struct buf *b, const struct json *value, uint32_t indent,
                           bool is_indented)
{
    const bool is_object = value->kind == JSON_OBJECT;
    for (const struct json *child = value->first; child; child = child->next) {
        const bool is_deep = document_is_container(child) && child->first;
        if (!is_indented)
            document_put_spaces(b, indent);
        is_indented = false;
        if (is_object) {
            put_yaml_string(b, child->key);
            buf_put_z(b, is_deep ? ":\n" : ": ");
        } else {
            buf_put_z(b, "- ");
        }
        if (is_deep)
            put_yaml_block(b, child, indent + 2, !is_object);
        else
            put_yaml_scalar(b, child);
    }
}

void document_put_yaml(struct buf *b, const struct json *value)
{
    if (document_is_container(value) && value->first)
        put_yaml_block(b, value, 0, false);
    else
        put_yaml_scalar(b, value);
}
