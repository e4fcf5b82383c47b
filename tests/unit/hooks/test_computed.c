/* Hooks that compute data: sysdata and template. And hooks_run_until_idle(): everything is
 * answered, always in the same order. */
#include "hooks/hooks.h"

#include "base/text/buf.h"
#include "tests/unit/hooks/hooks_loop.h"

/* The only hook command of the result. */
static struct command wish_of(struct loop *l, uint32_t index)
{
    const struct outbox_done_command *done = &l->received[index].command.outbox_done;
    struct command wish;
    uint32_t at = 0;
    CHECK(l->received[index].command.kind == COMMAND_OUTBOX_DONE && !done->failed);
    CHECK(command_decode(&l->arena, done->hook_commands, &at, &wish) == OK &&
          at == done->hook_commands.len);
    return wish;
}

static void has_failed(struct loop *l, uint32_t index, const char *why)
{
    const struct outbox_done_command *done = &l->received[index].command.outbox_done;
    if (!has(l, done->text, why))
        fprintf(stderr, "%.*s\n", STR_FMT_ARGS(done->text));
    CHECK(done->failed && done->hook_commands.len == 0 && has(l, done->text, why));
}

TEST(sysdata_becomes_a_command_for_its_noderole)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3,
         "return { sysdata = function(nr, context) assert(context.role == 'r') "
         "return { at = nr.id, name = nr.name } end }");
    deliver(l, 5, 3, HOOK_SYSDATA);
    run(l, 1);
    const struct command wish = wish_of(l, 0);
    CHECK(wish.kind == COMMAND_NODEROLE_COMPUTED && wish.noderole_computed.id == 105);
    CHECK(str_eq(wish.noderole_computed.data, STR("{\"at\":105,\"name\":\"n5\"}")));
    CHECK(wish.if_turn == IF_THERE && l->received[0].command.outbox_done.outbox_id == 5);
    close_loop(l);
}

TEST(template_becomes_a_command_for_its_role)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3,
         "return { template = function(...) local a, b = ... assert(a == nil and b == nil) "
         "return { ttl = 60, list = halligan.array() } end }");
    l->is_gone = true; /* a template has no object */
    deliver(l, 5, 3, HOOK_TEMPLATE);
    run(l, 1);
    const struct command wish = wish_of(l, 0);
    CHECK(wish.kind == COMMAND_ROLE_UPDATE && wish.role_update.id == 3);
    CHECK(wish.role_update.given == (GIVEN_ROLE_TEMPLATE | GIVEN_ROLE_COMPUTED));
    CHECK(str_eq(wish.role_update.template, STR("{\"list\":[],\"ttl\":60}")));
    CHECK(l->facts_made == 0);
    close_loop(l);
}

TEST(nothing_computed_is_an_empty_object)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { sysdata = function() end, template = function() return {} end }");
    deliver(l, 1, 3, HOOK_SYSDATA);
    deliver(l, 2, 3, HOOK_TEMPLATE);
    run(l, 2);
    CHECK(str_eq(wish_of(l, 0).noderole_computed.data, STR("{}")));
    CHECK(str_eq(wish_of(l, 1).role_update.template, STR("{}")));
    close_loop(l);
}

TEST(nothing_is_computed_for_a_deleted_object)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { sysdata = function() error('called') end }");
    l->is_gone = true;
    deliver(l, 1, 3, HOOK_SYSDATA);
    run(l, 1);
    CHECK(!l->received[0].failed && l->received[0].command.outbox_done.hook_commands.len == 0);
    close_loop(l);
}

TEST(a_failed_computation_has_a_reason_and_no_commands)
{
    static const struct {
        const char *body, *why;
    } cases[] = {
        {"error('no address')", "r.lua:1: no address\nstack traceback:"},
        {"while true do end", "it took more than 2000000 instructions"},
        {"local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end", "it "},
        {"return 5", "what it returns must be a table, not a number"},
        {"return 'x'", "what it returns must be a table, not a string"},
        {"return { 1, 2 }", "what it returns must be a table with names, not a list"},
        {"return halligan.array()", "what it returns must be a table with names, not a list"},
        {"return { f = pairs }", "a function has no place in a document"},
        {"halligan.enqueue(1)", "only returns a result and cannot request commands"},
        {"halligan.resume({})", "only returns a result and cannot request commands"},
        {"halligan.hurry(1)", "only returns a result and cannot request commands"},
        {"halligan.veto('no')", "veto() can only be called in a hook that may refuse a command"},
    };
    struct loop *l = open_loop(SANDBOX_LIMITS);
    uint32_t count = 0;
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b = buf_in(&l->arena);
        buf_put_z(&b, "local function f() ");
        buf_put_z(&b, cases[i].body);
        buf_put_z(&b, " end return { sysdata = f, template = f }");
        load(l, 3, str_z(&l->arena, buf_str(&b)));
        deliver(l, (int64_t)count + 1, 3, HOOK_SYSDATA);
        deliver(l, (int64_t)count + 2, 3, HOOK_TEMPLATE);
        run(l, count += 2);
        has_failed(l, count - 2, cases[i].why);
        has_failed(l, count - 2, "in sysdata");
        has_failed(l, count - 1, cases[i].why);
        has_failed(l, count - 1, "in template");
    }
    deliver(l, 100, 4, HOOK_SYSDATA);
    run(l, count += 1);
    has_failed(l, count - 1, "role 4 has no code here, so sysdata cannot be called");
    close_loop(l);
}

/* ---- settling ---- */

TEST(settling_answers_everything)
{
    enum { COUNT = 2000 };
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3,
         "return { on_todo = function(nr) halligan.enqueue(nr) end, sysdata = function(nr) "
         "return { at = nr.id } end, on_commit = function() end }");
    CHECK(!hooks_run_until_idle(l->hooks));
    for (int64_t i = 1; i <= COUNT; i++)
        deliver(l, i, 3, i % 2 ? HOOK_TODO : HOOK_SYSDATA);
    ask(l, 7, 1);
    CHECK(hooks_run_until_idle(l->hooks));
    CHECK(hooks_pending_count(l->hooks) == 0 && l->received_count == COUNT + 1);
    CHECK(l->received[0].key == 7);
    for (int64_t i = 1; i <= COUNT; i++)
        CHECK(l->received[i].command.outbox_done.outbox_id == i && !l->received[i].failed);
    CHECK(!hooks_run_until_idle(l->hooks));
    close_loop(l);
}

TEST(settling_stops_when_nothing_is_taken)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    load(l, 3, "return { on_todo = function() end, on_commit = function() end }");
    l->is_full = true;
    for (int64_t i = 1; i <= 300; i++)
        deliver(l, i, 3, HOOK_TODO);
    CHECK(!hooks_run_until_idle(l->hooks));
    CHECK(hooks_pending_count(l->hooks) == 300 && l->received_count == 0);
    ask(l, 9, 1);
    l->is_full = false;
    CHECK(hooks_run_until_idle(l->hooks));
    CHECK(hooks_pending_count(l->hooks) == 0 && l->received_count == 301);
    CHECK(l->received[0].key == 9 && l->received[1].command.outbox_done.outbox_id == 1);
    CHECK(l->received[300].command.outbox_done.outbox_id == 300);
    close_loop(l);
}

/* One scenario with all kinds of jobs; returns the results as text. */
static struct str tell_story(struct arena *arena)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    struct buf b = buf_in(arena);
    load(l, 3,
         "return { on_todo = function(nr) for i = 1, nr.id do halligan.enqueue(i) end end, "
         "sysdata = function(nr) if nr.id % 3 == 0 then error('x') end return nr end, "
         "do_transition = function(nr, data) return { wall = nr } end, "
         "on_commit = function() end, on_node_bind = function() return 'full' end }");
    const struct hooks_facts given = {.argument = STR("{\"id\":1}")};
    for (int64_t i = 1; i <= 60; i++) {
        l->is_gone = i % 7 == 0;
        deliver(l, i, 3, i % 2 ? HOOK_TODO : HOOK_SYSDATA);
        if (i % 5 == 0)
            ask(l, (uint64_t)i, 3);
        if (i % 4 == 0)
            CHECK(hooks_call(l->hooks, 3, &given, (uint64_t)i) == OK);
        if (i % 30 == 0)
            CHECK(hooks_run_until_idle(l->hooks));
    }
    for (uint32_t i = 0; i < l->received_count; i++) {
        const struct received *received = &l->received[i];
        buf_put_u64(&b, received->key);
        buf_put_str(&b, received->text);
        buf_put_str(&b, received->result.done.wall);
        for (uint32_t k = 0; k < received->count; k++)
            buf_put_str(&b, received->veto_replies[k].text);
        if (!received->key)
            command_encode(&received->command, &b);
    }
    close_loop(l);
    return buf_str(&b);
}

TEST(settling_is_deterministic)
{
    struct arena arena = {0};
    const struct str first = tell_story(&arena);
    CHECK(first.len > 1000);
    for (int i = 0; i < 30; i++)
        CHECK(str_eq(first, tell_story(&arena)));
    arena_fini(&arena);
}

/* Each result creates a new row: hooks_run_until_idle() ends all the same. */
static err submit_and_deliver(void *self, const struct command *command)
{
    struct loop *l = self;
    l->received_count++;
    deliver(l, command->outbox_done.outbox_id + 1, 3, HOOK_TEMPLATE);
    return OK;
}

TEST(settling_has_an_end)
{
    struct loop *l = open_loop(SANDBOX_LIMITS);
    hooks_close(l->hooks);
    const struct hooks_callbacks callbacks = {
        .self = l, .wake = wake, .submit = submit_and_deliver};
    l->hooks = hooks_open(callbacks, SANDBOX_LIMITS);
    CHECK(l->hooks);
    l->port = hooks_port(l->hooks);
    deliver(l, 1, 3, HOOK_TEMPLATE);
    CHECK(hooks_run_until_idle(l->hooks));
    CHECK(l->received_count > 1000 && hooks_pending_count(l->hooks) == 1);
    close_loop(l);
}
