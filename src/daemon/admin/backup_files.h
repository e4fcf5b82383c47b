/* backup_files.h - files of a backup: copy durably, compute size and SHA-256, remove.
 *
 * Paths of a manifest are untrusted input: they must pass backup_path_is_safe() first. After a
 * failed call errno has the reason.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define BACKUP_HASH_SIZE 65u /* hexadecimal digits of SHA-256, zero included */

struct backup_measure {
    int64_t size; /* bytes */
    char sha256[BACKUP_HASH_SIZE];
};

/* Relative, without empty parts, "." and "..". */
bool backup_path_is_safe(const char *path);
/* Create the missing directories above `path`, mode 0700. */
NODISCARD err backup_make_parents(const char *path);
/* Copy a regular file into a new one and sync it. */
NODISCARD err backup_copy(const char *from, const char *to, unsigned mode,
                          struct backup_measure *out_measure);
NODISCARD err backup_measure(const char *path, struct backup_measure *out_measure);
/* Sync `path` and all directories below it. */
NODISCARD err backup_sync_tree(const char *path);
NODISCARD err backup_remove_tree(const char *path); /* OK if it does not exist */
