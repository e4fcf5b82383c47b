#include "model/limits.h"
#include "turn/turn_private.h"

/* Deletion of old runs and events (ADR 0061). The file owns turn.retention, the times of the next
 * deletions. A batch that is written anyway carries the time before which the store deletes rows;
 * an installation without changes deletes nothing and needs no space.
 *
 * Ages depend on the wall clock, which can be wrong: a clock that was set to 2038 for a minute
 * must not delete the history. So rows are deleted only after the clock has run for an hour
 * without a jump, and while it is not behind the stamp of earlier commands by more than ten
 * minutes. If a batch with a deletion fails, the rows stay until the next deletion is due. */

enum {
    SLACK_MS = 600000,   /* the wall clock may be so far behind the stamp */
    STEADY_MS = 3600000, /* time without a jump of the clock               */
};

static bool retention_clock_is_steady(const struct turn *t)
{
    return t->mono_ms - t->times.even_since_ms >= STEADY_MS &&
           t->times.wall_ms >= t->now_ms - SLACK_MS;
}

/* The time before which rows are deleted; 0: not now. At most once in every_ms. */
static int64_t retention_cutoff_ms(const struct turn *t, int64_t keep_ms, int64_t every_ms,
                                   int64_t *next_ms)
{
    if (!keep_ms || t->mono_ms < *next_ms || t->now_ms <= keep_ms || !retention_clock_is_steady(t))
        return 0;
    *next_ms = t->mono_ms + every_ms;
    return t->now_ms - keep_ms;
}

int64_t retention_runs_before(struct turn *t)
{
    return retention_cutoff_ms(t, RUNS_KEEP_MS, RUNS_SWEEP_MS, &t->retention.runs_next_ms);
}

int64_t retention_events_before(struct turn *t)
{
    return retention_cutoff_ms(t, t->retention.events_keep_ms, EVENTS_SWEEP_MS,
                               &t->retention.events_next_ms);
}

void turn_keep_events(struct turn *t, int64_t ms)
{
    t->retention.events_keep_ms = ms;
}
