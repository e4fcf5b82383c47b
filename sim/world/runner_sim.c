#include "sim/world/actors.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text/buf.h"
#include "sim/oracle/checks.h"
#include "sim/scenario/transcript.h"

/* The runner keeps the promise of port/runner_port.h and not a bit more. It knows an attempt by
 * (run, attempt) and does its work once. It says what came of it until the daemon has understood.
 * What it was ordered is held against I3 and I5 at once. */

enum {
    SECOND = 1000,
    MINUTE = 60 * SECOND,
    HOUR = 60 * MINUTE,
};

static struct work *find(struct world *w, int64_t run_id, uint32_t attempt)
{
    for (uint32_t i = w->works.count; i-- > 0;)
        if (w->works.at[i].run_id == run_id && w->works.at[i].attempt == attempt)
            return &w->works.at[i];
    return NULL;
}

static int64_t index_of(const struct world *w, const struct work *work)
{
    return work - w->works.at;
}

static struct work *add(struct world *w, const struct run_order *order)
{
    struct works *works = &w->works;
    if (works->count == works->cap) {
        works->cap = works->cap ? 2 * works->cap : 64;
        works->at = realloc(works->at, works->cap * sizeof *works->at);
        must(works->at);
    }
    works->at[works->count] = (struct work){.run_id = order->run_id,
                                            .attempt = order->attempt,
                                            .node_id = order->node_id,
                                            .noderole_id = order->noderole_id,
                                            .phase = WORK_ENDED,
                                            .known = true};
    return &works->at[works->count++];
}

/* ---- the line to the daemon ---- */

static int64_t delay_of_answer(struct world *w)
{
    if (world_fault(w, FAULT_ANSWER_LATE))
        return prng_between(&w->chance, MINUTE, 4 * HOUR);
    return prng_between(&w->chance, 1, 2 * SECOND);
}

static void say(struct world *w, struct work *work)
{
    work->known = true; /* what was said is not forgotten any more */
    if (world_fault(w, FAULT_ANSWER_LOST))
        return;
    world_send_bytes(w, delay_of_answer(w), work->answer);
    if (world_fault(w, FAULT_ANSWER_TWICE)) {
        const int64_t first = delay_of_answer(w);
        world_send_bytes(w, first + prng_between(&w->chance, 0, HOUR), work->answer);
    }
}

/* Remember the answer and say it until the daemon has taken it in. */
static void answer(struct world *w, struct work *work, const struct command *command)
{
    work->phase = WORK_ENDED;
    work->answer = world_keep(w, command);
    say(w, work);
    world_in(w, prng_between(&w->chance, 10 * MINUTE, 2 * HOUR), EVENT_RESEND, index_of(w, work));
}

static bool daemon_waits(const struct world *w, const struct work *work)
{
    const struct core *core = world_core(w);
    struct record record;
    if (!core)
        return true;
    return core_record(core, TABLE_RUN, work->run_id, &record) &&
           record.run.attempt == work->attempt &&
           (record.run.state == RUN_RUNNING || record.run.state == RUN_STOPPING);
}

void runner_sim_resend(struct world *w, int64_t work_ix)
{
    struct work *work = &w->works.at[work_ix];
    if (work->phase != WORK_ENDED || str_is_empty(work->answer) || !daemon_waits(w, work))
        return;
    say(w, work);
    world_in(w, prng_between(&w->chance, 10 * MINUTE, 2 * HOUR), EVENT_RESEND, work_ix);
}

static struct command stopped(const struct work *work)
{
    struct command command = {.kind = COMMAND_RUN_STOPPED, .actor = STR("runner")};
    command.run_stopped.run_id = work->run_id;
    command.run_stopped.attempt = work->attempt;
    return command;
}

static struct command done(const struct work *work, enum run_result result)
{
    struct command command = {.kind = COMMAND_RUN_DONE, .actor = STR("runner")};
    command.run_done.run_id = work->run_id;
    command.run_done.attempt = work->attempt;
    command.run_done.result = result;
    return command;
}

/* ---- doing it ---- */

/* The result of a run, and what it asks for its machine. */
static struct command draw_result(struct world *w, struct work *work)
{
    struct command command = done(work, RESULT_OK);
    struct run_done_command *result = &command.run_done;
    if (world_fault(w, FAULT_RUN_FAILED)) {
        result->result = RESULT_FAILED;
        result->runlog = STR("exit status 1: the disk is on fire");
    } else if (world_fault(w, FAULT_RUN_ASYNC)) {
        result->result = RESULT_ASYNC;
    } else if (world_fault(w, FAULT_RUN_PARKED)) {
        result->result = RESULT_PARKED;
        result->park_ms = prng_between(&w->chance, 10 * SECOND, HOUR);
        result->node_dead = prng_chance(&w->chance, 200);
        result->power = result->node_dead ? STR("reboot") : STR("");
    } else if (world_fault(w, FAULT_RUN_NODE_DEAD)) {
        result->node_dead = true;
        result->power = prng_chance(&w->chance, 500) ? STR("reboot") : STR("off");
    } else if (world_fault(w, FAULT_RUN_STOP)) {
        result->stop = true;
    }
    if (result->result == RESULT_OK && prng_chance(&w->chance, 300)) {
        struct buf wall = buf_in(&w->story);
        buf_put_z(&wall, "{\"app\":{\"seen\":");
        buf_put_u64(&wall, prng_below(&w->chance, 4));
        buf_put_z(&wall, "}}");
        result->has_wall = true;
        result->wall = buf_str(&wall);
    }
    return command;
}

static void begin(struct world *w, struct work *work)
{
    work->phase = WORK_RUNNING;
    work->cancelled = false;
    work->known = true;
    work->starts++;
    work->generation++;
    int64_t takes_ms = prng_between(&w->chance, SECOND, 10 * MINUTE);
    if (world_fault(w, FAULT_RUN_SLOW))
        takes_ms = prng_between(&w->chance, HOUR, 8 * HOUR);
    if (w->phase == PHASE_LIVENESS)
        takes_ms = prng_between(&w->chance, 100, MINUTE);
    struct command begun = {.kind = COMMAND_RUN_BEGUN, .actor = STR("runner")};
    begun.run_begun.run_id = work->run_id;
    begun.run_begun.attempt = work->attempt;
    begun.run_begun.job = STR("job");
    const bool reordered = world_fault(w, FAULT_ANSWER_REORDERED);
    if (!world_fault(w, FAULT_ANSWER_LOST))
        world_send(w, reordered ? takes_ms + MINUTE : prng_between(&w->chance, 1, SECOND), &begun);
    struct buf generation = buf_in(&w->story);
    buf_put_varint(&generation, work->generation);
    world_at(w, w->mono_ms + takes_ms, EVENT_WORK_ENDS, index_of(w, work), buf_str(&generation));
}

/* Somebody comes back for what was left open. */
static void come_back(struct world *w, const struct work *work, enum run_result result)
{
    struct command command = {.kind = COMMAND_NODEROLE_RETRY, .actor = STR("runner")};
    command.noderole_retry.id = work->noderole_id;
    if (result == RESULT_PARKED) {
        command.kind = COMMAND_RUN_RESUME;
        command.run_resume.run_id = work->run_id;
        if (prng_chance(&w->chance, 300))
            return; /* the deadline will do it */
    }
    world_send(w, prng_between(&w->chance, SECOND, 2 * HOUR), &command);
}

void runner_sim_ends(struct world *w, int64_t work_ix, struct str generation)
{
    struct work *work = &w->works.at[work_ix];
    uint64_t meant = 0;
    uint32_t at = 0;
    if (!varint_read(generation, &at, &meant) || meant != work->generation ||
        work->phase != WORK_RUNNING)
        return;
    if (!nodes_sim_is_up(w, work->node_id) && w->phase == PHASE_SAFETY) {
        /* The machine is down: it will be noticed there, or end badly here. */
        world_at(w, w->mono_ms + 6 * HOUR, EVENT_WORK_ENDS, work_ix, generation);
        if (prng_chance(&w->chance, 500))
            return;
    }
    const struct command result = draw_result(w, work);
    answer(w, work, &result);
    if (result.run_done.result == RESULT_PARKED || result.run_done.result == RESULT_ASYNC)
        come_back(w, work, (enum run_result)result.run_done.result);
    if (result.run_done.node_dead)
        world_in(w, 1, EVENT_NODE_FALLS, work->node_id);
    if (world_fault(w, FAULT_ANSWER_STALE) && work->attempt > 1) {
        struct command stale = result;
        stale.run_done.attempt--;
        world_send(w, prng_between(&w->chance, 1, HOUR), &stale);
    }
}

/* ---- orders ---- */

static void check_order(struct world *w, const struct run_order *order, const char *what)
{
    transcript_effect(w->transcript, what, order->run_id, order->attempt, order->jig);
    if (order->epoch < w->works.epoch)
        world_fail(w, "I6: an order of epoch %lld after one of %lld", (long long)order->epoch,
                   (long long)w->works.epoch);
    w->works.epoch = order->epoch;
}

/* At most one work in progress per noderole and per node, whoever says so. */
static void check_alone(struct world *w, const struct work *mine)
{
    for (uint32_t i = 0; i < w->works.count; i++) {
        const struct work *other = &w->works.at[i];
        if (other == mine || other->phase != WORK_RUNNING)
            continue;
        if (other->noderole_id == mine->noderole_id || other->node_id == mine->node_id)
            world_fail(w, "I3: run %lld of noderole %lld starts while run %lld is on node %lld",
                       (long long)mine->run_id, (long long)mine->noderole_id,
                       (long long)other->run_id, (long long)other->node_id);
    }
}

static void start(void *self, const struct run_order *order)
{
    struct world *w = self;
    check_order(w, order, "start");
    if (!durability_oracle_has_run(&w->checks->ledger, order->run_id, order->attempt))
        world_fail(w, "I5: run %lld starts before it is durable", (long long)order->run_id);
    struct work *work = find(w, order->run_id, order->attempt);
    if (work) {
        world_fail(w, "I3: attempt %u of run %lld is started twice", order->attempt,
                   (long long)order->run_id);
        return;
    }
    work = add(w, order);
    check_alone(w, work);
    begin(w, work);
}

static void cancel(void *self, const struct run_order *order)
{
    struct world *w = self;
    check_order(w, order, "cancel");
    struct work *work = find(w, order->run_id, order->attempt);
    if (!work)
        work = add(w, order);
    work->cancelled = true;
    /* It may just have ended, and says so instead. */
    const bool too_late = work->phase == WORK_RUNNING && prng_chance(&w->chance, 200);
    const struct command command = too_late ? done(work, RESULT_OK) : stopped(work);
    answer(w, work, &command);
}

static void query(void *self, const struct run_order *order)
{
    struct world *w = self;
    check_order(w, order, "query");
    struct work *work = find(w, order->run_id, order->attempt);
    if (work && work->known) {
        if (work->phase == WORK_ENDED && !str_is_empty(work->answer))
            say(w, work);
        return;
    }
    if (!work)
        work = add(w, order);
    if (order->begun) {
        const struct command lost = done(work, RESULT_LOST);
        answer(w, work, &lost);
        return;
    }
    check_alone(w, work);
    begin(w, work);
}

/* Its children die with it. Whoever supervises the supervisor tells the daemon, at once or later;
 * until then nobody knows that there was such a work. */
void runner_sim_crash(struct world *w)
{
    if (w->phase == PHASE_SAFETY)
        world_in(w, prng_between(&w->chance, 10 * MINUTE, 10 * HOUR), EVENT_RUNNER_CRASHES, 0);
    if (!world_fault(w, FAULT_RUNNER_CRASH))
        return;
    for (uint32_t i = 0; i < w->works.count; i++) {
        struct work *work = &w->works.at[i];
        if (work->phase != WORK_RUNNING)
            continue;
        const struct command lost = done(work, RESULT_LOST);
        work->generation++;
        if (prng_chance(&w->chance, 500)) {
            answer(w, work, &lost);
            continue;
        }
        work->phase = WORK_ENDED;
        work->known = false;
        work->answer = world_keep(w, &lost);
        world_in(w, prng_between(&w->chance, 10 * MINUTE, 2 * HOUR), EVENT_RESEND, i);
    }
}

void runner_sim_node_fell(struct world *w, int64_t node_id)
{
    for (uint32_t i = 0; i < w->works.count; i++) {
        struct work *work = &w->works.at[i];
        if (work->phase == WORK_RUNNING && work->node_id == node_id &&
            prng_chance(&w->chance, 500)) {
            const struct command failed = done(work, RESULT_FAILED);
            work->generation++;
            answer(w, work, &failed);
        }
    }
}

struct runner_port runner_sim_port(struct world *w)
{
    return (struct runner_port){.self = w, .start = start, .cancel = cancel, .query = query};
}

void runner_sim_fini(struct world *w)
{
    free(w->works.at);
    w->works = (struct works){0};
}
