/* Goal: input is one object, a list, or one object per line, and an error has its line. */
#include "cli/args/input_text.h"

#include <stdio.h>
#include <string.h>

#include "tests/check.h"

/* The canonical text of what was read; of a mistake "LINE what". */
static bool reads_as(const char *text, const char *wanted)
{
    struct arena a = {0};
    struct json *value;
    uint32_t line;
    char seen[300];
    const char *wrong = input_parse(&a, str_from(text), &value, &line);
    if (wrong)
        snprintf(seen, sizeof seen, "%u", line);
    else
        snprintf(seen, sizeof seen, "%s", str_z(&a, json_write(&a, value)));
    arena_fini(&a);
    return strcmp(seen, wanted) == 0;
}

TEST(objects_and_lists_are_read)
{
    CHECK(reads_as("{\"a\":1}", "{\"a\":1}"));
    CHECK(reads_as("{\n \"a\":\n 1\n}\n", "{\"a\":1}"));
    CHECK(reads_as("[{\"a\":1},\n{\"a\":2}]", "[{\"a\":1},{\"a\":2}]"));
    CHECK(reads_as("[]", "[]"));
    CHECK(reads_as("{\"a\":1}\n{\"a\":2}\n", "[{\"a\":1},{\"a\":2}]"));
    CHECK(reads_as("\n{\"a\":1}\r\n\n{\"a\":2}", "[{\"a\":1},{\"a\":2}]"));
}

TEST(mistakes_are_found_where_they_are)
{
    CHECK(reads_as("", "1"));
    CHECK(reads_as(" \n\n", "1"));
    CHECK(reads_as("7", "1"));
    CHECK(reads_as("[1]", "1"));
    CHECK(reads_as("[{},\n{},\n7]", "1"));
    CHECK(reads_as("{\n \"a\":\n ,\n}\n", "3"));
    CHECK(reads_as("{\"a\":1}\n{\"a\":2}\n{\"a\":}\n", "3"));
    CHECK(reads_as("{\"a\":1}\n[]\n", "2"));
    CHECK(reads_as("[\n{\"a\":1},\n{\"a\" 1}\n]", "3"));
}

TEST(a_value_is_json_where_it_can_be)
{
    struct arena a = {0};
    CHECK(input_value(&a, "12")->kind == JSON_NUMBER);
    CHECK(input_value(&a, "true")->kind == JSON_TRUE);
    CHECK(input_value(&a, "\"12\"")->kind == JSON_STRING);
    CHECK(input_value(&a, "{\"a\":[]}")->kind == JSON_OBJECT);
    CHECK(str_eq(input_value(&a, "dhcp")->text, STR("dhcp")));
    CHECK(str_eq(input_value(&a, "{oops")->text, STR("{oops")));
    CHECK(input_value(&a, "")->kind == JSON_STRING);
    arena_fini(&a);
}
