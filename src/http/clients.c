/* clients.c - who is connected, and since when we wait for it. */
#include "http/http_private.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "base/err.h"

static uint64_t now_ms(void)
{
    return uv_hrtime() / 1000000;
}

bool clients_init(struct http_server *s)
{
    s->clients = calloc(s->connections_max, sizeof *s->clients);
    if (!s->clients)
        return false;
    for (uint32_t i = s->connections_max; i-- > 0;) {
        s->clients[i] = (struct client){.fd = -1, .next_free = s->free_clients};
        s->free_clients = &s->clients[i];
    }
    return true;
}

void clients_fini(struct http_server *s)
{
    free(s->clients);
    s->clients = NULL;
}

/* libmicrohttpd's own limit lets further clients wait in the backlog, for as long as it takes;
 * closing at once tells them, so its limit is one above ours. */
enum MHD_Result clients_accept(void *server, const struct sockaddr *address, socklen_t size)
{
    (void)address;
    (void)size;
    const struct http_server *s = server;
    return s->free_clients ? MHD_YES : MHD_NO;
}

void clients_notify(void *server, struct MHD_Connection *connection, void **socket_context,
                    enum MHD_ConnectionNotificationCode what)
{
    struct http_server *s = server;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        struct client *c = s->free_clients;
        must(info && c);
        s->free_clients = c->next_free;
        *c = (struct client){.fd = info->connect_fd, .since_ms = now_ms()};
        *socket_context = c;
        return;
    }
    struct client *c = *socket_context;
    must(c && c->fd >= 0);
    *c = (struct client){.fd = -1, .next_free = s->free_clients};
    s->free_clients = c;
}

void client_progress(struct client *c)
{
    c->since_ms = now_ms();
    c->piece = 0;
}

void clients_sweep(struct http_server *s)
{
    const uint64_t patience_ms = (uint64_t)s->idle_s * 2000;
    const uint64_t now = now_ms();
    for (uint32_t i = 0; i < s->connections_max; i++) {
        const struct client *c = &s->clients[i];
        if (c->fd >= 0 && !c->is_waiting && now - c->since_ms > patience_ms)
            ignore(shutdown(c->fd, SHUT_RDWR), "it may have gone by itself just now");
    }
}
