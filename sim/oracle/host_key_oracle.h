/* host_key_oracle.h - invariant I14: after every batch, no host key is pinned for two nodes, and
 * none for a deleted node.
 *
 * The oracle reads every batch that the store committed and keeps its own set of pins and nodes,
 * independently of the core.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "port/batch.h"
#include "sim/store/memory_store.h"

struct pinned_key {
    int64_t id; /* of the row; 0 = none */
    int64_t node_id;
    uint64_t hash; /* of the key */
};

struct host_key_oracle {
    struct pinned_key *keys;
    uint32_t count, cap;
    bool *nodes; /* by node id: exists */
    uint32_t node_cap;
    char trouble[160];
};

void host_key_oracle_fini(struct host_key_oracle *oracle);
/* The batch is stored. Returns NULL, or the violation that it causes. */
const char *host_key_oracle_batch(struct host_key_oracle *oracle, const struct batch *batch);
/* Start again from the content of the store. */
void host_key_oracle_reload(struct host_key_oracle *oracle, const struct memory_store *store);
