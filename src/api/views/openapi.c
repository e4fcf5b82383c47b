#include "api/call/reply.h"
#include "api/rest/nested.h"
#include "api/rest/standard_routes.h"
#include "api/views/graph.h"

/* GET /api/openapi.json: the OpenAPI 3.0 document, generated from the route tables, views and
 * parameter schemas that serve the requests. It is written for each request from constant tables;
 * the file has no state and cannot fail. Order matters only where OpenAPI requires unique keys: all
 * methods of a path are written together at its first route, and each view once, at the first route
 * that has it. */

/* ---- JSON output ---- */

struct openapi_writer {
    struct buf b;
    bool is_fresh; /* the next member is the first of its object, so no comma comes before it */
};

static void openapi_put_comma(struct openapi_writer *p)
{
    if (!p->is_fresh)
        buf_put_c(&p->b, ',');
    p->is_fresh = false;
}

static void openapi_put_key(struct openapi_writer *p, struct str name)
{
    openapi_put_comma(p);
    json_write_string(&p->b, name);
    buf_put_c(&p->b, ':');
}

static void openapi_open_object(struct openapi_writer *p, const char *name)
{
    if (name)
        openapi_put_key(p, str_from(name));
    else
        openapi_put_comma(p);
    buf_put_c(&p->b, '{');
    p->is_fresh = true;
}

static void openapi_close_object(struct openapi_writer *p)
{
    buf_put_c(&p->b, '}');
    p->is_fresh = false;
}

static void openapi_put_string(struct openapi_writer *p, const char *name, const char *value)
{
    openapi_put_key(p, str_from(name));
    json_write_string(&p->b, str_from(value));
}

/* Writes a constant JSON text unchanged. */
static void openapi_put_json(struct openapi_writer *p, const char *name, const char *json)
{
    openapi_put_key(p, str_from(name));
    buf_put_z(&p->b, json);
}

/* ---- schemas of objects ---- */

/* The schema of a field as JSON; NULL: openapi_put_states() writes it. */
static const char *openapi_field_schema(enum object_view_kind kind)
{
    switch (kind) {
    case PROP_CHANGED:
    case PROP_CHANGED_DESTRUCTIVE:
    case PROP_UNPROPOSED:
    case PROP_RANGE_NUMBER:
    case PROP_INT:
    case PROP_UINT32: return "{\"type\":\"integer\",\"format\":\"int64\"}";
    case PROP_ENTRY_NODE:
    case PROP_REF: return "{\"type\":\"integer\",\"format\":\"int64\",\"nullable\":true}";
    case PROP_BOOL:
    case PROP_BOOL_INVERTED:
    case PROP_FLAG:
    case PROP_IS_SET:
    case PROP_JIG_ACTIVE:
    case PROP_FILTER_HAS_SERVICE:
    case PROP_RANGE_FLAG:
    case PROP_NODE_ERROR: return "{\"type\":\"boolean\"}";
    case PROP_RANGE_CONDUIT:
    case PROP_RANGE_FULL_NAME:
    case PROP_TEXT: return "{\"type\":\"string\"}";
    case PROP_BOOT_MACS:
    case PROP_ARRAY: return "{\"type\":\"array\",\"items\":{}}";
    case PROP_OBJECT:
    case PROP_ACTIONS: return "{\"type\":\"object\"}";
    case PROP_LEASE_END:
    case PROP_TIME: return "{\"type\":\"string\",\"format\":\"date-time\",\"nullable\":true}";
    case PROP_NODEROLE_STATE:
    case PROP_NODE_STATE:
    case PROP_DEPLOYMENT_STATE: return NULL;
    case PROP_SNAPSHOT_STATE:
        return "{\"type\":\"integer\",\"enum\":[-1,0,1,2,3],\"description\":\"archived, proposed, "
               "committed, active, error\"}";
    case PROP_POWER_STATE:
        return "{\"type\":\"string\",\"enum\":[\"unknown\",\"on\",\"off\",\"changing\"]}";
    case PROP_LEASE_STATE:
        return "{\"type\":\"string\",\"enum\":[\"live\",\"declined\",\"freed\"]}";
    case PROP_MAC:
    case PROP_RR_TYPE:
    case PROP_ENTRY_ADDRESS:
    case PROP_BOOT_ADDRESS:
    case PROP_OPTIONAL:
    case PROP_ACCESS:
    case PROP_TOKEN_KIND:
    case PROP_REASON:
    case PROP_UNUSABLE:
    case PROP_INACTIVE: return "{\"type\":\"string\",\"nullable\":true}";
    case PROP_ANY:
    case PROP_DEFAULT: return "{\"type\":\"object\",\"nullable\":true}";
    case PROP_LEADING_NUMBER: return "{\"type\":\"integer\",\"nullable\":true}";
    }
    impossible("a kind of field outside the enum");
}

/* An enum of numbers from -1 on, with their names. */
static void openapi_put_states(struct openapi_writer *p, const char *name,
                               enum object_view_kind kind)
{
    openapi_open_object(p, name);
    openapi_put_string(p, "type", "integer");
    openapi_put_key(p, STR("enum"));
    for (int64_t i = -1; object_view_state_name(kind, i); i++) {
        buf_put_c(&p->b, i < 0 ? '[' : ',');
        buf_put_i64(&p->b, i);
    }
    buf_put_c(&p->b, ']');
    openapi_put_key(p, STR("x-names"));
    for (int64_t i = -1; object_view_state_name(kind, i); i++) {
        buf_put_c(&p->b, i < 0 ? '[' : ',');
        json_write_string(&p->b, str_from(object_view_state_name(kind, i)));
    }
    buf_put_c(&p->b, ']');
    openapi_close_object(p);
}

static void openapi_put_shape(struct openapi_writer *p, const struct object_view *view)
{
    openapi_open_object(p, view->type);
    openapi_put_string(p, "type", "object");
    openapi_open_object(p, "properties");
    for (uint32_t i = 0; i < view->count; i++) {
        const struct object_view_field *field = &view->fields[i];
        const char *schema = openapi_field_schema(field->kind);
        if (schema)
            openapi_put_json(p, field->name, schema);
        else
            openapi_put_states(p, field->name, field->kind);
    }
    if (view->tail)
        openapi_put_json(p, view->tail->name, "{}");
    openapi_close_object(p);
    openapi_close_object(p);
}

/* Did an earlier route have the same view? Each is written once. */
static bool openapi_shape_was_put(const struct object_view *view, uint32_t table, uint32_t route)
{
    for (uint32_t c = 0; c <= table; c++)
        for (uint32_t r = 0; r < (c == table ? route : route_tables[c]->count); r++) {
            const struct resource *resource = route_tables[c]->routes[r].resource;
            if (resource && resource->view == view)
                return true;
        }
    return false;
}

static void openapi_put_schemas(struct openapi_writer *p)
{
    openapi_open_object(p, "schemas");
    for (uint32_t c = 0; route_tables[c]; c++)
        for (uint32_t r = 0; r < route_tables[c]->count; r++) {
            const struct resource *resource = route_tables[c]->routes[r].resource;
            if (resource && !openapi_shape_was_put(resource->view, c, r))
                openapi_put_shape(p, resource->view);
        }
    openapi_put_json(p, "message",
                     "{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"}}}");
    openapi_put_json(
        p, "error",
        "{\"type\":\"object\",\"required\":[\"message\",\"status\",\"code\"],\"properties\":{"
        "\"message\":{\"type\":\"string\"},\"status\":{\"type\":\"integer\"},"
        "\"code\":{\"type\":\"string\"},\"field\":{\"type\":\"string\"},"
        "\"problems\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}}}");
    openapi_put_json(
        p, "patch",
        "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"op\",\"path\"],"
        "\"properties\":{\"op\":{\"type\":\"string\",\"enum\":[\"add\",\"remove\",\"replace\","
        "\"move\",\"copy\",\"test\"]},\"path\":{\"type\":\"string\"},"
        "\"from\":{\"type\":\"string\"},\"value\":{}}}}");
    openapi_close_object(p);
}

/* ---- request bodies and parameters ---- */

static const char *openapi_param_schema(enum param_kind kind)
{
    switch (kind) {
    case PARAM_ACCESS: return "{\"type\":\"string\",\"enum\":[\"viewer\",\"operator\",\"admin\"]}";
    case PARAM_TEXT: return "{\"type\":\"string\"}";
    case PARAM_BOOL: return "{\"type\":\"boolean\"}";
    case PARAM_DOC: return "{\"type\":\"object\"}";
    case PARAM_VALUE: return "{}";
    case PARAM_UINT32:
    case PARAM_INT64: return "{\"type\":\"integer\",\"format\":\"int64\",\"minimum\":0}";
    case PARAM_SIGNED: return "{\"type\":\"integer\",\"format\":\"int64\"}";
    case PARAM_TIME: return "{\"type\":\"string\",\"format\":\"date-time\"}";
    case PARAM_REF: return "{\"description\":\"a name or an id\"}";
    case PARAM_WORD: return "{\"type\":\"string\"}";
    }
    impossible("a kind of parameter outside the enum");
}

/* The parameters of the body; NULL: the route has none, or its handler reads the query string only.
 */
static const struct params_schema *route_params_schema(const struct route *route)
{
    if (route->params)
        return route->params;
    if (route->serve == serve_create || route->serve == serve_nested_create)
        return route->resource->create;
    const bool updates = route->serve == serve_update || route->serve == serve_nested_update;
    return updates ? route->resource->update : NULL;
}

/* The owner of a nested creation is in the path. */
static bool openapi_is_required(const struct route *route, const struct param_rule *rule)
{
    const bool is_owner = route->serve == serve_nested_create &&
                          str_eq(str_from(rule->name), str_from(route->within->view->type));
    return rule->is_required && !is_owner;
}

static void openapi_put_required(struct openapi_writer *p, const struct route *route,
                                 const struct params_schema *schema)
{
    bool any = false;
    for (uint32_t i = 0; i < schema->count; i++) {
        if (!openapi_is_required(route, &schema->rules[i]))
            continue;
        if (!any) {
            openapi_put_key(p, STR("required"));
            buf_put_c(&p->b, '[');
        }
        buf_put_z(&p->b, any ? "," : "");
        json_write_string(&p->b, str_from(schema->rules[i].name));
        any = true;
    }
    if (any)
        buf_put_c(&p->b, ']');
}

static void openapi_put_params(struct openapi_writer *p, const struct route *route,
                               const struct params_schema *schema)
{
    openapi_open_object(p, "schema");
    openapi_put_string(p, "type", "object");
    openapi_put_required(p, route, schema);
    openapi_open_object(p, "properties");
    for (uint32_t i = 0; i < schema->count; i++) {
        openapi_put_json(p, schema->rules[i].name, openapi_param_schema(schema->rules[i].kind));
        if (schema->rules[i].kind == PARAM_REF)
            openapi_put_json(p, schema->rules[i].id_key,
                             "{\"type\":\"integer\",\"format\":\"int64\"}");
    }
    openapi_close_object(p);
    openapi_close_object(p);
}

static void openapi_put_body(struct openapi_writer *p, const struct route *route)
{
    const struct params_schema *schema = route_params_schema(route);
    const bool is_patch = route->method == HTTP_PATCH;
    if (!schema && !is_patch)
        return;
    openapi_open_object(p, "requestBody");
    openapi_open_object(p, "content");
    openapi_open_object(p, is_patch ? "application/json-patch+json" : "application/json");
    if (is_patch)
        openapi_put_json(p, "schema", "{\"$ref\":\"#/components/schemas/patch\"}");
    else
        openapi_put_params(p, route, schema);
    openapi_close_object(p);
    if (!is_patch) {
        openapi_open_object(p, "application/x-www-form-urlencoded");
        openapi_put_params(p, route, schema);
        openapi_close_object(p);
    }
    openapi_close_object(p);
    openapi_close_object(p);
}

/* The parameters that the route lists in `query`. */
static void openapi_put_query(struct openapi_writer *p, const struct route *route, bool is_first)
{
    const struct str names = str_from(route->query ? route->query : "");
    for (uint32_t from = 0, to; from < names.len; from = to + 1) {
        to = str_find(names, ',', from);
        buf_put_z(&p->b, is_first ? "{\"name\":" : ",{\"name\":");
        json_write_string(&p->b, str_slice(names, from, to));
        buf_put_z(&p->b, ",\"in\":\"query\",\"schema\":{\"type\":\"string\"}}");
        is_first = false;
    }
}

static void openapi_put_parameters(struct openapi_writer *p, const struct route *route,
                                   uint32_t keys)
{
    static const char list_parameters[] =
        "{\"name\":\"limit\",\"in\":\"query\",\"schema\":{\"type\":\"integer\",\"minimum\":1,"
        "\"maximum\":10000}},{\"name\":\"after\",\"in\":\"query\",\"description\":\"id of the last "
        "object of the previous page\",\"schema\":{\"type\":\"integer\"}},{\"name\":\"sort\","
        "\"in\":\"query\","
        "\"description\":\"a field, - before it for descending order; any other parameter is a "
        "filter: FIELD, FIELD.not, FIELD.contains, FIELD.min, FIELD.max\",\"schema\":{\"type\":"
        "\"string\"}},{\"name\":\"view\",\"in\":\"query\",\"schema\":{\"type\":\"string\","
        "\"enum\":[\"full\"]}}";
    static const char plan_parameter[] =
        ",{\"name\":\"summary\",\"in\":\"query\",\"description\":\"only the totals\","
        "\"schema\":{\"type\":\"boolean\"}}";
    const bool is_list = route->form == REPLY_LIST && route->method == HTTP_GET;
    if (!keys && !is_list && !route->query)
        return;
    openapi_put_key(p, STR("parameters"));
    buf_put_c(&p->b, '[');
    for (uint32_t i = 0; i < keys; i++) {
        buf_put_z(&p->b, i ? ",{\"name\":\"id2\"" : "{\"name\":\"id\"");
        buf_put_z(&p->b, ",\"in\":\"path\",\"required\":true,\"description\":\"a name or an id\","
                         "\"schema\":{\"type\":\"string\"}}");
    }
    buf_put_z(&p->b, keys && is_list ? "," : "");
    buf_put_z(&p->b, is_list ? list_parameters : "");
    buf_put_z(&p->b, route->serve == serve_plan ? plan_parameter : "");
    openapi_put_query(p, route, !keys && !is_list);
    buf_put_c(&p->b, ']');
}

/* ---- responses ---- */

static void openapi_put_success(struct openapi_writer *p, const struct route *route)
{
    const char *type = route->resource ? route->resource->view->type : NULL;
    openapi_open_object(p, "200");
    openapi_put_string(p, "description", "done");
    openapi_open_object(p, "content");
    openapi_open_object(p, route->form == REPLY_TEXT ? "text/plain" : "application/json");
    openapi_open_object(p, "schema");
    if ((route->form == REPLY_OBJECT || route->form == REPLY_LIST) && type) {
        struct buf ref = buf_in(p->b.arena);
        buf_put_z(&ref, "{\"$ref\":\"#/components/schemas/");
        buf_put_z(&ref, type);
        buf_put_z(&ref, "\"}");
        const char *target = str_z(p->b.arena, buf_str(&ref));
        if (route->form == REPLY_LIST) {
            openapi_put_string(p, "type", "array");
            openapi_put_json(p, "items", target);
        } else {
            openapi_put_json(
                p, "allOf",
                str_z(p->b.arena, STR_CONCAT(p->b.arena, STR("["), buf_str(&ref), STR("]"))));
        }
    } else if (route->form == REPLY_MESSAGE) {
        openapi_put_json(p, "allOf", "[{\"$ref\":\"#/components/schemas/message\"}]");
    }
    openapi_close_object(p);
    openapi_close_object(p);
    openapi_close_object(p);
    openapi_close_object(p);
}

static void openapi_put_responses(struct openapi_writer *p, const struct route *route)
{
    openapi_open_object(p, "responses");
    openapi_put_success(p, route);
    openapi_put_json(
        p, "default",
        "{\"description\":\"refused\",\"content\":{\"application/json\":{\"schema\":{\"$ref\":"
        "\"#/components/schemas/error\"}}}}");
    openapi_close_object(p);
}

/* ---- operations ---- */

static const char *openapi_method_name(enum http_method method)
{
    switch (method) {
    case HTTP_GET: return "get";
    case HTTP_HEAD: return "head";
    case HTTP_POST: return "post";
    case HTTP_PUT: return "put";
    case HTTP_PATCH: return "patch";
    case HTTP_DELETE: return "delete";
    case HTTP_OTHER: break;
    }
    impossible("a route has a method");
}

/* "/api/v2/nodes/{id}/power", and the number of keys in it. */
static struct str openapi_path(struct arena *a, const char *pattern, uint32_t *out_keys)
{
    struct buf b = buf_in(a);
    *out_keys = 0;
    for (const char *at = pattern; *at; at++) {
        if (*at != ':') {
            buf_put_c(&b, *at);
            continue;
        }
        buf_put_z(&b, (*out_keys)++ ? "{id2}" : "{id}");
        at += 2; /* ":id" */
    }
    return buf_str(&b);
}

/* "get_nodes_id_power" */
static struct str openapi_operation_id(struct arena *a, const struct route *route)
{
    struct buf b = buf_in(a);
    const struct str pattern = str_from(route->pattern);
    const uint32_t skip = str_starts(pattern, STR(V)) ? sizeof V - 1 : 1;
    buf_put_z(&b, openapi_method_name(route->method));
    buf_put_c(&b, '_');
    for (uint32_t i = skip; i < pattern.len; i++)
        if (pattern.at[i] != ':')
            buf_put_c(&b, char_is_letter(pattern.at[i]) || char_is_digit(pattern.at[i])
                              ? pattern.at[i]
                              : '_');
    return buf_str(&b);
}

static void openapi_put_operation(struct openapi_writer *p, const struct route *route,
                                  uint32_t keys)
{
    struct arena *a = p->b.arena;
    openapi_open_object(p, openapi_method_name(route->method));
    openapi_put_key(p, STR("operationId"));
    json_write_string(&p->b, openapi_operation_id(a, route));
    openapi_put_string(p, "summary", route->does);
    if (route->access == ROUTE_AUTH_NONE || route->access == ROUTE_AUTH_IN_BODY)
        openapi_put_json(p, "security", "[]");
    openapi_put_parameters(p, route, keys);
    openapi_put_body(p, route);
    openapi_put_responses(p, route);
    openapi_close_object(p);
}

static bool openapi_path_was_put(const struct route_table *table, uint32_t route)
{
    const struct str pattern = str_from(table->routes[route].pattern);
    for (uint32_t i = 0; i < route; i++)
        if (str_eq(pattern, str_from(table->routes[i].pattern)))
            return true;
    return false;
}

/* Writes all methods of a path, as OpenAPI requires. */
static void openapi_put_path(struct openapi_writer *p, const struct route_table *table,
                             uint32_t first)
{
    uint32_t keys;
    const struct str pattern = str_from(table->routes[first].pattern);
    const struct str path = openapi_path(p->b.arena, table->routes[first].pattern, &keys);
    openapi_open_object(p, str_z(p->b.arena, path));
    for (uint32_t i = first; i < table->count; i++)
        if (str_eq(pattern, str_from(table->routes[i].pattern)))
            openapi_put_operation(p, &table->routes[i], keys);
    openapi_close_object(p);
}

static void openapi_put_paths(struct openapi_writer *p)
{
    openapi_open_object(p, "paths");
    for (uint32_t c = 0; route_tables[c]; c++)
        for (uint32_t r = 0; r < route_tables[c]->count; r++)
            if (!openapi_path_was_put(route_tables[c], r))
                openapi_put_path(p, route_tables[c], r);
    openapi_close_object(p);
}

static void openapi_put_components(struct openapi_writer *p)
{
    openapi_open_object(p, "components");
    openapi_put_schemas(p);
    openapi_put_json(
        p, "securitySchemes",
        "{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"},"
        "\"password\":{\"type\":\"http\",\"scheme\":\"basic\"},"
        "\"digest\":{\"type\":\"http\",\"scheme\":\"digest\"},"
        "\"session\":{\"type\":\"apiKey\",\"in\":\"cookie\",\"name\":\"halligan_session\"}}");
    openapi_close_object(p);
}

static enum handler_result serve_openapi(struct call *call)
{
    struct openapi_writer p = {.b = buf_in(call->arena), .is_fresh = true};
    openapi_open_object(&p, NULL);
    openapi_put_string(&p, "openapi", "3.0.3");
    openapi_put_json(&p, "info",
                     "{\"title\":\"Halligan\",\"version\":\"2.0\",\"description\":\"Nodes, roles, "
                     "deployments and their runs.\"}");
    openapi_put_json(&p, "security",
                     "[{\"token\":[]},{\"password\":[]},{\"digest\":[]},{\"session\":[]}]");
    openapi_put_paths(&p);
    openapi_put_components(&p);
    openapi_close_object(&p);
    reply_text(call, 200, buf_str(&p.b));
    call->reply.content_type = "application/json";
    return SERVED_REPLY;
}

static const struct route routes[] = {
    {.method = HTTP_GET,
     .pattern = "/api/openapi.json",
     .serve = serve_openapi,
     .form = REPLY_CUSTOM,
     .does = "this OpenAPI document"},
};

const struct route_table route_table_openapi = ROUTE_TABLE(NULL, routes);
