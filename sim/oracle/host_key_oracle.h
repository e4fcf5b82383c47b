/* host_key_oracle.h - after every batch no host key is pinned for two nodes, and a node that was
 * deleted has none (I14).
 *
 * The book reads every batch that the store took and keeps the pins and the nodes of it, apart from
 * the core.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "port/batch.h"
#include "sim/store/memory_store.h"

struct pinned_key {
    int64_t id; /* of its row; 0 = there is none */
    int64_t node_id;
    uint64_t hash; /* of the key */
};

struct host_key_oracle {
    struct pinned_key *keys;
    uint32_t count, cap;
    bool *nodes; /* by id: it exists */
    uint32_t node_cap;
    char trouble[160];
};

void host_key_oracle_fini(struct host_key_oracle *book);
/* The batch is in. NULL, or what is wrong with what it leaves. */
const char *host_key_oracle_batch(struct host_key_oracle *book, const struct batch *batch);
/* Begin again with what the store holds. */
void host_key_oracle_reload(struct host_key_oracle *book, const struct memory_store *store);
