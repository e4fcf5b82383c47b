/* postgres_call.c - execution of statements, and the mapping of their errors.
 *
 * Errors that may pass (a lost connection, a restart of the server, a lock timeout) become
 * ERR_UNAVAILABLE, after which the turn leads again. Damaged data is ERR_CORRUPT, a full disk
 * ERR_NO_SPACE, everything else ERR_IO.
 */
#include "store/postgres_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ---- */

/* Prefixes of SQLSTATE; the first match counts, any other state is ERR_IO. */
static const struct {
    const char *prefix;
    err means;
} states[] = {
    {"53100", ERR_NO_SPACE},    /* disk full                                             */
    {"53", ERR_UNAVAILABLE},    /* out of connections, memory, ...                       */
    {"08", ERR_UNAVAILABLE},    /* connection failure                                    */
    {"57", ERR_UNAVAILABLE},    /* operator intervention; starting up, shutting down     */
    {"55P03", ERR_UNAVAILABLE}, /* lock timeout                                          */
    {"40", ERR_UNAVAILABLE},    /* serialization failure or deadlock: rolled back        */
    {"25006", ERR_UNAVAILABLE}, /* read only: a standby that may be promoted             */
    {"25P03", ERR_UNAVAILABLE}, /* idle-in-transaction timeout                           */
    {"XX001", ERR_CORRUPT},     /* damaged data                                          */
    {"XX002", ERR_CORRUPT},     /* damaged index                                         */
};

static err postgres_error_of(const struct postgres_engine *e, const char *state)
{
    for (size_t i = 0; state && i < sizeof states / sizeof states[0]; i++)
        if (strncmp(state, states[i].prefix, strlen(states[i].prefix)) == 0)
            return states[i].means;
    return PQstatus(e->db) == CONNECTION_OK ? ERR_IO : ERR_UNAVAILABLE;
}

err postgres_set_error(struct postgres_engine *e, err why, const char *text)
{
    const char *name = e->db ? PQdb(e->db) : NULL;
    snprintf(e->engine.why.text, sizeof e->engine.why.text, "PostgreSQL database \"%.60s\": %.400s",
             name ? name : "", text);
    return why;
}

err postgres_fail(struct postgres_engine *e, const PGresult *answer, const char *doing)
{
    const char *state = PQresultErrorField(answer, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(answer, PG_DIAG_MESSAGE_PRIMARY);
    char line[300], text[400];
    if (!message)
        message = PQerrorMessage(e->db);
    /* libpq ends its messages with a newline, and some have several lines. */
    size_t length = strlen(message);
    while (length && message[length - 1] == '\n')
        length--;
    snprintf(line, sizeof line, "%.*s", (int)length, message);
    for (char *at = line; *at; at++)
        if (*at == '\n' || *at == '\t')
            *at = ' ';
    snprintf(text, sizeof text, "cannot %.60s: %s%s%.5s%s", doing,
             line[0] ? line : "unexpected response of the server", state ? " (" : "",
             state ? state : "", state ? ")" : "");
    return postgres_set_error(e, postgres_error_of(e, state), text);
}

err postgres_expect(struct postgres_engine *e, const PGresult *answer, ExecStatusType kind,
                    const char *doing)
{
    return PQresultStatus(answer) == kind ? OK : postgres_fail(e, answer, doing);
}

bool postgres_is_idle(const struct postgres_engine *e)
{
    return e->db && e->ready && PQstatus(e->db) == CONNECTION_OK &&
           PQtransactionStatus(e->db) == PQTRANS_IDLE;
}

/* ---- statements ---- */

err postgres_exec(struct postgres_engine *e, const char *sql, const char *doing)
{
    PGresult *answer = postgres_query(e, sql);
    const err why = postgres_expect(e, answer, PGRES_COMMAND_OK, doing);
    PQclear(answer);
    return why;
}

/* The number of values before the terminating NULL. */
static int postgres_count_values(const char *const values[])
{
    int count = 0;
    while (values && values[count])
        count++;
    return count;
}

err postgres_query_catalog(struct postgres_engine *e, const char *sql, const char *const values[],
                           PGresult **out_answer)
{
    *out_answer = postgres_query_with(e, sql, postgres_count_values(values), values);
    return postgres_expect(e, *out_answer, PGRES_TUPLES_OK, "read its catalog");
}

err postgres_call(struct postgres_engine *e, enum statement which, const char *const values[],
                  const char *doing, PGresult **out_answer)
{
    const struct statement_text *text = &statement_texts[which];
    *out_answer = postgres_query_prepared(
        e, text->name,
        &(struct postgres_values){.count = postgres_count_values(values), .at = values});
    const ExecStatusType kind = PQresultStatus(*out_answer);
    return kind == PGRES_COMMAND_OK || kind == PGRES_TUPLES_OK
               ? OK
               : postgres_fail(e, *out_answer, doing);
}

void postgres_op_name(enum table table, enum table_op op, char out_name[POSTGRES_NAME_SIZE])
{
    static const char *const words[OP_COUNT] = {"insert", "update", "delete", "high", "load"};
    snprintf(out_name, POSTGRES_NAME_SIZE, "%s %s", words[op], table_name(table));
}

static err postgres_prepare_one(struct postgres_engine *e, const char *name, const char *sql)
{
    PGresult *answer = postgres_query_prepare(e, name, sql);
    const err why = postgres_expect(e, answer, PGRES_COMMAND_OK, "prepare its statements");
    PQclear(answer);
    return why;
}

/* A reader needs no statements of tables, since it writes nothing; COPY cannot be prepared. */
err postgres_prepare(struct postgres_engine *e)
{
    err why = OK;
    for (uint32_t s = 0; s < STATEMENT_COUNT && why == OK; s++)
        why = postgres_prepare_one(e, statement_texts[s].name, statement_texts[s].postgres);
    for (uint32_t t = 0; t < TABLE_COUNT && e->mode == ENGINE_WRITE; t++)
        for (uint32_t op = 0; op < OP_LOAD && why == OK; op++) {
            char name[POSTGRES_NAME_SIZE];
            postgres_op_name((enum table)t, (enum table_op)op, name);
            if (postgres_table_sql[t][op])
                why = postgres_prepare_one(e, name, postgres_table_sql[t][op]);
        }
    return why;
}

/* ---- values ---- */

void postgres_number(int64_t value, char out_text[POSTGRES_NUMBER_SIZE])
{
    snprintf(out_text, POSTGRES_NUMBER_SIZE, "%lld", (long long)value);
}

static int64_t postgres_result_number(const PGresult *answer, int column)
{
    return strtoll(PQgetvalue(answer, 0, column), NULL, 10);
}

err postgres_mark_of(struct postgres_engine *e, const PGresult *answer, struct store_mark *out_mark)
{
    if (PQntuples(answer) != 1)
        return postgres_set_error(e, ERR_CORRUPT, "table leadership does not have exactly one row");
    *out_mark = (struct store_mark){.epoch = postgres_result_number(answer, 0),
                                    .turn = postgres_result_number(answer, 1),
                                    .now_ms = postgres_result_number(answer, 2)};
    const char *digest = PQgetvalue(answer, 0, 3);
    out_mark->has_digest = engine_parse_digest(digest, &out_mark->digest);
    if (!out_mark->has_digest && digest[0] != '\0') /* a migration clears it */
        return postgres_set_error(e, ERR_CORRUPT, "the digest in its leadership row is damaged");
    return OK;
}

err postgres_read_mark(struct postgres_engine *e, struct store_mark *out_mark)
{
    PGresult *answer;
    err why = postgres_call(e, STATEMENT_MARK, NULL, "read the leadership row", &answer);
    if (why == OK)
        why = postgres_mark_of(e, answer, out_mark);
    PQclear(answer);
    return why;
}
