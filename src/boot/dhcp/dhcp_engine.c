#include "boot/dhcp/dhcp_engine.h"

#include <string.h>

#include "base/err.h"
#include "boot/dhcp/dhcp_private.h"

/* This file owns the state of the server and the order in which a packet is examined: form,
 * service, segment, client, message type. The result of each packet is counted once for each time
 * it is handled: a DISCOVER that waits for a probe is counted as "probing" and later as "offer".
 *
 * A request that waits is kept as its packet. When the result of a probe comes, the result is
 * remembered and the packet is handled again from the start, so a change of the view in the
 * meantime counts. The answer of the daemon is final, and only the reply is built again. */

static const char *const type_names[] = {
#define T(upper, name) name,
    DHCP_TYPES(T)
#undef T
};
static const char *const result_names[] = {
#define R(upper, name) name,
    DHCP_RESULTS(R)
#undef R
};
static const char *const observation_names[] = {
#define O(upper, name) name,
    DHCP_OBSERVATIONS(O)
#undef O
};

const char *dhcp_type_name(enum dhcp_type type)
{
    must(type < DHCP_TYPE_COUNT);
    return type_names[type];
}

const char *dhcp_result_name(enum dhcp_result result)
{
    must(result < DHCP_RESULT_COUNT);
    return result_names[result];
}

const char *dhcp_observation_name(enum dhcp_observation observation)
{
    must(observation < DHCP_OBSERVATION_COUNT);
    return observation_names[observation];
}

/* ---- state ---- */

void dhcp_init(struct dhcp *d, const struct dhcp_setup *setup)
{
    memset(d, 0, sizeof *d);
    d->setup = *setup;
    d->setup.files = NULL;
    undo_init(&d->undo);
    heap_init(&d->heap, &d->undo);
    prng_init(&d->prng, setup->seed);
    for (uint32_t i = 0; i < setup->file_count && d->file_count < DHCP_FILES_MAX; i++) {
        const struct dhcp_file *file = &setup->files[i];
        if (file->name.len > 0 && file->name.len <= DHCP_FILE_NAME_MAX)
            d->files[d->file_count++] =
                (struct dhcp_file){file->arch, str_copy(&d->arena, file->name)};
    }
    dhcp_table_init(&d->offers, &d->heap, &d->arena, DHCP_OFFERS_MAX);
    dhcp_table_init(&d->offered_addresses, &d->heap, &d->arena, DHCP_OFFERS_MAX);
    dhcp_table_init(&d->holders, &d->heap, &d->arena, DHCP_HOLDERS_MAX);
    dhcp_table_init(&d->probes, &d->heap, &d->arena, DHCP_MEMORY_MAX);
    dhcp_table_init(&d->former, &d->heap, &d->arena, DHCP_MEMORY_MAX);
    dhcp_table_init(&d->booting, &d->heap, &d->arena, DHCP_MEMORY_MAX);
    dhcp_table_init(&d->observed, &d->heap, &d->arena, DHCP_OBSERVED_MAX);
    dhcp_table_init(&d->pending, &d->heap, &d->arena, DHCP_PENDING_MAX);
    d->declines_ms = INT64_MIN / 2;
}

void dhcp_fini(struct dhcp *d)
{
    heap_fini(&d->heap);
    undo_fini(&d->undo);
    arena_fini(&d->arena);
}

struct dhcp_port *dhcp_port(struct dhcp *d, uint32_t slot)
{
    return slot < DHCP_INTERFACES_MAX && d->ports[slot].is_used ? &d->ports[slot] : NULL;
}

void dhcp_set_interface(struct dhcp *d, const struct dhcp_interface *interface)
{
    must(interface->slot < DHCP_INTERFACES_MAX);
    struct dhcp_port *port = &d->ports[interface->slot];
    struct dhcp_port now = {.is_used = true,
                            .mac = interface->mac,
                            .mtu = interface->mtu,
                            .forwards_v6 = interface->forwards_v6};
    const struct str name = str_slice(interface->name, 0, DHCP_NAME_MAX);
    now.name_len = name.len;
    if (name.len)
        memcpy(now.name, name.at, name.len);
    while (now.address_count < interface->address_count && now.address_count < DHCP_ADDRESSES_MAX) {
        now.addresses[now.address_count] = interface->addresses[now.address_count];
        now.address_count++;
    }
    bool is_same = port->is_used && port->mac == now.mac && port->name_len == now.name_len &&
                   memcmp(port->name, now.name, now.name_len) == 0 &&
                   port->address_count == now.address_count;
    for (uint32_t i = 0; i < now.address_count && is_same; i++)
        is_same = port->addresses[i].address == now.addresses[i].address &&
                  port->addresses[i].prefix == now.addresses[i].prefix;
    if (is_same) {
        port->mtu = now.mtu;
        port->forwards_v6 = now.forwards_v6;
    } else {
        *port = now;
    }
}

void dhcp_remove_interface(struct dhcp *d, uint32_t slot)
{
    if (slot < DHCP_INTERFACES_MAX)
        d->ports[slot] = (struct dhcp_port){0};
}

bool dhcp_is_own_address(const struct dhcp *d, uint32_t address)
{
    for (uint32_t i = 0; i < DHCP_INTERFACES_MAX; i++)
        for (uint32_t j = 0; j < d->ports[i].address_count; j++)
            if (d->ports[i].addresses[j].address == address)
                return true;
    return false;
}

/* ---- actions and tables ---- */

struct dhcp_action *dhcp_add_action(struct dhcp_out *out, enum dhcp_action_kind kind, uint32_t slot)
{
    struct dhcp_action *action = arena_new(out->arena, struct dhcp_action);
    action->kind = kind;
    action->slot = slot;
    if (out->last)
        out->last->next = action;
    else
        out->first = action;
    out->last = action;
    return action;
}

/* A key of the table of observations: a mixture of all that identifies one. */
static uint64_t dhcp_observed_key(const struct dhcp_work *w, enum dhcp_observation observation,
                                  uint32_t address)
{
    uint64_t key = w->mac | (uint64_t)observation << 48 | (uint64_t)w->packet->slot << 56;
    key = (key ^ key >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return (key ^ address ^ key >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

struct dhcp_action *dhcp_observe(struct dhcp_work *w, enum dhcp_observation observation,
                                 uint32_t address)
{
    struct dhcp_table *observed = &w->d->observed;
    const uint64_t key = dhcp_observed_key(w, observation, address);
    if (dhcp_table_find(observed, key, w->now_ms))
        return NULL;
    dhcp_table_put(observed, key, w->now_ms + OBSERVED_MS);
    struct dhcp_action *action = dhcp_add_action(w->out, DHCP_OBSERVE, w->packet->slot);
    action->observation = observation;
    action->address = address;
    action->mac = w->mac;
    action->node = w->node;
    return action;
}

/* An offer is in two tables. Entries of one without the other are not offers. */
uint32_t dhcp_offered_address(const struct dhcp_work *w)
{
    const struct dhcp_entry *offer = dhcp_table_find(&w->d->offers, w->mac, w->now_ms);
    const struct dhcp_entry *address =
        offer ? dhcp_table_find(&w->d->offered_addresses, offer->value, w->now_ms) : NULL;
    return address && address->value == w->mac ? (uint32_t)address->key : 0;
}

void dhcp_drop_offer(struct dhcp_work *w)
{
    const uint32_t address = dhcp_offered_address(w);
    if (address)
        dhcp_table_remove(&w->d->offered_addresses, address);
    dhcp_table_remove(&w->d->offers, w->mac);
}

void dhcp_keep_offer(struct dhcp_work *w, uint32_t address)
{
    if (dhcp_offered_address(w) != address)
        dhcp_drop_offer(w);
    dhcp_table_put(&w->d->offers, w->mac, w->now_ms + OFFER_MS)->value = address;
    dhcp_table_put(&w->d->offered_addresses, address, w->now_ms + OFFER_MS)->value = w->mac;
}

void dhcp_note_probe(struct dhcp *d, uint32_t address, enum probe_result result, int64_t now_ms)
{
    const int64_t time_ms = result == PROBE_CLEAR ? PROBE_CLEAR_MS : PROBE_CONFLICT_MS;
    dhcp_table_put(&d->probes, address, now_ms + time_ms)->value = result;
}

/* ---- messages ---- */

/* The server that the client names is not ours. */
static bool dhcp_names_other_server(const struct dhcp_work *w)
{
    const uint32_t server = dhcp_get_number(&w->m, DHCP_OPTION_SERVER);
    return dhcp_has(&w->m, DHCP_OPTION_SERVER) && server != w->packet->local &&
           !dhcp_is_own_address(w->d, server);
}

static enum dhcp_result dhcp_do_discover(struct dhcp_work *w)
{
    struct dhcp_binding binding;
    const uint32_t wanted = dhcp_get_number(&w->m, DHCP_OPTION_REQUESTED_ADDRESS);
    if (w->node && dhcp_find_reservation(w, wanted, &binding) == RESERVATION_HERE)
        return dhcp_offer_reservation(w, &binding);
    return dhcp_offer_pool(w);
}

/* SELECTING names a server; INIT-REBOOT has option 50 without one; RENEWING and REBINDING have the
 * address of the client in ciaddr. */
static enum dhcp_result dhcp_do_request(struct dhcp_work *w)
{
    const bool has_wanted = dhcp_has(&w->m, DHCP_OPTION_REQUESTED_ADDRESS);
    const uint32_t wanted =
        has_wanted ? dhcp_get_number(&w->m, DHCP_OPTION_REQUESTED_ADDRESS) : w->m.head.ciaddr;
    if (!wanted)
        return DHCP_RESULT_MALFORMED;
    if (dhcp_names_other_server(w)) {
        dhcp_drop_offer(w);
        return DHCP_RESULT_OTHER_SERVER;
    }
    struct dhcp_binding binding;
    if (w->node && dhcp_find_reservation(w, wanted, &binding) == RESERVATION_HERE) {
        if (binding.address == wanted)
            return dhcp_grant_reservation(w, &binding);
        dhcp_send_nak(w);
        return DHCP_RESULT_NAKED;
    }
    return dhcp_request_pool(w, wanted);
}

/* A client can only decline what it has, and only so often, because each decline takes an address
 * out of use for an hour. */
static bool dhcp_may_decline(struct dhcp_work *w)
{
    struct dhcp *d = w->d;
    if (d->declines_ms < w->now_ms - (int64_t)DECLINE_BURST * DECLINE_MS)
        d->declines_ms = w->now_ms - (int64_t)DECLINE_BURST * DECLINE_MS;
    if (d->declines_ms + DECLINE_MS > w->now_ms)
        return false;
    d->declines_ms += DECLINE_MS;
    return true;
}

static enum dhcp_result dhcp_do_decline(struct dhcp_work *w)
{
    const uint32_t address = dhcp_get_number(&w->m, DHCP_OPTION_REQUESTED_ADDRESS);
    struct view_lease lease;
    struct dhcp_binding binding;
    if (!address)
        return DHCP_RESULT_MALFORMED;
    if (dhcp_names_other_server(w))
        return DHCP_RESULT_OTHER_SERVER;
    const bool is_reservation = dhcp_holds_reservation(w, address);
    const bool is_leased = dhcp_find_lease(w, address, &lease);
    if (!is_reservation && !is_leased && dhcp_offered_address(w) != address)
        return DHCP_RESULT_NO_LEASE;
    if (!dhcp_may_decline(w))
        return DHCP_RESULT_LIMITED;
    if (is_reservation)
        dhcp_table_remove(&w->d->holders, address);
    else if (dhcp_pool_binding(w, address, &binding)) {
        struct dhcp_action *action = dhcp_add_action(w->out, DHCP_DECLINE, w->packet->slot);
        action->address = address;
        action->mac = w->mac;
        action->range = binding.range;
    }
    dhcp_drop_offer(w);
    dhcp_table_remove(&w->d->former, w->mac);
    dhcp_note_probe(w->d, address, PROBE_CONFLICT, w->now_ms);
    dhcp_observe(w, DHCP_OBSERVED_DECLINED, address);
    return DHCP_RESULT_ACCEPTED;
}

static enum dhcp_result dhcp_do_release(struct dhcp_work *w)
{
    const uint32_t address = w->m.head.ciaddr;
    struct view_lease lease;
    if (!address)
        return DHCP_RESULT_MALFORMED;
    if (dhcp_names_other_server(w))
        return DHCP_RESULT_OTHER_SERVER;
    if (dhcp_holds_reservation(w, address)) {
        dhcp_table_remove(&w->d->holders, address);
        return DHCP_RESULT_ACCEPTED;
    }
    if (!dhcp_find_lease(w, address, &lease))
        return DHCP_RESULT_NO_LEASE;
    dhcp_drop_offer(w);
    struct dhcp_action *action = dhcp_add_action(w->out, DHCP_RELEASE, w->packet->slot);
    action->address = address;
    action->mac = w->mac;
    action->range = lease.range;
    return DHCP_RESULT_ACCEPTED;
}

/* The client has an address and asks for the other settings. */
static enum dhcp_result dhcp_do_inform(struct dhcp_work *w)
{
    const uint32_t address = w->m.head.ciaddr;
    if (!address)
        return DHCP_RESULT_MALFORMED;
    const struct view_range *range = view_range_of_subnet(w->v, address);
    if (!range || !dhcp_link_has(&w->link, address, range->prefix))
        return DHCP_RESULT_OUTSIDE;
    if (!w->node && (dhcp_has_foreign(w) || !dhcp_is_eligible(w, range->network)))
        return DHCP_RESULT_NOT_ELIGIBLE;
    const struct dhcp_binding binding = {
        .address = address, .prefix = range->prefix, .network = range->network};
    dhcp_send_reply(w, DHCPACK, &binding);
    return DHCP_RESULT_ACKED;
}

/* ---- packets ---- */

static enum dhcp_type dhcp_type_of(const struct dhcp_message *m)
{
    if (m->head.op == 2)
        return DHCP_TYPE_REPLY;
    switch (m->type) {
    case DHCPDISCOVER: return DHCP_TYPE_DISCOVER;
    case DHCPREQUEST: return DHCP_TYPE_REQUEST;
    case DHCPDECLINE: return DHCP_TYPE_DECLINE;
    case DHCPRELEASE: return DHCP_TYPE_RELEASE;
    case DHCPINFORM: return DHCP_TYPE_INFORM;
    case DHCPOFFER:
    case DHCPACK:
    case DHCPNAK: break;
    }
    return DHCP_TYPE_OTHER;
}

static struct dhcp_work *dhcp_start(struct dhcp *d, const struct view *v,
                                    const struct dhcp_packet *packet, struct dhcp_out *out)
{
    struct dhcp_work *w = arena_new(out->arena, struct dhcp_work);
    w->d = d;
    w->v = v;
    w->packet = packet;
    w->out = out;
    w->a = out->arena;
    w->now_ms = packet->now_ms;
    return w;
}

/* The client extends the lease that it has from this server. No other server of the segment is sent
 * its request, so the answer does not depend on whether there is one. */
static bool dhcp_is_renewal(const struct dhcp_work *w)
{
    return w->m.type == DHCPREQUEST && w->m.head.op == 1 && w->m.head.ciaddr &&
           !dhcp_has(&w->m, DHCP_OPTION_SERVER) &&
           !dhcp_has(&w->m, DHCP_OPTION_REQUESTED_ADDRESS) &&
           dhcp_is_own_address(w->d, w->packet->destination);
}

/* Parse the packet and find out about its segment and its client. */
static enum dhcp_result dhcp_examine(struct dhcp_work *w)
{
    const struct dhcp_port *port = dhcp_port(w->d, w->packet->slot);
    w->mac = w->m.head.mac;
    if (!port)
        return DHCP_RESULT_OUTSIDE;
    if (dhcp_is_search(&w->m))
        return DHCP_RESULT_IGNORED;
    if (!w->v->settings.has_dhcp)
        return DHCP_RESULT_NOT_SERVED;
    if (!dhcp_find_link(w))
        return DHCP_RESULT_OUTSIDE;
    const bool is_served = port->phase == DHCP_PHASE_SERVED ||
                           (port->phase == DHCP_PHASE_STARTING && dhcp_is_renewal(w));
    if (!w->link.is_remote && !is_served)
        return DHCP_RESULT_NOT_SERVED;
    w->client = dhcp_identify(&w->m);
    if (w->client.is_boot)
        dhcp_table_put(&w->d->booting, w->mac, w->now_ms + BOOTING_MS);
    const struct boot_key key = {BOOT_MACHINE, view_machine_of_mac(w->v, w->mac)};
    struct boot_entry entry;
    if (key.id && view_get(w->v, key, w->a, &entry)) {
        w->node = key.id;
        w->machine = entry.machine;
    }
    return DHCP_RESULT_ACCEPTED;
}

static enum dhcp_result dhcp_answer(struct dhcp_work *w, enum dhcp_type type)
{
    if (type == DHCP_TYPE_REPLY)
        return dhcp_note_reply(w);
    const enum dhcp_result result = type == DHCP_TYPE_OTHER ? DHCP_RESULT_IGNORED : dhcp_examine(w);
    if (result != DHCP_RESULT_ACCEPTED)
        return result;
    switch (type) {
    case DHCP_TYPE_DISCOVER: return dhcp_do_discover(w);
    case DHCP_TYPE_REQUEST: return dhcp_do_request(w);
    case DHCP_TYPE_DECLINE: return dhcp_do_decline(w);
    case DHCP_TYPE_RELEASE: return dhcp_do_release(w);
    case DHCP_TYPE_INFORM: return dhcp_do_inform(w);
    case DHCP_TYPE_REPLY:
    case DHCP_TYPE_SOLICITATION:
    case DHCP_TYPE_OTHER:
    case DHCP_TYPE_COUNT: break;
    }
    return DHCP_RESULT_IGNORED;
}

void dhcp_receive(struct dhcp *d, const struct view *v, const struct dhcp_packet *packet,
                  struct dhcp_out *out)
{
    struct dhcp_work *w = dhcp_start(d, v, packet, out);
    if (packet->bytes.len > DHCP_PACKET_MAX || !dhcp_parse(packet->bytes, w->a, &w->m)) {
        d->counters[DHCP_TYPE_OTHER][DHCP_RESULT_MALFORMED]++;
        return;
    }
    const enum dhcp_type type = dhcp_type_of(&w->m);
    d->counters[type][dhcp_answer(w, type)]++;
}

/* ---- results of actions ---- */

/* Another host has the address: it is not offered for a while. */
static void dhcp_note_conflict(struct dhcp_work *w, const struct dhcp_binding *binding,
                               uint64_t other_mac)
{
    dhcp_note_probe(w->d, binding->address, PROBE_CONFLICT, w->now_ms);
    struct dhcp_action *action = dhcp_observe(
        w, binding->range ? DHCP_OBSERVED_POOL_CONFLICT : DHCP_OBSERVED_RESERVATION_CONFLICT,
        binding->address);
    if (action)
        action->other_mac = other_mac;
}

/* Another MAC of the node that answers for its reservation has it: the address is in use, which is
 * no conflict. */
void dhcp_probed(struct dhcp *d, const struct view *v, const struct dhcp_probed *probed,
                 struct dhcp_out *out)
{
    struct dhcp_waiting waiting;
    if (!dhcp_end_wait(d, DHCP_PROBE, probed->token, out->arena, &waiting))
        return;
    waiting.packet.now_ms = probed->now_ms;
    const struct dhcp_binding *binding = &waiting.binding;
    struct dhcp_work *w = dhcp_start(d, v, &waiting.packet, out);
    must(dhcp_parse(waiting.packet.bytes, w->a, &w->m));
    w->mac = w->m.head.mac;
    w->node = view_machine_of_mac(v, w->mac);
    const bool is_own =
        !binding->range && probed->mac && w->node && view_machine_of_mac(v, probed->mac) == w->node;
    if (probed->mac && probed->mac != w->mac && !is_own) {
        dhcp_note_conflict(w, binding, probed->mac);
    } else {
        dhcp_note_probe(d, binding->address, PROBE_CLEAR, w->now_ms);
        if (is_own && probed->mac != w->mac)
            dhcp_table_put(&d->holders, binding->address,
                           w->now_ms + (int64_t)binding->lease_s * 1000)
                ->value = probed->mac;
    }
    w->node = 0;
    d->counters[DHCP_TYPE_DISCOVER][dhcp_answer(w, DHCP_TYPE_DISCOVER)]++;
}

static void dhcp_finish_taking(struct dhcp *d, const struct view *v,
                               const struct dhcp_waiting *waiting, enum dhcp_take take,
                               struct dhcp_out *out)
{
    struct dhcp_work *w = dhcp_start(d, v, &waiting->packet, out);
    must(dhcp_parse(waiting->packet.bytes, w->a, &w->m));
    enum dhcp_result result = dhcp_examine(w);
    if (result == DHCP_RESULT_ACCEPTED)
        result = dhcp_finish_take(w, &waiting->binding, take);
    d->counters[DHCP_TYPE_REQUEST][result]++;
}

void dhcp_taken(struct dhcp *d, const struct view *v, const struct dhcp_taken *taken,
                struct dhcp_out *out)
{
    struct dhcp_waiting waiting;
    if (!dhcp_end_wait(d, DHCP_TAKE, taken->token, out->arena, &waiting))
        return;
    waiting.packet.now_ms = taken->now_ms;
    dhcp_finish_taking(d, v, &waiting, taken->take, out);
}

/* ---- time ---- */

/* A probe without a result in time is forgotten: the client sends its DISCOVER again. */
void dhcp_tick(struct dhcp *d, const struct view *v, int64_t now_ms, struct dhcp_out *out)
{
    struct dhcp_waiting waiting;
    while (dhcp_end_late_wait(d, now_ms, out->arena, &waiting)) {
        waiting.packet.now_ms = now_ms;
        if (waiting.kind == DHCP_TAKE)
            dhcp_finish_taking(d, v, &waiting, DHCP_TAKE_AWAY, out);
    }
    for (uint32_t slot = 0; slot < DHCP_INTERFACES_MAX; slot++)
        if (d->ports[slot].is_used)
            dhcp_tick_port(d, slot, v, now_ms, out);
}

int64_t dhcp_next_deadline(const struct dhcp *d)
{
    const struct dhcp_entry *oldest = dhcp_table_oldest(&d->pending);
    int64_t deadline = oldest ? oldest->ends_ms : INT64_MAX;
    for (uint32_t i = 0; i < DHCP_INTERFACES_MAX; i++) {
        const int64_t next = dhcp_port_deadline(&d->ports[i]);
        deadline = next < deadline ? next : deadline;
    }
    return deadline;
}
