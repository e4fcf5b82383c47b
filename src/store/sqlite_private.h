/* sqlite_private.h - shared by the source files of the SQLite engine: connection, leadership and
 * batches (sqlite.c), reads and copies (sqlite_read.c), rows (sqlite_rows.c), schema
 * (sqlite_schema.c).
 */
#pragma once

#include <sqlite3.h>

#include "store/engine.h"
#include "store/statements.h"

/* The values that are bound to a statement: numbers, and whether a string is empty. */
struct sqlite_bound {
    bool known;       /* `last` is valid */
    int64_t last[64]; /* a layout has at most 64 fields */
};

struct sqlite_engine {
    struct engine engine; /* must be first: engines are passed as pointers to it */
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
    int64_t high[TABLE_OBJECTS];     /* upper bound of the ids in each table */
    int frames;                      /* pages in the write-ahead log */
    bool broken;                     /* a failure requires a new connection */
    bool unclear;                    /* a commit failed and may have reached the file */
    bool was_open;                   /* the file was opened and checked once */
    bool is_ours;                    /* the claim read last is that of this process */
    struct store_why checkpoint_why; /* why the last checkpoint failed; empty: it succeeded */
};

static inline struct sqlite_engine *sqlite_of(struct engine *e)
{
    return (struct sqlite_engine *)(void *)e;
}

/* Maps an SQLite result to an error and sets the message, "cannot DOING: ...". A failed sync marks
 * the store as failed. */
err sqlite_fail(struct sqlite_engine *e, int result, const char *doing);

/* Steps and resets a statement that returns no rows. */
err sqlite_run(struct sqlite_engine *e, sqlite3_stmt *statement, const char *doing);
err sqlite_exec(struct sqlite_engine *e, const char *sql, const char *doing);

/* sqlite.c */

/* Reads the store position. */
err sqlite_read_mark(struct sqlite_engine *e, struct store_mark *out_mark);
err sqlite_commit(struct sqlite_engine *e);
void sqlite_roll_back(struct sqlite_engine *e);
/* Writes the whole write-ahead log into the database file. */
err sqlite_checkpoint_all(struct sqlite_engine *e);

/* sqlite_read.c: as in engine.h */

err sqlite_begin(struct engine *engine, struct store_mark *out_mark);
void sqlite_end(struct engine *engine);
err sqlite_table(struct engine *engine, enum table table, struct record_callback callback);
err sqlite_events(struct engine *engine, struct history_cursor from, uint32_t limit,
                  struct record_callback callback);
err sqlite_intervals(struct engine *engine, const struct interval_page *page,
                     struct record_callback callback);
err sqlite_runs(struct engine *engine, int64_t noderole_id, uint32_t limit,
                struct record_callback callback);
err sqlite_verify(struct engine *engine);
err sqlite_fill_begin(struct engine *engine);
err sqlite_fill_put(struct engine *engine, const struct record *record);
err sqlite_fill_end(struct engine *engine, const struct store_mark *mark);

/* sqlite_rows.c */
err sqlite_put_row(struct sqlite_engine *e, const struct record *record);
err sqlite_end_row(struct sqlite_engine *e, const struct record *record);
/* Calls the callback for every row of a bound statement, as a record of that table. */
err sqlite_visit(struct sqlite_engine *e, sqlite3_stmt *statement, enum table table,
                 struct record_callback callback);
/* Reads the largest id of every table. */
err sqlite_find_high(struct sqlite_engine *e);

/* sqlite_schema.c: compares the schema and, with ENGINE_WRITE, migrates it. Changes nothing before
 * the comparison is done. */
err sqlite_schema(struct sqlite_engine *e);
/* Called before the file is opened: refuses a state in which opening would destroy data. */
err sqlite_schema_before(struct sqlite_engine *e);
