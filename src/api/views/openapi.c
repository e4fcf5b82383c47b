#include "api/call/reply.h"
#include "api/rest/nested.h"
#include "api/rest/standard_routes.h"
#include "api/views/graph.h"

/* GET /api/openapi.json: what is served, written from the tables that serve it (OpenAPI 3.0). */

/* ---- JSON, with commas where they belong ---- */

struct page {
    struct buf b;
    bool is_fresh; /* the next thing is the first in its object or array */
};

static void comma(struct page *p)
{
    if (!p->is_fresh)
        buf_put_c(&p->b, ',');
    p->is_fresh = false;
}

static void key(struct page *p, struct str name)
{
    comma(p);
    json_write_string(&p->b, name);
    buf_put_c(&p->b, ':');
}

static void begin(struct page *p, const char *name)
{
    if (name)
        key(p, str_from(name));
    else
        comma(p);
    buf_put_c(&p->b, '{');
    p->is_fresh = true;
}

static void end(struct page *p)
{
    buf_put_c(&p->b, '}');
    p->is_fresh = false;
}

static void text(struct page *p, const char *name, const char *value)
{
    key(p, str_from(name));
    json_write_string(&p->b, str_from(value));
}

/* JSON of ours as it stands. */
static void raw(struct page *p, const char *name, const char *json)
{
    key(p, str_from(name));
    buf_put_z(&p->b, json);
}

/* ---- shapes ---- */

/* NULL: put_states() says it. */
static const char *schema_of(enum object_view_kind kind)
{
    switch (kind) {
    case SHAPE_CHANGED:
    case SHAPE_CHANGED_WIPES:
    case SHAPE_UNPROPOSED:
    case SHAPE_INT:
    case SHAPE_SMALL: return "{\"type\":\"integer\",\"format\":\"int64\"}";
    case SHAPE_REF: return "{\"type\":\"integer\",\"format\":\"int64\",\"nullable\":true}";
    case SHAPE_BOOL:
    case SHAPE_NOT:
    case SHAPE_FLAG:
    case SHAPE_HAS:
    case SHAPE_JIG_ACTIVE:
    case SHAPE_NODE_ERROR: return "{\"type\":\"boolean\"}";
    case SHAPE_TEXT: return "{\"type\":\"string\"}";
    case SHAPE_ARRAY: return "{\"type\":\"array\",\"items\":{}}";
    case SHAPE_OBJECT:
    case SHAPE_ACTIONS: return "{\"type\":\"object\"}";
    case SHAPE_TIME: return "{\"type\":\"string\",\"format\":\"date-time\",\"nullable\":true}";
    case SHAPE_NODEROLE_STATE:
    case SHAPE_NODE_STATE:
    case SHAPE_DEPLOYMENT_STATE: return NULL;
    case SHAPE_SNAPSHOT_STATE:
        return "{\"type\":\"integer\",\"enum\":[-1,0,1,2,3],\"description\":\"archived, proposed, "
               "committed, active, error\"}";
    case SHAPE_POWER_STATE:
        return "{\"type\":\"string\",\"enum\":[\"unknown\",\"on\",\"off\",\"changing\"]}";
    case SHAPE_OPTIONAL:
    case SHAPE_ACCESS:
    case SHAPE_TOKEN_KIND:
    case SHAPE_REASON:
    case SHAPE_UNUSABLE:
    case SHAPE_INACTIVE: return "{\"type\":\"string\",\"nullable\":true}";
    case SHAPE_ANY:
    case SHAPE_DEFAULT: return "{\"type\":\"object\",\"nullable\":true}";
    case SHAPE_LEADING: return "{\"type\":\"integer\",\"nullable\":true}";
    }
    impossible("a kind of field outside the enum");
}

/* Numbers from -1 on, and what each is called. */
static void put_states(struct page *p, const char *name, enum object_view_kind kind)
{
    begin(p, name);
    text(p, "type", "integer");
    key(p, STR("enum"));
    for (int64_t i = -1; object_view_state_name(kind, i); i++) {
        buf_put_c(&p->b, i < 0 ? '[' : ',');
        buf_put_i64(&p->b, i);
    }
    buf_put_c(&p->b, ']');
    key(p, STR("x-names"));
    for (int64_t i = -1; object_view_state_name(kind, i); i++) {
        buf_put_c(&p->b, i < 0 ? '[' : ',');
        json_write_string(&p->b, str_from(object_view_state_name(kind, i)));
    }
    buf_put_c(&p->b, ']');
    end(p);
}

static void put_shape(struct page *p, const struct object_view *shape)
{
    begin(p, shape->type);
    text(p, "type", "object");
    begin(p, "properties");
    for (uint32_t i = 0; i < shape->count; i++) {
        const struct object_view_field *field = &shape->fields[i];
        const char *schema = schema_of(field->kind);
        if (schema)
            raw(p, field->name, schema);
        else
            put_states(p, field->name, field->kind);
    }
    if (shape->tail)
        raw(p, shape->tail->name, "{}");
    end(p);
    end(p);
}

/* Each shape once, whoever shows it first. */
static bool was_shown(const struct object_view *shape, uint32_t chapter, uint32_t route)
{
    for (uint32_t c = 0; c <= chapter; c++)
        for (uint32_t r = 0; r < (c == chapter ? route : chapters[c]->count); r++) {
            const struct resource *resource = chapters[c]->routes[r].resource;
            if (resource && resource->shape == shape)
                return true;
        }
    return false;
}

static void put_schemas(struct page *p)
{
    begin(p, "schemas");
    for (uint32_t c = 0; chapters[c]; c++)
        for (uint32_t r = 0; r < chapters[c]->count; r++) {
            const struct resource *resource = chapters[c]->routes[r].resource;
            if (resource && !was_shown(resource->shape, c, r))
                put_shape(p, resource->shape);
        }
    raw(p, "message", "{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"}}}");
    raw(p, "error",
        "{\"type\":\"object\",\"required\":[\"message\",\"status\",\"code\"],\"properties\":{"
        "\"message\":{\"type\":\"string\"},\"status\":{\"type\":\"integer\"},"
        "\"code\":{\"type\":\"string\"},\"field\":{\"type\":\"string\"},"
        "\"problems\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}}}");
    raw(p, "patch",
        "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"op\",\"path\"],"
        "\"properties\":{\"op\":{\"type\":\"string\",\"enum\":[\"add\",\"remove\",\"replace\","
        "\"move\",\"copy\",\"test\"]},\"path\":{\"type\":\"string\"},"
        "\"from\":{\"type\":\"string\"},\"value\":{}}}}");
    end(p);
}

/* ---- what an operation takes ---- */

static const char *taken_as(enum take_kind kind)
{
    switch (kind) {
    case TAKE_ACCESS: return "{\"type\":\"string\",\"enum\":[\"viewer\",\"operator\",\"admin\"]}";
    case TAKE_TEXT: return "{\"type\":\"string\"}";
    case TAKE_BOOL: return "{\"type\":\"boolean\"}";
    case TAKE_DOC: return "{\"type\":\"object\"}";
    case TAKE_VALUE: return "{}";
    case TAKE_SMALL:
    case TAKE_INT: return "{\"type\":\"integer\",\"format\":\"int64\",\"minimum\":0}";
    case TAKE_TIME: return "{\"type\":\"string\",\"format\":\"date-time\"}";
    case TAKE_REF: return "{\"description\":\"a name or an id\"}";
    case TAKE_WORD: return "{\"type\":\"string\"}";
    }
    impossible("a kind of parameter outside the enum");
}

static const struct params_schema *intake_of(const struct route *route)
{
    if (route->intake)
        return route->intake;
    if (route->serve == serve_create || route->serve == serve_nested_create)
        return route->resource->create;
    const bool updates = route->serve == serve_update || route->serve == serve_nested_update;
    return updates ? route->resource->update : NULL;
}

static void put_required(struct page *p, const struct params_schema *intake)
{
    bool any = false;
    for (uint32_t i = 0; i < intake->count; i++) {
        if (!intake->takes[i].is_required)
            continue;
        if (!any) {
            key(p, STR("required"));
            buf_put_c(&p->b, '[');
        }
        buf_put_z(&p->b, any ? "," : "");
        json_write_string(&p->b, str_from(intake->takes[i].name));
        any = true;
    }
    if (any)
        buf_put_c(&p->b, ']');
}

static void put_intake(struct page *p, const struct params_schema *intake)
{
    begin(p, "schema");
    text(p, "type", "object");
    put_required(p, intake);
    begin(p, "properties");
    for (uint32_t i = 0; i < intake->count; i++) {
        raw(p, intake->takes[i].name, taken_as(intake->takes[i].kind));
        if (intake->takes[i].kind == TAKE_REF)
            raw(p, intake->takes[i].id_key, "{\"type\":\"integer\",\"format\":\"int64\"}");
    }
    end(p);
    end(p);
}

static void put_body(struct page *p, const struct route *route)
{
    const struct params_schema *intake = intake_of(route);
    const bool is_patch = route->method == HTTP_PATCH;
    if (!intake && !is_patch)
        return;
    begin(p, "requestBody");
    begin(p, "content");
    begin(p, is_patch ? "application/json-patch+json" : "application/json");
    if (is_patch)
        raw(p, "schema", "{\"$ref\":\"#/components/schemas/patch\"}");
    else
        put_intake(p, intake);
    end(p);
    if (!is_patch) {
        begin(p, "application/x-www-form-urlencoded");
        put_intake(p, intake);
        end(p);
    }
    end(p);
    end(p);
}

static void put_parameters(struct page *p, const struct route *route, uint32_t keys)
{
    static const char list_parameters[] =
        "{\"name\":\"limit\",\"in\":\"query\",\"schema\":{\"type\":\"integer\",\"minimum\":1,"
        "\"maximum\":10000}},{\"name\":\"after\",\"in\":\"query\",\"description\":\"id of the last "
        "one seen\",\"schema\":{\"type\":\"integer\"}},{\"name\":\"sort\",\"in\":\"query\","
        "\"description\":\"a field, with - before it for the other way; any other parameter is a "
        "filter: FIELD, FIELD.not, FIELD.contains, FIELD.min, FIELD.max\",\"schema\":{\"type\":"
        "\"string\"}},{\"name\":\"view\",\"in\":\"query\",\"schema\":{\"type\":\"string\","
        "\"enum\":[\"full\"]}}";
    static const char plan_parameter[] =
        ",{\"name\":\"summary\",\"in\":\"query\",\"description\":\"the totals alone\","
        "\"schema\":{\"type\":\"boolean\"}}";
    const bool is_list = route->form == REPLY_LIST && route->method == HTTP_GET;
    if (!keys && !is_list)
        return;
    key(p, STR("parameters"));
    buf_put_c(&p->b, '[');
    for (uint32_t i = 0; i < keys; i++) {
        buf_put_z(&p->b, i ? ",{\"name\":\"id2\"" : "{\"name\":\"id\"");
        buf_put_z(&p->b, ",\"in\":\"path\",\"required\":true,\"description\":\"a name or an id\","
                         "\"schema\":{\"type\":\"string\"}}");
    }
    buf_put_z(&p->b, keys && is_list ? "," : "");
    buf_put_z(&p->b, is_list ? list_parameters : "");
    buf_put_z(&p->b, route->serve == serve_plan ? plan_parameter : "");
    buf_put_c(&p->b, ']');
}

/* ---- what it answers ---- */

static void put_good(struct page *p, const struct route *route)
{
    const char *type = route->resource ? route->resource->shape->type : NULL;
    begin(p, "200");
    text(p, "description", "done");
    begin(p, "content");
    begin(p, route->form == REPLY_TEXT ? "text/plain" : "application/json");
    begin(p, "schema");
    if ((route->form == REPLY_OBJECT || route->form == REPLY_LIST) && type) {
        struct buf ref = buf_in(p->b.arena);
        buf_put_z(&ref, "{\"$ref\":\"#/components/schemas/");
        buf_put_z(&ref, type);
        buf_put_z(&ref, "\"}");
        const char *target = str_z(p->b.arena, buf_str(&ref));
        if (route->form == REPLY_LIST) {
            text(p, "type", "array");
            raw(p, "items", target);
        } else {
            raw(p, "allOf",
                str_z(p->b.arena, STR_CONCAT(p->b.arena, STR("["), buf_str(&ref), STR("]"))));
        }
    } else if (route->form == REPLY_MESSAGE) {
        raw(p, "allOf", "[{\"$ref\":\"#/components/schemas/message\"}]");
    }
    end(p);
    end(p);
    end(p);
    end(p);
}

static void put_answers(struct page *p, const struct route *route)
{
    begin(p, "responses");
    put_good(p, route);
    raw(p, "default",
        "{\"description\":\"refused\",\"content\":{\"application/json\":{\"schema\":{\"$ref\":"
        "\"#/components/schemas/error\"}}}}");
    end(p);
}

/* ---- operations ---- */

static const char *method_name(enum http_method method)
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

/* "/api/v2/nodes/{id}/power"; how many keys there are in it. */
static struct str path_of(struct arena *a, const char *pattern, uint32_t *out_keys)
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
static struct str operation_id(struct arena *a, const struct route *route)
{
    struct buf b = buf_in(a);
    const struct str pattern = str_from(route->pattern);
    const uint32_t skip = str_starts(pattern, STR(V)) ? sizeof V - 1 : 1;
    buf_put_z(&b, method_name(route->method));
    buf_put_c(&b, '_');
    for (uint32_t i = skip; i < pattern.len; i++)
        if (pattern.at[i] != ':')
            buf_put_c(&b, char_is_letter(pattern.at[i]) || char_is_digit(pattern.at[i])
                              ? pattern.at[i]
                              : '_');
    return buf_str(&b);
}

static void put_operation(struct page *p, const struct route *route, uint32_t keys)
{
    struct arena *a = p->b.arena;
    begin(p, method_name(route->method));
    key(p, STR("operationId"));
    json_write_string(&p->b, operation_id(a, route));
    text(p, "summary", route->does);
    if (route->access == ROUTE_AUTH_NONE || route->access == ROUTE_AUTH_IN_BODY)
        raw(p, "security", "[]");
    put_parameters(p, route, keys);
    put_body(p, route);
    put_answers(p, route);
    end(p);
}

static bool had_path(const struct route_table *chapter, uint32_t route)
{
    const struct str pattern = str_from(chapter->routes[route].pattern);
    for (uint32_t i = 0; i < route; i++)
        if (str_eq(pattern, str_from(chapter->routes[i].pattern)))
            return true;
    return false;
}

/* All methods of a path stand together. */
static void put_path(struct page *p, const struct route_table *chapter, uint32_t first)
{
    uint32_t keys;
    const struct str pattern = str_from(chapter->routes[first].pattern);
    const struct str path = path_of(p->b.arena, chapter->routes[first].pattern, &keys);
    begin(p, str_z(p->b.arena, path));
    for (uint32_t i = first; i < chapter->count; i++)
        if (str_eq(pattern, str_from(chapter->routes[i].pattern)))
            put_operation(p, &chapter->routes[i], keys);
    end(p);
}

static void put_paths(struct page *p)
{
    begin(p, "paths");
    for (uint32_t c = 0; chapters[c]; c++)
        for (uint32_t r = 0; r < chapters[c]->count; r++)
            if (!had_path(chapters[c], r))
                put_path(p, chapters[c], r);
    end(p);
}

static void put_components(struct page *p)
{
    begin(p, "components");
    put_schemas(p);
    raw(p, "securitySchemes",
        "{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"},"
        "\"password\":{\"type\":\"http\",\"scheme\":\"basic\"},"
        "\"digest\":{\"type\":\"http\",\"scheme\":\"digest\"},"
        "\"session\":{\"type\":\"apiKey\",\"in\":\"cookie\",\"name\":\"halligan_session\"}}");
    end(p);
}

static enum handler_result serve_openapi(struct call *call)
{
    struct page p = {.b = buf_in(call->arena), .is_fresh = true};
    begin(&p, NULL);
    text(&p, "openapi", "3.0.3");
    raw(&p, "info",
        "{\"title\":\"Halligan\",\"version\":\"2.0\",\"description\":\"Machines, roles, "
        "deployments and what becomes of them.\"}");
    raw(&p, "security", "[{\"token\":[]},{\"password\":[]},{\"digest\":[]},{\"session\":[]}]");
    put_paths(&p);
    put_components(&p);
    end(&p);
    reply_text(call, 200, buf_str(&p.b));
    call->reply.content_type = "application/json";
    return SERVED_REPLY;
}

static const struct route routes[] = {
    {.method = HTTP_GET,
     .pattern = "/api/openapi.json",
     .serve = serve_openapi,
     .form = REPLY_CUSTOM,
     .does = "this description"},
};

const struct route_table chapter_openapi = ROUTE_TABLE(NULL, routes);
