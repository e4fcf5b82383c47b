#include "core/query/why_chain.h"

#include "core/boot/boot_service.h"
#include "core/machine/grants.h"

/* The part of a chain of causes that explains why the boot of a machine is not served
 * (docs/spec/boot.md, "Served"): the noderole that the machine waits for, and what that noderole
 * waits for: its boot server, its failure, its run, or whatever keeps the run from starting.
 *
 * A noderole that serves boots may itself wait for a boot, so this part is in a chain once at most
 * (has_server). A plan has its first cause only: the rest depends on what boot servers have
 * acknowledged, and on rows that the plan does not watch. The file owns no state, and nothing can
 * fail. */

enum { DUE_COUNTED_MAX = 1000 };

/* "; it has not published 3 machines yet" */
static struct str served_count_text(const struct why_chain *ch, noderole_ix server)
{
    struct boot_due_node due = {0};
    const int64_t id = noderole_at(ch->c, server)->o.id;
    uint32_t count = 0;
    while (count <= DUE_COUNTED_MAX && core_boot_due_after(ch->c, id, due.node_id, &due))
        count++;
    const bool has_more = count > DUE_COUNTED_MAX;
    return STR_CONCAT(ch->arena, STR("; it has not published "),
                      str_from(has_more ? "more than " : ""),
                      str_from_i64(ch->arena, has_more ? DUE_COUNTED_MAX : count),
                      str_from(count == 1 ? " machine yet" : " machines yet"));
}

/* "; its boot server has acknowledged turn 7 of 9" */
static struct str served_turn_text(const struct why_chain *ch, node_ix n,
                                   const struct boot_serving *serving)
{
    const int64_t turn = node_at(ch->c, n)->boot.turn;
    const struct str taken = serving->taken ? STR_CONCAT(ch->arena, STR("turn "),
                                                         str_from_i64(ch->arena, serving->taken))
                                            : STR("no turn");
    if (turn == BOOT_TURN_OPEN)
        return STR_CONCAT(ch->arena, STR("; its boot server has acknowledged "), taken,
                          STR(", and the change is not stored yet"));
    return STR_CONCAT(ch->arena, STR("; its boot server has acknowledged "), taken,
                      serving->taken ? STR(" of ") : STR(", and turn "),
                      str_from_i64(ch->arena, turn), serving->taken ? STR("") : STR(" is needed"));
}

static void served_add_lost(struct why_chain *ch, noderole_ix server, int64_t since)
{
    const node_ix n = noderole_at(ch->c, server)->node;
    why_add(ch, (struct cause){.code = CAUSE_BOOT_SERVER_LOST,
                               .object = TABLE_NODE,
                               .object_id = node_at(ch->c, n)->o.id,
                               .since = since,
                               .text = CAUSE_TEXT(
                                   ch, STR("the boot server of "), why_node_name(ch, n),
                                   since ? STR(" is not connected")
                                         : STR(" has not connected since the daemon started"))});
}

/* An ACTIVE noderole publishes with a run that was enqueued, or is marked to be run when it can be:
 * what keeps it from starting. */
static void served_explain_queued(struct why_chain *ch, noderole_ix server)
{
    const struct noderole *row = noderole_at(ch->c, server);
    const struct node *node = node_at(ch->c, row->node);
    if (row->queued.v)
        why_run(ch, row->queued);
    else if (!row->rerun)
        return;
    if (why_own(ch, server))
        return;
    if (node->stopped || node->probe.v)
        why_node(ch, row->node);
    else if (node->run.v)
        why_run(ch, node->run);
}

static void served_explain(struct why_chain *ch, noderole_ix server,
                           const struct boot_serving *serving)
{
    const uint8_t state = noderole_at(ch->c, server)->state;
    noderole_ix next = server;
    if (serving->is_native && !serving->is_connected && state != NODEROLE_ERROR)
        served_add_lost(ch, server, serving->since_ms);
    else if (state != NODEROLE_ACTIVE)
        while (next.v)
            next = why_one(ch, next);
    else if (!serving->is_native)
        served_explain_queued(ch, server);
}

void why_served_wait(struct why_chain *ch, node_ix n, noderole_ix server)
{
    const struct noderole *row = noderole_at(ch->c, server);
    const struct str text =
        CAUSE_TEXT(ch, why_node_name(ch, n), STR(" is waiting for "), why_noderole_name(ch, server),
                   STR(" to serve boot generation "),
                   str_from_i64(ch->arena, node_at(ch->c, n)->boot_generation));
    struct cause cause = {.code = CAUSE_BOOT_NOT_SERVED,
                          .object = TABLE_NODEROLE,
                          .object_id = row->o.id,
                          .noderole_id = row->o.id,
                          .since = row->since,
                          .text = text};
    if (ch->but_hooks || ch->has_server) {
        why_add(ch, cause);
        return;
    }
    const struct boot_serving serving = boot_service_describe(ch->c, server, n);
    ch->has_server = true;
    cause.since = serving.is_native ? 0 : serving.since_ms;
    if (!ch->brief && !serving.is_native)
        cause.text = STR_CONCAT(ch->arena, text, served_count_text(ch, server));
    else if (!ch->brief && serving.is_connected)
        cause.text = STR_CONCAT(ch->arena, text, served_turn_text(ch, n, &serving));
    why_add(ch, cause);
    served_explain(ch, server, &serving);
}

void why_served_parked(struct why_chain *ch, run_ix ix)
{
    const struct run *run = run_at(ch->c, ix);
    const struct node *node = node_at(ch->c, run->node);
    if (ch->but_hooks || ch->has_server || node->grant_noderole != run->noderole_id ||
        !grant_is_unused(ch->c, run->node))
        return;
    const struct boot_late late = boot_service_late(ch->c, run->node, false);
    if (late.first.v)
        why_served_wait(ch, run->node, late.failed.v ? late.failed : late.first);
}
