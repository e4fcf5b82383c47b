#include "base/containers/sort.h"

#include "base/prng.h"
#include "tests/check.h"

struct item {
    uint32_t key;
    uint32_t place; /* original position */
};

static int cmp_items(const void *a, const void *b)
{
    const uint32_t x = ((const struct item *)a)->key, y = ((const struct item *)b)->key;
    return (x > y) - (x < y);
}

static void is_sorted_and_stable(const struct item *items, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        CHECK(items[i - 1].key <= items[i].key);
        CHECK(items[i - 1].key != items[i].key || items[i - 1].place < items[i].place);
    }
}

TEST(any_list_becomes_sorted_and_equal_items_keep_their_order)
{
    static struct item items[300];
    struct prng prng;
    prng_init(&prng, 7);
    for (uint32_t round = 0; round < 3000; round++) {
        const uint32_t count = (uint32_t)prng_below(&prng, 300);
        const uint32_t keys = 1 + (uint32_t)prng_below(&prng, 400);
        uint64_t sum = 0, seen = 0;
        for (uint32_t i = 0; i < count; i++) {
            items[i] = (struct item){(uint32_t)prng_below(&prng, keys), i};
            sum += (uint64_t)items[i].key * 1000 + items[i].place;
        }
        struct arena scratch = {0};
        sort_items(items, count, sizeof *items, cmp_items, &scratch);
        arena_fini(&scratch);
        is_sorted_and_stable(items, count);
        for (uint32_t i = 0; i < count; i++)
            seen += (uint64_t)items[i].key * 1000 + items[i].place;
        CHECK(seen == sum);
    }
}

TEST(a_sorted_list_needs_no_room)
{
    struct item items[100];
    struct arena scratch = {0};
    for (uint32_t i = 0; i < 100; i++)
        items[i] = (struct item){i / 3, i};
    sort_items(items, 100, sizeof *items, cmp_items, &scratch);
    CHECK(arena_used(&scratch) == 0);
    is_sorted_and_stable(items, 100);
    sort_items(items, 0, sizeof *items, cmp_items, &scratch);
    arena_fini(&scratch);
}

TEST(a_list_upside_down_is_turned)
{
    struct item items[64];
    struct arena scratch = {0};
    for (uint32_t i = 0; i < 64; i++)
        items[i] = (struct item){63 - i, i};
    sort_items(items, 64, sizeof *items, cmp_items, &scratch);
    for (uint32_t i = 0; i < 64; i++)
        CHECK(items[i].key == i && items[i].place == 63 - i);
    arena_fini(&scratch);
}
