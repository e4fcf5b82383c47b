#include "barclamp/skeleton.h"

#include <stddef.h>

/* The texts of a new barclamp, and the list of its files. Constants; skeleton.c expands and writes
 * them. A directory must come before its files, because entries are created in this order. */

/* clang-format off */

static const char barclamp_text[] =
    "# The barclamp @NAME@. `halligan barclamp check` checks it.\n"
    "barclamp:\n"
    "  name: @SCALAR@\n"
    "  description: What @NAME@ is for\n"
    "  version: '0.1'\n"
    "\n"
    "roles:\n"
    "  - name: @NAME@-server\n"
    "    jig: script # runs scripts/@NAME@-server/*.sh on the node\n"
    "    description: Installs @NAME@ on a node\n"
    "    # To run after the operating system is installed:\n"
    "    # requires:\n"
    "    #   - crowbar-installed-node\n"
    "    attribs:\n"
    "      - name: @NAME@-port\n"
    "        description: The port that @NAME@ listens on\n"
    "        map: @NAME@/port\n"
    "        default: 8080\n"
    "        schema:\n"
    "          type: int\n"
    "          required: true\n";

static const char lua_text[] =
    "-- Hooks of @NAME@-server: functions that the daemon calls for events. docs/hooks.md lists\n"
    "-- the events and the commands that a hook can return. Without hooks, remove this file.\n"
    "return {\n"
    "  on_active = function(noderole)\n"
    "    halligan.log('@NAME@ is ready on ' .. noderole.node)\n"
    "  end,\n"
    "}\n";

static const char script_text[] =
    "#!/bin/sh\n"
    "# The scripts of a role are run on its node, in the order of their names. The first failure\n"
    "# ends the run; the output is in the log of the run. Runs are repeated: be idempotent.\n"
    "set -eu\n"
    "\n"
    "mkdir -p /var/lib/@NAME@\n";

static const char readme_text[] =
    "# @NAME@\n"
    "\n"
    "A barclamp for Halligan.\n"
    "\n"
    "| file | |\n"
    "|---|---|\n"
    "| `@NAME@.yml` | its roles and attribs |\n"
    "| `roles/ROLE.lua` | hooks of a role |\n"
    "| `scripts/ROLE/*.sh` | scripts that the jig `script` runs on a node, in order of names |\n"
    "| `templates/` | templates for hooks and scripts |\n"
    "\n"
    "`halligan barclamp check .` in this directory checks it. `halligand --barclamps DIR` loads\n"
    "it; DIR is this directory or its parent directory.\n";

const struct skeleton_file skeleton_files[] = {
    {"@NAME@.yml",                          0666, barclamp_text},
    {"README.md",                           0666, readme_text},
    {"roles/",                              0777, NULL},
    {"roles/@NAME@-server.lua",             0666, lua_text},
    {"scripts/",                            0777, NULL},
    {"scripts/@NAME@-server/",              0777, NULL},
    {"scripts/@NAME@-server/10-install.sh", 0777, script_text},
    {"templates/",                          0777, NULL},
    {NULL,                                  0,    NULL},
};
