/* replay.h - step a recorded list of commands again, and make it shorter.
 *
 * The list goes straight into a core, with batches kept in a memory store as they were, so that the
 * same invariants are watched. What the world around it did is in the list already: its answers
 * are commands.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sim/scenario/counts.h"
#include "sim/scenario/transcript.h"

/* False: nothing went wrong. `failure` gets what did. A broken promise of the core stops the
 * program, as anywhere. Thorough: everything is checked after every step, at ten times the cost. */
bool replay_run(const struct transcript *transcript, bool thorough, char *failure, uint32_t size);

/* Throw away every mark that is not needed for a failure of this kind (delta debugging): the same
 * invariant, or again a stop. False when the list alone does not fail that way. */
bool replay_shrink(struct transcript *transcript, const char *failure);
