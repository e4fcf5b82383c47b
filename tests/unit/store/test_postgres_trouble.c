/* Goal: whatever happens to a connection or to the leadership, a batch is stored completely or
 * not at all, and the engine reports which, or that it is unknown.
 * Method: a real server; an admin connection takes over, locks rows, ends server processes and
 * makes triggers fail during batches and commits. */
#include "tests/unit/store/postgres_fixture.h"

#include <pthread.h>

/* ---- leadership ---- */

TEST(each_lead_raises_the_epoch)
{
    struct database d;
    database_lead(&d);
    CHECK(d.mark.epoch == 1 && d.mark.turn == 0 && !d.mark.has_digest);
    CHECK(write_node(&d, 1) == OK);
    CHECK(d.writer->ops->lead(d.writer, 1, &d.mark) == OK);
    CHECK(d.mark.epoch == 2 && d.mark.turn == 1 && d.mark.now_ms == 1000 && d.mark.has_digest);
    CHECK(d.writer->ops->lead(d.writer, 0, &d.mark) == OK && d.mark.epoch == 3);
    CHECK(strcmp(admin_ask(&d, "SELECT holder FROM leadership"), "test 1") == 0);
    CHECK(strlen(admin_ask(&d, "SELECT claim FROM leadership")) == 32);
    database_fini(&d);
}

TEST(a_former_leader_is_fenced_and_changes_nothing)
{
    struct database d;
    database_lead(&d);
    admin_ask(&d, "UPDATE leadership SET epoch = epoch + 1, holder = 'thief', claim = 'x'");
    CHECK(write_node(&d, 1) == ERR_FENCED);
    CHECK(admin_count(&d, "SELECT count(*) FROM node") == 0);
    CHECK(admin_count(&d, "SELECT turn FROM leadership") == 0);
    struct store_mark mark = {.epoch = -1};
    CHECK(d.writer->ops->lead(d.writer, d.mark.epoch, &mark) == ERR_FENCED && mark.epoch == -1);
    CHECK(strstr(d.writer->why.text, "thief"));
    CHECK(admin_count(&d, "SELECT epoch FROM leadership") == 2);
    database_fini(&d);
}

TEST(a_batch_for_another_turn_is_fenced)
{
    struct database d;
    database_lead(&d);
    CHECK(write_node(&d, 1) == OK);
    d.mark.turn = 0;
    CHECK(write_node(&d, 2) == ERR_FENCED);
    d.mark.turn = 2;
    CHECK(write_node(&d, 2) == ERR_FENCED);
    d.mark.turn = 1;
    CHECK(write_node(&d, 2) == OK);
    database_fini(&d);
}

/* The response to raising the epoch was lost: the epoch is one higher, with the claim of this
 * process. */
TEST(an_epoch_raised_by_this_process_is_recognised)
{
    struct database d;
    database_lead(&d);
    admin_ask(&d, "UPDATE leadership SET epoch = epoch + 1");
    CHECK(d.writer->ops->lead(d.writer, 1, &d.mark) == OK && d.mark.epoch == 2);
    CHECK(admin_count(&d, "SELECT epoch FROM leadership") == 2);
    CHECK(write_node(&d, 1) == OK);
    admin_ask(&d, "UPDATE leadership SET epoch = epoch + 2");
    CHECK(d.writer->ops->lead(d.writer, 2, &d.mark) == ERR_FENCED);
    admin_ask(&d, "UPDATE leadership SET epoch = 3, claim = repeat('0', 32)");
    CHECK(d.writer->ops->lead(d.writer, 2, &d.mark) == ERR_FENCED);
    database_fini(&d);
}

/* ---- failures during a batch ---- */

TEST(a_failed_batch_is_rolled_back_and_the_next_is_stored)
{
    struct database d;
    struct change changes[3] = {
        {.record = {.table = TABLE_NODE, .node = {.id = 1}}},
        {.record = {.table = TABLE_EDGE, .edge = {1, 2}}},
        {.record = {.table = TABLE_EVENT, .event = {.turn = 1, .n = 0}}},
    };
    database_lead(&d);
    CHECK(write_changes(&d, &changes[2], 1) == OK);
    CHECK(write_changes(&d, changes, 3) == ERR_IO && strstr(d.writer->why.text, "event"));
    CHECK(admin_count(&d, "SELECT count(*) FROM node") == 0);
    CHECK(admin_count(&d, "SELECT count(*) FROM edge") == 0);
    CHECK(admin_count(&d, "SELECT turn FROM leadership") == 1);
    CHECK(write_changes(&d, changes, 2) == OK);
    CHECK(admin_count(&d, "SELECT count(*) FROM node") == 1);
    database_fini(&d);
}

static void set_trap(struct database *d, const char *when, const char *body)
{
    char sql[600];
    snprintf(sql, sizeof sql,
             "CREATE OR REPLACE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN %s; "
             "RETURN NEW; END $$; DROP TRIGGER IF EXISTS trap ON node; "
             "CREATE CONSTRAINT TRIGGER trap AFTER INSERT ON node %s FOR EACH ROW "
             "EXECUTE FUNCTION trap()",
             body, when);
    admin_ask(d, sql);
}

static const char at_commit[] = "DEFERRABLE INITIALLY DEFERRED";

TEST(the_sqlstate_determines_the_error)
{
    static const struct {
        const char *state;
        err means;
    } cases[] = {
        {"53100", ERR_NO_SPACE},    {"53200", ERR_UNAVAILABLE}, {"57P01", ERR_UNAVAILABLE},
        {"57014", ERR_UNAVAILABLE}, {"08006", ERR_UNAVAILABLE}, {"55P03", ERR_UNAVAILABLE},
        {"40001", ERR_UNAVAILABLE}, {"XX001", ERR_CORRUPT},     {"XX002", ERR_CORRUPT},
        {"XX000", ERR_IO},          {"58030", ERR_IO},          {"23514", ERR_IO},
    };
    struct database d;
    database_lead(&d);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[100];
        snprintf(body, sizeof body, "RAISE EXCEPTION 'a trap' USING ERRCODE = '%s'",
                 cases[i].state);
        set_trap(&d, "", body);
        CHECK(write_node(&d, 1) == cases[i].means);
        CHECK(strstr(d.writer->why.text, "a trap") && strstr(d.writer->why.text, cases[i].state));
        set_trap(&d, at_commit, body); /* a refused commit is certainly not stored */
        CHECK(write_node(&d, 1) == cases[i].means);
    }
    CHECK(admin_count(&d, "SELECT count(*) FROM node") == 0);
    admin_ask(&d, "DROP TRIGGER trap ON node");
    CHECK(write_node(&d, 1) == OK);
    database_fini(&d);
}

/* ---- lost connections ---- */

static const char end_writer[] =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE application_name = 'halligan test 1' AND datname = current_database()";
static const char writer_is_gone[] =
    "SELECT count(*) = 0 FROM pg_stat_activity "
    "WHERE application_name = 'halligan test 1' AND datname = current_database()";
static const char writer_waits[] =
    "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'halligan test 1' "
    "AND datname = current_database() AND wait_event_type = 'Lock'";
static const char locks_held[] =
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = "
    "(SELECT oid FROM pg_database WHERE datname = current_database())";

TEST(lead_replaces_a_connection_lost_between_batches)
{
    struct database d;
    database_lead(&d);
    CHECK(write_node(&d, 1) == OK);
    for (int round = 0; round < 3; round++) {
        admin_ask(&d, end_writer);
        admin_await(&d, writer_is_gone);
        CHECK(write_node(&d, 2 + round) == ERR_UNAVAILABLE);
        CHECK(write_node(&d, 2 + round) == ERR_UNAVAILABLE); /* only lead() reconnects */
        CHECK(d.writer->ops->begin(d.writer, &d.mark) == ERR_UNAVAILABLE);
        CHECK(d.writer->ops->lead(d.writer, d.mark.epoch, &d.mark) == OK);
        CHECK(d.mark.epoch == 2 + round && d.mark.turn == 1 + round);
        CHECK(admin_count(&d, locks_held) == 1);
        CHECK(write_node(&d, 2 + round) == OK);
    }
    CHECK(admin_count(&d, "SELECT count(*) FROM node") == 4);
    database_fini(&d);
}

/* A call of the engine in its own thread. */
struct call {
    struct database *database;
    pthread_t thread;
    err result;
};

static void *run_write(void *self)
{
    struct call *c = self;
    c->result = write_node(c->database, 1);
    return NULL;
}

static void *run_lead(void *self)
{
    struct call *c = self;
    c->result = c->database->writer->ops->lead(c->database->writer, c->database->mark.epoch,
                                               &c->database->mark);
    return NULL;
}

static void call_begin(struct call *c, struct database *d, void *(*body)(void *))
{
    *c = (struct call){.database = d};
    CHECK(pthread_create(&c->thread, NULL, body, c) == 0);
}

static err call_end(struct call *c)
{
    CHECK(pthread_join(c->thread, NULL) == 0);
    return c->result;
}

TEST(a_batch_whose_connection_is_lost_before_commit_is_not_stored)
{
    struct database d;
    struct call call;
    database_lead(&d);
    PGconn *blocker = admin_connect(d.url);
    PQclear(PQexec(blocker, "BEGIN; LOCK TABLE node IN EXCLUSIVE MODE"));
    call_begin(&call, &d, run_write);
    admin_await(&d, writer_waits);
    admin_ask(&d, end_writer);
    CHECK(call_end(&call) == ERR_UNAVAILABLE);
    PQfinish(blocker);
    CHECK(d.writer->ops->lead(d.writer, d.mark.epoch, &d.mark) == OK && d.mark.turn == 0);
    CHECK(admin_count(&d, "SELECT count(*) FROM node") == 0);
    CHECK(write_node(&d, 1) == OK);
    database_fini(&d);
}

/* The commit waits inside a trigger for a lock that the test holds. */
TEST(lead_resolves_the_doubt_of_a_connection_lost_during_commit)
{
    struct database d;
    struct call call;
    database_lead(&d);
    set_trap(&d, at_commit, "PERFORM pg_advisory_xact_lock(1)");
    PGconn *blocker = admin_connect(d.url);
    PQclear(PQexec(blocker, "SELECT pg_advisory_lock(1)"));
    call_begin(&call, &d, run_write);
    admin_await(&d, writer_waits);
    admin_ask(&d, end_writer);
    CHECK(call_end(&call) == ERR_UNKNOWN);
    PQfinish(blocker);
    /* A table with a trigger is refused as altered. */
    CHECK(d.writer->ops->lead(d.writer, d.mark.epoch, &d.mark) == ERR_CORRUPT);
    admin_ask(&d, "DROP TRIGGER trap ON node");
    CHECK(d.writer->ops->lead(d.writer, d.mark.epoch, &d.mark) == OK);
    CHECK(d.mark.epoch == 2 && d.mark.turn == 0);
    CHECK(admin_count(&d, "SELECT count(*) FROM node") == 0);
    CHECK(write_node(&d, 1) == OK && write_node(&d, 2) == OK);
    database_fini(&d);
}

/* A transaction that the server still executes for a lost connection is committed first. */
TEST(raising_the_epoch_waits_for_a_running_transaction)
{
    struct database d;
    struct call call;
    database_lead(&d);
    PGconn *old = admin_connect(d.url);
    PQclear(PQexec(old, "BEGIN; UPDATE leadership SET turn = turn + 1 WHERE epoch = 1; "
                        "INSERT INTO \"group\" VALUES (9, 0, 0, 0, 'late', '', '', 0)"));
    call_begin(&call, &d, run_lead);
    admin_await(&d, writer_waits);
    PQclear(PQexec(old, "COMMIT"));
    CHECK(call_end(&call) == OK);
    CHECK(d.mark.epoch == 2 && d.mark.turn == 1);
    /* Its row is part of the highest id. */
    const struct change change = {
        .record = {.table = TABLE_GROUP, .group = {.id = 9, .name = STR("now")}}};
    CHECK(write_changes(&d, &change, 1) == OK);
    CHECK(strcmp(admin_ask(&d, "SELECT name FROM \"group\""), "now") == 0);
    PQfinish(old);
    database_fini(&d);
}

/* A lost connection may hold the lock for some time. lead() succeeds nevertheless. */
TEST(a_busy_advisory_lock_is_taken_by_maintenance)
{
    struct database d;
    database_lead(&d);
    admin_ask(&d, end_writer);
    admin_await(&d, writer_is_gone);
    PGconn *ghost = admin_connect(d.url);
    PQclear(PQexec(ghost, "SELECT pg_advisory_lock(5215569056352395630)"));
    CHECK(write_node(&d, 1) == ERR_UNAVAILABLE);
    CHECK(d.writer->ops->lead(d.writer, d.mark.epoch, &d.mark) == OK);
    CHECK(write_node(&d, 1) == OK);
    d.writer->ops->maintain(d.writer);
    PQfinish(ghost);
    for (int i = 0; i < 10000 && admin_count(&d, locks_held) != 0; i++)
        ;
    d.writer->ops->maintain(d.writer);
    CHECK(admin_count(&d, locks_held) == 1);
    CHECK(write_node(&d, 2) == OK);
    database_fini(&d);
}

TEST(a_reader_reconnects_by_itself)
{
    struct database d;
    struct engine *reader;
    struct store_mark mark;
    database_lead(&d);
    CHECK(write_node(&d, 1) == OK);
    CHECK(postgres_open(d.url, ENGINE_READ, "reading", &reader, &d.why) == OK);
    admin_ask(&d, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                  "WHERE application_name = 'halligan reading'");
    admin_await(&d, "SELECT count(*) = 0 FROM pg_stat_activity "
                    "WHERE application_name = 'halligan reading'");
    CHECK(reader->ops->begin(reader, &mark) == ERR_UNAVAILABLE);
    CHECK(reader->ops->begin(reader, &mark) == OK && mark.turn == 1);
    CHECK(read_table(&d.arena, reader, TABLE_NODE, 1).count == 1);
    reader->ops->end(reader);
    reader->ops->close(reader);
    database_fini(&d);
}

static err end_server(void *self, const struct record *record)
{
    struct database *d = self;
    if (record->edge.parent_id == 3)
        admin_ask(d, end_writer);
    return OK;
}

TEST(an_interrupted_load_is_an_error)
{
    struct database d;
    struct store_mark mark;
    database_lead(&d);
    admin_ask(&d, "INSERT INTO edge SELECT i, i + 1 FROM generate_series(1, 200000) AS i");
    CHECK(d.writer->ops->begin(d.writer, &mark) == OK);
    CHECK(d.writer->ops->table(d.writer, TABLE_EDGE, (struct record_callback){&d, end_server}) ==
          ERR_UNAVAILABLE);
    CHECK(d.writer->why.text[0]);
    d.writer->ops->end(d.writer);
    CHECK(d.writer->ops->lead(d.writer, 1, &d.mark) == OK);
    CHECK(read_table(&d.arena, d.writer, TABLE_EDGE, 200000).count == 200000);
    database_fini(&d);
}

/* A database that was emptied by another client does not count as a new store. */
TEST(a_deleted_store_is_not_created_again)
{
    struct database d;
    database_lead(&d);
    admin_ask(&d, end_writer);
    admin_await(&d, writer_is_gone);
    admin_ask(&d, "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    CHECK(write_node(&d, 1) == ERR_UNAVAILABLE);
    CHECK(d.writer->ops->lead(d.writer, 1, &d.mark) == ERR_CORRUPT);
    CHECK(d.writer->ops->lead(d.writer, 0, &d.mark) == ERR_CORRUPT);
    CHECK(write_node(&d, 1) == ERR_UNAVAILABLE);
    CHECK(admin_count(&d, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0);
    database_fini(&d);
}
