/* page_alloc.c - the functions that the pure modules (base, model, core, port) need from the
 * operating system: page allocation, page release, and the abort with a message.
 *
 * Owns a cache of released blocks for each thread, without a lock. Blocks from the cache are
 * cleared, as new pages are. A thread that ends does not release its cache. Without memory the
 * process aborts: no caller handles NULL. */
#include "base/err.h"
#include "base/mem/pages.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void sys_fail(const char *file, int line, const char *text)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, text);
    abort();
}

/* A cache of small blocks per thread. Temporary arenas allocate and release them all the time, and
 * an mmap() each time would cost more than the use of the memory. */
enum { KEPT = 64, KEPT_SIZE_MAX = 64 << 10 };

static _Thread_local struct {
    void *pages;
    size_t size;
} kept[KEPT];

static void *pages_cache_take(size_t size)
{
    for (int i = 0; i < KEPT; i++)
        if (kept[i].pages && kept[i].size == size) {
            void *pages = kept[i].pages;
            kept[i].pages = NULL;
            return memset(pages, 0, size);
        }
    return NULL;
}

static bool pages_cache_put(void *pages, size_t size)
{
    for (int i = 0; i < KEPT && size <= KEPT_SIZE_MAX; i++)
        if (!kept[i].pages) {
            kept[i].pages = pages;
            kept[i].size = size;
            return true;
        }
    return false;
}

void *sys_pages_get(size_t size)
{
    void *pages = size <= KEPT_SIZE_MAX ? pages_cache_take(size) : NULL;
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
