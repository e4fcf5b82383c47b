/* why_boot.h - what keeps the machine of a node from booting, inside the core (why_boot.c). */
#pragma once

#include "core/core_private.h"

/* The first cause of core_why_boot(), without its `next`; false if there is none, for admin nodes,
 * and while no role serves boots. */
bool boot_why(const struct core *c, node_ix n, struct arena *a, struct cause *out_cause);
/* The first MAC above `after` that the machine reports and another node has, as a cause that names
 * that node. Returns the MAC; 0 = none. */
uint64_t boot_why_mac_taken(const struct core *c, node_ix n, uint64_t after, struct arena *a,
                            struct cause *out_cause);
