#include "daemon/history_reader.h"

#include <stdlib.h>
#include <string.h>

#include "store/store_thread.h"
#include "sys/log.h"

enum { TOLD_AT_ONCE_MAX = 16, EXPIRE_MS = 500 };

/* A question belongs to the loop's thread, then to the reader's, then to the loop's again. */
struct question {
    struct question *next;
    int64_t number;
    /* Asks the port for what the keys say. */
    err (*ask)(const struct question *q, const struct history_port *port,
               struct store_visitor visitor);
    int64_t noderole_id;
    struct interval_page page;
    struct history_place from;
    uint32_t limit;
    struct store_progress *progress;
    struct arena arena; /* of what was found */
    struct record *records;
    uint32_t count, cap;
    err why;
    bool is_full;     /* the answer ends early: it takes HISTORY_BYTES_MAX */
    bool is_answered; /* it took too long, and the answer is dropped; guarded by the mutex */
};

struct line {
    struct question *first;
    struct question **end;
};

struct history {
    struct history_seams seams;
    char *url;
    uv_thread_t thread;
    uv_async_t async;
    uv_timer_t timer;      /* while questions are not answered   */
    uint32_t open_handles; /* async and timer                    */
    uint32_t count;        /* not answered yet: the loop's own   */
    struct store_progress progress;
    struct store_reader *reader; /* the thread's own; NULL: none yet   */
    uv_mutex_t mutex;            /* guards what follows                */
    uv_cond_t more;
    bool is_stopping;
    struct question *current; /* in the thread's hands; NULL: none */
    struct line waiting;
    struct line done;
};

static void line_init(struct line *l)
{
    l->first = NULL;
    l->end = &l->first;
}

static void line_add(struct line *l, struct question *q)
{
    q->next = NULL;
    *l->end = q;
    l->end = &q->next;
}

static struct question *line_take(struct line *l)
{
    struct question *q = l->first;
    if (q) {
        l->first = q->next;
        if (!l->first)
            l->end = &l->first;
    }
    return q;
}

static void question_free(struct question *q)
{
    arena_fini(&q->arena);
    free(q);
}

/* ---- the reader's thread ---- */

static void make_room(struct question *q)
{
    const uint32_t cap = q->cap ? q->cap * 2 : 16;
    struct record *larger = arena_array(&q->arena, struct record, cap);
    if (q->count)
        memcpy(larger, q->records, q->count * sizeof *larger);
    q->records = larger;
    q->cap = cap;
}

static err ask_runs(const struct question *q, const struct history_port *port,
                    struct store_visitor visitor)
{
    return port->runs(port->self, q->noderole_id, q->limit, visitor);
}

static err ask_intervals(const struct question *q, const struct history_port *port,
                         struct store_visitor visitor)
{
    return port->intervals(port->self, &q->page, visitor);
}

static err ask_events(const struct question *q, const struct history_port *port,
                      struct store_visitor visitor)
{
    return port->events(port->self, q->from, q->limit, visitor);
}

static err keep(void *self, const struct record *record)
{
    struct question *q = self;
    store_progress_touch(q->progress);
    if (q->is_full)
        return ERR_LIMIT;
    if (q->count == q->cap)
        make_room(q);
    struct record *kept = &q->records[q->count++];
    kept->table = record->table;
    fields_copy(&q->arena, record_layout(record->table), &record->id, &kept->id);
    q->is_full = q->ask == ask_intervals && q->arena.held >= HISTORY_BYTES_MAX;
    return OK;
}

static err get_ready(struct history *h)
{
    struct store_why why = {""};
    if (h->reader)
        return OK;
    const err e = store_reader_open(h->url, &h->reader, &why);
    if (e != OK)
        log_print(LOG_WARNING, "the history cannot be read: %s", why.text);
    else
        store_reader_watch(h->reader, &h->progress);
    return e;
}

static void look_up(struct history *h, struct question *q)
{
    q->why = get_ready(h);
    if (q->why != OK) {
        q->why = ERR_UNAVAILABLE;
        return;
    }
    const struct history_port port = store_reader_history(h->reader);
    q->why = q->ask(q, &port, (struct store_visitor){q, keep});
    if (q->why == OK || q->is_full) {
        q->why = OK;
        return;
    }
    log_print(LOG_WARNING, "the history cannot be read: %s", store_reader_trouble(h->reader));
    store_reader_close(h->reader);
    h->reader = NULL;
    q->count = 0;
}

/* NULL: stop. */
static struct question *next_question(struct history *h)
{
    uv_mutex_lock(&h->mutex);
    while (!h->is_stopping && !h->waiting.first)
        uv_cond_wait(&h->more, &h->mutex);
    struct question *q = h->is_stopping ? NULL : line_take(&h->waiting);
    h->current = q;
    uv_mutex_unlock(&h->mutex);
    return q;
}

static void work(void *self)
{
    struct history *h = self;
    for (struct question *q = next_question(h); q; q = next_question(h)) {
        store_progress_begin(&h->progress);
        look_up(h, q);
        store_progress_end(&h->progress);
        uv_mutex_lock(&h->mutex);
        h->current = NULL;
        line_add(&h->done, q);
        uv_mutex_unlock(&h->mutex);
        ignore(uv_async_send(&h->async), "it cannot fail before it is closed");
    }
    store_reader_close(h->reader);
}

/* ---- the loop's thread ---- */

static struct question *take_done(struct history *h)
{
    uv_mutex_lock(&h->mutex);
    struct question *q = line_take(&h->done);
    uv_mutex_unlock(&h->mutex);
    return q;
}

/* `q` NULL: it took too long. */
static void answer(struct history *h, int64_t number, const struct question *q)
{
    if (--h->count == 0)
        must(uv_timer_stop(&h->timer) == 0);
    if (q)
        h->seams.found(h->seams.self, number, q->records, q->count, q->why);
    else
        h->seams.found(h->seams.self, number, NULL, 0, ERR_UNAVAILABLE);
}

/* The store does not answer: so do we. What the thread holds is dropped when it comes back. */
static void expire(uv_timer_t *timer)
{
    struct history *h = timer->data;
    if (store_progress_silent_ms(&h->progress) < HISTORY_SILENT_MS)
        return;
    struct line late;
    line_init(&late);
    uv_mutex_lock(&h->mutex);
    const bool has_current = h->current && !h->current->is_answered;
    const int64_t number = has_current ? h->current->number : 0;
    if (has_current)
        h->current->is_answered = true;
    for (struct question *q = line_take(&h->waiting); q; q = line_take(&h->waiting))
        line_add(&late, q);
    uv_mutex_unlock(&h->mutex);
    if (has_current)
        answer(h, number, NULL);
    for (struct question *q = line_take(&late); q; q = line_take(&late)) {
        answer(h, q->number, NULL);
        question_free(q);
    }
}

/* A few at a time: the thread may find as fast as we tell, and others wait for the loop. */
static void on_done(uv_async_t *async)
{
    struct history *h = async->data;
    for (int i = 0; i < TOLD_AT_ONCE_MAX; i++) {
        struct question *q = take_done(h);
        if (!q)
            return;
        if (!q->is_answered)
            answer(h, q->number, q);
        question_free(q);
    }
    if (!uv_is_closing((uv_handle_t *)async))
        ignore(uv_async_send(async), "it cannot fail before it is closed");
}

static void free_all(struct history *h)
{
    free(h->url);
    free(h);
}

static void on_closed_unstarted(uv_handle_t *handle)
{
    free_all(handle->data);
}

static void on_closed(uv_handle_t *handle)
{
    struct history *h = handle->data;
    if (--h->open_handles)
        return;
    uv_cond_destroy(&h->more);
    uv_mutex_destroy(&h->mutex);
    free_all(h);
}

static bool start(struct history *h)
{
    if (uv_mutex_init(&h->mutex) != 0)
        return false;
    if (uv_cond_init(&h->more) != 0)
        goto no_cond;
    if (uv_thread_create(&h->thread, work, h) != 0)
        goto no_thread;
    return true;
no_thread:
    uv_cond_destroy(&h->more);
no_cond:
    uv_mutex_destroy(&h->mutex);
    return false;
}

struct history *history_new(uv_loop_t *loop, const char *url, struct history_seams seams)
{
    struct history *h = calloc(1, sizeof *h);
    must(h);
    h->seams = seams;
    h->url = strdup(url);
    must(h->url);
    line_init(&h->waiting);
    line_init(&h->done);
    if (uv_async_init(loop, &h->async, on_done) != 0) {
        free_all(h);
        return NULL;
    }
    h->async.data = h->timer.data = h;
    if (!start(h)) {
        uv_close((uv_handle_t *)&h->async, on_closed_unstarted);
        return NULL;
    }
    must(uv_timer_init(loop, &h->timer) == 0);
    h->open_handles = 2;
    return h;
}

static void drop_all(struct line *l)
{
    for (struct question *q = line_take(l); q; q = line_take(l))
        question_free(q);
}

void history_free(struct history *h)
{
    if (!h)
        return;
    uv_mutex_lock(&h->mutex);
    h->is_stopping = true;
    uv_cond_signal(&h->more);
    uv_mutex_unlock(&h->mutex);
    atomic_store(&h->progress.gives_up, true); /* what it reads is not wanted any more */
    must(uv_thread_join(&h->thread) == 0);
    drop_all(&h->waiting);
    drop_all(&h->done);
    uv_close((uv_handle_t *)&h->async, on_closed);
    uv_close((uv_handle_t *)&h->timer, on_closed);
}

static err take(struct history *h, struct question asked)
{
    if (h->count >= HISTORY_WAITING_MAX)
        return ERR_LIMIT;
    struct question *q = calloc(1, sizeof *q);
    must(q);
    *q = asked;
    q->progress = &h->progress;
    if (h->count++ == 0)
        must(uv_timer_start(&h->timer, expire, EXPIRE_MS, EXPIRE_MS) == 0);
    uv_mutex_lock(&h->mutex);
    line_add(&h->waiting, q);
    uv_cond_signal(&h->more);
    uv_mutex_unlock(&h->mutex);
    return OK;
}

err history_runs(struct history *h, int64_t noderole_id, uint32_t limit, int64_t number)
{
    return take(h,
                (struct question){
                    .number = number, .ask = ask_runs, .noderole_id = noderole_id, .limit = limit});
}

err history_intervals(struct history *h, const struct interval_page *page, int64_t number)
{
    return take(h, (struct question){.number = number, .ask = ask_intervals, .page = *page});
}

err history_events(struct history *h, struct history_place from, uint32_t limit, int64_t number)
{
    return take(
        h, (struct question){.number = number, .ask = ask_events, .from = from, .limit = limit});
}
