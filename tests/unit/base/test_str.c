/* What str.h and buf.h promise: views of text, UTF-8 validation, text being written. */
#include "base/prng.h"
#include "base/text/buf.h"
#include "base/text/str.h"
#include "tests/check.h"

#include <string.h>

static const struct str nowhere = {NULL, 0};

static int sign(int x)
{
    return (x > 0) - (x < 0);
}

TEST(a_str_from_nothing_is_empty)
{
    CHECK(str_from(NULL).len == 0);
    CHECK(str_from(NULL).at != NULL);
    CHECK(str_from("").len == 0);
    CHECK(str_eq(str_from("halligan"), STR("halligan")));
    CHECK(str_is_empty(nowhere));
    CHECK(str_is_empty(STR("")));
    CHECK(!str_is_empty(STR(" ")));
}

TEST(equality_is_of_bytes_and_length)
{
    CHECK(str_eq(nowhere, STR("")));
    CHECK(str_eq(STR("a\0b"), STR("a\0b")));
    CHECK(!str_eq(STR("a\0b"), STR("a\0c")));
    CHECK(!str_eq(STR("ab"), STR("abc")));
    CHECK(!str_eq(STR("abc"), nowhere));
}

TEST(order_is_by_bytes_with_prefixes_first)
{
    /* Ascending; the byte 0xff is larger than any letter although char may be signed. */
    static const struct str sorted[] = {
        {NULL, 0}, {"\0", 1}, {"\0a", 2},  {"A", 1},        {"a", 1},    {"a\0", 2},
        {"ab", 2}, {"b", 1},  {"\x7f", 1}, {"\xc3\xa4", 2}, {"\xff", 1}, {"\xff\xff", 2},
    };
    const int count = (int)(sizeof sorted / sizeof sorted[0]);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            CHECK(sign(str_cmp(sorted[i], sorted[j])) == sign(i - j));
}

TEST(starts_and_ends_look_at_the_right_side)
{
    CHECK(str_starts(STR("node"), STR("no")));
    CHECK(str_starts(STR("node"), STR("node")));
    CHECK(!str_starts(STR("node"), STR("node1")));
    CHECK(!str_starts(STR("node"), STR("od")));
    CHECK(str_ends(STR("node"), STR("de")));
    CHECK(str_ends(STR("node"), STR("node")));
    CHECK(!str_ends(STR("node"), STR("anode")));
    CHECK(!str_ends(STR("node"), STR("od")));
    CHECK(str_starts(nowhere, nowhere) && str_ends(nowhere, nowhere));
    CHECK(str_starts(STR("x"), nowhere) && str_ends(STR("x"), nowhere));
    CHECK(!str_starts(nowhere, STR("x")) && !str_ends(nowhere, STR("x")));
}

TEST(find_gives_the_first_at_or_after_from)
{
    struct str s = STR("a/b//c");
    CHECK(str_find(s, '/', 0) == 1);
    CHECK(str_find(s, '/', 1) == 1);
    CHECK(str_find(s, '/', 2) == 3);
    CHECK(str_find(s, '/', 4) == 4);
    CHECK(str_find(s, '/', 5) == s.len);
    CHECK(str_find(s, '/', 600) == s.len);
    CHECK(str_find(nowhere, 'x', 0) == 0);
}

TEST(clip_keeps_characters_whole)
{
    const struct str s = STR("a\xc3\xa9\xe2\x98\x83z"); /* 1, 2, 3 and 1 bytes */
    const uint32_t lens[] = {0, 1, 1, 3, 3, 3, 6, 7, 7};
    for (uint32_t max = 0; max < sizeof lens / sizeof *lens; max++)
        CHECK(str_clip(s, max).len == lens[max]);
    CHECK(str_clip(s, UINT32_MAX).len == s.len && str_clip(STR(""), 5).len == 0);
}

TEST(slice_clamps_its_bounds)
{
    struct str s = STR("hello");
    CHECK(str_eq(str_slice(s, 1, 3), STR("el")));
    CHECK(str_eq(str_slice(s, 0, 99), s));
    CHECK(str_eq(str_slice(s, 0, UINT32_MAX), s));
    CHECK(str_slice(s, 4, 2).len == 0);
    CHECK(str_slice(s, 9, 12).len == 0);
    CHECK(str_slice(s, 5, 5).len == 0);
    CHECK(str_slice(nowhere, 0, 0).len == 0);
    CHECK(str_slice(nowhere, 3, 7).len == 0);
}

TEST(copies_are_of_their_own)
{
    struct arena a = {0};
    char bytes[] = "Some TEXT \xc3\x84 [@Z`az{]";
    struct str s = str_from(bytes);
    struct str copy = str_copy(&a, s);
    struct str lower = str_lower(&a, s);
    const char *z = str_z(&a, s);
    memset(bytes, '#', sizeof bytes - 1);
    CHECK(str_eq(copy, STR("Some TEXT \xc3\x84 [@Z`az{]")));
    CHECK(str_eq(lower, STR("some text \xc3\x84 [@z`az{]")));
    CHECK(strcmp(z, "Some TEXT \xc3\x84 [@Z`az{]") == 0);
    CHECK(str_copy(&a, nowhere).len == 0);
    CHECK(str_lower(&a, nowhere).len == 0);
    CHECK(*str_z(&a, nowhere) == 0);
    arena_fini(&a);
}

TEST(equality_without_case_is_ascii_only)
{
    CHECK(str_eq_nocase(STR("Content-Type"), STR("content-tYPE")));
    CHECK(!str_eq_nocase(STR("abc"), STR("abcd")));
    CHECK(!str_eq_nocase(STR("@"), STR("`")));
    CHECK(!str_eq_nocase(STR("["), STR("{")));
    CHECK(!str_eq_nocase(STR("\xc3\x84"), STR("\xc3\xa4")));
    CHECK(str_eq_nocase(nowhere, STR("")));
}

TEST(numbers_become_decimal_digits)
{
    struct arena a = {0};
    CHECK(str_eq(str_from_i64(&a, 0), STR("0")));
    CHECK(str_eq(str_from_i64(&a, -7), STR("-7")));
    CHECK(str_eq(str_from_i64(&a, INT64_MAX), STR("9223372036854775807")));
    CHECK(str_eq(str_from_i64(&a, INT64_MIN), STR("-9223372036854775808")));
    CHECK(str_eq(STR_CONCAT(&a, STR("x"), str_from_i64(&a, 12), STR(""), STR("y")), STR("x12y")));
    arena_fini(&a);
}

TEST(joins_put_nothing_between)
{
    struct arena a = {0};
    CHECK(str_eq(STR_CONCAT(&a, STR("ab"), STR("c")), STR("abc")));
    CHECK(str_eq(STR_CONCAT(&a, nowhere, STR("c")), STR("c")));
    CHECK(str_eq(STR_CONCAT(&a, nowhere, nowhere), STR("")));
    CHECK(str_eq(STR_CONCAT(&a, STR("a"), STR("/"), STR("b")), STR("a/b")));
    CHECK(str_eq(STR_CONCAT(&a, STR("a"), nowhere, STR("b")), STR("ab")));
    arena_fini(&a);
}

TEST(digits_become_a_number_or_nothing)
{
    static const struct {
        const char *text;
        int64_t value; /* -1: refused */
    } cases[] = {
        {"0", 0},
        {"7", 7},
        {"0012", 12},
        {"9223372036854775807", INT64_MAX},
        {"00000000000000000000000009", 9},
        {"9223372036854775808", -1},
        {"9223372036854775810", -1},
        {"9999999999999999999", -1},
        {"18446744073709551617", -1},
        {"100000000000000000000000", -1},
        {"", -1},
        {"-1", -1},
        {"+1", -1},
        {" 1", -1},
        {"1 ", -1},
        {"1a", -1},
        {"0x1", -1},
        {"1.0", -1},
        {"/", -1},
        {":", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value = -77;
        bool ok = str_parse_i64(str_from(cases[i].text), &value);
        CHECK(ok == (cases[i].value >= 0));
        CHECK(value == (ok ? cases[i].value : -77));
    }
    CHECK(str_is_digits(STR("0123456789")));
    CHECK(!str_is_digits(nowhere));
    CHECK(!str_is_digits(STR("12 ")));
}

TEST(every_byte_is_a_letter_a_digit_or_neither)
{
    for (int c = 0; c < 256; c++) {
        bool letter = memchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", c, 52) != NULL;
        bool digit = memchr("0123456789", c, 10) != NULL;
        CHECK(char_is_letter((char)c) == letter);
        CHECK(char_is_digit((char)c) == digit);
    }
}

/* --- UTF-8 against a decoder that counts bits --- */

/* Takes one sequence apart: value and size, then asks what the value may be. */
static size_t naive_step(const unsigned char *at, size_t left)
{
    static const uint32_t smallest[] = {0, 1, 0x80, 0x800, 0x10000};
    size_t size = 0;
    if (at[0] >> 7 == 0)
        size = 1;
    else if (at[0] >> 5 == 6)
        size = 2;
    else if (at[0] >> 4 == 14)
        size = 3;
    else if (at[0] >> 3 == 30)
        size = 4;
    if (size == 0 || size > left)
        return 0;
    uint32_t value = size == 1 ? at[0] : at[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if (at[i] >> 6 != 2)
            return 0;
        value = value << 6 | (at[i] & 63u);
    }
    bool surrogate = value >= 0xd800 && value < 0xe000;
    return value < smallest[size] || value > 0x10ffff || surrogate ? 0 : size;
}

static bool naive_is_clean(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t size = naive_step((const unsigned char *)bytes + i, len - i);
        if (size == 0)
            return false;
        i += size;
    }
    return true;
}

static void check_clean(const char *bytes, uint32_t len)
{
    CHECK(str_is_clean((struct str){bytes, len}) == naive_is_clean(bytes, len));
}

TEST(clean_text_of_one_two_and_three_bytes_is_as_a_naive_decoder_says)
{
    CHECK(str_is_clean(nowhere));
    char bytes[3];
    for (uint32_t i = 0; i < 1u << 24; i++) {
        bytes[0] = (char)(i & 255);
        bytes[1] = (char)(i >> 8 & 255);
        bytes[2] = (char)(i >> 16);
        if (i < 1u << 8)
            check_clean(bytes, 1);
        if (i < 1u << 16)
            check_clean(bytes, 2);
        check_clean(bytes, 3);
    }
}

TEST(clean_text_of_four_bytes_is_as_a_naive_decoder_says_at_the_boundaries)
{
    static const unsigned char edges[] = {0x00, 0x01, 0x7f, 0x80, 0x8f, 0x90,
                                          0x9f, 0xa0, 0xbf, 0xc0, 0xed, 0xff};
    const uint32_t count = sizeof edges;
    for (uint32_t lead = 0; lead < 256; lead++)
        for (uint32_t i = 0; i < count * count * count; i++) {
            char bytes[4] = {(char)lead, (char)edges[i % count], (char)edges[i / count % count],
                             (char)edges[i / count / count]};
            check_clean(bytes, 4);
        }
}

TEST(unclean_bytes_are_found_at_every_position_of_long_text)
{
    for (uint32_t len = 1; len <= 40; len++)
        for (uint32_t at = 0; at < len; at++) {
            char bytes[40];
            memset(bytes, 'x', len);
            CHECK(str_is_clean((struct str){bytes, len}));
            for (uint32_t bad = 0; bad < 256; bad++) {
                bytes[at] = (char)bad;
                check_clean(bytes, len);
            }
        }
}

TEST(random_mixtures_of_good_and_bad_sequences_are_judged_as_by_the_naive_decoder)
{
    static const char *const parts[] = {
        "plain",
        "a",
        "\xc3\xa4",
        "\xe2\x82\xac",
        "\xf0\x9f\x94\xa5",
        "\xf4\x8f\xbf\xbf",
        "\xef\xbf\xbf",
        "\xee\x80\x80",
        "\x7f",
        "eight by",
        "\xed\xa0\x80",
        "\xf4\x90\x80\x80",
        "\xc0\x80",
        "\xe0\x80\x80",
        "\xe2\x82",
    };
    struct prng r;
    prng_init(&r, 17);
    uint32_t clean = 0;
    for (int round = 0; round < 20000; round++) {
        char bytes[200];
        uint32_t len = 0;
        bool may_be_bad = prng_chance(&r, 500);
        for (uint64_t n = prng_below(&r, 20); n; n--) {
            const char *part = parts[prng_below(&r, may_be_bad ? 15 : 10)];
            memcpy(bytes + len, part, strlen(part));
            len += (uint32_t)strlen(part);
        }
        check_clean(bytes, len);
        clean += str_is_clean((struct str){bytes, len});
    }
    CHECK(clean > 10000 && clean < 19000);
}

/* --- buf --- */

TEST(an_empty_buf_gives_an_empty_str)
{
    struct arena a = {0};
    struct buf b = buf_in(&a);
    CHECK(buf_str(&b).len == 0);
    CHECK(buf_str(&b).at != NULL);
    buf_put(&b, NULL, 0);
    buf_put_str(&b, nowhere);
    buf_put_z(&b, "");
    CHECK(b.len == 0);
    CHECK(buf_room(&b, 0) != NULL);
    CHECK(buf_str(&b).len == 0);
    arena_fini(&a);
}

TEST(a_buf_keeps_what_was_put_while_it_grows)
{
    struct arena a = {0};
    struct buf b = buf_in(&a);
    for (int i = 0; i < 100000; i++)
        buf_put_c(&b, (char)(i % 251));
    CHECK(buf_str(&b).len == 100000);
    for (int i = 0; i < 100000; i++)
        CHECK(buf_str(&b).at[i] == (char)(i % 251));
    /* Doubling leaves behind at most as much again. */
    CHECK(arena_used(&a) < 4 * 100000);
    arena_fini(&a);
}

TEST(room_can_be_written_before_it_counts)
{
    struct arena a = {0};
    struct buf b = buf_in(&a);
    buf_put_z(&b, "ab");
    char *room = buf_room(&b, 1000);
    memset(room, 'z', 1000);
    CHECK(buf_str(&b).len == 2);
    b.len += 1000;
    CHECK(str_starts(buf_str(&b), STR("abzzz")));
    CHECK(buf_room(&b, 0) == b.at + 1002);
    arena_fini(&a);
}

TEST(numbers_are_written_in_decimal)
{
    struct arena a = {0};
    struct buf b = buf_in(&a);
    static const int64_t values[] = {0, 9, 10, -1, -10, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        buf_put_i64(&b, values[i]);
        buf_put_c(&b, ' ');
    }
    buf_put_u64(&b, UINT64_MAX);
    CHECK(str_eq(buf_str(&b), STR("0 9 10 -1 -10 9223372036854775807 -9223372036854775808 "
                                  "18446744073709551615")));
    arena_fini(&a);
}

TEST(hex_is_lower_case_and_two_digits_a_byte)
{
    struct arena a = {0};
    struct buf b = buf_in(&a);
    buf_put_hex(&b, "\x00\x0f\xa5\xff", 4);
    buf_put_hex(&b, NULL, 0);
    CHECK(str_eq(buf_str(&b), STR("000fa5ff")));
    arena_fini(&a);
}

/* --- varints --- */

static void check_varint(uint64_t value, uint32_t size)
{
    struct arena a = {0};
    struct buf b = buf_in(&a);
    buf_put_c(&b, 'x');
    buf_put_varint(&b, value);
    CHECK(b.len == 1 + size);
    uint32_t at = 1;
    uint64_t got = ~value;
    CHECK(varint_read(buf_str(&b), &at, &got));
    CHECK(at == 1 + size && got == value);
    for (uint32_t len = 1; len < 1 + size; len++) {
        at = 1;
        got = 77;
        CHECK(!varint_read((struct str){b.at, len}, &at, &got));
        CHECK(at == 1 && got == 77);
    }
    arena_fini(&a);
}

TEST(varints_come_back_and_their_prefixes_do_not)
{
    check_varint(0, 1);
    check_varint(UINT64_MAX, 10);
    for (uint32_t bits = 1; bits < 64; bits++) {
        uint64_t power = (uint64_t)1 << bits;
        check_varint(power - 1, (bits + 6) / 7);
        check_varint(power, bits / 7 + 1);
    }
}

TEST(varints_beyond_64_bits_are_refused)
{
    uint32_t at = 0;
    uint64_t value = 5;
    CHECK(!varint_read(STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), &at, &value));
    CHECK(!varint_read(STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00"), &at, &value));
    CHECK(!varint_read(STR("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), &at, &value));
    CHECK(!varint_read(nowhere, &at, &value));
    CHECK(at == 0 && value == 5);
    at = 99;
    CHECK(!varint_read(STR("\x01"), &at, &value));
    CHECK(at == 99);
}

TEST(varint_one_after_the_other)
{
    struct arena a = {0};
    struct buf b = buf_in(&a);
    struct prng r;
    prng_init(&r, 3);
    uint64_t values[500];
    for (int i = 0; i < 500; i++) {
        values[i] = prng_next(&r) >> prng_below(&r, 64);
        buf_put_varint(&b, values[i]);
    }
    uint32_t at = 0;
    for (int i = 0; i < 500; i++) {
        uint64_t value;
        CHECK(varint_read(buf_str(&b), &at, &value));
        CHECK(value == values[i]);
    }
    CHECK(at == b.len);
    arena_fini(&a);
}
