/* Goal: whatever is logged, an entry is one line that can be parsed back.
 * Method: standard error is a pipe during a call; the output is compared. */
#include "base/json/json.h"
#include "sys/log.h"
#include "tests/check.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct capture {
    int kept; /* the real standard error */
    int from;
    char text[65536];
    size_t len;
};

static void begin(struct capture *c)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    c->kept = dup(STDERR_FILENO);
    CHECK(c->kept >= 0 && dup2(ends[1], STDERR_FILENO) >= 0);
    CHECK(close(ends[1]) == 0);
    c->from = ends[0];
    c->len = 0;
}

static const char *end(struct capture *c)
{
    CHECK(dup2(c->kept, STDERR_FILENO) >= 0 && close(c->kept) == 0);
    for (;;) {
        const ssize_t n = read(c->from, c->text + c->len, sizeof c->text - 1 - c->len);
        CHECK(n >= 0);
        if (n == 0)
            break;
        c->len += (size_t)n;
    }
    c->text[c->len] = 0;
    CHECK(close(c->from) == 0);
    return c->text;
}

/* The part after "time=... ", whose value varies. */
static const char *behind_time(const char *line)
{
    CHECK(strncmp(line, "time=", 5) == 0);
    CHECK(strlen(line) > 30 && line[5 + 24] == ' ' && line[5 + 23] == 'Z');
    return line + 5 + 25;
}

static bool logs_as(struct str value, const char *wanted)
{
    struct capture c;
    char line[512];
    log_setup(LOG_DEBUG, LOG_TEXT);
    begin(&c);
    log_with(LOG_INFO, LOG_FIELDS(LOG_S("v", value)), "m");
    snprintf(line, sizeof line, "level=info msg=m v=%s\n", wanted);
    const char *said = behind_time(end(&c));
    if (strcmp(said, line) != 0)
        printf("said: %swanted: %s", said, line);
    return strcmp(said, line) == 0;
}

TEST(a_text_line_quotes_ambiguous_values)
{
    unsetenv("JOURNAL_STREAM");
    CHECK(logs_as(STR("plain"), "plain"));
    CHECK(logs_as(STR("a/b-c_d.e:f,g"), "a/b-c_d.e:f,g"));
    CHECK(logs_as(STR(""), "\"\""));
    CHECK(logs_as((struct str){NULL, 0}, "\"\""));
    CHECK(logs_as(STR("two words"), "\"two words\""));
    CHECK(logs_as(STR("a=b"), "\"a=b\""));
    CHECK(logs_as(STR("say \"hi\""), "\"say \\\"hi\\\"\""));
    CHECK(logs_as(STR("back\\slash"), "\"back\\\\slash\""));
    CHECK(logs_as(STR("line\nlevel=error msg=forged"), "\"line\\nlevel=error msg=forged\""));
    CHECK(logs_as(STR("\r\t\x01\x7f"), "\"\\r\\t\\x01\\x7f\""));
    CHECK(logs_as(STR("caf\xc3\xa9"), "\"caf\xc3\xa9\""));
    CHECK(logs_as(STR("bad\xff\xc3"), "\"bad\\xff\\xc3\""));
    CHECK(logs_as(STR("\xed\xa0\x80"), "\"\\xed\\xa0\\x80\""));
    CHECK(logs_as((struct str){"z\0y", 3}, "\"z\\x00y\""));
}

TEST(a_value_that_ends_like_a_prefix_keeps_the_separator)
{
    struct capture c;
    unsetenv("JOURNAL_STREAM");
    log_setup(LOG_DEBUG, LOG_TEXT);
    begin(&c);
    log_with(LOG_INFO, LOG_FIELDS(LOG_Z("a", "<x>"), LOG_I64("b", -9223372036854775807 - 1)), "m");
    CHECK(strcmp(behind_time(end(&c)), "level=info msg=m a=<x> b=-9223372036854775808\n") == 0);
}

TEST(a_json_line_is_json_whatever_the_bytes)
{
    struct capture c;
    struct arena arena = {0};
    struct json *tree;
    uint32_t offset;
    const char *what;
    unsetenv("JOURNAL_STREAM");
    log_setup(LOG_DEBUG, LOG_JSON);
    char all[256];
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    begin(&c);
    log_with(LOG_WARNING, LOG_FIELDS(LOG_S("bytes", ((struct str){all + 1, 255})), LOG_I64("n", 7)),
             "a \"b\"\n");
    struct str line = str_from(end(&c));
    CHECK(line.len && line.at[line.len - 1] == '\n');
    CHECK(str_find(line, '\n', 0) == line.len - 1);
    CHECK(json_read(&arena, str_slice(line, 0, line.len - 1), &tree, &offset, &what) == OK);
    CHECK(str_eq(json_get(tree, STR("msg"))->text, STR("a \"b\"\n")));
    CHECK(str_eq(json_get(tree, STR("level"))->text, STR("warning")));
    int64_t n;
    CHECK(json_as_i64(json_get(tree, STR("n")), &n) && n == 7);
    const struct str bytes = json_get(tree, STR("bytes"))->text;
    CHECK(str_starts(bytes, (struct str){all + 1, 127}));
    arena_fini(&arena);
}

TEST(a_long_line_is_truncated_and_stays_parseable)
{
    unsetenv("JOURNAL_STREAM");
    for (uint32_t len = 7900; len < 8300; len++) {
        for (int format = 0; format < 2; format++) {
            struct capture c;
            struct arena arena = {0};
            char *long_text = arena_alloc(&arena, len);
            memset(long_text, len % 2 ? 'x' : ' ', len);
            log_setup(LOG_DEBUG, format ? LOG_JSON : LOG_TEXT);
            begin(&c);
            log_with(LOG_INFO,
                     LOG_FIELDS(LOG_S("v", ((struct str){long_text, len})), LOG_Z("after", "word")),
                     "m");
            const struct str line = str_from(end(&c));
            CHECK(line.len > 100 && line.len <= 8192);
            CHECK(str_find(line, '\n', 0) == line.len - 1);
            struct json *tree;
            uint32_t offset;
            const char *what;
            if (format)
                CHECK(json_read(&arena, str_slice(line, 0, line.len - 1), &tree, &offset, &what) ==
                      OK);
            arena_fini(&arena);
        }
    }
}

TEST(lines_below_the_level_are_dropped)
{
    struct capture c;
    unsetenv("JOURNAL_STREAM");
    log_setup(LOG_WARNING, LOG_TEXT);
    begin(&c);
    log_print(LOG_NOTICE, "no");
    log_print(LOG_DEBUG, "no");
    log_print(LOG_WARNING, "yes %d", 1);
    log_print(LOG_ERROR, "yes %d", 2);
    const char *text = end(&c);
    CHECK(strstr(text, "level=warning msg=\"yes 1\"\n"));
    CHECK(strstr(text, "level=error msg=\"yes 2\"\n"));
    CHECK(!strstr(text, "no"));
    CHECK(log_wants(LOG_ERROR) && !log_wants(LOG_INFO));
}

TEST(the_journal_gets_priorities_and_no_time)
{
    struct capture c;
    CHECK(setenv("JOURNAL_STREAM", "8:1234", 1) == 0);
    log_setup(LOG_DEBUG, LOG_TEXT);
    begin(&c);
    log_print(LOG_ERROR, "bad");
    log_print(LOG_DEBUG, "fine");
    CHECK(strcmp(end(&c), "<3>level=error msg=bad\n<7>level=debug msg=fine\n") == 0);
    log_setup(LOG_DEBUG, LOG_JSON);
    begin(&c);
    log_print(LOG_NOTICE, "m");
    CHECK(strcmp(end(&c), "<5>{\"level\":\"notice\",\"msg\":\"m\"}\n") == 0);
    unsetenv("JOURNAL_STREAM");
}

TEST(names_of_levels_and_formats_are_parsed)
{
    enum log_level level;
    enum log_format format;
    CHECK(log_level_parse(STR("error"), &level) && level == LOG_ERROR);
    CHECK(log_level_parse(STR("debug"), &level) && level == LOG_DEBUG);
    CHECK(!log_level_parse(STR("Error"), &level) && !log_level_parse(STR(""), &level));
    CHECK(log_format_parse(STR("json"), &format) && format == LOG_JSON);
    CHECK(log_format_parse(STR("text"), &format) && format == LOG_TEXT);
    CHECK(!log_format_parse(STR("xml"), &format));
}

enum { THREADS = 4, LINES = 100 };

static void *chatter(void *context)
{
    for (int i = 0; i < LINES; i++)
        log_with(LOG_INFO, LOG_FIELDS(LOG_I64("thread", *(int *)context)), "many words in a line");
    return NULL;
}

TEST(lines_of_several_threads_do_not_mix)
{
    struct capture c;
    pthread_t threads[THREADS];
    int numbers[THREADS];
    unsetenv("JOURNAL_STREAM");
    log_setup(LOG_INFO, LOG_TEXT);
    begin(&c);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, chatter, &numbers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    const struct str text = str_from(end(&c));
    uint32_t lines = 0;
    for (uint32_t from = 0; from < text.len; lines++) {
        const uint32_t to = str_find(text, '\n', from);
        const struct str line = str_slice(text, from, to);
        CHECK(str_starts(line, STR("time=")) && line.len > 40);
        CHECK(str_starts(str_slice(line, 30, line.len),
                         STR("level=info msg=\"many words in a line\" thread=")));
        from = to + 1;
    }
    CHECK(lines == THREADS * LINES);
}
