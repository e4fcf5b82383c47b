#include "sim/world/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text/buf.h"
#include "sim/oracle/checks.h"
#include "sim/scenario/event_queue.h"
#include "sim/scenario/transcript.h"
#include "sim/world/actors.h"
#include "sim/world/world_gen.h"

/* The main loop of a world: simulated time, the daemon, its crashes, and the calls of the oracles.
 *
 * One iteration delivers the events that are due and advances the turn once. Time advances only
 * when the turn is idle or waits for the store: to the next event or to the deadline of the turn.
 * The oracles are called by the observers of the turn: after every step, after every durable batch,
 * and at the points of the turn where a core was loaded or a batch collected. The first violation
 * ends the world; the callback for crash points then returns true, so that the turn stops at once.
 *
 * A crash frees the turn and drops or keeps the batch that was being committed. Events in flight
 * still arrive at the next daemon, as the results of a real runner would. */

enum {
    BEGIN_MS = 1000,
    STORE_MS = 4,      /* between two polls of a busy store */
    SPINS_MAX = 20000, /* iterations without progress of time */
    ROUNDS_MAX = 60,   /* rounds of repair */
    ROUND_MS = 3 * 3600 * 1000,
    CRASHES_MAX = 14,
    PLAN_HITS_MAX = 600, /* points after which a crash that did not happen is planned again */
};

/* Wall clock at the start of a world, ms since 1970. */
#define BEGIN_WALL_MS 1700000000000

/* ---- functions for the actors ---- */

void world_fail(struct world *w, const char *format, ...)
{
    if (w->failure[0])
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(w->failure, sizeof w->failure, format, args);
    va_end(args);
}

static bool world_has_failed(const struct world *w)
{
    return w->failure[0] != 0;
}

bool world_fault(struct world *w, enum sim_fault fault)
{
    if (w->phase != PHASE_SAFETY || !prng_chance(&w->rng, w->scenario.rate[fault]))
        return false;
    w->counts.faults[fault]++;
    return true;
}

void world_at(struct world *w, int64_t at_ms, enum event_kind kind, int64_t id, struct str bytes)
{
    event_queue_add(&w->events,
                    (struct event){.at_ms = at_ms, .kind = kind, .id = id, .bytes = bytes});
}

void world_in(struct world *w, int64_t delay_ms, enum event_kind kind, int64_t id)
{
    world_at(w, w->mono_ms + delay_ms, kind, id, (struct str){0});
}

struct str world_encode(struct world *w, const struct command *command)
{
    struct buf b = buf_in(&w->arena);
    command_encode(command, &b);
    return buf_str(&b);
}

void world_send_bytes(struct world *w, int64_t delay_ms, struct str bytes)
{
    world_at(w, w->mono_ms + delay_ms, EVENT_COMMAND, 0, bytes);
}

void world_send(struct world *w, int64_t delay_ms, const struct command *command)
{
    world_send_bytes(w, delay_ms, world_encode(w, command));
}

const struct core *world_core(const struct world *w)
{
    return w->turn ? turn_core(w->turn) : NULL;
}

static void world_check(struct world *w, const char *trouble)
{
    if (trouble)
        world_fail(w, "%s", trouble);
}

/* ---- clock ---- */

int64_t world_wall_ms(const struct world *w)
{
    return BEGIN_WALL_MS + w->mono_ms + w->wall_offset_ms;
}

static int64_t world_clock_now(void *self)
{
    return world_wall_ms(self);
}

static int64_t world_clock_mono(void *self)
{
    const struct world *w = self;
    return w->mono_ms;
}

static uint64_t world_clock_random(void *self)
{
    struct world *w = self;
    return prng_next(&w->rng) | 1;
}

static void world_clock_jump(struct world *w)
{
    static const int64_t jumps[] = {1000, 60000, 3600000, 86400000, 400 * 86400000ll};
    const int64_t jump = jumps[prng_below(&w->rng, 5)];
    if (world_fault(w, FAULT_CLOCK_FORWARD))
        w->wall_offset_ms += jump;
    if (world_fault(w, FAULT_CLOCK_BACK))
        w->wall_offset_ms -= jump;
    if (w->phase == PHASE_SAFETY)
        world_in(w, prng_between(&w->rng, 60000, 1800000), EVENT_CLOCK_JUMPS, 0);
}

/* ---- replies and observers of the turn ---- */

static void world_reply_outcome(void *self, int64_t request, const struct outcome *outcome,
                                int64_t turn)
{
    struct world *w = self;
    transcript_effect(w->transcript, "reply", request, (int64_t)outcome->verdict, (struct str){0});
    world_check(w, checks_acknowledged(w->checks, turn, w->store));
    if (outcome->verdict == VERDICT_DONE)
        world_check(w, grant_oracle_reply(&w->checks->grants, request, outcome->doc));
}

static void world_reply_failed(void *self, int64_t request, err why)
{
    struct world *w = self;
    transcript_effect(w->transcript, "failed", request, (int64_t)why, (struct str){0});
}

static void world_watch_stepped(void *self, const struct command *command,
                                const struct outcome *outcome)
{
    struct world *w = self;
    transcript_command(w->transcript, command, outcome);
    if (!world_has_failed(w))
        world_check(w, checks_stepped(w->checks, turn_core(w->turn), command, outcome));
}

static void world_watch_part(void *self, const struct command *part, const struct outcome *outcome)
{
    struct world *w = self;
    if (!world_has_failed(w))
        world_check(w, checks_part(w->checks, turn_core(w->turn), part, outcome));
}

static void world_watch_durable(void *self, const struct batch *batch)
{
    struct world *w = self;
    transcript_add(w->transcript, MARK_DURABLE, batch->turn, (struct str){0});
    durability_oracle_batch(&w->checks->ledger, batch);
    const struct arena_mark mark = arena_mark(&w->scratch);
    world_check(w, run_history_oracle_batch(&w->checks->book, batch, w->store, &w->scratch));
    world_check(w, host_key_oracle_batch(&w->checks->keys, batch));
    world_check(w, address_oracle_batch(&w->checks->addresses, batch));
    arena_rewind(&w->scratch, mark);
    if (!world_has_failed(w))
        world_check(
            w, checks_durable(w->checks, turn_core(w->turn), batch->turn, w->store, w->mono_ms));
}

/* ---- crashes ---- */

static void world_plan_crash(struct world *w)
{
    static const enum turn_point while_recovering[] = {
        TURN_POINT_LEAD_BEFORE,        TURN_POINT_LEAD_AFTER,       TURN_POINT_LOAD_BEFORE,
        TURN_POINT_LOAD_RECORD,        TURN_POINT_LOAD_AFTER,       TURN_POINT_RESUME_BEFORE,
        TURN_POINT_EFFECT_AFTER,       TURN_POINT_RESUME_AFTER,     TURN_POINT_FOUND_AFTER,
        TURN_POINT_BOOT_LOADED_BEFORE, TURN_POINT_BOOT_LOADED_AFTER};
    const uint64_t all = sizeof while_recovering / sizeof *while_recovering;
    if (w->recovering) {
        w->plan.point = while_recovering[prng_below(&w->rng, all)];
        w->plan.visits = (uint32_t)prng_below(&w->rng, 3);
    } else {
        w->plan.point = (enum turn_point)prng_below(&w->rng, TURN_POINT_COUNT);
        w->plan.visits = (uint32_t)prng_below(&w->rng, 40);
    }
    w->plan.patience = PLAN_HITS_MAX;
    /* Points that are passed rarely: crash at the first visit, and wait longer for it. */
    static const enum turn_point rare[] = {TURN_POINT_FOUND_AFTER, TURN_POINT_TICK_BEFORE,
                                           TURN_POINT_TICK_AFTER,  TURN_POINT_POLL_FAILED,
                                           TURN_POINT_ASK_BEFORE,  TURN_POINT_ASK_AFTER};
    for (uint32_t i = 0; i < sizeof rare / sizeof *rare; i++)
        if (w->plan.point == rare[i]) {
            w->plan.visits = 0;
            w->plan.patience = 20 * PLAN_HITS_MAX;
        }
}

static enum turn_point world_point_of(const char *name)
{
    /* The turn passes the result of turn_point_name(): compare pointers, at every point. */
    for (uint32_t i = 0; i < TURN_POINT_COUNT; i++)
        if (name == turn_point_name((enum turn_point)i))
            return (enum turn_point)i;
    impossible("unknown point of the turn");
}

static bool world_should_crash(struct world *w, enum turn_point point)
{
    if (w->phase != PHASE_SAFETY || !w->scenario.rate[FAULT_CRASH] || !w->crashes_left)
        return false;
    if (w->plan.patience == 0)
        world_plan_crash(w);
    w->plan.patience--;
    if (point != w->plan.point)
        return false;
    if (w->plan.visits > 0) {
        w->plan.visits--;
        return false;
    }
    w->crashes_left--;
    w->counts.points[point]++;
    w->counts.faults[w->recovering ? FAULT_CRASH_AGAIN : FAULT_CRASH]++;
    return true;
}

/* Draw the store fault for the batch that is about to be submitted. */
static void world_draw_store_fault(struct world *w)
{
    static const err errors[] = {ERR_IO, ERR_NO_SPACE, ERR_UNAVAILABLE};
    struct memory_faults *faults = &w->session.faults;
    *faults = (struct memory_faults){0};
    if (world_fault(w, FAULT_STORE_REFUSED)) {
        faults->fate = prng_chance(&w->rng, 500) ? MEMORY_REFUSED : MEMORY_REFUSED_LATE;
        faults->error = errors[prng_below(&w->rng, 3)];
        faults->lead_fails = (uint32_t)prng_below(&w->rng, 3);
    }
    if (world_fault(w, FAULT_STORE_UNANSWERED)) {
        faults->fate = prng_chance(&w->rng, 500) ? MEMORY_UNANSWERED_IN : MEMORY_UNANSWERED_OUT;
        faults->load_fails = (uint32_t)prng_below(&w->rng, 2);
        faults->load_reaches = (uint32_t)prng_below(&w->rng, 40);
    }
    if (world_fault(w, FAULT_STORE_LATE))
        faults->late = (uint32_t)prng_between(&w->rng, 1, 400);
}

/* Called at every point of the turn. True: crash here. Points are also used to call the oracles and
 * to record loads and batches in the transcript. */
static bool world_on_turn_point(void *self, const char *name)
{
    struct world *w = self;
    const enum turn_point point = world_point_of(name);
    if (world_has_failed(w))
        return true;
    const struct core *core = turn_core(w->turn);
    if (point == TURN_POINT_COLLECT_AFTER) {
        const int64_t turn = turn_durable(w->turn) + 1;
        transcript_add(w->transcript, MARK_BATCH, turn, (struct str){0});
        world_check(w, checks_collected(w->checks, core, turn));
    }
    if (point == TURN_POINT_LOAD_AFTER || point == TURN_POINT_FOUND_AFTER) {
        const int64_t turn = memory_store_mark(w->store).turn;
        struct buf now = buf_in(&w->arena);
        buf_put_i64(&now, world_clock_now(w));
        buf_put_c(&now, ' ');
        buf_put_u64(&now, w->scenario.boot_part);
        if (w->is_imported)
            transcript_add(w->transcript, MARK_IMPORT, turn, (struct str){0});
        transcript_add(w->transcript, MARK_RELOAD, turn, buf_str(&now));
        durability_oracle_reload(&w->checks->ledger, w->store);
        run_history_oracle_reload(&w->checks->book, w->store);
        host_key_oracle_reload(&w->checks->keys, w->store);
        world_check(w, address_oracle_reload(&w->checks->addresses, w->store));
        world_check(w, checks_begun(w->checks, core, turn, w->is_imported && turn > 0));
        w->is_imported = false;
    }
    if (point == TURN_POINT_SUBMIT_BEFORE)
        world_draw_store_fault(w);
    return world_has_failed(w) || world_should_crash(w, point);
}

/* ---- daemon and main loop ---- */

static void world_daemon_start(struct world *w)
{
    const struct turn_ports ports = {
        .store = memory_session_port(&w->session),
        .clock = {.self = w,
                  .now_ms = world_clock_now,
                  .mono_ms = world_clock_mono,
                  .random = world_clock_random},
        .runner = runner_sim_port(w),
        .hooks = hooks_sim_port(w),
        .power = nodes_sim_port(w),
        .boot = boot_sim_port(w),
        .reply = {.self = w, .outcome = world_reply_outcome, .failed = world_reply_failed},
        .watch = {.self = w,
                  .stepped = world_watch_stepped,
                  .durable = world_watch_durable,
                  .part = world_watch_part},
        .crash = {.self = w, .crash = world_on_turn_point},
        .deletion_rows = SIM_DELETION_ROWS,
        .boot_part = w->scenario.boot_part,
    };
    w->turn = turn_new(&ports);
    w->started = false;
}

static void world_daemon_crash(struct world *w)
{
    const bool loses_tail = w->session.busy && world_fault(w, FAULT_STORE_LOST_TAIL);
    turn_free(w->turn);
    boot_sim_daemon_crashed(w);
    memory_session_crash(&w->session, !loses_tail);
    if (world_fault(w, FAULT_STORE_IMPORTED)) {
        memory_store_void_grants(w->store);
        w->is_imported = true;
    }
    w->turn = NULL;
    w->crashes++;
    w->recovering = world_fault(w, FAULT_CRASH_AGAIN) || prng_chance(&w->rng, 200);
    world_plan_crash(w);
    w->mono_ms += prng_between(&w->rng, 10, 30000);
    world_daemon_start(w);
}

static void world_submit(struct world *w, struct str bytes)
{
    struct command command;
    uint32_t at = 0;
    const struct arena_mark mark = arena_mark(&w->scratch);
    if (command_decode(&w->scratch, bytes, &at, &command) != OK)
        impossible("a stored command cannot be decoded");
    const err e = turn_submit(w->turn, &command);
    /* Commands without a request id come from machines and runners, which send them again. */
    if (e != OK && command.request == 0)
        world_send_bytes(w, prng_between(&w->rng, 1000, 20000), bytes);
    arena_rewind(&w->scratch, mark);
}

static void world_dispatch(struct world *w, const struct event *event)
{
    switch ((enum event_kind)event->kind) {
    case EVENT_COMMAND: world_submit(w, event->bytes); return;
    case EVENT_ANSWERS: hooks_sim_answer(w, event->id, event->bytes); return;
    case EVENT_OPERATOR: operator_acts(w); return;
    case EVENT_ATTEMPT_ENDS: runner_sim_ends(w, event->id, event->bytes); return;
    case EVENT_RESEND: runner_sim_resend(w, event->id); return;
    case EVENT_NODE_FAILS: nodes_sim_fails(w, event->id); return;
    case EVENT_NODE_RETURNS: nodes_sim_returns(w, event->id); return;
    case EVENT_NODE_REPORTS: nodes_sim_reports(w, event->id); return;
    case EVENT_NODE_ASKS: operator_ask_installer(w, event->id); return;
    case EVENT_RUNNER_CRASHES: runner_sim_crash(w); return;
    case EVENT_CLOCK_JUMPS: world_clock_jump(w); return;
    case EVENT_BOOT_CONNECTS: boot_sim_connect(w, event->id); return;
    case EVENT_BOOT_READS: boot_sim_read(w, event->id); return;
    case EVENT_BOOT_ARRIVES: boot_sim_arrives(w, event->id, event->bytes); return;
    case EVENT_BOOT_LOST: boot_sim_notice_loss(w, event->id); return;
    case EVENT_BOOT_TROUBLE: boot_sim_trouble(w, event->id); return;
    case EVENT_BOOT_TAKEN: boot_sim_taken(w, event->id, event->bytes); return;
    case EVENT_BOOT_NOTIFIES: boot_sim_notifies(w, event->id); return;
    }
}

/* Idle: advance time to the next event or deadline of the turn, but not beyond `until_ms`. */
static void world_advance_time(struct world *w, int64_t until_ms)
{
    int64_t next = until_ms;
    const int64_t event_ms = event_queue_next_ms(&w->events);
    const int64_t turn_ms = turn_next_ms(w->turn);
    if (event_ms >= 0 && event_ms < next)
        next = event_ms;
    if (turn_ms >= 0 && turn_ms < next)
        next = turn_ms;
    if (next > w->mono_ms)
        w->mono_ms = next;
    else
        w->mono_ms += turn_ms >= 0 && turn_ms <= w->mono_ms ? 1 : 0;
}

/* One iteration. False: the daemon is idle until `until_ms`, or a violation was found. */
static bool world_iterate(struct world *w, int64_t until_ms)
{
    struct event event;
    while (!world_has_failed(w) && event_queue_next_ms(&w->events) >= 0 &&
           event_queue_next_ms(&w->events) <= w->mono_ms && event_queue_take(&w->events, &event))
        world_dispatch(w, &event);
    arena_reset(&w->scratch);
    const enum turn_status status = w->started ? turn_advance(w->turn) : turn_start(w->turn);
    w->started = true;
    switch (status) {
    case TURN_AGAIN: w->recovering = false; return true;
    case TURN_WAITING: w->mono_ms += STORE_MS; return true;
    case TURN_DOWN:
    case TURN_QUIET:
        if (w->mono_ms >= until_ms)
            return false;
        world_advance_time(w, until_ms);
        return true;
    case TURN_CRASHED:
        if (!world_has_failed(w))
            world_daemon_crash(w);
        return !world_has_failed(w);
    case TURN_STOPPED: world_fail(w, "I6: the only daemon was fenced as if another one led");
    }
    return false;
}

static void world_run_until(struct world *w, int64_t until_ms)
{
    int64_t last_ms = w->mono_ms;
    uint32_t spins = 0;
    while (!world_has_failed(w) && world_iterate(w, until_ms)) {
        spins = w->mono_ms == last_ms ? spins + 1 : 0;
        last_ms = w->mono_ms;
        if (spins > SPINS_MAX)
            world_fail(w, "I7: the turn does not become idle within %d iterations", SPINS_MAX);
    }
}

/* ---- phases ---- */

static void world_init(struct world *w, const struct scenario *scenario)
{
    w->scenario = *scenario;
    prng_init(&w->rng, scenario->seed);
    w->mono_ms = BEGIN_MS;
    w->crashes_left = scenario->rate[FAULT_CRASH] ? prng_below(&w->rng, CRASHES_MAX) + 1 : 0;
    w->store = memory_store_new();
    memory_session_init(&w->session, w->store);
    w->recovering = prng_chance(&w->rng, 200);
    world_plan_crash(w);
    boot_sim_init(w);
    world_daemon_start(w);
    world_gen_begin(w);
    world_in(w, prng_between(&w->rng, 1000, 60000), EVENT_OPERATOR, 0);
    if (scenario->rate[FAULT_RUNNER_CRASH])
        world_in(w, prng_between(&w->rng, 600000, 36000000), EVENT_RUNNER_CRASHES, 0);
    if (scenario->rate[FAULT_CLOCK_FORWARD] || scenario->rate[FAULT_CLOCK_BACK])
        world_in(w, prng_between(&w->rng, 60000, 1800000), EVENT_CLOCK_JUMPS, 0);
}

static void world_phase_liveness(struct world *w)
{
    w->phase = PHASE_LIVENESS;
    w->session.faults = (struct memory_faults){0};
    const char *missing = "";
    bool has_booted = false;
    for (uint32_t round = 0; round < ROUNDS_MAX && missing && !world_has_failed(w); round++) {
        repair_round(w);
        world_run_until(w, w->mono_ms + ROUND_MS);
        missing = repair_missing(w);
        if (missing || has_booted || world_has_failed(w))
            continue;
        /* Everything works: boot all machines, and come to rest once more. */
        has_booted = true;
        repair_boot_machines(w);
        world_run_until(w, w->mono_ms + ROUND_MS);
        missing = "the machines have booted";
    }
    if (missing)
        world_fail(w, "I7: after %d rounds of repair: %s", ROUNDS_MAX, missing);
}

static void world_fini(struct world *w)
{
    turn_free(w->turn);
    memory_session_crash(&w->session, false);
    memory_store_free(w->store);
    event_queue_fini(&w->events);
    runner_sim_fini(w);
    nodes_sim_fini(w);
    boot_sim_fini(w);
    arena_fini(&w->arena);
    arena_fini(&w->scratch);
}

struct world_result world_run(const struct scenario *scenario, struct transcript *transcript,
                              struct counts *counts)
{
    struct world w = {.transcript = transcript};
    struct checks checks;
    checks_init(&checks, scenario, &w.counts);
    w.checks = &checks;
    world_init(&w, scenario);
    /* With faults, for the hours of the scenario. */
    world_run_until(&w, w.mono_ms + w.scenario.hours * 3600000);
    if (!world_has_failed(&w))
        world_phase_liveness(&w);
    struct world_result result = {.failed = world_has_failed(&w)};
    transcript_hash_hex(&transcript->hash, result.transcript);
    memcpy(result.failure, w.failure, sizeof result.failure);
    w.counts.worlds = 1;
    w.counts.simulated_ms = (uint64_t)w.mono_ms;
    counts_size(w.counts.commands, w.operator_commands);
    world_fini(&w);
    checks_fini(&checks);
    counts_add(counts, &w.counts);
    return result;
}
