/* transition.h - the runner for roles whose work is a Lua function: do_transition.
 *
 * It implements port/runner_port.h for jigs of the class "role-provided". A run order becomes a
 * call of do_transition in the worker thread, and its return value becomes RUN_DONE. Such code has
 * no side effects except its result, so it may be executed repeatedly: there is no journal, a query
 * is a start, and a cancelled run is reported as stopped at once, even if its code is still
 * running. The jig of an order is not checked.
 *
 * Orders are only recorded when they arrive; the work is done in transitions_pump(), so that the
 * turn is never entered from its own order, and with a clock only for a limited time per call. All
 * functions belong to the thread of the loop. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "hooks/hooks.h"
#include "model/command.h"
#include "port/runner_port.h"

struct transitions;

struct transition_callbacks {
    void *self;
    /* The argument of do_transition, canonical JSON created in the arena, and the role whose code
     * is called. False: the noderole was deleted. Called from transitions_pump(). */
    bool (*facts)(void *self, int64_t noderole_id, struct arena *arena, struct str *out_argument,
                  int64_t *out_role_id);
    /* Submits a result. ERR_LIMIT: try again later; any other error is final. */
    err (*submit)(void *self, const struct command *command);
    /* Monotonic time in ms, and a request to call transitions_pump() soon, but not from here. Both
     * NULL: all orders are processed in one call, however long that takes. */
    int64_t (*mono_ms)(void *self);
    void (*wake)(void *self);
};

/* `hooks` must not be pumped after transitions_free(). No other module may use hooks_call() of
 * them. */
struct transitions *transitions_new(struct hooks *hooks, struct transition_callbacks callbacks);
void transitions_free(struct transitions *t); /* NULL is ignored; pending runs are dropped */
struct runner_port transitions_port(struct transitions *t);
/* True if this attempt is pending here: a cancel does not name its jig. */
bool transitions_has(const struct transitions *t, int64_t run_id, uint32_t attempt);

/* To be called from hooks_callbacks.called(). */
void transitions_called(struct transitions *t, uint64_t key, const struct hooks_result *result);

/* Process orders for at most HOOKS_PUMP_MS and submit results; to be called after hooks_pump() and
 * after orders. What is not accepted waits for the next call. True if a result was submitted. */
bool transitions_pump(struct transitions *t);
/* True if an order or result arrived since the last pump, or the last pump ran out of time. */
bool transitions_is_due(const struct transitions *t);
