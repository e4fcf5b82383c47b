#include "hooks/sandbox.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sys/clock.h"

/* Four limits, because each of them alone has a gap. Instructions are counted by the count hook of
 * Lua, but one instruction may copy megabytes: so the allocator counts bytes, and everything that
 * copies allocates. Work that neither copies nor executes instructions (comparing long strings,
 * parsing a number) is covered by the CPU clock of the thread. Memory is limited in the allocator.
 *
 * The garbage collector is off. Garbage is collected when the memory limit is reached, which is
 * charged as copying all allocated bytes, and between two runs when there is enough of it.
 *
 * Limits are checked every `interval` instructions, and in C functions by sandbox_charge. A limit
 * sets `end` first and then raises a Lua error. The allocator must not raise one, so it sets `end`
 * or `is_full` and an interval of 1: the error follows at the next instruction. pcall in the
 * sandbox re-raises it (lua_libraries.c), so code cannot continue after a limit. After a failed run
 * the sandbox can be used again: each run begins with an empty stack and full limits. */

enum {
    INTERVAL = 256,        /* instructions between two checks of the limits */
    INTERVAL_CLOSE = 16,   /* if single instructions may be slow */
    SLOW_MS = 3,           /* an interval that takes longer is slow */
    LARGE_BLOCK = 1 << 18, /* bytes; an instruction that copies such a block is slow */
    GARBAGE_MAX = 1 << 18, /* bytes of garbage tolerated between two runs */
    TRAFFIC_FACTOR = 16,   /* limit of copied bytes, as a multiple of the memory limit */
    OVERDRAFT = 4,         /* the memory limit may be exceeded temporarily by this fraction of it */
};

/* ---- limits ---- */

struct sandbox *sandbox_of(lua_State *lua)
{
    return *(struct sandbox **)lua_getextraspace(lua);
}

static const char *sandbox_end_text(lua_State *lua, enum sandbox_end end)
{
    const struct sandbox_limits *limits = &sandbox_of(lua)->limits;
    switch (end) {
    case SANDBOX_TOO_LONG:
        return lua_pushfstring(lua, "it took more than %d instructions", (int)limits->instructions);
    case SANDBOX_TOO_MUCH:
        return lua_pushfstring(lua, "it copied more than %d MiB in memory",
                               (int)(limits->memory_size >> 20) * TRAFFIC_FACTOR);
    case SANDBOX_TOO_LARGE:
        return lua_pushfstring(lua, "it needs more than %d KiB of memory",
                               (int)(limits->memory_size >> 10));
    case SANDBOX_TOO_SLOW:
        return lua_pushfstring(lua, "it ran for more than %d ms", (int)limits->cpu_ms);
    case SANDBOX_STOPPED: return lua_pushstring(lua, "the daemon is stopping");
    case SANDBOX_EXITED: return lua_pushstring(lua, "it left");
    case SANDBOX_NOT_ENDED: break;
    }
    impossible("a run that has not ended");
}

/* Raise the error for `end`. Level 0 is the interrupted function, level 1 the caller of a C
 * function. */
NORETURN static void sandbox_raise_end(lua_State *lua, int level)
{
    sandbox_of(lua)->end_raised = true;
    luaL_where(lua, level);
    sandbox_end_text(lua, sandbox_of(lua)->end);
    lua_concat(lua, 2);
    lua_error(lua);
    impossible("lua_error returned");
}

static int64_t sandbox_thread_cpu_ms(void)
{
    struct timespec now;
    must(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void sandbox_on_count(lua_State *lua, lua_Debug *where);

static void sandbox_set_interval(struct sandbox *s, int interval)
{
    s->interval = interval;
    lua_sethook(s->lua, sandbox_on_count, LUA_MASKCOUNT, interval);
}

/* The monotonic clock is cheap to read but also advances while the thread is not scheduled: the CPU
 * clock decides. */
static void sandbox_check_clock(struct sandbox *s)
{
    const int64_t now_ms = sys_mono_ms();
    if (!s->sampled_ms) {
        s->due_ms = now_ms + s->limits.cpu_ms;
        s->due_cpu_ms = sandbox_thread_cpu_ms() + s->limits.cpu_ms;
    } else if (now_ms - s->sampled_ms >= SLOW_MS && s->interval > INTERVAL_CLOSE) {
        sandbox_set_interval(s, INTERVAL_CLOSE);
    }
    s->sampled_ms = now_ms;
    if (now_ms >= s->due_ms && sandbox_thread_cpu_ms() >= s->due_cpu_ms)
        s->end = SANDBOX_TOO_SLOW;
}

static void sandbox_check_limits(struct sandbox *s)
{
    if (s->end != SANDBOX_NOT_ENDED)
        return;
    if (s->units_left <= 0)
        s->end = SANDBOX_TOO_LONG;
    else if (s->stop && atomic_load_explicit(s->stop, memory_order_relaxed))
        s->end = SANDBOX_STOPPED;
    else
        sandbox_check_clock(s);
}

static void sandbox_on_count(lua_State *lua, lua_Debug *where)
{
    (void)where;
    struct sandbox *s = sandbox_of(lua);
    s->units_left -= s->interval;
    sandbox_check_limits(s);
    if (s->is_full) {
        /* The memory limit is exceeded: collect garbage, and end the run if that does not help. */
        s->is_full = false;
        s->traffic_left -= (int64_t)s->used;
        lua_gc(s->lua, LUA_GCCOLLECT);
        if (s->used > s->limits.memory_size && s->end == SANDBOX_NOT_ENDED)
            s->end = SANDBOX_TOO_LARGE;
        sandbox_set_interval(s, INTERVAL_CLOSE);
    }
    if (s->end != SANDBOX_NOT_ENDED)
        sandbox_raise_end(lua, 0);
}

void sandbox_charge(lua_State *lua, uint64_t units)
{
    struct sandbox *s = sandbox_of(lua);
    const int64_t before = s->units_left;
    s->units_left = units < (uint64_t)INT32_MAX ? before - (int64_t)units : 0;
    /* Check the clock once per interval, also for small charges. */
    if (s->units_left <= 0 || before / INTERVAL != s->units_left / INTERVAL)
        sandbox_check_limits(s);
    if (s->end != SANDBOX_NOT_ENDED)
        sandbox_raise_end(lua, 1);
}

void sandbox_exit(lua_State *lua)
{
    sandbox_of(lua)->end = SANDBOX_EXITED;
    sandbox_raise_end(lua, 1);
}

/* ---- memory ---- */

/* Decide on an allocation. Memory beyond a limit is granted temporarily: the run ends at its next
 * instruction, where the error can name the position. Functions of the Lua library that build
 * strings need this too, because they fail at the first refusal without collecting. */
static bool sandbox_may_grow(struct sandbox *s, size_t old_size, size_t new_size)
{
    if (!s->is_running)
        return true;
    s->traffic_left -= (int64_t)new_size;
    if (s->traffic_left < 0) {
        if (s->end == SANDBOX_NOT_ENDED)
            s->end = SANDBOX_TOO_MUCH;
        sandbox_set_interval(s, 1);
        return s->traffic_left > -(int64_t)s->limits.memory_size;
    }
    if (new_size >= LARGE_BLOCK && s->interval > INTERVAL_CLOSE)
        sandbox_set_interval(s, INTERVAL_CLOSE);
    const size_t after = s->used - old_size + new_size, max = s->limits.memory_size;
    if (after <= max)
        return true;
    s->is_full = true;
    sandbox_set_interval(s, 1);
    if (after <= max + max / OVERDRAFT)
        return true;
    s->traffic_left -= (int64_t)s->used; /* now Lua collects and tries again */
    return false;
}

/* The allocator of the state. Lua requires that shrinking a block never fails. */
static void *sandbox_allocate(void *self, void *block, size_t old_size, size_t new_size)
{
    struct sandbox *s = self;
    if (!block)
        old_size = 0; /* for new blocks Lua passes the type of the object here */
    if (new_size == 0) {
        free(block);
        s->used -= old_size;
        return NULL;
    }
    if (new_size > old_size && !sandbox_may_grow(s, old_size, new_size))
        return NULL;
    void *at = realloc(block, new_size);
    if (!at && new_size > old_size)
        return NULL;
    s->used = s->used - old_size + new_size;
    return at ? at : block;
}

/* ---- clean text ---- */

/* Control characters that a terminal interprets: C0 except tab and newline, DEL, and C1. */
static bool sandbox_is_control(struct str one)
{
    const unsigned char first = (unsigned char)one.at[0];
    if (one.len == 1)
        return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f;
    return one.len == 2 && first == 0xc2 && (unsigned char)one.at[1] < 0xa0;
}

/* Size of the UTF-8 character at `at`; 0 if it is invalid. */
static uint32_t sandbox_char_size(struct str text, uint32_t at)
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
        size = sandbox_char_size(text, at);
        const bool is_shown = size && !sandbox_is_control(str_slice(text, at, at + size));
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

/* Remove the last frame of a traceback, which is our C function. */
static struct str sandbox_strip_last_frame(struct str text)
{
    static const struct str last = {"\n\t[C]: in ?", 11};
    return str_ends(text, last) ? str_slice(text, 0, text.len - last.len) : text;
}

/* ---- run ---- */

/* Push an error message, cleaned and shortened: it may be long and may contain zero bytes, at which
 * functions of the Lua library would stop, and it must leave space for the traceback. */
static void sandbox_push_message(lua_State *lua, int index)
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
static const char *sandbox_unavailable_name(const char *message)
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

/* Message handler: called where an uncaught error was raised, so limits are not needed any more. */
static int sandbox_message_handler(lua_State *lua)
{
    struct sandbox *s = sandbox_of(lua);
    s->is_running = false;
    lua_sethook(lua, NULL, 0, 0);
    const char *message = lua_isstring(lua, 1) ? lua_tostring(lua, 1) : NULL;
    const char *unavailable = message ? sandbox_unavailable_name(message) : NULL;
    if (unavailable) {
        sandbox_push_message(lua, 1);
        lua_pushfstring(lua, "; %s is not available in hooks", unavailable);
        lua_concat(lua, 2);
    } else if (message)
        sandbox_push_message(lua, 1);
    else
        lua_pushfstring(lua, "the error value is a %s, not a string", luaL_typename(lua, 1));
    lua_pushstring(lua, "\n");
    luaL_traceback(lua, lua, NULL, 1);
    lua_concat(lua, 3);
    return 1;
}

static struct str sandbox_failure_text(struct sandbox *s, int status)
{
    size_t len;
    if (status == LUA_ERRMEM && s->end == SANDBOX_NOT_ENDED)
        s->end = SANDBOX_TOO_LARGE;
    /* A limit takes precedence over an error that was raised between it and the next instruction. A
     * memory error has no text of its own. */
    const bool has_message = s->end == SANDBOX_NOT_ENDED || (s->end_raised && status == LUA_ERRRUN);
    const char *text =
        has_message ? lua_tolstring(s->lua, -1, &len) : sandbox_end_text(s->lua, s->end);
    if (!text)
        text = "an error without a text";
    else if (has_message)
        return sandbox_strip_last_frame((struct str){text, (uint32_t)len});
    return str_from(text);
}

void sandbox_collect(struct sandbox *s)
{
    lua_gc(s->lua, LUA_GCCOLLECT);
    s->used_after_gc = s->used;
}

bool sandbox_run(struct sandbox *s, lua_CFunction body, void *task, struct arena *arena,
                 struct str *out_text)
{
    lua_settop(s->lua, 0);
    lua_pushcfunction(s->lua, sandbox_message_handler);
    lua_pushcfunction(s->lua, body);
    /* Reset the counters: each run has the full limits. */
    s->task = task;
    s->end = SANDBOX_NOT_ENDED;
    s->is_full = false;
    s->end_raised = false;
    s->units_left = s->limits.instructions;
    s->traffic_left = (int64_t)s->limits.memory_size * TRAFFIC_FACTOR;
    s->sampled_ms = 0;
    s->is_running = true;
    sandbox_set_interval(s, INTERVAL);
    const int status = lua_pcall(s->lua, 0, 0, 1);
    s->is_running = false;
    const bool done = status == LUA_OK && s->end == SANDBOX_NOT_ENDED;
    if (!done)
        *out_text = sandbox_clean_text(arena, sandbox_failure_text(s, status), SANDBOX_TEXT_MAX);
    lua_settop(s->lua, 0);
    if (s->used > s->used_after_gc + GARBAGE_MAX)
        sandbox_collect(s);
    return done;
}

/* ---- new and free ---- */

struct sandbox *sandbox_new(struct sandbox_limits limits, const atomic_bool *stop)
{
    struct sandbox *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->limits = limits;
    s->stop = stop;
    s->lua = lua_newstate(sandbox_allocate, s);
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
