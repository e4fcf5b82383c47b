/* The three things the pure rooms need from the world: pages, pages back, and a last word. */
#include "base/err.h"
#include "base/pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

void sys_fail(const char *file, int line, const char *text)
{
    fprintf(stderr, "%s:%d: broken promise: %s\n", file, line, text);
    abort();
}

void *sys_pages_get(size_t size)
{
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        sys_fail(__FILE__, __LINE__, "the system has no memory left");
    return pages;
}

void sys_pages_put(void *pages, size_t size)
{
    if (pages)
        munmap(pages, size);
}
