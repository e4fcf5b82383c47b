/* turn_private.h - what the street (turn.c) and the way back onto it (recover.c) share. */
#pragma once

#include "core/core.h"
#include "turn/audit.h"
#include "turn/command_queue.h"
#include "turn/plan_queue.h"
#include "turn/turn.h"

/* What a stepped command is owed. */
struct pending_reply {
    struct input *input;
    struct outcome outcome;
    struct pending_reply *next;
};

enum phase { PHASE_LIVE, PHASE_DOWN, PHASE_STOPPED, PHASE_CRASHED };

/* When what is old is looked for (retention.c). */
struct old {
    int64_t runs_next_ms, event_queue_next_ms;
    int64_t events_keep_ms; /* 0: for ever */
};

/* How the stamp follows the wall clock (turn_times.c). Offsets are wall clock minus monotonic
 * clock. */
struct times {
    bool is_read;          /* there was a reading                                    */
    bool is_anchored;      /* the stamp of the last batch is known                   */
    int64_t wall_ms;       /* of the last reading                                    */
    int64_t offset_ms;     /* of the last reading                                    */
    int64_t even_since_ms; /* monotonic time since which there was no jump           */
    int64_t adopted_ms;    /* the offset that the stamp follows                      */
};

struct turn {
    struct turn_ports ports;
    enum phase phase;
    struct core *core; /* NULL before the start and when loading failed */
    uint64_t loads;    /* cores there were */
    struct store_mark mark;
    int64_t now_ms; /* the stamp */
    int64_t mono_ms;
    struct times times;
    struct command_queue inputs;
    struct parking parking;
    struct plans plans;

    /* The batch: from the first step until everything it owes is paid. */
    struct arena arena;
    struct effects effects;
    struct events events;
    struct pending_reply *debts;
    struct pending_reply *last_debt;
    struct batch batch;
    bool in_flight;
    bool in_doubt;       /* the store did not say whether it is in */
    bool replies_unsent; /* it is in, and nobody was told yet */
    uint32_t rows_max;   /* changed rows that close a batch: fewer after one grew too large */
    struct old old;      /* what is forgotten with a batch */
    bool balked;         /* annealing met a limit; it waits for something to come in */

    /* Trouble. */
    bool is_stalled;   /* the store does not answer */
    bool reload;       /* the core must be loaded again */
    bool is_ahead;     /* it shows what is not in the store */
    int64_t reload_ms; /* when to try */
    int64_t write_ms;  /* when to dare the next batch */
    uint32_t commits_failed;
    uint32_t loads_failed;
    err trouble;
    const char *trouble_text;
};

/* True when the simulator lets us die here: whoever asks returns at once. */
bool turn_dies(struct turn *t, enum turn_point point);

/* turn.c: let out what is durable. False: we died in between. */
bool turn_perform_effects(struct turn *t, const struct effects *effects);
bool turn_send_replies(struct turn *t);
/* turn.c: the batch is in. */
void turn_now_durable(struct turn *t);
/* turn.c: the batch is over, one way or the other. */
void turn_forget_batch(struct turn *t);

/* recover.c: a command will not be done; tell whoever waits, if anybody does. */
void turn_fail_request(struct turn *t, int64_t request, err why);
/* recover.c: answer those whose commands wait to be stepped; commands without a request stay. */
void turn_excuse_inputs(struct turn *t, err why);
/* recover.c: the store did not take the batch, or may not have. */
enum turn_status turn_commit_failed(struct turn *t, err why, const char *text);
/* recover.c: the rows of the batch are so large that no store could take it in one piece. */
enum turn_status turn_batch_too_large(struct turn *t);
/* recover.c: between two batches the store turned out to be lost; the core is as good as it was. */
enum turn_status turn_store_lost(struct turn *t, err why);
/* recover.c: between two batches, a core that has lived long is replaced by a fresh one. */
enum turn_status turn_reload_core(struct turn *t);
/* recover.c: lead, load, resume; write again when it is time to. */
enum turn_status turn_recover(struct turn *t);

/* turn.c: keep the command until its hooks have answered. False: we died in between. */
bool turn_park(struct turn *t, const struct input *input, const struct outcome *outcome);
/* turn.c: what is answered when the questions changed each time the answers came. */
struct outcome turn_unsettled(struct arena *a);

/* ---- plan_queue.c ---- */

/* A copy of the request waits for a plan. ERR_LIMIT when too many do. */
NODISCARD err plans_take(struct turn *t, const struct input *input);
/* False while the store is stalled and the core shows what is not durable: no answer could leave.
 */
bool turn_may_plan(const struct turn *t);
/* Answer all requests that wait. */
void plans_excuse(struct turn *t, err why);
/* The core goes: plans of it are given up, and requests wait for new ones. */
void plans_forget(struct turn *t);
void plans_fini(struct turn *t);

/* ---- turn_times.c ---- */

/* Read both clocks, and let the stamp follow. */
void times_read(struct turn *t);
/* The stamp of the last batch in the store; 0: there is none. The stamp does not stay behind it. */
void times_anchor(struct turn *t, int64_t stored_ms);

/* ---- retention.c ---- */

/* Before when runs and events are old enough to go with this batch; 0: none do. */
int64_t old_runs(struct turn *t);
int64_t old_events(struct turn *t);
