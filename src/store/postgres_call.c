#include "store/postgres_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- trouble ---- */

/* SQLSTATEs by how they begin; the first that fits counts, any other is ERR_IO. */
static const struct {
    const char *prefix;
    err means;
} states[] = {
    {"53100", ERR_NO_SPACE},    /* disk full                                             */
    {"53", ERR_UNAVAILABLE},    /* out of connections, memory, ...                       */
    {"08", ERR_UNAVAILABLE},    /* the connection                                        */
    {"57", ERR_UNAVAILABLE},    /* an operator stepped in; starting up, shutting down    */
    {"55P03", ERR_UNAVAILABLE}, /* a lock was not to be had in time                      */
    {"40", ERR_UNAVAILABLE},    /* rolled back in favour of somebody else                */
    {"25006", ERR_UNAVAILABLE}, /* read only: a standby that may become the server       */
    {"25P03", ERR_UNAVAILABLE}, /* we slept in a transaction                             */
    {"XX001", ERR_CORRUPT},     /* damaged data                                          */
    {"XX002", ERR_CORRUPT},     /* damaged index                                         */
};

static err error_of(const struct postgres_engine *e, const char *state)
{
    for (size_t i = 0; state && i < sizeof states / sizeof states[0]; i++)
        if (strncmp(state, states[i].prefix, strlen(states[i].prefix)) == 0)
            return states[i].means;
    return PQstatus(e->db) == CONNECTION_OK ? ERR_IO : ERR_UNAVAILABLE;
}

/* libpq ends its messages with a newline, and some have several lines. */
static void copy_line(const char *text, char *out, size_t size)
{
    size_t length = strlen(text);
    while (length && text[length - 1] == '\n')
        length--;
    snprintf(out, size, "%.*s", (int)length, text);
    for (char *at = out; *at; at++)
        if (*at == '\n' || *at == '\t')
            *at = ' ';
}

err postgres_say(struct postgres_engine *e, err why, const char *text)
{
    const char *name = e->db ? PQdb(e->db) : NULL;
    snprintf(e->engine.why.text, sizeof e->engine.why.text, "PostgreSQL database \"%.60s\": %.400s",
             name ? name : "", text);
    return why;
}

err postgres_trouble(struct postgres_engine *e, const PGresult *answer, const char *doing)
{
    const char *state = PQresultErrorField(answer, PG_DIAG_SQLSTATE);
    const char *told = PQresultErrorField(answer, PG_DIAG_MESSAGE_PRIMARY);
    char line[300], text[400];
    copy_line(told ? told : PQerrorMessage(e->db), line, sizeof line);
    snprintf(text, sizeof text, "cannot %.60s: %s%s%.5s%s", doing,
             line[0] ? line : "the server gave another answer than expected", state ? " (" : "",
             state ? state : "", state ? ")" : "");
    return postgres_say(e, error_of(e, state), text);
}

err postgres_expect(struct postgres_engine *e, const PGresult *answer, ExecStatusType kind,
                    const char *doing)
{
    return PQresultStatus(answer) == kind ? OK : postgres_trouble(e, answer, doing);
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

/* How many there are before the NULL that ends them. */
static int count_values(const char *const values[])
{
    int count = 0;
    while (values && values[count])
        count++;
    return count;
}

err postgres_ask(struct postgres_engine *e, const char *sql, const char *const values[],
                 PGresult **out_answer)
{
    *out_answer = postgres_query_with(e, sql, count_values(values), values);
    return postgres_expect(e, *out_answer, PGRES_TUPLES_OK, "read its catalog");
}

err postgres_call(struct postgres_engine *e, enum statement which, const char *const values[],
                  const char *doing, PGresult **out_answer)
{
    const struct statement_text *text = &statement_texts[which];
    *out_answer = postgres_query_prepared(
        e, text->name, &(struct postgres_values){.count = count_values(values), .at = values});
    const ExecStatusType kind = PQresultStatus(*out_answer);
    return kind == PGRES_COMMAND_OK || kind == PGRES_TUPLES_OK
               ? OK
               : postgres_trouble(e, *out_answer, doing);
}

void postgres_op_name(enum table table, enum table_op op, char out_name[POSTGRES_NAME_SIZE])
{
    static const char *const words[OP_COUNT] = {"insert", "update", "delete", "high", "load"};
    snprintf(out_name, POSTGRES_NAME_SIZE, "%s %s", words[op], table_name(table));
}

static err prepare_one(struct postgres_engine *e, const char *name, const char *sql)
{
    PGresult *answer = postgres_query_prepare(e, name, sql);
    const err why = postgres_expect(e, answer, PGRES_COMMAND_OK, "prepare its statements");
    PQclear(answer);
    return why;
}

/* A reader writes nothing, and COPY cannot be prepared. */
err postgres_prepare(struct postgres_engine *e)
{
    err why = OK;
    for (uint32_t s = 0; s < STATEMENT_COUNT && why == OK; s++)
        why = prepare_one(e, statement_texts[s].name, statement_texts[s].postgres);
    for (uint32_t t = 0; t < TABLE_COUNT && e->mode == ENGINE_WRITE; t++)
        for (uint32_t op = 0; op < OP_LOAD && why == OK; op++) {
            char name[POSTGRES_NAME_SIZE];
            postgres_op_name((enum table)t, (enum table_op)op, name);
            if (postgres_table_sql[t][op])
                why = prepare_one(e, name, postgres_table_sql[t][op]);
        }
    return why;
}

/* ---- values ---- */

void postgres_number(int64_t value, char out_text[POSTGRES_NUMBER_SIZE])
{
    snprintf(out_text, POSTGRES_NUMBER_SIZE, "%lld", (long long)value);
}

static int64_t number_of(const PGresult *answer, int column)
{
    return strtoll(PQgetvalue(answer, 0, column), NULL, 10);
}

err postgres_mark_of(struct postgres_engine *e, const PGresult *answer, struct store_mark *out_mark)
{
    if (PQntuples(answer) != 1)
        return postgres_say(e, ERR_CORRUPT, "table leadership has not exactly one row");
    *out_mark = (struct store_mark){.epoch = number_of(answer, 0),
                                    .turn = number_of(answer, 1),
                                    .now_ms = number_of(answer, 2)};
    const char *digest = PQgetvalue(answer, 0, 3);
    out_mark->has_digest = engine_parse_digest(digest, &out_mark->digest);
    if (!out_mark->has_digest && digest[0] != '\0') /* only a migration leaves it empty */
        return postgres_say(e, ERR_CORRUPT, "the digest in its leadership row is damaged");
    return OK;
}

err postgres_look(struct postgres_engine *e, struct store_mark *out_mark)
{
    PGresult *answer;
    err why = postgres_call(e, STATEMENT_MARK, NULL, "read where it stands", &answer);
    if (why == OK)
        why = postgres_mark_of(e, answer, out_mark);
    PQclear(answer);
    return why;
}
