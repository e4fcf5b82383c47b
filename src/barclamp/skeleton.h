/* skeleton.h - writes a new barclamp: a small, valid package of content as a starting point.
 *
 * The directory is written under a temporary name and then renamed, so that it is either complete
 * or does not exist.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"

/* NULL for a valid name; otherwise the error, which continues the sentence "the name ...". */
const char *skeleton_check_name(struct str name);

/* Create FOLDER/NAME. ERR_EXISTS: the path exists already. Any other error: errno has the reason,
 * and everything written was removed. */
NODISCARD err skeleton_write(struct arena *a, const char *folder, struct str name);

/* A file or directory of the skeleton. In path and text, @NAME@ is replaced by the name, @SCALAR@
 * by the name as a YAML scalar. */
struct skeleton_file {
    const char *path; /* below the directory of the barclamp; a directory ends in '/' */
    unsigned mode;
    const char *text;
};

/* A directory comes before its files; the list ends with a NULL path. */
extern const struct skeleton_file skeleton_files[];
