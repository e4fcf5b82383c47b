/* upkeep.h - what can be done to a store while nobody serves from it, and some of it while
 * somebody does: look whether it is right, and carry it elsewhere.
 *
 * Progress goes to standard output, what is wrong to the log.
 */
#pragma once

#include "daemon/config.h"
#include "daemon/data_dir.h"

/* Read everything, and hold it against what the store says of itself and what must always be true.
 * Needs no lock. */
enum ending upkeep_check(const struct config *c);
/* Copy the store, as of one instant, into the new SQLite file `path`. Needs no lock. */
enum ending upkeep_backup(const struct config *c, const char *path);
/* Copy what `path` holds into the store, which must be empty. With `is_restore` there must be no
 * database at all. Needs the lock. */
enum ending upkeep_restore(struct config *c, const char *path, bool is_restore);
