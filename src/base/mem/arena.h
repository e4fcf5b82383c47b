/* arena.h - an allocator whose memory is freed all at once.
 *
 * The turn has one, and so has each request. Single allocations are not freed; arena_reset() frees
 * all of them and keeps the first chunks for reuse. arena_mark() and arena_rewind() free temporary
 * allocations.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A range of pages; the allocations follow this header. */
struct arena_chunk {
    struct arena_chunk *next;
    size_t size; /* bytes after the header, a multiple of 16 */
    size_t used; /* bytes allocated from it when the arena continued with the next chunk */
    size_t spare;
};

struct arena {
    struct arena_chunk *first;
    struct arena_chunk *now;
    size_t used; /* bytes allocated from `now` */
    size_t held; /* bytes of all chunks, headers included */
};

struct arena_mark {
    struct arena_chunk *now;
    size_t used;
};

/* A zeroed struct arena is a valid empty arena. arena_fini frees every page. */
void arena_fini(struct arena *a);

/* Slow path of arena_alloc: the current chunk has fewer than `size` bytes left. */
void *arena_alloc_elsewhere(struct arena *a, size_t size);

/* `size` bytes, aligned to 16, NOT zeroed. Any size; never NULL; size 0 gives a valid pointer.
 * Inline because the undo log and every string operation call it. */
static inline void *arena_alloc(struct arena *a, size_t size)
{
    struct arena_chunk *now = a->now;
    if (!now || size > now->size - a->used)
        return arena_alloc_elsewhere(a, size);
    char *at = (char *)(now + 1) + a->used;
    a->used += (size + 15) & ~(size_t)15;
    return at;
}

/* The same, zeroed. */
void *arena_zalloc(struct arena *a, size_t size);

/* A copy of `size` bytes. */
void *arena_copy(struct arena *a, const void *from, size_t size);

/* Free all allocations. Keeps up to 4 MiB of chunks, frees the others. */
void arena_reset(struct arena *a);

struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, struct arena_mark mark);

/* Bytes allocated since the last reset (for tests and bounds). */
size_t arena_used(const struct arena *a);

#define arena_new(a, type)          ((type *)arena_zalloc((a), sizeof(type)))
#define arena_array(a, type, count) ((type *)arena_zalloc((a), sizeof(type) * (size_t)(count)))
