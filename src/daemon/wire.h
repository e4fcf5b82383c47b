/* wire.h - which real thing stands behind each seam of the turn and of the API.
 *
 * Nowhere else is a store, a runner or a clock chosen.
 */
#pragma once

#include "api/api.h"
#include "daemon/config.h"
#include "daemon/data_dir.h"
#include "daemon/loop.h"

/* Who answers requests that the daemon itself made: those below zero. */
struct own_replies {
    void *self;
    void (*told)(void *self, int64_t request, const struct outcome *outcome, err why);
};

struct wires {
    struct loop *loop;
    struct own_replies own;
    bool is_draining; /* not ready for anything new */
};

/* Open store and test jig and make the turn over them. The wires outlive the loop. What fails is
 * logged; what is open by then is closed by wire_close. */
enum ending wire_open(struct wires *w, struct config *c);
/* The store first, since it may still read what the turn owns. */
void wire_close(struct wires *w);

/* What api_new() wants. */
struct api_engine wire_api_engine(struct wires *w);
