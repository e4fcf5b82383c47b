/* pages.h - where all memory of the pure rooms comes from.
 *
 * base, model and core never call malloc: they ask `sys` for whole pages and divide them
 * themselves (arena.h, pool.h, heap.h). Running out is not an error value: the limits of
 * model/limits.h are reached first, and past them the program stops.
 */
#pragma once

#include <stddef.h>

/* Zeroed memory of at least `size` bytes, aligned to a page. Never NULL. Defined by `sys`. */
void *sys_pages_get(size_t size);

/* Give back exactly what sys_pages_get(size) returned. NULL is fine. */
void sys_pages_put(void *pages, size_t size);
