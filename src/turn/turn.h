/* turn.h - take, step, commit, perform.
 *
 * The turn owns the core and decides in which order thinking, saving and acting happen: it takes
 * what came in, steps the core, hands every change to the store as one batch, and only when that
 * batch is in lets effects and answers out. One batch is in flight; what comes meanwhile waits and
 * makes the next one larger. It knows no socket, file, process or clock: those stand behind ports,
 * real ones in the daemon, pretended ones in the simulator, and the order is the same for both.
 *
 * When a batch fails, the core is dropped and loaded again: recovery is the start. An instance
 * lives from turn_new to turn_free, is used by one thread, and is never entered from a port, except
 * for turn_submit and turn_answer, which only put something into the queue.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "model/command.h"
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

/* Bounds of what may wait here. */
#define TURN_INPUTS_MAX      16384u
#define TURN_INPUT_BYTES_MAX ((size_t)256 << 20)
#define TURN_PARKED_MAX      256u

/* Where a process can die: between any two things that somebody else could see. */
#define TURN_POINTS(X)                                                                             \
    X(LEAD_BEFORE, "lead.before")                                                                  \
    X(LEAD_AFTER, "lead.after")                                                                    \
    X(LOAD_BEFORE, "load.before")                                                                  \
    X(LOAD_RECORD, "load.record")                                                                  \
    X(LOAD_AFTER, "load.after")                                                                    \
    X(FOUND_AFTER, "found.after")                                                                  \
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

/* For the simulator: true means that the process dies at this point. */
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
    struct crash_port crash;
    uint32_t batch_bytes_max; /* 0: BATCH_BYTES_MAX */
};

enum turn_status {
    TURN_QUIET,   /* nothing to do until something comes in or turn_next_ms() has come   */
    TURN_AGAIN,   /* something was done; there may be more                               */
    TURN_WAITING, /* a batch is in flight and the store is busy, or the store is stalled */
    TURN_DOWN,    /* the store failed; writes are refused until it is back               */
    TURN_STOPPED, /* somebody else leads; this one never acts again                      */
    TURN_CRASHED, /* the simulator let it die; it can only be freed                      */
};

struct turn *turn_new(const struct turn_ports *ports);
void turn_free(struct turn *t); /* NULL is fine */

/* Lead, load (or found a new installation in an empty store), and repeat what was on its way when
 * we stopped. TURN_AGAIN when it worked. After TURN_DOWN turn_advance() tries again;
 * turn_trouble() says what is wrong. */
enum turn_status turn_start(struct turn *t);

/* One move: look after the batch in flight, or make the next one. Never waits for anything but the
 * store's lead() and load(). */
enum turn_status turn_advance(struct turn *t);

/* Between two moves: one slice of the plan that a dry command waits for (plan_queue.h), a
 * millisecond or so of reading the core; and the answers that are ready. True: there is more to do.
 * The caller lets others be served before it calls again. */
bool turn_slice(struct turn *t);

/* Queue a copy of the command; time and chance are stamped when it is taken. Of one that is dry
 * (command.h) the plan is answered, once the hooks that may veto were asked. ERR_LIMIT when too
 * many wait, ERR_UNAVAILABLE when the store is down (commands nobody waits for are still taken),
 * ERR_FENCED when stopped. No answer will come for a command that was not taken. */
NODISCARD err turn_submit(struct turn *t, const struct command *command);

/* What the hooks said to the questions of hooks_port.ask(): the command they are about is stepped
 * again. ERR_NOT_FOUND when it does not wait any more; otherwise as turn_submit. */
NODISCARD err turn_answer(struct turn *t, uint64_t token, const struct answer *answers,
                          uint32_t count);

/* ---- a store that does not answer ---- */

/* The store is stalled, or answers again; the caller measures the time. While it is stalled,
 * commands with a request are refused with ERR_UNAVAILABLE, and the next turn_advance() refuses
 * those that wait to be stepped; commands without a request are queued; no batch is begun. Dry
 * commands are reads: they are taken and answered while what the core shows is durable. */
void turn_set_stalled(struct turn *t, bool is_stalled);
/* Answer ERR_UNKNOWN to every client (request above 0) whose command was stepped and whose batch
 * has no outcome. The batch itself goes on, and what becomes of it is not answered again. Requests
 * below 0 wait for the outcome. */
void turn_expire_requests(struct turn *t);

/* ---- reading ---- */

/* For reading, until the next turn_advance. NULL when there is none to read (loading failed). An
 * answer from it may leave once turn_durable() >= what turn_seen() was. */
const struct core *turn_core(const struct turn *t);
/* The turn that the core shows, and the last one that is in the store. */
int64_t turn_seen(const struct turn *t);
int64_t turn_durable(const struct turn *t);
int64_t turn_epoch(const struct turn *t);
/* How many cores it has had: another number means that what was read before may never have been. */
uint64_t turn_loads(const struct turn *t);
/* What imports would come to now (core.h, core_import_dry_run). ERR_UNAVAILABLE when there is no
 * core. */
NODISCARD err turn_import_dry_run(struct turn *t, const struct str *barclamps, uint32_t count,
                                  struct arena *arena, struct outcome *outcomes);

/* Events that are older go with later batches. 0: none do, as it is at first. */
void turn_keep_events(struct turn *t, int64_t ms);

/* Read the clock between two moves, so that a jump is noticed, and confirmed a minute later, where
 * nothing happens. */
void turn_read_clock(struct turn *t);
/* The stamp: what orders, and never goes back. It is ahead of the wall clock when that was set
 * back, and behind it while a jump forward is not confirmed. */
int64_t turn_now_ms(const struct turn *t);

/* When turn_advance wants to be called even if nothing comes in, in mono_ms; -1 = not at all. */
int64_t turn_next_ms(const struct turn *t);
/* Commands that wait to be stepped, and those that wait for hooks. */
uint32_t turn_waiting(const struct turn *t);
uint32_t turn_parked(const struct turn *t);
/* Plans since the start: made, answered with one that existed, begun again, refused as busy. */
struct turn_plan_counts {
    uint64_t computed, reused, restarted, busy;
};
struct turn_plan_counts turn_plan_counts(const struct turn *t);
/* Why it is down: the error, and a sentence for the log. OK and "" when it is not. */
err turn_trouble(const struct turn *t, const char **out_text);
