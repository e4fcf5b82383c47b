/* Goal: requests for the history get the stored records or an error, without blocking the loop.
 * Method: a real store in a file, a real loop; replies are counted as they arrive. */
#include "daemon/history_reader.h"
#include "store/store_thread.h"
#include "sys/log.h"
#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct reply {
    uint32_t count;
    int64_t number;
    uint32_t runs; /* count of records in the last reply */
    enum table table;
    int64_t first_key;
    int64_t first_attempt;
    char log[32];
    err why;
};

struct fixture {
    char folder[64];
    char url[96];
    uv_loop_t loop;
    struct history *history;
    struct reply reply;
    struct store *store;
    struct store_mark mark;
};

static void on_history(void *self, int64_t number, const struct record *runs, uint32_t count,
                       err why)
{
    struct reply *h = &((struct fixture *)self)->reply;
    h->count++;
    h->number = number;
    h->runs = count;
    h->why = why;
    h->table = count ? runs[0].table : TABLE_COUNT;
    h->first_key = count ? runs[0].id : 0;
    h->first_attempt = count ? runs[0].old_run.attempt : 0;
    if (count && runs[0].table == TABLE_OLD_RUN)
        snprintf(h->log, sizeof h->log, "%.*s", STR_FMT_ARGS(runs[0].old_run.runlog));
}

static void fixture_init(struct fixture *f)
{
    *f = (struct fixture){.folder = "/tmp/halligan-history-XXXXXX"};
    CHECK(mkdtemp(f->folder) != NULL && uv_loop_init(&f->loop) == 0);
    snprintf(f->url, sizeof f->url, "sqlite:%s/store.db", f->folder);
    f->history = history_new(&f->loop, f->url, (struct history_callbacks){f, on_history});
    CHECK(f->history != NULL);
}

static void open_store(struct fixture *f)
{
    struct store_why why;
    const struct store_options options = {.url = f->url, .holder = "test"};
    CHECK(store_open(&options, &f->store, &why) == OK);
    const struct store_port port = store_port(f->store);
    CHECK(port.lead(port.self, 0, &f->mark) == OK);
}

static void write_record(struct fixture *f, struct record record)
{
    struct arena arena = {0};
    struct buf bytes = buf_in(&arena);
    batch_put(&bytes, &(struct change){.record = record});
    const struct batch batch = {
        .epoch = f->mark.epoch, .turn = ++f->mark.turn, .rows = 1, .changes = buf_str(&bytes)};
    const struct store_port port = store_port(f->store);
    bool busy = true;
    err e = port.submit(port.self, &batch);
    while (e == OK && busy)
        e = port.poll(port.self, &busy);
    CHECK(e == OK);
    arena_fini(&arena);
}

static void write_run(struct fixture *f, int64_t attempt)
{
    write_record(
        f, (struct record){
               .table = TABLE_OLD_RUN,
               .old_run = {.noderole_id = 5, .attempt = attempt, .runlog = STR("what it said")}});
}

static void run_until(struct fixture *f, uint32_t count)
{
    while (f->reply.count < count)
        CHECK(uv_run(&f->loop, UV_RUN_ONCE) >= 0);
}

static void fixture_fini(struct fixture *f)
{
    char command[128];
    history_free(f->history);
    CHECK(uv_run(&f->loop, UV_RUN_DEFAULT) == 0 && uv_loop_close(&f->loop) == 0);
    store_close(f->store);
    snprintf(command, sizeof command, "rm -r %s", f->folder);
    CHECK(system(command) == 0);
}

TEST(stored_runs_are_returned)
{
    struct fixture f;
    fixture_init(&f);
    open_store(&f);
    for (int64_t attempt = 1; attempt <= 4; attempt++)
        write_run(&f, attempt);
    CHECK(history_runs(f.history, 5, 3, 77) == OK);
    CHECK(f.reply.count == 0); /* not during the call */
    run_until(&f, 1);
    CHECK(f.reply.why == OK && f.reply.number == 77 && f.reply.runs == 3);
    CHECK(f.reply.first_attempt == 4 && strcmp(f.reply.log, "what it said") == 0);
    write_run(&f, 5); /* the same connection reads later rows */
    CHECK(history_runs(f.history, 5, 100, 78) == OK);
    run_until(&f, 2);
    CHECK(f.reply.number == 78 && f.reply.runs == 5 && f.reply.first_attempt == 5);
    CHECK(history_runs(f.history, 6, 100, 79) == OK);
    run_until(&f, 3);
    CHECK(f.reply.why == OK && f.reply.number == 79 && f.reply.runs == 0);
    fixture_fini(&f);
}

TEST(intervals_and_events_are_returned)
{
    struct fixture f;
    fixture_init(&f);
    open_store(&f);
    for (int64_t i = 1; i <= 40; i++) {
        write_record(&f, (struct record){.table = TABLE_OLD_MEMBER,
                                         .old_member = {.deployment_id = 7,
                                                        .noderole_id = i,
                                                        .role_id = 1,
                                                        .node_id = i,
                                                        .from_seq = 1,
                                                        .to_seq = i > 30 ? 2 : 3}});
        write_record(&f, (struct record){.table = TABLE_EVENT,
                                         .event = {.turn = i,
                                                   .n = 0,
                                                   .actor = STR("user x"),
                                                   .verb = STR("node_create"),
                                                   .changes = STR("{}")}});
    }
    struct interval_page page = {7, 2, TABLE_OLD_MEMBER, {0, -1}, 100};
    CHECK(history_intervals(f.history, &page, 1) == OK);
    run_until(&f, 1);
    CHECK(f.reply.why == OK && f.reply.runs == 30 && f.reply.table == TABLE_OLD_MEMBER);
    page.deployment_id = 8;
    CHECK(history_intervals(f.history, &page, 2) == OK);
    run_until(&f, 2);
    CHECK(f.reply.why == OK && f.reply.runs == 0);
    CHECK(history_events(f.history, (struct history_cursor){5, 0, false}, 10, 3) == OK);
    run_until(&f, 3);
    CHECK(f.reply.why == OK && f.reply.runs == 10 && f.reply.table == TABLE_EVENT);
    CHECK(f.reply.first_key == 6); /* the turn */
    CHECK(history_events(f.history, (struct history_cursor){0, -1, false}, 1000, 4) == OK);
    run_until(&f, 4);
    CHECK(f.reply.runs == 40 && f.reply.first_key == 1);
    fixture_fini(&f);
}

TEST(a_missing_store_is_an_error_and_found_later)
{
    struct fixture f;
    log_setup(LOG_ERROR, LOG_TEXT);
    fixture_init(&f);
    CHECK(history_runs(f.history, 5, 3, 1) == OK);
    run_until(&f, 1);
    CHECK(f.reply.why == ERR_UNAVAILABLE && f.reply.runs == 0);
    open_store(&f);
    write_run(&f, 1);
    CHECK(history_runs(f.history, 5, 3, 2) == OK);
    run_until(&f, 2);
    CHECK(f.reply.why == OK && f.reply.runs == 1);
    fixture_fini(&f);
}

TEST(too_many_requests_are_refused)
{
    struct fixture f;
    fixture_init(&f);
    open_store(&f);
    for (uint32_t i = 0; i < HISTORY_WAITING_MAX; i++)
        CHECK(history_runs(f.history, 5, 1, i) == OK);
    CHECK(history_runs(f.history, 5, 1, 1000) == ERR_LIMIT);
    run_until(&f, HISTORY_WAITING_MAX);
    CHECK(f.reply.number == HISTORY_WAITING_MAX - 1); /* in order */
    CHECK(history_runs(f.history, 5, 1, 1001) == OK);
    run_until(&f, HISTORY_WAITING_MAX + 1);
    fixture_fini(&f);
}

TEST(pending_requests_are_dropped_when_the_reader_is_freed)
{
    struct fixture f;
    fixture_init(&f);
    open_store(&f);
    for (int64_t i = 0; i < 20; i++)
        CHECK(history_runs(f.history, 5, 1, i) == OK);
    fixture_fini(&f); /* without a leak */
}

/* Documents of 512 KiB: a page of 100 would have 50 MiB. */
TEST(a_page_of_intervals_ends_early_when_its_records_are_large)
{
    enum { DOCUMENTS = 40, DOCUMENT = 512 << 10 };
    struct fixture f;
    static char text[DOCUMENT];
    fixture_init(&f);
    open_store(&f);
    memset(text, 'x', sizeof text);
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + sizeof text - 2, "\"}", 2);
    for (int64_t node = 1; node <= DOCUMENTS; node++)
        write_record(&f, (struct record){.table = TABLE_OLD_DATA,
                                         .old_data = {.deployment_id = 7,
                                                      .role_id = 1,
                                                      .node_id = node,
                                                      .from_seq = 1,
                                                      .to_seq = 3,
                                                      .data = {text, sizeof text}}});
    struct interval_page page = {7, 2, TABLE_OLD_DATA, {0, -1}, 100};
    uint32_t seen = 0, pages = 0;
    do {
        CHECK(history_intervals(f.history, &page, pages) == OK);
        run_until(&f, ++pages);
        CHECK(f.reply.why == OK && f.reply.runs <= HISTORY_BYTES_MAX / DOCUMENT + 1);
        seen += f.reply.runs;
        page.after[0] = 1;
        page.after[1] = seen; /* the nodes are 1, 2, ... */
    } while (f.reply.runs);
    CHECK(seen == DOCUMENTS && pages >= 4);
    CHECK(history_runs(f.history, 5, 3, 1) == OK); /* the connection is the same */
    run_until(&f, pages + 1);
    CHECK(f.reply.why == OK);
    fixture_fini(&f);
}
