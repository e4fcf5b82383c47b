#include "daemon/content.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "core/core.h"
#include "hooks/code_finder.h"
#include "sys/log.h"

/* What became of one file so far. */
struct content_try {
    bool wanted;            /* it is to be imported */
    bool asked;             /* an outcome is to come */
    struct report refusals; /* of the last time */
};

/* ---- saying it ---- */

static void log_report(const struct report *r, const char *errors, const char *warnings)
{
    struct arena arena = {0};
    for (const struct report_entry *entry = r->first; entry; entry = entry->next) {
        struct buf line = buf_in(&arena);
        report_format(entry, &line);
        log_say(LOG_WARNING, "%s: %.*s", entry->severity == REPORT_ERROR ? errors : warnings,
                STR_FMT_ARGS(buf_str(&line)));
        arena_reset(&arena);
    }
    if (r->errors + r->warnings > r->count)
        log_say(LOG_WARNING, "and %u things more", r->errors + r->warnings - r->count);
    arena_fini(&arena);
}

/* ---- reading ---- */

void content_read_ahead(struct content *c, const char *directories)
{
    must(content_is_idle(c));
    arena_reset(&c->arena);
    struct report report = report_begin(&c->arena);
    struct code_finder code = {0};
    const struct hook_finder finder = code_finder_seam(&code);
    c->tree = content_read_tree(&report, directories, &finder);
    c->tries = arena_array(&c->arena, struct content_try, c->tree.count);
    for (uint32_t i = 0; i < c->tree.count; i++)
        c->tries[i].wanted = true;
    c->is_read = true;
    log_report(&report, "a barclamp does not read, going on without it", "a barclamp reads oddly");
}

struct str content_source_path(const struct content *c, struct str barclamp)
{
    for (uint32_t i = 0; i < c->tree.count; i++) {
        const struct barclamp_file *file = &c->tree.files[i];
        if (!c->tries[i].wanted || !str_eq(file->name, barclamp))
            continue;
        const struct json *own =
            file->is_yaml ? NULL : json_at(file->tree, STR("barclamp/source_path"));
        return own ? own->text : file->source_path;
    }
    return STR("");
}

/* ---- importing ---- */

/* The document became canonical on its way in, and this one is by birth. */
static bool is_held(const struct content *c, const struct barclamp_file *file)
{
    const struct core *core = c->seams.core(c->seams.self);
    const int64_t id = core ? core_find(core, TABLE_BARCLAMP, file->name) : 0;
    struct record record;
    return id && core_record(core, TABLE_BARCLAMP, id, &record) &&
           str_eq(record.barclamp.cfg_data, file->document);
}

static bool submit_file(struct content *c, uint32_t i)
{
    struct command command = {.kind = COMMAND_IMPORT, .actor = STR("daemon")};
    command.request = c->request_first - (int64_t)i;
    command.import.barclamp = c->tree.files[i].document;
    if (c->seams.submit(c->seams.self, &command) == OK)
        return true;
    log_with(LOG_WARNING, LOG_FIELDS(LOG_Z("path", c->tree.files[i].path)),
             "a barclamp could not be imported: the store is not there");
    return false;
}

static void leave_out_held(struct content *c)
{
    for (uint32_t i = 0; i < c->tree.count; i++) {
        if (!is_held(c, &c->tree.files[i]))
            continue;
        c->tries[i].wanted = false;
        c->seams.in_force(c->seams.self, &c->tree.files[i]);
    }
}

static void submit_wanted(struct content *c)
{
    c->accepted = 0;
    for (uint32_t i = 0; i < c->tree.count; i++) {
        struct content_try *try = &c->tries[i];
        try->refusals = report_begin(&c->arena);
        if (!try->wanted)
            continue;
        try->asked = try->wanted = submit_file(c, i);
        c->waiting += try->asked;
    }
}

/* Nothing is under way: is there a next round, or another import that waited? */
static void go_on(struct content *c)
{
    bool wanted = false;
    for (uint32_t i = 0; i < c->tree.count; i++)
        wanted = wanted || c->tries[i].wanted;
    if (wanted && c->accepted) {
        submit_wanted(c);
        if (c->waiting)
            return;
    }
    for (uint32_t i = 0; i < c->tree.count; i++) {
        log_report(&c->tries[i].refusals, "a barclamp is refused", "an import warns");
        c->tries[i].wanted = false;
    }
    char *again = c->again;
    c->again = NULL;
    if (again)
        content_import(c, again);
    free(again);
}

void content_import(struct content *c, const char *directories)
{
    if (!content_is_idle(c)) {
        free(c->again);
        c->again = strdup(directories);
        must(c->again);
        return;
    }
    if (!c->is_read)
        content_read_ahead(c, directories);
    c->is_read = false;
    leave_out_held(c);
    submit_wanted(c);
    if (c->waiting == 0)
        go_on(c);
}

bool content_is_idle(const struct content *c)
{
    return c->waiting == 0;
}

/* ---- what became of it ---- */

static void accept(struct content *c, const struct barclamp_file *file, struct str doc)
{
    struct report warnings = report_begin(&c->arena);
    log_with(LOG_INFO, LOG_FIELDS(LOG_S("barclamp", file->name), LOG_Z("path", file->path)),
             "barclamp imported");
    content_report_warnings(&warnings, file, doc);
    log_report(&warnings, "a barclamp is refused", "an import warns");
    c->accepted++;
    c->seams.in_force(c->seams.self, file);
}

void content_told(struct content *c, int64_t request, const struct outcome *outcome, err why)
{
    const int64_t i = c->request_first - request;
    must(i >= 0 && i < c->tree.count && c->tries[i].asked);
    struct content_try *try = &c->tries[i];
    const struct barclamp_file *file = &c->tree.files[i];
    try->asked = false;
    c->waiting--;
    if (!outcome) {
        try->wanted = false;
        log_with(LOG_WARNING, LOG_FIELDS(LOG_Z("path", file->path), LOG_I64("error", why)),
                 "a barclamp could not be imported: the store failed meanwhile");
    } else if (outcome->verdict == VERDICT_DONE) {
        try->wanted = false;
        accept(c, file, outcome->doc);
    } else {
        content_report_problems(&try->refusals, file, outcome->problems);
    }
    if (c->waiting == 0)
        go_on(c);
}

void content_fini(struct content *c)
{
    free(c->again);
    c->again = NULL;
    arena_fini(&c->arena);
}
