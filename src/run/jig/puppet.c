/* puppet.c - the puppet jig: the manifests of a role, applied on the node without a Puppet server.
 *
 * The archive:
 *
 *   run.sh                         ours: the remote side
 *   manifests/                     SOURCE/puppet/roles/ROLE, applied completely
 *   modules/                       SOURCE/puppet/modules
 *   facts/halligan.json            the staged data, as the fact "halligan"
 *   hiera.yaml, data/halligan.json the staged data, for lookup()
 *
 * The result channel is the summary of the run, which becomes wall data (data returned by a run)
 * under "puppet".
 *
 * There is no state. The summary is taken before the exit status is judged, so that a failed run
 * returns it as well. A role without manifests refuses the run; a run without a readable summary
 * fails, also if puppet succeeded.
 */
#include <dirent.h>
#include <stdlib.h>

#include "base/json/json.h"
#include "content/role_file.h"
#include "content/yaml.h"
#include "run/jig/launch_spec_private.h"
#include "run/jig/remote_scripts.gen.h"
#include "sys/files.h"

/* Exit statuses of `puppet apply --detailed-exitcodes` for a success. */
enum { UNCHANGED = 0, CHANGED = 2 };

static const char hiera[] = "version: 5\n"
                            "defaults:\n"
                            "  datadir: data\n"
                            "  data_hash: json_data\n"
                            "hierarchy:\n"
                            "  - name: halligan\n"
                            "    path: halligan.json\n";

/* ---- preparation ---- */

/* Hiera expands %{...} in its data; %{literal('%')} expands to a single percent sign. The
 * replacement needs no escapes in JSON, so it is done on the encoded text. */
static struct str puppet_escape_hiera(struct arena *a, struct str data)
{
    struct buf out = buf_in(a);
    for (uint32_t i = 0; i < data.len; i++)
        if (str_starts(str_slice(data, i, data.len), STR("%{")))
            buf_put_z(&out, "%{literal('%')}");
        else
            buf_put_c(&out, data.at[i]);
    return buf_str(&out);
}

static int puppet_is_manifest(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && str_ends(str_from(entry->d_name), STR(".pp"));
}

static bool puppet_has_manifest(const char *folder)
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, puppet_is_manifest, NULL);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    if (count >= 0)
        free(entries);
    return count > 0;
}

static err puppet_find_dir(const struct jig_work *w, struct arena *a, const char **out_folder,
                           struct reason *out_why)
{
    const err e = content_role_file(a, w->source_path, launch_spec_files_name(w), ROLE_FILE_PUPPET,
                                    out_folder);
    if (e == OK && puppet_has_manifest(*out_folder))
        return OK;
    if (launch_spec_missing(w, a, out_why) == ERR_REFUSED)
        return ERR_REFUSED;
    return launch_spec_refuse(
        a, out_why, "role %.*s has no manifests: there is no *.pp in %.*s/puppet/roles/%.*s",
        STR_FMT_ARGS(w->role), STR_FMT_ARGS(w->source_path),
        STR_FMT_ARGS(launch_spec_files_name(w)));
}

static err puppet_add_data(const struct jig_work *w, struct arena *a, struct archive *archive,
                           struct reason *out_why)
{
    const struct str facts = STR_CONCAT(a, STR("{\"halligan\":"), w->data, STR("}"));
    if (archive_add_file(archive, STR("run.sh"), 0755, remote_script_puppet) != OK ||
        archive_add_folder(archive, STR("facts"), 0755) != OK ||
        archive_add_folder(archive, STR("data"), 0755) != OK ||
        archive_add_file(archive, STR("facts/halligan.json"), 0644, facts) != OK ||
        archive_add_file(archive, STR("data/halligan.json"), 0644,
                         puppet_escape_hiera(a, w->data)) != OK ||
        archive_add_file(archive, STR("hiera.yaml"), 0644, str_from(hiera)) != OK)
        return launch_spec_too_much(w, a, out_why);
    return OK;
}

static err puppet_prepare(const struct jig_work *w, struct arena *a, struct launch_spec *r,
                          struct reason *out_why)
{
    const char *folder;
    const char *root = str_z(a, w->source_path);
    const char *modules = str_z(a, STR_CONCAT(a, w->source_path, STR("/puppet/modules")));
    struct archive archive = archive_begin(a);
    err e = puppet_find_dir(w, a, &folder, out_why);
    if (e == OK)
        e = archive_add_tree(&archive, STR("manifests"), folder, root, out_why);
    if (e == OK && file_exists(modules))
        e = archive_add_tree(&archive, STR("modules"), modules, root, out_why);
    if (e == OK)
        e = puppet_add_data(w, a, &archive, out_why);
    return e == OK ? launch_spec_on_node(w, a, &archive, r, out_why) : e;
}

/* ---- result ---- */

static struct reason puppet_take_summary(struct arena *a, struct str text,
                                         struct run_done_command *done)
{
    struct diagnostics report = diagnostics_begin(a);
    const struct json *summary;
    struct json *wall = json_make(a, JSON_OBJECT);
    if (text.len == 0 || yaml_read(&report, STR("last_run_summary.yaml"), text, &summary) != OK ||
        summary->kind != JSON_OBJECT)
        return launch_spec_reason(a, REASON_RESULT_INVALID, STR("last_run_summary.yaml"),
                                  "puppet left no summary of its run that can be read");
    json_set(wall, STR("puppet"), json_clone(a, summary));
    return launch_spec_set_wall(a, wall, done);
}

static struct reason puppet_failure_reason(const struct jig_work *w, const struct jig_end *end,
                                           struct arena *a)
{
    struct reason why;
    if (launch_spec_lack(w, end, a, STR("puppet apply"), &why))
        return why;
    switch (end->code) {
    case 1:
        return launch_spec_reason(a, REASON_EXIT_STATUS, STR("1"),
                                  "puppet could not apply the manifests of role %.*s",
                                  STR_FMT_ARGS(w->role));
    case 4:
    case 6:
        return launch_spec_reason(a, REASON_PUPPET_RESOURCES, w->role,
                                  "resources in the manifests of role %.*s failed",
                                  STR_FMT_ARGS(w->role));
    default: return launch_spec_status(w, end, a, STR("puppet apply"));
    }
}

static struct reason puppet_conclude(const struct jig_work *w, const struct jig_end *end,
                                     struct arena *a, struct run_done_command *done)
{
    const struct reason failure = puppet_take_summary(a, end->out, done);
    if (end->code != UNCHANGED && end->code != CHANGED)
        return puppet_failure_reason(w, end, a);
    if (!failure.code)
        done->result = RESULT_OK;
    return failure;
}

const struct jig_launch_spec jig_puppet = {
    .name = "puppet", .prepare = puppet_prepare, .conclude = puppet_conclude};
