/* clock_watch.c - compares wall clock and stamp. Pure functions except for the log lines: the
 * caller keeps the state, so that a change is logged once. */
#include "daemon/clock_watch.h"

#include "sys/log.h"

enum { APART_MS = 60000 }; /* a smaller difference is not reported */

enum clock_state clock_state(int64_t wall_ms, int64_t stamp_ms)
{
    if (stamp_ms - wall_ms > APART_MS)
        return CLOCK_BEHIND;
    return wall_ms - stamp_ms > APART_MS ? CLOCK_AHEAD : CLOCK_EVEN;
}

int64_t clock_for_age(int64_t wall_ms, int64_t stamp_ms)
{
    return wall_ms < stamp_ms ? wall_ms : stamp_ms;
}

enum clock_state clock_watch(enum clock_state before, int64_t wall_ms, int64_t stamp_ms)
{
    const enum clock_state now = clock_state(wall_ms, stamp_ms);
    const int64_t apart_ms = stamp_ms > wall_ms ? stamp_ms - wall_ms : wall_ms - stamp_ms;
    const struct log_field *fields = LOG_FIELDS(LOG_I64("seconds", apart_ms / 1000));
    if (now == before)
        return now;
    if (now == CLOCK_BEHIND)
        log_with(LOG_WARNING, fields,
                 "the wall clock is behind the stamp of earlier changes; new changes keep that "
                 "stamp until the clock reaches it; if the clock is right, stop the daemon and run "
                 "\"halligand set-clock\"");
    else if (now == CLOCK_AHEAD)
        log_with(LOG_WARNING, fields,
                 "the wall clock jumped ahead; stamps follow it if it is unchanged in a minute");
    else
        log_print(LOG_NOTICE, "the wall clock and the stamp agree again");
    return now;
}

void clock_describe(struct buf *out, int64_t wall_ms, int64_t stamp_ms)
{
    const enum clock_state state = clock_state(wall_ms, stamp_ms);
    if (state == CLOCK_EVEN) {
        buf_put_z(out, "clock: ok\n");
        return;
    }
    buf_put_z(out, state == CLOCK_BEHIND ? "clock: behind by " : "clock: ahead by ");
    buf_put_i64(out, (state == CLOCK_BEHIND ? stamp_ms - wall_ms : wall_ms - stamp_ms) / 1000);
    buf_put_z(out, " s\n");
}
