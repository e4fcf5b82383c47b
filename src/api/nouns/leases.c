#include "api/rest/standard_routes.h"

/* Leases: addresses that clients have which are not nodes, and addresses that were freed by nodes
 * or declined by clients. Read only: the DHCP server makes them. Constant tables without state. A
 * lease is found by its id or by its address; a key that is neither is not found. */

/* clang-format off */
static const struct object_view_field lease_fields[] = {
    {"id",               PROP_INT,         PROP_AT(lease.id),               0, NULL},
    {"network_range_id", PROP_REF,         PROP_AT(lease.network_range_id), 0, NULL},
    {"address",          PROP_TEXT,        PROP_AT(lease.address),          0, "null"},
    {"mac",              PROP_MAC,         PROP_AT(lease.mac),              0, "null"},
    {"state",            PROP_LEASE_STATE, PROP_AT(lease.state),            0, "\"live\""},
    {"node_id",          PROP_REF,         PROP_AT(lease.node_id),          0, NULL},
    {"ends_at",          PROP_LEASE_END,   PROP_AT(lease.left_ms),          0, NULL},
    PROP_TIMES(lease)
};
/* clang-format on */

static const struct object_view shape_lease = {
    .type = "lease", .table = TABLE_LEASE, PROP_ROWS(lease_fields)};

static int64_t lease_find(struct call *call, struct str key)
{
    const char *wrong;
    struct ip ip;
    return ip_parse(key, &ip, &wrong) ? core_address_row(call->core, TABLE_LEASE, ip) : 0;
}

const struct resource resource_leases = {
    .view = &shape_lease,
    .order = ORDER_BY_ID,
    .find = lease_find,
};

static const struct route routes[] = {
    ROUTES_READ("leases", resource_leases),
};

const struct route_table route_table_leases = ROUTE_TABLE("leases", routes);
