#include "core/network/network_private.h"

/* The index of addresses: which allocation, lease or router has an address, and which allocations
 * and leases a range has.
 *
 * An address is found by a hash of its address family and number; rows whose addresses have the
 * same hash are chained by address_entry.next. A handle is the index of the row with its kind in
 * the low two bits. An allocation and a lease never have the same address; a router may have the
 * address of an allocation, because a node can be the router.
 *
 * The cursor of a range is the distance from its first address below which no address is free,
 * so that the search for the lowest free address starts there and each used address is passed
 * once. address_freed() moves it back. Ranges that may not overlap are disjoint, so an address
 * is in one of them at most, and vars.ranges, which lists them by their first address, finds it
 * by bisection. A range that may overlap has no cursor: any number of such ranges can contain an
 * address, and a search in them is rare, because machines in their networks request their
 * addresses. */

enum { KIND_BITS = 2, TABLE_BIT = 43, RANGE_SHIFT = 44 };

_Static_assert(ADDRESS_KIND_COUNT <= 1 << KIND_BITS, "the kind must fit into a handle");
_Static_assert(ALLOCATIONS_MAX < 1u << 29, "the index of a row must fit into a handle");
_Static_assert(NETWORK_RANGES_MAX < 1u << 19, "the index of a range must fit into a key");
_Static_assert(ADDRESS_ID_MAX == INT64_C(1) << TABLE_BIT, "an id must fit into a key");

static const enum table address_tables[ADDRESS_KIND_COUNT] = {
    [ADDRESS_ALLOCATION] = TABLE_NETWORK_ALLOCATION,
    [ADDRESS_LEASE] = TABLE_LEASE,
    [ADDRESS_ROUTER] = TABLE_NETWORK_ROUTER,
};

/* The rows of the three tables begin with these fields. */
struct addressed {
    struct object o;
    struct address_entry at;
};

_Static_assert(offsetof(struct network_allocation, at) == offsetof(struct addressed, at) &&
                   offsetof(struct lease, at) == offsetof(struct addressed, at) &&
                   offsetof(struct network_router, at) == offsetof(struct addressed, at),
               "the entry of the index must follow the object");

static uint32_t address_handle(enum address_kind kind, uint32_t ix)
{
    return ix << KIND_BITS | (uint32_t)kind;
}

static enum table address_table(uint32_t handle)
{
    return address_tables[handle & ((1u << KIND_BITS) - 1)];
}

static const struct address_entry *address_entry_at(const struct core *c, uint32_t handle)
{
    const struct addressed *row =
        pool_at(&c->tables[address_table(handle)].pool, handle >> KIND_BITS);
    return &row->at;
}

static struct address_entry *address_entry_derive(struct core *c, uint32_t handle)
{
    struct addressed *row = core_derive_row(c, address_table(handle), handle >> KIND_BITS);
    return &row->at;
}

static uint64_t address_hash(struct ip ip)
{
    uint8_t bytes[17];
    for (uint32_t i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(ip.hi >> (8 * i));
        bytes[8 + i] = (uint8_t)(ip.lo >> (8 * i));
    }
    bytes[16] = (uint8_t)ip.family;
    return hash64((struct str){(const char *)bytes, sizeof bytes}, 0);
}

uint32_t address_find(const struct core *c, enum address_kind kind, struct ip ip)
{
    uint32_t handle = omap_find(&c->addresses, address_hash(ip));
    for (; handle; handle = address_entry_at(c, handle)->next)
        if (address_table(handle) == address_tables[kind] &&
            ip_cmp(address_entry_at(c, handle)->ip, ip) == 0)
            return handle >> KIND_BITS;
    return 0;
}

bool address_is_used(const struct core *c, struct ip ip)
{
    uint32_t handle = omap_find(&c->addresses, address_hash(ip));
    while (handle && ip_cmp(address_entry_at(c, handle)->ip, ip) != 0)
        handle = address_entry_at(c, handle)->next;
    return handle != 0;
}

void address_add(struct core *c, enum address_kind kind, uint32_t ix)
{
    const uint32_t handle = address_handle(kind, ix);
    struct address_entry *entry = address_entry_derive(c, handle);
    const uint64_t hash = address_hash(entry->ip);
    entry->next = omap_find(&c->addresses, hash);
    omap_put(&c->addresses, hash, handle);
}

void address_remove(struct core *c, enum address_kind kind, uint32_t ix)
{
    const uint32_t handle = address_handle(kind, ix);
    const struct address_entry entry = *address_entry_at(c, handle);
    const uint64_t hash = address_hash(entry.ip);
    uint32_t at = omap_find(&c->addresses, hash);
    must(at);
    if (at != handle) {
        while (address_entry_at(c, at)->next != handle)
            at = address_entry_at(c, at)->next;
        address_entry_derive(c, at)->next = entry.next;
    } else if (entry.next) {
        omap_put(&c->addresses, hash, entry.next);
    } else {
        omap_remove(&c->addresses, hash);
    }
}

/* ---- disjoint ranges ---- */

/* The number of ranges in vars.ranges that do not begin above the address. */
static uint32_t address_count_ranges(const struct core *c, struct ip ip)
{
    const struct vec *ranges = &c->vars.ranges;
    uint32_t low = 0, high = ranges->count;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        const network_range_ix r = {vec_at(c, ranges, mid)};
        if (ip_cmp(network_range_at(c, r)->addresses.first, ip) <= 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void address_add_range(struct core *c, network_range_ix r)
{
    const struct network_range *range = network_range_at(c, r);
    if (!range->overlap)
        vec_insert(&c->heap, &vars_edit(c)->ranges, address_count_ranges(c, range->addresses.first),
                   r.v);
}

void address_remove_range(struct core *c, network_range_ix r)
{
    const struct vec *ranges = &c->vars.ranges;
    uint32_t at = 0;
    while (at < ranges->count && vec_at(c, ranges, at) != r.v)
        at++;
    if (at < ranges->count)
        vec_remove(&c->heap, &vars_edit(c)->ranges, at);
}

network_range_ix address_find_range(const struct core *c, struct ip ip)
{
    const uint32_t count = address_count_ranges(c, ip);
    const network_range_ix r = {count ? vec_at(c, &c->vars.ranges, count - 1) : 0};
    return r.v && ip_range_has(network_range_at(c, r)->addresses, ip) ? r : (network_range_ix){0};
}

void address_freed(struct core *c, struct ip ip)
{
    const network_range_ix r = address_find_range(c, ip);
    if (!r.v)
        return;
    const struct network_range *range = network_range_at(c, r);
    const struct ip_range below = {range->addresses.first, ip};
    const uint64_t offset = ip_range_count(below) - 1;
    if (offset < range->cursor)
        network_range_derive(c, r)->cursor = offset;
}

/* ---- rows of a range ---- */

static uint64_t address_range_key(network_range_ix r, enum table table, int64_t id)
{
    return (uint64_t)r.v << RANGE_SHIFT | (uint64_t)(table == TABLE_LEASE) << TABLE_BIT |
           (uint64_t)id;
}

void address_add_to_range(struct core *c, network_range_ix r, enum table table, int64_t id,
                          uint32_t ix)
{
    struct network_range *range = network_range_derive(c, r);
    must(id > 0 && id < ADDRESS_ID_MAX);
    omap_put(&c->range_rows, address_range_key(r, table, id), ix);
    *(table == TABLE_LEASE ? &range->lease_count : &range->allocation_count) += 1;
}

void address_remove_from_range(struct core *c, network_range_ix r, enum table table, int64_t id)
{
    struct network_range *range = network_range_derive(c, r);
    must(omap_remove(&c->range_rows, address_range_key(r, table, id)));
    *(table == TABLE_LEASE ? &range->lease_count : &range->allocation_count) -= 1;
}

uint32_t address_next_in_range(const struct core *c, network_range_ix r, enum table table,
                               int64_t after)
{
    uint64_t key;
    uint32_t ix;
    if (!omap_ceil(&c->range_rows, address_range_key(r, table, after) + 1, &key, &ix) ||
        key >> TABLE_BIT != address_range_key(r, table, 0) >> TABLE_BIT)
        return 0;
    return ix;
}

/* ---- check ---- */

static const char *addresses_check_kind(const struct core *c, enum address_kind kind,
                                        uint32_t *out_count)
{
    const struct pool *rows = &c->tables[address_tables[kind]].pool;
    for (uint32_t ix = pool_next(rows, 0); ix; ix = pool_next(rows, ix), (*out_count)++) {
        const struct addressed *row = pool_at(rows, ix);
        uint32_t handle = omap_find(&c->addresses, address_hash(row->at.ip));
        while (handle && handle != address_handle(kind, ix))
            handle = address_entry_at(c, handle)->next;
        if (!handle)
            return "C16: an address is not in the index";
        if (kind == ADDRESS_ALLOCATION && address_find(c, ADDRESS_LEASE, row->at.ip))
            return "I15: an allocation and a lease have the same address";
        if (kind != ADDRESS_ROUTER && address_find(c, kind, row->at.ip) != ix)
            return "I15: two rows have the same address";
    }
    return NULL;
}

/* The number of rows in the index; more than there are rows means that a removed one is left. */
static uint32_t addresses_count_entries(const struct core *c)
{
    uint64_t key = 0;
    uint32_t handle, count = 0;
    for (bool has = omap_ceil(&c->addresses, 0, &key, &handle); has;
         has = key != UINT64_MAX && omap_ceil(&c->addresses, key + 1, &key, &handle))
        for (; handle; handle = address_entry_at(c, handle)->next)
            count++;
    return count;
}

/* The cursor is checked for the first addresses only, because a range can have 2^128 of them. */
static const char *addresses_check_range(const struct core *c, network_range_ix r)
{
    enum { CHECKED_MAX = 256 };
    const struct network_range *range = network_range_at(c, r);
    struct ip ip;
    uint32_t count[2] = {0};
    for (uint64_t i = 0; i < range->cursor && i < CHECKED_MAX; i++)
        if (ip_add(range->addresses.first, i, &ip) && ip_range_has(range->addresses, ip) &&
            !address_is_used(c, ip))
            return "C16: a free address is below the cursor of its range";
    for (uint32_t t = 0; t < 2; t++) {
        const enum table table = t ? TABLE_LEASE : TABLE_NETWORK_ALLOCATION;
        int64_t id = 0;
        for (uint32_t ix; (ix = address_next_in_range(c, r, table, id)); count[t]++) {
            const network_range_ix own =
                t ? lease_at(c, (lease_ix){ix})->range
                  : network_allocation_at(c, (network_allocation_ix){ix})->range;
            id = ((const struct object *)pool_at(&c->tables[table].pool, ix))->id;
            if (own.v != r.v)
                return "C16: a range lists an address of another range";
        }
    }
    return count[0] == range->allocation_count && count[1] == range->lease_count
               ? NULL
               : "C16: the counts of a range are wrong";
}

/* Ranges without `overlap` are listed in their order and have no address in common. */
static const char *addresses_check_disjoint(const struct core *c)
{
    const struct pool *rows = &c->tables[TABLE_NETWORK_RANGE].pool;
    const struct vec *listed = &c->vars.ranges;
    uint32_t disjoint = 0;
    for (uint32_t ix = pool_next(rows, 0); ix; ix = pool_next(rows, ix)) {
        const struct network_range *range = network_range_at(c, (network_range_ix){ix});
        disjoint += !range->overlap;
        if (range->overlap && range->cursor)
            return "C16: a range that may overlap has a cursor";
    }
    for (uint32_t i = 0; i < listed->count; i++) {
        const network_range_ix r = {vec_at(c, listed, i)};
        if (!pool_is_live(rows, r.v) || network_range_at(c, r)->overlap)
            return "C16: the list of disjoint ranges has another row";
        const network_range_ix next = {i + 1 < listed->count ? vec_at(c, listed, i + 1) : 0};
        if (next.v && ip_cmp(network_range_at(c, r)->addresses.last,
                             network_range_at(c, next)->addresses.first) >= 0)
            return "C15: two ranges have addresses in common";
    }
    return listed->count == disjoint ? NULL : "C16: a range is not in the list of disjoint ranges";
}

const char *addresses_check(const struct core *c)
{
    uint32_t rows = 0, listed = 0;
    const char *what = omap_check(&c->addresses) && omap_check(&c->range_rows)
                           ? NULL
                           : "C16: the index of addresses is broken";
    if (!what)
        what = addresses_check_disjoint(c);
    for (uint32_t kind = 0; kind < ADDRESS_KIND_COUNT && !what; kind++)
        what = addresses_check_kind(c, (enum address_kind)kind, &rows);
    const struct pool *ranges = &c->tables[TABLE_NETWORK_RANGE].pool;
    for (uint32_t ix = pool_next(ranges, 0); ix && !what; ix = pool_next(ranges, ix)) {
        const struct network_range *range = network_range_at(c, (network_range_ix){ix});
        what = addresses_check_range(c, (network_range_ix){ix});
        listed += range->allocation_count + range->lease_count;
    }
    if (!what && rows != addresses_count_entries(c))
        what = "C12: the index has an address that no row has";
    if (!what && listed != c->range_rows.count)
        what = "C16: an address belongs to a range that does not exist";
    if (!what &&
        listed != c->tables[TABLE_NETWORK_ALLOCATION].pool.live + c->tables[TABLE_LEASE].pool.live)
        what = "C16: an address is not listed by its range";
    return what;
}
