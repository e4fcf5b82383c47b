/* pool.h - rows of one type, addressed by index, at fixed addresses.
 *
 * A pool is a list of chunks of rows. Index 0 means none. Every row begins with a `struct row`.
 * All changes go through pool_edit(), which saves the old bytes once per undo mark, so that a
 * rollback is exact. A removed row stays readable (flag ROW_DEAD) until pool_settle() at the end of
 * the turn; only then is its slot reused, with the next generation.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/undo.h"

enum {
    ROW_LIVE = 1,   /* in use */
    ROW_DEAD = 2,   /* removed in this turn; not reusable yet */
    ROW_DIRTY = 4,  /* for the owner: is on the list of changed rows */
    ROW_STORED = 8, /* for the owner: the row is in the store */
};

struct row {
    uint32_t stamp; /* undo stamp when the row was saved last */
    uint16_t gen;   /* generation of the slot */
    uint8_t flags;
    uint8_t spare;
};

#define POOL_CHUNK_ROWS 128u

struct pool {
    struct undo *undo;
    char **chunks;     /* directory of chunks; it grows, and chunks are allocated, when needed */
    uint32_t cap;      /* entries of the directory */
    uint32_t row_size; /* bytes */
    uint32_t max;      /* highest index allowed */
    uint32_t high;     /* highest index ever used; 0 = none */
    uint32_t live;     /* rows in use */
    uint32_t free;     /* first reusable slot, or 0; the links follow the rows of a chunk */
    uint32_t pending;  /* first slot that waits for pool_settle, or 0; linked the same way */
    uint32_t stamp;    /* undo stamp when this struct was saved last */
};

/* row_size includes struct row, is a multiple of 8 and at least 16. */
void pool_init(struct pool *p, struct undo *undo, uint32_t row_size, uint32_t max);
void pool_fini(struct pool *p);

/* Allocate a row: zeroed except for its struct row (flags ROW_LIVE, generation kept). 0 if the
 * pool is full. A rollback makes the slot unused again and leaves the bytes after its struct row
 * undefined. */
uint32_t pool_add(struct pool *p);
/* True if pool_add() would return 0. Slots of removed rows are used again only after the turn, so a
 * pool can be full with fewer live rows than its maximum. */
bool pool_is_full(const struct pool *p);

/* For reading: any live or dead row. The index must come from pool_add. */
static inline void *pool_at(const struct pool *p, uint32_t ix)
{
    return p->chunks[(ix - 1) / POOL_CHUNK_ROWS] +
           (size_t)((ix - 1) % POOL_CHUNK_ROWS) * p->row_size;
}

/* For writing: saves the row to the undo log (once per mark) and returns it. */
static inline void *pool_edit(struct pool *p, uint32_t ix)
{
    must(ix - 1 < p->high);
    struct row *row = (struct row *)pool_at(p, ix);
    undo_note_once(p->undo, row, p->row_size, &row->stamp);
    return row;
}

bool pool_is_live(const struct pool *p, uint32_t ix); /* false for 0 and for unused indices */

/* LIVE -> DEAD. Content stays readable until pool_settle. */
void pool_remove(struct pool *p, uint32_t ix);

/* End of turn, no mark open: dead slots become reusable, and their generation is incremented. */
void pool_settle(struct pool *p);

/* The next dead row after `ix` (0 to begin) that waits for settle, or 0; newest removal first. */
uint32_t pool_next_dead(const struct pool *p, uint32_t ix);

/* The next live index after `ix` (0 to begin), or 0. Index order, not id order. */
uint32_t pool_next(const struct pool *p, uint32_t ix);
