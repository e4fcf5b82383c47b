/* The three things the pure rooms need from the world: pages, pages back, and a last word. */
#include "base/err.h"
#include "base/mem/pages.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void sys_fail(const char *file, int line, const char *text)
{
    fprintf(stderr, "%s:%d: broken promise: %s\n", file, line, text);
    abort();
}

/* Small pieces come and go with every scratch arena; a few are kept back per thread, because asking
 * the system each time costs more than what is done with them. */
enum { KEPT = 64, KEPT_SIZE_MAX = 64 << 10 };

static _Thread_local struct {
    void *pages;
    size_t size;
} kept[KEPT];

static void *take_kept(size_t size)
{
    for (int i = 0; i < KEPT; i++)
        if (kept[i].pages && kept[i].size == size) {
            void *pages = kept[i].pages;
            kept[i].pages = NULL;
            return memset(pages, 0, size);
        }
    return NULL;
}

static bool keep(void *pages, size_t size)
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
    void *pages = size <= KEPT_SIZE_MAX ? take_kept(size) : NULL;
    if (pages)
        return pages;
    pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        sys_fail(__FILE__, __LINE__, "the system has no memory left");
    return pages;
}

void sys_pages_put(void *pages, size_t size)
{
    if (pages && !keep(pages, size))
        munmap(pages, size);
}
