/* runner_port.h - the port to the runner, which executes runs: supervisor, role code, test jig.
 *
 * The run of an order is durable before the order is given. The functions return nothing: results
 * arrive as commands (RUN_BEGUN, RUN_DONE, RUN_STOPPED) with the run and attempt of the order.
 * Orders may be repeated. A runner identifies them by (run, attempt): it executes an attempt at
 * most once and repeats the recorded result of an attempt that has ended. Strings are valid during
 * the call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

struct run_order {
    int64_t
        epoch; /* of the leadership; a runner refuses orders of a lower epoch than it has seen */
    int64_t run_id;
    uint32_t attempt;
    int64_t node_id;
    int64_t noderole_id;
    bool begun;      /* query: RUN_BEGUN of this attempt is stored */
    struct str jig;  /* start, query: name of the jig              */
    struct str data; /* start, query: staged data, canonical JSON  */
};

struct runner_port {
    void *self;
    /* Execute the attempt. */
    void (*start)(void *self, const struct run_order *order);
    /* Stop the attempt and report RUN_STOPPED when all its processes have ended, also if it never
     * started. */
    void (*cancel)(void *self, const struct run_order *order);
    /* After a restart (ADR 0025). The attempt is known: continue, and repeat the results reported
     * so far. Unknown and not begun: start it. Unknown but begun: report RUN_DONE with RESULT_LOST.
     * */
    void (*query)(void *self, const struct run_order *order);
};
