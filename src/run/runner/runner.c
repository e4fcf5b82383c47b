#include "run/runner/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/exec/spool.h"
#include "run/runner/runner_private.h"
#include "sys/files.h"
#include "sys/log.h"

/* Entry points of the runner: the orders of the turn, the round (runner_pump), timers, open and
 * close. Owns struct runner with its client, timers and the descriptor of the state directory.
 *
 * The first pump that finds a run opens the client. By then the turn has given all orders of a
 * start, so every file in runs/in and runs/scratch without an open run is a leftover and is moved
 * to the trash. Order within a round: epoch first, so that a new leader is accepted; then the runs;
 * then EXEC_LIST, after all queries, so that the supervisor reports no run that is about to be
 * queried; then the submission of results.
 *
 * Without a supervisor, runs wait for CONNECT_TIMEOUT_MS; then those that were certainly never
 * started fail, and the others wait until a supervisor answers, because their processes may be
 * alive. If the state directory of the supervisor cannot be opened, that is logged once, and it is
 * tried again after RETRY_MS. */

enum {
    RETRY_MS = 250,                  /* delay before failed operations are repeated */
    MAINTENANCE_MS = 60 * 60 * 1000, /* period of the removal of old files */
    CONNECT_TIMEOUT_MS = 30 * 1000,  /* default of patience_ms */
    REPORT_WAIT_MS = 2000,           /* ms without a connection until it is reported */
    SHARE_IDLE_MS = 60 * 1000,       /* default of share_idle_ms */
    SHARE_MAX = 64,                  /* default of share_max */
};

/* ---- orders of the turn ---- */

/* False for an order of a former leader. */
static bool runner_epoch_is_current(struct runner *r, const struct run_order *order)
{
    if (order->epoch < r->epoch)
        return false;
    if (order->epoch > r->epoch)
        r->is_fenced = false;
    r->epoch = order->epoch;
    return true;
}

static void runner_mark_due(struct runner *r, struct run *run)
{
    runs_set_due(r, run);
    r->callbacks.wake(r->callbacks.self);
}

static void runner_port_start(void *self, const struct run_order *order)
{
    struct runner *r = self;
    if (!runner_epoch_is_current(r, order))
        return;
    struct run *run = runs_find(r, order->run_id, order->attempt);
    if (run) {
        run_fsm_retry(r, run);
    } else {
        run = runs_add(r, order);
        run->never_ordered = true;
    }
    runner_mark_due(r, run);
}

static void runner_port_query(void *self, const struct run_order *order)
{
    struct runner *r = self;
    if (!runner_epoch_is_current(r, order))
        return;
    struct run *run = runs_find(r, order->run_id, order->attempt);
    if (run) {
        /* The core was reloaded: submit again what the store does not contain. */
        run->start_is_stored = order->begun;
        if (!order->begun && run->pid && run->stage != STAGE_REPORTING)
            results_queue_start(r, run);
        else if (!order->begun && run->pid)
            run->start_unsent = true; /* together with the result, if that is submitted again */
        run_fsm_retry(r, run);
        runner_mark_due(r, run);
        return;
    }
    run = runs_add(r, order);
    run->query_first = run->is_unreconciled = true;
    run->has_input = run->has_scratch = true; /* an earlier daemon may have created them */
    run->start_is_stored = order->begun;
    r->unreconciled_count++;
    runner_mark_due(r, run);
}

static void runner_port_cancel(void *self, const struct run_order *order)
{
    struct runner *r = self;
    if (!runner_epoch_is_current(r, order))
        return;
    struct run *run = runs_find(r, order->run_id, order->attempt);
    if (!run) {
        run = runs_add(r, order);
        run->query_first = run->has_input = run->has_scratch = true;
    }
    if (run->stage == STAGE_REPORTING && !run->is_cancelled) {
        run->result_unsent = true;
        runs_set_unsent(r, run);
    }
    run->is_cancelled = true;
    runner_mark_due(r, run);
}

struct runner_port runner_port(struct runner *r)
{
    return (struct runner_port){.self = r,
                                .start = runner_port_start,
                                .cancel = runner_port_cancel,
                                .query = runner_port_query};
}

uint32_t runner_count(const struct runner *r)
{
    return r->run_count;
}

void runner_set_keep(struct runner *r, uint32_t keep_runs)
{
    r->keep_runs = keep_runs;
}

const char *runner_unavailable_text(const struct runner *r)
{
    return r->supervisor_missing ? SUPERVISOR_MISSING_TEXT : "";
}

const char *runner_waiting_text(const struct runner *r)
{
    const int64_t ms = r->setup.patience_ms ? r->setup.patience_ms : CONNECT_TIMEOUT_MS;
    if (r->supervisor_missing)
        return SUPERVISOR_MISSING_TEXT;
    if (!uv_is_active((const uv_handle_t *)&r->connect_timeout) ||
        ms - (int64_t)uv_timer_get_due_in(&r->connect_timeout) < REPORT_WAIT_MS)
        return "";
    return "halligan-exec does not answer; runs wait for it";
}

/* ---- round ---- */

static bool runner_open_client(struct runner *r)
{
    const struct exec_client_setup setup = {.loop = r->setup.loop,
                                            .program = r->setup.exec_program,
                                            .dir = r->setup.data,
                                            .epoch = r->epoch,
                                            .idle_ms = r->setup.exec_idle_ms};
    bool is_open = exec_client_open(&setup, run_fsm_callbacks(r), &r->client) == OK;
    if (is_open) {
        r->state_dirfd = fcntl(exec_client_state_dirfd(r->client), F_DUPFD_CLOEXEC, 0);
        is_open = r->state_dirfd >= 0;
        if (!is_open) {
            const int error = errno;
            exec_client_close(r->client, false);
            r->client = NULL;
            errno = error;
        }
    }
    if (!is_open) {
        if (!r->failure_logged)
            log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("directory", r->setup.data)),
                     "cannot open the state directory of halligan-exec: %s; runs wait; retrying",
                     strerror(errno));
        r->failure_logged = true;
        return false;
    }
    r->sent_epoch = r->epoch;
    /* Every run of an earlier daemon has been ordered by now: other files are leftovers. */
    files_move_to_trash(r);
    jobs_start_maintenance(r);
    return true;
}

/* ---- without a supervisor ---- */

/* Fail runs that were never ordered. Runs that may have been started keep waiting: their processes
 * may be alive. */
static void runner_on_connect_timeout(uv_timer_t *timer)
{
    struct runner *r = timer->data;
    if (!r->supervisor_missing)
        log_print(
            LOG_ERROR,
            "no connection to halligan-exec until the timeout; runs that were not started fail");
    r->supervisor_missing = true;
    runs_each(r, run_fsm_fail_unstarted);
    r->callbacks.wake(r->callbacks.self);
}

static void runner_arm_connect_timeout(struct runner *r)
{
    const int64_t ms = r->setup.patience_ms ? r->setup.patience_ms : CONNECT_TIMEOUT_MS;
    if (r->is_connected || !r->run_count)
        ignore(uv_timer_stop(&r->connect_timeout), "it never fails");
    else if (!uv_is_active((const uv_handle_t *)&r->connect_timeout))
        must(uv_timer_start(&r->connect_timeout, runner_on_connect_timeout, (uint64_t)ms, 0) == 0);
}

void runner_supervisor_found(struct runner *r)
{
    if (r->supervisor_missing)
        log_print(LOG_WARNING, "halligan-exec answers again");
    r->supervisor_missing = false;
    runner_arm_connect_timeout(r);
}

bool runner_pump(struct runner *r)
{
    if (!r->client && (r->run_count || r->supervisor_missing) && !runner_open_client(r))
        runner_schedule_retry(r);
    /* A higher epoch closes the connection; the next EXEC_HELLO carries it. */
    if (r->client && r->epoch != r->sent_epoch) {
        r->sent_epoch = r->epoch;
        r->is_connected = false;
        exec_client_set_epoch(r->client, r->epoch);
    }
    runner_arm_connect_timeout(r);
    while (r->due.first) {
        struct run *run = r->due.first;
        r->due.first = run->next_due;
        if (!r->due.first)
            r->due.last = NULL;
        run->is_due = false;
        run_fsm_advance(r, run);
    }
    jobs_flush(r);
    /* Send EXEC_LIST after all queries, so that a run with an order is not taken for an unknown
     * one. */
    if (r->list_due && r->is_connected) {
        r->list_due = false;
        exec_client_list(r->client);
    }
    if (r->needs_reconcile && r->is_connected && !r->unreconciled_count) {
        r->needs_reconcile = false;
        exec_client_reconciled(r->client);
    }
    return results_submit(r);
}

/* ---- timers ---- */

static void runner_on_retry(uv_timer_t *timer)
{
    struct runner *r = timer->data;
    runs_each(r, run_fsm_retry);
    r->callbacks.wake(r->callbacks.self);
}

void runner_schedule_retry(struct runner *r)
{
    if (!uv_is_active((const uv_handle_t *)&r->retry))
        must(uv_timer_start(&r->retry, runner_on_retry, RETRY_MS, 0) == 0);
}

static void runner_on_maintenance(uv_timer_t *timer)
{
    jobs_start_maintenance(timer->data);
}

/* ---- logs ---- */

err runner_read_log(const struct runner *r, int64_t noderole_id, int64_t run_id, uint32_t attempt,
                    struct runner_log *log)
{
    const struct run_log_key of = {
        .noderole_id = noderole_id, .run_id = run_id, .attempt = attempt};
    struct spool_slice slice = {.offset = log->offset, .at = log->at, .size = log->size};
    if (!runs_find(r, run_id, attempt) || r->state_dirfd < 0)
        return logs_read(r, &of, log);
    const err e = spool_read_log(r->state_dirfd, run_id, attempt, &slice);
    if (e != OK)
        return e;
    log->offset = slice.offset;
    log->size = slice.size;
    log->total = slice.total;
    log->is_over = false;
    return OK;
}

/* ---- open and close ---- */

static const char *runner_strdup(const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    must(copy || !text);
    return copy;
}

static void runner_init_timer(struct runner *r, uv_timer_t *timer)
{
    must(uv_timer_init(r->setup.loop, timer) == 0);
    timer->data = r;
    r->handles++;
}

err runner_open(const struct runner_setup *setup, struct runner_callbacks callbacks,
                struct runner **out_runner)
{
    must(setup->request_first < 0);
    char *data = realpath(setup->data, NULL);
    const err e = data ? files_make_folders(data) : err_from_errno(errno);
    if (e != OK) {
        const int error = errno;
        free(data);
        errno = error;
        return e;
    }
    /* Nothing can fail from here on. Copy all strings of the setup. */
    struct runner *r = calloc(1, sizeof *r);
    must(r);
    r->setup = *setup;
    r->setup.data = data;
    r->setup.exec_program = runner_strdup(setup->exec_program);
    r->setup.ssh_key = runner_strdup(setup->ssh_key);
    r->setup.known_hosts = runner_strdup(setup->known_hosts);
    r->setup.control_dir = runner_strdup(setup->control_dir);
    r->setup.tool_path = runner_strdup(setup->tool_path);
    r->setup.share_max = setup->share_max ? setup->share_max : SHARE_MAX;
    r->setup.share_idle_ms = setup->share_idle_ms ? setup->share_idle_ms : SHARE_IDLE_MS;
    r->callbacks = callbacks;
    r->jig_ops = callbacks.jig_ops ? *callbacks.jig_ops : default_jig_ops;
    r->state_dirfd = -1;
    r->request = setup->request_first;
    r->keep_runs = setup->keep_runs;
    /* The timers of maintenance and shared connections do not keep the loop alive. */
    runner_init_timer(r, &r->retry);
    runner_init_timer(r, &r->maintenance);
    runner_init_timer(r, &r->connect_timeout);
    runner_init_timer(r, &r->batch_delay);
    must(uv_timer_start(&r->maintenance, runner_on_maintenance, MAINTENANCE_MS, MAINTENANCE_MS) ==
         0);
    uv_unref((uv_handle_t *)&r->maintenance);
    const uint64_t period_ms = (uint64_t)r->setup.share_idle_ms / 4 + 1;
    runner_init_timer(r, &r->ssh_control_timer);
    must(uv_timer_start(&r->ssh_control_timer, ssh_control_on_timer, period_ms, period_ms) == 0);
    uv_unref((uv_handle_t *)&r->ssh_control_timer);
    *out_runner = r;
    return OK;
}

void runner_free_if_idle(struct runner *r)
{
    if (!r->is_closed || r->job_count || r->handles)
        return;
    if (r->state_dirfd >= 0)
        ignore(close(r->state_dirfd), "a directory");
    jobs_free_spare(r);
    free(r->buckets);
    free((char *)r->setup.data);
    free((char *)r->setup.exec_program);
    free((char *)r->setup.ssh_key);
    free((char *)r->setup.known_hosts);
    free((char *)r->setup.control_dir);
    free((char *)r->setup.tool_path);
    free(r);
}

static void runner_on_handle_closed(uv_handle_t *handle)
{
    struct runner *r = handle->data;
    r->handles--;
    runner_free_if_idle(r);
}

/* A run whose job is in a thread is freed when the job returns. */
static void runner_drop_run(struct runner *r, struct run *run)
{
    const bool in_thread = run->stage == STAGE_PREPARING || run->stage == STAGE_CONCLUDING ||
                           run->stage == STAGE_CLEANUP_PREPARING;
    if (in_thread)
        return;
    jobs_drop(r, run->job);
    runs_free(run);
}

void runner_close(struct runner *r, bool bye)
{
    if (!r)
        return;
    r->is_closed = true;
    if (bye)
        ssh_control_close_all(r);
    if (r->client)
        exec_client_close(r->client, bye);
    /* Jobs in threads refer to their runs; jobs_finish_one frees those. */
    runs_each(r, runner_drop_run);
    r->run_count = r->bucket_count = 0;
    uv_close((uv_handle_t *)&r->retry, runner_on_handle_closed);
    uv_close((uv_handle_t *)&r->maintenance, runner_on_handle_closed);
    uv_close((uv_handle_t *)&r->connect_timeout, runner_on_handle_closed);
    uv_close((uv_handle_t *)&r->batch_delay, runner_on_handle_closed);
    uv_close((uv_handle_t *)&r->ssh_control_timer, runner_on_handle_closed);
}
