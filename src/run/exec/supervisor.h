/* supervisor.h - the one process per data directory that runs what daemons order.
 *
 * Owns the lock, the socket, the journal and the leads of its place (state_dir.h). It stays while a
 * daemon is connected or something runs. It decides nothing: what to run, and what an end means, is
 * the daemon's business.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct supervisor_setup {
    const char *dir; /* the data directory */
    int64_t idle_ms; /* stays that long with nobody connected and nothing running */
    int ready_fd;    /* closed after a byte, once it listens; -1: nobody waits for that */
};

enum {
    SUPERVISOR_ENDED = 0,
    SUPERVISOR_FAILED = 1,
    SUPERVISOR_TAKEN = 3, /* there is another one, or something of one is left */
};

/* Runs until there is no more reason to, or SIGTERM. The exit status of the program. */
int supervisor_run(const struct supervisor_setup *setup);
