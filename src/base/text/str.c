/* str.c - string views: comparison, slices, concatenation, UTF-8 validation. Stateless; copies are
 * in the arena of the caller. Indices out of range are clamped; a string of more than 4 GiB
 * aborts. */
#include "base/text/str.h"

#include <string.h>

#include "base/err.h"

/* memcpy and memcmp do not accept NULL even for a size of 0, and an empty str may contain NULL. */
static void copy_bytes(char *to, struct str from)
{
    if (from.len)
        memcpy(to, from.at, from.len);
}

static bool same_bytes(const char *a, const char *b, uint32_t len)
{
    return len == 0 || memcmp(a, b, len) == 0;
}

static char char_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

struct str str_from(const char *zero_terminated)
{
    if (!zero_terminated)
        return STR("");
    size_t len = strlen(zero_terminated);
    must(len <= UINT32_MAX);
    return (struct str){zero_terminated, (uint32_t)len};
}

bool str_is_empty(struct str s)
{
    return s.len == 0;
}

bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && same_bytes(a.at, b.at, a.len);
}

int str_cmp(struct str a, struct str b)
{
    uint32_t shared = a.len < b.len ? a.len : b.len;
    int order = shared ? memcmp(a.at, b.at, shared) : 0;
    if (order)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

bool str_starts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && same_bytes(s.at, prefix.at, prefix.len);
}

bool str_ends(struct str s, struct str suffix)
{
    if (suffix.len == 0)
        return true;
    return s.len >= suffix.len && same_bytes(s.at + (s.len - suffix.len), suffix.at, suffix.len);
}

uint32_t str_find(struct str s, char c, uint32_t from)
{
    for (uint32_t i = from; i < s.len; i++)
        if (s.at[i] == c)
            return i;
    return s.len;
}

bool str_has(struct str s, struct str word)
{
    if (word.len == 0)
        return true;
    for (uint32_t at = str_find(s, word.at[0], 0); at + word.len <= s.len;
         at = str_find(s, word.at[0], at + 1))
        if (memcmp(s.at + at, word.at, word.len) == 0)
            return true;
    return false;
}

struct str str_slice(struct str s, uint32_t from, uint32_t to)
{
    if (to > s.len)
        to = s.len;
    if (from > to)
        from = to;
    /* Even adding 0 to NULL is undefined. */
    if (!s.at)
        return s;
    return (struct str){s.at + from, to - from};
}

struct str str_clip(struct str s, uint32_t max)
{
    while (max > 0 && max < s.len && ((unsigned char)s.at[max] & 0xc0) == 0x80)
        max--;
    return str_slice(s, 0, max);
}

struct str str_copy(struct arena *a, struct str s)
{
    char *copy = arena_alloc(a, s.len);
    copy_bytes(copy, s);
    return (struct str){copy, s.len};
}

struct str str_lower(struct arena *a, struct str s)
{
    char *copy = arena_alloc(a, s.len);
    for (uint32_t i = 0; i < s.len; i++)
        copy[i] = char_lower(s.at[i]);
    return (struct str){copy, s.len};
}

bool str_eq_nocase(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    for (uint32_t i = 0; i < a.len; i++)
        if (char_lower(a.at[i]) != char_lower(b.at[i]))
            return false;
    return true;
}

const char *str_z(struct arena *a, struct str s)
{
    char *copy = arena_alloc(a, (size_t)s.len + 1);
    copy_bytes(copy, s);
    copy[s.len] = 0;
    return copy;
}

struct str str_concat(struct arena *a, const struct str *pieces, uint32_t count)
{
    uint64_t len = 0;
    for (uint32_t i = 0; i < count; i++)
        len += pieces[i].len;
    must(len <= UINT32_MAX);
    char *joined = arena_alloc(a, (size_t)len);
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        copy_bytes(joined + at, pieces[i]);
        at += pieces[i].len;
    }
    return (struct str){joined, (uint32_t)len};
}

struct str str_from_i64(struct arena *a, int64_t value)
{
    char digits[20]; /* those of INT64_MIN, with its sign */
    uint32_t at = sizeof digits;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (value < 0)
        digits[--at] = '-';
    return str_copy(a, (struct str){digits + at, (uint32_t)(sizeof digits - at)});
}

bool str_parse_i64(struct str s, int64_t *out_value)
{
    if (!str_is_digits(s))
        return false;
    int64_t value = 0;
    for (uint32_t i = 0; i < s.len; i++) {
        int digit = s.at[i] - '0';
        if (value > (INT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out_value = value;
    return true;
}

bool str_is_digits(struct str s)
{
    for (uint32_t i = 0; i < s.len; i++)
        if (!char_is_digit(s.at[i]))
            return false;
    return s.len > 0;
}

/* True if none of the eight bytes is zero or above 0x7f. Most text is ASCII, so this test comes
 * first; it does not depend on the byte order. */
static bool eight_are_plain(const char *at)
{
    const uint64_t ones = 0x0101010101010101u;
    const uint64_t tops = 0x8080808080808080u;
    uint64_t word;
    memcpy(&word, at, sizeof word);
    /* With no top bit set, subtracting one per byte sets a top bit exactly when a byte is zero. */
    return ((word | (word - ones)) & tops) == 0;
}

static bool is_tail(unsigned char c)
{
    return (c & 0xc0u) == 0x80u;
}

/* Size of the character at `at`, of which `left` > 0 bytes remain; 0: it is invalid. The bounds of
 * the second byte exclude overlong forms, surrogates and values above U+10FFFF. */
static uint32_t utf8_size(const unsigned char *at, uint32_t left)
{
    unsigned char lead = at[0];
    if (lead < 0x80)
        return lead ? 1 : 0;
    if (lead < 0xc2 || lead > 0xf4 || left < 2)
        return 0;
    if (lead < 0xe0)
        return is_tail(at[1]) ? 2 : 0;
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    if (lead == 0xe0)
        low = 0xa0;
    else if (lead == 0xed)
        high = 0x9f;
    else if (lead == 0xf0)
        low = 0x90;
    else if (lead == 0xf4)
        high = 0x8f;
    if (at[1] < low || at[1] > high)
        return 0;
    if (left < 3 || !is_tail(at[2]))
        return 0;
    if (lead < 0xf0)
        return 3;
    return left >= 4 && is_tail(at[3]) ? 4 : 0;
}

bool str_is_clean(struct str s)
{
    uint32_t i = 0;
    while (i < s.len) {
        uint32_t left = s.len - i;
        if (left >= 8 && eight_are_plain(s.at + i)) {
            i += 8;
            continue;
        }
        uint32_t size = utf8_size((const unsigned char *)s.at + i, left);
        if (size == 0)
            return false;
        i += size;
    }
    return true;
}

bool char_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool char_is_digit(char c)
{
    return c >= '0' && c <= '9';
}
