/* batch.h - everything one turn changed, as bytes.
 *
 * A batch is what a store writes in one transaction: the after-image or the end of every row that
 * changed, each once, guarded by the epoch of the writer and the turn it makes. The bytes belong to
 * whoever submits them and stay in place until the store has answered.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/hash/hash.h"
#include "base/text/buf.h"
#include "base/text/str.h"
#include "model/record.h"

struct batch {
    int64_t epoch;   /* of the writer; the store refuses any but its own              */
    int64_t turn;    /* the one this batch makes: the store must stand at turn - 1    */
    int64_t now_ms;  /* of its commands; after a restart time does not fall behind it */
    uint32_t rows;   /* how many changes                                              */
    uint32_t events; /* how many of them are events                                  */
    /* Written by batch_put, one after the other. Rows that are gone come first, so that another
     * may take the place of one. */
    struct str changes;
    /* Runs that ended before are forgotten with it, RUNS_SWEEP_ROWS of them at most; 0 = none. */
    int64_t runs_before;
    /* The same of events that happened before, EVENTS_SWEEP_ROWS of them at most. */
    int64_t events_before;
    struct digest128 digest; /* of all loaded tables once the batch is in (DECISIONS D9) */
};

/* Append one change: a byte that says whether the row is gone, then its record. Of a row that is
 * gone only the key is written. */
void batch_put(struct buf *out, const struct change *change);

/* Read the change at `*at` and move past it. Texts point into `changes`. ERR_CORRUPT when it does
 * not read. The end is where *at == changes.len. */
NODISCARD err batch_next(struct str changes, uint32_t *at, struct change *out_change);
