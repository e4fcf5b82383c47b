/* cmd_log.h - the verbs log and runs: the output of runs, also while they are running. */
#pragma once

#include "cli/cmd/request.h"

enum cli_exit cmd_log_of_run(struct cli_request *req);
enum cli_exit cmd_log_of_noderole(struct cli_request *req); /* of its newest run */
enum cli_exit cmd_log_runs(struct cli_request *req);        /* the ended runs of a noderole */
