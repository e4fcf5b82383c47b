/* progress.h - waits until the noderoles of an object are active, and shows the progress.
 *
 * Polls the noderoles and counts them by state, until all are active, or until some are in error
 * and no other one can change any more. On a terminal one line is redrawn; otherwise a line is
 * written whenever the counts have changed. Both go to stderr.
 */
#pragma once

#include "cli/cmd/request.h"

/* CLI_FAILED: noderoles are in error; CLI_TIMEOUT: timeout_ms has passed. Both print the causes. */
enum cli_exit progress_wait(struct cli_request *req, struct str object_path, int64_t timeout_ms);
