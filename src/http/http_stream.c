/* http_stream.c - an answer that is told piece by piece.
 *
 * libmicrohttpd asks for the next bytes whenever the connection takes some. When there are none the
 * connection is suspended, and resumed by the next piece, the end, or a question. So a stream is in
 * one of two hands: paused, where only we look at it, or with libmicrohttpd, where only it closes
 * the connection. Whoever leaves is noticed by the sweep in the first case.
 */
#include "http/http_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum {
    ROOM_MIN = 4 << 10,
    ROOM_KEPT_MAX = 16 << 10, /* what a silent stream may keep */
    BLOCK = 16 << 10,         /* what is asked for at once over HTTP/1.0 */
};

static struct exchange *exchange_of_stream(struct http_stream *s)
{
    return (struct exchange *)(void *)((char *)s - offsetof(struct exchange, stream));
}

/* --- what waits -------------------------------------------------------------------------------*/

static void bytes_drop(struct exchange *x)
{
    struct http_stream *s = &x->stream;
    x->server->stream_total -= s->len;
    free(s->bytes);
    s->bytes = NULL;
    s->start = s->len = s->cap = 0;
}

/* Bytes are moved to the front only when that frees more than it moves. */
static bool bytes_have_room(struct http_stream *s, size_t more)
{
    const size_t needed = s->len + more;
    if (needed <= s->cap - s->start)
        return true;
    if (needed <= s->cap && s->start >= s->len) {
        memmove(s->bytes, s->bytes + s->start, s->len);
        s->start = 0;
        return true;
    }
    const size_t cap = 2 * needed < ROOM_MIN ? ROOM_MIN : 2 * needed;
    char *bytes = malloc(cap);
    if (!bytes)
        return false;
    if (s->len)
        memcpy(bytes, s->bytes + s->start, s->len);
    free(s->bytes);
    s->bytes = bytes;
    s->start = 0;
    s->cap = cap;
    return true;
}

/* Those who read slowly fill what all streams may hold together. Who has nothing waiting gets a
 * small piece all the same: it would ask again at once, and for ever. */
static bool has_share(const struct exchange *x, size_t more)
{
    const struct http_server *server = x->server;
    return server->stream_total + more <= server->stream_total_max ||
           (x->stream.len == 0 && more <= HTTP_STREAM_LOW);
}

static err bytes_add(struct exchange *x, struct str piece)
{
    struct http_stream *s = &x->stream;
    struct http_server *server = x->server;
    if (s->len + piece.len > server->stream_max || !has_share(x, piece.len) ||
        !bytes_have_room(s, piece.len))
        return ERR_LIMIT;
    memcpy(s->bytes + s->start + s->len, piece.at, piece.len);
    s->len += piece.len;
    server->stream_total += piece.len;
    return OK;
}

static size_t bytes_take(struct exchange *x, char *into, size_t max)
{
    struct http_stream *s = &x->stream;
    const size_t size = s->len < max ? s->len : max;
    if (size)
        memcpy(into, s->bytes + s->start, size);
    s->start += size;
    s->len -= size;
    x->server->stream_total -= size;
    if (s->len == 0)
        s->start = 0;
    if (s->len == 0 && s->cap > ROOM_KEPT_MAX)
        bytes_drop(x);
    return size;
}

/* --- what libmicrohttpd asks for --------------------------------------------------------------*/

static void tell_stopping(struct exchange *x)
{
    const struct http_handler *handler = &x->server->handler;
    if (x->stream.was_told)
        return;
    x->stream.was_told = true;
    if (handler->stopping)
        handler->stopping(handler->self, &x->request);
}

static void tell_drained(struct exchange *x)
{
    const struct http_handler *handler = &x->server->handler;
    x->stream.awaits = false;
    if (handler->drained)
        handler->drained(handler->self, &x->request);
}

static void resume(struct exchange *x)
{
    if (!x->stream.is_paused)
        return;
    x->stream.is_paused = false;
    client_progress(x->client);
    MHD_resume_connection(x->connection);
    http_wake(x->server);
}

static ssize_t fall_silent(struct exchange *x)
{
    x->stream.is_paused = true;
    MHD_suspend_connection(x->connection);
    if (x->stream.awaits)
        resume(x);
    return 0;
}

/* The owner may put, ask again, end the stream, or begin with others, whenever it is told something
 * here; the exchange stays until libmicrohttpd is done with it. It is found through the client,
 * which stays for as long as the connection. */
static ssize_t read_some(void *self, uint64_t position, char *into, size_t max)
{
    (void)position;
    const struct client *c = self;
    struct exchange *x = c->exchange;
    if (!x || !x->stream.is_begun)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    struct http_stream *s = &x->stream;
    x->server->was_called = true;
    client_progress(x->client);
    if (x->state == EXCHANGE_STREAMING && x->server->is_quiet)
        tell_stopping(x);
    if (x->state == EXCHANGE_STREAMING && s->awaits && !s->is_cut && s->len < HTTP_STREAM_LOW)
        tell_drained(x);
    const size_t size = bytes_take(x, into, max);
    if (size > 0)
        return (ssize_t)size;
    if (s->is_cut)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    return x->state == EXCHANGE_STREAMING ? fall_silent(x) : MHD_CONTENT_READER_END_OF_STREAM;
}

/* --- for the owner ----------------------------------------------------------------------------*/

/* Where no body belongs libmicrohttpd would still send the last chunk, and the client would take it
 * for the beginning of the next answer. Without chunks it says nothing, and closes. */
static bool without_chunks(struct MHD_Response *response)
{
    return MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END) ==
           MHD_YES;
}

static bool begin(struct exchange *x, const struct http_answer *head)
{
    if (x->client->is_gone || (head->body.len && bytes_add(x, head->body) != OK))
        return exchange_queue(x, head->status, NULL);
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_some, x->client, NULL);
    const bool has_no_body = x->request.method == HTTP_HEAD || head->status == 304;
    if (response && has_no_body && !without_chunks(response)) {
        MHD_destroy_response(response);
        response = NULL;
    }
    if (response)
        exchange_head(x, response, head);
    return exchange_queue(x, head->status, response);
}

struct http_stream *http_stream_begin(struct http_request *request, const struct http_answer *head)
{
    struct exchange *x = (struct exchange *)(void *)request;
    const bool is_suspended = x->state == EXCHANGE_SUSPENDED;
    must(is_suspended || x->state == EXCHANGE_HANDED);
    exchange_unlist(x);
    if (!x->connection) {
        x->state = EXCHANGE_ANSWERED;
        exchange_free(x);
        return NULL;
    }
    const bool is_begun = begin(x, head);
    if (is_begun) {
        x->state = EXCHANGE_STREAMING;
        x->stream.is_begun = true;
        client_progress(x->client);
        exchange_list(x, &x->server->streams);
    } else {
        exchange_answered(x);
    }
    if (is_suspended) {
        MHD_resume_connection(x->connection);
        http_wake(x->server);
    }
    return is_begun ? &x->stream : NULL;
}

static bool is_read(const struct exchange *x)
{
    return x->connection && !x->stream.is_cut;
}

err http_stream_put(struct http_stream *s, struct str piece)
{
    struct exchange *x = exchange_of_stream(s);
    must(x->state == EXCHANGE_STREAMING);
    if (!is_read(x))
        return ERR_UNAVAILABLE;
    if (piece.len == 0)
        return OK;
    const err e = bytes_add(x, piece);
    if (e == OK)
        resume(x);
    return e;
}

size_t http_stream_waiting(const struct http_stream *s)
{
    return s->len;
}

void http_stream_await(struct http_stream *s)
{
    struct exchange *x = exchange_of_stream(s);
    must(x->state == EXCHANGE_STREAMING);
    if (!is_read(x))
        return;
    s->awaits = true;
    resume(x);
}

void http_stream_end(struct http_stream *s)
{
    struct exchange *x = exchange_of_stream(s);
    must(x->state == EXCHANGE_STREAMING);
    exchange_unlist(x);
    if (!x->connection) {
        exchange_free(x);
        return;
    }
    exchange_answered(x);
    resume(x);
}

void http_stream_break(struct http_stream *s)
{
    s->is_cut = true;
    http_stream_end(s);
}

/* --- for the rest of the room -----------------------------------------------------------------*/

/* Its bytes, headers and connection are gone, its arena is not. */
void stream_orphan(struct exchange *x)
{
    const struct http_handler *handler = &x->server->handler;
    x->connection = NULL;
    x->client = NULL;
    x->stream.was_told = true; /* there is nothing more to tell */
    bytes_drop(x);
    if (handler->gone)
        handler->gone(handler->self, &x->request);
}

void stream_free(struct exchange *x)
{
    bytes_drop(x);
}

void stream_cut(struct exchange *x)
{
    x->stream.is_cut = true;
    bytes_drop(x);
    resume(x);
}

/* An owner that is told may end any of them, so each search begins anew. */
void streams_stop(struct http_server *s)
{
    struct exchange *x;
    do {
        for (x = s->streams; x && x->stream.was_told;)
            x = x->next;
        if (x)
            tell_stopping(x);
    } while (x);
}

void streams_close(struct http_server *s)
{
    while (s->streams)
        http_stream_break(&s->streams->stream);
}
