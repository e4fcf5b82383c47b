/* cmd_log.h - what a run said, in pieces and while it says it. */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit cmd_log_of_run(struct cli_request *e);
enum cli_exit cmd_log_of_noderole(struct cli_request *e); /* of its newest run */
enum cli_exit cmd_log_runs(
    struct cli_request *e); /* the runs of a noderole, with those that are over */
