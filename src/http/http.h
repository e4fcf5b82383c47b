/* http.h - an HTTP server inside somebody else's event loop.
 *
 * It listens, reads whole requests within bounds, and hands each to one handler; the answer may
 * come at once or later, from the same thread. It knows nothing of what is served. Built on
 * libmicrohttpd without a thread of its own, its epoll descriptor watched by libuv.
 *
 * A request and everything it points to lives until its answer was given. Each request gets
 * exactly one answer; a connection whose client went away swallows it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct http_server;

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE, HTTP_OTHER };

struct http_pair {
    struct str name;
    struct str value;
    struct http_pair *next;
};

struct http_request {
    struct arena arena; /* for whoever answers; freed with the request */
    enum http_method method;
    struct str path;         /* as sent, percent-decoded, without the query; clean UTF-8 */
    struct http_pair *query; /* decoded, in order */
    struct str body;
    bool is_loopback; /* the peer is on this machine                              */
    bool is_secure;   /* came over TLS                                            */
    void *context;    /* for the handler's own use; NULL at first                 */
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

struct http_handler {
    void *self;
    /* Answer now or keep the pointer and answer later. */
    void (*serve)(void *self, struct http_request *request);
};

struct http_options {
    const char *address;  /* "127.0.0.1", "::1", ... */
    uint16_t port;        /* 0: any; ask http_port() */
    const char *tls_cert; /* PEM files; both or none */
    const char *tls_key;
    uint32_t body_max;        /* bytes; 0: 4 MiB. More is answered 413                  */
    uint32_t connections_max; /* 0: 1000. More are closed at once                       */
    uint32_t idle_s;          /* 0: 30. A client slower than that is cut                */
};

/* NULL on failure, with a sentence in `why`. */
struct http_server *http_open(uv_loop_t *loop, const struct http_options *options,
                              struct http_handler handler, char *why, size_t why_size);
uint16_t http_port(const struct http_server *s);
/* Stop accepting; what is being answered may finish. */
void http_quiesce(struct http_server *s);
/* Requests that have not been answered yet. */
uint32_t http_pending(const struct http_server *s);
/* Close everything. Requests still pending are answered 503 first. The loop must run once more
 * before it is closed (uv_close callbacks). */
void http_close(struct http_server *s);

/* The value of a header, ignoring case; empty when absent. */
struct str http_header(const struct http_request *request, const char *name);
/* The first query parameter of that name; false when absent. */
bool http_query(const struct http_request *request, struct str name, struct str *out_value);

void http_answer(struct http_request *request, const struct http_answer *answer);
