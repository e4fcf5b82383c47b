/* omap.h - an ordered map from 64-bit keys to 32-bit values, under undo.
 *
 * A B+ tree whose nodes are heap blocks. Used for ids, names (by hash), timers and waiting lines:
 * wherever the core must look up or walk in an order that is the same on every machine. Appending
 * ascending keys fills leaves to the brim. The struct itself is noted by every changing call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/containers/heap.h"

struct omap {
    struct heap *heap;
    uint32_t root;   /* heap reference, 0 = empty */
    uint32_t height; /* 0 = root is a leaf */
    uint32_t count;
    uint32_t stamp; /* undo stamp of the last note of these words */
};

void omap_init(struct omap *m, struct heap *heap);
/* Insert or overwrite. `value` is not 0. */
void omap_put(struct omap *m, uint64_t key, uint32_t value);
/* The value, or 0 when absent (0 is never stored). */
uint32_t omap_find(const struct omap *m, uint64_t key);
/* False when it was not there. */
bool omap_remove(struct omap *m, uint64_t key);
/* The smallest entry with key >= `from`. False when there is none. */
bool omap_ceil(const struct omap *m, uint64_t from, uint64_t *out_key, uint32_t *out_value);
/* The largest entry. False when empty. */
bool omap_last(const struct omap *m, uint64_t *out_key, uint32_t *out_value);
/* Give every node back (deferred like any free). */
void omap_clear(struct omap *m);
/* Structure, order and fill are as they should be; for tests and core_check. */
bool omap_check(const struct omap *m);
