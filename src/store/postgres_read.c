/* postgres_read.c - reads: whole tables by binary COPY, pages of the history by statements with
 * binary results.
 *
 * postgres_begin() opens a transaction with one snapshot before it reads the store position, so
 * that all reads until postgres_end() see the turn of that position. A table is complete only when
 * the server has reported the success of the COPY after its last row.
 *
 * There is no state beyond the connection. Failure: a row that is no valid record is ERR_CORRUPT.
 * If a row is invalid or refused by the callback, the COPY is cancelled and its rest is read and
 * dropped, so that the connection stays usable. Records passed before a failure are not taken back.
 */
#include "store/postgres_private.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "store/columns.h"

/* ---- binary values ---- */

/* The unread bytes of a row or of the COPY header. */
struct bytes {
    const char *at;
    size_t left;
};

static bool copy_take(struct bytes *b, size_t size, const char **out)
{
    if (b->left < size)
        return false;
    *out = b->at;
    b->at += size;
    b->left -= size;
    return true;
}

static bool copy_take_u16(struct bytes *b, uint16_t *out)
{
    const char *at;
    if (!copy_take(b, sizeof *out, &at))
        return false;
    memcpy(out, at, sizeof *out);
    *out = be16toh(*out);
    return true;
}

static bool copy_take_u32(struct bytes *b, uint32_t *out)
{
    const char *at;
    if (!copy_take(b, sizeof *out, &at))
        return false;
    memcpy(out, at, sizeof *out);
    *out = be32toh(*out);
    return true;
}

/* A bigint has eight bytes, a boolean one, a string any number. */
static err postgres_set_column(struct record *record, uint32_t field, struct str value)
{
    uint64_t number;
    if (column_is_text(record->table, field))
        return column_set_text(record, field, value);
    if (record_layout(record->table)->fields[field].kind == FIELD_BOOL)
        return value.len == 1 ? column_set_number(record, field, value.at[0]) : ERR_CORRUPT;
    if (value.len != sizeof number)
        return ERR_CORRUPT;
    memcpy(&number, value.at, sizeof number);
    return column_set_number(record, field, (int64_t)be64toh(number));
}

static err postgres_refuse_row(struct postgres_engine *e, enum table table)
{
    char text[200];
    snprintf(text, sizeof text, "a row of table \"%s\" has an invalid value", table_name(table));
    return postgres_set_error(e, ERR_CORRUPT, text);
}

/* ---- COPY ---- */

/* The COPY header: the signature "PGCOPY\n\377\r\n\0", flags, and an extension, which known servers
 * leave empty. */
static bool copy_skip_header(struct bytes *b)
{
    static const char signature[11] = "PGCOPY\n\377\r\n";
    const char *at;
    uint32_t flags, extension;
    return copy_take(b, sizeof signature, &at) && memcmp(at, signature, sizeof signature) == 0 &&
           copy_take_u32(b, &flags) && flags == 0 && copy_take_u32(b, &extension) &&
           copy_take(b, extension, &at);
}

/* Each column is a size and that many bytes; the size -1 is NULL. */
static bool copy_read_row(struct bytes *b, struct record *out)
{
    const uint32_t count = record_layout(out->table)->count;
    for (uint32_t i = 0; i < count; i++) {
        struct str value;
        if (!copy_take_u32(b, &value.len))
            return false;
        if (value.len == UINT32_MAX) {
            /* The statement returns NULL for zero and the empty string, which most columns are, to
             * save bytes (tools/gen/statements). */
            const err why = column_is_text(out->table, i) ? column_set_text(out, i, STR(""))
                                                          : column_set_number(out, i, 0);
            if (why != OK)
                return false;
        } else if (!copy_take(b, value.len, &value.at) ||
                   postgres_set_column(out, i, value) != OK) {
            return false;
        }
    }
    return true;
}

/* One message of the COPY: the header with or without the first row, a row, or the trailer. */
static err copy_read_message(struct postgres_engine *e, struct bytes b, struct record *record,
                             struct record_callback callback)
{
    enum { END = 0xffff };
    const uint16_t width = record_layout(record->table)->count;
    while (b.left) {
        uint16_t columns;
        if (!copy_take_u16(&b, &columns))
            return postgres_refuse_row(e, record->table);
        if (columns == END)
            return OK;
        if (columns != width || !copy_read_row(&b, record))
            return postgres_refuse_row(e, record->table);
        const err why = callback.record(callback.self, record);
        if (why != OK)
            return why;
    }
    return OK;
}

static err copy_read_rows(struct postgres_engine *e, enum table table,
                          struct record_callback callback)
{
    struct record record;
    char *row = NULL;
    int size;
    bool begun = false;
    err why = OK;
    memset(&record, 0, sizeof record);
    record.table = table;
    while (why == OK && (size = postgres_copy_row(e, &row)) > 0) {
        struct bytes b = {row, (size_t)size};
        if (!begun && !copy_skip_header(&b))
            why = postgres_refuse_row(e, table);
        else
            why = copy_read_message(e, b, &record, callback);
        begun = true;
        PQfreemem(row);
    }
    if (why != OK) {
        /* Cancel the COPY, then read and drop the rows that were sent already. */
        char text[256];
        PGcancel *cancel = PQgetCancel(e->db);
        if (cancel)
            ignore(PQcancel(cancel, text, sizeof text), "then all remaining rows are read");
        PQfreeCancel(cancel);
        while (postgres_copy_row(e, &row) > 0)
            PQfreemem(row);
    }
    return why;
}

err postgres_table(struct engine *engine, enum table table, struct record_callback callback)
{
    struct postgres_engine *e = postgres_of(engine);
    err why = postgres_ensure_connected(e);
    if (why != OK)
        return why;
    PGresult *answer = postgres_query(e, postgres_table_sql[table][OP_LOAD]);
    why = postgres_expect(e, answer, PGRES_COPY_OUT, "read a table");
    PQclear(answer);
    if (why != OK)
        return why;
    why = copy_read_rows(e, table, callback);
    /* Only the final result of the server shows that all rows were sent. */
    answer = postgres_next(e);
    if (why == OK)
        why = postgres_expect(e, answer, PGRES_COMMAND_OK, "read a table");
    for (; answer; answer = postgres_next(e))
        PQclear(answer);
    return why;
}

/* ---- snapshot reads ---- */

err postgres_begin(struct engine *engine, struct store_mark *out_mark)
{
    struct postgres_engine *e = postgres_of(engine);
    err why = postgres_ensure_connected(e);
    if (why == OK)
        why = postgres_exec(e, "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", "begin to read");
    if (why != OK)
        return why;
    why = postgres_read_mark(e, out_mark);
    if (why != OK)
        postgres_roll_back(e);
    return why;
}

void postgres_end(struct engine *engine)
{
    postgres_roll_back(postgres_of(engine));
}

/* ---- history ---- */

static err postgres_read_result(struct postgres_engine *e, const PGresult *answer, enum table table,
                                struct record_callback callback)
{
    struct record record;
    err why = OK;
    memset(&record, 0, sizeof record);
    record.table = table;
    for (int row = 0; row < PQntuples(answer) && why == OK; row++) {
        for (int i = 0; i < PQnfields(answer) && why == OK; i++) {
            const struct str value = {PQgetvalue(answer, row, i),
                                      (uint32_t)PQgetlength(answer, row, i)};
            why = postgres_set_column(&record, (uint32_t)i, value);
        }
        why = why == OK ? callback.record(callback.self, &record) : postgres_refuse_row(e, table);
    }
    return why;
}

/* A statement of the history and its parameters. */
struct history_query {
    enum statement which;
    enum table table;
    int count;
    int64_t numbers[5];
};

static err postgres_query_history(struct postgres_engine *e, const struct history_query *l,
                                  struct record_callback callback)
{
    char texts[5][POSTGRES_NUMBER_SIZE];
    const char *values[5];
    for (int i = 0; i < l->count; i++) {
        postgres_number(l->numbers[i], texts[i]);
        values[i] = texts[i];
    }
    err why = postgres_ensure_connected(e);
    if (why != OK)
        return why;
    PGresult *answer = postgres_query_prepared(
        e, statement_texts[l->which].name,
        &(struct postgres_values){.count = l->count, .at = values, .binary_answer = 1});
    why = postgres_expect(e, answer, PGRES_TUPLES_OK, "read the history");
    if (why == OK)
        why = postgres_read_result(e, answer, l->table, callback);
    PQclear(answer);
    return why;
}

err postgres_events(struct engine *engine, struct history_cursor from, uint32_t limit,
                    struct record_callback callback)
{
    const enum statement which = from.is_backward ? STATEMENT_EVENTS_BACK : STATEMENT_EVENTS;
    const struct history_query l = {which, TABLE_EVENT, 3, {from.turn, from.n, limit}};
    return postgres_query_history(postgres_of(engine), &l, callback);
}

err postgres_intervals(struct engine *engine, const struct interval_page *page,
                       struct record_callback callback)
{
    const bool is_data = page->table == TABLE_OLD_DATA;
    const struct history_query l = {
        .which = is_data ? STATEMENT_DATA : STATEMENT_MEMBERS,
        .table = page->table,
        .count = is_data ? 5 : 4,
        .numbers = {page->deployment_id, page->seq, page->limit, page->after[0], page->after[1]}};
    return postgres_query_history(postgres_of(engine), &l, callback);
}

err postgres_runs(struct engine *engine, int64_t noderole_id, uint32_t limit,
                  struct record_callback callback)
{
    const struct history_query l = {STATEMENT_RUNS, TABLE_OLD_RUN, 2, {noderole_id, limit}};
    return postgres_query_history(postgres_of(engine), &l, callback);
}

/* ---- verification ---- */

static err accept_record(void *self, const struct record *record)
{
    (void)self;
    (void)record;
    return OK;
}

/* The files of the server cannot be checked from here; that every row is a valid record can. */
err postgres_verify(struct engine *engine)
{
    struct store_mark mark;
    err why = postgres_begin(engine, &mark);
    if (why != OK)
        return why;
    for (uint32_t t = 0; t < TABLE_COUNT && why == OK; t++)
        why = postgres_table(engine, (enum table)t, (struct record_callback){NULL, accept_record});
    postgres_end(engine);
    return why;
}
