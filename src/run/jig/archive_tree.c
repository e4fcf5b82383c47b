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

struct walk {
    struct archive *archive;
    struct arena *arena;
    struct str root; /* without links, with a slash behind */
    uint32_t count;
    struct reason *out_why;
};

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static err refuse_name(struct walk *w, struct str name)
{
    return launch_spec_refuse(w->arena, w->out_why,
                              "%.*s cannot be sent: its name is too long, or all of it is too much",
                              STR_FMT_ARGS(name));
}

static err add_file(struct walk *w, struct str name, const char *path, unsigned mode)
{
    struct str content;
    const err e = file_read(w->arena, path, ARCHIVE_SIZE_MAX, &content);
    if (e == ERR_LIMIT)
        return refuse_name(w, name);
    if (e != OK)
        return launch_spec_refuse(w->arena, w->out_why, "%s cannot be read: %s", path,
                                  strerror(errno));
    const err added = archive_add_file(w->archive, name, mode & 0777u, content);
    return added == OK ? OK : refuse_name(w, name);
}

/* Is it something we send? A link is followed to a file that the barclamp brings. */
static err look(struct walk *w, const char *path, struct stat *out_facts)
{
    char real[PATH_MAX];
    if (lstat(path, out_facts) != 0)
        return launch_spec_refuse(w->arena, w->out_why, "%s cannot be read: %s", path,
                                  strerror(errno));
    if (S_ISREG(out_facts->st_mode) || S_ISDIR(out_facts->st_mode))
        return OK;
    if (!S_ISLNK(out_facts->st_mode))
        return launch_spec_refuse(w->arena, w->out_why, "%s is neither a file nor a folder", path);
    if (!realpath(path, real) || stat(real, out_facts) != 0)
        return launch_spec_refuse(w->arena, w->out_why, "%s is a link to nothing", path);
    if (!S_ISREG(out_facts->st_mode) || !str_starts(str_from(real), w->root))
        return launch_spec_refuse(w->arena, w->out_why,
                                  "%s is a link to something other than a file of its barclamp",
                                  path);
    return OK;
}

static err add_folder(struct walk *w, struct str name, const char *path, uint32_t depth);

static err add_entry(struct walk *w, struct str name, const char *path, uint32_t depth)
{
    struct stat facts;
    const err e = look(w, path, &facts);
    if (e != OK)
        return e;
    if (++w->count > ARCHIVE_FILES_MAX)
        return launch_spec_refuse(w->arena, w->out_why, "%s has more than %u files around it", path,
                                  ARCHIVE_FILES_MAX);
    if (S_ISDIR(facts.st_mode))
        return add_folder(w, name, path, depth + 1);
    return add_file(w, name, path, facts.st_mode);
}

/* Bounded by ARCHIVE_DEPTH_MAX. */
static err add_folder(struct walk *w, struct str name, const char *path, uint32_t depth)
{
    struct dirent **entries;
    if (depth > ARCHIVE_DEPTH_MAX)
        return launch_spec_refuse(w->arena, w->out_why, "%s lies too deep", path);
    if (archive_add_folder(w->archive, name, 0755) != OK)
        return refuse_name(w, name);
    const int count = scandir(path, &entries, is_shown, by_bytes);
    if (count < 0)
        return launch_spec_refuse(w->arena, w->out_why, "%s cannot be read: %s", path,
                                  strerror(errno));
    err e = OK;
    for (int i = 0; i < count; i++) {
        const struct str entry = str_from(entries[i]->d_name);
        if (e == OK)
            e = add_entry(w, STR_CONCAT(w->arena, name, STR("/"), entry),
                          str_z(w->arena, STR_CONCAT(w->arena, str_from(path), STR("/"), entry)),
                          depth);
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
    return add_folder(&walk, name, path, 0);
}
