#include "barclamp/skeleton.h"

#include <stddef.h>

/* clang-format off */

static const char barclamp_text[] =
    "# The barclamp @NAME@. `halligan barclamp check` says whether it is right.\n"
    "barclamp:\n"
    "  name: @SCALAR@\n"
    "  description: What @NAME@ is for\n"
    "  version: '0.1'\n"
    "\n"
    "roles:\n"
    "  - name: @NAME@-server\n"
    "    jig: script # runs scripts/@NAME@-server/*.sh on the node\n"
    "    description: Installs @NAME@ on a node\n"
    "    # When the node has its operating system:\n"
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
    "-- What @NAME@-server does besides its scripts. The daemon calls these functions; its\n"
    "-- docs/hooks.md says when, and what they may wish for. Without hooks, remove this file.\n"
    "return {\n"
    "  on_active = function(noderole)\n"
    "    halligan.log('@NAME@ is ready on ' .. noderole.node)\n"
    "  end,\n"
    "}\n";

static const char script_text[] =
    "#!/bin/sh\n"
    "# The scripts of a role are run on its node, by name. The first one that fails ends the run,\n"
    "# and what was printed is in the run's log. A run may come again: say what should be.\n"
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
    "| `scripts/ROLE/*.sh` | what the jig `script` runs on a node, by name |\n"
    "| `templates/` | texts that hooks and scripts fill in |\n"
    "\n"
    "`halligan barclamp check .` in this directory says whether it is right. `halligand\n"
    "--barclamps DIR` loads it; DIR is this directory, or the one it lies in.\n";

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
