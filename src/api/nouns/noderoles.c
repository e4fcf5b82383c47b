#include "api/nouns/attribs.h"
#include "api/nouns/node_boot.h"
#include "api/nouns/runs.h"
#include "api/rest/standard_routes.h"
#include "api/views/graph.h"

/* Noderoles: fields, parameters and routes. A noderole is one role bound to one node in one
 * deployment: the unit that has a state and is run. In the API it is called node_role, as in
 * OpenCrowbar. The file has constant tables and no state; failures are those of the shared handlers
 * (objects.c). */

/* clang-format off */
static const struct object_view_field noderole_fields[] = {
    {"id",            PROP_INT,            PROP_AT(noderole.id),            0, NULL},
    {"deployment_id", PROP_REF,            PROP_AT(noderole.deployment_id), 0, NULL},
    {"role_id",       PROP_REF,            PROP_AT(noderole.role_id),       0, NULL},
    {"node_id",       PROP_REF,            PROP_AT(noderole.node_id),       0, NULL},
    {"state",         PROP_NODEROLE_STATE, PROP_AT(noderole.state),         0, "4"},
    {"cohort",        PROP_UINT32,          PROP_AT(noderole.cohort),        0, "0"},
    {"run_count",     PROP_UINT32,          PROP_AT(noderole.run_count),     0, "0"},
    {"status",        PROP_TEXT,           PROP_AT(noderole.status),        0, "\"\""},
    {"runlog",        PROP_TEXT,           PROP_AT(noderole.runlog),        0, "\"\""},
    {"available",     PROP_BOOL_INVERTED,            PROP_AT(noderole.unavailable),   0, "true"},
    {"order",         PROP_UINT32,          PROP_AT(noderole.order),         0, "10000"},
    {"node_error",    PROP_NODE_ERROR,     PROP_AT(noderole.node_id),       0, "false"},
    PROP_TIMES(noderole)
    {"reason",        PROP_REASON,         PROP_AT(noderole.reason),        0, "null"},
    {"reason_subject", PROP_TEXT,          PROP_AT(noderole.reason_subject), 0, "\"\""},
    {"reason_text",   PROP_TEXT,           PROP_AT(noderole.reason_text),   0, "\"\""},
};
/* clang-format on */

static const struct object_view shape_noderole = {
    .type = "node_role", .table = TABLE_NODEROLE, PROP_ROWS(noderole_fields), .extras = 3};

static const struct param_rule create_rules[] = {
    {.name = "node",
     .kind = PARAM_REF,
     .at = COMMAND_AT(noderole_bind.node_id),
     .is_required = true,
     .to = TABLE_NODE,
     .id_key = "node_id"},
    {.name = "role",
     .kind = PARAM_REF,
     .at = COMMAND_AT(noderole_bind.role_id),
     .is_required = true,
     .to = TABLE_ROLE,
     .id_key = "role_id"},
    {.name = "deployment",
     .kind = PARAM_REF,
     .at = COMMAND_AT(noderole_bind.deployment_id),
     .to = TABLE_DEPLOYMENT,
     .id_key = "deployment_id"},
    {.name = "data", .kind = PARAM_DOC, .at = COMMAND_AT(noderole_bind.data)},
};

static const struct param_rule update_rules[] = {
    {.name = "data", .kind = PARAM_DOC, .at = COMMAND_AT(noderole_data.data), .is_required = true},
};

static const struct params_schema create = {.kind = COMMAND_NODEROLE_BIND,
                                            PARAM_RULES(create_rules)};
static const struct params_schema update = {.kind = COMMAND_NODEROLE_DATA,
                                            PARAM_RULES(update_rules)};

static struct str noderole_proposed_data(const struct record *record)
{
    return record->noderole.proposed_data;
}

const struct resource resource_noderoles = {
    .view = &shape_noderole,
    .order = ORDER_BY_COHORT,
    .create = &create,
    .update = &update,
    .hidden_key = "data",
    .hidden_doc = noderole_proposed_data,
};

static const struct param_rule commit_rules[] = {
    {.name = "consent", .kind = PARAM_TEXT, .at = COMMAND_AT(noderole_commit.consent)},
};
static const struct params_schema commit = {.kind = COMMAND_NODEROLE_COMMIT,
                                            PARAM_RULES(commit_rules)};

static const struct route routes[] = {
    ROUTES_READ("node_roles", resource_noderoles),
    ROUTES_EDIT("node_roles", resource_noderoles),
    ROUTES_MAKE("node_roles", resource_noderoles, COMMAND_NODEROLE_DELETE),
    {.method = HTTP_PUT,
     .pattern = V "node_roles/:id/commit",
     .serve = serve_verb,
     .resource = &resource_noderoles,
     .params = &commit,
     .does = "commit it"},
    ROUTE_CONSENT("node_roles/:id/consent", resource_noderoles, COMMAND_NODEROLE_COMMIT),
    ROUTE_VERB("node_roles/:id/propose", resource_noderoles, COMMAND_NODEROLE_PROPOSE,
               "change it back to PROPOSED, to edit its data"),
    ROUTE_VERB("node_roles/:id/retry", resource_noderoles, COMMAND_NODEROLE_RETRY, "run it again"),
    {.method = HTTP_GET,
     .pattern = V "node_roles/:id/runs",
     .serve = serve_old_runs,
     .form = REPLY_CUSTOM,
     .does = "its ended runs, newest first"},
    {.method = HTTP_GET,
     .pattern = V "node_roles/:id/why",
     .serve = serve_why,
     .resource = &resource_noderoles,
     .form = REPLY_CUSTOM,
     .does = "why it is not active: the chain of causes down to the first one"},
    {.method = HTTP_GET,
     .pattern = V "node_roles/:id/boot_due",
     .serve = serve_noderole_boot_due,
     .resource = &resource_noderoles,
     .query = "after,limit",
     .form = REPLY_CUSTOM,
     .does = "the machines that it must still publish, by node id"},
    ROUTES_ATTRIBS("node_roles", resource_noderoles, ROUTE_AUTH_REQUIRED),
};

const struct route_table route_table_noderoles = ROUTE_TABLE("node_roles", routes);
