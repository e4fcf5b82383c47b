/* str.h - string views: pointer and length.
 *
 * A `struct str` owns no memory and is not zero-terminated. Strings from outside are validated
 * once, where they enter the program (str_is_clean), and are UTF-8 without U+0000 from there on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem/arena.h"

struct str {
    const char *at;
    uint32_t len;
};

/* A string literal as a str. */
#define STR(literal)    ((struct str){(literal), (uint32_t)(sizeof(literal) - 1)})
#define STR_FMT_ARGS(s) (int)(s).len, (s).at

/* From a zero-terminated string; NULL gives the empty str. */
struct str str_from(const char *zero_terminated);
bool str_is_empty(struct str s);
bool str_eq(struct str a, struct str b);
/* Byte order: <0, 0, >0; a prefix sorts before what it begins. */
int str_cmp(struct str a, struct str b);
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
/* Index of the first `c` at or after `from`, or s.len. */
uint32_t str_find(struct str s, char c, uint32_t from);
/* True if `word` occurs in `s`; the empty string always does. */
bool str_has(struct str s, struct str word);
/* The part [from, to); bounds are clamped. */
struct str str_slice(struct str s, uint32_t from, uint32_t to);
/* The first `max` bytes, or up to three fewer, so that no UTF-8 character is cut. */
struct str str_clip(struct str s, uint32_t max);
struct str str_copy(struct arena *a, struct str s);
/* ASCII only: A-Z become a-z, all else stays. Copies into the arena. */
struct str str_lower(struct arena *a, struct str s);
/* Equal when both are lower-cased as above. */
bool str_eq_nocase(struct str a, struct str b);
/* Zero-terminated copy, for calls of C libraries. */
const char *str_z(struct arena *a, struct str s);
/* The pieces one after the other, in the arena. STR_CONCAT(a, x, y, ...) takes them as arguments;
 * messages are formatted with it in modules that may not use printf. */
struct str str_concat(struct arena *a, const struct str *pieces, uint32_t count);
#define STR_CONCAT(a, ...)                                                                         \
    str_concat((a), (const struct str[]){__VA_ARGS__},                                             \
               (uint32_t)(sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str)))
/* The decimal digits of a number, for STR_CONCAT. */
struct str str_from_i64(struct arena *a, int64_t value);
/* Decimal digits only, no sign, no spaces, at least one digit, no overflow of int64. */
bool str_parse_i64(struct str s, int64_t *out_value);
bool str_is_digits(struct str s); /* at least one, and nothing else */

/* Well-formed UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF) and no U+0000. */
bool str_is_clean(struct str s);

bool char_is_letter(char c); /* ASCII */
bool char_is_digit(char c);  /* ASCII */
