/* redfish.c - finding the system behind an endpoint, and what its answers mean.
 *
 * root, session if wanted, collection of systems (page by page), the system, the values its Reset
 * takes if they stand elsewhere; then redfish_act().
 */
#include "power/hammer/redfish.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sys/log.h"

enum { REDIRECTS_MAX = 4, TRIES_MAX = 4, PAGES_MAX = 64, BUSY_MS = 1000, FAREWELL_MS = 5000 };

#define W(r) ((r)->work)

/* ---- asking ---- */

static void answered(void *self, const struct http_client_answer *answer);

static bool is_reading(const struct redfish *r)
{
    return strcmp(r->now.method, "GET") == 0;
}

static void send_now(struct redfish *r)
{
    const struct redfish_request *now = &r->now;
    struct power_op *w = W(r);
    const bool basic = !now->is_anonymous && !r->token;
    const struct http_client_ask ask = {
        .method = now->method,
        .url = power_op_z(w, power_op_say(w, "%s%s", r->base, now->path)),
        .body = now->body,
        .username = basic ? power_op_z(w, w->hammer.username) : NULL,
        .password = basic ? r->password : NULL,
        .token = now->is_anonymous ? NULL : r->token,
        .if_match = now->if_match,
        .ca = r->ca,
        .insecure = r->insecure,
        /* a little more than is left: the deadline's own sentence says more */
        .timeout_ms = power_op_left_ms(w) + 1000,
    };
    power_op_doing(w, "waiting for the answer to %s %s%s", now->method, r->base, now->path);
    r->call = http_client_start(power_op_web(w), &ask, answered, r);
    if (!r->call)
        power_op_fail(w, HAMMER_END_SETTING, "%s %s cannot be asked for", now->method, ask.url);
}

void redfish_ask(struct redfish *r, const struct redfish_request *request)
{
    must(!r->call);
    r->now = *request;
    r->redirects = r->tries = 0;
    send_now(r);
}

void redfish_get(struct redfish *r, const char *path, redfish_step *then)
{
    redfish_ask(r, &(struct redfish_request){.method = "GET", .path = path, .then = then});
}

int64_t redfish_lag_ms(const struct redfish *r)
{
    const uint32_t ours = power_op_options(W(r))->poll_ms;
    return ours ? ours : r->vendor->lag_ms;
}

/* ---- what an answer means ---- */

__attribute__((format(printf, 3, 4))) static void fail(struct redfish *r, enum hammer_end end,
                                                       const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    power_op_fail(W(r), end, "%s%s: %s", r->base, r->now.path, text);
}

static void ask_again(struct power_op *w)
{
    send_now(w->job);
}

/* It says "later". True when there is a later. */
static bool wait_and_retry(struct redfish *r, int64_t retry_after_ms)
{
    const int64_t usual_ms =
        power_op_options(W(r))->poll_ms ? power_op_options(W(r))->poll_ms : BUSY_MS;
    const int64_t wait_ms = retry_after_ms >= 0 ? retry_after_ms : usual_ms << r->tries;
    if (wait_ms >= power_op_left_ms(W(r)) || (retry_after_ms < 0 && r->tries >= TRIES_MAX))
        return false;
    r->tries++;
    if (r->status)
        power_op_seen(W(r), "the service answered %d and asked for patience", r->status);
    else
        power_op_seen(W(r), "the connection was lost before an answer came");
    power_op_pause(W(r), wait_ms, ask_again);
    return true;
}

/* Only to the same place: what we send along is for it alone. */
static bool follow_redirect(struct redfish *r, const char *url)
{
    const size_t base_len = strlen(r->base);
    if (!is_reading(r) || r->redirects++ >= REDIRECTS_MAX || strncmp(url, r->base, base_len) != 0 ||
        !redfish_is_path(str_from(url + base_len)))
        return false;
    r->now.path = power_op_z(W(r), str_from(url + base_len));
    send_now(r);
    return true;
}

static struct json *read_page(struct redfish *r, struct str body, const char **out_why)
{
    struct json *document;
    uint32_t at;
    if (json_read(&r->page, body, &document, &at, out_why) != OK)
        return NULL;
    *out_why = "it is no object";
    return document->kind == JSON_OBJECT ? document : NULL;
}

static enum hammer_end end_of_status(int status)
{
    switch (status) {
    case 401:
    case 403: return HAMMER_END_AUTH;
    case 404:
    case 410: return HAMMER_END_NOT_FOUND;
    case 405:
    case 501: return HAMMER_END_NOT_OFFERED;
    case 409:
    case 412:
    case 423:
    case 429:
    case 503: return HAMMER_END_BUSY;
    default: return HAMMER_END_FAILED;
    }
}

static void fail_status(struct redfish *r, const struct http_client_answer *answer)
{
    const char *why;
    const struct json *document = read_page(r, answer->body, &why);
    const struct str text = redfish_error_text(&r->page, document);
    const enum hammer_end end = end_of_status(answer->status);
    if (answer->status == 401)
        fail(r, end, "user \"%.*s\" or its password is not accepted (401)",
             STR_FMT_ARGS(W(r)->hammer.username));
    else if (answer->status == 403)
        fail(r, end, "user \"%.*s\" may not do this (403): %.*s",
             STR_FMT_ARGS(W(r)->hammer.username), STR_FMT_ARGS(text));
    else if (end == HAMMER_END_NOT_FOUND)
        fail(r, end, "there is no such thing (%d): %.*s", answer->status, STR_FMT_ARGS(text));
    else if (end == HAMMER_END_BUSY)
        fail(r, end, "the service is busy (%d): %.*s", answer->status, STR_FMT_ARGS(text));
    else
        fail(r, end, "%s was answered with %d: %.*s", r->now.method, answer->status,
             STR_FMT_ARGS(text));
}

static void take_good(struct redfish *r, const struct http_client_answer *answer)
{
    const char *why = NULL;
    const struct json *document = NULL;
    if (answer->body.len || is_reading(r))
        document = read_page(r, answer->body, &why);
    /* What an accepted change is answered with beside the status is nobody's business. */
    if (!document && is_reading(r)) {
        fail(r, HAMMER_END_BAD_ANSWER, "the answer is no Redfish document: %s", why);
        return;
    }
    power_op_unseen(W(r)); /* there is something newer now */
    r->now.then(r, document);
}

static bool is_passing(const struct redfish *r, const struct http_client_answer *answer)
{
    switch (answer->status) {
    case 429:
    case 503: return true;
    case 409:
    case 423: return answer->retry_after_ms >= 0;
    case 500:
    case 502:
    case 504: return is_reading(r); /* asking again changes nothing */
    default: return false;
    }
}

static bool is_refusal(int status)
{
    switch (status) {
    case 400:
    case 404:
    case 405:
    case 410:
    case 412:
    case 428: return true;
    default: return false;
    }
}

static void sort_answer(struct redfish *r, const struct http_client_answer *answer)
{
    const int status = answer->status;
    if (status >= 200 && status < 300) {
        take_good(r, answer);
    } else if (status >= 300 && status < 400) {
        if (!follow_redirect(r, answer->redirect))
            fail(r, HAMMER_END_BAD_ANSWER, "it redirects to \"%.200s\", which is not followed",
                 answer->redirect[0] ? answer->redirect : answer->location);
    } else if (is_refusal(status) && r->now.mend && r->now.mend(r, status)) {
        return;
    } else if (!is_passing(r, answer) || !wait_and_retry(r, answer->retry_after_ms)) {
        fail_status(r, answer);
    }
}

static void fail_unanswered(struct redfish *r, const struct http_client_answer *answer)
{
    const bool may_have_happened = answer->end == HAMMER_END_LOST && !is_reading(r);
    const bool is_check = answer->end == HAMMER_END_TLS;
    fail(r, answer->end, "%s%s%s", answer->why,
         may_have_happened ? "; what was asked for may have happened" : "",
         is_check ? "; name its authority in extra.ca, or set extra.insecure to true" : "");
}

static void answered(void *self, const struct http_client_answer *answer)
{
    struct redfish *r = self;
    r->call = NULL;
    r->status = answer->status;
    memcpy(r->etag, answer->etag, strlen(answer->etag) + 1);
    memcpy(r->location, answer->location, strlen(answer->location) + 1);
    arena_reset(&r->page);
    if (answer->end == HAMMER_END_DONE) {
        if (answer->token[0] && !r->token && !is_reading(r))
            r->token = power_op_z(W(r), str_from(answer->token));
        sort_answer(r, answer);
    } else if (answer->end == HAMMER_END_LOST && is_reading(r) && wait_and_retry(r, -1)) {
        return;
    } else {
        fail_unanswered(r, answer);
    }
}

/* ---- tasks ---- */

static void ask_for_task(struct power_op *w);

static void task_seen(struct redfish *r, const struct json *document)
{
    const enum redfish_task task = redfish_task_read(document);
    if (task == REDFISH_TASK_FAILED) {
        const struct str text = redfish_error_text(&r->page, document);
        fail(r, HAMMER_END_FAILED, "the task ended as %.*s: %.*s",
             STR_FMT_ARGS(redfish_text(document, "TaskState")), STR_FMT_ARGS(text));
    } else if (r->status == 202 || task == REDFISH_TASK_RUNS) {
        power_op_seen(W(r), "the task %s of the service still runs", r->now.path);
        power_op_pause(W(r), redfish_lag_ms(r), ask_for_task);
    } else {
        r->task_done(r, NULL);
    }
}

/* A monitor goes when its task is done. */
static bool task_is_gone(struct redfish *r, int status)
{
    if (status != 404 && status != 410)
        return false;
    power_op_unseen(W(r));
    r->task_done(r, NULL);
    return true;
}

static void watch_task(struct redfish *r, const char *path)
{
    redfish_ask(r, &(struct redfish_request){
                       .method = "GET", .path = path, .then = task_seen, .mend = task_is_gone});
}

static void ask_for_task(struct power_op *w)
{
    struct redfish *r = w->job;
    watch_task(r, r->now.path);
}

static const char *path_of_location(struct redfish *r, const char *location)
{
    const size_t base_len = strlen(r->base);
    if (strncmp(location, r->base, base_len) == 0)
        location += base_len;
    const struct str path = str_from(location);
    return redfish_is_path(path) ? power_op_z(W(r), path) : NULL;
}

void redfish_follow(struct redfish *r, const struct json *document, redfish_step *then)
{
    const char *monitor = r->status == 202 ? path_of_location(r, r->location) : NULL;
    const struct str task = redfish_link(document);
    if (!monitor && r->status == 202 && task.len)
        monitor = power_op_z(W(r), task);
    r->task_done = then;
    if (monitor)
        watch_task(r, monitor);
    else
        then(r, NULL);
}

/* ---- finding the system ---- */

static struct str kept(struct redfish *r, struct str s)
{
    return str_copy(&W(r)->arena, s);
}

static void keep_words(struct redfish *r, struct redfish_words *words)
{
    for (uint32_t i = 0; i < words->count; i++)
        words->at[i] = kept(r, words->at[i]);
}

static void info_seen(struct redfish *r, const struct json *document)
{
    redfish_info_read(document, &r->system.reset_types);
    keep_words(r, &r->system.reset_types);
    redfish_act(r);
}

static void keep_system(struct redfish *r, const struct json *document)
{
    struct redfish_system *s = &r->system;
    redfish_system_read(document, s);
    struct str *const texts[] = {&s->id,          &s->manufacturer, &s->oem,
                                 &s->power_word,  &s->reset_path,   &s->reset_info,
                                 &s->boot_target, &s->boot_enabled, &s->boot_mode,
                                 &s->settings,    &s->etag};
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = kept(r, *texts[i]);
    keep_words(r, &s->reset_types);
    keep_words(r, &s->boot_targets);
    keep_words(r, &s->boot_enableds);
    keep_words(r, &s->leds);
    if (r->etag[0])
        s->etag = kept(r, str_from(r->etag));
}

static void system_seen(struct redfish *r, const struct json *document)
{
    keep_system(r, document);
    const struct str tells[] = {r->system.manufacturer, r->root.vendor, r->root.oem, r->system.oem,
                                r->root.product};
    r->vendor = redfish_vendor_find(tells, sizeof tells / sizeof *tells);
    if (r->system.reset_types.count == 0 && r->system.reset_info.len)
        redfish_get(r, power_op_z(W(r), r->system.reset_info), info_seen);
    else
        redfish_act(r);
}

void redfish_look(struct redfish *r, redfish_step *then)
{
    redfish_get(r, r->path, then);
}

static void fail_system(struct redfish *r, const struct json *document, struct str wanted)
{
    const struct str names = redfish_member_names(&r->page, document);
    if (wanted.len)
        fail(r, HAMMER_END_NOT_FOUND, "there is no system \"%.*s\"; there are: %.*s",
             STR_FMT_ARGS(wanted), STR_FMT_ARGS(names));
    else if (r->member_count == 0)
        fail(r, HAMMER_END_NOT_FOUND, "the service has no system");
    else
        fail(r, HAMMER_END_SETTING,
             "the service has %u systems; name one of them in extra.system: %.*s", r->member_count,
             STR_FMT_ARGS(names));
}

static void systems_seen(struct redfish *r, const struct json *document)
{
    struct str wanted;
    struct str path = STR("");
    if (!power_op_text(W(r), W(r)->extra, "system", &wanted))
        return;
    const bool found = redfish_members_read(document, wanted, &r->member_count, &path);
    const struct str next = redfish_next_page(document);
    if (path.len)
        r->member = power_op_z(W(r), path);
    if (!found && next.len && ++r->pages < PAGES_MAX) {
        redfish_get(r, power_op_z(W(r), next), systems_seen);
    } else if (found || (wanted.len == 0 && r->member_count == 1 && r->member)) {
        r->path = r->member;
        redfish_look(r, system_seen);
    } else {
        fail_system(r, document, wanted);
    }
}

static void ask_for_systems(struct redfish *r)
{
    if (r->root.systems.len == 0)
        fail(r, HAMMER_END_BAD_ANSWER, "the service names no systems");
    else
        redfish_get(r, power_op_z(W(r), r->root.systems), systems_seen);
}

static void session_made(struct redfish *r, const struct json *document)
{
    const struct str link = redfish_link(document);
    const char *path = path_of_location(r, r->location);
    r->session = path ? path : link.len ? power_op_z(W(r), link) : NULL;
    if (!r->token)
        fail(r, HAMMER_END_BAD_ANSWER, "the new session has no token");
    else
        ask_for_systems(r);
}

static void ask_for_session(struct redfish *r)
{
    struct power_op *w = W(r);
    struct json *body = json_make(&w->arena, JSON_OBJECT);
    if (r->root.sessions.len == 0) {
        fail(r, HAMMER_END_NOT_OFFERED, "the service has no sessions; use extra.auth \"basic\"");
        return;
    }
    json_set(body, STR("UserName"), json_make_string(&w->arena, w->hammer.username));
    json_set(body, STR("Password"), json_make_string(&w->arena, w->hammer.authenticator));
    r->login = json_write(&w->arena, body);
    redfish_ask(r, &(struct redfish_request){
                       .method = "POST",
                       .path = power_op_z(w, r->root.sessions),
                       .body = r->login,
                       .is_anonymous = true,
                       .then = session_made,
                   });
}

static void root_seen(struct redfish *r, const struct json *document)
{
    struct str auth;
    redfish_root_read(document, &r->root);
    struct str *const texts[] = {&r->root.systems, &r->root.sessions, &r->root.vendor,
                                 &r->root.product, &r->root.oem};
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = kept(r, *texts[i]);
    if (!power_op_text(W(r), W(r)->extra, "auth", &auth))
        return;
    if (str_eq(auth, STR("session")))
        ask_for_session(r);
    else if (auth.len == 0 || str_eq(auth, STR("basic")))
        ask_for_systems(r);
    else
        fail(r, HAMMER_END_SETTING, "extra.auth is \"basic\" or \"session\", not \"%.*s\"",
             STR_FMT_ARGS(auth));
}

/* ---- from start to stop ---- */

/* "https://host:port", with what people put around it taken off. */
static bool read_base(struct redfish *r)
{
    struct power_op *w = W(r);
    struct power_op_address address;
    struct str rest = w->hammer.endpoint;
    const bool is_plain = str_starts(rest, STR("http://"));
    const bool is_full = is_plain || str_starts(rest, STR("https://"));
    rest = str_slice(rest, is_full ? (is_plain ? 7 : 8) : 0, rest.len);
    const uint32_t slash = str_find(rest, '/', 0);
    const struct str path = str_slice(rest, slash, rest.len);
    const bool path_is_fine =
        path.len <= 1 || str_eq(path, STR("/redfish/v1")) || str_eq(path, STR("/redfish/v1/"));
    if (!path_is_fine || !power_op_address_parse(str_slice(rest, 0, slash), &address)) {
        power_op_fail(w, HAMMER_END_SETTING, "the endpoint \"%.*s\" is no https://HOST[:PORT]",
                      STR_FMT_ARGS(w->hammer.endpoint));
        return false;
    }
    if (is_plain && !r->insecure) {
        power_op_fail(w, HAMMER_END_SETTING,
                      "the endpoint \"%.*s\" would be sent the password in the clear; "
                      "extra.insecure allows it",
                      STR_FMT_ARGS(w->hammer.endpoint));
        return false;
    }
    r->base = power_op_z(
        w, power_op_say(w, "%s://%.*s", is_plain ? "http" : "https", (int)slash, rest.at));
    return true;
}

static void start(struct power_op *w)
{
    struct str ca;
    struct redfish *r = arena_new(&w->arena, struct redfish);
    r->work = w;
    w->job = r;
    static const struct str nothing[1];
    r->vendor = redfish_vendor_find(nothing, 0);
    r->insecure = json_is_true(json_get(w->extra, STR("insecure")));
    if (!power_op_text(w, w->extra, "ca", &ca) || !read_base(r))
        return;
    r->ca = ca.len ? power_op_z(w, ca) : NULL;
    r->password = arena_zalloc(&w->arena, (size_t)w->hammer.authenticator.len + 1);
    if (w->hammer.authenticator.len)
        memcpy(r->password, w->hammer.authenticator.at, w->hammer.authenticator.len);
    if (r->insecure)
        log_with(w->order.is_reading ? LOG_DEBUG : LOG_WARNING,
                 LOG_FIELDS(LOG_S("node", w->order.node_name), LOG_Z("endpoint", r->base)),
                 "the certificate of the service is not checked, because extra.insecure is set");
    redfish_ask(
        r, &(struct redfish_request){
               .method = "GET", .path = "/redfish/v1/", .is_anonymous = true, .then = root_seen});
}

/* Services have few sessions to give: ours is given back, and nobody waits for that. */
static void leave_session(struct redfish *r)
{
    struct power_op *w = W(r);
    const struct http_client_ask ask = {
        .method = "DELETE",
        .url = power_op_z(w, power_op_say(w, "%s%s", r->base, r->session)),
        .token = r->token,
        .ca = r->ca,
        .insecure = r->insecure,
        .timeout_ms = FAREWELL_MS,
    };
    ignore(!http_client_start(power_op_web(w), &ask, NULL, NULL), "the service forgets it in time");
}

static void stop(struct power_op *w)
{
    struct redfish *r = w->job;
    if (r->call)
        http_client_cancel(r->call);
    if (r->session && r->token)
        leave_session(r);
    power_op_wipe(str_from(r->password));
    power_op_wipe(r->login);
    arena_fini(&r->page);
}

const struct power_op_class redfish_class = {.name = "redfish", .start = start, .stop = stop};
