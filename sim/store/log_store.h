/* log_store.h - a store that appends batches to a log in memory.
 *
 * For benchmarks of the engine without a disk. Every batch is appended and committed at once.
 * Nothing can be loaded from it. The log is one reserved range of addresses whose pages are
 * allocated when they are written, so its share of the resident memory is exactly log_store_size()
 * and can be subtracted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/store_port.h"

struct log_store {
    char *log;
    size_t size; /* bytes written */
    size_t cap;  /* bytes reserved */
    int64_t turn;
    int64_t epoch;
    uint64_t batches;
    uint64_t rows;
    bool pending;
};

void log_store_init(struct log_store *l);
void log_store_fini(struct log_store *l);
struct store_port log_store_port(struct log_store *l);
/* Bytes of memory that the log occupies, in whole pages. */
size_t log_store_size(const struct log_store *l);
