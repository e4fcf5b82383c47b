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

static void drop_notice(void *self, const char *text)
{
    (void)self;
    (void)text;
}

/* What stands before the URL is a default, what stands behind it is settled. */
static PGconn *dial(const struct postgres_engine *e)
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

static void hang_up(struct postgres_engine *e)
{
    PQfinish(e->db);
    e->db = NULL;
    e->ready = e->locked = false;
}

/* A batch is arrays joined with a table by its key. The planner does not know how long they are and
 * would rather read the whole table, whose size it does not know either before somebody analyzes
 * it: only the walk down the index is always right. What is committed is on the disk. */
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

static err configure(struct postgres_engine *e)
{
    const char *encoding = PQparameterStatus(e->db, "server_encoding");
    if (PQserverVersion(e->db) < SERVER_VERSION_MIN)
        return postgres_say(e, ERR_CORRUPT, "the server is older than PostgreSQL 13");
    if (!encoding || strcmp(encoding, "UTF8") != 0)
        return postgres_say(e, ERR_CORRUPT, "its encoding is not UTF8");
    PQsetNoticeProcessor(e->db, drop_notice, NULL);
    err why = postgres_exec(e, settings, "set up the connection");
    if (why == OK && e->mode == ENGINE_READ)
        why = postgres_exec(e, "SET default_transaction_read_only = on", "set up the connection");
    return why;
}

/* ---- one daemon at a time ---- */

/* The key is "Halligan" in eight bytes. The lock only keeps a second daemon from the door; what
 * keeps an ousted one from writing is the epoch. */
static const char try_lock[] = "SELECT pg_try_advisory_lock(5215569056352395630)";
static const char ask_holder[] =
    "SELECT l.pid, coalesce(a.application_name, ''),"
    " coalesce(host(a.client_addr), 'a local socket')"
    " FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid"
    " WHERE l.locktype = 'advisory' AND l.granted AND l.classid = 1214344300"
    " AND l.objid = 1768382830 AND l.objsubid = 1"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())";
static const char ask_leader[] = "SELECT holder FROM leadership";

static err lock_once(struct postgres_engine *e)
{
    PGresult *answer = postgres_query(e, try_lock);
    const err why = postgres_expect(e, answer, PGRES_TUPLES_OK, "lock it");
    if (why == OK)
        e->locked = strcmp(PQgetvalue(answer, 0, 0), "t") == 0;
    PQclear(answer);
    return why;
}

/* Whoever holds it may have left no name, or one that we may not see. */
static err refuse_second(struct postgres_engine *e)
{
    PGresult *leader = postgres_query(e, ask_leader);
    PGresult *process = postgres_query(e, ask_holder);
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
    return postgres_say(e, ERR_EXISTS, text);
}

static err refuse_taken_over(struct postgres_engine *e, const char *holder)
{
    char text[300];
    snprintf(text, sizeof text, "\"%.200s\" took the store over", holder);
    return postgres_say(e, ERR_FENCED, text);
}

/* The server may need a moment to notice that the daemon before us is dead. */
static err take_lock(struct postgres_engine *e)
{
    const struct timespec pause = {.tv_nsec = (long)LOCK_PAUSE_MS * 1000000};
    for (int i = 0; i < LOCK_TRIES; i++) {
        const err why = lock_once(e);
        if (why != OK || e->locked)
            return why;
        ignore(nanosleep(&pause, NULL), "a shorter pause does no harm");
    }
    return refuse_second(e);
}

/* Whoever led and comes back asks first who leads now: a successor may have a newer schema, and
 * that is none of our business any more. */
static err refuse_ousted(struct postgres_engine *e)
{
    PGresult *answer = postgres_query(e, "SELECT epoch, claim, holder FROM leadership");
    err why = PQstatus(e->db) == CONNECTION_OK
                  ? OK /* a table that is not there is for the schema to judge */
                  : postgres_expect(e, answer, PGRES_TUPLES_OK, "read who leads");
    if (PQresultStatus(answer) == PGRES_TUPLES_OK && PQntuples(answer) == 1) {
        const int64_t epoch = strtoll(PQgetvalue(answer, 0, 0), NULL, 10);
        const bool ours = strcmp(PQgetvalue(answer, 0, 1), e->claim) == 0;
        if (epoch != e->held && !(ours && epoch == e->held + 1))
            why = refuse_taken_over(e, PQgetvalue(answer, 0, 2));
    }
    PQclear(answer);
    return why;
}

/* ---- getting ready ---- */

/* `first`: this is the opening of a store, where schemas are made and locks are waited for. */
static err connect(struct postgres_engine *e, bool first)
{
    hang_up(e);
    engine_touch(&e->engine);
    e->db = dial(e);
    must(e->db);
    if (PQstatus(e->db) != CONNECTION_OK || PQsetnonblocking(e->db, 1) != 0)
        return postgres_trouble(e, NULL, "connect");
    const bool opens = first && e->mode == ENGINE_WRITE;
    engine_touch(&e->engine);
    e->is_opening = opens;
    err why = configure(e);
    if (why == OK && opens)
        why = take_lock(e);
    if (why == OK && e->held)
        why = refuse_ousted(e);
    if (why == OK)
        why = postgres_schema(e, opens);
    if (why == OK)
        why = postgres_prepare(e);
    e->ready = why == OK;
    e->is_opening = false;
    return why;
}

err postgres_get_ready(struct postgres_engine *e)
{
    if (e->ready && PQstatus(e->db) == CONNECTION_OK)
        return OK;
    if (e->mode == ENGINE_READ)
        return connect(e, false);
    return postgres_say(e, ERR_UNAVAILABLE, "the connection was lost");
}

static void postgres_close(struct engine *engine)
{
    struct postgres_engine *e = postgres_of(engine);
    FAILPOINT(CLOSE_BEFORE);
    hang_up(e);
    FAILPOINT(CLOSE_AFTER);
    arena_fini(&e->arena);
    free(e->url);
    free(e->holder);
    free(e);
}

/* ---- leading ---- */

static err raise_epoch(struct postgres_engine *e, int64_t epoch, struct store_mark *out_mark,
                       bool *out_found)
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

/* The epoch is not the one we held: either we raised it ourselves and the answer was lost, or
 * somebody else leads. */
static err recognise(struct postgres_engine *e, int64_t epoch, struct store_mark *out_mark)
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
        why = refuse_taken_over(e, PQgetvalue(answer, 0, HOLDER));
    }
    PQclear(answer);
    return why;
}

/* Raising the epoch waits for a transaction of ours that the server still carries out, and a late
 * one finds the epoch raised: what is read behind it holds. */
static err postgres_lead(struct engine *engine, int64_t epoch, struct store_mark *out_mark)
{
    struct postgres_engine *e = postgres_of(engine);
    struct store_mark mark;
    bool found = false;
    e->held = epoch;
    err why = postgres_is_idle(e) ? OK : connect(e, false);
    if (why == OK)
        why = raise_epoch(e, epoch, &mark, &found);
    if (why == OK && !found)
        why = recognise(e, epoch, &mark);
    if (why == OK)
        why = postgres_find_high(e);
    if (why == OK && !e->locked)
        why = lock_once(e); /* our dead connection may still have it: rest() tries again */
    if (why == OK)
        *out_mark = mark;
    return why;
}

static void postgres_rest(struct engine *engine)
{
    struct postgres_engine *e = postgres_of(engine);
    if (e->mode == ENGINE_WRITE && !e->locked && postgres_is_idle(e))
        ignore(lock_once(e), "the next batch notices a connection that is lost");
}

static err postgres_check(struct engine *engine, int64_t epoch)
{
    struct postgres_engine *e = postgres_of(engine);
    struct store_mark mark;
    if (!postgres_is_idle(e))
        return postgres_say(e, ERR_UNAVAILABLE, "the connection was lost");
    const err why = postgres_look(e, &mark);
    if (why != OK || mark.epoch == epoch)
        return why;
    return postgres_say(e, ERR_FENCED, "somebody else took the store over");
}

/* ---- opening ---- */

static const struct engine_ops postgres_ops = {
    .close = postgres_close,
    .lead = postgres_lead,
    .write = postgres_write,
    .rest = postgres_rest,
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

static struct postgres_engine *engine_new(const char *url, enum engine_mode mode,
                                          const char *holder)
{
    struct postgres_engine *e = calloc(1, sizeof *e);
    must(e);
    e->engine.ops = &postgres_ops;
    e->mode = mode;
    e->url = strdup(url);
    e->holder = strdup(holder);
    must(e->url && e->holder);
    engine_draw_claim(e->claim);
    return e;
}

/* libpq quotes what it does not understand, and that may be a password. */
static err refuse_url(const char *url, struct store_why *out_why)
{
    char *said = NULL;
    PQconninfoOption *options = PQconninfoParse(url, &said);
    PQfreemem(said);
    PQconninfoFree(options);
    if (options)
        return OK;
    snprintf(out_why->text, sizeof out_why->text,
             "the URL of the PostgreSQL store does not read as one; special characters of a "
             "password are written as %%XX");
    return ERR_SYNTAX;
}

static void warn_of_haste(struct postgres_engine *e)
{
    PGresult *answer = postgres_query(e, "SHOW fsync");
    if (PQresultStatus(answer) == PGRES_TUPLES_OK && strcmp(PQgetvalue(answer, 0, 0), "off") == 0)
        log_print(LOG_WARNING, "the PostgreSQL server runs with fsync off: a crash of its machine "
                               "loses what was acknowledged");
    PQclear(answer);
}

err postgres_open(const char *location, enum engine_mode mode, const char *holder,
                  struct engine **out_engine, struct store_why *out_why)
{
    err why = refuse_url(location, out_why);
    if (why != OK)
        return why;
    struct postgres_engine *e = engine_new(location, mode, holder);
    FAILPOINT(OPEN_BEFORE);
    why = connect(e, true);
    FAILPOINT(OPEN_AFTER);
    if (why == OK) {
        if (mode == ENGINE_WRITE)
            warn_of_haste(e);
        *out_engine = &e->engine;
        return OK;
    }
    *out_why = e->engine.why;
    postgres_close(&e->engine);
    return why;
}
