/* metrics.h - what is asked of this room, counted, and all that is counted, told.
 *
 * Counts live with the API and start at 0 with it. Statuses and methods are few, so a row of
 * counters is all there is; whatever does not fit into it is not told apart.
 */
#pragma once

#include "base/text/prom_metrics.h"
#include "http/http.h"

enum { COUNTED_STATUSES = 24, COUNTED_METHODS = HTTP_OTHER + 1 };

struct request_counts {
    struct histogram took;
    uint64_t refused_for_memory; /* answers */
    struct {
        int status; /* 0: the rest of the row is free; the last stands for all that is left */
        uint64_t count;
    } by[COUNTED_METHODS][COUNTED_STATUSES];
};

void request_counts_init(struct request_counts *c);
void request_counts_note(struct request_counts *c, enum http_method method, int status,
                         uint64_t us);
