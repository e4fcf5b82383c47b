#include "core/network/network_private.h"

/* Leases: addresses that no allocation has and that are not free either. A live lease belongs to a
 * client that is not a node yet. A declined address is used by an unknown host. A freed address
 * belonged to a node that no longer has it.
 *
 * This file owns the lease rows and the timers of live leases. A live lease ends when its time has
 * passed, and its row is removed. The row of a declined or freed address stays: REST_MS long no
 * other node gets the address, because a machine may still use it, and after that the allocator
 * takes it only if no address is left that never was in use.
 *
 * Time is that of the monotonic clock. left_ms is stored; after a load every lease gets that time
 * again, so a lease never ends early because the daemon was down.
 *
 * Failure: a command is checked before a row is written. */

enum { TIMER_BITS = 21, RENEW_MULTIPLE = 4, RENEW_BELOW = 2, ENDED_PER_STEP_MAX = 512 };
_Static_assert(LEASES_MAX < 1u << TIMER_BITS, "the index of a lease must fit below the deadline");

static uint64_t lease_timer_key(const struct core *c, lease_ix l)
{
    const int64_t deadline = lease_at(c, l)->deadline;
    return (uint64_t)(deadline > 0 ? deadline : 0) << TIMER_BITS | l.v;
}

static void lease_set_time(struct core *c, lease_ix l, int64_t left_ms)
{
    struct lease *lease = lease_edit(c, l);
    if (lease->state == LEASE_LIVE && lease->deadline)
        omap_remove(&c->lease_ends, lease_timer_key(c, l));
    lease->left_ms = left_ms;
    lease->deadline = c->mono_ms + left_ms;
    if (lease->state == LEASE_LIVE)
        omap_put(&c->lease_ends, lease_timer_key(c, l), l.v);
}

static lease_ix lease_make(struct core *c, network_range_ix r, struct ip ip, enum lease_state state,
                           int64_t left_ms)
{
    const lease_ix l = lease_add(c);
    if (!l.v)
        return l;
    struct lease *lease = lease_edit(c, l);
    lease->range = r;
    lease->state = state;
    lease->at.ip = ip_with_prefix(ip, network_range_at(c, r)->addresses.first.prefix);
    put_text(c, &lease->address, ip_format(c->arena, lease->at.ip));
    lease_set_time(c, l, left_ms);
    lease_index(c, l);
    return l;
}

/* Rows of freed addresses stay until the address is used again, so the table is kept from filling
 * up: above 15/16 of its limit each new row ends an old one of the range. A full table must not
 * prevent the deletion of a node; the address is then free at once. */
void lease_make_freed(struct core *c, network_range_ix r, struct ip ip, int64_t node_id)
{
    enum { SEARCHED_MAX = 64 };
    const struct pool *leases = &c->tables[TABLE_LEASE].pool;
    int64_t id = 0;
    bool is_done = leases->live < leases->max - leases->max / 16;
    for (uint32_t i = 0; i < SEARCHED_MAX && !is_done; i++) {
        const lease_ix old = {address_next_in_range(c, r, TABLE_LEASE, id)};
        is_done = !old.v || lease_is_available(c, old, 0);
        id = old.v ? lease_at(c, old)->o.id : 0;
        if (old.v && is_done)
            lease_end(c, old);
    }
    if (pool_is_full(leases)) {
        address_freed(c, ip);
        return;
    }
    const lease_ix l = lease_make(c, r, ip, LEASE_FREED, REST_MS);
    if (l.v)
        lease_edit(c, l)->node_id = node_id;
}

void lease_destroy(struct core *c, lease_ix l)
{
    if (lease_at(c, l)->state == LEASE_LIVE) {
        omap_remove(&c->lease_ends, lease_timer_key(c, l));
        network_range_derive(c, lease_at(c, l)->range)->live_count--;
    }
    address_remove(c, ADDRESS_LEASE, l.v);
    address_remove_from_range(c, lease_at(c, l)->range, TABLE_LEASE, lease_at(c, l)->o.id);
    put_text(c, &lease_edit(c, l)->address, STR(""));
    core_remove_row(c, TABLE_LEASE, l.v);
}

void lease_end(struct core *c, lease_ix l)
{
    const struct ip ip = lease_at(c, l)->at.ip;
    lease_destroy(c, l);
    address_freed(c, ip);
}

void lease_set_prefix(struct core *c, lease_ix l, uint8_t prefix)
{
    struct lease *lease = lease_edit(c, l);
    lease->at.ip = ip_with_prefix(lease->at.ip, prefix);
    put_text(c, &lease->address, ip_format(c->arena, lease->at.ip));
}

bool lease_is_held_by(const struct core *c, struct ip ip, uint64_t mac)
{
    const lease_ix l = {address_find(c, ADDRESS_LEASE, ip)};
    return l.v && lease_at(c, l)->state == LEASE_LIVE && lease_at(c, l)->mac == (int64_t)mac;
}

bool lease_is_available(const struct core *c, lease_ix l, int64_t node_id)
{
    const struct lease *lease = lease_at(c, l);
    return lease->state != LEASE_LIVE &&
           (lease->deadline <= c->mono_ms ||
            (lease->state == LEASE_FREED && lease->node_id == node_id));
}

/* ---- commands ---- */

/* Parse address and MAC; false if one is wrong. What is wrong is left as it was. */
static bool lease_parse(struct core *c, struct str address, struct str mac, struct ip *out_ip,
                        int64_t *out_mac)
{
    struct mac parsed;
    const char *wrong = "is required";
    if (!ip_parse(address, out_ip, &wrong))
        refuse(c, PROBLEM_BAD_VALUE, STR("address"),
               STR_CONCAT(c->arena, STR("address "), str_from(wrong)));
    if (nic_parse_mac(c, mac, &parsed))
        *out_mac = (int64_t)mac_number(parsed);
    return !refused(c);
}

static network_range_ix lease_get_range(struct core *c, int64_t range_id, struct ip ip)
{
    const network_range_ix r = network_range_by_id(c, range_id);
    if (!r.v)
        refuse_missing(c, "range_id", "network range", range_id);
    else if (ip.family != IP_NONE && !ip_range_has(network_range_at(c, r)->addresses, ip))
        refuse(c, PROBLEM_BAD_VALUE, STR("address"), STR("address is not in the range"));
    return refused(c) ? (network_range_ix){0} : r;
}

static bool lease_refuse_taken(struct core *c)
{
    return refuse(c, PROBLEM_ADDRESS_TAKEN, STR("address"),
                  STR("the address is in use, or was freed or declined within the last hour"));
}

/* Boot servers are sent an entry only if it differs from the one before, and count the time of a
 * lease from then: two renewals of the same time differ by a millisecond. */
static void lease_renew(struct core *c, lease_ix l, int64_t left_ms)
{
    lease_set_time(c, l, lease_at(c, l)->left_ms == left_ms ? left_ms - 1 : left_ms);
}

/* A live lease is stored for several lease times and written again when less than half of that is
 * left, so that most renewals write nothing. */
void do_lease_take(struct core *c, const struct lease_take_command *p)
{
    struct ip ip = {0};
    int64_t mac = 0;
    if (p->lease_s < 1 || p->lease_s > LEASE_S_MAX)
        refuse(c, PROBLEM_BAD_VALUE, STR("lease_s"), STR("lease_s must be from 1 to 604800"));
    lease_parse(c, p->address, p->mac, &ip, &mac);
    const network_range_ix r = lease_get_range(c, p->range_id, ip);
    if (!r.v)
        return;
    if (network_refuse_deleting(c, network_range_at(c, r)->network, STR("range_id")))
        return;
    const int64_t lease_ms = (int64_t)p->lease_s * 1000;
    const lease_ix held = {address_find(c, ADDRESS_LEASE, ip)};
    const bool is_own =
        held.v && lease_at(c, held)->state == LEASE_LIVE && lease_at(c, held)->mac == mac;
    if (is_own) {
        c->out->id = lease_at(c, held)->o.id;
        if (lease_at(c, held)->deadline - c->mono_ms < RENEW_BELOW * lease_ms)
            lease_renew(c, held, RENEW_MULTIPLE * lease_ms);
        return;
    }
    if (address_find(c, ADDRESS_ALLOCATION, ip) || address_find(c, ADDRESS_ROUTER, ip) ||
        network_is_admin_address(c, ip, (node_ix){0}) ||
        (held.v && !lease_is_available(c, held, 0))) {
        lease_refuse_taken(c);
        return;
    }
    if (held.v)
        lease_destroy(c, held);
    const lease_ix l = lease_make(c, r, ip, LEASE_LIVE, RENEW_MULTIPLE * lease_ms);
    if (!l.v)
        return;
    lease_edit(c, l)->mac = mac;
    c->out->id = lease_at(c, l)->o.id;
}

/* A lease that the client does not have is not an error: the message may be a repetition. */
void do_lease_release(struct core *c, const struct lease_release_command *p)
{
    struct ip ip = {0};
    int64_t mac = 0;
    if (!lease_parse(c, p->address, p->mac, &ip, &mac))
        return;
    const lease_ix l = {address_find(c, ADDRESS_LEASE, ip)};
    if (l.v && lease_at(c, l)->state == LEASE_LIVE && lease_at(c, l)->mac == mac)
        lease_end(c, l);
}

/* Only the client that has the lease can decline it: otherwise a client could take all addresses
 * out of use. As for a release, a lease that the client does not have is not an error. */
void do_lease_decline(struct core *c, const struct lease_decline_command *p)
{
    struct ip ip = {0};
    int64_t mac = 0;
    lease_parse(c, p->address, p->mac, &ip, &mac);
    const network_range_ix r = lease_get_range(c, p->range_id, ip);
    const lease_ix held = {r.v ? address_find(c, ADDRESS_LEASE, ip) : 0};
    if (!held.v || lease_at(c, held)->state != LEASE_LIVE || lease_at(c, held)->mac != mac)
        return;
    lease_destroy(c, held);
    const lease_ix l = lease_make(c, r, ip, LEASE_DECLINED, REST_MS);
    if (!l.v)
        return;
    lease_edit(c, l)->mac = mac;
    c->out->id = lease_at(c, l)->o.id;
}

/* ---- time ---- */

/* After a load all leases begin again together, and those that no client renews end together. What
 * one step leaves over is due at once, so the next turn has another tick. */
void leases_tick(struct core *c)
{
    uint64_t key;
    uint32_t ix;
    for (uint32_t i = 0; i < ENDED_PER_STEP_MAX && omap_ceil(&c->lease_ends, 0, &key, &ix) &&
                         (int64_t)(key >> TIMER_BITS) <= c->mono_ms;
         i++)
        lease_end(c, (lease_ix){ix});
}

int64_t leases_next_deadline(const struct core *c)
{
    uint64_t key;
    uint32_t ix;
    return omap_ceil(&c->lease_ends, 0, &key, &ix) ? (int64_t)(key >> TIMER_BITS) : -1;
}

/* ---- load ---- */

bool lease_fill(const struct core *c, struct lease *row, const struct lease_record *r)
{
    const char *wrong;
    return row->range.v && r->id < ADDRESS_ID_MAX && r->state < LEASE_STATE_COUNT &&
           (r->state == LEASE_FREED ? r->mac == 0 && r->node_id > 0
                                    : r->mac > 0 && r->mac >> 48 == 0 && r->node_id == 0) &&
           r->left_ms >= 0 && r->left_ms <= RENEW_MULTIPLE * LEASE_S_MAX * INT64_C(1000) &&
           ip_parse(r->address, &row->at.ip, &wrong) &&
           ip_range_has(network_range_at(c, row->range)->addresses, row->at.ip) &&
           !address_find(c, ADDRESS_LEASE, row->at.ip) &&
           !address_find(c, ADDRESS_ALLOCATION, row->at.ip);
}

void lease_index(struct core *c, lease_ix l)
{
    const struct lease *lease = lease_at(c, l);
    address_add(c, ADDRESS_LEASE, l.v);
    address_add_to_range(c, lease->range, TABLE_LEASE, lease->o.id, l.v);
    if (lease->state == LEASE_LIVE)
        network_range_derive(c, lease->range)->live_count++;
}

void leases_load(struct core *c)
{
    const struct pool *leases = &c->tables[TABLE_LEASE].pool;
    for (uint32_t ix = pool_next(leases, 0); ix; ix = pool_next(leases, ix)) {
        struct lease *lease = lease_derive(c, (lease_ix){ix});
        lease->deadline = c->mono_ms + lease->left_ms;
        if (lease->state == LEASE_LIVE)
            omap_put(&c->lease_ends, lease_timer_key(c, (lease_ix){ix}), ix);
    }
}

const char *leases_check(const struct core *c)
{
    const struct pool *leases = &c->tables[TABLE_LEASE].pool;
    uint32_t live = 0, counted = 0;
    for (uint32_t ix = pool_next(leases, 0); ix; ix = pool_next(leases, ix)) {
        const lease_ix l = {ix};
        if (lease_at(c, l)->state != LEASE_LIVE)
            continue;
        live++;
        if (omap_find(&c->lease_ends, lease_timer_key(c, l)) != ix)
            return "C16: a live lease has no timer";
    }
    if (live != c->lease_ends.count)
        return "C16: a timer has no live lease";
    const struct pool *ranges = &c->tables[TABLE_NETWORK_RANGE].pool;
    for (uint32_t ix = pool_next(ranges, 0); ix; ix = pool_next(ranges, ix))
        counted += network_range_at(c, (network_range_ix){ix})->live_count;
    return counted == live ? NULL : "C16: the counts of live leases are wrong";
}
