/* sort.h - a stable sort of an array of items of any type, without recursion.
 *
 * A merge sort over the runs that are in order already: most lists of the core consist of one run,
 * so that one pass of comparisons is enough.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem/arena.h"

typedef int sort_cmp(const void *a, const void *b);

/* If the items are not in order already, a copy of the list is allocated in `scratch`. */
void sort_items(void *items, uint32_t count, size_t size, sort_cmp *cmp, struct arena *scratch);
