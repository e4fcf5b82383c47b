/* sqlite_read.c - reads, history, verification, and filling an empty store. There is no state
 * beyond the connection.
 *
 * sqlite_begin() opens a transaction before it reads the store position, so that all reads until
 * sqlite_end() see the turn of that position. A store is filled in one transaction, whose last
 * statement sets the position: after a failure before the commit the store is still empty. A
 * failure after it (checkpoint, journal mode) is reported although the content is stored. */
#include "store/sqlite_private.h"

#include <stdio.h>
#include <string.h>

/* ---- snapshot reads ---- */

err sqlite_begin(struct engine *engine, struct store_mark *out_mark)
{
    struct sqlite_engine *e = sqlite_of(engine);
    if (!e->db)
        return ERR_UNAVAILABLE;
    err why = sqlite_exec(e, "BEGIN", "begin to read");
    if (why != OK)
        return why;
    why = sqlite_read_mark(e, out_mark);
    if (why != OK)
        sqlite_roll_back(e);
    return why;
}

void sqlite_end(struct engine *engine)
{
    sqlite_roll_back(sqlite_of(engine));
}

err sqlite_table(struct engine *engine, enum table table, struct record_callback callback)
{
    struct sqlite_engine *e = sqlite_of(engine);
    return sqlite_visit(e, e->tables[table][OP_LOAD], table, callback);
}

err sqlite_events(struct engine *engine, struct history_cursor from, uint32_t limit,
                  struct record_callback callback)
{
    const enum statement which = from.is_backward ? STATEMENT_EVENTS_BACK : STATEMENT_EVENTS;
    sqlite3_stmt *s = sqlite_of(engine)->named[which];
    sqlite3_bind_int64(s, 1, from.turn);
    sqlite3_bind_int64(s, 2, from.n);
    sqlite3_bind_int64(s, 3, limit);
    return sqlite_visit(sqlite_of(engine), s, TABLE_EVENT, callback);
}

err sqlite_intervals(struct engine *engine, const struct interval_page *page,
                     struct record_callback callback)
{
    struct sqlite_engine *e = sqlite_of(engine);
    const bool is_data = page->table == TABLE_OLD_DATA;
    sqlite3_stmt *s = e->named[is_data ? STATEMENT_DATA : STATEMENT_MEMBERS];
    sqlite3_bind_int64(s, 1, page->deployment_id);
    sqlite3_bind_int64(s, 2, page->seq);
    sqlite3_bind_int64(s, 3, page->limit);
    sqlite3_bind_int64(s, 4, page->after[0]);
    if (is_data)
        sqlite3_bind_int64(s, 5, page->after[1]);
    return sqlite_visit(e, s, page->table, callback);
}

err sqlite_runs(struct engine *engine, int64_t noderole_id, uint32_t limit,
                struct record_callback callback)
{
    sqlite3_stmt *s = sqlite_of(engine)->named[STATEMENT_RUNS];
    sqlite3_bind_int64(s, 1, noderole_id);
    sqlite3_bind_int64(s, 2, limit);
    return sqlite_visit(sqlite_of(engine), s, TABLE_OLD_RUN, callback);
}

err sqlite_verify(struct engine *engine)
{
    struct sqlite_engine *e = sqlite_of(engine);
    sqlite3_stmt *s;
    int result = sqlite3_prepare_v2(e->db, "PRAGMA integrity_check(1)", -1, &s, NULL);
    if (result != SQLITE_OK)
        return sqlite_fail(e, result, "verify the file");
    result = sqlite3_step(s);
    err why = result == SQLITE_ROW ? OK : sqlite_fail(e, result, "verify the file");
    const char *word = why == OK ? (const char *)sqlite3_column_text(s, 0) : NULL;
    if (word && strcmp(word, "ok") != 0) {
        snprintf(engine->why.text, sizeof engine->why.text, "%s: %s", e->path, word);
        why = ERR_CORRUPT;
    }
    sqlite3_finalize(s);
    return why;
}

/* ---- filling an empty store ---- */

err sqlite_fill_begin(struct engine *engine)
{
    struct sqlite_engine *e = sqlite_of(engine);
    struct store_mark mark;
    err why = sqlite_run(e, e->begin, "open a transaction");
    if (why != OK)
        return why;
    why = sqlite_read_mark(e, &mark);
    if (why == OK && mark.turn != 0) {
        snprintf(e->engine.why.text, sizeof e->engine.why.text, "%s: the store is not empty",
                 e->path);
        why = ERR_REFUSED;
    }
    if (why != OK)
        sqlite_roll_back(e);
    return why;
}

err sqlite_fill_put(struct engine *engine, const struct record *record)
{
    return sqlite_put_row(sqlite_of(engine), record);
}

err sqlite_fill_end(struct engine *engine, const struct store_mark *mark)
{
    struct sqlite_engine *e = sqlite_of(engine);
    if (!mark) {
        sqlite_roll_back(e);
        return OK;
    }
    char digest[ENGINE_DIGEST_SIZE] = "";
    if (mark->has_digest)
        engine_format_digest(mark->digest, digest);
    sqlite3_stmt *s = e->named[STATEMENT_FILL_MARK];
    sqlite3_bind_int64(s, 1, mark->epoch);
    sqlite3_bind_int64(s, 2, mark->turn);
    sqlite3_bind_int64(s, 3, mark->now_ms);
    sqlite3_bind_text(s, 4, digest, -1, SQLITE_STATIC);
    err why = sqlite_run(e, s, "finish a copy");
    sqlite3_bind_null(s, 4);
    if (why == OK)
        why = sqlite_commit(e);
    if (why != OK) {
        sqlite_roll_back(e);
        return why;
    }
    /* Checkpoint and leave WAL mode: the copy is then one file without -wal and -shm, which can be
     * moved and read from read-only media. */
    why = sqlite_checkpoint_all(e);
    return why == OK ? sqlite_exec(e, "PRAGMA journal_mode = DELETE", "finish a copy") : why;
}
