#include "sim/model/model_private.h"

#include "base/err.h"

/* Checks an annealing pass (a run of the scheduler).
 *
 * The core chooses what to start. The model finds the starts in the records after the pass and
 * checks for each that the rules allowed it at that time (ADR 0006 and 0008); when the core reports
 * that it has no work, the model must not find a possible start either (I7). Instant runs (no-op
 * jigs, and a destructive role that has already run) leave no run in the records. They are
 * recognised by changed states and run counts.
 *
 * The order within a pass matters: instant runs are applied first, because their success makes
 * other noderoles ready; then runs that were queued before the pass; then new runs. Of the instant
 * runs, those that were enqueued are applied in an order in which the core can have executed all of
 * them (pass_other_was_first()). */

static bool pass_waits_for_hook(const struct model *m, int64_t id)
{
    MODEL_HOOKS(m, i)
    {
        const struct model_hook *hook = &m->hooks[i];
        if (hook->waiting && hook->kind == OUTBOX_HOOK && hook->about_noderole &&
            hook->object_id == id)
            return true;
    }
    return false;
}

static bool pass_head_is_committed(const struct model *m, int64_t deployment_id)
{
    return m->deployments[deployment_id].exists && m->deployments[deployment_id].committed;
}

bool model_may_run(const struct model *m, int64_t id)
{
    const struct model_noderole *nr = &m->noderoles[id];
    const struct model_node *node = &m->nodes[nr->node_id];
    return pass_head_is_committed(m, nr->deployment_id) && node->alive && node->available &&
           !nr->unavailable && m->roles[nr->role_id].usable && !pass_waits_for_hook(m, id);
}

bool model_is_runnable(const struct model *m, int64_t id)
{
    const struct model_noderole *nr = &m->noderoles[id];
    const struct model_node *node = &m->nodes[nr->node_id];
    return node->available && node->alive && m->roles[nr->role_id].usable &&
           pass_head_is_committed(m, nr->deployment_id) && nr->state != NODEROLE_PROPOSED &&
           nr->state != NODEROLE_ERROR;
}

const struct model_run *model_node_run(const struct model *m, int64_t node_id)
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
    MODEL_HOOKS(m, i)
    {
        if (m->hooks[i].waiting && m->hooks[i].kind == OUTBOX_PROBE &&
            m->hooks[i].object_id == node_id)
            return true;
    }
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

/* A destructive role that has run once is skipped: it is not executed and not counted. */
static bool pass_is_skipped(const struct model *m, int64_t id)
{
    const struct model_noderole *nr = &m->noderoles[id];
    return (m->roles[nr->role_id].flags & ROLE_DESTRUCTIVE) && nr->run_count > 0;
}

bool model_is_instant(const struct model *m, int64_t id)
{
    return m->roles[m->noderoles[id].role_id].instant || pass_is_skipped(m, id);
}

static struct model_run *pass_find_queued(struct model *m, int64_t noderole_id, int64_t node_id)
{
    for (uint32_t i = 0; i < m->runs_count; i++) {
        struct model_run *run = &m->runs[i];
        if (run->state == RUN_QUEUED && (!noderole_id || run->noderole_id == noderole_id) &&
            (!node_id || run->node_id == node_id))
            return run;
    }
    return NULL;
}

/* True if the node is not stopped and no probe of it is outstanding. */
static bool pass_node_may_begin(const struct model *m, int64_t node_id)
{
    return !m->nodes[node_id].stopped && !model_is_probed(m, node_id);
}

/* True if nothing about the node as a whole keeps the annealer from starting a noderole there. */
static bool pass_node_is_open(struct model *m, int64_t node_id)
{
    return !model_node_run(m, node_id) && pass_node_may_begin(m, node_id) &&
           !model_has_state(m, node_id, NODEROLE_TRANSITION, NULL) &&
           !model_has_state(m, node_id, NODEROLE_ERROR, NULL) && !pass_find_queued(m, 0, node_id);
}

/* The first TODO noderole of its node by (cohort, id) that meets its own conditions. */
static bool pass_is_first_of_node(const struct model *m, int64_t id)
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

static bool pass_is_ready(struct model *m, int64_t id)
{
    const struct model_noderole *nr = &m->noderoles[id];
    return nr->state == NODEROLE_TODO && model_parents_active(m, id) && model_may_run(m, id) &&
           pass_node_is_open(m, nr->node_id);
}

static bool pass_may_anneal(struct model *m, int64_t id)
{
    return pass_is_ready(m, id) && pass_is_first_of_node(m, id);
}

static bool pass_may_start_queued(struct model *m, int64_t id)
{
    const struct model_noderole *nr = &m->noderoles[id];
    return (nr->state == NODEROLE_TODO || nr->state == NODEROLE_ACTIVE) && model_may_run(m, id) &&
           pass_node_may_begin(m, nr->node_id) && !model_node_run(m, nr->node_id);
}

/* A resumed run was parked, so its noderole is in TRANSITION. The other conditions are the same. */
static bool pass_may_start_resumed(struct model *m, int64_t id)
{
    const struct model_noderole *nr = &m->noderoles[id];
    return nr->state == NODEROLE_TRANSITION && model_may_run(m, id) &&
           pass_node_may_begin(m, nr->node_id) && !model_node_run(m, nr->node_id);
}

/* ---- instant runs ---- */

/* True if the core completed an instant run of this noderole in the pass and the model has not
 * applied it yet. */
static bool pass_was_instant(const struct core *c, struct model *m, int64_t id)
{
    const struct model_noderole *nr = &m->noderoles[id];
    struct record record;
    if (!model_is_instant(m, id))
        return false;
    must(core_record(c, TABLE_NODEROLE, id, &record));
    struct record run;
    const bool ran = record.noderole.run_count > nr->run_count;
    const struct model_run *queued = pass_find_queued(m, id, 0);
    const bool called = queued && (nr->state == NODEROLE_TODO || nr->state == NODEROLE_ACTIVE)
                            ? !core_record(c, TABLE_RUN, queued->id, &run)
                            : nr->state == NODEROLE_ACTIVE && nr->rerun && !record.noderole.rerun;
    /* The queued run or the rerun mark has disappeared: the run was executed, or removed because
     * the node died. A skipped start is not counted, so it cannot be distinguished from a removal,
     * and applying it changes no count. */
    if (called)
        return ran || pass_is_skipped(m, id);
    if (queued)
        return false;
    return ran || (record.noderole.state == NODEROLE_ACTIVE && nr->state != NODEROLE_ACTIVE);
}

/* The order in which the core evaluates nodes is not specified, so the records do not show which
 * noderole of a node was the first at the time of its start. Therefore the condition "first of its
 * node" is not checked exists. */
static bool pass_may_be_instant(struct model *m, int64_t id)
{
    const bool marked = m->noderoles[id].state == NODEROLE_ACTIVE && m->noderoles[id].rerun;
    return marked || pass_find_queued(m, id, 0) ? pass_may_start_queued(m, id)
                                                : pass_is_ready(m, id);
}

static void pass_apply_instant(struct model *m, int64_t id, bool last)
{
    const struct model_run *queued = pass_find_queued(m, id, 0);
    if (queued)
        model_drop_run(m, queued->id);
    model_start(m, id);
    if (!pass_is_skipped(m, id))
        m->noderoles[id].run_count++;
    model_ok(m, id);
    m->counts.instant++;
    if (last)
        model_node_dead(m, m->noderoles[id].node_id);
}

/* A skipped start leaves no trace in the records if its node dies in the same pass. */
static bool pass_was_skipped_on_dead_node(struct model *m, const struct core *c, int64_t id)
{
    struct record node;
    return pass_is_skipped(m, id) && pass_is_ready(m, id) &&
           core_record(c, TABLE_NODE, m->noderoles[id].node_id, &node) && !node.node.alive;
}

/* A powersave role switches its node off when it succeeds, so it was the last run on the node. */
static bool pass_run_ends_node(struct model *m, const struct core *c, int64_t id)
{
    const int64_t node_id = m->noderoles[id].node_id;
    struct record node;
    return m->roles[m->noderoles[id].role_id].flags & ROLE_POWERSAVE &&
           model_node_is_alive(m, node_id) && core_record(c, TABLE_NODE, node_id, &node) &&
           !node.node.alive;
}

/* The enqueued instant run of `other` was executed before the run of this noderole. The enqueued
 * runs of a node are executed in the order of their ids. A run of a noderole that is ACTIVE sets
 * its children in TODO to BLOCKED and removes their enqueued runs; so if a child on another node
 * was executed, it was before. The run of a child that is skipped is not counted: if it was removed
 * instead, the child is not ACTIVE. */
static bool pass_other_was_first(struct model *m, const struct core *c, int64_t id, int64_t other)
{
    struct record record;
    const struct model_run *own = pass_find_queued(m, id, 0);
    const struct model_run *queued = pass_find_queued(m, other, 0);
    if (!queued || !pass_was_instant(c, m, other) || !pass_may_be_instant(m, other))
        return false;
    if (m->noderoles[other].node_id == m->noderoles[id].node_id)
        return own && queued->id < own->id;
    must(core_record(c, TABLE_NODEROLE, other, &record));
    return m->noderoles[id].state == NODEROLE_ACTIVE && model_is_parent(m, id, other) &&
           (record.noderole.run_count > m->noderoles[other].run_count ||
            record.noderole.state == NODEROLE_ACTIVE);
}

static bool pass_was_first(struct model *m, const struct core *c, int64_t id)
{
    MODEL_NODEROLES(m, other)
    {
        if (other != id && !pass_run_ends_node(m, c, other) &&
            pass_other_was_first(m, c, id, other))
            return false;
    }
    return true;
}

enum pass_order { PASS_IN_ORDER, PASS_IN_ANY_ORDER };

/* One scan over all noderoles, or up to the first run that is applied in any order: so are those
 * that end their node, when no other instant run is left to apply. */
static bool pass_follow_instant_round(struct model *m, const struct core *c, bool enders,
                                      enum pass_order order)
{
    bool moved = false;
    for (int64_t id = 0; (id = model_next_by_cohort(m, 0, id)) != 0;) {
        const bool was = (pass_was_instant(c, m, id) && pass_may_be_instant(m, id)) ||
                         pass_was_skipped_on_dead_node(m, c, id);
        if (!was || pass_run_ends_node(m, c, id) != enders ||
            (order == PASS_IN_ORDER && !pass_was_first(m, c, id)))
            continue;
        pass_apply_instant(m, id, enders);
        moved = true;
        if (order == PASS_IN_ANY_ORDER)
            break;
    }
    return moved;
}

/* ---- destructive runs that were committed before the store was imported ---- */

bool model_bars_destruction(const struct model *m, int64_t id)
{
    const struct model_noderole *nr = &m->noderoles[id];
    return nr->barred && m->roles[nr->role_id].flags & ROLE_DESTRUCTIVE && !model_is_instant(m, id);
}

void model_run_stopped(struct model *m, const struct run_stopped_command *stopped)
{
    const struct model_run *run = model_find_run(m, stopped->run_id);
    if (!run || run->attempt != stopped->attempt || run->state != RUN_RUNNING ||
        !model_bars_destruction(m, run->noderole_id))
        return;
    const int64_t id = run->noderole_id;
    model_drop_run(m, run->id);
    model_failed(m, id);
}

static bool pass_may_start(struct model *m, int64_t id)
{
    if (m->noderoles[id].state == NODEROLE_TRANSITION)
        return pass_find_queued(m, id, 0) && pass_may_start_resumed(m, id);
    return pass_find_queued(m, id, 0) ? pass_may_start_queued(m, id) : pass_may_anneal(m, id);
}

/* Where a run could start, its noderole fails instead. */
static void pass_follow_barred(struct model *m, const struct core *c)
{
    for (int64_t id = 0; (id = model_next_by_cohort(m, 0, id)) != 0;) {
        struct record record;
        if (!model_bars_destruction(m, id) || m->noderoles[id].state == NODEROLE_ERROR ||
            !core_record(c, TABLE_NODEROLE, id, &record) ||
            record.noderole.state != NODEROLE_ERROR || !pass_may_start(m, id))
            continue;
        const struct model_run *queued = pass_find_queued(m, id, 0);
        if (queued)
            model_drop_run(m, queued->id);
        model_failed(m, id);
    }
}

/* ---- runs ---- */

/* The violation for a start that is not allowed: names the first unmet condition. */
static const char *pass_report_forbidden(struct model *m, const struct model_run *run, bool queued)
{
    const int64_t id = run->noderole_id;
    const int64_t node_id = m->noderoles[id].node_id;
    const char *rule = !model_has_worker(m, run->queue)   ? "no worker is free"
                       : pass_waits_for_hook(m, id)       ? "a hook of the noderole is outstanding"
                       : !model_may_run(m, id)            ? "node, target, jig or deployment"
                       : model_node_run(m, node_id)       ? "the node has a run"
                       : !pass_node_may_begin(m, node_id) ? "the node is stopped or being probed"
                       : queued                           ? "the state of the noderole"
                       : !model_parents_active(m, id)     ? "a parent is not ACTIVE"
                       : !pass_node_is_open(m, node_id)   ? "another noderole or run of the node"
                       : !pass_is_first_of_node(m, id)    ? "another noderole of the node is first"
                                                          : "the state of the noderole";
    return model_report(m, "I10: noderole %lld (%s) was started by run %lld against the rules: %s",
                        (long long)id, noderole_state_name(m->noderoles[id].state),
                        (long long)run->id, rule);
}

/* A noderole that publishes boots and has something to publish is enqueued in the pass itself after
 * a load or a change of roles, so the run was not there before it. */
static bool pass_publishes(const struct model *m, const struct model_run *run)
{
    const struct model_noderole *nr = &m->noderoles[run->noderole_id];
    return run->queue == QUEUE_HIGH && nr->state == NODEROLE_ACTIVE &&
           m->roles[nr->role_id].service == MODEL_SERVES_PUBLISHED;
}

static const char *pass_follow_start(struct model *m, const struct model_run *run)
{
    const int64_t id = run->noderole_id;
    if (!model_edit_noderole(m, id))
        return model_report(m, "I10: run %lld has no noderole", (long long)run->id);
    struct model_run *queued = pass_find_queued(m, id, 0);
    const bool ours = queued && queued->id == run->id;
    const bool again = ours && m->noderoles[id].state == NODEROLE_TRANSITION;
    const bool allowed = again                            ? pass_may_start_resumed(m, id)
                         : ours || pass_publishes(m, run) ? pass_may_start_queued(m, id)
                                                          : pass_may_anneal(m, id);
    if (!allowed || !model_has_worker(m, run->queue))
        return pass_report_forbidden(m, run, ours);
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

/* Check the runs that are RUNNING now and were not before: either those that were queued before
 * the pass (`waited`), or the new ones. */
static const char *pass_follow_starts(struct model *m, const struct core *c, bool waited)
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
        const char *trouble = pass_follow_start(m, &run);
        if (trouble)
            return trouble;
    }
    return NULL;
}

/* Instant runs, then queued runs, then new runs: see the top of the file. */
const char *model_follow_pass(struct model *m, const struct core *c)
{
    MODEL_NODEROLES(m, id)
    {
        m->noderoles[id].started = false;
    }
    while (pass_follow_instant_round(m, c, false, PASS_IN_ORDER) ||
           pass_follow_instant_round(m, c, false, PASS_IN_ANY_ORDER) ||
           pass_follow_instant_round(m, c, true, PASS_IN_ANY_ORDER))
        continue;
    model_read_fresh_hooks(m,
                           c); /* hooks that the instant runs caused; they did not wait for them */
    pass_follow_barred(m, c);
    const char *trouble = pass_follow_starts(m, c, true);
    return trouble ? trouble : pass_follow_starts(m, c, false);
}

const char *model_check_idle(struct model *m)
{
    const char *trouble = model_check_publishers(m);
    if (trouble)
        return trouble;
    MODEL_NODEROLES(m, id)
    {
        const struct model_run *queued = pass_find_queued(m, id, 0);
        const bool fresh = queued && pass_may_start_queued(m, id);
        const bool again =
            queued && pass_may_start_resumed(m, id) && model_live_run(m, id) == queued;
        if ((fresh || again) && (model_is_instant(m, id) || model_has_worker(m, queued->queue)))
            return model_report(m, "I7: queued run %lld of noderole %lld could start and does not",
                                (long long)queued->id, (long long)id);
        if (pass_may_anneal(m, id) &&
            (model_is_instant(m, id) || model_has_worker(m, QUEUE_NORMAL)))
            return model_report(m, "I7: noderole %lld could start and does not", (long long)id);
    }
    return NULL;
}
