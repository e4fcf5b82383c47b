#include "api/call/api.h"

#include <stdlib.h>

#include "api/call/auth.h"
#include "api/call/authorize.h"
#include "api/call/call.h"
#include "api/call/change_feed.h"
#include "api/call/csrf.h"
#include "api/call/metrics.h"
#include "api/call/params.h"
#include "api/call/refused_reports.h"
#include "api/call/reply.h"
#include "api/call/route.h"
#include "api/call/streaming.h"
#include "auth/auth_state.h"
#include "core/core.h"
#include "http/address.h"
#include "model/limits.h"

/* Owns `struct api` and the life cycle of calls (requests), from the HTTP request to the reply.
 * api_serve() authenticates the caller (auth.c), call_try() runs the handler of the route, and the
 * call waits for at most one thing (enum call_wait). A call that api_serve() created is answered
 * exactly once, and is freed by that.
 *
 * Order: authentication comes before routing errors, so that unauthenticated clients cannot probe
 * paths. The reply to a read is sent only after the turn it was read from is durable; the outcome
 * of a command arrives only after its batch is committed.
 *
 * Failure: errors become replies (reply_failure). If the core is dropped, waiting reads are
 * computed again. If the client disconnects, the call is ended at once; a submitted command is
 * executed all the same, and its outcome finds no call. While a password is verified or hashed the
 * call is kept, because the worker thread refers to it. */

enum { NUMBER_BUCKETS = 1024, TRIES_MAX = 5 };
_Static_assert(ANSWER_DOC_MAX <= CALL_MEMORY_MAX / 2, "the document is copied into the answer");

struct api {
    struct api_engine engine;
    struct passwords *passwords;
    struct auth_state auth;
    struct call *first; /* all waiting calls, oldest first */
    struct call *last;
    struct call *numbered[NUMBER_BUCKETS]; /* calls with a request number, hashed by it */
    int64_t last_number; /* positive; the commands of the daemon itself have other numbers */
    struct reply_streams streams;
    struct request_counts counts;
    struct refused_reports refusals;
    struct change_feed changes;
};

struct api *api_new(struct api_engine engine, struct passwords *passwords)
{
    struct api *api = calloc(1, sizeof *api);
    must(api);
    api->engine = engine;
    api->passwords = passwords;
    api->auth = auth_state_open();
    request_counts_init(&api->counts);
    return api;
}

const struct api_engine *call_engine(const struct call *call)
{
    return &call->api->engine;
}

const struct refused_reports *call_refusals(const struct call *call)
{
    return &call->api->refusals;
}

struct change_feed *api_change_feed(struct api *api)
{
    return &api->changes;
}

struct request_counts *call_counts(const struct call *call)
{
    return &call->api->counts;
}

void call_note(const struct call *call)
{
    enum { CLIENT_GONE = 499 };
    request_counts_note(call_counts(call), call->request->method,
                        call->is_client_gone ? CLIENT_GONE : call->reply.status,
                        (uv_hrtime() - call->began_ns) / 1000);
}

struct passwords *call_passwords(const struct call *call)
{
    return call->api->passwords;
}

struct reply_streams *call_streams(const struct call *call)
{
    return &call->api->streams;
}

struct auth_state *call_auth_state(const struct call *call)
{
    return &call->api->auth;
}

/* ---- waiting calls ---- */

void call_wait(struct call *call, enum call_wait what)
{
    struct api *api = call->api;
    must(call->waits == WAITS_NOTHING);
    call->waits = what;
    call->prev = api->last;
    call->next = NULL;
    *(api->last ? &api->last->next : &api->first) = call;
    api->last = call;
}

static struct call **api_number_bucket(struct api *api, int64_t number)
{
    return &api->numbered[(uint64_t)number % NUMBER_BUCKETS];
}

int64_t call_take_number(struct call *call)
{
    struct api *api = call->api;
    must(!call->number);
    call->number = ++api->last_number;
    struct call **bucket = api_number_bucket(api, call->number);
    call->next_numbered = *bucket;
    *bucket = call;
    return call->number;
}

void call_drop_number(struct call *call)
{
    struct call **at = api_number_bucket(call->api, call->number);
    while (*at != call)
        at = &(*at)->next_numbered;
    *at = call->next_numbered;
    call->number = 0;
}

void call_resume(struct call *call)
{
    struct api *api = call->api;
    must(call->waits != WAITS_NOTHING);
    if (call->number)
        call_drop_number(call);
    *(call->prev ? &call->prev->next : &api->first) = call->next;
    *(call->next ? &call->next->prev : &api->last) = call->prev;
    call->waits = WAITS_NOTHING;
}

/* Assigns a request number, then waits. */
static void call_wait_numbered(struct call *call, enum call_wait what)
{
    ignore(call_take_number(call), "it is in the call");
    call_wait(call, what);
}

int64_t call_wait_history(struct call *call,
                          enum handler_result (*on_history)(struct call *call,
                                                            const struct record *records,
                                                            uint32_t count))
{
    call_wait_numbered(call, WAITS_HISTORY);
    call->on_history = on_history;
    return call->number;
}

enum handler_result call_history_failed(struct call *call, err why)
{
    call_resume(call);
    reply_failure(call, why);
    return SERVED_REPLY;
}

enum handler_result call_submit(struct call *call, struct command *command,
                                void (*finish)(struct call *call, int64_t id))
{
    struct api *api = call->api;
    if (!authorize_command(call, command))
        return SERVED_REPLY;
    /* Reserve the memory of the reply before the command is submitted: after the change was made,
     * the reply cannot be refused for lack of memory. */
    if (!http_memory_fits(call->request, call->arena->held)) {
        reply_full(call);
        return SERVED_REPLY;
    }
    http_count_memory(call->request, call->arena->held);
    call_wait_numbered(call, WAITS_OUTCOME);
    call->finish = finish;
    command->request = call->number;
    command->actor = call->caller.actor;
    command->address = address_format(call->arena, call->request->client);
    command->by = authorize_principal(call);
    command->if_turn = call->if_turn;
    const err e = api->engine.submit(api->engine.self, command);
    if (e == OK)
        return SERVED_LATER;
    call_resume(call);
    reply_failure(call, e);
    return SERVED_REPLY;
}

/* ---- replies ---- */

static struct http_answer call_http_answer(const struct call *call)
{
    must(call->waits == WAITS_NOTHING && call->reply.status);
    return (struct http_answer){.status = call->reply.status,
                                .content_type = call->reply.content_type,
                                .body = call->reply.body,
                                .headers = call->reply.headers,
                                .header_count = call->reply.header_count};
}

void call_answer(struct call *call)
{
    const struct http_answer answer = call_http_answer(call);
    call_note(call);
    http_answer(call->request, &answer);
}

/* Runs the handler. The credentials are checked against call->core again, because a waiting call
 * may be served by a newer core in which the user or token has changed. */
static enum handler_result call_serve_once(struct call *call)
{
    if (!auth_holds(call)) {
        reply_unauthorized(
            call, "the credentials were changed or revoked during the request; log in again");
        return SERVED_REPLY;
    }
    if (!authorize_request(call))
        return SERVED_REPLY;
    if (!params_read_projection(call) || call->route->serve(call) == SERVED_REPLY) {
        if (call->problems)
            reply_problems(call, call->problems);
        return SERVED_REPLY;
    }
    return SERVED_LATER;
}

bool call_reserve_memory(struct call *call, size_t more)
{
    const size_t bytes = call->arena->held + more;
    const bool is_over = bytes > CALL_MEMORY_MAX;
    if (!is_over && http_memory_fits(call->request, bytes)) {
        http_count_memory(call->request, bytes);
        return true;
    }
    if (is_over)
        reply_too_large(call);
    else
        reply_full(call);
    return false;
}

void call_send_when_durable(struct call *call)
{
    /* The memory of the reply is accounted for until it is sent. The reply is replaced by a refusal
     * if that is too much: for one request, or together with all other replies. */
    if (call_is_over_memory(call))
        reply_too_large(call);
    else if (!http_memory_fits(call->request, call->arena->held))
        reply_full(call);
    http_count_memory(call->request, call->arena->held);
    if (call_is_durable(call) || call->route->is_immediate) {
        call_answer(call);
    } else if (call_is_stalled(call)) {
        reply_failure(call, ERR_UNAVAILABLE);
        call_answer(call);
    } else {
        call_wait(call, WAITS_DURABLE);
    }
}

/* One attempt: reset the state of an earlier one, run the handler with the current core. */
static void call_try(struct call *call)
{
    const struct api_engine *engine = &call->api->engine;
    call->core = call_core(call);
    call->seen = engine->seen(engine->self);
    call->params = NULL;
    call->wanted = NULL;
    call->problems = call->last_problem = NULL;
    call->reply = (struct reply){0};
    call->if_turn = 0;
    call->can_try_again = false;
    call->handler_state = NULL;
    if (!call->core) {
        reply_failure(call, ERR_UNAVAILABLE);
        call_answer(call);
    } else if (call_serve_once(call) == SERVED_REPLY) {
        call_send_when_durable(call);
    }
}

void call_restart(struct call *call)
{
    arena_rewind(call->arena, call->mark);
    call_try(call);
}

enum handler_result call_retry_when_durable(struct call *call)
{
    if (call_is_stalled(call))
        return SERVED_REPLY; /* call_send_when_durable() replies 503 */
    call_wait(call, WAITS_DURABLE);
    return SERVED_LATER;
}

static void call_refuse_path(struct call *call)
{
    if (call->methods) {
        const struct str allowed = route_allowed(call);
        reply_error(call, 405, "not_supported",
                    STR_CONCAT(call->arena, call->request->path,
                               STR(" does not support this method; supported: "), allowed));
        reply_header(call, "Allow", allowed);
    } else {
        reply_error(call, 404, "not_found",
                    STR_CONCAT(call->arena, STR("there is no route "), call->request->path,
                               STR("; /api/openapi.json lists all routes")));
    }
}

void call_admit(struct call *call)
{
    if (!call->route) {
        call_refuse_path(call);
        call_answer(call);
        return;
    }
    call->mark = arena_mark(call->arena);
    call_try(call);
}

static struct call *call_new(struct api *api, struct http_request *request)
{
    struct call *call = arena_new(&request->arena, struct call);
    call->api = api;
    call->request = request;
    call->arena = &request->arena;
    call->tries_left = TRIES_MAX;
    call->began_ns = uv_hrtime();
    route_find(call);
    return call;
}

/* Comes before the credentials: a page of another site must not be able to try passwords either. */
static bool call_refuse_foreign(struct call *call)
{
    if (!csrf_is_foreign_origin(call->request))
        return false;
    reply_error(call, 403, "forbidden",
                STR("a request that changes something must not come from a page of another site; "
                    "the headers Origin or Sec-Fetch-Site name one"));
    return true;
}

static bool route_is_public(const struct call *call)
{
    return call->route && call->route->access == ROUTE_AUTH_NONE;
}

static void api_serve(void *self, struct http_request *request)
{
    struct call *call = call_new(self, request);
    request->context = call;
    if (call_refuse_foreign(call)) {
        call_answer(call);
    } else if (route_is_public(call)) {
        must(call->route->serve(call) == SERVED_REPLY);
        call_answer(call);
    } else {
        auth_begin(call);
    }
}

/* Called when the headers are complete: a client that is refused anyway need not send its body.
 * Checks that need a password, and requests without a body, are left to api_serve(). Returns the
 * status, 0: read the body. */
static int api_check_head(void *self, struct http_request *request, struct http_answer *out_answer)
{
    const struct str length = http_header(request, "Content-Length");
    const bool has_body =
        http_header(request, "Transfer-Encoding").len || (length.len && !str_eq(length, STR("0")));
    if (!has_body)
        return 0;
    struct call *call = call_new(self, request);
    bool known = false;
    const bool refused =
        call_refuse_foreign(call) || (!route_is_public(call) && auth_refuses(call, &known));
    if (!refused && known && !call->route)
        call_refuse_path(call);
    else if (!refused)
        return 0;
    *out_answer = call_http_answer(call);
    call_note(call);
    return out_answer->status;
}

/* The client disconnected. The reply is dropped by the HTTP server, but has to be made. */
static void api_client_gone(void *self, struct http_request *request)
{
    struct call *call = request->context;
    (void)self;
    if (!call || call->waits == WAITS_NOTHING)
        return;
    call->is_client_gone = true;
    if (call->waits == WAITS_PASSWORD) /* its thread uses the arena of the request until it ends */
        return;
    if (call->stream) {
        reply_stream_gone(call->stream);
        return;
    }
    call_resume(call);
    reply_failure(call, ERR_UNKNOWN);
    call_answer(call);
}

static void api_stream_drained(void *self, struct http_request *request)
{
    struct call *call = request->context;
    (void)self;
    if (call->stream)
        reply_stream_drained(call->stream);
}

static void api_server_stopping(void *self, struct http_request *request)
{
    struct call *call = request->context;
    (void)self;
    if (call->stream)
        reply_stream_stopping(call->stream);
}

struct http_handler api_handler(struct api *api)
{
    return (struct http_handler){.self = api,
                                 .serve = api_serve,
                                 .admit = api_check_head,
                                 .gone = api_client_gone,
                                 .drained = api_stream_drained,
                                 .stopping = api_server_stopping};
}

bool api_pump(struct api *api)
{
    return reply_streams_pump(&api->streams);
}

bool api_has_infinite_streams(const struct api *api)
{
    return api->streams.infinite_count > 0;
}

void api_poll_streams(struct api *api)
{
    reply_streams_poll(&api->streams);
}

/* ---- results from the engine ---- */

static struct call *api_find_numbered(struct api *api, int64_t number)
{
    struct call *call = *api_number_bucket(api, number);
    while (call && call->number != number)
        call = call->next_numbered;
    return call;
}

static struct call *api_take_numbered(struct api *api, int64_t number)
{
    struct call *call = api_find_numbered(api, number);
    if (call)
        call_resume(call);
    return call;
}

void api_outcome(struct api *api, int64_t request, const struct outcome *outcome, int64_t turn)
{
    struct call *call = api_take_numbered(api, request);
    if (!call)
        return;
    must(outcome->verdict != VERDICT_NEEDS_HOOKS);
    /* The call is served again if another command changed the object between the read and the
     * command, and the precondition was set by the API, not by the client. */
    if (call->can_try_again && outcome->verdict == VERDICT_REFUSED &&
        outcome->problems->code == PROBLEM_PRECONDITION_FAILED && call->tries_left-- > 0) {
        call_restart(call);
        return;
    }
    call->core = api->engine.core(api->engine.self);
    call->seen = turn; /* the outcome arrives after its batch is committed */
    /* The reply of a read may be refused because of its size; the reply of a change must not be. */
    const bool is_long = call->request->method == HTTP_GET && outcome->doc.len > ANSWER_DOC_MAX;
    call->doc = is_long ? STR("") : str_copy(call->arena, outcome->doc);
    if (is_long)
        reply_too_large(call);
    else if (outcome->verdict == VERDICT_DONE)
        call->finish(call, outcome->id);
    else
        refused_reports_reply(&api->refusals, call, outcome->problems);
    call_answer(call);
}

void api_failed(struct api *api, int64_t request, err why)
{
    struct call *call = api_take_numbered(api, request);
    if (!call)
        return;
    reply_failure(call, why);
    call_answer(call);
}

/* The core may have been replaced since the query was started, or dropped. */
void api_on_history(struct api *api, int64_t number, const struct record *records, uint32_t count,
                    err why)
{
    struct call *call = api_find_numbered(api, number);
    if (!call)
        return;
    if (call->stream) {
        reply_stream_found(call->stream, records, count, why);
        return;
    }
    call_resume(call);
    call->core = api->engine.core(api->engine.self);
    call->seen = api->engine.seen(api->engine.self);
    if (why != OK || !call->core) {
        reply_failure(call, why != OK ? why : ERR_UNAVAILABLE);
        call_answer(call);
    } else if (call->on_history(call, records, count) == SERVED_REPLY) {
        if (call->problems)
            reply_problems(call, call->problems);
        call_send_when_durable(call);
    }
}

/* Removes the calls that wait for that turn or an earlier one and returns them as a list, oldest
 * first: sending a reply can start new calls, so the list of the API must not be iterated. */
static struct call *api_take_durability_waiters(struct api *api, int64_t turn)
{
    struct call *taken = NULL, **end = &taken;
    for (struct call *call = api->first, *next; call; call = next) {
        next = call->next;
        if (call->waits != WAITS_DURABLE || call->seen > turn)
            continue;
        call_resume(call);
        call->next = NULL;
        *end = call;
        end = &call->next;
    }
    return taken;
}

void api_durable(struct api *api, int64_t turn)
{
    reply_streams_durable(&api->streams);
    for (struct call *call = api_take_durability_waiters(api, turn), *next; call; call = next) {
        next = call->next;
        if (call->reply.status)
            call_answer(call);
        else
            call_restart(call);
    }
}

void api_reloaded(struct api *api)
{
    reply_streams_reloaded(&api->streams);
    for (struct call *call = api_take_durability_waiters(api, INT64_MAX), *next; call;
         call = next) {
        next = call->next;
        call_restart(call);
    }
}

void api_free(struct api *api)
{
    if (!api)
        return;
    reply_streams_close(&api->streams);
    while (api->first) {
        struct call *call = api->first;
        /* A submitted command may still be committed: its outcome is unknown. */
        const err why = call->waits == WAITS_OUTCOME ? ERR_UNKNOWN : ERR_UNAVAILABLE;
        call_resume(call);
        reply_failure(call, why);
        call_answer(call);
    }
    auth_state_close(&api->auth);
    change_feed_fini(&api->changes);
    free(api);
}
