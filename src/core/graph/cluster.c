#include "core/core_private.h"

/* Members of a cluster role are updated together (docs/spec/binding.md, Clusters): when a new
 * member is committed, the existing ones whose staged data (the document that a run receives)
 * change because of it run again. The file owns no rows.
 *
 * Order: the staged data are hashed before the commit and compared afterwards, so the order is
 * always cluster_watch(), commit, cluster_rerun_changed(). Failure: if the commit is refused,
 * nothing is rerun, and the step is rolled back. */

static void cluster_watch_add(struct core *c, struct cluster_watch *w, noderole_ix nr)
{
    if (w->count == w->cap) {
        const uint32_t cap = w->cap ? w->cap * 2 : 16;
        struct watched *items = arena_array(c->arena, struct watched, cap);
        if (w->count)
            memcpy(items, w->items, w->count * sizeof *items);
        w->items = items;
        w->cap = cap;
    }
    w->items[w->count++] = (struct watched){nr, hash64(stage_noderole(c, nr, c->arena), 0)};
}

struct cluster_watch cluster_watch(struct core *c, const noderole_ix *joining, uint32_t count)
{
    struct cluster_watch w = {0};
    bool *seen =
        NULL; /* by deployment role; allocated on demand, as most commits have no cluster */
    for (uint32_t i = 0; i < count; i++) {
        const struct noderole *nr = noderole_at(c, joining[i]);
        if (!(role_at(c, nr->role)->flags & ROLE_CLUSTER))
            continue;
        if (!seen)
            seen = arena_array(c->arena, bool, c->tables[TABLE_DEPLOYMENT_ROLE].pool.high + 1);
        if (seen[nr->dr.v])
            continue;
        seen[nr->dr.v] = true;
        const struct vec *members = &deployment_role_at(c, nr->dr)->noderoles;
        for (uint32_t k = 0; k < members->count; k++) {
            const noderole_ix member = {vec_at(c, members, k)};
            const uint8_t state = noderole_at(c, member)->state;
            if (state == NODEROLE_ACTIVE || state == NODEROLE_TRANSITION)
                cluster_watch_add(c, &w, member);
        }
    }
    return w;
}

void cluster_rerun_changed(struct core *c, const struct cluster_watch *w)
{
    for (uint32_t i = 0; i < w->count; i++)
        if (hash64(stage_noderole(c, w->items[i].nr, c->arena), 0) != w->items[i].staged)
            noderole_request_rerun(c, w->items[i].nr);
}

bool cluster_commit(struct core *c, const noderole_ix *items, uint32_t count)
{
    const struct cluster_watch watch = cluster_watch(c, items, count);
    if (!noderole_commit_all(c, items, count))
        return false;
    cluster_rerun_changed(c, &watch);
    return true;
}
