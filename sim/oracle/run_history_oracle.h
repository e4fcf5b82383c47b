/* run_history_oracle.h - every start of a run leaves one row in the history, when it ends and not
 * before.
 *
 * The book reads every batch that the store took. It knows which starts are under way and so which
 * ended with the batch; what the batch puts into the history must be just those, and of each
 * noderole no more may be kept than the settings say. It is kept apart from the core, which says
 * the same in its own way.
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
    uint32_t attempt; /* 0 = none is under way */
};

struct run_history_oracle {
    struct run_start *runs; /* by run id */
    uint32_t cap;
    uint32_t keep;  /* runs of a noderole, as the settings say */
    uint64_t ended; /* so many starts came to an end           */
    char trouble[160];
};

void run_history_oracle_fini(struct run_history_oracle *book);
/* The batch is in. NULL, or what is wrong with it. */
const char *run_history_oracle_batch(struct run_history_oracle *book, const struct batch *batch,
                                     const struct memory_store *store, struct arena *scratch);
/* Begin again with what the store holds. */
void run_history_oracle_reload(struct run_history_oracle *book, const struct memory_store *store);
