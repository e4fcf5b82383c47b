/* Goal: every order reaches the runner that can carry it out, and exactly one of them.
 * Method: a real core with jigs of every kind; behind it runners that only write down what they
 * hear, and the real transitions, which know what they have under way. */
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

/* Run 50 was begun by the test jig in another life. */
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

/* The real one hears it too. */
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

static bool says(const char *wanted)
{
    const bool same = strcmp(diary, wanted) == 0;
    if (!same)
        printf("heard:  %s\nwanted: %s\n", diary, wanted);
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
                                 "{\"name\":\"strange\",\"class\":\"nobody-knows\"}]}");
    core = core_new();
    core_bootstrap(core, 1);
    step(&import);
    transitions = transitions_new(NULL, (struct transition_seams){0});
    runners = (struct runners){
        .self = diary,
        .core = get_core,
        .code_has = code_has,
        .test_has = test_has,
        .role_code = {"code", code_start, code_cancel, test_query},
        .test_jig = {"test", test_start, test_cancel, test_query},
        .processes = {"exec", test_start, test_cancel, test_query},
    };
    port = runners_port(&runners);
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

TEST(a_start_goes_by_the_class_of_its_jig)
{
    begin();
    start(1, STR("code"));
    start(2, STR("old-code"));
    CHECK(says("code:start(1.1) code:start(2.1) "));
    start(3, STR("pretend"));
    start(4, STR("script"));
    start(5, STR("strange"));
    start(6, STR("no such jig"));
    start(7, STR("test"));
    CHECK(says("test:start(3.1) exec:start(4.1) exec:start(5.1) exec:start(6.1) test:start(7.1) "));
    const struct run_order code = order_for(8, STR("code")), script = order_for(9, STR("script"));
    port.query(port.self, &code);
    port.query(port.self, &script);
    CHECK(says("code:query(8.1) exec:query(9.1) "));
    end();
}

TEST(a_cancel_goes_to_the_one_that_has_it)
{
    begin();
    start(1, STR("code"));
    start(2, STR("script"));
    CHECK(says("code:start(1.1) exec:start(2.1) "));
    struct run_order order = order_for(1, STR(""));
    order.attempt = 2; /* which nobody has */
    port.cancel(port.self, &order);
    order.attempt = 1;
    port.cancel(port.self, &order);
    CHECK(says("exec:cancel(1.2) code:cancel(1.1) "));
    port.cancel(port.self, &order); /* it is out, and that is said again */
    order.run_id = 2;
    port.cancel(port.self, &order);
    order.run_id = 50;
    port.cancel(port.self, &order);
    CHECK(says("exec:cancel(1.1) exec:cancel(2.1) test:cancel(50.1) "));
    end();
}

TEST(whoever_began_a_run_keeps_it_when_its_jig_is_another_now)
{
    begin();
    const struct run_order order = order_for(50, STR("script"));
    port.query(port.self, &order);
    start(51, STR("script"));
    CHECK(says("test:query(50.1) exec:start(51.1) "));
    /* A process that would be pretended now. */
    struct run_order begun = order_for(52, STR("pretend"));
    port.query(port.self, &begun);
    begun.begun = true;
    port.query(port.self, &begun);
    CHECK(says("test:query(52.1) exec:query(52.1) "));
    end();
}

TEST(a_jig_called_test_is_what_its_class_says_unless_all_is_to_be_pretended)
{
    struct command settings = {.kind = COMMAND_SETTINGS_UPDATE, .actor = STR("test"), .now_ms = 1};
    struct command import = {.kind = COMMAND_IMPORT, .actor = STR("test"), .now_ms = 1};
    import.import.barclamp = STR("{\"barclamp\":{\"name\":\"c\",\"source_path\":\"/c\"},"
                                 "\"jigs\":[{\"name\":\"test\",\"class\":\"role-provided\"}]}");
    begin();
    step(&import);
    start(1, STR("test"));
    CHECK(says("code:start(1.1) "));
    settings.settings_update.given = GIVEN_SETTINGS_TEST_JIG;
    settings.settings_update.test_jig = true;
    step(&settings);
    start(2, STR("test"));
    start(3, STR("code"));
    CHECK(says("test:start(2.1) code:start(3.1) "));
    end();
}

TEST(without_a_core_nothing_is_known)
{
    begin();
    struct core *hidden = core;
    core = NULL;
    start(1, STR("code"));
    CHECK(says("exec:start(1.1) "));
    core = hidden;
    end();
}
