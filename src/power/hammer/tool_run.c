#include "power/hammer/tool_run.h"

#include <errno.h>
#include <string.h>

#include "power/hammer/secret_files.h"

void program_add(struct program_argv *argv, const char *word)
{
    must(argv->count + 1 < sizeof argv->at / sizeof *argv->at);
    argv->at[argv->count++] = word;
    argv->at[argv->count] = NULL;
}

struct program *program_of(struct work *w)
{
    if (!w->job) {
        struct program *p = arena_new(&w->arena, struct program);
        p->work = w;
        w->job = p;
    }
    return w->job;
}

bool program_write_secret(struct work *w, struct str secret)
{
    struct program *p = program_of(w);
    p->secret = scratch_write(&w->arena, work_options(w)->scratch, secret);
    if (!p->secret)
        work_fail(w, HAMMER_END_FAILED, "no file could be written in \"%s\": %s",
                  work_options(w)->scratch, strerror(errno));
    return p->secret != NULL;
}

static void ended(void *self, const struct command_result *result)
{
    struct program *p = self;
    struct work *w = p->work;
    p->run = NULL;
    if (result->why)
        work_fail(w, HAMMER_END_FAILED, "%.*s could not be started: %s", STR_FMT_ARGS(w->doing),
                  result->why);
    else if (result->is_late)
        work_fail(w, HAMMER_END_TIMEOUT, "%.*s did not end in time", STR_FMT_ARGS(w->doing));
    else
        p->done(w, result);
}

void program_run(struct work *w, const struct program_argv *argv,
                 void (*done)(struct work *w, const struct command_result *result))
{
    struct program *p = program_of(w);
    const struct command_seam *commands = work_commands(w);
    const struct command_order order = {
        .argv = argv->at,
        /* a little more than is left: the deadline's own sentence says more */
        .deadline_ms = (uint64_t)work_left_ms(w) + 1000,
        .self = p,
        .done = ended,
    };
    must(!p->run);
    p->done = done;
    work_doing(w, "%s", argv->at[0]);
    p->run = commands->start(commands->self, &order);
    if (!p->run)
        work_fail(w, HAMMER_END_FAILED, "no memory for another program");
}

void program_stop(struct work *w)
{
    struct program *p = w->job;
    if (!p)
        return;
    if (p->run)
        work_commands(w)->cancel(work_commands(w)->self, p->run);
    scratch_remove(p->secret);
}

bool program_says(struct str text, const char *words)
{
    const struct str wanted = str_from(words);
    for (uint32_t i = 0; i + wanted.len <= text.len; i++)
        if (str_eq(str_slice(text, i, i + wanted.len), wanted))
            return true;
    return false;
}

const struct program_trouble *program_trouble_find(const struct program_trouble *list,
                                                   uint32_t count, struct str text)
{
    for (uint32_t i = 0; i < count; i++)
        if (program_says(text, list[i].words))
            return &list[i];
    return NULL;
}
