#include "cli/client/api_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text/buf.h"
#include "cli/client/curl_dl.h"
#include "sys/clock.h"

enum { BODY_SIZE_MAX = 1 << 30, RETRY_MS_MAX = 30 * 1000 };

struct client {
    struct settings settings;
    const struct curl_dl *web;
    CURL *easy;
    char why[CURL_ERROR_SIZE];
};

/* One exchange. */
struct exchange {
    const struct curl_dl *web;
    CURL *easy;
    struct buf body;
    int64_t retry_after_ms; /* -1: it did not say */
    struct str warning;
    const struct client_listener *listener;
    bool is_heard; /* the listener has it */
    bool is_enough;
    bool is_too_large;
};

/* ---- what comes ---- */

static bool header_is(struct str line, const char *name, struct str *out_value)
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

static long status_of(const struct curl_dl *web, CURL *easy)
{
    long status = 0;
    ignore(web->easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status), "0 will do");
    return status;
}

static size_t take_header(char *at, size_t size, size_t count, void *self)
{
    struct exchange *x = self;
    const struct str line = {at, (uint32_t)(size * count)};
    struct str value;
    int64_t number;
    if (header_is(line, "Retry-After", &value) && str_parse_i64(value, &number) && number < 3600)
        x->retry_after_ms = number * 1000;
    if (header_is(line, "Warning", &value)) /* 299 halligan "text" (RFC 7234, 5.5) */
        x->warning = str_copy(x->body.arena, str_slice(value, str_find(value, '"', 0), value.len));
    if (header_is(line, "Content-Length", &value) && str_parse_i64(value, &number) &&
        number < BODY_SIZE_MAX)
        buf_room(&x->body, (uint32_t)number);
    if (x->listener && (line.at[0] == '\r' || line.at[0] == '\n') &&
        status_of(x->web, x->easy) == 200) {
        x->is_heard = true;
        x->is_enough = !x->listener->opened(x->listener->self);
    }
    return x->is_enough ? 0 : size * count;
}

static size_t take_body(char *at, size_t size, size_t count, void *self)
{
    struct exchange *x = self;
    const size_t len = size * count;
    if (x->is_heard) {
        x->is_enough = !x->listener->take(x->listener->self, (struct str){at, (uint32_t)len});
        return x->is_enough ? 0 : len;
    }
    x->is_too_large = len > BODY_SIZE_MAX - x->body.len;
    if (x->is_too_large)
        return 0;
    buf_put(&x->body, at, (uint32_t)len);
    return len;
}

/* ---- what goes ---- */

#define SET(OPTION, value) (web->easy_setopt(easy, CURLOPT_##OPTION, value) == CURLE_OK)

static bool set_caller(const struct curl_dl *web, CURL *easy, const struct settings *s)
{
    if (s->token)
        return SET(HTTPAUTH, (long)CURLAUTH_BEARER) && SET(XOAUTH2_BEARER, s->token);
    if (!s->user || !s->password)
        return true;
    return SET(HTTPAUTH, (long)CURLAUTH_BASIC) && SET(USERNAME, s->user) &&
           SET(PASSWORD, s->password);
}

static bool set_place(const struct curl_dl *web, CURL *easy, const struct settings *s,
                      const char *url)
{
    return SET(URL, url) && SET(PATH_AS_IS, 1L) && SET(PROTOCOLS_STR, "http,https") &&
           SET(TCP_KEEPALIVE, 1L) &&
           /* a proxy of the environment cannot reach what is on this machine */
           (!settings_is_near(s->url) || SET(NOPROXY, "*")) && (!s->ca || SET(CAINFO, s->ca)) &&
           (!s->ca || SET(CAPATH, NULL));
}

static bool set_method(const struct curl_dl *web, CURL *easy, const struct client_call *call)
{
    const bool is_get = strcmp(call->method, "GET") == 0;
    if (is_get)
        return SET(HTTPGET, 1L);
    /* On a connection that was kept libcurl would send it again when that breaks. */
    return SET(FRESH_CONNECT, 1L) && SET(CUSTOMREQUEST, call->method) &&
           SET(POSTFIELDSIZE_LARGE, (curl_off_t)call->body.len) &&
           SET(POSTFIELDS, call->body.len ? call->body.at : "");
}

static bool add(const struct curl_dl *web, struct curl_slist **list, const char *name,
                const char *value)
{
    char line[4096];
    if (snprintf(line, sizeof line, "%s: %s", name, value) >= (int)sizeof line)
        return false;
    struct curl_slist *longer = web->slist_append(*list, line);
    if (longer)
        *list = longer;
    return longer;
}

static bool add_headers(const struct curl_dl *web, struct curl_slist **list,
                        const struct client_call *call, bool is_stream)
{
    return add(web, list, "Accept", is_stream ? "text/event-stream" : "application/json") &&
           (!call->body.len || (add(web, list, "Content-Type", "application/json") &&
                                add(web, list, "Prefer", "handling=strict"))) &&
           (!call->attributes || add(web, list, "x-return-attributes", call->attributes)) &&
           (!call->last_event || add(web, list, "Last-Event-ID", call->last_event)) &&
           add(web, list, "Expect", "");
}

static const char *url_of(struct arena *a, const struct settings *s, const char *path)
{
    return str_z(a, STR_CONCAT(a, str_from(s->url), str_from(path)));
}

static bool set_up(struct client *client, const struct client_call *call, struct exchange *x,
                   struct arena *a, int64_t left_ms)
{
    const struct curl_dl *web = client->web;
    CURL *easy = client->easy;
    const struct settings *s = &client->settings;
    web->easy_reset(easy); /* keeps the connection */
    client->why[0] = 0;
    return SET(ERRORBUFFER, client->why) && set_place(web, easy, s, url_of(a, s, call->path)) &&
           set_caller(web, easy, s) && set_method(web, easy, call) &&
           SET(HEADERFUNCTION, take_header) && SET(HEADERDATA, x) &&
           SET(WRITEFUNCTION, take_body) && SET(WRITEDATA, x) &&
           SET(CONNECTTIMEOUT_MS, (long)CLIENT_CONNECT_MS) &&
           SET(TIMEOUT_MS, x->listener ? 0L : (long)left_ms);
}

/* ---- both ---- */

static const char *trouble_of(struct client *client, const struct exchange *x, CURLcode code,
                              struct arena *a)
{
    struct buf b = buf_in(a);
    const char *why = client->why[0] ? client->why : client->web->easy_strerror(code);
    if (x->is_too_large)
        why = "the answer is larger than anything we asked for";
    buf_put_z(&b, client->settings.url);
    buf_put_z(&b, ": ");
    buf_put_z(&b, why);
    return str_z(a, buf_str(&b));
}

static err exchange(struct client *client, const struct client_call *call, struct exchange *x,
                    int64_t left_ms, struct client_answer *out)
{
    struct arena *a = x->body.arena;
    struct curl_slist *headers = NULL;
    CURLcode code = CURLE_OUT_OF_MEMORY;
    const struct curl_dl *web = client->web;
    CURL *easy = client->easy;
    if (set_up(client, call, x, a, left_ms) && add_headers(web, &headers, call, x->listener) &&
        SET(HTTPHEADER, headers))
        code = web->easy_perform(easy);
    web->slist_free_all(headers);
    *out = (struct client_answer){
        .status = (int)status_of(web, easy), .body = buf_str(&x->body), .warning = x->warning};
    if (code == CURLE_OK || x->is_heard)
        return OK;
    out->trouble = trouble_of(client, x, code, a);
    return ERR_UNAVAILABLE;
}

static void pause_for(int64_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    ignore(nanosleep(&left, NULL), "a signal that does not end us may shorten it");
}

err client_ask(struct client *client, const struct client_call *call, struct arena *a,
               struct client_answer *out_answer)
{
    const int64_t end = sys_mono_ms() + CLIENT_TOTAL_MS;
    for (;;) {
        struct exchange x = {
            .web = client->web, .easy = client->easy, .body = buf_in(a), .retry_after_ms = -1};
        const int64_t left = end - sys_mono_ms();
        const err e = exchange(client, call, &x, left > 1 ? left : 1, out_answer);
        const bool may_repeat = e == OK && out_answer->status == 503 && x.retry_after_ms >= 0 &&
                                strcmp(call->method, "GET") == 0;
        const int64_t wait = x.retry_after_ms > 100 ? x.retry_after_ms : 100;
        if (!may_repeat || wait > RETRY_MS_MAX || sys_mono_ms() + wait >= end)
            return e;
        pause_for(wait);
    }
}

err client_follow(struct client *client, const struct client_call *call,
                  const struct client_listener *listener, struct arena *a,
                  struct client_answer *out_answer)
{
    struct exchange x = {
        .web = client->web, .easy = client->easy, .body = buf_in(a), .listener = listener};
    return exchange(client, call, &x, 0, out_answer);
}

struct client *client_open(const struct settings *settings, char *why, size_t why_size)
{
    const struct curl_dl *web = http_client_open(why, why_size);
    struct client *client = web ? calloc(1, sizeof *client) : NULL;
    CURL *easy = client ? web->easy_init() : NULL;
    if (!easy) {
        if (web)
            snprintf(why, why_size, "libcurl refuses to work");
        free(client);
        return NULL;
    }
    *client = (struct client){.settings = *settings, .web = web, .easy = easy};
    return client;
}

void client_close(struct client *client)
{
    if (!client)
        return;
    client->web->easy_cleanup(client->easy);
    free(client);
}
