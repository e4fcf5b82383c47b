#include "sim/model/model_private.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash/hash.h"
#include "base/json/json.h"

/* Checks the boot barrier (a power action that boots a machine waits until every committed noderole
 * with the flag serves-boot has served the boot generation of the node) from the records alone.
 *
 * After each step: a power action is sent only when the boot is served; no action waits without an
 * unserved noderole, for a noderole in ERROR, or longer than its deadline; an action that was given
 * up leaves a status at its node, and stops the node if it was a restart. Boot generations change
 * exactly with the boot environment, and reports of an earlier boot (ADR 0049) change nothing.
 *
 * The violations begin with "boot barrier:" or "boot ids:". */

static bool barrier_action_restarts(struct str action)
{
    return str_eq(action, STR("reboot")) || str_eq(action, STR("reset")) ||
           str_eq(action, STR("cycle")) || str_eq(action, STR("pxeboot"));
}

static bool barrier_action_boots(struct str action)
{
    return str_eq(action, STR("on")) || barrier_action_restarts(action);
}

/* ---- nodes ---- */

static void boot_copy_str(char *to, uint32_t size, struct str text)
{
    must(text.len < size);
    if (text.len)
        memcpy(to, text.at, text.len);
    to[text.len] = 0;
}

static bool boot_list_has(const char *old_boots, const char *id)
{
    char quoted[40];
    snprintf(quoted, sizeof quoted, "\"%s\"", id);
    return strstr(old_boots, quoted) != NULL;
}

static bool boot_is_old(const struct model_boot *boot, struct str boot_id)
{
    char id[24];
    boot_copy_str(id, sizeof id, boot_id);
    return boot_list_has(boot->old_boots, id);
}

bool model_boot_is_old(const struct model *m, int64_t node_id, struct str boot_id)
{
    return node_id > 0 && node_id < (int64_t)m->boots_count &&
           boot_is_old(&m->boots[node_id], boot_id);
}

static bool boot_is_late_report(const struct command *command, int64_t node_id,
                                const struct model_boot *before)
{
    const struct node_update_command *update = &command->node_update;
    return command->kind == COMMAND_NODE_UPDATE && update->id == node_id &&
           update->given & GIVEN_NODE_BOOT_ID && boot_is_old(before, update->boot_id);
}

static const char *boot_check_id(struct model *m, int64_t node_id, const struct model_boot *before,
                                 const struct command *command)
{
    const struct model_boot *now = &m->boots[node_id];
    const bool is_other = strcmp(before->boot_id, now->boot_id) != 0;
    if (boot_is_late_report(command, node_id, before) &&
        (is_other || before->alive != now->alive || before->generation != now->generation))
        return model_report(m, "boot ids: a late report of an earlier boot changed node %lld",
                            (long long)node_id);
    if (is_other && before->boot_id[0] && !boot_list_has(now->old_boots, before->boot_id))
        return model_report(
            m, "boot ids: after %s node %lld is in boot %s, and its old boots do not list %s",
            command_name(command->kind), (long long)node_id, now->boot_id, before->boot_id);
    return NULL;
}

static const char *boot_follow_node(struct model *m, const struct node_record *node,
                                    const struct command *command)
{
    struct model_boot *boot = model_boot_of(m, node->id);
    m->nodes[node->id].stopped = node->stopped;
    const struct model_boot before = *boot;
    *boot = (struct model_boot){.exists = true,
                                .alive = node->alive,
                                .has_status = node->status.len > 0,
                                .has_power_status = node->status.len > 0 &&
                                                    node->reason != REASON_INSTALLER_SILENT &&
                                                    node->reason != REASON_DISK_STAMPED,
                                .generation = node->boot_generation,
                                .bootenv = hash64(node->bootenv, 0)};
    boot_copy_str(boot->boot_id, sizeof boot->boot_id, node->boot_id);
    boot_copy_str(boot->old_boots, sizeof boot->old_boots, node->old_boots);
    if (!before.exists || !command)
        return NULL;
    const char *trouble = boot_check_id(m, node->id, &before, command);
    if (trouble)
        return trouble;
    /* A hook result may contain any number of commands, so only a lower bound is known. */
    const bool has_commands = command->kind == COMMAND_OUTBOX_DONE;
    /* These may open a generation without a change of the environment (model_grants.c). */
    const bool may_open_more = has_commands || command->kind == COMMAND_NODE_REDEPLOY ||
                               (command->kind == COMMAND_NODE_UPDATE &&
                                command->node_update.given & GIVEN_NODE_PARKED_RUN);
    const bool changed = before.bootenv != boot->bootenv;
    const int64_t steps = boot->generation - before.generation;
    if (steps < 0 || (changed && steps == 0) || (!may_open_more && steps != (changed ? 1 : 0)))
        return model_report(
            m, "boot barrier: %s changed the boot generation of node %lld from %lld to %lld",
            command_name(command->kind), (long long)node->id, (long long)before.generation,
            (long long)boot->generation);
    /* A report may change the environment, too. An order that waits is evaluated after that, at the
     * end of the step, and the status says why it is given up. */
    if (!has_commands && boot->alive && !before.alive && boot->has_status && !node->stopped &&
        !(before.has_given_up && node->reason == REASON_BOOT_NOT_SERVED))
        return model_report(m, "node status: node %lld became alive and kept the status \"%.*s\"",
                            (long long)node->id, STR_FMT_ARGS(node->status));
    return NULL;
}

static const char *boot_follow_nodes(struct model *m, const struct core *c,
                                     const struct command *command)
{
    const char *trouble = NULL;
    for (uint32_t i = 0; i < m->boots_count; i++)
        if (m->boots[i].exists && core_next_id(c, TABLE_NODE, (int64_t)i - 1) != (int64_t)i)
            m->boots[i] = (struct model_boot){0};
    for (int64_t id = 0; !trouble && (id = core_next_id(c, TABLE_NODE, id)) != 0;) {
        struct record record;
        if (core_record(c, TABLE_NODE, id, &record))
            trouble = boot_follow_node(m, &record.node, command);
    }
    return trouble;
}

/* ---- waiting power actions ---- */

/* A power action that waited before this step and was deleted in it: it was given up. */
static const char *barrier_check_given_up(struct model *m, const struct core *c,
                                          const struct model_power *power,
                                          const struct node_record *node,
                                          const struct command *command)
{
    const struct model_unserved unserved = model_find_unserved(m, c, node->id);
    m->counts.given_up++;
    if (power->left_ms && unserved.has_error)
        m->counts.ended_error++;
    else if (power->left_ms)
        m->counts.ended_time++;
    const bool is_restart = power->restarts;
    const bool is_expired = command->mono_ms >= power->since_ms + power->left_ms;
    if (power->left_ms && (!unserved.first || !(unserved.has_error || is_expired)))
        return model_report(m,
                            "boot barrier: power action %lld of node %lld was given up before its "
                            "deadline and without a server in ERROR",
                            (long long)power->id, (long long)node->id);
    if (!power->left_ms)
        return model_report(m, "boot barrier: power action %lld was removed from the queue",
                            (long long)power->id);
    if (!node->status.len || (is_restart && !node->stopped))
        return model_report(
            m,
            "boot barrier: node %lld has no status, or is not stopped, after power action %lld "
            "was given up",
            (long long)node->id, (long long)power->id);
    model_boot_of(m, node->id)->has_given_up = true;
    return NULL;
}

static const char *barrier_check_sent(struct model *m, const struct core *c,
                                      const struct model_power *power,
                                      const struct node_record *node, const struct command *command)
{
    m->counts.went++;
    m->counts.ended_run += power->left_ms && command->kind == COMMAND_RUN_DONE;
    m->counts.ended_taken += power->left_ms && command->kind == COMMAND_BOOT_SERVER;
    if (power->left_ms && model_find_unserved(m, c, node->id).first)
        return model_report(
            m,
            "boot barrier: power action %lld was sent before boot generation %lld of node %lld "
            "was served",
            (long long)power->id, (long long)power->generation, (long long)node->id);
    return NULL;
}

/* A later request to restart a machine replaces one that waits, whether the new one waits or
 * not. */
static bool barrier_is_superseded(const struct model *m, const struct core *c,
                                  const struct model_power *power)
{
    for (int64_t id = m->outbox_seen;
         power->restarts && (id = core_next_id(c, TABLE_OUTBOX, id));) {
        struct record record;
        if (core_record(c, TABLE_OUTBOX, id, &record) && record.outbox.kind == OUTBOX_POWER &&
            record.outbox.object_id == power->node_id &&
            barrier_action_restarts(record.outbox.detail))
            return true;
    }
    return false;
}

/* Check each power action that waited before the step: given up, sent, or still waiting. */
static const char *barrier_follow_waiting(struct model *m, const struct core *c,
                                          const struct command *command)
{
    for (uint32_t i = 0; i < m->powers_count; i++) {
        const struct model_power *power = &m->powers[i];
        struct record node, row;
        const char *trouble = NULL;
        if (!core_record(c, TABLE_NODE, power->node_id, &node) ||
            barrier_is_superseded(m, c, power))
            continue;
        if (!core_record(c, TABLE_OUTBOX, power->id, &row))
            trouble = barrier_check_given_up(m, c, power, &node.node, command);
        else if (!row.outbox.generation)
            trouble = barrier_check_sent(m, c, power, &node.node, command);
        if (trouble)
            return trouble;
    }
    return NULL;
}

/* A power action that waits now must have an unserved noderole, none of them in ERROR, and must not
 * have exceeded its deadline. */
static const char *barrier_check_waiting(struct model *m, const struct model_power *power,
                                         bool is_first, const struct command *command,
                                         struct model_unserved unserved)
{
    m->counts.waited += power->id > m->outbox_seen;
    if (is_first && !unserved.first)
        return model_report(
            m, "boot barrier: power action %lld of node %lld waits although its boot is served",
            (long long)power->id, (long long)power->node_id);
    if (power->left_ms && unserved.has_error)
        return model_report(
            m, "boot barrier: power action %lld of node %lld waits for a noderole in ERROR",
            (long long)power->id, (long long)power->node_id);
    if (power->left_ms && command->kind == COMMAND_TICK &&
        command->mono_ms > power->again_ms + power->left_ms && unserved.first)
        return model_report(
            m, "boot barrier: power action %lld of node %lld waits longer than its deadline",
            (long long)power->id, (long long)power->node_id);
    return NULL;
}

/* Copy the start of the wait from the previous step, if the row existed then. */
static void barrier_set_since(const struct model *m, struct model_power *power, int64_t now_ms)
{
    power->since_ms = power->again_ms = now_ms;
    for (uint32_t i = 0; i < m->powers_count; i++) {
        const struct model_power *before = &m->powers[i];
        if (before->id != power->id)
            continue;
        power->since_ms = before->since_ms;
        power->again_ms = before->again_ms < 0 ? now_ms : before->again_ms;
    }
}

void model_restart_deadlines(struct model *m)
{
    for (uint32_t i = 0; i < m->powers_count; i++)
        m->powers[i].again_ms = -1;
}

/* A power action that was created in this step and does not wait. The result of a hook is exempt:
 * one of its commands may change the boot environment after another one requested the power. */
static const char *barrier_check_immediate(struct model *m, const struct core *c,
                                           const struct outbox_record *row,
                                           const struct node_record *node,
                                           const struct command *command)
{
    if (row->id <= m->outbox_seen || !barrier_action_boots(row->detail) || !m->barrier_s ||
        command->kind == COMMAND_OUTBOX_DONE || !model_find_unserved(m, c, node->id).first)
        return NULL;
    return model_report(
        m, "boot barrier: after %s node %lld is switched before boot generation %lld is served",
        command_name(command->kind), (long long)node->id, (long long)node->boot_generation);
}

static bool barrier_is_first_of_node(const struct model *m, uint32_t from, int64_t node_id)
{
    for (uint32_t i = from; i < m->powers_count; i++)
        if (m->powers[i].node_id == node_id)
            return false;
    return true;
}

/* Read the waiting actions as they are now. They are appended to those of the previous step, which
 * barrier_set_since() still needs, and then moved to the front. */
static const char *barrier_read_rows(struct model *m, const struct core *c,
                                     const struct command *command)
{
    const uint32_t before = m->powers_count;
    const char *trouble = NULL;
    for (int64_t id = 0; !trouble && (id = core_next_id(c, TABLE_OUTBOX, id)) != 0;) {
        struct record record, node;
        if (!core_record(c, TABLE_OUTBOX, id, &record) || record.outbox.kind != OUTBOX_POWER ||
            !core_record(c, TABLE_NODE, record.outbox.object_id, &node))
            continue;
        const struct outbox_record *row = &record.outbox;
        if (!row->generation) {
            trouble = command ? barrier_check_immediate(m, c, row, &node.node, command) : NULL;
            continue;
        }
        const struct model_unserved unserved = model_find_unserved(m, c, node.node.id);
        struct model_power power = {.id = id,
                                    .node_id = row->object_id,
                                    .generation = row->generation,
                                    .left_ms = row->left_ms,
                                    .restarts = barrier_action_restarts(row->detail),
                                    .server = row->left_ms ? unserved.first : 0};
        barrier_set_since(m, &power, command ? command->mono_ms : 0);
        if (command)
            trouble = barrier_check_waiting(
                m, &power, barrier_is_first_of_node(m, before, row->object_id), command, unserved);
        model_add_power(m, power);
    }
    for (uint32_t i = before; i < m->powers_count; i++)
        m->powers[i - before] = m->powers[i];
    m->powers_count -= before;
    return trouble;
}

const char *model_follow_boots(struct model *m, const struct core *c, const struct command *command)
{
    const char *trouble = command ? barrier_follow_waiting(m, c, command) : NULL;
    if (!trouble)
        trouble = boot_follow_nodes(m, c, command);
    if (!trouble)
        trouble = barrier_read_rows(m, c, command);
    /* Power actions of the next step have ids above this one. */
    struct record last;
    if (core_record(c, TABLE_COUNTER, TABLE_OUTBOX + 1, &last))
        m->outbox_seen = last.counter.last;
    return trouble;
}

int64_t model_power_waits_for(const struct model *m, int64_t node_id)
{
    for (uint32_t i = 0; i < m->powers_count; i++)
        if (m->powers[i].node_id == node_id && m->powers[i].left_ms)
            return m->powers[i].server;
    return 0;
}
