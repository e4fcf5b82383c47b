#include "api/nouns/attribs.h"
#include "api/nouns/deployment_roles.h"
#include "api/nouns/snapshot_diff.h"
#include "api/nouns/snapshots.h"
#include "api/rest/nested.h"
#include "api/rest/nested_lists.h"
#include "api/rest/standard_routes.h"
#include "api/views/graph.h"

/* Deployments: fields, parameters and routes. A deployment is a set of noderoles that is proposed
 * and committed together. All changes are commands of the core; this file only describes them in
 * constant tables. It has no state, and failures are those of the shared handlers (objects.c). */

/* clang-format off */
static const struct object_view_field deployment_fields[] = {
    {"id",          PROP_INT,              PROP_AT(deployment.id),          0, NULL},
    {"name",        PROP_TEXT,             PROP_AT(deployment.name),        0, "null"},
    {"description", PROP_TEXT,             PROP_AT(deployment.description), 0, "\"\""},
    {"state",       PROP_DEPLOYMENT_STATE, PROP_AT(deployment.id),          0, "0"},
    {"system",      PROP_BOOL,             PROP_AT(deployment.system),      0, "false"},
    {"parent_id",   PROP_REF,              PROP_AT(deployment.parent_id),   0, NULL},
    PROP_TIMES(deployment)
    {"changed",             PROP_CHANGED,       PROP_AT(deployment.id), 0, NULL},
    {"changed_destructive", PROP_CHANGED_DESTRUCTIVE, PROP_AT(deployment.id), 0, NULL},
    {"unproposed",          PROP_UNPROPOSED,    PROP_AT(deployment.id), 0, NULL},
};
/* clang-format on */

static const struct object_view shape_deployment = {
    .type = "deployment", .table = TABLE_DEPLOYMENT, PROP_ROWS(deployment_fields), .extras = 3};

static void deployment_check_create(struct call *call, struct command *command)
{
    resource_refuse_reserved(call, command->deployment_create.name);
}

static void deployment_check_update(struct call *call, struct command *command)
{
    resource_refuse_reserved(call, command->deployment_update.name);
}

static const struct param_rule create_rules[] = {
    {.name = "name",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(deployment_create.name),
     .is_required = true},
    {.name = "description", .kind = PARAM_TEXT, .at = COMMAND_AT(deployment_create.description)},
    {.name = "parent",
     .kind = PARAM_REF,
     .at = COMMAND_AT(deployment_create.parent_id),
     .to = TABLE_DEPLOYMENT,
     .id_key = "parent_id"},
};

static const struct param_rule update_rules[] = {
    {.name = "name",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(deployment_update.name),
     .given = GIVEN_NAME},
    {.name = "description",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(deployment_update.description),
     .given = GIVEN_DESCRIPTION},
};

static const struct params_schema create = {
    .kind = COMMAND_DEPLOYMENT_CREATE, PARAM_RULES(create_rules), .check = deployment_check_create};
static const struct params_schema update = {.kind = COMMAND_DEPLOYMENT_UPDATE,
                                            PARAM_RULES(update_rules),
                                            GIVEN_MASK_AT(deployment_update),
                                            .check = deployment_check_update};

const struct resource resource_deployments = {
    .view = &shape_deployment,
    .order = ORDER_NEWEST_FIRST,
    .create = &create,
    .update = &update,
};

/* ---- routes ---- */

static const struct param_rule commit_rules[] = {
    {.name = "plan", .kind = PARAM_TEXT, .at = COMMAND_AT(deployment_commit.plan)},
    {.name = "consent", .kind = PARAM_TEXT, .at = COMMAND_AT(deployment_commit.consent)},
    {.name = "rerun_changed",
     .kind = PARAM_BOOL,
     .at = COMMAND_AT(deployment_commit.rerun_changed)},
};
static const struct params_schema commit = {.kind = COMMAND_DEPLOYMENT_COMMIT,
                                            PARAM_RULES(commit_rules)};

static const struct param_rule propose_rules[] = {
    {.name = "name", .kind = PARAM_TEXT, .at = COMMAND_AT(deployment_propose.name)},
};
static const struct params_schema propose = {.kind = COMMAND_DEPLOYMENT_PROPOSE,
                                             PARAM_RULES(propose_rules)};

static const struct route routes[] = {
    ROUTES_READ("deployments", resource_deployments),
    ROUTES_EDIT("deployments", resource_deployments),
    ROUTES_MAKE("deployments", resource_deployments, COMMAND_DEPLOYMENT_DELETE),
    {.method = HTTP_PUT,
     .pattern = V "deployments/:id/commit",
     .serve = serve_verb,
     .resource = &resource_deployments,
     .params = &commit,
     .does = "commit its proposed changes; with plan, only if the commit would do exactly that; "
             "with consent, only if it would destroy exactly that"},
    {.method = HTTP_PUT,
     .pattern = V "deployments/:id/propose",
     .serve = serve_verb,
     .resource = &resource_deployments,
     .params = &propose,
     .does = "open the next snapshot for changes"},
    ROUTE_VERB("deployments/:id/recall", resource_deployments, COMMAND_DEPLOYMENT_RECALL,
               "change the head back to PROPOSED: no new run starts in it"),
    ROUTE_NESTED("deployments/:id/nodes", resource_nodes, resource_deployments, "its nodes"),
    ROUTE_NESTED("deployments/:id/node_roles", resource_noderoles, resource_deployments,
                 "its noderoles"),
    ROUTE_NESTED("deployments/:id/roles", resource_roles, resource_deployments, "its roles"),
    {.method = HTTP_GET,
     .pattern = V "deployments/:id/plan",
     .serve = serve_plan,
     .resource = &resource_deployments,
     .command = COMMAND_DEPLOYMENT_COMMIT,
     .form = REPLY_CUSTOM,
     .does = "what a commit would do, and the hash with which exactly that is committed"},
    ROUTE_CONSENT("deployments/:id/consent", resource_deployments, COMMAND_DEPLOYMENT_COMMIT),
    {.method = HTTP_PUT,
     .pattern = V "deployments/:id/revert",
     .serve = serve_revert,
     .resource = &resource_snapshots,
     .within = &resource_deployments,
     .params = &revert_params,
     .form = REPLY_CUSTOM,
     .does =
         "propose the content of a snapshot; returns the new head and what was bound, marked and "
         "skipped"},
    {.method = HTTP_GET,
     .pattern = V "deployments/:id/graph",
     .serve = serve_graph,
     .resource = &resource_deployments,
     .form = REPLY_CUSTOM,
     .does = "its noderoles and their dependencies"},
    {.method = HTTP_GET,
     .pattern = V "deployments/:id/head",
     .serve = serve_head,
     .resource = &resource_snapshots,
     .within = &resource_deployments,
     .does = "its newest snapshot"},
    {.method = HTTP_GET,
     .pattern = V "deployments/:id/next",
     .serve = serve_next_of_deployment,
     .resource = &resource_snapshots,
     .within = &resource_deployments,
     .does = "the snapshot after the given one (snapshot=)"},
    ROUTE_NESTED("deployments/:id/snapshots", resource_snapshots, resource_deployments,
                 "its snapshots, newest first"),
    {.method = HTTP_GET,
     .pattern = V "deployments/:id/why",
     .serve = serve_why,
     .resource = &resource_deployments,
     .form = REPLY_CUSTOM,
     .does = "why it is not active: the chain of causes down to the first one"},
    {.method = HTTP_POST,
     .pattern = V "deployments/:id/roles",
     .serve = serve_role_add,
     .resource = &resource_deployment_roles,
     .within = &resource_deployments,
     .params = &role_add_params,
     .does = "use a role in it"},
    ROUTE_OWNED_LIST("deployments/:id/deployment_roles", resource_deployment_roles,
                     resource_deployments, "its deployment roles"),
    ROUTE_NESTED_SHOW("deployments/:id/deployment_roles", resource_deployment_roles,
                      resource_deployments, ROUTE_AUTH_REQUIRED,
                      "the data of one of its deployment roles"),
    ROUTE_NESTED_UPDATE("deployments/:id/deployment_roles", resource_deployment_roles,
                        resource_deployments),
    ROUTE_NESTED_CREATE("deployments/:id/deployment_roles", resource_deployment_roles,
                        resource_deployments, "use a role in it"),
    ROUTE_NESTED_SHOW("deployments/:id/node_roles", resource_noderoles, resource_deployments,
                      ROUTE_AUTH_REQUIRED, "one of its noderoles"),
    ROUTE_NESTED_UPDATE("deployments/:id/node_roles", resource_noderoles, resource_deployments),
    ROUTE_NESTED_CREATE("deployments/:id/node_roles", resource_noderoles, resource_deployments,
                        "bind a role to a node in it"),
    ROUTE_NESTED_SHOW("deployments/:id/nodes", resource_nodes, resource_deployments,
                      ROUTE_AUTH_REQUIRED, "one of its nodes"),
    ROUTE_NESTED_UPDATE("deployments/:id/nodes", resource_nodes, resource_deployments),
    ROUTE_NESTED_CREATE("deployments/:id/nodes", resource_nodes, resource_deployments,
                        "create a node in it"),
    ROUTES_ATTRIBS("deployments", resource_deployments, ROUTE_AUTH_REQUIRED),
};

const struct route_table route_table_deployments = ROUTE_TABLE("deployments", routes);
