/* inventory_networks.h - networks and addresses in the inventory of Ansible.
 *
 * Each function writes one JSON object from the current core. Temporary memory is taken from the
 * arena, which the caller resets; nothing is kept.
 */
#pragma once

#include "base/text/buf.h"
#include "core/core.h"

/* {"NETWORK":{"category","group","conduit","vlan","v6prefix","router","ranges"}} of the networks of
 * the deployment. Returns the number of networks that were visited. */
uint32_t inventory_write_networks(const struct core *core, int64_t deployment_id, struct arena *a,
                                  struct buf *out);
/* {"NETWORK":{"RANGE":"ADDRESS"}} of the node. */
void inventory_write_addresses(const struct core *core, int64_t node_id, struct arena *a,
                               struct buf *out);
/* {"NETWORK":"INTERFACE"}: the device that the node has configured for the network, as its run
 * reported it. */
void inventory_write_interfaces(const struct core *core, int64_t node_id, struct arena *a,
                                struct buf *out);
