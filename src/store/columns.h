/* columns.h - conversion between the fields of a record and the columns of its table.
 *
 * There is one column for each field, in the order of the fields. Numbers are stored as numbers and
 * strings as strings, with one exception: a field that refers to a table is stored as the name of
 * the table, so that the values of the enum may change between versions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/record.h"

/* The number of leading columns that form the key. */
uint32_t columns_key(enum table table);

/* True if the field is stored as the name of a table. */
bool column_is_noun(enum table table, uint32_t field);

/* The value of a field as a number (I64, U32, BOOL) or as a string (TEXT, DOC, table names). */
int64_t column_number(const struct record *record, uint32_t field);
struct str column_text(const struct record *record, uint32_t field);
bool column_is_text(enum table table, uint32_t field);

/* Set a field from a stored value. ERR_CORRUPT: the value is invalid for the field: a number out of
 * range, a bool that is neither 0 nor 1, an unknown table name. The string must outlive the
 * record. */
NODISCARD err column_set_number(struct record *record, uint32_t field, int64_t value);
NODISCARD err column_set_text(struct record *record, uint32_t field, struct str value);
