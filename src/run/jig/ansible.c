/* ansible.c - the ansible jig: the playbook of a role, run on this machine against the node.
 *
 * The playbook is SOURCE/ansible/roles/ROLE.yml or SOURCE/ansible/ROLE/playbook.yml and is run in
 * place. The archive, unpacked in the scratch directory of the run:
 *
 *   run.sh                   ours
 *   ansible.cfg              empty, so that no other configuration is read
 *   inventory.json           the node, and how it is reached
 *   data.yml                 the staged data, as the variable "halligan"
 *   callbacks/halligan.py    records the result of each host
 *
 * The result channel is that record, which becomes wall data (data returned by a run) under
 * "ansible".
 *
 * There is no state. The record is taken before the exit status is judged, so that a failed
 * playbook returns the results of its hosts as well. A role without a playbook, data that cannot be
 * read and programs that are not installed refuse the run; without a readable record the run fails.
 */
#include <string.h>

#include "base/json/json.h"
#include "content/role_file.h"
#include "model/names.h"
#include "run/jig/jig_tools.h"
#include "run/jig/launch_spec_private.h"
#include "run/jig/remote_scripts.gen.h"
#include "run/jig/ssh_command.h"

/* Exit statuses of ansible-playbook: tasks failed on a host, a host could not be reached. */
enum { HOST_FAILED = 2, UNREACHABLE = 4 };

/* ---- data ---- */

/* ASCII in double quotes with escapes, which all YAML parsers read the same way. */
static void ansible_put_string(struct buf *out, struct str text)
{
    buf_put_c(out, '"');
    for (uint32_t i = 0; i < text.len;) {
        const unsigned char c = (unsigned char)text.at[i];
        const uint32_t len = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
        uint32_t point = c & first[len];
        for (uint32_t k = 1; k < len; k++)
            point = point << 6 | ((unsigned char)text.at[i + k] & 0x3fu);
        if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\')
            buf_put_c(out, (char)c);
        else
            buf_put_str(out, launch_spec_format(out->arena, "\\U%08X", point));
        i += len;
    }
    buf_put_c(out, '"');
}

/* YAML 1.1 reads a number with an exponent as a float only if it has a point and a sign in the
 * exponent. */
static void ansible_put_number(struct buf *out, struct str literal)
{
    uint32_t e = str_find(literal, 'e', 0);
    if (e == literal.len)
        e = str_find(literal, 'E', 0);
    const struct str before = str_slice(literal, 0, e),
                     behind = str_slice(literal, e + 1, literal.len);
    buf_put_str(out, before);
    if (e == literal.len)
        return;
    if (str_find(before, '.', 0) == before.len)
        buf_put_z(out, ".0");
    buf_put_c(out, 'e');
    if (behind.at[0] != '-' && behind.at[0] != '+')
        buf_put_c(out, '+');
    buf_put_str(out, behind);
}

/* Strings are tagged !unsafe, so that ansible does not expand templates in them. Recursion is
 * limited by JSON_DEPTH_MAX. */
static void ansible_put_value(struct buf *out, const struct json *value)
{
    const bool is_object = value->kind == JSON_OBJECT;
    switch (value->kind) {
    case JSON_NULL: buf_put_z(out, "null"); return;
    case JSON_FALSE: buf_put_z(out, "false"); return;
    case JSON_TRUE: buf_put_z(out, "true"); return;
    case JSON_NUMBER: ansible_put_number(out, value->text); return;
    case JSON_STRING:
        buf_put_z(out, "!unsafe ");
        ansible_put_string(out, value->text);
        return;
    case JSON_ARRAY:
    case JSON_OBJECT: break;
    }
    buf_put_z(out, is_object ? "{" : "[");
    for (const struct json *m = value->first; m; m = m->next) {
        if (is_object) {
            buf_put_z(out, "? "); /* explicit key: no limit of its length */
            ansible_put_string(out, m->key);
            buf_put_z(out, " : ");
        }
        ansible_put_value(out, m);
        buf_put_z(out, m->next ? ",\n" : "");
    }
    buf_put_z(out, is_object ? "}" : "]");
}

static err ansible_data_yaml(const struct jig_work *w, struct arena *a, struct str *out_text,
                             struct reason *out_why)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    struct buf out = buf_in(a);
    if (json_read(a, w->data, &tree, &offset, &what) != OK)
        return launch_spec_refuse(a, out_why, "the staged data cannot be read: %s", what);
    buf_put_z(&out, "{? \"halligan\" : ");
    ansible_put_value(&out, tree);
    buf_put_z(&out, "}\n");
    *out_text = buf_str(&out);
    return OK;
}

/* ---- inventory ---- */

static void ansible_set_string(struct arena *a, struct json *object, const char *key,
                               struct str text)
{
    json_set(object, str_from(key), json_make_string(a, text));
}

static struct str ansible_inventory(const struct jig_work *w, struct arena *a)
{
    const struct transport *t = &w->transport;
    struct json *host = json_make(a, JSON_OBJECT), *hosts = json_make(a, JSON_OBJECT);
    struct json *all = json_make(a, JSON_OBJECT), *root = json_make(a, JSON_OBJECT);
    ansible_set_string(a, host, "ansible_python_interpreter", STR("auto_silent"));
    if (t->kind == TRANSPORT_LOCAL) {
        ansible_set_string(a, host, "ansible_connection", STR("local"));
        ansible_set_string(a, host, "ansible_remote_tmp",
                           launch_spec_format(a, "%s/tmp", w->scratch));
    } else {
        ansible_set_string(a, host, "ansible_connection", STR("ssh"));
        ansible_set_string(a, host, "ansible_host", t->address);
        ansible_set_string(a, host, "ansible_user", t->user.len ? t->user : STR("root"));
        json_set(host, STR("ansible_port"), json_make_i64(a, t->port ? t->port : 22));
    }
    json_set(hosts, w->node, host);
    json_set(all, STR("hosts"), hosts);
    json_set(root, STR("all"), all);
    return json_write(a, root);
}

/* True if the word needs no quotes. */
static bool ansible_is_plain(struct str word)
{
    for (uint32_t i = 0; i < word.len; i++)
        if (!char_is_letter(word.at[i]) && !char_is_digit(word.at[i]) &&
            !strchr("-_=./", word.at[i]))
            return false;
    return word.len > 0;
}

/* Quote only where necessary: ansible removes quotes that surround the whole value. */
static struct str ansible_ssh_args(const struct jig_work *w, struct arena *a)
{
    struct str *words;
    const uint32_t count = ssh_options(&w->transport, w->node, a, &words);
    struct buf out = buf_in(a);
    buf_put_z(&out, "ANSIBLE_SSH_ARGS=");
    for (uint32_t i = 0; i < count; i++) {
        buf_put_z(&out, i ? " " : "");
        buf_put_str(&out, ansible_is_plain(words[i]) ? words[i] : ssh_quoted(a, words[i]));
    }
    return buf_str(&out);
}

/* The complete environment: no settings of the user of the daemon apply. */
static void ansible_set_env(const struct jig_work *w, struct arena *a, struct launch_spec *r)
{
    const struct str more[] = {
        launch_spec_format(a, "ANSIBLE_CONFIG=%s/ansible.cfg", w->scratch),
        STR("ANSIBLE_NOCOLOR=1"),
        STR("ANSIBLE_FORCE_COLOR=0"),
        STR("ANSIBLE_RETRY_FILES_ENABLED=0"),
        STR("ANSIBLE_PIPELINING=1"),
        STR("ANSIBLE_CALLBACKS_ENABLED=halligan"),
        launch_spec_format(a, "ANSIBLE_CALLBACK_PLUGINS=%s/callbacks", w->scratch),
        launch_spec_format(a, "ANSIBLE_HOME=%s/home", w->scratch),
        launch_spec_format(a, "ANSIBLE_LOCAL_TEMP=%s/tmp", w->scratch),
        launch_spec_format(a, "ANSIBLE_ROLES_PATH=%.*s/ansible/roles",
                           STR_FMT_ARGS(w->source_path)),
        launch_spec_format(a,
                           "ANSIBLE_COLLECTIONS_PATH=%.*s/ansible/collections:"
                           "/usr/share/ansible/collections",
                           STR_FMT_ARGS(w->source_path)),
        launch_spec_format(a, "HALLIGAN_RESULT=%s/result.json", w->scratch),
        ansible_ssh_args(w, a),
    };
    launch_spec_set_env(w, a, r, more, sizeof more / sizeof *more);
}

/* ---- preparation ---- */

static err ansible_find_playbook(const struct jig_work *w, struct arena *a, struct str *out_path,
                                 struct reason *out_why)
{
    const char *path;
    if (names_check_role(w->role))
        return launch_spec_refuse(a, out_why, "\"%.*s\" is not a valid name of a role",
                                  STR_FMT_ARGS(w->role));
    if (content_role_file(a, w->source_path, launch_spec_files_name(w), ROLE_FILE_PLAYBOOK,
                          &path) == OK) {
        *out_path = str_from(path);
        return OK;
    }
    if (launch_spec_missing(w, a, out_why) == ERR_REFUSED)
        return ERR_REFUSED;
    return launch_spec_refuse(
        a, out_why,
        "role %.*s has no playbook: there is neither ansible/roles/%.*s.yml nor "
        "ansible/%.*s/playbook.yml in %.*s",
        STR_FMT_ARGS(w->role), STR_FMT_ARGS(launch_spec_files_name(w)),
        STR_FMT_ARGS(launch_spec_files_name(w)), STR_FMT_ARGS(w->source_path));
}

static err ansible_add_files(const struct jig_work *w, struct arena *a, struct launch_spec *r,
                             struct reason *out_why)
{
    struct archive archive = archive_begin(a);
    struct str data;
    const err e = ansible_data_yaml(w, a, &data, out_why);
    if (e != OK)
        return e;
    if (archive_add_file(&archive, STR("run.sh"), 0755, remote_script_ansible) != OK ||
        archive_add_file(&archive, STR("ansible.cfg"), 0644, STR("[defaults]\n")) != OK ||
        archive_add_file(&archive, STR("inventory.json"), 0600, ansible_inventory(w, a)) != OK ||
        archive_add_folder(&archive, STR("callbacks"), 0755) != OK ||
        archive_add_file(&archive, STR("callbacks/halligan.py"), 0644, remote_script_callback) !=
            OK ||
        archive_add_file(&archive, STR("data.yml"), 0600, data) != OK)
        return launch_spec_too_much(w, a, out_why);
    r->stdin_bytes = archive_end(&archive);
    return OK;
}

static err ansible_prepare(const struct jig_work *w, struct arena *a, struct launch_spec *r,
                           struct reason *out_why)
{
    const char *path = w->path ? w->path : TOOLS_PATH;
    const char *shell = jig_tools_find(a, path, "sh");
    const char *program = jig_tools_find(a, path, "ansible-playbook");
    struct str playbook;
    must(w->scratch);
    err e = jig_tools_check(a, path, w->jig_class, out_why);
    if (e == OK)
        e = ansible_find_playbook(w, a, &playbook, out_why);
    if (e == OK)
        e = ansible_add_files(w, a, r, out_why);
    if (e != OK)
        return e;
    /* sh unpacks the archive into the scratch directory and replaces itself by run.sh. */
    r->argv = arena_array(a, struct str, 7);
    r->argv[r->argv_count++] = str_from(shell);
    r->argv[r->argv_count++] = STR("-c");
    r->argv[r->argv_count++] =
        STR("tar -xf - -C \"$1\" && exec sh \"$1/run.sh\" \"$@\" < /dev/null");
    r->argv[r->argv_count++] = STR("halligan-ansible");
    r->argv[r->argv_count++] = str_from(w->scratch);
    r->argv[r->argv_count++] = str_from(program);
    r->argv[r->argv_count++] = playbook;
    r->cwd = str_from(w->scratch);
    ansible_set_env(w, a, r);
    return OK;
}

/* ---- result ---- */

static struct str ansible_string(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, str_from(key));
    return value && value->kind == JSON_STRING ? value->text : STR("");
}

/* The first host with a failure of this kind; NULL: none. */
static const struct json *ansible_find_failure(const struct json *hosts, const char *kind)
{
    for (const struct json *host = hosts->first; host; host = host->next)
        if (str_eq(ansible_string(host, "kind"), str_from(kind)))
            return host;
    return NULL;
}

static struct reason ansible_failure_reason(const struct jig_work *w, const struct json *hosts,
                                            const struct jig_end *end, struct arena *a)
{
    const struct json *host = ansible_find_failure(hosts, "unreachable");
    if (host) {
        /* The message of ansible contains the output of ssh, from which the failure is derived. */
        const struct str message = ansible_string(host, "message");
        const enum reason_code code = ssh_failure_code(ssh_failure_in_message(message));
        return launch_spec_reason(a, code == REASON_SSH_FAILED ? REASON_UNREACHABLE : code,
                                  code == REASON_HOST_KEY_CHANGED ? w->node : w->transport.address,
                                  "ansible could not reach %.*s: %.*s", STR_FMT_ARGS(host->key),
                                  STR_FMT_ARGS(message));
    }
    host = ansible_find_failure(hosts, "failed");
    if (host)
        return launch_spec_reason(
            a, REASON_PLAYBOOK_TASK, ansible_string(host, "task"),
            "task \"%.*s\" failed on %.*s: %.*s", STR_FMT_ARGS(ansible_string(host, "task")),
            STR_FMT_ARGS(host->key), STR_FMT_ARGS(ansible_string(host, "message")));
    if (end->code == HOST_FAILED || end->code == UNREACHABLE)
        return launch_spec_reason(a, REASON_PLAYBOOK_TASK, STR(""), "the playbook failed");
    return launch_spec_status(w, end, a, STR("ansible-playbook"));
}

static struct reason ansible_conclude(const struct jig_work *w, const struct jig_end *end,
                                      struct arena *a, struct run_done_command *done)
{
    struct json *hosts, *wall = json_make(a, JSON_OBJECT);
    uint32_t offset;
    const char *what;
    const err e = json_read(a, end->out, &hosts, &offset, &what);
    if (e != OK || hosts->kind != JSON_OBJECT)
        return end->code ? launch_spec_status(w, end, a, STR("ansible-playbook"))
                         : launch_spec_reason(a, REASON_RESULT_INVALID, STR(""),
                                              "ansible left no result that can be read");
    if (hosts->count == 0 && end->code == 0)
        return launch_spec_reason(
            a, REASON_ROLE_FILES, w->role,
            "the playbook of role %.*s has nothing for node %.*s: its plays name "
            "other hosts",
            STR_FMT_ARGS(w->role), STR_FMT_ARGS(w->node));
    json_set(wall, STR("ansible"), hosts);
    const struct reason failure = launch_spec_set_wall(a, wall, done);
    if (end->code)
        return ansible_failure_reason(w, hosts, end, a);
    if (!failure.code)
        done->result = RESULT_OK;
    return failure;
}

const struct jig_launch_spec jig_ansible = {
    .name = "ansible", .prepare = ansible_prepare, .conclude = ansible_conclude};
