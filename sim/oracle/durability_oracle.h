/* durability_oracle.h - the set of stored runs and outbox rows (invariant I5).
 *
 * No effect may leave the daemon before its cause is stored. The oracle reads every batch that the
 * store committed, independently of the core, and answers for a run or an outbox row whether it is
 * stored.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "port/batch.h"
#include "sim/store/memory_store.h"

struct durability_oracle {
    uint32_t *runs; /* by run id: attempt + 1; 0 = not stored */
    bool *outbox;   /* by outbox id: stored */
    uint32_t runs_cap;
    uint32_t outbox_cap;
};

void durability_oracle_fini(struct durability_oracle *l);
void durability_oracle_batch(struct durability_oracle *l, const struct batch *batch);
/* Start again from the content of the store. */
void durability_oracle_reload(struct durability_oracle *l, const struct memory_store *store);
bool durability_oracle_has_run(const struct durability_oracle *l, int64_t run_id, uint32_t attempt);
bool durability_oracle_has_outbox(const struct durability_oracle *l, int64_t outbox_id);
