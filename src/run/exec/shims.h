/* shims.h - the shims of a supervisor and the run that each of them executes.
 *
 * A run is given to an idle shim or to a new one; shims that are idle for a minute are closed. When
 * a shim dies during a run, its descendants are reparented to the supervisor and killed here; the
 * run is reported as ended only when none of them is left. The module does not access the journal
 * and does not communicate with daemons. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "run/exec/protocol.h"

struct shims;

struct shims_callbacks {
    void *self;
    /* EXEC_BEGUN and EXEC_ENDED of a shim. */
    void (*on_message)(void *self, const struct exec_message *message);
};

struct shims_setup {
    int epoll_fd; /* its events are passed to shims_ready */
    int state_dirfd;
    int lock_fd;
    const char *token;
    uint64_t files_max; /* limit on open files of the processes of a run */
};

struct shims *shims_new(struct shims_setup setup, struct shims_callbacks callbacks);
/* Closes the connections; shims that still have a run kill it and exit. */
void shims_free(struct shims *shims);

/* ERR_UNAVAILABLE, with errno, if no shim could be started. */
NODISCARD err shims_start(struct shims *shims, const struct exec_spawn *spec);
void shims_cancel(struct shims *shims, int64_t run_id, uint32_t attempt);
void shims_cancel_all(struct shims *shims);
void shims_kill_all(struct shims *shims);
/* Number of runs that have not been reported as ended. */
uint32_t shims_count(const struct shims *shims);

/* Handle an event of the epoll descriptor. False if `key` is not a shim. */
bool shims_ready(struct shims *shims, void *key, uint32_t events);
/* Reap shims and processes that were reparented from them. */
void shims_reap(struct shims *shims);
/* Run timers that are due. Returns the time of the next one in ms; -1: none. */
int64_t shims_tick(struct shims *shims, int64_t now_ms);
