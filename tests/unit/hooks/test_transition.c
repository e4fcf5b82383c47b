/* The runner of roles with do_transition: every order is answered once with what the code returned,
 * and never by a call that was cancelled. */
#include "hooks/transition.h"

#include "model/limits.h"
#include "tests/unit/hooks/hooks_loop.h"

enum { GONE = 404 };

static uint32_t facts_wanted;

/* Noderole n is of role n % 10. */
static bool run_facts(void *self, int64_t noderole_id, struct arena *arena,
                      struct str *out_argument, int64_t *out_role_id)
{
    struct loop *l = self;
    facts_wanted++;
    atomic_fetch_add(&l->now_ms, l->facts_ms);
    if (noderole_id == GONE)
        return false;
    struct buf b = buf_in(arena);
    buf_put_z(&b, "{\"id\":");
    buf_put_i64(&b, noderole_id);
    buf_put_z(&b, ",\"parents\":[]}");
    *out_argument = buf_str(&b);
    *out_role_id = noderole_id % 10;
    return true;
}

static struct loop *open_runner(void)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    const struct transition_callbacks callbacks = {.self = l, .facts = run_facts, .submit = submit};
    l->transitions = transitions_new(l->hooks, callbacks);
    CHECK(!transitions_is_due(l->transitions) && !transitions_pump(l->transitions));
    facts_wanted = 0;
    return l;
}

static void close_runner(struct loop *l)
{
    struct transitions *t = l->transitions;
    close_loop(l);
    transitions_free(t);
}

struct order {
    int64_t run_id;
    uint32_t attempt;
    int64_t noderole_id;
    int64_t epoch;
    bool begun;
};

enum verb { START, CANCEL, QUERY };

static void order(struct loop *l, enum verb verb, struct order o)
{
    char data[40];
    snprintf(data, sizeof data, "{\"of\":%d}", (int)o.run_id);
    const struct run_order given = {.epoch = o.epoch,
                                    .run_id = o.run_id,
                                    .attempt = o.attempt,
                                    .node_id = 1,
                                    .noderole_id = o.noderole_id,
                                    .begun = o.begun,
                                    .jig = STR("provided"),
                                    .data = verb == CANCEL ? STR("") : str_from(data)};
    const struct runner_port port = transitions_port(l->transitions);
    (verb == START ? port.start : verb == CANCEL ? port.cancel : port.query)(port.self, &given);
    memset(data, 'x', sizeof data); /* texts live for the call */
}

/* Until nothing is left to do. */
static void settle(struct loop *l)
{
    do
        transitions_pump(l->transitions);
    while (hooks_run_until_idle(l->hooks) || transitions_is_due(l->transitions));
}

static const struct run_done_command *done_at(const struct loop *l, uint32_t index, int64_t run_id,
                                              uint32_t attempt)
{
    CHECK(index < l->received_count && l->received[index].command.kind == COMMAND_RUN_DONE);
    const struct run_done_command *done = &l->received[index].command.run_done;
    CHECK(done->run_id == run_id && done->attempt == attempt);
    return done;
}

static void begun_at(const struct loop *l, uint32_t index, int64_t run_id, uint32_t attempt)
{
    CHECK(index < l->received_count && l->received[index].command.kind == COMMAND_RUN_BEGUN);
    const struct run_begun_command *begun = &l->received[index].command.run_begun;
    CHECK(begun->run_id == run_id && begun->attempt == attempt && str_eq(begun->job, STR("lua")));
}

static void stopped_at(const struct loop *l, uint32_t index, int64_t run_id, uint32_t attempt)
{
    CHECK(index < l->received_count && l->received[index].command.kind == COMMAND_RUN_STOPPED);
    const struct run_stopped_command *stopped = &l->received[index].command.run_stopped;
    CHECK(stopped->run_id == run_id && stopped->attempt == attempt);
}

static const char *const plain = "return { on_todo = function() end, do_transition = "
                                 "function(nr, data) return { wall = { run = data.of, "
                                 "nr = nr.id } } end }";

/* ---- what code answers ---- */

TEST(an_order_is_done_and_answered)
{
    struct loop *l = open_runner();
    load(l, 3,
         "return { do_transition = function(nr, data) assert(nr.id == 13 and #nr.parents == 0) "
         "halligan.log('first') return { wall = { of = data.of }, log = 'second', "
         "node_dead = true, stop = true, power = 'reboot' } end }");
    order(l, START, (struct order){.run_id = 7, .attempt = 2, .noderole_id = 13, .epoch = 1});
    CHECK(l->received_count == 0 && facts_wanted == 0); /* only recorded */
    CHECK(transitions_is_due(l->transitions) && transitions_has(l->transitions, 7, 2));
    CHECK(!transitions_has(l->transitions, 7, 1) && !transitions_has(l->transitions, 8, 2));
    settle(l);
    CHECK(l->received_count == 2 && !transitions_has(l->transitions, 7, 2));
    begun_at(l, 0, 7, 2);
    const struct run_done_command *done = done_at(l, 1, 7, 2);
    CHECK(done->result == RESULT_OK && done->has_wall && str_eq(done->wall, STR("{\"of\":7}")));
    CHECK(done->node_dead && done->stop && str_eq(done->power, STR("reboot")));
    CHECK(str_eq(done->runlog, STR("first\nsecond")) && done->park_ms == 0);
    CHECK(str_eq(l->received[1].command.actor, STR("role code")));
    close_runner(l);
}

TEST(a_run_that_is_not_over_says_how_it_goes_on)
{
    struct loop *l = open_runner();
    load(l, 3, "return { do_transition = function() return 'async' end }");
    load(l, 4,
         "return { do_transition = function() return { result = 'parked', park_ms = 60000, "
         "wall = { wiped = 'x' } } end }");
    load(l, 5, "return { do_transition = function() return 'parked' end }");
    for (int64_t i = 3; i <= 5; i++)
        order(l, START, (struct order){.run_id = i, .attempt = 1, .noderole_id = i});
    settle(l);
    CHECK(l->received_count == 6);
    CHECK(done_at(l, 3, 3, 1)->result == RESULT_ASYNC);
    const struct run_done_command *parked = done_at(l, 4, 4, 1);
    CHECK(parked->result == RESULT_PARKED && parked->park_ms == 60000);
    CHECK(parked->has_wall && str_eq(parked->wall, STR("{\"wiped\":\"x\"}")));
    CHECK(done_at(l, 5, 5, 1)->result == RESULT_PARKED);
    CHECK(done_at(l, 5, 5, 1)->park_ms == PARK_MS_MAX);

    /* Resumed, it is another attempt of the same run. */
    order(l, START, (struct order){.run_id = 4, .attempt = 2, .noderole_id = 14});
    settle(l);
    begun_at(l, 6, 4, 2);
    CHECK(done_at(l, 7, 4, 2)->result == RESULT_PARKED);
    close_runner(l);
}

TEST(a_run_that_cannot_be_done_fails_and_says_why)
{
    static const struct {
        int64_t noderole_id;
        const char *why;
    } cases[] = {
        {1, "role 1 has no code here, so do_transition cannot be called"},
        {2, "the file defines no do_transition"},
        {3, "r.lua:1: no luck\nstack traceback:"},
        {4, "it took more than 2000000 instructions"},
        {5, "the result of a run is"},
        {6, "cannot request commands"},
        {GONE, "its noderole does not exist any more"},
    };
    struct loop *l = open_runner();
    load(l, 2, "return { on_todo = function() end }");
    load(l, 3, "return { do_transition = function() error('no luck') end }");
    load(l, 4, "return { do_transition = function() while true do end end }");
    load(l, 5, "return { do_transition = function() return 'fine' end }");
    load(l, 6, "return { do_transition = function() halligan.enqueue(1) end }");
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        l->received_count = 0;
        order(l, START,
              (struct order){.run_id = 50 + i, .attempt = 1, .noderole_id = cases[i].noderole_id});
        settle(l);
        const struct run_done_command *done = done_at(l, l->received_count - 1, 50 + i, 1);
        CHECK(done->result == RESULT_FAILED && !done->has_wall);
        CHECK(has(l, done->runlog, cases[i].why));
        CHECK(l->received_count == (cases[i].noderole_id == GONE ? 1u : 2u));
    }
    close_runner(l);
}

/* ---- orders ---- */

TEST(a_query_is_a_start_begun_or_not)
{
    struct loop *l = open_runner();
    load(l, 3, plain);
    order(l, QUERY, (struct order){.run_id = 1, .attempt = 1, .noderole_id = 3});
    order(l, QUERY, (struct order){.run_id = 2, .attempt = 4, .noderole_id = 3, .begun = true});
    settle(l);
    CHECK(l->received_count == 4);
    CHECK(done_at(l, 2, 1, 1)->result == RESULT_OK && done_at(l, 3, 2, 4)->result == RESULT_OK);
    /* The store lost the result: it is queried, and submitted again. */
    order(l, QUERY, (struct order){.run_id = 2, .attempt = 4, .noderole_id = 3, .begun = true});
    settle(l);
    CHECK(l->received_count == 6 && done_at(l, 5, 2, 4)->result == RESULT_OK);
    close_runner(l);
}

TEST(a_repeated_order_is_done_once_while_it_is_under_way)
{
    struct loop *l = open_runner();
    load(l, 3, plain);
    hold(l);
    const struct order o = {.run_id = 1, .attempt = 1, .noderole_id = 3};
    order(l, START, o);
    order(l, START, o);
    CHECK(transitions_pump(l->transitions)); /* begun, and with the hooks */
    order(l, QUERY, o);
    order(l, START, o);
    CHECK(!transitions_pump(l->transitions));
    CHECK(facts_wanted == 1);
    release(l);
    settle(l);
    CHECK(l->received_count == 3); /* one of them is what the thread was held with */
    begun_at(l, 0, 1, 1);
    CHECK(done_at(l, 2, 1, 1)->result == RESULT_OK);
    close_runner(l);
}

TEST(orders_of_a_former_leader_are_ignored)
{
    struct loop *l = open_runner();
    load(l, 3, plain);
    order(l, START, (struct order){.run_id = 1, .attempt = 1, .noderole_id = 3, .epoch = 5});
    order(l, START, (struct order){.run_id = 2, .attempt = 1, .noderole_id = 3, .epoch = 4});
    order(l, QUERY, (struct order){.run_id = 3, .attempt = 1, .noderole_id = 3, .epoch = 4});
    order(l, CANCEL, (struct order){.run_id = 1, .attempt = 1, .epoch = 4});
    settle(l);
    CHECK(l->received_count == 2 && done_at(l, 1, 1, 1)->result == RESULT_OK);
    order(l, CANCEL, (struct order){.run_id = 9, .attempt = 1, .epoch = 6});
    order(l, START, (struct order){.run_id = 4, .attempt = 1, .noderole_id = 3, .epoch = 5});
    settle(l);
    CHECK(l->received_count == 3);
    stopped_at(l, 2, 9, 1);
    close_runner(l);
}

/* ---- cancelling ---- */

TEST(a_cancelled_run_is_out_at_once_and_its_late_answer_is_dropped)
{
    struct loop *l = open_runner();
    load(l, 3, plain);
    hold(l);
    order(l, START, (struct order){.run_id = 1, .attempt = 1, .noderole_id = 3});
    order(l, START, (struct order){.run_id = 2, .attempt = 1, .noderole_id = 3});
    CHECK(transitions_pump(l->transitions));
    CHECK(l->received_count == 2);
    order(l, CANCEL, (struct order){.run_id = 1, .attempt = 1});
    CHECK(!transitions_has(l->transitions, 1, 1) && transitions_is_due(l->transitions));
    CHECK(transitions_pump(l->transitions));
    stopped_at(l, 2, 1, 1);
    release(l);
    settle(l);
    CHECK(l->received_count == 5); /* and what the thread was held with */
    CHECK(done_at(l, 4, 2, 1)->result == RESULT_OK);
    close_runner(l);
}

TEST(a_cancelled_run_that_loops_is_out_at_once_too)
{
    struct loop *l = open_runner();
    load(l, 3, "return { do_transition = function() while true do end end }");
    load(l, 4, plain);
    order(l, START, (struct order){.run_id = 1, .attempt = 1, .noderole_id = 3});
    CHECK(transitions_pump(l->transitions));
    order(l, CANCEL, (struct order){.run_id = 1, .attempt = 1});
    CHECK(transitions_pump(l->transitions));
    stopped_at(l, 1, 1, 1);
    order(l, START, (struct order){.run_id = 1, .attempt = 2, .noderole_id = 4});
    settle(l);
    CHECK(l->received_count == 4);
    begun_at(l, 2, 1, 2);
    CHECK(done_at(l, 3, 1, 2)->result == RESULT_OK);
    close_runner(l);
}

TEST(a_run_that_is_cancelled_before_it_began_is_never_called)
{
    struct loop *l = open_runner();
    load(l, 3, plain);
    order(l, START, (struct order){.run_id = 1, .attempt = 1, .noderole_id = 3});
    order(l, CANCEL, (struct order){.run_id = 1, .attempt = 1});
    order(l, CANCEL, (struct order){.run_id = 8, .attempt = 1}); /* never was */
    order(l, START, (struct order){.run_id = 2, .attempt = 1, .noderole_id = 3});
    settle(l);
    CHECK(facts_wanted == 1 && l->received_count == 4);
    stopped_at(l, 0, 1, 1);
    stopped_at(l, 1, 8, 1);
    begun_at(l, 2, 2, 1);
    CHECK(done_at(l, 3, 2, 1)->result == RESULT_OK);
    close_runner(l);
}

TEST(calls_of_several_roles_are_answered_as_they_are_done)
{
    static const int64_t begun[] = {13, 23, 33, 14, 24}, expected[] = {1, 4, 2, 5, 3};
    struct loop *l = open_runner();
    load(l, 3, plain);
    load(l, 4, plain);
    hold(l);
    for (int64_t i = 1; i <= 5; i++)
        order(l, START, (struct order){.run_id = i, .attempt = 1, .noderole_id = begun[i - 1]});
    CHECK(transitions_pump(l->transitions) && l->received_count == 5);
    order(l, CANCEL, (struct order){.run_id = 2, .attempt = 1});
    release(l);
    while (l->received_count < 11) { /* begun, stopped, held with, and done: all but one */
        const bool any = hooks_pump(l->hooks);
        if (!transitions_pump(l->transitions) && !any)
            CHECK(sem_wait(&l->woken) == 0);
    }
    uint32_t at = 0;
    for (uint32_t i = 0; i < 11; i++) {
        if (l->received[i].command.kind != COMMAND_RUN_DONE)
            continue;
        at += expected[at] == 2; /* cancelled */
        char wall[60];
        snprintf(wall, sizeof wall, "{\"nr\":%d,\"run\":%d}", (int)begun[expected[at] - 1],
                 (int)expected[at]);
        CHECK(str_eq(done_at(l, i, expected[at], 1)->wall, str_from(wall)));
        at++;
    }
    CHECK(at == 5 && hooks_pending_count(l->hooks) == 0);
    close_runner(l);
}

/* ---- more than is taken ---- */

TEST(more_orders_than_the_hooks_take_are_done_in_time)
{
    enum { COUNT = 1000 };
    struct loop *l = open_runner();
    load(l, 3, plain);
    for (int64_t i = 1; i <= COUNT; i++)
        order(l, START, (struct order){.run_id = i, .attempt = 1, .noderole_id = 3});
    CHECK(transitions_pump(l->transitions));
    CHECK(l->received_count == HOOKS_CALLS_MAX && facts_wanted == HOOKS_CALLS_MAX);
    CHECK(!transitions_is_due(l->transitions)); /* the hooks will wake us */
    for (int64_t i = 3; i <= COUNT; i += 3)
        order(l, CANCEL, (struct order){.run_id = i, .attempt = 1});
    settle(l);
    int64_t last = 0;
    uint32_t done = 0;
    for (uint32_t i = 0; i < l->received_count; i++)
        if (l->received[i].command.kind == COMMAND_RUN_DONE) {
            const int64_t run_id = l->received[i].command.run_done.run_id;
            char wall[60];
            snprintf(wall, sizeof wall, "{\"nr\":3,\"run\":%d}", (int)run_id);
            CHECK(run_id > last && run_id % 3);
            CHECK(str_eq(l->received[i].command.run_done.wall, str_from(wall)));
            last = run_id;
            done++;
        }
    CHECK(done == COUNT - COUNT / 3 && hooks_pending_count(l->hooks) == 0);
    for (int64_t i = 1; i <= COUNT; i++)
        CHECK(!transitions_has(l->transitions, i, 1));
    close_runner(l);
}

TEST(arguments_of_runs_are_created_in_portions)
{
    struct loop *l = open_runner();
    load(l, 3, plain);
    transitions_free(l->transitions);
    const struct transition_callbacks callbacks = {
        .self = l, .facts = run_facts, .submit = submit, .mono_ms = mono_ms, .wake = wake};
    l->transitions = transitions_new(l->hooks, callbacks);
    l->facts_ms = HOOKS_PUMP_MS / 2;
    for (int64_t i = 1; i <= 5; i++)
        order(l, START, (struct order){.run_id = i, .attempt = 1, .noderole_id = 3});
    for (uint32_t made = 2; made <= 4; made += 2) {
        CHECK(transitions_pump(l->transitions) && facts_wanted == made);
        CHECK(transitions_is_due(l->transitions));
        CHECK(sem_trywait(&l->woken) == 0); /* it comes back by itself */
    }
    CHECK(transitions_pump(l->transitions) && facts_wanted == 5);
    CHECK(!transitions_is_due(l->transitions));
    settle(l);
    CHECK(l->received_count == 10);
    for (int64_t i = 1; i <= 5; i++)
        begun_at(l, (uint32_t)i - 1, i, 1);
    close_runner(l);
}

TEST(answers_that_are_not_taken_are_handed_over_later)
{
    struct loop *l = open_runner();
    load(l, 3, plain);
    l->is_full = true;
    order(l, START, (struct order){.run_id = 1, .attempt = 1, .noderole_id = 3});
    order(l, START, (struct order){.run_id = 2, .attempt = 1, .noderole_id = 3});
    CHECK(!transitions_pump(l->transitions));
    CHECK(hooks_run_until_idle(l->hooks)); /* calls have no need to be taken */
    order(l, CANCEL, (struct order){.run_id = 5, .attempt = 1});
    CHECK(!transitions_pump(l->transitions) && !transitions_pump(l->transitions));
    CHECK(l->received_count == 0);
    l->is_full = false;
    CHECK(transitions_pump(l->transitions) && !transitions_pump(l->transitions));
    CHECK(l->received_count == 5);
    begun_at(l, 0, 1, 1);
    begun_at(l, 1, 2, 1);
    CHECK(done_at(l, 2, 1, 1)->result == RESULT_OK && done_at(l, 3, 2, 1)->result == RESULT_OK);
    stopped_at(l, 4, 5, 1);
    close_runner(l);
}

TEST(pending_runs_are_dropped_at_the_end)
{
    struct loop *l = open_runner();
    load(l, 3, "return { do_transition = function() while true do end end }");
    l->is_full = true;
    for (int64_t i = 1; i <= 100; i++)
        order(l, START, (struct order){.run_id = i, .attempt = 1, .noderole_id = 3});
    CHECK(!transitions_pump(l->transitions));
    order(l, CANCEL, (struct order){.run_id = 50, .attempt = 1});
    order(l, CANCEL, (struct order){.run_id = 90, .attempt = 1});
    close_runner(l);
    transitions_free(NULL);
}
