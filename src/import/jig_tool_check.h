/* jig_tool_check.h - deactivates jigs whose programs are missing on this host.
 *
 * A jig (the method that executes a role on a node) needs programs here, or a runner that this
 * build may not have. What is missing is stored as the reason of the jig and shown in refusals to
 * bind a role to it. When the programs are installed, the jig is activated again, unless an
 * operator has deactivated it: such a jig has no reason. With the setting test_jig nothing is
 * checked.
 */
#pragma once

#include "base/err.h"
#include "model/command.h"

struct core;

struct jig_tool_check_callbacks {
    void *self;
    err (*submit)(void *self, const struct command *command);
};

/* Check all jigs and submit changes. `path` is the search path for programs. */
void jig_tool_check_all(const struct core *core, const char *path,
                        struct jig_tool_check_callbacks callbacks);
