/* Goal: a boot view finds what a search through all of its entries finds, whatever the order in
 * which they came, and its digest is the sum of their hashes.
 * Method: random entries of few ids, MACs, addresses and names are put and removed in a view and in
 * a naive model, which keeps a list of entries; after each step every lookup is compared. Then
 * drawn cases, and the time and memory of 10,000 machines. */
#include "base/net/ip.h"
#include "base/net/mac.h"
#include "base/prng.h"
#include "boot/view/view.h"
#include "model/network_record.h"
#include "tests/check.h"

#include <string.h>

enum { IDS = 9, MODEL_MAX = BOOT_FACT_COUNT * (IDS + 1) };

/* Two ids with equal low 32 bits, so that keys of indices meet. */
static const int64_t ids[IDS] = {1, 2, 3, 4, 5, 65537, 0x100000001, 0x100000002, INT64_MAX};
static const uint64_t some_macs[] = {1, 2, 0x525400000001, 0x525400000002, 0xffffffffffff};
static const char *const some_addresses[] = {"10.0.0.1/24", "10.0.0.2/24", "10.0.1.2/24",
                                             "255.255.255.255/32", "0.0.0.0/0"};
static const char *const some_names[] = {"discovery", "Discovery", "debian-12", "x"};

#define COUNT(list)   (sizeof(list) / sizeof *(list))
#define PICK(r, list) (list)[prng_below((r), COUNT(list))]

struct model_entry {
    struct boot_entry entry;
    struct str bytes;
    int64_t ends_ms;
};

struct model {
    struct model_entry items[MODEL_MAX];
    uint32_t count;
    struct arena arena;
};

static struct str encoded(const struct boot_entry *entry, struct arena *a)
{
    struct buf bytes = buf_in(a);
    boot_entry_encode(entry, &bytes);
    return buf_str(&bytes);
}

/* ---- the naive model ---- */

static void model_remove(struct model *m, struct boot_key key)
{
    for (uint32_t i = 0; i < m->count; i++)
        if (boot_key_cmp(m->items[i].entry.key, key) == 0)
            m->items[i] = m->items[--m->count];
}

static void model_put(struct model *m, const struct boot_entry *entry, struct str bytes,
                      int64_t now_ms)
{
    model_remove(m, entry->key);
    const int64_t left = entry->key.kind == BOOT_LEASE ? entry->lease.left_ms : 0;
    m->items[m->count++] =
        (struct model_entry){*entry, bytes, left > INT64_MAX - now_ms ? INT64_MAX : now_ms + left};
}

static uint32_t model_address(struct str text)
{
    const char *wrong;
    struct ip ip;
    CHECK(ip_parse(text, &ip, &wrong) && ip.family == IP_V4);
    return (uint32_t)ip.lo;
}

static bool model_is_v4(struct str text)
{
    return !str_has(text, STR(":"));
}

static bool model_has_mac(const struct boot_entry *e, uint64_t mac)
{
    for (uint32_t i = 0; e && i < e->machine.mac_count; i++)
        if (e->machine.macs[i] == mac)
            return true;
    return false;
}

static bool model_has_address(const struct boot_entry *e, uint32_t address)
{
    for (uint32_t i = 0; e && i < e->machine.address_count; i++)
        if (model_address(e->machine.addresses[i].address) == address)
            return true;
    return false;
}

static const struct boot_entry *model_get(const struct model *m, enum boot_fact kind, int64_t id)
{
    for (uint32_t i = 0; i < m->count; i++)
        if (m->items[i].entry.key.kind == kind && m->items[i].entry.key.id == id)
            return &m->items[i].entry;
    return NULL;
}

static bool model_network_is_admin(const struct model *m, int64_t id)
{
    const struct boot_entry *e = model_get(m, BOOT_NETWORK, id);
    return e && str_eq(e->network.category, STR("admin"));
}

/* ---- comparison ---- */

static void check_machines(const struct view *v, const struct model *m)
{
    for (uint32_t k = 0; k < COUNT(some_macs); k++) {
        const int64_t found = view_machine_of_mac(v, some_macs[k]);
        uint32_t holders = 0;
        for (uint32_t i = 0; i < m->count; i++)
            holders += m->items[i].entry.key.kind == BOOT_MACHINE &&
                       model_has_mac(&m->items[i].entry, some_macs[k]);
        CHECK((found != 0) == (holders != 0));
        CHECK(!found || model_has_mac(model_get(m, BOOT_MACHINE, found), some_macs[k]));
    }
    for (uint32_t k = 0; k < COUNT(some_addresses); k++) {
        const uint32_t address = model_address(str_from(some_addresses[k]));
        const int64_t found = view_machine_of_address(v, address);
        uint32_t holders = 0;
        for (uint32_t i = 0; i < m->count; i++)
            holders += m->items[i].entry.key.kind == BOOT_MACHINE &&
                       model_has_address(&m->items[i].entry, address);
        CHECK((found != 0) == (holders != 0));
        CHECK(!found || model_has_address(model_get(m, BOOT_MACHINE, found), address));
    }
}

static void check_lease(const struct model *m, const struct view_lease *lease)
{
    for (uint32_t i = 0; i < m->count; i++) {
        const struct boot_entry *e = &m->items[i].entry;
        if (e->key.kind != BOOT_LEASE || e->key.id != lease->id)
            continue;
        CHECK(lease->mac == (uint64_t)e->lease.mac && lease->network == e->lease.network);
        CHECK(lease->range == e->lease.range && lease->state == e->lease.state);
        CHECK(lease->address == model_address(e->lease.address));
        CHECK(lease->ends_ms == m->items[i].ends_ms);
        return;
    }
    CHECK(false);
}

static void check_leases_of_mac(const struct view *v, const struct model *m, uint64_t mac)
{
    struct view_lease lease = {0};
    uint32_t expected = 0, seen = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        const struct boot_entry *e = &m->items[i].entry;
        if (e->key.kind != BOOT_LEASE || (uint64_t)e->lease.mac != mac ||
            e->lease.state != LEASE_LIVE || !model_is_v4(e->lease.address))
            continue;
        expected++;
    }
    int64_t last = 0;
    while (view_next_lease_of_mac(v, mac, last, &lease)) {
        CHECK(lease.id > last && lease.mac == mac && lease.state == LEASE_LIVE);
        check_lease(m, &lease);
        last = lease.id;
        seen++;
    }
    CHECK(seen == expected);
}

static void check_leases(const struct view *v, const struct model *m)
{
    for (uint32_t k = 0; k < COUNT(some_macs); k++)
        check_leases_of_mac(v, m, some_macs[k]);
    struct view_lease freed;
    CHECK(!view_next_lease_of_mac(v, 0, 0, &freed)); /* 0 is no MAC */
    for (uint32_t k = 0; k < COUNT(some_addresses); k++) {
        const uint32_t address = model_address(str_from(some_addresses[k]));
        struct view_lease lease;
        bool any = false, live = false;
        for (uint32_t i = 0; i < m->count; i++) {
            const struct boot_entry *e = &m->items[i].entry;
            if (e->key.kind == BOOT_LEASE && model_is_v4(e->lease.address) &&
                model_address(e->lease.address) == address) {
                any = true;
                live |= e->lease.state == LEASE_LIVE;
            }
        }
        CHECK(view_lease_of_address(v, address, &lease) == any);
        if (any) {
            CHECK((lease.state == LEASE_LIVE) == live && lease.address == address);
            check_lease(m, &lease);
        }
    }
}

static void check_bootenvs(const struct view *v, const struct model *m)
{
    struct arena a = {0};
    for (uint32_t k = 0; k < COUNT(some_names); k++) {
        struct boot_bootenv bootenv;
        bool any = false;
        for (uint32_t i = 0; i < m->count; i++)
            any |= m->items[i].entry.key.kind == BOOT_BOOTENV &&
                   str_eq_nocase(m->items[i].entry.bootenv.name, str_from(some_names[k]));
        CHECK(view_find_bootenv(v, str_from(some_names[k]), &a, &bootenv) == any);
        CHECK(!any || str_eq_nocase(bootenv.name, str_from(some_names[k])));
    }
    arena_fini(&a);
}

static void check_ranges(const struct view *v, const struct model *m, uint32_t address)
{
    const struct view_range *by_address = view_range_of_address(v, address);
    const struct view_range *by_subnet = view_range_of_subnet(v, address);
    const struct boot_entry *best = NULL, *first = NULL;
    for (uint32_t i = 0; i < m->count; i++) {
        const struct boot_entry *e = &m->items[i].entry;
        const char *wrong;
        struct ip from, to;
        if (e->key.kind != BOOT_RANGE || !model_is_v4(e->range.first) ||
            !model_network_is_admin(m, e->range.network))
            continue;
        CHECK(ip_parse(e->range.first, &from, &wrong) && ip_parse(e->range.last, &to, &wrong));
        if (from.lo > to.lo)
            continue;
        const struct ip ip = {.lo = address, .family = IP_V4};
        if (ip_is_in_subnet(ip, from) &&
            (!first || from.lo < model_address(first->range.first) ||
             (from.lo == model_address(first->range.first) && e->key.id < first->key.id)))
            first = e;
        if (from.lo > address || to.lo < address)
            continue;
        const bool is_better =
            !best || best->range.overlap > e->range.overlap ||
            (best->range.overlap == e->range.overlap &&
             (from.lo < model_address(best->range.first) ||
              (from.lo == model_address(best->range.first) && e->key.id < best->key.id)));
        if (is_better)
            best = e;
    }
    CHECK((by_address ? by_address->id : 0) == (best ? best->key.id : 0));
    CHECK((by_subnet ? by_subnet->id : 0) == (first ? first->key.id : 0));
    if (best) {
        CHECK(by_address->network == best->range.network && by_address->is_admin);
        CHECK(str_eq(by_address->name, best->range.name));
        CHECK(by_address->is_pool == str_eq_nocase(best->range.name, STR("dhcp")));
    }
}

static void check_routers(const struct view *v, const struct model *m)
{
    for (uint32_t k = 0; k < IDS; k++) {
        const struct view_router *router = view_router(v, ids[k]);
        const struct boot_entry *best = NULL;
        for (uint32_t i = 0; i < m->count; i++) {
            const struct boot_entry *e = &m->items[i].entry;
            if (e->key.kind != BOOT_ROUTER || e->router.network != ids[k] ||
                !model_is_v4(e->router.address))
                continue;
            CHECK(view_is_router(v, model_address(e->router.address)));
            if (!best || e->router.pref < best->router.pref)
                best = e;
        }
        CHECK((router != NULL) == (best != NULL));
        CHECK(!router || (router->network == ids[k] && router->pref == best->router.pref));
    }
}

static void check_plan(struct view *v, const struct model *m)
{
    view_refresh(v);
    for (uint32_t k = 0; k < IDS; k++) {
        const struct view_network *network = view_network(v, ids[k]);
        const struct boot_entry *e = model_get(m, BOOT_NETWORK, ids[k]);
        CHECK((network != NULL) == (e != NULL));
        CHECK(!e || (network->id == ids[k] && str_eq(network->name, e->network.name)));
        CHECK(!e || network->is_admin == str_eq(e->network.category, STR("admin")));
    }
    static const uint32_t addresses[] = {0,          1,          0x0a000000, 0x0a000001,
                                         0x0a000002, 0x0a000005, 0x0a000009, 0x0a00000a,
                                         0x0a000102, 0x0a010203, 0x0b000001, UINT32_MAX};
    for (uint32_t k = 0; k < COUNT(addresses); k++)
        check_ranges(v, m, addresses[k]);
    check_routers(v, m);
    CHECK(!view_is_router(v, 0x0b0b0b0b));
}

static void check_entries(const struct view *v, const struct model *m)
{
    struct arena a = {0};
    struct digest128 sum = {0};
    for (uint32_t i = 0; i < m->count; i++) {
        struct boot_entry out;
        CHECK(view_get(v, m->items[i].entry.key, &a, &out));
        CHECK(str_eq(encoded(&out, &a), m->items[i].bytes));
        digest_add(&sum, boot_entry_hash(&m->items[i].entry, &a));
    }
    CHECK(view_count(v) == m->count && digest_eq(view_digest(v), sum));
    uint32_t seen = 0;
    for (uint32_t kind = 0; kind < BOOT_FACT_COUNT; kind++)
        for (int64_t id = 0; (id = view_next_id(v, (enum boot_fact)kind, id)); seen++)
            CHECK(model_get(m, (enum boot_fact)kind, id));
    CHECK(seen == m->count);
    arena_fini(&a);
}

/* ---- random entries ---- */

static void random_machine(struct prng *r, struct arena *a, struct boot_machine *machine)
{
    uint64_t *macs = arena_array(a, uint64_t, COUNT(some_macs));
    struct boot_address *addresses = arena_array(a, struct boot_address, 3);
    *machine = (struct boot_machine){.name = STR("n"), .macs = macs, .addresses = addresses};
    for (uint32_t i = 0; i < COUNT(some_macs); i++)
        if (prng_chance(r, 300))
            macs[machine->mac_count++] = some_macs[i];
    machine->address_count = (uint32_t)prng_below(r, 4);
    for (uint32_t i = 0; i < machine->address_count; i++)
        addresses[i].address = str_from(PICK(r, some_addresses));
}

static void random_range(struct prng *r, struct boot_range *range)
{
    static const char *const v4[] = {"10.0.0.1/24", "10.0.0.2/24", "10.0.0.5/24", "10.0.0.9/24",
                                     "10.0.1.2/24", "10.1.2.3/8",  "0.0.0.0/0"};
    static const char *const v6[] = {"fd00::1/64", "fd00::9/64"};
    static const char *const names[] = {"dhcp", "DHCP", "host", ""};
    const bool is_v6 = prng_chance(r, 100);
    *range = (struct boot_range){.network = PICK(r, ids),
                                 .name = str_from(PICK(r, names)),
                                 .first = str_from(is_v6 ? PICK(r, v6) : PICK(r, v4)),
                                 .last = str_from(is_v6 ? PICK(r, v6) : PICK(r, v4)),
                                 .overlap = prng_chance(r, 400)};
}

static void random_lease(struct prng *r, struct boot_lease *lease)
{
    static const int64_t left[] = {0, 1, 2400000, INT64_MAX};
    *lease = (struct boot_lease){.mac = prng_chance(r, 100) ? 0 : (int64_t)PICK(r, some_macs),
                                 .network = PICK(r, ids),
                                 .range = PICK(r, ids),
                                 .address = prng_chance(r, 100) ? STR("fd00::7/64")
                                                                : str_from(PICK(r, some_addresses)),
                                 .state = (uint32_t)prng_below(r, LEASE_STATE_COUNT),
                                 .left_ms = PICK(r, left)};
}

static void random_entry(struct prng *r, struct arena *a, struct boot_entry *e)
{
    memset(e, 0, sizeof *e);
    e->key = (struct boot_key){(enum boot_fact)prng_below(r, BOOT_FACT_COUNT), PICK(r, ids)};
    switch (e->key.kind) {
    case BOOT_MACHINE: random_machine(r, a, &e->machine); return;
    case BOOT_BOOTENV: e->bootenv.name = str_from(PICK(r, some_names)); return;
    case BOOT_NETWORK:
        e->network.name = str_from(PICK(r, some_names));
        e->network.category = prng_chance(r, 600) ? STR("admin") : STR("bmc");
        return;
    case BOOT_RANGE: random_range(r, &e->range); return;
    case BOOT_ROUTER:
        e->router = (struct boot_router){PICK(r, ids),
                                         prng_chance(r, 200) ? STR("fd00::1/64")
                                                             : str_from(PICK(r, some_addresses)),
                                         (uint32_t)prng_below(r, 3)};
        return;
    case BOOT_LEASE: random_lease(r, &e->lease); return;
    case BOOT_NAME:
        e->name = (struct boot_name){STR("a.b"), BOOT_NAME_A, STR("10.0.0.1"), 1};
        return;
    case BOOT_FACT_COUNT: break;
    }
}

TEST(lookups_equal_those_of_a_list_after_any_sequence)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        static struct view v;
        struct model m = {.count = 0};
        struct prng r;
        prng_init(&r, seed);
        view_init(&v);
        for (uint32_t step = 0; step < 500; step++) {
            const int64_t now_ms = (int64_t)prng_below(&r, 1000000);
            struct boot_entry entry;
            random_entry(&r, &m.arena, &entry);
            if (prng_chance(&r, 300)) {
                view_remove(&v, entry.key);
                model_remove(&m, entry.key);
            } else {
                const struct str bytes = encoded(&entry, &m.arena);
                CHECK(view_put(&v, bytes, now_ms) == OK);
                model_put(&m, &entry, bytes, now_ms);
            }
            check_entries(&v, &m);
            check_machines(&v, &m);
            check_leases(&v, &m);
            check_bootenvs(&v, &m);
            check_plan(&v, &m);
        }
        while (m.count) {
            const struct boot_key key = m.items[0].entry.key;
            view_remove(&v, key);
            model_remove(&m, key);
        }
        check_entries(&v, &m);
        check_machines(&v, &m);
        check_leases(&v, &m);
        check_bootenvs(&v, &m);
        check_plan(&v, &m);
        CHECK(v.by_mac.count + v.by_address.count + v.lease_by_mac.count == 0);
        CHECK(v.lease_by_address.count + v.bootenv_by_name.count == 0);
        CHECK(v.heap.used == 0);
        view_fini(&v);
        arena_fini(&m.arena);
    }
}

/* ---- drawn cases ---- */

static void put_machine(struct view *v, int64_t id, uint64_t mac, const char *address)
{
    struct arena a = {0};
    const struct boot_address one = {.address = str_from(address ? address : "")};
    const struct boot_entry e = {.key = {BOOT_MACHINE, id},
                                 .machine = {.name = STR("n"),
                                             .macs = &mac,
                                             .mac_count = mac != 0,
                                             .addresses = &one,
                                             .address_count = address != NULL}};
    CHECK(view_put(v, encoded(&e, &a), 0) == OK);
    arena_fini(&a);
}

TEST(a_mac_that_moves_is_found_at_its_new_machine_in_both_orders)
{
    for (uint32_t order = 0; order < 2; order++) {
        static struct view v;
        view_init(&v);
        put_machine(&v, 1, 0xa, "10.0.0.1/24");
        put_machine(&v, 2, 0xb, NULL);
        if (order) {
            put_machine(&v, 2, 0xa, "10.0.0.1/24"); /* two machines have it now */
            put_machine(&v, 1, 0, NULL);
        } else {
            put_machine(&v, 1, 0, NULL);
            put_machine(&v, 2, 0xa, "10.0.0.1/24");
        }
        CHECK(view_machine_of_mac(&v, 0xa) == 2 && view_machine_of_mac(&v, 0xb) == 0);
        CHECK(view_machine_of_address(&v, 0x0a000001) == 2);
        /* A machine that had a MAC for a moment leaves it to the one that had it before. */
        put_machine(&v, 1, 0xa, NULL);
        put_machine(&v, 1, 0xc, NULL);
        CHECK(view_machine_of_mac(&v, 0xa) == 2 && view_machine_of_mac(&v, 0xc) == 1);
        view_remove(&v, (struct boot_key){BOOT_MACHINE, 2});
        CHECK(view_machine_of_mac(&v, 0xa) == 0);
        view_fini(&v);
    }
}

TEST(bytes_that_are_no_entry_change_nothing)
{
    static struct view v;
    view_init(&v);
    put_machine(&v, 1, 0xa, NULL);
    const struct digest128 before = view_digest(&v);
    CHECK(view_put(&v, STR(""), 0) == ERR_CORRUPT);
    CHECK(view_put(&v, STR("\x05\x01\x20"), 0) == ERR_CORRUPT);
    CHECK(view_put(&v, STR("\x07\x01"), 0) == ERR_CORRUPT);
    view_remove(&v, (struct boot_key){BOOT_MACHINE, 2});
    CHECK(view_count(&v) == 1 && digest_eq(before, view_digest(&v)));
    CHECK(view_machine_of_mac(&v, 0xa) == 1);
    CHECK(view_machine_of_mac(&v, UINT64_C(1) << 48 | 0xa) == 0);
    CHECK(view_machine_of_mac(&v, 0) == 0);
    struct view_lease lease;
    CHECK(!view_next_lease_of_mac(&v, UINT64_MAX, 0, &lease));
    view_fini(&v);
}

TEST(names_of_the_plan_outlive_their_entries_until_the_next_refresh)
{
    static struct view v;
    struct arena a = {0};
    struct boot_entry e = {.key = {BOOT_NETWORK, 3},
                           .network = {.name = STR("admin"), .category = STR("admin")}};
    view_init(&v);
    CHECK(view_put(&v, encoded(&e, &a), 0) == OK);
    CHECK(view_network(&v, 3) == NULL);
    view_refresh(&v);
    e.network.name = STR("other");
    CHECK(view_put(&v, encoded(&e, &a), 0) == OK);
    CHECK(str_eq(view_network(&v, 3)->name, STR("admin")));
    view_refresh(&v);
    CHECK(str_eq(view_network(&v, 3)->name, STR("other")));
    view_fini(&v);
    arena_fini(&a);
}

TEST(settings_are_replaced_and_do_not_refer_to_the_documents)
{
    static struct view v;
    char text[] = "{\"dhcp\":{\"domain\":\"a.example\"}}";
    const struct str document = str_from(text);
    view_init(&v);
    CHECK(!v.settings.has_dhcp && v.settings.lease_s == 3600);
    view_configure(&v, &document, 1);
    memset(text, 'x', sizeof text - 1);
    CHECK(v.settings.has_dhcp && str_eq(v.settings.all.domain, STR("a.example")));
    view_configure(&v, NULL, 0);
    CHECK(!v.settings.has_dhcp && v.settings.all.domain.len == 0);
    view_fini(&v);
}

/* A machine as a large installation has it: a long name, four MACs, two addresses. */
static void put_large_machine(struct view *v, uint32_t i, struct arena *a)
{
    const struct arena_mark mark = arena_mark(a);
    const struct ip first = {.lo = 0x0a000000u + i, .family = IP_V4, .prefix = 16};
    const struct ip second = {.lo = 0x0b000000u + i, .family = IP_V4, .prefix = 16};
    uint64_t macs[4];
    for (uint32_t k = 0; k < 4; k++)
        macs[k] = 0x525400000000 + i * UINT64_C(4) + k;
    const struct boot_address addresses[] = {{ip_format(a, first), 1, 2},
                                             {ip_format(a, second), 3, 4}};
    const struct boot_entry e = {
        .key = {BOOT_MACHINE, i + 1},
        .machine = {.name = STR_CONCAT(a, STR("node-"), str_from_i64(a, i),
                                       STR(".rack-17.row-4.hall-2.example.com")),
                    .bootenv = STR("debian-12-install"),
                    .generation = 17,
                    .ticket = STR("ba7816bf8f01cfea414140de5dae2223"
                                  "b00361a396177a9cb410ff61f20015ad"),
                    .mac_count = 4,
                    .macs = macs,
                    .address_count = 2,
                    .addresses = addresses}};
    CHECK(view_put(v, encoded(&e, a), 0) == OK);
    arena_rewind(a, mark);
}

TEST(ten_thousand_machines_need_little_memory)
{
    static struct view v;
    struct arena a = {0};
    view_init(&v);
    for (uint32_t pass = 0; pass < 3; pass++)
        for (uint32_t i = 0; i < 10000; i++)
            put_large_machine(&v, i, &a);
    CHECK(view_count(&v) == 10000 && v.heap.used < 6u << 20);
    CHECK(v.heap.chunk_count <= 7); /* of 1 MiB: replaced entries are reused */
    for (uint32_t i = 0; i < 10000; i++) {
        CHECK(view_machine_of_mac(&v, 0x525400000000 + i * UINT64_C(4) + 3) == i + 1);
        CHECK(view_machine_of_address(&v, 0x0b000000u + i) == i + 1);
    }
    view_fini(&v);
    arena_fini(&a);
}
