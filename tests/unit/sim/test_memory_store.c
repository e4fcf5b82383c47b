/* Goal: the simulated store keeps a batch completely or not at all, fails exactly as configured,
 * and returns its rows in order.
 * Method: one test for each fault; then random batches, compared with a naive table of records. */
#include "base/prng.h"
#include "sim/store/log_store.h"
#include "sim/store/memory_store.h"
#include "tests/check.h"

#include <string.h>

struct world {
    struct arena arena;
    struct memory_store *store;
    struct memory_session session;
    struct store_port port;
    struct store_mark mark;
};

static void world_init(struct world *w)
{
    *w = (struct world){.store = memory_store_new()};
    memory_session_init(&w->session, w->store);
    w->port = memory_session_port(&w->session);
    CHECK(w->port.lead(w->port.self, 0, &w->mark) == OK);
}

static void world_fini(struct world *w)
{
    memory_session_crash(&w->session, false);
    memory_store_free(w->store);
    arena_fini(&w->arena);
}

static struct batch batch_of(struct world *w, const struct change *changes, uint32_t count)
{
    struct buf bytes = buf_in(&w->arena);
    for (uint32_t i = 0; i < count; i++)
        batch_put(&bytes, &changes[i]);
    return (struct batch){.epoch = w->mark.epoch,
                          .turn = w->mark.turn + 1,
                          .now_ms = 1000 * (w->mark.turn + 1),
                          .rows = count,
                          .changes = buf_str(&bytes)};
}

static struct batch node_batch(struct world *w, int64_t id)
{
    struct change change = {.record = {.table = TABLE_NODE, .node = {.id = id, .turn = id}}};
    return batch_of(w, &change, 1);
}

/* Submit and poll until there is a result. */
static err write(struct world *w, const struct batch *batch)
{
    bool busy = true;
    err e = w->port.submit(w->port.self, batch);
    while (e == OK && busy)
        e = w->port.poll(w->port.self, &busy);
    if (e == OK)
        w->mark.turn = batch->turn;
    return e;
}

TEST(an_accepted_batch_is_stored)
{
    struct world w;
    world_init(&w);
    CHECK(w.mark.epoch == 1 && w.mark.turn == 0);
    struct batch batch = node_batch(&w, 5);
    CHECK(write(&w, &batch) == OK);
    struct store_mark mark = memory_store_mark(w.store);
    CHECK(mark.turn == 1 && mark.now_ms == 1000 && mark.epoch == 1);
    CHECK(memory_store_count(w.store, TABLE_NODE) == 1);
    memory_session_crash(&w.session, false);
    CHECK(memory_store_count(w.store, TABLE_NODE) == 1);
    world_fini(&w);
}

TEST(a_late_batch_is_busy_first)
{
    struct world w;
    world_init(&w);
    struct batch batch = node_batch(&w, 5);
    w.session.faults.late = 2;
    CHECK(w.port.submit(w.port.self, &batch) == OK);
    bool busy = false;
    for (int i = 0; i < 2; i++) {
        CHECK(w.port.poll(w.port.self, &busy) == OK && busy);
        CHECK(memory_store_mark(w.store).turn == 0);
    }
    CHECK(w.port.poll(w.port.self, &busy) == OK && !busy);
    CHECK(memory_store_mark(w.store).turn == 1);
    world_fini(&w);
}

TEST(each_fault_happens_once)
{
    static const struct {
        enum memory_fate fate;
        err error, answer;
        bool in;
    } fates[] = {
        {MEMORY_REFUSED, ERR_NO_SPACE, ERR_NO_SPACE, false},
        {MEMORY_REFUSED, OK, ERR_IO, false},
        {MEMORY_REFUSED_LATE, ERR_UNAVAILABLE, ERR_UNAVAILABLE, false},
        {MEMORY_UNANSWERED_IN, OK, ERR_UNKNOWN, true},
        {MEMORY_UNANSWERED_OUT, OK, ERR_UNKNOWN, false},
    };
    for (size_t i = 0; i < sizeof fates / sizeof fates[0]; i++) {
        struct world w;
        world_init(&w);
        w.session.faults.fate = fates[i].fate;
        w.session.faults.error = fates[i].error;
        struct batch batch = node_batch(&w, 5);
        CHECK(write(&w, &batch) == fates[i].answer);
        CHECK(memory_store_count(w.store, TABLE_NODE) == (fates[i].in ? 1 : 0));
        CHECK(w.port.lead(w.port.self, w.mark.epoch, &w.mark) == OK);
        CHECK(w.mark.turn == (fates[i].in ? 1 : 0) && w.mark.epoch == 2);
        batch = node_batch(&w, 6);
        CHECK(write(&w, &batch) == OK);
        world_fini(&w);
    }
}

TEST(an_unacknowledged_tail_is_kept_or_lost_at_a_crash)
{
    for (int keep = 0; keep < 2; keep++) {
        struct world w;
        world_init(&w);
        struct batch batch = node_batch(&w, 5);
        CHECK(w.port.submit(w.port.self, &batch) == OK);
        memory_session_crash(&w.session, keep);
        CHECK(memory_store_mark(w.store).turn == keep);
        CHECK(memory_store_count(w.store, TABLE_NODE) == (uint32_t)keep);
        world_fini(&w);
    }
}

TEST(a_fenced_session_writes_nothing)
{
    struct world w;
    world_init(&w);
    struct memory_session second;
    memory_session_init(&second, w.store);
    struct store_port port = memory_session_port(&second);
    struct store_mark mark;

    struct batch batch = node_batch(&w, 5);
    CHECK(w.port.submit(w.port.self, &batch) == OK);
    CHECK(port.lead(port.self, 0, &mark) == OK && mark.epoch == 2);
    bool busy = true;
    CHECK(w.port.poll(w.port.self, &busy) == ERR_FENCED && !busy);
    CHECK(memory_store_count(w.store, TABLE_NODE) == 0);
    CHECK(w.port.lead(w.port.self, 1, &w.mark) == ERR_FENCED);

    /* The second session is fenced as well; a crash does not store its unacknowledged batch. */
    batch.epoch = 2;
    CHECK(port.submit(port.self, &batch) == OK);
    memory_store_usurp(w.store);
    memory_session_crash(&second, true);
    CHECK(memory_store_mark(w.store).turn == 0 && memory_store_mark(w.store).epoch == 3);
    world_fini(&w);
}

TEST(a_batch_for_another_turn_is_fenced)
{
    struct world w;
    world_init(&w);
    struct batch batch = node_batch(&w, 5);
    CHECK(write(&w, &batch) == OK);
    CHECK(write(&w, &batch) == ERR_FENCED);
    batch.turn = 3;
    CHECK(write(&w, &batch) == ERR_FENCED);
    CHECK(memory_store_mark(w.store).turn == 1);
    world_fini(&w);
}

static err count_record(void *self, const struct record *record)
{
    (void)record;
    ++*(uint32_t *)self;
    return OK;
}

static err stop_at_three(void *self, const struct record *record)
{
    (void)record;
    return ++*(uint32_t *)self == 3 ? ERR_CORRUPT : OK;
}

TEST(lead_and_load_fail_as_configured)
{
    struct world w;
    world_init(&w);
    for (int64_t id = 1; id <= 5; id++) {
        struct batch batch = node_batch(&w, id);
        CHECK(write(&w, &batch) == OK);
    }
    w.session.faults.lead_fails = 1;
    CHECK(w.port.lead(w.port.self, w.mark.epoch, &w.mark) == ERR_UNAVAILABLE);
    CHECK(w.port.lead(w.port.self, w.mark.epoch, &w.mark) == OK && w.mark.epoch == 2);

    uint32_t seen = 0;
    struct record_callback callback = {&seen, count_record};
    w.session.faults.load_fails = 2;
    w.session.faults.load_reaches = 3;
    CHECK(w.port.load(w.port.self, callback) == ERR_IO && seen == 3);
    w.session.faults.load_reaches = 99;
    CHECK(w.port.load(w.port.self, callback) == ERR_IO && seen == 8);
    CHECK(w.port.load(w.port.self, callback) == OK && seen == 13);
    seen = 0;
    CHECK(w.port.load(w.port.self, (struct record_callback){&seen, stop_at_three}) == ERR_CORRUPT);
    CHECK(seen == 3);
    world_fini(&w);
}

/* What a copy says about the node and the noderole of the test below. */
struct copied {
    struct node_record node;
    struct noderole_record noderole;
};

static err copy_record(void *self, const struct record *record)
{
    struct copied *copied = self;
    if (record->table == TABLE_NODE)
        copied->node = record->node;
    if (record->table == TABLE_NODEROLE)
        copied->noderole = record->noderole;
    return OK;
}

/* A backup is the store as it was; a restored or imported store knows no grant. */
TEST(a_copy_does_not_change_with_the_store)
{
    static const enum grant_void voids[] = {GRANT_VOID_NONE, GRANT_VOID_RESTORED,
                                            GRANT_VOID_IMPORTED};
    for (uint32_t i = 0; i < 3; i++) {
        struct world w;
        struct copied copied = {0};
        world_init(&w);
        const struct change changes[] = {
            {.record = {.table = TABLE_NODE, .node = {.id = 5, .turn = 1, .grant_noderole = 6}}},
            {.record = {.table = TABLE_NODEROLE,
                        .noderole = {.id = 6,
                                     .turn = 1,
                                     .state = NODEROLE_ACTIVE,
                                     .boot_cursor = BOOT_CURSOR_END}}}};
        const struct batch batch = batch_of(&w, changes, 2);
        CHECK(write(&w, &batch) == OK);
        struct memory_store *copy = memory_store_copy(w.store, voids[i]);
        const struct batch later = node_batch(&w, 7);
        CHECK(write(&w, &later) == OK);

        const struct store_mark mark = memory_store_mark(copy);
        CHECK(memory_store_count(copy, TABLE_NODE) == 1 && mark.turn == 1);
        CHECK(i ? mark.epoch > memory_store_mark(w.store).epoch : mark.epoch == 1);
        CHECK(memory_store_load(copy, (struct record_callback){&copied, copy_record}) == OK);
        CHECK(copied.node.grant_void == (uint32_t)voids[i]);
        CHECK(copied.noderole.grant_barred == (uint32_t)voids[i]);
        CHECK(copied.noderole.boot_cursor == (i ? 0 : BOOT_CURSOR_END));
        memory_store_free(copy);
        world_fini(&w);
    }
}

TEST(archives_are_found_by_deployment_and_snapshot)
{
    struct world w;
    world_init(&w);
    struct change changes[] = {
        {.record = {.table = TABLE_OLD_MEMBER, .old_member = {1, 11, 2, 3, .from_seq = 2, 4}}},
        {.record = {.table = TABLE_OLD_MEMBER, .old_member = {1, 12, 2, 3, .from_seq = 4, 5}}},
        {.record = {.table = TABLE_OLD_MEMBER, .old_member = {2, 13, 2, 3, .from_seq = 1, 9}}},
        {.record = {.table = TABLE_OLD_DATA, .old_data = {1, 2, 0, 1, 4, STR("{\"a\":1}")}}},
    };
    struct batch batch = batch_of(&w, changes, 4);
    CHECK(write(&w, &batch) == OK);
    uint32_t count;
    struct record *old = memory_store_old(w.store, 1, 3, &w.arena, &count);
    CHECK(count == 2);
    CHECK(old[0].table == TABLE_OLD_MEMBER && old[0].old_member.noderole_id == 11);
    CHECK(old[1].table == TABLE_OLD_DATA && str_eq(old[1].old_data.data, STR("{\"a\":1}")));
    memory_store_old(w.store, 1, 1, &w.arena, &count);
    CHECK(count == 1);
    memory_store_old(w.store, 1, 5, &w.arena, &count);
    CHECK(count == 0);
    uint32_t seen = 0; /* archives are not loaded */
    CHECK(memory_store_load(w.store, (struct record_callback){&seen, count_record}) == OK);
    CHECK(seen == 0);
    world_fini(&w);
}

/* ---- comparison with a naive table ---- */

enum { NAIVE_IDS = 40, NAIVE_TABLES = 3 };
static const enum table naive_tables[NAIVE_TABLES] = {TABLE_ROLE, TABLE_NODE, TABLE_EDGE};

struct naive {
    int64_t value[NAIVE_TABLES][NAIVE_IDS]; /* 0 = no such row */
};

static struct record naive_record(int t, int64_t id, int64_t value)
{
    struct record r = {.table = naive_tables[t]};
    if (r.table == TABLE_EDGE)
        r.edge = (struct edge_record){.parent_id = id / 7 + 1, .child_id = id % 7 + 1};
    else if (r.table == TABLE_NODE)
        r.node = (struct node_record){.id = id + 1, .turn = value};
    else
        r.role = (struct role_record){.id = id + 1, .turn = value};
    return r;
}

struct comparison {
    const struct naive *naive;
    int t;
    int64_t id;
    bool same;
};

static err compare_record(void *self, const struct record *record)
{
    struct comparison *c = self;
    while (c->t < NAIVE_TABLES && c->naive->value[c->t][c->id] == 0)
        if (++c->id == NAIVE_IDS) {
            c->id = 0;
            c->t++;
        }
    if (c->t == NAIVE_TABLES) {
        c->same = false;
        return OK;
    }
    struct record expected = naive_record(c->t, c->id, c->naive->value[c->t][c->id]);
    const struct layout *layout = record_layout(expected.table);
    c->same &= expected.table == record->table && fields_eq(layout, &expected.id, &record->id);
    if (++c->id == NAIVE_IDS) {
        c->id = 0;
        c->t++;
    }
    return OK;
}

static bool same_rows(const struct world *w, const struct naive *naive)
{
    struct comparison c = {.naive = naive, .same = true};
    CHECK(memory_store_load(w->store, (struct record_callback){&c, compare_record}) == OK);
    for (; c.t < NAIVE_TABLES; c.t++, c.id = 0)
        for (; c.id < NAIVE_IDS; c.id++)
            c.same &= naive->value[c.t][c.id] == 0;
    return c.same;
}

TEST(random_batches_match_a_naive_table)
{
    struct prng r;
    prng_init(&r, 11);
    struct world w;
    world_init(&w);
    struct naive naive;
    memset(&naive, 0, sizeof naive);
    for (int turn = 1; turn < 3000; turn++) {
        arena_reset(&w.arena);
        struct naive after = naive;
        struct change changes[NAIVE_TABLES * NAIVE_IDS];
        uint32_t count = 0;
        for (int t = 0; t < NAIVE_TABLES; t++)
            for (int id = 0; id < NAIVE_IDS; id++) {
                if (!prng_chance(&r, 50))
                    continue;
                bool gone = after.value[t][id] && prng_chance(&r, 500);
                after.value[t][id] = gone ? 0 : turn;
                changes[count++] =
                    (struct change){.gone = gone, .record = naive_record(t, id, turn)};
            }
        w.session.faults.fate = (enum memory_fate)prng_below(&r, MEMORY_FATE_COUNT);
        w.session.faults.late = (uint32_t)prng_below(&r, 3);
        struct batch batch = batch_of(&w, changes, count);
        int64_t before = w.mark.turn;
        err e = write(&w, &batch);
        if (e != OK)
            CHECK(w.port.lead(w.port.self, w.mark.epoch, &w.mark) == OK);
        if (w.mark.turn != before)
            naive = after;
        CHECK(same_rows(&w, &naive));
    }
    CHECK(w.mark.turn > 500 && w.mark.epoch > 500);
    world_fini(&w);
}

TEST(a_log_store_accepts_every_batch_at_once)
{
    struct log_store log;
    log_store_init(&log);
    struct store_port port = log_store_port(&log);
    struct arena a = {0};
    struct store_mark mark;
    CHECK(port.lead(port.self, 0, &mark) == OK && mark.turn == 0);
    uint32_t seen = 0;
    CHECK(port.load(port.self, (struct record_callback){&seen, count_record}) == OK && seen == 0);
    struct buf bytes = buf_in(&a);
    struct change change = {.record = {.table = TABLE_NODE, .node = {.id = 1}}};
    batch_put(&bytes, &change);
    for (int64_t turn = 1; turn <= 3000; turn++) {
        struct batch batch = {
            .epoch = mark.epoch, .turn = turn, .rows = 1, .changes = buf_str(&bytes)};
        bool busy = true;
        CHECK(port.submit(port.self, &batch) == OK);
        CHECK(port.poll(port.self, &busy) == OK && !busy);
        if (turn == 3000) {
            CHECK(port.submit(port.self, &batch) == ERR_FENCED);
            batch.turn++;
            batch.epoch++;
            CHECK(port.submit(port.self, &batch) == ERR_FENCED);
        }
    }
    CHECK(log.size == (size_t)3000 * bytes.len && log.rows == 3000 && log.batches == 3000);
    CHECK(log_store_size(&log) % 4096 == 0 && log_store_size(&log) >= log.size);
    CHECK(memcmp(log.log + bytes.len, bytes.at, bytes.len) == 0);
    log_store_fini(&log);
    arena_fini(&a);
}
