/* json_sample.h - what the tests of JSON share: reading without ceremony, a check of every link,
 * and documents drawn at random. A test program is one file, so all of it is static.
 */
#pragma once

#include "base/json/json.h"
#include "base/prng.h"
#include "tests/check.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static inline struct json *read_or_null(struct arena *a, struct str text)
{
    struct json *value = NULL;
    uint32_t offset = 0;
    const char *what = NULL;
    return json_read(a, text, &value, &offset, &what) == OK ? value : NULL;
}

/* Never NULL; CHECK alone does not convince the compiler of that. */
static inline struct json *must_read_str(struct arena *a, struct str text)
{
    struct json *value = read_or_null(a, text);
    CHECK(value != NULL);
    must(value != NULL);
    return value;
}

static inline struct json *must_read(struct arena *a, const char *text)
{
    return must_read_str(a, str_from(text));
}

/* Links, counts and order are as the header says, all the way down. */
static inline void check_shape(const struct json *value, uint32_t depth)
{
    CHECK(depth <= JSON_DEPTH_MAX);
    uint32_t count = 0;
    const struct json *last = NULL;
    for (const struct json *child = value->first; child; child = child->next) {
        if (value->kind == JSON_OBJECT && last)
            CHECK(str_cmp(last->key, child->key) < 0);
        check_shape(child, depth + 1);
        last = child;
        count++;
    }
    CHECK(value->count == count);
    CHECK(value->last == last);
    CHECK(count == 0 || value->kind == JSON_ARRAY || value->kind == JSON_OBJECT);
}

/* --- Documents drawn at random --- */

static const char *const sample_keys[] = {
    "", "a", "b", "c", "aa", "a/b", "k\"q", "\n", "\xc3\xa4", "\xf0\x9f\x94\xa5", "\x7f", "Z",
};
static const char *const sample_texts[] = {
    "",
    "x",
    "tab\there",
    "quote\"back\\slash/",
    "\x01\x1f\b\f\r\n",
    "\xc3\xa4",
    "\xe2\x82\xac",
    "\xf0\x9f\x94\xa5",
    "{}",
    "\xef\xbf\xbf",
};
static const char *const sample_numbers[] = {
    "0", "-0", "1", "1.0", "1e0", "1E+2", "-12.50e-3", "9223372036854775807", "1e999999",
};

static inline struct str sample(struct prng *r, const char *const *from, size_t count)
{
    return str_from(from[prng_below(r, count)]);
}

static inline struct json *random_value(struct arena *a, struct prng *r, uint32_t levels);

static inline struct json *random_object(struct arena *a, struct prng *r, uint32_t levels)
{
    struct json *object = json_make(a, JSON_OBJECT);
    for (uint64_t n = prng_below(r, 6); n; n--) {
        struct str key = sample(r, sample_keys, COUNT_OF(sample_keys));
        json_set(object, key, random_value(a, r, levels - 1));
    }
    return object;
}

static inline struct json *random_array(struct arena *a, struct prng *r, uint32_t levels)
{
    struct json *array = json_make(a, JSON_ARRAY);
    for (uint64_t n = prng_below(r, 4); n; n--)
        json_append(array, random_value(a, r, levels - 1));
    return array;
}

/* At most `levels` deep. */
static inline struct json *random_value(struct arena *a, struct prng *r, uint32_t levels)
{
    if (levels && prng_chance(r, 500))
        return random_object(a, r, levels);
    if (levels && prng_chance(r, 250))
        return random_array(a, r, levels);
    struct json *number;
    switch (prng_below(r, 6)) {
    case 0: return json_make(a, JSON_NULL);
    case 1: return json_make_bool(a, prng_chance(r, 500));
    case 2: return json_make_i64(a, (int64_t)prng_next(r));
    case 3:
        number = json_make(a, JSON_NUMBER);
        number->text = sample(r, sample_numbers, COUNT_OF(sample_numbers));
        return number;
    default: return json_make_string(a, sample(r, sample_texts, COUNT_OF(sample_texts)));
    }
}
