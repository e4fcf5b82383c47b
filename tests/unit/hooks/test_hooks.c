/* The thread: everything that is delivered, asked or called is answered once, in order, from
 * hooks_pump(), whatever the code does; and closing never waits for it. */
#include "hooks/hooks.h"

#include "hooks/role_code_slot.h"
#include "tests/unit/hooks/hooks_loop.h"

/* ---- deliveries ---- */

TEST(a_delivery_is_answered_with_the_commands_of_the_hook)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3,
         "return { on_node_change = function(node, context) "
         "assert(context.role == 'r' and node.name == 'n5') "
         "halligan.set_bootenv('n1', 'local') halligan.enqueue(node.id) end }");
    deliver(l, 5, 3, HOOK_NODE_CHANGE);
    CHECK(hooks_pending_count(l->hooks) == 1);
    run(l, 1);
    CHECK(hooks_pending_count(l->hooks) == 0);
    const struct outbox_done_command *done = &l->received[0].command.outbox_done;
    CHECK(l->received[0].command.kind == COMMAND_OUTBOX_DONE && done->outbox_id == 5);
    CHECK(!done->failed && done->text.len == 0);
    struct command wish;
    uint32_t at = 0;
    CHECK(command_decode(&l->arena, done->hook_commands, &at, &wish) == OK);
    CHECK(wish.kind == COMMAND_NODE_UPDATE && wish.node_update.id == 11);
    CHECK(command_decode(&l->arena, done->hook_commands, &at, &wish) == OK);
    CHECK(wish.kind == COMMAND_NODEROLE_ENQUEUE && wish.noderole_enqueue.id == 105);
    CHECK(at == done->hook_commands.len);
    close_loop(l);
}

TEST(results_are_submitted_by_the_pump_only)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { on_todo = function() end }");
    deliver(l, 1, 3, HOOK_TODO);
    CHECK(sem_wait(&l->woken) == 0);
    CHECK(l->facts_made == 0 && l->prepared == 0); /* only recorded */
    CHECK(!hooks_pump(l->hooks));
    CHECK(sem_wait(&l->woken) == 0);
    CHECK(l->received_count == 0 && l->facts_made == 1 && l->prepared == 1);
    CHECK(hooks_pump(l->hooks));
    CHECK(l->received_count == 1);
    CHECK(!hooks_pump(l->hooks));
    close_loop(l);
}

TEST(a_failing_hook_has_a_reason_and_no_commands)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3,
         "return { on_todo = function(nr) halligan.enqueue(1) error('no luck') end, "
         "on_active = function(nr) halligan.enqueue(1) halligan.set_bootenv('n9', 'x') end }");
    deliver(l, 1, 3, HOOK_TODO);
    deliver(l, 2, 3, HOOK_ACTIVE);
    deliver(l, 3, 4, HOOK_TODO);
    CHECK(hooks_run_until_idle(l->hooks) && l->received_count == 3);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK(l->received[i].failed && l->received[i].command.outbox_done.hook_commands.len == 0);
        CHECK(l->received[i].command.outbox_done.outbox_id == (int64_t)i + 1);
    }
    CHECK(has(l, l->received[0].text, "r.lua:1: no luck\nstack traceback:"));
    CHECK(has(l, l->received[0].text, "in on_todo"));
    CHECK(has(l, l->received[1].text, "node_update names the node n9, which does not exist"));
    CHECK(has(l, l->received[2].text, "role 4 has no code here, so on_todo cannot be called"));
    close_loop(l);
}

TEST(everything_is_answered_in_order_however_much_it_is)
{
    enum { COUNT = 5000 };
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { on_todo = function(nr) halligan.enqueue(nr) end }");
    load(l, 4, "return { on_todo = function(nr) error(nr.name) end }");
    for (int64_t i = 1; i <= COUNT; i++)
        deliver(l, i, 3 + i % 2, HOOK_TODO);
    CHECK(hooks_pending_count(l->hooks) == COUNT && l->facts_made == 0);
    CHECK(!hooks_pump(l->hooks));
    CHECK(l->facts_made <= HOOKS_QUEUE_MAX); /* the others are rows without arguments */
    CHECK(hooks_pending_count(l->hooks) == COUNT);
    run(l, COUNT);
    int64_t last[2] = {0, -1}; /* of each role */
    for (uint32_t i = 0; i < COUNT; i++) {
        const struct received *received = &l->received[i];
        const int64_t id = received->command.outbox_done.outbox_id;
        char name[24];
        snprintf(name, sizeof name, ": n%d\n", (int)id);
        CHECK(id == last[id % 2] + 2);
        last[id % 2] = id;
        CHECK(received->failed == (id % 2 == 1));
        if (received->failed)
            CHECK(has(l, received->text, name));
    }
    CHECK(hooks_pending_count(l->hooks) == 0);
    close_loop(l);
}

TEST(a_row_whose_object_is_gone_is_answered_without_a_call)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { on_todo = function() error('called') end }");
    l->is_gone = true;
    for (int64_t i = 1; i <= 300; i++)
        deliver(l, i, 3, HOOK_TODO);
    CHECK(l->received_count == 0);
    run(l, 300);
    for (uint32_t i = 0; i < 300; i++)
        CHECK(!l->received[i].failed && l->received[i].command.outbox_done.outbox_id == i + 1);
    close_loop(l);
}

TEST(an_answer_that_is_not_taken_is_handed_over_later)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3,
         "return { on_todo = function(nr) halligan.enqueue(nr) end, "
         "on_commit = function() end }");
    l->is_full = true;
    deliver(l, 1, 3, HOOK_TODO);
    deliver(l, 2, 3, HOOK_TODO);
    CHECK(sem_wait(&l->woken) == 0);
    CHECK(!hooks_pump(l->hooks));
    CHECK(sem_wait(&l->woken) == 0);
    CHECK(!hooks_pump(l->hooks));
    CHECK(!hooks_pump(l->hooks));
    CHECK(hooks_pending_count(l->hooks) == 2);
    l->is_full = false;
    run(l, 2);
    CHECK(l->received[0].command.outbox_done.outbox_id == 1);
    CHECK(l->received[0].command.outbox_done.hook_commands.len > 0);
    CHECK(l->received[1].command.outbox_done.outbox_id == 2);
    close_loop(l);
}

/* ---- veto requests ---- */

TEST(veto_requests_are_answered_together)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3,
         "return { on_commit = function(nr) assert(nr.node == 'n1') end, "
         "on_node_bind = function(nr) halligan.veto(nr.node .. ' is full') end }");
    ask(l, 77, 3);
    run(l, 1);
    const struct received *received = &l->received[0];
    CHECK(received->key == 77 && received->count == 3);
    CHECK(received->veto_replies[0].key == 770 && !received->veto_replies[0].veto);
    CHECK(received->veto_replies[1].key == 771 && received->veto_replies[1].veto);
    CHECK(str_eq(received->veto_replies[1].text, STR("n1 is full")));
    CHECK(received->veto_replies[2].key == 772 && received->veto_replies[2].veto);
    CHECK(has(l, received->veto_replies[2].text, "role 4 has no code here"));
    close_loop(l);
}

TEST(veto_requests_do_not_wait_behind_deliveries)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { on_todo = function() end, on_commit = function() end }");
    hold(l);
    for (int64_t i = 1; i <= 20; i++)
        deliver(l, i, 3, HOOK_TODO);
    CHECK(hooks_pump(l->hooks) && l->facts_made == 21);
    ask(l, 5, 1);
    release(l);
    run(l, 22);
    CHECK(l->received[0].command.outbox_done.outbox_id == 999);
    CHECK(l->received[1].key == 5);
    CHECK(l->received[2].command.outbox_done.outbox_id == 1);
    CHECK(l->received[21].command.outbox_done.outbox_id == 20);
    close_loop(l);
}

TEST(too_many_veto_requests_are_answered_with_a_veto)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { on_todo = function() end, on_commit = function() end }");
    hold(l);
    for (uint64_t i = 1; i <= HOOKS_VETOES_MAX; i++)
        ask(l, i, 1);
    ask(l, 5000, 2);
    CHECK(l->received_count == 0);
    CHECK(hooks_pump(l->hooks));
    CHECK(l->received_count == 2);
    CHECK(l->received[0].key == 5000 && l->received[0].count == 2);
    CHECK(l->received[0].veto_replies[1].veto && l->received[0].veto_replies[1].key == 50001);
    CHECK(has(l, l->received[0].veto_replies[1].text, "too many veto requests"));
    release(l);
    run(l, 2 + HOOKS_VETOES_MAX);
    for (uint32_t i = 2; i < l->received_count; i++)
        CHECK(l->received[i].key == i - 1 && !l->received[i].veto_replies[0].veto);
    close_loop(l);
}

/* ---- calls ---- */

TEST(the_function_that_is_no_hook_can_be_called)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3,
         "return { do_transition = function(nr, data) assert(nr.id == 9) "
         "return { result = 'async', wall = data, log = 'began' } end }");
    load(l, 4, "return { do_transition = function() error('no') end }");
    load(l, 6, "return { sysdata = function() end }");
    const struct hooks_facts both = {.argument = STR("{\"id\":9}"), .context = STR("{\"d\":1}")};
    CHECK(hooks_call(l->hooks, 3, &both, 3) == OK);
    CHECK(hooks_call(l->hooks, 4, &both, 4) == OK);
    CHECK(hooks_call(l->hooks, 5, &both, 5) == OK);
    CHECK(hooks_call(l->hooks, 6, &both, 6) == OK);
    CHECK(hooks_pending_count(l->hooks) == 4 && l->prepared == 4);
    CHECK(hooks_run_until_idle(l->hooks));
    CHECK(hooks_pending_count(l->hooks) == 0 && l->received_count == 4);
    const struct received *h = l->received;
    CHECK(h[0].key == 3 && h[0].result.done.result == RESULT_ASYNC && h[0].result.done.has_wall);
    CHECK(str_eq(h[0].result.done.wall, STR("{\"d\":1}")));
    CHECK(str_eq(h[0].result.done.runlog, STR("began")));
    CHECK(h[1].key == 4 && h[1].failed && h[1].result.done.result == RESULT_FAILED);
    CHECK(has(l, h[1].result.done.runlog, "r.lua:1: no\nstack traceback"));
    CHECK(h[2].key == 5 && h[2].failed && h[2].result.done.result == RESULT_FAILED);
    CHECK(has(l, h[2].text, "role 5 has no code"));
    CHECK(h[3].key == 6 && h[3].failed && has(l, h[3].text, "the file defines no do_transition"));
    close_loop(l);
}

TEST(calls_are_refused_while_too_many_wait_but_not_because_of_deliveries)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { on_todo = function() end, do_transition = function() end }");
    const struct hooks_facts none = {0};
    hold(l);
    for (int64_t i = 1; i < 2 * HOOKS_QUEUE_MAX; i++)
        deliver(l, i, 3, HOOK_TODO);
    for (uint64_t i = 1; i <= HOOKS_CALLS_MAX; i++)
        CHECK(hooks_call(l->hooks, 3, &none, i) == OK);
    CHECK(hooks_call(l->hooks, 3, &none, 1000) == ERR_LIMIT);
    release(l);
    run(l, 2 * HOOKS_QUEUE_MAX + HOOKS_CALLS_MAX);
    CHECK(hooks_call(l->hooks, 3, &none, 1001) == OK);
    run(l, 2 * HOOKS_QUEUE_MAX + HOOKS_CALLS_MAX + 1);
    close_loop(l);
}

/* ---- code ---- */

TEST(a_file_is_inspected_and_loaded)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    struct hooks_report report;
    const char *path = path_of(l, "/r.lua");
    CHECK(hooks_inspect(path, &l->arena, &report) == ERR_NOT_FOUND);
    CHECK(has(l, report.text, path) && has(l, report.text, "No such file"));
    hooks_load(l->hooks, 3, path);
    run_load(l);
    CHECK(l->loaded_error == ERR_NOT_FOUND && str_eq(l->report.text, report.text));

    CHECK(load_file(l, 3, "return { on_todo = type, on_x = 1 }", &report) == OK);
    CHECK(report.functions.hooks == 1u << HOOK_TODO && report.text.len == 0);
    CHECK(str_eq(report.functions.unknown, STR("on_x")));
    CHECK(hooks_inspect(path_of(l, "/r.lua"), &l->arena, &report) == OK);
    CHECK(report.functions.hooks == 1u << HOOK_TODO);

    CHECK(load_file(l, 3, "\n\nreturn {", &report) == ERR_SYNTAX);
    CHECK(report.functions.hooks == 0 && report.has_code);
    path = path_of(l, "/r.lua");
    CHECK(str_starts(report.text, str_from(path)) && has(l, report.text, "/r.lua:3: "));
    CHECK(hooks_inspect(path, &l->arena, &report) == ERR_SYNTAX);

    char *large = malloc(ROLE_CODE_SIZE_MAX + 2);
    CHECK(large);
    memset(large, ' ', ROLE_CODE_SIZE_MAX + 1);
    large[ROLE_CODE_SIZE_MAX + 1] = 0;
    CHECK(load_file(l, 3, large, &report) == ERR_LIMIT);
    CHECK(has(l, report.text, "r.lua: the file is too large"));
    free(large);
    close_loop(l);
}

TEST(code_that_uses_a_removed_function_is_refused_with_its_line)
{
    static const struct {
        const char *code;
        int line;
    } refused[] = {
        {"return { on_todo = function(nr) halligan.boot_served(1, nr, 2) end }", 1},
        {"-- here\nlocal served = halligan.boot_served\nreturn {}", 2},
        {"--[==[ a\n]] ]==] local s = [[\n]]\nlocal x = '\\'' .. halligan [ \"boot_served\" ]\n"
         "return {}",
         4},
        {"local x = halligan -- why\n  .\n boot_served\nreturn {}", 3},
        {"local x = halligan[ [[boot_served]] ]\nreturn {}", 1},
        {"halligan.boot_served(", 1},
    };
    static const char *const accepted[] = {
        "return { on_node_change = function(node) if node.boot_served then error() end end }",
        "-- halligan.boot_served(node)\nreturn {}",
        "--[[ halligan.boot_served(node)\n]]\nreturn {}",
        ("local x = 'halligan.boot_served' .. \"halligan.boot_served\"\n"
         "x = [=[halligan.boot_served]=]\n"
         "return {}"),
        ("local halligan2 = { boot_served = 1, boot_served2 = 2 }\n"
         "local x = halligan2.boot_served\nreturn {}"),
        "local m = {}\nfunction m.boot_served() end\nm.boot_served()\nreturn {}",
        "local x = halligan.boot_served_not or 7 - 3\nreturn {}",
    };
    struct loop *l = open_loop(SANDBOX_LIMITS);
    struct hooks_report report;
    CHECK(load_file(l, 3, "return { on_todo = type }", &report) == OK);
    for (uint32_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char place[40];
        CHECK(load_file(l, 3, refused[i].code, &report) == ERR_SYNTAX && report.has_code);
        snprintf(place, sizeof place, "/r.lua:%d: halligan.boot_served", refused[i].line);
        CHECK(has(l, report.text, place) && has(l, report.text, "remove the call"));
        CHECK(hooks_inspect(path_of(l, "/r.lua"), &l->arena, &report) == ERR_SYNTAX);
        CHECK(has(l, report.text, place));
    }
    for (uint32_t i = 0; i < sizeof accepted / sizeof *accepted; i++)
        CHECK(load_file(l, 3, accepted[i], &report) == OK);
    close_loop(l);
}

TEST(new_code_replaces_the_old_and_wrong_code_does_not)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    struct hooks_report report;
    load(l, 3, "return { on_todo = function() error('one') end }");
    deliver(l, 1, 3, HOOK_TODO);
    run(l, 1);
    CHECK(load_file(l, 3, "return 5", &report) == ERR_SYNTAX);
    deliver(l, 2, 3, HOOK_TODO);
    run(l, 2);
    load(l, 3, "return { on_todo = function() error('two') end }");
    deliver(l, 3, 3, HOOK_TODO);
    run(l, 3);
    CHECK(has(l, l->received[0].text, "one"));
    CHECK(has(l, l->received[1].text, "one"));
    CHECK(has(l, l->received[2].text, "two"));
    close_loop(l);
}

TEST(what_is_called_meets_the_code_that_was_named_last)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { on_todo = function() end, on_commit = function() return 'one' end }");
    hold(l);
    deliver(l, 1, 3, HOOK_TODO);
    ask(l, 1, 1);
    CHECK(hooks_pump(l->hooks) && l->facts_made == 2); /* the thread has both, and is held */
    load_later(l, 3,
               "return { on_todo = function() error('two') end, "
               "on_commit = function() return 'two' end }");
    ask(l, 2, 1);
    release(l);
    run(l, 4);
    for (uint32_t i = 1; i < 4; i++)
        CHECK(has(l, l->received[i].key ? l->received[i].veto_replies[0].text : l->received[i].text,
                  "two"));
    CHECK(l->loaded_count == 2);
    close_loop(l);
}

TEST(a_file_that_was_replaced_before_a_call_is_never_read)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { on_todo = function() error('one') end }");
    hold(l);
    load_later(l, 3, "return {");
    load_later(l, 3, "return { on_todo = function() error('three') end }");
    deliver(l, 1, 3, HOOK_TODO);
    release(l);
    run(l, 2);
    CHECK(has(l, l->received[1].text, "three"));
    CHECK(l->loaded_count == 2 && l->loaded_error == OK);
    close_loop(l);
}

TEST(the_latest_change_of_code_counts)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    struct hooks_report report;
    load(l, 3, "return { on_todo = function() error('one') end }");
    hold(l);
    load_later(l, 3, "return { on_todo = function() error('two') end }");
    hooks_unload(l->hooks, 3);
    deliver(l, 1, 3, HOOK_TODO);
    release(l);
    run(l, 2);
    /* no report of code that was removed at once */
    CHECK(!l->received[1].failed && l->loaded_count == 1);
    /* The code was removed before this load, so there is no old code to keep. */
    hold(l);
    hooks_unload(l->hooks, 3);
    load_later(l, 3, "return {");
    deliver(l, 2, 3, HOOK_TODO);
    release(l);
    run(l, 4);
    CHECK(has(l, l->received[3].text, "r.lua:1: ") && l->loaded_count == 2 && !l->report.has_code);
    hooks_set_missing(l->hooks, 3, STR("gone"));
    CHECK(load_file(l, 3, "return {}", &report) == OK && report.has_code);
    close_loop(l);
}

TEST(the_report_of_a_replaced_file_is_dropped)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { on_todo = function() end }");
    load_later(l, 3, "return {}");
    CHECK(sem_wait(&l->woken) == 0); /* it was read */
    hooks_set_missing(l->hooks, 3, STR("gone"));
    deliver(l, 1, 3, HOOK_TODO);
    run(l, 1);
    CHECK(l->loaded_count == 1 && has(l, l->received[0].text, "cannot be called: gone"));
    close_loop(l);
}

TEST(code_that_cannot_be_had_leaves_what_there_was)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { on_todo = function() error('one') end }");
    hooks_keep_code(l->hooks, 3, STR("the file was moved"));
    run_load(l);
    CHECK(l->loaded_error == ERR_IO && l->report.has_code);
    CHECK(str_eq(l->report.text, STR("the file was moved")));
    hooks_keep_code(l->hooks, 4, STR("there is no file"));
    run_load(l);
    CHECK(l->loaded_role == 4 && l->loaded_error == ERR_IO && !l->report.has_code);
    deliver(l, 1, 3, HOOK_TODO);
    deliver(l, 2, 4, HOOK_TODO);
    CHECK(hooks_run_until_idle(l->hooks));
    CHECK(has(l, l->received[0].text, "one"));
    CHECK(has(l, l->received[1].text, "cannot be called: there is no file"));
    close_loop(l);
}

/* Files are read between jobs of other roles, however many there are. */
TEST(files_are_read_between_jobs)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { on_todo = function() end }");
    hold(l);
    for (int64_t i = 1; i <= 100; i++)
        deliver(l, i, 3, HOOK_TODO);
    CHECK(hooks_pump(l->hooks));
    for (int64_t role = 4; role < 14; role++)
        load_later(l, role, "return {");
    atomic_store(&l->is_held, false);
    l->is_full = true; /* what was answered waits, and the files between */
    sem_post(&l->go_on);
    hooks_pump(l->hooks);
    while (l->loaded_count < 1 + 10) {
        l->is_full = false;
        l->taken_max = 1;
        if (!hooks_pump(l->hooks))
            CHECK(sem_wait(&l->woken) == 0);
    }
    CHECK(l->received_count < 100);
    l->is_full = false;
    l->taken_max = 0;
    run(l, 101);
    close_loop(l);
}

TEST(settling_reads_files_and_reports_them_in_order)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load_later(l, 5, "return { on_todo = function() error('five') end }");
    load_later(l, 3, "return { on_todo = function() error('three') end }");
    deliver(l, 1, 3, HOOK_TODO); /* makes the thread read that one first */
    CHECK(hooks_run_until_idle(l->hooks));
    CHECK(has(l, l->received[0].text, "three"));
    CHECK(l->loaded_count == 2 && l->loaded_role == 3);
    load_later(l, 4, "return {");
    CHECK(!hooks_run_until_idle(l->hooks)); /* that is no answer */
    CHECK(l->loaded_count == 3 && l->loaded_role == 4 && l->loaded_error == ERR_SYNTAX);
    close_loop(l);
}

static struct role_code *some_code(void)
{
    struct arena arena = {0};
    struct role_code *code = NULL;
    struct role_functions functions;
    struct str text;
    const struct role_source source = {
        .chunk = "s.lua", .text = STR("return {}"), .limits = SANDBOX_LIMITS};
    CHECK(role_code_new(&source, &arena, &code, &functions, &text) == OK);
    arena_fini(&arena);
    return code;
}

TEST(a_slot_has_code_or_a_reason_why_not)
{
    struct role_code_slot shelf = {0};
    role_code_slot_miss(&shelf, STR("line 3"));
    CHECK(shelf.is_known && !shelf.code && strcmp(shelf.missing_reason, "line 3") == 0);
    role_code_slot_miss(&shelf, STR(""));
    CHECK(shelf.missing_reason && !shelf.missing_reason[0]);
    struct role_code *code = some_code();
    role_code_slot_put(&shelf, code);
    CHECK(shelf.code == code && !shelf.missing_reason);
    role_code_slot_put(&shelf, some_code());
    role_code_slot_miss(&shelf, STR("gone"));
    CHECK(!shelf.code && strcmp(shelf.missing_reason, "gone") == 0);
    role_code_slot_put(&shelf, NULL);
    CHECK(shelf.is_known && !shelf.code && !shelf.missing_reason);
    role_code_slot_put(&shelf, some_code());
    role_code_slot_fini(&shelf);
    CHECK(!shelf.is_known && !shelf.code);
}

/* ---- the end ---- */

TEST(closing_does_not_wait_for_the_code)
{
    const struct sandbox_limits patient = {
        .instructions = UINT32_MAX, .memory_size = 64u << 20, .cpu_ms = 3600000};
    struct loop *l = open_loop(patient);
    load(l, 3,
         "return { on_todo = function() while true do end end, "
         "on_commit = function() while true do pcall(function() while true do end end) end "
         "end }");
    for (int64_t i = 1; i <= 1000; i++)
        deliver(l, i, 3, HOOK_TODO);
    CHECK(!hooks_pump(l->hooks));
    ask(l, 1, 3);
    load_later(l, 3, "while true do end");
    load_later(l, 4, "while true do end");
    hooks_set_missing(l->hooks, 3, STR("gone"));
    close_loop(l);
}

TEST(closing_does_not_wait_for_a_file_that_takes_for_ever)
{
    const struct sandbox_limits patient = {
        .instructions = UINT32_MAX, .memory_size = 64u << 20, .cpu_ms = 3600000};
    struct loop *l = open_loop(patient);
    load_later(l, 3, "while true do pcall(function() while true do end end) end");
    CHECK(!hooks_pump(l->hooks));
    load_later(l, 4, "return {}");
    close_loop(l);
}

TEST(closing_drops_what_was_not_handed_over)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { on_todo = function(nr) halligan.enqueue(nr) end }");
    for (int64_t i = 1; i <= 1000; i++)
        deliver(l, i, 3, HOOK_TODO);
    CHECK(sem_wait(&l->woken) == 0);
    l->is_full = true;
    CHECK(!hooks_pump(l->hooks));
    CHECK(sem_wait(&l->woken) == 0);
    CHECK(!hooks_pump(l->hooks));
    CHECK(hooks_pending_count(l->hooks) == 1000);
    close_loop(l);
    hooks_close(NULL);
}
