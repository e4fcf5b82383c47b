#include "boot/dhcp/dhcp_private.h"

#include "base/net/ip.h"

/* Known machines. The reservation of a machine is one of its addresses whose subnet is the
 * segment. One MAC of a node has it at a time: the table of holders keeps which, for the time of
 * the lease that was granted, or of the offer. It is memory only; after a restart the first MAC
 * that asks gets the address, unless an ARP probe finds another MAC of the node with it. */

struct reservation_search {
    uint32_t wanted;
    enum reservation found;
    struct dhcp_binding best;
    uint64_t other_mac; /* IN_USE: that has it */
};

/* The MAC of the node that has the address; 0 if none has. */
static uint64_t dhcp_holder(const struct dhcp_work *w, uint32_t address)
{
    const struct dhcp_entry *e = dhcp_table_find(&w->d->holders, address, w->now_ms);
    return e && w->node && view_machine_of_mac(w->v, e->value) == w->node ? e->value : 0;
}

bool dhcp_holds_reservation(const struct dhcp_work *w, uint32_t address)
{
    return w->node && view_machine_of_address(w->v, address) == w->node &&
           dhcp_holder(w, address) == w->mac;
}

/* The binding of an address of the machine, if it is on this segment. An address that only the hint
 * of the node names has no network: it must be in a subnet of the segment. */
static bool dhcp_bind_address(const struct dhcp_work *w, const struct boot_address *address,
                              struct dhcp_binding *out)
{
    struct ip ip;
    const char *wrong;
    if (!ip_parse(address->address, &ip, &wrong) || ip.family != IP_V4)
        return false;
    *out = (struct dhcp_binding){.address = (uint32_t)ip.lo,
                                 .prefix = ip.prefix,
                                 .network = address->network,
                                 .lease_s = w->v->settings.lease_s};
    if (address->network == 0) {
        const struct view_range *range = view_range_of_subnet(w->v, out->address);
        if (!range)
            return false;
        out->prefix = range->prefix;
        out->network = range->network;
    }
    return ip_is_unicast(ip) && dhcp_link_has(&w->link, out->address, out->prefix);
}

/* Of several reservations on the segment, the wanted one comes first, then the one that this MAC
 * has, then the first one that no other MAC has. */
static void dhcp_weigh_reservation(struct dhcp_work *w, const struct dhcp_binding *binding,
                                   struct reservation_search *search)
{
    const uint64_t holder = dhcp_holder(w, binding->address);
    if (holder && holder != w->mac) {
        if (search->found == RESERVATION_NONE) {
            search->found = RESERVATION_IN_USE;
            search->best = *binding;
            search->other_mac = holder;
        }
        return;
    }
    const bool has_better = search->found == RESERVATION_HERE &&
                            (search->best.address == search->wanted ||
                             (binding->address != search->wanted && holder != w->mac));
    if (!has_better) {
        search->found = RESERVATION_HERE;
        search->best = *binding;
    }
}

enum reservation dhcp_find_reservation(struct dhcp_work *w, uint32_t wanted,
                                       struct dhcp_binding *out)
{
    struct reservation_search search = {.wanted = wanted};
    for (uint32_t i = 0; i < w->machine.address_count; i++) {
        struct dhcp_binding binding;
        if (dhcp_bind_address(w, &w->machine.addresses[i], &binding))
            dhcp_weigh_reservation(w, &binding, &search);
    }
    if (search.found == RESERVATION_NONE)
        dhcp_observe(w, DHCP_OBSERVED_NO_RESERVATION, 0);
    if (search.found == RESERVATION_IN_USE) {
        struct dhcp_action *action =
            dhcp_observe(w, DHCP_OBSERVED_RESERVATION_IN_USE, search.best.address);
        if (action)
            action->other_mac = search.other_mac;
    }
    *out = search.best;
    return search.found;
}

/* The offer reserves the address for this MAC for a short time, so that two MACs of a node that
 * start together do not both get it. A MAC that has it is not probed for: it may be the one that
 * answers. A segment behind a relay cannot be probed. */
enum dhcp_result dhcp_offer_reservation(struct dhcp_work *w, const struct dhcp_binding *binding)
{
    struct dhcp *d = w->d;
    const struct dhcp_entry *probe = dhcp_table_find(&d->probes, binding->address, w->now_ms);
    const bool is_held = dhcp_holder(w, binding->address) == w->mac;
    if (probe && probe->value == PROBE_CONFLICT)
        return DHCP_RESULT_CONFLICT;
    if (!probe && !is_held && !w->link.is_remote) {
        dhcp_wait(w, DHCP_PROBE, binding);
        return DHCP_RESULT_PROBING;
    }
    if (!is_held)
        dhcp_table_put(&d->holders, binding->address, w->now_ms + OFFER_MS)->value = w->mac;
    dhcp_send_reply(w, DHCPOFFER, binding);
    return DHCP_RESULT_OFFERED;
}

enum dhcp_result dhcp_grant_reservation(struct dhcp_work *w, const struct dhcp_binding *binding)
{
    const int64_t ends_ms = w->now_ms + (int64_t)binding->lease_s * 1000;
    dhcp_table_put(&w->d->holders, binding->address, ends_ms)->value = w->mac;
    dhcp_drop_offer(w);
    dhcp_send_reply(w, DHCPACK, binding);
    return DHCP_RESULT_ACKED;
}
