/* boot_world.h - reads for the tests of the boot view: entries as lines of text, the view made
 * again of records alone, and a copy that is kept as a boot server keeps it.
 *
 * "machine n1 local 2 [52:54:00:00:00:01] [10.0.0.7/24 admin.host]", "network admin admin", ...; a
 * machine is followed by its options and its ticket, if it has any.
 */
#pragma once

#include "base/net/mac.h"
#include "tests/unit/core/network_world.h"

/* ---- entries as text ---- */

static inline void put_mac(struct world *w, struct buf *b, uint64_t mac)
{
    buf_put_str(b, nic_format_mac(&w->arena, mac));
}

/* "admin.host"; "hint" for a hinted address. */
static inline void put_range_of(struct world *w, struct buf *b, int64_t network, int64_t range)
{
    struct record of, in;
    if (!network && !range) {
        buf_put_z(b, "hint");
        return;
    }
    CHECK(core_record(w->core, TABLE_NETWORK, network, &of));
    buf_put_str(b, of.network.name);
    if (range) {
        CHECK(core_record(w->core, TABLE_NETWORK_RANGE, range, &in));
        CHECK(in.network_range.network_id == network);
        buf_put_c(b, '.');
        buf_put_str(b, in.network_range.name);
    }
}

static inline void put_machine(struct world *w, struct buf *b, const struct boot_machine *m)
{
    buf_put_str(b, m->name);
    buf_put_c(b, ' ');
    buf_put_str(b, m->bootenv);
    buf_put_c(b, ' ');
    buf_put_i64(b, m->generation);
    buf_put_z(b, " [");
    for (uint32_t i = 0; i < m->mac_count; i++) {
        buf_put_z(b, i ? " " : "");
        put_mac(w, b, m->macs[i]);
    }
    buf_put_z(b, "] [");
    for (uint32_t i = 0; i < m->address_count; i++) {
        buf_put_z(b, i ? ", " : "");
        buf_put_str(b, m->addresses[i].address);
        buf_put_c(b, ' ');
        put_range_of(w, b, m->addresses[i].network, m->addresses[i].range);
    }
    buf_put_c(b, ']');
    buf_put_z(b, m->options.len ? " " : "");
    buf_put_str(b, m->options);
    buf_put_z(b, m->ticket.len ? " ticket " : "");
    buf_put_str(b, m->ticket);
}

static inline void put_number(struct buf *b, const char *before, int64_t number)
{
    buf_put_z(b, before);
    buf_put_i64(b, number);
}

static inline void put_entry(struct world *w, struct buf *b, const struct boot_entry *e)
{
    buf_put_z(b, boot_fact_name(e->key.kind));
    buf_put_c(b, ' ');
    switch (e->key.kind) {
    case BOOT_MACHINE: put_machine(w, b, &e->machine); return;
    case BOOT_NETWORK:
        buf_put_str(b, e->network.name);
        buf_put_c(b, ' ');
        buf_put_str(b, e->network.category);
        buf_put_c(b, ' ');
        buf_put_str(b, e->network.group);
        put_number(b, e->network.configure ? " configured " : " ", e->network.vlan);
        return;
    case BOOT_RANGE:
        put_range_of(w, b, e->range.network, e->key.id);
        buf_put_c(b, ' ');
        buf_put_str(b, e->range.name);
        buf_put_c(b, ' ');
        buf_put_str(b, e->range.first);
        buf_put_c(b, ' ');
        buf_put_str(b, e->range.last);
        buf_put_z(b, e->range.overlap ? " overlap" : "");
        return;
    case BOOT_ROUTER:
        put_range_of(w, b, e->router.network, 0);
        buf_put_c(b, ' ');
        buf_put_str(b, e->router.address);
        put_number(b, " ", e->router.pref);
        return;
    case BOOT_LEASE:
        buf_put_str(b, e->lease.address);
        buf_put_c(b, ' ');
        put_mac(w, b, (uint64_t)e->lease.mac);
        buf_put_c(b, ' ');
        put_range_of(w, b, e->lease.network, e->lease.range);
        put_number(b, " ", e->lease.state);
        put_number(b, " ", e->lease.left_ms);
        return;
    case BOOT_NAME:
        buf_put_str(b, e->name.name);
        put_number(b, " ", e->name.type);
        buf_put_c(b, ' ');
        buf_put_str(b, e->name.address);
        put_number(b, " of ", e->name.node);
        return;
    case BOOT_BOOTENV:
        buf_put_str(b, e->bootenv.name);
        buf_put_c(b, ' ');
        buf_put_str(b, e->bootenv.kernel);
        return;
    case BOOT_FACT_COUNT: break;
    }
    world_fail(HERE, "a kind outside the enum");
}

/* The entry of the key; "none". */
static inline const char *entry_text(struct world *w, enum boot_fact kind, int64_t id)
{
    struct boot_entry entry;
    struct buf b = buf_in(&w->arena);
    if (!core_boot_view(w->core, (struct boot_key){kind, id}, &w->arena, &entry))
        return "none";
    CHECK(entry.key.kind == kind && entry.key.id == id);
    put_entry(w, &b, &entry);
    return str_z(&w->arena, buf_str(&b));
}

static inline const char *machine_text(struct world *w, const char *node)
{
    return entry_text(w, BOOT_MACHINE, the_node(w, node));
}

/* All entries as the core walks them, a line each. Each one is decoded from its bytes. */
static inline const char *view_text(struct world *w)
{
    struct buf b = buf_in(&w->arena);
    struct boot_key key = {0}, last = {0};
    struct digest128 sum = {0};
    while (core_boot_next(w->core, &key)) {
        struct boot_entry entry, decoded;
        struct buf bytes = buf_in(&w->arena);
        CHECK(boot_key_cmp(last, key) < 0);
        CHECK(core_boot_view(w->core, key, &w->arena, &entry));
        CHECK(core_boot_turn(w->core, key) > 0);
        boot_entry_encode(&entry, &bytes);
        CHECK(boot_entry_decode(buf_str(&bytes), &w->arena, &decoded) == OK);
        digest_add(&sum, boot_entry_hash(&decoded, &w->arena));
        put_entry(w, &b, &decoded);
        buf_put_c(&b, '\n');
        last = key;
    }
    CHECK(digest_eq(sum, core_boot_digest(w->core)));
    return str_z(&w->arena, buf_str(&b));
}

/* ---- the same of records alone ---- */

static inline bool naive_provides(struct world *w, int64_t role_id, uint32_t *out_flags)
{
    struct record role, provided;
    CHECK(core_record(w->core, TABLE_ROLE, role_id, &role));
    *out_flags = role.role.flags;
    const struct json *names = doc_tree(&w->arena, role.role.provides);
    for (const struct json *name = names && names->kind == JSON_ARRAY ? names->first : NULL; name;
         name = name->next) {
        const int64_t id = core_find(w->core, TABLE_ROLE, name->text);
        if (id && core_record(w->core, TABLE_ROLE, id, &provided) &&
            provided.role.flags & ROLE_DISCOVERY)
            return true;
    }
    return false;
}

static inline bool naive_is_managed(struct world *w, const struct node_record *node)
{
    bool is_discovered = false, is_provided = false;
    struct record nr;
    for (int64_t id = 0; (id = core_next_id(w->core, TABLE_NODEROLE, id)) != 0;) {
        uint32_t flags;
        CHECK(core_record(w->core, TABLE_NODEROLE, id, &nr));
        if (nr.noderole.node_id != node->id || nr.noderole.state == NODEROLE_PROPOSED)
            continue;
        is_provided = naive_provides(w, nr.noderole.role_id, &flags) || is_provided;
        is_discovered = is_discovered || flags & ROLE_DISCOVERY;
    }
    return !node->system &&
           (is_discovered || (is_provided && !str_eq(node->bootenv, STR("local"))));
}

static inline void naive_put_macs(struct world *w, int64_t node, struct boot_machine *m)
{
    uint64_t *macs = arena_array(&w->arena, uint64_t, NICS_OWN_MAX);
    struct record nic;
    for (int64_t id = 0; (id = core_next_id(w->core, TABLE_NIC, id)) != 0;) {
        CHECK(core_record(w->core, TABLE_NIC, id, &nic));
        if (nic.nic.node_id != node)
            continue;
        uint32_t at = m->mac_count++;
        for (; at && macs[at - 1] > (uint64_t)nic.nic.mac; at--)
            macs[at] = macs[at - 1];
        macs[at] = (uint64_t)nic.nic.mac;
    }
    m->macs = macs;
}

static inline void naive_put_addresses(struct world *w, const struct node_record *node,
                                       struct boot_machine *m)
{
    struct boot_address *addresses =
        arena_array(&w->arena, struct boot_address, BOOT_ADDRESSES_MAX);
    struct record row, network;
    for (int64_t id = 0; (id = core_next_id(w->core, TABLE_NETWORK_ALLOCATION, id)) != 0;) {
        CHECK(core_record(w->core, TABLE_NETWORK_ALLOCATION, id, &row));
        const struct network_allocation_record *r = &row.network_allocation;
        CHECK(core_record(w->core, TABLE_NETWORK, r->network_id, &network));
        if (r->node_id == node->id && str_eq(network.network.category, STR("admin")) &&
            str_find(r->address, ':', 0) == r->address.len)
            addresses[m->address_count++] =
                (struct boot_address){r->address, r->network_id, r->network_range_id};
    }
    const struct json *hint = node->hint.len ? doc_tree(&w->arena, node->hint) : NULL;
    const struct json *value = hint ? json_get(hint, STR("admin-v4addr")) : NULL;
    const char *wrong;
    struct ip ip;
    if (!m->address_count && value && value->kind == JSON_STRING &&
        ip_parse(value->text, &ip, &wrong) && ip.family == IP_V4)
        addresses[m->address_count++] = (struct boot_address){ip_format(&w->arena, ip), 0, 0};
    m->addresses = addresses;
}

/* The member of the hint, which is read whatever its text looks like. */
static inline struct str naive_options(struct world *w, const struct node_record *node)
{
    const struct json *hint = node->hint.len ? doc_tree(&w->arena, node->hint) : NULL;
    for (const struct json *member = hint ? hint->first : NULL; member; member = member->next) {
        const struct str text = json_write(&w->arena, member);
        if (str_eq(member->key, STR("boot")) && text.at[0] == '{' && text.len > 2 &&
            text.len <= 4096)
            return text;
    }
    return STR("");
}

/* Fill the entry of a record; false if it has none. */
static inline bool naive_entry(struct world *w, const struct record *r, struct boot_entry *e)
{
    struct record of, node, range;
    switch ((int)r->table) {
    case TABLE_NETWORK:
        e->key.kind = BOOT_NETWORK;
        e->network =
            (struct boot_network){r->network.name, r->network.category, r->network.group,
                                  r->network.configure, r->network.use_vlan ? r->network.vlan : 0};
        return true;
    case TABLE_NETWORK_RANGE:
        e->key.kind = BOOT_RANGE;
        e->range = (struct boot_range){r->network_range.network_id, r->network_range.name,
                                       r->network_range.first, r->network_range.last,
                                       r->network_range.overlap};
        return true;
    case TABLE_NETWORK_ROUTER:
        e->key.kind = BOOT_ROUTER;
        e->router = (struct boot_router){r->network_router.network_id, r->network_router.address,
                                         r->network_router.pref};
        return true;
    case TABLE_LEASE:
        e->key.kind = BOOT_LEASE;
        CHECK(core_record(w->core, TABLE_NETWORK_RANGE, r->lease.network_range_id, &range));
        e->lease = (struct boot_lease){r->lease.mac,   range.network_range.network_id,
                                       range.id,       r->lease.address,
                                       r->lease.state, r->lease.left_ms};
        return true;
    case TABLE_NODE:
        e->key.kind = BOOT_MACHINE;
        e->machine = (struct boot_machine){.name = r->node.name,
                                           .bootenv = r->node.bootenv,
                                           .generation = r->node.boot_generation,
                                           .ticket = r->node.grant_ticket,
                                           .options = naive_options(w, &r->node)};
        if (!naive_is_managed(w, &r->node))
            return false;
        naive_put_macs(w, r->id, &e->machine);
        naive_put_addresses(w, &r->node, &e->machine);
        return true;
    case TABLE_DNS_NAME_ENTRY: {
        CHECK(core_record(w->core, TABLE_NETWORK_ALLOCATION,
                          r->dns_name_entry.network_allocation_id, &of));
        CHECK(core_record(w->core, TABLE_NODE, of.network_allocation.node_id, &node));
        const struct str address = of.network_allocation.address;
        e->key.kind = BOOT_NAME;
        e->name = (struct boot_name){r->dns_name_entry.name,
                                     str_find(address, ':', 0) < address.len ? BOOT_NAME_AAAA
                                                                             : BOOT_NAME_A,
                                     str_slice(address, 0, str_find(address, '/', 0)), node.id};
        return true;
    }
    case TABLE_BOOTENV:
        e->key.kind = BOOT_BOOTENV;
        e->bootenv = (struct boot_bootenv){.name = r->bootenv.name, .kernel = r->bootenv.kernel};
        return true;
    default: return false;
    }
}

static inline const char *naive_text(struct world *w)
{
    static const enum table tables[] = {TABLE_BOOTENV,        TABLE_NETWORK, TABLE_NETWORK_RANGE,
                                        TABLE_NETWORK_ROUTER, TABLE_LEASE,   TABLE_NODE,
                                        TABLE_DNS_NAME_ENTRY};
    struct buf b = buf_in(&w->arena);
    for (uint32_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (int64_t id = 0; (id = core_next_id(w->core, tables[t], id)) != 0;) {
            struct record record;
            struct boot_entry entry = {.key = {0, id}};
            CHECK(core_record(w->core, tables[t], id, &record));
            if (!naive_entry(w, &record, &entry))
                continue;
            put_entry(w, &b, &entry);
            buf_put_c(&b, '\n');
        }
    return str_z(&w->arena, buf_str(&b));
}

#define EXPECT_NAIVE_VIEW(w) EXPECT_STR(view_text(w), naive_text(w))

/* ---- a copy of the view ---- */

enum { COPY_MAX = 4096 };

struct view_copy {
    struct arena arena;
    struct boot_key keys[COPY_MAX];
    struct str bytes[COPY_MAX];
    uint32_t count;
};

static inline void copy_put(struct view_copy *copy, struct world *w, struct boot_key key)
{
    struct boot_entry entry;
    uint32_t i = 0;
    while (i < copy->count && boot_key_cmp(copy->keys[i], key) != 0)
        i++;
    if (!core_boot_view(w->core, key, &w->arena, &entry)) {
        if (i < copy->count) {
            copy->keys[i] = copy->keys[--copy->count];
            copy->bytes[i] = copy->bytes[copy->count];
        }
        return;
    }
    struct buf bytes = buf_in(&copy->arena);
    boot_entry_encode(&entry, &bytes);
    CHECK(i < COPY_MAX);
    copy->keys[i] = key;
    copy->bytes[i] = buf_str(&bytes);
    copy->count += i == copy->count;
}

/* Begin with all entries, as in a base image. */
static inline void copy_begin(struct view_copy *copy, struct world *w)
{
    struct boot_key key = {0};
    arena_reset(&copy->arena);
    copy->count = 0;
    while (core_boot_next(w->core, &key))
        copy_put(copy, w, key);
}

/* Collect a batch, apply its changes to the copy and compare it with the view. Returns the number
 * of changes. */
static inline uint32_t copy_follow(struct view_copy *copy, struct world *w)
{
    const int64_t before = w->turn;
    struct boot_key key = {0};
    struct digest128 sum = {0};
    uint32_t count, walked = 0;
    int64_t turn;
    world_collect(w);
    const struct boot_key *changes = core_boot_changes(w->core, &count, &turn);
    CHECK(turn == w->turn);
    for (uint32_t i = 0; i < count && w->turn > before; i++) {
        for (uint32_t k = 0; k < i; k++)
            CHECK(boot_key_cmp(changes[i], changes[k]) != 0);
        copy_put(copy, w, changes[i]);
        CHECK(core_boot_turn(w->core, changes[i]) == turn ||
              core_boot_turn(w->core, changes[i]) == 0);
    }
    for (uint32_t i = 0; i < copy->count; i++) {
        struct boot_entry entry;
        CHECK(boot_entry_decode(copy->bytes[i], &w->arena, &entry) == OK);
        digest_add(&sum, boot_entry_hash(&entry, &w->arena));
    }
    while (core_boot_next(w->core, &key))
        walked++;
    CHECK(walked == copy->count);
    CHECK(digest_eq(sum, core_boot_digest(w->core)));
    return count;
}
