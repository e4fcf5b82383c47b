/* Goal: a reader of the history sees what was written, in order, and one turn at a time, whatever
 * is written meanwhile.
 * Method: readers (store/store_thread.h) beside a session that writes. Only stores that are kept
 * outside of a process have readers; the simulated one is not linked with this. */
#include "model/limits.h"
#include "store/store_thread.h"
#include "tests/store/suite.h"

#include <string.h>

static struct store_reader *open_reader(void *place)
{
    struct store_reader *reader;
    struct store_why why = {""};
    if (store_reader_open(place, &reader, &why) != OK)
        check_failed(place, 0, why.text);
    return reader;
}

static struct record event(int64_t turn, int64_t n)
{
    return (struct record){.table = TABLE_EVENT,
                           .event = {.turn = turn,
                                     .n = n,
                                     .at = 1700000000000 + turn,
                                     .actor = STR("ann"),
                                     .verb = STR("node_update"),
                                     .object = STR("node"),
                                     .object_id = 100 * turn + n,
                                     .changes = STR("{\"name\":[\"a\",\"\xc3\xa4\"]}"),
                                     .address = n % 2 ? STR("2001:db8::7") : STR("")}};
}

/* Turn t has t % 4 events; the last is put first. */
static void write_events(struct session *s, struct model *m, int64_t turns)
{
    struct draft d = {0};
    for (int64_t turn = 1; turn <= turns; turn++) {
        draft_begin(&d);
        for (int64_t n = turn % 4; n-- > 0;) {
            const struct record record = event(turn, n);
            draft_put(&d, &record);
        }
        draft_write(&d, s, m);
    }
    draft_fini(&d);
}

static bool lies_behind(const struct event_record *e, struct history_cursor place)
{
    if (place.is_backward)
        return e->turn < place.turn || (e->turn == place.turn && e->n < place.n);
    return e->turn > place.turn || (e->turn == place.turn && e->n > place.n);
}

/* The events that come behind, `limit` of them at most. */
static struct model expected_behind(const struct model *all, struct history_cursor place,
                                    uint32_t limit)
{
    struct model behind = {0};
    for (uint32_t i = 0; i < all->count && behind.count < limit; i++) {
        const uint32_t at = place.is_backward ? all->count - 1 - i : i;
        if (lies_behind(&all->rows[at].record.event, place))
            model_apply(&behind, &(struct change){.record = all->rows[at].record});
    }
    return behind;
}

/* In any order, unlike the callback of a model. */
static err gather(void *self, const struct record *record)
{
    model_apply(self, &(struct change){.record = *record});
    return OK;
}

TEST(events_come_behind_a_place)
{
    static const uint32_t limits[] = {0, 1, 2, 7, 1000, UINT32_MAX};
    static const int64_t places[][2] = {{0, -1}, {0, 0},   {1, -1}, {3, 0},         {3, 2},
                                        {4, 0},  {19, 99}, {39, 2}, {40, INT64_MAX}};
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct model all = {0};
    write_events(&s, &all, 40);
    struct store_reader *reader = open_reader(place);
    const struct history_port history = store_reader_history(reader);
    for (uint32_t l = 0; l < sizeof limits / sizeof limits[0]; l++)
        for (uint32_t p = 0; p < 2 * sizeof places / sizeof places[0]; p++) {
            const struct history_cursor from = {places[p / 2][0], places[p / 2][1], p % 2};
            struct model found = {0};
            struct model expected = expected_behind(&all, from, limits[l]);
            CHECK(history.events(history.self, from, limits[l],
                                 (struct record_callback){&found, gather}) == OK);
            CHECK(models_eq(&found, &expected, TABLE_EVENT, TABLE_COUNT));
            model_fini(&found);
            model_fini(&expected);
        }
    store_reader_close(reader);
    session_close(&s);
    model_fini(&all);
    suite_maker.destroy(place);
}

/* The turn and number of each event, as they came. */
struct trail {
    int64_t at[100][2];
    uint32_t count;
};

static err leave_trail(void *self, const struct record *record)
{
    struct trail *t = self;
    CHECK(t->count < sizeof t->at / sizeof t->at[0]);
    t->at[t->count][0] = record->event.turn;
    t->at[t->count++][1] = record->event.n;
    return OK;
}

TEST(events_come_in_order_both_ways)
{
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct model all = {0};
    struct trail on = {0}, back = {0};
    write_events(&s, &all, 40);
    struct store_reader *reader = open_reader(place);
    const struct history_port history = store_reader_history(reader);
    const struct history_cursor first = {0, -1, false}, last = {INT64_MAX, INT64_MAX, true};
    CHECK(history.events(history.self, first, 100, (struct record_callback){&on, leave_trail}) ==
          OK);
    CHECK(history.events(history.self, last, 100, (struct record_callback){&back, leave_trail}) ==
          OK);
    CHECK(on.count == all.count && back.count == all.count);
    for (uint32_t i = 0; i < on.count; i++) {
        const bool is_later = i == 0 || on.at[i][0] > on.at[i - 1][0] ||
                              (on.at[i][0] == on.at[i - 1][0] && on.at[i][1] > on.at[i - 1][1]);
        CHECK(is_later && memcmp(on.at[i], back.at[on.count - 1 - i], sizeof on.at[i]) == 0);
    }
    store_reader_close(reader);
    session_close(&s);
    model_fini(&all);
    suite_maker.destroy(place);
}

/* An empty batch that forgets. */
static void forget_events(struct session *s, int64_t before)
{
    struct draft d = {0};
    draft_begin(&d);
    struct batch batch = *draft_batch(&d, s);
    batch.events_before = before;
    CHECK(session_write(s, &batch) == OK);
    draft_fini(&d);
}

static uint32_t count_events(const struct history_port *history, int64_t *out_first_turn)
{
    struct model found = {0};
    CHECK(history->events(history->self, (struct history_cursor){0, -1, false}, UINT32_MAX,
                          model_visitor(&found)) == OK);
    const uint32_t count = found.count;
    *out_first_turn = count ? found.rows[0].record.event.turn : 0;
    model_fini(&found);
    return count;
}

TEST(events_of_before_a_time_are_forgotten)
{
    enum { TURNS = 40, MANY = EVENTS_SWEEP_ROWS + 100 };
    const int64_t epoch_ms = 1700000000000; /* of event() */
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct model all = {0};
    struct draft d = {0};
    int64_t first;
    write_events(&s, &all, TURNS);
    struct store_reader *reader = open_reader(place);
    const struct history_port history = store_reader_history(reader);
    forget_events(&s, epoch_ms + 1);
    CHECK(count_events(&history, &first) == all.count && first == 1);
    forget_events(&s, epoch_ms + 21);
    CHECK(count_events(&history, &first) == all.count / 2 && first == 21);
    forget_events(&s, epoch_ms + 1000);
    CHECK(count_events(&history, &first) == 0);
    draft_begin(&d);
    const int64_t turn = draft_batch(&d, &s)->turn;
    for (int64_t n = 0; n < MANY; n++) {
        const struct record record = event(turn, n);
        draft_put(&d, &record);
    }
    draft_write(&d, &s, &all);
    forget_events(&s, epoch_ms + 1000); /* not all at once */
    CHECK(count_events(&history, &first) == MANY - EVENTS_SWEEP_ROWS);
    forget_events(&s, epoch_ms + 1000);
    CHECK(count_events(&history, &first) == 0);
    draft_fini(&d);
    store_reader_close(reader);
    session_close(&s);
    model_fini(&all);
    suite_maker.destroy(place);
}

TEST(events_can_be_followed_page_by_page)
{
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct model all = {0}, found = {0};
    write_events(&s, &all, 40);
    struct store_reader *reader = open_reader(place);
    const struct history_port history = store_reader_history(reader);
    struct history_cursor at = {0, -1, false};
    uint32_t before;
    do {
        before = found.count;
        CHECK(history.events(history.self, at, 7, model_visitor(&found)) == OK);
        CHECK(found.count - before <= 7);
        at.turn = found.rows[found.count - 1].record.event.turn;
        at.n = found.rows[found.count - 1].record.event.n;
    } while (found.count > before);
    CHECK(models_eq(&found, &all, TABLE_EVENT, TABLE_COUNT));
    store_reader_close(reader);
    session_close(&s);
    model_fini(&found);
    model_fini(&all);
    suite_maker.destroy(place);
}

struct stopping {
    uint32_t seen, stop_at;
};

static err stop_there(void *self, const struct record *record)
{
    struct stopping *s = self;
    (void)record;
    return ++s->seen == s->stop_at ? ERR_REFUSED : OK;
}

TEST(a_read_of_the_history_can_stop_anywhere)
{
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct model all = {0};
    write_events(&s, &all, 10);
    struct store_reader *reader = open_reader(place);
    const struct history_port history = store_reader_history(reader);
    for (uint32_t stop = 1; stop <= 3; stop++) {
        struct stopping events = {.stop_at = stop}, rows = {.stop_at = stop};
        CHECK(history.events(history.self, (struct history_cursor){0, -1, false}, 100,
                             (struct record_callback){&events, stop_there}) == ERR_REFUSED);
        struct store_mark mark;
        CHECK(store_reader_begin(reader, &mark) == OK);
        CHECK(store_reader_table(reader, TABLE_EVENT,
                                 (struct record_callback){&rows, stop_there}) == ERR_REFUSED);
        store_reader_end(reader);
        CHECK(events.seen == stop && rows.seen == stop);
    }
    struct model found = {0};
    CHECK(history.events(history.self, (struct history_cursor){0, -1, false}, 100,
                         model_visitor(&found)) == OK);
    CHECK(models_eq(&found, &all, TABLE_EVENT, TABLE_COUNT));
    store_reader_close(reader);
    session_close(&s);
    model_fini(&found);
    model_fini(&all);
    suite_maker.destroy(place);
}

/* ---- one instant ---- */

static void read_all(struct store_reader *reader, const struct model *expected)
{
    struct model found = {0};
    for (uint32_t t = 0; t < TABLE_COUNT; t++)
        CHECK(store_reader_table(reader, (enum table)t, model_visitor(&found)) == OK);
    CHECK(models_eq(&found, expected, 0, TABLE_COUNT));
    model_fini(&found);
}

static struct model copy_model(const struct model *m)
{
    struct model copy = {0};
    for (uint32_t i = 0; i < m->count; i++)
        model_apply(&copy, &(struct change){.record = m->rows[i].record});
    return copy;
}

static void write_randomly(struct prng *r, struct session *s, struct model *m, int batches)
{
    struct draft d = {0};
    for (int i = 0; i < batches; i++) {
        draft_begin(&d);
        some_changes(r, &d, m);
        draft_write(&d, s, m);
    }
    draft_fini(&d);
}

TEST(a_reader_sees_one_instant_while_others_write)
{
    struct prng r;
    prng_init(&r, 5);
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct model m = {0};
    write_randomly(&r, &s, &m, 20);
    struct store_reader *early = open_reader(place), *late = open_reader(place);
    struct store_mark mark;
    CHECK(store_reader_begin(early, &mark) == OK);
    CHECK(mark.turn == 20 && mark.epoch == 1 && digest_eq(mark.digest, s.mark.digest));
    struct model then = copy_model(&m);
    write_randomly(&r, &s, &m, 20);
    CHECK(store_reader_begin(late, &mark) == OK && mark.turn == 40);
    read_all(late, &m);
    read_all(early, &then);
    read_all(early, &then); /* and again */
    store_reader_end(early);
    store_reader_end(late);
    write_randomly(&r, &s, &m, 5);
    CHECK(store_reader_begin(early, &mark) == OK && mark.turn == 45);
    read_all(early, &m);
    store_reader_end(early);
    store_reader_close(early);
    store_reader_close(late);
    session_close(&s);
    model_fini(&then);
    model_fini(&m);
    suite_maker.destroy(place);
}

TEST(a_reader_never_disturbs_the_writer)
{
    struct prng r;
    prng_init(&r, 6);
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct model m = {0};
    struct store_reader *reader = open_reader(place);
    struct store_mark mark;
    for (int i = 0; i < 10; i++) {
        CHECK(store_reader_begin(reader, &mark) == OK);
        write_randomly(&r, &s, &m, 3);
        CHECK(session_lead(&s, s.mark.epoch, &s.mark) == OK);
        store_reader_end(reader);
    }
    check_load(&s, &m);
    session_close(&s); /* while a reader is open */
    CHECK(store_reader_begin(reader, &mark) == OK && mark.turn == 30);
    read_all(reader, &m);
    store_reader_end(reader);
    store_reader_close(reader);
    model_fini(&m);
    suite_maker.destroy(place);
}

TEST(a_store_that_was_written_verifies)
{
    struct prng r;
    prng_init(&r, 7);
    void *place = suite_maker.make();
    struct session s = session_open(place);
    struct model m = {0};
    struct store_why why = {""};
    for (int i = 0; i < 3; i++) {
        write_randomly(&r, &s, &m, 30);
        struct store_reader *reader = open_reader(place);
        CHECK(store_reader_verify(reader, &why) == OK && why.text[0] == '\0');
        store_reader_close(reader);
    }
    session_close(&s);
    model_fini(&m);
    suite_maker.destroy(place);
}

/* A reader changes nothing, not even by being the first to look. */
TEST(a_store_that_was_never_written_has_nothing_to_read)
{
    void *place = suite_maker.make();
    struct store_reader *reader;
    struct store_why why = {""};
    CHECK(store_reader_open(place, &reader, &why) != OK);
    CHECK(why.text[0] != '\0');
    struct session s = session_open(place);
    CHECK(s.mark.epoch == 1 && s.mark.turn == 0);
    session_close(&s);
    reader = open_reader(place);
    struct store_mark mark;
    CHECK(store_reader_begin(reader, &mark) == OK && mark.turn == 0 && !mark.has_digest);
    read_all(reader, &(struct model){0});
    store_reader_end(reader);
    store_reader_close(reader);
    suite_maker.destroy(place);
}
