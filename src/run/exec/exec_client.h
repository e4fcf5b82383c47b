/* exec_client.h - a daemon's way to its supervisor, inside the daemon's libuv loop.
 *
 * Starts halligan-exec when nobody listens, connects, connects again when it is gone, and never
 * makes the loop wait. Orders are sent in the order they were given; those given while there is no
 * connection wait. A connection that breaks takes the orders with it that were given to it: they
 * may or may not have arrived. After each `connected` ask (exec_client_query) about every run that
 * is not known as ended, and order those again that are answered as not begun. What was ordered
 * twice is done once.
 *
 * Everything happens in the loop's thread. Messages given to a seam are valid during the call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "run/exec/protocol.h"

struct exec_client;

/* None of these may close the client. */
struct exec_client_seams {
    void *self;
    void (*connected)(void *self, const struct exec_welcome *welcome);
    void (*lost)(void *self); /* after each `connected`, unless the client was closed */
    void (*begun)(void *self, const struct exec_begun *begun);
    void (*ended)(void *self, const struct exec_ended *ended);
    void (*not_known)(void *self, const struct exec_not_known *not_known);
    /* Somebody newer is the supervisor's daemon: begin nothing more. */
    void (*fenced)(void *self, int64_t epoch);
};

struct exec_client_setup {
    uv_loop_t *loop;
    const char *program; /* path of halligan-exec; NULL: somebody else starts it */
    const char *dir;     /* the data directory; both texts are copied */
    int64_t epoch;
    int64_t idle_ms; /* --idle-ms of the one we start; 0: its own default */
};

/* Makes DIR/exec if need be. errno says what failed. */
NODISCARD err exec_client_open(const struct exec_client_setup *setup,
                               struct exec_client_seams seams, struct exec_client **out_client);
/* No seam is called any more; the rest goes in the next round of the loop. `bye`: we stop for good
 * and say so, so that the supervisor need not wait for us. */
void exec_client_close(struct exec_client *c, bool bye);

/* ERR_LIMIT, with nothing ordered, when it is larger than a message may be. */
NODISCARD err exec_client_spawn(struct exec_client *c, const struct exec_spawn *spec);
void exec_client_cancel(struct exec_client *c, int64_t run_id, uint32_t attempt);
void exec_client_query(struct exec_client *c, int64_t run_id, uint32_t attempt);
void exec_client_forget(struct exec_client *c, int64_t run_id, uint32_t attempt);
/* Have every run told that the supervisor has: as begun or as ended. */
void exec_client_list(struct exec_client *c);
/* Every run of before the machine's boot has been judged, durably. */
void exec_client_settled(struct exec_client *c);

/* Speak with a higher epoch from now on; that takes a new connection. */
void exec_client_set_epoch(struct exec_client *c, int64_t epoch);

/* For spool.h; open as long as the client is. */
int exec_client_place(const struct exec_client *c);
