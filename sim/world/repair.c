#include "sim/world/actors.h"

#include <stdio.h>

#include "base/err.h"
#include "model/jig_class.h"

/* The liveness phase. After the faults everything that an operator can repair is repaired, with
 * the commands of an operator: nodes are switched on, jigs activated, deployments committed,
 * errors retried. Then every noderole must become ACTIVE without further help, and no run and no
 * outbox row may be left (I7). Several rounds are necessary, because one repair can cause other
 * errors. */

static void repair_send(struct world *w, struct command *command)
{
    command->actor = STR("repair");
    world_send(w, prng_between(&w->rng, 1, 1000), command);
}

/* Without a hammer, powersave roles cannot switch their machine off again and again. */
static void repair_hammer(struct world *w, int64_t id)
{
    struct command command = {.kind = COMMAND_HAMMER_DELETE};
    command.hammer_delete.id = id;
    repair_send(w, &command);
}

static void repair_node(struct world *w, const struct node_record *node)
{
    if (!node->system)
        world_in(w, 0, EVENT_NODE_RETURNS, node->id);
    struct command command = {.kind = COMMAND_NODE_UPDATE};
    command.node_update.id = node->id;
    command.node_update.given = (node->alive ? 0 : GIVEN_NODE_ALIVE) |
                                (node->available ? 0 : GIVEN_NODE_AVAILABLE) |
                                (node->target_role_id ? GIVEN_NODE_TARGET : 0);
    if (!node->alive && str_ends(node->bootenv, STR("-install")))
        command.node_update.given |= GIVEN_NODE_BOOTENV;
    command.node_update.bootenv = STR("local");
    command.node_update.alive = true;
    command.node_update.available = true;
    if (command.node_update.given)
        repair_send(w, &command);
    if (!node->stopped)
        return;
    struct command commit = {.kind = COMMAND_NODE_COMMIT};
    commit.node_commit.id = node->id;
    repair_send(w, &commit);
}

static bool repair_uses_test_jig(const struct world *w)
{
    return w->scenario.seed % 4 == 0;
}

static void repair_jig(struct world *w, const struct jig_record *jig)
{
    if (jig->active)
        return;
    struct command command = {.kind = COMMAND_JIG_UPDATE};
    command.jig_update.id = jig->id;
    command.jig_update.given = GIVEN_JIG_ACTIVE;
    command.jig_update.active = true;
    if (jig_class_find(jig->class_name)) {
        repair_send(w, &command);
        return;
    }
    /* The class of the jig is unknown: enable the test jig, which replaces it. In the other worlds
     * the noderoles are deleted, because no role serves boots with the test jig. */
    struct command settings = {.kind = COMMAND_SETTINGS_UPDATE};
    settings.settings_update.given = GIVEN_SETTINGS_TEST_JIG;
    settings.settings_update.test_jig = repair_uses_test_jig(w);
    repair_send(w, &settings);
}

/* The role has a jig of an unknown class. */
static bool repair_is_unusable(const struct core *core, int64_t role_id)
{
    struct record role, jig;
    return core_record(core, TABLE_ROLE, role_id, &role) &&
           core_record(core, TABLE_JIG, core_find(core, TABLE_JIG, role.role.jig_name), &jig) &&
           !jig_class_find(jig.jig.class_name);
}

/* A run of the noderole that will change its state. */
static bool repair_has_run(const struct core *core, int64_t noderole_id)
{
    for (int64_t id = 0; (id = core_next_id(core, TABLE_RUN, id)) != 0;) {
        struct record record;
        /* A queued run without an attempt does not count: it waits for the noderole. */
        if (core_record(core, TABLE_RUN, id, &record) && record.run.noderole_id == noderole_id &&
            (record.run.state != RUN_QUEUED || record.run.attempt))
            return true;
    }
    return false;
}

static bool repair_parents_active(struct world *w, const struct core *core, int64_t noderole_id)
{
    uint32_t count = 0;
    const int64_t *parents = core_parents(core, noderole_id, &w->scratch, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct record record;
        if (!core_record(core, TABLE_NODEROLE, parents[i], &record) ||
            record.noderole.state != NODEROLE_ACTIVE)
            return false;
    }
    return true;
}

/* A noderole in ERROR with an inactive parent cannot be retried, and keeps a parent on the same
 * node from starting: propose it, the next round commits it. So does one that was committed before
 * the store was imported: a retry is no commit. */
static void repair_failure(struct world *w, const struct core *core,
                           const struct noderole_record *noderole)
{
    const int64_t noderole_id = noderole->id;
    const bool may_retry =
        noderole->reason != REASON_COMMIT_OUTDATED && repair_parents_active(w, core, noderole_id);
    struct command retry = {.kind = COMMAND_NODEROLE_RETRY};
    struct command propose = {.kind = COMMAND_NODEROLE_PROPOSE};
    retry.noderole_retry.id = noderole_id;
    propose.noderole_propose.id = noderole_id;
    repair_send(w, may_retry ? &retry : &propose);
}

static void repair_noderole(struct world *w, const struct core *core,
                            const struct noderole_record *noderole)
{
    if (!repair_uses_test_jig(w) && repair_is_unusable(core, noderole->role_id)) {
        struct command removal = {.kind = COMMAND_NODEROLE_DELETE};
        removal.noderole_delete.id = noderole->id;
        if (!noderole->removing)
            repair_send(w, &removal);
        return;
    }
    if (noderole->removing) {
        /* If other noderoles depend on it by now, the commit of its deployment would be refused:
         * binding it again clears the removal mark. */
        struct command keep = {.kind = COMMAND_NODEROLE_BIND};
        keep.noderole_bind.node_id = noderole->node_id;
        keep.noderole_bind.role_id = noderole->role_id;
        keep.noderole_bind.deployment_id = noderole->deployment_id;
        repair_send(w, &keep);
    }
    const bool waits =
        noderole->state == NODEROLE_TRANSITION && !repair_has_run(core, noderole->id);
    if (noderole->state == NODEROLE_ERROR || waits) {
        repair_failure(w, core, noderole);
    } else if (noderole->state == NODEROLE_PROPOSED && noderole->hook_failed) {
        /* on_proposed is called again when the data of the noderole changes. */
        struct command command = {.kind = COMMAND_NODEROLE_DATA};
        command.noderole_data.id = noderole->id;
        command.noderole_data.data = str_starts(noderole->proposed_data, STR("{\"again\":1"))
                                         ? STR("{\"again\":2}")
                                         : STR("{\"again\":1}");
        repair_send(w, &command);
    }
}

static void repair_run(struct world *w, const struct run_record *run)
{
    struct command command = {.kind = COMMAND_RUN_RESUME};
    command.run_resume.run_id = run->id;
    if (run->state == RUN_PARKED)
        repair_send(w, &command);
}

static void repair_deployment(struct world *w, int64_t id)
{
    struct command command = {.kind = COMMAND_DEPLOYMENT_COMMIT};
    command.deployment_commit.id = id;
    repair_send(w, &command);
}

void repair_round(struct world *w)
{
    static const enum table tables[] = {TABLE_JIG,      TABLE_DEPLOYMENT, TABLE_NODE,
                                        TABLE_NODEROLE, TABLE_RUN,        TABLE_HAMMER};
    const struct core *core = world_core(w);
    nodes_sim_add_new(w);
    for (uint32_t t = 0; core && t < sizeof tables / sizeof *tables; t++)
        for (int64_t id = 0; (id = core_next_id(core, tables[t], id)) != 0;) {
            struct record record;
            if (!core_record(core, tables[t], id, &record))
                continue;
            if (record.table == TABLE_JIG)
                repair_jig(w, &record.jig);
            else if (record.table == TABLE_DEPLOYMENT)
                repair_deployment(w, id);
            else if (record.table == TABLE_NODE)
                repair_node(w, &record.node);
            else if (record.table == TABLE_NODEROLE)
                repair_noderole(w, core, &record.noderole);
            else if (record.table == TABLE_RUN)
                repair_run(w, &record.run);
            else
                repair_hammer(w, id);
        }
}

/* The machines are on, so the order has no effect but to wait until their environments are served.
 * The next round deletes the hammers. */
void repair_boot_machines(struct world *w)
{
    const struct core *core = world_core(w);
    const int64_t kind_id = core ? core_find(core, TABLE_HAMMER_KIND, STR("ipmi")) : 0;
    for (int64_t id = 0; kind_id && (id = core_next_id(core, TABLE_NODE, id)) != 0;) {
        struct record node;
        if (!core_record(core, TABLE_NODE, id, &node) || node.node.system)
            continue;
        struct command hammer = {.kind = COMMAND_HAMMER_CREATE, .actor = STR("repair")};
        struct command update = {.kind = COMMAND_NODE_UPDATE, .actor = STR("repair")};
        struct command power = {.kind = COMMAND_NODE_POWER, .actor = STR("repair")};
        hammer.hammer_create.node_id = id;
        hammer.hammer_create.hammer_kind_id = kind_id;
        hammer.hammer_create.username = STR("root");
        update.node_update.id = power.node_power.id = id;
        update.node_update.given = GIVEN_NODE_BOOTENV;
        update.node_update.bootenv =
            str_eq(node.node.bootenv, STR("local")) ? STR("sledgehammer") : STR("local");
        power.node_power.action = STR("on");
        world_send(w, 1, &hammer);
        world_send(w, 2, &update);
        world_send(w, 3, &power);
    }
}

/* ---- fixed point ---- */

static const char *repair_missing_text(struct world *w, const struct core *core,
                                       int64_t noderole_id)
{
    static char text[400];
    const struct cause *cause = core_why(core, TABLE_NODEROLE, noderole_id, &w->scratch);
    int len = snprintf(text, sizeof text, "noderole %lld is not ACTIVE:", (long long)noderole_id);
    for (; cause && len > 0 && (size_t)len < sizeof text; cause = cause->next)
        len += snprintf(text + len, sizeof text - (size_t)len, " %s (%s %lld)",
                        cause_name(cause->code), table_name(cause->object),
                        (long long)cause->object_id);
    return text;
}

const char *repair_missing(struct world *w)
{
    const struct core *core = world_core(w);
    if (!core)
        return "no core is loaded: the store is still unavailable";
    for (int64_t id = 0; (id = core_next_id(core, TABLE_NODEROLE, id)) != 0;) {
        struct record record;
        if (core_record(core, TABLE_NODEROLE, id, &record) &&
            record.noderole.state != NODEROLE_ACTIVE)
            return repair_missing_text(w, core, id);
    }
    if (core_count(core, TABLE_BOOT_DUE))
        return "a machine is due at a noderole that publishes boots";
    if (core_count(core, TABLE_RUN))
        return "a run has not ended";
    if (core_count(core, TABLE_OUTBOX))
        return "a row of the outbox has no result";
    return NULL;
}
