#include "sim/world/actors.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "sim/oracle/checks.h"
#include "sim/scenario/transcript.h"
#include "sim/world/operator.h"

/* Machines. Each is up or down, whatever the core believes; it says so when it changes, and its
 * agent says so again when the core believes something else for too long. */

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };

static struct machine *machine(struct world *w, int64_t node_id)
{
    struct machines *m = &w->machines;
    must(node_id > 0 && node_id < 1 << 20);
    if ((uint32_t)node_id >= m->cap) {
        uint32_t wanted = m->cap ? m->cap : 32;
        while (wanted <= (uint32_t)node_id)
            wanted *= 2;
        m->at = realloc(m->at, wanted * sizeof *m->at);
        must(m->at);
        memset(m->at + m->cap, 0, (wanted - m->cap) * sizeof *m->at);
        m->cap = wanted;
    }
    return &m->at[node_id];
}

bool nodes_sim_is_up(const struct world *w, int64_t node_id)
{
    const bool known = node_id > 0 && (uint32_t)node_id < w->machines.cap;
    return !known || !w->machines.at[node_id].known || w->machines.at[node_id].up;
}

static bool is_installing(const struct world *w, int64_t node_id)
{
    struct record record;
    return world_core(w) && core_record(world_core(w), TABLE_NODE, node_id, &record) &&
           str_ends(record.node.bootenv, STR("-install"));
}

/* Its boots are told apart by their ids (X12). */
static struct command word_of(struct world *w, int64_t node_id, bool up)
{
    struct command command = {.kind = COMMAND_NODE_UPDATE, .actor = STR("agent")};
    command.node_update.id = node_id;
    command.node_update.given = GIVEN_NODE_ALIVE | GIVEN_NODE_BOOT_ID;
    command.node_update.alive = up;
    command.node_update.boot_id = operator_keeps(w, "boot-%u", machine(w, node_id)->boots);
    return command;
}

/* The system that went down said so, and it arrives when the next one is up. */
static void report_late(struct world *w, int64_t node_id)
{
    const struct command command = word_of(w, node_id, false);
    world_send(w, prng_between(&w->chance, HOUR, 6 * HOUR), &command);
}

static void report(struct world *w, int64_t node_id, bool up)
{
    struct command command = word_of(w, node_id, up);
    /* What was installed runs from its disk when it comes up. */
    if (up && is_installing(w, node_id)) {
        command.node_update.given |= GIVEN_NODE_BOOTENV;
        command.node_update.bootenv = STR("local");
    }
    world_send(w, prng_between(&w->chance, 1, 30 * SECOND), &command);
}

static void draw_fate_of(struct world *w, int64_t node_id)
{
    if (w->phase == PHASE_SAFETY)
        world_in(w, prng_between(&w->chance, 10 * MINUTE, 6 * HOUR), EVENT_NODE_REPORTS, node_id);
}

void nodes_sim_meet(struct world *w)
{
    const struct core *core = world_core(w);
    if (!core)
        return;
    for (int64_t id = 0; (id = core_next_id(core, TABLE_NODE, id)) != 0;) {
        struct record record;
        if (!core_record(core, TABLE_NODE, id, &record) || record.node.system)
            continue;
        struct machine *m = machine(w, id);
        if (m->known)
            continue;
        *m = (struct machine){.known = true, .up = true};
        report(w, id, true);
        draw_fate_of(w, id);
    }
}

/* The power of a machine is read, and the answer arrives some time later: by then an order may have
 * ended, or the node may be gone. */
static void power_read(struct world *w, const struct node_record *node)
{
    struct command command = {.kind = COMMAND_NODE_POWER_READ, .actor = STR("power")};
    struct node_power_read_command *read = &command.node_power_read;
    read->id = node->id;
    read->order = node->power_order;
    read->driver = prng_chance(&w->chance, 900) ? STR("redfish") : STR("ipmi");
    if (world_fault(w, FAULT_POWER_FAILED)) {
        read->reason = REASON_POWER_TIMEOUT;
        read->text = STR("no answer");
    } else {
        read->state = machine(w, node->id)->up ? POWER_STATE_ON : POWER_STATE_OFF;
    }
    world_send(w, prng_between(&w->chance, 1, 2 * MINUTE), &command);
    if (prng_chance(&w->chance, 300)) /* polled again before the time alone is worth a write */
        world_send(w, prng_between(&w->chance, 1, 3 * MINUTE), &command);
}

/* From time to time a machine falls, flaps, or reminds the core of the truth. */
void nodes_sim_reports(struct world *w, int64_t node_id)
{
    const struct core *core = world_core(w);
    struct record record;
    struct machine *m = machine(w, node_id);
    draw_fate_of(w, node_id);
    if (!core || !core_record(core, TABLE_NODE, node_id, &record))
        return;
    power_read(w, &record.node);
    if (m->up && world_fault(w, FAULT_NODE_DEATH))
        world_in(w, 1, EVENT_NODE_FALLS, node_id);
    else if (m->up && world_fault(w, FAULT_NODE_FLAP)) {
        report(w, node_id, false);
        report(w, node_id, true);
    } else if (record.node.alive != m->up)
        report(w, node_id, m->up);
}

void nodes_sim_falls(struct world *w, int64_t node_id)
{
    struct machine *m = machine(w, node_id);
    if (!m->known || !m->up)
        return;
    m->up = false;
    runner_sim_node_fell(w, node_id);
    report(w, node_id, false);
    if (world_fault(w, FAULT_NODE_LATE_WORD))
        report_late(w, node_id);
    world_in(w, prng_between(&w->chance, MINUTE, 3 * HOUR), EVENT_NODE_RISES, node_id);
}

void nodes_sim_rises(struct world *w, int64_t node_id)
{
    struct machine *m = machine(w, node_id);
    if (!m->known)
        return;
    m->up = true;
    m->boots++;
    report(w, node_id, true);
}

/* ---- power ---- */

static void answer(struct world *w, const struct outbox_record *row, bool failed)
{
    struct command command = {.kind = COMMAND_OUTBOX_DONE, .actor = STR("power")};
    command.outbox_done.outbox_id = row->id;
    command.outbox_done.failed = failed;
    if (failed)
        command.outbox_done.text = STR("no answer");
    if (failed && row->kind == OUTBOX_POWER && row->id % 2) /* others end before a driver asked */
        command.outbox_done.power_driver = STR("redfish");
    if (!failed && row->kind == OUTBOX_POWER && prng_chance(&w->chance, 700)) {
        command.outbox_done.power_state = str_eq(row->detail, STR("off"))      ? POWER_STATE_OFF
                                          : nodes_sim_is_up(w, row->object_id) ? POWER_STATE_ON
                                                                               : POWER_STATE_OFF;
        command.outbox_done.power_driver = STR("redfish");
    }
    world_send(w, prng_between(&w->chance, 1, MINUTE), &command);
}

static void check_durable(struct world *w, const struct outbox_record *row, const char *what)
{
    transcript_effect(w->transcript, what, row->id, row->object_id, row->detail);
    if (!durability_oracle_has_outbox(&w->checks->ledger, row->id))
        world_fail(w, "I5: outbox row %lld is acted on before it is durable", (long long)row->id);
}

/* It is known to be under way before it can be done, or before its answer is lost. */
static void set_about(struct world *w, const struct outbox_record *row)
{
    struct command command = {.kind = COMMAND_OUTBOX_BEGUN, .actor = STR("power")};
    command.outbox_begun.outbox_id = row->id;
    world_send(w, 1, &command);
}

static void act(void *self, const struct outbox_record *row)
{
    struct world *w = self;
    check_durable(w, row, "power");
    if (row->generation)
        world_fail(w, "X1: power %lld is switched while it waits", (long long)row->id);
    const bool failed = world_fault(w, FAULT_POWER_FAILED);
    if (!row->begun)
        set_about(w, row);
    answer(w, row, failed);
    if (failed || w->phase == PHASE_LIVENESS || !machine(w, row->object_id)->known)
        return;
    if (str_eq(row->detail, STR("on")))
        world_in(w, 2 * MINUTE, EVENT_NODE_RISES, row->object_id);
    else if (!str_eq(row->detail, STR("status")))
        world_in(w, SECOND, EVENT_NODE_FALLS, row->object_id);
}

static void probe(void *self, const struct outbox_record *row)
{
    struct world *w = self;
    check_durable(w, row, "probe");
    const bool lies = world_fault(w, FAULT_PROBE_FAILED);
    const bool up = nodes_sim_is_up(w, row->object_id) || w->phase == PHASE_LIVENESS;
    answer(w, row, lies || !up);
}

struct power_port nodes_sim_port(struct world *w)
{
    return (struct power_port){.self = w, .act = act, .probe = probe};
}

void nodes_sim_fini(struct world *w)
{
    free(w->machines.at);
    w->machines = (struct machines){0};
}
