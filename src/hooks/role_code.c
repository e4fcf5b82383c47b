#include "hooks/role_code.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/lua_api.h"
#include "hooks/lua_json.h"
#include "hooks/lua_libraries.h"
#include "hooks/sorted_keys.h"
#include "model/hammer_class.h"
#include "model/limits.h"
#include "model/record.h"

/* Owns the sandbox (sandbox.h) with the Lua state and the compiled file of one role.
 *
 * Order: each call runs the whole file again with new globals, then the requested function. Its
 * result is converted and validated while the sandbox still runs, because Lua owns the strings of
 * the result and an invalid one raises a Lua error.
 *
 * Failure: everything that uses Lua runs inside sandbox_run, so that errors and limits end it with
 * a text. An error in the file, the function or its result makes the task fail; what the task had
 * received before, result and hook commands, is replaced by the failure. A call of veto() also ends
 * the run, but is no failure. A file with an error gives no code. */

struct role_code {
    struct sandbox *sandbox;
};

static char key_main; /* registry key (by address) of the compiled file */

/* ---- loading ---- */

/* Run the file with new globals and leave the table that it returns on the stack. The globals are
 * the first upvalue of the chunk, which all its functions share. */
static void role_code_push_functions(lua_State *lua)
{
    lua_rawgetp(lua, LUA_REGISTRYINDEX, &key_main);
    lua_libraries_push_globals(lua);
    must(lua_setupvalue(lua, -2, 1));
    lua_call(lua, 0, 1);
    if (!lua_istable(lua, -1))
        luaL_error(lua, "the file must return a table of functions, not a %s",
                   luaL_typename(lua, -1));
}

static int role_code_open_libraries(lua_State *lua)
{
    lua_libraries_open(lua);
    lua_json_open(lua);
    lua_api_open(lua);
    return 0;
}

/* The context of a sandbox run that compiles or inspects the file. */
struct loading {
    /* what the functions of `halligan` access; first, so that a pointer to either is valid */
    struct task task;
    const struct role_source *source;
    struct role_functions *functions;
};

static int role_code_compile(lua_State *lua)
{
    const struct loading *loading = sandbox_of(lua)->task;
    const struct role_source *source = loading->source;
    const char *chunk = lua_pushfstring(lua, "@%s", source->chunk);
    /* Source text only: crafted bytecode could escape the sandbox. */
    if (luaL_loadbufferx(lua, source->text.at ? source->text.at : "", source->text.len, chunk,
                         "t") != LUA_OK)
        return lua_error(lua);
    lua_rawsetp(lua, LUA_REGISTRYINDEX, &key_main);
    return 0;
}

/* ---- list of functions ---- */

static bool role_code_note_function(struct role_functions *functions, struct str name)
{
    if (str_eq(name, STR("do_transition"))) {
        functions->has_do_transition = true;
        return true;
    }
    for (int hook = 0; hook < HOOK_COUNT; hook++)
        if (str_eq(name, str_from(hook_name((enum hook)hook)))) {
            functions->hooks |= 1u << hook;
            return true;
        }
    return false;
}

/* The name and its value are on top of the stack. */
static void role_code_note_member(lua_State *lua, struct role_functions *functions,
                                  struct buf *unknown)
{
    size_t len;
    if (lua_type(lua, -2) != LUA_TSTRING)
        luaL_error(lua, "the file must return functions by name, but there is a %s",
                   luaL_typename(lua, -2));
    const char *at = lua_tolstring(lua, -2, &len);
    if (role_code_note_function(functions, (struct str){at, (uint32_t)len})) {
        if (!lua_isfunction(lua, -1))
            luaL_error(lua, "%s must be a function, not a %s", at, luaL_typename(lua, -1));
    } else if (unknown->len + len < SANDBOX_TEXT_MAX) {
        buf_put_z(unknown, unknown->len ? ", " : "");
        buf_put(unknown, at, (uint32_t)len);
    }
}

static int role_code_inspect(lua_State *lua)
{
    const struct loading *loading = sandbox_of(lua)->task;
    struct buf unknown = buf_in(loading->task.arena);
    role_code_push_functions(lua);
    const uint32_t count = sorted_keys_push_sorted(lua, -1);
    for (uint32_t i = 1; i <= count; i++) {
        lua_rawgeti(lua, -1, i);
        lua_pushvalue(lua, -1);
        lua_rawget(lua, -4);
        role_code_note_member(lua, loading->functions, &unknown);
        lua_pop(lua, 2);
    }
    loading->functions->unknown =
        sandbox_clean_text(loading->task.arena, buf_str(&unknown), SANDBOX_TEXT_MAX);
    return 0;
}

/* ---- validation of results ---- */

/* The functions role_code_take_* read the value on top of the Lua stack, or a field of it, raise a
 * Lua error if it is invalid, and leave the stack as it was. */

NORETURN static void role_code_refuse_result(lua_State *lua, const char *expected)
{
    const struct task *task = sandbox_of(lua)->task;
    luaL_error(lua, "%s returned a %s; it must return %s", task->function, luaL_typename(lua, -1),
               expected);
    impossible("luaL_error returned");
}

/* A string that the Lua state owns. */
static struct str role_code_lua_str(lua_State *lua, int index)
{
    size_t len;
    const char *at = lua_tolstring(lua, index, &len);
    return (struct str){at, (uint32_t)len};
}

static void role_code_take_veto(lua_State *lua, struct task *task)
{
    switch (lua_type(lua, -1)) {
    case LUA_TNIL: return;
    case LUA_TBOOLEAN:
        task->veto = !lua_toboolean(lua, -1);
        task->text = task->veto ? STR("the hook gave no reason") : STR("");
        return;
    case LUA_TSTRING:
        task->veto = true;
        task->text = sandbox_clean_text(task->arena, role_code_lua_str(lua, -1), SANDBOX_TEXT_MAX);
        return;
    default: role_code_refuse_result(lua, "nothing, true, false or the reason of a veto");
    }
}

/* `what` names the value in error messages. */
static struct str role_code_take_object(lua_State *lua, struct task *task, const char *what)
{
    if (lua_isnil(lua, -1))
        return STR("{}");
    if (!lua_istable(lua, -1))
        luaL_error(lua, "%s must be a table, not a %s", what, luaL_typename(lua, -1));
    const struct str object = lua_json_take(lua, -1, task->arena);
    if (object.at[0] != '{')
        luaL_error(lua, "%s must be a table with names, not a list", what);
    return object;
}

static enum run_result role_code_take_result(lua_State *lua)
{
    static const struct {
        struct str name;
        enum run_result result;
    } results[] = {{{"ok", 2}, RESULT_OK},
                   {{"failed", 6}, RESULT_FAILED},
                   {{"async", 5}, RESULT_ASYNC},
                   {{"parked", 6}, RESULT_PARKED}};
    if (lua_isnil(lua, -1))
        return RESULT_OK;
    const struct str text = lua_type(lua, -1) == LUA_TSTRING ? role_code_lua_str(lua, -1) : STR("");
    for (uint32_t i = 0; i < sizeof results / sizeof *results; i++)
        if (str_eq(text, results[i].name))
            return results[i].result;
    luaL_error(lua, "the result of a run is \"ok\", \"failed\", \"async\" or \"parked\"");
    impossible("luaL_error returned");
}

static bool role_code_take_flag(lua_State *lua, const char *name)
{
    lua_getfield(lua, -1, name);
    if (!lua_isnil(lua, -1) && !lua_isboolean(lua, -1))
        luaL_error(lua, "%s must be true or false", name);
    const bool flag = lua_toboolean(lua, -1);
    lua_pop(lua, 1);
    return flag;
}

/* How long a run may stay parked. Default: until it is resumed, at most PARK_MS_MAX. */
static int64_t role_code_take_park_ms(lua_State *lua, enum run_result result)
{
    const int kind = lua_getfield(lua, -1, "park_ms");
    int is_whole;
    int64_t park_ms = lua_tointegerx(lua, -1, &is_whole);
    if (kind == LUA_TNIL)
        park_ms = result == RESULT_PARKED ? PARK_MS_MAX : 0;
    else if (result != RESULT_PARKED)
        luaL_error(lua, "park_ms requires the result \"parked\"");
    else if (kind != LUA_TNUMBER || !is_whole || park_ms < 1 || park_ms > PARK_MS_MAX)
        luaL_error(lua, "park_ms must be a whole number from 1 to %d", (int)PARK_MS_MAX);
    lua_pop(lua, 1);
    return park_ms;
}

static struct str role_code_take_string(lua_State *lua, const char *name, struct task *task)
{
    const int kind = lua_getfield(lua, -1, name);
    if (kind != LUA_TNIL && kind != LUA_TSTRING)
        luaL_error(lua, "%s must be a string", name);
    const struct str bytes = kind == LUA_TNIL ? STR("") : role_code_lua_str(lua, -1);
    const struct str text = sandbox_clean_text(task->arena, bytes, SANDBOX_TEXT_MAX);
    lua_pop(lua, 1);
    return text;
}

/* The engine checks which hammers (power and remote access drivers) the node has; an action that no
 * hammer offers is refused here. */
static struct str role_code_take_power(lua_State *lua, struct task *task)
{
    const struct str power = role_code_take_string(lua, "power", task);
    if (power.len && !hammer_class_any_offers(power))
        luaL_error(lua, "power must be an action of a hammer, and \"%s\" is not one",
                   str_z(task->arena, power));
    return power;
}

/* Refuse unknown fields: a misspelt one would be ignored silently. The table is on top of the
 * stack. */
static void role_code_check_fields(lua_State *lua, struct task *task)
{
    static const char *const known[] = {"log",    "node_dead", "park_ms", "power",
                                        "result", "stop",      "wall"};
    const uint32_t count = sorted_keys_push_sorted(lua, -1);
    for (uint32_t i = 1; i <= count; i++) {
        bool is_known = false;
        lua_rawgeti(lua, -1, i);
        for (uint32_t k = 0; k < sizeof known / sizeof *known; k++)
            is_known |= lua_type(lua, -1) == LUA_TSTRING &&
                        str_eq(role_code_lua_str(lua, -1), str_from(known[k]));
        if (!is_known) {
            const bool has_text = lua_isstring(lua, -1);
            const struct str name =
                has_text ? role_code_lua_str(lua, -1) : str_from(luaL_typename(lua, -1));
            luaL_error(lua, "do_transition returned the unknown field \"%s\"",
                       str_z(task->arena, sandbox_clean_text(task->arena, name, NAME_LEN_MAX)));
        }
        lua_pop(lua, 1);
    }
    lua_pop(lua, 1);
}

/* "ok", or { result = "ok", wall = {...}, log = "...", node_dead = true, power = "reboot" } */
static void role_code_take_run(lua_State *lua, struct task *task)
{
    struct run_done_command *done = &task->done;
    if (!lua_istable(lua, -1)) {
        if (!lua_isnil(lua, -1) && lua_type(lua, -1) != LUA_TSTRING)
            role_code_refuse_result(lua, "nothing, a result or a table");
        done->result = role_code_take_result(lua);
        done->park_ms = done->result == RESULT_PARKED ? PARK_MS_MAX : 0;
        return;
    }
    role_code_check_fields(lua, task);
    lua_getfield(lua, -1, "result");
    done->result = role_code_take_result(lua);
    lua_pop(lua, 1);
    lua_getfield(lua, -1, "wall");
    done->has_wall = !lua_isnil(lua, -1);
    if (done->has_wall)
        done->wall = role_code_take_object(lua, task, "the wall");
    lua_pop(lua, 1);
    done->park_ms = role_code_take_park_ms(lua, (enum run_result)done->result);
    done->node_dead = role_code_take_flag(lua, "node_dead");
    done->stop = role_code_take_flag(lua, "stop");
    done->power = role_code_take_power(lua, task);
    task->log = STR_CONCAT(task->arena, task->log, role_code_take_string(lua, "log", task));
}

static void role_code_take_answer(lua_State *lua, struct task *task)
{
    /* Reclaim the memory of a hook command that was not completed. */
    arena_rewind(task->arena, task->kept);
    switch (task->kind) {
    case TASK_INSPECT: return;
    case TASK_NOTIFY:
        if (!lua_isnil(lua, -1))
            role_code_refuse_result(lua, "nothing");
        return;
    case TASK_VETO: role_code_take_veto(lua, task); return;
    case TASK_COMPUTE: task->value = role_code_take_object(lua, task, "what it returns"); return;
    case TASK_TRANSITION: role_code_take_run(lua, task); return;
    }
    impossible("a kind of task outside the enum");
}

/* ---- call ---- */

static int role_code_lua_call(lua_State *lua)
{
    struct task *task = sandbox_of(lua)->task;
    role_code_push_functions(lua);
    if (lua_getfield(lua, -1, task->function) != LUA_TFUNCTION) {
        /* The hook was defined when it was requested, and is not any more: there is nothing to
         * call. A missing do_transition is an error, because the work would not be done. */
        if (task->kind == TASK_TRANSITION)
            luaL_error(lua, "the file defines no %s", task->function);
        return 0;
    }
    for (uint32_t i = 0; i < 2; i++)
        if (task->arguments[i].len)
            lua_json_push(lua, task->arguments[i]);
        else
            lua_pushnil(lua);
    lua_call(lua, 2, 1);
    role_code_take_answer(lua, task);
    return 0;
}

void role_code_call(struct role_code *code, struct task *task)
{
    struct str text;
    task->kept = arena_mark(task->arena);
    if (sandbox_run(code->sandbox, role_code_lua_call, task, task->arena, &text))
        return;
    task->timed_out = code->sandbox->end == SANDBOX_TOO_SLOW;
    const enum sandbox_end end = code->sandbox->end;
    if (end == SANDBOX_EXITED)
        return;
    /* The call failed: drop what it has requested. A veto hook that fails refuses. */
    struct buf b = buf_in(task->arena);
    buf_put_str(&b, text);
    buf_put_z(&b, "\n\tin ");
    buf_put_z(&b, task->function);
    task->failed = true;
    task->veto = task->kind == TASK_VETO;
    task->commands = (struct hook_commands){0};
    task->done = (struct run_done_command){.result = RESULT_FAILED};
    task->reason = end == SANDBOX_NOT_ENDED ? REASON_HOOK_ERROR : REASON_HOOK_LIMIT;
    task->text = buf_str(&b);
}

/* ---- new and free ---- */

/* The first line of an error, with the file name. The traceback is that of the loader and is
 * removed. */
static struct str role_code_error_line(struct arena *arena, const char *chunk, struct str text)
{
    static const struct str traceback = {"\nstack traceback:", 17};
    uint32_t end = 0;
    while (end < text.len && !str_starts(str_slice(text, end, text.len), traceback))
        end++;
    text = str_slice(text, 0, end);
    if (str_starts(text, str_from(chunk)))
        return text;
    return STR_CONCAT(arena, str_from(chunk), STR(": "), text);
}

err role_code_new(const struct role_source *source, struct arena *arena,
                  struct role_code **out_code, struct role_functions *out_functions,
                  struct str *out_text)
{
    struct role_functions functions = {0};
    struct loading loading = {
        .task = {.arena = arena, .kind = TASK_INSPECT, .function = "the file"},
        .source = source,
        .functions = &functions,
    };
    struct str text;
    if (source->text.len > ROLE_CODE_SIZE_MAX) {
        *out_text = role_code_error_line(arena, source->chunk, STR("the file is too large"));
        return ERR_LIMIT;
    }
    struct role_code *code = calloc(1, sizeof *code);
    must(code);
    code->sandbox = sandbox_new(source->limits, source->stop);
    if (!code->sandbox) {
        *out_text = role_code_error_line(arena, source->chunk,
                                         STR("out of memory for the Lua interpreter"));
        free(code);
        return ERR_LIMIT;
    }
    /* Each phase is a run of its own with full limits: open the libraries, compile, list the
     * functions. */
    if (!sandbox_run(code->sandbox, role_code_open_libraries, NULL, arena, &text) ||
        !sandbox_run(code->sandbox, role_code_compile, &loading, arena, &text) ||
        !sandbox_run(code->sandbox, role_code_inspect, &loading, arena, &text)) {
        *out_text = role_code_error_line(arena, source->chunk, text);
        role_code_free(code);
        return ERR_SYNTAX;
    }
    sandbox_collect(code->sandbox);
    *out_code = code;
    *out_functions = functions;
    return OK;
}

void role_code_free(struct role_code *code)
{
    if (!code)
        return;
    sandbox_free(code->sandbox);
    free(code);
}
