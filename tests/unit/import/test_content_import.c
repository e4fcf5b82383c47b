/* Goal: every barclamp is submitted in order, tried again while that can help, and no longer; what
 * the core holds already is left alone, and so is code that did not change. Nothing of it takes
 * long, and reading happens beside the loop.
 * Method: directories of our own; what is submitted, loaded and done goes into a diary, and
 * outcomes come as the test likes, or from a real core. */
#include "base/json/json.h"
#include "core/core.h"
#include "import/content_import.h"
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
static bool cannot_load;

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

static bool load(void *self, struct str role, bool is_same)
{
    CHECK(self == diary);
    if (is_same)
        return true;
    note("=", role, 0);
    return !cannot_load;
}

/* Only those tests with a core hear what it would say. */
static err rehearse(void *self, const struct str *barclamps, uint32_t count, struct arena *arena,
                    struct outcome *outcomes)
{
    CHECK(self == diary && count > 0);
    snprintf(diary + strlen(diary), sizeof diary - strlen(diary), "?%u ", count);
    if (!core)
        return ERR_UNAVAILABLE;
    core_import_dry_run(core, barclamps, count, arena, outcomes);
    return OK;
}

static void done(void *self)
{
    CHECK(self == diary);
    note("", STR("done"), 0);
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
    cannot_load = false;
    core = NULL;
    content = (struct content){.seams = {diary, submit, get_core, load, rehearse, done},
                               .request_first = -100};
}

static void end(void)
{
    CHECK(content_is_idle(&content));
    content_fini(&content);
    core_free(core);
    run_shell("rm -r ../$(basename $PWD)");
}

/* Until it waits for somebody. */
static void go(void)
{
    CHECK(!content_pump(&content, UINT64_MAX));
}

static void import(const char *directories)
{
    content_import(&content, directories);
    go();
}

static void tell(int64_t request, const struct outcome *outcome, err why)
{
    content_on_result(&content, request, outcome, why);
    go();
}

static void let_in(int64_t request)
{
    const struct outcome outcome = {.verdict = VERDICT_DONE, .doc = STR("{\"warnings\":[]}")};
    tell(request, &outcome, OK);
}

static void refuse(int64_t request)
{
    struct problem problem = {.code = PROBLEM_NOT_FOUND, .text = STR("no such parent")};
    const struct outcome outcome = {.verdict = VERDICT_REFUSED, .problems = &problem};
    tell(request, &outcome, OK);
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
    tell(request, &outcome, OK);
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
    import(directories);
    CHECK(says("m(-100) y(-101) zz(-102) c(-103) "));
    CHECK(!content_is_idle(&content));
    snprintf(wanted, sizeof wanted, "{\"barclamp\":{\"name\":\"m\",\"source_path\":\"%s/a/m\"}}",
             folder);
    CHECK(strcmp(documents[0], wanted) == 0);
    let_in(-101);
    let_in(-100);
    let_in(-103);
    CHECK(says("") && !content_is_idle(&content));
    let_in(-102);
    CHECK(says("done "));
    end();
}

TEST(what_is_refused_is_tried_again_while_others_get_in)
{
    begin(
        "for n in a b c; do echo \"{\\\"barclamp\\\":{\\\"name\\\":\\\"$n\\\"}}\" > $n.json; done");
    import(folder);
    CHECK(says("a(-100) b(-101) c(-102) "));
    refuse(-100);
    refuse(-101);
    let_in(-102);
    CHECK(says("a(-100) b(-101) "));
    refuse(-100);
    let_in(-101);
    CHECK(says("a(-100) "));
    refuse(-100);
    CHECK(says("done ") && content_is_idle(&content));
    end();
}

TEST(what_does_not_read_is_left_out)
{
    begin("echo '{\"barclamp\":' > bad.json && mkdir dir.json && echo 5 > five.json && mkdir q && "
          "echo 'barclamp: [' > q/q.yml"
          " && echo '{\"barclamp\":{\"name\":\"s\",\"source_path\":\"/own\"}}' > s.json");
    import(folder);
    CHECK(says("-(-100) s(-101) "));
    CHECK(strcmp(documents[0], "5") == 0); /* the core says what is wrong with it */
    CHECK(strstr(documents[1], "\"source_path\":\"/own\""));
    refuse(-100);
    refuse(-101);
    CHECK(content_is_idle(&content) && says("done "));
    end();
}

TEST(a_store_that_is_away_ends_the_round)
{
    begin("for n in a b; do echo \"{\\\"barclamp\\\":{\\\"name\\\":\\\"$n\\\"}}\" > $n.json; done");
    room_left = 0;
    import(folder);
    CHECK(content_is_idle(&content) && says("done "));
    room_left = 1;
    import(folder);
    CHECK(says("a(-100) ") && !content_is_idle(&content));
    tell(-100, NULL, ERR_UNAVAILABLE);
    CHECK(content_is_idle(&content) && says("done "));
    end();
}

TEST(a_store_that_goes_between_two_rounds_ends_them)
{
    begin("for n in a b; do echo \"{\\\"barclamp\\\":{\\\"name\\\":\\\"$n\\\"}}\" > $n.json; done");
    import(folder);
    CHECK(says("a(-100) b(-101) "));
    refuse(-100);
    room_left = 0;
    let_in(-101);
    CHECK(says("done ") && content_is_idle(&content));
    end();
}

TEST(another_import_waits_for_the_one_under_way)
{
    char first[96], second[96];
    begin("mkdir p q && echo " DOC("p") " > p/x.json && echo " DOC("q") " > q/x.json");
    snprintf(first, sizeof first, "%s/p", folder);
    snprintf(second, sizeof second, "%s/q", folder);
    import(first);
    import("");
    import(second); /* the last wish counts */
    CHECK(says("p(-100) "));
    let_in(-100);
    CHECK(says("q(-100) ") && !content_is_idle(&content)); /* and only the end is told of */
    let_in(-100);
    CHECK(says("done ") && content_is_idle(&content));
    import("");
    CHECK(says("done ") && content_is_idle(&content));
    end();
}

#define YAML "barclamp: {name: y}\\nroles: [{name: r, jig: j}, {name: q, jig: j}]\\n"

TEST(what_the_core_holds_is_not_submitted)
{
    begin("mkdir -p y/roles && printf '" YAML "' > y/y.yml && echo " DOC("z") " > z.json");
    core = core_new();
    core_bootstrap(core, 1);
    import(folder);
    CHECK(says("y(-100) z(-101) "));
    step(-100);
    CHECK(says(""));
    step(-101);
    CHECK(says("?1 ?1 =q =r done ")); /* what is new is asked about once more, when all is in */
    import(folder);
    CHECK(says("done ") && content_is_idle(&content));
    /* White space is no change, a key is, and so is another hook in the code of a role. */
    run_shell("echo >> y/y.yml && echo '{\"barclamp\":{\"name\":\"z\",\"version\":2}}' > z.json");
    import(folder);
    CHECK(says("z(-101) "));
    step(-101);
    CHECK(says("?1 done "));
    run_shell("echo 'return { on_todo = function() end }' > y/roles/r.lua");
    import(folder);
    CHECK(says("y(-100) ") && strstr(documents[0], "\"hooks\":[\"on_todo\"]"));
    step(-100);
    CHECK(says("?1 =q =r done ")); /* hooks that the import causes meet what it came with */
    end();
}

TEST(code_is_loaded_where_its_file_changed_and_its_barclamp_is_in_force)
{
    begin("mkdir -p y/roles && printf '" YAML "' > y/y.yml"
          " && echo 'return { on_todo = function() end }' | tee y/roles/r.lua > y/roles/q.lua");
    core = core_new();
    core_bootstrap(core, 1);
    import(folder);
    CHECK(says("y(-100) "));
    step(-100);
    CHECK(says("?1 =q =r done "));
    run_shell("touch y/roles/*.lua"); /* what stands in it counts */
    import(folder);
    CHECK(says("done "));
    run_shell("echo 'return { on_todo = function() return end }' > y/roles/r.lua");
    cannot_load = true;
    import(folder);
    CHECK(says("=r done "));
    cannot_load = false;
    import(folder); /* nobody touched it, but it is not there yet */
    CHECK(says("=r done "));
    import(folder);
    CHECK(says("done "));
    /* It goes, and with it a hook; that is refused, so the old code stays. */
    run_shell("rm y/roles/q.lua");
    import(folder);
    CHECK(says("y(-100) "));
    refuse(-100);
    CHECK(says("done "));
    import(folder);
    step(-100);
    CHECK(says("y(-100) ?1 =q =r done "));
    import(folder);
    CHECK(says("done "));
    end();
}

TEST(a_role_that_two_barclamps_claim_is_loaded_each_time)
{
    begin("mkdir -p a b && printf 'barclamp: {name: a}\\nroles: [{name: r, jig: j}]\\n' > a/a.yml"
          " && printf 'barclamp: {name: b}\\nroles: [{name: r, jig: j}]\\n' > b/b.yml");
    import(folder);
    CHECK(says("a(-100) b(-101) "));
    let_in(-100);
    let_in(-101);
    CHECK(says("=r =r done "));
    import(folder);
    let_in(-100);
    refuse(-101);
    refuse(-101);
    CHECK(says("a(-100) b(-101) b(-101) =r done "));
    end();
}

TEST(a_broken_file_of_code_keeps_its_barclamp_out)
{
    begin("mkdir -p y/roles && printf 'barclamp: {name: y}\\nroles: [{name: r, jig: j}]\\n' > "
          "y/y.yml && echo 'return { on_todo = ' > y/roles/r.lua && echo " DOC("z") " > z.json");
    import(folder);
    CHECK(says("z(-100) "));
    let_in(-100);
    CHECK(says("?1 done "));
    end();
}

/* What has errors is never submitted: it is rehearsed when everybody else is in, and nothing of it
 * stays in the core. */
TEST(what_does_not_read_is_rehearsed_and_not_imported)
{
    begin("mkdir -p a b && printf 'barclamp: {name: a, version: [1]}\\nroles: "
          "[{name: r, jig: j, requires: [r]}]\\n' > a/a.yml && printf 'barclamp: {name: b}\\n"
          "roles: [{name: s, jig: j, requires: [r]}]\\n' > b/b.yml");
    core = core_new();
    core_bootstrap(core, 1);
    import(folder);
    CHECK(says("b(-100) "));
    step(-100);
    CHECK(says("?1 ?1 =s done "));
    CHECK(core_find(core, TABLE_BARCLAMP, STR("b")) && !core_find(core, TABLE_BARCLAMP, STR("a")));
    CHECK(!core_find(core, TABLE_ROLE, STR("r")));
    import(folder);
    CHECK(says("?1 done "));
    end();
}

/* They are as many as one step may take, and the large one goes alone. */
TEST(of_large_drafts_few_are_rehearsed_at_once)
{
    begin("for n in a b c d e; do mkdir $n; printf 'barclamp: {name: '$n', version: [1]}\\n'"
          " > $n/$n.yml; done; for n in b c; do printf 'x: \"%070000d\"\\n' 7 >> $n/$n.yml; done");
    import(folder);
    CHECK(says("?1 ?1 ?1 ?2 done "));
    run_shell(
        "for n in b c; do printf 'barclamp: {name: '$n', version: [1]}\\n' > $n/$n.yml; done");
    content_import(&content, folder);
    while (content_pump(&content, 0))
        ;
    CHECK(says("?5 done "));
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
    import(folder);
    CHECK(says("s(-100) y(-101) z(-102) "));
    let_in(-101);
    CHECK(content_source_path(&content, STR("y")).len == 0);
    CHECK(content_source_path(&content, STR("s")).len > 0);
    let_in(-102);
    refuse(-100);
    refuse(-100);
    CHECK(content_source_path(&content, STR("s")).len == 0);
    CHECK(says("s(-100) done "));
    end();
}

/* ---- a little at a time ---- */

TEST(of_large_documents_few_are_under_way)
{
    begin(
        "for n in a b c; do printf '{\"barclamp\":{\"name\":\"%s\"},\"filler\":\"%5000s\"}' $n x >"
        " $n.json; done && echo " DOC("d") " > d.json && echo " DOC("e") " > e.json");
    import(folder);
    CHECK(says("a(-100) "));
    refuse(-100);
    CHECK(says("b(-101) "));
    let_in(-101);
    CHECK(says("c(-102) "));
    let_in(-102);
    CHECK(says("d(-103) e(-104) ")); /* small ones go together */
    let_in(-104);
    CHECK(says("") && !content_is_idle(&content)); /* a round ends before the next begins */
    let_in(-103);
    CHECK(says("a(-100) "));
    let_in(-100);
    CHECK(says("done "));
    end();
}

TEST(a_pump_without_time_takes_one_step)
{
    uint32_t steps = 0;
    begin("for n in a b c d; do echo \"{\\\"barclamp\\\":{\\\"name\\\":\\\"$n\\\"}}\" > $n.json;"
          " done");
    content_import(&content, folder);
    while (content_pump(&content, 0))
        CHECK(++steps < 100);
    CHECK(steps >= 8 && says("a(-100) b(-101) c(-102) d(-103) "));
    for (int64_t request = -103; request <= -100; request++)
        let_in(request);
    CHECK(says("done "));
    end();
}

/* ---- beside the loop ---- */

static uv_loop_t loop;

static void wait_for_reading(void)
{
    while (content.stage == CONTENT_READING)
        ignore(uv_run(&loop, UV_RUN_ONCE), "it says whether there is more");
}

TEST(reading_happens_beside_the_loop_and_wishes_meanwhile_are_one)
{
    begin("mkdir -p y/roles && printf '" YAML "' > y/y.yml"
          " && echo 'return { on_todo = function() end }' > y/roles/r.lua");
    CHECK(uv_loop_init(&loop) == 0);
    content.uv = &loop;
    content_import(&content, folder);
    CHECK(content.stage == CONTENT_READING);
    CHECK(content_source_path(&content, STR("y")).len == 0);
    go(); /* has nothing to do */
    for (int i = 0; i < 50; i++)
        import(folder);
    CHECK(content.stage == CONTENT_READING && says(""));
    wait_for_reading();
    go();
    CHECK(says("y(-100) "));
    let_in(-100);
    CHECK(says("=q =r ") && content.stage == CONTENT_READING); /* for the other fifty */
    wait_for_reading();
    go();
    CHECK(says("y(-100) "));
    let_in(-100);
    CHECK(says("=q =r done "));
    CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0 && uv_loop_close(&loop) == 0);
    end();
}

/* Each of these files runs until it is stopped by its bound. */
TEST(a_stop_does_not_wait_for_all_that_is_to_be_read)
{
    begin("mkdir -p y/roles && printf 'barclamp: {name: y}\\nroles:\\n' > y/y.yml");
    run_shell("for i in $(seq 1000); do echo \"  - {name: r$i, jig: j}\" >> y/y.yml;"
              " echo 'while true do end' > y/roles/r$i.lua; done");
    CHECK(uv_loop_init(&loop) == 0);
    content.uv = &loop;
    content_import(&content, folder);
    content_stop(&content);
    CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0 && uv_loop_close(&loop) == 0);
    content_import(&content, folder);
    CHECK(says("") && !content_pump(&content, UINT64_MAX));
    CHECK(content.reading.report.errors < 1000);
    content.stage = CONTENT_IDLE; /* for end() */
    end();
}
