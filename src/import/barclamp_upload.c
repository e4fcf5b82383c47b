/* barclamp_upload.c - validates a barclamp of a request and completes it for an import.
 *
 * The text is parsed like a file, source path and hooks are replaced by trusted values, and the
 * result is passed to an import dry run. Problems of the text and of the engine are returned
 * together. The import itself is submitted by the API with the returned document.
 *
 * It owns nothing: strings are in the arena of the upload. Source path and hooks are replaced
 * before the dry run, so that what is checked is what is imported.
 *
 * Failure: problems of the upload are not an error of the function but a list in `sent`, and the
 * document is empty then. ERR_UNAVAILABLE: there is no core. An error of the dry run is returned
 * unchanged.
 */
#include "import/barclamp_upload.h"

#include <string.h>

#include "base/json/json.h"
#include "check/barclamp_check.h"
#include "check/barclamp_files.h"
#include "content/barclamp_file.h"
#include "content/tree.h"
#include "core/core.h"
#include "model/names.h"

/* ---- problems and warnings ---- */

struct problem_list {
    struct arena *arena;
    struct problem **end; /* of the list */
};

static void upload_add_problem(struct problem_list *t, struct text_position at,
                               struct problem problem)
{
    struct buf b = buf_in(t->arena);
    if (at.line) {
        buf_put_z(&b, "line ");
        buf_put_u64(&b, at.line);
        buf_put_z(&b, ": ");
    }
    buf_put_str(&b, problem.text);
    problem.text = buf_str(&b);
    problem.field = str_copy(t->arena, problem.field);
    problem.next = NULL;
    *t->end = arena_copy(t->arena, &problem, sizeof problem);
    t->end = &(*t->end)->next;
}

/* The problem with the same name as a code of the reader; otherwise PROBLEM_BAD_VALUE. */
static enum problem_code upload_problem_code(const char *code)
{
    for (int i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++)
        if (str_eq(problem_code_name((enum problem_code)i), str_from(code)))
            return (enum problem_code)i;
    return PROBLEM_BAD_VALUE;
}

static void upload_add_errors(struct problem_list *t, struct diagnostics *r)
{
    diagnostics_sort(r);
    for (const struct diagnostics_entry *entry = r->first; entry; entry = entry->next)
        if (entry->severity == DIAGNOSTICS_ERROR)
            upload_add_problem(t, entry->at,
                               (struct problem){.code = upload_problem_code(entry->code),
                                                .field = STR("value"),
                                                .text = entry->text});
}

static void upload_add_warnings(struct api_barclamp *sent, const struct diagnostics *r)
{
    struct arena *a = sent->arena;
    for (const struct diagnostics_entry *entry = r->first; entry; entry = entry->next) {
        /* An exported document contains its source path, which is reported as not used. */
        if (entry->severity == DIAGNOSTICS_ERROR || strcmp(entry->code, "not_used") == 0)
            continue;
        struct json *warning = json_make(a, JSON_OBJECT);
        json_set(warning, STR("code"), json_make_string(a, str_from(entry->code)));
        json_set(warning, STR("text"), json_make_string(a, entry->text));
        if (entry->at.line)
            json_set(warning, STR("line"), json_make_i64(a, entry->at.line));
        if (!sent->warnings)
            sent->warnings = json_make(a, JSON_ARRAY);
        json_append(sent->warnings, warning);
    }
}

/* ---- source path and hooks ---- */

static struct str upload_text_of(const struct json *object, struct str key)
{
    const struct json *value = json_get(object, key);
    return value && value->kind == JSON_STRING ? value->text : STR("");
}

/* The path of the stored barclamp of that name, or for a new one a directory below the folder for
 * uploads; never the one in the upload. */
static void upload_set_source_path(const struct barclamp_upload_callbacks *callbacks,
                                   const struct core *core, struct arena *a, struct json *document)
{
    const struct json *section = json_get(document, STR("barclamp"));
    struct record record;
    if (!section || section->kind != JSON_OBJECT)
        return;
    const struct str name = upload_text_of(section, STR("name"));
    const int64_t id = core_find(core, TABLE_BARCLAMP, name);
    const struct str path = id && core_record(core, TABLE_BARCLAMP, id, &record)
                                ? str_copy(a, record.barclamp.source_path)
                                : STR_CONCAT(a, str_from(callbacks->folder), STR("/"), name);
    struct json *copy = json_clone(a, section);
    json_set(copy, STR("source_path"), json_make_string(a, path));
    json_set(document, STR("barclamp"), copy);
}

/* The hooks of a stored role of the uploaded barclamp; 0 if it is a new role or of another one. */
static uint32_t upload_hooks_of(const struct core *core, const struct json *document,
                                struct str role)
{
    struct record record;
    const struct str name = upload_text_of(json_get(document, STR("barclamp")), STR("name"));
    const int64_t id = role.len ? core_find(core, TABLE_ROLE, role) : 0;
    const int64_t barclamp_id = core_find(core, TABLE_BARCLAMP, name);
    return id && core_record(core, TABLE_ROLE, id, &record) &&
                   record.role.barclamp_id == barclamp_id
               ? record.role.hooks
               : 0;
}

/* The hooks that the stored document of the uploaded barclamp has for a role that is made for each
 * network; NULL: none. The core may have no such role, because there is no network. */
static const struct json *upload_hooks_of_pattern(const struct core *core, struct arena *a,
                                                  const struct json *document, struct str role)
{
    struct record record;
    struct json *stored;
    uint32_t offset;
    const char *what;
    const struct str name = upload_text_of(json_get(document, STR("barclamp")), STR("name"));
    const int64_t id = core_find(core, TABLE_BARCLAMP, name);
    if (!id || !core_record(core, TABLE_BARCLAMP, id, &record))
        return NULL;
    must(json_read(a, record.barclamp.cfg_data, &stored, &offset, &what) == OK);
    const struct json *roles = json_get(stored, STR("roles"));
    for (const struct json *item = roles ? roles->first : NULL; item; item = item->next)
        if (str_eq(upload_text_of(item, STR("name")), role))
            return json_get(item, STR("hooks"));
    return NULL;
}

/* Replace the hooks of each role by those that the core has stored from its Lua file. */
static void upload_set_hooks(const struct core *core, struct arena *a, struct json *document)
{
    const struct json *roles = json_get(document, STR("roles"));
    const bool is_list = roles && roles->kind == JSON_ARRAY;
    for (struct json *role = is_list ? roles->first : NULL; role; role = role->next) {
        if (role->kind != JSON_OBJECT)
            continue;
        const struct str name = upload_text_of(role, STR("name"));
        const uint32_t mask = upload_hooks_of(core, document, name);
        const struct json *of_pattern = str_has(name, STR(NAME_VARIABLE))
                                            ? upload_hooks_of_pattern(core, a, document, name)
                                            : NULL;
        struct json *names = of_pattern ? json_clone(a, of_pattern) : json_make(a, JSON_ARRAY);
        for (int hook = 0; hook < HOOK_COUNT; hook++)
            if (mask >> hook & 1)
                json_append(names, json_make_string(a, str_from(hook_name((enum hook)hook))));
        json_unset(role, STR("hooks"));
        if (names->count)
            json_set(role, STR("hooks"), names);
    }
}

/* ---- validation ---- */

/* Warnings about the document and about files that it needs: scripts and Lua code are below its
 * source path on this host, or missing. */
static void upload_check_files(const struct core *core, struct diagnostics *report,
                               struct barclamp_file file, struct str document, struct str doc)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    must(json_read(report->arena, document, &tree, &offset, &what) == OK);
    const struct content_tree none = {0};
    const struct barclamp_files beside = {.core = core, .report = report};
    file.source_path = upload_text_of(json_get(tree, STR("barclamp")), STR("source_path"));
    file.tree = file.is_yaml ? file.tree : tree;
    barclamp_check_imported(report, core, &none, &file, doc);
    barclamp_files_check_roles(&beside, &file);
}

/* A text with errors still gets a dry run of its draft, to report more problems. */
err barclamp_upload_read(const struct barclamp_upload_callbacks *callbacks,
                         struct api_barclamp *sent)
{
    const struct core *core = callbacks->core(callbacks->self);
    struct diagnostics report = diagnostics_begin(sent->arena);
    struct barclamp_file file = {.path = "value", .is_yaml = !sent->is_json};
    struct problem_list t = {sent->arena, &sent->problems};
    struct json *tree;
    struct outcome outcome;
    uint32_t offset;
    const char *what;
    if (!core)
        return ERR_UNAVAILABLE;
    /* Parse the text. */
    if (sent->is_json)
        barclamp_from_json(&report, sent->text, &file);
    else
        barclamp_from_yaml(&report, sent->text, NULL, &file);
    upload_add_errors(&t, &report);
    const bool is_good = file.document.len != 0;
    if (!is_good && file.draft.len == 0)
        return OK;
    /* Replace source path and hooks by trusted values. The reader writes canonical JSON, so it can
     * be read again. */
    must(json_read(sent->arena, is_good ? file.document : file.draft, &tree, &offset, &what) == OK);
    upload_set_source_path(callbacks, core, sent->arena, tree);
    upload_set_hooks(core, sent->arena, tree);
    const struct str document = json_write(sent->arena, tree);
    const err e = callbacks->dry_run(callbacks->self, &document, 1, sent->arena, &outcome);
    if (e != OK)
        return e;
    /* Add the problems of the dry run: for a draft only those that do not follow from errors that
     * have been reported. */
    if (is_good) {
        for (const struct problem *p = outcome.problems; p; p = p->next)
            upload_add_problem(&t, barclamp_field_position(&file, p->field), *p);
    } else {
        struct diagnostics further = diagnostics_begin(sent->arena);
        const struct content_tree drafts = {.drafts = &file, .draft_count = 1};
        content_report_draft(&further, &drafts, 0, outcome.problems);
        upload_add_errors(&t, &further);
    }
    if (sent->problems)
        return OK;
    sent->document = document;
    upload_check_files(core, &report, file, document, outcome.doc);
    upload_add_warnings(sent, &report);
    return OK;
}
