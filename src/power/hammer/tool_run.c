/* tool_run.c - start and end of the programs of an operation.
 *
 * The file with the secret is written before the program that reads it is started, and deleted by
 * tool_run_stop() after the program was killed. A program that could not be started or exceeded its
 * deadline ends the operation; a program that exits with an error is a result, which the driver
 * interprets. */
#include "power/hammer/tool_run.h"

#include <errno.h>
#include <string.h>

#include "power/hammer/secret_files.h"

void tool_run_add(struct tool_run_argv *argv, const char *word)
{
    must(argv->count + 1 < sizeof argv->at / sizeof *argv->at);
    argv->at[argv->count++] = word;
    argv->at[argv->count] = NULL;
}

struct tool_run *tool_run_get(struct power_op *op)
{
    if (!op->job) {
        struct tool_run *p = arena_new(&op->arena, struct tool_run);
        p->op = op;
        op->job = p;
    }
    return op->job;
}

bool tool_run_write_secret(struct power_op *op, struct str secret)
{
    struct tool_run *p = tool_run_get(op);
    p->secret = secret_file_write(&op->arena, power_op_options(op)->scratch, secret);
    if (!p->secret)
        power_op_fail(op, HAMMER_END_FAILED, "no file could be written in \"%s\": %s",
                      power_op_options(op)->scratch, strerror(errno));
    return p->secret != NULL;
}

static void tool_run_on_exit(void *self, const struct spawn_result *result)
{
    struct tool_run *p = self;
    struct power_op *op = p->op;
    p->run = NULL;
    if (result->why)
        power_op_fail(op, HAMMER_END_FAILED,
                      "%.*s could not be started on the machine of the daemon: %s",
                      STR_FMT_ARGS(op->activity), result->why);
    else if (result->is_late)
        power_op_fail(op, HAMMER_END_TIMEOUT, "%.*s did not end in time",
                      STR_FMT_ARGS(op->activity));
    else
        p->done(op, result);
}

void tool_run_start(struct power_op *op, const struct tool_run_argv *argv,
                    void (*done)(struct power_op *op, const struct spawn_result *result))
{
    struct tool_run *p = tool_run_get(op);
    const struct spawn_ops *spawn = power_op_spawn_ops(op);
    const struct spawn_order order = {
        .argv = argv->at,
        /* Later than the deadline of the operation, whose message has more details. */
        .deadline_ms = (uint64_t)power_op_left_ms(op) + 1000,
        .self = p,
        .done = tool_run_on_exit,
    };
    must(!p->run);
    p->done = done;
    /* The address is part of the message if the program does not end. */
    if (op->hammer.endpoint.len)
        power_op_set_activity(op, "%s to %.*s", argv->at[0], STR_FMT_ARGS(op->hammer.endpoint));
    else
        power_op_set_activity(op, "%s", argv->at[0]);
    p->run = spawn->start(spawn->self, &order);
    if (!p->run)
        power_op_fail(op, HAMMER_END_FAILED, "%s was not started: out of memory", argv->at[0]);
}

void tool_run_stop(struct power_op *op)
{
    struct tool_run *p = op->job;
    if (!p)
        return;
    if (p->run)
        power_op_spawn_ops(op)->cancel(power_op_spawn_ops(op)->self, p->run);
    secret_file_remove(p->secret);
}

bool tool_output_contains(struct str text, const char *words)
{
    const struct str wanted = str_from(words);
    for (uint32_t i = 0; i + wanted.len <= text.len; i++)
        if (str_eq(str_slice(text, i, i + wanted.len), wanted))
            return true;
    return false;
}

const struct tool_error *tool_error_find(const struct tool_error *list, uint32_t count,
                                         struct str text)
{
    for (uint32_t i = 0; i < count; i++)
        if (tool_output_contains(text, list[i].words))
            return &list[i];
    return NULL;
}
