/* content_import.c - imports barclamps (packages of roles) from directories into the core.
 *
 * It owns struct content: the last reading of the directories, the state of each file (tries) and
 * the rounds of the import. Which thread uses the reading is decided by the stage: the pool while
 * it is CONTENT_READING, otherwise the thread of the loop.
 *
 * The import is a sequence of stages (enum content_stage), each of which processes one file or role
 * per step, so that content_pump() can stop between two steps. The order matters: errors of files
 * are reported before the import, so that the log shows them first; documents that the core holds
 * already are removed from the list before the rest is submitted; refusals are logged only when no
 * further round can change them; files are checked for missing scripts and Lua code after
 * everything is imported, because a role may be defined by a later file; Lua code is loaded last.
 *
 * An import is submitted as a command, and its outcome arrives in content_on_result(). If the store
 * fails, the file is given up for this time; the next reload imports it. A file with errors or a
 * refused document is logged and affects no other file; an earlier version of it stays in the core.
 * After content_stop() nothing is logged, submitted or called back any more.
 */
#include "import/content_import.h"

#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "check/barclamp_check.h"
#include "check/barclamp_files.h"
#include "core/core.h"
#include "sys/log.h"

/* Bytes of submitted documents without an outcome: they are imported in one turn, which must be
 * short. A larger document is submitted alone. */
enum { BYTES_WAITING_MAX = 1 << 10 };
/* Bytes of drafts in one dry run; drafts of the same dry run can refer to each other. */
enum { BYTES_DRY_RUN_MAX = 1 << 16 };

/* The state of the import of one file; the index is that of the file in reading.tree.files. */
struct content_try {
    bool is_asked;               /* submitted, without an outcome yet */
    bool is_in_force;            /* the core holds the document of this file */
    bool is_new;                 /* imported by this import, not before */
    struct diagnostics refusals; /* of the last attempt */
};

/* ---- log ---- */

static void content_log_entry(const struct diagnostics_entry *entry, const char *what)
{
    struct arena arena = {0};
    struct buf line = buf_in(&arena);
    diagnostics_format(entry, &line);
    log_with(
        LOG_WARNING,
        LOG_FIELDS(LOG_Z("severity", entry->severity == DIAGNOSTICS_ERROR ? "error" : "warning"),
                   LOG_Z("code", entry->code), LOG_S("path", entry->file)),
        "%s: %.*s", what, STR_FMT_ARGS(buf_str(&line)));
    arena_fini(&arena);
}

static void content_log_omitted(const struct diagnostics *r)
{
    if (r->errors + r->warnings > r->count)
        log_print(LOG_WARNING, "%u more errors and warnings of barclamps are not logged",
                  r->errors + r->warnings - r->count);
}

static void content_log_report(const struct diagnostics *r)
{
    for (const struct diagnostics_entry *entry = r->first; entry; entry = entry->next)
        content_log_entry(entry, entry->severity == DIAGNOSTICS_ERROR
                                     ? "barclamp refused"
                                     : "warning about an imported barclamp");
    content_log_omitted(r);
}

/* ---- object of a file with errors ---- */

static struct str content_file_stem(struct str path, const char *ending)
{
    uint32_t from = path.len;
    while (from > 0 && path.at[from - 1] != '/')
        from--;
    return str_slice(path, from, path.len - (uint32_t)strlen(ending));
}

static struct str content_directory(struct str path)
{
    uint32_t to = path.len;
    while (to > 0 && path.at[to - 1] != '/')
        to--;
    return str_slice(path, 0, to ? to - 1 : 0);
}

/* A barclamp in the root of a checkout has a file name without its own name, so the directory is
 * compared with the source paths of imported barclamps. */
static bool content_has_source_path(const struct core *core, struct str source_path)
{
    struct record record;
    for (int64_t id = core_next_id(core, TABLE_BARCLAMP, 0); id;
         id = core_next_id(core, TABLE_BARCLAMP, id))
        if (core_record(core, TABLE_BARCLAMP, id, &record) &&
            str_eq(record.barclamp.source_path, source_path))
            return true;
    return false;
}

/* Whether the core holds an earlier version of this file. The name may be in the very line that
 * cannot be parsed, so it is derived from the path. */
static bool content_is_imported(const struct core *core, struct str path)
{
    if (!core)
        return false;
    if (str_ends(path, STR(".lua")))
        return core_find(core, TABLE_ROLE, content_file_stem(path, ".lua")) != 0;
    if (str_ends(path, STR(".json")))
        return core_find(core, TABLE_BARCLAMP, content_file_stem(path, ".json")) != 0;
    if (!str_ends(path, STR(".yml")))
        return false;
    return core_find(core, TABLE_BARCLAMP, content_file_stem(path, ".yml")) != 0 ||
           content_has_source_path(core, content_directory(path));
}

/* ---- read ---- */

/* A reading is complete: all its files are to be imported. */
static void content_take_reading(struct content *c)
{
    c->tries = arena_array(&c->reading.arena, struct content_try, c->reading.tree.count);
    c->rounds = import_rounds_begin(&c->reading.arena, c->reading.tree.count);
}

static void content_set_directories(struct content *c, const char *directories)
{
    free(c->reading.directories);
    c->reading.directories = strdup(directories);
    must(c->reading.directories);
}

void content_read_ahead(struct content *c, const char *directories)
{
    must(content_is_idle(c));
    content_set_directories(c, directories);
    content_reader_run(&c->reading);
    content_take_reading(c);
    c->is_read = true;
}

static void content_enter_stage(struct content *c, enum content_stage stage)
{
    c->stage = stage;
    c->next = c->next_role = 0;
    c->role = NULL;
    c->is_document_checked = false;
    c->entry = stage == CONTENT_REPORTING ? c->reading.report.first : NULL;
}

static void content_on_read_work(uv_work_t *work)
{
    struct content *c = work->data;
    content_reader_run(&c->reading);
}

static void content_on_read_done(uv_work_t *work, int status)
{
    struct content *c = work->data;
    if (c->is_stopped || status != 0)
        return;
    content_take_reading(c);
    content_enter_stage(c, CONTENT_REPORTING);
}

/* Read in a thread of the pool, or at once if there is no loop. Until the reading is complete the
 * list of files to import is empty. */
static void content_begin_reading(struct content *c, const char *directories)
{
    content_set_directories(c, directories);
    c->rounds = (struct import_rounds){0};
    c->work.data = c;
    content_enter_stage(c, CONTENT_READING);
    if (c->uv) {
        must(uv_queue_work(c->uv, &c->work, content_on_read_work, content_on_read_done) == 0);
        return;
    }
    content_on_read_work(&c->work);
    content_on_read_done(&c->work, 0);
}

struct str content_source_path(const struct content *c, struct str barclamp)
{
    for (uint32_t i = 0; i < c->rounds.count; i++)
        if (import_rounds_is_pending(&c->rounds, i) &&
            str_eq(c->reading.tree.files[i].name, barclamp))
            return content_reader_source_path(&c->reading.tree.files[i]);
    return STR("");
}

void content_import(struct content *c, const char *directories)
{
    if (c->is_stopped)
        return;
    if (!content_is_idle(c)) {
        free(c->again);
        c->again = strdup(directories);
        must(c->again);
        return;
    }
    if (c->is_read)
        content_enter_stage(c, CONTENT_REPORTING);
    else
        content_begin_reading(c, directories);
    c->is_read = false;
}

bool content_is_idle(const struct content *c)
{
    return c->stage == CONTENT_IDLE;
}

/* ---- one step of each stage; false: nothing is left to do in the stage for now ---- */

static bool content_report_next(struct content *c)
{
    const struct diagnostics_entry *entry = c->entry;
    if (!entry) {
        content_log_omitted(&c->reading.report);
        return false;
    }
    c->entry = entry->next;
    if (entry->severity == DIAGNOSTICS_WARNING)
        content_log_entry(entry, "warning about a barclamp");
    else if (content_is_imported(c->callbacks.core(c->callbacks.self), entry->file))
        content_log_entry(entry, "barclamp not imported, its previous version stays in effect");
    else
        content_log_entry(entry, "barclamp not imported");
    return true;
}

static bool content_compare_next(struct content *c)
{
    if (c->next == c->rounds.count)
        return false;
    const uint32_t i = c->next++;
    const struct barclamp_file *file = &c->reading.tree.files[i];
    const struct core *core = c->callbacks.core(c->callbacks.self);
    const int64_t id = core ? core_find(core, TABLE_BARCLAMP, file->name) : 0;
    struct record record;
    /* Both documents are canonical JSON, so comparing bytes is enough. */
    if (id && core_record(core, TABLE_BARCLAMP, id, &record) &&
        str_eq(record.barclamp.cfg_data, file->document)) {
        import_rounds_exclude(&c->rounds, i);
        c->tries[i].is_in_force = true;
    }
    return true;
}

static bool content_import_next(struct content *c)
{
    uint32_t i;
    if (c->bytes_waiting >= BYTES_WAITING_MAX || !import_rounds_next(&c->rounds, &i))
        return false;
    const struct barclamp_file *file = &c->reading.tree.files[i];
    struct command command = {.kind = COMMAND_IMPORT, .actor = STR("daemon")};
    command.request = c->request_first - (int64_t)i;
    command.import.barclamp = file->document;
    c->tries[i].refusals = diagnostics_begin(&c->reading.arena);
    c->tries[i].is_asked = c->callbacks.submit(c->callbacks.self, &command) == OK;
    if (c->tries[i].is_asked) {
        c->bytes_waiting += file->document.len;
        return true;
    }
    import_rounds_set_result(&c->rounds, i, ROUNDS_UNKNOWN);
    log_with(LOG_WARNING, LOG_FIELDS(LOG_Z("path", file->path)),
             "barclamp not imported: the store is unavailable; send SIGHUP when it is back");
    return true;
}

/* Log why a document stays refused. Then it is no longer pending, so that
 * content_source_path() does not return its path any more. */
static bool content_log_refused_next(struct content *c)
{
    if (c->next == c->rounds.count)
        return false;
    const uint32_t i = c->next++;
    if (!import_rounds_is_pending(&c->rounds, i))
        return true;
    content_log_report(&c->tries[i].refusals);
    import_rounds_exclude(&c->rounds, i);
    return true;
}

/* The texts of the drafts for the next dry run, up to BYTES_DRY_RUN_MAX. Returns their count. */
static uint32_t content_take_drafts(const struct content *c, struct str *out_texts)
{
    const struct content_tree *tree = &c->reading.tree;
    uint64_t size = 0;
    uint32_t count = 0;
    for (uint32_t i = c->next; i < tree->draft_count; i++) {
        size += tree->drafts[i].draft.len;
        if (count && size > BYTES_DRY_RUN_MAX)
            break;
        out_texts[count++] = tree->drafts[i].draft;
    }
    return count;
}

static void content_log_draft(struct diagnostics *r)
{
    for (const struct diagnostics_entry *entry = r->first; entry; entry = entry->next)
        content_log_entry(entry, entry->severity == DIAGNOSTICS_ERROR
                                     ? "barclamp not imported and would also be refused"
                                     : "warning about a barclamp that was not imported");
    content_log_omitted(r);
}

static bool content_dry_run_next(struct content *c)
{
    struct arena arena = {0};
    const uint32_t left = c->reading.tree.draft_count - c->next;
    struct str *texts = arena_array(&arena, struct str, left);
    struct outcome *outcomes = arena_array(&arena, struct outcome, left);
    const uint32_t count = content_take_drafts(c, texts);
    /* Without a core there is no dry run; the errors of the files have been logged already. */
    const bool is_done =
        count && c->callbacks.dry_run(c->callbacks.self, texts, count, &arena, outcomes) == OK;
    for (uint32_t i = 0; is_done && i < count; i++) {
        struct diagnostics report = diagnostics_begin(&arena);
        barclamp_check_draft(&report, c->callbacks.core(c->callbacks.self), &c->reading.tree,
                             c->next + i, &outcomes[i]);
        content_log_draft(&report);
    }
    c->next += count;
    arena_fini(&arena);
    return count != 0;
}

/* Warnings about an imported file, one step for its document and one for the files of each role.
 * Warnings of the engine are logged for a new document only. */
static bool content_check_next(struct content *c)
{
    const struct core *core = c->callbacks.core(c->callbacks.self);
    while (c->next < c->reading.tree.count && !c->tries[c->next].is_in_force)
        c->next++;
    if (c->next >= c->reading.tree.count || !core)
        return false;
    struct arena arena = {0};
    struct diagnostics report = diagnostics_begin(&arena);
    const struct barclamp_file *file = &c->reading.tree.files[c->next];
    const struct barclamp_files beside = {core, &c->reading.code, &report};
    struct outcome outcome = {0};
    if (!c->is_document_checked) {
        const bool is_done =
            c->tries[c->next].is_new &&
            c->callbacks.dry_run(c->callbacks.self, &file->document, 1, &arena, &outcome) == OK &&
            outcome.verdict == VERDICT_DONE;
        barclamp_check_imported(&report, core, &c->reading.tree, file,
                                is_done ? outcome.doc : STR(""));
        const struct json *roles = json_get(file->tree, STR("roles"));
        c->is_document_checked = true;
        c->role = roles && roles->kind == JSON_ARRAY ? roles->first : NULL;
    } else if (c->role) {
        barclamp_files_check_role(&beside, file, c->role, c->next_role++);
        c->role = c->role->next;
    } else {
        c->is_document_checked = false;
        c->next_role = 0;
        c->next++;
    }
    content_log_report(&report);
    arena_fini(&arena);
    return true;
}

/* Load the Lua file of the next role of an imported barclamp, if it may have changed. */
static bool content_load_next(struct content *c)
{
    if (c->next == c->reading.marks.count)
        return false;
    struct code_mark *mark = &c->reading.marks.list[c->next++];
    const struct content_try *try = &c->tries[mark->file_ix];
    if (try->is_in_force)
        mark->is_loaded = c->callbacks.load(c->callbacks.self, mark->role,
                                            !try->is_new && code_marks_match(&c->known, mark));
    return true;
}

static bool content_take_step(struct content *c)
{
    switch (c->stage) {
    case CONTENT_IDLE:
    case CONTENT_READING: return false;
    case CONTENT_REPORTING: return content_report_next(c);
    case CONTENT_COMPARING: return content_compare_next(c);
    case CONTENT_IMPORTING: return content_import_next(c);
    case CONTENT_LOGGING_REFUSALS: return content_log_refused_next(c);
    case CONTENT_DRY_RUN: return content_dry_run_next(c);
    case CONTENT_CHECKING: return content_check_next(c);
    case CONTENT_LOADING: return content_load_next(c);
    }
    impossible("a stage outside the enum");
}

/* ---- stages ---- */

/* The import is complete. Its marks are kept, so that the next import can compare Lua files; a
 * queued import begins now. */
static void content_finish(struct content *c)
{
    const struct code_marks spent = c->known;
    c->known = c->reading.marks;
    c->reading.marks = spent; /* its memory is reused by the next reading */
    content_enter_stage(c, CONTENT_IDLE);
    char *again = c->again;
    c->again = NULL;
    if (again)
        content_import(c, again);
    else
        c->callbacks.done(c->callbacks.self);
    free(again);
}

/* Enter the next stage. False: it waits for a reading, for outcomes or for the next import. */
static bool content_next_stage(struct content *c)
{
    switch (c->stage) {
    case CONTENT_IDLE:
    case CONTENT_READING: return false;
    case CONTENT_REPORTING: content_enter_stage(c, CONTENT_COMPARING); return true;
    case CONTENT_COMPARING: content_enter_stage(c, CONTENT_IMPORTING); return true;
    case CONTENT_IMPORTING:
        if (!import_rounds_is_done(&c->rounds))
            return false;
        content_enter_stage(c, CONTENT_LOGGING_REFUSALS);
        return true;
    case CONTENT_LOGGING_REFUSALS: content_enter_stage(c, CONTENT_DRY_RUN); return true;
    case CONTENT_DRY_RUN: content_enter_stage(c, CONTENT_CHECKING); return true;
    case CONTENT_CHECKING: content_enter_stage(c, CONTENT_LOADING); return true;
    case CONTENT_LOADING: content_finish(c); return true;
    }
    impossible("a stage outside the enum");
}

bool content_pump(struct content *c, uint64_t until_ns)
{
    while (!c->is_stopped && (content_take_step(c) || content_next_stage(c)))
        if (uv_hrtime() >= until_ns)
            return true;
    return false;
}

/* ---- results ---- */

void content_on_result(struct content *c, int64_t request, const struct outcome *outcome, err why)
{
    const int64_t number = c->request_first - request;
    if (c->is_stopped)
        return;
    must(number >= 0 && number < c->rounds.count && c->tries[number].is_asked);
    const uint32_t i = (uint32_t)number;
    const struct barclamp_file *file = &c->reading.tree.files[i];
    c->tries[i].is_asked = false;
    c->bytes_waiting -= file->document.len;
    if (!outcome) {
        import_rounds_set_result(&c->rounds, i, ROUNDS_UNKNOWN);
        log_with(LOG_WARNING, LOG_FIELDS(LOG_Z("path", file->path), LOG_I64("error", why)),
                 "barclamp not imported: the store failed before it was committed; send SIGHUP "
                 "when it is back");
    } else if (outcome->verdict == VERDICT_DONE) {
        /* Its warnings are logged when everything is imported: a jig or role may be defined by a
         * later file. */
        log_with(LOG_INFO, LOG_FIELDS(LOG_S("barclamp", file->name), LOG_Z("path", file->path)),
                 "barclamp imported");
        c->tries[i].is_in_force = c->tries[i].is_new = true;
        import_rounds_set_result(&c->rounds, i, ROUNDS_IMPORTED);
    } else {
        content_report_problems(&c->tries[i].refusals, file, outcome->problems);
        import_rounds_set_result(&c->rounds, i, ROUNDS_REFUSED);
    }
}

/* ---- stop ---- */

void content_stop(struct content *c)
{
    c->is_stopped = true;
    atomic_store(&c->reading.stop, true);
    if (c->stage == CONTENT_READING && c->uv)
        ignore(uv_cancel((uv_req_t *)&c->work), "a reading that has begun cannot be cancelled");
}

void content_fini(struct content *c)
{
    free(c->again);
    c->again = NULL;
    content_reader_fini(&c->reading);
    code_marks_fini(&c->known);
}
