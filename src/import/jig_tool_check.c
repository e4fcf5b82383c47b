/* jig_tool_check.c - compares the programs that jigs need with those on this host, and submits a
 * JIG_UPDATE where the result has changed. The stored reason distinguishes jigs that this check has
 * deactivated from those that an operator has.
 *
 * It owns nothing: the state is in the rows of the jigs. Failure: if a command cannot be submitted,
 * that is logged after the line about the change, and the next check finds the difference again. */
#include "import/jig_tool_check.h"

#include "core/core.h"
#include "model/jig_class.h"
#include "run/jig/jig_tools.h"
#include "run/jig/launch_spec.h"
#include "sys/log.h"

static struct str jig_missing_tools(struct arena *a, const char *path,
                                    const struct jig_class *klass)
{
    struct reason why = {.code = REASON_NONE};
    const struct str name = str_from(klass->name);
    /* Jigs that do not start processes need no programs (no-op, test jig, Lua code of the role). */
    if (klass->is_noop || klass->is_test || klass->stays_itself)
        return STR("");
    if (!launch_spec_is_known(name))
        return STR("this build cannot run it");
    ignore(jig_tools_check(a, path, name, &why), "the text of the reason is returned");
    return why.text;
}

static void jig_submit_active(const struct jig_record *jig, struct str why,
                              struct jig_tool_check_callbacks callbacks)
{
    struct command command = {.kind = COMMAND_JIG_UPDATE, .actor = STR("daemon")};
    command.jig_update.id = jig->id;
    command.jig_update.given = GIVEN_JIG_ACTIVE;
    command.jig_update.active = why.len == 0;
    command.jig_update.inactive_reason = why;
    if (why.len)
        log_with(LOG_WARNING, LOG_FIELDS(LOG_S("jig", jig->name)), "jig %.*s deactivated: %.*s",
                 STR_FMT_ARGS(jig->name), STR_FMT_ARGS(why));
    else
        log_with(LOG_NOTICE, LOG_FIELDS(LOG_S("jig", jig->name)),
                 "jig %.*s activated: its programs are installed now", STR_FMT_ARGS(jig->name));
    if (callbacks.submit(callbacks.self, &command) != OK)
        log_with(LOG_WARNING, LOG_FIELDS(LOG_S("jig", jig->name)),
                 "jig %.*s not changed: the store is unavailable; the next reload checks again",
                 STR_FMT_ARGS(jig->name));
}

void jig_tool_check_all(const struct core *core, const char *path,
                        struct jig_tool_check_callbacks callbacks)
{
    struct arena arena = {0};
    struct record settings;
    must(core_record(core, TABLE_SETTINGS, 1, &settings));
    if (settings.settings.test_jig)
        return;
    for (int64_t id = core_next_id(core, TABLE_JIG, 0); id;
         id = core_next_id(core, TABLE_JIG, id), arena_reset(&arena)) {
        struct record record;
        must(core_record(core, TABLE_JIG, id, &record));
        const struct jig_record *jig = &record.jig;
        const struct jig_class *klass = jig_class_find(jig->class_name);
        if (!klass) /* the import has logged a warning */
            continue;
        const struct str why = jig_missing_tools(&arena, path, klass);
        const bool is_ours = !jig->active && jig->inactive_reason.len;
        const bool changes = jig->active ? why.len != 0 : !str_eq(why, jig->inactive_reason);
        if (changes && (jig->active || is_ours))
            jig_submit_active(jig, why, callbacks);
    }
    arena_fini(&arena);
}
