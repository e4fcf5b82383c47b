/* Goal: the schema of both engines matches the records, every statement fits it, and a newer or
 * altered store is recognised.
 * Method: the generated texts against the layouts: applied to an SQLite database in memory, and
 * read as text for PostgreSQL (tests/store uses a server). */
#include "store/columns.h"
#include "store/schema_version.h"
#include "tests/check.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sqlite3 *open_migrated(void)
{
    sqlite3 *db;
    CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
    for (uint32_t i = 0; i < sqlite_migrations.count; i++) {
        char *error = NULL;
        if (sqlite3_exec(db, sqlite_migrations.at[i].text, NULL, NULL, &error) != SQLITE_OK)
            check_failed(sqlite_migrations.at[i].name, (int)i, error);
    }
    return db;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        check_failed(sql, 0, sqlite3_errmsg(db));
    return statement;
}

/* ---- recorded migrations ---- */

TEST(a_hash_is_the_sha256_of_the_text)
{
    char hash[SCHEMA_HASH_SIZE];
    schema_hash(&(struct migration){"x", "abc"}, hash);
    CHECK(strcmp(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") == 0);
    schema_hash(&(struct migration){"another name", "abc"}, hash);
    CHECK(strncmp(hash, "ba7816bf", 8) == 0 && strlen(hash) == 64);
    schema_hash(&(struct migration){"x", ""}, hash);
    CHECK(strncmp(hash, "e3b0c442", 8) == 0);
}

static const struct migration known[] = {{"0001_one", "CREATE"}, {"0002_two", "ALTER"}};

TEST(migrations_of_this_program_are_recognised)
{
    struct store_why why = {"untouched"};
    char hash[SCHEMA_HASH_SIZE];
    for (uint32_t i = 0; i < 2; i++) {
        schema_hash(&known[i], hash);
        CHECK(schema_compare(&(struct migrations){known, 2}, i, known[i].name, hash, &why) == OK);
    }
    CHECK(strcmp(why.text, "untouched") == 0);
}

TEST(a_newer_store_is_refused_by_name)
{
    struct store_why why = {""};
    char hash[SCHEMA_HASH_SIZE];
    schema_hash(&known[1], hash);
    CHECK(schema_compare(&(struct migrations){known, 1}, 1, "0002_two", hash, &why) == ERR_CORRUPT);
    CHECK(strstr(why.text, "newer") && strstr(why.text, "0002_two") &&
          strstr(why.text, "0001_one"));
}

TEST(an_altered_store_is_refused_by_name)
{
    struct store_why why = {""};
    char hash[SCHEMA_HASH_SIZE];
    schema_hash(&known[0], hash);
    CHECK(schema_compare(&(struct migrations){known, 2}, 1, "0002_two", hash, &why) == ERR_CORRUPT);
    CHECK(strstr(why.text, "altered") && strstr(why.text, "0002_two"));
    why.text[0] = 0;
    CHECK(schema_compare(&(struct migrations){known, 2}, 0, "0001_uno", hash, &why) == ERR_CORRUPT);
    CHECK(strstr(why.text, "altered") && strstr(why.text, "0001_uno"));
    hash[63] = hash[63] == '0' ? '1' : '0';
    CHECK(schema_compare(&(struct migrations){known, 2}, 0, "0001_one", hash, &why) == ERR_CORRUPT);
    hash[63] = 0; /* one digit too short */
    CHECK(schema_compare(&(struct migrations){known, 2}, 0, "0001_one", hash, &why) == ERR_CORRUPT);
    CHECK(schema_compare(&(struct migrations){known, 2}, 0, "0001_one", "", &why) == ERR_CORRUPT);
}

TEST(long_names_and_hashes_fit_the_message)
{
    struct store_why why;
    char name[4 * STORE_WHY_SIZE];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    CHECK(schema_compare(&(struct migrations){known, 2}, 0, name, name, &why) == ERR_CORRUPT);
    CHECK(strlen(why.text) == STORE_WHY_SIZE - 1);
    CHECK(schema_compare(&(struct migrations){known, 2}, 2, name, name, &why) == ERR_CORRUPT);
    CHECK(strlen(why.text) == STORE_WHY_SIZE - 1);
}

TEST(both_engines_have_the_same_migrations_in_order)
{
    long last = 0;
    CHECK(sqlite_migrations.count == postgres_migrations.count && sqlite_migrations.count > 0);
    for (uint32_t i = 0; i < sqlite_migrations.count; i++) {
        CHECK(strcmp(sqlite_migrations.at[i].name, postgres_migrations.at[i].name) == 0);
        const long number = strtol(sqlite_migrations.at[i].name, NULL, 10);
        CHECK(number > last);
        last = number;
    }
}

/* ---- SQLite: columns ---- */

TEST(the_columns_are_exactly_the_fields)
{
    sqlite3 *db = open_migrated();
    for (uint32_t t = 0; t < TABLE_COUNT; t++) {
        const struct layout *layout = record_layout((enum table)t);
        sqlite3_stmt *columns =
            prepare(db, "SELECT name, type, pk FROM pragma_table_info(?1) ORDER BY cid");
        CHECK(sqlite3_bind_text(columns, 1, table_name((enum table)t), -1, SQLITE_STATIC) == 0);
        uint32_t i = 0;
        for (; sqlite3_step(columns) == SQLITE_ROW; i++) {
            CHECK(i < layout->count);
            CHECK(strcmp((const char *)sqlite3_column_text(columns, 0), layout->fields[i].name) ==
                  0);
            CHECK(strcmp((const char *)sqlite3_column_text(columns, 1),
                         column_is_text((enum table)t, i) ? "TEXT" : "INTEGER") == 0);
            const uint32_t place = (uint32_t)sqlite3_column_int(columns, 2);
            CHECK(place == (i < columns_key((enum table)t) ? i + 1 : 0));
        }
        CHECK(i == layout->count);
        sqlite3_finalize(columns);
    }
    sqlite3_close(db);
}

TEST(every_table_is_strict_and_belongs_to_a_record_or_to_the_store)
{
    sqlite3 *db = open_migrated();
    sqlite3_stmt *tables = prepare(db, "SELECT name, strict FROM pragma_table_list "
                                       "WHERE schema = 'main' AND name NOT LIKE 'sqlite_%'");
    uint32_t records = 0;
    while (sqlite3_step(tables) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(tables, 0);
        uint32_t t = 0;
        while (t < TABLE_COUNT && strcmp(name, table_name((enum table)t)) != 0)
            t++;
        records += t < TABLE_COUNT;
        CHECK(t < TABLE_COUNT || strcmp(name, "leadership") == 0 ||
              strcmp(name, "schema_migration") == 0);
        CHECK(sqlite3_column_int(tables, 1) == 1);
    }
    CHECK(records == TABLE_COUNT);
    sqlite3_finalize(tables);
    sqlite3_close(db);
}

/* ---- SQLite: statements ---- */

TEST(every_statement_can_be_prepared_with_the_parameters_of_its_table)
{
    sqlite3 *db = open_migrated();
    for (uint32_t t = 0; t < TABLE_COUNT; t++) {
        const struct layout *layout = record_layout((enum table)t);
        const int counts[OP_COUNT] = {
            [OP_INSERT] = layout->count,
            [OP_UPDATE] = layout->count,
            [OP_DELETE] = (int)columns_key((enum table)t),
        };
        const int columns[OP_COUNT] = {[OP_HIGH] = 1, [OP_LOAD] = layout->count};
        for (uint32_t op = 0; op < OP_COUNT; op++) {
            const bool absent = (op == OP_UPDATE && t >= TABLE_OBJECTS) ||
                                (op == OP_DELETE && t >= TABLE_LOADED && t != TABLE_OLD_RUN) ||
                                (op == OP_HIGH && (t >= TABLE_OBJECTS || t == TABLE_COUNTER));
            CHECK((sqlite_table_sql[t][op] == NULL) == absent);
            CHECK((postgres_table_sql[t][op] == NULL) == absent);
            if (absent)
                continue;
            sqlite3_stmt *statement = prepare(db, sqlite_table_sql[t][op]);
            CHECK(sqlite3_bind_parameter_count(statement) == counts[op]);
            CHECK(sqlite3_column_count(statement) == columns[op]);
            sqlite3_finalize(statement);
        }
    }
    for (uint32_t s = 0; s < STATEMENT_COUNT; s++)
        sqlite3_finalize(prepare(db, statement_texts[s].sqlite));
    sqlite3_close(db);
}

static void bind_field(sqlite3_stmt *statement, const struct record *record, uint32_t field)
{
    const int at = (int)field + 1;
    if (column_is_text(record->table, field)) {
        const struct str text = column_text(record, field);
        CHECK(sqlite3_bind_text(statement, at, text.len ? text.at : "", (int)text.len,
                                SQLITE_STATIC) == SQLITE_OK);
    } else {
        CHECK(sqlite3_bind_int64(statement, at, column_number(record, field)) == SQLITE_OK);
    }
}

/* Every field differs from its neighbours, so that exchanged columns are detected. */
static struct record numbered_record(enum table table, int64_t from)
{
    struct record record;
    memset(&record, 0, sizeof record);
    record.table = table;
    const struct layout *layout = record_layout(table);
    for (uint32_t i = 0; i < layout->count; i++) {
        void *value = (char *)&record.id + layout->fields[i].offset;
        switch (layout->fields[i].kind) {
        case FIELD_I64: *(int64_t *)value = from + i; break;
        case FIELD_U32: *(uint32_t *)value = (uint32_t)(from + i); break;
        case FIELD_BOOL: *(bool *)value = (from + i) % 2; break;
        case FIELD_TEXT:
        case FIELD_DOC:
        case FIELD_RAW:
            *(struct str *)value = from > 10 ? str_from(layout->fields[i].name) : STR("-");
            break;
        }
        if (column_is_noun(table, i))
            CHECK(column_set_number(&record, i, 7) == OK);
    }
    return record;
}

static void run_with(sqlite3 *db, enum table_op op, const struct record *record)
{
    sqlite3_stmt *statement = prepare(db, sqlite_table_sql[record->table][op]);
    const uint32_t count =
        op == OP_DELETE ? columns_key(record->table) : record_layout(record->table)->count;
    for (uint32_t i = 0; i < count; i++)
        bind_field(statement, record, i);
    if (sqlite3_step(statement) != SQLITE_DONE)
        check_failed(sqlite3_sql(statement), (int)op, sqlite3_errmsg(db));
    CHECK(sqlite3_changes(db) == 1);
    sqlite3_finalize(statement);
}

/* The only row of the table is this record; or there is none. */
static void holds(sqlite3 *db, enum table table, const struct record *expected)
{
    sqlite3_stmt *load = prepare(db, sqlite_table_sql[table][OP_LOAD]);
    CHECK(sqlite3_step(load) == (expected ? SQLITE_ROW : SQLITE_DONE));
    struct record found;
    memset(&found, 0, sizeof found);
    found.table = table;
    for (uint32_t i = 0; expected && i < record_layout(table)->count; i++) {
        const int at = (int)i;
        const struct str text = {(const char *)sqlite3_column_text(load, at),
                                 (uint32_t)sqlite3_column_bytes(load, at)};
        CHECK((column_is_text(table, i)
                   ? column_set_text(&found, i, text)
                   : column_set_number(&found, i, sqlite3_column_int64(load, at))) == OK);
    }
    if (expected)
        CHECK(fields_eq(record_layout(table), &expected->id, &found.id));
    sqlite3_finalize(load);
}

/* Immutable fields keep their value. */
static void keep_fixed(const struct record *before, struct record *after)
{
    after->id = before->id;
    after->settings.created_at = before->settings.created_at;
    if (before->table == TABLE_NODEROLE) {
        after->noderole.role_id = before->noderole.role_id;
        after->noderole.node_id = before->noderole.node_id;
    }
}

TEST(each_parameter_reaches_the_column_of_its_field)
{
    sqlite3 *db = open_migrated();
    for (uint32_t t = 0; t < TABLE_COUNT; t++) {
        const struct record before = numbered_record((enum table)t, 1);
        run_with(db, OP_INSERT, &before);
        holds(db, (enum table)t, &before);
        if (t < TABLE_OBJECTS) {
            struct record after = numbered_record((enum table)t, 100);
            keep_fixed(&before, &after);
            run_with(db, OP_UPDATE, &after);
            holds(db, (enum table)t, &after);
        }
        if (t < TABLE_LOADED || t == TABLE_OLD_RUN) {
            run_with(db, OP_DELETE, &before);
            holds(db, (enum table)t, NULL);
        }
    }
    sqlite3_close(db);
}

TEST(the_leadership_table_has_one_row)
{
    sqlite3 *db = open_migrated();
    sqlite3_stmt *mark = prepare(db, statement_texts[STATEMENT_MARK].sqlite);
    CHECK(sqlite3_step(mark) == SQLITE_ROW);
    for (int i = 0; i < 3; i++)
        CHECK(sqlite3_column_int64(mark, i) == 0);
    CHECK(sqlite3_step(mark) == SQLITE_DONE);
    sqlite3_finalize(mark);
    CHECK(sqlite3_exec(db, "INSERT INTO leadership VALUES (2, 0, 0, 0, '', '', '')", NULL, NULL,
                       NULL) == SQLITE_CONSTRAINT);
    sqlite3_close(db);
}

TEST(a_role_is_bound_to_a_node_once)
{
    sqlite3 *db = open_migrated();
    struct record one = numbered_record(TABLE_NODEROLE, 1);
    run_with(db, OP_INSERT, &one);
    sqlite3_stmt *insert = prepare(db, sqlite_table_sql[TABLE_NODEROLE][OP_INSERT]);
    one.id = 2;
    for (uint32_t i = 0; i < record_layout(TABLE_NODEROLE)->count; i++)
        bind_field(insert, &one, i);
    CHECK(sqlite3_step(insert) == SQLITE_CONSTRAINT);
    sqlite3_finalize(insert);
    sqlite3_close(db);
}

/* ---- PostgreSQL: checks of the text ---- */

/* The line `    name TYPE ...` of a field in CREATE TABLE; moves past it. */
static const char *skip_column(const char *at, const char *name, const char *type)
{
    char plain[100], quoted[100];
    snprintf(plain, sizeof plain, "    %s %s", name, type);
    snprintf(quoted, sizeof quoted, "    \"%s\" %s", name, type);
    if (strncmp(at, plain, strlen(plain)) != 0 && strncmp(at, quoted, strlen(quoted)) != 0)
        check_failed(name, 0, at);
    const char *end = strchr(at, '\n');
    CHECK(end != NULL);
    return end + 1;
}

static bool is_end_of_table(const char *at)
{
    return *at == ')' || strncmp(at, "    PRIMARY KEY (", 17) == 0;
}

/* A column that a later migration added. */
static void check_added(const char *table, const char *name, const char *type)
{
    char plain[200], quoted[200];
    snprintf(plain, sizeof plain, "ALTER TABLE %s ADD COLUMN %s %s", table, name, type);
    snprintf(quoted, sizeof quoted, "ALTER TABLE \"%s\" ADD COLUMN %s %s", table, name, type);
    uint32_t found = 0;
    for (uint32_t i = 1; i < postgres_migrations.count; i++)
        found += strstr(postgres_migrations.at[i].text, plain) != NULL ||
                 strstr(postgres_migrations.at[i].text, quoted) != NULL;
    if (found != 1)
        check_failed(name, 0, "no migration adds it");
}

/* The first column of a table in the migration that creates it. */
static const char *find_columns(const char *table)
{
    char plain[100], quoted[100];
    snprintf(plain, sizeof plain, "CREATE TABLE %s (\n", table);
    snprintf(quoted, sizeof quoted, "CREATE TABLE \"%s\" (\n", table);
    const char *at = NULL;
    for (uint32_t i = 0; i < postgres_migrations.count && !at; i++) {
        const char *text = postgres_migrations.at[i].text;
        at = strstr(text, plain) ? strstr(text, plain) : strstr(text, quoted);
    }
    if (!at)
        check_failed(table, 0, "no such table");
    return strchr(at, '\n') + 1;
}

TEST(postgres_has_the_same_columns)
{
    static const char *const types[] = {
        [FIELD_I64] = "BIGINT", [FIELD_U32] = "BIGINT", [FIELD_BOOL] = "BOOLEAN",
        [FIELD_TEXT] = "TEXT",  [FIELD_DOC] = "TEXT",   [FIELD_RAW] = "BYTEA",
    };
    for (uint32_t t = 0; t < TABLE_COUNT; t++) {
        const struct layout *layout = record_layout((enum table)t);
        const char *at = find_columns(layout->name);
        for (uint32_t i = 0; i < layout->count; i++) {
            const char *name = layout->fields[i].name;
            const char *type =
                column_is_noun((enum table)t, i) ? "TEXT" : types[layout->fields[i].kind];
            if (is_end_of_table(at))
                check_added(layout->name, name, type);
            else
                at = skip_column(at, name, type);
        }
        CHECK(is_end_of_table(at));
    }
}

TEST(every_statement_lists_its_columns)
{
    for (uint32_t t = 0; t < TABLE_COUNT; t++)
        for (uint32_t op = 0; op < OP_COUNT; op++)
            CHECK(!sqlite_table_sql[t][op] || !strstr(sqlite_table_sql[t][op], "*"));
    for (uint32_t s = 0; s < STATEMENT_COUNT; s++) {
        CHECK(!strstr(statement_texts[s].sqlite, "*") && !strstr(statement_texts[s].postgres, "*"));
        CHECK(!strchr(statement_texts[s].sqlite, '$') && !strchr(statement_texts[s].postgres, '?'));
    }
}
