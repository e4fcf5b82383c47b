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

struct tool_run *tool_run_of(struct power_op *w)
{
    if (!w->job) {
        struct tool_run *p = arena_new(&w->arena, struct tool_run);
        p->work = w;
        w->job = p;
    }
    return w->job;
}

bool tool_run_write_secret(struct power_op *w, struct str secret)
{
    struct tool_run *p = tool_run_of(w);
    p->secret = secret_file_write(&w->arena, power_op_options(w)->scratch, secret);
    if (!p->secret)
        power_op_fail(w, HAMMER_END_FAILED, "no file could be written in \"%s\": %s",
                      power_op_options(w)->scratch, strerror(errno));
    return p->secret != NULL;
}

static void ended(void *self, const struct spawn_result *result)
{
    struct tool_run *p = self;
    struct power_op *w = p->work;
    p->run = NULL;
    if (result->why)
        power_op_fail(w, HAMMER_END_FAILED, "%.*s could not be started: %s", STR_FMT_ARGS(w->doing),
                      result->why);
    else if (result->is_late)
        power_op_fail(w, HAMMER_END_TIMEOUT, "%.*s did not end in time", STR_FMT_ARGS(w->doing));
    else
        p->done(w, result);
}

void tool_run_run(struct power_op *w, const struct tool_run_argv *argv,
                  void (*done)(struct power_op *w, const struct spawn_result *result))
{
    struct tool_run *p = tool_run_of(w);
    const struct spawn_seam *commands = power_op_commands(w);
    const struct spawn_order order = {
        .argv = argv->at,
        /* a little more than is left: the deadline's own sentence says more */
        .deadline_ms = (uint64_t)power_op_left_ms(w) + 1000,
        .self = p,
        .done = ended,
    };
    must(!p->run);
    p->done = done;
    power_op_doing(w, "%s", argv->at[0]);
    p->run = commands->start(commands->self, &order);
    if (!p->run)
        power_op_fail(w, HAMMER_END_FAILED, "no memory for another program");
}

void tool_run_stop(struct power_op *w)
{
    struct tool_run *p = w->job;
    if (!p)
        return;
    if (p->run)
        power_op_commands(w)->cancel(power_op_commands(w)->self, p->run);
    secret_file_remove(p->secret);
}

bool tool_run_says(struct str text, const char *words)
{
    const struct str wanted = str_from(words);
    for (uint32_t i = 0; i + wanted.len <= text.len; i++)
        if (str_eq(str_slice(text, i, i + wanted.len), wanted))
            return true;
    return false;
}

const struct tool_run_trouble *tool_run_trouble_find(const struct tool_run_trouble *list,
                                                     uint32_t count, struct str text)
{
    for (uint32_t i = 0; i < count; i++)
        if (tool_run_says(text, list[i].words))
            return &list[i];
    return NULL;
}
