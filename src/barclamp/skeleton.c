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

/* Owns the temporary directory FOLDER/.new-XXXXXX until it is renamed to FOLDER/NAME.
 *
 * Order: files are written into the temporary directory, which has mode 0700. Its mode is changed
 * only when it is complete, and then it is renamed, so that other processes see all of it or
 * nothing. The target is tested before anything is written and again before the rename.
 *
 * On failure every file is removed, in the reverse order, because a directory must be empty to be
 * removed. errno keeps the value of the failure. */

/* The barclamp that is being written. */
struct skeleton {
    struct arena *arena;
    struct str name;
    const char *dir; /* the temporary directory */
    mode_t umask; /* of the process; applied to files, because file_write sets the mode as given */
};

const char *skeleton_check_name(struct str name)
{
    struct arena a = {0};
    const char *wrong = names_check_barclamp(name);
    /* The role is called NAME-server, and names of roles have a limit of their own. */
    if (!wrong)
        wrong = names_check_role(STR_CONCAT(&a, name, STR("-server")));
    arena_fini(&a);
    return wrong;
}

/* ---- expansion of names ---- */

/* Replace @NAME@ and @SCALAR@ (skeleton.h). */
static struct str skeleton_expand(const struct skeleton *s, const char *text)
{
    static const struct str plain = {"@NAME@", 6}, scalar = {"@SCALAR@", 8};
    struct buf out = buf_in(s->arena);
    struct str rest = str_from(text);
    while (rest.len) {
        if (str_starts(rest, plain)) {
            buf_put_str(&out, s->name);
            rest = str_slice(rest, plain.len, rest.len);
        } else if (str_starts(rest, scalar)) {
            /* Names such as `yes` and `null` must be quoted, or YAML would not read them as
             * strings. */
            const char *quote = scalar_read(s->arena, s->name).kind == JSON_STRING ? "" : "'";
            buf_put_z(&out, quote);
            buf_put_str(&out, s->name);
            buf_put_z(&out, quote);
            rest = str_slice(rest, scalar.len, rest.len);
        } else {
            buf_put_c(&out, rest.at[0]);
            rest = str_slice(rest, 1, rest.len);
        }
    }
    return buf_str(&out);
}

static const char *skeleton_path(const struct skeleton *s, const struct skeleton_file *file)
{
    const struct str below = STR_CONCAT(s->arena, str_from(s->dir), STR("/"));
    return str_z(s->arena, STR_CONCAT(s->arena, below, skeleton_expand(s, file->path)));
}

/* ---- writing ---- */

static err skeleton_write_all(const struct skeleton *s)
{
    err e = OK;
    for (const struct skeleton_file *file = skeleton_files; file->path && e == OK; file++) {
        const char *path = skeleton_path(s, file);
        if (file->text)
            e = file_write(path, skeleton_expand(s, file->text), file->mode & ~s->umask);
        else if (mkdir(path, (mode_t)file->mode) != 0)
            e = err_from_errno(errno);
    }
    /* mkdtemp has created the directory with mode 0700. */
    if (e == OK && chmod(s->dir, 0777 & ~s->umask) != 0)
        e = err_from_errno(errno);
    return e;
}

/* Remove what was written, in reverse order. errno is preserved. */
static void skeleton_remove(const struct skeleton *s)
{
    const int number = errno;
    const struct skeleton_file *file = skeleton_files;
    while (file->path)
        file++;
    while (file-- != skeleton_files)
        ignore(remove(skeleton_path(s, file)), "the file may not have been created");
    ignore(rmdir(s->dir), "a rest remains under a hidden name that is never read");
    errno = number;
}

/* rename(2) would silently replace an empty directory, so the target is tested first. */
static err skeleton_move_into_place(const struct skeleton *s, const char *to)
{
    struct stat facts;
    if (lstat(to, &facts) == 0)
        return ERR_EXISTS;
    if (rename(s->dir, to) == 0)
        return OK;
    return errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR ? ERR_EXISTS
                                                                     : err_from_errno(errno);
}

err skeleton_write(struct arena *a, const char *folder, struct str name)
{
    struct stat facts;
    const struct str prefix = STR_CONCAT(a, str_from(folder), STR("/"));
    const char *to = str_z(a, STR_CONCAT(a, prefix, name));
    if (lstat(to, &facts) == 0)
        return ERR_EXISTS;
    const struct str pattern = STR_CONCAT(a, prefix, STR(".new-XXXXXX"));
    char *dir = arena_copy(a, str_z(a, pattern), pattern.len + 1);
    if (!mkdtemp(dir))
        return err_from_errno(errno);
    /* The umask can be read only by setting it. The program has one thread. */
    const mode_t mask = umask(077);
    umask(mask);
    const struct skeleton s = {.arena = a, .name = name, .dir = dir, .umask = mask};
    err e = skeleton_write_all(&s);
    if (e == OK)
        e = skeleton_move_into_place(&s, to);
    if (e != OK)
        skeleton_remove(&s);
    return e;
}
