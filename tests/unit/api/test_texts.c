/* Moments and forms as texts. */
#include <stdio.h>
#include <string.h>

#include "api/form.h"
#include "api/times.h"
#include "base/buf.h"
#include "tests/check.h"

static bool formats(int64_t ms, const char *wanted)
{
    struct arena a = {0};
    struct buf b = buf_in(&a);
    times_format(&b, ms);
    const bool same = str_eq(buf_str(&b), str_from(wanted));
    if (!same)
        fprintf(stderr, "%.*s, wanted %s\n", STR_FMT_ARGS(buf_str(&b)), wanted);
    arena_fini(&a);
    return same;
}

TEST(moments_are_written_as_iso_8601)
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
}

TEST(what_is_written_is_read_back)
{
    struct arena a = {0};
    for (int64_t day = -10000; day < 60000; day++) {
        const int64_t ms = day * 86400000 + (day * 7919 % 86400000 + 86400000) % 86400000;
        struct buf b = buf_in(&a);
        int64_t back = 0;
        times_format(&b, ms);
        CHECK(times_parse(buf_str(&b), &back) && back == ms);
        arena_reset(&a);
    }
    arena_fini(&a);
}

TEST(fractions_may_be_absent_short_or_long)
{
    int64_t ms = 0;
    CHECK(times_parse(STR("1970-01-01T00:00:01Z"), &ms) && ms == 1000);
    CHECK(times_parse(STR("1970-01-01T00:00:01.5Z"), &ms) && ms == 1500);
    CHECK(times_parse(STR("1970-01-01T00:00:01.0078Z"), &ms) && ms == 1007);
}

TEST(what_is_no_moment_is_not_read)
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
        CHECK(!times_parse(str_from(wrong[i]), &ms));
}

/* ---- forms ---- */

/* The form as JSON, or the reason against it. */
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
