/* check.h - everything that can be said about barclamps without a daemon.
 *
 * Reads directories as a daemon would, asks the engine what it thinks of them, and looks at the
 * files beside them. Changes nothing. The result lies in the arena given.
 */
#pragma once

#include "content/report.h"

struct check {
    struct report report; /* sorted */
    uint32_t barclamps;   /* that an engine would take */
    uint32_t roles;
    bool is_empty; /* there is nothing that looks like a barclamp */
};

/* "DIR[:DIR]"; those of `with` are there too, but nothing is said of them (NULL: none). */
struct check check_barclamps(struct arena *a, const char *directories, const char *with);
