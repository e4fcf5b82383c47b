/* jobs.c - the work of the runner in threads: reading files of roles, creating launch
 * specifications, reading the output of a run and computing its result, removing files.
 *
 * A thread accesses its job, the operations of the jigs, and constant fields of the runner; it
 * never accesses a run. The strings of the run that a job refers to stay valid, because a run is
 * not freed while a job of it is in a thread. Several short jobs are given to one thread at once.
 *
 * Order of a conclusion: the output is read and the result computed first, then the log is stored,
 * then the files of the run are removed. The supervisor keeps its spool until the result is durable
 * (results.c), so a conclusion that a crash interrupts is repeated.
 *
 * Failure: a failed preparation or conclusion becomes the failed result of its run, with a reason.
 * A log that cannot be stored and a file that cannot be removed are only logged. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/jig_class.h"
#include "run/exec/spool.h"
#include "run/jig/ssh_command.h"
#include "run/runner/runner_private.h"
#include "sys/clock.h"
#include "sys/log.h"

enum {
    SPARE_MAX = 8,              /* finished jobs that are kept for reuse, with their memory */
    JOBS_PER_THREAD = 4,        /* jobs that are given to one thread at once */
    GRACE_MS = 5000,            /* ms between SIGTERM and SIGKILL of a run */
    CLEANUP_MS_MAX = 30 * 1000, /* limit for the cleanup on a node that does not respond */
    CLEANUP_GRACE_MS = 1000,
    LOG_MAX = 1 << 20, /* bytes read of a log of unknown size */
};

/* ---- operations of the real jigs ---- */

static err jigs_prepare(void *self, const struct jig_work *w, struct arena *a,
                        struct launch_spec *out_launch, struct reason *out_why)
{
    (void)self;
    return launch_spec_prepare(w, a, out_launch, out_why);
}

static void jigs_conclude(void *self, const struct jig_work *w, const struct jig_end *end,
                          struct arena *a, struct run_done_command *out_done)
{
    (void)self;
    launch_spec_conclude(w, end, a, out_done);
}

static bool jigs_stop(void *self, const struct jig_work *w, struct arena *a,
                      struct launch_spec *out_launch)
{
    (void)self;
    return launch_spec_stop(w, a, out_launch);
}

/* Processes on this machine get a scratch directory for temporary files, which is removed however
 * they end. Ansible always runs on this machine. */
static bool jigs_want_scratch(void *self, const struct jig_work *w)
{
    (void)self;
    return w->transport.kind == TRANSPORT_LOCAL ||
           jig_class_find(w->jig_class) == jig_class_find(STR("ansible"));
}

const struct runner_jig_ops default_jig_ops = {.prepare = jigs_prepare,
                                               .conclude = jigs_conclude,
                                               .stop = jigs_stop,
                                               .wants_scratch = jigs_want_scratch};

/* ---- reasons ---- */

static struct str job_format_errno(struct arena *a, const char *what, int error)
{
    const char *why = strerror(error);
    const size_t size = strlen(what) + strlen(why) + 3;
    char *at = arena_alloc(a, size);
    return (struct str){at, (uint32_t)snprintf(at, size, "%s: %s", what, why)};
}

static enum reason_code job_errno_reason(int error)
{
    const bool is_full = error == ENOSPC || error == EDQUOT;
    return is_full ? REASON_DISK_FULL : REASON_DISK_ERROR;
}

/* A file or directory at `path` could not be created. The subject of the reason is its parent
 * directory, which is the same for all runs, so that such failures are counted together. */
static err job_refuse(struct job *j, const char *what, const char *path, int error)
{
    const char *name = strrchr(path, '/');
    j->why = (struct reason){
        .code = job_errno_reason(error),
        .subject = {path, (uint32_t)(name && name > path ? (size_t)(name - path) : strlen(path))},
        .text = job_format_errno(&j->arena, what, error)};
    return ERR_REFUSED;
}

/* ---- preparation ---- */

/* Create the scratch directory and the file of standard input. */
static err job_create_files(struct job *j, int64_t id)
{
    if (j->jig.scratch && j->kind == JOB_PREPARE) {
        ignore(files_remove_tree(j->jig.scratch), "mkdir reports a remaining one");
        j->has_scratch = true;
        if (mkdir(j->jig.scratch, 0700) != 0)
            return job_refuse(j, "cannot create a directory for the run", j->jig.scratch, errno);
    }
    if (j->launch.stdin_bytes.len == 0)
        return OK;
    j->has_input = true;
    j->input_path = files_path(&j->arena, j->runner, "in", id, j->jig.attempt);
    if (files_write(j->input_path, j->launch.stdin_bytes) != OK)
        return job_refuse(j, "cannot write the standard input of the run", j->input_path, errno);
    j->launch.stdin_bytes.len = 0;
    return OK;
}

static void job_prepare(struct job *j)
{
    const struct runner *r = j->runner;
    const struct runner_jig_ops *k = &r->jig_ops;
    if (k->wants_scratch(k->self, &j->jig))
        j->jig.scratch = files_path(&j->arena, r, "scratch", j->jig.run_id, j->jig.attempt);
    j->result = k->prepare(k->self, &j->jig, &j->arena, &j->launch, &j->why);
    if (j->result == OK)
        j->result = job_create_files(j, j->jig.run_id);
}

/* ---- conclusion ---- */

static void job_remove_files(struct job *j, int64_t id)
{
    const struct runner *r = j->runner;
    if (j->has_input)
        ignore(unlink(files_path(&j->arena, r, "in", id, j->jig.attempt)),
               "usually it does not exist");
    const char *scratch = files_path(&j->arena, r, "scratch", id, j->jig.attempt);
    if (j->has_scratch && !files_remove_tree(scratch))
        log_with(
            LOG_WARNING,
            LOG_FIELDS(LOG_I64("run", id), LOG_I64("attempt", j->jig.attempt),
                       LOG_Z("directory", scratch)),
            "cannot remove the scratch directory of a run: %s; it is removed at the next start",
            strerror(errno));
}

static enum jig_end_how job_end_kind(uint32_t how)
{
    switch ((enum exec_how)how) {
    case EXEC_EXITED: return JIG_END_EXITED;
    case EXEC_SIGNALLED: return JIG_END_SIGNALLED;
    case EXEC_DEADLINE: return JIG_END_DEADLINE;
    case EXEC_CANCELLED: return JIG_END_CANCELLED;
    case EXEC_NOT_STARTED: return JIG_END_NOT_STARTED;
    case EXEC_DIED_WITH_SUPERVISOR: return JIG_END_DIED_WITH_SUPERVISOR;
    case EXEC_NO_HOW:
    case EXEC_HOW_END: break;
    }
    impossible("a kind of end outside the enum");
}

static void job_read_log(struct job *j, struct jig_end *end)
{
    const bool is_size_known = j->end.how != EXEC_DIED_WITH_SUPERVISOR;
    const int64_t size = is_size_known ? j->end.log_size : LOG_MAX;
    struct spool_slice slice = {.size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX};
    end->log_dropped = (uint64_t)j->end.log_dropped;
    if (slice.size == 0)
        return;
    slice.offset = -(int64_t)slice.size;
    slice.at = arena_alloc(&j->arena, slice.size);
    if (spool_read_log(j->runner->state_dirfd, j->jig.run_id, j->jig.attempt, &slice) != OK) {
        end->log_tail = job_format_errno(&j->arena, "cannot read the log of the run", errno);
        return;
    }
    end->log_tail = (struct str){slice.at, slice.size};
    if (!is_size_known)
        end->log_dropped = (uint64_t)slice.offset;
}

static err job_read_out(struct job *j, struct jig_end *end)
{
    end->out_dropped = j->end.out_dropped > 0;
    if (j->end.out_size == 0 || j->end.out_size > UINT32_MAX)
        return OK;
    struct spool_slice slice = {.size = (uint32_t)j->end.out_size};
    slice.at = arena_alloc(&j->arena, slice.size);
    const err e = spool_read_out(j->runner->state_dirfd, j->jig.run_id, j->jig.attempt, &slice);
    end->out = (struct str){slice.at, e == OK ? slice.size : 0};
    return e;
}

static void job_fail(struct job *j, enum reason_code code, struct str text)
{
    j->done = (struct run_done_command){
        .result = RESULT_FAILED, .runlog = text, .reason = code, .reason_text = text};
}

/* False if ssh failed before the login, so that nothing can be left running. The text is used only
 * to omit the warning. */
static bool job_ssh_logged_in(const struct job *j, struct str log)
{
    const struct str first = str_slice(log, 0, str_find(log, '\n', 0));
    if (j->end.how != EXEC_EXITED)
        return true;
    const enum ssh_failure failure = ssh_failure_from_log(first);
    return !str_starts(first, STR("ssh: ")) && !str_starts(first, STR("@@@@@@@@")) &&
           failure != SSH_KEY_UNKNOWN && failure != SSH_OUR_KEY && failure != SSH_AUTH;
}

static void job_warn_cleanup_failed(struct job *j, struct str log)
{
    struct buf text = buf_in(&j->arena);
    if (!j->cleanup_failed || !job_ssh_logged_in(j, log))
        return;
    log_with(LOG_WARNING,
             LOG_FIELDS(LOG_I64("run", j->jig.run_id), LOG_I64("attempt", j->jig.attempt),
                        LOG_S("node", j->jig.node)),
             "the ssh connection of a run was cut off; " CLEANUP_FAILED_TEXT);
    buf_put_str(&text, j->done.runlog);
    if (text.len && !str_ends(j->done.runlog, STR("\n")))
        buf_put_c(&text, '\n');
    buf_put_z(&text, CLEANUP_FAILED_TEXT);
    j->done.runlog = buf_str(&text);
}

static void job_conclude(struct job *j)
{
    const struct runner *r = j->runner;
    struct jig_end end = {
        .how = job_end_kind(j->end.how), .code = (int)j->end.code, .reason = j->end.reason};
    /* Read the output and compute the result. */
    job_read_log(j, &end);
    if (!j->has_facts)
        job_fail(j, REASON_NOT_STARTED, STR("its noderole does not exist any more"));
    else if (job_read_out(j, &end) != OK)
        job_fail(j, job_errno_reason(errno),
                 job_format_errno(&j->arena, "cannot read the output of the run", errno));
    else
        r->jig_ops.conclude(r->jig_ops.self, &j->jig, &end, &j->arena, &j->done);
    job_warn_cleanup_failed(j, end.log_tail);
    /* Store the log and remove the files; the result does not depend on either. */
    const struct run_log_key of = {j->noderole_id, j->jig.run_id, j->jig.attempt, j->keep_runs,
                                   j->now_ms};
    if (end.log_tail.len || end.log_dropped)
        logs_store(r, &j->arena, &of, end.log_tail, end.log_dropped);
    job_remove_files(j, j->jig.run_id);
}

/* ---- threads ---- */

static void job_execute(struct job *j)
{
    const struct runner_jig_ops *k = &j->runner->jig_ops;
    switch (j->kind) {
    case JOB_PREPARE: job_prepare(j); return;
    case JOB_CONCLUDE: job_conclude(j); return;
    case JOB_CLEANUP_NODE:
        j->result = ERR_NOT_FOUND; /* nothing to stop */
        if (k->stop(k->self, &j->jig, &j->arena, &j->launch))
            j->result = job_create_files(j, CLEANUP_RUN_IDS + j->jig.run_id);
        return;
    case JOB_CLEANUP_DATA:
        files_empty_trash(j->runner);
        logs_prune_all(j->runner, &j->arena, j->keep_runs, j->now_ms);
        return;
    }
    impossible("a job outside the enum");
}

static void jobs_work_cb(uv_work_t *request)
{
    for (struct job *j = request->data; j; j = j->next)
        job_execute(j);
}

static void jobs_finish_one(struct runner *r, struct job *j)
{
    r->job_count--;
    r->conclude_count -= j->kind == JOB_CONCLUDE;
    if (j->kind == JOB_CLEANUP_DATA) {
        r->is_maintaining = false;
        jobs_drop(r, j);
    } else if (r->is_closed) {
        runs_free(j->run);
        jobs_drop(r, j);
    } else {
        run_fsm_job_done(r, j->run, j);
    }
}

static void jobs_after_work_cb(uv_work_t *request, int status)
{
    struct job *j = request->data;
    struct runner *r = j->runner;
    (void)status; /* jobs are never cancelled */
    for (struct job *next; j; j = next) {
        next = j->next;
        jobs_finish_one(r, j);
    }
    runner_free_if_idle(r);
}

static struct job *jobs_take_spare(struct runner *r)
{
    struct job *j = r->spare;
    struct arena arena = {0};
    if (j) {
        r->spare = j->next;
        r->spare_count--;
        arena = j->arena;
    } else {
        j = malloc(sizeof *j);
        must(j);
    }
    *j = (struct job){.runner = r, .arena = arena, .keep_runs = r->keep_runs};
    j->now_ms = r->callbacks.now_ms ? r->callbacks.now_ms(r->callbacks.self) : sys_now_ms();
    j->work.data = j;
    return j;
}

void jobs_drop(struct runner *r, struct job *j)
{
    if (!j)
        return;
    arena_reset(&j->arena);
    j->next = r->spare;
    r->spare = j;
    r->spare_count++;
    if (r->spare_count <= SPARE_MAX)
        return;
    r->spare = j->next;
    r->spare_count--;
    arena_fini(&j->arena);
    free(j);
}

void jobs_free_spare(struct runner *r)
{
    while (r->spare) {
        struct job *j = r->spare;
        r->spare = j->next;
        arena_fini(&j->arena);
        free(j);
    }
    r->spare_count = 0;
}

void jobs_flush(struct runner *r)
{
    struct job *first = r->job_batch.first;
    r->job_batch = (struct job_queue){0};
    if (first)
        must(uv_queue_work(r->setup.loop, &first->work, jobs_work_cb, jobs_after_work_cb) == 0);
}

/* Waking a thread costs more than a short job: collect a few for one thread. */
static void jobs_enqueue(struct runner *r, struct job *j)
{
    struct job_queue *queue = &r->job_batch;
    r->job_count++;
    r->conclude_count += j->kind == JOB_CONCLUDE;
    if (queue->last)
        queue->last->next = j;
    else
        queue->first = j;
    queue->last = j;
    if (++queue->count == JOBS_PER_THREAD)
        jobs_flush(r);
}

struct jig_work jobs_work(const struct runner *r, const struct run *run, struct arena *a)
{
    struct jig_work w = {.run_id = run->run_id,
                         .attempt = run->attempt,
                         .data = run->data,
                         .path = r->setup.tool_path};
    const struct runner_facts *f = run->facts;
    if (!f)
        return w;
    w.role = f->role;
    w.files_name = f->files_name;
    w.node = f->node;
    w.barclamp = f->barclamp;
    w.source_path = f->source_path;
    w.jig_class = f->jig_class;
    w.transport = f->transport;
    w.deadline_ms = f->deadline_ms;
    w.transport.key_path = r->setup.ssh_key;
    w.transport.known_hosts_path = r->setup.known_hosts;
    w.transport.control_path = ssh_control_path(r, run, a);
    return w;
}

/* The strings of the run must not change until the job has finished. */
void jobs_begin(struct runner *r, struct run *run, enum job_kind kind)
{
    jobs_drop(r, run->job);
    struct job *j = jobs_take_spare(r);
    run->job = NULL;
    j->run = run;
    j->kind = kind;
    j->jig = jobs_work(r, run, &j->arena);
    j->has_facts = run->facts != NULL;
    j->end = run->end;
    j->noderole_id = run->noderole_id;
    j->cleanup_failed = run->cleanup_failed;
    if (kind == JOB_CONCLUDE) {
        j->has_input = run->has_input;
        j->has_scratch = run->has_scratch;
    }
    jobs_enqueue(r, j);
}

void jobs_start_maintenance(struct runner *r)
{
    if (r->is_maintaining)
        return;
    struct job *j = jobs_take_spare(r);
    r->is_maintaining = true;
    j->kind = JOB_CLEANUP_DATA;
    jobs_flush(r); /* it takes long: no other job shall wait behind it in the same thread */
    jobs_enqueue(r, j);
    jobs_flush(r);
}

/* Done in the thread of the loop: one file and one empty directory. */
void jobs_remove_files(struct runner *r, struct run *run)
{
    struct arena arena = {0};
    const bool is_cleanup =
        run->stage == STAGE_CLEANUP_RUNNING || run->stage == STAGE_CLEANUP_PREPARED;
    const int64_t id = is_cleanup ? CLEANUP_RUN_IDS + run->run_id : run->run_id;
    if (run->has_input || is_cleanup)
        ignore(unlink(files_path(&arena, r, "in", id, run->attempt)), "the next start removes it");
    if (run->has_scratch && !is_cleanup)
        ignore(rmdir(files_path(&arena, r, "scratch", id, run->attempt)),
               "the next start removes it");
    arena_fini(&arena);
}

/* ---- order ---- */

struct str jobs_list(struct arena *a, const struct str *texts, uint32_t count)
{
    struct buf list = buf_in(a);
    for (uint32_t i = 0; i < count; i++)
        exec_list_add(&list, texts[i]);
    return buf_str(&list);
}

struct exec_spawn jobs_spawn(struct runner *r, struct run *run)
{
    struct job *j = run->job;
    const struct launch_spec *launch = &j->launch;
    const bool is_cleanup = j->kind == JOB_CLEANUP_NODE;
    return (struct exec_spawn){
        .run_id = is_cleanup ? CLEANUP_RUN_IDS + run->run_id : run->run_id,
        .attempt = run->attempt,
        .epoch = r->epoch,
        .argv = jobs_list(&j->arena, launch->argv, launch->argv_count),
        .env = jobs_list(&j->arena, launch->env, launch->env_count),
        .cwd = launch->cwd,
        .stdin_path = str_from(j->input_path),
        .out_max = launch->out_max,
        .log_max = launch->log_max,
        .deadline_ms = is_cleanup ? CLEANUP_MS_MAX : run->facts->deadline_ms,
        .grace_ms = is_cleanup ? CLEANUP_GRACE_MS : GRACE_MS,
    };
}
