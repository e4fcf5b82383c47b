/* replay.h - executes a recorded list of commands again, and shrinks it.
 *
 * The commands are passed to a core without a turn; batches are stored in a memory store at the
 * recorded positions, so that the same invariants can be checked. The environment is not simulated:
 * its results are in the list, as commands.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sim/scenario/counts.h"
#include "sim/scenario/transcript.h"

/* True if an invariant was violated, with its description in `failure`. A failed assertion of the
 * core aborts the process. `thorough`: all checks after every step, at ten times the cost. */
bool replay_run(const struct transcript *transcript, bool thorough, char *failure, uint32_t size);

/* Remove every mark that is not necessary for a failure of the same kind (delta debugging): the
 * same invariant, or also an abort. False if the list alone does not fail in that way. */
bool replay_shrink(struct transcript *transcript, const char *failure);
