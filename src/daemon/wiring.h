/* wiring.h - which real thing stands behind each seam of the turn and of the API.
 *
 * Nowhere else is a store, a runner or a clock chosen.
 */
#pragma once

#include "api/call/api.h"
#include "daemon/config/config.h"
#include "daemon/config/data_dir.h"
#include "daemon/daemon_metrics.h"
#include "daemon/failed_runs.h"
#include "daemon/history_reader.h"
#include "daemon/loop.h"
#include "daemon/runner_dispatch.h"
#include "import/role_code_registry.h"
#include "power/known_hosts.h"
#include "power/ssh_keys.h"

struct content;

/* Who answers requests that the daemon itself made: those below zero. */
struct own_replies {
    void *self;
    void (*told)(void *self, int64_t request, const struct outcome *outcome, err why);
};

struct wiring {
    struct loop *loop;
    struct own_replies own;
    const struct content *content; /* what is about to be imported */
    bool is_draining;              /* not ready for anything new */
    const char *uploads;           /* where files of barclamps may be put that were sent */

    struct history *history; /* NULL: not open */
    struct metrics metrics;
    int64_t certificate_end_s; /* of the certificate that is served; 0: none is */
    struct failed_runs failures;
    const char *version;
    const struct http_server *http; /* NULL: not open */
    struct role_code_registry codes;
    struct runners runners;
    struct ssh_keys ssh;
    struct known_hosts known_hosts;
};

/* Requests of power are this one and those below it, those of the runner its own and those between;
 * the rest below zero are the daemon's. */
#define OWN_RUNS  (-(INT64_C(1) << 40))
#define OWN_POWER (OWN_RUNS * 2)
/* Those of the import of host keys; power's are above it. */
#define OWN_HOST_KEYS (OWN_POWER * 2)

/* Open test jig, hooks, power and store and make the turn over them. The wires outlive the loop.
 * What fails is logged; what is open by then is closed by wiring_close. */
enum ending wiring_open(struct wiring *w, struct config *c);
/* The store first, since it may still read what the turn owns. A hook that runs is ended, and
 * delivered again after the next start. Runs go on, and are taken up by the next start; `for_good`:
 * there need not be one soon. */
void wiring_close(struct wiring *w, bool for_good);

/* What api_new() wants. */
struct api_engine wiring_api_engine(struct wiring *w);
