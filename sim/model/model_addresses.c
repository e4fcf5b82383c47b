#include "sim/model/model_private.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash/hash.h"

/* The naive model of addresses (docs/invariants.md, I15 and I16): the list of all allocations and
 * leases, read again from the records after every step, and the list of addresses that were freed
 * or declined lately, computed from the differences between two such lists.
 *
 * Addresses are read with inet_pton(), and every rule is a comparison of each row with each other
 * one. A freed or declined address may be given to another node only an hour of the monotonic clock
 * later. It is forgotten earlier if its range is deleted or changed so that it is outside: the rows
 * of a range end with it. */

enum { ADDRESS_REST_MS = 3600 * 1000 };

/* ---- reading ---- */

bool model_parse_address(struct str text, struct model_ip *out_ip)
{
    char copy[64];
    *out_ip = (struct model_ip){0};
    if (text.len >= sizeof copy)
        return false;
    memcpy(copy, text.at, text.len);
    copy[text.len] = 0;
    char *slash = strchr(copy, '/');
    int prefix = -1;
    char extra;
    if (slash) {
        *slash = 0;
        if (sscanf(slash + 1, "%d%c", &prefix, &extra) != 1)
            return false;
    }
    out_ip->is_v6 = strchr(copy, ':') != NULL;
    out_ip->prefix = prefix;
    return inet_pton(out_ip->is_v6 ? AF_INET6 : AF_INET, copy, out_ip->bytes) == 1;
}

bool model_ip_eq(const struct model_ip *a, const struct model_ip *b)
{
    return a->is_v6 == b->is_v6 && memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

bool model_ip_is_between(const struct model_ip *ip, const struct model_ip *first,
                         const struct model_ip *last)
{
    return ip->is_v6 == first->is_v6 && ip->is_v6 == last->is_v6 &&
           memcmp(first->bytes, ip->bytes, sizeof ip->bytes) <= 0 &&
           memcmp(ip->bytes, last->bytes, sizeof ip->bytes) <= 0;
}

bool model_range_has(const struct core *c, int64_t range_id, const struct model_ip *ip)
{
    struct record range;
    struct model_ip first, last;
    return core_record(c, TABLE_NETWORK_RANGE, range_id, &range) &&
           model_parse_address(range.network_range.first, &first) &&
           model_parse_address(range.network_range.last, &last) &&
           model_ip_is_between(ip, &first, &last);
}

/* The same, and the network of the range is not being deleted: its addresses rest. */
static bool addresses_rest_in(const struct core *c, int64_t range_id, const struct model_ip *ip)
{
    struct record range, network;
    return model_range_has(c, range_id, ip) &&
           core_record(c, TABLE_NETWORK_RANGE, range_id, &range) &&
           core_record(c, TABLE_NETWORK, range.network_range.network_id, &network) &&
           !network.network.deleting;
}

struct model_address *model_read_addresses(const struct core *c, struct arena *a,
                                           uint32_t *out_count)
{
    struct record r;
    struct model_address *all =
        arena_array(a, struct model_address,
                    core_count(c, TABLE_NETWORK_ALLOCATION) + core_count(c, TABLE_LEASE) + 1);
    *out_count = 0;
    for (int64_t id = 0; (id = core_next_id(c, TABLE_NETWORK_ALLOCATION, id)) != 0;) {
        must(core_record(c, TABLE_NETWORK_ALLOCATION, id, &r));
        struct model_address *one = &all[(*out_count)++];
        *one = (struct model_address){.id = id,
                                      .is_allocation = true,
                                      .node_id = r.network_allocation.node_id,
                                      .network_id = r.network_allocation.network_id,
                                      .range_id = r.network_allocation.network_range_id};
        one->is_readable = model_parse_address(r.network_allocation.address, &one->ip);
    }
    for (int64_t id = 0; (id = core_next_id(c, TABLE_LEASE, id)) != 0;) {
        must(core_record(c, TABLE_LEASE, id, &r));
        struct model_address *one = &all[(*out_count)++];
        *one = (struct model_address){.id = id,
                                      .state = r.lease.state,
                                      .node_id = r.lease.node_id,
                                      .mac = r.lease.mac,
                                      .range_id = r.lease.network_range_id};
        one->is_readable = model_parse_address(r.lease.address, &one->ip);
    }
    return all;
}

struct model_belonging *model_read_belongings(const struct core *c, struct arena *a,
                                              uint32_t *out_count)
{
    struct record r, allocation;
    struct model_belonging *all =
        arena_array(a, struct model_belonging,
                    core_count(c, TABLE_NIC) + core_count(c, TABLE_DNS_NAME_ENTRY) + 1);
    *out_count = 0;
    for (int64_t id = 0; (id = core_next_id(c, TABLE_NIC, id)) != 0;) {
        must(core_record(c, TABLE_NIC, id, &r));
        all[(*out_count)++] =
            (struct model_belonging){TABLE_NIC, id, r.nic.node_id, (uint64_t)r.nic.mac};
    }
    for (int64_t id = 0; (id = core_next_id(c, TABLE_DNS_NAME_ENTRY, id)) != 0;) {
        must(core_record(c, TABLE_DNS_NAME_ENTRY, id, &r));
        const int64_t owner = r.dns_name_entry.network_allocation_id;
        if (core_record(c, TABLE_NETWORK_ALLOCATION, owner, &allocation))
            all[(*out_count)++] = (struct model_belonging){TABLE_DNS_NAME_ENTRY, id,
                                                           allocation.network_allocation.node_id,
                                                           hash64(r.dns_name_entry.name, 1)};
    }
    return all;
}

/* The same row in another list; NULL if it is not there. */
const struct model_address *model_find_address(const struct model_address *all, uint32_t count,
                                               const struct model_address *wanted)
{
    for (uint32_t i = 0; i < count; i++)
        if (all[i].is_allocation == wanted->is_allocation && all[i].id == wanted->id &&
            all[i].node_id == wanted->node_id && all[i].state == wanted->state &&
            all[i].mac == wanted->mac && model_ip_eq(&all[i].ip, &wanted->ip))
            return &all[i];
    return NULL;
}

/* ---- freed and declined addresses ---- */

static void addresses_add_rest(struct model *m, const struct model_address *row, int64_t mono_ms)
{
    const struct model_rest rest = {.ip = row->ip,
                                    .node_id = row->is_allocation ? row->node_id : 0,
                                    .range_id = row->range_id,
                                    .since_ms = mono_ms};
    m->counts.rested++;
    for (uint32_t i = 0; i < m->rests_count; i++)
        if (model_ip_eq(&m->rests[i].ip, &row->ip)) {
            m->rests[i] = rest;
            return;
        }
    model_add_rest(m, rest);
}

static void addresses_drop_rests(struct model *m, const struct core *c, int64_t mono_ms)
{
    for (uint32_t i = m->rests_count; i-- > 0;)
        if (mono_ms - m->rests[i].since_ms >= ADDRESS_REST_MS ||
            !addresses_rest_in(c, m->rests[i].range_id, &m->rests[i].ip))
            m->rests[i] = m->rests[--m->rests_count];
}

/* The row is new in this step: no other node or client may have had its address within the hour. */
static const char *addresses_check_rest(struct model *m, const struct model_address *row,
                                        int64_t mono_ms)
{
    for (uint32_t i = 0; i < m->rests_count; i++) {
        const struct model_rest *rest = &m->rests[i];
        if (!model_ip_eq(&rest->ip, &row->ip))
            continue;
        if (row->is_allocation && row->node_id == rest->node_id) {
            m->rests[i] = m->rests[--m->rests_count];
            return NULL;
        }
        return model_report(m, "I15: the address of %s %lld was %s %lld ms before, by node %lld",
                            row->is_allocation ? "allocation" : "lease", (long long)row->id,
                            rest->node_id ? "freed" : "declined",
                            (long long)(mono_ms - rest->since_ms), (long long)rest->node_id);
    }
    return NULL;
}

/* ---- one state ---- */

static const char *addresses_check_row(struct model *m, const struct core *c,
                                       const struct model_address *row)
{
    struct record node, range;
    struct model_ip first, last;
    const char *kind = row->is_allocation ? "allocation" : "lease";
    if (!row->is_readable || !core_record(c, TABLE_NETWORK_RANGE, row->range_id, &range) ||
        !model_parse_address(range.network_range.first, &first) ||
        !model_parse_address(range.network_range.last, &last) ||
        !model_ip_is_between(&row->ip, &first, &last))
        return model_report(m, "I15: the address of %s %lld is not in range %lld", kind,
                            (long long)row->id, (long long)row->range_id);
    if (row->ip.prefix != first.prefix || first.prefix != last.prefix)
        return model_report(m, "I15: the address of %s %lld has another prefix than range %lld",
                            kind, (long long)row->id, (long long)row->range_id);
    if (row->is_allocation &&
        (row->network_id != range.network_range.network_id ||
         !core_record(c, TABLE_NODE, row->node_id, &node) || node.node.system))
        return model_report(m, "I15: allocation %lld has no node, or the network of another range",
                            (long long)row->id);
    return NULL;
}

static const char *addresses_check_all(struct model *m, const struct core *c)
{
    const char *trouble = NULL;
    for (uint32_t i = 0; i < m->addresses_count && !trouble; i++) {
        const struct model_address *one = &m->addresses[i];
        trouble = addresses_check_row(m, c, one);
        for (uint32_t k = 0; k < i && !trouble; k++) {
            const struct model_address *other = &m->addresses[k];
            if (model_ip_eq(&one->ip, &other->ip))
                trouble = model_report(
                    m, "I15: %s %lld and %s %lld have one address",
                    other->is_allocation ? "allocation" : "lease", (long long)other->id,
                    one->is_allocation ? "allocation" : "lease", (long long)one->id);
            else if (one->is_allocation && other->is_allocation && one->node_id == other->node_id &&
                     one->range_id == other->range_id)
                trouble = model_report(m, "I15: node %lld has two addresses in range %lld",
                                       (long long)one->node_id, (long long)one->range_id);
        }
    }
    return trouble;
}

static const char *addresses_check_nics(struct model *m, const struct core *c)
{
    struct record nic, node, other;
    for (int64_t id = 0; (id = core_next_id(c, TABLE_NIC, id)) != 0;) {
        must(core_record(c, TABLE_NIC, id, &nic));
        if (!core_record(c, TABLE_NODE, nic.nic.node_id, &node) || nic.nic.mac <= 0)
            return model_report(m, "I16: nic %lld has no node or no MAC", (long long)id);
        for (int64_t k = 0; (k = core_next_id(c, TABLE_NIC, k)) != 0 && k < id;)
            if (core_record(c, TABLE_NIC, k, &other) && other.nic.mac == nic.nic.mac)
                return model_report(m, "I16: the nodes %lld and %lld have one MAC",
                                    (long long)other.nic.node_id, (long long)nic.nic.node_id);
    }
    return NULL;
}

/* ---- deletions ---- */

static bool addresses_is_marked(const struct model *m, int64_t network_id)
{
    for (uint32_t i = 0; i < m->marked_count; i++)
        if (m->marked[i] == network_id)
            return true;
    return false;
}

/* I18: a network that was being deleted before the step has got no address in it. */
static const char *addresses_check_marked(struct model *m, const struct core *c,
                                          const struct model_address *row)
{
    struct record range;
    if (!core_record(c, TABLE_NETWORK_RANGE, row->range_id, &range) ||
        !addresses_is_marked(m, range.network_range.network_id))
        return NULL;
    return model_report(m, "I18: network %lld got the address of %s %lld while it was deleted",
                        (long long)range.network_range.network_id,
                        row->is_allocation ? "allocation" : "lease", (long long)row->id);
}

/* I18: a mark stays until the network is gone. */
static const char *addresses_follow_marks(struct model *m, const struct core *c)
{
    struct record r;
    const char *trouble = NULL;
    bool is_deleting = false;
    for (uint32_t i = 0; i < m->marked_count && !trouble; i++)
        if (core_record(c, TABLE_NETWORK, m->marked[i], &r) && !r.network.deleting)
            trouble = model_report(m, "I18: network %lld is not deleted any more",
                                   (long long)m->marked[i]);
    m->marked_count = 0;
    for (int64_t id = 0; (id = core_next_id(c, TABLE_NETWORK, id)) != 0;)
        if (core_record(c, TABLE_NETWORK, id, &r) && r.network.deleting)
            model_add_marked(m, id);
    for (int64_t id = 0; (id = core_next_id(c, TABLE_DNS_NAME_FILTER, id)) != 0;)
        is_deleting |= core_record(c, TABLE_DNS_NAME_FILTER, id, &r) && r.dns_name_filter.deleting;
    m->counts.sliced += m->marked_count || is_deleting;
    return trouble;
}

/* ---- one step ---- */

const char *model_follow_addresses(struct model *m, const struct core *c,
                                   const struct command *command, struct arena *scratch)
{
    uint32_t count;
    const struct arena_mark mark = arena_mark(scratch);
    const struct model_address *now = model_read_addresses(c, scratch, &count);
    const int64_t mono_ms = command ? command->mono_ms : 0;
    const char *trouble = NULL;
    addresses_drop_rests(m, c, mono_ms);
    /* Addresses that a node has no longer, before those that nodes have now: in one step an address
     * must not move from one node to another either. */
    for (uint32_t i = 0; i < m->addresses_count; i++)
        if (m->addresses[i].is_allocation && !model_find_address(now, count, &m->addresses[i]) &&
            addresses_rest_in(c, m->addresses[i].range_id, &m->addresses[i].ip))
            addresses_add_rest(m, &m->addresses[i], mono_ms);
    for (uint32_t i = 0; i < count && command && !trouble; i++) {
        const bool is_live = now[i].is_allocation || now[i].state == LEASE_LIVE;
        if (!is_live || model_find_address(m->addresses, m->addresses_count, &now[i]))
            continue;
        trouble = addresses_check_rest(m, &now[i], mono_ms);
        if (!trouble)
            trouble = addresses_check_marked(m, c, &now[i]);
    }
    for (uint32_t i = 0; i < count; i++)
        if (!now[i].is_allocation && now[i].state == LEASE_DECLINED &&
            !model_find_address(m->addresses, m->addresses_count, &now[i]))
            addresses_add_rest(m, &now[i], mono_ms);
    model_set_addresses(m, now, count);
    const struct model_belonging *belongings = model_read_belongings(c, scratch, &count);
    model_set_belongings(m, belongings, count);
    arena_rewind(scratch, mark);
    if (!trouble)
        trouble = addresses_check_all(m, c);
    if (!trouble)
        trouble = addresses_follow_marks(m, c);
    return trouble ? trouble : addresses_check_nics(m, c);
}
