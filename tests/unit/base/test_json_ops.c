/* JSON trees: building, asking, copying, and the laws of merging on documents drawn at random. */
#include "base/json/json.h"
#include "base/prng.h"
#include "tests/check.h"
#include "tests/unit/base/json_sample.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- Building and asking --- */

TEST(set_and_unset_behave_like_a_sorted_list_of_keys)
{
    struct prng r;
    prng_init(&r, 109);
    struct arena a = {0};
    struct json *object = json_make(&a, JSON_OBJECT);
    int64_t model[COUNT_OF(sample_keys)] = {0}; /* 0: absent */
    for (int64_t round = 1; round <= 20000; round++) {
        size_t pick = prng_below(&r, COUNT_OF(sample_keys));
        struct str key = str_from(sample_keys[pick]);
        if (prng_chance(&r, 500)) {
            json_set(object, key, json_make_i64(&a, round));
            model[pick] = round;
        } else {
            CHECK(json_unset(object, key) == (model[pick] != 0));
            model[pick] = 0;
        }
        check_shape(object, 0);
        for (size_t i = 0; i < COUNT_OF(sample_keys); i++) {
            const struct json *found = json_get(object, str_from(sample_keys[i]));
            int64_t value = 0;
            CHECK(found ? json_as_i64(found, &value) : true);
            CHECK(value == model[i]);
        }
    }
    arena_fini(&a);
}

TEST(paths_walk_objects_only)
{
    struct arena a = {0};
    struct json *tree = must_read(
        &a, "{\"a\":{\"b\":{\"c\":7},\"\":{\"x\":8}},\"l\":[{\"b\":1}],\"\":9,\"s\":\"text\"}");
    int64_t n = 0;
    CHECK(json_at(tree, STR("")) == tree);
    CHECK(json_as_i64(json_at(tree, STR("a/b/c")), &n) && n == 7);
    CHECK(json_as_i64(json_at(tree, STR("a//x")), &n) && n == 8);
    CHECK(json_at(tree, STR("a/b"))->kind == JSON_OBJECT);
    CHECK(json_at(tree, STR("a/b/c/d")) == NULL);
    CHECK(json_at(tree, STR("a/x/c")) == NULL);
    CHECK(json_at(tree, STR("a/b/")) == NULL);
    CHECK(json_at(tree, STR("/a")) == NULL);
    CHECK(json_at(tree, STR("/")) == NULL);
    CHECK(json_at(tree, STR("l/0")) == NULL);
    CHECK(json_at(tree, STR("s/x")) == NULL);
    CHECK(json_at(tree, STR("zzz")) == NULL);
    CHECK(json_at(NULL, STR("a")) == NULL);
    CHECK(json_at(NULL, STR("")) == NULL);
    CHECK(json_get(NULL, STR("a")) == NULL);
    CHECK(json_get(json_at(tree, STR("l")), STR("")) == NULL);
    arena_fini(&a);
}

TEST(wrapping_is_undone_by_the_same_path)
{
    static const char *const paths[] = {"", "a", "a/b", "a/b/c", "/", "a/", "/a", "a//b", "///"};
    struct arena a = {0};
    struct json *value = must_read(&a, "{\"x\":[1,{\"y\":2}]}");
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        struct json *wrapped = json_wrap(&a, str_from(paths[i]), value);
        check_shape(wrapped, 0);
        CHECK(json_eq(json_at(wrapped, str_from(paths[i])), value));
        CHECK(json_at(wrapped, str_from(paths[i])) != value);
    }
    CHECK(str_eq(json_write(&a, json_wrap(&a, STR("a/b"), json_make_bool(&a, true))),
                 STR("{\"a\":{\"b\":true}}")));
    CHECK(str_eq(json_write(&a, json_wrap(&a, STR("/"), json_make_i64(&a, 1))),
                 STR("{\"\":{\"\":1}}")));
    arena_fini(&a);
}

TEST(integers_are_taken_only_when_written_as_such)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"-12", true, -12},
        {"42", true, 42},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775807", true, -INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"-9223372036854775810", false, 0},
        {"9223372036854775817", false, 0},
        {"92233720368547758070", false, 0},
        {"100000000000000000000000000", false, 0},
        {"1.0", false, 0},
        {"1e3", false, 0},
        {"1E0", false, 0},
        {"-1.5", false, 0},
        {"\"1\"", false, 0},
        {"true", false, 0},
        {"null", false, 0},
        {"[1]", false, 0},
    };
    struct arena a = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int64_t value = -77;
        CHECK(json_as_i64(must_read(&a, cases[i].text), &value) == cases[i].ok);
        CHECK(value == (cases[i].ok ? cases[i].value : -77));
    }
    int64_t value = -77;
    CHECK(!json_as_i64(NULL, &value));
    static const int64_t round_trip[] = {0, -1, 1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < COUNT_OF(round_trip); i++)
        CHECK(json_as_i64(json_make_i64(&a, round_trip[i]), &value) && value == round_trip[i]);
    arena_fini(&a);
}

TEST(only_true_is_true)
{
    struct arena a = {0};
    CHECK(json_is_true(must_read(&a, "true")));
    CHECK(json_is_true(json_make_bool(&a, true)));
    CHECK(!json_is_true(json_make_bool(&a, false)));
    CHECK(!json_is_true(must_read(&a, "\"true\"")));
    CHECK(!json_is_true(must_read(&a, "1")));
    CHECK(!json_is_true(NULL));
    arena_fini(&a);
}

TEST(documents_are_equal_exactly_when_their_texts_are)
{
    struct prng r;
    prng_init(&r, 113);
    struct arena a = {0};
    struct json *trees[120];
    struct str texts[120];
    for (size_t i = 0; i < COUNT_OF(trees); i++) {
        trees[i] = random_value(&a, &r, (uint32_t)prng_below(&r, 3));
        texts[i] = json_write(&a, trees[i]);
    }
    uint32_t equal = 0;
    for (size_t i = 0; i < COUNT_OF(trees); i++)
        for (size_t j = 0; j < COUNT_OF(trees); j++) {
            CHECK(json_eq(trees[i], trees[j]) == str_eq(texts[i], texts[j]));
            equal += i != j && str_eq(texts[i], texts[j]);
        }
    CHECK(equal > 20);
    CHECK(json_eq(NULL, NULL));
    CHECK(!json_eq(NULL, trees[0]) && !json_eq(trees[0], NULL));
    /* Members with different neighbours and keys are still equal values. */
    struct json *tree = must_read(&a, "{\"a\":[1,2],\"b\":[1,2],\"c\":[1,3],\"d\":{\"x\":1},"
                                      "\"e\":{\"y\":1}}");
    CHECK(json_eq(json_get(tree, STR("a")), json_get(tree, STR("b"))));
    CHECK(!json_eq(json_get(tree, STR("b")), json_get(tree, STR("c"))));
    CHECK(!json_eq(json_get(tree, STR("d")), json_get(tree, STR("e"))));
    arena_fini(&a);
}

TEST(a_clone_outlives_its_original)
{
    struct prng r;
    prng_init(&r, 127);
    for (int round = 0; round < 300; round++) {
        struct arena a = {0};
        struct arena b = {0};
        struct json *tree = must_read(&a, "{\"z\":null}");
        json_set(tree, STR("m"), random_value(&a, &r, 4));
        struct str text = str_copy(&b, json_write(&a, json_get(tree, STR("m"))));
        struct json *clone = json_clone(&b, json_get(tree, STR("m")));
        CHECK(clone->next == NULL);
        arena_fini(&a);
        check_shape(clone, 0);
        CHECK(str_eq(json_write(&b, clone), text));
        arena_fini(&b);
    }
}

TEST(appending_and_setting_at_the_end_do_not_walk_the_list)
{
    struct arena a = {0};
    struct json *array = json_make(&a, JSON_ARRAY);
    struct json *object = json_make(&a, JSON_OBJECT);
    clock_t start = clock();
    for (uint32_t i = 0; i < 200000; i++) {
        char key[16];
        snprintf(key, sizeof key, "%06u", (unsigned)i);
        json_append(array, json_make_i64(&a, i));
        json_set(object, str_copy(&a, str_from(key)), json_make(&a, JSON_NULL));
    }
    CHECK(clock() - start < 5 * CLOCKS_PER_SEC);
    CHECK(array->count == 200000 && object->count == 200000);
    check_shape(array, 0);
    check_shape(object, 0);
    arena_fini(&a);
}

/* --- Merging --- */

/* The definition, word for word, one json_set at a time. */
static struct json *naive_merge(struct arena *a, const struct json *left, const struct json *right)
{
    if (left->kind != JSON_OBJECT || right->kind != JSON_OBJECT)
        return json_clone(a, right);
    struct json *merged = json_clone(a, left);
    for (const struct json *member = right->first; member; member = member->next) {
        const struct json *old = json_get(left, member->key);
        json_set(merged, member->key, old ? naive_merge(a, old, member) : json_clone(a, member));
    }
    return merged;
}

TEST(merge_goes_into_objects_and_replaces_everything_else)
{
    static const struct {
        const char *left;
        const char *right;
        const char *merged;
    } cases[] = {
        {"{\"a\":1}", "{\"b\":2}", "{\"a\":1,\"b\":2}"},
        {"{\"b\":1}", "{\"a\":2}", "{\"a\":2,\"b\":1}"},
        {"{\"a\":1}", "{\"a\":2}", "{\"a\":2}"},
        {"{\"a\":{\"x\":1}}", "{\"a\":{\"y\":2}}", "{\"a\":{\"x\":1,\"y\":2}}"},
        {"{\"a\":{\"x\":1}}", "{\"a\":null}", "{\"a\":null}"},
        {"{\"a\":7}", "{\"a\":{}}", "{\"a\":{}}"},
        {"{\"a\":{\"x\":1}}", "{\"a\":{}}", "{\"a\":{\"x\":1}}"},
        {"{\"a\":[1,2]}", "{\"a\":[3]}", "{\"a\":[3]}"},
        {"{\"a\":[{\"x\":1}]}", "{\"a\":[{\"y\":1}]}", "{\"a\":[{\"y\":1}]}"},
        {"[1]", "[2]", "[2]"},
        {"1", "{\"a\":1}", "{\"a\":1}"},
        {"{\"a\":1}", "\"x\"", "\"x\""},
        {"1", "{}", "{}"},
        {"{}", "5", "5"},
        {"{}", "{}", "{}"},
        {"{\"a\":1}", "{}", "{\"a\":1}"},
        {"{}", "{\"a\":1}", "{\"a\":1}"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct json *left = must_read(&a, cases[i].left);
        struct json *right = must_read(&a, cases[i].right);
        struct str want = str_from(cases[i].merged);
        CHECK(str_eq(json_write(&a, json_merge(&a, left, right)), want));
        CHECK(str_eq(json_write(&a, left), str_from(cases[i].left)));
        CHECK(str_eq(json_write(&a, right), str_from(cases[i].right)));
        arena_fini(&a);
    }
}

static void check_merge_laws(struct arena *a, const struct json *x, const struct json *y)
{
    const struct json *nothing = json_make(a, JSON_OBJECT);
    CHECK(json_eq(json_merge(a, nothing, x), x));
    if (x->kind == JSON_OBJECT)
        CHECK(json_eq(json_merge(a, x, nothing), x));
    CHECK(json_eq(json_merge(a, x, x), x));
    struct json *xy = json_merge(a, x, y);
    check_shape(xy, 0);
    CHECK(json_eq(xy, naive_merge(a, x, y)));
    CHECK(json_eq(json_merge(a, xy, y), xy));
}

/* (x + y) + z = x + (y + z) holds for documents in which a key is an object everywhere or
 * nowhere; where a scalar in the middle cuts an object off, the left grouping forgets it and the
 * right one does not. */
static bool kinds_agree(const struct json *x, const struct json *y)
{
    if (!x || !y)
        return true;
    if ((x->kind == JSON_OBJECT) != (y->kind == JSON_OBJECT))
        return false;
    if (x->kind != JSON_OBJECT)
        return true;
    for (const struct json *member = x->first; member; member = member->next)
        if (!kinds_agree(member, json_get(y, member->key)))
            return false;
    return true;
}

TEST(the_laws_of_merging_hold_for_random_documents)
{
    struct prng r;
    prng_init(&r, 131);
    uint32_t associative = 0;
    for (int round = 0; round < 4000; round++) {
        struct arena a = {0};
        struct json *x = random_object(&a, &r, 3);
        struct json *y = prng_chance(&r, 900) ? random_object(&a, &r, 3) : random_value(&a, &r, 2);
        struct json *z = random_object(&a, &r, 3);
        check_merge_laws(&a, x, y);
        check_merge_laws(&a, y, x);
        if (kinds_agree(x, y) && kinds_agree(y, z) && kinds_agree(x, z)) {
            associative++;
            CHECK(json_eq(json_merge(&a, json_merge(&a, x, y), z),
                          json_merge(&a, x, json_merge(&a, y, z))));
        }
        arena_fini(&a);
    }
    CHECK(associative > 1000);
}

TEST(merged_documents_share_no_nodes_with_the_inputs)
{
    struct arena a = {0};
    struct arena b = {0};
    struct json *left = must_read(&a, "{\"a\":{\"l\":[1]},\"b\":\"left\"}");
    struct json *right = must_read(&a, "{\"a\":{\"r\":{\"x\":2}},\"c\":\"right\"}");
    struct json *merged = json_merge(&b, left, right);
    arena_fini(&a);
    CHECK(str_eq(json_write(&b, merged), STR("{\"a\":{\"l\":[1],\"r\":{\"x\":2}},\"b\":\"left\","
                                             "\"c\":\"right\"}")));
    arena_fini(&b);
}

/* --- Mistakes of our own --- */

static bool aborts(void (*body)(void))
{
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        close(2);
        body();
        _exit(0);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static struct json *wrapped_too_deep(struct arena *a)
{
    struct buf path = buf_in(a);
    buf_put_c(&path, 'a');
    for (uint32_t i = 1; i <= JSON_DEPTH_MAX; i++)
        buf_put_z(&path, "/a");
    return json_wrap(a, buf_str(&path), json_make(a, JSON_NULL));
}

static void write_too_deep(void)
{
    struct arena a = {0};
    json_write(&a, wrapped_too_deep(&a));
}

static void clone_too_deep(void)
{
    struct arena a = {0};
    json_clone(&a, wrapped_too_deep(&a));
}

static void set_in_an_array(void)
{
    struct arena a = {0};
    json_set(json_make(&a, JSON_ARRAY), STR("a"), json_make(&a, JSON_NULL));
}

TEST(mistakes_of_our_own_stop_the_program)
{
    struct arena a = {0};
    CHECK(json_depth(wrapped_too_deep(&a)) == JSON_DEPTH_MAX + 1);
    arena_fini(&a);
    CHECK(aborts(write_too_deep));
    CHECK(aborts(clone_too_deep));
    CHECK(aborts(set_in_an_array));
}
