/* jobs.c - what is done in threads: reading the files of roles, making recipes, reading what a run
 * wrote and saying what it means, removing what it left.
 *
 * A thread sees its job, the seams of the kitchen, and what of the runner never changes.
 */
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
    SPARE_MAX = 8,
    JOBS_A_THREAD = 4,
    GRACE_MS = 5000,
    SWEEP_MS_MAX = 30 * 1000, /* a node that does not answer keeps nobody longer */
    SWEEP_GRACE_MS = 1000,
    LOG_MAX = 1 << 20, /* read of a log whose size nobody told */
};

/* ---- the kitchen of the jigs ---- */

static err jigs_prepare(void *self, const struct jig_work *w, struct arena *a,
                        struct launch_spec *out_recipe, struct reason *out_why)
{
    (void)self;
    return launch_spec_prepare(w, a, out_recipe, out_why);
}

static void jigs_conclude(void *self, const struct jig_work *w, const struct jig_end *end,
                          struct arena *a, struct run_done_command *out_done)
{
    (void)self;
    launch_spec_conclude(w, end, a, out_done);
}

static bool jigs_stop(void *self, const struct jig_work *w, struct arena *a,
                      struct launch_spec *out_recipe)
{
    (void)self;
    return launch_spec_stop(w, a, out_recipe);
}

/* What is done on this machine has its temporary files where they are removed, however it ends; and
 * ansible is done on this machine for whatever node. */
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

/* ---- sentences ---- */

static struct str complain(struct arena *a, const char *what, int number)
{
    const char *why = strerror(number);
    const size_t size = strlen(what) + strlen(why) + 3;
    char *at = arena_alloc(a, size);
    return (struct str){at, (uint32_t)snprintf(at, size, "%s: %s", what, why)};
}

static enum reason_code code_of(int number)
{
    const bool is_full = number == ENOSPC || number == EDQUOT;
    return is_full ? REASON_DISK_FULL : REASON_DISK_ERROR;
}

/* A file or directory of ours, at that path, could not be made. The subject is the directory above
 * it, which is the same for all runs, so that they are counted together. */
static err refuse(struct job *j, const char *what, const char *path, int number)
{
    const char *name = strrchr(path, '/');
    j->why = (struct reason){
        .code = code_of(number),
        .subject = {path, (uint32_t)(name && name > path ? (size_t)(name - path) : strlen(path))},
        .text = complain(&j->arena, what, number)};
    return ERR_REFUSED;
}

/* ---- before the run ---- */

/* Makes what the process finds. */
static err make_files(struct job *j, int64_t id)
{
    if (j->jig.scratch && j->kind == JOB_PREPARE) {
        ignore(files_remove_tree(j->jig.scratch), "mkdir says it");
        j->has_scratch = true;
        if (mkdir(j->jig.scratch, 0700) != 0)
            return refuse(j, "no directory can be made for the run", j->jig.scratch, errno);
    }
    if (j->recipe.stdin_bytes.len == 0)
        return OK;
    j->has_input = true;
    j->input_path = files_path(&j->arena, j->runner, "in", id, j->jig.attempt);
    if (files_write(j->input_path, j->recipe.stdin_bytes) != OK)
        return refuse(j, "what the run is to read cannot be written", j->input_path, errno);
    j->recipe.stdin_bytes.len = 0;
    return OK;
}

static void prepare(struct job *j)
{
    const struct runner *r = j->runner;
    const struct runner_jig_ops *k = &r->kitchen;
    if (k->wants_scratch(k->self, &j->jig))
        j->jig.scratch = files_path(&j->arena, r, "scratch", j->jig.run_id, j->jig.attempt);
    j->result = k->prepare(k->self, &j->jig, &j->arena, &j->recipe, &j->why);
    if (j->result == OK)
        j->result = make_files(j, j->jig.run_id);
}

/* ---- after it ---- */

static void remove_files(struct job *j, int64_t id)
{
    const struct runner *r = j->runner;
    if (j->has_input)
        ignore(unlink(files_path(&j->arena, r, "in", id, j->jig.attempt)),
               "mostly it is not there");
    const char *scratch = files_path(&j->arena, r, "scratch", id, j->jig.attempt);
    if (j->has_scratch && !files_remove_tree(scratch))
        log_with(LOG_WARNING,
                 LOG_FIELDS(LOG_I64("run", id), LOG_I64("attempt", j->jig.attempt),
                            LOG_Z("directory", scratch)),
                 "what a run left cannot be removed (%s); the next start tries again",
                 strerror(errno));
}

static enum jig_end_how how_of(uint32_t how)
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
    impossible("an end outside the enum");
}

/* A supervisor that died did not say how much there is. */
static uint32_t log_room(const struct exec_ended *end)
{
    if (end->how == EXEC_DIED_WITH_SUPERVISOR)
        return LOG_MAX;
    return end->log_size < UINT32_MAX ? (uint32_t)end->log_size : UINT32_MAX;
}

static void read_log(struct job *j, struct jig_end *end)
{
    struct spool_slice slice = {.size = log_room(&j->end)};
    end->log_dropped = (uint64_t)j->end.log_dropped;
    if (slice.size == 0)
        return;
    slice.offset = -(int64_t)slice.size;
    slice.at = arena_alloc(&j->arena, slice.size);
    if (spool_read_log(j->runner->place, j->jig.run_id, j->jig.attempt, &slice) != OK) {
        end->log_tail = complain(&j->arena, "its log cannot be read", errno);
        return;
    }
    end->log_tail = (struct str){slice.at, slice.size};
    if (j->end.how == EXEC_DIED_WITH_SUPERVISOR)
        end->log_dropped = (uint64_t)slice.offset;
}

static err read_out(struct job *j, struct jig_end *end)
{
    end->out_dropped = j->end.out_dropped > 0;
    if (j->end.out_size == 0 || j->end.out_size > UINT32_MAX)
        return OK;
    struct spool_slice slice = {.size = (uint32_t)j->end.out_size};
    slice.at = arena_alloc(&j->arena, slice.size);
    const err e = spool_read_out(j->runner->place, j->jig.run_id, j->jig.attempt, &slice);
    end->out = (struct str){slice.at, e == OK ? slice.size : 0};
    return e;
}

static void fail(struct job *j, enum reason_code code, struct str text)
{
    j->done = (struct run_done_command){
        .result = RESULT_FAILED, .runlog = text, .reason = code, .reason_text = text};
}

/* Whoever was not let in, or found nobody, has left nothing. This only spares people a sentence. */
static bool was_let_in(const struct job *j, struct str log)
{
    const struct str first = str_slice(log, 0, str_find(log, '\n', 0));
    if (j->end.how != EXEC_EXITED)
        return true;
    const enum ssh_trouble trouble = ssh_trouble_of(first);
    return !str_starts(first, STR("ssh: ")) && !str_starts(first, STR("@@@@@@@@")) &&
           trouble != SSH_KEY_UNKNOWN && trouble != SSH_OUR_KEY && trouble != SSH_AUTH;
}

static void say_what_is_left(struct job *j, struct str log)
{
    struct buf text = buf_in(&j->arena);
    if (!j->may_have_left || !was_let_in(j, log))
        return;
    log_with(LOG_WARNING,
             LOG_FIELDS(LOG_I64("run", j->jig.run_id), LOG_I64("attempt", j->jig.attempt),
                        LOG_S("node", j->jig.node)),
             "a run was cut off, and " LEFT_SENTENCE);
    buf_put_str(&text, j->done.runlog);
    if (text.len && !str_ends(j->done.runlog, STR("\n")))
        buf_put_c(&text, '\n');
    buf_put_z(&text, LEFT_SENTENCE);
    j->done.runlog = buf_str(&text);
}

static void conclude(struct job *j)
{
    const struct runner *r = j->runner;
    struct jig_end end = {
        .how = how_of(j->end.how), .code = (int)j->end.code, .reason = j->end.reason};
    read_log(j, &end);
    if (!j->has_facts)
        fail(j, REASON_NOT_STARTED, STR("its noderole does not exist any more"));
    else if (read_out(j, &end) != OK)
        fail(j, code_of(errno), complain(&j->arena, "what the run wrote cannot be read", errno));
    else
        r->kitchen.conclude(r->kitchen.self, &j->jig, &end, &j->arena, &j->done);
    say_what_is_left(j, end.log_tail);
    const struct log_of of = {j->noderole_id, j->jig.run_id, j->jig.attempt, j->keep_runs,
                              j->now_ms};
    if (end.log_tail.len || end.log_dropped)
        logs_keep(r, &j->arena, &of, end.log_tail, end.log_dropped);
    remove_files(j, j->jig.run_id);
}

static void sweep_node(struct job *j)
{
    const struct runner_jig_ops *k = &j->runner->kitchen;
    j->result = ERR_NOT_FOUND; /* there is nothing to be ended */
    if (k->stop(k->self, &j->jig, &j->arena, &j->recipe))
        j->result = make_files(j, SWEEP_IDS + j->jig.run_id);
}

static void sweep_data(struct job *j)
{
    files_empty_trash(j->runner);
    logs_prune_all(j->runner, &j->arena, j->keep_runs, j->now_ms);
}

/* ---- threads ---- */

static void do_job(struct job *j)
{
    switch (j->kind) {
    case JOB_PREPARE: prepare(j); return;
    case JOB_CONCLUDE: conclude(j); return;
    case JOB_SWEEP_NODE: sweep_node(j); return;
    case JOB_SWEEP_DATA: sweep_data(j); return;
    }
    impossible("a job outside the enum");
}

static void work(uv_work_t *request)
{
    for (struct job *j = request->data; j; j = j->next)
        do_job(j);
}

static void take_back(struct runner *r, struct job *j)
{
    r->job_count--;
    r->concluding -= j->kind == JOB_CONCLUDE;
    if (j->kind == JOB_SWEEP_DATA) {
        r->is_sweeping = false;
        jobs_drop(r, j);
    } else if (r->is_closed) {
        runs_free(j->run);
        jobs_drop(r, j);
    } else {
        run_fsm_job_done(r, j->run, j);
    }
}

static void worked(uv_work_t *request, int status)
{
    struct job *j = request->data;
    struct runner *r = j->runner;
    (void)status; /* nothing is cancelled */
    for (struct job *next; j; j = next) {
        next = j->next;
        take_back(r, j);
    }
    runner_free_if_idle(r);
}

static struct job *take_spare(struct runner *r)
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
    j->now_ms = r->seams.now_ms ? r->seams.now_ms(r->seams.self) : sys_now_ms();
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

void jobs_send_out(struct runner *r)
{
    struct job *first = r->leaving.first;
    r->leaving = (struct job_line){0};
    if (first)
        must(uv_queue_work(r->setup.loop, &first->work, work, worked) == 0);
}

/* Waking a thread costs more than a small job: a few that come together go to one. */
static void queue(struct runner *r, struct job *j)
{
    struct job_line *line = &r->leaving;
    r->job_count++;
    r->concluding += j->kind == JOB_CONCLUDE;
    if (line->last)
        line->last->next = j;
    else
        line->first = j;
    line->last = j;
    if (++line->count == JOBS_A_THREAD)
        jobs_send_out(r);
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

/* The texts of the run stay as they are until the job is back. */
void jobs_begin(struct runner *r, struct run *run, enum job_kind kind)
{
    jobs_drop(r, run->job);
    struct job *j = take_spare(r);
    run->job = NULL;
    j->run = run;
    j->kind = kind;
    j->jig = jobs_work(r, run, &j->arena);
    j->has_facts = run->facts != NULL;
    j->end = run->end;
    j->noderole_id = run->noderole_id;
    j->may_have_left = run->may_have_left;
    if (kind == JOB_CONCLUDE) {
        j->has_input = run->has_input;
        j->has_scratch = run->has_scratch;
    }
    queue(r, j);
}

void jobs_sweep_data(struct runner *r)
{
    if (r->is_sweeping)
        return;
    struct job *j = take_spare(r);
    r->is_sweeping = true;
    j->kind = JOB_SWEEP_DATA;
    jobs_send_out(r); /* it is long: nobody waits behind it */
    queue(r, j);
    jobs_send_out(r);
}

/* Both are small: a file, and a directory that is empty. */
void jobs_remove_made(struct runner *r, struct run *run)
{
    struct arena arena = {0};
    const bool sweeps = run->stage == STAGE_STOPPING || run->stage == STAGE_SWEPT;
    const int64_t id = sweeps ? SWEEP_IDS + run->run_id : run->run_id;
    if (run->has_input || sweeps)
        ignore(unlink(files_path(&arena, r, "in", id, run->attempt)), "the next start finds it");
    if (run->has_scratch && !sweeps)
        ignore(rmdir(files_path(&arena, r, "scratch", id, run->attempt)), "as above");
    arena_fini(&arena);
}

/* ---- the order ---- */

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
    const struct launch_spec *recipe = &j->recipe;
    const bool sweeps = j->kind == JOB_SWEEP_NODE;
    return (struct exec_spawn){
        .run_id = sweeps ? SWEEP_IDS + run->run_id : run->run_id,
        .attempt = run->attempt,
        .epoch = r->epoch,
        .argv = jobs_list(&j->arena, recipe->argv, recipe->argv_count),
        .env = jobs_list(&j->arena, recipe->env, recipe->env_count),
        .cwd = recipe->cwd,
        .stdin_path = str_from(j->input_path),
        .out_max = recipe->out_max,
        .log_max = recipe->log_max,
        .deadline_ms = sweeps ? SWEEP_MS_MAX : run->facts->deadline_ms,
        .grace_ms = sweeps ? SWEEP_GRACE_MS : GRACE_MS,
    };
}
