#include "cli/cmd/filter.h"

#include <string.h>

#include "cli/cmd/nouns.h"

struct sign {
    const char *text;
    const char *suffix;
};

/* The longer ones first. */
static const struct sign signs[] = {
    {"!=", ".not"}, {">=", ".min"}, {"<=", ".max"}, {"~", ".contains"}, {"=", ""}};

static void put_pair(struct buf *b, struct str name, const char *suffix, struct str value)
{
    buf_put_z(b, b->len ? "&" : "");
    request_encode(b, name);
    buf_put_z(b, suffix);
    buf_put_c(b, '=');
    request_encode(b, value);
}

/* Where the sign stands, the leftmost one. NULL: there is none. */
static const struct sign *find_sign(const char *filter, const char **out_at)
{
    const struct sign *found = NULL;
    const char *first = NULL;
    for (uint32_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        const char *at = strstr(filter, signs[i].text);
        if (at && (!first || at < first)) {
            first = at;
            found = &signs[i];
        }
    }
    *out_at = first;
    return found;
}

/* The column whose ids are shown as names under this field: "deployment" of deployment_id. */
static const struct cli_column *named_column(const struct cli_noun *noun, struct str field)
{
    for (uint32_t i = 0; i < noun->column_count; i++) {
        const struct str known = str_from(noun->columns[i].field);
        if (noun->columns[i].names_in && known.len == field.len + 3 && str_starts(known, field))
            return &noun->columns[i];
    }
    return NULL;
}

static enum cli_exit find_id(struct cli_request *e, const char *collection, const char *name,
                             struct str *out_id)
{
    const struct json *object;
    const struct api_request q = {.path = request_join(e, str_from(collection), name),
                                  .attributes = "[\"id\"]"};
    const enum cli_exit status = request_send(e, &q, &object);
    const struct json *id = status == CLI_OK ? json_get(object, STR("id")) : NULL;
    if (id && id->kind == JSON_NUMBER)
        *out_id = id->text;
    return status;
}

static enum cli_exit put_filter(struct cli_request *e, struct buf *b, const char *filter)
{
    const char *at;
    const struct sign *sign = find_sign(filter, &at);
    if (!sign || at == filter)
        return request_complain(e, "this is not FIELD=VALUE", filter);
    struct str field = {filter, (uint32_t)(at - filter)};
    struct str value = str_from(at + strlen(sign->text));
    const struct cli_column *column = named_column(e->noun, field);
    if (column) {
        field = str_from(column->field);
        if (value.len && !str_is_digits(value)) {
            const enum cli_exit status = find_id(e, column->names_in, value.at, &value);
            if (status != CLI_OK)
                return status;
        }
    }
    put_pair(b, field, sign->suffix, value);
    return CLI_OK;
}

const char *filter_sort(const struct cli_request *e)
{
    return e->options.sort || e->options.after ? e->options.sort : e->noun->sort;
}

static bool names_system(const struct options *o)
{
    for (uint32_t i = 0; i < o->filters.count; i++) {
        const char *at;
        const struct str filter = str_from(o->filters.texts[i]);
        if (find_sign(filter.at, &at) &&
            str_eq(str_slice(filter, 0, (uint32_t)(at - filter.at)), STR("system")))
            return true;
    }
    return false;
}

enum cli_exit filter_query(struct cli_request *e, struct str *out_query)
{
    struct buf b = buf_in(e->arena);
    const struct options *o = &e->options;
    int64_t limit = 0;
    for (uint32_t i = 0; i < o->filters.count; i++) {
        const enum cli_exit status = put_filter(e, &b, o->filters.texts[i]);
        if (status != CLI_OK)
            return status;
    }
    for (uint32_t i = 0; i < o->states.count; i++)
        put_pair(&b, STR("state"), "", str_from(o->states.texts[i]));
    if (e->noun->hides_system && !o->all && !names_system(o))
        put_pair(&b, STR("system"), "", STR("false"));
    if (o->limit && (!str_parse_i64(str_from(o->limit), &limit) || limit == 0))
        return request_complain(e, "this is no number of objects", o->limit);
    const char *sort = filter_sort(e);
    if (sort)
        put_pair(&b, STR("sort"), "", str_from(sort));
    if (o->limit)
        put_pair(&b, STR("limit"), "", str_from(o->limit));
    if (o->after)
        put_pair(&b, STR("after"), "", str_from(o->after));
    *out_query = buf_str(&b);
    return CLI_OK;
}
