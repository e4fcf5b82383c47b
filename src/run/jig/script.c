/* script.c - the script jig: the scripts of a role, run in the order of their names on the node.
 *
 * The archive:
 *
 *   run.sh, runner.sh     ours: the remote side, and the commands that scripts may call
 *   scripts/              the directory of the role with all files
 *   scripts/attrs.json    the staged data
 *   scripts/values/a/b    each single value of them as a file
 *
 * The result channel is described in wall.h. The exit status of a script is a mask of requests
 * (below); any other status is a failure (docs/jigs.md).
 *
 * There is no state. The status is judged before the result channel is read, because after a
 * failure it carries measurements instead of values. A directory without scripts, or with a name
 * that the jig uses itself, refuses the run; values that are invalid fail it. If the data cannot be
 * represented as files, scripts/values is left out, and scripts/attrs.json still has all of it.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "content/role_file.h"
#include "model/limits.h"
#include "run/jig/launch_spec_private.h"
#include "run/jig/remote_scripts.gen.h"
#include "run/jig/wall.h"

enum {
    STOP = 16,       /* stop: nothing else runs on this node until an operator retries */
    SHUT_DOWN = 32,  /* shut down the machine */
    REBOOT = 64,     /* restart the machine */
    UNFINISHED = 128 /* park the run; it is resumed later */
};

enum {
    VALUES_MAX = 4096,      /* files and directories below scripts/values */
    FILE_NAME_LEN_MAX = 255 /* bytes */
};

/* ---- directory of the role ---- */

/* Names that the jig uses in the directory of the scripts. */
static bool script_is_reserved(const char *name)
{
    static const char *const names[] = {"attrs", "attrs.json", "bin", "values"};
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static err script_check_dir(const struct jig_work *w, struct arena *a, const char *folder,
                            struct reason *out_why)
{
    struct dirent **entries;
    const char *taken = NULL;
    uint32_t scripts = 0;
    const int count = scandir(folder, &entries, NULL, NULL);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (script_is_reserved(name))
            taken = str_z(a, str_from(name));
        scripts += name[0] != '.' && str_ends(str_from(name), STR(".sh"));
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    if (scripts == 0)
        return launch_spec_refuse(a, out_why, "role %.*s has no scripts: there is no *.sh in %s",
                                  STR_FMT_ARGS(w->role), folder);
    if (taken)
        return launch_spec_refuse(a, out_why, "%s/%s cannot be sent: the jig uses this name itself",
                                  folder, taken);
    return OK;
}

static err script_find_dir(const struct jig_work *w, struct arena *a, const char **out_folder,
                           struct reason *out_why)
{
    const err e = content_role_file(a, w->source_path, launch_spec_files_name(w), ROLE_FILE_SCRIPTS,
                                    out_folder);
    if (e == OK)
        return script_check_dir(w, a, *out_folder, out_why);
    if (launch_spec_missing(w, a, out_why) == ERR_REFUSED)
        return ERR_REFUSED;
    return launch_spec_refuse(a, out_why, "role %.*s has no scripts: there is no %.*s/scripts/%.*s",
                              STR_FMT_ARGS(w->role), STR_FMT_ARGS(w->source_path),
                              STR_FMT_ARGS(launch_spec_files_name(w)));
}

/* ---- data as files ---- */

struct values {
    struct arena *arena;
    struct archive *archive;
    uint32_t count;
};

/* A key as a file name; empty: not possible. */
static struct str script_file_name(struct arena *a, struct str key)
{
    struct buf out = buf_in(a);
    if (str_eq(key, STR(".")) || str_eq(key, STR("..")))
        return STR("");
    for (uint32_t i = 0; i < key.len; i++)
        if (key.at[i] == '%' || key.at[i] == '/')
            buf_put_z(&out, key.at[i] == '%' ? "%25" : "%2F");
        else
            buf_put_c(&out, key.at[i]);
    return out.len <= FILE_NAME_LEN_MAX ? buf_str(&out) : STR("");
}

/* Recursion is limited by JSON_DEPTH_MAX. False: too many values, or a name that does not fit. */
static bool script_add_values(struct values *v, struct str name, const struct json *value)
{
    uint32_t position = 0;
    if (value->kind == JSON_NULL)
        return true;
    if (++v->count > VALUES_MAX)
        return false;
    if (value->kind != JSON_OBJECT && value->kind != JSON_ARRAY) {
        const struct str text =
            value->kind == JSON_STRING ? value->text : json_write(v->arena, value);
        return archive_add_file(v->archive, name, 0644, text) == OK;
    }
    if (archive_add_folder(v->archive, name, 0755) != OK)
        return false;
    for (const struct json *m = value->first; m; m = m->next, position++) {
        const struct str step = value->kind == JSON_OBJECT
                                    ? script_file_name(v->arena, m->key)
                                    : launch_spec_format(v->arena, "%u", position);
        if (step.len == 0 || !script_add_values(v, STR_CONCAT(v->arena, name, STR("/"), step), m))
            return false;
    }
    return true;
}

/* Add all values or none: a script can rely on a directory that exists. */
static void script_add_all_values(struct arena *a, struct archive *archive, struct str data)
{
    struct values v = {.arena = a, .archive = archive};
    struct json *tree;
    uint32_t offset;
    const char *what;
    const uint32_t before = archive->bytes.len;
    if (json_read(a, data, &tree, &offset, &what) != OK ||
        !script_add_values(&v, STR("scripts/values"), tree))
        archive->bytes.len = before;
}

/* ---- preparation and result ---- */

static err script_prepare(const struct jig_work *w, struct arena *a, struct launch_spec *r,
                          struct reason *out_why)
{
    const char *folder;
    struct archive archive = archive_begin(a);
    err e = script_find_dir(w, a, &folder, out_why);
    if (e == OK)
        e = archive_add_tree(&archive, STR("scripts"), folder, str_z(a, w->source_path), out_why);
    if (e != OK)
        return e;
    if (archive_add_file(&archive, STR("run.sh"), 0755, remote_script_script) != OK ||
        archive_add_file(&archive, STR("runner.sh"), 0755, remote_script_runner) != OK ||
        archive_add_file(&archive, STR("scripts/attrs.json"), 0644, w->data) != OK)
        return launch_spec_too_much(w, a, out_why);
    script_add_all_values(a, &archive, w->data);
    return launch_spec_on_node(w, a, &archive, r, out_why);
}

/* The time that the run parks: that of the command park_for, else an hour. What does not arrive as
 * a time is left out, since the run is resumed at the end of any other time too. */
static int64_t script_park_ms(const struct jig_end *end, struct arena *a)
{
    struct archive_reader reader = {.arena = a, .bytes = end->out};
    struct archive_member m;
    int64_t seconds = 0;
    while (archive_next(&reader, &m) == OK)
        if (m.kind == ARCHIVE_FILE && str_eq(m.name, STR(".park")) &&
            (!str_parse_i64(m.content, &seconds) || seconds < 1 || seconds > PARK_MS_MAX / 1000))
            seconds = 0;
    return seconds ? seconds * 1000 : JIG_PARK_MS;
}

static struct reason script_conclude(const struct jig_work *w, const struct jig_end *end,
                                     struct arena *a, struct run_done_command *done)
{
    const int requests = STOP | SHUT_DOWN | REBOOT | UNFINISHED;
    struct json *wall;
    struct reason why = {.code = REASON_WALL_INVALID};
    if (end->code & ~requests)
        return launch_spec_status(
            w, end, a, launch_spec_format(a, "a script of role %.*s", STR_FMT_ARGS(w->role)));
    if (wall_read(a, end->out, &wall, &why) != OK)
        return why;
    why = launch_spec_set_wall(a, wall, done);
    if (why.code)
        return why;
    done->result = end->code & UNFINISHED ? RESULT_PARKED : RESULT_OK;
    done->stop = end->code & STOP;
    done->node_dead = end->code & (SHUT_DOWN | REBOOT);
    /* Both requests together: off. */
    done->power = end->code & SHUT_DOWN ? STR("off") : end->code & REBOOT ? STR("reboot") : STR("");
    done->park_ms = end->code & UNFINISHED ? script_park_ms(end, a) : 0;
    return why;
}

const struct jig_launch_spec jig_script = {
    .name = "script", .prepare = script_prepare, .conclude = script_conclude};
