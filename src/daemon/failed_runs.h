/* failed_runs.h - one log line for each run that failed, with a rate limit.
 *
 * An outage of a network fails thousands of runs in a minute: FAILURES_BURST lines are written at
 * once and FAILURES_PER_S in each second after, and suppressed lines are counted in a line of their
 * own. It belongs to the thread of the loop.
 */
#pragma once

#include <stdint.h>

struct command;
struct core;
struct outcome;

enum { FAILURES_BURST = 50, FAILURES_PER_S = 2 };

struct failed_runs {
    int64_t run_id;       /* of the RUN_DONE that is being executed; 0: it fails no run */
    int64_t noderole_id;  /* of that run */
    int64_t credit_milli; /* lines that may be written now, in thousandths of a line */
    int64_t filled_ms;    /* monotonic time at which credit was added last; 0: never */
    uint64_t suppressed;  /* failed runs without a line since the last line */
};

/* Before a step: store which run the command fails, if it does. */
void failed_runs_stepping(struct failed_runs *f, const struct core *core,
                          const struct command *command);
/* After the step: write the line, with the reason that the core stored in the noderole. */
void failed_runs_stepped(struct failed_runs *f, const struct core *core,
                         const struct command *command, const struct outcome *outcome,
                         int64_t mono_ms);
/* A command of a hook was refused; the document of the outcome names hook, role, object and
 * text. */
void failed_runs_log_hook(const struct outcome *outcome);
