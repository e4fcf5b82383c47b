#include "core/core_private.h"

/* Commit of a whole deployment: everything that is proposed is published in one step, in the order
 * of the graph (docs/spec/timeline.md, "Commit"). The file owns no rows; struct commit collects
 * what was changed, for the plan and the consent. There may be a million noderoles, so each row is
 * read once, and sorting works on small keys.
 *
 * Order: the head (the newest snapshot) becomes COMMITTED first, because state hooks are made only
 * below a committed head. Noderoles with a removal mark are removed before the rest is committed,
 * so that they are not committed. The data of deployment roles is committed before the noderoles,
 * which are refused while data of their role is proposed. The phantom node (it carries the
 * services of the deployment) becomes available and waiting noderoles are enqueued after that.
 *
 * Failure: a veto, a failed hook or a dependant that prevents a removal ends the commit early.
 * Consent and plan are checked last, against the result. Each of these refuses the step and rolls
 * all of it back. */

/* ---- selection of noderoles ---- */

static uint32_t deployment_member_count(const struct core *c, deployment_ix d)
{
    const struct vec *roles = &deployment_at(c, d)->roles;
    uint32_t count = 0;
    for (uint32_t i = 0; i < roles->count; i++)
        count += deployment_role_at(c, (deployment_role_ix){vec_at(c, roles, i)})->noderoles.count;
    return count;
}

noderole_ix *deployment_select(struct core *c, deployment_ix d, noderole_filter_fn *wanted,
                               uint32_t most, uint32_t *out_count)
{
    struct arena scratch = {0};
    const uint32_t member_count = most ? deployment_member_count(c, d) : 0;
    const uint32_t cap = member_count < most ? member_count : most;
    uint32_t count = 0;
    *out_count = 0;
    if (cap == 0)
        return NULL;
    struct keyed_noderole *keyed = arena_alloc(&scratch, (size_t)cap * sizeof *keyed);
    const struct vec *roles = &deployment_at(c, d)->roles;
    for (uint32_t i = 0; i < roles->count; i++) {
        const deployment_role_ix dr = {vec_at(c, roles, i)};
        const struct vec *members = &deployment_role_at(c, dr)->noderoles;
        for (uint32_t k = 0; k < members->count; k++) {
            const noderole_ix nr = {vec_at(c, members, k)};
            const struct noderole *row = noderole_at(c, nr);
            if (!wanted(row))
                continue;
            must(count < cap);
            keyed[count++] = (struct keyed_noderole){noderole_key(row), nr};
        }
    }
    graph_sort_keyed(keyed, count, &scratch);
    noderole_ix *items = arena_alloc(c->arena, (size_t)count * sizeof *items);
    for (uint32_t i = 0; i < count; i++)
        items[i] = keyed[i].nr;
    *out_count = count;
    arena_fini(&scratch);
    return items;
}

static bool noderole_waits_for_run(const struct noderole *nr)
{
    return nr->state == NODEROLE_TODO || nr->state == NODEROLE_BLOCKED;
}

noderole_ix *deployment_waiting(struct core *c, deployment_ix d, uint32_t *out_count)
{
    const uint32_t *counts = deployment_at(c, d)->counts;
    return deployment_select(c, d, noderole_waits_for_run,
                             counts[NODEROLE_TODO] + counts[NODEROLE_BLOCKED], out_count);
}

/* ---- phases of a commit ---- */

static bool noderole_is_proposed(const struct noderole *nr)
{
    return nr->state == NODEROLE_PROPOSED;
}

static bool noderole_is_removing(const struct noderole *nr)
{
    return nr->removing;
}

static bool noderole_waits_for_head(const struct noderole *nr)
{
    return nr->state == NODEROLE_TODO || nr->state == NODEROLE_TRANSITION ||
           (nr->state == NODEROLE_ACTIVE && nr->rerun);
}

static void commit_note_removed(struct core *c, struct commit *work, const noderole_ix *items,
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

/* Removes what a revert marked, with its descendants where the deletion rules allow it (ADR
 * 0022). */
static bool commit_remove_marked(struct core *c, struct commit *work)
{
    uint32_t count;
    const noderole_ix *marked = deployment_select(c, work->d, noderole_is_removing,
                                                  deployment_at(c, work->d)->removing, &count);
    for (uint32_t i = count; i-- > 0;) {
        uint32_t below_count;
        if (!pool_is_live(&c->tables[TABLE_NODEROLE].pool, marked[i].v))
            continue; /* removed with an earlier one */
        if (!graph_can_delete(c, marked[i]))
            return false;
        const noderole_ix *below = graph_descendants(c, marked[i], c->arena, &below_count);
        commit_note_removed(c, work, below, below_count);
        commit_note_removed(c, work, &marked[i], 1);
        noderole_destroy_all(c, &marked[i], 1);
    }
    return true;
}

static bool commit_deployment_roles(struct core *c, struct commit *work)
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

/* The members of clusters are compared from before the role data change to after the last noderole
 * was committed. */
static bool commit_proposed_noderoles(struct core *c, struct commit *work)
{
    const uint32_t proposed = deployment_at(c, work->d)->counts[NODEROLE_PROPOSED];
    work->items = deployment_select(c, work->d, noderole_is_proposed, proposed, &work->count);
    const struct cluster_watch watch = cluster_watch(c, work->items, work->count);
    if (!commit_deployment_roles(c, work) || !noderole_commit_all(c, work->items, work->count))
        return false;
    cluster_rerun_changed(c, &watch);
    return true;
}

/* ---- head and services ---- */

static uint32_t deployment_waiting_count(const struct core *c, deployment_ix d)
{
    const struct deployment *row = deployment_at(c, d);
    return row->counts[NODEROLE_TODO] + row->counts[NODEROLE_TRANSITION] + row->reruns;
}

/* The head is committed again: noderoles that a recall prevented from starting may start. */
static void deployment_resume(struct core *c, deployment_ix d)
{
    uint32_t count;
    const noderole_ix *items =
        deployment_select(c, d, noderole_waits_for_head, deployment_waiting_count(c, d), &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct noderole *nr = noderole_at(c, items[i]);
        sched_enqueue_node(c, nr->node);
        if (nr->state == NODEROLE_ACTIVE && noderole_is_runnable(c, items[i]))
            run_enqueue(c, items[i]);
    }
}

/* ---- command ---- */

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
    const bool some_wait = work.opens && deployment_waiting_count(c, d) > 0;
    if (work.opens) {
        /* First, so that state hooks are made. The head keeps the number it was proposed with. */
        snapshot_set_state(c, deployment_at(c, d)->head, SNAPSHOT_COMMITTED);
        timeline_keep_head(c, d);
    }
    if (!commit_remove_marked(c, &work) || !commit_proposed_noderoles(c, &work))
        return;
    const node_ix phantom = deployment_at(c, d)->phantom;
    if (!node_at(c, phantom)->available) { /* its services may run from now on */
        node_set_available(c, phantom, true);
        node_changed(c, phantom);
    }
    if (some_wait)
        deployment_resume(c, d);
    if (p->rerun_changed)
        defaults_rerun(c, d);
    /* Last, against the result: a mismatch refuses the step and rolls the commit back. */
    consent_check(c, &work, p->consent);
    if (c->planning == PLANNING_ALL || p->plan.len)
        plan_check(c, &work, p->plan);
}
