#include "api/call/reply.h"
#include "api/nouns/network_allocations.h"
#include "api/rest/nested.h"
#include "api/rest/standard_routes.h"

/* Networks: fields, parameters and routes, with the routes of the ranges, router and addresses
 * below a network. Constant tables without state; a change is one command, and a problem before it
 * changes nothing. A network is found by name, by id and, for reading it, by an address of one of
 * its ranges. */

/* clang-format off */
static const struct object_view_field network_fields[] = {
    {"id",            PROP_INT,      PROP_AT(network.id),            0, NULL},
    {"deployment_id", PROP_REF,      PROP_AT(network.deployment_id), 0, NULL},
    {"name",          PROP_TEXT,     PROP_AT(network.name),          0, "null"},
    {"description",   PROP_TEXT,     PROP_AT(network.description),   0, "\"\""},
    {"order",         PROP_UINT32,   PROP_AT(network.order),         0, "1000"},
    {"vlan",          PROP_INT,      PROP_AT(network.vlan),          0, "0"},
    {"use_vlan",      PROP_BOOL,     PROP_AT(network.use_vlan),      0, "false"},
    {"use_bridge",    PROP_BOOL,     PROP_AT(network.use_bridge),    0, "false"},
    {"team_mode",     PROP_INT,      PROP_AT(network.team_mode),     0, "5"},
    {"use_team",      PROP_BOOL,     PROP_AT(network.use_team),      0, "false"},
    {"v6prefix",      PROP_OPTIONAL, PROP_AT(network.v6prefix),      0, "null"},
    {"conduit",       PROP_TEXT,     PROP_AT(network.conduit),       0, "null"},
    {"configure",     PROP_BOOL,     PROP_AT(network.configure),     0, "true"},
    {"category",      PROP_TEXT,     PROP_AT(network.category),      0, "\"general\""},
    {"group",         PROP_TEXT,     PROP_AT(network.group),         0, "\"default\""},
    {"pbr",           PROP_OPTIONAL, PROP_AT(network.pbr),           0, "null"},
    PROP_TIMES(network)
    {"deleting",      PROP_BOOL,     PROP_AT(network.deleting),      0, "false"},
};

/* The settings that POST and PUT have in common, for one of the commands. */
#define NETWORK_RULES(command)                                                                     \
    {.name = "description", .kind = PARAM_TEXT, .at = COMMAND_AT(command.description),             \
     .given = GIVEN_NETWORK_DESCRIPTION},                                                          \
    {.name = "order", .kind = PARAM_UINT32, .at = COMMAND_AT(command.order),                       \
     .given = GIVEN_NETWORK_ORDER},                                                                \
    {.name = "vlan", .kind = PARAM_SIGNED, .at = COMMAND_AT(command.vlan),                         \
     .given = GIVEN_NETWORK_VLAN},                                                                 \
    {.name = "use_vlan", .kind = PARAM_BOOL, .at = COMMAND_AT(command.use_vlan),                   \
     .given = GIVEN_NETWORK_USE_VLAN},                                                             \
    {.name = "use_bridge", .kind = PARAM_BOOL, .at = COMMAND_AT(command.use_bridge),               \
     .given = GIVEN_NETWORK_USE_BRIDGE},                                                           \
    {.name = "team_mode", .kind = PARAM_SIGNED, .at = COMMAND_AT(command.team_mode),               \
     .given = GIVEN_NETWORK_TEAM_MODE},                                                            \
    {.name = "use_team", .kind = PARAM_BOOL, .at = COMMAND_AT(command.use_team),                   \
     .given = GIVEN_NETWORK_USE_TEAM},                                                             \
    {.name = "v6prefix", .kind = PARAM_TEXT, .at = COMMAND_AT(command.v6prefix),                   \
     .given = GIVEN_NETWORK_V6PREFIX},                                                             \
    {.name = "configure", .kind = PARAM_BOOL, .at = COMMAND_AT(command.configure),                 \
     .given = GIVEN_NETWORK_CONFIGURE},                                                            \
    {.name = "category", .kind = PARAM_TEXT, .at = COMMAND_AT(command.category),                   \
     .given = GIVEN_NETWORK_CATEGORY},                                                             \
    {.name = "group", .kind = PARAM_TEXT, .at = COMMAND_AT(command.group),                         \
     .given = GIVEN_NETWORK_GROUP},                                                                \
    {.name = "pbr", .kind = PARAM_TEXT, .at = COMMAND_AT(command.pbr),                             \
     .given = GIVEN_NETWORK_PBR}

static const struct param_rule create_rules[] = {
    {.name = "name", .kind = PARAM_TEXT, .at = COMMAND_AT(network_create.name),
     .is_required = true},
    {.name = "deployment", .kind = PARAM_REF, .at = COMMAND_AT(network_create.deployment_id),
     .to = TABLE_DEPLOYMENT, .id_key = "deployment_id"},
    {.name = "conduit", .kind = PARAM_TEXT, .at = COMMAND_AT(network_create.conduit),
     .given = GIVEN_NETWORK_CONDUIT, .is_required = true},
    NETWORK_RULES(network_create),
    {.name = "ranges", .kind = PARAM_VALUE, .at = COMMAND_AT(network_create.ranges)},
    {.name = "router", .kind = PARAM_DOC, .at = COMMAND_AT(network_create.router)},
};

static const struct param_rule update_rules[] = {
    {.name = "conduit", .kind = PARAM_TEXT, .at = COMMAND_AT(network_update.conduit),
     .given = GIVEN_NETWORK_CONDUIT},
    NETWORK_RULES(network_update),
};
/* clang-format on */

static const struct object_view shape_network = {
    .type = "network", .table = TABLE_NETWORK, PROP_ROWS(network_fields), .extras = 1};

/* The list of ranges may be absent, null or, in a form, a string of JSON. */
static void network_check_create(struct call *call, struct command *command)
{
    const struct json *given = json_get(call->params, STR("ranges"));
    struct json *list;
    uint32_t offset;
    const char *what;
    resource_refuse_reserved(call, command->network_create.name);
    if (given && given->kind == JSON_NULL)
        command->network_create.ranges = STR("");
    else if (given && given->kind == JSON_STRING &&
             json_read(call->arena, given->text, &list, &offset, &what) == OK)
        command->network_create.ranges = json_write(call->arena, list);
}

static const struct params_schema create = {.kind = COMMAND_NETWORK_CREATE,
                                            PARAM_RULES(create_rules),
                                            GIVEN_MASK_AT(network_create),
                                            .check = network_check_create};
static const struct params_schema update = {
    .kind = COMMAND_NETWORK_UPDATE, PARAM_RULES(update_rules), GIVEN_MASK_AT(network_update)};

/* An address in the path is resolved to its network for GET only: otherwise a mistyped address
 * could select another network for a change. */
static int64_t network_find(struct call *call, struct str key)
{
    const int64_t id = core_find(call->core, TABLE_NETWORK, key);
    const char *wrong;
    struct ip ip;
    if (id || call->route->method != HTTP_GET || !ip_parse(key, &ip, &wrong))
        return id;
    return core_network_of_address(call->core, ip, STR(""));
}

const struct resource resource_networks = {
    .view = &shape_network,
    .order = ORDER_BY_ID,
    .create = &create,
    .update = &update,
    .find = network_find,
};

/* ---- the network of an address ---- */

static void network_check_query(struct call *call)
{
    for (const struct http_pair *pair = call->request->query; pair; pair = pair->next)
        if (!str_eq(pair->name, STR("address")) && !str_eq(pair->name, STR("category")) &&
            !str_eq(pair->name, STR("view")))
            call_refuse(call, PROBLEM_BAD_VALUE, pair->name,
                        STR_CONCAT(call->arena, pair->name,
                                   STR(" cannot be combined with address, which selects one "
                                       "network")));
}

/* The list; with ?address= the one network that has the address in a range. */
static enum handler_result serve_networks(struct call *call)
{
    struct str text, category = STR("");
    struct record network;
    struct ip ip;
    const char *wrong;
    if (!http_query(call->request, STR("address"), &text))
        return serve_list(call);
    http_query(call->request, STR("category"), &category);
    network_check_query(call);
    if (!ip_parse(text, &ip, &wrong))
        call_refuse(call, PROBLEM_BAD_VALUE, STR("address"),
                    STR_CONCAT(call->arena, STR("address "), str_from(wrong)));
    if (call->problems)
        return SERVED_REPLY;
    const int64_t id = core_network_of_address(call->core, ip, category);
    if (id && core_record(call->core, TABLE_NETWORK, id, &network))
        reply_record(call, &shape_network, &network);
    else
        call_refuse(call, PROBLEM_NOT_FOUND, STR("address"),
                    STR_CONCAT(call->arena, STR("address: no network"),
                               category.len ? STR(" of category ") : STR(""), category,
                               STR(" has a range that contains "), text));
    return SERVED_REPLY;
}

/* The ranges from which a node gets addresses unless a range is named. */
static enum handler_result serve_auto_ranges(struct call *call)
{
    struct record network, node;
    int64_t *ids = arena_array(call->arena, int64_t, AUTO_RANGES_MAX);
    if (!resource_find(call, &resource_networks, call->keys[0], &network) ||
        !resource_find(call, &resource_nodes, call->keys[1], &node))
        return SERVED_REPLY;
    const uint32_t count = core_auto_ranges(call->core, network.id, node.id, ids);
    return reply_list_of(
        call,
        &(struct list_scope){.resource = &resource_network_ranges, .ids = ids, .id_count = count});
}

/* ---- routes ---- */

static const struct route routes[] = {
    {.method = HTTP_GET,
     .pattern = V "networks",
     .serve = serve_networks,
     .resource = &resource_networks,
     .form = REPLY_LIST,
     .does = "list the objects; with address=, one object: the network that has the address"},
    {.method = HTTP_GET,
     .pattern = V "networks/sample",
     .serve = serve_sample,
     .resource = &resource_networks,
     .form = REPLY_CUSTOM,
     .does = "an object with its default values"},
    {.method = HTTP_POST,
     .pattern = V "networks/match",
     .serve = serve_match,
     .resource = &resource_networks,
     .form = REPLY_LIST,
     .does = "the objects with the given field values"},
    {.method = HTTP_GET,
     .pattern = V "networks/:id",
     .serve = serve_show,
     .resource = &resource_networks,
     .does = "show one object: by name, by id or by an address of one of its ranges"},
    ROUTES_EDIT("networks", resource_networks),
    ROUTES_MAKE("networks", resource_networks, COMMAND_NETWORK_DELETE),
    ROUTE_OWNED_LIST("networks/:id/network_ranges", resource_network_ranges, resource_networks,
                     "its ranges"),
    ROUTE_NESTED_CREATE("networks/:id/network_ranges", resource_network_ranges, resource_networks,
                        "give it a range"),
    ROUTE_NESTED_SHOW("networks/:id/network_ranges", resource_network_ranges, resource_networks,
                      ROUTE_AUTH_REQUIRED, "its range of that name"),
    ROUTE_NESTED_UPDATE("networks/:id/network_ranges", resource_network_ranges, resource_networks),
    ROUTE_NESTED_PATCH("networks/:id/network_ranges", resource_network_ranges, resource_networks),
    ROUTE_OWNED_LIST("networks/:id/network_routers", resource_network_routers, resource_networks,
                     "its router"),
    ROUTE_NESTED_CREATE("networks/:id/network_routers", resource_network_routers, resource_networks,
                        "give it a router"),
    ROUTE_NESTED_SHOW("networks/:id/network_routers", resource_network_routers, resource_networks,
                      ROUTE_AUTH_REQUIRED, "its router, whatever the last segment is"),
    ROUTE_NESTED_UPDATE("networks/:id/network_routers", resource_network_routers,
                        resource_networks),
    ROUTE_NESTED_PATCH("networks/:id/network_routers", resource_network_routers, resource_networks),
    ROUTE_NESTED_DELETE("networks/:id/network_routers", resource_network_routers, resource_networks,
                        COMMAND_NETWORK_ROUTER_DELETE),
    ROUTE_OWNED_LIST("networks/:id/network_allocations", resource_network_allocations,
                     resource_networks, "the addresses that nodes have in it"),
    {.method = HTTP_GET,
     .pattern = V "networks/:id/allocations",
     .serve = serve_network_allocations,
     .resource = &resource_network_allocations,
     .within = &resource_networks,
     .form = REPLY_LIST,
     .does = "the addresses that nodes have in it; with node=, those of one node"},
    {.method = HTTP_GET,
     .pattern = V "networks/:id/ip",
     .serve = serve_network_allocations,
     .resource = &resource_network_allocations,
     .within = &resource_networks,
     .form = REPLY_LIST,
     .does = "the addresses that nodes have in it; with node=, those of one node"},
    {.method = HTTP_POST,
     .pattern = V "networks/:id/ip",
     .serve = serve_network_allocate,
     .resource = &resource_network_allocations,
     .within = &resource_networks,
     .params = &network_allocate_params,
     .form = REPLY_CUSTOM,
     .does = "give a node an address: of a range, or of the ranges that it uses by default"},
    {.method = HTTP_DELETE,
     .pattern = V "networks/:id/ip",
     .serve = serve_network_deallocate,
     .resource = &resource_network_allocations,
     .within = &resource_networks,
     .params = &network_deallocate_params,
     .form = REPLY_MESSAGE,
     .does = "free an address, or all addresses that a node has in it"},
    {.method = HTTP_POST,
     .pattern = V "networks/:id/allocate_ip",
     .serve = serve_network_allocate,
     .resource = &resource_network_allocations,
     .within = &resource_networks,
     .params = &network_allocate_params,
     .form = REPLY_CUSTOM,
     .does = "give a node an address: of a range, or of the ranges that it uses by default"},
    {.method = HTTP_DELETE,
     .pattern = V "networks/:id/deallocate_ip",
     .serve = serve_network_deallocate,
     .resource = &resource_network_allocations,
     .within = &resource_networks,
     .params = &network_deallocate_params,
     .form = REPLY_MESSAGE,
     .does = "free an address, or all addresses that a node has in it"},
    {.method = HTTP_GET,
     .pattern = V "networks/:id/auto_ranges/:id",
     .serve = serve_auto_ranges,
     .resource = &resource_network_ranges,
     .within = &resource_networks,
     .form = REPLY_LIST,
     .does = "the ranges from which a node gets addresses by default"},
};

const struct route_table route_table_networks = ROUTE_TABLE("networks", routes);
