/* http_client.h - asking over HTTP, inside somebody else's event loop.
 *
 * libcurl's multi interface on libuv: each call is one request and ends once, with an answer or
 * with why there is none. Certificates are checked unless a call says otherwise. It follows no
 * redirect, uses no proxy, keeps no cookie, and bounds what it reads. Connections are kept for the
 * next call to the same place.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/text/str.h"
#include "power/hammer/hammer_ops.h"

#define WEB_BODY_MAX ((uint32_t)1 << 20)
#define WEB_HEAD_MAX ((uint32_t)64 << 10)
#define WEB_TEXT_MAX 512u /* of a header that we keep; a longer one counts as absent */

struct http_client;
struct http_client_call;

/* Texts are copied. NULL: none. */
struct http_client_ask {
    const char *method;
    const char *url;
    struct str body; /* JSON; empty: none */
    const char *username;
    const char *password;
    const char *token;    /* X-Auth-Token */
    const char *if_match; /* If-Match */
    const char *ca;       /* a file of certificates instead of the system's */
    bool insecure;        /* certificates are not checked */
    int64_t timeout_ms;
};

struct http_client_answer {
    enum hammer_end end; /* DONE: an answer is here, whatever it says */
    const char *why;     /* otherwise; a piece of a sentence */
    int status;
    struct str body;
    const char *etag; /* headers: "" when absent */
    const char *location;
    const char *token;
    const char *redirect;   /* an absolute URL */
    int64_t retry_after_ms; /* -1: absent */
};

/* NULL: out of memory. */
struct http_client *http_client_open(uv_loop_t *loop);
void http_client_close(struct http_client *web);

/* `done` may be NULL: nobody wants to know. Everything of the answer lives for the call. NULL: out
 * of memory. Not called from inside. */
struct http_client_call *http_client_start(
    struct http_client *web, const struct http_client_ask *ask,
    void (*done)(void *self, const struct http_client_answer *answer), void *self);
/* No answer will come. */
void http_client_cancel(struct http_client_call *call);
