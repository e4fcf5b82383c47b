#include "content/scalar.h"

#include "base/text/buf.h"

/* Stateless; strings that are not part of the input are in the arena. Nothing can fail: a scalar
 * that has no other form is a string. Words (null, booleans) are compared first, then the forms of
 * numbers are tried in the order sexagesimal, float, decimal, other base: "1:30" and "1.5" also
 * begin like decimal numbers. */

enum { SECONDS_OF_HOUR = 3600, SECONDS_OF_MINUTE = 60 };
enum { FIRST_MAX = 1 << 30 }; /* limit of the first part of a sexagesimal number */

static struct scalar scalar_string(struct str s)
{
    return (struct scalar){.kind = JSON_STRING, .text = s};
}

/* ---- null and booleans ---- */

static bool scalar_is_one_of(struct str s, const char *const *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (str_eq_nocase(s, str_from(words[i])))
            return true;
    return false;
}

static bool scalar_read_word(struct str s, struct scalar *out)
{
    static const char *const nothing[] = {"", "~", "null"};
    static const char *const yes[] = {"yes", "true", "on"};
    static const char *const no[] = {"no", "false", "off"};
    static const char *const beyond[] = {".inf", "+.inf", "-.inf", ".nan"};
    *out = scalar_string(s);
    if (scalar_is_one_of(s, nothing, 3))
        out->kind = JSON_NULL;
    else if (scalar_is_one_of(s, yes, 3))
        out->kind = JSON_TRUE;
    else if (scalar_is_one_of(s, no, 3))
        out->kind = JSON_FALSE;
    else if (scalar_is_one_of(s, beyond, 4))
        out->is_unexpected = true;
    else
        return false;
    return true;
}

/* ---- numbers ---- */

/* The sign is parsed separately, because it is allowed before every form. */
struct digits {
    struct str s; /* without the sign */
    bool negative;
};

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

static bool scalar_is_separator(char c)
{
    return c == '_' || c == ',';
}

static struct scalar scalar_number(struct str literal, struct str plain)
{
    return (struct scalar){
        .kind = JSON_NUMBER, .text = literal, .is_unexpected = !str_eq(literal, plain)};
}

static struct scalar scalar_number_from(struct arena *a, int64_t value, struct str plain)
{
    struct buf b = buf_in(a);
    buf_put_i64(&b, value);
    return scalar_number(buf_str(&b), plain);
}

/* Digits of a base with separators at any position; false for any other character or no digit.
 * *out_fits: the value is within 63 bits. */
static bool scalar_read_base(struct str s, int base, int64_t *out_value, bool *out_fits)
{
    int64_t value = 0;
    uint32_t digits = 0;
    *out_fits = true;
    for (uint32_t i = 0; i < s.len; i++) {
        const int digit = digit_value(s.at[i]);
        if (scalar_is_separator(s.at[i]))
            continue;
        if (digit >= base)
            return false;
        digits++;
        *out_fits = *out_fits && value <= (INT64_MAX - digit) / base;
        value = *out_fits ? value * base + digit : 0;
    }
    *out_value = value;
    return digits > 0;
}

static bool scalar_read_other_base(struct arena *a, struct digits d, struct str plain,
                                   struct scalar *out)
{
    int64_t value;
    bool fits;
    int base = 8;
    uint32_t from = 1;
    if (d.s.len < 2 || d.s.at[0] != '0')
        return false;
    if (d.s.at[1] == 'x' || d.s.at[1] == 'b') {
        base = d.s.at[1] == 'x' ? 16 : 2;
        from = 2;
    }
    /* The leading zero of an octal number is one of its digits: "0_" is a number. */
    const struct str rest = str_slice(d.s, base == 8 ? 0 : from, d.s.len);
    if (!scalar_read_base(rest, base, &value, &fits))
        return false;
    *out = scalar_string(plain);
    out->is_unexpected = true;
    if (fits)
        *out = scalar_number_from(a, d.negative ? -value : value, plain);
    return true;
}

/* The minus sign, if any, and the digits without separators and leading zeros. */
static void scalar_put_digits(struct buf *b, struct str s, bool negative)
{
    uint32_t from = 0;
    if (negative)
        buf_put_c(b, '-');
    while (from + 1 < s.len && (s.at[from] == '0' || scalar_is_separator(s.at[from])))
        from++;
    if (s.len == 0 || scalar_is_separator(s.at[from]))
        buf_put_c(b, '0');
    for (; from < s.len; from++)
        if (!scalar_is_separator(s.at[from]))
            buf_put_c(b, s.at[from]);
}

static bool scalar_read_decimal(struct arena *a, struct digits d, struct str plain,
                                struct scalar *out)
{
    struct buf b = buf_in(a);
    if (d.s.len == 0 || !char_is_digit(d.s.at[0]) || (d.s.at[0] == '0' && d.s.len > 1))
        return false;
    for (uint32_t i = 1; i < d.s.len; i++) {
        const bool parts =
            scalar_is_separator(d.s.at[i]) && i + 1 < d.s.len && char_is_digit(d.s.at[i + 1]);
        if (!parts && !char_is_digit(d.s.at[i]))
            return false;
    }
    scalar_put_digits(&b, d.s, d.negative);
    *out = scalar_number(buf_str(&b), plain);
    return true;
}

/* True for "e+3" and for an empty string. */
static bool scalar_is_exponent(struct str s)
{
    if (s.len == 0)
        return true;
    return s.len >= 3 && (s.at[0] == 'e' || s.at[0] == 'E') && (s.at[1] == '+' || s.at[1] == '-') &&
           str_is_digits(str_slice(s, 2, s.len));
}

static bool scalar_read_float(struct arena *a, struct digits d, struct str plain,
                              struct scalar *out)
{
    const uint32_t dot = str_find(d.s, '.', 0);
    uint32_t end = dot + 1;
    if (dot == d.s.len)
        return false;
    for (uint32_t i = 0; i < dot; i++)
        if (!char_is_digit(d.s.at[i]) && (i == 0 || !scalar_is_separator(d.s.at[i])))
            return false;
    while (end < d.s.len && char_is_digit(d.s.at[end]))
        end++;
    const struct str fraction = str_slice(d.s, dot + 1, end);
    const struct str exponent = str_slice(d.s, end, d.s.len);
    if (!scalar_is_exponent(exponent) || (dot == 0 && fraction.len == 0))
        return false;
    struct buf b = buf_in(a);
    scalar_put_digits(&b, str_slice(d.s, 0, dot), d.negative);
    buf_put_c(&b, '.');
    buf_put_str(&b, fraction.len ? fraction : STR("0"));
    buf_put_str(&b, exponent);
    *out = scalar_number(buf_str(&b), plain);
    return true;
}

/* ---- sexagesimal numbers ---- */

/* One or two digits, the first of two at most 5. */
static bool scalar_read_sixtieth(struct str s, int64_t *out_value)
{
    if (s.len == 0 || s.len > 2 || !str_is_digits(s) || (s.len == 2 && s.at[0] > '5'))
        return false;
    *out_value = s.len == 1 ? s.at[0] - '0' : (s.at[0] - '0') * 10 + s.at[1] - '0';
    return true;
}

/* The sign applies to the first part only, as in Psych: -1:30 is -3600 + 1800. */
static bool scalar_read_sexagesimal(struct arena *a, struct digits d, struct str plain,
                                    struct scalar *out)
{
    const uint32_t first = str_find(d.s, ':', 0);
    const uint32_t second = str_find(d.s, ':', first + 1);
    int64_t hours, minutes, seconds = 0;
    bool fits;
    if (first == 0 || first >= d.s.len || !char_is_digit(d.s.at[0]) ||
        str_find(str_slice(d.s, 0, first), ',', 0) != first ||
        !scalar_read_base(str_slice(d.s, 0, first), 10, &hours, &fits) ||
        !scalar_read_sixtieth(str_slice(d.s, first + 1, second), &minutes) ||
        (second < d.s.len && !scalar_read_sixtieth(str_slice(d.s, second + 1, d.s.len), &seconds)))
        return false;
    *out = scalar_string(plain);
    out->is_unexpected = true;
    if (fits && hours < FIRST_MAX)
        *out = scalar_number_from(a,
                                  (d.negative ? -hours : hours) * SECONDS_OF_HOUR +
                                      minutes * SECONDS_OF_MINUTE + seconds,
                                  plain);
    return true;
}

struct scalar scalar_read(struct arena *a, struct str plain)
{
    struct scalar out;
    if (scalar_read_word(plain, &out))
        return out;
    const bool is_signed = plain.at[0] == '-' || plain.at[0] == '+';
    const struct digits d = {.s = str_slice(plain, is_signed, plain.len),
                             .negative = plain.at[0] == '-'};
    if (d.s.len && (char_is_digit(d.s.at[0]) || d.s.at[0] == '.') &&
        (scalar_read_sexagesimal(a, d, plain, &out) || scalar_read_float(a, d, plain, &out) ||
         scalar_read_decimal(a, d, plain, &out) || scalar_read_other_base(a, d, plain, &out)))
        return out;
    return scalar_string(plain);
}
