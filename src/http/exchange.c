/* exchange.c - one request and its answer.
 *
 * libmicrohttpd tells us of a request line, of the headers, of each piece of the body, of the end
 * of it, and at last that the exchange is over, well or badly. A connection whose request is with
 * the handler is suspended: it is not polled, so nobody closes it under the handler's feet.
 *
 * An answer given before the body was read ends the connection. Between the first byte of a body
 * and its end libmicrohttpd takes no answer at all, so whoever is refused there is heard out, up to
 * twice the largest body, and what it says is dropped.
 */
#include "http/http_private.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/text/buf.h"
#include "sys/failpoint.h"

static struct exchange *exchange_of(struct http_request *request)
{
    return (struct exchange *)(void *)request;
}

/* The client of a connection; NULL where libmicrohttpd has none for it. */
static struct client *client_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

void *exchange_begin(void *server, const char *target, struct MHD_Connection *connection)
{
    struct client *c = client_of(connection);
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

static void body_release(struct exchange *x)
{
    x->server->body_total -= x->body_len;
    if (x->request.is_secret && x->body)
        sodium_memzero(x->body, x->body_len);
    free(x->body);
    x->body = NULL;
    x->body_len = x->body_cap = 0;
}

/* A mark that was rewound leaves words behind, so all of it goes. */
static void arena_wipe(const struct arena *a)
{
    for (struct arena_chunk *c = a->first; c; c = c->next)
        sodium_memzero(c + 1, c->size);
}

/* While the handler is being called its request stays, whatever happens to the connection: it is
 * freed when the handler has returned. */
void exchange_free(struct exchange *x)
{
    if (x->is_being_served) {
        x->is_over = true;
        return;
    }
    body_release(x);
    stream_free(x);
    http_hold(&x->request, 0);
    if (x->request.is_secret)
        arena_wipe(&x->request.arena);
    arena_fini(&x->request.arena);
    free(x);
}

static void call_gone(struct exchange *x)
{
    const struct http_handler *handler = &x->server->handler;
    if (handler->gone && !x->server->is_closing)
        handler->gone(handler->self, &x->request);
}

/* A request that the handler still holds outlives its connection: it stays in the list of pending
 * requests until it is answered, and that answer is dropped. */
void exchange_detach(struct exchange *x)
{
    struct http_server *s = x->server;
    const bool was_called_gone = x->client->is_gone;
    x->client->is_waiting = false;
    x->client->exchange = NULL;
    client_progress(x->client);
    s->exchange_count--;
    if (x->state == EXCHANGE_ANSWERED)
        s->answered_count--;
    if (x->state == EXCHANGE_STREAMING) {
        stream_orphan(x);
        return;
    }
    x->connection = NULL;
    x->client = NULL;
    if (x->state != EXCHANGE_HANDED && x->state != EXCHANGE_SUSPENDED)
        exchange_free(x);
    else if (x->state == EXCHANGE_SUSPENDED && !was_called_gone)
        call_gone(x);
}

/* libmicrohttpd does not call this for every request that it began: with two errors in one head it
 * closes the connection without it. So the exchange is looked up from the connection, here and in
 * clients_notify(), and whichever is called first ends it. */
void exchange_end(void *server, struct MHD_Connection *connection, void **exchange,
                  enum MHD_RequestTerminationCode why)
{
    (void)server;
    (void)why;
    const struct client *c = client_of(connection);
    *exchange = NULL;
    if (c && c->exchange)
        exchange_detach(c->exchange);
}

/* --- answers ----------------------------------------------------------------------------------*/

/* What lies in the request's arena stays until the exchange ends and need not be copied. */
static bool arena_holds(const struct arena *a, const char *at)
{
    for (const struct arena_chunk *c = a->first; c; c = c->next) {
        const char *start = (const char *)(c + 1);
        if (at >= start && at < start + c->size)
            return true;
    }
    return false;
}

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    ignore(MHD_add_response_header(response, name, value),
           "a line that cannot be sent is left out, not the answer");
}

void exchange_head(struct exchange *x, struct MHD_Response *response, const struct http_answer *a)
{
    if (a->content_type) {
        add_header(response, "Content-Type", a->content_type);
        /* What machines wrote is shown as text: no browser may take it for a page. */
        add_header(response, "X-Content-Type-Options", "nosniff");
    }
    for (uint32_t i = 0; i < a->header_count; i++)
        add_header(response, a->headers[i].name, str_z(&x->request.arena, a->headers[i].value));
    if (x->server->is_quiet || x->is_closing)
        add_header(response, "Connection", "close");
}

void http_hold(struct http_request *request, size_t bytes)
{
    struct exchange *x = exchange_of(request);
    x->server->held_total = x->server->held_total - x->held + bytes;
    x->held = bytes;
}

bool http_may_hold(const struct http_request *request, size_t bytes)
{
    const struct exchange *x = (const struct exchange *)(const void *)request;
    return bytes <= HTTP_HELD_LOW ||
           x->server->held_total - x->held + bytes <= x->server->held_total_max;
}

size_t http_held(const struct http_request *request)
{
    const struct exchange *x = (const struct exchange *)(const void *)request;
    return x->server->held_total + x->server->stream_total;
}

static struct MHD_Response *response_new(struct exchange *x, const struct http_answer *answer)
{
    const bool stays = arena_holds(&x->request.arena, answer->body.at);
    const size_t bytes = x->request.arena.held + (stays ? 0 : answer->body.len);
    if (bytes > x->held)
        http_hold(&x->request, bytes);
    /* It takes a pointer to bytes that it might change, and does not. */
    struct MHD_Response *response = MHD_create_response_from_buffer(
        answer->body.len, answer->body.len ? (void *)(uintptr_t)answer->body.at : NULL,
        stays ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_COPY);
    if (response)
        exchange_head(x, response, answer);
    return response;
}

/* Nobody needs the request's body any more. */
bool exchange_queue(struct exchange *x, int status, struct MHD_Response *response)
{
    bool is_queued = false;
    FAILPOINT(HTTP_ANSWER_BEFORE);
    if (response) {
        is_queued = MHD_queue_response(x->connection, (unsigned)status, response) == MHD_YES;
        MHD_destroy_response(response);
    }
    FAILPOINT(HTTP_ANSWER_AFTER);
    body_release(x);
    /* Its body is still to come, or something behind it that nobody reads. */
    x->client->lingers = !x->client->is_waiting || x->is_closing;
    return is_queued;
}

void exchange_answered(struct exchange *x)
{
    x->state = EXCHANGE_ANSWERED;
    x->server->answered_count++;
}

static void queue(struct exchange *x, const struct http_answer *answer)
{
    ignore(exchange_queue(x, answer->status, response_new(x, answer)),
           "without a response the connection is closed");
    exchange_answered(x);
    client_progress(x->client);
}

void exchange_list(struct exchange *x, struct exchange **list)
{
    x->next = *list;
    x->link = list;
    if (x->next)
        x->next->link = &x->next;
    *list = x;
}

void exchange_unlist(struct exchange *x)
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
    exchange_unlist(x);
    if (!x->connection) {
        x->state = EXCHANGE_ANSWERED;
        exchange_free(x);
        return;
    }
    queue(x, answer);
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
                     "the request is not clean text, badly escaped or badly framed"},
    [REFUSE_DEPTH] = {404, "not_found", "there is nothing at a path with that many parts"},
    [REFUSE_LARGE] = {413, "too_large", "the body is too large"},
    [REFUSE_FULL] = {503, "limit", "too many requests are being read; try again soon"},
    [REFUSE_CLOSING] = {503, "unavailable", "shutting down"},
};

static struct str refusal_body(struct exchange *x, enum refusal why)
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
                                       .body = refusal_body(x, why),
                                       .headers = &retry,
                                       .header_count = why == REFUSE_FULL};
    if (x->state == EXCHANGE_READING)
        queue(x, &answer);
    else
        http_answer(&x->request, &answer);
}

/* --- the head ---------------------------------------------------------------------------------*/

static enum http_method method_parse(const char *text)
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

/* A zero byte ends the target for libmicrohttpd, but not for whoever sent it. Between what was
 * read as the target and the version stand only the blank that it overwrote, and more blanks. All
 * three have to lie in one buffer, in the order of a request line: head_read() has found the
 * version there. */
static bool target_is_whole(const struct exchange *x, const char *method, const char *version)
{
    const char *at = x->target_sent + x->target.len;
    if (x->target_sent <= method || at >= version)
        return false;
    for (uint32_t blanks = 0; at + blanks < version; blanks++)
        if (at[blanks] != (blanks == 0 ? '\0' : ' '))
            return false;
    return true;
}

/* True: it was refused, and that is the answer. Whoever closes us may have no handler any more. */
static bool is_turned_away(struct exchange *x)
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
    queue(x, &answer);
    return true;
}

static bool expects(const struct exchange *x)
{
    return !str_is_empty(http_header(&x->request, "Expect"));
}

/* Nobody reads a body that is announced as too large. A client that asks first is told at once; so
 * is one that would send far too much. Others are heard out, and may go on. */
static void body_expected(struct exchange *x, const struct framing *framing)
{
    const struct http_server *s = x->server;
    const bool is_large = framing->length > s->body_max;
    if (is_large && !x->refusal)
        x->refusal = REFUSE_LARGE;
    if (x->refusal) {
        if (expects(x) || framing->length > 2 * (uint64_t)s->body_max)
            exchange_refuse(x, x->refusal);
        return;
    }
    x->body_announced = (uint32_t)framing->length;
    if (s->body_total + framing->length > s->body_total_max)
        exchange_refuse(x, REFUSE_FULL);
}

static enum refusal read_target(struct exchange *x, const char *method, const char *version)
{
    if (!target_is_whole(x, method, version))
        return REFUSE_TEXT;
    const err e = target_parse(&x->request, x->target);
    return e == OK ? REFUSE_NOT : e == ERR_LIMIT ? REFUSE_DEPTH : REFUSE_TEXT;
}

/* Whoever sends no body is turned away when its request is whole, and its connection stays.
 * Between chunks libmicrohttpd forgives lines that do not end with CR LF, and we do not see them:
 * whoever let the request pass may have found another end of it. So nothing behind a body in chunks
 * is taken for a request. */
static enum MHD_Result headers_here(struct exchange *x, const char *method, const char *version)
{
    struct framing framing;
    x->state = EXCHANGE_READING;
    x->request.method = method_parse(method);
    x->request.target = x->target;
    memcpy(x->request.address, &x->client->address, sizeof x->request.address);
    memcpy(x->request.client, &x->client->peer, sizeof x->request.client);
    x->request.is_loopback = x->client->is_loopback;
    x->request.is_secure = x->server->is_secure;
    if (x->client->is_proxy)
        forwarded_take(x);
    if (!head_read(x->connection, method, version, &framing)) {
        exchange_refuse(x, REFUSE_TEXT);
        return MHD_YES;
    }
    x->has_body = framing.is_chunked || framing.length > 0;
    x->is_closing = framing.is_chunked;
    x->refusal = read_target(x, method, version);
    if (x->has_body && (x->refusal || !is_turned_away(x)))
        body_expected(x, &framing);
    return MHD_YES;
}

/* --- bodies -----------------------------------------------------------------------------------*/

/* What was announced is taken at once; the kernel gives it page by page, as it is filled. */
static bool body_has_room(struct exchange *x, uint32_t needed)
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

/* It goes on and on: no answer fits in there any more, except one written past libmicrohttpd, which
 * cannot be done through TLS. */
static enum MHD_Result cut(struct exchange *x)
{
    const struct refusal_text *text = &refusal_texts[x->refusal];
    struct buf b = buf_in(&x->request.arena);
    const struct str body = refusal_body(x, x->refusal);
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
               "it is closed either way");
    return MHD_NO;
}

static void body_refuse(struct exchange *x, enum refusal why)
{
    x->refusal = why;
    x->is_closing |= why == REFUSE_FULL;
    body_release(x);
}

/* Whoever is refused gets no more time with each piece. */
static enum MHD_Result body_add(struct exchange *x, const char *bytes, size_t size)
{
    struct http_server *s = x->server;
    x->body_seen += size;
    x->client->piece += (uint32_t)size;
    if (x->client->piece >= HTTP_PIECE && !x->refusal)
        client_progress(x->client);
    if (x->refusal)
        return x->body_seen > 2 * (uint64_t)s->body_max ? cut(x) : MHD_YES;
    if (x->body_seen > s->body_max)
        body_refuse(x, REFUSE_LARGE);
    else if (s->body_total + size > s->body_total_max ||
             !body_has_room(x, x->body_len + (uint32_t)size))
        body_refuse(x, REFUSE_FULL);
    if (x->refusal)
        return MHD_YES;
    memcpy(x->body + x->body_len, bytes, size);
    x->body_len += (uint32_t)size;
    s->body_total += size;
    return MHD_YES;
}

/* --- to the handler ---------------------------------------------------------------------------*/

/* The request is whole: to the handler with it, unless the answer is clear already. */
static enum MHD_Result hand_over(struct exchange *x)
{
    struct http_server *s = x->server;
    x->client->is_waiting = true;
    x->request.body = (struct str){x->body, x->body_len};
    if (x->refusal || s->is_closing) {
        exchange_refuse(x, x->refusal ? x->refusal : REFUSE_CLOSING);
        return MHD_YES;
    }
    if (!x->has_body && is_turned_away(x))
        return MHD_YES;
    FAILPOINT(REQUEST);
    x->state = EXCHANGE_HANDED;
    exchange_list(x, &s->pending);
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
            call_gone(x);
    }
    return MHD_YES;
}

enum MHD_Result exchange_access(void *server, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_size, void **out_exchange)
{
    (void)url; /* decoded without a way to tell what was wrong with it */
    (void)out_exchange;
    const struct client *c = client_of(connection);
    struct exchange *x = c ? c->exchange : NULL;
    ((struct http_server *)server)->was_called = true;
    if (x && x->state == EXCHANGE_NEW && method && version)
        return headers_here(x, method, version);
    /* Closed: a request that did not begin, an answer for which there was no memory, or a call that
     * does not belong to this state of the request. */
    if (!x || x->state != EXCHANGE_READING)
        return MHD_NO;
    if (*upload_size == 0)
        return hand_over(x);
    const size_t size = *upload_size;
    *upload_size = 0;
    return upload ? body_add(x, upload, size) : MHD_NO;
}

struct str http_header(const struct http_request *request, const char *name)
{
    const struct exchange *x = (const struct exchange *)(const void *)request;
    if (!x->connection)
        return STR("");
    return str_from(MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name));
}
