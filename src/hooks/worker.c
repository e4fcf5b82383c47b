#include "hooks/worker.h"

#include <signal.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"

/* Lua goes 200 calls deep in C at most, and a document 64. */
enum { STACK_SIZE = 2 << 20 };

/* ---- jobs ---- */

struct job *job_new(enum job_kind kind, uint64_t key, uint32_t task_count)
{
    struct job *job = calloc(1, sizeof *job);
    must(job);
    job->kind = kind;
    job->key = key;
    job->tasks = arena_array(&job->arena, struct task, task_count);
    job->task_count = task_count;
    for (uint32_t i = 0; i < task_count; i++)
        job->tasks[i].arena = &job->arena;
    return job;
}

void job_free(struct job *job)
{
    arena_fini(&job->arena);
    free(job);
}

void job_list_add(struct job_list *list, struct job *job)
{
    job->next = NULL;
    if (list->last)
        list->last->next = job;
    else
        list->first = job;
    list->last = job;
}

struct job *job_list_take(struct job_list *list)
{
    struct job *job = list->first;
    if (job) {
        list->first = job->next;
        if (!list->first)
            list->last = NULL;
    }
    return job;
}

void job_list_drop(struct job_list *list)
{
    for (struct job *job = job_list_take(list); job; job = job_list_take(list))
        job_free(job);
}

/* ---- the thread ---- */

static bool is_stopping(const struct worker *w)
{
    return atomic_load_explicit(&w->stop, memory_order_relaxed);
}

static void refuse(struct task *task)
{
    struct buf b = buf_in(task->arena);
    buf_put_z(&b, "role ");
    buf_put_i64(&b, task->role_id);
    buf_put_z(&b, " has no code here, so ");
    buf_put_z(&b, task->function);
    buf_put_z(&b, " cannot be called");
    task->failed = true;
    task->veto = task->kind == TASK_ASK;
    task->done.result = RESULT_FAILED;
    task->text = buf_str(&b);
}

static void work_on(struct worker *w, struct job *job)
{
    for (uint32_t i = 0; i < job->task_count && !is_stopping(w); i++) {
        struct task *task = &job->tasks[i];
        struct role_code *code = shelf_borrow(&w->shelf, task->role_id);
        if (code)
            role_code_call(code, task);
        else
            refuse(task);
        shelf_give_back(&w->shelf);
    }
}

static bool has_jobs(const struct worker *w)
{
    return w->asks.first || w->rest.first;
}

/* NULL: stop. */
static struct job *next_job(struct worker *w)
{
    pthread_mutex_lock(&w->mutex);
    w->is_busy = false;
    if (!has_jobs(w))
        pthread_cond_signal(&w->idle);
    while (!is_stopping(w) && !has_jobs(w))
        pthread_cond_wait(&w->more, &w->mutex);
    struct job *job = NULL;
    if (!is_stopping(w))
        job = job_list_take(w->asks.first ? &w->asks : &w->rest);
    w->is_busy = job != NULL;
    pthread_mutex_unlock(&w->mutex);
    return job;
}

static void *work(void *self)
{
    struct worker *w = self;
    for (struct job *job = next_job(w); job; job = next_job(w)) {
        work_on(w, job);
        pthread_mutex_lock(&w->mutex);
        const bool is_first = !w->done.first;
        job_list_add(&w->done, job);
        pthread_mutex_unlock(&w->mutex);
        if (is_first && !is_stopping(w))
            w->wake(w->wake_self);
    }
    return NULL;
}

/* ---- the loop's side ---- */

void worker_submit(struct worker *w, struct job *job)
{
    pthread_mutex_lock(&w->mutex);
    job_list_add(job->kind == JOB_ASK ? &w->asks : &w->rest, job);
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->mutex);
}

struct job_list worker_take(struct worker *w)
{
    pthread_mutex_lock(&w->mutex);
    const struct job_list done = w->done;
    w->done = (struct job_list){0};
    pthread_mutex_unlock(&w->mutex);
    return done;
}

void worker_wait_idle(struct worker *w)
{
    pthread_mutex_lock(&w->mutex);
    while (w->is_busy || has_jobs(w))
        pthread_cond_wait(&w->idle, &w->mutex);
    pthread_mutex_unlock(&w->mutex);
}

/* Signals are for the loop: the thread takes none. */
static int start_thread(struct worker *w)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    sigfillset(&all);
    must(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    must(pthread_attr_init(&attributes) == 0);
    must(pthread_attr_setstacksize(&attributes, STACK_SIZE) == 0);
    const int result = pthread_create(&w->thread, &attributes, work, w);
    must(pthread_attr_destroy(&attributes) == 0);
    must(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    return result;
}

static void fini(struct worker *w)
{
    must(pthread_cond_destroy(&w->idle) == 0);
    must(pthread_cond_destroy(&w->more) == 0);
    must(pthread_mutex_destroy(&w->mutex) == 0);
    shelf_fini(&w->shelf);
}

bool worker_start(struct worker *w, void (*wake)(void *self), void *wake_self)
{
    *w = (struct worker){.wake = wake, .wake_self = wake_self};
    atomic_init(&w->stop, false);
    shelf_init(&w->shelf);
    must(pthread_mutex_init(&w->mutex, NULL) == 0);
    must(pthread_cond_init(&w->more, NULL) == 0);
    must(pthread_cond_init(&w->idle, NULL) == 0);
    if (start_thread(w) == 0)
        return true;
    fini(w);
    return false;
}

void worker_stop(struct worker *w)
{
    pthread_mutex_lock(&w->mutex);
    atomic_store(&w->stop, true);
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->mutex);
    must(pthread_join(w->thread, NULL) == 0);
    job_list_drop(&w->asks);
    job_list_drop(&w->rest);
    job_list_drop(&w->done);
    fini(w);
}
