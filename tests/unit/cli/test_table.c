/* Goal: columns are aligned, and no control character in a cell reaches the terminal. */
#include "cli/output/table.h"

#include <string.h>

#include "cli/output/term_escape.h"
#include "tests/check.h"

static bool looks_like(struct arena *a, const struct table *t, const char *wanted)
{
    struct buf b = buf_in(a);
    table_put(&b, t);
    return str_eq(buf_str(&b), str_from(wanted));
}

static struct table table_of(struct arena *a, const char *const cells[3][2])
{
    struct table t = table_new(a, 3, 2);
    for (uint32_t r = 0; r < 3; r++)
        for (uint32_t c = 0; c < 2; c++)
            table_set(&t, r, c, (struct table_cell){.text = str_from(cells[r][c])});
    return t;
}

TEST(columns_are_as_wide_as_their_widest_cell)
{
    struct arena a = {0};
    const char *const cells[3][2] = {{"A", "B"}, {"long", "x"}, {"\xc3\xa9\xc3\xa9", ""}};
    const struct table t = table_of(&a, cells);
    CHECK(looks_like(&a, &t,
                     "A     B\n"
                     "long  x\n"
                     "\xc3\xa9\xc3\xa9\n"));
    arena_fini(&a);
}

TEST(lines_are_cut_at_the_edge)
{
    struct arena a = {0};
    const char *const cells[3][2] = {
        {"A", "B"}, {"long", "rather long"}, {"x", "\xc3\xa9\xc3\xa9y"}};
    struct table t = table_of(&a, cells);
    t.width_max = 8;
    CHECK(looks_like(&a, &t,
                     "A     B\n"
                     "long  ra\n"
                     "x     \xc3\xa9\xc3\xa9\n"));
    t.width_max = 3;
    CHECK(looks_like(&a, &t, "A\nlon\nx\n"));
    arena_fini(&a);
}

TEST(colors_take_no_room)
{
    struct arena a = {0};
    const char *const cells[3][2] = {{"A", "B"}, {"red", "x"}, {"r", "y"}};
    struct table t = table_of(&a, cells);
    table_set(&t, 1, 0, (struct table_cell){STR("red"), "31"});
    CHECK(looks_like(&a, &t, "A    B\nred  x\nr    y\n"));
    t.has_colors = true;
    CHECK(looks_like(&a, &t, "A    B\n\033[31mred\033[0m  x\nr    y\n"));
    arena_fini(&a);
}

TEST(orders_to_a_terminal_are_not_given)
{
    struct arena a = {0};
    struct buf b = buf_in(&a), lines = buf_in(&a);
    const struct str evil = STR("a\033[31mb\nc\td\x7f\xc2\x9b"
                                "e\xc3\xa9");
    term_put_escaped(&b, evil);
    CHECK(str_eq(buf_str(&b), STR("a [31mb c d  e\xc3\xa9")));
    term_put_escaped_lines(&lines, evil);
    CHECK(str_eq(buf_str(&lines), STR("a [31mb\nc\td  e\xc3\xa9")));
    arena_fini(&a);
}
