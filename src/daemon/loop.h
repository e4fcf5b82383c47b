/* loop.h - the turn inside a libuv loop.
 *
 * The loop never blocks on the store: the thread of the store wakes it when a batch is committed.
 * It advances the turn for about two milliseconds at a time, so that requests are read and answered
 * in between, and blocks in uv_run() only when the turn, the runners, the hooks and the power
 * actions have nothing to do. It belongs to one thread, like everything it owns; only loop_wake()
 * may be called from another one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "model/command.h"
#include "turn/turn.h"

struct api;
struct boot_links;
struct hooks;
struct known_hosts;
struct outcome;
struct power;
struct store;
struct runner;
struct test_jig;
struct transitions;

struct loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_check_t check;
    uv_idle_t idle; /* keeps the loop from sleeping while there is more to do */
    uv_timer_t timer;
    bool is_open;

    /* Set by wiring.c before loop_start. */
    struct store *store;
    struct turn *turn;
    struct test_jig *jig;
    struct hooks *hooks;
    struct transitions *transitions;
    struct power *power; /* NULL: power actions are not available */
    struct runner *runner;
    struct boot_links *boot;         /* NULL: boot servers cannot connect */
    struct known_hosts *known_hosts; /* NULL: the file of host keys is not written */

    struct api *api; /* NULL before the server listens and after it is closed */
    enum turn_status status;
    uint64_t loads; /* turn_loads() at the last check: counts reloads of the core */
    /* Checks twice a second whether the store has answered. Times are monotonic, in ms. */
    uv_timer_t stall_timer;
    int64_t stall_checked_ms; /* the last check */
    int64_t running_since_ms; /* since when checks came without a gap */
    bool is_stalled;
    int64_t trouble_ms; /* since when the store is stalled or down */
    char stall_text[96];

    bool readers_failed; /* waiting reads were answered 503 in this outage */
    int64_t down_ms;     /* since when the store is down */
    bool is_down;
    err down_why;

    void *self;
    /* Called after each advance of the turn. True: leave uv_run(). */
    bool (*wants_stop)(void *self);
    /* Do work that can wait, until uv_hrtime() reaches `until_ns`. True: there is more to do. */
    bool (*work)(void *self, uint64_t until_ns);
};

NODISCARD err loop_open(struct loop *l);
/* Close all handles and run until they are closed. The store and all other threads that call
 * loop_wake() must have ended. */
void loop_close(struct loop *l);
/* Lead the store and load the core. On TURN_DOWN nothing is retried before loop_run(). */
enum turn_status loop_start(struct loop *l);
/* Run until wants_stop() returns true. */
void loop_run(struct loop *l);
/* Run one iteration of the libuv loop; it blocks until there is an event. */
void loop_once(struct loop *l);

/* Why the store cannot be written, as one sentence; "" if it can. */
const char *loop_store_problem(const struct loop *l);

/* turn_submit(), and the next iteration of the loop does not block. */
NODISCARD err loop_submit(struct loop *l, const struct command *command);
/* End the wait of uv_run(). May be called from any thread. */
void loop_wake(void *self);
