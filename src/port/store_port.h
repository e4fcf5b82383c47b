/* store_port.h - the seam to whatever keeps the records.
 *
 * A store takes one batch at a time and either keeps all of it or nothing, whatever breaks. It
 * knows neither commands nor the core. Every batch is guarded by (epoch, turn): a writer that was
 * ousted is told so, and after an unclear answer the turn says whether the batch is in.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash/hash.h"
#include "model/record.h"
#include "port/batch.h"

/* Where a store stands. An empty one is at turn 0. */
struct store_mark {
    int64_t epoch;
    int64_t turn;            /* of the last batch that is in                                 */
    int64_t now_ms;          /* of that batch                                                */
    bool has_digest;         /* false: empty, or a migration changed what the digest is over */
    struct digest128 digest; /* of that batch: what load() gives must add up to it           */
};

/* What load() calls for each record. Anything but OK ends the load with that value. */
struct store_visitor {
    void *self;
    err (*record)(void *self, const struct record *record);
};

struct store_port {
    void *self;

    /* Become the one who writes: raise the epoch, then tell where the store stands. Every batch
     * of an older epoch that is still on its way is either in by now or will never be. `epoch` is
     * the one held until now, 0 at the start. ERR_FENCED when somebody else raised it since;
     * otherwise a failure may be tried again. */
    err (*lead)(void *self, int64_t epoch, struct store_mark *out_mark);

    /* Hand over every record below TABLE_LOADED: tables in the order of the enum, ids ascending
     * (counters by name), relations by their key. A record lives for the call. Not while a batch
     * is in flight. */
    err (*load)(void *self, struct store_visitor visitor);

    /* Begin to write. The batch and its bytes stay in place until poll() has an answer. An error
     * means that the batch is not in and will not be (ERR_UNKNOWN: may be). */
    err (*submit)(void *self, const struct batch *batch);

    /* Has the batch in flight been written? While *out_busy the result means nothing. Then, once:
     * OK            it is in, for good;
     * ERR_FENCED    it is not, somebody newer leads;
     * ERR_UNKNOWN   the answer was lost: lead() and look at the turn;
     * any other     it is not in. */
    err (*poll)(void *self, bool *out_busy);

    /* Tell where the store stands without leading it: nothing changes. Not while a batch is in
     * flight. */
    err (*look)(void *self, struct store_mark *out_mark);

    /* Nothing is in flight: has the store noticed by itself that it is lost to us? ERR_FENCED when
     * somebody else leads, another error when it must be led again. NULL = it never does. */
    err (*notice)(void *self);
};
