#include "store/postgres_private.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/err.h"

/* A server can stop in the middle of a word without its machine noticing, and libpq would wait for
 * ever. Here every wait has an end: when nothing moves for so long, the connection counts as
 * lost. That is longer than clients wait for a batch (30 s): a server that answers shortly after
 * has carried it out, and the connection goes on. */
enum { PATIENCE_MS = 45000, MIGRATION_PATIENCE_MS = 600000, SLICE_MS = 500 };

static bool give_up(struct postgres_engine *e)
{
    /* libpq notices a dead socket by itself, whatever it was about to do with it. */
    ignore(shutdown(PQsocket(e->db), SHUT_RDWR), "then it is dead already");
    return false;
}

static int patience_of(const struct postgres_engine *e)
{
    if (e->engine.patience_ms)
        return e->engine.patience_ms;
    return e->is_opening ? MIGRATION_PATIENCE_MS : PATIENCE_MS;
}

/* Wait until there is something to read, or (while sending) room to write. Either is progress. The
 * wait is cut into slices to notice a caller that gives up. */
static bool wait_for(struct postgres_engine *e, bool sending)
{
    struct pollfd socket = {.fd = PQsocket(e->db),
                            .events = (short)(sending ? POLLIN | POLLOUT : POLLIN)};
    int ready = 0;
    for (int left_ms = patience_of(e); left_ms > 0 && !engine_gives_up(&e->engine);) {
        const int slice_ms = left_ms < SLICE_MS ? left_ms : SLICE_MS;
        ready = poll(&socket, 1, slice_ms);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            break;
        left_ms -= slice_ms; /* an interrupted slice counts whole: nothing here interrupts often */
    }
    if (ready <= 0)
        return give_up(e);
    engine_touch(&e->engine);
    return !(socket.revents & POLLIN) || PQconsumeInput(e->db) == 1;
}

/* False when the connection is of no more use. */
static bool send_all(struct postgres_engine *e)
{
    int left;
    while ((left = PQflush(e->db)) == 1)
        if (!wait_for(e, true))
            return false;
    return left == 0;
}

PGresult *postgres_next(struct postgres_engine *e)
{
    while (PQisBusy(e->db))
        if (!wait_for(e, false))
            break;
    return PQgetResult(e->db);
}

/* The last answer counts, as with PQexec; a COPY is the caller's to read. */
static PGresult *answer_of(struct postgres_engine *e, int sent)
{
    PGresult *last = NULL, *next;
    if (sent == 1 && !send_all(e))
        ignore(give_up(e), "the answer says that it is lost");
    while ((next = postgres_next(e)) != NULL) {
        /* After a failure the word that all is rolled back follows; the failure is what counts. */
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
    return answer_of(e, PQsendQuery(e->db, sql));
}

PGresult *postgres_query_with(struct postgres_engine *e, const char *sql, int count,
                              const char *const values[])
{
    return answer_of(e, PQsendQueryParams(e->db, sql, count, NULL, values, NULL, NULL, 0));
}

PGresult *postgres_query_prepare(struct postgres_engine *e, const char *name, const char *sql)
{
    return answer_of(e, PQsendPrepare(e->db, name, sql, 0, NULL));
}

PGresult *postgres_query_prepared(struct postgres_engine *e, const char *name,
                                  const struct postgres_values *values)
{
    return answer_of(e, PQsendQueryPrepared(e->db, name, values->count, values->at, values->sizes,
                                            values->formats, values->binary_answer));
}

int postgres_copy_row(struct postgres_engine *e, char **out_row)
{
    int size;
    while ((size = PQgetCopyData(e->db, out_row, 1)) == 0)
        if (!wait_for(e, false))
            return -2;
    return size;
}
