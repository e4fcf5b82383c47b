/* table.h - tables of text for terminals.
 *
 * Cells may contain any text: each is written on one line, with control characters replaced. The
 * last column has no fixed width; the others are as wide as their widest cell.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/buf.h"
#include "base/text/str.h"

struct table_cell {
    struct str text;
    const char *color; /* parameters of an SGR escape sequence: "31"; NULL: none */
};

/* `rows` times `columns` cells in row order; the first row has the titles. Lines are cut at
 * width_max characters; 0: no limit. */
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
