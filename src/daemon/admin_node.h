/* admin_node.h - the admin node that an installation has from its first start (ADR 0070).
 *
 * In an installation without nodes the daemon creates a node for its own host. The name is that of
 * the configuration, or the host name with its domain; the address is that of the configuration, or
 * the source address of the default route. No name server is queried and no packet is sent.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "daemon/config/config.h"
#include "model/command.h"

struct core;

/* At most the address of an existing automatic node and a NODE_CREATE, which also binds missing
 * bootstrap roles. */
enum { ADMIN_NODE_COMMANDS_MAX = 2 };

/* The commands to submit now. Returns their count. Strings are in the arena. */
uint32_t admin_node_commands(struct arena *a, const struct core *core, const struct config *config,
                             struct command out_commands[ADMIN_NODE_COMMANDS_MAX]);
