/* transport.h - how the machine of a node is reached: locally or by ssh, and at which address.
 *
 * The transport is derived from the records of the node, its hammers and its allocations, without
 * any I/O. The fields that belong to the installation (key, known_hosts, control sockets) stay
 * NULL; the caller sets them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "run/jig/launch_spec.h"

struct core;

/* A node with a hammer of class local is the host of the daemon; so is a system node, and an admin
 * node whose ssh hammer has no endpoint. All other nodes are reached by ssh: at the endpoint of
 * their ssh hammer with the highest priority (HOST, HOST:PORT or [V6]:PORT), otherwise at the
 * address of core_node_address(): an allocation, or their name. An endpoint of another form is used
 * as a host name, which ssh then fails to resolve. The strings are in the arena. False: the node
 * does not exist. */
bool transport_of(const struct core *core, int64_t node_id, struct arena *a,
                  struct transport *out_transport);
