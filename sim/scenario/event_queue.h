/* event_queue.h - future events in the order of simulated time; equal times keep insertion order.
 *
 * The kinds of events are defined by the owner of the queue. Bytes are not copied.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

struct event {
    int64_t at_ms;
    uint64_t order; /* order of insertion, which breaks ties */
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
/* Time of the next event; -1 if the queue is empty. */
int64_t event_queue_next_ms(const struct event_queue *e);
/* False if the queue is empty. */
bool event_queue_take(struct event_queue *e, struct event *out_event);
void event_queue_fini(struct event_queue *e);
