/* runs.h - work: what is open, what is over, what it says.
 *
 * Open runs are read from the core. Those that are over are not there: whoever keeps them is asked
 * through the engine, and the call waits for the answer.
 */
#pragma once

#include "api/call.h"

/* GET runs: those that are open, oldest first. */
enum served serve_runs(struct call *call);
/* GET runs/:id: one of them. */
enum served serve_run(struct call *call);
/* PUT runs/:id/cancel */
enum served serve_run_cancel(struct call *call);
/* GET runs/:id/log: a piece of what it says, from ?offset on. Of one that is over, ?node_role and
 * ?attempt say which. */
enum served serve_run_log(struct call *call);
/* GET node_roles/:id/runs: those that are over, newest first. */
enum served serve_old_runs(struct call *call);

/* The answer for serve_old_runs; makes the reply. */
void runs_told(struct call *call, const struct record *runs, uint32_t count);
