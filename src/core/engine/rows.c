#include "core/engine/rows.h"

#include "base/json/json.h"
#include "base/mem/pages.h"
#include "core/boot/boot_changes.h"
#include "core/network/network_private.h"

/* Tables, interned strings, name maps and sorted lists of rows. This file owns the access to all of
 * them: every change of a row in a step goes through core_edit_row() or core_derive_row(). Only
 * load.c and collect.c, which run outside of steps, write rows directly.
 *
 * Order: before the caller gets a writable row, its previous bytes are in the undo log, plans that
 * have read it are marked as stale (ADR 0079), and for a durable change the row is in the dirty
 * list of the next collect. A name must be removed from the map before it changes and added
 * afterwards, because the map is keyed by its hash.
 *
 * Failure: a full table or a full table of strings is a problem LIMIT_REACHED, and the step is
 * rolled back. The functions return index 0 or handle 0 then. A rollback restores rows, maps and
 * vectors by the undo log; the arrays of type struct list are shortened by step.c. */

/* ---- arrays whose length a rollback restores ---- */

static void list_grow(struct list *l, size_t item_size)
{
    const uint32_t cap = l->cap ? l->cap * 2 : 4096;
    must(cap > l->cap);
    void *items = sys_pages_get((size_t)cap * item_size);
    if (l->count)
        memcpy(items, l->items, (size_t)l->count * item_size);
    sys_pages_put(l->items, (size_t)l->cap * item_size);
    l->items = items;
    l->cap = cap;
}

void *list_push(struct list *l, size_t item_size)
{
    if (l->count == l->cap)
        list_grow(l, item_size);
    return (char *)l->items + (size_t)l->count++ * item_size;
}

void list_fini(struct list *l, size_t item_size)
{
    sys_pages_put(l->items, (size_t)l->cap * item_size);
    *l = (struct list){0};
}

void list_trim(struct list *l, size_t item_size, uint32_t keep)
{
    l->count = 0;
    if (l->cap > keep)
        list_fini(l, item_size);
}

/* ---- rows ---- */

void *core_derive_row(struct core *c, enum table table, uint32_t ix)
{
    if (c->plans)
        plans_row_changed(c, table, ix, false);
    return pool_edit(&c->tables[table].pool, ix);
}

void *core_edit_row(struct core *c, enum table table, uint32_t ix)
{
    struct object *o = pool_edit(&c->tables[table].pool, ix);
    if (c->plans)
        plans_row_changed(c, table, ix, true);
    if (c->vars.name_filters.count)
        dns_names_row_changed(c, table, ix);
    if (BOOT_VIEW_TABLES >> table & 1)
        boot_row_changed(c, table, ix);
    if (!(o->row.flags & ROW_DIRTY)) {
        o->row.flags |= ROW_DIRTY;
        *(uint64_t *)list_push(&c->dirty, sizeof(uint64_t)) = (uint64_t)table << 32 | ix;
    }
    o->updated_at = c->now_ms;
    c->edits++;
    return o;
}

int64_t core_take_id(struct core *c, enum table table)
{
    counter_ix counter = counter_by_id(c, (int64_t)table + 1);
    must(counter.v);
    struct counter *row = counter_edit(c, counter);
    return ++row->last;
}

int64_t core_last_id(const struct core *c, enum table table)
{
    return counter_at(c, counter_by_id(c, (int64_t)table + 1))->last;
}

static uint32_t core_add_row_at_id(struct core *c, enum table table, int64_t id)
{
    struct table_rows *t = &c->tables[table];
    const uint32_t ix = pool_add(&t->pool);
    if (ix == 0)
        return 0;
    omap_put(&t->by_id, (uint64_t)id, ix);
    struct object *o = core_edit_row(c, table, ix);
    o->id = id;
    o->created_at = c->now_ms;
    return ix;
}

uint32_t core_add_row(struct core *c, enum table table)
{
    if (pool_is_full(&c->tables[table].pool)) {
        refuse(c, PROBLEM_LIMIT_REACHED, str_from(table_name(table)),
               STR_CONCAT(c->arena, STR("the limit of "),
                          str_from_i64(c->arena, c->tables[table].pool.max),
                          STR(" is reached; delete some that are not needed")));
        return 0;
    }
    return core_add_row_at_id(c, table, core_take_id(c, table));
}

uint32_t core_add_row_with_id(struct core *c, enum table table, int64_t id)
{
    const uint32_t ix = core_add_row_at_id(c, table, id);
    must(ix);
    return ix;
}

void core_remove_row(struct core *c, enum table table, uint32_t ix)
{
    struct table_rows *t = &c->tables[table];
    const struct object *o = core_edit_row(c, table, ix);
    omap_remove(&t->by_id, (uint64_t)o->id);
    pool_remove(&t->pool, ix);
}

struct vars *vars_edit(struct core *c)
{
    if (c->vars.row.stamp != c->undo.stamp && c->undo.depth) {
        undo_note(&c->undo, &c->vars, sizeof c->vars);
        c->vars.row.stamp = c->undo.stamp;
    }
    return &c->vars;
}

const struct settings *core_settings(const struct core *c)
{
    return settings_at(c, (settings_ix){1});
}

uint32_t core_next_row(const struct core *c, enum table table, int64_t after)
{
    uint64_t id;
    uint32_t ix;
    return omap_ceil(&c->tables[table].by_id, (uint64_t)after + 1, &id, &ix) ? ix : 0;
}

/* ---- strings and documents ---- */

struct str text_of(const struct core *c, text_h h)
{
    return h ? blob_text(&c->blobs, h) : STR("");
}

struct str doc_of(const struct core *c, doc_h h)
{
    return h ? blob_text(&c->blobs, h) : STR("{}");
}

void put_text(struct core *c, text_h *slot, struct str text)
{
    if (*slot && str_eq(blob_text(&c->blobs, *slot), text))
        return;
    bool full = false;
    const text_h fresh = blob_take(&c->blobs, text, &full);
    if (full)
        refuse(c, PROBLEM_LIMIT_REACHED, STR("text"),
               STR_CONCAT(c->arena, STR("the limit of "), str_from_i64(c->arena, BLOBS_MAX),
                          STR(" different strings is reached")));
    if (*slot)
        blob_drop(&c->blobs, *slot);
    *slot = fresh;
}

void put_doc(struct core *c, doc_h *slot, struct str canonical)
{
    put_text(c, slot, str_eq(canonical, STR("{}")) ? STR("") : canonical);
}

struct json *doc_tree(struct arena *a, struct str canonical)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (canonical.len == 0)
        return json_make(a, JSON_OBJECT);
    const err r = json_read(a, canonical, &tree, &offset, &what);
    must(r == OK); /* input validation and load accept canonical documents only */
    return tree;
}

/* ---- names ---- */

/* Every table with names has this field after its object. */
struct named {
    struct object o;
    uint32_t name_next;
};

static const struct named *named_at(const struct core *c, enum table table, uint32_t ix)
{
    return pool_at(&c->tables[table].pool, ix);
}

static struct str name_of_group(struct str category, struct str name, char *buffer)
{
    memcpy(buffer, category.at, category.len);
    buffer[category.len] = '/';
    memcpy(buffer + category.len + 1, name.at, name.len);
    return (struct str){buffer, category.len + 1 + name.len};
}

enum { KEY_MAX = 1024 };

/* The name that a row is found by; category/name for a group. */
static struct str name_of_row(const struct core *c, enum table table, uint32_t ix,
                              char buffer[KEY_MAX])
{
    switch (table) {
    case TABLE_BARCLAMP: return text_of(c, barclamp_at(c, (barclamp_ix){ix})->name);
    case TABLE_JIG: return text_of(c, jig_at(c, (jig_ix){ix})->name);
    case TABLE_HAMMER_KIND: return text_of(c, hammer_kind_at(c, (hammer_kind_ix){ix})->name);
    case TABLE_ROLE: return text_of(c, role_at(c, (role_ix){ix})->name);
    case TABLE_ATTRIB: return text_of(c, attrib_at(c, (attrib_ix){ix})->name);
    case TABLE_DEPLOYMENT: return text_of(c, deployment_at(c, (deployment_ix){ix})->name);
    case TABLE_NODE: return text_of(c, node_at(c, (node_ix){ix})->name);
    case TABLE_USER: return text_of(c, user_at(c, (user_ix){ix})->username);
    case TABLE_NETWORK: return text_of(c, network_at(c, (network_ix){ix})->name);
    case TABLE_DNS_NAME_FILTER:
        return text_of(c, dns_name_filter_at(c, (dns_name_filter_ix){ix})->name);
    case TABLE_BOOTENV: return text_of(c, bootenv_at(c, (bootenv_ix){ix})->name);
    case TABLE_TOKEN: return text_of(c, token_at(c, (token_ix){ix})->hash);
    case TABLE_GROUP: {
        const struct group *g = group_at(c, (group_ix){ix});
        return name_of_group(text_of(c, g->category), text_of(c, g->name), buffer);
    }
    case TABLE_SETTINGS:
    case TABLE_COUNTER:
    case TABLE_SNAPSHOT:
    case TABLE_DEPLOYMENT_ROLE:
    case TABLE_NODEROLE:
    case TABLE_RUN:
    case TABLE_HAMMER:
    case TABLE_OUTBOX:
    case TABLE_HOST_KEY:
    case TABLE_NETWORK_RANGE:
    case TABLE_NETWORK_ROUTER:
    case TABLE_NETWORK_ALLOCATION:
    case TABLE_LEASE:
    case TABLE_NIC:
    case TABLE_DNS_NAME_ENTRY:
    case TABLE_BOOT_DUE:
    case TABLE_EDGE:
    case TABLE_LINK:
    case TABLE_MEMBERSHIP:
    case TABLE_OLD_MEMBER:
    case TABLE_OLD_DATA:
    case TABLE_EVENT:
    case TABLE_OLD_RUN:
    case TABLE_COUNT: break;
    }
    impossible("a table without names");
}

static uint64_t name_hash(struct str key)
{
    /* Names are compared without case, so the hash is of the lower-case name. */
    char lower[KEY_MAX];
    must(key.len <= KEY_MAX);
    for (uint32_t i = 0; i < key.len; i++)
        lower[i] = key.at[i] >= 'A' && key.at[i] <= 'Z' ? (char)(key.at[i] + 32) : key.at[i];
    return hash64((struct str){lower, key.len}, 0);
}

uint32_t name_find(const struct core *c, enum table table, struct str name)
{
    char buffer[KEY_MAX];
    if (name.len > KEY_MAX)
        return 0;
    uint32_t ix = omap_find(&c->tables[table].by_name, name_hash(name));
    while (ix && !str_eq_nocase(name_of_row(c, table, ix, buffer), name))
        ix = named_at(c, table, ix)->name_next;
    return ix;
}

bool name_is_taken(const struct core *c, enum table table, uint32_t ix)
{
    char buffer[KEY_MAX];
    return name_find(c, table, name_of_row(c, table, ix, buffer)) != 0;
}

void name_add(struct core *c, enum table table, uint32_t ix)
{
    char buffer[KEY_MAX];
    struct omap *names = &c->tables[table].by_name;
    const uint64_t key = name_hash(name_of_row(c, table, ix, buffer));
    struct named *row = core_derive_row(c, table, ix);
    row->name_next = omap_find(names, key);
    omap_put(names, key, ix);
}

void name_remove(struct core *c, enum table table, uint32_t ix)
{
    char buffer[KEY_MAX];
    struct omap *names = &c->tables[table].by_name;
    const uint64_t key = name_hash(name_of_row(c, table, ix, buffer));
    const uint32_t next = named_at(c, table, ix)->name_next;
    uint32_t at = omap_find(names, key);
    must(at);
    if (at == ix) {
        if (next)
            omap_put(names, key, next);
        else
            omap_remove(names, key);
        return;
    }
    while (named_at(c, table, at)->name_next != ix)
        at = named_at(c, table, at)->name_next;
    ((struct named *)core_derive_row(c, table, at))->name_next = next;
}

/* ---- relations and archive rows of the batch ---- */

void relation_note(struct core *c, enum table table, bool gone, int64_t a, int64_t b, int64_t d)
{
    struct relation_change *r = list_push(&c->relations, sizeof *r);
    c->edits++;
    *r = (struct relation_change){.table = table, .gone = gone, .key = {a, b, d}};
}

void archive_note(struct core *c, struct archived closed)
{
    const uint32_t texts[] = {closed.data, closed.reason_subject, closed.reason_text};
    c->edits++;
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i])
            blob_hold(&c->blobs, texts[i]);
    *(struct archived *)list_push(&c->archives, sizeof closed) = closed;
}

/* ---- lists of rows, sorted by id ---- */

static int64_t core_row_id(const struct core *c, enum table table, uint32_t ix)
{
    return ((const struct object *)pool_at(&c->tables[table].pool, ix))->id;
}

/* The first position whose id is not below `id`. New rows have the highest id, so the end is
 * compared first. */
static uint32_t ids_position(const struct core *c, const struct vec *v, enum table table,
                             int64_t id)
{
    uint32_t low = 0, high = v->count;
    if (high && core_row_id(c, table, vec_at(c, v, high - 1)) < id)
        return high;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (core_row_id(c, table, vec_at(c, v, mid)) < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void ids_insert(struct core *c, struct vec *v, enum table table, uint32_t ix)
{
    vec_insert(&c->heap, v, ids_position(c, v, table, core_row_id(c, table, ix)), ix);
}

void ids_remove(struct core *c, struct vec *v, enum table table, uint32_t ix)
{
    const uint32_t at = ids_position(c, v, table, core_row_id(c, table, ix));
    must(at < v->count && vec_at(c, v, at) == ix);
    vec_remove(&c->heap, v, at);
}

bool ids_has(const struct core *c, const struct vec *v, enum table table, uint32_t ix)
{
    const uint32_t at = ids_position(c, v, table, core_row_id(c, table, ix));
    return at < v->count && vec_at(c, v, at) == ix;
}
