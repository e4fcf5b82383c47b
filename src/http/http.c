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
#include <unistd.h>

#include "base/err.h"
#include "http/http_private.h"

enum {
    BODY_MAX_DEFAULT = 4 << 20,
    BODY_TOTAL_MAX_DEFAULT = 64 << 20,
    CONNECTIONS_MAX_DEFAULT = 1000,
    SPARE_CONNECTIONS = 16, /* that no single address can take */
    IDLE_S_DEFAULT = 30,
    STREAM_MAX_DEFAULT = 4 << 20,
    STREAM_TOTAL_MAX_DEFAULT = 64 << 20,
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

static void run(struct http_server *s)
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
    run(poll->data);
}

static void on_wake(uv_async_t *wake)
{
    run(wake->data);
}

static void on_sweep(uv_timer_t *timer)
{
    clients_sweep(timer->data);
}

/* --- opening ----------------------------------------------------------------------------------*/

struct opening {
    const struct http_options *options;
    struct sockaddr_storage address;
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
        return true;
    }
    if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons(o->options->port);
        o->flags |= MHD_USE_IPv6;
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

static bool start_failed(const struct opening *o, int error)
{
    return http_fail(&o->why, "cannot listen on \"%s\" port %u: %s", o->options->address,
                     o->options->port, strerror(error));
}

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
        o->flags | MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, o->options->port,
        clients_accept, s, exchange_access, s,
        MHD_OPTION_SOCK_ADDR, (const struct sockaddr *)&o->address,
        MHD_OPTION_CONNECTION_LIMIT, s->connections_max + 1,
        MHD_OPTION_CONNECTION_TIMEOUT, s->idle_s,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTP_CONNECTION_MEMORY,
        MHD_OPTION_URI_LOG_CALLBACK, exchange_begin, s,
        MHD_OPTION_NOTIFY_COMPLETED, exchange_end, s,
        MHD_OPTION_NOTIFY_CONNECTION, clients_notify, s,
        MHD_OPTION_ARRAY, s->is_secure ? tls : no_tls,
        MHD_OPTION_END);
    /* clang-format on */
    return s->daemon || start_failed(o, errno);
}

/* The handles are all made or none: a poll that cannot be made is met before the others. */
static bool watch(struct http_server *s, uv_loop_t *loop, const struct opening *o)
{
    const union MHD_DaemonInfo *epoll = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    const union MHD_DaemonInfo *port = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    must(epoll && port);
    s->port = port->port;
    const int failed = uv_poll_init(loop, &s->poll, epoll->epoll_fd);
    if (failed)
        return http_fail(&o->why, "cannot watch the connections: %s", uv_strerror(failed));
    must(uv_timer_init(loop, &s->timer) == 0 && uv_timer_init(loop, &s->sweep) == 0 &&
         uv_async_init(loop, &s->wake, on_wake) == 0);
    s->poll.data = s->timer.data = s->sweep.data = s->wake.data = s;
    s->open_handles = 4;
    must(uv_poll_start(&s->poll, UV_READABLE, on_poll) == 0 &&
         uv_timer_start(&s->sweep, on_sweep, HTTP_SWEEP_MS, HTTP_SWEEP_MS) == 0);
    return true;
}

static void server_free(struct http_server *s)
{
    if (s->daemon)
        MHD_stop_daemon(s->daemon);
    clients_fini(s);
    tls_fini(s);
    free(s->proxies);
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
    s->connections_max = o->connections_max ? o->connections_max : CONNECTIONS_MAX_DEFAULT;
    s->per_address_max = o->per_address_max;
    if (s->per_address_max == 0)
        s->per_address_max = s->connections_max < 2 * SPARE_CONNECTIONS
                                 ? (s->connections_max + 1) / 2
                                 : s->connections_max - SPARE_CONNECTIONS;
    s->idle_s = o->idle_s ? o->idle_s : IDLE_S_DEFAULT;
    s->stream_max = o->stream_max ? o->stream_max : STREAM_MAX_DEFAULT;
    s->stream_total_max = o->stream_total_max ? o->stream_total_max : STREAM_TOTAL_MAX_DEFAULT;
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
    read_bounds(s, options);
    const bool is_open =
        ((clients_init(s) && read_proxies(s, options)) || http_fail(&o.why, "out of memory")) &&
        read_address(&o) && read_tls(s, &o) && start_daemon(s, &o) && watch(s, loop, &o);
    if (is_open)
        return s;
    server_free(s);
    return NULL;
}

uint16_t http_port(const struct http_server *s)
{
    return s->port;
}

uint32_t http_pending(const struct http_server *s)
{
    return s->exchange_count;
}

/* --- closing ----------------------------------------------------------------------------------*/

void http_quiesce(struct http_server *s)
{
    s->is_quiet = true;
    const MHD_socket fd = MHD_quiesce_daemon(s->daemon);
    if (fd != MHD_INVALID_SOCKET)
        ignore(close(fd), "nothing was written to it");
    if (!s->is_closing)
        streams_stop(s);
}

/* Answers that are given go out, if their clients take them now. */
static void flush(struct http_server *s)
{
    const uint64_t end = uv_hrtime() + (uint64_t)FLUSH_MS_MAX * 1000000;
    while (s->answered_count > 0 && uv_hrtime() < end) {
        s->is_running = true;
        ignore(MHD_run_wait(s->daemon, FLUSH_STEP_MS), "as in run()");
        s->is_running = false;
    }
}

static void on_closed(uv_handle_t *handle)
{
    struct http_server *s = handle->data;
    if (--s->open_handles == 0) {
        free(s->proxies);
        free(s);
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
    /* The loop lets go of the epoll descriptor before it is closed. */
    uv_close((uv_handle_t *)&s->poll, on_closed);
    uv_close((uv_handle_t *)&s->timer, on_closed);
    uv_close((uv_handle_t *)&s->sweep, on_closed);
    uv_close((uv_handle_t *)&s->wake, on_closed);
    MHD_stop_daemon(s->daemon);
    clients_fini(s);
    tls_fini(s);
}
