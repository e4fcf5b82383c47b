/* Are equal texts one text, are holders counted, and does all of it roll back? */
#include "base/containers/blob.h"
#include "base/prng.h"
#include "tests/check.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct world {
    struct undo undo;
    struct heap heap;
    struct blobs blobs;
};

static void open_world(struct world *w, uint32_t max)
{
    undo_init(&w->undo);
    heap_init(&w->heap, &w->undo);
    blobs_init(&w->blobs, &w->heap, &w->undo, max);
}

static void close_world(struct world *w)
{
    blobs_fini(&w->blobs);
    heap_fini(&w->heap);
    undo_fini(&w->undo);
}

static uint32_t take(struct world *w, struct str text)
{
    bool full = false;
    uint32_t handle = blob_take(&w->blobs, text, &full);
    CHECK(!full);
    return handle;
}

static bool text_is(const struct world *w, uint32_t handle, struct str text)
{
    return str_eq(blob_text(&w->blobs, handle), text);
}

TEST(the_empty_text_is_0_and_is_not_counted)
{
    struct world w;
    open_world(&w, 10);
    CHECK(take(&w, STR("")) == 0);
    blob_hold(&w.blobs, 0);
    blob_drop(&w.blobs, 0);
    blob_drop(&w.blobs, 0);
    CHECK(blob_holders(&w.blobs, 0) == 0 && blob_text(&w.blobs, 0).len == 0);
    CHECK(blob_text(&w.blobs, 0).at != NULL);
    close_world(&w);
}

TEST(equal_texts_share_one_handle_and_the_last_drop_frees_it)
{
    struct world w;
    open_world(&w, 10);
    uint32_t a = take(&w, STR("alpha"));
    uint32_t b = take(&w, STR("beta"));
    CHECK(a && b && a != b);
    CHECK(take(&w, STR("alpha")) == a && blob_holders(&w.blobs, a) == 2);
    blob_hold(&w.blobs, a);
    CHECK(blob_holders(&w.blobs, a) == 3);
    for (int i = 0; i < 2; i++)
        blob_drop(&w.blobs, a);
    CHECK(text_is(&w, a, STR("alpha")) && take(&w, STR("alpha")) == a);
    blob_drop(&w.blobs, a);
    blob_drop(&w.blobs, a);
    CHECK(blob_holders(&w.blobs, a) == 0);
    CHECK(text_is(&w, a, STR("alpha"))); /* still readable in this turn */
    CHECK(take(&w, STR("gamma")) != a);
    CHECK(text_is(&w, a, STR("alpha")));
    uint64_t used = w.heap.used;
    blobs_settle(&w.blobs);
    CHECK(w.heap.used < used);
    CHECK(text_is(&w, b, STR("beta")));
    close_world(&w);
}

TEST(a_text_dropped_and_taken_again_in_one_turn_is_a_new_one)
{
    struct world w;
    open_world(&w, 10);
    uint32_t old = take(&w, STR("phoenix"));
    blob_drop(&w.blobs, old);
    uint32_t new = take(&w, STR("phoenix"));
    CHECK(new != old &&blob_holders(&w.blobs, new) == 1);
    blobs_settle(&w.blobs);
    CHECK(text_is(&w, new, STR("phoenix")) && take(&w, STR("phoenix")) == new);
    close_world(&w);
}

TEST(a_full_pool_is_said_and_changes_nothing)
{
    struct world w;
    open_world(&w, 2);
    uint32_t a = take(&w, STR("a"));
    take(&w, STR("b"));
    uint64_t used = w.heap.used;
    bool full = false;
    CHECK(blob_take(&w.blobs, STR("c"), &full) == 0 && full);
    CHECK(w.heap.used == used && w.blobs.by_hash.count == 2);
    full = false;
    CHECK(blob_take(&w.blobs, STR("a"), &full) == a && !full);
    CHECK(blob_take(&w.blobs, STR(""), &full) == 0 && !full);
    blob_drop(&w.blobs, a);
    blob_drop(&w.blobs, a);
    CHECK(blob_take(&w.blobs, STR("c"), &full) == 0 && full);
    blobs_settle(&w.blobs);
    full = false;
    CHECK(blob_take(&w.blobs, STR("c"), &full) == a && !full);
    close_world(&w);
}

TEST(texts_with_one_hash_are_kept_apart)
{
    struct world w;
    open_world(&w, 10);
    w.blobs.hash_mask = 0;
    struct str texts[] = {STR("one"), STR("two"), STR("three"), STR("four")};
    uint32_t handles[4];
    const int orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}};
    for (int o = 0; o < 4; o++) {
        for (int i = 0; i < 4; i++)
            handles[i] = take(&w, texts[i]);
        CHECK(w.blobs.by_hash.count == 1);
        for (int i = 0; i < 4; i++) {
            CHECK(take(&w, texts[i]) == handles[i] && text_is(&w, handles[i], texts[i]));
            blob_drop(&w.blobs, handles[i]);
        }
        for (int i = 0; i < 4; i++) {
            blob_drop(&w.blobs, handles[orders[o][i]]);
            for (int k = i + 1; k < 4; k++) {
                int left = orders[o][k];
                CHECK(take(&w, texts[left]) == handles[left]);
                blob_drop(&w.blobs, handles[left]);
            }
        }
        blobs_settle(&w.blobs);
        CHECK(w.heap.used == 0 && w.blobs.by_hash.count == 0);
    }
    close_world(&w);
}

TEST(texts_may_hold_any_byte_and_be_long)
{
    struct world w;
    open_world(&w, 10);
    static char bytes[3 << 20];
    memset(bytes, 'x', sizeof bytes);
    uint32_t last = 0;
    for (uint32_t len = 1; len <= sizeof bytes; len *= 8) {
        uint32_t handle = take(&w, (struct str){bytes, len});
        CHECK(handle != last && text_is(&w, handle, (struct str){bytes, len}));
        last = handle;
    }
    CHECK(take(&w, (struct str){"a\0b", 3}) != take(&w, (struct str){"a\0c", 3}));
    close_world(&w);
}

/* ---- against a plain count ---- */

enum { TEXTS = 300, DEPTH = 4 };

struct model {
    uint32_t holders[TEXTS];
    uint32_t handles[TEXTS];
};

static char names[TEXTS][64];

static struct str text_of(uint32_t i)
{
    return str_from(names[i]);
}

/* Different lengths, many with a common beginning. */
static void make_names(void)
{
    for (uint32_t i = 0; i < TEXTS; i++)
        snprintf(names[i], sizeof names[i], "%.*s%u", (int)(i % 40),
                 "the quick brown fox jumps over the lazy dog", i);
}

static void compare_all(const struct world *w, const struct model *m)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < TEXTS; i++) {
        if (m->holders[i] == 0)
            continue;
        live++;
        CHECK(blob_holders(&w->blobs, m->handles[i]) == m->holders[i]);
        CHECK(text_is(w, m->handles[i], text_of(i)));
    }
    CHECK(w->blobs.rows.live == live);
    CHECK(omap_check(&w->blobs.by_hash));
}

static void random_step(struct prng *r, struct world *w, struct model *m, bool growing)
{
    uint32_t i = (uint32_t)prng_below(r, TEXTS);
    if (prng_chance(r, growing ? 600 : 300)) {
        uint32_t handle = take(w, text_of(i));
        CHECK(m->holders[i] == 0 || handle == m->handles[i]);
        m->handles[i] = handle;
        m->holders[i]++;
    } else if (m->holders[i] > 0 && prng_chance(r, 150)) {
        blob_hold(&w->blobs, m->handles[i]);
        m->holders[i]++;
    } else if (m->holders[i] > 0) {
        blob_drop(&w->blobs, m->handles[i]);
        m->holders[i]--;
    }
}

static void run_against_model(uint64_t seed, uint64_t hash_mask)
{
    static struct model model, saved[DEPTH];
    struct undo_mark marks[DEPTH];
    struct world w;
    struct prng r;
    make_names();
    open_world(&w, 100000);
    w.blobs.hash_mask = hash_mask;
    prng_init(&r, seed);
    memset(&model, 0, sizeof model);
    for (int i = 0; i < 100000; i++) {
        uint32_t depth = w.undo.depth;
        uint64_t dice = prng_below(&r, 1000);
        if (dice < 10 && depth < DEPTH) {
            saved[depth] = model;
            marks[depth] = undo_begin(&w.undo);
        } else if (dice < 17 && depth > 0) {
            undo_keep(&w.undo, marks[depth - 1]);
        } else if (dice < 24 && depth > 0) {
            undo_rollback(&w.undo, marks[depth - 1]);
            model = saved[depth - 1];
            compare_all(&w, &model);
        } else if (dice < 40 && depth == 0) {
            blobs_settle(&w.blobs);
            compare_all(&w, &model);
        } else {
            random_step(&r, &w, &model, i / 3000 % 2 == 0);
        }
    }
    while (w.undo.depth > 0)
        undo_keep(&w.undo, marks[w.undo.depth - 1]);
    compare_all(&w, &model);
    for (uint32_t i = 0; i < TEXTS; i++)
        while (model.holders[i]-- > 0)
            blob_drop(&w.blobs, model.handles[i]);
    blobs_settle(&w.blobs);
    CHECK(w.heap.used == 0 && w.blobs.rows.live == 0 && w.blobs.by_hash.root == 0);
    close_world(&w);
}

TEST(holders_match_a_plain_count_under_nested_marks)
{
    run_against_model(7, UINT64_MAX);
}

TEST(holders_match_when_many_texts_collide)
{
    run_against_model(8, 7);
}

TEST(holders_match_when_all_texts_collide)
{
    run_against_model(9, 0);
}

/* ---- the end, good and bad ---- */

/* Address space of this process, in pages. */
static long mapped_pages(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL && fscanf(f, "%ld", &pages) == 1);
    fclose(f);
    return pages;
}

TEST(the_end_gives_every_page_back)
{
    enum { ROUNDS = 100 };
    long before = 0;
    for (int round = 0; round <= ROUNDS; round++) {
        struct world w;
        open_world(&w, 20000000);
        struct undo_mark mark = undo_begin(&w.undo);
        for (uint32_t i = 0; i < 3000; i++)
            take(&w, (struct str){(const char *)&i, sizeof i});
        heap_alloc(&w.heap, 5 << 20);
        undo_keep(&w.undo, mark);
        close_world(&w);
        CHECK(w.heap.chunks == NULL && w.blobs.rows.chunks == NULL && w.undo.arena.held == 0);
        if (round == 0)
            before = mapped_pages();
    }
    CHECK(mapped_pages() - before < 4 * ROUNDS);
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
        take(&w, STR("first")); /* handle 1 */
        body(&w);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void drop_too_often(struct world *w)
{
    blob_drop(&w->blobs, 1);
    blob_drop(&w->blobs, 1);
}

static void hold_a_dead_one(struct world *w)
{
    blob_drop(&w->blobs, 1);
    blob_hold(&w->blobs, 1);
}

static void read_what_never_was(struct world *w)
{
    blob_text(&w->blobs, 2);
}

static void settle_under_a_mark(struct world *w)
{
    undo_begin(&w->undo);
    blobs_settle(&w->blobs);
}

static void mix_two_undos(struct world *w)
{
    struct undo other;
    undo_init(&other);
    blobs_init(&w->blobs, &w->heap, &other, 10);
}

static void put_the_value_0(struct world *w)
{
    omap_put(&w->blobs.by_hash, 1, 0);
}

TEST(misuse_of_blobs_fails_an_assertion)
{
    CHECK(fails_an_assertion(drop_too_often));
    CHECK(fails_an_assertion(hold_a_dead_one));
    CHECK(fails_an_assertion(read_what_never_was));
    CHECK(fails_an_assertion(settle_under_a_mark));
    CHECK(fails_an_assertion(mix_two_undos));
    CHECK(fails_an_assertion(put_the_value_0));
}
