/* shim.h - the process that leads one run at a time, and knows what belongs to it.
 *
 * A lead is halligan-exec started by the supervisor as `halligan-exec --lead`. It starts the first
 * process of a run, takes in what it writes, keeps its time, and is the reaper of all it leaves
 * behind: whatever a lead has below it is of its run, and a run has ended when a lead has nobody
 * left. It outlives its runs and takes the next one. When the supervisor is gone, it kills what it
 * has and goes too. The journal and the daemon are not its business.
 */
#pragma once

#include <stdint.h>

/* Where the supervisor puts what a lead needs; the lock is held until the last lead is gone. */
enum { LEAD_LINK_FD = 3, LEAD_LOCK_FD = 4, LEAD_PLACE_FD = 5 };

/* A child has this in its environment, with the token of the journal... */
#define LEAD_MARK "HALLIGAN_EXEC="
/* ... and this, "<run>-<attempt>". */
#define LEAD_RUN "HALLIGAN_RUN_ID="

/* Until the supervisor is gone. `files_max` is the limit on open files that children get. */
int shim_main(const char *token, uint64_t files_max);
