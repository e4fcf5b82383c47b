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

enum {
    RETRY_MS = 250,
    UPKEEP_MS = 60 * 60 * 1000,
    PATIENCE_MS = 30 * 1000,
    WAITING_MS = 2000, /* without an answer, until that is reported */
    SHARE_IDLE_MS = 60 * 1000,
    SHARE_MAX = 64,
};

/* ---- orders come in ---- */

/* Whoever leads no more has nothing to order. */
static bool is_heard(struct runner *r, const struct run_order *order)
{
    if (order->epoch < r->epoch)
        return false;
    if (order->epoch > r->epoch)
        r->is_fenced = false;
    r->epoch = order->epoch;
    return true;
}

static void note(struct runner *r, struct run *run)
{
    runs_set_due(r, run);
    r->seams.wake(r->seams.self);
}

/* The turn was loaded afresh: say again what was said, as far as the store does not know it. */
static void say_again(struct runner *r, struct run *run, bool begun)
{
    run->store_begun = begun;
    if (!begun && run->pid && run->stage != STAGE_ANSWERED)
        results_say_begun(r, run);
    else if (!begun && run->pid)
        run->begun_due = true; /* with the answer, should that be given again */
    run_fsm_retry(r, run);
    note(r, run);
}

static void start(void *self, const struct run_order *order)
{
    struct runner *r = self;
    if (!is_heard(r, order))
        return;
    struct run *run = runs_find(r, order->run_id, order->attempt);
    if (run) {
        run_fsm_retry(r, run);
    } else {
        run = runs_add(r, order);
        run->is_ours_alone = true;
    }
    note(r, run);
}

static void query(void *self, const struct run_order *order)
{
    struct runner *r = self;
    if (!is_heard(r, order))
        return;
    struct run *run = runs_find(r, order->run_id, order->attempt);
    if (run) {
        say_again(r, run, order->begun);
        return;
    }
    run = runs_add(r, order);
    run->may_be_known = run->is_doubtful = true;
    run->has_input = run->has_scratch = true; /* they may be there, of an earlier daemon */
    run->store_begun = order->begun;
    r->doubt_count++;
    note(r, run);
}

static void cancel(void *self, const struct run_order *order)
{
    struct runner *r = self;
    if (!is_heard(r, order))
        return;
    struct run *run = runs_find(r, order->run_id, order->attempt);
    if (!run) {
        run = runs_add(r, order);
        run->may_be_known = run->has_input = run->has_scratch = true;
    }
    if (run->stage == STAGE_ANSWERED && !run->is_cancelled) {
        run->answer_due = true;
        runs_set_saying(r, run);
    }
    run->is_cancelled = true;
    note(r, run);
}

struct runner_port runner_port(struct runner *r)
{
    return (struct runner_port){.self = r, .start = start, .cancel = cancel, .query = query};
}

uint32_t runner_count(const struct runner *r)
{
    return r->run_count;
}

void runner_set_keep(struct runner *r, uint32_t keep_runs)
{
    r->keep_runs = keep_runs;
}

const char *runner_trouble(const struct runner *r)
{
    return r->is_in_trouble ? RUNNER_TROUBLE : "";
}

const char *runner_waits_for(const struct runner *r)
{
    const int64_t ms = r->setup.patience_ms ? r->setup.patience_ms : PATIENCE_MS;
    if (r->is_in_trouble)
        return RUNNER_TROUBLE;
    if (!uv_is_active((const uv_handle_t *)&r->patience) ||
        ms - (int64_t)uv_timer_get_due_in(&r->patience) < WAITING_MS)
        return "";
    return "halligan-exec does not answer; runs wait for it";
}

/* ---- going round ---- */

static bool open_client(struct runner *r)
{
    const struct exec_client_setup setup = {.loop = r->setup.loop,
                                            .program = r->setup.exec_program,
                                            .dir = r->setup.data,
                                            .epoch = r->epoch,
                                            .idle_ms = r->setup.exec_idle_ms};
    bool is_open = exec_client_open(&setup, run_fsm_seams(r), &r->client) == OK;
    if (is_open) {
        r->place = fcntl(exec_client_state_dirfd(r->client), F_DUPFD_CLOEXEC, 0);
        is_open = r->place >= 0;
        if (!is_open) {
            const int number = errno;
            exec_client_close(r->client, false);
            r->client = NULL;
            errno = number;
        }
    }
    if (!is_open) {
        if (!r->has_complained)
            log_with(LOG_ERROR, LOG_FIELDS(LOG_Z("directory", r->setup.data)),
                     "there is no way to halligan-exec (%s), trying again", strerror(errno));
        r->has_complained = true;
        return false;
    }
    r->spoken = r->epoch;
    /* Every run of before our start has been ordered by now: what else lies there is nobody's. */
    files_put_away(r);
    jobs_sweep_data(r);
    return true;
}

static void find_client(struct runner *r)
{
    if (!r->client && (r->run_count || r->is_in_trouble) && !open_client(r))
        runner_try_later(r);
}

static void speak_of_epoch(struct runner *r)
{
    if (!r->client || r->epoch == r->spoken)
        return;
    r->spoken = r->epoch;
    r->is_connected = false;
    exec_client_set_epoch(r->client, r->epoch);
}

/* What was asked about comes first, so that nobody is taken for a stranger. */
static void list(struct runner *r)
{
    if (!r->is_listing || !r->is_connected)
        return;
    r->is_listing = false;
    exec_client_list(r->client);
}

static void settle(struct runner *r)
{
    if (!r->is_unsettled || !r->is_connected || r->doubt_count)
        return;
    r->is_unsettled = false;
    exec_client_reconciled(r->client);
}

/* ---- without a supervisor ---- */

/* Those that may have begun wait on: as long as their supervisor may live, nobody knows better. */
static void patience_ended(uv_timer_t *timer)
{
    struct runner *r = timer->data;
    if (!r->is_in_trouble)
        log_print(LOG_ERROR, "runs wait for halligan-exec in vain; those that have not begun fail");
    r->is_in_trouble = true;
    runs_each(r, run_fsm_give_up);
    r->seams.wake(r->seams.self);
}

static void have_patience(struct runner *r)
{
    const int64_t ms = r->setup.patience_ms ? r->setup.patience_ms : PATIENCE_MS;
    if (r->is_connected || !r->run_count)
        ignore(uv_timer_stop(&r->patience), "it never fails");
    else if (!uv_is_active((const uv_handle_t *)&r->patience))
        must(uv_timer_start(&r->patience, patience_ended, (uint64_t)ms, 0) == 0);
}

void runner_end_trouble(struct runner *r)
{
    if (r->is_in_trouble)
        log_print(LOG_WARNING, "halligan-exec answers again");
    r->is_in_trouble = false;
    have_patience(r);
}

bool runner_pump(struct runner *r)
{
    find_client(r);
    speak_of_epoch(r);
    have_patience(r);
    while (r->due.first) {
        struct run *run = r->due.first;
        r->due.first = run->next_due;
        if (!r->due.first)
            r->due.last = NULL;
        run->is_due = false;
        run_fsm_advance(r, run);
    }
    jobs_send_out(r);
    list(r);
    settle(r);
    return results_hand_over(r);
}

/* ---- time ---- */

static void retry_fired(uv_timer_t *timer)
{
    struct runner *r = timer->data;
    runs_each(r, run_fsm_retry);
    r->seams.wake(r->seams.self);
}

void runner_try_later(struct runner *r)
{
    if (!uv_is_active((const uv_handle_t *)&r->retry))
        must(uv_timer_start(&r->retry, retry_fired, RETRY_MS, 0) == 0);
}

static void upkeep_fired(uv_timer_t *timer)
{
    jobs_sweep_data(timer->data);
}

/* ---- logs ---- */

err runner_read_log(const struct runner *r, int64_t noderole_id, int64_t run_id, uint32_t attempt,
                    struct runner_log *log)
{
    const struct log_of of = {.noderole_id = noderole_id, .run_id = run_id, .attempt = attempt};
    struct spool_slice slice = {.offset = log->offset, .at = log->at, .size = log->size};
    if (!runs_find(r, run_id, attempt) || r->place < 0)
        return logs_read(r, &of, log);
    const err e = spool_read_log(r->place, run_id, attempt, &slice);
    if (e != OK)
        return e;
    log->offset = slice.offset;
    log->size = slice.size;
    log->total = slice.total;
    log->is_over = false;
    return OK;
}

/* ---- from open to close ---- */

static const char *copy_of(const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    must(copy || !text);
    return copy;
}

static void open_timer(struct runner *r, uv_timer_t *timer)
{
    must(uv_timer_init(r->setup.loop, timer) == 0);
    timer->data = r;
    r->handles++;
}

static void watch_masters(struct runner *r)
{
    const uint64_t period_ms = (uint64_t)r->setup.share_idle_ms / 4 + 1;
    open_timer(r, &r->ssh_control_watch);
    must(uv_timer_start(&r->ssh_control_watch, ssh_control_watch, period_ms, period_ms) == 0);
    uv_unref((uv_handle_t *)&r->ssh_control_watch);
}

err runner_open(const struct runner_setup *setup, struct runner_seams seams,
                struct runner **out_runner)
{
    must(setup->request_first < 0);
    char *data = realpath(setup->data, NULL);
    const err e = data ? files_make_folders(data) : err_from_errno(errno);
    if (e != OK) {
        const int number = errno;
        free(data);
        errno = number;
        return e;
    }
    struct runner *r = calloc(1, sizeof *r);
    must(r);
    r->setup = *setup;
    r->setup.data = data;
    r->setup.exec_program = copy_of(setup->exec_program);
    r->setup.ssh_key = copy_of(setup->ssh_key);
    r->setup.known_hosts = copy_of(setup->known_hosts);
    r->setup.control_dir = copy_of(setup->control_dir);
    r->setup.tool_path = copy_of(setup->tool_path);
    r->setup.share_max = setup->share_max ? setup->share_max : SHARE_MAX;
    r->setup.share_idle_ms = setup->share_idle_ms ? setup->share_idle_ms : SHARE_IDLE_MS;
    r->seams = seams;
    r->kitchen = seams.kitchen ? *seams.kitchen : default_jig_ops;
    r->place = -1;
    r->request = setup->request_first;
    r->keep_runs = setup->keep_runs;
    open_timer(r, &r->retry);
    open_timer(r, &r->upkeep);
    open_timer(r, &r->patience);
    open_timer(r, &r->gathering);
    must(uv_timer_start(&r->upkeep, upkeep_fired, UPKEEP_MS, UPKEEP_MS) == 0);
    uv_unref((uv_handle_t *)&r->upkeep);
    watch_masters(r);
    *out_runner = r;
    return OK;
}

void runner_free_if_idle(struct runner *r)
{
    if (!r->is_closed || r->job_count || r->handles)
        return;
    if (r->place >= 0)
        ignore(close(r->place), "it was only a handle");
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

static void handle_closed(uv_handle_t *handle)
{
    struct runner *r = handle->data;
    r->handles--;
    runner_free_if_idle(r);
}

/* One whose job is in a thread goes with it. */
static void drop_run(struct runner *r, struct run *run)
{
    const bool is_out = run->stage == STAGE_PREPARING || run->stage == STAGE_CONCLUDING ||
                        run->stage == STAGE_SWEEPING;
    if (is_out)
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
        ssh_control_leave(r);
    if (r->client)
        exec_client_close(r->client, bye);
    runs_each(r, drop_run);
    r->run_count = r->bucket_count = 0;
    uv_close((uv_handle_t *)&r->retry, handle_closed);
    uv_close((uv_handle_t *)&r->upkeep, handle_closed);
    uv_close((uv_handle_t *)&r->patience, handle_closed);
    uv_close((uv_handle_t *)&r->gathering, handle_closed);
    uv_close((uv_handle_t *)&r->ssh_control_watch, handle_closed);
}
