/* role_code_registry.c - decides when the Lua file of a role is loaded, and from where.
 *
 * It owns a list with one entry per role: the last lookup of its file. The code itself belongs to
 * hooks.h, which reads the file in the hook thread and reports to role_code_registry_loaded().
 *
 * Order. A lookup must precede every call of a hook, so callers announce each use of a role. An
 * entry stores the turn (number of the transaction of the core) in which the barclamp of the role,
 * the package that defines it, was last imported; an import has a new turn, so the next use looks
 * the file up again. A document that was read from its file but is not imported is pending: it
 * waits, is submitted, or was refused and may be tried again in this import. While a document is
 * pending, its source path replaces the one in the core, because hooks that the import causes must
 * run the new code. When it is imported, the turn has changed and the file is looked up once more.
 * If it is never imported, code that was loaded from its path stays in use until the file is loaded
 * again, for example by a reload.
 *
 * Failure. Callers get no error: problems are logged and become the text of failed hook calls. A
 * file that cannot be read or has errors keeps the code that is loaded. A file that is missing
 * although the core stores hooks for the role makes these hooks fail. Otherwise a missing file
 * means that the role has no code, and code that is loaded is unloaded.
 */
#include "import/role_code_registry.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "content/role_file.h"
#include "core/core.h"
#include "hooks/hooks.h"
#include "model/names.h"
#include "sys/log.h"

/* The last lookup of the file of a role. */
struct code_lookup {
    int64_t role_id;
    int64_t turn;   /* of the last import of its barclamp at that time; -1: look up again */
    bool is_failed; /* the file was missing or could not be loaded */
};

/* Where the file of a role is expected. `role` is its name in the document of the barclamp. */
struct code_location {
    struct str source_path, role;
    bool has_hooks; /* the core stores hooks for the role, so a missing file is a failure */
};

/* ---- list of lookups, sorted by role id ---- */

/* The position of the role in the list, or the one at which it would be inserted. */
static uint32_t registry_position(const struct role_code_registry *c, int64_t role_id)
{
    uint32_t low = 0, high = c->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (c->list[middle].role_id < role_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct code_lookup *registry_find(const struct role_code_registry *c, int64_t role_id)
{
    const uint32_t at = registry_position(c, role_id);
    return at < c->count && c->list[at].role_id == role_id ? &c->list[at] : NULL;
}

static struct code_lookup *registry_find_or_add(struct role_code_registry *c, int64_t role_id)
{
    struct code_lookup *found = registry_find(c, role_id);
    if (found)
        return found;
    if (c->count == c->cap) {
        c->cap = c->cap ? c->cap * 2 : 64;
        c->list = realloc(c->list, c->cap * sizeof *c->list);
        must(c->list);
    }
    const uint32_t at = registry_position(c, role_id);
    memmove(&c->list[at + 1], &c->list[at], (c->count - at) * sizeof *c->list);
    c->count++;
    c->list[at] = (struct code_lookup){.role_id = role_id, .turn = -1};
    return &c->list[at];
}

/* ---- load ---- */

static struct str registry_problem(struct role_code_registry *c,
                                   const struct code_location *location, const char *why)
{
    const struct str file = STR_CONCAT(&c->arena, STR("/roles/"), location->role, STR(".lua"));
    const struct str path = STR_CONCAT(&c->arena, location->source_path, file);
    return STR_CONCAT(&c->arena, path, STR(": "), str_from(why));
}

/* Requests the load of the file; its result arrives in role_code_registry_loaded(). True if there
 * is no file and the role needs none. */
static bool registry_load(struct role_code_registry *c, struct code_lookup *code,
                          const struct code_location *location)
{
    const char *path;
    bool needs_none = false;
    const err e =
        content_role_file(&c->arena, location->source_path, location->role, ROLE_FILE_LUA, &path);
    code->is_failed = false;
    if (e == OK) {
        hooks_load(c->hooks, code->role_id, path);
    } else if (e != ERR_NOT_FOUND) {
        code->is_failed = true;
        hooks_keep_code(c->hooks, code->role_id,
                        registry_problem(c, location, "outside its barclamp, or not readable"));
    } else if (location->has_hooks) {
        /* The core stores hooks for the role, but there is no file that defines them. */
        const struct str text = registry_problem(c, location, "no such file");
        code->is_failed = true;
        hooks_set_missing(c->hooks, code->role_id, text);
        log_with(LOG_WARNING, LOG_FIELDS(LOG_S("role", location->role)),
                 "Lua code of role %.*s missing: %.*s; its hooks fail",
                 STR_FMT_ARGS(location->role), STR_FMT_ARGS(text));
    } else {
        hooks_unload(c->hooks, code->role_id);
        needs_none = true;
    }
    arena_reset(&c->arena);
    return needs_none;
}

void role_code_registry_loaded(struct role_code_registry *c, int64_t role_id, err error,
                               const struct hooks_report *report)
{
    const struct core *core = c->callbacks.core(c->callbacks.self);
    struct code_lookup *code = registry_find(c, role_id);
    struct record role = {0};
    must(code); /* only registry_load() requests a load */
    code->is_failed = error != OK;
    if (!code->is_failed)
        return;
    if (core)
        ignore(core_record(core, TABLE_ROLE, role_id, &role),
               "the role may have been deleted meanwhile");
    log_with(LOG_WARNING, LOG_FIELDS(LOG_S("role", role.role.name)),
             "Lua code of role %.*s %s: %.*s; %s", STR_FMT_ARGS(role.role.name),
             error == ERR_SYNTAX || error == ERR_LIMIT ? "not loaded" : "not readable",
             STR_FMT_ARGS(report->text),
             report->has_code ? "the previous code stays in use" : "its hooks fail");
}

/* ---- decide when to load ---- */

/* Look up and load the file of a role if its barclamp was imported since the last lookup, or if
 * `again`. */
static void registry_update(struct role_code_registry *c, int64_t role_id, bool again)
{
    const struct core *core = c->callbacks.core(c->callbacks.self);
    struct record role, barclamp;
    if (!core || !core_record(core, TABLE_ROLE, role_id, &role) ||
        !core_record(core, TABLE_BARCLAMP, role.role.barclamp_id, &barclamp))
        return;
    struct code_lookup *code = registry_find_or_add(c, role_id);
    if (code->turn == barclamp.barclamp.turn && !again)
        return;
    code->turn = barclamp.barclamp.turn;
    struct code_location location = {.role = role.role.per_name.len ? role.role.per_name
                                                                    : role.role.name,
                                     .has_hooks = role.role.hooks != 0};
    location.source_path = c->callbacks.source_path(c->callbacks.self, barclamp.barclamp.name);
    const bool is_pending = location.source_path.len != 0;
    if (is_pending)
        location.has_hooks = false; /* the core stores those of the previous document */
    else
        location.source_path = barclamp.barclamp.source_path;
    const bool needs_none = registry_load(c, code, &location);
    /* A pending document without a Lua file for the role removes its hooks when it is imported.
     * Until then it may be refused or replaced, so look the file up again at each use. */
    if (is_pending && needs_none)
        code->turn = -1;
}

/* Does nothing if the file was looked up since the last import. */
void role_code_registry_need(struct role_code_registry *c, int64_t role_id)
{
    registry_update(c, role_id, false);
}

static bool registry_read_role_again(struct role_code_registry *c, int64_t role_id, bool is_same)
{
    const struct code_lookup *code = registry_find(c, role_id);
    registry_update(c, role_id, !is_same || !code || code->is_failed);
    return registry_find(c, role_id) != NULL;
}

/* The file of all roles that are made for a network from this entry of a document. */
static bool registry_read_pattern_again(struct role_code_registry *c, const struct core *core,
                                        struct str pattern, bool is_same)
{
    bool any = false;
    struct record record;
    for (int64_t id = core_next_id(core, TABLE_ROLE, 0); id;
         id = core_next_id(core, TABLE_ROLE, id))
        if (core_record(core, TABLE_ROLE, id, &record) && str_eq(record.role.per_name, pattern))
            any = registry_read_role_again(c, id, is_same) || any;
    return any;
}

bool role_code_registry_read_again(struct role_code_registry *c, struct str role, bool is_same)
{
    const struct core *core = c->callbacks.core(c->callbacks.self);
    if (core && str_has(role, STR(NAME_VARIABLE)))
        return registry_read_pattern_again(c, core, role, is_same);
    const int64_t id = core ? core_find(core, TABLE_ROLE, role) : 0;
    return id && registry_read_role_again(c, id, is_same);
}

void role_code_registry_fini(struct role_code_registry *c)
{
    free(c->list);
    arena_fini(&c->arena);
    *c = (struct role_code_registry){0};
}
