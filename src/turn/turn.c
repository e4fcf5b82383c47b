#include "turn/turn.h"

#include <string.h>

#include "base/mem/pages.h"
#include "base/text/buf.h"
#include "model/limits.h"
#include "turn/turn_private.h"

/* The pipeline of a turn: take, step, commit, perform (ADR 0001).
 *
 *   take     Commands leave the queue in order of arrival and are stamped with time and nonce.
 *   step     The core executes each one; outcomes and effects are kept in the arena of the batch.
 *   commit   All changed rows are encoded into one batch, which is submitted to the store.
 *   perform  After the store has committed, the changes of the boot view are reported to the boot
 *            port, then effects are performed, then replies are sent.
 *
 * This file owns struct turn and with it the core, the queue of commands and the batch in
 * progress, from its first step until turn_forget_batch().
 *
 * Order: no effect and no reply leaves before the rows it depends on are durable. One batch is in
 * flight at a time. Commands that arrive meanwhile wait in the queue and form the next batch,
 * which makes a busy store commit larger batches (group commit). Within a batch, inputs come
 * first, then the tick, so that a result that has arrived counts before its deadline; then
 * annealing steps, which start what the inputs made possible. A batch is closed by the number of
 * changed rows.
 *
 * Failure: if the store does not commit, the core is ahead of the store and cannot be used;
 * recover.c drops it and loads another. If nothing changed, the perform phase follows directly:
 * the replies depend on rows that are durable already. A function that returns false or
 * TURN_CRASHED was ended by the simulator at a crash point; its callers return at once. */

enum {
    ANNEAL_STEPS_MAX = 1024, /* annealing steps in one batch                              */
    ANNEAL_SHARE = 10,       /* 1/10 of the rows of a batch is reserved for the annealer   */
    ROW_BYTES_GUESS = 96,    /* bytes of an encoded row, for the first size of the buffer  */
};

bool turn_crashes_at(struct turn *t, enum turn_point point)
{
    const struct crash_port *port = &t->ports.crash;
    if (!port->crash || !port->crash(port->self, turn_point_name(point)))
        return false;
    t->phase = PHASE_CRASHED;
    return true;
}

static struct events turn_no_events(struct turn *t)
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
    t->events = turn_no_events(t);
    t->rows_max = BATCH_ROWS;
    t->slice_began_ms = -1;
    pending_init(&t->pending);
    return t;
}

void turn_free(struct turn *t)
{
    if (!t)
        return;
    plans_fini(t);
    core_free(t->core);
    command_queue_fini(&t->inputs);
    pending_fini(&t->pending);
    arena_fini(&t->arena);
    sys_pages_put(t, sizeof *t);
}

/* After a batch with a slice, further slices wait for as long as its commit took. A command that
 * arrives while a batch is in flight waits for that batch and then for its own; without the pause
 * this would concern every command while there are slices (ADR 0085). */
static void turn_pause_slices(struct turn *t)
{
    enum { PAUSE_MS_MAX = 100 };
    const int64_t pause_ms = t->mono_ms - t->slice_began_ms;
    if (t->slice_began_ms >= 0)
        t->slices_ms = t->mono_ms + (pause_ms < PAUSE_MS_MAX ? pause_ms : PAUSE_MS_MAX);
    t->slice_began_ms = -1;
}

bool turn_pauses_slices(const struct turn *t)
{
    return t->mono_ms < t->slices_ms && core_has_only_slices_left(t->core);
}

void turn_now_durable(struct turn *t)
{
    turn_pause_slices(t);
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
    t->events = turn_no_events(t);
    t->replies = t->last_reply = NULL;
    t->batch = (struct batch){0};
    t->in_flight = t->in_doubt = t->replies_unsent = false;
    t->slice_began_ms = -1;
}

/* ---- perform ---- */

static struct run_order turn_run_order(const struct turn *t, const struct effect *e)
{
    return (struct run_order){.epoch = t->mark.epoch,
                              .run_id = e->id,
                              .attempt = e->attempt,
                              .node_id = e->node_id,
                              .noderole_id = e->noderole_id,
                              .jig = e->jig,
                              .data = e->data};
}

static void turn_query_run(struct turn *t, const struct effect *e)
{
    struct record record;
    if (!core_record(t->core, TABLE_RUN, e->id, &record))
        return;
    struct run_order order = turn_run_order(t, e);
    order.begun = record.run.begun;
    if (order.data.len == 0)
        order.data = record.run.data;
    t->ports.runner.query(t->ports.runner.self, &order);
}

static void turn_deliver_outbox(struct turn *t, int64_t id)
{
    struct record record;
    /* A later command of the same batch may have removed the row. */
    if (!core_record(t->core, TABLE_OUTBOX, id, &record))
        return;
    switch ((enum outbox_kind)record.outbox.kind) {
    case OUTBOX_HOOK: t->ports.hooks.deliver(t->ports.hooks.self, &record.outbox); return;
    case OUTBOX_POWER: t->ports.power.act(t->ports.power.self, &record.outbox); return;
    case OUTBOX_PROBE: t->ports.power.probe(t->ports.power.self, &record.outbox); return;
    }
    impossible("unknown kind of outbox row");
}

static void turn_perform_effect(struct turn *t, const struct effect *e)
{
    const struct runner_port *runner = &t->ports.runner;
    struct run_order order = turn_run_order(t, e);
    switch (e->kind) {
    case EFFECT_RUN_START: runner->start(runner->self, &order); return;
    case EFFECT_RUN_CANCEL: runner->cancel(runner->self, &order); return;
    case EFFECT_RUN_QUERY: turn_query_run(t, e); return;
    case EFFECT_OUTBOX: turn_deliver_outbox(t, e->id); return;
    }
    impossible("unknown kind of effect");
}

bool turn_perform_effects(struct turn *t, const struct effects *effects)
{
    for (const struct effect *e = effects->first; e; e = e->next) {
        if (turn_crashes_at(t, TURN_POINT_EFFECT_BEFORE))
            return false;
        turn_perform_effect(t, e);
        if (turn_crashes_at(t, TURN_POINT_EFFECT_AFTER))
            return false;
    }
    return true;
}

bool turn_wait_for_hooks(struct turn *t, const struct input *input, const struct outcome *outcome)
{
    uint64_t token = pending_add(&t->pending, t->mark.epoch, input);
    if (!token) {
        turn_fail_request(t, input->command.request, ERR_LIMIT);
        return true;
    }
    struct veto_request *questions =
        arena_array(&t->arena, struct veto_request, outcome->veto_call_count);
    uint32_t count = 0;
    for (const struct veto_call *ask = outcome->veto_calls; ask; ask = ask->next)
        questions[count++] =
            (struct veto_request){ask->key, ask->hook, ask->role_id, ask->argument};
    must(count == outcome->veto_call_count);
    if (turn_crashes_at(t, TURN_POINT_ASK_BEFORE))
        return false;
    t->ports.hooks.ask(t->ports.hooks.self, token, questions, count);
    return !turn_crashes_at(t, TURN_POINT_ASK_AFTER);
}

/* Called only when the batch is durable: every reply depends on committed rows only. */
bool turn_send_replies(struct turn *t)
{
    const struct reply_port *port = &t->ports.reply;
    for (const struct pending_reply *r = t->replies; r; r = r->next) {
        if (r->outcome.verdict == VERDICT_NEEDS_HOOKS) {
            if (!turn_wait_for_hooks(t, r->input, &r->outcome))
                return false;
            continue;
        }
        if (r->input->command.request == 0)
            continue;
        if (turn_crashes_at(t, TURN_POINT_REPLY_BEFORE))
            return false;
        port->outcome(port->self, r->input->command.request, &r->outcome, t->mark.turn);
        if (turn_crashes_at(t, TURN_POINT_REPLY_AFTER))
            return false;
    }
    return true;
}

static enum turn_status turn_perform(struct turn *t)
{
    if (turn_crashes_at(t, TURN_POINT_PERFORM_BEFORE) || !turn_perform_effects(t, &t->effects) ||
        !turn_send_replies(t) || turn_crashes_at(t, TURN_POINT_RESET_BEFORE))
        return TURN_CRASHED;
    turn_forget_batch(t);
    return turn_crashes_at(t, TURN_POINT_RESET_AFTER) ? TURN_CRASHED : TURN_AGAIN;
}

enum turn_status turn_start(struct turn *t)
{
    must(t->phase == PHASE_DOWN && t->mark.epoch == 0);
    times_read(t);
    return turn_recover(t);
}

/* ---- take and step ---- */

static void turn_stamp_command(struct turn *t, struct command *command)
{
    command->now_ms = t->now_ms;
    command->mono_ms = t->mono_ms;
    command->wall_ms = t->times.wall_ms;
    /* A command that waited for hooks keeps its nonce: new random values would change the veto
     * requests, and the replies would no longer match. */
    for (int i = 0; i < 2; i++)
        if (command->nonce[i] == 0)
            command->nonce[i] = t->ports.clock.random(t->ports.clock.self);
}

static void turn_step_command(struct turn *t, const struct command *command,
                              struct outcome *outcome)
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

struct outcome turn_hooks_unsettled(struct arena *a)
{
    struct problem *problem = arena_new(a, struct problem);
    problem->code = PROBLEM_HOOKS_UNSETTLED;
    problem->text = STR("the veto requests changed each time the hooks had replied; try again");
    return (struct outcome){.verdict = VERDICT_REFUSED, .problems = problem};
}

static void turn_step_input(struct turn *t, struct input *input)
{
    turn_stamp_command(t, &input->command);
    if (input->command.is_dry && !input->command.is_brief) {
        const err e = plans_take(t, input);
        if (e != OK)
            turn_fail_request(t, input->command.request, e);
        return;
    }
    struct pending_reply *reply = arena_new(&t->arena, struct pending_reply);
    reply->input = input;
    turn_step_command(t, &input->command, &reply->outcome);
    if (reply->outcome.verdict == VERDICT_NEEDS_HOOKS && input->rounds >= ASKS_ROUNDS_MAX)
        reply->outcome = turn_hooks_unsettled(&t->arena);
    if (t->last_reply)
        t->last_reply->next = reply;
    else
        t->replies = reply;
    t->last_reply = reply;
}

static bool turn_has_work(const struct turn *t)
{
    return !t->anneal_refused && core_has_work(t->core) && !turn_pauses_slices(t);
}

static bool turn_has_row_budget(const struct turn *t)
{
    const uint32_t rows = turn_has_work(t) ? t->rows_max - t->rows_max / ANNEAL_SHARE : t->rows_max;
    return core_changed(t->core) < rows;
}

static bool turn_step_inputs(struct turn *t)
{
    if (turn_crashes_at(t, TURN_POINT_TAKE_BEFORE))
        return false;
    command_queue_begin(&t->inputs);
    if (turn_crashes_at(t, TURN_POINT_TAKE_AFTER))
        return false;
    struct input *input;
    while (turn_has_row_budget(t) && (input = command_queue_take(&t->inputs)) != NULL) {
        if (turn_crashes_at(t, TURN_POINT_STEP_BEFORE))
            return false;
        turn_step_input(t, input);
        if (turn_crashes_at(t, TURN_POINT_STEP_AFTER))
            return false;
    }
    return true;
}

static bool turn_tick_is_due(const struct turn *t)
{
    int64_t deadline = core_next_deadline(t->core);
    return deadline >= 0 && deadline <= t->mono_ms;
}

/* The tick comes after the inputs: a result that has arrived counts before its deadline. */
static bool turn_step_tick(struct turn *t)
{
    if (!turn_tick_is_due(t))
        return true;
    if (turn_crashes_at(t, TURN_POINT_TICK_BEFORE))
        return false;
    struct command command = {.kind = COMMAND_TICK, .actor = STR("clock")};
    struct outcome outcome;
    turn_stamp_command(t, &command);
    turn_step_command(t, &command, &outcome);
    return !turn_crashes_at(t, TURN_POINT_TICK_AFTER);
}

/* Anneal until the batch has rows_max changed rows. If the inputs alone exceeded that, a tenth of
 * rows_max is allowed on top; rows that have changed already do not count again. So a commit of a
 * large deployment and the no-ops that it starts are written in one batch, not in two. If only
 * deletions and DNS names are left, a batch has one slice of them, so that requests are served
 * between two slices. */
static bool turn_step_anneal(struct turn *t)
{
    const uint32_t before = core_changed(t->core);
    const uint32_t until = before < t->rows_max ? t->rows_max : before + t->rows_max / ANNEAL_SHARE;
    for (int i = 0; i < ANNEAL_STEPS_MAX && turn_has_work(t); i++) {
        uint32_t changed = core_changed(t->core);
        if (changed >= until)
            return true;
        if (turn_crashes_at(t, TURN_POINT_ANNEAL_BEFORE))
            return false;
        struct command command = {.kind = COMMAND_ANNEAL, .actor = STR("annealer")};
        command.anneal.budget = until - changed;
        struct outcome outcome;
        turn_stamp_command(t, &command);
        turn_step_command(t, &command, &outcome);
        if (turn_crashes_at(t, TURN_POINT_ANNEAL_AFTER))
            return false;
        t->anneal_refused = outcome.verdict != VERDICT_DONE;
        /* A slice may change nothing, so the number of rows does not bound it. */
        if (core_has_only_slices_left(t->core)) {
            t->slice_began_ms = t->mono_ms;
            return true;
        }
    }
    return true;
}

/* ---- commit ---- */

struct collecting {
    struct buf gone;  /* deleted rows, which come first in the batch */
    struct buf bytes; /* all other rows, then events */
    uint32_t bytes_max;
    uint32_t rows;
    struct events *events;
};

/* Called by the core for each changed row of the batch. */
static void turn_collect_change(void *context, const struct change *change)
{
    struct collecting *collecting = context;
    /* A batch of more bytes is not submitted, so the rest need not be encoded. */
    if (collecting->bytes.len < collecting->bytes_max)
        batch_put(change->gone ? &collecting->gone : &collecting->bytes, change);
    collecting->rows++;
    audit_count(collecting->events, change);
}

static uint32_t turn_batch_bytes_max(const struct turn *t)
{
    return t->ports.batch_bytes_max ? t->ports.batch_bytes_max : BATCH_BYTES_MAX;
}

/* Encode the batch. Deleted rows come first, so that a new row can use a unique value of a deleted
 * one. The digest is read after the collect, which updates it. Events come last, because the event
 * of the engine counts the rows that were collected. */
static void turn_collect(struct turn *t)
{
    const uint32_t most = turn_batch_bytes_max(t);
    struct collecting collecting = {.gone = buf_in(&t->arena),
                                    .bytes = buf_in(&t->arena),
                                    .bytes_max = most,
                                    .events = &t->events};
    uint64_t guess = (uint64_t)core_changed(t->core) * ROW_BYTES_GUESS;
    buf_room(&collecting.bytes, guess < most ? (uint32_t)guess : most);
    t->batch.epoch = t->mark.epoch;
    t->batch.turn = t->mark.turn + 1;
    t->batch.now_ms = t->now_ms;
    t->batch.runs_before = retention_runs_before(t);
    t->batch.events_before = retention_events_before(t);
    core_collect(t->core, t->batch.turn, turn_collect_change, &collecting);
    t->batch.digest = core_digest(t->core);
    t->batch.events = audit_put(&t->events, t->batch.turn, t->now_ms, &collecting.bytes);
    t->batch.rows = collecting.rows + t->batch.events;
    t->batch.changes = collecting.gone.len ? STR_CONCAT(&t->arena, buf_str(&collecting.gone),
                                                        buf_str(&collecting.bytes))
                                           : buf_str(&collecting.bytes);
}

static enum turn_status turn_commit(struct turn *t)
{
    const struct store_port *store = &t->ports.store;
    /* Nothing changed: the replies depend on rows that are in the store already. */
    if (core_changed(t->core) == 0)
        return turn_perform(t);
    if (turn_crashes_at(t, TURN_POINT_COLLECT_BEFORE))
        return TURN_CRASHED;
    turn_collect(t);
    if (turn_crashes_at(t, TURN_POINT_COLLECT_AFTER) ||
        turn_crashes_at(t, TURN_POINT_SUBMIT_BEFORE))
        return TURN_CRASHED;
    if (t->batch.changes.len >= turn_batch_bytes_max(t))
        return turn_batch_too_large(t);
    t->in_flight = true;
    if (t->ports.watch.submitting)
        t->ports.watch.submitting(t->ports.watch.self, &t->batch);
    err e = store->submit(store->self, &t->batch);
    if (turn_crashes_at(t, TURN_POINT_SUBMIT_AFTER))
        return TURN_CRASHED;
    return e == OK ? TURN_AGAIN : turn_commit_failed(t, e, "the store could not commit a batch");
}

static enum turn_status turn_poll_commit(struct turn *t)
{
    const struct store_port *store = &t->ports.store;
    bool busy = false;
    err e = store->poll(store->self, &busy);
    if (busy)
        return turn_crashes_at(t, TURN_POINT_POLL_BUSY) ? TURN_CRASHED : TURN_WAITING;
    if (turn_crashes_at(t, e == OK ? TURN_POINT_POLL_OK : TURN_POINT_POLL_FAILED))
        return TURN_CRASHED;
    if (e != OK)
        return turn_commit_failed(t, e, "the store could not commit a batch");
    t->in_flight = false;
    turn_now_durable(t);
    if (!turn_report_boot_changes(t))
        return TURN_CRASHED;
    return turn_perform(t);
}

static enum turn_status turn_make_batch(struct turn *t)
{
    const bool is_changed = core_changed(t->core) > 0;
    if (command_queue_count(&t->inputs) == 0 && !turn_has_work(t) && !turn_tick_is_due(t) &&
        !is_changed)
        return TURN_QUIET;
    if (command_queue_count(&t->inputs))
        t->anneal_refused = false; /* new input may free capacity: let the annealer try again */
    if (!turn_step_inputs(t) || !turn_step_tick(t) || !turn_step_anneal(t))
        return TURN_CRASHED;
    return turn_commit(t);
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
        turn_fail_inputs(t,
                         ERR_UNAVAILABLE); /* also commands that hooks have replied to meanwhile */
        if (!turn_may_plan(t))
            plans_fail_requests(t, ERR_UNAVAILABLE);
    }
    if (t->in_flight)
        return turn_poll_commit(t);
    const struct store_port *store = &t->ports.store;
    const err noticed = store->notice ? store->notice(store->self) : OK;
    if (noticed != OK)
        return turn_store_lost(t, noticed);
    /* Begin no batch while the store is stalled: it could not be committed, and reads would see
     * rows that are not durable. */
    if (t->is_stalled)
        return TURN_WAITING;
    if (core_needs_reload(t->core))
        return turn_reload_core(t);
    return turn_make_batch(t);
}

/* ---- input ---- */

static err turn_can_accept(const struct turn *t, int64_t request)
{
    switch (t->phase) {
    case PHASE_LIVE: return request && t->is_stalled ? ERR_UNAVAILABLE : OK;
    case PHASE_DOWN: return request ? ERR_UNAVAILABLE : OK;
    case PHASE_STOPPED: return ERR_FENCED;
    case PHASE_CRASHED: return ERR_UNAVAILABLE;
    }
    impossible("unknown phase");
}

/* While the store is stalled no command is stepped. A dry command is a read and is answered like
 * other reads, if the core has no rows that are not durable. */
static bool turn_is_read(const struct turn *t, const struct command *command)
{
    return t->phase == PHASE_LIVE && t->is_stalled && command->is_dry && turn_may_plan(t);
}

static err turn_accept_read(struct turn *t, const struct command *command, uint32_t rounds)
{
    struct input input = {.command = *command, .rounds = rounds};
    turn_stamp_command(t, &input.command);
    return plans_take(t, &input);
}

err turn_submit(struct turn *t, const struct command *command)
{
    if (turn_is_read(t, command))
        return turn_accept_read(t, command, 0);
    err e = turn_can_accept(t, command->request);
    return e == OK ? command_queue_put(&t->inputs, command, 0) : e;
}

/* Merge the veto replies of earlier rounds with new ones; a new reply replaces an old one with the
 * same key. */
static uint32_t turn_merge_veto_replies(const struct command *command,
                                        const struct veto_reply *veto_replies, uint32_t count,
                                        struct veto_reply *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < command->veto_reply_count; i++) {
        uint32_t again = 0;
        while (again < count && veto_replies[again].key != command->veto_replies[i].key)
            again++;
        if (again == count)
            out[n++] = command->veto_replies[i];
    }
    if (count)
        memcpy(out + n, veto_replies, sizeof *veto_replies * count);
    return n + count;
}

err turn_submit_veto_replies(struct turn *t, uint64_t token, const struct veto_reply *veto_replies,
                             uint32_t count)
{
    struct pending_command *pending = pending_find(&t->pending, token);
    if (!pending)
        return ERR_NOT_FOUND;
    struct command command = pending->input.command;
    err e = turn_can_accept(t, 0);
    if (e != OK)
        return e;
    struct veto_reply *all =
        arena_array(&pending->arena, struct veto_reply, (uint64_t)command.veto_reply_count + count);
    command.veto_reply_count =
        turn_merge_veto_replies(&pending->input.command, veto_replies, count, all);
    command.veto_replies = all;
    e = turn_is_read(t, &command) ? turn_accept_read(t, &command, pending->input.rounds)
                                  : command_queue_put(&t->inputs, &command, pending->input.rounds);
    if (e == OK)
        pending_remove(&t->pending, pending);
    return e;
}
