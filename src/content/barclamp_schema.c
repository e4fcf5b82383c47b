#include "content/barclamp_schema.h"

#include "base/text/suggest.h"
#include "content/yaml.h"
#include "model/limits.h"
#include "model/names.h"
#include "model/schema.h"

/* A rule for each key of each map of the format: the type of its value, whether it is required, and
 * a function that checks a name. The tables below are the format; docs/spec/barclamp-format.md
 * describes it. A wrong value is reported and marked as broken, so that neither the document nor
 * the draft contains it, and checking continues with the next value. Besides the marks nothing is
 * changed, and nothing is owned. Nothing can fail: a file
 * with errors is refused by the caller, which counts the errors of the report. */

enum value_type {
    VALUE_ANY,    /* kept without a check */
    VALUE_STRING, /* a string, or a number as it is written */
    VALUE_BOOL,
    VALUE_NUMBER,   /* a whole number, not below 0 */
    VALUE_NAMES,    /* a list of strings */
    VALUE_WANTS,    /* a list of names, or of maps with the keys name and at */
    VALUE_MAP,      /* with the keys of `inner` */
    VALUE_MAPS,     /* a list of maps with the keys of `inner` */
    VALUE_LIST,     /* of anything; a wrong type is a warning */
    VALUE_PACKAGES, /* lists in one or two levels of maps; a wrong type is a warning */
    VALUE_SCHEMA,
};

struct map_rule;

struct key_rule {
    const char *key;
    enum value_type type;
    bool required;
    const char *(*check)(struct str); /* of the string or of each name; NULL: not checked */
    const struct map_rule *inner;
};

struct map_rule {
    const char *noun; /* "a role" */
    const struct key_rule *keys;
    uint32_t count;
};

#define MAP(noun, keys)                                                                            \
    {                                                                                              \
        noun, keys, sizeof keys / sizeof keys[0]                                                   \
    }

static const char *check_short_name(struct str word)
{
    return word.len == 0 || word.len > NAME_LEN_MAX ? "must not be empty or too long" : NULL;
}

static const char *check_optional_label(struct str label)
{
    return label.len ? names_check_label(label) : NULL;
}

/* clang-format off */
static const struct key_rule want_keys[] = {
    {"name",          VALUE_STRING,     true,  names_check_attrib_pattern, NULL},
    {"at",            VALUE_STRING,     false, names_check_text,     NULL},
};
static const struct map_rule want_rule = MAP("a wanted attrib", want_keys);

static const struct key_rule attrib_keys[] = {
    {"name",          VALUE_STRING,     true,  names_check_attrib_pattern, NULL},
    {"description",   VALUE_STRING,     false, names_check_text,     NULL},
    {"map",           VALUE_STRING,     false, names_check_text,     NULL},
    {"schema",        VALUE_SCHEMA,   false, NULL,                 NULL},
    {"type",          VALUE_ANY,      false, NULL,                 NULL},
    {"default",       VALUE_ANY,      false, NULL,                 NULL},
    {"ui_renderer",   VALUE_STRING,     false, names_check_text,     NULL},
    {"writable",      VALUE_BOOL,     false, NULL,                 NULL},
    {"per",           VALUE_ANY,      false, NULL,                 NULL},
};
static const struct map_rule attrib_rule = MAP("an attrib", attrib_keys);

static const struct key_rule role_keys[] = {
    {"name",          VALUE_STRING,     true,  names_check_role_pattern, NULL},
    {"jig",           VALUE_STRING,     true,  names_check_jig,      NULL},
    {"per",           VALUE_ANY,      false, NULL,                 NULL},
    {"lists-services", VALUE_STRING,  false, names_check_attrib_pattern, NULL},
    {"description",   VALUE_STRING,     false, names_check_text,     NULL},
    {"type",          VALUE_STRING,     false, names_check_text,     NULL},
    {"requires",      VALUE_NAMES,    false, names_check_role_pattern, NULL},
    {"provides",      VALUE_NAMES,    false, names_check_role_pattern, NULL},
    {"conflicts",     VALUE_NAMES,    false, names_check_role_pattern, NULL},
    {"attaches",      VALUE_NAMES,    false, names_check_role_pattern, NULL},
    {"preceeds",      VALUE_NAMES,    false, names_check_role_pattern, NULL},
    {"flags",         VALUE_NAMES,    false, check_short_name,           NULL},
    {"announces",     VALUE_NAMES,    false, check_short_name,           NULL},
    {"hooks",         VALUE_NAMES,    false, check_short_name,           NULL},
    {"attempts",      VALUE_NUMBER,   false, NULL,                 NULL},
    {"backoff",       VALUE_NUMBER,   false, NULL,                 NULL},
    {"deadline",      VALUE_NUMBER,   false, NULL,                 NULL},
    {"wants-attribs", VALUE_WANTS,    false, names_check_attrib_pattern, &want_rule},
    {"attribs",       VALUE_MAPS,     false, NULL,                 &attrib_rule},
};
static const struct map_rule role_rule = MAP("a role", role_keys);

static const struct key_rule jig_keys[] = {
    {"name",          VALUE_STRING,     true,  names_check_jig,      NULL},
    {"class",         VALUE_STRING,     true,  names_check_text,     NULL},
    {"description",   VALUE_STRING,     false, names_check_text,     NULL},
    {"implementor",   VALUE_STRING,     false, names_check_role,     NULL},
};
static const struct map_rule jig_rule = MAP("a jig", jig_keys);

static const struct key_rule hammer_keys[] = {
    {"name",          VALUE_STRING,     true,  names_check_hammer,   NULL},
    {"type",          VALUE_STRING,     true,  names_check_text,     NULL},
    {"priority",      VALUE_NUMBER,   false, NULL,                 NULL},
};
static const struct map_rule hammer_rule = MAP("a hammer", hammer_keys);

static const struct key_rule bootenv_keys[] = {
    {"name",          VALUE_STRING,     true,  names_check_bootenv,     NULL},
    {"kernel",        VALUE_STRING,     true,  names_check_boot_path,   NULL},
    {"initrd",        VALUE_NAMES,    false, names_check_boot_path,   NULL},
    {"args",          VALUE_STRING,     false, names_check_boot_args,   NULL},
    {"method",        VALUE_STRING,     true,  names_check_boot_method, NULL},
    {"os",            VALUE_STRING,     false, check_optional_label,    NULL},
};
static const struct map_rule bootenv_rule = MAP("a boot environment", bootenv_keys);

static const struct key_rule barclamp_keys[] = {
    {"name",          VALUE_STRING,     true,  names_check_barclamp, NULL},
    {"parent",        VALUE_STRING,     false, names_check_text,     NULL},
    {"description",   VALUE_STRING,     false, names_check_text,     NULL},
    {"version",       VALUE_STRING,     false, names_check_text,     NULL},
    {"build_version", VALUE_STRING,     false, names_check_text,     NULL},
    {"source_url",    VALUE_STRING,     false, names_check_text,     NULL},
    {"source_path",   VALUE_STRING,     false, names_check_text,     NULL},
    {"display",       VALUE_ANY,      false, NULL,                 NULL},
    {"license",       VALUE_ANY,      false, NULL,                 NULL},
    {"license_url",   VALUE_ANY,      false, NULL,                 NULL},
    {"copyright",     VALUE_ANY,      false, NULL,                 NULL},
};
static const struct map_rule barclamp_rule = MAP("the section barclamp", barclamp_keys);

static const struct key_rule git_keys[] = {
    {"commit",        VALUE_STRING,     false, names_check_text,     NULL},
    {"date",          VALUE_STRING,     false, names_check_text,     NULL},
};
static const struct map_rule git_rule = MAP("the section git", git_keys);

static const struct key_rule crowbar_keys[] = {
    {"layout",        VALUE_ANY,      false, NULL,                 NULL},
};
static const struct map_rule crowbar_rule = MAP("the section crowbar", crowbar_keys);

static const struct key_rule file_keys[] = {
    {"barclamp",      VALUE_MAP,      true,  NULL,                 &barclamp_rule},
    {"git",           VALUE_MAP,      false, NULL,                 &git_rule},
    {"crowbar",       VALUE_MAP,      false, NULL,                 &crowbar_rule},
    {"jigs",          VALUE_MAPS,     false, NULL,                 &jig_rule},
    {"hammers",       VALUE_MAPS,     false, NULL,                 &hammer_rule},
    {"bootenvs",      VALUE_MAPS,     false, NULL,                 &bootenv_rule},
    {"roles",         VALUE_MAPS,     false, NULL,                 &role_rule},
    {"attribs",       VALUE_MAPS,     false, NULL,                 &attrib_rule},
    {"removed-attribs", VALUE_NAMES,  false, names_check_attrib,   NULL},
    {"os_support",    VALUE_LIST,     false, NULL,                 NULL},
    {"extra_files",   VALUE_LIST,     false, NULL,                 NULL},
    {"debs",          VALUE_PACKAGES, false, NULL,                 NULL},
    {"rpms",          VALUE_PACKAGES, false, NULL,                 NULL},
    {"gems",          VALUE_PACKAGES, false, NULL,                 NULL},
};
static const struct map_rule file_rule = MAP("a barclamp's file", file_keys);
/* clang-format on */

struct rule_checker {
    struct diagnostics *report;
    struct str file;
    const struct json *map; /* whose values are checked */
};

#define ERROR_AT(c, value, ...) ERROR_AS(c, "bad_value", value, __VA_ARGS__)
#define ERROR_AS(c, code, value, ...)                                                              \
    (yaml_mark_broken(value), diagnostics_error(diagnostics_as((c)->report, code), (c)->file,      \
                                                yaml_position(value), __VA_ARGS__))
#define WARN_AT(c, value, ...)                                                                     \
    diagnostics_warning((c)->report, (c)->file, yaml_position(value), __VA_ARGS__)

static void rule_check_map(struct rule_checker *c, const struct json *map,
                           const struct map_rule *rule);

static const char *rule_kind_name(const struct json *value)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",
        [JSON_FALSE] = "the boolean false",
        [JSON_TRUE] = "the boolean true",
        [JSON_NUMBER] = "a number",
        [JSON_ARRAY] = "a list",
        [JSON_STRING] = "a string",
        [JSON_OBJECT] = "a map",
    };
    return names[value->kind];
}

/* ---- one value that the YAML reader accepted ---- */

static void rule_check_string(struct rule_checker *c, const struct json *value,
                              const struct key_rule *rule)
{
    if (value->kind == JSON_TRUE || value->kind == JSON_FALSE) {
        ERROR_AT(c, value, "%s must be a string, but is read as %s; put it in quotes", rule->key,
                 rule_kind_name(value));
        return;
    }
    if (value->kind != JSON_STRING && value->kind != JSON_NUMBER) {
        ERROR_AT(c, value, "%s must be a string, not %s", rule->key, rule_kind_name(value));
        return;
    }
    const char *wrong = rule->check ? rule->check(value->text) : NULL;
    const char *code = rule->check == names_check_text ? "bad_text" : "name_invalid";
    if (wrong && value->text.len == 0)
        ERROR_AS(c, code, value, "%s %s", rule->key, wrong);
    else if (wrong)
        ERROR_AS(c, code, value, "%s %s: \"%.*s\"", rule->key, wrong,
                 STR_FMT_ARGS(diagnostics_brief(value->text)));
}

static void rule_check_name(struct rule_checker *c, const struct json *word,
                            const struct key_rule *rule)
{
    if (word->kind != JSON_STRING) {
        ERROR_AT(c, word, "%s must be a list of names, this is %s", rule->key,
                 rule_kind_name(word));
        return;
    }
    const char *wrong = rule->check(word->text);
    if (wrong)
        ERROR_AS(c, "name_invalid", word, "a name in %s %s: \"%.*s\"", rule->key, wrong,
                 STR_FMT_ARGS(diagnostics_brief(word->text)));
}

/* True for a list; otherwise an error is added. */
static bool rule_is_list(struct rule_checker *c, const struct json *value,
                         const struct key_rule *rule)
{
    if (value->kind != JSON_ARRAY)
        ERROR_AT(c, value, "%s must be a list, not %s", rule->key, rule_kind_name(value));
    return value->kind == JSON_ARRAY;
}

static void rule_check_names(struct rule_checker *c, const struct json *value,
                             const struct key_rule *rule)
{
    if (!rule_is_list(c, value, rule))
        return;
    for (const struct json *word = value->first; word; word = word->next)
        if (!yaml_is_broken(word))
            rule_check_name(c, word, rule);
}

static void rule_check_wants(struct rule_checker *c, const struct json *value,
                             const struct key_rule *rule)
{
    if (!rule_is_list(c, value, rule))
        return;
    for (const struct json *want = value->first; want; want = want->next)
        if (want->kind == JSON_OBJECT)
            rule_check_map(c, want, rule->inner);
        else if (!yaml_is_broken(want))
            rule_check_name(c, want, rule);
}

static void rule_check_maps(struct rule_checker *c, const struct json *value,
                            const struct key_rule *rule)
{
    if (!rule_is_list(c, value, rule))
        return;
    for (const struct json *item = value->first; item; item = item->next)
        if (item->kind == JSON_OBJECT)
            rule_check_map(c, item, rule->inner);
        else if (!yaml_is_broken(item))
            ERROR_AT(c, item, "%s must be a list of maps, this is %s", rule->key,
                     rule_kind_name(item));
}

static void rule_check_number(struct rule_checker *c, const struct json *value,
                              const struct key_rule *rule)
{
    int64_t number;
    if (json_as_i64(value, &number) && number >= 0 && number <= UINT32_MAX)
        return;
    const bool is_time =
        str_eq(str_from(rule->key), STR("deadline")) || str_eq(str_from(rule->key), STR("backoff"));
    ERROR_AT(c, value, "%s must be a whole number%s, not below 0", rule->key,
             is_time ? " of seconds" : "");
}

/* Each error of a schema gets the line of its path. Warnings are reported by the import. */
static void rule_check_schema(struct rule_checker *c, const struct json *value)
{
    struct violations errors = {0}, odd = {0};
    const struct json *name = json_get(c->map, STR("name"));
    const struct str attrib =
        name && name->kind == JSON_STRING ? diagnostics_brief(name->text) : STR("?");
    if (!schema_check(c->report->arena, value, &errors, &odd))
        yaml_mark_broken(value);
    for (const struct violation *v = errors.first; v; v = v->next)
        diagnostics_error(diagnostics_as(c->report, "schema_invalid"), c->file,
                          yaml_position_at(value, str_slice(v->path, 1, v->path.len)),
                          "in the schema of attrib %.*s, %.*s %.*s", STR_FMT_ARGS(attrib),
                          STR_FMT_ARGS(v->path), STR_FMT_ARGS(v->text));
}

/* {pkgs: [...]}, or {centos-6.5: {pkgs: [...]}}. The engine does not use packages, so a wrong value
 * is a warning and does not prevent the import. */
static void rule_check_packages(struct rule_checker *c, const struct json *value, const char *key)
{
    if (value->kind != JSON_OBJECT) {
        WARN_AT(c, value, "%s should be a map of lists, not %s", key, rule_kind_name(value));
        return;
    }
    for (const struct json *list = value->first; list; list = list->next) {
        const struct str name = diagnostics_brief(list->key);
        if (list->kind != JSON_ARRAY && list->kind != JSON_OBJECT && list->kind != JSON_NULL)
            WARN_AT(c, list, "%.*s in %s should be a list, not %s", STR_FMT_ARGS(name), key,
                    rule_kind_name(list));
        for (const struct json *inner = list->kind == JSON_OBJECT ? list->first : NULL; inner;
             inner = inner->next)
            if (inner->kind != JSON_ARRAY && inner->kind != JSON_NULL)
                WARN_AT(c, inner, "%.*s in %s should be a list, not %s",
                        STR_FMT_ARGS(diagnostics_brief(inner->key)), key, rule_kind_name(inner));
    }
}

static void rule_check_value(struct rule_checker *c, const struct json *value,
                             const struct key_rule *rule)
{
    switch (rule->type) {
    case VALUE_ANY: return;
    case VALUE_STRING: rule_check_string(c, value, rule); return;
    case VALUE_BOOL:
        if (value->kind != JSON_TRUE && value->kind != JSON_FALSE)
            ERROR_AT(c, value, "%s must be true or false", rule->key);
        return;
    case VALUE_NUMBER: rule_check_number(c, value, rule); return;
    case VALUE_NAMES: rule_check_names(c, value, rule); return;
    case VALUE_WANTS: rule_check_wants(c, value, rule); return;
    case VALUE_MAP:
        if (value->kind == JSON_OBJECT)
            rule_check_map(c, value, rule->inner);
        else
            ERROR_AT(c, value, "%s must be a map, not %s", rule->key, rule_kind_name(value));
        return;
    case VALUE_MAPS: rule_check_maps(c, value, rule); return;
    case VALUE_LIST:
        if (value->kind != JSON_ARRAY)
            WARN_AT(c, value, "%s should be a list, not %s", rule->key, rule_kind_name(value));
        return;
    case VALUE_PACKAGES: rule_check_packages(c, value, rule->key); return;
    case VALUE_SCHEMA: rule_check_schema(c, value); return;
    }
}

/* ---- maps ---- */

static const struct key_rule *rule_find(const struct map_rule *rule, struct str key)
{
    for (uint32_t i = 0; i < rule->count; i++)
        if (str_eq(key, str_from(rule->keys[i].key)))
            return &rule->keys[i];
    return NULL;
}

static void rule_warn_unknown_key(struct rule_checker *c, const struct json *value,
                                  const struct map_rule *rule)
{
    struct suggestion nearest = {0};
    for (uint32_t i = 0; i < rule->count; i++)
        suggest_offer_str(&nearest, value->key, str_from(rule->keys[i].key));
    const struct str meant = suggest_str(&nearest);
    diagnostics_warning(diagnostics_as(c->report, "unknown_key"), c->file, yaml_position(value),
                        "unknown key %.*s of %s; it is kept but not used%s%.*s%s",
                        STR_FMT_ARGS(diagnostics_brief(value->key)), rule->noun,
                        meant.len ? "; did you mean " : "", STR_FMT_ARGS(meant),
                        meant.len ? "?" : "");
}

/* Recursive through rule_check_value; the depth is bounded by the tables, which nest three maps. A
 * key with the value null counts as missing. Missing keys of a broken map are not reported, because
 * the reader may have dropped them. */
static void rule_check_map(struct rule_checker *c, const struct json *map,
                           const struct map_rule *rule)
{
    for (uint32_t i = 0; i < rule->count; i++) {
        const struct json *value = json_get(map, str_from(rule->keys[i].key));
        const bool is_absent = !value || (value->kind == JSON_NULL && !yaml_is_broken(value));
        if (rule->keys[i].required && is_absent && !yaml_is_broken(map))
            diagnostics_error(diagnostics_as(c->report, "missing"), c->file,
                              yaml_position(value ? value : map), "%s must have a %s", rule->noun,
                              rule->keys[i].key);
    }
    for (const struct json *value = map->first; value; value = value->next) {
        const struct key_rule *known = rule_find(rule, value->key);
        if (!known)
            rule_warn_unknown_key(c, value, rule);
        c->map = map; /* the check of an inner map may have changed it */
        if (known && value->kind != JSON_NULL && !yaml_is_broken(value))
            rule_check_value(c, value, known);
    }
}

void barclamp_schema_check(struct diagnostics *r, struct str file, const struct json *tree)
{
    struct rule_checker c = {.report = r, .file = file};
    if (tree->kind == JSON_OBJECT)
        rule_check_map(&c, tree, &file_rule);
    else if (!yaml_is_broken(tree))
        ERROR_AT(&c, tree, "a barclamp must be a map, this is %s", rule_kind_name(tree));
}
