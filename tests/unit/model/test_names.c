/* Goal: each kind of object accepts the names that docs/spec/objects.md permits and refuses all
 * others with the reason.
 * Method: a table per noun, the bounds at both sides, and every single byte in every position. */
#include "model/names.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "model/limits.h"
#include "tests/check.h"

typedef const char *(*check_fn)(struct str);

struct row {
    const char *name;
    const char *wrong; /* NULL: fine */
};

static void check_name(check_fn check, struct str name, const char *wrong)
{
    const char *said = check(name);
    const bool same = wrong ? said && strcmp(said, wrong) == 0 : !said;
    if (!same)
        fprintf(stderr, "\"%.*s\": %s\n", STR_FMT_ARGS(name), said ? said : "(fine)");
    CHECK(same);
}

static void check_rows(check_fn check, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_name(check, str_from(rows[i].name), rows[i].wrong);
}

#define CHECK_ROWS(check, rows) check_rows((check), (rows), sizeof(rows) / sizeof((rows)[0]))

static const char required[] = "is required";
static const char letter_first[] = "must begin with a letter";
static const char digits[] = "must not be made of digits only";
static const char too_long[] = "must be at most 255 characters";
static const char not_utf8[] = "must be UTF-8 text without zero bytes";
static const char no_dashes[] = "may contain only letters, digits and underscores";
static const char dashes[] = "may contain only letters, digits, dashes and underscores";
static const char dots[] = "may contain only letters, digits, dashes, underscores and dots";
static const char lower_case[] = "must be in lower case";

/* The names of case 3, which every identifier refuses, and those all take. */
static void check_as_identifier(check_fn check, const char *charset)
{
    const struct row rows[] = {
        {"a", NULL},
        {"foo", NULL},
        {"Foo_1", NULL},
        {"z9", NULL},
        {"a_", NULL},
        {"", required},
        {"1123", digits},
        {"1foo", letter_first},
        {"_foo", letter_first},
        {"-foo", letter_first},
        {" foo", letter_first},
        {".", letter_first},
        {"foo!", charset},
        {"fo o", charset},
        {"foo ", charset},
        {"foo.bar", charset},
        {"foo/bar", charset},
        {"foo\n", charset},
        {"foé", charset},
        {"émile", letter_first},
        {"foo\xff", not_utf8},
    };
    CHECK_ROWS(check, rows);
    check_name(check, STR("fo\0o"), not_utf8);
    check_name(check, (struct str){NULL, 0}, required);
}

static struct str letters(uint32_t len)
{
    static char text[70000];
    must(len <= sizeof(text));
    memset(text, 'a', sizeof(text));
    return (struct str){text, len};
}

TEST(barclamps_and_groups_are_letters_digits_and_underscores)
{
    check_as_identifier(names_check_barclamp, no_dashes);
    check_as_identifier(names_check_group, no_dashes);
    check_name(names_check_barclamp, STR("foo-bar"), no_dashes);
    check_name(names_check_group, STR("foo-bar"), no_dashes);
    check_name(names_check_barclamp, letters(255), NULL);
    check_name(names_check_barclamp, letters(256), too_long);
    check_name(names_check_group, letters(255), NULL);
    check_name(names_check_group, letters(256), too_long);
}

TEST(no_barclamp_has_a_reserved_name_in_any_case)
{
    static const char *const reserved[] = {
        "framework", "api",   "barclamp", "docs",        "machines", "jigs", "roles",
        "groups",    "users", "support",  "application", "Barclamp", "DOCS", "aPi",
    };
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        check_name(names_check_barclamp, str_from(reserved[i]), "is a reserved word");
        check_name(names_check_group, str_from(reserved[i]), NULL);
    }
    check_name(names_check_barclamp, STR("apis"), NULL);
    check_name(names_check_barclamp, STR("ap"), NULL);
    check_name(names_check_barclamp, STR("doc_s"), NULL);
}

TEST(jigs_roles_and_hammers_may_have_dashes)
{
    static const check_fn checks[] = {names_check_jig, names_check_role, names_check_hammer};
    for (size_t i = 0; i < 3; i++) {
        check_as_identifier(checks[i], dashes);
        check_name(checks[i], STR("crowbar-managed-node"), NULL);
        check_name(checks[i], STR("dns-mgmt_service"), NULL);
        check_name(checks[i], STR("network-10g"), NULL);
        check_name(checks[i], letters(255), NULL);
        check_name(checks[i], letters(256), too_long);
    }
}

TEST(names_in_documents_may_contain_the_name_of_a_network)
{
    static const char once[] = "may contain {name} only once";
    check_name(names_check_role_pattern, STR("network-{name}"), NULL);
    check_name(names_check_role_pattern, STR("{name}-x"), NULL);
    check_name(names_check_role_pattern, STR("plain"), NULL);
    check_name(names_check_role_pattern, STR("{name}{name}"), once);
    check_name(names_check_role_pattern, STR(""), "is required");
    check_name(names_check_role_pattern, STR("-{name}"), "must begin with a letter");
    check_name(names_check_role_pattern, STR("a-{nam}"),
               "may contain only letters, digits, dashes and underscores");
    check_name(names_check_role_pattern, STR("a-{name"),
               "may contain only letters, digits, dashes and underscores");
    check_name(names_check_role_pattern, letters(255), NULL);
    check_name(names_check_role_pattern, letters(256), too_long);
    check_name(names_check_attrib_pattern, STR("hint-{name}-{name}"), NULL);
    check_name(names_check_attrib_pattern, STR("{name}.x"), NULL);
    check_name(names_check_attrib_pattern, letters(256), too_long);
}

TEST(a_deployment_leaves_room_for_its_phantom)
{
    check_as_identifier(names_check_deployment, dashes);
    check_name(names_check_deployment, STR("system"), NULL);
    check_name(names_check_deployment, STR("rack-7_b"), NULL);
    check_name(names_check_deployment, letters(55), NULL);
    check_name(names_check_deployment, letters(56), "must be at most 55 characters");
    check_name(names_check_deployment, letters(256), too_long);
}

TEST(the_phantom_of_every_good_deployment_is_a_good_node)
{
    char name[128];
    snprintf(name, sizeof(name), "%.55s-phantom.internal.local", letters(55).at);
    check_name(names_check_node, str_from(name), NULL);
    snprintf(name, sizeof(name), "%.56s-phantom.internal.local", letters(56).at);
    check_name(names_check_node, str_from(name), "must not have a part longer than 63 characters");
}

TEST(categories_are_four_words)
{
    static const char wrong[] = "must be one of class, rack, tag, ui";
    static const struct row rows[] = {
        {"class", NULL}, {"rack", NULL},  {"tag", NULL},    {"ui", NULL}, {"foo", wrong},
        {"", wrong},     {"Rack", wrong}, {"racks", wrong}, {"u", wrong}, {" ui", wrong},
    };
    CHECK_ROWS(names_check_category, rows);
}

TEST(nodes_have_host_names_of_three_parts_or_more)
{
    static const char parts[] = "must have at least three parts, as in host.example.com";
    static const char empty[] = "must not have an empty part before, between or after its dots";
    static const char last[] = "must end in a part of at least two letters";
    static const struct row rows[] = {
        {"admin.bddtesting.com", NULL},
        {"a.b.cd", NULL},
        {"d52-54-00-12-34-56.smoke.test", NULL},
        {"1.2.com", NULL},
        {"a_b.c-d.org", NULL},
        {"a.b.c.d.e.fg", NULL},
        {"3com.example.net", NULL},
        {"", required},
        {"admin", parts},
        {"1123", digits},
        {"foo.com", parts},
        {"bad!name.foo.com", dots},
        {" a.foo.com", dots},
        {"a. foo.com", dots},
        {"a.foo.com ", dots},
        {"a.foo.com\n", dots},
        {"a.foo.c", last},
        {"a.foo.c0m", last},
        {"10.0.0.1", last},
        {"a.foo.c-m", last},
        {"a.foo.c_m", last},
        {"a..foo.com", empty},
        {".foo.com", empty},
        {"a.foo.com.", empty},
        {"...", empty},
        {"Admin.foo.com", lower_case},
        {"a.foo.COM", lower_case},
        {"é.foo.com", dots},
        {"a.foo.com\xff", not_utf8},
        {"a/b.foo.com", dots},
    };
    CHECK_ROWS(names_check_node, rows);
    check_name(names_check_node, STR("a.f\0o.com"), not_utf8);
}

TEST(a_node_name_and_its_parts_have_bounds)
{
    static const char part[] = "must not have a part longer than 63 characters";
    char name[300];
    snprintf(name, sizeof(name), "%.63s.foo.com", letters(63).at);
    check_name(names_check_node, str_from(name), NULL);
    snprintf(name, sizeof(name), "%.64s.foo.com", letters(64).at);
    check_name(names_check_node, str_from(name), part);
    snprintf(name, sizeof(name), "a.foo.%.64s", letters(64).at);
    check_name(names_check_node, str_from(name), part);

    /* 4 parts of 62 with their dots are 252; three more letters make 255. */
    const char *l = letters(62).at;
    snprintf(name, sizeof(name), "%.62s.%.62s.%.62s.%.62s.com", l, l, l, l);
    CHECK(strlen(name) == 255);
    check_name(names_check_node, str_from(name), NULL);
    snprintf(name, sizeof(name), "%.62s.%.62s.%.62s.%.62s.coms", l, l, l, l);
    check_name(names_check_node, str_from(name), too_long);
}

TEST(attribs_are_words_that_a_url_can_hold)
{
    static const char only_dots[] = "must not be made of dots only";
    static const char digit[] = "must not begin with a digit";
    static const struct row rows[] = {
        {"hint-admin-v4addr", NULL},
        {"network-the_admin_addresses", NULL},
        {"ipmi.version", NULL},
        {"number_of_drives", NULL},
        {"_x", NULL},
        {"-x", NULL},
        {".x", NULL},
        {"A", NULL},
        {"", required},
        {"42", digits},
        {"4x", digit},
        {"4.2", digit},
        {"a/b", dots},
        {"a b", dots},
        {"a!", dots},
        {"é", dots},
        {".", only_dots},
        {"..", only_dots},
        {"...", NULL},
        {"a\n", dots},
        {"a\xc3", not_utf8},
    };
    CHECK_ROWS(names_check_attrib, rows);
    check_name(names_check_attrib, letters(255), NULL);
    check_name(names_check_attrib, letters(256), too_long);
}

TEST(snapshots_have_any_line_of_text_for_a_name)
{
    static const char line[] = "must be one line without control characters";
    static const struct row rows[] = {
        {"system", NULL},       {"before the upgrade!", NULL},
        {"Übergabe 7/2", NULL}, {"2nd try", NULL},
        {"", required},         {"   ", required},
        {"12", digits},         {"a\nb", line},
        {"a\x7f", line},        {"\t", line},
        {"a\xff", not_utf8},
    };
    CHECK_ROWS(names_check_snapshot, rows);
    check_name(names_check_snapshot, letters(255), NULL);
    check_name(names_check_snapshot, letters(256), too_long);
}

TEST(usernames_are_valid_in_credentials_and_urls)
{
    static const char spaces[] = "must not contain spaces or control characters";
    static const char signs[] = "must not contain ':' or '/'";
    static const struct row rows[] = {
        {"crowbar", NULL},   {"developer", NULL}, {"bob@example.com", NULL}, {"jörg", NULL},
        {"7of9", NULL},      {"", required},      {"007", digits},           {"a b", spaces},
        {"a\t", spaces},     {" a", spaces},      {"a\x7f", spaces},         {"a:b", signs},
        {"a/b", signs},      {"Bob", lower_case}, {"Zed", lower_case},       {"az", NULL},
        {"a\xff", not_utf8},
    };
    CHECK_ROWS(names_check_username, rows);
    check_name(names_check_username, letters(255), NULL);
    check_name(names_check_username, letters(256), too_long);
    check_name(names_check_username, STR("a\0b"), not_utf8);
}

TEST(email_looks_like_local_at_domain)
{
    static const char wrong[] = "must look like local@domain.tld";
    static const struct row rows[] = {
        {"user@foo.com", NULL},
        {"the_user@foo.bar.org", NULL},
        {"first.last@foo.jp", NULL},
        {"a+b@x-y.example", NULL},
        {"jörg@example.de", NULL},
        {"a@xn--bcher-kva.xn--p1ai", NULL},
        {"user@foo,com", wrong},
        {"user_at_foo.org", wrong},
        {"example.user@foo.", wrong},
        {"@foo.com", wrong},
        {"user@", wrong},
        {"user@foo", wrong},
        {"user@.com", wrong},
        {"user@foo..com", wrong},
        {"a@b@foo.com", wrong},
        {"a b@foo.com", wrong},
        {"a@foo .com", wrong},
        {"a@foo.com ", wrong},
        {"a\n@foo.com", wrong},
        {"a@foo.c", wrong},
        {"a@10.0.0.10", wrong},
        {"a@-foo.com", wrong},
        {"a@foo-.com", wrong},
        {"a@foo_bar.com", wrong},
        {"a@foo.com.", wrong},
        {"THE_USER@foo.com", lower_case},
        {"a@Foo.com", lower_case},
        {"", required},
        {"a@foo.com\xff", not_utf8},
    };
    CHECK_ROWS(names_check_email, rows);
    char email[300];
    snprintf(email, sizeof(email), "%.247s@foo.com", letters(247).at);
    check_name(names_check_email, str_from(email), NULL);
    snprintf(email, sizeof(email), "%.248s@foo.com", letters(248).at);
    check_name(names_check_email, str_from(email), too_long);
    snprintf(email, sizeof(email), "a@%.64s.com", letters(64).at);
    check_name(names_check_email, str_from(email), wrong);
}

TEST(texts_are_clean_and_bounded)
{
    check_name(names_check_text, STR(""), NULL);
    check_name(names_check_text, STR("two\nlines of 123 é"), NULL);
    check_name(names_check_text, STR("123"), NULL);
    check_name(names_check_text, STR("a\0b"), not_utf8);
    check_name(names_check_text, STR("a\xff"), not_utf8);
    check_name(names_check_text, letters(TEXT_MAX), NULL);
    check_name(names_check_text, letters(TEXT_MAX + 1), "must be at most 65536 bytes");
}

/* With any byte at any position, an accepted name has allowed characters only. */
TEST(no_byte_slips_through_in_any_position)
{
    static const struct {
        check_fn check;
        const char *name;
        const char *others;
    } nouns[] = {
        {names_check_barclamp, "abcd", "_"}, {names_check_group, "abcd", "_"},
        {names_check_jig, "abcd", "-_"},     {names_check_role, "abcd", "-_"},
        {names_check_hammer, "abcd", "-_"},  {names_check_deployment, "abcd", "-_"},
        {names_check_attrib, "abcd", "-_."},
    };
    for (size_t n = 0; n < sizeof(nouns) / sizeof(nouns[0]); n++)
        for (uint32_t at = 0; at < 4; at++)
            for (int byte = 0; byte < 256; byte++) {
                char name[5];
                memcpy(name, nouns[n].name, 5);
                name[at] = (char)byte;
                const bool letter = char_is_letter((char)byte);
                const bool digit = char_is_digit((char)byte);
                const bool other = byte && strchr(nouns[n].others, byte);
                const bool first_may = letter || (other && nouns[n].check == names_check_attrib);
                const bool fine = at == 0 ? first_may : letter || digit || other;
                CHECK((nouns[n].check((struct str){name, 4}) == NULL) == fine);
            }
}

TEST(no_key_is_all_digits)
{
    static const check_fn checks[] = {
        names_check_barclamp, names_check_group,    names_check_jig,  names_check_role,
        names_check_hammer,   names_check_attrib,   names_check_node, names_check_deployment,
        names_check_snapshot, names_check_username,
    };
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        check_name(checks[i], STR("0"), digits);
        check_name(checks[i], STR("1234567890123456789012345"), digits);
    }
}
