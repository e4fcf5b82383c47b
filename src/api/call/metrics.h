/* metrics.h - counters of requests; metrics.c also serves /metrics and /version.
 *
 * Counters belong to the API and start at 0 with it. There are few methods and statuses, so each
 * method has a fixed row of counters; the last one counts all statuses that did not fit.
 */
#pragma once

#include "base/text/prom_metrics.h"
#include "http/http.h"

enum { COUNTED_STATUSES = 24, COUNTED_METHODS = HTTP_OTHER + 1 };

struct request_counts {
    struct histogram took;
    uint64_t refused_for_memory; /* replies refused because of memory */
    struct {
        int status; /* 0: unused, like the rest; the last one counts all others */
        uint64_t count;
    } by[COUNTED_METHODS][COUNTED_STATUSES];
};

void request_counts_init(struct request_counts *c);
void request_counts_note(struct request_counts *c, enum http_method method, int status,
                         uint64_t us);
