/* clock_watch.h - whether wall clock and stamp agree, for the log, metrics and /readyz?verbose.
 *
 * The stamp orders events and never decreases (turn.h). A wall clock more than a minute behind it
 * was ahead earlier, or is wrong now; one more than a minute ahead of it has jumped, and the stamp
 * follows when a second sample confirms the jump. Times are in ms since 1970.
 */
#pragma once

#include <stdint.h>

#include "base/text/buf.h"

enum clock_state { CLOCK_EVEN, CLOCK_BEHIND, CLOCK_AHEAD };

enum clock_state clock_state(int64_t wall_ms, int64_t stamp_ms);
/* The time for judging ages (ADR 0069): the earlier one of wall clock and stamp. Data that is kept
 * until an age is reached expires only when both say so, so that a clock that is ahead for a moment
 * neither deletes nor renews anything. */
int64_t clock_for_age(int64_t wall_ms, int64_t stamp_ms);
/* Log a change of state once. `before` is the result of the previous call. */
enum clock_state clock_watch(enum clock_state before, int64_t wall_ms, int64_t stamp_ms);
/* "clock: ok", or which way they differ and by how many seconds. */
void clock_describe(struct buf *out, int64_t wall_ms, int64_t stamp_ms);
