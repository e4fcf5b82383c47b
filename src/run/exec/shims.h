/* shims.h - the leads of a supervisor, and which run each of them has.
 *
 * A run gets a lead that waits, or a new one. Leads that waited long go. When a lead dies with a
 * run, what it had below it comes to the supervisor and is killed here; only when nobody is left is
 * the run told as ended. Nothing here knows the journal or a daemon.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "run/exec/protocol.h"

struct shims;

struct shims_seams {
    void *self;
    /* BEGUN and ENDED, as leads say them. */
    void (*told)(void *self, const struct exec_message *message);
};

struct shims_setup {
    int epoll_fd; /* shims_ready is for its events */
    int state_dirfd;
    int lock_fd;
    const char *token;
    uint64_t files_max; /* of a run */
};

struct shims *shims_new(struct shims_setup setup, struct shims_seams seams);
/* Leads that are left kill what they have and go. */
void shims_free(struct shims *c);

/* ERR_UNAVAILABLE, with errno, when no lead could be started. */
NODISCARD err shims_start(struct shims *c, const struct exec_spawn *spec);
void shims_cancel(struct shims *c, int64_t run_id, uint32_t attempt);
void shims_cancel_all(struct shims *c);
void shims_kill_all(struct shims *c);
/* How many runs there are. */
uint32_t shims_count(const struct shims *c);

/* An event of the epoll descriptor for `key`. False when it is not one of ours. */
bool shims_ready(struct shims *c, void *key, uint32_t events);
/* Take the ends of leads and of what was theirs. */
void shims_reap(struct shims *c);
/* What is due by now; after it, when the next is (-1: nothing). */
int64_t shims_tick(struct shims *c, int64_t now_ms);
