/* conduit.c - parsing and comparing conduits. Stateless. Members are compared by value, not by
 * text, so "1g0" and "1g00" are the same interface. */
#include "model/conduit.h"

enum {
    SPEED_DIGITS_MAX = 3,
    INDEX_DIGITS_MAX = 3,
    V6_GROUPS = 4,
    V6_GROUP_DIGITS_MAX = 4,
    SHOWN_LEN_MAX = 32
};

static const char NOT_MEMBERS[] =
    "must be a comma-separated list of interfaces like 1g0, +10g1, ?100m0 or bmc";

/* The digits at *at, at least one and at most `most`; *at is moved behind them. */
static bool conduit_parse_number(struct str s, uint32_t *at, uint32_t most, uint32_t *out_number)
{
    uint32_t number = 0, digits = 0;
    for (; *at < s.len && char_is_digit(s.at[*at]) && digits <= most; (*at)++, digits++)
        number = number * 10 + (uint32_t)(s.at[*at] - '0');
    *out_number = number;
    return digits >= 1 && digits <= most;
}

static bool conduit_parse_member(struct str s, struct conduit_member *out)
{
    uint32_t at = 0, speed, index;
    char sign = 0;
    if (str_eq(s, STR("bmc"))) {
        *out = (struct conduit_member){.is_bmc = true};
        return true;
    }
    if (s.len && (s.at[0] == '+' || s.at[0] == '-' || s.at[0] == '?'))
        sign = s.at[at++];
    if (!conduit_parse_number(s, &at, SPEED_DIGITS_MAX, &speed) || speed == 0)
        return false;
    if (at == s.len || (s.at[at] != 'm' && s.at[at] != 'g'))
        return false;
    const char unit = s.at[at++];
    if (!conduit_parse_number(s, &at, INDEX_DIGITS_MAX, &index) || at != s.len)
        return false;
    *out = (struct conduit_member){
        .sign = sign, .unit = unit, .speed = (uint16_t)speed, .index = index};
    return true;
}

static struct str conduit_trim(struct str s)
{
    while (s.len && s.at[0] == ' ')
        s = str_slice(s, 1, s.len);
    while (s.len && s.at[s.len - 1] == ' ')
        s = str_slice(s, 0, s.len - 1);
    return s;
}

static bool conduit_member_eq(const struct conduit_member *a, const struct conduit_member *b)
{
    return a->is_bmc == b->is_bmc && a->sign == b->sign && a->unit == b->unit &&
           a->speed == b->speed && a->index == b->index;
}

static bool conduit_has(const struct conduit *conduit, const struct conduit_member *member)
{
    for (uint32_t i = 0; i < conduit->count; i++)
        if (conduit_member_eq(&conduit->members[i], member))
            return true;
    return false;
}

const char *conduit_parse(struct str text, struct conduit *out_conduit)
{
    struct conduit conduit = {.count = 0};
    for (uint32_t from = 0; from <= text.len;) {
        const uint32_t to = str_find(text, ',', from);
        struct conduit_member member;
        if (!conduit_parse_member(conduit_trim(str_slice(text, from, to)), &member))
            return NOT_MEMBERS;
        from = to + 1;
        if (conduit.count == CONDUIT_MEMBERS_MAX)
            return "must have at most 8 interfaces";
        if (conduit_has(&conduit, &member))
            return "must not name an interface twice";
        const struct conduit_member *first = &conduit.members[0];
        if (conduit.count && (member.is_bmc != first->is_bmc || member.sign != first->sign ||
                              member.speed != first->speed || member.unit != first->unit))
            return "must have interfaces of one speed and one sign";
        conduit.members[conduit.count++] = member;
    }
    *out_conduit = conduit;
    return NULL;
}

struct str conduit_wrong_members(struct arena *a, struct str text)
{
    struct str wrong = STR("");
    uint32_t count = 0;
    for (uint32_t from = 0; from <= text.len && count < CONDUIT_MEMBERS_MAX;) {
        const uint32_t to = str_find(text, ',', from);
        const struct str name = conduit_trim(str_slice(text, from, to));
        struct conduit_member member;
        from = to + 1;
        if (conduit_parse_member(name, &member))
            continue;
        const struct str shown = name.len ? str_clip(name, SHOWN_LEN_MAX) : STR("(empty)");
        wrong = STR_CONCAT(a, wrong, count++ ? STR(", ") : STR(""), shown);
    }
    return wrong;
}

struct str conduit_format(struct arena *a, const struct conduit *conduit)
{
    struct str text = STR("");
    for (uint32_t i = 0; i < conduit->count; i++) {
        const struct conduit_member *m = &conduit->members[i];
        const struct str comma = i ? STR(",") : STR("");
        text = m->is_bmc ? STR_CONCAT(a, text, comma, STR("bmc"))
                         : STR_CONCAT(a, text, comma, (struct str){&m->sign, m->sign ? 1 : 0},
                                      str_from_i64(a, m->speed), (struct str){&m->unit, 1},
                                      str_from_i64(a, m->index));
    }
    return text;
}

/* Members are distinct, so equal counts and inclusion mean equality. */
bool conduit_eq(const struct conduit *a, const struct conduit *b)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (!conduit_has(b, &a->members[i]))
            return false;
    return a->count == b->count;
}

bool conduit_is_disjoint(const struct conduit *a, const struct conduit *b)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (conduit_has(b, &a->members[i]))
            return false;
    return true;
}

const char *v6prefix_check(struct str text)
{
    uint32_t groups = 1, digits = 0;
    for (uint32_t i = 0; i < text.len; i++) {
        const char ch = text.at[i];
        if (char_is_digit(ch) || (ch >= 'a' && ch <= 'f'))
            digits++;
        else if (ch == ':' && digits)
            groups++, digits = 0;
        else
            digits = V6_GROUP_DIGITS_MAX + 1;
        if (digits > V6_GROUP_DIGITS_MAX || groups > V6_GROUPS)
            break;
    }
    if (groups != V6_GROUPS || digits == 0 || digits > V6_GROUP_DIGITS_MAX)
        return "must be auto or four groups of 1 to 4 lower-case hexadecimal digits, like "
               "fd12:3456:789a:1";
    return NULL;
}
