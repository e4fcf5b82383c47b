/* daemon_metrics.h - metrics of the daemon itself for GET /metrics.
 *
 * They belong to the thread of the loop and need no locks. Objects of the core and requests of the
 * API are counted elsewhere. Label values are bounded: results, and the names of imported roles.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/prom_metrics.h"
#include "http/http.h"
#include "model/command.h"
#include "turn/turn.h"

struct batch;
struct core;

struct metrics {
    int64_t started_ms;            /* wall clock */
    uint64_t anneal_ns, commit_ns; /* start of the current step or commit (uv_hrtime) */
    struct histogram anneal, commit;
    uint64_t events, rows;
    uint64_t ended[RESULT_COUNT];
    struct run_times *roles; /* sorted by role id */
    uint32_t role_count, role_cap;
};

void metrics_init(struct metrics *m, int64_t now_ms);
void metrics_fini(struct metrics *m);

/* Called from the watch port (port/watch_port.h). */
void metrics_stepping(struct metrics *m, const struct command *command);
void metrics_stepped(struct metrics *m, const struct command *command);
void metrics_submitting(struct metrics *m);
void metrics_durable(struct metrics *m, const struct batch *batch);
/* A command of a runner was submitted: if it ends a run, count its result and duration. It must be
 * called before the core executes the command, because the start time is in the row of the run. */
void metrics_run_result(struct metrics *m, const struct core *core, const struct command *command,
                        int64_t now_ms);

/* Values that metrics_write() gets from other modules. */
struct metrics_state {
    const char *version;
    bool store_is_up, leads;
    int64_t turn;
    int64_t certificate_end_s; /* expiry, s since 1970; 0: no TLS */
    int64_t clock_behind_ms;   /* by which the wall clock is behind the stamp; 0: not behind */
    struct http_stats http;
    struct turn_plan_counts plans;
};

void metrics_write(const struct metrics *m, struct metrics_state state, struct buf *out);
