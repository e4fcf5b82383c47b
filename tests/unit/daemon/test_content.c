/* Goal: every barclamp is submitted in order, tried again while that can help, and no longer.
 * Method: directories of our own; what is submitted goes into a diary, and outcomes come as the
 * test likes. */
#include "daemon/content.h"
#include "base/json.h"
#include "core/core.h"
#include "sys/log.h"
#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char diary[1024];
static char documents[16][256]; /* as submitted last, by index */
static uint32_t room_left;
static struct content content;

static void run_shell(const char *format)
{
    char command[512];
    snprintf(command, sizeof command, "cd %s && ", folder);
    const size_t len = strlen(command);
    snprintf(command + len, sizeof command - len, "%s", format);
    CHECK(system(command) == 0);
}

static err submit(void *self, const struct command *command)
{
    struct arena arena = {0};
    struct json *tree;
    uint32_t offset;
    const char *what;
    CHECK(self == diary && command->kind == COMMAND_IMPORT);
    if (room_left == 0)
        return ERR_UNAVAILABLE;
    room_left--;
    CHECK(json_read(&arena, command->import.barclamp, &tree, &offset, &what) == OK);
    const struct json *name = json_at(tree, STR("barclamp/name"));
    const size_t at = strlen(diary);
    snprintf(diary + at, sizeof diary - at, "%.*s(%lld) ", name ? (int)name->text.len : 1,
             name ? name->text.at : "-", (long long)command->request);
    const int64_t i = -100 - command->request;
    CHECK(i >= 0 && i < 16);
    snprintf(documents[i], sizeof documents[i], "%.*s", STR_FMT_ARGS(command->import.barclamp));
    arena_fini(&arena);
    return OK;
}

static bool says(const char *wanted)
{
    const bool same = strcmp(diary, wanted) == 0;
    if (!same)
        printf("submitted: %s\n   wanted: %s\n", diary, wanted);
    diary[0] = 0;
    return same;
}

static void begin(const char *files)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    snprintf(folder, sizeof folder, "/tmp/halligan-content-XXXXXX");
    CHECK(mkdtemp(folder));
    run_shell(files);
    diary[0] = 0;
    room_left = UINT32_MAX;
    content = (struct content){.self = diary, .submit = submit, .request_first = -100};
}

static void end(void)
{
    CHECK(content_is_idle(&content));
    content_fini(&content);
    run_shell("rm -r ../$(basename $PWD)");
}

static void accept(int64_t request)
{
    const struct outcome outcome = {.verdict = VERDICT_DONE, .doc = STR("{\"warnings\":[]}")};
    content_told(&content, request, &outcome, OK);
}

static void refuse(int64_t request)
{
    struct problem problem = {.code = PROBLEM_NOT_FOUND, .text = STR("no such parent")};
    const struct outcome outcome = {.verdict = VERDICT_REFUSED, .problems = &problem};
    content_told(&content, request, &outcome, OK);
}

#define DOC(name) "'{\"barclamp\":{\"name\":\"" name "\"}}'"

TEST(documents_of_both_kinds_are_submitted_by_name)
{
    char directories[256], wanted[256];
    begin("mkdir -p a/m a/other b"
          " && echo " DOC("zz") " > a/zz.json"
                                " && echo " DOC(
                                    "m") " > a/m/m.json"
                                         " && echo " DOC(
                                             "x") " > a/other/x.json"
                                                  " && echo " DOC(
                                                      "c") " > b/c.json"
                                                           " && echo " DOC(
                                                               "h") " > a/.h.json"
                                                                    " && echo " DOC(
                                                                        "n") " > a/n.yml");
    snprintf(directories, sizeof directories, "%s/a:%s/nowhere::%s/b", folder, folder, folder);
    content_import(&content, directories);
    CHECK(says("c(-100) m(-101) zz(-102) "));
    CHECK(!content_is_idle(&content));
    snprintf(wanted, sizeof wanted, "{\"barclamp\":{\"name\":\"m\",\"source_path\":\"%s/a/m\"}}",
             folder);
    CHECK(strcmp(documents[1], wanted) == 0);
    accept(-101);
    accept(-100);
    accept(-102);
    CHECK(says(""));
    end();
}

TEST(what_is_refused_is_tried_again_while_others_get_in)
{
    begin(
        "for n in a b c; do echo \"{\\\"barclamp\\\":{\\\"name\\\":\\\"$n\\\"}}\" > $n.json; done");
    content_import(&content, folder);
    CHECK(says("a(-100) b(-101) c(-102) "));
    refuse(-100);
    refuse(-101);
    accept(-102);
    CHECK(says("a(-100) b(-101) "));
    refuse(-100);
    accept(-101);
    CHECK(says("a(-100) "));
    refuse(-100);
    CHECK(says("") && content_is_idle(&content));
    end();
}

TEST(what_does_not_read_is_left_out)
{
    begin("echo '{\"barclamp\":' > bad.json && mkdir dir.json && echo 5 > five.json"
          " && echo '{\"barclamp\":{\"name\":\"s\",\"source_path\":\"/own\"}}' > s.json");
    content_import(&content, folder);
    CHECK(says("-(-102) s(-103) "));
    CHECK(strcmp(documents[2], "5") == 0); /* the core says what is wrong with it */
    CHECK(strstr(documents[3], "\"source_path\":\"/own\""));
    refuse(-102);
    refuse(-103);
    CHECK(content_is_idle(&content) && says(""));
    end();
}

TEST(a_store_that_is_away_ends_the_round)
{
    begin("for n in a b; do echo \"{\\\"barclamp\\\":{\\\"name\\\":\\\"$n\\\"}}\" > $n.json; done");
    room_left = 0;
    content_import(&content, folder);
    CHECK(content_is_idle(&content));
    room_left = 1;
    content_import(&content, folder);
    CHECK(says("a(-100) ") && !content_is_idle(&content));
    content_told(&content, -100, NULL, ERR_UNAVAILABLE);
    CHECK(content_is_idle(&content) && says(""));
    end();
}

TEST(another_import_waits_for_the_one_under_way)
{
    char first[96], second[96];
    begin("mkdir p q && echo " DOC("p") " > p/p.json && echo " DOC("q") " > q/q.json");
    snprintf(first, sizeof first, "%s/p", folder);
    snprintf(second, sizeof second, "%s/q", folder);
    content_import(&content, first);
    content_import(&content, "");
    content_import(&content, second); /* the last wish counts */
    CHECK(says("p(-100) "));
    accept(-100);
    CHECK(says("q(-100) ") && !content_is_idle(&content));
    accept(-100);
    CHECK(content_is_idle(&content));
    content_import(&content, "");
    CHECK(says("") && content_is_idle(&content));
    end();
}
