/* backup.h - `halligand backup` and `halligand restore`: a whole installation as one directory.
 *
 * A backup is a directory: the store as the SQLite file store.sqlite, the files of the data
 * directory below data/, the configuration, and manifest.json, which lists every file with its
 * size and SHA-256. Private keys and the first password are included only on request; the manifest
 * lists what was left out. The directory gets its final name when all files are synced.
 *
 * Progress is printed to standard output, errors are logged.
 */
#pragma once

#include <stdbool.h>

#include "daemon/config/config.h"
#include "daemon/config/data_dir.h"

#define BACKUP_STORE  "store.sqlite"
#define BACKUP_CONFIG "halligan.conf"

struct backup_options {
    const char *path;        /* of the backup */
    const char *config_file; /* path of the configuration on this host; need not exist */
    bool with_keys;          /* backup: include private keys and the first password */
    bool keeps_existing;     /* restore: do not overwrite existing files */
};

/* Create the directory `path`, which must not exist. No lock is needed: a daemon may run. */
enum exit_status backup_make(struct config *c, const struct backup_options *o);
/* False: the path is the SQLite file of an export or of an older version. */
bool backup_is_directory(const char *path);
/* Restore all files and the store, and print what is missing. The data directory must be empty,
 * unless existing files are kept; it must not contain a database. After a failure it is as
 * before. */
enum exit_status backup_restore(struct config *c, const struct backup_options *o);
