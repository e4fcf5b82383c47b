#include "sim/rack/rack_private.h"

#include "base/err.h"
#include "base/text/buf.h"
#include "content/role_file.h"
#include "content/tree.h"
#include "hooks/code_finder.h"
#include "hooks/hooks.h"

/* Barclamps in the rack, as the daemon handles them: read from disk once, imported at every
 * start, and the Lua code of a role loaded when its first hook is called. A barclamp that cannot
 * be read or code that cannot be loaded is a failure of the rack. */

/* A role that requires an installed operating system, and the environment of the second system that
 * operators choose. */
static const char application[] =
    "{\"barclamp\":{\"name\":\"rack\",\"source_path\":\"/usr/share/halligan/rack\"},"
    "\"bootenvs\":[{\"initrd\":[\"debian-13/initrd.gz\"],\"kernel\":\"debian-13/linux\","
    "\"method\":\"installer\",\"name\":\"debian-13-install\",\"os\":\"debian-13\"}],"
    "\"roles\":[{\"flags\":[\"implicit\"],\"jig\":\"script\",\"name\":\"rack-application\","
    "\"requires\":[\"crowbar-installed-node\"]}]}";

/* ---- files ---- */

/* True if the scenario publishes what this role serves. */
static bool rack_content_is_published(const struct rack *r, struct str role)
{
    for (uint32_t i = 0; i < RACK_SERVICE_COUNT; i++)
        if (!r->scenario.is_native[i] &&
            str_eq(role, str_from(rack_service_role((enum rack_service)i))))
            return true;
    return false;
}

/* The document of a barclamp. The shipped databases are native; those that the scenario publishes
 * have the jig script, as a site has that replaces them, and its scripts get the disk of the
 * operating system. */
static struct str rack_content_document(struct rack *r, const struct barclamp_file *file)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    if (json_read(&r->arena, file->document, &tree, &offset, &what) != OK)
        impossible("a barclamp that was read is not JSON");
    bool is_changed = false;
    const struct json *roles = json_get(tree, STR("roles"));
    for (struct json *role = roles ? roles->first : NULL; role; role = role->next) {
        const struct json *name = json_get(role, STR("name"));
        if (!name || !rack_content_is_published(r, name->text))
            continue;
        struct json *wanted = json_make(&r->arena, JSON_ARRAY);
        json_append(wanted, json_make_string(&r->arena, STR("operating-system-disk")));
        json_set(role, STR("jig"), json_make_string(&r->arena, STR("script")));
        json_set(role, STR("wants-attribs"), wanted);
        is_changed = true;
    }
    return is_changed ? json_write(&r->arena, tree) : file->document;
}

static const struct json *rack_content_roles_of(const struct barclamp_file *file)
{
    const struct json *roles = json_get(file->tree, STR("roles"));
    return roles ? roles->first : NULL;
}

static void rack_content_add_files(struct rack *r, const struct content_tree *tree)
{
    uint32_t roles = 0;
    for (uint32_t i = 0; i < tree->count; i++)
        for (const struct json *role = rack_content_roles_of(&tree->files[i]); role;
             role = role->next)
            roles++;
    r->documents = arena_array(&r->arena, struct str, tree->count + 1);
    r->codes = arena_array(&r->arena, struct rack_code, roles + 1);
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct barclamp_file *file = &tree->files[i];
        r->documents[r->document_count++] = rack_content_document(r, file);
        for (const struct json *role = rack_content_roles_of(file); role; role = role->next) {
            const struct json *name = json_get(role, STR("name"));
            const char *path;
            if (name && content_role_file(&r->arena, file->source_path, name->text, ROLE_FILE_LUA,
                                          &path) == OK)
                r->codes[r->code_count++] = (struct rack_code){.role = name->text, .path = path};
        }
    }
    r->documents[r->document_count++] = str_from(application);
}

bool rack_content_read(struct rack *r)
{
    struct diagnostics report = diagnostics_begin(&r->arena);
    struct code_finder code = {0};
    const struct hook_finder finder = code_finder_hook_finder(&code);
    const struct content_tree tree = content_read_tree(&report, r->scenario.barclamps, &finder);
    for (const struct diagnostics_entry *e = report.first; e && report.errors; e = e->next) {
        if (e->severity != DIAGNOSTICS_ERROR)
            continue;
        struct buf b = buf_in(&r->arena);
        diagnostics_format(e, &b);
        rack_fail(r, "%.*s", STR_FMT_ARGS(buf_str(&b)));
        return false;
    }
    if (!tree.count) {
        rack_fail(r, "no barclamps found in %s", r->scenario.barclamps);
        return false;
    }
    rack_content_add_files(r, &tree);
    return true;
}

/* ---- import ---- */

void rack_content_import_later(struct rack *r)
{
    for (uint32_t i = 0; i < r->imported; i++) {
        struct command command = {.kind = COMMAND_IMPORT, .actor = STR("daemon")};
        command.import.barclamp = r->documents[i];
        rack_send_later(r, 100 + i, &command);
    }
}

/* ---- Lua code of roles ---- */

void rack_content_load(struct rack *r, int64_t role_id)
{
    struct record record;
    if (!core_record(rack_core(r), TABLE_ROLE, role_id, &record))
        return;
    const struct str name = record.role.per_name.len ? record.role.per_name : record.role.name;
    for (uint32_t i = 0; i < r->code_count; i++) {
        struct rack_code *code = &r->codes[i];
        if (code->loaded || !str_eq(code->role, name))
            continue;
        hooks_load(r->hooks, role_id, code->path);
        code->loaded = role_id;
    }
}

void rack_content_loaded(void *self, int64_t role_id, err error, const struct hooks_report *report)
{
    struct rack *r = self;
    if (error != OK)
        rack_fail(r, "the Lua code of role %lld cannot be loaded: %.*s", (long long)role_id,
                  STR_FMT_ARGS(report->text));
}

void rack_content_forget(struct rack *r)
{
    for (uint32_t i = 0; i < r->code_count; i++)
        r->codes[i].loaded = 0;
}
