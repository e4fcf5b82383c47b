#include "api/nouns/runs.h"

#include "api/call/auth.h"
#include "api/call/params.h"
#include "api/call/reply.h"
#include "api/call/route.h"
#include "api/call/sse.h"
#include "api/call/streaming.h"
#include "api/rest/json_object_writer.h"
#include "api/rest/objects.h"
#include "api/rest/row_stream.h"
#include "model/limits.h"

/* Open and ended runs, and logs of runs as JSON or as an event stream. Logs are arbitrary bytes:
 * they are converted to UTF-8 with replacement characters, and an incomplete character at the end
 * is left for the next request, so that `next` is always at a character boundary.
 *
 * The file owns only the state of a log stream (struct log_stream), in the arena of its call. Open
 * runs are read from the core, ended ones from the store, and logs from the runner (the module that
 * executes runs) through the engine; a log stream does not wait for durability.
 *
 * Order: the records of ended runs are valid only while they are delivered, so they are copied, and
 * their memory is reserved before that. A log stream verifies the credentials before each read,
 * because it may last longer than they do.
 *
 * Failure: an unknown run or log is a problem (404). A log stream that cannot read on, or whose
 * credentials were revoked, ends without the event "end"; the client may resume at the offset of
 * the last event. */

static const char type[] = "run";

/* Null if the role was deleted. */
static void run_put_role(struct object_writer *m, const struct call *call, int64_t role_id)
{
    object_put_optional(m, "role", object_name(call->core, TABLE_ROLE, role_id, call->arena));
}

/* ---- open runs ---- */

static void run_put_open(struct call *call, const struct run_record *run, struct buf *b)
{
    static const char *const states[] = {[RUN_QUEUED] = "queued",
                                         [RUN_RUNNING] = "running",
                                         [RUN_PARKED] = "parked",
                                         [RUN_STOPPING] = "stopping"};
    struct object_writer m = object_writer_open(b, call->wanted);
    struct record noderole = {.noderole = {.role_id = 0}};
    const bool known = core_record(call->core, TABLE_NODEROLE, run->noderole_id, &noderole);
    object_put_number(&m, "id", run->id);
    object_put_number(&m, "node_id", run->node_id);
    object_put_number(&m, "node_role_id", run->noderole_id);
    run_put_role(&m, call, known ? noderole.noderole.role_id : 0);
    object_put_text(&m, "state", str_from(states[run->state]));
    object_put_bool(&m, "running", run->state == RUN_RUNNING || run->state == RUN_STOPPING);
    object_put_text(&m, "queue", run->queue == QUEUE_HIGH ? STR("high") : STR("normal"));
    object_put_number(&m, "attempt", run->attempt);
    object_put_number(&m, "tries", run->tries);
    object_put_bool(&m, "begun", run->begun);
    object_put_text(&m, "job", run->job);
    object_put_time(&m, "started_at", run->started_at);
    object_put_time(&m, "created_at", run->created_at);
    object_put_time(&m, "updated_at", run->updated_at);
    object_writer_close(&m);
}

static bool run_put_row(struct call *call, const struct rows *rows, int64_t id, struct buf *out)
{
    const int64_t *node_id = rows->self;
    struct record record;
    if (!core_record(call->core, TABLE_RUN, id, &record) ||
        (*node_id && record.run.node_id != *node_id))
        return false;
    run_put_open(call, &record.run, out);
    return true;
}

/* node_id 0: runs on all nodes. */
static enum handler_result reply_runs(struct call *call, int64_t node_id)
{
    reply_json(call, type, "list", STR(""));
    return reply_rows(call,
                      &(struct rows){.head = STR("["),
                                     .tail = STR("]"),
                                     .table = TABLE_RUN,
                                     .put = run_put_row,
                                     .self = arena_copy(call->arena, &node_id, sizeof node_id)});
}

static enum handler_result serve_runs(struct call *call)
{
    return reply_runs(call, 0);
}

static bool run_find_open(struct call *call, struct record *out)
{
    int64_t id;
    return str_is_digits(call->keys[0]) && str_parse_i64(call->keys[0], &id) &&
           core_record(call->core, TABLE_RUN, id, out);
}

static enum handler_result run_refuse_missing(struct call *call)
{
    call_refuse(call, PROBLEM_NOT_FOUND, STR("id"),
                STR_CONCAT(call->arena, STR("there is no open run with id "), call->keys[0]));
    return SERVED_REPLY;
}

/* A name is that of a node: lists the open runs on it. */
static enum handler_result serve_run(struct call *call)
{
    struct record record;
    if (!str_is_digits(call->keys[0]))
        return resource_find(call, &resource_nodes, call->keys[0], &record)
                   ? reply_runs(call, record.id)
                   : SERVED_REPLY;
    if (!run_find_open(call, &record))
        return run_refuse_missing(call);
    struct buf b = buf_in(call->arena);
    run_put_open(call, &record.run, &b);
    reply_json(call, type, "obj", buf_str(&b));
    return SERVED_REPLY;
}

/* A queued run is cancelled at once; a run that has begun is being stopped. */
static void run_reply_cancelled(struct call *call, int64_t id)
{
    struct record record;
    (void)id;
    const bool stops = call->core && run_find_open(call, &record);
    reply_message(
        call, type,
        stops ? STR_CONCAT(call->arena, STR("run "), call->keys[0], STR(" is being stopped"))
              : STR_CONCAT(call->arena, STR("run "), call->keys[0], STR(" was cancelled")));
}

static enum handler_result serve_run_cancel(struct call *call)
{
    struct record record;
    if (!run_find_open(call, &record))
        return run_refuse_missing(call);
    if (!object_condition(call))
        return SERVED_REPLY;
    struct command command = {.kind = COMMAND_RUN_CANCEL, .run_cancel = {.run_id = record.id}};
    return call_submit(call, &command, run_reply_cancelled);
}

/* ---- logs ---- */

/* Length of the UTF-8 sequence at `at`: 0 if it is invalid, more than the rest if it is incomplete.
 */
static uint32_t utf8_sequence_length(struct str s, uint32_t at)
{
    const uint8_t lead = (uint8_t)s.at[at];
    const uint32_t size = lead < 0x80                    ? 1
                          : lead >= 0xc2 && lead <= 0xdf ? 2
                          : lead >= 0xe0 && lead <= 0xef ? 3
                          : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                         : 0;
    for (uint32_t i = at + 1; i < at + size && i < s.len; i++)
        if (((uint8_t)s.at[i] & 0xc0) != 0x80)
            return 0;
    if (size > 2 && at + 1 < s.len) {
        const uint8_t second = (uint8_t)s.at[at + 1];
        if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
            (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f))
            return 0;
    }
    return size;
}

/* Replaces invalid bytes by U+FFFD. An incomplete character at the end is left for the next time,
 * unless this is all (is_all). *out_used: bytes of `raw` that were converted. */
static struct str run_log_to_utf8(struct arena *a, struct str raw, bool is_all, uint32_t *out_used)
{
    struct buf b = buf_in(a);
    uint32_t at = 0;
    while (at < raw.len) {
        const uint32_t size = utf8_sequence_length(raw, at);
        if (at + size > raw.len && !is_all)
            break;
        if (size && at + size <= raw.len)
            buf_put_str(&b, str_slice(raw, at, at + size));
        else
            buf_put_z(&b, "\xef\xbf\xbd");
        at += size && at + size <= raw.len ? size : 1;
    }
    *out_used = at;
    return buf_str(&b);
}

static void run_log_reply(struct call *call, const struct api_log_chunk *log)
{
    uint32_t used;
    const bool is_all = log->ended && log->offset + (int64_t)log->text.len >= log->total;
    const struct str text = run_log_to_utf8(call->arena, log->text, is_all, &used);
    struct buf b = buf_in(call->arena);
    struct object_writer m = object_writer_open(&b, call->wanted);
    object_put_number(&m, "offset", log->offset);
    object_put_number(&m, "next", log->offset + used);
    object_put_number(&m, "total", log->total);
    object_put_bool(&m, "ended", log->ended);
    object_put_text(&m, "text", text);
    object_writer_close(&m);
    reply_json(call, "run_log", "obj", buf_str(&b));
}

/* Reads which attempt is requested: that of an open run is known, that of an ended one must be
 * given. */
static bool run_log_read_params(struct call *call, struct api_log_chunk *log)
{
    struct record record;
    int64_t attempt = 0;
    const bool is_open = run_find_open(call, &record);
    if (is_open) {
        log->run_id = record.id;
        log->noderole_id = record.run.noderole_id;
        attempt = record.run.attempt;
    } else if (!str_is_digits(call->keys[0]) || !str_parse_i64(call->keys[0], &log->run_id)) {
        run_refuse_missing(call);
        return false;
    }
    const bool named = param_number(call, "node_role", 1, INT64_MAX, &log->noderole_id);
    const bool counted = param_number(call, "attempt", 1, UINT32_MAX, &attempt);
    param_number(call, "offset", 0, INT64_MAX, &log->offset);
    log->attempt = (uint32_t)attempt;
    if (!is_open && !(named && counted) && !call->problems)
        call_refuse(call, PROBLEM_NOT_FOUND, STR("id"),
                    STR_CONCAT(call->arena, STR("there is no open run with id "), call->keys[0],
                               STR("; for the log of an ended run give node_role and attempt")));
    return !call->problems;
}

/* ---- log stream ---- */

struct log_stream {
    struct reply_stream stream;
    struct api_log_chunk log; /* the requested log and the current offset */
    int64_t last_write_ms;    /* monotonic ms; 0: nothing written yet */
};

/* Writes the bytes as an event, whose id is the offset after them, and advances the offset. */
static void run_log_put_event(struct api_log_chunk *log, struct buf *out)
{
    struct buf data = buf_in(log->arena), id = buf_in(log->arena);
    struct object_writer m = object_writer_open(&data, NULL);
    uint32_t used;
    const bool is_all = log->ended && log->offset + (int64_t)log->text.len >= log->total;
    const struct str text = run_log_to_utf8(log->arena, log->text, is_all, &used);
    if (used == 0)
        return;
    object_put_number(&m, "offset", log->offset);
    object_put_text(&m, "text", text);
    object_writer_close(&m);
    log->offset += used;
    buf_put_i64(&id, log->offset);
    sse_put(out, STR("log"), buf_str(&id), buf_str(&data));
}

static enum reply_stream_step run_log_step(struct call *call, struct buf *out)
{
    struct log_stream *f = call->stream->self;
    const struct api_engine *engine = call_engine(call);
    const int64_t now = engine->mono_ms(engine->self);
    struct arena scratch = {0};
    f->log.arena = &scratch;
    f->log.text = STR("");
    if (!auth_holds(call) || engine->run_log(engine->self, &f->log) != OK) {
        arena_fini(&scratch);
        return STREAM_END;
    }
    run_log_put_event(&f->log, out);
    arena_fini(&scratch);
    const bool is_over = f->log.ended && f->log.offset >= f->log.total;
    const bool has_more = f->log.offset < f->log.total && out->len;
    if (is_over)
        sse_put(out, STR("end"), STR(""), STR("{}"));
    else if (!out->len && now - f->last_write_ms >= SSE_KEEPALIVE_MS)
        sse_put_keepalive(out);
    if (out->len)
        f->last_write_ms = now;
    return is_over ? STREAM_END : has_more ? STREAM_MORE : STREAM_IDLE;
}

/* Starts at the offset of Last-Event-ID, if the client resumes. */
static enum handler_result run_log_begin_stream(struct call *call, const struct api_log_chunk *log)
{
    struct log_stream *f = arena_new(call->arena, struct log_stream);
    const struct str last = http_header(call->request, "Last-Event-ID");
    int64_t offset;
    f->stream = (struct reply_stream){
        .step = run_log_step, .self = f, .is_infinite = true, .ignores_durability = true};
    f->log = *log;
    if (str_parse_i64(last, &offset) && offset >= 0)
        f->log.offset = offset;
    return sse_begin(call, &f->stream);
}

static enum handler_result serve_run_log(struct call *call)
{
    const struct api_engine *engine = call_engine(call);
    struct api_log_chunk log = {.arena = call->arena};
    if (!params_read(call, type) || !run_log_read_params(call, &log))
        return SERVED_REPLY;
    if (engine->run_log && sse_is_wanted(call))
        return run_log_begin_stream(call, &log);
    const err e = engine->run_log ? engine->run_log(engine->self, &log) : ERR_NOT_FOUND;
    if (e == OK)
        run_log_reply(call, &log);
    else if (e == ERR_NOT_FOUND)
        call_refuse(
            call, PROBLEM_NOT_FOUND, STR("id"),
            STR_CONCAT(call->arena, STR("no log of run "), call->keys[0], STR(" is stored")));
    else
        reply_failure(call, e);
    return SERVED_REPLY;
}

/* ---- ended runs ---- */

static struct str run_result_name(uint32_t result)
{
    static const char *const names[] = {
        [RESULT_OK] = "ok",         [RESULT_FAILED] = "failed", [RESULT_ASYNC] = "async",
        [RESULT_PARKED] = "parked", [RESULT_LOST] = "lost",     [RESULT_CANCELLED] = "cancelled"};
    return str_from(result < sizeof names / sizeof *names ? names[result] : "unknown");
}

static bool run_put_old_row(struct call *call, const struct rows *rows, int64_t key,
                            struct buf *out)
{
    const struct old_run_record *runs = rows->self, *run = &runs[key];
    struct object_writer m = object_writer_open(out, call->wanted);
    object_put_number(&m, "id", run->run_id);
    object_put_number(&m, "attempt", run->attempt);
    object_put_number(&m, "node_id", run->node_id);
    object_put_number(&m, "node_role_id", run->noderole_id);
    run_put_role(&m, call, run->role_id);
    object_put_time(&m, "started_at", run->started_at);
    object_put_time(&m, "ended_at", run->ended_at);
    object_put_text(&m, "result", run_result_name(run->result));
    object_put_text(&m, "runlog", run->runlog);
    object_put_optional(&m, "reason",
                        run->reason && run->reason < REASON_COUNT
                            ? str_from(reason_name((enum reason_code)run->reason))
                            : STR(""));
    object_put_text(&m, "reason_subject", run->reason_subject);
    object_put_text(&m, "reason_text", run->reason_text);
    object_writer_close(&m);
    return true;
}

/* Copies the records, which are valid during this function only; the rows are written later. */
static enum handler_result old_runs_received(struct call *call, const struct record *runs,
                                             uint32_t count)
{
    struct record noderole;
    size_t bytes = (count + (size_t)1) * sizeof(struct old_run_record);
    if (!count && !resource_find(call, &resource_noderoles, call->keys[0], &noderole))
        return SERVED_REPLY;
    for (uint32_t i = 0; i < count; i++)
        bytes += runs[i].old_run.runlog.len + runs[i].old_run.reason_subject.len +
                 runs[i].old_run.reason_text.len +
                 (size_t)48; /* alignment of three strings to 16 bytes */
    if (!call_reserve_memory(call, bytes))
        return SERVED_REPLY;
    struct old_run_record *kept =
        arena_array(call->arena, struct old_run_record, count + (size_t)1);
    for (uint32_t i = 0; i < count; i++)
        fields_copy(call->arena, record_layout(TABLE_OLD_RUN), &runs[i].old_run, &kept[i]);
    reply_json(call, type, "list", STR(""));
    return reply_rows(call, &(struct rows){.head = STR("["),
                                           .tail = STR("]"),
                                           .table = TABLE_COUNT,
                                           .count = count,
                                           .put = run_put_old_row,
                                           .self = kept});
}

/* The runs of a deleted noderole can still be read by its id. */
enum handler_result serve_old_runs(struct call *call)
{
    const struct api_engine *engine = call_engine(call);
    struct record noderole;
    int64_t id, limit = KEEP_RUNS_MAX;
    if (!params_read(call, type))
        return SERVED_REPLY;
    param_number(call, "limit", 1, KEEP_RUNS_MAX, &limit);
    if (call->problems)
        return SERVED_REPLY;
    if (!str_is_digits(call->keys[0]) || !str_parse_i64(call->keys[0], &id)) {
        if (!resource_find(call, &resource_noderoles, call->keys[0], &noderole))
            return SERVED_REPLY;
        id = noderole.id;
    }
    if (!engine->runs) {
        reply_error(call, 404, "not_found", STR("this daemon does not store ended runs"));
        return SERVED_REPLY;
    }
    const err e =
        engine->runs(engine->self, id, (uint32_t)limit, call_wait_history(call, old_runs_received));
    return e == OK ? SERVED_LATER : call_history_failed(call, e);
}

/* ---- routes ---- */

static const struct route routes[] = {
    {.method = HTTP_GET,
     .pattern = V "runs",
     .serve = serve_runs,
     .form = REPLY_CUSTOM,
     .does = "the open runs, oldest first"},
    {.method = HTTP_GET,
     .pattern = V "runs/:id",
     .serve = serve_run,
     .form = REPLY_CUSTOM,
     .does = "one open run by id, or the open runs on a node by its name"},
    {.method = HTTP_GET,
     .pattern = V "runs/:id/log",
     .serve = serve_run_log,
     .form = REPLY_CUSTOM,
     .does = "its log from an offset; as text/event-stream: as it is written, until the run ends"},
    {.method = HTTP_PUT,
     .pattern = V "runs/:id/cancel",
     .serve = serve_run_cancel,
     .form = REPLY_MESSAGE,
     .does = "cancel it; a run that has begun is stopped"},
};

const struct route_table route_table_runs = ROUTE_TABLE("runs", routes);
