/* secret_files.h - files with secrets, for programs that take them no other way.
 *
 * Each lies in the scratch directory under a name of its own, readable by us alone, from
 * secret_file_write() to secret_file_remove(). What an earlier life left behind is swept when the
 * room
 * opens: nothing of ours is in use then.
 */
#pragma once

#include <stdbool.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

/* False: there is no such directory, or others may look into it. */
bool secret_file_sweep(const char *directory);
/* The path of a new file with that content; NULL with errno. The path lies in the arena. */
const char *secret_file_write(struct arena *a, const char *directory, struct str content);
void secret_file_remove(const char *path); /* NULL is fine */
