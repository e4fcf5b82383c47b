#include "cli/cmd/filter.h"

#include <string.h>

#include "cli/cmd/nouns.h"

/* Translates options of list into a query string. Stateless. Filters are translated in the order of
 * the command line; a name in place of an id is looked up by a request for each filter, before the
 * list is requested. On failure (no operator, a name that does not exist, a wrong --limit) the
 * error is printed and the list is not requested. */

struct filter_operator {
    const char *text;
    const char *suffix; /* of the field in the query string */
};

/* The order does not matter: the leftmost operator is used, and none is a prefix of another. */
static const struct filter_operator operators[] = {
    {"!=", ".not"}, {">=", ".min"}, {"<=", ".max"}, {"~", ".contains"}, {"=", ""}};

static void filter_put_param(struct buf *b, struct str name, const char *suffix, struct str value)
{
    buf_put_z(b, b->len ? "&" : "");
    request_encode(b, name);
    buf_put_z(b, suffix);
    buf_put_c(b, '=');
    request_encode(b, value);
}

/* The leftmost operator of the filter; *out_at points to it. NULL: there is none. */
static const struct filter_operator *filter_find_operator(const char *filter, const char **out_at)
{
    const struct filter_operator *found = NULL;
    const char *first = NULL;
    for (uint32_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        const char *at = strstr(filter, operators[i].text);
        if (at && (!first || at < first)) {
            first = at;
            found = &operators[i];
        }
    }
    *out_at = first;
    return found;
}

/* The column that shows names for the ids in FIELD_id: deployment_id for "deployment". NULL: none.
 */
static const struct cli_column *filter_named_column(const struct cli_noun *noun, struct str field)
{
    for (uint32_t i = 0; i < noun->column_count; i++) {
        const struct str known = str_from(noun->columns[i].field);
        if (noun->columns[i].names_in && known.len == field.len + 3 && str_starts(known, field))
            return &noun->columns[i];
    }
    return NULL;
}

/* Set *out_id to the id of the object with this name. */
static enum cli_exit filter_find_id(struct cli_request *req, const char *collection,
                                    const char *name, struct str *out_id)
{
    const struct json *object;
    const struct api_request call = {.path = request_join(req, str_from(collection), name),
                                     .attributes = "[\"id\"]"};
    const enum cli_exit status = request_send(req, &call, &object);
    const struct json *id = status == CLI_OK ? json_get(object, STR("id")) : NULL;
    if (id && id->kind == JSON_NUMBER)
        *out_id = id->text;
    return status;
}

/* Append one filter to the query string. */
static enum cli_exit filter_put_filter(struct cli_request *req, struct buf *b, const char *filter)
{
    const char *at;
    const struct filter_operator *operator= filter_find_operator(filter, &at);
    if (!operator|| at == filter)
        return request_usage_error(req, "expected FIELD=VALUE", filter);
    struct str field = {filter, (uint32_t)(at - filter)};
    struct str value = str_from(at + strlen(operator->text));
    const struct cli_column *column = filter_named_column(req->noun, field);
    if (column) {
        field = str_from(column->field);
        if (value.len && !str_is_digits(value)) {
            const enum cli_exit status = filter_find_id(req, column->names_in, value.at, &value);
            if (status != CLI_OK)
                return status;
        }
    }
    filter_put_param(b, field, operator->suffix, value);
    return CLI_OK;
}

/* With --after and without --sort the order is that of the server: in the default order of events,
 * newest first, --after would list older events in place of newer ones. */
const char *filter_sort(const struct cli_request *req)
{
    return req->options.sort || req->options.after ? req->options.sort : req->noun->sort;
}

/* True if a filter refers to the field `system`: then system nodes are not hidden by default. */
static bool filter_names_system(const struct options *o)
{
    for (uint32_t i = 0; i < o->filters.count; i++) {
        const char *at;
        const struct str filter = str_from(o->filters.values[i]);
        if (filter_find_operator(filter.at, &at) &&
            str_eq(str_slice(filter, 0, (uint32_t)(at - filter.at)), STR("system")))
            return true;
    }
    return false;
}

enum cli_exit filter_query(struct cli_request *req, struct str *out_query)
{
    struct buf b = buf_in(req->arena);
    const struct options *o = &req->options;
    int64_t limit = 0;
    for (uint32_t i = 0; i < o->filters.count; i++) {
        const enum cli_exit status = filter_put_filter(req, &b, o->filters.values[i]);
        if (status != CLI_OK)
            return status;
    }
    for (uint32_t i = 0; i < o->states.count; i++)
        filter_put_param(&b, STR("state"), "", str_from(o->states.values[i]));
    if (req->noun->hides_system && !o->all && !filter_names_system(o))
        filter_put_param(&b, STR("system"), "", STR("false"));
    if (o->limit && (!str_parse_i64(str_from(o->limit), &limit) || limit == 0))
        return request_usage_error(req, "--limit must be a number above 0", o->limit);
    const char *sort = filter_sort(req);
    if (sort)
        filter_put_param(&b, STR("sort"), "", str_from(sort));
    if (o->limit)
        filter_put_param(&b, STR("limit"), "", str_from(o->limit));
    if (o->after)
        filter_put_param(&b, STR("after"), "", str_from(o->after));
    *out_query = buf_str(&b);
    return CLI_OK;
}
