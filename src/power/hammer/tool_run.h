/* tool_run.h - a work that is done by programs, one after the other.
 *
 * Holds the running one, and the file with the secret that it was given. Both go when the work
 * stops, however that comes.
 */
#pragma once

#include <stdbool.h>

#include "power/hammer/power_op.h"

struct tool_run {
    struct power_op *work;
    struct spawn_run *run; /* NULL: none runs */
    const char *secret;    /* path; NULL: none */
    void (*done)(struct power_op *w, const struct spawn_result *result);
};

/* What a program says when something goes wrong, and what that means. */
struct tool_run_trouble {
    const char *words;
    enum hammer_end end;
    const char *text;
};

struct tool_run_argv {
    const char *at[64];
    uint32_t count;
};

/* Appends; more than fits is our mistake. */
void tool_run_add(struct tool_run_argv *argv, const char *word);

/* The work's program, made at the first call: w->job is the program from then on. */
struct tool_run *tool_run_of(struct power_op *w);
/* Writes the secret into a file that only we can read. False: it could not be, and the work has
 * failed with that. */
bool tool_run_write_secret(struct power_op *w, struct str secret);
/* Run it; `done` gets the result of one that could be started and was not too late. */
void tool_run_run(struct power_op *w, const struct tool_run_argv *argv,
                  void (*done)(struct power_op *w, const struct spawn_result *result));
void tool_run_stop(struct power_op *w);

bool tool_run_says(struct str text, const char *words);
/* The first whose words are in the text; NULL: none. */
const struct tool_run_trouble *tool_run_trouble_find(const struct tool_run_trouble *list,
                                                     uint32_t count, struct str text);
