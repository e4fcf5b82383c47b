/* backup_files.h - the files of a backup: copied durably, measured, removed.
 *
 * A path that a manifest gives is data from outside: backup_path_is_safe() is asked first. Where a
 * call fails, errno says why.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define BACKUP_HASH_SIZE 65u /* hexadecimal digits of SHA-256, zero included */

struct backup_measure {
    int64_t size;
    char sha256[BACKUP_HASH_SIZE];
};

/* Relative, without empty parts, "." and "..". */
bool backup_path_is_safe(const char *path);
/* The directories above `path` that are not there yet, mode 0700. */
NODISCARD err backup_make_parents(const char *path);
/* Copy a regular file into a new one, whose bytes are on the disk then. */
NODISCARD err backup_copy(const char *from, const char *to, unsigned mode,
                          struct backup_measure *out_measure);
NODISCARD err backup_measure(const char *path, struct backup_measure *out_measure);
/* Bring the entries of all directories below and at `path` to the disk. */
NODISCARD err backup_sync_tree(const char *path);
NODISCARD err backup_remove_tree(const char *path); /* one that is not there is fine */
