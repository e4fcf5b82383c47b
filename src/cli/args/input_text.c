#include "cli/args/input_text.h"

#include <string.h>

/* Stateless parsers; values are in the arena. The whole text is tried as one JSON value first, then
 * as one object per line. On failure the message is constant text and the caller prints it. */

/* The number of the line, from 1, that the byte at `offset` is in. */
static uint32_t input_line_of(struct str text, uint32_t offset)
{
    uint32_t line = 1;
    for (uint32_t i = 0; i < offset && i < text.len; i++)
        line += text.at[i] == '\n';
    return line;
}

static bool input_is_blank(struct str text)
{
    for (uint32_t i = 0; i < text.len; i++)
        if (!strchr(" \t\r\n", text.at[i]))
            return false;
    return true;
}

/* One object per line; blank lines are skipped. NULL, or an error message about *out_line. */
static const char *input_parse_lines(struct arena *a, struct str text, struct json **out_value,
                                     uint32_t *out_line)
{
    struct json *list = json_make(a, JSON_ARRAY), *object;
    uint32_t offset;
    const char *what;
    *out_line = 0;
    for (uint32_t from = 0; from < text.len;) {
        const uint32_t to = str_find(text, '\n', from);
        const struct str line = str_slice(text, from, to);
        ++*out_line;
        from = to + 1;
        if (input_is_blank(line))
            continue;
        if (json_read(a, line, &object, &offset, &what) != OK)
            return what;
        if (object->kind != JSON_OBJECT)
            return "each line must be a JSON object";
        json_append(list, object);
    }
    *out_value = list;
    return NULL;
}

static bool is_list_of_objects(const struct json *value)
{
    if (value->kind != JSON_ARRAY)
        return false;
    for (const struct json *item = value->first; item; item = item->next)
        if (item->kind != JSON_OBJECT)
            return false;
    return true;
}

const char *input_parse(struct arena *a, struct str text, struct json **out_value,
                        uint32_t *out_line)
{
    uint32_t offset;
    const char *what;
    *out_line = 1;
    if (input_is_blank(text))
        return "the input is empty";
    if (json_read(a, text, out_value, &offset, &what) == OK) {
        const bool is_right = (*out_value)->kind == JSON_OBJECT || is_list_of_objects(*out_value);
        return is_right ? NULL : "expected a JSON object or a list of JSON objects";
    }
    /* The text may have one object per line. If already the first line is no object, the text was
     * meant as one JSON value: report the error of the first attempt. */
    const char *lines_error = input_parse_lines(a, text, out_value, out_line);
    if (!lines_error || *out_line > 1)
        return lines_error;
    *out_line = input_line_of(text, offset);
    return what;
}

struct json *input_value(struct arena *a, const char *text)
{
    struct json *value;
    uint32_t offset;
    const char *what;
    if (json_read(a, str_from(text), &value, &offset, &what) == OK)
        return value;
    return json_make_string(a, str_from(text));
}
