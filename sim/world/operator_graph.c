#include "sim/world/operator.h"

#include "base/err.h"
#include "base/text/buf.h"
#include "sim/world/actors.h"

/* Actions of operators on noderoles, deployments and runs. */

static int64_t graph_find_role(const struct core *core, const char *name)
{
    return core_find(core, TABLE_ROLE, str_from(name));
}

static void graph_send_bind(struct world *w, int64_t role_id, int64_t node_id,
                            int64_t deployment_id)
{
    struct command command = {.kind = COMMAND_NODEROLE_BIND};
    command.noderole_bind.role_id = role_id;
    command.noderole_bind.node_id = node_id;
    command.noderole_bind.deployment_id = deployment_id;
    if (prng_chance(&w->rng, 100))
        command.noderole_bind.data = operator_document(w);
    operator_send_command(w, &command);
}

void operator_bind_random(struct world *w, const struct core *core, bool ordinary)
{
    const int64_t elsewhere =
        ordinary || prng_chance(&w->rng, 700) ? 0 : operator_pick(w, core, TABLE_DEPLOYMENT);
    const int64_t role = operator_pick(w, core, TABLE_ROLE);
    int64_t node = operator_pick(w, core, TABLE_NODE);
    /* Boot servers are on admin nodes; on another one the role never serves anything. */
    const bool is_native = role && role == graph_find_role(core, "gallery-dhcp");
    const bool moves = is_native && prng_chance(&w->rng, 900);
    struct record record;
    for (int64_t id = 0; moves && (id = core_next_id(core, TABLE_NODE, id)) != 0;)
        if (core_record(core, TABLE_NODE, id, &record) && record.node.admin && !record.node.system)
            node = id;
    graph_send_bind(w, role, node, elsewhere);
}

void action_bind(struct world *w, const struct core *core)
{
    operator_bind_random(w, core, false);
}

/* Bind a member of a cluster to the node of a descendant of the cluster. That would be a cycle, so
 * the last bind must be refused. */
void action_cycle(struct world *w, const struct core *core)
{
    const int64_t one = operator_pick(w, core, TABLE_NODE);
    const int64_t other = operator_pick(w, core, TABLE_NODE);
    graph_send_bind(w, graph_find_role(core, "gallery-y"), one, 1);
    graph_send_bind(w, graph_find_role(core, "gallery-m"), one, 1);
    graph_send_bind(w, graph_find_role(core, "gallery-k"), one, 1);
    graph_send_bind(w, graph_find_role(core, "gallery-q"), other, 1);
    graph_send_bind(w, graph_find_role(core, "gallery-m"), other, 1);
}

/* ---- noderoles ---- */

void action_noderole_delete(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODEROLE_DELETE};
    command.noderole_delete.id = operator_pick(w, core, TABLE_NODEROLE);
    operator_send_command(w, &command);
}

void action_noderole_propose(struct world *w, const struct core *core)
{
    static const enum noderole_state likely[] = {NODEROLE_ACTIVE, NODEROLE_TRANSITION,
                                                 NODEROLE_TODO, NODEROLE_ERROR};
    struct command command = {.kind = COMMAND_NODEROLE_PROPOSE};
    command.noderole_propose.id = prng_chance(&w->rng, 500)
                                      ? operator_pick_state(w, core, likely[prng_below(&w->rng, 4)])
                                      : operator_pick(w, core, TABLE_NODEROLE);
    operator_send_command(w, &command);
}

void action_noderole_commit(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODEROLE_COMMIT};
    command.noderole_commit.id = prng_chance(&w->rng, 800)
                                     ? operator_pick_state(w, core, NODEROLE_PROPOSED)
                                     : operator_pick(w, core, TABLE_NODEROLE);
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        command.noderole_commit.consent = STALE_HASH;
    operator_send_command(w, &command);
}

void action_noderole_retry(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODEROLE_RETRY};
    const uint64_t which = prng_below(&w->rng, 10);
    command.noderole_retry.id = which < 6   ? operator_pick_state(w, core, NODEROLE_ERROR)
                                : which < 8 ? operator_pick_state(w, core, NODEROLE_TRANSITION)
                                            : operator_pick(w, core, TABLE_NODEROLE);
    operator_send_command(w, &command);
}

void action_noderole_data(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODEROLE_DATA};
    command.noderole_data.id = prng_chance(&w->rng, 700)
                                   ? operator_pick_state(w, core, NODEROLE_PROPOSED)
                                   : operator_pick(w, core, TABLE_NODEROLE);
    command.noderole_data.data = operator_document(w);
    operator_send_command(w, &command);
}

void action_noderole_enqueue(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODEROLE_ENQUEUE};
    command.noderole_enqueue.id = prng_chance(&w->rng, 700)
                                      ? operator_pick_state(w, core, NODEROLE_ACTIVE)
                                      : operator_pick(w, core, TABLE_NODEROLE);
    command.noderole_enqueue.if_due = prng_chance(&w->rng, 200);
    operator_send_command(w, &command);
}

/* Only a hook may send this command: it must be refused. */
void action_noderole_computed(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODEROLE_COMPUTED};
    command.noderole_computed.id = operator_pick(w, core, TABLE_NODEROLE);
    command.noderole_computed.data = operator_document(w);
    operator_send_command(w, &command);
}

/* No boot server has a turn that was never sent to it. */
void action_boot_server(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_BOOT_SERVER};
    command.boot_server.node_id = operator_pick(w, core, TABLE_NODE);
    command.boot_server.event = BOOT_EVENT_TAKEN;
    command.boot_server.turn = INT64_MAX - (int64_t)prng_below(&w->rng, 3);
    operator_send_command(w, &command);
}

/* ---- runs ---- */

void action_run_resume(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_RUN_RESUME};
    command.run_resume.run_id = operator_pick(w, core, TABLE_RUN);
    operator_send_command(w, &command);
}

void action_run_cancel(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_RUN_CANCEL};
    command.run_cancel.run_id = operator_pick(w, core, TABLE_RUN);
    operator_send_command(w, &command);
}

/* ---- deployments ---- */

void action_deployment_create(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_DEPLOYMENT_CREATE};
    command.deployment_create.name = operator_dubious_name(w, "site-%u");
    command.deployment_create.parent_id = operator_pick(w, core, TABLE_DEPLOYMENT);
    operator_send_command(w, &command);
}

void action_deployment_update(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_DEPLOYMENT_UPDATE};
    command.deployment_update.id = operator_pick(w, core, TABLE_DEPLOYMENT);
    command.deployment_update.given = (uint32_t)prng_below(&w->rng, 4);
    command.deployment_update.name = operator_dubious_name(w, "site-%u");
    command.deployment_update.description = STR("for a while");
    operator_send_command(w, &command);
}

void action_deployment_delete(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_DEPLOYMENT_DELETE};
    command.deployment_delete.id = operator_pick(w, core, TABLE_DEPLOYMENT);
    operator_send_command(w, &command);
}

void action_deployment_commit(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_DEPLOYMENT_COMMIT};
    command.deployment_commit.id = operator_pick(w, core, TABLE_DEPLOYMENT);
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        command.deployment_commit.plan = STALE_HASH;
    else if (world_fault(w, FAULT_OPERATOR_WRONG))
        command.deployment_commit.consent = STALE_HASH;
    command.deployment_commit.rerun_changed = prng_chance(&w->rng, 300);
    operator_send_command(w, &command);
}

void action_deployment_propose(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_DEPLOYMENT_PROPOSE};
    command.deployment_propose.id = operator_pick(w, core, TABLE_DEPLOYMENT);
    if (prng_chance(&w->rng, 300))
        command.deployment_propose.name = operator_dubious_name(w, "plan %u");
    operator_send_command(w, &command);
}

void action_deployment_recall(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_DEPLOYMENT_RECALL};
    command.deployment_recall.id = operator_pick(w, core, TABLE_DEPLOYMENT);
    operator_send_command(w, &command);
}

/* Revert a deployment to one of its snapshots; the content is read first, as the API does. */
void action_deployment_revert(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_DEPLOYMENT_REVERT};
    struct record snapshot;
    const int64_t id = operator_pick(w, core, TABLE_SNAPSHOT);
    command.deployment_revert.id = operator_pick(w, core, TABLE_DEPLOYMENT);
    command.deployment_revert.seq = 1;
    command.deployment_revert.content = operator_document(w);
    if (core_record(core, TABLE_SNAPSHOT, id, &snapshot)) {
        uint32_t count = 0;
        const int64_t deployment_id = snapshot.snapshot.deployment_id;
        const int64_t seq = snapshot.snapshot.seq;
        const struct record *old =
            memory_store_old(w->store, deployment_id, seq, &w->scratch, &count);
        command.deployment_revert.id = deployment_id;
        command.deployment_revert.seq = seq;
        command.deployment_revert.content =
            core_snapshot_content(core, deployment_id, seq, old, count, &w->scratch);
    }
    operator_send_command(w, &command);
}

void action_snapshot_update(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_SNAPSHOT_UPDATE};
    command.snapshot_update.id = operator_pick(w, core, TABLE_SNAPSHOT);
    command.snapshot_update.given = (uint32_t)prng_below(&w->rng, 4);
    command.snapshot_update.name = operator_dubious_name(w, "plan %u");
    command.snapshot_update.description = STR("as it was");
    operator_send_command(w, &command);
}

/* ---- deployment roles ---- */

void action_deployment_role_create(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_DEPLOYMENT_ROLE_CREATE};
    command.deployment_role_create.deployment_id = operator_pick(w, core, TABLE_DEPLOYMENT);
    command.deployment_role_create.role_id = operator_pick(w, core, TABLE_ROLE);
    operator_send_command(w, &command);
}

void action_deployment_role_delete(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_DEPLOYMENT_ROLE_DELETE};
    command.deployment_role_delete.id = operator_pick(w, core, TABLE_DEPLOYMENT_ROLE);
    operator_send_command(w, &command);
}

void action_deployment_role_propose(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_DEPLOYMENT_ROLE_PROPOSE};
    command.deployment_role_propose.id = operator_pick(w, core, TABLE_DEPLOYMENT_ROLE);
    operator_send_command(w, &command);
}

void action_deployment_role_commit(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_DEPLOYMENT_ROLE_COMMIT};
    command.deployment_role_commit.id = operator_pick(w, core, TABLE_DEPLOYMENT_ROLE);
    operator_send_command(w, &command);
}

void action_deployment_role_data(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_DEPLOYMENT_ROLE_DATA};
    command.deployment_role_data.id = operator_pick(w, core, TABLE_DEPLOYMENT_ROLE);
    command.deployment_role_data.data = operator_document(w);
    operator_send_command(w, &command);
}
