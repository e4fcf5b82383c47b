/* run_fsm.c - the state machine of a run in the runner.
 *
 * Reports of the supervisor and finished jobs only set the stage; run_fsm_advance(), called by
 * runner_pump(), decides what is done next. The stages, what a run waits for in each of them, and
 * the stages that can follow:
 *
 *   NEW               the connection to the supervisor; and, unless query_first, not being fenced
 *                     -> QUERYING (query_first), PREPARING, REPORTING (cancelled, noderole deleted,
 *                        no supervisor)
 *   QUERYING          BEGUN, ENDED or NOT_KNOWN of the supervisor
 *                     -> RUNNING, ENDED (ended, or lost), NEW (never started, or reconnect)
 *   PREPARING         a thread (JOB_PREPARE)
 *                     -> PREPARED
 *   PREPARED          the connection, and not being fenced
 *                     -> ORDERED, REPORTING (preparation failed, cancelled, no supervisor)
 *   ORDERED           BEGUN, ENDED or NOT_KNOWN
 *                     -> RUNNING, ENDED, DEFERRED (the supervisor refused), NEW (reconnect, or
 *                        refused after a cancel)
 *   DEFERRED          the retry timer
 *                     -> NEW (with query_first), RUNNING, ENDED, REPORTING (cancelled)
 *   RUNNING           ENDED or NOT_KNOWN
 *                     -> ENDED (NOT_KNOWN: lost)
 *   ENDED             nothing
 *                     -> CLEANUP_PREPARING (ssh was cut off), CONCLUDING
 *   CLEANUP_PREPARING a thread (JOB_CLEANUP_NODE)
 *                     -> CLEANUP_PREPARED
 *   CLEANUP_PREPARED  the connection
 *                     -> CLEANUP_RUNNING, ENDED (nothing to stop, or the command failed)
 *   CLEANUP_RUNNING   ENDED or NOT_KNOWN of the cleanup command
 *                     -> ENDED (with cleanup_done)
 *   CONCLUDING        a thread (JOB_CONCLUDE)
 *                     -> REPORTING
 *   REPORTING         the acknowledgement of the result by the turn; then the run is freed
 *
 * Orders are sent only while there is a connection, and a connection that breaks loses those that
 * were not answered. After a reconnect every run is therefore queried once, before any new order,
 * so that each NOT_KNOWN is the answer to exactly one query or order. A run may be started again
 * only if the supervisor has answered that it was never started; a run that was started and is
 * unknown to the supervisor is lost and never repeated here.
 *
 * This file owns the stage of each run; the runs themselves belong to run_table.c. A failure before
 * the order, of the preparation or because there is no supervisor, becomes a failed result of the
 * run. A cleanup on the node that fails is only added to the result.
 */
#include "run/jig/ssh_command.h"
#include "run/runner/runner_private.h"
#include "sys/log.h"

static void run_fsm_wake(const struct runner *r)
{
    r->callbacks.wake(r->callbacks.self);
}

/* ---- start ---- */

static bool run_fsm_load_facts(struct runner *r, struct run *run)
{
    if (run->facts)
        return true;
    struct arena arena = {0};
    struct runner_facts facts = {0};
    const struct run_order order = {.epoch = r->epoch,
                                    .run_id = run->run_id,
                                    .attempt = run->attempt,
                                    .node_id = run->node_id,
                                    .noderole_id = run->noderole_id};
    const bool is_there = r->callbacks.facts(r->callbacks.self, &order, &arena, &facts);
    if (is_there)
        runs_set_facts(run, &facts);
    arena_fini(&arena);
    return is_there;
}

static void run_fsm_report_unstarted(struct runner *r, struct run *run)
{
    results_fail(r, run, RESULT_FAILED,
                 &(struct reason){.code = REASON_CANCELLED}); /* reported as RUN_STOPPED */
    jobs_remove_files(r, run);
}

static void run_fsm_start(struct runner *r, struct run *run)
{
    if (run->is_cancelled && !run->query_first) {
        run_fsm_report_unstarted(r, run);
    } else if (!r->is_connected) {
        return;
    } else if (run->query_first) {
        run->stage = STAGE_QUERYING;
        if (run->is_cancelled) {
            run->is_cancel_sent = true;
            exec_client_cancel(r->client, run->run_id, run->attempt);
        } else {
            exec_client_query(r->client, run->run_id, run->attempt);
        }
    } else if (r->is_fenced) {
        return;
    } else if (!run_fsm_load_facts(r, run)) {
        results_fail(r, run, RESULT_FAILED,
                     &(struct reason){.code = REASON_NOT_STARTED,
                                      .text = STR("its noderole does not exist any more")});
        jobs_remove_files(r, run);
    } else {
        run->stage = STAGE_PREPARING;
        jobs_begin(r, run, JOB_PREPARE);
    }
}

/* Report a run whose process was never created: the preparation failed, or it was cancelled. */
static void run_fsm_report_not_prepared(struct runner *r, struct run *run)
{
    if (run->is_cancelled || run->job->result != OK)
        results_fail(r, run, RESULT_FAILED, &run->job->why);
    jobs_remove_files(r, run);
}

static void run_fsm_order(struct runner *r, struct run *run)
{
    if (run->is_cancelled || run->job->result != OK) {
        run_fsm_report_not_prepared(r, run);
        return;
    }
    if (!r->is_connected || r->is_fenced)
        return;
    const struct exec_spawn spec = jobs_spawn(r, run);
    if (exec_client_spawn(r->client, &spec) != OK) {
        run->job->result = ERR_LIMIT;
        run->job->why = (struct reason){
            .code = REASON_DATA_TOO_LARGE,
            .text = STR("the command line of the run is too long for a message to halligan-exec")};
        run_fsm_report_not_prepared(r, run);
        return;
    }
    run->stage = STAGE_ORDERED;
    run->never_ordered = false;
    jobs_drop(r, run->job);
    run->job = NULL;
}

void run_fsm_fail_unstarted(struct runner *r, struct run *run)
{
    const struct reason why = {.code = REASON_SUPERVISOR_DOWN,
                               .text = STR(SUPERVISOR_MISSING_TEXT)};
    if (!run->never_ordered || run->is_cancelled)
        return;
    if (run->stage == STAGE_NEW) {
        results_fail(r, run, RESULT_FAILED, &why);
    } else if (run->stage == STAGE_PREPARED && run->job->result == OK) {
        run->job->result = ERR_UNAVAILABLE;
        run->job->why = why;
        run_fsm_report_not_prepared(r, run);
    }
}

/* ---- end and cleanup on the node ---- */

/* Processes that were started over ssh survive the end of the connection. ssh reports a broken
 * connection with the status SSH_FAILED. A connection that was never established also has this
 * status, and the cleanup will fail as well; but a script can print the same error text, so the
 * text is not used to skip the cleanup. */
static bool run_fsm_needs_cleanup(const struct run *run)
{
    const bool is_cut_off = run->end.how == EXEC_EXITED ? run->end.code == SSH_FAILED
                                                        : run->end.how != EXEC_NOT_STARTED;
    return run->facts && run->facts->transport.kind == TRANSPORT_SSH && !run->cleanup_done &&
           is_cut_off;
}

static void run_fsm_finish(struct runner *r, struct run *run)
{
    const bool has_facts = run_fsm_load_facts(r, run);
    if (has_facts && run_fsm_needs_cleanup(run)) {
        run->stage = STAGE_CLEANUP_PREPARING;
        jobs_begin(r, run, JOB_CLEANUP_NODE);
        if (run->start_unsent)
            runs_set_unsent(r, run); /* the cleanup takes time: report the start now */
    } else {
        run->stage = STAGE_CONCLUDING;
        jobs_begin(r, run, JOB_CONCLUDE);
    }
}

static void run_fsm_cleanup_ended(struct runner *r, struct run *run, bool is_done)
{
    jobs_remove_files(r, run);
    run->cleanup_done = true;
    run->cleanup_failed = !is_done;
    run->stage = STAGE_ENDED;
    runs_set_due(r, run);
}

static void run_fsm_order_cleanup(struct runner *r, struct run *run)
{
    if (run->job->result != OK) {
        run_fsm_cleanup_ended(r, run, run->job->result == ERR_NOT_FOUND);
        return;
    }
    if (!r->is_connected)
        return;
    const struct exec_spawn spec = jobs_spawn(r, run);
    if (exec_client_spawn(r->client, &spec) == OK)
        run->stage = STAGE_CLEANUP_RUNNING;
    else
        run_fsm_cleanup_ended(r, run, false);
}

void run_fsm_advance(struct runner *r, struct run *run)
{
    switch (run->stage) {
    case STAGE_NEW: run_fsm_start(r, run); return;
    case STAGE_PREPARED: run_fsm_order(r, run); return;
    case STAGE_DEFERRED:
        if (run->is_cancelled)
            run_fsm_report_unstarted(r, run);
        return;
    case STAGE_QUERYING:
    case STAGE_ORDERED:
    case STAGE_RUNNING:
        if (run->is_cancelled && !run->is_cancel_sent && r->is_connected) {
            run->is_cancel_sent = true;
            exec_client_cancel(r->client, run->run_id, run->attempt);
        }
        return;
    case STAGE_ENDED: run_fsm_finish(r, run); return;
    case STAGE_CLEANUP_PREPARED: run_fsm_order_cleanup(r, run); return;
    case STAGE_PREPARING:
    case STAGE_CLEANUP_PREPARING:
    case STAGE_CLEANUP_RUNNING:
    case STAGE_CONCLUDING:
    case STAGE_REPORTING: return;
    }
    impossible("a stage outside the enum");
}

void run_fsm_retry(struct runner *r, struct run *run)
{
    if (run->stage == STAGE_DEFERRED) {
        run->stage = STAGE_NEW;
        run->query_first = true;
        runs_set_due(r, run);
    } else if (run->stage == STAGE_REPORTING && run->request == 0) {
        run->result_unsent = true;
        runs_set_unsent(r, run);
    }
}

/* ---- finished jobs ---- */

#define RUN_LOST_TEXT                                                                              \
    "the run was started, and its result is unknown: halligan-exec has no record of it"

void run_fsm_job_done(struct runner *r, struct run *run, struct job *job)
{
    run->job = job;
    if (run->stage == STAGE_CONCLUDING) {
        run->has_input = run->has_scratch = false;
        if (run->is_lost)
            results_fail(r, run, RESULT_LOST,
                         &(struct reason){.code = REASON_RUN_LOST,
                                          .text = run->cleanup_failed
                                                      ? STR(RUN_LOST_TEXT "\n" CLEANUP_FAILED_TEXT)
                                                      : STR(RUN_LOST_TEXT)});
        else
            results_queue_end(r, run, &run->job->done);
    } else if (run->stage == STAGE_PREPARING) {
        run->has_input = job->has_input;
        run->has_scratch = job->has_scratch;
        run->stage = STAGE_PREPARED;
    } else {
        must(run->stage == STAGE_CLEANUP_PREPARING);
        run->stage = STAGE_CLEANUP_PREPARED;
    }
    runs_set_due(r, run);
    run_fsm_wake(r);
}

/* ---- reports of the supervisor ---- */

/* After a reconnect: unanswered queries and orders are lost, so repeat them. */
static void run_fsm_requery(struct runner *r, struct run *run)
{
    run->is_cancel_sent = false;
    switch (run->stage) {
    case STAGE_QUERYING:
    case STAGE_ORDERED:
    case STAGE_DEFERRED:
        run->stage = STAGE_NEW;
        run->query_first = true;
        break;
    case STAGE_RUNNING: exec_client_query(r->client, run->run_id, run->attempt); break;
    case STAGE_CLEANUP_RUNNING:
        exec_client_query(r->client, CLEANUP_RUN_IDS + run->run_id, run->attempt);
        break;
    case STAGE_NEW:
    case STAGE_PREPARING:
    case STAGE_PREPARED:
    case STAGE_ENDED:
    case STAGE_CLEANUP_PREPARING:
    case STAGE_CLEANUP_PREPARED:
    case STAGE_CONCLUDING:
    case STAGE_REPORTING: break;
    }
    runs_set_due(r, run);
}

static void run_fsm_on_connected(void *self, const struct exec_welcome *welcome)
{
    struct runner *r = self;
    r->is_connected = true;
    runner_supervisor_found(r);
    r->needs_reconcile = !welcome->journal_is_of_this_boot;
    r->list_due = true;
    runs_each(r, run_fsm_requery);
    ssh_control_requery(r);
    run_fsm_wake(r);
}

static void run_fsm_on_lost(void *self)
{
    struct runner *r = self;
    if (r->is_connected)
        log_print(LOG_WARNING, "lost the connection to halligan-exec; reconnecting");
    r->is_connected = false;
    run_fsm_wake(r);
}

static bool run_fsm_expects_report(const struct run *run)
{
    return run->stage == STAGE_QUERYING || run->stage == STAGE_ORDERED ||
           run->stage == STAGE_DEFERRED || run->stage == STAGE_RUNNING;
}

/* A report about a run without an order: it is not in the store, or its end was durable before we
 * could send EXEC_FORGET. */
static void run_fsm_handle_unordered(struct runner *r, const struct exec_run *run, bool is_ended)
{
    if (is_ended) {
        exec_client_forget(r->client, run->run_id, run->attempt);
        return;
    }
    log_with(LOG_WARNING, LOG_FIELDS(LOG_I64("run", run->run_id), LOG_I64("attempt", run->attempt)),
             "halligan-exec reports a run that has no order; cancelling it");
    exec_client_cancel(r->client, run->run_id, run->attempt);
}

static struct run *run_fsm_find_cleanup(const struct runner *r, int64_t id, uint32_t attempt)
{
    struct run *run = id >= CLEANUP_RUN_IDS ? runs_find(r, id - CLEANUP_RUN_IDS, attempt) : NULL;
    return run && run->stage == STAGE_CLEANUP_RUNNING ? run : NULL;
}

static void run_fsm_on_begun(void *self, const struct exec_begun *m)
{
    struct runner *r = self;
    struct run *run = runs_find(r, m->run_id, m->attempt);
    /* Cleanup commands and shared connections are runs of the supervisor, too. */
    if (run_fsm_find_cleanup(r, m->run_id, m->attempt) || ssh_control_begun(r, m))
        return;
    if (!run) {
        run_fsm_handle_unordered(r, &(struct exec_run){m->run_id, m->attempt}, false);
        return;
    }
    if (!run_fsm_expects_report(run)) {
        /* A run that was reported as not started has been started after all, by an order that was
         * considered lost: cancel it. */
        if (run->stage == STAGE_REPORTING && !run->known_to_supervisor) {
            run->known_to_supervisor = true;
            exec_client_cancel(r->client, run->run_id, run->attempt);
        }
        return;
    }
    run->stage = STAGE_RUNNING;
    run->known_to_supervisor = true;
    runs_set_reconciled(r, run);
    /* First report with a pid: report the start, and open a shared connection for later runs. */
    if (m->pid && !run->pid) {
        run->pid = m->pid;
        if (!run->start_is_stored)
            results_queue_start(r, run);
        ssh_control_ensure(r, run);
    }
    runs_set_due(r, run);
    run_fsm_wake(r);
}

static void run_fsm_on_ended(void *self, const struct exec_ended *m)
{
    struct runner *r = self;
    struct run *run = runs_find(r, m->run_id, m->attempt);
    struct run *cleaned = run_fsm_find_cleanup(r, m->run_id, m->attempt);
    if (ssh_control_ended(r, m))
        return;
    if (cleaned)
        run_fsm_cleanup_ended(r, cleaned, m->how == EXEC_EXITED && m->code == 0);
    if (!run) {
        run_fsm_handle_unordered(r, &(struct exec_run){m->run_id, m->attempt}, true);
    } else if (run_fsm_expects_report(run)) {
        run->known_to_supervisor = true;
        runs_set_reconciled(r, run);
        runs_set_end(run, m);
        run->stage = STAGE_ENDED;
        runs_set_due(r, run);
        if (m->how != EXEC_EXITED)
            log_with(LOG_INFO,
                     LOG_FIELDS(LOG_I64("run", m->run_id), LOG_I64("attempt", m->attempt)),
                     "run ended without an exit status: %s", exec_how_name((enum exec_how)m->how));
    }
    run_fsm_wake(r);
}

static void run_fsm_handle_not_known(struct runner *r, struct run *run, bool begun)
{
    const bool had_begun = begun || run->start_is_stored || run->pid || run->stage == STAGE_RUNNING;
    if (!run_fsm_expects_report(run))
        return;
    if (run->stage == STAGE_ORDERED && !run->is_cancelled) {
        run->stage = STAGE_DEFERRED;
        runner_schedule_retry(r);
    } else if (had_begun) {
        /* The supervisor has no entry of a run that was started: the machine rebooted, or the
         * journal was lost. */
        run->is_lost = true;
        runs_set_end(run, &(struct exec_ended){.how = EXEC_DIED_WITH_SUPERVISOR});
        run->stage = STAGE_ENDED;
        runs_set_due(r, run);
    } else {
        run->stage = STAGE_NEW;
        run->query_first = false;
        runs_set_due(r, run);
    }
}

static void run_fsm_on_not_known(void *self, const struct exec_not_known *m)
{
    struct runner *r = self;
    struct run *run = runs_find(r, m->run_id, m->attempt);
    struct run *cleaned = run_fsm_find_cleanup(r, m->run_id, m->attempt);
    if (ssh_control_not_known(r, m))
        return;
    if (cleaned)
        run_fsm_cleanup_ended(r, cleaned, false);
    else if (run)
        run_fsm_handle_not_known(r, run, m->begun);
    run_fsm_wake(r);
}

static void run_fsm_on_fenced(void *self, int64_t epoch)
{
    struct runner *r = self;
    if (epoch <= r->epoch || r->is_fenced)
        return;
    r->is_fenced = true;
    log_with(LOG_ERROR, LOG_FIELDS(LOG_I64("epoch", r->epoch), LOG_I64("newer", epoch)),
             "a daemon with a higher epoch uses halligan-exec; this daemon starts no more runs");
}

struct exec_client_callbacks run_fsm_callbacks(struct runner *r)
{
    return (struct exec_client_callbacks){.self = r,
                                          .connected = run_fsm_on_connected,
                                          .lost = run_fsm_on_lost,
                                          .begun = run_fsm_on_begun,
                                          .ended = run_fsm_on_ended,
                                          .not_known = run_fsm_on_not_known,
                                          .fenced = run_fsm_on_fenced};
}
