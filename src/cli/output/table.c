#include "cli/output/table.h"

#include <string.h>

#include "base/err.h"
#include "cli/output/term_escape.h"

/* Formats tables. Cells are in an arena of the caller and keep pointers to their text. The widths
 * of all columns are computed from all rows before the first row is written. Nothing can fail; a
 * cell outside the table is a defect (must). Widths count one column for each code point. */

enum { COLUMNS_MAX = 32, GAP = 2 }; /* GAP: spaces between columns */

struct table table_new(struct arena *a, uint32_t rows, uint32_t columns)
{
    must(columns > 0 && columns <= COLUMNS_MAX);
    return (struct table){.cells = arena_array(a, struct table_cell, (size_t)rows * columns),
                          .rows = rows,
                          .columns = columns};
}

void table_set(struct table *t, uint32_t row, uint32_t column, struct table_cell cell)
{
    must(row < t->rows && column < t->columns);
    t->cells[(size_t)row * t->columns + column] = cell;
}

/* The first `width` characters. */
static struct str table_cut(struct str text, uint32_t width)
{
    uint32_t at = 0, seen = 0;
    while (at < text.len) {
        seen += ((unsigned char)text.at[at] & 0xc0) != 0x80;
        if (seen > width)
            break;
        at++;
    }
    return str_slice(text, 0, at);
}

static void table_put_cell(struct buf *b, const struct table *t, const struct table_cell *cell,
                           struct str text)
{
    const bool is_colored = t->has_colors && cell->color;
    if (is_colored) {
        buf_put_z(b, "\033[");
        buf_put_z(b, cell->color);
        buf_put_c(b, 'm');
    }
    term_put_escaped(b, text);
    if (is_colored)
        buf_put_z(b, "\033[0m");
}

/* A row ends at the last column that begins before width_max; its text is cut there. Spaces at the
 * end of the line are removed. */
static void table_put_row(struct buf *b, const struct table *t, const struct table_cell *row,
                          const uint32_t *widths)
{
    uint32_t used = 0;
    for (uint32_t c = 0; c < t->columns; c++) {
        const bool is_last = c + 1 == t->columns;
        const uint32_t room = t->width_max > used ? t->width_max - used : 0;
        const struct str text = t->width_max ? table_cut(row[c].text, room) : row[c].text;
        const uint32_t width = term_width_escaped(text);
        table_put_cell(b, t, &row[c], text);
        if (is_last || (t->width_max && used + widths[c] + GAP >= t->width_max))
            break;
        for (uint32_t i = width; i < widths[c] + GAP; i++)
            buf_put_c(b, ' ');
        used += widths[c] + GAP;
    }
    while (b->len && b->at[b->len - 1] == ' ')
        b->len--;
    buf_put_c(b, '\n');
}

void table_put(struct buf *b, const struct table *t)
{
    uint32_t widths[COLUMNS_MAX] = {0};
    for (uint32_t r = 0; r < t->rows; r++)
        for (uint32_t c = 0; c < t->columns; c++) {
            const uint32_t width = term_width_escaped(t->cells[(size_t)r * t->columns + c].text);
            widths[c] = width > widths[c] ? width : widths[c];
        }
    for (uint32_t r = 0; r < t->rows; r++)
        table_put_row(b, t, t->cells + (size_t)r * t->columns, widths);
}
