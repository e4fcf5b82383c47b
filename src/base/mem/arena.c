/* arena.c - chunks of an arena. The arena owns its chunks: a list in which `now` is the chunk that
 * is being filled, those before it are not filled any further, and those after it are empty and
 * kept for reuse after a rewind or a reset. There are no error results: exhausted memory aborts
 * (sys_pages_get). */
#include "base/mem/arena.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/mem/pages.h"

#define CHUNK_FIRST ((size_t)16 << 10) /* bytes of the first chunk; each further one is doubled */
#define CHUNK_MAX   ((size_t)4 << 20)  /* bytes, unless one allocation needs more */
#define KEEP_MAX    ((size_t)4 << 20)  /* bytes of chunks that a reset keeps */
#define REQUEST_MAX (SIZE_MAX / 4)     /* bytes of one allocation; larger ones are a defect */

static size_t arena_chunk_bytes(const struct arena_chunk *c)
{
    return sizeof *c + c->size;
}

/* A chunk of twice the size of `before`, within bounds, but of at least `need` bytes. */
static struct arena_chunk *chunk_new(struct arena *a, const struct arena_chunk *before, size_t need)
{
    size_t bytes = before ? arena_chunk_bytes(before) * 2 : CHUNK_FIRST;
    if (bytes > CHUNK_MAX)
        bytes = CHUNK_MAX;
    size_t least = need + sizeof(struct arena_chunk);
    if (bytes < least)
        bytes = (least + CHUNK_FIRST - 1) / CHUNK_FIRST * CHUNK_FIRST;
    struct arena_chunk *c = (struct arena_chunk *)sys_pages_get(bytes);
    *c = (struct arena_chunk){.size = bytes - sizeof *c};
    a->held += bytes;
    return c;
}

void *arena_alloc_elsewhere(struct arena *a, size_t size)
{
    must(size <= REQUEST_MAX);
    size_t need = (size + 15) & ~(size_t)15;
    struct arena_chunk *before = a->now;
    if (before)
        before->used = a->used;
    /* Chunks behind `now` are left over from before a rewind or a reset. */
    struct arena_chunk *c = before ? before->next : a->first;
    while (c && c->size < need) {
        c->used = 0;
        before = c;
        c = c->next;
    }
    if (!c) {
        c = chunk_new(a, before, need);
        if (before)
            before->next = c;
        else
            a->first = c;
    }
    a->now = c;
    a->used = need;
    return c + 1;
}

void *arena_zalloc(struct arena *a, size_t size)
{
    void *at = arena_alloc(a, size);
    memset(at, 0, size);
    return at;
}

void *arena_copy(struct arena *a, const void *from, size_t size)
{
    void *at = arena_alloc(a, size);
    if (size > 0)
        memcpy(at, from, size);
    return at;
}

/* Frees every chunk that exceeds `keep_max` bytes together with the kept ones before it. */
static void give_back(struct arena *a, size_t keep_max)
{
    struct arena_chunk **link = &a->first;
    size_t kept = 0;
    while (*link) {
        struct arena_chunk *c = *link;
        size_t bytes = arena_chunk_bytes(c);
        if (bytes <= keep_max - kept) {
            kept += bytes;
            link = &c->next;
        } else {
            *link = c->next;
            sys_pages_put(c, bytes);
        }
    }
    a->held = kept;
}

void arena_reset(struct arena *a)
{
    if (a->held > KEEP_MAX)
        give_back(a, KEEP_MAX);
    a->now = a->first;
    a->used = 0;
}

void arena_fini(struct arena *a)
{
    give_back(a, 0);
    *a = (struct arena){0};
}

struct arena_mark arena_mark(const struct arena *a)
{
    return (struct arena_mark){.now = a->now, .used = a->used};
}

void arena_rewind(struct arena *a, struct arena_mark mark)
{
    /* A mark without a chunk was taken before the arena had any. */
    a->now = mark.now ? mark.now : a->first;
    a->used = mark.used;
}

size_t arena_used(const struct arena *a)
{
    size_t sum = a->used;
    for (const struct arena_chunk *c = a->first; c != a->now; c = c->next)
        sum += c->used;
    return sum;
}
