/* postgres_write.c - batches, and filling an empty store.
 *
 * A batch is one transaction: BEGIN, the guard (an UPDATE that advances the turn if epoch and turn
 * are the expected ones), the rows, retention, COMMIT. The response to the
 * guard is awaited before anything else is sent, so that a batch whose guard fails writes nothing.
 * If the connection is lost during COMMIT the result is ERR_UNKNOWN: lead() raises the epoch and
 * reads the turn to find out. After any other failure the transaction is rolled back and nothing is
 * stored. The upper bounds of the ids (e->high) are updated only after the commit.
 */
#include "store/postgres_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "model/limits.h"
#include "sys/failpoint.h"

/* ---- transactions ---- */

void postgres_roll_back(struct postgres_engine *e)
{
    PQclear(postgres_query(e, "ROLLBACK")); /* a lost connection has the same effect */
}

static err postgres_commit(struct postgres_engine *e)
{
    FAILPOINT(COMMIT_BEFORE);
    PGresult *answer = postgres_query(e, "COMMIT");
    FAILPOINT(COMMIT_AFTER);
    err why = postgres_expect(e, answer, PGRES_COMMAND_OK, "commit");
    /* The server may have committed before the connection was lost. */
    if (why != OK && PQstatus(e->db) != CONNECTION_OK)
        why = ERR_UNKNOWN;
    else if (why == OK && strcmp(PQcmdStatus(answer), "COMMIT") != 0)
        why = postgres_set_error(e, ERR_IO,
                                 "the server rolled the transaction back instead of committing it");
    PQclear(answer);
    return why;
}

/* ---- batches ---- */

err postgres_find_high(struct postgres_engine *e)
{
    err why = OK;
    for (uint32_t t = 0; t < TABLE_OBJECTS && why == OK; t++) {
        char name[POSTGRES_NAME_SIZE];
        e->high[t] = INT64_MAX; /* counters have no ids: always update */
        if (!postgres_table_sql[t][OP_HIGH])
            continue;
        postgres_op_name((enum table)t, OP_HIGH, name);
        PGresult *answer = postgres_query_prepared(e, name, &(struct postgres_values){0});
        why = postgres_expect(e, answer, PGRES_TUPLES_OK, "read the highest ids");
        if (why == OK)
            e->high[t] = strtoll(PQgetvalue(answer, 0, 0), NULL, 10);
        PQclear(answer);
    }
    return why;
}

/* Waits for the response: a batch whose guard fails must not send its rows. */
static err postgres_write_guard(struct postgres_engine *e, const struct batch *batch)
{
    char epoch[POSTGRES_NUMBER_SIZE], turn[POSTGRES_NUMBER_SIZE], now[POSTGRES_NUMBER_SIZE];
    char digest[ENGINE_DIGEST_SIZE];
    PGresult *answer;
    postgres_number(batch->epoch, epoch);
    postgres_number(batch->turn - 1, turn);
    postgres_number(batch->now_ms, now);
    engine_format_digest(batch->digest, digest);
    const char *const values[] = {epoch, turn, now, digest, NULL};
    err why = postgres_call(e, STATEMENT_GUARD, values, "begin a batch", &answer);
    if (why == OK && strcmp(PQcmdTuples(answer), "1") != 0)
        why = postgres_set_error(e, ERR_FENCED, "another daemon leads the store");
    PQclear(answer);
    return why;
}

/* Ids only grow, so a row with an id above `high` is new. Any other row exists already, or the
 * update affects fewer rows than expected and is repeated as an insert (postgres_rows.c). */
static enum table_op postgres_change_op(const struct postgres_engine *e,
                                        const struct change *change)
{
    if (change->gone)
        return OP_DELETE;
    const struct record *record = &change->record;
    return record->table < TABLE_OBJECTS && record->id <= e->high[record->table] ? OP_UPDATE
                                                                                 : OP_INSERT;
}

/* Deletions come first in a batch and are sent before the other rows, which may reuse their keys.
 * `high` becomes the bound that is valid once the batch is committed. */
static err postgres_write_rows(struct postgres_engine *e, const struct batch *batch,
                               int64_t high[TABLE_OBJECTS])
{
    bool ending = true;
    uint32_t at = 0;
    err why = OK;
    while (at < batch->changes.len && why == OK) {
        struct change change;
        why = batch_next(batch->changes, &at, &change);
        if (why != OK)
            return postgres_set_error(e, why, "the batch cannot be decoded");
        must(!change.gone || change.record.table < TABLE_LOADED ||
             change.record.table == TABLE_OLD_RUN);
        if (change.gone != ending)
            why = postgres_flush(e);
        ending = change.gone;
        if (why == OK)
            why = postgres_put_row(e, postgres_change_op(e, &change), &change.record);
        if (change.record.table < TABLE_OBJECTS && change.record.id > high[change.record.table])
            high[change.record.table] = change.record.id;
    }
    return why == OK ? postgres_flush(e) : why;
}

static err postgres_delete_old(struct postgres_engine *e, enum statement which, int64_t before,
                               uint32_t rows)
{
    char limit[POSTGRES_NUMBER_SIZE], most[POSTGRES_NUMBER_SIZE];
    PGresult *answer;
    postgres_number(before, limit);
    postgres_number(rows, most);
    const char *const values[] = {limit, most, NULL};
    const err why = postgres_call(e, which, values, "delete old rows", &answer);
    PQclear(answer);
    return why;
}

err postgres_write(struct engine *engine, const struct batch *batch)
{
    struct postgres_engine *e = postgres_of(engine);
    if (!postgres_is_idle(e))
        return postgres_set_error(e, ERR_UNAVAILABLE, "the connection was lost");
    err why = postgres_exec(e, "BEGIN", "open a transaction");
    if (why != OK)
        return why;
    int64_t high[TABLE_OBJECTS];
    memcpy(high, e->high, sizeof high);
    FAILPOINT(BEGUN);
    why = postgres_write_guard(e, batch);
    if (why == OK) {
        FAILPOINT(GUARDED);
        why = postgres_write_rows(e, batch, high);
    }
    postgres_drop_rows(e);
    if (why == OK && batch->runs_before)
        why = postgres_delete_old(e, STATEMENT_SWEEP_RUNS, batch->runs_before, RUNS_SWEEP_ROWS);
    if (why == OK && batch->events_before)
        why =
            postgres_delete_old(e, STATEMENT_SWEEP_EVENTS, batch->events_before, EVENTS_SWEEP_ROWS);
    if (why == OK)
        why = postgres_commit(e);
    if (why == OK) {
        memcpy(e->high, high, sizeof high);
        return OK;
    }
    FAILPOINT(ROLLBACK);
    postgres_roll_back(e);
    return why;
}

/* ---- filling an empty store ---- */

static err postgres_refuse_record(void *self, const struct record *record)
{
    (void)self;
    (void)record;
    return ERR_REFUSED;
}

err postgres_fill_begin(struct engine *engine)
{
    struct postgres_engine *e = postgres_of(engine);
    struct store_mark mark;
    if (!postgres_is_idle(e))
        return postgres_set_error(e, ERR_UNAVAILABLE, "the connection was lost");
    err why = postgres_exec(e, "BEGIN", "open a transaction");
    if (why != OK)
        return why;
    /* An empty store has neither a turn nor a row in any table. */
    why = postgres_read_mark(e, &mark);
    if (why == OK && mark.turn != 0)
        why = ERR_REFUSED;
    for (uint32_t t = 0; t < TABLE_COUNT && why == OK; t++)
        why = postgres_table(&e->engine, (enum table)t,
                             (struct record_callback){NULL, postgres_refuse_record});
    if (why == ERR_REFUSED)
        why = postgres_set_error(e, why, "the store is not empty");
    if (why != OK)
        postgres_roll_back(e);
    return why;
}

err postgres_fill_put(struct engine *engine, const struct record *record)
{
    return postgres_put_row(postgres_of(engine), OP_INSERT, record);
}

static err postgres_write_mark(struct postgres_engine *e, const struct store_mark *mark)
{
    char epoch[POSTGRES_NUMBER_SIZE], turn[POSTGRES_NUMBER_SIZE], now[POSTGRES_NUMBER_SIZE];
    char digest[ENGINE_DIGEST_SIZE] = "";
    PGresult *answer;
    postgres_number(mark->epoch, epoch);
    postgres_number(mark->turn, turn);
    postgres_number(mark->now_ms, now);
    if (mark->has_digest)
        engine_format_digest(mark->digest, digest);
    const char *const values[] = {epoch, turn, now, digest, NULL};
    const err why = postgres_call(e, STATEMENT_FILL_MARK, values, "finish a copy", &answer);
    PQclear(answer);
    return why;
}

err postgres_fill_end(struct engine *engine, const struct store_mark *mark)
{
    struct postgres_engine *e = postgres_of(engine);
    err why = mark ? postgres_flush(e) : OK;
    postgres_drop_rows(e);
    if (mark && why == OK)
        why = postgres_write_mark(e, mark);
    if (mark && why == OK)
        why = postgres_commit(e);
    if (!mark || why != OK)
        postgres_roll_back(e);
    return why;
}
