/* statements.h - all SQL statements by name.
 *
 * tools/gen/statements generates them from the records, statements.sql and migrations/; no SQL is
 * composed at run time.
 */
#pragma once

#include <stdint.h>

#include "model/record.h"
#include "store/statements.gen.h"

enum table_op { OP_INSERT, OP_UPDATE, OP_DELETE, OP_HIGH, OP_LOAD, OP_COUNT };

/* One row per execution; parameters in the order of the fields, of which the first form the key.
 * NULL: the operation does not exist for the table. Relations are not updated. Archive tables only
 * grow, except ended runs, where DELETE removes all runs of a noderole up to an attempt. HIGH reads
 * the largest id. */
extern const char *const sqlite_table_sql[TABLE_COUNT][OP_COUNT];
/* Many rows per execution: each parameter is an array with one element per row. LOAD is a binary
 * COPY. */
extern const char *const postgres_table_sql[TABLE_COUNT][OP_COUNT];

struct statement_text {
    const char *name;
    const char *sqlite;
    const char *postgres;
};

extern const struct statement_text statement_texts[STATEMENT_COUNT];

struct migration {
    const char *name; /* "0001_initial" */
    const char *text;
};

/* All of them, oldest first. */
struct migrations {
    const struct migration *at;
    uint32_t count;
};

extern const struct migrations sqlite_migrations;
extern const struct migrations postgres_migrations;
