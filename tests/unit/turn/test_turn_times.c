/* Goal: the stamp never decreases, a wall clock that is wrong for a moment does not affect it, and
 * commands have the reading of the wall clock. Old rows are deleted only while the clock is steady.
 * Method: a scripted core (scripted_core.h), the simulated store, and two clocks that the test
 * sets. */
#include "model/limits.h"
#include "sim/store/memory_store.h"
#include "tests/check.h"
#include "tests/unit/turn/scripted_core.h"
#include "turn/turn.h"

static const int64_t MINUTE_MS = 60000, HOUR_MS = 3600000, DAY_MS = 86400000;
static const int64_t YEARS_MS = (int64_t)10 * 365 * 86400000;

struct world {
    struct memory_store *store;
    struct memory_session session;
    struct turn *turn;
    int64_t now_ms, mono_ms;
    uint64_t random;
    int64_t stamp_ms, wall_ms;                    /* of the last command   */
    int64_t batch_ms, runs_before, events_before; /* of the last batch     */
};

static int64_t clock_now(void *self)
{
    return ((struct world *)self)->now_ms;
}

static int64_t clock_mono(void *self)
{
    return ((struct world *)self)->mono_ms;
}

static uint64_t clock_random(void *self)
{
    return ++((struct world *)self)->random;
}

static void watch_stepped(void *self, const struct command *command, const struct outcome *outcome)
{
    struct world *w = self;
    (void)outcome;
    CHECK(command->now_ms >= w->stamp_ms);
    w->stamp_ms = command->now_ms;
    w->wall_ms = command->wall_ms;
}

static void watch_durable(void *self, const struct batch *batch)
{
    struct world *w = self;
    w->batch_ms = batch->now_ms;
    w->runs_before = batch->runs_before;
    w->events_before = batch->events_before;
}

static void run_until_quiet(struct world *w)
{
    enum turn_status status = TURN_AGAIN;
    for (int i = 0; i < 1000 && (status == TURN_AGAIN || status == TURN_WAITING); i++)
        status = turn_advance(w->turn);
    CHECK(status == TURN_QUIET);
}

static void process_start(struct world *w)
{
    memory_session_init(&w->session, w->store);
    const struct turn_ports ports = {
        .store = memory_session_port(&w->session),
        .clock = {w, clock_now, clock_mono, clock_random},
        .watch = {.self = w, .stepped = watch_stepped, .durable = watch_durable},
    };
    w->turn = turn_new(&ports);
    CHECK(turn_start(w->turn) == TURN_AGAIN);
    run_until_quiet(w);
}

static void start_at(struct world *w, int64_t now_ms)
{
    *w = (struct world){.store = memory_store_new(), .now_ms = now_ms, .mono_ms = 100};
    script_load_error = NULL;
    process_start(w);
}

static void process_end(struct world *w)
{
    turn_free(w->turn);
    memory_session_crash(&w->session, false);
}

/* A new process, perhaps of another boot, on the old store. */
static void restart(struct world *w, int64_t mono_ms)
{
    process_end(w);
    w->mono_ms = mono_ms;
    w->stamp_ms = 0;
    process_start(w);
}

static void world_fini(struct world *w)
{
    process_end(w);
    memory_store_free(w->store);
}

/* Advance both clocks and make a batch. */
static void advance_clocks(struct world *w, int64_t ms)
{
    w->now_ms += ms;
    w->mono_ms += ms;
    const struct command command = {.kind = COMMAND_NODE_CREATE, .actor = STR("tester")};
    CHECK(turn_submit(w->turn, &command) == OK);
    run_until_quiet(w);
    CHECK(w->wall_ms == w->now_ms && w->batch_ms == w->stamp_ms);
    CHECK(memory_store_mark(w->store).now_ms == w->stamp_ms && turn_now_ms(w->turn) == w->stamp_ms);
}

/* ---- the stamp ---- */

TEST(the_stamp_is_the_wall_clock_while_that_is_steady)
{
    struct world w;
    start_at(&w, 5000);
    advance_clocks(&w, HOUR_MS);
    CHECK(w.stamp_ms == w.now_ms);
    w.now_ms += MINUTE_MS; /* a small correction is no jump */
    advance_clocks(&w, 0);
    CHECK(w.stamp_ms == w.now_ms);
    world_fini(&w);
}

TEST(the_stamp_never_decreases)
{
    struct world w;
    start_at(&w, 5000);
    w.now_ms = 9000;
    advance_clocks(&w, 0);
    w.now_ms = 10;
    advance_clocks(&w, 0);
    CHECK(w.stamp_ms == 9000 && w.wall_ms == 10);
    restart(&w, 50);
    advance_clocks(&w, 0);
    CHECK(w.stamp_ms == 9000 && w.wall_ms == 10);
    advance_clocks(&w, 9990); /* it advances again when the clock has reached it */
    CHECK(w.stamp_ms == 10000);
    world_fini(&w);
}

TEST(a_jump_ahead_that_is_reverted_has_no_effect)
{
    struct world w;
    start_at(&w, YEARS_MS);
    advance_clocks(&w, HOUR_MS);
    w.now_ms += YEARS_MS;
    advance_clocks(&w, 0);
    CHECK(w.stamp_ms == YEARS_MS + HOUR_MS && w.wall_ms == w.stamp_ms + YEARS_MS);
    advance_clocks(&w, MINUTE_MS - 1); /* it advances with the monotonic clock meanwhile */
    CHECK(w.stamp_ms == YEARS_MS + HOUR_MS + MINUTE_MS - 1);
    w.now_ms -= YEARS_MS;
    advance_clocks(&w, HOUR_MS);
    CHECK(w.stamp_ms == w.now_ms);
    world_fini(&w);
}

TEST(a_jump_ahead_counts_after_a_second_reading_a_minute_later)
{
    struct world w;
    start_at(&w, YEARS_MS);
    advance_clocks(&w, HOUR_MS);
    w.now_ms += YEARS_MS;
    advance_clocks(&w, 0);
    w.mono_ms += MINUTE_MS - 1;
    w.now_ms += MINUTE_MS - 1 + DAY_MS; /* that is another jump, and not a second reading */
    turn_read_clock(w.turn);
    w.mono_ms += MINUTE_MS - 1;
    w.now_ms += MINUTE_MS - 1;
    turn_read_clock(w.turn);
    CHECK(turn_now_ms(w.turn) == YEARS_MS + HOUR_MS + 2 * (MINUTE_MS - 1));
    advance_clocks(&w, 1);
    CHECK(w.stamp_ms == w.now_ms && w.now_ms > 2 * YEARS_MS);
    w.now_ms -= YEARS_MS; /* too late: the stamp stays */
    const int64_t highest_ms = w.stamp_ms;
    advance_clocks(&w, HOUR_MS);
    CHECK(w.stamp_ms == highest_ms && w.wall_ms == w.now_ms);
    world_fini(&w);
}

/* Down for a year and more, or started with a wrong clock. */
TEST(at_the_start_a_clock_ahead_by_less_than_400_days_is_adopted)
{
    struct world w;
    start_at(&w, YEARS_MS);
    w.now_ms += 400 * DAY_MS - 1;
    restart(&w, 7);
    advance_clocks(&w, 0);
    CHECK(w.stamp_ms == w.now_ms);
    world_fini(&w);
}

TEST(at_the_start_a_clock_further_ahead_counts_after_a_second_reading)
{
    struct world w;
    start_at(&w, YEARS_MS);
    w.now_ms += 400 * DAY_MS;
    restart(&w, 7);
    advance_clocks(&w, 0);
    CHECK(w.stamp_ms == YEARS_MS && w.wall_ms == w.now_ms);
    advance_clocks(&w, MINUTE_MS - 1);
    CHECK(w.stamp_ms == YEARS_MS + MINUTE_MS - 1);
    advance_clocks(&w, 1);
    CHECK(w.stamp_ms == w.now_ms);
    world_fini(&w);
    start_at(&w, YEARS_MS);
    w.now_ms += YEARS_MS;
    restart(&w, 7);
    advance_clocks(&w, MINUTE_MS - 1);
    w.now_ms -= YEARS_MS; /* corrected before the second reading */
    advance_clocks(&w, MINUTE_MS);
    CHECK(w.stamp_ms == w.now_ms && w.now_ms < YEARS_MS + DAY_MS);
    world_fini(&w);
}

/* ---- retention ---- */

TEST(some_batches_delete_old_runs)
{
    struct world w;
    start_at(&w, 5000);
    advance_clocks(&w, HOUR_MS);
    CHECK(w.runs_before == 0); /* no row can be old enough */
    advance_clocks(&w, RUNS_KEEP_MS - HOUR_MS);
    CHECK(w.runs_before == 5000);
    advance_clocks(&w, RUNS_SWEEP_MS - 1); /* not with every batch */
    CHECK(w.runs_before == 0);
    advance_clocks(&w, 1);
    CHECK(w.runs_before == 5000 + RUNS_SWEEP_MS);
    CHECK(w.events_before == 0); /* no retention time is set */
    world_fini(&w);
}

TEST(old_events_are_deleted_if_configured)
{
    struct world w;
    start_at(&w, 5000);
    turn_keep_events(w.turn, 3 * HOUR_MS);
    advance_clocks(&w, 2 * HOUR_MS);
    CHECK(w.events_before == 0); /* no row can be old enough */
    advance_clocks(&w, HOUR_MS);
    CHECK(w.events_before == 5000);
    advance_clocks(&w, EVENTS_SWEEP_MS - 1); /* not with every batch */
    CHECK(w.events_before == 0);
    advance_clocks(&w, 1);
    CHECK(w.events_before == 5000 + EVENTS_SWEEP_MS);
    turn_keep_events(w.turn, 0);
    advance_clocks(&w, HOUR_MS);
    CHECK(w.events_before == 0);
    world_fini(&w);
}

/* The clock is in 2038 for a while and set back: earlier rows must not be deleted. */
TEST(a_jump_of_the_clock_deletes_nothing)
{
    struct world w;
    start_at(&w, YEARS_MS);
    turn_keep_events(w.turn, HOUR_MS);
    advance_clocks(&w, HOUR_MS - 1);
    CHECK(w.events_before == 0); /* it may be wrong at the start */
    advance_clocks(&w, 1);
    CHECK(w.events_before == YEARS_MS);
    w.now_ms += YEARS_MS;
    advance_clocks(&w, MINUTE_MS);
    advance_clocks(&w, MINUTE_MS);
    CHECK(w.events_before == 0 && w.stamp_ms == w.now_ms);
    w.now_ms -= YEARS_MS;
    advance_clocks(&w, 2 * HOUR_MS);
    CHECK(w.events_before == 0); /* the stamp is still ahead of it */
    advance_clocks(&w, 2 * HOUR_MS);
    CHECK(w.events_before == 0);
    world_fini(&w);
    start_at(&w, YEARS_MS);
    turn_keep_events(w.turn, HOUR_MS);
    advance_clocks(&w, 2 * HOUR_MS);
    CHECK(w.events_before == YEARS_MS + HOUR_MS);
    w.now_ms += YEARS_MS; /* this jump stays */
    advance_clocks(&w, HOUR_MS - 1);
    CHECK(w.events_before == 0);
    advance_clocks(&w, HOUR_MS);
    CHECK(w.events_before > 2 * YEARS_MS);
    world_fini(&w);
}
