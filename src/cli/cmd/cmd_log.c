#include "cli/cmd/cmd_log.h"

#include <stdio.h>
#include <string.h>

#include "cli/cmd/nouns.h"
#include "cli/cmd/response_output.h"
#include "cli/output/term_escape.h"
#include "cli/cmd/watch.h"

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

static struct question log_question(struct errand *e, const struct run *run, int64_t offset)
{
    struct buf query = buf_in(e->arena);
    struct str path = errand_join(e, STR("runs"), str_z(e->arena, run->id));
    buf_put_z(&query, "offset=");
    buf_put_i64(&query, offset);
    if (run->noderole_id.len) {
        buf_put_z(&query, "&node_role=");
        buf_put_str(&query, run->noderole_id);
        buf_put_z(&query, "&attempt=");
        buf_put_str(&query, run->attempt);
    }
    return (struct question){.path = errand_join(e, path, "log"), .query = buf_str(&query)};
}

/* A piece; *out_offset moves behind it, *out_ended says that nothing more will come. */
static enum cli_exit show_piece(struct errand *e, const struct run *run, int64_t *offset,
                                bool *out_ended)
{
    const struct json *piece;
    struct buf b = buf_in(e->arena);
    int64_t next = *offset, total = 0;
    const struct question q = log_question(e, run, *offset);
    const enum cli_exit status = errand_ask(e, &q, &piece);
    if (status != CLI_FINE)
        return status;
    const struct json *text = json_get(piece, STR("text"));
    const bool is_read = json_as_i64(json_get(piece, STR("next")), &next) &&
                         json_as_i64(json_get(piece, STR("total")), &total);
    const bool has_ended = json_is_true(json_get(piece, STR("ended")));
    if (text && text->kind == JSON_STRING)
        safe_put_lines(&b, text->text);
    output_text(buf_str(&b));
    *out_ended = !is_read || (next >= total && (has_ended || !e->options.follow)) ||
                 (next == *offset && (has_ended || !e->options.follow));
    *offset = next;
    return fflush(stdout) == 0 ? CLI_FINE : CLI_NOTHING;
}

static enum cli_exit show(struct errand *e, const struct run *run)
{
    int64_t offset = 0, wait = PAUSE_MS_MIN;
    for (;;) {
        struct arena scratch = {0};
        struct errand once = *e;
        const int64_t before = offset;
        bool has_ended = false;
        once.arena = &scratch;
        const enum cli_exit status = show_piece(&once, run, &offset, &has_ended);
        e->client = once.client;
        arena_fini(&scratch);
        if (status != CLI_FINE || has_ended)
            return status;
        wait = offset > before ? PAUSE_MS_MIN : wait * 3 / 2;
        wait = wait > PAUSE_MS_MAX ? PAUSE_MS_MAX : wait;
        if (offset == before)
            watch_pause(wait);
    }
}

/* ---- finding ---- */

/* An open run may end while it is followed, so what an ended one is asked by is noted before. */
enum cli_exit logs_of_run(struct errand *e)
{
    const struct json *open = NULL;
    struct question q = {.is_quiet = true};
    const enum cli_exit status = errand_path(e, e->words->texts[0], &q.path);
    struct run run = {.id = str_from(e->words->texts[0])};
    if (status != CLI_FINE)
        return status;
    if (errand_ask(e, &q, &open) == CLI_FINE) {
        run.noderole_id = number_of(open, "node_role_id");
        run.attempt = number_of(open, "attempt");
    }
    return errand_settle(e) == CLI_FINE ? show(e, &run) : CLI_NOTHING;
}

static enum cli_exit fetch_old(struct errand *e, const struct json **out_runs)
{
    struct question q = {0};
    const enum cli_exit status = errand_path(e, e->words->texts[0], &q.path);
    if (status != CLI_FINE)
        return status;
    q.path = errand_join(e, q.path, "runs");
    return errand_ask(e, &q, out_runs);
}

static enum cli_exit fetch_noderole(struct errand *e, const struct json **out_noderole)
{
    struct question q = {.attributes =
                             "[\"id\",\"state\",\"status\",\"runlog\",\"reason\",\"reason_text\"]"};
    const enum cli_exit status = errand_path(e, e->words->texts[0], &q.path);
    return status == CLI_FINE ? errand_ask(e, &q, out_noderole) : status;
}

static bool is_meant(const struct errand *e, struct str noderole_id, const struct json *run)
{
    return str_eq(number_of(run, "node_role_id"), noderole_id) &&
           (!e->options.attempt || str_eq(number_of(run, "attempt"), str_from(e->options.attempt)));
}

/* Open ones first: they are newer than all that are over, which come newest first. */
static const struct json *find_run(struct errand *e, struct str noderole_id,
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
static bool is_of_run(const struct errand *e, const struct json *noderole)
{
    const struct cli_state *state = output_state(e->noun, json_get(noderole, STR("state")));
    const struct json *status = json_get(noderole, STR("status"));
    const struct str word = status && status->kind == JSON_STRING ? status->text : STR("");
    return !state || strcmp(state->name, "error") != 0 || str_eq(word, STR("run failed")) ||
           str_eq(word, STR("run lost")) || str_eq(word, STR("cancelled"));
}

/* Not every jig has something that writes. */
static bool is_kept(struct errand *e, const struct run *run)
{
    const struct json *piece;
    struct question q = log_question(e, run, 0);
    q.is_quiet = true;
    return errand_ask(e, &q, &piece) != CLI_NOT_FOUND;
}

static enum cli_exit show_own(struct errand *e, const struct json *log)
{
    struct buf b = buf_in(e->arena);
    safe_put_lines(&b, log->text);
    if (log->text.at[log->text.len - 1] != '\n')
        buf_put_c(&b, '\n');
    output_text(buf_str(&b));
    return fflush(stdout) == 0 ? CLI_FINE : CLI_NOTHING;
}

/* Why it failed, behind what it wrote: a log seldom ends with that. On standard error, so that the
 * log alone can be kept. */
static void tell_reason(struct errand *e, const struct json *failed)
{
    const struct json *code = json_get(failed, STR("reason"));
    const struct json *text = json_get(failed, STR("reason_text"));
    struct buf b = buf_in(e->arena);
    if (!code || code->kind != JSON_STRING)
        return;
    safe_put(&b, code->text);
    buf_put_z(&b, ": ");
    if (text && text->kind == JSON_STRING)
        safe_put(&b, text->text);
    fprintf(stderr, "%s: %.*s\n", e->whose, STR_FMT_ARGS(buf_str(&b)));
}

static enum cli_exit show_found(struct errand *e, const struct json *noderole,
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

enum cli_exit logs_of_noderole(struct errand *e)
{
    const struct json *noderole, *open, *old;
    enum cli_exit status = fetch_noderole(e, &noderole);
    if (status == CLI_FINE)
        status = errand_ask(e, &(struct question){.path = STR("runs")}, &open);
    if (status == CLI_FINE)
        status = fetch_old(e, &old);
    if (status != CLI_FINE)
        return status;
    const struct str noderole_id = number_of(noderole, "id");
    const struct json *found = find_run(e, noderole_id, open, old);
    const struct json *own = json_get(noderole, STR("runlog"));
    const bool has_own = !e->options.attempt && own && own->kind == JSON_STRING && own->text.len;
    if (!found && !has_own) {
        words_complain(e->words, "it has never run, or not that often", e->words->texts[0]);
        return CLI_NOT_FOUND;
    }
    const bool is_own = !found || (has_own && !is_of_run(e, noderole));
    status = is_own ? show_own(e, own) : show_found(e, noderole, found);
    if (status == CLI_FINE)
        tell_reason(e, is_own || !json_get(found, STR("reason")) ? noderole : found);
    return status;
}

enum cli_exit logs_runs(struct errand *e)
{
    static const struct cli_column columns[] = {
        {"id", NULL},     {"attempt", NULL},    {"role", NULL},    {"result", NULL},
        {"reason", NULL}, {"started_at", NULL}, {"ended_at", NULL}};
    struct cli_noun over = *nouns_of("runs");
    const struct cli_noun *noun = e->noun;
    const struct json *old;
    const enum cli_exit status = fetch_old(e, &old);
    if (status != CLI_FINE)
        return status;
    over.columns = columns;
    over.column_count = sizeof columns / sizeof columns[0];
    e->noun = &over;
    output_list(e, old);
    e->noun = noun;
    return CLI_FINE;
}
