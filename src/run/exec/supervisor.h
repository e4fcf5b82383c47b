/* supervisor.h - the main loop of halligan-exec: one process per data directory that executes runs
 * for daemons.
 *
 * Owns the lock, the socket, the journal and the shims of its state directory (state_dir.h). It
 * stays alive while a daemon is connected or a run is active, and survives restarts of the daemon.
 * It makes no decisions: what to run and what an end means is decided by the daemon. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct supervisor_setup {
    const char *dir; /* the data directory */
    int64_t idle_ms; /* ms until it exits without a daemon and without runs */
    int ready_fd;    /* gets one byte and is closed once the socket accepts connections; -1: none */
};

enum {
    SUPERVISOR_ENDED = 0,
    SUPERVISOR_FAILED = 1,
    SUPERVISOR_TAKEN = 3, /* another supervisor, or a shim of one, holds the lock */
};

/* Runs until it is idle or gets SIGTERM. Returns the exit status of the program. */
int supervisor_run(const struct supervisor_setup *setup);
