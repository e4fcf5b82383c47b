/* Goal: pages are zero, whatever was in the block before, and few released blocks are kept.
 * Method: blocks of all small sizes are filled, released and allocated again in other sizes of the
 * same number of pages; the mapped pages of the process are counted after many releases. */
#include "base/mem/pages.h"
#include "tests/check.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { PAGE = 4 << 10, SIZES = 40 * PAGE, STEP = 1000 };

static bool is_zero(const char *at, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (at[i])
            return false;
    return true;
}

TEST(pages_are_zero_when_they_are_allocated_again)
{
    static char *blocks[SIZES / STEP];
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < SIZES / STEP; i++) {
            /* Sizes differ between the rounds: 1, 1001, ...; 300, 1300, ...; 599, 1599, ... */
            const size_t size = i * STEP + 299 * round + 1;
            blocks[i] = sys_pages_get(size);
            CHECK((uintptr_t)blocks[i] % PAGE == 0 && is_zero(blocks[i], size));
            memset(blocks[i], 0xff, size);
        }
        for (uint32_t i = 0; i < SIZES / STEP; i++)
            sys_pages_put(blocks[i], i * STEP + 299 * round + 1);
    }
    sys_pages_put(NULL, 100);
}

/* Two blocks in use are never the same one. */
TEST(a_block_is_given_out_once)
{
    char *blocks[50];
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 50; i++)
            blocks[i] = memset(sys_pages_get(PAGE), (int)i, PAGE);
        for (uint32_t i = 0; i < 50; i++)
            CHECK(blocks[i][0] == (char)i && blocks[i][PAGE - 1] == (char)i);
        for (uint32_t i = 0; i < 50; i++)
            sys_pages_put(blocks[i], PAGE);
    }
}

static uint64_t pages_mapped(void)
{
    unsigned long long pages = 0;
    FILE *in = fopen("/proc/self/statm", "r");
    CHECK(in && fscanf(in, "%llu", &pages) == 1);
    fclose(in);
    return pages;
}

/* 16 sizes in pages, of each at most 256 KiB. */
TEST(at_most_4_mib_of_released_blocks_are_kept)
{
    enum { COUNT = 100, KEPT_MAX = 4 << 20 };
    static char *blocks[16][COUNT];
    const uint64_t before = pages_mapped();
    for (uint32_t pages = 1; pages <= 16; pages++)
        for (uint32_t i = 0; i < COUNT; i++)
            blocks[pages - 1][i] = sys_pages_get(pages * PAGE);
    CHECK(pages_mapped() > before + COUNT * 16);
    for (uint32_t pages = 1; pages <= 16; pages++)
        for (uint32_t i = 0; i < COUNT; i++)
            sys_pages_put(blocks[pages - 1][i], pages * PAGE);
    CHECK(pages_mapped() <= before + KEPT_MAX / PAGE);
}
