#include "turn/turn_private.h"

/* The two times of a command (ADR 0069).
 *
 * `wall_ms` is the reading of the wall clock, right or wrong; credentials expire by it. The
 * stamp, `now_ms`, orders what happens: it follows the wall clock and never goes back, so a wall
 * clock that was ahead once would leave the stamp ahead for as long. Therefore the stamp does not
 * follow a jump forward at once. A jump is a change of the difference between wall clock and
 * monotonic clock. Until a reading a minute later confirms it, the stamp advances with the
 * monotonic clock; a wall clock that was set right again within that minute leaves no trace.
 *
 * At the start there is no earlier reading, only the stamp of the last batch. The process may have
 * been down for long, so a wall clock ahead of that stamp by less than 400 days is adopted.
 *
 * The file owns turn.times, turn.now_ms and turn.mono_ms. times_anchor() is called when the stamp
 * of the last batch is known, before the first command is stamped. Reading a clock cannot fail. */

enum {
    JUMP_MS = 60000,    /* a larger change of the offset is a jump */
    CONFIRM_MS = 60000, /* monotonic time after which a jump is confirmed */
};

static const int64_t START_AHEAD_MS_MAX = (int64_t)400 * 24 * 3600 * 1000;

static void times_raise_stamp(struct turn *t, int64_t ms)
{
    if (ms > t->now_ms)
        t->now_ms = ms;
}

void times_read(struct turn *t)
{
    struct times *times = &t->times;
    const int64_t wall_ms = t->ports.clock.now_ms(t->ports.clock.self);
    const int64_t mono_ms = t->ports.clock.mono_ms(t->ports.clock.self);
    if (mono_ms > t->mono_ms)
        t->mono_ms = mono_ms;
    const int64_t offset_ms = wall_ms - t->mono_ms;
    const int64_t change_ms = offset_ms - times->offset_ms;
    if (!times->is_read || change_ms > JUMP_MS || change_ms < -JUMP_MS)
        times->even_since_ms = t->mono_ms;
    times->is_read = true;
    times->offset_ms = offset_ms;
    times->wall_ms = wall_ms;
    if (!times->is_anchored)
        return;
    if (offset_ms - times->adopted_ms <= JUMP_MS || t->mono_ms - times->even_since_ms >= CONFIRM_MS)
        times->adopted_ms = offset_ms;
    times_raise_stamp(t, t->mono_ms + times->adopted_ms);
}

void times_anchor(struct turn *t, int64_t stored_ms)
{
    struct times *times = &t->times;
    if (!times->is_anchored) {
        const bool is_near = !stored_ms || times->wall_ms - stored_ms < START_AHEAD_MS_MAX;
        times->adopted_ms = is_near ? times->offset_ms : stored_ms - t->mono_ms;
        times->is_anchored = true;
    }
    times_raise_stamp(t, stored_ms);
    times_raise_stamp(t, t->mono_ms + times->adopted_ms);
}

void turn_read_clock(struct turn *t)
{
    times_read(t);
}

int64_t turn_now_ms(const struct turn *t)
{
    return t->now_ms;
}
