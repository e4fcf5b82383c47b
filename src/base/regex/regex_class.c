/* Character classes: [ ... ] and the sets \d \w \s \h.
 *
 * The named sets contain ASCII only, as in Ruby, for which the patterns of OpenCrowbar were
 * written; their negations contain everything else, including all of Unicode above ASCII.
 *
 * The class belongs to the program that is being compiled, its ranges to the arena of the parser. A
 * set is added to the class while it is parsed, so a class is complete only after its `]`. Failure:
 * regex_fail() records the error, every function returns false, and regex_compile() discards the
 * program. */
#include "base/regex/regex.h"

#include <string.h>

#include "base/regex/regex_private.h"

#define CODE_POINT_MAX   0x10ffffu
#define CLASS_RANGES_MAX 256u /* searched linearly */

enum ascii_set {
    SET_ALPHA,
    SET_DIGIT,
    SET_ALNUM,
    SET_UPPER,
    SET_LOWER,
    SET_SPACE,
    SET_BLANK,
    SET_PUNCT,
    SET_XDIGIT,
    SET_CNTRL,
    SET_PRINT,
    SET_GRAPH,
    SET_WORD,
    SET_ASCII,
};

static bool char_is_between(uint32_t c, uint32_t low, uint32_t high)
{
    return c >= low && c <= high;
}

static bool set_has(enum ascii_set set, uint32_t c)
{
    const bool lower = char_is_between(c, 'a', 'z');
    const bool upper = char_is_between(c, 'A', 'Z');
    const bool digit = char_is_between(c, '0', '9');
    switch (set) {
    case SET_ALPHA: return lower || upper;
    case SET_DIGIT: return digit;
    case SET_ALNUM: return lower || upper || digit;
    case SET_UPPER: return upper;
    case SET_LOWER: return lower;
    case SET_SPACE: return c == ' ' || char_is_between(c, '\t', '\r');
    case SET_BLANK: return c == ' ' || c == '\t';
    case SET_PUNCT: return char_is_between(c, '!', '~') && !lower && !upper && !digit;
    case SET_XDIGIT: return digit || char_is_between(c, 'a', 'f') || char_is_between(c, 'A', 'F');
    case SET_CNTRL: return c < ' ' || c == 0x7f;
    case SET_PRINT: return char_is_between(c, ' ', '~');
    case SET_GRAPH: return char_is_between(c, '!', '~');
    case SET_WORD: return regex_is_word(c);
    case SET_ASCII: return true;
    }
    impossible("a set outside the enum");
}

static void add_bit(struct regex_class *class, uint32_t c)
{
    class->ascii[c / 64] |= (uint64_t)1 << (c % 64);
}

static bool add_high_range(struct regex_parser *p, struct regex_class *class, uint32_t low,
                           uint32_t high)
{
    if (class->range_count == CLASS_RANGES_MAX)
        return regex_fail(p, ERR_LIMIT, "a class with too many ranges");
    /* The array is full at each power of two from 4 on; it is then copied to one of twice the
     * size. */
    if (class->range_count == 0 ||
        (class->range_count >= 4 && (class->range_count & (class->range_count - 1)) == 0)) {
        const uint32_t cap = class->range_count == 0 ? 4 : class->range_count * 2;
        struct regex_range *larger = arena_array(p->arena, struct regex_range, cap);
        if (class->range_count > 0)
            memcpy(larger, class->ranges, class->range_count * sizeof(*larger));
        class->ranges = larger;
    }
    class->ranges[class->range_count++] = (struct regex_range){low, high};
    return true;
}

static bool add_range(struct regex_parser *p, struct regex_class *class, uint32_t low,
                      uint32_t high)
{
    for (uint32_t c = low; c <= high && c < 128; c++) {
        add_bit(class, c);
        if (p->ignore_case && set_has(SET_ALPHA, c))
            add_bit(class, c ^ 0x20);
    }
    return high < 128 || add_high_range(p, class, low < 128 ? 128 : low, high);
}

static bool add_set(struct regex_parser *p, struct regex_class *class, enum ascii_set set,
                    bool negated)
{
    for (uint32_t c = 0; c < 128; c++)
        if (set_has(set, c) != negated && !add_range(p, class, c, c))
            return false;
    return !negated || add_high_range(p, class, 128, CODE_POINT_MAX);
}

bool regex_add_escape_set(struct regex_parser *p, struct regex_class *class, uint32_t letter)
{
    switch (letter | 0x20) {
    case 'd': return add_set(p, class, SET_DIGIT, letter == 'D');
    case 'w': return add_set(p, class, SET_WORD, letter == 'W');
    case 's': return add_set(p, class, SET_SPACE, letter == 'S');
    case 'h': return add_set(p, class, SET_XDIGIT, letter == 'H');
    default: impossible("a set that has no letter");
    }
}

/* Takes "[:name:]" or "[:^name:]", of which the '[' is taken already. */
static bool parse_named_set(struct regex_parser *p, struct regex_class *class)
{
    static const struct {
        const char *name;
        enum ascii_set set;
    } sets[] = {
        {"alpha", SET_ALPHA}, {"digit", SET_DIGIT}, {"alnum", SET_ALNUM}, {"upper", SET_UPPER},
        {"lower", SET_LOWER}, {"space", SET_SPACE}, {"blank", SET_BLANK}, {"punct", SET_PUNCT},
        {"cntrl", SET_CNTRL}, {"print", SET_PRINT}, {"graph", SET_GRAPH}, {"xdigit", SET_XDIGIT},
        {"word", SET_WORD},   {"ascii", SET_ASCII},
    };
    const uint32_t end = str_find(p->pattern, ':', p->at + 1);
    if (regex_peek(p) != ':' || end + 1 >= p->pattern.len || p->pattern.at[end + 1] != ']')
        return regex_fail(p, ERR_REFUSED, "classes inside classes are not supported");
    const bool negated = p->pattern.at[p->at + 1] == '^';
    const struct str name = str_slice(p->pattern, p->at + 1 + negated, end);
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
        if (str_eq(name, str_from(sets[i].name))) {
            p->at = end + 2;
            return add_set(p, class, sets[i].set, negated);
        }
    return regex_fail(p, ERR_SYNTAX, "a [:name:] that names no set");
}

/* Parses one end of a range or a single member. *out_is_set: it was a set, which has been added. */
static bool parse_member(struct regex_parser *p, struct regex_class *class, uint32_t *out_char,
                         bool *out_is_set)
{
    *out_is_set = false;
    const uint32_t c = regex_take(p);
    if (c == '[') {
        *out_is_set = true;
        return parse_named_set(p, class);
    }
    if (c == '&' && regex_peek(p) == '&')
        return regex_fail(p, ERR_REFUSED, "intersections of classes are not supported");
    *out_char = c;
    if (c != '\\')
        return true;
    switch (regex_peek(p)) {
    case 'd':
    case 'w':
    case 's':
    case 'h':
    case 'D':
    case 'W':
    case 'S':
    case 'H': *out_is_set = true; return regex_add_escape_set(p, class, regex_take(p));
    case 'b': *out_char = '\b'; return regex_take(p) != 0;
    default: return regex_take_escaped(p, out_char);
    }
}

/* True if a range follows: a dash that is not the last character of the class. */
static bool has_range(const struct regex_parser *p)
{
    return regex_peek(p) == '-' && p->at + 1 < p->pattern.len && p->pattern.at[p->at + 1] != ']';
}

static bool parse_item(struct regex_parser *p, struct regex_class *class)
{
    uint32_t low = 0;
    uint32_t high = 0;
    bool is_set = false;
    if (!parse_member(p, class, &low, &is_set))
        return false;
    if (is_set)
        return true;
    if (!has_range(p))
        return add_range(p, class, low, low);
    regex_take(p);
    if (!parse_member(p, class, &high, &is_set))
        return false;
    if (is_set)
        return regex_fail(p, ERR_SYNTAX, "a range that ends in a set");
    if (high < low)
        return regex_fail(p, ERR_SYNTAX, "a range that runs backwards");
    return add_range(p, class, low, high);
}

bool regex_parse_class(struct regex_parser *p, struct regex_class *class)
{
    class->negated = regex_peek(p) == '^';
    if (class->negated)
        regex_take(p);
    /* A leading ] is a member (POSIX); there is no empty class. */
    bool first = true;
    for (; first || regex_peek(p) != ']'; first = false) {
        if (p->at == p->pattern.len)
            return regex_fail(p, ERR_SYNTAX, "a class without its ]");
        if (!parse_item(p, class))
            return false;
    }
    regex_take(p);
    return true;
}
