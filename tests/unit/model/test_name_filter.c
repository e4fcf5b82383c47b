/* Goal: a matcher holds exactly if all its tests hold, a template makes the text that its tokens
 * mean, wrong text is refused with the position of the error, and no input exceeds a bound.
 * Method: tables of texts with their meaning; each bound at N-1, N and N+1; every single byte at
 * every position of a valid matcher; callbacks that count how often they are called. */
#include "model/name_filter.h"

#include <stdio.h>
#include <string.h>

#include "tests/check.h"

/* ---- facts of one allocation ---- */

struct calls {
    uint32_t roles, attribs, macs;
    const char *mac;
};

static bool has_role(void *context, struct str role)
{
    ((struct calls *)context)->roles++;
    return str_eq(role, STR("dns-server"));
}

static bool has_attrib_value(void *context, struct str attrib, struct str value)
{
    ((struct calls *)context)->attribs++;
    return str_eq(attrib, STR("rack-row")) && str_eq(value, STR("r1"));
}

static struct str first_mac(void *context)
{
    ((struct calls *)context)->macs++;
    return str_from(((struct calls *)context)->mac);
}

static struct name_facts facts_for(struct calls *calls)
{
    return (struct name_facts){.node_name = STR("n1.example.com"),
                               .node_id = 4711,
                               .deployment = STR("prod"),
                               .network = STR("the_admin"),
                               .range = STR("host"),
                               .category = STR("admin"),
                               .has_role = has_role,
                               .has_attrib_value = has_attrib_value,
                               .first_mac = first_mac,
                               .context = calls};
}

static bool holds(const char *text)
{
    struct calls calls = {.mac = ""};
    const struct name_facts facts = facts_for(&calls);
    struct name_matcher matcher;
    struct name_syntax_error error = {NULL, 0};
    const bool ok = name_matcher_parse(str_from(text), &matcher, &error);
    if (!ok)
        fprintf(stderr, "%s: %s at %u\n", text, error.what, error.at);
    CHECK(ok);
    return name_matcher_holds(str_from(text), &matcher, &facts);
}

/* ---- matchers ---- */

TEST(a_matcher_holds_if_all_its_tests_hold)
{
    static const struct {
        const char *matcher;
        bool holds;
    } rows[] = {
        /* the checks of case 166 */
        {"net.category == \"admin\"", true},
        {"net.category == \"bmc\"", false},
        {"net.name == \"the_admin\"", true},
        {"net.name == \"the_bmc\"", false},
        {"range.name == \"host\"", true},
        {"range.name == \"dhcp\"", false},
        {"deployment.name == \"prod\"", true},
        {"deployment.name == \"system\"", false},
        {"node.role has \"dns-server\"", true},
        {"node.role has \"ntp-server\"", false},
        {"node.attr.unknown == \"r1\"", false},
        {"node.attr.rack-row == \"r1\"", true},
        {"node.attr.rack-row == \"r2\"", false},
        {"net.category == \"admin\", node.role has \"dns-server\"", true},
        {"net.category == \"bmc\", node.role has \"dns-server\"", false},
        {"net.category == \"admin\", node.role has \"ntp-server\"", false},
        {"net.color == \"admin\"", false},
        /* spelling */
        {"net.category==\"admin\"", true},
        {"  net.category  ==  \"admin\"  ,  range.name == \"host\"  ", true},
        {"net.category == \"admin\",range.name == \"host\",net.name == \"the_admin\"", true},
        {"node.role has\"dns-server\"", true},
        {"net.category == \"Admin\"", false},
        {"net.category == \"admin \"", false},
        {"net.category == \"\"", false},
        {"net.category == \"ad\"", false},
        {"NET.CATEGORY == \"admin\"", false},
        {"net.name == \"a,b == \"", false},
        /* a known name with the other operator, and prefixes of known names */
        {"net.category has \"admin\"", false},
        {"node.role == \"dns-server\"", false},
        {"node.attr.rack-row has \"r1\"", false},
        {"node.attr. == \"r1\"", false},
        {"node.attr == \"r1\"", false},
        {"net.categoryx == \"admin\"", false},
        {"net.categor == \"admin\"", false},
        {"net.category == \"admin\", net.color == \"admin\"", false},
        {"node.rolehas == \"dns-server\"", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (holds(rows[i].matcher) != rows[i].holds)
            fprintf(stderr, "%s\n", rows[i].matcher);
        CHECK(holds(rows[i].matcher) == rows[i].holds);
    }
}

TEST(a_matcher_that_is_no_list_of_tests_is_refused_with_the_position)
{
    static const char no_test[] = "must have a test like net.category == \"admin\"";
    static const char no_operator[] = "must have == or has after the name of a test";
    static const char no_value[] = "must have a value in double quotes";
    static const char no_quote[] = "must have a closing double quote";
    static const char no_comma[] = "must have a comma between two tests";
    static const struct {
        const char *matcher, *what;
        uint32_t at;
    } rows[] = {
        {"", "is required", UINT32_MAX},
        {" ", no_test, 1},
        {",", no_test, 0},
        {"net.name == \"a\",", no_test, 16},
        {"net.name == \"a\", ", no_test, 17},
        {"net.name == \"a\",,net.name == \"a\"", no_test, 16},
        {"== \"a\"", no_test, 0},
        {"net.name", no_operator, 8},
        {"net.name = \"a\"", no_operator, 9},
        {"net.name != \"a\"", no_operator, 9},
        {"net.name \"a\"", no_operator, 9},
        {"net.namehas \"a\"", no_operator, 12},
        {"net.name ==", no_value, 11},
        {"net.name == a", no_value, 12},
        {"net.name == 'a'", no_value, 12},
        {"net.name === \"a\"", no_value, 11},
        {"node.role hasnt \"a\"", no_value, 13},
        {"net.name == \"a", no_quote, 12},
        {"net.name == \"", no_quote, 12},
        {"net.name == \"a\" net.name == \"a\"", no_comma, 16},
        {"net.name == \"a\"x", no_comma, 15},
        {"net.name == \"a\"\"", no_comma, 15},
        {"net.name == \"a\tb\"", "must not contain control characters", 14},
        {"net.name == \"a\x7f\"", "must not contain control characters", 14},
        {"net.name == \"\xff\"", "must be UTF-8 text without zero bytes", UINT32_MAX},
        {"net.name == \"\xc3\"", "must be UTF-8 text without zero bytes", UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct name_matcher matcher;
        struct name_syntax_error error = {"not set", 0};
        const bool ok = name_matcher_parse(str_from(rows[i].matcher), &matcher, &error);
        if (ok || strcmp(error.what, rows[i].what) != 0 || error.at != rows[i].at)
            fprintf(stderr, "%s: %s at %u\n", rows[i].matcher, error.what, error.at);
        CHECK(!ok && strcmp(error.what, rows[i].what) == 0 && error.at == rows[i].at);
    }
    struct name_matcher matcher;
    struct name_syntax_error error;
    CHECK(!name_matcher_parse((struct str){"net.name == \"\0\"", 15}, &matcher, &error));
}

TEST(the_callbacks_are_called_only_if_the_earlier_tests_hold)
{
    static const char text[] =
        "net.category == \"bmc\", node.role has \"dns-server\", node.attr.rack-row == \"r1\"";
    struct calls calls = {.mac = ""};
    struct name_facts facts = facts_for(&calls);
    struct name_matcher matcher;
    struct name_syntax_error error;
    CHECK(name_matcher_parse(STR(text), &matcher, &error) && matcher.count == 3);
    CHECK(!name_matcher_holds(STR(text), &matcher, &facts));
    CHECK(calls.roles == 0 && calls.attribs == 0);
    facts.category = STR("bmc");
    CHECK(name_matcher_holds(STR(text), &matcher, &facts));
    CHECK(calls.roles == 1 && calls.attribs == 1);
    CHECK(name_matcher_has(&matcher, NAME_TEST_NODE_ROLE) &&
          name_matcher_has(&matcher, NAME_TEST_NODE_ATTRIB) &&
          !name_matcher_has(&matcher, NAME_TEST_RANGE));
}

TEST(an_unknown_test_is_reported_as_it_was_written)
{
    static const char text[] = "net.name == \"a\", net.color  ==  \"red\" , x has \"y\"";
    struct name_matcher matcher;
    struct name_syntax_error error;
    CHECK(name_matcher_parse(STR(text), &matcher, &error));
    CHECK(str_eq(name_matcher_unknown(STR(text), &matcher), STR("net.color  ==  \"red\"")));
    CHECK(name_matcher_parse(STR("net.name == \"a\""), &matcher, &error));
    CHECK(name_matcher_unknown(STR("net.name == \"a\""), &matcher).len == 0);
}

/* A matcher of exactly that length, which holds for no allocation. */
static struct str matcher_of_length(char *buffer, uint32_t len)
{
    static const char head[] = "net.name == \"";
    memset(buffer, 'x', len);
    memcpy(buffer, head, sizeof head - 1);
    buffer[len - 1] = '"';
    return (struct str){buffer, len};
}

TEST(matchers_are_bounded_in_length_and_tests)
{
    static char buffer[NAME_TESTS_MAX * 64 + MATCHER_LEN_MAX];
    struct name_matcher matcher;
    struct name_syntax_error error;
    CHECK(name_matcher_parse(matcher_of_length(buffer, MATCHER_LEN_MAX - 1), &matcher, &error));
    CHECK(name_matcher_parse(matcher_of_length(buffer, MATCHER_LEN_MAX), &matcher, &error));
    CHECK(!name_matcher_parse(matcher_of_length(buffer, MATCHER_LEN_MAX + 1), &matcher, &error));
    CHECK(strcmp(error.what, "must be at most 1024 bytes") == 0 && error.at == UINT32_MAX);
    for (uint32_t tests = NAME_TESTS_MAX - 1; tests <= NAME_TESTS_MAX + 1; tests++) {
        uint32_t len = 0;
        for (uint32_t i = 0; i < tests; i++) {
            memcpy(buffer + len, ",net.name == \"the_admin\"", 24);
            len += 24;
        }
        const struct str text = {buffer + 1, len - 1};
        const bool ok = name_matcher_parse(text, &matcher, &error);
        CHECK(ok == (tests <= NAME_TESTS_MAX));
        CHECK(ok ? matcher.count == tests
                 : strcmp(error.what, "must have at most 16 tests") == 0 &&
                       error.at == 24 * NAME_TESTS_MAX);
    }
}

/* Whatever byte replaces one of a matcher: it is refused inside the text, or its positions are in
 * the text. */
TEST(any_byte_at_any_position_gives_a_matcher_or_a_position)
{
    static const char text[] = "net.name == \"a\", node.attr.b == \"c\", node.role has \"d\"";
    char changed[sizeof text];
    uint32_t accepted = 0, refused = 0;
    for (uint32_t at = 0; at < sizeof text - 1; at++)
        for (uint32_t byte = 0; byte < 256; byte++) {
            struct name_matcher matcher;
            struct name_syntax_error error = {NULL, 0};
            memcpy(changed, text, sizeof text);
            changed[at] = (char)byte;
            const struct str s = {changed, sizeof text - 1};
            if (!name_matcher_parse(s, &matcher, &error)) {
                CHECK(error.what && (error.at == UINT32_MAX || error.at <= s.len));
                refused++;
                continue;
            }
            accepted++;
            CHECK(matcher.count >= 1 && matcher.count <= 3);
            for (uint32_t i = 0; i < matcher.count; i++) {
                const struct name_test *test = &matcher.tests[i];
                CHECK(test->name_len && test->name_at + test->name_len < test->value_at);
                CHECK(changed[test->value_at - 1] == '"' &&
                      changed[test->value_at + test->value_len] == '"');
            }
        }
    CHECK(accepted > 1000 && refused > 1000);
}

/* ---- templates ---- */

static bool expand(const char *text, const char *mac, char *out)
{
    struct calls calls = {.mac = mac};
    const struct name_facts facts = facts_for(&calls);
    struct name_template template;
    struct name_syntax_error error;
    char buffer[DNS_NAME_LEN_MAX];
    uint32_t len = 0;
    CHECK(name_template_parse(str_from(text), &template, &error));
    if (!name_template_expand(str_from(text), &template, &facts, buffer, &len))
        return false;
    memcpy(out, buffer, len);
    out[len] = 0;
    return true;
}

TEST(a_template_replaces_known_tokens_and_keeps_unknown_ones)
{
    static const char mac[] = "52:54:00:12:34:56";
    static const struct {
        const char *template, *mac, *made;
    } rows[] = {
        /* case 167 */
        {"{{node.name}}-{{node.id}}-{{node.mac}}-{{node.deployment}}-{{network.name}}-"
         "{{network.range}}-{{network.category}}-{{node.color}}",
         mac, "n1-4711-52-54-00-12-34-56-prod-the_admin-host-admin-{{node.color}}"},
        {"m{{node.mac}}", "", "m"},
        {"{{node.mac}}", "", ""},
        /* spelling */
        {"fixed", mac, "fixed"},
        {"{{node.name}}", mac, "n1"},
        {"{{node.name}}{{node.name}}", mac, "n1n1"},
        {"a{{node.id}}b{{node.id}}c", mac, "a4711b4711c"},
        {"{{ node.name }}", mac, "{{ node.name }}"},
        {"{{NODE.NAME}}", mac, "{{NODE.NAME}}"},
        {"{{node.name}", mac, "{{node.name}"},
        {"{node.name}}", mac, "{node.name}}"},
        {"{{{node.name}}}", mac, "{n1}"},
        {"{{node.{{node.id}}", mac, "{{node.4711"},
        {"{{", mac, "{{"},
        {"{", mac, "{"},
        {"a:{{node.mac}}:b", mac, "a:52-54-00-12-34-56:b"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char made[DNS_NAME_LEN_MAX + 1];
        CHECK(expand(rows[i].template, rows[i].mac, made));
        if (strcmp(made, rows[i].made) != 0)
            fprintf(stderr, "%s: %s\n", rows[i].template, made);
        CHECK(strcmp(made, rows[i].made) == 0);
    }
}

TEST(the_mac_is_read_only_if_a_token_needs_it)
{
    struct calls calls = {.mac = "52:54:00:12:34:56"};
    const struct name_facts facts = facts_for(&calls);
    struct name_template template;
    struct name_syntax_error error;
    char buffer[DNS_NAME_LEN_MAX];
    uint32_t len;
    CHECK(name_template_parse(STR("{{node.name}}"), &template, &error));
    CHECK(name_template_expand(STR("{{node.name}}"), &template, &facts, buffer, &len));
    CHECK(calls.macs == 0 && len == 2);
}

TEST(templates_are_bounded_in_length_and_parts)
{
    static char text[NAME_TEMPLATE_LEN_MAX + 2];
    struct name_template template;
    struct name_syntax_error error;
    memset(text, 'a', sizeof text);
    CHECK(name_template_parse((struct str){text, NAME_TEMPLATE_LEN_MAX - 1}, &template, &error));
    CHECK(name_template_parse((struct str){text, NAME_TEMPLATE_LEN_MAX}, &template, &error));
    CHECK(template.count == 1);
    CHECK(!name_template_parse((struct str){text, NAME_TEMPLATE_LEN_MAX + 1}, &template, &error));
    CHECK(strcmp(error.what, "must be at most 512 bytes") == 0);
    CHECK(!name_template_parse(STR(""), &template, &error) &&
          strcmp(error.what, "is required") == 0);
    CHECK(!name_template_parse(STR("a\nb"), &template, &error) && error.at == 1);
    CHECK(!name_template_parse(STR("a\xff"), &template, &error) && error.at == UINT32_MAX);
    for (uint32_t parts = NAME_PARTS_MAX - 1; parts <= NAME_PARTS_MAX + 1; parts++) {
        for (uint32_t i = 0; i < parts; i++)
            memcpy(text + 11 * i, "{{node.id}}", 11);
        const bool ok = name_template_parse((struct str){text, 11 * parts}, &template, &error);
        CHECK(ok == (parts <= NAME_PARTS_MAX));
        CHECK(ok ? template.count == parts : error.at == 11 * NAME_PARTS_MAX);
    }
}

TEST(a_result_is_bounded_by_the_length_of_a_dns_name)
{
    char text[DNS_NAME_LEN_MAX + 16], made[DNS_NAME_LEN_MAX + 1];
    for (uint32_t len = DNS_NAME_LEN_MAX - 1; len <= DNS_NAME_LEN_MAX + 1; len++) {
        /* the token makes two characters */
        memset(text, 'a', len - 2);
        memcpy(text + len - 2, "{{node.name}}", 14);
        CHECK(expand(text, "", made) == (len <= DNS_NAME_LEN_MAX));
        CHECK(len > DNS_NAME_LEN_MAX || strlen(made) == len);
    }
}

/* ---- DNS names ---- */

TEST(a_dns_name_is_one_of_rfc_1123)
{
    static const char *const valid[] = {"a",   "A",      "1",   "a1",     "1a",
                                        "a-b", "a--b",   "a.b", "n1.x.y", "52-54-00-12-34-56",
                                        "1.2", "xn--a9b"};
    static const char *const wrong[] = {"",          ".",     "a.",        ".a",   "a..b", "-a",
                                        "a-",        "a.-b",  "a-.b",      "a_b",  "a b",  "a/b",
                                        "a\xc3\xa4", "{{x}}", "the_admin", "a\nb", "-"};
    for (size_t i = 0; i < sizeof valid / sizeof *valid; i++)
        CHECK(dns_name_is_valid(str_from(valid[i])));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!dns_name_is_valid(str_from(wrong[i])));
    char name[DNS_NAME_LEN_MAX + 2];
    for (uint32_t len = LABEL_LEN_MAX - 1; len <= LABEL_LEN_MAX + 1; len++) {
        memset(name, 'a', sizeof name);
        name[len] = '.';
        CHECK(dns_name_is_valid((struct str){name, len}) == (len <= LABEL_LEN_MAX));
        CHECK(dns_name_is_valid((struct str){name, len + 3}) == (len <= LABEL_LEN_MAX));
    }
    for (uint32_t len = DNS_NAME_LEN_MAX - 1; len <= DNS_NAME_LEN_MAX + 1; len++) {
        memset(name, 'a', sizeof name);
        for (uint32_t at = 50; at < len - 1; at += 51)
            name[at] = '.';
        CHECK(dns_name_is_valid((struct str){name, len}) == (len <= DNS_NAME_LEN_MAX));
    }
}

TEST(what_is_wrong_with_a_dns_name_is_known)
{
    static const char hyphen[] = "has a label that begins or ends with a hyphen";
    static const char other[] = "has a character other than letters, digits, hyphens and dots";
    static const char label[] = "has an empty label";
    const struct {
        const char *name, *wrong;
    } rows[] = {{"", "is empty"}, {".a", label},  {"a.", label},    {"a..b", label},
                {"-a", hyphen},   {"a-", hyphen}, {"a.-b", hyphen}, {"a-.b", hyphen},
                {"a_b", other},   {"a b", other}, {"{{x}}", other}, {"a\xc3\xa4", other}};
    char name[DNS_NAME_LEN_MAX + 1];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK(strcmp(dns_name_wrong(str_from(rows[i].name)), rows[i].wrong) == 0);
    memset(name, 'a', sizeof name);
    CHECK(dns_name_wrong((struct str){name, LABEL_LEN_MAX}) == NULL);
    CHECK(strcmp(dns_name_wrong((struct str){name, LABEL_LEN_MAX + 1}),
                 "has a label of more than 63 characters") == 0);
    CHECK(strcmp(dns_name_wrong((struct str){name, sizeof name}),
                 "is longer than 253 characters") == 0);
}
