/* model.h - a second, naive implementation of the engine: the reference model (invariant I10).
 *
 * The model runs beside a core. It receives each command with its outcome and computes the state
 * of every noderole (a role bound to a node) in plain arrays, with the transition table of
 * ADR 0006 and full rescans: no counters, no queues, no worklists. Objects, dependencies, runs and
 * the flags of nodes are read from the records of the core. States and run counts are read only
 * in order to compare them.
 *
 * Two decisions of the core depend on data that the model does not evaluate: which noderoles a
 * changed value reruns, and which of the startable noderoles an annealing pass (the scheduler)
 * starts. The model takes both from the records after the step, and accepts each only if the rules
 * allow it.
 *
 * The model is written from docs/spec and the decision records, not from the code of the core, and
 * shares no code with it. It does not depend on the turn or the store.
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

/* Coverage: how often each cell of the transition table, each cause of `why` and each of the rarer
 * cases was reached. */
struct model_counts {
    uint64_t cells[NODEROLE_STATE_COUNT][MODEL_EVENT_COUNT];
    uint64_t pokes;   /* reruns that a changed value caused */
    uint64_t instant; /* runs that ended in the step that started them */
    uint64_t causes[CAUSE_COUNT];
    uint64_t waited, went, given_up; /* power actions at the boot barrier */
    /* served boots */
    uint64_t staged, parts, short_parts; /* machines, parts, parts with others after them */
    uint64_t due_most;                   /* due rows at one time in each world, summed */
    uint64_t unpublished;                /* runs that failed and were to publish */
    uint64_t taken, lost, failed;        /* events of boot servers */
    uint64_t logs;                       /* acknowledged changes that were recorded as runs */
    uint64_t announced, calls;           /* staged data and hook arguments that say who is served */
    uint64_t ended_run, ended_taken, ended_error, ended_time; /* waits, by what ended them */
    uint64_t rerun;          /* noderoles rerun because content changed their defaults */
    uint64_t replaced, kept; /* automatic nodes when an operator created an admin node */
    uint64_t rested;         /* addresses that were freed or declined */
    uint64_t names;          /* DNS names compared */
    uint64_t sliced;         /* steps in which a network or filter was being deleted */
    uint64_t answers[GRANT_ANSWER_COUNT]; /* to machines that ask for an installer */
    uint64_t other_macs; /* of these questions, stale for the MAC of the machine alone */
    uint64_t voids[GRANT_VOID_COUNT]; /* grants that became void, by reason */
};

/* An ended run of a native noderole, which records what its boot server has acknowledged. */
struct model_log {
    int64_t noderole_id;
    uint32_t attempt;
    uint64_t hash; /* of the text */
};

struct model;

struct model *model_new(void);
void model_free(struct model *m); /* NULL is allowed */

/* Take the states of this core as the starting point, without a check. */
void model_adopt(struct model *m, const struct core *c, struct arena *scratch);
/* Copy the content of `from` (a model saved at a durable turn); the counts of `m` are kept. */
void model_copy(struct model *m, const struct model *from);

/* The daemon restarted: deadlines of waiting power actions start again at the next step. */
void model_restart_deadlines(struct model *m);
/* The same of installers that run. */
void model_restart_installs(struct model *m);
/* The same of boot servers and acknowledgements, which the core does not store. */
void model_restart_served(struct model *m, const struct core *c);
/* The changes were collected as turn `turn`. */
const char *model_collect_served(struct model *m, const struct core *c, int64_t turn);
/* The next record of a native noderole that must be in a batch; false: there is no other one. */
bool model_take_log(struct model *m, struct model_log *out_log);
/* The store was imported from a copy of itself: predict what that does to grants, and compare. */
const char *model_import(struct model *m, const struct core *c);

/* Apply one step to the model and compare every state with the core. Returns NULL if they agree,
 * otherwise a sentence, valid until the next call. `c` is the core directly after the step. */
const char *model_follow(struct model *m, const struct core *c, const struct command *command,
                         const struct outcome *outcome, struct arena *scratch);

/* I7: no noderole and no queued run could start. Called when the core reports that it has no work.
 */
const char *model_check_idle(struct model *m);

/* I10: for every noderole, the last cause that core_why() returns is the one that a naive walk over
 * the records finds; for every node, so are the causes that core_why_boot() returns. */
const char *model_check_why(struct model *m, const struct core *c, struct arena *scratch);
/* Consistency of the records with each other: I2, I3 (one run per node; states of runs and
 * noderoles match), I13, the states of nodes and deployments, and targets. */
const char *model_check_records(struct model *m, const struct core *c, struct arena *scratch);

/* Rows of a slice of a deletion in all simulated cores: networks are small there, and many of them
 * are to be deleted in several slices. */
#define SIM_DELETION_ROWS 1u

/* I17: while no evaluation is pending, the DNS names are those that a naive evaluation of all
 * filters makes of the records. */
const char *model_check_names(struct model *m, const struct core *c, struct arena *scratch);

const struct model_counts *model_counts(const struct model *m);
