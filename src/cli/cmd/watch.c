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

enum { PAUSE_MS_MIN = 100, PAUSE_MS_MAX = 1000, RETRY_MS_MAX = 10 * 1000 };

void watch_pause(int64_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    ignore(nanosleep(&left, NULL), "a signal that does not end us may shorten it");
}

/* ---- streams ---- */

/* What becomes of the events of a stream. */
struct watcher {
    struct cli_request *e;
    struct sse_parser *sse;
    enum cli_exit status;
    bool is_list;  /* show the list again, instead of the events */
    bool is_old;   /* something happened since it was shown */
    bool is_open;  /* this stream stood */
    bool was_open; /* one did */
};

/* What a list leaves behind is not kept: a watch may last for days. */
static bool show_list(struct watcher *w)
{
    struct arena scratch = {0};
    struct cli_request once = *w->e;
    once.arena = &scratch;
    if (isatty(STDOUT_FILENO))
        fputs("\033[H\033[2J", stdout);
    w->is_old = false;
    w->status = cmd_objects_list_once(&once);
    if (output_form(w->e) == OUTPUT_TABLE && !isatty(STDOUT_FILENO) && !w->e->options.quiet)
        fputs("\n", stdout);
    w->e->client = once.client;
    arena_fini(&scratch);
    /* A server that goes away takes its stream with it; both are looked for again. */
    const bool is_gone = w->status == CLI_NO_SERVER;
    w->status = is_gone ? CLI_OK : w->status;
    if (fflush(stdout) != 0)
        w->status = CLI_IO_ERROR;
    return w->status == CLI_OK && !is_gone;
}

static bool opened(void *self)
{
    struct watcher *w = self;
    w->is_open = w->was_open = true;
    return !w->is_list || show_list(w);
}

static void show_event(struct watcher *w, struct str data)
{
    struct arena scratch = {0};
    struct cli_request once = *w->e;
    struct json *event;
    uint32_t offset;
    const char *what;
    once.arena = &scratch;
    if (json_read(&scratch, data, &event, &offset, &what) == OK)
        output_event(&once, event);
    arena_fini(&scratch);
}

static void on_event(void *self, struct str data)
{
    struct watcher *w = self;
    w->is_old = true;
    if (!w->is_list)
        show_event(w, data);
}

/* Events that come together are answered by one list. */
static bool take(void *self, struct str bytes)
{
    struct watcher *w = self;
    sse_parser_take(w->sse, bytes);
    if (w->is_list)
        return !w->is_old || show_list(w);
    if (fflush(stdout) != 0)
        w->status = CLI_IO_ERROR;
    return w->status == CLI_OK;
}

/* True: the stream may be taken up again. */
static bool follow_once(struct watcher *w, struct client *client)
{
    struct arena scratch = {0};
    struct client_answer answer;
    const struct client_listener listener = {.opened = opened, .take = take, .self = w};
    const struct client_call call = {.method = "GET",
                                     .path = "/api/v2/events",
                                     .last_event = w->sse->last_id[0] ? w->sse->last_id : NULL};
    w->is_open = false;
    const err e = client_follow(client, &call, &listener, &scratch, &answer);
    bool goes_on = w->status == CLI_OK;
    if (e == OK && answer.status != 200 && answer.status != 503) {
        w->status = request_tell_refusal(w->e, &answer);
        goes_on = false;
    } else if (e != OK && !w->was_open) {
        w->status = request_tell_trouble(w->e, answer.trouble);
        goes_on = false;
    }
    sse_parser_break(w->sse);
    arena_fini(&scratch);
    return goes_on;
}

static enum cli_exit follow(struct watcher *w)
{
    char why[CLIENT_WHY_SIZE] = "there is no memory left";
    enum cli_exit status = request_settle(w->e);
    struct client *client = status == CLI_OK ? client_open(&w->e->settings, why, sizeof why) : NULL;
    struct sse_parser *sse = calloc(1, sizeof *sse);
    if (!client || !sse) {
        status = status ? status : request_tell_trouble(w->e, why);
    } else {
        *sse = (struct sse_parser){.on_event = on_event, .self = w};
        w->sse = sse;
        for (int64_t wait = PAUSE_MS_MIN; follow_once(w, client); watch_pause(wait)) {
            wait = w->is_open ? PAUSE_MS_MIN : wait * 2;
            wait = wait > RETRY_MS_MAX ? RETRY_MS_MAX : wait;
        }
        status = w->status;
    }
    free(sse);
    client_close(client);
    return status;
}

enum cli_exit watch_list(struct cli_request *e)
{
    return follow(&(struct watcher){.e = e, .is_list = true});
}

enum cli_exit watch_events(struct cli_request *e)
{
    return follow(&(struct watcher){.e = e});
}

/* ---- waiting ---- */

struct wanted {
    struct patience patience;
    const struct cli_noun *noun;
    struct str path;
    const char *field;
    struct str value;
};

static bool is_wanted(const struct wanted *w, struct arena *a, const struct json *value)
{
    const bool is_state = strcmp(w->field, "state") == 0;
    const struct cli_state *state = is_state ? output_state(w->noun, value) : NULL;
    if (state && str_eq(w->value, str_from(state->name)))
        return true;
    if (value->kind == JSON_STRING)
        return str_eq(value->text, w->value);
    return str_eq(json_write(a, value), w->value);
}

/* What would be waited for in vain; NULL: it may come. */
static const char *misfit(const struct wanted *w, const struct json *value)
{
    int64_t number;
    const bool is_truth = value->kind == JSON_TRUE || value->kind == JSON_FALSE;
    if (is_truth && !str_eq(w->value, STR("true")) && !str_eq(w->value, STR("false")))
        return "the field is true or false, and never";
    if (strcmp(w->field, "state") != 0 || !w->noun->state_count || value->kind != JSON_NUMBER ||
        str_parse_i64(w->value, &number))
        return NULL;
    for (uint32_t i = 0; i < w->noun->state_count; i++)
        if (str_eq(w->value, str_from(w->noun->states[i].name)))
            return NULL;
    return "there is no such state";
}

/* Sets *out_is_so; a field that does not exist would be waited for in vain. */
static enum cli_exit look(struct cli_request *e, struct wanted *w, bool *out_is_so)
{
    struct arena scratch = {0};
    struct cli_request once = *e;
    const struct json *object;
    const struct api_request q = {.path = w->path};
    once.arena = &scratch;
    enum cli_exit status = request_send_again(&once, &q, &w->patience, &object);
    e->client = once.client;
    const struct json *value = object ? json_at(object, str_from(w->field)) : NULL;
    if (object && !value)
        status = request_complain(e, "the object has no such field", w->field);
    const char *wrong = value ? misfit(w, value) : NULL;
    if (wrong)
        status = request_complain(e, wrong, str_z(&scratch, w->value));
    *out_is_so = value && is_wanted(w, &scratch, value);
    arena_fini(&scratch);
    return status;
}

static enum cli_exit wait_for(struct cli_request *e, struct wanted *w, int64_t timeout_ms)
{
    const int64_t start = sys_mono_ms();
    for (int64_t wait = PAUSE_MS_MIN;; wait = wait * 3 / 2) {
        bool is_so = false;
        const enum cli_exit status = look(e, w, &is_so);
        const int64_t left = timeout_ms - (sys_mono_ms() - start);
        if (status != CLI_OK || is_so)
            return status;
        if (left <= 0)
            break;
        wait = wait > PAUSE_MS_MAX ? PAUSE_MS_MAX : wait;
        watch_pause(wait < left ? wait : left);
    }
    fprintf(stderr, "%s: %s did not become %.*s in %s s\n", e->whose, w->field,
            STR_FMT_ARGS(w->value), e->options.timeout);
    return CLI_TIMEOUT;
}

enum cli_exit watch_wait(struct cli_request *e)
{
    int64_t timeout_ms;
    const int at = e->noun ? 0 : 1;
    struct wanted w = {.noun = e->noun ? e->noun : nouns_find(e->words->texts[0])};
    if (!w.noun || !w.noun->collection)
        return request_complain(e, "nothing of this kind can be waited for", e->words->texts[0]);
    if (!request_timeout(e, &timeout_ms))
        return CLI_USAGE;
    w.field = e->words->texts[at + 1];
    w.value = str_from(e->words->texts[at + 2]);
    /* The settings live as long as the errand, and not as one look. */
    enum cli_exit status = request_settle(e);
    if (status == CLI_OK)
        status = request_path_of(e, w.noun, e->words->texts[at], &w.path);
    return status == CLI_OK ? wait_for(e, &w, timeout_ms) : status;
}
