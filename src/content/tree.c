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

static const struct text_place nowhere;

struct reading {
    struct diagnostics *report;
    const struct hook_finder *finder;
    struct barclamp_file *files; /* CONTENT_FILES_MAX of them */
    uint32_t count;
};

/* Joins into `path`; false when that is too long, which is said. */
__attribute__((format(printf, 3, 4))) static bool make_path(struct reading *r, char *path,
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
                      "the path goes on, and is too long");
    return false;
}

/* ---- one file ---- */

static void read_text(struct reading *r, struct barclamp_file *file)
{
    struct diagnostics *report = r->report;
    const struct str name = str_from(file->path);
    struct str text;
    const err e = file_read(report->arena, file->path, CONTENT_FILE_SIZE_MAX, &text);
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
}

/* NULL when there is no room for another one. */
static struct barclamp_file *add_file(struct reading *r, const char *path, struct str source_path)
{
    struct arena *a = r->report->arena;
    const struct str name = str_copy(a, str_from(path));
    if (r->count == CONTENT_FILES_MAX) {
        diagnostics_error(diagnostics_as(r->report, "limit_reached"), name, nowhere,
                          "there are more than %u barclamps", CONTENT_FILES_MAX);
        return NULL;
    }
    struct barclamp_file *file = &r->files[r->count++];
    *file = (struct barclamp_file){
        .path = str_z(a, name),
        .source_path = str_copy(a, source_path),
        .is_yaml = !str_ends(name, STR(".json")),
    };
    read_text(r, file);
    return file;
}

/* ---- directories ---- */

static bool is_file(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

static bool is_folder(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Byte order: alphasort() would follow the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* `look` at each entry of a folder, by name. A name that is no text is passed over, and said. */
static void each_entry(struct reading *r, const char *folder,
                       void (*look)(struct reading *, const char *folder, const char *name))
{
    struct dirent **entries;
    const struct str where = str_copy(r->report->arena, str_from(folder));
    const int count = scandir(folder, &entries, is_visible, by_name);
    if (count < 0) {
        diagnostics_error(diagnostics_as(r->report, "unreadable"), where, nowhere,
                          "the directory cannot be read: %s", strerror(errno));
        return;
    }
    for (int i = 0; i < count; i++) {
        if (str_is_clean(str_from(entries[i]->d_name)))
            look(r, folder, entries[i]->d_name);
        else
            diagnostics_error(diagnostics_as(r->report, "unreadable"), where, nowhere,
                              "a name in here is not UTF-8");
        free(entries[i]);
    }
    free(entries);
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- a checkout ---- */

static void look_at_child(struct reading *r, const char *folder, const char *name)
{
    char path[PATH_MAX];
    const struct str root = str_from(folder);
    if (str_ends(str_from(name), STR(".yml")) && make_path(r, path, "%s/%s", folder, name))
        add_file(r, path, str_slice(root, 0, root.len - (uint32_t)strlen("/barclamps")));
}

/* A root with a parent is a leaf of another workload: its importer passes over it. */
static void read_checkout(struct reading *r, const char *folder)
{
    char path[PATH_MAX];
    if (!make_path(r, path, "%s/crowbar.yml", folder))
        return;
    const struct barclamp_file *root = add_file(r, path, str_from(folder));
    if (root && root->parent.len)
        r->count--;
    if (make_path(r, path, "%s/barclamps", folder) && is_folder(path))
        each_entry(r, path, look_at_child);
}

/* Our own barclamp called "crowbar" has a crowbar.yml as well, but nothing else of a checkout. */
static bool is_checkout(struct reading *r, const char *folder)
{
    char path[PATH_MAX];
    if (!make_path(r, path, "%s/crowbar.yml", folder) || !is_file(path))
        return false;
    if (strcmp(last_name(folder), "crowbar") != 0)
        return true;
    return make_path(r, path, "%s/barclamps", folder) && is_folder(path);
}

/* ---- our own layout ---- */

/* Is the directory one barclamp, or a checkout? Reads it if so. */
static bool read_barclamp(struct reading *r, const char *folder)
{
    char path[PATH_MAX];
    const char *name = last_name(folder);
    if (is_checkout(r, folder)) {
        read_checkout(r, folder);
        return true;
    }
    if (!make_path(r, path, "%s/%s.yml", folder, name) || !is_file(path))
        return false;
    const struct barclamp_file *file = add_file(r, path, str_from(folder));
    if (file && !names_check_barclamp(file->name) && !str_eq(file->name, str_from(name)))
        diagnostics_warning(diagnostics_as(r->report, "name_differs"), str_from(file->path),
                            barclamp_place(file, STR("barclamp/name")),
                            "the barclamp is called %.*s, and its directory and file %s",
                            STR_FMT_ARGS(diagnostics_brief(file->name)), name);
    if (make_path(r, path, "%s/%s.json", folder, name) && is_file(path))
        diagnostics_warning(diagnostics_as(r->report, "not_used"),
                            str_copy(r->report->arena, str_from(path)), nowhere,
                            "is not read, since there is a %s.yml beside it", name);
    return true;
}

/* Does the file look like a barclamp: does a line begin with its first section? */
static bool looks_like_barclamp(const char *path)
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

/* A directory without a file of its name is no barclamp; one under another name is reported. */
static void look_for_misnamed(struct reading *r, const char *folder, const char *name)
{
    char path[PATH_MAX];
    if (str_ends(str_from(name), STR(".yml")) && make_path(r, path, "%s/%s", folder, name) &&
        is_file(path) && looks_like_barclamp(path))
        diagnostics_warning(
            diagnostics_as(r->report, "name_differs"), str_copy(r->report->arena, str_from(path)),
            nowhere, "is not read: the file of a barclamp is called like its directory, %s.yml",
            last_name(folder));
}

static void look_at_entry(struct reading *r, const char *folder, const char *name)
{
    char path[PATH_MAX], document[PATH_MAX];
    if (!make_path(r, path, "%s/%s", folder, name))
        return;
    if (str_ends(str_from(name), STR(".json"))) {
        add_file(r, path, str_from(folder));
        return;
    }
    if (!is_folder(path) || read_barclamp(r, path))
        return;
    if (make_path(r, document, "%s/%s.json", path, name) && is_file(document))
        add_file(r, document, str_from(path));
    else if (access(path, R_OK | X_OK) == 0)
        each_entry(r, path, look_for_misnamed);
}

static void read_directory(struct reading *r, struct str given)
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
                          "the path of this directory is not UTF-8");
        return;
    }
    if (!read_barclamp(r, path)) {
        each_entry(r, path, look_at_entry);
        if (r->count == before && r->report->errors == errors_before)
            each_entry(r, path, look_for_misnamed);
    }
    if (r->count == before && r->report->errors == errors_before)
        diagnostics_warning(diagnostics_as(r->report, "empty_directory"), given, nowhere,
                            "there is no barclamp in this directory");
}

/* ---- all of them ---- */

static int by_barclamp(const void *a, const void *b)
{
    const struct barclamp_file *x = *(struct barclamp_file *const *)a;
    const struct barclamp_file *y = *(struct barclamp_file *const *)b;
    const int names = str_cmp(x->name, y->name);
    return names ? names : (x > y) - (x < y);
}

/* Of files with one barclamp the first counts: the others lose their document. */
static void leave_out_doubles(struct reading *r)
{
    struct barclamp_file **list = arena_array(r->report->arena, struct barclamp_file *, r->count);
    for (uint32_t i = 0; i < r->count; i++)
        list[i] = &r->files[i];
    qsort(list, r->count, sizeof *list, by_barclamp);
    const struct barclamp_file *kept = NULL;
    for (uint32_t i = 0; i < r->count; i++) {
        if (!kept || list[i]->name.len == 0 || !str_eq(kept->name, list[i]->name)) {
            kept = list[i];
            continue;
        }
        diagnostics_warning(diagnostics_as(r->report, "not_used"), str_from(list[i]->path),
                            barclamp_place(list[i], STR("barclamp/name")),
                            "is not read, since barclamp %.*s is also in %s",
                            STR_FMT_ARGS(diagnostics_brief(kept->name)), kept->path);
        list[i]->document = list[i]->draft = STR("");
        list[i]->tree = NULL;
    }
}

static struct content_tree put_in_order(struct reading *r)
{
    struct arena *a = r->report->arena;
    uint32_t *order = arena_array(a, uint32_t, r->count);
    struct content_tree tree = {.files = arena_array(a, struct barclamp_file, r->count),
                                .drafts = arena_array(a, struct barclamp_file, r->count)};
    content_order(a, r->files, r->count, order);
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
    struct reading r = {.report = report, .finder = finder};
    const struct str list = str_copy(report->arena, str_from(directories));
    r.files = arena_array(report->arena, struct barclamp_file, CONTENT_FILES_MAX);
    for (uint32_t from = 0; from < list.len;) {
        const uint32_t to = str_find(list, ':', from);
        if (to > from)
            read_directory(&r, str_slice(list, from, to));
        from = to + 1;
    }
    leave_out_doubles(&r);
    const struct content_tree tree = put_in_order(&r);
    diagnostics_sort(report);
    return tree;
}

/* ---- what the engine said ---- */

static void report_problem(struct diagnostics *r, const struct barclamp_file *file,
                           const struct problem *p)
{
    const char *code = str_z(r->arena, problem_code_name(p->code));
    diagnostics_error(diagnostics_as(r, code), str_from(file->path), barclamp_place(file, p->field),
                      "%.*s: %.*s", STR_FMT_ARGS(p->field), STR_FMT_ARGS(p->text));
}

void content_report_problems(struct diagnostics *r, const struct barclamp_file *file,
                             const struct problem *problems)
{
    for (const struct problem *p = problems; p; p = p->next)
        report_problem(r, file, p);
}

static bool is_draft(const struct content_tree *tree, struct str barclamp)
{
    for (uint32_t i = 0; i < tree->draft_count; i++)
        if (str_eq_nocase(tree->drafts[i].name, barclamp))
            return true;
    return false;
}

/* Does the problem only follow from errors that the reader told? */
static bool is_told(const struct content_tree *tree, const struct barclamp_file *file,
                    const struct problem *p)
{
    switch ((int)p->code) {
    case PROBLEM_MISSING:
    case PROBLEM_BAD_VALUE: return !yaml_is_sound_at(file->tree, p->field);
    case PROBLEM_NOT_FOUND:
        return str_eq(p->field, STR("barclamp/parent")) && is_draft(tree, file->parent);
    default: return false;
    }
}

void content_report_draft(struct diagnostics *r, const struct content_tree *tree, uint32_t i,
                          const struct problem *problems)
{
    const struct barclamp_file *file = &tree->drafts[i];
    for (const struct problem *p = problems; p; p = p->next)
        if (!is_told(tree, file, p))
            report_problem(r, file, p);
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
                                str_from(file->path), barclamp_place(file, field->text),
                                "%.*s: %.*s", STR_FMT_ARGS(field->text), STR_FMT_ARGS(text->text));
    }
}
