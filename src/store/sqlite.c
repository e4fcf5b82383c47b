/* sqlite.c - the SQLite engine: connection, leadership and batches. Owns the connection and its
 * prepared statements.
 *
 * WAL mode with synchronous=FULL: a commit is durable when COMMIT returns. Checkpoints are done as
 * store maintenance, not inside a commit, so that no batch waits for them.
 *
 * A batch is one transaction: the guard (advance the turn if epoch and turn are the expected ones),
 * the rows, retention, COMMIT. Without a guarded row another process leads and nothing is written.
 *
 * Failures:
 * - A failed sync is final (ADR 0037): the kernel reports it once, so a repeated sync would succeed
 *   although the data may be lost. Only a new process may read what is on the disk.
 * - A full disk leaves the connection usable: the batch is rolled back, and reads continue.
 * - A failed commit that may have reached the file is ERR_UNKNOWN. lead() raises the epoch on a new
 *   connection and then reads the turn, which decides whether the batch is stored.
 * - A log that cannot be checkpointed keeps all data; batches are refused once it is very long.
 */
#include "store/sqlite_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "model/limits.h"
#include "sys/failpoint.h"

enum {
    FRAMES_ENOUGH = 1000, /* pages of the log from which maintenance does a checkpoint */
    FRAMES_MANY = 16384,  /* pages from which the page cache is released afterwards, and from which
                             batches are refused if checkpoints fail */
    BUSY_MS = 5000,       /* wait for a lock of another connection */
    CACHE_KIB = 262144,   /* page cache */
};

/* ---- errors ---- */

/* The shared-memory index of the log is a separate file. If it cannot grow, SQLite reports an I/O
 * error and the cause is in sqlite3_system_errno(). That value may be stale after other results, so
 * it is evaluated for these three only. */
static bool sqlite_is_disk_full(const struct sqlite_engine *e, int result)
{
    if (result == SQLITE_IOERR_SHMSIZE || result == SQLITE_IOERR_SHMOPEN ||
        result == SQLITE_IOERR_SHMMAP)
        return e->db && sqlite3_system_errno(e->db) == ENOSPC;
    return (result & 0xff) == SQLITE_FULL;
}

static err sqlite_error_of(const struct sqlite_engine *e, int result)
{
    if (sqlite_is_disk_full(e, result))
        return ERR_NO_SPACE;
    switch (result & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return ERR_CORRUPT;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return ERR_UNAVAILABLE;
    default: return ERR_IO;
    }
}

err sqlite_fail(struct sqlite_engine *e, int result, const char *doing)
{
    const err why = sqlite_error_of(e, result);
    const char *text = why == ERR_NO_SPACE ? "the disk is full"
                       : e->db             ? sqlite3_errmsg(e->db)
                                           : sqlite3_errstr(result);
    snprintf(e->engine.why.text, sizeof e->engine.why.text, "%s: cannot %s: %s", e->path, doing,
             text);
    /* The kernel reports a failed sync once; a second one would succeed although the data may not
     * be on the disk. Only a new process may read the file. */
    if (result == SQLITE_IOERR_FSYNC || result == SQLITE_IOERR_DIR_FSYNC)
        e->engine.lost = true;
    if (why != ERR_NO_SPACE && why != ERR_UNAVAILABLE)
        e->broken = true;
    return why;
}

err sqlite_run(struct sqlite_engine *e, sqlite3_stmt *statement, const char *doing)
{
    const int result = sqlite3_step(statement);
    const err why = result == SQLITE_DONE ? OK : sqlite_fail(e, result, doing);
    sqlite3_reset(statement);
    return why;
}

err sqlite_exec(struct sqlite_engine *e, const char *sql, const char *doing)
{
    const int result = sqlite3_exec(e->db, sql, NULL, NULL, NULL);
    return result == SQLITE_OK ? OK : sqlite_fail(e, result, doing);
}

/* ---- connection ---- */

static void sqlite_finalize_statement(sqlite3_stmt **statement)
{
    sqlite3_finalize(*statement);
    *statement = NULL;
}

static void sqlite_disconnect(struct sqlite_engine *e)
{
    sqlite_finalize_statement(&e->begin);
    sqlite_finalize_statement(&e->commit);
    for (uint32_t t = 0; t < TABLE_COUNT; t++)
        for (uint32_t op = 0; op < OP_COUNT; op++)
            sqlite_finalize_statement(&e->tables[t][op]);
    for (uint32_t s = 0; s < STATEMENT_COUNT; s++)
        sqlite_finalize_statement(&e->named[s]);
    memset(e->bound, 0, sizeof e->bound);
    /* With an unfinalized statement the connection would be closed later. */
    ignore(sqlite3_close_v2(e->db), "closing writes nothing that is needed");
    e->db = NULL;
    e->frames = 0;
}

static int sqlite_on_wal_frames(void *self, sqlite3 *db, const char *name, int frames)
{
    (void)db;
    (void)name;
    ((struct sqlite_engine *)self)->frames = frames;
    return SQLITE_OK;
}

static err sqlite_prepare_one(struct sqlite_engine *e, const char *sql, sqlite3_stmt **out)
{
    const int result = sqlite3_prepare_v3(e->db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
    return result == SQLITE_OK ? OK : sqlite_fail(e, result, "prepare its statements");
}

static err sqlite_prepare_statements(struct sqlite_engine *e)
{
    err why =
        sqlite_prepare_one(e, e->mode == ENGINE_WRITE ? "BEGIN IMMEDIATE" : "BEGIN", &e->begin);
    if (why == OK)
        why = sqlite_prepare_one(e, "COMMIT", &e->commit);
    for (uint32_t t = 0; t < TABLE_COUNT && why == OK; t++)
        for (uint32_t op = 0; op < OP_COUNT && why == OK; op++)
            if (sqlite_table_sql[t][op])
                why = sqlite_prepare_one(e, sqlite_table_sql[t][op], &e->tables[t][op]);
    for (uint32_t s = 0; s < STATEMENT_COUNT && why == OK; s++)
        why = sqlite_prepare_one(e, statement_texts[s].sqlite, &e->named[s]);
    return why;
}

/* Settings that do not change the file. No automatic checkpoints; and none on close before this
 * process leads, because a database that is refused must stay unchanged. */
static err sqlite_configure(struct sqlite_engine *e)
{
    sqlite3_extended_result_codes(e->db, 1);
    sqlite3_busy_timeout(e->db, BUSY_MS);
    sqlite3_db_config(e->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_db_config(e->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    char pragmas[256];
    snprintf(pragmas, sizeof pragmas,
             "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; "
             "PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864; "
             "PRAGMA cache_size = -%d; PRAGMA query_only = %d",
             CACHE_KIB, e->mode == ENGINE_READ);
    return sqlite_exec(e, pragmas, "set up the connection");
}

/* Order: a log without its database is refused before the file is opened, because SQLite would
 * delete it. The schema is verified or migrated before statements are prepared, which need its
 * tables. After a failure the connection is closed. */
static err sqlite_connect(struct sqlite_engine *e)
{
    const int flags =
        e->mode == ENGINE_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    err why = e->mode == ENGINE_WRITE && !e->was_open ? sqlite_schema_before(e) : OK;
    if (why != OK)
        return why;
    const int result = sqlite3_open_v2(e->path, &e->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    why = result == SQLITE_OK ? OK : sqlite_fail(e, result, "open the file");
    if (why == OK)
        why = sqlite_configure(e);
    if (why == OK)
        why = sqlite_schema(e);
    if (why == OK)
        why = sqlite_prepare_statements(e);
    if (why == OK && e->mode == ENGINE_WRITE)
        why = sqlite_find_high(e);
    if (why != OK)
        sqlite_disconnect(e);
    else
        e->broken = !(e->was_open = true); /* opened once, and usable now */
    return why;
}

static void sqlite_close(struct engine *engine)
{
    struct sqlite_engine *e = sqlite_of(engine);
    FAILPOINT(CLOSE_BEFORE);
    sqlite_disconnect(e);
    FAILPOINT(CLOSE_AFTER);
    free(e->path);
    free(e->holder);
    free(e);
}

/* ---- store position ---- */

/* False: the digest is invalid. An empty one is valid: migrations clear it. */
static bool sqlite_parse_mark(sqlite3_stmt *row, struct store_mark *out)
{
    *out = (struct store_mark){.epoch = sqlite3_column_int64(row, 0),
                               .turn = sqlite3_column_int64(row, 1),
                               .now_ms = sqlite3_column_int64(row, 2)};
    const char *digest = (const char *)sqlite3_column_text(row, 3);
    out->has_digest = digest && engine_parse_digest(digest, &out->digest);
    return out->has_digest || (digest && digest[0] == '\0');
}

/* Executes a statement that returns the store position in at most one row. */
static err sqlite_query_mark(struct sqlite_engine *e, enum statement which, const char *doing,
                             struct store_mark *out, bool *out_found)
{
    sqlite3_stmt *s = e->named[which];
    int result = sqlite3_step(s);
    *out_found = result == SQLITE_ROW;
    bool reads = true;
    if (result == SQLITE_ROW) {
        reads = sqlite_parse_mark(s, out);
        const char *claim = which == STATEMENT_MARK ? (const char *)sqlite3_column_text(s, 5) : "";
        e->is_ours = claim && strcmp(claim, e->claim) == 0;
        result = sqlite3_step(s);
    }
    err why = result == SQLITE_DONE ? OK : sqlite_fail(e, result, doing);
    sqlite3_reset(s);
    if (why == OK && !reads) {
        snprintf(e->engine.why.text, sizeof e->engine.why.text,
                 "%s: the digest in its leadership row is damaged", e->path);
        why = ERR_CORRUPT;
    }
    return why;
}

err sqlite_read_mark(struct sqlite_engine *e, struct store_mark *out)
{
    bool found = false;
    const err why = sqlite_query_mark(e, STATEMENT_MARK, "read the leadership row", out, &found);
    if (why != OK || found)
        return why;
    snprintf(e->engine.why.text, sizeof e->engine.why.text, "%s: the leadership row is missing",
             e->path);
    return ERR_CORRUPT;
}

/* ---- leadership ---- */

static err sqlite_raise_epoch(struct sqlite_engine *e, int64_t epoch, struct store_mark *out,
                              bool *out_found)
{
    const enum statement which = epoch ? STATEMENT_LEAD_KEEP : STATEMENT_LEAD_TAKE;
    sqlite3_stmt *s = e->named[which];
    sqlite3_bind_text(s, 1, e->holder, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, e->claim, -1, SQLITE_STATIC);
    if (epoch)
        sqlite3_bind_int64(s, 3, epoch);
    FAILPOINT(RAISE_BEFORE);
    const err why = sqlite_query_mark(e, which, "raise the epoch", out, out_found);
    FAILPOINT(RAISE_AFTER);
    return why;
}

/* Copies the log into the database file and syncs it, before the new leader writes: after a crash
 * the end of the log may be readable from the page cache without being on the disk. */
err sqlite_checkpoint_all(struct sqlite_engine *e)
{
    int frames = 0, written = 0;
    const int result =
        sqlite3_wal_checkpoint_v2(e->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, &frames, &written);
    /* Busy: a reader prevents the truncation. That is harmless if all pages were copied. */
    if (result == SQLITE_OK || ((result & 0xff) == SQLITE_BUSY && frames == written))
        return OK;
    return sqlite_fail(e, result, "checkpoint its write-ahead log");
}

static err sqlite_refuse_failed(struct sqlite_engine *e)
{
    snprintf(e->engine.why.text, sizeof e->engine.why.text,
             "%s: a sync of the disk failed; restart the daemon to read what is stored", e->path);
    return ERR_IO;
}

/* The stored epoch is not the one that this process held. Either this process raised it and the
 * response was lost, which the claim shows, or another process leads. */
static err sqlite_recognise_claim(struct sqlite_engine *e, int64_t epoch,
                                  struct store_mark *out_mark)
{
    const err why = sqlite_read_mark(e, out_mark);
    if (why != OK || (out_mark->epoch == epoch + 1 && e->is_ours))
        return why;
    snprintf(e->engine.why.text, sizeof e->engine.why.text,
             "%s: another daemon took the store over", e->path);
    return ERR_FENCED;
}

/* The disk is full, so the epoch cannot be raised. If no batch is in doubt and the epoch is
 * unchanged, this process still leads and reads continue: no other process can have written, since
 * the data directory is locked. */
static err sqlite_lead_on_full_disk(struct sqlite_engine *e, int64_t epoch,
                                    struct store_mark *out_mark)
{
    const struct store_why full = e->engine.why;
    const err why = sqlite_read_mark(e, out_mark);
    if (why == OK && out_mark->epoch != epoch)
        return sqlite_recognise_claim(e, epoch, out_mark);
    e->engine.why = full;
    return why;
}

static err sqlite_reconnect(struct sqlite_engine *e)
{
    if (e->engine.lost)
        return sqlite_refuse_failed(e);
    if (e->broken && e->db)
        sqlite_disconnect(e);
    return e->db ? OK : sqlite_connect(e);
}

/* Order: WAL mode is set here and not when the file is opened, because it changes the file, which
 * must stay unchanged if the store is refused. The log of an earlier process is checkpointed before
 * the epoch is raised, so that everything the new leader reads is on the disk. */
static err sqlite_lead(struct engine *engine, int64_t epoch, struct store_mark *out_mark)
{
    struct sqlite_engine *e = sqlite_of(engine);
    bool found = false;
    err why = sqlite_reconnect(e);
    if (why == OK)
        why = sqlite_exec(e, "PRAGMA journal_mode = WAL", "use a write-ahead log");
    if (why == OK && epoch == 0)
        why = sqlite_checkpoint_all(e);
    if (why == OK)
        why = sqlite_raise_epoch(e, epoch, out_mark, &found);
    if (why == ERR_NO_SPACE && epoch && !e->unclear)
        return sqlite_lead_on_full_disk(e, epoch, out_mark);
    if (why == OK && !found)
        why = sqlite_recognise_claim(e, epoch, out_mark);
    if (why != OK)
        return why;
    /* This process leads: a checkpoint on close is allowed from now on. */
    sqlite3_db_config(e->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    sqlite3_wal_hook(e->db, sqlite_on_wal_frames, e);
    e->unclear = false;
    return OK;
}

/* ---- batches ---- */

static err sqlite_write_guard(struct sqlite_engine *e, const struct batch *batch)
{
    char digest[ENGINE_DIGEST_SIZE];
    engine_format_digest(batch->digest, digest);
    sqlite3_stmt *s = e->named[STATEMENT_GUARD];
    sqlite3_bind_int64(s, 1, batch->epoch);
    sqlite3_bind_int64(s, 2, batch->turn - 1);
    sqlite3_bind_int64(s, 3, batch->now_ms);
    sqlite3_bind_text(s, 4, digest, -1, SQLITE_STATIC);
    const err why = sqlite_run(e, s, "begin a batch");
    sqlite3_bind_null(s, 4);
    if (why == OK && sqlite3_changes(e->db) != 1)
        return ERR_FENCED;
    return why;
}

static err sqlite_write_rows(struct sqlite_engine *e, const struct batch *batch)
{
    err why = OK;
    uint32_t at = 0;
    while (at < batch->changes.len && why == OK) {
        struct change change;
        why = batch_next(batch->changes, &at, &change);
        if (why != OK)
            return why;
        FAILPOINT(ROW);
        why = change.gone ? sqlite_end_row(e, &change.record) : sqlite_put_row(e, &change.record);
        engine_touch(&e->engine);
    }
    return why;
}

static err sqlite_delete_old(struct sqlite_engine *e, enum statement which, int64_t before,
                             uint32_t rows)
{
    sqlite3_stmt *s = e->named[which];
    sqlite3_bind_int64(s, 1, before);
    sqlite3_bind_int64(s, 2, rows);
    return sqlite_run(e, s, "delete old rows");
}

err sqlite_commit(struct sqlite_engine *e)
{
    FAILPOINT(COMMIT_BEFORE);
    const int result = sqlite3_step(e->commit);
    FAILPOINT(COMMIT_AFTER);
    const err why = result == SQLITE_DONE ? OK : sqlite_fail(e, result, "commit a batch");
    sqlite3_reset(e->commit);
    /* The commit record is in the last page of the log. If that page could not be written because
     * the disk is full, the batch is not stored; after any other failure it may be. */
    if (why == OK || (result & 0xff) == SQLITE_FULL || (result & 0xff) == SQLITE_BUSY)
        return why;
    e->unclear = e->broken = true;
    return ERR_UNKNOWN;
}

void sqlite_roll_back(struct sqlite_engine *e)
{
    FAILPOINT(ROLLBACK);
    if (!sqlite3_get_autocommit(e->db) &&
        sqlite3_exec(e->db, "ROLLBACK", NULL, NULL, NULL) != SQLITE_OK)
        e->broken = true;
}

/* True if the file was moved or removed while open: writes would go to a file that no other process
 * opens. The store counts as failed then. */
static bool sqlite_has_moved(struct sqlite_engine *e)
{
    int moved = 0;
    if (sqlite3_file_control(e->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK || !moved)
        return false;
    snprintf(e->engine.why.text, sizeof e->engine.why.text,
             "%s: the file was moved or removed while it was in use", e->path);
    e->engine.lost = true;
    return true;
}

static err sqlite_write(struct engine *engine, const struct batch *batch)
{
    struct sqlite_engine *e = sqlite_of(engine);
    if (engine->lost)
        return sqlite_refuse_failed(e);
    if (!e->db || e->broken)
        return ERR_UNAVAILABLE;
    if (sqlite_has_moved(e))
        return ERR_IO;
    /* The log must not grow without bound while checkpoints fail. */
    if (e->checkpoint_why.text[0] && e->frames >= FRAMES_MANY) {
        e->engine.why = e->checkpoint_why;
        return ERR_IO;
    }
    err why = sqlite_run(e, e->begin, "open a transaction");
    if (why != OK)
        return why;
    FAILPOINT(BEGUN);
    why = sqlite_write_guard(e, batch);
    if (why == OK) {
        FAILPOINT(GUARDED);
        why = sqlite_write_rows(e, batch);
    }
    if (why == OK && batch->runs_before)
        why = sqlite_delete_old(e, STATEMENT_SWEEP_RUNS, batch->runs_before, RUNS_SWEEP_ROWS);
    if (why == OK && batch->events_before)
        why = sqlite_delete_old(e, STATEMENT_SWEEP_EVENTS, batch->events_before, EVENTS_SWEEP_ROWS);
    engine_touch(&e->engine);
    if (why == OK)
        why = sqlite_commit(e);
    if (why != OK)
        sqlite_roll_back(e);
    return why;
}

static void sqlite_checkpoint(struct sqlite_engine *e)
{
    FAILPOINT(CHECKPOINT_BEFORE);
    const int result =
        sqlite3_wal_checkpoint_v2(e->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    FAILPOINT(CHECKPOINT_AFTER);
    if (e->frames >= FRAMES_MANY)
        sqlite3_db_release_memory(e->db);
    /* After a failure the log still contains all data, and the next checkpoint tries again. */
    e->checkpoint_why.text[0] = '\0';
    if (result == SQLITE_OK || (result & 0xff) == SQLITE_BUSY) {
        e->frames = 0;
        return;
    }
    const bool was_broken = e->broken;
    ignore(sqlite_fail(e, result, "checkpoint its write-ahead log"),
           "sqlite_write() reports it once the log is long");
    e->broken = was_broken;
    e->checkpoint_why = e->engine.why;
}

static void sqlite_maintain(struct engine *engine)
{
    struct sqlite_engine *e = sqlite_of(engine);
    if (e->db && !e->broken && !engine->lost && e->frames >= FRAMES_ENOUGH)
        sqlite_checkpoint(e);
}

/* The epoch needs no check: no other process can write while the data directory is locked. */
static err sqlite_check(struct engine *engine, int64_t epoch)
{
    struct sqlite_engine *e = sqlite_of(engine);
    (void)epoch;
    return e->db && sqlite_has_moved(e) ? ERR_IO : OK;
}

/* ---- open ---- */

static const struct engine_ops sqlite_ops = {
    .close = sqlite_close,
    .lead = sqlite_lead,
    .write = sqlite_write,
    .maintain = sqlite_maintain,
    .check = sqlite_check,
    .begin = sqlite_begin,
    .end = sqlite_end,
    .table = sqlite_table,
    .events = sqlite_events,
    .intervals = sqlite_intervals,
    .runs = sqlite_runs,
    .verify = sqlite_verify,
    .fill_begin = sqlite_fill_begin,
    .fill_put = sqlite_fill_put,
    .fill_end = sqlite_fill_end,
};

err sqlite_open(const char *location, enum engine_mode mode, const char *holder,
                struct engine **out_engine, struct store_why *out_why)
{
    struct sqlite_engine *e = calloc(1, sizeof *e);
    must(e);
    e->engine.ops = &sqlite_ops;
    e->mode = mode;
    e->path = strdup(location);
    e->holder = strdup(holder);
    must(e->path && e->holder);
    engine_make_claim(e->claim);
    FAILPOINT(OPEN_BEFORE);
    const err why = sqlite_connect(e);
    FAILPOINT(OPEN_AFTER);
    if (why == OK) {
        *out_engine = &e->engine;
        return OK;
    }
    *out_why = e->engine.why;
    free(e->path);
    free(e->holder);
    free(e);
    return why;
}
