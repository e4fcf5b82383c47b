/* world.h - one simulated installation: a daemon's core and turn, and everything around it.
 *
 * The turn is the real one. Clock, store, runner, hooks, power, operators and machines are
 * pretended, driven by one seeded generator and one list of events in simulated time, so a seed
 * always tells the same story. First a phase with faults, in which nothing may go wrong (safety);
 * then the faults stop, everything is repaired, and everything must come up (liveness).
 *
 * Each inhabitant is a file of its own; they share this struct and talk through events. A world
 * lives for one seed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/prng.h"
#include "model/command.h"
#include "sim/model/model.h"
#include "sim/scenario/counts.h"
#include "sim/scenario/event_queue.h"
#include "sim/scenario/options.h"
#include "sim/scenario/transcript_hash.h"
#include "sim/store/memory_store.h"
#include "turn/turn.h"

struct checks;
struct transcript;

enum event_kind {
    EVENT_COMMAND,    /* `bytes` is a command that arrives            */
    EVENT_ANSWERS,    /* hooks answer the questions of token `id`     */
    EVENT_OPERATOR,   /* somebody does something                      */
    EVENT_WORK_ENDS,  /* index `id` of works                          */
    EVENT_RESEND,     /* of the last answer of work `id`              */
    EVENT_NODE_FALLS, /* machine `id`                                 */
    EVENT_NODE_RISES,
    EVENT_NODE_REPORTS, /* what machine `id` really is                  */
    EVENT_RUNNER_CRASHES,
    EVENT_CLOCK_JUMPS,
};

/* What the runner knows of one attempt, and what it will never forget (the ledger of I3). */
struct work {
    int64_t run_id;
    uint32_t attempt;
    int64_t node_id;
    int64_t noderole_id;
    enum { WORK_RUNNING, WORK_ENDED } phase;
    bool known; /* in the runner's memory */
    bool cancelled;
    uint32_t starts;
    uint32_t generation; /* of its end: a restart outdates the event */
    struct str answer;   /* encoded command; empty = none yet */
};

struct works {
    struct work *at;
    uint32_t count;
    uint32_t cap;
    int64_t epoch; /* the highest that gave orders */
};

/* The machine behind a node. */
struct machine {
    bool known;
    bool up;
    uint32_t boots; /* it is in that one */
};

struct machines {
    struct machine *at; /* by node id */
    uint32_t cap;
};

/* Objects share so many lines on which hooks are answered in order. */
#define HOOK_LINES 64u

enum phase { PHASE_SAFETY, PHASE_LIVENESS };

struct world {
    struct draw draw;
    struct prng chance;
    enum phase phase;
    struct arena story;   /* as long as the world: events, answers */
    struct arena scratch; /* for a moment */
    struct event_queue events;

    /* clock */
    int64_t mono_ms;
    int64_t wall_offset_ms;

    /* the daemon */
    struct memory_store *store;
    struct memory_session session;
    struct turn *turn;
    bool started;
    uint32_t crashes;
    uint64_t deaths_left;
    bool recovering; /* the next death is planned for the way back */
    struct {
        enum turn_point point;
        uint32_t visits;   /* that pass before it happens */
        uint32_t patience; /* points until another plan is made */
    } plan;

    /* inhabitants */
    struct works works;
    struct machines machines;
    int64_t hook_ms[HOOK_LINES]; /* when the last one of a line is answered */
    uint32_t operated;           /* commands of operators so far */
    int64_t last_request;
    bool set_up;       /* the world stands; now people play with it */
    uint32_t imported; /* late barclamps */
    uint32_t named;    /* for names that were never used */
    struct buf *parts; /* commands go there, not to the turn; NULL = to the turn */

    struct checks *checks;
    struct transcript *transcript;
    struct counts counts;
    char failure[640]; /* empty = all is well */
};

/* What came of a world. */
struct world_result {
    bool failed;
    char failure[640];
    char transcript[TRANSCRIPT_HEX_SIZE];
};

/* Live through one seed. Counts are added to `counts`. The commands that were stepped stay in
 * `transcript` (transcript.h). */
struct world_result world_run(const struct draw *draw, struct transcript *transcript,
                              struct counts *counts);

/* ---- for the inhabitants ---- */

/* The first thing that goes wrong is kept; the world ends at once. */
void world_fail(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* True at the rate of that fault, in the phase of faults; counts it then. */
bool world_fault(struct world *w, enum sim_fault fault);

/* What the wall clock says: it jumps. */
int64_t world_wall_ms(const struct world *w);
void world_at(struct world *w, int64_t at_ms, enum event_kind kind, int64_t id, struct str bytes);
void world_in(struct world *w, int64_t delay_ms, enum event_kind kind, int64_t id);
/* A command that arrives after `delay_ms`. Nobody waits for it when request is 0. */
void world_send(struct world *w, int64_t delay_ms, const struct command *command);
/* The same, from encoded bytes that live as long as the world. */
void world_send_bytes(struct world *w, int64_t delay_ms, struct str bytes);
/* The bytes of a command, as long as the world. */
struct str world_keep(struct world *w, const struct command *command);

/* The core, for looking; NULL while it is down. */
const struct core *world_core(const struct world *w);
