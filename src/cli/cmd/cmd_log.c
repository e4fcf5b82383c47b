#include "cli/cmd/cmd_log.h"

#include <stdio.h>
#include <string.h>

#include "cli/cmd/nouns.h"
#include "cli/cmd/response_output.h"
#include "cli/cmd/watch.h"
#include "cli/output/term_escape.h"

enum { PAUSE_MS_MIN = 100, PAUSE_MS_MAX = 1000 };

/* Which run is meant; of one that is over the server wants to know the attempt too. */
struct run {
    struct str id;
    struct str noderole_id;
    struct str attempt;
};

static struct str number_of(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, str_from(key));
    return value && value->kind == JSON_NUMBER ? value->text : STR("");
}

/* ---- reading ---- */

static struct api_request log_question(struct cli_request *e, const struct run *run, int64_t offset)
{
    struct buf query = buf_in(e->arena);
    struct str path = request_join(e, STR("runs"), str_z(e->arena, run->id));
    buf_put_z(&query, "offset=");
    buf_put_i64(&query, offset);
    if (run->noderole_id.len) {
        buf_put_z(&query, "&node_role=");
        buf_put_str(&query, run->noderole_id);
        buf_put_z(&query, "&attempt=");
        buf_put_str(&query, run->attempt);
    }
    return (struct api_request){.path = request_join(e, path, "log"), .query = buf_str(&query)};
}

/* A piece; *out_offset moves behind it, *out_ended says that nothing more will come. */
static enum cli_exit show_piece(struct cli_request *e, const struct run *run, int64_t *offset,
                                bool *out_ended)
{
    const struct json *piece;
    struct buf b = buf_in(e->arena);
    int64_t next = *offset, total = 0;
    const struct api_request q = log_question(e, run, *offset);
    const enum cli_exit status = request_send(e, &q, &piece);
    if (status != CLI_OK)
        return status;
    const struct json *text = json_get(piece, STR("text"));
    const bool is_read = json_as_i64(json_get(piece, STR("next")), &next) &&
                         json_as_i64(json_get(piece, STR("total")), &total);
    const bool has_ended = json_is_true(json_get(piece, STR("ended")));
    if (text && text->kind == JSON_STRING)
        term_put_escaped_lines(&b, text->text);
    output_text(buf_str(&b));
    *out_ended = !is_read || (next >= total && (has_ended || !e->options.follow)) ||
                 (next == *offset && (has_ended || !e->options.follow));
    *offset = next;
    return fflush(stdout) == 0 ? CLI_OK : CLI_IO_ERROR;
}

static enum cli_exit show(struct cli_request *e, const struct run *run)
{
    int64_t offset = 0, wait = PAUSE_MS_MIN;
    for (;;) {
        struct arena scratch = {0};
        struct cli_request once = *e;
        const int64_t before = offset;
        bool has_ended = false;
        once.arena = &scratch;
        const enum cli_exit status = show_piece(&once, run, &offset, &has_ended);
        e->client = once.client;
        arena_fini(&scratch);
        if (status != CLI_OK || has_ended)
            return status;
        wait = offset > before ? PAUSE_MS_MIN : wait * 3 / 2;
        wait = wait > PAUSE_MS_MAX ? PAUSE_MS_MAX : wait;
        if (offset == before)
            watch_pause(wait);
    }
}

/* ---- finding ---- */

/* An open run may end while it is followed, so what an ended one is asked by is noted before. */
enum cli_exit cmd_log_of_run(struct cli_request *e)
{
    const struct json *open = NULL;
    struct api_request q = {.is_quiet = true};
    const enum cli_exit status = request_path(e, e->words->texts[0], &q.path);
    struct run run = {.id = str_from(e->words->texts[0])};
    if (status != CLI_OK)
        return status;
    if (request_send(e, &q, &open) == CLI_OK) {
        run.noderole_id = number_of(open, "node_role_id");
        run.attempt = number_of(open, "attempt");
    }
    return request_settle(e) == CLI_OK ? show(e, &run) : CLI_IO_ERROR;
}

static enum cli_exit fetch_old(struct cli_request *e, const struct json **out_runs)
{
    struct api_request q = {0};
    const enum cli_exit status = request_path(e, e->words->texts[0], &q.path);
    if (status != CLI_OK)
        return status;
    q.path = request_join(e, q.path, "runs");
    return request_send(e, &q, out_runs);
}

static enum cli_exit fetch_noderole(struct cli_request *e, const struct json **out_noderole)
{
    struct api_request q = {
        .attributes = "[\"id\",\"state\",\"status\",\"runlog\",\"reason\",\"reason_text\"]"};
    const enum cli_exit status = request_path(e, e->words->texts[0], &q.path);
    return status == CLI_OK ? request_send(e, &q, out_noderole) : status;
}

static bool is_meant(const struct cli_request *e, struct str noderole_id, const struct json *run)
{
    return str_eq(number_of(run, "node_role_id"), noderole_id) &&
           (!e->options.attempt || str_eq(number_of(run, "attempt"), str_from(e->options.attempt)));
}

/* Open ones first: they are newer than all that are over, which come newest first. */
static const struct json *find_run(struct cli_request *e, struct str noderole_id,
                                   const struct json *open, const struct json *old)
{
    for (const struct json *run = open->first; run; run = run->next)
        if (is_meant(e, noderole_id, run))
            return run;
    for (const struct json *run = old->first; run; run = run->next)
        if (is_meant(e, noderole_id, run))
            return run;
    return NULL;
}

/* Did it fail by a run? Else a hook or the engine did, and only the noderole has what was said. */
static bool is_of_run(const struct cli_request *e, const struct json *noderole)
{
    const struct cli_state *state = output_state(e->noun, json_get(noderole, STR("state")));
    const struct json *status = json_get(noderole, STR("status"));
    const struct str word = status && status->kind == JSON_STRING ? status->text : STR("");
    return !state || strcmp(state->name, "error") != 0 || str_eq(word, STR("run failed")) ||
           str_eq(word, STR("run lost")) || str_eq(word, STR("cancelled"));
}

/* Not every jig has something that writes. */
static bool is_kept(struct cli_request *e, const struct run *run)
{
    const struct json *piece;
    struct api_request q = log_question(e, run, 0);
    q.is_quiet = true;
    return request_send(e, &q, &piece) != CLI_NOT_FOUND;
}

static enum cli_exit show_own(struct cli_request *e, const struct json *log)
{
    struct buf b = buf_in(e->arena);
    term_put_escaped_lines(&b, log->text);
    if (log->text.at[log->text.len - 1] != '\n')
        buf_put_c(&b, '\n');
    output_text(buf_str(&b));
    return fflush(stdout) == 0 ? CLI_OK : CLI_IO_ERROR;
}

/* Why it failed, behind what it wrote: a log seldom ends with that. On standard error, so that the
 * log alone can be kept. */
static void tell_reason(struct cli_request *e, const struct json *failed)
{
    const struct json *code = json_get(failed, STR("reason"));
    const struct json *text = json_get(failed, STR("reason_text"));
    struct buf b = buf_in(e->arena);
    if (!code || code->kind != JSON_STRING)
        return;
    term_put_escaped(&b, code->text);
    buf_put_z(&b, ": ");
    if (text && text->kind == JSON_STRING)
        term_put_escaped(&b, text->text);
    fprintf(stderr, "%s: %.*s\n", e->whose, STR_FMT_ARGS(buf_str(&b)));
}

static enum cli_exit show_found(struct cli_request *e, const struct json *noderole,
                                const struct json *found)
{
    const struct json *own = json_get(noderole, STR("runlog"));
    const bool has_own = !e->options.attempt && own && own->kind == JSON_STRING && own->text.len;
    const struct run run = {.id = number_of(found, "id"),
                            .noderole_id = number_of(noderole, "id"),
                            .attempt = number_of(found, "attempt")};
    const bool is_mute = has_own && !e->options.follow && !is_kept(e, &run);
    return is_mute ? show_own(e, own) : show(e, &run);
}

enum cli_exit cmd_log_of_noderole(struct cli_request *e)
{
    const struct json *noderole, *open, *old;
    enum cli_exit status = fetch_noderole(e, &noderole);
    if (status == CLI_OK)
        status = request_send(e, &(struct api_request){.path = STR("runs")}, &open);
    if (status == CLI_OK)
        status = fetch_old(e, &old);
    if (status != CLI_OK)
        return status;
    const struct str noderole_id = number_of(noderole, "id");
    const struct json *found = find_run(e, noderole_id, open, old);
    const struct json *own = json_get(noderole, STR("runlog"));
    const bool has_own = !e->options.attempt && own && own->kind == JSON_STRING && own->text.len;
    if (!found && !has_own) {
        args_complain(e->words, "it has never run, or not that often", e->words->texts[0]);
        return CLI_NOT_FOUND;
    }
    const bool is_own = !found || (has_own && !is_of_run(e, noderole));
    status = is_own ? show_own(e, own) : show_found(e, noderole, found);
    if (status == CLI_OK)
        tell_reason(e, is_own || !json_get(found, STR("reason")) ? noderole : found);
    return status;
}

enum cli_exit cmd_log_runs(struct cli_request *e)
{
    static const struct cli_column columns[] = {
        {"id", NULL},     {"attempt", NULL},    {"role", NULL},    {"result", NULL},
        {"reason", NULL}, {"started_at", NULL}, {"ended_at", NULL}};
    struct cli_noun over = *nouns_of("runs");
    const struct cli_noun *noun = e->noun;
    const struct json *old;
    const enum cli_exit status = fetch_old(e, &old);
    if (status != CLI_OK)
        return status;
    over.columns = columns;
    over.column_count = sizeof columns / sizeof columns[0];
    e->noun = &over;
    output_list(e, old);
    e->noun = noun;
    return CLI_OK;
}
