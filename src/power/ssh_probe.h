/* ssh_probe.h - probes: tests whether a machine answers by ssh.
 *
 * A probe reads the ssh host keys of the machine with ssh-keyscan, without a login. The core pins
 * the keys at first contact and compares them with the pinned ones later. A probe succeeds only
 * after this is durable and the known_hosts file contains the keys (known_hosts.h), so that runs
 * that start because of it can connect. A node with pins must accept a TCP connection first, which
 * distinguishes a machine that is switched off from one without host keys.
 *
 * A machine that has just started may report that it is alive before its ssh server listens. So an
 * unreachable machine is probed again, with growing pauses, until the patience of the probe ends.
 *
 * Everything runs in the loop of the daemon. The number of probes in progress is bounded; others
 * wait in order of arrival. Each probe gets one result, from ssh_probe_pump(), except those that
 * have not ended when the module is closed.
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

struct ssh_probe_callbacks {
    void *self;
    /* Requests a call of ssh_probe_pump(). */
    void (*wake)(void *self);
    /* Submits the command that pins these keys ("TYPE BASE64" lines) for the node of the order;
     * is_own: one of them is a host key of the daemon's machine. The outcome is passed to
     * ssh_probe_on_result(). Not OK: the pump calls it again later. */
    err (*pin)(void *self, uint64_t key, struct str keys, bool is_own);
    /* The result of a probe. The strings are valid during the call. */
    void (*done)(void *self, uint64_t key, bool answers, const struct reason *reason);
    /* True if the result is still needed. Called from ssh_probe_pump(). A probe that is not needed
     * and has not started ends without touching the machine. */
    bool (*is_wanted)(void *self, uint64_t key);
    const char *tool_path; /* directories to search for ssh-keyscan; NULL: TOOLS_PATH */
};

/* known_hosts may be NULL: no file is written. `keys` and known_hosts outlive the probes. */
struct ssh_probes *ssh_probe_open(uv_loop_t *loop, struct ssh_keys *keys,
                                  struct known_hosts *known_hosts,
                                  struct ssh_probe_callbacks callbacks);
/* The loop must run until it has nothing left to close. NULL is allowed. */
void ssh_probe_close(struct ssh_probes *p);

#define PROBE_PATIENCE_MS 30000u

/* The strings are copied. */
struct probe_order {
    uint64_t key;               /* identifies the probe in callbacks */
    struct str node;            /* name */
    bool is_pinned;             /* the node has pins that are in force for its boot generation */
    struct transport transport; /* of kind TRANSPORT_SSH */
    uint32_t patience_ms;       /* how long it is probed again; 0: PROBE_PATIENCE_MS */
};

void ssh_probe_ask(struct ssh_probes *p, const struct probe_order *order);
/* Starts waiting probes, submits keys and delivers results. True if a result was delivered or a
 * command submitted. */
bool ssh_probe_pump(struct ssh_probes *p);
/* The outcome of a command that pins keys. OK: it is done and durable. ERR_REFUSED: `outcome` has
 * the problem. Any other error: nothing of it is in the store, and it is submitted again. */
void ssh_probe_on_result(struct ssh_probes *p, uint64_t key, const struct core *core,
                         const struct outcome *outcome, err why);
