#include "api/nouns/deployment_roles.h"

#include "api/nouns/attribs.h"
#include "api/rest/nested_lists.h"
#include "api/rest/standard_routes.h"

/* Deployment roles: fields, parameters and routes. A deployment role is a role in a deployment as a
 * whole, with data that all its noderoles inherit. The file has constant tables and no state;
 * failures are those of the shared handlers (objects.c). */

/* clang-format off */
static const struct object_view_field deployment_role_fields[] = {
    {"id",            PROP_INT, PROP_AT(deployment_role.id),            0, NULL},
    {"deployment_id", PROP_REF, PROP_AT(deployment_role.deployment_id), 0, NULL},
    {"role_id",       PROP_REF, PROP_AT(deployment_role.role_id),       0, NULL},
    PROP_TIMES(deployment_role)
};
/* clang-format on */

static const struct object_view shape_deployment_role = {
    .type = "deployment_role", .table = TABLE_DEPLOYMENT_ROLE, PROP_ROWS(deployment_role_fields)};

#define PARAM_ROLE                                                                                 \
    {                                                                                              \
        .name = "role", .kind = PARAM_REF, .at = COMMAND_AT(deployment_role_create.role_id),       \
        .is_required = true, .to = TABLE_ROLE, .id_key = "role_id"                                 \
    }

static const struct param_rule create_rules[] = {
    PARAM_ROLE,
    {.name = "deployment",
     .kind = PARAM_REF,
     .at = COMMAND_AT(deployment_role_create.deployment_id),
     .is_required = true,
     .to = TABLE_DEPLOYMENT,
     .id_key = "deployment_id"},
};

static const struct param_rule update_rules[] = {
    {.name = "data",
     .kind = PARAM_DOC,
     .at = COMMAND_AT(deployment_role_data.data),
     .is_required = true},
};

static const struct params_schema create = {.kind = COMMAND_DEPLOYMENT_ROLE_CREATE,
                                            PARAM_RULES(create_rules)};
static const struct params_schema update = {.kind = COMMAND_DEPLOYMENT_ROLE_DATA,
                                            PARAM_RULES(update_rules)};

/* Finds a deployment role by the name of its role and ?deployment=, a name or an id. */
static int64_t deployment_role_find(struct call *call, struct str name)
{
    struct str where = STR("");
    int64_t deployment_id = 0;
    http_query(call->request, STR("deployment"), &where);
    if (!str_is_digits(where))
        deployment_id = core_find(call->core, TABLE_DEPLOYMENT, where);
    else if (!str_parse_i64(where, &deployment_id))
        return 0;
    return core_deployment_role(call->core, deployment_id, core_find(call->core, TABLE_ROLE, name));
}

const struct resource resource_deployment_roles = {
    .view = &shape_deployment_role,
    .order = ORDER_BY_ID,
    .create = &create,
    .update = &update,
    .find = deployment_role_find,
};

/* ---- POST deployments/:id/roles ---- */

static const struct param_rule role_add_rules[] = {PARAM_ROLE};

const struct params_schema role_add_params = {.kind = COMMAND_DEPLOYMENT_ROLE_CREATE,
                                              PARAM_RULES(role_add_rules)};

enum handler_result serve_role_add(struct call *call)
{
    struct command command = {0};
    struct record deployment;
    if (!resource_find(call, &resource_deployments, call->keys[0], &deployment) ||
        !params_read(call, shape_deployment_role.type))
        return SERVED_REPLY;
    params_schema_read(call, &role_add_params, 0, &command);
    command.deployment_role_create.deployment_id = deployment.id;
    return object_submit(call, &command, object_reply_shown);
}

/* ---- routes ---- */

static const struct route routes[] = {
    ROUTES_READ("deployment_roles", resource_deployment_roles),
    ROUTES_MAKE("deployment_roles", resource_deployment_roles, COMMAND_DEPLOYMENT_ROLE_DELETE),
    {.method = HTTP_PUT,
     .pattern = V "deployment_roles/:id",
     .serve = serve_update,
     .resource = &resource_deployment_roles,
     .does = "propose data for the role in this deployment; it takes effect when it is committed"},
    ROUTE_VERB("deployment_roles/:id/propose", resource_deployment_roles,
               COMMAND_DEPLOYMENT_ROLE_PROPOSE, "open its committed data for changes"),
    ROUTE_VERB("deployment_roles/:id/commit", resource_deployment_roles,
               COMMAND_DEPLOYMENT_ROLE_COMMIT, "commit its proposed data"),
    ROUTE_OWNED_LIST("deployment_roles/:id/roles", resource_roles, resource_deployment_roles,
                     "its role"),
    ROUTE_OWNED_LIST("deployment_roles/:id/nodes", resource_nodes, resource_deployment_roles,
                     "the nodes that the role is bound to in this deployment"),
    ROUTES_ATTRIBS("deployment_roles", resource_deployment_roles, ROUTE_AUTH_REQUIRED),
};

const struct route_table route_table_deployment_roles = ROUTE_TABLE("deployment_roles", routes);
