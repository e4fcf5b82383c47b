/* transport.h - how the machine of a node is reached: read off the core, nothing is asked.
 *
 * What belongs to the installation (key, known hosts, sockets) is not known here and stays NULL.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "run/jig/launch_spec.h"

struct core;

/* A hammer of class local means this machine; so does a node of the system's own, and an admin node
 * whose ssh hammer names no other place. All others are reached by ssh: at the endpoint of their
 * ssh hammer (HOST, HOST:PORT, [V6]:PORT; of several the one with the highest priority), or at
 * their own name. An endpoint that is none of these is taken for a name, which ssh will not find.
 * Texts lie in the arena. False: there is no such node. */
bool transport_of(const struct core *core, int64_t node_id, struct arena *a,
                  struct transport *out_transport);
