#include "cli/cmd/response_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/cmd/id_names.h"
#include "cli/output/document.h"
#include "cli/output/table.h"
#include "cli/output/term_escape.h"
#include "sys/clock.h"

/* Stateless: writes replies to stdout, as tables, documents (JSON, YAML) or lists of names (-q).
 * The noun of the request (req->noun) decides on columns, states and the name field, so verbs that
 * print objects of another noun set it before they call.
 *
 * Order: a table or document is composed in memory and written with one call. Names for ids are
 * fetched while it is composed, so the reply of a verb may cause further requests (id_names.h).
 *
 * Failure: no function fails. A name that cannot be fetched is shown as its id. A failed write to
 * stdout is detected by cli_main, which flushes it at the end; verbs that print for a long time
 * flush it themselves. Text of a table is written with control characters replaced
 * (term_escape.h). */

/* ---- format ---- */

enum output_form output_form(const struct cli_request *req)
{
    const char *format = req->options.output;
    if (!format || strcmp(format, "table") == 0)
        return OUTPUT_TABLE;
    return strcmp(format, "json") == 0 ? OUTPUT_JSON : OUTPUT_YAML;
}

bool output_check(const struct cli_request *req)
{
    const char *format = req->options.output;
    if (!format || strcmp(format, "table") == 0 || strcmp(format, "json") == 0 ||
        strcmp(format, "yaml") == 0)
        return true;
    request_usage_error(req, "--output must be table, json or yaml, not", format);
    return false;
}

bool output_has_colors(int fd)
{
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(fd) && !(no && no[0]) && !(terminal && strcmp(terminal, "dumb") == 0);
}

const char *output_attributes(struct cli_request *req)
{
    const struct cli_noun *noun = req->noun;
    struct buf b = buf_in(req->arena);
    if (!req->options.quiet && output_form(req) != OUTPUT_TABLE)
        return NULL;
    buf_put_z(&b, "[\"id\"");
    for (uint32_t i = 0; !req->options.quiet && i < noun->column_count; i++) {
        buf_put_c(&b, ',');
        json_write_string(&b, str_from(noun->columns[i].field));
    }
    if (req->options.quiet) {
        buf_put_c(&b, ',');
        json_write_string(&b, str_from(noun->key));
    }
    buf_put_c(&b, ']');
    return str_z(req->arena, buf_str(&b));
}

void output_text(struct str text)
{
    if (text.len)
        fwrite(text.at, 1, text.len, stdout);
}

/* ---- values ---- */

const struct cli_state *output_state(const struct cli_noun *noun, const struct json *value)
{
    int64_t number;
    const bool is_number = json_as_i64(value, &number);
    for (uint32_t i = 0; value && i < noun->state_count; i++)
        if (is_number
                ? noun->states[i].number == number
                : value->kind == JSON_STRING && str_eq(value->text, str_from(noun->states[i].name)))
            return &noun->states[i];
    return NULL;
}

/* "a, b, c" for a list of scalars; "-" for an empty one. */
static struct str output_list_text(struct arena *a, const struct json *list)
{
    struct buf b = buf_in(a);
    for (const struct json *item = list->first; item; item = item->next) {
        buf_put_z(&b, item == list->first ? "" : ", ");
        if (item->kind == JSON_STRING)
            buf_put_str(&b, item->text);
        else
            json_write_to(&b, item);
    }
    return b.len ? buf_str(&b) : STR("-");
}

/* "-" for null and for a missing value. */
static struct str output_value_text(struct arena *a, const struct json *value)
{
    if (!value || value->kind == JSON_NULL)
        return STR("-");
    if (value->kind == JSON_STRING)
        return value->text;
    if (value->kind == JSON_ARRAY)
        return output_list_text(a, value);
    return value->kind == JSON_NUMBER ? value->text : json_write(a, value);
}

/* The age of a time such as 2015-01-02T03:04:05Z: "45s", "12m", "7h" or "30d". 0s if the local
 * clock is behind that of the daemon. */
static struct str output_age_text(struct arena *a, const struct json *value)
{
    static const struct {
        int64_t seconds, below; /* length of the unit; used for fewer than `below` units */
        char unit;
    } steps[] = {{1, 120, 's'}, {60, 120, 'm'}, {3600, 48, 'h'}, {86400, INT64_MAX, 'd'}};
    struct tm time = {0};
    struct buf b = buf_in(a);
    if (!value || value->kind != JSON_STRING ||
        sscanf(str_z(a, value->text), "%4d-%2d-%2dT%2d:%2d:%2d", &time.tm_year, &time.tm_mon,
               &time.tm_mday, &time.tm_hour, &time.tm_min, &time.tm_sec) != 6)
        return output_value_text(a, value);
    time.tm_year -= 1900;
    time.tm_mon -= 1;
    int64_t age = sys_now_ms() / 1000 - (int64_t)timegm(&time);
    age = age < 0 ? 0 : age;
    for (uint32_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (age / steps[i].seconds < steps[i].below) {
            buf_put_i64(&b, age / steps[i].seconds);
            buf_put_c(&b, steps[i].unit);
            break;
        }
    return buf_str(&b);
}

static bool is_age(const struct cli_noun *noun, const struct cli_column *column)
{
    return noun->age_field && strcmp(noun->age_field, column->field) == 0;
}

static struct table_cell output_cell(struct cli_request *req, const struct cli_column *column,
                                     const struct id_names *names, const struct json *object)
{
    const struct json *value = json_get(object, str_from(column->field));
    const bool is_state = strcmp(column->field, "state") == 0;
    const struct cli_state *state = is_state ? output_state(req->noun, value) : NULL;
    if (state)
        return (struct table_cell){str_from(state->name), state->color};
    if (is_age(req->noun, column))
        return (struct table_cell){.text = output_age_text(req->arena, value)};
    const struct str name = column->names_in ? id_names_find(names, value) : STR("");
    return (struct table_cell){.text = name.len ? name : output_value_text(req->arena, value)};
}

/* ---- tables ---- */

/* The title of a column: DEPLOYMENT for deployment_id if names are shown, POWER for power_state. */
static struct str output_title(struct arena *a, const struct cli_noun *noun,
                               const struct cli_column *column)
{
    struct str title = str_from(is_age(noun, column) ? "age" : column->field);
    if (str_starts(title, STR("full_"))) /* full_version is shown as VERSION */
        title = str_slice(title, 5, title.len);
    if (column->names_in && str_ends(title, STR("_id")))
        title.len -= 3;
    if (str_ends(title, STR("_state")))
        title.len -= (uint32_t)strlen("_state");
    char *upper = arena_copy(a, title.at, title.len);
    for (uint32_t i = 0; i < title.len; i++) {
        if (upper[i] >= 'a' && upper[i] <= 'z')
            upper[i] = (char)(upper[i] - 'a' + 'A');
        else if (upper[i] == '_')
            upper[i] = ' ';
    }
    return (struct str){upper, title.len};
}

static void fill_column(struct cli_request *req, struct table *t, uint32_t c,
                        const struct json *list)
{
    const struct cli_column *column = &req->noun->columns[c];
    struct id_names names = {0};
    uint32_t row = 0;
    if (column->names_in)
        names = id_names_fetch(req, column->names_in, list, column->field);
    table_set(t, row++, c,
              (struct table_cell){.text = output_title(req->arena, req->noun, column)});
    for (const struct json *object = list->first; object; object = object->next)
        table_set(t, row++, c, output_cell(req, column, &names, object));
}

static bool is_zero_everywhere(const struct json *list, const char *field)
{
    int64_t number;
    for (const struct json *object = list->first; object; object = object->next)
        if (json_as_i64(json_get(object, str_from(field)), &number) && number != 0)
            return false;
    return true;
}

static void output_put_table(struct cli_request *req, const struct json *list, struct buf *b)
{
    const struct cli_noun *noun = req->noun;
    uint32_t columns = noun->column_count;
    /* Leave out the last columns that are rare and have only zeros (rare_columns of struct
     * cli_noun). */
    while (columns > noun->column_count - noun->rare_columns &&
           is_zero_everywhere(list, noun->columns[columns - 1].field))
        columns--;
    struct table t = table_new(req->arena, list->count + 1, columns);
    /* Lines are cut only if stdout is a terminal; 0 means that they are not. */
    struct winsize size;
    const bool has_width = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    t.width_max = has_width ? size.ws_col : 0;
    t.has_colors = output_has_colors(STDOUT_FILENO);
    for (uint32_t c = 0; c < t.columns; c++)
        fill_column(req, &t, c, list);
    table_put(b, &t);
}

/* For -q: the key field of each object, or its id. */
static void put_keys(struct cli_request *req, const struct json *list, struct buf *b)
{
    for (const struct json *object = list->first; object; object = object->next) {
        const struct json *key = json_get(object, str_from(req->noun->key));
        term_put_escaped(b, output_value_text(req->arena, key ? key : json_get(object, STR("id"))));
        buf_put_c(b, '\n');
    }
}

static void output_put_document(struct cli_request *req, const struct json *document, struct buf *b)
{
    if (output_form(req) != OUTPUT_JSON)
        document_put_yaml(b, document);
    else if (req->options.watch) {
        json_write_to(b, document); /* one document per line, for programs that read lines */
        buf_put_c(b, '\n');
    } else {
        document_put_json(b, document);
    }
}

void output_list(struct cli_request *req, const struct json *list)
{
    struct buf b = buf_in(req->arena);
    if (req->options.quiet)
        put_keys(req, list, &b);
    else if (output_form(req) != OUTPUT_TABLE)
        output_put_document(req, id_names_add(req, list), &b);
    else
        output_put_table(req, list, &b);
    output_text(buf_str(&b));
}

void output_row(struct cli_request *req, const struct json *object)
{
    const bool is_object = object->kind == JSON_OBJECT;
    struct json *list = json_make(req->arena, JSON_ARRAY);
    json_append(list, json_clone(req->arena, object));
    if (!req->options.quiet && output_form(req) != OUTPUT_TABLE) {
        output_document(req, is_object ? id_names_add(req, list)->first : object);
        return;
    }
    output_list(req, list);
}

/* ---- one object ---- */

/* The value of a member, with the name of an id or state: "1 (system)". */
static struct str output_member_text(struct cli_request *req, const struct json *object,
                                     const struct json *member)
{
    const struct cli_noun *noun = req->noun;
    const struct str text = output_value_text(req->arena, member);
    struct json *list = json_make(req->arena, JSON_ARRAY);
    struct str name = STR("");
    json_append(list, json_clone(req->arena, object));
    for (uint32_t i = 0; i < noun->column_count; i++) {
        const struct cli_column *column = &noun->columns[i];
        if (!column->names_in || !str_eq(member->key, str_from(column->field)))
            continue;
        const struct id_names names = id_names_fetch(req, column->names_in, list, column->field);
        name = id_names_find(&names, member);
    }
    if (str_eq(member->key, STR("state")) && output_state(noun, member))
        name = str_from(output_state(noun, member)->name);
    if (name.len == 0 || str_eq(name, text))
        return text;
    struct buf b = buf_in(req->arena);
    buf_put_str(&b, text);
    buf_put_z(&b, " (");
    buf_put_str(&b, name);
    buf_put_c(&b, ')');
    return buf_str(&b);
}

static void output_put_spaces(struct buf *b, uint32_t count)
{
    while (count--)
        buf_put_c(b, ' ');
}

/* "KEY  VALUE". Further lines of the value are indented to the column of the first. */
static void output_put_member(struct buf *b, struct str key, struct str text, uint32_t width)
{
    uint32_t from = 0;
    while (text.len && text.at[text.len - 1] == '\n')
        text.len--;
    term_put_escaped(b, key);
    output_put_spaces(b, width - term_width_escaped(key));
    do {
        const uint32_t to = str_find(text, '\n', from);
        if (from)
            output_put_spaces(b, width);
        term_put_escaped(b, str_slice(text, from, to));
        buf_put_c(b, '\n');
        from = to + 1;
    } while (from <= text.len && text.len);
}

static bool output_is_column(const struct cli_request *req, struct str key)
{
    for (uint32_t i = 0; i < req->noun->column_count; i++)
        if (str_eq(key, str_from(req->noun->columns[i].field)))
            return true;
    return false;
}

/* The columns of the noun first, in their order, then the other members. */
void output_object(struct cli_request *req, const struct json *object)
{
    struct buf b = buf_in(req->arena);
    uint32_t width = 0;
    if (req->options.quiet || output_form(req) != OUTPUT_TABLE || object->kind != JSON_OBJECT) {
        output_row(req, object);
        return;
    }
    for (const struct json *m = object->first; m; m = m->next)
        width = term_width_escaped(m->key) > width ? term_width_escaped(m->key) : width;
    for (uint32_t i = 0; i < req->noun->column_count; i++) {
        const struct json *m = json_get(object, str_from(req->noun->columns[i].field));
        if (m)
            output_put_member(&b, m->key, output_member_text(req, object, m), width + 2);
    }
    for (const struct json *m = object->first; m; m = m->next)
        if (!output_is_column(req, m->key))
            output_put_member(&b, m->key, output_member_text(req, object, m), width + 2);
    output_text(buf_str(&b));
}

/* ---- documents, messages and events ---- */

void output_document(struct cli_request *req, const struct json *document)
{
    struct buf b = buf_in(req->arena);
    output_put_document(req, document, &b);
    output_text(buf_str(&b));
}

void output_message(struct cli_request *req, const struct json *reply)
{
    const struct json *message = json_get(reply, STR("message"));
    struct buf b = buf_in(req->arena);
    if (req->options.quiet)
        return;
    if (output_form(req) != OUTPUT_TABLE || !message || message->kind != JSON_STRING) {
        output_document(req, reply);
        return;
    }
    term_put_escaped(&b, message->text);
    buf_put_c(&b, '\n');
    output_text(buf_str(&b));
}

/* "2026-...Z  user admin  node_create  node 3  from 192.0.2.7" */
static void output_put_event(struct cli_request *req, const struct json *event, struct buf *b)
{
    static const char *const fields[] = {"at", "actor", "verb", "object", "object_id"};
    static const char *const ends[] = {"  ", "  ", "  ", " ", ""};
    const struct json *address = json_get(event, STR("address"));
    for (uint32_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        term_put_escaped(b, output_value_text(req->arena, json_get(event, str_from(fields[i]))));
        buf_put_z(b, ends[i]);
    }
    if (address && address->kind == JSON_STRING && address->text.len) {
        buf_put_z(b, "  from ");
        term_put_escaped(b, address->text);
    }
    buf_put_c(b, '\n');
}

void output_event(struct cli_request *req, const struct json *event)
{
    struct buf b = buf_in(req->arena);
    if (req->options.quiet) {
        term_put_escaped(&b, output_value_text(req->arena, json_get(event, STR("id"))));
        buf_put_c(&b, '\n');
    } else if (output_form(req) == OUTPUT_TABLE) {
        output_put_event(req, event, &b);
    } else if (output_form(req) == OUTPUT_JSON) {
        json_write_to(&b, event);
        buf_put_c(&b, '\n');
    } else {
        buf_put_z(&b, "---\n");
        document_put_yaml(&b, event);
    }
    output_text(buf_str(&b));
}
