#include "import/content_import.h"

#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "check/barclamp_check.h"
#include "check/barclamp_files.h"
#include "core/core.h"
#include "sys/log.h"

/* How much of documents may be under way: they are imported in one turn, which must not take
 * long. A larger one goes alone. */
enum { BYTES_WAITING_MAX = 1 << 10 };
/* How much of drafts is rehearsed at once: those that are see each other. */
enum { BYTES_REHEARSED_MAX = 1 << 16 };

/* What became of one file so far. */
struct content_try {
    bool is_asked;               /* an outcome is to come */
    bool is_in_force;            /* what the core holds is what this file says */
    bool is_new;                 /* since just now */
    struct diagnostics refusals; /* of the last time */
};

/* ---- saying it ---- */

static void log_entry(const struct diagnostics_entry *entry, const char *what)
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

static void log_left_out(const struct diagnostics *r)
{
    if (r->errors + r->warnings > r->count)
        log_print(LOG_WARNING, "and %u things more", r->errors + r->warnings - r->count);
}

static void log_report(const struct diagnostics *r)
{
    for (const struct diagnostics_entry *entry = r->first; entry; entry = entry->next)
        log_entry(entry, entry->severity == DIAGNOSTICS_ERROR ? "a barclamp is refused"
                                                              : "a barclamp was imported, but");
    log_left_out(r);
}

/* ---- what a file is about that does not read ---- */

static struct str last_part(struct str path, const char *ending)
{
    uint32_t from = path.len;
    while (from > 0 && path.at[from - 1] != '/')
        from--;
    return str_slice(path, from, path.len - (uint32_t)strlen(ending));
}

static struct str folder_of(struct str path)
{
    uint32_t to = path.len;
    while (to > 0 && path.at[to - 1] != '/')
        to--;
    return str_slice(path, 0, to ? to - 1 : 0);
}

/* The root of a checkout is called like every other. */
static bool has_source_path(const struct core *core, struct str source_path)
{
    struct record record;
    for (int64_t id = core_next_id(core, TABLE_BARCLAMP, 0); id;
         id = core_next_id(core, TABLE_BARCLAMP, id))
        if (core_record(core, TABLE_BARCLAMP, id, &record) &&
            str_eq(record.barclamp.source_path, source_path))
            return true;
    return false;
}

/* Its name may stand in the very line that does not read, so its path must tell. */
static bool is_of_something_imported(const struct core *core, struct str path)
{
    if (!core)
        return false;
    if (str_ends(path, STR(".lua")))
        return core_find(core, TABLE_ROLE, last_part(path, ".lua")) != 0;
    if (str_ends(path, STR(".json")))
        return core_find(core, TABLE_BARCLAMP, last_part(path, ".json")) != 0;
    if (!str_ends(path, STR(".yml")))
        return false;
    return core_find(core, TABLE_BARCLAMP, last_part(path, ".yml")) != 0 ||
           has_source_path(core, folder_of(path));
}

/* ---- reading ---- */

static void take_reading(struct content *c)
{
    c->tries = arena_array(&c->reading.arena, struct content_try, c->reading.tree.count);
    c->rounds = import_rounds_begin(&c->reading.arena, c->reading.tree.count);
}

static void name_directories(struct content *c, const char *directories)
{
    free(c->reading.directories);
    c->reading.directories = strdup(directories);
    must(c->reading.directories);
}

void content_read_ahead(struct content *c, const char *directories)
{
    must(content_is_idle(c));
    name_directories(c, directories);
    content_reader_run(&c->reading);
    take_reading(c);
    c->is_read = true;
}

static void enter(struct content *c, enum content_stage stage)
{
    c->stage = stage;
    c->next = c->next_role = 0;
    c->role = NULL;
    c->is_document_checked = false;
    c->entry = stage == CONTENT_TELLING ? c->reading.report.first : NULL;
}

static void read_beside(uv_work_t *work)
{
    struct content *c = work->data;
    content_reader_run(&c->reading);
}

static void was_read(uv_work_t *work, int status)
{
    struct content *c = work->data;
    if (c->is_stopped || status != 0)
        return;
    take_reading(c);
    enter(c, CONTENT_TELLING);
}

/* Until it is there, nothing waits to be imported. */
static void begin_reading(struct content *c, const char *directories)
{
    name_directories(c, directories);
    c->rounds = (struct import_rounds){0};
    c->work.data = c;
    enter(c, CONTENT_READING);
    if (c->uv) {
        must(uv_queue_work(c->uv, &c->work, read_beside, was_read) == 0);
        return;
    }
    read_beside(&c->work);
    was_read(&c->work, 0);
}

struct str content_source_path(const struct content *c, struct str barclamp)
{
    for (uint32_t i = 0; i < c->rounds.count; i++)
        if (import_rounds_wants(&c->rounds, i) && str_eq(c->reading.tree.files[i].name, barclamp))
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
        enter(c, CONTENT_TELLING);
    else
        begin_reading(c, directories);
    c->is_read = false;
}

bool content_is_idle(const struct content *c)
{
    return c->stage == CONTENT_IDLE;
}

/* ---- one step of each stage: true, or nothing is left to do in it for now ---- */

static bool tell_next(struct content *c)
{
    const struct diagnostics_entry *entry = c->entry;
    if (!entry) {
        log_left_out(&c->reading.report);
        return false;
    }
    c->entry = entry->next;
    if (entry->severity == DIAGNOSTICS_WARNING)
        log_entry(entry, "a barclamp reads oddly");
    else if (is_of_something_imported(c->seams.core(c->seams.self), entry->file))
        log_entry(entry, "a barclamp does not read, going on with what was imported before");
    else
        log_entry(entry, "a barclamp does not read, going on without it");
    return true;
}

/* The document became canonical on its way in, and this one is by birth. */
static bool is_held(const struct content *c, const struct barclamp_file *file)
{
    const struct core *core = c->seams.core(c->seams.self);
    const int64_t id = core ? core_find(core, TABLE_BARCLAMP, file->name) : 0;
    struct record record;
    return id && core_record(core, TABLE_BARCLAMP, id, &record) &&
           str_eq(record.barclamp.cfg_data, file->document);
}

static bool sort_next(struct content *c)
{
    if (c->next == c->rounds.count)
        return false;
    const uint32_t i = c->next++;
    if (is_held(c, &c->reading.tree.files[i])) {
        import_rounds_leave_out(&c->rounds, i);
        c->tries[i].is_in_force = true;
    }
    return true;
}

static bool import_next(struct content *c)
{
    uint32_t i;
    if (c->bytes_waiting >= BYTES_WAITING_MAX || !import_rounds_next(&c->rounds, &i))
        return false;
    const struct barclamp_file *file = &c->reading.tree.files[i];
    struct command command = {.kind = COMMAND_IMPORT, .actor = STR("daemon")};
    command.request = c->request_first - (int64_t)i;
    command.import.barclamp = file->document;
    c->tries[i].refusals = diagnostics_begin(&c->reading.arena);
    c->tries[i].is_asked = c->seams.submit(c->seams.self, &command) == OK;
    if (c->tries[i].is_asked) {
        c->bytes_waiting += file->document.len;
        return true;
    }
    import_rounds_tell(&c->rounds, i, ROUNDS_LOST);
    log_with(LOG_WARNING, LOG_FIELDS(LOG_Z("path", file->path)),
             "a barclamp could not be imported: the store is not there");
    return true;
}

static bool lament_next(struct content *c)
{
    if (c->next == c->rounds.count)
        return false;
    const uint32_t i = c->next++;
    if (!import_rounds_wants(&c->rounds, i))
        return true;
    log_report(&c->tries[i].refusals);
    import_rounds_leave_out(&c->rounds, i);
    return true;
}

/* As many drafts as are rehearsed at once, from the next on; their texts. */
static uint32_t take_drafts(const struct content *c, struct str *out_texts)
{
    const struct content_tree *tree = &c->reading.tree;
    uint64_t size = 0;
    uint32_t count = 0;
    for (uint32_t i = c->next; i < tree->draft_count; i++) {
        size += tree->drafts[i].draft.len;
        if (count && size > BYTES_REHEARSED_MAX)
            break;
        out_texts[count++] = tree->drafts[i].draft;
    }
    return count;
}

static void log_draft(struct diagnostics *r)
{
    for (const struct diagnostics_entry *entry = r->first; entry; entry = entry->next)
        log_entry(entry, entry->severity == DIAGNOSTICS_ERROR
                             ? "a barclamp does not read and would be refused, too"
                             : "a barclamp does not read, and");
    log_left_out(r);
}

static bool rehearse_next(struct content *c)
{
    struct arena arena = {0};
    const uint32_t left = c->reading.tree.draft_count - c->next;
    struct str *texts = arena_array(&arena, struct str, left);
    struct outcome *outcomes = arena_array(&arena, struct outcome, left);
    const uint32_t count = take_drafts(c, texts);
    /* Without a core there is nobody to ask; what does not read has been told all the same. */
    const bool is_heard =
        count && c->seams.rehearse(c->seams.self, texts, count, &arena, outcomes) == OK;
    for (uint32_t i = 0; is_heard && i < count; i++) {
        struct diagnostics report = diagnostics_begin(&arena);
        barclamp_check_draft(&report, c->seams.core(c->seams.self), &c->reading.tree, c->next + i,
                             &outcomes[i]);
        log_draft(&report);
    }
    c->next += count;
    arena_fini(&arena);
    return count != 0;
}

static const struct json *first_role(const struct barclamp_file *file)
{
    const struct json *roles = json_get(file->tree, STR("roles"));
    return roles && roles->kind == JSON_ARRAY ? roles->first : NULL;
}

/* What is odd about a file in force, now that everything is imported: first the document, then role
 * by role what lies beside it. Warnings of the engine are logged for a new document only. */
static bool check_next(struct content *c)
{
    const struct core *core = c->seams.core(c->seams.self);
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
        const bool is_heard =
            c->tries[c->next].is_new &&
            c->seams.rehearse(c->seams.self, &file->document, 1, &arena, &outcome) == OK &&
            outcome.verdict == VERDICT_DONE;
        barclamp_check_imported(&report, core, &c->reading.tree, file,
                                is_heard ? outcome.doc : STR(""));
        c->is_document_checked = true;
        c->role = first_role(file);
    } else if (c->role) {
        barclamp_files_check_role(&beside, file, c->role, c->next_role++);
        c->role = c->role->next;
    } else {
        c->is_document_checked = false;
        c->next_role = 0;
        c->next++;
    }
    log_report(&report);
    arena_fini(&arena);
    return true;
}

static bool load_next(struct content *c)
{
    if (c->next == c->reading.marks.count)
        return false;
    struct code_mark *mark = &c->reading.marks.list[c->next++];
    const struct content_try *try = &c->tries[mark->file_ix];
    if (try->is_in_force)
        mark->is_loaded = c->seams.load(c->seams.self, mark->role,
                                        !try->is_new && code_marks_hold(&c->known, mark));
    return true;
}

static bool take_step(struct content *c)
{
    switch (c->stage) {
    case CONTENT_IDLE:
    case CONTENT_READING: return false;
    case CONTENT_TELLING: return tell_next(c);
    case CONTENT_SORTING: return sort_next(c);
    case CONTENT_IMPORTING: return import_next(c);
    case CONTENT_LAMENTING: return lament_next(c);
    case CONTENT_REHEARSING: return rehearse_next(c);
    case CONTENT_CHECKING: return check_next(c);
    case CONTENT_LOADING: return load_next(c);
    }
    impossible("a stage outside the enum");
}

/* ---- from stage to stage ---- */

static void end(struct content *c)
{
    const struct code_marks spent = c->known;
    c->known = c->reading.marks;
    c->reading.marks = spent; /* its room is used again */
    enter(c, CONTENT_IDLE);
    char *again = c->again;
    c->again = NULL;
    if (again)
        content_import(c, again);
    else
        c->seams.done(c->seams.self);
    free(again);
}

/* False: it waits for somebody, or for being asked. */
static bool go_on(struct content *c)
{
    switch (c->stage) {
    case CONTENT_IDLE:
    case CONTENT_READING: return false;
    case CONTENT_TELLING: enter(c, CONTENT_SORTING); return true;
    case CONTENT_SORTING: enter(c, CONTENT_IMPORTING); return true;
    case CONTENT_IMPORTING:
        if (!import_rounds_is_over(&c->rounds))
            return false;
        enter(c, CONTENT_LAMENTING);
        return true;
    case CONTENT_LAMENTING: enter(c, CONTENT_REHEARSING); return true;
    case CONTENT_REHEARSING: enter(c, CONTENT_CHECKING); return true;
    case CONTENT_CHECKING: enter(c, CONTENT_LOADING); return true;
    case CONTENT_LOADING: end(c); return true;
    }
    impossible("a stage outside the enum");
}

bool content_pump(struct content *c, uint64_t until_ns)
{
    while (!c->is_stopped && (take_step(c) || go_on(c)))
        if (uv_hrtime() >= until_ns)
            return true;
    return false;
}

/* ---- what became of it ---- */

/* Its warnings are logged when everything is imported: a jig or a role may come later. */
static void take_in(struct content *c, uint32_t i)
{
    const struct barclamp_file *file = &c->reading.tree.files[i];
    log_with(LOG_INFO, LOG_FIELDS(LOG_S("barclamp", file->name), LOG_Z("path", file->path)),
             "barclamp imported");
    c->tries[i].is_in_force = c->tries[i].is_new = true;
    import_rounds_tell(&c->rounds, i, ROUNDS_TAKEN);
}

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
        import_rounds_tell(&c->rounds, i, ROUNDS_LOST);
        log_with(LOG_WARNING, LOG_FIELDS(LOG_Z("path", file->path), LOG_I64("error", why)),
                 "a barclamp could not be imported: the store failed meanwhile");
    } else if (outcome->verdict == VERDICT_DONE) {
        take_in(c, i);
    } else {
        content_report_problems(&c->tries[i].refusals, file, outcome->problems);
        import_rounds_tell(&c->rounds, i, ROUNDS_REFUSED);
    }
}

/* ---- the end ---- */

void content_stop(struct content *c)
{
    c->is_stopped = true;
    atomic_store(&c->reading.stop, true);
    if (c->stage == CONTENT_READING && c->uv)
        ignore(uv_cancel((uv_req_t *)&c->work), "what has begun comes to its end");
}

void content_fini(struct content *c)
{
    free(c->again);
    c->again = NULL;
    content_reader_fini(&c->reading);
    code_marks_fini(&c->known);
}
