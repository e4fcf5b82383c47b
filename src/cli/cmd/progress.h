/* progress.h - waiting for work, with something to look at.
 *
 * Counts the noderoles of an object by state until all of them are active, or until nothing moves
 * any more because some are in error. On a terminal one line is drawn again and again; elsewhere a
 * line is written whenever the counts have changed. Both go to stderr.
 */
#pragma once

#include "cli/cmd/request.h"

/* CLI_FAILED when work ended in error, CLI_TIMEOUT when it did not end in time. */
enum cli_exit progress_wait(struct cli_request *e, struct str object_path, int64_t timeout_ms);
