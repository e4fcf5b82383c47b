#include "sim/model/model_private.h"

#include "base/err.h"

/* The transition table of noderole states (ADR 0006):
 *
 *             commit propose ready lost anc-error start ok failed retry deactivate
 * PROPOSED      s      =      =    =      =        .   =    =      .       =
 * BLOCKED       .      p      t    =      =        .   =    =      .       =
 * TODO (state)  .      p      =    b      b        x   =    e      =       s
 * TRANSITION    .      p      =    =      =        .   a    e      d       s
 * ACTIVE        .      p      =    =      b        x*  =    e      t       s
 * ERROR         .      p      =    b      b        .   =    =      t       s
 *
 *   =  no change                           x  TRANSITION (x*: by a queued run or a rerun mark)
 *   .  not possible, or refused            a  ACTIVE, or as s if the node is dead or a rerun marked
 *   s  settle: by the states of parents    e  ERROR
 *   p  PROPOSED                            d  rerun mark, or as t without a live run
 *   t  TODO (state)                        b  BLOCKED
 *
 * It is implemented as one function per column, with the effects on parents and children written
 * out, so that it shares neither form nor code with the table of the core. */

void model_count(struct model *m, int64_t id, enum model_event event)
{
    m->counts.cells[m->noderoles[id].state][event]++;
}

bool model_parents_active(const struct model *m, int64_t id)
{
    const struct model_noderole *nr = &m->noderoles[id];
    for (uint32_t i = 0; i < nr->parent_count; i++) {
        const struct model_noderole *parent =
            model_find_noderole(m, m->parents[nr->parent_first + i]);
        must(parent);
        if (parent->state != NODEROLE_ACTIVE)
            return false;
    }
    return true;
}

int64_t model_next_by_cohort(const struct model *m, int64_t node_id, int64_t after)
{
    uint32_t at = after ? m->noderoles[after].cohort_index + 1 : 0;
    while (at < m->by_cohort_count && node_id && m->noderoles[m->by_cohort[at]].node_id != node_id)
        at++;
    return at < m->by_cohort_count ? m->by_cohort[at] : 0;
}

/* Set the state, and delete the queued run if the new state does not allow one (ADR 0008). */
static void event_set_state_only(struct model *m, int64_t id, enum noderole_state to)
{
    m->noderoles[id].state = to;
    if (to == NODEROLE_TODO || to == NODEROLE_TRANSITION || to == NODEROLE_ACTIVE)
        return;
    for (uint32_t i = 0; i < m->runs_count; i++)
        if (m->runs[i].noderole_id == id && m->runs[i].state == RUN_QUEUED && !m->runs[i].attempt) {
            model_drop_run(m, m->runs[i].id);
            return;
        }
}

static void event_parent_lost(struct model *m, int64_t id)
{
    model_count(m, id, MODEL_LOST);
    struct model_noderole *nr = &m->noderoles[id];
    if (nr->state == NODEROLE_TODO || nr->state == NODEROLE_ERROR)
        event_set_state_only(m, id, NODEROLE_BLOCKED);
}

/* A parent left ACTIVE. If it was proposed, only children that are ready (TODO state) change. */
static void event_leave_active(struct model *m, int64_t parent_id, bool by_propose)
{
    MODEL_NODEROLES(m, id)
    {
        if (!model_is_parent(m, parent_id, id))
            continue;
        if (!by_propose)
            event_parent_lost(m, id);
        else if (m->noderoles[id].state == NODEROLE_TODO)
            event_set_state_only(m, id, NODEROLE_BLOCKED);
    }
}

static void event_enter_active(struct model *m, int64_t parent_id)
{
    m->noderoles[parent_id].state = NODEROLE_ACTIVE;
    MODEL_NODEROLES(m, id)
    {
        if (!model_is_parent(m, parent_id, id) || !model_parents_active(m, id))
            continue;
        model_count(m, id, MODEL_READY);
        if (m->noderoles[id].state == NODEROLE_BLOCKED)
            m->noderoles[id].state = NODEROLE_TODO;
    }
}

/* `to` is anything but ACTIVE. */
static void event_set_state(struct model *m, int64_t id, enum noderole_state to, bool by_propose)
{
    const bool was_active = m->noderoles[id].state == NODEROLE_ACTIVE;
    event_set_state_only(m, id, to);
    if (was_active)
        event_leave_active(m, id, by_propose);
}

void model_settle(struct model *m, int64_t id)
{
    event_set_state(m, id, model_parents_active(m, id) ? NODEROLE_TODO : NODEROLE_BLOCKED, false);
}

/* A member that is committed to a cluster blocks every child of the cluster (ADR 0012). */
static void event_block_children(struct model *m, int64_t member_id)
{
    MODEL_NODEROLES(m, id)
    {
        const enum noderole_state state = m->noderoles[id].state;
        const bool held =
            state == NODEROLE_ACTIVE || state == NODEROLE_TODO || state == NODEROLE_ERROR;
        if (held && model_is_parent(m, member_id, id))
            event_set_state(m, id, NODEROLE_BLOCKED, false);
    }
}

void model_commit(struct model *m, int64_t id)
{
    must(m->noderoles[id].state == NODEROLE_PROPOSED);
    model_count(m, id, MODEL_COMMIT);
    m->noderoles[id].barred = false;
    model_settle(m, id);
    const int64_t role_id = m->noderoles[id].role_id;
    if (m->roles[role_id].flags & ROLE_CLUSTER)
        event_block_children(m, id);
}

void model_propose(struct model *m, int64_t id)
{
    model_count(m, id, MODEL_PROPOSE);
    model_forget_staged(m, id);
    event_set_state(m, id, NODEROLE_PROPOSED, true);
}

void model_start(struct model *m, int64_t id)
{
    model_count(m, id, MODEL_START);
    m->noderoles[id].rerun = false;
    event_set_state(m, id, NODEROLE_TRANSITION, false);
}

void model_ok(struct model *m, int64_t id)
{
    model_count(m, id, MODEL_OK);
    struct model_noderole *nr = &m->noderoles[id];
    if (nr->state != NODEROLE_TRANSITION)
        return;
    if (!model_node_is_alive(m, nr->node_id) || nr->rerun)
        model_settle(m, id);
    else
        event_enter_active(m, id);
}

/* All descendants of a noderole in ERROR, regardless of the states between. */
static void event_block_descendants(struct model *m, int64_t ancestor_id)
{
    bool below[4096] = {false};
    must(m->noderoles_count <= 4096);
    below[ancestor_id] = true;
    for (bool grew = true; grew;) {
        grew = false;
        MODEL_NODEROLES(m, id)
        {
            const struct model_noderole *nr = &m->noderoles[id];
            for (uint32_t i = 0; i < nr->parent_count && !below[id]; i++)
                if (below[m->parents[nr->parent_first + i]])
                    grew = below[id] = true;
        }
    }
    MODEL_NODEROLES(m, id)
    {
        struct model_noderole *nr = &m->noderoles[id];
        if (!below[id] || id == ancestor_id)
            continue;
        model_count(m, id, MODEL_ANCESTOR_ERROR);
        if (nr->state == NODEROLE_TODO || nr->state == NODEROLE_ACTIVE ||
            nr->state == NODEROLE_ERROR)
            event_set_state_only(m, id, NODEROLE_BLOCKED);
    }
}

void model_failed(struct model *m, int64_t id)
{
    model_count(m, id, MODEL_FAILED);
    struct model_noderole *nr = &m->noderoles[id];
    if (nr->state != NODEROLE_TODO && nr->state != NODEROLE_TRANSITION &&
        nr->state != NODEROLE_ACTIVE)
        return;
    event_set_state_only(m, id, NODEROLE_ERROR);
    event_block_descendants(m, id);
}

void model_retry(struct model *m, int64_t id)
{
    model_count(m, id, MODEL_RETRY);
    const enum noderole_state state = m->noderoles[id].state;
    const struct model_run *run = state == NODEROLE_TRANSITION ? model_live_run(m, id) : NULL;
    /* A run that is parked between two attempts is only started earlier: no mark, no new state. */
    if (run && !(run->state == RUN_PARKED && run->tries))
        m->noderoles[id].rerun = true;
    else if (run)
        return;
    else if (state == NODEROLE_TRANSITION || state == NODEROLE_ACTIVE || state == NODEROLE_ERROR)
        event_set_state(m, id, NODEROLE_TODO, false);
}

void model_node_dead(struct model *m, int64_t node_id)
{
    m->nodes[node_id].alive = false;
    for (int64_t id = 0; (id = model_next_by_cohort(m, node_id, id)) != 0;) {
        const enum noderole_state state = m->noderoles[id].state;
        model_count(m, id, MODEL_DEACTIVATE);
        if (state != NODEROLE_PROPOSED && state != NODEROLE_BLOCKED)
            model_settle(m, id);
    }
}

void model_block_unready(struct model *m)
{
    MODEL_NODEROLES(m, id)
    {
        if (m->noderoles[id].state == NODEROLE_TODO && !model_parents_active(m, id))
            event_set_state_only(m, id, NODEROLE_BLOCKED);
    }
}
