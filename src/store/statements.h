/* statements.h - all SQL there is, by name.
 *
 * The texts are made by tools/gen/statements out of the records, statements.sql and migrations/;
 * nothing builds SQL while it runs.
 */
#pragma once

#include <stdint.h>

#include "model/record.h"
#include "store/statements.gen.h"

enum table_op { OP_INSERT, OP_UPDATE, OP_DELETE, OP_HIGH, OP_LOAD, OP_COUNT };

/* One row at a time, parameters in the order of the fields; a key is its first fields. NULL where
 * nobody does that to the table: relations are not updated, archives only grow, but for runs:
 * DELETE ends all of a noderole up to an attempt. HIGH is the largest id. */
extern const char *const sqlite_table_sql[TABLE_COUNT][OP_COUNT];
/* Many rows at a time: each parameter is an array, one element per row. LOAD is a binary COPY. */
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
