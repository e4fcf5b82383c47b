/* store_port.h - the port to the store of records.
 *
 * A store commits one batch at a time, all of it or nothing, also if it crashes. It depends neither
 * on commands nor on the core. Every batch carries (epoch, turn): a writer that has lost the
 * leadership is fenced, and after a lost answer the turn shows whether the batch was committed
 * (ADR 0015).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash/hash.h"
#include "model/record.h"
#include "port/batch.h"

/* The position of a store. An empty one is at turn 0. */
struct store_mark {
    int64_t epoch;
    int64_t turn;            /* of the last committed batch                                  */
    int64_t now_ms;          /* stamp of that batch                                          */
    bool has_digest;         /* false: empty, or a migration changed the records             */
    struct digest128 digest; /* stored with that batch: the loaded records must have it      */
};

/* Called by load() for each record. A result other than OK ends the load with that value. */
struct record_callback {
    void *self;
    err (*record)(void *self, const struct record *record);
};

struct store_port {
    void *self;

    /* Acquire the leadership: increment the epoch, then return the position of the store. A batch
     * of an older epoch that is still in progress is either committed by then or never will be.
     * `epoch` is the epoch of this process, 0 at the start. ERR_FENCED if another process has
     * incremented it since; after another error the call may be repeated. */
    err (*lead)(void *self, int64_t epoch, struct store_mark *out_mark);

    /* Visit every record below TABLE_LOADED: tables in the order of the enum, ids ascending
     * (counters by name), relations by their key. A record is valid during the callback. Not while
     * a batch is in flight. */
    err (*load)(void *self, struct record_callback callback);

    /* Begin to write. The batch and its bytes must stay valid until poll() has reported the result.
     * An error means that the batch is not committed and will not be (ERR_UNKNOWN: it may be). */
    err (*submit)(void *self, const struct batch *batch);

    /* The result of the batch in flight. While *out_busy is set there is none. Then, once:
     * OK            it is durable;
     * ERR_FENCED    it is not committed, a newer leader has fenced this one;
     * ERR_UNKNOWN   the answer was lost: call lead() and compare the turn;
     * any other     it is not committed. */
    err (*poll)(void *self, bool *out_busy);

    /* Read the position of the store without the leadership; nothing is written. Not while a batch
     * is in flight. */
    err (*read_mark)(void *self, struct store_mark *out_mark);

    /* While no batch is in flight: report a loss of the connection that the store has detected.
     * ERR_FENCED if another process has the leadership, another error if lead() must be called
     * again. NULL = not supported. */
    err (*notice)(void *self);
};
