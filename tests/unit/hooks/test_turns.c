/* Scheduling: the loop is blocked only for moments, one role never delays another, and duplicate
 * notifications are combined. The thread is held where the order matters, and the clock does not
 * advance by itself. */
#include "hooks/hooks.h"

#include "tests/unit/hooks/hooks_loop.h"

static int64_t id_at(const struct loop *l, uint32_t index)
{
    CHECK(index < l->received_count && l->received[index].command.kind == COMMAND_OUTBOX_DONE);
    return l->received[index].command.outbox_done.outbox_id;
}

static struct str wishes_at(const struct loop *l, uint32_t index)
{
    return l->received[index].command.outbox_done.hook_commands;
}

/* The results, after that of the job that held the thread. */
static void heard_in_order(const struct loop *l, const int64_t *ids, uint32_t count)
{
    CHECK(l->received_count == count + 1 && id_at(l, 0) == 999);
    for (uint32_t i = 0; i < count; i++) {
        if (id_at(l, i + 1) != ids[i])
            fprintf(stderr, "%d. is %d\n", (int)i, (int)id_at(l, i + 1));
        CHECK(id_at(l, i + 1) == ids[i]);
    }
}

#define RECEIVED_IN_ORDER(l, ...)                                                                  \
    heard_in_order((l), (const int64_t[]){__VA_ARGS__},                                            \
                   sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void drain(struct loop *l)
{
    while (sem_trywait(&l->woken) == 0)
        continue;
}

/* ---- time of the loop ---- */

TEST(facts_are_made_for_a_moment_and_then_the_loop_goes_on)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { on_todo = function(nr) halligan.enqueue(nr) end }");
    hold(l);
    for (int64_t i = 1; i <= 50; i++)
        deliver(l, i, 3, HOOK_TODO);
    drain(l);
    l->facts_made = 0;
    l->facts_ms = 1;
    CHECK(hooks_pump(l->hooks)); /* the job that held the thread */
    CHECK(l->facts_made == HOOKS_PUMP_MS);
    /* woken by the loop itself */
    CHECK(sem_trywait(&l->woken) == 0 && sem_trywait(&l->woken) != 0);
    l->facts_ms = 100;
    CHECK(!hooks_pump(l->hooks) && l->facts_made == HOOKS_PUMP_MS + 1);
    CHECK(sem_trywait(&l->woken) == 0);
    release(l);
    run(l, 51);
    for (uint32_t i = 1; i <= 50; i++)
        CHECK(id_at(l, i) == i && wishes_at(l, i).len > 0);
    CHECK(hooks_pending_count(l->hooks) == 0 && l->facts_made == 50);
    close_loop(l);
}

TEST(a_role_with_a_backlog_leaves_capacity_for_others)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { on_todo = function(nr) end }");
    load(l, 4, "return { on_todo = function(nr) end }");
    hold(l);
    l->facts_made = 0;
    l->facts_pad = 200u << 10;
    for (int64_t i = 1; i <= 100; i++)
        deliver(l, i, 3, HOOK_TODO);
    CHECK(hooks_pump(l->hooks));
    CHECK(l->facts_made == 11); /* the first that makes it 2 MiB */
    CHECK(!hooks_pump(l->hooks) && l->facts_made == 11);
    for (int64_t i = 101; i <= 110; i++)
        deliver(l, i, 4, HOOK_TODO);
    CHECK(!hooks_pump(l->hooks) && l->facts_made == 12);
    release(l);
    run(l, 111);
    CHECK(l->facts_made == 110 && hooks_pending_count(l->hooks) == 0);
    close_loop(l);
}

TEST(small_facts_are_bounded_in_number)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    for (int64_t role = 3; role < 203; role++)
        load(l, role, "return { on_todo = function(nr) end }");
    hold(l);
    l->facts_made = 0;
    for (int64_t i = 1; i <= 1000; i++)
        deliver(l, i, 3, HOOK_TODO);
    CHECK(hooks_pump(l->hooks));
    CHECK(l->facts_made == HOOKS_QUEUE_MAX / 2);
    for (int64_t i = 1; i <= 600; i++)
        deliver(l, 1000 + i, 3 + i % 200, HOOK_TODO);
    CHECK(!hooks_pump(l->hooks));
    CHECK(l->facts_made == HOOKS_QUEUE_MAX && hooks_pending_count(l->hooks) == 1600);
    release(l);
    run(l, 1601);
    close_loop(l);
}

/* ---- roles take turns ---- */

TEST(roles_take_turns_with_the_thread)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    for (int64_t role = 3; role <= 5; role++)
        load(l, role, "return { on_todo = function(nr) end, do_transition = function() end }");
    hold(l);
    for (int64_t i = 1; i <= 5; i++)
        deliver(l, i, 3, HOOK_TODO);
    CHECK(hooks_pump(l->hooks));
    deliver(l, 6, 4, HOOK_TODO);
    deliver(l, 7, 4, HOOK_TODO);
    CHECK(!hooks_pump(l->hooks));
    deliver(l, 8, 5, HOOK_TODO);
    CHECK(!hooks_pump(l->hooks));
    release(l);
    run(l, 9);
    RECEIVED_IN_ORDER(l, 1, 6, 8, 2, 7, 3, 4, 5);
    close_loop(l);
}

TEST(roles_take_turns_where_they_wait_for_the_thread)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { on_todo = function(nr) end }");
    load(l, 4, "return { on_todo = function(nr) end }");
    hold(l);
    for (int64_t i = 1; i <= 2000; i++)
        deliver(l, i, 3, HOOK_TODO);
    for (int64_t i = 2001; i <= 2010; i++)
        deliver(l, i, 4, HOOK_TODO);
    CHECK(hooks_pump(l->hooks));
    release(l);
    run(l, 2011);
    for (uint32_t i = 0; i < 10; i++)
        CHECK(id_at(l, 2 * i + 1) == i + 1 && id_at(l, 2 * i + 2) == 2001 + i);
    close_loop(l);
}

/* Node 101 to 199: too slow. */
static const char *const slow =
    "local function burn() local s = (' '):rep(1000000) .. '1' "
    "for i = 1, 1000000 do local n = s + 1 end end "
    "return { on_todo = function(nr) if nr.id < 200 then burn() end end }";

static struct loop *open_slow(void)
{
    struct loop *l = open_loop((struct sandbox_limits){
        .instructions = 2000000000, .memory_size = 16u << 20, .cpu_ms = 20});
    load(l, 3, slow);
    load(l, 4, "return { on_todo = function(nr) end }");
    return l;
}

TEST(a_role_that_used_up_its_time_lets_the_others_go_first)
{
    struct loop *l = open_slow();
    hold(l);
    for (int64_t i = 1; i <= 3; i++)
        deliver(l, i, 3, HOOK_TODO);
    CHECK(hooks_pump(l->hooks));
    for (int64_t i = 11; i <= 16; i++)
        deliver(l, i, 4, HOOK_TODO);
    CHECK(!hooks_pump(l->hooks));
    release(l);
    run(l, 10);
    RECEIVED_IN_ORDER(l, 1, 11, 12, 13, 14, 15, 16, 2, 3);
    CHECK(has(l, l->received[1].text, "it ran for more than 20 ms"));
    CHECK(l->received[8].failed && l->received[9].failed && !l->received[2].failed);
    close_loop(l);
}

/* After so many slow calls, and so much later: does it go first again? */
static bool is_free(int64_t calls, int64_t later_ms)
{
    struct loop *l = open_slow();
    for (int64_t i = 1; i <= calls; i++)
        deliver(l, i, 3, HOOK_TODO);
    CHECK(hooks_run_until_idle(l->hooks)); /* the thread is idle then */
    atomic_store(&l->now_ms, later_ms);
    hold(l);
    deliver(l, 500, 3, HOOK_TODO);
    CHECK(hooks_pump(l->hooks));
    deliver(l, 501, 4, HOOK_TODO);
    deliver(l, 502, 4, HOOK_TODO);
    CHECK(!hooks_pump(l->hooks));
    release(l);
    run(l, (uint32_t)calls + 4);
    const bool first = id_at(l, (uint32_t)calls + 1) == 500;
    CHECK(id_at(l, (uint32_t)calls + (first ? 3 : 2)) == 502);
    close_loop(l);
    return first;
}

TEST(the_penalty_grows_and_has_an_end)
{
    CHECK(!is_free(1, 999) && is_free(1, 1000));
    CHECK(!is_free(2, 1999) && is_free(2, 2000));
    CHECK(!is_free(7, 9999) && is_free(7, 10000));
}

TEST(settling_knows_no_turns_and_no_penalties)
{
    struct loop *l = open_slow();
    l->facts_ms = 10000; /* nor moments */
    for (int64_t i = 1; i <= 9; i++)
        deliver(l, i, i < 3 || i == 7 ? 3 : 4, HOOK_TODO);
    CHECK(hooks_run_until_idle(l->hooks) && l->received_count == 9);
    for (uint32_t i = 0; i < 9; i++)
        CHECK(id_at(l, i) == i + 1);
    CHECK(l->received[0].failed && l->received[1].failed && l->received[6].failed);
    close_loop(l);
}

TEST(a_row_of_what_is_gone_does_not_overtake)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { on_todo = function(nr) halligan.enqueue(nr) end }");
    hold(l);
    deliver_about(l, 1, 3, HOOK_TODO, 7);
    CHECK(hooks_pump(l->hooks));
    l->is_gone = true;
    deliver_about(l, 2, 3, HOOK_TODO, 7);
    CHECK(!hooks_pump(l->hooks));
    CHECK(!hooks_pump(l->hooks));
    release(l);
    run(l, 3);
    RECEIVED_IN_ORDER(l, 1, 2);
    CHECK(wishes_at(l, 1).len > 0 && wishes_at(l, 2).len == 0);
    close_loop(l);
}

/* ---- combined notifications ---- */

static const char *const teller =
    "return { on_todo = function() end, "
    "on_node_change = function(node) halligan.log(node.name) halligan.set_bootenv('n1', node.name) "
    "end, on_node_delete = function(node) halligan.set_bootenv('n1', 'gone') end }";

/* The row whose arguments its hook got. */
static void told(struct loop *l, uint32_t index, const char *name)
{
    struct command wish;
    uint32_t at = 0;
    const struct str commands = wishes_at(l, index);
    CHECK(!l->received[index].failed);
    CHECK(command_decode(&l->arena, commands, &at, &wish) == OK && at == commands.len);
    CHECK(str_eq(wish.node_update.bootenv, str_from(name)));
}

static void untold(const struct loop *l, uint32_t index)
{
    CHECK(!l->received[index].failed && wishes_at(l, index).len == 0);
}

TEST(pending_changes_of_a_node_are_one_call)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, teller);
    load(l, 4, teller);
    hold(l);
    l->facts_made = 0;
    for (int64_t i = 1; i <= 4; i++)
        deliver_about(l, i, 3, HOOK_NODE_CHANGE, 7);
    deliver_about(l, 5, 3, HOOK_NODE_CHANGE, 8);
    deliver_about(l, 6, 3, HOOK_NODE_CHANGE, 7);
    deliver_about(l, 7, 4, HOOK_NODE_CHANGE, 7);
    CHECK(hooks_pending_count(l->hooks) == 8);
    CHECK(hooks_pump(l->hooks));
    CHECK(l->facts_made == 3 && hooks_pending_count(l->hooks) == 7);
    release(l);
    run(l, 8);
    RECEIVED_IN_ORDER(l, 1, 2, 3, 4, 6, 7, 5);
    for (uint32_t i = 1; i <= 4; i++)
        untold(l, i);
    told(l, 5, "n6");
    told(l, 6, "n7");
    told(l, 7, "n5");
    CHECK(hooks_pending_count(l->hooks) == 0);
    close_loop(l);
}

TEST(a_change_takes_the_place_of_one_that_was_not_called_yet)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, teller);
    hold(l);
    for (int64_t i = 1; i <= 5; i++) {
        deliver_about(l, i, 3, HOOK_NODE_CHANGE, i % 2 ? 7 : 8);
        hooks_pump(l->hooks);
        CHECK(hooks_pending_count(l->hooks) == (uint32_t)i);
    }
    release(l);
    run(l, 6);
    RECEIVED_IN_ORDER(l, 1, 3, 5, 2, 4);
    untold(l, 1);
    untold(l, 2);
    told(l, 3, "n5");
    untold(l, 4);
    told(l, 5, "n4");
    /* Nothing of it is left: what was called is called again. */
    deliver_about(l, 6, 3, HOOK_NODE_CHANGE, 7);
    run(l, 7);
    told(l, 6, "n6");
    close_loop(l);
}

TEST(a_change_does_not_overtake_another_hook_of_its_node)
{
    for (int pumped = 0; pumped < 2; pumped++) {
        struct loop *l = open_loop(SANDBOX_LIMITS);
        load(l, 3, teller);
        hold(l);
        deliver_about(l, 1, 3, HOOK_NODE_CHANGE, 7);
        for (int64_t i = 2; i <= 3; i++) {
            if (pumped)
                hooks_pump(l->hooks);
            deliver_about(l, i, 3, i == 2 ? HOOK_NODE_DELETE : HOOK_NODE_CHANGE, 7);
        }
        hooks_pump(l->hooks);
        release(l);
        run(l, 4);
        RECEIVED_IN_ORDER(l, 1, 2, 3);
        told(l, 1, "n1");
        told(l, 2, "gone");
        told(l, 3, "n3");
        close_loop(l);
    }
}

TEST(a_row_delivered_twice_is_answered_with_its_commands)
{
    for (int pumped = 0; pumped < 2; pumped++) {
        struct loop *l = open_loop(SANDBOX_LIMITS);
        load(l, 3, teller);
        hold(l);
        static const int64_t ids[] = {5, 9, 5, 9, 4};
        for (uint32_t i = 0; i < 5; i++) {
            deliver_about(l, ids[i], 3, HOOK_NODE_CHANGE, 7);
            if (pumped)
                hooks_pump(l->hooks);
        }
        hooks_pump(l->hooks);
        CHECK(hooks_pending_count(l->hooks) == 3);
        release(l);
        run(l, 4);
        RECEIVED_IN_ORDER(l, 4, 5, 9); /* the newest is the last pending one */
        CHECK(wishes_at(l, 1).len == 0 && wishes_at(l, 2).len == 0 && wishes_at(l, 3).len > 0);
        CHECK(hooks_pending_count(l->hooks) == 0);
        close_loop(l);
    }
}

TEST(a_row_that_was_answered_before_does_not_silence_another)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, teller);
    hold(l);
    deliver_about(l, 9, 3, HOOK_NODE_CHANGE, 7);
    CHECK(hooks_pump(l->hooks));
    l->is_gone = true;
    deliver_about(l, 4, 3, HOOK_NODE_CHANGE, 7);
    CHECK(!hooks_pump(l->hooks));
    release(l);
    run(l, 3);
    RECEIVED_IN_ORDER(l, 9, 4);
    told(l, 1, "n9");
    untold(l, 2);
    close_loop(l);
}

TEST(rows_of_one_call_are_answered_once_each_however_slowly_they_are_taken)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { on_node_change = function(node) error('no') end }");
    for (int64_t i = 1; i <= 5; i++)
        deliver_about(l, i, 3, HOOK_NODE_CHANGE, 7);
    l->taken_max = 2;
    CHECK(!hooks_run_until_idle(l->hooks) && l->received_count == 2);
    CHECK(!hooks_run_until_idle(l->hooks) && hooks_pending_count(l->hooks) == 5);
    l->is_full = false;
    CHECK(hooks_run_until_idle(l->hooks) && l->received_count == 5 &&
          hooks_pending_count(l->hooks) == 0);
    for (uint32_t i = 0; i < 5; i++)
        CHECK(id_at(l, i) == i + 1 && l->received[i].failed == (i == 4));
    CHECK(has(l, l->received[4].text, "no\n"));
    close_loop(l);
}

TEST(unclaimed_changes_are_dropped_at_the_end)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, teller);
    hold(l);
    for (int64_t i = 1; i <= 700; i++) {
        deliver_about(l, i, 3, HOOK_NODE_CHANGE, i % 350);
        if (i % 100 == 0)
            hooks_pump(l->hooks);
    }
    release(l);
    close_loop(l);
}

/* ---- code that came or went meanwhile ---- */

static struct loop *open_with_rows(void)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    l->name = "dns-server";
    load(l, 3, "return { on_todo = function() end }");
    load(l, 4,
         "return { on_todo = function(nr) halligan.enqueue(nr) end, "
         "sysdata = function() return { a = 1 } end, template = function() return { a = 1 } end }");
    hold(l);
    deliver(l, 1, 4, HOOK_TODO);
    deliver(l, 2, 4, HOOK_SYSDATA);
    deliver(l, 3, 4, HOOK_TEMPLATE);
    CHECK(hooks_pump(l->hooks) && l->facts_made == 3);
    return l;
}

TEST(a_hook_that_is_no_longer_defined_is_answered_without_a_call)
{
    for (int has_file = 0; has_file < 2; has_file++) {
        struct loop *l = open_with_rows();
        if (has_file)
            load_later(l, 4, "return { on_active = function() end }");
        else
            hooks_unload(l->hooks, 4);
        release(l);
        run(l, 4);
        RECEIVED_IN_ORDER(l, 1, 2, 3);
        for (uint32_t i = 1; i <= 3; i++)
            untold(l, i);
        close_loop(l);
    }
}

TEST(code_that_cannot_be_had_fails_and_says_which_file_is_wrong)
{
    struct loop *l = open_with_rows();
    hooks_set_missing(l->hooks, 4, STR("/b/roles/dns-server.lua: there is no such file"));
    load_later(l, 5, "\nreturn {");
    release(l);
    run(l, 4);
    for (uint32_t i = 1; i <= 3; i++)
        CHECK(l->received[i].failed && wishes_at(l, i).len == 0);
    CHECK(has(l, l->received[1].text,
              "role dns-server has no code here, so on_todo cannot be called: "
              "/b/roles/dns-server.lua: there is no such file"));
    deliver(l, 4, 5, HOOK_TODO);
    run(l, 5);
    CHECK(has(l, l->received[4].text, "role dns-server has no code here, so on_todo"));
    CHECK(has(l, l->received[4].text, "/r.lua:2: "));
    load(l, 5, "return { on_todo = function() end }");
    deliver(l, 5, 5, HOOK_TODO);
    run(l, 6);
    CHECK(!l->received[5].failed);
    close_loop(l);
}

TEST(veto_requests_to_removed_or_invalid_code)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    struct hooks_report report;
    l->name = "dns-server";
    CHECK(load_file(l, 3, "return 5", &report) == ERR_SYNTAX);
    hooks_unload(l->hooks, 4);
    ask(l, 1, 3);
    run(l, 1);
    const struct received *received = &l->received[0];
    CHECK(received->veto_replies[0].veto && received->veto_replies[1].veto &&
          !received->veto_replies[2].veto);
    CHECK(has(l, received->veto_replies[0].text, "role dns-server has no code here, so on_commit"));
    CHECK(
        has(l, received->veto_replies[0].text, "r.lua: the file must return a table of functions"));
    const struct hooks_facts none = {0};
    CHECK(hooks_call(l->hooks, 4, &none, 9) == OK);
    run(l, 2);
    CHECK(l->received[1].failed &&
          has(l, l->received[1].text, "role dns-server has no code here, so do_transition"));
    close_loop(l);
}
