/* model.h - the engine a second time, slowly: what every noderole's state must be (invariant I10).
 *
 * The model follows a core from outside. It is told each command with its outcome, and keeps
 * the states in plain arrays of its own, moved by the table of DECISIONS D1 with full rescans: no
 * counters, no queues, no worklists. What exists, who hangs on whom, which runs there are and the
 * flags of nodes it reads from the records of the core; the states it never reads but to compare.
 *
 * Two things the core decides by data that the model does not look into: which noderoles a changed
 * value pokes, and which of the startable noderoles a pass starts. Both are taken from what the
 * core did, and each is held against the rules before it is believed.
 *
 * Written from the specification, not from the core's code. It knows no turn and no store.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"

/* The columns of the table. */
#define MODEL_EVENTS(X)                                                                            \
    X(COMMIT, "commit")                                                                            \
    X(PROPOSE, "propose")                                                                          \
    X(READY, "ready")                                                                              \
    X(LOST, "lost")                                                                                \
    X(ANCESTOR_ERROR, "anc-error")                                                                 \
    X(START, "start")                                                                              \
    X(OK, "ok")                                                                                    \
    X(FAILED, "failed")                                                                            \
    X(RETRY, "retry")                                                                              \
    X(DEACTIVATE, "deactivate")

enum model_event {
#define X(name, text) MODEL_##name,
    MODEL_EVENTS(X)
#undef X
        MODEL_EVENT_COUNT
};

const char *model_event_name(enum model_event event);

/* How often each cell of the table was reached; pokes and instant starts for curiosity. */
struct model_counts {
    uint64_t cells[NODEROLE_STATE_COUNT][MODEL_EVENT_COUNT];
    uint64_t pokes;
    uint64_t instant;
    uint64_t causes[CAUSE_COUNT];
    uint64_t waited, went, given_up; /* power before the barrier */
    uint64_t rerun;                  /* noderoles that ran with other defaults and start over */
    uint64_t replaced, kept;         /* automatic nodes when an operator made an admin node */
};

struct model;

struct model *model_new(void);
void model_free(struct model *m); /* NULL is fine */

/* Begin here: believe the states of this core. */
void model_adopt(struct model *m, const struct core *c, struct arena *scratch);
/* Become what `from` is (a model remembered at a durable turn); counts are kept. */
void model_become(struct model *m, const struct model *from);

/* The daemon began again: times that had begun begin again. */
void model_restarted(struct model *m);

/* One step of the core, seen from outside: follow it and compare every state. NULL when core and
 * model agree; otherwise a sentence, valid until the next call. `c` is the core right after it. */
const char *model_follow(struct model *m, const struct core *c, const struct command *command,
                         const struct outcome *outcome, struct arena *scratch);

/* Nothing waits that could start: called when the core says that it has no work. */
const char *model_check_idle(struct model *m);

/* The last cause of why(noderole), by a naive walk over the records, is what the core says: for
 * every noderole. */
const char *model_check_why(struct model *m, const struct core *c, struct arena *scratch);
/* What a core must be able to say about itself, recomputed from its records: I2, one run per node
 * slot, runs and states in step, states of nodes and deployments. */
const char *model_check_records(struct model *m, const struct core *c, struct arena *scratch);

const struct model_counts *model_counts(const struct model *m);
