/* http_private.h - what the files of this room share.
 *
 * A server owns its clients (one slot for each connection, all of them allocated when it opens)
 * and its exchanges (one request and its answer, from the request line until the answer is out
 * or the connection is gone). libmicrohttpd calls in only while MHD_run is on the stack.
 */
#pragma once

#include <microhttpd.h>

#include "http/http.h"

/* What libmicrohttpd may keep of a connection: request line, headers, and a window of the body. */
#define HTTP_CONNECTION_MEMORY ((size_t)32 << 10)
/* A client that sends its request in crumbs is not idle, but is as much in the way. Its head, and
 * each such piece of its body, has to arrive within twice the idle time. */
#define HTTP_PIECE ((uint32_t)64 << 10)

enum exchange_state {
    EXCHANGE_NEW,       /* the request line is here           */
    EXCHANGE_READING,   /* the headers too                    */
    EXCHANGE_HANDED,    /* the handler is being called        */
    EXCHANGE_SUSPENDED, /* it returned and will answer later  */
    EXCHANGE_ANSWERED,  /* queued; goes out as the client can */
};

struct client {
    struct client *next_free;
    int fd;            /* -1: the slot is free                          */
    bool is_waiting;   /* for us: its request is whole                  */
    uint32_t piece;    /* bytes of the body since `since_ms`            */
    uint64_t since_ms; /* when it last got something done               */
};

struct exchange {
    struct http_request request; /* first, so that one is found from the other */
    struct http_server *server;
    struct MHD_Connection *connection;
    struct client *client;
    enum exchange_state state;
    int refusal; /* status that we answer ourselves once the request is whole; 0: none */
    struct str target;
    const char *target_sent; /* where libmicrohttpd keeps it */
    char *body;
    uint32_t body_len;
    uint32_t body_cap;
    uint64_t body_seen; /* what was dropped included */
    struct exchange *next;
    struct exchange **link; /* what points to us among the pending */
};

struct http_server {
    struct http_handler handler;
    struct MHD_Daemon *daemon;
    uv_poll_t poll;   /* something happened on a connection                      */
    uv_timer_t timer; /* one of them may have been idle too long                 */
    uv_async_t wake;  /* answers were given, or a timeout is over                */
    uv_timer_t sweep; /* for slow clients                                        */
    uint32_t open_handles;
    uint16_t port;
    bool is_secure;
    bool is_running; /* MHD_run is on the stack */
    bool is_quiet;   /* no new connections      */
    bool is_closing;
    uint32_t body_max;
    uint32_t connections_max;
    uint32_t idle_s;
    struct client *clients;
    struct client *free_clients;
    struct exchange *pending;
    uint32_t pending_count;
    uint32_t answered_count; /* and not yet out */
};

/* exchange.c: callbacks of libmicrohttpd */
void *exchange_begin(void *server, const char *target, struct MHD_Connection *connection);
enum MHD_Result exchange_access(void *server, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_size, void **out_exchange);
void exchange_end(void *server, struct MHD_Connection *connection, void **exchange,
                  enum MHD_RequestTerminationCode why);
/* Answers with a status, a code and a sentence of our own. */
void exchange_refuse(struct exchange *x, int status);

/* http.c: have MHD_run called soon */
void http_wake(struct http_server *s);

/* clients.c: callbacks of libmicrohttpd, and the sweep */
enum MHD_Result clients_accept(void *server, const struct sockaddr *address, socklen_t size);
void clients_notify(void *server, struct MHD_Connection *connection, void **socket_context,
                    enum MHD_ConnectionNotificationCode what);
bool clients_init(struct http_server *s);
void clients_fini(struct http_server *s);
void clients_sweep(struct http_server *s);
/* The client got something done: a request, an answer, a piece of its body. */
void client_progress(struct client *c);

/* target.c: path and query of `raw` into the request. False: no text that we accept. */
bool target_parse(struct http_request *request, struct str raw);
