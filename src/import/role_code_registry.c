#include "import/role_code_registry.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "content/role_file.h"
#include "core/core.h"
#include "hooks/hooks.h"
#include "sys/log.h"

/* What was tried for a role. */
struct code {
    int64_t role_id;
    int64_t turn;  /* in which its barclamp was imported, as far as this knows      */
    bool is_wrong; /* the file that was last looked for could not be used, so far as
                    * anybody has tried                                              */
};

/* Where its file should lie. */
struct place {
    struct str source_path, role;
    bool has_hooks; /* according to the core */
};

/* ---- the list ---- */

/* Where the role stands, or would. */
static uint32_t place_of(const struct role_code_registry *c, int64_t role_id)
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

static struct code *find(const struct role_code_registry *c, int64_t role_id)
{
    const uint32_t at = place_of(c, role_id);
    return at < c->count && c->list[at].role_id == role_id ? &c->list[at] : NULL;
}

static struct code *find_or_add(struct role_code_registry *c, int64_t role_id)
{
    struct code *found = find(c, role_id);
    if (found)
        return found;
    if (c->count == c->cap) {
        c->cap = c->cap ? c->cap * 2 : 64;
        c->list = realloc(c->list, c->cap * sizeof *c->list);
        must(c->list);
    }
    const uint32_t at = place_of(c, role_id);
    memmove(&c->list[at + 1], &c->list[at], (c->count - at) * sizeof *c->list);
    c->count++;
    c->list[at] = (struct code){.role_id = role_id, .turn = -1};
    return &c->list[at];
}

/* ---- loading ---- */

static struct str path_of(struct role_code_registry *c, const struct place *place)
{
    const struct str file = STR_CONCAT(&c->arena, STR("/roles/"), place->role, STR(".lua"));
    return STR_CONCAT(&c->arena, place->source_path, file);
}

static struct str complaint(struct role_code_registry *c, const struct place *place,
                            const char *why)
{
    return STR_CONCAT(&c->arena, path_of(c, place), STR(": "), str_from(why));
}

/* Nobody knows what it would define, but something it should. */
static void miss(struct role_code_registry *c, struct code *code, const struct place *place)
{
    const struct str text = complaint(c, place, "there is no such file");
    code->is_wrong = true;
    hooks_miss(c->hooks, code->role_id, text);
    log_with(LOG_WARNING, LOG_FIELDS(LOG_S("role", place->role)),
             "the code of a role cannot be had: %.*s; its hooks will fail", STR_FMT_ARGS(text));
}

/* True when there is no file, and none is missed. */
static bool load(struct role_code_registry *c, struct code *code, const struct place *place)
{
    const char *path;
    bool needs_none = false;
    const err e =
        content_role_file(&c->arena, place->source_path, place->role, ROLE_FILE_LUA, &path);
    code->is_wrong = false;
    if (e == OK) {
        hooks_load(c->hooks, code->role_id, path);
    } else if (e != ERR_NOT_FOUND) {
        code->is_wrong = true;
        hooks_keep(c->hooks, code->role_id,
                   complaint(c, place, "it lies outside its barclamp, or cannot be read"));
    } else if (place->has_hooks) {
        miss(c, code, place);
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
    const struct core *core = c->seams.core(c->seams.self);
    struct code *code = find(c, role_id);
    struct record role = {0};
    must(code); /* who else would have loaded it */
    code->is_wrong = error != OK;
    if (!code->is_wrong)
        return;
    if (core)
        ignore(core_record(core, TABLE_ROLE, role_id, &role), "a role may have gone meanwhile");
    log_with(LOG_WARNING, LOG_FIELDS(LOG_S("role", role.role.name)),
             "the code of a role %s: %.*s; %s",
             error == ERR_SYNTAX || error == ERR_LIMIT ? "does not load" : "cannot be had",
             STR_FMT_ARGS(report->text),
             report->has_code ? "going on with what there was" : "its hooks will fail");
}

/* ---- when ---- */

static bool find_owner(const struct core *core, int64_t role_id, struct record *out_role,
                       struct record *out_barclamp)
{
    return core && core_record(core, TABLE_ROLE, role_id, out_role) &&
           core_record(core, TABLE_BARCLAMP, out_role->role.barclamp_id, out_barclamp);
}

static void see_to(struct role_code_registry *c, int64_t role_id, bool again)
{
    struct record role, barclamp;
    if (!find_owner(c->seams.core(c->seams.self), role_id, &role, &barclamp))
        return;
    struct code *code = find_or_add(c, role_id);
    if (code->turn == barclamp.barclamp.turn && !again)
        return;
    code->turn = barclamp.barclamp.turn;
    struct place place = {.role = role.role.name, .has_hooks = role.role.hooks != 0};
    place.source_path = c->seams.source_path(c->seams.self, barclamp.barclamp.name);
    const bool is_newer = place.source_path.len != 0; /* than what the core knows */
    if (is_newer)
        place.has_hooks = false;
    else
        place.source_path = barclamp.barclamp.source_path;
    const bool needs_none = load(c, code, &place);
    /* Who has no file any more has no hooks, once that is imported. It may still be refused. */
    if (is_newer && needs_none)
        code->turn = -1;
}

void role_code_registry_need(struct role_code_registry *c, int64_t role_id)
{
    see_to(c, role_id, false);
}

bool role_code_registry_read_again(struct role_code_registry *c, struct str role, bool is_same)
{
    const struct core *core = c->seams.core(c->seams.self);
    const int64_t id = core ? core_find(core, TABLE_ROLE, role) : 0;
    const struct code *code = find(c, id);
    if (id)
        see_to(c, id, !is_same || !code || code->is_wrong);
    return find(c, id) != NULL;
}

void role_code_registry_fini(struct role_code_registry *c)
{
    free(c->list);
    arena_fini(&c->arena);
    *c = (struct role_code_registry){0};
}
