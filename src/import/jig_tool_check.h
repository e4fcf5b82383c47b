/* jig_tool_check.h - jigs that cannot work on this machine are switched off, and say why.
 *
 * A jig needs programs here, or a runner that this build does not have. What is missing is the
 * reason of the jig, and of each refusal to bind a role to it. When it is there again the jig is
 * switched on, unless a person switched it off: those have no reason. While the test jig stands in
 * for all of them nothing is looked at.
 */
#pragma once

#include "base/err.h"
#include "model/command.h"

struct core;

struct jig_tool_check_seams {
    void *self;
    err (*submit)(void *self, const struct command *command);
};

/* Look at every jig, and submit what has to change. `path`: where programs are looked for. */
void jig_tool_check_check(const struct core *core, const char *path,
                          struct jig_tool_check_seams seams);
