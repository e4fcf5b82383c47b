/* run_facts.h - what the core knows of a run that is to become a process: whose role, where its
 * files lie, which machine, how long it may take.
 */
#pragma once

#include <stdbool.h>

#include "base/mem/arena.h"
#include "port/runner_port.h"
#include "run/runner/runner.h"

struct core;

/* False: its noderole is gone. Texts lie in the arena or in the core. */
bool work_facts(const struct core *core, const struct run_order *order, struct arena *a,
                struct runner_facts *out_facts);
