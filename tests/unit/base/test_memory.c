/* Do arena, undo and vec do what their headers state? Pool and heap have files of their own. */
#include "base/containers/heap.h"
#include "base/containers/vec.h"
#include "base/mem/arena.h"
#include "base/mem/undo.h"
#include "base/prng.h"
#include "tests/check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

/* True when `body` ends in a failed assertion. */
static bool fails_an_assertion(void (*body)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(2);
        body();
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

/* ---- arena ---- */

TEST(an_empty_arena_needs_no_init_and_may_be_ended_twice)
{
    struct arena a = {0};
    CHECK(arena_used(&a) == 0);
    arena_reset(&a);
    arena_rewind(&a, arena_mark(&a));
    arena_fini(&a);
    arena_fini(&a);
    CHECK(a.first == NULL && a.held == 0);
}

TEST(arena_blocks_are_aligned_distinct_and_stay_where_they_are)
{
    struct arena a = {0};
    char *blocks[2000];
    size_t sum = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        blocks[i] = arena_alloc(&a, i);
        CHECK(((uintptr_t)blocks[i] & 15) == 0);
        memset(blocks[i], (int)(i & 0xff), i);
        sum += (i + 15u) / 16 * 16;
    }
    CHECK(arena_used(&a) == sum);
    for (uint32_t i = 0; i < 2000; i++)
        for (uint32_t k = 0; k < i; k++)
            CHECK(blocks[i][k] == (char)(i & 0xff));
    arena_fini(&a);
}

TEST(an_arena_grows_from_16_kib_by_doubling_up_to_4_mib)
{
    struct arena a = {0};
    CHECK(arena_alloc(&a, 0) != NULL);
    CHECK(a.held == 16 << 10);
    for (size_t i = 0; i < 12 * MIB; i += 4096)
        arena_alloc(&a, 4096);
    size_t expected = 16 << 10;
    for (const struct arena_chunk *c = a.first; c; c = c->next) {
        CHECK(c->size + sizeof *c == expected);
        expected = expected == 4 * MIB ? expected : expected * 2;
    }
    CHECK(expected == 4 * MIB);
    char *large = arena_alloc(&a, 9 * MIB);
    large[0] = large[9 * MIB - 1] = 1;
    arena_fini(&a);
}

TEST(reset_keeps_at_most_4_mib_and_forgets_everything)
{
    struct arena a = {0};
    for (size_t i = 0; i < 40 * MIB; i += 16 << 10)
        arena_alloc(&a, 16 << 10);
    CHECK(a.held > 40 * MIB);
    arena_reset(&a);
    CHECK(arena_used(&a) == 0);
    CHECK(a.held <= 4 * MIB && a.held > 3 * MIB);
    size_t held = 0;
    for (const struct arena_chunk *c = a.first; c; c = c->next)
        held += c->size + sizeof *c;
    CHECK(a.held == held);
    for (int i = 0; i < 100; i++) {
        for (size_t k = 0; k < 3 * MIB; k += 16 << 10)
            arena_alloc(&a, 16 << 10);
        arena_reset(&a);
    }
    CHECK(a.held == held);
    arena_fini(&a);
    arena_alloc(&a, 8 * MIB); /* the very first chunk may itself be too large to keep */
    arena_reset(&a);
    CHECK(a.first == NULL && a.held == 0);
    CHECK(arena_alloc(&a, 10) != NULL);
    arena_fini(&a);
}

TEST(rewind_returns_to_the_mark_across_chunks)
{
    struct arena a = {0};
    struct arena_mark empty = arena_mark(&a);
    char *before = arena_copy(&a, "before", 7);
    struct arena_mark mark = arena_mark(&a);
    size_t used = arena_used(&a);
    size_t held = 0;
    char *first = NULL;
    for (int round = 0; round < 50; round++) {
        char *at = arena_alloc(&a, 100);
        CHECK(round == 0 || at == first);
        first = at;
        if (round % 2 == 1) /* skips the smaller chunks of the round before */
            memset(arena_alloc(&a, 3 * MIB), 0xff, 3 * MIB);
        for (int i = 0; i < 1000; i++)
            memset(arena_alloc(&a, 992), 0xff, 992);
        size_t taken = 112 + 992 * 1000 + (round % 2 == 1 ? 3 * MIB : 0);
        CHECK(arena_used(&a) == used + taken);
        CHECK(round < 4 || a.held == held);
        held = a.held;
        arena_rewind(&a, mark);
        CHECK(arena_used(&a) == used);
    }
    CHECK(strcmp(before, "before") == 0);
    size_t sum = 0; /* no chunk was lost on the way */
    for (const struct arena_chunk *c = a.first; c; c = c->next)
        sum += c->size + sizeof *c;
    CHECK(a.held == sum);
    arena_rewind(&a, empty);
    CHECK(arena_used(&a) == 0);
    arena_fini(&a);
}

TEST(zalloc_zeroes_memory_that_was_used_before)
{
    struct arena a = {0};
    memset(arena_alloc(&a, 5000), 0xff, 5000);
    arena_reset(&a);
    const uint32_t *words = arena_array(&a, uint32_t, 1250);
    for (int i = 0; i < 1250; i++)
        CHECK(words[i] == 0);
    CHECK(arena_copy(&a, NULL, 0) != NULL);
    arena_fini(&a);
}

static void ask_too_much(void)
{
    struct arena a = {0};
    arena_alloc(&a, 1);
    arena_alloc(&a, SIZE_MAX - 3);
}

TEST(an_absurd_request_to_an_arena_fails_an_assertion)
{
    CHECK(fails_an_assertion(ask_too_much));
}

/* ---- undo ---- */

TEST(without_a_mark_nothing_is_recorded)
{
    struct undo u;
    undo_init(&u);
    int x = 1;
    undo_note(&u, &x, sizeof x);
    CHECK(undo_size(&u) == 0);
    undo_fini(&u);
}

TEST(rollback_restores_the_oldest_of_several_notes)
{
    struct undo u;
    undo_init(&u);
    int x = 1;
    struct undo_mark mark = undo_begin(&u);
    for (int i = 2; i < 10; i++) {
        undo_note(&u, &x, sizeof x);
        x = i;
    }
    undo_note(&u, NULL, 0);
    CHECK(undo_size(&u) > 0);
    undo_rollback(&u, mark);
    CHECK(x == 1 && u.depth == 0 && undo_size(&u) == 0);
    undo_fini(&u);
}

TEST(an_outer_rollback_takes_back_what_an_inner_mark_kept)
{
    struct undo u;
    undo_init(&u);
    int x = 1;
    struct undo_mark outer = undo_begin(&u);
    struct undo_mark inner = undo_begin(&u);
    undo_note(&u, &x, sizeof x);
    x = 2;
    undo_keep(&u, inner);
    uint64_t size = undo_size(&u);
    struct undo_mark other = undo_begin(&u);
    undo_note(&u, &x, sizeof x);
    x = 3;
    undo_rollback(&u, other);
    CHECK(x == 2 && undo_size(&u) == size);
    undo_rollback(&u, outer);
    CHECK(x == 1);
    undo_fini(&u);
}

TEST(a_stamp_never_serves_two_marks_that_need_notes_of_their_own)
{
    struct undo u;
    undo_init(&u);
    struct undo_mark outer = undo_begin(&u);
    uint32_t outer_stamp = u.stamp;
    struct undo_mark inner = undo_begin(&u);
    uint32_t inner_stamp = u.stamp;
    CHECK(outer_stamp != 0 && inner_stamp > outer_stamp);
    undo_rollback(&u, inner);
    CHECK(u.stamp > inner_stamp);
    inner = undo_begin(&u);
    inner_stamp = u.stamp;
    undo_keep(&u, inner);
    CHECK(u.stamp == inner_stamp); /* its notes still serve the outer mark */
    undo_keep(&u, outer);
    outer = undo_begin(&u);
    CHECK(u.stamp > inner_stamp);
    undo_keep(&u, outer);
    undo_fini(&u);
}

static uint32_t given[16];
static uint32_t given_count;

static void remember(void *owner, uint32_t handle, uint32_t extra)
{
    CHECK(((struct undo *)owner)->depth == 0);
    given[given_count++] = handle * 10 + extra;
}

TEST(deferred_frees_wait_for_the_outermost_keep_and_run_oldest_first)
{
    struct undo u;
    undo_init(&u);
    given_count = 0;
    undo_defer(&u, remember, &u, 1, 1);
    CHECK(given_count == 1 && given[0] == 11);
    struct undo_mark outer = undo_begin(&u);
    undo_defer(&u, remember, &u, 2, 2);
    struct undo_mark inner = undo_begin(&u);
    undo_defer(&u, remember, &u, 3, 3);
    undo_rollback(&u, inner);
    inner = undo_begin(&u);
    undo_defer(&u, remember, &u, 4, 4);
    undo_keep(&u, inner);
    undo_defer(&u, remember, &u, 5, 5);
    CHECK(given_count == 1);
    undo_keep(&u, outer);
    CHECK(given_count == 4 && given[1] == 22 && given[2] == 44 && given[3] == 55);
    outer = undo_begin(&u);
    undo_defer(&u, remember, &u, 6, 6);
    undo_rollback(&u, outer);
    undo_keep(&u, undo_begin(&u));
    CHECK(given_count == 4);
    undo_fini(&u);
}

TEST(a_large_log_is_given_back_when_it_is_forgotten)
{
    struct undo u;
    undo_init(&u);
    static char bytes[1 << 16];
    for (int keep = 0; keep < 2; keep++) {
        struct undo_mark mark = undo_begin(&u);
        for (uint32_t i = 0; i < 500; i++) {
            undo_note(&u, bytes, sizeof bytes);
            memset(bytes, (int)i, sizeof bytes);
        }
        CHECK(undo_size(&u) > 500 * sizeof bytes);
        if (keep)
            undo_keep(&u, mark);
        else
            undo_rollback(&u, mark);
        CHECK(bytes[0] == (keep ? (char)499 : 0) && bytes[65535] == bytes[0]);
        CHECK(u.arena.held <= 4 * MIB);
    }
    undo_fini(&u);
}

static void close_in_wrong_order(void)
{
    struct undo u;
    undo_init(&u);
    struct undo_mark outer = undo_begin(&u);
    undo_begin(&u);
    undo_keep(&u, outer);
}

static void use_up_all_stamps(void)
{
    struct undo u;
    undo_init(&u);
    u.stamp = UINT32_MAX - 1;
    undo_keep(&u, undo_begin(&u)); /* the last good one */
    undo_begin(&u);
}

static void open_a_mark(void *owner, uint32_t handle, uint32_t extra)
{
    (void)handle;
    (void)extra;
    undo_begin(owner);
}

static void give_by_opening_a_mark(void)
{
    struct undo u;
    undo_init(&u);
    struct undo_mark mark = undo_begin(&u);
    undo_defer(&u, open_a_mark, &u, 0, 0);
    undo_keep(&u, mark);
}

TEST(misuse_of_marks_and_exhausted_stamps_fail_an_assertion)
{
    CHECK(fails_an_assertion(give_by_opening_a_mark));
    CHECK(fails_an_assertion(close_in_wrong_order));
    CHECK(fails_an_assertion(use_up_all_stamps));
}

/* ---- vec ---- */

struct vec_model {
    uint32_t items[4096];
    uint32_t count;
};

static bool vec_is(const struct heap *h, const struct vec *v, const struct vec_model *m)
{
    if (v->count != m->count || v->cap < v->count || (v->ref == 0) != (v->cap == 0))
        return false;
    return m->count == 0 ? vec_items(h, v) == NULL
                         : memcmp(vec_items(h, v), m->items, m->count * sizeof m->items[0]) == 0;
}

static void vec_random_step(struct prng *r, struct heap *h, struct vec *v, struct vec_model *m)
{
    uint32_t value = (uint32_t)prng_next(r);
    uint32_t at = (uint32_t)prng_below(r, m->count + 1u);
    uint64_t dice = prng_below(r, 100);
    if (dice < 30 && m->count < 4000) {
        vec_push(h, v, value);
        m->items[m->count++] = value;
    } else if (dice < 50 && m->count < 4000) {
        vec_insert(h, v, at, value);
        memmove(m->items + at + 1, m->items + at, (m->count - at) * sizeof m->items[0]);
        m->items[at] = value;
        m->count++;
    } else if (dice < 80 && at < m->count) {
        vec_remove(h, v, at);
        m->count--;
        memmove(m->items + at, m->items + at + 1, (m->count - at) * sizeof m->items[0]);
    } else if (dice < 99 && at < m->count) {
        vec_set(h, v, at, value);
        m->items[at] = value;
    } else if (dice == 99 && prng_chance(r, 50)) {
        vec_clear(h, v);
        m->count = 0;
    }
}

TEST(vectors_match_a_plain_array_under_nested_marks)
{
    enum { LISTS = 4, STEPS = 200000, DEPTH = 4 };
    static struct vec_model model[LISTS], saved[DEPTH][LISTS];
    struct undo_mark marks[DEPTH];
    struct vec lists[LISTS] = {0};
    struct undo u;
    struct heap h;
    struct prng r;
    undo_init(&u);
    heap_init(&h, &u);
    prng_init(&r, 3);
    for (int i = 0; i < STEPS; i++) {
        uint64_t dice = prng_below(&r, 100);
        if (dice == 0 && u.depth < DEPTH) {
            memcpy(saved[u.depth], model, sizeof model);
            marks[u.depth] = undo_begin(&u);
        } else if (dice == 1 && u.depth > 0) {
            undo_keep(&u, marks[u.depth - 1]);
        } else if (dice == 2 && u.depth > 0) {
            undo_rollback(&u, marks[u.depth - 1]);
            memcpy(model, saved[u.depth], sizeof model);
            for (int k = 0; k < LISTS; k++)
                CHECK(vec_is(&h, &lists[k], &model[k]));
        } else {
            uint32_t k = (uint32_t)prng_below(&r, LISTS);
            undo_note(&u, &lists[k], sizeof lists[k]); /* as if in a row open for writing */
            vec_random_step(&r, &h, &lists[k], &model[k]);
            CHECK(i % 16 != 0 || vec_is(&h, &lists[k], &model[k]));
        }
    }
    while (u.depth > 0)
        undo_keep(&u, marks[u.depth - 1]);
    for (int k = 0; k < LISTS; k++)
        vec_clear(&h, &lists[k]);
    CHECK(h.used == 0);
    heap_fini(&h);
    undo_fini(&u);
}

TEST(pushing_and_setting_the_same_value_log_nothing)
{
    struct undo u;
    struct heap h;
    struct vec v = {0};
    undo_init(&u);
    heap_init(&h, &u);
    for (uint32_t i = 0; i < 5; i++)
        vec_push(&h, &v, i);
    struct undo_mark mark = undo_begin(&u);
    vec_push(&h, &v, 5);
    vec_set(&h, &v, 3, 3);
    CHECK(undo_size(&u) == 0);
    vec_set(&h, &v, 3, 4);
    CHECK(undo_size(&u) > 0);
    undo_rollback(&u, mark);
    CHECK(((const uint32_t *)heap_at(&h, v.ref))[3] == 3);
    heap_fini(&h);
    undo_fini(&u);
}

TEST(a_short_list_takes_16_bytes_and_an_emptied_one_takes_none)
{
    struct undo u;
    struct heap h;
    struct vec v = {0};
    undo_init(&u);
    heap_init(&h, &u);
    vec_clear(&h, &v);
    for (uint32_t i = 0; i < 4; i++)
        vec_push(&h, &v, i);
    CHECK(h.used == 16);
    vec_push(&h, &v, 4);
    CHECK(h.used == 32);
    while (v.count > 0)
        vec_remove(&h, &v, 0);
    CHECK(h.used == 0 && v.ref == 0 && v.cap == 0);
    for (uint32_t i = 0; i < 1000000; i++)
        vec_push(&h, &v, i);
    for (uint32_t i = 0; i < 1000000; i++)
        CHECK(vec_items(&h, &v)[i] == i);
    vec_clear(&h, &v);
    CHECK(h.used == 0);
    heap_fini(&h);
    undo_fini(&u);
}

static void remove_from_empty(void)
{
    struct undo u;
    struct heap h;
    struct vec v = {0};
    undo_init(&u);
    heap_init(&h, &u);
    vec_remove(&h, &v, 0);
}

static void insert_behind_the_end(void)
{
    struct undo u;
    struct heap h;
    struct vec v = {0};
    undo_init(&u);
    heap_init(&h, &u);
    vec_insert(&h, &v, 1, 7);
}

static void set_behind_the_end(void)
{
    struct undo u;
    struct heap h;
    struct vec v = {0};
    undo_init(&u);
    heap_init(&h, &u);
    vec_push(&h, &v, 7);
    vec_set(&h, &v, 1, 8);
}

TEST(positions_outside_a_list_fail_an_assertion)
{
    CHECK(fails_an_assertion(set_behind_the_end));
    CHECK(fails_an_assertion(remove_from_empty));
    CHECK(fails_an_assertion(insert_behind_the_end));
}
