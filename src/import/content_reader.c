/* content_reader.c - reads barclamp files and fingerprints the Lua files of their roles.
 *
 * It runs in a thread of the pool and touches nothing of the loop. The atomic `stop` is checked
 * between files, so that a shutdown does not wait for a slow disk. A mark stores the digest of a
 * Lua file; two readings are compared by it, and a file that could not be read compares as changed.
 *
 * It owns struct reading while it runs. The tree is read before the marks, because it lists the
 * roles. Marks have an arena of their own, because the marks of the last reading must outlive the
 * rest of it for the comparison.
 *
 * Failure: problems of files are entries of the report, and the reading continues. After `stop` the
 * result is incomplete and must not be used.
 */
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

/* ---- hooks ---- */

/* Finds the hooks in Lua files, and can be stopped between two files. */
struct stoppable_finder {
    const atomic_bool *stop;
    struct hook_finder finder;
};

static void reader_find_unless_stopped(void *self, const char *lua_path, struct diagnostics *r,
                                       struct json *names)
{
    const struct stoppable_finder *stoppable = self;
    if (!atomic_load(stoppable->stop))
        stoppable->finder.find(stoppable->finder.self, lua_path, r, names);
}

/* ---- marks ---- */

/* The digest covers the path too, so that the same code at another path counts as changed. */
static void reader_read_mark(struct arena *scratch, struct str source_path, struct code_mark *mark)
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

static int reader_compare_marks(const void *a, const void *b)
{
    const struct code_mark *x = a, *y = b;
    const int roles = str_cmp(x->role, y->role);
    return roles ? roles : (x->file_ix > y->file_ix) - (x->file_ix < y->file_ix);
}

static const struct json *reader_roles_of(const struct barclamp_file *file)
{
    return json_get(file->tree, STR("roles"));
}

/* A JSON document is not validated before the engine gets it: a name may have any type here. */
static void reader_mark_roles(struct reading *r, uint32_t file_ix, struct arena *scratch)
{
    struct code_marks *marks = &r->marks;
    const struct json *roles = reader_roles_of(&r->tree.files[file_ix]);
    const struct str source_path = content_reader_source_path(&r->tree.files[file_ix]);
    for (const struct json *role = roles ? roles->first : NULL; role; role = role->next) {
        const struct json *name = json_get(role, STR("name"));
        if (!name || name->kind != JSON_STRING || atomic_load(&r->stop))
            continue;
        struct code_mark *mark = &marks->list[marks->count++];
        *mark = (struct code_mark){.role = str_copy(&marks->arena, name->text), .file_ix = file_ix};
        reader_read_mark(scratch, source_path, mark);
        arena_reset(scratch);
    }
}

static void reader_read_marks(struct reading *r)
{
    struct code_marks *marks = &r->marks;
    struct arena scratch = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->tree.count; i++)
        count += reader_roles_of(&r->tree.files[i]) ? reader_roles_of(&r->tree.files[i])->count : 0;
    arena_reset(&marks->arena);
    marks->list = arena_array(&marks->arena, struct code_mark, count);
    marks->count = 0;
    for (uint32_t i = 0; i < r->tree.count; i++)
        reader_mark_roles(r, i, &scratch);
    qsort(marks->list, marks->count, sizeof *marks->list, reader_compare_marks);
    arena_fini(&scratch);
}

bool code_marks_match(const struct code_marks *marks, const struct code_mark *mark)
{
    uint32_t low = 0, high = marks->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (str_cmp(marks->list[middle].role, mark->role) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    /* If two barclamps define the role, it is unknown here which of them owns it: reload. */
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

/* ---- reading ---- */

void content_reader_run(struct reading *r)
{
    arena_reset(&r->arena);
    r->tree = (struct content_tree){0};
    r->code = (struct code_finder){0};
    struct stoppable_finder stoppable = {.stop = &r->stop,
                                         .finder = code_finder_hook_finder(&r->code)};
    const struct hook_finder finder = {.self = &stoppable, .find = reader_find_unless_stopped};
    r->report = diagnostics_begin(&r->arena);
    r->tree = barclamp_check_read(&r->report, r->directories, &finder, &r->stop);
    reader_read_marks(r);
}

void content_reader_fini(struct reading *r)
{
    free(r->directories);
    r->directories = NULL;
    r->tree = (struct content_tree){0};
    arena_fini(&r->arena);
    code_marks_fini(&r->marks);
}
