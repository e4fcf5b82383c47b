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

struct events {
    struct event *heap;
    uint32_t count;
    uint32_t cap;
    uint64_t order;
};

void events_add(struct events *e, struct event event);
/* When the next one is due; -1 = there is none. */
int64_t events_next_ms(const struct events *e);
/* False when there is none. */
bool events_take(struct events *e, struct event *out_event);
void events_fini(struct events *e);
