/* results.c - what the core is told, and whether it is durable.
 *
 * Answers leave in the order in which they came to be. One that is not taken, or does not become
 * durable, is given again, until it is: the core takes the first and lets the others go.
 */
#include <stdio.h>

#include "run/runner/runner_private.h"
#include "sys/log.h"

enum { REFUSALS_MAX = 2, ANSWER_WAITS_MS = 1 };

void results_say_begun(struct runner *r, struct run *run)
{
    run->begun_due = true;
    runs_set_saying(r, run);
}

void results_give(struct runner *r, struct run *run, const struct run_done_command *done)
{
    run->stage = STAGE_ANSWERED;
    run->done = *done;
    run->done.run_id = run->run_id;
    run->done.attempt = run->attempt;
    run->answer_due = true;
    runs_set_saying(r, run);
}

void results_fail(struct runner *r, struct run *run, enum run_result result,
                  const struct reason *why)
{
    results_give(r, run,
                 &(struct run_done_command){.result = result,
                                            .runlog = why->text,
                                            .reason = why->code,
                                            .reason_subject = why->subject,
                                            .reason_text = why->text});
}

/* ---- handing over ---- */

static err submit_begun(struct runner *r, const struct run *run)
{
    char job[32];
    struct command command = {.kind = COMMAND_RUN_BEGUN, .actor = STR("runner")};
    snprintf(job, sizeof job, "pid %lld", (long long)run->pid);
    command.run_begun.run_id = run->run_id;
    command.run_begun.attempt = run->attempt;
    command.run_begun.job = str_from(job);
    return r->seams.submit(r->seams.self, &command);
}

static err submit_answer(struct runner *r, const struct run *run)
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
    return r->seams.submit(r->seams.self, &command);
}

static void wait_for_word(struct runner *r, struct run *run)
{
    run->request = r->request--;
    if (run->is_handed)
        return;
    run->is_handed = true;
    run->next_told = NULL;
    if (r->told.last)
        r->told.last->next_told = run;
    else
        r->told.first = run;
    r->told.last = run;
}

/* False: no more is taken for now. */
static bool say(struct runner *r, struct run *run)
{
    /* Of one that has ended meanwhile it goes with the answer, if that is near. */
    const bool is_near = run->stage == STAGE_ENDED || run->stage == STAGE_CONCLUDING;
    const bool begun_now = run->begun_due && !is_near;
    if (begun_now && submit_begun(r, run) == ERR_LIMIT)
        return false;
    if (begun_now)
        run->begun_due = false; /* what was not taken is asked for after the next load */
    if (!run->answer_due)
        return true;
    const err e = submit_answer(r, run);
    if (e == ERR_LIMIT)
        return false;
    run->answer_due = false;
    if (e == OK)
        wait_for_word(r, run);
    else if (e != ERR_FENCED)
        runner_try_later(r);
    return true;
}

static void wait_is_over(uv_timer_t *timer)
{
    struct runner *r = timer->data;
    r->has_waited = true;
    r->seams.wake(r->seams.self);
}

/* A batch costs the store nearly as much for one answer as for ten: those of runs that ended
 * together go together. */
static bool waits_for_others(struct runner *r)
{
    if (r->concluding == 0 || r->has_waited) {
        must(uv_timer_stop(&r->gathering) == 0);
        r->has_waited = false;
        return false;
    }
    if (!uv_is_active((const uv_handle_t *)&r->gathering))
        must(uv_timer_start(&r->gathering, wait_is_over, ANSWER_WAITS_MS, 0) == 0);
    return true;
}

bool results_hand_over(struct runner *r)
{
    bool any = false;
    if (!r->saying.first || waits_for_others(r))
        return false;
    while (r->saying.first) {
        struct run *run = r->saying.first;
        if (!say(r, run)) {
            runner_try_later(r);
            break;
        }
        r->saying.first = run->next_saying;
        if (!r->saying.first)
            r->saying.last = NULL;
        run->is_saying = false;
        any = true;
    }
    return any;
}

/* ---- the word ---- */

static struct run *told_of(const struct runner *r, int64_t request)
{
    struct run *run = r->told.first;
    while (run && run->request != request)
        run = run->next_told;
    return run;
}

/* It can only be our mistake; the run must not be left without an end for it. The last resort says
 * as little as can be said, and is given again until it is taken. */
static void mend(struct runner *r, struct run *run)
{
    if (run->refusals >= REFUSALS_MAX) {
        runner_try_later(r);
        return;
    }
    run->refusals++;
    const bool is_last = run->refusals == REFUSALS_MAX;
    log_with(LOG_ERROR, LOG_FIELDS(LOG_I64("run", run->run_id), LOG_I64("attempt", run->attempt)),
             "the answer of a run was refused; %s", is_last ? "it is lost" : "it has failed");
    if (is_last)
        results_fail(r, run, RESULT_LOST, &(struct reason){.code = REASON_NONE});
    else
        results_fail(r, run, RESULT_FAILED,
                     &(struct reason){.code = REASON_RESULT_INVALID,
                                      .text = STR("what came of the run was not understood")});
    r->seams.wake(r->seams.self);
}

void runner_on_result(struct runner *r, int64_t request, err why)
{
    struct run *run = told_of(r, request);
    if (!run || r->is_closed)
        return;
    run->request = 0;
    if (why == ERR_REFUSED) {
        mend(r, run);
    } else if (why != OK) {
        if (why != ERR_FENCED)
            runner_try_later(r);
    } else if (!run->is_saying) {
        /* Should the supervisor not hear it, it tells of the run at the next connection. */
        if (r->is_connected && run->is_known)
            exec_client_forget(r->client, run->run_id, run->attempt);
        runs_remove(r, run);
        if (r->is_unsettled)
            r->seams.wake(r->seams.self);
    }
}
