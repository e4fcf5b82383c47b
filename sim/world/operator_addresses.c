#include "sim/world/operator.h"

#include "base/err.h"
#include "base/net/ip.h"
#include "base/net/mac.h"
#include "base/text/buf.h"
#include "model/limits.h"

/* Actions that concern addresses: allocations of nodes, leases of pool clients, MACs of nodes, and
 * machines that are created with an address and a MAC.
 *
 * Pool clients have no state of their own. The daemon would send a command for each message of a
 * client; here a lease that exists is renewed, given back or declined by its client or by another
 * one, and a lease that is not renewed belongs to a client that has disappeared. Clients and nodes
 * draw their MACs from two short lists with some in common, so that the same MAC is used by
 * several. */

enum { CLIENTS = 10, NODE_MACS = 14 };

/* ---- addresses and MACs ---- */

static struct str addresses_draw_mac(struct world *w, uint64_t count)
{
    static const char *const bad[] = {"",
                                      "52:54:00",
                                      "ff:ff:ff:ff:ff:ff",
                                      "00:00:00:00:00:00",
                                      "01:00:5e:00:00:01",
                                      "52:54:00:bb:00:zz"};
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        return str_from(bad[prng_below(&w->rng, sizeof bad / sizeof *bad)]);
    /* The order of the draws is that of the statements: the order of arguments is unspecified. */
    const uint64_t last = 20 + prng_below(&w->rng, count);
    return operator_format(w, prng_chance(&w->rng, 900) ? "52:54:00:bb:00:%u" : "52-54-00-BB-00-%u",
                           last);
}

static struct str addresses_format_mac(struct world *w, int64_t number)
{
    struct mac mac;
    for (uint32_t i = 0; i < 6; i++)
        mac.bytes[i] = (uint8_t)((uint64_t)number >> (40 - 8 * i));
    return mac_format(&w->arena, mac);
}

struct str operator_mac(struct world *w)
{
    return addresses_format_mac(w, INT64_C(0x525400cc0000) + ++w->macs_used);
}

struct str operator_pick_mac(struct world *w, const struct core *core, int64_t node_id)
{
    struct str picked = STR("");
    uint64_t seen = 0;
    for (int64_t id = 0; (id = core_next_id(core, TABLE_NIC, id)) != 0;) {
        struct record nic;
        if (core_record(core, TABLE_NIC, id, &nic) && (!node_id || nic.nic.node_id == node_id) &&
            prng_below(&w->rng, ++seen) == 0)
            picked = addresses_format_mac(w, nic.nic.mac);
    }
    return picked;
}

/* An address of the range; empty if there is no such range. */
static struct str addresses_draw_in_range(struct world *w, const struct core *core,
                                          int64_t range_id)
{
    struct record record;
    struct ip first, last, ip;
    const char *wrong;
    if (!core_record(core, TABLE_NETWORK_RANGE, range_id, &record) ||
        !ip_parse(record.network_range.first, &first, &wrong) ||
        !ip_parse(record.network_range.last, &last, &wrong))
        return STR("");
    const uint64_t count = ip_range_count((struct ip_range){first, last});
    if (!ip_add(first, prng_below(&w->rng, count < 8 ? count : 8), &ip))
        return STR("");
    return ip_format_address(&w->arena, ip);
}

/* An address that an allocation or a lease has; empty if there is none. */
static struct str addresses_draw_used(struct world *w, const struct core *core)
{
    struct record record;
    const enum table table = prng_chance(&w->rng, 500) ? TABLE_NETWORK_ALLOCATION : TABLE_LEASE;
    const int64_t id = operator_pick(w, core, table);
    if (!core_record(core, table, id, &record))
        return STR("");
    return str_copy(&w->arena, table == TABLE_LEASE ? record.lease.address
                                                    : record.network_allocation.address);
}

/* ---- allocations ---- */

/* A node that is no system node, which has no addresses; one of these only now and then. */
static int64_t addresses_pick_machine(struct world *w, const struct core *core)
{
    struct record node;
    int64_t id = operator_pick(w, core, TABLE_NODE);
    for (uint32_t i = 0; i < 4; i++)
        if (core_record(core, TABLE_NODE, id, &node) && node.node.system)
            id = operator_pick(w, core, TABLE_NODE);
    return id;
}

/* The address that is asked for: in the range, in any subnet, in use, or as a fault no address. */
static struct str addresses_draw_wanted(struct world *w, const struct core *core, int64_t range_id)
{
    const uint64_t which = prng_below(&w->rng, 10);
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        return STR("10.20.0");
    if (which < 5)
        return addresses_draw_in_range(w, core, range_id);
    return which < 8 ? addresses_draw_used(w, core) : networks_draw_address(w, "");
}

void action_allocate(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NETWORK_ALLOCATE};
    struct network_allocate_command *allocate = &command.network_allocate;
    struct record range;
    if (!core_count(core, TABLE_NETWORK_RANGE) && prng_chance(&w->rng, 800)) {
        action_range_create(w, core);
        return;
    }
    const int64_t range_id = operator_pick(w, core, TABLE_NETWORK_RANGE);
    allocate->node_id = addresses_pick_machine(w, core);
    if (prng_chance(&w->rng, 500))
        allocate->range_id = range_id;
    if (core_record(core, TABLE_NETWORK_RANGE, range_id, &range))
        allocate->network_id = range.network_range.network_id;
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        allocate->network_id = operator_pick(w, core, TABLE_NETWORK);
    const uint64_t which = prng_below(&w->rng, 10);
    if (which >= 5 && which < 8)
        allocate->suggestion = addresses_draw_wanted(w, core, range_id);
    if (which >= 8)
        allocate->address = addresses_draw_wanted(w, core, range_id);
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        allocate->address = allocate->suggestion = STR("10.20.1.1");
    operator_send_command(w, &command);
}

void action_deallocate(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NETWORK_DEALLOCATE};
    command.network_deallocate.id = operator_pick(w, core, TABLE_NETWORK_ALLOCATION);
    operator_send_command(w, &command);
}

/* ---- leases ---- */

static uint32_t addresses_draw_lease_s(struct world *w)
{
    static const uint32_t usual[] = {30, 600, 600, 3600, LEASE_S_MAX};
    if (world_fault(w, FAULT_OPERATOR_WRONG))
        return prng_chance(&w->rng, 500) ? 0 : LEASE_S_MAX + 1;
    return usual[prng_below(&w->rng, 5)];
}

/* A client without a lease takes an address, which may be in use. */
static void addresses_new_lease(struct world *w, const struct core *core)
{
    if (!core_count(core, TABLE_NETWORK_RANGE) && prng_chance(&w->rng, 800)) {
        action_network_create(w, core);
        return;
    }
    struct command command = {.kind = COMMAND_LEASE_TAKE};
    struct lease_take_command *take = &command.lease_take;
    take->range_id = operator_pick(w, core, TABLE_NETWORK_RANGE);
    take->mac = addresses_draw_mac(w, CLIENTS);
    take->lease_s = addresses_draw_lease_s(w);
    take->address = prng_chance(&w->rng, 800) ? addresses_draw_in_range(w, core, take->range_id)
                                              : networks_draw_address(w, "");
    operator_send_command(w, &command);
}

/* A message about an existing lease, from its client or, sometimes, from another one. */
static void addresses_old_lease(struct world *w, const struct lease_record *lease)
{
    const struct str address = str_copy(&w->arena, lease->address);
    struct command command = {.kind = COMMAND_LEASE_TAKE};
    const uint64_t which = prng_below(&w->rng, 10);
    const struct str mac = lease->mac && prng_chance(&w->rng, 800)
                               ? addresses_format_mac(w, lease->mac)
                               : addresses_draw_mac(w, CLIENTS);
    if (which < 5) {
        command.lease_take.range_id = lease->network_range_id;
        command.lease_take.address = address;
        command.lease_take.mac = mac;
        command.lease_take.lease_s = addresses_draw_lease_s(w);
    } else if (which < 8) {
        command.kind = COMMAND_LEASE_RELEASE;
        command.lease_release.address = address;
        command.lease_release.mac = mac;
    } else {
        command.kind = COMMAND_LEASE_DECLINE;
        command.lease_decline.range_id = lease->network_range_id;
        command.lease_decline.address = address;
        command.lease_decline.mac = mac;
    }
    operator_send_command(w, &command);
}

void action_lease(struct world *w, const struct core *core)
{
    struct record record;
    const int64_t id = operator_pick(w, core, TABLE_LEASE);
    if (prng_chance(&w->rng, 600) && core_record(core, TABLE_LEASE, id, &record))
        addresses_old_lease(w, &record.lease);
    else
        addresses_new_lease(w, core);
}

/* A client that declines an address which was offered to it and which it never had. */
void action_lease_decline(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_LEASE_DECLINE};
    command.lease_decline.range_id = operator_pick(w, core, TABLE_NETWORK_RANGE);
    command.lease_decline.address =
        addresses_draw_in_range(w, core, command.lease_decline.range_id);
    command.lease_decline.mac = addresses_draw_mac(w, CLIENTS);
    operator_send_command(w, &command);
}

/* ---- interfaces ---- */

/* A list of MACs, some of which other nodes may have. */
static struct str addresses_draw_macs(struct world *w)
{
    struct buf b = buf_in(&w->arena);
    buf_put_c(&b, '[');
    for (uint64_t i = 0, count = prng_below(&w->rng, 3); i <= count; i++) {
        buf_put_z(&b, i ? ",\"" : "\"");
        buf_put_str(&b, addresses_draw_mac(w, NODE_MACS));
        buf_put_c(&b, '"');
    }
    buf_put_c(&b, ']');
    return buf_str(&b);
}

/* The hint of a node requests an address in one of the networks. */
static void addresses_hint_address(struct world *w, const struct core *core,
                                   struct attrib_set_command *set)
{
    struct buf name = buf_in(&w->arena), value = buf_in(&w->arena);
    struct record range, network;
    const int64_t range_id = operator_pick(w, core, TABLE_NETWORK_RANGE);
    const bool is_known =
        core_record(core, TABLE_NETWORK_RANGE, range_id, &range) &&
        core_record(core, TABLE_NETWORK, range.network_range.network_id, &network);
    buf_put_z(&name, "hint-");
    buf_put_str(&name, is_known ? network.network.name : STR("admin"));
    buf_put_z(&name, "-v4addr");
    set->attrib_id = core_find(core, TABLE_ATTRIB, buf_str(&name));
    buf_put_c(&value, '"');
    buf_put_str(&value, prng_chance(&w->rng, 700) ? addresses_draw_in_range(w, core, range_id)
                                                  : networks_draw_address(w, ""));
    buf_put_c(&value, '"');
    set->value = buf_str(&value);
}

/* Set the MACs or a wanted address in the hint of a node. */
void action_hint(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_ATTRIB_SET};
    struct attrib_set_command *set = &command.attrib_set;
    set->target = TABLE_NODE;
    set->id = addresses_pick_machine(w, core);
    set->bucket = BUCKET_USER;
    if (prng_chance(&w->rng, 600)) {
        addresses_hint_address(w, core, set);
    } else {
        set->attrib_id = core_find(core, TABLE_ATTRIB, STR("hint-admin-macs"));
        set->value = addresses_draw_macs(w);
    }
    operator_send_command(w, &command);
}

void action_nics_make(struct world *w, const struct core *core)
{
    (void)core;
    struct command command = {.kind = COMMAND_NICS_MAKE};
    operator_send_command(w, &command);
}

void action_nic_move(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NIC_MOVE};
    struct record nic;
    const int64_t id = operator_pick(w, core, TABLE_NIC);
    command.nic_move.node_id = addresses_pick_machine(w, core);
    command.nic_move.mac = core_record(core, TABLE_NIC, id, &nic)
                               ? addresses_format_mac(w, nic.nic.mac)
                               : addresses_draw_mac(w, NODE_MACS);
    operator_send_command(w, &command);
}

/* A machine that registers with its address, its MAC, or both. */
void action_node_register(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODE_CREATE};
    struct node_create_command *create = &command.node_create;
    const uint64_t which = prng_below(&w->rng, 4);
    create->name = operator_dubious_name(w, "d%u.sim.local");
    create->deployment_id = operator_pick(w, core, TABLE_DEPLOYMENT);
    create->available = true;
    if (which != 1) {
        const int64_t range_id = operator_pick(w, core, TABLE_NETWORK_RANGE);
        create->ip = addresses_draw_wanted(w, core, range_id);
    }
    if (which != 2)
        create->mac = addresses_draw_mac(w, NODE_MACS);
    if (prng_chance(&w->rng, 200)) {
        struct buf b = buf_in(&w->arena);
        buf_put_z(&b, "{\"admin_macs\":");
        buf_put_str(&b, addresses_draw_macs(w));
        buf_put_c(&b, '}');
        create->hint = buf_str(&b);
    }
    operator_send_command(w, &command);
}

/* ---- what names depend on ---- */

/* Change a node that has an address in one of the ways that filters read: its name, its deployment,
 * an attrib or its roles. */
void action_named_node(struct world *w, const struct core *core)
{
    struct command command = {.kind = COMMAND_NODE_UPDATE};
    struct record allocation;
    const int64_t id = operator_pick(w, core, TABLE_NETWORK_ALLOCATION);
    const uint64_t which = prng_below(&w->rng, 8);
    if (!core_record(core, TABLE_NETWORK_ALLOCATION, id, &allocation))
        return;
    const int64_t node_id = allocation.network_allocation.node_id;
    if (which < 3) {
        command.node_update.id = node_id;
        command.node_update.given = GIVEN_NAME;
        command.node_update.name = operator_dubious_name(w, "d%u.sim.local");
    } else if (which < 4) {
        command.node_update.id = node_id;
        command.node_update.given = GIVEN_NODE_DEPLOYMENT;
        command.node_update.deployment_id = operator_pick(w, core, TABLE_DEPLOYMENT);
    } else if (which < 6) {
        command.kind = COMMAND_ATTRIB_SET;
        command.attrib_set.target = TABLE_NODE;
        command.attrib_set.id = node_id;
        command.attrib_set.bucket = BUCKET_USER;
        command.attrib_set.attrib_id = core_find(core, TABLE_ATTRIB, STR("stay_on"));
        command.attrib_set.value = operator_format(w, "%u", prng_below(&w->rng, 2));
    } else {
        command.kind = COMMAND_NODEROLE_BIND;
        command.noderole_bind.node_id = node_id;
        command.noderole_bind.role_id =
            core_find(core, TABLE_ROLE, which < 7 ? STR("gallery-found") : STR("field-1"));
    }
    operator_send_command(w, &command);
}
