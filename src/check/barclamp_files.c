#include "check/barclamp_files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "content/role_file.h"
#include "core/core.h"
#include "model/jig_class.h"

/* Compares the roles of barclamps with the files beside them: what a role needs must exist, and a
 * file in a directory for role files must belong to a role. What a role needs follows from the
 * class of its jig (the way to execute a role): scripts, Puppet manifests, an Ansible playbook, or
 * Lua code of the role.
 *
 * Nothing is kept and no file is changed. Results go to the report; paths that its entries refer to
 * are in its arena. The source path of a barclamp is the directory that its role files are below.
 *
 * Order: barclamp_files_check_owners runs before any other check adds errors (see the header).
 * barclamp_files_check_role needs a core that has the jigs, because it reads their classes there.
 *
 * Failure: no function fails. A file or directory that cannot be read is an error in the report;
 * missing or unused files are warnings, because the barclamp can be imported without them. */

static const struct text_position nowhere; /* of entries about a whole file */

/* ---- fields of a file ---- */

static struct str files_text(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, str_from(key));
    return value && value->kind == JSON_STRING ? value->text : STR("");
}

static const struct json *files_first_role(const struct barclamp_file *file)
{
    const struct json *roles = json_get(file->tree, STR("roles"));
    return roles && roles->kind == JSON_ARRAY ? roles->first : NULL;
}

/* A JSON document may set its source path itself. */
static struct str files_source(const struct barclamp_file *file)
{
    const struct str said = files_text(json_get(file->tree, STR("barclamp")), "source_path");
    return file->is_yaml || said.len == 0 ? file->source_path : said;
}

/* ---- directories ---- */

/* The path is in the arena of the report, because entries refer to it. */
static const char *files_join_path(struct diagnostics *r, const char *folder, const char *name)
{
    struct buf path = buf_in(r->arena);
    buf_put_z(&path, folder);
    buf_put_c(&path, '/');
    buf_put_z(&path, name);
    return str_z(r->arena, buf_str(&path));
}

static int files_is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && str_is_clean(str_from(entry->d_name));
}

/* Byte order, independent of the locale. */
static int files_compare_names(const struct dirent **x, const struct dirent **y)
{
    return strcmp((*x)->d_name, (*y)->d_name);
}

/* The names in a directory, to be freed with files_free_names. A missing directory has none. */
static int files_read_names(struct diagnostics *r, const char *folder, struct dirent ***out_names)
{
    const int count = scandir(folder, out_names, files_is_visible, files_compare_names);
    if (count >= 0)
        return count;
    if (errno != ENOENT && errno != ENOTDIR)
        diagnostics_error(diagnostics_as(r, "unreadable"), str_copy(r->arena, str_from(folder)),
                          nowhere, "the directory cannot be read: %s", strerror(errno));
    *out_names = NULL;
    return 0;
}

static void files_free_names(struct dirent **names, int count)
{
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

/* ---- scripts ---- */

/* True if the script jig would run the file; otherwise the reason is reported. Directories are
 * ignored, because scripts may keep other files in them. */
static bool files_is_script(struct diagnostics *r, const char *path)
{
    struct stat facts;
    if (stat(path, &facts) != 0 || (S_ISREG(facts.st_mode) && access(path, R_OK) != 0)) {
        diagnostics_error(diagnostics_as(r, "unreadable"), str_from(path), nowhere,
                          "the script cannot be read: %s", strerror(errno));
        return false;
    }
    if (!S_ISREG(facts.st_mode))
        return false;
    if (facts.st_mode & 0111 || str_ends(str_from(path), STR(".sh")))
        return true;
    diagnostics_warning(diagnostics_as(r, "not_used"), str_from(path), nowhere,
                        "never run: the name does not end in .sh, and the file is not executable");
    return false;
}

static bool files_has_script(struct diagnostics *r, const char *folder)
{
    struct dirent **names;
    uint32_t scripts = 0;
    const int count = files_read_names(r, folder, &names);
    for (int i = 0; i < count; i++)
        scripts += files_is_script(r, files_join_path(r, folder, names[i]->d_name));
    files_free_names(names, count);
    return scripts > 0;
}

static void files_check_scripts(const struct barclamp_files *b, const struct barclamp_file *file,
                                struct str role, struct text_position at)
{
    /* If a script cannot be read, that error is reported, and a warning about missing scripts would
     * be wrong. */
    const char *folder = NULL;
    const uint32_t errors_before = b->report->errors;
    const err e =
        content_role_file(b->report->arena, files_source(file), role, ROLE_FILE_SCRIPTS, &folder);
    if (e != OK)
        diagnostics_warning(diagnostics_as(b->report, "script_missing"), str_from(file->path), at,
                            "role %.*s runs scripts, but the directory scripts/%.*s is missing",
                            STR_FMT_ARGS(diagnostics_brief(role)),
                            STR_FMT_ARGS(diagnostics_brief(role)));
    else if (!files_has_script(b->report, folder) && b->report->errors == errors_before)
        diagnostics_warning(diagnostics_as(b->report, "script_missing"), str_from(file->path), at,
                            "role %.*s runs scripts, but there is none in %s",
                            STR_FMT_ARGS(diagnostics_brief(role)), folder);
}

/* ---- code ---- */

/* Without a code finder (b->code) the content of the file is not read. */
static void files_check_code(const struct barclamp_files *b, const struct barclamp_file *file,
                             struct str role, struct text_position at)
{
    const char *lua = NULL;
    const err e =
        content_role_file(b->report->arena, files_source(file), role, ROLE_FILE_LUA, &lua);
    if (e != OK || (b->code && !code_finder_has_transition(b->code, lua)))
        diagnostics_warning(
            diagnostics_as(b->report, "code_missing"), str_from(file->path), at,
            "role %.*s has a jig of class role-provided, but roles/%.*s.lua does not define "
            "do_transition",
            STR_FMT_ARGS(diagnostics_brief(role)), STR_FMT_ARGS(diagnostics_brief(role)));
}

/* ---- manifests and playbooks ---- */

static void files_check_manifests(const struct barclamp_files *b, const struct barclamp_file *file,
                                  struct str role, struct text_position at)
{
    const char *folder = NULL;
    uint32_t manifests = 0;
    if (content_role_file(b->report->arena, files_source(file), role, ROLE_FILE_PUPPET, &folder) ==
        OK) {
        struct dirent **names;
        const int count = files_read_names(b->report, folder, &names);
        for (int i = 0; i < count; i++)
            manifests += str_ends(str_from(names[i]->d_name), STR(".pp"));
        files_free_names(names, count);
    }
    if (manifests == 0)
        diagnostics_warning(
            diagnostics_as(b->report, "code_missing"), str_from(file->path), at,
            "role %.*s applies manifests, but there is no *.pp in puppet/roles/%.*s",
            STR_FMT_ARGS(diagnostics_brief(role)), STR_FMT_ARGS(diagnostics_brief(role)));
}

static void files_check_playbook(const struct barclamp_files *b, const struct barclamp_file *file,
                                 struct str role, struct text_position at)
{
    const char *path;
    if (content_role_file(b->report->arena, files_source(file), role, ROLE_FILE_PLAYBOOK, &path) !=
        OK)
        diagnostics_warning(
            diagnostics_as(b->report, "code_missing"), str_from(file->path), at,
            "role %.*s runs a playbook, but there is neither ansible/roles/%.*s.yml "
            "nor ansible/%.*s/playbook.yml",
            STR_FMT_ARGS(diagnostics_brief(role)), STR_FMT_ARGS(diagnostics_brief(role)),
            STR_FMT_ARGS(diagnostics_brief(role)));
}

/* The class of a jig, such as "script"; "": the jig or its class is unknown. */
static const char *files_jig_class(const struct core *core, struct str jig)
{
    struct record record;
    const int64_t id = core_find(core, TABLE_JIG, jig);
    if (id == 0 || !core_record(core, TABLE_JIG, id, &record))
        return "";
    const struct jig_class *class = jig_class_find(record.jig.class_name);
    return class ? class->name : "";
}

void barclamp_files_check_role(const struct barclamp_files *b, const struct barclamp_file *file,
                               const struct json *role, uint32_t i)
{
    char field[64];
    const struct str name = files_text(role, "name");
    const char *class = files_jig_class(b->core, files_text(role, "jig"));
    snprintf(field, sizeof field, "roles/%u/jig", i);
    const struct text_position at = barclamp_field_position(file, str_from(field));
    if (strcmp(class, "script") == 0)
        files_check_scripts(b, file, name, at);
    else if (strcmp(class, "puppet") == 0)
        files_check_manifests(b, file, name, at);
    else if (strcmp(class, "ansible") == 0)
        files_check_playbook(b, file, name, at);
    else if (strcmp(class, "role-provided") == 0 &&
             (file->is_yaml || !b->code)) /* a JSON document lists its hooks itself */
        files_check_code(b, file, name, at);
}

void barclamp_files_check_roles(const struct barclamp_files *b, const struct barclamp_file *file)
{
    uint32_t k = 0;
    for (const struct json *role = files_first_role(file); role; role = role->next, k++)
        barclamp_files_check_role(b, file, role, k);
}

/* ---- files that belong to no role ---- */

/* Directories with files of roles, below the source path, and the text that follows the name of
 * the role in the name of a file or directory in them. */
static const struct {
    const char *folder, *end;
} role_dirs[] = {
    {"roles", ".lua"},
    {"scripts", ""},
    {"script/roles", ""},
    {"puppet/roles", ""},
};

/* True if a barclamp with this source path defines the role. */
static bool files_has_role(const struct content_tree *tree, struct str source, struct str name)
{
    for (uint32_t i = 0; i < tree->count; i++) {
        if (!str_eq(files_source(&tree->files[i]), source))
            continue;
        for (const struct json *role = files_first_role(&tree->files[i]); role; role = role->next)
            if (str_eq(files_text(role, "name"), name))
                return true;
    }
    return false;
}

/* `place` is an index of role_dirs. */
static void files_check_owners(struct diagnostics *r, const struct content_tree *tree,
                               struct str source, uint32_t place)
{
    struct dirent **names;
    const struct str end = str_from(role_dirs[place].end);
    const char *folder = files_join_path(r, str_z(r->arena, source), role_dirs[place].folder);
    const int count = files_read_names(r, folder, &names);
    for (int i = 0; i < count; i++) {
        const struct str name = str_from(names[i]->d_name);
        const struct str role = str_slice(name, 0, name.len - end.len);
        if (str_ends(name, end) && !files_has_role(tree, source, role))
            diagnostics_warning(diagnostics_as(r, "not_used"),
                                str_from(files_join_path(r, folder, names[i]->d_name)), nowhere,
                                "the barclamp has no role %.*s; the file is never used",
                                STR_FMT_ARGS(diagnostics_brief(role)));
    }
    files_free_names(names, count);
}

/* True if a file below the source path has errors: it may define the roles that seem to be missing.
 */
static bool files_has_unread(const struct diagnostics *r, struct str source)
{
    for (const struct diagnostics_entry *e = r->first; e; e = e->next)
        if (e->severity == DIAGNOSTICS_ERROR && e->file.len > source.len &&
            str_starts(e->file, source) && e->file.at[source.len] == '/')
            return true;
    return false;
}

/* The files of a checkout have the same source path, which is checked once only. */
static bool files_is_first_of_source(const struct content_tree *tree, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (str_eq(files_source(&tree->files[k]), files_source(&tree->files[i])))
            return false;
    return true;
}

void barclamp_files_check_owners(struct diagnostics *report, const struct content_tree *tree)
{
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct str source = files_source(&tree->files[i]);
        if (!files_is_first_of_source(tree, i) || files_has_unread(report, source))
            continue;
        for (uint32_t place = 0; place < sizeof role_dirs / sizeof role_dirs[0]; place++)
            files_check_owners(report, tree, source, place);
    }
}
