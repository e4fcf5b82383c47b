/* redfish.c - driver for Redfish (DMTF DSP0266): requests, interpretation of responses, and the way
 * from the endpoint to the system.
 *
 * The state of an operation is `struct redfish`, in the arena of the operation. op->job refers to
 * it before the first setting is checked, because redfish_stop() needs it after any failure. The
 * parsed document of a response is freed when the next response arrives, so strings that are needed
 * later are copied into the arena of the operation.
 *
 * Sequence of requests: service root, session if extra.auth is "session", collection of systems
 * page by page, the system, the ActionInfo with the allowed ResetType values if the system does not
 * list them; then redfish_act().
 *
 * Retries: a response that means "later" (429, 503, or 409 and 423 with Retry-After) is repeated
 * for every method, because the service did not process the request. Server errors and lost
 * connections are repeated for GET only: any other request may have been executed.
 *
 * Any other failure ends the operation with power_op_fail(), which calls redfish_stop(): neither
 * the operation nor `struct redfish` may be used afterwards.
 *
 * Redirects are followed for GET and within the same host only, because credentials are sent along.
 * The session is deleted at the end without waiting for the response, since services have few of
 * them.
 */
#include "power/hammer/redfish.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sys/log.h"

enum { REDIRECTS_MAX = 4, TRIES_MAX = 4, PAGES_MAX = 64, BUSY_MS = 1000, LOGOUT_MS = 5000 };

#define OP(r) ((r)->op)

/* ---- requests ---- */

static void redfish_on_response(void *self, const struct http_client_response *answer);

static bool redfish_is_get(const struct redfish *r)
{
    return strcmp(r->now.method, "GET") == 0;
}

static void redfish_send_current(struct redfish *r)
{
    const struct redfish_request *now = &r->now;
    struct power_op *op = OP(r);
    const bool basic = !now->is_anonymous && !r->token;
    const struct http_client_request ask = {
        .method = now->method,
        .url = power_op_z(op, power_op_format(op, "%s%s", r->base, now->path)),
        .body = now->body,
        .username = basic ? power_op_z(op, op->hammer.username) : NULL,
        .password = basic ? r->password : NULL,
        .token = now->is_anonymous ? NULL : r->token,
        .if_match = now->if_match,
        .ca = r->ca,
        .insecure = r->insecure,
        /* Later than the deadline of the operation, whose message has more details. */
        .timeout_ms = power_op_left_ms(op) + 1000,
    };
    power_op_set_activity(op, "waiting for the answer to %s %s%s", now->method, r->base, now->path);
    r->call = http_client_start(power_op_http_client(op), &ask, redfish_on_response, r);
    if (!r->call)
        power_op_fail(op, HAMMER_END_SETTING,
                      "request %s %s could not be created: invalid URL or header, or out of memory",
                      now->method, ask.url);
}

void redfish_send(struct redfish *r, const struct redfish_request *request)
{
    must(!r->call);
    r->now = *request;
    r->redirects = r->tries = 0;
    redfish_send_current(r);
}

void redfish_get(struct redfish *r, const char *path, redfish_step *then)
{
    redfish_send(r, &(struct redfish_request){.method = "GET", .path = path, .then = then});
}

int64_t redfish_poll_ms(const struct redfish *r)
{
    const uint32_t ours = power_op_options(OP(r))->poll_ms;
    return ours ? ours : r->vendor->poll_ms;
}

/* ---- responses ---- */

__attribute__((format(printf, 3, 4))) static void redfish_fail(struct redfish *r,
                                                               enum hammer_end end,
                                                               const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    power_op_fail(OP(r), end, "%s%s: %s", r->base, r->now.path, text);
}

static void redfish_resend(struct power_op *op)
{
    redfish_send_current(op->job);
}

/* Repeats the request after the time that the service requested, or after doubling pauses. False:
 * the deadline or the number of tries does not permit it. */
static bool redfish_retry_later(struct redfish *r, int64_t retry_after_ms)
{
    const int64_t usual_ms =
        power_op_options(OP(r))->poll_ms ? power_op_options(OP(r))->poll_ms : BUSY_MS;
    const int64_t wait_ms = retry_after_ms >= 0 ? retry_after_ms : usual_ms << r->tries;
    if (wait_ms >= power_op_left_ms(OP(r)) || (retry_after_ms < 0 && r->tries >= TRIES_MAX))
        return false;
    r->tries++;
    if (r->status)
        power_op_set_observation(OP(r), "the service answered %d (try again later)", r->status);
    else
        power_op_set_observation(OP(r), "the connection was lost before a response arrived");
    power_op_pause(OP(r), wait_ms, redfish_resend);
    return true;
}

/* Only within the same host: the request carries its credentials. */
static bool redfish_follow_redirect(struct redfish *r, const char *url)
{
    const size_t base_len = strlen(r->base);
    if (!redfish_is_get(r) || r->redirects++ >= REDIRECTS_MAX ||
        strncmp(url, r->base, base_len) != 0 || !redfish_is_path(str_from(url + base_len)))
        return false;
    r->now.path = power_op_z(OP(r), str_from(url + base_len));
    redfish_send_current(r);
    return true;
}

static struct json *redfish_parse_body(struct redfish *r, struct str body, const char **out_why)
{
    struct json *document;
    uint32_t at;
    if (json_read(&r->page, body, &document, &at, out_why) != OK)
        return NULL;
    *out_why = "it is not a JSON object";
    return document->kind == JSON_OBJECT ? document : NULL;
}

static enum hammer_end redfish_status_end(int status)
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

static void redfish_fail_status(struct redfish *r, const struct http_client_response *answer)
{
    const char *why;
    const struct json *document = redfish_parse_body(r, answer->body, &why);
    const struct str text = redfish_error_text(&r->page, document);
    const enum hammer_end end = redfish_status_end(answer->status);
    if (answer->status == 401)
        redfish_fail(r, end, "user \"%.*s\" or its password is not accepted (401)",
                     STR_FMT_ARGS(OP(r)->hammer.username));
    else if (answer->status == 403)
        redfish_fail(r, end, "user \"%.*s\" may not do this (403): %.*s",
                     STR_FMT_ARGS(OP(r)->hammer.username), STR_FMT_ARGS(text));
    else if (end == HAMMER_END_NOT_FOUND)
        redfish_fail(r, end, "the resource does not exist (%d): %.*s", answer->status,
                     STR_FMT_ARGS(text));
    else if (end == HAMMER_END_BUSY)
        redfish_fail(r, end, "the service is busy (%d): %.*s", answer->status, STR_FMT_ARGS(text));
    else
        redfish_fail(r, end, "%s was answered with %d: %.*s", r->now.method, answer->status,
                     STR_FMT_ARGS(text));
}

static void redfish_on_success(struct redfish *r, const struct http_client_response *answer)
{
    const char *why = NULL;
    const struct json *document = NULL;
    if (answer->body.len || redfish_is_get(r))
        document = redfish_parse_body(r, answer->body, &why);
    /* The body of the response to a change is optional, and ignored if it is not JSON. */
    if (!document && redfish_is_get(r)) {
        redfish_fail(r, HAMMER_END_BAD_ANSWER, "the response is not a Redfish document: %s", why);
        return;
    }
    power_op_clear_observation(OP(r)); /* this response is newer */
    r->now.then(r, document);
}

/* True if the failure may be temporary and repeating the request is safe. */
static bool redfish_is_temporary(const struct redfish *r, const struct http_client_response *answer)
{
    switch (answer->status) {
    case 429:
    case 503: return true;
    case 409:
    case 423: return answer->retry_after_ms >= 0;
    case 500:
    case 502:
    case 504: return redfish_is_get(r); /* a repeated GET changes nothing */
    default: return false;
    }
}

/* True if another form of the request may be accepted (redfish_request.on_refusal). */
static bool redfish_is_refusal(int status)
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

static void redfish_handle_status(struct redfish *r, const struct http_client_response *answer)
{
    const int status = answer->status;
    if (status >= 200 && status < 300) {
        redfish_on_success(r, answer);
    } else if (status >= 300 && status < 400) {
        if (!redfish_follow_redirect(r, answer->redirect))
            redfish_fail(r, HAMMER_END_BAD_ANSWER,
                         "the service redirects to \"%.200s\", which is not followed",
                         answer->redirect[0] ? answer->redirect : answer->location);
    } else if (redfish_is_refusal(status) && r->now.on_refusal && r->now.on_refusal(r, status)) {
        return;
    } else if (!redfish_is_temporary(r, answer) ||
               !redfish_retry_later(r, answer->retry_after_ms)) {
        redfish_fail_status(r, answer);
    }
}

static void redfish_on_response(void *self, const struct http_client_response *answer)
{
    struct redfish *r = self;
    r->call = NULL;
    r->status = answer->status;
    memcpy(r->etag, answer->etag, strlen(answer->etag) + 1);
    memcpy(r->location, answer->location, strlen(answer->location) + 1);
    arena_reset(&r->page);
    if (answer->end == HAMMER_END_DONE) {
        /* Before the response is handled: redfish_on_session() requires the token. */
        if (answer->token[0] && !r->token && !redfish_is_get(r))
            r->token = power_op_z(OP(r), str_from(answer->token));
        redfish_handle_status(r, answer);
    } else if (answer->end == HAMMER_END_LOST && redfish_is_get(r) && redfish_retry_later(r, -1)) {
        return;
    } else {
        const bool may_have_happened = answer->end == HAMMER_END_LOST && !redfish_is_get(r);
        const bool is_tls = answer->end == HAMMER_END_TLS;
        redfish_fail(r, answer->end, "%s%s%s", answer->why,
                     may_have_happened ? "; the action may have happened" : "",
                     is_tls ? "; name its CA in extra.ca, or set extra.insecure to true" : "");
    }
}

/* ---- tasks ---- */

static void redfish_poll_task(struct power_op *op);

static void redfish_on_task(struct redfish *r, const struct json *document)
{
    const enum redfish_task task = redfish_task_read(document);
    if (task == REDFISH_TASK_FAILED) {
        const struct str text = redfish_error_text(&r->page, document);
        redfish_fail(r, HAMMER_END_FAILED, "the task ended as %.*s: %.*s",
                     STR_FMT_ARGS(redfish_text(document, "TaskState")), STR_FMT_ARGS(text));
    } else if (r->status == 202 || task == REDFISH_TASK_RUNS) {
        power_op_set_observation(OP(r), "the task %s of the service still runs", r->now.path);
        power_op_pause(OP(r), redfish_poll_ms(r), redfish_poll_task);
    } else {
        r->task_done(r, NULL);
    }
}

/* Some services delete the task monitor when the task has ended. */
static bool redfish_on_task_deleted(struct redfish *r, int status)
{
    if (status != 404 && status != 410)
        return false;
    power_op_clear_observation(OP(r));
    r->task_done(r, NULL);
    return true;
}

static void redfish_get_task(struct redfish *r, const char *path)
{
    redfish_send(r, &(struct redfish_request){.method = "GET",
                                              .path = path,
                                              .then = redfish_on_task,
                                              .on_refusal = redfish_on_task_deleted});
}

static void redfish_poll_task(struct power_op *op)
{
    struct redfish *r = op->job;
    redfish_get_task(r, r->now.path);
}

static const char *redfish_location_path(struct redfish *r, const char *location)
{
    const size_t base_len = strlen(r->base);
    if (strncmp(location, r->base, base_len) == 0)
        location += base_len;
    const struct str path = str_from(location);
    return redfish_is_path(path) ? power_op_z(OP(r), path) : NULL;
}

void redfish_await_task(struct redfish *r, const struct json *document, redfish_step *then)
{
    const char *monitor = r->status == 202 ? redfish_location_path(r, r->location) : NULL;
    const struct str task = redfish_link(document);
    if (!monitor && r->status == 202 && task.len)
        monitor = power_op_z(OP(r), task);
    r->task_done = then;
    if (monitor)
        redfish_get_task(r, monitor);
    else
        then(r, NULL);
}

/* ---- finding the system ---- */

static struct str redfish_copy_str(struct redfish *r, struct str s)
{
    return str_copy(&OP(r)->arena, s);
}

static void redfish_copy_words(struct redfish *r, struct redfish_words *words)
{
    for (uint32_t i = 0; i < words->count; i++)
        words->at[i] = redfish_copy_str(r, words->at[i]);
}

static void redfish_on_action_info(struct redfish *r, const struct json *document)
{
    redfish_info_read(document, &r->system.reset_types);
    redfish_copy_words(r, &r->system.reset_types);
    redfish_act(r);
}

static void redfish_copy_system(struct redfish *r, const struct json *document)
{
    struct redfish_system *s = &r->system;
    redfish_system_read(document, s);
    struct str *const texts[] = {&s->id,          &s->manufacturer, &s->oem,
                                 &s->power_word,  &s->reset_path,   &s->reset_info,
                                 &s->boot_target, &s->boot_enabled, &s->boot_mode,
                                 &s->settings,    &s->etag};
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = redfish_copy_str(r, *texts[i]);
    redfish_copy_words(r, &s->reset_types);
    redfish_copy_words(r, &s->boot_targets);
    redfish_copy_words(r, &s->boot_enableds);
    redfish_copy_words(r, &s->leds);
    if (r->etag[0])
        s->etag = redfish_copy_str(r, str_from(r->etag));
}

static void redfish_on_system(struct redfish *r, const struct json *document)
{
    redfish_copy_system(r, document);
    const struct str names[] = {r->system.manufacturer, r->root.vendor, r->root.oem, r->system.oem,
                                r->root.product};
    r->vendor = redfish_vendor_find(names, sizeof names / sizeof *names);
    if (r->system.reset_types.count == 0 && r->system.reset_info.len)
        redfish_get(r, power_op_z(OP(r), r->system.reset_info), redfish_on_action_info);
    else
        redfish_act(r);
}

void redfish_read_system(struct redfish *r, redfish_step *then)
{
    redfish_get(r, r->path, then);
}

static void redfish_fail_no_system(struct redfish *r, const struct json *document,
                                   struct str wanted)
{
    const struct str names = redfish_member_names(&r->page, document);
    if (wanted.len)
        redfish_fail(r, HAMMER_END_NOT_FOUND, "there is no system \"%.*s\"; there are: %.*s",
                     STR_FMT_ARGS(wanted), STR_FMT_ARGS(names));
    else if (r->member_count == 0)
        redfish_fail(r, HAMMER_END_NOT_FOUND, "the service has no system");
    else
        redfish_fail(r, HAMMER_END_SETTING,
                     "the service has %u systems; name one of them in extra.system: %.*s",
                     r->member_count, STR_FMT_ARGS(names));
}

/* A page of the collection. Pages are read until the wanted system is found. Without extra.system
 * all of them are read, because the system is chosen only if there is exactly one. */
static void redfish_on_systems(struct redfish *r, const struct json *document)
{
    struct str wanted;
    struct str path = STR("");
    if (!power_op_text(OP(r), OP(r)->extra, "system", &wanted))
        return;
    const bool found = redfish_members_read(document, wanted, &r->member_count, &path);
    const struct str next = redfish_next_page(document);
    if (path.len)
        r->member = power_op_z(OP(r), path);
    if (!found && next.len && ++r->pages < PAGES_MAX) {
        redfish_get(r, power_op_z(OP(r), next), redfish_on_systems);
    } else if (found || (wanted.len == 0 && r->member_count == 1 && r->member)) {
        r->path = r->member;
        redfish_read_system(r, redfish_on_system);
    } else {
        redfish_fail_no_system(r, document, wanted);
    }
}

static void redfish_get_systems(struct redfish *r)
{
    if (r->root.systems.len == 0)
        redfish_fail(r, HAMMER_END_BAD_ANSWER, "the service names no systems");
    else
        redfish_get(r, power_op_z(OP(r), r->root.systems), redfish_on_systems);
}

static void redfish_on_session(struct redfish *r, const struct json *document)
{
    const struct str link = redfish_link(document);
    const char *path = redfish_location_path(r, r->location);
    r->session = path ? path : link.len ? power_op_z(OP(r), link) : NULL;
    if (!r->token)
        redfish_fail(r, HAMMER_END_BAD_ANSWER, "the new session has no token");
    else
        redfish_get_systems(r);
}

static void redfish_create_session(struct redfish *r)
{
    struct power_op *op = OP(r);
    struct json *body = json_make(&op->arena, JSON_OBJECT);
    if (r->root.sessions.len == 0) {
        redfish_fail(r, HAMMER_END_NOT_OFFERED,
                     "the service offers no sessions; set extra.auth to \"basic\"");
        return;
    }
    json_set(body, STR("UserName"), json_make_string(&op->arena, op->hammer.username));
    json_set(body, STR("Password"), json_make_string(&op->arena, op->hammer.authenticator));
    r->login = json_write(&op->arena, body);
    redfish_send(r, &(struct redfish_request){
                        .method = "POST",
                        .path = power_op_z(op, r->root.sessions),
                        .body = r->login,
                        .is_anonymous = true,
                        .then = redfish_on_session,
                    });
}

static void redfish_on_root(struct redfish *r, const struct json *document)
{
    struct str auth;
    redfish_root_read(document, &r->root);
    struct str *const texts[] = {&r->root.systems, &r->root.sessions, &r->root.vendor,
                                 &r->root.product, &r->root.oem};
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = redfish_copy_str(r, *texts[i]);
    if (!power_op_text(OP(r), OP(r)->extra, "auth", &auth))
        return;
    if (str_eq(auth, STR("session")))
        redfish_create_session(r);
    else if (auth.len == 0 || str_eq(auth, STR("basic")))
        redfish_get_systems(r);
    else
        redfish_fail(r, HAMMER_END_SETTING, "extra.auth is \"basic\" or \"session\", not \"%.*s\"",
                     STR_FMT_ARGS(auth));
}

/* ---- start and stop ---- */

/* Reduces the endpoint to "https://HOST[:PORT]". The scheme and the path /redfish/v1 are optional
 * in the endpoint. */
static bool redfish_read_base(struct redfish *r)
{
    struct power_op *op = OP(r);
    struct power_op_address address;
    struct str rest = op->hammer.endpoint;
    const bool is_plain = str_starts(rest, STR("http://"));
    const bool is_full = is_plain || str_starts(rest, STR("https://"));
    rest = str_slice(rest, is_full ? (is_plain ? 7 : 8) : 0, rest.len);
    const uint32_t slash = str_find(rest, '/', 0);
    const struct str path = str_slice(rest, slash, rest.len);
    const bool path_is_fine =
        path.len <= 1 || str_eq(path, STR("/redfish/v1")) || str_eq(path, STR("/redfish/v1/"));
    if (!path_is_fine || !power_op_address_parse(str_slice(rest, 0, slash), &address)) {
        power_op_fail(op, HAMMER_END_SETTING, "the endpoint \"%.*s\" is not https://HOST[:PORT]",
                      STR_FMT_ARGS(op->hammer.endpoint));
        return false;
    }
    if (is_plain && !r->insecure) {
        power_op_fail(op, HAMMER_END_SETTING,
                      "the password would be sent in the clear to the endpoint \"%.*s\"; use "
                      "https, or set extra.insecure to true",
                      STR_FMT_ARGS(op->hammer.endpoint));
        return false;
    }
    r->base = power_op_z(
        op, power_op_format(op, "%s://%.*s", is_plain ? "http" : "https", (int)slash, rest.at));
    return true;
}

static void redfish_start(struct power_op *op)
{
    struct str ca;
    struct redfish *r = arena_new(&op->arena, struct redfish);
    r->op = op;
    op->job = r;
    static const struct str nothing[1];
    r->vendor = redfish_vendor_find(nothing, 0);
    r->insecure = json_is_true(json_get(op->extra, STR("insecure")));
    if (!power_op_text(op, op->extra, "ca", &ca) || !redfish_read_base(r))
        return;
    r->ca = ca.len ? power_op_z(op, ca) : NULL;
    r->password = arena_zalloc(&op->arena, (size_t)op->hammer.authenticator.len + 1);
    if (op->hammer.authenticator.len)
        memcpy(r->password, op->hammer.authenticator.at, op->hammer.authenticator.len);
    if (r->insecure)
        log_with(op->order.is_reading ? LOG_DEBUG : LOG_WARNING,
                 LOG_FIELDS(LOG_S("node", op->order.node_name), LOG_Z("endpoint", r->base)),
                 "the certificate of %s (node \"%.*s\") is not verified, because extra.insecure is "
                 "set",
                 r->base, STR_FMT_ARGS(op->order.node_name));
    redfish_send(r, &(struct redfish_request){.method = "GET",
                                              .path = "/redfish/v1/",
                                              .is_anonymous = true,
                                              .then = redfish_on_root});
}

/* Services have few sessions, so ours is deleted. The operation does not wait for the response. */
static void redfish_delete_session(struct redfish *r)
{
    struct power_op *op = OP(r);
    const struct http_client_request ask = {
        .method = "DELETE",
        .url = power_op_z(op, power_op_format(op, "%s%s", r->base, r->session)),
        .token = r->token,
        .ca = r->ca,
        .insecure = r->insecure,
        .timeout_ms = LOGOUT_MS,
    };
    ignore(!http_client_start(power_op_http_client(op), &ask, NULL, NULL),
           "the service deletes idle sessions");
}

static void redfish_stop(struct power_op *op)
{
    struct redfish *r = op->job;
    if (r->call)
        http_client_cancel(r->call);
    if (r->session && r->token)
        redfish_delete_session(r);
    power_op_wipe(str_from(r->password));
    power_op_wipe(r->login);
    arena_fini(&r->page);
}

const struct power_op_class redfish_class = {
    .name = "redfish", .start = redfish_start, .stop = redfish_stop};
