/* sandbox.h - a Lua state with limits.
 *
 * It owns one Lua state and its limits: instructions, memory, copied bytes, processor time. Code in
 * it has no access to files, clocks or other states, and cannot exceed its limits: when one is
 * reached the run ends, and the code cannot catch that. The module does not depend on roles, hooks
 * or documents. A sandbox is used by one thread at a time; its memory lives until sandbox_free. */
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
    uint32_t instructions; /* per run; work in C functions is charged as instructions */
    uint32_t memory_size;  /* bytes of the state */
    uint32_t cpu_ms;       /* per run; covers what the other limits do not count */
};

#define SANDBOX_LIMITS ((struct sandbox_limits){2000000, 16u << 20, 1000})

/* Why a run was ended. */
enum sandbox_end {
    SANDBOX_NOT_ENDED,
    SANDBOX_TOO_LONG,  /* limit of instructions */
    SANDBOX_TOO_MUCH,  /* limit of copied bytes */
    SANDBOX_TOO_LARGE, /* limit of memory */
    SANDBOX_TOO_SLOW,  /* limit of processor time */
    SANDBOX_STOPPED,   /* `stop` was set */
    SANDBOX_EXITED,    /* by sandbox_exit() */
};

struct sandbox {
    lua_State *lua;
    struct sandbox_limits limits;
    const atomic_bool *stop; /* true ends the run; NULL: never */
    size_t used;             /* bytes allocated */
    size_t used_after_gc;    /* bytes allocated after the last collection */
    /* of the current run */
    void *task; /* context for C functions that the owner added to the state */
    enum sandbox_end end;
    bool is_running;
    bool end_raised;      /* the error that reports `end` was raised */
    bool is_full;         /* the memory limit is exceeded; garbage is not collected yet */
    int64_t units_left;   /* instructions */
    int64_t traffic_left; /* bytes */
    int interval;         /* instructions between two checks of the limits */
    int64_t sampled_ms;   /* monotonic ms of the last check */
    int64_t due_ms;       /* monotonic ms before which the limit cannot be reached */
    int64_t due_cpu_ms;   /* CPU time of the thread at which the run ends */
};

#define SANDBOX_TEXT_MAX    1800u /* bytes of an error with its traceback */
#define SANDBOX_MESSAGE_MAX 800u  /* bytes of an error message; the rest is for the traceback */

/* NULL if there is no memory. */
struct sandbox *sandbox_new(struct sandbox_limits limits, const atomic_bool *stop);
void sandbox_free(struct sandbox *s); /* NULL is ignored */

/* Call `body` with the limits. False if it did not return: *out_text is the reason with the
 * position, as clean UTF-8 of at most SANDBOX_TEXT_MAX bytes. s->end distinguishes a limit from a
 * Lua error. */
bool sandbox_run(struct sandbox *s, lua_CFunction body, void *task, struct arena *arena,
                 struct str *out_text);

/* Collect all garbage. Done automatically when there is much of it. */
void sandbox_collect(struct sandbox *s);

/* ---- for C functions in the state ---- */

struct sandbox *sandbox_of(lua_State *lua);
/* Charge work as a number of instructions; ends the run when the limit is reached. */
void sandbox_charge(lua_State *lua, uint64_t units);
/* End the run; the code cannot catch this. */
NORETURN void sandbox_exit(lua_State *lua);

/* `text` as clean UTF-8 of at most `max` bytes: invalid bytes and control characters except tab and
 * newline are replaced by '?'. */
struct str sandbox_clean_text(struct arena *arena, struct str text, uint32_t max);
