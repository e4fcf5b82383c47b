/* postgres_rows.c - writing rows in chunks.
 *
 * Rows of one table with the same operation are collected and sent with one statement, in which
 * each parameter is an array with the values of one column, in the binary format of the server: a
 * header, then the size and the bytes of each element. Most columns of most rows are zero or empty,
 * so an array ends with its last other value, and the statement treats missing elements as zero or
 * empty (tools/gen/statements).
 *
 * Owns the chunks of the transaction in progress, in e->arena. Chunks of different operations must
 * be sent in the right order; postgres_write.c flushes between deletions and other rows.
 *
 * Failure: a chunk is emptied when it was sent, also without success. The caller rolls the
 * transaction back and calls postgres_drop_rows(); nothing is repeated here, except that an update
 * that finds too few rows is replaced by a deletion and an insertion.
 */
#include "store/postgres_private.h"

#include <endian.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/buf.h"
#include "store/columns.h"
#include "sys/failpoint.h"

enum {
    CHUNK_ROWS = 5000,    /* a chunk with so many rows is sent */
    CHUNK_TEXT = 4 << 20, /* and one with so many bytes of strings */
    COLUMNS_MAX = 64,
    HEAD_SIZE = 20 /* of an array with one dimension, in bytes */
};

/* Object ids of the types in pg_type, which are fixed. */
enum { OID_BOOL = 16, OID_INT8 = 20, OID_TEXT = 25 };

struct array {
    struct buf bytes;
    uint32_t count; /* elements written */
    uint32_t oid;
};

struct postgres_chunk {
    enum table table;
    enum table_op op;
    uint32_t rows;
    uint32_t columns;
    uint32_t text; /* bytes of all strings */
    struct array arrays[COLUMNS_MAX];
};

/* ---- arrays ---- */

static char *array_write_u32(char *at, uint32_t value)
{
    const uint32_t wire = htobe32(value);
    memcpy(at, &wire, sizeof wire);
    return at + sizeof wire;
}

static void array_put_number(struct array *a, int64_t value)
{
    const uint64_t wire = htobe64((uint64_t)value);
    char *at = buf_room(&a->bytes, sizeof(uint32_t) + sizeof wire);
    memcpy(array_write_u32(at, sizeof wire), &wire, sizeof wire);
    a->bytes.len += (uint32_t)(sizeof(uint32_t) + sizeof wire);
}

static void array_put_bool(struct array *a, bool value)
{
    char *at = buf_room(&a->bytes, sizeof(uint32_t) + 1);
    *array_write_u32(at, 1) = value;
    a->bytes.len += (uint32_t)sizeof(uint32_t) + 1;
}

static void array_put_string(struct array *a, struct str value)
{
    array_write_u32(buf_room(&a->bytes, sizeof(uint32_t)), value.len);
    a->bytes.len += (uint32_t)sizeof(uint32_t);
    buf_put_str(&a->bytes, value);
}

/* Appends zero or empty elements up to `row`. */
static void array_fill_up(struct array *a, uint32_t row)
{
    for (; a->count < row; a->count++)
        switch (a->oid) {
        case OID_INT8: array_put_number(a, 0); break;
        case OID_BOOL: array_put_bool(a, false); break;
        default: array_put_string(a, STR("")); break;
        }
}

static void array_reset(struct array *a)
{
    a->count = 0;
    a->bytes.len = 0;
    memset(buf_room(&a->bytes, HEAD_SIZE), 0, HEAD_SIZE);
    a->bytes.len = HEAD_SIZE;
}

/* Writes the header: number of dimensions, NULL flag, type, then the size and first index of the
 * only dimension. An array without elements has no dimension. Returns the size in bytes. */
static int array_finish(struct array *a)
{
    char *at = a->bytes.at;
    at = array_write_u32(at, a->count ? 1 : 0);
    at = array_write_u32(at, 0);
    at = array_write_u32(at, a->oid);
    if (!a->count)
        return (int)(at - a->bytes.at);
    at = array_write_u32(at, a->count);
    array_write_u32(at, 1);
    must(a->bytes.len <= INT_MAX);
    return (int)a->bytes.len;
}

/* ---- rows ---- */

static void chunk_add_field(struct postgres_chunk *c, const struct record *record, uint32_t i)
{
    struct array *a = &c->arrays[i];
    const bool is_key = i < columns_key(c->table);
    if (a->oid == OID_TEXT) {
        const struct str text = column_text(record, i);
        if (!text.len && !is_key)
            return;
        array_fill_up(a, c->rows);
        array_put_string(a, text);
        c->text += text.len;
    } else {
        const int64_t number = column_number(record, i);
        if (!number && !is_key)
            return;
        array_fill_up(a, c->rows);
        if (a->oid == OID_BOOL)
            array_put_bool(a, number);
        else
            array_put_number(a, number);
    }
    a->count++;
}

static void chunk_reset(struct postgres_chunk *c)
{
    c->rows = 0;
    c->text = 0;
    for (uint32_t i = 0; i < c->columns; i++)
        array_reset(&c->arrays[i]);
}

static struct postgres_chunk *chunk_get(struct postgres_engine *e, enum table table,
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
    chunk_reset(c);
    e->chunks[table][op] = c;
    return c;
}

/* ---- sending ---- */

/* *out_count is the number of affected rows. */
static err chunk_send_arrays(struct postgres_engine *e, struct postgres_chunk *c, enum table_op op,
                             uint32_t *out_count)
{
    const char *values[COLUMNS_MAX];
    int sizes[COLUMNS_MAX], formats[COLUMNS_MAX];
    const uint32_t columns = op == OP_DELETE ? columns_key(c->table) : c->columns;
    char name[POSTGRES_NAME_SIZE];
    for (uint32_t i = 0; i < columns; i++) {
        sizes[i] = array_finish(&c->arrays[i]);
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

static err chunk_send(struct postgres_engine *e, struct postgres_chunk *c)
{
    uint32_t count = 0;
    err why = chunk_send_arrays(e, c, c->op, &count);
    if (why == OK && c->op == OP_UPDATE && count != c->rows) {
        /* Some rows of the update did not exist: delete the existing ones, then insert all. */
        why = chunk_send_arrays(e, c, OP_DELETE, &count);
        if (why == OK)
            why = chunk_send_arrays(e, c, OP_INSERT, &count);
    }
    if (why == OK && c->op != OP_DELETE && count != c->rows) {
        char text[200];
        snprintf(text, sizeof text, "table \"%s\" did not accept all rows", table_name(c->table));
        why = postgres_set_error(e, ERR_IO, text);
    }
    chunk_reset(c);
    return why;
}

err postgres_put_row(struct postgres_engine *e, enum table_op op, const struct record *record)
{
    struct postgres_chunk *c = chunk_get(e, record->table, op);
    for (uint32_t i = 0; i < c->columns; i++)
        chunk_add_field(c, record, i);
    c->rows++;
    return c->rows == CHUNK_ROWS || c->text >= CHUNK_TEXT ? chunk_send(e, c) : OK;
}

err postgres_flush(struct postgres_engine *e)
{
    err why = OK;
    for (uint32_t t = 0; t < TABLE_COUNT; t++)
        for (uint32_t op = 0; op < OP_COUNT && why == OK; op++)
            if (e->chunks[t][op] && e->chunks[t][op]->rows)
                why = chunk_send(e, e->chunks[t][op]);
    return why;
}

void postgres_drop_rows(struct postgres_engine *e)
{
    memset(e->chunks, 0, sizeof e->chunks);
    arena_reset(&e->arena);
}
