/* Simulation of the NFA (Thompson): reads the text once and keeps the set of instructions that
 * could be active.
 *
 * The result is only whether there is a match, not where, so threads carry no data and their
 * order does not matter. Each instruction enters the set at most once per character, which
 * bounds the work by the length of the program times the length of the text, for every pattern.
 *
 * Order at each position: first the instructions that are reachable without a character are
 * followed, because assertions depend on the characters on both sides of the position; then the
 * next character is compared. The state is in `scratch` and is freed before the function returns.
 * There is no error result. */
#include "base/regex/regex.h"

#include <string.h>

#include "base/regex/regex_private.h"

#define NOTHING UINT32_MAX /* before the first character and after the last */

struct machine {
    const struct regex *regex;
    struct str text;
    uint32_t at;     /* offset of the character `after` */
    uint32_t before; /* the characters on both sides of the present position */
    uint32_t after;
    uint32_t round;  /* one for each position, from 1 */
    uint32_t *seen;  /* per instruction: the round that reached it last */
    uint32_t *stack; /* instructions reached and not yet executed */
    uint32_t *wait;  /* instructions that wait for a character */
    uint32_t wait_count;
    bool matched;
};

uint32_t regex_decode(struct str s, uint32_t at, uint32_t *out_size)
{
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    must(at < s.len);
    const unsigned char first = (unsigned char)s.at[at];
    *out_size = 1;
    if (first < 0x80)
        return first;
    const uint32_t size = first >= 0xf8 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    uint32_t c = first & (0xffu >> (size + 1));
    if (first < 0xc0 || size == 1 || size > s.len - at)
        return 0xdc00u + first;
    for (uint32_t i = 1; i < size; i++) {
        const unsigned char more = (unsigned char)s.at[at + i];
        if ((more & 0xc0) != 0x80)
            return 0xdc00u + first;
        c = c << 6 | (more & 0x3fu);
    }
    if (c < smallest[size])
        return 0xdc00u + first;
    *out_size = size;
    return c;
}

static bool class_has(const struct regex_class *class, uint32_t c)
{
    bool has = false;
    if (c < 128)
        has = class->ascii[c / 64] >> (c % 64) & 1;
    else
        for (uint32_t i = 0; i < class->range_count && !has; i++)
            has = c >= class->ranges[i].low && c <= class->ranges[i].high;
    return has != class->negated;
}

static bool machine_assertion_holds(const struct machine *m, enum regex_assert what)
{
    const bool word_edge = (m->before != NOTHING && regex_is_word(m->before)) !=
                           (m->after != NOTHING && regex_is_word(m->after));
    switch (what) {
    case REGEX_LINE_START:
        /* A newline that ends the text begins no further line. */
        return m->before == NOTHING || (m->before == '\n' && m->after != NOTHING);
    case REGEX_LINE_END: return m->after == NOTHING || m->after == '\n';
    case REGEX_TEXT_START: return m->before == NOTHING;
    case REGEX_TEXT_END: return m->after == NOTHING;
    case REGEX_TEXT_LAST:
        return m->after == NOTHING || (m->after == '\n' && m->at + 1 == m->text.len);
    case REGEX_WORD_EDGE: return word_edge;
    case REGEX_NO_WORD_EDGE: return !word_edge;
    }
    impossible("an assertion outside the enum");
}

static void machine_reach(struct machine *m, uint32_t pc, uint32_t *depth)
{
    if (m->seen[pc] == m->round)
        return;
    m->seen[pc] = m->round;
    m->stack[(*depth)++] = pc;
}

/* Follows every instruction that is reachable from `pc` without a character. An instruction is put
 * on the stack at most once per round, so the stack is never larger than the program. */
static void machine_follow(struct machine *m, uint32_t pc)
{
    uint32_t depth = 0;
    machine_reach(m, pc, &depth);
    while (depth > 0) {
        const uint32_t now = m->stack[--depth];
        const struct regex_inst *i = &m->regex->code[now];
        switch (i->op) {
        case REGEX_CHAR:
        case REGEX_LETTER:
        case REGEX_ANY:
        case REGEX_CLASS: m->wait[m->wait_count++] = now; break;
        case REGEX_ASSERT:
            if (machine_assertion_holds(m, (enum regex_assert)i->arg))
                machine_reach(m, now + 1, &depth);
            break;
        case REGEX_JUMP: machine_reach(m, (uint32_t)((int32_t)now + i->x), &depth); break;
        case REGEX_SPLIT:
            machine_reach(m, (uint32_t)((int32_t)now + i->x), &depth);
            machine_reach(m, (uint32_t)((int32_t)now + i->y), &depth);
            break;
        case REGEX_MATCH: m->matched = true; break;
        }
    }
}

static bool regex_inst_accepts(const struct regex *r, const struct regex_inst *i, uint32_t c)
{
    switch (i->op) {
    case REGEX_CHAR: return c == i->arg;
    case REGEX_LETTER: return (c | 0x20) == i->arg;
    case REGEX_ANY: return c != '\n';
    case REGEX_CLASS: return class_has(&r->classes[i->arg], c);
    case REGEX_ASSERT:
    case REGEX_JUMP:
    case REGEX_SPLIT:
    case REGEX_MATCH: break;
    }
    impossible("an instruction that waits for no character");
}

/* Decodes the character at `at` into `after`; returns its size in bytes, 0 at the end. */
static uint32_t machine_decode(struct machine *m)
{
    uint32_t size = 0;
    m->after = m->at < m->text.len ? regex_decode(m->text, m->at, &size) : NOTHING;
    return size;
}

static bool machine_run(struct machine *m, uint32_t *next)
{
    uint32_t next_count = 0;
    m->before = NOTHING;
    uint32_t size = machine_decode(m);
    for (;;) {
        m->round++;
        m->wait_count = 0;
        for (uint32_t i = 0; i < next_count; i++)
            machine_follow(m, next[i]);
        if (m->at == 0 || !m->regex->from_start)
            machine_follow(m, 0);
        if (m->matched)
            return true;
        if (size == 0 || (m->regex->from_start && m->wait_count == 0))
            return false;

        next_count = 0;
        for (uint32_t i = 0; i < m->wait_count; i++)
            if (regex_inst_accepts(m->regex, &m->regex->code[m->wait[i]], m->after))
                next[next_count++] = m->wait[i] + 1;
        m->before = m->after;
        m->at += size;
        size = machine_decode(m);
    }
}

bool regex_search(const struct regex *r, struct str text, struct arena *scratch)
{
    must(text.len < UINT32_MAX - 1); /* rounds are counted in 32 bits */
    const struct arena_mark mark = arena_mark(scratch);
    struct machine m = {
        .regex = r,
        .text = text,
        .seen = arena_array(scratch, uint32_t, r->code_count),
        .stack = arena_array(scratch, uint32_t, r->code_count),
        .wait = arena_array(scratch, uint32_t, r->code_count),
    };
    const bool found = machine_run(&m, arena_array(scratch, uint32_t, r->code_count));
    arena_rewind(scratch, mark);
    return found;
}
