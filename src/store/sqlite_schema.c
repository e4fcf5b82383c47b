/* sqlite_schema.c - verification and migration of the schema.
 *
 * The recorded migrations are compared with those of this program, and the schema of the file with
 * that of a database in memory to which the same migrations were applied. Only if both agree are
 * missing migrations applied, each in its own transaction together with its record. So a crash
 * leaves a store at a migration boundary, and an altered or newer store is not touched. There is no
 * state beyond the connection. A failed migration is rolled back, and the store is not opened.
 */
#include "store/sqlite_private.h"

#include <stdio.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "store/schema_version.h"
#include "sys/failpoint.h"

static const char create_log[] = "CREATE TABLE schema_migration (\n"
                                 "    name TEXT NOT NULL PRIMARY KEY,\n"
                                 "    hash TEXT NOT NULL,\n"
                                 "    applied_at INTEGER NOT NULL\n"
                                 ") STRICT";

static err sqlite_refuse(struct sqlite_engine *e, const char *text)
{
    snprintf(e->engine.why.text, sizeof e->engine.why.text, "%.200s: %.300s", e->path, text);
    return ERR_CORRUPT;
}

/* ---- reading the file ---- */

static err sqlite_schema_count(struct sqlite_engine *e, const char *sql, int64_t *out)
{
    sqlite3_stmt *s;
    int result = sqlite3_prepare_v2(e->db, sql, -1, &s, NULL);
    if (result != SQLITE_OK)
        return sqlite_fail(e, result, "read its schema");
    result = sqlite3_step(s);
    *out = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return result == SQLITE_ROW ? OK : sqlite_fail(e, result, "read its schema");
}

/* Counts the recorded migrations and compares each with that of this program. The message names the
 * last of several newer ones. */
static err sqlite_schema_read_migrations(struct sqlite_engine *e, uint32_t *out_count)
{
    sqlite3_stmt *s;
    int result = sqlite3_prepare_v2(e->db, "SELECT name, hash FROM schema_migration ORDER BY name",
                                    -1, &s, NULL);
    if (result != SQLITE_OK)
        return sqlite_fail(e, result, "read its migrations");
    err why = OK;
    uint32_t count = 0;
    while ((why == OK || count > sqlite_migrations.count) &&
           (result = sqlite3_step(s)) == SQLITE_ROW) {
        struct store_why reason;
        why = schema_compare(&sqlite_migrations, count++, (const char *)sqlite3_column_text(s, 0),
                             (const char *)sqlite3_column_text(s, 1), &reason);
        if (why != OK)
            sqlite_refuse(e, reason.text);
    }
    if (why == OK && result != SQLITE_DONE)
        why = sqlite_fail(e, result, "read its migrations");
    sqlite3_finalize(s);
    *out_count = count;
    return why;
}

/* ---- comparison ---- */

/* A database in memory with the first `count` migrations. The caller closes *out_db, also after a
 * failure; it may be NULL. */
static err sqlite_schema_expected(struct sqlite_engine *e, uint32_t count, sqlite3 **out_db)
{
    int result = sqlite3_open_v2(":memory:", out_db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY,
                                 "unix-none");
    if (result == SQLITE_OK)
        result = sqlite3_exec(*out_db, create_log, NULL, NULL, NULL);
    for (uint32_t i = 0; i < count && result == SQLITE_OK; i++)
        result = sqlite3_exec(*out_db, sqlite_migrations.at[i].text, NULL, NULL, NULL);
    return result == SQLITE_OK ? OK
                               : sqlite_fail(e, result, "create the expected schema in memory");
}

static const char list_schema[] = "SELECT name, coalesce(sql, '') FROM sqlite_schema "
                                  "WHERE name NOT LIKE 'sqlite_stat%' ORDER BY type, name";

static err sqlite_schema_compare_item(struct sqlite_engine *e, sqlite3_stmt *actual,
                                      sqlite3_stmt *wanted)
{
    const char *name = (const char *)sqlite3_column_text(actual, 0);
    const char *expected = (const char *)sqlite3_column_text(wanted, 0);
    const char *sql = (const char *)sqlite3_column_text(actual, 1);
    const char *expected_sql = (const char *)sqlite3_column_text(wanted, 1);
    char text[256];
    if (!name || !expected || !sql || !expected_sql)
        return sqlite_fail(e, SQLITE_NOMEM, "read its schema");
    if (strcmp(name, expected) != 0)
        snprintf(text, sizeof text,
                 "the schema of the store was altered: found \"%.60s\" where \"%.60s\" is expected",
                 name, expected);
    else if (strcmp(sql, expected_sql) != 0)
        snprintf(text, sizeof text,
                 "the schema of the store was altered: \"%.60s\" differs from its migration", name);
    else
        return OK;
    return sqlite_refuse(e, text);
}

static err sqlite_schema_compare_lists(struct sqlite_engine *e, sqlite3_stmt *actual,
                                       sqlite3_stmt *wanted)
{
    for (;;) {
        const int left = sqlite3_step(actual), right = sqlite3_step(wanted);
        if (left != SQLITE_ROW && left != SQLITE_DONE)
            return sqlite_fail(e, left, "read its schema");
        if (right != SQLITE_ROW && right != SQLITE_DONE)
            return sqlite_fail(e, right, "read the schema to compare it with");
        if (left == SQLITE_DONE && right == SQLITE_DONE)
            return OK;
        if (left != right)
            return sqlite_refuse(e,
                                 left == SQLITE_DONE
                                     ? "the schema of the store was altered: an object is missing"
                                     : "the schema of the store was altered: an object was added");
        const err why = sqlite_schema_compare_item(e, actual, wanted);
        if (why != OK)
            return why;
    }
}

static err sqlite_schema_compare(struct sqlite_engine *e, uint32_t count)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *actual = NULL, *wanted = NULL;
    err why = sqlite_schema_expected(e, count, &db);
    if (why == OK) {
        int result = sqlite3_prepare_v2(db, list_schema, -1, &wanted, NULL);
        if (result == SQLITE_OK)
            result = sqlite3_prepare_v2(e->db, list_schema, -1, &actual, NULL);
        why = result == SQLITE_OK ? sqlite_schema_compare_lists(e, actual, wanted)
                                  : sqlite_fail(e, result, "read its schema");
    }
    sqlite3_finalize(actual);
    sqlite3_finalize(wanted);
    sqlite3_close(db);
    return why;
}

/* ---- migration ---- */

static err sqlite_record_migration(struct sqlite_engine *e, const struct migration *migration)
{
    char hash[SCHEMA_HASH_SIZE];
    sqlite3_stmt *s;
    schema_hash(migration, hash);
    const int result = sqlite3_prepare_v2(
        e->db, "INSERT INTO schema_migration (name, hash, applied_at) VALUES (?1, ?2, ?3)", -1, &s,
        NULL);
    if (result != SQLITE_OK)
        return sqlite_fail(e, result, "record a migration");
    sqlite3_bind_text(s, 1, migration->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, hash, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 3, (int64_t)time(NULL) * 1000);
    const err why = sqlite_run(e, s, "record a migration");
    sqlite3_finalize(s);
    return why;
}

static err sqlite_migrate(struct sqlite_engine *e, uint32_t index)
{
    FAILPOINT(MIGRATE_BEFORE);
    err why = sqlite_exec(e, "BEGIN IMMEDIATE", "migrate");
    if (why == OK && index == 0)
        why = sqlite_exec(e, create_log, "migrate");
    if (why == OK)
        why = sqlite_exec(e, sqlite_migrations.at[index].text, "migrate");
    if (why == OK)
        why = sqlite_record_migration(e, &sqlite_migrations.at[index]);
    FAILPOINT(MIGRATE_INSIDE);
    if (why == OK)
        why = sqlite_exec(e, "COMMIT", "migrate");
    if (why != OK)
        ignore(sqlite3_exec(e->db, "ROLLBACK", NULL, NULL, NULL), "closing it has the same effect");
    FAILPOINT(MIGRATE_AFTER);
    return why;
}

static err sqlite_refuse_old(struct sqlite_engine *e, uint32_t count)
{
    char text[200];
    snprintf(text, sizeof text,
             "the store is of an older version (%u of %u migrations); start the daemon once", count,
             sqlite_migrations.count);
    return sqlite_refuse(e, text);
}

err sqlite_schema_before(struct sqlite_engine *e)
{
    /* There is a write-ahead log without its database if the file was emptied or removed. SQLite
     * would delete the log when it opens the file, and with it the remaining data. */
    char log[PATH_MAX];
    struct stat file, beside;
    snprintf(log, sizeof log, "%s-wal", e->path);
    const bool is_orphaned = (stat(e->path, &file) != 0 || file.st_size == 0) &&
                             stat(log, &beside) == 0 && beside.st_size > 0;
    if (!is_orphaned)
        return OK;
    return sqlite_refuse(e, "the database file is missing or empty, but its log is not; opening it "
                            "would delete the log");
}

err sqlite_schema(struct sqlite_engine *e)
{
    int64_t items = 0, has_log = 0;
    uint32_t count = 0;
    err why = sqlite_schema_count(e, "SELECT count(*) FROM sqlite_schema", &items);
    if (why == OK)
        why = sqlite_schema_count(
            e, "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_migration'", &has_log);
    if (why == OK && items && !has_log)
        why = sqlite_refuse(e, "it is a database, but not one of Halligan's");
    if (why == OK && has_log)
        why = sqlite_schema_read_migrations(e, &count);
    if (why == OK && has_log)
        why = sqlite_schema_compare(e, count);
    if (why != OK)
        return why;
    if (e->mode == ENGINE_READ)
        return count == sqlite_migrations.count ? OK : sqlite_refuse_old(e, count);
    while (why == OK && count < sqlite_migrations.count)
        why = sqlite_migrate(e, count++);
    return why;
}
