#include "content/tree.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "content/import_order.h"
#include "content/yaml.h"
#include "model/names.h"
#include "sys/files.h"

/* Owns the list of files while a tree is read; the result is in the arena of the report.
 *
 * Each directory is classified in this order: a checkout, a single barclamp, otherwise a collection
 * whose entries are classified likewise. Files are parsed when they are found. Then duplicates are
 * dropped, before the files are sorted by dependencies, so that a replaced barclamp does not define
 * anything for others. Only files with a document or a draft are returned.
 *
 * Failure: an error or warning is added to the report, and reading continues with the next file. A
 * file that cannot be read or parsed is not in the result; what remains of a YAML file with errors
 * is its draft. */

static const struct text_position nowhere; /* line 0: the entry is about a file as a whole */

struct tree_reader {
    struct diagnostics *report;
    const struct hook_finder *finder; /* reads the hooks of Lua files */
    struct barclamp_file *files;      /* CONTENT_FILES_MAX of them */
    uint32_t count;
};

/* Format a path of at most PATH_MAX bytes. False: it is longer, and an error is added. */
__attribute__((format(printf, 3, 4))) static bool tree_make_path(struct tree_reader *r, char *path,
                                                                 const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(path, PATH_MAX, format, arguments);
    va_end(arguments);
    if (length >= 0 && length < PATH_MAX)
        return true;
    diagnostics_error(diagnostics_as(r->report, "limit_reached"),
                      str_copy(r->report->arena, str_from(path)), nowhere,
                      "the path is too long; only its beginning is shown");
    return false;
}

/* ---- one file ---- */

/* Add and parse a file. NULL: there are CONTENT_FILES_MAX files already. */
static struct barclamp_file *tree_add_file(struct tree_reader *r, const char *path,
                                           struct str source_path)
{
    struct diagnostics *report = r->report;
    struct arena *a = report->arena;
    const struct str name = str_copy(a, str_from(path));
    struct str text;
    if (r->count == CONTENT_FILES_MAX) {
        diagnostics_error(diagnostics_as(report, "limit_reached"), name, nowhere,
                          "there are more than %u barclamps", CONTENT_FILES_MAX);
        return NULL;
    }
    struct barclamp_file *file = &r->files[r->count++];
    *file = (struct barclamp_file){
        .path = str_z(a, name),
        .source_path = str_copy(a, source_path),
        .is_yaml = !str_ends(name, STR(".json")),
    };
    const err e = file_read(a, file->path, CONTENT_FILE_SIZE_MAX, &text);
    if (e == ERR_LIMIT)
        diagnostics_error(diagnostics_as(report, "limit_reached"), name, nowhere,
                          "the file is larger than %u MiB", CONTENT_FILE_SIZE_MAX >> 20);
    else if (e != OK)
        diagnostics_error(diagnostics_as(report, "unreadable"), name, nowhere,
                          "the file cannot be read: %s", strerror(errno));
    else if (file->is_yaml)
        barclamp_from_yaml(report, text, r->finder, file);
    else
        barclamp_from_json(report, text, file);
    return file;
}

/* ---- directories ---- */

static bool tree_is_file(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

static bool tree_is_dir(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

static int tree_is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Byte order: alphasort() would follow the locale. */
static int tree_compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Call `visit` for each entry of a directory, in the order of names. An entry whose name is not
 * UTF-8 is an error. */
static void tree_each_entry(struct tree_reader *r, const char *folder,
                            void (*visit)(struct tree_reader *, const char *folder,
                                          const char *name))
{
    struct dirent **entries;
    const struct str where = str_copy(r->report->arena, str_from(folder));
    const int count = scandir(folder, &entries, tree_is_visible, tree_compare_names);
    if (count < 0) {
        diagnostics_error(diagnostics_as(r->report, "unreadable"), where, nowhere,
                          "the directory cannot be read: %s", strerror(errno));
        return;
    }
    for (int i = 0; i < count; i++) {
        if (str_is_clean(str_from(entries[i]->d_name)))
            visit(r, folder, entries[i]->d_name);
        else
            diagnostics_error(diagnostics_as(r->report, "unreadable"), where, nowhere,
                              "a file name in this directory is not valid UTF-8");
        free(entries[i]);
    }
    free(entries);
}

static const char *tree_last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- a checkout ---- */

static void tree_visit_child(struct tree_reader *r, const char *folder, const char *name)
{
    char path[PATH_MAX];
    const struct str root = str_from(folder);
    if (str_ends(str_from(name), STR(".yml")) && tree_make_path(r, path, "%s/%s", folder, name))
        tree_add_file(r, path, str_slice(root, 0, root.len - (uint32_t)strlen("/barclamps")));
}

/* A root with a parent belongs to another workload and is not imported; OpenCrowbar skips it too.
 */
static void tree_read_checkout(struct tree_reader *r, const char *folder)
{
    char path[PATH_MAX];
    if (!tree_make_path(r, path, "%s/crowbar.yml", folder))
        return;
    const struct barclamp_file *root = tree_add_file(r, path, str_from(folder));
    if (root && root->parent.len)
        r->count--; /* it is the last one that was added */
    if (tree_make_path(r, path, "%s/barclamps", folder) && tree_is_dir(path))
        tree_each_entry(r, path, tree_visit_child);
}

/* The shipped barclamp "crowbar" also has a crowbar.yml, but no directory `barclamps`. */
static bool tree_is_checkout(struct tree_reader *r, const char *folder)
{
    char path[PATH_MAX];
    if (!tree_make_path(r, path, "%s/crowbar.yml", folder) || !tree_is_file(path))
        return false;
    if (strcmp(tree_last_name(folder), "crowbar") != 0)
        return true;
    return tree_make_path(r, path, "%s/barclamps", folder) && tree_is_dir(path);
}

/* ---- a barclamp ---- */

/* Read the directory if it is a checkout or a single barclamp; false: it is neither. */
static bool tree_read_barclamp(struct tree_reader *r, const char *folder)
{
    char path[PATH_MAX];
    const char *name = tree_last_name(folder);
    if (tree_is_checkout(r, folder)) {
        tree_read_checkout(r, folder);
        return true;
    }
    if (!tree_make_path(r, path, "%s/%s.yml", folder, name) || !tree_is_file(path))
        return false;
    const struct barclamp_file *file = tree_add_file(r, path, str_from(folder));
    if (file && !names_check_barclamp(file->name) && !str_eq(file->name, str_from(name)))
        diagnostics_warning(diagnostics_as(r->report, "name_differs"), str_from(file->path),
                            barclamp_field_position(file, STR("barclamp/name")),
                            "the barclamp is called %.*s, but its directory and file %s",
                            STR_FMT_ARGS(diagnostics_brief(file->name)), name);
    if (tree_make_path(r, path, "%s/%s.json", folder, name) && tree_is_file(path))
        diagnostics_warning(diagnostics_as(r->report, "not_used"),
                            str_copy(r->report->arena, str_from(path)), nowhere,
                            "not read, because %s.yml exists in the same directory", name);
    return true;
}

/* True if a line of the file begins with "barclamp:". */
static bool tree_looks_like_barclamp(const char *path)
{
    struct arena scratch = {0};
    struct str text;
    bool is_one = false;
    if (file_read(&scratch, path, CONTENT_FILE_SIZE_MAX, &text) == OK)
        for (uint32_t at = 0; at < text.len && !is_one; at = str_find(text, '\n', at) + 1)
            is_one = str_starts(str_slice(text, at, text.len), STR("barclamp:"));
    arena_fini(&scratch);
    return is_one;
}

/* Warn about a file that looks like a barclamp but does not have the name of its directory. */
static void tree_visit_misnamed(struct tree_reader *r, const char *folder, const char *name)
{
    char path[PATH_MAX];
    if (str_ends(str_from(name), STR(".yml")) && tree_make_path(r, path, "%s/%s", folder, name) &&
        tree_is_file(path) && tree_looks_like_barclamp(path))
        diagnostics_warning(
            diagnostics_as(r->report, "name_differs"), str_copy(r->report->arena, str_from(path)),
            nowhere, "not read: the file of a barclamp must be called like its directory, %s.yml",
            tree_last_name(folder));
}

/* An entry of a collection: a JSON document, a checkout, a barclamp in YAML, or one in JSON. */
static void tree_visit_entry(struct tree_reader *r, const char *folder, const char *name)
{
    char path[PATH_MAX], document[PATH_MAX];
    if (!tree_make_path(r, path, "%s/%s", folder, name))
        return;
    if (str_ends(str_from(name), STR(".json"))) {
        tree_add_file(r, path, str_from(folder));
        return;
    }
    if (!tree_is_dir(path) || tree_read_barclamp(r, path))
        return;
    if (tree_make_path(r, document, "%s/%s.json", path, name) && tree_is_file(document))
        tree_add_file(r, document, str_from(path));
    else if (access(path, R_OK | X_OK) == 0)
        tree_each_entry(r, path, tree_visit_misnamed);
}

static void tree_read_directory(struct tree_reader *r, struct str given)
{
    char path[PATH_MAX];
    const uint32_t before = r->count, errors_before = r->report->errors;
    if (!realpath(str_z(r->report->arena, given), path)) {
        diagnostics_error(diagnostics_as(r->report, "unreadable"), given, nowhere,
                          "the directory cannot be read: %s", strerror(errno));
        return;
    }
    if (!str_is_clean(str_from(path))) {
        diagnostics_error(diagnostics_as(r->report, "unreadable"), given, nowhere,
                          "the path of this directory is not valid UTF-8");
        return;
    }
    if (!tree_read_barclamp(r, path)) {
        tree_each_entry(r, path, tree_visit_entry);
        if (r->count == before && r->report->errors == errors_before)
            tree_each_entry(r, path, tree_visit_misnamed);
    }
    if (r->count == before && r->report->errors == errors_before)
        diagnostics_warning(diagnostics_as(r->report, "empty_directory"), given, nowhere,
                            "there is no barclamp in this directory");
}

/* ---- all files ---- */

static int tree_compare_barclamps(const void *a, const void *b)
{
    const struct barclamp_file *x = *(struct barclamp_file *const *)a;
    const struct barclamp_file *y = *(struct barclamp_file *const *)b;
    const int names = str_cmp(x->name, y->name);
    return names ? names : (x > y) - (x < y);
}

/* Of several files with the same barclamp the first is used: the others lose document and draft. */
static void tree_drop_duplicates(struct tree_reader *r)
{
    struct barclamp_file **list = arena_array(r->report->arena, struct barclamp_file *, r->count);
    for (uint32_t i = 0; i < r->count; i++)
        list[i] = &r->files[i];
    qsort(list, r->count, sizeof *list, tree_compare_barclamps);
    const struct barclamp_file *kept = NULL;
    for (uint32_t i = 0; i < r->count; i++) {
        if (!kept || list[i]->name.len == 0 || !str_eq(kept->name, list[i]->name)) {
            kept = list[i];
            continue;
        }
        diagnostics_warning(diagnostics_as(r->report, "not_used"), str_from(list[i]->path),
                            barclamp_field_position(list[i], STR("barclamp/name")),
                            "not read, because barclamp %.*s is also in %s",
                            STR_FMT_ARGS(diagnostics_brief(kept->name)), kept->path);
        list[i]->document = list[i]->draft = STR("");
        list[i]->tree = NULL;
    }
}

/* Sort all files by dependencies, then divide them into documents and drafts, so that both have the
 * same order. */
static struct content_tree tree_sort(struct tree_reader *r)
{
    struct arena *a = r->report->arena;
    uint32_t *order = arena_array(a, uint32_t, r->count);
    struct content_tree tree = {.files = arena_array(a, struct barclamp_file, r->count),
                                .drafts = arena_array(a, struct barclamp_file, r->count)};
    import_order_sort(a, r->files, r->count, order);
    for (uint32_t i = 0; i < r->count; i++) {
        const struct barclamp_file *file = &r->files[order[i]];
        if (file->document.len)
            tree.files[tree.count++] = *file;
        else if (file->draft.len)
            tree.drafts[tree.draft_count++] = *file;
    }
    return tree;
}

struct content_tree content_read_tree(struct diagnostics *report, const char *directories,
                                      const struct hook_finder *finder)
{
    struct tree_reader r = {.report = report, .finder = finder};
    const struct str list = str_copy(report->arena, str_from(directories));
    r.files = arena_array(report->arena, struct barclamp_file, CONTENT_FILES_MAX);
    for (uint32_t from = 0; from < list.len;) {
        const uint32_t to = str_find(list, ':', from);
        if (to > from)
            tree_read_directory(&r, str_slice(list, from, to));
        from = to + 1;
    }
    tree_drop_duplicates(&r);
    const struct content_tree tree = tree_sort(&r);
    diagnostics_sort(report);
    return tree;
}

/* ---- results of the import ---- */

static void tree_report_problem(struct diagnostics *r, const struct barclamp_file *file,
                                const struct problem *p)
{
    const char *code = str_z(r->arena, problem_code_name(p->code));
    diagnostics_error(diagnostics_as(r, code), str_from(file->path),
                      barclamp_field_position(file, p->field), "%.*s: %.*s", STR_FMT_ARGS(p->field),
                      STR_FMT_ARGS(p->text));
}

void content_report_problems(struct diagnostics *r, const struct barclamp_file *file,
                             const struct problem *problems)
{
    for (const struct problem *p = problems; p; p = p->next)
        tree_report_problem(r, file, p);
}

static bool tree_is_draft(const struct content_tree *tree, struct str barclamp)
{
    for (uint32_t i = 0; i < tree->draft_count; i++)
        if (str_eq_nocase(tree->drafts[i].name, barclamp))
            return true;
    return false;
}

/* True if the problem only follows from an error that is in the report already. */
static bool tree_is_reported(const struct content_tree *tree, const struct barclamp_file *file,
                             const struct problem *p)
{
    switch ((int)p->code) {
    case PROBLEM_MISSING:
    case PROBLEM_BAD_VALUE: return !yaml_is_valid_at(file->tree, p->field);
    case PROBLEM_NOT_FOUND:
        return str_eq(p->field, STR("barclamp/parent")) && tree_is_draft(tree, file->parent);
    default: return false;
    }
}

void content_report_draft(struct diagnostics *r, const struct content_tree *tree, uint32_t i,
                          const struct problem *problems)
{
    const struct barclamp_file *file = &tree->drafts[i];
    for (const struct problem *p = problems; p; p = p->next)
        if (!tree_is_reported(tree, file, p))
            tree_report_problem(r, file, p);
}

void content_report_warnings(struct diagnostics *r, const struct barclamp_file *file,
                             struct str doc)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (doc.len == 0 || json_read(r->arena, doc, &tree, &offset, &what) != OK)
        return;
    const struct json *warnings = json_get(tree, STR("warnings"));
    for (const struct json *w = warnings ? warnings->first : NULL; w; w = w->next) {
        const struct json *field = json_get(w, STR("field")), *text = json_get(w, STR("text")),
                          *code = json_get(w, STR("code"));
        if (field && text && code)
            diagnostics_warning(diagnostics_as(r, str_z(r->arena, code->text)),
                                str_from(file->path), barclamp_field_position(file, field->text),
                                "%.*s: %.*s", STR_FMT_ARGS(field->text), STR_FMT_ARGS(text->text));
    }
}
