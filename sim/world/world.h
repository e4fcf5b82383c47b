/* world.h - one simulated installation: core and turn of a daemon, and its environment.
 *
 * Core and turn are the real ones. Clock, store, runner, hooks, power, operators and machines are
 * simulated, driven by one seeded generator and one queue of events in simulated time, so a seed
 * always produces the same transcript. The safety phase injects faults, and no invariant may be
 * violated; in the liveness phase the faults stop, everything is repaired, and every noderole must
 * become ACTIVE.
 *
 * Each actor is a source file of its own (actors.h); they share this struct and communicate through
 * events. A world is created and freed by world_run(), for one seed, in one thread.
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

struct boot_servers;
struct checks;
struct transcript;

enum event_kind {
    EVENT_COMMAND,      /* the command in `bytes` arrives at the turn      */
    EVENT_ANSWERS,      /* the hooks answer the veto requests of token `id` */
    EVENT_OPERATOR,     /* an operator acts                                */
    EVENT_ATTEMPT_ENDS, /* attempt with index `id` ends                    */
    EVENT_RESEND,       /* the result of attempt `id` is sent again        */
    EVENT_NODE_FAILS,   /* the machine of node `id` fails                  */
    EVENT_NODE_RETURNS, /* the machine of node `id` returns                */
    EVENT_NODE_REPORTS, /* periodic report of the machine of node `id`     */
    EVENT_NODE_ASKS,    /* the machine of node `id` asks for its installer */
    EVENT_RUNNER_CRASHES,
    EVENT_CLOCK_JUMPS,
    EVENT_BOOT_CONNECTS, /* the boot server of node `id` connects                  */
    EVENT_BOOT_READS,    /* connection `id` reads the next part of its base image  */
    EVENT_BOOT_ARRIVES,  /* the message in `bytes` arrives by connection `id`      */
    EVENT_BOOT_LOST,     /* the daemon notices that connection `id` is lost        */
    EVENT_BOOT_TROUBLE,  /* the boot server of node `id` may fail                  */
    EVENT_BOOT_TAKEN,    /* an acknowledgement arrives by connection `id`          */
    EVENT_BOOT_NOTIFIES, /* the daemon end of node `id` reports to the core */
};

/* One attempt of a run. Entries are never deleted, so that a second start is detected (I3). */
struct attempt {
    int64_t run_id;
    uint32_t attempt;
    int64_t node_id;
    int64_t noderole_id;
    enum { ATTEMPT_RUNNING, ATTEMPT_ENDED } phase;
    bool known; /* false: the runner has forgotten it by a crash */
    bool cancelled;
    uint32_t starts;
    uint32_t generation; /* increases with every start and crash; older end events are void */
    struct str answer;   /* result as an encoded command; empty = none yet */
};

struct attempts {
    struct attempt *at;
    uint32_t count;
    uint32_t cap;
    int64_t epoch; /* the highest epoch of an order (I6) */
};

/* The machine of a node. */
struct machine {
    bool known;
    bool up;
    uint32_t boots; /* number of the present boot */
};

struct machines {
    struct machine *at; /* by node id */
    uint32_t cap;
};

/* Results of hooks arrive in order per queue; objects are hashed to that many queues. */
#define HOOK_QUEUES 64u

enum phase { PHASE_SAFETY, PHASE_LIVENESS };

struct world {
    struct scenario scenario;
    struct prng rng;
    enum phase phase;
    struct arena arena;   /* until the end of the world: strings of events and results */
    struct arena scratch; /* reset after every delivery of events */
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
    uint64_t crashes_left;
    bool recovering;  /* the next crash is planned for the recovery after the last one */
    bool is_imported; /* the store was imported since the last load */
    struct {
        enum turn_point point;
        uint32_t visits;   /* of that point, before the crash happens */
        uint32_t patience; /* points of any kind until another crash is planned */
    } plan;

    /* actors */
    struct attempts attempts;
    struct machines machines;
    struct boot_servers *boot_servers;
    int64_t hook_ms[HOOK_QUEUES]; /* monotonic time of the last result of each queue */
    uint32_t operator_commands;   /* number of commands of operators so far */
    int64_t last_request;
    bool set_up;            /* the setup is complete; operators act at random */
    uint32_t imported;      /* number of additional barclamps */
    uint32_t names_used;    /* number of generated names */
    uint32_t macs_used;     /* number of generated MACs that no other node has at first */
    uint32_t user_tries;    /* number of users that the setup tried to create */
    uint32_t boot_tries;    /* number of times that it bound a role that serves boots */
    uint32_t service_tries; /* number of times that it tried to bind the role of DNS services */
    uint32_t network_tries; /* number of networks that the setup tried to create */
    struct buf *parts;      /* bulk command that is being assembled; NULL = send to the turn */

    struct checks *checks;
    struct transcript *transcript;
    struct counts counts;
    char failure[640]; /* the first violation; empty = none */
};

struct world_result {
    bool failed;
    char failure[640];
    char transcript[TRANSCRIPT_HEX_SIZE];
};

/* Simulate one world. Its counts are added to `counts`; the executed commands are recorded in
 * `transcript` (transcript.h), also if the process aborts. */
struct world_result world_run(const struct scenario *scenario, struct transcript *transcript,
                              struct counts *counts);

/* ---- for the actors ---- */

/* Record a violation. Only the first one is kept, and the simulation ends. */
void world_fail(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* True at the rate of that fault, in the safety phase only; counts it. */
bool world_fault(struct world *w, enum sim_fault fault);

/* Wall clock in ms since 1970; it jumps forwards and backwards. */
int64_t world_wall_ms(const struct world *w);
void world_at(struct world *w, int64_t at_ms, enum event_kind kind, int64_t id, struct str bytes);
void world_in(struct world *w, int64_t delay_ms, enum event_kind kind, int64_t id);
/* Send a command that arrives after `delay_ms`. With request 0 its reply is ignored, and it is sent
 * again if the turn does not accept it. */
void world_send(struct world *w, int64_t delay_ms, const struct command *command);
/* The same for an encoded command; the bytes must be valid as long as the world. */
void world_send_bytes(struct world *w, int64_t delay_ms, struct str bytes);
/* Encode a command into the arena of the world. */
struct str world_encode(struct world *w, const struct command *command);

/* For reading; NULL while no core is loaded. */
const struct core *world_core(const struct world *w);
