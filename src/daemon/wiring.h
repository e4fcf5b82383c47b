/* wiring.h - which implementation is behind each port of the turn and each callback of the API.
 *
 * No other module chooses a store, a runner or a clock. A struct wiring lives as long as the loop
 * and belongs to its thread.
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

/* Receives the results of commands that the daemon itself submitted (request ids below zero). */
struct internal_replies {
    void *self;
    void (*on_result)(void *self, int64_t request, const struct outcome *outcome, err why);
};

struct wiring {
    struct loop *loop;
    struct internal_replies own;
    const struct content *content; /* knows the source paths of documents before their import */
    bool is_draining;              /* the daemon stops and reports not ready */
    const char *uploads;           /* directory for the files of uploaded barclamps */

    struct history *history; /* NULL: not open */
    struct metrics metrics;
    int64_t certificate_end_s; /* expiry of the served certificate, s since 1970; 0: no TLS */
    struct failed_runs failures;
    const char *version;
    const struct http_server *http; /* NULL: not open */
    struct role_code_registry codes;
    struct runners runners;
    struct ssh_keys ssh;
    struct known_hosts known_hosts;
};

/* Ranges of negative request ids, each counting down from its constant: above OWN_RUNS the daemon's
 * own requests, then those of the runner, of power actions, of the import of host keys, and of boot
 * servers. */
#define OWN_RUNS      (-(INT64_C(1) << 40))
#define OWN_POWER     (OWN_RUNS * 2)
#define OWN_HOST_KEYS (OWN_POWER * 2)
#define OWN_BOOT      (OWN_HOST_KEYS * 2)

/* Open test jig, hooks, power, runner, store and history reader, and create the turn over them. A
 * failure is logged; wiring_close() closes what is open by then. */
enum exit_status wiring_open(struct wiring *w, struct config *c);
/* The store is closed before the turn, because its thread may still read a batch that the turn
 * owns. A hook that is being executed is aborted and delivered again after the next start. Runs
 * continue under halligan-exec and are adopted by the next start. `for_good`: this is an orderly
 * stop, so another start need not follow soon. */
void wiring_close(struct wiring *w, bool for_good);

/* The callbacks for api_new(). */
struct api_engine wiring_api_engine(struct wiring *w);
