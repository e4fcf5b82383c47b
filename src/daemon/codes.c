#include "daemon/codes.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "content/role_file.h"
#include "core/core.h"
#include "hooks/hooks.h"
#include "sys/log.h"

/* What was tried for a role. */
struct code {
    int64_t role_id;
    int64_t turn; /* in which its barclamp was imported, as far as this knows */
    uint32_t hooks;
    bool is_loaded;
};

/* ---- the list ---- */

/* Where the role stands, or would. */
static uint32_t place_of(const struct codes *c, int64_t role_id)
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

static struct code *find(const struct codes *c, int64_t role_id)
{
    const uint32_t at = place_of(c, role_id);
    return at < c->count && c->list[at].role_id == role_id ? &c->list[at] : NULL;
}

static struct code *find_or_add(struct codes *c, int64_t role_id)
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

static void unload(struct codes *c, struct code *code)
{
    hooks_unload(c->hooks, code->role_id);
    code->is_loaded = false;
    code->hooks = 0;
}

static void load_file(struct codes *c, struct code *code, const char *path)
{
    struct hooks_report report;
    if (hooks_load(c->hooks, code->role_id, path, &c->arena, &report) == OK) {
        code->is_loaded = true;
        code->hooks = report.functions.hooks;
        return;
    }
    log_with(LOG_WARNING, LOG_FIELDS(LOG_I64("role", code->role_id)),
             "the code of a role does not load: %.*s; %s", STR_FMT_ARGS(report.text),
             code->is_loaded ? "going on with what there was" : "its hooks will fail");
}

static void load(struct codes *c, struct code *code, struct str source_path, struct str role)
{
    const char *path;
    const err e = content_role_file(&c->arena, source_path, role, ROLE_FILE_LUA, &path);
    if (e == OK)
        load_file(c, code, path);
    else if (e == ERR_NOT_FOUND)
        unload(c, code);
    else
        log_with(LOG_WARNING, LOG_FIELDS(LOG_S("role", role), LOG_S("barclamp", source_path)),
                 "the Lua file of a role lies outside its barclamp, or cannot be read");
    arena_reset(&c->arena);
}

/* ---- when ---- */

static bool find_owner(const struct core *core, int64_t role_id, struct record *out_role,
                       struct record *out_barclamp)
{
    return core && core_record(core, TABLE_ROLE, role_id, out_role) &&
           core_record(core, TABLE_BARCLAMP, out_role->role.barclamp_id, out_barclamp);
}

static void see_to(struct codes *c, int64_t role_id, bool again)
{
    struct record role, barclamp;
    if (!find_owner(c->seams.core(c->seams.self), role_id, &role, &barclamp))
        return;
    struct code *code = find_or_add(c, role_id);
    if (code->turn == barclamp.barclamp.turn && !again)
        return;
    code->turn = barclamp.barclamp.turn;
    struct str source_path = c->seams.source_path(c->seams.self, barclamp.barclamp.name);
    if (source_path.len == 0)
        source_path = barclamp.barclamp.source_path;
    load(c, code, source_path, role.role.name);
}

void codes_need(struct codes *c, int64_t role_id)
{
    see_to(c, role_id, false);
}

void codes_read_again(struct codes *c, const struct barclamp_file *file)
{
    const struct core *core = c->seams.core(c->seams.self);
    const struct json *roles = json_get(file->tree, STR("roles"));
    for (const struct json *role = roles ? roles->first : NULL; role && core; role = role->next) {
        const struct json *name = json_get(role, STR("name"));
        const int64_t id = name ? core_find(core, TABLE_ROLE, name->text) : 0;
        if (id)
            see_to(c, id, true);
    }
}

bool codes_lacks(const struct codes *c, int64_t role_id, enum hook hook)
{
    const struct code *code = find(c, role_id);
    return code && code->is_loaded && !(code->hooks >> hook & 1);
}

void codes_fini(struct codes *c)
{
    free(c->list);
    arena_fini(&c->arena);
    *c = (struct codes){0};
}
