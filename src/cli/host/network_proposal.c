#include "cli/host/network_proposal.h"

/* Division of a subnet into ranges. Pure; owns nothing.
 *
 * Order: the range admin is chosen first, because it must have the address of the host; then what
 * is left between it, the router and the ends of the subnet is compared. In a subnet of 16
 * addresses the largest part has at least 4 of them, so both other ranges have at least 2.
 *
 * Failure: an address that is not an address of a host in an IPv4 subnet of at least 16 addresses
 * is refused with the reason. */

enum { DHCP_MIN = 2, DHCP_MAX = 1024, DHCP_PART = 4 };

/* The address beside `ip`, upwards or downwards; false if it is not usable for a machine. */
static bool proposal_next(const struct network_proposal *p, struct ip ip, bool is_up,
                          struct ip *out)
{
    if (!(is_up ? ip_add(ip, 1, out) : ip_sub(ip, 1, out)))
        return false;
    return ip_is_in_subnet(*out, p->subnet) && ip_cmp(*out, p->subnet) != 0 &&
           ip_cmp(*out, ip_subnet_last(p->subnet)) != 0 &&
           (p->router.family == IP_NONE || ip_cmp(*out, p->router) != 0);
}

/* Extend the range admin by one address. */
static void proposal_choose_admin(struct network_proposal *p, struct ip host)
{
    struct ip beside;
    p->admin = (struct ip_range){host, host};
    if (proposal_next(p, host, true, &beside))
        p->admin.last = beside;
    else if (proposal_next(p, host, false, &beside))
        p->admin.first = beside;
}

/* Remember the addresses from `first` up to the one before `end`, if they are more than those of
 * *best. */
static void proposal_compare(struct ip first, struct ip end, struct ip_range *best,
                             uint64_t *best_count)
{
    struct ip last;
    if (ip_cmp(first, end) >= 0 || !ip_sub(end, 1, &last))
        return;
    const uint64_t count = ip_range_count((struct ip_range){first, last});
    if (count > *best_count) {
        *best = (struct ip_range){first, last};
        *best_count = count;
    }
}

const char *network_proposal_make(struct ip host, struct ip router, struct network_proposal *out)
{
    if (host.family != IP_V4)
        return "is not an IPv4 address";
    if (host.prefix > PROPOSAL_PREFIX_MAX)
        return "is in a subnet with less than 16 addresses, which is too small for the ranges "
               "admin, dhcp and host; use a /28 or a larger one";
    if (ip_cmp(host, ip_subnet(host)) == 0 || ip_cmp(host, ip_subnet_last(host)) == 0)
        return "is not an address of a host";
    struct network_proposal p = {.subnet = ip_subnet(host)};
    if (router.family == IP_V4 && ip_is_in_subnet(router, host) && ip_cmp(router, host) != 0)
        p.router = ip_with_prefix(router, host.prefix);
    proposal_choose_admin(&p, host);

    /* Walk over the used addresses in ascending order and compare the gaps between them. */
    const bool has_router = p.router.family != IP_NONE;
    const bool is_router_first = has_router && ip_cmp(p.router, p.admin.first) < 0;
    const struct ip_range none = {ip_subnet_last(host), ip_subnet_last(host)};
    const struct ip_range routers = has_router ? (struct ip_range){p.router, p.router} : none;
    const struct ip_range used[] = {is_router_first ? routers : p.admin,
                                    is_router_first ? p.admin : routers};
    struct ip_range best = {{0}, {0}};
    struct ip at;
    uint64_t count = 0;
    if (!ip_add(p.subnet, 1, &at))
        return "is at the end of the address space";
    for (uint32_t i = 0; i < 2; i++) {
        proposal_compare(at, used[i].first, &best, &count);
        if (!ip_add(used[i].last, 1, &at))
            at = used[i].last;
    }
    proposal_compare(at, ip_subnet_last(host), &best, &count);

    /* Divide the largest gap. */
    uint64_t dhcp = count / DHCP_PART;
    dhcp = dhcp < DHCP_MIN ? DHCP_MIN : dhcp > DHCP_MAX ? DHCP_MAX : dhcp;
    p.dhcp.first = best.first;
    p.host.last = best.last;
    if (count < 2 * DHCP_MIN || !ip_add(best.first, dhcp - 1, &p.dhcp.last) ||
        !ip_add(best.first, dhcp, &p.host.first))
        return "leaves too few addresses between it and the router";
    *out = p;
    return NULL;
}
