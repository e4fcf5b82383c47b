/* pool.h - rows of one kind, by index, that never move.
 *
 * A pool is a list of chunks of rows. Index 0 is "none". Every row begins with a `struct row`.
 * All changes go through pool_edit(), which notes the old bytes once per mark, so rollback is
 * exact. A removed row stays readable (flag ROW_DEAD) until pool_settle() at the end of the turn:
 * only then may its slot be used again, with the next generation.
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
    ROW_STORED = 8, /* for the owner: the store knows this row */
};

struct row {
    uint32_t stamp; /* undo stamp of the last note */
    uint16_t gen;
    uint8_t flags;
    uint8_t spare;
};

#define POOL_CHUNK_ROWS 128u

struct pool {
    struct undo *undo;
    char **chunks; /* directory, sized for `max` at init; chunks come when needed */
    uint32_t row_size;
    uint32_t max;     /* highest index allowed */
    uint32_t high;    /* highest index ever used; 0 = none */
    uint32_t live;    /* rows in use */
    uint32_t free;    /* first reusable slot, or 0; the links lie behind the rows of a chunk */
    uint32_t pending; /* first slot that waits for settle, or 0; linked the same way */
    uint32_t stamp;   /* undo stamp of the last note of these words */
};

/* row_size includes struct row, is a multiple of 8 and at least 16. */
void pool_init(struct pool *p, struct undo *undo, uint32_t row_size, uint32_t max);
void pool_fini(struct pool *p);

/* A fresh row: zeroed but for its struct row (flags ROW_LIVE, generation kept). 0 when full.
 * Rollback makes the slot unused again; the bytes behind its struct row then mean nothing. */
uint32_t pool_add(struct pool *p);

/* For reading: any live or dead row. The index must have been handed out. */
static inline void *pool_at(const struct pool *p, uint32_t ix)
{
    return p->chunks[(ix - 1) / POOL_CHUNK_ROWS] +
           (size_t)((ix - 1) % POOL_CHUNK_ROWS) * p->row_size;
}

/* For writing: notes the row (once per mark) and returns it. */
static inline void *pool_edit(struct pool *p, uint32_t ix)
{
    must(ix - 1 < p->high);
    struct row *row = (struct row *)pool_at(p, ix);
    undo_note_once(p->undo, row, p->row_size, &row->stamp);
    return row;
}

bool pool_is_live(const struct pool *p, uint32_t ix); /* false for 0 and for what never was */

/* LIVE -> DEAD. Content stays readable until pool_settle. */
void pool_remove(struct pool *p, uint32_t ix);

/* End of turn, no mark open: dead slots become reusable, their generation grows. */
void pool_settle(struct pool *p);

/* The next dead row after `ix` (0 to begin) that waits for settle, or 0; newest removal first. */
uint32_t pool_next_dead(const struct pool *p, uint32_t ix);

/* The next live index after `ix` (0 to begin), or 0. Index order, not id order. */
uint32_t pool_next(const struct pool *p, uint32_t ix);
