/* ssh_probe.h - does a machine answer?
 *
 * Its ssh host keys are read with ssh-keyscan, without a login. The core pins them at first
 * contact, or compares them with those that are pinned; it answers after that is durable and the
 * file that ssh reads shows it (known_hosts.h). One that has pins has to accept a connection
 * before, which tells a machine that is off from one that shows no keys.
 *
 * A machine that has just started may tell of itself before it listens. So one that cannot be
 * reached is asked again, with pauses, until the patience for it is at its end.
 *
 * All in the daemon's loop; a bounded number at once, the others in the order they came. Each is
 * answered once, from ssh_probe_pump(), but for those that have not ended when it closes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "base/text/str.h"
#include "run/jig/launch_spec.h"

struct core;
struct known_hosts;
struct outcome;
struct probe;
struct ssh_probes;
struct ssh_keys;

struct ssh_probe_seams {
    void *self;
    /* Have ssh_probe_pump() called. */
    void (*wake)(void *self);
    /* Submit the command that pins these keys for the node of the order; the outcome comes to
     * ssh_probe_on_result(). Not OK: later. */
    err (*pin)(void *self, uint64_t key, struct str keys, bool is_own);
    /* Texts live for the call. */
    void (*done)(void *self, uint64_t key, bool answers, const struct reason *said);
    /* Is its answer still of use? Called from ssh_probe_pump(). Those of no use that have not begun
     * are done without an answer. */
    bool (*is_wanted)(void *self, uint64_t key);
    const char *tool_path; /* where ssh-keyscan is looked for; NULL: TOOLS_PATH */
};

/* known_hosts NULL: no file is written. Both outlive it. */
struct ssh_probes *ssh_probe_open(uv_loop_t *loop, struct ssh_keys *home,
                                  struct known_hosts *known_hosts, struct ssh_probe_seams seams);
/* The loop must run until it has nothing left to close. NULL is fine. */
void ssh_probe_close(struct ssh_probes *p);

#define PROBE_PATIENCE_MS 30000u

/* Whom to ask. Texts are copied. */
struct probe_order {
    uint64_t key;
    struct str node;
    bool is_pinned;             /* it has pins that hold for its boot */
    struct transport transport; /* ssh */
    uint32_t patience_ms;       /* for how long it is asked again; 0: PROBE_PATIENCE_MS */
};

void ssh_probe_ask(struct ssh_probes *p, const struct probe_order *order);
/* True when something was answered or submitted. */
bool ssh_probe_pump(struct ssh_probes *p);
/* What became of a command that pins: OK, it is done and durable; ERR_REFUSED, `outcome` says why;
 * anything else, nothing of it is in the store. */
void ssh_probe_on_result(struct ssh_probes *p, uint64_t key, const struct core *core,
                         const struct outcome *outcome, err why);
