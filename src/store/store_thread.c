/* store_thread.c - the writer of a store and its thread, and readers. Owns the thread and the
 * engine (the connection to the database, engine.h).
 *
 * The engine belongs to the thread while a job is in progress or maintenance runs, and to the
 * caller otherwise; `lock` protects the transfer. The caller gives one job at a time: lead or
 * write. It collects a result with poll() or with the next lead().
 *
 * When idle, the thread does store maintenance once, and then checks every CHECK_MS that the store
 * is reachable and still led by this process: a leader that writes nothing would otherwise not
 * learn of a successor.
 *
 * A server that does not answer must not block the daemon, which serves requests once it has led:
 * lead() then waits for LEAD_WAIT_MS only and leaves the job running, and reads in the thread of
 * the caller have a bound of READ_WAIT_MS.
 *
 * Failure: the result of a job is collected once and not repeated here. After a failed job or check
 * the thread makes no further checks until the caller has led again.
 */
#include "store/store_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "store/engine.h"
#include "sys/clock.h"
#include "sys/failpoint.h"

enum {
    LEAD_WAIT_MS = 200,  /* of the caller for the thread */
    CHECK_MS = 2000,     /* interval of checks while idle */
    READ_WAIT_MS = 2000, /* silence of the server during a read in the thread of the caller */
};

enum job { JOB_NONE, JOB_LEAD, JOB_WRITE, JOB_QUIT };

struct store {
    struct engine *engine;
    struct store_progress progress; /* of calls in the thread */
    void (*wake)(void *context);
    void *wake_context;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t job_given;   /* a job was given to the thread */
    pthread_cond_t engine_free; /* a job is done, or the thread has ended its idle use */
    enum job job;
    bool done;          /* the job is done, and its result was not collected */
    bool is_maintained; /* maintenance was done since the last job */
    bool is_idle_use;   /* the thread uses the engine without a job: maintenance or a check */
    err result;         /* of the job */
    const struct batch *batch;
    int64_t epoch; /* JOB_LEAD: the epoch held so far */
    struct store_mark mark;
    bool leads;                       /* the last job succeeded and no check failed since */
    bool has_led;                     /* lead() succeeded once: the caller serves requests since */
    err check_error;                  /* failure of a check; OK: none, or it was collected */
    struct store_why last_error;      /* message of the last failure */
    bool is_full;                     /* a write found the disk full, and none succeeded since */
    struct store_why last_error_copy; /* for the caller of store_last_error() */
};

/* ---- progress ---- */

void store_progress_begin(struct store_progress *p)
{
    atomic_store(&p->since_ms, sys_mono_ms());
}

void store_progress_touch(struct store_progress *p)
{
    if (atomic_load(&p->since_ms))
        store_progress_begin(p);
}

void store_progress_end(struct store_progress *p)
{
    atomic_store(&p->since_ms, 0);
}

int64_t store_progress_silent_ms(const struct store_progress *p)
{
    const int64_t since = atomic_load(&p->since_ms);
    const int64_t silent = since ? sys_mono_ms() - since : 0;
    return silent > 0 ? silent : 0;
}

int64_t store_silent_ms(const struct store *s)
{
    return store_progress_silent_ms(&s->progress);
}

/* ---- choice of the engine ---- */

static const char sqlite_scheme[] = "sqlite:";

static bool store_url_is_postgres(const char *url)
{
    return strncmp(url, "postgresql://", 13) == 0 || strncmp(url, "postgres://", 11) == 0;
}

bool store_url_check(const char *url, struct store_why *out_why)
{
    if (store_url_is_postgres(url))
        return true;
    if (strncmp(url, sqlite_scheme, sizeof sqlite_scheme - 1) == 0 &&
        url[sizeof sqlite_scheme - 1] != '\0')
        return true;
    snprintf(out_why->text, sizeof out_why->text,
             "\"%.200s\" is neither sqlite:PATH nor postgresql://...", url);
    return false;
}

err engine_open(const char *url, enum engine_mode mode, const char *holder, struct engine **out,
                struct store_why *out_why)
{
    if (!store_url_check(url, out_why))
        return ERR_SYNTAX;
    if (store_url_is_postgres(url))
        return postgres_open(url, mode, holder, out, out_why);
    return sqlite_open(url + sizeof sqlite_scheme - 1, mode, holder, out, out_why);
}

/* ---- thread ---- */

static err store_run_job(struct store *s, enum job job)
{
    err why;
    store_progress_begin(&s->progress);
    if (job == JOB_LEAD) {
        why = s->engine->ops->lead(s->engine, s->epoch, &s->mark);
    } else {
        FAILPOINT(TAKEN);
        why = s->engine->ops->write(s->engine, s->batch);
        FAILPOINT(ANSWER_BEFORE);
    }
    store_progress_end(&s->progress);
    return why;
}

/* Called with the lock held. */
static void store_note_error(struct store *s, err why)
{
    if (why != OK)
        s->last_error = s->engine->why;
    if (why == ERR_NO_SPACE)
        s->is_full = true;
}

static void store_wake(struct store *s)
{
    if (s->wake)
        s->wake(s->wake_context);
}

static void store_finish_job(struct store *s, err result)
{
    pthread_mutex_lock(&s->lock);
    store_note_error(s, result);
    /* A successful lead() proves nothing: it changes one row, which may fit on a full disk. */
    if (result == OK && s->job == JOB_WRITE)
        s->is_full = false;
    s->result = result;
    s->leads = result == OK;
    s->done = true;
    pthread_cond_signal(&s->engine_free);
    pthread_mutex_unlock(&s->lock);
    store_wake(s);
    FAILPOINT(ANSWER_AFTER);
}

static struct timespec timespec_after_ms(long ms)
{
    struct timespec at;
    must(clock_gettime(CLOCK_MONOTONIC, &at) == 0);
    at.tv_nsec += ms % 1000 * 1000000;
    at.tv_sec += ms / 1000 + at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

/* Called with the lock held and without a job; the lock is released during the check. */
static void store_check_idle(struct store *s)
{
    s->is_idle_use = true;
    pthread_mutex_unlock(&s->lock);
    store_progress_begin(&s->progress);
    const err why = s->engine->ops->check(s->engine, s->mark.epoch);
    store_progress_end(&s->progress);
    pthread_mutex_lock(&s->lock);
    s->is_idle_use = false;
    pthread_cond_signal(&s->engine_free);
    if (why == OK)
        return;
    store_note_error(s, why);
    s->leads = false;
    s->check_error = why;
    store_wake(s);
}

/* Called with the lock held and without a job: does maintenance once, then waits and checks. */
static void store_maintain_or_wait(struct store *s)
{
    if (s->is_maintained) {
        /* Collecting a result sends no signal, so this wait has a timeout while we lead. */
        const struct timespec until = timespec_after_ms(CHECK_MS);
        if (!s->leads)
            pthread_cond_wait(&s->job_given, &s->lock);
        else if (pthread_cond_timedwait(&s->job_given, &s->lock, &until) == ETIMEDOUT &&
                 s->job == JOB_NONE && s->leads)
            store_check_idle(s);
        return;
    }
    s->is_idle_use = true;
    pthread_mutex_unlock(&s->lock);
    store_progress_begin(&s->progress);
    s->engine->ops->maintain(s->engine);
    store_progress_end(&s->progress);
    pthread_mutex_lock(&s->lock);
    s->is_idle_use = false;
    s->is_maintained = true;
    pthread_cond_signal(&s->engine_free);
}

static void *store_thread_main(void *self)
{
    struct store *s = self;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        while (s->job == JOB_NONE || s->done)
            store_maintain_or_wait(s);
        if (s->job == JOB_QUIT)
            break;
        const enum job job = s->job;
        s->is_maintained = false;
        pthread_mutex_unlock(&s->lock);
        store_finish_job(s, store_run_job(s, job));
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Called with the lock held, while the thread has no job. */
static void store_give_job(struct store *s, enum job job)
{
    must(s->job == JOB_NONE);
    s->job = job;
    s->done = false;
    pthread_cond_signal(&s->job_given);
}

/* Called with the lock held. True: the job is done. NULL: waits without a limit. */
static bool store_wait_done(struct store *s, const struct timespec *until)
{
    while (!s->done) {
        if (!until)
            pthread_cond_wait(&s->engine_free, &s->lock);
        else if (pthread_cond_timedwait(&s->engine_free, &s->lock, until) != 0)
            return s->done;
    }
    return true;
}

/* ---- port ---- */

/* If the job takes longer than LEAD_WAIT_MS it continues in the thread, and the next call collects
 * its result. At the start (epoch 0) no client waits, so the call blocks. */
static err port_lead(void *self, int64_t epoch, struct store_mark *out_mark)
{
    struct store *s = self;
    const struct timespec until = timespec_after_ms(LEAD_WAIT_MS);
    pthread_mutex_lock(&s->lock);
    if (s->job == JOB_NONE) {
        s->epoch = epoch;
        store_give_job(s, JOB_LEAD);
    }
    err why = ERR_UNAVAILABLE;
    must(s->job == JOB_LEAD);
    if (store_wait_done(s, epoch ? &until : NULL)) {
        why = s->result;
        *out_mark = s->mark;
        s->has_led |= why == OK;
        s->job = JOB_NONE;
        s->done = false;
        s->check_error = OK;
    } else {
        snprintf(s->last_error.text, sizeof s->last_error.text, "the store does not answer");
    }
    pthread_mutex_unlock(&s->lock);
    return why;
}

/* Called with the lock held. True: the caller may use the engine until it releases the lock. False:
 * an attempt to lead is in progress, or maintenance does not end in time. The result of a lead()
 * that has ended is dropped; the next lead() determines it again. */
static bool store_take_engine(struct store *s)
{
    const struct timespec until = timespec_after_ms(LEAD_WAIT_MS);
    if (s->job == JOB_LEAD && !s->done)
        return false;
    must(s->job != JOB_WRITE);
    s->job = JOB_NONE;
    s->done = false;
    while (s->is_idle_use) {
        if (!s->has_led)
            pthread_cond_wait(&s->engine_free, &s->lock);
        else if (pthread_cond_timedwait(&s->engine_free, &s->lock, &until) != 0)
            return !s->is_idle_use;
    }
    s->engine->patience_ms = s->has_led ? READ_WAIT_MS : 0;
    return true;
}

/* Called with the lock held. */
static void store_return_engine(struct store *s, err why)
{
    s->engine->patience_ms = 0;
    store_note_error(s, why);
}

static err port_read_mark(void *self, struct store_mark *out_mark)
{
    struct store *s = self;
    err why = ERR_UNAVAILABLE;
    pthread_mutex_lock(&s->lock);
    if (store_take_engine(s)) {
        why = s->engine->ops->begin(s->engine, out_mark);
        if (why == OK)
            s->engine->ops->end(s->engine);
        store_return_engine(s, why);
    }
    pthread_mutex_unlock(&s->lock);
    return why;
}

static err port_load(void *self, struct record_callback callback)
{
    struct store *s = self;
    struct store_mark mark;
    err why = ERR_UNAVAILABLE;
    pthread_mutex_lock(&s->lock);
    if (store_take_engine(s)) {
        why = s->engine->ops->begin(s->engine, &mark);
        if (why == OK) {
            for (uint32_t t = 0; t < TABLE_LOADED && why == OK; t++)
                why = s->engine->ops->table(s->engine, (enum table)t, callback);
            s->engine->ops->end(s->engine);
        }
        store_return_engine(s, why);
    }
    pthread_mutex_unlock(&s->lock);
    return why;
}

static err port_notice(void *self)
{
    struct store *s = self;
    pthread_mutex_lock(&s->lock);
    const err why = s->check_error;
    s->check_error = OK;
    pthread_mutex_unlock(&s->lock);
    return why;
}

static err port_submit(void *self, const struct batch *batch)
{
    struct store *s = self;
    pthread_mutex_lock(&s->lock);
    s->batch = batch;
    store_give_job(s, JOB_WRITE);
    pthread_mutex_unlock(&s->lock);
    return OK;
}

static err port_poll(void *self, bool *out_busy)
{
    struct store *s = self;
    pthread_mutex_lock(&s->lock);
    must(s->job == JOB_WRITE);
    *out_busy = !s->done;
    const err why = s->result;
    if (s->done) {
        s->job = JOB_NONE;
        s->done = false;
        s->batch = NULL;
    }
    pthread_mutex_unlock(&s->lock);
    return why;
}

struct store_port store_port(struct store *s)
{
    return (struct store_port){s,         port_lead,      port_load,  port_submit,
                               port_poll, port_read_mark, port_notice};
}

/* ---- open and close ---- */

/* Returns 0 or an error number, after which nothing is left to release. */
static int store_start_thread(struct store *s)
{
    pthread_condattr_t monotonic;
    int failed = pthread_condattr_init(&monotonic);
    if (failed)
        return failed;
    must(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0);
    failed = pthread_mutex_init(&s->lock, NULL);
    if (failed)
        goto no_lock;
    failed = pthread_cond_init(&s->job_given, &monotonic);
    if (failed)
        goto no_job_given;
    failed = pthread_cond_init(&s->engine_free, &monotonic);
    if (failed)
        goto no_engine_free;
    failed = pthread_create(&s->thread, NULL, store_thread_main, s);
    if (!failed)
        goto no_lock; /* success: only the attribute is released */
    pthread_cond_destroy(&s->engine_free);
no_engine_free:
    pthread_cond_destroy(&s->job_given);
no_job_given:
    pthread_mutex_destroy(&s->lock);
no_lock:
    pthread_condattr_destroy(&monotonic);
    return failed;
}

err store_open(const struct store_options *options, struct store **out_store,
               struct store_why *out_why)
{
    struct engine *engine;
    const err why = engine_open(options->url, ENGINE_WRITE, options->holder, &engine, out_why);
    if (why != OK)
        return why;
    struct store *s = calloc(1, sizeof *s);
    must(s);
    s->engine = engine;
    engine->progress = &s->progress;
    s->wake = options->wake;
    s->wake_context = options->wake_context;
    const int failed = store_start_thread(s);
    if (failed) {
        snprintf(out_why->text, sizeof out_why->text,
                 "the thread of the store cannot be started: %s; check the limits of this service "
                 "on threads and memory",
                 strerror(failed));
        engine->ops->close(engine);
        free(s);
        return ERR_UNAVAILABLE;
    }
    *out_store = s;
    return OK;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    while ((s->job != JOB_NONE && !s->done) || s->is_idle_use) {
        const struct timespec soon = timespec_after_ms(LEAD_WAIT_MS);
        if (store_silent_ms(s) >= STORE_SILENT_MS)
            atomic_store(&s->progress.gives_up, true);
        ignore(pthread_cond_timedwait(&s->engine_free, &s->lock, &soon),
               "the loop tests its condition again");
    }
    s->job = JOB_QUIT;
    s->done = false;
    pthread_cond_signal(&s->job_given);
    pthread_mutex_unlock(&s->lock);
    must(pthread_join(s->thread, NULL) == 0);
    s->engine->ops->close(s->engine);
    pthread_cond_destroy(&s->job_given);
    pthread_cond_destroy(&s->engine_free);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

const char *store_last_error(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    s->last_error_copy = s->last_error;
    pthread_mutex_unlock(&s->lock);
    return s->last_error_copy.text;
}

bool store_is_full(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    const bool is_full = s->is_full;
    pthread_mutex_unlock(&s->lock);
    return is_full;
}

bool store_has_failed(const struct store *s)
{
    return s->engine->lost;
}

/* ---- readers ---- */

struct store_reader {
    struct engine *engine;
};

err store_reader_open(const char *url, struct store_reader **out_reader, struct store_why *out_why)
{
    struct engine *engine;
    const err why = engine_open(url, ENGINE_READ, "reader", &engine, out_why);
    if (why != OK)
        return why;
    struct store_reader *r = calloc(1, sizeof *r);
    must(r);
    r->engine = engine;
    *out_reader = r;
    return OK;
}

void store_reader_close(struct store_reader *r)
{
    if (!r)
        return;
    r->engine->ops->close(r->engine);
    free(r);
}

void store_reader_watch(struct store_reader *r, struct store_progress *progress)
{
    r->engine->progress = progress;
}

const char *store_reader_last_error(const struct store_reader *r)
{
    return r->engine->why.text;
}

err store_reader_begin(struct store_reader *r, struct store_mark *out_mark)
{
    return r->engine->ops->begin(r->engine, out_mark);
}

void store_reader_end(struct store_reader *r)
{
    r->engine->ops->end(r->engine);
}

err store_reader_table(struct store_reader *r, enum table table, struct record_callback callback)
{
    return r->engine->ops->table(r->engine, table, callback);
}

err store_reader_verify(struct store_reader *r, struct store_why *out_why)
{
    const err why = r->engine->ops->verify(r->engine);
    if (why != OK)
        *out_why = r->engine->why;
    return why;
}

static err reader_events(void *self, struct history_cursor from, uint32_t limit,
                         struct record_callback callback)
{
    struct engine *e = ((struct store_reader *)self)->engine;
    return e->ops->events(e, from, limit, callback);
}

static err reader_intervals(void *self, const struct interval_page *page,
                            struct record_callback callback)
{
    struct engine *e = ((struct store_reader *)self)->engine;
    return e->ops->intervals(e, page, callback);
}

static err reader_runs(void *self, int64_t noderole_id, uint32_t limit,
                       struct record_callback callback)
{
    struct engine *e = ((struct store_reader *)self)->engine;
    return e->ops->runs(e, noderole_id, limit, callback);
}

struct history_port store_reader_history(struct store_reader *r)
{
    return (struct history_port){r, reader_events, reader_intervals, reader_runs};
}
