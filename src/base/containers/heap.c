#include "base/containers/heap.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/mem/pages.h"

/* An allocator under an undo log: a rollback to an undo mark also undoes allocations and frees.
 *
 * The heap owns chunks of 1 MiB from the system and a directory of them: an array of CHUNKS_MAX
 * pointers, followed by one kind byte for each chunk. Sizes are counted in units of 16 bytes. The
 * reference of a block is `chunk << 16 | unit`; reference 0 means none, so unit 0 of chunk 0 is
 * never allocated.
 *
 * Blocks of up to 768 KiB are cut from shared chunks, or reused from a free list per size class; a
 * free block stores the reference of the next one in its first bytes. Larger blocks are regions of
 * 1, 2, 4, ... 256 whole chunks; the kind byte of their first chunk shows whether they are free.
 *
 * Order. Shared chunks are filled in ascending order, so every shared chunk after `fill_chunk` is
 * unused. A rollback moves `fill_chunk` back but keeps the chunks in the directory, and the next
 * allocation finds them again: a large step that is rolled back many times uses the same memory
 * each time. State is saved in the undo log before it is changed. A free takes effect only when
 * the outermost mark is kept, because a rollback has to find the content of the block unchanged.
 *
 * Failure. There are no error results: a size out of range, a full directory (64 GiB), exhausted
 * memory and a reference to a chunk that does not exist abort the program. */

#define CHUNK_BYTES ((size_t)1 << 20)
#define CHUNK_UNITS 65536u       /* of 16 bytes */
#define CHUNKS_MAX  65536u       /* chunk indices have 16 bits */
#define SIZE_LIMIT  (256u << 20) /* bytes */

enum {
    CLASS_REGION = 31, /* this class is 1 MiB, the following ones double */
    KIND_SHARED = 1,   /* 0: not the first chunk of its region */
    KIND_FREE = 16,    /* + log2 of the number of chunks: first chunk of a free region */
    KIND_TAKEN = 32,   /* + log2 of the number of chunks: first chunk of an allocated region */
};
_Static_assert(CLASS_REGION == HEAP_CLASSES, "one free list for each class below a chunk");

static uint8_t *heap_kinds(const struct heap *h)
{
    return (uint8_t *)(void *)(h->chunks + CHUNKS_MAX);
}

/* Size classes: 1, 2, 3, 4, 6, 8, 12, 16, ... units; from one chunk on, powers of two only. */
static uint32_t heap_class_units(uint32_t class)
{
    if (class >= CLASS_REGION)
        return CHUNK_UNITS << (class - CLASS_REGION);
    if (class == 0)
        return 1;
    return class % 2 ? 2u << (class / 2) : 3u << (class / 2 - 1);
}

static uint32_t heap_class_of(uint32_t size)
{
    must(size > 0 && size <= SIZE_LIMIT);
    uint32_t units = (size + 15) >> 4;
    if (units == 1)
        return 0;
    uint32_t half = 31u - (uint32_t)__builtin_clz(units - 1); /* 2^half < units <= 2^(half+1) */
    if (units > 49152) /* the largest class below one chunk */
        return CLASS_REGION + (half - 15);
    return half * 2 + (units * 2 > 3u << half);
}

uint32_t heap_class_size(uint32_t size)
{
    return heap_class_units(heap_class_of(size)) << 4;
}

void heap_init(struct heap *h, struct undo *undo)
{
    *h = (struct heap){.undo = undo};
    h->chunks = (char **)sys_pages_get(CHUNKS_MAX * (sizeof *h->chunks + 1));
}

/* The number of chunks of the region whose first chunk has this kind; 1 for a shared chunk. */
static uint32_t heap_region_chunks(uint8_t kind)
{
    return kind >= KIND_FREE ? 1u << (kind % KIND_FREE) : 1u;
}

void heap_fini(struct heap *h)
{
    if (!h->chunks)
        return;
    for (uint32_t c = 0; c < h->chunk_count;) {
        uint32_t count = heap_region_chunks(heap_kinds(h)[c]);
        sys_pages_put(h->chunks[c], count * CHUNK_BYTES);
        c += count;
    }
    sys_pages_put(h->chunks, CHUNKS_MAX * (sizeof *h->chunks + 1));
    *h = (struct heap){0};
}

/* Allocates 2^log2_count consecutive chunks and enters them into the directory. Not saved in the
 * undo log: after a rollback the chunks remain, unused. */
static uint32_t heap_add_chunks(struct heap *h, uint32_t log2_count, uint8_t kind)
{
    uint32_t count = 1u << log2_count;
    uint32_t first = h->chunk_count;
    must(count <= CHUNKS_MAX - first);
    char *at = (char *)sys_pages_get(count * CHUNK_BYTES);
    for (uint32_t i = 0; i < count; i++)
        h->chunks[first + i] = at + i * CHUNK_BYTES;
    heap_kinds(h)[first] = kind;
    h->chunk_count += count;
    return first;
}

static void heap_push_free(struct heap *h, uint32_t ref, uint32_t class)
{
    *(uint32_t *)heap_at(h, ref) = h->free[class];
    h->free[class] = ref;
}

/* Puts the unused end of the current shared chunk into the free lists, largest blocks first. The
 * links written there need not be saved: a rollback moves `fill` back before them. */
static void heap_free_chunk_tail(struct heap *h)
{
    while (h->fill < CHUNK_UNITS) {
        uint32_t rest = CHUNK_UNITS - h->fill;
        uint32_t class = heap_class_of(rest << 4);
        if (heap_class_units(class) > rest)
            class --;
        heap_push_free(h, (h->fill_chunk - 1) << 16 | h->fill, class);
        h->fill += heap_class_units(class);
    }
}

/* Makes the next shared chunk the current one: one that a rollback left unused, or a new one. */
static void heap_next_shared_chunk(struct heap *h)
{
    if (h->fill_chunk)
        heap_free_chunk_tail(h);
    uint32_t c = h->fill_chunk;
    while (c < h->chunk_count && heap_kinds(h)[c] != KIND_SHARED)
        c++;
    if (c == h->chunk_count)
        heap_add_chunks(h, 0, KIND_SHARED);
    h->fill_chunk = c + 1;
    h->fill = c == 0; /* unit 0 of chunk 0 would be reference 0, which means none */
}

/* A new region is entered as free first and then saved and taken like an existing one, so that a
 * rollback leaves it free. */
static uint32_t heap_take_region(struct heap *h, uint32_t log2_count)
{
    if (h->chunk_count == 0) /* chunk 0 holds reference 0, so it must not be a region */
        heap_add_chunks(h, 0, KIND_SHARED);
    uint8_t wanted = (uint8_t)(KIND_FREE + log2_count);
    uint32_t c = 0;
    while (c < h->chunk_count && heap_kinds(h)[c] != wanted)
        c += heap_region_chunks(heap_kinds(h)[c]);
    if (c == h->chunk_count)
        heap_add_chunks(h, log2_count, wanted);
    undo_note(h->undo, &heap_kinds(h)[c], 1);
    heap_kinds(h)[c] = (uint8_t)(KIND_TAKEN + log2_count);
    return c << 16;
}

/* Saves the fields from `fill` to the end of the struct, once per undo mark. The fields before
 * them (the directory and its count) are not rolled back. */
static void heap_save_state(struct heap *h)
{
    undo_note_once(h->undo, &h->fill, sizeof *h - offsetof(struct heap, fill), &h->stamp);
}

uint32_t heap_alloc(struct heap *h, uint32_t size)
{
    uint32_t class = heap_class_of(size);
    uint32_t units = heap_class_units(class);
    heap_save_state(h);
    h->used += (uint64_t)units << 4;
    if (class >= CLASS_REGION)
        return heap_take_region(h, class - CLASS_REGION);
    uint32_t ref = h->free[class];
    if (ref) {
        /* The caller will overwrite the link to the next free block; a rollback restores it. */
        uint32_t *link = (uint32_t *)heap_at(h, ref);
        undo_note(h->undo, link, sizeof *link);
        h->free[class] = *link;
        return ref;
    }
    if (h->fill_chunk == 0 || units > CHUNK_UNITS - h->fill)
        heap_next_shared_chunk(h);
    ref = (h->fill_chunk - 1) << 16 | h->fill;
    h->fill += units;
    return ref;
}

/* The deferred part of heap_free; no undo mark is open, so nothing needs to be saved. */
static void heap_free_deferred(void *owner, uint32_t ref, uint32_t class)
{
    struct heap *h = (struct heap *)owner;
    if (class < CLASS_REGION) {
        heap_push_free(h, ref, class);
        return;
    }
    uint8_t *kind = &heap_kinds(h)[ref >> 16];
    must(*kind == KIND_TAKEN + (class - CLASS_REGION));
    *kind = (uint8_t)(KIND_FREE + (class - CLASS_REGION));
}

void heap_free(struct heap *h, uint32_t ref, uint32_t size)
{
    if (ref == 0)
        return;
    must(ref >> 16 < h->chunk_count);
    uint32_t class = heap_class_of(size);
    heap_save_state(h);
    h->used -= (uint64_t)heap_class_units(class) << 4;
    undo_defer(h->undo, heap_free_deferred, h, ref, class);
}
