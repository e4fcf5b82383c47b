#include "api/call/reply.h"
#include "api/rest/json_object_writer.h"
#include "api/rest/standard_routes.h"

/* Ranges of networks: fields, parameters and routes, and how many addresses of a range are used.
 * Constant tables without state; a change is one command, and a problem before it changes nothing.
 *
 * A range inherits the interface settings that it does not have itself; it is shown with the values
 * in effect. A setting that is null in a request is inherited again. A range is found by id, by
 * NETWORK.RANGE, or by its own name if only one network has such a range. */

/* clang-format off */
static const struct object_view_field range_fields[] = {
    {"id",         PROP_INT,           PROP_AT(network_range.id),         0, NULL},
    {"name",       PROP_TEXT,          PROP_AT(network_range.name),       0, "null"},
    {"network_id", PROP_REF,           PROP_AT(network_range.network_id), 0, NULL},
    {"first",      PROP_TEXT,          PROP_AT(network_range.first),      0, "null"},
    {"last",       PROP_TEXT,          PROP_AT(network_range.last),       0, "null"},
    {"conduit",    PROP_RANGE_CONDUIT, PROP_AT(network_range.conduit), RANGE_OWN_CONDUIT, "null"},
    {"vlan",       PROP_RANGE_NUMBER,  PROP_AT(network_range.vlan), RANGE_OWN_VLAN, "null"},
    {"use_vlan",   PROP_RANGE_FLAG,    PROP_AT(network_range.use_vlan), RANGE_OWN_USE_VLAN, "null"},
    {"use_bridge", PROP_RANGE_FLAG,  PROP_AT(network_range.use_bridge),
     RANGE_OWN_USE_BRIDGE, "null"},
    {"team_mode",  PROP_RANGE_NUMBER, PROP_AT(network_range.team_mode),
     RANGE_OWN_TEAM_MODE, "null"},
    {"use_team",   PROP_RANGE_FLAG,    PROP_AT(network_range.use_team), RANGE_OWN_USE_TEAM, "null"},
    {"overlap",    PROP_BOOL,          PROP_AT(network_range.overlap),    0, "false"},
    PROP_TIMES(network_range)
    {"full_name",  PROP_RANGE_FULL_NAME, PROP_AT(network_range.id),       0, "null"},
};

/* The settings that POST and PUT have in common, for one of the commands. */
#define RANGE_RULES(command)                                                                       \
    {.name = "conduit", .kind = PARAM_TEXT, .at = COMMAND_AT(command.conduit),                     \
     .given = GIVEN_RANGE_CONDUIT, .null_bit = RANGE_OWN_CONDUIT},                                 \
    {.name = "vlan", .kind = PARAM_SIGNED, .at = COMMAND_AT(command.vlan),                         \
     .given = GIVEN_RANGE_VLAN, .null_bit = RANGE_OWN_VLAN},                                       \
    {.name = "use_vlan", .kind = PARAM_BOOL, .at = COMMAND_AT(command.use_vlan),                   \
     .given = GIVEN_RANGE_USE_VLAN, .null_bit = RANGE_OWN_USE_VLAN},                               \
    {.name = "use_bridge", .kind = PARAM_BOOL, .at = COMMAND_AT(command.use_bridge),               \
     .given = GIVEN_RANGE_USE_BRIDGE, .null_bit = RANGE_OWN_USE_BRIDGE},                           \
    {.name = "team_mode", .kind = PARAM_SIGNED, .at = COMMAND_AT(command.team_mode),               \
     .given = GIVEN_RANGE_TEAM_MODE, .null_bit = RANGE_OWN_TEAM_MODE},                             \
    {.name = "use_team", .kind = PARAM_BOOL, .at = COMMAND_AT(command.use_team),                   \
     .given = GIVEN_RANGE_USE_TEAM, .null_bit = RANGE_OWN_USE_TEAM},                               \
    {.name = "overlap", .kind = PARAM_BOOL, .at = COMMAND_AT(command.overlap),                     \
     .given = GIVEN_RANGE_OVERLAP}

static const struct param_rule create_rules[] = {
    {.name = "network", .kind = PARAM_REF, .at = COMMAND_AT(network_range_create.network_id),
     .is_required = true, .to = TABLE_NETWORK, .id_key = "network_id"},
    {.name = "name", .kind = PARAM_TEXT, .at = COMMAND_AT(network_range_create.name),
     .given = GIVEN_RANGE_NAME, .is_required = true},
    {.name = "first", .kind = PARAM_TEXT, .at = COMMAND_AT(network_range_create.first),
     .given = GIVEN_RANGE_FIRST, .is_required = true},
    {.name = "last", .kind = PARAM_TEXT, .at = COMMAND_AT(network_range_create.last),
     .given = GIVEN_RANGE_LAST, .is_required = true},
    RANGE_RULES(network_range_create),
};

static const struct param_rule update_rules[] = {
    {.name = "name", .kind = PARAM_TEXT, .at = COMMAND_AT(network_range_update.name),
     .given = GIVEN_RANGE_NAME},
    {.name = "first", .kind = PARAM_TEXT, .at = COMMAND_AT(network_range_update.first),
     .given = GIVEN_RANGE_FIRST},
    {.name = "last", .kind = PARAM_TEXT, .at = COMMAND_AT(network_range_update.last),
     .given = GIVEN_RANGE_LAST},
    RANGE_RULES(network_range_update),
};
/* clang-format on */

static const struct object_view shape_network_range = {
    .type = "network_range", .table = TABLE_NETWORK_RANGE, PROP_ROWS(range_fields), .extras = 1};

static const struct params_schema create = {.kind = COMMAND_NETWORK_RANGE_CREATE,
                                            PARAM_RULES(create_rules),
                                            GIVEN_MASK_AT(network_range_create),
                                            .nulls_at = COMMAND_AT(network_range_create.inherit),
                                            .nulls_given = GIVEN_RANGE_INHERIT};
static const struct params_schema update = {.kind = COMMAND_NETWORK_RANGE_UPDATE,
                                            PARAM_RULES(update_rules),
                                            GIVEN_MASK_AT(network_range_update),
                                            .nulls_at = COMMAND_AT(network_range_update.inherit),
                                            .nulls_given = GIVEN_RANGE_INHERIT};

/* Is there a range of that name, so that a lookup failed because there are several? */
static bool range_has_name(const struct call *call, struct str name)
{
    struct record range;
    for (int64_t id = core_next_id(call->core, TABLE_NETWORK_RANGE, 0); id;
         id = core_next_id(call->core, TABLE_NETWORK_RANGE, id))
        if (core_record(call->core, TABLE_NETWORK_RANGE, id, &range) &&
            str_eq_nocase(range.network_range.name, name))
            return true;
    return false;
}

static int64_t range_find(struct call *call, struct str name)
{
    const int64_t id = core_find(call->core, TABLE_NETWORK_RANGE, name);
    if (!id && range_has_name(call, name))
        call_refuse(call, PROBLEM_BAD_VALUE, STR("id"),
                    STR_CONCAT(call->arena, STR("several networks have a range "), name,
                               STR(": name it NETWORK."), name, STR(" or by its id")));
    return id;
}

const struct resource resource_network_ranges = {
    .view = &shape_network_range,
    .order = ORDER_BY_ID,
    .create = &create,
    .update = &update,
    .find = range_find,
};

/* ---- usage ---- */

static void range_put_count(struct object_writer *m, const char *key, uint64_t count)
{
    if (object_put_key(m, key))
        buf_put_u64(m->b, count);
}

/* Not an object of the table: the numbers change with every allocation. */
static enum handler_result serve_range_usage(struct call *call)
{
    struct record range;
    struct range_usage usage;
    struct buf b = buf_in(call->arena);
    if (!resource_find(call, &resource_network_ranges, call->keys[0], &range))
        return SERVED_REPLY;
    must(core_range_usage(call->core, range.id, &usage));
    struct object_writer m = object_writer_open(&b, call->wanted);
    object_put_number(&m, "id", range.id);
    object_put_text(&m, "name", range.network_range.name);
    object_put_number(&m, "network_id", range.network_range.network_id);
    range_put_count(&m, "size", usage.size);
    range_put_count(&m, "allocated", usage.allocated);
    range_put_count(&m, "leased", usage.leased);
    range_put_count(&m, "resting", usage.resting);
    range_put_count(&m, "routers", usage.routers);
    range_put_count(&m, "free", usage.free);
    object_writer_close(&m);
    reply_json(call, shape_network_range.type, "obj", buf_str(&b));
    return SERVED_REPLY;
}

/* ---- routes ---- */

static const struct route routes[] = {
    ROUTES_READ("network_ranges", resource_network_ranges),
    ROUTES_EDIT("network_ranges", resource_network_ranges),
    {.method = HTTP_POST,
     .pattern = V "network_ranges",
     .serve = serve_create,
     .resource = &resource_network_ranges,
     .does = "create an object"},
    {.method = HTTP_GET,
     .pattern = V "network_ranges/:id/usage",
     .serve = serve_range_usage,
     .resource = &resource_network_ranges,
     .form = REPLY_CUSTOM,
     .does = "how many of its addresses are allocated, leased, resting and free"},
    ROUTE_OWNED_LIST("network_ranges/:id/network_allocations", resource_network_allocations,
                     resource_network_ranges, "the addresses that nodes have in it"),
};

const struct route_table route_table_network_ranges = ROUTE_TABLE("network_ranges", routes);
