#include "hooks/lua_libraries.h"

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "hooks/sandbox.h"
#include "hooks/sorted_keys.h"
#include "model/limits.h"

/* The functions of the standard library are wrapped where they need a charge or a deterministic
 * result; the original is the first upvalue of the wrapper. Tables are exposed through read-only
 * proxies. All data belongs to the Lua state.
 *
 * Order in lua_libraries_open: the base functions come first, because lua_libraries_add adds the
 * other tables to them; the globals that luaopen_base has filled are replaced last. Failure: wrong
 * arguments and exceeded limits raise a Lua error, which the caller of sandbox_run gets as a text.
 */

enum { UNPACK_MAX = 4000 }; /* results of one call of table.unpack */

/* Registry keys (by address). */
static char key_library, key_globals_meta;

/* ---- wrapped functions ---- */

/* Call the original, which is the first upvalue, with the current arguments. */
static int lua_libraries_call_original(lua_State *lua)
{
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, lua_gettop(lua) - 1, LUA_MULTRET);
    return lua_gettop(lua);
}

/* ---- errors ---- */

/* pcall: errors can be caught, the end of a run cannot. */
static int lua_libraries_pcall(lua_State *lua)
{
    luaL_checkany(lua, 1);
    const int status = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0);
    struct sandbox *s = sandbox_of(lua);
    if (status == LUA_ERRMEM && s->end == SANDBOX_NOT_ENDED)
        s->end = SANDBOX_TOO_LARGE;
    if (status != LUA_OK && s->end_raised)
        return lua_error(lua); /* it already contains the position */
    sandbox_charge(lua, 1);    /* does not return if the run has ended */
    lua_pushboolean(lua, status == LUA_OK);
    lua_insert(lua, 1);
    return lua_gettop(lua);
}

/* ---- strings ---- */

/* The text for a value whose address would be shown otherwise. */
static const char *lua_libraries_plain_name(lua_State *lua, int index)
{
    switch (lua_type(lua, index)) {
    case LUA_TTABLE: return "table";
    case LUA_TFUNCTION: return "function";
    case LUA_TLIGHTUSERDATA: return "null";
    default: return NULL;
    }
}

static int lua_libraries_to_string(lua_State *lua)
{
    luaL_checkany(lua, 1);
    const char *name = lua_libraries_plain_name(lua, 1);
    if (name)
        lua_pushstring(lua, name);
    else
        luaL_tolstring(lua, 1, NULL);
    return 1;
}

static int lua_libraries_repeat(lua_State *lua)
{
    size_t len, sep_len = 0;
    luaL_checklstring(lua, 1, &len);
    const lua_Integer count = luaL_checkinteger(lua, 2);
    luaL_optlstring(lua, 3, "", &sep_len);
    if (count > 0 && (len > DOC_MAX || sep_len > DOC_MAX ||
                      (uint64_t)count > DOC_MAX / (len + sep_len ? len + sep_len : 1)))
        return luaL_error(lua, "the text would be longer than %d bytes", (int)DOC_MAX);
    return lua_libraries_call_original(lua);
}

/* %p shows an address and is refused. %s of a table or function shows one too, so such arguments
 * are replaced by the name of their type. */
static int lua_libraries_format(lua_State *lua)
{
    for (const char *at = luaL_checkstring(lua, 1); (at = strchr(at, '%')); at++) {
        at += 1 + strspn(at + 1, "-+ #0123456789.");
        if (*at == 'p')
            return luaL_error(lua, "invalid conversion '%%p' to 'format'");
        if (!*at)
            break;
    }
    for (int i = 2; i <= lua_gettop(lua); i++)
        if (lua_libraries_plain_name(lua, i)) {
            lua_pushstring(lua, lua_libraries_plain_name(lua, i));
            lua_replace(lua, i);
        }
    return lua_libraries_call_original(lua);
}

/* ---- tables ---- */

static int lua_libraries_next_pair(lua_State *lua)
{
    /* Upvalues: the table, its sorted keys, the number of keys returned. */
    lua_Integer at = lua_tointeger(lua, lua_upvalueindex(3));
    for (;;) {
        at++;
        if (lua_rawgeti(lua, lua_upvalueindex(2), at) == LUA_TNIL)
            return 1;
        lua_pushvalue(lua, -1);
        if (lua_rawget(lua, lua_upvalueindex(1)) != LUA_TNIL)
            break;
        lua_settop(lua, 0); /* removed during the traversal */
        sandbox_charge(lua, 1);
    }
    lua_pushinteger(lua, at);
    lua_replace(lua, lua_upvalueindex(3));
    return 2;
}

static int lua_libraries_pairs(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_pushvalue(lua, 1);
    sorted_keys_push_sorted(lua, 1);
    lua_pushinteger(lua, 0);
    lua_pushcclosure(lua, lua_libraries_next_pair, 3);
    return 1;
}

/* Shifting and joining are linear in the length of the table. */
static int lua_libraries_charge_table(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    sandbox_charge(lua, 1 + lua_rawlen(lua, 1) / 8);
    return lua_libraries_call_original(lua);
}

static int lua_libraries_insert(lua_State *lua)
{
    return lua_gettop(lua) > 2 ? lua_libraries_charge_table(lua) : lua_libraries_call_original(lua);
}

static int lua_libraries_unpack(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    const lua_Integer first = luaL_optinteger(lua, 2, 1);
    const lua_Integer last = luaL_opt(lua, luaL_checkinteger, 3, (lua_Integer)lua_rawlen(lua, 1));
    if (first > last)
        return 0;
    const uint64_t count = (uint64_t)last - (uint64_t)first;
    if (count >= UNPACK_MAX || !lua_checkstack(lua, (int)count + 1))
        return luaL_error(lua, "too many results to unpack");
    sandbox_charge(lua, count / 8);
    for (uint64_t i = 0; i <= count; i++)
        lua_geti(lua, 1, (lua_Integer)((uint64_t)first + i));
    return (int)count + 1;
}

/* Upvalue: the comparison function, or nil for the default order. */
static int lua_libraries_is_before(lua_State *lua)
{
    const bool is_text = lua_type(lua, 1) == LUA_TSTRING;
    sandbox_charge(lua, 1 + (is_text ? lua_rawlen(lua, 1) / 64 : 0));
    lua_settop(lua, 2);
    if (lua_isnil(lua, lua_upvalueindex(1))) {
        lua_pushboolean(lua, lua_compare(lua, 1, 2, LUA_OPLT));
        return 1;
    }
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, 2, 1);
    return 1;
}

static int lua_libraries_sort(lua_State *lua)
{
    luaL_checktype(lua, 1, LUA_TTABLE);
    if (!lua_isnoneornil(lua, 2))
        luaL_checktype(lua, 2, LUA_TFUNCTION);
    lua_settop(lua, 2);
    lua_pushcclosure(lua, lua_libraries_is_before, 1);
    return lua_libraries_call_original(lua);
}

/* ---- assembly ---- */

struct member {
    const char *name;
    /* the wrapper, with the original as upvalue; NULL: the original itself */
    lua_CFunction wrapper;
};

static const struct member of_base[] = {
    {"assert", NULL},   {"error", NULL},
    {"ipairs", NULL},   {"pairs", lua_libraries_pairs},
    {"select", NULL},   {"pcall", lua_libraries_pcall},
    {"tonumber", NULL}, {"tostring", lua_libraries_to_string},
    {"type", NULL},     {0},
};
static const struct member of_string[] = {
    {"byte", NULL},
    {"char", NULL},
    {"format", lua_libraries_format},
    {"len", NULL},
    {"lower", NULL},
    {"rep", lua_libraries_repeat},
    {"reverse", NULL},
    {"sub", NULL},
    {"upper", NULL},
    {0},
};
static const struct member of_table[] = {
    {"concat", lua_libraries_charge_table},
    {"insert", lua_libraries_insert},
    {"pack", NULL},
    {"remove", lua_libraries_charge_table},
    {"sort", lua_libraries_sort},
    {"unpack", lua_libraries_unpack},
    {0},
};
static const struct member of_math[] = {
    {"abs", NULL},  {"ceil", NULL},       {"floor", NULL}, {"fmod", NULL},       {"huge", NULL},
    {"max", NULL},  {"maxinteger", NULL}, {"min", NULL},   {"mininteger", NULL}, {"modf", NULL},
    {"sqrt", NULL}, {"tointeger", NULL},  {"type", NULL},  {"ult", NULL},        {0},
};

/* Push a table with these members of the library that `open` creates. */
static void lua_libraries_push_part(lua_State *lua, lua_CFunction open, const char *name,
                                    const struct member *members)
{
    lua_newtable(lua);
    lua_pushcfunction(lua, open);
    lua_call(lua, 0, 1);
    for (; members->name; members++) {
        const int kind = lua_getfield(lua, -1, members->name);
        must(kind != LUA_TNIL);
        if (members->wrapper)
            lua_pushcclosure(lua, members->wrapper, 1);
        lua_setfield(lua, -3, members->name);
    }
    if (name) {
        /* Register the original table: error messages and tracebacks look up function names
         * there. */
        luaL_getsubtable(lua, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
        lua_pushvalue(lua, -2);
        lua_setfield(lua, -2, name);
        lua_pop(lua, 1);
    }
    lua_pop(lua, 1);
}

static int lua_libraries_refuse_write(lua_State *lua)
{
    return luaL_error(lua, "the library cannot be changed");
}

void lua_libraries_add(lua_State *lua, const char *name)
{
    /* Replace the table on top of the stack by a read-only proxy. */
    lua_newtable(lua);
    lua_createtable(lua, 0, 2);
    lua_rotate(lua, -3, -1);
    lua_setfield(lua, -2, "__index");
    lua_pushcfunction(lua, lua_libraries_refuse_write);
    lua_setfield(lua, -2, "__newindex");
    lua_setmetatable(lua, -2);
    /* Add the proxy to the library. */
    lua_rawgetp(lua, LUA_REGISTRYINDEX, &key_library);
    lua_insert(lua, -2);
    lua_setfield(lua, -2, name);
    lua_pop(lua, 1);
}

void lua_libraries_open(lua_State *lua)
{
    lua_libraries_push_part(lua, luaopen_base, NULL, of_base);
    lua_createtable(lua, 0, 1);
    lua_pushvalue(lua, -2);
    lua_setfield(lua, -2, "__index");
    lua_rawsetp(lua, LUA_REGISTRYINDEX, &key_globals_meta);
    lua_rawsetp(lua, LUA_REGISTRYINDEX, &key_library);

    lua_libraries_push_part(lua, luaopen_string, "string", of_string);
    /* ("x"):rep(3) uses string.rep of this library: luaopen_string has set the metatable of
     * strings. */
    lua_pushliteral(lua, "");
    must(lua_getmetatable(lua, -1));
    lua_pushvalue(lua, -3);
    lua_setfield(lua, -2, "__index");
    lua_pop(lua, 2);
    lua_libraries_add(lua, "string");
    lua_libraries_push_part(lua, luaopen_table, "table", of_table);
    lua_libraries_add(lua, "table");
    lua_libraries_push_part(lua, luaopen_math, "math", of_math);
    lua_libraries_add(lua, "math");

    /* luaopen_base has filled the globals of the state, which are not used: replace them. */
    lua_newtable(lua);
    lua_rawseti(lua, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
}

void lua_libraries_push_globals(lua_State *lua)
{
    lua_newtable(lua);
    lua_rawgetp(lua, LUA_REGISTRYINDEX, &key_globals_meta);
    lua_setmetatable(lua, -2);
}
