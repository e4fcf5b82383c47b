/* heap.h - blocks of any size for the core: edge lists, texts, tree nodes.
 *
 * A block is named by a 32-bit reference (in units of 16 bytes), 0 is "none". Blocks come from
 * size classes and never move. Freed blocks become reusable only when the outermost undo mark is
 * kept (undo.h), so rollback finds their content untouched. The heap does not note what callers
 * write into a block: whoever overwrites live content notes it first.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/mem/undo.h"

#define HEAP_CLASSES 31u

struct heap {
    struct undo *undo;
    char **chunks;               /* directory of 1 MiB chunks, then a byte each: what it is for */
    uint32_t chunk_count;        /* chunks in use; grows only, also over a rollback */
    uint32_t fill;               /* units used in the newest shared chunk */
    uint32_t fill_chunk;         /* which chunk that is, +1; 0 = none */
    uint32_t free[HEAP_CLASSES]; /* first free block per class below 1 MiB */
    uint32_t stamp;              /* undo stamp of the last note of these words */
    uint64_t used;               /* bytes in blocks handed out, by class size */
};

void heap_init(struct heap *h, struct undo *undo);
void heap_fini(struct heap *h);

/* A block of at least `size` bytes (size > 0, at most 256 MiB), not zeroed. */
uint32_t heap_alloc(struct heap *h, uint32_t size);
/* `size` as given to heap_alloc (any size of the same class will do). 0 is fine. */
void heap_free(struct heap *h, uint32_t ref, uint32_t size);
/* The real size of a block asked for with `size`. */
uint32_t heap_class_size(uint32_t size);

static inline void *heap_at(const struct heap *h, uint32_t ref)
{
    return h->chunks[ref >> 16] + ((size_t)(ref & 0xffffu) << 4);
}
