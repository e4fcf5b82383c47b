/* turn_private.h - the state of the turn, shared by the files of src/turn.
 *
 * turn.c has the pipeline, command_queue.c the commands that wait, audit.c the events, recover.c
 * the failures and the reload, boot_report.c what boot servers must know, plan_queue.c plans in
 * slices, turn_times.c the clocks, retention.c the age of history rows, turn_state.c the queries.
 * Only files of src/turn include this.
 */
#pragma once

#include "core/core.h"
#include "turn/audit.h"
#include "turn/command_queue.h"
#include "turn/plan_queue.h"
#include "turn/turn.h"

/* A stepped command whose reply is sent when the batch is durable. */
struct pending_reply {
    struct input *input;
    struct outcome outcome;
    struct pending_reply *next;
};

enum phase {
    PHASE_LIVE,    /* there is a core, and batches are written            */
    PHASE_DOWN,    /* before the start, or the store failed: recovering   */
    PHASE_STOPPED, /* fenced by another daemon: never acts again          */
    PHASE_CRASHED, /* the simulator ended the process at a crash point    */
};

/* Deletion of old history rows (retention.c). */
struct retention {
    int64_t runs_next_ms, events_next_ms; /* mono_ms of the next deletion */
    int64_t events_keep_ms;               /* age at which events are deleted; 0: never */
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
    struct core *core;      /* NULL before the start and when loading failed */
    uint64_t loads;         /* number of cores that were loaded */
    struct store_mark mark; /* epoch of this leader, and the last turn that is durable */
    int64_t now_ms;         /* the stamp */
    int64_t mono_ms;        /* reading of the monotonic clock; never decreases */
    struct times times;
    struct command_queue inputs;
    struct pending_commands pending;
    struct plans plans;

    /* The batch: from the first step until its last reply is sent. */
    struct arena arena;
    struct effects effects;
    struct events events;
    struct pending_reply *replies;
    struct pending_reply *last_reply;
    struct batch batch;
    bool in_flight;
    bool in_doubt;       /* it is unknown whether the store committed it */
    bool replies_unsent; /* it is committed, and its replies are not sent yet */
    uint32_t rows_max;   /* changed rows that close a batch; reduced after one was too large */
    struct retention retention; /* deletion of old history rows */
    bool anneal_refused;        /* annealing was refused by a limit; tried again after new input */
    int64_t slice_began_ms;     /* mono_ms at which the batch with a slice was begun; -1: none */
    int64_t slices_ms;          /* mono_ms before which no slice of deletions or names is done */

    /* Failure and recovery. */
    bool is_stalled;         /* the store does not answer */
    bool reload;             /* the core must be loaded again */
    bool is_ahead;           /* the core has changes that are not in the store */
    int64_t reload_ms;       /* mono_ms of the next attempt to load */
    int64_t write_ms;        /* mono_ms before which no batch is begun */
    uint32_t commits_failed; /* since the last batch that was committed */
    uint32_t loads_failed;   /* in sequence, for the retry delay */
    err trouble;             /* why the phase is DOWN or STOPPED */
    const char *trouble_text;
};

/* True if the simulator ends the process at this crash point: the caller must return at once. */
bool turn_crashes_at(struct turn *t, enum turn_point point);

/* turn.c: perform effects and send replies of a durable batch. False: crashed in between. */
bool turn_perform_effects(struct turn *t, const struct effects *effects);
bool turn_send_replies(struct turn *t);
/* turn.c: slices are left and nothing else, and the pause after the last one is not over. */
bool turn_pauses_slices(const struct turn *t);
/* turn.c: the batch is durable. */
void turn_now_durable(struct turn *t);
/* turn.c: free the batch, whatever its result was. */
void turn_forget_batch(struct turn *t);

/* recover.c: reply that a command was not executed; no effect for request id 0. */
void turn_fail_request(struct turn *t, int64_t request, err why);
/* recover.c: fail all queued commands with a request id; the others stay queued. */
void turn_fail_inputs(struct turn *t, err why);
/* recover.c: the store did not commit the batch, or its answer was lost (ERR_UNKNOWN). */
enum turn_status turn_commit_failed(struct turn *t, err why, const char *text);
/* recover.c: the encoded batch exceeds the size limit and is not submitted. */
enum turn_status turn_batch_too_large(struct turn *t);
/* recover.c: the store failed between two batches; the rows of the core are as durable as before.
 * */
enum turn_status turn_store_lost(struct turn *t, err why);
/* recover.c: between two batches, replace a core whose step counter is near its end. */
enum turn_status turn_reload_core(struct turn *t);
/* recover.c: acquire the leadership, load, resume; then continue when the retry delay is over. */
enum turn_status turn_recover(struct turn *t);

/* turn.c: store the command as pending and send its veto requests. False: crashed in between. */
bool turn_wait_for_hooks(struct turn *t, const struct input *input, const struct outcome *outcome);
/* turn.c: the refusal after too many rounds of veto requests that changed each time. */
struct outcome turn_hooks_unsettled(struct arena *a);

/* ---- boot_report.c: false means crashed in between ---- */

/* A core was loaded. */
bool turn_report_boot_load(struct turn *t);
/* The batch is durable, and the core has exactly its rows. */
bool turn_report_boot_changes(struct turn *t);

/* ---- plan_queue.c ---- */

/* Queue a copy of a request for a plan. ERR_LIMIT if too many wait. */
NODISCARD err plans_take(struct turn *t, const struct input *input);
/* False while the store is stalled and the core has changes that are not durable: no reply could be
 * sent. */
bool turn_may_plan(const struct turn *t);
/* Fail all waiting requests and end unfinished plans. */
void plans_fail_requests(struct turn *t, err why);
/* The core is about to be freed: end its plans; the requests stay and wait for new plans. */
void plans_forget(struct turn *t);
void plans_fini(struct turn *t);

/* ---- turn_times.c ---- */

/* Read both clocks and advance the stamp. */
void times_read(struct turn *t);
/* Raise the stamp to that of the last batch in the store; 0: there is none. */
void times_anchor(struct turn *t, int64_t stored_ms);

/* ---- retention.c ---- */

/* The time before which runs or events are deleted with this batch; 0: none are. */
int64_t retention_runs_before(struct turn *t);
int64_t retention_events_before(struct turn *t);
