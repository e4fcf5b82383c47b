#include "api/call/query.h"

#include "api/call/iso8601.h"

/* Parser and evaluation of list queries: filters, sort order and page.
 *
 * A query is parsed completely before the first object is tested. Every value is converted once,
 * when the query is parsed, to each type that a field may need, so that testing an object does no
 * parsing. A query is a conjunction: every condition must hold, and a condition holds if one of its
 * values matches (.not: if none does). The conditions are tested in the order in which
 * they were parsed, which affects the cost but not the result.
 *
 * Substring search is case-insensitive Knuth-Morris-Pratt: linear in the length of the text for any
 * search string, so that no query can block the event loop for long. The scanned bytes are counted
 * as work, which the caller limits in each step of a list.
 *
 * Failure: the first error ends the parsing and is returned with its parameter; the query must not
 * be used then. Limits of values, conditions and sizes bound the memory and time that one request
 * can use. Evaluation cannot fail: a value of a type that cannot be compared does not match.
 */

/* ---- values ---- */

/* State of the parser. The values of a condition are consecutive: they are those that were taken
 * while the condition was parsed. */
struct query_parser {
    struct arena *arena;
    struct query_wanted *next; /* next unused value; QUERY_WANTED_MAX in total */
    struct query_wanted *end;
    uint32_t needles;  /* values with .contains so far */
    const char *error; /* NULL: no error */
};

static char query_to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Prepares a Knuth-Morris-Pratt search: borders[i] is the length of the longest proper prefix of
 * the first i + 1 bytes that is also their suffix. A value of QUERY_WANTED_SIZE_MAX bytes has fewer
 * than 65536 bytes also as a quoted JSON string, so uint16_t is enough. */
static struct query_needle query_needle_new(struct arena *a, struct str text)
{
    const struct str wanted = str_lower(a, text);
    uint16_t *borders = arena_array(a, uint16_t, wanted.len + (size_t)1);
    uint16_t border = 0;
    for (uint32_t i = 1; i < wanted.len; i++) {
        while (border && wanted.at[i] != wanted.at[border])
            border = borders[border - 1];
        if (wanted.at[i] == wanted.at[border])
            border++;
        borders[i] = border;
    }
    return (struct query_needle){wanted, borders};
}

/* Prepares a value for .contains: the text for fields that are strings, and the text as a JSON
 * string, with its quotes, for fields that are arrays. */
static void query_add_needle(struct query_parser *r, struct query_wanted *w)
{
    struct buf quoted = buf_in(r->arena);
    if (w->kind != JSON_STRING || w->text.len > QUERY_WANTED_SIZE_MAX)
        return;
    if (++r->needles > QUERY_NEEDLES_MAX)
        r->error = "exceeds the limit of 16 values with .contains in a query";
    json_write_string(&quoted, w->text);
    w->inside = query_needle_new(r->arena, w->text);
    w->inside_quotes = query_needle_new(r->arena, buf_str(&quoted));
}

/* NULL: the limit is reached, and the parser has an error. */
static struct query_wanted *query_next_value(struct query_parser *r)
{
    if (r->next == r->end) {
        r->error = "exceeds the limit of 1000 values in a query";
        return NULL;
    }
    return r->next++;
}

static void query_add_scalar(struct query_parser *r, const struct object_view_field *field,
                             const struct json *value)
{
    /* Numbers may be sent as strings: forms and query strings have no other type. */
    const struct json as_number = {.kind = JSON_NUMBER, .text = value->text};
    const bool is_text = value->kind == JSON_STRING;
    struct query_wanted *w = query_next_value(r);
    if (!w)
        return;
    if (value->text.len > QUERY_WANTED_SIZE_MAX)
        r->error = "is longer than the 4096 bytes that a filter value may have";
    *w = (struct query_wanted){.kind = value->kind, .text = value->text};
    w->has_number = (is_text || value->kind == JSON_NUMBER) && json_as_i64(&as_number, &w->number);
    if (is_text && !w->has_number)
        w->has_number = object_view_state_number(field, value->text, &w->number);
    w->has_time = is_text && iso8601_parse(value->text, &w->time_ms);
}

static void query_add_value(struct query_parser *r, const struct object_view_field *field,
                            const struct json *value)
{
    if (value->kind != JSON_ARRAY && value->kind != JSON_OBJECT) {
        query_add_scalar(r, field, value);
        return;
    }
    /* An array or object is compared as canonical JSON. Only arrays can match, but too long values
     * of both are refused. */
    struct query_wanted *w = query_next_value(r);
    if (!w)
        return;
    *w = (struct query_wanted){.kind = value->kind, .doc = json_write(r->arena, value)};
    if (w->doc.len > QUERY_WANTED_SIZE_MAX)
        r->error = "is longer than the 4096 bytes that a filter value may have";
}

static const char query_too_many_conditions[] = "exceeds the limit of 32 conditions in a query";

/* Adds a condition on the field; NULL if there are too many. */
static struct query_condition *query_add_condition(struct query *query,
                                                   const struct object_view_field *field,
                                                   enum query_op op)
{
    if (query->count == QUERY_CONDITIONS_MAX)
        return NULL;
    struct query_condition *c = &query->conditions[query->count++];
    *c = (struct query_condition){.field = field, .op = op};
    return c;
}

static const char *query_read_condition(struct query_parser *r, struct query *query,
                                        const struct object_view_field *field, enum query_op op,
                                        const struct json *value)
{
    struct query_condition *c = query_add_condition(query, field, op);
    if (!c)
        return query_too_many_conditions;
    struct query_wanted *first = r->next;
    c->values = first;
    /* An array lists alternatives; for a field that is itself an array, it is also the value. */
    if (value->kind != JSON_ARRAY || field->kind == PROP_ARRAY)
        query_add_value(r, field, value);
    const struct json *item = value->kind == JSON_ARRAY ? value->first : NULL;
    for (; item && !r->error; item = item->next)
        query_add_value(r, field, item);
    c->count = (uint32_t)(r->next - first);
    for (struct query_wanted *w = first; op == QUERY_CONTAINS && w < r->next && !r->error; w++)
        query_add_needle(r, w);
    return r->error;
}

static struct query_parser query_parser_new(struct arena *a)
{
    struct query_wanted *values = arena_array(a, struct query_wanted, QUERY_WANTED_MAX);
    return (struct query_parser){.arena = a, .next = values, .end = values + QUERY_WANTED_MAX};
}

/* A value that its field can never have is not an error here, unlike in a query string: nothing
 * matches it. */
struct query_error query_read_object(const struct object_view *view, const struct json *object,
                                     struct arena *a, struct query *out_query)
{
    struct query_parser r = query_parser_new(a);
    *out_query = (struct query){.count = 0};
    for (uint32_t i = 0; i < view->count; i++) {
        const struct object_view_field *field = &view->fields[i];
        const struct json *value = json_get(object, str_from(field->name));
        const char *error =
            value ? query_read_condition(&r, out_query, field, QUERY_IS, value) : NULL;
        if (error)
            return (struct query_error){str_from(field->name), error};
    }
    return (struct query_error){.text = NULL};
}

/* ---- query strings ---- */

const struct object_view_field *query_field(const struct object_view *view, struct str name)
{
    for (uint32_t i = 0; i < view->count; i++)
        if (str_eq(name, str_from(view->fields[i].name)))
            return &view->fields[i];
    return NULL;
}

/* Splits "alive.not" into field name and operator. False: the operator is unknown. */
static bool query_read_op(struct str *name, enum query_op *out_op)
{
    static const char *const names[] = {[QUERY_NOT] = "not",
                                        [QUERY_CONTAINS] = "contains",
                                        [QUERY_MIN] = "min",
                                        [QUERY_MAX] = "max"};
    const uint32_t dot = str_find(*name, '.', 0);
    const struct str word = str_slice(*name, dot + 1, name->len);
    *out_op = QUERY_IS;
    if (dot == name->len)
        return true;
    *name = str_slice(*name, 0, dot);
    for (int op = QUERY_NOT; op <= QUERY_MAX; op++)
        if (str_eq(word, str_from(names[op]))) {
            *out_op = (enum query_op)op;
            return true;
        }
    return false;
}

static const char *query_read_sort(const struct object_view *view, struct str value,
                                   struct query *query)
{
    query->is_descending = value.len && value.at[0] == '-';
    query->sort = query_field(view, query->is_descending ? str_slice(value, 1, value.len) : value);
    return query->sort
               ? NULL
               : "must be a field of the listed objects, with - before it for descending order";
}

static const char *query_read_limit(struct str value, struct query *query)
{
    int64_t number;
    if (!str_parse_i64(value, &number) || number < 1 || number > (int64_t)QUERY_LIMIT_MAX)
        return "must be a number from 1 to 10000";
    query->limit = (uint32_t)number;
    return NULL;
}

static const char *query_read_after(struct str value, struct query *query)
{
    query->has_after = str_parse_i64(value, &query->after) && query->after >= 0;
    return query->has_after ? NULL : "must be the id of the last object of the previous page";
}

/* The error text with the names of all states: "must be a state, by its number or name: error,
 * active, ...". The numbers of states begin at -1. */
static const char *query_state_names(struct arena *a, enum object_view_kind kind)
{
    struct buf b = buf_in(a);
    buf_put_z(&b, "must be a state, by its number or name:");
    for (int64_t i = -1; object_view_state_name(kind, i); i++) {
        buf_put_z(&b, i < 0 ? " " : ", ");
        buf_put_z(&b, object_view_state_name(kind, i));
    }
    return str_z(a, buf_str(&b));
}

/* The error text for a value that a field of this type can never have: an empty list would hide the
 * mistake. NULL: the value is possible. */
static const char *query_check_value(struct query_parser *r, const struct query_condition *c,
                                     const struct query_wanted *w)
{
    const enum object_view_kind kind = c->field->kind;
    if (w->kind == JSON_NULL)
        return NULL;
    if (kind == PROP_NODEROLE_STATE || kind == PROP_DEPLOYMENT_STATE ||
        kind == PROP_SNAPSHOT_STATE || kind == PROP_NODE_STATE)
        return w->has_number ? NULL : query_state_names(r->arena, kind);
    if (kind == PROP_INT || kind == PROP_UINT32 || kind == PROP_REF ||
        kind == PROP_LEADING_NUMBER || kind == PROP_RANGE_NUMBER || kind == PROP_ENTRY_NODE)
        return w->has_number ? NULL : "must be a number";
    if (kind == PROP_POWER_STATE) {
        const bool is_state =
            power_state_find(w->text) != POWER_STATE_UNKNOWN || str_eq(w->text, STR("unknown"));
        return is_state ? NULL : "must be unknown, on, off or changing";
    }
    if (kind == PROP_TIME || kind == PROP_LEASE_END)
        return w->has_time ? NULL : "must be a time such as 2015-01-02T03:04:05Z";
    const bool is_truth = kind == PROP_BOOL || kind == PROP_BOOL_INVERTED || kind == PROP_FLAG ||
                          kind == PROP_IS_SET || kind == PROP_NODE_ERROR ||
                          kind == PROP_JIG_ACTIVE || kind == PROP_RANGE_FLAG ||
                          kind == PROP_FILTER_HAS_SERVICE;
    if (!is_truth || str_eq(w->text, STR("true")) || str_eq(w->text, STR("false")))
        return NULL;
    return "must be true or false";
}

/* Reads the pair and all later pairs of the same name: they are alternatives, wherever they are in
 * the query string. The value "null" is null. A value is checked before its needle is prepared, so
 * that an impossible value costs nothing. */
static const char *query_read_alternatives(struct query_parser *r, struct query_condition *c,
                                           const struct http_pair *first)
{
    for (const struct http_pair *pair = first; pair && !r->error; pair = pair->next) {
        if (!str_eq(pair->name, first->name))
            continue;
        const bool is_null = str_eq(pair->value, STR("null"));
        const struct json value = {.kind = is_null ? JSON_NULL : JSON_STRING, .text = pair->value};
        query_add_value(r, c->field, &value);
        if (!r->error)
            r->error = query_check_value(r, c, r->next - 1);
        if (!r->error && c->op == QUERY_CONTAINS)
            query_add_needle(r, r->next - 1);
    }
    c->count = (uint32_t)(r->next - c->values);
    return r->error;
}

static bool query_has_condition(const struct query *query, const struct object_view_field *field,
                                enum query_op op)
{
    for (uint32_t i = 0; i < query->count; i++)
        if (query->conditions[i].field == field && query->conditions[i].op == op)
            return true;
    return false;
}

/* Reads a parameter that is not sort, limit, after or view. A parameter that occurs again has been
 * read with its first occurrence. */
static const char *query_read_filter(struct query_parser *r, const struct object_view *view,
                                     struct query *query, const struct http_pair *pair)
{
    struct str name = pair->name;
    enum query_op op;
    const bool has_valid_op = query_read_op(&name, &op);
    const struct object_view_field *field = has_valid_op ? query_field(view, name) : NULL;
    if (!field)
        return "is not a field of the listed objects, alone or with .not, .contains, .min or .max, "
               "nor limit, after, sort or view";
    if (query_has_condition(query, field, op))
        return NULL;
    struct query_condition *c = query_add_condition(query, field, op);
    if (!c)
        return query_too_many_conditions;
    c->values = r->next;
    return query_read_alternatives(r, c, pair);
}

struct query_error query_read_pairs(const struct object_view *view, const struct http_pair *pairs,
                                    struct arena *a, struct query *out_query)
{
    struct query_parser r = query_parser_new(a);
    const char *error = NULL;
    *out_query = (struct query){.count = 0};
    for (const struct http_pair *pair = pairs; pair; pair = pair->next) {
        if (str_eq(pair->name, STR("sort")))
            error = query_read_sort(view, pair->value, out_query);
        else if (str_eq(pair->name, STR("limit")))
            error = query_read_limit(pair->value, out_query);
        else if (str_eq(pair->name, STR("after")))
            error = query_read_after(pair->value, out_query);
        else if (!str_eq(pair->name, STR("view")))
            error = query_read_filter(&r, view, out_query, pair);
        if (error)
            return (struct query_error){pair->name, error};
    }
    return (struct query_error){.text = NULL};
}

/* ---- evaluation ---- */

static bool query_value_is_string(const struct query_wanted *wanted, struct str text)
{
    return wanted->kind == JSON_STRING && str_eq(wanted->text, text);
}

static bool query_value_equals(const struct object_view_value *v, const struct query_wanted *wanted)
{
    switch (v->kind) {
    case VALUE_NULL: return wanted->kind == JSON_NULL;
    case VALUE_BOOL:
        return wanted->kind == (v->truth ? JSON_TRUE : JSON_FALSE) ||
               query_value_is_string(wanted, v->truth ? STR("true") : STR("false"));
    case VALUE_INT: return wanted->has_number && wanted->number == v->number;
    case VALUE_TEXT: return query_value_is_string(wanted, v->text);
    case VALUE_DOC: return wanted->kind == JSON_ARRAY && str_eq(wanted->doc, v->text);
    case VALUE_TIME: return wanted->has_time && wanted->time_ms == v->number;
    case VALUE_ACTIONS: return false;
    }
    impossible("a kind of value outside the enum");
}

/* Knuth-Morris-Pratt: `matched` bytes of the needle end at the byte before i. */
static bool query_contains(struct str text, const struct query_needle *needle, uint64_t *work)
{
    const struct str wanted = needle->text;
    uint32_t matched = 0, i = 0;
    for (; i < text.len && matched < wanted.len; i++) {
        const char c = query_to_lower(text.at[i]);
        while (matched && wanted.at[matched] != c)
            matched = needle->borders[matched - 1];
        matched += wanted.at[matched] == c;
    }
    *work += i;
    return matched == wanted.len;
}

/* An array contains a string if it has it as an element: the quoted string is searched in the JSON
 * text. */
static bool query_value_contains(const struct object_view_value *v,
                                 const struct query_wanted *wanted, uint64_t *work)
{
    if (wanted->kind != JSON_STRING)
        return false;
    if (v->kind == VALUE_TEXT)
        return query_contains(v->text, &wanted->inside, work);
    return v->kind == VALUE_DOC && query_contains(v->text, &wanted->inside_quotes, work);
}

/* Compares the value of a field with a bound. False: the types cannot be compared. */
static bool query_value_order(const struct object_view_value *v, const struct query_wanted *wanted,
                              int *out)
{
    const bool is_number = v->kind == VALUE_INT && wanted->has_number;
    const bool is_time = v->kind == VALUE_TIME && wanted->has_time;
    const int64_t bound = is_time ? wanted->time_ms : wanted->number;
    if (is_number || is_time) {
        *out = (v->number > bound) - (v->number < bound);
        return true;
    }
    if (v->kind != VALUE_TEXT || wanted->kind != JSON_STRING)
        return false;
    *out = str_cmp(v->text, wanted->text);
    return true;
}

/* Does one value match? For .not this is equality too; query_matches() negates the result. */
static bool query_op_holds(enum query_op op, const struct object_view_value *v,
                           const struct query_wanted *wanted, uint64_t *work)
{
    int order;
    switch (op) {
    case QUERY_IS:
    case QUERY_NOT: return query_value_equals(v, wanted);
    case QUERY_CONTAINS: return query_value_contains(v, wanted, work);
    case QUERY_MIN: return query_value_order(v, wanted, &order) && order >= 0;
    case QUERY_MAX: return query_value_order(v, wanted, &order) && order <= 0;
    }
    impossible("a condition outside the enum");
}

bool query_is_slow(const struct query *query)
{
    uint32_t i = 0;
    while (i < query->count && query->conditions[i].op != QUERY_CONTAINS)
        i++;
    return i < query->count;
}

bool query_matches(const struct query *query, const struct core *core, const struct record *record,
                   struct arena *a, uint64_t *work)
{
    for (uint32_t i = 0; i < query->count; i++) {
        const struct query_condition *c = &query->conditions[i];
        const struct object_view_value v = object_view_value(c->field, core, record, a);
        /* One of the alternatives must match; for .not, none of them. */
        uint32_t k = 0;
        while (k < c->count && !query_op_holds(c->op, &v, &c->values[k], work))
            k++;
        if ((k < c->count) == (c->op == QUERY_NOT))
            return false;
    }
    return true;
}

/* Values of different types are ordered by type; null is first, because VALUE_NULL is the smallest.
 */
int query_compare(const struct object_view_value *a, const struct object_view_value *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    switch (a->kind) {
    case VALUE_NULL: return 0;
    case VALUE_BOOL: return (int)a->truth - (int)b->truth;
    case VALUE_INT:
    case VALUE_TIME: return (a->number > b->number) - (a->number < b->number);
    case VALUE_TEXT:
    case VALUE_DOC:
    case VALUE_ACTIONS: return str_cmp(a->text, b->text);
    }
    impossible("a kind of value outside the enum");
}
