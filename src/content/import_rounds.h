/* import_rounds.h - which document is imported next.
 *
 * One after the other, as they stand. What was refused is tried again in another round as long as
 * the one before let somebody in, since it may have waited for that one; what got in is not
 * imported twice. The daemon and the rehearsal of the command line both ask here, so that the one
 * cannot take what the other refuses.
 *
 * Documents are numbers here. Outcomes may come late: several documents of a round can be under
 * way, but a round begins when the one before it is answered. Lies in the arena given.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"

enum import_rounds_end {
    ROUNDS_TAKEN,
    ROUNDS_REFUSED,
    ROUNDS_LOST, /* nobody was there to say; it is not tried again */
};

struct import_rounds {
    bool *wanted; /* those that are not in yet, and may be */
    uint32_t count;
    uint32_t wanted_count;
    uint32_t next;    /* of this round */
    uint32_t waiting; /* under way */
    uint32_t taken;   /* in this round */
};

/* All of them are wanted. */
struct import_rounds import_rounds_begin(struct arena *a, uint32_t count);
/* This one is not to be imported. Before it was asked for. */
void import_rounds_leave_out(struct import_rounds *r, uint32_t i);
bool import_rounds_wants(const struct import_rounds *r, uint32_t i);
/* The next to import; import_rounds_tell() is to follow. False: none before another outcome, or at
 * all. */
bool import_rounds_next(struct import_rounds *r, uint32_t *out_i);
void import_rounds_tell(struct import_rounds *r, uint32_t i, enum import_rounds_end end);
/* There is nothing to wait for either. */
bool import_rounds_is_over(const struct import_rounds *r);
