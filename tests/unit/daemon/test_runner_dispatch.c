/* Goal: every order is passed to exactly one runner, the one that can execute it.
 * Method: a real core with jigs of every class; runners that only record orders, and the real
 * transitions, which know their runs in progress. */
#include "core/core.h"
#include "daemon/runner_dispatch.h"
#include "hooks/transition.h"
#include "tests/check.h"

#include <stdio.h>
#include <string.h>

static struct core *core;
static struct transitions *transitions;
static struct runners runners;
static struct runner_port port;
static char diary[256];

static void step(const struct command *command)
{
    struct arena arena = {0};
    struct effects effects = {0};
    struct outcome outcome;
    core_step(core, command, &arena, &effects, &outcome);
    CHECK(outcome.verdict == VERDICT_DONE);
    arena_fini(&arena);
}

static const struct core *get_core(void *self)
{
    CHECK(self == diary);
    return core;
}

static void note(const char *who, const char *what, const struct run_order *order)
{
    const size_t at = strlen(diary);
    snprintf(diary + at, sizeof diary - at, "%s:%s(%lld.%u) ", who, what, (long long)order->run_id,
             order->attempt);
}

static void test_start(void *self, const struct run_order *order)
{
    note(self, "start", order);
}

static void test_cancel(void *self, const struct run_order *order)
{
    note(self, "cancel", order);
}

static void test_query(void *self, const struct run_order *order)
{
    note(self, "query", order);
}

/* Run 50 was started by the test jig in an earlier process. */
static bool test_has(void *self, int64_t run_id, uint32_t attempt)
{
    CHECK(self == diary);
    return run_id == 50 && attempt == 1;
}

static bool code_has(void *self, int64_t run_id, uint32_t attempt)
{
    CHECK(self == diary);
    return transitions_has(transitions, run_id, attempt);
}

/* The order is also passed to the real transitions. */
static void code_start(void *self, const struct run_order *order)
{
    const struct runner_port real = transitions_port(transitions);
    note(self, "start", order);
    real.start(real.self, order);
}

static void code_cancel(void *self, const struct run_order *order)
{
    const struct runner_port real = transitions_port(transitions);
    note(self, "cancel", order);
    real.cancel(real.self, order);
}

static bool diary_is(const char *wanted)
{
    const bool same = strcmp(diary, wanted) == 0;
    if (!same)
        printf("got:    %s\nwanted: %s\n", diary, wanted);
    diary[0] = 0;
    return same;
}

static void begin(void)
{
    struct command import = {.kind = COMMAND_IMPORT, .actor = STR("test"), .now_ms = 1};
    import.import.barclamp = STR("{\"barclamp\":{\"name\":\"b\",\"source_path\":\"/b\"},\"jigs\":["
                                 "{\"name\":\"code\",\"class\":\"role-provided\"},"
                                 "{\"name\":\"old-code\",\"class\":\"RoleProvidedJig\"},"
                                 "{\"name\":\"pretend\",\"class\":\"TestJig\"},"
                                 "{\"name\":\"script\",\"class\":\"script\"},"
                                 "{\"name\":\"strange\",\"class\":\"unknown-class\"}]}");
    core = core_new();
    core_bootstrap(core, 1);
    step(&import);
    transitions = transitions_new(NULL, (struct transition_callbacks){0});
    runners = (struct runners){
        .self = diary,
        .core = get_core,
        .code_has = code_has,
        .test_has = test_has,
        .role_code = {"code", code_start, code_cancel, test_query},
        .test_jig = {"test", test_start, test_cancel, test_query},
        .processes = {"exec", test_start, test_cancel, test_query},
    };
    port = runner_dispatch_port(&runners);
    diary[0] = 0;
}

static void end(void)
{
    transitions_free(transitions);
    core_free(core);
}

static struct run_order order_for(int64_t run_id, struct str jig)
{
    return (struct run_order){.epoch = 1, .run_id = run_id, .attempt = 1, .jig = jig};
}

static void start(int64_t run_id, struct str jig)
{
    const struct run_order order = order_for(run_id, jig);
    port.start(port.self, &order);
}

TEST(the_class_of_the_jig_decides_about_a_start)
{
    begin();
    start(1, STR("code"));
    start(2, STR("old-code"));
    CHECK(diary_is("code:start(1.1) code:start(2.1) "));
    start(3, STR("pretend"));
    start(4, STR("script"));
    start(5, STR("strange"));
    start(6, STR("no such jig"));
    start(7, STR("test"));
    CHECK(diary_is(
        "test:start(3.1) exec:start(4.1) exec:start(5.1) exec:start(6.1) test:start(7.1) "));
    const struct run_order code = order_for(8, STR("code")), script = order_for(9, STR("script"));
    port.query(port.self, &code);
    port.query(port.self, &script);
    CHECK(diary_is("code:query(8.1) exec:query(9.1) "));
    end();
}

TEST(a_cancel_is_passed_to_the_owner_of_the_run)
{
    begin();
    start(1, STR("code"));
    start(2, STR("script"));
    CHECK(diary_is("code:start(1.1) exec:start(2.1) "));
    struct run_order order = order_for(1, STR(""));
    order.attempt = 2; /* which no runner has started */
    port.cancel(port.self, &order);
    order.attempt = 1;
    port.cancel(port.self, &order);
    CHECK(diary_is("exec:cancel(1.2) code:cancel(1.1) "));
    port.cancel(port.self, &order); /* it has ended, and the result is repeated */
    order.run_id = 2;
    port.cancel(port.self, &order);
    order.run_id = 50;
    port.cancel(port.self, &order);
    CHECK(diary_is("exec:cancel(1.1) exec:cancel(2.1) test:cancel(50.1) "));
    end();
}

TEST(a_run_stays_with_its_runner_when_its_jig_has_changed)
{
    begin();
    const struct run_order order = order_for(50, STR("script"));
    port.query(port.self, &order);
    start(51, STR("script"));
    CHECK(diary_is("test:query(50.1) exec:start(51.1) "));
    /* A process that the test jig would execute now. */
    struct run_order begun = order_for(52, STR("pretend"));
    port.query(port.self, &begun);
    begun.begun = true;
    port.query(port.self, &begun);
    CHECK(diary_is("test:query(52.1) exec:query(52.1) "));
    end();
}

TEST(a_jig_named_test_has_its_own_class_unless_the_test_jig_replaces_all)
{
    struct command settings = {.kind = COMMAND_SETTINGS_UPDATE, .actor = STR("test"), .now_ms = 1};
    struct command import = {.kind = COMMAND_IMPORT, .actor = STR("test"), .now_ms = 1};
    import.import.barclamp = STR("{\"barclamp\":{\"name\":\"c\",\"source_path\":\"/c\"},"
                                 "\"jigs\":[{\"name\":\"test\",\"class\":\"role-provided\"}]}");
    begin();
    step(&import);
    start(1, STR("test"));
    CHECK(diary_is("code:start(1.1) "));
    settings.settings_update.given = GIVEN_SETTINGS_TEST_JIG;
    settings.settings_update.test_jig = true;
    step(&settings);
    start(2, STR("test"));
    start(3, STR("code"));
    CHECK(diary_is("test:start(2.1) code:start(3.1) "));
    end();
}

TEST(without_a_core_runs_are_processes)
{
    begin();
    struct core *hidden = core;
    core = NULL;
    start(1, STR("code"));
    CHECK(diary_is("exec:start(1.1) "));
    core = hidden;
    end();
}
