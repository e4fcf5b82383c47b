#include "sim/rack/rack.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text/buf.h"
#include "hooks/hooks.h"
#include "hooks/transition.h"
#include "sim/rack/rack_private.h"
#include "sim/scenario/transcript.h"

/* The main loop of a rack: simulated time, the daemon, its crashes, and the adapters between turn,
 * hooks and the simulated environment.
 *
 * One iteration delivers the events that are due, advances the turn once, and runs the hooks to
 * completion. Time advances only when the turn is idle or waits for the store: to the next event or
 * to the deadline of the turn. The Lua code of hooks runs at once in the real thread, and the loop
 * waits for it, so that the result does not depend on the scheduling of threads; its results are
 * delivered later, as events in simulated time.
 *
 * A crash frees the turn and the hooks, drops or keeps the batch that was being committed, and
 * starts a new daemon. Events that came from the old daemon are void (RACK_EVENT_INSIDE). */

enum {
    BEGIN_MS = 1000,
    STORE_MS = 4,      /* between two polls of a busy store */
    SPINS_MAX = 20000, /* iterations without progress of time */
    CRASHES_MAX = 8,
    RESTORES_MAX = 2,
    POINTS_TO_PASS_MAX = 1500, /* maximum number of points of the turn before a crash is due */
    CHECK_TURNS = 64,          /* turns between two core_check() */
    ANSWER_MS_MAX = 20,        /* usual delay of a hook result */
};

/* Wall clock at the start of a rack, ms since 1970. */
#define BEGIN_WALL_MS 1700000000000

/* ---- functions for all source files ---- */

void rack_fail(struct rack *r, const char *format, ...)
{
    if (r->failure[0])
        return;
    char text[480];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(r->failure, sizeof r->failure, "after %lld.%03lld s: %s",
             (long long)(r->mono_ms / 1000), (long long)(r->mono_ms % 1000), text);
}

static bool rack_has_failed(const struct rack *r)
{
    return r->failure[0] != 0;
}

bool rack_fault(struct rack *r, enum rack_fault fault)
{
    if (!r->has_faults || !r->scenario.rate[fault] ||
        !prng_chance(&r->rng, r->scenario.rate[fault]))
        return false;
    r->counts.faults[fault]++;
    return true;
}

int64_t rack_delay(struct rack *r, enum rack_fault fault, int64_t low, int64_t high)
{
    const int64_t usual = prng_between(&r->rng, low, high) + r->delay_ms[fault];
    return rack_fault(r, fault) ? usual + prng_between(&r->rng, RACK_MINUTE, 15 * RACK_MINUTE)
                                : usual;
}

void rack_at(struct rack *r, int64_t delay_ms, enum rack_event kind, struct event event)
{
    event.at_ms = r->mono_ms + delay_ms;
    event.kind = kind;
    event_queue_add(&r->events, event);
}

struct str rack_encode(struct rack *r, const struct command *command)
{
    struct buf b = buf_in(&r->arena);
    command_encode(command, &b);
    return buf_str(&b);
}

void rack_send_later(struct rack *r, int64_t delay_ms, const struct command *command)
{
    rack_at(r, delay_ms, RACK_EVENT_COMMAND, (struct event){.bytes = rack_encode(r, command)});
}

void rack_count_reached(struct rack *r, enum rack_reached what)
{
    r->counts.reached[what]++;
}

void rack_note(struct rack *r, const char *what, int64_t a, int64_t b)
{
    const int64_t numbers[] = {r->mono_ms, a, b};
    if (r->scenario.trace && strcmp(what, "durable") != 0)
        printf("%10.3f %s %lld %lld\n", (double)r->mono_ms / 1000, what, (long long)a,
               (long long)b);
    if (r->scenario.has_hash)
        transcript_hash_effect(&r->transcript, &r->scratch, what, numbers, (struct str){0});
}

const struct core *rack_core(const struct rack *r)
{
    return r->turn ? turn_core(r->turn) : NULL;
}

/* ---- clock ---- */

static int64_t rack_clock_now(void *self)
{
    const struct rack *r = self;
    return BEGIN_WALL_MS + r->mono_ms;
}

static int64_t rack_clock_mono(void *self)
{
    const struct rack *r = self;
    return r->mono_ms;
}

static uint64_t rack_clock_random(void *self)
{
    struct rack *r = self;
    return prng_next(&r->rng) | 1;
}

/* ---- hooks: the real thread in simulated time ---- */

static void rack_hooks_wake(void *self)
{
    ignore(self == NULL, "the loop waits for the hooks after every step of the turn");
}

static bool rack_hooks_find_facts(void *self, const struct outbox_record *row, struct arena *arena,
                                  struct hooks_facts *out_facts)
{
    const struct rack *r = self;
    struct hook_call_args facts;
    if (!core_hook_args(rack_core(r), row, arena, &facts))
        return false;
    *out_facts = (struct hooks_facts){.argument = facts.argument, .context = facts.context};
    return true;
}

static int64_t rack_hooks_find_name(void *self, enum table table, struct str name)
{
    return core_find(rack_core(self), table, name);
}

/* The daemon has one hook thread, so results arrive in the order of the calls. */
static err rack_hooks_submit(void *self, const struct command *command)
{
    struct rack *r = self;
    int64_t at_ms = r->mono_ms + rack_delay(r, RACK_HOOK_LATE, 1, ANSWER_MS_MAX);
    if (at_ms < r->hook_ms)
        at_ms = r->hook_ms;
    r->hook_ms = at_ms;
    rack_at(r, at_ms - r->mono_ms, RACK_EVENT_INSIDE,
            (struct event){.id = r->daemon_starts, .bytes = rack_encode(r, command)});
    return OK;
}

static err rack_hooks_answer(void *self, uint64_t token, const struct veto_reply *veto_replies,
                             uint32_t count)
{
    struct rack *r = self;
    return turn_submit_veto_replies(r->turn, token, veto_replies, count);
}

static void rack_hooks_called(void *self, uint64_t key, const struct hooks_result *result)
{
    struct rack *r = self;
    transitions_called(r->transitions, key, result);
}

static bool rack_transition_facts(void *self, int64_t noderole_id, struct arena *arena,
                                  struct str *out_argument, int64_t *out_role_id)
{
    struct rack *r = self;
    struct record record;
    const struct core *core = rack_core(r);
    if (!core_record(core, TABLE_NODEROLE, noderole_id, &record) ||
        !core_run_args(core, noderole_id, arena, out_argument))
        return false;
    *out_role_id = record.noderole.role_id;
    rack_content_load(r, *out_role_id);
    return true;
}

static void rack_hooks_deliver(void *self, const struct outbox_record *row)
{
    struct rack *r = self;
    const struct hooks_port port = hooks_port(r->hooks);
    rack_content_load(r, row->role_id);
    rack_note(r, hook_name((enum hook)row->hook), row->id, row->object_id);
    port.deliver(port.self, row);
    r->counts.hooks++;
    if (rack_fault(r, RACK_HOOK_TWICE))
        port.deliver(port.self, row);
}

static void rack_hooks_ask(void *self, uint64_t token, const struct veto_request *questions,
                           uint32_t count)
{
    struct rack *r = self;
    const struct hooks_port port = hooks_port(r->hooks);
    for (uint32_t i = 0; i < count; i++)
        rack_content_load(r, questions[i].role_id);
    port.ask(port.self, token, questions, count);
}

/* ---- replies and observers of the turn ---- */

static void rack_reply_outcome(void *self, int64_t request, const struct outcome *outcome,
                               int64_t turn)
{
    struct rack *r = self;
    rack_note(r, "reply", request, turn);
    if (rack_is_call(request)) {
        rack_call_answered(r, request, outcome);
        return;
    }
    if (request < 0) {
        rack_server_answered(r, request, outcome);
        return;
    }
    if (request != r->awaited_request)
        return;
    r->reply = (struct rack_reply){
        .is_received = true, .is_done = outcome->verdict == VERDICT_DONE, .id = outcome->id};
    if (outcome->problems)
        snprintf(r->reply.problem, sizeof r->reply.problem, "%.*s",
                 STR_FMT_ARGS(outcome->problems->text));
}

static void rack_reply_failed(void *self, int64_t request, err why)
{
    struct rack *r = self;
    rack_note(r, "failed", request, why);
    if (request)
        grant_oracle_drop(&r->grants, request);
    if (request == r->awaited_request)
        r->reply = (struct rack_reply){.is_received = true};
}

/* Trace: one line for the command, and one for each command in the result of a hook. */
static void rack_print_command(struct rack *r, const struct command *command,
                               const struct outcome *outcome)
{
    const struct problem *problem = outcome->problems;
    printf("%10.3f   ", (double)r->mono_ms / 1000);
    transcript_print_command(stdout, command);
    printf(problem ? ", refused: %.*s\n" : "%.*s\n",
           STR_FMT_ARGS(problem ? problem->text : STR("")));
    const struct str commands = command->outbox_done.hook_commands;
    for (uint32_t at = 0; command->kind == COMMAND_OUTBOX_DONE && at < commands.len;) {
        struct command inner;
        if (command_decode(&r->scratch, commands, &at, &inner) != OK)
            return;
        printf("                hook command ");
        transcript_print_command(stdout, &inner);
        printf("\n");
    }
}

static void rack_watch_stepped(void *self, const struct command *command,
                               const struct outcome *outcome)
{
    struct rack *r = self;
    if (r->scenario.has_hash)
        transcript_hash_command(&r->transcript, &r->scratch, command, outcome);
    r->counts.commands++;
    if (r->scenario.trace && command->kind != COMMAND_ANNEAL)
        rack_print_command(r, command, outcome);
    if (!rack_has_failed(r))
        rack_check_stepped(r, command, outcome);
}

static void rack_watch_durable(void *self, const struct batch *batch)
{
    struct rack *r = self;
    rack_note(r, "durable", batch->turn, batch->rows);
    r->counts.turns++;
    const char *said = boot_view_oracle_batch(&r->view, rack_core(r), batch->turn, &r->scratch);
    if (said)
        rack_fail(r, "boot view: %s", said);
    if (!rack_has_failed(r))
        rack_check_durable(r);
    rack_servers_configure(r);
    if (rack_has_failed(r) || batch->turn % CHECK_TURNS)
        return;
    const struct arena_mark mark = arena_mark(&r->scratch);
    const char *broken = core_check(turn_core(r->turn), &r->scratch);
    if (broken)
        rack_fail(r, "%s", broken);
    arena_rewind(&r->scratch, mark);
}

/* ---- crashes ---- */

static enum turn_point rack_point_of(const char *name)
{
    for (uint32_t i = 0; i < TURN_POINT_COUNT; i++)
        if (!strcmp(name, turn_point_name((enum turn_point)i)))
            return (enum turn_point)i;
    impossible("unknown point of the turn");
}

/* A crash is due after `points_to_pass` points of the turn. It happens at the planned point or,
 * with a probability of 1 per mille, at any other one, because the planned point may never be
 * passed. */
static bool rack_should_crash(struct rack *r, enum turn_point point)
{
    if (r->kill_now) {
        r->kill_now = false;
        return true;
    }
    if (!r->has_faults || !r->scenario.rate[RACK_CRASH] || !r->crashes_left)
        return false;
    if (r->points_to_pass > 0) {
        r->points_to_pass--;
        return false;
    }
    if (point != r->planned_point && !prng_chance(&r->rng, 1))
        return false;
    r->crashes_left--;
    r->counts.faults[RACK_CRASH]++;
    return true;
}

/* Draw the store fault for the batch that is about to be submitted. */
static void rack_draw_store_fault(struct rack *r)
{
    struct memory_faults *faults = &r->session.faults;
    *faults = (struct memory_faults){0};
    if (rack_fault(r, RACK_STORE_REFUSED)) {
        faults->fate = prng_chance(&r->rng, 500) ? MEMORY_REFUSED : MEMORY_REFUSED_LATE;
        faults->error = ERR_IO;
    }
    if (rack_fault(r, RACK_STORE_UNANSWERED))
        faults->fate = prng_chance(&r->rng, 500) ? MEMORY_UNANSWERED_IN : MEMORY_UNANSWERED_OUT;
}

static bool rack_on_turn_point(void *self, const char *name)
{
    struct rack *r = self;
    const enum turn_point point = rack_point_of(name);
    if (rack_has_failed(r))
        return true;
    if (point == TURN_POINT_SUBMIT_BEFORE)
        rack_draw_store_fault(r);
    if (!rack_should_crash(r, point))
        return false;
    r->counts.points[point]++;
    return true;
}

/* ---- start and end of the daemon ---- */

static void rack_daemon_start(struct rack *r)
{
    const struct hooks_callbacks callbacks = {.self = r,
                                              .wake = rack_hooks_wake,
                                              .facts = rack_hooks_find_facts,
                                              .find = rack_hooks_find_name,
                                              .submit = rack_hooks_submit,
                                              .answer = rack_hooks_answer,
                                              .called = rack_hooks_called,
                                              .loaded = rack_content_loaded};
    r->hooks = hooks_open(callbacks, SANDBOX_LIMITS);
    must(r->hooks);
    r->transitions = transitions_new(
        r->hooks, (struct transition_callbacks){
                      .self = r, .facts = rack_transition_facts, .submit = rack_hooks_submit});
    const struct turn_ports ports = {
        .store = memory_session_port(&r->session),
        .clock = {.self = r,
                  .now_ms = rack_clock_now,
                  .mono_ms = rack_clock_mono,
                  .random = rack_clock_random},
        .runner = rack_runner_port(r),
        .hooks = {.self = r, .deliver = rack_hooks_deliver, .ask = rack_hooks_ask},
        .power = rack_power_port(r),
        .boot = rack_boot_port(r),
        .reply = {.self = r, .outcome = rack_reply_outcome, .failed = rack_reply_failed},
        .watch = {.self = r, .stepped = rack_watch_stepped, .durable = rack_watch_durable},
        .crash = {.self = r, .crash = rack_on_turn_point},
    };
    r->turn = turn_new(&ports);
    r->started = false;
    r->daemon_starts++;
    r->hook_ms = 0;
    r->planned_point = (enum turn_point)prng_below(&r->rng, TURN_POINT_COUNT);
    r->points_to_pass = (uint32_t)prng_between(&r->rng, 1, POINTS_TO_PASS_MAX);
}

static void rack_daemon_free(struct rack *r)
{
    turn_free(r->turn);
    transitions_free(r->transitions);
    hooks_close(r->hooks);
    r->turn = NULL;
    rack_content_forget(r);
}

static void rack_daemon_crash(struct rack *r)
{
    rack_note(r, "dies", r->daemon_starts, 0);
    rack_daemon_free(r);
    grant_oracle_drop(&r->grants, 0);
    memory_session_crash(&r->session, prng_chance(&r->rng, 500));
    rack_servers_daemon_crashed(r);
    if (r->restore_now || r->import_now)
        rack_replace_store(r);
    r->mono_ms += prng_between(&r->rng, 100, 30 * RACK_SECOND);
    rack_daemon_start(r);
    rack_content_import_later(r);
}

/* ---- main loop ---- */

static void rack_submit(struct rack *r, const struct event *event)
{
    struct command command;
    uint32_t at = 0;
    if (event->kind == RACK_EVENT_INSIDE && event->id != r->daemon_starts)
        return; /* sent by a daemon that has crashed since */
    const struct arena_mark mark = arena_mark(&r->scratch);
    if (command_decode(&r->scratch, event->bytes, &at, &command) != OK)
        impossible("a stored command cannot be decoded");
    const err e = turn_submit(r->turn, &command);
    if (e != OK && command.request == 0)
        rack_at(r, prng_between(&r->rng, 1000, 20000), (enum rack_event)event->kind, *event);
    if (e != OK && command.request && command.request == r->awaited_request)
        r->reply = (struct rack_reply){.is_received = true};
    arena_rewind(&r->scratch, mark);
}

static void rack_dispatch(struct rack *r, const struct event *event)
{
    const uint32_t id = (uint32_t)event->id;
    switch (event->kind) {
    case RACK_EVENT_COMMAND:
    case RACK_EVENT_INSIDE: rack_submit(r, event); return;
    case RACK_EVENT_MACHINE: rack_machine_step(r, id, event->detail); return;
    case RACK_EVENT_CALL: rack_call_arrives(r, event); return;
    case RACK_EVENT_CALL_AGAIN: rack_call_again(r, event); return;
    case RACK_EVENT_REPLY: rack_reply_arrives(r, event); return;
    case RACK_EVENT_POWER: rack_power_arrives(r, event); return;
    case RACK_EVENT_CUT: rack_machine_cut(r, event); return;
    case RACK_EVENT_BACK: rack_power_on(r, id); return;
    case RACK_EVENT_ATTEMPT_ENDS: rack_attempt_ends(r, event); return;
    case RACK_EVENT_RESEND: rack_attempt_resend(r, event->id); return;
    case RACK_EVENT_OPERATOR: rack_operator_acts(r); return;
    case RACK_EVENT_ADMIN: rack_operator_admin(r, event->detail); return;
    default: rack_server_dispatch(r, event); return;
    }
}

/* Idle: advance time to the next event or deadline of the turn, but not beyond `until_ms`. */
static void rack_advance_time(struct rack *r, int64_t until_ms)
{
    int64_t next = until_ms;
    const int64_t event_ms = event_queue_next_ms(&r->events);
    const int64_t turn_ms = turn_next_ms(r->turn);
    if (event_ms >= 0 && event_ms < next)
        next = event_ms;
    if (turn_ms >= 0 && turn_ms < next)
        next = turn_ms;
    if (next > r->mono_ms)
        r->mono_ms = next;
    else
        r->mono_ms += turn_ms >= 0 && turn_ms <= r->mono_ms ? 1 : 0;
}

/* One iteration. False: the daemon is idle until `until_ms`, or a violation was found. */
static bool rack_iterate(struct rack *r, int64_t until_ms)
{
    struct event event;
    while (!rack_has_failed(r) && event_queue_next_ms(&r->events) >= 0 &&
           event_queue_next_ms(&r->events) <= r->mono_ms && event_queue_take(&r->events, &event))
        rack_dispatch(r, &event);
    arena_reset(&r->scratch);
    if (rack_has_failed(r))
        return false;
    const enum turn_status status = r->started ? turn_advance(r->turn) : turn_start(r->turn);
    r->started = true;
    /* Wait until the Lua code of all delivered hooks has run. Their results arrive later, as
     * events. */
    const bool can_run = status != TURN_CRASHED && rack_core(r);
    while (can_run && (hooks_pending_count(r->hooks) || transitions_is_due(r->transitions))) {
        hooks_run_until_idle(r->hooks);
        transitions_pump(r->transitions);
    }
    switch (status) {
    case TURN_AGAIN: return true;
    case TURN_WAITING: r->mono_ms += STORE_MS; return true;
    case TURN_DOWN:
    case TURN_QUIET:
        if (r->mono_ms >= until_ms)
            return false;
        rack_advance_time(r, until_ms);
        return true;
    case TURN_CRASHED:
        if (!rack_has_failed(r))
            rack_daemon_crash(r);
        return !rack_has_failed(r);
    case TURN_STOPPED: rack_fail(r, "I6: the only daemon was fenced as if another one led");
    }
    return false;
}

/* Run until that time, or until the condition is true after an iteration. */
static bool rack_run_until(struct rack *r, int64_t until_ms, rack_condition condition,
                           int64_t argument)
{
    int64_t last_ms = r->mono_ms;
    uint32_t spins = 0;
    while (!rack_has_failed(r)) {
        if (condition && rack_core(r) && condition(r, argument))
            return true;
        if (!rack_iterate(r, until_ms))
            return false;
        spins = r->mono_ms == last_ms ? spins + 1 : 0;
        last_ms = r->mono_ms;
        if (spins > SPINS_MAX)
            rack_fail(r, "I7: the turn does not become idle within %d iterations", SPINS_MAX);
    }
    return false;
}

void rack_pass(struct rack *r, int64_t ms)
{
    rack_run_until(r, r->mono_ms + ms, NULL, 0);
}

bool rack_until(struct rack *r, rack_condition condition, int64_t argument, int64_t within_ms)
{
    return rack_run_until(r, r->mono_ms + within_ms, condition, argument);
}

void rack_kill(struct rack *r)
{
    r->kill_now = true;
}

/* ---- lifetime ---- */

struct rack *rack_new(const struct rack_scenario *scenario, char *failure, uint32_t failure_size)
{
    struct rack *r = calloc(1, sizeof *r);
    must(r);
    r->scenario = *scenario;
    prng_init(&r->rng, scenario->seed);
    transcript_hash_init(&r->transcript);
    r->mono_ms = BEGIN_MS;
    r->is_admin_up = true;
    r->history = r->history_seen = 1;
    r->restores_left = RESTORES_MAX;
    r->crashes_left = (uint32_t)prng_between(&r->rng, 1, CRASHES_MAX);
    r->store = memory_store_new();
    memory_session_init(&r->session, r->store);
    rack_servers_init(r);
    rack_machines_make(r);
    rack_daemon_start(r);
    if (rack_content_read(r))
        return r;
    snprintf(failure, failure_size, "%s", r->failure);
    rack_free(r);
    return NULL;
}

void rack_free(struct rack *r)
{
    if (!r)
        return;
    rack_daemon_free(r);
    memory_session_crash(&r->session, false);
    memory_store_free(r->store);
    memory_store_free(r->backup);
    rack_servers_fini(r);
    rack_databases_fini(r);
    grant_oracle_fini(&r->grants);
    event_queue_fini(&r->events);
    rack_attempts_fini(r);
    arena_fini(&r->arena);
    arena_fini(&r->scratch);
    free(r);
}
