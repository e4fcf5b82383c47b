/* loop.h - the turn inside a libuv loop.
 *
 * The loop never waits for the store: a batch that is in wakes it. It advances the turn for about
 * two milliseconds at a time, so that requests are read and answered in between, and sleeps only
 * when the turn, the runners, the hooks and the power have nothing to do. It belongs to one thread,
 * like everything it owns; only its wake may come from another.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "model/command.h"
#include "turn/turn.h"

struct api;
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

    /* Put in place by wiring.c before loop_start. */
    struct store *store;
    struct turn *turn;
    struct test_jig *jig;
    struct hooks *hooks;
    struct transitions *transitions;
    struct power *power; /* NULL: there are no machines to switch */
    struct runner *runner;
    struct known_hosts *known_hosts; /* NULL: no file of host keys is written */

    struct api *api; /* NULL: nobody is served yet, or any more */
    enum turn_status status;
    uint64_t loads; /* which of the turn's cores readers saw */
    /* Judged twice a second: has the store answered? */
    uv_timer_t judge;
    int64_t judged_ms, awake_ms; /* the last time, and since when it is done without a gap */
    bool is_stalled;
    int64_t trouble_ms; /* since when the store is stalled or down */
    char stall_text[96];

    bool gave_up;    /* readers were not kept waiting any longer */
    int64_t down_ms; /* since when the store is down */
    bool is_down;
    err down_why;

    void *self;
    /* Asked after each move of the turn: is it time to leave uv_run()? */
    bool (*wants_stop)(void *self);
    /* A little of what can wait, until so many nanoseconds of uv_hrtime(). True: there is more. */
    bool (*work)(void *self, uint64_t until_ns);
};

NODISCARD err loop_open(struct loop *l);
/* The store, and whoever else might wake it, is closed by then. */
void loop_close(struct loop *l);
/* Lead and load. TURN_DOWN is what it is: nothing is tried again before loop_run. */
enum turn_status loop_start(struct loop *l);
/* Until wants_stop() says so. */
void loop_run(struct loop *l);
/* One round; waits for something to happen. */
void loop_once(struct loop *l);

/* Why nothing can be written at the moment; "" when nothing is known to be wrong. */
const char *loop_trouble(const struct loop *l);

/* turn_submit, and the loop goes round at once. */
NODISCARD err loop_submit(struct loop *l, const struct command *command);
/* The wake of store.h; from any thread. */
void loop_wake(void *self);
