/* jig_tools.h - checks that the programs which a jig starts on this machine are installed.
 *
 * Searches the file system at each call and caches nothing. A jig without its programs is not
 * active, with a reason that names the missing one. */
#pragma once

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "model/reason.h"

#define TOOLS_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* The path of a program, searched as in PATH; NULL if it is not found. Only absolute directories
 * are used. */
const char *jig_tools_find(struct arena *a, const char *path, const char *program);
/* Check that all programs of the jig class are installed. ERR_REFUSED, with a sentence that names
 * the first missing one. */
NODISCARD err jig_tools_check(struct arena *a, const char *path, struct str jig_class,
                              struct reason *out_why);
