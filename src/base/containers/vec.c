#include "base/containers/vec.h"

#include <string.h>

#include "base/err.h"

/* vec.c - insertion and removal in a dynamic array. The heap owns the block; the caller owns
 * `struct vec` and has saved it (vec.h). Elements are saved before they are moved or overwritten.
 * There are no error results: a position out of range and exhausted memory abort.
 *
 * Elements at or after `count` are undefined at every undo mark: a function that lowers `count`
 * saves the elements that it removes, so vec_push() can overwrite them without saving them
 * again. */

static uint32_t *items_at(const struct heap *h, const struct vec *v)
{
    return (uint32_t *)heap_at(h, v->ref);
}

static void note_from(struct heap *h, const struct vec *v, uint32_t position)
{
    undo_note(h->undo, items_at(h, v) + position,
              (v->count - position) * (uint32_t)sizeof(uint32_t));
}

/* Grows to the next size class only: arrays are many and short, so memory matters more than the
 * cost of copying. */
static void vec_grow(struct heap *h, struct vec *v)
{
    uint32_t bytes = heap_class_size(v->cap * (uint32_t)sizeof(uint32_t) + 1);
    uint32_t ref = heap_alloc(h, bytes);
    if (v->ref) {
        memcpy(heap_at(h, ref), items_at(h, v), v->count * sizeof(uint32_t));
        heap_free(h, v->ref, v->cap * (uint32_t)sizeof(uint32_t));
    }
    v->ref = ref;
    v->cap = bytes / (uint32_t)sizeof(uint32_t);
}

void vec_push(struct heap *h, struct vec *v, uint32_t value)
{
    if (v->count == v->cap)
        vec_grow(h, v);
    items_at(h, v)[v->count++] = value;
}

void vec_insert(struct heap *h, struct vec *v, uint32_t position, uint32_t value)
{
    must(position <= v->count);
    if (v->count == v->cap)
        vec_grow(h, v);
    else
        note_from(h, v, position);
    uint32_t *at = items_at(h, v) + position;
    memmove(at + 1, at, (v->count - position) * sizeof *at);
    *at = value;
    v->count++;
}

void vec_remove(struct heap *h, struct vec *v, uint32_t position)
{
    must(position < v->count);
    if (v->count == 1) {
        vec_clear(h, v);
        return;
    }
    note_from(h, v, position);
    uint32_t *at = items_at(h, v) + position;
    v->count--;
    memmove(at, at + 1, (v->count - position) * sizeof *at);
}

void vec_set(struct heap *h, struct vec *v, uint32_t position, uint32_t value)
{
    must(position < v->count);
    uint32_t *at = items_at(h, v) + position;
    if (*at == value)
        return;
    undo_note(h->undo, at, sizeof *at);
    *at = value;
}

void vec_clear(struct heap *h, struct vec *v)
{
    heap_free(h, v->ref, v->cap ? v->cap * (uint32_t)sizeof(uint32_t) : 1);
    *v = (struct vec){0};
}
