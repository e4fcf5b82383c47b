/* tool_run.h - a work that is done by programs, one after the other.
 *
 * Holds the running one, and the file with the secret that it was given. Both go when the work
 * stops, however that comes.
 */
#pragma once

#include <stdbool.h>

#include "power/hammer/power_op.h"

struct program {
    struct work *work;
    struct command_run *run; /* NULL: none runs */
    const char *secret;      /* path; NULL: none */
    void (*done)(struct work *w, const struct command_result *result);
};

/* What a program says when something goes wrong, and what that means. */
struct program_trouble {
    const char *words;
    enum hammer_end end;
    const char *text;
};

struct program_argv {
    const char *at[64];
    uint32_t count;
};

/* Appends; more than fits is our mistake. */
void program_add(struct program_argv *argv, const char *word);

/* The work's program, made at the first call: w->job is the program from then on. */
struct program *program_of(struct work *w);
/* Writes the secret into a file that only we can read. False: it could not be, and the work has
 * failed with that. */
bool program_write_secret(struct work *w, struct str secret);
/* Run it; `done` gets the result of one that could be started and was not too late. */
void program_run(struct work *w, const struct program_argv *argv,
                 void (*done)(struct work *w, const struct command_result *result));
void program_stop(struct work *w);

bool program_says(struct str text, const char *words);
/* The first whose words are in the text; NULL: none. */
const struct program_trouble *program_trouble_find(const struct program_trouble *list,
                                                   uint32_t count, struct str text);
