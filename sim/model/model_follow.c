#include "sim/model/model.h"

#include <stdio.h>

#include "base/err.h"
#include "sim/model/model_private.h"

/* Applies one command to the model.
 *
 * Order within a step: read the objects that exist now; apply the events of the command; deactivate
 * the noderoles of nodes that died; apply the reruns that changed values caused; compare every
 * state. The order matters: a noderole that the command created must exist before its events, and a
 * rerun is accepted only for a noderole that is idle after all of them.
 *
 * The result of a hook has two possible outcomes: its commands are applied, or one of them is
 * refused and all are rolled back, which counts as a failed hook. The model tries the first, and
 * the second from a copy if the states do not match. */

/* ---- parts of the records that a command can change ---- */

/* A kind that is not listed may change all parts. */
static const uint8_t some_parts[COMMAND_COUNT] = {
    [COMMAND_ANNEAL] = MODEL_NODES | MODEL_MOMENT,
    [COMMAND_TICK] = MODEL_MOMENT,
    [COMMAND_RUN_BEGUN] = MODEL_MOMENT,
    [COMMAND_RUN_STOPPED] = MODEL_MOMENT,
    [COMMAND_RUN_RESUME] = MODEL_MOMENT,
    [COMMAND_RUN_CANCEL] = MODEL_MOMENT,
    [COMMAND_RUN_DONE] = MODEL_NODES | MODEL_MOMENT,
    [COMMAND_NODEROLE_ENQUEUE] = MODEL_MOMENT,
    [COMMAND_NODEROLE_DATA] = MODEL_MOMENT,
    [COMMAND_NODEROLE_RETRY] = MODEL_NODES | MODEL_MOMENT,
    [COMMAND_NODEROLE_PROPOSE] = MODEL_MOMENT,
    [COMMAND_NODEROLE_COMMIT] = MODEL_HEADS | MODEL_MOMENT,
    [COMMAND_NODEROLE_BIND] = MODEL_STRUCTURE | MODEL_NODES | MODEL_MOMENT,
    [COMMAND_NODE_UPDATE] = MODEL_STRUCTURE | MODEL_NODES | MODEL_MOMENT,
    [COMMAND_NODE_PROPOSE] = MODEL_MOMENT,
    [COMMAND_NODE_POWER] = MODEL_NODES | MODEL_MOMENT,
    [COMMAND_NODE_POWER_READ] = MODEL_MOMENT,
    [COMMAND_DEPLOYMENT_ROLE_DATA] = MODEL_MOMENT,
    [COMMAND_DEPLOYMENT_ROLE_PROPOSE] = MODEL_MOMENT,
    [COMMAND_ATTRIB_CREATE] = MODEL_MOMENT,
    [COMMAND_ATTRIB_DELETE] = MODEL_MOMENT,
    [COMMAND_ATTRIB_SET] = MODEL_MOMENT,
    [COMMAND_SNAPSHOT_UPDATE] = MODEL_MOMENT,
    [COMMAND_GROUP_CREATE] = MODEL_MOMENT,
    [COMMAND_GROUP_UPDATE] = MODEL_MOMENT,
    [COMMAND_GROUP_DELETE] = MODEL_MOMENT,
    [COMMAND_GROUP_ADD] = MODEL_MOMENT,
    [COMMAND_GROUP_REMOVE] = MODEL_MOMENT,
    [COMMAND_HAMMER_CREATE] = MODEL_MOMENT,
    [COMMAND_HAMMER_UPDATE] = MODEL_MOMENT,
    [COMMAND_HAMMER_DELETE] = MODEL_MOMENT,
    [COMMAND_NODE_PIN_KEYS] = MODEL_MOMENT,
    [COMMAND_NODE_FORGET_KEY] = MODEL_NODES | MODEL_MOMENT,
    [COMMAND_USER_CREATE] = MODEL_MOMENT,
    [COMMAND_USER_UPDATE] = MODEL_MOMENT,
    [COMMAND_USER_DELETE] = MODEL_MOMENT,
    [COMMAND_TOKEN_CREATE] = MODEL_MOMENT,
    [COMMAND_TOKEN_DELETE] = MODEL_MOMENT,
    /* Networks add and remove roles, and allocations bind them. */
    [COMMAND_NETWORK_CREATE] = MODEL_ALL,
    [COMMAND_NETWORK_UPDATE] = MODEL_ALL,
    [COMMAND_NETWORK_DELETE] = MODEL_ALL,
    [COMMAND_NETWORK_RANGE_CREATE] = MODEL_ALL,
    [COMMAND_NETWORK_RANGE_UPDATE] = MODEL_ALL,
    [COMMAND_NETWORK_ALLOCATE] = MODEL_ALL,
    [COMMAND_NETWORK_DEALLOCATE] = MODEL_ALL,
    [COMMAND_NETWORK_ROUTER_CREATE] = MODEL_MOMENT,
    [COMMAND_NETWORK_ROUTER_UPDATE] = MODEL_MOMENT,
    [COMMAND_NETWORK_ROUTER_DELETE] = MODEL_MOMENT,
    [COMMAND_LEASE_TAKE] = MODEL_MOMENT,
    [COMMAND_LEASE_RELEASE] = MODEL_MOMENT,
    [COMMAND_LEASE_DECLINE] = MODEL_MOMENT,
    [COMMAND_NICS_MAKE] = MODEL_MOMENT,
    [COMMAND_NIC_MOVE] = MODEL_MOMENT,
    [COMMAND_DNS_NAME_FILTER_CREATE] = MODEL_MOMENT,
    [COMMAND_DNS_NAME_FILTER_UPDATE] = MODEL_MOMENT,
    [COMMAND_DNS_NAME_FILTER_DELETE] = MODEL_MOMENT,
    [COMMAND_GRANT_USE] = MODEL_MOMENT,
    [COMMAND_SETTINGS_UPDATE] = MODEL_CATALOG | MODEL_MOMENT,
    [COMMAND_IMPORT] = MODEL_CATALOG | MODEL_MOMENT,
    [COMMAND_JIG_CREATE] = MODEL_CATALOG | MODEL_MOMENT,
    [COMMAND_JIG_UPDATE] = MODEL_CATALOG | MODEL_MOMENT,
    [COMMAND_ROLE_UPDATE] = MODEL_CATALOG | MODEL_MOMENT,
};

static uint32_t follow_parts_of(const struct model *m, const struct command *command)
{
    if (command->kind == COMMAND_ANNEAL && m->marked_count)
        return MODEL_ALL; /* noderoles and roles of a network that is being deleted are removed */
    if (command->kind == COMMAND_OUTBOX_DONE && str_is_empty(command->outbox_done.hook_commands))
        return MODEL_NODES | MODEL_MOMENT;
    if (command->kind == COMMAND_ATTRIB_SET && command->attrib_set.target == TABLE_NODE)
        return MODEL_ALL; /* a hint can allocate an address, which binds the roles of its network */
    const uint32_t parts = some_parts[command->kind];
    return parts ? parts : MODEL_ALL;
}

/* ---- events of single commands ---- */

static void follow_commit_all(struct model *m, int64_t node_id, int64_t deployment_id)
{
    for (int64_t id = 0; (id = model_next_by_cohort(m, node_id, id)) != 0;) {
        const struct model_noderole *nr = &m->noderoles[id];
        if (nr->state == NODEROLE_PROPOSED &&
            (!deployment_id || nr->deployment_id == deployment_id))
            model_commit(m, id);
    }
}

static void follow_propose_all(struct model *m, int64_t node_id)
{
    for (int64_t id = 0; (id = model_next_by_cohort(m, node_id, id)) != 0;)
        model_propose(m, id);
}

static void follow_redeploy(struct model *m, int64_t node_id)
{
    follow_propose_all(m, node_id);
    MODEL_NODEROLES(m, id)
    {
        if (m->noderoles[id].node_id == node_id)
            m->noderoles[id].run_count = 0;
    }
    follow_commit_all(m, node_id, 0);
}

static enum noderole_state follow_state_in_core(const struct core *c, int64_t noderole_id)
{
    struct record record;
    if (!core_record(c, TABLE_NODEROLE, noderole_id, &record))
        return NODEROLE_STATE_COUNT;
    return (enum noderole_state)record.noderole.state;
}

/* A revert proposes the noderoles whose data it changes. The model does not compare data, so it
 * takes from the records which ones these are. */
static void follow_revert(struct model *m, const struct core *c, int64_t deployment_id)
{
    for (int64_t id = 0; (id = model_next_by_cohort(m, 0, id)) != 0;) {
        const struct model_noderole *nr = &m->noderoles[id];
        if (nr->deployment_id == deployment_id && nr->state != NODEROLE_PROPOSED &&
            follow_state_in_core(c, id) == NODEROLE_PROPOSED)
            model_propose(m, id);
    }
}

/* The run failed and is started again (attempts of its role): the noderole stays in TRANSITION. */
static bool follow_is_retried(const struct model *m, const struct model_run *run,
                              const struct run_done_command *done)
{
    const struct model_role *role = &m->roles[m->noderoles[run->noderole_id].role_id];
    return done->result == RESULT_FAILED && !(role->flags & ROLE_DESTRUCTIVE) &&
           run->tries + 1 < role->attempts;
}

static void follow_run_done(struct model *m, const struct run_done_command *done)
{
    const bool ok = done->result == RESULT_OK;
    const bool failed = done->result == RESULT_FAILED || done->result == RESULT_LOST;
    const bool known = done->run_id > 0 && done->run_id < (int64_t)m->run_owner_count;
    const struct model_run *run = model_find_run(m, done->run_id);
    if (!run || run->attempt != done->attempt || run->state != RUN_RUNNING) {
        const int64_t owner = known ? m->run_owner[done->run_id] : 0;
        if (model_edit_noderole(m, owner) && (ok || failed))
            model_count(m, owner, ok ? MODEL_OK : MODEL_FAILED);
        return;
    }
    const int64_t id = run->noderole_id;
    if (follow_is_retried(m, run, done))
        return;
    if (done->result != RESULT_PARKED)
        model_drop_run(m, run->id);
    m->counts.unpublished +=
        failed && m->roles[m->noderoles[id].role_id].service == MODEL_SERVES_PUBLISHED;
    if (ok) {
        model_publish_ok(m, id, done->attempt);
        m->noderoles[id].run_count++;
        model_ok(m, id);
    } else if (failed) {
        model_failed(m, id);
    } else if (done->result == RESULT_ASYNC && m->noderoles[id].rerun) {
        model_settle(m, id); /* a retry arrived before the run ended */
    }
}

/* The specification leaves open whether the noderole of a cancelled run is set to ERROR or settled,
 * so the model accepts either. */
static void follow_run_cancel(struct model *m, const struct core *c, int64_t run_id)
{
    const struct model_run *run = model_find_run(m, run_id);
    if (!run || run->state == RUN_STOPPING || !model_edit_noderole(m, run->noderole_id))
        return;
    const int64_t id = run->noderole_id;
    if (m->noderoles[id].state != NODEROLE_TRANSITION || model_live_run(m, id) != run)
        return;
    if (follow_state_in_core(c, id) == NODEROLE_ERROR)
        model_failed(m, id);
    else if (follow_state_in_core(c, id) != NODEROLE_TRANSITION)
        model_settle(m, id);
}

static void follow_node_update(struct model *m, const struct node_update_command *update)
{
    const int64_t refused_id = model_grant_refused_run(m, update);
    if (refused_id)
        model_failed(m, refused_id);
    if (!(update->given & GIVEN_NODE_ALIVE) || update->id <= 0 ||
        update->id >= (int64_t)m->nodes_count)
        return;
    if (update->given & GIVEN_NODE_BOOT_ID && model_boot_is_old(m, update->id, update->boot_id))
        return;
    if (!update->alive && m->nodes[update->id].alive)
        model_node_dead(m, update->id);
    m->nodes[update->id].alive = update->alive;
}

static void follow_command(struct model *m, const struct core *c, const struct command *command);

static void follow_hook_commands(struct model *m, const struct core *c, struct str encoded)
{
    struct arena arena = {0};
    for (uint32_t at = 0; at < encoded.len;) {
        struct command requested;
        if (command_decode(&arena, encoded, &at, &requested) != OK)
            break;
        follow_command(m, c, &requested);
    }
    arena_fini(&arena);
}

static void follow_hook_failed(struct model *m, const struct model_hook *hook)
{
    const bool is_state = hook->hook > HOOK_PROPOSED && hook->hook <= HOOK_ERROR;
    const bool computes = hook->hook == HOOK_SYSDATA || hook->hook == HOOK_TEMPLATE;
    const bool about_state =
        hook->kind == OUTBOX_HOOK && hook->about_noderole && (is_state || computes);
    const bool is_proposed =
        hook->kind == OUTBOX_HOOK && hook->about_noderole && hook->hook == HOOK_PROPOSED;
    const struct model_noderole *nr = model_find_noderole(m, hook->object_id);
    if (about_state && model_edit_noderole(m, hook->object_id))
        model_failed(m, hook->object_id);
    /* on_proposed failed after its noderole was committed: the commit is reverted. */
    if (is_proposed && nr && (nr->state == NODEROLE_TODO || nr->state == NODEROLE_BLOCKED))
        model_propose(m, hook->object_id);
    if (hook->kind == OUTBOX_PROBE && model_node_is_alive(m, hook->object_id))
        model_node_dead(m, hook->object_id);
}

static const struct model_hook *follow_find_hook(const struct model *m, int64_t outbox_id)
{
    const bool known = outbox_id > 0 && outbox_id < (int64_t)m->hooks_count;
    return known && m->hooks[outbox_id].waiting ? &m->hooks[outbox_id] : NULL;
}

static void follow_outbox_done(struct model *m, const struct core *c,
                               const struct outbox_done_command *done)
{
    const struct model_hook *hook = follow_find_hook(m, done->outbox_id);
    if (!hook)
        return;
    if (done->failed)
        follow_hook_failed(m, hook);
    else
        follow_hook_commands(m, c, done->hook_commands);
}

static void follow_command(struct model *m, const struct core *c, const struct command *command)
{
    const enum command_kind kind = command->kind;
    if (kind == COMMAND_NODEROLE_COMMIT && model_edit_noderole(m, command->noderole_commit.id))
        model_commit(m, command->noderole_commit.id);
    else if (kind == COMMAND_NODEROLE_PROPOSE &&
             model_edit_noderole(m, command->noderole_propose.id))
        model_propose(m, command->noderole_propose.id);
    else if (kind == COMMAND_NODEROLE_RETRY && model_edit_noderole(m, command->noderole_retry.id))
        model_retry(m, command->noderole_retry.id);
    else if (kind == COMMAND_NODE_COMMIT)
        follow_commit_all(m, command->node_commit.id, 0);
    else if (kind == COMMAND_NODE_PROPOSE)
        follow_propose_all(m, command->node_propose.id);
    else if (kind == COMMAND_NODE_REDEPLOY)
        follow_redeploy(m, command->node_redeploy.id);
    else if (kind == COMMAND_NODE_UPDATE)
        follow_node_update(m, &command->node_update);
    else if (kind == COMMAND_DEPLOYMENT_COMMIT)
        follow_commit_all(m, 0, command->deployment_commit.id);
    else if (kind == COMMAND_DEPLOYMENT_REVERT)
        follow_revert(m, c, command->deployment_revert.id);
    else if (kind == COMMAND_RUN_DONE)
        follow_run_done(m, &command->run_done);
    else if (kind == COMMAND_RUN_STOPPED)
        model_run_stopped(m, &command->run_stopped);
    else if (kind == COMMAND_RUN_CANCEL)
        follow_run_cancel(m, c, command->run_cancel.run_id);
    else if (kind == COMMAND_OUTBOX_DONE)
        follow_outbox_done(m, c, &command->outbox_done);
    else if (kind == COMMAND_BOOT_SERVER)
        model_follow_boot_failure(m, &command->boot_server);
}

/* ---- nodes that died by another command than an update ---- */

static void follow_dead_nodes(struct model *m, const struct core *c)
{
    for (int64_t id = 1; id < (int64_t)m->nodes_count; id++) {
        struct record record;
        if (m->nodes[id].exists && m->nodes[id].alive && core_record(c, TABLE_NODE, id, &record) &&
            !record.node.alive)
            model_node_dead(m, id);
    }
}

/* ---- reruns by changed values ---- */

static const bool changes_values[COMMAND_COUNT] = {
    [COMMAND_ATTRIB_SET] = true,        [COMMAND_RUN_DONE] = true,
    [COMMAND_ROLE_UPDATE] = true,       [COMMAND_IMPORT] = true,
    [COMMAND_DEPLOYMENT_COMMIT] = true, [COMMAND_DEPLOYMENT_ROLE_COMMIT] = true,
    [COMMAND_NODEROLE_COMMIT] = true,   [COMMAND_NODE_COMMIT] = true,
    [COMMAND_NODE_REDEPLOY] = true,     [COMMAND_OUTBOX_DONE] = true,
    [COMMAND_NIC_MOVE] = true, /* it changes the hints of two nodes */
};

/* The wall data of a run is visible to descendants, its hint to all noderoles of the node. */
static bool follow_run_may_change_data(const struct model *m, int64_t run_id, int64_t id)
{
    const bool known = run_id > 0 && run_id < (int64_t)m->run_owner_count;
    const struct model_noderole *runner = model_find_noderole(m, known ? m->run_owner[run_id] : 0);
    const struct model_noderole *nr = &m->noderoles[id];
    return runner && (runner->node_id == nr->node_id || nr->cohort > runner->cohort);
}

/* True if the command can have changed a value in the data of the noderole. */
static bool follow_may_change_data(const struct model *m, const struct command *command, int64_t id)
{
    const struct model_noderole *nr = &m->noderoles[id];
    if (command->kind == COMMAND_ANNEAL)
        return m->rerunning_id && nr->deployment_id == m->rerunning_id;
    if (!changes_values[command->kind])
        return false;
    if (command->kind == COMMAND_RUN_DONE)
        return follow_run_may_change_data(m, command->run_done.run_id, id);
    if (command->kind == COMMAND_ROLE_UPDATE)
        return nr->role_id == command->role_update.id;
    if (command->kind == COMMAND_DEPLOYMENT_COMMIT)
        return nr->deployment_id == command->deployment_commit.id;
    if (command->kind != COMMAND_ATTRIB_SET)
        return true;
    const struct attrib_set_command *set = &command->attrib_set;
    if (set->target == TABLE_NODEROLE)
        return id == set->id;
    if (set->target == TABLE_NODE)
        return nr->node_id == set->id;
    return set->target != TABLE_DEPLOYMENT || nr->deployment_id == set->id;
}

/* An idle noderole whose data changed is settled again. One with a live run only gets a rerun mark,
 * which follow_compare_noderole() copies. */
static void follow_reruns(struct model *m, const struct core *c, const struct command *command)
{
    for (int64_t id = 0; (id = model_next_by_cohort(m, 0, id)) != 0;) {
        const struct model_noderole *nr = &m->noderoles[id];
        const bool idle = nr->state == NODEROLE_ACTIVE ||
                          (nr->state == NODEROLE_TRANSITION && !model_live_run(m, id));
        if (!idle || !follow_may_change_data(m, command, id) || !model_is_runnable(m, id))
            continue;
        const enum noderole_state seen = follow_state_in_core(c, id);
        if (seen != NODEROLE_TODO && seen != NODEROLE_BLOCKED)
            continue;
        model_settle(m, id);
        m->counts.pokes++;
        m->counts.rerun += command->kind == COMMAND_ANNEAL;
    }
}

/* ---- comparison ---- */

static const char *follow_compare_noderole(struct model *m, int64_t id,
                                           const struct noderole_record *seen,
                                           const struct command *command)
{
    struct model_noderole *nr = &m->noderoles[id];
    if (nr->state != (enum noderole_state)seen->state)
        return model_report(m, "I10: after %s noderole %lld is %s and should be %s",
                            command_name(command->kind), (long long)id,
                            noderole_state_name((enum noderole_state)seen->state),
                            noderole_state_name(nr->state));
    if (nr->run_count != seen->run_count)
        return model_report(m, "I10: after %s noderole %lld has run %u times, not %u",
                            command_name(command->kind), (long long)id, seen->run_count,
                            nr->run_count);
    if (nr->rerun && !seen->rerun)
        return model_report(m, "I10: after %s noderole %lld has lost its rerun mark",
                            command_name(command->kind), (long long)id);
    if (nr->barred != (seen->grant_barred != 0))
        return model_report(m, "I20: after %s noderole %lld is barred from grants, or should be",
                            command_name(command->kind), (long long)id);
    nr->rerun = seen->rerun;
    nr->unavailable = seen->unavailable;
    nr->attempt = seen->attempt;
    return NULL;
}

static const char *follow_compare_all(struct model *m, const struct core *c,
                                      const struct command *command)
{
    uint32_t count = 0;
    MODEL_NODEROLES(m, id)
    {
        struct record record;
        if (!core_record(c, TABLE_NODEROLE, id, &record))
            return model_report(m, "I10: %s removed noderole %lld", command_name(command->kind),
                                (long long)id);
        const char *trouble = follow_compare_noderole(m, id, &record.noderole, command);
        if (trouble)
            return trouble;
        count++;
    }
    if (count != core_count(c, TABLE_NODEROLE))
        return model_report(m, "I10: %s created noderoles that the model does not have",
                            command_name(command->kind));
    return NULL;
}

/* ---- refusals ---- */

static bool follow_has_problem(const struct outcome *outcome, enum problem_code code)
{
    for (const struct problem *p = outcome->problems; p; p = p->next)
        if (p->code == code)
            return true;
    return false;
}

/* The model can verify the refusal of a retry or commit of one noderole, because it depends on
 * states only. */
static const char *follow_refusal(struct model *m, const struct command *command,
                                  const struct outcome *outcome)
{
    const bool wrong_state = follow_has_problem(outcome, PROBLEM_WRONG_STATE);
    const bool not_active = follow_has_problem(outcome, PROBLEM_PARENTS_NOT_ACTIVE);
    if (command->kind == COMMAND_NODEROLE_RETRY) {
        const int64_t id = command->noderole_retry.id;
        const struct model_noderole *nr = model_find_noderole(m, id);
        if (!nr || !(wrong_state || not_active))
            return NULL;
        model_count(m, id, MODEL_RETRY);
        const bool ready = nr->state != NODEROLE_PROPOSED && nr->state != NODEROLE_BLOCKED &&
                           model_parents_active(m, id);
        if (ready)
            return model_report(m, "I10: retry of noderole %lld was refused although it is ready",
                                (long long)id);
    }
    if (command->kind == COMMAND_NODEROLE_COMMIT && wrong_state) {
        const int64_t id = command->noderole_commit.id;
        const struct model_noderole *nr = model_find_noderole(m, id);
        if (!nr)
            return NULL;
        if (nr->state == NODEROLE_PROPOSED)
            return model_report(m, "I10: commit of PROPOSED noderole %lld was refused",
                                (long long)id);
        model_count(m, id, MODEL_COMMIT);
    }
    if (command->kind == COMMAND_NODE_CREATE && command->node_create.automatic && wrong_state)
        return model_check_no_automatic(m);
    return NULL;
}

/* The converse: a command that the table refuses must have been refused. */
static const char *follow_check_accepted(struct model *m, const struct command *command)
{
    if (command->kind == COMMAND_NODEROLE_COMMIT) {
        const struct model_noderole *nr = model_find_noderole(m, command->noderole_commit.id);
        if (!nr || nr->state != NODEROLE_PROPOSED)
            return model_report(m, "I10: commit of noderole %lld was not refused",
                                (long long)command->noderole_commit.id);
    }
    if (command->kind == COMMAND_NODEROLE_RETRY) {
        const int64_t id = command->noderole_retry.id;
        const struct model_noderole *nr = model_find_noderole(m, id);
        if (!nr || nr->state == NODEROLE_PROPOSED || nr->state == NODEROLE_BLOCKED ||
            !model_parents_active(m, id))
            return model_report(m, "I10: retry of noderole %lld was not refused", (long long)id);
    }
    return NULL;
}

/* ---- one step ---- */

/* A noderole must not start while one of its hooks is outstanding. on_transition is exempt, because
 * the start itself causes it. */
static const char *follow_check_started_hooks(struct model *m)
{
    MODEL_HOOKS(m, i)
    {
        const struct model_hook *hook = &m->hooks[i];
        if (!hook->waiting || hook->kind != OUTBOX_HOOK || !hook->about_noderole ||
            hook->hook == HOOK_TRANSITION)
            continue;
        const struct model_noderole *nr = model_find_noderole(m, hook->object_id);
        if (nr && nr->started)
            return model_report(m, "I10: noderole %lld started before the result of its hook %s",
                                (long long)hook->object_id, hook_name(hook->hook));
    }
    return NULL;
}

static const char *follow_accepted(struct model *m, const struct core *c,
                                   const struct command *command, bool commands_refused,
                                   struct arena *scratch)
{
    const uint32_t parts = follow_parts_of(m, command);
    model_read(m, c, parts & (MODEL_CATALOG | MODEL_STRUCTURE), scratch);
    model_block_unready(m);
    const char *trouble = NULL;
    if (commands_refused)
        follow_hook_failed(m, follow_find_hook(m, command->outbox_done.outbox_id));
    else if (command->kind == COMMAND_ANNEAL && m->rerunning_id)
        ; /* nothing starts in this step: it only reruns noderoles whose defaults changed */
    else if (command->kind == COMMAND_ANNEAL)
        trouble = model_follow_pass(m, c);
    else
        follow_command(m, c, command);
    if (trouble)
        return trouble;
    if (parts & MODEL_NODES)
        follow_dead_nodes(m, c);
    model_read(m, c, parts & (MODEL_NODES | MODEL_HEADS), scratch);
    follow_reruns(m, c, command);
    trouble = follow_compare_all(m, c, command);
    model_read(m, c, MODEL_MOMENT, scratch);
    if (!trouble && command->kind == COMMAND_ANNEAL)
        trouble = follow_check_started_hooks(m);
    return trouble;
}

const char *model_follow(struct model *m, const struct core *c, const struct command *command,
                         const struct outcome *outcome, struct arena *scratch)
{
    if (outcome->verdict == VERDICT_NEEDS_HOOKS)
        return NULL;
    if (outcome->verdict == VERDICT_REFUSED)
        return follow_refusal(m, command, outcome);
    const char *trouble = follow_check_accepted(m, command);
    if (!trouble)
        trouble = model_check_rights(m, c, command, scratch);
    if (trouble)
        return trouble;
    /* An annealing step returns the deployment whose changed noderoles it reran, otherwise 0. */
    m->rerunning_id = command->kind == COMMAND_ANNEAL ? outcome->id : 0;
    const bool two_outcomes = command->kind == COMMAND_OUTBOX_DONE &&
                              !command->outbox_done.failed &&
                              !str_is_empty(command->outbox_done.hook_commands) &&
                              follow_find_hook(m, command->outbox_done.outbox_id);
    if (two_outcomes) {
        if (!m->spare)
            m->spare = model_new();
        model_copy(m->spare, m);
    }
    const struct model_admin admin = model_predict_admin(m, command);
    trouble = follow_accepted(m, c, command, false, scratch);
    if (trouble && two_outcomes) {
        model_copy(m, m->spare);
        trouble = follow_accepted(m, c, command, true, scratch);
    }
    if (!trouble)
        trouble = model_check_admin(m, &admin, command, outcome);
    if (!trouble)
        trouble = model_follow_grants(m, c, command, outcome);
    if (!trouble)
        trouble = model_follow_served(m, c, command, scratch);
    if (!trouble)
        trouble = model_follow_boots(m, c, command);
    if (!trouble)
        trouble = model_follow_readings(m, c, command);
    return trouble ? trouble : model_follow_addresses(m, c, command, scratch);
}
