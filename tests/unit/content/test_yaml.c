/* Goal: YAML is converted to JSON, every value has its position, and every invalid text is refused
 * with line, column and a message. */
#include "content/yaml.h"
#include "tests/unit/content/content_test.h"

static const struct json *read_text(struct bench *b, struct str text)
{
    const struct json *value = NULL;
    bench_open(b);
    const err e = yaml_read(&b->report, STR("f.yml"), text, &value);
    CHECK(e != OK || value != NULL);
    CHECK((e == OK) == (b->report.errors == 0));
    CHECK(e == OK || e == ERR_SYNTAX);
    return value;
}

static const struct json *read_yaml(struct bench *b, const char *text)
{
    return read_text(b, str_from(text));
}

/* Reads as that JSON (single quotes for double ones) with these warnings. */
static bool reads_with(const char *text, const char *quoted, const char *warnings)
{
    struct bench b;
    const struct json *value = read_yaml(&b, text);
    char json[1000];
    snprintf(json, sizeof json, "%s", quoted);
    for (char *c = json; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    bool is_same = same(said(&b), warnings) && b.report.errors == 0;
    is_same = is_same && same(json_write(&b.arena, value), json);
    bench_close(&b);
    return is_same;
}

static bool reads(const char *text, const char *quoted)
{
    return reads_with(text, quoted, "");
}

static bool refuses(const char *text, const char *complaint)
{
    struct bench b;
    const struct json *value = read_yaml(&b, text);
    const bool is_same = same(said(&b), complaint);
    CHECK(!value || b.report.errors);
    bench_close(&b);
    return is_same;
}

/* ---- what it reads ---- */

TEST(no_text_is_no_value)
{
    struct bench b;
    CHECK(reads("", "null") && reads("\xef\xbb\xbf", "null") && reads(" \n", "null"));
    CHECK(reads("# a remark", "null") && reads("---\n", "null"));
    /* As a request hands it over whose text is empty. */
    const struct json *value = read_text(&b, (struct str){NULL, 0});
    CHECK(value && value->kind == JSON_NULL && b.report.errors == 0);
    bench_close(&b);
}

TEST(maps_lists_and_scalars_become_json)
{
    CHECK(reads("b: 1\na: [x, 'y', \"z\"]\n", "{'a':['x','y','z'],'b':1}"));
    CHECK(reads("- a\n-\n- ~\n- - b\n  - c: d\n    e: f\n",
                "['a',null,null,['b',{'c':'d','e':'f'}]]"));
    CHECK(
        reads("a: |\n  one\n  two\nb: >\n  one\n  two\n", "{'a':'one\\ntwo\\n','b':'one two\\n'}"));
    CHECK(reads("a: one\n  two\n", "{'a':'one two'}"));
    CHECK(reads("{a: {}, b: [], c: ''}", "{'a':{},'b':[],'c':''}"));
    CHECK(reads("a: \"\\t\\u00e9\\x41\\n\"\n", "{'a':'\\t\xc3\xa9"
                                               "A\\n'}"));
    CHECK(reads("\"x\"", "'x'"));
    CHECK(reads("{\"json\": [1, 2.5e+3, true, null, \"a\\/b\"]}",
                "{'json':[1,2.5e+3,true,null,'a/b']}"));
}

TEST(a_text_without_a_document_is_null)
{
    CHECK(reads("", "null") && reads("\n# only words\n", "null") && reads("---\n", "null"));
}

TEST(only_plain_scalars_are_anything_but_texts)
{
    CHECK(reads("[yes, 'yes', \"yes\", 12, '12', ~, '~', '', 1.5, \"1.5\"]",
                "[true,'yes','yes',12,'12',null,'~','',1.5,'1.5']"));
    CHECK(reads("a: |-\n  12\nb: >-\n  yes\n", "{'a':'12','b':'yes'}"));
    CHECK(reads("[on, off, On, y, 2014-03-13, 08]", "[true,false,true,'y','2014-03-13','08']"));
}

TEST(keys_are_texts_as_they_are_written)
{
    CHECK(reads("on: 1\n12: 2\n~: 3\n0644: 4\n'': 5\n", "{'':5,'0644':4,'12':2,'on':1,'~':3}"));
    CHECK(reads("a/b: 1\n? long\n: 2\n=: 3\n", "{'=':3,'a/b':1,'long':2}"));
}

TEST(members_are_sorted_by_bytes)
{
    CHECK(reads("b: 1\nB: 2\na-b: 3\na: 4\n\xc3\xa9: 5\nab: 6\n",
                "{'B':2,'a':4,'a-b':3,'ab':6,'b':1,'\xc3\xa9':5}"));
}

TEST(core_tags_say_what_a_scalar_is)
{
    CHECK(reads(
        "[!!str 12, !!str yes, ! 12, !!int 12, !!int '12', !!float 1.5, !!bool 'yes', !!null '']",
        "['12','yes','12',12,12,1.5,true,null]"));
    CHECK(reads("!!map {a: !!seq [b]}", "{'a':['b']}"));
    CHECK(reads("%TAG !y! tag:yaml.org,2002:\n---\n!y!str 12", "'12'"));
    CHECK(reads("!!str k: v", "{'k':'v'}"));
}

TEST(a_byte_order_mark_and_windows_lines_are_fine)
{
    CHECK(reads("\xef\xbb\xbf"
                "a: 1\r\nb: 2\r\n",
                "{'a':1,'b':2}"));
}

TEST(numbers_that_read_oddly_are_warned_about)
{
    struct bench b;
    const struct json *value =
        read_yaml(&b, "mode: 0644\nmac: 52:54:00\nfar: .inf\nbig: 0xffffffffffffffffff\n");
    CHECK(same(json_write(&b.arena, value),
               "{\"big\":\"0xffffffffffffffffff\",\"far\":\".inf\",\"mac\":190440,\"mode\":420}"));
    CHECK(same(
        said(&b),
        "1:7 warning 0644 is read as the number 420; put it in quotes if it is a string\n"
        "2:6 warning 52:54:00 is read as the number 190440; put it in quotes if it is a string\n"
        "3:6 warning .inf is not a number that JSON can represent; read as a string\n"
        "4:6 warning 0xffffffffffffffffff is not a number that JSON can represent; read as a "
        "string\n"));
    bench_close(&b);
}

TEST(only_the_first_document_is_read)
{
    struct bench b;
    const struct json *value = read_yaml(&b, "a: 1\n---\nb: 2\n");
    CHECK(same(json_write(&b.arena, value), "{\"a\":1}"));
    CHECK(same(said(&b), "2:1 warning only the first document of a file is read\n"));
    bench_close(&b);
    CHECK(reads("a: 1\n...\n", "{'a':1}"));
}

/* ---- anchors and merge keys ---- */

TEST(aliases_are_replaced_by_what_was_anchored)
{
    CHECK(reads("a: &x [1, {b: 2}]\nc: *x\nd: [*x]\n",
                "{'a':[1,{'b':2}],'c':[1,{'b':2}],'d':[[1,{'b':2}]]}"));
    CHECK(reads("- &x one\n- *x\n- &x two\n- *x\n", "['one','one','two','two']"));
    CHECK(reads("- &k key\n- *k : v\n- &n 7\n- {*n : w}\n", "['key',{'key':'v'},7,{'7':'w'}]"));
    CHECK(reads("&k a: 1\nb: *k\n", "{'a':1,'b':'a'}"));
    CHECK(reads("- &e\n- *e\n", "[null,null]"));
}

TEST(merge_keys_bring_in_what_the_map_does_not_say)
{
    CHECK(reads("- &x {a: 1, b: 2}\n- {b: 3, <<: *x}\n- {<<: *x, b: 3}\n",
                "[{'a':1,'b':2},{'a':1,'b':3},{'a':1,'b':3}]"));
    CHECK(reads("- &x {a: 1}\n- &y {a: 2, b: 2}\n- {<<: [*x, *y], c: 3}\n",
                "[{'a':1},{'a':2,'b':2},{'a':1,'b':2,'c':3}]"));
    CHECK(reads("<<: {a: 1, deep: {x: 1}}\ndeep: {y: 2}\n", "{'a':1,'deep':{'y':2}}"));
    CHECK(reads("{<<: , a: 1}", "{'a':1}") && reads("{<<: [], a: 1}", "{'a':1}"));
    CHECK(reads("{'<<': x}", "{'<<':'x'}"));
    CHECK(reads("- &x {a: 1}\n- &y {<<: *x, b: 2}\n- {<<: *y}\n",
                "[{'a':1},{'a':1,'b':2},{'a':1,'b':2}]"));
}

TEST(a_merge_key_that_names_no_map_is_refused)
{
    CHECK(refuses("a: 1\n<<: text\n", "2:1 error << must name a map or a list of maps\n"));
    CHECK(refuses("<<: [{a: 1}, 2]\n", "1:1 error << must name a map or a list of maps\n"));
    CHECK(refuses("<<: {a: 1}\nb: 1\n<<: {c: 1}\n",
                  "3:1 error the key << is repeated in one map; use one << with a list of maps\n"));
}

TEST(unknown_and_circular_aliases_are_refused)
{
    CHECK(refuses("a: 1\nb: *missing\n", "2:4 error unknown anchor &missing\n"));
    CHECK(refuses("a: &x\n  b: *x\n", "2:6 error *x refers to a value that contains it\n"));
    CHECK(refuses("&x [1, [*x]]\n", "1:9 error *x refers to a value that contains it\n"));
    CHECK(refuses("a: &x\n  <<: *x\n", "2:7 error *x refers to a value that contains it\n"));
}

/* Ten lists, each of ten times the one before: 10^10 values in 400 bytes. */
TEST(an_alias_bomb_is_refused)
{
    struct bench b;
    char text[2000] = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
    for (int i = 1; i < 10; i++) {
        const size_t at = strlen(text);
        const int p = i - 1;
        snprintf(text + at, sizeof text - at,
                 "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i, p, p, p,
                 p, p, p, p, p, p, p);
    }
    CHECK(!read_yaml(&b, text));
    CHECK(b.report.errors == 1);
    CHECK(same(b.report.first->text,
               "too many values in the file, including those of expanded aliases"));
    CHECK(arena_used(&b.arena) < 100u << 20);
    bench_close(&b);
}

TEST(long_texts_cannot_be_multiplied_by_aliases)
{
    struct bench b;
    bench_open(&b);
    struct buf text = buf_in(&b.arena);
    buf_put_z(&text, "- &x ");
    for (int i = 0; i < 10000; i++)
        buf_put_z(&text, "0123456789");
    for (int i = 0; i < 45; i++)
        buf_put_z(&text, "\n- *x");
    const struct json *value;
    CHECK(yaml_read(&b.report, STR("f"), buf_str(&text), &value) == ERR_SYNTAX);
    CHECK(same(b.report.first->text,
               "too much text in the file, including that of expanded aliases"));
    bench_close(&b);
}

TEST(merge_keys_cannot_multiply_without_end_either)
{
    struct bench b;
    bench_open(&b);
    struct buf text = buf_in(&b.arena);
    buf_put_z(&text, "- &x {");
    for (int i = 0; i < 2000; i++) {
        buf_put_z(&text, "k");
        buf_put_i64(&text, i);
        buf_put_z(&text, ": v, ");
    }
    buf_put_z(&text, "}");
    for (int i = 0; i < 200; i++)
        buf_put_z(&text, "\n- {<<: *x}");
    const struct json *value;
    CHECK(yaml_read(&b.report, STR("f"), buf_str(&text), &value) == ERR_SYNTAX);
    CHECK(b.report.errors == 1);
    bench_close(&b);
}

TEST(anchors_have_a_bound)
{
    struct bench b;
    bench_open(&b);
    struct buf text = buf_in(&b.arena);
    for (uint32_t i = 0; i < YAML_ANCHORS_MAX; i++)
        buf_put_z(&text, "- &x y\n");
    const struct json *value;
    CHECK(yaml_read(&b.report, STR("f"), buf_str(&text), &value) == OK);
    buf_put_z(&text, "- &x y\n");
    CHECK(yaml_read(&b.report, STR("f"), buf_str(&text), &value) == ERR_SYNTAX);
    CHECK(same(said(&b), "1001:3 error too many anchors in the file\n"));
    bench_close(&b);
}

/* ---- bounds ---- */

static struct str nested(struct arena *a, uint32_t levels, const char *inner)
{
    struct buf text = buf_in(a);
    for (uint32_t i = 0; i < levels; i++)
        buf_put_c(&text, '[');
    buf_put_z(&text, inner);
    for (uint32_t i = 0; i < levels; i++)
        buf_put_c(&text, ']');
    return buf_str(&text);
}

TEST(levels_have_a_bound)
{
    struct bench b;
    struct arena a = {0};
    const struct json *value = read_text(&b, nested(&a, JSON_DEPTH_MAX, "x"));
    CHECK(value && json_depth(value) == JSON_DEPTH_MAX);
    bench_close(&b);
    CHECK(!read_text(&b, nested(&a, JSON_DEPTH_MAX + 1, "x")));
    CHECK(same(said(&b), "1:65 error lists and maps are nested too deeply\n"));
    bench_close(&b);
    CHECK(!read_text(&b, nested(&a, 100000, "x")));
    bench_close(&b);
    /* An alias brings its own levels with it. */
    const struct str two = STR_CONCAT(&a, STR("- &x [[]]\n- "), nested(&a, 61, "*x"));
    CHECK(read_text(&b, two));
    bench_close(&b);
    const struct str three = STR_CONCAT(&a, STR("- &x [[]]\n- "), nested(&a, 62, "*x"));
    CHECK(!read_text(&b, three));
    CHECK(same(said(&b), "2:65 error lists and maps are nested too deeply\n"));
    bench_close(&b);
    arena_fini(&a);
}

TEST(size_and_number_of_values_have_bounds)
{
    struct bench b;
    struct arena a = {0};
    const uint32_t size = YAML_SIZE_MAX + 1;
    char *text = arena_alloc(&a, size);
    memset(text, ' ', size);
    CHECK(read_text(&b, (struct str){text, size - 1}));
    bench_close(&b);
    CHECK(!read_text(&b, (struct str){text, size}));
    CHECK(same(said(&b), "0:0 error the file is larger than 4 MiB\n"));
    bench_close(&b);
    for (uint32_t i = 0; i + 4 <= size; i += 4)
        memcpy(text + i, "- a\n", 4);
    CHECK(!read_text(&b, (struct str){text, size - 1}));
    CHECK(b.report.errors == 1 && b.report.first->at.line == YAML_VALUES_MAX);
    bench_close(&b);
    arena_fini(&a);
}

/* Many members in no order: neither sorting nor finding doubles takes the square of them. */
TEST(a_map_of_many_keys_is_sorted)
{
    struct bench b;
    struct arena a = {0};
    struct buf text = buf_in(&a);
    for (uint32_t i = 0; i < 100000; i++) {
        buf_put_c(&text, 'k');
        buf_put_u64(&text, i * 7919u % 100000u);
        buf_put_z(&text, ": v\n");
    }
    const struct json *value = read_text(&b, buf_str(&text));
    CHECK(value && value->count == 100000);
    for (const struct json *m = value->first; m && m->next; m = m->next)
        CHECK(str_cmp(m->key, m->next->key) < 0);
    bench_close(&b);
    arena_fini(&a);
}

/* ---- refusals ---- */

TEST(the_last_value_of_a_repeated_key_is_used_with_a_warning)
{
    CHECK(reads_with("a: 1\nb: 2\na: 3\n", "{'a':3,'b':2}",
                     "3:1 warning the key a is repeated in one map: the value in line 3 is used,"
                     " the value in line 1 is ignored\n"));
    CHECK(reads_with("x:\n  - {a: 1, 'a': 2}\n  - b: 1\n    b: 2\n    b: [3]\n",
                     "{'x':[{'a':2},{'b':[3]}]}",
                     "2:12 warning the key a is repeated in one map: the value in line 2 is used,"
                     " the value in line 2 is ignored\n"
                     "5:5 warning the key b is repeated in one map: the value in line 5 is used,"
                     " the value in line 4 is ignored\n"
                     "5:5 warning the key b is repeated in one map: the value in line 5 is used,"
                     " the value in line 3 is ignored\n"));
    /* A merged value is no repetition, and the map's own value still wins. */
    CHECK(reads_with("a: &a {k: 1}\nb: {<<: *a, k: 2, k: 3}\n", "{'a':{'k':1},'b':{'k':3}}",
                     "2:19 warning the key k is repeated in one map: the value in line 2 is used,"
                     " the value in line 2 is ignored\n"));
    CHECK(reads("a: {k: 1}\nb: {k: 2}\n", "{'a':{'k':1},'b':{'k':2}}"));
    /* What is wrong with an ignored value is still wrong. */
    CHECK(refuses("a: *none\na: 1\n",
                  "1:4 error unknown anchor &none\n"
                  "2:1 warning the key a is repeated in one map: the value in line 2 is used, the"
                  " value in line 1 is ignored\n"));
}

TEST(syntax_errors_have_line_column_and_sentence)
{
    CHECK(refuses("a: [1, 2\nb: 3\n",
                  "2:2 error did not find expected ',' or ']', while parsing a flow sequence that"
                  " begins in line 1\n"));
    CHECK(refuses("a: 1\n  b: 2\n", "2:4 error mapping values are not allowed in this context\n"));
    CHECK(refuses("a: 'x\n",
                  "2:1 error found unexpected end of stream, while scanning a quoted scalar that"
                  " begins in line 1\n"));
    CHECK(
        refuses("a:\n\t- b\n",
                "2:1 error found character that cannot start any token, while scanning for the next"
                " token\n"));
    CHECK(refuses("a: \"\\q\"\n",
                  "1:5 error found unknown escape character, while parsing a quoted scalar\n"));
    CHECK(refuses(
        "a: \"\\ud800\"\n",
        "1:7 error found invalid Unicode character escape code, while parsing a quoted scalar\n"));
    CHECK(refuses("- a\nb: c\n",
                  "2:1 error did not find expected '-' indicator, while parsing a block collection"
                  " that begins in line 1\n"));
    CHECK(refuses("%YAML 3.0\n---\na: 1\n", "1:1 error found incompatible YAML document\n"));
    CHECK(
        refuses("a: 1\n} x\n",
                "2:1 error did not find expected key, while parsing a block mapping that begins in"
                " line 1\n"));
}

TEST(characters_that_no_text_may_have_are_refused)
{
    CHECK(refuses("a: 1\nb: x\xff\n", "2:5 error not valid UTF-8\n"));
    CHECK(refuses("a: 1\n\xc3\xa9: \xc3\n", "2:4 error not valid UTF-8\n"));
    CHECK(refuses("a: \xed\xa0\x80\n", "1:4 error not valid UTF-8\n"));
    CHECK(refuses("a: x\x01y\n", "1:5 error control characters are not allowed\n"));
    CHECK(refuses("a: \"x\\0y\"\n", "1:4 error U+0000 is not allowed in a string\n"));
    CHECK(refuses("\"\\0\": 1\nb: \"\\x00\"\n", "1:1 error U+0000 is not allowed in a string\n"
                                                "2:4 error U+0000 is not allowed in a string\n"));
    struct bench b;
    CHECK(!read_text(&b, STR("a: 1\nb: \0\n")));
    CHECK(same(said(&b), "2:4 error U+0000 is not allowed in a string\n"));
    bench_close(&b);
    CHECK(!read_text(&b, STR("\xff\xfe"
                             "a\0:\0"))); /* UTF-16 */
    CHECK(same(said(&b), "1:1 error not valid UTF-8\n"));
    bench_close(&b);
}

TEST(tags_beyond_the_core_are_refused)
{
    CHECK(refuses("a: !ruby/object:File x\n",
                  "1:4 error the tag !ruby/object:File is not supported\n"));
    CHECK(refuses("a: !!binary eA==\nb: !x [1]\nc: !!set {d}\n",
                  "1:4 error the tag tag:yaml.org,2002:binary is not supported\n"
                  "2:4 error the tag !x is not supported\n"
                  "3:4 error the tag tag:yaml.org,2002:set is not supported\n"));
    CHECK(refuses("!x a: 1\n", "1:1 error the tag !x is not supported\n"));
    CHECK(refuses("[!!seq {}, !!str []]",
                  "1:2 error the tag tag:yaml.org,2002:seq is not supported\n"
                  "1:12 error the tag tag:yaml.org,2002:str is not supported\n"));
    CHECK(refuses("- !!int x\n- !!bool 1\n- !!null x\n- !!float yes\n",
                  "1:3 error x does not have the type of its tag\n"
                  "2:3 error 1 does not have the type of its tag\n"
                  "3:3 error x does not have the type of its tag\n"
                  "4:3 error yes does not have the type of its tag\n"));
}

/* ---- what is broken ---- */

/* What is sound of a text with errors, as JSON; "" when nothing can be made of it. */
static bool leaves(const char *text, const char *quoted)
{
    struct bench b;
    char json[1000];
    const struct json *value = read_yaml(&b, text);
    CHECK(b.report.errors > 0);
    snprintf(json, sizeof json, "%s", quoted);
    for (char *c = json; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    const struct str seen =
        value ? json_write(&b.arena, yaml_copy_valid(&b.arena, value)) : STR("");
    const bool is_same = same(seen, json);
    bench_close(&b);
    return is_same;
}

TEST(what_reads_to_its_end_is_a_tree_without_what_is_wrong)
{
    CHECK(leaves("a: 1\nb: *missing\n", "{'a':1,'b':null}"));
    CHECK(leaves("a: [1, !x 2, 3]\n", "{'a':[1,3]}"));
    CHECK(leaves("a: [1, !x 2, {b: 3}]\n", "{'a':[1,null,{'b':3}]}"));
    CHECK(leaves("a: !x {b: 1}\nc: !y [2]\nd: 3\n", "{'a':null,'c':null,'d':3}"));
    CHECK(leaves("!x a: 1\nb: 2\n", "{'a':null,'b':2}"));
    CHECK(leaves("a: \"x\\0y\"\nb: [[\"\\0\"], []]\n", "{'a':null,'b':[[],[]]}"));
    CHECK(
        leaves("a: &x {b: !!int y, c: 2}\nd: *x\n", "{'a':{'b':null,'c':2},'d':{'b':null,'c':2}}"));
    CHECK(leaves("a: 1\na: *missing\nb: 3\n", "{'a':null,'b':3}"));
    CHECK(leaves("a: {<<: 7, b: 1}\nc: 2\n", "{'a':null,'c':2}"));
    CHECK(leaves("a: {<<: *missing, b: 1}\nc: 2\n", "{'a':null,'c':2}"));
    CHECK(leaves("!x [1]\n", "null"));
}

TEST(what_does_not_read_to_its_end_is_no_tree)
{
    CHECK(leaves("a: [1, 2\n", ""));
    CHECK(leaves("a: 1\n? [b]\n: 2\n", ""));
    CHECK(leaves("a: *missing\nb: [\n", ""));
    CHECK(leaves("a: \xff\n", ""));
}

TEST(a_path_is_sound_when_everything_on_it_is)
{
    struct bench b;
    const struct json *root = read_yaml(&b, "a: [{b: 1, c: !x 2, d: ~}, !y {b: 3}]\n");
    CHECK(yaml_is_valid_at(root, STR("")) && yaml_is_valid_at(root, STR("a")));
    CHECK(yaml_is_valid_at(root, STR("a/0")) && yaml_is_valid_at(root, STR("a/0/b")));
    CHECK(!yaml_is_valid_at(root, STR("a/0/c")) && !yaml_is_valid_at(root, STR("a/0/d")));
    CHECK(!yaml_is_valid_at(root, STR("a/1")) && !yaml_is_valid_at(root, STR("a/1/b")));
    CHECK(!yaml_is_valid_at(root, STR("a/2")) && !yaml_is_valid_at(root, STR("z")));
    const struct json *b_of_first = json_get(json_get(root, STR("a"))->first, STR("b"));
    CHECK(!yaml_is_broken(b_of_first));
    yaml_mark_broken(b_of_first);
    CHECK(yaml_is_broken(b_of_first) && !yaml_is_valid_at(root, STR("a/0/b")));
    bench_close(&b);
}

TEST(keys_that_are_no_texts_are_refused)
{
    CHECK(refuses("? [a]\n: 1\n", "1:3 error a key must be a scalar\n"));
    CHECK(refuses("{{a: 1}: 2}\n", "1:2 error a key must be a scalar\n"));
    CHECK(refuses("- &x [1]\n- {*x : 2}\n", "2:4 error a key must be a scalar\n"));
    CHECK(refuses("- &x yes\n- {*x : 2}\n", "2:4 error a key must be a scalar\n"));
}

/* ---- places ---- */

static bool has_position(const struct json *root, const char *path, uint32_t line, uint32_t column)
{
    const struct text_position at = yaml_position_at(root, str_from(path));
    if (at.line == line && at.column == column)
        return true;
    printf("%s is at %u:%u, not %u:%u\n", path, at.line, at.column, line, column);
    return false;
}

TEST(every_value_knows_its_place)
{
    struct bench b;
    const struct json *root = read_yaml(&b, "# a comment\n"
                                            "roles:\n"
                                            "  - name: one\n"
                                            "    requires:\n"
                                            "      - a\n"
                                            "      - b\n"
                                            "\n"
                                            "  - name: two\n"
                                            "    text: |\n"
                                            "      x\n"
                                            "      y\n"
                                            "    flow: [p, {q: r},\n"
                                            "      s]\n"
                                            "    none:\n"
                                            "  -\n"
                                            "    name: three\n"
                                            "end: 'x\n"
                                            "  y'\n");
    CHECK(has_position(root, "", 2, 1) && has_position(root, "roles", 2, 1));
    CHECK(has_position(root, "roles/0", 3, 5) && has_position(root, "roles/0/name", 3, 5));
    CHECK(has_position(root, "roles/0/requires", 4, 5));
    CHECK(has_position(root, "roles/0/requires/0", 5, 9) &&
          has_position(root, "roles/0/requires/1", 6, 9));
    CHECK(has_position(root, "roles/1", 8, 5) && has_position(root, "roles/1/text", 9, 5));
    CHECK(has_position(root, "roles/1/flow/0", 12, 12) &&
          has_position(root, "roles/1/flow/1/q", 12, 16));
    CHECK(has_position(root, "roles/1/flow/2", 13, 7) && has_position(root, "roles/1/none", 14, 5));
    CHECK(has_position(root, "roles/2", 16, 5) && has_position(root, "roles/2/name", 16, 5));
    CHECK(has_position(root, "end", 17, 1));
    /* A value that does not exist has the position of the last one on the path. */
    CHECK(has_position(root, "roles/1/jig", 8, 5) && has_position(root, "roles/7", 2, 1));
    CHECK(has_position(root, "roles/x", 2, 1) && has_position(root, "nothing/at/all", 2, 1));
    CHECK(has_position(root, "end/of/it", 17, 1) && has_position(root, "roles/0/", 3, 5));
    bench_close(&b);
}

TEST(values_of_an_alias_have_the_position_of_the_anchor)
{
    struct bench b;
    const struct json *root = read_yaml(&b, "base: &x\n"
                                            "  a: 1\n"
                                            "  b: [2]\n"
                                            "use: *x\n"
                                            "mix:\n"
                                            "  <<: *x\n"
                                            "  c: 3\n"
                                            "list:\n"
                                            "  - *x\n");
    CHECK(has_position(root, "use", 4, 1) && has_position(root, "use/a", 2, 3) &&
          has_position(root, "use/b/0", 3, 7));
    CHECK(has_position(root, "mix/a", 2, 3) && has_position(root, "mix/c", 7, 3));
    CHECK(has_position(root, "list/0", 9, 5) && has_position(root, "list/0/b", 3, 3));
    bench_close(&b);
}

TEST(what_was_read_holds_no_part_of_the_text)
{
    struct bench b;
    char text[] = "a: [x, 12, \"y\"]\nb: &n z\nc: *n\n";
    const struct json *value = read_yaml(&b, text);
    memset(text, '#', sizeof text - 1);
    CHECK(same(json_write(&b.arena, value), "{\"a\":[\"x\",12,\"y\"],\"b\":\"z\",\"c\":\"z\"}"));
    bench_close(&b);
}
