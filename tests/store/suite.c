/* Goal: a store keeps all of a batch or nothing, gives back exactly what it was given, and lets one
 * leader write at a time.
 * Method: stories about marks, batches and fences; every table with extreme values; then random
 * batches against a naive model, compared through load() and after reopening. */
#include "tests/store/suite.h"

#include <string.h>

/* ---- the beginning ---- */

TEST(an_empty_store_is_at_turn_zero)
{
    void *place = suite_maker.make();
    struct session s = session_open(place);
    CHECK(s.mark.epoch == 1 && s.mark.turn == 0 && s.mark.now_ms == 0 && !s.mark.has_digest);
    check_load(&s, &(struct model){0});
    session_close(&s);
    suite_maker.destroy(place);
}

TEST(leading_raises_the_epoch_each_time)
{
    void *place = suite_maker.make();
    struct session s = session_open(place);
    for (int64_t epoch = 1; epoch < 20; epoch++) {
        CHECK(s.mark.epoch == epoch);
        CHECK(session_lead(&s, epoch, &s.mark) == OK);
    }
    session_close(&s);
    s = session_open(place);
    CHECK(s.mark.epoch == 21 && s.mark.turn == 0);
    session_close(&s);
    suite_maker.destroy(place);
}

/* ---- batches ---- */

static bool marks_eq(struct store_mark a, struct store_mark b)
{
    return a.turn == b.turn && a.now_ms == b.now_ms && a.has_digest == b.has_digest &&
           (!a.has_digest || digest_eq(a.digest, b.digest));
}

/* Another process sees the same. */
static void check_reopened(void *place, struct session *s, const struct model *m)
{
    const struct store_mark before = s->mark;
    session_close(s);
    *s = session_open(place);
    CHECK(marks_eq(s->mark, before) && s->mark.epoch == before.epoch + 1);
    check_load(s, m);
}

TEST(a_batch_may_change_nothing)
{
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct draft d = {0};
    struct model m = {0};
    draft_begin(&d);
    draft_write(&d, &s, &m);
    CHECK(s.mark.turn == 1);
    check_reopened(place, &s, &m);
    draft_fini(&d);
    session_close(&s);
    suite_maker.destroy(place);
}

TEST(the_mark_is_that_of_the_last_batch)
{
    static const struct {
        int64_t now_ms;
        struct digest128 digest;
    } marks[] = {
        {0, {0, 0}},
        {INT64_MAX, {UINT64_MAX, UINT64_MAX}},
        {1700000000123, {0x0123456789abcdef, 0xfedcba9876543210}},
        {5, {1, 0}},
        {5, {0, 1}},
    };
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct draft d = {0};
    for (uint32_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        draft_begin(&d);
        struct batch batch = *draft_batch(&d, &s);
        batch.now_ms = marks[i].now_ms;
        batch.digest = marks[i].digest;
        CHECK(session_write(&s, &batch) == OK);
        struct store_mark mark;
        CHECK(session_lead(&s, s.mark.epoch, &mark) == OK);
        CHECK(mark.turn == i + 1 && mark.now_ms == marks[i].now_ms && mark.has_digest);
        CHECK(digest_eq(mark.digest, marks[i].digest));
        s.mark = mark;
    }
    check_reopened(place, &s, &(struct model){0});
    draft_fini(&d);
    session_close(&s);
    suite_maker.destroy(place);
}

/* As many different rows of the table as asked, or as it can have. */
static void put_rows_of(struct prng *r, struct draft *d, enum table table, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct record record = some_record(r, &d->arena, table);
        if (table == TABLE_COUNTER)
            record.id = 1 + i % TABLE_OBJECTS;
        if (table == TABLE_NODEROLE)
            record.noderole.node_id = i;
        bool there = false;
        for (uint32_t k = 0; k < d->count; k++)
            there |= is_same_row(&d->changes[k].record, &record);
        if (!there)
            draft_put(d, &record);
    }
}

TEST(every_table_gives_back_what_it_was_given)
{
    struct prng r;
    prng_init(&r, 1);
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct draft d = {0};
    struct model m = {0};
    for (uint32_t t = 0; t < TABLE_COUNT; t++) {
        draft_begin(&d);
        put_rows_of(&r, &d, (enum table)t, 40);
        CHECK(d.count >= 18);
        draft_write(&d, &s, &m);
        check_load(&s, &m);
    }
    check_reopened(place, &s, &m);
    model_fini(&m);
    draft_fini(&d);
    session_close(&s);
    suite_maker.destroy(place);
}

TEST(all_tables_may_be_in_one_batch)
{
    struct prng r;
    prng_init(&r, 2);
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct draft d = {0};
    struct model m = {0};
    draft_begin(&d);
    for (uint32_t t = TABLE_COUNT; t-- > 0;)
        put_rows_of(&r, &d, (enum table)t, 3);
    draft_write(&d, &s, &m);
    check_load(&s, &m);
    check_reopened(place, &s, &m);
    model_fini(&m);
    draft_fini(&d);
    session_close(&s);
    suite_maker.destroy(place);
}

TEST(documents_may_be_as_large_as_documents_are)
{
    static const uint32_t lengths[] = {1u << 20, 0, 4095, 4096, 65535, 65536, (1u << 20) - 1};
    struct prng r;
    prng_init(&r, 3);
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct draft d = {0};
    struct model m = {0};
    for (uint32_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        draft_begin(&d);
        for (int64_t id = 1; id <= 3; id++) {
            struct record record = some_node(id);
            record.node.discovery = some_text(&r, &d.arena, lengths[i]);
            record.node.notes = some_text(&r, &d.arena, lengths[i] / 2);
            draft_put(&d, &record);
        }
        draft_write(&d, &s, &m);
        check_load(&s, &m);
    }
    check_reopened(place, &s, &m);
    model_fini(&m);
    draft_fini(&d);
    session_close(&s);
    suite_maker.destroy(place);
}

TEST(an_image_replaces_and_an_end_removes)
{
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct draft d = {0};
    struct model m = {0};
    draft_begin(&d);
    for (int64_t id = 1; id <= 5; id++) {
        struct record node = some_node(id);
        struct record edge = {.table = TABLE_EDGE, .edge = {id, id + 1}};
        draft_put(&d, &node);
        draft_put(&d, &edge);
    }
    draft_write(&d, &s, &m);
    draft_begin(&d);
    struct record changed = some_node(3);
    changed.node.name = STR("renamed");
    changed.node.alive = false;
    struct record gone = some_node(4), edge = {.table = TABLE_EDGE, .edge = {2, 3}};
    draft_put(&d, &changed);
    draft_end(&d, &gone);
    draft_end(&d, &edge);
    draft_write(&d, &s, &m);
    CHECK(m.count == 8);
    check_load(&s, &m);
    /* What is gone may come again, later. */
    draft_begin(&d);
    draft_put(&d, &gone);
    draft_put(&d, &edge);
    draft_write(&d, &s, &m);
    check_load(&s, &m);
    check_reopened(place, &s, &m);
    model_fini(&m);
    draft_fini(&d);
    session_close(&s);
    suite_maker.destroy(place);
}

TEST(a_role_may_be_bound_anew_in_the_batch_that_ends_it)
{
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct draft d = {0};
    struct model m = {0};
    struct record noderole = {.table = TABLE_NODEROLE,
                              .noderole = {.id = 1, .role_id = 7, .node_id = 8}};
    draft_begin(&d);
    draft_put(&d, &noderole);
    draft_write(&d, &s, &m);
    for (int64_t id = 2; id < 8; id++) {
        struct record next = noderole;
        next.noderole.id = id;
        draft_begin(&d);
        draft_put(&d, &next);
        draft_end(&d, &noderole);
        draft_write(&d, &s, &m);
        check_load(&s, &m);
        noderole = next;
    }
    CHECK(m.count == 1);
    check_reopened(place, &s, &m);
    model_fini(&m);
    draft_fini(&d);
    session_close(&s);
    suite_maker.destroy(place);
}

TEST(a_batch_may_have_ten_thousand_rows)
{
    enum { ROWS = 10000 };
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct draft d = {0};
    struct model m = {0};
    draft_begin(&d);
    for (int64_t i = 1; i <= ROWS / 4; i++) {
        struct record rows[] = {
            some_node(i),
            {.table = TABLE_NODEROLE, .noderole = {.id = i, .node_id = i, .status = STR("new")}},
            {.table = TABLE_LINK, .link = {i, i + 1, i + 2}},
            {.table = TABLE_EVENT, .event = {.turn = 1, .n = i, .verb = STR("node_create")}},
        };
        for (uint32_t k = 0; k < 4; k++)
            draft_put(&d, &rows[k]);
    }
    draft_write(&d, &s, &m);
    CHECK(m.count == ROWS);
    check_load(&s, &m);
    draft_begin(&d);
    for (int64_t i = 1; i <= ROWS / 4; i++) {
        struct record node = some_node(i), link = {.table = TABLE_LINK, .link = {i, i + 1, i + 2}};
        node.node.alive = false;
        draft_put(&d, &node);
        draft_end(&d, &link);
    }
    draft_write(&d, &s, &m);
    CHECK(m.count == ROWS / 4 * 3);
    check_reopened(place, &s, &m);
    model_fini(&m);
    draft_fini(&d);
    session_close(&s);
    suite_maker.destroy(place);
}

/* ---- fences ---- */

static const struct batch *one_node(struct draft *d, const struct session *s, int64_t id)
{
    const struct record node = some_node(id);
    draft_begin(d);
    draft_put(d, &node);
    return draft_batch(d, s);
}

TEST(a_batch_of_another_turn_or_epoch_is_not_in)
{
    static const struct {
        int64_t epoch, turn; /* beside what would be right */
    } wrong[] = {{0, 1}, {0, -1}, {0, -2}, {0, 100}, {-1, 0}, {1, 0}, {-1, 1}, {1, -1}};
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct draft d = {0};
    struct model m = {0};
    CHECK(session_lead(&s, 1, &s.mark) == OK);
    one_node(&d, &s, 1);
    draft_write(&d, &s, &m);
    one_node(&d, &s, 2);
    draft_write(&d, &s, &m);
    for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct batch batch = *one_node(&d, &s, 3);
        const struct store_mark before = s.mark;
        batch.epoch += wrong[i].epoch;
        batch.turn += wrong[i].turn;
        CHECK(session_write(&s, &batch) == ERR_FENCED);
        check_load(&s, &m);
        CHECK(session_lead(&s, s.mark.epoch, &s.mark) == OK);
        CHECK(marks_eq(s.mark, before));
    }
    one_node(&d, &s, 3);
    draft_write(&d, &s, &m);
    check_reopened(place, &s, &m);
    model_fini(&m);
    draft_fini(&d);
    session_close(&s);
    suite_maker.destroy(place);
}

/* Another process takes over. Where a session that is there keeps others out, it loses touch first,
 * so that may be the result of its batch. */
static struct session take_over(void *place)
{
    if (suite_maker.cut)
        suite_maker.cut(place);
    return session_open(place);
}

static bool is_ousted(err e)
{
    return e == ERR_FENCED || (suite_maker.cut && (e == ERR_UNAVAILABLE || e == ERR_UNKNOWN));
}

TEST(a_later_leader_fences_the_earlier_one)
{
    void *place = suite_maker.make();
    struct session first = session_open(place);
    struct draft d = {0};
    struct model m = {0};
    one_node(&d, &first, 1);
    draft_write(&d, &first, &m);
    struct session second = take_over(place);
    CHECK(second.mark.epoch == 2 && second.mark.turn == 1 && marks_eq(first.mark, second.mark));
    CHECK(is_ousted(session_write(&first, one_node(&d, &first, 2))));
    check_load(&second, &m);
    one_node(&d, &second, 3);
    draft_write(&d, &second, &m);
    CHECK(is_ousted(session_write(&first, one_node(&d, &first, 2))));
    session_close(&first);
    check_reopened(place, &second, &m);
    model_fini(&m);
    draft_fini(&d);
    session_close(&second);
    suite_maker.destroy(place);
}

TEST(a_fenced_process_cannot_lead_again)
{
    void *place = suite_maker.make();
    struct session first = session_open(place), second = take_over(place);
    struct store_mark mark = first.mark;
    for (int i = 0; i < 3; i++)
        CHECK(session_lead(&first, first.mark.epoch, &mark) == ERR_FENCED);
    CHECK(session_lead(&first, 99, &mark) == ERR_FENCED);
    /* The leader is not affected. */
    struct draft d = {0};
    struct model m = {0};
    one_node(&d, &second, 1);
    draft_write(&d, &second, &m);
    CHECK(session_lead(&first, first.mark.epoch, &mark) == ERR_FENCED);
    CHECK(session_lead(&second, second.mark.epoch, &second.mark) == OK);
    CHECK(second.mark.epoch == 3 && second.mark.turn == 1);
    model_fini(&m);
    draft_fini(&d);
    session_close(&first);
    session_close(&second);
    suite_maker.destroy(place);
}

/* ---- reading ---- */

struct stopping {
    uint32_t seen, stop_at;
};

static err stop_there(void *self, const struct record *record)
{
    struct stopping *s = self;
    CHECK(record->table == TABLE_NODE && record->id == s->seen + 1);
    return ++s->seen == s->stop_at ? ERR_LIMIT : OK;
}

TEST(an_error_of_the_callback_ends_the_load)
{
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct draft d = {0};
    struct model m = {0};
    draft_begin(&d);
    for (int64_t id = 1; id <= 100; id++) {
        const struct record node = some_node(id);
        draft_put(&d, &node);
    }
    draft_write(&d, &s, &m);
    for (uint32_t stop = 1; stop <= 101; stop += 25) {
        struct stopping stopping = {.stop_at = stop};
        const err e = s.port.load(s.port.self, (struct record_callback){&stopping, stop_there});
        CHECK(e == (stop <= 100 ? ERR_LIMIT : OK));
        CHECK(stopping.seen == (stop <= 100 ? stop : 100));
    }
    check_load(&s, &m); /* it is none the worse for it */
    one_node(&d, &s, 101);
    draft_write(&d, &s, &m);
    check_load(&s, &m);
    model_fini(&m);
    draft_fini(&d);
    session_close(&s);
    suite_maker.destroy(place);
}

static struct record member(int64_t deployment, int64_t noderole, int64_t from, int64_t to)
{
    return (struct record){.table = TABLE_OLD_MEMBER,
                           .old_member = {deployment, noderole, 20, 30, from, to}};
}

static struct record data(int64_t deployment, int64_t node, int64_t from, int64_t to)
{
    return (struct record){.table = TABLE_OLD_DATA,
                           .old_data = {deployment, 20, node, from, to, STR("{\"a\":1}")}};
}

struct paged {
    struct model *out;
    uint32_t count;
    int64_t last[2];
};

static err see_paged(void *self, const struct record *record)
{
    struct paged *p = self;
    const bool is_data = record->table == TABLE_OLD_DATA;
    p->count++;
    p->last[0] = is_data ? record->old_data.role_id : record->old_member.noderole_id;
    p->last[1] = is_data ? record->old_data.node_id : 0;
    const struct record_callback callback = model_visitor(p->out);
    return callback.record(callback.self, record);
}

/* All pages of both tables, `limit` records in each. Returns how many pages had any. */
static uint32_t read_intervals(void *place, int64_t deployment_id, int64_t seq, uint32_t limit,
                               struct model *out)
{
    uint32_t pages = 0;
    for (int is_data = 0; is_data < 2; is_data++) {
        struct interval_page page = {.deployment_id = deployment_id,
                                     .seq = seq,
                                     .table = is_data ? TABLE_OLD_DATA : TABLE_OLD_MEMBER,
                                     .after = {0, -1},
                                     .limit = limit};
        for (struct paged seen = {.out = out};; pages++) {
            seen.count = 0;
            CHECK(suite_maker.intervals(place, &page, (struct record_callback){&seen, see_paged}) ==
                  OK);
            CHECK(seen.count <= limit);
            if (!seen.count)
                break;
            memcpy(page.after, seen.last, sizeof page.after);
        }
    }
    return pages;
}

TEST(the_archive_returns_the_intervals_of_a_snapshot)
{
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct draft d = {0};
    struct model m = {0};
    const struct record rows[] = {
        data(1, 31, 2, 4),   data(1, 0, 1, 3),    data(1, 31, 4, 9),   member(1, 11, 1, 4),
        member(1, 10, 3, 4), member(1, 10, 1, 2), member(2, 10, 1, 9), data(2, 0, 1, 9),
    };
    for (uint32_t i = 0; i < 8; i++) { /* in several batches: archives grow */
        draft_begin(&d);
        draft_put(&d, &rows[i]);
        draft_write(&d, &s, &m);
    }
    check_load(&s, &m); /* none of them is loaded */
    session_close(&s);
    for (int64_t seq = 0; seq <= 9; seq++) {
        struct model found = {0}, expected = {0};
        read_intervals(place, 1, seq, 1 + (uint32_t)seq % 3, &found);
        for (uint32_t i = 0; i < 6; i++) {
            const int64_t *from = rows[i].table == TABLE_OLD_DATA ? &rows[i].old_data.from_seq
                                                                  : &rows[i].old_member.from_seq;
            if (from[0] <= seq && seq < from[1])
                model_apply(&expected, &(struct change){.record = rows[i]});
        }
        CHECK(models_eq(&found, &expected, TABLE_LOADED, TABLE_COUNT));
        model_fini(&found);
        model_fini(&expected);
    }
    struct model none = {0};
    CHECK(read_intervals(place, 3, 1, 10, &none) == 0 && none.count == 0);
    CHECK(read_intervals(place, 1, 1, 1, &none) == 3 && none.count == 3);
    model_fini(&none);
    model_fini(&m);
    draft_fini(&d);
    suite_maker.destroy(place);
}

/* ---- dying ---- */

static bool write_five_and_die(struct session *s)
{
    struct draft d = {0};
    bool ok = session_lead(s, 0, &s->mark) == OK;
    for (int64_t id = 1; ok && id <= 5; id++)
        ok = session_write(s, one_node(&d, s, id)) == OK;
    draft_fini(&d);
    return ok;
}

TEST(an_acknowledged_batch_survives_the_process)
{
    void *place = suite_maker.make();
    CHECK(suite_maker.die(place, write_five_and_die));
    struct session s = session_open(place);
    CHECK(s.mark.epoch == 2 && s.mark.turn == 5 && s.mark.has_digest);
    struct model m = {0};
    for (int64_t id = 1; id <= 5; id++)
        model_apply(&m, &(struct change){.record = some_node(id)});
    check_load(&s, &m);
    struct draft d = {0};
    one_node(&d, &s, 6);
    draft_write(&d, &s, &m);
    check_reopened(place, &s, &m);
    model_fini(&m);
    draft_fini(&d);
    session_close(&s);
    suite_maker.destroy(place);
}

/* ---- anything ---- */

TEST(random_batches_leave_what_the_model_holds)
{
    enum { BATCHES = 300 };
    struct prng r;
    prng_init(&r, 4);
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct draft d = {0};
    struct model m = {0};
    for (int i = 1; i <= BATCHES; i++) {
        draft_begin(&d);
        some_changes(&r, &d, &m);
        draft_write(&d, &s, &m);
        if (i % 10 == 0)
            check_load(&s, &m);
        if (i % 50 == 0)
            check_reopened(place, &s, &m);
        if (i % 70 == 0) { /* a stray batch changes nothing */
            draft_begin(&d);
            some_changes(&r, &d, &m);
            struct batch stray = *draft_batch(&d, &s);
            stray.epoch--;
            CHECK(session_write(&s, &stray) == ERR_FENCED);
        }
    }
    check_reopened(place, &s, &m);
    model_fini(&m);
    draft_fini(&d);
    session_close(&s);
    suite_maker.destroy(place);
}
