/* runner_dispatch.h - which runner an order goes to.
 *
 * By the class of its jig: what is to be pretended goes to the test jig, code that the role brings
 * to the thread of the hooks, and everything else becomes a process. A cancel names no jig, and the
 * jig of a run can become another one while a daemon is down: whoever has begun a run keeps it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"
#include "port/runner_port.h"

struct core;

struct runners {
    void *self;
    const struct core *(*core)(void *self); /* NULL: there is none for now */
    /* Who has this under way, or has had it? */
    bool (*code_has)(void *self, int64_t run_id, uint32_t attempt);
    bool (*test_has)(void *self, int64_t run_id, uint32_t attempt);

    struct runner_port role_code;
    struct runner_port test_jig;
    struct runner_port processes; /* also of what nobody else has: the supervisor may know it */
};

struct runner_port runners_port(struct runners *r);
