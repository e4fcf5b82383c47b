/* node_hammers.h - the hammers of a node as an order for them wants them
 * (power/hammer/hammer_ops.h).
 *
 * An ssh hammer may leave open where its node is, when that is where the node's name leads, and
 * what its host key is, when that is pinned: both are filled in. Without an endpoint it is left out
 * for a node that is reached locally. Texts are those of the core, or lie in the arena.
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

/* None when there is no such node. */
struct node_hammers node_hammers_of(const struct core *core, int64_t node_id, struct arena *a);
