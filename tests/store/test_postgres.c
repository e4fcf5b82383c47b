/* The suite, against PostgreSQL: each store a database of one server that is thrown away. */
#include "tests/store/cluster.h"
#include "tests/store/real.h"

#include <libpq-fe.h>
#include <stdlib.h>

static void *postgres_make(void)
{
    return cluster_new_database();
}

/* The database goes with its server. */
static void postgres_destroy(void *place)
{
    free(place);
}

/* As if the network had failed: the server closes all connections. It refuses a second
 * daemon while the first is connected. */
static void postgres_cut(void *place)
{
    PGconn *db = PQconnectdb(place);
    CHECK(PQstatus(db) == CONNECTION_OK);
    PGresult *answer = PQexec(db, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
                                  "WHERE datname = current_database() AND pid <> pg_backend_pid()");
    CHECK(PQresultStatus(answer) == PGRES_TUPLES_OK && PQntuples(answer) > 0);
    PQclear(answer);
    PQfinish(db);
}

const struct store_maker suite_maker = {
    .name = "postgres",
    .make = postgres_make,
    .destroy = postgres_destroy,
    .open = real_open,
    .close = real_close,
    .wait = real_wait,
    .trouble = real_trouble,
    .cut = postgres_cut,
    .die = real_die,
    .intervals = real_intervals,
    .runs = real_runs,
};
