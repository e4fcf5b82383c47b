/* runners.h - which runner an order goes to.
 *
 * By the class of its jig: code that the role brings goes to the thread of the hooks, everything
 * else to the test jig, which pretends what is its own to pretend and fails the rest with a
 * sentence, since no other jig is built yet. A cancel names no jig; it goes to the one that has
 * the run under way, so that it is answered once.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "port/runner.h"

struct core;
struct transitions;

struct runners {
    void *self;
    const struct core *(*core)(void *self); /* NULL: there is none for now */
    struct transitions *transitions;
    struct runner_port role_code; /* over them */
    struct runner_port test_jig;
};

struct runner_port runners_port(struct runners *r);
/* Is the jig of this name for the test jig to pretend? */
bool runners_is_test(const struct runners *r, struct str jig);
