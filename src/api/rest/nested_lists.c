#include "api/rest/nested_lists.h"

#include "api/call/route.h"
#include "api/rest/lists.h"

/* Filters (list_scope.accepts) for lists of the objects that belong to an owner. They have no
 * state. A streamed list calls them again in later steps, so they read the core each time. Objects
 * that the core lists by owner are listed by their ids instead, without visiting all others. If the
 * owner does not exist, the reply is a problem; if it is deleted during a stream, the rest of the
 * list is empty. */

static bool owned_by_role(const struct list_scope *scope, struct call *call,
                          const struct record *record)
{
    if (record->table == TABLE_NODEROLE)
        return record->noderole.role_id == scope->owner_id;
    if (record->table == TABLE_DEPLOYMENT_ROLE)
        return record->deployment_role.role_id == scope->owner_id;
    must(record->table == TABLE_NODE);
    return core_noderole(call->core, record->id, scope->owner_id) != 0;
}

static bool owned_by_deployment(const struct list_scope *scope, struct call *call,
                                const struct record *record)
{
    (void)call;
    must(record->table == TABLE_DEPLOYMENT_ROLE);
    return record->deployment_role.deployment_id == scope->owner_id;
}

/* The role of the deployment role, or the nodes that it is bound to in the deployment. A streamed
 * list may outlive the deployment role. */
static bool owned_by_deployment_role(const struct list_scope *scope, struct call *call,
                                     const struct record *record)
{
    struct record owner, bound;
    if (!core_record(call->core, TABLE_DEPLOYMENT_ROLE, scope->owner_id, &owner))
        return false;
    const struct deployment_role_record *dr = &owner.deployment_role;
    if (record->table == TABLE_ROLE)
        return record->id == dr->role_id;
    must(record->table == TABLE_NODE);
    const int64_t id = core_noderole(call->core, record->id, dr->role_id);
    return id && core_record(call->core, TABLE_NODEROLE, id, &bound) &&
           bound.noderole.deployment_id == dr->deployment_id;
}

static bool owned_by_group(const struct list_scope *scope, struct call *call,
                           const struct record *record)
{
    must(record->table == TABLE_NODE);
    return core_is_in_group(call->core, scope->owner_id, record->id);
}

/* The objects of a network, range or node that the core has an index of. False: none. */
static bool owned_ids(struct call *call, int64_t owner_id, struct list_scope *scope)
{
    const struct resource *within = call->route->within, *resource = call->route->resource;
    if (resource == &resource_network_ranges) {
        scope->ids = core_ranges_of(call->core, owner_id, call->arena, &scope->id_count);
    } else if (resource == &resource_network_routers) {
        int64_t *only = arena_array(call->arena, int64_t, 1);
        only[0] = core_router_of(call->core, owner_id);
        scope->ids = only;
        scope->id_count = only[0] != 0;
    } else if (resource == &resource_network_allocations) {
        scope->ids = core_allocations_of(call->core, within->view->table, owner_id, call->arena,
                                         &scope->id_count);
    } else if (resource == &resource_nics) {
        scope->ids = core_nics_of(call->core, owner_id, call->arena, &scope->id_count);
    }
    return scope->ids != NULL;
}

enum handler_result serve_owned_list(struct call *call)
{
    static const char *const ignored[] = {"deployment", NULL}; /* it was used to find the owner */
    const struct resource *within = call->route->within;
    struct list_scope scope = {.resource = call->route->resource};
    struct record owner;
    if (!resource_find(call, within, call->keys[0], &owner))
        return SERVED_REPLY;
    scope.owner_id = owner.id;
    if (owned_ids(call, owner.id, &scope))
        return reply_list_of(call, &scope);
    if (within == &resource_deployment_roles)
        scope.ignored_params = ignored;
    if (within == &resource_roles)
        scope.accepts = owned_by_role;
    else if (within == &resource_deployments)
        scope.accepts = owned_by_deployment;
    else if (within == &resource_deployment_roles)
        scope.accepts = owned_by_deployment_role;
    else
        scope.accepts = owned_by_group;
    return reply_list_of(call, &scope);
}
