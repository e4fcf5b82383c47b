/* Goal: a report keeps all entries with their positions, sorts them and formats them. */
#include "content/diagnostics.h"
#include "tests/unit/content/content_test.h"

static struct str shown(struct bench *b)
{
    struct buf out = buf_in(&b->arena);
    for (const struct diagnostics_entry *e = b->report.first; e; e = e->next) {
        diagnostics_format(e, &out);
        buf_put_c(&out, '\n');
    }
    return buf_str(&out);
}

TEST(an_entry_is_shown_with_its_file_and_line)
{
    struct bench b;
    bench_open(&b);
    diagnostics_error(&b.report, STR("a.yml"), (struct text_position){3, 7}, "no %s", "jig");
    diagnostics_warning(&b.report, STR("b.yml"), (struct text_position){0}, "odd");
    CHECK(same(shown(&b), "a.yml:3: no jig\nb.yml: odd\n"));
    CHECK(b.report.count == 2 && b.report.errors == 1 && b.report.warnings == 1);
    CHECK(b.report.first->severity == DIAGNOSTICS_ERROR &&
          b.report.last->severity == DIAGNOSTICS_WARNING);
    bench_close(&b);
}

TEST(control_characters_do_not_reach_the_terminal)
{
    struct bench b;
    bench_open(&b);
    diagnostics_error(&b.report, STR("a\nb"), (struct text_position){1, 1},
                      "x\x1b[2Jy\x7f \xc2\x9bz\xc3\xa9");
    CHECK(same(shown(&b), "a?b:1: x?[2Jy? ?z\xc3\xa9\n"));
    bench_close(&b);
}

TEST(sorting_goes_by_file_line_and_column_and_keeps_what_is_equal)
{
    static const struct {
        const char *file;
        struct text_position at;
        const char *text;
    } entries[] = {{"b", {1, 1}, "1"}, {"a", {9, 1}, "2"}, {"a", {2, 5}, "3"}, {"a", {2, 1}, "4"},
                   {"a", {2, 5}, "5"}, {"a", {0, 0}, "6"}, {"b", {1, 1}, "7"}};
    struct bench b;
    bench_open(&b);
    diagnostics_sort(&b.report);
    CHECK(!b.report.first && !b.report.last);
    for (uint32_t i = 0; i < 7; i++)
        diagnostics_error(&b.report, str_from(entries[i].file), entries[i].at, "%s",
                          entries[i].text);
    diagnostics_sort(&b.report);
    CHECK(same(shown(&b), "a: 6\na:2: 4\na:2: 3\na:2: 5\na:9: 2\nb:1: 1\nb:1: 7\n"));
    diagnostics_error(&b.report, STR("c"), (struct text_position){1, 1}, "end");
    CHECK(same(b.report.last->text, "end") && !b.report.last->next && b.report.count == 8);
    bench_close(&b);
}

TEST(many_entries_sort_as_well)
{
    struct bench b;
    bench_open(&b);
    for (uint32_t i = 0; i < 1000; i++)
        diagnostics_error(&b.report, STR("f"), (struct text_position){i * 7919 % 1000, 1}, "%u", i);
    diagnostics_sort(&b.report);
    uint32_t line = 0;
    for (const struct diagnostics_entry *e = b.report.first; e; e = e->next)
        CHECK(e->at.line == line++);
    CHECK(line == 1000);
    bench_close(&b);
}

TEST(too_many_entries_are_only_counted)
{
    struct bench b;
    bench_open(&b);
    for (uint32_t i = 0; i < DIAGNOSTICS_ENTRIES_MAX + 5; i++)
        diagnostics_warning(&b.report, STR("f"), (struct text_position){i, 1}, "w");
    CHECK(b.report.count == DIAGNOSTICS_ENTRIES_MAX);
    CHECK(b.report.warnings == DIAGNOSTICS_ENTRIES_MAX + 5);
    CHECK(b.report.last->at.line == DIAGNOSTICS_ENTRIES_MAX - 1);
    bench_close(&b);
}

TEST(a_long_text_is_cut)
{
    struct bench b;
    bench_open(&b);
    diagnostics_error(&b.report, STR("f"), (struct text_position){0}, "%5000d", 1);
    CHECK(b.report.first->text.len == 2047);
    bench_close(&b);
}

TEST(brief_texts_end_between_characters)
{
    char text[64];
    memset(text, 'x', sizeof text);
    CHECK(diagnostics_brief((struct str){text, 60}).len == 60);
    CHECK(diagnostics_brief((struct str){text, 64}).len == 60);
    memcpy(text + 58, "\xe2\x82\xac", 3); /* a character over the border */
    CHECK(diagnostics_brief((struct str){text, 64}).len == 58);
    CHECK(diagnostics_brief((struct str){text, 61}).len == 58);
    CHECK(diagnostics_brief(STR("")).len == 0);
}

TEST(places_count_lines_and_characters)
{
    const struct str text = STR("ab\n\xc3\xa9x\n");
    CHECK(text_position_of(text, 0).line == 1 && text_position_of(text, 0).column == 1);
    CHECK(text_position_of(text, 2).line == 1 && text_position_of(text, 2).column == 3);
    CHECK(text_position_of(text, 5).line == 2 && text_position_of(text, 5).column == 2);
    CHECK(text_position_of(text, 99).line == 3 && text_position_of(text, 99).column == 1);
}
