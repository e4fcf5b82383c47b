/* The store of a world: an array of records, and the reload of the core from it. */
#include "model/restored.h"
#include "tests/world/world.h"

#include <stdlib.h>

static bool world_is_object(enum table table)
{
    return table < TABLE_OBJECTS;
}

static bool world_same_row(const struct record *a, const struct record *b)
{
    if (a->table != b->table)
        return false;
    if (world_is_object(a->table))
        return a->id == b->id;
    return fields_eq(record_layout(a->table), &a->id, &b->id);
}

/* Order by table, then by key. The key of a relation consists of all its fields: at most three
 * ids. */
static int world_compare_keys(const void *left, const void *right)
{
    const struct record *a = left, *b = right;
    if (a->table != b->table)
        return a->table < b->table ? -1 : 1;
    const struct layout *layout = record_layout(a->table);
    const uint16_t keys = world_is_object(a->table) ? 1 : layout->count;
    for (uint16_t i = 0; i < keys && layout->fields[i].kind == FIELD_I64; i++) {
        const int64_t x = *(const int64_t *)((const char *)&a->id + layout->fields[i].offset);
        const int64_t y = *(const int64_t *)((const char *)&b->id + layout->fields[i].offset);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

static void world_remove_runs(struct world *w, const struct old_run_record *last)
{
    for (size_t i = w->kept_count; i-- > 0;)
        if (w->kept[i].table == TABLE_OLD_RUN &&
            w->kept[i].old_run.noderole_id == last->noderole_id &&
            w->kept[i].old_run.attempt <= last->attempt)
            w->kept[i] = w->kept[--w->kept_count];
}

static void world_store_change(void *context, const struct change *change)
{
    struct world *w = context;
    size_t at = 0;
    while (at < w->kept_count && !world_same_row(&w->kept[at], &change->record))
        at++;
    if (change->gone && change->record.table == TABLE_OLD_RUN) {
        world_remove_runs(w, &change->record.old_run);
        return;
    }
    if (change->gone) {
        CHECK(at < w->kept_count);
        w->kept[at] = w->kept[--w->kept_count];
        return;
    }
    if (at == w->kept_count) {
        if (w->kept_count == w->kept_cap) {
            w->kept_cap = w->kept_cap ? 2 * w->kept_cap : 64;
            w->kept = realloc(w->kept, w->kept_cap * sizeof *w->kept);
            CHECK(w->kept != NULL);
        }
        w->kept_count++;
    }
    w->kept[at].table = change->record.table;
    fields_copy(&w->arena, record_layout(change->record.table), &change->record.id,
                &w->kept[at].id);
}

void world_collect(struct world *w)
{
    core_collect(w->core, ++w->turn, world_store_change, w);
    CHECK(core_changed(w->core) == 0);
    CHECK(digest_eq(core_digest(w->core), core_digest_now(w->core)));
}

static struct core *world_load(struct world *w)
{
    qsort(w->kept, w->kept_count, sizeof *w->kept, world_compare_keys);
    struct core *fresh = core_new();
    const char *what = NULL;
    for (size_t i = 0; i < w->kept_count && w->kept[i].table < TABLE_LOADED; i++)
        if (core_load(fresh, &w->kept[i], &what) != OK)
            world_fail(HERE, "loading a %s: %s", table_name(w->kept[i].table), what);
    if (core_load_end(fresh, w->now_ms - 1600000000000, &what) != OK)
        world_fail(HERE, "loading: %s", what);
    const char *wrong = core_check(fresh, &w->arena);
    if (wrong)
        world_fail(HERE, "after loading: %s", wrong);
    return fresh;
}

void world_reload(struct world *w)
{
    world_collect(w);
    struct core *fresh = world_load(w);
    if (!digest_eq(core_digest_now(fresh), core_digest(w->core)))
        world_fail(HERE, "the core that was loaded differs from the one that was saved");
    if (!digest_eq(core_boot_digest(fresh), core_boot_digest(w->core)))
        world_fail(HERE, "the core that was loaded has another boot view");
    core_free(w->core);
    w->core = fresh;
}

void world_restore(struct world *w, enum grant_void how)
{
    world_collect(w);
    for (size_t i = 0; i < w->kept_count; i++)
        ignore(restored_record_forget(&w->kept[i], how), "most records are not about grants");
    struct core *fresh = world_load(w);
    core_free(w->core);
    w->core = fresh;
}

bool world_has_link(struct world *w, const char *parent, const char *child, const char *attrib)
{
    const struct record wanted = {.table = TABLE_LINK,
                                  .link = {.parent_id = the_noderole(w, parent),
                                           .child_id = the_noderole(w, child),
                                           .attrib_id = the_attrib(w, attrib)}};
    world_collect(w);
    for (size_t i = 0; i < w->kept_count; i++)
        if (world_same_row(&w->kept[i], &wanted))
            return true;
    return false;
}

struct str world_snapshot(struct world *w, const char *deployment, int64_t seq)
{
    world_collect(w);
    struct record *old = arena_array(&w->arena, struct record, w->kept_count + 1);
    uint32_t count = 0;
    for (size_t i = 0; i < w->kept_count; i++)
        if (w->kept[i].table >= TABLE_LOADED)
            old[count++] = w->kept[i];
    return core_snapshot_content(w->core, the_deployment(w, deployment), seq, old, count,
                                 &w->arena);
}
