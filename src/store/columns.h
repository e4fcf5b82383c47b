/* columns.h - how the fields of a record lie in the columns of its table.
 *
 * One column per field, in the order of the fields. Numbers are numbers and texts are texts, but
 * for one thing: a field that names a table is kept as that table's name, so that the numbers of
 * the enum may change from version to version.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/record.h"

/* How many of the first columns are the key. */
uint32_t columns_key(enum table table);

/* Is this field kept as the name of a table? */
bool column_is_noun(enum table table, uint32_t field);

/* The field's value as a number (I64, U32, BOOL) or as a text (TEXT, DOC, and nouns). */
int64_t column_number(const struct record *record, uint32_t field);
struct str column_text(const struct record *record, uint32_t field);
bool column_is_text(enum table table, uint32_t field);

/* Put a stored value into the record. ERR_CORRUPT when it cannot be one of that field: a number
 * out of range, a bool that is neither 0 nor 1, a noun nobody knows. The text must outlive the
 * record. */
NODISCARD err column_set_number(struct record *record, uint32_t field, int64_t value);
NODISCARD err column_set_text(struct record *record, uint32_t field, struct str value);
