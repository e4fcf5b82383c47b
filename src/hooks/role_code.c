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

struct role_code {
    struct sandbox *sandbox;
};

static char key_main; /* its address is a key of the registry: the compiled file */

/* ---- the file ---- */

/* Run the file with new globals; leaves the table it returns on top. The globals are an upvalue of
 * the file, and all functions in it share that. */
static void push_functions(lua_State *lua)
{
    lua_rawgetp(lua, LUA_REGISTRYINDEX, &key_main);
    lua_libraries_push_globals(lua);
    must(lua_setupvalue(lua, -2, 1));
    lua_call(lua, 0, 1);
    if (!lua_istable(lua, -1))
        luaL_error(lua, "the file must return a table of functions, not a %s",
                   luaL_typename(lua, -1));
}

static int open_libraries(lua_State *lua)
{
    lua_libraries_open(lua);
    lua_json_open(lua);
    lua_api_open(lua);
    return 0;
}

/* The task of a run that compiles, or of one that inspects. */
struct loading {
    struct task task; /* what the functions of `halligan` see; first, so that it can be both */
    const struct role_source *source;
    struct role_functions *functions;
};

static int compile(lua_State *lua)
{
    const struct loading *loading = sandbox_of(lua)->task;
    const struct role_source *source = loading->source;
    const char *chunk = lua_pushfstring(lua, "@%s", source->chunk);
    /* Text only: bytecode that no compiler made can do anything. */
    if (luaL_loadbufferx(lua, source->text.at ? source->text.at : "", source->text.len, chunk,
                         "t") != LUA_OK)
        return lua_error(lua);
    lua_rawsetp(lua, LUA_REGISTRYINDEX, &key_main);
    return 0;
}

/* ---- what it defines ---- */

static bool note_hook(struct role_functions *functions, struct str name)
{
    for (int hook = 0; hook < HOOK_COUNT; hook++)
        if (str_eq(name, str_from(hook_name((enum hook)hook)))) {
            functions->hooks |= 1u << hook;
            return true;
        }
    return false;
}

static bool note_function(struct role_functions *functions, struct str name)
{
    if (!str_eq(name, STR("do_transition")))
        return note_hook(functions, name);
    functions->has_do_transition = true;
    return true;
}

/* The name is on top of the stack, and what it stands for. */
static void note_member(lua_State *lua, struct role_functions *functions, struct buf *unknown)
{
    size_t len;
    if (lua_type(lua, -2) != LUA_TSTRING)
        luaL_error(lua, "the file must return functions by name, but there is a %s",
                   luaL_typename(lua, -2));
    const char *at = lua_tolstring(lua, -2, &len);
    if (note_function(functions, (struct str){at, (uint32_t)len})) {
        if (!lua_isfunction(lua, -1))
            luaL_error(lua, "%s must be a function, not a %s", at, luaL_typename(lua, -1));
    } else if (unknown->len + len < SANDBOX_TEXT_MAX) {
        buf_put_z(unknown, unknown->len ? ", " : "");
        buf_put(unknown, at, (uint32_t)len);
    }
}

static int inspect(lua_State *lua)
{
    const struct loading *loading = sandbox_of(lua)->task;
    struct buf unknown = buf_in(loading->task.arena);
    push_functions(lua);
    const uint32_t count = sorted_keys_push_sorted(lua, -1);
    for (uint32_t i = 1; i <= count; i++) {
        lua_rawgeti(lua, -1, i);
        lua_pushvalue(lua, -1);
        lua_rawget(lua, -4);
        note_member(lua, loading->functions, &unknown);
        lua_pop(lua, 2);
    }
    loading->functions->unknown =
        sandbox_clean_text(loading->task.arena, buf_str(&unknown), SANDBOX_TEXT_MAX);
    return 0;
}

/* ---- what came of a call ---- */

NORETURN static void refuse_answer(lua_State *lua, const char *expected)
{
    const struct task *task = sandbox_of(lua)->task;
    luaL_error(lua, "%s returned a %s; it must return %s", task->function, luaL_typename(lua, -1),
               expected);
    impossible("luaL_error returned");
}

/* A text, which the state holds. */
static struct str bytes_of(lua_State *lua, int index)
{
    size_t len;
    const char *at = lua_tolstring(lua, index, &len);
    return (struct str){at, (uint32_t)len};
}

static void take_verdict(lua_State *lua, struct task *task)
{
    switch (lua_type(lua, -1)) {
    case LUA_TNIL: return;
    case LUA_TBOOLEAN:
        task->veto = !lua_toboolean(lua, -1);
        task->text = task->veto ? STR("it gave no reason") : STR("");
        return;
    case LUA_TSTRING:
        task->veto = true;
        task->text = sandbox_clean_text(task->arena, bytes_of(lua, -1), SANDBOX_TEXT_MAX);
        return;
    default: refuse_answer(lua, "nothing, true, false or the reason of a veto");
    }
}

/* `what` names it in a complaint. */
static struct str take_object(lua_State *lua, struct task *task, const char *what)
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

static enum run_result take_result(lua_State *lua)
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
    const struct str text = lua_type(lua, -1) == LUA_TSTRING ? bytes_of(lua, -1) : STR("");
    for (uint32_t i = 0; i < sizeof results / sizeof *results; i++)
        if (str_eq(text, results[i].name))
            return results[i].result;
    luaL_error(lua, "the result of a run is \"ok\", \"failed\", \"async\" or \"parked\"");
    impossible("luaL_error returned");
}

static bool take_flag(lua_State *lua, const char *name)
{
    lua_getfield(lua, -1, name);
    if (!lua_isnil(lua, -1) && !lua_isboolean(lua, -1))
        luaL_error(lua, "%s is true or false", name);
    const bool flag = lua_toboolean(lua, -1);
    lua_pop(lua, 1);
    return flag;
}

/* How long it may be parked. Whoever does not say waits to be resumed, as long as that may take. */
static int64_t take_park_ms(lua_State *lua, enum run_result result)
{
    const int kind = lua_getfield(lua, -1, "park_ms");
    int is_whole;
    int64_t park_ms = lua_tointegerx(lua, -1, &is_whole);
    if (kind == LUA_TNIL)
        park_ms = result == RESULT_PARKED ? PARK_MS_MAX : 0;
    else if (result != RESULT_PARKED)
        luaL_error(lua, "park_ms goes with the result \"parked\"");
    else if (kind != LUA_TNUMBER || !is_whole || park_ms < 1 || park_ms > PARK_MS_MAX)
        luaL_error(lua, "park_ms is a whole number from 1 to %d", (int)PARK_MS_MAX);
    lua_pop(lua, 1);
    return park_ms;
}

static struct str take_member_text(lua_State *lua, const char *name, struct task *task)
{
    const int kind = lua_getfield(lua, -1, name);
    if (kind != LUA_TNIL && kind != LUA_TSTRING)
        luaL_error(lua, "%s is a text", name);
    const struct str bytes = kind == LUA_TNIL ? STR("") : bytes_of(lua, -1);
    const struct str text = sandbox_clean_text(task->arena, bytes, SANDBOX_TEXT_MAX);
    lua_pop(lua, 1);
    return text;
}

/* Which hammers the node has is for the engine to say; that no machine can do it we know. */
static struct str take_power(lua_State *lua, struct task *task)
{
    const struct str power = take_member_text(lua, "power", task);
    if (power.len && !hammer_class_any_offers(power))
        luaL_error(lua, "power is an action of a hammer, and \"%s\" is none",
                   str_z(task->arena, power));
    return power;
}

/* A name that is misspelt would be a wish that nobody hears. The table is on top. */
static void check_members(lua_State *lua, struct task *task)
{
    static const char *const known[] = {"log",    "node_dead", "park_ms", "power",
                                        "result", "stop",      "wall"};
    const uint32_t count = sorted_keys_push_sorted(lua, -1);
    for (uint32_t i = 1; i <= count; i++) {
        bool is_known = false;
        lua_rawgeti(lua, -1, i);
        for (uint32_t k = 0; k < sizeof known / sizeof *known; k++)
            is_known |=
                lua_type(lua, -1) == LUA_TSTRING && str_eq(bytes_of(lua, -1), str_from(known[k]));
        if (!is_known) {
            const bool has_text = lua_isstring(lua, -1);
            const struct str name = has_text ? bytes_of(lua, -1) : str_from(luaL_typename(lua, -1));
            luaL_error(lua, "do_transition returned \"%s\", which nobody knows",
                       str_z(task->arena, sandbox_clean_text(task->arena, name, NAME_LEN_MAX)));
        }
        lua_pop(lua, 1);
    }
    lua_pop(lua, 1);
}

/* "ok", or { result = "ok", wall = {...}, log = "...", node_dead = true, power = "reboot" } */
static void take_run(lua_State *lua, struct task *task)
{
    struct run_done_command *done = &task->done;
    if (!lua_istable(lua, -1)) {
        if (!lua_isnil(lua, -1) && lua_type(lua, -1) != LUA_TSTRING)
            refuse_answer(lua, "nothing, a result or a table");
        done->result = take_result(lua);
        done->park_ms = done->result == RESULT_PARKED ? PARK_MS_MAX : 0;
        return;
    }
    check_members(lua, task);
    lua_getfield(lua, -1, "result");
    done->result = take_result(lua);
    lua_pop(lua, 1);
    lua_getfield(lua, -1, "wall");
    done->has_wall = !lua_isnil(lua, -1);
    if (done->has_wall)
        done->wall = take_object(lua, task, "the wall");
    lua_pop(lua, 1);
    done->park_ms = take_park_ms(lua, (enum run_result)done->result);
    done->node_dead = take_flag(lua, "node_dead");
    done->stop = take_flag(lua, "stop");
    done->power = take_power(lua, task);
    task->log = STR_CONCAT(task->arena, task->log, take_member_text(lua, "log", task));
}

static void take_answer(lua_State *lua, struct task *task)
{
    arena_rewind(task->arena, task->kept);
    switch (task->kind) {
    case TASK_READ: return;
    case TASK_TELL:
        if (!lua_isnil(lua, -1))
            refuse_answer(lua, "nothing");
        return;
    case TASK_ASK: take_verdict(lua, task); return;
    case TASK_COMPUTE: task->value = take_object(lua, task, "what it returns"); return;
    case TASK_TRANSITION: take_run(lua, task); return;
    }
    impossible("a kind of task outside the enum");
}

/* ---- a call ---- */

static int call(lua_State *lua)
{
    struct task *task = sandbox_of(lua)->task;
    push_functions(lua);
    if (lua_getfield(lua, -1, task->function) != LUA_TFUNCTION) {
        /* It was defined when somebody wanted it called, and is not any more: nobody is there to
         * be told or asked. But work that nobody does is not done. */
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
    take_answer(lua, task);
    return 0;
}

static void note_failure(struct task *task, enum reason_code code, struct str text)
{
    struct buf b = buf_in(task->arena);
    buf_put_str(&b, text);
    buf_put_z(&b, "\n\tin ");
    buf_put_z(&b, task->function);
    task->failed = true;
    task->veto = task->kind == TASK_ASK;
    task->wishes = (struct hook_commands){0};
    task->done = (struct run_done_command){.result = RESULT_FAILED};
    task->reason = code;
    task->text = buf_str(&b);
}

void role_code_call(struct role_code *code, struct task *task)
{
    struct str text;
    task->kept = arena_mark(task->arena);
    if (sandbox_run(code->sandbox, call, task, task->arena, &text))
        return;
    task->ran_out = code->sandbox->end == SANDBOX_TOO_SLOW;
    const enum sandbox_end end = code->sandbox->end;
    if (end != SANDBOX_LEFT)
        note_failure(task, end == SANDBOX_GOES_ON ? REASON_HOOK_ERROR : REASON_HOOK_LIMIT, text);
}

/* ---- from new to free ---- */

/* One line, with the file in front. The way there is that of the reader, and tells nothing. */
static struct str complaint(struct arena *arena, const char *chunk, struct str text)
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
        .task = {.arena = arena, .kind = TASK_READ, .function = "the file"},
        .source = source,
        .functions = &functions,
    };
    struct str text;
    if (source->text.len > ROLE_CODE_SIZE_MAX) {
        *out_text = complaint(arena, source->chunk, STR("the file is too large"));
        return ERR_LIMIT;
    }
    struct role_code *code = calloc(1, sizeof *code);
    must(code);
    code->sandbox = sandbox_new(source->limits, source->stop);
    if (!code->sandbox) {
        *out_text = complaint(arena, source->chunk, STR("there is no memory for an interpreter"));
        free(code);
        return ERR_LIMIT;
    }
    if (!sandbox_run(code->sandbox, open_libraries, NULL, arena, &text) ||
        !sandbox_run(code->sandbox, compile, &loading, arena, &text) ||
        !sandbox_run(code->sandbox, inspect, &loading, arena, &text)) {
        *out_text = complaint(arena, source->chunk, text);
        role_code_free(code);
        return ERR_SYNTAX;
    }
    sandbox_settle(code->sandbox);
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
