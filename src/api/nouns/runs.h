/* runs.h - work: what is open, what is over, what it says.
 *
 * Open runs are read from the core. Those that are over are not there: whoever keeps them is asked
 * through the engine, and the call waits for the answer.
 */
#pragma once

#include "api/call/call.h"

/* GET node_roles/:id/runs: those that are over, newest first. */
enum handler_result serve_old_runs(struct call *call);
