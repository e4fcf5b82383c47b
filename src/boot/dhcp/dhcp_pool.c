#include "boot/dhcp/dhcp_private.h"

#include "model/network_record.h"

/* Machines without a reservation on the segment: unknown ones, other MACs of a node whose
 * reservation is in use, and nodes without an address there.
 *
 * A lease is stored for four lease times and renewed from memory while two are left, so that most
 * renewals need no daemon. Everything else is taken from the daemon first, which makes the lease
 * durable before the client gets its ACK. */

enum { RENEW_BELOW = 2 };

bool dhcp_has_foreign(const struct dhcp_work *w)
{
    const struct dhcp_port *port = dhcp_port(w->d, w->packet->slot);
    if (w->link.is_remote || !port)
        return false;
    const struct str name = {port->name, port->name_len};
    bool has_foreign = false;
    for (uint32_t i = 0; i < DHCP_FOREIGN_MAX; i++)
        has_foreign |= port->foreign[i].address != 0;
    return has_foreign && !boot_settings_accept_foreign(&w->v->settings, name);
}

bool dhcp_find_lease(const struct dhcp_work *w, uint32_t address, struct view_lease *out)
{
    return view_lease_of_address(w->v, address, out) && out->state == LEASE_LIVE &&
           out->mac == w->mac && out->ends_ms > w->now_ms;
}

/* A live lease of any address. */
static bool dhcp_has_lease(const struct dhcp_work *w)
{
    struct view_lease lease;
    for (int64_t id = 0; view_next_lease_of_mac(w->v, w->mac, id, &lease); id = lease.id)
        if (lease.ends_ms > w->now_ms)
            return true;
    return false;
}

bool dhcp_is_eligible(const struct dhcp_work *w, int64_t network)
{
    switch (dhcp_network_settings(w->v, network)->dhcp_unknown) {
    case DHCP_UNKNOWN_ALL: return true;
    case DHCP_UNKNOWN_PXE: return w->client.is_boot || dhcp_has_lease(w);
    case DHCP_UNKNOWN_NONE: break;
    }
    return false;
}

bool dhcp_pool_binding(const struct dhcp_work *w, uint32_t address, struct dhcp_binding *out)
{
    for (uint32_t i = 0; i < w->v->range_count; i++) {
        const struct view_range *range = &w->v->ranges[i];
        if (!range->is_pool || !range->is_admin || address < range->first ||
            address > range->last || !dhcp_link_has(&w->link, address, range->prefix))
            continue;
        *out = (struct dhcp_binding){.address = address,
                                     .prefix = range->prefix,
                                     .network = range->network,
                                     .range = range->id,
                                     .lease_s = w->v->settings.pool_lease_s};
        return true;
    }
    return false;
}

/* Leases belong to unknown machines, apart from few nodes. The limit keeps a host that invents MACs
 * from filling the store with leases. */
static bool dhcp_pool_is_exhausted(const struct dhcp_work *w)
{
    return !w->node && view_live_leases(w->v) >= w->v->settings.unknown_max;
}

/* ---- DISCOVER ---- */

/* The live lease of the client on this segment. */
static bool dhcp_find_own_lease(const struct dhcp_work *w, struct dhcp_binding *out)
{
    struct view_lease lease;
    for (int64_t id = 0; view_next_lease_of_mac(w->v, w->mac, id, &lease); id = lease.id)
        if (lease.ends_ms > w->now_ms && dhcp_pool_binding(w, lease.address, out) &&
            dhcp_is_eligible(w, out->network))
            return true;
    return false;
}

/* True if a pool of the segment answers the client. */
static bool dhcp_may_offer(const struct dhcp_work *w)
{
    for (uint32_t i = 0; i < w->v->range_count; i++) {
        const struct view_range *range = &w->v->ranges[i];
        struct dhcp_binding binding;
        if (range->is_pool && dhcp_link_has(&w->link, range->first, range->prefix) &&
            dhcp_pool_binding(w, range->first, &binding) && dhcp_is_eligible(w, range->network))
            return true;
    }
    return false;
}

enum dhcp_result dhcp_offer_pool(struct dhcp_work *w)
{
    struct dhcp_binding binding;
    if (dhcp_has_foreign(w))
        return DHCP_RESULT_NOT_SERVED;
    if (dhcp_find_own_lease(w, &binding)) {
        dhcp_send_reply(w, DHCPOFFER, &binding);
        return DHCP_RESULT_OFFERED;
    }
    if (!dhcp_may_offer(w))
        return DHCP_RESULT_NOT_ELIGIBLE;
    if (dhcp_pool_is_exhausted(w) || !dhcp_pick_candidate(w, &binding)) {
        dhcp_observe(w, DHCP_OBSERVED_POOL_FULL, 0);
        return DHCP_RESULT_POOL_FULL;
    }
    /* The offer is kept already while the address is probed: no other client gets it. */
    dhcp_keep_offer(w, binding.address);
    if (!w->link.is_remote && !dhcp_table_find(&w->d->probes, binding.address, w->now_ms)) {
        dhcp_wait(w, DHCP_PROBE, &binding);
        return DHCP_RESULT_PROBING;
    }
    dhcp_send_reply(w, DHCPOFFER, &binding);
    return DHCP_RESULT_OFFERED;
}

/* ---- REQUEST ---- */

static enum dhcp_result dhcp_grant_lease(struct dhcp_work *w, const struct dhcp_binding *binding)
{
    dhcp_table_put(&w->d->former, w->mac, w->now_ms + FORMER_MS)->value = binding->address;
    dhcp_send_reply(w, DHCPACK, binding);
    return DHCP_RESULT_ACKED;
}

static enum dhcp_result dhcp_take_lease(struct dhcp_work *w, const struct dhcp_binding *binding)
{
    dhcp_wait(w, DHCP_TAKE, binding);
    return DHCP_RESULT_TAKING;
}

/* The address was offered to the client; or it selects this server, which no longer has the offer,
 * because it was restarted or the table of offers was full. A client that has another address gets
 * only what it was offered. */
static bool dhcp_may_take(const struct dhcp_work *w, uint32_t wanted, bool has_other,
                          struct dhcp_binding *out)
{
    const bool is_selecting = dhcp_has(&w->m, DHCP_OPTION_SERVER) && !has_other;
    return (is_selecting || dhcp_offered_address(w) == wanted) && !dhcp_has_foreign(w) &&
           !dhcp_pool_is_exhausted(w) && dhcp_is_candidate(w, wanted, out);
}

enum dhcp_result dhcp_request_pool(struct dhcp_work *w, uint32_t wanted)
{
    struct dhcp_binding binding;
    struct view_lease lease;
    const bool has_binding = dhcp_pool_binding(w, wanted, &binding);
    if (has_binding && dhcp_find_lease(w, wanted, &lease)) {
        if (!dhcp_is_eligible(w, binding.network))
            return DHCP_RESULT_NOT_ELIGIBLE;
        const int64_t enough_ms = (int64_t)binding.lease_s * 1000 * RENEW_BELOW;
        return lease.ends_ms - w->now_ms >= enough_ms ? dhcp_grant_lease(w, &binding)
                                                      : dhcp_take_lease(w, &binding);
    }
    const bool has_other = w->node || dhcp_has_lease(w);
    if (dhcp_may_take(w, wanted, has_other, &binding))
        return dhcp_take_lease(w, &binding);
    if (has_other) {
        dhcp_send_nak(w);
        return DHCP_RESULT_NAKED;
    }
    if (dhcp_has_foreign(w))
        return DHCP_RESULT_NOT_SERVED;
    return has_binding && !dhcp_is_eligible(w, binding.network) ? DHCP_RESULT_NOT_ELIGIBLE
                                                                : DHCP_RESULT_NO_LEASE;
}

/* A refused address is not offered again for a short time: the daemon knows a user of it that the
 * view does not have. While the daemon is away, a live lease is still renewed for the time that it
 * has left. */
enum dhcp_result dhcp_finish_take(struct dhcp_work *w, const struct dhcp_binding *binding,
                                  enum dhcp_take take)
{
    struct view_lease lease;
    struct dhcp_binding given = *binding;
    if (take == DHCP_TAKE_REFUSED) {
        dhcp_drop_offer(w);
        dhcp_table_remove(&w->d->former, w->mac);
        dhcp_note_probe(w->d, given.address, PROBE_CONFLICT, w->now_ms);
        dhcp_observe(w, DHCP_OBSERVED_LEASE_REFUSED, given.address);
        dhcp_send_nak(w);
        return DHCP_RESULT_NAKED;
    }
    if (take == DHCP_TAKE_AWAY) {
        if (!dhcp_find_lease(w, given.address, &lease))
            return DHCP_RESULT_DAEMON_AWAY;
        const int64_t left_s = (lease.ends_ms - w->now_ms) / 1000;
        if (left_s < 1)
            return DHCP_RESULT_DAEMON_AWAY;
        given.lease_s = left_s < given.lease_s ? (uint32_t)left_s : given.lease_s;
    }
    return dhcp_grant_lease(w, &given);
}
