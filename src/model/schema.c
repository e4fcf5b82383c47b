/* A fragment is first read into a tree of rules, with its faults noted on the way; then the value
 * is walked with the tree in hand. So a pattern is compiled once however long the sequence it
 * guards. Both recursions end at SCHEMA_DEPTH_MAX: the second follows the rules, not the value. */
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
    struct regex *regex;        /* NULL: no pattern, or one we cannot check */
    size_t regex_steps;         /* at most, for one character          */
    struct rule *element;       /* seq */
    struct rule *first_member;  /* map: its keys in order, without "=" */
    struct rule *other_member;  /* map: the rule of "=", or NULL       */
    struct str key;             /* as a member */
    struct rule *next;
};

/* Where we are, as a chain of steps back to the root; written out only when something is wrong. */
struct place {
    const struct place *parent; /* NULL at the root */
    struct str key;
    uint32_t index;
    bool is_index;
};

struct reader {
    struct arena *arena;
    struct violations *errors;
    struct violations *warnings;
    size_t patterns_size; /* bytes that patterns have taken */
};

struct walk {
    struct arena *arena;
    struct violations *found;
    uint64_t work; /* steps done */
};

/* Violations */

/* Appends `s`, or as much of it as VIOLATION_LEN leaves room for; a cut falls between two
 * characters and ends in dots, and the dots are what carries the length past the limit. */
static void put_cut(struct buf *b, struct str s)
{
    if (b->len > VIOLATION_LEN)
        return;
    const struct str part = str_clip(s, VIOLATION_LEN - b->len);
    buf_put_str(b, part);
    if (part.len < s.len)
        buf_put_z(b, "....");
}

static struct str place_format(struct arena *a, const struct place *at)
{
    /* The root, plus two steps for each rule: "mapping" and the key, and the keyword itself. */
    const struct place *steps[2 * SCHEMA_DEPTH_MAX + 4];
    uint32_t count = 0;
    struct buf b = buf_in(a);
    for (; at->parent; at = at->parent) {
        must(count < sizeof(steps) / sizeof(steps[0]));
        steps[count++] = at;
    }
    if (count == 0)
        return STR("/");
    while (count > 0) {
        const struct place *step = steps[--count];
        put_cut(&b, STR("/"));
        if (step->is_index && b.len <= VIOLATION_LEN)
            buf_put_u64(&b, step->index);
        else
            put_cut(&b, step->key);
    }
    return buf_str(&b);
}

static bool is_full(struct violations *list)
{
    if (list->count < VIOLATIONS_MAX)
        return false;
    list->left_off++;
    return true;
}

static void add(struct arena *a, struct violations *list, const struct place *at, struct str text)
{
    if (is_full(list))
        return;
    struct violation *v = arena_new(a, struct violation);
    v->path = place_format(a, at);
    v->text = text;
    if (list->last)
        list->last->next = v;
    else
        list->first = v;
    list->last = v;
    list->count++;
}

static void fault(struct reader *r, const struct place *at, const char *text)
{
    add(r->arena, r->errors, at, str_from(text));
}

static struct place step_into(const struct place *parent, const char *keyword)
{
    return (struct place){.parent = parent, .key = str_from(keyword)};
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

/* Reading a fragment */

static struct rule *read_rule(struct reader *r, const struct json *fragment, const struct place *at,
                              uint32_t depth);

static void read_type(struct reader *r, const struct json *fragment, const struct place *at,
                      struct rule *rule)
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
    /* Whatever was meant, it was not str: keep the other keywords free of follow-up faults. */
    rule->type = TYPE_COUNT;
    const struct place here = step_into(at, "type");
    fault(r, &here, "must be one of str, int, bool, seq, map, any, scalar, float, number, text");
}

static void read_required(struct reader *r, const struct json *required, const struct place *at,
                          struct rule *rule)
{
    if (required->kind != JSON_TRUE && required->kind != JSON_FALSE)
        fault(r, at, "must be true or false");
    rule->required = json_is_true(required);
}

static void read_enum(struct reader *r, const struct json *choices, const struct place *at,
                      struct rule *rule)
{
    if (choices->kind != JSON_ARRAY)
        fault(r, at, "must be a list");
    else
        rule->choices = choices;
}

/* "/regex/" with the flags behind it: what stands between the slashes. */
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

static void warn_unchecked(struct reader *r, const struct place *at, const char *why)
{
    const struct str text = STR_CONCAT(r->arena, STR("is not checked: "), str_from(why));
    add(r->arena, r->warnings, at, text);
}

/* What a pattern takes of the arena is its program, so this also tells how long it may run. */
static err compile_pattern(struct reader *r, struct str regex, bool ignore_case, struct rule *rule,
                           const char **out_what)
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

static void read_pattern(struct reader *r, const struct json *pattern, const struct place *at,
                         struct rule *rule)
{
    struct str regex;
    struct str flags;
    if (pattern->kind != JSON_STRING || !split_pattern(pattern->text, &regex, &flags) ||
        !are_flags(flags)) {
        fault(r, at, "must be text of the form /regex/ or /regex/i");
        return;
    }
    rule->pattern = pattern->text;
    const bool ignore_case = str_find(flags, 'i', 0) < flags.len;
    const bool dot_takes_newline = str_find(flags, 'm', 0) < flags.len;
    const char *what = NULL;
    const err e = compile_pattern(r, regex, ignore_case, rule, &what);
    if (e == ERR_SYNTAX) {
        add(r->arena, r->errors, at, STR_CONCAT(r->arena, STR("is malformed: "), str_from(what)));
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

static void read_sequence(struct reader *r, const struct json *sequence, const struct place *at,
                          struct rule *rule, uint32_t depth)
{
    if (sequence->kind != JSON_ARRAY || sequence->count != 1) {
        fault(r, at, "must be a list of exactly one rule");
        return;
    }
    const struct place first = {.parent = at, .is_index = true, .index = 0};
    rule->element = read_rule(r, sequence->first, &first, depth + 1);
}

static void read_mapping(struct reader *r, const struct json *mapping, const struct place *at,
                         struct rule *rule, uint32_t depth)
{
    if (mapping->kind != JSON_OBJECT) {
        fault(r, at, "must be a map from keys to rules");
        return;
    }
    struct rule **end = &rule->first_member;
    for (const struct json *m = mapping->first; m; m = m->next) {
        const struct place here = {.parent = at, .key = m->key};
        struct rule *member = read_rule(r, m, &here, depth + 1);
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

/* A keyword that could never have an effect is a slip of the pen; NULL when it could. */
static const char *conflict(enum keyword keyword, enum schema_type type)
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

static void read_keyword(struct reader *r, const struct json *member, const struct place *at,
                         struct rule *rule, uint32_t depth)
{
    const struct place here = {.parent = at, .key = member->key};
    const enum keyword keyword = find_keyword(member->key);
    const char *clash = conflict(keyword, rule->type);
    if (clash) {
        fault(r, &here, clash);
        return;
    }
    switch (keyword) {
    case KEY_TYPE: break; /* read before the others */
    case KEY_REQUIRED: read_required(r, member, &here, rule); break;
    case KEY_ENUM: read_enum(r, member, &here, rule); break;
    case KEY_PATTERN: read_pattern(r, member, &here, rule); break;
    case KEY_SEQUENCE: read_sequence(r, member, &here, rule, depth); break;
    case KEY_MAPPING: read_mapping(r, member, &here, rule, depth); break;
    case KEY_COUNT: fault(r, &here, "is not a keyword of the schema language"); break;
    }
}

static struct rule *read_rule(struct reader *r, const struct json *fragment, const struct place *at,
                              uint32_t depth)
{
    struct rule *rule = arena_new(r->arena, struct rule);
    if (fragment->kind != JSON_OBJECT) {
        fault(r, at, "must be a rule, which is a map");
        return rule;
    }
    if (depth == SCHEMA_DEPTH_MAX) {
        fault(r, at, "is nested too deep");
        return rule;
    }
    read_type(r, fragment, at, rule);
    for (const struct json *m = fragment->first; m; m = m->next)
        read_keyword(r, m, at, rule, depth);
    if (rule->type == TYPE_SEQ && !json_get(fragment, STR("sequence")))
        fault(r, at, "has type seq but no sequence");
    if (rule->type == TYPE_MAP && !json_get(fragment, STR("mapping")))
        fault(r, at, "has type map but no mapping");
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
    const struct place root = {0};
    const uint64_t before = (uint64_t)errors->count + errors->left_off;
    struct reader r = {.arena = a, .errors = errors, .warnings = warnings};
    read_rule(&r, fragment, &root, 0);
    return (uint64_t)errors->count + errors->left_off == before;
}

/* Holding a value against rules */

static bool is_integer(const struct json *value)
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
    case TYPE_INT: return is_integer(value);
    case TYPE_BOOL: return value->kind == JSON_TRUE || value->kind == JSON_FALSE;
    case TYPE_SEQ: return value->kind == JSON_ARRAY;
    case TYPE_MAP: return value->kind == JSON_OBJECT;
    case TYPE_ANY: return true;
    case TYPE_SCALAR: return !is_list_or_map;
    case TYPE_FLOAT: /* many writers of JSON drop the fraction of 1.0 */
    case TYPE_NUMBER: return value->kind == JSON_NUMBER;
    case TYPE_TEXT: return value->kind == JSON_STRING || value->kind == JSON_NUMBER;
    case TYPE_COUNT: break;
    }
    impossible("a type outside the enum");
}

/* What it takes at most to compare something with `value`. Recursion is bounded by the depth of a
 * document. */
static uint64_t compare_steps(const struct json *value)
{
    uint64_t steps = 1 + value->text.len / 16;
    for (const struct json *child = value->first; child; child = child->next)
        steps += 1 + child->key.len / 16 + compare_steps(child);
    return steps;
}

/* False, with a violation, when there is more to do than may be done. */
static bool may_do(struct walk *w, const struct place *at, uint64_t steps)
{
    if (steps > SCHEMA_WORK_MAX - w->work) {
        add(w->arena, w->found, at, STR("is too large to be held against its schema"));
        return false;
    }
    w->work += steps;
    return true;
}

static void check_choices(struct walk *w, const struct rule *rule, const struct json *value,
                          const struct place *at)
{
    if (!may_do(w, at, compare_steps(value) * (1 + (uint64_t)rule->choices->count)))
        return;
    for (const struct json *c = rule->choices->first; c; c = c->next)
        if (json_eq(c, value))
            return;
    if (is_full(w->found))
        return;
    struct buf b = buf_in(w->arena);
    put_cut(&b, STR("must be one of "));
    for (const struct json *c = rule->choices->first; c && b.len < VIOLATION_LEN; c = c->next) {
        put_cut(&b, c == rule->choices->first ? STR("") : STR(", "));
        put_cut(&b, c->kind == JSON_STRING ? c->text : json_write(w->arena, c));
    }
    add(w->arena, w->found, at, buf_str(&b));
}

static void check_pattern(struct walk *w, const struct rule *rule, const struct json *value,
                          const struct place *at)
{
    if (value->kind != JSON_STRING ||
        !may_do(w, at, rule->regex_steps * (1 + (uint64_t)value->text.len)) ||
        regex_search(rule->regex, value->text, w->arena) || is_full(w->found))
        return;
    struct buf b = buf_in(w->arena);
    put_cut(&b, STR("does not match "));
    put_cut(&b, rule->pattern);
    add(w->arena, w->found, at, buf_str(&b));
}

static void check_value(struct walk *w, const struct rule *rule, const struct json *value,
                        const struct place *at);

static void check_elements(struct walk *w, const struct rule *rule, const struct json *list,
                           const struct place *at)
{
    struct place here = {.parent = at, .is_index = true};
    for (const struct json *e = list->first; e; e = e->next, here.index++)
        check_value(w, rule, e, &here);
}

/* Rules and members are both in the order of their keys: one walk along both. */
static void check_members(struct walk *w, const struct rule *rule, const struct json *map,
                          const struct place *at)
{
    const struct rule *r = rule->first_member;
    const struct json *m = map->first;
    while (r || m) {
        const int order = !r ? 1 : !m ? -1 : str_cmp(r->key, m->key);
        const struct place here = {.parent = at, .key = order < 0 ? r->key : m->key};
        if (order == 0)
            check_value(w, r, m, &here);
        else if (order < 0)
            check_value(w, r, NULL, &here);
        else if (rule->other_member)
            check_value(w, rule->other_member, m, &here);
        else
            add(w->arena, w->found, &here, STR("is not a key that is known here"));
        if (order >= 0)
            m = m->next;
        if (order <= 0)
            r = r->next;
    }
}

/* `value` NULL: absent. */
static void check_value(struct walk *w, const struct rule *rule, const struct json *value,
                        const struct place *at)
{
    if (!value || value->kind == JSON_NULL) {
        if (rule->required)
            add(w->arena, w->found, at, STR("is required"));
        return;
    }
    if (!has_type(value, rule->type)) {
        add(w->arena, w->found, at, str_from(types[rule->type].wrong));
        return;
    }
    if (rule->choices)
        check_choices(w, rule, value, at);
    if (rule->regex)
        check_pattern(w, rule, value, at);
    if (rule->type == TYPE_SEQ)
        check_elements(w, rule->element, value, at);
    if (rule->type == TYPE_MAP)
        check_members(w, rule, value, at);
}

bool schema_validate(struct arena *a, const struct json *fragment, struct str name,
                     const struct json *value, struct violations *violations)
{
    if (is_no_schema(fragment))
        return true;
    const struct place root = {0};
    const struct place here = {.parent = &root, .key = name};
    const uint64_t before = (uint64_t)violations->count + violations->left_off;
    struct violations errors = {0};
    struct violations warnings = {0};
    struct reader r = {.arena = a, .errors = &errors, .warnings = &warnings};
    struct walk w = {.arena = a, .found = violations};
    const struct rule *rule = read_rule(&r, fragment, &root, 0);
    if (errors.count > 0)
        add(a, violations, &here, STR("has a schema that is malformed"));
    else
        check_value(&w, rule, value, &here);
    return (uint64_t)violations->count + violations->left_off == before;
}
