#include "sim/world/actors.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "sim/oracle/checks.h"
#include "sim/scenario/transcript.h"
#include "sim/world/operator.h"

/* Simulated machines. Each is up or down, independent of the state in the core. It reports every
 * change, and its agent repeats the report from time to time while the core has another state.
 * Power actions and probes act on the machine and report the result. */

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };

static struct machine *nodes_sim_machine(struct world *w, int64_t node_id)
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

static bool nodes_sim_is_installing(const struct world *w, int64_t node_id)
{
    struct record record;
    return world_core(w) && core_record(world_core(w), TABLE_NODE, node_id, &record) &&
           str_ends(record.node.bootenv, STR("-install"));
}

/* The report of a machine, with the id of its boot (ADR 0049). */
static struct command nodes_sim_make_report(struct world *w, int64_t node_id, bool up)
{
    struct command command = {.kind = COMMAND_NODE_UPDATE, .actor = STR("agent")};
    command.node_update.id = node_id;
    command.node_update.given = GIVEN_NODE_ALIVE | GIVEN_NODE_BOOT_ID;
    command.node_update.alive = up;
    command.node_update.boot_id =
        operator_format(w, "boot-%u", nodes_sim_machine(w, node_id)->boots);
    return command;
}

static void nodes_sim_report(struct world *w, int64_t node_id, bool up)
{
    struct command command = nodes_sim_make_report(w, node_id, up);
    /* A machine that was being installed boots from its disk. */
    if (up && nodes_sim_is_installing(w, node_id)) {
        command.node_update.given |= GIVEN_NODE_BOOTENV;
        command.node_update.bootenv = STR("local");
    }
    world_send(w, prng_between(&w->rng, 1, 30 * SECOND), &command);
}

static void nodes_sim_schedule_report(struct world *w, int64_t node_id)
{
    if (w->phase == PHASE_SAFETY)
        world_in(w, prng_between(&w->rng, 10 * MINUTE, 6 * HOUR), EVENT_NODE_REPORTS, node_id);
}

void nodes_sim_add_new(struct world *w)
{
    const struct core *core = world_core(w);
    if (!core)
        return;
    for (int64_t id = 0; (id = core_next_id(core, TABLE_NODE, id)) != 0;) {
        struct record record;
        if (!core_record(core, TABLE_NODE, id, &record) || record.node.system)
            continue;
        struct machine *m = nodes_sim_machine(w, id);
        if (m->known)
            continue;
        *m = (struct machine){.known = true, .up = true};
        nodes_sim_report(w, id, true);
        nodes_sim_schedule_report(w, id);
    }
}

/* Read the power state. The result arrives later: by then a power action may have ended, or the
 * node may have been deleted. */
static void nodes_sim_read_power(struct world *w, const struct node_record *node)
{
    struct command command = {.kind = COMMAND_NODE_POWER_READ, .actor = STR("power")};
    struct node_power_read_command *read = &command.node_power_read;
    read->id = node->id;
    read->order = node->power_order;
    read->driver = prng_chance(&w->rng, 900) ? STR("redfish") : STR("ipmi");
    if (world_fault(w, FAULT_POWER_FAILED)) {
        read->reason = REASON_POWER_TIMEOUT;
        read->text = STR("no answer");
    } else {
        read->state = nodes_sim_machine(w, node->id)->up ? POWER_STATE_ON : POWER_STATE_OFF;
    }
    world_send(w, prng_between(&w->rng, 1, 2 * MINUTE), &command);
    if (prng_chance(&w->rng, 300)) /* a second reading before the time alone may be written */
        world_send(w, prng_between(&w->rng, 1, 3 * MINUTE), &command);
}

/* Periodic: the machine may fail or flap; otherwise it repeats its report if the core differs. */
void nodes_sim_reports(struct world *w, int64_t node_id)
{
    const struct core *core = world_core(w);
    struct record record;
    struct machine *m = nodes_sim_machine(w, node_id);
    nodes_sim_schedule_report(w, node_id);
    if (!core || !core_record(core, TABLE_NODE, node_id, &record))
        return;
    nodes_sim_read_power(w, &record.node);
    if (m->up && world_fault(w, FAULT_NODE_DEATH))
        world_in(w, 1, EVENT_NODE_FAILS, node_id);
    else if (m->up && world_fault(w, FAULT_NODE_FLAP)) {
        nodes_sim_report(w, node_id, false);
        nodes_sim_report(w, node_id, true);
    } else if (record.node.alive != m->up)
        nodes_sim_report(w, node_id, m->up);
}

void nodes_sim_fails(struct world *w, int64_t node_id)
{
    struct machine *m = nodes_sim_machine(w, node_id);
    if (!m->known || !m->up)
        return;
    m->up = false;
    runner_sim_node_failed(w, node_id);
    nodes_sim_report(w, node_id, false);
    if (world_fault(w, FAULT_NODE_LATE_WORD)) {
        /* A report of the boot that ended, which arrives after the next boot has been reported. */
        const struct command late = nodes_sim_make_report(w, node_id, false);
        world_send(w, prng_between(&w->rng, HOUR, 6 * HOUR), &late);
    }
    world_in(w, prng_between(&w->rng, MINUTE, 3 * HOUR), EVENT_NODE_RETURNS, node_id);
}

void nodes_sim_returns(struct world *w, int64_t node_id)
{
    struct machine *m = nodes_sim_machine(w, node_id);
    if (!m->known)
        return;
    m->up = true;
    m->boots++;
    nodes_sim_report(w, node_id, true);
}

/* ---- power ---- */

static void nodes_sim_send_result(struct world *w, const struct outbox_record *row, bool failed)
{
    struct command command = {.kind = COMMAND_OUTBOX_DONE, .actor = STR("power")};
    command.outbox_done.outbox_id = row->id;
    command.outbox_done.failed = failed;
    if (failed)
        command.outbox_done.text = STR("no answer");
    if (failed && row->kind == OUTBOX_POWER &&
        row->id % 2) /* the others fail before a driver is called */
        command.outbox_done.power_driver = STR("redfish");
    if (!failed && row->kind == OUTBOX_POWER && prng_chance(&w->rng, 700)) {
        command.outbox_done.power_state = str_eq(row->detail, STR("off"))      ? POWER_STATE_OFF
                                          : nodes_sim_is_up(w, row->object_id) ? POWER_STATE_ON
                                                                               : POWER_STATE_OFF;
        command.outbox_done.power_driver = STR("redfish");
    }
    world_send(w, prng_between(&w->rng, 1, MINUTE), &command);
}

static void nodes_sim_check_durable(struct world *w, const struct outbox_record *row,
                                    const char *what)
{
    transcript_effect(w->transcript, what, row->id, row->object_id, row->detail);
    if (!durability_oracle_has_outbox(&w->checks->ledger, row->id))
        world_fail(w, "I5: outbox row %lld is delivered before it is durable", (long long)row->id);
}

static void nodes_sim_act(void *self, const struct outbox_record *row)
{
    struct world *w = self;
    nodes_sim_check_durable(w, row, "power");
    if (row->generation)
        world_fail(w, "boot barrier: power action %lld is sent while it still waits",
                   (long long)row->id);
    const bool failed = world_fault(w, FAULT_POWER_FAILED);
    if (!row->begun) {
        /* Report that the action was started, before its result can arrive or be lost. */
        struct command begun = {.kind = COMMAND_OUTBOX_BEGUN, .actor = STR("power")};
        begun.outbox_begun.outbox_id = row->id;
        world_send(w, 1, &begun);
    }
    nodes_sim_send_result(w, row, failed);
    if (failed || w->phase == PHASE_LIVENESS || !nodes_sim_machine(w, row->object_id)->known)
        return;
    if (str_eq(row->detail, STR("on")))
        world_in(w, 2 * MINUTE, EVENT_NODE_RETURNS, row->object_id);
    else if (!str_eq(row->detail, STR("status")))
        world_in(w, SECOND, EVENT_NODE_FAILS, row->object_id);
}

static void nodes_sim_probe(void *self, const struct outbox_record *row)
{
    struct world *w = self;
    nodes_sim_check_durable(w, row, "probe");
    const bool lies = world_fault(w, FAULT_PROBE_FAILED);
    const bool up = nodes_sim_is_up(w, row->object_id) || w->phase == PHASE_LIVENESS;
    nodes_sim_send_result(w, row, lies || !up);
}

struct power_port nodes_sim_port(struct world *w)
{
    return (struct power_port){.self = w, .act = nodes_sim_act, .probe = nodes_sim_probe};
}

void nodes_sim_fini(struct world *w)
{
    free(w->machines.at);
    w->machines = (struct machines){0};
}
