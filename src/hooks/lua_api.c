#include "hooks/lua_api.h"

#include <lauxlib.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "hooks/lua_json.h"
#include "hooks/lua_libraries.h"
#include "hooks/lua_match.h"
#include "hooks/sandbox.h"
#include "hooks/task.h"
#include "model/limits.h"
#include "sys/log.h"

enum { LOG_LINE_MAX = 1000, LOG_COST = 10000, VETO_MAX = 1000 };

static struct task *task_of(lua_State *lua)
{
    return sandbox_of(lua)->task;
}

/* ---- arguments ---- */

static struct str text_at(lua_State *lua, int index, uint32_t len_max)
{
    size_t len;
    luaL_checktype(lua, index, LUA_TSTRING);
    const char *at = lua_tolstring(lua, index, &len);
    luaL_argcheck(lua, len <= len_max, index, "text is too long");
    const struct str text = {at, (uint32_t)len};
    luaL_argcheck(lua, str_is_clean(text), index, "text is not UTF-8");
    return str_copy(task_of(lua)->arena, text);
}

/* A wish is begun. What an earlier one left behind when it failed is forgotten. */
static struct hook_command *wish_begin(lua_State *lua, enum command_kind kind)
{
    struct task *task = task_of(lua);
    if (task->kind == TASK_READ)
        luaL_error(lua, "only hooks can wish for something, not the file around them");
    if (task->kind != TASK_TELL)
        luaL_error(lua, "%s is asked for an answer and cannot wish for anything", task->function);
    arena_rewind(task->arena, task->kept);
    struct hook_command *wish = arena_new(task->arena, struct hook_command);
    wish->command.kind = kind;
    return wish;
}

static int wish_end(lua_State *lua, struct hook_command *wish)
{
    struct task *task = task_of(lua);
    if (!hook_commands_add(&task->wishes, wish))
        return luaL_error(lua, "it wishes for too much at once");
    task->kept = arena_mark(task->arena);
    return 0;
}

static int64_t id_at(lua_State *lua, int index)
{
    int is_whole;
    const lua_Integer id = lua_tointegerx(lua, index, &is_whole);
    luaL_argcheck(lua, is_whole && id > 0, index, "an id is a whole number above 0");
    return id;
}

/* What halligan.maybe() returns is this function with what it was given as upvalue: code can
 * neither look into it nor make one up, and it has no place in a document. */
static int reference(lua_State *lua)
{
    return luaL_error(lua, "what maybe() returns stands for an id; it cannot be called");
}

static int maybe(lua_State *lua)
{
    const int kind = lua_type(lua, 1);
    luaL_argcheck(lua, kind == LUA_TNUMBER || kind == LUA_TSTRING || kind == LUA_TTABLE, 1,
                  "an id, a name or a table with id expected");
    lua_settop(lua, 1);
    lua_pushcclosure(lua, reference, 1);
    return 1;
}

/* If it is one of maybe(), what that was given takes its place, and the wish may be in vain. */
static bool take_maybe(lua_State *lua, int index, struct hook_command *wish)
{
    if (lua_tocfunction(lua, index) != reference)
        return false;
    must(lua_getupvalue(lua, index, 1));
    lua_replace(lua, index);
    wish->command.if_turn = IF_THERE;
    return true;
}

/* An id, a thing that has one, or a name where things of that table have names; the id goes to
 * `offset` in the payload, now or when the name is looked up. */
static void take_id(lua_State *lua, int index, enum table table, struct hook_command *wish,
                    size_t offset)
{
    char *payload = command_payload(&wish->command);
    int64_t *slot = (int64_t *)(void *)(payload + offset);
    const bool has_name = table == TABLE_NODE || table == TABLE_ROLE || table == TABLE_DEPLOYMENT ||
                          table == TABLE_ATTRIB;
    const bool is_maybe = take_maybe(lua, index, wish);
    const int kind = lua_type(lua, index);
    if (kind == LUA_TNUMBER) {
        *slot = id_at(lua, index);
    } else if (kind == LUA_TTABLE) {
        lua_getfield(lua, index, "id");
        luaL_argcheck(lua, lua_type(lua, -1) == LUA_TNUMBER, index, "a table without id");
        *slot = id_at(lua, -1);
        lua_pop(lua, 1);
    } else if (kind == LUA_TSTRING && has_name) {
        wish->names[wish->name_count++] = (struct hook_command_name){
            .table = table,
            .name = text_at(lua, index, NAME_LEN_MAX),
            .offset = (uint16_t)offset,
            .maybe = is_maybe,
        };
    } else {
        luaL_argerror(lua, index, has_name ? "an id or a name expected" : "an id expected");
    }
}

#define OFFSET(kind, member) offsetof(struct kind##_command, member)

/* ---- wishes ---- */

static enum table target_at(lua_State *lua, int index)
{
    static const enum table targets[] = {TABLE_NODE, TABLE_DEPLOYMENT, TABLE_DEPLOYMENT_ROLE,
                                         TABLE_NODEROLE, TABLE_ROLE};
    const char *text = luaL_checkstring(lua, index);
    for (uint32_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (strcmp(text, table_name(targets[i])) == 0)
            return targets[i];
    luaL_argerror(lua, index, "node, noderole, deployment, deployment_role or role expected");
    impossible("luaL_argerror returned");
}

static enum bucket bucket_at(lua_State *lua, int index)
{
    static const char *const names[] = {"user",      "note", "system", "wall",
                                        "discovery", "hint", NULL};
    _Static_assert(sizeof names / sizeof *names == BUCKET_COUNT + 1, "one name for each bucket");
    return (enum bucket)luaL_checkoption(lua, index, "system", names);
}

static int set_attrib(lua_State *lua)
{
    struct hook_command *wish = wish_begin(lua, COMMAND_ATTRIB_SET);
    struct attrib_set_command *set = &wish->command.attrib_set;
    const enum table target = target_at(lua, 1);
    set->target = target;
    take_id(lua, 2, target, wish, OFFSET(attrib_set, id));
    take_id(lua, 3, TABLE_ATTRIB, wish, OFFSET(attrib_set, attrib_id));
    luaL_checkany(lua, 4);
    if (!lua_isnil(lua, 4))
        set->value = lua_json_take(lua, 4, task_of(lua)->arena);
    set->bucket = bucket_at(lua, 5);
    return wish_end(lua, wish);
}

/* With a noderole: only while its run waits as the hook saw it. */
static int set_bootenv(lua_State *lua)
{
    struct hook_command *wish = wish_begin(lua, COMMAND_NODE_UPDATE);
    take_id(lua, 1, TABLE_NODE, wish, OFFSET(node_update, id));
    wish->command.node_update.given = GIVEN_NODE_BOOTENV;
    wish->command.node_update.bootenv = text_at(lua, 2, NAME_LEN_MAX);
    if (!lua_isnoneornil(lua, 3)) {
        luaL_checktype(lua, 3, LUA_TTABLE);
        luaL_argcheck(lua, lua_getfield(lua, 3, "run") == LUA_TTABLE, 3,
                      "a noderole without a run");
        take_id(lua, -1, TABLE_RUN, wish, OFFSET(node_update, parked_run));
        wish->command.node_update.given |= GIVEN_NODE_PARKED_RUN;
    }
    return wish_end(lua, wish);
}

static int power(lua_State *lua)
{
    struct hook_command *wish = wish_begin(lua, COMMAND_NODE_POWER);
    take_id(lua, 1, TABLE_NODE, wish, OFFSET(node_power, id));
    wish->command.node_power.action = text_at(lua, 2, NAME_LEN_MAX);
    return wish_end(lua, wish);
}

static int boot_served(lua_State *lua)
{
    struct hook_command *wish = wish_begin(lua, COMMAND_NODE_BOOT_SERVED);
    take_id(lua, 1, TABLE_NODE, wish, OFFSET(node_boot_served, id));
    take_id(lua, 2, TABLE_NODEROLE, wish, OFFSET(node_boot_served, noderole_id));
    int is_whole;
    const lua_Integer generation = lua_tointegerx(lua, 3, &is_whole);
    luaL_argcheck(lua, is_whole && generation >= 0, 3, "a generation is a whole number");
    wish->command.node_boot_served.generation = generation;
    return wish_end(lua, wish);
}

static int bind(lua_State *lua)
{
    struct hook_command *wish = wish_begin(lua, COMMAND_NODEROLE_BIND);
    take_id(lua, 1, TABLE_NODE, wish, OFFSET(noderole_bind, node_id));
    take_id(lua, 2, TABLE_ROLE, wish, OFFSET(noderole_bind, role_id));
    if (!lua_isnoneornil(lua, 3))
        take_id(lua, 3, TABLE_DEPLOYMENT, wish, OFFSET(noderole_bind, deployment_id));
    if (!lua_isnoneornil(lua, 4)) {
        luaL_checktype(lua, 4, LUA_TTABLE);
        wish->command.noderole_bind.data = lua_json_take(lua, 4, task_of(lua)->arena);
    }
    return wish_end(lua, wish);
}

static int enqueue(lua_State *lua)
{
    struct hook_command *wish = wish_begin(lua, COMMAND_NODEROLE_ENQUEUE);
    take_id(lua, 1, TABLE_NODEROLE, wish, OFFSET(noderole_enqueue, id));
    return wish_end(lua, wish);
}

static int hurry(lua_State *lua)
{
    struct hook_command *wish = wish_begin(lua, COMMAND_NODEROLE_ENQUEUE);
    take_id(lua, 1, TABLE_NODEROLE, wish, OFFSET(noderole_enqueue, id));
    wish->command.noderole_enqueue.if_due = true;
    return wish_end(lua, wish);
}

/* A run by its id, or that of a noderole as it was told to the hook; one without has nothing to go
 * on with. */
static int resume(lua_State *lua)
{
    struct hook_command *wish = wish_begin(lua, COMMAND_RUN_RESUME);
    lua_settop(lua, 1);
    take_maybe(lua, 1, wish);
    if (lua_istable(lua, 1)) {
        if (lua_getfield(lua, 1, "run") == LUA_TNIL)
            return 0;
        luaL_argcheck(lua, lua_istable(lua, -1), 1, "a noderole whose run has no id");
        lua_replace(lua, 1);
    }
    take_id(lua, 1, TABLE_RUN, wish, OFFSET(run_resume, run_id));
    return wish_end(lua, wish);
}

static int commit(lua_State *lua)
{
    struct hook_command *wish = wish_begin(lua, COMMAND_NODEROLE_COMMIT);
    take_id(lua, 1, TABLE_NODEROLE, wish, OFFSET(noderole_commit, id));
    return wish_end(lua, wish);
}

static int retry(lua_State *lua)
{
    struct hook_command *wish = wish_begin(lua, COMMAND_NODEROLE_RETRY);
    take_id(lua, 1, TABLE_NODEROLE, wish, OFFSET(noderole_retry, id));
    return wish_end(lua, wish);
}

/* ---- words ---- */

static int veto(lua_State *lua)
{
    struct task *task = task_of(lua);
    size_t len;
    if (task->kind != TASK_ASK)
        return luaL_error(lua, "only questions can be answered with a veto, and %s is none",
                          task->function);
    const char *at = luaL_checklstring(lua, 1, &len);
    task->veto = true;
    task->text = sandbox_clean_text(task->arena, (struct str){at, (uint32_t)len}, VETO_MAX);
    sandbox_leave(lua);
}

/* Into the daemon's log, and the end of it into the log of the run. */
static int say(lua_State *lua)
{
    struct task *task = task_of(lua);
    size_t len;
    const char *at = luaL_checklstring(lua, 1, &len);
    sandbox_charge(lua, LOG_COST);
    const struct str line =
        sandbox_clean_text(task->arena, (struct str){at, (uint32_t)len}, LOG_LINE_MAX);
    log_with(LOG_INFO, LOG_FIELDS(task_log_role(task), LOG_Z("hook", task->function)), "%.*s",
             STR_FMT_ARGS(line));
    struct str log = STR_CONCAT(task->arena, task->log, line, STR("\n"));
    if (log.len > RUNLOG_MAX)
        log = sandbox_clean_text(task->arena, str_slice(log, log.len - RUNLOG_MAX, log.len),
                                 RUNLOG_MAX);
    task->log = log;
    task->kept = arena_mark(task->arena);
    return 0;
}

static int array(lua_State *lua)
{
    if (lua_isnoneornil(lua, 1)) {
        lua_settop(lua, 0);
        lua_newtable(lua);
    }
    luaL_checktype(lua, 1, LUA_TTABLE);
    /* The library's own tables have a metatable that must stay. */
    luaL_argcheck(lua, !lua_getmetatable(lua, 1) || lua_json_is_array(lua, 1), 1,
                  "this table cannot be marked");
    lua_settop(lua, 1);
    lua_json_mark_array(lua);
    return 1;
}

void lua_api_open(lua_State *lua)
{
    static const luaL_Reg functions[] = {
        {"array", array},
        {"bind", bind},
        {"boot_served", boot_served},
        {"commit", commit},
        {"enqueue", enqueue},
        {"find", lua_match_find},
        {"hurry", hurry},
        {"log", say},
        {"match", lua_match_match},
        {"maybe", maybe},
        {"power", power},
        {"resume", resume},
        {"retry", retry},
        {"set_attrib", set_attrib},
        {"set_bootenv", set_bootenv},
        {"split", lua_match_split},
        {"veto", veto},
        {NULL, NULL},
    };
    lua_newtable(lua);
    luaL_setfuncs(lua, functions, 0);
    lua_json_push_null(lua);
    lua_setfield(lua, -2, "null");
    lua_libraries_add(lua, "halligan");
}
