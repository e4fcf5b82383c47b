/* vec.h - a sorted or plain list of 32-bit numbers in the core's heap.
 *
 * The three words of `struct vec` lie in a pool row; the caller has the row open for writing
 * (pool_edit) when it calls a function that takes a non-const vec. Elements that are overwritten
 * are noted here.
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
/* Overwrite one element (noted). */
void vec_set(struct heap *h, struct vec *v, uint32_t position, uint32_t value);
/* Empty it and give the block back. */
void vec_clear(struct heap *h, struct vec *v);
