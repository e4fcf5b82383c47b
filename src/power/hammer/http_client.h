/* http_client.h - an asynchronous HTTP client: libcurl's multi interface on the libuv loop of the
 * caller.
 *
 * A call is one request and ends once, with a response or with the reason why there is none.
 * Certificates are verified unless the request disables that. It follows no redirects, uses no
 * proxy, keeps no cookies, and bounds the size of responses. Connections are kept for later
 * requests to the same host.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/text/str.h"
#include "power/hammer/hammer_ops.h"

#define HTTP_CLIENT_BODY_MAX    ((uint32_t)1 << 20)  /* of a response, in bytes */
#define HTTP_CLIENT_HEADERS_MAX ((uint32_t)64 << 10) /* of all headers of a response, in bytes */
#define HTTP_CLIENT_VALUE_MAX   512u /* of a header value; a longer one counts as absent */

struct http_client;
struct http_client_call;

/* The strings are copied. NULL: none. */
struct http_client_request {
    const char *method;
    const char *url;
    struct str body; /* JSON; empty: none */
    const char *username;
    const char *password;
    const char *token;    /* X-Auth-Token */
    const char *if_match; /* If-Match */
    const char *ca;       /* file of CA certificates instead of those of the system */
    bool insecure;        /* certificates are not verified */
    int64_t timeout_ms;
};

struct http_client_response {
    enum hammer_end end; /* DONE: a response was received, with any status */
    const char *why;     /* otherwise; the reason, without a full stop */
    int status;
    struct str body;
    const char *etag; /* headers: "" if absent */
    const char *location;
    const char *token;
    const char *redirect;   /* an absolute URL */
    int64_t retry_after_ms; /* -1: absent */
};

/* NULL: out of memory. */
struct http_client *http_client_open(uv_loop_t *loop);
void http_client_close(struct http_client *client);

/* Starts a request. `done` is called later, never from inside this function; it may be NULL if the
 * response is not needed. The response is valid during the callback. Returns NULL if out of memory
 * or if libcurl refuses an option; `done` is then not called. */
struct http_client_call *http_client_start(
    struct http_client *client, const struct http_client_request *ask,
    void (*done)(void *self, const struct http_client_response *answer), void *self);
/* Ends a call without a response. */
void http_client_cancel(struct http_client_call *call);
