/* table.h - rows and columns for people.
 *
 * Cells are texts of anybody's: they are shown on one line and without what controls a terminal.
 * The last column is as long as it likes; the others are as wide as their widest cell.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/buf.h"
#include "base/text/str.h"

struct table_cell {
    struct str text;
    const char *color; /* NULL: none */
};

/* `rows` times `columns` cells, row by row, the first row being the titles. A width_max of 0 means
 * none; longer lines are cut. */
struct table {
    struct table_cell *cells;
    uint32_t rows;
    uint32_t columns;
    uint32_t width_max;
    bool has_colors;
};

struct table table_new(struct arena *a, uint32_t rows, uint32_t columns);
void table_set(struct table *t, uint32_t row, uint32_t column, struct table_cell cell);
void table_put(struct buf *b, const struct table *t);
