#include "sim/oracle/host_key_oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash/hash.h"

void host_key_oracle_fini(struct host_key_oracle *oracle)
{
    free(oracle->keys);
    free(oracle->nodes);
    oracle->keys = NULL;
    oracle->nodes = NULL;
    oracle->count = oracle->cap = oracle->node_cap = 0;
}

/* ---- entries ---- */

static void host_key_oracle_set_node(struct host_key_oracle *oracle, int64_t id, bool exists)
{
    must(id > 0 && id < 1 << 24);
    if ((uint32_t)id >= oracle->node_cap) {
        const uint32_t wanted = 2 * (uint32_t)id + 64;
        bool *larger = realloc(oracle->nodes, wanted * sizeof *larger);
        must(larger);
        memset(larger + oracle->node_cap, 0, (wanted - oracle->node_cap) * sizeof *larger);
        oracle->nodes = larger;
        oracle->node_cap = wanted;
    }
    oracle->nodes[id] = exists;
}

static void host_key_oracle_remove(struct host_key_oracle *oracle, int64_t id)
{
    for (uint32_t i = 0; i < oracle->count; i++)
        if (oracle->keys[i].id == id) {
            oracle->keys[i] = oracle->keys[--oracle->count];
            return;
        }
}

static void host_key_oracle_add(struct host_key_oracle *oracle, const struct host_key_record *r)
{
    host_key_oracle_remove(oracle, r->id);
    if (oracle->count == oracle->cap) {
        oracle->cap = oracle->cap ? 2 * oracle->cap : 64;
        oracle->keys = realloc(oracle->keys, oracle->cap * sizeof *oracle->keys);
        must(oracle->keys);
    }
    oracle->keys[oracle->count++] = (struct pinned_key){r->id, r->node_id, hash64(r->key, 1)};
}

static void host_key_oracle_note(struct host_key_oracle *oracle, const struct record *record,
                                 bool gone)
{
    if (record->table == TABLE_NODE)
        host_key_oracle_set_node(oracle, record->id, !gone);
    else if (record->table == TABLE_HOST_KEY && gone)
        host_key_oracle_remove(oracle, record->id);
    else if (record->table == TABLE_HOST_KEY)
        host_key_oracle_add(oracle, &record->host_key);
}

/* ---- invariant I14 ---- */

static const char *host_key_oracle_check(struct host_key_oracle *oracle)
{
    for (uint32_t i = 0; i < oracle->count; i++) {
        const struct pinned_key *one = &oracle->keys[i];
        if (one->node_id <= 0 || one->node_id >= (int64_t)oracle->node_cap ||
            !oracle->nodes[one->node_id]) {
            snprintf(oracle->trouble, sizeof oracle->trouble,
                     "I14: host key %lld is pinned for node %lld, which does not exist",
                     (long long)one->id, (long long)one->node_id);
            return oracle->trouble;
        }
        for (uint32_t j = 0; j < i; j++)
            if (oracle->keys[j].hash == one->hash) {
                snprintf(oracle->trouble, sizeof oracle->trouble,
                         "I14: one host key is pinned for the nodes %lld and %lld",
                         (long long)oracle->keys[j].node_id, (long long)one->node_id);
                return oracle->trouble;
            }
    }
    return NULL;
}

const char *host_key_oracle_batch(struct host_key_oracle *oracle, const struct batch *batch)
{
    for (uint32_t at = 0; at < batch->changes.len;) {
        struct change change;
        if (batch_next(batch->changes, &at, &change) != OK)
            impossible("a stored batch cannot be decoded");
        host_key_oracle_note(oracle, &change.record, change.gone);
    }
    return host_key_oracle_check(oracle);
}

static err host_key_oracle_note_record(void *self, const struct record *record)
{
    host_key_oracle_note(self, record, false);
    return OK;
}

void host_key_oracle_reload(struct host_key_oracle *oracle, const struct memory_store *store)
{
    host_key_oracle_fini(oracle);
    const struct record_callback note = {oracle, host_key_oracle_note_record};
    if (memory_store_load_table(store, TABLE_NODE, note) != OK ||
        memory_store_load_table(store, TABLE_HOST_KEY, note) != OK)
        impossible("the store cannot be read");
}
