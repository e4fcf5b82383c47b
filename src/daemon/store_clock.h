/* store_clock.h - `halligand set-clock`: lower the stamp of a store to the wall clock.
 *
 * The stamp follows a wall clock that is ahead for longer than a minute, and it never decreases by
 * itself. While no daemon runs, this command writes one batch that changes no record: it contains
 * the lower stamp and an event about the change.
 */
#pragma once

#include "daemon/config/config.h"
#include "daemon/config/data_dir.h"

/* Print the change to standard output; errors are logged. A stamp that is not ahead of the wall
 * clock is not changed. */
enum exit_status set_clock(struct config *c);
