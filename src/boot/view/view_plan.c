/* view_plan.c - the plan of addresses: networks, ranges and routers of IPv4 as sorted arrays.
 *
 * The arrays are built anew when one of these entries changed, which is rare; names are copied, so
 * that the plan does not refer to entries. Ranges may overlap. An array that is sorted by the first
 * address is searched from the last item that begins at or before the address back to the first
 * one, and the search ends where `reach` shows that no earlier item ends at or after it. */
#include "boot/view/view.h"

#include "base/containers/sort.h"
#include "base/net/ip.h"

/* ---- build ---- */

static bool plan_parse_v4(struct str text, struct ip *out_ip)
{
    const char *wrong;
    return ip_parse(text, out_ip, &wrong) && out_ip->family == IP_V4;
}

static void plan_read_networks(struct view *v)
{
    struct boot_entry entry;
    v->networks = arena_array(&v->plan, struct view_network, v->entries[BOOT_NETWORK].count + 1u);
    for (int64_t id = 0; (id = view_next_id(v, BOOT_NETWORK, id));) {
        must(view_get(v, (struct boot_key){BOOT_NETWORK, id}, &v->plan, &entry));
        v->networks[v->network_count++] = (struct view_network){
            .id = id,
            .name = str_copy(&v->plan, entry.network.name),
            .category = str_copy(&v->plan, entry.network.category),
            .is_admin = str_eq(entry.network.category, STR("admin")),
        };
    }
}

static int plan_cmp_ranges(const void *a, const void *b)
{
    const struct view_range *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static void plan_read_ranges(struct view *v)
{
    struct boot_entry entry;
    struct ip first, last;
    v->ranges = arena_array(&v->plan, struct view_range, v->entries[BOOT_RANGE].count + 1u);
    for (int64_t id = 0; (id = view_next_id(v, BOOT_RANGE, id));) {
        must(view_get(v, (struct boot_key){BOOT_RANGE, id}, &v->plan, &entry));
        if (!plan_parse_v4(entry.range.first, &first) || !plan_parse_v4(entry.range.last, &last) ||
            first.lo > last.lo)
            continue;
        const struct view_network *network = view_network(v, entry.range.network);
        v->ranges[v->range_count++] = (struct view_range){
            .id = id,
            .network = entry.range.network,
            .first = (uint32_t)first.lo,
            .last = (uint32_t)last.lo,
            .prefix = first.prefix,
            .is_pool = str_eq_nocase(entry.range.name, STR("dhcp")),
            .is_admin = network && network->is_admin,
            .overlap = entry.range.overlap,
            .name = str_copy(&v->plan, entry.range.name),
        };
    }
    sort_items(v->ranges, v->range_count, sizeof *v->ranges, plan_cmp_ranges, &v->plan);
    uint32_t reach = 0;
    for (uint32_t i = 0; i < v->range_count; i++) {
        if (v->ranges[i].last > reach)
            reach = v->ranges[i].last;
        v->ranges[i].reach = reach;
    }
}

static int plan_cmp_subnets(const void *a, const void *b)
{
    const struct view_subnet *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->range > y->range) - (x->range < y->range);
}

static void plan_make_subnets(struct view *v)
{
    v->subnets = arena_array(&v->plan, struct view_subnet, v->range_count + 1u);
    for (uint32_t i = 0; i < v->range_count; i++) {
        if (!v->ranges[i].is_admin)
            continue;
        const struct ip ip = {
            .lo = v->ranges[i].first, .family = IP_V4, .prefix = v->ranges[i].prefix};
        v->subnets[v->subnet_count++] =
            (struct view_subnet){.first = (uint32_t)ip_subnet(ip).lo,
                                 .last = (uint32_t)ip_subnet_last(ip).lo,
                                 .range = i};
    }
    sort_items(v->subnets, v->subnet_count, sizeof *v->subnets, plan_cmp_subnets, &v->plan);
    uint32_t reach = 0;
    for (uint32_t i = 0; i < v->subnet_count; i++) {
        if (v->subnets[i].last > reach)
            reach = v->subnets[i].last;
        v->subnets[i].reach = reach;
    }
}

static int plan_cmp_routers(const void *a, const void *b)
{
    const struct view_router *x = a, *y = b;
    if (x->network != y->network)
        return x->network < y->network ? -1 : 1;
    if (x->pref != y->pref)
        return x->pref < y->pref ? -1 : 1;
    return (x->address > y->address) - (x->address < y->address);
}

static int plan_cmp_words(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void plan_read_routers(struct view *v)
{
    const uint32_t count = v->entries[BOOT_ROUTER].count + 1u;
    struct boot_entry entry;
    struct ip ip;
    v->routers = arena_array(&v->plan, struct view_router, count);
    v->router_addresses = arena_array(&v->plan, uint32_t, count);
    for (int64_t id = 0; (id = view_next_id(v, BOOT_ROUTER, id));) {
        must(view_get(v, (struct boot_key){BOOT_ROUTER, id}, &v->plan, &entry));
        if (!plan_parse_v4(entry.router.address, &ip))
            continue;
        v->router_addresses[v->router_count] = (uint32_t)ip.lo;
        v->routers[v->router_count++] =
            (struct view_router){entry.router.network, (uint32_t)ip.lo, entry.router.pref};
    }
    sort_items(v->routers, v->router_count, sizeof *v->routers, plan_cmp_routers, &v->plan);
    sort_items(v->router_addresses, v->router_count, sizeof *v->router_addresses, plan_cmp_words,
               &v->plan);
}

void view_refresh(struct view *v)
{
    if (!v->plan_is_stale)
        return;
    arena_reset(&v->plan);
    v->network_count = v->range_count = v->subnet_count = v->router_count = 0;
    plan_read_networks(v);
    plan_read_ranges(v);
    plan_make_subnets(v);
    plan_read_routers(v);
    v->plan_is_stale = false;
}

/* ---- lookups ---- */

const struct view_network *view_network(const struct view *v, int64_t id)
{
    uint32_t from = 0, to = v->network_count;
    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        if (v->networks[middle].id < id)
            from = middle + 1;
        else
            to = middle;
    }
    return from < v->network_count && v->networks[from].id == id ? &v->networks[from] : NULL;
}

const struct view_range *view_range_of_address(const struct view *v, uint32_t address)
{
    const struct view_range *best = NULL;
    uint32_t from = 0, to = v->range_count;
    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        if (v->ranges[middle].first <= address)
            from = middle + 1;
        else
            to = middle;
    }
    while (from > 0 && v->ranges[from - 1].reach >= address) {
        const struct view_range *range = &v->ranges[--from];
        if (range->is_admin && range->last >= address &&
            (!best || best->overlap || !range->overlap))
            best = range;
    }
    return best;
}

const struct view_range *view_range_of_subnet(const struct view *v, uint32_t address)
{
    const struct view_range *best = NULL;
    uint32_t from = 0, to = v->subnet_count;
    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        if (v->subnets[middle].first <= address)
            from = middle + 1;
        else
            to = middle;
    }
    while (from > 0 && v->subnets[from - 1].reach >= address) {
        const struct view_subnet *subnet = &v->subnets[--from];
        const struct view_range *range = &v->ranges[subnet->range];
        if (subnet->last >= address && (!best || range < best))
            best = range;
    }
    return best;
}

const struct view_router *view_router(const struct view *v, int64_t network)
{
    uint32_t from = 0, to = v->router_count;
    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        if (v->routers[middle].network < network)
            from = middle + 1;
        else
            to = middle;
    }
    return from < v->router_count && v->routers[from].network == network ? &v->routers[from] : NULL;
}

bool view_is_router(const struct view *v, uint32_t address)
{
    uint32_t from = 0, to = v->router_count;
    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        if (v->router_addresses[middle] < address)
            from = middle + 1;
        else
            to = middle;
    }
    return from < v->router_count && v->router_addresses[from] == address;
}
