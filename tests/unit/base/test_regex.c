/* Goal: a pattern finds what its text says, in time that grows with the text and no faster.
 * Method: a table of every construct, tables of what is refused and why, patterns that ruin
 * backtracking engines on long texts, and random patterns against a model that computes, from the
 * meaning of each construct, where a match that begins at a place can end. */
#include "base/regex/regex.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/prng.h"
#include "tests/check.h"

enum { NO = 0, YES = 1 };

struct row {
    const char *pattern;
    const char *text;
    int found;
};

static bool finds(struct str pattern, bool ignore_case, struct str text)
{
    struct arena a = {0};
    struct arena scratch = {0};
    struct regex *r = NULL;
    const char *what = NULL;
    const err e = regex_compile(&a, pattern, ignore_case, &r, &what);
    if (e != OK)
        fprintf(stderr, "pattern \"%.*s\": %s\n", STR_FMT_ARGS(pattern), what);
    CHECK(e == OK);
    const bool found = regex_search(r, text, &scratch);
    CHECK(arena_used(&scratch) == 0);
    arena_fini(&scratch);
    arena_fini(&a);
    return found;
}

static void check_rows(const struct row *rows, size_t count, bool ignore_case)
{
    for (size_t i = 0; i < count; i++) {
        const bool found = finds(str_from(rows[i].pattern), ignore_case, str_from(rows[i].text));
        if (found != (rows[i].found == YES))
            fprintf(stderr, "row %zu: \"%s\" on \"%s\"\n", i, rows[i].pattern, rows[i].text);
        CHECK(found == (rows[i].found == YES));
    }
}

#define CHECK_ROWS(rows) check_rows((rows), sizeof(rows) / sizeof((rows)[0]), false)

TEST(literals_are_found_anywhere)
{
    static const struct row rows[] = {
        {"", "", YES},           {"", "abc", YES},        {"a", "", NO},
        {"a", "a", YES},         {"a", "b", NO},          {"b", "abc", YES},
        {"abc", "xxabcxx", YES}, {"abc", "abxabx", NO},   {"aab", "aaab", YES},
        {"]", "]", YES},         {"}", "a}", YES},        {"é", "caf\xc3\xa9", YES},
        {"é", "cafe", NO},       {"日本", "x日本y", YES}, {"日本", "本日", NO},
        {"-", "a-b", YES},
    };
    CHECK_ROWS(rows);
}

TEST(a_dot_is_one_character_but_no_newline)
{
    static const struct row rows[] = {
        {".", "", NO},         {".", "a", YES},
        {".", "\n", NO},       {"a.b", "a\nb", NO},
        {"a.b", "axb", YES},   {"a.b", "ab", NO},
        {"\\A.\\z", "é", YES}, {"\\A.\\z", "\xf0\x9f\x94\xa5", YES},
        {"a.b", "a\rb", YES},  {"\\A..\\z", "é", NO},
    };
    CHECK_ROWS(rows);
}

TEST(classes_hold_members_ranges_and_their_negation)
{
    static const struct row rows[] = {
        {"[abc]", "xxb", YES}, {"[abc]", "xyz", NO},  {"[a-c]", "b", YES},
        {"[b-b]", "b", YES},   {"[a-c]", "d", NO},    {"[^a-c]", "b", NO},
        {"[^a-c]", "d", YES},  {"[^a]", "", NO},      {"[^a]", "\n", YES},
        {"[a^]", "^", YES},    {"[\\^a]", "^", YES},  {"[a-]", "-", YES},
        {"[-a]", "-", YES},    {"[+--]", ",", YES},   {"[a\\-c]", "b", NO},
        {"[a\\-c]", "-", YES}, {"[]a]", "]", YES},    {"[]a]", "a", YES},
        {"[^]a]", "]", NO},    {"[^]a]", "b", YES},   {"[\\]]", "]", YES},
        {"[.]", "a", NO},      {"[.]", ".", YES},     {"[*+?]", "+", YES},
        {"[a-c-e]", "-", YES}, {"[a-c-e]", "d", NO},  {"[\\d-x]", "-", YES},
        {"[\\d-x]", "5", YES}, {"[\\n]", "\n", YES},  {"[\\x41-\\x43]", "B", YES},
        {"[é-ü]", "ö", YES},   {"[é-ü]", "e", NO},    {"[a-ü]", "~", YES},
        {"[a-ü]", "ä", YES},   {"[a-ü]", "日", NO},   {"[^é]", "é", NO},
        {"[^é]", "è", YES},    {"[日月]", "月", YES}, {"[\\b]", "\b", YES},
        {"[\\b]", "b", NO},    {"[(|)]", "|", YES},   {"[$]", "$", YES},
        {"[a&]", "&", YES},    {"[\\[]", "[", YES},   {"[\\w.-]+@", "a.b-c@", YES},
        {"[{}]", "}", YES},
    };
    CHECK_ROWS(rows);
}

TEST(named_sets_are_ascii_and_their_negations_everything_else)
{
    static const struct row rows[] = {
        {"\\d", "7", YES},
        {"\\d", "x", NO},
        {"\\d", "\xd9\xa3", NO},
        {"\\D", "7", NO},
        {"\\D", "é", YES},
        {"\\w", "_", YES},
        {"\\w", "-", NO},
        {"\\w", "é", NO},
        {"\\W", "é", YES},
        {"\\W", "a", NO},
        {"\\s", "\t", YES},
        {"\\s", "\v", YES},
        {"\\s", "\f", YES},
        {"\\s", "x", NO},
        {"\\S", " \n\r", NO},
        {"\\S", "x", YES},
        {"\\h", "f", YES},
        {"\\h", "F", YES},
        {"\\h", "g", NO},
        {"\\H", "f0A", NO},
        {"\\H", "g", YES},
        {"[\\d\\s]", " ", YES},
        {"[^\\d\\s]", "1 2", NO},
        {"[\\D]", "5", NO},
        {"[^\\D]", "5", YES},
        {"[^\\W]", "é", NO},
        {"[\\h]", "e", YES},
        {"[\\H]", "e", NO},
        {"[[:alpha:]]", "5a", YES},
        {"[[:alpha:]]", "5_", NO},
        {"[[:digit:]]", "5", YES},
        {"[[:alnum:]]", "_-", NO},
        {"[[:upper:]]", "abC", YES},
        {"[[:upper:]]", "abc", NO},
        {"[[:lower:]]", "ABC", NO},
        {"[[:space:]]", "\n", YES},
        {"[[:blank:]]", "\n", NO},
        {"[[:blank:]]", "\t", YES},
        {"[[:punct:]]", "~", YES},
        {"[[:punct:]]", "a1 ", NO},
        {"[[:punct:]]", "_", YES},
        {"[[:xdigit:]]", "g", NO},
        {"[[:xdigit:]]", "A", YES},
        {"[[:cntrl:]]", "\x7f", YES},
        {"[[:cntrl:]]", " ", NO},
        {"[[:print:]]", " ", YES},
        {"[[:graph:]]", " ", NO},
        {"[[:graph:]]", "!", YES},
        {"[[:word:]]", "_", YES},
        {"[[:ascii:]]", "é", NO},
        {"[[:ascii:]]", "\xc2\x80", NO},
        {"[[:alnum:]]", "a", YES},
        {"[[:alnum:]]", "Z", YES},
        {"[[:alnum:]]", "5", YES},
        {"[[:ascii:]]", "\x7f", YES},
        {"[[:^alpha:]]", "abc", NO},
        {"[[:^alpha:]]", "é", YES},
        {"[^[:^alpha:]]", "5a", YES},
        {"[[:alpha:][:digit:]-]", "-", YES},
        {"[x[:digit:]]+z", "x9z", YES},
        {"[:alpha:]", "h", YES},
        {"[:alpha:]", "b", NO},
    };
    CHECK_ROWS(rows);
}

TEST(repeats_apply_to_the_item_before_them)
{
    static const struct row rows[] = {
        {"\\Aa*\\z", "", YES},
        {"\\Aa*\\z", "aaaa", YES},
        {"\\Aa*\\z", "aab", NO},
        {"\\Aa+\\z", "", NO},
        {"\\Aa+\\z", "a", YES},
        {"\\Aa+\\z", "aaa", YES},
        {"\\Aa?\\z", "", YES},
        {"\\Aa?\\z", "a", YES},
        {"\\Aa?\\z", "aa", NO},
        {"\\Aa{2}\\z", "a", NO},
        {"\\Aa{2}\\z", "aa", YES},
        {"\\Aa{2}\\z", "aaa", NO},
        {"\\Aa{2,}\\z", "a", NO},
        {"\\Aa{2,}\\z", "aa", YES},
        {"\\Aa{2,}\\z", "aaaaa", YES},
        {"\\Aa{2,4}\\z", "a", NO},
        {"\\Aa{2,4}\\z", "aa", YES},
        {"\\Aa{2,4}\\z", "aaa", YES},
        {"\\Aa{2,4}\\z", "aaaa", YES},
        {"\\Aa{2,4}\\z", "aaaaa", NO},
        {"\\Aa{0}\\z", "", YES},
        {"\\Aa{0}\\z", "a", NO},
        {"\\Aa{0,0}b\\z", "b", YES},
        {"\\Aa{0,2}\\z", "", YES},
        {"\\Aa{0,2}\\z", "aa", YES},
        {"\\Aa{0,2}\\z", "aaa", NO},
        {"\\Aa{0,}\\z", "", YES},
        {"\\Aa{0,}\\z", "aaa", YES},
        {"\\Aa{1,}\\z", "", NO},
        {"\\Aa{1,1}\\z", "a", YES},
        {"\\Aa{,2}\\z", "", YES},
        {"\\Aa{,2}\\z", "aaa", NO},
        {"\\A(?:ab){2}\\z", "abab", YES},
        {"\\A(ab){2}\\z", "ab", NO},
        {"\\Aab{2}\\z", "abb", YES},
        {"\\A[ab]{3}\\z", "aba", YES},
        {"\\A(a|bc){2,3}\\z", "bcabc", YES},
        {"\\A(a|bc){2,3}\\z", "abcc", NO},
        {"\\A(a{2}){2}\\z", "aaaa", YES},
        {"\\A(a{2}){2}\\z", "aaa", NO},
        {"\\Aa{2}{3}\\z", "aaaaaa", YES},
        {"\\Aa{2}{3}\\z", "aaaaa", NO},
        {"\\A(a*)*\\z", "aaa", YES},
        {"\\A(a*)+\\z", "", YES},
        {"\\A(a?){3}\\z", "aa", YES},
        {"\\A(a?){3}\\z", "aaaa", NO},
        {"\\A(){5}\\z", "", YES},
        {"\\A(|a)+\\z", "aa", YES},
        {"\\Aé{2}\\z", "éé", YES},
        {"\\A.{2}\\z", "éé", YES},
        {"x*", "aaa", YES},
        {"\\A(a+b+){2,}\\z", "abaabb", YES},
        {"\\A(a+b+){2,}\\z", "aabb", NO},
        {"\\A(\\d{1,3}\\.){3}\\d{1,3}\\z", "192.168.124.10", YES},
        {"\\A(\\d{1,3}\\.){3}\\d{1,3}\\z", "192.168.124", NO},
        {"\\A(\\d{1,3}\\.){3}\\d{1,3}\\z", "1921.168.124.1", NO},
    };
    CHECK_ROWS(rows);
}

TEST(lazy_repeats_find_the_same_texts)
{
    static const struct row rows[] = {
        {"\\Aa*?\\z", "aaa", YES},      {"\\Aa+?\\z", "", NO},    {"\\Aa??\\z", "a", YES},
        {"\\Aa{2}?\\z", "aa", YES},     {"\\Aa{2}?\\z", "", NO},  {"\\Aa{1,2}?\\z", "aaa", NO},
        {"\\Aa{2,}?b\\z", "aaab", YES}, {"<.+?>", "<a><b>", YES}, {"\\A<.*?>\\z", "<a><b>", YES},
        {"\\Aa**\\z", "aa", YES},       {"\\Aa+*\\z", "", YES},   {"\\Aa???\\z", "aa", NO},
    };
    CHECK_ROWS(rows);
}

TEST(a_brace_that_counts_nothing_is_a_character)
{
    static const struct row rows[] = {
        {"a{", "a{", YES},         {"a{x}", "a{x}", YES},
        {"a{,}", "a{,}", YES},     {"a{1", "a{1", YES},
        {"a{1,", "a{1,", YES},     {"a{1,2", "a{1,2", YES},
        {"{", "{", YES},           {"{a}", "{a}", YES},
        {"{{node", "{{node", YES}, {"\\A{[^}]*}\\z", "{abc}", YES},
        {"a{}", "a{}", YES},       {"a{1 }", "a{1 }", YES},
        {"a\\{2}", "a{2}", YES},   {"a{x}", "a", NO},
        {"a{-1}", "a{-1}", YES},
    };
    CHECK_ROWS(rows);
}

TEST(groups_bind_and_bars_choose)
{
    static const struct row rows[] = {
        {"a|b", "b", YES},
        {"a|b", "c", NO},
        {"\\A(a|b|c)\\z", "c", YES},
        {"\\A(a|b|c)\\z", "d", NO},
        {"\\A(?:ab|cd)e\\z", "cde", YES},
        {"\\A(?:ab|cd)e\\z", "abcde", NO},
        {"\\Aab|cd\\z", "xcd", YES},
        {"\\Aab|cd\\z", "abx", YES},
        {"\\A(ab|cd)\\z", "abx", NO},
        {"\\A(a|)\\z", "", YES},
        {"\\A(|a)\\z", "a", YES},
        {"\\A(|)\\z", "a", NO},
        {"|", "", YES},
        {"a||b", "", YES},
        {"\\A()\\z", "", YES},
        {"\\A((a)(b(c)))\\z", "abc", YES},
        {"\\A(a(b|c)*d)+\\z", "abcdad", YES},
        {"\\A(a(b|c)*d)+\\z", "abcda", NO},
        {"\\A(local|sledgehammer|.*-install)\\z", "ubuntu-install", YES},
        {"\\A(local|sledgehammer|.*-install)\\z", "install", NO},
        {"(a|b)(c|d)", "xad", YES},
        {"(a|b)(c|d)", "ab", NO},
        {"\\A(?:a|(?:b|(?:c|d)))\\z", "d", YES},
        {"a(?:b|c|)d", "ad", YES},
        {"(a|b|c){2}", "xcay", YES},
        {"\\A(a|ab)(c|bcd)\\z", "abcd", YES},
    };
    CHECK_ROWS(rows);
}

TEST(line_anchors_see_lines_and_text_anchors_the_whole)
{
    static const struct row rows[] = {
        {"^b", "a\nb", YES},
        {"\\Ab", "a\nb", NO},
        {"\\Aa", "a\nb", YES},
        {"a$", "a\nb", YES},
        {"a\\z", "a\nb", NO},
        {"b\\z", "a\nb", YES},
        {"a\\Z", "a\n", YES},
        {"a\\z", "a\n", NO},
        {"a\\Z", "a", YES},
        {"a\\Z", "a\n\n", NO},
        {"a\\Z", "a\nb", NO},
        {"a$", "a\n\n", YES},
        {"^$", "", YES},
        {"^$", "a\n\nb", YES},
        {"^$", "a\nb", NO},
        {"\\A\\z", "", YES},
        {"\\A\\z", "\n", NO},
        {"\\A\\Z", "\n", YES},
        {"^a$", "x\na\ny", YES},
        {"^a$", "xa", NO},
        {"^a$", "x\nab", NO},
        {"\\n^\\z", "a\n", NO},
        {"\\n^b", "a\nb", YES},
        {"\\n\\z", "a\n", YES},
        {"a^b", "ab", NO},
        {"a$b", "ab", NO},
        {"a$\\nb", "a\nb", YES},
        {"(^|,)x", "a,x", YES},
        {"(^|,)x", "ax", NO},
        {"x(,|$)", "x", YES},
        {"^\\d+$", "12\nabc", YES},
        {"\\A\\d+\\z", "12\nabc", NO},
        {"a\\A", "aa", NO},
        {"\\za", "a", NO},
        {"(?:\\Aa)+", "ba", NO},
        {"(?:\\Aa|b)", "cb", YES},
        {"\\A?b", "ab", YES},
        {"\\A+b", "ab", NO},
        {"^*b", "ab", YES},
        {"\\A^a", "a", YES},
        {"(\\Aa)*b", "cb", YES},
        {"$\\n^", "a\nb", YES},
    };
    CHECK_ROWS(rows);
}

TEST(word_boundaries_are_between_a_word_and_other_characters)
{
    static const struct row rows[] = {
        {"\\bcat\\b", "a cat!", YES},
        {"\\bcat\\b", "concat", NO},
        {"\\bcat", "cats", YES},
        {"cat\\b", "cats", NO},
        {"\\Bcat", "concat", YES},
        {"\\Bcat", "cat", NO},
        {"\\b", "", NO},
        {"\\B", "", YES},
        {"\\b", "-", NO},
        {"\\B", "a", NO},
        {"\\ba\\b", "éaé", YES},
        {"a\\b_", "a_", NO},
        {"\\b5\\b", "a 5", YES},
        {"\\B-\\B", " - ", YES},
        {"\\b-\\b", "a-b", YES},
    };
    CHECK_ROWS(rows);
}

TEST(escapes_denote_one_character)
{
    static const struct row rows[] = {
        {"\\n", "\n", YES},    {"\\t", "\t", YES},        {"\\r", "\r", YES},
        {"\\f", "\f", YES},    {"\\v", "\v", YES},        {"\\a", "\a", YES},
        {"\\e", "\x1b", YES},  {"\\x41", "A", YES},       {"\\x41", "B", NO},
        {"\\x4a", "J", YES},   {"\\x40", "@", YES},       {"\\x4f", "O", YES},
        {"\\x4A", "J", YES},   {"\\xe9", "é", YES},       {"\\x9z", "\tz", YES},
        {"\\.", "a", NO},      {"\\.", ".", YES},         {"\\/", "/", YES},
        {"\\\\", "\\", YES},   {"\\*\\+\\?", "*+?", YES}, {"\\(\\)", "()", YES},
        {"\\[\\]", "[]", YES}, {"\\{1\\}", "{1}", YES},   {"\\|", "|", YES},
        {"\\^\\$", "^$", YES}, {"\\-", "-", YES},         {"\\@", "@", YES},
        {"\\é", "é", YES},     {"\\_", "_", YES},         {"\\ ", " ", YES},
    };
    CHECK_ROWS(rows);
}

TEST(case_is_ignored_when_asked)
{
    static const struct row rows[] = {
        {"abc", "xABCx", YES}, {"ABC", "abc", YES}, {"a1b", "A1B", YES}, {"[a-c]x", "BX", YES},
        {"[A-C]", "b", YES},   {"[^a-c]", "B", NO}, {"[^a]", "A", NO},   {"[^a]", "B", YES},
        {"é", "é", YES},       {"@", "`", NO},      {"\\[", "{", NO},    {"[[:upper:]]", "a", YES},
        {"\\x41", "a", YES},   {"k", "j", NO},      {"z", "Z", YES},     {"_", "\x7f", NO},
    };
    check_rows(rows, sizeof(rows) / sizeof(rows[0]), true);
    CHECK(finds(STR("(?i)abc"), false, STR("ABC")));
    CHECK(finds(STR("(?i)"), false, STR("")));
    CHECK(finds(STR("(?i)a|b"), false, STR("B")));
    CHECK(!finds(STR("abc"), false, STR("ABC")));
    CHECK(finds(STR("(?i)abc"), true, STR("aBc")));
}

struct refusal {
    const char *pattern;
    err err;
    const char *what;
};

static void check_refused(struct str pattern, err expected, const char *expected_what)
{
    struct arena a = {0};
    struct regex *r = NULL;
    const char *what = NULL;
    const err e = regex_compile(&a, pattern, false, &r, &what);
    if (e != expected || !what || strcmp(what, expected_what) != 0)
        fprintf(stderr, "\"%.60s\": %d, %s\n", str_z(&a, pattern), (int)e,
                what ? what : "(nothing)");
    CHECK(e == expected);
    CHECK(r == NULL);
    CHECK(what && strcmp(what, expected_what) == 0);
    arena_fini(&a);
}

TEST(malformed_patterns_say_what_is_wrong)
{
    static const char nothing[] = "a repeat with nothing to repeat";
    static const char no_bracket[] = "a class without its ]";
    static const char no_paren[] = "a group without its )";
    static const char open_paren[] = "a ) without its (";
    const struct refusal rows[] = {
        {"*", ERR_SYNTAX, nothing},
        {"+a", ERR_SYNTAX, nothing},
        {"?", ERR_SYNTAX, nothing},
        {"{2}", ERR_SYNTAX, nothing},
        {"a|*", ERR_SYNTAX, nothing},
        {"(+a)", ERR_SYNTAX, nothing},
        {"[", ERR_SYNTAX, no_bracket},
        {"[]", ERR_SYNTAX, no_bracket},
        {"[^]", ERR_SYNTAX, no_bracket},
        {"[a", ERR_SYNTAX, no_bracket},
        {"[a-", ERR_SYNTAX, no_bracket},
        {"a[^", ERR_SYNTAX, no_bracket},
        {"[c-a]", ERR_SYNTAX, "a range that runs backwards"},
        {"[a-\\d]", ERR_SYNTAX, "a range that ends in a set"},
        {"[a-[:digit:]]", ERR_SYNTAX, "a range that ends in a set"},
        {"[[:nope:]]", ERR_SYNTAX, "a [:name:] that names no set"},
        {"[[:Alpha:]]", ERR_SYNTAX, "a [:name:] that names no set"},
        {"(", ERR_SYNTAX, no_paren},
        {"(a", ERR_SYNTAX, no_paren},
        {"(?", ERR_SYNTAX, no_paren},
        {"(?:", ERR_SYNTAX, no_paren},
        {"((a)", ERR_SYNTAX, no_paren},
        {")", ERR_SYNTAX, open_paren},
        {"a)b", ERR_SYNTAX, open_paren},
        {"(a))", ERR_SYNTAX, open_paren},
        {"a|)", ERR_SYNTAX, open_paren},
        {"a{3,2}", ERR_SYNTAX, "a repeat whose upper bound is below its lower"},
        {"\\", ERR_SYNTAX, "a lone \\ at the end"},
        {"a[\\", ERR_SYNTAX, "a lone \\ at the end"},
        {"(\\", ERR_SYNTAX, "a lone \\ at the end"},
        {"\\x", ERR_SYNTAX, "a \\x without hexadecimal digits"},
        {"\\xg1", ERR_SYNTAX, "a \\x without hexadecimal digits"},
        {"a\xff", ERR_SYNTAX, "a pattern that is not UTF-8 text"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_refused(str_from(rows[i].pattern), rows[i].err, rows[i].what);
    check_refused(STR("a\0b"), ERR_SYNTAX, "a pattern that is not UTF-8 text");
}

TEST(unsupported_constructs_are_refused_by_name)
{
    static const char back[] = "back references and octal escapes are not supported";
    static const char flags[] = "flags inside a pattern are not supported";
    static const char possessive[] = "possessive repeats are not supported";
    static const char escape[] = "an escape that is not supported";
    const struct refusal rows[] = {
        {"(a)\\1", ERR_REFUSED, back},
        {"\\0", ERR_REFUSED, back},
        {"[\\1]", ERR_REFUSED, back},
        {"\\k<a>", ERR_REFUSED, "back references are not supported"},
        {"\\g<a>", ERR_REFUSED, "back references are not supported"},
        {"(?=a)", ERR_REFUSED, "look-ahead is not supported"},
        {"(?!a)", ERR_REFUSED, "look-ahead is not supported"},
        {"(?<=a)", ERR_REFUSED, "look-behind is not supported"},
        {"(?<!a)", ERR_REFUSED, "look-behind is not supported"},
        {"(?<name>a)", ERR_REFUSED, "named groups are not supported"},
        {"(?>a)", ERR_REFUSED, "atomic groups are not supported"},
        {"a++", ERR_REFUSED, possessive},
        {"a*+", ERR_REFUSED, possessive},
        {"a?+", ERR_REFUSED, possessive},
        {"a{2,3}+", ERR_REFUSED, possessive},
        {"\\p{Alpha}", ERR_REFUSED, "\\p classes are not supported"},
        {"\\P{Alpha}", ERR_REFUSED, "\\p classes are not supported"},
        {"[\\p{Alpha}]", ERR_REFUSED, "\\p classes are not supported"},
        {"\\Ga", ERR_REFUSED, "\\G is not supported"},
        {"(?m)a", ERR_REFUSED, flags},
        {"a(?i)b", ERR_REFUSED, flags},
        {"(?i:a)", ERR_REFUSED, flags},
        {"(?-mix:a)", ERR_REFUSED, flags},
        {"(?#note)", ERR_REFUSED, flags},
        {"[a[bc]]", ERR_REFUSED, "classes inside classes are not supported"},
        {"[[=a=]]", ERR_REFUSED, "classes inside classes are not supported"},
        {"[[:alpha]]", ERR_REFUSED, "classes inside classes are not supported"},
        {"[[:", ERR_REFUSED, "classes inside classes are not supported"},
        {"[a-z&&b]", ERR_REFUSED, "intersections of classes are not supported"},
        {"\\u00e9", ERR_REFUSED, escape},
        {"\\R", ERR_REFUSED, escape},
        {"\\X", ERR_REFUSED, escape},
        {"\\K", ERR_REFUSED, escape},
        {"\\cA", ERR_REFUSED, escape},
        {"\\q", ERR_REFUSED, escape},
        {"[\\A]", ERR_REFUSED, escape},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_refused(str_from(rows[i].pattern), rows[i].err, rows[i].what);
}

static char long_text[100001];

static struct str filled(const char *unit, uint32_t len)
{
    const size_t size = strlen(unit);
    must(len < sizeof(long_text));
    for (uint32_t i = 0; i < len; i++)
        long_text[i] = unit[i % size];
    return (struct str){long_text, len};
}

TEST(too_large_is_said_and_the_largest_still_works)
{
    static const char unrolled[] = "a pattern that is too large once its repeats are written out";
    static const char count[] = "a repeat count that is too large";
    check_refused(STR("(a{200}){200}"), ERR_LIMIT, unrolled);
    check_refused(STR("(((a{50}){50}){50}){50}"), ERR_LIMIT, unrolled);
    check_refused(STR("a{20000}"), ERR_LIMIT, unrolled);
    check_refused(STR("a{0,10001}"), ERR_LIMIT, unrolled);
    check_refused(STR("a{20001}"), ERR_LIMIT, count);
    check_refused(STR("a{1,20001}"), ERR_LIMIT, count);
    check_refused(STR("a{99999999999999999999}"), ERR_LIMIT, count);
    check_refused(STR("(){99999999999999999999}"), ERR_LIMIT, count);
    check_refused(filled("a", 20000), ERR_LIMIT, unrolled);
    check_refused(filled("a|", 20000), ERR_LIMIT, unrolled);
    check_refused(filled("a", 65537), ERR_LIMIT, "a pattern that is too long");
    check_refused(filled("(", 101), ERR_LIMIT, "groups nested too deep");

    CHECK(finds(STR("(a{0}){20000}"), false, STR("")));
    CHECK(!finds(filled("a", 19990), false, STR("aaa")));
    CHECK(finds(STR("\\Aa{19990}\\z"), false, filled("a", 19990)));
    CHECK(!finds(STR("\\Aa{19990}\\z"), false, filled("a", 19989)));
    CHECK(finds(STR("\\Aa{9000,9990}\\z"), false, filled("a", 9000)));
    CHECK(!finds(STR("\\Aa{9000,9990}\\z"), false, filled("a", 8999)));
    CHECK(finds(STR("\\Aa{9000}\\z"), false, filled("a", 9000)));
}

TEST(groups_nest_a_hundred_deep)
{
    char pattern[256];
    memset(pattern, '(', 100);
    pattern[100] = 'a';
    memset(pattern + 101, ')', 100);
    CHECK(finds((struct str){pattern, 201}, false, STR("xa")));
    CHECK(!finds((struct str){pattern, 201}, false, STR("x")));
    memset(pattern, '(', 101);
    check_refused((struct str){pattern, 101}, ERR_LIMIT, "groups nested too deep");
}

TEST(a_class_holds_many_ranges_and_says_when_too_many)
{
    char pattern[2000] = "[";
    uint32_t len = 1;
    for (uint32_t c = 0; c < 256; c++) {
        /* U+0400 and every second code point above it: no two touch. */
        const uint32_t point = 0x400 + 2 * c;
        pattern[len++] = (char)(0xc0 | point >> 6);
        pattern[len++] = (char)(0x80 | (point & 0x3f));
    }
    /* The rest makes the program grow, over ranges that were not allocated separately. */
    memcpy(pattern + len, "]|", 2);
    memset(pattern + len + 2, 'a', 200);
    CHECK(finds((struct str){pattern, len + 202}, false, STR("\xd0\x80")));
    CHECK(finds((struct str){pattern, len + 202}, false, STR("\xd7\xbe")));
    CHECK(!finds((struct str){pattern, len + 202}, false, STR("\xd0\x81\xd7\xbf")));
    memcpy(pattern + len, "\xe6\x97\xa5]", 4);
    check_refused((struct str){pattern, len + 4}, ERR_LIMIT, "a class with too many ranges");
}

TEST(patterns_that_ruin_backtracking_are_fast_on_long_texts)
{
    static const struct {
        const char *pattern;
        const char *unit;
        int found;
    } rows[] = {
        {"(a*)*b", "a", NO},
        {"(a|aa)+$", "a", YES},
        {"\\A(a|aa)+\\z", "a", YES},
        {"\\A(a|aa)+b\\z", "a", NO},
        {"(a|a)*c", "a", NO},
        {"(.*)(.*)(.*)(.*)(.*)x", "ab", NO},
        {"(x+x+)+y", "x", NO},
        {"((a?){20})*b", "a", NO},
        {"^(([a-z])+.)+[A-Z]([a-z])+$", "a", NO},
        {"(a?){50}a{50}b", "a", NO},
        {"(\\w+\\s?)*!", "word ", NO},
        {"(.*\\n)*zz\\z", "a\n", NO},
        {"\\Ab", "a", NO},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct str text = filled(rows[i].unit, 50000);
        const clock_t start = clock();
        CHECK(finds(str_from(rows[i].pattern), false, text) == (rows[i].found == YES));
        /* Milliseconds when well built; the room is for sanitizers on a busy machine. */
        CHECK(clock() - start < 5 * CLOCKS_PER_SEC);
    }
}

TEST(bytes_that_are_not_utf8_are_survived)
{
    CHECK(finds(STR("b"), false,
                STR("a\xff\xc3"
                    "b")));
    CHECK(!finds(STR("é"), false, STR("\xc3")));
    CHECK(finds(STR("\\A.\\z"), false, STR("\xe6")));
    CHECK(finds(STR("\\A...\\z"), false, STR("\xf0\x9f\x94")));
    CHECK(!finds(STR("/"), false, STR("\xc0\xaf"))); /* an overlong slash is no slash */
    CHECK(finds(STR("\\A..\\z"), false, STR("\xf8\x80")));
}

/* The model. A set of places in the text is one bit per place, so a construct is a function from
 * where it begins to the set of places where it can end. */

enum { TEXT_LEN_MAX = 12, NODES_MAX_OF_MODEL = 64 };

enum shape {
    SHAPE_CHAR,
    SHAPE_ANY,
    SHAPE_CLASS,
    SHAPE_ASSERT,
    SHAPE_PAIR,
    SHAPE_EITHER,
    SHAPE_REPEAT
};

struct node {
    enum shape shape;
    char letter;         /* CHAR; ASSERT: its letter */
    const char *members; /* CLASS */
    bool negated;
    uint32_t min, max; /* REPEAT; max 99 is none */
    const struct node *left, *right;
};

struct model {
    struct prng prng;
    struct node nodes[NODES_MAX_OF_MODEL];
    uint32_t count;
    char pattern[1024];
    uint32_t pattern_len;
    char text[TEXT_LEN_MAX + 1];
    uint32_t text_len;
};

static bool is_word(const struct model *m, int32_t at)
{
    return at >= 0 && at < (int32_t)m->text_len && (m->text[at] == 'a' || m->text[at] == 'b');
}

static bool model_holds(const struct model *m, char letter, uint32_t at)
{
    const char *t = m->text;
    const uint32_t n = m->text_len;
    const bool edge = is_word(m, (int32_t)at - 1) != is_word(m, (int32_t)at);
    switch (letter) {
    case '^': return at == 0 || (t[at - 1] == '\n' && at < n);
    case '$': return at == n || t[at] == '\n';
    case 'A': return at == 0;
    case 'z': return at == n;
    case 'Z': return at == n || (at == n - 1 && t[at] == '\n');
    case 'b': return edge;
    default: return !edge;
    }
}

static bool model_eats(const struct node *node, char c)
{
    if (node->shape == SHAPE_CHAR)
        return c == node->letter;
    if (node->shape == SHAPE_ANY)
        return c != '\n';
    return (strchr(node->members, c) != NULL) != node->negated;
}

static uint32_t ends(const struct model *m, const struct node *node, uint32_t at);

static uint32_t ends_from_all(const struct model *m, const struct node *node, uint32_t starts)
{
    uint32_t all = 0;
    for (uint32_t at = 0; at <= m->text_len; at++)
        if (starts >> at & 1)
            all |= ends(m, node, at);
    return all;
}

static uint32_t ends_of_repeat(const struct model *m, const struct node *node, uint32_t at)
{
    uint32_t now = 1u << at;
    for (uint32_t i = 0; i < node->min; i++)
        now = ends_from_all(m, node->left, now);
    uint32_t all = now;
    /* After as many rounds as there are places, further ones reach nothing new. */
    for (uint32_t i = node->min; i < node->max && i < node->min + TEXT_LEN_MAX + 2; i++) {
        now = ends_from_all(m, node->left, now);
        all |= now;
    }
    return all;
}

static uint32_t ends(const struct model *m, const struct node *node, uint32_t at)
{
    switch (node->shape) {
    case SHAPE_CHAR:
    case SHAPE_ANY:
    case SHAPE_CLASS: return at < m->text_len && model_eats(node, m->text[at]) ? 1u << (at + 1) : 0;
    case SHAPE_ASSERT: return model_holds(m, node->letter, at) ? 1u << at : 0;
    case SHAPE_PAIR: return ends_from_all(m, node->right, ends(m, node->left, at));
    case SHAPE_EITHER: return ends(m, node->left, at) | ends(m, node->right, at);
    case SHAPE_REPEAT: return ends_of_repeat(m, node, at);
    }
    return 0;
}

static void put(struct model *m, const char *text)
{
    const size_t len = strlen(text);
    must(m->pattern_len + len < sizeof(m->pattern));
    memcpy(m->pattern + m->pattern_len, text, len);
    m->pattern_len += (uint32_t)len;
}

static uint32_t below(struct model *m, uint32_t bound)
{
    return (uint32_t)prng_below(&m->prng, bound);
}

static struct node *draw_leaf(struct model *m)
{
    static const struct {
        const char *text;
        const char *members;
        bool negated;
    } classes[] = {
        {"[ab]", "ab", false},    {"[^a]", "a", true},          {"[-a]", "-a", false},
        {"\\w", "ab", false},     {"\\W", "ab", true},          {"\\s", "\n", false},
        {"[^\\n-]", "\n-", true}, {"[[:alpha:]]", "ab", false}, {"\\h", "ab", false},
        {"[\\D]", "", true},
    };
    static const char *const asserts[] = {"^", "$", "\\A", "\\z", "\\Z", "\\b", "\\B"};
    static const char *const chars[] = {"a", "b", "-", "\\n"};
    struct node *node = &m->nodes[m->count++];
    const uint32_t kind = below(m, 20);
    uint32_t pick;
    *node = (struct node){.shape = SHAPE_CHAR};
    if (kind < 12) {
        pick = below(m, 4);
        node->letter = "ab-\n"[pick];
        put(m, chars[pick]);
    } else if (kind < 14) {
        node->shape = SHAPE_ANY;
        put(m, ".");
    } else if (kind < 17) {
        pick = below(m, sizeof(classes) / sizeof(classes[0]));
        *node = (struct node){.shape = SHAPE_CLASS,
                              .members = classes[pick].members,
                              .negated = classes[pick].negated};
        put(m, classes[pick].text);
    } else {
        const char *text = asserts[below(m, 7)];
        *node = (struct node){.shape = SHAPE_ASSERT, .letter = text[strlen(text) - 1]};
        put(m, text);
    }
    return node;
}

static void draw_bounds(struct model *m, struct node *node)
{
    char text[32];
    switch (below(m, 6)) {
    case 0:
        node->min = 0;
        node->max = 99;
        put(m, "*");
        break;
    case 1:
        node->min = 1;
        node->max = 99;
        put(m, "+");
        break;
    case 2:
        node->min = 0;
        node->max = 1;
        put(m, "?");
        break;
    case 3:
        node->min = node->max = below(m, 4);
        snprintf(text, sizeof(text), "{%u}", node->min);
        put(m, text);
        break;
    case 4:
        node->min = below(m, 4);
        node->max = 99;
        snprintf(text, sizeof(text), "{%u,}", node->min);
        put(m, text);
        break;
    default:
        node->min = below(m, 3);
        node->max = node->min + below(m, 3);
        snprintf(text, sizeof(text), "{%u,%u}", node->min, node->max);
        put(m, text);
        break;
    }
    if (below(m, 4) == 0)
        put(m, "?");
}

/* Draws a construct, writes it as text and returns what it means. Grouped always, so that the text
 * cannot be read otherwise than it is meant; the tables above look at precedence. */
static struct node *draw(struct model *m, uint32_t depth)
{
    const uint32_t kind = depth == 0 ? 0 : below(m, 5);
    if (kind == 0)
        return draw_leaf(m);
    struct node *node = &m->nodes[m->count++];
    *node = (struct node){.shape = kind <= 2   ? SHAPE_PAIR
                                   : kind == 3 ? SHAPE_EITHER
                                               : SHAPE_REPEAT};
    put(m, below(m, 2) ? "(" : "(?:");
    node->left = draw(m, depth - 1);
    if (node->shape == SHAPE_REPEAT) {
        put(m, ")");
        draw_bounds(m, node);
        return node;
    }
    if (node->shape == SHAPE_EITHER)
        put(m, "|");
    node->right = draw(m, depth - 1);
    put(m, ")");
    return node;
}

static void draw_text(struct model *m)
{
    m->text_len = below(m, TEXT_LEN_MAX + 1);
    for (uint32_t i = 0; i < m->text_len; i++)
        m->text[i] = "aaabbb-\n"[below(m, 8)];
    m->text[m->text_len] = 0;
}

TEST(random_patterns_find_what_the_model_finds)
{
    static struct model m;
    struct arena a = {0};
    uint32_t seen[2] = {0, 0};
    prng_init(&m.prng, 20240117);
    for (uint32_t round = 0; round < 20000; round++) {
        m.count = 0;
        m.pattern_len = 0;
        const struct node *root = draw(&m, 1 + below(&m, 4));
        const struct str pattern = {m.pattern, m.pattern_len};
        struct regex *r = NULL;
        const char *what = NULL;
        CHECK(regex_compile(&a, pattern, false, &r, &what) == OK);
        for (uint32_t i = 0; i < 5; i++) {
            draw_text(&m);
            const bool expected = ends_from_all(&m, root, (2u << m.text_len) - 1) != 0;
            const bool found = regex_search(r, (struct str){m.text, m.text_len}, &a);
            if (found != expected)
                fprintf(stderr, "round %u: \"%.*s\" on \"%s\"\n", round, STR_FMT_ARGS(pattern),
                        m.text);
            CHECK(found == expected);
            seen[found]++;
        }
        arena_reset(&a);
    }
    arena_fini(&a);
    /* Neither answer may be so rare that the comparison means little. */
    CHECK(seen[0] > 10000 && seen[1] > 10000);
}

TEST(random_bytes_compile_or_are_refused_and_never_harm)
{
    static const char alphabet[] = "ab()[]{}|*+?^$\\.,-:=<>!&#019dwszZAxih\n\xc3\xa9";
    struct prng prng;
    struct arena a = {0};
    uint32_t compiled = 0;
    prng_init(&prng, 7);
    for (uint32_t round = 0; round < 50000; round++) {
        char pattern[24];
        const uint32_t len = (uint32_t)prng_below(&prng, sizeof(pattern));
        for (uint32_t i = 0; i < len; i++)
            pattern[i] = alphabet[prng_below(&prng, sizeof(alphabet) - 1)];
        struct regex *r = NULL;
        const char *what = NULL;
        const err e =
            regex_compile(&a, (struct str){pattern, len}, prng_chance(&prng, 300), &r, &what);
        CHECK(e == OK || e == ERR_SYNTAX || e == ERR_REFUSED || e == ERR_LIMIT);
        CHECK((e == OK) == (r != NULL));
        CHECK((e == OK) == (what == NULL));
        if (r) {
            compiled++;
            const bool once = regex_search(r, (struct str){pattern, len}, &a);
            CHECK(regex_search(r, (struct str){pattern, len}, &a) == once);
        }
        arena_reset(&a);
    }
    arena_fini(&a);
    CHECK(compiled > 1000);
}
