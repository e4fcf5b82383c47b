#include "cli/cmd/cmd_log.h"

#include <stdio.h>
#include <string.h>

#include "cli/cmd/nouns.h"
#include "cli/cmd/response_output.h"
#include "cli/cmd/watch.h"
#include "cli/output/term_escape.h"

/* Prints the output of runs. A run is one execution of a noderole (a role bound to a node) and has
 * the number `attempt`; an open run has not ended. Nothing is kept between verbs.
 *
 * The log of a run is read in parts, from an offset to the end that it has now; --follow polls for
 * more until the run has ended. An open run may end between two parts, and the server finds an
 * ended run only by noderole and attempt, so both are determined before the first part is read.
 *
 * A noderole in error has a log of its own (`runlog`). It is printed in place of the log of the
 * newest run if the failure was not that of the run (a hook, a missing attrib), or if the run has
 * no stored output.
 *
 * Failure: the error is printed, and parts that were printed before remain. With --follow a lost
 * server ends the verb; it is not tolerated as by `wait`. Without any run and log the exit status
 * is CLI_NOT_FOUND. */

/* The pause between polls that return nothing new grows from the first to the second. */
enum { PAUSE_MS_MIN = 100, PAUSE_MS_MAX = 1000 };

/* Identifies a run. An ended run is found only by noderole and attempt. */
struct log_run {
    struct str id;
    struct str noderole_id;
    struct str attempt;
};

/* The number as text; "": missing. */
static struct str log_number(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, str_from(key));
    return value && value->kind == JSON_NUMBER ? value->text : STR("");
}

/* ---- reading the log of a run ---- */

static struct api_request log_call(struct cli_request *req, const struct log_run *run,
                                   int64_t offset)
{
    struct buf query = buf_in(req->arena);
    struct str path = request_join(req, STR("runs"), str_z(req->arena, run->id));
    buf_put_z(&query, "offset=");
    buf_put_i64(&query, offset);
    if (run->noderole_id.len) {
        buf_put_z(&query, "&node_role=");
        buf_put_str(&query, run->noderole_id);
        buf_put_z(&query, "&attempt=");
        buf_put_str(&query, run->attempt);
    }
    return (struct api_request){.path = request_join(req, path, "log"), .query = buf_str(&query)};
}

/* Print the part of the log from *offset on and advance *offset. *out_ended: the log is complete,
 * or everything is printed and --follow is not given. */
static enum cli_exit log_show_part(struct cli_request *req, const struct log_run *run,
                                   int64_t *offset, bool *out_ended)
{
    const struct json *part;
    struct buf b = buf_in(req->arena);
    int64_t next = *offset, total = 0;
    const struct api_request call = log_call(req, run, *offset);
    const enum cli_exit status = request_send(req, &call, &part);
    if (status != CLI_OK)
        return status;
    const struct json *text = json_get(part, STR("text"));
    const bool is_read = json_as_i64(json_get(part, STR("next")), &next) &&
                         json_as_i64(json_get(part, STR("total")), &total);
    const bool has_ended = json_is_true(json_get(part, STR("ended")));
    if (text && text->kind == JSON_STRING)
        term_put_escaped_lines(&b, text->text);
    output_text(buf_str(&b));
    *out_ended = !is_read || (next >= total && (has_ended || !req->options.follow)) ||
                 (next == *offset && (has_ended || !req->options.follow));
    *offset = next;
    return fflush(stdout) == 0 ? CLI_OK : CLI_IO_ERROR;
}

/* Print all parts. Each has an arena of its own, because a run may be followed for hours. */
static enum cli_exit log_show(struct cli_request *req, const struct log_run *run)
{
    int64_t offset = 0, wait = PAUSE_MS_MIN;
    for (;;) {
        struct arena scratch = {0};
        struct cli_request once = *req;
        const int64_t before = offset;
        bool has_ended = false;
        once.arena = &scratch;
        const enum cli_exit status = log_show_part(&once, run, &offset, &has_ended);
        req->client = once.client;
        arena_fini(&scratch);
        if (status != CLI_OK || has_ended)
            return status;
        wait = offset > before ? PAUSE_MS_MIN : wait * 3 / 2;
        wait = wait > PAUSE_MS_MAX ? PAUSE_MS_MAX : wait;
        if (offset == before)
            watch_pause(wait);
    }
}

/* ---- finding the run ---- */

/* Noderole and attempt are read first, because an open run may end while it is followed. If there
 * is no open run with this id, the request for the log prints the error. Settings must be in the
 * arena of the request before log_show uses others. */
enum cli_exit cmd_log_of_run(struct cli_request *req)
{
    const struct json *open = NULL;
    struct api_request call = {.is_quiet = true};
    const enum cli_exit status = request_path(req, req->args->words[0], &call.path);
    struct log_run run = {.id = str_from(req->args->words[0])};
    if (status != CLI_OK)
        return status;
    if (request_send(req, &call, &open) == CLI_OK) {
        run.noderole_id = log_number(open, "node_role_id");
        run.attempt = log_number(open, "attempt");
    }
    return request_read_settings(req) == CLI_OK ? log_show(req, &run) : CLI_IO_ERROR;
}

/* The ended runs of the noderole that is the first operand. */
static enum cli_exit log_fetch_ended(struct cli_request *req, const struct json **out_runs)
{
    struct api_request call = {0};
    const enum cli_exit status = request_path(req, req->args->words[0], &call.path);
    if (status != CLI_OK)
        return status;
    call.path = request_join(req, call.path, "runs");
    return request_send(req, &call, out_runs);
}

static bool log_is_wanted_run(const struct cli_request *req, struct str noderole_id,
                              const struct json *run)
{
    return str_eq(log_number(run, "node_role_id"), noderole_id) &&
           (!req->options.attempt ||
            str_eq(log_number(run, "attempt"), str_from(req->options.attempt)));
}

/* Open runs are newer than all ended ones, which the server lists newest first. */
static const struct json *log_find_run(struct cli_request *req, struct str noderole_id,
                                       const struct json *open, const struct json *ended)
{
    for (const struct json *run = open->first; run; run = run->next)
        if (log_is_wanted_run(req, noderole_id, run))
            return run;
    for (const struct json *run = ended->first; run; run = run->next)
        if (log_is_wanted_run(req, noderole_id, run))
            return run;
    return NULL;
}

/* False if the noderole is in error because of a hook or the engine, so that only its own log has
 * the message. The engine stores the reason of a failed run with the run and with the noderole, so
 * the failure is that of the newest ended run exactly if both have the same reason. A cancelled run
 * that had not started is not among the ended ones; its code decides. */
static bool log_failed_in_run(const struct cli_request *req, const struct json *noderole,
                              const struct json *ended)
{
    static const char *const fields[] = {"reason", "reason_subject", "reason_text"};
    const struct cli_state *state = output_state(req->noun, json_get(noderole, STR("state")));
    const struct json *reason = json_get(noderole, STR("reason")), *run = ended->first;
    if (!state || strcmp(state->name, "error") != 0)
        return true;
    if (reason && reason->kind == JSON_STRING && str_eq(reason->text, STR("cancelled")))
        return true;
    while (run && !str_eq(log_number(run, "node_role_id"), log_number(noderole, "id")))
        run = run->next;
    for (uint32_t i = 0; run && i < sizeof fields / sizeof fields[0]; i++) {
        const struct str field = str_from(fields[i]);
        const struct json *of_run = json_get(run, field), *own = json_get(noderole, field);
        const bool has_none = !of_run || of_run->kind == JSON_NULL;
        if (has_none ? own && own->kind != JSON_NULL : !own || !json_eq(of_run, own))
            return false;
    }
    return run != NULL;
}

/* Jigs (ways to execute a role) without a process have no stored output. A failure other than 404
 * counts as stored, so that log_show prints it. */
static bool log_is_stored(struct cli_request *req, const struct log_run *run)
{
    const struct json *part;
    struct api_request call = log_call(req, run, 0);
    call.is_quiet = true;
    return request_send(req, &call, &part) != CLI_NOT_FOUND;
}

static enum cli_exit log_show_noderole_log(struct cli_request *req, const struct json *log)
{
    struct buf b = buf_in(req->arena);
    term_put_escaped_lines(&b, log->text);
    if (log->text.at[log->text.len - 1] != '\n')
        buf_put_c(&b, '\n');
    output_text(buf_str(&b));
    return fflush(stdout) == 0 ? CLI_OK : CLI_IO_ERROR;
}

/* Print why the run failed after its log, which often does not contain the reason. It goes to
 * stderr, so that stdout has only the log. */
static void log_report_reason(struct cli_request *req, const struct json *failed)
{
    const struct json *code = json_get(failed, STR("reason"));
    const struct json *text = json_get(failed, STR("reason_text"));
    struct buf b = buf_in(req->arena);
    if (!code || code->kind != JSON_STRING)
        return;
    term_put_escaped(&b, code->text);
    buf_put_z(&b, ": ");
    if (text && text->kind == JSON_STRING)
        term_put_escaped(&b, text->text);
    fprintf(stderr, "%s: %.*s\n", req->prog, STR_FMT_ARGS(buf_str(&b)));
}

/* Print the log of the run, or that of the noderole if the run has no stored output. */
static enum cli_exit log_show_run(struct cli_request *req, const struct json *noderole,
                                  const struct json *found)
{
    const struct json *own = json_get(noderole, STR("runlog"));
    const bool has_own = !req->options.attempt && own && own->kind == JSON_STRING && own->text.len;
    const struct log_run run = {.id = log_number(found, "id"),
                                .noderole_id = log_number(noderole, "id"),
                                .attempt = log_number(found, "attempt")};
    const bool has_no_output = has_own && !req->options.follow && !log_is_stored(req, &run);
    return has_no_output ? log_show_noderole_log(req, own) : log_show(req, &run);
}

enum cli_exit cmd_log_of_noderole(struct cli_request *req)
{
    const struct json *noderole, *open, *ended;
    struct api_request call = {
        .attributes =
            "[\"id\",\"state\",\"runlog\",\"reason\",\"reason_subject\",\"reason_text\"]"};
    enum cli_exit status = request_path(req, req->args->words[0], &call.path);
    if (status == CLI_OK)
        status = request_send(req, &call, &noderole);
    if (status == CLI_OK)
        status = request_send(req, &(struct api_request){.path = STR("runs")}, &open);
    if (status == CLI_OK)
        status = log_fetch_ended(req, &ended);
    if (status != CLI_OK)
        return status;
    const struct str noderole_id = log_number(noderole, "id");
    const struct json *found = log_find_run(req, noderole_id, open, ended);
    const struct json *own = json_get(noderole, STR("runlog"));
    const bool has_own = !req->options.attempt && own && own->kind == JSON_STRING && own->text.len;
    if (!found && !has_own) {
        args_error(req->args, "the noderole has no such run", req->args->words[0]);
        return CLI_NOT_FOUND;
    }
    const bool is_own = !found || (has_own && !log_failed_in_run(req, noderole, ended));
    status = is_own ? log_show_noderole_log(req, own) : log_show_run(req, noderole, found);
    if (status == CLI_OK)
        log_report_reason(req, is_own || !json_get(found, STR("reason")) ? noderole : found);
    return status;
}

enum cli_exit cmd_log_runs(struct cli_request *req)
{
    static const struct cli_column columns[] = {
        {"id", NULL},     {"attempt", NULL},    {"role", NULL},    {"result", NULL},
        {"reason", NULL}, {"started_at", NULL}, {"ended_at", NULL}};
    struct cli_noun ended_runs = *nouns_of("runs");
    const struct cli_noun *noun = req->noun;
    const struct json *ended;
    const enum cli_exit status = log_fetch_ended(req, &ended);
    if (status != CLI_OK)
        return status;
    ended_runs.columns = columns;
    ended_runs.column_count = sizeof columns / sizeof columns[0];
    req->noun = &ended_runs;
    output_list(req, ended);
    req->noun = noun;
    return CLI_OK;
}
