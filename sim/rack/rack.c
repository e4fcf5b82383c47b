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

enum {
    BEGIN_MS = 1000,
    STORE_MS = 4,      /* between two looks at a busy store */
    SPINS_MAX = 20000, /* moves of the turn without time passing */
    DEATHS_MAX = 8,
    PATIENCE = 1500,    /* points of the turn until a planned death comes anywhere */
    CHECK_TURNS = 64,   /* between two checks of the whole core */
    ANSWER_MS_MAX = 20, /* of the code of a role, usually */
};

/* Where the wall clock stands when a rack begins. */
#define BEGIN_WALL_MS 1700000000000

/* ---- small things for everybody ---- */

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

static bool has_failed(const struct rack *r)
{
    return r->failure[0] != 0;
}

bool rack_fault(struct rack *r, enum rack_fault fault)
{
    if (!r->has_faults || !r->draw.rate[fault] || !prng_chance(&r->chance, r->draw.rate[fault]))
        return false;
    r->counts.faults[fault]++;
    return true;
}

int64_t rack_delay(struct rack *r, enum rack_fault fault, int64_t low, int64_t high)
{
    const int64_t usual = prng_between(&r->chance, low, high) + r->delay_ms[fault];
    return rack_fault(r, fault) ? usual + prng_between(&r->chance, RACK_MINUTE, 15 * RACK_MINUTE)
                                : usual;
}

void rack_at(struct rack *r, int64_t delay_ms, enum rack_event kind, struct event event)
{
    event.at_ms = r->mono_ms + delay_ms;
    event.kind = kind;
    event_queue_add(&r->events, event);
}

struct str rack_keep(struct rack *r, const struct command *command)
{
    struct buf b = buf_in(&r->story);
    command_encode(command, &b);
    return buf_str(&b);
}

void rack_later(struct rack *r, int64_t delay_ms, const struct command *command)
{
    rack_at(r, delay_ms, RACK_EVENT_COMMAND, (struct event){.bytes = rack_keep(r, command)});
}

void rack_reach(struct rack *r, enum rack_reached what)
{
    r->counts.reached[what]++;
}

void rack_note(struct rack *r, const char *what, int64_t a, int64_t b)
{
    const int64_t numbers[] = {r->mono_ms, a, b};
    if (r->draw.trace && strcmp(what, "durable") != 0)
        printf("%10.3f %s %lld %lld\n", (double)r->mono_ms / 1000, what, (long long)a,
               (long long)b);
    transcript_hash_effect(&r->transcript, &r->scratch, what, numbers, (struct str){0});
}

const struct core *rack_core(const struct rack *r)
{
    return r->turn ? turn_core(r->turn) : NULL;
}

const char *rack_fault_name(enum rack_fault fault)
{
    static const char *const names[] = {
#define X(upper, name) [RACK_##upper] = name,
        RACK_FAULTS(X)
#undef X
    };
    must(fault < RACK_FAULT_COUNT);
    return names[fault];
}

/* ---- clock ---- */

static int64_t clock_now(void *self)
{
    const struct rack *r = self;
    return BEGIN_WALL_MS + r->mono_ms;
}

static int64_t clock_mono(void *self)
{
    const struct rack *r = self;
    return r->mono_ms;
}

static uint64_t clock_random(void *self)
{
    struct rack *r = self;
    return prng_next(&r->chance) | 1;
}

/* ---- hooks: the real thread, in simulated time ---- */

static void hooks_wake(void *self)
{
    ignore(self == NULL, "the loop looks after every move of the turn");
}

static bool hooks_find_facts(void *self, const struct outbox_record *row, struct arena *arena,
                             struct hooks_facts *out_facts)
{
    const struct rack *r = self;
    struct hook_call_args facts;
    if (!core_hook_args(rack_core(r), row, arena, &facts))
        return false;
    *out_facts = (struct hooks_facts){.argument = facts.argument, .context = facts.context};
    return true;
}

static int64_t hooks_find_name(void *self, enum table table, struct str name)
{
    return core_find(rack_core(self), table, name);
}

/* One thread: whatever is answered comes after what was answered before. */
static err hooks_submit(void *self, const struct command *command)
{
    struct rack *r = self;
    int64_t at_ms = r->mono_ms + rack_delay(r, RACK_HOOK_LATE, 1, ANSWER_MS_MAX);
    if (at_ms < r->hook_ms)
        at_ms = r->hook_ms;
    r->hook_ms = at_ms;
    rack_at(r, at_ms - r->mono_ms, RACK_EVENT_INSIDE,
            (struct event){.id = r->life, .bytes = rack_keep(r, command)});
    return OK;
}

static err hooks_answer(void *self, uint64_t token, const struct answer *answers, uint32_t count)
{
    struct rack *r = self;
    return turn_submit_veto_replies(r->turn, token, answers, count);
}

static void hooks_called(void *self, uint64_t key, const struct hooks_result *result)
{
    struct rack *r = self;
    transitions_called(r->transitions, key, result);
}

static bool transition_facts(void *self, int64_t noderole_id, struct arena *arena,
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

static void deliver(void *self, const struct outbox_record *row)
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

static void ask(void *self, uint64_t token, const struct veto_request *questions, uint32_t count)
{
    struct rack *r = self;
    const struct hooks_port port = hooks_port(r->hooks);
    for (uint32_t i = 0; i < count; i++)
        rack_content_load(r, questions[i].role_id);
    port.ask(port.self, token, questions, count);
}

/* What Lua has to do is done before anything else happens; when it is heard of is another thing. */
static void settle_hooks(struct rack *r)
{
    if (!rack_core(r))
        return;
    while (hooks_pending_count(r->hooks) || transitions_is_due(r->transitions)) {
        hooks_run_until_idle(r->hooks);
        transitions_pump(r->transitions);
    }
}

/* ---- who is told what ---- */

static void reply_outcome(void *self, int64_t request, const struct outcome *outcome, int64_t turn)
{
    struct rack *r = self;
    rack_note(r, "reply", request, turn);
    if (rack_is_call(request)) {
        rack_call_answered(r, request, outcome);
        return;
    }
    if (request != r->word_request)
        return;
    r->word = (struct rack_word){
        .is_there = true, .is_done = outcome->verdict == VERDICT_DONE, .id = outcome->id};
    if (outcome->problems)
        snprintf(r->word.problem, sizeof r->word.problem, "%.*s",
                 STR_FMT_ARGS(outcome->problems->text));
}

static void reply_failed(void *self, int64_t request, err why)
{
    struct rack *r = self;
    rack_note(r, "failed", request, why);
    if (request == r->word_request)
        r->word = (struct rack_word){.is_there = true};
}

/* A hook's wishes are told below its answer. */
static void tell_command(struct rack *r, const struct command *command,
                         const struct outcome *outcome)
{
    const struct problem *problem = outcome->problems;
    printf("%10.3f   ", (double)r->mono_ms / 1000);
    transcript_tell(stdout, command);
    printf(problem ? ", refused: %.*s\n" : "%.*s\n",
           STR_FMT_ARGS(problem ? problem->text : STR("")));
    const struct str wishes = command->outbox_done.hook_commands;
    for (uint32_t at = 0; command->kind == COMMAND_OUTBOX_DONE && at < wishes.len;) {
        struct command wish;
        if (command_decode(&r->scratch, wishes, &at, &wish) != OK)
            return;
        printf("                wish ");
        transcript_tell(stdout, &wish);
        printf("\n");
    }
}

static void watch_stepped(void *self, const struct command *command, const struct outcome *outcome)
{
    struct rack *r = self;
    transcript_hash_command(&r->transcript, &r->scratch, command, outcome);
    r->counts.commands++;
    if (r->draw.trace && command->kind != COMMAND_ANNEAL)
        tell_command(r, command, outcome);
}

static void watch_durable(void *self, const struct batch *batch)
{
    struct rack *r = self;
    rack_note(r, "durable", batch->turn, batch->rows);
    r->counts.turns++;
    if (!has_failed(r))
        rack_check_durable(r);
    if (has_failed(r) || batch->turn % CHECK_TURNS)
        return;
    const struct arena_mark mark = arena_mark(&r->scratch);
    const char *broken = core_check(turn_core(r->turn), &r->scratch);
    if (broken)
        rack_fail(r, "%s", broken);
    arena_rewind(&r->scratch, mark);
}

/* ---- dying ---- */

static enum turn_point point_of(const char *name)
{
    for (uint32_t i = 0; i < TURN_POINT_COUNT; i++)
        if (!strcmp(name, turn_point_name((enum turn_point)i)))
            return (enum turn_point)i;
    impossible("a point of the turn without a name");
}

static void plan_death(struct rack *r)
{
    r->death_point = (enum turn_point)prng_below(&r->chance, TURN_POINT_COUNT);
    r->death_patience = (uint32_t)prng_between(&r->chance, 1, PATIENCE);
}

/* Plans wait for their point from some moment on; a point that is never passed is given up. */
static bool dies(struct rack *r, enum turn_point point)
{
    if (r->kill_now) {
        r->kill_now = false;
        return true;
    }
    if (!r->has_faults || !r->draw.rate[RACK_CRASH] || !r->deaths_left)
        return false;
    if (r->death_patience > 0) {
        r->death_patience--;
        return false;
    }
    if (point != r->death_point && !prng_chance(&r->chance, 1))
        return false;
    r->deaths_left--;
    r->counts.faults[RACK_CRASH]++;
    return true;
}

/* What becomes of the batch that is about to be submitted. */
static void draw_fate(struct rack *r)
{
    struct memory_faults *faults = &r->session.faults;
    *faults = (struct memory_faults){0};
    if (rack_fault(r, RACK_STORE_REFUSED)) {
        faults->fate = prng_chance(&r->chance, 500) ? MEMORY_REFUSED : MEMORY_REFUSED_LATE;
        faults->error = ERR_IO;
    }
    if (rack_fault(r, RACK_STORE_UNANSWERED))
        faults->fate = prng_chance(&r->chance, 500) ? MEMORY_UNANSWERED_IN : MEMORY_UNANSWERED_OUT;
}

static bool crash_point(void *self, const char *name)
{
    struct rack *r = self;
    const enum turn_point point = point_of(name);
    if (has_failed(r))
        return true;
    if (point == TURN_POINT_SUBMIT_BEFORE)
        draw_fate(r);
    if (!dies(r, point))
        return false;
    r->counts.points[point]++;
    return true;
}

/* ---- the daemon's life ---- */

static void boot(struct rack *r)
{
    const struct hooks_callbacks seams = {.self = r,
                                          .wake = hooks_wake,
                                          .facts = hooks_find_facts,
                                          .find = hooks_find_name,
                                          .submit = hooks_submit,
                                          .answer = hooks_answer,
                                          .called = hooks_called,
                                          .loaded = rack_content_loaded};
    r->hooks = hooks_open(seams, SANDBOX_LIMITS);
    must(r->hooks);
    r->transitions = transitions_new(
        r->hooks, (struct transition_callbacks){
                      .self = r, .facts = transition_facts, .submit = hooks_submit});
    const struct turn_ports ports = {
        .store = memory_session_port(&r->session),
        .clock = {.self = r, .now_ms = clock_now, .mono_ms = clock_mono, .random = clock_random},
        .runner = rack_runner_port(r),
        .hooks = {.self = r, .deliver = deliver, .ask = ask},
        .power = rack_power_port(r),
        .reply = {.self = r, .outcome = reply_outcome, .failed = reply_failed},
        .watch = {.self = r, .stepped = watch_stepped, .durable = watch_durable},
        .crash = {.self = r, .crash = crash_point},
    };
    r->turn = turn_new(&ports);
    r->started = false;
    r->life++;
    r->hook_ms = 0;
    plan_death(r);
}

static void end_life(struct rack *r)
{
    turn_free(r->turn);
    transitions_free(r->transitions);
    hooks_close(r->hooks);
    r->turn = NULL;
    rack_content_forget(r);
}

static void die(struct rack *r)
{
    rack_note(r, "dies", r->life, 0);
    end_life(r);
    memory_session_crash(&r->session, prng_chance(&r->chance, 500));
    r->mono_ms += prng_between(&r->chance, 100, 30 * RACK_SECOND);
    boot(r);
    rack_content_import_later(r);
}

/* ---- living ---- */

static void submit(struct rack *r, const struct event *event)
{
    struct command command;
    uint32_t at = 0;
    if (event->kind == RACK_EVENT_INSIDE && event->id != r->life)
        return; /* said by somebody who died before he was heard */
    const struct arena_mark mark = arena_mark(&r->scratch);
    if (command_decode(&r->scratch, event->bytes, &at, &command) != OK)
        impossible("a command of ours that does not read");
    const err e = turn_submit(r->turn, &command);
    if (e != OK && command.request == 0)
        rack_at(r, prng_between(&r->chance, 1000, 20000), (enum rack_event)event->kind, *event);
    if (e != OK && command.request && command.request == r->word_request)
        r->word = (struct rack_word){.is_there = true};
    arena_rewind(&r->scratch, mark);
}

static void dispatch(struct rack *r, const struct event *event)
{
    const uint32_t id = (uint32_t)event->id;
    switch ((enum rack_event)event->kind) {
    case RACK_EVENT_COMMAND:
    case RACK_EVENT_INSIDE: submit(r, event); return;
    case RACK_EVENT_MACHINE: rack_machine_goes_on(r, id, event->detail); return;
    case RACK_EVENT_CALL: rack_call_arrives(r, event); return;
    case RACK_EVENT_CALL_AGAIN: rack_call_again(r, event); return;
    case RACK_EVENT_REPLY: rack_reply_arrives(r, event); return;
    case RACK_EVENT_POWER: rack_power_arrives(r, event); return;
    case RACK_EVENT_CUT: rack_machine_cut(r, event); return;
    case RACK_EVENT_BACK: rack_power_on(r, id); return;
    case RACK_EVENT_WORK_ENDS: rack_work_ends(r, event); return;
    case RACK_EVENT_RESEND: rack_work_resend(r, event->id); return;
    case RACK_EVENT_OPERATOR: rack_operator_acts(r); return;
    case RACK_EVENT_ADMIN: rack_operator_admin(r, event->detail); return;
    }
}

static void deliver_due(struct rack *r)
{
    struct event event;
    while (!has_failed(r) && event_queue_next_ms(&r->events) >= 0 &&
           event_queue_next_ms(&r->events) <= r->mono_ms && event_queue_take(&r->events, &event))
        dispatch(r, &event);
    arena_reset(&r->scratch);
}

/* Nothing to do now: let time pass until there is, but not past `until_ms`. */
static void wait_for_something(struct rack *r, int64_t until_ms)
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

/* One move of the daemon. False: nothing more can happen before `until_ms`. */
static bool move(struct rack *r, int64_t until_ms)
{
    deliver_due(r);
    if (has_failed(r))
        return false;
    const enum turn_status status = r->started ? turn_advance(r->turn) : turn_start(r->turn);
    r->started = true;
    if (status != TURN_CRASHED)
        settle_hooks(r);
    switch (status) {
    case TURN_AGAIN: return true;
    case TURN_WAITING: r->mono_ms += STORE_MS; return true;
    case TURN_DOWN:
    case TURN_QUIET:
        if (r->mono_ms >= until_ms)
            return false;
        wait_for_something(r, until_ms);
        return true;
    case TURN_CRASHED:
        if (!has_failed(r))
            die(r);
        return !has_failed(r);
    case TURN_STOPPED: rack_fail(r, "the only daemon was told that somebody else leads");
    }
    return false;
}

/* Until that time, or until the wish is true at the end of a turn. */
static bool live(struct rack *r, int64_t until_ms, rack_wish is_so, int64_t argument)
{
    int64_t last_ms = r->mono_ms;
    uint32_t spins = 0;
    while (!has_failed(r)) {
        if (is_so && rack_core(r) && is_so(r, argument))
            return true;
        if (!move(r, until_ms))
            return false;
        spins = r->mono_ms == last_ms ? spins + 1 : 0;
        last_ms = r->mono_ms;
        if (spins > SPINS_MAX)
            rack_fail(r, "the turn never comes to rest");
    }
    return false;
}

void rack_pass(struct rack *r, int64_t ms)
{
    live(r, r->mono_ms + ms, NULL, 0);
}

bool rack_until(struct rack *r, rack_wish is_so, int64_t argument, int64_t within_ms)
{
    return live(r, r->mono_ms + within_ms, is_so, argument);
}

void rack_kill(struct rack *r)
{
    r->kill_now = true;
}

/* ---- from new to free ---- */

struct rack *rack_new(const struct rack_draw *draw, char *failure, uint32_t failure_size)
{
    struct rack *r = calloc(1, sizeof *r);
    must(r);
    r->draw = *draw;
    prng_init(&r->chance, draw->seed);
    transcript_hash_init(&r->transcript);
    r->mono_ms = BEGIN_MS;
    r->is_admin_up = true;
    r->dhcp = r->provisioner = STR("{}");
    r->deaths_left = (uint32_t)prng_between(&r->chance, 1, DEATHS_MAX);
    r->store = memory_store_new();
    memory_session_init(&r->session, r->store);
    rack_machines_make(r);
    boot(r);
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
    end_life(r);
    memory_session_crash(&r->session, false);
    memory_store_free(r->store);
    event_queue_fini(&r->events);
    rack_works_fini(r);
    arena_fini(&r->story);
    arena_fini(&r->scratch);
    free(r);
}
