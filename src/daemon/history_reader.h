/* history_reader.h - read ended runs, snapshot intervals and events without blocking the loop.
 *
 * A thread has a read-only connection to the store. The loop enqueues requests, the thread executes
 * them in order, and the results arrive in the thread of the loop. The connection is opened for the
 * first request, and again after it was lost. Of a request of the API it has only the number.
 *
 * If the store does not answer for HISTORY_SILENT_MS, all requests get ERR_UNAVAILABLE.
 */
#pragma once

#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "model/record.h"
#include "port/history_port.h"

/* Requests that may be queued; more get ERR_LIMIT. */
#define HISTORY_WAITING_MAX 256u
#define HISTORY_SILENT_MS   5000
/* Bytes of the records of one reply; a page of intervals ends after the record that reaches it. */
#define HISTORY_BYTES_MAX ((size_t)4 << 20)

struct history;

struct history_callbacks {
    void *self;
    /* The result of request `number`, called in the thread of the loop. The records are valid
     * during the call. It may enqueue another request. */
    void (*found)(void *self, int64_t number, const struct record *records, uint32_t count,
                  err why);
};

/* `url` as in store_thread.h; it is copied. NULL if the thread cannot be started. */
struct history *history_new(uv_loop_t *loop, const char *url, struct history_callbacks callbacks);
/* Requests that are unanswered get no reply. The memory is freed in the next iteration of the loop.
 * NULL is allowed. */
void history_free(struct history *h);

/* As in history_port.h. ERR_LIMIT if too many requests are queued. A page of intervals may end
 * early (HISTORY_BYTES_MAX), but has at least one record: a caller that needs all of them continues
 * after the last record until a page is empty. */
NODISCARD err history_runs(struct history *h, int64_t noderole_id, uint32_t limit, int64_t number);
NODISCARD err history_intervals(struct history *h, const struct interval_page *page,
                                int64_t number);
NODISCARD err history_events(struct history *h, struct history_cursor from, uint32_t limit,
                             int64_t number);
