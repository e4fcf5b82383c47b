/* Does the ordered map keep its promises? The long tests compare it with a plain array. */
#include "base/containers/omap.h"
#include "base/prng.h"
#include "tests/check.h"

#include <stdlib.h>
#include <string.h>

struct world {
    struct undo undo;
    struct heap heap;
    struct omap map;
};

static void open_world(struct world *w)
{
    undo_init(&w->undo);
    heap_init(&w->heap, &w->undo);
    omap_init(&w->map, &w->heap);
}

static void close_world(struct world *w)
{
    heap_fini(&w->heap);
    undo_fini(&w->undo);
}

TEST(an_empty_map_has_nothing)
{
    struct world w;
    open_world(&w);
    uint64_t key = 7;
    uint32_t value = 8;
    CHECK(omap_find(&w.map, 0) == 0 && omap_find(&w.map, UINT64_MAX) == 0);
    CHECK(!omap_remove(&w.map, 5));
    CHECK(!omap_ceil(&w.map, 0, &key, &value) && !omap_last(&w.map, &key, &value));
    CHECK(key == 7 && value == 8);
    omap_clear(&w.map);
    CHECK(omap_check(&w.map) && w.heap.used == 0);
    close_world(&w);
}

TEST(the_smallest_and_the_largest_key_are_keys_like_others)
{
    struct world w;
    open_world(&w);
    omap_put(&w.map, UINT64_MAX, 1);
    omap_put(&w.map, 0, 2);
    uint64_t key;
    uint32_t value;
    CHECK(omap_ceil(&w.map, 0, &key, &value) && key == 0 && value == 2);
    CHECK(omap_ceil(&w.map, 1, &key, &value) && key == UINT64_MAX && value == 1);
    CHECK(omap_last(&w.map, &key, &value) && key == UINT64_MAX);
    CHECK(omap_remove(&w.map, UINT64_MAX) && !omap_remove(&w.map, UINT64_MAX));
    CHECK(!omap_ceil(&w.map, 1, &key, &value));
    omap_put(&w.map, 0, 3);
    CHECK(w.map.count == 1 && omap_find(&w.map, 0) == 3);
    CHECK(omap_remove(&w.map, 0) && w.map.root == 0 && w.heap.used == 0);
    close_world(&w);
}

TEST(ascending_keys_fill_leaves_to_the_brim)
{
    struct world w;
    open_world(&w);
    for (uint32_t i = 1; i <= 63 * 63 * 10; i++)
        omap_put(&w.map, i * 3ull, i);
    CHECK(omap_check(&w.map));
    CHECK(w.map.height == 2 && w.map.count == 63 * 63 * 10);
    CHECK(w.heap.used == 768u * (630 + 10 + 1));
    for (uint32_t i = 1; i <= 63 * 63 * 10; i++) {
        CHECK(omap_find(&w.map, i * 3ull) == i);
        CHECK(omap_find(&w.map, i * 3ull + 1) == 0);
    }
    close_world(&w);
}

TEST(a_line_eaten_from_the_front_stays_tight_and_ends_empty)
{
    struct world w;
    open_world(&w);
    uint64_t next = 0, head = 0, key;
    uint32_t value;
    for (int i = 0; i < 10000; i++, next++)
        omap_put(&w.map, next, 1);
    for (int i = 0; i < 100000; i++, next++) {
        omap_put(&w.map, next, 1);
        CHECK(omap_ceil(&w.map, 0, &key, &value) && key == head++);
        CHECK(omap_remove(&w.map, key));
        CHECK(w.heap.used < 768u * 180);
    }
    CHECK(omap_check(&w.map));
    while (omap_ceil(&w.map, 0, &key, &value)) {
        CHECK(key == head++);
        CHECK(omap_remove(&w.map, key));
    }
    CHECK(head == next && w.map.root == 0 && w.map.height == 0 && w.heap.used == 0);
    close_world(&w);
}

TEST(removing_from_the_back_and_from_both_sides_leaves_nothing)
{
    struct world w;
    open_world(&w);
    for (int way = 0; way < 3; way++) {
        for (uint32_t i = 0; i < 30000; i++)
            omap_put(&w.map, way == 1 ? 30000 - i : i + 1, i + 1);
        for (uint32_t i = 0; i < 30000; i++) {
            uint32_t from_back = 30000 - i;
            uint32_t alternating = i % 2 ? 30000 - i / 2 : 1 + i / 2;
            CHECK(omap_remove(&w.map, way == 2 ? alternating : from_back));
            CHECK(i % 500 != 0 || omap_check(&w.map));
        }
        CHECK(w.map.root == 0 && w.map.count == 0 && w.heap.used == 0);
    }
    close_world(&w);
}

TEST(a_map_thinned_out_evenly_shrinks)
{
    struct world w;
    open_world(&w);
    for (uint32_t i = 1; i <= 100000; i++)
        omap_put(&w.map, i, i);
    for (uint32_t i = 1; i <= 100000; i++)
        CHECK(i % 50 == 0 || omap_remove(&w.map, i));
    CHECK(omap_check(&w.map) && w.map.count == 2000);
    CHECK(w.heap.used <= 768u * (2000 / 16 + 10));
    for (uint32_t i = 1; i <= 100000; i++)
        CHECK(omap_find(&w.map, i) == (i % 50 == 0 ? i : 0));
    close_world(&w);
}

TEST(clear_gives_every_node_back_and_rollback_brings_them_all_back)
{
    struct world w;
    open_world(&w);
    for (uint32_t i = 1; i <= 20000; i++)
        omap_put(&w.map, i * 7ull, i);
    uint64_t used = w.heap.used;
    struct undo_mark mark = undo_begin(&w.undo);
    omap_clear(&w.map);
    CHECK(omap_check(&w.map) && w.map.count == 0 && w.heap.used == 0);
    for (uint32_t i = 1; i <= 500; i++)
        omap_put(&w.map, i, 9);
    undo_rollback(&w.undo, mark);
    CHECK(omap_check(&w.map) && w.map.count == 20000 && w.heap.used == used);
    for (uint32_t i = 1; i <= 20000; i++)
        CHECK(omap_find(&w.map, i * 7ull) == i);
    omap_clear(&w.map);
    CHECK(w.heap.used == 0);
    close_world(&w);
}

TEST(rollback_empties_a_map_that_was_empty)
{
    struct world w;
    open_world(&w);
    struct undo_mark mark = undo_begin(&w.undo);
    omap_put(&w.map, 5, 5);
    undo_rollback(&w.undo, mark);
    CHECK(w.map.root == 0 && omap_check(&w.map) && w.heap.used == 0);
    close_world(&w);
}

TEST(a_thin_node_between_full_ones_takes_from_them)
{
    struct world w;
    open_world(&w);
    enum { LEAVES = 63 * 20 };
    for (uint32_t i = 0; i < LEAVES * 63; i++)
        omap_put(&w.map, i, i + 1);
    struct undo_mark mark = undo_begin(&w.undo);
    for (uint32_t i = 0; i < LEAVES * 63; i++)
        CHECK(i / 63 % 2 == 0 || i % 63 == 30 || omap_remove(&w.map, i));
    CHECK(omap_check(&w.map) && w.map.count == LEAVES / 2 * 64);
    for (uint32_t i = 0; i < LEAVES * 63; i++)
        CHECK(omap_find(&w.map, i) == (i / 63 % 2 == 0 || i % 63 == 30 ? i + 1 : 0));
    undo_rollback(&w.undo, mark);
    CHECK(omap_check(&w.map) && w.map.count == LEAVES * 63);
    for (uint32_t i = 0; i < LEAVES * 63; i++)
        CHECK(omap_find(&w.map, i) == i + 1);
    close_world(&w);
}

/* Removes `count` entries from the end of leaf `slot` without updating the rest of the tree. */
static void shorten_leaf(struct world *w, uint32_t slot, uint32_t count)
{
    uint32_t *root = heap_at(&w->heap, w->map.root);
    uint32_t *kids = (uint32_t *)(void *)((uint64_t *)(void *)(root + 2) + 63);
    ((uint32_t *)heap_at(&w->heap, kids[slot]))[1] -= count;
    w->map.count -= count;
}

TEST(only_the_outermost_nodes_may_be_thin)
{
    struct world w;
    open_world(&w);
    for (uint32_t i = 1; i <= 5 * 63; i++)
        omap_put(&w.map, i, i);
    const bool may_be_thin[] = {true, false, false, false, true};
    for (uint32_t slot = 0; slot < 5; slot++) {
        shorten_leaf(&w, slot, 63 - 16);
        CHECK(omap_check(&w.map));
        shorten_leaf(&w, slot, 1);
        CHECK(omap_check(&w.map) == may_be_thin[slot]);
        shorten_leaf(&w, slot, 15);
        CHECK(!omap_check(&w.map));
        shorten_leaf(&w, slot, (uint32_t)-63);
        CHECK(omap_check(&w.map));
    }
    close_world(&w);
}

TEST(check_finds_what_is_wrong)
{
    struct world w;
    open_world(&w);
    for (uint32_t i = 1; i <= 1000; i++)
        omap_put(&w.map, i * 10ull, i);
    CHECK(w.map.height == 1 && omap_check(&w.map));
    uint32_t *root = heap_at(&w.heap, w.map.root); /* stamp, count, keys, values */
    uint64_t *root_keys = (uint64_t *)(void *)(root + 2);
    uint32_t *kids = (uint32_t *)(void *)(root_keys + 63);
    uint32_t *leaf = heap_at(&w.heap, kids[3]);
    uint64_t *keys = (uint64_t *)(void *)(leaf + 2);
    uint32_t *values = (uint32_t *)(void *)(keys + 63);
    uint64_t key = keys[5];
    const uint64_t wrong[] = {keys[4], keys[6], 0, UINT64_MAX};
    for (int i = 0; i < 4; i++) {
        keys[5] = wrong[i];
        CHECK(!omap_check(&w.map));
    }
    keys[5] = key;
    key = keys[0];
    keys[0] = key - 1; /* below the bound its parent states */
    CHECK(!omap_check(&w.map));
    keys[0] = key;
    values[0] = 0;
    CHECK(!omap_check(&w.map));
    values[0] = 1;
    key = keys[62];
    keys[62] = root_keys[4]; /* this one belongs to the neighbour */
    CHECK(!omap_check(&w.map));
    keys[62] = key;
    CHECK(omap_check(&w.map));
    uint32_t count = leaf[1];
    const uint32_t wrong_counts[] = {0, 15, count - 1, 64};
    for (int i = 0; i < 4; i++) {
        leaf[1] = wrong_counts[i];
        CHECK(!omap_check(&w.map));
    }
    leaf[1] = count;
    w.map.count++;
    CHECK(!omap_check(&w.map));
    w.map.count--;
    root_keys[4] = root_keys[3];
    CHECK(!omap_check(&w.map));
    close_world(&w);
}

/* ---- against an array ---- */

enum { KEYS = 12000, DEPTH = 4 };

struct model {
    uint32_t values[KEYS];
    uint32_t count;
};

/* Spreads positions over the whole range, 0 and the largest key included, in order. */
static uint64_t key_of(uint32_t position)
{
    return position == KEYS - 1 ? UINT64_MAX : position * (UINT64_MAX / KEYS);
}

static void compare_all(const struct omap *map, const struct model *m)
{
    CHECK(omap_check(map) && map->count == m->count);
    uint64_t from = 0, key = 0;
    uint32_t value = 0, last = KEYS;
    bool more = true;
    for (uint32_t i = 0; i < KEYS; i++) {
        if (!m->values[i])
            continue;
        CHECK(more && omap_ceil(map, from, &key, &value));
        CHECK(key == key_of(i) && value == m->values[i]);
        more = key != UINT64_MAX;
        from = key + 1;
        last = i;
    }
    CHECK(!more || !omap_ceil(map, from, &key, &value));
    key = 1; /* never a key here */
    value = 0;
    if (last == KEYS)
        CHECK(!omap_last(map, &key, &value));
    else
        CHECK(omap_last(map, &key, &value) && key == key_of(last) && value == m->values[last]);
}

static void ask_around(const struct omap *map, const struct model *m, uint32_t position)
{
    CHECK(omap_find(map, key_of(position)) == m->values[position]);
    CHECK(position == KEYS - 1 || omap_find(map, key_of(position) + 1) == 0);
    uint32_t next = position;
    while (next < KEYS && !m->values[next])
        next++;
    uint64_t key;
    uint32_t value;
    bool found = omap_ceil(map, key_of(position), &key, &value);
    CHECK(found == (next < KEYS));
    CHECK(!found || (key == key_of(next) && value == m->values[next]));
}

static void put_or_remove(struct omap *map, struct model *m, uint32_t position, uint32_t value)
{
    if (value) {
        omap_put(map, key_of(position), value);
        m->count += m->values[position] == 0;
    } else {
        CHECK(omap_remove(map, key_of(position)) == (m->values[position] != 0));
        m->count -= m->values[position] != 0;
    }
    m->values[position] = value;
}

static void random_step(struct prng *r, struct omap *map, struct model *m, bool growing)
{
    /* Half of the steps crowd into a narrow band, so that nodes there fill and empty quickly. */
    uint32_t position = (uint32_t)prng_below(r, prng_chance(r, 500) ? KEYS : KEYS / 50);
    bool put = prng_chance(r, growing ? 750 : 200);
    uint32_t value = put ? 1 + (uint32_t)prng_below(r, 1000) : 0;
    /* Occasionally a range of keys, so that an almost empty node is between full ones. */
    uint32_t run = prng_chance(r, 10) ? 1 + (uint32_t)prng_below(r, 120) : 1;
    for (; run > 0 && position < KEYS; run--)
        put_or_remove(map, m, position++, value);
    if (prng_chance(r, 100))
        ask_around(map, m, (uint32_t)prng_below(r, KEYS));
}

static void run_against_model(uint64_t seed, int steps, uint32_t phase)
{
    static struct model model, saved[DEPTH];
    struct omap before[DEPTH];
    struct undo_mark marks[DEPTH];
    struct world w;
    struct prng r;
    open_world(&w);
    prng_init(&r, seed);
    memset(&model, 0, sizeof model);
    for (int i = 0; i < steps; i++) {
        uint32_t depth = w.undo.depth;
        uint64_t dice = prng_below(&r, 10000);
        if (dice < 30 && depth < DEPTH) {
            saved[depth] = model;
            before[depth] = w.map;
            marks[depth] = undo_begin(&w.undo);
        } else if (dice < 50 && depth > 0) {
            undo_keep(&w.undo, marks[depth - 1]);
        } else if (dice < 70 && depth > 0) {
            undo_rollback(&w.undo, marks[depth - 1]);
            model = saved[depth - 1];
            CHECK(memcmp(&w.map, &before[depth - 1], sizeof w.map) == 0);
            compare_all(&w.map, &model);
        } else {
            random_step(&r, &w.map, &model, (uint32_t)i / phase % 2 == 0);
        }
        if (i % 2000 == 0)
            compare_all(&w.map, &model);
    }
    while (w.undo.depth > 0)
        undo_keep(&w.undo, marks[w.undo.depth - 1]);
    compare_all(&w.map, &model);
    omap_clear(&w.map);
    CHECK(w.heap.used == 0);
    close_world(&w);
}

TEST(a_map_that_grows_and_shrinks_matches_an_array_under_nested_marks)
{
    run_against_model(4, 400000, 30000);
}

TEST(a_map_that_often_runs_empty_matches_an_array_under_nested_marks)
{
    run_against_model(5, 200000, 1500);
}

TEST(random_order_in_and_random_order_out)
{
    enum { MANY = 200000 };
    struct world w;
    struct prng r;
    open_world(&w);
    prng_init(&r, 6);
    uint64_t *keys = calloc(MANY, sizeof *keys);
    for (uint32_t i = 0; i < MANY; i++) {
        keys[i] = prng_next(&r);
        omap_put(&w.map, keys[i], i + 1);
    }
    CHECK(w.map.count == MANY && omap_check(&w.map));
    for (uint32_t i = 0; i < MANY; i++)
        CHECK(omap_find(&w.map, keys[i]) == i + 1);
    for (uint32_t i = MANY; i > 0; i--) {
        uint64_t pick = prng_below(&r, i);
        CHECK(omap_remove(&w.map, keys[pick]));
        keys[pick] = keys[i - 1];
        CHECK(i % 20000 != 0 || omap_check(&w.map));
    }
    CHECK(w.map.root == 0 && w.heap.used == 0);
    free(keys);
    close_world(&w);
}

TEST(the_log_holds_a_head_for_an_append_and_a_node_only_once)
{
    struct world w;
    open_world(&w);
    for (uint32_t i = 1; i <= 1000; i++)
        omap_put(&w.map, i * 2, i);
    struct undo_mark mark = undo_begin(&w.undo);
    omap_put(&w.map, 2002, 1);
    CHECK(undo_size(&w.undo) < 128);
    uint64_t size = undo_size(&w.undo);
    omap_put(&w.map, 1000, 500); /* nothing changes */
    CHECK(undo_size(&w.undo) == size);
    omap_put(&w.map, 1000, 7); /* one value */
    CHECK(undo_size(&w.undo) <= size + 32);
    CHECK(omap_remove(&w.map, 1000)); /* one leaf; from here on it is free */
    size = undo_size(&w.undo);
    omap_put(&w.map, 1000, 8);
    omap_put(&w.map, 1000, 9);
    CHECK(omap_remove(&w.map, 1000));
    CHECK(undo_size(&w.undo) == size);
    undo_rollback(&w.undo, mark);
    CHECK(omap_find(&w.map, 2002) == 0 && omap_find(&w.map, 1000) == 500);
    CHECK(omap_check(&w.map) && w.map.count == 1000);
    close_world(&w);
}

TEST(nodes_born_under_the_mark_are_not_logged)
{
    struct world w;
    open_world(&w);
    struct undo_mark mark = undo_begin(&w.undo);
    for (uint32_t i = 1; i <= 100000; i++)
        omap_put(&w.map, i, i);
    CHECK(undo_size(&w.undo) < 1024);
    undo_rollback(&w.undo, mark);
    CHECK(w.map.root == 0 && w.heap.used == 0);
    close_world(&w);
}
