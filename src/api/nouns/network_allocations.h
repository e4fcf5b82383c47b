/* network_allocations.h - routes of networks and nodes about addresses of nodes. */
#pragma once

#include "api/call/call.h"
#include "api/call/params_schema.h"

/* GET networks/N/allocations?node=: the allocations of the network. */
enum handler_result serve_network_allocations(struct call *call);
/* POST networks/N/allocate_ip */
enum handler_result serve_network_allocate(struct call *call);
extern const struct params_schema network_allocate_params;
/* DELETE networks/N/deallocate_ip */
enum handler_result serve_network_deallocate(struct call *call);
extern const struct params_schema network_deallocate_params;
/* GET nodes/N/addresses */
enum handler_result serve_node_addresses(struct call *call);
