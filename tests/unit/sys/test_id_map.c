/* Goal: an entry is found under its id until it is removed, whatever other entries are added and
 * removed. Method: single operations, then random ones compared with an array. */
#include "base/prng.h"
#include "sys/id_map.h"
#include "tests/check.h"

#include <stddef.h>

TEST(an_entry_is_found_until_it_is_removed)
{
    struct id_map m = {0};
    int one, two;
    CHECK(!id_map_find(&m, 7));
    id_map_put(&m, 7, &one);
    id_map_put(&m, -7, &two);
    CHECK(id_map_find(&m, 7) == &one && id_map_find(&m, -7) == &two && m.count == 2);
    id_map_put(&m, 7, &two);
    CHECK(id_map_find(&m, 7) == &two && m.count == 2);
    id_map_remove(&m, 7);
    CHECK(!id_map_find(&m, 7) && id_map_find(&m, -7) == &two && m.count == 1);
    id_map_fini(&m);
    CHECK(!id_map_find(&m, -7));
    id_map_fini(&m);
}

enum { IDS = 1000, STEPS = 200 * 1000 };

/* Ids in sequence, and ids that collide in one slot. */
static int64_t id_of(uint32_t i)
{
    return i % 2 ? (int64_t)i : (int64_t)i << 32;
}

TEST(random_operations_agree_with_an_array)
{
    static int things[IDS + 1];
    static bool is_in[IDS + 1];
    struct id_map m = {0};
    uint32_t count = 0;
    struct prng r;
    prng_init(&r, 1);
    for (uint32_t step = 0; step < STEPS; step++) {
        /* the table grows, then shrinks */
        const uint32_t i = 1 + (uint32_t)prng_below(&r, IDS);
        const bool adds = prng_chance(&r, step / 20000 % 2 ? 200 : 800);
        if (adds) {
            id_map_put(&m, id_of(i), &things[i]);
            count += !is_in[i];
            is_in[i] = true;
        } else if (is_in[i]) {
            id_map_remove(&m, id_of(i));
            is_in[i] = false;
            count--;
        }
        const uint32_t k = 1 + (uint32_t)prng_below(&r, IDS);
        CHECK(id_map_find(&m, id_of(k)) == (is_in[k] ? &things[k] : NULL) && m.count == count);
    }
    for (uint32_t i = 1; i <= IDS; i++)
        CHECK(id_map_find(&m, id_of(i)) == (is_in[i] ? &things[i] : NULL));
    id_map_fini(&m);
}
