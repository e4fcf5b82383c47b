/* pages.h - the page allocator of the pure modules.
 *
 * base, model and core never call malloc: they request whole pages from `sys` and divide them
 * (arena.h, pool.h, heap.h). Exhaustion is not an error value: the limits of model/limits.h are
 * reached first, and beyond them the program aborts.
 */
#pragma once

#include <stddef.h>

/* Zeroed memory of at least `size` bytes, aligned to a page. Never NULL. Defined by `sys`. */
void *sys_pages_get(size_t size);

/* Free the result of sys_pages_get(size). NULL is ignored. */
void sys_pages_put(void *pages, size_t size);
