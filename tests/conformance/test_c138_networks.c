/* Goal: cases 138 to 151, 158 and 160 to 164 of docs/spec/cases.md, and the rules of 152 to 157
 * that do not concern HTTP: networks, ranges, routers and addresses (docs/spec/networks.md).
 * Method: commands to a core in memory; records, problems and addresses are checked. */
#include "tests/world/world.h"

#include "base/hash/md5.h"
#include "base/net/ip.h"

#include <stdio.h>
#include <string.h>

/* ---- commands and reads ---- */

static struct command cmd_network(const char *name, const char *conduit)
{
    return CMD(NETWORK_CREATE, network_create, .name = str_from(name),
               .given = GIVEN_NETWORK_CONDUIT, .conduit = str_from(conduit));
}

static struct command cmd_team(const char *name, const char *conduit)
{
    struct command command = cmd_network(name, conduit);
    command.network_create.given |= GIVEN_NETWORK_USE_TEAM;
    command.network_create.use_team = true;
    return command;
}

static struct command cmd_range(int64_t network, const char *name, const char *first,
                                const char *last)
{
    return CMD(NETWORK_RANGE_CREATE, network_range_create, .network_id = network,
               .given = GIVEN_RANGE_NAME | GIVEN_RANGE_FIRST | GIVEN_RANGE_LAST,
               .name = str_from(name), .first = str_from(first), .last = str_from(last));
}

static struct command cmd_allocate(struct world *w, const char *node, int64_t range)
{
    return CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(w, node), .range_id = range);
}

static int64_t network_named(struct world *w, const char *name)
{
    const int64_t id = core_find(w->core, TABLE_NETWORK, str_from(name));
    CHECK(id != 0);
    return id;
}

static struct network_record read_network(struct world *w, const char *name)
{
    struct record record;
    CHECK(core_record(w->core, TABLE_NETWORK, network_named(w, name), &record));
    return record.network;
}

static struct network_range_record read_range(struct world *w, const char *network,
                                              const char *name)
{
    struct record record;
    for (int64_t id = 0; (id = core_next_id(w->core, TABLE_NETWORK_RANGE, id)) != 0;) {
        CHECK(core_record(w->core, TABLE_NETWORK_RANGE, id, &record));
        if (record.network_range.network_id == network_named(w, network) &&
            str_eq(record.network_range.name, str_from(name)))
            return record.network_range;
    }
    world_fail(HERE, "%s has no range %s", network, name);
    return record.network_range;
}

static struct network_router_record read_router(struct world *w)
{
    struct record record;
    CHECK(core_record(w->core, TABLE_NETWORK_ROUTER, core_next_id(w->core, TABLE_NETWORK_ROUTER, 0),
                      &record));
    return record.network_router;
}

/* The addresses of the node, in the order of their allocation: "10.0.0.1/24 fd00::1/64"; "none". */
static const char *addresses(struct world *w, const char *node)
{
    struct record record;
    struct buf list = buf_in(&w->arena);
    for (int64_t id = 0; (id = core_next_id(w->core, TABLE_NETWORK_ALLOCATION, id)) != 0;) {
        CHECK(core_record(w->core, TABLE_NETWORK_ALLOCATION, id, &record));
        if (record.network_allocation.node_id != the_node(w, node))
            continue;
        if (buf_str(&list).len)
            buf_put_str(&list, STR(" "));
        buf_put_str(&list, record.network_allocation.address);
    }
    return buf_str(&list).len ? shown(w, buf_str(&list)) : "none";
}

static uint32_t problems(const struct world *w, enum problem_code code, const char *field)
{
    uint32_t count = 0;
    for (const struct problem *p = w->out.problems; p; p = p->next)
        count += p->code == code && str_eq(p->field, str_from(field));
    return count;
}

/* The network `admin` with the ranges of a new installation. */
static struct world *open_with_admin(void)
{
    struct world *w = world_open();
    struct command command = cmd_network("admin", "1g0");
    struct network_create_command *p = &command.network_create;
    p->given |= GIVEN_NETWORK_CATEGORY | GIVEN_NETWORK_GROUP | GIVEN_NETWORK_V6PREFIX;
    p->category = STR("admin");
    p->group = STR("internal");
    p->v6prefix = STR("auto");
    p->ranges = world_json(w, "[{'name':'admin','first':'192.168.124.10/24',"
                              "'last':'192.168.124.11/24'},"
                              "{'name':'dhcp','first':'192.168.124.21/24',"
                              "'last':'192.168.124.80/24'},"
                              "{'name':'host','first':'192.168.124.81/24',"
                              "'last':'192.168.124.254/24'}]");
    p->router = world_json(w, "{'address':'192.168.124.10/24','pref':10}");
    DONE(w, command);
    return w;
}

/* ---- networks ---- */

TEST(c138_a_network_needs_a_name_a_deployment_and_a_conduit)
{
    struct world *w = world_open();
    HAS(REFUSED(w, cmd_network("", "1g0"), NETWORK_INVALID, "name"), "Network : name is required");
    HAS(REFUSED(w, cmd_network("net", ""), NETWORK_INVALID, "conduit"), "conduit is required");
    struct command command = cmd_network("net", "1g0");
    command.network_create.deployment_id = 99;
    REFUSED(w, command, NOT_FOUND, "deployment_id");
    command.network_create.name = STR("");
    command.network_create.given = 0;
    REFUSED(w, command, NONE, NULL);
    CHECK(problems(w, PROBLEM_NETWORK_INVALID, "name") == 1);
    CHECK(problems(w, PROBLEM_NETWORK_INVALID, "conduit") == 1);
    CHECK(problems(w, PROBLEM_NOT_FOUND, "deployment_id") == 1);
    world_close(w);
}

TEST(c139_the_category_is_general_by_default)
{
    struct world *w = world_open();
    DONE(w, cmd_network("net", "1g0"));
    CHECK(str_eq(read_network(w, "net").category, STR("general")));
    world_close(w);
}

TEST(c140_names_of_a_conduit_that_are_wrong_are_listed)
{
    static const char *const wrong[] = {"cow", "?1c3", "?1gd", "x1g3"};
    struct world *w = world_open();
    for (int i = 0; i < 4; i++)
        HAS(REFUSED(w, cmd_network("net", wrong[i]), NETWORK_INVALID, "conduit"), wrong[i]);
    const char *text =
        REFUSED(w, cmd_team("net", "cow, ?1c3, ?1gd, x1g3"), NETWORK_INVALID, "conduit");
    HAS(text, "cow, ?1c3, ?1gd, x1g3");
    world_close(w);
}

TEST(c141_two_interfaces_need_a_team)
{
    struct world *w = world_open();
    REFUSED(w, cmd_network("net", "1g4,1g5"), NETWORK_INVALID, "conduit");
    DONE(w, cmd_team("net", "1g4,1g5"));
    world_close(w);
}

TEST(c142_a_team_has_two_to_eight_members_of_one_speed)
{
    struct world *w = world_open();
    HAS(REFUSED(w, cmd_team("net", "1g2,1k0"), NETWORK_INVALID, "conduit"), "1k0");
    HAS(REFUSED(w, cmd_team("net", "1g3,1m0"), NETWORK_INVALID, "conduit"), "one speed");
    HAS(REFUSED(w, cmd_team("net", "1g0,1g1,1g2,1g3,1g4,1g5,1g6,1g7,1g8"), NETWORK_INVALID,
                "conduit"),
        "at most 8");
    HAS(REFUSED(w, cmd_team("net", "1g0"), NETWORK_INVALID, "conduit"), "2 to 8");
    REFUSED(w, cmd_team("net", ""), NETWORK_INVALID, "conduit");
    HAS(world_trouble(w), "conduit is required");
    HAS(world_trouble(w), "2 to 8");
    CHECK(problems(w, PROBLEM_NETWORK_INVALID, "conduit") == 2);
    DONE(w, cmd_team("net", "1g0,1g1,1g2,1g3,1g4,1g5,1g6,1g7"));
    world_close(w);
}

TEST(c143_a_team_that_overlaps_two_networks_gives_two_messages)
{
    struct world *w = world_open();
    DONE(w, cmd_network("one", "1g2"));
    DONE(w, cmd_network("two", "1g3"));
    REFUSED(w, cmd_team("net", "1g2,1g3"), CONDUIT_OVERLAP, "conduit");
    CHECK(problems(w, PROBLEM_CONDUIT_OVERLAP, "conduit") == 2);
    HAS(world_trouble(w), "network one");
    HAS(world_trouble(w), "network two");
    world_close(w);
}

TEST(c144_a_vlan_is_checked_only_if_it_is_used)
{
    static const int64_t wrong[] = {-12, 0, 4095, 4096, 50000};
    struct world *w = world_open();
    char name[16];
    struct command command = cmd_network("net", "1g0");
    struct network_create_command *p = &command.network_create;
    p->given |= GIVEN_NETWORK_VLAN | GIVEN_NETWORK_USE_VLAN;
    for (int i = 0; i < 5; i++) {
        p->vlan = wrong[i];
        p->use_vlan = true;
        REFUSED(w, command, NETWORK_INVALID, "vlan");
        p->use_vlan = false;
        snprintf(name, sizeof name, "net%d", i);
        p->name = str_from(name);
        DONE(w, command);
    }
    p->name = STR("good");
    p->vlan = 3;
    p->use_vlan = true;
    DONE(w, command);
    world_close(w);
}

TEST(c145_a_bonding_mode_is_checked_only_if_it_is_used)
{
    static const int64_t wrong[] = {-12, 7, -1, 100};
    struct world *w = world_open();
    char name[16];
    for (int i = 0; i < 4; i++) {
        struct command command = cmd_team("net", "1g0,1g1");
        command.network_create.given |= GIVEN_NETWORK_TEAM_MODE;
        command.network_create.team_mode = wrong[i];
        REFUSED(w, command, NETWORK_INVALID, "team_mode");
        command.network_create.use_team = false;
        command.network_create.conduit = STR("1g5");
        snprintf(name, sizeof name, "net%d", i);
        command.network_create.name = str_from(name);
        DONE(w, command);
    }
    world_close(w);
}

/* ---- ranges ---- */

TEST(c146_a_range_needs_a_network_and_a_name)
{
    struct world *w = world_open();
    const int64_t net = DONE(w, cmd_network("net", "1g0"));
    REFUSED(w, cmd_range(0, "host", "10.0.0.10/24", "10.0.0.20/24"), NOT_FOUND, "network_id");
    HAS(REFUSED(w, cmd_range(net, "", "10.0.0.10/24", "10.0.0.20/24"), NETWORK_INVALID, "name"),
        "name is required");
    DONE(w, cmd_range(net, "host", "10.0.0.10/24", "10.0.0.20/24"));
    world_close(w);
}

TEST(c147_ranges_overlap_only_where_machines_are_not_configured)
{
    for (int order = 0; order < 2; order++) {
        struct world *w = world_open();
        const int64_t net = DONE(w, cmd_network("net", "1g0"));
        struct command loose = cmd_network("loose", "1g1");
        loose.network_create.given |= GIVEN_NETWORK_CONFIGURE;
        struct command over = cmd_range(DONE(w, loose), "over", "10.0.0.10/24", "10.0.0.20/24");
        over.network_range_create.given |= GIVEN_RANGE_OVERLAP;
        over.network_range_create.overlap = true;
        const struct command plain = cmd_range(net, "plain", "10.0.0.10/24", "10.0.0.20/24");
        struct command wrong = over;
        wrong.network_range_create.network_id = net;
        REFUSED(w, wrong, NETWORK_INVALID, "overlap");
        DONE(w, order ? over : plain);
        DONE(w, order ? plain : over);
        world_close(w);
    }
}

TEST(c148_first_and_last_are_of_one_family_mask_and_subnet)
{
    struct world *w = world_open();
    const int64_t net = DONE(w, cmd_network("net", "1g0"));
    REFUSED(w, cmd_range(net, "host", "10.0.0.10/24", "fd00::10/64"), NETWORK_INVALID, "last");
    HAS(world_trouble(w), "one family");
    HAS(world_trouble(w), "same subnet");
    HAS(REFUSED(w, cmd_range(net, "host", "10.0.0.10/24", "10.0.0.13/28"), NETWORK_INVALID, "last"),
        "same netmask");
    HAS(REFUSED(w, cmd_range(net, "host", "10.0.0.10/24", "10.0.1.20/24"), NETWORK_INVALID, "last"),
        "same subnet");
    HAS(REFUSED(w, cmd_range(net, "host", "10.0.0.20/24", "10.0.0.10/24"), NETWORK_INVALID, "last"),
        "lower than first");
    world_close(w);
}

TEST(c149_subnet_and_broadcast_addresses_are_no_limits)
{
    static const struct {
        const char *first, *last, *field;
    } table[] = {{"10.0.0.0/24", "10.0.0.20/24", "first"},
                 {"10.0.0.10/24", "10.0.0.255/24", "last"},
                 {"10.0.0.255/24", "10.0.0.255/24", "last"},
                 {"10.0.0.0/24", "10.0.0.0/24", "first"}};
    struct world *w = world_open();
    const int64_t net = DONE(w, cmd_network("net", "1g0"));
    for (int i = 0; i < 4; i++)
        REFUSED(w, cmd_range(net, "host", table[i].first, table[i].last), NETWORK_INVALID,
                table[i].field);
    world_close(w);
}

TEST(c150_an_overlap_is_reported_for_the_address_that_clashes)
{
    struct world *w = world_open();
    const int64_t net = DONE(w, cmd_network("net", "1g0"));
    DONE(w, cmd_range(net, "host", "10.0.0.100/24", "10.0.0.150/24"));
    REFUSED(w, cmd_range(net, "more", "10.0.0.120/24", "10.0.0.200/24"), RANGE_OVERLAP, "first");
    CHECK(problems(w, PROBLEM_RANGE_OVERLAP, "last") == 0);
    REFUSED(w, cmd_range(net, "more", "10.0.0.50/24", "10.0.0.120/24"), RANGE_OVERLAP, "last");
    CHECK(problems(w, PROBLEM_RANGE_OVERLAP, "first") == 0);
    REFUSED(w, cmd_range(net, "more", "10.0.0.110/24", "10.0.0.120/24"), RANGE_OVERLAP, "first");
    CHECK(problems(w, PROBLEM_RANGE_OVERLAP, "last") == 1);
    world_close(w);
}

TEST(c151_conduits_of_ranges_are_equal_or_disjoint)
{
    struct world *w = world_open();
    struct command range =
        cmd_range(DONE(w, cmd_network("net", "1g0")), "one", "10.0.0.10/24", "10.0.0.20/24");
    range.network_range_create.given |= GIVEN_RANGE_CONDUIT;
    range.network_range_create.conduit = STR("1g2");
    DONE(w, range);
    range.network_range_create =
        cmd_range(1, "two", "10.0.0.30/24", "10.0.0.40/24").network_range_create;
    range.network_range_create.given |= GIVEN_RANGE_CONDUIT | GIVEN_RANGE_USE_TEAM;
    range.network_range_create.conduit = STR("1g2,1g3");
    range.network_range_create.use_team = true;
    HAS(REFUSED(w, range, CONDUIT_OVERLAP, "conduit"), "range net.one");
    world_close(w);
}

/* ---- what requests return ---- */

TEST(c152_153_an_automatic_prefix_is_resolved_when_the_network_is_created)
{
    struct world *w = open_with_admin();
    const struct str prefix = read_network(w, "admin").v6prefix;
    unsigned groups[4];
    CHECK(!str_eq(prefix, STR("auto")));
    CHECK(sscanf(shown(w, prefix), "%x:%x:%x:%x", &groups[0], &groups[1], &groups[2], &groups[3]) ==
          4);
    CHECK(groups[0] >> 8 == 0xfd && groups[3] == network_named(w, "admin"));
    CHECK(str_ends(read_range(w, "admin", "host-v6").first, STR("::1/64")));
    struct command command = cmd_network("given", "1g1");
    command.network_create.given |= GIVEN_NETWORK_V6PREFIX;
    command.network_create.v6prefix = STR("fd00:1:2:3");
    DONE(w, command);
    CHECK(str_eq(read_network(w, "given").v6prefix, STR("fd00:1:2:3")));
    CHECK(str_eq(read_range(w, "given", "host-v6").last, STR("fd00:1:2:3:ffff:ffff:ffff:fffe/64")));
    world_close(w);
}

TEST(c154_155_a_network_with_a_range_has_no_prefix_and_the_range_inherits)
{
    struct world *w = world_open();
    struct command command = cmd_network("net", "1g0");
    command.network_create.ranges = world_json(
        w, "[{'name':'host','first':'10.0.0.10/24','last':'10.0.0.20/24','conduit':null}]");
    DONE(w, command);
    CHECK(read_network(w, "net").v6prefix.len == 0);
    CHECK(read_range(w, "net", "host").own == 0 && read_range(w, "net", "host").conduit.len == 0);
    CHECK(core_find(w->core, TABLE_NETWORK, STR("unknown")) == 0);
    REFUSED(w, CMD(NETWORK_UPDATE, network_update, .id = 99), NOT_FOUND, "id");
    world_close(w);
}

TEST(c156_157_a_network_has_one_router)
{
    struct world *w = world_open();
    const int64_t net = DONE(w, cmd_network("net", "1g0"));
    struct command command = CMD(NETWORK_ROUTER_CREATE, network_router_create, .network_id = net,
                                 .given = GIVEN_ROUTER_ADDRESS | GIVEN_ROUTER_PREF,
                                 .address = STR("10.10.99.1"), .pref = 42);
    const int64_t id = DONE(w, command);
    CHECK(str_eq(read_router(w).address, STR("10.10.99.1/32")) && read_router(w).pref == 42);
    REFUSED(w, command, IN_USE, "network_id");
    DONE(w, CMD(NETWORK_ROUTER_DELETE, network_router_delete, .id = id));
    CHECK(core_count(w->core, TABLE_NETWORK_ROUTER) == 0);
    command.network_router_create.given = GIVEN_ROUTER_ADDRESS;
    const int64_t second = DONE(w, command);
    CHECK(read_router(w).pref == 65536);
    DONE(w, CMD(NETWORK_ROUTER_UPDATE, network_router_update, .id = second,
                .given = GIVEN_ROUTER_PREF, .pref = 100));
    CHECK(read_router(w).pref == 100 && read_router(w).network_id == net);
    world_close(w);
}

/* ---- allocation ---- */

TEST(c158_a_hinted_address_becomes_an_allocation)
{
    struct world *w = open_with_admin();
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("n1.example.com"),
                .ip = STR("192.168.124.126")));
    EXPECT_STR(addresses(w, "n1"), "192.168.124.126/24");
    struct record record;
    CHECK(core_record(w->core, TABLE_NETWORK_ALLOCATION, 1, &record));
    CHECK(record.network_allocation.network_range_id == read_range(w, "admin", "host").id);
    world_close(w);
}

TEST(c160_an_address_is_the_hint_the_aligned_one_or_the_lowest_free)
{
    struct world *w = open_with_admin();
    struct command command = cmd_network("bmc", "bmc");
    struct network_create_command *p = &command.network_create;
    p->given |= GIVEN_NETWORK_GROUP;
    p->group = STR("internal");
    p->ranges = world_json(w, "[{'name':'host','first':'10.0.0.126/24','last':'10.0.0.128/24'}]");
    DONE(w, command);
    const int64_t range = read_range(w, "bmc", "host").id;
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("n1.example.com"),
                .ip = STR("192.168.124.127")));
    world_node(w, "n2", NULL);
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("n3.example.com"),
                .hint = world_json(w, "{'bmc-v4addr':'10.0.0.128/24'}")));
    world_node(w, "n4", NULL);
    const int64_t id = DONE(w, cmd_allocate(w, "n1", range));
    EXPECT_STR(addresses(w, "n1"), "192.168.124.127/24 10.0.0.127/24");
    DONE(w, cmd_allocate(w, "n2", range));
    EXPECT_STR(addresses(w, "n2"), "10.0.0.126/24");
    DONE(w, cmd_allocate(w, "n3", range));
    EXPECT_STR(addresses(w, "n3"), "10.0.0.128/24");
    REFUSED(w, cmd_allocate(w, "n4", range), RANGE_FULL, "range_id");
    CHECK(DONE(w, cmd_allocate(w, "n1", range)) == id);
    world_close(w);
}

TEST(c161_admin_nodes_use_the_range_admin_and_others_host)
{
    struct world *w = open_with_admin();
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("boss.example.com"), .admin = true));
    world_node(w, "n1", NULL);
    static const char *const nodes[] = {"boss", "n1"};
    for (int i = 0; i < 2; i++)
        DONE(w, CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(w, nodes[i]),
                    .network_id = network_named(w, "admin")));
    HAS(addresses(w, "boss"), "192.168.124.11/24 fd"); /* .10 is the router */
    HAS(addresses(w, "n1"), "192.168.124.81/24 fd");
    world_close(w);
}

TEST(c162_the_interface_id_is_computed_from_the_name)
{
    struct world *w = world_open();
    struct command command = cmd_network("net", "1g0");
    command.network_create.given |= GIVEN_NETWORK_V6PREFIX;
    command.network_create.v6prefix = STR("fd00:1:2:3");
    DONE(w, command);
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("N1.Example.com")));
    DONE(w, cmd_allocate(w, "n1", read_range(w, "net", "host-v6").id));
    uint8_t digest[16];
    struct ip ip = {.hi = 0xfd00000100020003, .family = IP_V6, .prefix = 64};
    md5(STR("n1.example.com"), digest);
    for (int i = 8; i < 16; i++)
        ip.lo = ip.lo << 8 | digest[i];
    EXPECT_STR(addresses(w, "n1"), shown(w, ip_format(&w->arena, ip)));
    world_close(w);
}

TEST(c163_a_network_that_is_not_configured_allocates_only_what_is_requested)
{
    struct world *w = world_open();
    struct command command = cmd_network("unmanaged", "1g0");
    struct network_create_command *p = &command.network_create;
    p->given |= GIVEN_NETWORK_CONFIGURE;
    p->ranges = world_json(w, "[{'name':'host','first':'0.0.0.1/0','last':'223.255.255.254/0',"
                              "'overlap':true}]");
    DONE(w, command);
    world_node(w, "n1", NULL);
    const int64_t range = read_range(w, "unmanaged", "host").id;
    CHECK(DONE(w, cmd_allocate(w, "n1", range)) == 0);
    EXPECT_STR(addresses(w, "n1"), "none");
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("n2.example.com"),
                .hint = world_json(w, "{'unmanaged-v4addr':'198.51.100.7'}")));
    DONE(w, cmd_allocate(w, "n2", range));
    EXPECT_STR(addresses(w, "n2"), "198.51.100.7/0");
    world_close(w);
}

TEST(c164_a_network_is_deleted_with_its_rows_and_admin_cannot_be_deleted)
{
    struct world *w = open_with_admin();
    struct command command = cmd_network("net", "1g1");
    command.network_create.ranges =
        world_json(w, "[{'name':'host','first':'10.0.0.10/24','last':'10.0.0.20/24'}]");
    command.network_create.router = world_json(w, "{'address':'10.0.0.1'}");
    const int64_t net = DONE(w, command);
    world_node(w, "n1", NULL);
    DONE(w, cmd_allocate(w, "n1", read_range(w, "net", "host").id));
    DONE(w, CMD(NETWORK_DELETE, network_delete, .id = net));
    EXPECT_STR(addresses(w, "n1"), "none");
    CHECK(core_count(w->core, TABLE_NETWORK) == 1 &&
          core_count(w->core, TABLE_NETWORK_ROUTER) == 1);
    REFUSED(w, CMD(NETWORK_DELETE, network_delete, .id = network_named(w, "admin")), NOT_SUPPORTED,
            "id");
    CHECK(problem_status(PROBLEM_NOT_SUPPORTED) == 405);
    world_close(w);
}
