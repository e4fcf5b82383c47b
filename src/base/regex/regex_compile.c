/* Compiler of regular expressions: one recursive-descent pass over the pattern, which emits the
 * program of the matcher (regex_run.c) directly. It owns the program while it grows.
 *
 * There is no syntax tree. The code of every construct is appended to the program, and a repeat
 * moves or copies the code of its operand, which is the code from `start` to the end. This works
 * because jumps are relative to the instruction that contains them, and no jump leads into or out
 * of an operand except over its end.
 *
 * Orders that matter:
 * - regex_reserve() before code is copied, moved or written at the end. It may move the array, so
 *   no pointer to an instruction may be kept across a call that emits.
 * - The size of an unrolled repeat is checked before it is written, so that a short pattern such as
 *   ((a{1000}){1000}){1000} cannot use much memory.
 * - The jumps of alternatives are set when the last branch has ended, before a repeat can copy
 *   them.
 *
 * Failure: regex_fail() records the first error and returns false, and every function returns false
 * to its caller. regex_compile() then returns the error with a text and no program; the partial
 * program remains in the arena until that is freed. */
#include "base/regex/regex.h"

#include <string.h>

#include "base/regex/regex_private.h"

#define PATTERN_LEN_MAX (64u << 10) /* bytes */
#define DEPTH_MAX       100u        /* nested groups; bounds the recursion of the parser */
#define REPEAT_MAX      20000u     /* a larger count would exceed REGEX_PROGRAM_MAX when unrolled */
#define NO_UPPER        UINT32_MAX /* a repeat without an upper bound */
#define NO_INDEX        UINT32_MAX /* end of a list of instructions */

bool regex_fail(struct regex_parser *p, err e, const char *what)
{
    if (p->err == OK) {
        p->err = e;
        p->what = what;
    }
    return false;
}

static bool regex_is_at_end(const struct regex_parser *p)
{
    return p->at == p->pattern.len;
}

uint32_t regex_peek(const struct regex_parser *p)
{
    uint32_t size;
    return regex_is_at_end(p) ? 0 : regex_decode(p->pattern, p->at, &size);
}

uint32_t regex_take(struct regex_parser *p)
{
    uint32_t size = 0;
    const uint32_t c = regex_is_at_end(p) ? 0 : regex_decode(p->pattern, p->at, &size);
    p->at += size;
    return c;
}

/* ---- code ---- */

/* Makes space for `more` instructions at the end of the program. */
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

/* Appends an instruction. x is 1, the next instruction, which is right for the first target of a
 * SPLIT; other jumps set it later. */
static bool regex_emit(struct regex_parser *p, enum regex_op op, uint32_t arg)
{
    if (!regex_reserve(p, 1))
        return false;
    p->regex->code[p->regex->code_count++] = (struct regex_inst){.op = op, .arg = arg, .x = 1};
    return true;
}

static bool regex_emit_char(struct regex_parser *p, uint32_t c)
{
    const uint32_t lower = c | 0x20;
    if (p->ignore_case && c < 128 && lower >= 'a' && lower <= 'z')
        return regex_emit(p, REGEX_LETTER, lower);
    return regex_emit(p, REGEX_CHAR, c);
}

/* Adds an empty character class and emits the instruction that uses it. The pointer is valid until
 * the next class is added. NULL: the program is too large. */
static struct regex_class *regex_emit_class(struct regex_parser *p)
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

/* Inserts a SPLIT at `start`, before the operand. Precondition: the space is reserved. */
static struct regex_inst *regex_insert_split(struct regex *r, uint32_t start)
{
    memmove(&r->code[start + 1], &r->code[start], (r->code_count - start) * sizeof(*r->code));
    r->code_count++;
    r->code[start] = (struct regex_inst){.op = REGEX_SPLIT, .x = 1};
    return &r->code[start];
}

/* Precondition: the space is reserved. */
static void regex_append_copy(struct regex *r, uint32_t from, uint32_t len)
{
    memcpy(&r->code[r->code_count], &r->code[from], len * sizeof(*r->code));
    r->code_count += len;
}

/* ---- repeats: the code from `start` to the end is the operand ---- */

/* F{3,} becomes F F F SPLIT(back to the last F, next); F* becomes SPLIT(next, end) F JUMP(back to
 * the SPLIT). */
static bool regex_repeat_unbounded(struct regex_parser *p, uint32_t start, uint32_t min)
{
    struct regex *r = p->regex;
    const uint32_t len = r->code_count - start;
    if (!regex_reserve(p, (uint64_t)len * (min ? min - 1 : 0) + 2))
        return false;
    for (uint32_t i = 1; i < min; i++)
        regex_append_copy(r, start, len);
    if (min > 0) {
        const struct regex_inst back = {.op = REGEX_SPLIT, .x = -(int32_t)len, .y = 1};
        r->code[r->code_count++] = back;
        return true;
    }
    regex_insert_split(r, start)->y = (int32_t)len + 2;
    r->code[r->code_count++] = (struct regex_inst){.op = REGEX_JUMP, .x = -(int32_t)(len + 1)};
    return true;
}

/* F{2,4} becomes F F (F (F)?)?. Each optional copy is preceded by a SPLIT to it and to the common
 * end of all copies. The ends are set last, when the end is known: the SPLITs are len + 1
 * instructions apart. */
static bool regex_repeat_bounded(struct regex_parser *p, uint32_t start, uint32_t min, uint32_t max)
{
    struct regex *r = p->regex;
    const uint32_t len = r->code_count - start;
    if (!regex_reserve(p, (uint64_t)len * (max - 1) + (max - min)))
        return false;
    uint32_t first_split = start;
    if (min == 0) {
        regex_insert_split(r, start);
    } else {
        for (uint32_t i = 1; i < min; i++)
            regex_append_copy(r, start, len);
        first_split = r->code_count;
    }
    const uint32_t operand = min == 0 ? start + 1 : start;
    for (uint32_t i = min == 0 ? 1 : min; i < max; i++) {
        r->code[r->code_count++] = (struct regex_inst){.op = REGEX_SPLIT, .x = 1};
        regex_append_copy(r, operand, len);
    }
    for (uint32_t i = first_split; i < r->code_count; i += len + 1)
        r->code[i].y = (int32_t)(r->code_count - i);
    return true;
}

/* Repeats the operand `min` to `max` times. An empty operand remains empty. */
static bool regex_repeat(struct regex_parser *p, uint32_t start, uint32_t min, uint32_t max)
{
    if (p->regex->code_count == start)
        return true;
    if (max == 0) {
        p->regex->code_count = start;
        return true;
    }
    return max == NO_UPPER ? regex_repeat_unbounded(p, start, min)
                           : regex_repeat_bounded(p, start, min, max);
}

/* Reads digits at *at; false if there are none. A number above REPEAT_MAX is not read exactly, but
 * the result is above REPEAT_MAX as well and does not overflow. */
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

/* Consumes {m} {m,} {m,n} or {,n} at the current position. False: the brace begins none of them and
 * is an ordinary character; nothing is consumed. */
static bool regex_take_braces(struct regex_parser *p, uint32_t *out_min, uint32_t *out_max)
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

/* Consumes * + ? or {..} at the current position; false if there is none. */
static bool regex_take_repeat(struct regex_parser *p, uint32_t *out_min, uint32_t *out_max)
{
    const uint32_t c = regex_peek(p);
    if (c == '{')
        return regex_take_braces(p, out_min, out_max);
    if (c != '*' && c != '+' && c != '?')
        return false;
    regex_take(p);
    *out_min = c == '+';
    *out_max = c == '?' ? 1 : NO_UPPER;
    return true;
}

/* Applies all repeats that follow an atom, each to the result of the one before: a{2}{3}. */
static bool regex_parse_repeats(struct regex_parser *p, uint32_t start)
{
    uint32_t min;
    uint32_t max;
    while (regex_take_repeat(p, &min, &max)) {
        if (regex_peek(p) == '+')
            return regex_fail(p, ERR_REFUSED, "possessive repeats are not supported");
        if (regex_peek(p) == '?')
            regex_take(p); /* lazy: the search only tests for a match, so it is the same */
        if (min > REPEAT_MAX || (max > REPEAT_MAX && max != NO_UPPER))
            return regex_fail(p, ERR_LIMIT, "a repeat count that is too large");
        if (max < min)
            return regex_fail(p, ERR_SYNTAX, "a repeat whose upper bound is below its lower");
        if (!regex_repeat(p, start, min, max))
            return false;
    }
    return true;
}

/* ---- atoms ---- */

static int regex_hex_value(uint32_t c)
{
    if (c >= '0' && c <= '9')
        return (int)c - '0';
    const uint32_t lower = c | 0x20;
    return lower >= 'a' && lower <= 'f' ? (int)lower - 'a' + 10 : -1;
}

/* One or two digits after \x. */
static bool regex_take_hex(struct regex_parser *p, uint32_t *out_char)
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

/* The error text for a letter or digit that has no meaning after a backslash. */
static const char *regex_unsupported_escape(uint32_t c)
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
    if (regex_is_at_end(p))
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
    case 'x': return regex_take_hex(p, out_char);
    default: break;
    }
    if (c != '_' && regex_is_word(c))
        return regex_fail(p, ERR_REFUSED, regex_unsupported_escape(c));
    *out_char = c;
    return true;
}

/* The backslash is consumed. An escape is an assertion, a set of characters, or one character. */
static bool regex_parse_escape(struct regex_parser *p)
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
    case 'H':
        class = regex_emit_class(p);
        return class && regex_add_escape_set(p, class, regex_take(p));
    default: return regex_take_escaped(p, &c) && regex_emit_char(p, c);
    }
}

static bool regex_parse_alternatives(struct regex_parser *p);

/* Fails with the name of the construct that "(?" begins, if it is not the group "(?:". */
static bool regex_refuse_group(struct regex_parser *p)
{
    const uint32_t kind = regex_take(p);
    const uint32_t next = regex_peek(p);
    switch (kind) {
    case 0: return regex_fail(p, ERR_SYNTAX, "a group without its )");
    case '=':
    case '!': return regex_fail(p, ERR_REFUSED, "look-ahead is not supported");
    case '>': return regex_fail(p, ERR_REFUSED, "atomic groups are not supported");
    case '<':
        if (next == '=' || next == '!')
            return regex_fail(p, ERR_REFUSED, "look-behind is not supported");
        return regex_fail(p, ERR_REFUSED, "named groups are not supported");
    default: return regex_fail(p, ERR_REFUSED, "flags inside a pattern are not supported");
    }
}

/* The '(' is consumed. At most DEPTH_MAX groups may be nested. */
static bool regex_parse_group(struct regex_parser *p)
{
    if (regex_peek(p) == '?') {
        regex_take(p);
        if (regex_peek(p) != ':')
            return regex_refuse_group(p);
        regex_take(p);
    }
    if (p->depth == DEPTH_MAX)
        return regex_fail(p, ERR_LIMIT, "groups nested too deep");
    p->depth++;
    if (!regex_parse_alternatives(p))
        return false;
    p->depth--;
    if (regex_peek(p) != ')')
        return regex_fail(p, ERR_SYNTAX, "a group without its )");
    regex_take(p);
    return true;
}

/* One character, class, assertion or group, without its repeats. */
static bool regex_parse_atom(struct regex_parser *p)
{
    uint32_t min;
    uint32_t max;
    if (regex_take_repeat(p, &min, &max))
        return regex_fail(p, ERR_SYNTAX, "a repeat with nothing to repeat");
    struct regex_class *class;
    const uint32_t c = regex_take(p);
    switch (c) {
    case '(': return regex_parse_group(p);
    case '[': class = regex_emit_class(p); return class && regex_parse_class(p, class);
    case '.': return regex_emit(p, REGEX_ANY, 0);
    case '^': return regex_emit(p, REGEX_ASSERT, REGEX_LINE_START);
    case '$': return regex_emit(p, REGEX_ASSERT, REGEX_LINE_END);
    case '\\': return regex_parse_escape(p);
    default: return regex_emit_char(p, c);
    }
}

/* Atoms with their repeats, up to a | or ) or the end. */
static bool regex_parse_branch(struct regex_parser *p)
{
    while (!regex_is_at_end(p) && regex_peek(p) != '|' && regex_peek(p) != ')') {
        const uint32_t start = p->regex->code_count;
        if (!regex_parse_atom(p) || !regex_parse_repeats(p, start))
            return false;
    }
    return true;
}

/* Branches with | between them. Each branch begins with a SPLIT to itself and to the next branch,
 * and ends with a JUMP to the end of the last one; the last branch has neither. Whether a branch is
 * the last one is known only at its end, so its SPLIT is emitted and then removed. Until the end is
 * known the jumps form a list: `arg` of each is the index of the one before. */
static bool regex_parse_alternatives(struct regex_parser *p)
{
    struct regex *r = p->regex;
    uint32_t branch;
    uint32_t jump = NO_INDEX;
    for (;;) {
        branch = r->code_count;
        if (!regex_emit(p, REGEX_SPLIT, 0) || !regex_parse_branch(p))
            return false;
        if (regex_peek(p) != '|')
            break;
        regex_take(p);
        if (!regex_emit(p, REGEX_JUMP, jump))
            return false;
        jump = r->code_count - 1;
        r->code[branch].y = (int32_t)(r->code_count - branch);
    }
    /* Remove the SPLIT of the last branch. Jumps inside of the branch are relative and move with
     * it; the SPLIT of the branch before now leads to its first instruction. */
    memmove(&r->code[branch], &r->code[branch + 1],
            (r->code_count - branch - 1) * sizeof(*r->code));
    r->code_count--;
    while (jump != NO_INDEX) {
        r->code[jump].x = (int32_t)(r->code_count - jump);
        jump = r->code[jump].arg;
    }
    return true;
}

/* The whole pattern, followed by MATCH. The pattern is checked for valid UTF-8 without U+0000
 * first, because regex_peek() returns 0 at the end. */
static bool regex_parse_pattern(struct regex_parser *p)
{
    if (p->pattern.len > PATTERN_LEN_MAX)
        return regex_fail(p, ERR_LIMIT, "a pattern that is too long");
    if (!str_is_clean(p->pattern))
        return regex_fail(p, ERR_SYNTAX, "a pattern that is not UTF-8 text");
    if (str_starts(p->pattern, STR("(?i)"))) {
        p->ignore_case = true;
        p->at = 4;
    }
    if (!regex_parse_alternatives(p))
        return false;
    if (!regex_is_at_end(p))
        return regex_fail(p, ERR_SYNTAX, "a ) without its (");
    return regex_emit(p, REGEX_MATCH, 0);
}

/* After an error *out_regex is unchanged. */
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
    if (!regex_parse_pattern(&p)) {
        *out_what = p.what;
        return p.err;
    }
    r->from_start = r->code[0].op == REGEX_ASSERT && r->code[0].arg == REGEX_TEXT_START;
    *out_regex = r;
    return OK;
}
