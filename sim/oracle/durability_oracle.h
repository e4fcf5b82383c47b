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

struct ledger {
    uint32_t *runs; /* by run id: attempt + 1; 0 = not in */
    bool *outbox;   /* by outbox id */
    uint32_t runs_cap;
    uint32_t outbox_cap;
};

void ledger_fini(struct ledger *l);
void ledger_batch(struct ledger *l, const struct batch *batch);
/* Begin again with what the store holds. */
void ledger_reload(struct ledger *l, const struct memory_store *store);
bool ledger_has_run(const struct ledger *l, int64_t run_id, uint32_t attempt);
bool ledger_has_outbox(const struct ledger *l, int64_t outbox_id);
