#include "api/rest/standard_routes.h"

/* Filters that give DNS names to the addresses of nodes, and the names that result. Constant
 * tables without state; a change of a filter is one command, and a problem before it changes
 * nothing. Names follow the filters by themselves, so they are read only and appear some time
 * after the reply to a change. A filter whose has_service is false gives no names, because no
 * noderole lists its DNS service. An entry is found by its id only, because several may have one
 * name and there can be millions: a list with a filter finds them in steps. */

/* clang-format off */
static const struct object_view_field filter_fields[] = {
    {"id",       PROP_INT,    PROP_AT(dns_name_filter.id),       0, NULL},
    {"name",     PROP_TEXT,   PROP_AT(dns_name_filter.name),     0, "\"default\""},
    {"matcher",  PROP_TEXT,   PROP_AT(dns_name_filter.matcher),  0,
     "\"net.category == \\\"admin\\\"\""},
    {"priority", PROP_UINT32, PROP_AT(dns_name_filter.priority), 0, "50"},
    {"service",  PROP_TEXT,   PROP_AT(dns_name_filter.service),  0, "\"system\""},
    {"template", PROP_TEXT,   PROP_AT(dns_name_filter.template), 0, "\"{{node.name}}\""},
    PROP_TIMES(dns_name_filter)
    {"has_service", PROP_FILTER_HAS_SERVICE, PROP_AT(dns_name_filter.id), 0, NULL},
    {"deleting", PROP_BOOL,   PROP_AT(dns_name_filter.deleting), 0, "false"},
};

static const struct object_view_field entry_fields[] = {
    {"id",                    PROP_INT,  PROP_AT(dns_name_entry.id),                    0, NULL},
    {"network_allocation_id", PROP_REF,  PROP_AT(dns_name_entry.network_allocation_id), 0, NULL},
    {"dns_name_filter_id",    PROP_REF,  PROP_AT(dns_name_entry.dns_name_filter_id),    0, NULL},
    {"name",                  PROP_TEXT, PROP_AT(dns_name_entry.name),                  0, "null"},
    {"rr_type", PROP_RR_TYPE, PROP_AT(dns_name_entry.network_allocation_id),            0, "\"A\""},
    {"address", PROP_ENTRY_ADDRESS, PROP_AT(dns_name_entry.network_allocation_id),      0, "null"},
    {"node_id", PROP_ENTRY_NODE, PROP_AT(dns_name_entry.network_allocation_id),         0, NULL},
};

/* The parameters of both commands; a new filter needs all of them. */
#define FILTER_RULES(command, needed)                                                              \
    {.name = "name", .kind = PARAM_TEXT, .at = COMMAND_AT(command.name),                           \
     .given = GIVEN_FILTER_NAME, .is_required = needed},                                           \
    {.name = "matcher", .kind = PARAM_TEXT, .at = COMMAND_AT(command.matcher),                     \
     .given = GIVEN_FILTER_MATCHER, .is_required = needed},                                        \
    {.name = "priority", .kind = PARAM_UINT32, .at = COMMAND_AT(command.priority),                 \
     .given = GIVEN_FILTER_PRIORITY, .is_required = needed},                                       \
    {.name = "service", .kind = PARAM_TEXT, .at = COMMAND_AT(command.service),                     \
     .given = GIVEN_FILTER_SERVICE, .is_required = needed},                                        \
    {.name = "template", .kind = PARAM_TEXT, .at = COMMAND_AT(command.template),                   \
     .given = GIVEN_FILTER_TEMPLATE, .is_required = needed}

static const struct param_rule create_rules[] = {FILTER_RULES(dns_name_filter_create, true)};
static const struct param_rule update_rules[] = {FILTER_RULES(dns_name_filter_update, false)};
/* clang-format on */

static const struct object_view shape_dns_name_filter = {.type = "dns_name_filter",
                                                         .table = TABLE_DNS_NAME_FILTER,
                                                         PROP_ROWS(filter_fields),
                                                         .extras = 2};
static const struct object_view shape_dns_name_entry = {
    .type = "dns_name_entry", .table = TABLE_DNS_NAME_ENTRY, PROP_ROWS(entry_fields), .extras = 2};

static void filter_check_create(struct call *call, struct command *command)
{
    resource_refuse_reserved(call, command->dns_name_filter_create.name);
}

static void filter_check_update(struct call *call, struct command *command)
{
    resource_refuse_reserved(call, command->dns_name_filter_update.name);
}

static const struct params_schema create = {.kind = COMMAND_DNS_NAME_FILTER_CREATE,
                                            PARAM_RULES(create_rules),
                                            GIVEN_MASK_AT(dns_name_filter_create),
                                            .check = filter_check_create};
static const struct params_schema update = {.kind = COMMAND_DNS_NAME_FILTER_UPDATE,
                                            PARAM_RULES(update_rules),
                                            GIVEN_MASK_AT(dns_name_filter_update),
                                            .check = filter_check_update};

const struct resource resource_dns_name_filters = {
    .view = &shape_dns_name_filter,
    .sorted_by = "priority",
    .create = &create,
    .update = &update,
};

static int64_t entry_find(struct call *call, struct str name)
{
    call_refuse(call, PROBLEM_NOT_FOUND, STR("id"),
                STR_CONCAT(call->arena, STR("an entry is found by its id; dns_name_entries?name="),
                           name, STR(" lists the entries of a name")));
    return 0;
}

const struct resource resource_dns_name_entries = {
    .view = &shape_dns_name_entry,
    .order = ORDER_BY_ID,
    .find = entry_find,
};

static const struct route filter_routes[] = {
    ROUTES_READ("dns_name_filters", resource_dns_name_filters),
    ROUTES_EDIT("dns_name_filters", resource_dns_name_filters),
    ROUTES_MAKE("dns_name_filters", resource_dns_name_filters, COMMAND_DNS_NAME_FILTER_DELETE),
};

static const struct route entry_routes[] = {
    ROUTES_READ("dns_name_entries", resource_dns_name_entries),
};

const struct route_table route_table_dns_name_filters =
    ROUTE_TABLE("dns_name_filters", filter_routes);
const struct route_table route_table_dns_name_entries =
    ROUTE_TABLE("dns_name_entries", entry_routes);
