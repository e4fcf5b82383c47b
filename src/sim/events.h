/* events.h - what will happen, in the order of simulated time. Ties keep the order of arrival. */
#pragma once

#include "sim/world.h"

void events_add(struct events *e, struct event event);
/* When the next one is due; -1 = there is none. */
int64_t events_next_ms(const struct events *e);
/* False when there is none. */
bool events_take(struct events *e, struct event *out_event);
void events_fini(struct events *e);
