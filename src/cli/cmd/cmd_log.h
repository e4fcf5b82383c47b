/* cmd_log.h - what a run said, in pieces and while it says it. */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit logs_of_run(struct errand *e);
enum cli_exit logs_of_noderole(struct errand *e); /* of its newest run */
enum cli_exit logs_runs(struct errand *e); /* the runs of a noderole, with those that are over */
