/* store_admin.h - check, export, import and restore a store. Check and export may run beside a
 * daemon; import and restore need the lock of the data directory.
 *
 * Progress is printed to standard output, errors are logged.
 */
#pragma once

#include "daemon/config/config.h"
#include "daemon/config/data_dir.h"

/* Read the whole store and verify files, records, invariants and digest. Needs no lock. */
enum exit_status store_admin_check(const struct config *c);
/* Copy the store, as of one turn, into the new SQLite file `path`. Needs no lock. */
enum exit_status store_admin_export(const struct config *c, const char *path);
/* The same for any store. Afterwards `path` is a complete and verified copy, or does not exist. */
enum exit_status store_admin_copy_to_file(const char *from_url, const char *path);
/* Remove the empty files that readers leave beside a SQLite file. */
enum exit_status store_admin_remove_beside(const char *path);
/* Fill the store, which must be empty. With `is_restore` a SQLite file must not exist. The caller
 * holds the lock. */
enum exit_status store_admin_fill_store(struct config *c, const char *from_url, bool is_restore);
/* Copy the SQLite file `path` into the store, which must be empty. With `is_restore` there must be
 * no database at all. It takes the lock of the data directory. */
enum exit_status store_admin_restore(struct config *c, const char *path, bool is_restore);
