/* Parsers: times, forms, JSON pointers. */
#include <stdio.h>
#include <string.h>

#include "api/call/form.h"
#include "api/call/iso8601.h"
#include "api/rest/json_pointer.h"
#include "base/text/buf.h"
#include "tests/check.h"

static bool formats(int64_t ms, const char *wanted)
{
    struct arena a = {0};
    struct buf b = buf_in(&a);
    iso8601_format(&b, ms);
    const bool same = str_eq(buf_str(&b), str_from(wanted));
    if (!same)
        fprintf(stderr, "%.*s, wanted %s\n", STR_FMT_ARGS(buf_str(&b)), wanted);
    arena_fini(&a);
    return same;
}

TEST(times_are_formatted_as_iso_8601)
{
    CHECK(formats(0, "1970-01-01T00:00:00.000Z"));
    CHECK(formats(1420167845678, "2015-01-02T03:04:05.678Z"));
    CHECK(formats(951782399999, "2000-02-28T23:59:59.999Z"));
    CHECK(formats(951782400000, "2000-02-29T00:00:00.000Z"));
    CHECK(formats(4107542400000, "2100-03-01T00:00:00.000Z"));
    CHECK(formats(-1, "1969-12-31T23:59:59.999Z"));
    CHECK(formats(253402300799999, "9999-12-31T23:59:59.999Z"));
    CHECK(formats(253402300800000, "10000-01-01T00:00:00.000Z"));
    CHECK(formats(-62167219200000, "0000-01-01T00:00:00.000Z"));
    CHECK(formats(-62167219200001, "-1-12-31T23:59:59.999Z"));
    CHECK(formats(INT64_MIN, "-292275055-05-16T16:47:04.192Z"));
    CHECK(formats(INT64_MAX, "292278994-08-17T07:12:55.807Z"));
}

TEST(formatted_times_are_parsed_back)
{
    struct arena a = {0};
    for (int64_t day = -10000; day < 60000; day++) {
        const int64_t ms = day * 86400000 + (day * 7919 % 86400000 + 86400000) % 86400000;
        struct buf b = buf_in(&a);
        int64_t back = 0;
        iso8601_format(&b, ms);
        CHECK(iso8601_parse(buf_str(&b), &back) && back == ms);
        arena_reset(&a);
    }
    arena_fini(&a);
}

TEST(fractions_may_be_absent_short_or_long)
{
    int64_t ms = 0;
    CHECK(iso8601_parse(STR("1970-01-01T00:00:01Z"), &ms) && ms == 1000);
    CHECK(iso8601_parse(STR("1970-01-01T00:00:01.5Z"), &ms) && ms == 1500);
    CHECK(iso8601_parse(STR("1970-01-01T00:00:01.0078Z"), &ms) && ms == 1007);
}

TEST(invalid_times_are_refused)
{
    const char *const wrong[] = {"",
                                 "now",
                                 "1970",
                                 "1970-01-01",
                                 "1970-01-01T00:00:00",
                                 "1970-01-01 00:00:00Z",
                                 "1970-01-01T00:00:00z",
                                 "1970-01-01T00:00:00Z ",
                                 "1970-01-01T00:00:00.Z",
                                 "1970-01-01T00:00:00.x1Z",
                                 "1970-01-01T00:00:00.1",
                                 "1970-01-01T24:00:00Z",
                                 "1970-01-01T00:60:00Z",
                                 "1970-01-01T00:00:60Z",
                                 "1970-00-01T00:00:00Z",
                                 "1970-13-01T00:00:00Z",
                                 "1970-01-00T00:00:00Z",
                                 "1970-01-32T00:00:00Z",
                                 "1970-04-31T00:00:00Z",
                                 "2015-02-29T00:00:00Z",
                                 "197a-01-01T00:00:00Z",
                                 "1970-01-01T00:00:00+01:00"};
    int64_t ms = 77;
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(!iso8601_parse(str_from(wrong[i]), &ms));
}

/* ---- forms ---- */

/* Parses the form as JSON, or returns the error. */
static bool reads(const char *form, const char *wanted)
{
    struct arena a = {0};
    struct json *object = json_make(&a, JSON_OBJECT);
    const char *wrong = form_read(&a, str_from(form), object);
    const struct str seen = wrong ? STR("wrong") : json_write(&a, object);
    const bool same = str_eq(seen, str_from(wanted));
    if (!same)
        fprintf(stderr, "%s reads %.*s\n", form, STR_FMT_ARGS(seen));
    arena_fini(&a);
    return same;
}

TEST(forms_become_objects)
{
    CHECK(reads("", "{}"));
    CHECK(reads("a=1", "{\"a\":\"1\"}"));
    CHECK(reads("a", "{\"a\":\"\"}"));
    CHECK(reads("a=", "{\"a\":\"\"}"));
    CHECK(reads("=1", "{\"\":\"1\"}"));
    CHECK(reads("&&a=1&&b=2&", "{\"a\":\"1\",\"b\":\"2\"}"));
    CHECK(reads("a=1&a=2", "{\"a\":\"2\"}"));
    CHECK(reads("a=b=c", "{\"a\":\"b=c\"}"));
    CHECK(reads("a+b=%26%3d%2B+%c3%A4", "{\"a b\":\"&=+ \xc3\xa4\"}"));
}

TEST(brackets_make_objects_and_arrays)
{
    CHECK(reads("a[]=1&a[]=2", "{\"a\":[\"1\",\"2\"]}"));
    CHECK(reads("a[b]=1&a[c]=2&a[b]=3", "{\"a\":{\"b\":\"3\",\"c\":\"2\"}}"));
    CHECK(reads("a=0&a[b]=1", "{\"a\":{\"b\":\"1\"}}"));
    CHECK(reads("a[b]=1&a[]=2", "{\"a\":[\"2\"]}"));
    CHECK(reads("a[]=2&a=1", "{\"a\":\"1\"}"));
    CHECK(
        reads("[b]=1&a[b=2&a]=3&[]=4", "{\"[]\":\"4\",\"[b]\":\"1\",\"a[b\":\"2\",\"a]\":\"3\"}"));
}

TEST(forms_that_are_not_well_encoded_are_refused)
{
    CHECK(reads("a=%", "wrong"));
    CHECK(reads("a=%4", "wrong"));
    CHECK(reads("a=%4g", "wrong"));
    CHECK(reads("%g4=1", "wrong"));
    CHECK(reads("a=%00", "wrong"));
    CHECK(reads("a=%80", "wrong"));
    CHECK(reads("a=\xff", "wrong"));
}

/* ---- pointers ---- */

static bool reads_pointer(const char *text, const char *wanted)
{
    struct arena a = {0};
    struct json_pointer p;
    struct buf b = buf_in(&a);
    const bool reads = json_pointer_parse(&a, str_from(text), &p);
    for (uint32_t i = 0; reads && i < p.count; i++) {
        buf_put_c(&b, '[');
        buf_put_str(&b, p.steps[i]);
        buf_put_c(&b, ']');
    }
    const bool same = wanted ? reads && str_eq(buf_str(&b), str_from(wanted)) : !reads;
    arena_fini(&a);
    return same;
}

TEST(pointers_are_parsed)
{
    CHECK(reads_pointer("", ""));
    CHECK(reads_pointer("/", "[]"));
    CHECK(reads_pointer("/a", "[a]"));
    CHECK(reads_pointer("/a/", "[a][]"));
    CHECK(reads_pointer("//a", "[][a]"));
    CHECK(reads_pointer("/a~1b/~0c~01/-", "[a/b][~c~1][-]"));
    CHECK(reads_pointer("a", NULL));
    CHECK(reads_pointer("/a~", NULL));
    CHECK(reads_pointer("/a~2", NULL));
    CHECK(reads_pointer("/~/", NULL));
    char deep[131] = {0};
    for (int i = 0; i < 64; i++)
        memcpy(deep + 2 * i, "/a", 2);
    CHECK(!reads_pointer(deep, NULL));
    memcpy(deep + 128, "/a", 2);
    CHECK(reads_pointer(deep, NULL));
}

TEST(a_lookup_costs_the_values_before_the_target)
{
    struct arena a = {0};
    struct json *tree;
    struct json_pointer p;
    uint32_t offset;
    const char *what;
    CHECK(json_read(&a, STR("{\"a\":[1,2,3,4],\"b\":5}"), &tree, &offset, &what) == OK);
    CHECK(json_pointer_parse(&a, STR("/a/3"), &p));
    struct document d = {tree, 5}; /* steps: a, three elements, the target */
    CHECK(document_find(&d, &p) && d.steps_left == 0);
    CHECK(!document_find(&d, &p) && !document_take(&d, &p));
    d.steps_left = 4;
    CHECK(!document_find(&d, &p));
    d.steps_left = 100;
    struct json *last = document_take(&d, &p);
    CHECK(last && str_eq(last->text, STR("4")) && !document_find(&d, &p));
    CHECK(document_add(&d, &p, last) && document_find(&d, &p) == last);
    CHECK(str_eq(json_write(&a, tree), STR("{\"a\":[1,2,3,4],\"b\":5}")));
    CHECK(json_pointer_parse(&a, STR("/a/-"), &p) && !document_find(&d, &p) &&
          !document_take(&d, &p));
    CHECK(json_pointer_parse(&a, STR(""), &p) && document_find(&d, &p) == tree);
    CHECK(!document_take(&d, &p) && !document_add(&d, &p, json_make(&a, JSON_NULL)));
    arena_fini(&a);
}
