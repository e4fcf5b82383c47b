/* Goal: any text is a matcher or is refused with a position in it; a matcher is the conjunction of
 * its tests, and each test is a matcher of its own. Method: an accepted text is taken apart at the
 * positions of its tests, every test is parsed and evaluated alone; the results are compared. */
#include <stdlib.h>
#include <string.h>

#include "model/name_filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* Facts that depend on the value, so that tests of both results occur. */
static bool is_odd(void *context, struct str role)
{
    (void)context;
    return role.len % 2;
}

static bool is_longer(void *context, struct str attrib, struct str value)
{
    (void)context;
    check(attrib.len > 0);
    return value.len > attrib.len;
}

static struct str no_mac(void *context)
{
    (void)context;
    abort(); /* no test reads it */
}

static const struct name_facts facts = {.node_name = {"n1.example.com", 14},
                                        .node_id = 7,
                                        .deployment = {"prod", 4},
                                        .network = {"admin", 5},
                                        .range = {"host", 4},
                                        .category = {"admin", 5},
                                        .has_role = is_odd,
                                        .has_attrib_value = is_longer,
                                        .first_mac = no_mac};

/* One test of the matcher as a matcher: the text from its name to the closing quote. */
static bool check_test(struct str text, const struct name_test *test, uint32_t from)
{
    const uint32_t end = (uint32_t)test->value_at + test->value_len;
    struct name_matcher alone;
    struct name_syntax_error error;
    check(test->name_len > 0 && test->kind < NAME_TEST_COUNT);
    check(from <= test->name_at && test->name_at + test->name_len < test->value_at);
    check(end < text.len && text.at[end] == '"' && text.at[test->value_at - 1] == '"');
    check(str_find(text, '"', test->value_at) == end);
    const struct str one = str_slice(text, from, end + 1);
    check(name_matcher_parse(one, &alone, &error) && alone.count == 1);
    check(alone.tests[0].kind == test->kind);
    check((test->kind == NAME_TEST_UNKNOWN) == (name_matcher_unknown(one, &alone).len > 0));
    check(name_matcher_has(&alone, (enum name_test_kind)test->kind));
    return name_matcher_holds(one, &alone, &facts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct name_matcher matcher;
    struct name_syntax_error error = {NULL, 0};
    const struct str text = {(const char *)data, (uint32_t)size};
    if (size > MATCHER_LEN_MAX + 8)
        return 0;
    if (!name_matcher_parse(text, &matcher, &error)) {
        check(error.what && (error.at == UINT32_MAX || error.at <= text.len));
        return 0;
    }
    bool all = true;
    uint32_t from = 0;
    check(size <= MATCHER_LEN_MAX && str_is_clean(text));
    check(matcher.count > 0 && matcher.count <= NAME_TESTS_MAX);
    for (uint32_t i = 0; i < matcher.count; i++) {
        if (i)
            check(text.at[from] == ',');
        all = check_test(text, &matcher.tests[i], from + (i > 0)) && all;
        from = (uint32_t)matcher.tests[i].value_at + matcher.tests[i].value_len + 1;
        while (from < text.len && text.at[from] == ' ')
            from++;
    }
    check(from == text.len);
    check(name_matcher_holds(text, &matcher, &facts) == all);
    return 0;
}
