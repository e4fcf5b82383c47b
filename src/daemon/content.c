#include "daemon/content.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "core/core.h"
#include "sys/files.h"
#include "sys/log.h"

enum { DOCUMENT_SIZE_MAX = 4 << 20, DOCUMENTS_MAX = 10000 };

struct content_document {
    struct str name; /* of the file, without its end */
    const char *path;
    struct str text; /* canonical; empty: it does not read */
    bool wanted;     /* in this round */
    bool asked;      /* an outcome is to come */
    struct problem *problems;
};

/* ---- reading ---- */

static bool ends_in_json(struct str name)
{
    return name.len > 5 && str_ends(name, STR(".json")) && name.at[0] != '.';
}

/* Who the barclamp's files belong to, unless it says so itself. */
static void add_source_path(struct arena *a, struct json *tree, const char *path)
{
    const struct json *section = json_get(tree, STR("barclamp"));
    if (!section || section->kind != JSON_OBJECT || json_get(section, STR("source_path")))
        return;
    struct json *copy = json_clone(a, section);
    const char *slash = strrchr(path, '/');
    const struct str folder = {path, slash ? (uint32_t)(slash - path) : 0};
    json_set(copy, STR("source_path"), json_make_string(a, folder));
    json_set(tree, STR("barclamp"), copy);
}

static struct str read_document(struct arena *a, const char *path)
{
    struct str text;
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (file_read(a, path, DOCUMENT_SIZE_MAX, &text) != OK) {
        log_with(LOG_WARNING, LOG_FIELDS(LOG_Z("path", path)),
                 "a barclamp cannot be read: %s; going on without it", strerror(errno));
        return STR("");
    }
    if (json_read(a, text, &tree, &offset, &what) != OK) {
        log_with(LOG_WARNING, LOG_FIELDS(LOG_Z("path", path), LOG_I64("offset", offset)),
                 "a barclamp is not JSON: %s; going on without it", what);
        return STR("");
    }
    if (tree->kind == JSON_OBJECT)
        add_source_path(a, tree, path);
    return json_write(a, tree);
}

static void add_document(struct content *c, struct str name, const char *path)
{
    if (c->count == DOCUMENTS_MAX) {
        log_with(LOG_WARNING, LOG_FIELDS(LOG_Z("path", path)),
                 "more than %d barclamps; going on without this one", DOCUMENTS_MAX);
        return;
    }
    struct content_document *d = &c->documents[c->count++];
    *d = (struct content_document){.name = str_copy(&c->arena, name),
                                   .path = str_z(&c->arena, str_from(path))};
    d->text = read_document(&c->arena, d->path);
    d->wanted = d->text.len > 0;
}

static void look_at_entry(struct content *c, const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct stat facts;
    const struct str entry = str_from(name);
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path || name[0] == '.')
        return;
    if (ends_in_json(entry)) {
        add_document(c, str_slice(entry, 0, entry.len - 5), path);
        return;
    }
    if (snprintf(path, sizeof path, "%s/%s/%s.json", folder, name, name) < (int)sizeof path &&
        stat(path, &facts) == 0)
        add_document(c, entry, path);
}

static void read_folder(struct content *c, const char *folder)
{
    DIR *entries = opendir(folder);
    if (!entries) {
        log_with(LOG_WARNING, LOG_FIELDS(LOG_Z("path", folder)),
                 "a directory of barclamps cannot be read: %s; going on without it",
                 strerror(errno));
        return;
    }
    for (const struct dirent *entry = readdir(entries); entry; entry = readdir(entries))
        look_at_entry(c, folder, entry->d_name);
    ignore(closedir(entries), "it was read");
}

static int by_name(const void *a, const void *b)
{
    const struct content_document *x = a, *y = b;
    const int order = str_cmp(x->name, y->name);
    return order ? order : strcmp(x->path, y->path);
}

static void read_all(struct content *c, const char *directories)
{
    arena_reset(&c->arena);
    c->count = 0;
    c->documents = arena_array(&c->arena, struct content_document, DOCUMENTS_MAX);
    const struct str list = str_from(directories);
    for (uint32_t from = 0; from < list.len;) {
        const uint32_t to = str_find(list, ':', from);
        if (to > from)
            read_folder(c, str_z(&c->arena, str_slice(list, from, to)));
        from = to + 1;
    }
    qsort(c->documents, c->count, sizeof *c->documents, by_name);
}

/* ---- importing ---- */

static void end_round(struct content *c);

static void submit_wanted(struct content *c)
{
    c->accepted = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        struct content_document *d = &c->documents[i];
        d->problems = NULL;
        if (!d->wanted)
            continue;
        struct command command = {.kind = COMMAND_IMPORT, .actor = STR("daemon")};
        command.request = c->request_first - (int64_t)i;
        command.import.barclamp = d->text;
        const err e = c->submit(c->self, &command);
        d->asked = e == OK;
        c->waiting += d->asked;
        d->wanted = d->asked;
        if (!d->asked)
            log_with(LOG_WARNING, LOG_FIELDS(LOG_Z("path", d->path)),
                     "a barclamp could not be imported: the store is not there");
    }
    if (c->waiting == 0)
        end_round(c);
}

static void log_refusals(const struct content *c)
{
    for (uint32_t i = 0; i < c->count; i++)
        for (const struct problem *p = c->documents[i].problems; p; p = p->next)
            log_with(LOG_WARNING,
                     LOG_FIELDS(LOG_S("barclamp", c->documents[i].name),
                                LOG_Z("path", c->documents[i].path),
                                LOG_S("code", problem_code_name(p->code)),
                                LOG_S("field", p->field)),
                     "a barclamp is refused: %.*s", STR_FMT_ARGS(p->text));
}

static uint32_t count_wanted(const struct content *c)
{
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < c->count; i++)
        wanted += c->documents[i].wanted;
    return wanted;
}

static void end_round(struct content *c)
{
    if (c->accepted && count_wanted(c)) {
        submit_wanted(c);
        return;
    }
    log_refusals(c);
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
    read_all(c, directories);
    submit_wanted(c);
}

bool content_is_idle(const struct content *c)
{
    return c->waiting == 0;
}

/* ---- what became of it ---- */

static void keep_problems(struct content *c, struct content_document *d, const struct problem *from)
{
    struct problem **last = &d->problems;
    for (; from; from = from->next) {
        *last = arena_new(&c->arena, struct problem);
        (*last)->code = from->code;
        (*last)->field = str_copy(&c->arena, from->field);
        (*last)->text = str_copy(&c->arena, from->text);
        last = &(*last)->next;
    }
}

static void log_accepted(struct content *c, const struct content_document *d, struct str report)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    log_with(LOG_INFO, LOG_FIELDS(LOG_S("barclamp", d->name), LOG_Z("path", d->path)),
             "barclamp imported");
    if (report.len == 0 || json_read(&c->arena, report, &tree, &offset, &what) != OK)
        return;
    const struct json *warnings = json_get(tree, STR("warnings"));
    for (const struct json *w = warnings ? warnings->first : NULL; w; w = w->next) {
        const struct json *field = json_get(w, STR("field")), *text = json_get(w, STR("text"));
        if (!field || !text)
            continue;
        log_with(LOG_WARNING, LOG_FIELDS(LOG_S("barclamp", d->name), LOG_S("field", field->text)),
                 "an import warns: %.*s", STR_FMT_ARGS(text->text));
    }
}

void content_told(struct content *c, int64_t request, const struct outcome *outcome, err why)
{
    const int64_t i = c->request_first - request;
    must(i >= 0 && i < c->count && c->documents[i].asked);
    struct content_document *d = &c->documents[i];
    d->asked = false;
    c->waiting--;
    if (!outcome) {
        d->wanted = false;
        log_with(LOG_WARNING, LOG_FIELDS(LOG_S("barclamp", d->name), LOG_I64("error", why)),
                 "a barclamp could not be imported: the store failed meanwhile");
    } else if (outcome->verdict == VERDICT_DONE) {
        d->wanted = false;
        c->accepted++;
        log_accepted(c, d, outcome->doc);
    } else {
        keep_problems(c, d, outcome->problems);
    }
    if (c->waiting == 0)
        end_round(c);
}

void content_fini(struct content *c)
{
    free(c->again);
    c->again = NULL;
    arena_fini(&c->arena);
}
