#include "api/rest/standard_routes.h"

/* Routers of networks: fields, parameters and routes. Constant tables without state; a change is
 * one command, and a problem before it changes nothing. A router has no name: it is found by its
 * id or by the name of its network, which has at most one. */

/* clang-format off */
static const struct object_view_field router_fields[] = {
    {"id",         PROP_INT,    PROP_AT(network_router.id),         0, NULL},
    {"network_id", PROP_REF,    PROP_AT(network_router.network_id), 0, NULL},
    {"address",    PROP_TEXT,   PROP_AT(network_router.address),    0, "null"},
    {"pref",       PROP_UINT32, PROP_AT(network_router.pref),       0, "65536"},
    PROP_TIMES(network_router)
};

static const struct param_rule create_rules[] = {
    {.name = "network", .kind = PARAM_REF, .at = COMMAND_AT(network_router_create.network_id),
     .is_required = true, .to = TABLE_NETWORK, .id_key = "network_id"},
    {.name = "address", .kind = PARAM_TEXT, .at = COMMAND_AT(network_router_create.address),
     .given = GIVEN_ROUTER_ADDRESS},
    {.name = "pref", .kind = PARAM_UINT32, .at = COMMAND_AT(network_router_create.pref),
     .given = GIVEN_ROUTER_PREF},
};

static const struct param_rule update_rules[] = {
    {.name = "address", .kind = PARAM_TEXT, .at = COMMAND_AT(network_router_update.address),
     .given = GIVEN_ROUTER_ADDRESS},
    {.name = "pref", .kind = PARAM_UINT32, .at = COMMAND_AT(network_router_update.pref),
     .given = GIVEN_ROUTER_PREF},
};
/* clang-format on */

static const struct object_view shape_network_router = {
    .type = "network_router", .table = TABLE_NETWORK_ROUTER, PROP_ROWS(router_fields)};

static const struct params_schema create = {.kind = COMMAND_NETWORK_ROUTER_CREATE,
                                            PARAM_RULES(create_rules),
                                            GIVEN_MASK_AT(network_router_create)};
static const struct params_schema update = {.kind = COMMAND_NETWORK_ROUTER_UPDATE,
                                            PARAM_RULES(update_rules),
                                            GIVEN_MASK_AT(network_router_update)};

static int64_t router_find(struct call *call, struct str name)
{
    return core_router_of(call->core, core_find(call->core, TABLE_NETWORK, name));
}

const struct resource resource_network_routers = {
    .view = &shape_network_router,
    .order = ORDER_BY_ID,
    .create = &create,
    .update = &update,
    .find = router_find,
};

static const struct route routes[] = {
    ROUTES_READ("network_routers", resource_network_routers),
    ROUTES_EDIT("network_routers", resource_network_routers),
    ROUTES_MAKE("network_routers", resource_network_routers, COMMAND_NETWORK_ROUTER_DELETE),
};

const struct route_table route_table_network_routers = ROUTE_TABLE("network_routers", routes);
