/* role_code.h - the Lua file of one role, ready to be called.
 *
 * Each role has a state of its own: what it hoards counts against nobody else. The file is compiled
 * once and run again for every call, with new globals: nothing that a hook leaves behind is there
 * the next time, so it makes no difference whether the daemon was restarted in between. One thread
 * at a time.
 */
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

/* What a file defines. */
struct role_functions {
    uint32_t hooks; /* mask: 1 << HOOK_... */
    bool has_do_transition;
    struct str unknown; /* other names it returns, with commas between; nobody calls them */
};

struct role_source {
    const char *chunk; /* what errors call it: "dns-server.lua" */
    struct str text;
    struct sandbox_limits limits;
    const atomic_bool *stop; /* as in sandbox.h */
};

/* Compile and run it once. ERR_SYNTAX when it does not compile, fails, or returns something else
 * than a table of functions; ERR_LIMIT when it is too large. *out_text says why, with the line.
 * Texts go into the arena. */
NODISCARD err role_code_new(const struct role_source *source, struct arena *arena,
                            struct role_code **out_code, struct role_functions *out_functions,
                            struct str *out_text);
void role_code_free(struct role_code *code); /* NULL is fine */

/* Carry out the task: call the function and fill in what came of it. */
void role_code_call(struct role_code *code, struct task *task);
