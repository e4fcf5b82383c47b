/* log_store.h - the cheapest store that still takes bytes: one growing log in memory.
 *
 * For measuring the engine without a disk. Every batch is appended and is in at once. Nothing can
 * be loaded from it. The log is one reserved range of addresses whose pages come when they are
 * written, so its share of the process's memory is exactly what log_store_size() says, and can be
 * subtracted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/store_port.h"

struct log_store {
    char *log;
    size_t size; /* bytes written */
    size_t room; /* bytes reserved */
    int64_t turn;
    int64_t epoch;
    uint64_t batches;
    uint64_t rows;
    bool pending;
};

void log_store_init(struct log_store *l);
void log_store_fini(struct log_store *l);
struct store_port log_store_port(struct log_store *l);
/* Bytes of memory the log occupies, in whole pages. */
size_t log_store_size(const struct log_store *l);
