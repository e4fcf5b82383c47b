/* Goal: a subnet is divided so that no range has the host's own address (except admin), the router,
 * or an address that no machine can have.
 * Method: the worked examples, and every host and router in subnets of 16 and 32 addresses, checked
 * against these rules. */
#include "cli/host/network_proposal.h"

#include <string.h>

#include "tests/check.h"

static struct ip ip_of(const char *text)
{
    struct ip ip = {0};
    const char *wrong;
    CHECK(ip_parse(str_from(text), &ip, &wrong));
    return ip;
}

static void expect_range(struct ip_range range, const char *first, const char *last)
{
    CHECK(ip_eq(range.first, ip_of(first)));
    CHECK(ip_eq(range.last, ip_of(last)));
}

TEST(a_subnet_of_256_addresses_has_room_for_all)
{
    struct network_proposal p;
    CHECK(!network_proposal_make(ip_of("192.168.124.10/24"), ip_of("192.168.124.1"), &p));
    expect_range(p.admin, "192.168.124.10/24", "192.168.124.11/24");
    expect_range(p.dhcp, "192.168.124.12/24", "192.168.124.71/24");
    expect_range(p.host, "192.168.124.72/24", "192.168.124.254/24");
    CHECK(ip_eq(p.router, ip_of("192.168.124.1/24")));
    CHECK(ip_eq(p.subnet, ip_of("192.168.124.0/24")));
}

TEST(the_larger_part_of_the_subnet_is_used)
{
    struct network_proposal p;
    CHECK(!network_proposal_make(ip_of("10.1.0.254/24"), (struct ip){0}, &p));
    expect_range(p.admin, "10.1.0.253/24", "10.1.0.254/24");
    expect_range(p.dhcp, "10.1.0.1/24", "10.1.0.63/24");
    expect_range(p.host, "10.1.0.64/24", "10.1.0.252/24");
    CHECK(p.router.family == IP_NONE);
}

TEST(the_range_dhcp_of_a_large_subnet_is_bounded)
{
    struct network_proposal p;
    CHECK(!network_proposal_make(ip_of("10.0.0.1/8"), ip_of("10.255.255.254"), &p));
    CHECK(ip_range_count(p.dhcp) == 1024);
    expect_range(p.host, "10.0.4.3/8", "10.255.255.253/8");
}

TEST(a_router_elsewhere_is_left_out)
{
    struct network_proposal p;
    CHECK(!network_proposal_make(ip_of("10.1.0.5/24"), ip_of("10.2.0.1"), &p));
    CHECK(p.router.family == IP_NONE);
    CHECK(!network_proposal_make(ip_of("10.1.0.5/24"), ip_of("10.1.0.5"), &p));
    CHECK(p.router.family == IP_NONE);
    CHECK(!network_proposal_make(ip_of("10.1.0.5/24"), ip_of("fd00::1"), &p));
    CHECK(p.router.family == IP_NONE);
}

TEST(what_cannot_be_divided_is_refused_with_the_reason)
{
    struct network_proposal p;
    const char *why = network_proposal_make(ip_of("10.1.0.5/29"), (struct ip){0}, &p);
    CHECK(why && strstr(why, "/28"));
    CHECK(network_proposal_make(ip_of("10.1.0.5"), (struct ip){0}, &p) != NULL);
    CHECK(network_proposal_make(ip_of("fd00::5/64"), (struct ip){0}, &p) != NULL);
    CHECK(network_proposal_make(ip_of("10.1.0.0/24"), (struct ip){0}, &p) != NULL);
    CHECK(network_proposal_make(ip_of("10.1.0.255/24"), (struct ip){0}, &p) != NULL);
    CHECK(network_proposal_make((struct ip){0}, (struct ip){0}, &p) != NULL);
}

static bool is_usable(const struct network_proposal *p, struct ip_range range)
{
    return ip_cmp(range.first, range.last) <= 0 && ip_is_in_subnet(range.first, p->subnet) &&
           ip_is_in_subnet(range.last, p->subnet) && ip_cmp(range.first, p->subnet) != 0 &&
           ip_cmp(range.last, ip_subnet_last(p->subnet)) != 0 &&
           range.first.prefix == p->subnet.prefix && range.last.prefix == p->subnet.prefix;
}

/* Every host with every router, and without one. */
static void check_subnet(uint8_t prefix)
{
    const uint64_t size = 1u << (32 - prefix);
    for (uint64_t h = 1; h < size - 1; h++)
        for (uint64_t r = 0; r < size - 1; r++) {
            const struct ip host = {.lo = 0x0a000000 + h, .family = IP_V4, .prefix = prefix};
            const struct ip router = {.lo = 0x0a000000 + r, .family = IP_V4, .prefix = 32};
            struct network_proposal p;
            CHECK(!network_proposal_make(host, r ? router : (struct ip){0}, &p));
            CHECK(is_usable(&p, p.admin) && is_usable(&p, p.dhcp) && is_usable(&p, p.host));
            CHECK(ip_range_has(p.admin, host) && ip_range_count(p.admin) <= 2);
            CHECK(!ip_range_has(p.dhcp, host) && !ip_range_has(p.host, host));
            CHECK(!ip_range_intersects(p.admin, p.dhcp) && !ip_range_intersects(p.admin, p.host) &&
                  !ip_range_intersects(p.dhcp, p.host));
            CHECK(ip_range_count(p.dhcp) >= 2 && ip_range_count(p.host) >= 2);
            if (p.router.family != IP_NONE)
                CHECK(!ip_range_has(p.admin, router) && !ip_range_has(p.dhcp, router) &&
                      !ip_range_has(p.host, router));
        }
}

TEST(no_range_has_what_is_in_use)
{
    check_subnet(28);
    check_subnet(27);
}
