/* shim_spawn.h - the first process of a run, from its order.
 *
 * Finds the program, opens what it reads, makes the pipes it writes to, and starts it in a session
 * of its own with three descriptors, no blocked signal and the environment that was ordered.
 * Nothing is kept; what fails is said in a sentence.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/mem/arena.h"
#include "run/exec/protocol.h"

struct lead_start {
    pid_t pid;
    int out; /* the ends we read from; non-blocking */
    int log;
    int held[2]; /* the other ends: as long as they are open, nobody is told of an end of file */
    char reason[EXEC_REASON_MAX + 1]; /* why there is no process */
};

bool shim_spawn(struct arena *a, const struct exec_spawn *spec, const char *token,
                struct lead_start *out_start);
