/* prom_metrics.h - histograms, and the Prometheus text format (version 0.0.4).
 *
 * A histogram is a set of counters: recording a duration costs a few comparisons and allocates
 * nothing. There are no locks: writer and reader share a thread. Durations are whole microseconds;
 * there is no floating point.
 */
#pragma once

#include <stdint.h>

#include "base/text/buf.h"
#include "base/text/str.h"

enum { METER_BOUNDS_MAX = 16 };

/* Upper bounds of the buckets in microseconds, ascending. */
struct prom_scale {
    uint32_t count;
    uint64_t us[METER_BOUNDS_MAX];
};

extern const struct prom_scale prom_quick; /* from 100 us to 10 s */
extern const struct prom_scale prom_slow;  /* from 100 ms to 2 hours */

struct histogram {
    const struct prom_scale *scale;
    uint64_t counts[METER_BOUNDS_MAX + 1]; /* per bucket, not cumulative; the last is +Inf */
    uint64_t sum_us;
};

void histogram_note(struct histogram *h, uint64_t us);

/* ---- text format ---- */

struct prom_label {
    const char *name;
    struct str value; /* escaped on output */
};

/* Once before the lines of a metric. type: "counter", "gauge" or "histogram". */
void prom_head(struct buf *b, const char *name, const char *type, const char *help);
/* One line: name{labels} value */
void prom_put(struct buf *b, const char *name, const struct prom_label *labels, uint32_t count,
              uint64_t value);
/* The same in seconds. */
void prom_put_us(struct buf *b, const char *name, const struct prom_label *labels, uint32_t count,
                 uint64_t us);
/* The lines of a histogram: buckets, sum, count. */
void prom_put_histogram(struct buf *b, const char *name, const struct prom_label *labels,
                        uint32_t count, const struct histogram *h);
#define METER_LABELS(...)                                                                          \
    (const struct prom_label[]){__VA_ARGS__},                                                      \
        (uint32_t)(sizeof((const struct prom_label[]){__VA_ARGS__}) / sizeof(struct prom_label))
/* A metric with one value and no labels, with its HELP and TYPE lines. */
void prom_put_one(struct buf *b, const char *name, const char *type, const char *help,
                  uint64_t value);
