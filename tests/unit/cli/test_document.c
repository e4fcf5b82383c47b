/* Goal: any value that is written as YAML or JSON is read back as the same value. */
#include "cli/output/document.h"

#include <stdio.h>
#include <string.h>

#include "content/diagnostics.h"
#include "content/yaml.h"
#include "tests/check.h"

static struct json *tree_of(struct arena *a, const char *text)
{
    struct json *value = NULL;
    uint32_t offset;
    const char *what;
    CHECK(json_read(a, str_from(text), &value, &offset, &what) == OK);
    return value;
}

static bool comes_back(const char *text)
{
    struct arena a = {0};
    struct diagnostics report = {.arena = &a};
    const struct json *value = tree_of(&a, text), *from_yaml = NULL;
    struct buf yaml = buf_in(&a), json = buf_in(&a);
    document_put_yaml(&yaml, value);
    document_put_json(&json, value);
    const err e = yaml_read(&report, STR("test"), buf_str(&yaml), &from_yaml);
    const bool is_same = e == OK && json_eq(value, from_yaml) &&
                         json_eq(value, tree_of(&a, str_z(&a, buf_str(&json))));
    arena_fini(&a);
    return is_same;
}

static bool is_yaml(const char *text, const char *wanted)
{
    struct arena a = {0};
    struct buf b = buf_in(&a);
    document_put_yaml(&b, tree_of(&a, text));
    const bool is_same = str_eq(buf_str(&b), str_from(wanted));
    arena_fini(&a);
    return is_same;
}

TEST(trees_come_back)
{
    CHECK(comes_back("{}"));
    CHECK(comes_back("[]"));
    CHECK(comes_back("null"));
    CHECK(comes_back("\"\""));
    CHECK(comes_back("12"));
    CHECK(comes_back("[[1,[2,[]]],{\"a\":[{\"b\":{}}]},[[[]]]]"));
    CHECK(comes_back("{\"a\":{\"b\":[1,{\"c\":null,\"d\":[true,false]}]},\"e\":[]}"));
}

TEST(texts_stay_texts)
{
    static const char *const words[] = {
        "yes",     "No",      "on",      "OFF",      "null",       "~",       "true",
        "False",   "y",       "N",       "1",        "-1",         "1.5",     "1e3",
        "0x1f",    "0o7",     "1_000",   "_1",       ".inf",       ".nan",    "nan",
        "a: b",    "a #b",    "- a",     "? a",      "[a",         "{a",      "*a",
        "&a",      "!a",      "%a",      "@a",       "`a",         "'a'",     "\\\"a\\\"",
        "a\\nb",   " a",      "a ",      "a:",       ":",          "#",       "|",
        ">",       "---",     "...",     "12:30:45", "2001-01-01", "a\\tb",   "\\u0001",
        "\\u007f", "\\u0085", "\\u2028", "\\u2029",  "\\ufeff",    "\\uffff", "\\ufffe",
        "<<",      "=",       "a b",     "a/b.c@d",  "\xc3\xa9",   "-",       "",
    };
    for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char document[200];
        snprintf(document, sizeof document, "{\"k\":\"%s\",\"%s\":[\"%s\"]}", words[i],
                 strcmp(words[i], "k") == 0 ? "l" : words[i], words[i]);
        CHECK(comes_back(document));
    }
}

TEST(yaml_reads_well)
{
    CHECK(is_yaml("[{\"id\":1,\"name\":\"n1.example.com\",\"quirks\":[\"a\",\"b\"],\"extra\":{}}]",
                  "- extra: {}\n"
                  "  id: 1\n"
                  "  name: n1.example.com\n"
                  "  quirks:\n"
                  "    - a\n"
                  "    - b\n"));
    CHECK(is_yaml("{\"at\":\"2026-01-01T00:00:00.000Z\",\"no\":null}",
                  "at: \"2026-01-01T00:00:00.000Z\"\n"
                  "\"no\": null\n"));
}
