/* turn.h - the pipeline: take, step, commit, perform.
 *
 * The turn owns the core and the order of execution and storage: it takes queued commands, steps
 * the core, submits all changes to the store as one batch, and performs effects and sends replies
 * only after the store has committed that batch. One batch is in flight at a time; commands that
 * arrive meanwhile form the next one. The turn depends on no socket, file, process or clock. It
 * reaches them through ports, which the daemon and the simulator implement, so both run the same
 * pipeline.
 *
 * If a batch fails, the core is dropped and loaded again: recovery is the same code as the start.
 * An instance is used by one thread. Ports must not call its functions from their callbacks, except
 * turn_submit() and turn_submit_veto_replies(), which only add to the queue.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "model/command.h"
#include "port/boot_port.h"
#include "port/clock_port.h"
#include "port/hooks_port.h"
#include "port/power_port.h"
#include "port/reply_port.h"
#include "port/runner_port.h"
#include "port/store_port.h"
#include "port/watch_port.h"

struct core;
struct outcome;
struct turn;

#define TURN_INPUTS_MAX      16384u              /* queued commands                   */
#define TURN_INPUT_BYTES_MAX ((size_t)256 << 20) /* their size                        */
#define TURN_PENDING_MAX     256u                /* commands that wait for hooks      */

/* Crash points: one between any two actions that are visible outside of the process. */
#define TURN_POINTS(X)                                                                             \
    X(LEAD_BEFORE, "lead.before")                                                                  \
    X(LEAD_AFTER, "lead.after")                                                                    \
    X(LOAD_BEFORE, "load.before")                                                                  \
    X(LOAD_RECORD, "load.record")                                                                  \
    X(LOAD_AFTER, "load.after")                                                                    \
    X(FOUND_AFTER, "found.after")                                                                  \
    X(BOOT_LOADED_BEFORE, "boot.loaded.before")                                                    \
    X(BOOT_LOADED_AFTER, "boot.loaded.after")                                                      \
    X(RESUME_BEFORE, "resume.before")                                                              \
    X(RESUME_AFTER, "resume.after")                                                                \
    X(TAKE_BEFORE, "take.before")                                                                  \
    X(TAKE_AFTER, "take.after")                                                                    \
    X(STEP_BEFORE, "step.before")                                                                  \
    X(STEP_AFTER, "step.after")                                                                    \
    X(TICK_BEFORE, "tick.before")                                                                  \
    X(TICK_AFTER, "tick.after")                                                                    \
    X(ANNEAL_BEFORE, "anneal.before")                                                              \
    X(ANNEAL_AFTER, "anneal.after")                                                                \
    X(COLLECT_BEFORE, "collect.before")                                                            \
    X(COLLECT_AFTER, "collect.after")                                                              \
    X(SUBMIT_BEFORE, "submit.before")                                                              \
    X(SUBMIT_AFTER, "submit.after")                                                                \
    X(POLL_BUSY, "poll.busy")                                                                      \
    X(POLL_OK, "poll.ok")                                                                          \
    X(POLL_FAILED, "poll.failed")                                                                  \
    X(BOOT_CHANGED_BEFORE, "boot.changed.before")                                                  \
    X(BOOT_CHANGED_AFTER, "boot.changed.after")                                                    \
    X(PERFORM_BEFORE, "perform.before")                                                            \
    X(EFFECT_BEFORE, "effect.before")                                                              \
    X(EFFECT_AFTER, "effect.after")                                                                \
    X(REPLY_BEFORE, "reply.before")                                                                \
    X(REPLY_AFTER, "reply.after")                                                                  \
    X(ASK_BEFORE, "ask.before")                                                                    \
    X(ASK_AFTER, "ask.after")                                                                      \
    X(RESET_BEFORE, "reset.before")                                                                \
    X(RESET_AFTER, "reset.after")

enum turn_point {
#define X(name, text) TURN_POINT_##name,
    TURN_POINTS(X)
#undef X
        TURN_POINT_COUNT
};

const char *turn_point_name(enum turn_point point);

/* For the simulator: true means that the process ends at this crash point. */
struct crash_port {
    void *self;
    bool (*crash)(void *self, const char *point); /* NULL = never */
};

struct turn_ports {
    struct store_port store;
    struct clock_port clock;
    struct runner_port runner;
    struct hooks_port hooks;
    struct power_port power;
    struct reply_port reply;
    struct watch_port watch;
    struct boot_port boot;
    struct crash_port crash;
    uint32_t batch_bytes_max; /* 0: BATCH_BYTES_MAX */
    uint32_t deletion_rows;   /* core_set_deletion_rows(); 0: the default */
    uint32_t boot_part;       /* core_set_boot_part(); 0: the default */
};

enum turn_status {
    TURN_QUIET,   /* nothing to do until the next command or turn_next_ms()              */
    TURN_AGAIN,   /* progress was made; call again                                       */
    TURN_WAITING, /* a batch is in flight and the store is busy, or the store is stalled */
    TURN_DOWN,    /* the store failed; writes are refused until it is back               */
    TURN_STOPPED, /* another daemon has the leadership; this one never acts again        */
    TURN_CRASHED, /* the simulator ended it; it can only be freed                        */
};

struct turn *turn_new(const struct turn_ports *ports);
void turn_free(struct turn *t); /* NULL is fine */

/* Acquire the leadership of the store, load it (or create a new installation in an empty store),
 * and repeat the effects that may not have been performed. TURN_AGAIN on success. After TURN_DOWN
 * turn_advance() tries again; turn_trouble() has the reason. */
enum turn_status turn_start(struct turn *t);

/* One move: poll the batch in flight, or make the next one. It never blocks, except in lead() and
 * load() of the store. */
enum turn_status turn_advance(struct turn *t);

/* Between two moves: compute one slice, less than a millisecond, of the plan that a dry command
 * waits for (plan_queue.h), and send the replies that are ready. True: there is more to do. The
 * caller serves other events before it calls again. */
bool turn_slice(struct turn *t);

/* Queue a copy of the command; time and nonce are set when it is taken. The reply to a dry command
 * (command.h) is a plan, after the replies to its veto requests. ERR_LIMIT if the queue is full,
 * ERR_UNAVAILABLE if the store is down (commands without a request id are still queued), ERR_FENCED
 * when stopped. No reply is sent for a command that was not queued. */
NODISCARD err turn_submit(struct turn *t, const struct command *command);

/* The replies to the veto requests of hooks_port.ask(): the pending command is queued again.
 * ERR_NOT_FOUND if it is no longer pending; otherwise as turn_submit(). */
NODISCARD err turn_submit_veto_replies(struct turn *t, uint64_t token,
                                       const struct veto_reply *veto_replies, uint32_t count);

/* ---- a stalled store (ADR 0071) ---- */

/* Set by the caller, which measures how long the store has not answered. While it is stalled,
 * commands with a request id fail with ERR_UNAVAILABLE, and the next turn_advance() fails those in
 * the queue; commands without a request id are queued; no batch is begun. Dry commands are reads:
 * they are accepted and answered while all rows of the core are durable. */
void turn_set_stalled(struct turn *t, bool is_stalled);
/* Reply ERR_UNKNOWN to every client (request id above 0) whose command was stepped and whose batch
 * has no result yet. The batch continues, and these clients get no second reply. Requests with ids
 * below 0 wait for the result. */
void turn_expire_requests(struct turn *t);

/* ---- reading ---- */

/* The core, for queries until the next turn_advance(). NULL if there is none (loading failed). A
 * reply that was read from it may be sent once turn_durable() has reached the turn_seen() of the
 * query. */
const struct core *turn_core(const struct turn *t);
/* The turn that the state of the core belongs to, and the last turn in the store. */
int64_t turn_seen(const struct turn *t);
int64_t turn_durable(const struct turn *t);
int64_t turn_epoch(const struct turn *t);
/* Number of loads. If it changed, rows that were read before may never have become durable. */
uint64_t turn_loads(const struct turn *t);
/* core_import_dry_run() on the current core. ERR_UNAVAILABLE if there is none. */
NODISCARD err turn_import_dry_run(struct turn *t, const struct str *barclamps, uint32_t count,
                                  struct arena *arena, struct outcome *outcomes);

/* Delete events that are older than `ms` with later batches. 0, the default: keep all. */
void turn_keep_events(struct turn *t, int64_t ms);

/* Read the clocks between two moves, so that a jump is detected, and confirmed a minute later, also
 * when there are no commands. */
void turn_read_clock(struct turn *t);
/* The stamp, the time of commands (ms since 1970), which never decreases. It is ahead of the wall
 * clock after that was set back, and behind it while a jump forward is not confirmed. */
int64_t turn_now_ms(const struct turn *t);

/* When turn_advance() must be called even if no command arrives (mono_ms); -1 = never. */
int64_t turn_next_ms(const struct turn *t);
/* Number of commands in the queue, and of those that wait for hooks. */
uint32_t turn_waiting(const struct turn *t);
uint32_t turn_pending(const struct turn *t);
/* Plans since the start: computed, answered from an existing plan, restarted because rows changed,
 * refused as busy. */
struct turn_plan_counts {
    uint64_t computed, reused, restarted, busy;
};
struct turn_plan_counts turn_plan_counts(const struct turn *t);
/* Why it is down: the error, and a static sentence for the log. OK and "" if it is not. */
err turn_trouble(const struct turn *t, const char **out_text);
