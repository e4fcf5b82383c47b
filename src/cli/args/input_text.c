#include "cli/args/input_text.h"

#include <string.h>

static uint32_t line_of(struct str text, uint32_t offset)
{
    uint32_t line = 1;
    for (uint32_t i = 0; i < offset && i < text.len; i++)
        line += text.at[i] == '\n';
    return line;
}

static bool is_blank(struct str text)
{
    for (uint32_t i = 0; i < text.len; i++)
        if (!strchr(" \t\r\n", text.at[i]))
            return false;
    return true;
}

/* NULL, or what is wrong with it. */
static const char *parse_lines(struct arena *a, struct str text, struct json **out_value,
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
        if (is_blank(line))
            continue;
        if (json_read(a, line, &object, &offset, &what) != OK)
            return what;
        if (object->kind != JSON_OBJECT)
            return "a line must be a JSON object";
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
    if (is_blank(text))
        return "there is nothing in it";
    if (json_read(a, text, out_value, &offset, &what) == OK) {
        const bool is_right = (*out_value)->kind == JSON_OBJECT || is_list_of_objects(*out_value);
        return is_right ? NULL : "this must be a JSON object, or a list of them";
    }
    /* It may be an object a line. If not even the first line is one, it was meant as a whole. */
    const char *of_lines = parse_lines(a, text, out_value, out_line);
    if (!of_lines || *out_line > 1)
        return of_lines;
    *out_line = line_of(text, offset);
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
