/* undo.h - an undo log: rolls back all writes of a step.
 *
 * Code that changes memory of the core calls undo_note() first, which saves the old bytes. A
 * refused command or a dry run rolls back to a mark; an accepted step discards the log. Marks nest.
 * While no mark is open nothing is recorded (loading, end of turn).
 *
 * `stamp` increases with every mark and never decreases, so a row that stores the stamp of its last
 * note need not be saved twice under the same mark (pool.h does that). Keeping an inner mark leaves
 * the stamp unchanged: its entries are still in the log and serve the outer mark. A rollback of an
 * inner mark increases the stamp, because those entries have been removed.
 *
 * Memory that is freed under a mark must not be reused before the log is discarded, because a
 * rollback would write old bytes into memory that has a new owner. undo_defer() therefore keeps
 * frees in a list, which a rollback drops and the outermost keep executes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem/arena.h"

/* The old bytes follow the entry in memory. */
struct undo_entry {
    struct undo_entry *prev;
    void *at;
    uint32_t size;
};

struct undo_deferred;

struct undo {
    struct arena arena;
    struct undo_entry *last;
    struct undo_deferred *deferred; /* deferred frees, newest first */
    uint32_t depth;                 /* number of open marks */
    uint32_t stamp;
};

struct undo_mark {
    struct undo_entry *last;
    struct undo_deferred *deferred;
    struct arena_mark arena;
    uint32_t depth;
};

void undo_init(struct undo *u);
void undo_fini(struct undo *u);

struct undo_mark undo_begin(struct undo *u);
/* Restore every byte saved since the mark, newest first; the mark is closed. */
void undo_rollback(struct undo *u, struct undo_mark mark);
/* Keep the changes; the mark is closed. The outermost keep executes the deferred frees (oldest
 * first) and empties the log. */
void undo_keep(struct undo *u, struct undo_mark mark);

/* Save `size` bytes at `at` before they are changed. A size of 0 does nothing. */
static inline void undo_note(struct undo *u, void *at, uint32_t size)
{
    if (u->depth == 0 || size == 0)
        return;
    struct undo_entry *entry = arena_alloc(&u->arena, sizeof *entry + size);
    entry->prev = u->last;
    entry->at = at;
    entry->size = size;
    memcpy(entry + 1, at, size);
    u->last = entry;
}

/* Save `size` bytes at `at` unless *stamp, which is among them, shows that they were saved under
 * this mark. */
static inline void undo_note_once(struct undo *u, void *at, uint32_t size, uint32_t *stamp)
{
    if (u->depth == 0 || *stamp == u->stamp)
        return;
    undo_note(u, at, size);
    *stamp = u->stamp;
}

/* Call free_fn(owner, handle, extra) when the outermost mark is kept; at once if no mark is
 * open. */
void undo_defer(struct undo *u, void (*free_fn)(void *owner, uint32_t handle, uint32_t extra),
                void *owner, uint32_t handle, uint32_t extra);

/* Bytes in the log. */
uint64_t undo_size(const struct undo *u);
