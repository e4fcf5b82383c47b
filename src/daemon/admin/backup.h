/* backup.h - everything that an installation needs to run again, in one directory, and back.
 *
 * A backup is a directory: the store as the SQLite file store.sqlite, the files of the data
 * directory below data/, the configuration, and manifest.json, which lists every file with its
 * size and SHA-256. Private keys and the first password are in it only when that is asked for;
 * the manifest names what was left out. It gets its name when all of it is on the disk.
 *
 * Progress goes to standard output, what is wrong to the log.
 */
#pragma once

#include <stdbool.h>

#include "daemon/config/config.h"
#include "daemon/config/data_dir.h"

#define BACKUP_STORE  "store.sqlite"
#define BACKUP_CONFIG "halligan.conf"

struct backup_options {
    const char *path;        /* of the backup */
    const char *config_file; /* the configuration's place on this machine, there or not */
    bool with_keys;          /* when it is made */
    bool keeps_existing;     /* when it is restored: files that are there stay */
};

/* Make the directory `path`, which must not exist. Needs no lock: a daemon may run. */
enum ending backup_make(struct config *c, const struct backup_options *o);
/* Is there a directory? Otherwise it is the SQLite file of an export, or of an older version. */
bool backup_is_directory(const char *path);
/* Put everything back and print what is missing. The data directory must be empty, unless what is
 * there is to be kept; there must be no database in any case. After a failure it is as it was. */
enum ending backup_restore(struct config *c, const struct backup_options *o);
