/* The compiler: one pass over the pattern, straight into code.
 *
 * There is no tree. Every construct leaves its code at the end of the program, and since jumps are
 * relative a repeat moves or copies what its operand left. */
#include "base/regex/regex.h"

#include <string.h>

#include "base/regex/regex_private.h"

#define PATTERN_LEN_MAX (64u << 10)
#define DEPTH_MAX       100u   /* groups inside groups; bounds the recursion below */
#define REPEAT_MAX      20000u /* a larger count could not be unrolled anyway */
#define NO_UPPER        UINT32_MAX
#define NO_INDEX        UINT32_MAX

bool regex_fail(struct regex_parser *p, err e, const char *what)
{
    if (p->err == OK) {
        p->err = e;
        p->what = what;
    }
    return false;
}

static bool is_at_end(const struct regex_parser *p)
{
    return p->at == p->pattern.len;
}

uint32_t regex_peek(const struct regex_parser *p)
{
    uint32_t size;
    return is_at_end(p) ? 0 : regex_decode(p->pattern, p->at, &size);
}

uint32_t regex_take(struct regex_parser *p)
{
    uint32_t size = 0;
    const uint32_t c = is_at_end(p) ? 0 : regex_decode(p->pattern, p->at, &size);
    p->at += size;
    return c;
}

/* Code */

/* Room for `more` instructions behind the last. */
static bool regex_reserve(struct regex_parser *p, uint64_t more)
{
    struct regex *r = p->regex;
    const uint64_t needed = r->code_count + more;
    if (needed > REGEX_PROGRAM_MAX)
        return regex_fail(p, ERR_LIMIT,
                          "a pattern that is too large once its repeats are written out");
    if (needed <= p->code_cap)
        return true;
    uint32_t cap = p->code_cap ? p->code_cap : 32;
    while (cap < needed)
        cap *= 2;
    struct regex_inst *larger = arena_array(p->arena, struct regex_inst, cap);
    if (r->code_count > 0)
        memcpy(larger, r->code, r->code_count * sizeof(*larger));
    r->code = larger;
    p->code_cap = cap;
    return true;
}

static bool regex_emit(struct regex_parser *p, enum regex_op op, uint32_t arg)
{
    if (!regex_reserve(p, 1))
        return false;
    p->regex->code[p->regex->code_count++] = (struct regex_inst){.op = op, .arg = arg, .x = 1};
    return true;
}

static bool emit_char(struct regex_parser *p, uint32_t c)
{
    const uint32_t lower = c | 0x20;
    if (p->ignore_case && c < 128 && lower >= 'a' && lower <= 'z')
        return regex_emit(p, REGEX_LETTER, lower);
    return regex_emit(p, REGEX_CHAR, c);
}

/* A further class, empty; an instruction that uses it is emitted. */
static struct regex_class *emit_class(struct regex_parser *p)
{
    struct regex *r = p->regex;
    if (r->class_count == p->class_cap) {
        const uint32_t cap = p->class_cap ? p->class_cap * 2 : 4;
        struct regex_class *larger = arena_array(p->arena, struct regex_class, cap);
        if (r->class_count > 0)
            memcpy(larger, r->classes, r->class_count * sizeof(*larger));
        r->classes = larger;
        p->class_cap = cap;
    }
    if (!regex_emit(p, REGEX_CLASS, r->class_count))
        return NULL;
    return &r->classes[r->class_count++];
}

/* Makes a gap of one instruction at `start`; the room is reserved. */
static struct regex_inst *open_gap(struct regex *r, uint32_t start)
{
    memmove(&r->code[start + 1], &r->code[start], (r->code_count - start) * sizeof(*r->code));
    r->code_count++;
    r->code[start] = (struct regex_inst){.op = REGEX_SPLIT, .x = 1};
    return &r->code[start];
}

static void copy_to_end(struct regex *r, uint32_t from, uint32_t len)
{
    memcpy(&r->code[r->code_count], &r->code[from], len * sizeof(*r->code));
    r->code_count += len;
}

/* Repeats: the code from `start` to the end is the operand. */

static bool repeat_without_end(struct regex_parser *p, uint32_t start, uint32_t min)
{
    struct regex *r = p->regex;
    const uint32_t len = r->code_count - start;
    if (!regex_reserve(p, (uint64_t)len * (min ? min - 1 : 0) + 2))
        return false;
    for (uint32_t i = 1; i < min; i++)
        copy_to_end(r, start, len);
    if (min > 0) {
        const struct regex_inst back = {.op = REGEX_SPLIT, .x = -(int32_t)len, .y = 1};
        r->code[r->code_count++] = back;
        return true;
    }
    open_gap(r, start)->y = (int32_t)len + 2;
    r->code[r->code_count++] = (struct regex_inst){.op = REGEX_JUMP, .x = -(int32_t)(len + 1)};
    return true;
}

/* {2,4} becomes F F (F (F)?)?, where every way out leads to the common end. */
static bool repeat_up_to(struct regex_parser *p, uint32_t start, uint32_t min, uint32_t max)
{
    struct regex *r = p->regex;
    const uint32_t len = r->code_count - start;
    if (!regex_reserve(p, (uint64_t)len * (max - 1) + (max - min)))
        return false;
    uint32_t first_split = start;
    if (min == 0) {
        open_gap(r, start);
    } else {
        for (uint32_t i = 1; i < min; i++)
            copy_to_end(r, start, len);
        first_split = r->code_count;
    }
    const uint32_t operand = min == 0 ? start + 1 : start;
    for (uint32_t i = min == 0 ? 1 : min; i < max; i++) {
        r->code[r->code_count++] = (struct regex_inst){.op = REGEX_SPLIT, .x = 1};
        copy_to_end(r, operand, len);
    }
    for (uint32_t i = first_split; i < r->code_count; i += len + 1)
        r->code[i].y = (int32_t)(r->code_count - i);
    return true;
}

static bool regex_repeat(struct regex_parser *p, uint32_t start, uint32_t min, uint32_t max)
{
    if (p->regex->code_count == start)
        return true; /* nothing, however often */
    if (max == 0) {
        p->regex->code_count = start;
        return true;
    }
    return max == NO_UPPER ? repeat_without_end(p, start, min) : repeat_up_to(p, start, min, max);
}

/* Digits at *at; false if there are none. Larger than REPEAT_MAX stays just that much larger. */
static bool regex_read_count(struct str s, uint32_t *at, uint32_t *out_count)
{
    const uint32_t from = *at;
    uint32_t count = 0;
    for (; *at < s.len && char_is_digit(s.at[*at]); (*at)++)
        if (count <= REPEAT_MAX)
            count = count * 10 + (uint32_t)(s.at[*at] - '0');
    *out_count = count;
    return *at > from;
}

/* {m} {m,} {m,n} {,n} at the present place: takes it and returns true. Any other brace is an
 * ordinary character. */
static bool take_braces(struct regex_parser *p, uint32_t *out_min, uint32_t *out_max)
{
    const struct str s = p->pattern;
    uint32_t at = p->at + 1;
    uint32_t min = 0;
    uint32_t max = NO_UPPER;
    const bool has_min = regex_read_count(s, &at, &min);
    bool has_max = has_min;
    if (at < s.len && s.at[at] == ',') {
        at++;
        has_max = regex_read_count(s, &at, &max);
        if (!has_max)
            max = NO_UPPER;
    } else {
        max = min;
    }
    if ((!has_min && !has_max) || at >= s.len || s.at[at] != '}')
        return false;
    p->at = at + 1;
    *out_min = min;
    *out_max = max;
    return true;
}

/* One of * + ? {..} at the present place: takes it and returns true. */
static bool take_repeat(struct regex_parser *p, uint32_t *out_min, uint32_t *out_max)
{
    const uint32_t c = regex_peek(p);
    if (c == '{')
        return take_braces(p, out_min, out_max);
    if (c != '*' && c != '+' && c != '?')
        return false;
    regex_take(p);
    *out_min = c == '+';
    *out_max = c == '?' ? 1 : NO_UPPER;
    return true;
}

static bool parse_repeats(struct regex_parser *p, uint32_t start)
{
    uint32_t min;
    uint32_t max;
    while (take_repeat(p, &min, &max)) {
        if (regex_peek(p) == '+')
            return regex_fail(p, ERR_REFUSED, "possessive repeats are not supported");
        if (regex_peek(p) == '?')
            regex_take(p); /* lazy or greedy finds the same texts */
        if (min > REPEAT_MAX || (max > REPEAT_MAX && max != NO_UPPER))
            return regex_fail(p, ERR_LIMIT, "a repeat count that is too large");
        if (max < min)
            return regex_fail(p, ERR_SYNTAX, "a repeat whose upper bound is below its lower");
        if (!regex_repeat(p, start, min, max))
            return false;
    }
    return true;
}

/* Atoms */

static int regex_hex_value(uint32_t c)
{
    if (c >= '0' && c <= '9')
        return (int)c - '0';
    const uint32_t lower = c | 0x20;
    return lower >= 'a' && lower <= 'f' ? (int)lower - 'a' + 10 : -1;
}

/* One or two digits behind \x. */
static bool take_hex(struct regex_parser *p, uint32_t *out_char)
{
    int value = regex_hex_value(regex_peek(p));
    if (value < 0)
        return regex_fail(p, ERR_SYNTAX, "a \\x without hexadecimal digits");
    regex_take(p);
    const int low = regex_hex_value(regex_peek(p));
    if (low >= 0) {
        regex_take(p);
        value = value * 16 + low;
    }
    *out_char = (uint32_t)value;
    return true;
}

static const char *refused_escape(uint32_t c)
{
    switch (c) {
    case 'p':
    case 'P': return "\\p classes are not supported";
    case 'G': return "\\G is not supported";
    case 'k':
    case 'g': return "back references are not supported";
    default: break;
    }
    if (c >= '0' && c <= '9')
        return "back references and octal escapes are not supported";
    return "an escape that is not supported";
}

bool regex_take_escaped(struct regex_parser *p, uint32_t *out_char)
{
    if (is_at_end(p))
        return regex_fail(p, ERR_SYNTAX, "a lone \\ at the end");
    const uint32_t c = regex_take(p);
    switch (c) {
    case 'n': *out_char = '\n'; return true;
    case 't': *out_char = '\t'; return true;
    case 'r': *out_char = '\r'; return true;
    case 'f': *out_char = '\f'; return true;
    case 'v': *out_char = '\v'; return true;
    case 'a': *out_char = '\a'; return true;
    case 'e': *out_char = 0x1b; return true;
    case 'x': return take_hex(p, out_char);
    default: break;
    }
    if (c != '_' && regex_is_word(c))
        return regex_fail(p, ERR_REFUSED, refused_escape(c));
    *out_char = c;
    return true;
}

static bool parse_escape(struct regex_parser *p)
{
    struct regex_class *class;
    uint32_t c;
    switch (regex_peek(p)) {
    case 'A': regex_take(p); return regex_emit(p, REGEX_ASSERT, REGEX_TEXT_START);
    case 'z': regex_take(p); return regex_emit(p, REGEX_ASSERT, REGEX_TEXT_END);
    case 'Z': regex_take(p); return regex_emit(p, REGEX_ASSERT, REGEX_TEXT_LAST);
    case 'b': regex_take(p); return regex_emit(p, REGEX_ASSERT, REGEX_WORD_EDGE);
    case 'B': regex_take(p); return regex_emit(p, REGEX_ASSERT, REGEX_NO_WORD_EDGE);
    case 'd':
    case 'w':
    case 's':
    case 'h':
    case 'D':
    case 'W':
    case 'S':
    case 'H': class = emit_class(p); return class && regex_add_escape_set(p, class, regex_take(p));
    default: return regex_take_escaped(p, &c) && emit_char(p, c);
    }
}

static bool parse_alternatives(struct regex_parser *p);

/* What "(?" begins, when it is not the plain group "(?:". */
static bool refuse_group(struct regex_parser *p)
{
    const uint32_t kind = regex_take(p);
    const uint32_t behind = regex_peek(p);
    switch (kind) {
    case 0: return regex_fail(p, ERR_SYNTAX, "a group without its )");
    case '=':
    case '!': return regex_fail(p, ERR_REFUSED, "look-ahead is not supported");
    case '>': return regex_fail(p, ERR_REFUSED, "atomic groups are not supported");
    case '<':
        if (behind == '=' || behind == '!')
            return regex_fail(p, ERR_REFUSED, "look-behind is not supported");
        return regex_fail(p, ERR_REFUSED, "named groups are not supported");
    default: return regex_fail(p, ERR_REFUSED, "flags inside a pattern are not supported");
    }
}

/* The '(' is taken. Recursion ends at DEPTH_MAX groups. */
static bool parse_group(struct regex_parser *p)
{
    if (regex_peek(p) == '?') {
        regex_take(p);
        if (regex_peek(p) != ':')
            return refuse_group(p);
        regex_take(p);
    }
    if (p->depth == DEPTH_MAX)
        return regex_fail(p, ERR_LIMIT, "groups nested too deep");
    p->depth++;
    if (!parse_alternatives(p))
        return false;
    p->depth--;
    if (regex_peek(p) != ')')
        return regex_fail(p, ERR_SYNTAX, "a group without its )");
    regex_take(p);
    return true;
}

static bool parse_atom(struct regex_parser *p)
{
    uint32_t min;
    uint32_t max;
    if (take_repeat(p, &min, &max))
        return regex_fail(p, ERR_SYNTAX, "a repeat with nothing to repeat");
    struct regex_class *class;
    const uint32_t c = regex_take(p);
    switch (c) {
    case '(': return parse_group(p);
    case '[': class = emit_class(p); return class && regex_parse_class(p, class);
    case '.': return regex_emit(p, REGEX_ANY, 0);
    case '^': return regex_emit(p, REGEX_ASSERT, REGEX_LINE_START);
    case '$': return regex_emit(p, REGEX_ASSERT, REGEX_LINE_END);
    case '\\': return parse_escape(p);
    default: return emit_char(p, c);
    }
}

/* Atoms with their repeats, up to a | or ) or the end. */
static bool parse_branch(struct regex_parser *p)
{
    while (!is_at_end(p) && regex_peek(p) != '|' && regex_peek(p) != ')') {
        const uint32_t start = p->regex->code_count;
        if (!parse_atom(p) || !parse_repeats(p, start))
            return false;
    }
    return true;
}

/* Branches with | between them. Each begins with a SPLIT to the next one and ends with a JUMP
 * behind the last; the last has neither. Until the end is known the jumps form a list, each
 * holding the index of the one before. */
static bool parse_alternatives(struct regex_parser *p)
{
    struct regex *r = p->regex;
    uint32_t branch;
    uint32_t jump = NO_INDEX;
    for (;;) {
        branch = r->code_count;
        if (!regex_emit(p, REGEX_SPLIT, 0) || !parse_branch(p))
            return false;
        if (regex_peek(p) != '|')
            break;
        regex_take(p);
        if (!regex_emit(p, REGEX_JUMP, jump))
            return false;
        jump = r->code_count - 1;
        r->code[branch].y = (int32_t)(r->code_count - branch);
    }
    memmove(&r->code[branch], &r->code[branch + 1],
            (r->code_count - branch - 1) * sizeof(*r->code));
    r->code_count--;
    while (jump != NO_INDEX) {
        r->code[jump].x = (int32_t)(r->code_count - jump);
        jump = r->code[jump].arg;
    }
    return true;
}

static bool parse_pattern(struct regex_parser *p)
{
    if (p->pattern.len > PATTERN_LEN_MAX)
        return regex_fail(p, ERR_LIMIT, "a pattern that is too long");
    if (!str_is_clean(p->pattern))
        return regex_fail(p, ERR_SYNTAX, "a pattern that is not UTF-8 text");
    if (str_starts(p->pattern, STR("(?i)"))) {
        p->ignore_case = true;
        p->at = 4;
    }
    if (!parse_alternatives(p))
        return false;
    if (!is_at_end(p))
        return regex_fail(p, ERR_SYNTAX, "a ) without its (");
    return regex_emit(p, REGEX_MATCH, 0);
}

err regex_compile(struct arena *a, struct str pattern, bool ignore_case, struct regex **out_regex,
                  const char **out_what)
{
    struct regex *r = arena_new(a, struct regex);
    struct regex_parser p = {
        .arena = a,
        .pattern = pattern,
        .ignore_case = ignore_case,
        .regex = r,
    };
    if (!parse_pattern(&p)) {
        *out_what = p.what;
        return p.err;
    }
    r->from_start = r->code[0].op == REGEX_ASSERT && r->code[0].arg == REGEX_TEXT_START;
    *out_regex = r;
    return OK;
}
