/* failed_runs.h - one line of the log for each run that failed.
 *
 * A fleet whose network breaks fails thousands of runs in a minute: FAILURES_BURST lines are
 * written at once and FAILURES_PER_S in each second after, and what was not written is counted in a
 * line of its own. It belongs to the loop's thread.
 */
#pragma once

#include <stdint.h>

struct command;
struct core;
struct outcome;

enum { FAILURES_BURST = 50, FAILURES_PER_S = 2 };

struct failed_runs {
    int64_t run_id;      /* of the RUN_DONE that is being stepped; 0: it fails no run */
    int64_t noderole_id; /* of that run */
    int64_t lines;       /* that may be written now, in thousandths */
    int64_t filled_ms;   /* when that was counted last */
    uint64_t left_out;   /* since the last line */
};

/* A command is about to be stepped: if it fails a run, which one that is. */
void failed_runs_stepping(struct failed_runs *f, const struct core *core,
                          const struct command *command);
/* It was stepped; the noderole says what came of it. */
void failed_runs_stepped(struct failed_runs *f, const struct core *core,
                         const struct command *command, const struct outcome *outcome,
                         int64_t mono_ms);
/* A hook asked for something that was refused; the outcome says which hook and what. */
void failed_runs_of_hook(const struct outcome *outcome);
