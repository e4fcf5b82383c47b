#include "base/net/mac.h"

#include "api/rest/standard_routes.h"

/* Interfaces of nodes. They follow the hints and the discovery of their nodes and cannot be
 * changed, except that a MAC can be moved to another node. Constant tables without state. An
 * interface is found by its id or by its MAC in either spelling; a key that is neither is not
 * found. */

/* clang-format off */
static const struct object_view_field nic_fields[] = {
    {"id",         PROP_INT,      PROP_AT(nic.id),         0, NULL},
    {"node_id",    PROP_REF,      PROP_AT(nic.node_id),    0, NULL},
    {"mac",        PROP_MAC,      PROP_AT(nic.mac),        0, "null"},
    {"name",       PROP_OPTIONAL, PROP_AT(nic.name),       0, "null"},
    {"bus",        PROP_OPTIONAL, PROP_AT(nic.bus),        0, "null"},
    {"driver",     PROP_OPTIONAL, PROP_AT(nic.driver),     0, "null"},
    {"speed_max",  PROP_UINT32,   PROP_AT(nic.speed_max),  0, "0"},
    {"hinted",     PROP_BOOL,     PROP_AT(nic.hinted),     0, "false"},
    {"discovered", PROP_BOOL,     PROP_AT(nic.discovered), 0, "false"},
    {"link",       PROP_BOOL,     PROP_AT(nic.link),       0, "false"},
    PROP_TIMES(nic)
};
/* clang-format on */

static const struct object_view shape_nic = {
    .type = "nic", .table = TABLE_NIC, PROP_ROWS(nic_fields)};

static int64_t nic_find(struct call *call, struct str key)
{
    struct mac mac;
    return mac_parse(key, &mac) ? core_nic_of_mac(call->core, mac_number(mac)) : 0;
}

const struct resource resource_nics = {
    .view = &shape_nic,
    .order = ORDER_BY_ID,
    .find = nic_find,
};

/* ---- move ---- */

static const struct param_rule move_rules[] = {
    {.name = "node",
     .kind = PARAM_REF,
     .at = COMMAND_AT(nic_move.node_id),
     .is_required = true,
     .to = TABLE_NODE,
     .id_key = "node_id"},
    {.name = "mac", .kind = PARAM_TEXT, .at = COMMAND_AT(nic_move.mac), .is_required = true},
};

static const struct params_schema move = {.kind = COMMAND_NIC_MOVE, PARAM_RULES(move_rules)};

/* The MAC of a machine that was replaced, or of an interface that was put into another machine. */
static enum handler_result serve_nic_move(struct call *call)
{
    struct command command = {0};
    if (!params_read(call, shape_nic.type))
        return SERVED_REPLY;
    params_schema_read(call, &move, 0, &command);
    return object_submit(call, &command, object_reply_shown);
}

static const struct route routes[] = {
    ROUTES_READ("nics", resource_nics),
    {.method = HTTP_POST,
     .pattern = V "nics/move",
     .serve = serve_nic_move,
     .resource = &resource_nics,
     .params = &move,
     .does = "give the MAC of another node to this node"},
};

const struct route_table route_table_nics = ROUTE_TABLE("nics", routes);
