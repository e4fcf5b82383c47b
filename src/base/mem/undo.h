/* undo.h - take back everything a step wrote.
 *
 * Whoever changes memory of the core says so first: undo_note() saves the old bytes. A refusal or
 * a dry step rolls back to a mark; an accepted step forgets the log. Marks nest. While no mark is
 * open nothing is recorded (loading, end of turn).
 *
 * `stamp` grows with every mark and never falls, so a row that remembers the stamp of its last
 * note need not be noted twice under the same mark (pool.h does that). A kept inner mark leaves the
 * stamp as it is: its notes are still in the log and serve the outer mark. After an inner rollback
 * the stamp moves on, for those notes are gone.
 *
 * Memory given back under a mark must not be reused before the log is forgotten, or rollback
 * would restore bytes under somebody else's feet: `undo_defer` keeps such gifts in a list, dropped
 * by rollback and carried out by the outermost keep.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem/arena.h"

/* The old bytes lie right behind it. */
struct undo_entry {
    struct undo_entry *prev;
    void *at;
    uint32_t size;
};

struct undo_gift;

struct undo {
    struct arena arena;
    struct undo_entry *last;
    struct undo_gift *gifts; /* newest first */
    uint32_t depth;          /* open marks */
    uint32_t stamp;
};

struct undo_mark {
    struct undo_entry *last;
    struct undo_gift *gifts;
    struct arena_mark arena;
    uint32_t depth;
};

void undo_init(struct undo *u);
void undo_fini(struct undo *u);

struct undo_mark undo_begin(struct undo *u);
/* Restore every byte noted since the mark, newest first; the mark is closed. */
void undo_rollback(struct undo *u, struct undo_mark mark);
/* Keep what was written; the mark is closed. The outermost keep carries out the gifts (oldest
 * first) and empties the log. */
void undo_keep(struct undo *u, struct undo_mark mark);

/* Save `size` bytes at `at` before they are changed. A size of 0 is fine. */
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

/* Note `size` bytes at `at` unless the stamp among them says it was done under this mark. */
static inline void undo_note_once(struct undo *u, void *at, uint32_t size, uint32_t *stamp)
{
    if (u->depth == 0 || *stamp == u->stamp)
        return;
    undo_note(u, at, size);
    *stamp = u->stamp;
}

/* Run give(owner, handle, extra) when the outermost mark is kept; at once when no mark is open. */
void undo_defer(struct undo *u, void (*give)(void *owner, uint32_t handle, uint32_t extra),
                void *owner, uint32_t handle, uint32_t extra);

/* Bytes the log holds now. */
uint64_t undo_size(const struct undo *u);
