#include "api/call/reply.h"
#include "api/nouns/attribs.h"
#include "api/nouns/hammers.h"
#include "api/nouns/network_allocations.h"
#include "api/nouns/node_boot.h"
#include "api/nouns/tokens.h"
#include "api/rest/nested.h"
#include "api/rest/standard_routes.h"
#include "api/views/graph.h"

/* Nodes: fields, parameters and routes. A node is a machine, or a system node that carries
 * services. A machine that registers may send mac and ip, which the core stores as hints; later it
 * reports alive, its boot id and its environment through PUT.
 *
 * The file has constant tables and no state; changes are commands of the core. A wrong parameter is
 * a problem, and nothing is submitted. */

/* clang-format off */
static const struct object_view_field node_fields[] = {
    {"id",             PROP_INT,   PROP_AT(node.id),             0, NULL},
    {"name",           PROP_TEXT,  PROP_AT(node.name),           0, "null"},
    {"description",    PROP_TEXT,  PROP_AT(node.description),    0, "\"\""},
    {"admin",          PROP_BOOL,  PROP_AT(node.admin),          0, "false"},
    {"system",         PROP_BOOL,  PROP_AT(node.system),         0, "false"},
    {"deployment_id",  PROP_REF,   PROP_AT(node.deployment_id),  0, NULL},
    {"target_role_id", PROP_REF,   PROP_AT(node.target_role_id), 0, NULL},
    {"allocated",      PROP_BOOL,  PROP_AT(node.allocated),      0, "false"},
    {"alive",          PROP_BOOL,  PROP_AT(node.alive),          0, "false"},
    {"available",      PROP_BOOL,  PROP_AT(node.available),      0, "false"},
    {"bootenv",        PROP_TEXT,  PROP_AT(node.bootenv),        0, "\"sledgehammer\""},
    {"quirks",         PROP_ARRAY, PROP_AT(node.quirks),         0, "[]"},
    PROP_TIMES(node)
    {"boot_id",        PROP_TEXT,  PROP_AT(node.boot_id),        0, "\"\""},
    {"boot_generation", PROP_INT,  PROP_AT(node.boot_generation), 0, "0"},
    {"status",         PROP_TEXT,  PROP_AT(node.status),         0, "\"\""},
    {"reason",         PROP_REASON, PROP_AT(node.reason),        0, "null"},
    {"reason_subject", PROP_TEXT,  PROP_AT(node.reason_subject), 0, "\"\""},
    {"state",          PROP_NODE_STATE, PROP_AT(node.id),        0, "0"},
    {"automatic",      PROP_BOOL,  PROP_AT(node.automatic),      0, "false"},
    {"power_state",    PROP_POWER_STATE, PROP_AT(node.power_state), 0, "\"unknown\""},
    {"power_read_at",  PROP_TIME,  PROP_AT(node.power_read_at),  0, "null"},
    {"power_driver",   PROP_OPTIONAL, PROP_AT(node.power_driver), 0, "null"},
    {"power_reason",   PROP_REASON, PROP_AT(node.power_reason),  0, "null"},
    {"power_error",    PROP_TEXT,  PROP_AT(node.power_error),    0, "\"\""},
    {"power_results",  PROP_ARRAY, PROP_AT(node.power_results),  0, "[]"},
};
/* clang-format on */

static const struct object_view shape_node = {
    .type = "node", .table = TABLE_NODE, PROP_ROWS(node_fields), .extras = 13};

static const struct param_rule create_rules[] = {
    {.name = "name", .kind = PARAM_TEXT, .at = COMMAND_AT(node_create.name), .is_required = true},
    {.name = "description", .kind = PARAM_TEXT, .at = COMMAND_AT(node_create.description)},
    {.name = "admin", .kind = PARAM_BOOL, .at = COMMAND_AT(node_create.admin)},
    {.name = "system", .kind = PARAM_BOOL, .at = COMMAND_AT(node_create.system)},
    {.name = "allocated", .kind = PARAM_BOOL, .at = COMMAND_AT(node_create.allocated)},
    {.name = "alive", .kind = PARAM_BOOL, .at = COMMAND_AT(node_create.alive)},
    {.name = "available", .kind = PARAM_BOOL, .at = COMMAND_AT(node_create.available)},
    {.name = "bootenv", .kind = PARAM_TEXT, .at = COMMAND_AT(node_create.bootenv)},
    {.name = "deployment",
     .kind = PARAM_REF,
     .at = COMMAND_AT(node_create.deployment_id),
     .to = TABLE_DEPLOYMENT,
     .id_key = "deployment_id"},
    {.name = "hint", .kind = PARAM_DOC, .at = COMMAND_AT(node_create.hint)},
    {.name = "discovery", .kind = PARAM_DOC, .at = COMMAND_AT(node_create.discovery)},
    {.name = "mac", .kind = PARAM_TEXT, .at = COMMAND_AT(node_create.mac)},
    {.name = "ip", .kind = PARAM_TEXT, .at = COMMAND_AT(node_create.ip)},
};

static const struct param_rule update_rules[] = {
    {.name = "name", .kind = PARAM_TEXT, .at = COMMAND_AT(node_update.name), .given = GIVEN_NAME},
    {.name = "description",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(node_update.description),
     .given = GIVEN_DESCRIPTION},
    {.name = "deployment",
     .kind = PARAM_REF,
     .at = COMMAND_AT(node_update.deployment_id),
     .given = GIVEN_NODE_DEPLOYMENT,
     .to = TABLE_DEPLOYMENT,
     .id_key = "deployment_id"},
    {.name = "old_deployment",
     .kind = PARAM_REF,
     .at = COMMAND_AT(node_update.old_deployment_id),
     .given = GIVEN_NODE_OLD_DEPLOYMENT,
     .to = TABLE_DEPLOYMENT,
     .id_key = "old_deployment_id"},
    {.name = "target_role",
     .kind = PARAM_REF,
     .at = COMMAND_AT(node_update.target_role_id),
     .given = GIVEN_NODE_TARGET,
     .to = TABLE_ROLE,
     .id_key = "target_role_id",
     .can_be_null = true},
    {.name = "allocated",
     .kind = PARAM_BOOL,
     .at = COMMAND_AT(node_update.allocated),
     .given = GIVEN_NODE_ALLOCATED},
    {.name = "alive",
     .kind = PARAM_BOOL,
     .at = COMMAND_AT(node_update.alive),
     .given = GIVEN_NODE_ALIVE},
    {.name = "available",
     .kind = PARAM_BOOL,
     .at = COMMAND_AT(node_update.available),
     .given = GIVEN_NODE_AVAILABLE},
    {.name = "bootenv",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(node_update.bootenv),
     .given = GIVEN_NODE_BOOTENV},
    /* Sent by machines: id of the boot, the environment that runs, the boot generation, and that of
     * a stamp that stopped the installer. */
    {.name = "boot_id",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(node_update.boot_id),
     .given = GIVEN_NODE_BOOT_ID},
    {.name = "environment",
     .kind = PARAM_TEXT,
     .at = COMMAND_AT(node_update.environment),
     .given = GIVEN_NODE_ENVIRONMENT},
    {.name = "boot_generation",
     .kind = PARAM_INT64,
     .at = COMMAND_AT(node_update.boot_generation),
     .given = GIVEN_NODE_BOOT_GENERATION},
    {.name = "stamp_generation",
     .kind = PARAM_INT64,
     .at = COMMAND_AT(node_update.stamp_generation),
     .given = GIVEN_NODE_STAMP},
};

static const struct params_schema create = {.kind = COMMAND_NODE_CREATE, PARAM_RULES(create_rules)};
static const struct params_schema update = {
    .kind = COMMAND_NODE_UPDATE, PARAM_RULES(update_rules), GIVEN_MASK_AT(node_update)};

const struct resource resource_nodes = {
    .view = &shape_node,
    .order = ORDER_BY_ID,
    .create = &create,
    .update = &update,
};

/* ---- debug ---- */

/* Replies with the node, and with the warnings of the core as headers (RFC 7234, 5.5: 299 is a
 * persistent warning). */
static void node_reply_debug(struct call *call, int64_t id)
{
    struct json *doc;
    uint32_t offset;
    const char *what;
    object_reply_shown(call, id);
    if (call->doc.len == 0 || json_read(call->arena, call->doc, &doc, &offset, &what) != OK)
        return;
    const struct json *warnings = json_get(doc, STR("warnings"));
    for (const struct json *w = warnings ? warnings->first : NULL; w; w = w->next)
        reply_header(call, "Warning",
                     STR_CONCAT(call->arena, STR("299 halligan "), json_write(call->arena, w)));
}

static enum handler_result serve_debug(struct call *call)
{
    struct command command = {0};
    struct record node;
    if (!resource_find(call, &resource_nodes, call->keys[0], &node) || !object_condition(call) ||
        !params_read(call, shape_node.type))
        return SERVED_REPLY;
    params_schema_read(call, &(struct params_schema){.kind = COMMAND_NODE_DEBUG}, node.id,
                       &command);
    return object_submit(call, &command, node_reply_debug);
}

/* ---- routes ---- */

static const struct param_rule commit_rules[] = {
    {.name = "consent", .kind = PARAM_TEXT, .at = COMMAND_AT(node_commit.consent)},
};
static const struct params_schema commit = {.kind = COMMAND_NODE_COMMIT, PARAM_RULES(commit_rules)};

static const struct route routes[] = {
    ROUTES_READ("nodes", resource_nodes),
    ROUTES_EDIT("nodes", resource_nodes),
    ROUTES_MAKE("nodes", resource_nodes, COMMAND_NODE_DELETE),
    {.method = HTTP_PUT,
     .pattern = V "nodes/:id/commit",
     .serve = serve_verb,
     .resource = &resource_nodes,
     .params = &commit,
     .does = "commit its proposed noderoles and make it available"},
    ROUTE_CONSENT("nodes/:id/consent", resource_nodes, COMMAND_NODE_COMMIT),
    ROUTE_VERB("nodes/:id/propose", resource_nodes, COMMAND_NODE_PROPOSE,
               "change its noderoles back to PROPOSED"),
    {.method = HTTP_PUT,
     .pattern = V "nodes/:id/debug",
     .serve = serve_debug,
     .resource = &resource_nodes,
     .command = COMMAND_NODE_DEBUG,
     .does = "boot it into the discovery image and keep it there, if there is a discovery role"},
    ROUTE_VERB("nodes/:id/undebug", resource_nodes, COMMAND_NODE_UNDEBUG,
               "end debug: boot the environment that it had before"),
    ROUTE_VERB("nodes/:id/forget_key", resource_nodes, COMMAND_NODE_FORGET_KEY,
               "delete its pinned ssh host keys: the next connection pins the keys that it finds"),
    ROUTE_VERB("nodes/:id/redeploy", resource_nodes, COMMAND_NODE_REDEPLOY,
               "install it again from scratch: all its noderoles run again, destructive roles too"),
    ROUTE_NESTED("nodes/:id/node_roles", resource_noderoles, resource_nodes, "its noderoles"),
    ROUTE_NESTED("nodes/:id/roles", resource_roles, resource_nodes, "the roles bound to it"),
    ROUTE_NESTED("nodes/:id/hammers", resource_hammers, resource_nodes, "its hammers"),
    {.method = HTTP_GET,
     .pattern = V "nodes/:id/network_allocations",
     .serve = serve_owned_list,
     .resource = &resource_network_allocations,
     .within = &resource_nodes,
     .form = REPLY_LIST,
     .access = ROUTE_AUTH_OR_NODE,
     .does = "its addresses, as objects"},
    {.method = HTTP_GET,
     .pattern = V "nodes/:id/nics",
     .serve = serve_owned_list,
     .resource = &resource_nics,
     .within = &resource_nodes,
     .form = REPLY_LIST,
     .access = ROUTE_AUTH_OR_NODE,
     .does = "its interfaces"},
    {.method = HTTP_GET,
     .pattern = V "nodes/:id/addresses",
     .serve = serve_node_addresses,
     .resource = &resource_nodes,
     .form = REPLY_CUSTOM,
     .access = ROUTE_AUTH_OR_NODE,
     .does =
         "its addresses by network; of one network with network=, of categories with category="},
    {.method = HTTP_GET,
     .pattern = V "nodes/:id/boot",
     .serve = serve_node_boot,
     .resource = &resource_nodes,
     .form = REPLY_CUSTOM,
     .access = ROUTE_AUTH_OR_NODE,
     .does = "what its machine boots: its entry in the boot view, the boot environment, the grant "
             "of its installation, what has served it, and what keeps it from booting"},
    {.method = HTTP_GET,
     .pattern = V "nodes/:id/boots",
     .serve = serve_node_boots,
     .resource = &resource_nodes,
     .form = REPLY_CUSTOM,
     .does = "what boot servers answered its machine, oldest first: the last 64 events"},
    {.method = HTTP_GET,
     .pattern = V "nodes/:id/bootstate",
     .serve = serve_node_bootstate,
     .resource = &resource_nodes,
     .form = REPLY_CUSTOM,
     .access = ROUTE_AUTH_OR_NODE,
     .does = "its bootenv as soon as all that serves boots has it, and null before"},
    {.method = HTTP_GET,
     .pattern = V "nodes/:id/power",
     .serve = serve_power_actions,
     .resource = &resource_nodes,
     .form = REPLY_CUSTOM,
     .access = ROUTE_AUTH_OR_NODE,
     .does = "the power actions that its hammers offer"},
    {.method = HTTP_PUT,
     .pattern = V "nodes/:id/power",
     .serve = serve_power,
     .resource = &resource_nodes,
     .params = &power_params,
     .form = REPLY_CUSTOM,
     .does = "order a power action"},
    {.method = HTTP_GET,
     .pattern = V "nodes/:id/power/:id",
     .serve = serve_power_order,
     .resource = &resource_nodes,
     .form = REPLY_CUSTOM,
     .access = ROUTE_AUTH_OR_NODE,
     .does = "the state or result of a power order, by the number from its reply"},
    {.method = HTTP_POST,
     .pattern = V "nodes/:id/token",
     .serve = serve_node_token,
     .resource = &resource_tokens,
     .within = &resource_nodes,
     .params = &node_token_params,
     .does = "create a token for the node itself, shown in this reply only; its older tokens are "
             "deleted, unless keep=true"},
    {.method = HTTP_DELETE,
     .pattern = V "nodes/:id/token",
     .serve = serve_node_token_delete,
     .resource = &resource_tokens,
     .within = &resource_nodes,
     .form = REPLY_MESSAGE,
     .does = "delete its tokens"},
    ROUTE_NESTED_SHOW("nodes/:id/node_roles", resource_noderoles, resource_nodes,
                      ROUTE_AUTH_OR_NODE, "its noderole of that role"),
    ROUTE_NESTED_UPDATE("nodes/:id/node_roles", resource_noderoles, resource_nodes),
    ROUTE_NESTED_CREATE("nodes/:id/node_roles", resource_noderoles, resource_nodes,
                        "bind a role to it"),
    ROUTE_NESTED_SHOW("nodes/:id/hammers", resource_hammers, resource_nodes, ROUTE_AUTH_OR_NODE,
                      "its hammer of that name"),
    ROUTE_NESTED_UPDATE("nodes/:id/hammers", resource_hammers, resource_nodes),
    ROUTE_NESTED_CREATE("nodes/:id/hammers", resource_hammers, resource_nodes, "give it a hammer"),
    {.method = HTTP_GET,
     .pattern = V "nodes/:id/why",
     .serve = serve_why,
     .resource = &resource_nodes,
     .form = REPLY_CUSTOM,
     .does = "why it is not active: the chain of causes down to the first one"},
    ROUTES_ATTRIBS("nodes", resource_nodes, ROUTE_AUTH_OR_NODE),
};

const struct route_table route_table_nodes = ROUTE_TABLE("nodes", routes);
