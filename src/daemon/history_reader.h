/* history_reader.h - looking back without keeping the loop waiting.
 *
 * A thread with a connection of its own to the store, which can only read: it is asked by the loop,
 * one thing after the other, and reports back to it. The connection is made when somebody asks for
 * the first time, and again when it was lost. It knows nothing of requests but their numbers.
 *
 * A store that does not answer for HISTORY_SILENT_MS does not keep anybody waiting: everything that
 * was asked is answered ERR_UNAVAILABLE then.
 */
#pragma once

#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "model/record.h"
#include "port/history_port.h"

/* Questions that may wait. */
#define HISTORY_WAITING_MAX 256u
#define HISTORY_SILENT_MS   5000
/* What the records of one answer may take, and one more. */
#define HISTORY_BYTES_MAX ((size_t)4 << 20)

struct history;

struct history_seams {
    void *self;
    /* In the loop's thread: what was asked for under that number. The records live for the call.
     * May ask again. */
    void (*found)(void *self, int64_t number, const struct record *records, uint32_t count,
                  err why);
};

/* `url` as in store.h; it is copied. NULL when no thread is to be had. */
struct history *history_new(uv_loop_t *loop, const char *url, struct history_seams seams);
/* What was asked is not answered any more. Its memory goes when the loop has run once more. NULL is
 * fine. */
void history_free(struct history *h);

/* As in history_port. ERR_LIMIT when too many wait. A page of intervals ends early when its records
 * take HISTORY_BYTES_MAX, but not before the first one: a caller that needs all of them asks again
 * from the last record on until nothing is found. */
NODISCARD err history_runs(struct history *h, int64_t noderole_id, uint32_t limit, int64_t number);
NODISCARD err history_intervals(struct history *h, const struct interval_page *page,
                                int64_t number);
NODISCARD err history_events(struct history *h, struct history_place from, uint32_t limit,
                             int64_t number);
