/* node_hammers.h - the hammers (power drivers) of a node, with everything that an order to them
 * needs (power/hammer/hammer_ops.h).
 *
 * Missing values of an ssh hammer are filled in: core_node_address() as the endpoint, and the host
 * key that is pinned for the node. An ssh hammer without an endpoint is left out if the node is
 * reached locally: no order then restarts the machine of the daemon by mistake, and no poll reports
 * a missing endpoint. Hammers of service processors (ipmi, redfish) get no endpoint: the address of
 * the machine is not that of its service processor, and the password must not be sent there.
 * Strings belong to the core or are in the arena.
 */
#pragma once

#include <stdint.h>

#include "base/mem/arena.h"
#include "power/hammer/hammer_ops.h"

struct core;

struct node_hammers {
    struct hammer_bound *at;
    struct str *names;
    uint32_t count;
};

/* The count is 0 if the node does not exist. */
struct node_hammers node_hammers_of(const struct core *core, int64_t node_id, struct arena *a);
