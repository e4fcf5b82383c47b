/* run_facts.h - the data of a run that is executed as a process: role, barclamp and its files,
 * node, transport, jig class and deadline.
 */
#pragma once

#include <stdbool.h>

#include "base/mem/arena.h"
#include "port/runner_port.h"
#include "run/runner/runner.h"

struct core;

/* False: its noderole has been deleted. Strings are in the arena or in the core. */
bool run_facts_find(const struct core *core, const struct run_order *order, struct arena *a,
                    struct runner_facts *out_facts);
