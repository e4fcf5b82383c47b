#include "api/call/authorize.h"

#include "api/call/reply.h"
#include "api/call/route.h"

/* Authorization of requests and commands. The file has no state and no rules of its own except one:
 * the token of a node is restricted to the routes of that node. All others are in the core, and
 * are checked here before a command is queued, for each command of a batch. The core checks them
 * again in the step that executes the command, because rights may change in between; only that
 * check decides. On a refusal the reply is made, 403 or that of the problems of the core, and
 * nothing is submitted. */

void authorize_refuse(struct call *call, struct str text)
{
    reply_error(call, 403, "forbidden", text);
}

struct principal authorize_principal(const struct call *call)
{
    return (struct principal){.is_external = true,
                              .user_id = call->caller.user_id,
                              .token_id = call->caller.token_id,
                              .node_id = call->caller.node_id};
}

enum access authorize_level(const struct call *call, int64_t deployment_id)
{
    const struct principal who = authorize_principal(call);
    return core_level(call->core, &who, deployment_id, call->arena);
}

bool authorize_is_admin(const struct call *call)
{
    return authorize_level(call, 0) == ACCESS_ADMIN;
}

/* ---- routes ---- */

/* Is the first key of the path the node that owns the token? */
static bool authorize_is_own_node(struct call *call)
{
    const struct route *route = call->route;
    const struct resource *first = route->within ? route->within : route->resource;
    const struct str key = call->keys[0];
    int64_t id = 0;
    if (route->access != ROUTE_AUTH_OR_NODE || first != &resource_nodes || key.len == 0)
        return false;
    if (str_is_digits(key))
        return str_parse_i64(key, &id) && id == call->caller.node_id;
    return core_find(call->core, TABLE_NODE, key) == call->caller.node_id;
}

bool authorize_request(struct call *call)
{
    if (!call->caller.node_id || authorize_is_own_node(call))
        return true;
    authorize_refuse(call, STR("the token of a node is accepted only for the routes of that node"));
    return false;
}

/* ---- commands ---- */

static bool authorize_one(struct call *call, const struct command *command)
{
    const struct principal who = authorize_principal(call);
    const struct problem *problems = core_check_rights(call->core, &who, command, call->arena);
    if (problems)
        reply_problems(call, problems);
    return !problems;
}

bool authorize_command(struct call *call, const struct command *command)
{
    struct command part;
    if (command->kind != COMMAND_BATCH)
        return authorize_one(call, command);
    const struct str parts = command->batch.commands;
    for (uint32_t at = 0; at < parts.len;) {
        /* Rewind after each command: a batch may have thousands. Not after a refusal, whose reply
         * is in the arena. */
        const struct arena_mark mark = arena_mark(call->arena);
        if (command_decode(call->arena, parts, &at, &part) != OK || part.kind == COMMAND_BATCH) {
            authorize_refuse(call, STR("a command of the batch cannot be decoded"));
            return false;
        }
        if (!authorize_one(call, &part))
            return false;
        arena_rewind(call->arena, mark);
    }
    return true;
}
