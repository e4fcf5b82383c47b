/* http_private.h - what the files of this room share.
 *
 * A server owns its clients (one slot for each connection, all of them allocated when it opens)
 * and its exchanges (one request and its answer, from the request line until the answer is out
 * or the connection is gone). libmicrohttpd calls in only while MHD_run is on the stack.
 */
#pragma once

#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <netinet/in.h>

#include "http/http.h"

/* What libmicrohttpd may keep of a connection: request line, headers, and a window of the body. */
#define HTTP_CONNECTION_MEMORY ((size_t)32 << 10)
/* A client that sends its request in crumbs is not idle, but is as much in the way. Its head, and
 * each such piece of its body, has to arrive within twice the idle time. */
#define HTTP_PIECE ((uint32_t)64 << 10)

/* Whoever is refused before its body was read gets that much more time and that many more bytes
 * before its connection is closed: closing on unread bytes takes the answer away from it. */
#define HTTP_LINGER_MS    ((uint64_t)5000)
#define HTTP_LINGER_BYTES ((uint64_t)1 << 20) /* or twice the largest body */
/* How often we look for clients that are slow or gone. */
#define HTTP_SWEEP_MS ((uint64_t)1000)
/* Slots above the limit, for connections that were closed to make space and that libmicrohttpd has
 * not released yet. */
#define HTTP_SPARE_SLOTS 16

/* What we answer ourselves. */
enum refusal {
    REFUSE_NOT,
    REFUSE_TEXT,    /* 400 */
    REFUSE_DEPTH,   /* 404 */
    REFUSE_LARGE,   /* 413 */
    REFUSE_FULL,    /* 503 */
    REFUSE_CLOSING, /* 503 */
};

enum exchange_state {
    EXCHANGE_NEW,       /* the request line is here           */
    EXCHANGE_READING,   /* the headers too                    */
    EXCHANGE_HANDED,    /* the handler is being called        */
    EXCHANGE_SUSPENDED, /* it returned and will answer later  */
    EXCHANGE_STREAMING, /* its owner has not said all; without a connection if the client left */
    EXCHANGE_ANSWERED,  /* queued; goes out as the client can */
};

struct exchange;

struct client {
    struct client *next_free;
    struct http_server *server;
    int fd;                    /* -1: the slot is free                                 */
    struct in6_addr peer;      /* whole                                                */
    struct in6_addr address;   /* of IPv6 only the network: whoever has one has them all */
    bool is_loopback;          /* on this machine                                      */
    bool is_proxy;             /* trusted to say for which client it asks              */
    bool is_waiting;           /* for us: its request is whole                         */
    bool is_gone;              /* and was told so                                      */
    bool is_evicted;           /* closed to make space; libmicrohttpd will release it  */
    bool lingers;              /* it may still be sending when its connection closes   */
    bool was_unread;           /* in the middle of its body, at the last sweep         */
    uint64_t seen;             /* of the body by then                                  */
    uint32_t piece;            /* bytes of the body since `since_ms`                   */
    uint64_t since_ms;         /* when it last got something done                      */
    uint64_t serial;           /* in the order of their connecting                     */
    struct exchange *exchange; /* NULL: between requests                               */
    struct lingering *linger;  /* libmicrohttpd is done with it; `fd` is ours          */
};

/* What waits is len bytes from `start` of the room. */
struct http_stream {
    char *bytes;
    size_t start;
    size_t len;
    size_t cap;
    bool is_begun;
    bool is_paused; /* all is said for now: libmicrohttpd does not look at it           */
    bool is_cut;    /* it ends without an end                                           */
    bool awaits;    /* its owner wants to know when it is drained                       */
    bool was_told;  /* that the server stops                                            */
};

struct exchange {
    struct http_request request; /* first, so that one is found from the other */
    struct http_server *server;
    struct MHD_Connection *connection; /* NULL: it ended before the answer was given */
    struct client *client;             /* NULL with it */
    enum exchange_state state;
    enum refusal refusal; /* once the request is whole */
    bool is_closing;      /* nothing more on this connection */
    bool is_being_served; /* the handler is on the stack with it */
    bool is_over;         /* to be freed when the handler returns */
    struct str target;
    const char *target_sent; /* where libmicrohttpd keeps it */
    bool has_body;
    char *body; /* not in the arena, which would keep every smaller copy */
    uint32_t body_len;
    uint32_t body_cap;
    uint32_t body_announced; /* 0: in chunks             */
    uint64_t body_seen;      /* what was dropped included */
    struct http_stream stream;
    size_t held; /* bytes that are counted for its answer */
    struct exchange *next;
    struct exchange **link; /* what points to us among the pending, or the streams */
};

/* The state of a counter when it was last logged. */
struct http_notice {
    uint64_t count;
    uint64_t at_ms; /* 0: never */
};

struct http_server {
    struct http_handler handler;
    struct MHD_Daemon *daemon;
    int listen_fd;           /* -1: none                                     */
    uv_poll_t accepting;     /* connections wait to be accepted              */
    uv_timer_t accept_pause; /* when it fires accepting goes on              */
    int accept_error;        /* the last one that is in stats                */
    struct http_stats stats;
    struct http_notice evicted_said, refused_said, failed_said;
    uv_poll_t poll;          /* something happened on a connection                      */
    uv_timer_t timer;        /* one of them may have been idle too long                 */
    uv_async_t wake;         /* answers were given, or a timeout is over                */
    uv_timer_t sweep;        /* for slow clients                                        */
    uv_handle_t *handles[6]; /* those that were made */
    uint32_t open_handles;
    int handle_error; /* of the one that could not be made */
    uint16_t port;
    bool is_secure;
    bool is_running; /* MHD_run is on the stack */
    bool was_called; /* by it                   */
    bool is_quiet;   /* no new connections      */
    bool is_closing;
    uint32_t vain_runs; /* in a row, where libmicrohttpd wanted to run and had nothing for us */
    uint32_t body_max;
    uint64_t body_total_max;
    uint64_t body_total; /* bytes of all bodies that we hold */
    uint32_t connections_max;
    uint32_t per_address_max;
    uint32_t slot_count;   /* of `clients`: the limit and HTTP_SPARE_SLOTS */
    uint32_t client_count; /* slots in use, without those that were evicted */
    uint64_t serial;       /* of the newest client */
    uint32_t idle_s;
    size_t stream_max;
    size_t stream_total_max;
    size_t stream_total; /* bytes that wait in all streams */
    size_t held_total_max;
    size_t held_total;        /* bytes counted for the answers of all exchanges */
    struct in6_addr *proxies; /* that are trusted; as many as proxy_count */
    uint32_t proxy_count;
    struct client *clients;
    struct client *free_clients;
    struct exchange *pending; /* with the handler */
    struct exchange *streams; /* that their owners have not ended */
    uint32_t exchange_count;  /* that have a connection */
    uint32_t answered_count;  /* of these: answered, and not yet out */
    struct tls_pair *tls;     /* the newest; NULL: none */
    char *tls_cert;           /* where it was read from */
    char *tls_key;
};

/* exchange.c: callbacks of libmicrohttpd */
void *exchange_begin(void *server, const char *target, struct MHD_Connection *connection);
enum MHD_Result exchange_access(void *server, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_size, void **out_exchange);
void exchange_end(void *server, struct MHD_Connection *connection, void **exchange,
                  enum MHD_RequestTerminationCode why);
/* Answers with a status, a code and a sentence of our own. */
void exchange_refuse(struct exchange *x, enum refusal why);
/* Into one of the server's lists, and out of it again. */
void exchange_list(struct exchange *x, struct exchange **list);
void exchange_unlist(struct exchange *x);
/* What an answer says besides its body. */
void exchange_head(struct exchange *x, struct MHD_Response *response, const struct http_answer *a);
/* Takes the response over; NULL is none. False: the connection is going to be closed instead. */
bool exchange_queue(struct exchange *x, int status, struct MHD_Response *response);
void exchange_answered(struct exchange *x);
void exchange_free(struct exchange *x);
/* The connection is over, or busy with another request. */
void exchange_detach(struct exchange *x);

/* http_stream.c */
/* The connection is over, and the owner does not know. */
void stream_orphan(struct exchange *x);
void stream_free(struct exchange *x);
/* Its client does not read, or is gone. */
void stream_cut(struct exchange *x);
/* Every owner hears that the server stops. */
void streams_stop(struct http_server *s);
/* No owner is asked or told anything any more. */
void streams_close(struct http_server *s);

/* http.c: have MHD_run called soon, or call it now; not from within it */
void http_wake(struct http_server *s);
void http_run(struct http_server *s);

/* listener.c */
/* Binds and listens; false with errno. listener_close() is due either way. */
bool listener_open(struct http_server *s, const struct sockaddr *address, socklen_t size);
void listener_close(struct http_server *s);
void listener_ready(uv_poll_t *poll, int status, int events);
/* Logs what was closed or refused since the last time, at most once a minute each. */
void listener_notice(struct http_server *s, uint64_t now_ms);

/* Where to say what went wrong. */
struct http_why {
    char *text;
    size_t size;
};

/* Says it, and is false. */
__attribute__((format(printf, 2, 3))) bool http_fail(const struct http_why *why, const char *format,
                                                     ...);

/* connections.c: callbacks of libmicrohttpd, and the sweep */
void clients_notify(void *server, struct MHD_Connection *connection, void **socket_context,
                    enum MHD_ConnectionNotificationCode what);
bool clients_init(struct http_server *s);
void clients_fini(struct http_server *s);
void clients_sweep(struct http_server *s);
/* The client got something done: a request, an answer, a piece of its body. */
void client_progress(struct client *c);

/* Is there a slot for a connection from there, be it by closing another? False: every connection
 * that could be closed for it has a complete request. */
bool clients_make_space(struct http_server *s, const struct sockaddr *address);
/* Closes the connection that has been longest without a complete request, of those from one address
 * or (NULL) of all. False: there is none. */
bool clients_evict(struct http_server *s, const struct in6_addr *only);
struct client *client_take(struct http_server *s, int fd, const struct sockaddr *address);
void client_give_back(struct http_server *s, struct client *c);

/* http_tls.c */
/* The server has a certificate from now on. tls_fini is due either way. */
bool tls_init(struct http_server *s, const char *cert, const char *key, const struct http_why *why);
void tls_fini(struct http_server *s);
int tls_retrieve(gnutls_session_t session, const gnutls_datum_t *authorities, int authority_count,
                 const gnutls_pk_algorithm_t *kinds, int kind_count, gnutls_pcert_st **out_chain,
                 unsigned *out_chain_len, gnutls_privkey_t *out_key);

/* request_line.c: path, segments and query of `raw` into the request. ERR_SYNTAX: no text that we
 * accept;
 * ERR_LIMIT: too many segments. */
NODISCARD err target_parse(struct http_request *request, struct str raw);

/* request_line.c: what a trusted proxy says about the client, in the request. */
void forwarded_take(struct exchange *x);

/* Where the body ends, as the head says. */
struct framing {
    bool is_chunked;
    uint64_t length; /* otherwise */
};

/* False: the head can be read in more than one way. `method` and `version` are where libmicrohttpd
 * keeps them. */
bool head_read(struct MHD_Connection *connection, const char *method, const char *version,
               struct framing *out_framing);
