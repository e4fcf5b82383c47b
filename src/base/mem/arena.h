/* arena.h - memory that is freed all at once.
 *
 * The turn has one, a request has one. Nothing in it is freed singly; reset() forgets everything
 * and keeps the first chunks for the next round. A mark and a rewind bracket scratch work.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* One run of pages; what it hands out begins right behind this head. */
struct arena_chunk {
    struct arena_chunk *next;
    size_t size; /* bytes behind the head, a multiple of 16 */
    size_t used; /* bytes taken from it when the arena moved on */
    size_t spare;
};

struct arena {
    struct arena_chunk *first;
    struct arena_chunk *now;
    size_t used; /* bytes taken from `now` */
    size_t held; /* bytes of all chunks, heads included */
};

struct arena_mark {
    struct arena_chunk *now;
    size_t used;
};

/* A zeroed struct arena is a valid empty arena. fini gives every page back. */
void arena_fini(struct arena *a);

/* For arena_alloc alone: the current chunk cannot give `size` bytes. */
void *arena_alloc_elsewhere(struct arena *a, size_t size);

/* `size` bytes, aligned to 16, NOT zeroed. Any size; never NULL; size 0 gives a valid pointer.
 * Inline because the undo log and every text pass through here. */
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

/* Forget everything. Keeps up to 4 MiB of chunks, gives the rest back. */
void arena_reset(struct arena *a);

struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, struct arena_mark mark);

/* Bytes handed out since the last reset (for tests and bounds). */
size_t arena_used(const struct arena *a);

#define arena_new(a, type)          ((type *)arena_zalloc((a), sizeof(type)))
#define arena_array(a, type, count) ((type *)arena_zalloc((a), sizeof(type) * (size_t)(count)))
