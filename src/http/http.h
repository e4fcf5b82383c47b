/* http.h - an HTTP server inside somebody else's event loop.
 *
 * It listens, reads whole requests within bounds, and hands each to one handler; the answer may
 * come at once or later, from the same thread. It knows nothing of what is served. Built on
 * libmicrohttpd without a thread of its own, its epoll descriptor watched by libuv.
 *
 * A request and everything it points to lives until its answer was given. Each request gets
 * exactly one answer; a connection whose client went away swallows it. A client that closes its
 * sending side before it has its answer counts as gone.
 *
 * A request whose head can be read in two ways (names that are no tokens, lines that do not end
 * with CR LF, folded lines, control characters, two lengths, two hosts, any encoding but chunked)
 * is answered 400 and its connection closed. So is the connection behind a body in chunks, whose
 * lines we do not see. Whoever is refused before its body was read is still
 * listened to for a few seconds, so that it hears why.
 *
 * Instead of an answer a request may get a stream: a head at once, and the body in pieces. It and
 * its request live until whoever began it ends it, even if the client left long before.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"

struct http_server;
struct http_stream;

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE, HTTP_OTHER };

#define HTTP_SEGMENTS_MAX 16u

struct http_pair {
    struct str name;
    struct str value;
    struct http_pair *next;
};

struct http_request {
    struct arena arena; /* for whoever answers; freed with the request */
    enum http_method method;
    struct str path; /* as sent, percent-decoded, without the query; clean UTF-8: for logs */
    /* What stands between the slashes that were sent as such, each decoded by itself: one may hold
     * a slash that was sent as %2F. A slash at the end begins none, so "/" has none; "/a//b" has an
     * empty one in the middle. A path with more of them is answered 404. */
    struct str segments[HTTP_SEGMENTS_MAX];
    uint32_t segment_count;
    struct http_pair *query; /* decoded, in order */
    struct str body;
    struct str target; /* as sent, query included                                 */
    /* Of the client: the peer, or whom a trusted proxy asks for. Of a client that it does not
     * know, the address is the proxy's, and it is not on this machine. */
    uint8_t address[16]; /* IPv4 mapped, of IPv6 the network (a /64): for counting  */
    uint8_t client[16];  /* the same whole: for the audit and the log               */
    bool is_loopback;    /* on this machine                                         */
    bool is_secure;      /* came over TLS                                           */
    bool is_secret;      /* for the handler to say: its memory is wiped in the end  */
    void *context;       /* for the handler's own use; NULL at first                */
};

struct http_header {
    const char *name;
    struct str value;
};

struct http_answer {
    int status;
    const char *content_type; /* NULL: none */
    struct str body;          /* copied if need be: may die after the call */
    const struct http_header *headers;
    uint32_t header_count;
};

/* All in the loop's thread. */
struct http_handler {
    void *self;
    /* Answer now or keep the pointer and answer later. */
    void (*serve)(void *self, struct http_request *request);
    /* May be NULL. Asked once about each request, when its head is here and nothing of its body was
     * read or given memory; everything but `body` can be looked at, http_header() included. 0: go
     * on, serve() is next. Else the status of `out_answer` (zeroed before), which is given right
     * away; its texts may lie in the request's arena. The connection is closed if there would have
     * been a body. The request must not be kept: it may end without ever being served. */
    int (*admit)(void *self, struct http_request *request, struct http_answer *out_answer);
    /* May be NULL. The client of a request that serve() kept is gone, noticed a second or two
     * later. Called once at most; nobody will read the answer, but it is still owed, and the
     * connection stays taken until then. It may be given here.
     * Or nobody reads the request's stream any more: its client is gone, or was cut because it did
     * not read, or wanted no body from the beginning (HEAD). The stream may be ended here; whoever
     * does it later can do nothing else with it. Nothing is called after that. */
    void (*gone)(void *self, struct http_request *request);
    /* May be NULL. What http_stream_await() promised. */
    void (*drained)(void *self, struct http_request *request);
    /* May be NULL. http_quiesce() was called, and the request has a stream. Called once for each,
     * also for those that begin later. A stream without a natural end is ended here, or soon:
     * http_pending() counts it until then. One that has an end may be written to it. */
    void (*stopping)(void *self, struct http_request *request);
};

struct http_options {
    const char *address;  /* "127.0.0.1", "::1", ... */
    uint16_t port;        /* 0: any; ask http_port() */
    const char *tls_cert; /* PEM files; both or none */
    const char *tls_key;
    uint32_t body_max;        /* bytes; 0: 4 MiB. More is answered 413                  */
    uint32_t body_total_max;  /* bytes of all bodies held at once; 0: 64 MiB. Whoever would need
                               * more is answered 503 with Retry-After, and closed     */
    uint32_t connections_max; /* 0: http_connections_default(). For one more the oldest connection
                               * without a complete request is closed, be it in its TLS handshake,
                               * half read, or idle; if there is none, the new one     */
    uint32_t per_address_max; /* connections from one address (of IPv6: one /64), loopback excepted;
                               * for one more the oldest of that address is closed, as above.
                               * 0: all but 16, or half if there are fewer than 32     */
    uint32_t idle_s;          /* 0: 30. A client slower than that is cut                */
    uint32_t stream_max;      /* bytes that may wait in one stream; 0: 4 MiB            */
    uint32_t stream_total_max; /* and in all of them; 0: 64 MiB                         */
    uint32_t held_total_max;   /* bytes that all requests hold for their answers
                                * (http_hold()); 0: 256 MiB                             */
    /* Peers that are believed when they say for which client they ask, in Forwarded,
     * X-Forwarded-For and X-Forwarded-Proto; addresses as IPv6, IPv4 mapped. */
    const uint8_t (*proxies)[16];
    uint32_t proxy_count;
};

#define HTTP_CONNECTIONS_MAX      1000u
#define HTTP_DESCRIPTORS_RESERVED 256u

/* How many connections a process that may have so many descriptors can serve: the rest is left to
 * the store, to runs and to probes. That is HTTP_DESCRIPTORS_RESERVED or, where they are few, half
 * of them. From 1 to HTTP_CONNECTIONS_MAX. */
uint32_t http_connections_for(uint64_t descriptors);
/* For this process, by its RLIMIT_NOFILE. */
uint32_t http_connections_default(void);

/* NULL on failure, with a sentence in `why`. */
struct http_server *http_open(uv_loop_t *loop, const struct http_options *options,
                              struct http_handler handler, char *why, size_t why_size);
uint16_t http_port(const struct http_server *s);
/* Connections. The counters only grow. */
struct http_stats {
    uint32_t connections;     /* now                                                    */
    uint32_t connections_max; /* at once                                                */
    uint64_t evicted;         /* closed without a complete request, for a new one       */
    uint64_t refused;         /* closed at once, because all others had one             */
    uint64_t accept_failures; /* errors of accept(), such as EMFILE; it is called again */
};
struct http_stats http_stats(const struct http_server *s); /* of NULL all zero */
/* Of a server with TLS: read the files again. Whoever connects from now on gets what they say.
 * False: they are of no use, with a sentence in `why`, and everything stays as it was. */
NODISCARD bool http_reload_tls(struct http_server *s, char *why, size_t why_size);
/* Stop accepting; what is being answered may finish. */
void http_quiesce(struct http_server *s);
/* Requests whose request line is here and whose answer is not yet out: half read, with the
 * handler, or being sent. To stop well: http_quiesce(), let the loop run until this is 0 or
 * patience ends (a slow client can make it last), http_close(). */
uint32_t http_pending(const struct http_server *s);
/* Close everything. Requests still with the handler are answered 503 first, and answers not yet out
 * get one last second; whatever is left then is cut. Streams get that second for what waits in
 * them, and no end, so that their clients know. The handler hears nothing of it: neither requests
 * nor streams may be touched afterwards. The loop must run once more before it is closed (uv_close
 * callbacks). */
void http_close(struct http_server *s);

/* The value of a header, ignoring case; empty when absent. */
struct str http_header(const struct http_request *request, const char *name);
/* The first query parameter of that name; false when absent. */
bool http_query(const struct http_request *request, struct str name, struct str *out_value);

void http_answer(struct http_request *request, const struct http_answer *answer);

/* --- the memory of answers --------------------------------------------------------------------*/

/* As much is held for one answer whatever all others hold. */
#define HTTP_HELD_LOW ((size_t)64 << 10)

/* Clients that do not read keep the memory of their answers taken, so it is counted over all
 * connections until each answer is out. The first counts `bytes` for this request, instead of what
 * was counted for it before; an answer that is given counts the request's arena and its copied body
 * at least. The second: may that many be counted without exceeding the bound? The third: what is
 * counted for all requests, and what waits in all streams. */
void http_hold(struct http_request *request, size_t bytes);
bool http_may_hold(const struct http_request *request, size_t bytes);
size_t http_held(const struct http_request *request);

/* --- streams ----------------------------------------------------------------------------------*/

/* Below that many waiting bytes a stream counts as drained. */
#define HTTP_STREAM_LOW ((size_t)64 << 10)

/* Instead of http_answer(): the head goes out at once, without a length, and its body, if there is
 * one, is the first piece. NULL: the client is gone already or there is no memory; the request is
 * over, as if it were answered. A stream may be silent for as long as it likes. A client that does
 * not take what waits for it is cut as a slow one is. Over HTTP/1.0 the end of the stream is the
 * end of the connection, and so is the end of the head where no body may follow. */
struct http_stream *http_stream_begin(struct http_request *request, const struct http_answer *head);
/* A copy of `piece` is sent as soon as the client can take it. ERR_LIMIT: too much would wait, in
 * this stream or in all of them, and nothing was taken; ERR_UNAVAILABLE: nobody reads any more.
 * Where nothing waits HTTP_STREAM_LOW bytes are taken, however much waits in others. */
NODISCARD err http_stream_put(struct http_stream *s, struct str piece);
/* Bytes that libmicrohttpd has not yet taken from us; 0 when nobody reads any more. */
size_t http_stream_waiting(const struct http_stream *s);
/* Have handler.drained() called when fewer than HTTP_STREAM_LOW bytes wait: once, never from here,
 * and soon if it is so already. Not called for a stream whose client is gone. */
void http_stream_await(struct http_stream *s);
/* No more pieces. What waits still goes out. The stream and its request are not to be touched any
 * more. */
void http_stream_end(struct http_stream *s);
/* The same, but without a last chunk: the client learns that something is missing. */
void http_stream_break(struct http_stream *s);
