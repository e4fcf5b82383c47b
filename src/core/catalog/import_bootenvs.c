#include "core/catalog/import_private.h"

#include "model/names.h"

/* Boot environments of a barclamp: the section `bootenvs` (docs/spec/barclamp-format.md). This file
 * owns the bootenv rows. A barclamp that defines an environment owns it, also if another one did
 * before. An environment that the document does not define any more is removed.
 *
 * Order: all entries are read before any is removed, so an environment whose name is repeated is
 * found. A row is written only if a field differs. Whether the files are present is a report of
 * boot servers; it is forgotten when the files of the environment are others.
 *
 * Failure: every problem of an entry is refused with its path, and the whole import is rolled
 * back. */

struct bootenv_def {
    struct str kernel, initrd, args, method, os;
};

static struct str import_checked_text(struct import *im, const struct json *entry, const char *key,
                                      struct str path, const char *(*check)(struct str))
{
    const struct str value = import_text(im, entry, key, path, STR(""));
    const char *wrong = value.len ? check(value) : NULL;
    if (wrong)
        import_refuse(im, PROBLEM_BAD_VALUE, import_path_of(im, path, key),
                      STR_CONCAT(im->c->arena, str_from(key), STR(" "), str_from(wrong)));
    return wrong ? STR("") : value;
}

static void import_require(struct import *im, const struct json *entry, const char *key,
                           struct str path)
{
    const struct json *value = import_get(entry, key);
    if (!value || (value->kind == JSON_STRING && value->text.len == 0))
        import_refuse(im, PROBLEM_MISSING, import_path_of(im, path, key),
                      STR_CONCAT(im->c->arena, str_from(key), STR(" is required")));
}

/* The canonical list of the paths; empty if there is none. */
static struct str import_initrd(struct import *im, const struct json *entry, struct str path)
{
    struct arena *a = im->c->arena;
    struct json *list = json_make(a, JSON_ARRAY);
    const struct str field = import_path_of(im, path, "initrd");
    uint32_t i = 0;
    for (const struct json *item = import_list(im, entry, "initrd", path); item;
         item = item->next, i++) {
        const char *wrong =
            item->kind == JSON_STRING ? names_check_boot_path(item->text) : "must be a string";
        if (wrong)
            import_refuse(im, PROBLEM_BAD_VALUE, import_path_at(im, field, i),
                          STR_CONCAT(a, STR("a path in initrd "), str_from(wrong)));
        else
            json_append(list, json_make_string(a, item->text));
    }
    if (i > BOOT_INITRDS_MAX)
        import_refuse(im, PROBLEM_BAD_VALUE, field,
                      STR_CONCAT(a, STR("initrd must be a list of at most "),
                                 str_from_i64(a, BOOT_INITRDS_MAX), STR(" paths")));
    return list->first ? json_write(a, list) : STR("");
}

static bool bootenv_reads_as(const struct core *c, const struct bootenv *row,
                             const struct bootenv_def *def)
{
    return str_eq(text_of(c, row->args), def->args) &&
           str_eq(text_of(c, row->method), def->method) && str_eq(text_of(c, row->os), def->os);
}

static void bootenv_write(struct import *im, bootenv_ix ix, const struct bootenv_def *def)
{
    struct core *c = im->c;
    const struct bootenv *now = bootenv_at(c, ix);
    const bool has_same_files = str_eq(text_of(c, now->kernel), def->kernel) &&
                                str_eq(text_of(c, now->initrd), def->initrd);
    if (has_same_files && bootenv_reads_as(c, now, def) && now->barclamp.v == im->barclamp.v)
        return;
    struct bootenv *row = bootenv_edit(c, ix);
    put_text(c, &row->kernel, def->kernel);
    put_text(c, &row->initrd, def->initrd);
    put_text(c, &row->args, def->args);
    put_text(c, &row->method, def->method);
    put_text(c, &row->os, def->os);
    row->barclamp = im->barclamp;
    row->available = row->available && has_same_files;
    im->changed = true;
}

static bootenv_ix import_get_bootenv(struct import *im, struct str name, struct str field)
{
    struct core *c = im->c;
    bootenv_ix ix = {name_find(c, TABLE_BOOTENV, name)};
    if (ix.v)
        return import_spelling_matches(im, name, text_of(c, bootenv_at(c, ix)->name), field)
                   ? ix
                   : (bootenv_ix){0};
    ix = bootenv_add(c);
    if (!ix.v)
        return ix;
    put_text(c, &bootenv_edit(c, ix)->name, name);
    name_add(c, TABLE_BOOTENV, ix.v);
    return ix;
}

static void import_bootenv(struct import *im, const struct json *entry, struct str path,
                           uint8_t *seen)
{
    struct core *c = im->c;
    if (!import_is_object(im, entry, path))
        return;
    const struct str name = import_text(im, entry, "name", path, STR(""));
    import_require(im, entry, "kernel", path);
    import_require(im, entry, "method", path);
    const struct bootenv_def def = {
        .kernel = import_checked_text(im, entry, "kernel", path, names_check_boot_path),
        .initrd = import_initrd(im, entry, path),
        .args = import_checked_text(im, entry, "args", path, names_check_boot_args),
        .method = import_checked_text(im, entry, "method", path, names_check_boot_method),
        .os = import_checked_text(im, entry, "os", path, names_check_label),
    };
    const struct str field = import_path_of(im, path, "name");
    if (!import_name(im, name, field, names_check_bootenv))
        return;
    const bootenv_ix ix = import_get_bootenv(im, name, field);
    if (!ix.v)
        return;
    if (seen[ix.v]++)
        import_refuse(
            im, PROBLEM_NAME_TAKEN, field,
            STR_CONCAT(c->arena, STR("boot environment "), name, STR(" is defined twice")));
    bootenv_write(im, ix, &def);
}

static void bootenv_remove(struct import *im, bootenv_ix ix)
{
    struct core *c = im->c;
    name_remove(c, TABLE_BOOTENV, ix.v);
    struct bootenv *row = bootenv_edit(c, ix);
    text_h *const slots[] = {&row->name, &row->kernel, &row->initrd,
                             &row->args, &row->method, &row->os};
    for (uint32_t i = 0; i < sizeof slots / sizeof *slots; i++)
        put_text(c, slots[i], STR(""));
    core_remove_row(c, TABLE_BOOTENV, ix.v);
    im->changed = true;
}

void import_bootenvs(struct import *im)
{
    struct core *c = im->c;
    const struct pool *rows = &c->tables[TABLE_BOOTENV].pool;
    const struct json *list = import_get(im->doc, "bootenvs");
    uint8_t *seen = arena_zalloc(c->arena, rows->high + (list ? list->count : 0) + (size_t)1);
    uint32_t i = 0;
    for (const struct json *entry = import_list(im, im->doc, "bootenvs", STR(""));
         entry && !import_is_given_up(im); entry = entry->next, i++)
        import_bootenv(im, entry, import_path_at(im, STR("bootenvs"), i), seen);
    for (uint32_t ix = pool_next(rows, 0); ix && im->barclamp.v; ix = pool_next(rows, ix))
        if (bootenv_at(c, (bootenv_ix){ix})->barclamp.v == im->barclamp.v && !seen[ix])
            bootenv_remove(im, (bootenv_ix){ix});
}

/* ---- load ---- */

bool bootenv_can_load(const struct bootenv *row, const struct bootenv_record *r)
{
    if (!row->barclamp.v || names_check_bootenv(r->name) || names_check_boot_path(r->kernel) ||
        names_check_boot_method(r->method) || (r->args.len && names_check_boot_args(r->args)) ||
        (r->os.len && names_check_label(r->os)))
        return false;
    struct arena scratch = {0};
    const struct json *list = r->initrd.len ? doc_tree(&scratch, r->initrd) : NULL;
    bool is_valid = !list || (list->kind == JSON_ARRAY && list->count <= BOOT_INITRDS_MAX);
    for (const struct json *item = list && is_valid ? list->first : NULL; item && is_valid;
         item = item->next)
        is_valid = item->kind == JSON_STRING && !names_check_boot_path(item->text);
    arena_fini(&scratch);
    return is_valid;
}
