#include "api/call/reply.h"
#include "api/nouns/node_boot.h"
#include "api/rest/standard_routes.h"

/* DHCP clients: what a DHCP server is configured with for each machine, as OpenCrowbar's
 * `crowbar.dhcp.clients`. An entry is computed from the boot view (docs/spec/boot.md) and belongs
 * to its node: it has the id and the name of the node, and no row of its own. Constant tables
 * without state.
 *
 * Failure: a node that is not in the boot view, or that has no MAC or no address there, has no
 * entry: lists leave it out, and the reply to a request for it is 404 with the reason. */

/* clang-format off */
static const struct object_view_field dhcp_fields[] = {
    {"node",          PROP_TEXT,         PROP_AT(node.name),            0, "null"},
    {"node_id",       PROP_INT,          PROP_AT(node.id),              0, NULL},
    {"mac_addresses", PROP_BOOT_MACS,    PROP_AT(node.id),              0, "[]"},
    {"v4addr",        PROP_BOOT_ADDRESS, PROP_AT(node.id),              0, "null"},
    {"bootenv",       PROP_TEXT,         PROP_AT(node.bootenv),         0, "\"sledgehammer\""},
    {"generation",    PROP_INT,          PROP_AT(node.boot_generation), 0, "0"},
};
/* clang-format on */

static const struct object_view shape_dhcp = {
    .type = "dhcp", .table = TABLE_NODE, PROP_ROWS(dhcp_fields)};

const struct resource resource_dhcp = {.view = &shape_dhcp, .order = ORDER_BY_ID};

/* Why the node has no entry; empty if it has one. */
static struct str dhcp_missing(struct call *call, int64_t node_id)
{
    struct boot_entry entry;
    struct str why;
    if (!node_boot_entry(call, node_id, &entry, &why))
        return why;
    if (!entry.machine.mac_count)
        return STR("none of its MACs is known");
    if (!entry.machine.address_count)
        return STR("it has no IPv4 address in a network of the category admin, and the hint "
                   "admin-v4addr has none");
    return STR("");
}

static bool dhcp_accepts(const struct list_scope *scope, struct call *call,
                         const struct record *record)
{
    (void)scope;
    return dhcp_missing(call, record->id).len == 0;
}

static enum handler_result serve_dhcp_list(struct call *call)
{
    return reply_list_of(call,
                         &(struct list_scope){.resource = &resource_dhcp, .accepts = dhcp_accepts});
}

static enum handler_result serve_dhcp_show(struct call *call)
{
    struct record node;
    if (!resource_find(call, &resource_nodes, call->keys[0], &node))
        return SERVED_REPLY;
    const struct str missing = dhcp_missing(call, node.id);
    if (missing.len)
        call_refuse(call, PROBLEM_NOT_FOUND, STR("id"),
                    STR_CONCAT(call->arena, node.node.name, STR(" has no DHCP entry: "), missing));
    else
        reply_record(call, &shape_dhcp, &node);
    return SERVED_REPLY;
}

static const struct route routes[] = {
    {.method = HTTP_GET,
     .pattern = V "dhcp",
     .serve = serve_dhcp_list,
     .resource = &resource_dhcp,
     .form = REPLY_LIST,
     .does = "list the DHCP clients: the managed nodes with a MAC and an IPv4 address"},
    {.method = HTTP_GET,
     .pattern = V "dhcp/:id",
     .serve = serve_dhcp_show,
     .resource = &resource_dhcp,
     .within = &resource_nodes,
     .access = ROUTE_AUTH_OR_NODE,
     .does = "the DHCP client of the node"},
};

const struct route_table route_table_dhcp = ROUTE_TABLE("dhcp", routes);
