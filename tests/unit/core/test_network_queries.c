/* Goal: the read queries about networks, ranges, addresses and interfaces find what their
 * declarations in core.h state, and nothing for ids that do not exist. Method: two networks with
 * ranges that overlap and ranges that do not, and one row of each kind in each place. */
#include "tests/unit/core/network_world.h"

static const char mac[] = "52:54:00:00:00:0a";

/* Networks `net` (host, admin, host-v6; category admin) and `loose` (host, other), node n1. */
static struct world *open_with_two(void)
{
    struct world *w = world_open();
    DONE(w, cmd_network_of(w, "net", "admin", true,
                           "[{'name':'host','first':'10.1.0.10/24','last':'10.1.0.14/24'},"
                           "{'name':'admin','first':'10.1.0.1/24','last':'10.1.0.3/24'},"
                           "{'name':'host-v6','first':'fd00::1/64','last':'fd00::9/64'}]"));
    DONE(w, with(cmd_network_of(w, "loose", "general", false,
                                "[{'name':'host','first':'10.0.0.1/8','last':'10.1.0.99/8',"
                                "'overlap':true},"
                                "{'name':'other','first':'11.0.0.1/8','last':'11.0.0.9/8',"
                                "'overlap':true}]"),
                 "conduit", "1g1"));
    world_node(w, "n1", NULL);
    return w;
}

static int64_t find_range(struct world *w, const char *name)
{
    return core_find(w->core, TABLE_NETWORK_RANGE, str_from(name));
}

static struct ip ip_of(const char *text)
{
    struct ip ip;
    const char *wrong;
    CHECK(ip_parse(str_from(text), &ip, &wrong));
    return ip;
}

static int64_t network_of(struct world *w, const char *address, const char *category)
{
    return core_network_of_address(w->core, ip_of(address), str_from(category));
}

TEST(a_range_is_found_by_its_name_if_no_other_network_has_one_of_that_name)
{
    struct world *w = open_with_two();
    CHECK(find_range(w, "net.host") == range_named(w, "net", "host"));
    CHECK(find_range(w, "loose.host") == range_named(w, "loose", "host"));
    CHECK(find_range(w, "LOOSE.Host") == range_named(w, "loose", "host"));
    CHECK(find_range(w, "other") == range_named(w, "loose", "other"));
    CHECK(find_range(w, "host-v6") == range_named(w, "net", "host-v6"));
    static const char *const wrong[] = {"host",  "none", "net.none", "none.host",  "net.",
                                        ".host", ".",    "",         "net.host.x", "et.host"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(find_range(w, wrong[i]) == 0);
    world_close(w);
}

TEST(the_network_of_an_address_is_the_one_whose_range_overlaps_no_other)
{
    struct world *w = open_with_two();
    CHECK(network_of(w, "10.1.0.10", "") == 1 && network_of(w, "10.1.0.3", "") == 1);
    CHECK(network_of(w, "10.1.0.9", "") == 2 && network_of(w, "11.0.0.9", "general") == 2);
    CHECK(network_of(w, "10.1.0.10", "general") == 2 && network_of(w, "10.1.0.9", "admin") == 0);
    CHECK(network_of(w, "fd00::9", "admin") == 1 && network_of(w, "fd00::a", "") == 0);
    CHECK(network_of(w, "12.0.0.1", "") == 0);
    /* Of several networks that overlap, the oldest one. */
    DONE(w, with(cmd_network_of(w, "slack", "general", false,
                                "[{'name':'any','first':'10.0.0.1/8','last':'10.1.0.99/8',"
                                "'overlap':true}]"),
                 "conduit", "1g2"));
    CHECK(network_of(w, "10.1.0.9", "") == 2);
    DONE(w, CMD(NETWORK_DELETE, network_delete, .id = 2));
    CHECK(network_of(w, "10.1.0.9", "") == 3);
    world_close(w);
}

TEST(the_row_of_an_address_is_found_by_its_kind)
{
    struct world *w = open_with_two();
    const int64_t host = range_named(w, "net", "host");
    const int64_t a = DONE(w, cmd_allocate_address(w, "n1", host, "10.1.0.10"));
    const int64_t l = DONE(w, CMD(LEASE_TAKE, lease_take, .range_id = host, .lease_s = 600,
                                  .address = STR("10.1.0.11"), .mac = str_from(mac)));
    const int64_t r = DONE(w, CMD(NETWORK_ROUTER_CREATE, network_router_create, .network_id = 1,
                                  .address = STR("10.1.0.10"), .given = GIVEN_ROUTER_ADDRESS));
    const struct core *c = w->core;
    CHECK(core_address_row(c, TABLE_NETWORK_ALLOCATION, ip_of("10.1.0.10/8")) == a);
    CHECK(core_address_row(c, TABLE_NETWORK_ROUTER, ip_of("10.1.0.10")) == r);
    CHECK(core_address_row(c, TABLE_LEASE, ip_of("10.1.0.11/24")) == l);
    CHECK(core_address_row(c, TABLE_LEASE, ip_of("10.1.0.10")) == 0);
    CHECK(core_address_row(c, TABLE_NETWORK_ROUTER, ip_of("10.1.0.11")) == 0);
    CHECK(core_lease_end(c, l) == w->now_ms - 1000 + 4 * 600 * 1000 && core_lease_end(c, 99) == 0);
    CHECK(core_router_of(c, 1) == r && core_router_of(c, 2) == 0 && core_router_of(c, 99) == 0);
    world_close(w);
}

TEST(lists_contain_what_belongs_to_their_owner)
{
    struct world *w = open_with_two();
    struct arena *a = &w->arena;
    const struct core *c = w->core;
    uint32_t count;
    world_node(w, "n2", NULL);
    const int64_t host = range_named(w, "net", "host"), admin = range_named(w, "net", "admin");
    const int64_t second = DONE(w, cmd_allocate(w, "n2", host));
    const int64_t first = DONE(w, cmd_allocate(w, "n1", admin));
    const int64_t loose =
        DONE(w, cmd_suggest(w, "n1", range_named(w, "loose", "other"), "11.0.0.5"));
    const int64_t *ids = core_allocations_of(c, TABLE_NETWORK, 1, a, &count);
    CHECK(count == 2 && ids[0] == second && ids[1] == first);
    ids = core_allocations_of(c, TABLE_NETWORK, 2, a, &count);
    CHECK(count == 1 && ids[0] == loose);
    ids = core_allocations_of(c, TABLE_NETWORK_RANGE, admin, a, &count);
    CHECK(count == 1 && ids[0] == first);
    ids = core_allocations_of(c, TABLE_NODE, the_node(w, "n1"), a, &count);
    CHECK(count == 2 && ids[0] == first && ids[1] == loose);
    static const enum table owners[] = {TABLE_NETWORK, TABLE_NETWORK_RANGE, TABLE_NODE};
    for (int i = 0; i < 3; i++) {
        core_allocations_of(c, owners[i], 99, a, &count);
        CHECK(count == 0);
    }
    ids = core_ranges_of(c, 2, a, &count);
    CHECK(count == 2 && ids[0] == range_named(w, "loose", "host"));
    core_ranges_of(c, 99, a, &count);
    CHECK(count == 0);

    /* Interfaces. */
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("n3.example.com"), .mac = str_from(mac)));
    ids = core_nics_of(c, the_node(w, "n3"), a, &count);
    CHECK(count == 1 && core_nic_of_mac(c, 0x52540000000a) == ids[0]);
    core_nics_of(c, 99, a, &count);
    CHECK(count == 0 && core_nic_of_mac(c, 0x52540000000b) == 0);
    world_close(w);
}

TEST(the_default_ranges_of_a_node_depend_on_its_kind)
{
    struct world *w = open_with_two();
    int64_t ids[AUTO_RANGES_MAX];
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("boss.example.com"), .admin = true));
    const int64_t n1 = the_node(w, "n1"), boss = the_node(w, "boss");
    CHECK(core_auto_ranges(w->core, 1, n1, ids) == 2);
    CHECK(ids[0] == range_named(w, "net", "host") && ids[1] == range_named(w, "net", "host-v6"));
    CHECK(core_auto_ranges(w->core, 1, boss, ids) == 2 && ids[0] == range_named(w, "net", "admin"));
    CHECK(core_auto_ranges(w->core, 2, boss, ids) == 1 &&
          ids[0] == range_named(w, "loose", "host"));
    CHECK(core_auto_ranges(w->core, 99, n1, ids) == 0 &&
          core_auto_ranges(w->core, 1, 99, ids) == 0);
    world_close(w);
}

TEST(the_usage_of_a_range_counts_each_address_once)
{
    struct world *w = open_with_two();
    struct range_usage u;
    const int64_t host = range_named(w, "net", "host");
    static const char *const routers[] = {"10.1.0.10", "10.1.0.12"};
    CHECK(core_range_usage(w->core, host, &u) && u.size == 5 && u.free == 5);
    CHECK(u.allocated == 0 && u.leased == 0 && u.resting == 0 && u.routers == 0);
    for (int64_t i = 0; i < 2; i++)
        DONE(w, CMD(NETWORK_ROUTER_CREATE, network_router_create, .network_id = i + 1,
                    .address = str_from(routers[i]), .given = GIVEN_ROUTER_ADDRESS));
    DONE(w, cmd_allocate_address(w, "n1", host, "10.1.0.10")); /* the router as well */
    DONE(w, CMD(LEASE_TAKE, lease_take, .range_id = host, .lease_s = 600,
                .address = STR("10.1.0.11"), .mac = str_from(mac)));
    CHECK(core_range_usage(w->core, host, &u) && u.size == 5);
    CHECK(u.allocated == 1 && u.leased == 1 && u.resting == 0 && u.routers == 1 && u.free == 2);
    deallocate(w, "n1");
    DONE(w, CMD(NETWORK_ROUTER_UPDATE, network_router_update, .id = 1, .address = STR("10.1.0.12"),
                .given = GIVEN_ROUTER_ADDRESS)); /* two routers with one address */
    CHECK(core_range_usage(w->core, host, &u));
    CHECK(u.allocated == 0 && u.leased == 1 && u.resting == 1 && u.routers == 1 && u.free == 2);
    CHECK(!core_range_usage(w->core, 99, &u));
    world_close(w);
}

TEST(a_range_shows_the_settings_that_it_inherits)
{
    struct world *w = open_with_two();
    struct record record;
    CHECK(core_record(w->core, TABLE_NETWORK_RANGE, range_named(w, "loose", "host"), &record));
    CHECK(record.network_range.conduit.len == 0);
    core_range_inherit(w->core, &record.network_range);
    CHECK(str_eq(record.network_range.conduit, STR("1g1")) && record.network_range.team_mode == 5);
    CHECK(!record.network_range.use_bridge && !record.network_range.use_vlan);
    DONE(w, CMD(NETWORK_UPDATE, network_update, .id = 2, .vlan = 9, .use_vlan = true,
                .use_bridge = true, .use_team = true, .team_mode = 6, .conduit = STR("1g1,1g2"),
                .given = GIVEN_NETWORK_VLAN | GIVEN_NETWORK_USE_VLAN | GIVEN_NETWORK_USE_BRIDGE |
                         GIVEN_NETWORK_USE_TEAM | GIVEN_NETWORK_TEAM_MODE | GIVEN_NETWORK_CONDUIT));
    core_range_inherit(w->core, &record.network_range);
    CHECK(record.network_range.use_bridge && record.network_range.use_vlan);
    CHECK(record.network_range.use_team && record.network_range.team_mode == 6);
    CHECK(record.network_range.vlan == 9);
    record.network_range.id = 99;
    record.network_range.conduit = STR("");
    core_range_inherit(w->core, &record.network_range);
    CHECK(record.network_range.conduit.len == 0);
    world_close(w);
}
