/* Goal: the check of schemas and the validation of values agree with an oracle, a second and
 * simpler implementation below. Violations are bounded, printable and reproducible, whatever the
 * notation of rule and value. A rule with a fault accepts no value.
 * Method: the first line of an input is the rule and the rest is the value, both as JSON. After a
 * leading '!' every byte is instead a choice of a generator, which makes rules and values that
 * nearly match, so that deep branches are reached. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json/json.h"
#include "base/regex/regex.h"
#include "model/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    INPUT_SIZE_MAX = 1 << 16,
    ARENA_SIZE_MAX = 96 << 20, /* bytes for one input: a dozen times the limit of a rule */
    PATH_LEN_MAX = VIOLATION_LEN + 16,
    STEP_SIZE = 16,      /* bytes of one step of a compiled pattern             */
    STEPS_MAX = 1 << 19, /* of patterns on strings; larger inputs are skipped   */
};

static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* The last two contain rules. */
static const char *const types[] = {"str",   "int",    "bool", "any", "scalar",
                                    "float", "number", "text", "seq", "map"};

/* ---- the generator ---- */

enum { RULES_DEEP = SCHEMA_DEPTH_MAX + 2, VALUES_MAX = 3000 };

struct choices {
    struct arena *arena;
    const uint8_t *at;
    const uint8_t *end;
    uint32_t values_made; /* values made so far, bounded by VALUES_MAX */
};

/* After the last byte, the first alternative is chosen. */
static uint32_t choose(struct choices *c, uint32_t count)
{
    return c->at < c->end ? *c->at++ % count : 0;
}

static struct str choose_text(struct choices *c, const char *const *words, uint32_t count)
{
    struct buf b = buf_in(c->arena);
    const uint32_t length = choose(c, 16);
    const uint32_t times = choose(c, 64) == 63 ? 100 : 1;
    for (uint32_t i = 0; i < length; i++) {
        const char *word = words[choose(c, count)];
        for (uint32_t k = 0; k < times; k++)
            buf_put_z(&b, word);
    }
    return buf_str(&b);
}

#define CHOOSE_TEXT(c, words) choose_text((c), (words), sizeof(words) / sizeof((words)[0]))

static struct str choose_string(struct choices *c)
{
    static const char *const words[] = {"a", "b", "A", "0", ".", "\n", "é", "/", "\U0001F6D1", " "};
    return CHOOSE_TEXT(c, words);
}

static struct str choose_key(struct choices *c)
{
    static const char *const keys[] = {"a", "b", "c", "=", "type", "é", ""};
    const uint32_t which = choose(c, 16);
    return which < 7 ? str_from(keys[which]) : choose_string(c);
}

static struct str choose_pattern(struct choices *c)
{
    static const char *const pieces[] = {
        "a", "b", "0",   ".",    "[a-c]", "[^b]", "(",           "(?:", ")",     "|",    "*",
        "+", "?", "{2}", "{1,}", "{,3}",  "\\A",  "\\z",         "\\d", "\\W",   "\\b",  "^",
        "$", "é", "\\/", "\\x",  "(?i)",  "(?=",  "[[:digit:]]", "\\1", "{999}", "[a-é]"};
    static const char *const ends[] = {"/", "/i", "/m", "/x", ""};
    const struct str body = CHOOSE_TEXT(c, pieces);
    return STR_CONCAT(c->arena, choose(c, 32) == 31 ? STR("") : STR("/"), body,
                      str_from(ends[choose(c, 8) % 5]));
}

static struct json *choose_scalar(struct choices *c)
{
    static const char *const numbers[] = {"0", "-1", "7.5", "1e9", "99999999999999999999"};
    struct json *number = json_make(c->arena, JSON_NUMBER);
    switch (choose(c, 8)) {
    case 0: return json_make(c->arena, JSON_NULL);
    case 1: return json_make_bool(c->arena, choose(c, 2));
    case 2:
    case 3: number->text = str_from(numbers[choose(c, 5)]); return number;
    default: return json_make_string(c->arena, choose_string(c));
    }
}

static struct json *choose_anything(struct choices *c, uint32_t depth)
{
    const uint32_t kind = choose(c, 6);
    if (kind < 4 || depth == 8 || c->values_made > VALUES_MAX)
        return choose_scalar(c);
    struct json *whole = json_make(c->arena, kind == 4 ? JSON_ARRAY : JSON_OBJECT);
    for (uint32_t count = choose(c, 4); count > 0; count--, c->values_made++) {
        if (kind == 4)
            json_append(whole, choose_anything(c, depth + 1));
        else
            json_set(whole, choose_key(c), choose_anything(c, depth + 1));
    }
    return whole;
}

static struct json *choose_rule(struct choices *c, uint32_t depth);

static struct json *choose_mapping(struct choices *c, uint32_t depth)
{
    struct json *mapping = json_make(c->arena, JSON_OBJECT);
    for (uint32_t count = choose(c, 5); count > 0; count--)
        json_set(mapping, choose_key(c), choose_rule(c, depth + 1));
    return mapping;
}

static struct json *choose_sequence(struct choices *c, uint32_t depth)
{
    struct json *sequence = json_make(c->arena, JSON_ARRAY);
    const uint32_t strange = choose(c, 32);
    for (uint32_t count = strange == 31 ? 0 : strange == 30 ? 2 : 1; count > 0; count--)
        json_append(sequence, choose_rule(c, depth + 1));
    return sequence;
}

static struct json *choose_enum(struct choices *c)
{
    struct json *list = json_make(c->arena, JSON_ARRAY);
    for (uint32_t count = choose(c, 5); count > 0; count--)
        json_append(list, choose_anything(c, 6));
    return list;
}

/* Sets one of the keywords to a value of its kind or, rarely, to any value. */
static void choose_keyword(struct choices *c, struct json *rule)
{
    const uint32_t kind = choose(c, 8);
    if (kind == 7)
        json_set(rule, choose_key(c), choose_anything(c, 6));
    else if (kind == 6)
        json_set(rule, STR("required"), choose_anything(c, 6));
    else if (kind >= 4)
        json_set(rule, STR("enum"), choose_enum(c));
    else if (kind >= 2)
        json_set(rule, STR("pattern"), json_make_string(c->arena, choose_pattern(c)));
    else
        json_set(rule, STR("required"), json_make_bool(c->arena, kind));
}

static struct json *choose_rule(struct choices *c, uint32_t depth)
{
    if (++c->values_made > VALUES_MAX || choose(c, 64) == 63)
        return choose_anything(c, 0);
    struct json *rule = json_make(c->arena, JSON_OBJECT);
    const uint32_t inner = depth < RULES_DEEP ? choose(c, 4) : 0;
    uint32_t type = inner >= 2 ? 6 + inner : choose(c, 8);
    if (inner < 2 && choose(c, 4) == 3)
        type = 0; /* str is the default */
    else
        json_set(rule, STR("type"), json_make_string(c->arena, str_from(types[type])));
    if (type == 8)
        json_set(rule, STR("sequence"), choose_sequence(c, depth));
    if (type == 9)
        json_set(rule, STR("mapping"), choose_mapping(c, depth));
    for (uint32_t count = choose(c, 3); count > 0; count--)
        choose_keyword(c, rule);
    return rule;
}

/* ---- values that nearly match ---- */

static struct json *choose_value(struct choices *c, const struct json *rule, uint32_t depth);

static struct json *choose_list(struct choices *c, const struct json *rule, uint32_t depth)
{
    struct json *list = json_make(c->arena, JSON_ARRAY);
    const struct json *sequence = json_get(rule, STR("sequence"));
    uint32_t count = choose(c, 8);
    if (count == 7)
        count = choose(c, 256) * 8; /* more than the maximum number of violations */
    for (; count > 0 && c->values_made < VALUES_MAX; count--)
        json_append(list, choose_value(c, sequence ? sequence->first : NULL, depth + 1));
    return list;
}

static struct json *choose_map(struct choices *c, const struct json *rule, uint32_t depth)
{
    struct json *map = json_make(c->arena, JSON_OBJECT);
    const struct json *mapping = json_get(rule, STR("mapping"));
    for (const struct json *r = mapping ? mapping->first : NULL; r; r = r->next)
        if (choose(c, 8) != 7)
            json_set(map, r->key, choose_value(c, r, depth + 1));
    for (uint32_t count = choose(c, 16); count > 13; count--)
        json_set(map, choose_key(c),
                 choose_value(c, mapping ? json_get(mapping, STR("=")) : NULL, depth + 1));
    return map;
}

static struct json *choose_of_type(struct choices *c, struct str type)
{
    struct json *number = json_make(c->arena, JSON_NUMBER);
    number->text = STR("7");
    if (str_eq(type, STR("int")) || str_eq(type, STR("number")))
        return number;
    if (str_eq(type, STR("bool")))
        return json_make_bool(c->arena, choose(c, 2));
    if (str_eq(type, STR("")) || str_eq(type, STR("str")) || str_eq(type, STR("text")))
        return json_make_string(c->arena, choose_string(c));
    return choose_scalar(c);
}

static struct json *choose_value(struct choices *c, const struct json *rule, uint32_t depth)
{
    c->values_made++;
    const struct json *type = json_get(rule, STR("type"));
    const struct json *choices = json_get(rule, STR("enum"));
    const struct str name = type && type->kind == JSON_STRING ? type->text : STR("");
    if (!rule || depth > RULES_DEEP || choose(c, 16) == 15)
        return choose_anything(c, 0);
    if (choices && choices->kind == JSON_ARRAY && choices->count && choose(c, 4) != 3)
        return json_clone(c->arena, choices->first);
    if (str_eq(name, STR("seq")))
        return choose_list(c, rule, depth);
    if (str_eq(name, STR("map")))
        return choose_map(c, rule, depth);
    return choose_of_type(c, name);
}

/* ---- calls of the schema module ---- */

static void check_list(struct arena *a, const struct violations *list)
{
    uint32_t count = 0;
    const struct violation *last = NULL;
    for (const struct violation *v = list->first; v; v = v->next, count++) {
        expect(v->path.len > 0 && v->path.at[0] == '/', "a path begins at the root");
        expect(str_is_clean(v->path) && v->path.len <= PATH_LEN_MAX, "a path is clean and short");
        expect(v->text.len > 0, "a violation has a text");
        expect(str_is_clean(v->text) && v->text.len <= PATH_LEN_MAX, "a text is clean and short");
        last = v;
    }
    expect(count == list->count && last == list->last,
           "a list has the right count and last element");
    expect(count <= VIOLATIONS_MAX, "a list is bounded");
    expect(list->left_off == 0 || count == VIOLATIONS_MAX, "only a full list omits violations");
    expect(str_is_clean(violations_format(a, list)), "a sentence is clean");
}

struct verdict {
    bool holds;
    struct violations list;
    struct violations warnings;
};

static struct verdict run_check(struct arena *a, const struct json *fragment)
{
    struct verdict verdict = {0};
    verdict.holds = schema_check(a, fragment, &verdict.list, &verdict.warnings);
    check_list(a, &verdict.list);
    check_list(a, &verdict.warnings);
    expect(verdict.holds == (verdict.list.count == 0), "the verdict agrees with the faults");
    return verdict;
}

static struct verdict run_validate(struct arena *a, const struct json *fragment,
                                   const struct json *value)
{
    struct verdict verdict = {0};
    verdict.holds = schema_validate(a, fragment, STR("n"), value, &verdict.list);
    check_list(a, &verdict.list);
    expect(verdict.holds == (verdict.list.count == 0), "the verdict agrees with the violations");
    for (const struct violation *v = verdict.list.first; v; v = v->next)
        expect(str_starts(v->path, STR("/n")) && (v->path.len == 2 || v->path.at[2] == '/'),
               "a path begins with the name");
    return verdict;
}

static bool is_same(struct arena *a, const struct verdict *x, const struct verdict *y)
{
    return x->holds == y->holds && x->list.count == y->list.count &&
           x->list.left_off == y->list.left_off &&
           str_eq(violations_format(a, &x->list), violations_format(a, &y->list)) &&
           str_eq(violations_format(a, &x->warnings), violations_format(a, &y->warnings));
}

/* True if the check was not completed, because the patterns or the value are too large. */
static bool is_cut_short(const struct verdict *verdict)
{
    bool cut = verdict->list.left_off > 0 || verdict->warnings.left_off > 0;
    for (const struct violation *v = verdict->list.first; v && !cut; v = v->next)
        cut = str_eq(v->text, STR("is too large to be validated against its schema"));
    for (const struct violation *v = verdict->warnings.first; v && !cut; v = v->next)
        cut = str_ends(v->text, STR("the patterns before it are too large"));
    return cut;
}

static bool has_only_violation(const struct verdict *verdict, struct str text)
{
    return verdict->list.count == 1 && str_eq(verdict->list.first->path, STR("/n")) &&
           str_eq(verdict->list.first->text, text);
}

/* ---- the oracle ---- */

static bool is_null(const struct json *value)
{
    return !value || value->kind == JSON_NULL;
}

static bool is_no_schema(const struct json *rule)
{
    return is_null(rule) || (rule->kind == JSON_OBJECT && rule->count == 0);
}

static bool is_of_type(const struct json *value, struct str type)
{
    const bool text = value->kind == JSON_STRING, number = value->kind == JSON_NUMBER;
    if (str_eq(type, STR("int"))) {
        bool whole = number;
        for (uint32_t i = 0; i < value->text.len; i++)
            whole = whole && value->text.at[i] != '.' && (value->text.at[i] | 0x20) != 'e';
        return whole;
    }
    if (str_eq(type, STR("bool")))
        return value->kind == JSON_TRUE || value->kind == JSON_FALSE;
    if (str_eq(type, STR("seq")))
        return value->kind == JSON_ARRAY;
    if (str_eq(type, STR("map")))
        return value->kind == JSON_OBJECT;
    if (str_eq(type, STR("any")))
        return true;
    if (str_eq(type, STR("scalar")))
        return value->kind != JSON_ARRAY && value->kind != JSON_OBJECT;
    if (str_eq(type, STR("float")) || str_eq(type, STR("number")))
        return number;
    return text || (number && str_eq(type, STR("text")));
}

/* "/regex/flags". The error is that of the regex, or ERR_SYNTAX. */
static err read_pattern(struct arena *a, struct str pattern, struct regex **out_regex)
{
    const char *what;
    uint32_t end = pattern.len;
    bool ignore_case = false, is_other = false;
    for (; end > 1 && pattern.at[end - 1] != '/'; end--) {
        ignore_case = ignore_case || pattern.at[end - 1] == 'i';
        is_other = is_other || pattern.at[end - 1] == 'm';
        if (pattern.at[end - 1] != 'i' && pattern.at[end - 1] != 'm')
            return ERR_SYNTAX;
    }
    if (end < 2 || pattern.at[0] != '/')
        return ERR_SYNTAX;
    const err e = regex_compile(a, str_slice(pattern, 1, end - 1), ignore_case, out_regex, &what);
    return e == OK && is_other ? ERR_REFUSED : e;
}

static bool is_sound(struct arena *a, const struct json *rule, uint32_t depth);

static bool is_keyword_sound(struct arena *a, const struct json *k, struct str type, uint32_t depth)
{
    const bool seq = str_eq(type, STR("seq")), map = str_eq(type, STR("map"));
    struct regex *regex;
    if (str_eq(k->key, STR("type")))
        return k->kind == JSON_STRING;
    if (str_eq(k->key, STR("required")))
        return k->kind == JSON_TRUE || k->kind == JSON_FALSE;
    if (str_eq(k->key, STR("enum")))
        return k->kind == JSON_ARRAY && !seq && !map;
    if (str_eq(k->key, STR("pattern")))
        return k->kind == JSON_STRING && !seq && !map &&
               read_pattern(a, k->text, &regex) != ERR_SYNTAX;
    if (str_eq(k->key, STR("sequence")))
        return seq && k->kind == JSON_ARRAY && k->count == 1 && is_sound(a, k->first, depth + 1);
    bool all = map && k->kind == JSON_OBJECT && str_eq(k->key, STR("mapping"));
    for (const struct json *r = k->first; r && all; r = r->next)
        all = is_sound(a, r, depth + 1);
    return all;
}

static bool is_sound(struct arena *a, const struct json *rule, uint32_t depth)
{
    const struct json *type = json_get(rule, STR("type"));
    const struct str name = type ? type->text : STR("str");
    bool all = rule->kind == JSON_OBJECT && depth < SCHEMA_DEPTH_MAX, known = false;
    for (uint32_t i = 0; i < sizeof types / sizeof *types; i++)
        known = known || str_eq(name, str_from(types[i]));
    for (const struct json *k = rule->first; k && all; k = k->next)
        all = is_keyword_sound(a, k, name, depth);
    return all && known && (!str_eq(name, STR("seq")) || json_get(rule, STR("sequence"))) &&
           (!str_eq(name, STR("map")) || json_get(rule, STR("mapping")));
}

static bool matches(struct arena *a, struct str pattern, struct str text)
{
    struct regex *regex;
    return read_pattern(a, pattern, &regex) != OK || regex_search(regex, text, a);
}

static bool fits(struct arena *a, const struct json *rule, const struct json *value);

static bool members_fit(struct arena *a, const struct json *mapping, const struct json *map)
{
    const struct json *other = json_get(mapping, STR("="));
    bool all = true;
    for (const struct json *r = mapping->first; r && all; r = r->next)
        all = r == other || fits(a, r, json_get(map, r->key));
    for (const struct json *m = map->first; m && all; m = m->next) {
        const struct json *own = json_get(mapping, m->key);
        if (!own || own == other)
            all = other && fits(a, other, m);
    }
    return all;
}

static bool is_chosen(const struct json *choices, const struct json *value)
{
    for (const struct json *c = choices->first; c; c = c->next)
        if (json_eq(c, value))
            return true;
    return false;
}

/* `rule` is sound, so each keyword has the kind it should have. */
static bool fits(struct arena *a, const struct json *rule, const struct json *value)
{
    const struct json *type = json_get(rule, STR("type"));
    const struct json *choices = json_get(rule, STR("enum"));
    const struct json *pattern = json_get(rule, STR("pattern"));
    const struct json *sequence = json_get(rule, STR("sequence"));
    const struct json *mapping = json_get(rule, STR("mapping"));
    if (is_null(value))
        return !json_is_true(json_get(rule, STR("required")));
    if (!is_of_type(value, type ? type->text : STR("str")))
        return false;
    if (choices && !is_chosen(choices, value))
        return false;
    if (pattern && value->kind == JSON_STRING && !matches(a, pattern->text, value->text))
        return false;
    for (const struct json *e = sequence ? value->first : NULL; e; e = e->next)
        if (!fits(a, sequence->first, e))
            return false;
    return !mapping || members_fit(a, mapping, value);
}

/* ---- properties ---- */

/* Writes and reads the value; NULL if it is too deep to be written. */
static const struct json *rewritten(struct arena *a, const struct json *value)
{
    struct json *again = NULL;
    uint32_t offset;
    const char *what;
    if (!value || json_depth(value) > JSON_DEPTH_MAX)
        return NULL;
    expect(json_read(a, json_write(a, value), &again, &offset, &what) == OK,
           "a written value can be read");
    return again;
}

/* A list with two copies of the value has twice the violations. */
static void check_wrapped(struct arena *a, const struct json *fragment, const struct json *value,
                          const struct verdict *alone)
{
    if (json_depth(fragment) > JSON_DEPTH_MAX || json_depth(value) > JSON_DEPTH_MAX)
        return; /* such a tree cannot be copied */
    struct json *rule = json_make(a, JSON_OBJECT);
    struct json *sequence = json_make(a, JSON_ARRAY);
    struct json *list = json_make(a, JSON_ARRAY);
    json_append(sequence, json_clone(a, fragment));
    json_set(rule, STR("type"), json_make_string(a, STR("seq")));
    json_set(rule, STR("sequence"), sequence);
    json_append(list, json_clone(a, value));
    json_append(list, json_clone(a, value));
    if (!run_check(a, rule).holds)
        return; /* one level too deep, or no schema, which is not valid inside another */
    const struct verdict verdict = run_validate(a, rule, list);
    if (!is_cut_short(&verdict))
        expect(verdict.list.count == 2 * alone->list.count,
               "two copies in a list have twice the violations");
}

static void check_nothing(struct arena *a, const struct json *fragment)
{
    const struct verdict absent = run_validate(a, fragment, NULL);
    const struct verdict null = run_validate(a, fragment, json_make(a, JSON_NULL));
    expect(is_same(a, &absent, &null), "null is treated as absent");
    if (!is_no_schema(fragment) && json_is_true(json_get(fragment, STR("required"))))
        expect(has_only_violation(&absent, STR("is required")),
               "an absent required value is a violation");
    else
        expect(absent.holds, "a value that is not required may be absent");
}

/* The bytes of text in a value, plus one for each value in it. */
static uint64_t weight(const struct json *value)
{
    uint64_t sum = 1 + value->text.len;
    for (const struct json *child = value->first; child; child = child->next)
        sum += weight(child);
    return sum;
}

static void check_value(struct arena *a, const struct json *fragment, const struct json *value,
                        const struct verdict *sound)
{
    const struct verdict verdict = run_validate(a, fragment, value),
                         verdict_again = run_validate(a, fragment, value);
    expect(is_same(a, &verdict, &verdict_again), "a value has the same violations each time");
    const struct json *other_fragment = rewritten(a, fragment), *other_value = rewritten(a, value);
    if (other_fragment && other_value) {
        const struct verdict other = run_validate(a, other_fragment, other_value);
        expect(is_same(a, &verdict, &other), "a value has the same violations in any notation");
    }
    if (!sound->holds)
        expect(has_only_violation(&verdict, STR("has a malformed schema")),
               "a rule with a fault accepts no value");
    else if (is_no_schema(fragment))
        expect(verdict.holds, "without a schema every value is accepted");
    else if (!is_cut_short(sound) && !is_cut_short(&verdict)) {
        expect(verdict.holds == fits(a, fragment, value), "validation agrees with the oracle");
        check_wrapped(a, fragment, value, &verdict);
    }
}

static void check_both(struct arena *a, const struct json *fragment, const struct json *value)
{
    const size_t before = arena_used(a);
    const struct verdict sound = run_check(a, fragment);
    const uint64_t steps = (arena_used(a) - before) / STEP_SIZE * weight(value);
    const struct verdict sound_again = run_check(a, fragment);
    expect(is_same(a, &sound, &sound_again), "a rule has the same faults each time");
    const struct json *other = rewritten(a, fragment);
    if (other) {
        const struct verdict verdict = run_check(a, other);
        expect(is_same(a, &sound, &verdict), "a rule has the same faults in any notation");
    }
    if (!is_cut_short(&sound))
        expect(sound.holds == (is_no_schema(fragment) || is_sound(a, fragment, 0)),
               "the check of rules agrees with the oracle");
    if (sound.holds)
        check_nothing(a, fragment);
    if (steps < STEPS_MAX)
        check_value(a, fragment, value, &sound);
}

/* ---- inputs ---- */

static struct json *read_json(struct arena *a, struct str text)
{
    struct json *value = NULL;
    uint32_t offset;
    const char *what;
    return json_read(a, text, &value, &offset, &what) == OK ? value : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_SIZE_MAX)
        return 0;
    static struct arena arena; /* reused: new pages for each input would take most of the time */
    const struct str text = {(const char *)data, (uint32_t)size};
    const struct json *fragment, *value;
    arena_reset(&arena);
    if (size > 0 && data[0] == '!') {
        struct choices c = {.arena = &arena, .at = data + 1, .end = data + size};
        fragment = choose_rule(&c, 0);
        value = choose_value(&c, fragment, 0);
    } else {
        const uint32_t line = str_find(text, '\n', 0);
        fragment = read_json(&arena, str_slice(text, 0, line));
        value = read_json(&arena, str_slice(text, line, text.len));
    }
    if (!fragment || !value)
        return 0;
    check_both(&arena, fragment, value);
    expect(arena_used(&arena) < ARENA_SIZE_MAX, "the memory for one input is bounded");
    return 0;
}
