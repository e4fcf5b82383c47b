/* history_reader.c - a thread that reads archive tables over a connection of its own.
 *
 * It owns the thread, its connection and the requests. The loop enqueues requests, the thread
 * executes them one by one in order, and an async handle wakes the loop to deliver the replies. A
 * request belongs to the thread of the loop, then to the reader thread, then to the loop again; the
 * mutex guards only the two queues, `current` and `is_stopping`.
 *
 * If the store does not answer for HISTORY_SILENT_MS, a timer in the loop replies ERR_UNAVAILABLE
 * to all requests. The request that the thread is executing cannot be freed there, so it is marked
 * `is_answered` and dropped when the thread returns it. After a failed read the reply has the error
 * and no records, and the connection is closed and opened again for the next request. A store that
 * cannot be opened gives ERR_UNAVAILABLE, a full queue ERR_LIMIT.
 *
 * history_free() joins the thread before it frees the queues. Memory is freed when both handles are
 * closed.
 */
#include "daemon/history_reader.h"

#include <stdlib.h>
#include <string.h>

#include "store/store_thread.h"
#include "sys/log.h"

enum { REPLIES_PER_WAKE_MAX = 16, EXPIRE_MS = 500 /* interval of the timer */ };

/* One read of the history, from the call of the API to its reply. */
struct history_request {
    struct history_request *next;
    int64_t number; /* by which the API finds its request */
    /* Calls the function of the port that this request needs. */
    err (*read)(const struct history_request *q, const struct history_port *port,
                struct record_callback callback);
    int64_t noderole_id;
    struct interval_page page;
    struct history_cursor from;
    uint32_t limit;
    struct store_progress *progress;
    struct arena arena; /* owns the records */
    struct record *records;
    uint32_t count, cap;
    err why;
    bool is_full;     /* the page ends early: its records have HISTORY_BYTES_MAX bytes */
    bool is_answered; /* it timed out and its result is dropped; guarded by the mutex */
};

struct history_queue {
    struct history_request *first;
    struct history_request **end;
};

struct history {
    struct history_callbacks callbacks;
    char *url;
    uv_thread_t thread;
    uv_async_t async;
    uv_timer_t timer;      /* runs while requests are unanswered             */
    uint32_t open_handles; /* count: async and timer                         */
    uint32_t count;        /* unanswered requests; of the loop's thread only */
    struct store_progress progress;
    struct store_reader *reader; /* of the reader thread; NULL: not connected */
    uv_mutex_t mutex;            /* guards what follows */
    uv_cond_t more;
    bool is_stopping;
    struct history_request *current; /* being executed by the thread; NULL: none */
    struct history_queue waiting;
    struct history_queue done;
};

static void history_queue_init(struct history_queue *l)
{
    l->first = NULL;
    l->end = &l->first;
}

static void history_queue_add(struct history_queue *l, struct history_request *q)
{
    q->next = NULL;
    *l->end = q;
    l->end = &q->next;
}

static struct history_request *history_queue_take(struct history_queue *l)
{
    struct history_request *q = l->first;
    if (q) {
        l->first = q->next;
        if (!l->first)
            l->end = &l->first;
    }
    return q;
}

static void history_request_free(struct history_request *q)
{
    arena_fini(&q->arena);
    free(q);
}

/* ---- reader thread ---- */

static err history_read_runs(const struct history_request *q, const struct history_port *port,
                             struct record_callback callback)
{
    return port->runs(port->self, q->noderole_id, q->limit, callback);
}

static err history_read_intervals(const struct history_request *q, const struct history_port *port,
                                  struct record_callback callback)
{
    return port->intervals(port->self, &q->page, callback);
}

static err history_read_events(const struct history_request *q, const struct history_port *port,
                               struct record_callback callback)
{
    return port->events(port->self, q->from, q->limit, callback);
}

/* Copy a record into the reply. ERR_LIMIT ends the read of a full page, which is not an error. */
static err history_keep_record(void *self, const struct record *record)
{
    struct history_request *q = self;
    store_progress_touch(q->progress);
    if (q->is_full)
        return ERR_LIMIT;
    if (q->count == q->cap) {
        q->cap = q->cap ? q->cap * 2 : 16;
        struct record *larger = arena_array(&q->arena, struct record, q->cap);
        if (q->count)
            memcpy(larger, q->records, q->count * sizeof *larger);
        q->records = larger;
    }
    struct record *kept = &q->records[q->count++];
    kept->table = record->table;
    fields_copy(&q->arena, record_layout(record->table), &record->id, &kept->id);
    q->is_full = q->read == history_read_intervals && q->arena.held >= HISTORY_BYTES_MAX;
    return OK;
}

static err history_open_reader(struct history *h)
{
    struct store_why why = {""};
    if (h->reader)
        return OK;
    const err e = store_reader_open(h->url, &h->reader, &why);
    if (e != OK)
        log_print(LOG_WARNING, "cannot read the history: %s; requests for it are answered 503",
                  why.text);
    else
        store_reader_watch(h->reader, &h->progress);
    return e;
}

/* Read the records of one request. After an error the connection is closed, so that the next
 * request opens a new one. */
static void history_execute(struct history *h, struct history_request *q)
{
    q->why = history_open_reader(h);
    if (q->why != OK) {
        q->why = ERR_UNAVAILABLE;
        return;
    }
    const struct history_port port = store_reader_history(h->reader);
    q->why = q->read(q, &port, (struct record_callback){q, history_keep_record});
    if (q->why == OK || q->is_full) {
        q->why = OK;
        return;
    }
    log_print(LOG_WARNING, "cannot read the history: %s; the connection is opened again",
              store_reader_last_error(h->reader));
    store_reader_close(h->reader);
    h->reader = NULL;
    q->count = 0;
}

/* Wait for a request. NULL: the thread is to end. */
static struct history_request *history_next_request(struct history *h)
{
    uv_mutex_lock(&h->mutex);
    while (!h->is_stopping && !h->waiting.first)
        uv_cond_wait(&h->more, &h->mutex);
    struct history_request *q = h->is_stopping ? NULL : history_queue_take(&h->waiting);
    h->current = q;
    uv_mutex_unlock(&h->mutex);
    return q;
}

static void history_thread_main(void *self)
{
    struct history *h = self;
    for (struct history_request *q = history_next_request(h); q; q = history_next_request(h)) {
        store_progress_begin(&h->progress);
        history_execute(h, q);
        store_progress_end(&h->progress);
        uv_mutex_lock(&h->mutex);
        h->current = NULL;
        history_queue_add(&h->done, q);
        uv_mutex_unlock(&h->mutex);
        ignore(uv_async_send(&h->async), "it cannot fail before it is closed");
    }
    store_reader_close(h->reader);
}

/* ---- thread of the loop ---- */

/* `q` is NULL if the request timed out. */
static void history_reply(struct history *h, int64_t number, const struct history_request *q)
{
    if (--h->count == 0)
        must(uv_timer_stop(&h->timer) == 0);
    if (q)
        h->callbacks.found(h->callbacks.self, number, q->records, q->count, q->why);
    else
        h->callbacks.found(h->callbacks.self, number, NULL, 0, ERR_UNAVAILABLE);
}

/* The store does not answer: reply to all requests with ERR_UNAVAILABLE. The one that the thread is
 * executing is only marked, because the thread still uses its memory. */
static void history_on_timer(uv_timer_t *timer)
{
    struct history *h = timer->data;
    if (store_progress_silent_ms(&h->progress) < HISTORY_SILENT_MS)
        return;
    struct history_queue late;
    history_queue_init(&late);
    uv_mutex_lock(&h->mutex);
    const bool has_current = h->current && !h->current->is_answered;
    const int64_t number = has_current ? h->current->number : 0;
    if (has_current)
        h->current->is_answered = true;
    for (struct history_request *q = history_queue_take(&h->waiting); q;
         q = history_queue_take(&h->waiting))
        history_queue_add(&late, q);
    uv_mutex_unlock(&h->mutex);
    if (has_current)
        history_reply(h, number, NULL);
    for (struct history_request *q = history_queue_take(&late); q; q = history_queue_take(&late)) {
        history_reply(h, q->number, NULL);
        history_request_free(q);
    }
}

/* Deliver a bounded number of replies, so that a fast reader does not keep the loop from other
 * work; the async handle is triggered again for the rest. */
static void history_on_done(uv_async_t *async)
{
    struct history *h = async->data;
    for (int i = 0; i < REPLIES_PER_WAKE_MAX; i++) {
        uv_mutex_lock(&h->mutex);
        struct history_request *q = history_queue_take(&h->done);
        uv_mutex_unlock(&h->mutex);
        if (!q)
            return;
        if (!q->is_answered)
            history_reply(h, q->number, q);
        history_request_free(q);
    }
    if (!uv_is_closing((uv_handle_t *)async))
        ignore(uv_async_send(async), "it cannot fail before it is closed");
}

static void history_free_memory(struct history *h)
{
    free(h->url);
    free(h);
}

static void history_on_closed_unstarted(uv_handle_t *handle)
{
    history_free_memory(handle->data);
}

static void history_on_closed(uv_handle_t *handle)
{
    struct history *h = handle->data;
    if (--h->open_handles)
        return;
    uv_cond_destroy(&h->more);
    uv_mutex_destroy(&h->mutex);
    history_free_memory(h);
}

static bool history_start_thread(struct history *h)
{
    if (uv_mutex_init(&h->mutex) != 0)
        return false;
    if (uv_cond_init(&h->more) != 0)
        goto no_cond;
    if (uv_thread_create(&h->thread, history_thread_main, h) != 0)
        goto no_thread;
    return true;
no_thread:
    uv_cond_destroy(&h->more);
no_cond:
    uv_mutex_destroy(&h->mutex);
    return false;
}

struct history *history_new(uv_loop_t *loop, const char *url, struct history_callbacks callbacks)
{
    struct history *h = calloc(1, sizeof *h);
    must(h);
    h->callbacks = callbacks;
    h->url = strdup(url);
    must(h->url);
    history_queue_init(&h->waiting);
    history_queue_init(&h->done);
    if (uv_async_init(loop, &h->async, history_on_done) != 0) {
        history_free_memory(h);
        return NULL;
    }
    h->async.data = h->timer.data = h;
    if (!history_start_thread(h)) {
        uv_close((uv_handle_t *)&h->async, history_on_closed_unstarted);
        return NULL;
    }
    must(uv_timer_init(loop, &h->timer) == 0);
    h->open_handles = 2;
    return h;
}

static void history_drop_all(struct history_queue *l)
{
    for (struct history_request *q = history_queue_take(l); q; q = history_queue_take(l))
        history_request_free(q);
}

void history_free(struct history *h)
{
    if (!h)
        return;
    uv_mutex_lock(&h->mutex);
    h->is_stopping = true;
    uv_cond_signal(&h->more);
    uv_mutex_unlock(&h->mutex);
    atomic_store(&h->progress.gives_up, true); /* abort the statement that is being executed */
    must(uv_thread_join(&h->thread) == 0);
    history_drop_all(&h->waiting);
    history_drop_all(&h->done);
    uv_close((uv_handle_t *)&h->async, history_on_closed);
    uv_close((uv_handle_t *)&h->timer, history_on_closed);
}

static err history_enqueue(struct history *h, struct history_request asked)
{
    if (h->count >= HISTORY_WAITING_MAX)
        return ERR_LIMIT;
    struct history_request *q = calloc(1, sizeof *q);
    must(q);
    *q = asked;
    q->progress = &h->progress;
    if (h->count++ == 0)
        must(uv_timer_start(&h->timer, history_on_timer, EXPIRE_MS, EXPIRE_MS) == 0);
    uv_mutex_lock(&h->mutex);
    history_queue_add(&h->waiting, q);
    uv_cond_signal(&h->more);
    uv_mutex_unlock(&h->mutex);
    return OK;
}

err history_runs(struct history *h, int64_t noderole_id, uint32_t limit, int64_t number)
{
    return history_enqueue(h, (struct history_request){.number = number,
                                                       .read = history_read_runs,
                                                       .noderole_id = noderole_id,
                                                       .limit = limit});
}

err history_intervals(struct history *h, const struct interval_page *page, int64_t number)
{
    return history_enqueue(h, (struct history_request){
                                  .number = number, .read = history_read_intervals, .page = *page});
}

err history_events(struct history *h, struct history_cursor from, uint32_t limit, int64_t number)
{
    return history_enqueue(
        h, (struct history_request){
               .number = number, .read = history_read_events, .from = from, .limit = limit});
}
