/* heap.h - allocator for blocks of any size: edge lists, strings, tree nodes.
 *
 * A block is identified by a 32-bit reference (in units of 16 bytes); 0 means none. Blocks come
 * from size classes and never move. A freed block becomes reusable only when the outermost undo
 * mark is kept (undo.h), so that a rollback finds its content unchanged. The heap does not save
 * what callers write into a block: a caller that overwrites live content calls undo_note() first.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/mem/undo.h"

#define HEAP_CLASSES 31u

struct heap {
    struct undo *undo;
    char **chunks;               /* directory of 1 MiB chunks, followed by one kind byte each */
    uint32_t chunk_count;        /* chunks in the directory; never decreases, also by rollback */
    uint32_t fill;               /* units used in the newest shared chunk */
    uint32_t fill_chunk;         /* index of that chunk + 1; 0 = none */
    uint32_t free[HEAP_CLASSES]; /* first free block per class below 1 MiB */
    uint32_t stamp;              /* undo stamp when the fields from `fill` on were saved last */
    uint64_t used;               /* bytes of allocated blocks, by class size */
};

void heap_init(struct heap *h, struct undo *undo);
void heap_fini(struct heap *h);

/* A block of at least `size` bytes (size > 0, at most 256 MiB), not zeroed. */
uint32_t heap_alloc(struct heap *h, uint32_t size);
/* `size` is the size given to heap_alloc, or any size of the same class. A ref of 0 is ignored. */
void heap_free(struct heap *h, uint32_t ref, uint32_t size);
/* The usable size of a block that was allocated with `size`. */
uint32_t heap_class_size(uint32_t size);

static inline void *heap_at(const struct heap *h, uint32_t ref)
{
    return h->chunks[ref >> 16] + ((size_t)(ref & 0xffffu) << 4);
}
