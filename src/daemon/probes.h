/* probes.h - does a machine answer?
 *
 * One that is known by its host keys answers when it accepts a connection to its ssh port; nobody
 * logs in. One that is not is asked for them, and answers by telling: they are pinned (ssh_home.h)
 * before that counts. Whether it is the machine it was before is not asked here: whoever logs in
 * will see.
 *
 * A machine that has just started may tell of itself before it listens. So one that cannot be
 * reached is asked again, with pauses, until the patience for it is at its end.
 *
 * All in the daemon's loop; a bounded number at once, the others in the order they came. Each is
 * answered once, from probes_pump(), but for those that have not ended when it closes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/str.h"
#include "jig/recipe.h"

struct probe;
struct probes;
struct ssh_home;

struct probes_seams {
    void *self;
    /* Have probes_pump() called. */
    void (*wake)(void *self);
    /* Texts live for the call. */
    void (*done)(void *self, uint64_t key, bool answers, const struct reason *said);
};

struct probes *probes_open(uv_loop_t *loop, struct ssh_home *home, struct probes_seams seams);
/* The loop must run until it has nothing left to close. NULL is fine. */
void probes_close(struct probes *p);

#define PROBE_PATIENCE_MS 30000u

/* Whom to ask. Texts are copied. */
struct probe_order {
    uint64_t key;
    struct str node;
    struct str occasion; /* which machine and which boot of it: pins of others do not count */
    bool may_be_here;    /* an admin or system node: it may have the host keys of this machine */
    struct transport transport; /* ssh */
    uint32_t patience_ms;       /* for how long it is asked again; 0: PROBE_PATIENCE_MS */
};

void probes_ask(struct probes *p, const struct probe_order *order);
/* True when something was answered. */
bool probes_pump(struct probes *p);
