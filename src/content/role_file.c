#include "content/role_file.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/text/buf.h"
#include "model/names.h"
#include "sys/files.h"

/* Finds the files of a role below the source path of its barclamp: the table of possible paths, and
 * the checks of a path before it is returned. Nothing is opened, changed or cached; each call reads
 * the file system, so the result may be outdated when the caller opens the file.
 *
 * Orders that matter:
 * - The name is checked before a path is made from it. A role name has no slash or dot, and a
 *   template name no "..", so that a name cannot leave the source path. The files of a role that
 *   is made for each network have its name in the document, with "{name}" as it is written there.
 * - Candidates of the same kind are tried in the order of the table; the first one that exists is
 *   used, so the layout of Halligan has priority over that of OpenCrowbar (script/roles).
 * - For Lua files, which the daemon reads itself, and for templates, links are resolved before the
 *   comparison with the source path, and the resolved path is returned. Scripts, manifests and
 *   playbooks are run by their jig and may be links to anywhere.
 *
 * Failure: an error code, and *out_path is unchanged. ERR_NOT_FOUND: no candidate exists.
 * ERR_REFUSED: the name is invalid or a link leads outside of the source path. ERR_LIMIT: the path
 * is longer than PATH_MAX. ERR_EXISTS: there is something that is not a regular file at the path of
 * the Lua file. Other codes come from errno. An error other than ERR_NOT_FOUND ends the search, so
 * that a file that cannot be used is reported and not replaced by the next candidate. */

/* The path of a role's file is SOURCE/prefix/ROLE, followed by the suffix. The Lua file is first:
 * content_lua_path() uses this entry. */
/* clang-format off */
static const struct {
    const char *prefix, *suffix;
    enum role_file which;
} candidates[] = {
    {"roles",         ".lua",          ROLE_FILE_LUA},
    {"scripts",       "",              ROLE_FILE_SCRIPTS},
    {"script/roles",  "",              ROLE_FILE_SCRIPTS},
    {"puppet/roles",  "",              ROLE_FILE_PUPPET},
    {"ansible/roles", ".yml",          ROLE_FILE_PLAYBOOK},
    {"ansible",       "/playbook.yml", ROLE_FILE_PLAYBOOK},
};
/* clang-format on */

/* Resolve all links of both paths. ERR_REFUSED: the result is not below `folder`. *out_path is the
 * resolved path, so that a link of `path` that is changed after the check has no effect. */
static err role_file_resolve_below(struct arena *a, const char *folder, const char *path,
                                   const char **out_path)
{
    char real_folder[PATH_MAX], real_path[PATH_MAX];
    if (!realpath(folder, real_folder) || !realpath(path, real_path))
        return err_from_errno(errno);
    const struct str below = STR_CONCAT(a, str_from(real_folder), STR("/"));
    if (!str_starts(str_from(real_path), below))
        return ERR_REFUSED;
    *out_path = str_z(a, str_from(real_path));
    return OK;
}

/* Check that a path is a directory or, without `wants_folder`, a regular file. ERR_NOT_FOUND: there
 * is nothing, or no directory where one is wanted. ERR_EXISTS: there is something else where a file
 * is wanted; a dangling link as well, because its author meant it to be a file. */
static err role_file_check_type(const char *path, bool wants_folder)
{
    struct stat facts;
    if (stat(path, &facts) == 0) {
        if (wants_folder)
            return S_ISDIR(facts.st_mode) ? OK : ERR_NOT_FOUND;
        return S_ISREG(facts.st_mode) ? OK : ERR_EXISTS;
    }
    const err e = errno == ENOTDIR ? ERR_NOT_FOUND : err_from_errno(errno);
    return e == ERR_NOT_FOUND && !wants_folder && lstat(path, &facts) == 0 ? ERR_EXISTS : e;
}

/* The path of candidate `i`, if it exists and has the right type. A playbook has two possible
 * places, so something else at one of them (ERR_EXISTS) only means that it is not there. */
static err role_file_find(struct arena *a, struct str source_path, uint32_t i, struct str role,
                          const char **out_path)
{
    char path[PATH_MAX];
    const enum role_file which = candidates[i].which;
    const bool wants_folder = which == ROLE_FILE_SCRIPTS || which == ROLE_FILE_PUPPET;
    const int length = snprintf(path, sizeof path, "%.*s/%s/%.*s%s", STR_FMT_ARGS(source_path),
                                candidates[i].prefix, STR_FMT_ARGS(role), candidates[i].suffix);
    if (length < 0 || length >= (int)sizeof path)
        return ERR_LIMIT;
    const err e = role_file_check_type(path, wants_folder);
    if (e != OK)
        return e == ERR_EXISTS && which == ROLE_FILE_PLAYBOOK ? ERR_NOT_FOUND : e;
    if (which == ROLE_FILE_LUA)
        return role_file_resolve_below(a, str_z(a, source_path), path, out_path);
    *out_path = str_z(a, str_from(path));
    return OK;
}

err content_role_file(struct arena *a, struct str source_path, struct str role,
                      enum role_file which, const char **out_path)
{
    if (names_check_role_pattern(role))
        return ERR_REFUSED;
    for (uint32_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        if (candidates[i].which != which)
            continue;
        const err e = role_file_find(a, source_path, i, role, out_path);
        if (e != ERR_NOT_FOUND)
            return e;
    }
    return ERR_NOT_FOUND;
}

struct str content_lua_path(struct arena *a, struct str source_path, struct str role)
{
    must(candidates[0].which == ROLE_FILE_LUA);
    struct buf path = buf_in(a);
    buf_put_str(&path, source_path);
    buf_put_c(&path, '/');
    buf_put_z(&path, candidates[0].prefix);
    buf_put_c(&path, '/');
    buf_put_str(&path, role);
    buf_put_z(&path, candidates[0].suffix);
    return buf_str(&path);
}

/* True for a relative path of valid UTF-8 without empty components, "." and "..". */
static bool role_file_is_plain_path(struct str name)
{
    for (uint32_t from = 0; from <= name.len;) {
        const uint32_t to = str_find(name, '/', from);
        const struct str part = str_slice(name, from, to);
        if (part.len == 0 || str_eq(part, STR(".")) || str_eq(part, STR("..")))
            return false;
        from = to + 1;
    }
    return str_is_clean(name);
}

err content_template_file(struct arena *a, struct str source_path, struct str name,
                          const char **out_path)
{
    char path[PATH_MAX];
    if (!role_file_is_plain_path(name))
        return ERR_REFUSED;
    const int length = snprintf(path, sizeof path, "%.*s/templates/%.*s", STR_FMT_ARGS(source_path),
                                STR_FMT_ARGS(name));
    if (length < 0 || length >= (int)sizeof path)
        return ERR_LIMIT;
    const err e = role_file_check_type(path, false);
    if (e == ERR_EXISTS) /* a directory of templates, for example */
        return ERR_NOT_FOUND;
    return e == OK ? role_file_resolve_below(a, str_z(a, source_path), path, out_path) : e;
}
