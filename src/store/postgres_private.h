/* postgres_private.h - what the chapters of the PostgreSQL engine share: connection and leadership
 * (postgres.c), waiting (postgres_wait.c), answers and trouble (postgres_call.c), schema
 * (postgres_schema.c), rows out of the server (postgres_read.c), rows into it (postgres_rows.c,
 * postgres_write.c).
 *
 * An engine holds one connection, or a dead one until lead() (of a reader: the next read) makes
 * another. Nothing is kept of it but what is here, so a new connection is as good as the old.
 */
#pragma once

#include <libpq-fe.h>

#include "base/mem/arena.h"
#include "store/engine.h"
#include "store/statements.h"

enum { POSTGRES_NUMBER_SIZE = 21 };

struct postgres_chunk;

struct postgres_engine {
    struct engine engine; /* first: engines are passed around as this */
    enum engine_mode mode;
    char *url;
    char *holder;
    char claim[ENGINE_CLAIM_SIZE];
    PGconn *db;                  /* NULL: there never was one */
    int64_t held;                /* the epoch we led with; 0: none */
    bool is_opening;             /* a migration may take long */
    bool ready;                  /* this connection has its settings and statements */
    bool locked;                 /* and the lock that keeps a second daemon out */
    int64_t high[TABLE_OBJECTS]; /* no row of that table has a larger id */
    struct arena arena;          /* of the rows on their way */
    struct postgres_chunk *chunks[TABLE_COUNT][OP_COUNT]; /* likewise; NULL: none */
};

static inline struct postgres_engine *postgres_of(struct engine *e)
{
    return (struct postgres_engine *)(void *)e;
}

/* ---- postgres_wait.c: libpq, but no wait is for ever ---- */

/* Parameters of a prepared statement; sizes and formats NULL: all are texts. */
struct postgres_values {
    int count;
    const char *const *at;
    const int *sizes;
    const int *formats;
    int binary_answer;
};

/* The answer is the caller's to clear; NULL, or a failure, when the connection is lost. */
PGresult *postgres_query(struct postgres_engine *e, const char *sql);
PGresult *postgres_query_with(struct postgres_engine *e, const char *sql, int count,
                              const char *const values[]);
PGresult *postgres_query_prepare(struct postgres_engine *e, const char *name, const char *sql);
PGresult *postgres_query_prepared(struct postgres_engine *e, const char *name,
                                  const struct postgres_values *values);
/* The next answer to what was sent; NULL: that was the last. */
PGresult *postgres_next(struct postgres_engine *e);
/* As PQgetCopyData: the size of the next row, -1 at the end, -2 when it is lost. */
int postgres_copy_row(struct postgres_engine *e, char **out_row);

/* ---- postgres_call.c ---- */

/* The error that the last answer stands for; writes the sentence. */
err postgres_trouble(struct postgres_engine *e, const PGresult *answer, const char *doing);
/* OK when the answer is of that kind, else as above. */
err postgres_expect(struct postgres_engine *e, const PGresult *answer, ExecStatusType kind,
                    const char *doing);
/* "PostgreSQL database X: TEXT". Returns `why`. */
err postgres_say(struct postgres_engine *e, err why, const char *text);
/* Can the next statement be sent, outside of any transaction? */
bool postgres_is_idle(const struct postgres_engine *e);
/* One or more statements without parameters and without rows. */
err postgres_exec(struct postgres_engine *e, const char *sql, const char *doing);
/* Statements with parameters as text, and what they answer with; it is the caller's to clear, also
 * after a failure. */
err postgres_ask(struct postgres_engine *e, const char *sql, const char *const values[],
                 PGresult **out_answer);
err postgres_call(struct postgres_engine *e, enum statement which, const char *const values[],
                  const char *doing, PGresult **out_answer);
err postgres_prepare(struct postgres_engine *e);
/* Prepared statements of tables go by this name. */
enum { POSTGRES_NAME_SIZE = 64 };
void postgres_op_name(enum table table, enum table_op op, char out_name[POSTGRES_NAME_SIZE]);
/* Numbers as parameters. */
void postgres_number(int64_t value, char out_text[POSTGRES_NUMBER_SIZE]);
/* Where the store stands. ERR_CORRUPT unless there is exactly one row that says so. */
err postgres_mark_of(struct postgres_engine *e, const PGresult *answer,
                     struct store_mark *out_mark);
err postgres_look(struct postgres_engine *e, struct store_mark *out_mark);

/* ---- postgres.c ---- */

/* Of a reader: a connection that was lost is made again. ERR_UNAVAILABLE when there is none. */
err postgres_get_ready(struct postgres_engine *e);

/* ---- postgres_schema.c ---- */

/* Compare; with may_migrate bring it up to date, otherwise refuse what is not. Nothing changes
 * before the comparison is done. */
err postgres_schema(struct postgres_engine *e, bool may_migrate);

/* ---- postgres_read.c ---- */

err postgres_begin(struct engine *engine, struct store_mark *out_mark);
void postgres_end(struct engine *engine);
err postgres_table(struct engine *engine, enum table table, struct store_visitor visitor);
err postgres_events(struct engine *engine, struct history_place from, uint32_t limit,
                    struct store_visitor visitor);
err postgres_intervals(struct engine *engine, const struct interval_page *page,
                       struct store_visitor visitor);
err postgres_runs(struct engine *engine, int64_t noderole_id, uint32_t limit,
                  struct store_visitor visitor);
err postgres_verify(struct engine *engine);

/* ---- postgres_rows.c ---- */

/* Put a row with others of its kind; they are sent when they are many, or with postgres_flush. */
err postgres_put_row(struct postgres_engine *e, enum table_op op, const struct record *record);
err postgres_flush(struct postgres_engine *e);
/* Forget what was not sent. */
void postgres_forget_rows(struct postgres_engine *e);

/* ---- postgres_write.c ---- */

err postgres_write(struct engine *engine, const struct batch *batch);
/* Look up the largest id of every table. */
err postgres_find_high(struct postgres_engine *e);
void postgres_roll_back(struct postgres_engine *e);
err postgres_fill_begin(struct engine *engine);
err postgres_fill_put(struct engine *engine, const struct record *record);
err postgres_fill_end(struct engine *engine, const struct store_mark *mark);
