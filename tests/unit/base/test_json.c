/* JSON texts: what is read, what is refused and where, and one text for one document. */
#include "base/json/json.h"
#include "base/prng.h"
#include "tests/check.h"
#include "tests/unit/base/json_sample.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static bool canonical_is(const char *text, const char *want)
{
    struct arena a = {0};
    struct str got = STR("");
    uint32_t offset = 0;
    const char *what = NULL;
    err e = json_canonical(&a, str_from(text), &got, &offset, &what);
    bool same = e == OK && str_eq(got, str_from(want));
    if (!same)
        fprintf(stderr, "%s gives %.*s\n", text, STR_FMT_ARGS(got));
    arena_fini(&a);
    return same;
}

/* --- The same document, written as untidily as the grammar allows --- */

static void messy_space(struct buf *b, struct prng *r)
{
    while (prng_chance(r, 300))
        buf_put_c(b, " \t\r\n"[prng_below(r, 4)]);
}

static void messy_unit(struct buf *b, struct prng *r, uint32_t unit)
{
    char text[8];
    snprintf(text, sizeof text, prng_chance(r, 500) ? "\\u%04x" : "\\u%04X", unit);
    buf_put_z(b, text);
}

/* The code point of the UTF-8 sequence at *at, which moves behind it. */
static uint32_t next_code(struct str s, uint32_t *at)
{
    unsigned char lead = (unsigned char)s.at[(*at)++];
    uint32_t tails = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    uint32_t code = tails ? lead & (0x3fu >> tails) : lead;
    while (tails--)
        code = code << 6 | ((unsigned char)s.at[(*at)++] & 0x3fu);
    return code;
}

static void messy_string(struct buf *b, struct prng *r, struct str s)
{
    buf_put_c(b, '"');
    for (uint32_t at = 0; at < s.len;) {
        uint32_t from = at;
        uint32_t code = next_code(s, &at);
        if (code >= 0x10000 && prng_chance(r, 500)) {
            messy_unit(b, r, 0xd800 + ((code - 0x10000) >> 10));
            messy_unit(b, r, 0xdc00 + ((code - 0x10000) & 0x3ff));
        } else if (code == '/' && prng_chance(r, 500)) {
            buf_put_z(b, "\\/");
        } else if (code == '"' || code == '\\') {
            buf_put_c(b, '\\');
            buf_put_c(b, (char)code);
        } else if (code < 0x20 || (code < 0x10000 && prng_chance(r, 300))) {
            messy_unit(b, r, code);
        } else {
            buf_put(b, s.at + from, at - from);
        }
    }
    buf_put_c(b, '"');
}

static void messy_write(struct buf *b, struct prng *r, const struct json *value);

/* Children in random order when they are members, each with spaces around. */
static void messy_children(struct buf *b, struct prng *r, const struct json *value)
{
    const struct json *children[16];
    uint32_t count = 0;
    for (const struct json *child = value->first; child; child = child->next)
        children[count++] = child;
    bool object = value->kind == JSON_OBJECT;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t pick = object ? (uint32_t)prng_between(r, i, count - 1) : i;
        const struct json *child = children[pick];
        children[pick] = children[i];
        if (i)
            buf_put_c(b, ',');
        messy_space(b, r);
        if (object) {
            messy_string(b, r, child->key);
            messy_space(b, r);
            buf_put_c(b, ':');
        }
        messy_write(b, r, child);
    }
}

static void messy_write(struct buf *b, struct prng *r, const struct json *value)
{
    messy_space(b, r);
    if (value->kind == JSON_STRING) {
        messy_string(b, r, value->text);
    } else if (value->kind == JSON_ARRAY || value->kind == JSON_OBJECT) {
        buf_put_c(b, value->kind == JSON_ARRAY ? '[' : '{');
        messy_children(b, r, value);
        messy_space(b, r);
        buf_put_c(b, value->kind == JSON_ARRAY ? ']' : '}');
    } else {
        json_write_to(b, value);
    }
    messy_space(b, r);
}

/* --- Reading and writing --- */

TEST(canonical_text_is_sorted_tight_and_shortly_escaped)
{
    CHECK(canonical_is(" { } ", "{}"));
    CHECK(canonical_is("[ ]", "[]"));
    CHECK(canonical_is("\t\r\n null \n", "null"));
    CHECK(canonical_is("[true , false,null]", "[true,false,null]"));
    CHECK(
        canonical_is("{\"b\":1,\"a\":{\"d\":[],\"c\":{}}}", "{\"a\":{\"c\":{},\"d\":[]},\"b\":1}"));
    CHECK(canonical_is("{\"ab\":1,\"\":2,\"a\":3,\"B\":4,\"\xc3\xa4\":5,\"\\n\":6}",
                       "{\"\":2,\"\\n\":6,\"B\":4,\"a\":3,\"ab\":1,\"\xc3\xa4\":5}"));
    CHECK(canonical_is("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\""));
    CHECK(canonical_is("\"\\u0022\\u005C\\u002f\\u0008\\u000c\\u000A\\u000d\\u0009\"",
                       "\"\\\"\\\\/\\b\\f\\n\\r\\t\""));
    CHECK(canonical_is("\"\\u0001\\u000B\\u001F\\u007f\"", "\"\\u0001\\u000b\\u001f\x7f\""));
    CHECK(canonical_is("\"\\u00e4\\u20AC\\uD83D\\udd25\"",
                       "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\xa5\""));
    CHECK(canonical_is("\"\\uD800\\uDC00\\uDBFF\\uDFFF\\uFFFF\\uE000\\uD7FF\"",
                       "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\xef\xbf\xbf\xee\x80\x80\xed\x9f\xbf\""));
    CHECK(canonical_is("\"x\\u0041y\\u0800z\"", "\"xAy\xe0\xa0\x80z\""));
}

TEST(numbers_stay_as_they_were_written)
{
    static const char *const numbers[] = {
        "0",     "-0",  "10",    "-1",       "0.0",     "1.50",
        "1e5",   "1E5", "1e+05", "1.0e-007", "-0.0E+0", "123456789012345678901234567890",
        "1e9999"};
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        CHECK(canonical_is(numbers[i], numbers[i]));
}

TEST(random_documents_survive_writing_and_reading)
{
    struct prng r;
    prng_init(&r, 101);
    for (int round = 0; round < 3000; round++) {
        struct arena a = {0};
        struct json *tree = random_value(&a, &r, (uint32_t)prng_below(&r, 6));
        check_shape(tree, 0);
        struct str text = json_write(&a, tree);
        struct json *again = must_read_str(&a, text);
        check_shape(again, 0);
        CHECK(json_eq(tree, again));
        CHECK(str_eq(json_write(&a, again), text));
        CHECK(json_depth(tree) == json_depth(again));
        arena_fini(&a);
    }
}

TEST(an_untidy_text_of_a_document_gives_the_same_canonical_text)
{
    struct prng r;
    prng_init(&r, 103);
    for (int round = 0; round < 3000; round++) {
        struct arena a = {0};
        struct json *tree = random_value(&a, &r, 4);
        struct buf messy = buf_in(&a);
        messy_write(&messy, &r, tree);
        struct json *again = must_read_str(&a, buf_str(&messy));
        check_shape(again, 0);
        CHECK(json_eq(tree, again));
        CHECK(str_eq(json_write(&a, again), json_write(&a, tree)));
        arena_fini(&a);
    }
}

TEST(the_tree_holds_no_part_of_the_text_it_was_read_from)
{
    struct arena a = {0};
    char text[] = "{\"key\":[\"plain\",\"esc\\taped\",12.5]}";
    struct json *tree = must_read(&a, text);
    memset(text, '#', sizeof text - 1);
    CHECK(str_eq(json_write(&a, tree), STR("{\"key\":[\"plain\",\"esc\\taped\",12.5]}")));
    arena_fini(&a);
}

/* --- What is refused --- */

TEST(every_prefix_of_a_document_is_refused_at_its_end)
{
    static const char *const documents[] = {
        "{\"a\":[1,2,{\"b\":null}],\"c\":\"x\\u00e4\\n\\ud83d\\udd25\",\"d\":-1.5e+3}",
        "[true,false,null,[],{},\"\",[[0]]]",
        "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\xa5\\uD83D\\uDD25\"",
        "{ \"a\" : { \"b\" : [ 0.1 , 1E9 ] } }",
        "true",
        "false",
        "null",
    };
    for (size_t i = 0; i < COUNT_OF(documents); i++) {
        struct arena a = {0};
        struct str whole = str_from(documents[i]);
        CHECK(read_or_null(&a, whole) != NULL);
        size_t used = arena_used(&a);
        for (uint32_t len = 0; len < whole.len; len++) {
            struct json *value = NULL;
            uint32_t offset = 0;
            const char *what = NULL;
            CHECK(json_read(&a, str_slice(whole, 0, len), &value, &offset, &what) == ERR_SYNTAX);
            CHECK(value == NULL);
            CHECK(offset <= len);
            CHECK(what && *what);
            /* In the middle of a UTF-8 sequence the sequence is at fault, not the end. */
            bool inside_character = len && ((unsigned char)whole.at[len] & 0xc0) == 0x80;
            CHECK(inside_character ? offset < len : offset == len);
        }
        CHECK(arena_used(&a) == used);
        arena_fini(&a);
    }
}

struct refusal {
    struct str text;
    uint32_t offset;
};

#define R(literal, at)                                                                             \
    {                                                                                              \
        {(literal), sizeof(literal) - 1}, at                                                       \
    }

static const struct refusal refusals[] = {
    /* nothing, or nothing that begins a value */
    R("", 0),
    R(" ", 1),
    R("\n\t\r ", 4),
    R("x", 0),
    R(",", 0),
    R(":", 0),
    R("]", 0),
    R("}", 0),
    R("'a'", 0),
    R("\xef\xbb\xbf{}", 0),
    R("\xc3\xa4", 0),
    R("\0", 0),
    R("\v1", 0),
    R("\f1", 0),
    R("/* */1", 0),
    /* words */
    R("tru", 3),
    R("trux", 3),
    R("True", 0),
    R("truee", 4),
    R("nul", 3),
    R("nil", 1),
    R("NaN", 0),
    R("Infinity", 0),
    R("-Infinity", 1),
    R("fals3", 4),
    /* numbers */
    R("+1", 0),
    R("-", 1),
    R("--1", 1),
    R("01", 1),
    R("-01", 2),
    R("00", 1),
    R(".5", 0),
    R("1.", 2),
    R("1.e5", 2),
    R("1e", 2),
    R("1e+", 3),
    R("1ee5", 2),
    R("1.5.5", 3),
    R("0x10", 1),
    R("1_000", 1),
    R("1 2", 2),
    R("-a", 1),
    /* strings */
    R("\"", 1),
    R("\"abc", 4),
    R("\"a\nb\"", 2),
    R("\"a\x1f\"", 2),
    R("\"a\0b\"", 2),
    R("\"\\", 2),
    R("\"\\x41\"", 2),
    R("\"\\'\"", 2),
    R("\"\\U0041\"", 2),
    R("\"\\\0\"", 2),
    R("\"\\u12\"", 5),
    R("\"\\u12g4\"", 5),
    R("\"\\u+123\"", 3),
    R("\"ab\\u0000\"", 3),
    R("\"\\uD800\"", 1),
    R("\"\\uDC00\"", 1),
    R("\"\\uDFFF\\uD800\"", 1),
    R("\"\\uD800x\"", 1),
    R("\"\\uD800\\n\"", 1),
    R("\"\\uD800\\u0041\"", 1),
    R("\"\\uD800\\uD800\"", 1),
    R("\"ab\\uDBFF\\uE000\"", 3),
    R("\"\\uD800\\u12\"", 11),
    R("\"a\"b", 3),
    /* UTF-8 */
    R("\"\x80\"", 1),
    R("\"ab\xc3\"", 3),
    R("\"\xc3\xa4\xc3(\"", 3),
    R("\"\xc0\x80\"", 1),
    R("\"\xc1\xbf\"", 1),
    R("\"\xe0\x9f\xbf\"", 1),
    R("\"\xed\xa0\x80\"", 1),
    R("\"\xe2\x82\\n\"", 1),
    R("\"plain text, then \xf4\x90\x80\x80\"", 18),
    R("\"\xf5\x80\x80\x80\"", 1),
    R("\"\xff\"", 1),
    R("{\"\xfe\":1}", 2),
    /* arrays */
    R("[", 1),
    R("[1", 2),
    R("[1,", 3),
    R("[,", 1),
    R("[,1]", 1),
    R("[1,]", 3),
    R("[1,,2]", 3),
    R("[1 2]", 3),
    R("[1}", 2),
    R("[}", 1),
    R("[1]]", 3),
    R("[]x", 2),
    R("[\"a\":1]", 4),
    R("[1;2]", 2),
    /* objects */
    R("{", 1),
    R("{]", 1),
    R("{,}", 1),
    R("{1:2}", 1),
    R("{a:1}", 1),
    R("{null:1}", 1),
    R("{\"a\"}", 4),
    R("{\"a\":}", 5),
    R("{\"a\" 1}", 5),
    R("{\"a\"=1}", 4),
    R("{\"a\"::1}", 5),
    R("{\"a\":1", 6),
    R("{\"a\":1,", 7),
    R("{\"a\":1,}", 7),
    R("{\"a\":1]", 6),
    R("{\"a\":1 \"b\":2}", 7),
    R("{\"a\":1}{}", 7),
    R("{}}", 2),
    /* keys that come twice: at the later one */
    R("{\"a\":1,\"a\":1}", 7),
    R("{\"a\":1,\"b\":2,\"a\":3}", 13),
    R("{\"b\":1,\"a\":2, \"b\":3,\"c\":4}", 14),
    R("{\"a\":1,\"\\u0061\":2}", 7),
    R("{\"\":1,\"\":2}", 6),
    R("[{\"x\":{\"k\\n\":1,\"j\":0,\"k\\u000a\":2}}]", 21),
    R("{\"\\ud83d\\udd25\":1,\"\xf0\x9f\x94\xa5\":2}", 18),
};

TEST(what_is_not_json_is_refused_at_the_offending_byte)
{
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        struct arena a = {0};
        arena_alloc(&a, 1);
        size_t used = arena_used(&a);
        struct json *value = NULL;
        struct str text = STR("untouched");
        uint32_t offset = UINT32_MAX;
        const char *what = NULL;
        err e = json_read(&a, refusals[i].text, &value, &offset, &what);
        if (e != ERR_SYNTAX || offset != refusals[i].offset)
            fprintf(stderr, "row %zu: %.*s: offset %u\n", i, STR_FMT_ARGS(refusals[i].text),
                    offset);
        CHECK(e == ERR_SYNTAX);
        CHECK(value == NULL);
        CHECK(offset == refusals[i].offset);
        CHECK(what && *what);
        CHECK(arena_used(&a) == used);
        CHECK(json_canonical(&a, refusals[i].text, &text, &offset, &what) == ERR_SYNTAX);
        CHECK(str_eq(text, STR("untouched")));
        arena_fini(&a);
    }
}

TEST(reasons_are_to_the_point)
{
    static const struct {
        const char *text;
        const char *reason;
    } cases[] = {
        {"", "the text ends too early"},
        {"[1", "the text ends too early"},
        {"[1}", "a comma or ] is expected"},
        {"{\"a\":1]", "a comma or } is expected"},
        {"{1", "a key in double quotes is expected"},
        {"{\"a\"]", "a colon is expected after the key"},
        {"{\"a\":1,\"a\":1}", "this key is in the object twice"},
        {"[?]", "a value is expected"},
        {"1 1", "something follows the document"},
        {"01", "a number does not begin with 0 and more digits"},
        {"1.x", "a digit is expected"},
        {"\"\xff\"", "this is not UTF-8"},
        {"\"\\u0000\"", "U+0000 is not allowed"},
        {"\"\\udc00\"", "half of a surrogate pair is missing"},
        {"\"\\q\"", "this escape is unknown"},
        {"\"\t\"", "a control character must be written as an escape"},
        {"\"\\u00x0\"", "four hex digits are expected after \\u"},
    };
    struct arena a = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct json *value;
        uint32_t offset;
        const char *what = NULL;
        CHECK(json_read(&a, str_from(cases[i].text), &value, &offset, &what) == ERR_SYNTAX);
        CHECK(strcmp(what, cases[i].reason) == 0);
    }
    arena_fini(&a);
}

/* A few wrong bytes anywhere: either still a document, then with a stable canonical text, or
 * refused within the text. */
/* For requests: what is refused elsewhere keeps the value that came last. */
TEST(a_reader_of_requests_keeps_the_last_value_of_a_repeated_key)
{
    static const struct {
        const char *text, *canonical, *repeated;
    } cases[] = {
        {"{\"a\":1,\"a\":2}", "{\"a\":2}", "a"},
        {"{\"a\":1,\"b\":0,\"a\":{\"x\":1},\"a\":[]}", "{\"a\":[],\"b\":0}", "a"},
        {"[{\"c\":1,\"b\":2,\"b\":3,\"a\":4}]", "[{\"a\":4,\"b\":3,\"c\":1}]", "b"},
        {"{\"\":1,\"\":2}", "{\"\":2}", ""},
        {"{\"k\\n\":1,\"k\\u000a\":2}", "{\"k\\n\":2}", "k\n"},
        {"{\"a\":{\"a\":1}}", "{\"a\":{\"a\":1}}", NULL},
    };
    struct arena a = {0};
    struct json_remarks remarks;
    struct json *value;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CHECK(json_read_last(&a, str_from(cases[i].text), &value, &remarks) == OK);
        CHECK(str_eq(json_write(&a, value), str_from(cases[i].canonical)));
        CHECK((remarks.repeated.at != NULL) == (cases[i].repeated != NULL));
        if (cases[i].repeated)
            CHECK(str_eq(remarks.repeated, str_from(cases[i].repeated)));
    }
    /* The object is consistent: its count, its last member, and what is put behind it. */
    CHECK(json_read_last(&a, STR("{\"b\":1,\"a\":1,\"b\":2}"), &value, &remarks) == OK);
    CHECK(value->count == 2 && value->last == value->first->next && !value->last->next);
    json_set(value, STR("c"), json_make_i64(&a, 3));
    CHECK(str_eq(json_write(&a, value), STR("{\"a\":1,\"b\":2,\"c\":3}")));
    CHECK(json_read_last(&a, STR("{\"a\":1,\"a\":}"), &value, &remarks) == ERR_SYNTAX);
    CHECK(remarks.offset == 11 && !remarks.repeated.at);
    arena_fini(&a);
}

TEST(damaged_documents_are_refused_or_still_make_sense)
{
    struct prng r;
    prng_init(&r, 107);
    uint32_t refused = 0;
    for (int round = 0; round < 30000; round++) {
        struct arena a = {0};
        struct buf b = buf_in(&a);
        messy_write(&b, &r, random_value(&a, &r, 3));
        for (int64_t n = prng_between(&r, 1, 3); n; n--) {
            char *victim = b.at + prng_below(&r, b.len);
            *victim =
                prng_chance(&r, 500) ? "{}[]\",:\\u0e-"[prng_below(&r, 12)] : (char)prng_next(&r);
        }
        struct json *value = NULL;
        uint32_t offset = 0;
        const char *what = NULL;
        if (json_read(&a, buf_str(&b), &value, &offset, &what) == OK) {
            check_shape(value, 0);
            struct str text = json_write(&a, value);
            struct json *again = must_read_str(&a, text);
            CHECK(json_eq(value, again));
            CHECK(str_eq(json_write(&a, again), text));
        } else {
            CHECK(offset <= b.len);
            CHECK(value == NULL);
            refused++;
        }
        arena_fini(&a);
    }
    CHECK(refused > 5000 && refused < 29000);
}

/* --- Depth --- */

/* `levels` containers in each other, arrays and objects by turns when asked. */
static struct str nested(struct arena *a, uint32_t levels, bool objects)
{
    struct buf b = buf_in(a);
    for (uint32_t i = 0; i < levels; i++)
        buf_put_z(&b, objects && i % 2 ? "{\"k\":" : "[");
    buf_put_z(&b, objects && levels % 2 == 0 ? "0" : "");
    for (uint32_t i = levels; i-- > 0;)
        buf_put_c(&b, objects && i % 2 ? '}' : ']');
    return buf_str(&b);
}

TEST(sixty_four_levels_are_read_and_sixty_five_are_not)
{
    struct arena a = {0};
    for (int objects = 0; objects < 2; objects++) {
        struct str deep = nested(&a, 64, objects);
        struct json *tree = must_read_str(&a, deep);
        CHECK(json_depth(tree) == 64);
        CHECK(str_eq(json_write(&a, tree), deep));
        CHECK(json_eq(tree, json_clone(&a, tree)));
        struct str deeper = nested(&a, 65, objects);
        uint32_t offset;
        const char *what;
        CHECK(json_read(&a, deeper, &tree, &offset, &what) == ERR_SYNTAX);
        CHECK(strcmp(what, "the document is nested too deeply") == 0);
        CHECK(deeper.at[offset] == '[');
        CHECK(offset == (objects ? 32u + 32 * 5 : 64u));
    }
    CHECK(read_or_null(&a, nested(&a, 100000, false)) == NULL);
    arena_fini(&a);
}

TEST(depth_counts_levels_of_containers)
{
    static const struct {
        const char *text;
        uint32_t depth;
    } cases[] = {
        {"1", 0},
        {"\"x\"", 0},
        {"[]", 1},
        {"{}", 1},
        {"[1,2]", 1},
        {"[[],1]", 2},
        {"{\"a\":1,\"b\":{\"c\":[]},\"d\":[]}", 3},
        {"[[[0]],[0]]", 3},
    };
    struct arena a = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        CHECK(json_depth(must_read(&a, cases[i].text)) == cases[i].depth);
    /* A member is measured alone, without what comes after it. */
    CHECK(json_depth(json_get(must_read(&a, "{\"a\":1,\"b\":[]}"), STR("a"))) == 0);
    arena_fini(&a);
}

/* --- Size --- */

/* Keys in the order that a multiplier stirs; 1 ascending, count - 1 descending. */
static struct str large_object(struct arena *a, uint32_t count, uint32_t stir)
{
    struct buf b = buf_in(a);
    buf_put_c(&b, '{');
    for (uint32_t i = 0; i < count; i++) {
        char key[32];
        snprintf(key, sizeof key, "%s\"member-%06u\":%u", i ? "," : "",
                 (unsigned)((uint64_t)i * stir % count), (unsigned)i);
        buf_put_z(&b, key);
    }
    buf_put_c(&b, '}');
    return buf_str(&b);
}

TEST(a_hundred_thousand_members_are_sorted_in_no_time)
{
    static const uint32_t stirs[] = {1, 100002, 31337, 3};
    enum { COUNT = 100003 }; /* a prime, so that stirring keeps keys apart */
    for (size_t i = 0; i < COUNT_OF(stirs); i++) {
        struct arena a = {0};
        struct str text = large_object(&a, COUNT, stirs[i]);
        clock_t start = clock();
        struct json *tree = must_read_str(&a, text);
        CHECK(clock() - start < 3 * CLOCKS_PER_SEC);
        CHECK(tree->count == COUNT);
        check_shape(tree, 0);
        const struct json *far = json_get(tree, STR("member-077777"));
        int64_t at = -1;
        CHECK(json_as_i64(far, &at));
        CHECK((uint64_t)at * stirs[i] % COUNT == 77777);
        arena_fini(&a);
    }
}

/* An empty text may be NULL. */
TEST(nothing_is_no_document)
{
    struct arena a = {0};
    struct json *value = NULL;
    uint32_t offset = 0;
    const char *what = NULL;
    CHECK(json_read(&a, (struct str){NULL, 0}, &value, &offset, &what) == ERR_SYNTAX);
    const struct json *empty = json_make_string(&a, (struct str){NULL, 0});
    CHECK(str_eq(json_write(&a, empty), STR("\"\"")));
    arena_fini(&a);
}
