/* history_port.h - the seam to what a store keeps and the core does not hold: events, closed
 * intervals of the timeline and runs that are over (DECISIONS D8).
 *
 * Read through a connection of its own that can only read, so looking back never waits for a batch
 * and a batch never waits for it. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "port/store_port.h"

/* Between two events: behind this one, on the way to newer ones or back to older ones. */
struct history_place {
    int64_t turn, n; /* (0, -1) is the beginning, INT64_MAX the end */
    bool is_backward;
};

struct history_port {
    void *self;
    /* Events from a place on, the nearest first, `limit` of them at most. */
    err (*events)(void *self, struct history_place from, uint32_t limit,
                  struct store_visitor visitor);
    /* One page of the closed intervals that cover a snapshot. */
    err (*intervals)(void *self, const struct interval_page *page, struct store_visitor visitor);
    /* The runs of a noderole that are over, newest first, `limit` of them at most. */
    err (*runs)(void *self, int64_t noderole_id, uint32_t limit, struct store_visitor visitor);
};
