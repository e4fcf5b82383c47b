/* postgres_private.h - shared by the source files of the PostgreSQL engine: connection and
 * leadership (postgres.c), waiting with bounds (postgres_wait.c), statements and errors
 * (postgres_call.c), schema (postgres_schema.c), reads (postgres_read.c), writes (postgres_rows.c,
 * postgres_write.c).
 *
 * An engine has one connection. A lost one stays until lead(), or the next read of a reader, opens
 * another. No state of the session is needed beyond the fields below, so a new connection replaces
 * the old one completely.
 */
#pragma once

#include <libpq-fe.h>

#include "base/mem/arena.h"
#include "store/engine.h"
#include "store/statements.h"

enum { POSTGRES_NUMBER_SIZE = 21 };

struct postgres_chunk;

struct postgres_engine {
    struct engine engine; /* must be first: engines are passed as pointers to it */
    enum engine_mode mode;
    char *url;
    char *holder;
    char claim[ENGINE_CLAIM_SIZE];
    PGconn *db;                  /* NULL: never connected */
    int64_t held;                /* the epoch of this process; 0: none */
    bool is_opening;             /* the bound for migrations applies */
    bool ready;                  /* settings and prepared statements of the connection are set */
    bool locked;                 /* the connection holds the advisory lock */
    int64_t high[TABLE_OBJECTS]; /* upper bound of the ids in each table */
    struct arena arena;          /* of rows that were not sent yet */
    struct postgres_chunk *chunks[TABLE_COUNT][OP_COUNT]; /* those rows; NULL: none */
};

static inline struct postgres_engine *postgres_of(struct engine *e)
{
    return (struct postgres_engine *)(void *)e;
}

/* ---- postgres_wait.c: calls of libpq with bounded waits ---- */

/* Parameters of a prepared statement; sizes and formats NULL: all in text format. */
struct postgres_values {
    int count;
    const char *const *at;
    const int *sizes;
    const int *formats;
    int binary_answer;
};

/* The caller clears the result. It is NULL or an error if the connection is lost. */
PGresult *postgres_query(struct postgres_engine *e, const char *sql);
PGresult *postgres_query_with(struct postgres_engine *e, const char *sql, int count,
                              const char *const values[]);
PGresult *postgres_query_prepare(struct postgres_engine *e, const char *name, const char *sql);
PGresult *postgres_query_prepared(struct postgres_engine *e, const char *name,
                                  const struct postgres_values *values);
/* The next result of the query that was sent; NULL: there is no further one. */
PGresult *postgres_next(struct postgres_engine *e);
/* As PQgetCopyData: the size of the next row, -1 at the end, -2 if the connection is lost. */
int postgres_copy_row(struct postgres_engine *e, char **out_row);

/* ---- postgres_call.c ---- */

/* Maps a failed result to an error and sets the message, "cannot DOING: ...". */
err postgres_fail(struct postgres_engine *e, const PGresult *answer, const char *doing);
/* OK if the result is of that kind, otherwise as above. */
err postgres_expect(struct postgres_engine *e, const PGresult *answer, ExecStatusType kind,
                    const char *doing);
/* Sets the message "PostgreSQL database X: TEXT" and returns `why`. */
err postgres_set_error(struct postgres_engine *e, err why, const char *text);
/* True if the connection is usable and in no transaction. */
bool postgres_is_idle(const struct postgres_engine *e);
/* Executes one or more statements without parameters and without rows. */
err postgres_exec(struct postgres_engine *e, const char *sql, const char *doing);
/* Execute a statement with parameters in text format, which end with NULL. The caller clears the
 * result, also after a failure. */
err postgres_query_catalog(struct postgres_engine *e, const char *sql, const char *const values[],
                           PGresult **out_answer);
err postgres_call(struct postgres_engine *e, enum statement which, const char *const values[],
                  const char *doing, PGresult **out_answer);
err postgres_prepare(struct postgres_engine *e);
/* The name of the prepared statement for an operation on a table. */
enum { POSTGRES_NAME_SIZE = 64 };
void postgres_op_name(enum table table, enum table_op op, char out_name[POSTGRES_NAME_SIZE]);
/* Formats a number as a parameter. */
void postgres_number(int64_t value, char out_text[POSTGRES_NUMBER_SIZE]);
/* The store position in a result. ERR_CORRUPT unless it has exactly one row. */
err postgres_mark_of(struct postgres_engine *e, const PGresult *answer,
                     struct store_mark *out_mark);
err postgres_read_mark(struct postgres_engine *e, struct store_mark *out_mark);

/* ---- postgres.c ---- */

/* Reconnects a reader whose connection was lost. ERR_UNAVAILABLE: there is no connection. */
err postgres_ensure_connected(struct postgres_engine *e);

/* ---- postgres_schema.c ---- */

/* Compares the schema. may_migrate: applies missing migrations; otherwise an old schema is refused.
 * Nothing changes before the comparison is done. */
err postgres_schema(struct postgres_engine *e, bool may_migrate);

/* ---- postgres_read.c ---- */

err postgres_begin(struct engine *engine, struct store_mark *out_mark);
void postgres_end(struct engine *engine);
err postgres_table(struct engine *engine, enum table table, struct record_callback callback);
err postgres_events(struct engine *engine, struct history_cursor from, uint32_t limit,
                    struct record_callback callback);
err postgres_intervals(struct engine *engine, const struct interval_page *page,
                       struct record_callback callback);
err postgres_runs(struct engine *engine, int64_t noderole_id, uint32_t limit,
                  struct record_callback callback);
err postgres_verify(struct engine *engine);

/* ---- postgres_rows.c ---- */

/* Adds a row to the chunk of its table and operation. A full chunk is sent at once, others by
 * postgres_flush(). */
err postgres_put_row(struct postgres_engine *e, enum table_op op, const struct record *record);
err postgres_flush(struct postgres_engine *e);
/* Drops the rows that were not sent. */
void postgres_drop_rows(struct postgres_engine *e);

/* ---- postgres_write.c ---- */

err postgres_write(struct engine *engine, const struct batch *batch);
/* Reads the largest id of every table. */
err postgres_find_high(struct postgres_engine *e);
void postgres_roll_back(struct postgres_engine *e);
err postgres_fill_begin(struct engine *engine);
err postgres_fill_put(struct engine *engine, const struct record *record);
err postgres_fill_end(struct engine *engine, const struct store_mark *mark);
