#define _GNU_SOURCE /* accept4 */
/* listener.c - the listening socket: new connections are accepted here and handed to libmicrohttpd.
 *
 * libmicrohttpd could accept by itself, but after EMFILE it stops until one of its own connections
 * ends, which may never happen, and it cannot choose a connection to close for a new one. Here an
 * error of accept() stops accepting for PAUSE_MS only, and when all slots are in use the connection
 * that has been longest without a complete request is closed (ADR 0063).
 *
 * It owns the listening socket. A slot is made available before a connection is handed over,
 * because libmicrohttpd calls clients_notify() during the handover, which takes it. MHD_run follows
 * each round of accepting: it releases evicted connections and begins the new ones.
 *
 * Failure: a connection without a slot is closed and counted. Errors of accept() are counted, and
 * listener_notice() logs them at most once a minute. listener_open() returns false with errno.
 */
#include "http/http_private.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/log.h"

enum {
    PAUSE_MS = 100,       /* after an error of accept() that would recur at once */
    NOTICE_MS = 60 * 1000 /* between two log lines of the same kind */
};

/* --- open and close ---------------------------------------------------------------------------*/

bool listener_open(struct http_server *s, const struct sockaddr *address, socklen_t size)
{
    const int on = 1;
    struct sockaddr_storage bound = {0};
    socklen_t bound_size = sizeof bound;
    const int fd =
        socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (fd < 0)
        return false;
    s->listen_fd = fd;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        (s->interface && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, s->interface,
                                    (socklen_t)strlen(s->interface)) != 0) ||
        (address->sa_family == AF_INET6 &&
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) ||
        bind(fd, address, size) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, (struct sockaddr *)&bound, &bound_size) != 0)
        return false;
    /* The port is at the same place in both families. */
    s->port = ntohs(((const struct sockaddr_in *)(const void *)&bound)->sin_port);
    return true;
}

void listener_close(struct http_server *s)
{
    if (s->listen_fd < 0)
        return;
    if (s->accepting.data && !uv_is_closing((const uv_handle_t *)&s->accepting))
        ignore(uv_poll_stop(&s->accepting), "it cannot fail for a handle that is open");
    ignore(close(s->listen_fd), "nothing was written to it");
    s->listen_fd = -1;
}

/* --- accept -----------------------------------------------------------------------------------*/

static void listener_on_pause_over(uv_timer_t *timer)
{
    struct http_server *s = timer->data;
    if (s->listen_fd >= 0)
        ignore(uv_poll_start(&s->accepting, UV_READABLE, listener_ready),
               "it cannot fail for a handle that is open");
}

/* The socket stays readable while connections wait, so without a pause the loop would spin. */
static void listener_pause(struct http_server *s)
{
    ignore(uv_poll_stop(&s->accepting), "it cannot fail for a handle that is open");
    ignore(uv_timer_start(&s->accept_pause, listener_on_pause_over, PAUSE_MS, 0), "it cannot fail");
}

/* Errors of a single connection, after which accept() can be called again (accept(2)). */
static bool listener_error_is_transient(int error)
{
    switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case ENOPROTOOPT:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET:
    case EOPNOTSUPP:
    case EPERM: return true;
    default: return false;
    }
}

/* False: stop accepting for now. If descriptors are exhausted, a connection is evicted; its
 * descriptor is free after the next MHD_run, so accepting continues right after it. If there is
 * none to evict, accepting pauses. */
static bool listener_accept_failed(struct http_server *s, int error)
{
    if (listener_error_is_transient(error))
        return true;
    /* accept() fails with EMFILE even if no connection waits, because it allocates the descriptor
     * first. */
    struct pollfd waiting = {.fd = s->listen_fd, .events = POLLIN};
    if (error == EAGAIN || poll(&waiting, 1, 0) <= 0)
        return false;
    s->stats.accept_failures++;
    s->accept_error = error;
    if ((error != EMFILE && error != ENFILE) || !clients_evict(s, NULL))
        listener_pause(s);
    return false;
}

static void listener_add_connection(struct http_server *s, int fd, const struct sockaddr *address,
                                    socklen_t size)
{
    if (!clients_make_slot(s, address)) {
        s->stats.refused++;
        ignore(close(fd), "nothing was written to it");
        return;
    }
    /* On failure libmicrohttpd closes the socket; on success it calls clients_notify(). */
    ignore(MHD_add_connection(s->daemon, fd, address, size), "the client sees it closed");
}

/* Evicted connections keep their slots until MHD_run has released them, so at most HTTP_SPARE_SLOTS
 * connections are accepted before it is called. */
void listener_ready(uv_poll_t *poll, int status, int events)
{
    struct http_server *s = poll->data;
    (void)status; /* accept() reports the same error */
    (void)events;
    for (int i = 0; i < HTTP_SPARE_SLOTS && s->free_clients; i++) {
        struct sockaddr_storage address = {0};
        socklen_t size = sizeof address;
        const int fd =
            accept4(s->listen_fd, (struct sockaddr *)&address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            listener_add_connection(s, fd, (const struct sockaddr *)&address, size);
        else if (!listener_accept_failed(s, errno))
            break;
    }
    http_run(s);
    if (!s->free_clients)
        listener_pause(s);
}

/* --- limits -----------------------------------------------------------------------------------*/

uint32_t http_connections_for(uint64_t descriptors)
{
    const uint64_t half = descriptors / 2;
    const uint64_t reserve = half < HTTP_DESCRIPTORS_RESERVED ? half : HTTP_DESCRIPTORS_RESERVED;
    const uint64_t left = descriptors - reserve;
    return (uint32_t)(left < 1 ? 1 : left > HTTP_CONNECTIONS_MAX ? HTTP_CONNECTIONS_MAX : left);
}

uint32_t http_connections_default(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return HTTP_CONNECTIONS_MAX;
    return http_connections_for(files.rlim_cur);
}

/* --- log --------------------------------------------------------------------------------------*/

static bool listener_notice_is_due(uint64_t count, struct http_notice *last, uint64_t now_ms)
{
    if (count == last->count || (last->at_ms && now_ms - last->at_ms < NOTICE_MS))
        return false;
    last->at_ms = now_ms;
    return true;
}

/* At most one line per minute for each of: evicted, refused, accept() failed. */
void listener_notice(struct http_server *s, uint64_t now_ms)
{
    const struct http_stats *stats = &s->stats;
    if (listener_notice_is_due(stats->evicted, &s->evicted_logged, now_ms)) {
        log_with(LOG_NOTICE,
                 LOG_FIELDS(LOG_I64("closed", (int64_t)(stats->evicted - s->evicted_logged.count)),
                            LOG_I64("limit", s->connections_max)),
                 "connection limit reached: the oldest connections without a complete request were "
                 "closed for new ones");
        s->evicted_logged.count = stats->evicted;
    }
    if (listener_notice_is_due(stats->refused, &s->refused_logged, now_ms)) {
        log_with(LOG_NOTICE,
                 LOG_FIELDS(LOG_I64("refused", (int64_t)(stats->refused - s->refused_logged.count)),
                            LOG_I64("limit", s->connections_max)),
                 "connection limit reached and every connection is being answered: new ones were "
                 "closed at once");
        s->refused_logged.count = stats->refused;
    }
    if (listener_notice_is_due(stats->accept_failures, &s->failed_logged, now_ms)) {
        log_with(LOG_WARNING, LOG_FIELDS(LOG_Z("error", strerror(s->accept_error))),
                 "accept() failed; new connections wait until it succeeds");
        s->failed_logged.count = stats->accept_failures;
    }
}
