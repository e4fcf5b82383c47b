/* runs.h - runs (executions of noderoles) and their logs.
 *
 * Open runs are read from the core. Ended runs are in the store: they are queried through the
 * engine, and the call waits for the result.
 */
#pragma once

#include "api/call/call.h"

/* GET node_roles/:id/runs: ended runs, newest first. */
enum handler_result serve_old_runs(struct call *call);
