/* failed_runs.c - log lines about failed runs, limited by a token bucket.
 *
 * The run is looked up before the step that ends it, because its row may be deleted by the step;
 * the reason is read from the noderole after the step. A line costs 1000 units of the bucket, which
 * is filled with FAILURES_PER_S units per millisecond up to FAILURES_BURST lines. Suppressed lines
 * are counted and reported before the next line that is written.
 *
 * The state belongs to the caller. A run that another step has ended meanwhile, or a command that
 * was refused, has no line. Nothing here can fail.
 */
#include "daemon/failed_runs.h"

#include "base/json/json.h"
#include "core/core.h"
#include "sys/log.h"

void failed_runs_stepping(struct failed_runs *f, const struct core *core,
                          const struct command *command)
{
    const struct run_done_command *done = &command->run_done;
    struct record run;
    f->run_id = 0;
    if (command->kind != COMMAND_RUN_DONE || !core ||
        (done->result != RESULT_FAILED && done->result != RESULT_LOST) ||
        !core_record(core, TABLE_RUN, done->run_id, &run) || run.run.state != RUN_RUNNING ||
        run.run.attempt != done->attempt)
        return;
    f->run_id = done->run_id;
    f->noderole_id = run.run.noderole_id;
}

static bool failed_runs_may_log(struct failed_runs *f, int64_t mono_ms)
{
    const int64_t most = (int64_t)FAILURES_BURST * 1000;
    const int64_t more = f->filled_ms ? (mono_ms - f->filled_ms) * FAILURES_PER_S : most;
    f->credit_milli = f->credit_milli + more < most ? f->credit_milli + more : most;
    f->filled_ms = mono_ms;
    if (f->credit_milli < 1000) {
        f->suppressed++;
        return false;
    }
    f->credit_milli -= 1000;
    return true;
}

void failed_runs_stepped(struct failed_runs *f, const struct core *core,
                         const struct command *command, const struct outcome *outcome,
                         int64_t mono_ms)
{
    struct record noderole, node, role;
    const int64_t run_id = f->run_id;
    f->run_id = 0;
    if (!run_id || outcome->verdict != VERDICT_DONE ||
        !core_record(core, TABLE_NODEROLE, f->noderole_id, &noderole) ||
        !core_record(core, TABLE_NODE, noderole.noderole.node_id, &node) ||
        !core_record(core, TABLE_ROLE, noderole.noderole.role_id, &role) ||
        !failed_runs_may_log(f, mono_ms))
        return;
    if (f->suppressed)
        log_with(LOG_WARNING, LOG_FIELDS(LOG_I64("runs", (int64_t)f->suppressed)),
                 "%llu more runs failed without a log line; `halligan deployments why` counts them "
                 "by cause",
                 (unsigned long long)f->suppressed);
    f->suppressed = 0;
    const struct noderole_record *nr = &noderole.noderole;
    const uint32_t code = nr->reason < REASON_COUNT ? nr->reason : REASON_NONE;
    log_with(LOG_WARNING,
             LOG_FIELDS(LOG_S("node", node.node.name), LOG_S("role", role.role.name),
                        LOG_I64("node_role", nr->id), LOG_I64("run", run_id),
                        LOG_I64("attempt", command->run_done.attempt),
                        LOG_Z("reason", reason_name((enum reason_code)code)),
                        LOG_S("subject", nr->reason_subject)),
             "run %lld of role %.*s on node %.*s failed: %.*s; %s", (long long)run_id,
             STR_FMT_ARGS(role.role.name), STR_FMT_ARGS(node.node.name),
             STR_FMT_ARGS(nr->reason_text.len ? nr->reason_text : nr->status),
             nr->state == NODEROLE_ERROR ? "its noderole is in error until it is retried"
                                         : "it is started again");
}

/* The hook itself succeeded, but the core refused one of its commands. For hooks of nodes this line
 * is the only report: they have no noderole whose run log could store it. */
void failed_runs_log_hook(const struct outcome *outcome)
{
    struct arena arena = {0};
    struct json *doc;
    uint32_t offset;
    const char *what;
    must(json_read(&arena, outcome->doc, &doc, &offset, &what) == OK);
    log_with(LOG_WARNING,
             LOG_FIELDS(LOG_S("role", json_get(doc, STR("role"))->text),
                        LOG_S("hook", json_get(doc, STR("hook"))->text),
                        LOG_S("object", json_get(doc, STR("object"))->text),
                        LOG_S("id", json_get(doc, STR("object_id"))->text)),
             "command of hook %.*s of role %.*s refused: %.*s",
             STR_FMT_ARGS(json_get(doc, STR("hook"))->text),
             STR_FMT_ARGS(json_get(doc, STR("role"))->text),
             STR_FMT_ARGS(json_get(doc, STR("text"))->text));
    arena_fini(&arena);
}
