/* daemon_metrics.h - what the daemon counts about its own work, and tells whoever scrapes it.
 *
 * It belongs to the loop's thread and takes no locks. What the core or the API knows is not counted
 * here. Labels are bounded: states, results, and the names of roles, which content brings.
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
    uint64_t anneal_ns, commit_ns; /* when the one that is going on began */
    struct histogram anneal, commit;
    uint64_t events, rows;
    uint64_t ended[RESULT_COUNT];
    struct run_times *roles; /* by role id */
    uint32_t role_count, role_cap;
};

void metrics_init(struct metrics *m, int64_t now_ms);
void metrics_fini(struct metrics *m);

/* From port/watch_port.h. */
void metrics_stepping(struct metrics *m, const struct command *command);
void metrics_stepped(struct metrics *m, const struct command *command);
void metrics_submitting(struct metrics *m);
void metrics_durable(struct metrics *m, const struct batch *batch);
/* What a runner answers, before the core has heard it: if it ends a run, how long that took. */
void metrics_answered(struct metrics *m, const struct core *core, const struct command *command,
                      int64_t now_ms);

/* What only the daemon knows. */
struct metrics_state {
    const char *version;
    bool store_is_up, leads;
    int64_t turn;
    int64_t certificate_end_s; /* since 1970; 0: there is none */
    int64_t clock_behind_ms;   /* of the wall clock, against the stamp; 0: it is not behind */
    struct http_stats http;
    struct turn_plan_counts plans;
};

void metrics_write(const struct metrics *m, struct metrics_state state, struct buf *out);
