/* Goal: a fragment is understood or faulted in full, and a value that does not fit is reported with
 * all violations at once.
 * Method: tables of JSON with the expected sentence, then the bounds. */
#include "model/schema.h"

#include <stdio.h>
#include <string.h>

#include "tests/check.h"

static struct json *read_text(struct arena *a, struct str text)
{
    struct json *value = NULL;
    uint32_t offset = 0;
    const char *what = "";
    const err e = json_read(a, text, &value, &offset, &what);
    if (e != OK)
        fprintf(stderr, "%.*s: %s at %u\n", STR_FMT_ARGS(text), what, offset);
    CHECK(e == OK);
    return value;
}

static struct json *read_json(struct arena *a, const char *text)
{
    return read_text(a, str_from(text));
}

static void check_sentence(struct arena *a, const char *about, const struct violations *list,
                           const char *expected)
{
    const struct str said = violations_format(a, list);
    if (!str_eq(said, str_from(expected)))
        fprintf(stderr, "%s: \"%.*s\"\n", about, STR_FMT_ARGS(said));
    CHECK(str_eq(said, str_from(expected)));
}

struct fragment_row {
    const char *fragment;
    const char *errors;
    const char *warnings;
};

static void check_fragments(const struct fragment_row *rows, size_t count)
{
    struct arena a = {0};
    for (size_t i = 0; i < count; i++) {
        struct violations errors = {0};
        struct violations warnings = {0};
        const bool sound = schema_check(&a, read_json(&a, rows[i].fragment), &errors, &warnings);
        check_sentence(&a, rows[i].fragment, &errors, rows[i].errors);
        check_sentence(&a, rows[i].fragment, &warnings, rows[i].warnings ? rows[i].warnings : "");
        CHECK(sound == (rows[i].errors[0] == 0));
        arena_reset(&a);
    }
    arena_fini(&a);
}

#define CHECK_FRAGMENTS(rows) check_fragments((rows), sizeof(rows) / sizeof((rows)[0]))

struct value_row {
    const char *value; /* NULL: absent */
    const char *violations;
};

static void check_values(const char *fragment, const struct value_row *rows, size_t count)
{
    struct arena a = {0};
    for (size_t i = 0; i < count; i++) {
        struct violations found = {0};
        const struct json *value = rows[i].value ? read_json(&a, rows[i].value) : NULL;
        const bool fits = schema_validate(&a, read_json(&a, fragment), STR("n"), value, &found);
        check_sentence(&a, rows[i].value ? rows[i].value : "(absent)", &found, rows[i].violations);
        CHECK(fits == (rows[i].violations[0] == 0));
        arena_reset(&a);
    }
    arena_fini(&a);
}

#define CHECK_VALUES(fragment, rows)                                                               \
    check_values((fragment), (rows), sizeof(rows) / sizeof((rows)[0]))

TEST(sound_fragments_are_taken)
{
    static const struct fragment_row rows[] = {
        {"null", "", NULL},
        {"{}", "", NULL},
        {"{\"type\":\"str\"}", "", NULL},
        {"{\"type\":\"int\",\"required\":true}", "", NULL},
        {"{\"type\":\"bool\",\"required\":false}", "", NULL},
        {"{\"type\":\"any\"}", "", NULL},
        {"{\"type\":\"scalar\"}", "", NULL},
        {"{\"type\":\"float\"}", "", NULL},
        {"{\"type\":\"number\"}", "", NULL},
        {"{\"type\":\"text\"}", "", NULL},
        {"{\"required\":true}", "", NULL},
        {"{\"pattern\":\"/^a/\"}", "", NULL},
        {"{\"pattern\":\"/^a/i\"}", "", NULL},
        {"{\"pattern\":\"/a/b/\"}", "", NULL},
        {"{\"pattern\":\"//\"}", "", NULL},
        {"{\"type\":\"int\",\"enum\":[1,2]}", "", NULL},
        {"{\"type\":\"int\",\"pattern\":\"/1/\"}", "", NULL},
        {"{\"type\":\"seq\",\"sequence\":[{\"type\":\"int\"}]}", "", NULL},
        {"{\"type\":\"map\",\"mapping\":{}}", "", NULL},
        {"{\"type\":\"map\",\"mapping\":{\"a\":{},\"=\":{\"type\":\"any\"}}}", "", NULL},
        {"{\"type\":\"seq\",\"required\":true,\"sequence\":[{\"type\":\"map\",\"mapping\":"
         "{\"name\":{\"type\":\"str\",\"required\":true},\"ports\":{\"type\":\"seq\",\"sequence\":"
         "[{\"type\":\"int\"}]}}}]}",
         "", NULL},
    };
    CHECK_FRAGMENTS(rows);
    struct violations errors = {0};
    struct violations warnings = {0};
    struct arena a = {0};
    CHECK(schema_check(&a, NULL, &errors, &warnings));
    CHECK(errors.count == 0 && warnings.count == 0);
}

#define TYPE_WRONG "/type must be one of str, int, bool, seq, map, any, scalar, float, number, text"

TEST(each_fault_of_a_fragment_has_its_sentence)
{
    static const struct fragment_row rows[] = {
        {"[]", "/ must be a rule, which is a map", NULL},
        {"\"str\"", "/ must be a rule, which is a map", NULL},
        {"true", "/ must be a rule, which is a map", NULL},
        {"{\"range\":{}}", "/range is not a keyword of the schema language", NULL},
        {"{\"length\":{\"max\":3}}", "/length is not a keyword of the schema language", NULL},
        {"{\"Type\":\"str\"}", "/Type is not a keyword of the schema language", NULL},
        {"{\"=\":{}}", "/= is not a keyword of the schema language", NULL},
        {"{\"type\":\"string\"}", TYPE_WRONG, NULL},
        {"{\"type\":\"\"}", TYPE_WRONG, NULL},
        {"{\"type\":7}", TYPE_WRONG, NULL},
        {"{\"type\":null}", TYPE_WRONG, NULL},
        {"{\"type\":\"date\"}", TYPE_WRONG, NULL},
        {"{\"required\":\"yes\"}", "/required must be true or false", NULL},
        {"{\"required\":null}", "/required must be true or false", NULL},
        {"{\"required\":1}", "/required must be true or false", NULL},
        {"{\"enum\":\"a\"}", "/enum must be a list", NULL},
        {"{\"enum\":{}}", "/enum must be a list", NULL},
        {"{\"type\":\"seq\"}", "/ has type seq but no sequence", NULL},
        {"{\"type\":\"map\"}", "/ has type map but no mapping", NULL},
        {"{\"type\":\"seq\",\"sequence\":[]}", "/sequence must be a list of exactly one rule",
         NULL},
        {"{\"type\":\"seq\",\"sequence\":[{},{}]}", "/sequence must be a list of exactly one rule",
         NULL},
        {"{\"type\":\"seq\",\"sequence\":{}}", "/sequence must be a list of exactly one rule",
         NULL},
        {"{\"type\":\"seq\",\"sequence\":null}", "/sequence must be a list of exactly one rule",
         NULL},
        {"{\"type\":\"seq\",\"sequence\":[7]}", "/sequence/0 must be a rule, which is a map", NULL},
        {"{\"type\":\"map\",\"mapping\":[]}", "/mapping must be a map from keys to rules", NULL},
        {"{\"type\":\"map\",\"mapping\":null}", "/mapping must be a map from keys to rules", NULL},
        {"{\"type\":\"map\",\"mapping\":{\"a\":\"str\"}}",
         "/mapping/a must be a rule, which is a map", NULL},
        {"{\"type\":\"map\",\"mapping\":{\"=\":1}}", "/mapping/= must be a rule, which is a map",
         NULL},
        {"{\"sequence\":[{}]}", "/sequence needs type seq beside it", NULL},
        {"{\"type\":\"any\",\"mapping\":{}}", "/mapping needs type map beside it", NULL},
        {"{\"type\":\"map\",\"mapping\":{},\"sequence\":[{}]}",
         "/sequence needs type seq beside it", NULL},
        {"{\"type\":\"seq\",\"sequence\":[{}],\"enum\":[1]}",
         "/enum cannot be used with type seq or map", NULL},
        {"{\"type\":\"map\",\"mapping\":{},\"pattern\":\"/a/\"}",
         "/pattern cannot be used with type seq or map", NULL},
    };
    CHECK_FRAGMENTS(rows);
}

#define PATTERN_FORM "/pattern must be text of the form /regex/ or /regex/i"

TEST(patterns_are_malformed_or_merely_beyond_us)
{
    static const struct fragment_row rows[] = {
        {"{\"pattern\":\"abc\"}", PATTERN_FORM, NULL},
        {"{\"pattern\":\"/abc\"}", PATTERN_FORM, NULL},
        {"{\"pattern\":\"abc/\"}", PATTERN_FORM, NULL},
        {"{\"pattern\":\"/\"}", PATTERN_FORM, NULL},
        {"{\"pattern\":\"\"}", PATTERN_FORM, NULL},
        {"{\"pattern\":\"/a/x\"}", PATTERN_FORM, NULL},
        {"{\"pattern\":\"/a/ \"}", PATTERN_FORM, NULL},
        {"{\"pattern\":7}", PATTERN_FORM, NULL},
        {"{\"pattern\":null}", PATTERN_FORM, NULL},
        {"{\"pattern\":\"/(a/\"}", "/pattern is malformed: a group without its )", NULL},
        {"{\"pattern\":\"/[a/i\"}", "/pattern is malformed: a class without its ]", NULL},
        {"{\"pattern\":\"/*/m\"}", "/pattern is malformed: a repeat with nothing to repeat", NULL},
        {"{\"pattern\":\"/a(?=b)/\"}", "", "/pattern is not checked: look-ahead is not supported"},
        {"{\"pattern\":\"/(a)\\\\1/\"}", "",
         "/pattern is not checked: back references and octal escapes are not supported"},
        {"{\"pattern\":\"/a{99999}/\"}", "",
         "/pattern is not checked: a repeat count that is too large"},
        {"{\"pattern\":\"/a.b/m\"}", "", "/pattern is not checked: the flag m is not supported"},
        {"{\"pattern\":\"/a.b/mi\"}", "", "/pattern is not checked: the flag m is not supported"},
        {"{\"type\":\"seq\",\"sequence\":[{\"pattern\":\"/\\\\p{L}/\"}]}", "",
         "/sequence/0/pattern is not checked: \\p classes are not supported"},
    };
    CHECK_FRAGMENTS(rows);
}

TEST(all_faults_of_a_fragment_are_listed)
{
    static const struct fragment_row rows[] = {
        {"{\"type\":\"map\",\"colour\":1,\"required\":2,\"mapping\":{\"a\":{\"type\":\"x\"},"
         "\"b\":{\"type\":\"seq\"},\"c\":{\"type\":\"seq\",\"sequence\":[{\"enum\":3,\"pattern\":"
         "\"/(?>a)/\"}]},\"=\":{\"pattern\":\"/)/\"}}}",
         "/colour is not a keyword of the schema language; "
         "/mapping/=/pattern is malformed: a ) without its (; "
         "/mapping/a" TYPE_WRONG "; "
         "/mapping/b has type seq but no sequence; "
         "/mapping/c/sequence/0/enum must be a list; "
         "/required must be true or false",
         "/mapping/c/sequence/0/pattern is not checked: atomic groups are not supported"},
        /* A wrong type causes no further fault about the keywords it does not go with. */
        {"{\"type\":\"list\",\"sequence\":[{\"type\":\"strs\"}]}",
         "/sequence/0/type must be one of str, int, bool, seq, map, any, scalar, float, number, "
         "text",
         NULL},
    };
    check_fragments(rows, 1);
    struct arena a = {0};
    struct violations errors = {0};
    struct violations warnings = {0};
    CHECK(!schema_check(&a, read_json(&a, rows[1].fragment), &errors, &warnings));
    CHECK(errors.count == 2);
    CHECK(str_eq(errors.first->path, STR("/type")));
    CHECK(str_eq(errors.last->path, STR("/sequence/0/type")));
    arena_fini(&a);
}

TEST(faults_are_appended_to_what_is_there)
{
    struct arena a = {0};
    struct violations errors = {0};
    struct violations warnings = {0};
    CHECK(!schema_check(&a, read_json(&a, "{\"x\":1}"), &errors, &warnings));
    CHECK(schema_check(&a, read_json(&a, "{\"type\":\"int\"}"), &errors, &warnings));
    CHECK(!schema_check(&a, read_json(&a, "[]"), &errors, &warnings));
    CHECK(errors.count == 2);
    CHECK(str_eq(errors.first->path, STR("/x")) && errors.first->next == errors.last);
    CHECK(str_eq(errors.last->path, STR("/")));
    arena_fini(&a);
}

TEST(every_type_takes_its_own_values)
{
    /* One row per type, one column per value: '+' fits. */
    static const char *const values[] = {"\"a\"", "7",     "-7", "7.5", "7e2",
                                         "true",  "false", "[]", "{}",  "99999999999999999999"};
    static const struct {
        const char *type;
        const char *drawn;
        const char *wrong;
    } types[] = {
        /*         a 7-7.5e2 t f [] {} big */
        {"str", "+.........", "/n must be a string"},
        {"int", ".++......+", "/n must be an integer"},
        {"bool", ".....++...", "/n must be true or false"},
        {"seq", ".......+..", "/n must be a list"},
        {"map", "........+.", "/n must be a map"},
        {"any", "++++++++++", ""},
        {"scalar", "+++++++..+", "/n must be a single value, no list or map"},
        {"float", ".++++....+", "/n must be a number"},
        {"number", ".++++....+", "/n must be a number"},
        {"text", "+++++....+", "/n must be a string or a number"},
    };
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
        for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
            char fragment[100];
            snprintf(fragment, sizeof(fragment), "{\"type\":\"%s\"%s}", types[t].type,
                     strcmp(types[t].type, "seq") == 0   ? ",\"sequence\":[{}]"
                     : strcmp(types[t].type, "map") == 0 ? ",\"mapping\":{}"
                                                         : "");
            const struct value_row row = {values[v],
                                          types[t].drawn[v] == '+' ? "" : types[t].wrong};
            check_values(fragment, &row, 1);
        }
}

TEST(without_a_type_a_rule_means_str)
{
    static const struct value_row rows[] = {
        {"\"a\"", ""},
        {"7", "/n must be a string"},
        {"null", ""},
        {NULL, ""},
    };
    CHECK_VALUES("{\"required\":false}", rows);
}

TEST(no_schema_takes_everything)
{
    static const struct value_row rows[] = {
        {"\"a\"", ""}, {"7", ""}, {"null", ""}, {"{\"a\":[1]}", ""}, {NULL, ""},
    };
    CHECK_VALUES("{}", rows);
    CHECK_VALUES("null", rows);
    struct arena a = {0};
    struct violations found = {0};
    CHECK(schema_validate(&a, NULL, STR("n"), NULL, &found));
    CHECK(found.count == 0);
}

TEST(null_passes_unless_required)
{
    static const struct value_row free_rows[] = {{"null", ""}, {NULL, ""}};
    static const struct value_row required_rows[] = {
        {"null", "/n is required"}, {NULL, "/n is required"}, {"1", ""}};
    CHECK_VALUES("{\"type\":\"int\"}", free_rows);
    CHECK_VALUES("{\"type\":\"int\",\"enum\":[1]}", free_rows);
    CHECK_VALUES("{\"type\":\"int\",\"required\":false}", free_rows);
    CHECK_VALUES("{\"type\":\"int\",\"required\":true}", required_rows);
    CHECK_VALUES("{\"type\":\"any\",\"required\":true}", required_rows);
}

TEST(false_zero_and_empty_are_values)
{
    static const struct value_row rows[] = {
        {"false", ""}, {"0", ""}, {"\"\"", ""}, {"[]", ""}, {"{}", ""}};
    CHECK_VALUES("{\"type\":\"any\",\"required\":true}", rows);
}

TEST(enum_compares_by_equality)
{
    static const struct value_row rows[] = {
        {"\"red\"", ""},
        {"\"green\"", ""},
        {"7", ""},
        {"true", ""},
        {"[1,2]", ""},
        {"\"Red\"", "/n must be one of red, green, 7, true, [1,2]"},
        {"\"7\"", "/n must be one of red, green, 7, true, [1,2]"},
        {"[2,1]", "/n must be one of red, green, 7, true, [1,2]"},
        {"\"\"", "/n must be one of red, green, 7, true, [1,2]"},
    };
    CHECK_VALUES("{\"type\":\"any\",\"enum\":[\"red\",\"green\",7,true,[1,2]]}", rows);
    static const struct value_row none[] = {{"\"a\"", "/n must be one of "}};
    CHECK_VALUES("{\"enum\":[]}", none);
    static const struct value_row typed[] = {{"\"1\"", "/n must be an integer"}, {"1", ""}};
    CHECK_VALUES("{\"type\":\"int\",\"enum\":[1]}", typed);
}

TEST(patterns_are_searched_in_strings)
{
    static const struct value_row found[] = {
        {"\"xaby\"", ""},
        {"\"ab\"", ""},
        {"\"ba\"", "/n does not match /ab/"},
        {"\"AB\"", "/n does not match /ab/"},
        {"\"\"", "/n does not match /ab/"},
    };
    CHECK_VALUES("{\"pattern\":\"/ab/\"}", found);
    static const struct value_row whole[] = {
        {"\"10.0.0.1\"", ""},
        {"\"10.0.0\"", "/n does not match /\\A(\\d+\\.){3}\\d+\\z/"},
        {"\"10.0.0.1\\n\"", "/n does not match /\\A(\\d+\\.){3}\\d+\\z/"},
    };
    CHECK_VALUES("{\"pattern\":\"/\\\\A(\\\\d+\\\\.){3}\\\\d+\\\\z/\"}", whole);
    static const struct value_row any_case[] = {{"\"xAb\"", ""},
                                                {"\"b\"", "/n does not match /ab/i"}};
    CHECK_VALUES("{\"pattern\":\"/ab/i\"}", any_case);
    static const struct value_row slash[] = {{"\"a/b\"", ""},
                                             {"\"ab\"", "/n does not match /a/b/"}};
    CHECK_VALUES("{\"pattern\":\"/a/b/\"}", slash);
    static const struct value_row numbers[] = {{"5", ""}, {"\"5\"", "/n does not match /a/"}};
    CHECK_VALUES("{\"type\":\"text\",\"pattern\":\"/a/\"}", numbers);
}

TEST(a_pattern_beyond_us_is_not_checked_but_the_rest_is)
{
    static const struct value_row rows[] = {{"\"x\"", ""}, {"7", "/n must be a string"}};
    CHECK_VALUES("{\"pattern\":\"/a(?!b)/\"}", rows);
    CHECK_VALUES("{\"pattern\":\"/a/m\"}", rows);
}

TEST(enum_and_pattern_both_speak)
{
    static const struct value_row rows[] = {
        {"\"c\"", "/n must be one of a, b; /n does not match /a/"},
        {"\"b\"", "/n does not match /a/"},
        {"\"a\"", ""},
    };
    CHECK_VALUES("{\"enum\":[\"a\",\"b\"],\"pattern\":\"/a/\"}", rows);
}

TEST(a_sequence_holds_each_element_against_its_rule)
{
    static const struct value_row rows[] = {
        {"[]", ""},
        {"[1,2,3]", ""},
        {"[1,null]", ""},
        {"[1,\"2\",3,true]", "/n/1 must be an integer; /n/3 must be an integer"},
        {"{}", "/n must be a list"},
        {"1", "/n must be a list"},
    };
    CHECK_VALUES("{\"type\":\"seq\",\"sequence\":[{\"type\":\"int\"}]}", rows);
    static const struct value_row required[] = {{"[1,null,2]", "/n/1 is required"}, {"[]", ""}};
    CHECK_VALUES("{\"type\":\"seq\",\"sequence\":[{\"type\":\"int\",\"required\":true}]}",
                 required);
}

TEST(a_mapping_names_its_keys)
{
    static const struct value_row rows[] = {
        {"{\"b\":1}", ""},
        {"{\"a\":\"x\",\"b\":1,\"d\":true}", ""},
        {"{\"b\":1,\"d\":null}", ""},
        {"{}", "/n/b is required"},
        {"{\"b\":null}", "/n/b is required"},
        {"{\"a\":7,\"c\":1}",
         "/n/a must be a string; /n/b is required; /n/c is not a key of the schema"},
        {"{\"=\":1,\"A\":2,\"b\":1,\"e\":null}",
         "/n/= is not a key of the schema; /n/A is not a key of the schema; "
         "/n/e is not a key of the schema"},
        {"[]", "/n must be a map"},
    };
    CHECK_VALUES(
        "{\"type\":\"map\",\"mapping\":{\"a\":{},\"b\":{\"type\":\"int\",\"required\":true},"
        "\"d\":{\"type\":\"bool\"}}}",
        rows);
    static const struct value_row none[] = {{"{}", ""},
                                            {"{\"a\":1}", "/n/a is not a key of the schema"}};
    CHECK_VALUES("{\"type\":\"map\",\"mapping\":{}}", none);
}

TEST(the_equals_key_is_the_rule_for_all_others)
{
    static const struct value_row rows[] = {
        {"{}", ""},
        {"{\"x\":1,\"y\":2}", ""},
        {"{\"a\":\"s\",\"x\":1}", ""},
        {"{\"a\":1,\"x\":\"s\"}", "/n/a must be a string; /n/x must be an integer"},
        {"{\"=\":\"s\"}", "/n/= must be an integer"},
        {"{\"=\":1}", ""},
        {"{\"x\":null}", "/n/x is required"},
    };
    CHECK_VALUES("{\"type\":\"map\",\"mapping\":{\"a\":{},"
                 "\"=\":{\"type\":\"int\",\"required\":true}}}",
                 rows);
}

TEST(rules_nest_and_paths_lead_to_the_fault)
{
    static const char fragment[] =
        "{\"type\":\"seq\",\"required\":true,\"sequence\":[{\"type\":\"map\",\"mapping\":{"
        "\"name\":{\"type\":\"str\",\"required\":true,\"pattern\":\"/^[a-z]+$/\"},"
        "\"mode\":{\"enum\":[\"on\",\"off\"]},"
        "\"ports\":{\"type\":\"seq\",\"sequence\":[{\"type\":\"int\"}]},"
        "\"tags\":{\"type\":\"map\",\"mapping\":{\"=\":{\"type\":\"seq\",\"sequence\":[{}]}}}}}]}";
    static const struct value_row rows[] = {
        {"[{\"name\":\"a\",\"mode\":\"on\",\"ports\":[1,2],\"tags\":{\"x\":[\"y\"]}}]", ""},
        {"[{\"name\":\"a\"},{\"name\":\"B\",\"mode\":\"of\",\"ports\":[1,\"2\"],"
         "\"tags\":{\"x\":[\"y\",3],\"z\":4}},7,{\"nam\":\"c\"}]",
         "/n/1/mode must be one of on, off; /n/1/name does not match /^[a-z]+$/; "
         "/n/1/ports/1 must be an integer; /n/1/tags/x/1 must be a string; "
         "/n/1/tags/z must be a list; /n/2 must be a map; "
         "/n/3/nam is not a key of the schema; /n/3/name is required"},
        {"null", "/n is required"},
    };
    CHECK_VALUES(fragment, rows);
}

TEST(a_malformed_fragment_fits_nothing)
{
    static const struct value_row rows[] = {{"1", "/n has a malformed schema"},
                                            {NULL, "/n has a malformed schema"}};
    CHECK_VALUES("{\"type\":\"integer\"}", rows);
    CHECK_VALUES("{\"type\":\"any\",\"size\":1}", rows);
    CHECK_VALUES("[]", rows);
}

/* {type: seq, sequence: [ ... ]} around an int, `depth` times. */
static struct json *nested_rule(struct arena *a, uint32_t depth)
{
    struct json *rule = json_make(a, JSON_OBJECT);
    json_set(rule, STR("type"), json_make_string(a, STR("int")));
    for (uint32_t i = 0; i < depth; i++) {
        struct json *outer = json_make(a, JSON_OBJECT);
        struct json *list = json_make(a, JSON_ARRAY);
        json_append(list, rule);
        json_set(outer, STR("type"), json_make_string(a, STR("seq")));
        json_set(outer, STR("sequence"), list);
        rule = outer;
    }
    return rule;
}

static struct json *nested_value(struct arena *a, uint32_t depth)
{
    struct json *value = json_make_string(a, STR("x"));
    for (uint32_t i = 0; i < depth; i++) {
        struct json *list = json_make(a, JSON_ARRAY);
        json_append(list, value);
        value = list;
    }
    return value;
}

TEST(rules_nest_thirty_two_deep_and_no_deeper)
{
    struct arena a = {0};
    struct violations errors = {0};
    struct violations warnings = {0};
    const uint32_t most = SCHEMA_DEPTH_MAX - 1;
    CHECK(schema_check(&a, nested_rule(&a, most), &errors, &warnings));
    CHECK(!schema_check(&a, nested_rule(&a, most + 1), &errors, &warnings));
    CHECK(errors.count == 1 && str_eq(errors.first->text, STR("is nested too deep")));
    CHECK(errors.first->path.len == 32 * strlen("/sequence/0"));
    CHECK(!schema_check(&a, nested_rule(&a, 1000), &errors, &warnings));

    struct violations found = {0};
    CHECK(!schema_validate(&a, nested_rule(&a, most), STR("n"), nested_value(&a, most), &found));
    CHECK(found.count == 1 && str_eq(found.first->text, STR("must be an integer")));
    CHECK(found.first->path.len == 2 + 2 * most);
    /* The value may go deeper than the rules; they do not follow it. */
    CHECK(!schema_validate(&a, nested_rule(&a, most), STR("n"), nested_value(&a, 60), &found));
    CHECK(found.count == 2 && found.last->path.len == 2 + 2 * most);
    arena_fini(&a);
}

TEST(a_list_of_violations_ends_and_says_how_many_are_missing)
{
    struct arena a = {0};
    struct violations found = {0};
    struct json *list = json_make(&a, JSON_ARRAY);
    for (int i = 0; i < 1500; i++)
        json_append(list, json_make_i64(&a, i));
    const struct json *fragment = read_json(&a, "{\"type\":\"seq\",\"sequence\":[{}]}");
    CHECK(!schema_validate(&a, fragment, STR("n"), list, &found));
    CHECK(found.count == VIOLATIONS_MAX && found.left_off == 500);
    CHECK(str_eq(found.last->path, STR("/n/999")) && found.last->next == NULL);
    CHECK(str_ends(violations_format(&a, &found), STR("must be a string; and 500 more")));
    /* Full, and still an answer. */
    CHECK(!schema_validate(&a, fragment, STR("n"), list, &found));
    CHECK(found.count == VIOLATIONS_MAX && found.left_off == 2000);
    const struct json *choice = read_json(&a, "{\"type\":\"int\",\"enum\":[7]}");
    CHECK(!schema_validate(&a, choice, STR("n"), read_json(&a, "8"), &found));
    CHECK(found.left_off == 2001);
    const struct json *pattern = read_json(&a, "{\"pattern\":\"/b/\"}");
    CHECK(!schema_validate(&a, pattern, STR("n"), read_json(&a, "\"a\""), &found));
    CHECK(found.left_off == 2002);
    CHECK(schema_validate(&a, pattern, STR("n"), read_json(&a, "\"b\""), &found));
    CHECK(found.left_off == 2002);
    arena_fini(&a);
}

TEST(long_paths_and_texts_are_cut_between_characters)
{
    struct arena a = {0};
    struct buf key = buf_in(&a);
    buf_put_c(&key, 'k');
    for (int i = 0; i < 2000; i++)
        buf_put_z(&key, "é");
    for (uint32_t shift = 0; shift < 2; shift++) {
        struct violations found = {0};
        struct json *map = json_make(&a, JSON_OBJECT);
        json_set(map, str_slice(buf_str(&key), shift, key.len), json_make_i64(&a, 1));
        const struct json *fragment = read_json(&a, "{\"type\":\"map\",\"mapping\":{}}");
        CHECK(!schema_validate(&a, fragment, STR("n"), map, &found));
        CHECK(str_is_clean(found.first->path));
        CHECK(str_ends(found.first->path, STR("é....")));
        CHECK(found.first->path.len > VIOLATION_LEN && found.first->path.len < VIOLATION_LEN + 8);
    }
    struct violations found = {0};
    struct json *fragment = json_make(&a, JSON_OBJECT);
    struct json *choices = json_make(&a, JSON_ARRAY);
    for (int i = 0; i < 3; i++)
        json_append(choices, json_make_string(&a, buf_str(&key)));
    json_set(fragment, STR("enum"), choices);
    CHECK(!schema_validate(&a, fragment, STR("n"), read_json(&a, "\"a\""), &found));
    CHECK(str_starts(found.first->text, STR("must be one of ké")));
    CHECK(str_ends(found.first->text, STR("é....")) && str_is_clean(found.first->text));
    CHECK(found.first->text.len < VIOLATION_LEN + 8);
    arena_fini(&a);
}

TEST(a_large_value_is_checked_in_one_walk)
{
    /* 50,000 keys against 50,000 rules: a search per key would take minutes. */
    struct arena a = {0};
    struct buf rules = buf_in(&a);
    struct buf value = buf_in(&a);
    buf_put_z(&rules, "{\"type\":\"map\",\"mapping\":{");
    buf_put_c(&value, '{');
    for (int i = 100000; i < 150000; i++) {
        const char *comma = i > 100000 ? "," : "";
        buf_put_z(&rules, comma);
        buf_put_c(&rules, '"');
        buf_put_i64(&rules, i);
        buf_put_z(&rules, "\":{\"type\":\"int\"}");
        buf_put_z(&value, comma);
        buf_put_c(&value, '"');
        buf_put_i64(&value, i + 1);
        buf_put_z(&value, "\":1");
    }
    buf_put_z(&rules, "}}");
    buf_put_c(&value, '}');
    struct violations found = {0};
    CHECK(!schema_validate(&a, read_text(&a, buf_str(&rules)), STR("n"),
                           read_text(&a, buf_str(&value)), &found));
    CHECK(found.count == 1);
    CHECK(str_eq(found.first->path, STR("/n/150000")));
    arena_fini(&a);
}

TEST(patterns_take_no_more_memory_than_there_is_for_them)
{
    struct arena a = {0};
    struct buf rules = buf_in(&a);
    buf_put_z(&rules, "{\"type\":\"map\",\"mapping\":{");
    for (int i = 100; i < 200; i++) {
        buf_put_z(&rules, i > 100 ? ",\"" : "\"");
        buf_put_i64(&rules, i);
        buf_put_z(&rules, "\":{\"pattern\":\"/.{9999}/\"}");
    }
    buf_put_z(&rules, "}}");
    const struct json *fragment = read_text(&a, buf_str(&rules));
    struct violations errors = {0};
    struct violations warnings = {0};
    const size_t before = arena_used(&a);
    CHECK(schema_check(&a, fragment, &errors, &warnings));
    CHECK(arena_used(&a) - before < 2 * SCHEMA_PATTERNS_SIZE);
    CHECK(warnings.count > 0 && warnings.count < 100);
    CHECK(str_eq(warnings.last->path, STR("/mapping/199/pattern")));
    CHECK(str_eq(warnings.last->text, STR("is not checked: the patterns before it are too large")));
    /* Those before it are checked. */
    struct violations found = {0};
    CHECK(!schema_validate(&a, fragment, STR("n"), read_json(&a, "{\"100\":\"a\",\"199\":\"a\"}"),
                           &found));
    CHECK(found.count == 1 && str_eq(found.first->path, STR("/n/100")));
    arena_fini(&a);
}

#define TOO_LARGE "is too large to be validated against its schema"

TEST(a_text_that_would_be_searched_for_ages_is_refused)
{
    struct arena a = {0};
    struct json *list = json_make(&a, JSON_ARRAY);
    char *text = arena_alloc(&a, 1u << 20);
    memset(text, 'a', 1u << 20);
    json_append(list, json_make_string(&a, STR("ab")));
    json_append(list, json_make_string(&a, (struct str){text, 1u << 20}));
    json_append(list, json_make_string(&a, STR("b")));
    struct violations found = {0};
    const struct json *slow =
        read_json(&a, "{\"type\":\"seq\",\"sequence\":[{\"pattern\":\"/(.?){9000}b/\"}]}");
    CHECK(!schema_validate(&a, slow, STR("n"), list, &found));
    check_sentence(&a, "slow", &found, "/n/1 " TOO_LARGE);
    /* What people write is searched, however long the text. */
    struct violations none = {0};
    const struct json *usual =
        read_json(&a, "{\"type\":\"seq\",\"sequence\":[{\"pattern\":\"/^[ab]+$/\"}]}");
    CHECK(schema_validate(&a, usual, STR("n"), list, &none));
    arena_fini(&a);
}

TEST(a_value_that_would_be_compared_for_ages_is_refused)
{
    struct arena a = {0};
    struct json *rule = json_make(&a, JSON_OBJECT);
    struct json *choices = json_make(&a, JSON_ARRAY);
    struct json *list = json_make(&a, JSON_ARRAY);
    for (int i = 0; i < 20000; i++) {
        json_append(choices, json_make_i64(&a, i));
        json_append(list, json_make_i64(&a, i % 2 ? 0 : 20000));
    }
    json_set(rule, STR("type"), json_make_string(&a, STR("int")));
    json_set(rule, STR("enum"), choices);
    struct json *sequence = json_make(&a, JSON_ARRAY);
    struct json *whole = json_make(&a, JSON_OBJECT);
    json_append(sequence, rule);
    json_set(whole, STR("type"), json_make_string(&a, STR("seq")));
    json_set(whole, STR("sequence"), sequence);
    struct violations found = {0};
    CHECK(!schema_validate(&a, whole, STR("n"), list, &found));
    CHECK(str_starts(found.first->text, STR("must be one of 0, 1, ")));
    /* From some element on all of them, fitting or not. */
    const struct json *fitting = read_json(&a, "[0]");
    CHECK(found.left_off > 10000);
    struct violations none = {0};
    CHECK(schema_validate(&a, whole, STR("n"), fitting, &none));
    arena_fini(&a);
}
