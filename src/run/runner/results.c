/* results.c - reports of runs to the core, and their acknowledgement.
 *
 * Owns the result of each run (`done`) from its computation to its acknowledgement, in two queues:
 * `unsent` (starts and results to submit, in the order in which they arose) and
 * `unacked` (submitted results that are not durable yet). A result that is not accepted, or does
 * not become durable, is submitted again until it is; the core accepts the first and ignores
 * repetitions. Only after the acknowledgement is the supervisor ordered to delete its record
 * (EXEC_FORGET): if the daemon dies before, the next one gets the same end again.
 *
 * Failure: after ERR_LIMIT the queue stays as it is until the next pump, which the retry timer
 * requests. A result that the core refuses is replaced by a failure, and that by a loss, so that
 * each run gets an end. A fenced daemon submits no more: the runner of the new leader reports its
 * runs. */
#include <stdio.h>

#include "run/runner/runner_private.h"
#include "sys/log.h"

enum {
    REFUSALS_MAX = 2,    /* refused results of a run that are replaced by another one */
    RESULT_DELAY_MS = 1, /* see results_are_delayed */
};

void results_queue_start(struct runner *r, struct run *run)
{
    run->start_unsent = true;
    runs_set_unsent(r, run);
}

void results_queue_end(struct runner *r, struct run *run, const struct run_done_command *done)
{
    run->stage = STAGE_REPORTING;
    run->done = *done;
    run->done.run_id = run->run_id;
    run->done.attempt = run->attempt;
    run->result_unsent = true;
    runs_set_unsent(r, run);
}

void results_fail(struct runner *r, struct run *run, enum run_result result,
                  const struct reason *why)
{
    results_queue_end(r, run,
                      &(struct run_done_command){.result = result,
                                                 .runlog = why->text,
                                                 .reason = why->code,
                                                 .reason_subject = why->subject,
                                                 .reason_text = why->text});
}

/* ---- submitting ---- */

static err results_submit_start(struct runner *r, const struct run *run)
{
    char job[32];
    struct command command = {.kind = COMMAND_RUN_BEGUN, .actor = STR("runner")};
    snprintf(job, sizeof job, "pid %lld", (long long)run->pid);
    command.run_begun.run_id = run->run_id;
    command.run_begun.attempt = run->attempt;
    command.run_begun.job = str_from(job);
    return r->callbacks.submit(r->callbacks.self, &command);
}

static err results_submit_end(struct runner *r, const struct run *run)
{
    struct command command = {.actor = STR("runner"), .request = r->request};
    if (run->is_cancelled) {
        command.kind = COMMAND_RUN_STOPPED;
        command.run_stopped.run_id = run->run_id;
        command.run_stopped.attempt = run->attempt;
    } else {
        command.kind = COMMAND_RUN_DONE;
        command.run_done = run->done;
    }
    return r->callbacks.submit(r->callbacks.self, &command);
}

static void results_add_unacked(struct runner *r, struct run *run)
{
    run->request = r->request--;
    if (run->is_unacked)
        return;
    run->is_unacked = true;
    run->next_unacked = NULL;
    if (r->unacked.last)
        r->unacked.last->next_unacked = run;
    else
        r->unacked.first = run;
    r->unacked.last = run;
}

/* Submit the start and the result of a run, if they are due. False: the turn accepts no more for
 * now. */
static bool results_submit_run(struct runner *r, struct run *run)
{
    /* If the run has ended meanwhile, its start is submitted together with the result. */
    const bool result_follows = run->stage == STAGE_ENDED || run->stage == STAGE_CONCLUDING;
    const bool submits_start = run->start_unsent && !result_follows;
    if (submits_start && results_submit_start(r, run) == ERR_LIMIT)
        return false;
    if (submits_start)
        /* if it was not accepted, it is repeated after the next core reload */
        run->start_unsent = false;
    if (!run->result_unsent)
        return true;
    const err e = results_submit_end(r, run);
    if (e == ERR_LIMIT)
        return false;
    run->result_unsent = false;
    if (e == OK)
        results_add_unacked(r, run);
    else if (e != ERR_FENCED)
        runner_schedule_retry(r);
    return true;
}

static void results_on_delay_over(uv_timer_t *timer)
{
    struct runner *r = timer->data;
    r->batch_delay_over = true;
    r->callbacks.wake(r->callbacks.self);
}

/* Delay results for up to RESULT_DELAY_MS while other runs are being concluded: a batch with ten
 * results costs the store little more than one with a single result (ADR 0062). */
static bool results_are_delayed(struct runner *r)
{
    if (r->conclude_count == 0 || r->batch_delay_over) {
        must(uv_timer_stop(&r->batch_delay) == 0);
        r->batch_delay_over = false;
        return false;
    }
    if (!uv_is_active((const uv_handle_t *)&r->batch_delay))
        must(uv_timer_start(&r->batch_delay, results_on_delay_over, RESULT_DELAY_MS, 0) == 0);
    return true;
}

bool results_submit(struct runner *r)
{
    bool any = false;
    if (!r->unsent.first || results_are_delayed(r))
        return false;
    while (r->unsent.first) {
        struct run *run = r->unsent.first;
        if (!results_submit_run(r, run)) {
            runner_schedule_retry(r);
            break;
        }
        r->unsent.first = run->next_unsent;
        if (!r->unsent.first)
            r->unsent.last = NULL;
        run->is_unsent = false;
        any = true;
    }
    return any;
}

/* ---- acknowledgement ---- */

/* The core refused a result, which is a defect of the jig or the runner. The run must not stay
 * without an end, so report it as failed; if that is refused too, report it as lost without any
 * text, and repeat this until it is accepted. */
static void results_handle_refusal(struct runner *r, struct run *run)
{
    if (run->refusals >= REFUSALS_MAX) {
        runner_schedule_retry(r);
        return;
    }
    run->refusals++;
    const bool is_last = run->refusals == REFUSALS_MAX;
    log_with(LOG_ERROR, LOG_FIELDS(LOG_I64("run", run->run_id), LOG_I64("attempt", run->attempt)),
             "the core refused the result of a run; reporting it as %s",
             is_last ? "lost" : "failed");
    if (is_last)
        results_fail(r, run, RESULT_LOST, &(struct reason){.code = REASON_NONE});
    else
        results_fail(
            r, run, RESULT_FAILED,
            &(struct reason){.code = REASON_RESULT_INVALID,
                             .text = STR("the core refused the result of the run as invalid")});
    r->callbacks.wake(r->callbacks.self);
}

void runner_on_result(struct runner *r, int64_t request, err why)
{
    struct run *run = r->unacked.first;
    while (run && run->request != request)
        run = run->next_unacked;
    if (!run || r->is_closed)
        return;
    run->request = 0;
    if (why == ERR_REFUSED) {
        results_handle_refusal(r, run);
    } else if (why != OK) {
        if (why != ERR_FENCED)
            runner_schedule_retry(r);
    } else if (!run->is_unsent) {
        /* If the order is lost, the supervisor reports the run again after a reconnect. */
        if (r->is_connected && run->known_to_supervisor)
            exec_client_forget(r->client, run->run_id, run->attempt);
        runs_remove(r, run);
        if (r->needs_reconcile)
            r->callbacks.wake(r->callbacks.self);
    }
}
