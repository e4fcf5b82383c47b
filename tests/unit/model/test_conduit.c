/* Goal: a conduit is read completely or not at all, its members are compared as a set, and the
 * prefix of IPv6 addresses has exactly four groups. Method: tables of texts, with every bound of a
 * number and of the list tested below, at and above it. */
#include "base/mem/arena.h"
#include "model/conduit.h"
#include "tests/check.h"

#include <stdio.h>
#include <string.h>

static struct conduit parsed(const char *text)
{
    struct conduit conduit;
    CHECK(conduit_parse(str_from(text), &conduit) == NULL);
    return conduit;
}

TEST(a_conduit_is_written_without_spaces_and_leading_zeros)
{
    static const char *const texts[][2] = {
        {"1g0", "1g0"},
        {"bmc", "bmc"},
        {"?100m0", "?100m0"},
        {"+10g12", "+10g12"},
        {"-1g999", "-1g999"},
        {"999g0", "999g0"},
        {"001g007", "1g7"},
        {" 1g0 , 1g1 ", "1g0,1g1"},
        {"1g3,1g1,1g2", "1g3,1g1,1g2"},
        {"+1g0,+1g1,+1g2,+1g3,+1g4,+1g5,+1g6,+1g7", "+1g0,+1g1,+1g2,+1g3,+1g4,+1g5,+1g6,+1g7"},
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct conduit conduit = parsed(texts[i][0]);
        const struct str written = conduit_format(&a, &conduit);
        CHECK(str_eq(written, str_from(texts[i][1])));
        struct conduit again;
        CHECK(!conduit_parse(written, &again) && conduit_eq(&conduit, &again));
    }
    arena_fini(&a);
}

TEST(the_parts_of_a_member_are_read)
{
    const struct conduit conduit = parsed("?10g3");
    CHECK(conduit.count == 1);
    const struct conduit_member m = conduit.members[0];
    CHECK(!m.is_bmc && m.sign == '?' && m.speed == 10 && m.unit == 'g' && m.index == 3);
    const struct conduit bmc = parsed("bmc");
    CHECK(bmc.members[0].is_bmc && !bmc.members[0].sign && !bmc.members[0].speed);
    CHECK(parsed("1g0").members[0].sign == 0);
}

TEST(what_is_no_conduit_is_refused_and_the_result_is_unchanged)
{
    static const struct {
        const char *text, *phrase;
    } wrong[] = {
        {"", "like 1g0"},
        {" ", "like 1g0"},
        {"cow", "like 1g0"},
        {"?1c3", "like 1g0"},
        {"?1gd", "like 1g0"},
        {"x1g3", "like 1g0"},
        {"1g", "like 1g0"},
        {"g0", "like 1g0"},
        {"1", "like 1g0"},
        {"0g0", "like 1g0"},
        {"1000g0", "like 1g0"},
        {"1g1000", "like 1g0"},
        {"99999999999g0", "like 1g0"},
        {"1g99999999999", "like 1g0"},
        {"bmcX", "like 1g0"},
        {"Xbmc", "like 1g0"},
        {"BMC", "like 1g0"},
        {"1G0", "like 1g0"},
        {"1g0x", "like 1g0"},
        {"1g0 x", "like 1g0"},
        {"++1g0", "like 1g0"},
        {"1g0,", "like 1g0"},
        {",1g0", "like 1g0"},
        {"1g0,,1g1", "like 1g0"},
        {"1g0;1g1", "like 1g0"},
        {"1g0\t", "like 1g0"},
        {"1g2,1k0", "like 1g0"},
        {"1g3,1m0", "one speed"},
        {"1g0,10g1", "one speed"},
        {"1g0,+1g1", "one speed"},
        {"-1g0,+1g1", "one speed"},
        {"bmc,1g0", "one speed"},
        {"1g0,bmc", "one speed"},
        {"1g0,1g0", "twice"},
        {"1g0,1g00", "twice"},
        {"bmc,bmc", "twice"},
        {"1g0,1g1,1g2,1g3,1g4,1g5,1g6,1g7,1g8", "at most 8"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct conduit conduit = parsed("1g5"), before = conduit;
        const char *what = conduit_parse(str_from(wrong[i].text), &conduit);
        if (!what || !strstr(what, wrong[i].phrase))
            printf("%s: %s\n", wrong[i].text, what ? what : "accepted");
        CHECK(what && strstr(what, wrong[i].phrase) && strncmp(what, "must ", 5) == 0);
        CHECK(conduit_eq(&conduit, &before));
    }
}

TEST(the_members_that_are_wrong_are_listed)
{
    static const char *const texts[][2] = {
        {"1g0,1g1", ""},
        {"cow", "cow"},
        {"cow, ?1c3,1g0,?1gd , x1g3", "cow, ?1c3, ?1gd, x1g3"},
        {"1g0,", "(empty)"},
        {"a,b,c,d,e,f,g,h,i", "a, b, c, d, e, f, g, h"},
        {"aaaaaaaaaabbbbbbbbbbccccccccccddeeee", "aaaaaaaaaabbbbbbbbbbccccccccccdd"},
        {"aaaaaaaaaabbbbbbbbbbccccccccccd\xc3\xa9", "aaaaaaaaaabbbbbbbbbbccccccccccd"},
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK(str_eq(conduit_wrong_members(&a, str_from(texts[i][0])), str_from(texts[i][1])));
    arena_fini(&a);
}

TEST(conduits_are_compared_as_sets)
{
    static const struct {
        const char *a, *b;
        bool is_equal, is_disjoint;
    } pairs[] = {
        {"1g0", "1g0", true, false},         {"1g0,1g1", "1g1, 1g0", true, false},
        {"1g0", "1g1", false, true},         {"1g0", "+1g0", false, true},
        {"1g0", "1m0", false, true},         {"1g0", "10g0", false, true},
        {"1g0", "bmc", false, true},         {"bmc", "bmc", true, false},
        {"1g0", "1g0,1g1", false, false},    {"1g0,1g1", "1g1,1g2", false, false},
        {"1g0,1g1", "1g2,1g3", false, true}, {"001g0", "1g00", true, false},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct conduit a = parsed(pairs[i].a), b = parsed(pairs[i].b);
        CHECK(conduit_eq(&a, &b) == pairs[i].is_equal && conduit_eq(&b, &a) == pairs[i].is_equal);
        CHECK(conduit_is_disjoint(&a, &b) == pairs[i].is_disjoint);
        CHECK(conduit_is_disjoint(&b, &a) == pairs[i].is_disjoint);
    }
}

TEST(an_ipv6_prefix_has_four_groups_of_lower_case_digits)
{
    static const char *const good[] = {"fd12:3456:789a:1", "1:2:3:4", "0:0:0:0",
                                       "ffff:ffff:ffff:ffff"};
    static const char *const bad[] = {
        "",         "auto",   "automobile",  "fd12",        "1:2:3",      "1:2:3:4:5", "1:2:3:4:",
        ":1:2:3:4", "1::3:4", "12345:2:3:4", "1:2:3:12345", "FD12:2:3:4", "g:2:3:4",   "1:2:3:4 ",
        " 1:2:3:4", "1:2:3:", "1:2:3:4/64",  "1.2.3.4",     "1:2:3::"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(v6prefix_check(str_from(good[i])) == NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(v6prefix_check(str_from(bad[i])) != NULL);
}
