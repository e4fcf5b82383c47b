/* vec.h - a dynamic array of 32-bit numbers, sorted or not, in the heap of the core.
 *
 * The three words of `struct vec` are part of a pool row; the caller has called pool_edit() on the
 * row before it calls a function that takes a non-const vec. Overwritten elements are saved to the
 * undo log here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/containers/heap.h"

struct vec {
    uint32_t ref;
    uint32_t count;
    uint32_t cap;
};

static inline uint32_t *vec_items(const struct heap *h, const struct vec *v)
{
    return v->count ? (uint32_t *)heap_at(h, v->ref) : (uint32_t *)0;
}
void vec_insert(struct heap *h, struct vec *v, uint32_t position, uint32_t value);
void vec_push(struct heap *h, struct vec *v, uint32_t value);
void vec_remove(struct heap *h, struct vec *v, uint32_t position);
/* Overwrite one element. */
void vec_set(struct heap *h, struct vec *v, uint32_t position, uint32_t value);
/* Remove all elements and free the block. */
void vec_clear(struct heap *h, struct vec *v);
