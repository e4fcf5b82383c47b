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

struct children;

struct children_seams {
    void *self;
    /* BEGUN and ENDED, as leads say them. */
    void (*told)(void *self, const struct exec_message *message);
};

struct children_setup {
    int epoll_fd; /* children_ready is for its events */
    int place_fd;
    int lock_fd;
    const char *token;
    uint64_t files_max; /* of a run */
};

struct children *children_new(struct children_setup setup, struct children_seams seams);
/* Leads that are left kill what they have and go. */
void children_free(struct children *c);

/* ERR_UNAVAILABLE, with errno, when no lead could be started. */
NODISCARD err children_start(struct children *c, const struct exec_spawn *spec);
void children_cancel(struct children *c, int64_t run_id, uint32_t attempt);
void children_cancel_all(struct children *c);
void children_kill_all(struct children *c);
/* How many runs there are. */
uint32_t children_count(const struct children *c);

/* An event of the epoll descriptor for `key`. False when it is not one of ours. */
bool children_ready(struct children *c, void *key, uint32_t events);
/* Take the ends of leads and of what was theirs. */
void children_reap(struct children *c);
/* What is due by now; after it, when the next is (-1: nothing). */
int64_t children_tick(struct children *c, int64_t now_ms);
