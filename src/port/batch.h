/* batch.h - the encoded changes of one turn.
 *
 * A batch is the content of one store transaction: the new content or the deletion of every row
 * that changed, each once. The store accepts it only if its epoch and turn match (ADR 0015). The
 * bytes belong to the caller of submit() and stay valid until poll() has reported the result.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/hash/hash.h"
#include "base/text/buf.h"
#include "base/text/str.h"
#include "model/record.h"

struct batch {
    int64_t epoch;   /* of the writer; the store refuses any other than its own          */
    int64_t turn;    /* number of this batch; the store must be at turn - 1              */
    int64_t now_ms;  /* stamp of its commands; after a restart stamps are not below it   */
    uint32_t rows;   /* number of changes                                                */
    uint32_t events; /* number of events among them                                      */
    /* Concatenated output of batch_put(). Deletions come first, so that a new row can use a unique
     * key of a deleted one. */
    struct str changes;
    /* Delete history rows of runs that ended before this time, RUNS_SWEEP_ROWS at most; 0 = none.
     * */
    int64_t runs_before;
    /* Delete events before this time, EVENTS_SWEEP_ROWS at most; 0 = none. */
    int64_t events_before;
    struct digest128 digest; /* of all loaded tables after this batch (ADR 0026) */
};

/* Append one change: a byte that is 1 for a deletion, then the record. Of a deleted row only the
 * key is written. */
void batch_put(struct buf *out, const struct change *change);

/* Decode the change at `*at` and advance *at. Strings point into `changes`. ERR_CORRUPT if it
 * cannot be decoded. The end is reached when *at == changes.len. */
NODISCARD err batch_next(struct str changes, uint32_t *at, struct change *out_change);
