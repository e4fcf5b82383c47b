#include "model/limits.h"
#include "turn/turn_private.h"

/* What is old goes with a batch that is written anyway: where nothing happens, nothing needs room.
 *
 * How old something is the clock says, and a clock can be wrong: one that was set to 2038 for a
 * minute must not cost the history. So it is believed after it went evenly for an hour, and only
 * while it is not behind what it said before. */

enum { SLACK_MS = 600000, STEADY_MS = 3600000 };

static bool is_clock_believed(const struct turn *t)
{
    return t->mono_ms - t->times.even_since_ms >= STEADY_MS &&
           t->times.wall_ms >= t->now_ms - SLACK_MS;
}

/* The time before which it is old; 0: it is not looked for now. */
static int64_t before(const struct turn *t, int64_t keep_ms, int64_t every_ms, int64_t *next_ms)
{
    if (!keep_ms || t->mono_ms < *next_ms || t->now_ms <= keep_ms || !is_clock_believed(t))
        return 0;
    *next_ms = t->mono_ms + every_ms;
    return t->now_ms - keep_ms;
}

int64_t old_runs(struct turn *t)
{
    return before(t, RUNS_KEEP_MS, RUNS_SWEEP_MS, &t->old.runs_next_ms);
}

int64_t old_events(struct turn *t)
{
    return before(t, t->old.events_keep_ms, EVENTS_SWEEP_MS, &t->old.event_queue_next_ms);
}

void turn_keep_events(struct turn *t, int64_t ms)
{
    t->old.events_keep_ms = ms;
}
