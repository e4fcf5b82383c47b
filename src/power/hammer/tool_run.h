/* tool_run.h - an operation that is performed by programs (ipmitool, ssh, scp, cp), one after the
 * other.
 *
 * Owns the running program and the file with the secret for it. tool_run_stop() kills the one and
 * deletes the other, however the operation ends.
 */
#pragma once

#include <stdbool.h>

#include "power/hammer/power_op.h"

struct tool_run {
    struct power_op *op;
    struct spawn_run *run; /* NULL: no program is running */
    const char *secret;    /* path of the file; NULL: none */
    void (*done)(struct power_op *op, const struct spawn_result *result);
};

/* A message of a program, and its meaning. */
struct tool_error {
    const char *words; /* part of the output */
    enum hammer_end end;
    const char *text;
};

struct tool_run_argv {
    const char *at[64];
    uint32_t count;
};

/* Appends an argument; asserts that it fits. */
void tool_run_add(struct tool_run_argv *argv, const char *word);

/* The tool_run of the operation, which is created at the first call and stored in op->job. */
struct tool_run *tool_run_get(struct power_op *op);
/* Writes the secret into a file with mode 0600. False: it could not be written, and the operation
 * has failed. */
bool tool_run_write_secret(struct power_op *op, struct str secret);
/* Starts the program. `done` gets its result if it was started and ended in time; otherwise the
 * operation fails. */
void tool_run_start(struct power_op *op, const struct tool_run_argv *argv,
                    void (*done)(struct power_op *op, const struct spawn_result *result));
void tool_run_stop(struct power_op *op);

bool tool_output_contains(struct str text, const char *words);
/* The first entry whose words are in the text; NULL: none. */
const struct tool_error *tool_error_find(const struct tool_error *list, uint32_t count,
                                         struct str text);
