#include "base/mem/pool.h"

#include <string.h>

#include "base/mem/pages.h"

/* pool.c - allocation and release of rows, under undo.
 *
 * The pool owns its chunks, which are kept until pool_fini(), also if a rollback makes them unused,
 * and the directory of their addresses, which is doubled when it is full, also under a mark: a
 * directory for `max` rows would be megabytes of unused pages in a small core.
 * Order: the struct and the row are saved in the undo log before they are changed. A removed slot
 * is first in the list `pending` and moves to the list `free` in pool_settle(), when no mark is
 * open and no rollback can need the row again. A full pool is the only error result (index 0); a
 * wrong index and exhausted memory abort.
 *
 * The rows of a chunk are followed by one word per row: the next slot in the list of free or
 * pending slots. The link is not in the row itself, because dead rows stay readable until
 * pool_settle(). */
enum { DIRECTORY_FIRST = 512 }; /* entries: one page */

static size_t pool_chunk_bytes(const struct pool *p)
{
    return (size_t)POOL_CHUNK_ROWS * (p->row_size + sizeof(uint32_t));
}

static uint32_t chunks_max(const struct pool *p)
{
    return p->max / POOL_CHUNK_ROWS + (p->max % POOL_CHUNK_ROWS != 0);
}

static uint32_t *pool_link_at(const struct pool *p, uint32_t ix)
{
    char *links = p->chunks[(ix - 1) / POOL_CHUNK_ROWS] + (size_t)POOL_CHUNK_ROWS * p->row_size;
    return (uint32_t *)(void *)links + (ix - 1) % POOL_CHUNK_ROWS;
}

void pool_init(struct pool *p, struct undo *undo, uint32_t row_size, uint32_t max)
{
    must(row_size >= 16 && row_size % 8 == 0 && row_size <= 1u << 20);
    must(max > 0);
    *p = (struct pool){.undo = undo, .row_size = row_size, .max = max};
}

void pool_fini(struct pool *p)
{
    for (uint32_t i = 0; i < p->cap && p->chunks[i]; i++) /* allocated in order */
        sys_pages_put(p->chunks[i], pool_chunk_bytes(p));
    sys_pages_put(p->chunks, p->cap * sizeof *p->chunks);
    *p = (struct pool){0};
}

static void pool_grow_directory(struct pool *p)
{
    const uint32_t twice = p->cap ? 2 * p->cap : DIRECTORY_FIRST;
    const uint32_t cap = twice < chunks_max(p) ? twice : chunks_max(p);
    char **chunks = (char **)sys_pages_get(cap * sizeof *chunks);
    if (p->cap)
        memcpy(chunks, p->chunks, p->cap * sizeof *chunks);
    sys_pages_put(p->chunks, p->cap * sizeof *p->chunks);
    p->chunks = chunks;
    p->cap = cap;
}

static void pool_note(struct pool *p)
{
    undo_note_once(p->undo, &p->high, sizeof *p - offsetof(struct pool, high), &p->stamp);
}

/* A slot from the free list, or the next one never used; 0 when there is neither. */
static uint32_t take_slot(struct pool *p)
{
    uint32_t ix = p->free;
    if (ix) {
        p->free = *pool_link_at(p, ix);
        return ix;
    }
    if (p->high == p->max)
        return 0;
    ix = ++p->high;
    /* A rollback lowers `high` and keeps the chunk; it is found here when the index is used
     * again. */
    if ((ix - 1) / POOL_CHUNK_ROWS == p->cap)
        pool_grow_directory(p);
    char **chunk = &p->chunks[(ix - 1) / POOL_CHUNK_ROWS];
    if (!*chunk)
        *chunk = (char *)sys_pages_get(pool_chunk_bytes(p));
    return ix;
}

uint32_t pool_add(struct pool *p)
{
    pool_note(p);
    uint32_t ix = take_slot(p);
    if (!ix)
        return 0;
    p->live++;
    struct row *row = (struct row *)pool_at(p, ix);
    must(!(row->flags & (ROW_LIVE | ROW_DEAD)));
    /* Only the head is saved: a rollback makes the slot unused, and then its content is undefined.
     * The stamp of the mark keeps pool_edit() from saving the rest. */
    undo_note(p->undo, row, sizeof *row);
    *row = (struct row){.stamp = p->undo->stamp, .gen = row->gen, .flags = ROW_LIVE};
    memset(row + 1, 0, p->row_size - sizeof *row);
    return ix;
}

bool pool_is_full(const struct pool *p)
{
    return p->live >= p->max || (!p->free && p->high >= p->max);
}

bool pool_is_live(const struct pool *p, uint32_t ix)
{
    if (ix - 1 >= p->high)
        return false;
    return (((const struct row *)pool_at(p, ix))->flags & ROW_LIVE) != 0;
}

void pool_remove(struct pool *p, uint32_t ix)
{
    must(pool_is_live(p, ix));
    struct row *row = (struct row *)pool_edit(p, ix);
    row->flags = (uint8_t)((row->flags & ~ROW_LIVE) | ROW_DEAD);
    pool_note(p);
    /* If the slot was in the free list when the mark was opened, a rollback needs its old link. */
    uint32_t *link = pool_link_at(p, ix);
    undo_note(p->undo, link, sizeof *link);
    *link = p->pending;
    p->pending = ix;
    p->live--;
}

void pool_settle(struct pool *p)
{
    must(p->undo->depth == 0);
    while (p->pending) {
        uint32_t ix = p->pending;
        uint32_t *link = pool_link_at(p, ix);
        struct row *row = (struct row *)pool_at(p, ix);
        p->pending = *link;
        row->flags = 0;
        row->gen++;
        *link = p->free;
        p->free = ix;
    }
}

uint32_t pool_next_dead(const struct pool *p, uint32_t ix)
{
    return ix ? *pool_link_at(p, ix) : p->pending;
}

uint32_t pool_next(const struct pool *p, uint32_t ix)
{
    while (ix < p->high)
        if (pool_is_live(p, ++ix))
            return ix;
    return 0;
}
