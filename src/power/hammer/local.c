/* local.c - the machine we run on: commands and files, and nothing that would take it down. */
#include "power/hammer/tool_run.h"

static void ran(struct power_op *w, const struct spawn_result *result)
{
    power_op_end(w, power_op_output(w, result), "the command ended with %d", result->status);
}

static void copied(struct power_op *w, const struct spawn_result *result)
{
    if (result->status != 0)
        power_op_fail(w, HAMMER_END_FAILED, "cp ended with %d: %.*s", result->status,
                      STR_FMT_ARGS(power_op_last_line(w, result->err)));
    else
        power_op_end(w, NULL, "the file is copied");
}

static void run(struct power_op *w)
{
    struct tool_run_argv argv = {.count = 0};
    struct str command;
    if (!power_op_text(w, w->args, "command", &command))
        return;
    if (command.len == 0) {
        power_op_fail(w, HAMMER_END_SETTING, "\"command\" is required");
        return;
    }
    tool_run_add(&argv, "/bin/sh");
    tool_run_add(&argv, "-c");
    tool_run_add(&argv, power_op_z(w, command));
    tool_run_run(w, &argv, ran);
}

static void copy(struct power_op *w)
{
    struct tool_run_argv argv = {.count = 0};
    struct str from;
    struct str to;
    if (!power_op_text(w, w->args, "from", &from) || !power_op_text(w, w->args, "to", &to))
        return;
    if (from.len == 0 || to.len == 0) {
        power_op_fail(w, HAMMER_END_SETTING, "\"from\" and \"to\" are required");
        return;
    }
    tool_run_add(&argv, "/bin/cp");
    tool_run_add(&argv, "--");
    tool_run_add(&argv, power_op_z(w, from));
    tool_run_add(&argv, power_op_z(w, to));
    tool_run_run(w, &argv, copied);
}

static void start(struct power_op *w)
{
    if (w->order.category == HAMMER_RUN)
        run(w);
    else
        copy(w);
}

const struct power_op_class local_class = {.name = "local", .start = start, .stop = tool_run_stop};
