/* Goal: merging into a text gives what merging trees gives, byte for byte, whatever the documents.
 * Method: cases drawn by hand, then random documents against json_merge. */
#include <string.h>

#include "base/json/json.h"
#include "base/prng.h"
#include "tests/check.h"

static struct json *tree_of(struct arena *a, const char *text)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    CHECK(json_read(a, str_from(text), &tree, &offset, &what) == OK);
    return tree;
}

static void check_put(const char *doc, const char *object, bool drop, const char *wanted)
{
    struct arena a = {0};
    const struct str got = json_text_put(&a, str_from(doc), str_from(object), drop);
    if (!str_eq(got, str_from(wanted)))
        check_failed(doc, 0, str_z(&a, got));
    arena_fini(&a);
}

TEST(members_find_their_place)
{
    check_put("", "{}", false, "{}");
    check_put("{}", "{\"a\":1}", false, "{\"a\":1}");
    check_put("{\"b\":[1,{\"x\":\"}\"}]}", "{\"a\":1,\"c\":2}", false,
              "{\"a\":1,\"b\":[1,{\"x\":\"}\"}],\"c\":2}");
    check_put("{\"a\":1,\"c\":3}", "{\"b\":{}}", false, "{\"a\":1,\"b\":{},\"c\":3}");
    check_put("{\"a\":{\"x\":1,\"y\":2}}", "{\"a\":{\"y\":{\"z\":0}}}", false,
              "{\"a\":{\"x\":1,\"y\":{\"z\":0}}}");
    check_put("{\"a\":[1]}", "{\"a\":{\"b\":1}}", false, "{\"a\":{\"b\":1}}");
    check_put("{\"a\":{\"b\":1}}", "{\"a\":7}", false, "{\"a\":7}");
    check_put("{\"a\":-1.5e3,\"b\":true}", "{\"b\":null}", false, "{\"a\":-1.5e3,\"b\":null}");
}

TEST(keys_with_escapes_are_compared_as_they_read)
{
    check_put("{\"a\\\"b\":1,\"z\":2}", "{\"a\\\"b\":3}", false, "{\"a\\\"b\":3,\"z\":2}");
    check_put("{\"\\n\":1,\"0\":2}", "{\"\\t\":0,\"!\":9}", false,
              "{\"\\t\":0,\"\\n\":1,\"!\":9,\"0\":2}");
    check_put("{\"a\\\\\":1}", "{\"a\\\\\":2}", false, "{\"a\\\\\":2}");
}

TEST(nulls_take_members_out_when_asked_to)
{
    check_put("{\"a\":1,\"b\":2}", "{\"a\":null}", true, "{\"b\":2}");
    check_put("{\"a\":1,\"b\":2}", "{\"b\":null}", true, "{\"a\":1}");
    check_put("{\"a\":1}", "{\"a\":null}", true, "{}");
    check_put("{\"a\":{\"b\":1}}", "{\"a\":{\"b\":null}}", true, "{\"a\":{}}");
    check_put("{}", "{\"a\":{\"b\":null,\"c\":[null]}}", true, "{\"a\":{\"c\":[null]}}");
    check_put("{\"a\":null}", "{\"b\":null}", true, "{\"a\":null}");
    check_put("{\"a\":1}", "{\"a\":null}", false, "{\"a\":null}");
}

TEST(depth_is_that_of_the_tree)
{
    struct arena a = {0};
    static const char *const texts[] = {"1",         "\"[[\\\"[\"", "[]", "{\"a\":[{}]}",
                                        "[[],[[]]]", "{\"[\":1}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK(json_text_depth(str_from(texts[i])) == json_depth(tree_of(&a, texts[i])));
    arena_fini(&a);
}

/* ---- against trees ---- */

static struct json *draw(struct arena *a, struct prng *p, uint32_t depth)
{
    static const char *const keys[] = {"a", "b", "c\"", "\n", "d\\", "\xc3\xa4", "zz", ""};
    static const char *const texts[] = {"", "x", "\"}", "{[", "\\", "\xe2\x82\xac", "\n"};
    const uint64_t kind = prng_below(p, depth ? 8 : 5);
    if (kind < 3)
        return json_make_string(a, str_from(texts[prng_below(p, 7)]));
    if (kind == 3)
        return json_make_i64(a, (int64_t)prng_below(p, 200) - 100);
    if (kind == 4)
        return json_make(a, (enum json_kind)prng_below(p, 3));
    struct json *tree = json_make(a, kind == 5 ? JSON_ARRAY : JSON_OBJECT);
    for (uint64_t i = prng_below(p, 5); i > 0; i--) {
        struct json *child = draw(a, p, depth - 1);
        if (kind == 5)
            json_append(tree, child);
        else
            json_set(tree, str_from(keys[prng_below(p, 8)]), child);
    }
    return tree;
}

static struct json *draw_object(struct arena *a, struct prng *p)
{
    struct json *tree = draw(a, p, 4);
    while (tree->kind != JSON_OBJECT)
        tree = draw(a, p, 4);
    return tree;
}

/* The long way: what is null in `value` leaves the merged tree. Four levels deep. */
static void take_out(struct json *tree, const struct json *value)
{
    for (const struct json *item = value->first; item; item = item->next) {
        struct json *member = tree->first;
        while (member && !str_eq(member->key, item->key))
            member = member->next;
        if (member && item->kind == JSON_NULL)
            CHECK(json_unset(tree, item->key));
        else if (member && member->kind == JSON_OBJECT && item->kind == JSON_OBJECT)
            take_out(member, item);
    }
}

TEST(random_documents_merge_as_trees_do)
{
    struct prng p;
    prng_init(&p, 4711);
    for (int i = 0; i < 20000; i++) {
        struct arena a = {0};
        const struct json *left = draw_object(&a, &p), *right = draw_object(&a, &p);
        const bool drop = prng_chance(&p, 500);
        struct json *merged = json_merge(&a, left, right);
        if (drop)
            take_out(merged, right);
        const struct str got = json_text_put(&a, json_write(&a, left), json_write(&a, right), drop);
        if (!str_eq(got, json_write(&a, merged)))
            check_failed("merge", i, str_z(&a, got));
        CHECK(json_text_depth(got) == json_depth(merged));
        arena_fini(&a);
    }
}

/* ---- canonical or not ---- */

TEST(canonical_texts_are_known_without_reading_them)
{
    uint32_t depth;
    static const char *const fine[] = {"1",
                                       "-0",
                                       "0.50",
                                       "-1.5e+3",
                                       "1E9",
                                       "null",
                                       "true",
                                       "false",
                                       "\"\"",
                                       "\"/\"",
                                       "\"\\\\\\\"\\b\\f\\n\\r\\t\"",
                                       "\"\xc3\xa4\x7f\"",
                                       "[]",
                                       "{}",
                                       "[[],{},[{}],1,null]",
                                       "{\"\":1,\"a\":{\"b\":[true]},\"aa\":0}"};
    static const char *const others[] = {"",
                                         " 1",
                                         "1 ",
                                         "01",
                                         "-",
                                         "1.",
                                         "1e",
                                         "+1",
                                         ".5",
                                         "nul",
                                         "nulls",
                                         "[1,]",
                                         "[,1]",
                                         "[1",
                                         "[1}",
                                         "{\"a\":1]",
                                         "{\"a\"}",
                                         "{\"a\":}",
                                         "{\"a\":1,}",
                                         "{a:1}",
                                         "[1 ,2]",
                                         "{\"a\": 1}",
                                         "\"",
                                         "\"\\",
                                         "\"\\\"",
                                         "\"\\/\"",
                                         "\"\\u0041\"",
                                         "\"\n\"",
                                         "\"\xc3\"",
                                         "{\"b\":1,\"a\":2}",
                                         "{\"a\":1,\"a\":2}",
                                         "{\"\\n\":1}",
                                         "1,2",
                                         "[]]",
                                         "\"a\"b",
                                         "{1:2}"};
    struct arena a = {0};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        if (!json_text_is_canonical(str_from(fine[i]), &depth))
            check_failed(fine[i], 0, "canonical");
        CHECK(depth == json_depth(tree_of(&a, fine[i])));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (json_text_is_canonical(str_from(others[i]), &depth))
            check_failed(others[i], 0, "not canonical");
    CHECK(!json_text_is_canonical((struct str){"1\0", 2}, &depth));
    arena_fini(&a);
}

TEST(what_is_nested_too_deeply_is_not_canonical)
{
    char text[2 * JSON_DEPTH_MAX + 2];
    uint32_t depth;
    memset(text, '[', JSON_DEPTH_MAX + 1);
    memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
    CHECK(!json_text_is_canonical((struct str){text, sizeof text}, &depth));
    CHECK(json_text_is_canonical((struct str){text + 1, sizeof text - 2}, &depth));
    CHECK(depth == JSON_DEPTH_MAX);
}

/* Whatever it says yes to is given back as it was. */
static void check_verdict(struct arena *a, struct str text, uint32_t *yes)
{
    uint32_t depth, offset;
    const char *what;
    struct str canonical = {0};
    if (!json_text_is_canonical(text, &depth))
        return;
    (*yes)++;
    CHECK(json_canonical(a, text, &canonical, &offset, &what) == OK);
    if (!str_eq(canonical, text))
        check_failed("canonical", 0, str_z(a, text));
    CHECK(depth == json_text_depth(text));
}

TEST(random_documents_are_canonical_and_damaged_ones_only_if_they_still_are)
{
    static const char damage[] = "\"\\{}[],:0 -.eEn\n\xc3u";
    struct prng p;
    uint32_t yes = 0, still = 0;
    prng_init(&p, 815);
    for (int i = 0; i < 20000; i++) {
        struct arena a = {0};
        const struct str text = json_write(&a, draw(&a, &p, 4));
        check_verdict(&a, text, &yes);
        char *bytes = arena_copy(&a, text.at, text.len);
        for (uint64_t n = prng_below(&p, 3) + 1; n; n--)
            bytes[prng_below(&p, text.len)] = damage[prng_below(&p, sizeof damage)];
        check_verdict(&a, (struct str){bytes, text.len}, &still);
        arena_fini(&a);
    }
    CHECK(yes > 10000 && still > 500);
}
