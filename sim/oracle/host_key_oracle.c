#include "sim/oracle/host_key_oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash/hash.h"

void host_key_oracle_fini(struct host_key_oracle *book)
{
    free(book->keys);
    free(book->nodes);
    book->keys = NULL;
    book->nodes = NULL;
    book->count = book->cap = book->node_cap = 0;
}

/* ---- entries ---- */

static void set_node(struct host_key_oracle *book, int64_t id, bool exists)
{
    must(id > 0 && id < 1 << 24);
    if ((uint32_t)id >= book->node_cap) {
        const uint32_t wanted = 2 * (uint32_t)id + 64;
        bool *larger = realloc(book->nodes, wanted * sizeof *larger);
        must(larger);
        memset(larger + book->node_cap, 0, (wanted - book->node_cap) * sizeof *larger);
        book->nodes = larger;
        book->node_cap = wanted;
    }
    book->nodes[id] = exists;
}

static void remove_key(struct host_key_oracle *book, int64_t id)
{
    for (uint32_t i = 0; i < book->count; i++)
        if (book->keys[i].id == id) {
            book->keys[i] = book->keys[--book->count];
            return;
        }
}

static void add_key(struct host_key_oracle *book, const struct host_key_record *r)
{
    remove_key(book, r->id);
    if (book->count == book->cap) {
        book->cap = book->cap ? 2 * book->cap : 64;
        book->keys = realloc(book->keys, book->cap * sizeof *book->keys);
        must(book->keys);
    }
    book->keys[book->count++] = (struct pinned_key){r->id, r->node_id, hash64(r->key, 1)};
}

static void note(struct host_key_oracle *book, const struct record *record, bool gone)
{
    if (record->table == TABLE_NODE)
        set_node(book, record->id, !gone);
    else if (record->table == TABLE_HOST_KEY && gone)
        remove_key(book, record->id);
    else if (record->table == TABLE_HOST_KEY)
        add_key(book, &record->host_key);
}

/* ---- the invariant ---- */

static const char *check_all(struct host_key_oracle *book)
{
    for (uint32_t i = 0; i < book->count; i++) {
        const struct pinned_key *one = &book->keys[i];
        if (one->node_id <= 0 || one->node_id >= (int64_t)book->node_cap ||
            !book->nodes[one->node_id]) {
            snprintf(book->trouble, sizeof book->trouble,
                     "I14: host key %lld is pinned for node %lld, which does not exist",
                     (long long)one->id, (long long)one->node_id);
            return book->trouble;
        }
        for (uint32_t j = 0; j < i; j++)
            if (book->keys[j].hash == one->hash) {
                snprintf(book->trouble, sizeof book->trouble,
                         "I14: one host key is pinned for the nodes %lld and %lld",
                         (long long)book->keys[j].node_id, (long long)one->node_id);
                return book->trouble;
            }
    }
    return NULL;
}

const char *host_key_oracle_batch(struct host_key_oracle *book, const struct batch *batch)
{
    for (uint32_t at = 0; at < batch->changes.len;) {
        struct change change;
        if (batch_next(batch->changes, &at, &change) != OK)
            impossible("a durable batch that does not read");
        note(book, &change.record, change.gone);
    }
    return check_all(book);
}

static err note_record(void *self, const struct record *record)
{
    note(self, record, false);
    return OK;
}

void host_key_oracle_reload(struct host_key_oracle *book, const struct memory_store *store)
{
    host_key_oracle_fini(book);
    if (memory_store_load(store, (struct store_visitor){book, note_record}) != OK)
        impossible("the store does not read");
}
