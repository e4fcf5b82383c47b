/* jig_tools.h - are the programs there that a jig starts on this machine?
 *
 * Looks at the disk at each call and remembers nothing. A jig without its programs is not active,
 * and says which it lacks.
 */
#pragma once

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "model/reason.h"

#define TOOLS_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* The program, as PATH text finds it; NULL when it is nowhere. Only absolute directories count. */
const char *jig_tools_find(struct arena *a, const char *path, const char *program);
/* Has the class what it needs here? ERR_REFUSED, with a sentence that names the first it lacks. */
NODISCARD err jig_tools_check(struct arena *a, const char *path, struct str jig_class,
                              struct reason *out_why);
