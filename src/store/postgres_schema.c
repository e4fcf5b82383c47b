/* postgres_schema.c - verification and migration of the schema.
 *
 * The recorded migrations are compared with those of this program. At the newest version the
 * columns of every table are compared with the records, and tables that do not keep or show their
 * rows faithfully (unlogged, views, triggers, rules, row security) are refused. Missing migrations
 * are applied one by one, each in a transaction with its record; the last one is committed only if
 * it leads to the expected schema.
 *
 * There is no state beyond the connection. On failure the current migration is rolled back, earlier
 * ones stay, and the next start continues after them. A schema that is newer, altered or foreign is
 * refused (ERR_CORRUPT) before anything is changed.
 */
#include "store/postgres_private.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "store/columns.h"
#include "store/schema_version.h"
#include "sys/failpoint.h"

/* ---- expected schema ---- */

struct column {
    const char *name;
    const char *type;
    bool is_key;
};

static const struct column leadership_columns[] = {
    {"one", "bigint", true},     {"epoch", "bigint", false}, {"turn", "bigint", false},
    {"now_ms", "bigint", false}, {"digest", "text", false},  {"holder", "text", false},
    {"claim", "text", false},
};
static const struct column log_columns[] = {
    {"name", "text", true},
    {"hash", "text", false},
    {"applied_at", "bigint", false},
};

static const char create_log[] = "CREATE TABLE schema_migration (\n"
                                 "    name TEXT NOT NULL PRIMARY KEY,\n"
                                 "    hash TEXT NOT NULL,\n"
                                 "    applied_at BIGINT NOT NULL\n"
                                 ")";

/* The tables of the store: those of the records, then these two. */
enum { LEADERSHIP = TABLE_COUNT, LOG, OUR_COUNT };

static const char *schema_table_name(uint32_t table)
{
    return table == LEADERSHIP ? "leadership"
           : table == LOG      ? "schema_migration"
                               : table_name((enum table)table);
}

static uint32_t schema_table_width(uint32_t table)
{
    return table == LEADERSHIP ? sizeof leadership_columns / sizeof leadership_columns[0]
           : table == LOG      ? sizeof log_columns / sizeof log_columns[0]
                               : record_layout((enum table)table)->count;
}

static struct column schema_table_column(uint32_t table, uint32_t i)
{
    if (table == LEADERSHIP)
        return leadership_columns[i];
    if (table == LOG)
        return log_columns[i];
    const struct field *field = &record_layout((enum table)table)->fields[i];
    return (struct column){.name = field->name,
                           .type = column_is_text((enum table)table, i) ? "text"
                                   : field->kind == FIELD_BOOL          ? "boolean"
                                                                        : "bigint",
                           .is_key = i < columns_key((enum table)table)};
}

/* ---- schema of the server ---- */

static const char select_columns[] =
    "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,"
    " coalesce(a.attnum = ANY (i.indkey), false)"
    " FROM pg_class AS c"
    " JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
    " LEFT JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisprimary AND i.indisvalid"
    " WHERE c.relname = ANY ($1::text[]) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
    " AND pg_table_is_visible(c.oid) ORDER BY c.relname, a.attnum";
enum { COLUMN_TABLE, COLUMN_NAME, COLUMN_TYPE, COLUMN_NOT_NULL, COLUMN_KEY };

/* Tables that lose rows in a crash, or whose rows triggers, rules or policies can change; and the
 * index if it is missing. */
static const char select_unfaithful[] =
    "SELECT c.relname FROM pg_class AS c"
    " WHERE c.relname = ANY ($1::text[]) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
    " AND pg_table_is_visible(c.oid) AND (c.relkind <> 'r' OR c.relpersistence <> 'p'"
    " OR c.relrowsecurity OR c.relhasrules OR EXISTS"
    " (SELECT 1 FROM pg_trigger AS t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal))"
    " UNION ALL SELECT 'noderole_role_node' WHERE to_regclass('noderole_role_node') IS NULL";

enum { NAMES_SIZE = 1024 };

static void schema_list_tables(char names[NAMES_SIZE])
{
    size_t length = 1;
    names[0] = '{';
    for (uint32_t t = 0; t < OUR_COUNT; t++) {
        const int more = snprintf(names + length, NAMES_SIZE - length, "%s%s", schema_table_name(t),
                                  t + 1 < OUR_COUNT ? "," : "}");
        length += (size_t)more;
        must(length < NAMES_SIZE);
    }
}

static err postgres_read_columns(struct postgres_engine *e, PGresult **out_found)
{
    char names[NAMES_SIZE];
    schema_list_tables(names);
    const char *const values[] = {names, NULL};
    return postgres_query_catalog(e, select_columns, values, out_found);
}

static bool column_row_is_of(const PGresult *found, int row, uint32_t table)
{
    return strcmp(PQgetvalue(found, row, COLUMN_TABLE), schema_table_name(table)) == 0;
}

static bool columns_have_table(const PGresult *found, uint32_t table)
{
    for (int row = 0; row < PQntuples(found); row++)
        if (column_row_is_of(found, row, table))
            return true;
    return false;
}

static bool column_row_matches(const PGresult *found, int row, struct column wanted)
{
    return strcmp(PQgetvalue(found, row, COLUMN_NAME), wanted.name) == 0 &&
           strcmp(PQgetvalue(found, row, COLUMN_TYPE), wanted.type) == 0 &&
           strcmp(PQgetvalue(found, row, COLUMN_NOT_NULL), "t") == 0 &&
           strcmp(PQgetvalue(found, row, COLUMN_KEY), wanted.is_key ? "t" : "f") == 0;
}

static err postgres_refuse_column(struct postgres_engine *e, uint32_t table, const char *name,
                                  const char *what)
{
    char text[300];
    snprintf(text, sizeof text,
             "the schema of the store was altered: table \"%s\", column \"%.60s\" %s",
             schema_table_name(table), name, what);
    return postgres_set_error(e, ERR_CORRUPT, text);
}

static err postgres_compare_table(struct postgres_engine *e, const PGresult *found, uint32_t table)
{
    uint32_t i = 0;
    for (int row = 0; row < PQntuples(found); row++) {
        if (!column_row_is_of(found, row, table))
            continue;
        const char *name = PQgetvalue(found, row, COLUMN_NAME);
        if (i == schema_table_width(table))
            return postgres_refuse_column(e, table, name, "was added");
        const struct column wanted = schema_table_column(table, i++);
        if (strcmp(name, wanted.name) != 0)
            return postgres_refuse_column(e, table, wanted.name, "is not at its position");
        if (!column_row_matches(found, row, wanted))
            return postgres_refuse_column(e, table, name, "differs from its migration");
    }
    return i == schema_table_width(table)
               ? OK
               : postgres_refuse_column(e, table, schema_table_column(table, i).name, "is missing");
}

static err postgres_compare_schema(struct postgres_engine *e, const PGresult *found)
{
    char names[NAMES_SIZE], text[200];
    PGresult *unfaithful;
    err why = OK;
    for (uint32_t t = 0; t < OUR_COUNT && why == OK; t++)
        why = postgres_compare_table(e, found, t);
    if (why != OK)
        return why;
    /* The columns do not show triggers, rules, row security and the kind of a relation. */
    schema_list_tables(names);
    const char *const values[] = {names, NULL};
    why = postgres_query_catalog(e, select_unfaithful, values, &unfaithful);
    if (why == OK && PQntuples(unfaithful) > 0) {
        snprintf(text, sizeof text,
                 "the schema of the store was altered: \"%.60s\" differs from its migration",
                 PQgetvalue(unfaithful, 0, 0));
        why = postgres_set_error(e, ERR_CORRUPT, text);
    }
    PQclear(unfaithful);
    return why;
}

/* Counts the recorded migrations and compares each with that of this program. The message names the
 * last of several newer ones. */
static err postgres_read_migrations(struct postgres_engine *e, uint32_t *out_count)
{
    PGresult *log;
    struct store_why reason;
    err why = postgres_query_catalog(
        e, "SELECT name, hash FROM schema_migration ORDER BY name COLLATE \"C\"", NULL, &log);
    const int count = PQntuples(log);
    const int known = (int)postgres_migrations.count;
    for (int row = 0; row < count && (why == OK || row > known); row++) {
        why = schema_compare(&postgres_migrations, (uint32_t)row, PQgetvalue(log, row, 0),
                             PQgetvalue(log, row, 1), &reason);
        if (why != OK)
            ignore(postgres_set_error(e, why, reason.text), "it returns its argument");
    }
    if (why == OK && count == 0)
        why = postgres_set_error(e, ERR_CORRUPT,
                                 "it has the tables of a store, but no migration is recorded");
    *out_count = (uint32_t)count;
    PQclear(log);
    return why;
}

/* ---- migration ---- */

static err postgres_record_migration(struct postgres_engine *e, const struct migration *migration)
{
    char hash[SCHEMA_HASH_SIZE], now[POSTGRES_NUMBER_SIZE];
    schema_hash(migration, hash);
    postgres_number((int64_t)time(NULL) * 1000, now);
    const char *const values[] = {migration->name, hash, now};
    PGresult *answer = postgres_query_with(
        e, "INSERT INTO schema_migration (name, hash, applied_at) VALUES ($1, $2, $3)", 3, values);
    const err why = postgres_expect(e, answer, PGRES_COMMAND_OK, "record a migration");
    PQclear(answer);
    return why;
}

/* Compares the schema inside the transaction of the last migration, which is rolled back if it does
 * not lead to the expected schema. */
static err postgres_compare_again(struct postgres_engine *e)
{
    PGresult *found;
    err why = postgres_read_columns(e, &found);
    if (why == OK)
        why = postgres_compare_schema(e, found);
    PQclear(found);
    return why;
}

static err postgres_migrate(struct postgres_engine *e, uint32_t index)
{
    FAILPOINT(MIGRATE_BEFORE);
    err why = postgres_exec(e, "BEGIN", "migrate");
    if (why == OK && index == 0)
        why = postgres_exec(e, create_log, "migrate");
    if (why == OK)
        why = postgres_exec(e, postgres_migrations.at[index].text, "migrate");
    if (why == OK)
        why = postgres_record_migration(e, &postgres_migrations.at[index]);
    if (why == OK && index + 1 == postgres_migrations.count)
        why = postgres_compare_again(e);
    FAILPOINT(MIGRATE_INSIDE);
    if (why == OK)
        why = postgres_exec(e, "COMMIT", "migrate");
    else
        PQclear(postgres_query(e, "ROLLBACK")); /* a lost connection has the same effect */
    FAILPOINT(MIGRATE_AFTER);
    return why;
}

/* ---- verification ---- */

static err postgres_refuse_old(struct postgres_engine *e, uint32_t count)
{
    char text[200];
    snprintf(text, sizeof text,
             "the store is of an older version (%u of %u migrations); start the daemon once", count,
             postgres_migrations.count);
    return postgres_set_error(e, ERR_CORRUPT, count ? text : "it contains no store");
}

static err postgres_refuse_foreign(struct postgres_engine *e, const char *table)
{
    char text[200];
    snprintf(text, sizeof text, "it has a table \"%.60s\", but not one of Halligan's", table);
    return postgres_set_error(e, ERR_CORRUPT, text);
}

static err postgres_check_schema(struct postgres_engine *e, const PGresult *found,
                                 uint32_t *out_count)
{
    *out_count = 0;
    if (PQntuples(found) == 0)
        return OK;
    if (!columns_have_table(found, LOG))
        return postgres_refuse_foreign(e, PQgetvalue(found, 0, COLUMN_TABLE));
    err why = postgres_compare_table(e, found, LOG);
    if (why == OK)
        why = postgres_read_migrations(e, out_count);
    if (why == OK && *out_count == postgres_migrations.count)
        why = postgres_compare_schema(e, found);
    return why;
}

err postgres_schema(struct postgres_engine *e, bool may_migrate)
{
    PGresult *found;
    uint32_t count = 0;
    err why = postgres_read_columns(e, &found);
    if (why == OK)
        why = postgres_check_schema(e, found, &count);
    PQclear(found);
    if (why == OK && count < postgres_migrations.count && !may_migrate)
        why = postgres_refuse_old(e, count);
    while (why == OK && count < postgres_migrations.count)
        why = postgres_migrate(e, count++);
    return why;
}
