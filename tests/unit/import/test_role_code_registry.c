/* Goal: hooks of a role use the current file of its barclamp, and a file with errors does not
 * affect other roles. Method: a real core, real files and the real hooks; the veto of a hook shows
 * which code it was. */
#include "core/core.h"
#include "hooks/hooks.h"
#include "import/role_code_registry.h"
#include "sys/log.h"
#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64], elsewhere[96];
static struct core *core;
static struct role_code_registry codes;
static bool knows_better;
static char vetoes[256];
static uint32_t loads_failed;

static void run_shell(const char *format)
{
    char command[1024];
    snprintf(command, sizeof command, "cd %s && %s", folder, format);
    CHECK(system(command) == 0);
}

/* ---- fixture ---- */

static const struct core *get_core(void *self)
{
    CHECK(self == vetoes);
    return core;
}

static struct str source_path(void *self, struct str barclamp)
{
    CHECK(self == vetoes && str_eq(barclamp, STR("b")));
    return knows_better ? str_from(elsewhere) : STR("");
}

static void wake(void *self)
{
    (void)self;
}

static err answer(void *self, uint64_t token, const struct veto_reply *veto_replies, uint32_t count)
{
    CHECK(self == vetoes && token == 7 && count == 1);
    snprintf(vetoes, sizeof vetoes, "%.*s", STR_FMT_ARGS(veto_replies[0].text));
    return OK;
}

static void loaded(void *self, int64_t role_id, err error, const struct hooks_report *report)
{
    CHECK(self == vetoes);
    loads_failed += error != OK;
    role_code_registry_loaded(&codes, role_id, error, report);
}

static void collected(void *context, const struct change *change)
{
    (void)context;
    (void)change;
}

static void import_role(const char *version, int64_t turn, const char *more)
{
    char document[256];
    struct arena arena = {0};
    struct effects effects = {0};
    struct outcome outcome;
    struct command command = {.kind = COMMAND_IMPORT, .actor = STR("test"), .now_ms = 1};
    snprintf(document, sizeof document,
             "{\"barclamp\":{\"name\":\"b\",\"source_path\":\"%s\",\"version\":\"%s\"},\"roles\":[{"
             "%s\"jig\":\"j\",\"name\":\"r\"}]}",
             folder, version, more);
    command.import.barclamp = str_from(document);
    core_step(core, &command, &arena, &effects, &outcome);
    CHECK(outcome.verdict == VERDICT_DONE);
    core_collect(core, turn, collected, NULL);
    arena_fini(&arena);
}

static void import(const char *version, int64_t turn)
{
    import_role(version, turn, "");
}

static int64_t role_id(void)
{
    return core_find(core, TABLE_ROLE, STR("r"));
}

/* A Lua file whose on_commit returns this veto. */
static void write_code(const char *where, const char *veto)
{
    char command[512];
    snprintf(command, sizeof command,
             "mkdir -p %s/roles && echo \"return { on_commit = function() return '%s' end }\" > "
             "%s/roles/r.lua",
             where, veto, where);
    run_shell(command);
}

static void ask_role(int64_t id)
{
    const struct hooks_port port = hooks_port(codes.hooks);
    const struct veto_request question = {
        .key = 1, .hook = HOOK_COMMIT, .role_id = id, .argument = STR("{}")};
    vetoes[0] = 0;
    port.ask(port.self, 7, &question, 1);
    CHECK(hooks_run_until_idle(codes.hooks));
}

static bool vetoes_with(const char *text)
{
    ask_role(role_id());
    const bool same = strstr(vetoes, text) != NULL;
    if (!same)
        printf("veto: %s\nwanted: %s\n", vetoes, text);
    return same;
}

static bool agrees(int64_t id)
{
    ask_role(id);
    return !vetoes[0];
}

static void begin(void)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    snprintf(folder, sizeof folder, "/tmp/halligan-codes-XXXXXX");
    CHECK(mkdtemp(folder));
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", folder);
    knows_better = false;
    core = core_new();
    core_bootstrap(core, 1);
    import("1", 1);
    const struct hooks_callbacks callbacks = {
        .self = vetoes, .wake = wake, .answer = answer, .loaded = loaded};
    loads_failed = 0;
    codes = (struct role_code_registry){.hooks = hooks_open(callbacks, SANDBOX_LIMITS),
                                        .callbacks = {vetoes, get_core, source_path}};
    CHECK(codes.hooks);
}

static void end(void)
{
    hooks_close(codes.hooks);
    role_code_registry_fini(&codes);
    core_free(core);
    run_shell("rm -r ../$(basename $PWD)");
}

/* It is loaded when this returns. */
static void need_code(void)
{
    role_code_registry_need(&codes, role_id());
    CHECK(!hooks_run_until_idle(codes.hooks));
}

/* ---- tests ---- */

TEST(code_is_read_when_it_is_needed_and_then_kept)
{
    begin();
    write_code(".", "one");
    CHECK(vetoes_with("has no code here"));
    need_code();
    CHECK(vetoes_with("one"));
    write_code(".", "two");
    need_code();
    CHECK(vetoes_with("one"));
    role_code_registry_need(&codes, 4711); /* a role that does not exist needs none */
    end();
}

/* A role for each of two networks, from one file. */
TEST(the_roles_of_networks_use_the_file_of_their_entry)
{
    begin();
    static const char *const names[] = {"lab", "store"};
    int64_t ids[2];
    import_role("2", 2, "\"jig\":\"j\",\"name\":\"r-{name}\",\"per\":\"network\"},{");
    for (int i = 0; i < 2; i++) {
        struct arena arena = {0};
        struct effects effects = {0};
        struct outcome outcome;
        char role[20];
        struct command command = {
            .kind = COMMAND_NETWORK_CREATE, .actor = STR("test"), .now_ms = 2};
        command.network_create.name = str_from(names[i]);
        command.network_create.conduit = STR("1g0");
        command.network_create.given = GIVEN_NETWORK_CONDUIT;
        core_step(core, &command, &arena, &effects, &outcome);
        CHECK(outcome.verdict == VERDICT_DONE);
        snprintf(role, sizeof role, "r-%s", names[i]);
        ids[i] = core_find(core, TABLE_ROLE, str_from(role));
        arena_fini(&arena);
    }
    run_shell("mkdir -p roles && echo \"return { on_commit = function() return 'one' end }\" > "
              "'roles/r-{name}.lua'");
    for (int i = 0; i < 2; i++) {
        role_code_registry_need(&codes, ids[i]);
        CHECK(!hooks_run_until_idle(codes.hooks));
        ask_role(ids[i]);
        CHECK(strstr(vetoes, "one") != NULL);
    }
    /* A reload reads the file for each of them. */
    run_shell("echo \"return { on_commit = function() return 'two' end }\" > 'roles/r-{name}.lua'");
    CHECK(role_code_registry_read_again(&codes, STR("r-{name}"), false));
    CHECK(!role_code_registry_read_again(&codes, STR("x-{name}"), false));
    CHECK(!hooks_run_until_idle(codes.hooks));
    for (int i = 0; i < 2; i++) {
        ask_role(ids[i]);
        CHECK(strstr(vetoes, "two") != NULL);
    }
    end();
}

TEST(an_import_uses_its_own_code)
{
    begin();
    write_code(".", "one");
    need_code();
    write_code(".", "two");
    import("2", 2);
    need_code();
    CHECK(vetoes_with("two"));
    end();
}

TEST(moved_files_are_found_before_the_import)
{
    begin();
    write_code("elsewhere", "moved");
    knows_better = true;
    need_code();
    CHECK(vetoes_with("moved"));
    end();
}

/* The file was loaded, or is not needed. */
static bool read_again(void)
{
    const uint32_t before = loads_failed;
    CHECK(!role_code_registry_read_again(&codes, STR("nobody"), false));
    const bool is_there = role_code_registry_read_again(&codes, STR("r"), false);
    CHECK(!hooks_run_until_idle(codes.hooks)); /* no hook was called */
    return is_there && loads_failed == before;
}

TEST(a_reload_reads_files_again)
{
    begin();
    write_code(".", "one");
    need_code();
    write_code(".", "two");
    CHECK(read_again());
    CHECK(vetoes_with("two"));
    end();
}

TEST(an_unchanged_file_is_loaded_again_only_if_it_could_not_be_used)
{
    begin();
    write_code(".", "one");
    CHECK(role_code_registry_read_again(&codes, STR("r"), true)); /* never loaded before */
    CHECK(vetoes_with("one"));
    write_code(".", "two");
    CHECK(role_code_registry_read_again(&codes, STR("r"), true));
    CHECK(vetoes_with("one"));
    run_shell("echo 'return {' > roles/r.lua");
    CHECK(!read_again());
    write_code(".", "three");
    CHECK(role_code_registry_read_again(&codes, STR("r"), true));
    CHECK(vetoes_with("three"));
    end();
}

TEST(a_file_with_errors_keeps_the_loaded_code)
{
    begin();
    write_code(".", "one");
    need_code();
    run_shell("echo 'return {' > roles/r.lua");
    CHECK(!read_again());
    CHECK(vetoes_with("one"));
    run_shell("ln -sf /etc/hostname roles/r.lua"); /* leads out of the barclamp */
    CHECK(!read_again());
    CHECK(vetoes_with("one"));
    end();
}

TEST(a_removed_file_unloads_its_code)
{
    begin();
    write_code(".", "one");
    need_code();
    run_shell("rm roles/r.lua");
    read_again();
    CHECK(agrees(role_id())); /* it has no hooks, so none is called */
    end();
}

TEST(a_missing_file_fails_hooks_and_is_named)
{
    begin();
    write_code(".", "one");
    import_role("2", 2, "\"hooks\":[\"on_commit\"],");
    need_code();
    CHECK(vetoes_with("one"));
    run_shell("rm roles/r.lua");
    CHECK(read_again()); /* there was nothing to load */
    CHECK(vetoes_with("has no code here, so on_commit cannot be called: "));
    CHECK(vetoes_with("/roles/r.lua: no such file"));
    run_shell("ln -sf /etc/hostname roles/r.lua");
    CHECK(!read_again());
    CHECK(vetoes_with("/roles/r.lua: outside its barclamp"));
    run_shell("rm roles/r.lua && echo 'return {' > roles/r.lua");
    CHECK(!read_again());
    CHECK(vetoes_with("/roles/r.lua:2: "));
    write_code(".", "two");
    CHECK(read_again());
    CHECK(vetoes_with("two"));
    end();
}

TEST(a_pending_document_without_the_file_counts_until_it_is_refused)
{
    begin();
    import_role("2", 2, "\"hooks\":[\"on_commit\"],");
    knows_better = true;
    need_code();
    CHECK(agrees(role_id()));
    need_code();
    CHECK(agrees(role_id()));
    knows_better = false;
    need_code();
    CHECK(vetoes_with("/roles/r.lua: no such file"));
    end();
}

TEST(without_a_core_nothing_is_done)
{
    begin();
    struct core *hidden = core;
    write_code(".", "one");
    core = NULL;
    role_code_registry_need(&codes, 1);
    CHECK(!read_again());
    core = hidden;
    CHECK(vetoes_with("has no code here"));
    end();
}

TEST(the_code_of_many_roles_is_distinguished)
{
    begin();
    char document[4096];
    size_t at = (size_t)snprintf(
        document, sizeof document,
        "{\"barclamp\":{\"name\":\"b\",\"source_path\":\"%s\"},\"roles\":[", folder);
    for (int i = 0; i < 70; i++)
        at += (size_t)snprintf(document + at, sizeof document - at,
                               "%s{\"jig\":\"j\",\"name\":\"r%d\"}", i ? "," : "", i);
    snprintf(document + at, sizeof document - at, "]}");
    struct arena arena = {0};
    struct effects effects = {0};
    struct outcome outcome;
    struct command command = {.kind = COMMAND_IMPORT, .actor = STR("test"), .now_ms = 1};
    command.import.barclamp = str_from(document);
    core_step(core, &command, &arena, &effects, &outcome);
    CHECK(outcome.verdict == VERDICT_DONE);
    core_collect(core, 2, collected, NULL);
    arena_fini(&arena);
    run_shell("mkdir roles && for i in 3 65; do echo 'return { on_commit = function() return "
              "\"no\" end }' > roles/r$i.lua; done");
    const int64_t first = core_find(core, TABLE_ROLE, STR("r0"));
    for (int64_t id = first + 69; id >= first; id--)
        role_code_registry_need(&codes, id);
    for (int64_t i = 0; i < 70; i++)
        CHECK(agrees(first + i) == (i != 3 && i != 65));
    end();
}
