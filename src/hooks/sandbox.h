/* sandbox.h - a Lua state that can hurt nobody but itself.
 *
 * It owns one state and its bounds: instructions, memory, copied bytes, processor time. Code in it
 * reaches no file, no clock, no other state, and cannot outlive its bounds: when one is reached the
 * run ends, whatever the code catches. Roles, hooks and documents are none of its business. A
 * sandbox is used by one thread at a time; what it holds lives until sandbox_free.
 */
#pragma once

#include <lua.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"

struct sandbox_limits {
    uint32_t instructions; /* of one run; work done in C is charged as such */
    uint32_t memory_size;  /* bytes the state may hold                      */
    uint32_t cpu_ms;       /* of one run: what no other bound sees          */
};

#define SANDBOX_LIMITS ((struct sandbox_limits){2000000, 16u << 20, 1000})

/* How the running code ends against its will. */
enum sandbox_end {
    SANDBOX_GOES_ON,
    SANDBOX_TOO_LONG,  /* instructions                                 */
    SANDBOX_TOO_MUCH,  /* bytes copied                                 */
    SANDBOX_TOO_LARGE, /* memory                                       */
    SANDBOX_TOO_SLOW,  /* processor time                               */
    SANDBOX_STOPPED,   /* from outside                                 */
    SANDBOX_LEFT,      /* by a function that ends the run, as agreed   */
};

struct sandbox {
    lua_State *lua;
    struct sandbox_limits limits;
    const atomic_bool *stop; /* true ends what runs; NULL = never */
    size_t used;             /* bytes held now                    */
    size_t settled;          /* bytes held after the last collection */
    /* of the run */
    void *task; /* whose run it is, for functions that the owner put into the state */
    enum sandbox_end end;
    bool is_running;
    bool is_told; /* an error that says how it ends is on its way */
    bool is_full; /* more is held than may be; garbage not counted yet */
    int64_t units_left;
    int64_t traffic_left;
    int interval; /* instructions between two looks */
    int64_t seen_ms;
    int64_t due_ms;
    int64_t due_cpu_ms;
};

#define SANDBOX_TEXT_MAX    1800u
#define SANDBOX_MESSAGE_MAX 800u /* of an error; the rest is for the way there */

/* NULL when the process has no memory left for it. */
struct sandbox *sandbox_new(struct sandbox_limits limits, const atomic_bool *stop);
void sandbox_free(struct sandbox *s); /* NULL is fine */

/* Call `body` under the bounds. False when it did not come to its end: *out_text then says why and
 * where, in clean text of at most SANDBOX_TEXT_MAX bytes. s->end tells a bound from an error. */
bool sandbox_run(struct sandbox *s, lua_CFunction body, void *task, struct arena *arena,
                 struct str *out_text);

/* Collect all garbage. Happens by itself when there is much of it. */
void sandbox_settle(struct sandbox *s);

/* ---- for the functions inside ---- */

struct sandbox *sandbox_of(lua_State *lua);
/* Work that takes as long as so many instructions; ends the run when they are used up. */
void sandbox_charge(lua_State *lua, uint64_t units);
/* Nothing in the run can catch this. */
NORETURN void sandbox_leave(lua_State *lua);

/* `text` as clean UTF-8 of at most `max` bytes: what is not, and control characters but for tabs
 * and ends of lines, becomes '?'. */
struct str sandbox_clean_text(struct arena *arena, struct str text, uint32_t max);
