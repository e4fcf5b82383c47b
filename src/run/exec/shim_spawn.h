/* shim_spawn.h - starts the first process of a run.
 *
 * Finds the program, opens its standard input, creates the pipes for its output, and starts it in a
 * session of its own with three descriptors, no blocked signal and the ordered environment. The
 * module keeps no state; a failure is reported as a sentence. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/mem/arena.h"
#include "run/exec/protocol.h"

struct shim_child {
    pid_t pid;
    int out; /* read ends of the pipes of standard output and standard error; non-blocking */
    int log;
    /* write ends of the same pipes; while they are open, a read never returns EOF */
    int write_ends[2];
    char reason[EXEC_REASON_MAX + 1]; /* set if the function returns false */
};

/* False, with `reason` set and nothing left open, if there is no process. */
bool shim_spawn(struct arena *a, const struct exec_spawn *spec, const char *token,
                struct shim_child *out_start);
