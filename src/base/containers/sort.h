/* sort.h - putting a list in order without recursion.
 *
 * A merge sort over the runs that are ordered already: lists of the core mostly are, so one look
 * is usually all it takes. Stable. Knows nothing of what it sorts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem/arena.h"

typedef int sort_cmp(const void *a, const void *b);

/* Scratch room of the size of the list is taken from `scratch` when something has to move. */
void sort_items(void *items, uint32_t count, size_t size, sort_cmp *cmp, struct arena *scratch);
