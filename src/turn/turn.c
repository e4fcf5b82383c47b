#include "turn/turn.h"

#include <string.h>

#include "base/mem/pages.h"
#include "base/text/buf.h"
#include "model/limits.h"
#include "turn/turn_private.h"

enum {
    ANNEAL_STEPS_MAX = 1024, /* in one batch: rows that change twice count once */
    ANNEAL_SHARE = 10,       /* a tenth is kept for the annealer when inputs never end */
    ROW_BYTES_GUESS = 96,    /* of an encoded row, for the first room */
};

bool turn_dies(struct turn *t, enum turn_point point)
{
    const struct crash_port *port = &t->ports.crash;
    if (!port->crash || !port->crash(port->self, turn_point_name(point)))
        return false;
    t->phase = PHASE_CRASHED;
    return true;
}

static struct events nothing_to_tell(struct turn *t)
{
    return (struct events){.arena = &t->arena, .watch = &t->ports.watch};
}

struct turn *turn_new(const struct turn_ports *ports)
{
    struct turn *t = sys_pages_get(sizeof *t);
    t->ports = *ports;
    t->phase = PHASE_DOWN;
    t->reload = true;
    t->trouble_text = "not started";
    t->events = nothing_to_tell(t);
    t->rows_max = BATCH_ROWS;
    parking_init(&t->parking);
    return t;
}

void turn_free(struct turn *t)
{
    if (!t)
        return;
    plans_fini(t);
    core_free(t->core);
    command_queue_fini(&t->inputs);
    parking_fini(&t->parking);
    arena_fini(&t->arena);
    sys_pages_put(t, sizeof *t);
}

void turn_now_durable(struct turn *t)
{
    t->mark.turn = t->batch.turn;
    t->mark.now_ms = t->batch.now_ms;
    t->commits_failed = 0;
    if (t->rows_max < BATCH_ROWS)
        t->rows_max++;
    if (t->ports.watch.durable)
        t->ports.watch.durable(t->ports.watch.self, &t->batch);
}

/* ---- reset ---- */

void turn_forget_batch(struct turn *t)
{
    arena_reset(&t->arena);
    t->effects = (struct effects){0};
    t->events = nothing_to_tell(t);
    t->debts = t->last_debt = NULL;
    t->batch = (struct batch){0};
    t->in_flight = t->in_doubt = t->replies_unsent = false;
}

/* ---- perform ---- */

static struct run_order order_of(const struct turn *t, const struct effect *e)
{
    return (struct run_order){.epoch = t->mark.epoch,
                              .run_id = e->id,
                              .attempt = e->attempt,
                              .node_id = e->node_id,
                              .noderole_id = e->noderole_id,
                              .jig = e->jig,
                              .data = e->data};
}

static void query_run(struct turn *t, const struct effect *e)
{
    struct record record;
    if (!core_record(t->core, TABLE_RUN, e->id, &record))
        return;
    struct run_order order = order_of(t, e);
    order.begun = record.run.begun;
    if (order.data.len == 0)
        order.data = record.run.data;
    t->ports.runner.query(t->ports.runner.self, &order);
}

static void deliver_outbox(struct turn *t, int64_t id)
{
    struct record record;
    /* A later command of the same batch may have taken the row back. */
    if (!core_record(t->core, TABLE_OUTBOX, id, &record))
        return;
    switch ((enum outbox_kind)record.outbox.kind) {
    case OUTBOX_HOOK: t->ports.hooks.deliver(t->ports.hooks.self, &record.outbox); return;
    case OUTBOX_POWER: t->ports.power.act(t->ports.power.self, &record.outbox); return;
    case OUTBOX_PROBE: t->ports.power.probe(t->ports.power.self, &record.outbox); return;
    }
    impossible("an outbox row of no kind");
}

static void perform_effect(struct turn *t, const struct effect *e)
{
    const struct runner_port *runner = &t->ports.runner;
    struct run_order order = order_of(t, e);
    switch (e->kind) {
    case EFFECT_RUN_START: runner->start(runner->self, &order); return;
    case EFFECT_RUN_CANCEL: runner->cancel(runner->self, &order); return;
    case EFFECT_RUN_QUERY: query_run(t, e); return;
    case EFFECT_OUTBOX: deliver_outbox(t, e->id); return;
    }
    impossible("an effect of no kind");
}

/* False: we died in between. */
bool turn_perform_effects(struct turn *t, const struct effects *effects)
{
    for (const struct effect *e = effects->first; e; e = e->next) {
        if (turn_dies(t, TURN_POINT_EFFECT_BEFORE))
            return false;
        perform_effect(t, e);
        if (turn_dies(t, TURN_POINT_EFFECT_AFTER))
            return false;
    }
    return true;
}

bool turn_park(struct turn *t, const struct input *input, const struct outcome *outcome)
{
    uint64_t token = parking_add(&t->parking, t->mark.epoch, input);
    if (!token) {
        turn_fail_request(t, input->command.request, ERR_LIMIT);
        return true;
    }
    struct hook_question *questions =
        arena_array(&t->arena, struct hook_question, outcome->ask_count);
    uint32_t count = 0;
    for (const struct ask *ask = outcome->asks; ask; ask = ask->next)
        questions[count++] =
            (struct hook_question){ask->key, ask->hook, ask->role_id, ask->argument};
    must(count == outcome->ask_count);
    if (turn_dies(t, TURN_POINT_ASK_BEFORE))
        return false;
    t->ports.hooks.ask(t->ports.hooks.self, token, questions, count);
    return !turn_dies(t, TURN_POINT_ASK_AFTER);
}

/* What is answered here saw nothing that is not in the store. */
bool turn_send_replies(struct turn *t)
{
    const struct reply_port *reply = &t->ports.reply;
    for (const struct pending_reply *d = t->debts; d; d = d->next) {
        if (d->outcome.verdict == VERDICT_NEEDS_HOOKS) {
            if (!turn_park(t, d->input, &d->outcome))
                return false;
            continue;
        }
        if (d->input->command.request == 0)
            continue;
        if (turn_dies(t, TURN_POINT_REPLY_BEFORE))
            return false;
        reply->outcome(reply->self, d->input->command.request, &d->outcome, t->mark.turn);
        if (turn_dies(t, TURN_POINT_REPLY_AFTER))
            return false;
    }
    return true;
}

static enum turn_status perform(struct turn *t)
{
    if (turn_dies(t, TURN_POINT_PERFORM_BEFORE) || !turn_perform_effects(t, &t->effects) ||
        !turn_send_replies(t) || turn_dies(t, TURN_POINT_RESET_BEFORE))
        return TURN_CRASHED;
    turn_forget_batch(t);
    return turn_dies(t, TURN_POINT_RESET_AFTER) ? TURN_CRASHED : TURN_AGAIN;
}

enum turn_status turn_start(struct turn *t)
{
    must(t->phase == PHASE_DOWN && t->mark.epoch == 0);
    times_read(t);
    return turn_recover(t);
}

/* ---- take and step ---- */

static void stamp(struct turn *t, struct command *command)
{
    command->now_ms = t->now_ms;
    command->mono_ms = t->mono_ms;
    command->wall_ms = t->times.wall_ms;
    /* A command that was parked keeps its chance, or hooks would be asked about another thing. */
    for (int i = 0; i < 2; i++)
        if (command->nonce[i] == 0)
            command->nonce[i] = t->ports.clock.random(t->ports.clock.self);
}

static void step(struct turn *t, const struct command *command, struct outcome *outcome)
{
    if (command->is_dry) {
        core_plan(t->core, command, &t->arena, outcome);
        return;
    }
    if (t->ports.watch.stepping)
        t->ports.watch.stepping(t->ports.watch.self, command);
    audit_step(&t->events, t->core, command, &t->effects, outcome);
    if (t->ports.watch.stepped)
        t->ports.watch.stepped(t->ports.watch.self, command, outcome);
}

/* The questions changed each time the answers came. */
struct outcome turn_unsettled(struct arena *a)
{
    struct problem *problem = arena_new(a, struct problem);
    problem->code = PROBLEM_HOOKS_UNSETTLED;
    problem->text = STR("what the hooks were asked changed each time they had answered; try again");
    return (struct outcome){.verdict = VERDICT_REFUSED, .problems = problem};
}

static void step_input(struct turn *t, struct input *input)
{
    stamp(t, &input->command);
    if (input->command.is_dry && !input->command.is_brief) {
        const err e = plans_take(t, input);
        if (e != OK)
            turn_fail_request(t, input->command.request, e);
        return;
    }
    struct pending_reply *debt = arena_new(&t->arena, struct pending_reply);
    debt->input = input;
    step(t, &input->command, &debt->outcome);
    if (debt->outcome.verdict == VERDICT_NEEDS_HOOKS && input->rounds >= ASKS_ROUNDS_MAX)
        debt->outcome = turn_unsettled(&t->arena);
    if (t->last_debt)
        t->last_debt->next = debt;
    else
        t->debts = debt;
    t->last_debt = debt;
}

static bool has_work(const struct turn *t)
{
    return !t->balked && core_has_work(t->core);
}

static bool has_room(const struct turn *t)
{
    const uint32_t rows = has_work(t) ? t->rows_max - t->rows_max / ANNEAL_SHARE : t->rows_max;
    return core_changed(t->core) < rows;
}

static bool step_inputs(struct turn *t)
{
    if (turn_dies(t, TURN_POINT_TAKE_BEFORE))
        return false;
    command_queue_begin(&t->inputs);
    if (turn_dies(t, TURN_POINT_TAKE_AFTER))
        return false;
    struct input *input;
    while (has_room(t) && (input = command_queue_take(&t->inputs)) != NULL) {
        if (turn_dies(t, TURN_POINT_STEP_BEFORE))
            return false;
        step_input(t, input);
        if (turn_dies(t, TURN_POINT_STEP_AFTER))
            return false;
    }
    return true;
}

static bool is_due(const struct turn *t)
{
    int64_t deadline = core_next_deadline(t->core);
    return deadline >= 0 && deadline <= t->mono_ms;
}

/* After the inputs: an answer that is here already counts before its deadline does. */
static bool step_tick(struct turn *t)
{
    if (!is_due(t))
        return true;
    if (turn_dies(t, TURN_POINT_TICK_BEFORE))
        return false;
    struct command command = {.kind = COMMAND_TICK, .actor = STR("clock")};
    struct outcome outcome;
    stamp(t, &command);
    step(t, &command, &outcome);
    return !turn_dies(t, TURN_POINT_TICK_AFTER);
}

/* A command that alone changed more than a batch should hold has opened a large one: what anneals
 * out of it goes into the same batch for as long as it changes no further rows. So a commit and
 * the no-ops it sets free are written once, not twice. */
static bool step_anneal(struct turn *t)
{
    const uint32_t before = core_changed(t->core);
    const uint32_t until = before < t->rows_max ? t->rows_max : before + t->rows_max / ANNEAL_SHARE;
    for (int i = 0; i < ANNEAL_STEPS_MAX && has_work(t); i++) {
        uint32_t changed = core_changed(t->core);
        if (changed >= until)
            return true;
        if (turn_dies(t, TURN_POINT_ANNEAL_BEFORE))
            return false;
        struct command command = {.kind = COMMAND_ANNEAL, .actor = STR("annealer")};
        command.anneal.budget = until - changed;
        struct outcome outcome;
        stamp(t, &command);
        step(t, &command, &outcome);
        if (turn_dies(t, TURN_POINT_ANNEAL_AFTER))
            return false;
        t->balked = outcome.verdict != VERDICT_DONE;
    }
    return true;
}

/* ---- commit ---- */

struct collecting {
    struct buf gone; /* rows that end: they come first */
    struct buf bytes;
    uint32_t bytes_max;
    uint32_t rows;
    struct events *events;
};

static void collect_change(void *context, const struct change *change)
{
    struct collecting *collecting = context;
    /* Beyond that the batch is given up, so what is left out of it does not matter. */
    if (collecting->bytes.len < collecting->bytes_max)
        batch_put(change->gone ? &collecting->gone : &collecting->bytes, change);
    collecting->rows++;
    audit_count(collecting->events, change);
}

static uint32_t bytes_max(const struct turn *t)
{
    return t->ports.batch_bytes_max ? t->ports.batch_bytes_max : BATCH_BYTES_MAX;
}

static void collect(struct turn *t)
{
    const uint32_t most = bytes_max(t);
    struct collecting collecting = {.gone = buf_in(&t->arena),
                                    .bytes = buf_in(&t->arena),
                                    .bytes_max = most,
                                    .events = &t->events};
    uint64_t guess = (uint64_t)core_changed(t->core) * ROW_BYTES_GUESS;
    buf_room(&collecting.bytes, guess < most ? (uint32_t)guess : most);
    t->batch.epoch = t->mark.epoch;
    t->batch.turn = t->mark.turn + 1;
    t->batch.now_ms = t->now_ms;
    t->batch.runs_before = old_runs(t);
    t->batch.events_before = old_events(t);
    core_collect(t->core, t->batch.turn, collect_change, &collecting);
    t->batch.digest = core_digest(t->core);
    t->batch.events = audit_put(&t->events, t->batch.turn, t->now_ms, &collecting.bytes);
    t->batch.rows = collecting.rows + t->batch.events;
    t->batch.changes = collecting.gone.len ? STR_CONCAT(&t->arena, buf_str(&collecting.gone),
                                                        buf_str(&collecting.bytes))
                                           : buf_str(&collecting.bytes);
}

static enum turn_status commit(struct turn *t)
{
    const struct store_port *store = &t->ports.store;
    /* Nothing changed: whatever was seen is in the store already. */
    if (core_changed(t->core) == 0)
        return perform(t);
    if (turn_dies(t, TURN_POINT_COLLECT_BEFORE))
        return TURN_CRASHED;
    collect(t);
    if (turn_dies(t, TURN_POINT_COLLECT_AFTER) || turn_dies(t, TURN_POINT_SUBMIT_BEFORE))
        return TURN_CRASHED;
    if (t->batch.changes.len >= bytes_max(t))
        return turn_batch_too_large(t);
    t->in_flight = true;
    if (t->ports.watch.submitting)
        t->ports.watch.submitting(t->ports.watch.self, &t->batch);
    err e = store->submit(store->self, &t->batch);
    if (turn_dies(t, TURN_POINT_SUBMIT_AFTER))
        return TURN_CRASHED;
    return e == OK ? TURN_AGAIN : turn_commit_failed(t, e, "the store did not take a batch");
}

static enum turn_status settle(struct turn *t)
{
    const struct store_port *store = &t->ports.store;
    bool busy = false;
    err e = store->poll(store->self, &busy);
    if (busy)
        return turn_dies(t, TURN_POINT_POLL_BUSY) ? TURN_CRASHED : TURN_WAITING;
    if (turn_dies(t, e == OK ? TURN_POINT_POLL_OK : TURN_POINT_POLL_FAILED))
        return TURN_CRASHED;
    if (e != OK)
        return turn_commit_failed(t, e, "the store did not take a batch");
    t->in_flight = false;
    turn_now_durable(t);
    return perform(t);
}

static enum turn_status make_batch(struct turn *t)
{
    const bool is_changed = core_changed(t->core) > 0;
    if (command_queue_count(&t->inputs) == 0 && !has_work(t) && !is_due(t) && !is_changed)
        return TURN_QUIET;
    if (command_queue_count(&t->inputs))
        t->balked = false; /* room may come with what comes in */
    if (!step_inputs(t) || !step_tick(t) || !step_anneal(t))
        return TURN_CRASHED;
    return commit(t);
}

enum turn_status turn_advance(struct turn *t)
{
    switch (t->phase) {
    case PHASE_CRASHED: return TURN_CRASHED;
    case PHASE_STOPPED: return TURN_STOPPED;
    case PHASE_DOWN: times_read(t); return turn_recover(t);
    case PHASE_LIVE: break;
    }
    times_read(t);
    if (t->is_stalled) {
        turn_excuse_inputs(t, ERR_UNAVAILABLE); /* hooks answer meanwhile, too */
        if (!turn_may_plan(t))
            plans_excuse(t, ERR_UNAVAILABLE);
    }
    if (t->in_flight)
        return settle(t);
    const struct store_port *store = &t->ports.store;
    const err noticed = store->notice ? store->notice(store->self) : OK;
    if (noticed != OK)
        return turn_store_lost(t, noticed);
    /* A batch would only wait, and the core would show what is not durable. */
    if (t->is_stalled)
        return TURN_WAITING;
    if (core_needs_reload(t->core))
        return turn_reload_core(t);
    return make_batch(t);
}

/* ---- coming in ---- */

static err can_take(const struct turn *t, int64_t request)
{
    switch (t->phase) {
    case PHASE_LIVE: return request && t->is_stalled ? ERR_UNAVAILABLE : OK;
    case PHASE_DOWN: return request ? ERR_UNAVAILABLE : OK;
    case PHASE_STOPPED: return ERR_FENCED;
    case PHASE_CRASHED: return ERR_UNAVAILABLE;
    }
    impossible("a phase outside the enum");
}

/* While the store is stalled no command is stepped. A dry one is a read, and is answered as other
 * reads are: if what the core shows is durable. */
static bool is_read(const struct turn *t, const struct command *command)
{
    return t->phase == PHASE_LIVE && t->is_stalled && command->is_dry && turn_may_plan(t);
}

static err take_read(struct turn *t, const struct command *command, uint32_t rounds)
{
    struct input input = {.command = *command, .rounds = rounds};
    stamp(t, &input.command);
    return plans_take(t, &input);
}

err turn_submit(struct turn *t, const struct command *command)
{
    if (is_read(t, command))
        return take_read(t, command, 0);
    err e = can_take(t, command->request);
    return e == OK ? command_queue_put(&t->inputs, command, 0) : e;
}

/* What was answered before, unless it is answered again, and what is answered now. */
static uint32_t merge_answers(const struct command *command, const struct answer *answers,
                              uint32_t count, struct answer *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < command->answer_count; i++) {
        uint32_t again = 0;
        while (again < count && answers[again].key != command->answers[i].key)
            again++;
        if (again == count)
            out[n++] = command->answers[i];
    }
    if (count)
        memcpy(out + n, answers, sizeof *answers * count);
    return n + count;
}

err turn_answer(struct turn *t, uint64_t token, const struct answer *answers, uint32_t count)
{
    struct parked *parked = parking_find(&t->parking, token);
    if (!parked)
        return ERR_NOT_FOUND;
    struct command command = parked->input.command;
    err e = can_take(t, 0);
    if (e != OK)
        return e;
    struct answer *all =
        arena_array(&parked->arena, struct answer, (uint64_t)command.answer_count + count);
    command.answer_count = merge_answers(&parked->input.command, answers, count, all);
    command.answers = all;
    e = is_read(t, &command) ? take_read(t, &command, parked->input.rounds)
                             : command_queue_put(&t->inputs, &command, parked->input.rounds);
    if (e == OK)
        parking_remove(&t->parking, parked);
    return e;
}

/* ---- reading ---- */

const struct core *turn_core(const struct turn *t)
{
    return t->core;
}

int64_t turn_seen(const struct turn *t)
{
    bool ahead = t->core && (t->in_flight || t->is_ahead || core_changed(t->core) > 0);
    return t->mark.turn + (ahead ? 1 : 0);
}

int64_t turn_durable(const struct turn *t)
{
    return t->mark.turn;
}

int64_t turn_epoch(const struct turn *t)
{
    return t->mark.epoch;
}

uint64_t turn_loads(const struct turn *t)
{
    return t->loads;
}

err turn_import_dry_run(struct turn *t, const struct str *barclamps, uint32_t count,
                        struct arena *arena, struct outcome *outcomes)
{
    if (!t->core)
        return ERR_UNAVAILABLE;
    core_import_dry_run(t->core, barclamps, count, arena, outcomes);
    return OK;
}

int64_t turn_next_ms(const struct turn *t)
{
    switch (t->phase) {
    case PHASE_LIVE: return t->in_flight || t->is_stalled ? -1 : core_next_deadline(t->core);
    case PHASE_DOWN: return t->reload ? t->reload_ms : t->write_ms;
    case PHASE_STOPPED:
    case PHASE_CRASHED: return -1;
    }
    impossible("a phase outside the enum");
}

uint32_t turn_waiting(const struct turn *t)
{
    return command_queue_count(&t->inputs);
}

uint32_t turn_parked(const struct turn *t)
{
    return t->parking.count;
}

err turn_trouble(const struct turn *t, const char **out_text)
{
    *out_text = t->trouble_text;
    return t->trouble;
}
