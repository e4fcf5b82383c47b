#include "core/network/network_private.h"

/* Read queries about networks, ranges, addresses, names and interfaces, for the API and other
 * readers of the core. The file owns nothing and changes nothing, and no function depends on
 * another one having been called. An id that does not exist is no failure: the result is empty or
 * 0. */

int64_t network_range_find_id(const struct core *c, struct str name)
{
    /* Names of networks and ranges have no dot. */
    const uint32_t dot = str_find(name, '.', 0);
    uint32_t found = 0;
    if (dot < name.len) {
        const network_ix w = {name_find(c, TABLE_NETWORK, str_slice(name, 0, dot))};
        found = w.v ? network_range_find(c, w, str_slice(name, dot + 1, name.len)).v : 0;
    } else {
        const struct pool *networks = &c->tables[TABLE_NETWORK].pool;
        for (uint32_t ix = pool_next(networks, 0); ix; ix = pool_next(networks, ix)) {
            const network_range_ix r = network_range_find(c, (network_ix){ix}, name);
            if (r.v && found)
                return 0;
            found = r.v ? r.v : found;
        }
    }
    return found ? network_range_at(c, (network_range_ix){found})->o.id : 0;
}

/* ---- lists ---- */

static int64_t *network_ids(const struct core *c, enum table table, const struct vec *rows,
                            struct arena *a, uint32_t *out_count)
{
    const uint32_t count = rows ? rows->count : 0;
    int64_t *ids = arena_array(a, int64_t, count + (size_t)1);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = ((const struct object *)pool_at(&c->tables[table].pool, vec_at(c, rows, i)))->id;
    *out_count = count;
    return ids;
}

int64_t *core_ranges_of(const struct core *c, int64_t network_id, struct arena *a,
                        uint32_t *out_count)
{
    const network_ix w = network_by_id(c, network_id);
    return network_ids(c, TABLE_NETWORK_RANGE, w.v ? &network_at(c, w)->ranges : NULL, a,
                       out_count);
}

int64_t *core_nics_of(const struct core *c, int64_t node_id, struct arena *a, uint32_t *out_count)
{
    const node_ix n = node_by_id(c, node_id);
    return network_ids(c, TABLE_NIC, n.v ? &node_at(c, n)->nics : NULL, a, out_count);
}

/* Appends the ids of the allocations of a range; `ids` has room for them. */
static uint32_t network_put_range_ids(const struct core *c, network_range_ix r, int64_t *ids)
{
    uint32_t count = 0;
    int64_t id = 0;
    for (uint32_t ix; (ix = address_next_in_range(c, r, TABLE_NETWORK_ALLOCATION, id));) {
        id = network_allocation_at(c, (network_allocation_ix){ix})->o.id;
        ids[count++] = id;
    }
    return count;
}

int64_t *core_allocations_of(const struct core *c, enum table owner, int64_t owner_id,
                             struct arena *a, uint32_t *out_count)
{
    if (owner == TABLE_NODE) {
        const node_ix n = node_by_id(c, owner_id);
        return network_ids(c, TABLE_NETWORK_ALLOCATION, n.v ? &node_at(c, n)->allocations : NULL, a,
                           out_count);
    }
    const network_range_ix only =
        network_range_by_id(c, owner == TABLE_NETWORK_RANGE ? owner_id : 0);
    const network_ix w = network_by_id(c, owner == TABLE_NETWORK ? owner_id : 0);
    const struct vec *ranges = w.v ? &network_at(c, w)->ranges : NULL;
    size_t total = only.v ? network_range_at(c, only)->allocation_count : 0;
    for (uint32_t i = 0; ranges && i < ranges->count; i++)
        total += network_range_at(c, (network_range_ix){vec_at(c, ranges, i)})->allocation_count;
    int64_t *ids = arena_array(a, int64_t, total + 1);
    uint32_t count = only.v ? network_put_range_ids(c, only, ids) : 0;
    for (uint32_t i = 0; ranges && i < ranges->count; i++)
        count += network_put_range_ids(c, (network_range_ix){vec_at(c, ranges, i)}, ids + count);
    *out_count = count;
    return ids;
}

int64_t core_router_of(const struct core *c, int64_t network_id)
{
    const network_ix w = network_by_id(c, network_id);
    const network_router_ix r = w.v ? network_at(c, w)->router : (network_router_ix){0};
    return r.v ? network_router_at(c, r)->o.id : 0;
}

/* ---- by address ---- */

int64_t core_address_row(const struct core *c, enum table table, struct ip ip)
{
    must(table == TABLE_NETWORK_ALLOCATION || table == TABLE_LEASE ||
         table == TABLE_NETWORK_ROUTER);
    const enum address_kind kind = table == TABLE_NETWORK_ALLOCATION ? ADDRESS_ALLOCATION
                                   : table == TABLE_LEASE            ? ADDRESS_LEASE
                                                                     : ADDRESS_ROUTER;
    const uint32_t ix = address_find(c, kind, ip);
    return ix ? ((const struct object *)pool_at(&c->tables[table].pool, ix))->id : 0;
}

int64_t core_nic_of_mac(const struct core *c, uint64_t mac)
{
    const nic_ix n = {omap_find(&c->macs, mac)};
    return n.v ? nic_at(c, n)->o.id : 0;
}

int64_t core_network_of_address(const struct core *c, struct ip ip, struct str category)
{
    const struct pool *ranges = &c->tables[TABLE_NETWORK_RANGE].pool;
    int64_t exact = 0, overlapping = 0;
    for (uint32_t ix = pool_next(ranges, 0); ix; ix = pool_next(ranges, ix)) {
        const struct network_range *range = network_range_at(c, (network_range_ix){ix});
        const struct network *network = network_at(c, range->network);
        int64_t *found = range->overlap ? &overlapping : &exact;
        if (ip_range_has(range->addresses, ip) &&
            (!category.len || str_eq(text_of(c, network->category), category)) &&
            (!*found || network->o.id < *found))
            *found = network->o.id;
    }
    return exact ? exact : overlapping;
}

uint32_t core_auto_ranges(const struct core *c, int64_t network_id, int64_t node_id,
                          int64_t out_ids[AUTO_RANGES_MAX])
{
    const network_ix w = network_by_id(c, network_id);
    const node_ix n = node_by_id(c, node_id);
    uint32_t count = 0;
    if (!w.v || !n.v)
        return 0;
    const network_range_ix found[AUTO_RANGES_MAX] = {allocation_default_range(c, w, n),
                                                     network_range_find(c, w, STR("host-v6"))};
    for (uint32_t i = 0; i < AUTO_RANGES_MAX; i++)
        if (found[i].v)
            out_ids[count++] = network_range_at(c, found[i])->o.id;
    return count;
}

/* ---- values ---- */

void core_range_inherit(const struct core *c, struct network_range_record *range)
{
    const network_range_ix r = network_range_by_id(c, range->id);
    if (!r.v)
        return;
    const struct interface_settings s = network_range_interface(c, r);
    range->conduit = s.conduit;
    range->vlan = s.vlan;
    range->use_vlan = s.use_vlan;
    range->use_bridge = s.use_bridge;
    range->team_mode = s.team_mode;
    range->use_team = s.use_team;
}

bool core_range_usage(const struct core *c, int64_t range_id, struct range_usage *out)
{
    const network_range_ix r = network_range_by_id(c, range_id);
    if (!r.v)
        return false;
    const struct network_range *range = network_range_at(c, r);
    *out = (struct range_usage){.size = ip_range_count(range->addresses),
                                .allocated = range->allocation_count,
                                .leased = range->live_count,
                                .resting = range->lease_count - range->live_count};
    const struct pool *routers = &c->tables[TABLE_NETWORK_ROUTER].pool;
    for (uint32_t ix = pool_next(routers, 0); ix; ix = pool_next(routers, ix)) {
        const struct ip ip = network_router_at(c, (network_router_ix){ix})->at.ip;
        /* Of several routers with one address the index finds one, which is counted. */
        out->routers +=
            ip_range_has(range->addresses, ip) && address_find(c, ADDRESS_ROUTER, ip) == ix &&
            !address_find(c, ADDRESS_ALLOCATION, ip) && !address_find(c, ADDRESS_LEASE, ip);
    }
    const uint64_t used = out->allocated + out->leased + out->resting + out->routers;
    out->free = out->size == UINT64_MAX ? UINT64_MAX : out->size - used;
    return true;
}

int64_t core_lease_end(const struct core *c, int64_t lease_id)
{
    const lease_ix l = lease_by_id(c, lease_id);
    return l.v ? c->now_ms + lease_at(c, l)->deadline - c->mono_ms : 0;
}

/* ---- DNS names ---- */

int64_t *core_dns_name_entries_of(const struct core *c, int64_t allocation_id, struct arena *a,
                                  uint32_t *out_count)
{
    const network_allocation_ix allocation = network_allocation_by_id(c, allocation_id);
    int64_t *ids = arena_array(a, int64_t, c->vars.name_filters.count + 1);
    uint32_t count = 0;
    dns_name_entry_ix e =
        allocation.v ? network_allocation_at(c, allocation)->names : (dns_name_entry_ix){0};
    for (; e.v; e = dns_name_entry_at(c, e)->next)
        ids[count++] = dns_name_entry_at(c, e)->o.id;
    *out_count = count;
    return ids;
}

struct str core_dns_name_entry_type(const struct core *c, int64_t entry_id)
{
    const dns_name_entry_ix e = dns_name_entry_by_id(c, entry_id);
    if (!e.v)
        return STR("");
    const network_allocation_ix a = dns_name_entry_at(c, e)->allocation;
    return network_allocation_at(c, a)->at.ip.family == IP_V6 ? STR("AAAA") : STR("A");
}
