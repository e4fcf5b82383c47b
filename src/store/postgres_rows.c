#include "store/postgres_private.h"

#include <endian.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/buf.h"
#include "store/columns.h"
#include "sys/failpoint.h"

/* Rows of one table that have the same done to them wait until they are many enough for one
 * statement. A column is an array as the server reads it: a head, then each element as its size
 * and its bytes. Most columns of most rows are zero or empty, so a column ends with the last value
 * that is not, and one without any costs nothing (tools/gen/statements has the other half). */

enum { CHUNK_ROWS = 5000, CHUNK_TEXT = 4 << 20, COLUMNS_MAX = 64, HEAD_SIZE = 20 };

/* The types of the server's catalog, which never change. */
enum { OID_BOOL = 16, OID_INT8 = 20, OID_TEXT = 25 };

struct array {
    struct buf bytes;
    uint32_t count; /* of the elements that are written */
    uint32_t oid;
};

struct postgres_chunk {
    enum table table;
    enum table_op op;
    uint32_t rows;
    uint32_t columns;
    uint32_t text; /* bytes of all texts */
    struct array arrays[COLUMNS_MAX];
};

/* ---- arrays ---- */

static char *write_u32(char *at, uint32_t value)
{
    const uint32_t wire = htobe32(value);
    memcpy(at, &wire, sizeof wire);
    return at + sizeof wire;
}

static void put_number(struct array *a, int64_t value)
{
    const uint64_t wire = htobe64((uint64_t)value);
    char *at = buf_room(&a->bytes, sizeof(uint32_t) + sizeof wire);
    memcpy(write_u32(at, sizeof wire), &wire, sizeof wire);
    a->bytes.len += (uint32_t)(sizeof(uint32_t) + sizeof wire);
}

static void put_truth(struct array *a, bool value)
{
    char *at = buf_room(&a->bytes, sizeof(uint32_t) + 1);
    *write_u32(at, 1) = value;
    a->bytes.len += (uint32_t)sizeof(uint32_t) + 1;
}

static void put_text(struct array *a, struct str value)
{
    write_u32(buf_room(&a->bytes, sizeof(uint32_t)), value.len);
    a->bytes.len += (uint32_t)sizeof(uint32_t);
    buf_put_str(&a->bytes, value);
}

/* Up to `row`, which has a value again. */
static void fill_up(struct array *a, uint32_t row)
{
    for (; a->count < row; a->count++)
        switch (a->oid) {
        case OID_INT8: put_number(a, 0); break;
        case OID_BOOL: put_truth(a, false); break;
        default: put_text(a, STR("")); break;
        }
}

static void reset_array(struct array *a)
{
    a->count = 0;
    a->bytes.len = 0;
    memset(buf_room(&a->bytes, HEAD_SIZE), 0, HEAD_SIZE);
    a->bytes.len = HEAD_SIZE;
}

/* Dimensions, whether there are NULLs, type; then of the only dimension size and first index. An
 * array without elements has no dimension. */
static int finish_array(struct array *a)
{
    char *at = a->bytes.at;
    at = write_u32(at, a->count ? 1 : 0);
    at = write_u32(at, 0);
    at = write_u32(at, a->oid);
    if (!a->count)
        return (int)(at - a->bytes.at);
    at = write_u32(at, a->count);
    write_u32(at, 1);
    must(a->bytes.len <= INT_MAX);
    return (int)a->bytes.len;
}

/* ---- rows ---- */

static void add_field(struct postgres_chunk *c, const struct record *record, uint32_t i)
{
    struct array *a = &c->arrays[i];
    const bool whole = i < columns_key(c->table);
    if (a->oid == OID_TEXT) {
        const struct str text = column_text(record, i);
        if (!text.len && !whole)
            return;
        fill_up(a, c->rows);
        put_text(a, text);
        c->text += text.len;
    } else {
        const int64_t number = column_number(record, i);
        if (!number && !whole)
            return;
        fill_up(a, c->rows);
        if (a->oid == OID_BOOL)
            put_truth(a, number);
        else
            put_number(a, number);
    }
    a->count++;
}

static void reset_chunk(struct postgres_chunk *c)
{
    c->rows = 0;
    c->text = 0;
    for (uint32_t i = 0; i < c->columns; i++)
        reset_array(&c->arrays[i]);
}

static struct postgres_chunk *chunk_for(struct postgres_engine *e, enum table table,
                                        enum table_op op)
{
    if (e->chunks[table][op])
        return e->chunks[table][op];
    const struct layout *layout = record_layout(table);
    struct postgres_chunk *c = arena_new(&e->arena, struct postgres_chunk);
    c->table = table;
    c->op = op;
    c->columns = op == OP_DELETE ? columns_key(table) : layout->count;
    must(c->columns <= COLUMNS_MAX);
    for (uint32_t i = 0; i < c->columns; i++) {
        c->arrays[i].bytes = buf_in(&e->arena);
        c->arrays[i].oid = column_is_text(table, i)               ? OID_TEXT
                           : layout->fields[i].kind == FIELD_BOOL ? OID_BOOL
                                                                  : OID_INT8;
    }
    reset_chunk(c);
    e->chunks[table][op] = c;
    return c;
}

/* ---- on their way ---- */

/* `out_count`: how many rows of the table it touched. */
static err send_arrays(struct postgres_engine *e, struct postgres_chunk *c, enum table_op op,
                       uint32_t *out_count)
{
    const char *values[COLUMNS_MAX];
    int sizes[COLUMNS_MAX], formats[COLUMNS_MAX];
    const uint32_t columns = op == OP_DELETE ? columns_key(c->table) : c->columns;
    char name[POSTGRES_NAME_SIZE];
    for (uint32_t i = 0; i < columns; i++) {
        sizes[i] = finish_array(&c->arrays[i]);
        values[i] = c->arrays[i].bytes.at;
        formats[i] = 1;
    }
    postgres_op_name(c->table, op, name);
    FAILPOINT(ROW);
    PGresult *answer = postgres_query_prepared(
        e, name,
        &(struct postgres_values){
            .count = (int)columns, .at = values, .sizes = sizes, .formats = formats});
    const err why = postgres_expect(e, answer, PGRES_COMMAND_OK, "write rows");
    if (why == OK)
        *out_count = (uint32_t)strtoul(PQcmdTuples(answer), NULL, 10);
    PQclear(answer);
    return why;
}

static err refuse_count(struct postgres_engine *e, enum table table)
{
    char text[200];
    snprintf(text, sizeof text, "table \"%s\" did not take the rows it was given",
             table_name(table));
    return postgres_say(e, ERR_IO, text);
}

/* Rows that should have been there were not: end those that were, and put all of them in. */
static err put_in(struct postgres_engine *e, struct postgres_chunk *c, uint32_t *out_count)
{
    const err why = send_arrays(e, c, OP_DELETE, out_count);
    return why == OK ? send_arrays(e, c, OP_INSERT, out_count) : why;
}

static err send_chunk(struct postgres_engine *e, struct postgres_chunk *c)
{
    uint32_t count = 0;
    err why = send_arrays(e, c, c->op, &count);
    if (why == OK && c->op == OP_UPDATE && count != c->rows)
        why = put_in(e, c, &count);
    if (why == OK && c->op != OP_DELETE && count != c->rows)
        why = refuse_count(e, c->table);
    reset_chunk(c);
    return why;
}

err postgres_put_row(struct postgres_engine *e, enum table_op op, const struct record *record)
{
    struct postgres_chunk *c = chunk_for(e, record->table, op);
    for (uint32_t i = 0; i < c->columns; i++)
        add_field(c, record, i);
    c->rows++;
    return c->rows == CHUNK_ROWS || c->text >= CHUNK_TEXT ? send_chunk(e, c) : OK;
}

err postgres_flush(struct postgres_engine *e)
{
    err why = OK;
    for (uint32_t t = 0; t < TABLE_COUNT; t++)
        for (uint32_t op = 0; op < OP_COUNT && why == OK; op++)
            if (e->chunks[t][op] && e->chunks[t][op]->rows)
                why = send_chunk(e, e->chunks[t][op]);
    return why;
}

void postgres_forget_rows(struct postgres_engine *e)
{
    memset(e->chunks, 0, sizeof e->chunks);
    arena_reset(&e->arena);
}
