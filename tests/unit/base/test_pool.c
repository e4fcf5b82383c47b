/* Do pools keep the promises of pool.h, under nested marks and to the byte? */
#include "base/mem/pool.h"
#include "base/prng.h"
#include "tests/check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct thing {
    struct row row;
    uint64_t value;
    uint32_t words[6];
};

struct world {
    struct undo undo;
    struct pool pool;
};

static void open_world(struct world *w, uint32_t max)
{
    undo_init(&w->undo);
    pool_init(&w->pool, &w->undo, sizeof(struct thing), max);
}

static void close_world(struct world *w)
{
    pool_fini(&w->pool);
    undo_fini(&w->undo);
}

static const struct thing *at(const struct world *w, uint32_t ix)
{
    return pool_at(&w->pool, ix);
}

static struct thing *edit(struct world *w, uint32_t ix)
{
    return pool_edit(&w->pool, ix);
}

TEST(rows_are_handed_out_from_1_zeroed_and_live)
{
    struct world w;
    open_world(&w, 3000);
    CHECK(!pool_is_live(&w.pool, 0) && !pool_is_live(&w.pool, 1));
    CHECK(pool_next(&w.pool, 0) == 0);
    for (uint32_t i = 1; i <= 3000; i++) {
        CHECK(pool_add(&w.pool) == i);
        CHECK(pool_is_live(&w.pool, i) && at(&w, i)->value == 0);
        edit(&w, i)->value = i;
    }
    CHECK(pool_add(&w.pool) == 0);
    CHECK(w.pool.live == 3000 && w.pool.high == 3000);
    for (uint32_t i = 1; i <= 3000; i++)
        CHECK(at(&w, i)->value == i);
    CHECK(!pool_is_live(&w.pool, 3001) && !pool_is_live(&w.pool, UINT32_MAX));
    close_world(&w);
}

TEST(a_dead_row_stays_readable_until_settle_and_returns_with_the_next_generation)
{
    struct world w;
    open_world(&w, 3);
    for (int i = 0; i < 3; i++)
        pool_add(&w.pool);
    edit(&w, 2)->value = 22;
    edit(&w, 2)->row.flags |= ROW_STORED;
    pool_remove(&w.pool, 2);
    CHECK(!pool_is_live(&w.pool, 2) && at(&w, 2)->value == 22);
    CHECK(at(&w, 2)->row.flags == (ROW_DEAD | ROW_STORED));
    CHECK(w.pool.live == 2 && pool_add(&w.pool) == 0);
    pool_remove(&w.pool, 3);
    CHECK(pool_next_dead(&w.pool, 0) == 3 && pool_next_dead(&w.pool, 3) == 2);
    CHECK(pool_next_dead(&w.pool, 2) == 0);
    CHECK(pool_next(&w.pool, 0) == 1 && pool_next(&w.pool, 1) == 0);
    pool_settle(&w.pool);
    CHECK(pool_next_dead(&w.pool, 0) == 0);
    CHECK(pool_add(&w.pool) == 2);
    CHECK(at(&w, 2)->row.gen == 1 && at(&w, 2)->row.flags == ROW_LIVE && at(&w, 2)->value == 0);
    CHECK(pool_add(&w.pool) == 3 && pool_add(&w.pool) == 0);
    CHECK(at(&w, 1)->row.gen == 0);
    close_world(&w);
}

TEST(slots_at_the_edges_of_chunks_are_reused_like_others)
{
    struct world w;
    open_world(&w, 2 * POOL_CHUNK_ROWS);
    for (uint32_t i = 1; i <= 2 * POOL_CHUNK_ROWS; i++)
        pool_add(&w.pool);
    for (uint32_t i = 1; i <= 2 * POOL_CHUNK_ROWS; i++)
        pool_remove(&w.pool, i);
    pool_settle(&w.pool);
    for (uint32_t i = 1; i <= 2 * POOL_CHUNK_ROWS; i++)
        CHECK(pool_add(&w.pool) == i && at(&w, i)->row.gen == 1);
    CHECK(pool_add(&w.pool) == 0);
    close_world(&w);
}

TEST(a_row_is_noted_once_per_mark)
{
    struct world w;
    open_world(&w, 10);
    uint32_t ix = pool_add(&w.pool);
    struct undo_mark outer = undo_begin(&w.undo);
    edit(&w, ix)->value = 1;
    uint64_t size = undo_size(&w.undo);
    CHECK(size >= sizeof(struct thing));
    edit(&w, ix)->value = 2;
    CHECK(undo_size(&w.undo) == size);
    struct undo_mark inner = undo_begin(&w.undo);
    edit(&w, ix)->value = 3;
    CHECK(undo_size(&w.undo) > size);
    undo_rollback(&w.undo, inner);
    CHECK(at(&w, ix)->value == 2);
    inner = undo_begin(&w.undo);
    edit(&w, ix)->value = 4;
    undo_keep(&w.undo, inner);
    size = undo_size(&w.undo);
    edit(&w, ix)->value = 5; /* the note of the kept mark still serves */
    CHECK(undo_size(&w.undo) == size);
    undo_rollback(&w.undo, outer);
    CHECK(at(&w, ix)->value == 0);
    close_world(&w);
}

TEST(a_row_of_the_inner_mark_is_noted_again_under_the_next_inner_mark)
{
    struct world w;
    open_world(&w, 10);
    uint32_t ix = pool_add(&w.pool);
    struct undo_mark outer = undo_begin(&w.undo);
    for (uint64_t i = 1; i < 20; i++) {
        struct undo_mark inner = undo_begin(&w.undo);
        edit(&w, ix)->value = i;
        undo_keep(&w.undo, inner);
        inner = undo_begin(&w.undo);
        edit(&w, ix)->value = 1000;
        undo_rollback(&w.undo, inner);
        CHECK(at(&w, ix)->value == i);
    }
    undo_rollback(&w.undo, outer);
    CHECK(at(&w, ix)->value == 0);
    close_world(&w);
}

TEST(rollback_takes_back_added_and_removed_rows_and_their_lists)
{
    struct world w;
    open_world(&w, 5000);
    for (uint32_t i = 1; i <= 10; i++)
        pool_add(&w.pool);
    pool_remove(&w.pool, 4);
    pool_remove(&w.pool, 7);
    pool_settle(&w.pool);
    pool_remove(&w.pool, 9);
    struct pool before = w.pool;
    for (int round = 0; round < 3; round++) {
        struct undo_mark mark = undo_begin(&w.undo);
        uint32_t first = pool_add(&w.pool);
        uint32_t second = pool_add(&w.pool);
        CHECK(first == 4 && second == 7);
        pool_remove(&w.pool, second); /* its link in the free list must survive this */
        pool_remove(&w.pool, first);
        for (int i = 0; i < 3000; i++)
            edit(&w, pool_add(&w.pool))->value = 99;
        CHECK(w.pool.high == 3010);
        undo_rollback(&w.undo, mark);
        CHECK(w.pool.high == 10 && w.pool.live == before.live && w.pool.free == before.free);
        CHECK(pool_next_dead(&w.pool, 0) == 9 && pool_next_dead(&w.pool, 9) == 0);
        CHECK(!pool_is_live(&w.pool, 4) && !pool_is_live(&w.pool, 7) && !pool_is_live(&w.pool, 11));
    }
    CHECK(pool_add(&w.pool) == 4 && pool_add(&w.pool) == 7 && pool_add(&w.pool) == 11);
    CHECK(at(&w, 11)->value == 0);
    close_world(&w);
}

/* ---- against a copy ---- */

enum { ROWS = 300, DEPTH = 5, STEPS = 400000 };

/* All that must come back: every row that was handed out, the counters, both lists. */
struct picture {
    struct thing rows[ROWS + 1];
    uint32_t links[ROWS * 2];
    uint32_t link_count;
    uint32_t high, live;
};

static void take_picture(struct world *w, struct picture *out)
{
    memset(out, 0, sizeof *out);
    out->high = w->pool.high;
    out->live = w->pool.live;
    for (uint32_t i = 1; i <= w->pool.high; i++) {
        out->rows[i].row = at(w, i)->row;
        if (at(w, i)->row.flags & (ROW_LIVE | ROW_DEAD))
            out->rows[i] = *at(w, i);
    }
    for (uint32_t ix = w->pool.free; ix; ix = pool_next_dead(&w->pool, ix))
        out->links[out->link_count++] = ix;
    for (uint32_t ix = w->pool.pending; ix; ix = pool_next_dead(&w->pool, ix))
        out->links[out->link_count++] = ix + 1000;
}

/* What the rows should hold, kept without any undo. */
struct model {
    struct thing rows[ROWS + 1];
    bool live[ROWS + 1];
};

static void check_model(struct world *w, const struct model *m)
{
    uint32_t live = 0;
    for (uint32_t i = 1; i <= ROWS; i++) {
        CHECK(pool_is_live(&w->pool, i) == m->live[i]);
        live += m->live[i];
        if (m->live[i])
            CHECK(memcmp(&at(w, i)->value, &m->rows[i].value, sizeof(struct thing) - 8) == 0);
    }
    CHECK(live == w->pool.live);
    uint32_t walked = 0;
    for (uint32_t ix = pool_next(&w->pool, 0); ix; ix = pool_next(&w->pool, ix))
        walked++;
    CHECK(walked == live);
}

static void random_step(struct prng *r, struct world *w, struct model *m, bool growing)
{
    uint32_t ix = 1 + (uint32_t)prng_below(r, ROWS);
    if (prng_chance(r, growing ? 300 : 100)) {
        ix = pool_add(&w->pool);
        if (ix == 0)
            return;
        CHECK(!m->live[ix]);
        m->live[ix] = true;
        memset(&m->rows[ix], 0, sizeof m->rows[ix]);
    } else if (!m->live[ix]) {
        return;
    } else if (prng_chance(r, growing ? 100 : 400)) {
        pool_remove(&w->pool, ix);
        m->live[ix] = false;
    } else {
        uint32_t word = (uint32_t)prng_below(r, 6);
        uint32_t value = (uint32_t)prng_next(r);
        edit(w, ix)->words[word] = m->rows[ix].words[word] = value;
        edit(w, ix)->value += value;
        m->rows[ix].value += value;
    }
}

TEST(a_pool_matches_its_copy_and_rolls_back_to_the_byte)
{
    static struct picture pictures[DEPTH], now;
    static struct model model, saved[DEPTH];
    struct undo_mark marks[DEPTH];
    struct world w;
    struct prng r;
    open_world(&w, ROWS);
    prng_init(&r, 1);
    memset(&model, 0, sizeof model);
    for (int i = 0; i < STEPS; i++) {
        uint32_t depth = w.undo.depth;
        uint64_t dice = prng_below(&r, 1000);
        if (dice < 15 && depth < DEPTH) {
            take_picture(&w, &pictures[depth]);
            saved[depth] = model;
            marks[depth] = undo_begin(&w.undo);
        } else if (dice < 25 && depth > 0) {
            undo_keep(&w.undo, marks[depth - 1]);
        } else if (dice < 35 && depth > 0) {
            undo_rollback(&w.undo, marks[depth - 1]);
            model = saved[depth - 1];
            take_picture(&w, &now);
            CHECK(memcmp(&now, &pictures[depth - 1], sizeof now) == 0);
            check_model(&w, &model);
        } else if (dice < 60 && depth == 0) {
            pool_settle(&w.pool);
        } else {
            random_step(&r, &w, &model, i / 5000 % 2 == 0);
        }
    }
    check_model(&w, &model);
    close_world(&w);
}

/* ---- failed assertions ---- */

/* The directory of chunks is doubled at 512 chunks, here under a mark that is rolled back. */
TEST(rows_stay_where_they_are_when_the_directory_of_chunks_grows)
{
    enum { BEFORE = 512 * POOL_CHUNK_ROWS - 3, MANY = 3 * BEFORE };
    struct world w;
    open_world(&w, MANY + 1000);
    for (uint32_t i = 1; i <= BEFORE; i++)
        edit(&w, pool_add(&w.pool))->value = i;
    const struct thing *first = at(&w, 1), *last = at(&w, BEFORE);
    const struct undo_mark mark = undo_begin(&w.undo);
    for (uint32_t i = BEFORE + 1; i <= MANY; i++)
        CHECK(pool_add(&w.pool) == i);
    edit(&w, 1)->value = 0;
    CHECK(at(&w, 1) == first && at(&w, BEFORE) == last);
    undo_rollback(&w.undo, mark);
    CHECK(w.pool.live == BEFORE && !pool_is_live(&w.pool, BEFORE + 1));
    for (uint32_t i = BEFORE + 1; i <= MANY + 1000; i++) {
        CHECK(pool_add(&w.pool) == i && at(&w, i)->value == 0);
        edit(&w, i)->value = i;
    }
    CHECK(pool_add(&w.pool) == 0);
    for (uint32_t i = 1; i <= MANY + 1000; i++)
        CHECK(at(&w, i)->value == i);
    close_world(&w);
}

static bool fails_an_assertion(void (*body)(struct world *))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct world w;
        if (!freopen("/dev/null", "w", stderr))
            _exit(2);
        open_world(&w, 10);
        pool_add(&w.pool);
        body(&w);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void remove_twice(struct world *w)
{
    pool_remove(&w->pool, 1);
    pool_remove(&w->pool, 1);
}

static void edit_none(struct world *w)
{
    pool_edit(&w->pool, 0);
}

static void edit_what_never_was(struct world *w)
{
    pool_edit(&w->pool, 2);
}

static void settle_under_a_mark(struct world *w)
{
    undo_begin(&w->undo);
    pool_settle(&w->pool);
}

static void odd_row_size(struct world *w)
{
    pool_init(&w->pool, &w->undo, 20, 10);
}

static void edit_properly(struct world *w)
{
    pool_edit(&w->pool, 1);
}

TEST(misuse_of_a_pool_fails_an_assertion)
{
    CHECK(fails_an_assertion(remove_twice));
    CHECK(fails_an_assertion(edit_none));
    CHECK(fails_an_assertion(edit_what_never_was));
    CHECK(fails_an_assertion(settle_under_a_mark));
    CHECK(fails_an_assertion(odd_row_size));
    CHECK(!fails_an_assertion(edit_properly));
}
