/* sqlite_private.h - what the chapters of the SQLite engine share: connection, leading and batches
 * (sqlite.c), reading and copies (sqlite_read.c), rows (sqlite_rows.c), schema (sqlite_schema.c).
 */
#pragma once

#include <sqlite3.h>

#include "store/engine.h"
#include "store/statements.h"

/* What a statement has bound already: numbers, and whether a text is empty. */
struct sqlite_bound {
    bool known;
    int64_t last[64]; /* a layout has 64 fields at most */
};

struct sqlite_engine {
    struct engine engine; /* first: engines are passed around as this */
    enum engine_mode mode;
    char *path;
    char *holder;
    char claim[ENGINE_CLAIM_SIZE];
    sqlite3 *db;
    sqlite3_stmt *begin;
    sqlite3_stmt *commit;
    sqlite3_stmt *tables[TABLE_COUNT][OP_COUNT];
    struct sqlite_bound bound[TABLE_COUNT][OP_COUNT];
    sqlite3_stmt *named[STATEMENT_COUNT];
    int64_t high[TABLE_OBJECTS];     /* no row of that table has a larger id */
    int frames;                      /* in the write-ahead log */
    bool broken;                     /* something failed in a way that wants a fresh connection */
    bool unclear;                    /* a commit failed after it may have reached the file */
    bool was_open;                   /* the file was there and ours */
    bool is_ours;                    /* the claim that was read last */
    struct store_why checkpoint_why; /* why the log is not written back; empty: it is */
};

static inline struct sqlite_engine *sqlite_of(struct engine *e)
{
    return (struct sqlite_engine *)(void *)e;
}

/* The error of an SQLite result; writes the sentence, and notices broken promises. */
err sqlite_trouble(struct sqlite_engine *e, int result, const char *doing);

/* Run a statement that returns nothing: bind nothing, step, reset. */
err sqlite_run(struct sqlite_engine *e, sqlite3_stmt *statement, const char *doing);
err sqlite_exec(struct sqlite_engine *e, const char *sql, const char *doing);

/* sqlite.c */

/* Where it stands. */
err sqlite_look(struct sqlite_engine *e, struct store_mark *out_mark);
err sqlite_commit(struct sqlite_engine *e);
void sqlite_roll_back(struct sqlite_engine *e);
/* Write the whole log back. */
err sqlite_settle_log(struct sqlite_engine *e);

/* sqlite_read.c: as in engine.h */

err sqlite_begin(struct engine *engine, struct store_mark *out_mark);
void sqlite_end(struct engine *engine);
err sqlite_table(struct engine *engine, enum table table, struct store_visitor visitor);
err sqlite_events(struct engine *engine, struct history_place from, uint32_t limit,
                  struct store_visitor visitor);
err sqlite_intervals(struct engine *engine, const struct interval_page *page,
                     struct store_visitor visitor);
err sqlite_runs(struct engine *engine, int64_t noderole_id, uint32_t limit,
                struct store_visitor visitor);
err sqlite_verify(struct engine *engine);
err sqlite_fill_begin(struct engine *engine);
err sqlite_fill_put(struct engine *engine, const struct record *record);
err sqlite_fill_end(struct engine *engine, const struct store_mark *mark);

/* sqlite_rows.c */
err sqlite_put_row(struct sqlite_engine *e, const struct record *record);
err sqlite_end_row(struct sqlite_engine *e, const struct record *record);
/* Hand every row of a bound statement to the visitor as a record of that table. */
err sqlite_visit(struct sqlite_engine *e, sqlite3_stmt *statement, enum table table,
                 struct store_visitor visitor);
/* Look up the largest id of every table. */
err sqlite_find_high(struct sqlite_engine *e);

/* sqlite_schema.c: compare, and with ENGINE_WRITE bring up to date. Changes nothing before the
 * comparison is done. */
err sqlite_schema(struct sqlite_engine *e);
/* Before anything is opened: is there something that opening would destroy? */
err sqlite_schema_before(struct sqlite_engine *e);
