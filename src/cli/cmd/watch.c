#include "cli/cmd/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/client/sse_parser.h"
#include "cli/cmd/cmd_objects.h"
#include "cli/cmd/nouns.h"
#include "cli/cmd/response_output.h"
#include "sys/clock.h"

/* watch follows the stream of events of the daemon; wait polls one field of an object.
 *
 * Owns, during a watch, a second HTTP client and the parser of the stream: the stream occupies its
 * client, and the client of the request fetches the lists.
 *
 * Order: settings are read first, into the arena of the request; later calls use arenas that are
 * freed after each list or poll. A list is fetched when the stream is open, not before, so that a
 * change after the list was read is an event of the stream.
 *
 * Failure: a stream that breaks, or a 503, is resumed after pauses that grow to 10 s, with the id
 * of the last event. These end a watch: any other refusal of the stream, no reply before the first
 * stream was open, a list that is refused, and an error of stdout. wait tolerates a lost server for
 * 60 s (request_send_again); an unknown field or an impossible value ends it. */

/* Pauses between polls, and the longest pause before a stream is resumed. */
enum { PAUSE_MS_MIN = 100, PAUSE_MS_MAX = 1000, RETRY_MS_MAX = 10 * 1000 };

void watch_pause(int64_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    ignore(nanosleep(&left, NULL), "a signal may shorten the pause");
}

/* ---- streams ---- */

/* The state of a watch. The stream has a client of its own: the client of the request is used for
 * the lists while the stream is open. */
struct watcher {
    struct cli_request *req;
    struct sse_parser *sse; /* server-sent events; keeps the id of the last event */
    enum cli_exit status;   /* other than CLI_OK: the watch ends with it */
    bool is_list;           /* print the list after each event, in place of the events */
    bool is_stale;          /* an event came after the list was printed */
    bool is_open;           /* the current stream got a 200 */
    bool was_open;          /* an earlier or the current stream got a 200 */
};

/* Each list has an arena of its own, because a watch may last for days. False: end the stream. */
static bool watch_show_list(struct watcher *w)
{
    struct arena scratch = {0};
    struct cli_request once = *w->req;
    once.arena = &scratch;
    if (isatty(STDOUT_FILENO))
        fputs("\033[H\033[2J", stdout);
    w->is_stale = false;
    w->status = cmd_objects_list_once(&once);
    if (output_form(w->req) == OUTPUT_TABLE && !isatty(STDOUT_FILENO) && !w->req->options.quiet)
        fputs("\n", stdout);
    w->req->client = once.client;
    arena_fini(&scratch);
    /* Without a reply the stream is broken as well: end it, so that it is resumed later. */
    const bool is_gone = w->status == CLI_NO_SERVER;
    w->status = is_gone ? CLI_OK : w->status;
    if (fflush(stdout) != 0)
        w->status = CLI_IO_ERROR;
    return w->status == CLI_OK && !is_gone;
}

static bool watch_on_open(void *self)
{
    struct watcher *w = self;
    w->is_open = w->was_open = true;
    return !w->is_list || watch_show_list(w);
}

/* An event that is not valid JSON is dropped. */
static void watch_on_event(void *self, struct str data)
{
    struct watcher *w = self;
    struct arena scratch = {0};
    struct json *event;
    uint32_t offset;
    const char *what;
    w->is_stale = true;
    if (w->is_list)
        return;
    struct cli_request once = *w->req;
    once.arena = &scratch;
    if (json_read(&scratch, data, &event, &offset, &what) == OK)
        output_event(&once, event);
    arena_fini(&scratch);
}

/* The list is printed once for all events of one piece of data. */
static bool watch_on_data(void *self, struct str bytes)
{
    struct watcher *w = self;
    sse_parser_feed(w->sse, bytes);
    if (w->is_list)
        return !w->is_stale || watch_show_list(w);
    if (fflush(stdout) != 0)
        w->status = CLI_IO_ERROR;
    return w->status == CLI_OK;
}

/* Read the stream until it ends. True: it may be resumed. */
static bool watch_follow_once(struct watcher *w, struct client *client)
{
    struct arena scratch = {0};
    struct client_reply reply;
    const struct client_listener listener = {
        .on_open = watch_on_open, .on_data = watch_on_data, .self = w};
    const struct client_call http = {.method = "GET",
                                     .path = "/api/v2/events",
                                     .last_event = w->sse->last_id[0] ? w->sse->last_id : NULL};
    w->is_open = false;
    const err result = client_stream(client, &http, &listener, &scratch, &reply);
    bool may_reconnect = w->status == CLI_OK;
    if (result == OK && reply.status != 200 && reply.status != 503) {
        w->status = request_report_refusal(w->req, &reply);
        may_reconnect = false;
    } else if (result != OK && !w->was_open) {
        w->status = request_report_no_reply(w->req, reply.error);
        may_reconnect = false;
    }
    sse_parser_reset(w->sse);
    arena_fini(&scratch);
    return may_reconnect;
}

static enum cli_exit watch_follow(struct watcher *w)
{
    char why[CLIENT_WHY_SIZE] = "out of memory";
    enum cli_exit status = request_read_settings(w->req);
    struct client *client =
        status == CLI_OK ? client_open(&w->req->settings, why, sizeof why) : NULL;
    struct sse_parser *sse = calloc(1, sizeof *sse);
    if (!client || !sse) {
        status = status ? status : request_report_failure(w->req, why);
    } else {
        *sse = (struct sse_parser){.on_event = watch_on_event, .self = w};
        w->sse = sse;
        for (int64_t wait = PAUSE_MS_MIN; watch_follow_once(w, client); watch_pause(wait)) {
            wait = w->is_open ? PAUSE_MS_MIN : wait * 2;
            wait = wait > RETRY_MS_MAX ? RETRY_MS_MAX : wait;
        }
        status = w->status;
    }
    free(sse);
    client_close(client);
    return status;
}

enum cli_exit watch_list(struct cli_request *req)
{
    return watch_follow(&(struct watcher){.req = req, .is_list = true});
}

enum cli_exit watch_events(struct cli_request *req)
{
    return watch_follow(&(struct watcher){.req = req});
}

/* ---- waiting ---- */

/* The condition that wait polls for. */
struct watch_condition {
    struct server_retry retry;
    const struct cli_noun *noun;
    struct str path;   /* of the object: "nodes/n1" */
    const char *field; /* or "field/member" */
    struct str value;  /* as given: text, JSON or the name of a state */
};

static bool watch_value_matches(const struct watch_condition *w, struct arena *a,
                                const struct json *value)
{
    const bool is_state = strcmp(w->field, "state") == 0;
    const struct cli_state *state = is_state ? output_state(w->noun, value) : NULL;
    if (state && str_eq(w->value, str_from(state->name)))
        return true;
    if (value->kind == JSON_STRING)
        return str_eq(value->text, w->value);
    return str_eq(json_write(a, value), w->value);
}

/* An error message if the field can never have the value; NULL: it can. */
static const char *watch_impossible_value(const struct watch_condition *w, const struct json *value)
{
    int64_t number;
    const bool is_truth = value->kind == JSON_TRUE || value->kind == JSON_FALSE;
    if (is_truth && !str_eq(w->value, STR("true")) && !str_eq(w->value, STR("false")))
        return "the field can only be true or false, not";
    if (strcmp(w->field, "state") != 0 || !w->noun->state_count || value->kind != JSON_NUMBER ||
        str_parse_i64(w->value, &number))
        return NULL;
    for (uint32_t i = 0; i < w->noun->state_count; i++)
        if (str_eq(w->value, str_from(w->noun->states[i].name)))
            return NULL;
    return "unknown state";
}

/* Fetch the object once. *out_holds: the field has the value. A field that does not exist is an
 * error, because the wait would never end. */
static enum cli_exit watch_poll(struct cli_request *req, struct watch_condition *w, bool *out_holds)
{
    struct arena scratch = {0};
    struct cli_request once = *req;
    const struct json *object;
    const struct api_request call = {.path = w->path};
    once.arena = &scratch;
    enum cli_exit status = request_send_again(&once, &call, &w->retry, &object);
    req->client = once.client;
    const struct json *value = object ? json_at(object, str_from(w->field)) : NULL;
    if (object && !value)
        status = request_usage_error(req, "unknown field", w->field);
    const char *wrong = value ? watch_impossible_value(w, value) : NULL;
    if (wrong)
        status = request_usage_error(req, wrong, str_z(&scratch, w->value));
    *out_holds = value && watch_value_matches(w, &scratch, value);
    arena_fini(&scratch);
    return status;
}

static enum cli_exit watch_poll_until(struct cli_request *req, struct watch_condition *w,
                                      int64_t timeout_ms)
{
    const int64_t start = sys_mono_ms();
    for (int64_t wait = PAUSE_MS_MIN;; wait = wait * 3 / 2) {
        bool holds = false;
        const enum cli_exit status = watch_poll(req, w, &holds);
        const int64_t left = timeout_ms - (sys_mono_ms() - start);
        if (status != CLI_OK || holds)
            return status;
        if (left <= 0)
            break;
        wait = wait > PAUSE_MS_MAX ? PAUSE_MS_MAX : wait;
        watch_pause(wait < left ? wait : left);
    }
    fprintf(stderr, "%s: %s is not %.*s after %s s\n", req->prog, w->field, STR_FMT_ARGS(w->value),
            req->options.timeout);
    return CLI_TIMEOUT;
}

enum cli_exit watch_wait(struct cli_request *req)
{
    int64_t timeout_ms;
    const int at = req->noun ? 0 : 1;
    struct watch_condition w = {.noun = req->noun ? req->noun : nouns_find(req->args->words[0])};
    if (!w.noun || !w.noun->collection)
        return request_usage_error(req, "unknown noun, or one without fields", req->args->words[0]);
    if (!request_timeout(req, &timeout_ms))
        return CLI_USAGE;
    w.field = req->args->words[at + 1];
    w.value = str_from(req->args->words[at + 2]);
    /* Read the settings into the arena of the request; that of a poll is freed after it. */
    enum cli_exit status = request_read_settings(req);
    if (status == CLI_OK)
        status = request_path_of(req, w.noun, req->args->words[at], &w.path);
    return status == CLI_OK ? watch_poll_until(req, &w, timeout_ms) : status;
}
