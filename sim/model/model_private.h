/* model_private.h - the arrays of the naive model, shared by its chapters.
 *
 * model.c reads the records, model_events.c is the table, model_follow.c turns commands into
 * events, model_anneal.c follows a pass of the annealer, model_boot.c watches the barrier before
 * power, model_admin.c the automatic admin node, model_why.c explains.
 */
#pragma once

#include "sim/model/model.h"

/* Everything is indexed by durable id; ids of a simulated world stay small. */
struct model_noderole {
    bool here;
    bool unavailable;
    bool rerun;
    bool started;              /* in this step, by a run */
    enum noderole_state state; /* our own opinion */
    uint32_t run_count;        /* our own opinion */
    uint32_t attempt;          /* as the record says */
    uint32_t cohort;
    int64_t node_id;
    int64_t role_id;
    int64_t deployment_id;
    uint32_t place;        /* in `by_cohort` */
    uint32_t parent_first; /* in `parents` */
    uint32_t parent_count;
};

struct model_node {
    bool here;
    bool alive;
    bool available;
    bool stopped;
    bool system;
    bool admin;
    bool automatic;
    int64_t deployment_id;
    int64_t target_role_id;
};

struct model_role {
    bool here;
    bool usable;  /* its effective jig can run */
    bool instant; /* its jig is a no-op */
    uint32_t flags;
    uint32_t attempts; /* starts before a failure counts */
};

struct model_deployment {
    bool here;
    bool committed; /* the head */
};

struct model_run {
    int64_t id;
    int64_t node_id;
    int64_t noderole_id;
    enum run_state state;
    enum queue queue;
    uint32_t attempt;
    uint32_t tries; /* starts that failed */
};

/* A hook that has not answered, or did once: remembered because its row is gone when it has. */
struct model_hook {
    bool waiting;
    bool about_noderole;
    enum outbox_kind kind;
    enum hook hook;
    int64_t object_id;
    uint32_t depth;
};

/* What a node boots, as its record said after the last step. */
struct model_boot {
    bool here;
    bool alive;
    bool has_status;
    int64_t generation;
    uint64_t bootenv; /* hash */
    char boot_id[24];
    char old_boots[200]; /* as it stands in the record */
};

/* Power that waits until what the machine boots is served. */
struct model_power {
    int64_t id;
    int64_t node_id;
    int64_t generation;
    int64_t left_ms; /* 0 = it only stands behind another */
    bool restarts;
    int64_t since_ms; /* at the earliest: since it was made                        */
    int64_t again_ms; /* at the latest: since its time began again; -1 = not known */
    int64_t server;   /* whom it waits for: the smallest id; 0 = nobody */
};

/* What is known of a node's power, as its record said after the last step. */
struct model_reading {
    bool here;
    uint32_t state, reason;
    int64_t read_at;
    int64_t order;
    uint64_t driver; /* hash */
};

#define MODEL_ARRAYS(A)                                                                            \
    A(struct model_noderole, noderoles)                                                            \
    A(struct model_node, nodes)                                                                    \
    A(struct model_role, roles)                                                                    \
    A(struct model_deployment, deployments)                                                        \
    A(struct model_run, runs)                                                                      \
    A(struct model_hook, hooks)                                                                    \
    A(struct model_boot, boots)                                                                    \
    A(struct model_reading, readings)                                                              \
    A(struct model_power, powers) /* by id */                                                      \
    A(int64_t, by_cohort)         /* every noderole that is there, by (cohort, id) */              \
    A(int64_t, run_owner)         /* by run id: whose it was, also when the run is gone */         \
    A(int64_t, parents)

/* `x_count` entries of `x_cap`. For the ones indexed by id, count is the highest id + 1. */
struct model {
    int64_t rerunning_id; /* deployment in which this annealing step reran what changed; 0: none */
#define A(type, name)                                                                              \
    type *name;                                                                                    \
    uint32_t name##_count;                                                                         \
    uint32_t name##_cap;
    MODEL_ARRAYS(A)
#undef A
    uint32_t pool[QUEUE_COUNT];
    bool test_jig;
    uint32_t barrier_s;
    int64_t outbox_seen; /* the last row that was ever made */
    struct model_counts counts;
    struct model *spare; /* as before a step of which there are two readings */
    char trouble[512];
};

#define MODEL_NODEROLES(m, id)                                                                     \
    for (int64_t id = 1; id < (int64_t)(m)->noderoles_count; id++)                                 \
        if ((m)->noderoles[id].here)

/* ---- model.c: what the records say ---- */

enum model_part {
    MODEL_CATALOG = 1 << 0,   /* settings, jigs, roles            */
    MODEL_HEADS = 1 << 1,     /* deployments                      */
    MODEL_STRUCTURE = 1 << 2, /* noderoles and their parents      */
    MODEL_NODES = 1 << 3,
    MODEL_MOMENT = 1 << 4, /* runs, waiting hooks, rerun marks */
    MODEL_ALL = (1 << 5) - 1,
};

/* Read those parts again. New noderoles begin PROPOSED; states of known ones are not touched. */
void model_read(struct model *m, const struct core *c, uint32_t parts, struct arena *scratch);
/* Of the hooks made in this step only those of what became a TODO or BLOCKED noderole: these do not
 * start in the same pass. */
void model_read_fresh_hooks(struct model *m, const struct core *c);
void model_add_run(struct model *m, struct model_run run);
void model_drop_run(struct model *m, int64_t run_id);
struct model_boot *model_boot_of(struct model *m, int64_t node_id);       /* makes room */
struct model_reading *model_reading_of(struct model *m, int64_t node_id); /* the same */
/* The node has heard of a later one (X12). */
bool model_boot_is_over(const struct model *m, int64_t node_id, struct str boot_id);
void model_add_power(struct model *m, struct model_power power);
/* Say what is wrong; returns the sentence. */
const char *model_trouble(struct model *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What becomes of the automatic admin node (ADR 0070): judged before a step, compared after it. */
struct model_admin {
    bool is_judged;       /* the command may concern it */
    int64_t automatic_id; /* 0: there is none */
    bool is_unused;
    bool has_others; /* nodes that are no phantoms */
    uint32_t nodes_count;
};
struct model_admin model_foresee_admin(const struct model *m, const struct command *command);
const char *model_check_admin(struct model *m, const struct model_admin *before,
                              const struct command *command, const struct outcome *outcome);
/* It was refused because there are other nodes. */
const char *model_check_no_automatic(struct model *m);
/* I13 */
const char *model_check_automatic(struct model *m);
/* Rule 2 of ADR 0051 (I12): `m` is as before the step, `c` as after it. NULL: it holds. */
const char *model_check_rights(struct model *m, const struct core *c, const struct command *command,
                               struct arena *scratch);
struct model_noderole *model_at(struct model *m, int64_t id); /* NULL = not there */
const struct model_noderole *model_see(const struct model *m, int64_t id);
const struct model_run *model_find_run(const struct model *m, int64_t run_id);
/* Of that noderole: running, parked, or parked and resumed. NULL = none. */
const struct model_run *model_live_run(const struct model *m, int64_t noderole_id);
bool model_node_is_alive(const struct model *m, int64_t node_id);
bool model_is_ancestor(const struct model *m, int64_t ancestor_id, int64_t id);
bool model_is_parent(const struct model *m, int64_t parent_id, int64_t child_id);

/* ---- model_events.c: the table ---- */

bool model_parents_active(const struct model *m, int64_t id);
void model_commit(struct model *m, int64_t id); /* from PROPOSED */
void model_propose(struct model *m, int64_t id);
void model_settle(struct model *m, int64_t id);
void model_start(struct model *m, int64_t id);
void model_ok(struct model *m, int64_t id);
void model_failed(struct model *m, int64_t id);
void model_retry(struct model *m, int64_t id);
/* Every noderole of the node, cohort ascending. */
void model_node_dies(struct model *m, int64_t node_id);
/* TODO with a parent that is not ACTIVE: an edge was added. */
void model_block_unready(struct model *m);
void model_count(struct model *m, int64_t id, enum model_event event);
/* The next one after `after` by (cohort, id); of one node, or of all when 0. 0 = none. */
int64_t model_next_by_cohort(const struct model *m, int64_t node_id, int64_t after);

/* ---- model_anneal.c ---- */

/* What the core did in a pass, from its records. */
const char *model_follow_pass(struct model *m, const struct core *c);
/* Conditions of its own: deployment, node, target, jig, hooks. */
bool model_may_run(const struct model *m, int64_t id);
bool model_is_runnable(const struct model *m, int64_t id); /* SEMANTICS 3.3, for pokes */
/* Any run of the node that is running or stopping. NULL = the slot is free. */
const struct model_run *model_slot(const struct model *m, int64_t node_id);
bool model_is_probed(const struct model *m, int64_t node_id);
bool model_has_worker(const struct model *m, enum queue queue);
/* The first by (cohort, id). */
bool model_has_state(const struct model *m, int64_t node_id, enum noderole_state state,
                     int64_t *out_id);
bool model_is_instant(const struct model *m, int64_t id);

/* ---- model_readings.c ---- */

/* After a step: who read the power of a node. `command` NULL: believe. */
const char *model_follow_readings(struct model *m, const struct core *c,
                                  const struct command *command);

/* ---- model_boot.c ---- */

/* After a step: generations, who waits, who went on, who was given up. `command` NULL: believe. */
const char *model_follow_boots(struct model *m, const struct core *c, const struct command *command,
                               struct arena *scratch);
/* Whom the node's power waits for: the smallest id. 0 = it does not wait. */
int64_t model_waits_for(const struct model *m, int64_t node_id);
