#include "core/network/network_private.h"

/* Routers of networks, at most one for each. This file owns the router rows. The address of a
 * router is in the index of addresses, so that it is not allocated by itself; a node may still have
 * it on request, because a node can be the router.
 *
 * Failure: a command is checked before a row is written. */

enum { PREF_DEFAULT = 65536 };

static struct str router_subject(struct core *c, network_ix w)
{
    return STR_CONCAT(c->arena, STR("NetworkRouter "), text_of(c, network_at(c, w)->name),
                      STR(": "));
}

static void router_set_address(struct core *c, network_router_ix r, struct ip ip)
{
    struct network_router *router = network_router_edit(c, r);
    router->at.ip = ip;
    put_text(c, &router->address, ip_format(c->arena, ip));
    address_add(c, ADDRESS_ROUTER, r.v);
}

network_router_ix network_router_make(struct core *c, network_ix w,
                                      const struct network_router_create_command *p, struct str in)
{
    const struct network *network = network_at(c, w);
    const struct str field = STR_CONCAT(c->arena, in, STR("address"));
    struct ip ip = {0};
    if (network->router.v)
        network_refuse(c, PROBLEM_IN_USE, STR("network_id"), router_subject(c, w),
                       STR("the network has a router already; change or delete that one"));
    if (p->given & GIVEN_ROUTER_ADDRESS)
        network_parse_address(c, p->address, field, router_subject(c, w), &ip);
    else if (network->ranges.count)
        ip = network_range_at(c, (network_range_ix){vec_at(c, &network->ranges, 0)})
                 ->addresses.first;
    else
        network_refuse(c, PROBLEM_NETWORK_INVALID, field, router_subject(c, w),
                       STR("address is required, because the network has no range"));
    const network_router_ix r =
        ip.family == IP_NONE || network->router.v ? (network_router_ix){0} : network_router_add(c);
    if (!r.v)
        return r;
    network_router_edit(c, r)->network = w;
    network_router_edit(c, r)->pref = p->given & GIVEN_ROUTER_PREF ? p->pref : PREF_DEFAULT;
    router_set_address(c, r, ip);
    network_derive(c, w)->router = r;
    return r;
}

void network_router_destroy(struct core *c, network_router_ix r)
{
    const struct ip ip = network_router_at(c, r)->at.ip;
    address_remove(c, ADDRESS_ROUTER, r.v);
    address_freed(c, ip);
    struct network_router *router = network_router_edit(c, r);
    network_derive(c, router->network)->router = (network_router_ix){0};
    put_text(c, &router->address, STR(""));
    core_remove_row(c, TABLE_NETWORK_ROUTER, r.v);
}

/* ---- commands ---- */

void do_network_router_create(struct core *c, const struct network_router_create_command *p)
{
    const network_ix w = network_by_id(c, p->network_id);
    if (!w.v) {
        refuse_missing(c, "network_id", "network", p->network_id);
        return;
    }
    if (network_refuse_deleting(c, w, STR("network_id")))
        return;
    const network_router_ix r = network_router_make(c, w, p, STR(""));
    if (!r.v)
        return;
    c->out->id = network_router_at(c, r)->o.id;
    hooks_network(c, HOOK_NETWORK_CHANGE, w);
}

static network_router_ix router_get_for_command(struct core *c, int64_t id)
{
    const network_router_ix r = network_router_by_id(c, id);
    if (!r.v)
        refuse_missing(c, "id", "network router", id);
    else if (network_refuse_deleting(c, network_router_at(c, r)->network, STR("id")))
        return (network_router_ix){0};
    return r;
}

void do_network_router_update(struct core *c, const struct network_router_update_command *p)
{
    const network_router_ix r = router_get_for_command(c, p->id);
    struct ip ip = {0};
    if (!r.v)
        return;
    const struct str subject = router_subject(c, network_router_at(c, r)->network);
    if (p->given & GIVEN_ROUTER_ADDRESS &&
        !network_parse_address(c, p->address, STR("address"), subject, &ip))
        return;
    c->out->id = p->id;
    const bool is_moved = ip.family != IP_NONE && !ip_eq(ip, network_router_at(c, r)->at.ip);
    const bool has_new_pref =
        p->given & GIVEN_ROUTER_PREF && network_router_at(c, r)->pref != p->pref;
    if (is_moved) {
        const struct ip old = network_router_at(c, r)->at.ip;
        address_remove(c, ADDRESS_ROUTER, r.v);
        router_set_address(c, r, ip);
        address_freed(c, old);
    }
    if (has_new_pref)
        network_router_edit(c, r)->pref = p->pref;
    if (is_moved || has_new_pref)
        hooks_network(c, HOOK_NETWORK_CHANGE, network_router_at(c, r)->network);
}

void do_network_router_delete(struct core *c, const struct network_router_delete_command *p)
{
    const network_router_ix r = router_get_for_command(c, p->id);
    if (!r.v)
        return;
    const network_ix w = network_router_at(c, r)->network;
    c->out->id = p->id;
    network_router_destroy(c, r);
    hooks_network(c, HOOK_NETWORK_CHANGE, w);
}

/* ---- load ---- */

bool network_router_fill(const struct core *c, struct network_router *row,
                         const struct network_router_record *r)
{
    const char *wrong;
    return row->network.v && !network_at(c, row->network)->router.v &&
           ip_parse(r->address, &row->at.ip, &wrong);
}

void network_router_index(struct core *c, network_router_ix r)
{
    network_derive(c, network_router_at(c, r)->network)->router = r;
    address_add(c, ADDRESS_ROUTER, r.v);
}
