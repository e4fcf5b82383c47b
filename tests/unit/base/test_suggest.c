/* Goal: a slip of the finger is understood, anything else is not. */
#include <stdio.h>
#include <string.h>

#include "base/text/suggest.h"
#include "tests/check.h"

static const char *const known[] = {"barclamp", "node", "deployment", "noderole", "run"};

static const char *nearest_to(const char *meant)
{
    struct suggestion nearest = {0};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        suggest_offer(&nearest, meant, known[i]);
    return nearest.word ? nearest.word : "none";
}

static void check_nearest(const char *meant, const char *wanted)
{
    const char *seen = nearest_to(meant);
    if (strcmp(seen, wanted) != 0)
        printf("%s: %s and not %s\n", meant, seen, wanted);
    CHECK(strcmp(seen, wanted) == 0);
}

TEST(one_letter_too_many_too_few_or_another)
{
    check_nearest("barclamp", "barclamp");
    check_nearest("barclam", "barclamp");
    check_nearest("barrclamp", "barclamp");
    check_nearest("barklamp", "barclamp");
    check_nearest("nodes", "node");
    check_nearest("nod", "node");
    check_nearest("rum", "run");
    check_nearest("ru", "run");
}

TEST(two_letters_swapped_are_one_slip)
{
    check_nearest("ndoe", "node");
    check_nearest("onde", "node");
    check_nearest("rnu", "run");
    check_nearest("nodreole", "noderole");
}

TEST(a_long_word_may_have_more_slips)
{
    check_nearest("deploiment", "deployment");
    check_nearest("dploimnt", "deployment");
    check_nearest("dplimn", "none");
}

TEST(the_nearest_of_two_is_taken_and_the_first_of_equals)
{
    struct suggestion nearest = {0};
    suggest_offer(&nearest, "commit", "comnut");
    CHECK(strcmp(nearest.word, "comnut") == 0);
    suggest_offer(&nearest, "commit", "commmit");
    CHECK(strcmp(nearest.word, "commmit") == 0);
    suggest_offer(&nearest, "commit", "comit");
    CHECK(strcmp(nearest.word, "commmit") == 0);
    suggest_offer(&nearest, "commit", "commit");
    CHECK(strcmp(nearest.word, "commit") == 0 && nearest.distance == 0);
}

TEST(what_is_far_off_has_no_nearest)
{
    check_nearest("", "none");
    check_nearest("x", "none");
    check_nearest("frobnicate", "none");
    check_nearest("no", "none");
    char long_word[200];
    memset(long_word, 'r', sizeof long_word - 1);
    long_word[sizeof long_word - 1] = 0;
    check_nearest(long_word, "none");
}

TEST(words_up_to_the_compared_length)
{
    char meant[65] = {0}, exact[65] = {0};
    struct suggestion nearest = {0};
    memset(meant, 'a', 63);
    memset(exact, 'a', 63);
    meant[62] = 'b';
    suggest_offer(&nearest, meant, exact);
    CHECK(nearest.word == exact && nearest.distance == 1);
    exact[63] = 'a';
    nearest = (struct suggestion){0};
    suggest_offer(&nearest, meant, exact);
    CHECK(!nearest.word);
}
