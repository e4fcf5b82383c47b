/* view.c - the entries of a boot view and their indices.
 *
 * An entry is one heap block: its encoding after a header. Each kind has a map from ids to blocks.
 * The other maps lead from a number (a MAC, an IPv4 address, 32 bits of the hash of a name) to
 * blocks. The changes of a turn arrive in any order, so for a moment two machines may have one MAC:
 * the one that loses it may be replaced after the one that gets it. Two leases of one address, and
 * two machines whose hints name one address, are possible for longer. Therefore a number may lead
 * to several blocks. The number is in the upper bits of the key of the map, and the low bits of the
 * id of the entry are in the lower ones; if that key is in use, the next free one is taken. An
 * entry is removed from an index by its block, so the keys of the others stay, and what is found
 * depends only on the entries that there are.
 *
 * Order: a new block is allocated before the old one is freed, so that their references differ.
 * Nothing is changed before the bytes are decoded. */
#include "boot/view/view.h"

#include <string.h>

#include "base/net/ip.h"
#include "model/network_record.h"

/* Bits of a key that are left for the id. */
enum { MAC_SPARE = 16, WORD_SPARE = 32, NAME_SEED = 3 };

/* The bytes of the entry follow. */
struct view_block {
    int64_t id;
    uint32_t size;   /* of the bytes */
    uint32_t offset; /* of the bytes, from the beginning of the block */
};

struct view_lease_block {
    struct view_block block;
    struct view_lease lease;
    bool is_v4;
};

static const struct view_block *view_block_at(const struct view *v, uint32_t ref)
{
    return heap_at(&v->heap, ref);
}

static struct str view_block_bytes(const struct view_block *block)
{
    return (struct str){(const char *)block + block->offset, block->size};
}

void view_init(struct view *v)
{
    memset(v, 0, sizeof *v);
    undo_init(&v->undo);
    heap_init(&v->heap, &v->undo);
    for (uint32_t kind = 0; kind < BOOT_FACT_COUNT; kind++)
        omap_init(&v->entries[kind], &v->heap);
    omap_init(&v->by_mac, &v->heap);
    omap_init(&v->by_address, &v->heap);
    omap_init(&v->lease_by_address, &v->heap);
    omap_init(&v->lease_by_mac, &v->heap);
    omap_init(&v->bootenv_by_name, &v->heap);
    view_configure(v, NULL, 0);
}

void view_fini(struct view *v)
{
    heap_fini(&v->heap);
    undo_fini(&v->undo);
    arena_fini(&v->scratch);
    arena_fini(&v->plan);
    arena_fini(&v->config);
}

void view_configure(struct view *v, const struct str *documents, uint32_t count)
{
    arena_reset(&v->config);
    boot_settings_read(&v->config, documents, count, &v->settings);
}

/* ---- indices ---- */

static void view_index_add(struct omap *index, uint64_t number, uint32_t spare, uint32_t ref,
                           int64_t id)
{
    const uint64_t mask = (UINT64_C(1) << spare) - 1;
    uint64_t low = (uint64_t)id & mask;
    /* A number with 2^spare entries is full; a further one is not found by it. */
    for (uint64_t tries = 0; omap_find(index, number << spare | low); tries++) {
        if (tries == mask)
            return;
        low = (low + 1) & mask;
    }
    omap_put(index, number << spare | low, ref);
}

/* The next entry of the number from *key on, which then has the key of the entry; 0 = no more. */
static uint32_t view_index_next(const struct omap *index, uint64_t number, uint32_t spare,
                                uint64_t *key)
{
    uint32_t ref;
    if (!omap_ceil(index, *key, key, &ref) || *key >> spare != number)
        return 0;
    return ref;
}

static uint32_t view_index_first(const struct omap *index, uint64_t number, uint32_t spare)
{
    uint64_t key = number << spare;
    return view_index_next(index, number, spare, &key);
}

static void view_index_remove(struct omap *index, uint64_t number, uint32_t spare, uint32_t ref,
                              int64_t id)
{
    uint64_t key = number << spare | ((uint64_t)id & ((UINT64_C(1) << spare) - 1));
    if (omap_find(index, key) != ref) {
        uint32_t other;
        key = number << spare;
        while ((other = view_index_next(index, number, spare, &key)) != ref)
            if (!other || key++ == UINT64_MAX)
                return;
    }
    omap_remove(index, key);
}

typedef void view_index_change(struct omap *index, uint64_t number, uint32_t spare, uint32_t ref,
                               int64_t id);

static uint64_t view_name_number(struct str name, struct arena *scratch)
{
    const struct arena_mark mark = arena_mark(scratch);
    const uint64_t number = hash64(str_lower(scratch, name), NAME_SEED) >> WORD_SPARE;
    arena_rewind(scratch, mark);
    return number;
}

static bool view_parse_address(struct str text, struct ip *out_ip)
{
    const char *wrong;
    return ip_parse(text, out_ip, &wrong) && out_ip->family == IP_V4;
}

/* Add the entry to the indices of its kind, or remove it from them. */
static void view_change_indices(struct view *v, const struct boot_entry *entry, uint32_t ref,
                                view_index_change *change)
{
    const int64_t id = entry->key.id;
    struct ip ip;
    if (entry->key.kind == BOOT_MACHINE) {
        for (uint32_t i = 0; i < entry->machine.mac_count; i++)
            change(&v->by_mac, entry->machine.macs[i], MAC_SPARE, ref, id);
        for (uint32_t i = 0; i < entry->machine.address_count; i++)
            if (view_parse_address(entry->machine.addresses[i].address, &ip))
                change(&v->by_address, ip.lo, WORD_SPARE, ref, id);
    } else if (entry->key.kind == BOOT_LEASE) {
        if (!view_parse_address(entry->lease.address, &ip))
            return;
        change(&v->lease_by_address, ip.lo, WORD_SPARE, ref, id);
        if (entry->lease.mac != 0 && entry->lease.state == LEASE_LIVE)
            change(&v->lease_by_mac, (uint64_t)entry->lease.mac, MAC_SPARE, ref, id);
    } else if (entry->key.kind == BOOT_BOOTENV) {
        change(&v->bootenv_by_name, view_name_number(entry->bootenv.name, &v->scratch), WORD_SPARE,
               ref, id);
    }
}

/* ---- entries ---- */

static void view_fill_lease(const struct boot_entry *entry, int64_t now_ms,
                            struct view_lease_block *block)
{
    const struct boot_lease *lease = &entry->lease;
    struct ip ip = {0};
    block->is_v4 = view_parse_address(lease->address, &ip);
    block->lease = (struct view_lease){
        .id = entry->key.id,
        .network = lease->network,
        .range = lease->range,
        .mac = (uint64_t)lease->mac,
        .address = block->is_v4 ? (uint32_t)ip.lo : 0,
        .state = lease->state,
        .ends_ms = now_ms > INT64_MAX - lease->left_ms ? INT64_MAX : now_ms + lease->left_ms,
    };
}

static uint32_t view_new_block(struct view *v, const struct boot_entry *entry, struct str bytes,
                               int64_t now_ms)
{
    const bool is_lease = entry->key.kind == BOOT_LEASE;
    const uint32_t offset =
        is_lease ? (uint32_t)sizeof(struct view_lease_block) : (uint32_t)sizeof(struct view_block);
    const uint32_t ref = heap_alloc(&v->heap, offset + bytes.len);
    char *at = heap_at(&v->heap, ref);
    if (is_lease)
        view_fill_lease(entry, now_ms, (void *)at);
    *(struct view_block *)(void *)at = (struct view_block){entry->key.id, bytes.len, offset};
    memcpy(at + offset, bytes.at, bytes.len);
    return ref;
}

static bool view_is_of_plan(enum boot_fact kind)
{
    return kind == BOOT_NETWORK || kind == BOOT_RANGE || kind == BOOT_ROUTER;
}

/* Take the entry out of the indices and the digest. The block stays. */
static void view_detach(struct view *v, uint32_t ref)
{
    struct boot_entry entry;
    must(boot_entry_decode(view_block_bytes(view_block_at(v, ref)), &v->scratch, &entry) == OK);
    view_change_indices(v, &entry, ref, view_index_remove);
    digest_sub(&v->digest, boot_entry_hash(&entry, &v->scratch));
    if (view_is_of_plan(entry.key.kind))
        v->plan_is_stale = true;
}

static void view_free_block(struct view *v, uint32_t ref)
{
    const struct view_block *block = view_block_at(v, ref);
    heap_free(&v->heap, ref, block->offset + block->size);
}

err view_put(struct view *v, struct str bytes, int64_t now_ms)
{
    struct boot_entry entry;
    arena_reset(&v->scratch);
    if (boot_entry_decode(bytes, &v->scratch, &entry) != OK)
        return ERR_CORRUPT;
    struct omap *entries = &v->entries[entry.key.kind];
    const uint32_t old = omap_find(entries, (uint64_t)entry.key.id);
    const uint32_t ref = view_new_block(v, &entry, bytes, now_ms);
    if (old) {
        view_detach(v, old);
        view_free_block(v, old);
        v->count--;
    }
    omap_put(entries, (uint64_t)entry.key.id, ref);
    view_change_indices(v, &entry, ref, view_index_add);
    digest_add(&v->digest, boot_entry_hash(&entry, &v->scratch));
    v->count++;
    if (view_is_of_plan(entry.key.kind))
        v->plan_is_stale = true;
    return OK;
}

void view_remove(struct view *v, struct boot_key key)
{
    must(key.kind < BOOT_FACT_COUNT);
    const uint32_t ref = omap_find(&v->entries[key.kind], (uint64_t)key.id);
    if (!ref)
        return;
    arena_reset(&v->scratch);
    view_detach(v, ref);
    omap_remove(&v->entries[key.kind], (uint64_t)key.id);
    view_free_block(v, ref);
    v->count--;
}

uint32_t view_count(const struct view *v)
{
    return v->count;
}

struct digest128 view_digest(const struct view *v)
{
    return v->digest;
}

/* ---- lookups ---- */

bool view_get(const struct view *v, struct boot_key key, struct arena *a, struct boot_entry *out)
{
    must(key.kind < BOOT_FACT_COUNT);
    const uint32_t ref = omap_find(&v->entries[key.kind], (uint64_t)key.id);
    if (!ref)
        return false;
    must(boot_entry_decode(view_block_bytes(view_block_at(v, ref)), a, out) == OK);
    return true;
}

int64_t view_next_id(const struct view *v, enum boot_fact kind, int64_t after)
{
    uint64_t id;
    uint32_t ref;
    must(kind < BOOT_FACT_COUNT);
    if (after < 0 || after == INT64_MAX)
        return 0;
    return omap_ceil(&v->entries[kind], (uint64_t)after + 1, &id, &ref) ? (int64_t)id : 0;
}

int64_t view_machine_of_mac(const struct view *v, uint64_t mac)
{
    if (mac >> 48)
        return 0;
    const uint32_t ref = view_index_first(&v->by_mac, mac, MAC_SPARE);
    return ref ? view_block_at(v, ref)->id : 0;
}

int64_t view_machine_of_address(const struct view *v, uint32_t address)
{
    const uint32_t ref = view_index_first(&v->by_address, address, WORD_SPARE);
    return ref ? view_block_at(v, ref)->id : 0;
}

bool view_find_bootenv(const struct view *v, struct str name, struct arena *a,
                       struct boot_bootenv *out)
{
    const uint64_t number = view_name_number(name, a);
    uint64_t key = number << WORD_SPARE;
    uint32_t ref;
    for (; (ref = view_index_next(&v->bootenv_by_name, number, WORD_SPARE, &key)); key++) {
        struct boot_entry entry;
        must(boot_entry_decode(view_block_bytes(view_block_at(v, ref)), a, &entry) == OK);
        if (str_eq_nocase(entry.bootenv.name, name)) {
            *out = entry.bootenv;
            return true;
        }
        if (key == UINT64_MAX)
            break;
    }
    return false;
}

static const struct view_lease *view_lease_at(const struct view *v, uint32_t ref)
{
    const struct view_lease_block *block = heap_at(&v->heap, ref);
    return &block->lease;
}

uint32_t view_live_leases(const struct view *v)
{
    return v->lease_by_mac.count;
}

bool view_lease_of_address(const struct view *v, uint32_t address, struct view_lease *out)
{
    uint64_t key = (uint64_t)address << WORD_SPARE;
    bool found = false;
    uint32_t ref;
    /* A live lease before others. */
    while ((ref = view_index_next(&v->lease_by_address, address, WORD_SPARE, &key))) {
        const struct view_lease *lease = view_lease_at(v, ref);
        if (!found || (lease->state == LEASE_LIVE && out->state != LEASE_LIVE))
            *out = *lease;
        found = true;
        if (out->state == LEASE_LIVE || key == UINT64_MAX)
            break;
        key++;
    }
    return found;
}

/* Visits the live leases of a MAC; `key` begins with 0. */
static const struct view_lease *view_each_lease_of_mac(const struct view *v, uint64_t mac,
                                                       uint64_t *key)
{
    if (mac >> 48 || *key == UINT64_MAX)
        return NULL;
    *key = *key ? *key + 1 : mac << MAC_SPARE;
    const uint32_t ref = view_index_next(&v->lease_by_mac, mac, MAC_SPARE, key);
    return ref ? view_lease_at(v, ref) : NULL;
}

bool view_next_lease_of_mac(const struct view *v, uint64_t mac, int64_t after,
                            struct view_lease *out)
{
    const struct view_lease *lease;
    bool found = false;
    uint64_t key = 0;
    while ((lease = view_each_lease_of_mac(v, mac, &key)))
        if (lease->id > after && (!found || lease->id < out->id)) {
            *out = *lease;
            found = true;
        }
    return found;
}
