/* Goal: wall data is what the scripts wrote, with the documented types, or a reason why it is
 * refused. */
#include "run/jig/wall.h"

#include <stdio.h>
#include <string.h>

#include "base/prng.h"
#include "model/limits.h"
#include "run/jig/archive.h"
#include "tests/check.h"

static struct arena arena;

static bool reads(struct str bytes, const char *wanted)
{
    const struct json *value = wall_value(&arena, bytes);
    const struct str seen = value ? json_write(&arena, value) : STR("no text");
    if (str_eq(seen, str_from(wanted)))
        return true;
    printf("  seen: %.*s\nwanted: %s\n", STR_FMT_ARGS(seen), wanted);
    return false;
}

#define READS(bytes, wanted) CHECK(reads(STR(bytes), wanted))

TEST(a_value_is_what_it_looks_like)
{
    READS("true", "true");
    READS("TRUE", "true");
    READS("True\n", "true");
    READS("false", "false");
    READS("fAlSe", "false");
    READS(" true ", "true");
    READS("yes", "\"yes\"");
    READS("truely", "\"truely\"");
    READS("0", "0");
    READS("42", "42");
    READS("42\n", "42");
    READS(" 42\r\n", "42");
    READS("-42", "-42");
    READS("9223372036854775807", "9223372036854775807");
    READS("9223372036854775808", "\"9223372036854775808\"");
    READS("-0", "\"-0\"");
    READS("-", "\"-\"");
    READS("--1", "\"--1\"");
    READS("+1", "\"+1\"");
    READS("007", "\"007\"");
    READS("-07", "\"-07\"");
    READS("1.5", "\"1.5\"");
    READS("1e3", "\"1e3\"");
    READS("0x1f", "\"0x1f\"");
    READS("cafe", "\"cafe\"");
    READS("DEADBEEF", "\"DEADBEEF\"");
    READS("12 34", "\"12 34\"");
    READS("null", "\"null\"");
    READS("\"quoted\"", "\"\\\"quoted\\\"\"");
    READS("{}", "{}");
    READS("[]", "[]");
    READS(" {\"b\": 1, \"a\": [true, null]} \n", "{\"a\":[true,null],\"b\":1}");
    READS("{\"a\":1", "\"{\\\"a\\\":1\"");
    READS("[1,]", "\"[1,]\"");
    READS("{\"a\":1,\"a\":2}", "\"{\\\"a\\\":1,\\\"a\\\":2}\"");
    READS("", "\"\"");
    READS("\n", "\"\"");
    READS("text\n", "\"text\"");
    READS("text\n\n", "\"text\\n\"");
    READS("  text  ", "\"  text  \"");
    READS("one\ntwo", "\"one\\ntwo\"");
    READS("\xe2\x82\xac", "\"\xe2\x82\xac\"");
    READS("\xff", "no text");
    READS("a\0b", "no text");
    READS("\xed\xa0\x80", "no text");
    arena_fini(&arena);
}

struct file {
    const char *name, *content;
};

static bool makes(const struct file *files, uint32_t count, const char *wanted)
{
    struct archive archive = archive_begin(&arena);
    struct json *wall;
    struct reason why;
    for (uint32_t i = 0; i < count; i++)
        CHECK(archive_add_file(&archive, str_from(files[i].name), 0644,
                               str_from(files[i].content)) == OK);
    const err e = wall_read(&arena, archive_end(&archive), &wall, &why);
    CHECK(e == OK || e == ERR_REFUSED);
    const struct str seen = e == OK ? json_write(&arena, wall) : why.text;
    if (str_eq(seen, str_from(wanted)))
        return true;
    printf("  seen: %.*s\nwanted: %s\n", STR_FMT_ARGS(seen), wanted);
    return false;
}

#define MAKES(wanted, ...)                                                                         \
    do {                                                                                           \
        const struct file files[] = {__VA_ARGS__};                                                 \
        CHECK(makes(files, sizeof files / sizeof *files, wanted));                                 \
    } while (0)

TEST(values_are_stored_at_their_paths)
{
    CHECK(makes(NULL, 0, "{}"));
    MAKES("{\"a\":1}", {"./a/wall", "1"});
    MAKES("{\"a\":1}", {"a/wall", "1"});
    MAKES("{\"a\":{\"b\":1,\"c\":2},\"a-b\":3}", {"./a/c/wall", "2"}, {"./a-b/wall", "3"},
          {"./a/b/wall", "1"});
    MAKES("{\"a/b%c%2\":1}", {"./a%2Fb%25c%2/wall", "1"});
    MAKES("{\"a\":{\"b\":1,\"c\":2}}", {"./a/wall", "{\"b\":1}"}, {"./a/c/wall", "2"});
    MAKES("{\"a\":1,\"b\":2}", {"./wall", "{\"a\":1}"}, {"./b/wall", "2"});
    MAKES("{\"wall\":{\"wall\":1}}", {"./wall/wall/wall", "1"});
    MAKES("{}", {"./a/other", "1"}, {"./a/firewall", "1"}, {"./wall/x", "1"});
    arena_fini(&arena);
}

TEST(what_contradicts_itself_is_refused)
{
    MAKES("the scripts wrote attribute \"a/b\": another value has the same path or is part of it",
          {"./a/wall", "1"}, {"./a/b/wall", "2"});
    MAKES("the scripts wrote attribute \"a/0\": another value has the same path or is part of it",
          {"./a/wall", "[1]"}, {"./a/0/wall", "2"});
    MAKES("the scripts wrote attribute \"a/b\": another value has the same path or is part of it",
          {"./a/wall", "{\"b\":1}"}, {"./a/b/wall", "2"});
    MAKES("the scripts wrote attribute \"a\": another value has the same path or is part of it",
          {"./a/wall", "1"}, {"./a/wall", "2"});
    MAKES("the scripts wrote all attributes at once, but not as an object", {"./wall", "1"});
    MAKES("the scripts wrote attribute \"/a\": that is not a path", {"/a/wall", "1"});
    MAKES("the scripts wrote attribute \"a//b\": that is not a path", {"a//b/wall", "1"});
    MAKES("the scripts wrote attribute \"a\": its value is not UTF-8 text", {"./a/wall", "\xff"});
    MAKES("the scripts wrote attribute \"?\": its name is not UTF-8 text", {"./\xff/wall", "1"});
    arena_fini(&arena);
}

TEST(a_wall_is_as_deep_as_a_document_may_be)
{
    char name[400] = ".";
    struct file file = {name, "1"};
    for (uint32_t i = 0; i < DOC_DEPTH_MAX; i++)
        memcpy(name + 1 + 2 * i, "/d", 3);
    memcpy(name + 1 + 2 * DOC_DEPTH_MAX, "/wall", 6);
    struct buf wanted = buf_in(&arena);
    for (uint32_t i = 0; i < DOC_DEPTH_MAX; i++)
        buf_put_z(&wanted, "{\"d\":");
    buf_put_z(&wanted, "1");
    for (uint32_t i = 0; i < DOC_DEPTH_MAX; i++)
        buf_put_z(&wanted, "}");
    CHECK(makes(&file, 1, str_z(&arena, buf_str(&wanted))));
    memcpy(name + 1 + 2 * DOC_DEPTH_MAX, "/d/wall", 8);
    struct archive archive = archive_begin(&arena);
    struct json *wall;
    struct reason why;
    CHECK(archive_add_file(&archive, str_from(name), 0644, STR("1")) == OK);
    CHECK(wall_read(&arena, archive_end(&archive), &wall, &why) == ERR_REFUSED);
    CHECK(str_ends(why.text, STR(": it is nested too deeply")));
    arena_fini(&arena);
}

TEST(archives_one_behind_the_other_are_one_and_a_torn_one_is_none)
{
    struct archive one = archive_begin(&arena), two = archive_begin(&arena);
    struct json *wall;
    struct reason why;
    CHECK(archive_add_file(&one, STR("a/wall"), 0644, STR("1")) == OK);
    CHECK(archive_add_file(&two, STR("b/wall"), 0644, STR("2")) == OK);
    const struct str both = STR_CONCAT(&arena, archive_end(&one), archive_end(&two));
    CHECK(wall_read(&arena, both, &wall, &why) == OK);
    CHECK(str_eq(json_write(&arena, wall), STR("{\"a\":1,\"b\":2}")));
    CHECK(wall_read(&arena, str_slice(both, 0, 700), &wall, &why) == ERR_REFUSED);
    CHECK(str_eq(why.text, STR("the values that the scripts wrote did not arrive completely")));
    CHECK(wall_read(&arena, STR("garbage"), &wall, &why) == ERR_REFUSED);
    arena_fini(&arena);
}

TEST(whatever_comes_is_a_document_or_a_sentence)
{
    struct archive archive = archive_begin(&arena);
    struct prng prng;
    uint32_t taken = 0, refused = 0;
    CHECK(archive_add_file(&archive, STR("./a/b/wall"), 0644, STR("{\"x\":[1,2]}")) == OK);
    CHECK(archive_add_file(&archive, STR("./a/c%25/wall"), 0644, STR("true")) == OK);
    CHECK(archive_add_file(&archive, STR("./wall"), 0644, STR("{}")) == OK);
    const struct str good = archive_end(&archive);
    prng_init(&prng, 6);
    for (uint32_t i = 0; i < 20000; i++) {
        struct arena own = {0};
        struct json *wall;
        struct reason why;
        char *bytes = arena_copy(&own, good.at, good.len);
        /* in the content: the sums of the heads notice everything else */
        for (uint32_t k = 0; k < 3; k++)
            bytes[512 + prng_below(&prng, 3) * 1024 + prng_below(&prng, 12)] =
                "{}[]\",:\0\xff 1t/%"[prng_below(&prng, 15)];
        if (wall_read(&own, (struct str){bytes, good.len}, &wall, &why) == OK) {
            CHECK(wall->kind == JSON_OBJECT && json_depth(wall) <= DOC_DEPTH_MAX + 3);
            taken++;
        } else {
            CHECK(why.text.len > 0 && why.code == REASON_WALL_INVALID);
            refused++;
        }
        arena_fini(&own);
    }
    CHECK(taken > 1000 && refused > 1000);
    arena_fini(&arena);
}
