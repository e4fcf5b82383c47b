#include "core/plan/plan.h"

#include "core/data/data.h"

/* Projection: imitates do_deployment_commit() and its consequences in noderole.c, cluster.c and
 * node.c in a view (commit_view.h), as far as a plan can show them. A unit test and the simulator
 * compare the result with that of a dry step over random graphs, so a change there requires the
 * same change here. Other effects of a commit (timeline, hooks, power orders) are not part of a
 * plan.
 *
 * The order of phases is that of the commit: removals, role data, noderoles, clusters, services,
 * resumed runs. Children are notified from a stack of fan-outs before the next unit of the phase,
 * as the commit notifies them within the transition of the parent. The documents of the view count
 * as committed after the phase of role data, because noderoles are staged with them.
 *
 * This file owns plan.view. No row is changed. Failure: what would refuse the commit is recorded as
 * a problem of the plan, which ends with the phase (plan_work); veto requests are recorded
 * likewise. */

/* ---- states ---- */

static bool project_has_inactive_parent(struct plan *p, noderole_ix nr)
{
    const struct vec *parents = &noderole_at(p->c, nr)->parents;
    plan_cost(p, parents->count / 4);
    for (uint32_t i = 0; i < parents->count; i++) {
        const noderole_ix parent = {vec_at(p->c, parents, i)};
        plan_read(p, parent);
        if (view_state(p->c, parent) != NODEROLE_ACTIVE)
            return true;
    }
    return false;
}

static void project_push_fanout(struct plan *p, noderole_ix parent, bool is_hold)
{
    must(p->fanout_count < sizeof p->fanouts / sizeof *p->fanouts);
    p->fanouts[p->fanout_count++] = (struct fanout){.parent = parent, .is_hold = is_hold};
}

static void project_error(struct plan *p, noderole_ix from);

static void project_enter(struct plan *p, noderole_ix nr, enum noderole_state to)
{
    const uint8_t from = view_state(p->c, nr);
    uint8_t *flags = &p->view.flags[nr.v];
    must(from != to && from != STATE_REMOVED);
    plan_read(p, nr);
    const bool drops = to == NODEROLE_PROPOSED || to == NODEROLE_BLOCKED || to == NODEROLE_ERROR;
    if (drops && *flags & SEEN_ENQUEUED)
        *flags &= (uint8_t)~SEEN_ENQUEUED;
    else if (drops && noderole_at(p->c, nr)->queued.v)
        *flags |= SEEN_DROPPED;
    p->view.state[nr.v] = (uint8_t)(to + 1);
    if (from == NODEROLE_ACTIVE)
        project_push_fanout(p, nr, false);
    if (to == NODEROLE_ERROR)
        project_error(p, nr);
}

static void project_settle(struct plan *p, noderole_ix nr)
{
    const enum noderole_state to =
        project_has_inactive_parent(p, nr) ? NODEROLE_BLOCKED : NODEROLE_TODO;
    if (view_state(p->c, nr) != to)
        project_enter(p, nr, to);
}

/* Notifies the next child of the newest fan-out. */
static void project_notify_child(struct plan *p)
{
    struct fanout *fanout = &p->fanouts[p->fanout_count - 1];
    const struct vec *children = &noderole_at(p->c, fanout->parent)->children;
    if (fanout->next == children->count) {
        p->fanout_count--;
        return;
    }
    const noderole_ix child = {vec_at(p->c, children, fanout->next++)};
    const uint8_t state = view_state(p->c, child);
    plan_read(p, child);
    if (state == STATE_REMOVED)
        return;
    if (fanout->is_hold) {
        if (state == NODEROLE_ACTIVE || state == NODEROLE_TODO || state == NODEROLE_ERROR) {
            p->view.flags[child.v] |= SEEN_CLUSTER;
            project_enter(p, child, NODEROLE_BLOCKED);
        }
    } else if (noderole_cell(state, EVENT_LOST) == 'b') {
        project_enter(p, child, NODEROLE_BLOCKED);
    }
}

static void project_finish_fanouts(struct plan *p)
{
    while (p->fanout_count)
        project_notify_child(p);
}

/* Blocks the descendants of a noderole that changes to ERROR, in ascending order of cohort. This is
 * one unit: a commit causes an ERROR only where a run that a recall prevented lacks a required
 * attrib or has too much data. */
static void project_error(struct plan *p, noderole_ix from)
{
    uint32_t count;
    const struct arena_mark mark = arena_mark(&p->scratch);
    noderole_ix *below = graph_descendants(p->c, from, &p->scratch, &count);
    p->view.node_flags[noderole_at(p->c, from)->node.v] |= SEEN_NODE_FAILED;
    graph_sort_by_cohort(p->c, below, count, false);
    project_finish_fanouts(p);
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t state = view_state(p->c, below[i]);
        plan_read(p, below[i]);
        if (state != STATE_REMOVED && noderole_cell(state, EVENT_ANC_ERROR) == 'b')
            project_enter(p, below[i], NODEROLE_BLOCKED);
        project_finish_fanouts(p);
    }
    plan_cost(p, count);
    arena_rewind(&p->scratch, mark);
}

static void project_mark_rerun(struct plan *p, noderole_ix nr)
{
    plan_read(p, nr);
    p->view.flags[nr.v] |= SEEN_RERUN;
}

static void project_request_rerun(struct plan *p, noderole_ix nr)
{
    const struct noderole *row = noderole_at(p->c, nr);
    const uint8_t state = view_state(p->c, nr);
    if (state == NODEROLE_TRANSITION && row->run.v)
        project_mark_rerun(p, nr);
    else if (state == STATE_REMOVED)
        return;
    else if (!noderole_is_runnable(p->c, nr)) {
        if (state == NODEROLE_ACTIVE)
            project_mark_rerun(p, nr);
    } else if (state == NODEROLE_TRANSITION || state == NODEROLE_ACTIVE)
        project_settle(p, nr);
}

/* ---- runs ---- */

static void project_note_enqueued(struct plan *p, noderole_ix nr)
{
    struct projection *v = &p->view;
    if (v->enqueued_count == v->enqueued_cap) {
        const uint32_t cap = v->enqueued_cap ? v->enqueued_cap * 2 : 16;
        noderole_ix *larger = arena_array(&p->arena, noderole_ix, cap);
        if (v->enqueued_count)
            memcpy(larger, v->enqueued, v->enqueued_count * sizeof *larger);
        v->enqueued = larger;
        v->enqueued_cap = cap;
    }
    v->enqueued[v->enqueued_count++] = nr;
    v->flags[nr.v] |= SEEN_ENQUEUED;
    v->node_flags[noderole_at(p->c, nr)->node.v] |= SEEN_NODE_QUEUED;
}

static void project_note_failure(struct plan *p, noderole_ix nr, struct failure failure)
{
    struct projection *v = &p->view;
    if (!v->failures) {
        p->failure_pages = plan_pages((size_t)v->noderoles * sizeof *v->failures);
        v->failures = p->failure_pages.at;
    }
    v->failures[nr.v] = arena_copy(&p->arena, &failure, sizeof failure);
}

static bool project_may_queue(const struct plan *p, noderole_ix nr)
{
    const uint8_t state = view_state(p->c, nr);
    return noderole_is_runnable(p->c, nr) &&
           (state == NODEROLE_ACTIVE || state == NODEROLE_TODO || state == NODEROLE_TRANSITION);
}

static void project_enqueue(struct plan *p, noderole_ix nr)
{
    const bool is_queued = view_is_queued(p->c, nr);
    if (!is_queued && !project_may_queue(p, nr)) {
        project_mark_rerun(p, nr);
        return;
    }
    const struct arena_mark mark = arena_mark(&p->scratch);
    plan_read_ancestors(p, nr);
    const attrib_ix missing = required_missing(p->c, nr, &p->scratch);
    const uint32_t size = missing.v ? 0 : stage_noderole(p->c, nr, &p->scratch).len;
    const bool fails = missing.v || size > STAGED_MAX;
    arena_rewind(&p->scratch, mark);
    plan_cost(p, 20);
    if (fails && noderole_cell(view_state(p->c, nr), EVENT_FAILED) == 'e') {
        project_note_failure(p, nr,
                             missing.v ? required_missing_failure(p->c, nr, missing, &p->arena)
                                       : required_size_failure(size, &p->arena));
        project_enter(p, nr, NODEROLE_ERROR);
    } else if (!fails && !is_queued)
        project_note_enqueued(p, nr);
}

/* Enqueues the postponed runs of the node that have become possible. */
static void project_resume_node(struct plan *p, node_ix n)
{
    const struct vec *all = &node_at(p->c, n)->noderoles;
    plan_read_node(p, n);
    for (uint32_t i = 0; i < all->count; i++) {
        const noderole_ix nr = {vec_at(p->c, all, i)};
        if (view_is_rerun(p->c, nr) && view_state(p->c, nr) == NODEROLE_ACTIVE &&
            noderole_is_runnable(p->c, nr))
            project_enqueue(p, nr);
    }
}

/* ---- removals ---- */

/* Applies the rule of graph_can_delete() to the descendants that still exist. */
static bool project_may_remove(struct plan *p, noderole_ix nr, const noderole_ix *below,
                               uint32_t count)
{
    const node_ix home = noderole_at(p->c, nr)->node;
    bool same_node = true, never_ran = true;
    noderole_ix foreign = {0};
    for (uint32_t i = 0; i < count; i++) {
        const struct noderole *row = noderole_at(p->c, below[i]);
        plan_read(p, below[i]);
        never_ran &= row->state == NODEROLE_PROPOSED && row->run_count == 0;
        if (row->node.v != home.v) {
            same_node = false;
            foreign = below[i];
        }
    }
    if (same_node || never_ran)
        return true;
    return refuse(p->c, PROBLEM_HAS_DEPENDANTS, STR("id"),
                  STR_CONCAT(p->c->arena, noderole_label(p->c, foreign, p->c->arena),
                             STR(" depends on "), noderole_label(p->c, nr, p->c->arena)));
}

static void project_removal(struct plan *p, noderole_ix nr)
{
    const struct noderole *row = noderole_at(p->c, nr);
    plan_read(p, nr);
    p->view.state[nr.v] = STATE_REMOVED + 1;
    if (node_at(p->c, row->node)->target.v != row->role.v ||
        p->view.node_flags[row->node.v] & SEEN_NODE_RELEASED)
        return;
    p->view.node_flags[row->node.v] |= SEEN_NODE_RELEASED;
    project_resume_node(p, row->node);
}

/* A noderole that is removed is not committed. */
static void project_drop_removed_items(struct plan *p)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->items.count; i++)
        if (view_state(p->c, p->items.items[i]) != STATE_REMOVED)
            p->items.items[kept++] = p->items.items[i];
    p->items.count = kept;
}

/* Removes one marked noderole with its descendants, from the highest cohort down. */
static bool project_remove_unit(struct plan *p)
{
    uint32_t count, kept = 0;
    if (p->at == p->marked.count || refused(p->c)) {
        if (p->removed.count)
            project_drop_removed_items(p);
        return true;
    }
    /* The list is sorted by cohort and processed from its end. */
    const noderole_ix nr = p->marked.items[p->marked.count - ++p->at];
    if (view_state(p->c, nr) == STATE_REMOVED)
        return false;
    const struct arena_mark mark = arena_mark(&p->scratch);
    noderole_ix *below = graph_descendants(p->c, nr, &p->scratch, &count);
    for (uint32_t i = 0; i < count; i++)
        if (view_state(p->c, below[i]) != STATE_REMOVED)
            below[kept++] = below[i];
    plan_cost(p, 4 * count);
    if (project_may_remove(p, nr, below, kept)) {
        for (uint32_t i = 0; i < kept; i++)
            plan_noderoles_add(&p->removed, below[i]);
        plan_noderoles_add(&p->removed, nr);
        graph_sort_by_cohort(p->c, below, kept, true);
        for (uint32_t i = 0; i < kept; i++)
            project_removal(p, below[i]);
        project_removal(p, nr);
    }
    arena_rewind(&p->scratch, mark);
    return false;
}

/* ---- data of deployment roles ---- */

/* True if the value of an attrib of the role changes when its proposed data is published. */
static bool project_role_value_changes(struct plan *p, deployment_role_ix dr)
{
    uint32_t count;
    const struct arena_mark mark = arena_mark(&p->scratch);
    const role_ix role = deployment_role_at(p->c, dr)->role;
    const attrib_ix *attribs = data_attribs_of(p->c, role, &p->scratch, &count);
    const struct json *before = data_deployment_role(p->c, dr, true, &p->scratch);
    p->view.has_documents = true;
    const struct json *after = data_deployment_role(p->c, dr, true, &p->scratch);
    p->view.has_documents = false;
    bool changes = false;
    for (uint32_t i = 0; i < count && !changes; i++)
        changes = !json_eq(data_value(p->c, attribs[i], before, &p->scratch),
                           data_value(p->c, attribs[i], after, &p->scratch));
    arena_rewind(&p->scratch, mark);
    plan_cost(p, 50);
    return changes;
}

/* Publishes the proposed data of one role. If a value changes, all its noderoles are rerun, one in
 * each unit. */
static bool project_roles_unit(struct plan *p)
{
    const struct vec *roles = &deployment_at(p->c, p->d)->roles;
    if (p->position.role == roles->count || refused(p->c)) {
        p->view.has_documents = true;
        return true;
    }
    /* First unit of a role: request the veto and find out whether a value changes. */
    const deployment_role_ix ix = {vec_at(p->c, roles, p->position.role)};
    const struct deployment_role *dr = deployment_role_at(p->c, ix);
    if (p->position.member == 0) {
        if (dr->proposed) {
            p->roles[p->role_count++] = ix;
            if (role_at(p->c, dr->role)->hooks & 1u << HOOK_COMMIT)
                hooks_request_veto(p->c, HOOK_COMMIT, dr->role,
                                   hooks_deployment_role_argument(p->c, ix));
        }
        if (!dr->proposed || refused(p->c) || dr->proposed_data == dr->committed_data ||
            !dr->noderoles.count || !project_role_value_changes(p, ix)) {
            p->position.role++;
            return false;
        }
    }
    /* One noderole of the role in each further unit. */
    const noderole_ix nr = {vec_at(p->c, &dr->noderoles, p->position.member)};
    const uint8_t before = view_state(p->c, nr);
    project_request_rerun(p, nr);
    if (view_state(p->c, nr) != before)
        p->view.flags[nr.v] |= SEEN_ROLE_DATA;
    if (++p->position.member == dr->noderoles.count)
        p->position = (struct walk_position){.role = p->position.role + 1};
    return false;
}

/* ---- commit of noderoles ---- */

static bool project_commit_unit(struct plan *p)
{
    struct core *c = p->c;
    if (p->at == p->items.count)
        return true;
    const noderole_ix nr = p->items.items[p->at++];
    const struct noderole *row = noderole_at(c, nr);
    if (row->hook_failed)
        refuse(c, PROBLEM_HOOK_FAILED, STR("status"),
               STR_CONCAT(c->arena, noderole_label(c, nr, c->arena), STR(": on_proposed failed: "),
                          text_of(c, row->status)));
    if (refused(c))
        return false;
    if (role_at(c, row->role)->hooks & 1u << HOOK_COMMIT &&
        !hooks_request_veto(c, HOOK_COMMIT, row->role, hooks_noderole_argument(c, nr)))
        return false;
    p->view.flags[nr.v] |= SEEN_COMMITTED_HERE;
    project_settle(p, nr);
    if (role_at(c, row->role)->flags & ROLE_CLUSTER)
        project_push_fanout(p, nr, true);
    if (!node_at(c, row->node)->alive && node_can_power(c, row->node, STR("on")))
        p->view.node_flags[row->node.v] |= SEEN_NODE_POWER;
    return false;
}

/* ---- clusters ---- */

static uint64_t project_hash_staged(struct plan *p, noderole_ix nr, bool has_documents)
{
    const struct arena_mark mark = arena_mark(&p->scratch);
    p->view.has_documents = has_documents;
    const struct str staged = stage_noderole(p->c, nr, &p->scratch);
    const uint64_t hash = hash64(staged, 0);
    plan_cost(p, 10 + staged.len / 128);
    p->view.has_documents = true;
    arena_rewind(&p->scratch, mark);
    return hash;
}

/* Handles one member of a cluster that grows: it is rerun if its staged data changes. */
static void project_cluster_member(struct plan *p, noderole_ix nr)
{
    const uint8_t before = noderole_at(p->c, nr)->state; /* the state before the commit */
    if ((before != NODEROLE_ACTIVE && before != NODEROLE_TRANSITION) ||
        view_state(p->c, nr) == STATE_REMOVED)
        return;
    plan_read_ancestors(p, nr);
    if (project_hash_staged(p, nr, false) == project_hash_staged(p, nr, true))
        return;
    const uint8_t state = view_state(p->c, nr);
    project_request_rerun(p, nr);
    if (view_state(p->c, nr) != state)
        p->view.flags[nr.v] |= SEEN_CLUSTER;
}

static bool project_clusters_unit(struct plan *p)
{
    if (p->cluster.v) {
        const struct vec *members = &deployment_role_at(p->c, p->cluster)->noderoles;
        project_cluster_member(p, (noderole_ix){vec_at(p->c, members, p->position.member++)});
        if (p->position.member == members->count) {
            p->cluster.v = 0;
            p->position.member = 0;
        }
        return false;
    }
    if (p->at == p->items.count)
        return true;
    const struct noderole *nr = noderole_at(p->c, p->items.items[p->at++]);
    if (!(role_at(p->c, nr->role)->flags & ROLE_CLUSTER))
        return false;
    if (!p->seen_clusters)
        p->seen_clusters = arena_array(&p->arena, bool, p->view.roles);
    if (!p->seen_clusters[nr->dr.v])
        p->cluster = nr->dr;
    p->seen_clusters[nr->dr.v] = true;
    return false;
}

/* ---- other phases ---- */

static bool project_scan_unit(struct plan *p)
{
    const noderole_ix nr = plan_next_member(p);
    if (!nr.v)
        return true;
    const struct noderole *row = noderole_at(p->c, nr);
    plan_read(p, nr); /* marks its node as read, too: its flags decide about all that follows */
    if (row->removing)
        plan_noderoles_add(&p->marked, nr);
    if (row->state == NODEROLE_PROPOSED)
        plan_key(p, nr);
    return false;
}

static bool project_services_unit(struct plan *p)
{
    const node_ix phantom = deployment_at(p->c, p->d)->phantom;
    p->view.has_services = true;
    if (!node_at(p->c, phantom)->available)
        project_resume_node(p, phantom);
    return true;
}

static bool project_reruns_unit(struct plan *p)
{
    const noderole_ix nr = p->some_wait ? plan_next_member(p) : (noderole_ix){0};
    if (!nr.v)
        return true;
    if (view_state(p->c, nr) == NODEROLE_ACTIVE && view_is_rerun(p->c, nr))
        plan_key(p, nr);
    return false;
}

static bool project_resume_unit(struct plan *p)
{
    if (p->at == p->reruns.count)
        return true;
    const noderole_ix nr = p->reruns.items[p->at++];
    if (view_state(p->c, nr) == NODEROLE_ACTIVE && noderole_is_runnable(p->c, nr))
        project_enqueue(p, nr);
    return false;
}

static bool project_sort_unit(struct plan *p, struct plan_noderoles *out)
{
    return plan_sort(p) && plan_take_sorted(p, out);
}

static bool project_sort_items_unit(struct plan *p)
{
    if (!project_sort_unit(p, &p->items))
        return false;
    for (uint32_t i = 0; i < p->marked.count; i++)
        plan_key(p, p->marked.items[i]);
    p->marked.count = 0;
    return true;
}

static bool project_sort_marked_unit(struct plan *p)
{
    return project_sort_unit(p, &p->marked);
}

static bool project_sort_reruns_unit(struct plan *p)
{
    return project_sort_unit(p, &p->reruns);
}

bool projection_unit(struct plan *p)
{
    static bool (*const units[])(struct plan * p) = {
        [PHASE_SCAN] = project_scan_unit,
        [PHASE_SORT_ITEMS] = project_sort_items_unit,
        [PHASE_SORT_MARKED] = project_sort_marked_unit,
        [PHASE_REMOVE] = project_remove_unit,
        [PHASE_ROLES] = project_roles_unit,
        [PHASE_COMMIT] = project_commit_unit,
        [PHASE_CLUSTERS] = project_clusters_unit,
        [PHASE_SERVICES] = project_services_unit,
        [PHASE_RERUNS] = project_reruns_unit,
        [PHASE_SORT_RERUNS] = project_sort_reruns_unit,
        [PHASE_RESUME] = project_resume_unit,
    };
    if (p->fanout_count) {
        project_notify_child(p);
        return false;
    }
    must(p->phase < sizeof units / sizeof *units);
    return units[p->phase](p);
}
