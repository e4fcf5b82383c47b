/* run_history_oracle.h - invariant I11: every start of a run writes one row to the history, in the
 * batch in which it ends.
 *
 * The oracle reads every batch that the store committed. It keeps the set of running starts and so
 * knows which of them ended with the batch; the batch must archive exactly those, and no noderole
 * may keep more ended runs than the settings allow. It is independent of the core.
 *
 * What boot servers have acknowledged is recorded in the history without a start; the caller says
 * which of these rows it expects in the next batch.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "port/batch.h"
#include "sim/store/memory_store.h"

/* A start of a run. */
struct run_start {
    int64_t noderole_id;
    uint32_t attempt; /* 0 = not running */
};

/* A row without a start. */
struct run_recorded {
    struct run_start start;
    uint64_t log; /* hash of the text */
};

struct run_history_oracle {
    struct run_start *runs; /* by run id */
    uint32_t cap;
    struct run_recorded *expected; /* in the next batch */
    uint32_t expected_count, expected_cap;
    uint32_t keep;  /* settings.keep_runs                       */
    uint64_t ended; /* number of starts that ended              */
    char trouble[160];
};

void run_history_oracle_fini(struct run_history_oracle *oracle);
/* The next batch has the row of an attempt that was never started, with a run log of this hash. */
void run_history_oracle_expect(struct run_history_oracle *oracle, int64_t noderole_id,
                               uint32_t attempt, uint64_t log);
/* The batch is stored. Returns NULL, or the violation. */
const char *run_history_oracle_batch(struct run_history_oracle *oracle, const struct batch *batch,
                                     const struct memory_store *store, struct arena *scratch);
/* Start again from the content of the store. */
void run_history_oracle_reload(struct run_history_oracle *oracle, const struct memory_store *store);
