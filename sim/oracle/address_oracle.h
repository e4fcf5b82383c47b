/* address_oracle.h - invariants I15 and I16 of stored records: an address belongs to at most one
 * allocation or lease, every allocation is in its range and has its prefix length, a MAC belongs to
 * one node, and a name to one allocation and filter.
 *
 * The oracle reads every batch that the store committed and keeps its own copy of the rows of
 * networks, ranges, routers, allocations, leases, nics, filters and name entries, independently of
 * the core. It checks after every batch that changed one of them, and after every reload.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "port/batch.h"
#include "sim/store/memory_store.h"

/* A row; fields that its table does not have are 0. */
struct address_row {
    enum table table;
    int64_t id;
    int64_t node_id, network_id, range_id, allocation_id, filter_id;
    int64_t mac;
    uint32_t state;
    bool is_readable;
    uint8_t first[18]; /* family, prefix length, and the bytes of the address */
    uint8_t last[18];  /* of a range */
};

struct address_oracle {
    struct address_row *rows;
    uint32_t count, cap;
    char trouble[200];
};

void address_oracle_fini(struct address_oracle *oracle);
/* The batch is stored. Returns NULL, or the violation that it causes. */
const char *address_oracle_batch(struct address_oracle *oracle, const struct batch *batch);
/* Start again from the content of the store. Returns NULL, or the violation found there. */
const char *address_oracle_reload(struct address_oracle *oracle, const struct memory_store *store);
