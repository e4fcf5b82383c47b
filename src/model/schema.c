/* schema.c - validation of values against a fragment of a schema. No state outlives a call: rules
 * and violations are in the arena of the caller. Faults and violations are collected, so that a
 * client gets all of them; there is no error result.
 *
 * Validation has two passes. The first parses the fragment into a tree of rules and records its
 * faults; the second walks the value along the tree. Parsing first means that a pattern is
 * compiled once, however many elements of a sequence it applies to. Both passes recurse at most
 * SCHEMA_DEPTH_MAX levels: the second follows the rules, not the value, whose depth is the
 * client's choice. Work is bounded too: memory of compiled patterns by SCHEMA_PATTERNS_SIZE,
 * comparison steps by SCHEMA_WORK_MAX. A value that exceeds them is reported as a violation,
 * never accepted unchecked. */
#include "model/schema.h"

#include "base/regex/regex.h"

enum schema_type {
    TYPE_STR,
    TYPE_INT,
    TYPE_BOOL,
    TYPE_SEQ,
    TYPE_MAP,
    TYPE_ANY,
    TYPE_SCALAR,
    TYPE_FLOAT,
    TYPE_NUMBER,
    TYPE_TEXT,
    TYPE_COUNT
};

static const struct {
    const char *name;
    const char *wrong;
} types[TYPE_COUNT] = {
    [TYPE_STR] = {"str", "must be a string"},
    [TYPE_INT] = {"int", "must be an integer"},
    [TYPE_BOOL] = {"bool", "must be true or false"},
    [TYPE_SEQ] = {"seq", "must be a list"},
    [TYPE_MAP] = {"map", "must be a map"},
    [TYPE_ANY] = {"any", "must be anything"},
    [TYPE_SCALAR] = {"scalar", "must be a single value, no list or map"},
    [TYPE_FLOAT] = {"float", "must be a number"},
    [TYPE_NUMBER] = {"number", "must be a number"},
    [TYPE_TEXT] = {"text", "must be a string or a number"},
};

struct rule {
    enum schema_type type;
    bool required;
    const struct json *choices; /* enum: the array, or NULL            */
    struct str pattern;         /* as written, for messages            */
    struct regex *regex;        /* NULL: no pattern, or an unsupported one */
    size_t regex_steps;         /* upper bound for one character       */
    struct rule *element;       /* seq */
    struct rule *first_member;  /* map: its keys in order, without "=" */
    struct rule *other_member;  /* map: the rule of "=", or NULL       */
    struct str key;             /* as a member */
    struct rule *next;
};

/* A position in a fragment or value, linked to its parent; formatted as a path only for a
 * violation, so that a valid value costs no string operations. */
struct position {
    const struct position *parent; /* NULL at the root */
    struct str key;
    uint32_t index;
    bool is_index;
};

struct schema_reader {
    struct arena *arena;
    struct violations *errors;
    struct violations *warnings;
    size_t patterns_size; /* bytes of the patterns compiled so far */
};

struct schema_walk {
    struct arena *arena;
    struct violations *found;
    uint64_t work; /* comparison steps so far; at most SCHEMA_WORK_MAX */
};

/* ---- violations ---- */

/* Appends `s`, truncated so that the buffer stays within VIOLATION_LEN. The cut is between two
 * UTF-8 characters and marked by dots; the dots make the length exceed the limit, which ends
 * further appending. */
static void put_truncated(struct buf *b, struct str s)
{
    if (b->len > VIOLATION_LEN)
        return;
    const struct str part = str_clip(s, VIOLATION_LEN - b->len);
    buf_put_str(b, part);
    if (part.len < s.len)
        buf_put_z(b, "....");
}

static struct str position_format(struct arena *a, const struct position *at)
{
    /* Two steps for each level of rules ("mapping" and the key), the keyword and the root. */
    const struct position *steps[2 * SCHEMA_DEPTH_MAX + 4];
    uint32_t count = 0;
    struct buf b = buf_in(a);
    for (; at->parent; at = at->parent) {
        must(count < sizeof(steps) / sizeof(steps[0]));
        steps[count++] = at;
    }
    if (count == 0)
        return STR("/");
    while (count > 0) {
        const struct position *step = steps[--count];
        put_truncated(&b, STR("/"));
        if (step->is_index && b.len <= VIOLATION_LEN)
            buf_put_u64(&b, step->index);
        else
            put_truncated(&b, step->key);
    }
    return buf_str(&b);
}

static bool violations_count_if_full(struct violations *list)
{
    if (list->count < VIOLATIONS_MAX)
        return false;
    list->left_off++;
    return true;
}

static void violations_add(struct arena *a, struct violations *list, const struct position *at,
                           struct str text)
{
    if (violations_count_if_full(list))
        return;
    struct violation *v = arena_new(a, struct violation);
    v->path = position_format(a, at);
    v->text = text;
    if (list->last)
        list->last->next = v;
    else
        list->first = v;
    list->last = v;
    list->count++;
}

static void schema_fault(struct schema_reader *r, const struct position *at, const char *text)
{
    violations_add(r->arena, r->errors, at, str_from(text));
}

struct str violations_format(struct arena *a, const struct violations *list)
{
    struct buf b = buf_in(a);
    for (const struct violation *v = list->first; v; v = v->next) {
        if (v != list->first)
            buf_put_z(&b, "; ");
        buf_put_str(&b, v->path);
        buf_put_c(&b, ' ');
        buf_put_str(&b, v->text);
    }
    if (list->left_off > 0) {
        buf_put_z(&b, "; and ");
        buf_put_u64(&b, list->left_off);
        buf_put_z(&b, " more");
    }
    return buf_str(&b);
}

/* ---- parsing a fragment ---- */

static struct rule *schema_read_rule(struct schema_reader *r, const struct json *fragment,
                                     const struct position *at, uint32_t depth);

static void schema_read_type(struct schema_reader *r, const struct json *fragment,
                             const struct position *at, struct rule *rule)
{
    const struct json *type = json_get(fragment, STR("type"));
    rule->type = TYPE_STR;
    if (!type)
        return;
    for (int i = 0; type->kind == JSON_STRING && i < TYPE_COUNT; i++)
        if (str_eq(type->text, str_from(types[i].name))) {
            rule->type = (enum schema_type)i;
            return;
        }
    /* An unknown type: TYPE_COUNT suppresses follow-up faults of the other keywords. */
    rule->type = TYPE_COUNT;
    const struct position here = {.parent = at, .key = STR("type")};
    schema_fault(r, &here,
                 "must be one of str, int, bool, seq, map, any, scalar, float, number, text");
}

/* Splits "/regex/flags" at the first and the last slash. */
static bool split_pattern(struct str s, struct str *out_regex, struct str *out_flags)
{
    uint32_t slash = s.len;
    while (slash > 0 && s.at[slash - 1] != '/')
        slash--;
    if (slash < 2 || s.at[0] != '/')
        return false;
    *out_regex = str_slice(s, 1, slash - 1);
    *out_flags = str_slice(s, slash, s.len);
    return true;
}

static bool are_flags(struct str flags)
{
    for (uint32_t i = 0; i < flags.len; i++)
        if (flags.at[i] != 'i' && flags.at[i] != 'm')
            return false;
    return true;
}

static void warn_unchecked(struct schema_reader *r, const struct position *at, const char *why)
{
    const struct str text = STR_CONCAT(r->arena, STR("is not checked: "), str_from(why));
    violations_add(r->arena, r->warnings, at, text);
}

/* Compiles a pattern. The arena bytes that it takes are its program, one instruction of at least
 * STEP_SIZE bytes for each step, so they also bound the steps that it needs for one character. */
static err compile_pattern(struct schema_reader *r, struct str regex, bool ignore_case,
                           struct rule *rule, const char **out_what)
{
    enum { STEP_SIZE = 16 }; /* no instruction is smaller */
    if (r->patterns_size > SCHEMA_PATTERNS_SIZE) {
        *out_what = "the patterns before it are too large";
        return ERR_LIMIT;
    }
    const size_t before = arena_used(r->arena);
    const err e = regex_compile(r->arena, regex, ignore_case, &rule->regex, out_what);
    const size_t taken = arena_used(r->arena) - before;
    rule->regex_steps = taken / STEP_SIZE + 1;
    r->patterns_size += taken;
    return e;
}

static void schema_read_pattern(struct schema_reader *r, const struct json *pattern,
                                const struct position *at, struct rule *rule)
{
    struct str regex;
    struct str flags;
    if (pattern->kind != JSON_STRING || !split_pattern(pattern->text, &regex, &flags) ||
        !are_flags(flags)) {
        schema_fault(r, at, "must be text of the form /regex/ or /regex/i");
        return;
    }
    rule->pattern = pattern->text;
    const bool ignore_case = str_find(flags, 'i', 0) < flags.len;
    const bool dot_takes_newline = str_find(flags, 'm', 0) < flags.len;
    const char *what = NULL;
    const err e = compile_pattern(r, regex, ignore_case, rule, &what);
    if (e == ERR_SYNTAX) {
        violations_add(r->arena, r->errors, at,
                       STR_CONCAT(r->arena, STR("is malformed: "), str_from(what)));
        return;
    }
    if (e != OK) {
        warn_unchecked(r, at, what);
        return;
    }
    if (dot_takes_newline) {
        rule->regex = NULL;
        warn_unchecked(r, at, "the flag m is not supported");
    }
}

static void schema_read_sequence(struct schema_reader *r, const struct json *sequence,
                                 const struct position *at, struct rule *rule, uint32_t depth)
{
    if (sequence->kind != JSON_ARRAY || sequence->count != 1) {
        schema_fault(r, at, "must be a list of exactly one rule");
        return;
    }
    const struct position first = {.parent = at, .is_index = true, .index = 0};
    rule->element = schema_read_rule(r, sequence->first, &first, depth + 1);
}

static void schema_read_mapping(struct schema_reader *r, const struct json *mapping,
                                const struct position *at, struct rule *rule, uint32_t depth)
{
    if (mapping->kind != JSON_OBJECT) {
        schema_fault(r, at, "must be a map from keys to rules");
        return;
    }
    struct rule **end = &rule->first_member;
    for (const struct json *m = mapping->first; m; m = m->next) {
        const struct position here = {.parent = at, .key = m->key};
        struct rule *member = schema_read_rule(r, m, &here, depth + 1);
        if (str_eq(m->key, STR("="))) {
            rule->other_member = member;
            continue;
        }
        member->key = m->key;
        *end = member;
        end = &member->next;
    }
}

enum keyword {
    KEY_TYPE,
    KEY_REQUIRED,
    KEY_ENUM,
    KEY_PATTERN,
    KEY_SEQUENCE,
    KEY_MAPPING,
    KEY_COUNT
};

static enum keyword find_keyword(struct str key)
{
    static const char *const names[KEY_COUNT] = {
        [KEY_TYPE] = "type",       [KEY_REQUIRED] = "required", [KEY_ENUM] = "enum",
        [KEY_PATTERN] = "pattern", [KEY_SEQUENCE] = "sequence", [KEY_MAPPING] = "mapping",
    };
    int i = 0;
    while (i < KEY_COUNT && !str_eq(key, str_from(names[i])))
        i++;
    return (enum keyword)i;
}

/* The fault of a keyword that has no effect on this type; NULL if it has one. */
static const char *keyword_conflict(enum keyword keyword, enum schema_type type)
{
    if (type == TYPE_COUNT)
        return NULL;
    if (keyword == KEY_SEQUENCE && type != TYPE_SEQ)
        return "needs type seq beside it";
    if (keyword == KEY_MAPPING && type != TYPE_MAP)
        return "needs type map beside it";
    if ((keyword == KEY_ENUM || keyword == KEY_PATTERN) && (type == TYPE_SEQ || type == TYPE_MAP))
        return "cannot be used with type seq or map";
    return NULL;
}

static void schema_read_keyword(struct schema_reader *r, const struct json *member,
                                const struct position *at, struct rule *rule, uint32_t depth)
{
    const struct position here = {.parent = at, .key = member->key};
    const enum keyword keyword = find_keyword(member->key);
    const char *clash = keyword_conflict(keyword, rule->type);
    if (clash) {
        schema_fault(r, &here, clash);
        return;
    }
    switch (keyword) {
    case KEY_TYPE: break; /* read before the others */
    case KEY_REQUIRED:
        if (member->kind != JSON_TRUE && member->kind != JSON_FALSE)
            schema_fault(r, &here, "must be true or false");
        rule->required = json_is_true(member);
        break;
    case KEY_ENUM:
        if (member->kind != JSON_ARRAY)
            schema_fault(r, &here, "must be a list");
        else
            rule->choices = member;
        break;
    case KEY_PATTERN: schema_read_pattern(r, member, &here, rule); break;
    case KEY_SEQUENCE: schema_read_sequence(r, member, &here, rule, depth); break;
    case KEY_MAPPING: schema_read_mapping(r, member, &here, rule, depth); break;
    case KEY_COUNT: schema_fault(r, &here, "is not a keyword of the schema language"); break;
    }
}

static struct rule *schema_read_rule(struct schema_reader *r, const struct json *fragment,
                                     const struct position *at, uint32_t depth)
{
    struct rule *rule = arena_new(r->arena, struct rule);
    if (fragment->kind != JSON_OBJECT) {
        schema_fault(r, at, "must be a rule, which is a map");
        return rule;
    }
    if (depth == SCHEMA_DEPTH_MAX) {
        schema_fault(r, at, "is nested too deep");
        return rule;
    }
    schema_read_type(r, fragment, at, rule);
    for (const struct json *m = fragment->first; m; m = m->next)
        schema_read_keyword(r, m, at, rule, depth);
    if (rule->type == TYPE_SEQ && !json_get(fragment, STR("sequence")))
        schema_fault(r, at, "has type seq but no sequence");
    if (rule->type == TYPE_MAP && !json_get(fragment, STR("mapping")))
        schema_fault(r, at, "has type map but no mapping");
    return rule;
}

static bool is_no_schema(const struct json *fragment)
{
    return !fragment || fragment->kind == JSON_NULL ||
           (fragment->kind == JSON_OBJECT && fragment->count == 0);
}

bool schema_check(struct arena *a, const struct json *fragment, struct violations *errors,
                  struct violations *warnings)
{
    if (is_no_schema(fragment))
        return true;
    const struct position root = {0};
    const uint64_t before = (uint64_t)errors->count + errors->left_off;
    struct schema_reader r = {.arena = a, .errors = errors, .warnings = warnings};
    schema_read_rule(&r, fragment, &root, 0);
    return (uint64_t)errors->count + errors->left_off == before;
}

/* ---- validating a value ---- */

static bool json_is_integer(const struct json *value)
{
    if (value->kind != JSON_NUMBER)
        return false;
    for (uint32_t i = 0; i < value->text.len; i++)
        if (!char_is_digit(value->text.at[i]) && value->text.at[i] != '-')
            return false;
    return true;
}

static bool has_type(const struct json *value, enum schema_type type)
{
    const bool is_list_or_map = value->kind == JSON_ARRAY || value->kind == JSON_OBJECT;
    switch (type) {
    case TYPE_STR: return value->kind == JSON_STRING;
    case TYPE_INT: return json_is_integer(value);
    case TYPE_BOOL: return value->kind == JSON_TRUE || value->kind == JSON_FALSE;
    case TYPE_SEQ: return value->kind == JSON_ARRAY;
    case TYPE_MAP: return value->kind == JSON_OBJECT;
    case TYPE_ANY: return true;
    case TYPE_SCALAR: return !is_list_or_map;
    case TYPE_FLOAT: /* integers too: many JSON writers print 1.0 as 1 */
    case TYPE_NUMBER: return value->kind == JSON_NUMBER;
    case TYPE_TEXT: return value->kind == JSON_STRING || value->kind == JSON_NUMBER;
    case TYPE_COUNT: break;
    }
    impossible("a type outside the enum");
}

/* Upper bound of the steps to compare anything with `value`. The recursion is bounded by
 * DOC_DEPTH_MAX, the depth of a document. */
static uint64_t compare_steps(const struct json *value)
{
    uint64_t steps = 1 + value->text.len / 16;
    for (const struct json *child = value->first; child; child = child->next)
        steps += 1 + child->key.len / 16 + compare_steps(child);
    return steps;
}

/* Accounts for `steps`; returns false, with a violation, if they exceed SCHEMA_WORK_MAX. */
static bool schema_walk_spend(struct schema_walk *w, const struct position *at, uint64_t steps)
{
    if (steps > SCHEMA_WORK_MAX - w->work) {
        violations_add(w->arena, w->found, at,
                       STR("is too large to be validated against its schema"));
        return false;
    }
    w->work += steps;
    return true;
}

static void schema_check_choices(struct schema_walk *w, const struct rule *rule,
                                 const struct json *value, const struct position *at)
{
    if (!schema_walk_spend(w, at, compare_steps(value) * (1 + (uint64_t)rule->choices->count)))
        return;
    for (const struct json *c = rule->choices->first; c; c = c->next)
        if (json_eq(c, value))
            return;
    if (violations_count_if_full(w->found))
        return;
    struct buf b = buf_in(w->arena);
    put_truncated(&b, STR("must be one of "));
    for (const struct json *c = rule->choices->first; c && b.len < VIOLATION_LEN; c = c->next) {
        put_truncated(&b, c == rule->choices->first ? STR("") : STR(", "));
        put_truncated(&b, c->kind == JSON_STRING ? c->text : json_write(w->arena, c));
    }
    violations_add(w->arena, w->found, at, buf_str(&b));
}

static void schema_check_pattern(struct schema_walk *w, const struct rule *rule,
                                 const struct json *value, const struct position *at)
{
    if (value->kind != JSON_STRING ||
        !schema_walk_spend(w, at, rule->regex_steps * (1 + (uint64_t)value->text.len)) ||
        regex_search(rule->regex, value->text, w->arena) || violations_count_if_full(w->found))
        return;
    struct buf b = buf_in(w->arena);
    put_truncated(&b, STR("does not match "));
    put_truncated(&b, rule->pattern);
    violations_add(w->arena, w->found, at, buf_str(&b));
}

static void schema_check_value(struct schema_walk *w, const struct rule *rule,
                               const struct json *value, const struct position *at);

static void schema_check_elements(struct schema_walk *w, const struct rule *rule,
                                  const struct json *list, const struct position *at)
{
    struct position here = {.parent = at, .is_index = true};
    for (const struct json *e = list->first; e; e = e->next, here.index++)
        schema_check_value(w, rule, e, &here);
}

/* Rules and members are both sorted by key (JSON documents are canonical), so one merge pass pairs
 * them: a rule without a member may be required, a member without a rule is matched by "=". */
static void schema_check_members(struct schema_walk *w, const struct rule *rule,
                                 const struct json *map, const struct position *at)
{
    const struct rule *r = rule->first_member;
    const struct json *m = map->first;
    while (r || m) {
        const int order = !r ? 1 : !m ? -1 : str_cmp(r->key, m->key);
        const struct position here = {.parent = at, .key = order < 0 ? r->key : m->key};
        if (order == 0)
            schema_check_value(w, r, m, &here);
        else if (order < 0)
            schema_check_value(w, r, NULL, &here);
        else if (rule->other_member)
            schema_check_value(w, rule->other_member, m, &here);
        else
            violations_add(w->arena, w->found, &here, STR("is not a key of the schema"));
        if (order >= 0)
            m = m->next;
        if (order <= 0)
            r = r->next;
    }
}

/* `value` NULL means absent. */
static void schema_check_value(struct schema_walk *w, const struct rule *rule,
                               const struct json *value, const struct position *at)
{
    if (!value || value->kind == JSON_NULL) {
        if (rule->required)
            violations_add(w->arena, w->found, at, STR("is required"));
        return;
    }
    if (!has_type(value, rule->type)) {
        violations_add(w->arena, w->found, at, str_from(types[rule->type].wrong));
        return;
    }
    if (rule->choices)
        schema_check_choices(w, rule, value, at);
    if (rule->regex)
        schema_check_pattern(w, rule, value, at);
    if (rule->type == TYPE_SEQ)
        schema_check_elements(w, rule->element, value, at);
    if (rule->type == TYPE_MAP)
        schema_check_members(w, rule, value, at);
}

bool schema_validate(struct arena *a, const struct json *fragment, struct str name,
                     const struct json *value, struct violations *violations)
{
    if (is_no_schema(fragment))
        return true;
    const struct position root = {0};
    const struct position here = {.parent = &root, .key = name};
    const uint64_t before = (uint64_t)violations->count + violations->left_off;
    struct violations errors = {0};
    struct violations warnings = {0};
    struct schema_reader r = {.arena = a, .errors = &errors, .warnings = &warnings};
    struct schema_walk w = {.arena = a, .found = violations};
    const struct rule *rule = schema_read_rule(&r, fragment, &root, 0);
    if (errors.count > 0)
        violations_add(a, violations, &here, STR("has a malformed schema"));
    else
        schema_check_value(&w, rule, value, &here);
    return (uint64_t)violations->count + violations->left_off == before;
}
