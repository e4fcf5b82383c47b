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

/* Each function builds one hook command in the arena of the task from its arguments, and appends it
 * when all of them were valid. This file has no state: commands belong to the task. A Lua error
 * leaves the function by longjmp; memory of a half-built command is reclaimed by rewinding the
 * arena to `kept`, the end of the last complete one, when the next command begins. */

enum {
    LOG_LINE_MAX = 1000, /* bytes of a log line */
    LOG_COST = 10000,    /* instructions charged for a log line, which limits their number */
    VETO_MAX = 1000,     /* bytes of the reason of a veto */
};

static struct task *lua_api_task(lua_State *lua)
{
    return sandbox_of(lua)->task;
}

/* ---- arguments ---- */

static struct str lua_api_string(lua_State *lua, int index, uint32_t len_max)
{
    size_t len;
    luaL_checktype(lua, index, LUA_TSTRING);
    const char *at = lua_tolstring(lua, index, &len);
    luaL_argcheck(lua, len <= len_max, index, "text is too long");
    const struct str text = {at, (uint32_t)len};
    luaL_argcheck(lua, str_is_clean(text), index, "text is not UTF-8");
    return str_copy(lua_api_task(lua)->arena, text);
}

/* Begin a hook command. Memory of an earlier one that failed is reclaimed. */
static struct hook_command *lua_api_begin_command(lua_State *lua, enum command_kind kind)
{
    struct task *task = lua_api_task(lua);
    if (task->kind == TASK_INSPECT)
        luaL_error(lua,
                   "commands can only be requested inside a hook, not while the file is loaded");
    if (task->kind != TASK_NOTIFY)
        luaL_error(lua, "%s only returns a result and cannot request commands", task->function);
    arena_rewind(task->arena, task->kept);
    struct hook_command *command_request = arena_new(task->arena, struct hook_command);
    command_request->command.kind = kind;
    return command_request;
}

static int lua_api_end_command(lua_State *lua, struct hook_command *command_request)
{
    struct task *task = lua_api_task(lua);
    if (!hook_commands_add(&task->commands, command_request))
        return luaL_error(lua, "too many hook commands in one call, or too large ones");
    task->kept = arena_mark(task->arena);
    return 0;
}

static int64_t lua_api_id(lua_State *lua, int index)
{
    int is_whole;
    const lua_Integer id = lua_tointegerx(lua, index, &is_whole);
    luaL_argcheck(lua, is_whole && id > 0, index, "an id is a whole number above 0");
    return id;
}

/* halligan.maybe() returns this function with its argument as upvalue: code can neither inspect nor
 * forge it, and it cannot be part of a document. */
static int lua_api_reference(lua_State *lua)
{
    return luaL_error(lua, "the result of maybe() is a reference to an id and cannot be called");
}

static int lua_api_maybe(lua_State *lua)
{
    const int kind = lua_type(lua, 1);
    luaL_argcheck(lua, kind == LUA_TNUMBER || kind == LUA_TSTRING || kind == LUA_TTABLE, 1,
                  "an id, a name or a table with id expected");
    lua_settop(lua, 1);
    lua_pushcclosure(lua, lua_api_reference, 1);
    return 1;
}

/* Replace a reference of maybe() by its argument; the command is then dropped if the object does
 * not exist. */
static bool lua_api_take_reference(lua_State *lua, int index, struct hook_command *command_request)
{
    if (lua_tocfunction(lua, index) != lua_api_reference)
        return false;
    must(lua_getupvalue(lua, index, 1));
    lua_replace(lua, index);
    command_request->command.if_turn = IF_THERE;
    return true;
}

/* Accept an id, a table with an id, or a name if objects of this table have names. The id is stored
 * at `offset` of the payload, now or when the name is resolved. */
static void lua_api_take_id(lua_State *lua, int index, enum table table,
                            struct hook_command *command_request, size_t offset)
{
    char *payload = command_payload(&command_request->command);
    int64_t *slot = (int64_t *)(void *)(payload + offset);
    const bool has_name = table == TABLE_NODE || table == TABLE_ROLE || table == TABLE_DEPLOYMENT ||
                          table == TABLE_ATTRIB;
    const bool is_maybe = lua_api_take_reference(lua, index, command_request);
    const int kind = lua_type(lua, index);
    if (kind == LUA_TNUMBER) {
        *slot = lua_api_id(lua, index);
    } else if (kind == LUA_TTABLE) {
        lua_getfield(lua, index, "id");
        luaL_argcheck(lua, lua_type(lua, -1) == LUA_TNUMBER, index, "a table without id");
        *slot = lua_api_id(lua, -1);
        lua_pop(lua, 1);
    } else if (kind == LUA_TSTRING && has_name) {
        command_request->names[command_request->name_count++] = (struct hook_command_name){
            .table = table,
            .name = lua_api_string(lua, index, NAME_LEN_MAX),
            .offset = (uint16_t)offset,
            .maybe = is_maybe,
        };
    } else {
        luaL_argerror(lua, index, has_name ? "an id or a name expected" : "an id expected");
    }
}

#define OFFSET(kind, member) offsetof(struct kind##_command, member)

/* ---- hook commands ---- */

static enum table lua_api_target(lua_State *lua, int index)
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

static enum bucket lua_api_bucket(lua_State *lua, int index)
{
    static const char *const names[] = {"user",      "note", "system", "wall",
                                        "discovery", "hint", NULL};
    _Static_assert(sizeof names / sizeof *names == BUCKET_COUNT + 1, "one name for each bucket");
    return (enum bucket)luaL_checkoption(lua, index, "system", names);
}

static int lua_api_set_attrib(lua_State *lua)
{
    struct hook_command *command_request = lua_api_begin_command(lua, COMMAND_ATTRIB_SET);
    struct attrib_set_command *set = &command_request->command.attrib_set;
    const enum table target = lua_api_target(lua, 1);
    set->target = target;
    lua_api_take_id(lua, 2, target, command_request, OFFSET(attrib_set, id));
    lua_api_take_id(lua, 3, TABLE_ATTRIB, command_request, OFFSET(attrib_set, attrib_id));
    luaL_checkany(lua, 4);
    if (!lua_isnil(lua, 4))
        set->value = lua_json_take(lua, 4, lua_api_task(lua)->arena);
    set->bucket = lua_api_bucket(lua, 5);
    return lua_api_end_command(lua, command_request);
}

/* With a noderole: only while its run is parked as the hook has seen it. */
static int lua_api_set_bootenv(lua_State *lua)
{
    struct hook_command *command_request = lua_api_begin_command(lua, COMMAND_NODE_UPDATE);
    lua_api_take_id(lua, 1, TABLE_NODE, command_request, OFFSET(node_update, id));
    command_request->command.node_update.given = GIVEN_NODE_BOOTENV;
    command_request->command.node_update.bootenv = lua_api_string(lua, 2, NAME_LEN_MAX);
    if (!lua_isnoneornil(lua, 3)) {
        luaL_checktype(lua, 3, LUA_TTABLE);
        luaL_argcheck(lua, lua_getfield(lua, 3, "run") == LUA_TTABLE, 3,
                      "a noderole without a run");
        lua_api_take_id(lua, -1, TABLE_RUN, command_request, OFFSET(node_update, parked_run));
        command_request->command.node_update.given |= GIVEN_NODE_PARKED_RUN;
    }
    return lua_api_end_command(lua, command_request);
}

static int lua_api_power(lua_State *lua)
{
    struct hook_command *command_request = lua_api_begin_command(lua, COMMAND_NODE_POWER);
    lua_api_take_id(lua, 1, TABLE_NODE, command_request, OFFSET(node_power, id));
    command_request->command.node_power.action = lua_api_string(lua, 2, NAME_LEN_MAX);
    return lua_api_end_command(lua, command_request);
}

static int lua_api_bind(lua_State *lua)
{
    struct hook_command *command_request = lua_api_begin_command(lua, COMMAND_NODEROLE_BIND);
    lua_api_take_id(lua, 1, TABLE_NODE, command_request, OFFSET(noderole_bind, node_id));
    lua_api_take_id(lua, 2, TABLE_ROLE, command_request, OFFSET(noderole_bind, role_id));
    if (!lua_isnoneornil(lua, 3))
        lua_api_take_id(lua, 3, TABLE_DEPLOYMENT, command_request,
                        OFFSET(noderole_bind, deployment_id));
    if (!lua_isnoneornil(lua, 4)) {
        luaL_checktype(lua, 4, LUA_TTABLE);
        command_request->command.noderole_bind.data =
            lua_json_take(lua, 4, lua_api_task(lua)->arena);
    }
    return lua_api_end_command(lua, command_request);
}

static int lua_api_enqueue(lua_State *lua)
{
    struct hook_command *command_request = lua_api_begin_command(lua, COMMAND_NODEROLE_ENQUEUE);
    lua_api_take_id(lua, 1, TABLE_NODEROLE, command_request, OFFSET(noderole_enqueue, id));
    return lua_api_end_command(lua, command_request);
}

static int lua_api_hurry(lua_State *lua)
{
    struct hook_command *command_request = lua_api_begin_command(lua, COMMAND_NODEROLE_ENQUEUE);
    lua_api_take_id(lua, 1, TABLE_NODEROLE, command_request, OFFSET(noderole_enqueue, id));
    command_request->command.noderole_enqueue.if_due = true;
    return lua_api_end_command(lua, command_request);
}

/* A run by its id, or the run of a noderole as passed to the hook; without a run there is nothing
 * to resume. */
static int lua_api_resume(lua_State *lua)
{
    struct hook_command *command_request = lua_api_begin_command(lua, COMMAND_RUN_RESUME);
    lua_settop(lua, 1);
    lua_api_take_reference(lua, 1, command_request);
    if (lua_istable(lua, 1)) {
        if (lua_getfield(lua, 1, "run") == LUA_TNIL)
            return 0;
        luaL_argcheck(lua, lua_istable(lua, -1), 1, "a noderole whose run has no id");
        lua_replace(lua, 1);
    }
    lua_api_take_id(lua, 1, TABLE_RUN, command_request, OFFSET(run_resume, run_id));
    return lua_api_end_command(lua, command_request);
}

static int lua_api_commit(lua_State *lua)
{
    struct hook_command *command_request = lua_api_begin_command(lua, COMMAND_NODEROLE_COMMIT);
    lua_api_take_id(lua, 1, TABLE_NODEROLE, command_request, OFFSET(noderole_commit, id));
    return lua_api_end_command(lua, command_request);
}

static int lua_api_retry(lua_State *lua)
{
    struct hook_command *command_request = lua_api_begin_command(lua, COMMAND_NODEROLE_RETRY);
    lua_api_take_id(lua, 1, TABLE_NODEROLE, command_request, OFFSET(noderole_retry, id));
    return lua_api_end_command(lua, command_request);
}

/* ---- veto, log and array ---- */

static int lua_api_veto(lua_State *lua)
{
    struct task *task = lua_api_task(lua);
    size_t len;
    if (task->kind != TASK_VETO)
        return luaL_error(
            lua, "veto() can only be called in a hook that may refuse a command, and %s is not one",
            task->function);
    const char *at = luaL_checklstring(lua, 1, &len);
    task->veto = true;
    task->text = sandbox_clean_text(task->arena, (struct str){at, (uint32_t)len}, VETO_MAX);
    sandbox_exit(lua);
}

/* Write to the log of the daemon, and keep the last part for the log of the run. */
static int lua_api_log(lua_State *lua)
{
    struct task *task = lua_api_task(lua);
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

static int lua_api_array(lua_State *lua)
{
    if (lua_isnoneornil(lua, 1)) {
        lua_settop(lua, 0);
        lua_newtable(lua);
    }
    luaL_checktype(lua, 1, LUA_TTABLE);
    /* Tables of the library have a metatable that must not be replaced. */
    luaL_argcheck(lua, !lua_getmetatable(lua, 1) || lua_json_is_array(lua, 1), 1,
                  "this table cannot be marked");
    lua_settop(lua, 1);
    lua_json_mark_array(lua);
    return 1;
}

void lua_api_open(lua_State *lua)
{
    static const luaL_Reg functions[] = {
        {"array", lua_api_array},
        {"bind", lua_api_bind},
        {"commit", lua_api_commit},
        {"enqueue", lua_api_enqueue},
        {"find", lua_match_find},
        {"hurry", lua_api_hurry},
        {"log", lua_api_log},
        {"match", lua_match_match},
        {"maybe", lua_api_maybe},
        {"power", lua_api_power},
        {"resume", lua_api_resume},
        {"retry", lua_api_retry},
        {"set_attrib", lua_api_set_attrib},
        {"set_bootenv", lua_api_set_bootenv},
        {"split", lua_match_split},
        {"veto", lua_api_veto},
        {NULL, NULL},
    };
    lua_newtable(lua);
    luaL_setfuncs(lua, functions, 0);
    lua_json_push_null(lua);
    lua_setfield(lua, -2, "null");
    lua_libraries_add(lua, "halligan");
}
