#include "barclamp/skeleton.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text/buf.h"
#include "content/scalar.h"
#include "model/names.h"
#include "sys/files.h"

/* One barclamp being made. */
struct making {
    struct arena *arena;
    struct str name;
    const char *place; /* where it is put together */
    mode_t umask;
};

const char *skeleton_check_name(struct str name)
{
    struct arena a = {0};
    const char *wrong = names_check_barclamp(name);
    /* Its role is called after it, and a role's name is bounded as well. */
    if (!wrong)
        wrong = names_check_role(STR_CONCAT(&a, name, STR("-server")));
    arena_fini(&a);
    return wrong;
}

/* ---- filling in ---- */

/* `yes` and `null` are no names to YAML unless they are quoted. */
static struct str yaml_name(struct arena *a, struct str name)
{
    if (scalar_read(a, name).kind == JSON_STRING)
        return name;
    return STR_CONCAT(a, STR("'"), name, STR("'"));
}

static struct str fill_in(const struct making *m, const char *text)
{
    static const struct str plain = {"@NAME@", 6}, scalar = {"@SCALAR@", 8};
    struct buf out = buf_in(m->arena);
    struct str rest = str_from(text);
    while (rest.len) {
        if (str_starts(rest, plain)) {
            buf_put_str(&out, m->name);
            rest = str_slice(rest, plain.len, rest.len);
        } else if (str_starts(rest, scalar)) {
            buf_put_str(&out, yaml_name(m->arena, m->name));
            rest = str_slice(rest, scalar.len, rest.len);
        } else {
            buf_put_c(&out, rest.at[0]);
            rest = str_slice(rest, 1, rest.len);
        }
    }
    return buf_str(&out);
}

static const char *path_of(const struct making *m, const struct skeleton_file *file)
{
    const struct str below = STR_CONCAT(m->arena, str_from(m->place), STR("/"));
    return str_z(m->arena, STR_CONCAT(m->arena, below, fill_in(m, file->path)));
}

/* ---- writing ---- */

static err write_one(const struct making *m, const struct skeleton_file *file)
{
    const char *path = path_of(m, file);
    if (file->text)
        return file_write(path, fill_in(m, file->text), file->mode & ~m->umask);
    return mkdir(path, (mode_t)file->mode) == 0 ? OK : err_from_errno(errno);
}

static err write_all(const struct making *m)
{
    err e = OK;
    for (const struct skeleton_file *file = skeleton_files; file->path && e == OK; file++)
        e = write_one(m, file);
    /* A directory for the time being is for its owner only. */
    if (e == OK && chmod(m->place, 0777 & ~m->umask) != 0)
        e = err_from_errno(errno);
    return e;
}

/* Removes what was written, last things first. errno stays as it is. */
static void take_back(const struct making *m)
{
    const int number = errno;
    const struct skeleton_file *file = skeleton_files;
    while (file->path)
        file++;
    while (file-- != skeleton_files)
        ignore(remove(path_of(m, file)), "it may never have been made");
    ignore(rmdir(m->place), "what cannot be removed stays, under a name that nobody reads");
    errno = number;
}

/* A directory that is empty would be replaced silently; one that is not, or a file, would not. */
static err move_into_place(const struct making *m, const char *to)
{
    struct stat facts;
    if (lstat(to, &facts) == 0)
        return ERR_EXISTS;
    if (rename(m->place, to) == 0)
        return OK;
    return errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR ? ERR_EXISTS
                                                                     : err_from_errno(errno);
}

static mode_t read_umask(void)
{
    const mode_t mask = umask(077);
    umask(mask);
    return mask;
}

err skeleton_write(struct arena *a, const char *folder, struct str name)
{
    struct stat facts;
    const struct str prefix = STR_CONCAT(a, str_from(folder), STR("/"));
    const char *to = str_z(a, STR_CONCAT(a, prefix, name));
    if (lstat(to, &facts) == 0)
        return ERR_EXISTS;
    const struct str pattern = STR_CONCAT(a, prefix, STR(".new-XXXXXX"));
    char *place = arena_copy(a, str_z(a, pattern), pattern.len + 1);
    if (!mkdtemp(place))
        return err_from_errno(errno);
    const struct making m = {.arena = a, .name = name, .place = place, .umask = read_umask()};
    err e = write_all(&m);
    if (e == OK)
        e = move_into_place(&m, to);
    if (e != OK)
        take_back(&m);
    return e;
}
