/* exec_client.h - the connection of a daemon to its supervisor, in the libuv loop of the daemon.
 *
 * Starts halligan-exec if no process accepts connections, connects, reconnects after a failure, and
 * never blocks the loop. Orders are sent in the order of the calls; orders made without a
 * connection wait. If a connection breaks, all orders given to it are dropped, and it is unknown
 * which of them arrived. After each `connected` the caller must query (exec_client_query) every run
 * without a known end, and repeat the order of those that are reported as not started. An order
 * that arrives twice has no effect.
 *
 * All callbacks are called in the thread of the loop. Messages passed to a callback are valid
 * during the call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "run/exec/protocol.h"

struct exec_client;

/* No callback may close the client. */
struct exec_client_callbacks {
    void *self;
    void (*connected)(void *self, const struct exec_welcome *welcome);
    void (*lost)(void *self); /* after each `connected`, unless the client was closed */
    void (*begun)(void *self, const struct exec_begun *begun);
    void (*ended)(void *self, const struct exec_ended *ended);
    void (*not_known)(void *self, const struct exec_not_known *not_known);
    /* A daemon with a higher epoch has connected: start no more runs. */
    void (*fenced)(void *self, int64_t epoch);
};

struct exec_client_setup {
    uv_loop_t *loop;
    const char *program; /* path of halligan-exec; NULL: it is started externally */
    const char *dir;     /* the data directory; both strings are copied */
    int64_t epoch;
    int64_t idle_ms; /* --idle-ms for halligan-exec; 0: its default */
};

/* Creates DIR/exec if necessary. On failure errno is set. */
NODISCARD err exec_client_open(const struct exec_client_setup *setup,
                               struct exec_client_callbacks callbacks,
                               struct exec_client **out_client);
/* No callback is called after this; memory is freed in the next round of the loop. `bye`: the
 * daemon ends for good, so the supervisor need not wait for it. */
void exec_client_close(struct exec_client *c, bool bye);

/* ERR_LIMIT, with nothing ordered, if the message is too large. */
NODISCARD err exec_client_spawn(struct exec_client *c, const struct exec_spawn *spec);
void exec_client_cancel(struct exec_client *c, int64_t run_id, uint32_t attempt);
void exec_client_query(struct exec_client *c, int64_t run_id, uint32_t attempt);
void exec_client_forget(struct exec_client *c, int64_t run_id, uint32_t attempt);
/* Request a report of every run: `begun` or `ended`. */
void exec_client_list(struct exec_client *c);
/* Report that every run of an earlier boot of the machine has a durable result. */
void exec_client_reconciled(struct exec_client *c);

/* Use a higher epoch from now on; this closes the connection and opens a new one. */
void exec_client_set_epoch(struct exec_client *c, int64_t epoch);

/* The state directory for spool.h; open as long as the client is. */
int exec_client_state_dirfd(const struct exec_client *c);
