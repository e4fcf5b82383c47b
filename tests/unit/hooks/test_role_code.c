/* The file of a role: functions, arguments, hook commands and results. */
#include "hooks/role_code.h"

#include <stdio.h>
#include <string.h>

#include "model/limits.h"
#include "model/record.h"
#include "sys/log.h"
#include "tests/check.h"

static struct arena arena;

static bool has(struct str text, const char *part)
{
    return strstr(str_z(&arena, text), part) != NULL;
}

static err load(const char *source, struct role_code **out_code, struct role_functions *functions,
                struct str *out_text)
{
    const struct role_source file = {
        .chunk = "dns.lua", .text = str_from(source), .limits = SANDBOX_LIMITS};
    return role_code_new(&file, &arena, out_code, functions, out_text);
}

static struct task call(const char *source, enum task_kind kind, const char *function,
                        const char *argument)
{
    struct role_code *code = NULL;
    struct role_functions functions;
    struct str text = {0};
    if (load(source, &code, &functions, &text) != OK)
        fprintf(stderr, "%.*s\n", STR_FMT_ARGS(text));
    CHECK(code);
    struct task task = {.arena = &arena, .kind = kind, .function = function, .role_id = 3};
    task.arguments[0] = str_from(argument);
    task.arguments[1] = STR("{\"from\":\"outside\"}");
    role_code_call(code, &task);
    role_code_free(code);
    return task;
}

/* ---- loading ---- */

TEST(a_file_says_what_it_defines)
{
    struct role_code *code;
    struct role_functions f;
    struct str text;
    CHECK(load("local function nothing() end "
               "return { on_todo = nothing, on_node_change = nothing, sysdata = nothing, "
               "on_network_created = nothing, helper = 5 }",
               &code, &f, &text) == OK);
    CHECK(f.hooks == (1u << HOOK_TODO | 1u << HOOK_NODE_CHANGE | 1u << HOOK_SYSDATA));
    CHECK(!f.has_do_transition);
    CHECK(str_eq(f.unknown, STR("helper, on_network_created")));
    role_code_free(code);

    CHECK(load("return {}", &code, &f, &text) == OK);
    CHECK(f.hooks == 0 && !f.has_do_transition && f.unknown.len == 0);
    role_code_free(code);
    arena_reset(&arena);
}

TEST(every_hook_is_known_by_its_name)
{
    for (int hook = 0; hook < HOOK_COUNT; hook++) {
        char source[100];
        struct role_code *code;
        struct role_functions f;
        struct str text;
        snprintf(source, sizeof source, "return { %s = function() end, do_transition = type }",
                 hook_name((enum hook)hook));
        CHECK(load(source, &code, &f, &text) == OK);
        CHECK(f.hooks == 1u << hook && f.has_do_transition && f.unknown.len == 0);
        role_code_free(code);
    }
    arena_reset(&arena);
}

static void is_wrong(const char *source, const char *expected)
{
    struct role_code *code;
    struct role_functions f;
    struct str text = {0};
    CHECK(load(source, &code, &f, &text) == ERR_SYNTAX);
    if (!str_eq(text, str_from(expected)))
        fprintf(stderr, "%.*s\n", STR_FMT_ARGS(text));
    CHECK(str_eq(text, str_from(expected)));
    arena_reset(&arena);
}

TEST(a_wrong_file_is_named_with_its_line)
{
    is_wrong("return {\n\n on_todo = function( end }",
             "dns.lua:3: <name> or '...' expected near 'end'");
    is_wrong("local x = nil\nx.y = 1", "dns.lua:2: attempt to index a nil value (local 'x')");
    is_wrong("", "dns.lua: the file must return a table of functions, not a nil");
    is_wrong("return 5", "dns.lua: the file must return a table of functions, not a number");
    is_wrong("return { on_todo = 5 }", "dns.lua: on_todo must be a function, not a number");
    is_wrong("return { function() end }",
             "dns.lua: the file must return functions by name, but there is a number");
    is_wrong("while true do end", "dns.lua:1: it took more than 2000000 instructions");
    is_wrong("error('no\\nway')", "dns.lua:1: no\nway");
    is_wrong("require 'os'",
             "dns.lua:1: attempt to call a nil value (global 'require'); require is not "
             "available in hooks");
    is_wrong("os.exit()", "dns.lua:1: attempt to index a nil value (global 'os'); os is not "
                          "available in hooks");
    is_wrong("osx.exit()", "dns.lua:1: attempt to index a nil value (global 'osx')");
    is_wrong(
        "halligan.enqueue(1) return {}",
        "dns.lua:1: commands can only be requested inside a hook, not while the file is loaded");
    is_wrong(
        "halligan.veto('x') return {}",
        "dns.lua:1: veto() can only be called in a hook that may refuse a command, and the file is "
        "not one");
}

TEST(a_file_has_a_largest_size)
{
    struct role_code *code;
    struct role_functions f;
    struct str text;
    char *source = arena_alloc(&arena, ROLE_CODE_SIZE_MAX + 2);
    memset(source, ' ', ROLE_CODE_SIZE_MAX + 1);
    memcpy(source, "return {}", 9);
    source[ROLE_CODE_SIZE_MAX] = 0;
    CHECK(load(source, &code, &f, &text) == OK);
    role_code_free(code);
    source[ROLE_CODE_SIZE_MAX] = ' ';
    source[ROLE_CODE_SIZE_MAX + 1] = 0;
    CHECK(load(source, &code, &f, &text) == ERR_LIMIT);
    CHECK(str_eq(text, STR("dns.lua: the file is too large")));
    arena_reset(&arena);
}

/* ---- notifications ---- */

TEST(a_hook_is_given_its_argument_and_the_context)
{
    const struct task task =
        call("return { on_active = function(nr, context) "
             "assert(nr.id == 7 and nr.data.a[2] == 'x' and context.from == 'outside') end }",
             TASK_NOTIFY, "on_active", "{\"data\":{\"a\":[1,\"x\"]},\"id\":7}");
    CHECK(!task.failed && task.commands.count == 0);
    arena_reset(&arena);
}

TEST(a_failure_has_a_traceback)
{
    const struct task task = call("local function inner(nr)\n  return nr.no.thing\nend\n"
                                  "return { on_active = function(nr)\n  inner(nr)\n  end }",
                                  TASK_NOTIFY, "on_active", "{}");
    CHECK(task.failed);
    CHECK(has(task.text, "dns.lua:2: attempt to index a nil value (field 'no')"));
    CHECK(has(task.text, "stack traceback:"));
    CHECK(has(task.text, "dns.lua:5: in function"));
    CHECK(str_ends(task.text, STR("\n\tin on_active")));
    arena_reset(&arena);
}

TEST(a_hook_that_is_not_there_any_more_needs_no_call_but_work_does)
{
    struct task task = call("return {}", TASK_NOTIFY, "on_active", "{}");
    CHECK(!task.failed && task.commands.count == 0);
    task = call("return {}", TASK_COMPUTE, "sysdata", "{}");
    CHECK(!task.failed && task.value.len == 0);
    task = call("return {}", TASK_VETO, "on_commit", "{}");
    CHECK(!task.failed && !task.veto);
    task = call("return {}", TASK_TRANSITION, "do_transition", "{}");
    CHECK(task.failed && has(task.text, "the file defines no do_transition"));
    arena_reset(&arena);
}

/* ---- hook commands ---- */

static int64_t find(void *self, enum table table, struct str name)
{
    (void)self;
    if (table == TABLE_NODE && str_eq(name, STR("n1")))
        return 11;
    if (table == TABLE_ROLE && str_eq(name, STR("dns")))
        return 22;
    if (table == TABLE_DEPLOYMENT && str_eq(name, STR("system")))
        return 33;
    return table == TABLE_ATTRIB && str_eq(name, STR("dns-domain")) ? 44 : 0;
}

/* The only hook command of this function body, encoded. */
static struct command wish(const char *body)
{
    struct buf source = buf_in(&arena);
    buf_put_z(&source, "return { on_todo = function(nr) ");
    buf_put_z(&source, body);
    buf_put_z(&source, " end }");
    const struct task task =
        call(str_z(&arena, buf_str(&source)), TASK_NOTIFY, "on_todo", "{\"id\":7}");
    CHECK(!task.failed && task.commands.count == 1);
    struct buf b = buf_in(&arena);
    struct str text;
    CHECK(hook_commands_encode(&task.commands, (struct hook_command_finder){.find = find}, &b,
                               &text));
    struct command command;
    uint32_t at = 0;
    CHECK(command_decode(&arena, buf_str(&b), &at, &command) == OK && at == b.len);
    return command;
}

TEST(attribs_are_set_by_id_or_name_in_any_bucket)
{
    struct command c = wish("halligan.set_attrib('node', 5, 6, { a = { 1 } })");
    CHECK(c.kind == COMMAND_ATTRIB_SET);
    CHECK(c.attrib_set.target == TABLE_NODE && c.attrib_set.id == 5 && c.attrib_set.attrib_id == 6);
    CHECK(c.attrib_set.bucket == BUCKET_SYSTEM);
    CHECK(str_eq(c.attrib_set.value, STR("{\"a\":[1]}")));

    c = wish("halligan.set_attrib('node', 'n1', 'dns-domain', 'x.org', 'discovery')");
    CHECK(c.attrib_set.id == 11 && c.attrib_set.attrib_id == 44);
    CHECK(c.attrib_set.bucket == BUCKET_DISCOVERY);
    CHECK(str_eq(c.attrib_set.value, STR("\"x.org\"")));

    c = wish("halligan.set_attrib('noderole', nr, 'dns-domain', false, 'wall')");
    CHECK(c.attrib_set.target == TABLE_NODEROLE && c.attrib_set.id == 7);
    CHECK(c.attrib_set.bucket == BUCKET_WALL && str_eq(c.attrib_set.value, STR("false")));

    c = wish("halligan.set_attrib('role', 'dns', 9, nil, 'user')");
    CHECK(c.attrib_set.target == TABLE_ROLE && c.attrib_set.id == 22);
    CHECK(c.attrib_set.value.len == 0 && c.attrib_set.bucket == BUCKET_USER);

    c = wish("halligan.set_attrib('deployment', 'system', 9, halligan.null, 'note')");
    CHECK(c.attrib_set.target == TABLE_DEPLOYMENT && c.attrib_set.id == 33);
    CHECK(str_eq(c.attrib_set.value, STR("null")) && c.attrib_set.bucket == BUCKET_NOTE);

    c = wish("halligan.set_attrib('deployment_role', { id = 4 }, 9, 1.5, 'hint')");
    CHECK(c.attrib_set.target == TABLE_DEPLOYMENT_ROLE && c.attrib_set.id == 4);
    CHECK(c.attrib_set.bucket == BUCKET_HINT);
    arena_reset(&arena);
}

TEST(nodes_can_be_given_another_boot_environment_and_power)
{
    struct command c = wish("halligan.set_bootenv('n1', 'debian-install')");
    CHECK(c.kind == COMMAND_NODE_UPDATE && c.node_update.id == 11);
    CHECK(c.node_update.given == GIVEN_NODE_BOOTENV);
    CHECK(str_eq(c.node_update.bootenv, STR("debian-install")));

    c = wish("halligan.power(nr, 'reset')");
    CHECK(c.kind == COMMAND_NODE_POWER && c.node_power.id == 7);
    CHECK(str_eq(c.node_power.action, STR("reset")));
    arena_reset(&arena);
}

TEST(noderoles_can_be_bound_enqueued_committed_and_retried)
{
    struct command c = wish("halligan.bind('n1', 'dns')");
    CHECK(c.kind == COMMAND_NODEROLE_BIND && c.noderole_bind.node_id == 11);
    CHECK(c.noderole_bind.role_id == 22 && c.noderole_bind.deployment_id == 0);
    CHECK(c.noderole_bind.data.len == 0);

    c = wish("halligan.bind(1, 2, 'system', { x = 1 })");
    CHECK(c.noderole_bind.deployment_id == 33);
    CHECK(str_eq(c.noderole_bind.data, STR("{\"x\":1}")));

    c = wish("halligan.enqueue(nr)");
    CHECK(c.kind == COMMAND_NODEROLE_ENQUEUE && c.noderole_enqueue.id == 7);
    c = wish("halligan.commit(8)");
    CHECK(c.kind == COMMAND_NODEROLE_COMMIT && c.noderole_commit.id == 8);
    c = wish("halligan.retry(9)");
    CHECK(c.kind == COMMAND_NODEROLE_RETRY && c.noderole_retry.id == 9);
    arena_reset(&arena);
}

TEST(commands_keep_their_order)
{
    const struct task task = call("return { on_todo = function(nr) "
                                  "for i = 1, 1000 do halligan.enqueue(i) end end }",
                                  TASK_NOTIFY, "on_todo", "{}");
    struct buf b = buf_in(&arena);
    struct str text;
    CHECK(!task.failed && task.commands.count == 1000);
    CHECK(hook_commands_encode(&task.commands, (struct hook_command_finder){.find = find}, &b,
                               &text));
    uint32_t at = 0;
    for (int64_t i = 1; i <= 1000; i++) {
        struct command command;
        CHECK(command_decode(&arena, buf_str(&b), &at, &command) == OK);
        CHECK(command.noderole_enqueue.id == i);
    }
    CHECK(at == b.len);
    arena_reset(&arena);
}

TEST(an_unknown_name_is_reported)
{
    const struct task task = call("return { on_todo = function(nr) halligan.enqueue(nr) "
                                  "halligan.set_attrib('node', 'n1', 'colour', 1) end }",
                                  TASK_NOTIFY, "on_todo", "{\"id\":7}");
    struct buf b = buf_in(&arena);
    struct str text;
    CHECK(!task.failed);
    CHECK(!hook_commands_encode(&task.commands, (struct hook_command_finder){.find = find}, &b,
                                &text));
    CHECK(str_eq(text,
                 STR("the hook command attrib_set names the attrib colour, which does not exist")));
    arena_reset(&arena);
}

TEST(a_command_that_failed_and_was_caught_is_dropped)
{
    const struct task task =
        call("return { on_todo = function(nr) "
             "halligan.set_attrib('node', 1, 'first', 'one') "
             "assert(not pcall(halligan.set_attrib, 'node', 1, 'second', { 'text', pairs })) "
             "assert(not pcall(halligan.set_attrib, 'node', 1, 'third', 'x', 'bucket')) "
             "halligan.set_bootenv('n1', 'local') end }",
             TASK_NOTIFY, "on_todo", "{}");
    CHECK(!task.failed && task.commands.count == 2);
    CHECK(str_eq(task.commands.first->names[0].name, STR("first")));
    CHECK(str_eq(task.commands.first->command.attrib_set.value, STR("\"one\"")));
    CHECK(str_eq(task.commands.last->command.node_update.bootenv, STR("local")));
    CHECK(str_eq(task.commands.last->names[0].name, STR("n1")));
    arena_reset(&arena);
}

TEST(wrong_arguments_are_named)
{
    static const struct {
        const char *body, *why;
    } cases[] = {
        {"halligan.set_attrib('user', 1, 1, 1)", "node, noderole, deployment"},
        {"halligan.set_attrib('node', 0, 1, 1)", "an id is a whole number above 0"},
        {"halligan.set_attrib('node', 1.5, 1, 1)", "an id is a whole number above 0"},
        {"halligan.set_attrib('node', -3, 1, 1)", "an id is a whole number above 0"},
        {"halligan.set_attrib('node', 1, 1)", "bad argument #4"},
        {"halligan.set_attrib('node', 1, 1, 1, 'attic')", "invalid option 'attic'"},
        {"halligan.set_attrib('noderole', 'x', 1, 1)", "an id expected"},
        {"halligan.set_attrib('node', true, 1, 1)", "an id or a name expected"},
        {"halligan.set_attrib('node', {}, 1, 1)", "a table without id"},
        {"halligan.set_attrib('node', { id = '7' }, 1, 1)", "a table without id"},
        {"halligan.set_attrib('node', { id = -7 }, 1, 1)", "an id is a whole number"},
        {"halligan.set_bootenv(1, 5)", "string expected"},
        {"halligan.set_bootenv(1, '\\xff')", "text is not UTF-8"},
        {"halligan.set_bootenv(1, ('x'):rep(300))", "text is too long"},
        {"halligan.set_bootenv(('x'):rep(300), 'x')", "text is too long"},
        {"halligan.set_bootenv(1, 'x', 'y')", "table expected"},
        {"halligan.set_bootenv(1, 'x', {})", "a noderole without a run"},
        {"halligan.set_bootenv(1, 'x', { run = {} })", "a table without id"},
        {"halligan.bind(1)", "an id or a name expected"},
        {"halligan.bind(1, 2, 3, 4)", "table expected"},
        {"halligan.enqueue('n1')", "an id expected"},
        {"halligan.enqueue()", "an id expected"},
        {"halligan.hurry('n1')", "an id expected"},
        {"halligan.hurry()", "an id expected"},
        {"halligan.resume('n1')", "an id expected"},
        {"halligan.resume()", "an id expected"},
        {"halligan.resume({ run = 5 })", "a noderole whose run has no id"},
        {"halligan.resume({ run = {} })", "a table without id"},
        {"halligan.resume({ run = { id = 0 } })", "an id is a whole number above 0"},
        {"halligan.resume(-1)", "an id is a whole number above 0"},
        {"halligan.maybe()", "an id, a name or a table with id expected"},
        {"halligan.maybe(true)", "an id, a name or a table with id expected"},
        {"halligan.maybe(halligan.null)", "an id, a name or a table with id expected"},
        {"halligan.maybe(halligan.maybe(1))", "an id, a name or a table with id expected"},
        {"halligan.maybe('n1')()", "the result of maybe() is a reference to an id"},
        {"halligan.enqueue(halligan.maybe('n1'))", "an id expected"},
        {"halligan.enqueue(halligan.maybe(0))", "an id is a whole number above 0"},
        {"halligan.enqueue(halligan.maybe({}))", "a table without id"},
        {"halligan.enqueue(print or pairs)", "an id expected"},
        {"halligan.set_bootenv(halligan.maybe(('x'):rep(300)), 'x')", "text is too long"},
        {"halligan.set_attrib('node', 1, 1, halligan.maybe('n1'))", "a function has no place"},
        {"halligan.log()", "string expected"},
        {"halligan.veto('no')", "veto() can only be called in a hook that may refuse a command"},
        {"halligan.array('x')", "table expected"},
        {"halligan.nonsense()", "nil value"},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b = buf_in(&arena);
        buf_put_z(&b, "return { on_todo = function(nr) ");
        buf_put_z(&b, cases[i].body);
        buf_put_z(&b, " end }");
        struct role_code *code = NULL;
        struct role_functions f;
        struct str text;
        CHECK(load(str_z(&arena, buf_str(&b)), &code, &f, &text) == OK);
        struct task task = {.arena = &arena, .kind = TASK_NOTIFY, .function = "on_todo"};
        task.arguments[0] = STR("{}");
        role_code_call(code, &task);
        role_code_free(code);
        if (!has(task.text, cases[i].why))
            fprintf(stderr, "%s gave %.*s\n", cases[i].body, STR_FMT_ARGS(task.text));
        CHECK(task.failed && task.commands.count == 0);
        CHECK(has(task.text, cases[i].why));
        arena_reset(&arena);
    }
}

/* ---- veto requests ---- */

static struct task ask(const char *body)
{
    struct buf b = buf_in(&arena);
    buf_put_z(&b, "return { on_commit = function(nr) ");
    buf_put_z(&b, body);
    buf_put_z(&b, " end }");
    return call(str_z(&arena, buf_str(&b)), TASK_VETO, "on_commit", "{\"data\":{}}");
}

TEST(a_veto_request_is_answered_with_consent)
{
    CHECK(!ask("").veto);
    CHECK(!ask("return").veto);
    CHECK(!ask("return nil").veto);
    CHECK(!ask("return true").veto);
    CHECK(!ask("if nr.data.bad then halligan.veto('no') end").veto);
    arena_reset(&arena);
}

TEST(a_veto_request_is_answered_with_a_veto)
{
    struct task task = ask("halligan.veto('no address left')");
    CHECK(task.veto && !task.failed && str_eq(task.text, STR("no address left")));
    task = ask("pcall(halligan.veto, 'caught') return true");
    CHECK(task.veto && !task.failed && str_eq(task.text, STR("caught")));
    task = ask("return false");
    CHECK(task.veto && !task.failed && str_eq(task.text, STR("the hook gave no reason")));
    task = ask("return 'because'");
    CHECK(task.veto && !task.failed && str_eq(task.text, STR("because")));
    task = ask("return '\\xff' .. ('x'):rep(10000)");
    CHECK(task.veto && str_is_clean(task.text) && task.text.len < RUNLOG_MAX);
    arena_reset(&arena);
}

TEST(a_failed_veto_request_is_a_veto)
{
    struct task task = ask("error('broken')");
    CHECK(task.veto && task.failed && has(task.text, "broken"));
    task = ask("return {}");
    CHECK(task.veto && task.failed && has(task.text, "on_commit returned a table"));
    task = ask("while true do end");
    CHECK(task.veto && task.failed && has(task.text, "it took more than"));
    task = ask("halligan.enqueue(1)");
    CHECK(task.veto && task.failed);
    CHECK(has(task.text, "on_commit only returns a result and cannot request commands"));
    arena_reset(&arena);
}

/* ---- runs ---- */

static struct task transition(const char *body)
{
    struct buf b = buf_in(&arena);
    buf_put_z(&b, "return { do_transition = function(nr, data) ");
    buf_put_z(&b, body);
    buf_put_z(&b, " end }");
    return call(str_z(&arena, buf_str(&b)), TASK_TRANSITION, "do_transition", "{\"id\":7}");
}

TEST(a_run_ends_as_it_says)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    CHECK(transition("").done.result == RESULT_OK);
    CHECK(transition("return 'ok'").done.result == RESULT_OK);
    CHECK(transition("return 'failed'").done.result == RESULT_FAILED);
    CHECK(transition("return 'async'").done.result == RESULT_ASYNC);
    CHECK(!transition("return 'failed'").failed);
    CHECK(transition("return 'parked'").done.result == RESULT_PARKED);
    CHECK(transition("return 'parked'").done.park_ms == PARK_MS_MAX);
    const struct task task =
        transition("halligan.log('one') return { result = 'ok', wall = { at = nr.id, "
                   "from = data.from }, log = 'two', node_dead = true, stop = true, "
                   "power = 'reboot' }");
    CHECK(task.done.result == RESULT_OK && task.done.has_wall);
    CHECK(str_eq(task.done.wall, STR("{\"at\":7,\"from\":\"outside\"}")));
    CHECK(task.done.node_dead && task.done.stop);
    CHECK(str_eq(task.done.power, STR("reboot")));
    CHECK(str_eq(task.log, STR("one\ntwo")));
    const struct task bare = transition("return {}");
    CHECK(bare.done.result == RESULT_OK && !bare.done.has_wall && !bare.done.node_dead);
    CHECK(bare.done.park_ms == 0);
    struct task parked =
        transition("return { result = 'parked', park_ms = 5000, wall = { w = 1 } }");
    CHECK(parked.done.result == RESULT_PARKED && parked.done.park_ms == 5000);
    CHECK(parked.done.has_wall && str_eq(parked.done.wall, STR("{\"w\":1}")));
    parked = transition("return { result = 'parked' }");
    CHECK(parked.done.result == RESULT_PARKED && parked.done.park_ms == PARK_MS_MAX);
    arena_reset(&arena);
}

TEST(a_run_that_answers_nonsense_failed)
{
    static const char *const bodies[] = {
        "error('x')",
        "return 5",
        "return 'fine'",
        "return { result = 'fine' }",
        "return { result = 1 }",
        "return { wall = 5 }",
        "return { wall = { 1 } }",
        "return { node_dead = 'yes' }",
        "return { power = 5 }",
        "return { log = {} }",
        "return true",
        "return { result = 'parked', park_ms = 0 }",
        "return { result = 'parked', park_ms = -1 }",
        "return { result = 'parked', park_ms = 1.5 }",
        "return { result = 'parked', park_ms = '5' }",
        "return { result = 'parked', park_ms = 604800001 }",
        "return { result = 'ok', park_ms = 5 }",
        "return { park_ms = 5 }",
        "return 'ok\\0'",
        "return { result = 'ok\\0failed' }",
        "return { stop = 1 }",
        "return { power = false }",
        "halligan.enqueue(1)",
        "halligan.resume(1)",
        "while true do end",
    };
    for (uint32_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        const struct task task = transition(bodies[i]);
        CHECK(task.failed && task.done.result == RESULT_FAILED && !task.done.has_wall);
        CHECK(task.text.len > 0);
    }
    arena_reset(&arena);
}

TEST(a_run_with_an_unknown_field_fails_and_names_it)
{
    static const struct {
        const char *body, *why;
    } cases[] = {
        {"return { reslt = 'failed' }", "do_transition returned the unknown field \"reslt\""},
        {"return { result = 'ok', zone = 1, colour = 2 }", "returned the unknown field \"colour\""},
        {"return { 'ok' }", "returned the unknown field \"1\""},
        {"return { result = 'ok', [true] = 1 }", "returned the unknown field \"boolean\""},
        {"return { ['a\\27\\0b'] = 1 }", "returned the unknown field \"a??b\""},
        {"return { ['wall\\0'] = {} }", "returned the unknown field \"wall?\""},
        {"return { result = 'ok', power = 'explode' }", "\"explode\" is not one"},
        {"return { result = 'ok', power = 'on off' }", "\"on off\" is not one"},
        {"return { result = 'ok', power = 'reboot\\0' }", "\"reboot?\" is not one"},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct task task = transition(cases[i].body);
        if (!has(task.text, cases[i].why))
            fprintf(stderr, "%s gave %.*s\n", cases[i].body, STR_FMT_ARGS(task.text));
        CHECK(task.failed && task.done.result == RESULT_FAILED);
        CHECK(has(task.text, cases[i].why));
    }
    static const char *const actions[] = {"reboot", "on", "off", "cycle", "reset", "halt"};
    for (uint32_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        char body[60];
        snprintf(body, sizeof body, "return { power = '%s' }", actions[i]);
        CHECK(str_eq(transition(body).done.power, str_from(actions[i])));
    }
    CHECK(!transition("return { power = '' }").failed);
    arena_reset(&arena);
}

/* ---- texts ---- */

TEST(strings_can_be_searched)
{
    const struct task task =
        call("return { on_todo = function() "
             "assert(halligan.match('10.0.0.5/24', '^[0-9.]+/[0-9]+$')) "
             "assert(not halligan.match('abc', '^b')) assert(halligan.match('ABC', '(?i)b')) "
             "assert(halligan.match('', '')) "
             "local a, b = halligan.find('one two two', 'two') assert(a == 5 and b == 7) "
             "assert(halligan.find('one two two', 'two', 6) == 9) "
             "assert(halligan.find('abc', 'x') == nil) assert(halligan.find('abc', 'c', 9) == nil) "
             "assert(halligan.find('', 'c') == nil) assert(halligan.find('abc', 'c') == 3) "
             "assert(halligan.find('abc', 'abcd') == nil) assert(halligan.find('aab', 'ab') == 2) "
             "local p = halligan.split('10.0.0.5/24', '/') assert(#p == 2 and p[2] == '24') "
             "p = halligan.split(',a,,b,', ',') assert(#p == 5 and p[1] == '' and p[5] == '') "
             "p = halligan.split('', ',') assert(#p == 1 and p[1] == '') "
             "p = halligan.split('a--b---c', '--') assert(#p == 3 and p[3] == '-c') "
             "local t = { 3, 1, 2 } table.sort(t) assert(table.concat(t, ',') == '1,2,3') "
             "table.sort(t, function(x, y) return x > y end) assert(table.concat(t) == '321') "
             "assert(select('#', table.unpack({ 1, 2, 3 })) == 3) "
             "assert(table.remove(t, 1) == 3 and #t == 2) table.insert(t, 1, 9) assert(t[1] == 9) "
             "assert(table.pack(1, nil).n == 2) end }",
             TASK_NOTIFY, "on_todo", "{}");
    CHECK(!task.failed);
    arena_reset(&arena);
}

TEST(the_log_keeps_its_end)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    const struct task task = call("return { do_transition = function() for i = 1, 100 do "
                                  "halligan.log('line ' .. i .. ' ' .. ('ü'):rep(40)) end end }",
                                  TASK_TRANSITION, "do_transition", "{}");
    CHECK(!task.failed && task.log.len <= RUNLOG_MAX && str_is_clean(task.log));
    CHECK(has(task.log, "line 100 ") && !has(task.log, "line 1 "));
    arena_fini(&arena);
}
