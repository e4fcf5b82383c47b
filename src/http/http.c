/* http.c - the server: open, integration into the loop, close.
 *
 * It owns struct http_server: the daemon of libmicrohttpd, the libuv handles that drive it, and the
 * limits. MHD_run reads, calls back and writes; it is never entered recursively. It is called when
 * the epoll descriptor of libmicrohttpd is readable, when a timeout of libmicrohttpd has expired,
 * and once for all answers that were given outside of it. It is always called in the poll phase of
 * the loop, so a handler can rely on the check phase before the loop blocks again.
 *
 * Closing: pending requests are answered 503, streams are cut, unsent answers get FLUSH_MS_MAX, and
 * then libuv stops watching the descriptors before they are closed. The memory is freed by the
 * close callback of the last handle.
 *
 * Failure: if a step of http_open() fails, everything that is open by then is closed in the same
 * way, the reason is written to `why`, and the result is NULL.
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
    SPARE_CONNECTIONS = 16, /* not available to a single address */
    IDLE_S_DEFAULT = 30,
    STREAM_MAX_DEFAULT = 4 << 20,
    STREAM_TOTAL_MAX_DEFAULT = 64 << 20,
    HELD_TOTAL_MAX_DEFAULT = 256 << 20,
    FLUSH_MS_MAX = 1000, /* time for unsent answers when the server closes */
    FLUSH_STEP_MS = 20,
    IDLE_RUNS_MAX = 64, /* after so many calls without a callback there is a pause */
    IDLE_RUN_PAUSE_MS = 1,
};

/* --- event loop -------------------------------------------------------------------------------*/

void http_wake(struct http_server *s)
{
    if (!s->is_closing)
        must(uv_async_send(&s->wake) == 0);
}

static void http_on_timer(uv_timer_t *timer)
{
    http_wake(timer->data);
}

void http_run(struct http_server *s)
{
    must(!s->is_running);
    s->is_running = true;
    s->was_called = false;
    ignore(MHD_run(s->daemon), "it fails only for wrong use");
    s->is_running = false;
    MHD_UNSIGNED_LONG_LONG timeout_ms;
    if (MHD_get_timeout(s->daemon, &timeout_ms) != MHD_YES) {
        must(uv_timer_stop(&s->timer) == 0);
        return;
    }
    /* With the timeout 0 libmicrohttpd requests another run at once. If its buffer is full of a
     * malformed chunked body, it reads no more and requests runs until the client is disconnected:
     * after IDLE_RUNS_MAX runs without a callback there is a pause between two runs, so that the
     * loop does not spin. A file is sent without callbacks in parts of 128 KiB, one in each run:
     * then its acknowledged bytes are compared, because pauses would limit it to 100 MB/s. */
    if (timeout_ms == 0) {
        s->idle_runs = s->was_called ? 0 : s->idle_runs + 1;
        if (s->idle_runs >= IDLE_RUNS_MAX && clients_note_file_progress(s))
            s->idle_runs = 0;
        if (s->idle_runs < IDLE_RUNS_MAX) {
            http_wake(s);
            return;
        }
        timeout_ms = IDLE_RUN_PAUSE_MS;
    }
    must(uv_timer_start(&s->timer, http_on_timer, timeout_ms, 0) == 0);
}

static void http_on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status; /* libmicrohttpd gets the same error from the socket */
    (void)events;
    http_run(poll->data);
}

static void http_on_wake(uv_async_t *wake)
{
    http_run(wake->data);
}

static void http_on_sweep(uv_timer_t *timer)
{
    clients_sweep(timer->data);
}

/* --- open -------------------------------------------------------------------------------------*/

/* The arguments of http_open() while it runs. */
struct opening {
    const struct http_options *options;
    struct sockaddr_storage address;
    socklen_t address_size;
    unsigned flags; /* MHD_USE_TLS, or 0 */
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

static bool http_parse_address(struct opening *o)
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

static bool http_open_tls(struct http_server *s, struct opening *o)
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

static bool http_start_listening(struct http_server *s, const struct opening *o)
{
    return listener_open(s, (const struct sockaddr *)&o->address, o->address_size) ||
           http_fail(&o->why, "cannot listen on \"%s\" port %u: %s", o->options->address,
                     o->options->port, strerror(errno));
}

/* The connection limit of libmicrohttpd is above that of the slots and never reached. */
static bool http_start_mhd(struct http_server *s, const struct opening *o)
{
    /* libmicrohttpd uses sendfile(2) in a foreign loop only with this option, because it cannot
     * suppress SIGPIPE there. */
    const struct MHD_OptionItem no_tls[] = {
        {s->sends_files ? MHD_OPTION_SIGPIPE_HANDLED_BY_APP : MHD_OPTION_END, 1, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
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

/* Record an initialised handle for closing. `failed` is the libuv error of its initialisation. */
static bool http_add_handle(struct http_server *s, void *handle, int failed)
{
    s->handle_error = failed;
    if (failed)
        return false;
    ((uv_handle_t *)handle)->data = s;
    s->handles[s->open_handles++] = handle;
    return true;
}

static bool http_watch(struct http_server *s, uv_loop_t *loop, const struct opening *o)
{
    const union MHD_DaemonInfo *epoll = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    const bool is_made =
        epoll && http_add_handle(s, &s->poll, uv_poll_init(loop, &s->poll, epoll->epoll_fd)) &&
        http_add_handle(s, &s->accepting, uv_poll_init(loop, &s->accepting, s->listen_fd)) &&
        http_add_handle(s, &s->timer, uv_timer_init(loop, &s->timer)) &&
        http_add_handle(s, &s->sweep, uv_timer_init(loop, &s->sweep)) &&
        http_add_handle(s, &s->accept_pause, uv_timer_init(loop, &s->accept_pause)) &&
        http_add_handle(s, &s->wake, uv_async_init(loop, &s->wake, http_on_wake));
    if (!is_made)
        return http_fail(&o->why, "cannot add the sockets to the event loop: %s",
                         epoll ? uv_strerror(s->handle_error) : "libmicrohttpd has no epoll");
    int failed = uv_poll_start(&s->poll, UV_READABLE, http_on_poll);
    if (!failed)
        failed = uv_poll_start(&s->accepting, UV_READABLE, listener_ready);
    if (failed)
        return http_fail(&o->why, "cannot add the sockets to the event loop: %s",
                         uv_strerror(failed));
    must(uv_timer_start(&s->sweep, http_on_sweep, HTTP_SWEEP_MS, HTTP_SWEEP_MS) == 0);
    return true;
}

static void http_on_handle_closed(uv_handle_t *handle)
{
    struct http_server *s = handle->data;
    if (--s->open_handles == 0)
        free(s);
}

/* Close the libuv handles before the descriptors that they poll. The close callback of the last
 * handle frees the server. */
static void http_server_free(struct http_server *s)
{
    const uint32_t handles = s->open_handles;
    for (uint32_t i = 0; i < handles; i++)
        uv_close(s->handles[i], http_on_handle_closed);
    listener_close(s);
    if (s->daemon)
        MHD_stop_daemon(s->daemon);
    clients_fini(s);
    tls_fini(s);
    free(s->proxies);
    free(s->interface);
    if (handles == 0)
        free(s);
}

static bool http_copy_proxies(struct http_server *s, const struct http_options *o)
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

static bool http_copy_interface(struct http_server *s, const struct http_options *o)
{
    s->interface = o->interface ? strdup(o->interface) : NULL;
    return s->interface || !o->interface;
}

static void http_set_limits(struct http_server *s, const struct http_options *o)
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
        ignore(http_fail(&o.why, "out of memory"), "the text is returned in `why`");
        return NULL;
    }
    s->handler = handler;
    s->listen_fd = -1;
    s->sends_files = options->sends_files;
    http_set_limits(s, options);
    /* The order of dependencies: libmicrohttpd needs slots and TLS, the loop needs the sockets. */
    const bool is_open =
        ((clients_init(s) && http_copy_proxies(s, options) && http_copy_interface(s, options)) ||
         http_fail(&o.why, "out of memory")) &&
        http_parse_address(&o) && http_open_tls(s, &o) && http_start_listening(s, &o) &&
        http_start_mhd(s, &o) && http_watch(s, loop, &o);
    if (is_open)
        return s;
    http_server_free(s);
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

/* --- close ------------------------------------------------------------------------------------*/

void http_quiesce(struct http_server *s)
{
    s->is_quiet = true;
    listener_close(s);
    if (!s->is_closing)
        streams_stop(s);
}

void http_close(struct http_server *s)
{
    must(!s->is_running && !s->is_closing);
    s->is_closing = true;
    http_quiesce(s);
    /* Each refusal removes its request from the list. */
    while (s->pending)
        exchange_refuse(s->pending, REFUSE_CLOSING);
    streams_close(s);
    /* Send answers that are queued, as far as clients read them within FLUSH_MS_MAX. */
    const uint64_t end = uv_hrtime() + (uint64_t)FLUSH_MS_MAX * 1000000;
    while (s->answered_count > 0 && uv_hrtime() < end) {
        s->is_running = true;
        ignore(MHD_run_wait(s->daemon, FLUSH_STEP_MS), "as in http_run()");
        s->is_running = false;
    }
    http_server_free(s);
}
