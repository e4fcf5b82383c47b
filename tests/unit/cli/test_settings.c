/* Goal: settings that are written are read back, and an error is reported with its line. */
#include "cli/client/settings_text.h"

#include <string.h>

#include "tests/check.h"

static bool is(const char *seen, const char *wanted)
{
    return wanted ? seen && strcmp(seen, wanted) == 0 : seen == NULL;
}

/* 0: nothing is wrong. */
static uint32_t wrong_line(const char *text)
{
    struct arena a = {0};
    struct settings s;
    uint32_t line;
    const char *wrong = settings_parse(&a, str_from(text), &s, &line);
    arena_fini(&a);
    return wrong ? line : 0;
}

TEST(lines_are_read)
{
    struct arena a = {0};
    struct settings s;
    uint32_t line;
    CHECK(!settings_parse(&a,
                          STR("# a comment\n"
                              "url = https://h.example.com\n"
                              "\ttoken=a=b # no comment here\r\n"
                              "user =\n"),
                          &s, &line));
    CHECK(is(s.url, "https://h.example.com"));
    CHECK(is(s.token, "a=b # no comment here"));
    CHECK(is(s.user, NULL) && is(s.password, NULL) && is(s.ca, NULL));
    CHECK(settings_have_secret(&s));
    arena_fini(&a);
}

TEST(mistakes_have_lines)
{
    CHECK(wrong_line("") == 0);
    CHECK(wrong_line("url = x") == 0);
    CHECK(wrong_line("\n\nurl") == 3);
    CHECK(wrong_line("url = x\nurls = y\n") == 2);
    CHECK(wrong_line("= x\n") == 1);
}

TEST(what_is_written_is_read_back)
{
    struct arena a = {0};
    struct settings s;
    uint32_t line;
    const struct settings before = {
        .url = "http://[::1]:3000", .user = "ann", .token = "t", .token_id = "7", .ca = "/a b.pem"};
    CHECK(!settings_parse(&a, settings_format(&a, &before), &s, &line));
    CHECK(is(s.url, before.url) && is(s.user, before.user) && is(s.token, before.token));
    CHECK(is(s.token_id, before.token_id) && is(s.ca, before.ca) && is(s.password, NULL));
    arena_fini(&a);
}

TEST(only_tokens_and_passwords_are_secrets)
{
    CHECK(!settings_have_secret(&(struct settings){.url = "x", .user = "y", .token_id = "1"}));
    CHECK(settings_have_secret(&(struct settings){.token = "x"}));
    CHECK(settings_have_secret(&(struct settings){.password = "x"}));
}

TEST(only_this_machine_is_near)
{
    static const char *const near[] = {"http://127.0.0.1:3000", "http://localhost",
                                       "https://LocalHost/x", "http://[::1]:1", "http://127.1.2.3"};
    static const char *const far[] = {"http://127.0.0.1.example.com",
                                      "http://localhost.example.com",
                                      "http://example.com/127.0.0.1",
                                      "http://[::2]",
                                      "http://128.0.0.1",
                                      "http://localhost@example.com",
                                      "http://[::1].example.com",
                                      "http://",
                                      "http://[::1"};
    for (uint32_t i = 0; i < sizeof near / sizeof near[0]; i++)
        CHECK(settings_is_loopback(near[i]));
    for (uint32_t i = 0; i < sizeof far / sizeof far[0]; i++)
        CHECK(!settings_is_loopback(far[i]));
}
