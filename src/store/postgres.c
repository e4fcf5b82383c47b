/* postgres.c - the PostgreSQL engine: connection and leadership. Owns the connection, the advisory
 * lock of its session, and the epoch that this process holds.
 *
 * Two mechanisms with different purposes: the advisory lock keeps a second daemon from starting on
 * the same store; the epoch in the table `leadership` keeps a former leader from writing (fencing,
 * ADR 0015). Safety depends on the epoch only: a lock is lost with its connection.
 *
 * lead() raises the epoch before it reads the store position. Raising it locks the row, so it waits
 * for a transaction of an earlier connection that the server still executes; a later one of that
 * connection fails at its guard. So the position that is read afterwards is final.
 *
 * A connection that was lost is replaced by lead(). The leader is checked before the schema: a
 * successor may have migrated the store to a newer version, which must be reported as "fenced" and
 * not as a damaged schema.
 *
 * Failure: an error is returned with a message in engine.why (postgres_call.c maps it) and nothing
 * is repeated, except the attempts to take the lock at the start. The connection of a failed
 * postgres_connect() stays marked as not ready, so that the next lead() or read replaces it.
 */
#include "store/postgres_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "sys/failpoint.h"
#include "sys/log.h"

enum { SERVER_VERSION_MIN = 130000, LOCK_TRIES = 30, LOCK_PAUSE_MS = 100 };

/* ---- connection ---- */

static void postgres_drop_notice(void *self, const char *text)
{
    (void)self;
    (void)text;
}

/* Keywords before "dbname", which holds the URL, are defaults that the URL may override; keywords
 * after it override the URL. */
static PGconn *postgres_dial(const struct postgres_engine *e)
{
    char name[200];
    snprintf(name, sizeof name, "halligan %s", e->holder);
    const char *const keywords[] = {"connect_timeout",           "keepalives_idle",
                                    "keepalives_interval",       "keepalives_count",
                                    "tcp_user_timeout",          "target_session_attrs",
                                    "fallback_application_name", "dbname",
                                    "client_encoding",           NULL};
    const char *const values[] = {
        "5",  "10",   "5",    "3", "10000", e->mode == ENGINE_WRITE ? "read-write" : "any",
        name, e->url, "UTF8", NULL};
    return PQconnectdbParams(keywords, values, 1);
}

static void postgres_disconnect(struct postgres_engine *e)
{
    PQfinish(e->db);
    e->db = NULL;
    e->ready = e->locked = false;
}

/* A batch is a set of arrays that are joined with a table by its key. The planner knows neither the
 * length of the arrays nor, before ANALYZE, the size of the table, and would choose a scan of the
 * whole table; so all plans but the index scan are disabled. synchronous_commit must not be off:
 * a commit has to be durable when it is acknowledged. */
static const char settings[] = "SELECT set_config('synchronous_commit', 'on', false) "
                               "WHERE current_setting('synchronous_commit') = 'off';"
                               "SET idle_in_transaction_session_timeout = '30s';"
                               "SET lock_timeout = '10s';"
                               "SET statement_timeout = 0;"
                               "SET jit = off;"
                               "SET plan_cache_mode = force_generic_plan;"
                               "SET enable_hashjoin = off;"
                               "SET enable_mergejoin = off;"
                               "SET enable_seqscan = off;"
                               "SET enable_bitmapscan = off;"
                               "SET enable_material = off";

static err postgres_configure(struct postgres_engine *e)
{
    const char *encoding = PQparameterStatus(e->db, "server_encoding");
    if (PQserverVersion(e->db) < SERVER_VERSION_MIN)
        return postgres_set_error(e, ERR_CORRUPT, "the server is older than PostgreSQL 13");
    if (!encoding || strcmp(encoding, "UTF8") != 0)
        return postgres_set_error(e, ERR_CORRUPT, "its encoding is not UTF8");
    PQsetNoticeProcessor(e->db, postgres_drop_notice, NULL);
    err why = postgres_exec(e, settings, "set up the connection");
    if (why == OK && e->mode == ENGINE_READ)
        why = postgres_exec(e, "SET default_transaction_read_only = on", "set up the connection");
    return why;
}

/* ---- advisory lock ---- */

/* The key is "Halligan" as eight bytes. */
static const char try_lock[] = "SELECT pg_try_advisory_lock(5215569056352395630)";
static const char select_lock_holder[] =
    "SELECT l.pid, coalesce(a.application_name, ''),"
    " coalesce(host(a.client_addr), 'a local socket')"
    " FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid"
    " WHERE l.locktype = 'advisory' AND l.granted AND l.classid = 1214344300"
    " AND l.objid = 1768382830 AND l.objsubid = 1"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())";
static const char select_leader[] = "SELECT holder FROM leadership";

static err postgres_try_lock(struct postgres_engine *e)
{
    PGresult *answer = postgres_query(e, try_lock);
    const err why = postgres_expect(e, answer, PGRES_TUPLES_OK, "lock it");
    if (why == OK)
        e->locked = strcmp(PQgetvalue(answer, 0, 0), "t") == 0;
    PQclear(answer);
    return why;
}

/* Names the other daemon as far as the server permits: the holder in the table, and the session
 * that has the lock. */
static err postgres_refuse_second(struct postgres_engine *e)
{
    PGresult *leader = postgres_query(e, select_leader);
    PGresult *process = postgres_query(e, select_lock_holder);
    const bool named = PQresultStatus(leader) == PGRES_TUPLES_OK && PQntuples(leader) == 1;
    char text[400];
    int length = snprintf(text, sizeof text, "another daemon holds the store: \"%.100s\"",
                          named ? PQgetvalue(leader, 0, 0) : "");
    if (PQresultStatus(process) == PGRES_TUPLES_OK && PQntuples(process) > 0)
        snprintf(text + length, sizeof text - (size_t)length,
                 " (connected as \"%.100s\" from %.60s, server process %.20s)",
                 PQgetvalue(process, 0, 1), PQgetvalue(process, 0, 2), PQgetvalue(process, 0, 0));
    PQclear(leader);
    PQclear(process);
    return postgres_set_error(e, ERR_EXISTS, text);
}

static err postgres_refuse_fenced(struct postgres_engine *e, const char *holder)
{
    char text[300];
    snprintf(text, sizeof text, "\"%.200s\" took the store over", holder);
    return postgres_set_error(e, ERR_FENCED, text);
}

/* Tries for 3 s: the server may need time to notice that the previous daemon has died. */
static err postgres_take_lock(struct postgres_engine *e)
{
    const struct timespec pause = {.tv_nsec = (long)LOCK_PAUSE_MS * 1000000};
    for (int i = 0; i < LOCK_TRIES; i++) {
        const err why = postgres_try_lock(e);
        if (why != OK || e->locked)
            return why;
        ignore(nanosleep(&pause, NULL), "a shorter pause is harmless");
    }
    return postgres_refuse_second(e);
}

/* ERR_FENCED if another process has raised the epoch since this one led. Checked before the schema,
 * which a successor may have migrated. */
static err postgres_check_leader(struct postgres_engine *e)
{
    PGresult *answer = postgres_query(e, "SELECT epoch, claim, holder FROM leadership");
    err why = PQstatus(e->db) == CONNECTION_OK
                  ? OK /* a missing table is reported by the schema check */
                  : postgres_expect(e, answer, PGRES_TUPLES_OK, "read who leads");
    if (PQresultStatus(answer) == PGRES_TUPLES_OK && PQntuples(answer) == 1) {
        const int64_t epoch = strtoll(PQgetvalue(answer, 0, 0), NULL, 10);
        const bool ours = strcmp(PQgetvalue(answer, 0, 1), e->claim) == 0;
        if (epoch != e->held && !(ours && epoch == e->held + 1))
            why = postgres_refuse_fenced(e, PQgetvalue(answer, 0, 2));
    }
    PQclear(answer);
    return why;
}

/* ---- connecting ---- */

/* `first`: the store is being opened. Only then does a writer take the lock and migrate. The lock
 * is taken before the schema is migrated, so that two daemons cannot migrate at the same time. */
static err postgres_connect(struct postgres_engine *e, bool first)
{
    postgres_disconnect(e);
    engine_touch(&e->engine);
    e->db = postgres_dial(e);
    must(e->db);
    if (PQstatus(e->db) != CONNECTION_OK || PQsetnonblocking(e->db, 1) != 0)
        return postgres_fail(e, NULL, "connect");
    const bool opens = first && e->mode == ENGINE_WRITE;
    engine_touch(&e->engine);
    e->is_opening = opens;
    err why = postgres_configure(e);
    if (why == OK && opens)
        why = postgres_take_lock(e);
    if (why == OK && e->held)
        why = postgres_check_leader(e);
    if (why == OK)
        why = postgres_schema(e, opens);
    if (why == OK)
        why = postgres_prepare(e);
    e->ready = why == OK;
    e->is_opening = false;
    return why;
}

err postgres_ensure_connected(struct postgres_engine *e)
{
    if (e->ready && PQstatus(e->db) == CONNECTION_OK)
        return OK;
    if (e->mode == ENGINE_READ)
        return postgres_connect(e, false);
    return postgres_set_error(e, ERR_UNAVAILABLE, "the connection was lost");
}

static void postgres_close(struct engine *engine)
{
    struct postgres_engine *e = postgres_of(engine);
    FAILPOINT(CLOSE_BEFORE);
    postgres_disconnect(e);
    FAILPOINT(CLOSE_AFTER);
    arena_fini(&e->arena);
    free(e->url);
    free(e->holder);
    free(e);
}

/* ---- leadership ---- */

static err postgres_raise_epoch(struct postgres_engine *e, int64_t epoch,
                                struct store_mark *out_mark, bool *out_found)
{
    char held[POSTGRES_NUMBER_SIZE];
    PGresult *answer;
    postgres_number(epoch, held);
    const char *const values[] = {e->holder, e->claim, epoch ? held : NULL, NULL};
    const enum statement which = epoch ? STATEMENT_LEAD_KEEP : STATEMENT_LEAD_TAKE;
    FAILPOINT(RAISE_BEFORE);
    err why = postgres_call(e, which, values, "raise the epoch", &answer);
    FAILPOINT(RAISE_AFTER);
    *out_found = why == OK && PQntuples(answer) > 0;
    if (*out_found)
        why = postgres_mark_of(e, answer, out_mark);
    PQclear(answer);
    return why;
}

/* The stored epoch is not the one that this process held. Either this process raised it and the
 * response was lost, which the claim shows, or another process leads. */
static err postgres_recognise_claim(struct postgres_engine *e, int64_t epoch,
                                    struct store_mark *out_mark)
{
    enum { HOLDER = 4, CLAIM = 5 };
    struct store_mark mark;
    PGresult *answer;
    err why = postgres_call(e, STATEMENT_MARK, NULL, "read who leads", &answer);
    if (why == OK)
        why = postgres_mark_of(e, answer, &mark);
    if (why == OK && mark.epoch == epoch + 1 &&
        strcmp(PQgetvalue(answer, 0, CLAIM), e->claim) == 0) {
        *out_mark = mark;
    } else if (why == OK) {
        why = postgres_refuse_fenced(e, PQgetvalue(answer, 0, HOLDER));
    }
    PQclear(answer);
    return why;
}

static err postgres_lead(struct engine *engine, int64_t epoch, struct store_mark *out_mark)
{
    struct postgres_engine *e = postgres_of(engine);
    struct store_mark mark;
    bool found = false;
    e->held = epoch;
    err why = postgres_is_idle(e) ? OK : postgres_connect(e, false);
    if (why == OK)
        why = postgres_raise_epoch(e, epoch, &mark, &found);
    if (why == OK && !found)
        why = postgres_recognise_claim(e, epoch, &mark);
    if (why == OK)
        why = postgres_find_high(e);
    if (why == OK && !e->locked)
        why = postgres_try_lock(
            e); /* the lost connection may still hold it: maintenance tries again */
    if (why == OK)
        *out_mark = mark;
    return why;
}

static void postgres_maintain(struct engine *engine)
{
    struct postgres_engine *e = postgres_of(engine);
    if (e->mode == ENGINE_WRITE && !e->locked && postgres_is_idle(e))
        ignore(postgres_try_lock(e), "the next batch reports a lost connection");
}

static err postgres_check(struct engine *engine, int64_t epoch)
{
    struct postgres_engine *e = postgres_of(engine);
    struct store_mark mark;
    if (!postgres_is_idle(e))
        return postgres_set_error(e, ERR_UNAVAILABLE, "the connection was lost");
    const err why = postgres_read_mark(e, &mark);
    if (why != OK || mark.epoch == epoch)
        return why;
    return postgres_set_error(e, ERR_FENCED, "another daemon took the store over");
}

/* ---- open ---- */

static const struct engine_ops postgres_ops = {
    .close = postgres_close,
    .lead = postgres_lead,
    .write = postgres_write,
    .maintain = postgres_maintain,
    .check = postgres_check,
    .begin = postgres_begin,
    .end = postgres_end,
    .table = postgres_table,
    .events = postgres_events,
    .intervals = postgres_intervals,
    .runs = postgres_runs,
    .verify = postgres_verify,
    .fill_begin = postgres_fill_begin,
    .fill_put = postgres_fill_put,
    .fill_end = postgres_fill_end,
};

static struct postgres_engine *postgres_engine_new(const char *url, enum engine_mode mode,
                                                   const char *holder)
{
    struct postgres_engine *e = calloc(1, sizeof *e);
    must(e);
    e->engine.ops = &postgres_ops;
    e->mode = mode;
    e->url = strdup(url);
    e->holder = strdup(holder);
    must(e->url && e->holder);
    engine_make_claim(e->claim);
    return e;
}

/* The message of libpq is not used: it quotes the part that it cannot parse, which may be a
 * password. */
static err postgres_check_url(const char *url, struct store_why *out_why)
{
    char *message = NULL;
    PQconninfoOption *options = PQconninfoParse(url, &message);
    PQfreemem(message);
    PQconninfoFree(options);
    if (options)
        return OK;
    snprintf(out_why->text, sizeof out_why->text,
             "the URL of the PostgreSQL store is invalid; write special characters of a password "
             "as %%XX");
    return ERR_SYNTAX;
}

static void postgres_warn_fsync_off(struct postgres_engine *e)
{
    PGresult *answer = postgres_query(e, "SHOW fsync");
    if (PQresultStatus(answer) == PGRES_TUPLES_OK && strcmp(PQgetvalue(answer, 0, 0), "off") == 0)
        log_print(LOG_WARNING, "the PostgreSQL server runs with fsync off: a crash of its machine "
                               "loses acknowledged changes; set fsync = on");
    PQclear(answer);
}

err postgres_open(const char *location, enum engine_mode mode, const char *holder,
                  struct engine **out_engine, struct store_why *out_why)
{
    err why = postgres_check_url(location, out_why);
    if (why != OK)
        return why;
    struct postgres_engine *e = postgres_engine_new(location, mode, holder);
    FAILPOINT(OPEN_BEFORE);
    why = postgres_connect(e, true);
    FAILPOINT(OPEN_AFTER);
    if (why == OK) {
        if (mode == ENGINE_WRITE)
            postgres_warn_fsync_off(e);
        *out_engine = &e->engine;
        return OK;
    }
    *out_why = e->engine.why;
    postgres_close(&e->engine);
    return why;
}
