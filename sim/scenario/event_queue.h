/* event_queue.h - what will happen, in the order of simulated time. Ties keep the order of arrival.
 *
 * What the kinds are and what they mean is up to whoever lives by the list. Bytes are not copied.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

struct event {
    int64_t at_ms;
    uint64_t order; /* among those of one moment */
    uint32_t kind;
    int64_t id;
    int64_t detail;
    struct str bytes;
};

struct event_queue {
    struct event *heap;
    uint32_t count;
    uint32_t cap;
    uint64_t order;
};

void event_queue_add(struct event_queue *e, struct event event);
/* When the next one is due; -1 = there is none. */
int64_t event_queue_next_ms(const struct event_queue *e);
/* False when there is none. */
bool event_queue_take(struct event_queue *e, struct event *out_event);
void event_queue_fini(struct event_queue *e);
