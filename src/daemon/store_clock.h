/* store_clock.h - `halligand set-clock`: lower the stamp of a store to the wall clock.
 *
 * A wall clock that was ahead for longer than a minute has taken the stamp with it, and the stamp
 * never goes back by itself. While no daemon runs, this writes one batch that changes no record: it
 * carries the lower stamp and the event that tells of it.
 */
#pragma once

#include "daemon/config/config.h"
#include "daemon/config/data_dir.h"

/* Says on standard output what was changed; what is wrong goes to the log. A stamp that is not
 * ahead of the wall clock is left as it is. */
enum ending set_clock(struct config *c);
