#define _GNU_SOURCE /* POLLRDHUP */
/* connections.c - who is connected, from where, since when we wait for it, and whether it is still
 * there. */
#include "http/http_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "http/address.h"

enum {
    LINGER_READ = 16 << 10,
    LINGER_READS_MAX = 16,
    UNREAD_MS = 5000 /* an answer of which the client took nothing for so long makes space */
};

/* A connection that libmicrohttpd has closed, and we have not. */
struct lingering {
    uv_poll_t poll;
    struct http_server *server;
    struct client *client;
    uint64_t left; /* bytes that we still take */
};

static uint64_t now_ms(void)
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

static bool is_proxy(const struct http_server *s, const struct in6_addr *address)
{
    for (uint32_t i = 0; i < s->proxy_count; i++)
        if (IN6_ARE_ADDR_EQUAL(&s->proxies[i], address))
            return true;
    return false;
}

struct client *client_take(struct http_server *s, int fd, const struct sockaddr *address)
{
    struct client *c = s->free_clients;
    if (!c || fd < 0)
        return NULL;
    s->free_clients = c->next_free;
    *c = (struct client){.server = s, .fd = fd, .since_ms = now_ms(), .serial = ++s->serial};
    s->client_count++;
    c->peer = address_of_socket(address);
    c->address = address_network(c->peer);
    c->is_loopback = address_is_loopback(&c->peer);
    c->is_proxy = is_proxy(s, &c->peer);
    return c;
}

void client_give_back(struct http_server *s, struct client *c)
{
    must(c->fd >= 0 && !c->exchange && !c->linger);
    if (!c->is_evicted)
        s->client_count--;
    *c = (struct client){.fd = -1, .next_free = s->free_clients};
    s->free_clients = c;
}

void client_progress(struct client *c)
{
    c->since_ms = now_ms();
    c->piece = 0;
}

/* --- lingering --------------------------------------------------------------------------------*/

static void on_linger_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void linger_end(struct lingering *l)
{
    struct client *c = l->client;
    uv_close((uv_handle_t *)&l->poll, on_linger_closed);
    ignore(close(c->fd), "nothing is written to it any more");
    c->linger = NULL;
    client_give_back(l->server, c);
}

static void on_linger(uv_poll_t *poll, int status, int events)
{
    (void)status; /* recv says it again */
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

/* The client may still be sending, and bytes that arrive at a closed connection make the kernel
 * take back what we said. So the connection outlives libmicrohttpd's use of it: our side of it is
 * closed, and what the client says is dropped, within bounds. */
static bool linger_begin(struct http_server *s, struct client *c)
{
    struct lingering *l = calloc(1, sizeof *l);
    const int fd = l ? fcntl(c->fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (fd < 0 || uv_poll_init(s->poll.loop, &l->poll, fd) != 0) {
        if (fd >= 0)
            ignore(close(fd), "the connection goes with the other descriptor");
        free(l);
        return false;
    }
    l->poll.data = l;
    if (uv_poll_start(&l->poll, UV_READABLE, on_linger) != 0) {
        uv_close((uv_handle_t *)&l->poll, on_linger_closed);
        ignore(close(fd), "the connection goes with the other descriptor");
        return false;
    }
    ignore(shutdown(fd, SHUT_WR), "the client may be gone already");
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

/* --- making space -----------------------------------------------------------------------------*/

/* A connection that lingers was refused before its request was complete, and has its answer. */
static bool can_be_evicted(const struct client *c)
{
    return c->fd >= 0 && !c->is_evicted && (c->linger || !c->is_waiting);
}

static bool is_older(const struct client *a, const struct client *b)
{
    return a->since_ms < b->since_ms || (a->since_ms == b->since_ms && a->serial < b->serial);
}

/* Its request was complete and is answered, and it does not read. Requests in a row whose answers
 * are not read would hold a connection without credentials. */
static bool leaves_unread(const struct client *c)
{
    const struct exchange *x = c->exchange;
    return c->fd >= 0 && !c->is_evicted && c->is_waiting && x &&
           (x->state == EXCHANGE_ANSWERED || (x->stream.is_begun && !x->stream.is_paused)) &&
           now_ms() - c->since_ms > UNREAD_MS;
}

static struct client *find_oldest(const struct http_server *s, const struct in6_addr *only,
                                  bool (*is_one)(const struct client *c))
{
    struct client *oldest = NULL;
    for (uint32_t i = 0; i < s->slot_count; i++) {
        struct client *c = &s->clients[i];
        if (is_one(c) && (!only || IN6_ARE_ADDR_EQUAL(&c->address, only)) &&
            (!oldest || is_older(c, oldest)))
            oldest = c;
    }
    return oldest;
}

bool clients_evict(struct http_server *s, const struct in6_addr *only)
{
    struct client *oldest = find_oldest(s, only, can_be_evicted);
    if (!oldest)
        oldest = find_oldest(s, only, leaves_unread);
    if (!oldest)
        return false;
    s->stats.evicted++;
    if (oldest->linger) {
        linger_end(oldest->linger);
        return true;
    }
    /* libmicrohttpd releases it when it runs next. */
    ignore(shutdown(oldest->fd, SHUT_RDWR), "the peer may have closed it already");
    oldest->is_evicted = true;
    s->client_count--;
    return true;
}

/* Counted here and not by libmicrohttpd, because all clients of a proxy come from its address. */
bool clients_make_space(struct http_server *s, const struct sockaddr *address)
{
    const struct in6_addr peer = address_of_socket(address), a = address_network(peer);
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->slot_count; i++)
        count += s->clients[i].fd >= 0 && !s->clients[i].is_evicted &&
                 IN6_ARE_ADDR_EQUAL(&s->clients[i].address, &a);
    if (count >= s->per_address_max && !address_is_loopback(&peer) && !is_proxy(s, &peer))
        return clients_evict(s, &a);
    return s->client_count < s->connections_max || clients_evict(s, NULL);
}

/* --- callbacks of libmicrohttpd ---------------------------------------------------------------*/

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
        *socket_context = client_take(s, fd, peer ? peer->client_addr : NULL);
        /* Without a client no request of the connection begins. */
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
        client_give_back(s, c);
}

/* --- the sweep --------------------------------------------------------------------------------*/

enum presence { PRESENT, IS_UNREAD, HAS_SAID_ALL, IS_GONE };

/* libmicrohttpd misses the end of a connection that arrives together with bytes, and it does not
 * look at all at connections that are suspended. */
static enum presence look_at(const struct client *c)
{
    char byte;
    const ssize_t got = recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0)
        return IS_UNREAD;
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return PRESENT;
    return got == 0 ? HAS_SAID_ALL : IS_GONE;
}

/* For a request that is whole: what else the client said is not looked at, be it a farewell of TLS
 * or the next request, but that it will say no more is. */
static enum presence look_behind(const struct client *c)
{
    struct pollfd end = {.fd = c->fd, .events = POLLRDHUP};
    if (poll(&end, 1, 0) <= 0)
        return PRESENT;
    return end.revents & (POLLERR | POLLHUP) ? IS_GONE : HAS_SAID_ALL;
}

/* libmicrohttpd takes whatever it has room for, a piece at each turn at least. If bytes of a body
 * still lie there at the next sweep, and none of it came through in between, it has no room: the
 * line between two chunks is too long for it. */
static bool is_stuck(struct client *c, enum presence presence)
{
    const struct exchange *x = c->exchange;
    const bool is_unread = presence == IS_UNREAD && x && x->state == EXCHANGE_READING;
    const bool was_unread = c->was_unread;
    const uint64_t seen = c->seen;
    c->was_unread = is_unread;
    c->seen = is_unread ? x->body_seen : 0;
    return is_unread && was_unread && seen == c->seen;
}

/* Whoever reads a long answer may have closed its sending side: it needs it no more. If there is
 * nothing to read for now, that cannot be told from being gone. Or it is there, and of no use. */
static bool has_left(struct client *c)
{
    const struct exchange *x = c->exchange;
    const bool is_kept = x && (x->state == EXCHANGE_SUSPENDED || x->stream.is_paused);
    const enum presence presence = is_kept ? look_behind(c) : look_at(c);
    const bool is_reading =
        x && !is_kept && (x->state == EXCHANGE_ANSWERED || x->state == EXCHANGE_STREAMING);
    return presence == IS_GONE || (presence == HAS_SAID_ALL && !is_reading) ||
           is_stuck(c, presence);
}

/* Is it the client that we wait for? */
static bool owes_something(const struct client *c)
{
    const struct exchange *x = c->exchange;
    return !c->is_waiting || (x && x->stream.is_begun && !x->stream.is_paused);
}

static void sweep_client(struct http_server *s, struct client *c, uint64_t now)
{
    const uint64_t patience_ms = c->linger ? HTTP_LINGER_MS : (uint64_t)s->idle_s * 2000;
    const bool is_slow = owes_something(c) && now - c->since_ms > patience_ms;
    if (c->linger) {
        if (is_slow)
            linger_end(c->linger);
        return;
    }
    if (c->is_gone || (!is_slow && !has_left(c)))
        return;
    /* libmicrohttpd sees this and ends the connection, unless it is suspended. */
    ignore(shutdown(c->fd, SHUT_RDWR), "it may have gone by itself just now");
    if (c->exchange && c->exchange->state == EXCHANGE_SUSPENDED) {
        c->is_gone = true;
        if (s->handler.gone)
            s->handler.gone(s->handler.self, &c->exchange->request);
    } else if (c->exchange && c->exchange->stream.is_begun) {
        stream_cut(c->exchange);
    }
}

void clients_sweep(struct http_server *s)
{
    const uint64_t now = now_ms();
    for (uint32_t i = 0; i < s->slot_count; i++)
        if (s->clients[i].fd >= 0 && !s->clients[i].is_evicted)
            sweep_client(s, &s->clients[i], now);
    listener_notice(s, now);
}
