/* secret_files.h - files with secrets, for programs that accept a secret in a file only.
 *
 * Each file is in the scratch directory under a random name, with mode 0600, from
 * secret_file_write() to secret_file_remove(). Files that an earlier process left behind are
 * deleted when the hammers are opened, before any file is in use.
 */
#pragma once

#include <stdbool.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

/* Deletes all files of this module. False: the directory does not exist, belongs to another user,
 * or other users have access to it. */
bool secret_file_sweep(const char *directory);
/* The path of a new file with that content; NULL with errno. The path is in the arena. */
const char *secret_file_write(struct arena *a, const char *directory, struct str content);
void secret_file_remove(const char *path); /* NULL is allowed */
