#include "sim/model/model.h"

#include "base/err.h"
#include "sim/model/model_private.h"

/* Why a noderole is not ACTIVE: the first unmet condition in this order, followed to its end.
 *
 *   PROPOSED, ERROR, ACTIVE   say it themselves
 *   TRANSITION                its run; without one it waits for whoever it asked
 *   BLOCKED                   the first parent by (cohort, id) that is not ACTIVE
 *   TODO (state)              its own: hook, target, deployment, node alive, node available, jig;
 *                             its node: stopped by a script, an error, a run, a queued run;
 *                             then who is before it in line, and whether a worker is free
 */

struct model_cause {
    enum cause_code code;
    enum table object;
    int64_t object_id;
};

static struct model_cause root_of(const struct model *m, int64_t noderole_id);

static struct model_cause cause(enum cause_code code, enum table object, int64_t id)
{
    return (struct model_cause){.code = code, .object = object, .object_id = id};
}

static int64_t first_waiting_parent(const struct model *m, const struct model_noderole *nr)
{
    int64_t first = 0;
    for (uint32_t i = 0; i < nr->parent_count; i++) {
        const int64_t parent = m->parents[nr->parent_first + i];
        if (m->noderoles[parent].state != NODEROLE_ACTIVE &&
            (!first || m->noderoles[parent].cohort < m->noderoles[first].cohort))
            first = parent;
    }
    return first;
}

static int64_t hook_of(const struct model *m, int64_t id)
{
    for (uint32_t i = 0; i < m->hooks_count; i++) {
        const struct model_hook *hook = &m->hooks[i];
        if (hook->waiting && hook->kind == OUTBOX_HOOK && hook->about_noderole &&
            hook->object_id == id)
            return (int64_t)i;
    }
    return 0;
}

static struct model_cause of_run(const struct model_run *run)
{
    static const enum cause_code codes[] = {[RUN_QUEUED] = CAUSE_NODE_BUSY,
                                            [RUN_RUNNING] = CAUSE_RUNNING,
                                            [RUN_PARKED] = CAUSE_PARKED,
                                            [RUN_STOPPING] = CAUSE_STOPPING};
    return cause(codes[run->state], TABLE_RUN, run->id);
}

static const struct model_run *queued_on(const struct model *m, int64_t node_id)
{
    for (uint32_t i = 0; i < m->runs_count; i++)
        if (m->runs[i].node_id == node_id && m->runs[i].state == RUN_QUEUED)
            return &m->runs[i];
    return NULL;
}

/* The one of the node that would be taken before this one. */
static int64_t before_in_line(const struct model *m, int64_t node_id, int64_t id)
{
    for (int64_t other = 0; (other = model_next_by_cohort(m, node_id, other)) != 0;) {
        if (other == id)
            return 0;
        if (m->noderoles[other].state == NODEROLE_TODO && model_may_run(m, other))
            return other;
    }
    return 0;
}

/* What about the node as a whole keeps a TODO noderole waiting; CAUSE_NONE when nothing does. */
static struct model_cause of_node(const struct model *m, int64_t node_id)
{
    int64_t other = 0;
    if (m->nodes[node_id].stopped)
        return cause(CAUSE_NODE_STOPPED, TABLE_NODE, node_id);
    if (model_is_probed(m, node_id))
        return cause(CAUSE_PROBING, TABLE_NODE, node_id);
    if (model_has_state(m, node_id, NODEROLE_ERROR, &other))
        return cause(CAUSE_ERROR, TABLE_NODEROLE, other);
    if (model_has_state(m, node_id, NODEROLE_TRANSITION, &other))
        return root_of(m, other);
    if (model_slot(m, node_id))
        return of_run(model_slot(m, node_id));
    if (queued_on(m, node_id))
        return of_run(queued_on(m, node_id));
    return cause(CAUSE_NONE, TABLE_NODE, node_id);
}

/* A machine that is not alive may be waited for, or have failed to come. */
static struct model_cause of_power(const struct model *m, int64_t node_id)
{
    const int64_t server = model_waits_for(m, node_id);
    if (server)
        return cause(CAUSE_BOOT_NOT_SERVED, TABLE_NODEROLE, server);
    const bool has_status =
        node_id < (int64_t)m->boots_count && m->boots[node_id].here && m->boots[node_id].has_status;
    return cause(has_status ? CAUSE_POWER_FAILED : CAUSE_NOT_ALIVE, TABLE_NODE, node_id);
}

static struct model_cause of_todo(const struct model *m, int64_t id)
{
    const struct model_noderole *nr = &m->noderoles[id];
    const struct model_node *node = &m->nodes[nr->node_id];
    if (hook_of(m, id))
        return cause(CAUSE_WAITING_FOR_HOOK, TABLE_OUTBOX, hook_of(m, id));
    if (nr->unavailable)
        return cause(CAUSE_HELD_BY_TARGET, TABLE_NODE, nr->node_id);
    if (!m->deployments[nr->deployment_id].committed)
        return cause(CAUSE_HEAD_PROPOSED, TABLE_DEPLOYMENT, nr->deployment_id);
    if (!node->alive)
        return of_power(m, nr->node_id);
    if (!node->available)
        return cause(CAUSE_NOT_AVAILABLE, TABLE_NODE, nr->node_id);
    if (!m->roles[nr->role_id].usable)
        return cause(CAUSE_JIG_INACTIVE, TABLE_ROLE, nr->role_id);
    const struct model_cause closed = of_node(m, nr->node_id);
    if (closed.code != CAUSE_NONE)
        return closed;
    const int64_t earlier = before_in_line(m, nr->node_id, id);
    if (earlier)
        return of_todo(m, earlier); /* which is the first in line: no deeper than one */
    if (!model_is_instant(m, id) && !model_has_worker(m, QUEUE_NORMAL))
        return cause(CAUSE_NO_WORKER, TABLE_SETTINGS, 1);
    return cause(CAUSE_READY, TABLE_NODEROLE, id);
}

static struct model_cause root_of(const struct model *m, int64_t noderole_id)
{
    for (int64_t id = noderole_id;;) {
        const struct model_noderole *nr = model_see(m, id);
        must(nr);
        const struct model_run *run = model_live_run(m, id);
        switch (nr->state) {
        case NODEROLE_PROPOSED: return cause(CAUSE_PROPOSED, TABLE_NODEROLE, id);
        case NODEROLE_ERROR: return cause(CAUSE_ERROR, TABLE_NODEROLE, id);
        case NODEROLE_ACTIVE: return cause(CAUSE_NONE, TABLE_NODEROLE, id);
        case NODEROLE_TODO: return of_todo(m, id);
        case NODEROLE_TRANSITION: return run ? of_run(run) : cause(CAUSE_ASYNC, TABLE_NODEROLE, id);
        case NODEROLE_BLOCKED: id = first_waiting_parent(m, nr); break;
        case NODEROLE_STATE_COUNT: impossible("no such state");
        }
    }
}

const char *model_check_why(struct model *m, const struct core *c, struct arena *scratch)
{
    MODEL_NODEROLES(m, id)
    {
        const struct arena_mark mark = arena_mark(scratch);
        const struct cause *last = core_why(c, TABLE_NODEROLE, id, scratch);
        if (!last)
            return model_trouble(m, "I10: why has no answer for noderole %lld", (long long)id);
        while (last->next && last->next->code != CAUSE_REASON)
            last = last->next;
        const struct model_cause ours = root_of(m, id);
        m->counts.causes[ours.code]++;
        if (last->code != ours.code || last->object != ours.object ||
            last->object_id != ours.object_id)
            return model_trouble(
                m, "I10: why noderole %lld: %s of %s %lld, should be %s of %s %lld", (long long)id,
                cause_name(last->code), table_name(last->object), (long long)last->object_id,
                cause_name(ours.code), table_name(ours.object), (long long)ours.object_id);
        arena_rewind(scratch, mark);
    }
    return NULL;
}
