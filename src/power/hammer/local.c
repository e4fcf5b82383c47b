/* local.c - the machine we run on: commands and files, and nothing that would take it down. */
#include "power/hammer/tool_run.h"

static void ran(struct work *w, const struct command_result *result)
{
    work_end(w, work_output(w, result), "the command ended with %d", result->status);
}

static void copied(struct work *w, const struct command_result *result)
{
    if (result->status != 0)
        work_fail(w, HAMMER_END_FAILED, "cp ended with %d: %.*s", result->status,
                  STR_FMT_ARGS(work_last_line(w, result->err)));
    else
        work_end(w, NULL, "the file is copied");
}

static void run(struct work *w)
{
    struct program_argv argv = {.count = 0};
    struct str command;
    if (!work_text(w, w->args, "command", &command))
        return;
    if (command.len == 0) {
        work_fail(w, HAMMER_END_SETTING, "\"command\" is required");
        return;
    }
    program_add(&argv, "/bin/sh");
    program_add(&argv, "-c");
    program_add(&argv, work_z(w, command));
    program_run(w, &argv, ran);
}

static void copy(struct work *w)
{
    struct program_argv argv = {.count = 0};
    struct str from;
    struct str to;
    if (!work_text(w, w->args, "from", &from) || !work_text(w, w->args, "to", &to))
        return;
    if (from.len == 0 || to.len == 0) {
        work_fail(w, HAMMER_END_SETTING, "\"from\" and \"to\" are required");
        return;
    }
    program_add(&argv, "/bin/cp");
    program_add(&argv, "--");
    program_add(&argv, work_z(w, from));
    program_add(&argv, work_z(w, to));
    program_run(w, &argv, copied);
}

static void start(struct work *w)
{
    if (w->order.category == HAMMER_RUN)
        run(w);
    else
        copy(w);
}

const struct work_class local_class = {.name = "local", .start = start, .stop = program_stop};
