/* Goal: the oracle reports each way in which a core could write a wrong run history.
 * Method: batches made by hand, right ones and wrong ones. */
#include "base/hash/hash.h"
#include "model/command.h"
#include "sim/oracle/run_history_oracle.h"
#include "tests/check.h"

#include <string.h>

struct fixture {
    struct arena arena;
    struct memory_store *store;
    struct memory_session session;
    struct store_port port;
    struct store_mark mark;
    struct run_history_oracle book;
    struct change changes[8];
    uint32_t count;
};

static void fixture_init(struct fixture *f)
{
    *f = (struct fixture){.store = memory_store_new()};
    memory_session_init(&f->session, f->store);
    f->port = memory_session_port(&f->session);
    CHECK(f->port.lead(f->port.self, 0, &f->mark) == OK);
}

static void fixture_fini(struct fixture *f)
{
    run_history_oracle_fini(&f->book);
    memory_session_crash(&f->session, false);
    memory_store_free(f->store);
    arena_fini(&f->arena);
}

static void put(struct fixture *f, struct record record)
{
    f->changes[f->count++] = (struct change){.record = record};
}

static void put_run(struct fixture *f, int64_t id, uint32_t state, uint32_t attempt)
{
    put(f,
        (struct record){.table = TABLE_RUN,
                        .run = {.id = id, .noderole_id = 40, .state = state, .attempt = attempt}});
}

static void put_settings(struct fixture *f, uint32_t keep)
{
    put(f, (struct record){.table = TABLE_SETTINGS, .settings = {.id = 1, .keep_runs = keep}});
}

static void put_old(struct fixture *f, int64_t attempt, int64_t started_at)
{
    put(f, (struct record){.table = TABLE_OLD_RUN,
                           .old_run = {.noderole_id = 40,
                                       .attempt = attempt,
                                       .run_id = 1,
                                       .started_at = started_at,
                                       .ended_at = 100}});
}

static void end_run(struct fixture *f, int64_t id)
{
    f->changes[f->count++] =
        (struct change){.gone = true, .record = {.table = TABLE_RUN, .run = {.id = id}}};
}

/* Commit the batch to the store, then pass it to the oracle; "" = no violation. */
static const char *write_batch(struct fixture *f)
{
    struct buf bytes = buf_in(&f->arena);
    for (uint32_t gone = 2; gone-- > 0;)
        for (uint32_t i = 0; i < f->count; i++)
            if (f->changes[i].gone == gone)
                batch_put(&bytes, &f->changes[i]);
    const struct batch batch = {.epoch = f->mark.epoch,
                                .turn = ++f->mark.turn,
                                .rows = f->count,
                                .changes = buf_str(&bytes)};
    bool busy = true;
    CHECK(f->port.submit(f->port.self, &batch) == OK);
    CHECK(f->port.poll(f->port.self, &busy) == OK && !busy);
    f->count = 0;
    const char *said = run_history_oracle_batch(&f->book, &batch, f->store, &f->arena);
    return said ? said : "";
}

static void start_first(struct fixture *f)
{
    fixture_init(f);
    put_settings(f, 2);
    put_run(f, 1, RUN_RUNNING, 1);
    CHECK(strcmp(write_batch(f), "") == 0);
}

TEST(a_start_that_ends_has_its_row)
{
    struct fixture f;
    start_first(&f);
    put_run(&f, 1, RUN_STOPPING, 1); /* still running */
    CHECK(strcmp(write_batch(&f), "") == 0);
    end_run(&f, 1);
    put_old(&f, 1, 50);
    CHECK(strcmp(write_batch(&f), "") == 0);
    CHECK(f.book.ended == 1);
    put_run(&f, 2, RUN_RUNNING, 2);
    CHECK(strcmp(write_batch(&f), "") == 0);
    put_run(&f, 2, RUN_PARKED, 2);
    put_old(&f, 2, 50);
    CHECK(strcmp(write_batch(&f), "") == 0);
    CHECK(f.book.ended == 2);
    end_run(&f, 2); /* parked: no start has ended */
    CHECK(strcmp(write_batch(&f), "") == 0);
    fixture_fini(&f);
}

TEST(an_end_without_a_row_is_reported)
{
    struct fixture f;
    start_first(&f);
    end_run(&f, 1);
    CHECK(strstr(write_batch(&f), "ended without a row"));
    fixture_fini(&f);
    start_first(&f);
    put_run(&f, 1, RUN_QUEUED, 1);
    CHECK(strstr(write_batch(&f), "ended without a row"));
    fixture_fini(&f);
}

TEST(a_row_without_an_end_is_reported)
{
    struct fixture f;
    start_first(&f);
    put_old(&f, 1, 50);
    CHECK(strstr(write_batch(&f), "did not end"));
    fixture_fini(&f);
    start_first(&f);
    end_run(&f, 1);
    put_old(&f, 1, 50);
    put_old(&f, 2, 50);
    CHECK(strstr(write_batch(&f), "did not end"));
    fixture_fini(&f);
}

TEST(rows_out_of_time_or_beyond_the_number_are_reported)
{
    struct fixture f;
    start_first(&f);
    end_run(&f, 1);
    put_old(&f, 1, 101);
    CHECK(strstr(write_batch(&f), "out of order"));
    fixture_fini(&f);
    start_first(&f);
    for (uint32_t attempt = 1; attempt <= 3; attempt++) {
        put_run(&f, 1, RUN_PARKED, attempt);
        put_old(&f, attempt, 50);
        CHECK((strstr(write_batch(&f), "too many") != NULL) == (attempt == 3));
        put_run(&f, 1, RUN_RUNNING, attempt + 1);
        CHECK(strcmp(write_batch(&f), "") == 0);
    }
    fixture_fini(&f);
}

/* A row that a boot server caused: no start, and both times are the same. */
static void put_recorded(struct fixture *f, int64_t attempt, struct str log)
{
    put(f, (struct record){.table = TABLE_OLD_RUN,
                           .old_run = {.noderole_id = 40,
                                       .attempt = attempt,
                                       .run_id = 2,
                                       .started_at = 100,
                                       .ended_at = 100,
                                       .runlog = log}});
}

TEST(a_recorded_change_has_its_row_and_its_text)
{
    const struct str log = STR("1 machine: a.x");
    struct fixture f;
    start_first(&f);
    run_history_oracle_expect(&f.book, 40, 5, hash64(log, 0));
    put_recorded(&f, 5, log);
    CHECK(strcmp(write_batch(&f), "") == 0);
    put_recorded(&f, 6, log); /* of which nothing was known */
    CHECK(strstr(write_batch(&f), "did not end"));
    run_history_oracle_expect(&f.book, 40, 7, hash64(log, 0));
    put_recorded(&f, 7, STR("1 machine: b.x"));
    CHECK(strstr(write_batch(&f), "did not end"));
    run_history_oracle_expect(&f.book, 40, 8, hash64(log, 0));
    CHECK(strstr(write_batch(&f), "was recorded and has no row"));
    run_history_oracle_reload(&f.book, f.store); /* nothing is expected of an earlier core */
    CHECK(strcmp(write_batch(&f), "") == 0);
    fixture_fini(&f);
}

TEST(after_a_restart_the_oracle_continues_from_the_store)
{
    struct fixture f;
    start_first(&f);
    run_history_oracle_reload(&f.book, f.store);
    CHECK(f.book.keep == 2);
    end_run(&f, 1);
    put_old(&f, 1, 50);
    CHECK(strcmp(write_batch(&f), "") == 0 && f.book.ended == 1);
    fixture_fini(&f);
}
