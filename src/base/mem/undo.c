#include "base/mem/undo.h"

#include "base/err.h"

struct undo_gift {
    struct undo_gift *prev;
    void (*give)(void *owner, uint32_t handle, uint32_t extra);
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
    /* A stamp used twice would skip a note and spoil a rollback: four thousand million marks are
     * the end, and the restart that follows begins anew. */
    must(u->stamp < UINT32_MAX);
    u->stamp++;
}

struct undo_mark undo_begin(struct undo *u)
{
    next_stamp(u);
    return (struct undo_mark){
        .last = u->last,
        .gifts = u->gifts,
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
    u->gifts = mark.gifts;
    if (u->depth == 0) {
        arena_reset(&u->arena);
    } else {
        arena_rewind(&u->arena, mark.arena);
        next_stamp(u);
    }
}

/* The list is newest first; what was given first shall be reused first, on every machine. */
static struct undo_gift *oldest_first(struct undo_gift *gift)
{
    struct undo_gift *turned = NULL;
    while (gift) {
        struct undo_gift *prev = gift->prev;
        gift->prev = turned;
        turned = gift;
        gift = prev;
    }
    return turned;
}

void undo_keep(struct undo *u, struct undo_mark mark)
{
    close_mark(u, mark);
    if (u->depth > 0)
        return;
    struct undo_gift *gift = oldest_first(u->gifts);
    u->last = NULL;
    u->gifts = NULL;
    for (; gift; gift = gift->prev)
        gift->give(gift->owner, gift->handle, gift->extra);
    /* A giver that opened a mark of its own would lose it here. */
    must(u->depth == 0 && !u->last && !u->gifts);
    arena_reset(&u->arena);
}

void undo_defer(struct undo *u, void (*give)(void *owner, uint32_t handle, uint32_t extra),
                void *owner, uint32_t handle, uint32_t extra)
{
    if (u->depth == 0) {
        give(owner, handle, extra);
        return;
    }
    struct undo_gift *gift = arena_alloc(&u->arena, sizeof *gift);
    *gift = (struct undo_gift){
        .prev = u->gifts,
        .give = give,
        .owner = owner,
        .handle = handle,
        .extra = extra,
    };
    u->gifts = gift;
}

uint64_t undo_size(const struct undo *u)
{
    return arena_used(&u->arena);
}
