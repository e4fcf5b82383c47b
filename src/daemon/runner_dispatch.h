/* runner_dispatch.h - which runner executes a run order.
 *
 * The class of the jig decides: simulated runs go to the test jig, Lua code of the role to the hook
 * thread, and everything else becomes a process. A cancel has no jig, and the jig of a role may
 * change while the daemon is down: a run stays with the runner that has started it. (A jig is the
 * method that executes a role on a node.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"
#include "port/runner_port.h"

struct core;

struct runners {
    void *self;
    const struct core *(*core)(void *self); /* returns NULL while no core is loaded */
    /* Does this runner execute that attempt, or has it executed it? */
    bool (*code_has)(void *self, int64_t run_id, uint32_t attempt);
    bool (*test_has)(void *self, int64_t run_id, uint32_t attempt);

    struct runner_port role_code;
    struct runner_port test_jig;
    struct runner_port processes; /* and all runs that the other two do not own */
};

struct runner_port runner_dispatch_port(struct runners *r);
