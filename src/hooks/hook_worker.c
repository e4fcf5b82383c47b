#include "hooks/hook_worker.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text/buf.h"

/* Owns one thread and the jobs that were submitted to it and not taken back. Shared state is
 * protected by the mutex; jobs and the code of roles are accessed without it, because each of them
 * belongs to one thread at a time. The loop never waits for the thread except in
 * hook_worker_wait_idle() and hook_worker_stop().
 *
 * Order: changes of code are applied before the next call of their role, so a call never uses code
 * that was replaced before it started. A removal and a later load may both be pending for a role;
 * the removal is applied first. `done` is filled before the loop is woken, so a wake-up is never
 * lost.
 *
 * Failure: errors of Lua code become results of their tasks. A call cannot block the thread longer
 * than the limits of its sandbox allow, and `stop` ends it early. */

enum {
    STACK_SIZE = 2 << 20, /* bytes; Lua nests at most 200 C calls, a document 64 levels */
    PENALTY_MS = 1000,    /* after the first call that reached the time limit; then doubled */
    PENALTY_MS_MAX = 10000,
    NICENESS = 10, /* nice value of the thread */
};

/* ---- round-robin ---- */

static void worker_link_ready(struct hook_worker *w, struct role_queue *role_queue)
{
    role_queue->next_ready = NULL;
    if (w->last_ready)
        w->last_ready->next_ready = role_queue;
    else
        w->first_ready = role_queue;
    w->last_ready = role_queue;
}

/* Take the next job of a role and move the role to the end; `before` is its predecessor. */
static struct job *worker_take_first(struct hook_worker *w, struct role_queue *role_queue,
                                     struct role_queue *before)
{
    struct job *job = job_list_take(&role_queue->jobs);
    if (before)
        before->next_ready = role_queue->next_ready;
    else
        w->first_ready = role_queue->next_ready;
    if (w->last_ready == role_queue)
        w->last_ready = before;
    if (role_queue->jobs.first)
        worker_link_ready(w, role_queue);
    return job;
}

/* The first role without a penalty; if all have one, the role whose penalty ends first, so that the
 * thread is never idle with work to do. */
static struct job *worker_take_round_robin(struct hook_worker *w)
{
    const int64_t now_ms = w->callbacks.mono_ms(w->callbacks.self);
    struct role_queue *best = w->first_ready, *before_best = NULL, *before = NULL;
    must(best);
    for (struct role_queue *role_queue = best; best->penalty_until_ms > now_ms && role_queue;
         role_queue = role_queue->next_ready) {
        if (role_queue->penalty_until_ms < best->penalty_until_ms) {
            best = role_queue;
            before_best = before;
        }
        before = role_queue;
    }
    return worker_take_first(w, best, before_best);
}

static struct job *worker_take_oldest(struct hook_worker *w)
{
    struct role_queue *oldest = w->first_ready, *before_oldest = NULL, *before = NULL;
    for (struct role_queue *role_queue = oldest; role_queue; role_queue = role_queue->next_ready) {
        if (role_queue->jobs.first->number < oldest->jobs.first->number) {
            oldest = role_queue;
            before_oldest = before;
        }
        before = role_queue;
    }
    must(oldest);
    return worker_take_first(w, oldest, before_oldest);
}

static void worker_update_penalty(struct hook_worker *w, const struct job *job)
{
    struct role_queue *role_queue = job->role_queue;
    if (!role_queue)
        return;
    if (!job->tasks->timed_out) {
        role_queue->timeouts = 0;
        return;
    }
    int64_t penalty_ms = PENALTY_MS;
    for (uint32_t i = 0; i < role_queue->timeouts && penalty_ms < PENALTY_MS_MAX; i++)
        penalty_ms *= 2;
    role_queue->timeouts++;
    role_queue->penalty_until_ms = w->callbacks.mono_ms(w->callbacks.self) +
                                   (penalty_ms < PENALTY_MS_MAX ? penalty_ms : PENALTY_MS_MAX);
}

/* ---- finished jobs ---- */

static bool worker_is_stopping(const struct hook_worker *w)
{
    return atomic_load_explicit(&w->stop, memory_order_relaxed);
}

static void worker_finish_job(struct hook_worker *w, struct job *job)
{
    pthread_mutex_lock(&w->mutex);
    const bool is_first = !w->done.first;
    if (job->kind != JOB_CODE)
        worker_update_penalty(w, job);
    job_list_add(&w->done, job);
    pthread_mutex_unlock(&w->mutex);
    if (is_first && !worker_is_stopping(w))
        w->callbacks.wake(w->callbacks.self);
}

/* ---- code ---- */

/* Load a file. An invalid one leaves the old code in place. */
static void worker_load_code(struct hook_worker *w, struct job *job, struct role_code_slot *slot)
{
    struct code_change *change = job->change;
    struct role_code *code = NULL;
    const struct role_source source = {.limits = w->limits, .stop = &w->stop};
    if (change->kind == CODE_FILE) {
        change->error = code_file_read(source, change->path, &job->arena, &code, &change->report);
    } else {
        change->error = ERR_IO;
        change->report.text = change->why;
    }
    if (change->error == OK)
        role_code_slot_put(slot, code);
    else if (!slot->code)
        role_code_slot_miss(slot, change->report.text);
    change->report.has_code = slot->code != NULL;
    worker_finish_job(w, job);
}

static void worker_drop_code(struct hook_worker *w, struct job *job, struct role_code_slot *slot)
{
    if (job->change->kind == CODE_NONE)
        role_code_slot_put(slot, NULL);
    else
        role_code_slot_miss(slot, job->change->why);
    worker_finish_job(w, job);
}

static void worker_apply_changes(struct hook_worker *w, struct role_queue *role_queue)
{
    pthread_mutex_lock(&w->mutex);
    struct job *to_drop = role_queue->drop, *to_load = role_queue->load;
    role_queue->drop = role_queue->load = NULL;
    pthread_mutex_unlock(&w->mutex);
    if (to_drop)
        worker_drop_code(w, to_drop, &role_queue->slot);
    if (to_load)
        worker_load_code(w, to_load, &role_queue->slot);
}

/* The next role whose code is to be changed; NULL: none. Entries that were handled before a call
 * are skipped. */
static struct role_queue *worker_find_changed(struct hook_worker *w)
{
    struct role_queue *role_queue = w->first_changed;
    while (role_queue && !role_queue->drop && !role_queue->load) {
        role_queue->is_changed = false;
        w->first_changed = role_queue = role_queue->next_changed;
    }
    return role_queue;
}

/* ---- jobs ---- */

static void worker_refuse_task(struct task *task, struct str why)
{
    struct buf b = buf_in(task->arena);
    buf_put_z(&b, "role ");
    if (task->role.len)
        buf_put_str(&b, task->role);
    else
        buf_put_i64(&b, task->role_id);
    buf_put_z(&b, " has no code here, so ");
    buf_put_z(&b, task->function);
    buf_put_z(&b, " cannot be called");
    buf_put_z(&b, why.len ? ": " : "");
    buf_put_str(&b, why);
    task->failed = true;
    task->veto = task->kind == TASK_VETO;
    task->done.result = RESULT_FAILED;
    task->reason = REASON_HOOK_MISSING;
    task->text = buf_str(&b);
}

/* Execute a task with the code that is current now: it may have changed while the task waited. A
 * hook that the role does not define any more is not called; a missing do_transition is a failure.
 */
static void worker_execute_task(struct hook_worker *w, struct task *task)
{
    const struct role_code_slot *slot = &task->role_queue->slot;
    worker_apply_changes(w, task->role_queue);
    if (slot->code)
        role_code_call(slot->code, task);
    else if (!slot->is_known || slot->missing_reason || task->kind == TASK_TRANSITION)
        worker_refuse_task(task, str_from(slot->missing_reason));
}

static void worker_execute_job(struct hook_worker *w, struct job *job)
{
    for (uint32_t i = 0; i < job->task_count && !worker_is_stopping(w); i++)
        if (!job->tasks[i].is_obsolete)
            worker_execute_task(w, &job->tasks[i]);
}

/* A job, or a role whose code is to be changed. */
struct work_item {
    struct job *job;
    struct role_queue *role_queue;
};

static bool worker_has_work(struct hook_worker *w)
{
    return w->veto_jobs.first || w->first_ready || worker_find_changed(w);
}

/* Veto requests first, then alternately a change of code and a job, so that neither starves. */
static struct work_item worker_take_work(struct hook_worker *w)
{
    if (w->veto_jobs.first)
        return (struct work_item){.job = job_list_take(&w->veto_jobs)};
    struct role_queue *changed = worker_find_changed(w);
    if (changed && (w->is_code_next || !w->first_ready)) {
        w->is_code_next = false;
        return (struct work_item){.role_queue = changed};
    }
    w->is_code_next = true;
    return (struct work_item){.job = w->keep_order ? worker_take_oldest(w)
                                                   : worker_take_round_robin(w)};
}

/* Wait for work; neither field is set on stop. */
static struct work_item worker_next_work(struct hook_worker *w)
{
    struct work_item work_item = {0};
    pthread_mutex_lock(&w->mutex);
    w->is_busy = false;
    if (!worker_has_work(w))
        pthread_cond_signal(&w->idle);
    while (!worker_is_stopping(w) && !worker_has_work(w))
        pthread_cond_wait(&w->more, &w->mutex);
    if (!worker_is_stopping(w)) {
        work_item = worker_take_work(w);
        w->is_busy = true;
    }
    pthread_mutex_unlock(&w->mutex);
    return work_item;
}

static void *worker_main(void *self)
{
    struct hook_worker *w = self;
    /* On a machine with few processors, replying to clients is more important than Lua code. */
    ignore(setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICENESS),
           "raising the nice value is always allowed, and optional");
    for (struct work_item next = worker_next_work(w); next.job || next.role_queue;
         next = worker_next_work(w)) {
        if (next.role_queue) {
            worker_apply_changes(w, next.role_queue);
        } else {
            worker_execute_job(w, next.job);
            worker_finish_job(w, next.job);
        }
    }
    return NULL;
}

/* ---- called by the loop ---- */

void hook_worker_keep_order(struct hook_worker *w, bool keep_order)
{
    pthread_mutex_lock(&w->mutex);
    w->keep_order = keep_order;
    pthread_mutex_unlock(&w->mutex);
}

/* Replace a pending on_node_change of the same node in place: the new one has newer facts. A job
 * that will not be called cannot replace one. */
static struct job *worker_replace_pending(struct role_queue *role_queue, struct job *job)
{
    if (job->kind != JOB_DELIVER || job->hook != HOOK_NODE_CHANGE || job->tasks->is_obsolete)
        return NULL;
    /* `same` becomes the link to the last delivery about the same object in the queue. */
    struct job **same = NULL;
    for (struct job **at = &role_queue->jobs.first; *at; at = &(*at)->next)
        if ((*at)->kind == JOB_DELIVER && (*at)->object == job->object &&
            (*at)->object_id == job->object_id)
            same = at;
    struct job *old = same ? *same : NULL;
    if (!old || old->hook != job->hook)
        return NULL;
    job->number = old->number;
    job->next = old->next;
    *same = job;
    if (role_queue->jobs.last == old)
        role_queue->jobs.last = job;
    return old;
}

struct job *hook_worker_submit(struct hook_worker *w, struct job *job)
{
    struct role_queue *role_queue = job->role_queue;
    struct job *old = NULL;
    pthread_mutex_lock(&w->mutex);
    job->number = ++w->last_number;
    if (job->kind == JOB_VETO) {
        job_list_add(&w->veto_jobs, job);
    } else {
        old = w->keep_order ? NULL : worker_replace_pending(role_queue, job);
        if (!old)
            job_list_add(&role_queue->jobs, job);
        if (!old && role_queue->jobs.first == job)
            worker_link_ready(w, role_queue);
    }
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->mutex);
    return old;
}

static void worker_move_to(struct job **job, struct job_list *list)
{
    if (*job)
        job_list_add(list, *job);
    *job = NULL;
}

static void worker_link_changed(struct hook_worker *w, struct role_queue *role_queue)
{
    if (role_queue->is_changed)
        return;
    role_queue->is_changed = true;
    role_queue->next_changed = NULL;
    if (w->first_changed)
        w->last_changed->next_changed = role_queue;
    else
        w->first_changed = role_queue;
    w->last_changed = role_queue;
}

/* Record a change of code. Pending changes that it replaces are returned. */
struct job_list hook_worker_change(struct hook_worker *w, struct job *job)
{
    struct role_queue *role_queue = job->role_queue;
    struct job_list needless = {0};
    const bool drops = job->change->kind == CODE_NONE || job->change->kind == CODE_MISSING;
    pthread_mutex_lock(&w->mutex);
    job->number = ++w->last_number;
    worker_move_to(&role_queue->load, &needless);
    if (drops)
        worker_move_to(&role_queue->drop, &needless);
    *(drops ? &role_queue->drop : &role_queue->load) = job;
    worker_link_changed(w, role_queue);
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->mutex);
    return needless;
}

struct job_list hook_worker_take(struct hook_worker *w)
{
    pthread_mutex_lock(&w->mutex);
    const struct job_list done = w->done;
    w->done = (struct job_list){0};
    pthread_mutex_unlock(&w->mutex);
    return done;
}

void hook_worker_wait_idle(struct hook_worker *w)
{
    pthread_mutex_lock(&w->mutex);
    while (w->is_busy || worker_has_work(w))
        pthread_cond_wait(&w->idle, &w->mutex);
    pthread_mutex_unlock(&w->mutex);
}

/* Block all signals: the loop handles them. */
static int worker_start_thread(struct hook_worker *w)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    sigfillset(&all);
    const int failed = pthread_attr_init(&attributes);
    if (failed)
        return failed;
    must(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    must(pthread_attr_setstacksize(&attributes, STACK_SIZE) == 0);
    const int result = pthread_create(&w->thread, &attributes, worker_main, w);
    must(pthread_attr_destroy(&attributes) == 0);
    must(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    return result;
}

bool hook_worker_start(struct hook_worker *w, struct hook_worker_callbacks callbacks,
                       struct sandbox_limits limits)
{
    *w = (struct hook_worker){.callbacks = callbacks, .limits = limits, .keep_order = true};
    atomic_init(&w->stop, false);
    if (pthread_mutex_init(&w->mutex, NULL) != 0)
        return false;
    if (pthread_cond_init(&w->more, NULL) != 0)
        goto no_more;
    if (pthread_cond_init(&w->idle, NULL) != 0)
        goto no_idle;
    if (worker_start_thread(w) == 0)
        return true;
    must(pthread_cond_destroy(&w->idle) == 0);
no_idle:
    must(pthread_cond_destroy(&w->more) == 0);
no_more:
    must(pthread_mutex_destroy(&w->mutex) == 0);
    return false;
}

void hook_worker_stop(struct hook_worker *w)
{
    /* Set `stop` under the mutex: otherwise the thread could test it before and miss the signal. */
    pthread_mutex_lock(&w->mutex);
    atomic_store(&w->stop, true);
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->mutex);
    must(pthread_join(w->thread, NULL) == 0);
    /* The thread has ended: drop everything that is pending or was not taken. */
    job_list_drop(&w->veto_jobs);
    for (struct role_queue *role_queue = w->first_ready; role_queue;
         role_queue = role_queue->next_ready)
        job_list_drop(&role_queue->jobs);
    for (struct role_queue *role_queue = w->first_changed; role_queue;
         role_queue = role_queue->next_changed) {
        worker_move_to(&role_queue->drop, &w->done);
        worker_move_to(&role_queue->load, &w->done);
    }
    job_list_drop(&w->done);
    must(pthread_cond_destroy(&w->idle) == 0);
    must(pthread_cond_destroy(&w->more) == 0);
    must(pthread_mutex_destroy(&w->mutex) == 0);
}
