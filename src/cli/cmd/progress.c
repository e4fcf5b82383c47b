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

enum { BAR_WIDTH = 30, LOOK_MS_MIN = 250, LOOK_MS_MAX = 5000, COST_FACTOR = 10 };
enum { ERRORS_COUNTED_MIN = 10, STATES_MAX = 8 };
/* So many looks without a change, and nothing that runs: the cause is shown, once. */
enum { STILL_LOOKS_MAX = 8 };

/* By the noun's table of states. */
struct counts {
    uint32_t of[STATES_MAX];
    uint32_t total;
};

struct progress {
    struct cli_request *e;
    struct patience patience;
    const struct cli_noun *noderoles;
    struct str path;
    bool is_terminal, has_colors, is_drawn, is_lost;
    struct counts now;
    bool has_moved; /* since the look before */
    uint32_t still; /* looks without a change while nothing ran */
    bool was_busy;  /* at the look before: noderoles waited, and all workers of a queue were busy */
};

static uint32_t count_of(const struct progress *p, const char *state)
{
    for (uint32_t i = 0; i < p->noderoles->state_count; i++)
        if (strcmp(p->noderoles->states[i].name, state) == 0)
            return p->now.of[i];
    return 0;
}

/* ---- looking ---- */

static void count(struct progress *p, const struct json *noderole, struct counts *c)
{
    const struct cli_state *state = output_state(p->noderoles, json_get(noderole, STR("state")));
    c->total++;
    if (state)
        c->of[state - p->noderoles->states]++;
}

/* What hangs on a node or a deployment; a noderole is its own work. */
static enum cli_exit fetch(struct progress *p, struct cli_request *once, const struct json **out)
{
    const bool is_one = str_starts(p->path, STR("node_roles/"));
    const struct api_request q = {.path =
                                      is_one ? p->path : request_join(once, p->path, "node_roles"),
                                  .attributes = "[\"id\",\"state\"]"};
    return request_send_again(once, &q, &p->patience, out);
}

static enum cli_exit look(struct progress *p)
{
    struct arena scratch = {0};
    struct cli_request once = *p->e;
    const struct json *answer;
    struct counts c = {.total = 0};
    once.arena = &scratch;
    const enum cli_exit status = fetch(p, &once, &answer);
    p->e->client = once.client;
    if (answer && answer->kind == JSON_OBJECT)
        count(p, answer, &c);
    else if (answer)
        for (const struct json *nr = answer->first; nr; nr = nr->next)
            count(p, nr, &c);
    p->has_moved = answer && memcmp(&c, &p->now, sizeof c) != 0;
    p->now = answer ? c : p->now;
    p->is_lost = !answer;
    arena_fini(&scratch);
    return status;
}

/* ---- drawing ---- */

static void put_counts(struct progress *p, struct buf *b)
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

static void put_bar(struct progress *p, struct buf *b)
{
    const uint64_t active = count_of(p, "active");
    const uint32_t full = p->now.total ? (uint32_t)(active * BAR_WIDTH / p->now.total) : BAR_WIDTH;
    buf_put_c(b, '[');
    for (uint32_t i = 0; i < BAR_WIDTH; i++)
        buf_put_c(b, i < full ? '#' : '.');
    buf_put_z(b, "] ");
}

static void draw(struct progress *p)
{
    struct arena scratch = {0};
    struct buf b = buf_in(&scratch);
    if (!p->has_moved && p->is_drawn)
        return;
    if (p->is_terminal) {
        /* On one line, however narrow it is: one that was wrapped could not be wiped. */
        buf_put_z(&b, "\r\033[K\033[?7l");
        put_bar(p, &b);
    }
    buf_put_u64(&b, count_of(p, "active"));
    buf_put_c(&b, '/');
    buf_put_u64(&b, p->now.total);
    buf_put_z(&b, " active");
    put_counts(p, &b);
    buf_put_z(&b, p->is_terminal ? "\033[?7h" : "\n");
    fprintf(stderr, "%.*s", STR_FMT_ARGS(buf_str(&b)));
    fflush(stderr);
    p->is_drawn = true;
    arena_fini(&scratch);
}

/* ---- the end ---- */

static bool is_done(const struct progress *p)
{
    return !p->is_lost && count_of(p, "active") == p->now.total;
}

/* Is every worker of a queue busy? Then noderoles that could run have to wait. */
static bool are_workers_busy(struct progress *p)
{
    struct arena scratch = {0};
    struct cli_request once = *p->e;
    const struct json *answer;
    bool is_full = false;
    once.arena = &scratch;
    const struct api_request q = {.path = STR("/api/status/queue"), .is_quiet = true};
    const struct json *queues = request_send(&once, &q, &answer) == CLI_OK && answer
                                    ? json_get(answer, STR("workers"))
                                    : NULL;
    p->e->client = once.client;
    for (const struct json *queue = queues ? queues->first : NULL; queue; queue = queue->next) {
        int64_t size, busy;
        const struct json *has = json_get(queue, STR("size")), *uses = json_get(queue, STR("busy"));
        is_full |=
            has && uses && json_as_i64(has, &size) && json_as_i64(uses, &busy) && busy >= size;
    }
    arena_fini(&scratch);
    return is_full;
}

/* Work may begin between the look and this question: workers must have been free at two looks. */
static bool may_todo_run(struct progress *p)
{
    const bool was_busy = p->was_busy;
    p->was_busy = count_of(p, "todo") && are_workers_busy(p);
    return was_busy || p->was_busy;
}

/* Others may still run; when nothing does, and nothing has changed since, errors are the end. */
static bool is_stuck(struct progress *p)
{
    return !p->is_lost && count_of(p, "error") && !count_of(p, "transition") && !p->has_moved &&
           !may_todo_run(p);
}

/* "base on n1.example.com: test_failed: the test jig was told to fail; log: halligan noderoles
 * log 7" */
static void tell_error(struct progress *p, const struct json *nr, const struct id_names *nodes,
                       const struct id_names *roles)
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
    /* The first line: what follows are traces of code. */
    if (text && text->kind == JSON_STRING)
        term_put_escaped(&b, str_slice(text->text, 0, str_find(text->text, '\n', 0)));
    if (id && id->kind == JSON_NUMBER) {
        buf_put_z(&b, "; log: halligan noderoles log ");
        term_put_escaped(&b, id->text);
    }
    fprintf(stderr, "%s: %.*s\n", p->e->whose, STR_FMT_ARGS(buf_str(&b)));
    arena_fini(&scratch);
}

/* Every noderole in error with its node, its role and its reason. */
static void tell_errors(struct progress *p)
{
    const struct json *answer;
    const bool is_one = str_starts(p->path, STR("node_roles/"));
    const struct api_request q = {
        .path = is_one ? p->path : request_join(p->e, p->path, "node_roles"),
        .query = is_one ? STR("") : STR("state=error"),
        .attributes = "[\"id\",\"node_id\",\"role_id\",\"state\",\"status\",\"reason\","
                      "\"reason_text\"]",
        .is_quiet = true};
    if (request_send(p->e, &q, &answer) != CLI_OK)
        return;
    struct json *list = json_make(p->e->arena, JSON_ARRAY);
    if (answer->kind == JSON_OBJECT)
        json_append(list, json_clone(p->e->arena, answer));
    const struct json *all = answer->kind == JSON_OBJECT ? list : answer;
    const struct id_names nodes = id_names_fetch(p->e, "nodes", all, "node_id");
    const struct id_names roles = id_names_fetch(p->e, "roles", all, "role_id");
    for (const struct json *nr = all->first; nr; nr = nr->next) {
        const struct cli_state *state = output_state(p->noderoles, json_get(nr, STR("state")));
        if (state && strcmp(state->name, "error") == 0)
            tell_error(p, nr, &nodes, &roles);
    }
    /* The causes counted together, and faults of the installation. */
    if (all->count > ERRORS_COUNTED_MIN || all->count == 0)
        cmd_why_print(p->e, p->path);
}

/* Work that nothing will start, for example in a deployment that is only proposed, would be waited
 * for without a word. */
static void tell_stillness(struct progress *p)
{
    const bool is_still = !p->is_lost && !p->has_moved && !count_of(p, "transition");
    if (p->still > STILL_LOOKS_MAX)
        return;
    p->still = is_still ? p->still + 1 : 0;
    if (p->still <= STILL_LOOKS_MAX)
        return;
    if (p->is_terminal && p->is_drawn)
        fputs("\n", stderr);
    cmd_why_print(p->e, p->path);
}

static enum cli_exit tell_timeout(struct progress *p)
{
    fprintf(stderr, "%s: the work is not done after %s s\n", p->e->whose, p->e->options.timeout);
    if (count_of(p, "error"))
        tell_errors(p);
    else
        cmd_why_print(p->e, p->path);
    return CLI_TIMEOUT;
}

enum cli_exit progress_wait(struct cli_request *e, struct str object_path, int64_t timeout_ms)
{
    const int64_t start = sys_mono_ms();
    enum cli_exit status;
    struct progress p = {.e = e,
                         .noderoles = nouns_of("node_roles"),
                         .path = object_path,
                         .is_terminal = isatty(STDERR_FILENO),
                         .has_colors = output_has_colors(STDERR_FILENO)};
    must(p.noderoles->state_count <= STATES_MAX);
    for (;;) {
        const int64_t before = sys_mono_ms();
        status = look(&p);
        if (status != CLI_OK)
            break;
        draw(&p);
        if (is_done(&p) || is_stuck(&p))
            break;
        tell_stillness(&p);
        const int64_t left = timeout_ms - (sys_mono_ms() - start);
        if (left <= 0) {
            status = CLI_TIMEOUT;
            break;
        }
        /* A look at very many costs the daemon something. */
        int64_t wait = (sys_mono_ms() - before) * COST_FACTOR;
        wait = wait < LOOK_MS_MIN ? LOOK_MS_MIN : wait > LOOK_MS_MAX ? LOOK_MS_MAX : wait;
        watch_pause(wait < left ? wait : left);
    }
    if (p.is_terminal && p.is_drawn)
        fputs("\n", stderr);
    if (status == CLI_TIMEOUT)
        return tell_timeout(&p);
    if (status != CLI_OK || is_done(&p))
        return status;
    tell_errors(&p);
    return CLI_FAILED;
}
