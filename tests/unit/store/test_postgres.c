/* Goal: properties of the PostgreSQL engine only: which databases it accepts, one daemon at a time,
 * arrays and binary rows without loss.
 * Method: a real server; random records; an admin connection alters the database. */
#include "store/schema_version.h"
#include "tests/unit/store/postgres_fixture.h"

/* ---- schema ---- */

TEST(an_empty_database_gets_the_schema_and_opens_again)
{
    struct database d;
    char hash[SCHEMA_HASH_SIZE];
    database_init(&d);
    CHECK(database_open(&d) == OK);
    schema_hash(&postgres_migrations.at[0], hash);
    CHECK(admin_count(&d, "SELECT count(*) FROM schema_migration") == postgres_migrations.count);
    CHECK(strcmp(admin_ask(&d, "SELECT hash FROM schema_migration ORDER BY name LIMIT 1"), hash) ==
          0);
    const long shape = database_shape(&d);
    const long applied =
        admin_count(&d, "SELECT sum(applied_at % 1000000000) FROM schema_migration");
    database_close(&d);
    CHECK(database_open(&d) == OK);
    CHECK(admin_count(&d, "SELECT sum(applied_at % 1000000000) FROM schema_migration") == applied);
    CHECK(database_shape(&d) == shape);
    CHECK(admin_count(&d, "SELECT count(*) FROM leadership WHERE epoch = 0 AND turn = 0") == 1);
    database_fini(&d);
}

/* Reverts the database to the first version, including the recorded migrations. */
static void go_back_to_first_version(struct database *d)
{
    admin_ask(d, "DO $$ DECLARE name TEXT; BEGIN FOR name IN SELECT tablename FROM pg_tables WHERE "
                 "schemaname = 'public' AND tablename <> 'schema_migration' LOOP "
                 "EXECUTE format('DROP TABLE %I CASCADE', name); END LOOP; END $$");
    admin_ask(d, postgres_migrations.at[0].text);
    admin_ask(d, "DELETE FROM schema_migration WHERE name > '0001_z'");
}

TEST(a_database_of_the_first_version_is_migrated)
{
    struct database d;
    database_init(&d);
    CHECK(database_open(&d) == OK);
    database_close(&d);
    go_back_to_first_version(&d);
    admin_ask(&d, "UPDATE leadership SET digest = 'of one column less'");
    admin_ask(&d, "INSERT INTO \"user\" VALUES (1,1,1,1, 'ann','',false,false, '','','')");
    admin_ask(&d, "INSERT INTO token VALUES (1,1,1,1, 1,'ci','aa',0)");
    admin_ask(&d, "INSERT INTO event VALUES (9,0,5, 'user ann','node_create','node',3,'{}')");
    CHECK(database_open(&d) == OK);
    CHECK(admin_count(&d, "SELECT count(*) FROM schema_migration") == postgres_migrations.count);
    CHECK(admin_count(&d, "SELECT count(computed) FROM noderole") == 0);
    CHECK(admin_count(&d, "SELECT count(runlog) FROM old_run") == 0);
    CHECK(admin_count(&d, "SELECT access FROM \"user\" WHERE grants = ''") == ACCESS_OPERATOR);
    CHECK(admin_count(&d, "SELECT count(*) FROM token WHERE access = 0 AND deployment_id = 0 AND "
                          "node_id = 0 AND kind = 0") == 1);
    CHECK(admin_count(&d, "SELECT count(*) FROM leadership WHERE digest = ''") == 1);
    struct role_code_slot s = shelf_for(&d.arena, 2);
    CHECK(d.writer->ops->events(d.writer, (struct history_cursor){0, -1, false}, 2,
                                (struct record_callback){&s, keep_record}) == OK);
    CHECK(s.count == 1 && s.at[0].event.turn == 9 && s.at[0].event.address.len == 0);
    CHECK(str_eq(s.at[0].event.actor, STR("user ann")));
    database_fini(&d);
}

TEST(every_alteration_of_the_schema_is_refused_by_name)
{
    static const struct {
        const char *sql;
        const char *table;
        const char *column;
    } alterations[] = {
        {"ALTER TABLE node RENAME COLUMN alive TO alife", "\"node\"", "\"alive\""},
        {"ALTER TABLE noderole ALTER COLUMN cohort TYPE integer", "\"noderole\"", "\"cohort\""},
        {"ALTER TABLE \"group\" ALTER COLUMN category TYPE varchar(9)", "\"group\"",
         "\"category\""},
        {"ALTER TABLE event ALTER COLUMN verb DROP NOT NULL", "\"event\"", "\"verb\""},
        {"ALTER TABLE edge ADD COLUMN weight BIGINT", "\"edge\"", "\"weight\""},
        {"ALTER TABLE token DROP COLUMN expires_at", "\"token\"", "\"expires_at\""},
        {"ALTER TABLE link DROP CONSTRAINT link_pkey", "\"link\"", "\"parent_id\""},
        {"ALTER TABLE leadership DROP COLUMN claim", "\"leadership\"", "\"claim\""},
        {"ALTER TABLE schema_migration DROP COLUMN applied_at", "\"schema_migration\"",
         "\"applied_at\""},
        {"DROP TABLE hammer", "\"hammer\"", "\"id\""},
    };
    struct database d;
    database_init(&d);
    for (size_t i = 0; i < sizeof alterations / sizeof alterations[0]; i++) {
        admin_ask(&d, "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
        CHECK(database_open(&d) == OK);
        database_close(&d);
        admin_ask(&d, alterations[i].sql);
        const long shape = database_shape(&d);
        struct engine *reader;
        CHECK(database_open(&d) == ERR_CORRUPT);
        CHECK(strstr(d.why.text, alterations[i].table) &&
              strstr(d.why.text, alterations[i].column));
        CHECK(postgres_open(d.url, ENGINE_READ, "r", &reader, &d.why) == ERR_CORRUPT);
        CHECK(database_shape(&d) == shape);
    }
    database_fini(&d);
}

TEST(newer_altered_or_unrecorded_migrations_are_refused_and_nothing_changes)
{
    static const char *const deeds[] = {
        "INSERT INTO schema_migration VALUES ('9999_later', 'abc', 1)",
        "UPDATE schema_migration SET hash = 'abc'",
        "UPDATE schema_migration SET name = '0000_other' WHERE name LIKE '0001%'",
        "DELETE FROM schema_migration",
    };
    static const char rows[] = "SELECT hashtext(string_agg(m::text, ',' ORDER BY name)) "
                               "FROM schema_migration AS m";
    struct database d;
    database_init(&d);
    for (size_t i = 0; i < sizeof deeds / sizeof deeds[0]; i++) {
        admin_ask(&d, "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
        CHECK(database_open(&d) == OK);
        database_close(&d);
        admin_ask(&d, deeds[i]);
        const long shape = database_shape(&d), log = admin_count(&d, rows);
        CHECK(database_open(&d) == ERR_CORRUPT);
        CHECK(strstr(d.why.text, i == 0 ? "9999_later" : i == 3 ? "no migration" : "altered"));
        CHECK(database_shape(&d) == shape && admin_count(&d, rows) == log);
    }
    database_fini(&d);
}

TEST(foreign_tables_are_refused_only_if_their_names_conflict)
{
    struct database d;
    struct engine *reader;
    database_init(&d);
    admin_ask(&d, "CREATE TABLE invoices (id INT)");
    CHECK(postgres_open(d.url, ENGINE_READ, "r", &reader, &d.why) == ERR_CORRUPT);
    CHECK(admin_count(&d, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 1);
    admin_ask(&d, "CREATE VIEW \"user\" AS SELECT 1 AS id");
    const long shape = database_shape(&d);
    CHECK(database_open(&d) == ERR_CORRUPT && strstr(d.why.text, "\"user\""));
    CHECK(database_shape(&d) == shape);
    admin_ask(&d, "DROP VIEW \"user\"");
    CHECK(database_open(&d) == OK);
    CHECK(admin_count(&d, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") ==
          TABLE_COUNT + 3);
    database_fini(&d);
}

TEST(a_failed_migration_is_rolled_back)
{
    struct database d;
    database_init(&d);
    /* An existing index of that name makes the last statement of the first migration fail. */
    admin_ask(&d, "CREATE TABLE other (id INT); CREATE INDEX noderole_role_node ON other (id)");
    const long shape = database_shape(&d);
    CHECK(database_open(&d) == ERR_IO && strstr(d.why.text, "noderole_role_node"));
    CHECK(database_shape(&d) == shape);
    database_fini(&d);
}

TEST(only_utf8_databases_are_accepted)
{
    struct database d;
    database_init(&d);
    admin_ask(&d, "CREATE DATABASE ascii TEMPLATE template0 ENCODING SQL_ASCII LOCALE 'C'");
    char url[300];
    const char *query = strchr(d.url, '?');
    snprintf(url, sizeof url, "postgresql://orch@/ascii%s", query);
    CHECK(postgres_open(url, ENGINE_WRITE, "x", &d.writer, &d.why) == ERR_CORRUPT);
    CHECK(strstr(d.why.text, "UTF8"));
    database_fini(&d);
}

TEST(an_unreachable_server_is_unavailable_and_the_message_has_no_password)
{
    struct engine *e;
    struct store_why why;
    const char *url = "postgresql://orch:verysecret@/x?host=/nonexistent";
    CHECK(postgres_open(url, ENGINE_WRITE, "x", &e, &why) == ERR_UNAVAILABLE);
    CHECK(strstr(why.text, "/nonexistent") && !strstr(why.text, "verysecret"));
    CHECK(postgres_open("postgresql://x?nonsense=1", ENGINE_READ, "x", &e, &why) == ERR_SYNTAX);
    CHECK(postgres_open("postgresql://u:s3cr%et@/x", ENGINE_READ, "x", &e, &why) == ERR_SYNTAX);
    CHECK(!strstr(why.text, "s3cr"));
}

/* ---- advisory lock ---- */

TEST(a_second_writer_is_refused_with_the_name_of_the_leader)
{
    struct database d;
    struct engine *second;
    database_lead(&d);
    char process[40];
    snprintf(process, sizeof process, "server process %.20s",
             admin_ask(&d, "SELECT pid FROM pg_locks WHERE locktype = 'advisory'"));
    CHECK(postgres_open(d.url, ENGINE_WRITE, "test 2", &second, &d.why) == ERR_EXISTS);
    CHECK(strstr(d.why.text, "\"test 1\"") && strstr(d.why.text, "\"halligan test 1\""));
    CHECK(strstr(d.why.text, process));
    CHECK(postgres_open(d.url, ENGINE_READ, "r", &second, &d.why) == OK);
    second->ops->close(second);
    CHECK(write_node(&d, 1) == OK);
    database_close(&d);
    CHECK(postgres_open(d.url, ENGINE_WRITE, "test 2", &second, &d.why) == OK);
    second->ops->close(second);
    database_fini(&d);
}

TEST(open_waits_for_the_lock_of_a_daemon_that_is_ending)
{
    struct database d;
    database_init(&d);
    PGconn *dying = admin_connect(d.url);
    CHECK(PQsendQuery(dying, "BEGIN; SELECT pg_advisory_xact_lock(5215569056352395630); "
                             "SELECT pg_sleep(0.3); COMMIT"));
    admin_await(&d, "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory'");
    CHECK(database_open(&d) == OK);
    PQfinish(dying);
    database_fini(&d);
}

/* ---- rows ---- */

enum { MANY = 60 };

/* Counters are identified by the name of a table, so their number is limited. */
static uint32_t how_many(enum table table)
{
    return table == TABLE_COUNTER ? TABLE_OBJECTS : MANY;
}

static int by_name(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    return str_cmp(column_text(x, 0), column_text(y, 0));
}

static void check_table(struct database *d, struct engine *e, struct record *wanted, uint32_t count)
{
    const enum table table = wanted[0].table;
    if (table == TABLE_COUNTER)
        qsort(wanted, count, sizeof *wanted, by_name);
    const struct role_code_slot found = read_table(&d->arena, e, table, count + 1);
    CHECK(found.count == count);
    for (uint32_t i = 0; i < count; i++)
        CHECK(same_record(&found.at[i], &wanted[i]));
}

TEST(rows_of_every_table_can_be_inserted_updated_and_deleted)
{
    struct database d;
    struct prng r;
    database_lead(&d);
    prng_init(&r, 11);
    for (uint32_t t = 0; t < TABLE_COUNT; t++) {
        const enum table table = (enum table)t;
        const uint32_t count = how_many(table);
        struct record records[MANY];
        struct change changes[MANY];
        for (uint32_t i = 0; i < count; i++) {
            records[i] = some_record(&r, &d.arena, table, i + 1);
            changes[i] = (struct change){.record = records[i]};
        }
        CHECK(write_changes(&d, changes, count) == OK);
        check_table(&d, d.writer, records, count);
        if (t >= TABLE_LOADED)
            continue;
        /* Every third row is deleted; all mutable fields of the other objects change. */
        uint32_t ended = 0, left = 0;
        for (uint32_t i = 0; i < count; i += 3)
            changes[ended++] = (struct change){.gone = true, .record = records[i]};
        uint32_t changed = ended;
        for (uint32_t i = 0; i < count; i++) {
            if (i % 3 == 0)
                continue;
            if (t < TABLE_OBJECTS) {
                const int64_t created = *(&records[i].id + 1);
                records[i] = some_record(&r, &d.arena, table, records[i].id);
                *(&records[i].id + 1) = created;
                changes[changed++] = (struct change){.record = records[i]};
            }
            records[left++] = records[i];
        }
        CHECK(write_changes(&d, changes, changed) == OK);
        check_table(&d, d.writer, records, left);
    }
    CHECK(d.writer->ops->verify(d.writer) == OK);
    database_fini(&d);
}

TEST(more_rows_than_fit_into_one_statement)
{
    enum { COUNT = 12345, TEXTS = 40, TEXT_SIZE = 300000 };
    struct database d;
    database_lead(&d);
    struct change *changes = arena_array(&d.arena, struct change, COUNT);
    char *text = arena_alloc(&d.arena, TEXT_SIZE);
    memset(text, 'x', TEXT_SIZE);
    for (uint32_t i = 0; i < COUNT; i++) {
        struct node_record *node = &changes[i].record.node;
        changes[i].record.table = TABLE_NODE;
        *node = (struct node_record){.id = COUNT - i, .order = i % 5000 == 4999};
        if (i % 1000 == 999)
            node->name = STR("thousandth");
        if (i < TEXTS)
            node->notes = (struct str){text, TEXT_SIZE - i};
    }
    for (int round = 0; round < 2; round++) { /* inserts, then updates */
        CHECK(write_changes(&d, changes, COUNT) == OK);
        const struct role_code_slot found = read_table(&d.arena, d.writer, TABLE_NODE, COUNT);
        CHECK(found.count == COUNT);
        for (uint32_t i = 0; i < COUNT; i++)
            CHECK(same_record(&found.at[i], &changes[COUNT - 1 - i].record));
        for (uint32_t i = 0; i < COUNT; i++)
            changes[i].record.node.turn = i;
    }
    for (uint32_t i = 0; i < COUNT; i++)
        changes[i].gone = true;
    CHECK(write_changes(&d, changes, COUNT) == OK);
    CHECK(read_table(&d.arena, d.writer, TABLE_NODE, 1).count == 0);
    database_fini(&d);
}

/* The ids of a table may have gaps that the engine does not know of. */
TEST(a_missing_row_below_the_highest_id_is_inserted)
{
    struct database d;
    database_lead(&d);
    CHECK(write_node(&d, 100) == OK);
    struct change changes[3] = {0};
    const int64_t ids[] = {7, 100, 5};
    for (int i = 0; i < 3; i++) {
        changes[i].record.table = TABLE_NODE;
        changes[i].record.node = (struct node_record){.id = ids[i], .name = STR("new")};
    }
    CHECK(write_changes(&d, changes, 3) == OK);
    CHECK(admin_count(&d, "SELECT count(*) FROM node WHERE name = 'new'") == 3);
    CHECK(admin_count(&d, "SELECT count(*) FROM node") == 3);
    database_fini(&d);
}

TEST(a_row_may_reuse_the_key_of_a_row_deleted_in_the_same_batch)
{
    struct database d;
    database_lead(&d);
    struct change one = {
        .record = {.table = TABLE_NODEROLE, .noderole = {.id = 1, .role_id = 5, .node_id = 6}}};
    CHECK(write_changes(&d, &one, 1) == OK);
    struct change two[2] = {one, one};
    two[0].gone = true;
    two[1].record.id = 2;
    CHECK(write_changes(&d, two, 2) == OK);
    CHECK(admin_count(&d, "SELECT id FROM noderole") == 2);
    database_fini(&d);
}

/* ---- reading ---- */

TEST(a_reader_sees_one_turn_and_cannot_write)
{
    struct database d;
    struct engine *reader;
    struct store_mark mark;
    database_lead(&d);
    CHECK(write_node(&d, 1) == OK);
    CHECK(postgres_open(d.url, ENGINE_READ, "r", &reader, &d.why) == OK);
    CHECK(reader->ops->begin(reader, &mark) == OK);
    CHECK(mark.turn == 1 && mark.epoch == d.mark.epoch && mark.now_ms == 1000);
    CHECK(mark.has_digest && mark.digest.lo == 7 && mark.digest.hi == 1);
    CHECK(write_node(&d, 2) == OK);
    CHECK(read_table(&d.arena, reader, TABLE_NODE, 2).count == 1);
    reader->ops->end(reader);
    CHECK(reader->ops->begin(reader, &mark) == OK && mark.turn == 2);
    CHECK(read_table(&d.arena, reader, TABLE_NODE, 2).count == 2);
    reader->ops->end(reader);
    CHECK(reader->ops->lead(reader, 0, &mark) == ERR_UNAVAILABLE);
    CHECK(admin_count(&d, "SELECT epoch FROM leadership") == d.mark.epoch);
    reader->ops->close(reader);
    database_fini(&d);
}

static err refuse_third(void *self, const struct record *record)
{
    (void)record;
    return ++*(int *)self == 3 ? ERR_LIMIT : OK;
}

TEST(an_error_of_the_callback_ends_the_load)
{
    struct database d;
    struct store_mark mark;
    int seen = 0;
    database_lead(&d);
    admin_ask(&d, "INSERT INTO edge SELECT i, i + 1 FROM generate_series(1, 200000) AS i");
    CHECK(d.writer->ops->begin(d.writer, &mark) == OK);
    CHECK(d.writer->ops->table(d.writer, TABLE_EDGE,
                               (struct record_callback){&seen, refuse_third}) == ERR_LIMIT);
    d.writer->ops->end(d.writer);
    CHECK(seen == 3);
    CHECK(write_node(&d, 1) == OK);
    CHECK(read_table(&d.arena, d.writer, TABLE_EDGE, 200000).count == 200000);
    database_fini(&d);
}

TEST(the_history_returns_events_and_intervals)
{
    struct database d;
    struct prng r;
    struct change changes[12];
    database_lead(&d);
    prng_init(&r, 5);
    for (uint32_t i = 0; i < 12; i++) {
        const enum table table = i < 6 ? TABLE_EVENT : i < 9 ? TABLE_OLD_MEMBER : TABLE_OLD_DATA;
        changes[i] = (struct change){.record = some_record(&r, &d.arena, table, 0)};
        struct record *record = &changes[i].record;
        if (i < 6) {
            record->event.turn = i / 2;
            record->event.n = i % 2;
        } else if (i < 9) {
            record->old_member = (struct old_member_record){4, 1, 2, 3, i - 6, i - 4};
        } else {
            record->old_data.deployment_id = i == 11 ? 5 : 4;
            record->old_data.from_seq = i - 9;
            record->old_data.to_seq = 10;
        }
    }
    CHECK(write_changes(&d, changes, 12) == OK);
    struct role_code_slot s = shelf_for(&d.arena, 4);
    const struct record_callback callback = {&s, keep_record};
    struct history_cursor from = {0, 1, false};
    CHECK(d.writer->ops->events(d.writer, from, 3, callback) == OK && s.count == 3);
    for (uint32_t i = 0; i < 3; i++)
        CHECK(same_record(&s.at[i], &changes[2 + i].record));
    s.count = 0;
    from = (struct history_cursor){2, 1, true};
    CHECK(d.writer->ops->events(d.writer, from, 3, callback) == OK && s.count == 3);
    for (uint32_t i = 0; i < 3; i++)
        CHECK(same_record(&s.at[i], &changes[4 - i].record));
    s.count = 0;
    struct interval_page page = {4, 2, TABLE_OLD_MEMBER, {0, -1}, 10};
    CHECK(d.writer->ops->intervals(d.writer, &page, callback) == OK && s.count == 2);
    page.table = TABLE_OLD_DATA;
    CHECK(d.writer->ops->intervals(d.writer, &page, callback) == OK && s.count == 4);
    CHECK(same_record(&s.at[0], &changes[7].record) && same_record(&s.at[1], &changes[8].record));
    CHECK(same_record(&s.at[2], &changes[9].record) && same_record(&s.at[3], &changes[10].record));
    database_fini(&d);
}

TEST(rows_with_invalid_values_are_corrupt)
{
    static const char *const deeds[] = {
        "INSERT INTO counter VALUES ('nonsense', 0, 0, 0, 0)",
        "INSERT INTO hammer_kind VALUES (1, 0, 0, 0, '', '', 4294967296)",
        "INSERT INTO outbox VALUES (1, 0, 0, 0, 0, 0, 0, '', 0, 0, '')",
        "DELETE FROM leadership",
    };
    for (size_t i = 0; i < sizeof deeds / sizeof deeds[0]; i++) {
        struct database d;
        database_lead(&d);
        CHECK(d.writer->ops->verify(d.writer) == OK);
        admin_ask(&d, deeds[i]);
        CHECK(d.writer->ops->verify(d.writer) == ERR_CORRUPT && d.writer->why.text[0]);
        database_fini(&d);
    }
}

/* ---- copies ---- */

TEST(a_store_is_filled_in_one_transaction)
{
    struct database d;
    struct prng r;
    struct store_mark mark = {.epoch = 1 << 20, .turn = 77, .now_ms = 5};
    database_init(&d);
    CHECK(database_open(&d) == OK);
    const struct engine_ops *ops = d.writer->ops;
    prng_init(&r, 3);
    for (int round = 0; round < 2; round++) {
        CHECK(ops->fill_begin(d.writer) == OK);
        for (uint32_t t = 0; t < TABLE_COUNT; t++)
            for (uint32_t i = 1; i <= how_many((enum table)t); i++) {
                const struct record record = some_record(&r, &d.arena, (enum table)t, i);
                CHECK(ops->fill_put(d.writer, &record) == OK);
            }
        CHECK(ops->fill_end(d.writer, round ? &mark : NULL) == OK);
        CHECK(admin_count(&d, "SELECT count(*) FROM link") == (round ? MANY : 0));
        CHECK(admin_count(&d, "SELECT turn FROM leadership") == (round ? 77 : 0));
    }
    CHECK(ops->fill_begin(d.writer) == ERR_REFUSED);
    CHECK(ops->lead(d.writer, 0, &mark) == OK);
    CHECK(mark.epoch == (1 << 20) + 1 && mark.turn == 77 && !mark.has_digest);
    database_fini(&d);
}

TEST(a_store_that_is_not_empty_is_not_filled)
{
    struct database d;
    database_init(&d);
    CHECK(database_open(&d) == OK);
    admin_ask(&d, "INSERT INTO membership VALUES (1, 2)");
    CHECK(d.writer->ops->fill_begin(d.writer) == ERR_REFUSED);
    admin_ask(&d, "DELETE FROM membership");
    CHECK(d.writer->ops->fill_begin(d.writer) == OK);
    CHECK(d.writer->ops->fill_end(d.writer, NULL) == OK);
    database_fini(&d);
}
