#include "cli/client/api_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text/buf.h"
#include "cli/client/curl_dl.h"
#include "sys/clock.h"

/* Owns one easy handle of libcurl, and with it the connection. A reply is in the arena of its call.
 *
 * A call is one client_exchange: options of the easy handle are set anew for each (easy_reset keeps
 * the connection), libcurl runs the transfer and calls client_on_header and client_on_body. A
 * request other than GET uses a fresh connection, because libcurl repeats a request when a reused
 * connection turns out to be closed, and the server may already have executed it.
 *
 * Order of a stream: on_open is called at the empty line after the headers of a 200, before the
 * first byte of the body.
 *
 * Failure: without a reply the result is ERR_UNAVAILABLE, and the reply has the message; an option
 * that libcurl does not accept counts as out of memory. A stream that was open ends with OK in
 * every case, also if the connection broke: its caller resumes it. */

/* RETRY_MS_MAX: with a longer Retry-After the 503 is returned. */
enum { BODY_SIZE_MAX = 1 << 30 /* bytes */, RETRY_MS_MAX = 30 * 1000 };

struct client {
    struct settings settings;
    const struct curl_dl *curl; /* the functions of libcurl */
    CURL *easy;
    char why[CURL_ERROR_SIZE]; /* the message of libcurl for the last transfer; "": none */
};

/* The state of one exchange: a request and its reply. */
struct client_exchange {
    const struct curl_dl *curl;
    CURL *easy;
    struct buf body;
    int64_t retry_after_ms;                 /* of the header Retry-After; -1: none */
    struct str warning;                     /* of the header Warning; empty: none */
    const struct client_listener *listener; /* NULL: not a stream */
    bool is_streaming;                      /* the listener receives the body */
    bool is_stopped;                        /* a callback of the listener returned false */
    bool is_too_large;
};

/* ---- callbacks of libcurl for the reply ---- */

/* If the line is the header `name`, set *out_value to its value without white space around it. */
static bool client_match_header(struct str line, const char *name, struct str *out_value)
{
    const struct str wanted = str_from(name);
    if (line.len <= wanted.len || !str_eq_nocase(str_slice(line, 0, wanted.len), wanted) ||
        line.at[wanted.len] != ':')
        return false;
    struct str value = str_slice(line, wanted.len + 1, line.len);
    while (value.len && value.at[0] == ' ')
        value = str_slice(value, 1, value.len);
    while (value.len && strchr("\r\n ", value.at[value.len - 1]))
        value.len--;
    *out_value = value;
    return true;
}

static long client_status(const struct curl_dl *curl, CURL *easy)
{
    long status = 0;
    ignore(curl->easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status), "0 will do");
    return status;
}

/* Called for each line of the headers. Returning 0 ends the transfer. */
static size_t client_on_header(char *at, size_t size, size_t count, void *self)
{
    struct client_exchange *x = self;
    const struct str line = {at, (uint32_t)(size * count)};
    struct str value;
    int64_t number;
    if (client_match_header(line, "Retry-After", &value) && str_parse_i64(value, &number) &&
        number < 3600)
        x->retry_after_ms = number * 1000;
    if (client_match_header(line, "Warning", &value)) /* 299 halligan "text" (RFC 7234, 5.5) */
        x->warning = str_copy(x->body.arena, str_slice(value, str_find(value, '"', 0), value.len));
    if (client_match_header(line, "Content-Length", &value) && str_parse_i64(value, &number) &&
        number < BODY_SIZE_MAX)
        buf_room(&x->body, (uint32_t)number); /* allocate the whole body at once */
    if (x->listener && (line.at[0] == '\r' || line.at[0] == '\n') &&
        client_status(x->curl, x->easy) == 200) {
        x->is_streaming = true;
        x->is_stopped = !x->listener->on_open(x->listener->self);
    }
    return x->is_stopped ? 0 : size * count;
}

/* Called for each piece of the body: pass it to the listener, or keep it. */
static size_t client_on_body(char *at, size_t size, size_t count, void *self)
{
    struct client_exchange *x = self;
    const size_t len = size * count;
    if (x->is_streaming) {
        x->is_stopped = !x->listener->on_data(x->listener->self, (struct str){at, (uint32_t)len});
        return x->is_stopped ? 0 : len;
    }
    x->is_too_large = len > BODY_SIZE_MAX - x->body.len;
    if (x->is_too_large)
        return 0;
    buf_put(&x->body, at, (uint32_t)len);
    return len;
}

/* ---- options of the request ---- */

#define SET(OPTION, value) (curl->easy_setopt(easy, CURLOPT_##OPTION, value) == CURLE_OK)

static bool client_set_credentials(const struct curl_dl *curl, CURL *easy, const struct settings *s)
{
    if (s->token)
        return SET(HTTPAUTH, (long)CURLAUTH_BEARER) && SET(XOAUTH2_BEARER, s->token);
    if (!s->user || !s->password)
        return true;
    return SET(HTTPAUTH, (long)CURLAUTH_BASIC) && SET(USERNAME, s->user) &&
           SET(PASSWORD, s->password);
}

static bool client_set_method(const struct curl_dl *curl, CURL *easy,
                              const struct client_call *call)
{
    const bool is_get = strcmp(call->method, "GET") == 0;
    if (is_get)
        return SET(HTTPGET, 1L);
    /* On a reused connection libcurl would send the request again if the connection is closed. */
    return SET(FRESH_CONNECT, 1L) && SET(CUSTOMREQUEST, call->method) &&
           SET(POSTFIELDSIZE_LARGE, (curl_off_t)call->body.len) &&
           SET(POSTFIELDS, call->body.len ? call->body.at : "");
}

static bool client_add_header(const struct curl_dl *curl, struct curl_slist **list,
                              const char *name, const char *value)
{
    char line[4096];
    if (snprintf(line, sizeof line, "%s: %s", name, value) >= (int)sizeof line)
        return false;
    struct curl_slist *longer = curl->slist_append(*list, line);
    if (longer)
        *list = longer;
    return longer;
}

static bool client_add_headers(const struct curl_dl *curl, struct curl_slist **list,
                               const struct client_call *call, bool is_stream)
{
    return client_add_header(curl, list, "Accept",
                             is_stream ? "text/event-stream" : "application/json") &&
           (!call->body.len || (client_add_header(curl, list, "Content-Type", "application/json") &&
                                client_add_header(curl, list, "Prefer", "handling=strict"))) &&
           (!call->attributes ||
            client_add_header(curl, list, "x-return-attributes", call->attributes)) &&
           (!call->last_event ||
            client_add_header(curl, list, "Last-Event-ID", call->last_event)) &&
           /* Without this libcurl may send "Expect: 100-continue" and wait for the server. */
           client_add_header(curl, list, "Expect", "");
}

static bool client_set_up(struct client *client, const struct client_call *call,
                          struct client_exchange *x, struct arena *a, int64_t left_ms)
{
    const struct curl_dl *curl = client->curl;
    CURL *easy = client->easy;
    const struct settings *s = &client->settings;
    const char *url = str_z(a, STR_CONCAT(a, str_from(s->url), str_from(call->path)));
    curl->easy_reset(easy); /* keeps the open connection */
    client->why[0] = 0;
    return SET(ERRORBUFFER, client->why) && SET(URL, url) && SET(PATH_AS_IS, 1L) &&
           SET(PROTOCOLS_STR, "http,https") && SET(TCP_KEEPALIVE, 1L) &&
           /* A proxy configured in the environment cannot reach the loopback of this machine. */
           (!settings_is_loopback(s->url) || SET(NOPROXY, "*")) && (!s->ca || SET(CAINFO, s->ca)) &&
           (!s->ca || SET(CAPATH, NULL)) && client_set_credentials(curl, easy, s) &&
           client_set_method(curl, easy, call) && SET(HEADERFUNCTION, client_on_header) &&
           SET(HEADERDATA, x) && SET(WRITEFUNCTION, client_on_body) && SET(WRITEDATA, x) &&
           SET(CONNECTTIMEOUT_MS, (long)CLIENT_CONNECT_MS) &&
           SET(TIMEOUT_MS, x->listener ? 0L : (long)left_ms);
}

/* ---- the exchange ---- */

static err client_exchange(struct client *client, const struct client_call *call,
                           struct client_exchange *x, int64_t left_ms, struct client_reply *out)
{
    struct arena *a = x->body.arena;
    struct curl_slist *headers = NULL;
    CURLcode code = CURLE_OUT_OF_MEMORY;
    const struct curl_dl *curl = client->curl;
    CURL *easy = client->easy;
    if (client_set_up(client, call, x, a, left_ms) &&
        client_add_headers(curl, &headers, call, x->listener) && SET(HTTPHEADER, headers))
        code = curl->easy_perform(easy);
    curl->slist_free_all(headers);
    *out = (struct client_reply){
        .status = (int)client_status(curl, easy), .body = buf_str(&x->body), .warning = x->warning};
    if (code == CURLE_OK || x->is_streaming)
        return OK;
    const char *why = client->why[0] ? client->why : curl->easy_strerror(code);
    if (x->is_too_large)
        why = "the reply is larger than 1 GiB";
    out->error = str_z(a, STR_CONCAT(a, str_from(client->settings.url), STR(": "), str_from(why)));
    return ERR_UNAVAILABLE;
}

/* Repeat only a GET with a reply of 503, and only if the pause ends before the time limit of the
 * call. */
err client_send(struct client *client, const struct client_call *call, struct arena *a,
                struct client_reply *out_reply)
{
    const int64_t end = sys_mono_ms() + CLIENT_TOTAL_MS;
    for (;;) {
        struct client_exchange x = {
            .curl = client->curl, .easy = client->easy, .body = buf_in(a), .retry_after_ms = -1};
        const int64_t left = end - sys_mono_ms();
        const err e = client_exchange(client, call, &x, left > 1 ? left : 1, out_reply);
        const bool may_repeat = e == OK && out_reply->status == 503 && x.retry_after_ms >= 0 &&
                                strcmp(call->method, "GET") == 0;
        const int64_t wait = x.retry_after_ms > 100 ? x.retry_after_ms : 100;
        if (!may_repeat || wait > RETRY_MS_MAX || sys_mono_ms() + wait >= end)
            return e;
        const struct timespec pause = {.tv_sec = wait / 1000, .tv_nsec = wait % 1000 * 1000000};
        ignore(nanosleep(&pause, NULL), "a signal may shorten the pause");
    }
}

err client_stream(struct client *client, const struct client_call *call,
                  const struct client_listener *listener, struct arena *a,
                  struct client_reply *out_reply)
{
    struct client_exchange x = {
        .curl = client->curl, .easy = client->easy, .body = buf_in(a), .listener = listener};
    return client_exchange(client, call, &x, 0, out_reply);
}

struct client *client_open(const struct settings *settings, char *why, size_t why_size)
{
    const struct curl_dl *curl = curl_dl_open(why, why_size);
    struct client *client = curl ? calloc(1, sizeof *client) : NULL;
    CURL *easy = client ? curl->easy_init() : NULL;
    if (!easy) {
        if (curl)
            snprintf(why, why_size, "libcurl cannot be initialized");
        free(client);
        return NULL;
    }
    *client = (struct client){.settings = *settings, .curl = curl, .easy = easy};
    return client;
}

void client_close(struct client *client)
{
    if (!client)
        return;
    client->curl->easy_cleanup(client->easy);
    free(client);
}
