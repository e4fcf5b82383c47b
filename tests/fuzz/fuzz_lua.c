/* Goal: any Lua file of a role is compiled or refused with a message, and every function that it
 * defines ends within its limits and returns a well-formed result.
 * Method: the input is the file; after a line "--@" follows the argument of its hooks. Every
 * function is called twice. The limits are low, so that many inputs are tried per second. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "hooks/role_code.h"
#include "model/limits.h"
#include "model/record.h"
#include "sys/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts with the message if the condition is false. */
static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static int64_t find(void *self, enum table table, struct str name)
{
    (void)self;
    return (int64_t)table + name.len + 1;
}

/* A finder that finds no object. */
static int64_t find_nothing(void *self, enum table table, struct str name)
{
    (void)self;
    (void)table;
    (void)name;
    return 0;
}

static bool is_document(struct arena *arena, struct str text)
{
    struct str canonical;
    uint32_t offset;
    const char *what;
    return json_canonical(arena, text, &canonical, &offset, &what) == OK && str_eq(text, canonical);
}

static void check_commands(struct arena *arena, const struct hook_commands *commands)
{
    struct buf b = buf_in(arena);
    struct str text;
    expect(hook_commands_encode(commands, (struct hook_command_finder){.find = find}, &b, &text),
           "every name is known here");
    uint32_t at = 0, count = 0;
    for (; at < b.len; count++) {
        struct command command;
        expect(command_decode(arena, buf_str(&b), &at, &command) == OK,
               "an encoded hook command can be decoded");
        if (command.kind == COMMAND_ATTRIB_SET && command.attrib_set.value.len)
            expect(is_document(arena, command.attrib_set.value), "a value is canonical");
    }
    expect(count == commands->count, "every command is encoded");
    b = buf_in(arena);
    if (!hook_commands_encode(commands, (struct hook_command_finder){.find = find_nothing}, &b,
                              &text))
        expect(text.len && str_is_clean(text), "an unknown name is reported with a message");
}

static void check(struct task *task)
{
    expect(str_is_clean(task->text) && task->text.len < RUNLOG_MAX, "texts are clean and short");
    expect(!task->failed || task->text.len, "a failure has a message");
    expect(!task->failed || task->commands.count == 0, "a failure has no commands");
    expect(str_is_clean(task->log), "logs are clean");
    check_commands(task->arena, &task->commands);
    if (task->kind == TASK_COMPUTE && !task->failed)
        expect(is_document(task->arena, task->value), "a computed value is canonical");
    expect(task->kind == TASK_NOTIFY || task->commands.count == 0,
           "only notified hooks have commands");
    expect(task->done.park_ms >= 0 && task->done.park_ms <= PARK_MS_MAX,
           "the time of parking is bounded");
    expect((task->done.result == RESULT_PARKED) == (task->done.park_ms > 0),
           "a run has a time of parking only if it is parked");
    if (task->done.has_wall)
        expect(is_document(task->arena, task->done.wall), "a wall is canonical");
}

static void call(struct role_code *code, enum task_kind kind, const char *function,
                 struct str argument)
{
    struct arena arena = {0};
    struct task task = {.arena = &arena, .kind = kind, .function = function};
    task.arguments[0] = argument;
    role_code_call(code, &task);
    check(&task);
    arena_fini(&arena);
}

static void call_all(struct role_code *code, const struct role_functions *f, struct str argument)
{
    for (int hook = 0; hook < HOOK_COUNT; hook++)
        if (f->hooks >> hook & 1) {
            const bool asks =
                hook == HOOK_COMMIT || hook == HOOK_NODE_BIND || hook == HOOK_DEPLOYMENT_CREATE;
            const bool computes = hook == HOOK_SYSDATA || hook == HOOK_TEMPLATE;
            call(code,
                 asks       ? TASK_VETO
                 : computes ? TASK_COMPUTE
                            : TASK_NOTIFY,
                 hook_name((enum hook)hook), argument);
        }
    if (f->has_do_transition)
        call(code, TASK_TRANSITION, "do_transition", argument);
}

/* Splits the argument of the hooks off the source and returns it. */
static struct str take_argument(struct str *source)
{
    static const struct str line = {"\n--@", 4};
    for (uint32_t at = 0; at + line.len <= source->len; at++)
        if (str_starts(str_slice(*source, at, source->len), line)) {
            const struct str argument = str_slice(*source, at + line.len, source->len);
            *source = str_slice(*source, 0, at);
            return argument;
        }
    return STR("{\"data\":{\"list\":[1,2.5,null,\"x\"]},\"id\":7,\"name\":\"n1\"}");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    struct arena arena = {0};
    struct str source = {(const char *)data, (uint32_t)size};
    const struct str argument = take_argument(&source);
    const struct role_source file = {
        .chunk = "fuzz.lua",
        .text = source,
        .limits = {.instructions = 20000, .memory_size = 512u << 10, .cpu_ms = 1000}};
    struct role_code *code;
    struct role_functions functions;
    struct str text = {0};
    if (role_code_new(&file, &arena, &code, &functions, &text) == OK) {
        call_all(code, &functions, argument);
        call_all(code, &functions, argument);
        role_code_free(code);
    } else {
        expect(text.len && str_is_clean(text), "a refusal has a message");
    }
    arena_fini(&arena);
    return 0;
}
