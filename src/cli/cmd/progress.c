#include "cli/cmd/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd/cmd_why.h"
#include "cli/cmd/id_names.h"
#include "cli/cmd/nouns.h"
#include "cli/cmd/response_output.h"
#include "cli/cmd/watch.h"
#include "cli/output/term_escape.h"
#include "sys/clock.h"

/* Owns the state of one wait (struct progress), which ends with progress_wait. The memory of a poll
 * is freed after it, because a wait may last for hours.
 *
 * Each poll fetches the states of all noderoles of the object. The interval is COST_FACTOR times
 * the duration of the last poll, within bounds, so that waiting for very many noderoles does not
 * load the daemon.
 *
 * Errors end the wait only if nothing else can change: no noderole is in transition, the counts are
 * those of the poll before, and no runnable noderole waits for a busy worker. If nothing changes
 * and nothing runs for more than IDLE_POLLS_MAX polls, the cause is printed once and waiting
 * continues.
 *
 * Order: the counts are drawn before the end of the wait is decided, so that the last line shows
 * the final counts. Errors and causes are printed after the line is complete.
 *
 * Failure: polls without a reply are tolerated for 60 s (request_send_again); the wait never ends
 * with success or as stuck meanwhile. A refusal ends it with its status. The requests for causes
 * are quiet: if they fail, only the causes are missing. */

enum { BAR_WIDTH = 30, POLL_MS_MIN = 250, POLL_MS_MAX = 5000, COST_FACTOR = 10 };
/* With more errors than ERRORS_GROUPED_MIN, the causes are also printed in groups. */
enum { ERRORS_GROUPED_MIN = 10, STATES_MAX = 8 };
/* The cause is printed after more than this count of polls without a change and without a run. */
enum { IDLE_POLLS_MAX = 8 };

/* Count of noderoles by index in the table of states of the noun. */
struct counts {
    uint32_t of[STATES_MAX];
    uint32_t total;
};

struct progress {
    struct cli_request *req;
    struct server_retry retry;
    const struct cli_noun *noderoles; /* has the table of states */
    struct str path;                  /* of the object: "deployments/3" */
    bool is_terminal, has_colors;     /* of stderr */
    bool is_drawn;                    /* at least one line was drawn */
    bool server_is_lost; /* the last poll got no reply; `now` is that of an earlier one */
    struct counts now;
    bool has_changed;    /* the counts, since the poll before */
    uint32_t idle_polls; /* count of polls without a change and without a run */
    bool was_busy; /* at the poll before: runnable noderoles, and all workers of a pool busy */
};

static uint32_t progress_count_of(const struct progress *p, const char *state)
{
    for (uint32_t i = 0; i < p->noderoles->state_count; i++)
        if (strcmp(p->noderoles->states[i].name, state) == 0)
            return p->now.of[i];
    return 0;
}

/* ---- polling ---- */

static void progress_count(struct progress *p, const struct json *noderole, struct counts *c)
{
    const struct cli_state *state = output_state(p->noderoles, json_get(noderole, STR("state")));
    c->total++;
    if (state)
        c->of[state - p->noderoles->states]++;
}

static enum cli_exit progress_poll(struct progress *p)
{
    struct arena scratch = {0};
    struct cli_request once = *p->req;
    const struct json *reply;
    struct counts c = {.total = 0};
    once.arena = &scratch;
    /* The noderoles of a node or deployment; a noderole itself if that is what was committed. */
    const bool is_one = str_starts(p->path, STR("node_roles/"));
    const struct api_request call = {.path = is_one ? p->path
                                                    : request_join(&once, p->path, "node_roles"),
                                     .attributes = "[\"id\",\"state\"]"};
    const enum cli_exit status = request_send_again(&once, &call, &p->retry, &reply);
    p->req->client = once.client;
    if (reply && reply->kind == JSON_OBJECT)
        progress_count(p, reply, &c);
    else if (reply)
        for (const struct json *nr = reply->first; nr; nr = nr->next)
            progress_count(p, nr, &c);
    p->has_changed = reply && memcmp(&c, &p->now, sizeof c) != 0;
    p->now = reply ? c : p->now;
    p->server_is_lost = !reply;
    arena_fini(&scratch);
    return status;
}

/* ---- drawing ---- */

static void progress_put_counts(struct progress *p, struct buf *b)
{
    for (uint32_t i = 0; i < p->noderoles->state_count; i++) {
        const struct cli_state *state = &p->noderoles->states[i];
        if (!p->now.of[i] || strcmp(state->name, "active") == 0)
            continue;
        buf_put_z(b, ", ");
        if (p->has_colors) {
            buf_put_z(b, "\033[");
            buf_put_z(b, state->color);
            buf_put_c(b, 'm');
        }
        buf_put_u64(b, p->now.of[i]);
        buf_put_c(b, ' ');
        buf_put_z(b, state->name);
        buf_put_z(b, p->has_colors ? "\033[0m" : "");
    }
}

static void progress_draw(struct progress *p)
{
    struct arena scratch = {0};
    struct buf b = buf_in(&scratch);
    if (!p->has_changed && p->is_drawn)
        return;
    const uint64_t active = progress_count_of(p, "active");
    if (p->is_terminal) {
        const uint32_t full =
            p->now.total ? (uint32_t)(active * BAR_WIDTH / p->now.total) : BAR_WIDTH;
        /* Erase the line and switch off wrapping: a wrapped line could not be erased. */
        buf_put_z(&b, "\r\033[K\033[?7l");
        buf_put_c(&b, '[');
        for (uint32_t i = 0; i < BAR_WIDTH; i++)
            buf_put_c(&b, i < full ? '#' : '.');
        buf_put_z(&b, "] ");
    }
    buf_put_u64(&b, active);
    buf_put_c(&b, '/');
    buf_put_u64(&b, p->now.total);
    buf_put_z(&b, " active");
    progress_put_counts(p, &b);
    buf_put_z(&b, p->is_terminal ? "\033[?7h" : "\n");
    fprintf(stderr, "%.*s", STR_FMT_ARGS(buf_str(&b)));
    fflush(stderr);
    p->is_drawn = true;
    arena_fini(&scratch);
}

/* ---- end of the wait ---- */

static bool progress_is_done(const struct progress *p)
{
    return !p->server_is_lost && progress_count_of(p, "active") == p->now.total;
}

/* True if all workers of a worker pool are busy, so that runnable noderoles have to wait. */
static bool progress_workers_busy(struct progress *p)
{
    struct arena scratch = {0};
    struct cli_request once = *p->req;
    const struct json *reply;
    bool is_full = false;
    once.arena = &scratch;
    const struct api_request call = {.path = STR("/api/status/queue"), .is_quiet = true};
    const struct json *queues = request_send(&once, &call, &reply) == CLI_OK && reply
                                    ? json_get(reply, STR("workers"))
                                    : NULL;
    p->req->client = once.client;
    for (const struct json *queue = queues ? queues->first : NULL; queue; queue = queue->next) {
        int64_t size, busy;
        const struct json *has = json_get(queue, STR("size")), *uses = json_get(queue, STR("busy"));
        is_full |=
            has && uses && json_as_i64(has, &size) && json_as_i64(uses, &busy) && busy >= size;
    }
    arena_fini(&scratch);
    return is_full;
}

/* True if a runnable noderole may still start. A run may start between the poll and this request,
 * so workers must have been free at two polls in a row. */
static bool progress_todo_may_run(struct progress *p)
{
    const bool was_busy = p->was_busy;
    p->was_busy = progress_count_of(p, "todo") && progress_workers_busy(p);
    return was_busy || p->was_busy;
}

/* True if there are errors, nothing runs and nothing has changed since the poll before. */
static bool progress_is_stuck(struct progress *p)
{
    return !p->server_is_lost && progress_count_of(p, "error") &&
           !progress_count_of(p, "transition") && !p->has_changed && !progress_todo_may_run(p);
}

/* "base on n1.example.com: exit_status: exit status 3; log: halligan noderoles log 7" */
static void progress_report_error(struct progress *p, const struct json *nr,
                                  const struct id_names *nodes, const struct id_names *roles)
{
    struct arena scratch = {0};
    struct buf b = buf_in(&scratch);
    const struct json *id = json_get(nr, STR("id")), *reason = json_get(nr, STR("reason")),
                      *text = json_get(nr, STR("reason_text"));
    if (!text || text->kind != JSON_STRING || text->text.len == 0)
        text = json_get(nr, STR("status"));
    const bool is_named = reason && reason->kind == JSON_STRING;
    term_put_escaped(&b, id_names_find(roles, json_get(nr, STR("role_id"))));
    buf_put_z(&b, " on ");
    term_put_escaped(&b, id_names_find(nodes, json_get(nr, STR("node_id"))));
    buf_put_z(&b, ": ");
    term_put_escaped(&b, is_named ? reason->text : STR("error"));
    buf_put_z(&b, ": ");
    /* Only the first line: the others are a stack trace. */
    if (text && text->kind == JSON_STRING)
        term_put_escaped(&b, str_slice(text->text, 0, str_find(text->text, '\n', 0)));
    if (id && id->kind == JSON_NUMBER) {
        buf_put_z(&b, "; log: halligan noderoles log ");
        term_put_escaped(&b, id->text);
    }
    fprintf(stderr, "%s: %.*s\n", p->req->prog, STR_FMT_ARGS(buf_str(&b)));
    arena_fini(&scratch);
}

/* Print every noderole in error with its node, its role and its reason. */
static void progress_report_errors(struct progress *p)
{
    const struct json *reply;
    const bool is_one = str_starts(p->path, STR("node_roles/"));
    const struct api_request call = {
        .path = is_one ? p->path : request_join(p->req, p->path, "node_roles"),
        .query = is_one ? STR("") : STR("state=error"),
        .attributes = "[\"id\",\"node_id\",\"role_id\",\"state\",\"status\",\"reason\","
                      "\"reason_text\"]",
        .is_quiet = true};
    if (request_send(p->req, &call, &reply) != CLI_OK)
        return;
    struct json *list = json_make(p->req->arena, JSON_ARRAY);
    if (reply->kind == JSON_OBJECT)
        json_append(list, json_clone(p->req->arena, reply));
    const struct json *all = reply->kind == JSON_OBJECT ? list : reply;
    const struct id_names nodes = id_names_fetch(p->req, "nodes", all, "node_id");
    const struct id_names roles = id_names_fetch(p->req, "roles", all, "role_id");
    for (const struct json *nr = all->first; nr; nr = nr->next) {
        const struct cli_state *state = output_state(p->noderoles, json_get(nr, STR("state")));
        if (state && strcmp(state->name, "error") == 0)
            progress_report_error(p, nr, &nodes, &roles);
    }
    /* Also print the causes grouped and counted, and faults of the installation. */
    if (all->count > ERRORS_GROUPED_MIN || all->count == 0)
        cmd_why_print(p->req, p->path);
}

/* Print the cause if nothing changes and nothing runs, for example in a deployment that is only
 * proposed: otherwise the wait would be silent and without end. */
static void progress_report_idle(struct progress *p)
{
    const bool is_idle =
        !p->server_is_lost && !p->has_changed && !progress_count_of(p, "transition");
    if (p->idle_polls > IDLE_POLLS_MAX)
        return;
    p->idle_polls = is_idle ? p->idle_polls + 1 : 0;
    if (p->idle_polls <= IDLE_POLLS_MAX)
        return;
    if (p->is_terminal && p->is_drawn)
        fputs("\n", stderr);
    cmd_why_print(p->req, p->path);
}

enum cli_exit progress_wait(struct cli_request *req, struct str object_path, int64_t timeout_ms)
{
    const int64_t start = sys_mono_ms();
    enum cli_exit status;
    struct progress p = {.req = req,
                         .noderoles = nouns_of("node_roles"),
                         .path = object_path,
                         .is_terminal = isatty(STDERR_FILENO),
                         .has_colors = output_has_colors(STDERR_FILENO)};
    must(p.noderoles->state_count <= STATES_MAX);
    for (;;) {
        const int64_t before = sys_mono_ms();
        status = progress_poll(&p);
        if (status != CLI_OK)
            break;
        progress_draw(&p);
        if (progress_is_done(&p) || progress_is_stuck(&p))
            break;
        progress_report_idle(&p);
        const int64_t left = timeout_ms - (sys_mono_ms() - start);
        if (left <= 0) {
            status = CLI_TIMEOUT;
            break;
        }
        /* The more a poll costs, the longer is the pause. */
        int64_t wait = (sys_mono_ms() - before) * COST_FACTOR;
        wait = wait < POLL_MS_MIN ? POLL_MS_MIN : wait > POLL_MS_MAX ? POLL_MS_MAX : wait;
        watch_pause(wait < left ? wait : left);
    }
    if (p.is_terminal && p.is_drawn)
        fputs("\n", stderr);
    if (status == CLI_TIMEOUT) {
        fprintf(stderr, "%s: not all noderoles are active after %s s\n", req->prog,
                req->options.timeout);
        if (progress_count_of(&p, "error"))
            progress_report_errors(&p);
        else
            cmd_why_print(req, p.path);
        return CLI_TIMEOUT;
    }
    if (status != CLI_OK || progress_is_done(&p))
        return status;
    progress_report_errors(&p);
    return CLI_FAILED;
}
