#include "sim/world/actors.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text/buf.h"
#include "sim/oracle/checks.h"
#include "sim/scenario/transcript.h"

/* The simulated runner guarantees exactly what port/runner_port.h requires: an attempt is
 * identified by (run, attempt) and executed once, and its result is sent again until the core no
 * longer waits for it. Every order is checked against I3 (one run), I5 (cause before effect) and I6
 * (epochs).
 *
 * A crash of the runner ends all running attempts. Either it reports them as lost at once, or it
 * forgets them and answers a query with LOST, or starts again if the attempt had not begun. */

enum {
    SECOND = 1000,
    MINUTE = 60 * SECOND,
    HOUR = 60 * MINUTE,
};

static struct attempt *runner_sim_find(struct world *w, int64_t run_id, uint32_t attempt)
{
    for (uint32_t i = w->attempts.count; i-- > 0;)
        if (w->attempts.at[i].run_id == run_id && w->attempts.at[i].attempt == attempt)
            return &w->attempts.at[i];
    return NULL;
}

static int64_t runner_sim_index(const struct world *w, const struct attempt *attempt)
{
    return attempt - w->attempts.at;
}

static struct attempt *runner_sim_add(struct world *w, const struct run_order *order)
{
    struct attempts *attempts = &w->attempts;
    if (attempts->count == attempts->cap) {
        attempts->cap = attempts->cap ? 2 * attempts->cap : 64;
        attempts->at = realloc(attempts->at, attempts->cap * sizeof *attempts->at);
        must(attempts->at);
    }
    attempts->at[attempts->count] = (struct attempt){.run_id = order->run_id,
                                                     .attempt = order->attempt,
                                                     .node_id = order->node_id,
                                                     .noderole_id = order->noderole_id,
                                                     .phase = ATTEMPT_ENDED,
                                                     .known = true};
    return &attempts->at[attempts->count++];
}

/* ---- results ---- */

static int64_t runner_sim_draw_delay(struct world *w)
{
    if (world_fault(w, FAULT_ANSWER_LATE))
        return prng_between(&w->rng, MINUTE, 4 * HOUR);
    return prng_between(&w->rng, 1, 2 * SECOND);
}

static void runner_sim_send_result(struct world *w, struct attempt *attempt)
{
    attempt->known = true; /* an attempt whose result was sent is never forgotten */
    if (world_fault(w, FAULT_ANSWER_LOST))
        return;
    world_send_bytes(w, runner_sim_draw_delay(w), attempt->answer);
    if (world_fault(w, FAULT_ANSWER_TWICE)) {
        const int64_t first = runner_sim_draw_delay(w);
        world_send_bytes(w, first + prng_between(&w->rng, 0, HOUR), attempt->answer);
    }
}

/* Store the result and send it until the core has handled it. */
static void runner_sim_set_result(struct world *w, struct attempt *attempt,
                                  const struct command *command)
{
    attempt->phase = ATTEMPT_ENDED;
    attempt->answer = world_encode(w, command);
    runner_sim_send_result(w, attempt);
    world_in(w, prng_between(&w->rng, 10 * MINUTE, 2 * HOUR), EVENT_RESEND,
             runner_sim_index(w, attempt));
}

static bool runner_sim_is_awaited(const struct world *w, const struct attempt *attempt)
{
    const struct core *core = world_core(w);
    struct record record;
    if (!core)
        return true;
    return core_record(core, TABLE_RUN, attempt->run_id, &record) &&
           record.run.attempt == attempt->attempt &&
           (record.run.state == RUN_RUNNING || record.run.state == RUN_STOPPING);
}

void runner_sim_resend(struct world *w, int64_t attempt_ix)
{
    struct attempt *attempt = &w->attempts.at[attempt_ix];
    if (attempt->phase != ATTEMPT_ENDED || str_is_empty(attempt->answer) ||
        !runner_sim_is_awaited(w, attempt))
        return;
    runner_sim_send_result(w, attempt);
    world_in(w, prng_between(&w->rng, 10 * MINUTE, 2 * HOUR), EVENT_RESEND, attempt_ix);
}

static struct command runner_sim_make_stopped(const struct attempt *attempt)
{
    struct command command = {.kind = COMMAND_RUN_STOPPED, .actor = STR("runner")};
    command.run_stopped.run_id = attempt->run_id;
    command.run_stopped.attempt = attempt->attempt;
    return command;
}

static struct command runner_sim_make_done(const struct attempt *attempt, enum run_result result)
{
    struct command command = {.kind = COMMAND_RUN_DONE, .actor = STR("runner")};
    command.run_done.run_id = attempt->run_id;
    command.run_done.attempt = attempt->attempt;
    command.run_done.result = result;
    return command;
}

/* ---- execution ---- */

/* Draw the result of a run, with the power action that it requests for its node. */
static struct command runner_sim_draw_result(struct world *w, struct attempt *attempt)
{
    struct command command = runner_sim_make_done(attempt, RESULT_OK);
    struct run_done_command *result = &command.run_done;
    if (world_fault(w, FAULT_RUN_FAILED)) {
        result->result = RESULT_FAILED;
        result->runlog = STR("exit status 1: injected failure");
    } else if (world_fault(w, FAULT_RUN_ASYNC)) {
        result->result = RESULT_ASYNC;
    } else if (world_fault(w, FAULT_RUN_PARKED)) {
        result->result = RESULT_PARKED;
        result->park_ms = prng_between(&w->rng, 10 * SECOND, HOUR);
        result->node_dead = prng_chance(&w->rng, 200);
        result->power = result->node_dead ? STR("reboot") : STR("");
    } else if (world_fault(w, FAULT_RUN_NODE_DEAD)) {
        result->node_dead = true;
        result->power = prng_chance(&w->rng, 500) ? STR("reboot") : STR("off");
    } else if (world_fault(w, FAULT_RUN_STOP)) {
        result->stop = true;
    }
    if (result->result == RESULT_OK && prng_chance(&w->rng, 300)) {
        struct buf wall = buf_in(&w->arena);
        buf_put_z(&wall, "{\"app\":{\"seen\":");
        buf_put_u64(&wall, prng_below(&w->rng, 4));
        buf_put_z(&wall, "}}");
        result->has_wall = true;
        result->wall = buf_str(&wall);
    }
    return command;
}

static void runner_sim_begin(struct world *w, struct attempt *attempt)
{
    attempt->phase = ATTEMPT_RUNNING;
    attempt->cancelled = false;
    attempt->known = true;
    attempt->starts++;
    attempt->generation++;
    int64_t takes_ms = prng_between(&w->rng, SECOND, 10 * MINUTE);
    if (world_fault(w, FAULT_RUN_SLOW))
        takes_ms = prng_between(&w->rng, HOUR, 8 * HOUR);
    if (w->phase == PHASE_LIVENESS)
        takes_ms = prng_between(&w->rng, 100, MINUTE);
    struct command begun = {.kind = COMMAND_RUN_BEGUN, .actor = STR("runner")};
    begun.run_begun.run_id = attempt->run_id;
    begun.run_begun.attempt = attempt->attempt;
    begun.run_begun.job = STR("job");
    const bool reordered = world_fault(w, FAULT_ANSWER_REORDERED);
    if (!world_fault(w, FAULT_ANSWER_LOST))
        world_send(w, reordered ? takes_ms + MINUTE : prng_between(&w->rng, 1, SECOND), &begun);
    struct buf generation = buf_in(&w->arena);
    buf_put_varint(&generation, attempt->generation);
    world_at(w, w->mono_ms + takes_ms, EVENT_ATTEMPT_ENDS, runner_sim_index(w, attempt),
             buf_str(&generation));
}

/* Later, resume the parked run or report the asynchronous result by a retry. */
static void runner_sim_schedule_resume(struct world *w, const struct attempt *attempt,
                                       enum run_result result)
{
    struct command command = {.kind = COMMAND_NODEROLE_RETRY, .actor = STR("runner")};
    command.noderole_retry.id = attempt->noderole_id;
    if (result == RESULT_PARKED) {
        if (prng_chance(&w->rng, 700))
            operator_install(w, attempt->run_id, attempt->node_id);
        command.kind = COMMAND_RUN_RESUME;
        command.run_resume.run_id = attempt->run_id;
        if (prng_chance(&w->rng, 300))
            return; /* it is resumed at its deadline */
    }
    world_send(w, prng_between(&w->rng, SECOND, 2 * HOUR), &command);
}

void runner_sim_ends(struct world *w, int64_t attempt_ix, struct str generation)
{
    struct attempt *attempt = &w->attempts.at[attempt_ix];
    uint64_t meant = 0;
    uint32_t at = 0;
    if (!varint_read(generation, &at, &meant) || meant != attempt->generation ||
        attempt->phase != ATTEMPT_RUNNING)
        return;
    if (!nodes_sim_is_up(w, attempt->node_id) && w->phase == PHASE_SAFETY) {
        /* The machine is down: half of the attempts hang until it is up or they are cancelled. */
        world_at(w, w->mono_ms + 6 * HOUR, EVENT_ATTEMPT_ENDS, attempt_ix, generation);
        if (prng_chance(&w->rng, 500))
            return;
    }
    const struct command result = runner_sim_draw_result(w, attempt);
    runner_sim_set_result(w, attempt, &result);
    if (result.run_done.result == RESULT_PARKED || result.run_done.result == RESULT_ASYNC)
        runner_sim_schedule_resume(w, attempt, (enum run_result)result.run_done.result);
    if (result.run_done.node_dead)
        world_in(w, 1, EVENT_NODE_FAILS, attempt->node_id);
    if (world_fault(w, FAULT_ANSWER_STALE) && attempt->attempt > 1) {
        struct command stale = result;
        stale.run_done.attempt--;
        world_send(w, prng_between(&w->rng, 1, HOUR), &stale);
    }
}

/* ---- runner port ---- */

static void runner_sim_check_order(struct world *w, const struct run_order *order, const char *what)
{
    transcript_effect(w->transcript, what, order->run_id, order->attempt, order->jig);
    if (order->epoch < w->attempts.epoch)
        world_fail(w, "I6: run %lld gets an order of epoch %lld after one of epoch %lld",
                   (long long)order->run_id, (long long)order->epoch, (long long)w->attempts.epoch);
    w->attempts.epoch = order->epoch;
}

/* I3: at most one running attempt per noderole and per node. */
static void runner_sim_check_alone(struct world *w, const struct attempt *mine)
{
    for (uint32_t i = 0; i < w->attempts.count; i++) {
        const struct attempt *other = &w->attempts.at[i];
        if (other == mine || other->phase != ATTEMPT_RUNNING)
            continue;
        if (other->noderole_id == mine->noderole_id || other->node_id == mine->node_id)
            world_fail(w, "I3: run %lld of noderole %lld starts while run %lld runs on node %lld",
                       (long long)mine->run_id, (long long)mine->noderole_id,
                       (long long)other->run_id, (long long)other->node_id);
    }
}

static void runner_sim_start(void *self, const struct run_order *order)
{
    struct world *w = self;
    runner_sim_check_order(w, order, "start");
    if (!durability_oracle_has_run(&w->checks->ledger, order->run_id, order->attempt))
        world_fail(w, "I5: run %lld starts before it is durable", (long long)order->run_id);
    struct attempt *attempt = runner_sim_find(w, order->run_id, order->attempt);
    if (attempt) {
        world_fail(w, "I3: attempt %u of run %lld is started twice", order->attempt,
                   (long long)order->run_id);
        return;
    }
    attempt = runner_sim_add(w, order);
    runner_sim_check_alone(w, attempt);
    runner_sim_begin(w, attempt);
}

static void runner_sim_cancel(void *self, const struct run_order *order)
{
    struct world *w = self;
    runner_sim_check_order(w, order, "cancel");
    struct attempt *attempt = runner_sim_find(w, order->run_id, order->attempt);
    if (!attempt)
        attempt = runner_sim_add(w, order);
    attempt->cancelled = true;
    /* The attempt may just have ended; then its result is sent instead. */
    const bool too_late = attempt->phase == ATTEMPT_RUNNING && prng_chance(&w->rng, 200);
    const struct command command =
        too_late ? runner_sim_make_done(attempt, RESULT_OK) : runner_sim_make_stopped(attempt);
    runner_sim_set_result(w, attempt, &command);
}

static void runner_sim_query(void *self, const struct run_order *order)
{
    struct world *w = self;
    runner_sim_check_order(w, order, "query");
    struct attempt *attempt = runner_sim_find(w, order->run_id, order->attempt);
    if (attempt && attempt->known) {
        if (attempt->phase == ATTEMPT_ENDED && !str_is_empty(attempt->answer))
            runner_sim_send_result(w, attempt);
        return;
    }
    if (!attempt)
        attempt = runner_sim_add(w, order);
    if (order->begun) {
        const struct command lost = runner_sim_make_done(attempt, RESULT_LOST);
        runner_sim_set_result(w, attempt, &lost);
        return;
    }
    runner_sim_check_alone(w, attempt);
    runner_sim_begin(w, attempt);
}

/* The runner crashes, and its processes with it. Half of the attempts are reported as lost at once,
 * the others are unknown to the runner until they are queried or sent again. */
void runner_sim_crash(struct world *w)
{
    if (w->phase == PHASE_SAFETY)
        world_in(w, prng_between(&w->rng, 10 * MINUTE, 10 * HOUR), EVENT_RUNNER_CRASHES, 0);
    if (!world_fault(w, FAULT_RUNNER_CRASH))
        return;
    for (uint32_t i = 0; i < w->attempts.count; i++) {
        struct attempt *attempt = &w->attempts.at[i];
        if (attempt->phase != ATTEMPT_RUNNING)
            continue;
        const struct command lost = runner_sim_make_done(attempt, RESULT_LOST);
        attempt->generation++;
        if (prng_chance(&w->rng, 500)) {
            runner_sim_set_result(w, attempt, &lost);
            continue;
        }
        attempt->phase = ATTEMPT_ENDED;
        attempt->known = false;
        attempt->answer = world_encode(w, &lost);
        world_in(w, prng_between(&w->rng, 10 * MINUTE, 2 * HOUR), EVENT_RESEND, i);
    }
}

void runner_sim_node_failed(struct world *w, int64_t node_id)
{
    for (uint32_t i = 0; i < w->attempts.count; i++) {
        struct attempt *attempt = &w->attempts.at[i];
        if (attempt->phase == ATTEMPT_RUNNING && attempt->node_id == node_id &&
            prng_chance(&w->rng, 500)) {
            const struct command failed = runner_sim_make_done(attempt, RESULT_FAILED);
            attempt->generation++;
            runner_sim_set_result(w, attempt, &failed);
        }
    }
}

struct runner_port runner_sim_port(struct world *w)
{
    return (struct runner_port){.self = w,
                                .start = runner_sim_start,
                                .cancel = runner_sim_cancel,
                                .query = runner_sim_query};
}

void runner_sim_fini(struct world *w)
{
    free(w->attempts.at);
    w->attempts = (struct attempts){0};
}
