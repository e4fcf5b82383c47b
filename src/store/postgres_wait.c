/* postgres_wait.c - calls of libpq with bounded waits.
 *
 * A server can stop in the middle of a response without closing the connection, and libpq would
 * wait forever. Here a connection without any progress for PATIENCE_MS counts as lost. That is
 * longer than clients wait for a batch (30 s), so that a server that answers a little later has
 * executed the batch and the connection is kept.
 *
 * A connection is given up by shutting down its socket: libpq then reports the loss itself, in
 * whatever state it is.
 */
#include "store/postgres_private.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/err.h"

enum { PATIENCE_MS = 45000, MIGRATION_PATIENCE_MS = 600000, SLICE_MS = 500 };

static bool postgres_abandon(struct postgres_engine *e)
{
    ignore(shutdown(PQsocket(e->db), SHUT_RDWR), "the connection is closed already");
    return false;
}

static int postgres_patience_ms(const struct postgres_engine *e)
{
    if (e->engine.patience_ms)
        return e->engine.patience_ms;
    return e->is_opening ? MIGRATION_PATIENCE_MS : PATIENCE_MS;
}

/* Waits until the socket is readable or, while sending, writable; either is progress. The wait is
 * divided into slices, so that a caller that gives up is noticed. */
static bool postgres_wait_socket(struct postgres_engine *e, bool sending)
{
    struct pollfd socket = {.fd = PQsocket(e->db),
                            .events = (short)(sending ? POLLIN | POLLOUT : POLLIN)};
    int ready = 0;
    for (int left_ms = postgres_patience_ms(e); left_ms > 0 && !engine_gives_up(&e->engine);) {
        const int slice_ms = left_ms < SLICE_MS ? left_ms : SLICE_MS;
        ready = poll(&socket, 1, slice_ms);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            break;
        left_ms -= slice_ms; /* an interrupted slice counts completely: signals are rare here */
    }
    if (ready <= 0)
        return postgres_abandon(e);
    engine_touch(&e->engine);
    return !(socket.revents & POLLIN) || PQconsumeInput(e->db) == 1;
}

/* False: the connection is unusable. */
static bool postgres_flush_output(struct postgres_engine *e)
{
    int left;
    while ((left = PQflush(e->db)) == 1)
        if (!postgres_wait_socket(e, true))
            return false;
    return left == 0;
}

PGresult *postgres_next(struct postgres_engine *e)
{
    while (PQisBusy(e->db))
        if (!postgres_wait_socket(e, false))
            break;
    return PQgetResult(e->db);
}

/* Returns the last result, as PQexec does. In the case of COPY the caller reads the rows. */
static PGresult *postgres_collect_result(struct postgres_engine *e, int sent)
{
    PGresult *last = NULL, *next;
    if (sent == 1 && !postgres_flush_output(e))
        ignore(postgres_abandon(e), "the result reports the loss");
    while ((next = postgres_next(e)) != NULL) {
        /* A failed statement is followed by the result of the rollback; the error counts. */
        if (last && PQresultStatus(last) == PGRES_FATAL_ERROR) {
            PQclear(next);
            continue;
        }
        PQclear(last);
        last = next;
        if (PQresultStatus(last) == PGRES_COPY_OUT)
            break;
    }
    return last;
}

PGresult *postgres_query(struct postgres_engine *e, const char *sql)
{
    return postgres_collect_result(e, PQsendQuery(e->db, sql));
}

PGresult *postgres_query_with(struct postgres_engine *e, const char *sql, int count,
                              const char *const values[])
{
    return postgres_collect_result(
        e, PQsendQueryParams(e->db, sql, count, NULL, values, NULL, NULL, 0));
}

PGresult *postgres_query_prepare(struct postgres_engine *e, const char *name, const char *sql)
{
    return postgres_collect_result(e, PQsendPrepare(e->db, name, sql, 0, NULL));
}

PGresult *postgres_query_prepared(struct postgres_engine *e, const char *name,
                                  const struct postgres_values *values)
{
    return postgres_collect_result(e, PQsendQueryPrepared(e->db, name, values->count, values->at,
                                                          values->sizes, values->formats,
                                                          values->binary_answer));
}

int postgres_copy_row(struct postgres_engine *e, char **out_row)
{
    int size;
    while ((size = PQgetCopyData(e->db, out_row, 1)) == 0)
        if (!postgres_wait_socket(e, false))
            return -2;
    return size;
}
