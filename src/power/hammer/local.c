/* local.c - driver for the machine of the daemon: runs commands and copies files. It offers no
 * power actions, since they would end the daemon. tool_run.c owns the running program. A missing
 * argument ends the operation before a program is started; the exit status of a command is part of
 * its result, that of cp decides about success. */
#include "power/hammer/tool_run.h"

static void local_on_command_exit(struct power_op *op, const struct spawn_result *result)
{
    power_op_end(op, power_op_output(op, result), "the command exited with status %d",
                 result->status);
}

static void local_on_copy_exit(struct power_op *op, const struct spawn_result *result)
{
    if (result->status != 0)
        power_op_fail(op, HAMMER_END_FAILED, "cp exited with status %d: %.*s", result->status,
                      STR_FMT_ARGS(power_op_last_line(op, result->err)));
    else
        power_op_end(op, NULL, "the file was copied");
}

static void local_run(struct power_op *op)
{
    struct tool_run_argv argv = {.count = 0};
    struct str command;
    if (!power_op_text(op, op->args, "command", &command))
        return;
    if (command.len == 0) {
        power_op_fail(op, HAMMER_END_SETTING, "\"command\" is required");
        return;
    }
    tool_run_add(&argv, "/bin/sh");
    tool_run_add(&argv, "-c");
    tool_run_add(&argv, power_op_z(op, command));
    tool_run_start(op, &argv, local_on_command_exit);
}

static void local_copy(struct power_op *op)
{
    struct tool_run_argv argv = {.count = 0};
    struct str from;
    struct str to;
    if (!power_op_text(op, op->args, "from", &from) || !power_op_text(op, op->args, "to", &to))
        return;
    if (from.len == 0 || to.len == 0) {
        power_op_fail(op, HAMMER_END_SETTING, "\"from\" and \"to\" are required");
        return;
    }
    tool_run_add(&argv, "/bin/cp");
    tool_run_add(&argv, "--");
    tool_run_add(&argv, power_op_z(op, from));
    tool_run_add(&argv, power_op_z(op, to));
    tool_run_start(op, &argv, local_on_copy_exit);
}

static void local_start(struct power_op *op)
{
    if (op->order.category == HAMMER_RUN)
        local_run(op);
    else
        local_copy(op);
}

const struct power_op_class local_class = {
    .name = "local", .start = local_start, .stop = tool_run_stop};
