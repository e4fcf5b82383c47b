#define _GNU_SOURCE /* POLLRDHUP */
/* connections.c - the slots of connections: limits, eviction, lingering close, and the sweep for
 * slow and disconnected clients.
 *
 * It owns the array of slots (struct client), their free list and the connections that linger, but
 * no connection that libmicrohttpd still has: such a one is only shut down, and libmicrohttpd then
 * closes it. So an evicted connection keeps its slot until the next MHD_run, which is why there are
 * HTTP_SPARE_SLOTS more slots than connections.
 *
 * A slot is taken in the callback of libmicrohttpd for a new connection and given back when that
 * connection ends, or later if it lingers. Lingering is needed because close() on a socket with
 * unread bytes sends RST, which discards an answer that the client has not read yet: the descriptor
 * is duplicated, our side is shut down, and incoming bytes are dropped within limits.
 *
 * libmicrohttpd does not poll suspended connections and misses a FIN that arrives together with
 * data, so clients_sweep() checks every connection once a second.
 *
 * Failure: without a free slot a new connection is shut down before a request can begin. If a
 * connection cannot linger (no memory or descriptor), it is closed at once and the client may lose
 * the answer. A slow or disconnected client is shut down; the handler is notified through gone().
 */
#include "http/http_private.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "http/address.h"

enum {
    LINGER_READ = 16 << 10, /* bytes of one recv() */
    LINGER_READS_MAX = 16,  /* calls of recv() per event, so that other connections are served */
    UNREAD_MS = 5000        /* a client that has not read for so long can be evicted */
};

/* A connection that libmicrohttpd has released and that is still open. */
struct lingering {
    uv_poll_t poll;
    struct http_server *server;
    struct client *client;
    uint64_t left; /* bytes that are still read and dropped */
};

static uint64_t connections_now_ms(void)
{
    return uv_hrtime() / 1000000;
}

/* --- slots ------------------------------------------------------------------------------------*/

bool clients_init(struct http_server *s)
{
    s->slot_count = s->connections_max + HTTP_SPARE_SLOTS;
    s->clients = calloc(s->slot_count, sizeof *s->clients);
    if (!s->clients)
        return false;
    for (uint32_t i = s->slot_count; i-- > 0;) {
        s->clients[i] = (struct client){.fd = -1, .next_free = s->free_clients};
        s->free_clients = &s->clients[i];
    }
    return true;
}

static bool clients_is_proxy(const struct http_server *s, const struct in6_addr *address)
{
    for (uint32_t i = 0; i < s->proxy_count; i++)
        if (IN6_ARE_ADDR_EQUAL(&s->proxies[i], address))
            return true;
    return false;
}

struct client *client_acquire(struct http_server *s, int fd, const struct sockaddr *address)
{
    struct client *c = s->free_clients;
    if (!c || fd < 0)
        return NULL;
    s->free_clients = c->next_free;
    *c = (struct client){
        .server = s, .fd = fd, .since_ms = connections_now_ms(), .serial = ++s->serial};
    s->client_count++;
    c->peer = address_of_socket(address);
    c->address = address_network(c->peer);
    c->is_loopback = address_is_loopback(&c->peer);
    c->is_proxy = clients_is_proxy(s, &c->peer);
    return c;
}

void client_release(struct http_server *s, struct client *c)
{
    must(c->fd >= 0 && !c->exchange && !c->linger);
    if (!c->is_evicted)
        s->client_count--;
    *c = (struct client){.fd = -1, .next_free = s->free_clients};
    s->free_clients = c;
}

void client_progress(struct client *c)
{
    c->since_ms = connections_now_ms();
    c->body_bytes = 0;
}

/* --- lingering --------------------------------------------------------------------------------*/

static void linger_on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void linger_end(struct lingering *l)
{
    struct client *c = l->client;
    uv_close((uv_handle_t *)&l->poll, linger_on_closed);
    ignore(close(c->fd), "nothing is written to it any more");
    c->linger = NULL;
    client_release(l->server, c);
}

static void linger_on_readable(uv_poll_t *poll, int status, int events)
{
    (void)status; /* recv() reports the same error */
    (void)events;
    struct lingering *l = poll->data;
    char dropped[LINGER_READ];
    for (int i = 0; i < LINGER_READS_MAX; i++) {
        const ssize_t got = recv(l->client->fd, dropped, sizeof dropped, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0 || (uint64_t)got >= l->left) {
            linger_end(l);
            return;
        }
        l->left -= (uint64_t)got;
    }
}

/* Keep the connection open on a duplicated descriptor. The client may still be sending, and bytes
 * that arrive at a closed socket make the kernel send RST, which discards the answer. */
static bool linger_begin(struct http_server *s, struct client *c)
{
    struct lingering *l = calloc(1, sizeof *l);
    const int fd = l ? fcntl(c->fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (fd < 0 || uv_poll_init(s->poll.loop, &l->poll, fd) != 0) {
        if (fd >= 0)
            ignore(close(fd), "libmicrohttpd closes the connection");
        free(l);
        return false;
    }
    l->poll.data = l;
    if (uv_poll_start(&l->poll, UV_READABLE, linger_on_readable) != 0) {
        uv_close((uv_handle_t *)&l->poll, linger_on_closed);
        ignore(close(fd), "libmicrohttpd closes the connection");
        return false;
    }
    ignore(shutdown(fd, SHUT_WR), "the client may have disconnected already");
    const uint64_t bodies = 2 * (uint64_t)s->body_max;
    l->left = bodies > HTTP_LINGER_BYTES ? bodies : HTTP_LINGER_BYTES;
    l->server = s;
    l->client = c;
    c->fd = fd;
    c->linger = l;
    client_progress(c);
    return true;
}

void clients_fini(struct http_server *s)
{
    for (uint32_t i = 0; s->clients && i < s->slot_count; i++) {
        if (s->clients[i].exchange)
            exchange_detach(s->clients[i].exchange);
        if (s->clients[i].linger)
            linger_end(s->clients[i].linger);
    }
    free(s->clients);
    s->clients = NULL;
}

/* --- eviction ---------------------------------------------------------------------------------*/

/* A connection without a complete request, or one that lingers: it has been answered already. */
static bool client_can_be_evicted(const struct client *c)
{
    return c->fd >= 0 && !c->is_evicted && (c->linger || !c->request_is_complete);
}

static bool client_is_older(const struct client *a, const struct client *b)
{
    return a->since_ms < b->since_ms || (a->since_ms == b->since_ms && a->serial < b->serial);
}

/* Its request is answered, but the client does not read. Without this rule a client without
 * credentials could occupy connections by never reading its answers. */
static bool client_leaves_unread(const struct client *c)
{
    const struct exchange *x = c->exchange;
    return c->fd >= 0 && !c->is_evicted && c->request_is_complete && x &&
           (x->state == EXCHANGE_ANSWERED || (x->stream.is_begun && !x->stream.is_paused)) &&
           connections_now_ms() - c->since_ms > UNREAD_MS;
}

static struct client *clients_find_oldest(const struct http_server *s, const struct in6_addr *only,
                                          bool (*is_one)(const struct client *c))
{
    struct client *oldest = NULL;
    for (uint32_t i = 0; i < s->slot_count; i++) {
        struct client *c = &s->clients[i];
        if (is_one(c) && (!only || IN6_ARE_ADDR_EQUAL(&c->address, only)) &&
            (!oldest || client_is_older(c, oldest)))
            oldest = c;
    }
    return oldest;
}

bool clients_evict(struct http_server *s, const struct in6_addr *only)
{
    struct client *oldest = clients_find_oldest(s, only, client_can_be_evicted);
    if (!oldest)
        oldest = clients_find_oldest(s, only, client_leaves_unread);
    if (!oldest)
        return false;
    s->stats.evicted++;
    if (oldest->linger) {
        linger_end(oldest->linger);
        return true;
    }
    /* libmicrohttpd releases it in the next MHD_run; it does not count from now on. */
    ignore(shutdown(oldest->fd, SHUT_RDWR), "the peer may have closed it already");
    oldest->is_evicted = true;
    s->client_count--;
    return true;
}

/* Counted here and not by libmicrohttpd, because trusted proxies are exempt from the limit per
 * address. */
bool clients_make_slot(struct http_server *s, const struct sockaddr *address)
{
    const struct in6_addr peer = address_of_socket(address), a = address_network(peer);
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->slot_count; i++)
        count += s->clients[i].fd >= 0 && !s->clients[i].is_evicted &&
                 IN6_ARE_ADDR_EQUAL(&s->clients[i].address, &a);
    if (count >= s->per_address_max && !address_is_loopback(&peer) && !clients_is_proxy(s, &peer))
        return clients_evict(s, &a);
    return s->client_count < s->connections_max || clients_evict(s, NULL);
}

/* --- callbacks of libmicrohttpd ---------------------------------------------------------------*/

/* A connection has started or ended in libmicrohttpd: take a slot, or give it back. */
void clients_notify(void *server, struct MHD_Connection *connection, void **socket_context,
                    enum MHD_ConnectionNotificationCode what)
{
    struct http_server *s = server;
    s->was_called = true;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *socket =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        const union MHD_ConnectionInfo *peer =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        const int fd = socket ? socket->connect_fd : -1;
        *socket_context = client_acquire(s, fd, peer ? peer->client_addr : NULL);
        /* Without a slot no request can begin, so the connection is closed. */
        if (!*socket_context && fd >= 0)
            ignore(shutdown(fd, SHUT_RDWR), "the peer may have closed it already");
        return;
    }
    struct client *c = *socket_context;
    *socket_context = NULL;
    if (!c)
        return;
    if (c->exchange)
        exchange_detach(c->exchange);
    if (s->is_closing || c->is_evicted || !c->lingers || !linger_begin(s, c))
        client_release(s, c);
}

/* --- sweep ------------------------------------------------------------------------------------*/

enum peer_state { PEER_CONNECTED, PEER_HAS_SENT, PEER_HALF_CLOSED, PEER_DISCONNECTED };

/* The state of a connection that libmicrohttpd polls. It misses a FIN that arrives together with
 * bytes, so the socket is checked with MSG_PEEK. */
static enum peer_state peer_peek(const struct client *c)
{
    char byte;
    const ssize_t got = recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0)
        return PEER_HAS_SENT;
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return PEER_CONNECTED;
    return got == 0 ? PEER_HALF_CLOSED : PEER_DISCONNECTED;
}

/* The state of a suspended connection, whose request is complete: unread bytes (a TLS close alert,
 * or the next request) are ignored, only FIN and RST are checked. */
static enum peer_state peer_poll_end(const struct client *c)
{
    struct pollfd end = {.fd = c->fd, .events = POLLRDHUP};
    if (poll(&end, 1, 0) <= 0)
        return PEER_CONNECTED;
    return end.revents & (POLLERR | POLLHUP) ? PEER_DISCONNECTED : PEER_HALF_CLOSED;
}

/* libmicrohttpd reads as long as its buffer has space. If bytes are unread at two sweeps and no
 * byte of the body was delivered in between, its buffer is full: the line between two chunks is
 * longer than the buffer, and the request cannot make progress. */
static bool client_is_stuck(struct client *c, enum peer_state peer_state)
{
    const struct exchange *x = c->exchange;
    const bool is_unread = peer_state == PEER_HAS_SENT && x && x->state == EXCHANGE_READING;
    const bool was_unread = c->was_unread;
    const uint64_t body_seen_at_sweep = c->body_seen_at_sweep;
    c->was_unread = is_unread;
    c->body_seen_at_sweep = is_unread ? x->body_seen : 0;
    return is_unread && was_unread && body_seen_at_sweep == c->body_seen_at_sweep;
}

/* A half-closed client is accepted while an answer is being sent to it. While there is nothing to
 * send, a half-closed and a disconnected client cannot be distinguished, so it counts as
 * disconnected. A client that is stuck inside a chunked body also counts as disconnected. */
static bool client_has_left(struct client *c)
{
    const struct exchange *x = c->exchange;
    const bool is_kept = x && (x->state == EXCHANGE_SUSPENDED || x->stream.is_paused);
    const enum peer_state peer_state = is_kept ? peer_poll_end(c) : peer_peek(c);
    const bool is_reading =
        x && !is_kept && (x->state == EXCHANGE_ANSWERED || x->state == EXCHANGE_STREAMING);
    return peer_state == PEER_DISCONNECTED || (peer_state == PEER_HALF_CLOSED && !is_reading) ||
           client_is_stuck(c, peer_state);
}

/* The kernel's struct tcp_info (tcp(7)) has more members than that of the C library. */
struct acked_info {
    struct tcp_info info;
    uint64_t pacing_rate;
    uint64_t max_pacing_rate;
    uint64_t bytes_acked;
};
_Static_assert(offsetof(struct acked_info, bytes_acked) == 120, "as in <linux/tcp.h>");

/* A file is sent by the kernel without a callback of libmicrohttpd, so the bytes that the client
 * has acknowledged show whether it reads. Otherwise a long download would count as unread. Returns
 * true if there are more than at the last call. */
static bool client_note_file_progress(struct client *c)
{
    struct exchange *x = c->exchange;
    struct acked_info info = {0};
    socklen_t size = sizeof info;
    if (!x || !x->sends_file || getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
        info.bytes_acked == x->file_acked)
        return false;
    x->file_acked = info.bytes_acked;
    client_progress(c);
    return true;
}

bool clients_note_file_progress(struct http_server *s)
{
    bool has_progress = false;
    for (uint32_t i = 0; i < s->slot_count && s->sends_files; i++)
        if (s->clients[i].fd >= 0 && !s->clients[i].is_evicted)
            has_progress |= client_note_file_progress(&s->clients[i]);
    return has_progress;
}

/* Disconnect a client that is slow or has left. A suspended connection is not polled by
 * libmicrohttpd, so the handler is notified here; it must still answer the request. */
static void clients_sweep_one(struct http_server *s, struct client *c, uint64_t now)
{
    struct exchange *x = c->exchange;
    ignore(client_note_file_progress(c), "it is noted at the client");
    /* A client can only be slow if it has to act next: send its request, or read its stream. */
    const bool is_awaited =
        !c->request_is_complete || (x && x->stream.is_begun && !x->stream.is_paused);
    const uint64_t limit_ms = c->linger ? HTTP_LINGER_MS : (uint64_t)s->idle_s * 2000;
    const bool is_slow = is_awaited && now - c->since_ms > limit_ms;
    if (c->linger) {
        if (is_slow)
            linger_end(c->linger);
        return;
    }
    if (c->is_gone || (!is_slow && !client_has_left(c)))
        return;
    /* libmicrohttpd sees this and ends the connection, unless it is suspended. */
    ignore(shutdown(c->fd, SHUT_RDWR), "the peer may have closed it already");
    if (x && x->state == EXCHANGE_SUSPENDED) {
        c->is_gone = true;
        if (s->handler.gone)
            s->handler.gone(s->handler.self, &x->request);
    } else if (x && x->stream.is_begun) {
        stream_cut(x);
    }
}

void clients_sweep(struct http_server *s)
{
    const uint64_t now = connections_now_ms();
    for (uint32_t i = 0; i < s->slot_count; i++)
        if (s->clients[i].fd >= 0 && !s->clients[i].is_evicted)
            clients_sweep_one(s, &s->clients[i], now);
    listener_notice(s, now);
}
