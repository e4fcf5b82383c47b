/* name_filter.c - parsing and evaluating matchers and templates.
 *
 * Stateless. The grammar of a matcher is anchored: a text is a matcher from its first to its last
 * byte, or it is refused with the position of the first byte that does not fit.
 *
 *     matcher  = test *( "," test )
 *     test     = name operator value        ; spaces may be around each
 *     name     = 1*( letter / digit / "." / "-" / "_" )
 *     operator = "==" / "has"
 *     value    = DQUOTE *( any character but DQUOTE ) DQUOTE
 *
 * A test with a name that is not known, or with the operator of another name, is accepted and never
 * holds. A template has no grammar: what is not a known token is text. */
#include "model/name_filter.h"

#include <string.h>

_Static_assert(MATCHER_LEN_MAX == 1024 && NAME_TESTS_MAX == 16 && NAME_TEMPLATE_LEN_MAX == 512 &&
                   NAME_PARTS_MAX == 32,
               "the messages below contain the numbers");
_Static_assert(MATCHER_LEN_MAX <= UINT16_MAX && NAME_TEMPLATE_LEN_MAX <= UINT16_MAX,
               "positions are stored in 16 bits");

static const char REQUIRED[] = "is required";
static const char UNCLEAN[] = "must be UTF-8 text without zero bytes";
static const char CONTROLS[] = "must not contain control characters";

static bool name_syntax_fail(struct name_syntax_error *out, const char *what, uint32_t at)
{
    *out = (struct name_syntax_error){what, at};
    return false;
}

static bool name_check_text(struct str text, uint32_t most, const char *too_long,
                            struct name_syntax_error *out)
{
    if (text.len == 0)
        return name_syntax_fail(out, REQUIRED, UINT32_MAX);
    if (text.len > most)
        return name_syntax_fail(out, too_long, UINT32_MAX);
    if (!str_is_clean(text))
        return name_syntax_fail(out, UNCLEAN, UINT32_MAX);
    for (uint32_t i = 0; i < text.len; i++)
        if ((unsigned char)text.at[i] < ' ' || text.at[i] == 0x7f)
            return name_syntax_fail(out, CONTROLS, i);
    return true;
}

/* ---- matchers ---- */

struct name_keyword {
    const char *text;
    uint8_t kind;
};

/* NODE_ATTRIB is a prefix of its names. */
static const struct name_keyword test_names[] = {
    {"net.category", NAME_TEST_CATEGORY}, {"net.name", NAME_TEST_NETWORK},
    {"range.name", NAME_TEST_RANGE},      {"deployment.name", NAME_TEST_DEPLOYMENT},
    {"node.role", NAME_TEST_NODE_ROLE},
};

#define ATTRIB_PREFIX "node.attr."
enum { ATTRIB_PREFIX_LEN = sizeof ATTRIB_PREFIX - 1 };

static uint32_t name_skip_spaces(struct str s, uint32_t at)
{
    while (at < s.len && s.at[at] == ' ')
        at++;
    return at;
}

static bool name_is_test_char(char ch)
{
    return char_is_letter(ch) || char_is_digit(ch) || ch == '.' || ch == '-' || ch == '_';
}

/* Set the kind of a test, which is UNKNOWN so far, by its left side. For NODE_ATTRIB the attrib is
 * left in the test. */
static void name_test_classify(struct str text, struct name_test *test, bool is_has)
{
    const struct str name = str_slice(text, test->name_at, test->name_at + test->name_len);
    for (uint32_t i = 0; i < sizeof test_names / sizeof *test_names; i++)
        if (str_eq(name, str_from(test_names[i].text)) &&
            is_has == (test_names[i].kind == NAME_TEST_NODE_ROLE))
            test->kind = test_names[i].kind;
    if (!is_has && str_starts(name, STR(ATTRIB_PREFIX)) && name.len > ATTRIB_PREFIX_LEN) {
        test->kind = NAME_TEST_NODE_ATTRIB;
        test->name_at = (uint16_t)(test->name_at + ATTRIB_PREFIX_LEN);
        test->name_len = (uint16_t)(test->name_len - ATTRIB_PREFIX_LEN);
    }
}

/* One test at *at, which is moved behind it and the spaces that follow. */
static bool name_test_parse(struct str s, uint32_t *at, struct name_test *out_test,
                            struct name_syntax_error *out_error)
{
    /* The left side. */
    uint32_t i = name_skip_spaces(s, *at);
    const uint32_t name_at = i;
    while (i < s.len && name_is_test_char(s.at[i]))
        i++;
    const uint32_t name_end = i;
    if (name_end == name_at)
        return name_syntax_fail(out_error, "must have a test like net.category == \"admin\"", i);

    /* The operator. Letters belong to a name, so `has` needs a space before it. */
    i = name_skip_spaces(s, i);
    const bool is_has = str_starts(str_slice(s, i, s.len), STR("has")) && i > name_end;
    if (!is_has && !str_starts(str_slice(s, i, s.len), STR("==")))
        return name_syntax_fail(out_error, "must have == or has after the name of a test", i);
    i = name_skip_spaces(s, i + (is_has ? 3 : 2));

    /* The right side. */
    if (i >= s.len || s.at[i] != '"')
        return name_syntax_fail(out_error, "must have a value in double quotes", i);
    const uint32_t value_at = i + 1, value_end = str_find(s, '"', value_at);
    if (value_end == s.len)
        return name_syntax_fail(out_error, "must have a closing double quote", i);
    *out_test = (struct name_test){.kind = NAME_TEST_UNKNOWN,
                                   .name_at = (uint16_t)name_at,
                                   .name_len = (uint16_t)(name_end - name_at),
                                   .value_at = (uint16_t)value_at,
                                   .value_len = (uint16_t)(value_end - value_at)};
    name_test_classify(s, out_test, is_has);
    *at = name_skip_spaces(s, value_end + 1);
    return true;
}

bool name_matcher_parse(struct str text, struct name_matcher *out_matcher,
                        struct name_syntax_error *out_error)
{
    uint32_t at = 0;
    out_matcher->count = 0;
    if (!name_check_text(text, MATCHER_LEN_MAX, "must be at most 1024 bytes", out_error))
        return false;
    for (;;) {
        if (out_matcher->count == NAME_TESTS_MAX)
            return name_syntax_fail(out_error, "must have at most 16 tests", at);
        if (!name_test_parse(text, &at, &out_matcher->tests[out_matcher->count], out_error))
            return false;
        out_matcher->count++;
        if (at == text.len)
            return true;
        if (text.at[at] != ',')
            return name_syntax_fail(out_error, "must have a comma between two tests", at);
        at++;
    }
}

struct str name_matcher_unknown(struct str text, const struct name_matcher *matcher)
{
    for (uint32_t i = 0; i < matcher->count; i++) {
        const struct name_test *test = &matcher->tests[i];
        if (test->kind == NAME_TEST_UNKNOWN)
            return str_slice(text, test->name_at, (uint32_t)test->value_at + test->value_len + 1);
    }
    return STR("");
}

bool name_matcher_has(const struct name_matcher *matcher, enum name_test_kind kind)
{
    for (uint32_t i = 0; i < matcher->count; i++)
        if (matcher->tests[i].kind == kind)
            return true;
    return false;
}

bool name_matcher_holds(struct str text, const struct name_matcher *matcher,
                        const struct name_facts *facts)
{
    bool holds = true;
    for (uint32_t i = 0; i < matcher->count && holds; i++) {
        const struct name_test *test = &matcher->tests[i];
        const struct str name = {text.at + test->name_at, test->name_len};
        const struct str value = {text.at + test->value_at, test->value_len};
        switch ((enum name_test_kind)test->kind) {
        case NAME_TEST_CATEGORY: holds = str_eq(facts->category, value); break;
        case NAME_TEST_NETWORK: holds = str_eq(facts->network, value); break;
        case NAME_TEST_RANGE: holds = str_eq(facts->range, value); break;
        case NAME_TEST_DEPLOYMENT: holds = str_eq(facts->deployment, value); break;
        case NAME_TEST_NODE_ROLE: holds = facts->has_role(facts->context, value); break;
        case NAME_TEST_NODE_ATTRIB:
            holds = facts->has_attrib_value(facts->context, name, value);
            break;
        case NAME_TEST_UNKNOWN:
        case NAME_TEST_COUNT: holds = false; break;
        }
    }
    return holds;
}

/* ---- templates ---- */

static const struct name_keyword token_names[] = {
    {"{{node.name}}", NAME_PART_NODE_NAME},
    {"{{node.id}}", NAME_PART_NODE_ID},
    {"{{node.mac}}", NAME_PART_NODE_MAC},
    {"{{node.deployment}}", NAME_PART_NODE_DEPLOYMENT},
    {"{{network.name}}", NAME_PART_NETWORK_NAME},
    {"{{network.range}}", NAME_PART_NETWORK_RANGE},
    {"{{network.category}}", NAME_PART_NETWORK_CATEGORY},
};

/* The token at the beginning of `s`; NAME_PART_TEXT and one byte if there is none. */
static uint8_t name_token_find(struct str s, uint32_t *out_len)
{
    for (uint32_t i = 0; s.at[0] == '{' && i < sizeof token_names / sizeof *token_names; i++)
        if (str_starts(s, str_from(token_names[i].text))) {
            *out_len = str_from(token_names[i].text).len;
            return token_names[i].kind;
        }
    *out_len = 1;
    return NAME_PART_TEXT;
}

bool name_template_parse(struct str text, struct name_template *out_template,
                         struct name_syntax_error *out_error)
{
    struct name_part *last = NULL;
    out_template->count = 0;
    if (!name_check_text(text, NAME_TEMPLATE_LEN_MAX, "must be at most 512 bytes", out_error))
        return false;
    for (uint32_t at = 0, len; at < text.len; at += len) {
        const uint8_t kind = name_token_find(str_slice(text, at, text.len), &len);
        if (kind == NAME_PART_TEXT && last && last->kind == NAME_PART_TEXT) {
            last->len = (uint16_t)(last->len + len);
            continue;
        }
        if (out_template->count == NAME_PARTS_MAX)
            return name_syntax_fail(out_error,
                                    "must have at most 32 tokens and texts between tokens", at);
        last = &out_template->parts[out_template->count++];
        *last = (struct name_part){kind, (uint16_t)at, (uint16_t)len};
    }
    return true;
}

/* The decimal digits of a number that is not negative, at the end of `buffer`. */
static struct str name_format_id(int64_t id, char buffer[20])
{
    uint32_t at = 20;
    uint64_t rest = (uint64_t)id;
    do {
        buffer[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    return (struct str){buffer + at, 20 - at};
}

bool name_template_expand(struct str text, const struct name_template *template,
                          const struct name_facts *facts, char out[DNS_NAME_LEN_MAX],
                          uint32_t *out_len)
{
    char digits[20];
    uint32_t len = 0;
    for (uint32_t i = 0; i < template->count; i++) {
        const struct name_part *part = &template->parts[i];
        struct str piece = STR("");
        switch ((enum name_part_kind)part->kind) {
        case NAME_PART_TEXT: piece = (struct str){text.at + part->at, part->len}; break;
        case NAME_PART_NODE_NAME:
            piece = str_slice(facts->node_name, 0, str_find(facts->node_name, '.', 0));
            break;
        case NAME_PART_NODE_ID: piece = name_format_id(facts->node_id, digits); break;
        case NAME_PART_NODE_MAC: piece = facts->first_mac(facts->context); break;
        case NAME_PART_NODE_DEPLOYMENT: piece = facts->deployment; break;
        case NAME_PART_NETWORK_NAME: piece = facts->network; break;
        case NAME_PART_NETWORK_RANGE: piece = facts->range; break;
        case NAME_PART_NETWORK_CATEGORY: piece = facts->category; break;
        case NAME_PART_COUNT: break;
        }
        if (piece.len > DNS_NAME_LEN_MAX - len)
            return false;
        if (piece.len)
            memcpy(out + len, piece.at, piece.len);
        for (uint32_t k = len; part->kind == NAME_PART_NODE_MAC && k < len + piece.len; k++)
            if (out[k] == ':')
                out[k] = '-';
        len += piece.len;
    }
    *out_len = len;
    return true;
}

/* ---- names ---- */

const char *dns_name_wrong(struct str name)
{
    _Static_assert(DNS_NAME_LEN_MAX == 253 && LABEL_LEN_MAX == 63, "the phrases name the limits");
    uint32_t label = 0; /* length of the current label */
    if (name.len == 0)
        return "is empty";
    if (name.len > DNS_NAME_LEN_MAX)
        return "is longer than 253 characters";
    for (uint32_t i = 0; i < name.len; i++) {
        const char ch = name.at[i];
        const bool is_last = i + 1 == name.len || name.at[i + 1] == '.';
        if (ch == '.' && (label == 0 || is_last))
            return "has an empty label";
        if (ch == '-' && (label == 0 || is_last))
            return "has a label that begins or ends with a hyphen";
        if (ch != '.' && ch != '-' && !char_is_letter(ch) && !char_is_digit(ch))
            return "has a character other than letters, digits, hyphens and dots";
        label = ch == '.' ? 0 : label + 1;
        if (label > LABEL_LEN_MAX)
            return "has a label of more than 63 characters";
    }
    return NULL;
}

bool dns_name_is_valid(struct str name)
{
    return !dns_name_wrong(name);
}
