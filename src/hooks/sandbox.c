#include "hooks/sandbox.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sys/clock.h"

/* Four bounds, because each of them alone has a hole. Instructions are counted by the state's own
 * count hook, but an instruction may copy megabytes: so the allocator counts bytes, and everything
 * that copies allocates. What neither copies nor counts (comparing long texts, reading a number out
 * of one) is left to the processor's clock. Memory is the allocator's matter.
 *
 * The collector is off. Garbage goes when the memory is full, which costs as many bytes as are
 * held, and between two runs when there is enough of it. */

enum {
    INTERVAL = 256,      /* instructions between two looks at the bounds */
    INTERVAL_CLOSE = 16, /* when single instructions may be slow         */
    SLOW_MS = 3,         /* for one interval                             */
    LARGE_BLOCK = 1 << 18,
    GARBAGE_MAX = 1 << 18, /* bytes that may lie around between two runs */
    TRAFFIC_FACTOR = 16,   /* bytes copied in a run, in units of the memory */
    OVERDRAFT = 4,         /* the memory may be overdrawn by one part of so many */
};

/* ---- the bounds ---- */

struct sandbox *sandbox_of(lua_State *lua)
{
    return *(struct sandbox **)lua_getextraspace(lua);
}

static const char *end_text(lua_State *lua, enum sandbox_end end)
{
    const struct sandbox_limits *limits = &sandbox_of(lua)->limits;
    switch (end) {
    case SANDBOX_TOO_LONG:
        return lua_pushfstring(lua, "it took more than %d instructions", (int)limits->instructions);
    case SANDBOX_TOO_MUCH:
        return lua_pushfstring(lua, "it moved more than %d MiB around in memory",
                               (int)(limits->memory_size >> 20) * TRAFFIC_FACTOR);
    case SANDBOX_TOO_LARGE:
        return lua_pushfstring(lua, "it needs more than %d KiB of memory",
                               (int)(limits->memory_size >> 10));
    case SANDBOX_TOO_SLOW:
        return lua_pushfstring(lua, "it ran for more than %d ms", (int)limits->cpu_ms);
    case SANDBOX_STOPPED: return lua_pushstring(lua, "the daemon is stopping");
    case SANDBOX_LEFT: return lua_pushstring(lua, "it left");
    case SANDBOX_GOES_ON: break;
    }
    impossible("a run that goes on did not end");
}

/* Level 0 is what the count hook interrupted; level 1 the caller of a function of ours. */
NORETURN static void raise_end(lua_State *lua, int level)
{
    sandbox_of(lua)->is_told = true;
    luaL_where(lua, level);
    end_text(lua, sandbox_of(lua)->end);
    lua_concat(lua, 2);
    lua_error(lua);
    impossible("lua_error returned");
}

static int64_t cpu_ms(void)
{
    struct timespec now;
    must(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void on_count(lua_State *lua, lua_Debug *where);

static void watch(struct sandbox *s, int interval)
{
    s->interval = interval;
    lua_sethook(s->lua, on_count, LUA_MASKCOUNT, interval);
}

/* The wall clock is cheap to read but may run while we do not: the thread's own decides. */
static void turn_sample_clock(struct sandbox *s)
{
    const int64_t now_ms = sys_mono_ms();
    if (!s->seen_ms) {
        s->due_ms = now_ms + s->limits.cpu_ms;
        s->due_cpu_ms = cpu_ms() + s->limits.cpu_ms;
    } else if (now_ms - s->seen_ms >= SLOW_MS && s->interval > INTERVAL_CLOSE) {
        watch(s, INTERVAL_CLOSE);
    }
    s->seen_ms = now_ms;
    if (now_ms >= s->due_ms && cpu_ms() >= s->due_cpu_ms)
        s->end = SANDBOX_TOO_SLOW;
}

static void look(struct sandbox *s)
{
    if (s->end != SANDBOX_GOES_ON)
        return;
    if (s->units_left <= 0)
        s->end = SANDBOX_TOO_LONG;
    else if (s->stop && atomic_load_explicit(s->stop, memory_order_relaxed))
        s->end = SANDBOX_STOPPED;
    else
        turn_sample_clock(s);
}

/* More is held than may be: without the garbage too? */
static void make_room(struct sandbox *s)
{
    s->is_full = false;
    s->traffic_left -= (int64_t)s->used;
    lua_gc(s->lua, LUA_GCCOLLECT);
    if (s->used > s->limits.memory_size && s->end == SANDBOX_GOES_ON)
        s->end = SANDBOX_TOO_LARGE;
    watch(s, INTERVAL_CLOSE);
}

static void on_count(lua_State *lua, lua_Debug *where)
{
    (void)where;
    struct sandbox *s = sandbox_of(lua);
    s->units_left -= s->interval;
    look(s);
    if (s->is_full)
        make_room(s);
    if (s->end != SANDBOX_GOES_ON)
        raise_end(lua, 0);
}

void sandbox_charge(lua_State *lua, uint64_t units)
{
    struct sandbox *s = sandbox_of(lua);
    const int64_t before = s->units_left;
    s->units_left = units < (uint64_t)INT32_MAX ? before - (int64_t)units : 0;
    /* Small charges add up to an interval; that is often enough to look at the clock. */
    if (s->units_left <= 0 || before / INTERVAL != s->units_left / INTERVAL)
        look(s);
    if (s->end != SANDBOX_GOES_ON)
        raise_end(lua, 1);
}

void sandbox_leave(lua_State *lua)
{
    sandbox_of(lua)->end = SANDBOX_LEFT;
    raise_end(lua, 1);
}

/* ---- memory ---- */

/* What goes beyond a bound is granted for a while: at its next instruction the run is looked at,
 * and if it ends there it can still say where. The functions of Lua's library that build texts need
 * this too, since they give up at the first refusal, without collecting. */
static bool may_grow(struct sandbox *s, size_t old_size, size_t new_size)
{
    if (!s->is_running)
        return true;
    s->traffic_left -= (int64_t)new_size;
    if (s->traffic_left < 0) {
        if (s->end == SANDBOX_GOES_ON)
            s->end = SANDBOX_TOO_MUCH;
        watch(s, 1);
        return s->traffic_left > -(int64_t)s->limits.memory_size;
    }
    if (new_size >= LARGE_BLOCK && s->interval > INTERVAL_CLOSE)
        watch(s, INTERVAL_CLOSE);
    const size_t after = s->used - old_size + new_size, max = s->limits.memory_size;
    if (after <= max)
        return true;
    s->is_full = true;
    watch(s, 1);
    if (after <= max + max / OVERDRAFT)
        return true;
    s->traffic_left -= (int64_t)s->used; /* now the state collects, and asks once more */
    return false;
}

/* The state takes for granted that giving memory back works. */
static void *allocate(void *self, void *block, size_t old_size, size_t new_size)
{
    struct sandbox *s = self;
    if (!block)
        old_size = 0; /* it tells the kind of the object then */
    if (new_size == 0) {
        free(block);
        s->used -= old_size;
        return NULL;
    }
    if (new_size > old_size && !may_grow(s, old_size, new_size))
        return NULL;
    void *at = realloc(block, new_size);
    if (!at && new_size > old_size)
        return NULL;
    s->used = s->used - old_size + new_size;
    return at ? at : block;
}

/* ---- texts ---- */

/* What a terminal might obey: C0 but for tabs and ends of lines, DEL, and C1. */
static bool is_control(struct str one)
{
    const unsigned char first = (unsigned char)one.at[0];
    if (one.len == 1)
        return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f;
    return one.len == 2 && first == 0xc2 && (unsigned char)one.at[1] < 0xa0;
}

/* Bytes of the character there; 0 when it is none. */
static uint32_t char_size(struct str text, uint32_t at)
{
    for (uint32_t size = 1; size <= 4 && at + size <= text.len; size++)
        if (str_is_clean(str_slice(text, at, at + size)))
            return size;
    return 0;
}

struct str sandbox_clean_text(struct arena *arena, struct str text, uint32_t max)
{
    char *out = arena_alloc(arena, max);
    uint32_t len = 0;
    for (uint32_t at = 0, size; at < text.len; at += size) {
        size = char_size(text, at);
        const bool is_shown = size && !is_control(str_slice(text, at, at + size));
        const uint32_t shown_size = is_shown ? size : 1;
        size = size ? size : 1;
        if (len + shown_size > max)
            break;
        if (is_shown)
            memcpy(out + len, text.at + at, size);
        else
            out[len] = '?';
        len += shown_size;
    }
    return (struct str){out, len};
}

/* The frame at the bottom is ours and tells nothing. */
static struct str without_last_frame(struct str text)
{
    static const struct str last = {"\n\t[C]: in ?", 11};
    return str_ends(text, last) ? str_slice(text, 0, text.len - last.len) : text;
}

/* ---- running ---- */

/* Push what of a message is told. It may be long, and hold zeros, at which Lua's own functions take
 * it to end; cut, it leaves room for the way there. */
static void push_message(lua_State *lua, int index)
{
    struct arena arena = {0};
    size_t len;
    const char *at = lua_tolstring(lua, index, &len);
    char cut[SANDBOX_MESSAGE_MAX];
    const struct str message =
        sandbox_clean_text(&arena, (struct str){at, (uint32_t)len}, sizeof cut);
    memcpy(cut, message.at, message.len);
    const bool is_whole = len <= sizeof cut;
    const uint32_t kept = message.len;
    arena_fini(&arena);
    lua_pushlstring(lua, cut, kept);
    if (!is_whole)
        lua_pushstring(lua, "...");
    lua_concat(lua, is_whole ? 1 : 2);
}

/* "attempt to index a nil value (global 'os')": the library or function of Lua that hooks do not
 * have, or NULL if the message is about something else. */
static const char *unavailable_in(const char *message)
{
    static const char *const names[] = {"os",     "io",       "require", "package",   "debug",
                                        "dofile", "loadfile", "load",    "coroutine", "print"};
    const char *at = strstr(message, "(global '");
    for (size_t i = 0; at && i < sizeof names / sizeof names[0]; i++) {
        const size_t len = strlen(names[i]);
        if (strncmp(at + 9, names[i], len) == 0 && at[9 + len] == '\'')
            return names[i];
    }
    return NULL;
}

/* Called where the error happened, when nobody caught it: the bounds are of no use any more. */
static int explain(lua_State *lua)
{
    struct sandbox *s = sandbox_of(lua);
    s->is_running = false;
    lua_sethook(lua, NULL, 0, 0);
    const char *message = lua_isstring(lua, 1) ? lua_tostring(lua, 1) : NULL;
    const char *unavailable = message ? unavailable_in(message) : NULL;
    if (unavailable) {
        push_message(lua, 1);
        lua_pushfstring(lua, "; %s is not available in hooks", unavailable);
        lua_concat(lua, 2);
    } else if (message)
        push_message(lua, 1);
    else
        lua_pushfstring(lua, "the error is a %s and no text", luaL_typename(lua, 1));
    lua_pushstring(lua, "\n");
    luaL_traceback(lua, lua, NULL, 1);
    lua_concat(lua, 3);
    return 1;
}

static void begin(struct sandbox *s, void *task)
{
    s->task = task;
    s->end = SANDBOX_GOES_ON;
    s->is_full = false;
    s->is_told = false;
    s->units_left = s->limits.instructions;
    s->traffic_left = (int64_t)s->limits.memory_size * TRAFFIC_FACTOR;
    s->seen_ms = 0;
    s->is_running = true;
    watch(s, INTERVAL);
}

static struct str fail_text(struct sandbox *s, int status)
{
    size_t len;
    if (status == LUA_ERRMEM && s->end == SANDBOX_GOES_ON)
        s->end = SANDBOX_TOO_LARGE;
    /* An error may have come between a bound and the next instruction: the bound counts. A full
     * memory comes without a text of its own. */
    const bool told = s->end == SANDBOX_GOES_ON || (s->is_told && status == LUA_ERRRUN);
    const char *text = told ? lua_tolstring(s->lua, -1, &len) : end_text(s->lua, s->end);
    if (!text)
        text = "an error without a text";
    else if (told)
        return without_last_frame((struct str){text, (uint32_t)len});
    return str_from(text);
}

void sandbox_settle(struct sandbox *s)
{
    lua_gc(s->lua, LUA_GCCOLLECT);
    s->settled = s->used;
}

bool sandbox_run(struct sandbox *s, lua_CFunction body, void *task, struct arena *arena,
                 struct str *out_text)
{
    lua_settop(s->lua, 0);
    lua_pushcfunction(s->lua, explain);
    lua_pushcfunction(s->lua, body);
    begin(s, task);
    const int status = lua_pcall(s->lua, 0, 0, 1);
    s->is_running = false;
    const bool done = status == LUA_OK && s->end == SANDBOX_GOES_ON;
    if (!done)
        *out_text = sandbox_clean_text(arena, fail_text(s, status), SANDBOX_TEXT_MAX);
    lua_settop(s->lua, 0);
    if (s->used > s->settled + GARBAGE_MAX)
        sandbox_settle(s);
    return done;
}

/* ---- from new to free ---- */

struct sandbox *sandbox_new(struct sandbox_limits limits, const atomic_bool *stop)
{
    struct sandbox *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->limits = limits;
    s->stop = stop;
    s->lua = lua_newstate(allocate, s);
    if (!s->lua) {
        free(s);
        return NULL;
    }
    *(struct sandbox **)lua_getextraspace(s->lua) = s;
    lua_gc(s->lua, LUA_GCSTOP);
    return s;
}

void sandbox_free(struct sandbox *s)
{
    if (!s)
        return;
    lua_close(s->lua);
    free(s);
}
