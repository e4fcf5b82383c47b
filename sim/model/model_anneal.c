#include "sim/model/model_private.h"

#include "base/err.h"

/* A pass of the annealer. The core chooses, we check: every start it shows must have been allowed
 * at its moment (DECISIONS D2, core rules K5, K6), and when it says that nothing is left to do, we
 * must not find anything either. Work that takes no time (no-op jigs, a destructive role that has
 * already run) leaves no effect behind; it shows in the states. */

static bool waits_for_hook(const struct model *m, int64_t id)
{
    for (uint32_t i = 0; i < m->hooks_count; i++) {
        const struct model_hook *hook = &m->hooks[i];
        if (hook->waiting && hook->kind == OUTBOX_HOOK && hook->about_noderole &&
            hook->object_id == id)
            return true;
    }
    return false;
}

static bool head_committed(const struct model *m, int64_t deployment_id)
{
    return m->deployments[deployment_id].here && m->deployments[deployment_id].committed;
}

bool model_may_run(const struct model *m, int64_t id)
{
    const struct model_noderole *nr = &m->noderoles[id];
    const struct model_node *node = &m->nodes[nr->node_id];
    return head_committed(m, nr->deployment_id) && node->alive && node->available &&
           !nr->unavailable && m->roles[nr->role_id].usable && !waits_for_hook(m, id);
}

bool model_is_runnable(const struct model *m, int64_t id)
{
    const struct model_noderole *nr = &m->noderoles[id];
    const struct model_node *node = &m->nodes[nr->node_id];
    return node->available && node->alive && m->roles[nr->role_id].usable &&
           head_committed(m, nr->deployment_id) && nr->state != NODEROLE_PROPOSED &&
           nr->state != NODEROLE_ERROR;
}

const struct model_run *model_slot(const struct model *m, int64_t node_id)
{
    for (uint32_t i = 0; i < m->runs_count; i++) {
        const struct model_run *run = &m->runs[i];
        if (run->node_id == node_id && (run->state == RUN_RUNNING || run->state == RUN_STOPPING))
            return run;
    }
    return NULL;
}

bool model_has_worker(const struct model *m, enum queue queue)
{
    uint32_t busy = 0;
    for (uint32_t i = 0; i < m->runs_count; i++) {
        const struct model_run *run = &m->runs[i];
        if (run->queue == queue && (run->state == RUN_RUNNING || run->state == RUN_STOPPING))
            busy++;
    }
    return busy < m->pool[queue];
}

bool model_is_probed(const struct model *m, int64_t node_id)
{
    for (uint32_t i = 0; i < m->hooks_count; i++)
        if (m->hooks[i].waiting && m->hooks[i].kind == OUTBOX_PROBE &&
            m->hooks[i].object_id == node_id)
            return true;
    return false;
}

bool model_has_state(const struct model *m, int64_t node_id, enum noderole_state state,
                     int64_t *out_id)
{
    int64_t first = 0;
    MODEL_NODEROLES(m, id)
    {
        const struct model_noderole *nr = &m->noderoles[id];
        if (nr->node_id == node_id && nr->state == state &&
            (!first || nr->cohort < m->noderoles[first].cohort))
            first = id;
    }
    if (out_id)
        *out_id = first;
    return first != 0;
}

/* A destructive role that has run once is passed over: nothing runs, nothing is counted. */
static bool is_skipped(const struct model *m, int64_t id)
{
    const struct model_noderole *nr = &m->noderoles[id];
    return (m->roles[nr->role_id].flags & ROLE_DESTRUCTIVE) && nr->run_count > 0;
}

bool model_is_instant(const struct model *m, int64_t id)
{
    return m->roles[m->noderoles[id].role_id].instant || is_skipped(m, id);
}

static struct model_run *queued_run(struct model *m, int64_t noderole_id, int64_t node_id)
{
    for (uint32_t i = 0; i < m->runs_count; i++) {
        struct model_run *run = &m->runs[i];
        if (run->state == RUN_QUEUED && (!noderole_id || run->noderole_id == noderole_id) &&
            (!node_id || run->node_id == node_id))
            return run;
    }
    return NULL;
}

/* Nobody asked for peace there, and nobody is still asking whether it answers. */
static bool may_begin(const struct model *m, int64_t node_id)
{
    return !m->nodes[node_id].stopped && !model_is_probed(m, node_id);
}

/* The node as a whole takes annealer work. */
static bool node_is_open(struct model *m, int64_t node_id)
{
    return !model_slot(m, node_id) && may_begin(m, node_id) &&
           !model_has_state(m, node_id, NODEROLE_TRANSITION, NULL) &&
           !model_has_state(m, node_id, NODEROLE_ERROR, NULL) && !queued_run(m, 0, node_id);
}

/* The first TODO noderole of its node by (cohort, id) that meets its own conditions. */
static bool is_first(const struct model *m, int64_t id)
{
    const int64_t node_id = m->noderoles[id].node_id;
    for (int64_t other = 0; (other = model_next_by_cohort(m, node_id, other)) != 0;) {
        if (other == id)
            return true;
        if (m->noderoles[other].state == NODEROLE_TODO && model_may_run(m, other))
            return false;
    }
    return false;
}

static bool is_ready(struct model *m, int64_t id)
{
    const struct model_noderole *nr = &m->noderoles[id];
    return nr->state == NODEROLE_TODO && model_parents_active(m, id) && model_may_run(m, id) &&
           node_is_open(m, nr->node_id);
}

static bool may_anneal(struct model *m, int64_t id)
{
    return is_ready(m, id) && is_first(m, id);
}

static bool may_start_queued(struct model *m, int64_t id)
{
    const struct model_noderole *nr = &m->noderoles[id];
    return (nr->state == NODEROLE_TODO || nr->state == NODEROLE_ACTIVE) && model_may_run(m, id) &&
           may_begin(m, nr->node_id) && !model_slot(m, nr->node_id);
}

/* A parked run that was resumed keeps its noderole in TRANSITION; otherwise it starts like any. */
static bool may_start_again(struct model *m, int64_t id)
{
    const struct model_noderole *nr = &m->noderoles[id];
    return nr->state == NODEROLE_TRANSITION && model_may_run(m, id) && may_begin(m, nr->node_id) &&
           !model_slot(m, nr->node_id);
}

/* ---- work that takes no time ---- */

/* Did the core finish this one in the pass, and have we not followed it yet? */
static bool was_instant(const struct core *c, struct model *m, int64_t id)
{
    const struct model_noderole *nr = &m->noderoles[id];
    struct record record;
    if (!model_is_instant(m, id))
        return false;
    must(core_record(c, TABLE_NODEROLE, id, &record));
    struct record run;
    const bool ran = record.noderole.run_count > nr->run_count;
    const struct model_run *queued = queued_run(m, id, 0);
    const bool called = queued && (nr->state == NODEROLE_TODO || nr->state == NODEROLE_ACTIVE)
                            ? !core_record(c, TABLE_RUN, queued->id, &run)
                            : nr->state == NODEROLE_ACTIVE && nr->rerun && !record.noderole.rerun;
    /* What was asked for and is gone was done, or fell with its node; a role that is passed over
     * leaves no count, and following it changes none. */
    if (called)
        return ran || is_skipped(m, id);
    if (queued)
        return false;
    return ran || (record.noderole.state == NODEROLE_ACTIVE && nr->state != NODEROLE_ACTIVE);
}

/* In which order nodes are looked at is nobody's business, so which of them was first when it was
 * done cannot be said afterwards. */
static bool may_be_instant(struct model *m, int64_t id)
{
    const bool marked = m->noderoles[id].state == NODEROLE_ACTIVE && m->noderoles[id].rerun;
    return marked || queued_run(m, id, 0) ? may_start_queued(m, id) : is_ready(m, id);
}

static void finish_instantly(struct model *m, int64_t id, bool last)
{
    const struct model_run *queued = queued_run(m, id, 0);
    if (queued)
        model_drop_run(m, queued->id);
    model_start(m, id);
    if (!is_skipped(m, id))
        m->noderoles[id].run_count++;
    model_ok(m, id);
    m->counts.instant++;
    if (last)
        model_node_dies(m, m->noderoles[id].node_id);
}

/* One that was passed over leaves no trace when its node goes down right behind it. */
static bool was_skipped_before(struct model *m, const struct core *c, int64_t id)
{
    struct record node;
    return is_skipped(m, id) && is_ready(m, id) &&
           core_record(c, TABLE_NODE, m->noderoles[id].node_id, &node) && !node.node.alive;
}

/* It switches its node off when it is done: nothing else on the node can have come after it. */
static bool ends_node(struct model *m, const struct core *c, int64_t id)
{
    const int64_t node_id = m->noderoles[id].node_id;
    struct record node;
    return m->roles[m->noderoles[id].role_id].flags & ROLE_POWERSAVE &&
           model_node_is_alive(m, node_id) && core_record(c, TABLE_NODE, node_id, &node) &&
           !node.node.alive;
}

/* One round over all; those that end a node only when there is nothing else left to follow. */
static bool follow_round(struct model *m, const struct core *c, bool enders)
{
    bool moved = false;
    for (int64_t id = 0; (id = model_next_by_cohort(m, 0, id)) != 0;) {
        const bool was =
            (was_instant(c, m, id) && may_be_instant(m, id)) || was_skipped_before(m, c, id);
        if (!was || ends_node(m, c, id) != enders)
            continue;
        finish_instantly(m, id, enders);
        moved = true;
        if (enders)
            break;
    }
    return moved;
}

static void follow_instants(struct model *m, const struct core *c)
{
    while (follow_round(m, c, false) || follow_round(m, c, true))
        continue;
}

/* ---- work that does ---- */

/* Which rule a start breaks. */
static const char *forbidden(struct model *m, const struct model_run *run, bool queued)
{
    const int64_t id = run->noderole_id;
    const int64_t node_id = m->noderoles[id].node_id;
    const char *rule = !model_has_worker(m, run->queue) ? "no worker is free"
                       : waits_for_hook(m, id)          ? "a hook of its own is out"
                       : !model_may_run(m, id)          ? "node, target, jig or deployment"
                       : model_slot(m, node_id)         ? "the node has a run"
                       : !may_begin(m, node_id)         ? "the node is stopped or asked for"
                       : queued                         ? "its state"
                       : !model_parents_active(m, id)   ? "a parent is not active"
                       : !node_is_open(m, node_id)      ? "the node is closed"
                       : !is_first(m, id)               ? "another one of the node is first"
                                                        : "its state";
    return model_trouble(m, "I10: noderole %lld (%s) was started by run %lld against the rules: %s",
                         (long long)id, noderole_state_name(m->noderoles[id].state),
                         (long long)run->id, rule);
}

static const char *follow_start(struct model *m, const struct model_run *run)
{
    const int64_t id = run->noderole_id;
    if (!model_at(m, id))
        return model_trouble(m, "I10: run %lld has no noderole", (long long)run->id);
    struct model_run *queued = queued_run(m, id, 0);
    const bool ours = queued && queued->id == run->id;
    const bool again = ours && m->noderoles[id].state == NODEROLE_TRANSITION;
    const bool allowed =
        again ? may_start_again(m, id) : (ours ? may_start_queued(m, id) : may_anneal(m, id));
    if (!allowed || !model_has_worker(m, run->queue))
        return forbidden(m, run, ours);
    if (!again)
        model_start(m, id);
    m->noderoles[id].rerun = false;
    m->noderoles[id].started = true;
    if (ours)
        *queued = *run;
    else
        model_add_run(m, *run);
    return NULL;
}

/* The runs that are running now and were not before: those that waited, or the new ones. */
static const char *follow_starts(struct model *m, const struct core *c, bool waited)
{
    for (int64_t id = 0; (id = core_next_id(c, TABLE_RUN, id)) != 0;) {
        struct record record;
        must(core_record(c, TABLE_RUN, id, &record));
        const struct model_run *before = model_find_run(m, id);
        const bool fresh = !before || before->state == RUN_QUEUED;
        if (record.run.state != RUN_RUNNING || !fresh || waited != (before != NULL))
            continue;
        const struct model_run run = {.id = id,
                                      .node_id = record.run.node_id,
                                      .noderole_id = record.run.noderole_id,
                                      .state = RUN_RUNNING,
                                      .queue = (enum queue)record.run.queue,
                                      .attempt = record.run.attempt,
                                      .tries = record.run.tries};
        const char *trouble = follow_start(m, &run);
        if (trouble)
            return trouble;
    }
    return NULL;
}

/* First what takes no time, then the runs that waited, then new ones. */
const char *model_follow_pass(struct model *m, const struct core *c)
{
    MODEL_NODEROLES(m, id)
    {
        m->noderoles[id].started = false;
    }
    follow_instants(m, c);
    model_read_fresh_hooks(m, c); /* what was done at once did not wait for these */
    const char *trouble = follow_starts(m, c, true);
    return trouble ? trouble : follow_starts(m, c, false);
}

const char *model_check_idle(struct model *m)
{
    MODEL_NODEROLES(m, id)
    {
        const struct model_run *queued = queued_run(m, id, 0);
        const bool fresh = queued && may_start_queued(m, id);
        const bool again = queued && may_start_again(m, id) && model_live_run(m, id) == queued;
        if ((fresh || again) && (model_is_instant(m, id) || model_has_worker(m, queued->queue)))
            return model_trouble(m, "I7: queued run %lld of noderole %lld could start and does not",
                                 (long long)queued->id, (long long)id);
        if (may_anneal(m, id) && (model_is_instant(m, id) || model_has_worker(m, QUEUE_NORMAL)))
            return model_trouble(m, "I7: noderole %lld could start and does not", (long long)id);
    }
    return NULL;
}
