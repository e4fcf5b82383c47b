#include "sim/model/model.h"

#include "base/err.h"
#include "sim/model/model_private.h"

/* Why a noderole is not ACTIVE: the first unmet condition in this order, followed to its root.
 *
 *   PROPOSED, ERROR, ACTIVE   the state itself
 *   TRANSITION                its run; without a run, an asynchronous result
 *   BLOCKED                   the first parent by (cohort, id) that is not ACTIVE
 *   TODO (state)              the noderole: hook, target, deployment, node alive, node available,
 *                             jig;
 *                             the node: stopped, probe, noderole in ERROR, run, queued run;
 *                             then an earlier noderole of the node, and whether a worker is free
 *
 * A machine that is not alive or is to be installed may wait for a noderole that serves boots; then
 * its boot server, its failure, its run or the condition that keeps the run from starting is the
 * root. That is followed once.
 */

/* What the walk reads. */
struct why_input {
    const struct model *m;
    const struct core *c; /* records of machines, and what is served */
    struct arena *a;
    bool has_server; /* a noderole that serves boots was followed */
};

static struct model_cause model_why_root(const struct why_input *in, int64_t noderole_id);

static struct model_cause model_why_make(enum cause_code code, enum table object, int64_t id)
{
    return (struct model_cause){.code = code, .object = object, .object_id = id};
}

static int64_t model_why_first_inactive_parent(const struct model *m,
                                               const struct model_noderole *nr)
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

static int64_t model_why_find_hook(const struct model *m, int64_t id)
{
    MODEL_HOOKS(m, i)
    {
        const struct model_hook *hook = &m->hooks[i];
        if (hook->waiting && hook->kind == OUTBOX_HOOK && hook->about_noderole &&
            hook->object_id == id)
            return i;
    }
    return 0;
}

static int64_t model_why_parked_waits_for(const struct why_input *in, const struct model_run *run);
static struct model_cause model_why_server(const struct why_input *in, int64_t id);

static struct model_cause model_why_run(const struct why_input *in, const struct model_run *run)
{
    static const enum cause_code codes[] = {[RUN_QUEUED] = CAUSE_NODE_BUSY,
                                            [RUN_RUNNING] = CAUSE_RUNNING,
                                            [RUN_PARKED] = CAUSE_PARKED,
                                            [RUN_STOPPING] = CAUSE_STOPPING};
    const int64_t server = model_why_parked_waits_for(in, run);
    return server ? model_why_server(in, server)
                  : model_why_make(codes[run->state], TABLE_RUN, run->id);
}

/* The first run that is queued on the node, or only that of the noderole. */
static const struct model_run *model_why_find_queued(const struct model *m, int64_t node_id,
                                                     int64_t noderole_id)
{
    for (uint32_t i = 0; i < m->runs_count; i++)
        if (m->runs[i].node_id == node_id && m->runs[i].state == RUN_QUEUED &&
            (!noderole_id || m->runs[i].noderole_id == noderole_id))
            return &m->runs[i];
    return NULL;
}

/* The noderole of the node that the annealer starts before this one. */
static int64_t model_why_find_earlier(const struct model *m, int64_t node_id, int64_t id)
{
    for (int64_t other = 0; (other = model_next_by_cohort(m, node_id, other)) != 0;) {
        if (other == id)
            return 0;
        if (m->noderoles[other].state == NODEROLE_TODO && model_may_run(m, other))
            return other;
    }
    return 0;
}

/* The condition of the node as a whole that keeps a TODO noderole from starting, or CAUSE_NONE. */
static struct model_cause model_why_node(const struct why_input *in, int64_t node_id)
{
    const struct model *m = in->m;
    int64_t other = 0;
    if (m->nodes[node_id].stopped)
        return model_why_make(CAUSE_NODE_STOPPED, TABLE_NODE, node_id);
    if (model_is_probed(m, node_id))
        return model_why_make(CAUSE_PROBING, TABLE_NODE, node_id);
    if (model_has_state(m, node_id, NODEROLE_ERROR, &other))
        return model_why_make(CAUSE_ERROR, TABLE_NODEROLE, other);
    if (model_has_state(m, node_id, NODEROLE_TRANSITION, &other))
        return model_why_root(in, other);
    if (model_node_run(m, node_id))
        return model_why_run(in, model_node_run(m, node_id));
    if (model_why_find_queued(m, node_id, 0))
        return model_why_run(in, model_why_find_queued(m, node_id, 0));
    return model_why_make(CAUSE_NONE, TABLE_NODE, node_id);
}

/* The conditions of the noderole itself; CAUSE_NONE if all are met. */
static struct model_cause model_why_own(const struct why_input *in, int64_t id);

/* The noderole publishes with a run that was enqueued, or has a rerun mark. */
static struct model_cause model_why_publishing(const struct why_input *in, int64_t id)
{
    const struct model *m = in->m;
    const int64_t node_id = m->noderoles[id].node_id;
    const struct model_run *queued = model_why_find_queued(m, node_id, id);
    const struct model_run *busy = model_node_run(m, node_id);
    const struct model_cause late = model_why_make(CAUSE_BOOT_NOT_SERVED, TABLE_NODEROLE, id);
    if (!queued && !m->noderoles[id].rerun)
        return late;
    const struct model_cause own = model_why_own(in, id);
    if (own.code != CAUSE_NONE)
        return own;
    if (m->nodes[node_id].stopped || model_is_probed(m, node_id))
        return model_why_node(in, node_id);
    return busy ? model_why_run(in, busy) : queued ? model_why_run(in, queued) : late;
}

/* A machine waits for this noderole to serve what it boots. */
static struct model_cause model_why_server(const struct why_input *in, int64_t id)
{
    const struct model *m = in->m;
    const struct model_noderole *nr = &m->noderoles[id];
    const struct why_input once = {m, in->c, in->a, true};
    struct boot_serving *all;
    const uint32_t count = core_boot_servings(in->c, nr->node_id, in->a, &all);
    const bool is_native = m->roles[nr->role_id].service == MODEL_SERVES_NATIVE;
    bool is_connected = false;
    for (uint32_t i = 0; i < count; i++)
        is_connected |= all[i].noderole_id == id && all[i].is_connected;
    if (in->has_server)
        return model_why_make(CAUSE_BOOT_NOT_SERVED, TABLE_NODEROLE, id);
    if (is_native && !is_connected && nr->state != NODEROLE_ERROR)
        return model_why_make(CAUSE_BOOT_SERVER_LOST, TABLE_NODE, nr->node_id);
    if (nr->state != NODEROLE_ACTIVE)
        return model_why_root(&once, id);
    return is_native ? model_why_make(CAUSE_BOOT_NOT_SERVED, TABLE_NODEROLE, id)
                     : model_why_publishing(&once, id);
}

/* A parked run whose machine is to boot an installer that is not served: the noderole it waits for;
 * 0 = none. One in ERROR is first. */
static int64_t model_why_parked_waits_for(const struct why_input *in, const struct model_run *run)
{
    const struct model *m = in->m;
    const struct model_grant *g =
        run->node_id < (int64_t)m->grants_count ? &m->grants[run->node_id] : NULL;
    struct boot_serving *all;
    int64_t first = 0;
    if (in->has_server || run->state != RUN_PARKED || run->tries || !g || !g->exists ||
        g->state != GRANT_UNUSED || g->owner != run->noderole_id)
        return 0;
    const uint32_t count = core_boot_servings(in->c, run->node_id, in->a, &all);
    for (uint32_t i = 0; i < count; i++) {
        if (all[i].is_served)
            continue;
        if (m->noderoles[all[i].noderole_id].state == NODEROLE_ERROR)
            return all[i].noderole_id;
        first = first ? first : all[i].noderole_id;
    }
    return first;
}

/* A node that is not alive: its power action waits, its last power action failed, its machine is
 * not installed, its machine cannot boot, or none of these. */
static struct model_cause model_why_dead(const struct why_input *in, int64_t node_id)
{
    const struct model *m = in->m;
    const int64_t server = model_power_waits_for(m, node_id);
    if (server)
        return model_why_server(in, server);
    if (node_id < (int64_t)m->boots_count && m->boots[node_id].exists &&
        m->boots[node_id].has_power_status)
        return model_why_make(CAUSE_POWER_FAILED, TABLE_NODE, node_id);
    const enum cause_code install = model_why_install(m, node_id);
    struct model_cause problems[MODEL_BOOT_PROBLEMS_MAX];
    if (install == CAUSE_NOT_ALIVE && !m->nodes[node_id].admin && model_boots_are_served(m) &&
        model_find_boot_problems(m, in->c, node_id, in->a, problems))
        return problems[0];
    return model_why_make(install, TABLE_NODE, node_id);
}

static struct model_cause model_why_own(const struct why_input *in, int64_t id)
{
    const struct model *m = in->m;
    const struct model_noderole *nr = &m->noderoles[id];
    const struct model_node *node = &m->nodes[nr->node_id];
    if (model_why_find_hook(m, id))
        return model_why_make(CAUSE_WAITING_FOR_HOOK, TABLE_OUTBOX, model_why_find_hook(m, id));
    if (nr->unavailable)
        return model_why_make(CAUSE_HELD_BY_TARGET, TABLE_NODE, nr->node_id);
    if (!m->deployments[nr->deployment_id].committed)
        return model_why_make(CAUSE_HEAD_PROPOSED, TABLE_DEPLOYMENT, nr->deployment_id);
    if (!node->alive)
        return model_why_dead(in, nr->node_id);
    if (!node->available)
        return model_why_make(CAUSE_NOT_AVAILABLE, TABLE_NODE, nr->node_id);
    if (!m->roles[nr->role_id].usable)
        return model_why_make(CAUSE_JIG_INACTIVE, TABLE_ROLE, nr->role_id);
    return model_why_make(CAUSE_NONE, TABLE_NODEROLE, id);
}

static struct model_cause model_why_todo(const struct why_input *in, int64_t id)
{
    const struct model *m = in->m;
    const struct model_noderole *nr = &m->noderoles[id];
    const struct model_cause own = model_why_own(in, id);
    if (own.code != CAUSE_NONE)
        return own;
    const struct model_cause closed = model_why_node(in, nr->node_id);
    if (closed.code != CAUSE_NONE)
        return closed;
    const int64_t earlier = model_why_find_earlier(m, nr->node_id, id);
    if (earlier)
        return model_why_todo(in,
                              earlier); /* recursion depth 1: `earlier` is the first of its node */
    if (!model_is_instant(m, id) && !model_has_worker(m, QUEUE_NORMAL))
        return model_why_make(CAUSE_NO_WORKER, TABLE_SETTINGS, 1);
    return model_why_make(CAUSE_READY, TABLE_NODEROLE, id);
}

static struct model_cause model_why_root(const struct why_input *in, int64_t noderole_id)
{
    const struct model *m = in->m;
    for (int64_t id = noderole_id;;) {
        const struct model_noderole *nr = model_find_noderole(m, id);
        must(nr);
        const struct model_run *run = model_live_run(m, id);
        switch (nr->state) {
        case NODEROLE_PROPOSED: return model_why_make(CAUSE_PROPOSED, TABLE_NODEROLE, id);
        case NODEROLE_ERROR: return model_why_make(CAUSE_ERROR, TABLE_NODEROLE, id);
        case NODEROLE_ACTIVE: return model_why_make(CAUSE_NONE, TABLE_NODEROLE, id);
        case NODEROLE_TODO: return model_why_todo(in, id);
        case NODEROLE_TRANSITION:
            return run ? model_why_run(in, run) : model_why_make(CAUSE_ASYNC, TABLE_NODEROLE, id);
        case NODEROLE_BLOCKED: id = model_why_first_inactive_parent(m, nr); break;
        case NODEROLE_STATE_COUNT: impossible("no such state");
        }
    }
}

/* core_why_boot() lists exactly the problems of the machine, in their order. */
static const char *model_check_boot_problems(struct model *m, const struct core *c, int64_t node_id,
                                             struct arena *scratch)
{
    struct model_cause ours[MODEL_BOOT_PROBLEMS_MAX];
    const uint32_t count = model_find_boot_problems(m, c, node_id, scratch, ours);
    uint32_t i = 0;
    const struct cause *cause = core_why_boot(c, node_id, scratch);
    for (; cause && i < count; cause = cause->next, i++)
        if (cause->code != ours[i].code || cause->object != ours[i].object ||
            cause->object_id != ours[i].object_id)
            break;
    if (!cause && i == count) {
        while (i > 0)
            m->counts.causes[ours[--i].code]++;
        return NULL;
    }
    return model_report(m, "I10: boot of node %lld: problem %u is %s of node %lld, should be %s",
                        (long long)node_id, i + 1, cause ? cause_name(cause->code) : "none",
                        cause ? (long long)cause->object_id : 0,
                        i < count ? cause_name(ours[i].code) : "none");
}

const char *model_check_why(struct model *m, const struct core *c, struct arena *scratch)
{
    const struct why_input in = {m, c, scratch, false};
    for (int64_t id = 0; (id = core_next_id(c, TABLE_NODE, id)) != 0;) {
        const struct arena_mark mark = arena_mark(scratch);
        const char *trouble = model_check_boot_problems(m, c, id, scratch);
        if (trouble)
            return trouble;
        arena_rewind(scratch, mark);
    }
    MODEL_NODEROLES(m, id)
    {
        const struct arena_mark mark = arena_mark(scratch);
        const struct cause *last = core_why(c, TABLE_NODEROLE, id, scratch);
        if (!last)
            return model_report(m, "I10: core_why has no result for noderole %lld", (long long)id);
        while (last->next && last->next->code != CAUSE_REASON)
            last = last->next;
        const struct model_cause ours = model_why_root(&in, id);
        m->counts.causes[ours.code]++;
        if (last->code != ours.code || last->object != ours.object ||
            last->object_id != ours.object_id)
            return model_report(m,
                                "I10: why of noderole %lld: %s of %s %lld, should be %s of %s %lld",
                                (long long)id, cause_name(last->code), table_name(last->object),
                                (long long)last->object_id, cause_name(ours.code),
                                table_name(ours.object), (long long)ours.object_id);
        arena_rewind(scratch, mark);
    }
    return NULL;
}
