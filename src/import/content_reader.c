#include "import/content_reader.h"

#include <stdlib.h>

#include "base/json/json.h"
#include "check/barclamp_check.h"
#include "content/role_file.h"
#include "hooks/role_code.h"
#include "sys/files.h"

struct str content_reader_source_path(const struct barclamp_file *file)
{
    const struct json *own =
        file->is_yaml ? NULL : json_at(file->tree, STR("barclamp/source_path"));
    return own ? own->text : file->source_path;
}

/* ---- code ---- */

/* A code finder that can be stopped between two files. */
struct patient_finder {
    const atomic_bool *stop;
    struct hook_finder finder;
};

static void find_unless_stopped(void *self, const char *lua_path, struct diagnostics *r,
                                struct json *names)
{
    const struct patient_finder *patient = self;
    if (!atomic_load(patient->stop))
        patient->finder.find(patient->finder.self, lua_path, r, names);
}

static void read_tree(struct reading *r)
{
    r->code = (struct code_finder){0};
    struct patient_finder patient = {.stop = &r->stop, .finder = code_finder_seam(&r->code)};
    const struct hook_finder finder = {.self = &patient, .find = find_unless_stopped};
    r->report = diagnostics_begin(&r->arena);
    r->tree = barclamp_check_read(&r->report, r->directories, &finder, &r->stop);
}

/* ---- marks ---- */

static void read_mark(struct arena *scratch, struct str source_path, struct code_mark *mark)
{
    const char *path;
    struct str text;
    err e = content_role_file(scratch, source_path, mark->role, ROLE_FILE_LUA, &path);
    mark->is_sure = e == ERR_NOT_FOUND;
    if (e != OK || file_read(scratch, path, ROLE_CODE_SIZE_MAX, &text) != OK)
        return;
    mark->is_sure = true;
    mark->digest = hash128(text, hash64(str_from(path), 0));
}

static int by_role(const void *a, const void *b)
{
    const struct code_mark *x = a, *y = b;
    const int roles = str_cmp(x->role, y->role);
    return roles ? roles : (x->file_ix > y->file_ix) - (x->file_ix < y->file_ix);
}

static const struct json *roles_of(const struct barclamp_file *file)
{
    return json_get(file->tree, STR("roles"));
}

/* A document in JSON says what it likes, until the engine sees it. */
static void mark_roles(struct reading *r, uint32_t file_ix, struct arena *scratch)
{
    struct code_marks *marks = &r->marks;
    const struct json *roles = roles_of(&r->tree.files[file_ix]);
    const struct str source_path = content_reader_source_path(&r->tree.files[file_ix]);
    for (const struct json *role = roles ? roles->first : NULL; role; role = role->next) {
        const struct json *name = json_get(role, STR("name"));
        if (!name || name->kind != JSON_STRING || atomic_load(&r->stop))
            continue;
        struct code_mark *mark = &marks->list[marks->count++];
        *mark = (struct code_mark){.role = str_copy(&marks->arena, name->text), .file_ix = file_ix};
        read_mark(scratch, source_path, mark);
        arena_reset(scratch);
    }
}

static void read_marks(struct reading *r)
{
    struct code_marks *marks = &r->marks;
    struct arena scratch = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->tree.count; i++)
        count += roles_of(&r->tree.files[i]) ? roles_of(&r->tree.files[i])->count : 0;
    arena_reset(&marks->arena);
    marks->list = arena_array(&marks->arena, struct code_mark, count);
    marks->count = 0;
    for (uint32_t i = 0; i < r->tree.count; i++)
        mark_roles(r, i, &scratch);
    qsort(marks->list, marks->count, sizeof *marks->list, by_role);
    arena_fini(&scratch);
}

bool code_marks_hold(const struct code_marks *marks, const struct code_mark *mark)
{
    uint32_t low = 0, high = marks->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (str_cmp(marks->list[middle].role, mark->role) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    /* A name that two barclamps claim belongs to one of them, and nobody here knows to which. */
    if (low == marks->count ||
        (low + 1 < marks->count && str_eq(marks->list[low + 1].role, mark->role)))
        return false;
    const struct code_mark *known = &marks->list[low];
    return str_eq(known->role, mark->role) && known->is_loaded && known->is_sure && mark->is_sure &&
           digest_eq(known->digest, mark->digest);
}

void code_marks_fini(struct code_marks *marks)
{
    arena_fini(&marks->arena);
    *marks = (struct code_marks){0};
}

/* ---- all of it ---- */

void content_reader_run(struct reading *r)
{
    arena_reset(&r->arena);
    r->tree = (struct content_tree){0};
    read_tree(r);
    read_marks(r);
}

void content_reader_fini(struct reading *r)
{
    free(r->directories);
    r->directories = NULL;
    r->tree = (struct content_tree){0};
    arena_fini(&r->arena);
    code_marks_fini(&r->marks);
}
