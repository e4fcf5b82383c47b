#include "core/core_private.h"

/* Commit of a whole deployment: what was proposed is published in one step, in the order of the
 * graph (SEMANTICS 3.10). It may be a million noderoles, so each row is looked at once and the
 * rest is done on small keys. */

/* ---- finding them ---- */

static uint32_t member_count(const struct core *c, deployment_ix d)
{
    const struct vec *roles = &deployment_at(c, d)->roles;
    uint32_t count = 0;
    for (uint32_t i = 0; i < roles->count; i++)
        count += deployment_role_at(c, (deployment_role_ix){vec_at(c, roles, i)})->noderoles.count;
    return count;
}

struct picks {
    struct keyed_noderole *items;
    uint32_t count, cap;
};

static void pick_from(const struct core *c, const struct vec *members, pick_fn *wanted,
                      struct picks *out)
{
    for (uint32_t i = 0; i < members->count; i++) {
        const noderole_ix nr = {vec_at(c, members, i)};
        const struct noderole *row = noderole_at(c, nr);
        if (!wanted(row))
            continue;
        must(out->count < out->cap);
        out->items[out->count++] = (struct keyed_noderole){noderole_key(row), nr};
    }
}

noderole_ix *deployment_pick(struct core *c, deployment_ix d, pick_fn *wanted, uint32_t most,
                             uint32_t *out_count)
{
    struct arena scratch = {0};
    struct picks picks = {.cap = most ? member_count(c, d) : 0};
    picks.cap = picks.cap < most ? picks.cap : most;
    *out_count = 0;
    if (picks.cap == 0)
        return NULL;
    picks.items = arena_alloc(&scratch, (size_t)picks.cap * sizeof *picks.items);
    const struct vec *roles = &deployment_at(c, d)->roles;
    for (uint32_t i = 0; i < roles->count; i++) {
        const deployment_role_ix dr = {vec_at(c, roles, i)};
        pick_from(c, &deployment_role_at(c, dr)->noderoles, wanted, &picks);
    }
    graph_sort_keyed(picks.items, picks.count, &scratch);
    noderole_ix *items = arena_alloc(c->arena, (size_t)picks.count * sizeof *items);
    for (uint32_t i = 0; i < picks.count; i++)
        items[i] = picks.items[i].nr;
    *out_count = picks.count;
    arena_fini(&scratch);
    return items;
}

static bool waits_for_a_run(const struct noderole *nr)
{
    return nr->state == NODEROLE_TODO || nr->state == NODEROLE_BLOCKED;
}

noderole_ix *deployment_waiting(struct core *c, deployment_ix d, uint32_t *out_count)
{
    const uint32_t *counts = deployment_at(c, d)->counts;
    return deployment_pick(c, d, waits_for_a_run, counts[NODEROLE_TODO] + counts[NODEROLE_BLOCKED],
                           out_count);
}

/* ---- the parts of a commit ---- */

static bool is_proposed(const struct noderole *nr)
{
    return nr->state == NODEROLE_PROPOSED;
}

static bool is_removing(const struct noderole *nr)
{
    return nr->removing;
}

static bool waits_for_head(const struct noderole *nr)
{
    return nr->state == NODEROLE_TODO || nr->state == NODEROLE_TRANSITION ||
           (nr->state == NODEROLE_ACTIVE && nr->rerun);
}

static void note_removed(struct core *c, struct commit *work, const noderole_ix *items,
                         uint32_t count)
{
    if (work->removed_count + count > work->removed_cap) {
        const uint32_t cap = 2 * (work->removed_count + count);
        noderole_ix *larger = arena_alloc(c->arena, cap * sizeof *larger);
        if (work->removed_count)
            memcpy(larger, work->removed, work->removed_count * sizeof *larger);
        work->removed = larger;
        work->removed_cap = cap;
    }
    if (count)
        memcpy(work->removed + work->removed_count, items, count * sizeof *items);
    work->removed_count += count;
}

/* What a revert marked goes, with what hangs below it where that is allowed (K21). */
static bool remove_marked(struct core *c, struct commit *work)
{
    uint32_t count;
    const noderole_ix *marked =
        deployment_pick(c, work->d, is_removing, deployment_at(c, work->d)->removing, &count);
    for (uint32_t i = count; i-- > 0;) {
        uint32_t below_count;
        if (!pool_is_live(&c->tables[TABLE_NODEROLE].pool, marked[i].v))
            continue; /* went with an earlier one */
        if (!graph_can_delete(c, marked[i]))
            return false;
        const noderole_ix *below = graph_descendants(c, marked[i], c->arena, &below_count);
        note_removed(c, work, below, below_count);
        note_removed(c, work, &marked[i], 1);
        noderole_destroy_all(c, &marked[i], 1);
    }
    return true;
}

static bool commit_roles(struct core *c, struct commit *work)
{
    if (deployment_at(c, work->d)->proposed_roles == 0)
        return true;
    const struct vec *roles = &deployment_at(c, work->d)->roles;
    work->roles = arena_array(c->arena, deployment_role_ix, roles->count);
    for (uint32_t i = 0; i < roles->count; i++) {
        const deployment_role_ix dr = {vec_at(c, roles, i)};
        if (!deployment_role_at(c, dr)->proposed)
            continue;
        work->roles[work->role_count++] = dr;
        if (!deployment_role_commit(c, dr))
            return false;
    }
    return true;
}

/* Clusters are watched from before the data of roles change to after the last noderole did. */
static bool commit_proposed(struct core *c, struct commit *work)
{
    const uint32_t proposed = deployment_at(c, work->d)->counts[NODEROLE_PROPOSED];
    work->items = deployment_pick(c, work->d, is_proposed, proposed, &work->count);
    const struct cluster_watch watch = cluster_watch(c, work->items, work->count);
    if (!commit_roles(c, work) || !noderole_commit_all(c, work->items, work->count))
        return false;
    cluster_poke_changed(c, &watch);
    return true;
}

/* ---- the head ---- */

static uint32_t waiting_count(const struct core *c, deployment_ix d)
{
    const struct deployment *row = deployment_at(c, d);
    return row->counts[NODEROLE_TODO] + row->counts[NODEROLE_TRANSITION] + row->reruns;
}

/* The head is committed again: what a recall kept from starting may start. */
static void resume(struct core *c, deployment_ix d)
{
    uint32_t count;
    const noderole_ix *items = deployment_pick(c, d, waits_for_head, waiting_count(c, d), &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct noderole *nr = noderole_at(c, items[i]);
        sched_enqueue_node(c, nr->node);
        if (nr->state == NODEROLE_ACTIVE && noderole_is_runnable(c, items[i]))
            run_enqueue(c, items[i]);
    }
}

static void open_services(struct core *c, deployment_ix d)
{
    const node_ix phantom = deployment_at(c, d)->phantom;
    if (node_at(c, phantom)->available)
        return;
    node_set_available(c, phantom, true);
    node_changed(c, phantom);
}

/* ---- the verb ---- */

void do_deployment_commit(struct core *c, const struct deployment_commit_command *p)
{
    const deployment_ix d = deployment_by_id(c, p->id);
    if (!d.v) {
        refuse_missing(c, "id", "deployment", p->id);
        return;
    }
    c->out->id = p->id;
    struct commit work = {.d = d, .seq = snapshot_at(c, deployment_at(c, d)->head)->seq};
    work.opens = !deployment_at(c, d)->committed;
    const bool some_wait = work.opens && waiting_count(c, d) > 0;
    if (work.opens) {
        /* First, so that hooks speak; under the number it was proposed with (K18). */
        snapshot_set_state(c, deployment_at(c, d)->head, SNAPSHOT_COMMITTED);
        timeline_hold(c, d);
    }
    if (!remove_marked(c, &work) || !commit_proposed(c, &work))
        return;
    open_services(c, d);
    if (some_wait)
        resume(c, d);
    if (p->rerun_changed)
        defaults_rerun(c, d);
    consent_check(c, &work, p->consent);
    if (c->planning == PLANNING_ALL || p->plan.len)
        plan_check(c, &work, p->plan);
}
