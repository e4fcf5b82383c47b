/* code_file.h - the Lua file of a role, from the disk to code that can be called.
 *
 * It reads, compiles and runs the file once, which takes as long as disk and code please: up to the
 * limits of the source. So it is for threads that nobody waits for, and never for that of the loop.
 * It knows no role and keeps nothing.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "hooks/role_code.h"

struct hooks_report {
    struct role_functions functions;
    struct str text; /* what is wrong, with file and line; empty when nothing is */
    bool has_code;   /* there is code to be called now, from this file or from before */
};

/* Text and chunk of the source are filled in here. ERR_SYNTAX: the file is wrong; ERR_LIMIT: it is
 * too large; ERR_NOT_FOUND, ERR_IO. Texts of the report go into the arena. */
NODISCARD err code_file_read(struct role_source source, const char *path, struct arena *arena,
                             struct role_code **out_code, struct hooks_report *out_report);
