#include "core/core_private.h"

#include "base/containers/sort.h"
#include "base/text/buf.h"
#include "core/boot/boot_changes.h"

/* The end of a batch: the net changes since the last collect, and the digest. This file owns
 * vars.digest and the hash of each row, and empties the lists of dirty rows, relations and archive
 * rows.
 *
 * Order: every changed row is visited once, as it is now; then relations that were added or
 * removed; then archive rows. A row or relation that was created and deleted within the batch is
 * not visited. The digest is the sum of the hashes of all rows and relations (ADR 0026), so it is
 * updated by subtracting the old hash of a changed row and adding the new one. Removed rows and
 * unused strings are released last, because records that are visited point into them.
 *
 * Failure: after core_collect() the core treats the changes as stored. There is no way back; if
 * the store fails, the caller drops the core. */

typedef void visit_fn(void *context, const struct change *change);

static struct str record_bytes(const struct record *record, struct arena *scratch)
{
    struct buf b = buf_in(scratch);
    record_encode(record, &b);
    return buf_str(&b);
}

static struct digest128 record_hash(const struct record *record, struct arena *scratch)
{
    const struct arena_mark mark = arena_mark(scratch);
    const struct digest128 hash = digest_of_row(record_bytes(record, scratch));
    arena_rewind(scratch, mark);
    return hash;
}

/* ---- objects ---- */

struct collecting {
    struct arena scratch;
    visit_fn *visit;
    void *context;
    int64_t turn;
};

static void collect_gone(struct core *c, struct object *o, enum table table, struct collecting *to)
{
    if (!(o->row.flags & ROW_STORED))
        return; /* created and deleted within the batch */
    const struct change change = {.gone = true, .record = {.table = table, .id = o->id}};
    digest_sub(&c->vars.digest, o->hash);
    to->visit(to->context, &change);
}

static void collect_row(struct core *c, enum table table, uint32_t ix, struct collecting *to)
{
    struct object *o = pool_at(&c->tables[table].pool, ix);
    if (!(o->row.flags & ROW_DIRTY))
        return; /* listed twice: its first change was rolled back */
    o->row.flags &= (uint8_t)~ROW_DIRTY;
    if (o->row.flags & ROW_DEAD) {
        collect_gone(c, o, table, to);
        return;
    }
    const struct arena_mark mark = arena_mark(&to->scratch);
    struct change change;
    o->turn = to->turn;
    record_of_row(c, table, ix, &change.record);
    change.gone = false;
    change.bytes = record_bytes(&change.record, &to->scratch);
    if (o->row.flags & ROW_STORED)
        digest_sub(&c->vars.digest, o->hash);
    o->row.flags |= ROW_STORED;
    o->hash = digest_of_row(change.bytes);
    digest_add(&c->vars.digest, o->hash);
    to->visit(to->context, &change);
    arena_rewind(&to->scratch, mark);
}

/* ---- relations ---- */

static struct record relation_record(const struct relation_change *r)
{
    struct record out;
    memset(&out, 0, sizeof out);
    out.table = r->table;
    if (r->table == TABLE_EDGE)
        out.edge = (struct edge_record){.parent_id = r->key[0], .child_id = r->key[1]};
    else if (r->table == TABLE_LINK)
        out.link = (struct link_record){
            .parent_id = r->key[0], .child_id = r->key[1], .attrib_id = r->key[2]};
    else
        out.membership = (struct membership_record){.group_id = r->key[0], .node_id = r->key[1]};
    return out;
}

static int relation_cmp(const void *left, const void *right)
{
    const struct relation_change *a = left, *b = right;
    if (a->table != b->table)
        return a->table < b->table ? -1 : 1;
    for (uint32_t i = 0; i < 3; i++)
        if (a->key[i] != b->key[i])
            return a->key[i] < b->key[i] ? -1 : 1;
    return 0;
}

/* Changes of one relation alternate between added and removed. If the first and the last one
 * differ, the relation is as it was before the batch. */
static void collect_relations(struct core *c, struct collecting *to)
{
    struct relation_change *items = c->relations.items;
    const uint32_t count = c->relations.count;
    /* The sort is stable: changes of one relation stay in their order. */
    sort_items(items, count, sizeof *items, relation_cmp, &to->scratch);
    for (uint32_t first = 0, next; first < count; first = next) {
        next = first + 1;
        while (next < count && relation_cmp(&items[first], &items[next]) == 0)
            next++;
        const struct relation_change *last = &items[next - 1];
        if (items[first].gone != last->gone)
            continue;
        const struct change change = {.gone = last->gone, .record = relation_record(last)};
        const struct digest128 hash = record_hash(&change.record, &to->scratch);
        if (last->gone)
            digest_sub(&c->vars.digest, hash);
        else
            digest_add(&c->vars.digest, hash);
        to->visit(to->context, &change);
    }
}

/* ---- archive rows ---- */

static void collect_interval(struct core *c, const struct archived *old, struct collecting *to)
{
    struct change change;
    memset(&change, 0, sizeof change);
    change.record.table = old->table;
    if (old->table == TABLE_OLD_MEMBER)
        change.record.old_member = (struct old_member_record){.deployment_id = old->deployment_id,
                                                              .noderole_id = old->noderole_id,
                                                              .role_id = old->role_id,
                                                              .node_id = old->node_id,
                                                              .from_seq = old->from_seq,
                                                              .to_seq = old->to_seq};
    else
        change.record.old_data = (struct old_data_record){.deployment_id = old->deployment_id,
                                                          .role_id = old->role_id,
                                                          .node_id = old->node_id,
                                                          .from_seq = old->from_seq,
                                                          .to_seq = old->to_seq,
                                                          .data = text_of(c, old->data)};
    to->visit(to->context, &change);
}

static void collect_archives(struct core *c, struct collecting *to)
{
    const struct archived *items = c->archives.items;
    for (uint32_t i = 0; i < c->archives.count; i++) {
        if (items[i].table == TABLE_OLD_RUN)
            run_collect(c, &items[i], to->visit, to->context);
        else
            collect_interval(c, &items[i], to);
        const uint32_t texts[] = {items[i].data, items[i].reason_subject, items[i].reason_text};
        for (uint32_t k = 0; k < sizeof texts / sizeof *texts; k++)
            if (texts[k])
                blob_drop(&c->blobs, texts[k]);
    }
}

/* ---- collect ---- */

uint32_t core_changed(const struct core *c)
{
    return c->dirty.count + c->relations.count + c->archives.count;
}

uint64_t core_edits(const struct core *c)
{
    return c->edits;
}

enum {
    KEEP_ITEMS = 16384, /* capacity of the lists that is kept for the next batch */
    PREFETCH_AHEAD = 8, /* rows */
};

void core_collect(struct core *c, int64_t turn, visit_fn *visit, void *context)
{
    must(c->undo.depth == 0);
    struct collecting to = {.visit = visit, .context = context, .turn = turn};
    const uint64_t *dirty = c->dirty.items;
    for (uint32_t i = 0; i < c->dirty.count; i++) {
        if (i + PREFETCH_AHEAD < c->dirty.count)
            row_prefetch(c, (enum table)(dirty[i + PREFETCH_AHEAD] >> 32),
                         (uint32_t)dirty[i + PREFETCH_AHEAD]);
        collect_row(c, (enum table)(dirty[i] >> 32), (uint32_t)dirty[i], &to);
    }
    collect_relations(c, &to);
    collect_archives(c, &to);
    boot_view_collect(c, turn);
    list_trim(&c->dirty, sizeof(uint64_t), KEEP_ITEMS);
    list_trim(&c->relations, sizeof(struct relation_change), KEEP_ITEMS);
    list_trim(&c->archives, sizeof(struct archived), KEEP_ITEMS);
    c->sliced = false;
    for (uint32_t t = 0; t < TABLE_OBJECTS; t++)
        pool_settle(&c->tables[t].pool);
    blobs_settle(&c->blobs);
    c->batch_number++;
    arena_fini(&to.scratch);
}

struct digest128 core_digest(const struct core *c)
{
    return c->vars.digest;
}

/* ---- the digest from all rows ---- */

static void digest_add_relation(struct digest128 *sum, struct relation_change r,
                                struct arena *scratch)
{
    const struct record record = relation_record(&r);
    digest_add(sum, record_hash(&record, scratch));
}

static void digest_add_noderole_relations(const struct core *c, noderole_ix ix,
                                          struct digest128 *sum, struct arena *scratch)
{
    const struct noderole *nr = noderole_at(c, ix);
    for (uint32_t i = 0; i < nr->parents.count; i++) {
        const noderole_ix parent = {vec_at(c, &nr->parents, i)};
        digest_add_relation(
            sum,
            (struct relation_change){.table = TABLE_EDGE,
                                     .key = {noderole_at(c, parent)->o.id, nr->o.id}},
            scratch);
    }
    for (uint32_t i = 0; i + 1 < nr->links.count; i += 2) {
        const noderole_ix parent = {vec_at(c, &nr->links, i)};
        const attrib_ix attrib = {vec_at(c, &nr->links, i + 1)};
        digest_add_relation(sum,
                            (struct relation_change){.table = TABLE_LINK,
                                                     .key = {noderole_at(c, parent)->o.id, nr->o.id,
                                                             attrib_at(c, attrib)->o.id}},
                            scratch);
    }
}

static void digest_add_memberships(const struct core *c, group_ix ix, struct digest128 *sum,
                                   struct arena *scratch)
{
    const struct group *g = group_at(c, ix);
    for (uint32_t i = 0; i < g->nodes.count; i++) {
        const node_ix n = {vec_at(c, &g->nodes, i)};
        digest_add_relation(sum,
                            (struct relation_change){.table = TABLE_MEMBERSHIP,
                                                     .key = {g->o.id, node_at(c, n)->o.id}},
                            scratch);
    }
}

/* keep: also store the hash of each row in the row, which only core_store_row_hashes() may do. */
static struct digest128 digest_sum_rows(const struct core *c, bool keep)
{
    struct arena scratch = {0};
    struct digest128 sum = {0};
    for (uint32_t t = 0; t < TABLE_OBJECTS; t++)
        for (uint32_t ix = pool_next(&c->tables[t].pool, 0); ix;
             ix = pool_next(&c->tables[t].pool, ix)) {
            struct record record;
            record_of_row(c, (enum table)t, ix, &record);
            const struct digest128 hash = record_hash(&record, &scratch);
            digest_add(&sum, hash);
            if (keep)
                ((struct object *)pool_at(&c->tables[t].pool, ix))->hash = hash;
            if (t == TABLE_NODEROLE)
                digest_add_noderole_relations(c, (noderole_ix){ix}, &sum, &scratch);
            if (t == TABLE_GROUP)
                digest_add_memberships(c, (group_ix){ix}, &sum, &scratch);
        }
    arena_fini(&scratch);
    return sum;
}

struct digest128 core_digest_now(const struct core *c)
{
    return digest_sum_rows(c, false);
}

struct digest128 core_store_row_hashes(struct core *c)
{
    return digest_sum_rows(c, true);
}
