#include "api/call/params.h"

#include "api/call/form.h"
#include "api/call/iso8601.h"
#include "api/call/reply.h"
#include "http/request_log.h"

/* Parsing of parameters and typed access to them. The file has no state of its own: the parsed tree
 * is in the arena of the call, and call->params refers to it.
 *
 * Order: params_read() merges the query string first, then the body, then the members of an object
 * with the name of the type, so that later ones override earlier ones; the getters are called after
 * it. The size of the parsed tree is estimated from the text before it is parsed, because a tree of
 * small values needs many times the memory of its text.
 *
 * Failure: errors of the whole body (bad JSON, media type, size) make the reply at once; errors of
 * single parameters are collected as problems, so that a client gets all of them in one reply. A
 * getter leaves its output unchanged if the parameter is absent, so that callers can store a
 * default before; after a problem the output must not be used.
 */

/* ---- query string and body ---- */

static bool params_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct str params_trim(struct str s)
{
    uint32_t from = 0, to = s.len;
    while (from < to && params_is_blank(s.at[from]))
        from++;
    while (to > from && params_is_blank(s.at[to - 1]))
        to--;
    return str_slice(s, from, to);
}

/* The media type alone, in lower case. */
static struct str media_type(struct call *call)
{
    const struct str header = http_header(call->request, "Content-Type");
    return params_trim(str_lower(call->arena, str_slice(header, 0, str_find(header, ';', 0))));
}

static bool params_type_is_json(struct str type)
{
    return str_eq(type, STR("application/json")) || str_ends(type, STR("+json"));
}

/* No Content-Type, or the default that curl and other tools send. */
static bool params_type_is_form(struct str type)
{
    return type.len == 0 || str_eq(type, STR("application/x-www-form-urlencoded"));
}

/* Other types are refused, above all text/plain: a page of any site can make a browser send that
 * without a preflight request. */
static void params_refuse_media_type(struct call *call)
{
    reply_error(
        call, 415, "unsupported_media_type",
        STR("the Content-Type must be application/json or application/x-www-form-urlencoded"));
}

/* Upper bound of the number of values in a JSON text: commas and opening brackets outside of
 * strings, plus one. */
static uint64_t params_count_values(struct str text)
{
    uint64_t count = 1;
    bool is_string = false;
    for (uint32_t i = 0; i < text.len; i++) {
        const char c = text.at[i];
        if (c == '"')
            is_string = !is_string;
        else if (is_string)
            i += c == '\\';
        else
            count += c == ',' || c == '[' || c == '{';
    }
    return count;
}

bool params_are_strict(const struct call *call)
{
    return str_eq_nocase(http_header(call->request, "Prefer"), STR("handling=strict"));
}

/* OpenCrowbar took the last value of a repeated key, and clients rely on it. With strict handling,
 * and in every stored document, repeated keys are refused. */
static err params_parse_json(struct call *call, struct str text, struct json **out_tree,
                             struct json_remarks *out_remarks)
{
    *out_remarks = (struct json_remarks){0};
    if (params_are_strict(call))
        return json_read(call->arena, text, out_tree, &out_remarks->offset, &out_remarks->what);
    const err e = json_read_last(call->arena, text, out_tree, out_remarks);
    if (out_remarks->repeated.at)
        request_log_repeated_key(call->request, out_remarks->repeated);
    return e;
}

static struct json *params_read_json(struct call *call)
{
    const struct str body = call->request->body;
    struct json *tree;
    struct json_remarks remarks;
    /* The parsed tree may take at most half of the memory of a call. */
    const uint64_t bytes = params_count_values(body) * sizeof(struct json) + 2 * (uint64_t)body.len;
    if (bytes > CALL_MEMORY_MAX / 2) {
        reply_error(call, 413, "too_large", STR("the body has too many values; send it in parts"));
        return NULL;
    }
    if (params_parse_json(call, body, &tree, &remarks) == OK)
        return tree;
    struct buf b = buf_in(call->arena);
    buf_put_z(&b, "the body is not a JSON document: ");
    buf_put_z(&b, remarks.what);
    buf_put_z(&b, " at byte ");
    buf_put_u64(&b, remarks.offset);
    reply_error(call, 400, "bad_json", buf_str(&b));
    return NULL;
}

struct json *params_read_operations(struct call *call)
{
    const struct str type = media_type(call);
    if (params_type_is_json(type) || params_type_is_form(type))
        return params_read_json(call);
    params_refuse_media_type(call);
    return NULL;
}

bool params_are_many(struct call *call)
{
    const struct str type = media_type(call), body = params_trim(call->request->body);
    return (params_type_is_json(type) || params_type_is_form(type)) && body.len &&
           body.at[0] == '[';
}

struct json *params_read_many(struct call *call)
{
    struct json *all = params_read_json(call);
    const struct json *item = all ? all->first : NULL;
    while (item && item->kind == JSON_OBJECT)
        item = item->next;
    if (!item)
        return all;
    reply_error(call, 400, "bad_json", STR("the body must be an array of objects"));
    return NULL;
}

static struct json *params_read_body(struct call *call)
{
    const struct str body = params_trim(call->request->body), type = media_type(call);
    if (body.len == 0)
        return json_make(call->arena, JSON_OBJECT);
    /* Clients often send JSON with the default type of forms; no form begins with a bracket. */
    const bool begins_as_json = body.at[0] == '{' || body.at[0] == '[';
    if (params_type_is_json(type) || (params_type_is_form(type) && begins_as_json)) {
        struct json *tree = params_read_json(call);
        if (!tree || tree->kind == JSON_OBJECT)
            return tree;
        reply_error(call, 400, "bad_json", STR("the body must be a JSON object"));
        return NULL;
    }
    if (!params_type_is_form(type)) {
        params_refuse_media_type(call);
        return NULL;
    }
    struct json *form = json_make(call->arena, JSON_OBJECT);
    const char *wrong = form_read(call->arena, body, form);
    if (!wrong)
        return form;
    reply_error(call, 400, "bad_text", str_from(wrong));
    return NULL;
}

bool params_read(struct call *call, const char *type)
{
    struct json *all = json_make(call->arena, JSON_OBJECT);
    const char *wrong = form_read_pairs(call->arena, call->request->query, all);
    if (wrong) {
        reply_error(call, 400, "bad_text", str_from(wrong));
        return false;
    }
    const struct json *body = params_read_body(call);
    if (!body)
        return false;
    all = json_merge(call->arena, all, body);
    const struct json *inner = json_get(all, str_from(type));
    if (inner && inner->kind == JSON_OBJECT) {
        struct json *copy = json_clone(call->arena, inner);
        json_unset(all, str_from(type));
        all = json_merge(call->arena, all, copy);
    }
    call->params = all;
    return true;
}

bool params_read_projection(struct call *call)
{
    const struct str header = http_header(call->request, "x-return-attributes");
    struct json *names;
    struct str view;
    uint32_t offset;
    const char *what;
    call->wants_extras = http_query(call->request, STR("view"), &view) && str_eq(view, STR("full"));
    if (header.len == 0)
        return true;
    bool reads =
        json_read(call->arena, header, &names, &offset, &what) == OK && names->kind == JSON_ARRAY;
    for (const struct json *name = reads ? names->first : NULL; name; name = name->next)
        reads = reads && name->kind == JSON_STRING;
    if (reads)
        call->wanted = names;
    else
        reply_error(call, 400, "bad_value",
                    STR("x-return-attributes must be a JSON array of names"));
    return reads;
}

/* ---- getters ---- */

static const struct json *param_find(const struct call *call, const char *name)
{
    return json_get(call->params, str_from(name));
}

static bool param_refuse_type(struct call *call, const char *name, const char *wanted)
{
    call_refuse(call, PROBLEM_BAD_VALUE, str_from(name),
                STR_CONCAT(call->arena, str_from(name), STR(" must be "), str_from(wanted)));
    return false;
}

/* For example "limit must be a whole number from 1 to 1000". An upper bound that only the type sets
 * is left out. */
static bool param_refuse_number(struct call *call, const char *name, int64_t least, int64_t most)
{
    struct buf b = buf_in(call->arena);
    const bool has_upper = most < UINT32_MAX;
    if (least == INT64_MIN)
        return param_refuse_type(call, name, "a whole number");
    buf_put_z(&b, has_upper ? "a whole number from " : "a whole number of at least ");
    buf_put_i64(&b, least);
    if (has_upper) {
        buf_put_z(&b, " to ");
        buf_put_i64(&b, most);
    }
    return param_refuse_type(call, name, str_z(call->arena, buf_str(&b)));
}

static void param_refuse_missing(struct call *call, const char *name)
{
    call_refuse(call, PROBLEM_MISSING, str_from(name),
                STR_CONCAT(call->arena, str_from(name), STR(" is required")));
}

bool param_required(struct call *call, const char *name)
{
    if (param_find(call, name))
        return true;
    param_refuse_missing(call, name);
    return false;
}

bool param_text(struct call *call, const char *name, struct str *out_value)
{
    const struct json *value = param_find(call, name);
    if (!value)
        return false;
    if (value->kind != JSON_STRING && value->kind != JSON_NULL)
        return param_refuse_type(call, name, "a string");
    *out_value = value->kind == JSON_STRING ? value->text : STR("");
    return true;
}

bool param_bool(struct call *call, const char *name, bool *out_value)
{
    const struct json *value = param_find(call, name);
    if (!value)
        return false;
    const bool is_text = value->kind == JSON_STRING;
    const bool yes = value->kind == JSON_TRUE || (is_text && str_eq(value->text, STR("true")));
    const bool no = value->kind == JSON_FALSE || (is_text && str_eq(value->text, STR("false")));
    if (!yes && !no)
        return param_refuse_type(call, name, "true or false");
    *out_value = yes;
    return true;
}

bool param_doc(struct call *call, const char *name, struct str *out_value)
{
    const struct json *value = param_find(call, name);
    if (!value)
        return false;
    struct json *read;
    struct json_remarks remarks;
    if (value->kind == JSON_NULL) {
        *out_value = STR("{}");
        return true;
    }
    if (value->kind == JSON_STRING && params_parse_json(call, value->text, &read, &remarks) == OK)
        value = read;
    if (value->kind != JSON_OBJECT)
        return param_refuse_type(call, name, "a JSON object");
    *out_value = json_write(call->arena, value);
    return true;
}

bool param_value(struct call *call, const char *name, struct str *out_value)
{
    const struct json *value = param_find(call, name);
    if (!value)
        return false;
    *out_value = json_write(call->arena, value);
    return true;
}

bool param_time(struct call *call, const char *name, int64_t *out_ms)
{
    const struct json *value = param_find(call, name);
    if (!value || value->kind == JSON_NULL)
        return false;
    const bool reads = value->kind == JSON_STRING ? iso8601_parse(value->text, out_ms) ||
                                                        str_parse_i64(value->text, out_ms)
                                                  : json_as_i64(value, out_ms);
    return reads ? true : param_refuse_type(call, name, "a time such as 2015-01-02T03:04:05Z");
}

bool param_number(struct call *call, const char *name, int64_t least, int64_t most,
                  int64_t *out_value)
{
    const struct json *value = param_find(call, name);
    int64_t number;
    if (!value)
        return false;
    /* A string is read like a number, so that forms can send a negative one. */
    const struct json as_number = {.kind = JSON_NUMBER, .text = value->text};
    const bool is_text = value->kind == JSON_STRING;
    const bool is_negative = is_text && value->text.len > 1 && value->text.at[0] == '-';
    const bool reads = is_text && !is_negative ? str_parse_i64(value->text, &number)
                                               : json_as_i64(is_text ? &as_number : value, &number);
    if (!reads || number < least || number > most)
        return param_refuse_number(call, name, least, most);
    *out_value = number;
    return true;
}

/* ---- references ---- */

/* The id of the object that a value refers to, by name or id; 0: there is none. */
static int64_t param_ref_id(const struct call *call, enum table table, const struct json *value)
{
    int64_t id = 0;
    struct record record;
    if (value->kind == JSON_STRING && !str_is_digits(value->text))
        return core_find(call->core, table, value->text);
    const bool reads =
        value->kind == JSON_STRING ? str_parse_i64(value->text, &id) : json_as_i64(value, &id);
    return reads && id > 0 && core_record(call->core, table, id, &record) ? id : 0;
}

/* Null, or 0, which clients of OpenCrowbar send instead. */
static bool param_is_null_ref(const struct json *value)
{
    int64_t id = 1;
    if (value->kind == JSON_STRING)
        return str_parse_i64(value->text, &id) && id == 0;
    return value->kind == JSON_NULL || (json_as_i64(value, &id) && id == 0);
}

/* The key for names has priority if both are present. *out_name is the key that was found, or the
 * key for ids. */
static const struct json *param_find_ref(const struct call *call, const struct param_ref *ref,
                                         const char **out_name)
{
    const struct json *by_name = param_find(call, ref->name);
    *out_name = by_name ? ref->name : ref->id_name;
    return by_name ? by_name : param_find(call, ref->id_name);
}

bool param_ref(struct call *call, const struct param_ref *ref, int64_t *out_id)
{
    const char *name;
    const struct json *value = param_find_ref(call, ref, &name);
    if (!value)
        return false;
    if (ref->can_be_null && param_is_null_ref(value)) {
        *out_id = 0;
        return true;
    }
    if (value->kind != JSON_NUMBER && value->kind != JSON_STRING)
        return param_refuse_type(call, name, "a name or an id");
    *out_id = param_ref_id(call, ref->table, value);
    if (*out_id)
        return true;
    call_refuse(call, PROBLEM_NOT_FOUND, str_from(name),
                STR_CONCAT(call->arena, str_from(name), STR(": there is no "),
                           str_from(table_name(ref->table)), STR(" "), value->text));
    return false;
}

bool param_ref_required(struct call *call, const struct param_ref *ref, int64_t *out_id)
{
    const char *name;
    const struct json *value = param_find_ref(call, ref, &name);
    if (value && value->kind != JSON_NULL)
        return param_ref(call, ref, out_id);
    param_refuse_missing(call, ref->name);
    return false;
}

void param_ref_unless_null(struct call *call, const struct param_ref *ref, int64_t *out_id)
{
    const char *name;
    const struct json *value = param_find_ref(call, ref, &name);
    if (value && value->kind != JSON_NULL)
        param_ref(call, ref, out_id);
}

void params_refuse_unknown(struct call *call, const char *const *names, struct str known)
{
    for (const struct http_pair *pair = call->request->query; pair; pair = pair->next) {
        uint32_t i = 0;
        while (names[i] && !str_eq(pair->name, str_from(names[i])))
            i++;
        if (!names[i])
            call_refuse(call, PROBLEM_BAD_VALUE, pair->name,
                        STR_CONCAT(call->arena, STR("unknown parameter \""), pair->name,
                                   STR("\"; supported: "), known));
    }
}
