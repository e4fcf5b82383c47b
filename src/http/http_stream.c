/* http_stream.c - answers that are sent in pieces.
 *
 * It owns the unsent bytes of each stream (struct http_stream, part of the exchange) and their
 * total. The owner of a stream is the handler that began it. libmicrohttpd calls stream_read()
 * whenever the socket is writable. If there are no bytes, the connection is suspended; the next
 * piece, the end of the stream or http_stream_await() resumes it. So a stream is in one of two
 * states: paused, in which only the sweep of connections.c detects that the client has
 * disconnected, or active, in which libmicrohttpd closes the connection.
 *
 * Unsent bytes are limited per stream and in total. The owner must end every stream, also after its
 * client has disconnected (handler.gone), because only then the exchange is freed.
 *
 * Failure: a piece that exceeds a limit, or for which there is no memory, is not appended
 * (ERR_LIMIT), and the stream stays usable. A stream that is cut ends without a last chunk, so that
 * the client detects that the body is incomplete. If a stream cannot begin, its connection is
 * closed.
 */
#include "http/http_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum {
    BUFFER_MIN = 4 << 10,
    BUFFER_KEPT_MAX = 16 << 10, /* bytes that an idle stream may keep allocated */
    BLOCK = 16 << 10,           /* bytes per call of stream_read() over HTTP/1.0 */
};

static struct exchange *exchange_of_stream(struct http_stream *s)
{
    return (struct exchange *)(void *)((char *)s - offsetof(struct exchange, stream));
}

/* --- buffer -----------------------------------------------------------------------------------*/

static void stream_drop_bytes(struct exchange *x)
{
    struct http_stream *s = &x->stream;
    x->server->stream_total -= s->len;
    free(s->bytes);
    s->bytes = NULL;
    s->start = s->len = s->cap = 0;
}

/* Bytes are moved to the front only if that frees at least as many as it moves. */
static bool stream_grow(struct http_stream *s, size_t more)
{
    const size_t needed = s->len + more;
    if (needed <= s->cap - s->start)
        return true;
    if (needed <= s->cap && s->start >= s->len) {
        memmove(s->bytes, s->bytes + s->start, s->len);
        s->start = 0;
        return true;
    }
    const size_t cap = 2 * needed < BUFFER_MIN ? BUFFER_MIN : 2 * needed;
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

static err stream_add_bytes(struct exchange *x, struct str piece)
{
    struct http_stream *s = &x->stream;
    struct http_server *server = x->server;
    /* Slow readers can use up the total limit. A stream without unsent bytes may still add a small
     * piece: otherwise its owner would try again at once, for ever. */
    const bool has_share = server->stream_total + piece.len <= server->stream_total_max ||
                           (s->len == 0 && piece.len <= HTTP_STREAM_LOW);
    if (s->len + piece.len > server->stream_max || !has_share || !stream_grow(s, piece.len))
        return ERR_LIMIT;
    memcpy(s->bytes + s->start + s->len, piece.at, piece.len);
    s->len += piece.len;
    server->stream_total += piece.len;
    return OK;
}

static size_t stream_take_bytes(struct exchange *x, char *into, size_t max)
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
    if (s->len == 0 && s->cap > BUFFER_KEPT_MAX)
        stream_drop_bytes(x);
    return size;
}

/* --- callbacks of libmicrohttpd ---------------------------------------------------------------*/

static void stream_notify_stopping(struct exchange *x)
{
    const struct http_handler *handler = &x->server->handler;
    if (x->stream.was_notified)
        return;
    x->stream.was_notified = true;
    if (handler->stopping)
        handler->stopping(handler->self, &x->request);
}

static void stream_notify_drained(struct exchange *x)
{
    const struct http_handler *handler = &x->server->handler;
    x->stream.wants_drained = false;
    if (handler->drained)
        handler->drained(handler->self, &x->request);
}

static void stream_resume(struct exchange *x)
{
    if (!x->stream.is_paused)
        return;
    x->stream.is_paused = false;
    client_progress(x->client);
    MHD_resume_connection(x->connection);
    http_wake(x->server);
}

/* The next bytes for the socket. The owner may append, end the stream or begin others in each
 * callback here; the exchange is valid until libmicrohttpd ends it. It is found through the client,
 * which is valid as long as the connection. */
static ssize_t stream_read(void *self, uint64_t position, char *into, size_t max)
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
        stream_notify_stopping(x);
    if (x->state == EXCHANGE_STREAMING && s->wants_drained && !s->is_cut &&
        s->len < HTTP_STREAM_LOW)
        stream_notify_drained(x);
    const size_t size = stream_take_bytes(x, into, max);
    if (size > 0)
        return (ssize_t)size;
    if (s->is_cut)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (x->state != EXCHANGE_STREAMING)
        return MHD_CONTENT_READER_END_OF_STREAM;
    /* There are no bytes to send. A request for drained() that was made meanwhile resumes at once,
     * so that the next call of this function fulfils it. */
    s->is_paused = true;
    MHD_suspend_connection(x->connection);
    if (s->wants_drained)
        stream_resume(x);
    return 0;
}

/* --- functions for the owner ------------------------------------------------------------------*/

/* Queue the head. exchange_queue() without a response closes the connection. */
static bool stream_begin(struct exchange *x, const struct http_answer *head)
{
    if (x->client->is_gone || (head->body.len && stream_add_bytes(x, head->body) != OK))
        return exchange_queue(x, head->status, NULL);
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, stream_read, x->client, NULL);
    /* For an answer without a body libmicrohttpd would still send the last chunk, which the client
     * would take for the next answer. Without chunked encoding it sends nothing and closes. */
    const bool has_no_body = x->request.method == HTTP_HEAD || head->status == 304;
    if (response && has_no_body &&
        MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END) !=
            MHD_YES) {
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
    exchange_list_remove(x);
    if (!x->connection) {
        x->state = EXCHANGE_ANSWERED;
        exchange_free(x);
        return NULL;
    }
    const bool is_begun = stream_begin(x, head);
    if (is_begun) {
        x->state = EXCHANGE_STREAMING;
        x->stream.is_begun = true;
        client_progress(x->client);
        exchange_list_add(x, &x->server->streams);
    } else {
        exchange_answered(x);
    }
    if (is_suspended) {
        MHD_resume_connection(x->connection);
        http_wake(x->server);
    }
    return is_begun ? &x->stream : NULL;
}

static bool stream_has_reader(const struct exchange *x)
{
    return x->connection && !x->stream.is_cut;
}

err http_stream_put(struct http_stream *s, struct str piece)
{
    struct exchange *x = exchange_of_stream(s);
    must(x->state == EXCHANGE_STREAMING);
    if (!stream_has_reader(x))
        return ERR_UNAVAILABLE;
    if (piece.len == 0)
        return OK;
    const err e = stream_add_bytes(x, piece);
    if (e == OK)
        stream_resume(x);
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
    if (!stream_has_reader(x))
        return;
    s->wants_drained = true;
    stream_resume(x);
}

void http_stream_end(struct http_stream *s)
{
    struct exchange *x = exchange_of_stream(s);
    must(x->state == EXCHANGE_STREAMING);
    exchange_list_remove(x);
    if (!x->connection) {
        exchange_free(x);
        return;
    }
    exchange_answered(x);
    stream_resume(x);
}

void http_stream_break(struct http_stream *s)
{
    s->is_cut = true;
    http_stream_end(s);
}

/* --- functions for this module ----------------------------------------------------------------*/

/* The connection has ended: unsent bytes are dropped; the request and its arena stay valid until
 * the owner ends the stream. */
void stream_detach(struct exchange *x)
{
    const struct http_handler *handler = &x->server->handler;
    x->connection = NULL;
    x->client = NULL;
    x->stream.was_notified = true; /* handler.gone() is the last callback */
    stream_drop_bytes(x);
    if (handler->gone)
        handler->gone(handler->self, &x->request);
}

void stream_free(struct exchange *x)
{
    stream_drop_bytes(x);
}

void stream_cut(struct exchange *x)
{
    x->stream.is_cut = true;
    stream_drop_bytes(x);
    stream_resume(x);
}

/* A callback may end any stream, so the search restarts from the head after each call. */
void streams_stop(struct http_server *s)
{
    struct exchange *x;
    do {
        for (x = s->streams; x && x->stream.was_notified;)
            x = x->next;
        if (x)
            stream_notify_stopping(x);
    } while (x);
}

void streams_close(struct http_server *s)
{
    while (s->streams)
        http_stream_break(&s->streams->stream);
}
