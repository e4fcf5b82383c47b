#include "core/network/network_private.h"

#include "base/hash/md5.h"
#include "base/json/json.h"

/* The allocator: addresses of nodes (docs/spec/networks.md, Allocation).
 *
 * This file owns the allocation rows. Candidates are tried in this order: the address that was
 * requested or hinted; for IPv6 an address made of the name of the node; the address whose host
 * part equals that of the node in the admin network of the same group; the lowest free address of
 * the range; at last an address that was freed or declined longer than REST_MS ago. Addresses are
 * normalized to the prefix length of the range before they are compared, so the same address is not
 * allocated twice with two masks.
 *
 * A node has at most one allocation in a range: a second request returns the first one.
 *
 * Failure: a full range is refused, and so is a requested address that is not available. A
 * suggestion that is not available is skipped. */

/* ---- which addresses are available ---- */

bool network_is_admin_address(const struct core *c, struct ip ip, node_ix n)
{
    struct arena scratch = {0};
    bool is_found = false;
    for (uint32_t i = 0; i < c->vars.admins.count && !is_found; i++) {
        const node_ix admin = {vec_at(c, &c->vars.admins, i)};
        if (admin.v == n.v || !node_at(c, admin)->hint)
            continue;
        const struct json *hint = doc_tree(&scratch, doc_of(c, node_at(c, admin)->hint));
        for (const struct json *member = hint->first; member && !is_found; member = member->next) {
            const char *wrong;
            struct ip own;
            is_found =
                member->kind == JSON_STRING &&
                (str_ends(member->key, STR("-v4addr")) || str_ends(member->key, STR("-v6addr"))) &&
                ip_parse(member->text, &own, &wrong) && ip_cmp(own, ip) == 0;
        }
    }
    arena_fini(&scratch);
    return is_found;
}

/* A freed address may return to its node at once. Routers are skipped unless the node is asked to
 * have exactly that address: then it is the router. */
static bool allocation_is_available(const struct core *c, struct ip ip, node_ix n, bool is_asked)
{
    const lease_ix l = {address_find(c, ADDRESS_LEASE, ip)};
    return !address_find(c, ADDRESS_ALLOCATION, ip) &&
           (is_asked || !address_find(c, ADDRESS_ROUTER, ip)) &&
           (!l.v || lease_is_available(c, l, node_at(c, n)->o.id)) &&
           !network_is_admin_address(c, ip, n);
}

static bool allocation_is_candidate(const struct core *c, network_range_ix r, struct ip ip,
                                    node_ix n, bool is_asked)
{
    return ip.family != IP_NONE && ip_range_has(network_range_at(c, r)->addresses, ip) &&
           allocation_is_available(c, ip, n, is_asked);
}

/* ---- candidates ---- */

struct str network_hint_key(const struct core *c, network_range_ix r, enum ip_family family,
                            struct arena *a)
{
    const struct str name =
        r.v ? text_of(c, network_at(c, network_range_at(c, r)->network)->name) : STR("admin");
    return STR_CONCAT(a, name, family == IP_V6 ? STR("-v6addr") : STR("-v4addr"));
}

/* Ranges that overlap may contain addresses that are those of no machine, or of the daemon itself
 * (127.0.0.1), which would be reached instead. A range of loopback addresses alone was made for
 * machines that run beside the daemon. */
static bool allocation_is_usable(const struct core *c, network_range_ix r, struct ip ip)
{
    if (ip_is_unicast(ip) || !ip_is_loopback(ip) || !r.v)
        return ip_is_unicast(ip);
    const struct ip_range range = network_range_at(c, r)->addresses;
    return ip_is_loopback(range.first) && ip_is_loopback(range.last);
}

/* The address that the hint of the node requests in the network; IP_NONE if there is none or it is
 * no address. The hint of a system node requests none, because that is no machine. */
static struct ip allocation_hint(const struct core *c, network_range_ix r, node_ix n,
                                 struct arena *a)
{
    const struct str key =
        network_hint_key(c, r, network_range_at(c, r)->addresses.first.family, a);
    const struct json *value = json_get(doc_tree(a, doc_of(c, node_at(c, n)->hint)), key);
    struct ip ip = {0};
    const char *wrong;
    if (value && value->kind == JSON_STRING && !node_at(c, n)->system)
        ignore(ip_parse(value->text, &ip, &wrong), "a hint that is no address requests none");
    return ip.family != IP_NONE && allocation_is_usable(c, r, ip) ? ip : (struct ip){0};
}

/* An IPv6 address whose interface id is the second half of the MD5 of the name of the node. */
static struct ip allocation_from_name(const struct core *c, network_range_ix r, node_ix n)
{
    uint8_t digest[16];
    struct ip host = {.family = IP_V6, .prefix = 128};
    md5(text_of(c, node_at(c, n)->name), digest); /* names of nodes are lower case */
    for (uint32_t i = 8; i < 16; i++)
        host.lo = host.lo << 8 | digest[i];
    return ip_with_host_part(network_range_at(c, r)->addresses.first, host);
}

/* The host part of the node's address in a category-admin network of the same group and family. */
static struct ip allocation_aligned(const struct core *c, network_range_ix r, node_ix n)
{
    const struct network_range *range = network_range_at(c, r);
    const struct vec *all = &node_at(c, n)->allocations;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct network_allocation *row =
            network_allocation_at(c, (network_allocation_ix){vec_at(c, all, i)});
        const struct network *network = network_at(c, row->network);
        if (str_eq(text_of(c, network->category), STR("admin")) &&
            network->group == network_at(c, range->network)->group &&
            row->at.ip.family == range->addresses.first.family) {
            /* Without the bits of its own subnet: they would remain in a larger subnet. */
            struct ip host = row->at.ip;
            host.hi ^= ip_subnet(row->at.ip).hi;
            host.lo ^= ip_subnet(row->at.ip).lo;
            return ip_with_host_part(range->addresses.first, host);
        }
    }
    return (struct ip){0};
}

/* The lowest address of the range that no row and no other admin node has; IP_NONE if there is
 * none. The cursor of the range is moved to the lowest one that no row has. */
static struct ip allocation_lowest_free(struct core *c, network_range_ix r, node_ix n)
{
    const struct network_range *range = network_range_at(c, r);
    const struct ip_range addresses = range->addresses;
    if ((uint64_t)range->allocation_count + range->lease_count >= ip_range_count(addresses))
        return (struct ip){0};
    uint64_t offset = range->cursor, cursor = UINT64_MAX;
    struct ip ip, found = {0};
    while (found.family == IP_NONE && ip_add(addresses.first, offset, &ip) &&
           ip_range_has(addresses, ip)) {
        const bool is_used = address_is_used(c, ip);
        if (!is_used && cursor == UINT64_MAX)
            cursor = offset;
        if (!is_used && !network_is_admin_address(c, ip, n))
            found = ip;
        offset++;
    }
    if (cursor == UINT64_MAX)
        cursor = offset;
    if (!range->overlap && cursor != range->cursor)
        network_range_derive(c, r)->cursor = cursor;
    return found;
}

/* The address that was freed or declined first and may be used again. */
static struct ip allocation_rested(const struct core *c, network_range_ix r, node_ix n)
{
    int64_t id = 0;
    for (uint32_t ix; (ix = address_next_in_range(c, r, TABLE_LEASE, id));) {
        const struct lease *lease = lease_at(c, (lease_ix){ix});
        id = lease->o.id;
        if (allocation_is_candidate(c, r, lease->at.ip, n, false))
            return lease->at.ip;
    }
    return (struct ip){0};
}

/* ---- allocate ---- */

static network_allocation_ix allocation_find(const struct core *c, network_range_ix r, node_ix n)
{
    const struct vec *all = &node_at(c, n)->allocations;
    for (uint32_t i = 0; i < all->count; i++) {
        const network_allocation_ix a = {vec_at(c, all, i)};
        if (network_allocation_at(c, a)->range.v == r.v)
            return a;
    }
    return (network_allocation_ix){0};
}

static network_allocation_ix allocation_make(struct core *c, network_range_ix r, node_ix n,
                                             struct ip ip)
{
    const lease_ix l = {address_find(c, ADDRESS_LEASE, ip)};
    if (l.v)
        lease_destroy(c, l);
    const network_allocation_ix a = network_allocation_add(c);
    if (!a.v)
        return a;
    struct network_allocation *row = network_allocation_edit(c, a);
    row->node = n;
    row->range = r;
    row->network = network_range_at(c, r)->network;
    row->at.ip = ip_with_prefix(ip, network_range_at(c, r)->addresses.first.prefix);
    put_text(c, &row->address, ip_format(c->arena, row->at.ip));
    network_allocation_index(c, a);
    hooks_allocation_created(c, a);
    return a;
}

static struct str range_label(struct core *c, network_range_ix r)
{
    const struct network_range *range = network_range_at(c, r);
    return STR_CONCAT(c->arena, text_of(c, network_at(c, range->network)->name), STR("."),
                      text_of(c, range->name));
}

network_allocation_ix network_allocate(struct core *c, network_range_ix r, node_ix n,
                                       const struct address_request *wanted)
{
    const network_allocation_ix has = allocation_find(c, r, n);
    const bool is_exact = wanted->address.family != IP_NONE;
    if (has.v && (!is_exact || ip_cmp(network_allocation_at(c, has)->at.ip, wanted->address) == 0))
        return has;
    if (has.v || (is_exact && !allocation_is_candidate(c, r, wanted->address, n, true))) {
        refuse(c, PROBLEM_ADDRESS_TAKEN, wanted->field.len ? wanted->field : STR("address"),
               STR_CONCAT(c->arena, STR("address "), ip_format_address(c->arena, wanted->address),
                          has.v ? STR(" is not the one that the node has in range ")
                                : STR(" is in use, was freed lately or is not in range "),
                          range_label(c, r)));
        return (network_allocation_ix){0};
    }
    if (is_exact)
        return allocation_make(c, r, n, wanted->address);

    const bool is_v6 = network_range_at(c, r)->addresses.first.family == IP_V6;
    const bool is_configured = network_at(c, network_range_at(c, r)->network)->configure;
    struct ip suggestion = wanted->suggestion;
    if (suggestion.family == IP_NONE)
        suggestion = allocation_hint(c, r, n, c->arena);
    const bool is_asked = suggestion.family != IP_NONE;
    if (!is_asked && !is_configured)
        return (network_allocation_ix){0};
    if (!is_asked && is_v6)
        suggestion = allocation_from_name(c, r, n);
    const struct ip aligned = allocation_aligned(c, r, n);
    if (allocation_is_candidate(c, r, suggestion, n, is_asked))
        return allocation_make(c, r, n, suggestion);
    if (allocation_is_candidate(c, r, aligned, n, false))
        return allocation_make(c, r, n, aligned);
    const struct ip lowest = allocation_lowest_free(c, r, n);
    const struct ip last = lowest.family != IP_NONE ? lowest : allocation_rested(c, r, n);
    if (last.family != IP_NONE)
        return allocation_make(c, r, n, last);
    refuse(c, PROBLEM_RANGE_FULL, wanted->field.len ? wanted->field : STR("range_id"),
           STR_CONCAT(c->arena, STR("range "), range_label(c, r),
                      STR(" has no free address; enlarge it, or free addresses and wait an hour")));
    return (network_allocation_ix){0};
}

/* The ranges from which the node gets addresses by default. */
network_range_ix allocation_default_range(const struct core *c, network_ix w, node_ix n)
{
    const network_range_ix admin = network_range_find(c, w, STR("admin"));
    return node_at(c, n)->admin && admin.v ? admin : network_range_find(c, w, STR("host"));
}

void network_allocate_default(struct core *c, network_ix w, node_ix n, struct str field)
{
    const struct address_request none = {.field = field};
    const network_range_ix ranges[] = {allocation_default_range(c, w, n),
                                       network_range_find(c, w, STR("host-v6"))};
    for (uint32_t i = 0; i < 2; i++)
        if (ranges[i].v)
            network_allocate(c, ranges[i], n, &none);
}

void network_allocation_destroy(struct core *c, network_allocation_ix a, bool is_kept)
{
    hooks_allocation_deleted(c, a); /* first: the list contains the names */
    const struct network_allocation *row = network_allocation_at(c, a);
    const network_range_ix r = row->range;
    const struct ip ip = row->at.ip;
    const int64_t node_id = node_at(c, row->node)->o.id;
    const bool is_ending = network_at(c, row->network)->deleting;
    dns_names_forget_allocation(c, a);
    address_remove(c, ADDRESS_ALLOCATION, a.v);
    address_remove_from_range(c, r, TABLE_NETWORK_ALLOCATION, row->o.id);
    ids_remove(c, &node_derive(c, row->node)->allocations, TABLE_NETWORK_ALLOCATION, a.v);
    put_text(c, &network_allocation_edit(c, a)->address, STR(""));
    core_remove_row(c, TABLE_NETWORK_ALLOCATION, a.v);
    if (is_kept && !is_ending)
        lease_make_freed(c, r, ip, node_id);
    else
        address_freed(c, ip);
}

void network_allocations_forget_node(struct core *c, node_ix n)
{
    while (node_at(c, n)->allocations.count) {
        const struct vec *all = &node_at(c, n)->allocations;
        network_allocation_destroy(c, (network_allocation_ix){vec_at(c, all, all->count - 1)},
                                   true);
    }
}

/* A range that is created later than the hints takes the addresses that they name, so that none of
 * them is given to another node. The roles of the network are not bound: they would configure the
 * interfaces of machines that are in use. All nodes are visited in one step, so only hints whose
 * text has the key are parsed: for the others the search costs a third of that. */
void network_allocate_hinted(struct core *c, network_range_ix r)
{
    const struct str key =
        network_hint_key(c, r, network_range_at(c, r)->addresses.first.family, c->arena);
    for (uint32_t ix = core_next_row(c, TABLE_NODE, 0); ix;
         ix = core_next_row(c, TABLE_NODE, node_at(c, (node_ix){ix})->o.id)) {
        const node_ix n = {ix};
        if (!str_has(doc_of(c, node_at(c, n)->hint), key))
            continue;
        struct arena scratch = {0};
        const struct ip ip = allocation_hint(c, r, n, &scratch);
        arena_fini(&scratch);
        if (!allocation_find(c, r, n).v && allocation_is_candidate(c, r, ip, n, true))
            allocation_make(c, r, n, ip);
    }
}

bool network_hints_depend_on(struct str map)
{
    const struct str first = str_slice(map, 0, str_find(map, '/', 0));
    return !first.len || str_ends(first, STR("-v4addr")) || str_ends(first, STR("-v6addr"));
}

/* The hint has a member for each network that it requests an address in. */
void network_allocate_hints(struct core *c, node_ix n)
{
    if (!node_at(c, n)->hint || !c->tables[TABLE_NETWORK].pool.live)
        return;
    const struct json *hint = doc_tree(c->arena, doc_of(c, node_at(c, n)->hint));
    for (const struct json *member = hint->first; member; member = member->next) {
        const bool is_v4 = str_ends(member->key, STR("-v4addr"));
        if (!is_v4 && !str_ends(member->key, STR("-v6addr")))
            continue;
        const struct str name = str_slice(member->key, 0, member->key.len - 7);
        const network_ix w = {name_find(c, TABLE_NETWORK, name)};
        const struct vec *ranges =
            w.v && !network_at(c, w)->deleting ? &network_at(c, w)->ranges : NULL;
        for (uint32_t i = 0; ranges && i < ranges->count; i++) {
            const network_range_ix r = {vec_at(c, ranges, i)};
            const struct ip_range addresses = network_range_at(c, r)->addresses;
            if ((addresses.first.family == IP_V4) != is_v4 || allocation_find(c, r, n).v)
                continue;
            const struct ip ip = allocation_hint(c, r, n, c->arena);
            if (allocation_is_candidate(c, r, ip, n, true) && allocation_make(c, r, n, ip).v)
                network_bind_roles(c, w, n);
        }
    }
}

static bool allocation_check_usable(struct core *c, network_range_ix r, struct ip ip,
                                    struct str field)
{
    return allocation_is_usable(c, r, ip) ||
           refuse(c, PROBLEM_BAD_VALUE, field,
                  STR_CONCAT(c->arena, field, STR(" "), ip_format_address(c->arena, ip),
                             STR(" is no address of an interface: it is loopback, multicast, "
                                 "broadcast, unspecified, or IPv4 in IPv6")));
}

/* Of ranges without `overlap` one at most contains the address, whatever the category of its
 * network. Of the others only those of the network `unmanaged` are meant for any machine. */
network_range_ix network_range_for_address(struct core *c, struct ip ip, struct str field)
{
    network_range_ix found = address_find_range(c, ip);
    const network_ix unmanaged = {name_find(c, TABLE_NETWORK, STR("unmanaged"))};
    const struct vec *ranges = unmanaged.v ? &network_at(c, unmanaged)->ranges : NULL;
    for (uint32_t i = 0; ranges && i < ranges->count && !found.v; i++) {
        const network_range_ix r = {vec_at(c, ranges, i)};
        if (ip_range_has(network_range_at(c, r)->addresses, ip))
            found = r;
    }
    if (c->tables[TABLE_NETWORK].pool.live && !allocation_check_usable(c, found, ip, field))
        return (network_range_ix){0};
    if (!found.v && c->tables[TABLE_NETWORK].pool.live)
        refuse(c, PROBLEM_NOT_FOUND, field,
               STR_CONCAT(c->arena, STR("no range of a network contains "),
                          ip_format_address(c->arena, ip),
                          STR("; create one, or a network called unmanaged")));
    if (found.v)
        network_refuse_deleting(c, network_range_at(c, found)->network, field);
    return found;
}

/* ---- commands ---- */

static bool allocation_parse(struct core *c, struct str text, struct str field, struct ip *out_ip)
{
    const char *wrong;
    if (text.len && !ip_parse(text, out_ip, &wrong))
        refuse(c, PROBLEM_BAD_VALUE, field, STR_CONCAT(c->arena, field, STR(" "), str_from(wrong)));
    return !refused(c);
}

static network_range_ix allocation_range_of(const struct core *c, network_ix w, struct ip ip)
{
    const struct vec *ranges = &network_at(c, w)->ranges;
    for (uint32_t i = 0; i < ranges->count && ip.family != IP_NONE; i++) {
        const network_range_ix r = {vec_at(c, ranges, i)};
        if (ip_range_has(network_range_at(c, r)->addresses, ip))
            return r;
    }
    return (network_range_ix){0};
}

/* Allocate from the default ranges of the network: one for IPv4 and host-v6. A requested address is
 * taken from the range that contains it. */
static void allocation_from_network(struct core *c, network_ix w, node_ix n,
                                    const struct address_request *wanted)
{
    const struct ip asked =
        wanted->address.family != IP_NONE ? wanted->address : wanted->suggestion;
    const network_range_ix defaults[] = {allocation_default_range(c, w, n),
                                         network_range_find(c, w, STR("host-v6"))};
    static const struct address_request none = {.field = {NULL, 0}};
    const network_range_ix r = allocation_range_of(c, w, asked);
    if (r.v) {
        const network_allocation_ix a = network_allocate(c, r, n, wanted);
        c->out->id = a.v ? network_allocation_at(c, a)->o.id : 0;
        return;
    }
    if (wanted->address.family != IP_NONE) {
        refuse(c, PROBLEM_BAD_VALUE, STR("address"), STR("address is in no range of the network"));
        return;
    }
    if (!defaults[0].v && !defaults[1].v)
        refuse(c, PROBLEM_NOT_FOUND, STR("network_id"),
               STR_CONCAT(c->arena, STR("network "), text_of(c, network_at(c, w)->name),
                          STR(" has neither a range host nor a range host-v6; name a range")));
    for (uint32_t i = 0; i < 2; i++) {
        const network_allocation_ix a =
            defaults[i].v ? network_allocate(c, defaults[i], n, &none) : (network_allocation_ix){0};
        if (a.v && !c->out->id)
            c->out->id = network_allocation_at(c, a)->o.id;
    }
}

void do_network_allocate(struct core *c, const struct network_allocate_command *p)
{
    struct address_request wanted = {.field = STR("")};
    const node_ix n = node_by_id(c, p->node_id);
    const network_range_ix r = network_range_by_id(c, p->range_id);
    const network_ix w = r.v ? network_range_at(c, r)->network : network_by_id(c, p->network_id);
    if (!n.v)
        refuse_missing(c, "node_id", "node", p->node_id);
    if (p->range_id && !r.v)
        refuse_missing(c, "range_id", "network range", p->range_id);
    else if (!w.v)
        refuse_missing(c, "network_id", "network", p->network_id);
    else if (p->network_id && !network_by_id(c, p->network_id).v)
        refuse_missing(c, "network_id", "network", p->network_id);
    else if (p->network_id && network_at(c, w)->o.id != p->network_id)
        refuse(c, PROBLEM_BAD_VALUE, STR("range_id"), STR("the range is not of this network"));
    else
        network_refuse_deleting(c, w, r.v ? STR("range_id") : STR("network_id"));
    if (n.v && node_at(c, n)->system)
        refuse(c, PROBLEM_BAD_VALUE, STR("node_id"),
               STR("a system node is no machine and has no addresses"));
    if (p->address.len && p->suggestion.len)
        refuse(c, PROBLEM_BAD_VALUE, STR("suggestion"),
               STR("either address or suggestion can be given, not both"));
    allocation_parse(c, p->address, STR("address"), &wanted.address);
    if (!allocation_parse(c, p->suggestion, STR("suggestion"), &wanted.suggestion))
        return;
    const struct ip asked = p->address.len ? wanted.address : wanted.suggestion;
    if (asked.family != IP_NONE &&
        !allocation_check_usable(c, r.v ? r : allocation_range_of(c, w, asked), asked,
                                 p->address.len ? STR("address") : STR("suggestion")))
        return;
    const uint32_t before = node_at(c, n)->allocations.count;
    if (r.v) {
        const network_allocation_ix a = network_allocate(c, r, n, &wanted);
        c->out->id = a.v ? network_allocation_at(c, a)->o.id : 0;
    } else {
        allocation_from_network(c, w, n, &wanted);
    }
    if (refused(c) || node_at(c, n)->allocations.count == before)
        return;
    network_bind_roles(c, w, n);
    node_changed(c, n);
}

void do_network_deallocate(struct core *c, const struct network_deallocate_command *p)
{
    const network_allocation_ix a = network_allocation_by_id(c, p->id);
    if (!a.v) {
        refuse_missing(c, "id", "network allocation", p->id);
        return;
    }
    const node_ix n = network_allocation_at(c, a)->node;
    c->out->id = p->id;
    network_allocation_destroy(c, a, true);
    node_changed(c, n);
}

/* ---- rights ---- */

/* An address that the caller chooses may be one that another deployment relies on, so it needs the
 * level where the network belongs to. Where ranges overlap, or machines are not configured, any
 * address can be chosen, which needs it in the system deployment. */
deployment_ix network_choice_deployment(const struct core *c,
                                        const struct network_allocate_command *p)
{
    const network_range_ix r = network_range_by_id(c, p->range_id);
    const network_ix w = r.v ? network_range_at(c, r)->network : network_by_id(c, p->network_id);
    if ((!p->address.len && !p->suggestion.len) || !w.v)
        return (deployment_ix){0};
    const bool is_any = !network_at(c, w)->configure || (r.v && network_range_at(c, r)->overlap);
    return is_any ? deployment_system(c) : network_at(c, w)->deployment;
}

node_ix network_allocation_node(const struct core *c, int64_t id)
{
    const network_allocation_ix a = network_allocation_by_id(c, id);
    return a.v ? network_allocation_at(c, a)->node : (node_ix){0};
}

/* ---- load ---- */

bool network_allocation_fill(const struct core *c, struct network_allocation *row,
                             const struct network_allocation_record *r)
{
    const char *wrong;
    return row->node.v && row->range.v && r->id < ADDRESS_ID_MAX &&
           row->network.v == network_range_at(c, row->range)->network.v &&
           ip_parse(r->address, &row->at.ip, &wrong) &&
           ip_range_has(network_range_at(c, row->range)->addresses, row->at.ip) &&
           row->at.ip.prefix == network_range_at(c, row->range)->addresses.first.prefix &&
           !address_find(c, ADDRESS_ALLOCATION, row->at.ip) &&
           !allocation_find(c, row->range, row->node).v;
}

void network_allocation_index(struct core *c, network_allocation_ix a)
{
    const struct network_allocation *row = network_allocation_at(c, a);
    address_add(c, ADDRESS_ALLOCATION, a.v);
    address_add_to_range(c, row->range, TABLE_NETWORK_ALLOCATION, row->o.id, a.v);
    ids_insert(c, &node_derive(c, row->node)->allocations, TABLE_NETWORK_ALLOCATION, a.v);
    dns_names_node_changed(c, row->node);
}
