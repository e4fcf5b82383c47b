/* runner_port.h - the seam to whoever does the work of noderoles: supervisor, agents, test jigs.
 *
 * An order is durable before it is given. Nothing is returned: what came of it arrives as a command
 * (RUN_BEGUN, RUN_DONE, RUN_STOPPED) that carries run and attempt back. Orders may be repeated,
 * and a runner recognises them by (run, attempt): it does the work of one attempt at most once and
 * answers repeats from memory. Texts live for the call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

struct run_order {
    int64_t epoch; /* of the leader who gives it; a runner refuses lower ones than it has seen */
    int64_t run_id;
    uint32_t attempt;
    int64_t node_id;
    int64_t noderole_id;
    bool begun;      /* query: the store knows that the work began */
    struct str jig;  /* start, query: who does it                  */
    struct str data; /* start, query: staged data, canonical JSON  */
};

struct runner_port {
    void *self;
    /* Do it. */
    void (*start)(void *self, const struct run_order *order);
    /* Stop it; answer RUN_STOPPED once nothing of it is left, also when there never was. */
    void (*cancel)(void *self, const struct run_order *order);
    /* After a restart (DECISIONS D19). Known: carry on, and say again what was said. Unknown and
     * not begun: start it. Unknown but begun: answer RUN_DONE with RESULT_LOST. */
    void (*query)(void *self, const struct run_order *order);
};
