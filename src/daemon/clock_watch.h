/* clock_watch.h - whether wall clock and stamp agree, for the log, metrics and /readyz?verbose.
 *
 * The stamp orders what happens and never goes back (turn.h). A wall clock more than a minute
 * behind it was ahead before, or is wrong now; one more than a minute ahead of it has jumped, and
 * the stamp follows once a second reading confirms the jump.
 */
#pragma once

#include <stdint.h>

#include "base/text/buf.h"

enum clock_state { CLOCK_EVEN, CLOCK_BEHIND, CLOCK_AHEAD };

enum clock_state clock_state(int64_t wall_ms, int64_t stamp_ms);
/* The time that the age of something is judged by (ADR 0069): what is kept until an age is reached
 * is over only when it is over by wall clock and stamp, so that a clock that is ahead for a moment
 * deletes and renews nothing. */
int64_t clock_for_age(int64_t wall_ms, int64_t stamp_ms);
/* Log a change of state, once; `before` is what the last call returned. */
enum clock_state clock_watch(enum clock_state before, int64_t wall_ms, int64_t stamp_ms);
/* "clock: ok", or which way they differ and by how many seconds. */
void clock_describe(struct buf *out, int64_t wall_ms, int64_t stamp_ms);
