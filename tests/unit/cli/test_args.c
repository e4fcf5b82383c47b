/* Goal: options are found in any position, and every error is reported. */
#include <stdio.h>
#include <string.h>

#include "cli/args/args.h"
#include "tests/check.h"

enum { WORDS_MAX = 10 };

static bool strict, quiet;
static const char *form, *folder;
static char *words[WORDS_MAX];
static struct args args;

static const struct args_option options[] = {
    {.name = "strict", .flag = &strict},
    {.name = "quiet", .letter = 'q', .flag = &quiet},
    {.name = "output", .letter = 'o', .value = &form},
    {.name = "dir", .value = &folder},
};

/* The words of a line, taken apart at its spaces; the line is changed. */
static bool take(char *line)
{
    strict = quiet = false;
    form = folder = NULL;
    args = (struct args){.prog = "a test", .words = words};
    while (*line) {
        CHECK(args.count < WORDS_MAX);
        words[args.count++] = line;
        line += strcspn(line, " ");
        if (*line)
            *line++ = 0;
    }
    return args_parse_options(&args, options, sizeof options / sizeof options[0]);
}

#define TAKE(line) take((char[]){line})

static bool left(const char *wanted)
{
    char seen[200] = "";
    for (int i = 0; i < args.count; i++)
        snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s%s", i ? " " : "", words[i]);
    return strcmp(seen, wanted) == 0;
}

static bool is(const char *seen, const char *wanted)
{
    return seen && strcmp(seen, wanted) == 0;
}

TEST(words_without_options_stay_as_they_are)
{
    CHECK(TAKE("a b c") && left("a b c"));
    CHECK(TAKE("") && args.count == 0);
}

TEST(options_in_any_position)
{
    CHECK(TAKE("--strict a --output json b") && left("a b"));
    CHECK(strict && !quiet && is(form, "json") && !folder);
    CHECK(TAKE("a b -q") && left("a b") && quiet && !strict);
}

TEST(values_come_in_four_ways)
{
    CHECK(TAKE("--output json") && is(form, "json"));
    CHECK(TAKE("--output=json") && is(form, "json"));
    CHECK(TAKE("-o json") && is(form, "json"));
    CHECK(TAKE("-ojson") && is(form, "json"));
    CHECK(TAKE("--output=") && is(form, ""));
    CHECK(TAKE("--output=a=b") && is(form, "a=b"));
}

TEST(a_value_may_look_like_an_option)
{
    CHECK(TAKE("--output --strict") && is(form, "--strict") && !strict);
    CHECK(TAKE("-o -- a") && is(form, "--") && left("a"));
}

TEST(the_last_of_two_counts)
{
    CHECK(TAKE("-oa --output b") && is(form, "b"));
}

TEST(two_dashes_end_the_options)
{
    CHECK(TAKE("--strict -- --quiet -q --") && strict && !quiet && left("--quiet -q --"));
}

TEST(a_single_dash_is_a_word)
{
    CHECK(TAKE("- a") && left("- a"));
}

TEST(mistakes_do_not_hide_each_other)
{
    CHECK(!TAKE("--nothing a --strict") && strict && left("a"));
    CHECK(!TAKE("-x a -q") && quiet && left("a"));
    CHECK(!TAKE("--strict=yes"));
    CHECK(!TAKE("-qx"));
    CHECK(!TAKE("a --output") && left("a"));
    CHECK(!TAKE("a -o") && left("a"));
    CHECK(!TAKE("--stric"));
    CHECK(!TAKE("--strictly"));
    CHECK(!TAKE("--=x"));
}
