#include "sim/model/model_private.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash/hash.h"

/* Grants of installations (ADR 0089), from the commands and the states of noderoles alone.
 *
 * The state of each grant is predicted from the command and compared with the record of its node:
 * who owns it, which ticket has used it, and why it is void. The answer to a machine is compared
 * with the prediction too; it depends on the node that has the MAC of the machine. The time at
 * which an installer becomes silent is known within bounds only, because it starts again at a load.
 *
 * The commands in the result of a hook are not followed: such a step is compared with the rules
 * that hold for every step, and then adopted.
 *
 * The violations begin with "I20:". */

enum { MAC_LEN = 17 };

/* ---- prediction ---- */

static bool grant_is_open(const struct model_grant *g)
{
    return g->state == GRANT_UNUSED || g->state == GRANT_USED;
}

static void grant_end(struct model_grant *g, enum grant_void why)
{
    g->state = GRANT_VOID;
    g->why = why;
    g->ticket = 0;
}

static void grant_none(struct model_grant *g)
{
    g->state = GRANT_NONE;
    g->why = GRANT_VOID_NONE;
    g->owner = 0;
    g->ticket = 0;
}

/* The environment is set, by the parked run of noderole `by`, or without a run (0). */
static void grant_follow_bootenv(struct model_grant *g, struct str bootenv, int64_t by)
{
    const bool installs = str_ends(bootenv, STR("-install"));
    if (hash64(bootenv, 0) == g->bootenv && !(by && installs && !grant_is_open(g)))
        return;
    g->bootenv = hash64(bootenv, 0);
    g->installs = installs;
    g->generation++;
    if (g->stamp < g->generation)
        g->stamp = 0;
    if (installs && !by) {
        if (grant_is_open(g))
            grant_end(g, GRANT_VOID_REPLACED);
        return;
    }
    grant_none(g);
    if (installs) {
        g->state = GRANT_UNUSED;
        g->owner = by;
    }
}

int64_t model_grant_refused_run(const struct model *m, const struct node_update_command *update)
{
    if (!(update->given & GIVEN_NODE_PARKED_RUN) || !(update->given & GIVEN_NODE_BOOTENV) ||
        !str_ends(update->bootenv, STR("-install")) || update->parked_run <= 0 ||
        update->parked_run >= (int64_t)m->run_owner_count)
        return 0;
    const struct model_noderole *nr = model_find_noderole(m, m->run_owner[update->parked_run]);
    return nr && nr->barred ? m->run_owner[update->parked_run] : 0;
}

static void grant_follow_update(struct model *m, struct model_grant *g, int64_t node_id,
                                const struct node_update_command *update)
{
    if (update->given & GIVEN_NODE_BOOT_ID && model_boot_is_old(m, node_id, update->boot_id))
        return;
    if (update->given & GIVEN_NODE_STAMP && update->stamp_generation >= g->generation &&
        update->stamp_generation > g->stamp)
        g->stamp = update->stamp_generation;
    if (!(update->given & GIVEN_NODE_BOOTENV) || model_grant_refused_run(m, update))
        return;
    int64_t by = update->given & GIVEN_NODE_PARKED_RUN ? m->run_owner[update->parked_run] : 0;
    if (by && m->noderoles[by].node_id != node_id)
        by = 0;
    grant_follow_bootenv(g, update->bootenv, by);
}

/* The text is the MAC, in either case, with colons or dashes. */
static bool grant_mac_is(struct str text, int64_t mac)
{
    char written[24];
    bool is_same = text.len == MAC_LEN;
    for (uint32_t i = 0; i < 6; i++)
        snprintf(written + 3 * i, sizeof written - 3 * i,
                 "%02x:", (unsigned)(mac >> (40 - 8 * i)) & 255);
    for (uint32_t i = 0; i < MAC_LEN && is_same; i++)
        is_same = written[i] == (text.at[i] == '-' ? ':' : tolower((unsigned char)text.at[i]));
    return is_same;
}

/* The node that has the MAC; 0 = none. That no other one has it is checked by model_addresses.c. */
static int64_t grant_node_of(const struct core *c, struct str mac)
{
    struct record nic;
    for (int64_t id = 0; (id = core_next_id(c, TABLE_NIC, id)) != 0;)
        if (core_record(c, TABLE_NIC, id, &nic) && grant_mac_is(mac, nic.nic.mac))
            return nic.nic.node_id;
    return 0;
}

static enum grant_answer grant_follow_use(struct model *m, struct model_grant *g,
                                          const struct core *c, const struct command *command)
{
    const struct grant_use_command *use = &command->grant_use;
    const uint64_t ticket = hash64(use->ticket, 0);
    if (use->generation != g->generation)
        return GRANT_STALE;
    if (grant_node_of(c, use->mac) != use->node_id) {
        m->counts.other_macs++;
        return GRANT_STALE;
    }
    if (!grant_is_open(g) || (g->state == GRANT_USED && g->ticket != ticket))
        return GRANT_LOCAL;
    g->state = GRANT_USED;
    g->ticket = ticket;
    g->since_ms = g->again_ms = command->mono_ms;
    return GRANT_GRANTED;
}

/* ---- time ---- */

/* With a deadline that is not certain the record decides. */
static const char *grant_follow_tick(struct model *m, struct model_grant *g, int64_t node_id,
                                     const struct node_record *node, int64_t mono_ms)
{
    const int64_t wait_ms = (int64_t)m->install_wait_s * 1000;
    const bool is_silent = node->grant_void == GRANT_VOID_SILENT;
    if (g->state != GRANT_USED)
        return NULL;
    if (is_silent && (!wait_ms || mono_ms < g->since_ms + wait_ms))
        return model_report(m, "I20: the installer of node %lld is silent before its time",
                            (long long)node_id);
    if (!is_silent && wait_ms && mono_ms >= g->again_ms + wait_ms)
        return model_report(m, "I20: the installer of node %lld is not silent after its time",
                            (long long)node_id);
    if (is_silent)
        grant_end(g, GRANT_VOID_SILENT);
    return NULL;
}

void model_restart_installs(struct model *m)
{
    for (uint32_t i = 0; i < m->grants_count; i++)
        m->grants[i].again_ms = -1;
}

/* ---- comparison ---- */

static enum grant_state grant_state_of_record(const struct node_record *node)
{
    return !node->grant_noderole    ? GRANT_NONE
           : node->grant_void       ? GRANT_VOID
           : node->grant_ticket.len ? GRANT_USED
                                    : GRANT_UNUSED;
}

static void grant_adopt(struct model_grant *g, const struct node_record *node)
{
    g->exists = true;
    g->installs = str_ends(node->bootenv, STR("-install"));
    g->bootenv = hash64(node->bootenv, 0);
    g->generation = node->boot_generation;
    g->state = grant_state_of_record(node);
    g->why = (enum grant_void)node->grant_void;
    g->owner = node->grant_noderole;
    g->ticket = node->grant_ticket.len ? hash64(node->grant_ticket, 0) : 0;
    g->stamp = node->stamp_generation;
}

/* What holds whatever the step was: in one generation a grant only goes from unused to used to
 * void, and no other ticket gets it. */
static const char *grant_check_always(struct model *m, const struct model_grant *before,
                                      const struct node_record *node)
{
    const enum grant_state now = grant_state_of_record(node);
    const uint64_t ticket = node->grant_ticket.len ? hash64(node->grant_ticket, 0) : 0;
    if (node->boot_generation < before->generation)
        return model_report(m, "I20: the boot generation of node %lld decreased",
                            (long long)node->id);
    if (node->boot_generation != before->generation)
        return NULL;
    if (now < before->state || (before->ticket && ticket && ticket != before->ticket))
        return model_report(m, "I20: the grant of node %lld in generation %lld came back",
                            (long long)node->id, (long long)node->boot_generation);
    return NULL;
}

static const char *grant_compare(struct model *m, const struct model_grant *g,
                                 const struct node_record *node, const struct command *command)
{
    const enum grant_state now = grant_state_of_record(node);
    const uint64_t ticket = node->grant_ticket.len ? hash64(node->grant_ticket, 0) : 0;
    if (now != g->state || node->grant_void != (uint32_t)g->why ||
        (g->state != GRANT_NONE && node->grant_noderole != g->owner) || ticket != g->ticket)
        return model_report(m, "I20: after %s the grant of node %lld is %s (%u), should be %s (%u)",
                            command_name(command->kind), (long long)node->id, grant_state_name(now),
                            node->grant_void, grant_state_name(g->state), (unsigned)g->why);
    if (node->boot_generation != g->generation || node->stamp_generation != g->stamp)
        return model_report(
            m, "I20: after %s node %lld is at generation %lld and stamp %lld, not %lld and %lld",
            command_name(command->kind), (long long)node->id, (long long)node->boot_generation,
            (long long)node->stamp_generation, (long long)g->generation, (long long)g->stamp);
    return NULL;
}

/* The owner was deleted, proposed or failed. An annealing step may fail a noderole and then block
 * it, so there the record may be ahead. */
static void grant_follow_owner(struct model *m, struct model_grant *g,
                               const struct node_record *node, const struct command *command)
{
    if (!grant_is_open(g))
        return;
    const struct model_noderole *owner = model_find_noderole(m, g->owner);
    const enum grant_void seen = (enum grant_void)node->grant_void;
    if (!owner)
        grant_end(g, GRANT_VOID_DELETED);
    else if (owner->state == NODEROLE_PROPOSED)
        grant_end(g, GRANT_VOID_PROPOSED);
    else if (owner->state == NODEROLE_ERROR ||
             (command->kind == COMMAND_ANNEAL && seen == GRANT_VOID_ERROR))
        grant_end(g, GRANT_VOID_ERROR);
}

static const char *grant_follow_node(struct model *m, const struct core *c,
                                     const struct node_record *node, const struct command *command,
                                     const struct outcome *outcome)
{
    struct model_grant *g = model_grant_of(m, node->id);
    const struct model_grant before = *g;
    const char *trouble = NULL;
    if (!g->exists || !command) {
        *g = (struct model_grant){.since_ms = command ? command->mono_ms : 0, .again_ms = -1};
        grant_adopt(g, node);
        return g->state == GRANT_NONE || !command
                   ? NULL
                   : model_report(m, "I20: a new node %lld has a grant", (long long)node->id);
    }
    if (g->again_ms < 0)
        g->again_ms = command->mono_ms;
    trouble = grant_check_always(m, &before, node);
    if (trouble)
        return trouble;
    if (command->kind == COMMAND_OUTBOX_DONE && !str_is_empty(command->outbox_done.hook_commands)) {
        grant_adopt(g, node);
        return NULL;
    }

    /* The command, then what became of the owner. */
    if (command->kind == COMMAND_NODE_UPDATE && command->node_update.id == node->id) {
        grant_follow_update(m, g, node->id, &command->node_update);
    } else if (command->kind == COMMAND_NODE_REDEPLOY && command->node_redeploy.id == node->id) {
        grant_follow_bootenv(g, STR("sledgehammer"), 0);
        if (g->stamp) {
            g->generation = g->stamp + 1;
            g->stamp = 0;
        }
    } else if (command->kind == COMMAND_NODE_DEBUG && command->node_debug.id == node->id) {
        grant_follow_bootenv(g, STR("sledgehammer"), 0);
    } else if (command->kind == COMMAND_NODE_UNDEBUG && command->node_undebug.id == node->id) {
        grant_follow_bootenv(g, STR("local"), 0);
    } else if (command->kind == COMMAND_GRANT_USE && command->grant_use.node_id == node->id) {
        const enum grant_answer wanted = grant_follow_use(m, g, c, command);
        const struct str doc = grant_answer_doc(wanted);
        if (command->grant_use.mac.len != MAC_LEN)
            return model_report(m, "I20: node %lld is answered without a MAC", (long long)node->id);
        if (!str_eq(outcome->doc, doc))
            return model_report(m, "I20: node %lld is answered %.*s, should be %.*s",
                                (long long)node->id, STR_FMT_ARGS(outcome->doc), STR_FMT_ARGS(doc));
        m->counts.answers[wanted]++;
    } else if (command->kind == COMMAND_TICK) {
        trouble = grant_follow_tick(m, g, node->id, node, command->mono_ms);
    } else if (command->kind == COMMAND_SETTINGS_UPDATE) {
        g->since_ms = command->mono_ms < g->since_ms ? command->mono_ms : g->since_ms;
        g->again_ms = command->mono_ms;
    }
    if (trouble)
        return trouble;
    grant_follow_owner(m, g, node, command);
    if (g->state == GRANT_VOID && before.state != GRANT_VOID)
        m->counts.voids[g->why]++;
    return grant_compare(m, g, node, command);
}

const char *model_follow_grants(struct model *m, const struct core *c,
                                const struct command *command, const struct outcome *outcome)
{
    const char *trouble = NULL;
    for (uint32_t i = 0; i < m->grants_count; i++)
        if (m->grants[i].exists && core_next_id(c, TABLE_NODE, (int64_t)i - 1) != (int64_t)i)
            m->grants[i] = (struct model_grant){0};
    for (int64_t id = 0; !trouble && (id = core_next_id(c, TABLE_NODE, id)) != 0;) {
        struct record record;
        if (core_record(c, TABLE_NODE, id, &record))
            trouble = grant_follow_node(m, c, &record.node, command, outcome);
    }
    return trouble;
}

/* ---- import ---- */

const char *model_import(struct model *m, const struct core *c)
{
    static const struct command imported = {.kind = COMMAND_TICK};
    const char *trouble = NULL;
    model_import_served(m, c);
    for (uint32_t i = 0; i < m->grants_count; i++)
        if (grant_is_open(&m->grants[i])) {
            grant_end(&m->grants[i], GRANT_VOID_IMPORTED);
            m->counts.voids[GRANT_VOID_IMPORTED]++;
        }
    MODEL_NODEROLES(m, id)
    {
        if (m->noderoles[id].state != NODEROLE_PROPOSED)
            m->noderoles[id].barred = true;
    }
    for (int64_t id = 0; !trouble && (id = core_next_id(c, TABLE_NODE, id)) != 0;) {
        struct record record;
        if (core_record(c, TABLE_NODE, id, &record))
            trouble = grant_compare(m, model_grant_of(m, id), &record.node, &imported);
    }
    MODEL_NODEROLES(m, id)
    {
        struct record record;
        if (!trouble && core_record(c, TABLE_NODEROLE, id, &record) &&
            (record.noderole.grant_barred != 0) != m->noderoles[id].barred)
            trouble = model_report(m, "I20: noderole %lld is barred from grants, or should be",
                                   (long long)id);
    }
    return trouble;
}

/* ---- why ---- */

enum cause_code model_why_install(const struct model *m, int64_t node_id)
{
    if (node_id >= (int64_t)m->grants_count || !m->grants[node_id].installs)
        return CAUSE_NOT_ALIVE;
    const struct model_grant *g = &m->grants[node_id];
    if (g->stamp || (g->state == GRANT_VOID && g->why == GRANT_VOID_SILENT))
        return CAUSE_INSTALL_STOPPED;
    return grant_is_open(g) ? CAUSE_NOT_ALIVE : CAUSE_NO_GRANT;
}
