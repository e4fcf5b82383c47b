/* store_admin.h - what can be done to a store while nobody serves from it, and some of it while
 * somebody does: look whether it is right, and carry it elsewhere.
 *
 * Progress goes to standard output, what is wrong to the log.
 */
#pragma once

#include "daemon/config/config.h"
#include "daemon/config/data_dir.h"

/* Read everything, and hold it against what the store says of itself and what must always be true.
 * Needs no lock. */
enum ending store_admin_check(const struct config *c);
/* Copy the store, as of one instant, into the new SQLite file `path`. Needs no lock. */
enum ending store_admin_export(const struct config *c, const char *path);
/* The same of any store. The path holds nothing, or a whole copy that was read back. */
enum ending store_admin_copy_to_file(const char *from_url, const char *path);
/* Remove the empty files that readers leave beside a SQLite file. */
enum ending store_admin_remove_beside(const char *path);
/* Fill the store, which must be empty. With `is_restore` a SQLite file must not exist. The lock is
 * held. */
enum ending store_admin_fill_store(struct config *c, const char *from_url, bool is_restore);
/* Copy what `path` holds into the store, which must be empty. With `is_restore` there must be no
 * database at all. Needs the lock. */
enum ending store_admin_restore(struct config *c, const char *path, bool is_restore);
