/* http.c - the server: opening, its place in the loop, closing.
 *
 * MHD_run reads, calls back and writes; it is never entered twice. It runs when the epoll
 * descriptor says that something happened, when a timeout of libmicrohttpd is over, and once for
 * all answers that were given from outside of it. Always where the loop polls: so a handler can
 * rely on the loop's check phase coming before the loop sleeps.
 */
#include "http/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "http/http_private.h"

enum {
    BODY_MAX_DEFAULT = 4 << 20,
    BODY_TOTAL_MAX_DEFAULT = 64 << 20,
    SPARE_CONNECTIONS = 16, /* that no single address can take */
    IDLE_S_DEFAULT = 30,
    STREAM_MAX_DEFAULT = 4 << 20,
    STREAM_TOTAL_MAX_DEFAULT = 64 << 20,
    HELD_TOTAL_MAX_DEFAULT = 256 << 20,
    FLUSH_MS_MAX = 1000, /* what a closing server gives its last answers */
    FLUSH_STEP_MS = 20,
    VAIN_RUNS_MAX = 64, /* more often than that we do not ask without a pause */
    VAIN_PAUSE_MS = 1,
};

/* --- in the loop ------------------------------------------------------------------------------*/

void http_wake(struct http_server *s)
{
    if (!s->is_closing)
        must(uv_async_send(&s->wake) == 0);
}

static void on_timer(uv_timer_t *timer)
{
    http_wake(timer->data);
}

/* libmicrohttpd has more to do, or believes so: of a body whose chunks are not to be told apart it
 * keeps what it can, reads no more, and would be asked again and again until its client is cut. */
static void run_again(struct http_server *s)
{
    s->vain_runs = s->was_called ? 0 : s->vain_runs + 1;
    if (s->vain_runs < VAIN_RUNS_MAX)
        http_wake(s);
    else
        must(uv_timer_start(&s->timer, on_timer, VAIN_PAUSE_MS, 0) == 0);
}

void http_run(struct http_server *s)
{
    must(!s->is_running);
    s->is_running = true;
    s->was_called = false;
    ignore(MHD_run(s->daemon), "it says no more than that it was called wrongly");
    s->is_running = false;
    MHD_UNSIGNED_LONG_LONG timeout_ms;
    if (MHD_get_timeout(s->daemon, &timeout_ms) != MHD_YES)
        must(uv_timer_stop(&s->timer) == 0);
    else if (timeout_ms == 0)
        run_again(s);
    else
        must(uv_timer_start(&s->timer, on_timer, timeout_ms, 0) == 0);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status; /* whatever it is, libmicrohttpd will meet it */
    (void)events;
    http_run(poll->data);
}

static void on_wake(uv_async_t *wake)
{
    http_run(wake->data);
}

static void on_sweep(uv_timer_t *timer)
{
    clients_sweep(timer->data);
}

/* --- opening ----------------------------------------------------------------------------------*/

struct opening {
    const struct http_options *options;
    struct sockaddr_storage address;
    socklen_t address_size;
    unsigned flags;
    struct http_why why;
};

bool http_fail(const struct http_why *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, why->size, format, args);
    va_end(args);
    return false;
}

static bool read_address(struct opening *o)
{
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)&o->address;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)&o->address;
    const char *text = o->options->address ? o->options->address : "";
    if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
        in->sin_family = AF_INET;
        in->sin_port = htons(o->options->port);
        o->address_size = sizeof *in;
        return true;
    }
    if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons(o->options->port);
        o->address_size = sizeof *in6;
        return true;
    }
    return http_fail(&o->why, "cannot listen on \"%s\": not an address", text);
}

static bool read_tls(struct http_server *s, struct opening *o)
{
    const char *cert = o->options->tls_cert;
    const char *key = o->options->tls_key;
    if (!cert && !key)
        return true;
    if (!cert || !key)
        return http_fail(&o->why, "TLS needs a certificate and a key, and only one was given");
    o->flags |= MHD_USE_TLS;
    return tls_init(s, cert, key, &o->why);
}

static bool start_listening(struct http_server *s, const struct opening *o)
{
    return listener_open(s, (const struct sockaddr *)&o->address, o->address_size) ||
           http_fail(&o->why, "cannot listen on \"%s\" port %u: %s", o->options->address,
                     o->options->port, strerror(errno));
}

/* Its own limit of connections is above ours, and never reached. */
static bool start_daemon(struct http_server *s, const struct opening *o)
{
    const struct MHD_OptionItem no_tls[] = {{MHD_OPTION_END, 0, NULL}};
    const struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(uintptr_t)tls_retrieve},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
        {MHD_OPTION_END, 0, NULL},
    };
    errno = 0;
    /* clang-format off */
    s->daemon = MHD_start_daemon(
        o->flags | MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0,
        NULL, NULL, exchange_access, s,
        MHD_OPTION_CONNECTION_LIMIT, s->slot_count + 1,
        MHD_OPTION_CONNECTION_TIMEOUT, s->idle_s,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTP_CONNECTION_MEMORY,
        MHD_OPTION_URI_LOG_CALLBACK, exchange_begin, s,
        MHD_OPTION_NOTIFY_COMPLETED, exchange_end, s,
        MHD_OPTION_NOTIFY_CONNECTION, clients_notify, s,
        MHD_OPTION_ARRAY, s->is_secure ? tls : no_tls,
        MHD_OPTION_END);
    /* clang-format on */
    return s->daemon || http_fail(&o->why, "libmicrohttpd cannot be started: %s", strerror(errno));
}

/* One of the server's handles was made, or `failed` says why not. */
static bool handle_made(struct http_server *s, void *handle, int failed)
{
    s->handle_error = failed;
    if (failed)
        return false;
    ((uv_handle_t *)handle)->data = s;
    s->handles[s->open_handles++] = handle;
    return true;
}

static bool watch(struct http_server *s, uv_loop_t *loop, const struct opening *o)
{
    const union MHD_DaemonInfo *epoll = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    const bool is_made =
        epoll && handle_made(s, &s->poll, uv_poll_init(loop, &s->poll, epoll->epoll_fd)) &&
        handle_made(s, &s->accepting, uv_poll_init(loop, &s->accepting, s->listen_fd)) &&
        handle_made(s, &s->timer, uv_timer_init(loop, &s->timer)) &&
        handle_made(s, &s->sweep, uv_timer_init(loop, &s->sweep)) &&
        handle_made(s, &s->accept_pause, uv_timer_init(loop, &s->accept_pause)) &&
        handle_made(s, &s->wake, uv_async_init(loop, &s->wake, on_wake));
    if (!is_made)
        return http_fail(&o->why, "cannot watch the connections: %s",
                         epoll ? uv_strerror(s->handle_error) : "libmicrohttpd has no epoll");
    int failed = uv_poll_start(&s->poll, UV_READABLE, on_poll);
    if (!failed)
        failed = uv_poll_start(&s->accepting, UV_READABLE, listener_ready);
    if (failed)
        return http_fail(&o->why, "cannot watch the connections: %s", uv_strerror(failed));
    must(uv_timer_start(&s->sweep, on_sweep, HTTP_SWEEP_MS, HTTP_SWEEP_MS) == 0);
    return true;
}

static void on_closed(uv_handle_t *handle)
{
    struct http_server *s = handle->data;
    if (--s->open_handles == 0)
        free(s);
}

/* The loop lets go of the descriptors before they are closed. The last handle that the loop closes
 * frees the server. */
static void server_free(struct http_server *s)
{
    const uint32_t handles = s->open_handles;
    for (uint32_t i = 0; i < handles; i++)
        uv_close(s->handles[i], on_closed);
    listener_close(s);
    if (s->daemon)
        MHD_stop_daemon(s->daemon);
    clients_fini(s);
    tls_fini(s);
    free(s->proxies);
    if (handles == 0)
        free(s);
}

static bool read_proxies(struct http_server *s, const struct http_options *o)
{
    if (o->proxy_count == 0)
        return true;
    s->proxies = calloc(o->proxy_count, sizeof *s->proxies);
    if (!s->proxies)
        return false;
    memcpy(s->proxies, o->proxies, o->proxy_count * sizeof *s->proxies);
    s->proxy_count = o->proxy_count;
    return true;
}

static void read_bounds(struct http_server *s, const struct http_options *o)
{
    s->body_max = o->body_max ? o->body_max : BODY_MAX_DEFAULT;
    s->body_total_max = o->body_total_max ? o->body_total_max : BODY_TOTAL_MAX_DEFAULT;
    s->connections_max = o->connections_max ? o->connections_max : http_connections_default();
    s->per_address_max = o->per_address_max;
    if (s->per_address_max == 0)
        s->per_address_max = s->connections_max < 2 * SPARE_CONNECTIONS
                                 ? (s->connections_max + 1) / 2
                                 : s->connections_max - SPARE_CONNECTIONS;
    s->idle_s = o->idle_s ? o->idle_s : IDLE_S_DEFAULT;
    s->stream_max = o->stream_max ? o->stream_max : STREAM_MAX_DEFAULT;
    s->stream_total_max = o->stream_total_max ? o->stream_total_max : STREAM_TOTAL_MAX_DEFAULT;
    s->held_total_max = o->held_total_max ? o->held_total_max : HELD_TOTAL_MAX_DEFAULT;
}

struct http_server *http_open(uv_loop_t *loop, const struct http_options *options,
                              struct http_handler handler, char *why, size_t why_size)
{
    struct opening o = {.options = options, .why = {why, why_size}};
    struct http_server *s = calloc(1, sizeof *s);
    if (!s) {
        ignore(http_fail(&o.why, "out of memory"), "said below");
        return NULL;
    }
    s->handler = handler;
    s->listen_fd = -1;
    read_bounds(s, options);
    const bool is_open =
        ((clients_init(s) && read_proxies(s, options)) || http_fail(&o.why, "out of memory")) &&
        read_address(&o) && read_tls(s, &o) && start_listening(s, &o) && start_daemon(s, &o) &&
        watch(s, loop, &o);
    if (is_open)
        return s;
    server_free(s);
    return NULL;
}

uint16_t http_port(const struct http_server *s)
{
    return s->port;
}

struct http_stats http_stats(const struct http_server *s)
{
    if (!s)
        return (struct http_stats){0};
    struct http_stats stats = s->stats;
    stats.connections = s->client_count;
    stats.connections_max = s->connections_max;
    return stats;
}

uint32_t http_pending(const struct http_server *s)
{
    return s->exchange_count;
}

/* --- closing ----------------------------------------------------------------------------------*/

void http_quiesce(struct http_server *s)
{
    s->is_quiet = true;
    listener_close(s);
    if (!s->is_closing)
        streams_stop(s);
}

/* Answers that are given go out, if their clients take them now. */
static void flush(struct http_server *s)
{
    const uint64_t end = uv_hrtime() + (uint64_t)FLUSH_MS_MAX * 1000000;
    while (s->answered_count > 0 && uv_hrtime() < end) {
        s->is_running = true;
        ignore(MHD_run_wait(s->daemon, FLUSH_STEP_MS), "as in http_run()");
        s->is_running = false;
    }
}

void http_close(struct http_server *s)
{
    must(!s->is_running && !s->is_closing);
    s->is_closing = true;
    http_quiesce(s);
    while (s->pending)
        exchange_refuse(s->pending, REFUSE_CLOSING);
    streams_close(s);
    flush(s);
    server_free(s);
}
