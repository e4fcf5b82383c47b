/* durability_oracle.h - what is durable, kept apart from everything that says so (invariant I5).
 *
 * Nothing may leave the daemon before its cause is in the store. The ledger reads every batch that
 * the store took and can tell, for a run or an outbox row, whether it is in.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "port/batch.h"
#include "sim/store/memory_store.h"

struct durability_oracle {
    uint32_t *runs; /* by run id: attempt + 1; 0 = not in */
    bool *outbox;   /* by outbox id */
    uint32_t runs_cap;
    uint32_t outbox_cap;
};

void durability_oracle_fini(struct durability_oracle *l);
void durability_oracle_batch(struct durability_oracle *l, const struct batch *batch);
/* Begin again with what the store holds. */
void durability_oracle_reload(struct durability_oracle *l, const struct memory_store *store);
bool durability_oracle_has_run(const struct durability_oracle *l, int64_t run_id, uint32_t attempt);
bool durability_oracle_has_outbox(const struct durability_oracle *l, int64_t outbox_id);
