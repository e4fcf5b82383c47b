/* history_port.h - the port to the archive tables of a store, which the core does not load: events,
 * closed intervals of the timeline, and ended runs.
 *
 * It uses a read-only connection of its own, so that a query of the history and a batch never wait
 * for each other. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "port/store_port.h"

/* A cursor in the events: the position after this event, in the direction of newer or older ones.
 * */
struct history_cursor {
    int64_t turn, n; /* (0, -1) is the beginning, INT64_MAX the end */
    bool is_backward;
};

struct history_port {
    void *self;
    /* At most `limit` events from the cursor on, the nearest first. */
    err (*events)(void *self, struct history_cursor from, uint32_t limit,
                  struct record_callback callback);
    /* One page of the closed intervals that contain the seq of a snapshot. */
    err (*intervals)(void *self, const struct interval_page *page, struct record_callback callback);
    /* At most `limit` ended runs of a noderole, newest first. */
    err (*runs)(void *self, int64_t noderole_id, uint32_t limit, struct record_callback callback);
};
