#include "api/rest/nested_lists.h"

#include "api/call/route.h"
#include "api/rest/lists.h"

static bool is_of_role(const struct choice *choice, struct call *call, const struct record *record)
{
    if (record->table == TABLE_NODEROLE)
        return record->noderole.role_id == choice->owner_id;
    if (record->table == TABLE_DEPLOYMENT_ROLE)
        return record->deployment_role.role_id == choice->owner_id;
    must(record->table == TABLE_NODE);
    return core_noderole(call->core, record->id, choice->owner_id) != 0;
}

static bool is_of_deployment(const struct choice *choice, struct call *call,
                             const struct record *record)
{
    (void)call;
    must(record->table == TABLE_DEPLOYMENT_ROLE);
    return record->deployment_role.deployment_id == choice->owner_id;
}

/* Its role, and the nodes that have it there. A long list may outlive it. */
static bool is_of_deployment_role(const struct choice *choice, struct call *call,
                                  const struct record *record)
{
    struct record owner, bound;
    if (!core_record(call->core, TABLE_DEPLOYMENT_ROLE, choice->owner_id, &owner))
        return false;
    const struct deployment_role_record *dr = &owner.deployment_role;
    if (record->table == TABLE_ROLE)
        return record->id == dr->role_id;
    must(record->table == TABLE_NODE);
    const int64_t id = core_noderole(call->core, record->id, dr->role_id);
    return id && core_record(call->core, TABLE_NODEROLE, id, &bound) &&
           bound.noderole.deployment_id == dr->deployment_id;
}

static bool is_of_group(const struct choice *choice, struct call *call, const struct record *record)
{
    must(record->table == TABLE_NODE);
    return core_is_in_group(call->core, choice->owner_id, record->id);
}

enum handler_result serve_belonging(struct call *call)
{
    static const char *const passes[] = {"deployment", NULL}; /* it helped to find the owner */
    const struct resource *within = call->route->within;
    struct choice choice = {.resource = call->route->resource};
    struct record owner;
    if (!resource_find(call, within, call->keys[0], &owner))
        return SERVED_REPLY;
    choice.owner_id = owner.id;
    if (within == &resource_deployment_roles)
        choice.passes = passes;
    if (within == &resource_roles)
        choice.keeps = is_of_role;
    else if (within == &resource_deployments)
        choice.keeps = is_of_deployment;
    else if (within == &resource_deployment_roles)
        choice.keeps = is_of_deployment_role;
    else
        choice.keeps = is_of_group;
    return reply_choice(call, &choice);
}
