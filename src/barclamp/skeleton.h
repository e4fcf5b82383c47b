/* skeleton.h - a new barclamp, small and right from the start.
 *
 * Written beside its place and moved there as a whole, so a barclamp is there or not.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"

/* NULL when a barclamp may be called so; otherwise what follows "the name " in a sentence. */
const char *skeleton_check_name(struct str name);

/* Make FOLDER/NAME. ERR_EXISTS: there is something of that name. Any other: errno says why, and
 * nothing is left behind. */
NODISCARD err skeleton_write(struct arena *a, const char *folder, struct str name);

/* One file of it; @NAME@ stands for the name, @SCALAR@ for the name as YAML writes it. */
struct skeleton_file {
    const char *path; /* below the barclamp's own directory; one that ends in '/' is a directory */
    unsigned mode;
    const char *text;
};

/* Directories before what lies in them; ends with a NULL path. */
extern const struct skeleton_file skeleton_files[];
