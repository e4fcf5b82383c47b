#include "core/network/network_private.h"

/* The roles of a network (`per: network`, catalog/import_per.c) and the addresses of nodes: binding
 * such a role gives the node an address, and a node that gets an address gets the roles.
 *
 * The file owns no rows. Order: bind.c calls network_role_bound() when the row of the noderole
 * exists and before hooks are requested, so that hooks see the address. network_bind_roles() is
 * called after the address was allocated, so the roles that it binds allocate nothing more.
 *
 * Failure: a full range refuses the bind. A role that cannot be bound at all, for example because
 * its jig is not active, is left out by network_bind_roles(): an address must not be refused
 * because of content that cannot run. */

void network_role_bound(struct core *c, role_ix r, node_ix n)
{
    const network_ix w = network_by_id(c, role_at(c, r)->network_id);
    if (w.v && !node_at(c, n)->system && !network_node_has_address(c, w, n))
        network_allocate_default(c, w, n, STR("role_id"));
}

bool network_node_has_address(const struct core *c, network_ix w, node_ix n)
{
    const struct vec *all = &node_at(c, n)->allocations;
    for (uint32_t i = 0; i < all->count; i++)
        if (network_allocation_at(c, (network_allocation_ix){vec_at(c, all, i)})->network.v == w.v)
            return true;
    return false;
}

void network_bind_roles(struct core *c, network_ix w, node_ix n)
{
    for (uint32_t i = 0; i < network_at(c, w)->roles.count && !refused(c); i++) {
        const role_ix r = {vec_at(c, &network_at(c, w)->roles, i)};
        if (noderole_find(c, n, r).v || core_role_unusable(c, role_at(c, r)->o.id, c->arena).len)
            continue;
        bind_role(c, r, n, node_at(c, n)->deployment, STR(""));
    }
}
