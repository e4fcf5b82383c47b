#include "boot/dhcp/dhcp_private.h"

#include "model/network_record.h"

/* The choice of an address for a machine without one. The order is: the outstanding offer, the
 * address that the machine had, the one that it asks for, and then the addresses of all pools of
 * the segment, one after the other, from a place that is a hash of the MAC, so that a machine that
 * nothing is remembered of gets the same address again. Addresses that were declined or freed, and
 * have rested, are taken only if there is no other.
 *
 * The number of addresses that are examined is bounded. After half of them the step between
 * addresses is a large odd number, so that a long run of used addresses is left behind. */

struct pools {
    const struct view_range *ranges[DHCP_ADDRESSES_MAX];
    uint32_t count;
    uint64_t size; /* addresses in all of them */
};

static bool dhcp_is_open_pool(const struct dhcp_work *w, const struct view_range *range)
{
    return range->is_pool && range->is_admin &&
           dhcp_link_has(&w->link, range->first, range->prefix) &&
           dhcp_is_eligible(w, range->network);
}

/* Pools beyond the size of the array are not used. */
static void dhcp_list_pools(const struct dhcp_work *w, struct pools *out)
{
    *out = (struct pools){0};
    for (uint32_t i = 0; i < w->v->range_count && out->count < DHCP_ADDRESSES_MAX; i++) {
        const struct view_range *range = &w->v->ranges[i];
        if (!dhcp_is_open_pool(w, range))
            continue;
        out->ranges[out->count++] = range;
        out->size += (uint64_t)range->last - range->first + 1;
    }
}

static bool dhcp_in_range(const struct view_range *range, uint32_t address)
{
    return address >= range->first && address <= range->last;
}

static const struct view_range *dhcp_find_pool(const struct pools *pools, uint32_t address)
{
    for (uint32_t i = 0; i < pools->count; i++)
        if (dhcp_in_range(pools->ranges[i], address))
            return pools->ranges[i];
    return NULL;
}

/* The first and the last address of a subnet belong to no machine. */
static bool dhcp_is_host_address(const struct view_range *range, uint32_t address)
{
    const uint32_t host = address & ~dhcp_netmask(range->prefix);
    return range->prefix >= 31 || (host != 0 && host != ~dhcp_netmask(range->prefix));
}

/* The lease table permits it: no row, or the live lease of the client; rows that have rested only
 * if `may_rest`. */
static bool dhcp_lease_permits(const struct dhcp_work *w, uint32_t address, bool may_rest)
{
    struct view_lease lease;
    if (!view_lease_of_address(w->v, address, &lease))
        return true;
    if (lease.state == LEASE_LIVE)
        return lease.mac == w->mac;
    return may_rest && lease.ends_ms <= w->now_ms;
}

static bool dhcp_is_free(const struct dhcp_work *w, const struct view_range *range,
                         uint32_t address, bool may_rest)
{
    const struct dhcp_entry *offer = dhcp_table_find(&w->d->offered_addresses, address, w->now_ms);
    const struct dhcp_entry *probe = dhcp_table_find(&w->d->probes, address, w->now_ms);
    return dhcp_is_host_address(range, address) && (!offer || offer->value == w->mac) &&
           (!probe || probe->value != PROBE_CONFLICT) && !view_machine_of_address(w->v, address) &&
           !view_is_router(w->v, address) && !dhcp_is_own_address(w->d, address) &&
           dhcp_lease_permits(w, address, may_rest);
}

static void dhcp_bind(const struct dhcp_work *w, const struct view_range *range, uint32_t address,
                      struct dhcp_binding *out)
{
    *out = (struct dhcp_binding){.address = address,
                                 .prefix = range->prefix,
                                 .network = range->network,
                                 .range = range->id,
                                 .lease_s = w->v->settings.pool_lease_s};
}

static bool dhcp_try(const struct dhcp_work *w, const struct pools *pools, uint32_t address,
                     bool may_rest, struct dhcp_binding *out)
{
    const struct view_range *range = address ? dhcp_find_pool(pools, address) : NULL;
    if (!range || !dhcp_is_free(w, range, address, may_rest))
        return false;
    dhcp_bind(w, range, address, out);
    return true;
}

bool dhcp_is_candidate(const struct dhcp_work *w, uint32_t address, struct dhcp_binding *out)
{
    struct pools pools;
    dhcp_list_pools(w, &pools);
    return dhcp_try(w, &pools, address, true, out);
}

/* The address at a position in all pools. */
static uint32_t dhcp_address_at(const struct pools *pools, uint64_t position,
                                const struct view_range **out_range)
{
    for (uint32_t i = 0; i < pools->count; i++) {
        const struct view_range *range = pools->ranges[i];
        const uint64_t size = (uint64_t)range->last - range->first + 1;
        if (position < size) {
            *out_range = range;
            return range->first + (uint32_t)position;
        }
        position -= size;
    }
    return 0;
}

static uint64_t dhcp_hash_mac(uint64_t mac)
{
    uint64_t hash = (mac ^ mac >> 23) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return hash ^ hash >> 32;
}

static bool dhcp_scan(const struct dhcp_work *w, const struct pools *pools, bool may_rest,
                      struct dhcp_binding *out)
{
    enum { LARGE_STEP = 10007 };
    uint64_t position = pools->size ? dhcp_hash_mac(w->mac) % pools->size : 0;
    for (uint32_t i = 0; i < CANDIDATES_MAX && i < pools->size; i++) {
        const struct view_range *range = NULL;
        const uint32_t address = dhcp_address_at(pools, position, &range);
        if (range && dhcp_is_free(w, range, address, may_rest)) {
            dhcp_bind(w, range, address, out);
            return true;
        }
        const bool is_long = pools->size > CANDIDATES_MAX && i >= CANDIDATES_MAX / 2;
        position = (position + (is_long ? LARGE_STEP : 1)) % pools->size;
    }
    return false;
}

bool dhcp_pick_candidate(const struct dhcp_work *w, struct dhcp_binding *out)
{
    struct pools pools;
    dhcp_list_pools(w, &pools);
    const struct dhcp_entry *former = dhcp_table_find(&w->d->former, w->mac, w->now_ms);
    const uint32_t wanted = dhcp_get_number(&w->m, DHCP_OPTION_REQUESTED_ADDRESS);
    return dhcp_try(w, &pools, dhcp_offered_address(w), true, out) ||
           dhcp_try(w, &pools, former ? (uint32_t)former->value : 0, false, out) ||
           dhcp_try(w, &pools, wanted, false, out) || dhcp_scan(w, &pools, false, out) ||
           dhcp_scan(w, &pools, true, out);
}
