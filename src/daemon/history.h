/* history.h - looking back without keeping the loop waiting.
 *
 * A thread with a connection of its own to the store, which can only read: it is asked by the loop,
 * one thing after the other, and reports back to it. The connection is made when somebody asks for
 * the first time, and again when it was lost. It knows nothing of requests but their numbers.
 */
#pragma once

#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "model/record.h"

/* Questions that may wait. */
#define HISTORY_WAITING_MAX 256u

struct history;

struct history_seams {
    void *self;
    /* In the loop's thread: the runs that were asked for under that number. They live for the
     * call. May ask again. */
    void (*runs)(void *self, int64_t number, const struct record *runs, uint32_t count, err why);
};

/* `url` as in store.h; it is copied. NULL when no thread is to be had. */
struct history *history_new(uv_loop_t *loop, const char *url, struct history_seams seams);
/* What was asked is not answered any more. Its memory goes when the loop has run once more. NULL is
 * fine. */
void history_free(struct history *h);

/* As history_port.runs. ERR_LIMIT when too many wait. */
NODISCARD err history_runs(struct history *h, int64_t noderole_id, uint32_t limit, int64_t number);
