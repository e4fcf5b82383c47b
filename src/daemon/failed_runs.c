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

static bool may_write(struct failed_runs *f, int64_t mono_ms)
{
    const int64_t most = (int64_t)FAILURES_BURST * 1000;
    const int64_t more = f->filled_ms ? (mono_ms - f->filled_ms) * FAILURES_PER_S : most;
    f->lines = f->lines + more < most ? f->lines + more : most;
    f->filled_ms = mono_ms;
    if (f->lines < 1000) {
        f->left_out++;
        return false;
    }
    f->lines -= 1000;
    return true;
}

static void write_left_out(struct failed_runs *f)
{
    if (f->left_out)
        log_with(LOG_WARNING, LOG_FIELDS(LOG_I64("runs", (int64_t)f->left_out)),
                 "more runs failed than are logged one by one; `halligan deployments why` counts "
                 "them by cause");
    f->left_out = 0;
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
        !core_record(core, TABLE_ROLE, noderole.noderole.role_id, &role) || !may_write(f, mono_ms))
        return;
    write_left_out(f);
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

/* The code was fine, and the core would not do what it wished. Of hooks about nodes nothing else
 * tells that. */
void failed_runs_of_hook(const struct outcome *outcome)
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
             "a hook failed: %.*s", STR_FMT_ARGS(json_get(doc, STR("text"))->text));
    arena_fini(&arena);
}
