/* http_private.h - shared by the files of this module.
 *
 * A server owns its clients (one slot for each connection, all allocated when it opens) and its
 * exchanges (one request and its answer, from the request line until the answer is sent or the
 * connection is closed). libmicrohttpd calls back only while MHD_run is on the stack.
 */
#pragma once

#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <netinet/in.h>

#include "http/http.h"

/* Bytes of libmicrohttpd's buffer for a connection: request line, headers and a window of the
 * body. */
#define HTTP_CONNECTION_MEMORY ((size_t)32 << 10)
/* A client that sends its request byte by byte is not idle, but occupies a slot all the same. Its
 * head, and each HTTP_PIECE bytes of its body, must arrive within twice the idle time. */
#define HTTP_PIECE ((uint32_t)64 << 10)

/* After a refusal before the end of the body, so much time and so many bytes are granted before the
 * connection is closed: closing a socket with unread bytes sends RST, which discards the answer. */
#define HTTP_LINGER_MS    ((uint64_t)5000)
#define HTTP_LINGER_BYTES ((uint64_t)1 << 20) /* or twice the largest body */
/* Interval of the check for slow and disconnected clients. */
#define HTTP_SWEEP_MS ((uint64_t)1000)
/* Slots above the limit, for connections that were closed to make space and that libmicrohttpd has
 * not released yet. */
#define HTTP_SPARE_SLOTS 16

/* Refusals that the server answers itself. */
enum refusal {
    REFUSE_NOT,
    REFUSE_TEXT,    /* 400 */
    REFUSE_DEPTH,   /* 404 */
    REFUSE_LARGE,   /* 413 */
    REFUSE_FULL,    /* 503 */
    REFUSE_CLOSING, /* 503 */
};

enum exchange_state {
    EXCHANGE_NEW,       /* the request line was received                              */
    EXCHANGE_READING,   /* and the headers; the body is being read                    */
    EXCHANGE_HANDED,    /* the handler is being called                                */
    EXCHANGE_SUSPENDED, /* it returned and will answer later                          */
    EXCHANGE_STREAMING, /* a stream is open, without a connection if the client left  */
    EXCHANGE_ANSWERED,  /* the answer is queued and sent as fast as the client reads  */
};

struct exchange;

struct client {
    struct client *next_free;
    struct http_server *server;
    int fd;                      /* -1: the slot is free */
    struct in6_addr peer;        /* full address */
    struct in6_addr address;     /* IPv6: only the /64 network, all of which one host may use */
    bool is_loopback;            /* the peer is on this host */
    bool is_proxy;               /* a trusted proxy, whose Forwarded headers are used */
    bool request_is_complete;    /* the server, not the client, has to act next */
    bool is_gone;                /* disconnected while suspended; the handler has been notified */
    bool is_evicted;             /* closed for a new connection; libmicrohttpd will release it */
    bool lingers;                /* it may still be sending when its connection is closed */
    bool was_unread;             /* at the last sweep bytes of its body were unread */
    uint64_t body_seen_at_sweep; /* bytes of the body received by then */
    uint32_t body_bytes;         /* bytes of the body since `since_ms` */
    uint64_t since_ms;           /* last progress, monotonic */
    uint64_t serial;             /* order of connecting */
    struct exchange *exchange;   /* NULL: between requests */
    struct lingering *linger;    /* libmicrohttpd has released it; `fd` is a duplicate of ours */
};

/* The unsent bytes are `len` bytes at `bytes + start`. */
struct http_stream {
    char *bytes;
    size_t start;
    size_t len;
    size_t cap;
    bool is_begun;
    bool is_paused;     /* nothing to send: the connection is suspended */
    bool is_cut;        /* it ends without a last chunk */
    bool wants_drained; /* handler.drained() was requested */
    bool was_notified;  /* handler.stopping() was called */
};

struct exchange {
    struct http_request request; /* first member, so that a pointer to it can be converted back */
    struct http_server *server;
    struct MHD_Connection *connection; /* NULL: closed before the request was answered */
    struct client *client;             /* NULL together with `connection` */
    enum exchange_state state;
    enum refusal refusal; /* to be sent when the request is complete */
    bool is_closing;      /* the connection is closed after the answer */
    bool is_being_served; /* handler.serve() is on the stack */
    bool is_over;         /* to be freed when the handler returns */
    struct str target;
    const char *target_sent; /* the target in libmicrohttpd's buffer */
    bool has_body;
    char *body; /* malloc: an arena would keep every smaller copy */
    uint32_t body_len;
    uint32_t body_cap;
    uint32_t body_announced; /* Content-Length; 0: chunked        */
    uint64_t body_seen;      /* bytes received, dropped ones included */
    struct http_stream stream;
    bool sends_file;     /* the answer is a file */
    uint64_t file_acked; /* bytes that the client had acknowledged at the last sweep */
    size_t held;         /* bytes that are counted for its answer */
    struct exchange *next;
    struct exchange **link; /* the pointer to this element in the list of pending or streams */
};

/* The state of a counter when it was last logged. */
struct http_notice {
    uint64_t count;
    uint64_t at_ms; /* 0: never */
};

struct http_server {
    struct http_handler handler;
    struct MHD_Daemon *daemon;
    int listen_fd;           /* -1: not listening                          */
    uv_poll_t accepting;     /* polls listen_fd                            */
    uv_timer_t accept_pause; /* ends a pause of accepting                  */
    int accept_error;        /* errno of the last failure counted in stats */
    struct http_stats stats;
    struct http_notice evicted_logged, refused_logged, failed_logged;
    uv_poll_t poll;          /* polls the epoll descriptor of libmicrohttpd             */
    uv_timer_t timer;        /* timeout of libmicrohttpd                                */
    uv_async_t wake;         /* calls MHD_run: answers were given, or the timer fired   */
    uv_timer_t sweep;        /* every HTTP_SWEEP_MS                                     */
    uv_handle_t *handles[6]; /* initialised handles, for closing */
    uint32_t open_handles;   /* count */
    int handle_error;        /* libuv error of the handle that failed */
    uint16_t port;
    bool is_secure;
    bool sends_files;
    char *interface; /* NULL: all */
    bool is_running; /* MHD_run is on the stack             */
    bool was_called; /* it has called one of our callbacks  */
    bool is_quiet;   /* http_quiesce() was called           */
    bool is_closing;
    uint32_t idle_runs; /* consecutive calls of MHD_run without a callback */
    uint32_t body_max;
    uint64_t body_total_max;
    uint64_t body_total; /* bytes of all bodies in memory */
    uint32_t connections_max;
    uint32_t per_address_max;
    uint32_t slot_count;   /* of `clients`: the limit and HTTP_SPARE_SLOTS */
    uint32_t client_count; /* slots in use, without those that were evicted */
    uint64_t serial;       /* of the newest client */
    uint32_t idle_s;
    size_t stream_max;
    size_t stream_total_max;
    size_t stream_total; /* unsent bytes of all streams */
    size_t held_total_max;
    size_t held_total;        /* bytes counted for the answers of all exchanges */
    struct in6_addr *proxies; /* trusted proxies; proxy_count elements */
    uint32_t proxy_count;
    struct client *clients;
    struct client *free_clients;
    struct exchange *pending; /* requests of the handler without an answer */
    struct exchange *streams; /* streams that their owners have not ended */
    uint32_t exchange_count;  /* exchanges with a connection */
    uint32_t answered_count;  /* of these: answered and not completely sent */
    struct tls_pair *tls;     /* the newest pair; NULL: no TLS */
    char *tls_cert;           /* paths of the files */
    char *tls_key;
};

/* exchange.c: callbacks of libmicrohttpd */
void *exchange_begin(void *server, const char *target, struct MHD_Connection *connection);
enum MHD_Result exchange_access(void *server, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_size, void **out_exchange);
void exchange_end(void *server, struct MHD_Connection *connection, void **exchange,
                  enum MHD_RequestTerminationCode why);
/* Answer with the status, code and message of a refusal. */
void exchange_refuse(struct exchange *x, enum refusal why);
/* Insert into a list of the server, and remove from it. */
void exchange_list_add(struct exchange *x, struct exchange **list);
void exchange_list_remove(struct exchange *x);
/* Add the headers of an answer. */
void exchange_head(struct exchange *x, struct MHD_Response *response, const struct http_answer *a);
/* Queue a response, whose ownership it takes. False (also for NULL): the connection will be closed
 * instead. */
bool exchange_queue(struct exchange *x, int status, struct MHD_Response *response);
void exchange_answered(struct exchange *x);
void exchange_free(struct exchange *x);
/* The connection was closed, or has begun another request. */
void exchange_detach(struct exchange *x);

/* http_stream.c */
/* The connection was closed before the owner ended the stream: notify the owner. */
void stream_detach(struct exchange *x);
void stream_free(struct exchange *x);
/* The client does not read or has disconnected: drop unsent bytes and end the connection. */
void stream_cut(struct exchange *x);
/* Call handler.stopping() for every stream. */
void streams_stop(struct http_server *s);
/* Cut all streams without callbacks. */
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

/* Buffer for the reason of a failure. */
struct http_why {
    char *text;
    size_t size;
};

/* Write the reason. Always returns false, so that a caller can return its result. */
__attribute__((format(printf, 2, 3))) bool http_fail(const struct http_why *why, const char *format,
                                                     ...);

/* connections.c: callbacks of libmicrohttpd, and the sweep */
void clients_notify(void *server, struct MHD_Connection *connection, void **socket_context,
                    enum MHD_ConnectionNotificationCode what);
bool clients_init(struct http_server *s);
void clients_fini(struct http_server *s);
void clients_sweep(struct http_server *s);
/* True if clients have acknowledged bytes of files since the last call, or since the last sweep. */
bool clients_note_file_progress(struct http_server *s);
/* Record progress of the client: a request, an answer, or HTTP_PIECE bytes of a body. */
void client_progress(struct client *c);

/* Make a slot available for a connection from this address, if necessary by closing another one.
 * False: there is none that may be closed (clients_evict). */
bool clients_make_slot(struct http_server *s, const struct sockaddr *address);
/* Close the connection that has been longest without a complete request, of those from the address
 * `only` or (NULL) of all; if there is none, the one whose client has not read its answer for
 * longest, at least UNREAD_MS. False: there is none of either kind. */
bool clients_evict(struct http_server *s, const struct in6_addr *only);
struct client *client_acquire(struct http_server *s, int fd, const struct sockaddr *address);
void client_release(struct http_server *s, struct client *c);

/* http_tls.c */
/* Read certificate and key. tls_fini() must be called in both cases. */
bool tls_init(struct http_server *s, const char *cert, const char *key, const struct http_why *why);
void tls_fini(struct http_server *s);
int tls_retrieve(gnutls_session_t session, const gnutls_datum_t *authorities, int authority_count,
                 const gnutls_pk_algorithm_t *kinds, int kind_count, gnutls_pcert_st **out_chain,
                 unsigned *out_chain_len, gnutls_privkey_t *out_key);

/* request_line.c: parse path, segments and query of `raw`. ERR_SYNTAX: malformed; ERR_LIMIT: too
 * many segments. */
NODISCARD err target_parse(struct http_request *request, struct str raw);

/* request_line.c: set address and scheme of the request from the headers of a trusted proxy. */
void forwarded_apply(struct exchange *x);

/* The framing of the body. */
struct framing {
    bool is_chunked;
    uint64_t length; /* bytes, if it is not chunked */
};

/* Verify that the head is unambiguous, and read the framing. `method` and `version` must point into
 * libmicrohttpd's buffer. */
bool head_read(struct MHD_Connection *connection, const char *method, const char *version,
               struct framing *out_framing);
