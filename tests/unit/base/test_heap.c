/* Does the heap keep its promises: no overlap, no early reuse, nothing lost by rollback? */
#include "base/containers/heap.h"
#include "base/prng.h"
#include "tests/check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1u << 20)

struct world {
    struct undo undo;
    struct heap heap;
};

static void open_world(struct world *w)
{
    undo_init(&w->undo);
    heap_init(&w->heap, &w->undo);
}

static void close_world(struct world *w)
{
    heap_fini(&w->heap);
    undo_fini(&w->undo);
}

TEST(size_classes_are_1_and_1_5_times_a_power_of_two)
{
    const uint32_t classes[] = {16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536};
    uint32_t size = 1;
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        for (; size <= classes[i]; size++)
            CHECK(heap_class_size(size) == classes[i]);
    CHECK(heap_class_size(MIB / 2 + 1) == MIB / 4 * 3);
    CHECK(heap_class_size(MIB / 4 * 3) == MIB / 4 * 3);
    CHECK(heap_class_size(MIB / 4 * 3 + 1) == MIB);
    CHECK(heap_class_size(MIB) == MIB);
    CHECK(heap_class_size(MIB + 1) == 2 * MIB);
    CHECK(heap_class_size(3 * MIB) == 4 * MIB);
    CHECK(heap_class_size(129 * MIB) == 256 * MIB);
    CHECK(heap_class_size(256 * MIB) == 256 * MIB);
}

TEST(reference_0_is_never_handed_out)
{
    const uint32_t sizes[] = {1, 16, MIB / 4 * 3, MIB, 2 * MIB, 8 * MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct world w;
        open_world(&w);
        CHECK(heap_alloc(&w.heap, sizes[i]) != 0);
        heap_free(&w.heap, 0, sizes[i]);
        close_world(&w);
    }
}

TEST(a_block_freed_without_a_mark_is_the_next_one_of_its_class)
{
    struct world w;
    open_world(&w);
    const uint32_t sizes[] = {1, 100, 5000, MIB / 2, MIB, 5 * MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint32_t ref = heap_alloc(&w.heap, sizes[i]);
        uint64_t used = w.heap.used;
        heap_free(&w.heap, ref, sizes[i]);
        CHECK(w.heap.used == used - heap_class_size(sizes[i]));
        CHECK(heap_alloc(&w.heap, heap_class_size(sizes[i])) == ref);
        CHECK(w.heap.used == used);
    }
    close_world(&w);
}

TEST(a_block_freed_under_a_mark_is_not_reused_before_the_outermost_keep)
{
    struct world w;
    open_world(&w);
    const uint32_t sizes[] = {40, 5 * MIB};
    for (size_t i = 0; i < 2; i++) {
        uint32_t ref = heap_alloc(&w.heap, sizes[i]);
        memset(heap_at(&w.heap, ref), 7, sizes[i]);
        struct undo_mark outer = undo_begin(&w.undo);
        struct undo_mark inner = undo_begin(&w.undo);
        heap_free(&w.heap, ref, sizes[i]);
        undo_keep(&w.undo, inner);
        CHECK(heap_alloc(&w.heap, sizes[i]) != ref);
        CHECK(*(char *)heap_at(&w.heap, ref) == 7);
        undo_keep(&w.undo, outer);
        CHECK(heap_alloc(&w.heap, sizes[i]) == ref);
    }
    close_world(&w);
}

TEST(large_blocks_are_one_piece)
{
    struct world w;
    open_world(&w);
    uint32_t small = heap_alloc(&w.heap, 16);
    uint32_t refs[3];
    for (uint32_t i = 0; i < 3; i++) {
        refs[i] = heap_alloc(&w.heap, (3 + i) * MIB);
        memset(heap_at(&w.heap, refs[i]), (int)i + 1, (3 + i) * MIB);
    }
    for (uint32_t i = 0; i < 3; i++) {
        const char *at = heap_at(&w.heap, refs[i]);
        for (uint32_t k = 0; k < (3 + i) * MIB; k += 4095)
            CHECK(at[k] == (char)(i + 1));
        CHECK((const char *)heap_at(&w.heap, refs[i] + 65536) == at + MIB);
    }
    CHECK(heap_alloc(&w.heap, 16) == small + 1);
    uint32_t huge = heap_alloc(&w.heap, 256 * MIB);
    char *at = heap_at(&w.heap, huge);
    at[0] = at[256 * MIB - 1] = 1;
    close_world(&w);
}

TEST(the_tail_of_a_chunk_is_not_lost)
{
    struct world w;
    open_world(&w);
    for (int i = 0; i < 8; i++)
        heap_alloc(&w.heap, MIB / 4 * 3);
    CHECK(w.heap.chunk_count == 8);
    for (int i = 0; i < 7; i++)
        heap_alloc(&w.heap, MIB / 4);
    heap_alloc(&w.heap, MIB / 16 * 3); /* chunk 0 lacks the unit of reference 0 */
    heap_alloc(&w.heap, MIB / 64 * 3);
    CHECK(w.heap.chunk_count == 8);
    CHECK(w.heap.used + MIB / 64 == 8 * MIB);
    heap_alloc(&w.heap, MIB / 4);
    CHECK(w.heap.chunk_count == 9);
    close_world(&w);
}

TEST(a_step_that_is_tried_and_rolled_back_forever_takes_no_more_chunks)
{
    struct world w;
    open_world(&w);
    heap_alloc(&w.heap, 1000);
    uint32_t chunks = 0;
    for (int round = 0; round < 200; round++) {
        struct heap before = w.heap;
        struct undo_mark mark = undo_begin(&w.undo);
        for (int i = 0; i < 50; i++)
            heap_alloc(&w.heap, 100000);
        heap_alloc(&w.heap, MIB);
        heap_alloc(&w.heap, 3 * MIB);
        uint32_t gone = heap_alloc(&w.heap, 3 * MIB);
        heap_free(&w.heap, gone, 3 * MIB);
        undo_rollback(&w.undo, mark);
        CHECK(round == 0 || w.heap.chunk_count == chunks);
        chunks = w.heap.chunk_count;
        before.chunk_count = chunks;
        CHECK(memcmp(&before, &w.heap, sizeof before) == 0);
    }
    close_world(&w);
}

/* ---- random blocks with known content ---- */

enum { BLOCKS = 400, DEPTH = 4, STEPS = 300000 };

struct block {
    uint32_t ref;
    uint32_t size;
    uint64_t seed;
};

static uint32_t random_size(struct prng *r)
{
    uint64_t dice = prng_below(r, 1000);
    if (dice < 900)
        return 1 + (uint32_t)prng_below(r, 300);
    if (dice < 990)
        return 1 + (uint32_t)prng_below(r, 20000);
    return 1 + (uint32_t)prng_below(r, dice < 999 ? 2 * MIB / 3 : 5 * MIB);
}

/* Small blocks in full; large ones at both ends and in steps. */
static uint32_t stride(uint32_t size)
{
    return size <= 4096 ? 1 : 509;
}

static void fill_block(struct world *w, const struct block *b)
{
    uint32_t size = heap_class_size(b->size);
    unsigned char *at = heap_at(&w->heap, b->ref);
    for (uint32_t i = 0; i < size; i += stride(size))
        at[i] = (unsigned char)(b->seed >> (i & 31));
    at[size - 1] = (unsigned char)b->seed;
}

static bool block_is_whole(const struct world *w, const struct block *b)
{
    uint32_t size = heap_class_size(b->size);
    const unsigned char *at = heap_at(&w->heap, b->ref);
    for (uint32_t i = 0; i < size - 1; i += stride(size))
        if (at[i] != (unsigned char)(b->seed >> (i & 31)))
            return false;
    return at[size - 1] == (unsigned char)b->seed;
}

static void check_blocks(const struct world *w, const struct block *blocks)
{
    uint64_t used = 0;
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].ref) {
            CHECK(block_is_whole(w, &blocks[i]));
            used += heap_class_size(blocks[i].size);
        }
    CHECK(used == w->heap.used);
}

static void random_step(struct prng *r, struct world *w, struct block *b)
{
    if (!b->ref) {
        b->size = random_size(r);
        b->seed = prng_next(r);
        b->ref = heap_alloc(&w->heap, b->size);
        CHECK(b->ref != 0);
        fill_block(w, b);
        return;
    }
    CHECK(block_is_whole(w, b));
    if (prng_chance(r, 700) || b->size > 4096) {
        heap_free(&w->heap, b->ref, b->size);
        b->ref = 0;
    } else {
        undo_note(&w->undo, heap_at(&w->heap, b->ref), heap_class_size(b->size));
        b->seed = prng_next(r);
        fill_block(w, b);
    }
}

TEST(blocks_never_overlap_and_come_back_whole_under_nested_marks)
{
    static struct block blocks[BLOCKS], saved[DEPTH][BLOCKS];
    struct undo_mark marks[DEPTH];
    struct world w;
    struct prng r;
    open_world(&w);
    prng_init(&r, 2);
    memset(blocks, 0, sizeof blocks);
    for (int i = 0; i < STEPS; i++) {
        uint32_t depth = w.undo.depth;
        uint64_t dice = prng_below(&r, 1000);
        if (dice < 6 && depth < DEPTH) {
            memcpy(saved[depth], blocks, sizeof blocks);
            marks[depth] = undo_begin(&w.undo);
        } else if (dice < 9 && depth > 0) {
            undo_keep(&w.undo, marks[depth - 1]);
        } else if (dice < 13 && depth > 0) {
            undo_rollback(&w.undo, marks[depth - 1]);
            memcpy(blocks, saved[depth - 1], sizeof blocks);
            check_blocks(&w, blocks);
        } else {
            random_step(&r, &w, &blocks[prng_below(&r, BLOCKS)]);
        }
    }
    while (w.undo.depth > 0)
        undo_keep(&w.undo, marks[w.undo.depth - 1]);
    check_blocks(&w, blocks);
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].ref)
            heap_free(&w.heap, blocks[i].ref, blocks[i].size);
    CHECK(w.heap.used == 0);
    close_world(&w);
}

/* ---- failed assertions ---- */

static bool fails_an_assertion(void (*body)(struct world *))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct world w;
        if (!freopen("/dev/null", "w", stderr))
            _exit(2);
        open_world(&w);
        body(&w);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void ask_for_nothing(struct world *w)
{
    heap_alloc(&w->heap, 0);
}

static void ask_for_too_much(struct world *w)
{
    heap_alloc(&w->heap, 256 * MIB + 1);
}

static void free_a_region_twice(struct world *w)
{
    uint32_t ref = heap_alloc(&w->heap, 2 * MIB);
    heap_free(&w->heap, ref, 2 * MIB);
    heap_free(&w->heap, ref, 2 * MIB);
}

static void free_what_never_was(struct world *w)
{
    heap_free(&w->heap, 5u << 16, 16);
}

TEST(misuse_of_the_heap_fails_an_assertion)
{
    CHECK(fails_an_assertion(ask_for_nothing));
    CHECK(fails_an_assertion(ask_for_too_much));
    CHECK(fails_an_assertion(free_a_region_twice));
    CHECK(fails_an_assertion(free_what_never_was));
}
