#include "run/jig/archive.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "run/jig/launch_spec_private.h"
#include "sys/files.h"

/* Adds the files of a role. Entries are sorted by bytes, so that the same files give the same
 * archive. Symbolic links must not leave the barclamp: a barclamp could otherwise send any file
 * that the daemon can read to a node. The first entry that cannot be added refuses the whole tree
 * with a reason; the archive then has only a part of it and must not be used. */

struct walk {
    struct archive *archive;
    struct arena *arena;
    struct str root; /* real path with a trailing slash */
    uint32_t count;  /* entries added, at most ARCHIVE_FILES_MAX */
    struct reason *out_why;
};

static int archive_tree_is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int archive_tree_compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static err archive_tree_refuse(struct walk *w, struct str name)
{
    return launch_spec_refuse(
        w->arena, w->out_why,
        "%.*s cannot be sent: its name is too long, or the archive is larger than 64 MiB",
        STR_FMT_ARGS(name));
}

static err archive_tree_add_file(struct walk *w, struct str name, const char *path, unsigned mode)
{
    struct str content;
    const err e = file_read(w->arena, path, ARCHIVE_SIZE_MAX, &content);
    if (e == ERR_LIMIT)
        return archive_tree_refuse(w, name);
    if (e != OK)
        return launch_spec_refuse(w->arena, w->out_why, "%s cannot be read: %s", path,
                                  strerror(errno));
    const err added = archive_add_file(w->archive, name, mode & 0777u, content);
    return added == OK ? OK : archive_tree_refuse(w, name);
}

/* Check the type of an entry. A symbolic link must refer to a file of the barclamp. */
static err archive_tree_check_entry(struct walk *w, const char *path, struct stat *out_st)
{
    char real[PATH_MAX];
    if (lstat(path, out_st) != 0)
        return launch_spec_refuse(w->arena, w->out_why, "%s cannot be read: %s", path,
                                  strerror(errno));
    if (S_ISREG(out_st->st_mode) || S_ISDIR(out_st->st_mode))
        return OK;
    if (!S_ISLNK(out_st->st_mode))
        return launch_spec_refuse(w->arena, w->out_why, "%s is neither a file nor a folder", path);
    if (!realpath(path, real) || stat(real, out_st) != 0)
        return launch_spec_refuse(w->arena, w->out_why, "%s is a link to nothing", path);
    if (!S_ISREG(out_st->st_mode) || !str_starts(str_from(real), w->root))
        return launch_spec_refuse(w->arena, w->out_why,
                                  "%s is a link to something other than a file of its barclamp",
                                  path);
    return OK;
}

static err archive_tree_add_dir(struct walk *w, struct str name, const char *path, uint32_t depth);

static err archive_tree_add_entry(struct walk *w, struct str name, const char *path, uint32_t depth)
{
    struct stat st;
    const err e = archive_tree_check_entry(w, path, &st);
    if (e != OK)
        return e;
    if (++w->count > ARCHIVE_FILES_MAX)
        return launch_spec_refuse(w->arena, w->out_why,
                                  "%s cannot be sent: the directory has more than %u files", path,
                                  ARCHIVE_FILES_MAX);
    if (S_ISDIR(st.st_mode))
        return archive_tree_add_dir(w, name, path, depth + 1);
    return archive_tree_add_file(w, name, path, st.st_mode);
}

/* Recursion is limited by ARCHIVE_DEPTH_MAX. */
static err archive_tree_add_dir(struct walk *w, struct str name, const char *path, uint32_t depth)
{
    struct dirent **entries;
    if (depth > ARCHIVE_DEPTH_MAX)
        return launch_spec_refuse(w->arena, w->out_why,
                                  "%s cannot be sent: its directory is nested too deeply", path);
    if (archive_add_folder(w->archive, name, 0755) != OK)
        return archive_tree_refuse(w, name);
    const int count = scandir(path, &entries, archive_tree_is_visible, archive_tree_compare_names);
    if (count < 0)
        return launch_spec_refuse(w->arena, w->out_why, "%s cannot be read: %s", path,
                                  strerror(errno));
    err e = OK;
    for (int i = 0; i < count; i++) {
        const struct str entry = str_from(entries[i]->d_name);
        if (e == OK)
            e = archive_tree_add_entry(
                w, STR_CONCAT(w->arena, name, STR("/"), entry),
                str_z(w->arena, STR_CONCAT(w->arena, str_from(path), STR("/"), entry)), depth);
        free(entries[i]);
    }
    free(entries);
    return e;
}

err archive_add_tree(struct archive *archive, struct str name, const char *path, const char *root,
                     struct reason *out_why)
{
    char real[PATH_MAX];
    struct arena *a = archive->bytes.arena;
    if (!realpath(root, real))
        return launch_spec_refuse(a, out_why, "%s cannot be read: %s", root, strerror(errno));
    struct walk walk = {.archive = archive,
                        .arena = a,
                        .root = STR_CONCAT(a, str_from(real), STR("/")),
                        .out_why = out_why};
    return archive_tree_add_dir(&walk, name, path, 0);
}
