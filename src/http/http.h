/* http.h - an HTTP/1.1 server inside the event loop of its caller.
 *
 * It accepts connections, reads whole requests within limits, and passes each to one handler; the
 * handler answers at once or later, from the same thread. It does not depend on what is served. It
 * is built on libmicrohttpd without threads, whose epoll descriptor is watched by libuv.
 *
 * A request and everything it points to is valid until it is answered. Each request gets exactly
 * one answer; the answer to a client that has disconnected is dropped. A client that closes its
 * sending side before it has the answer counts as disconnected.
 *
 * A request with an ambiguous head (header names that are no tokens, lines that do not end with CR
 * LF, folded lines, control characters, two lengths, two hosts, a transfer encoding other than
 * chunked) is answered 400 and its connection is closed, because a proxy may have parsed it
 * differently (request smuggling). A connection is also closed after a chunked body, because
 * libmicrohttpd does not show the lines between chunks. After a refusal the rest of the body is
 * read and dropped for a few seconds, so that the client receives the answer.
 *
 * Instead of an answer a request may get a stream: a head at once and the body in pieces. Stream
 * and request live until the owner ends the stream, even if the client has disconnected before.
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
    struct arena arena; /* for the handler; freed with the request */
    enum http_method method;
    struct str path; /* as sent, percent-decoded, without the query; clean UTF-8: for logs */
    /* The parts between the slashes of the undecoded path, each decoded separately: a segment may
     * contain a slash that was sent as %2F. A slash at the end does not begin a segment, so "/" has
     * none; "/a//b" has an empty one in the middle. A path with more segments is answered 404. */
    struct str segments[HTTP_SEGMENTS_MAX];
    uint32_t segment_count;
    struct http_pair *query; /* decoded, in order */
    struct str body;
    struct str target; /* as sent, query included */
    /* The address of the client: that of the peer, or the one that a trusted proxy reports. If the
     * proxy does not report one, it is that of the proxy and does not count as loopback. */
    uint8_t address[16]; /* IPv4 mapped; IPv6: the /64 network. For counting per address */
    uint8_t client[16];  /* the full address. For audit and log                          */
    bool is_loopback;    /* the client is on this host                                   */
    bool is_secure;      /* received over TLS                                            */
    bool is_secret;      /* set by the handler: its memory is wiped before it is freed   */
    void *context;       /* for the handler; initially NULL                              */
};

struct http_header {
    const char *name;
    struct str value;
};

struct http_answer {
    int status;
    const char *content_type; /* NULL: none */
    struct str body;          /* copied if it is not in the arena of the request */
    const struct http_header *headers;
    uint32_t header_count;
};

/* Callbacks, all called in the thread of the loop. */
struct http_handler {
    void *self;
    /* Answer the request now, or keep the pointer and answer later. */
    void (*serve)(void *self, struct http_request *request);
    /* May be NULL. Called once for each request, after its head and before any byte of its body is
     * read; all fields except `body` are valid, and http_header() works. 0: continue, serve() is
     * called later. Otherwise the status of `out_answer` (zeroed before the call), which is sent at
     * once; its strings may be in the arena of the request. The connection is closed if a body was
     * to follow. The pointer must not be kept: the request may end without serve(). */
    int (*admit)(void *self, struct http_request *request, struct http_answer *out_answer);
    /* May be NULL. Called at most once, a second or two after the client of a request that serve()
     * kept has disconnected. The request must still be answered, here or later, and its slot stays
     * occupied until then; the answer is dropped. Also called when a stream has no reader any more:
     * the client has disconnected, was cut because it did not read, or requested no body (HEAD).
     * The stream may be ended here or later; all other calls on it have no effect. No other
     * callback follows. */
    void (*gone)(void *self, struct http_request *request);
    /* May be NULL. The callback for http_stream_await(). */
    void (*drained)(void *self, struct http_request *request);
    /* May be NULL. http_quiesce() was called and the request has a stream. Called once for each
     * stream, also for those that begin later. An infinite stream must be ended here or soon
     * after: http_pending() counts it until then. A finite one may be written to its end. */
    void (*stopping)(void *self, struct http_request *request);
};

struct http_options {
    const char *address;   /* "127.0.0.1", "::1", ... */
    const char *interface; /* only connections through this network interface; NULL: all */
    bool sends_files;      /* http_answer_file() may be used; the caller must ignore SIGPIPE */
    uint16_t port;         /* 0: any free port; see http_port() */
    const char *tls_cert;  /* PEM files; both or none */
    const char *tls_key;
    uint32_t body_max;        /* bytes; 0: 4 MiB. A larger body is answered 413 */
    uint32_t body_total_max;  /* bytes of all bodies in memory; 0: 64 MiB. A request that exceeds it
                               * is answered 503 with Retry-After, and closed */
    uint32_t connections_max; /* 0: http_connections_default(). For one more, the oldest connection
                               * without a complete request is closed, in whichever state it is; if
                               * there is none, the new one is closed */
    uint32_t per_address_max; /* connections from one address (IPv6: one /64), except loopback; for
                               * one more, the oldest of that address is closed as above.
                               * 0: all but 16, or half if there are fewer than 32 */
    uint32_t idle_s;          /* seconds; 0: 30. Slower clients are disconnected */
    uint32_t stream_max;      /* unsent bytes of one stream; 0: 4 MiB */
    uint32_t stream_total_max; /* unsent bytes of all streams; 0: 64 MiB */
    uint32_t
        held_total_max; /* bytes that all requests hold for their answers (http_count_memory());
                                * 0: 256 MiB */
    /* Trusted reverse proxies: their headers Forwarded, X-Forwarded-For and X-Forwarded-Proto are
     * used. Addresses are IPv6 or IPv4 mapped. */
    const uint8_t (*proxies)[16];
    uint32_t proxy_count;
};

#define HTTP_CONNECTIONS_MAX      1000u
#define HTTP_DESCRIPTORS_RESERVED 256u

/* The connection limit of a process with that many descriptors: HTTP_DESCRIPTORS_RESERVED of them,
 * or half if there are few, are reserved for the store, runs and probes. The result is from 1 to
 * HTTP_CONNECTIONS_MAX. */
uint32_t http_connections_for(uint64_t descriptors);
/* The same for the RLIMIT_NOFILE of this process. */
uint32_t http_connections_default(void);

/* NULL on failure, with the reason in `why`. */
struct http_server *http_open(uv_loop_t *loop, const struct http_options *options,
                              struct http_handler handler, char *why, size_t why_size);
uint16_t http_port(const struct http_server *s);
/* Statistics of connections. The counters never decrease. */
struct http_stats {
    uint32_t connections;     /* open now                                         */
    uint32_t connections_max; /* limit                                            */
    uint64_t evicted;         /* closed without a complete request, for a new one */
    uint64_t refused;         /* closed because all others had a complete request */
    uint64_t accept_failures; /* errors of accept(), such as EMFILE               */
};
struct http_stats http_stats(const struct http_server *s); /* all zero for NULL */
/* Read certificate and key again, for new connections of a server with TLS. False, with the reason
 * in `why`: they cannot be used, and the previous pair stays in use. */
NODISCARD bool http_reload_tls(struct http_server *s, char *why, size_t why_size);
/* Stop accepting connections. Requests that have begun are still answered. */
void http_quiesce(struct http_server *s);
/* The number of requests whose request line was received and whose answer is not completely sent.
 * For an orderly stop call http_quiesce(), run the loop until this is 0 or a timeout expires (a
 * slow client can delay it), then http_close(). */
uint32_t http_pending(const struct http_server *s);
/* Close everything. Requests of the handler are answered 503, and unsent answers and stream data
 * get one more second; then connections are closed. Streams are cut without a last chunk, so that
 * their clients detect it. No callback is called: neither requests nor streams may be used
 * afterwards. The loop must run once more before it is closed (uv_close callbacks). */
void http_close(struct http_server *s);

/* The value of a header, ignoring case; empty when absent. */
struct str http_header(const struct http_request *request, const char *name);
/* The first query parameter of that name; false when absent. */
bool http_query(const struct http_request *request, struct str name, struct str *out_value);

void http_answer(struct http_request *request, const struct http_answer *answer);

/* A part of a regular file. */
struct http_file {
    int fd;
    uint64_t offset;
    uint64_t size; /* bytes; the file must have them when they are sent */
};

/* As http_answer(), but the body is the part of the file and that of `head` is ignored. Takes
 * ownership of the descriptor. The bytes are sent by sendfile(2), without a copy in this process.
 * A client that does not read for the idle time is disconnected. */
void http_answer_file(struct http_request *request, const struct http_answer *head,
                      struct http_file file);

/* --- memory of answers ------------------------------------------------------------------------*/

/* Bytes that each answer may use even if the limit of all answers is reached. */
#define HTTP_HELD_LOW ((size_t)64 << 10)

/* The memory of an answer is occupied until the client has read it, so it is counted over all
 * connections. http_count_memory() sets the count of this request to `bytes`; http_answer()
 * counts at least the arena and a copied body. http_memory_fits(): would that count stay within
 * the limit? http_memory_total(): bytes counted for all requests plus unsent bytes of all
 * streams. */
void http_count_memory(struct http_request *request, size_t bytes);
bool http_memory_fits(const struct http_request *request, size_t bytes);
size_t http_memory_total(const struct http_request *request);

/* --- streams ----------------------------------------------------------------------------------*/

/* A stream with fewer unsent bytes counts as drained. */
#define HTTP_STREAM_LOW ((size_t)64 << 10)

/* Instead of http_answer(): the head is sent at once, without a length, and its body, if any, is
 * the first piece. NULL: the client has disconnected or there is no memory; the request is
 * finished, as if it were answered. A stream may be idle for any time. A client that does not read
 * is disconnected like a slow one. With HTTP/1.0 the end of the stream is the end of the
 * connection, as is the end of a head without a body. */
struct http_stream *http_stream_begin(struct http_request *request, const struct http_answer *head);
/* Append a copy of `piece`. ERR_LIMIT: this stream or all streams would have too many unsent bytes,
 * and nothing was appended; ERR_UNAVAILABLE: the stream has no reader any more. A stream without
 * unsent bytes accepts HTTP_STREAM_LOW bytes, whatever the others have. */
NODISCARD err http_stream_put(struct http_stream *s, struct str piece);
/* Bytes that libmicrohttpd has not fetched yet; 0 if the stream has no reader any more. */
size_t http_stream_waiting(const struct http_stream *s);
/* Request one call of handler.drained() when the stream has fewer than HTTP_STREAM_LOW unsent
 * bytes. It is never called from here, and soon if that is the case already. It is not called for a
 * stream without a reader. */
void http_stream_await(struct http_stream *s);
/* End the stream after its unsent bytes. Stream and request must not be used any more. */
void http_stream_end(struct http_stream *s);
/* The same, but without a last chunk: the client detects that the body is incomplete. */
void http_stream_break(struct http_stream *s);
