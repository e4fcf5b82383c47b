/* code_file.h - reads and compiles the Lua file of a role.
 *
 * The file is read, compiled and run once, which takes as long as disk and code need, up to the
 * limits of the source. So it must not be called in the thread of the loop. The module keeps no
 * state. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "hooks/role_code.h"

struct hooks_report {
    struct role_functions functions;
    struct str text; /* the error with file and line; empty if there is none */
    bool has_code;   /* the role has code now, from this file or from before */
};

/* Sets text and chunk of the source. ERR_SYNTAX: the file is invalid; ERR_LIMIT: it is too large;
 * ERR_NOT_FOUND, ERR_IO. Strings of the report are allocated in the arena. */
NODISCARD err code_file_read(struct role_source source, const char *path, struct arena *arena,
                             struct role_code **out_code, struct hooks_report *out_report);
