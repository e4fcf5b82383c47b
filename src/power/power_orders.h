/* power_orders.h - execution of the outbox rows that concern machines: power actions, which a
 * hammer (a power driver: power/hammer/hammer_ops.h) performs, and probes, which test whether a
 * machine answers by ssh (ssh_probe.h). It implements port/power_port.h.
 *
 * A row that the port receives is only queued. Work starts in power_pump() and in callbacks of the
 * loop, and results are submitted to the turn by the pump alone. Power actions of one node are
 * performed one after the other, in the order of their rows. An action that failed for a temporary
 * reason is tried again for a limited time, provided that performing it twice is harmless.
 *
 * A row that arrives again while it is in progress, or before its result is durable, is not
 * performed again. After a crash the rows without a result arrive again: idempotent actions (on,
 * off, status, boot) are repeated; any other action starts only after a mark at its row is durable,
 * and a row that carries the mark of an earlier process fails, because it is unknown whether the
 * action was performed.
 *
 * All functions are called from the thread of the loop. A `struct power` lives from power_open()
 * until the loop has closed its handles after power_close().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "model/reason.h"
#include "port/power_port.h"

struct known_hosts;
struct outcome;
struct power;
struct ssh_keys;
struct turn;

struct power_setup {
    uv_loop_t *loop;
    const char *scratch;             /* directory for files with secrets; created if missing */
    struct ssh_keys *ssh;            /* outlives the struct power */
    struct known_hosts *known_hosts; /* outlives it; NULL: no file of host keys is written */
    /* The request of a command about row ID is request_first - ID; power_on_result() gets the
     * outcomes of these requests. */
    int64_t request_first;
    const char *tool_path; /* directories to search for ssh-keyscan; NULL: TOOLS_PATH */
    uint32_t probe_ms;     /* how long an unreachable machine is probed; 0: PROBE_PATIENCE_MS */
    uint32_t poll_s;       /* interval of the power state polls; 0: only on request */
    void *self;
    void (*wake)(void *self); /* requests a call of power_pump() */
};

/* NULL: the drivers could not be started; the reason is logged. */
struct power *power_open(const struct power_setup *setup);
/* Kills programs and closes connections. Actions in progress get no result; their rows arrive again
 * after the next start. The loop must run until it has nothing left to close. NULL is allowed. */
void power_close(struct power *p);

struct power_port power_port(struct power *p);
/* Starts queued work and submits results to the turn. True if a command was submitted. */
bool power_pump(struct power *p, struct turn *turn);
/* The action of the node that failed and will be tried again: its name is the subject of the
 * reason, the text states the cause and the time of the next try. The strings are in the arena.
 * False: there is none. */
bool power_retry(const struct power *p, int64_t node_id, struct arena *arena,
                 struct reason *out_reason);
/* The outcome of a request. OK: it is done and durable. ERR_REFUSED: its row no longer exists, or
 * `outcome` has the problem. Any other error: nothing of it is in the store. */
void power_on_result(struct power *p, int64_t request, const struct outcome *outcome, err why);
