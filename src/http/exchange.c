/* exchange.c - one request and its answer.
 *
 * libmicrohttpd tells us of a request line, of the headers, of each piece of the body, of the end
 * of it, and at last that the exchange is over, well or badly. A connection whose request is with
 * the handler is suspended: it is not polled, so nobody closes it under the handler's feet, and a
 * client that went away is noticed when the answer is sent.
 */
#include "http/http_private.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "sys/failpoint.h"

static struct exchange *exchange_of(struct http_request *request)
{
    return (struct exchange *)(void *)request;
}

void *exchange_begin(void *server, const char *target, struct MHD_Connection *connection)
{
    struct exchange *x = calloc(1, sizeof *x);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (!x || !info) {
        free(x);
        return NULL;
    }
    x->server = server;
    x->connection = connection;
    x->client = info->socket_context;
    x->target = str_copy(&x->request.arena, str_from(target));
    x->target_sent = target;
    return x;
}

void exchange_end(void *server, struct MHD_Connection *connection, void **exchange,
                  enum MHD_RequestTerminationCode why)
{
    (void)connection;
    (void)why;
    struct http_server *s = server;
    struct exchange *x = *exchange;
    *exchange = NULL;
    if (!x)
        return;
    must(x->state != EXCHANGE_HANDED && x->state != EXCHANGE_SUSPENDED);
    x->client->is_waiting = false;
    client_progress(x->client);
    if (x->state == EXCHANGE_ANSWERED)
        s->answered_count--;
    arena_fini(&x->request.arena);
    free(x);
}

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

static bool is_loopback(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (!info || !info->client_addr)
        return false;
    const struct sockaddr *address = info->client_addr;
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;
        return ntohl(in->sin_addr.s_addr) >> 24 == 127;
    }
    if (address->sa_family != AF_INET6)
        return false;
    const struct in6_addr *in6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(in6) || (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == 127);
}

/* A zero byte ends the target for libmicrohttpd, but not for whoever sent it. Between what was
 * read as the target and the version stand only the blank that it overwrote, and more blanks. */
static bool target_is_whole(const struct exchange *x, const char *version)
{
    const char *at = x->target_sent + x->target.len;
    for (uint32_t blanks = 0; at + blanks < version; blanks++)
        if (at[blanks] != (blanks == 0 ? '\0' : ' '))
            return false;
    return true;
}

struct framing {
    uint32_t lengths;
    uint32_t encodings;
};

static enum MHD_Result count_framing(void *counts, enum MHD_ValueKind kind, const char *name,
                                     const char *value)
{
    (void)kind;
    (void)value;
    struct framing *framing = counts;
    framing->lengths += str_eq_nocase(str_from(name), STR("Content-Length"));
    framing->encodings += str_eq_nocase(str_from(name), STR("Transfer-Encoding"));
    return MHD_YES;
}

/* Two ways to tell where the body ends are one too many: whoever stands between the client and us
 * may have taken the other, and what it let through as a body would be a request here. */
static bool is_ambiguous(const struct exchange *x)
{
    struct framing framing = {0};
    ignore(MHD_get_connection_values(x->connection, MHD_HEADER_KIND, count_framing, &framing),
           "it only counts again");
    return framing.lengths + framing.encodings > 1;
}

static bool is_missing_host(const struct exchange *x, const char *version)
{
    return strcmp(version, "HTTP/1.0") != 0 && str_is_empty(http_header(&x->request, "Host"));
}

/* Nobody reads a body that is announced as too large. A client that asks first is told at once; so
 * is one that would send far too much. Others are heard out, because closing on them while they
 * send would take the answer away from many. */
static bool is_refused_early(struct exchange *x)
{
    int64_t announced;
    if (!str_parse_i64(http_header(&x->request, "Content-Length"), &announced) ||
        announced <= x->server->body_max)
        return false;
    x->refusal = 413;
    return announced > 2 * (int64_t)x->server->body_max ||
           !str_is_empty(http_header(&x->request, "Expect"));
}

static enum MHD_Result headers_here(struct exchange *x, const char *method, const char *version)
{
    x->state = EXCHANGE_READING;
    x->request.method = method_parse(method);
    x->request.is_loopback = is_loopback(x->connection);
    x->request.is_secure = x->server->is_secure;
    if (is_ambiguous(x))
        exchange_refuse(x, 400);
    else if (is_refused_early(x))
        exchange_refuse(x, 413);
    else if (!target_is_whole(x, version) || !target_parse(&x->request, x->target) ||
             is_missing_host(x, version))
        x->refusal = 400;
    return MHD_YES;
}

static void body_grow(struct exchange *x, uint32_t needed)
{
    uint64_t cap = (uint64_t)x->body_cap * 2;
    if (cap < needed)
        cap = needed;
    if (cap > x->server->body_max)
        cap = x->server->body_max;
    char *grown = arena_alloc(&x->request.arena, (size_t)cap);
    if (x->body_len)
        memcpy(grown, x->body, x->body_len);
    x->body = grown;
    x->body_cap = (uint32_t)cap;
}

static enum MHD_Result body_add(struct exchange *x, const char *bytes, size_t size)
{
    const uint32_t max = x->server->body_max;
    x->body_seen += size;
    x->client->piece += (uint32_t)size;
    if (x->client->piece >= HTTP_PIECE)
        client_progress(x->client);
    if (x->body_seen > max && !x->refusal)
        x->refusal = 413;
    if (x->refusal)
        return x->body_seen > 2 * (uint64_t)max ? MHD_NO : MHD_YES;
    if (size > x->body_cap - x->body_len)
        body_grow(x, x->body_len + (uint32_t)size);
    memcpy(x->body + x->body_len, bytes, size);
    x->body_len += (uint32_t)size;
    return MHD_YES;
}

static void pending_add(struct exchange *x)
{
    struct http_server *s = x->server;
    x->next = s->pending;
    x->link = &s->pending;
    if (x->next)
        x->next->link = &x->next;
    s->pending = x;
    s->pending_count++;
}

static void pending_remove(struct exchange *x)
{
    *x->link = x->next;
    if (x->next)
        x->next->link = x->link;
    x->server->pending_count--;
}

/* The request is whole: to the handler with it, unless the answer is clear already. */
static enum MHD_Result hand_over(struct exchange *x)
{
    struct http_server *s = x->server;
    x->client->is_waiting = true;
    x->request.body = (struct str){x->body, x->body_len};
    if (x->refusal || s->is_closing) {
        exchange_refuse(x, x->refusal ? x->refusal : 503);
        return MHD_YES;
    }
    FAILPOINT(REQUEST);
    x->state = EXCHANGE_HANDED;
    pending_add(x);
    s->handler.serve(s->handler.self, &x->request);
    if (x->state == EXCHANGE_HANDED) {
        x->state = EXCHANGE_SUSPENDED;
        MHD_suspend_connection(x->connection);
    }
    return MHD_YES;
}

enum MHD_Result exchange_access(void *server, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_size, void **out_exchange)
{
    (void)server;
    (void)connection;
    (void)url; /* decoded without a way to tell what was wrong with it */
    struct exchange *x = *out_exchange;
    if (!x)
        return MHD_NO;
    if (x->state == EXCHANGE_NEW)
        return headers_here(x, method, version);
    if (x->state == EXCHANGE_ANSWERED)
        return MHD_NO; /* there was no memory for the answer */
    must(x->state == EXCHANGE_READING);
    if (*upload_size == 0)
        return hand_over(x);
    const size_t size = *upload_size;
    *upload_size = 0;
    return body_add(x, upload, size);
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

static struct MHD_Response *response_new(struct exchange *x, const struct http_answer *answer)
{
    struct arena *a = &x->request.arena;
    const bool stays = arena_holds(a, answer->body.at);
    /* It takes a pointer to bytes that it might change, and does not. */
    struct MHD_Response *response = MHD_create_response_from_buffer(
        answer->body.len, answer->body.len ? (void *)(uintptr_t)answer->body.at : NULL,
        stays ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_COPY);
    if (!response)
        return NULL;
    if (answer->content_type)
        add_header(response, "Content-Type", answer->content_type);
    for (uint32_t i = 0; i < answer->header_count; i++)
        add_header(response, answer->headers[i].name, str_z(a, answer->headers[i].value));
    if (x->server->is_quiet)
        add_header(response, "Connection", "close");
    return response;
}

/* Either way the exchange is answered: with this, or by a connection that closes. */
static void queue(struct exchange *x, const struct http_answer *answer)
{
    struct MHD_Response *response = response_new(x, answer);
    FAILPOINT(HTTP_ANSWER_BEFORE);
    if (response) {
        ignore(MHD_queue_response(x->connection, (unsigned)answer->status, response),
               "without a response the connection is closed");
        MHD_destroy_response(response);
    }
    FAILPOINT(HTTP_ANSWER_AFTER);
    x->state = EXCHANGE_ANSWERED;
    x->server->answered_count++;
}

void http_answer(struct http_request *request, const struct http_answer *answer)
{
    struct exchange *x = exchange_of(request);
    const bool is_suspended = x->state == EXCHANGE_SUSPENDED;
    must(is_suspended || x->state == EXCHANGE_HANDED);
    pending_remove(x);
    queue(x, answer);
    if (is_suspended) {
        MHD_resume_connection(x->connection);
        http_wake(x->server);
    }
}

void exchange_refuse(struct exchange *x, int status)
{
    const char *text = status == 400
                           ? "the request is not clean text, badly escaped or badly framed"
                       : status == 413 ? "the body is too large"
                                       : "shutting down";
    const char *code = status == 400 ? "bad_text" : status == 413 ? "too_large" : "unavailable";
    struct buf b = buf_in(&x->request.arena);
    buf_put_z(&b, "{\"message\":\"");
    buf_put_z(&b, text);
    buf_put_z(&b, "\",\"status\":");
    buf_put_i64(&b, status);
    buf_put_z(&b, ",\"code\":\"");
    buf_put_z(&b, code);
    buf_put_z(&b, "\"}");
    const struct http_answer answer = {
        .status = status, .content_type = "application/json", .body = buf_str(&b)};
    if (x->state == EXCHANGE_READING)
        queue(x, &answer);
    else
        http_answer(&x->request, &answer);
}

struct str http_header(const struct http_request *request, const char *name)
{
    const struct exchange *x = (const struct exchange *)(const void *)request;
    return str_from(MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name));
}
