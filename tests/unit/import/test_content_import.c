/* Goal: barclamps are submitted in order and again while that can help; documents that the core
 * holds and Lua code that has not changed are skipped; no step takes long, and files are read in
 * another thread.
 * Method: temporary directories; calls are recorded in a text, and outcomes are chosen by the test
 * or come from a real core. */
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

/* A dry run needs a core, which only some tests have. */
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

static bool diary_is(const char *wanted)
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
    content = (struct content){.callbacks = {diary, submit, get_core, load, rehearse, done},
                               .request_first = -100};
}

static void end(void)
{
    CHECK(content_is_idle(&content));
    content_fini(&content);
    core_free(core);
    run_shell("rm -r ../$(basename $PWD)");
}

/* Until it waits for an outcome or for the reader. */
static void go(void)
{
    CHECK(!content_pump(&content, UINT64_MAX));
}

static void import(const char *directories)
{
    content_import(&content, directories);
    go();
}

static void give_outcome(int64_t request, const struct outcome *outcome, err why)
{
    content_on_result(&content, request, outcome, why);
    go();
}

static void let_in(int64_t request)
{
    const struct outcome outcome = {.verdict = VERDICT_DONE, .doc = STR("{\"warnings\":[]}")};
    give_outcome(request, &outcome, OK);
}

static void refuse(int64_t request)
{
    struct problem problem = {.code = PROBLEM_NOT_FOUND, .text = STR("no such parent")};
    const struct outcome outcome = {.verdict = VERDICT_REFUSED, .problems = &problem};
    give_outcome(request, &outcome, OK);
}

/* The outcome of the real core for the document of this request. */
static void step(int64_t request)
{
    struct arena arena = {0};
    struct effects effects = {0};
    struct outcome outcome;
    struct command command = {.kind = COMMAND_IMPORT, .actor = STR("test"), .now_ms = 1};
    command.import.barclamp = str_from(documents[-100 - request]);
    core_step(core, &command, &arena, &effects, &outcome);
    give_outcome(request, &outcome, OK);
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
    CHECK(diary_is("m(-100) y(-101) zz(-102) c(-103) "));
    CHECK(!content_is_idle(&content));
    snprintf(wanted, sizeof wanted, "{\"barclamp\":{\"name\":\"m\",\"source_path\":\"%s/a/m\"}}",
             folder);
    CHECK(strcmp(documents[0], wanted) == 0);
    let_in(-101);
    let_in(-100);
    let_in(-103);
    CHECK(diary_is("") && !content_is_idle(&content));
    let_in(-102);
    CHECK(diary_is("done "));
    end();
}

TEST(refused_documents_are_submitted_again_while_others_are_accepted)
{
    begin(
        "for n in a b c; do echo \"{\\\"barclamp\\\":{\\\"name\\\":\\\"$n\\\"}}\" > $n.json; done");
    import(folder);
    CHECK(diary_is("a(-100) b(-101) c(-102) "));
    refuse(-100);
    refuse(-101);
    let_in(-102);
    CHECK(diary_is("a(-100) b(-101) "));
    refuse(-100);
    let_in(-101);
    CHECK(diary_is("a(-100) "));
    refuse(-100);
    CHECK(diary_is("done ") && content_is_idle(&content));
    end();
}

TEST(files_with_errors_are_skipped)
{
    begin("echo '{\"barclamp\":' > bad.json && mkdir dir.json && echo 5 > five.json && mkdir q && "
          "echo 'barclamp: [' > q/q.yml"
          " && echo '{\"barclamp\":{\"name\":\"s\",\"source_path\":\"/own\"}}' > s.json");
    import(folder);
    CHECK(diary_is("-(-100) s(-101) "));
    CHECK(strcmp(documents[0], "5") == 0); /* the core reports what is wrong */
    CHECK(strstr(documents[1], "\"source_path\":\"/own\""));
    refuse(-100);
    refuse(-101);
    CHECK(content_is_idle(&content) && diary_is("done "));
    end();
}

TEST(an_unavailable_store_ends_the_round)
{
    begin("for n in a b; do echo \"{\\\"barclamp\\\":{\\\"name\\\":\\\"$n\\\"}}\" > $n.json; done");
    room_left = 0;
    import(folder);
    CHECK(content_is_idle(&content) && diary_is("done "));
    room_left = 1;
    import(folder);
    CHECK(diary_is("a(-100) ") && !content_is_idle(&content));
    give_outcome(-100, NULL, ERR_UNAVAILABLE);
    CHECK(content_is_idle(&content) && diary_is("done "));
    end();
}

TEST(a_store_that_fails_between_two_rounds_ends_them)
{
    begin("for n in a b; do echo \"{\\\"barclamp\\\":{\\\"name\\\":\\\"$n\\\"}}\" > $n.json; done");
    import(folder);
    CHECK(diary_is("a(-100) b(-101) "));
    refuse(-100);
    room_left = 0;
    let_in(-101);
    CHECK(diary_is("done ") && content_is_idle(&content));
    end();
}

TEST(another_import_waits_for_the_current_one)
{
    char first[96], second[96];
    begin("mkdir p q && echo " DOC("p") " > p/x.json && echo " DOC("q") " > q/x.json");
    snprintf(first, sizeof first, "%s/p", folder);
    snprintf(second, sizeof second, "%s/q", folder);
    import(first);
    import("");
    import(second); /* the last call counts */
    CHECK(diary_is("p(-100) "));
    let_in(-100);
    CHECK(diary_is("q(-100) ") &&
          !content_is_idle(&content)); /* and done() is called once at the end */
    let_in(-100);
    CHECK(diary_is("done ") && content_is_idle(&content));
    import("");
    CHECK(diary_is("done ") && content_is_idle(&content));
    end();
}

#define YAML "barclamp: {name: y}\\nroles: [{name: r, jig: j}, {name: q, jig: j}]\\n"

TEST(documents_that_the_core_holds_are_not_submitted)
{
    begin("mkdir -p y/roles && printf '" YAML "' > y/y.yml && echo " DOC("z") " > z.json");
    core = core_new();
    core_bootstrap(core, 1);
    import(folder);
    CHECK(diary_is("y(-100) z(-101) "));
    step(-100);
    CHECK(diary_is(""));
    step(-101);
    CHECK(diary_is("?1 ?1 =q =r done ")); /* new documents get a dry run when all are imported */
    import(folder);
    CHECK(diary_is("done ") && content_is_idle(&content));
    /* White space is no change, but another key or another hook of a role is. */
    run_shell("echo >> y/y.yml && echo '{\"barclamp\":{\"name\":\"z\",\"version\":2}}' > z.json");
    import(folder);
    CHECK(diary_is("z(-101) "));
    step(-101);
    CHECK(diary_is("?1 done "));
    run_shell("echo 'return { on_todo = function() end }' > y/roles/r.lua");
    import(folder);
    CHECK(diary_is("y(-100) ") && strstr(documents[0], "\"hooks\":[\"on_todo\"]"));
    step(-100);
    CHECK(diary_is("?1 =q =r done ")); /* hooks that the import causes use its code */
    end();
}

TEST(changed_code_is_loaded_if_its_barclamp_is_imported)
{
    begin("mkdir -p y/roles && printf '" YAML "' > y/y.yml"
          " && echo 'return { on_todo = function() end }' | tee y/roles/r.lua > y/roles/q.lua");
    core = core_new();
    core_bootstrap(core, 1);
    import(folder);
    CHECK(diary_is("y(-100) "));
    step(-100);
    CHECK(diary_is("?1 =q =r done "));
    run_shell("touch y/roles/*.lua"); /* only the content counts */
    import(folder);
    CHECK(diary_is("done "));
    run_shell("echo 'return { on_todo = function() return end }' > y/roles/r.lua");
    cannot_load = true;
    import(folder);
    CHECK(diary_is("=r done "));
    cannot_load = false;
    import(folder); /* unchanged, but not loaded yet */
    CHECK(diary_is("=r done "));
    import(folder);
    CHECK(diary_is("done "));
    /* The file is removed, and with it a hook; that is refused, so the old code stays. */
    run_shell("rm y/roles/q.lua");
    import(folder);
    CHECK(diary_is("y(-100) "));
    refuse(-100);
    CHECK(diary_is("done "));
    import(folder);
    step(-100);
    CHECK(diary_is("y(-100) ?1 =q =r done "));
    import(folder);
    CHECK(diary_is("done "));
    end();
}

TEST(a_role_that_two_barclamps_define_is_loaded_each_time)
{
    begin("mkdir -p a b && printf 'barclamp: {name: a}\\nroles: [{name: r, jig: j}]\\n' > a/a.yml"
          " && printf 'barclamp: {name: b}\\nroles: [{name: r, jig: j}]\\n' > b/b.yml");
    import(folder);
    CHECK(diary_is("a(-100) b(-101) "));
    let_in(-100);
    let_in(-101);
    CHECK(diary_is("=r =r done "));
    import(folder);
    let_in(-100);
    refuse(-101);
    refuse(-101);
    CHECK(diary_is("a(-100) b(-101) b(-101) =r done "));
    end();
}

TEST(a_lua_file_with_errors_keeps_its_barclamp_from_being_imported)
{
    begin("mkdir -p y/roles && printf 'barclamp: {name: y}\\nroles: [{name: r, jig: j}]\\n' > "
          "y/y.yml && echo 'return { on_todo = ' > y/roles/r.lua && echo " DOC("z") " > z.json");
    import(folder);
    CHECK(diary_is("z(-100) "));
    let_in(-100);
    CHECK(diary_is("?1 done "));
    end();
}

/* A file with errors is never submitted: it gets a dry run when all others are imported, and
 * nothing of it stays in the core. */
TEST(files_with_errors_get_a_dry_run_and_are_not_imported)
{
    begin("mkdir -p a b && printf 'barclamp: {name: a, version: [1]}\\nroles: "
          "[{name: r, jig: j, requires: [r]}]\\n' > a/a.yml && printf 'barclamp: {name: b}\\n"
          "roles: [{name: s, jig: j, requires: [r]}]\\n' > b/b.yml");
    core = core_new();
    core_bootstrap(core, 1);
    import(folder);
    CHECK(diary_is("b(-100) "));
    step(-100);
    CHECK(diary_is("?1 ?1 =s done "));
    CHECK(core_find(core, TABLE_BARCLAMP, STR("b")) && !core_find(core, TABLE_BARCLAMP, STR("a")));
    CHECK(!core_find(core, TABLE_ROLE, STR("r")));
    import(folder);
    CHECK(diary_is("?1 done "));
    end();
}

/* A step takes up to a limit of bytes, and a larger draft alone. */
TEST(few_large_drafts_share_a_dry_run)
{
    begin("for n in a b c d e; do mkdir $n; printf 'barclamp: {name: '$n', version: [1]}\\n'"
          " > $n/$n.yml; done; for n in b c; do printf 'x: \"%070000d\"\\n' 7 >> $n/$n.yml; done");
    import(folder);
    CHECK(diary_is("?1 ?1 ?1 ?2 done "));
    run_shell(
        "for n in b c; do printf 'barclamp: {name: '$n', version: [1]}\\n' > $n/$n.yml; done");
    content_import(&content, folder);
    while (content_pump(&content, 0))
        ;
    CHECK(diary_is("?5 done "));
    end();
}

TEST(source_paths_are_known_from_the_reading_until_the_import)
{
    char wanted[128];
    begin("mkdir -p y && echo 'barclamp: {name: y}' > y/y.yml"
          " && echo '{\"barclamp\":{\"name\":\"s\",\"source_path\":\"/own\"}}' > s.json"
          " && echo " DOC("z") " > z.json");
    CHECK(content_source_path(&content, STR("y")).len == 0);
    content_read_ahead(&content, folder);
    CHECK(diary_is("") && content_is_idle(&content));
    snprintf(wanted, sizeof wanted, "%s/y", folder);
    CHECK(str_eq(content_source_path(&content, STR("y")), str_from(wanted)));
    CHECK(str_eq(content_source_path(&content, STR("s")), STR("/own")));
    CHECK(str_eq(content_source_path(&content, STR("z")), str_from(folder)));
    CHECK(content_source_path(&content, STR("q")).len == 0);
    run_shell("rm s.json"); /* too late: it was read */
    import(folder);
    CHECK(diary_is("s(-100) y(-101) z(-102) "));
    let_in(-101);
    CHECK(content_source_path(&content, STR("y")).len == 0);
    CHECK(content_source_path(&content, STR("s")).len > 0);
    let_in(-102);
    refuse(-100);
    refuse(-100);
    CHECK(content_source_path(&content, STR("s")).len == 0);
    CHECK(diary_is("s(-100) done "));
    end();
}

/* ---- small steps ---- */

TEST(few_large_documents_are_submitted_at_once)
{
    begin(
        "for n in a b c; do printf '{\"barclamp\":{\"name\":\"%s\"},\"filler\":\"%5000s\"}' $n x >"
        " $n.json; done && echo " DOC("d") " > d.json && echo " DOC("e") " > e.json");
    import(folder);
    CHECK(diary_is("a(-100) "));
    refuse(-100);
    CHECK(diary_is("b(-101) "));
    let_in(-101);
    CHECK(diary_is("c(-102) "));
    let_in(-102);
    CHECK(diary_is("d(-103) e(-104) ")); /* small ones are submitted together */
    let_in(-104);
    CHECK(diary_is("") && !content_is_idle(&content)); /* a round ends before the next begins */
    let_in(-103);
    CHECK(diary_is("a(-100) "));
    let_in(-100);
    CHECK(diary_is("done "));
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
    CHECK(steps >= 8 && diary_is("a(-100) b(-101) c(-102) d(-103) "));
    for (int64_t request = -103; request <= -100; request++)
        let_in(request);
    CHECK(diary_is("done "));
    end();
}

/* ---- reading in another thread ---- */

static uv_loop_t loop;

static void wait_for_reading(void)
{
    while (content.stage == CONTENT_READING)
        ignore(uv_run(&loop, UV_RUN_ONCE), "it says whether there is more");
}

TEST(files_are_read_in_another_thread_and_imports_meanwhile_are_merged)
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
    CHECK(content.stage == CONTENT_READING && diary_is(""));
    wait_for_reading();
    go();
    CHECK(diary_is("y(-100) "));
    let_in(-100);
    CHECK(diary_is("=q =r ") && content.stage == CONTENT_READING); /* for the other fifty */
    wait_for_reading();
    go();
    CHECK(diary_is("y(-100) "));
    let_in(-100);
    CHECK(diary_is("=q =r done "));
    CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0 && uv_loop_close(&loop) == 0);
    end();
}

/* Each of these Lua files runs until its limit stops it. */
TEST(a_stop_does_not_wait_for_the_whole_reading)
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
    CHECK(diary_is("") && !content_pump(&content, UINT64_MAX));
    CHECK(content.reading.report.errors < 1000);
    content.stage = CONTENT_IDLE; /* for end() */
    end();
}
