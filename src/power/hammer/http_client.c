/* http_client.c - libcurl's multi interface driven by libuv.
 *
 * libcurl requests a timer (http_client_set_timer) and the events of its sockets
 * (http_client_set_socket); when they occur, http_client_socket_action() gives them to libcurl and
 * collects ended transfers. Callers are notified from there only.
 *
 * A request that is not a GET uses a new connection: on a kept connection that breaks, libcurl
 * would send the request again, and a power action could happen twice.
 *
 * Owns the multi handle, its timer, and each call from http_client_start() to the end of its
 * callback. A call is freed after its callback returns, so the callback must not cancel it; it may
 * start and cancel other calls.
 *
 * Failure: a call ends with the reason why there is no response (http_call_error). Nothing is
 * repeated. If a socket cannot be watched, libcurl stops all of its transfers; all calls then fail.
 */
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
    struct http_client *client;
    CURL *easy;
    struct curl_slist *headers;
    void (*done)(void *self, const struct http_client_response *answer);
    void *self;
    char *ask_body;    /* body of the request, which may contain a password; NULL: none */
    char *body;        /* of the response */
    uint32_t body_len; /* bytes */
    uint32_t body_cap;
    uint32_t head_len;      /* bytes of all headers of the response */
    bool is_too_large;      /* the response exceeds a limit and is not read further */
    bool is_failed;         /* to be ended by http_client_fail_all() */
    bool is_secure;         /* https */
    int64_t retry_after_ms; /* -1: no such header */
    char etag[HTTP_CLIENT_VALUE_MAX];
    char location[HTTP_CLIENT_VALUE_MAX];
    char token[HTTP_CLIENT_VALUE_MAX];
    char why[CURL_ERROR_SIZE]; /* message of libcurl; "": none */
    struct http_client_call *next;
    struct http_client_call **link;
};

/* The events of one socket of libcurl. */
struct socket_watch {
    uv_poll_t poll;
    curl_socket_t fd;
    struct http_client *client;
};

/* ---- errors ---- */

/* The certificate check that failed, by the X509_V_ERR numbers of OpenSSL, which libcurl reports
 * for every TLS library. */
static const char *http_certificate_error(long number)
{
    switch (number) {
    case 9: return "the certificate is not valid yet";
    case 10: return "the certificate has expired";
    case 18: return "the certificate is self-signed and not trusted";
    case 19: return "the certificate chain ends in a self-signed certificate that is not trusted";
    case 20:
    case 21: return "the issuer of the certificate is not trusted";
    case 23: return "the certificate was revoked";
    case 62:
    case 64: return "the certificate is for another name";
    default: return NULL;
    }
}

static const char *http_tls_error(const struct http_client_call *c, CURLcode code)
{
    long number = 0;
    ignore(curl_easy_getinfo(c->easy, CURLINFO_SSL_VERIFYRESULT, &number), "0 will do");
    const char *check = http_certificate_error(number);
    if (check)
        return check;
    if (code == CURLE_PEER_FAILED_VERIFICATION && strstr(c->why, "subject name"))
        return "the certificate is for another name";
    if (code == CURLE_SSL_CACERT_BADFILE)
        return "the file of CA certificates cannot be read";
    return c->why[0] ? c->why : curl_easy_strerror(code);
}

static const char *http_timeout_error(const struct http_client_call *c)
{
    curl_off_t connected = 0;
    curl_off_t secured = 0;
    ignore(curl_easy_getinfo(c->easy, CURLINFO_CONNECT_TIME_T, &connected), "0 will do");
    ignore(curl_easy_getinfo(c->easy, CURLINFO_APPCONNECT_TIME_T, &secured), "0 will do");
    if (connected == 0)
        return "no connection was established in time";
    if (c->is_secure && secured == 0)
        return "the TLS handshake did not end in time";
    return "no response arrived in time";
}

static enum hammer_end http_connect_error(const struct http_client_call *c, const char **out_why)
{
    long number = 0;
    ignore(curl_easy_getinfo(c->easy, CURLINFO_OS_ERRNO, &number), "0 will do");
    if (number == ECONNREFUSED) {
        *out_why = "nothing listens there (connection refused)";
        return HAMMER_END_REFUSED;
    }
    if (number == ETIMEDOUT) {
        *out_why = "no connection was established in time";
        return HAMMER_END_TIMEOUT;
    }
    return HAMMER_END_UNREACHABLE;
}

static enum hammer_end http_call_error(const struct http_client_call *c, CURLcode code,
                                       const char **out_why)
{
    *out_why = c->why[0] ? c->why : curl_easy_strerror(code);
    if (c->is_too_large) {
        *out_why = "the response is too large";
        return HAMMER_END_BAD_ANSWER;
    }
    switch ((int)code) {
    case CURLE_COULDNT_RESOLVE_HOST: return HAMMER_END_UNREACHABLE;
    case CURLE_ABORTED_BY_CALLBACK:
        *out_why = "a socket could not be polled; check the limits of the daemon on file "
                   "descriptors and memory";
        return HAMMER_END_UNREACHABLE;
    case CURLE_COULDNT_CONNECT: return http_connect_error(c, out_why);
    case CURLE_OPERATION_TIMEDOUT: *out_why = http_timeout_error(c); return HAMMER_END_TIMEOUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR: *out_why = http_tls_error(c, code); return HAMMER_END_TLS;
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE: return HAMMER_END_LOST;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL: return HAMMER_END_SETTING;
    default: return HAMMER_END_BAD_ANSWER;
    }
}

/* ---- calls ---- */

static void http_call_free(struct http_client_call *c)
{
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    ignore(curl_multi_remove_handle(c->client->multi, c->easy), "it may never have been added");
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
    http_call_free(call);
}

static void http_call_finish(struct http_client_call *c, CURLcode code)
{
    struct http_client_response answer = {
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
        answer.end = http_call_error(c, code, &answer.why);
    }
    void (*done)(void *, const struct http_client_response *) = c->done;
    if (done)
        done(c->self, &answer);
    http_call_free(c);
}

static void http_client_collect(struct http_client *client)
{
    int left;
    for (CURLMsg *m = curl_multi_info_read(client->multi, &left); m;
         m = curl_multi_info_read(client->multi, &left)) {
        struct http_client_call *c = NULL;
        const CURLcode code = m->data.result;
        CURL *easy = m->easy_handle;
        /* Other messages do not exist today; a transfer without DONE is ended by its deadline. */
        if (m->msg != CURLMSG_DONE)
            continue;
        const CURLcode found = curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&c);
        ignore(curl_multi_remove_handle(client->multi, easy), "it has ended");
        if (found == CURLE_OK && c)
            http_call_finish(c, code);
    }
}

static size_t http_call_on_body(char *bytes, size_t size, size_t count, void *self)
{
    struct http_client_call *c = self;
    const size_t len = size * count;
    if (len > HTTP_CLIENT_BODY_MAX - c->body_len) {
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

static struct str http_trim(struct str s)
{
    while (s.len && (uint8_t)s.at[0] <= ' ')
        s = str_slice(s, 1, s.len);
    while (s.len && (uint8_t)s.at[s.len - 1] <= ' ')
        s.len--;
    return s;
}

static void http_copy_value(struct str value, char out_text[HTTP_CLIENT_VALUE_MAX])
{
    out_text[0] = '\0';
    if (value.len >= HTTP_CLIENT_VALUE_MAX)
        return;
    memcpy(out_text, value.at, value.len);
    out_text[value.len] = '\0';
}

static size_t http_call_on_header(char *bytes, size_t size, size_t count, void *self)
{
    struct http_client_call *c = self;
    const struct str line = {bytes, (uint32_t)(size * count)};
    const uint32_t colon = str_find(line, ':', 0);
    const struct str name = str_slice(line, 0, colon);
    const struct str value = http_trim(str_slice(line, colon + 1, line.len));
    int64_t seconds;
    c->head_len += line.len;
    if (c->head_len > HTTP_CLIENT_HEADERS_MAX) {
        c->is_too_large = true;
        return 0;
    }
    if (str_eq_nocase(name, STR("etag")))
        http_copy_value(value, c->etag);
    else if (str_eq_nocase(name, STR("location")))
        http_copy_value(value, c->location);
    else if (str_eq_nocase(name, STR("x-auth-token")))
        http_copy_value(value, c->token);
    else if (str_eq_nocase(name, STR("retry-after")) && str_parse_i64(value, &seconds))
        c->retry_after_ms = 1000 * (seconds < RETRY_AFTER_S_MAX ? seconds : RETRY_AFTER_S_MAX);
    return line.len;
}

static bool http_call_add_header(struct http_client_call *c, const char *name, const char *value)
{
    char line[HTTP_CLIENT_VALUE_MAX + 64];
    const int len = snprintf(line, sizeof line, "%s: %s", name, value);
    if (len < 0 || (size_t)len >= sizeof line)
        return false;
    struct curl_slist *longer = curl_slist_append(c->headers, line);
    if (longer)
        c->headers = longer;
    return longer != NULL;
}

static bool http_call_add_headers(struct http_client_call *c, const struct http_client_request *ask)
{
    return http_call_add_header(c, "Accept", "application/json") &&
           http_call_add_header(c, "OData-Version", "4.0") &&
           (ask->body.len == 0 || http_call_add_header(c, "Content-Type", "application/json")) &&
           (!ask->token || http_call_add_header(c, "X-Auth-Token", ask->token)) &&
           (!ask->if_match || http_call_add_header(c, "If-Match", ask->if_match)) &&
           http_call_add_header(c, "Expect", "");
}

#define SET(option, value) (curl_easy_setopt(c->easy, CURLOPT_##option, (value)) == CURLE_OK)

static bool http_call_set_options(struct http_client_call *c, const struct http_client_request *ask)
{
    const long connect_ms = ask->timeout_ms < CONNECT_MS ? (long)ask->timeout_ms : CONNECT_MS;
    return SET(URL, ask->url) && SET(CUSTOMREQUEST, ask->method) && SET(PRIVATE, c) &&
           SET(PROTOCOLS_STR, "http,https") && SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) &&
           SET(NOSIGNAL, 1L) && SET(NOPROXY, "*") && SET(ERRORBUFFER, c->why) &&
           /* do not wait for the resolver thread when a call is cancelled */
           SET(QUICK_EXIT, 1L) && SET(TIMEOUT_MS, (long)ask->timeout_ms) &&
           SET(CONNECTTIMEOUT_MS, connect_ms) && SET(WRITEFUNCTION, http_call_on_body) &&
           SET(WRITEDATA, c) && SET(HEADERFUNCTION, http_call_on_header) && SET(HEADERDATA, c) &&
           SET(HTTPHEADER, c->headers) && (!ask->ca || SET(CAINFO, ask->ca)) &&
           (!ask->ca || SET(CAPATH, NULL)) && SET(SSL_VERIFYPEER, ask->insecure ? 0L : 1L) &&
           SET(SSL_VERIFYHOST, ask->insecure ? 0L : 2L) &&
           /* see the top of the file: no repetition on a kept connection */
           SET(FRESH_CONNECT, strcmp(ask->method, "GET") == 0 ? 0L : 1L);
}

static bool http_call_set_body(struct http_client_call *c, const struct http_client_request *ask)
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

static bool http_call_set_user(struct http_client_call *c, const struct http_client_request *ask)
{
    return !ask->username || ask->token ||
           (SET(HTTPAUTH, (long)CURLAUTH_BASIC) && SET(USERNAME, ask->username) &&
            SET(PASSWORD, ask->password ? ask->password : ""));
}

struct http_client_call *http_client_start(
    struct http_client *client, const struct http_client_request *ask,
    void (*done)(void *self, const struct http_client_response *answer), void *self)
{
    struct http_client_call *c = calloc(1, sizeof *c);
    CURL *easy = c ? curl_easy_init() : NULL;
    if (!easy) {
        free(c);
        return NULL;
    }
    *c = (struct http_client_call){.client = client, .easy = easy, .done = done, .self = self};
    c->retry_after_ms = -1;
    c->is_secure = strncmp(ask->url, "https:", 6) == 0;
    c->next = client->calls;
    c->link = &client->calls;
    if (c->next)
        c->next->link = &c->next;
    client->calls = c;
    if (http_call_add_headers(c, ask) && http_call_set_options(c, ask) &&
        http_call_set_body(c, ask) && http_call_set_user(c, ask) &&
        curl_multi_add_handle(client->multi, easy) == CURLM_OK)
        return c;
    http_call_free(c);
    return NULL;
}

/* ---- event loop ---- */

/* If a socket cannot be watched, libcurl continues none of its transfers until all of them are
 * removed. Calls that a callback starts meanwhile must not fail, so the calls are marked first. */
static void http_client_fail_all(struct http_client *client)
{
    struct http_client_call *failed;
    for (struct http_client_call *c = client->calls; c; c = c->next)
        c->is_failed = true;
    do {
        failed = client->calls;
        while (failed && !failed->is_failed)
            failed = failed->next;
        if (failed)
            http_call_finish(failed, CURLE_ABORTED_BY_CALLBACK);
    } while (failed);
}

static void http_client_socket_action(struct http_client *client, curl_socket_t fd, int events)
{
    int running;
    const CURLMcode code = curl_multi_socket_action(client->multi, fd, events, &running);
    http_client_collect(client);
    if (code != CURLM_OK && code != CURLM_BAD_SOCKET)
        http_client_fail_all(client);
}

static void http_client_on_poll(uv_poll_t *poll, int status, int events)
{
    const struct socket_watch *socket_watch = poll->data;
    int what = status < 0 ? CURL_CSELECT_ERR : 0;
    what |= events & UV_READABLE ? CURL_CSELECT_IN : 0;
    what |= events & UV_WRITABLE ? CURL_CSELECT_OUT : 0;
    http_client_socket_action(socket_watch->client, socket_watch->fd, what);
}

static void http_client_on_timer(uv_timer_t *timer)
{
    http_client_socket_action(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static int http_client_set_timer(CURLM *multi, long timeout_ms, void *self)
{
    struct http_client *client = self;
    (void)multi;
    if (timeout_ms < 0) {
        must(uv_timer_stop(&client->timer) == 0);
        return 0;
    }
    uv_update_time(client->loop);
    must(uv_timer_start(&client->timer, http_client_on_timer, (uint64_t)timeout_ms, 0) == 0);
    return 0;
}

static void socket_watch_on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static struct socket_watch *socket_watch_new(struct http_client *client, curl_socket_t fd)
{
    struct socket_watch *socket_watch = calloc(1, sizeof *socket_watch);
    if (!socket_watch)
        return NULL;
    if (uv_poll_init_socket(client->loop, &socket_watch->poll, fd) != 0) {
        free(socket_watch);
        return NULL;
    }
    socket_watch->client = client;
    socket_watch->fd = fd;
    socket_watch->poll.data = socket_watch;
    if (curl_multi_assign(client->multi, fd, socket_watch) != CURLM_OK) {
        uv_close((uv_handle_t *)&socket_watch->poll, socket_watch_on_closed);
        return NULL;
    }
    return socket_watch;
}

static int http_client_set_socket(CURL *easy, curl_socket_t fd, int what, void *self, void *known)
{
    struct http_client *client = self;
    struct socket_watch *socket_watch = known;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (socket_watch)
            uv_close((uv_handle_t *)&socket_watch->poll, socket_watch_on_closed);
        ignore(curl_multi_assign(client->multi, fd, NULL),
               "libcurl may have removed the socket already");
        return 0;
    }
    if (!socket_watch)
        socket_watch = socket_watch_new(client, fd);
    if (!socket_watch)
        return -1;
    const int events =
        (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    return uv_poll_start(&socket_watch->poll, events, http_client_on_poll) == 0 ? 0 : -1;
}

struct http_client *http_client_open(uv_loop_t *loop)
{
    struct http_client *client = calloc(1, sizeof *client);
    CURLM *multi = client ? curl_multi_init() : NULL;
    if (!multi) {
        free(client);
        return NULL;
    }
    client->loop = loop;
    client->multi = multi;
    const bool is_set =
        curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, http_client_set_socket) == CURLM_OK &&
        curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, client) == CURLM_OK &&
        curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, http_client_set_timer) == CURLM_OK &&
        curl_multi_setopt(multi, CURLMOPT_TIMERDATA, client) == CURLM_OK &&
        curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_KEPT) == CURLM_OK;
    if (!is_set) {
        ignore(curl_multi_cleanup(multi), "no transfer is in it");
        free(client);
        return NULL;
    }
    must(uv_timer_init(loop, &client->timer) == 0);
    client->timer.data = client;
    return client;
}

static void http_client_on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void http_client_close(struct http_client *client)
{
    while (client->calls)
        http_call_free(client->calls);
    ignore(curl_multi_cleanup(client->multi), "no transfer is left in it");
    uv_close((uv_handle_t *)&client->timer, http_client_on_timer_closed);
}
