/* power_orders.h - the machines themselves: switched by hammers, and asked whether they answer.
 *
 * Behind port/power_port.h stand the hammers of a node (power/hammer/hammer_ops.h) and probes
 * (ssh_probe.h). Rows are only noted when they come. Everything else happens in power_pump() and in
 * the loop, and answers reach the turn from the pump alone. Power orders of one node are carried
 * out one after the other, in the order of their rows; what ends for a reason that may pass is
 * tried again for a while, if doing it twice does no harm.
 *
 * A row that comes again while it is under way, or before its answer is durable, is not carried out
 * again. A process that dies forgets: what it had not answered is done once more after the restart,
 * if doing it twice does no harm. Everything else is begun only when a mark at its row is durable,
 * and a row that comes with one from a process that ended fails: nobody knows whether it was done.
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
    const char *scratch;             /* a directory of its own; made when it is not there */
    struct ssh_keys *ssh;            /* outlives it */
    struct known_hosts *known_hosts; /* outlives it; NULL: no file of host keys is written */
    /* Its requests to the turn are below this one; their answers go to power_on_result(). */
    int64_t request_first;
    const char *tool_path; /* where ssh-keyscan is looked for; NULL: TOOLS_PATH */
    uint32_t probe_ms;     /* for how long a machine is asked; 0: what ssh_probe.h says */
    uint32_t poll_s;       /* the power state of every node is read so often; 0: only on request */
    void *self;
    void (*wake)(void *self); /* have power_pump() called */
};

/* NULL: it cannot be had, and that is logged. */
struct power *power_open(const struct power_setup *setup);
/* Programs are killed, connections cut; what they were about is ordered again after the next start.
 * The loop must run until it has nothing left to close. NULL is fine. */
void power_close(struct power *p);

struct power_port power_port(struct power *p);
/* Begin what was noted, and hand over what the turn will take. True when that was anything. */
bool power_pump(struct power *p, struct turn *turn);
/* An action of the node that failed and is tried again: which one, and why and when. False: there
 * is none. The text goes into the arena. */
bool power_retry(const struct power *p, int64_t node_id, struct arena *arena,
                 struct reason *out_reason);
/* What became of a request: OK, it is done and durable; ERR_REFUSED, its row is gone or `outcome`
 * says why; anything else, nothing of it is in the store. */
void power_on_result(struct power *p, int64_t request, const struct outcome *outcome, err why);
