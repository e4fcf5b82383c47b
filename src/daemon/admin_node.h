/* admin_node.h - the admin node that an installation has from its first start (ADR 0070).
 *
 * In an installation without nodes the daemon asks the core for a node that is its own host. The
 * name is that of the configuration, or the host's own with its domain; the address is that of the
 * configuration, or the one packets to the default route are sent from. Neither asks a name server
 * nor sends a packet.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "daemon/config/config.h"
#include "model/command.h"

struct core;

/* NODE_CREATE, or what an automatic node still lacks: its address and its bootstrap roles. */
enum { ADMIN_NODE_COMMANDS_MAX = 2 };

/* What the core is to be asked for now; 0: nothing. Texts lie in the arena. */
uint32_t admin_node_commands(struct arena *a, const struct core *core, const struct config *config,
                             struct command out_commands[ADMIN_NODE_COMMANDS_MAX]);
