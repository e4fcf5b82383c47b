/* transition.h - the runner of roles that bring their own work: do_transition.
 *
 * It stands behind port/runner_port.h for jigs of class "role-provided". An order becomes a call of
 * the role's do_transition in the thread of the hooks, and what that returns becomes RUN_DONE. Such
 * code has no effects but its answer, so it may be run as often as anybody likes: nothing is
 * journalled, a query is a start, and a cancelled run is out at once, whatever its code still does.
 * Which jig an order is for is not looked at.
 *
 * Orders are only noted when they come; everything is done in transitions_pump(), so the turn is
 * never entered from its own order, and where there is a clock only a little of it at a time. All
 * of it in the loop's thread.
 */
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

struct transition_seams {
    void *self;
    /* What do_transition is given as noderole, canonical JSON made in the arena, and whose code it
     * is. False: the noderole is gone. Called from transitions_pump(). */
    bool (*facts)(void *self, int64_t noderole_id, struct arena *arena, struct str *out_argument,
                  int64_t *out_role_id);
    /* Takes an answer. ERR_LIMIT: later; any other error: never. */
    err (*submit)(void *self, const struct command *command);
    /* Milliseconds that never go back, and a way to have transitions_pump() called soon, but not
     * from here. Both NULL: whatever is ordered is called in one go, however long that takes. */
    int64_t (*mono_ms)(void *self);
    void (*wake)(void *self);
};

/* The hooks are used by its pump alone, and must not be pumped themselves after transitions_free().
 * Nobody else may use hooks_call() of them. */
struct transitions *transitions_new(struct hooks *hooks, struct transition_seams seams);
void transitions_free(struct transitions *t); /* NULL is fine; what is under way is forgotten */
struct runner_port transitions_port(struct transitions *t);
/* Is this under way here? A cancel does not name its jig. */
bool transitions_has(const struct transitions *t, int64_t run_id, uint32_t attempt);

/* What hooks_seams.called() was told. */
void transitions_called(struct transitions *t, uint64_t key, const struct hooks_result *result);

/* Do what was ordered, as far as one gets in HOOKS_PUMP_MS, and hand answers over; to be called
 * after hooks_pump(), and after orders. What is not taken waits for the next time. True when an
 * answer was handed over. */
bool transitions_pump(struct transitions *t);
/* Did an order or an answer come since the last pump, or did that break off? */
bool transitions_is_due(const struct transitions *t);
