#include "api/rest/nested.h"

#include "api/call/params.h"
#include "api/call/reply.h"
#include "api/call/route.h"
#include "api/rest/objects.h"

/* Single objects below their owner. The handlers have no state. Order: the owner is found before
 * the object, because the second key may be relative to it; for a creation the owner is set as a
 * parameter before the command is filled from the parameters. On failure a problem is added, and
 * nothing is submitted. */

/* ---- lookup by the second key ---- */

/* These functions return an id that belongs to the owner, or 0; nested_role_id() the id of any
 * role, which may not exist. */
static int64_t nested_role_id(const struct call *call, struct str key)
{
    int64_t id = 0;
    if (!str_is_digits(key))
        return core_find(call->core, TABLE_ROLE, key);
    return str_parse_i64(key, &id) ? id : 0;
}

static int64_t nested_hammer_id(struct call *call, int64_t node_id, struct str key)
{
    struct record hammer;
    uint32_t count;
    int64_t wanted = 0;
    const bool is_id = str_is_digits(key);
    if (is_id && !str_parse_i64(key, &wanted))
        return 0;
    const int64_t *ids = core_hammers_of(call->core, node_id, call->arena, &count);
    for (uint32_t i = 0; i < count; i++)
        if (is_id ? ids[i] == wanted
                  : core_record(call->core, TABLE_HAMMER, ids[i], &hammer) &&
                        str_eq(hammer.hammer.name, key))
            return ids[i];
    return 0;
}

static int64_t nested_id_in_deployment(struct call *call, int64_t deployment_id, struct str key)
{
    struct record record;
    const enum table table = call->route->resource->view->table;
    int64_t id = 0, at = 0; /* the object, and the deployment that it belongs to */
    if (str_is_digits(key))
        id = str_parse_i64(key, &id) ? id : 0;
    else if (table == TABLE_NODE)
        id = core_find(call->core, TABLE_NODE, key);
    else if (table == TABLE_DEPLOYMENT_ROLE)
        id = core_deployment_role(call->core, deployment_id, nested_role_id(call, key));
    if (!id || !core_record(call->core, table, id, &record))
        return 0;
    if (table == TABLE_NODE)
        at = record.node.deployment_id;
    else if (table == TABLE_NODEROLE)
        at = record.noderole.deployment_id;
    else
        at = record.deployment_role.deployment_id;
    return at == deployment_id ? id : 0;
}

static int64_t nested_id_in_network(struct call *call, int64_t network_id, struct str key)
{
    struct record network, range;
    int64_t id = 0;
    if (call->route->resource == &resource_network_routers)
        return core_router_of(call->core, network_id);
    if (str_is_digits(key))
        id = str_parse_i64(key, &id) ? id : 0;
    else if (core_record(call->core, TABLE_NETWORK, network_id, &network))
        id = core_find(call->core, TABLE_NETWORK_RANGE,
                       STR_CONCAT(call->arena, network.network.name, STR("."), key));
    return id && core_record(call->core, TABLE_NETWORK_RANGE, id, &range) &&
                   range.network_range.network_id == network_id
               ? id
               : 0;
}

static int64_t nested_id(struct call *call, int64_t owner_id, struct str key)
{
    if (call->route->within == &resource_networks)
        return nested_id_in_network(call, owner_id, key);
    if (call->route->within == &resource_deployments)
        return nested_id_in_deployment(call, owner_id, key);
    if (call->route->resource == &resource_hammers)
        return nested_hammer_id(call, owner_id, key);
    return core_noderole(call->core, owner_id, nested_role_id(call, key));
}

bool nested_find(struct call *call, struct record *out_record)
{
    const struct route *route = call->route;
    struct record owner;
    if (!resource_find(call, route->within, call->keys[0], &owner))
        return false;
    const int64_t id = nested_id(call, owner.id, call->keys[1]);
    if (id && core_record(call->core, route->resource->view->table, id, out_record))
        return true;
    call_refuse(call, PROBLEM_NOT_FOUND, STR("id"),
                STR_CONCAT(call->arena, str_from(route->within->view->type), STR(" "),
                           call->keys[0], STR(" has no "), str_from(route->resource->view->type),
                           STR(" "), call->keys[1]));
    return false;
}

/* ---- handlers ---- */

enum handler_result serve_nested_show(struct call *call)
{
    struct record record;
    if (nested_find(call, &record))
        reply_record(call, call->route->resource->view, &record);
    return SERVED_REPLY;
}

enum handler_result serve_nested_update(struct call *call)
{
    const struct resource *resource = call->route->resource;
    struct command command = {0};
    struct record record;
    if (!nested_find(call, &record) || !object_condition(call) ||
        !params_read(call, resource->view->type))
        return SERVED_REPLY;
    params_schema_read(call, resource->update, record.id, &command);
    return object_submit(call, &command, object_reply_shown);
}

/* Sets the owner of the path as a parameter, as if the body had named it. A body that names an
 * owner as well must name the same. */
static void nested_set_owner(struct call *call, const struct resource *within, int64_t owner_id)
{
    const struct str type = str_from(within->view->type);
    const struct str id_key = STR_CONCAT(call->arena, type, STR("_id"));
    const struct param_ref ref = {within->view->type, str_z(call->arena, id_key),
                                  within->view->table, .can_be_null = true};
    int64_t named = 0;
    if (param_ref(call, &ref, &named) && named && named != owner_id)
        call_refuse(call, PROBLEM_BAD_VALUE, type,
                    STR_CONCAT(call->arena, type, STR(" in the body is not the "), type,
                               STR(" that the path names: leave it out")));
    json_unset(call->params, type);
    json_set(call->params, id_key, json_make_i64(call->arena, owner_id));
}

enum handler_result serve_nested_create(struct call *call)
{
    const struct route *route = call->route;
    struct command command = {0};
    struct record owner;
    if (!resource_find(call, route->within, call->keys[0], &owner) ||
        !params_read(call, route->resource->view->type))
        return SERVED_REPLY;
    nested_set_owner(call, route->within, owner.id);
    if (!call->problems)
        params_schema_read(call, route->resource->create, 0, &command);
    return object_submit(call, &command, object_reply_shown);
}

enum handler_result serve_nested_delete(struct call *call)
{
    struct command command = {0};
    struct record record;
    if (!nested_find(call, &record) || !object_condition(call))
        return SERVED_REPLY;
    params_schema_read(call, &(struct params_schema){.kind = call->route->command}, record.id,
                       &command);
    return object_submit(call, &command, object_reply_deleted);
}
