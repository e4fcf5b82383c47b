/* Goal: ended runs are kept as configured: they are returned newest first,
 * the old ones of a noderole go when it says so, and those that are too old go in small steps.
 * Method: batches of runs against the naive model, on every store. */
#include "tests/store/suite.h"

#include <string.h>

#include "model/command.h"
#include "model/limits.h"

static struct record ended_run(int64_t noderole_id, int64_t attempt, int64_t ended_at)
{
    return (struct record){.table = TABLE_OLD_RUN,
                           .old_run = {.noderole_id = noderole_id,
                                       .attempt = attempt,
                                       .run_id = 1000 * noderole_id + attempt,
                                       .node_id = 7,
                                       .role_id = attempt % 3,
                                       .started_at = ended_at - 5,
                                       .ended_at = ended_at,
                                       .result = (uint32_t)(attempt % (RESULT_CANCELLED + 1)),
                                       .runlog = attempt % 2 ? STR("it said \xc3\xa4") : STR("")}};
}

struct fixture {
    void *place;
    struct session s;
    struct draft d;
    struct model m;
};

static void fixture_init(struct fixture *f)
{
    *f = (struct fixture){.place = suite_maker.make()};
    f->s = session_open(f->place);
}

static void fixture_fini(struct fixture *f)
{
    session_close(&f->s);
    model_fini(&f->m);
    draft_fini(&f->d);
    suite_maker.destroy(f->place);
}

static void end_up_to(struct draft *d, int64_t noderole_id, int64_t attempt)
{
    const struct record key = {.table = TABLE_OLD_RUN,
                               .old_run = {.noderole_id = noderole_id, .attempt = attempt}};
    draft_end(d, &key);
}

/* What is found must be what the model has, the other way round. */
struct backwards {
    const struct model *m;
    uint32_t at; /* one behind the next */
    uint32_t seen;
    int64_t noderole_id;
};

static err see(void *self, const struct record *record)
{
    struct backwards *b = self;
    const struct layout *layout = record_layout(TABLE_OLD_RUN);
    do
        CHECK(b->at-- > 0);
    while (b->m->rows[b->at].table != TABLE_OLD_RUN ||
           b->m->rows[b->at].record.old_run.noderole_id != b->noderole_id);
    CHECK(record->table == TABLE_OLD_RUN);
    CHECK(fields_eq(layout, &record->id, &b->m->rows[b->at].record.id));
    b->seen++;
    return OK;
}

static uint32_t count_of(const struct model *m, int64_t noderole_id)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->count; i++)
        count += m->rows[i].table == TABLE_OLD_RUN &&
                 m->rows[i].record.old_run.noderole_id == noderole_id;
    return count;
}

static void check_runs(struct fixture *f, int64_t noderole_id, uint32_t limit)
{
    struct backwards b = {.m = &f->m, .at = f->m.count, .noderole_id = noderole_id};
    const uint32_t all = count_of(&f->m, noderole_id);
    CHECK(suite_maker.runs(f->place, noderole_id, limit, (struct record_callback){&b, see}) == OK);
    CHECK(b.seen == (all < limit ? all : limit));
}

TEST(runs_that_are_over_come_newest_first)
{
    static const uint32_t limits[] = {0, 1, 3, 5, 6, UINT32_MAX};
    struct fixture f;
    fixture_init(&f);
    for (int64_t attempt = 1; attempt <= 5; attempt++) {
        draft_begin(&f.d);
        for (int64_t noderole = 3; noderole > 0; noderole--) {
            const struct record run = ended_run(noderole, attempt * noderole, 100 * attempt);
            draft_put(&f.d, &run);
        }
        draft_write(&f.d, &f.s, &f.m);
    }
    for (int64_t noderole = 0; noderole <= 4; noderole++)
        for (uint32_t i = 0; i < sizeof limits / sizeof *limits; i++)
            check_runs(&f, noderole, limits[i]);
    check_runs(&f, INT64_MAX, 10);
    check_load(&f.s, &f.m); /* none of them is loaded */
    fixture_fini(&f);
}

TEST(the_end_of_a_run_ends_the_older_ones_of_its_noderole)
{
    struct fixture f;
    fixture_init(&f);
    draft_begin(&f.d);
    for (int64_t attempt = 1; attempt <= 9; attempt++)
        for (int64_t noderole = 1; noderole <= 2; noderole++) {
            const struct record run = ended_run(noderole, attempt, attempt);
            draft_put(&f.d, &run);
        }
    draft_write(&f.d, &f.s, &f.m);
    draft_begin(&f.d);
    const struct record next = ended_run(1, 10, 10);
    draft_put(&f.d, &next);
    end_up_to(&f.d, 1, 7);
    end_up_to(&f.d, 1, 6); /* once more, for nothing */
    end_up_to(&f.d, 3, 9); /* there are none */
    end_up_to(&f.d, 2, 0);
    draft_write(&f.d, &f.s, &f.m);
    CHECK(count_of(&f.m, 1) == 3 && count_of(&f.m, 2) == 9);
    check_runs(&f, 1, 100);
    check_runs(&f, 2, 100);
    draft_begin(&f.d);
    end_up_to(&f.d, 1, INT64_MAX);
    draft_write(&f.d, &f.s, &f.m);
    CHECK(count_of(&f.m, 1) == 0);
    check_runs(&f, 1, 100);
    check_runs(&f, 2, 100);
    fixture_fini(&f);
}

TEST(random_ends_of_runs_leave_what_the_model_holds)
{
    struct prng r;
    struct fixture f;
    prng_init(&r, 11);
    fixture_init(&f);
    int64_t attempts[6] = {0};
    for (int i = 0; i < 60; i++) {
        draft_begin(&f.d);
        for (uint64_t n = prng_below(&r, 8); n > 0; n--) {
            const int64_t noderole = (int64_t)prng_below(&r, 6);
            const struct record run = ended_run(noderole, ++attempts[noderole], i);
            draft_put(&f.d, &run);
            if (prng_chance(&r, 400))
                end_up_to(&f.d, (int64_t)prng_below(&r, 7), (int64_t)prng_below(&r, 40));
        }
        draft_write(&f.d, &f.s, &f.m);
        check_runs(&f, (int64_t)prng_below(&r, 7), (uint32_t)prng_below(&r, 20));
    }
    for (int64_t noderole = 0; noderole < 7; noderole++)
        check_runs(&f, noderole, 1000);
    fixture_fini(&f);
}

/* ---- by age ---- */

static void forget_before(struct model *m, int64_t before)
{
    for (uint32_t i = m->count; i-- > 0;)
        if (m->rows[i].table == TABLE_OLD_RUN && m->rows[i].record.old_run.ended_at < before) {
            const struct record run = m->rows[i].record;
            /* Here a run that is older is of a lower attempt too. */
            model_apply(m, &(struct change){.gone = true, .record = run});
            i = m->count;
        }
}

static err sweep(struct fixture *f, int64_t before, int64_t epoch)
{
    draft_begin(&f->d);
    struct batch batch = *draft_batch(&f->d, &f->s);
    batch.runs_before = before;
    batch.epoch = epoch;
    return session_write(&f->s, &batch);
}

TEST(runs_that_ended_before_a_time_are_forgotten)
{
    struct fixture f;
    fixture_init(&f);
    draft_begin(&f.d);
    for (int64_t noderole = 1; noderole <= 3; noderole++)
        for (int64_t attempt = 1; attempt <= 5; attempt++) {
            const struct record run = ended_run(noderole, attempt, 1000 * attempt + noderole);
            draft_put(&f.d, &run);
        }
    draft_write(&f.d, &f.s, &f.m);
    static const int64_t times[] = {0, 1, 1001, 1002, 3002, 5003, 5004};
    for (uint32_t i = 0; i < sizeof times / sizeof *times; i++) {
        CHECK(sweep(&f, times[i], f.s.mark.epoch) == OK);
        forget_before(&f.m, times[i]);
        for (int64_t noderole = 1; noderole <= 3; noderole++)
            check_runs(&f, noderole, 100);
    }
    CHECK(f.m.count == 0);
    fixture_fini(&f);
}

TEST(a_process_that_does_not_lead_deletes_nothing)
{
    struct fixture f;
    fixture_init(&f);
    draft_begin(&f.d);
    const struct record run = ended_run(1, 1, 10);
    draft_put(&f.d, &run);
    draft_write(&f.d, &f.s, &f.m);
    CHECK(sweep(&f, 100, f.s.mark.epoch + 1) == ERR_FENCED);
    check_runs(&f, 1, 10);
    CHECK(session_lead(&f.s, f.s.mark.epoch, &f.s.mark) == OK);
    CHECK(sweep(&f, 100, f.s.mark.epoch) == OK);
    forget_before(&f.m, 100);
    check_runs(&f, 1, 10);
    fixture_fini(&f);
}

static err count_one(void *self, const struct record *record)
{
    (void)record;
    ++*(uint32_t *)self;
    return OK;
}

static uint32_t count_stored(struct fixture *f)
{
    uint32_t count = 0;
    CHECK(suite_maker.runs(f->place, 1, UINT32_MAX, (struct record_callback){&count, count_one}) ==
          OK);
    return count;
}

TEST(a_batch_forgets_so_many_runs_at_most)
{
    enum { MORE = 7 };
    struct fixture f;
    fixture_init(&f);
    draft_begin(&f.d);
    for (uint32_t attempt = 1; attempt <= RUNS_SWEEP_ROWS + MORE; attempt++) {
        const struct record run = ended_run(1, attempt, attempt);
        draft_put(&f.d, &run);
    }
    CHECK(session_write(&f.s, draft_batch(&f.d, &f.s)) == OK);
    CHECK(sweep(&f, INT64_MAX, f.s.mark.epoch) == OK);
    CHECK(count_stored(&f) == MORE);
    CHECK(sweep(&f, INT64_MAX, f.s.mark.epoch) == OK);
    CHECK(count_stored(&f) == 0);
    fixture_fini(&f);
}
