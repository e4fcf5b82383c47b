/* exchange.c - one request and its answer.
 *
 * It owns each struct exchange with the body and the arena of its request, and what the server
 * counts over all exchanges (bytes of bodies and of answers, numbers of exchanges). libmicrohttpd
 * calls back with the request line (exchange_begin), the headers, each piece of the body and its
 * end (exchange_access), and when the exchange has ended (exchange_end). A connection whose request
 * is with the handler is suspended: libmicrohttpd does not poll it, so it cannot be closed while
 * the handler uses the request.
 *
 * An answer before the end of the body closes the connection. Between the first byte of a body and
 * its end libmicrohttpd accepts no answer, so after a refusal in that phase the rest of the body,
 * up to twice the largest body, is read and dropped.
 *
 * An exchange is freed when its connection ends, except while the handler owns the request: then
 * the connection is detached and the exchange is freed when it is answered.
 *
 * Failure: a request that the server itself refuses gets an answer of the table refusal_texts;
 * except when the server closes, that is before handler.serve() is called. If there is no memory
 * for an exchange or an answer, the connection is closed without one. If the client leaves while
 * the handler owns the request, the handler is notified (handler.gone) and its answer is dropped.
 */
#include "http/http_private.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text/buf.h"
#include "sys/failpoint.h"

static struct exchange *exchange_of(struct http_request *request)
{
    return (struct exchange *)(void *)request;
}

/* The client of a connection; NULL if libmicrohttpd has no context for it. */
static struct client *exchange_find_client(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

void *exchange_begin(void *server, const char *target, struct MHD_Connection *connection)
{
    struct client *c = exchange_find_client(connection);
    if (!c || !target)
        return NULL;
    if (c->exchange)
        exchange_detach(c->exchange);
    struct exchange *x = calloc(1, sizeof *x);
    if (!x)
        return NULL;
    x->server = server;
    x->connection = connection;
    x->client = c;
    x->target = str_copy(&x->request.arena, str_from(target));
    x->target_sent = target;
    c->exchange = x;
    x->server->exchange_count++;
    return x;
}

static void exchange_release_body(struct exchange *x)
{
    x->server->body_total -= x->body_len;
    if (x->request.is_secret && x->body)
        sodium_memzero(x->body, x->body_len);
    free(x->body);
    x->body = NULL;
    x->body_len = x->body_cap = 0;
}

/* While the handler is on the stack, its request must stay valid even if the connection ends: it is
 * freed when the handler has returned. */
void exchange_free(struct exchange *x)
{
    if (x->is_being_served) {
        x->is_over = true;
        return;
    }
    exchange_release_body(x);
    stream_free(x);
    http_count_memory(&x->request, 0);
    /* arena_rewind() does not clear memory, so every chunk is wiped completely. */
    if (x->request.is_secret)
        for (struct arena_chunk *c = x->request.arena.first; c; c = c->next)
            sodium_memzero(c + 1, c->size);
    arena_fini(&x->request.arena);
    free(x);
}

static void exchange_call_gone(struct exchange *x)
{
    const struct http_handler *handler = &x->server->handler;
    if (handler->gone && !x->server->is_closing)
        handler->gone(handler->self, &x->request);
}

/* A request that the handler has not answered outlives its connection: it stays in the list of
 * pending requests until it is answered, and that answer is dropped. */
void exchange_detach(struct exchange *x)
{
    struct http_server *s = x->server;
    const bool was_called_gone = x->client->is_gone;
    x->client->request_is_complete = false;
    x->client->exchange = NULL;
    client_progress(x->client);
    s->exchange_count--;
    if (x->state == EXCHANGE_ANSWERED)
        s->answered_count--;
    if (x->state == EXCHANGE_STREAMING) {
        stream_detach(x);
        return;
    }
    x->connection = NULL;
    x->client = NULL;
    if (x->state != EXCHANGE_HANDED && x->state != EXCHANGE_SUSPENDED)
        exchange_free(x);
    else if (x->state == EXCHANGE_SUSPENDED && !was_called_gone)
        exchange_call_gone(x);
}

/* libmicrohttpd does not call this for every request that has begun: with two errors in one head it
 * closes the connection without it. So the exchange is found through the connection, here and in
 * clients_notify(), and the first of the two calls ends it. */
void exchange_end(void *server, struct MHD_Connection *connection, void **exchange,
                  enum MHD_RequestTerminationCode why)
{
    (void)server;
    (void)why;
    const struct client *c = exchange_find_client(connection);
    *exchange = NULL;
    if (c && c->exchange)
        exchange_detach(c->exchange);
}

/* --- answers ----------------------------------------------------------------------------------*/

/* Bytes in the arena of the request are valid until the exchange ends and need not be copied. */
static bool exchange_arena_holds(const struct arena *a, const char *at)
{
    for (const struct arena_chunk *c = a->first; c; c = c->next) {
        const char *start = (const char *)(c + 1);
        if (at >= start && at < start + c->size)
            return true;
    }
    return false;
}

static void exchange_add_header(struct MHD_Response *response, const char *name, const char *value)
{
    ignore(MHD_add_response_header(response, name, value),
           "an invalid header is left out, and the answer is sent without it");
}

void exchange_head(struct exchange *x, struct MHD_Response *response, const struct http_answer *a)
{
    if (a->content_type) {
        exchange_add_header(response, "Content-Type", a->content_type);
        /* Run logs contain text of machines. A browser must not guess that it is HTML. */
        exchange_add_header(response, "X-Content-Type-Options", "nosniff");
    }
    for (uint32_t i = 0; i < a->header_count; i++)
        exchange_add_header(response, a->headers[i].name,
                            str_z(&x->request.arena, a->headers[i].value));
    if (x->server->is_quiet || x->is_closing)
        exchange_add_header(response, "Connection", "close");
}

void http_count_memory(struct http_request *request, size_t bytes)
{
    struct exchange *x = exchange_of(request);
    x->server->held_total = x->server->held_total - x->held + bytes;
    x->held = bytes;
}

bool http_memory_fits(const struct http_request *request, size_t bytes)
{
    const struct exchange *x = (const struct exchange *)(const void *)request;
    return bytes <= HTTP_HELD_LOW ||
           x->server->held_total - x->held + bytes <= x->server->held_total_max;
}

size_t http_memory_total(const struct http_request *request)
{
    const struct exchange *x = (const struct exchange *)(const void *)request;
    return x->server->held_total + x->server->stream_total;
}

static void exchange_queue_answer(struct exchange *x, const struct http_answer *answer)
{
    const bool stays = exchange_arena_holds(&x->request.arena, answer->body.at);
    const size_t bytes = x->request.arena.held + (stays ? 0 : answer->body.len);
    if (bytes > x->held)
        http_count_memory(&x->request, bytes);
    /* The parameter is not const, but libmicrohttpd does not modify the buffer. */
    struct MHD_Response *response = MHD_create_response_from_buffer(
        answer->body.len, answer->body.len ? (void *)(uintptr_t)answer->body.at : NULL,
        stays ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_COPY);
    if (response)
        exchange_head(x, response, answer);
    ignore(exchange_queue(x, answer->status, response),
           "without a response the connection is closed");
    exchange_answered(x);
    client_progress(x->client);
}

/* The body of the request is released: an answered request has no further use for it. */
bool exchange_queue(struct exchange *x, int status, struct MHD_Response *response)
{
    bool is_queued = false;
    FAILPOINT(HTTP_ANSWER_BEFORE);
    if (response) {
        is_queued = MHD_queue_response(x->connection, (unsigned)status, response) == MHD_YES;
        MHD_destroy_response(response);
    }
    FAILPOINT(HTTP_ANSWER_AFTER);
    exchange_release_body(x);
    /* Unread bytes may follow: the rest of the body, or another request that is not processed. */
    x->client->lingers = !x->client->request_is_complete || x->is_closing;
    return is_queued;
}

void exchange_answered(struct exchange *x)
{
    x->state = EXCHANGE_ANSWERED;
    x->server->answered_count++;
}

void exchange_list_add(struct exchange *x, struct exchange **list)
{
    x->next = *list;
    x->link = list;
    if (x->next)
        x->next->link = &x->next;
    *list = x;
}

void exchange_list_remove(struct exchange *x)
{
    *x->link = x->next;
    if (x->next)
        x->next->link = x->link;
}

void http_answer(struct http_request *request, const struct http_answer *answer)
{
    struct exchange *x = exchange_of(request);
    const bool is_suspended = x->state == EXCHANGE_SUSPENDED;
    must(is_suspended || x->state == EXCHANGE_HANDED);
    exchange_list_remove(x);
    if (!x->connection) {
        x->state = EXCHANGE_ANSWERED;
        exchange_free(x);
        return;
    }
    exchange_queue_answer(x, answer);
    if (is_suspended) {
        MHD_resume_connection(x->connection);
        http_wake(x->server);
    }
}

void http_answer_file(struct http_request *request, const struct http_answer *head,
                      struct http_file file)
{
    struct exchange *x = exchange_of(request);
    const bool is_suspended = x->state == EXCHANGE_SUSPENDED;
    must(is_suspended || x->state == EXCHANGE_HANDED);
    must(x->server->sends_files);
    exchange_list_remove(x);
    struct MHD_Response *response =
        x->connection ? MHD_create_response_from_fd_at_offset64(file.size, file.fd, file.offset)
                      : NULL;
    if (!response)
        ignore(close(file.fd), "it was only read");
    if (!x->connection) {
        x->state = EXCHANGE_ANSWERED;
        exchange_free(x);
        return;
    }
    if (response)
        exchange_head(x, response, head);
    x->sends_file = response != NULL;
    ignore(exchange_queue(x, head->status, response),
           "without a response the connection is closed");
    exchange_answered(x);
    client_progress(x->client);
    if (is_suspended) {
        MHD_resume_connection(x->connection);
        http_wake(x->server);
    }
}

/* --- refusals ---------------------------------------------------------------------------------*/

struct refusal_text {
    int status;
    const char *code;
    const char *message;
};

static const struct refusal_text refusal_texts[] = {
    [REFUSE_TEXT] = {400, "bad_text",
                     "malformed request: wrong UTF-8, percent-encoding, header or framing"},
    [REFUSE_DEPTH] = {404, "not_found", "no route has a path with so many segments"},
    [REFUSE_LARGE] = {413, "too_large", "the request body is too large"},
    [REFUSE_FULL] = {503, "limit", "too many request bodies are being received; try again later"},
    [REFUSE_CLOSING] = {503, "unavailable", "the daemon is shutting down"},
};

static struct str exchange_refusal_body(struct exchange *x, enum refusal why)
{
    struct buf b = buf_in(&x->request.arena);
    buf_put_z(&b, "{\"message\":\"");
    buf_put_z(&b, refusal_texts[why].message);
    buf_put_z(&b, "\",\"status\":");
    buf_put_i64(&b, refusal_texts[why].status);
    buf_put_z(&b, ",\"code\":\"");
    buf_put_z(&b, refusal_texts[why].code);
    buf_put_z(&b, "\"}");
    return buf_str(&b);
}

void exchange_refuse(struct exchange *x, enum refusal why)
{
    static const struct http_header retry = {"Retry-After", {"1", 1}};
    const struct http_answer answer = {.status = refusal_texts[why].status,
                                       .content_type = "application/json",
                                       .body = exchange_refusal_body(x, why),
                                       .headers = &retry,
                                       .header_count = why == REFUSE_FULL};
    if (x->state == EXCHANGE_READING)
        exchange_queue_answer(x, &answer);
    else
        http_answer(&x->request, &answer);
}

/* --- head -------------------------------------------------------------------------------------*/

static enum http_method exchange_parse_method(const char *text)
{
    static const char *const names[] = {
        [HTTP_GET] = "GET", [HTTP_HEAD] = "HEAD",   [HTTP_POST] = "POST",
        [HTTP_PUT] = "PUT", [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE",
    };
    for (int i = 0; i < HTTP_OTHER; i++)
        if (strcmp(text, names[i]) == 0)
            return (enum http_method)i;
    return HTTP_OTHER;
}

/* False if the target contains a zero byte, at which libmicrohttpd ends it while a proxy may have
 * read more. Between the target and the version there may be only the blank that libmicrohttpd has
 * overwritten with zero, and more blanks. All three must be in one buffer, in the order of a
 * request line; head_read() has verified that for the version. */
static bool exchange_target_is_whole(const struct exchange *x, const char *method,
                                     const char *version)
{
    const char *at = x->target_sent + x->target.len;
    if (x->target_sent <= method || at >= version)
        return false;
    for (uint32_t blanks = 0; at + blanks < version; blanks++)
        if (at[blanks] != (blanks == 0 ? '\0' : ' '))
            return false;
    return true;
}

/* Call handler.admit(). True: the request was refused and is answered. While the server closes, the
 * handler may not be called any more. */
static bool exchange_is_rejected(struct exchange *x)
{
    const struct http_handler *handler = &x->server->handler;
    if (x->server->is_closing) {
        exchange_refuse(x, REFUSE_CLOSING);
        return true;
    }
    struct http_answer answer = {0};
    const int status = handler->admit ? handler->admit(handler->self, &x->request, &answer) : 0;
    if (status == 0)
        return false;
    answer.status = status;
    exchange_queue_answer(x, &answer);
    return true;
}

/* Refuse an announced body that does not fit, before any byte of it is read; memory is allocated
 * when bytes arrive. A client with "Expect: 100-continue", with a body of more than twice the
 * limit, or whose body would exceed the limit of all bodies, is answered at once and disconnected.
 * Other bodies that are too large are read and dropped, so that the connection can be reused. */
static void exchange_prepare_body(struct exchange *x, const struct framing *framing)
{
    const struct http_server *s = x->server;
    const bool is_large = framing->length > s->body_max;
    if (is_large && !x->refusal)
        x->refusal = REFUSE_LARGE;
    if (x->refusal) {
        const bool expects_continue = !str_is_empty(http_header(&x->request, "Expect"));
        if (expects_continue || framing->length > 2 * (uint64_t)s->body_max)
            exchange_refuse(x, x->refusal);
        return;
    }
    x->body_announced = (uint32_t)framing->length;
    if (s->body_total + framing->length > s->body_total_max)
        exchange_refuse(x, REFUSE_FULL);
}

static enum refusal exchange_parse_target(struct exchange *x, const char *method,
                                          const char *version)
{
    if (!exchange_target_is_whole(x, method, version))
        return REFUSE_TEXT;
    const err e = target_parse(&x->request, x->target);
    return e == OK ? REFUSE_NOT : e == ERR_LIMIT ? REFUSE_DEPTH : REFUSE_TEXT;
}

/* The headers are complete. A request without a body is checked by admit() later, when it is
 * complete, so that its connection stays open. Between chunks libmicrohttpd accepts lines that do
 * not end with CR LF and does not show them to us, while a proxy may have found another end of the
 * body. So the connection is closed after a chunked body, and nothing after it is processed as a
 * request. */
static enum MHD_Result exchange_on_headers(struct exchange *x, const char *method,
                                           const char *version)
{
    struct framing framing;
    x->state = EXCHANGE_READING;
    x->request.method = exchange_parse_method(method);
    x->request.target = x->target;
    memcpy(x->request.address, &x->client->address, sizeof x->request.address);
    memcpy(x->request.client, &x->client->peer, sizeof x->request.client);
    x->request.is_loopback = x->client->is_loopback;
    x->request.is_secure = x->server->is_secure;
    if (x->client->is_proxy)
        forwarded_apply(x);
    if (!head_read(x->connection, method, version, &framing)) {
        exchange_refuse(x, REFUSE_TEXT);
        return MHD_YES;
    }
    x->has_body = framing.is_chunked || framing.length > 0;
    x->is_closing = framing.is_chunked;
    x->refusal = exchange_parse_target(x, method, version);
    if (x->has_body && (x->refusal || !exchange_is_rejected(x)))
        exchange_prepare_body(x, &framing);
    return MHD_YES;
}

/* --- bodies -----------------------------------------------------------------------------------*/

/* The announced size is allocated at once; the kernel provides its pages when they are written. */
static bool exchange_grow_body(struct exchange *x, uint32_t needed)
{
    uint64_t cap = (uint64_t)x->body_cap * 2;
    if (needed <= x->body_cap)
        return true;
    if (cap < x->body_announced)
        cap = x->body_announced;
    if (cap < needed)
        cap = needed;
    if (cap > x->server->body_max)
        cap = x->server->body_max;
    char *grown = realloc(x->body, (size_t)cap);
    if (!grown)
        return false;
    x->body = grown;
    x->body_cap = (uint32_t)cap;
    return true;
}

/* A refused client keeps sending its body. libmicrohttpd accepts no answer in this phase, so it is
 * written directly to the socket, which is not possible with TLS, and the connection is closed. */
static enum MHD_Result exchange_abort(struct exchange *x)
{
    const struct refusal_text *text = &refusal_texts[x->refusal];
    struct buf b = buf_in(&x->request.arena);
    const struct str body = exchange_refusal_body(x, x->refusal);
    buf_put_z(&b, "HTTP/1.1 ");
    buf_put_i64(&b, text->status);
    buf_put_z(&b, " Refused\r\nConnection: close\r\nContent-Type: application/json\r\n");
    buf_put_z(&b, "Content-Length: ");
    buf_put_i64(&b, body.len);
    buf_put_z(&b, "\r\n\r\n");
    buf_put_str(&b, body);
    x->client->lingers = true;
    if (!x->server->is_secure)
        ignore(send(x->client->fd, b.at, b.len, MSG_DONTWAIT | MSG_NOSIGNAL),
               "the connection is closed in any case");
    return MHD_NO;
}

static void exchange_refuse_body(struct exchange *x, enum refusal why)
{
    x->refusal = why;
    x->is_closing |= why == REFUSE_FULL;
    exchange_release_body(x);
}

/* Append bytes of the body. The bytes of a refused body do not count as progress of the client. */
static enum MHD_Result exchange_add_body(struct exchange *x, const char *bytes, size_t size)
{
    struct http_server *s = x->server;
    x->body_seen += size;
    x->client->body_bytes += (uint32_t)size;
    if (x->client->body_bytes >= HTTP_PIECE && !x->refusal)
        client_progress(x->client);
    if (x->refusal)
        return x->body_seen > 2 * (uint64_t)s->body_max ? exchange_abort(x) : MHD_YES;
    if (x->body_seen > s->body_max)
        exchange_refuse_body(x, REFUSE_LARGE);
    else if (s->body_total + size > s->body_total_max ||
             !exchange_grow_body(x, x->body_len + (uint32_t)size))
        exchange_refuse_body(x, REFUSE_FULL);
    if (x->refusal)
        return MHD_YES;
    memcpy(x->body + x->body_len, bytes, size);
    x->body_len += (uint32_t)size;
    s->body_total += size;
    return MHD_YES;
}

/* --- handler ----------------------------------------------------------------------------------*/

/* The request is complete: send a refusal that was decided before, or call the handler. A handler
 * that returns without an answer has its connection suspended. */
static enum MHD_Result exchange_call_handler(struct exchange *x)
{
    struct http_server *s = x->server;
    x->client->request_is_complete = true;
    x->request.body = (struct str){x->body, x->body_len};
    if (x->refusal || s->is_closing) {
        exchange_refuse(x, x->refusal ? x->refusal : REFUSE_CLOSING);
        return MHD_YES;
    }
    if (!x->has_body && exchange_is_rejected(x))
        return MHD_YES;
    FAILPOINT(REQUEST);
    x->state = EXCHANGE_HANDED;
    exchange_list_add(x, &s->pending);
    x->is_being_served = true;
    s->handler.serve(s->handler.self, &x->request);
    x->is_being_served = false;
    if (x->is_over) {
        exchange_free(x);
    } else if (x->state == EXCHANGE_HANDED) {
        x->state = EXCHANGE_SUSPENDED;
        if (x->connection)
            MHD_suspend_connection(x->connection);
        else
            exchange_call_gone(x);
    }
    return MHD_YES;
}

enum MHD_Result exchange_access(void *server, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_size, void **out_exchange)
{
    (void)url; /* decoded by libmicrohttpd without reporting errors */
    (void)out_exchange;
    const struct client *c = exchange_find_client(connection);
    struct exchange *x = c ? c->exchange : NULL;
    ((struct http_server *)server)->was_called = true;
    if (x && x->state == EXCHANGE_NEW && method && version)
        return exchange_on_headers(x, method, version);
    /* MHD_NO closes the connection: no exchange was created, an answer could not be allocated, or
     * the call does not fit the state of the exchange. */
    if (!x || x->state != EXCHANGE_READING)
        return MHD_NO;
    if (*upload_size == 0)
        return exchange_call_handler(x);
    const size_t size = *upload_size;
    *upload_size = 0;
    return upload ? exchange_add_body(x, upload, size) : MHD_NO;
}

struct str http_header(const struct http_request *request, const char *name)
{
    const struct exchange *x = (const struct exchange *)(const void *)request;
    if (!x->connection)
        return STR("");
    return str_from(MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name));
}
