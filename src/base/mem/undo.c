/* undo.c - marks, rollback and deferred frees. Owns the arena with saved bytes and deferred frees.
 *
 * Order: a rollback restores bytes newest first, so that of several copies of the same bytes the
 * oldest is the final one. The outermost keep empties the log before it calls the deferred frees,
 * and resets the arena, in which they are stored, after the last of them. There are no error
 * results: marks that are not closed in reverse order and exhausted memory abort. */
#include "base/mem/undo.h"

#include "base/err.h"

/* A free that is executed by the outermost keep. */
struct undo_deferred {
    struct undo_deferred *prev; /* the one that was deferred before it */
    void (*free_fn)(void *owner, uint32_t handle, uint32_t extra);
    void *owner;
    uint32_t handle;
    uint32_t extra;
};

void undo_init(struct undo *u)
{
    *u = (struct undo){0};
}

void undo_fini(struct undo *u)
{
    arena_fini(&u->arena);
    *u = (struct undo){0};
}

static void next_stamp(struct undo *u)
{
    /* A stamp that is used twice would suppress a note and make a rollback incomplete. After 2^32 -
     * 1 stamps the process aborts and starts again at 0. */
    must(u->stamp < UINT32_MAX);
    u->stamp++;
}

struct undo_mark undo_begin(struct undo *u)
{
    next_stamp(u);
    return (struct undo_mark){
        .last = u->last,
        .deferred = u->deferred,
        .arena = arena_mark(&u->arena),
        .depth = u->depth++,
    };
}

static void close_mark(struct undo *u, struct undo_mark mark)
{
    must(u->depth == mark.depth + 1);
    u->depth = mark.depth;
}

void undo_rollback(struct undo *u, struct undo_mark mark)
{
    close_mark(u, mark);
    for (const struct undo_entry *e = u->last; e != mark.last; e = e->prev)
        memcpy(e->at, e + 1, e->size);
    u->last = mark.last;
    u->deferred = mark.deferred;
    if (u->depth == 0) {
        arena_reset(&u->arena);
    } else {
        arena_rewind(&u->arena, mark.arena);
        next_stamp(u);
    }
}

/* The list is newest first; memory that was freed first is reused first, on every machine. */
static struct undo_deferred *oldest_first(struct undo_deferred *entry)
{
    struct undo_deferred *turned = NULL;
    while (entry) {
        struct undo_deferred *prev = entry->prev;
        entry->prev = turned;
        turned = entry;
        entry = prev;
    }
    return turned;
}

void undo_keep(struct undo *u, struct undo_mark mark)
{
    close_mark(u, mark);
    if (u->depth > 0)
        return;
    struct undo_deferred *entry = oldest_first(u->deferred);
    u->last = NULL;
    u->deferred = NULL;
    for (; entry; entry = entry->prev)
        entry->free_fn(entry->owner, entry->handle, entry->extra);
    /* A callback must not open a mark: its entries would be freed here. */
    must(u->depth == 0 && !u->last && !u->deferred);
    arena_reset(&u->arena);
}

void undo_defer(struct undo *u, void (*free_fn)(void *owner, uint32_t handle, uint32_t extra),
                void *owner, uint32_t handle, uint32_t extra)
{
    if (u->depth == 0) {
        free_fn(owner, handle, extra);
        return;
    }
    struct undo_deferred *entry = arena_alloc(&u->arena, sizeof *entry);
    *entry = (struct undo_deferred){
        .prev = u->deferred,
        .free_fn = free_fn,
        .owner = owner,
        .handle = handle,
        .extra = extra,
    };
    u->deferred = entry;
}

uint64_t undo_size(const struct undo *u)
{
    return arena_used(&u->arena);
}
