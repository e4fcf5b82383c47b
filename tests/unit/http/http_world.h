/* http_world.h - a real server in a thread of its own, and a client that sends raw bytes.
 *
 * The server's loop runs in a thread; the test itself is the client, with blocking sockets that
 * time out after twenty seconds. Functions that change the server are run in its loop: in_loop().
 * What it serves:
 *
 *   /release   answers all requests that are held, then itself
 *   /hold...   is held until /release
 *   /gone...   is held too, and answered when its client has disconnected
 *   /later...  is answered by a timer
 *   /parts...  is answered at once, with the segments of the path
 *   /denied... is not admitted
 *   /memory    is answered with the size of the request's arena
 *   /count...  is a stream of as many lines as the query requests, written as the client reads them
 *   the rest   is answered at once, with a description of the request
 */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/text/buf.h"
#include "http/address.h"
#include "http/http.h"
#include "tests/check.h"

/* The end of a head. */
#define HOST "Host: here\r\n\r\n"

enum { HELD_MAX = 512, LATER_MS = 2, PATIENCE_S = 20 };

struct world {
    uv_loop_t loop;
    uv_thread_t thread;
    uv_async_t order;
    uv_mutex_t mutex;
    uv_cond_t changed;
    void (*todo)(struct world *); /* for the loop; NULL: done */
    struct http_server *server;   /* the loop's own, as what follows */
    struct http_request *held[HELD_MAX];
    uint32_t served;     /* guarded */
    uint32_t held_count; /* guarded */
    uint32_t asked;      /* guarded: times that admit was called */
    uint32_t gone;       /* guarded */
    uint32_t stopping;   /* guarded */
    uint32_t pending;    /* result of the last call of http_pending() */
    uint16_t port;
};

/* --- server -----------------------------------------------------------------------------------*/

/* "GET /path|name=value;|X-Test|loopback|body"; of /client only the address of the client */
static inline struct str describe(struct http_request *r)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OTHER"};
    struct buf b = buf_in(&r->arena);
    if (str_eq(r->path, STR("/client")))
        return address_format(&r->arena, r->client);
    buf_put_z(&b, methods[r->method]);
    buf_put_c(&b, ' ');
    buf_put_str(&b, r->path);
    buf_put_c(&b, '|');
    for (const struct http_pair *pair = r->query; pair; pair = pair->next) {
        buf_put_str(&b, pair->name);
        buf_put_c(&b, '=');
        buf_put_str(&b, pair->value);
        buf_put_c(&b, ';');
    }
    buf_put_c(&b, '|');
    buf_put_str(&b, http_header(r, "x-TEST"));
    buf_put_c(&b, '|');
    buf_put_z(&b, r->is_loopback ? "loopback" : "far");
    buf_put_z(&b, r->is_secure ? " secure|" : "|");
    buf_put_str(&b, r->body);
    return buf_str(&b);
}

static inline void answer_described(struct http_request *r)
{
    const struct http_header headers[] = {
        {"X-First", STR("one")},
        {"X-Broken", STR("two\r\nX-Injected: yes")},
        {"X-Last", STR("three")},
    };
    http_answer(r, &(struct http_answer){.status = r->method == HTTP_PUT ? 201 : 200,
                                         .content_type = "text/plain",
                                         .body = describe(r),
                                         .headers = headers,
                                         .header_count = 3});
}

static inline void answer_held(struct world *w)
{
    for (uint32_t i = 0; i < w->held_count; i++)
        answer_described(w->held[i]);
    uv_mutex_lock(&w->mutex);
    w->held_count = 0;
    uv_mutex_unlock(&w->mutex);
}

static inline void on_later_closed(uv_handle_t *handle)
{
    free(handle);
}

static inline void on_later(uv_timer_t *timer)
{
    answer_described(timer->data);
    uv_close((uv_handle_t *)timer, on_later_closed);
}

static inline void answer_later(struct world *w, struct http_request *r)
{
    uv_timer_t *timer = malloc(sizeof *timer);
    must(timer && uv_timer_init(&w->loop, timer) == 0);
    timer->data = r;
    must(uv_timer_start(timer, on_later, LATER_MS, 0) == 0);
}

static inline void hold(struct world *w, struct http_request *r)
{
    uv_mutex_lock(&w->mutex);
    must(w->held_count < HELD_MAX);
    w->held[w->held_count++] = r;
    uv_cond_broadcast(&w->changed);
    uv_mutex_unlock(&w->mutex);
}

static inline void answer_text(struct http_request *r, struct str text)
{
    http_answer(r, &(struct http_answer){.status = 200, .body = text});
}

static inline struct str parts_of(struct http_request *r)
{
    struct buf b = buf_in(&r->arena);
    for (uint32_t i = 0; i < r->segment_count; i++) {
        buf_put_str(&b, r->segments[i]);
        buf_put_c(&b, '|');
    }
    return buf_str(&b);
}

static inline struct str memory_of(struct http_request *r)
{
    struct buf b = buf_in(&r->arena);
    buf_put_u64(&b, r->arena.held);
    return buf_str(&b);
}

static inline int admit(void *self, struct http_request *r, struct http_answer *out_answer)
{
    static const struct http_header how = {"WWW-Authenticate", {"Basic", 5}};
    struct world *w = self;
    must(r->context == NULL && r->body.len == 0);
    uv_mutex_lock(&w->mutex);
    w->asked++;
    uv_mutex_unlock(&w->mutex);
    if (!str_starts(r->path, STR("/denied")) ||
        str_eq(http_header(r, "Authorization"), STR("please")))
        return 0;
    out_answer->body = describe(r);
    out_answer->headers = &how;
    out_answer->header_count = 1;
    return 401;
}

/* --- a stream of numbers ---*/

struct count {
    struct http_stream *stream;
    int64_t next;
    int64_t end;
};

static inline void count_on(struct count *c)
{
    while (c->next < c->end && http_stream_waiting(c->stream) < HTTP_STREAM_LOW) {
        char line[32];
        snprintf(line, sizeof line, "%lld\n", (long long)c->next++);
        must(http_stream_put(c->stream, str_from(line)) == OK);
    }
    if (c->next < c->end)
        http_stream_await(c->stream);
    else
        http_stream_end(c->stream);
}

static inline void count_begin(struct http_request *r)
{
    struct count *c = arena_new(&r->arena, struct count);
    must(r->query && str_parse_i64(r->query->value, &c->end));
    r->context = c;
    c->stream =
        http_stream_begin(r, &(struct http_answer){.status = 200, .content_type = "text/plain"});
    if (c->stream) /* NULL: the request is over */
        http_stream_await(c->stream);
}

static inline bool is_count(const struct http_request *r)
{
    return str_starts(r->path, STR("/count"));
}

static inline void drained(void *self, struct http_request *r)
{
    (void)self;
    if (is_count(r))
        count_on(r->context);
}

static inline void gone(void *self, struct http_request *r)
{
    struct world *w = self;
    if (str_starts(r->path, STR("/gone")))
        answer_described(r);
    else if (is_count(r))
        http_stream_end(((struct count *)r->context)->stream);
    uv_mutex_lock(&w->mutex);
    w->gone++;
    uv_cond_broadcast(&w->changed);
    uv_mutex_unlock(&w->mutex);
}

/* A stream of /count is finite. */
static inline void stopping(void *self, struct http_request *r)
{
    struct world *w = self;
    (void)r;
    uv_mutex_lock(&w->mutex);
    w->stopping++;
    uv_cond_broadcast(&w->changed);
    uv_mutex_unlock(&w->mutex);
}

static inline void serve(void *self, struct http_request *r)
{
    struct world *w = self;
    must(r->context == NULL);
    uv_mutex_lock(&w->mutex);
    w->served++;
    uv_mutex_unlock(&w->mutex);
    if (str_starts(r->path, STR("/hold"))) {
        hold(w, r);
    } else if (str_starts(r->path, STR("/later"))) {
        answer_later(w, r);
    } else if (str_starts(r->path, STR("/parts"))) {
        answer_text(r, parts_of(r));
    } else if (str_eq(r->path, STR("/memory"))) {
        answer_text(r, memory_of(r));
    } else if (is_count(r)) {
        count_begin(r);
    } else if (str_starts(r->path, STR("/gone"))) {
        return; /* gone() recognises it */
    } else {
        if (str_eq(r->path, STR("/release")))
            answer_held(w);
        answer_described(r);
    }
}

/* --- thread of the server ---------------------------------------------------------------------*/

static inline void on_order(uv_async_t *order)
{
    struct world *w = order->data;
    uv_mutex_lock(&w->mutex);
    void (*todo)(struct world *) = w->todo;
    uv_mutex_unlock(&w->mutex);
    if (todo)
        todo(w);
    uv_mutex_lock(&w->mutex);
    w->todo = NULL;
    uv_cond_broadcast(&w->changed);
    uv_mutex_unlock(&w->mutex);
}

static inline void run_loop(void *self)
{
    struct world *w = self;
    must(uv_run(&w->loop, UV_RUN_DEFAULT) == 0);
}

/* Returns when it has been executed. */
static inline void in_loop(struct world *w, void (*todo)(struct world *))
{
    uv_mutex_lock(&w->mutex);
    w->todo = todo;
    CHECK(uv_async_send(&w->order) == 0);
    while (w->todo)
        uv_cond_wait(&w->changed, &w->mutex);
    uv_mutex_unlock(&w->mutex);
}

static inline struct world *world_open(struct http_options options)
{
    struct world *w = calloc(1, sizeof *w);
    CHECK(w != NULL);
    char why[200] = "";
    CHECK(uv_loop_init(&w->loop) == 0 && uv_mutex_init(&w->mutex) == 0 &&
          uv_cond_init(&w->changed) == 0 && uv_async_init(&w->loop, &w->order, on_order) == 0);
    w->order.data = w;
    if (!options.address)
        options.address = "127.0.0.1";
    const struct http_handler handler = {.self = w,
                                         .serve = serve,
                                         .admit = admit,
                                         .gone = gone,
                                         .drained = drained,
                                         .stopping = stopping};
    w->server = http_open(&w->loop, &options, handler, why, sizeof why);
    if (!w->server)
        fprintf(stderr, "%s\n", why);
    CHECK(w->server != NULL);
    w->port = http_port(w->server);
    CHECK(w->port != 0);
    CHECK(uv_thread_create(&w->thread, run_loop, w) == 0);
    return w;
}

static inline void close_server(struct world *w)
{
    if (w->server)
        http_close(w->server);
    w->server = NULL;
}

static inline void close_all(struct world *w)
{
    close_server(w);
    uv_close((uv_handle_t *)&w->order, NULL);
}

static inline void ask_pending(struct world *w)
{
    w->pending = http_pending(w->server);
}

/* Wait until so many requests are pending. The server does not report that, so it is polled. */
static inline bool becomes_pending(struct world *w, uint32_t count)
{
    const uint64_t end = uv_hrtime() + PATIENCE_S * 1000000000ull;
    do {
        in_loop(w, ask_pending);
    } while (w->pending != count && uv_hrtime() < end);
    return w->pending == count;
}

static inline void world_close(struct world *w)
{
    in_loop(w, close_all);
    CHECK(uv_thread_join(&w->thread) == 0);
    CHECK(uv_loop_close(&w->loop) == 0);
    uv_cond_destroy(&w->changed);
    uv_mutex_destroy(&w->mutex);
    free(w);
}

static inline void wait_held(struct world *w, uint32_t count)
{
    uv_mutex_lock(&w->mutex);
    while (w->held_count < count)
        CHECK(uv_cond_timedwait(&w->changed, &w->mutex, PATIENCE_S * 1000000000ull) == 0);
    uv_mutex_unlock(&w->mutex);
}

static inline void wait_gone(struct world *w, uint32_t count)
{
    uv_mutex_lock(&w->mutex);
    while (w->gone < count)
        CHECK(uv_cond_timedwait(&w->changed, &w->mutex, PATIENCE_S * 1000000000ull) == 0);
    uv_mutex_unlock(&w->mutex);
}

static inline uint32_t served(struct world *w)
{
    uv_mutex_lock(&w->mutex);
    const uint32_t count = w->served;
    uv_mutex_unlock(&w->mutex);
    return count;
}

static inline uint32_t gone_count(struct world *w)
{
    uv_mutex_lock(&w->mutex);
    const uint32_t count = w->gone;
    uv_mutex_unlock(&w->mutex);
    return count;
}

static inline uint32_t asked(struct world *w)
{
    uv_mutex_lock(&w->mutex);
    const uint32_t count = w->asked;
    uv_mutex_unlock(&w->mutex);
    return count;
}

/* --- client -----------------------------------------------------------------------------------*/

struct talk {
    int fd;
    struct arena arena;
    struct buf received; /* not yet read by read_answer() */
};

struct received {
    int status; /* 0: the connection ended instead */
    struct str head;
    struct str body;
};

static inline int dial_socket(uint16_t port)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
        CHECK(close(fd) == 0);
        return -1;
    }
    return fd;
}

static inline struct talk dial(struct world *w)
{
    struct talk t = {.fd = dial_socket(w->port)};
    CHECK(t.fd >= 0);
    return t;
}

static inline void hang_up(struct talk *t)
{
    CHECK(close(t->fd) == 0);
    arena_fini(&t->arena);
}

/* False if the peer has closed the connection. */
static inline bool send_bytes(struct talk *t, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t sent = send(t->fd, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

static inline void send_text(struct talk *t, const char *text)
{
    CHECK(send_bytes(t, text, strlen(text)));
}

static inline void send_body(struct talk *t, size_t size)
{
    char *bytes = malloc(size);
    CHECK(bytes != NULL);
    memset(bytes, 'b', size);
    CHECK(send_bytes(t, bytes, size));
    free(bytes);
}

static inline void send_post(struct talk *t, size_t size, const char *headers)
{
    char head[200];
    snprintf(head, sizeof head, "POST / HTTP/1.1\r\n%sContent-Length: %zu\r\n" HOST, headers, size);
    send_text(t, head);
}

/* False at the end. */
static inline bool receive_more(struct talk *t)
{
    t->received.arena = &t->arena;
    char *at = buf_room(&t->received, 65536);
    const ssize_t got = recv(t->fd, at, 65536, 0);
    CHECK(got >= 0 || errno == ECONNRESET);
    if (got <= 0)
        return false;
    t->received.len += (uint32_t)got;
    return true;
}

static inline bool find_text(struct str where, const char *text, uint32_t *out_at)
{
    const uint32_t len = (uint32_t)strlen(text);
    for (uint32_t i = 0; i + len <= where.len; i++)
        if (memcmp(where.at + i, text, len) == 0) {
            *out_at = i;
            return true;
        }
    return false;
}

static inline bool has_text(struct str where, const char *text)
{
    uint32_t at;
    return find_text(where, text, &at);
}

static inline uint32_t content_length(struct str head)
{
    uint32_t at;
    int64_t length;
    if (!find_text(head, "\r\nContent-Length: ", &at))
        return 0;
    const struct str rest = str_slice(head, at + 18, head.len);
    CHECK(str_parse_i64(str_slice(rest, 0, str_find(rest, '\r', 0)), &length));
    return (uint32_t)length;
}

/* The next answer. One to HEAD has no body, whatever its Content-Length is. */
static inline struct received read_one_answer(struct talk *t, bool has_body)
{
    uint32_t end;
    while (!find_text(buf_str(&t->received), "\r\n\r\n", &end))
        if (!receive_more(t))
            return (struct received){0};
    const struct str head = str_copy(&t->arena, str_slice(buf_str(&t->received), 0, end + 2));
    const uint32_t length = has_body ? content_length(head) : 0;
    while (t->received.len < end + 4 + length)
        if (!receive_more(t))
            return (struct received){0};
    const struct str all = buf_str(&t->received);
    struct received h = {.head = head, .body = str_slice(all, end + 4, end + 4 + length)};
    h.body = str_copy(&t->arena, h.body);
    CHECK(str_starts(head, STR("HTTP/1.1 ")));
    int64_t status;
    CHECK(str_parse_i64(str_slice(head, 9, 12), &status));
    h.status = (int)status;
    const struct str rest = str_slice(all, end + 4 + length, all.len);
    t->received = buf_in(&t->arena);
    buf_put_str(&t->received, rest);
    return h;
}

static inline struct received read_answer(struct talk *t)
{
    return read_one_answer(t, true);
}

/* No more bytes, and the connection closed. */
static inline bool read_end(struct talk *t)
{
    return t->received.len == 0 && !receive_more(t);
}

static inline bool str_is(struct str s, const char *text)
{
    return str_eq(s, str_from(text));
}
