#include "hooks/hook_worker.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text/buf.h"

enum {
    STACK_SIZE = 2 << 20, /* Lua goes 200 calls deep in C at most, and a document 64 */
    PENALTY_MS = 1000,    /* for the first call that used up its time; then twice as much */
    PENALTY_MS_MAX = 10000,
    NICENESS = 10,
};

/* ---- lanes ---- */

static void make_ready(struct hook_worker *w, struct lane *lane)
{
    lane->next_ready = NULL;
    if (w->last_ready)
        w->last_ready->next_ready = lane;
    else
        w->first_ready = lane;
    w->last_ready = lane;
}

/* Its next job; the lane is behind all others then. `before` is the one in front of it. */
static struct job *take_from(struct hook_worker *w, struct lane *lane, struct lane *before)
{
    struct job *job = job_list_take(&lane->jobs);
    if (before)
        before->next_ready = lane->next_ready;
    else
        w->first_ready = lane->next_ready;
    if (w->last_ready == lane)
        w->last_ready = before;
    if (lane->jobs.first)
        make_ready(w, lane);
    return job;
}

/* The first that is free; when all pay their penalty, who is free first: nobody waits for it. */
static struct job *take_by_turns(struct hook_worker *w)
{
    const int64_t now_ms = w->seams.mono_ms(w->seams.self);
    struct lane *best = w->first_ready, *before_best = NULL, *before = NULL;
    must(best);
    for (struct lane *lane = best; best->free_ms > now_ms && lane; lane = lane->next_ready) {
        if (lane->free_ms < best->free_ms) {
            best = lane;
            before_best = before;
        }
        before = lane;
    }
    return take_from(w, best, before_best);
}

static struct job *take_oldest(struct hook_worker *w)
{
    struct lane *oldest = w->first_ready, *before_oldest = NULL, *before = NULL;
    for (struct lane *lane = oldest; lane; lane = lane->next_ready) {
        if (lane->jobs.first->number < oldest->jobs.first->number) {
            oldest = lane;
            before_oldest = before;
        }
        before = lane;
    }
    must(oldest);
    return take_from(w, oldest, before_oldest);
}

static void note_time(struct hook_worker *w, const struct job *job)
{
    struct lane *lane = job->lane;
    if (!lane)
        return;
    if (!job->tasks->ran_out) {
        lane->strikes = 0;
        return;
    }
    int64_t penalty_ms = PENALTY_MS;
    for (uint32_t i = 0; i < lane->strikes && penalty_ms < PENALTY_MS_MAX; i++)
        penalty_ms *= 2;
    lane->strikes++;
    lane->free_ms = w->seams.mono_ms(w->seams.self) +
                    (penalty_ms < PENALTY_MS_MAX ? penalty_ms : PENALTY_MS_MAX);
}

/* ---- the thread ---- */

static bool is_stopping(const struct hook_worker *w)
{
    return atomic_load_explicit(&w->stop, memory_order_relaxed);
}

static void tell_done(struct hook_worker *w, struct job *job)
{
    pthread_mutex_lock(&w->mutex);
    const bool is_first = !w->done.first;
    if (job->kind != JOB_CODE)
        note_time(w, job);
    job_list_add(&w->done, job);
    pthread_mutex_unlock(&w->mutex);
    if (is_first && !is_stopping(w))
        w->seams.wake(w->seams.self);
}

/* ---- code ---- */

/* A file that is wrong leaves the code there was. */
static void load(struct hook_worker *w, struct job *job, struct role_code_slot *shelf)
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
        role_code_slot_put(shelf, code);
    else if (!shelf->code)
        role_code_slot_miss(shelf, change->report.text);
    change->report.has_code = shelf->code != NULL;
    tell_done(w, job);
}

static void drop(struct hook_worker *w, struct job *job, struct role_code_slot *shelf)
{
    if (job->change->kind == CODE_NONE)
        role_code_slot_put(shelf, NULL);
    else
        role_code_slot_miss(shelf, job->change->why);
    tell_done(w, job);
}

static void change_code(struct hook_worker *w, struct lane *lane)
{
    pthread_mutex_lock(&w->mutex);
    struct job *to_drop = lane->drop, *to_load = lane->load;
    lane->drop = lane->load = NULL;
    pthread_mutex_unlock(&w->mutex);
    if (to_drop)
        drop(w, to_drop, &lane->shelf);
    if (to_load)
        load(w, to_load, &lane->shelf);
}

/* The next lane whose code is to change; NULL: none. Some were seen to before their turn came. */
static struct lane *find_changed(struct hook_worker *w)
{
    struct lane *lane = w->first_changed;
    while (lane && !lane->drop && !lane->load) {
        lane->is_changed = false;
        w->first_changed = lane = lane->next_changed;
    }
    return lane;
}

/* ---- jobs ---- */

static void refuse(struct task *task, struct str why)
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
    task->veto = task->kind == TASK_ASK;
    task->done.result = RESULT_FAILED;
    task->reason = REASON_HOOK_MISSING;
    task->text = buf_str(&b);
}

/* What a role does not define any more, or has no code for, nobody needs to call: that is decided
 * now, since the code may have come or gone while the task waited. Work must be done by somebody.
 */
static void carry_out(struct hook_worker *w, struct task *task)
{
    const struct role_code_slot *shelf = &task->lane->shelf;
    change_code(w, task->lane);
    if (shelf->code)
        role_code_call(shelf->code, task);
    else if (!shelf->is_known || shelf->trouble || task->kind == TASK_TRANSITION)
        refuse(task, str_from(shelf->trouble));
}

static void work_on(struct hook_worker *w, struct job *job)
{
    for (uint32_t i = 0; i < job->task_count && !is_stopping(w); i++)
        if (!job->tasks[i].is_void)
            carry_out(w, &job->tasks[i]);
}

/* A job, or a lane whose code is to change. */
struct piece {
    struct job *job;
    struct lane *lane;
};

static bool has_work(struct hook_worker *w)
{
    return w->asks.first || w->first_ready || find_changed(w);
}

/* Files wait for nobody and nobody waits for them, but not for ever. */
static struct piece take_piece(struct hook_worker *w)
{
    if (w->asks.first)
        return (struct piece){.job = job_list_take(&w->asks)};
    struct lane *changed = find_changed(w);
    if (changed && (w->is_code_next || !w->first_ready)) {
        w->is_code_next = false;
        return (struct piece){.lane = changed};
    }
    w->is_code_next = true;
    return (struct piece){.job = w->order_kept ? take_oldest(w) : take_by_turns(w)};
}

/* Neither: stop. */
static struct piece next_piece(struct hook_worker *w)
{
    struct piece piece = {0};
    pthread_mutex_lock(&w->mutex);
    w->is_busy = false;
    if (!has_work(w))
        pthread_cond_signal(&w->idle);
    while (!is_stopping(w) && !has_work(w))
        pthread_cond_wait(&w->more, &w->mutex);
    if (!is_stopping(w)) {
        piece = take_piece(w);
        w->is_busy = true;
    }
    pthread_mutex_unlock(&w->mutex);
    return piece;
}

/* Where processors are few, the thread that answers people comes before a role that computes. */
static void step_back(void)
{
    ignore(setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICENESS),
           "it is a courtesy, and being nicer is always allowed");
}

static void *work(void *self)
{
    struct hook_worker *w = self;
    step_back();
    for (struct piece next = next_piece(w); next.job || next.lane; next = next_piece(w)) {
        if (next.lane) {
            change_code(w, next.lane);
        } else {
            work_on(w, next.job);
            tell_done(w, next.job);
        }
    }
    return NULL;
}

/* ---- the loop's side ---- */

void hook_worker_keep_order(struct hook_worker *w, bool order_kept)
{
    pthread_mutex_lock(&w->mutex);
    w->order_kept = order_kept;
    pthread_mutex_unlock(&w->mutex);
}

/* Where the last job of the lane about the same object hangs; NULL when there is none. */
static struct job **find_same(struct lane *lane, const struct job *job)
{
    struct job **same = NULL;
    for (struct job **at = &lane->jobs.first; *at; at = &(*at)->next)
        if ((*at)->kind == JOB_DELIVER && (*at)->object == job->object &&
            (*at)->object_id == job->object_id)
            same = at;
    return same;
}

/* It knows more of the node than the one it replaces, and is called as soon. One that is not called
 * at all can speak for nobody else. */
static struct job *take_place(struct lane *lane, struct job *job)
{
    if (job->kind != JOB_DELIVER || job->hook != HOOK_NODE_CHANGE || job->tasks->is_void)
        return NULL;
    struct job **same = find_same(lane, job);
    struct job *old = same ? *same : NULL;
    if (!old || old->hook != job->hook)
        return NULL;
    job->number = old->number;
    job->next = old->next;
    *same = job;
    if (lane->jobs.last == old)
        lane->jobs.last = job;
    return old;
}

static struct job *add_to_lane(struct hook_worker *w, struct job *job)
{
    struct lane *lane = job->lane;
    struct job *old = w->order_kept ? NULL : take_place(lane, job);
    if (old)
        return old;
    job_list_add(&lane->jobs, job);
    if (lane->jobs.first == job)
        make_ready(w, lane);
    return NULL;
}

struct job *hook_worker_submit(struct hook_worker *w, struct job *job)
{
    struct job *old = NULL;
    pthread_mutex_lock(&w->mutex);
    job->number = ++w->last_number;
    if (job->kind == JOB_ASK)
        job_list_add(&w->asks, job);
    else
        old = add_to_lane(w, job);
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->mutex);
    return old;
}

static void put_aside(struct job **job, struct job_list *list)
{
    if (*job)
        job_list_add(list, *job);
    *job = NULL;
}

static void note_changed(struct hook_worker *w, struct lane *lane)
{
    if (lane->is_changed)
        return;
    lane->is_changed = true;
    lane->next_changed = NULL;
    if (w->first_changed)
        w->last_changed->next_changed = lane;
    else
        w->first_changed = lane;
    w->last_changed = lane;
}

/* What is loaded after another load would have been there for nobody; what is dropped, too. */
struct job_list hook_worker_change(struct hook_worker *w, struct job *job)
{
    struct lane *lane = job->lane;
    struct job_list needless = {0};
    const bool drops = job->change->kind == CODE_NONE || job->change->kind == CODE_MISSING;
    pthread_mutex_lock(&w->mutex);
    job->number = ++w->last_number;
    put_aside(&lane->load, &needless);
    if (drops)
        put_aside(&lane->drop, &needless);
    *(drops ? &lane->drop : &lane->load) = job;
    note_changed(w, lane);
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
    while (w->is_busy || has_work(w))
        pthread_cond_wait(&w->idle, &w->mutex);
    pthread_mutex_unlock(&w->mutex);
}

/* Signals are for the loop: the thread takes none. */
static int start_thread(struct hook_worker *w)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    sigfillset(&all);
    const int failed = pthread_attr_init(&attributes);
    if (failed)
        return failed;
    must(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    must(pthread_attr_setstacksize(&attributes, STACK_SIZE) == 0);
    const int result = pthread_create(&w->thread, &attributes, work, w);
    must(pthread_attr_destroy(&attributes) == 0);
    must(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    return result;
}

static void fini(struct hook_worker *w)
{
    must(pthread_cond_destroy(&w->idle) == 0);
    must(pthread_cond_destroy(&w->more) == 0);
    must(pthread_mutex_destroy(&w->mutex) == 0);
}

bool hook_worker_start(struct hook_worker *w, struct hook_worker_seams seams,
                       struct sandbox_limits limits)
{
    *w = (struct hook_worker){.seams = seams, .limits = limits, .order_kept = true};
    atomic_init(&w->stop, false);
    if (pthread_mutex_init(&w->mutex, NULL) != 0)
        return false;
    if (pthread_cond_init(&w->more, NULL) != 0)
        goto no_more;
    if (pthread_cond_init(&w->idle, NULL) != 0)
        goto no_idle;
    if (start_thread(w) == 0)
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
    pthread_mutex_lock(&w->mutex);
    atomic_store(&w->stop, true);
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->mutex);
    must(pthread_join(w->thread, NULL) == 0);
    job_list_drop(&w->asks);
    for (struct lane *lane = w->first_ready; lane; lane = lane->next_ready)
        job_list_drop(&lane->jobs);
    for (struct lane *lane = w->first_changed; lane; lane = lane->next_changed) {
        put_aside(&lane->drop, &w->done);
        put_aside(&lane->load, &w->done);
    }
    job_list_drop(&w->done);
    fini(w);
}
