#include "core/boot/boot_changes.h"

#include "base/containers/sort.h"
#include "base/json/json.h"
#include "core/core_private.h"
#include "core/data/data.h"

/* Entries of the boot view, each a pure function of rows: what a boot server is sent about a
 * machine, network, range, router, lease or DNS name (docs/spec/boot.md). The file owns nothing and
 * changes nothing. No order: every function reads rows as they are. Failure: there is none; a row
 * that has no entry is not in the view. */

/* ---- machines ---- */

enum boot_part boot_part_of_role(const struct core *c, role_ix r)
{
    const struct role *role = role_at(c, r);
    if (role->flags & ROLE_DISCOVERY)
        return BOOT_PART_DISCOVERY;
    for (uint32_t i = 0; i < role->provided.count; i++) {
        const role_ix provided = {
            name_find(c, TABLE_ROLE, text_of(c, vec_at(c, &role->provided, i)))};
        if (provided.v && role_at(c, provided)->flags & ROLE_DISCOVERY)
            return BOOT_PART_PROVIDER;
    }
    return BOOT_PART_NONE;
}

/* A machine is in the view while it has a committed noderole of a discovery role. A role that
 * provides one is for machines that were installed otherwise: they count only while they are to
 * boot something from the network. */
static bool boot_node_is_managed(const struct core *c, node_ix n)
{
    const struct node *node = node_at(c, n);
    bool has_provider = false;
    if (node->system)
        return false;
    for (uint32_t i = 0; i < node->noderoles.count; i++) {
        const struct noderole *nr = noderole_at(c, (noderole_ix){vec_at(c, &node->noderoles, i)});
        const enum boot_part part = role_at(c, nr->role)->boot_part;
        if (nr->state == NODEROLE_PROPOSED || part == BOOT_PART_NONE)
            continue;
        if (part == BOOT_PART_DISCOVERY)
            return true;
        has_provider = true;
    }
    return has_provider && !str_eq(text_of(c, node->bootenv), STR("local"));
}

static int boot_cmp_macs(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void boot_put_macs(const struct core *c, node_ix n, struct arena *a,
                          struct boot_machine *machine)
{
    const struct vec *nics = &node_at(c, n)->nics;
    uint64_t *macs = arena_array(a, uint64_t, nics->count + (size_t)1);
    for (uint32_t i = 0; i < nics->count; i++)
        macs[i] = (uint64_t)nic_at(c, (nic_ix){vec_at(c, nics, i)})->mac;
    sort_items(macs, nics->count, sizeof *macs, boot_cmp_macs, a);
    machine->macs = macs;
    machine->mac_count = nics->count;
}

/* The address that the hint names: of a machine that has no allocation, as in installations without
 * networks. */
static bool boot_hinted_address(const struct core *c, node_ix n, struct arena *a, struct ip *out_ip)
{
    const doc_h hint = node_at(c, n)->hint;
    const char *wrong;
    if (!hint)
        return false;
    const struct json *value = json_get(doc_tree(a, doc_of(c, hint)), STR("admin-v4addr"));
    return value && value->kind == JSON_STRING && ip_parse(value->text, out_ip, &wrong) &&
           out_ip->family == IP_V4;
}

static void boot_put_addresses(const struct core *c, node_ix n, struct arena *a,
                               struct boot_machine *machine)
{
    const struct vec *all = &node_at(c, n)->allocations;
    const uint32_t most = all->count < BOOT_ADDRESSES_MAX ? all->count : BOOT_ADDRESSES_MAX;
    struct boot_address *addresses = arena_array(a, struct boot_address, most + (size_t)1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < all->count && count < most; i++) {
        const struct network_allocation *row =
            network_allocation_at(c, (network_allocation_ix){vec_at(c, all, i)});
        if (row->at.ip.family == IP_V4 && network_at(c, row->network)->is_admin)
            addresses[count++] =
                (struct boot_address){.address = text_of(c, row->address),
                                      .network = network_at(c, row->network)->o.id,
                                      .range = network_range_at(c, row->range)->o.id};
    }
    struct ip ip;
    if (!count && boot_hinted_address(c, n, a, &ip))
        addresses[count++] = (struct boot_address){.address = ip_format(a, ip)};
    machine->addresses = addresses;
    machine->address_count = count;
}

struct str boot_first_address(const struct core *c, node_ix n, struct arena *a)
{
    struct boot_machine machine = {0};
    boot_put_addresses(c, n, a, &machine);
    return machine.address_count ? machine.addresses[0].address : STR("");
}

/* Most hints have no such member: they are searched, which is cheaper than to parse them. */
static struct str boot_options(const struct core *c, node_ix n, struct arena *a)
{
    const doc_h hint = node_at(c, n)->hint;
    if (!hint || !str_has(doc_of(c, hint), STR("\"boot\":{")))
        return STR("");
    const struct json *options = json_get(doc_tree(a, doc_of(c, hint)), STR("boot"));
    if (!options || options->kind != JSON_OBJECT || !options->count)
        return STR("");
    const struct str text = json_write(a, options);
    return text.len <= BOOT_OPTIONS_LEN_MAX ? text : STR("");
}

static bool boot_put_machine(const struct core *c, node_ix n, struct arena *a,
                             struct boot_machine *machine)
{
    const struct node *node = node_at(c, n);
    if (!boot_node_is_managed(c, n))
        return false;
    *machine = (struct boot_machine){.name = text_of(c, node->name),
                                     .bootenv = text_of(c, node->bootenv),
                                     .generation = node->boot_generation,
                                     .ticket = text_of(c, node->grant_ticket),
                                     .options = boot_options(c, n, a)};
    boot_put_macs(c, n, a, machine);
    boot_put_addresses(c, n, a, machine);
    return true;
}

/* ---- the other kinds ---- */

static void boot_put_network(const struct core *c, network_ix w, struct boot_network *out)
{
    const struct network *network = network_at(c, w);
    *out = (struct boot_network){.name = text_of(c, network->name),
                                 .category = text_of(c, network->category),
                                 .group = text_of(c, network->group),
                                 .configure = network->configure,
                                 .vlan = network->use_vlan ? network->vlan : 0};
}

static void boot_put_range(const struct core *c, network_range_ix r, struct boot_range *out)
{
    const struct network_range *range = network_range_at(c, r);
    *out = (struct boot_range){.network = network_at(c, range->network)->o.id,
                               .name = text_of(c, range->name),
                               .first = text_of(c, range->first),
                               .last = text_of(c, range->last),
                               .overlap = range->overlap};
}

static void boot_put_router(const struct core *c, network_router_ix r, struct boot_router *out)
{
    const struct network_router *router = network_router_at(c, r);
    *out = (struct boot_router){.network = network_at(c, router->network)->o.id,
                                .address = text_of(c, router->address),
                                .pref = router->pref};
}

static void boot_put_lease(const struct core *c, lease_ix l, struct boot_lease *out)
{
    const struct lease *lease = lease_at(c, l);
    const struct network_range *range = network_range_at(c, lease->range);
    *out = (struct boot_lease){.mac = lease->mac,
                               .network = network_at(c, range->network)->o.id,
                               .range = range->o.id,
                               .address = text_of(c, lease->address),
                               .state = lease->state,
                               .left_ms = lease->left_ms};
}

static void boot_put_name(const struct core *c, dns_name_entry_ix e, struct arena *a,
                          struct boot_name *out)
{
    const struct dns_name_entry *entry = dns_name_entry_at(c, e);
    const struct network_allocation *row = network_allocation_at(c, entry->allocation);
    *out = (struct boot_name){.name = text_of(c, entry->name),
                              .type = row->at.ip.family == IP_V6 ? BOOT_NAME_AAAA : BOOT_NAME_A,
                              .address = ip_format_address(a, row->at.ip),
                              .node = node_at(c, row->node)->o.id};
}

static void boot_put_bootenv(const struct core *c, bootenv_ix e, struct arena *a,
                             struct boot_bootenv *out)
{
    const struct bootenv *bootenv = bootenv_at(c, e);
    const struct json *list =
        bootenv->initrd ? doc_tree(a, text_of(c, bootenv->initrd)) : json_make(a, JSON_ARRAY);
    struct str *initrds = arena_array(a, struct str, list->count + (size_t)1);
    *out = (struct boot_bootenv){.name = text_of(c, bootenv->name),
                                 .kernel = text_of(c, bootenv->kernel),
                                 .args = text_of(c, bootenv->args),
                                 .method = text_of(c, bootenv->method),
                                 .os = text_of(c, bootenv->os),
                                 .initrds = initrds};
    for (const struct json *item = list->first; item; item = item->next)
        initrds[out->initrd_count++] = item->text;
}

bool boot_entry_of_row(const struct core *c, enum boot_fact kind, uint32_t ix, struct arena *a,
                       struct boot_entry *out)
{
    bool is_there = true;
    switch (kind) {
    case BOOT_BOOTENV: boot_put_bootenv(c, (bootenv_ix){ix}, a, &out->bootenv); break;
    case BOOT_NETWORK: boot_put_network(c, (network_ix){ix}, &out->network); break;
    case BOOT_RANGE: boot_put_range(c, (network_range_ix){ix}, &out->range); break;
    case BOOT_ROUTER: boot_put_router(c, (network_router_ix){ix}, &out->router); break;
    case BOOT_LEASE: boot_put_lease(c, (lease_ix){ix}, &out->lease); break;
    case BOOT_MACHINE: is_there = boot_put_machine(c, (node_ix){ix}, a, &out->machine); break;
    case BOOT_NAME: boot_put_name(c, (dns_name_entry_ix){ix}, a, &out->name); break;
    case BOOT_FACT_COUNT: impossible("a kind of boot entry outside the enum");
    }
    out->key = (struct boot_key){kind, boot_row_id(c, kind, ix)};
    return is_there;
}
