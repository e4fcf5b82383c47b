#include "sim/model/model.h"

#include "base/err.h"
#include "sim/model/model_private.h"

/* Checks the records of a core against each other, independent of the commands before: I2, I3, I13,
 * the states of nodes and deployments, and targets. */

static const char *records_check_readiness(struct model *m)
{
    MODEL_NODEROLES(m, id)
    {
        const enum noderole_state state = m->noderoles[id].state;
        const bool ready = model_parents_active(m, id);
        if ((state == NODEROLE_TODO && !ready) || (state == NODEROLE_BLOCKED && ready))
            return model_report(m, "I2: noderole %lld is %s with %s", (long long)id,
                                noderole_state_name(state),
                                ready ? "every parent ACTIVE" : "a parent outside ACTIVE");
    }
    return NULL;
}

/* One RUNNING or STOPPING run per node; the noderole of a live run is in TRANSITION, that of a
 * queued run in a state that allows one. */
static const char *records_check_runs(struct model *m)
{
    for (uint32_t i = 0; i < m->runs_count; i++) {
        const struct model_run *run = &m->runs[i];
        const bool holds = run->state == RUN_RUNNING || run->state == RUN_STOPPING;
        for (uint32_t k = 0; k < i; k++) {
            const struct model_run *other = &m->runs[k];
            const bool other_holds = other->state == RUN_RUNNING || other->state == RUN_STOPPING;
            if (holds && other_holds && other->node_id == run->node_id)
                return model_report(m, "I3: runs %lld and %lld occupy the same node %lld",
                                    (long long)other->id, (long long)run->id,
                                    (long long)run->node_id);
        }
        if (run->state == RUN_STOPPING)
            continue;
        const struct model_noderole *nr = model_find_noderole(m, run->noderole_id);
        const bool live = run->state == RUN_RUNNING || run->state == RUN_PARKED;
        if (!nr || (live && nr->state != NODEROLE_TRANSITION) ||
            (!live && nr->state != NODEROLE_TODO && nr->state != NODEROLE_ACTIVE &&
             nr->state != NODEROLE_TRANSITION))
            return model_report(m, "I3: the state of run %lld does not match noderole %lld",
                                (long long)run->id, (long long)run->noderole_id);
    }
    return NULL;
}

static enum noderole_state records_node_state(const struct model *m, int64_t node_id)
{
    static const enum noderole_state order[] = {NODEROLE_ERROR, NODEROLE_TRANSITION,
                                                NODEROLE_PROPOSED};
    bool has[NODEROLE_STATE_COUNT] = {false};
    MODEL_NODEROLES(m, id)
    {
        if (m->noderoles[id].node_id == node_id)
            has[m->noderoles[id].state] = true;
    }
    for (uint32_t i = 0; i < sizeof order / sizeof *order; i++)
        if (has[order[i]])
            return order[i];
    return has[NODEROLE_TODO] || has[NODEROLE_BLOCKED] ? NODEROLE_TODO : NODEROLE_ACTIVE;
}

static enum deployment_state records_deployment_state(const struct model *m, int64_t deployment_id)
{
    if (!m->deployments[deployment_id].committed)
        return DEPLOYMENT_PROPOSED;
    bool all_active = true;
    bool any_error = false;
    MODEL_NODEROLES(m, id)
    {
        if (m->noderoles[id].deployment_id != deployment_id)
            continue;
        all_active = all_active && m->noderoles[id].state == NODEROLE_ACTIVE;
        any_error = any_error || m->noderoles[id].state == NODEROLE_ERROR;
    }
    return all_active ? DEPLOYMENT_ACTIVE : any_error ? DEPLOYMENT_ERROR : DEPLOYMENT_COMMITTED;
}

static const char *records_check_sums(struct model *m, const struct core *c)
{
    for (int64_t id = 1; id < (int64_t)m->nodes_count; id++)
        if (m->nodes[id].exists && core_node_state(c, id) != records_node_state(m, id))
            return model_report(m, "I10: node %lld is %s, should be %s", (long long)id,
                                noderole_state_name(core_node_state(c, id)),
                                noderole_state_name(records_node_state(m, id)));
    for (int64_t id = 1; id < (int64_t)m->deployments_count; id++)
        if (m->deployments[id].exists &&
            core_deployment_state(c, id) != records_deployment_state(m, id))
            return model_report(m, "I10: deployment %lld is in state %d, should be %d",
                                (long long)id, (int)core_deployment_state(c, id),
                                (int)records_deployment_state(m, id));
    return NULL;
}

/* On a node with a target only the target and its ancestors on the node may run; the other
 * noderoles are marked unavailable. */
static const char *records_check_targets(struct model *m)
{
    MODEL_NODEROLES(m, id)
    {
        const struct model_noderole *nr = &m->noderoles[id];
        const int64_t target_role = m->nodes[nr->node_id].target_role_id;
        if (!target_role && nr->unavailable)
            return model_report(
                m, "target: noderole %lld is unavailable although its node has no target",
                (long long)id);
        if (!target_role)
            continue;
        int64_t target = 0;
        MODEL_NODEROLES(m, other)
        {
            if (m->noderoles[other].node_id == nr->node_id &&
                m->noderoles[other].role_id == target_role)
                target = other;
        }
        if (target && id <= target && !nr->unavailable && id != target &&
            !model_is_ancestor(m, id, target))
            return model_report(
                m, "target: noderole %lld is available although the target does not require it",
                (long long)id);
        if (target && nr->unavailable && (id == target || model_is_ancestor(m, id, target)))
            return model_report(
                m, "target: noderole %lld is unavailable although the target requires it",
                (long long)id);
    }
    return NULL;
}

const char *model_check_records(struct model *m, const struct core *c, struct arena *scratch)
{
    model_read(m, c, MODEL_HEADS | MODEL_NODES | MODEL_MOMENT, scratch);
    const char *trouble = records_check_readiness(m);
    if (!trouble)
        trouble = records_check_runs(m);
    if (!trouble)
        trouble = records_check_sums(m, c);
    if (!trouble)
        trouble = records_check_targets(m);
    if (!trouble)
        trouble = model_check_automatic(m);
    return trouble;
}
