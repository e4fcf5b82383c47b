/* shim.h - the process above the process tree of one run at a time.
 *
 * A shim is halligan-exec, started by the supervisor as `halligan-exec --shim`. It starts the first
 * process of a run, stores its output, enforces its deadline, and is the child subreaper of
 * everything below it: every descendant of a shim belongs to its run, and the run has ended when
 * the shim has no child left. A shim is reused for later runs. When the connection to the
 * supervisor closes, it kills its process tree and exits. It does not access the journal and does
 * not communicate with the daemon. */
#pragma once

#include <stdint.h>

/* The descriptors that the supervisor passes to a shim. The lock of the state directory is held
 * through SHIM_LOCK_FD until the last shim has exited. */
enum { SHIM_LINK_FD = 3, SHIM_LOCK_FD = 4, SHIM_STATE_DIR_FD = 5 };

/* Environment variable of every process of a run: the token of the journal. A new supervisor finds
 * processes by it that outlived a killed one. */
#define SHIM_TOKEN_ENV "HALLIGAN_EXEC="
/* Environment variable of every process of a run: "<run>-<attempt>". */
#define SHIM_RUN_ENV "HALLIGAN_RUN_ID="

/* Main function of a shim; returns when the supervisor is gone and no process of a run is left.
 * `files_max` is the limit on open files for the processes of runs. */
int shim_main(const char *token, uint64_t files_max);
