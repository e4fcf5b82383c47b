/* JSON to Lua and back: what goes in comes out, and what is no document is refused. */
#include "hooks/lua_json.h"

#include <stdio.h>
#include <string.h>

#include "base/json/json.h"
#include "hooks/role_code.h"
#include "model/limits.h"
#include "tests/check.h"

static struct arena arena;

/* Calls sysdata, whose body is given, with the document as `nr`. */
static struct task compute(const char *body, struct str document)
{
    struct buf b = buf_in(&arena);
    buf_put_z(&b, "return { sysdata = function(nr, data) ");
    buf_put_z(&b, body);
    buf_put_z(&b, "\nend }");
    struct role_code *code = NULL;
    struct role_functions functions;
    struct str text = {0};
    const struct role_source file = {
        .chunk = "doc.lua", .text = buf_str(&b), .limits = SANDBOX_LIMITS};
    CHECK(role_code_new(&file, &arena, &code, &functions, &text) == OK);
    CHECK(functions.hooks == 1u << HOOK_SYSDATA);
    struct task task = {.arena = &arena, .kind = TASK_COMPUTE, .function = "sysdata"};
    task.arguments[0] = document;
    role_code_call(code, &task);
    role_code_free(code);
    return task;
}

static bool has(struct str text, const char *part)
{
    return strstr(str_z(&arena, text), part) != NULL;
}

static void becomes(const char *body, const char *document, const char *expected)
{
    const struct task task = compute(body, str_from(document));
    if (task.failed || !str_eq(task.value, str_from(expected)))
        fprintf(stderr, "%s\n  of %s gave %.*s%.*s\n", body, document, STR_FMT_ARGS(task.value),
                STR_FMT_ARGS(task.text));
    CHECK(!task.failed);
    CHECK(str_eq(task.value, str_from(expected)));
    arena_reset(&arena);
}

static void stays(const char *document)
{
    becomes("return nr", document, document);
}

static void refused(const char *body, const char *why)
{
    const struct task task = compute(body, STR("{}"));
    if (!task.failed || !has(task.text, why))
        fprintf(stderr, "%s gave %.*s%.*s\n", body, STR_FMT_ARGS(task.value),
                STR_FMT_ARGS(task.text));
    CHECK(task.failed);
    CHECK(has(task.text, why));
    CHECK(has(task.text, "in sysdata"));
    arena_reset(&arena);
}

static void not_a_document(struct str text)
{
    const struct task task = compute("return nr", text);
    if (!task.failed)
        fprintf(stderr, "%.*s was taken\n", STR_FMT_ARGS(text));
    CHECK(task.failed);
    CHECK(has(task.text, "not a document") || has(task.text, "Lua can hold"));
    arena_reset(&arena);
}

TEST(documents_come_back_as_they_went)
{
    stays("{}");
    stays("{\"a\":{\"b\":{\"c\":[]}},\"d\":[[],{},[[]]]}");
    stays("{\"\":1,\"a/b\":true,\"n\":null,\"z\":false}");
    stays("{\"list\":[1,2,3,\"x\",null,null]}");
    stays("{\"nulls\":[null]}");
    stays("{\"1\":\"one\",\"10\":\"ten\",\"2\":\"two\"}");
    stays("{\"text\":\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"}");
    stays("{\"grün\":\"日本語 😀 ü\"}");
}

TEST(whole_numbers_stay_exact)
{
    stays("{\"n\":[0,-1,9007199254740993,9223372036854775807,-9223372036854775808]}");
    becomes("return { a = nr.a + 1, kind = math.type(nr.a) }", "{\"a\":9007199254740993}",
            "{\"a\":9007199254740994,\"kind\":\"integer\"}");
}

TEST(other_numbers_stay_what_they_are)
{
    stays("{\"n\":[0.1,1.5,-2.25,3.0,1e+30,1e-07,123456.789,0.30000000000000004]}");
    becomes("return nr", "{\"n\":[1.50,1E3,1e2]}", "{\"n\":[1.5,1000.0,100.0]}");
    becomes("return nr", "{\"n\":-0}", "{\"n\":0}");
    stays("{\"n\":-0.0}");
    becomes("return nr", "{\"n\":9223372036854775808}", "{\"n\":9.223372036854776e+18}");
    becomes("return nr", "{\"n\":1e-999}", "{\"n\":0.0}");
    becomes("return { n = 7 / 2, m = 8 / 2, k = 8 // 2 }", "{}", "{\"k\":4,\"m\":4.0,\"n\":3.5}");
}

TEST(arrays_are_distinguished_from_objects)
{
    becomes("return { a = {}, b = halligan.array{}, c = halligan.array(), d = { 1, 2 } }", "{}",
            "{\"a\":{},\"b\":[],\"c\":[],\"d\":[1,2]}");
    becomes("table.insert(nr.l, 'x') return nr", "{\"l\":[]}", "{\"l\":[\"x\"]}");
    becomes("nr.l[1] = nil return nr", "{\"l\":[5]}", "{\"l\":[]}");
    becomes("return { l = halligan.split('a,b', ',') }", "{}", "{\"l\":[\"a\",\"b\"]}");
    refused("return { l = { 1, 2, nil, 4 } }", "gaps");
    refused("return { l = { 1, x = 2 } }", "gaps, or with other keys");
    refused("return { l = halligan.array{ x = 2 } }", "other keys");
    refused("return { [0] = 1 }", "other keys");
    refused("return { [1.5] = 1 }", "other keys");
    refused("return { [true] = 1 }", "a boolean as a key");
    refused("return { [{}] = 1 }", "a table as a key");
    refused("return { 1, 2 }", "must be a table with names, not a list");
    refused("return halligan.array()", "must be a table with names, not a list");
}

TEST(null_is_a_value_and_nil_is_none)
{
    becomes("assert(nr.a == halligan.null and nr.b == nil) return { a = halligan.null, b = nil }",
            "{\"a\":null}", "{\"a\":null}");
    becomes("assert(type(halligan.null) == 'userdata') nr.a = nil return nr", "{\"a\":1}", "{}");
}

TEST(keys_are_written_in_the_order_of_their_bytes)
{
    becomes("return { b = 1, a = 2, ['a b'] = 3, Z = 4, ['é'] = 5, [''] = 6 }", "{}",
            "{\"\":6,\"Z\":4,\"a\":2,\"a b\":3,\"b\":1,\"é\":5}");
}

TEST(what_is_no_document_is_refused_on_the_way_out)
{
    refused("return { a = function() end }", "a function has no place");
    refused("return { a = pairs }", "a function has no place");
    refused("return { a = '\\xff' }", "not UTF-8");
    refused("return { ['\\xff'] = 1 }", "not UTF-8");
    refused("return { a = 'x\\0y' }", "not UTF-8");
    refused("return { a = 0/0 }", "not a number");
    refused("return { a = math.huge }", "infinite");
    refused("return { a = -math.huge }", "infinite");
    refused("return 5", "what it returns must be a table, not a number");
    refused("return 'x'", "must be a table, not a string");
    refused("local t = {} for i = 1, 48 do t = { t } end return { t = t }", "more than 48 levels");
    becomes(
        "local t = {} for i = 1, 46 do t = { t } end return { t = t }", "{}",
        "{\"t\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[{}]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
        "]]]]]]]]]]]]}");
    refused("return { a = ('\\1'):rep(200000) }", "more than 1048576 bytes");
    becomes("return nil", "{}", "{}");
    becomes("", "{}", "{}");
}

TEST(large_documents_pass)
{
    struct buf b = buf_in(&arena);
    buf_put_c(&b, '{');
    for (int i = 10000; i < 19000; i++) {
        buf_put_z(&b, i > 10000 ? ",\"key" : "\"key");
        buf_put_i64(&b, i);
        buf_put_z(&b, "\":[");
        buf_put_i64(&b, i);
        buf_put_z(&b, ",\"a value\"]");
    }
    buf_put_c(&b, '}');
    const struct task task = compute("return nr", buf_str(&b));
    CHECK(!task.failed);
    CHECK(str_eq(task.value, buf_str(&b)));
    arena_reset(&arena);
}

TEST(a_document_that_does_not_fit_in_memory_fails_the_hook)
{
    struct buf b = buf_in(&arena);
    buf_put_z(&b, "{\"a\":[[]");
    for (int i = 0; i < 300000; i++)
        buf_put_z(&b, ",[]");
    buf_put_z(&b, "]}");
    const struct task task = compute("return nr", buf_str(&b));
    CHECK(task.failed && has(task.text, "it needs more than 16384 KiB of memory"));
    arena_reset(&arena);
}

TEST(what_is_no_document_is_refused_on_the_way_in)
{
    static const char *const bad[] = {
        "{",      "}",           "{\"a\"}",    "{\"a\":}",    "{\"a\":1,}",
        "{,}",    "[1,]",        "[,1]",       "[1 2]",       "{\"a\":1}x",
        "tru",    "nul",         "{\"a\":+1}", "{\"a\":1e}",  "{\"a\":1.2.3}",
        "\"open", "\"\\x\"",     "\"\\u12\"",  "\"\\u0000\"", "\"\\u0041\"",
        "{a:1}",  "{\"a\":--1}", "{\"a\":-}",  "\"\\",        "{\"a\":1e999}",
        "[[[[",   "{\"a\":[}",   "{ \"a\":1}", "{\"a\":Inf}", "\"\\u00",
    };
    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++)
        not_a_document(str_from(bad[i]));
    struct buf b = buf_in(&arena);
    for (int i = 0; i < 65; i++)
        buf_put_c(&b, '[');
    for (int i = 0; i < 65; i++)
        buf_put_c(&b, ']');
    not_a_document(buf_str(&b));
    struct buf digits = buf_in(&arena);
    for (int i = 0; i < 500; i++)
        buf_put_c(&digits, '1');
    not_a_document(buf_str(&digits));
    not_a_document((struct str){"{\"a\":\0}", 7});
}

/* Every text that the reader of `base` writes canonically is read here, and comes back. */
TEST(canonical_text_of_any_shape_comes_back)
{
    static const char *const texts[] = {
        "{ \"b\" : [ 1 , 2.5 ] , \"a\" : { \"x\" : \"\\u00e9\\u0007\\/\" } }",
        "{\"k\":{\"\\u20ac\":{\"\\ud83d\\ude00\":[true,false,null]}}}",
        "{\"deep\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}",
    };
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct str canonical;
        uint32_t offset;
        const char *what;
        CHECK(json_canonical(&arena, str_from(texts[i]), &canonical, &offset, &what) == OK);
        const struct task task = compute("return nr", canonical);
        CHECK(!task.failed && str_eq(task.value, canonical));
    }
    arena_fini(&arena);
}
