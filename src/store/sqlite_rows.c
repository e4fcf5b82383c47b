/* sqlite_rows.c - conversion between records and rows.
 *
 * Writing a row binds only the parameters that differ from the previous row of the same statement.
 * SQLite keeps bindings across sqlite3_reset(), and consecutive rows differ in few columns. A
 * string that is not empty is bound for each row, because that of the previous row may be freed.
 *
 * Owns the record of the bound values (e->bound) and the upper bounds of the ids (e->high).
 * Failure: the caller rolls the transaction back; a stored value that is invalid is ERR_CORRUPT.
 */
#include "store/sqlite_private.h"

#include <string.h>

#include "store/columns.h"

/* ---- records to rows ---- */

static int sqlite_bind_number(sqlite3_stmt *s, struct sqlite_bound *bound, uint32_t i,
                              int64_t value)
{
    if (bound->known && bound->last[i] == value)
        return SQLITE_OK;
    bound->last[i] = value;
    return sqlite3_bind_int64(s, (int)i + 1, value);
}

/* Binds without a copy: the strings of a record are valid until the statement was stepped. Only the
 * empty string is a constant and need not be bound again. */
static int sqlite_bind_string(sqlite3_stmt *s, struct sqlite_bound *bound, uint32_t i,
                              struct str text)
{
    enum { FULL, EMPTY };
    const int64_t is = text.len ? FULL : EMPTY;
    if (bound->known && is == EMPTY && bound->last[i] == EMPTY)
        return SQLITE_OK;
    bound->last[i] = is;
    return sqlite3_bind_text(s, (int)i + 1, text.len ? text.at : "", (int)text.len, SQLITE_STATIC);
}

/* Binds the first `count` fields of a record. */
static int sqlite_bind_record(sqlite3_stmt *s, struct sqlite_bound *bound,
                              const struct record *record, uint32_t count)
{
    const struct layout *layout = record_layout(record->table);
    const char *base = (const char *)&record->id;
    int result = SQLITE_OK;
    for (uint32_t i = 0; i < count; i++) {
        const void *at = base + layout->fields[i].offset;
        switch (layout->fields[i].kind) {
        case FIELD_I64: result |= sqlite_bind_number(s, bound, i, *(const int64_t *)at); break;
        case FIELD_U32: result |= sqlite_bind_number(s, bound, i, *(const uint32_t *)at); break;
        case FIELD_BOOL: result |= sqlite_bind_number(s, bound, i, *(const bool *)at); break;
        case FIELD_TEXT:
        case FIELD_DOC:
        case FIELD_RAW: result |= sqlite_bind_string(s, bound, i, *(const struct str *)at); break;
        }
    }
    bound->known = result == SQLITE_OK;
    return result;
}

static err step_row(struct sqlite_engine *e, enum table_op op, const struct record *record,
                    uint32_t columns)
{
    sqlite3_stmt *s = e->tables[record->table][op];
    struct sqlite_bound *bound = &e->bound[record->table][op];
    if (sqlite_bind_record(s, bound, record, columns) != SQLITE_OK)
        return sqlite_fail(e, SQLITE_NOMEM, "take a row");
    /* Some fields of these tables are stored as the name of a table: bind that instead. */
    const bool has_names = record->table == TABLE_COUNTER || record->table == TABLE_OUTBOX;
    for (uint32_t i = 0; has_names && i < columns; i++)
        if (column_is_noun(record->table, i)) {
            const struct str name = column_text(record, i);
            sqlite3_bind_text(s, (int)i + 1, name.at, (int)name.len, SQLITE_STATIC);
            bound->known = false;
        }
    return sqlite_run(e, s, "write a row");
}

/* Ids only grow, so a row with an id above `high` is new. Any other row exists already, unless its
 * id was skipped: then the update changes no row, and the row is inserted. */
err sqlite_put_row(struct sqlite_engine *e, const struct record *record)
{
    const uint32_t columns = record_layout(record->table)->count;
    if (record->table < TABLE_OBJECTS && record->id <= e->high[record->table]) {
        const err why = step_row(e, OP_UPDATE, record, columns);
        if (why != OK || sqlite3_changes(e->db) == 1)
            return why;
    }
    const err why = step_row(e, OP_INSERT, record, columns);
    if (why == OK && record->table < TABLE_OBJECTS && record->id > e->high[record->table])
        e->high[record->table] = record->id;
    return why;
}

err sqlite_end_row(struct sqlite_engine *e, const struct record *record)
{
    must(record->table < TABLE_LOADED || record->table == TABLE_OLD_RUN);
    return step_row(e, OP_DELETE, record, columns_key(record->table));
}

/* A rolled back transaction leaves `high` too large, which only costs an update without effect. */
err sqlite_find_high(struct sqlite_engine *e)
{
    for (uint32_t t = 0; t < TABLE_OBJECTS; t++) {
        sqlite3_stmt *s = e->tables[t][OP_HIGH];
        e->high[t] = INT64_MAX; /* counters have no ids: always update */
        if (!s)
            continue;
        const int result = sqlite3_step(s);
        if (result == SQLITE_ROW)
            e->high[t] = sqlite3_column_int64(s, 0);
        sqlite3_reset(s);
        if (result != SQLITE_ROW)
            return sqlite_fail(e, result, "read the highest ids");
    }
    return OK;
}

/* ---- rows to records ---- */

static err sqlite_read_row(sqlite3_stmt *s, struct record *out)
{
    const uint32_t count = record_layout(out->table)->count;
    for (uint32_t i = 0; i < count; i++) {
        err why;
        if (column_is_text(out->table, i)) {
            const char *text = (const char *)sqlite3_column_text(s, (int)i);
            const struct str value = {text ? text : "", (uint32_t)sqlite3_column_bytes(s, (int)i)};
            why = column_set_text(out, i, value);
        } else {
            why = column_set_number(out, i, sqlite3_column_int64(s, (int)i));
        }
        if (why != OK)
            return why;
    }
    return OK;
}

err sqlite_visit(struct sqlite_engine *e, sqlite3_stmt *statement, enum table table,
                 struct record_callback callback)
{
    struct record record;
    err why = OK;
    int result;
    memset(&record, 0, sizeof record);
    record.table = table;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW && why == OK) {
        why = sqlite_read_row(statement, &record);
        if (why == OK) {
            why = callback.record(callback.self, &record);
        } else {
            sqlite3_snprintf(sizeof e->engine.why.text, e->engine.why.text,
                             "%s: a row of table \"%s\" has an invalid value", e->path,
                             table_name(table));
            why = ERR_CORRUPT;
        }
    }
    if (why == OK && result != SQLITE_DONE)
        why = sqlite_fail(e, result, "read a table");
    sqlite3_reset(statement);
    return why;
}
