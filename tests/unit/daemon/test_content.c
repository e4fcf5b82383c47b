/* Goal: every barclamp is submitted in order, tried again while that can help, and no longer; what
 * the core holds already is left alone.
 * Method: directories of our own; what is submitted and what is in force goes into a diary, and
 * outcomes come as the test likes, or from a real core. */
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
static char documents[16][512]; /* as submitted last, by index */
static uint32_t room_left;
static struct core *core;
static struct content content;

static void run_shell(const char *format)
{
    char command[1024];
    snprintf(command, sizeof command, "cd %s && ", folder);
    const size_t len = strlen(command);
    snprintf(command + len, sizeof command - len, "%s", format);
    CHECK(system(command) == 0);
}

static void note(const char *sign, struct str name, int64_t request)
{
    const size_t at = strlen(diary);
    if (request)
        snprintf(diary + at, sizeof diary - at, "%s%.*s(%lld) ", sign, STR_FMT_ARGS(name),
                 (long long)request);
    else
        snprintf(diary + at, sizeof diary - at, "%s%.*s ", sign, STR_FMT_ARGS(name));
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
    note("", name ? name->text : STR("-"), command->request);
    const int64_t i = -100 - command->request;
    CHECK(i >= 0 && i < 16);
    snprintf(documents[i], sizeof documents[i], "%.*s", STR_FMT_ARGS(command->import.barclamp));
    arena_fini(&arena);
    return OK;
}

static const struct core *get_core(void *self)
{
    CHECK(self == diary);
    return core;
}

static void in_force(void *self, const struct barclamp_file *file)
{
    CHECK(self == diary);
    note("=", file->name, 0);
}

static bool says(const char *wanted)
{
    const bool same = strcmp(diary, wanted) == 0;
    if (!same)
        printf("  noted: %s\n wanted: %s\n", diary, wanted);
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
    core = NULL;
    content = (struct content){.seams = {diary, submit, get_core, in_force}, .request_first = -100};
}

static void end(void)
{
    CHECK(content_is_idle(&content));
    content_fini(&content);
    core_free(core);
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

/* What the real core says to the document that was submitted as this request. */
static void step(int64_t request)
{
    struct arena arena = {0};
    struct effects effects = {0};
    struct outcome outcome;
    struct command command = {.kind = COMMAND_IMPORT, .actor = STR("test"), .now_ms = 1};
    command.import.barclamp = str_from(documents[-100 - request]);
    core_step(core, &command, &arena, &effects, &outcome);
    content_told(&content, request, &outcome, OK);
    arena_fini(&arena);
}

#define DOC(name) "'{\"barclamp\":{\"name\":\"" name "\"}}'"

TEST(documents_of_both_kinds_are_submitted_in_order)
{
    char directories[256], wanted[256];
    begin("mkdir -p a/m a/other a/y b"
          " && echo " DOC("zz") " > a/zz.json && echo " DOC("m") " > a/m/m.json");
    run_shell("echo " DOC("x") " > a/other/x.json && echo " DOC("c") " > b/c.json");
    run_shell("echo " DOC("h") " > a/.h.json && echo 'barclamp: {name: y}' > a/y/y.yml");
    snprintf(directories, sizeof directories, "%s/a:%s/nowhere::%s/b", folder, folder, folder);
    content_import(&content, directories);
    CHECK(says("m(-100) y(-101) zz(-102) c(-103) "));
    CHECK(!content_is_idle(&content));
    snprintf(wanted, sizeof wanted, "{\"barclamp\":{\"name\":\"m\",\"source_path\":\"%s/a/m\"}}",
             folder);
    CHECK(strcmp(documents[0], wanted) == 0);
    accept(-101);
    accept(-100);
    accept(-103);
    accept(-102);
    CHECK(says("=y =m =c =zz "));
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
    CHECK(says("=c a(-100) b(-101) "));
    refuse(-100);
    accept(-101);
    CHECK(says("=b a(-100) "));
    refuse(-100);
    CHECK(says("") && content_is_idle(&content));
    end();
}

TEST(what_does_not_read_is_left_out)
{
    begin("echo '{\"barclamp\":' > bad.json && mkdir dir.json && echo 5 > five.json && mkdir q && "
          "echo 'barclamp: [' > q/q.yml"
          " && echo '{\"barclamp\":{\"name\":\"s\",\"source_path\":\"/own\"}}' > s.json");
    content_import(&content, folder);
    CHECK(says("-(-100) s(-101) "));
    CHECK(strcmp(documents[0], "5") == 0); /* the core says what is wrong with it */
    CHECK(strstr(documents[1], "\"source_path\":\"/own\""));
    refuse(-100);
    refuse(-101);
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

TEST(a_store_that_goes_between_two_rounds_ends_them)
{
    begin("for n in a b; do echo \"{\\\"barclamp\\\":{\\\"name\\\":\\\"$n\\\"}}\" > $n.json; done");
    content_import(&content, folder);
    CHECK(says("a(-100) b(-101) "));
    refuse(-100);
    room_left = 0;
    accept(-101);
    CHECK(says("=b ") && content_is_idle(&content));
    end();
}

TEST(another_import_waits_for_the_one_under_way)
{
    char first[96], second[96];
    begin("mkdir p q && echo " DOC("p") " > p/x.json && echo " DOC("q") " > q/x.json");
    snprintf(first, sizeof first, "%s/p", folder);
    snprintf(second, sizeof second, "%s/q", folder);
    content_import(&content, first);
    content_import(&content, "");
    content_import(&content, second); /* the last wish counts */
    CHECK(says("p(-100) "));
    accept(-100);
    CHECK(says("=p q(-100) ") && !content_is_idle(&content));
    accept(-100);
    CHECK(content_is_idle(&content));
    content_import(&content, "");
    CHECK(says("=q ") && content_is_idle(&content));
    end();
}

TEST(what_the_core_holds_is_in_force_and_not_submitted)
{
    begin("mkdir -p y/roles && printf 'barclamp: {name: y}\\nroles: [{name: r, jig: j}]\\n' > "
          "y/y.yml && echo " DOC("z") " > z.json");
    core = core_new();
    core_found(core, 1);
    content_import(&content, folder);
    CHECK(says("y(-100) z(-101) "));
    step(-100);
    step(-101);
    CHECK(says("=y =z "));
    content_import(&content, folder);
    CHECK(says("=y =z ") && content_is_idle(&content));
    /* White space is no change, a key is, and so is another hook in the code of a role. */
    run_shell("echo >> y/y.yml && echo '{\"barclamp\":{\"name\":\"z\",\"version\":2}}' > z.json");
    content_import(&content, folder);
    CHECK(says("=y z(-101) "));
    step(-101);
    CHECK(says("=z "));
    run_shell("echo 'return { on_todo = function() end }' > y/roles/r.lua");
    content_import(&content, folder);
    CHECK(says("=z y(-100) ") && strstr(documents[0], "\"hooks\":[\"on_todo\"]"));
    step(-100);
    run_shell("echo 'return { on_todo = function() return end }' > y/roles/r.lua");
    content_import(&content, folder);
    CHECK(says("=y =y =z ") && content_is_idle(&content));
    end();
}

TEST(a_broken_file_of_code_keeps_its_barclamp_out)
{
    begin("mkdir -p y/roles && printf 'barclamp: {name: y}\\nroles: [{name: r, jig: j}]\\n' > "
          "y/y.yml && echo 'return { on_todo = ' > y/roles/r.lua && echo " DOC("z") " > z.json");
    content_import(&content, folder);
    CHECK(says("z(-100) "));
    accept(-100);
    CHECK(says("=z "));
    end();
}

TEST(where_files_lie_is_known_from_reading_until_the_core_knows)
{
    char wanted[128];
    begin("mkdir -p y && echo 'barclamp: {name: y}' > y/y.yml"
          " && echo '{\"barclamp\":{\"name\":\"s\",\"source_path\":\"/own\"}}' > s.json"
          " && echo " DOC("z") " > z.json");
    CHECK(content_source_path(&content, STR("y")).len == 0);
    content_read_ahead(&content, folder);
    CHECK(says("") && content_is_idle(&content));
    snprintf(wanted, sizeof wanted, "%s/y", folder);
    CHECK(str_eq(content_source_path(&content, STR("y")), str_from(wanted)));
    CHECK(str_eq(content_source_path(&content, STR("s")), STR("/own")));
    CHECK(str_eq(content_source_path(&content, STR("z")), str_from(folder)));
    CHECK(content_source_path(&content, STR("q")).len == 0);
    run_shell("rm s.json"); /* too late: it was read */
    content_import(&content, folder);
    CHECK(says("s(-100) y(-101) z(-102) "));
    accept(-101);
    CHECK(content_source_path(&content, STR("y")).len == 0);
    CHECK(content_source_path(&content, STR("s")).len > 0);
    accept(-102);
    refuse(-100);
    refuse(-100);
    CHECK(content_source_path(&content, STR("s")).len == 0);
    CHECK(says("=y =z s(-100) "));
    end();
}
