#include "core/boot/boot_changes.h"

#include "core/boot/boot_service.h"
#include "core/network/network_private.h"

/* The boot view: which entries exist, when each changed last, and what the current batch changed.
 *
 * An entry is computed of rows whenever it is needed (boot_entries.c) and is not kept. Each row
 * that may have one keeps the hash of its entry (0 = it is not in the view) and the turn of the
 * last change (struct boot_state); this file owns both, the parts of roles, the flag is_admin of
 * networks, vars.boot_digest, and the lists of changes.
 *
 * core_edit_row() reports every row of the tables that entries are made of, which costs a few
 * bytes. At the end of the step, when all its changes are made, boot_view_settle() computes the
 * entries of the reported rows: those of the rows themselves, and of the machines and names that
 * refer to them. An entry whose hash differs goes to the list of the batch, once. The cost is that
 * of the rows that changed, with two exceptions: a network that enters or leaves the category admin
 * concerns the machines with addresses in it, and a role that becomes one of discovery those that
 * it is bound to (less than 1 ms for 1,000 machines; docs/spec/boot.md).
 *
 * Order: steps nest, and an inner step settles only the rows that it has changed
 * (core.boot_from). Rows that were written outside of a step are settled by the next one.
 * core_collect() stamps the listed entries with the turn; until then their turn is BOOT_TURN_OPEN,
 * which is later than every turn.
 *
 * Failure: states and digest are under undo, and a rollback shortens the lists to their length at
 * the mark (step.c). Nothing here can be refused. After a load every entry counts as changed in the
 * last turn that changed a row. */

static const enum table boot_tables[BOOT_FACT_COUNT] = {
    [BOOT_BOOTENV] = TABLE_BOOTENV,     [BOOT_NETWORK] = TABLE_NETWORK,
    [BOOT_RANGE] = TABLE_NETWORK_RANGE, [BOOT_ROUTER] = TABLE_NETWORK_ROUTER,
    [BOOT_LEASE] = TABLE_LEASE,         [BOOT_MACHINE] = TABLE_NODE,
    [BOOT_NAME] = TABLE_DNS_NAME_ENTRY,
};

int64_t boot_row_id(const struct core *c, enum boot_fact kind, uint32_t ix)
{
    return ((const struct object *)pool_at(&c->tables[boot_tables[kind]].pool, ix))->id;
}

/* The index of the live row of the key; 0 = none. */
static uint32_t boot_find_row(const struct core *c, struct boot_key key)
{
    must(key.kind < BOOT_FACT_COUNT);
    return key.id > 0 ? omap_find(&c->tables[boot_tables[key.kind]].by_id, (uint64_t)key.id) : 0;
}

/* In the row, so that settling needs no lookup. */
static struct boot_state *boot_state_of(const struct core *c, enum boot_fact kind, uint32_t ix)
{
    void *row = pool_at(&c->tables[boot_tables[kind]].pool, ix);
    switch (kind) {
    case BOOT_NETWORK: return &((struct network *)row)->boot;
    case BOOT_RANGE: return &((struct network_range *)row)->boot;
    case BOOT_ROUTER: return &((struct network_router *)row)->boot;
    case BOOT_LEASE: return &((struct lease *)row)->boot;
    case BOOT_MACHINE: return &((struct node *)row)->boot;
    case BOOT_NAME: return &((struct dns_name_entry *)row)->boot;
    case BOOT_BOOTENV: return &((struct bootenv *)row)->boot;
    case BOOT_FACT_COUNT: break;
    }
    impossible("a kind of boot entry outside the enum");
}

static bool boot_is_in_view(const struct boot_state *state)
{
    return state->hash.lo != 0 || state->hash.hi != 0;
}

/* 0 if the row is dead or not in the view. */
static struct digest128 boot_hash_now(const struct core *c, enum boot_fact kind, uint32_t ix,
                                      struct arena *scratch)
{
    struct boot_entry entry;
    struct digest128 hash = {0};
    const struct arena_mark mark = arena_mark(scratch);
    if (pool_is_live(&c->tables[boot_tables[kind]].pool, ix) &&
        boot_entry_of_row(c, kind, ix, scratch, &entry))
        hash = boot_entry_hash(&entry, scratch);
    arena_rewind(scratch, mark);
    return hash;
}

/* ---- changes of a step ---- */

void boot_row_changed(struct core *c, enum table table, uint32_t ix)
{
    if (table == TABLE_NODEROLE) {
        /* The role of a new row is not set yet. */
        const role_ix r = noderole_at(c, (noderole_ix){ix})->role;
        if (r.v && role_at(c, r)->boot_part == BOOT_PART_NONE)
            return;
    }
    const uint64_t row = (uint64_t)table << 32 | ix;
    const struct list *rows = &c->boot_rows;
    if (rows->count > c->boot_from && ((const uint64_t *)rows->items)[rows->count - 1] == row)
        return;
    *(uint64_t *)list_push(&c->boot_rows, sizeof row) = row;
}

/* Compute the entry of a row again; list its key if it has changed. */
static void boot_update(struct core *c, enum boot_fact kind, uint32_t ix, struct arena *scratch)
{
    struct boot_state *state = boot_state_of(c, kind, ix);
    const struct digest128 hash = boot_hash_now(c, kind, ix, scratch);
    if (digest_eq(hash, state->hash))
        return;
    struct vars *vars = vars_edit(c);
    digest_sub(&vars->boot_digest, state->hash);
    digest_add(&vars->boot_digest, hash);
    /* Only these bytes, not the row: plans do not read them, and a network may change the entries
     * of all machines. */
    undo_note(&c->undo, state, sizeof *state);
    if (state->turn != BOOT_TURN_OPEN)
        *(struct boot_key *)list_push(&c->boot_open, sizeof(struct boot_key)) =
            (struct boot_key){kind, boot_row_id(c, kind, ix)};
    if (kind == BOOT_MACHINE && c->vars.boot_roles.count)
        boot_due_note(c, boot_row_id(c, kind, ix));
    state->hash = hash;
    state->turn = BOOT_TURN_OPEN;
}

static void boot_update_noderoles(struct core *c, role_ix r, struct arena *scratch)
{
    const struct vec *drs = &role_at(c, r)->deployed;
    for (uint32_t i = 0; i < drs->count; i++) {
        const struct vec *all =
            &deployment_role_at(c, (deployment_role_ix){vec_at(c, drs, i)})->noderoles;
        for (uint32_t k = 0; k < all->count; k++)
            boot_update(c, BOOT_MACHINE, noderole_at(c, (noderole_ix){vec_at(c, all, k)})->node.v,
                        scratch);
    }
}

/* A role may be a part for what another role is: all parts are determined again. */
static void boot_update_roles(struct core *c, struct arena *scratch)
{
    const struct pool *roles = &c->tables[TABLE_ROLE].pool;
    for (uint32_t ix = pool_next(roles, 0); ix; ix = pool_next(roles, ix)) {
        const enum boot_part part = boot_part_of_role(c, (role_ix){ix});
        if (part == role_at(c, (role_ix){ix})->boot_part)
            continue;
        role_derive(c, (role_ix){ix})->boot_part = (uint8_t)part;
        boot_update_noderoles(c, (role_ix){ix}, scratch);
    }
}

static bool boot_network_is_admin(const struct core *c, network_ix w)
{
    return pool_is_live(&c->tables[TABLE_NETWORK].pool, w.v) &&
           str_eq(text_of(c, network_at(c, w)->category), STR("admin"));
}

static void boot_update_network(struct core *c, network_ix w, struct arena *scratch)
{
    const bool is_admin = boot_network_is_admin(c, w);
    boot_update(c, BOOT_NETWORK, w.v, scratch);
    if (is_admin == network_at(c, w)->is_admin)
        return;
    network_derive(c, w)->is_admin = is_admin;
    const struct vec *ranges = &network_at(c, w)->ranges;
    for (uint32_t i = 0; i < ranges->count; i++) {
        const network_range_ix r = {vec_at(c, ranges, i)};
        int64_t id = 0;
        for (uint32_t ix; (ix = address_next_in_range(c, r, TABLE_NETWORK_ALLOCATION, id));) {
            const struct network_allocation *row =
                network_allocation_at(c, (network_allocation_ix){ix});
            id = row->o.id;
            boot_update(c, BOOT_MACHINE, row->node.v, scratch);
        }
    }
}

static void boot_update_allocation(struct core *c, network_allocation_ix a, struct arena *scratch)
{
    const struct network_allocation *row = network_allocation_at(c, a);
    boot_update(c, BOOT_MACHINE, row->node.v, scratch);
    if (pool_is_live(&c->tables[TABLE_NETWORK_ALLOCATION].pool, a.v))
        for (dns_name_entry_ix e = row->names; e.v; e = dns_name_entry_at(c, e)->next)
            boot_update(c, BOOT_NAME, e.v, scratch);
}

static void boot_update_row(struct core *c, enum table table, uint32_t ix, struct arena *scratch)
{
    switch ((int)table) {
    case TABLE_NODE: boot_update(c, BOOT_MACHINE, ix, scratch); return;
    case TABLE_NODEROLE:
        boot_update(c, BOOT_MACHINE, noderole_at(c, (noderole_ix){ix})->node.v, scratch);
        return;
    case TABLE_NIC: boot_update(c, BOOT_MACHINE, nic_at(c, (nic_ix){ix})->node.v, scratch); return;
    case TABLE_NETWORK_ALLOCATION:
        boot_update_allocation(c, (network_allocation_ix){ix}, scratch);
        return;
    case TABLE_NETWORK: boot_update_network(c, (network_ix){ix}, scratch); return;
    case TABLE_NETWORK_RANGE: boot_update(c, BOOT_RANGE, ix, scratch); return;
    case TABLE_NETWORK_ROUTER: boot_update(c, BOOT_ROUTER, ix, scratch); return;
    case TABLE_LEASE: boot_update(c, BOOT_LEASE, ix, scratch); return;
    case TABLE_DNS_NAME_ENTRY: boot_update(c, BOOT_NAME, ix, scratch); return;
    case TABLE_BOOTENV: boot_update(c, BOOT_BOOTENV, ix, scratch); return;
    case TABLE_ROLE: return; /* boot_update_roles() */
    default: break;
    }
    impossible("a table without a part in the boot view");
}

/* Roles and networks come first: entries of machines read what is derived of them. */
void boot_view_settle(struct core *c)
{
    if (c->boot_rows.count == c->boot_from)
        return;
    struct arena scratch = {0};
    bool has_role = false, has_network = false;
    const uint64_t *rows = c->boot_rows.items;
    for (uint32_t i = c->boot_from; i < c->boot_rows.count; i++) {
        has_role = has_role || rows[i] >> 32 == TABLE_ROLE;
        has_network = has_network || rows[i] >> 32 == TABLE_NETWORK;
    }
    if (has_role)
        boot_update_roles(c, &scratch);
    for (uint32_t i = c->boot_from; i < c->boot_rows.count && has_network; i++)
        if (rows[i] >> 32 == TABLE_NETWORK)
            boot_update_network(c, (network_ix){(uint32_t)rows[i]}, &scratch);
    for (uint32_t i = c->boot_from; i < c->boot_rows.count; i++)
        boot_update_row(c, (enum table)(rows[i] >> 32), (uint32_t)rows[i], &scratch);
    c->boot_rows.count = c->boot_from;
    arena_fini(&scratch);
}

bool boot_view_has_changes(const struct core *c)
{
    return c->boot_rows.count > c->boot_from;
}

/* ---- batches ---- */

enum { KEEP_ITEMS = 16384 }; /* capacity of the lists that is kept for the next batch */

void boot_view_collect(struct core *c, int64_t turn)
{
    const struct list done = c->boot_open;
    for (uint32_t i = 0; i < done.count; i++) {
        const struct boot_key key = ((const struct boot_key *)done.items)[i];
        const uint32_t ix = boot_find_row(c, key);
        if (ix)
            boot_state_of(c, key.kind, ix)->turn = turn;
    }
    list_trim(&c->boot_rows, sizeof(uint64_t), KEEP_ITEMS);
    list_trim(&c->boot_changes, sizeof(struct boot_key), KEEP_ITEMS);
    c->boot_open = c->boot_changes;
    c->boot_changes = done;
    c->boot_turn = turn;
    boot_servers_collect(c, turn);
}

void boot_view_fini(struct core *c)
{
    list_fini(&c->boot_rows, sizeof(uint64_t));
    list_fini(&c->boot_open, sizeof(struct boot_key));
    list_fini(&c->boot_changes, sizeof(struct boot_key));
    list_fini(&c->boot_moved, sizeof(int64_t));
    list_fini(&c->boot_history, sizeof(struct boot_served));
}

void boot_view_load(struct core *c)
{
    struct arena scratch = {0};
    const struct pool *roles = &c->tables[TABLE_ROLE].pool;
    const struct pool *networks = &c->tables[TABLE_NETWORK].pool;
    for (uint32_t ix = pool_next(roles, 0); ix; ix = pool_next(roles, ix))
        role_derive(c, (role_ix){ix})->boot_part = (uint8_t)boot_part_of_role(c, (role_ix){ix});
    for (uint32_t ix = pool_next(networks, 0); ix; ix = pool_next(networks, ix))
        network_derive(c, (network_ix){ix})->is_admin = boot_network_is_admin(c, (network_ix){ix});
    c->vars.boot_digest = (struct digest128){0};
    if (c->boot_turn < 1)
        c->boot_turn = 1;
    for (uint32_t kind = 0; kind < BOOT_FACT_COUNT; kind++) {
        const struct pool *rows = &c->tables[boot_tables[kind]].pool;
        for (uint32_t ix = pool_next(rows, 0); ix; ix = pool_next(rows, ix)) {
            struct boot_state *state = boot_state_of(c, (enum boot_fact)kind, ix);
            state->hash = boot_hash_now(c, (enum boot_fact)kind, ix, &scratch);
            state->turn = boot_is_in_view(state) ? c->boot_turn : 0;
            digest_add(&c->vars.boot_digest, state->hash);
        }
    }
    c->boot_rows.count = c->boot_open.count = 0;
    c->boot_forgotten = c->boot_turn;
    arena_fini(&scratch);
}

/* ---- queries ---- */

bool core_boot_view(const struct core *c, struct boot_key key, struct arena *a,
                    struct boot_entry *out)
{
    const uint32_t ix = boot_find_row(c, key);
    return ix && boot_entry_of_row(c, key.kind, ix, a, out);
}

int64_t core_boot_turn(const struct core *c, struct boot_key key)
{
    const uint32_t ix = boot_find_row(c, key);
    return ix ? boot_state_of(c, key.kind, ix)->turn : 0;
}

const struct boot_key *core_boot_changes(const struct core *c, uint32_t *out_count,
                                         int64_t *out_turn)
{
    *out_count = c->boot_changes.count;
    *out_turn = c->boot_turn;
    return c->boot_changes.items;
}

struct digest128 core_boot_digest(const struct core *c)
{
    return c->vars.boot_digest;
}

bool core_boot_next(const struct core *c, struct boot_key *key)
{
    struct boot_key at = *key;
    for (; at.kind < BOOT_FACT_COUNT; at = (struct boot_key){(enum boot_fact)(at.kind + 1), 0}) {
        for (uint32_t ix; (ix = core_next_row(c, boot_tables[at.kind], at.id));) {
            at.id = boot_row_id(c, at.kind, ix);
            if (boot_is_in_view(boot_state_of(c, at.kind, ix))) {
                *key = at;
                return true;
            }
        }
    }
    return false;
}

/* ---- check ---- */

static const char *boot_check_kind(const struct core *c, enum boot_fact kind, struct arena *a,
                                   struct digest128 *sum)
{
    const struct pool *rows = &c->tables[boot_tables[kind]].pool;
    for (uint32_t ix = pool_next(rows, 0); ix; ix = pool_next(rows, ix)) {
        const struct boot_state *state = boot_state_of(c, kind, ix);
        if (!digest_eq(state->hash, boot_hash_now(c, kind, ix, a)))
            return "I19: an entry of the boot view is not the one that was settled last";
        if (boot_is_in_view(state) && state->turn <= 0)
            return "I19: an entry of the boot view has no turn";
        digest_add(sum, state->hash);
    }
    return NULL;
}

const char *boot_view_check(const struct core *c, struct arena *a)
{
    const struct pool *roles = &c->tables[TABLE_ROLE].pool;
    const struct pool *networks = &c->tables[TABLE_NETWORK].pool;
    struct digest128 sum = {0};
    const char *what = NULL;
    if (c->boot_rows.count)
        return NULL; /* rows were written outside of a step; the next one settles them */
    for (uint32_t ix = pool_next(roles, 0); ix; ix = pool_next(roles, ix))
        if (role_at(c, (role_ix){ix})->boot_part != boot_part_of_role(c, (role_ix){ix}))
            return "C21: the part of a role in the boot view is wrong";
    for (uint32_t ix = pool_next(networks, 0); ix; ix = pool_next(networks, ix))
        if (network_at(c, (network_ix){ix})->is_admin != boot_network_is_admin(c, (network_ix){ix}))
            return "C21: a network and its category disagree";
    for (uint32_t kind = 0; kind < BOOT_FACT_COUNT && !what; kind++)
        what = boot_check_kind(c, (enum boot_fact)kind, a, &sum);
    if (!what && !digest_eq(sum, c->vars.boot_digest))
        what = "I19: the digest of the boot view is not the sum of its entries";
    return what;
}
