/* role_code.h - the compiled Lua file of one role.
 *
 * Each role has a Lua state of its own, so its memory counts against no other role. The file is
 * compiled once and run again for every call, with new globals: a hook cannot keep data between
 * calls, so a restart of the daemon makes no difference. Used by one thread at a time. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem/arena.h"
#include "base/text/str.h"
#include "hooks/sandbox.h"
#include "hooks/task.h"

#define ROLE_CODE_SIZE_MAX (256u << 10) /* bytes of a file */

struct role_code;

/* The functions that a file defines. */
struct role_functions {
    uint32_t hooks; /* mask: 1 << HOOK_... */
    bool has_do_transition;
    struct str unknown; /* other names in its table, separated by commas; they are never called */
};

struct role_source {
    const char *chunk; /* its name in error messages: "dns-server.lua" */
    struct str text;
    struct sandbox_limits limits;
    const atomic_bool *stop; /* as in sandbox.h */
};

/* Compile the file and run it once. ERR_SYNTAX if it does not compile, fails, or does not return a
 * table of functions; ERR_LIMIT if it is too large. *out_text is the reason with the line. Strings
 * are allocated in the arena. */
NODISCARD err role_code_new(const struct role_source *source, struct arena *arena,
                            struct role_code **out_code, struct role_functions *out_functions,
                            struct str *out_text);
void role_code_free(struct role_code *code); /* NULL is ignored */

/* Execute the task: call the function and store the result. */
void role_code_call(struct role_code *code, struct task *task);
