#include "power/hammer/http_client.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { CONNECT_MS = 10 * 1000, CONNECTIONS_KEPT = 64, RETRY_AFTER_S_MAX = 3600 };

struct http_client {
    uv_loop_t *loop;
    CURLM *multi;
    uv_timer_t timer;
    struct http_client_call *calls;
};

struct http_client_call {
    struct http_client *web;
    CURL *easy;
    struct curl_slist *headers;
    void (*done)(void *self, const struct http_client_answer *answer);
    void *self;
    char *ask_body;
    char *body;
    uint32_t body_len;
    uint32_t body_cap;
    uint32_t head_len;
    bool is_too_large;
    bool is_failed; /* it ends with those that libcurl gave up */
    bool is_secure;
    int64_t retry_after_ms;
    char etag[WEB_TEXT_MAX];
    char location[WEB_TEXT_MAX];
    char token[WEB_TEXT_MAX];
    char why[CURL_ERROR_SIZE];
    struct http_client_call *next;
    struct http_client_call **link;
};

/* A socket of libcurl in the loop. */
struct watch {
    uv_poll_t poll;
    curl_socket_t fd;
    struct http_client *web;
};

/* ---- what went wrong ---- */

/* Which check of the certificate failed, by the numbers of X.509 that every TLS library shares. */
static const char *failed_check(long number)
{
    switch (number) {
    case 9: return "the certificate is not valid yet";
    case 10: return "the certificate has expired";
    case 18: return "the certificate is self-signed, and not among the trusted";
    case 19: return "its chain ends in a self-signed certificate that is not among the trusted";
    case 20:
    case 21: return "nobody among the trusted has issued the certificate";
    case 23: return "the certificate was revoked";
    case 62:
    case 64: return "the certificate is for another name";
    default: return NULL;
    }
}

static const char *tls_problem(const struct http_client_call *c, CURLcode code)
{
    long number = 0;
    ignore(curl_easy_getinfo(c->easy, CURLINFO_SSL_VERIFYRESULT, &number), "0 will do");
    const char *check = failed_check(number);
    if (check)
        return check;
    if (code == CURLE_PEER_FAILED_VERIFICATION && strstr(c->why, "subject name"))
        return "the certificate is for another name";
    if (code == CURLE_SSL_CACERT_BADFILE)
        return "the file of trusted certificates cannot be read";
    return c->why[0] ? c->why : curl_easy_strerror(code);
}

static const char *timeout_place(const struct http_client_call *c)
{
    curl_off_t connected = 0;
    curl_off_t secured = 0;
    ignore(curl_easy_getinfo(c->easy, CURLINFO_CONNECT_TIME_T, &connected), "0 will do");
    ignore(curl_easy_getinfo(c->easy, CURLINFO_APPCONNECT_TIME_T, &secured), "0 will do");
    if (connected == 0)
        return "there was no connection in time";
    if (c->is_secure && secured == 0)
        return "the TLS handshake did not end in time";
    return "no answer came in time";
}

static enum hammer_end sort_unconnected(const struct http_client_call *c, const char **out_why)
{
    long number = 0;
    ignore(curl_easy_getinfo(c->easy, CURLINFO_OS_ERRNO, &number), "0 will do");
    if (number == ECONNREFUSED) {
        *out_why = "nobody listens there";
        return HAMMER_END_REFUSED;
    }
    if (number == ETIMEDOUT) {
        *out_why = "there was no connection in time";
        return HAMMER_END_TIMEOUT;
    }
    return HAMMER_END_UNREACHABLE;
}

static enum hammer_end sort_failure(const struct http_client_call *c, CURLcode code,
                                    const char **out_why)
{
    *out_why = c->why[0] ? c->why : curl_easy_strerror(code);
    if (c->is_too_large) {
        *out_why = "the answer is too large";
        return HAMMER_END_BAD_ANSWER;
    }
    switch ((int)code) {
    case CURLE_COULDNT_RESOLVE_HOST: return HAMMER_END_UNREACHABLE;
    case CURLE_ABORTED_BY_CALLBACK:
        *out_why = "a socket could not be watched; see the limits on descriptors and memory";
        return HAMMER_END_UNREACHABLE;
    case CURLE_COULDNT_CONNECT: return sort_unconnected(c, out_why);
    case CURLE_OPERATION_TIMEDOUT: *out_why = timeout_place(c); return HAMMER_END_TIMEOUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR: *out_why = tls_problem(c, code); return HAMMER_END_TLS;
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE: return HAMMER_END_LOST;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL: return HAMMER_END_SETTING;
    default: return HAMMER_END_BAD_ANSWER;
    }
}

/* ---- a call ---- */

static void call_free(struct http_client_call *c)
{
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    ignore(curl_multi_remove_handle(c->web->multi, c->easy), "it may never have been added");
    curl_easy_cleanup(c->easy);
    curl_slist_free_all(c->headers);
    if (c->ask_body)
        explicit_bzero(c->ask_body, strlen(c->ask_body));
    free(c->ask_body);
    free(c->body);
    free(c);
}

void http_client_cancel(struct http_client_call *call)
{
    call_free(call);
}

static void finish(struct http_client_call *c, CURLcode code)
{
    struct http_client_answer answer = {
        .body = {c->body ? c->body : "", c->body_len},
        .etag = c->etag,
        .location = c->location,
        .token = c->token,
        .redirect = "",
        .retry_after_ms = c->retry_after_ms,
    };
    long status = 0;
    char *redirect = NULL;
    if (code == CURLE_OK) {
        ignore(curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status), "0 will do");
        ignore(curl_easy_getinfo(c->easy, CURLINFO_REDIRECT_URL, &redirect), "NULL will do");
        answer.status = (int)status;
        answer.redirect = redirect ? redirect : "";
    } else {
        answer.end = sort_failure(c, code, &answer.why);
    }
    void (*done)(void *, const struct http_client_answer *) = c->done;
    if (done)
        done(c->self, &answer);
    call_free(c);
}

static void collect(struct http_client *web)
{
    int left;
    for (CURLMsg *m = curl_multi_info_read(web->multi, &left); m;
         m = curl_multi_info_read(web->multi, &left)) {
        struct http_client_call *c = NULL;
        const CURLcode code = m->data.result;
        CURL *easy = m->easy_handle;
        /* A transfer that ends in any other way is ended by the deadline of its owner. */
        if (m->msg != CURLMSG_DONE)
            continue;
        const CURLcode found = curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&c);
        ignore(curl_multi_remove_handle(web->multi, easy), "it has ended");
        if (found == CURLE_OK && c)
            finish(c, code);
    }
}

static size_t take_body(char *bytes, size_t size, size_t count, void *self)
{
    struct http_client_call *c = self;
    const size_t len = size * count;
    if (len > WEB_BODY_MAX - c->body_len) {
        c->is_too_large = true;
        return 0;
    }
    if (c->body_len + len > c->body_cap) {
        const uint32_t cap = (c->body_len + (uint32_t)len) * 2;
        char *grown = realloc(c->body, cap);
        if (!grown)
            return 0;
        c->body = grown;
        c->body_cap = cap;
    }
    if (len)
        memcpy(c->body + c->body_len, bytes, len);
    c->body_len += (uint32_t)len;
    return len;
}

static struct str trimmed(struct str s)
{
    while (s.len && (uint8_t)s.at[0] <= ' ')
        s = str_slice(s, 1, s.len);
    while (s.len && (uint8_t)s.at[s.len - 1] <= ' ')
        s.len--;
    return s;
}

static void take_text(struct str value, char out_text[WEB_TEXT_MAX])
{
    out_text[0] = '\0';
    if (value.len >= WEB_TEXT_MAX)
        return;
    memcpy(out_text, value.at, value.len);
    out_text[value.len] = '\0';
}

static size_t take_header(char *bytes, size_t size, size_t count, void *self)
{
    struct http_client_call *c = self;
    const struct str line = {bytes, (uint32_t)(size * count)};
    const uint32_t colon = str_find(line, ':', 0);
    const struct str name = str_slice(line, 0, colon);
    const struct str value = trimmed(str_slice(line, colon + 1, line.len));
    int64_t seconds;
    c->head_len += line.len;
    if (c->head_len > WEB_HEAD_MAX) {
        c->is_too_large = true;
        return 0;
    }
    if (str_eq_nocase(name, STR("etag")))
        take_text(value, c->etag);
    else if (str_eq_nocase(name, STR("location")))
        take_text(value, c->location);
    else if (str_eq_nocase(name, STR("x-auth-token")))
        take_text(value, c->token);
    else if (str_eq_nocase(name, STR("retry-after")) && str_parse_i64(value, &seconds))
        c->retry_after_ms = 1000 * (seconds < RETRY_AFTER_S_MAX ? seconds : RETRY_AFTER_S_MAX);
    return line.len;
}

static bool add_header(struct http_client_call *c, const char *name, const char *value)
{
    char line[WEB_TEXT_MAX + 64];
    const int len = snprintf(line, sizeof line, "%s: %s", name, value);
    if (len < 0 || (size_t)len >= sizeof line)
        return false;
    struct curl_slist *longer = curl_slist_append(c->headers, line);
    if (longer)
        c->headers = longer;
    return longer != NULL;
}

static bool add_headers(struct http_client_call *c, const struct http_client_ask *ask)
{
    return add_header(c, "Accept", "application/json") && add_header(c, "OData-Version", "4.0") &&
           (ask->body.len == 0 || add_header(c, "Content-Type", "application/json")) &&
           (!ask->token || add_header(c, "X-Auth-Token", ask->token)) &&
           (!ask->if_match || add_header(c, "If-Match", ask->if_match)) &&
           add_header(c, "Expect", "");
}

#define SET(option, value) (curl_easy_setopt(c->easy, CURLOPT_##option, (value)) == CURLE_OK)

static bool set_up(struct http_client_call *c, const struct http_client_ask *ask)
{
    const long connect_ms = ask->timeout_ms < CONNECT_MS ? (long)ask->timeout_ms : CONNECT_MS;
    return SET(URL, ask->url) && SET(CUSTOMREQUEST, ask->method) && SET(PRIVATE, c) &&
           SET(PROTOCOLS_STR, "http,https") && SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) &&
           SET(NOSIGNAL, 1L) && SET(NOPROXY, "*") && SET(ERRORBUFFER, c->why) &&
           /* a name server that is silent must not keep the loop when we give up */
           SET(QUICK_EXIT, 1L) && SET(TIMEOUT_MS, (long)ask->timeout_ms) &&
           SET(CONNECTTIMEOUT_MS, connect_ms) && SET(WRITEFUNCTION, take_body) &&
           SET(WRITEDATA, c) && SET(HEADERFUNCTION, take_header) && SET(HEADERDATA, c) &&
           SET(HTTPHEADER, c->headers) && (!ask->ca || SET(CAINFO, ask->ca)) &&
           (!ask->ca || SET(CAPATH, NULL)) && SET(SSL_VERIFYPEER, ask->insecure ? 0L : 1L) &&
           SET(SSL_VERIFYHOST, ask->insecure ? 0L : 2L) &&
           /* on a connection that is kept libcurl would send it again when that breaks */
           SET(FRESH_CONNECT, strcmp(ask->method, "GET") == 0 ? 0L : 1L);
}

static bool set_body(struct http_client_call *c, const struct http_client_ask *ask)
{
    if (ask->body.len == 0)
        return strcmp(ask->method, "POST") != 0 || SET(POSTFIELDS, "");
    c->ask_body = malloc((size_t)ask->body.len + 1);
    if (!c->ask_body)
        return false;
    memcpy(c->ask_body, ask->body.at, ask->body.len);
    c->ask_body[ask->body.len] = '\0';
    return SET(POSTFIELDSIZE, (long)ask->body.len) && SET(POSTFIELDS, c->ask_body);
}

static bool set_user(struct http_client_call *c, const struct http_client_ask *ask)
{
    return !ask->username || ask->token ||
           (SET(HTTPAUTH, (long)CURLAUTH_BASIC) && SET(USERNAME, ask->username) &&
            SET(PASSWORD, ask->password ? ask->password : ""));
}

struct http_client_call *http_client_start(
    struct http_client *web, const struct http_client_ask *ask,
    void (*done)(void *self, const struct http_client_answer *answer), void *self)
{
    struct http_client_call *c = calloc(1, sizeof *c);
    CURL *easy = c ? curl_easy_init() : NULL;
    if (!easy) {
        free(c);
        return NULL;
    }
    *c = (struct http_client_call){.web = web, .easy = easy, .done = done, .self = self};
    c->retry_after_ms = -1;
    c->is_secure = strncmp(ask->url, "https:", 6) == 0;
    c->next = web->calls;
    c->link = &web->calls;
    if (c->next)
        c->next->link = &c->next;
    web->calls = c;
    if (add_headers(c, ask) && set_up(c, ask) && set_body(c, ask) && set_user(c, ask) &&
        curl_multi_add_handle(web->multi, easy) == CURLM_OK)
        return c;
    call_free(c);
    return NULL;
}

/* ---- in the loop ---- */

/* When a socket cannot be watched libcurl goes on with none of its transfers until all of them are
 * removed. What a callback starts meanwhile is not among those that fail. */
static void fail_all(struct http_client *web)
{
    struct http_client_call *failed;
    for (struct http_client_call *c = web->calls; c; c = c->next)
        c->is_failed = true;
    do {
        failed = web->calls;
        while (failed && !failed->is_failed)
            failed = failed->next;
        if (failed)
            finish(failed, CURLE_ABORTED_BY_CALLBACK);
    } while (failed);
}

static void act(struct http_client *web, curl_socket_t fd, int events)
{
    int running;
    const CURLMcode code = curl_multi_socket_action(web->multi, fd, events, &running);
    collect(web);
    if (code != CURLM_OK && code != CURLM_BAD_SOCKET)
        fail_all(web);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    const struct watch *watch = poll->data;
    int what = status < 0 ? CURL_CSELECT_ERR : 0;
    what |= events & UV_READABLE ? CURL_CSELECT_IN : 0;
    what |= events & UV_WRITABLE ? CURL_CSELECT_OUT : 0;
    act(watch->web, watch->fd, what);
}

static void on_timer(uv_timer_t *timer)
{
    act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static int set_timer(CURLM *multi, long timeout_ms, void *self)
{
    struct http_client *web = self;
    (void)multi;
    if (timeout_ms < 0) {
        must(uv_timer_stop(&web->timer) == 0);
        return 0;
    }
    uv_update_time(web->loop);
    must(uv_timer_start(&web->timer, on_timer, (uint64_t)timeout_ms, 0) == 0);
    return 0;
}

static void watch_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static struct watch *watch_new(struct http_client *web, curl_socket_t fd)
{
    struct watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return NULL;
    if (uv_poll_init_socket(web->loop, &watch->poll, fd) != 0) {
        free(watch);
        return NULL;
    }
    watch->web = web;
    watch->fd = fd;
    watch->poll.data = watch;
    if (curl_multi_assign(web->multi, fd, watch) != CURLM_OK) {
        uv_close((uv_handle_t *)&watch->poll, watch_closed);
        return NULL;
    }
    return watch;
}

static int set_socket(CURL *easy, curl_socket_t fd, int what, void *self, void *known)
{
    struct http_client *web = self;
    struct watch *watch = known;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (watch)
            uv_close((uv_handle_t *)&watch->poll, watch_closed);
        ignore(curl_multi_assign(web->multi, fd, NULL), "it may have forgotten the socket");
        return 0;
    }
    if (!watch)
        watch = watch_new(web, fd);
    if (!watch)
        return -1;
    const int events =
        (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    return uv_poll_start(&watch->poll, events, on_poll) == 0 ? 0 : -1;
}

struct http_client *http_client_open(uv_loop_t *loop)
{
    struct http_client *web = calloc(1, sizeof *web);
    CURLM *multi = web ? curl_multi_init() : NULL;
    if (!multi) {
        free(web);
        return NULL;
    }
    web->loop = loop;
    web->multi = multi;
    const bool is_set =
        curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, set_socket) == CURLM_OK &&
        curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, web) == CURLM_OK &&
        curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer) == CURLM_OK &&
        curl_multi_setopt(multi, CURLMOPT_TIMERDATA, web) == CURLM_OK &&
        curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_KEPT) == CURLM_OK;
    if (!is_set) {
        ignore(curl_multi_cleanup(multi), "no transfer is in it");
        free(web);
        return NULL;
    }
    must(uv_timer_init(loop, &web->timer) == 0);
    web->timer.data = web;
    return web;
}

static void timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void http_client_close(struct http_client *web)
{
    while (web->calls)
        call_free(web->calls);
    ignore(curl_multi_cleanup(web->multi), "no transfer is left in it");
    uv_close((uv_handle_t *)&web->timer, timer_closed);
}
