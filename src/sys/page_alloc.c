/* page_alloc.c - the functions that the pure modules (base, model, core, port) need from the
 * operating system: page allocation, page release, and the abort with a message.
 *
 * Owns a cache of released blocks for each thread, without a lock. Blocks from the cache are
 * cleared, as new pages are. A thread that ends does not release its cache. Without memory the
 * process aborts: no caller handles NULL. */
#include "base/err.h"
#include "base/mem/pages.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void sys_fail(const char *file, int line, const char *text)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, text);
    abort();
}

/* A cache of small blocks per thread. Temporary arenas, plans and pools allocate and release them
 * all the time, and an mmap() each time would cost more than the use of the memory. There is one
 * list of blocks for each size in pages, with a limit of its own, so that released blocks of one
 * size do not displace those of another. */
enum { PAGE = 4 << 10, CACHED_PAGES_MAX = 16, CACHED_BYTES_MAX = 256 << 10 /* for each size */ };

struct cached_block {
    struct cached_block *next;
};

static _Thread_local struct {
    struct cached_block *first;
    uint32_t count;
} cache[CACHED_PAGES_MAX + 1]; /* by number of pages */

static void *pages_cache_take(size_t size)
{
    const size_t pages = (size + PAGE - 1) / PAGE;
    if (pages > CACHED_PAGES_MAX || !cache[pages].first)
        return NULL;
    struct cached_block *block = cache[pages].first;
    cache[pages].first = block->next;
    cache[pages].count--;
    return memset(block, 0, size);
}

static bool pages_cache_put(void *at, size_t size)
{
    const size_t pages = (size + PAGE - 1) / PAGE;
    if (pages == 0 || pages > CACHED_PAGES_MAX ||
        (cache[pages].count + 1) * pages * PAGE > CACHED_BYTES_MAX)
        return false;
    struct cached_block *block = at;
    block->next = cache[pages].first;
    cache[pages].first = block;
    cache[pages].count++;
    return true;
}

void *sys_pages_get(size_t size)
{
    void *pages = pages_cache_take(size);
    if (pages)
        return pages;
    pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        sys_fail(__FILE__, __LINE__, "the system has no memory left");
    return pages;
}

void sys_pages_put(void *pages, size_t size)
{
    if (pages && !pages_cache_put(pages, size))
        munmap(pages, size);
}
