/* Hook commands for objects that may be deleted, and for runs: hurry, resume, maybe. */
#include "hooks/hook_commands.h"

#include <stdio.h>
#include <string.h>

#include "hooks/role_code.h"
#include "tests/check.h"

static struct arena arena;

static int64_t find(void *self, enum table table, struct str name)
{
    (void)self;
    if (table == TABLE_NODE && str_eq(name, STR("n1")))
        return 11;
    return table == TABLE_ATTRIB && str_eq(name, STR("colour")) ? 44 : 0;
}

/* Runs this body of a hook. */
static struct task tell(const char *body)
{
    struct buf b = buf_in(&arena);
    buf_put_z(&b, "local maybe = halligan.maybe return { on_todo = function(nr) ");
    buf_put_z(&b, body);
    buf_put_z(&b, " end }");
    const struct role_source file = {
        .chunk = "x.lua", .text = buf_str(&b), .limits = SANDBOX_LIMITS};
    struct role_code *code = NULL;
    struct role_functions functions;
    struct str text;
    CHECK(role_code_new(&file, &arena, &code, &functions, &text) == OK);
    struct task task = {.arena = &arena, .kind = TASK_NOTIFY, .function = "on_todo"};
    task.arguments[0] = STR("{\"id\":7,\"run\":{\"attempt\":2,\"id\":70,\"state\":\"parked\"}}");
    role_code_call(code, &task);
    role_code_free(code);
    if (task.failed)
        fprintf(stderr, "%.*s\n", STR_FMT_ARGS(task.text));
    CHECK(!task.failed);
    return task;
}

/* The commands that remain after names are resolved. */
static uint32_t encode(const struct task *task, struct command *out, uint32_t max)
{
    struct buf b = buf_in(&arena);
    struct str text;
    uint32_t count = 0, at = 0;
    CHECK(hook_commands_encode(&task->commands, (struct hook_command_finder){.find = find}, &b,
                               &text));
    for (; at < b.len; count++) {
        CHECK(count < max);
        CHECK(command_decode(&arena, buf_str(&b), &at, &out[count]) == OK);
    }
    return count;
}

static struct command wish(const char *body)
{
    const struct task task = tell(body);
    struct command command;
    CHECK(encode(&task, &command, 1) == 1);
    return command;
}

static void target_is_gone(const char *body)
{
    const struct task task = tell(body);
    struct command command;
    CHECK(task.commands.count == 1 && encode(&task, &command, 1) == 0);
}

TEST(a_noderole_is_hurried_only_when_something_is_due)
{
    struct command c = wish("halligan.hurry(nr)");
    CHECK(c.kind == COMMAND_NODEROLE_ENQUEUE && c.noderole_enqueue.id == 7);
    CHECK(c.noderole_enqueue.if_due && c.if_turn == 0);
    c = wish("halligan.enqueue(nr)");
    CHECK(!c.noderole_enqueue.if_due);
    c = wish("halligan.hurry(maybe(9))");
    CHECK(c.noderole_enqueue.id == 9 && c.noderole_enqueue.if_due && c.if_turn == IF_THERE);
    arena_reset(&arena);
}

TEST(a_run_is_resumed_by_its_noderole_or_its_id)
{
    struct command c = wish("halligan.resume(nr)");
    CHECK(c.kind == COMMAND_RUN_RESUME && c.run_resume.run_id == 70 && c.if_turn == 0);
    c = wish("halligan.resume(71)");
    CHECK(c.kind == COMMAND_RUN_RESUME && c.run_resume.run_id == 71);
    c = wish("halligan.resume(maybe(nr))");
    CHECK(c.run_resume.run_id == 70 && c.if_turn == IF_THERE);
    c = wish("halligan.resume(maybe(71))");
    CHECK(c.run_resume.run_id == 71 && c.if_turn == IF_THERE);
    arena_reset(&arena);
}

TEST(a_noderole_without_a_run_has_nothing_to_resume)
{
    CHECK(tell("nr.run = nil halligan.resume(nr)").commands.count == 0);
    CHECK(tell("halligan.resume({ id = 5 })").commands.count == 0);
    CHECK(tell("halligan.resume(maybe({ id = 5 }))").commands.count == 0);
    const struct command c = wish("halligan.resume({ id = 5 }) halligan.enqueue(6)");
    CHECK(c.kind == COMMAND_NODEROLE_ENQUEUE && c.noderole_enqueue.id == 6);
    arena_reset(&arena);
}

TEST(what_may_be_gone_is_named_as_such)
{
    struct command c = wish("halligan.set_attrib('node', maybe('n1'), 'colour', 1)");
    CHECK(c.attrib_set.id == 11 && c.attrib_set.attrib_id == 44 && c.if_turn == IF_THERE);
    c = wish("halligan.set_bootenv(maybe('n1'), 'local')");
    CHECK(c.node_update.id == 11 && c.if_turn == IF_THERE);
    CHECK(c.node_update.given == GIVEN_NODE_BOOTENV);
    c = wish("halligan.set_bootenv(maybe('n1'), 'local', nr)");
    CHECK(c.node_update.given == (GIVEN_NODE_BOOTENV | GIVEN_NODE_PARKED_RUN));
    CHECK(c.node_update.parked_run == 70 && c.if_turn == IF_THERE);
    c = wish("halligan.set_bootenv(maybe(99), 'local')");
    CHECK(c.node_update.id == 99 && c.if_turn == IF_THERE);
    c = wish("halligan.set_bootenv(maybe({ id = 98 }), 'local')");
    CHECK(c.node_update.id == 98 && c.if_turn == IF_THERE);
    c = wish("halligan.power('n1', 'off')");
    CHECK(c.node_power.id == 11 && c.if_turn == 0);
    arena_reset(&arena);
}

TEST(a_reference_can_be_kept_and_used_again)
{
    const struct task task = tell("local who = { maybe('n1'), maybe('gone') } "
                                  "for _, n in ipairs(who) do halligan.power(n, 'on') "
                                  "halligan.set_bootenv(n, 'local') end "
                                  "assert(tostring(who[1]) == 'function')");
    struct command c[4];
    CHECK(task.commands.count == 4 && encode(&task, c, 4) == 2);
    CHECK(c[0].kind == COMMAND_NODE_POWER && c[1].kind == COMMAND_NODE_UPDATE);
    arena_reset(&arena);
}

TEST(a_command_for_a_deleted_object_is_dropped_and_the_others_are_kept)
{
    target_is_gone("halligan.set_bootenv(maybe('gone'), 'local')");
    target_is_gone("halligan.set_attrib('node', 1, maybe('shape'), 1)");
    target_is_gone("halligan.bind(maybe('gone'), 2)");
    target_is_gone("halligan.bind(1, maybe('gone'), maybe('gone'))");
    const struct task task = tell("halligan.enqueue(1) "
                                  "halligan.set_bootenv(maybe('gone'), 'local') "
                                  "halligan.set_bootenv(maybe('n1'), 'local') "
                                  "halligan.enqueue(2)");
    struct command c[4];
    CHECK(encode(&task, c, 4) == 3);
    CHECK(c[0].noderole_enqueue.id == 1 && c[1].node_update.id == 11);
    CHECK(c[2].noderole_enqueue.id == 2 && c[2].if_turn == 0);
    arena_reset(&arena);
}

TEST(a_wrong_name_is_reported_even_if_the_command_is_obsolete)
{
    const struct task task = tell("halligan.set_attrib('node', maybe('gone'), 'shape', 1)");
    struct buf b = buf_in(&arena);
    struct str text;
    CHECK(!hook_commands_encode(&task.commands, (struct hook_command_finder){.find = find}, &b,
                                &text));
    CHECK(str_eq(text,
                 STR("the hook command attrib_set names the attrib shape, which does not exist")));
    arena_fini(&arena);
}
