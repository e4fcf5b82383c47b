/* omap.h - an ordered map from 64-bit keys to 32-bit values, under undo.
 *
 * A B+ tree whose nodes are heap blocks. The core uses it for ids, names (by hash), timers and
 * queues: lookups and iteration in an order that is the same on every machine. Appending ascending
 * keys fills the leaves completely. Every function that changes the map saves the struct to the
 * undo log first.
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
    uint32_t stamp; /* undo stamp when this struct was saved last */
};

void omap_init(struct omap *m, struct heap *heap);
/* Insert or overwrite. `value` is not 0. */
void omap_put(struct omap *m, uint64_t key, uint32_t value);
/* The value, or 0 if the key is absent (0 is never stored). */
uint32_t omap_find(const struct omap *m, uint64_t key);
/* False if the key was absent. */
bool omap_remove(struct omap *m, uint64_t key);
/* The smallest entry with key >= `from`. False when there is none. */
bool omap_ceil(const struct omap *m, uint64_t from, uint64_t *out_key, uint32_t *out_value);
/* The largest entry. False when empty. */
bool omap_last(const struct omap *m, uint64_t *out_key, uint32_t *out_value);
/* Free every node (deferred like every free of the heap). */
void omap_clear(struct omap *m);
/* True if structure, order and fill of the tree are valid; for tests and core_check. */
bool omap_check(const struct omap *m);
