/* Goal: a node gets the address that docs/spec/networks.md#allocation states, once, and no address
 * belongs to two rows. Method: commands through the core in small ranges, so that each candidate is
 * reached; rows and cursors are altered for what the check must detect; a long series of random
 * commands is compared with a search over all addresses. */
#include "base/prng.h"
#include "tests/unit/core/network_world.h"

#include "base/hash/md5.h"

/* Network `net` with host 10.1.0.10-14, admin 10.1.0.1-3 and host-v6; nodes n1 to n4. */
static struct world *open_with_nodes(void)
{
    static const char *const names[] = {"n1", "n2", "n3", "n4"};
    struct world *w = world_open();
    struct command command =
        cmd_network(w, "net",
                    "[{'name':'host','first':'10.1.0.10/24','last':'10.1.0.14/24'},"
                    "{'name':'admin','first':'10.1.0.1/24','last':'10.1.0.3/24'}]",
                    "");
    command.network_create.given |= GIVEN_NETWORK_V6PREFIX;
    command.network_create.v6prefix = STR("fd00:0:0:1");
    DONE(w, command);
    world_node_attrib(w, "hint-net-v4addr", "'map':'net-v4addr','writable':true");
    for (int i = 0; i < 4; i++)
        world_node(w, names[i], NULL);
    return w;
}

static int64_t host(struct world *w)
{
    return range_named(w, "net", "host");
}

static struct command cmd_hint(struct world *w, const char *node, const char *value)
{
    return cmd_set(w, TABLE_NODE, the_node(w, node), "hint-net-v4addr", BUCKET_USER, value);
}

static struct command make_allocation(struct world *w)
{
    return CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(w, "n1"),
               .network_id = core_find(w->core, TABLE_NETWORK, STR("net")), .range_id = host(w));
}

/* ---- values ---- */

static const struct bad_value values[] = {
    {"node_id", "0", PROBLEM_NOT_FOUND, NULL},
    {"node_id", "99", PROBLEM_NOT_FOUND, NULL},
    {"network_id", "99", PROBLEM_NOT_FOUND, NULL},
    {"network_id", "0", PROBLEM_NONE, NULL},
    {"range_id", "99", PROBLEM_NOT_FOUND, NULL},
    {"range_id", "-1", PROBLEM_NOT_FOUND, NULL},
    {"range_id", "0", PROBLEM_NONE, NULL},
    {"address", "10.1.0", PROBLEM_BAD_VALUE, NULL},
    {"address", "10.1.0.256", PROBLEM_BAD_VALUE, NULL},
    {"address", "fd00::1", PROBLEM_ADDRESS_TAKEN, NULL},
    {"address", "10.1.0.9", PROBLEM_ADDRESS_TAKEN, NULL},
    {"address", "10.1.0.10", PROBLEM_NONE, NULL},
    {"address", "10.1.0.14", PROBLEM_NONE, NULL},
    {"address", "10.1.0.15", PROBLEM_ADDRESS_TAKEN, NULL},
    {"suggestion", "nothing", PROBLEM_BAD_VALUE, NULL},
    {"suggestion", "10.1.0.15", PROBLEM_NONE, NULL},
    {"suggestion", "fd00::1", PROBLEM_NONE, NULL},
};

TEST(every_field_of_an_allocation_is_checked)
{
    CHECK_VALUES(open_with_nodes, make_allocation, values);
    struct world *w = open_with_nodes();
    REFUSED(w, CMD(NETWORK_DEALLOCATE, network_deallocate, .id = 99), NOT_FOUND, "id");
    struct command command = make_allocation(w);
    command.network_allocate.range_id = 0;
    command.network_allocate.network_id = 0;
    REFUSED(w, command, NOT_FOUND, "network_id");
    command = make_allocation(w);
    command.network_allocate.network_id =
        DONE(w, with(cmd_network(w, "other", "", ""), "conduit", "1g5"));
    REFUSED(w, command, BAD_VALUE, "range_id");
    world_deployment(w, "d");
    command = make_allocation(w);
    command.network_allocate.node_id =
        core_find(w->core, TABLE_NODE, STR("d-phantom.internal.local"));
    HAS(REFUSED(w, command, BAD_VALUE, "node_id"), "system node");
    command = make_allocation(w);
    command.network_allocate.node_id = 99;
    command.network_allocate.range_id = 98;
    command.network_allocate.address = STR("x");
    command.network_allocate.suggestion = STR("y");
    REFUSED(w, command, NONE, NULL);
    CHECK(problem_count(w) == 5 && has_problem(w, PROBLEM_NOT_FOUND, "node_id"));
    CHECK(has_problem(w, PROBLEM_NOT_FOUND, "range_id"));
    CHECK(has_problem(w, PROBLEM_BAD_VALUE, "address"));
    CHECK(has_problem(w, PROBLEM_BAD_VALUE, "suggestion"));
    world_close(w);
}

/* ---- order of candidates ---- */

TEST(candidates_are_tried_in_the_documented_order)
{
    struct world *w = open_with_nodes();
    const int64_t range = host(w);
    EXPECT_STR(allocated(w, "n1", range), "10.1.0.10/24"); /* the lowest */
    DONE(w, cmd_suggest(w, "n2", range, "10.1.0.13/8"));   /* the suggestion, normalized */
    EXPECT_STR(address_in(w, "n2", range), "10.1.0.13/24");
    DONE(w, cmd_suggest(w, "n3", range, "10.1.0.13")); /* taken: the lowest */
    EXPECT_STR(address_in(w, "n3", range), "10.1.0.11/24");
    DONE(w, cmd_hint(w, "n4", "'10.1.0.14'"));
    EXPECT_STR(address_in(w, "n4", range), "10.1.0.14/24"); /* the hint, at once */
    world_close(w);
}

TEST(a_hint_or_suggestion_is_skipped_when_it_is_not_available)
{
    struct world *w = open_with_nodes();
    DONE(w, cmd_allocate_address(w, "n1", host(w), "10.1.0.10"));
    DONE(w, cmd_hint(w, "n2", "'10.1.0.10'"));
    EXPECT_STR(address_in(w, "n2", host(w)), "none");
    EXPECT_STR(allocated(w, "n2", host(w)), "10.1.0.11/24");
    DONE(w, cmd_hint(w, "n3", "'nonsense'"));
    EXPECT_STR(allocated(w, "n3", host(w)), "10.1.0.12/24");
    DONE(w, cmd_hint(w, "n4", "17"));
    EXPECT_STR(allocated(w, "n4", host(w)), "10.1.0.13/24");
    world_close(w);
}

TEST(a_hint_is_used_again_and_moves_no_address)
{
    struct world *w = open_with_nodes();
    DONE(w, cmd_hint(w, "n1", "'10.1.0.13'"));
    EXPECT_STR(address_in(w, "n1", host(w)), "10.1.0.13/24");
    DONE(w, cmd_hint(w, "n1", "'10.1.0.12'"));
    EXPECT_STR(address_in(w, "n1", host(w)), "10.1.0.13/24");
    CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == 1);
    deallocate(w, "n1");
    EXPECT_STR(allocated(w, "n1", host(w)), "10.1.0.12/24");
    world_close(w);
}

TEST(a_second_request_returns_the_first_address)
{
    struct world *w = open_with_nodes();
    const int64_t id = DONE(w, cmd_allocate(w, "n1", host(w)));
    const uint64_t edits = core_edits(w->core);
    CHECK(DONE(w, cmd_allocate(w, "n1", host(w))) == id);
    CHECK(DONE(w, cmd_suggest(w, "n1", host(w), "10.1.0.14")) == id);
    CHECK(DONE(w, cmd_allocate_address(w, "n1", host(w), "10.1.0.10/8")) == id);
    CHECK(core_edits(w->core) == edits);
    HAS(REFUSED(w, cmd_allocate_address(w, "n1", host(w), "10.1.0.11"), ADDRESS_TAKEN, "address"),
        "is not the one that the node has in range net.host");
    /* The first request changes the node, the second one does not. */
    world_role(w, "watch", "'hooks':['on_node_change']");
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n2"), .given = GIVEN_NODE_AVAILABLE,
                .available = true));
    world_clear_effects(w);
    DONE(w, cmd_allocate(w, "n2", host(w)));
    EXPECT_EFFECTS(w, "on_node_change watch n2");
    DONE(w, cmd_allocate(w, "n2", host(w)));
    EXPECT_EFFECTS(w, "");
    world_close(w);
}

TEST(the_host_part_of_the_admin_address_is_used_in_networks_of_its_group)
{
    struct world *w = open_with_nodes();
    DONE(w, with(cmd_network_of(w, "boss", "admin", true,
                                "[{'name':'host','first':'192.168.0.10/24',"
                                "'last':'192.168.0.200/24'}]"),
                 "conduit", "1g1"));
    const int64_t boss = range_named(w, "boss", "host");
    DONE(w, cmd_allocate_address(w, "n1", boss, "192.168.0.13"));
    EXPECT_STR(allocated(w, "n1", host(w)), "10.1.0.13/24");
    DONE(w, cmd_allocate_address(w, "n2", boss, "192.168.0.113")); /* not in the range */
    EXPECT_STR(allocated(w, "n2", host(w)), "10.1.0.10/24");
    /* A suggestion comes first, and a taken address is skipped. */
    DONE(w, cmd_allocate_address(w, "n3", boss, "192.168.0.12"));
    DONE(w, cmd_suggest(w, "n3", host(w), "10.1.0.14"));
    EXPECT_STR(address_in(w, "n3", host(w)), "10.1.0.14/24");
    DONE(w, cmd_allocate_address(w, "n4", boss, "192.168.0.14"));
    EXPECT_STR(allocated(w, "n4", host(w)), "10.1.0.11/24");
    /* The host part of a /24 has 8 bits, in a larger subnet too. */
    DONE(w,
         with(cmd_network(w, "wide",
                          "[{'name':'host','first':'10.20.0.1/16','last':'10.20.255.254/16'}]", ""),
              "conduit", "1g2"));
    EXPECT_STR(allocated(w, "n1", range_named(w, "wide", "host")), "10.20.0.13/16");
    /* The same for the upper half of an IPv6 address. */
    DONE(w, cmd_range(2, "six", "fd01:0:0:7::1/64", "fd01:0:0:7::99/64"));
    DONE(w, cmd_range(3, "six", "fd02::1/32", "fd02:0:ffff::1/32"));
    DONE(w, cmd_allocate_address(w, "n1", range_named(w, "boss", "six"), "fd01:0:0:7::42"));
    DONE(w, cmd_suggest(w, "n1", range_named(w, "wide", "six"), "fd09::1")); /* outside */
    EXPECT_STR(address_in(w, "n1", range_named(w, "wide", "six")), "fd02::42/32");
    world_close(w);
}

TEST(the_host_part_is_not_used_in_another_group_or_category)
{
    struct world *w = open_with_nodes();
    struct command command =
        with(cmd_network_of(w, "boss", "admin", true,
                            "[{'name':'host','first':'192.168.0.10/24','last':'192.168.0.99/24'}]"),
             "conduit", "1g1");
    command.network_create.given |= GIVEN_NETWORK_GROUP;
    command.network_create.group = STR("other");
    DONE(w, command);
    DONE(w, with(cmd_network_of(w, "plain", "general", true,
                                "[{'name':'host','first':'192.168.1.10/24',"
                                "'last':'192.168.1.99/24'}]"),
                 "conduit", "1g2"));
    DONE(w, cmd_allocate_address(w, "n1", range_named(w, "boss", "host"), "192.168.0.13"));
    DONE(w, cmd_allocate_address(w, "n1", range_named(w, "plain", "host"), "192.168.1.14"));
    EXPECT_STR(allocated(w, "n1", host(w)), "10.1.0.10/24");
    world_close(w);
}

TEST(an_ipv6_address_is_made_of_the_name)
{
    struct world *w = open_with_nodes();
    const int64_t range = range_named(w, "net", "host-v6");
    uint8_t digest[16];
    char wanted[64];
    md5(STR("n1.example.com"), digest);
    snprintf(wanted, sizeof wanted, "fd00:0:0:1:%x:%x:%x:%x/64", digest[8] << 8 | digest[9],
             digest[10] << 8 | digest[11], digest[12] << 8 | digest[13],
             digest[14] << 8 | digest[15]);
    struct ip ip;
    const char *wrong;
    CHECK(ip_parse(str_from(wanted), &ip, &wrong));
    EXPECT_STR(allocated(w, "n1", range), shown(w, ip_format(&w->arena, ip)));
    /* Another node has the address of n2: the lowest one is used. */
    md5(STR("n2.example.com"), digest);
    snprintf(wanted, sizeof wanted, "fd00:0:0:1:%x:%x:%x:%x", digest[8] << 8 | digest[9],
             digest[10] << 8 | digest[11], digest[12] << 8 | digest[13],
             digest[14] << 8 | digest[15]);
    DONE(w, cmd_allocate_address(w, "n3", range, wanted));
    EXPECT_STR(allocated(w, "n2", range), "fd00:0:0:1::1/64");
    DONE(w, cmd_suggest(w, "n4", range, "fd00:0:0:1::2"));
    EXPECT_STR(address_in(w, "n4", range), "fd00:0:0:1::2/64");
    world_close(w);
}

TEST(a_network_without_configure_gives_only_what_is_requested)
{
    struct world *w = open_with_nodes();
    DONE(w, with(cmd_network_of(w, "loose", "unmanaged", false,
                                "[{'name':'host','first':'0.0.0.1/0','last':'223.255.255.254/0',"
                                "'overlap':true}]"),
                 "conduit", "1g1"));
    const int64_t loose = range_named(w, "loose", "host");
    CHECK(DONE(w, cmd_allocate(w, "n1", loose)) == 0);
    CHECK(DONE(w, CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(w, "n1"),
                      .network_id = core_find(w->core, TABLE_NETWORK, STR("loose")))) == 0);
    EXPECT_STR(address_in(w, "n1", loose), "none");
    DONE(w, cmd_suggest(w, "n1", loose, "10.1.0.10"));
    EXPECT_STR(address_in(w, "n1", loose), "10.1.0.10/0");
    /* The address is unique over all ranges. */
    EXPECT_STR(allocated(w, "n2", host(w)), "10.1.0.11/24");
    REFUSED(w, cmd_allocate_address(w, "n3", host(w), "10.1.0.10"), ADDRESS_TAKEN, "address");
    DONE(w, cmd_suggest(w, "n3", loose, "10.1.0.11")); /* taken: the lowest of the range */
    EXPECT_STR(address_in(w, "n3", loose), "0.0.0.1/0");
    /* Freed by the other range, and its rest over: the search of this range finds it last. */
    deallocate(w, "n1");
    EXPECT_STR(allocated(w, "n4", host(w)), "10.1.0.12/24");
    world_close(w);
}

/* ---- ranges of a node ---- */

TEST(the_default_ranges_of_a_node_are_used_if_none_is_named)
{
    struct world *w = open_with_nodes();
    const int64_t net = core_find(w->core, TABLE_NETWORK, STR("net"));
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("boss.example.com"), .admin = true));
    DONE(w, CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(w, "boss"),
                .network_id = net));
    EXPECT_STR(address_in(w, "boss", range_named(w, "net", "admin")), "10.1.0.1/24");
    EXPECT_STR(address_in(w, "boss", host(w)), "none");
    CHECK(strcmp(address_in(w, "boss", range_named(w, "net", "host-v6")), "none") != 0);
    DONE(w,
         CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(w, "n1"), .network_id = net));
    EXPECT_STR(address_in(w, "n1", host(w)), "10.1.0.10/24");
    CHECK(strcmp(address_in(w, "n1", range_named(w, "net", "host-v6")), "none") != 0);
    /* A requested address selects its range. */
    struct command command = CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(w, "n2"),
                                 .network_id = net, .address = STR("10.1.0.2"));
    DONE(w, command);
    EXPECT_STR(address_in(w, "n2", range_named(w, "net", "admin")), "10.1.0.2/24");
    EXPECT_STR(address_in(w, "n2", range_named(w, "net", "host-v6")), "none");
    command.network_allocate.address = STR("10.9.0.2");
    REFUSED(w, command, BAD_VALUE, "address");
    command.network_allocate.address = STR("");
    command.network_allocate.suggestion = STR("10.9.0.2"); /* outside: the default ranges */
    DONE(w, command);
    EXPECT_STR(address_in(w, "n2", host(w)), "10.1.0.11/24");
    command.network_allocate.network_id =
        DONE(w, with(cmd_network(w, "bare", "", ""), "conduit", "1g5"));
    HAS(REFUSED(w, command, NOT_FOUND, "network_id"), "name a range");
    world_close(w);
}

TEST(a_full_range_is_refused_and_changes_nothing)
{
    struct world *w = open_with_nodes();
    const int64_t net = core_find(w->core, TABLE_NETWORK, STR("net"));
    const int64_t tiny = DONE(w, cmd_range(net, "tiny", "10.1.0.100/24", "10.1.0.101/24"));
    EXPECT_STR(allocated(w, "n1", tiny), "10.1.0.100/24");
    EXPECT_STR(allocated(w, "n2", tiny), "10.1.0.101/24");
    HAS(REFUSED(w, cmd_allocate(w, "n3", tiny), RANGE_FULL, "range_id"), "net.tiny");
    REFUSED(w, cmd_suggest(w, "n3", tiny, "10.1.0.100"), RANGE_FULL, "range_id");
    CHECK(DONE(w, cmd_allocate(w, "n1", tiny)) != 0);
    /* One of two default ranges is full: neither gives an address. */
    DONE(w, cmd_range_span(host(w), "10.1.0.10/24", "10.1.0.10/24"));
    DONE(w, cmd_allocate(w, "n1", host(w)));
    REFUSED(
        w, CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(w, "n4"), .network_id = net),
        RANGE_FULL, "range_id");
    EXPECT_STR(address_in(w, "n4", range_named(w, "net", "host-v6")), "none");
    world_close(w);
}

TEST(overlapping_ranges_have_no_address_twice)
{
    struct world *w = open_with_nodes();
    static const char *const names[] = {"loose", "slack"};
    int64_t ranges[2];
    for (int i = 0; i < 2; i++) {
        DONE(w, with(cmd_network_of(w, names[i], "unmanaged", false,
                                    "[{'name':'any','first':'10.9.0.1/24','last':'10.9.0.9/24',"
                                    "'overlap':true}]"),
                     "conduit", i ? "1g2" : "1g1"));
        ranges[i] = range_named(w, names[i], "any");
    }
    DONE(w, cmd_suggest(w, "n1", ranges[0], "10.9.0.1"));
    REFUSED(w, cmd_allocate_address(w, "n2", ranges[1], "10.9.0.1"), ADDRESS_TAKEN, "address");
    DONE(w, cmd_suggest(w, "n2", ranges[1], "10.9.0.1"));
    EXPECT_STR(address_in(w, "n2", ranges[1]), "10.9.0.2/24");
    /* The same for a live lease of the other range, and for an address that rests there. */
    DONE(w, CMD(LEASE_TAKE, lease_take, .range_id = ranges[0], .address = STR("10.9.0.3"),
                .mac = STR("52:54:00:00:00:01"), .lease_s = 600));
    REFUSED(w,
            CMD(LEASE_TAKE, lease_take, .range_id = ranges[1], .address = STR("10.9.0.3"),
                .mac = STR("52:54:00:00:00:02"), .lease_s = 600),
            ADDRESS_TAKEN, "address");
    deallocate(w, "n1");
    DONE(w, cmd_suggest(w, "n3", ranges[1], "10.9.0.1"));
    EXPECT_STR(address_in(w, "n3", ranges[1]), "10.9.0.4/24");
    world_close(w);
}

TEST(a_range_of_loopback_addresses_gives_them)
{
    struct world *w = open_with_nodes();
    DONE(w, with(cmd_network_of(w, "beside", "general", true,
                                "[{'name':'host','first':'127.0.0.2/8','last':'127.0.0.99/8'}]"),
                 "conduit", "1g1"));
    const int64_t range = range_named(w, "beside", "host");
    DONE(w, cmd_allocate_address(w, "n1", range, "127.0.0.77"));
    EXPECT_STR(address_in(w, "n1", range), "127.0.0.77/8");
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("n9.example.com"), .ip = STR("127.0.0.78")));
    world_close(w);
}

/* The network `unmanaged` contains nearly all addresses, also those that lead to the daemon. */
TEST(an_address_that_no_interface_can_have_is_not_requested)
{
    static const char *const wrong[] = {
        "127.0.0.1", "224.0.0.5", "255.255.255.255", "::", "::1", "ff02::1", "::ffff:10.1.0.10"};
    struct world *w = open_with_nodes();
    DONE(w, with(cmd_network_of(w, "unmanaged", "unmanaged", false,
                                "[{'name':'host','first':'0.0.0.1/0','last':'255.255.255.254/0',"
                                "'overlap':true},{'name':'host-v6','first':'::1/0','last':"
                                "'ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/0','overlap':true}]"),
                 "conduit", "1g1"));
    world_node_attrib(w, "any-v4", "'map':'unmanaged-v4addr','writable':true");
    world_node_attrib(w, "any-v6", "'map':'unmanaged-v6addr','writable':true");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const bool is_v6 = strchr(wrong[i], ':') != NULL;
        const int64_t range = range_named(w, "unmanaged", is_v6 ? "host-v6" : "host");
        REFUSED(w, cmd_allocate_address(w, "n1", range, wrong[i]), BAD_VALUE, "address");
        REFUSED(w, cmd_suggest(w, "n1", range, wrong[i]), BAD_VALUE, "suggestion");
        const struct command create =
            CMD(NODE_CREATE, node_create, .name = STR("n9.example.com"), .ip = str_from(wrong[i]));
        HAS(REFUSED(w, create, BAD_VALUE, "ip"), "no address of an interface");
        const char *quoted =
            str_z(&w->arena, STR_CONCAT(&w->arena, STR("'"), str_from(wrong[i]), STR("'")));
        DONE(w, cmd_set(w, TABLE_NODE, the_node(w, "n1"), is_v6 ? "any-v6" : "any-v4", BUCKET_USER,
                        quoted));
        EXPECT_STR(address_in(w, "n1", range), "none");
    }
    world_close(w);
}

TEST(large_ranges_and_ends_of_the_address_space_are_allocated)
{
    struct world *w = open_with_nodes();
    struct range_usage usage;
    static const struct {
        const char *first, *last, *got;
        uint64_t size;
    } rows[] = {
        {"11.0.0.1/8", "11.255.255.254/8", "11.0.0.1/8", 16777214},
        {"12.0.0.1/16", "12.0.255.254/16", "12.0.0.1/16", 65534},
        {"255.255.255.254/24", "255.255.255.254/24", "255.255.255.254/24", 1},
        {"255.255.255.255/32", "255.255.255.255/32", "255.255.255.255/32", 1},
        {"0.0.0.0/32", "0.0.0.0/32", "0.0.0.0/32", 1},
        {"fd01::1/64", "fd01::ffff:ffff:ffff:fffe/64", NULL, UINT64_MAX - 1},
        {"fd02::1/32", "fd02:0:ffff::1/32", NULL, UINT64_MAX},
        {"ffff::ffff/128", "ffff::ffff/128", "ffff::ffff/128", 1},
        {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
         "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[16];
        snprintf(name, sizeof name, "r%zu", i);
        const int64_t range = DONE(w, cmd_range(1, name, rows[i].first, rows[i].last));
        const char *got = allocated(w, "n1", range);
        if (rows[i].got)
            EXPECT_STR(got, rows[i].got);
        CHECK(core_range_usage(w->core, range, &usage) && usage.size == rows[i].size);
        CHECK(usage.allocated == 1);
        CHECK(usage.free == (usage.size == UINT64_MAX ? UINT64_MAX : usage.size - 1));
        if (rows[i].size == 1)
            REFUSED(w, cmd_allocate(w, "n2", range), RANGE_FULL, "range_id");
        deallocate(w, "n1");
    }
    world_close(w);
}

TEST(a_refused_batch_gives_no_address)
{
    struct world *w = open_with_nodes();
    const int64_t range = host(w);
    EXPECT_STR(allocated(w, "n1", range), "10.1.0.10/24");
    const struct command parts[] = {
        cmd_allocate(w, "n2", range),
        CMD(NETWORK_DEALLOCATE, network_deallocate, .id = allocation_of(w, "n1")),
        cmd_allocate_address(w, "n3", range, "10.1.0.10"), /* it rests */
    };
    struct buf b = buf_in(&w->arena);
    for (int i = 0; i < 3; i++)
        command_encode(&parts[i], &b);
    REFUSED(w, CMD(BATCH, batch, .commands = buf_str(&b)), ADDRESS_TAKEN, NULL);
    EXPECT_STR(address_in(w, "n2", range), "none");
    CHECK(core_count(w->core, TABLE_LEASE) == 0);
    EXPECT_STR(allocated(w, "n2", range), "10.1.0.11/24");
    world_close(w);
}

TEST(an_address_stays_when_its_node_is_moved_or_renamed)
{
    struct world *w = open_with_nodes();
    const int64_t range = range_named(w, "net", "host-v6");
    const char *before = allocated(w, "n1", range);
    const int64_t id = the_node(w, "n1");
    world_deployment(w, "d");
    DONE(w, CMD(NODE_UPDATE, node_update, .id = id, .given = GIVEN_NODE_DEPLOYMENT,
                .deployment_id = the_deployment(w, "d")));
    EXPECT_STR(address_in(w, "n1", range), before);
    DONE(w, CMD(NODE_UPDATE, node_update, .id = id, .given = GIVEN_NAME,
                .name = STR("n9.example.com")));
    EXPECT_STR(address_in(w, "n9", range), before);
    /* Another allocation is made of the new name. */
    deallocate(w, "n9");
    uint8_t digest[16];
    md5(STR("n9.example.com"), digest);
    struct ip ip;
    const char *wrong;
    CHECK(ip_parse(str_from(allocated(w, "n9", range)), &ip, &wrong));
    for (int i = 0; i < 8; i++)
        CHECK((uint8_t)(ip.lo >> (56 - 8 * i)) == digest[8 + i]);
    world_close(w);
}

/* The command is refused while the table has no free slot, and done afterwards. */
static void is_limited(struct world *w, enum table table, struct command command)
{
    struct pool *rows = &w->core->tables[table].pool;
    const uint32_t max = rows->max;
    rows->max = rows->live;
    REFUSED(w, command, LIMIT_REACHED, table_name(table));
    rows->max = max;
    DONE(w, command);
}

TEST(full_tables_refuse_what_needs_a_row)
{
    struct world *w = open_with_nodes();
    const struct command net =
        cmd_network(w, "new", "[{'name':'host','first':'10.5.0.1/24','last':'10.5.0.9/24'}]",
                    "{'address':'10.5.0.1'}");
    is_limited(w, TABLE_NETWORK, net);
    DONE(w, CMD(NETWORK_DELETE, network_delete, .id = 2));
    is_limited(w, TABLE_NETWORK_ROUTER, net);
    is_limited(w, TABLE_NETWORK_RANGE, cmd_range(1, "more", "10.6.0.1/24", "10.6.0.9/24"));
    is_limited(w, TABLE_NETWORK_ALLOCATION, cmd_allocate(w, "n1", host(w)));
    is_limited(w, TABLE_NIC,
               CMD(NODE_CREATE, node_create, .name = STR("n8.example.com"),
                   .mac = STR("52:54:00:00:00:01"), .ip = STR("10.1.0.2")));
    /* A hint that could allocate is refused as well, instead of being stored without. */
    is_limited(w, TABLE_NETWORK_ALLOCATION, cmd_hint(w, "n2", "'10.1.0.13'"));
    world_close(w);
}

TEST(a_slot_that_is_free_after_the_turn_is_not_taken_before)
{
    struct world *w = open_with_nodes();
    struct pool *rows = &w->core->tables[TABLE_NETWORK_ALLOCATION].pool;
    const uint32_t max = rows->max;
    DONE(w, cmd_allocate(w, "n1", host(w)));
    rows->max = 1;
    deallocate(w, "n1");
    REFUSED(w, cmd_allocate(w, "n2", host(w)), LIMIT_REACHED, "network_allocation");
    world_collect(w);
    DONE(w, cmd_allocate(w, "n2", host(w)));
    rows->max = max;
    world_close(w);
}

/* ---- freed addresses ---- */

TEST(a_freed_address_rests_and_is_used_last)
{
    struct world *w = open_with_nodes();
    const int64_t range = host(w);
    EXPECT_STR(allocated(w, "n1", range), "10.1.0.10/24");
    EXPECT_STR(allocated(w, "n2", range), "10.1.0.11/24");
    deallocate(w, "n1");
    EXPECT_STR(allocated(w, "n3", range), "10.1.0.12/24");
    REFUSED(w, cmd_allocate_address(w, "n4", range, "10.1.0.10"), ADDRESS_TAKEN, "address");
    w->now_ms += REST_MS; /* rested, but others were never in use */
    EXPECT_STR(allocated(w, "n4", range), "10.1.0.13/24");
    world_node(w, "n5", NULL);
    world_node(w, "n6", NULL);
    EXPECT_STR(allocated(w, "n5", range), "10.1.0.14/24");
    EXPECT_STR(allocated(w, "n6", range), "10.1.0.10/24");
    CHECK(core_count(w->core, TABLE_LEASE) == 0);
    world_close(w);
}

TEST(a_resting_address_counts_as_used)
{
    struct world *w = open_with_nodes();
    const int64_t net = core_find(w->core, TABLE_NETWORK, STR("net"));
    const int64_t tiny = DONE(w, cmd_range(net, "tiny", "10.1.0.100/24", "10.1.0.101/24"));
    DONE(w, cmd_allocate(w, "n1", tiny));
    DONE(w, cmd_allocate(w, "n2", tiny));
    deallocate(w, "n1");
    deallocate(w, "n2");
    REFUSED(w, cmd_allocate(w, "n3", tiny), RANGE_FULL, "range_id");
    w->now_ms += REST_MS - 4000; /* a step takes one second */
    REFUSED(w, cmd_allocate(w, "n3", tiny), RANGE_FULL, "range_id");
    EXPECT_STR(allocated(w, "n3", tiny), "10.1.0.100/24"); /* the one that was freed first */
    EXPECT_STR(allocated(w, "n4", tiny), "10.1.0.101/24");
    world_close(w);
}

TEST(a_node_gets_its_freed_address_back_at_once)
{
    struct world *w = open_with_nodes();
    DONE(w, cmd_allocate_address(w, "n1", host(w), "10.1.0.12"));
    deallocate(w, "n1");
    REFUSED(w, cmd_allocate_address(w, "n2", host(w), "10.1.0.12"), ADDRESS_TAKEN, "address");
    DONE(w, cmd_allocate_address(w, "n1", host(w), "10.1.0.12"));
    CHECK(core_count(w->core, TABLE_LEASE) == 0);
    deallocate(w, "n1");
    world_reload(w);
    DONE(w, cmd_suggest(w, "n2", host(w), "10.1.0.12"));
    EXPECT_STR(address_in(w, "n2", host(w)), "10.1.0.10/24");
    DONE(w, cmd_suggest(w, "n1", host(w), "10.1.0.12"));
    EXPECT_STR(address_in(w, "n1", host(w)), "10.1.0.12/24");
    world_close(w);
}

TEST(addresses_of_a_deleted_node_rest)
{
    struct world *w = open_with_nodes();
    DONE(w, cmd_allocate(w, "n1", host(w)));
    DONE(w, cmd_allocate(w, "n1", range_named(w, "net", "host-v6")));
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n1")));
    CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == 0);
    CHECK(core_count(w->core, TABLE_LEASE) == 2);
    EXPECT_STR(allocated(w, "n2", host(w)), "10.1.0.11/24");
    world_close(w);
}

TEST(a_full_table_of_leases_does_not_keep_a_node)
{
    struct world *w = open_with_nodes();
    struct pool *leases = &w->core->tables[TABLE_LEASE].pool;
    const uint32_t max = leases->max;
    leases->max = 2;
    DONE(w, cmd_allocate(w, "n1", host(w)));
    DONE(w, cmd_allocate(w, "n2", host(w)));
    DONE(w, cmd_allocate(w, "n3", host(w)));
    deallocate(w, "n1");
    deallocate(w, "n2");
    deallocate(w, "n3"); /* no row for it: free at once */
    CHECK(core_count(w->core, TABLE_LEASE) == 2);
    EXPECT_STR(allocated(w, "n4", host(w)), "10.1.0.12/24");
    /* Rows whose rest is over make room; the slot is free after the turn. */
    w->now_ms += REST_MS;
    deallocate(w, "n4");
    CHECK(core_count(w->core, TABLE_LEASE) == 1);
    world_collect(w);
    EXPECT_STR(allocated(w, "n1", host(w)), "10.1.0.10/24");
    deallocate(w, "n1");
    CHECK(core_count(w->core, TABLE_LEASE) == 2);
    leases->max = max;
    world_close(w);
}

TEST(a_live_lease_is_not_removed_to_make_room)
{
    struct world *w = open_with_nodes();
    struct pool *leases = &w->core->tables[TABLE_LEASE].pool;
    const uint32_t max = leases->max;
    leases->max = 3;
    const int64_t live =
        DONE(w, CMD(LEASE_TAKE, lease_take, .range_id = host(w), .address = STR("10.1.0.14"),
                    .mac = STR("52:54:00:00:00:01"), .lease_s = 604800));
    DONE(w, cmd_allocate(w, "n1", host(w)));
    DONE(w, cmd_allocate(w, "n2", host(w)));
    DONE(w, cmd_allocate(w, "n3", host(w)));
    deallocate(w, "n1");
    deallocate(w, "n2");
    w->now_ms += REST_MS;
    deallocate(w, "n3"); /* ends the row of n1 */
    struct record record;
    CHECK(core_record(w->core, TABLE_LEASE, live, &record) &&
          core_count(w->core, TABLE_LEASE) == 2);
    leases->max = max;
    world_close(w);
}

/* ---- hints ---- */

TEST(a_new_range_takes_the_addresses_that_hints_request)
{
    struct world *w = world_open();
    const int64_t net = DONE(w, cmd_network(w, "net", "", ""));
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("boss.example.com"), .admin = true,
                .hint = world_json(w, "{'net-v4addr':'10.1.0.1/24'}")));
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("n1.example.com"),
                .hint = world_json(w, "{'net-v4addr':'10.1.0.3'}")));
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("n2.example.com"),
                .hint = world_json(w, "{'net-v4addr':'10.1.0.3'}"))); /* the same address */
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("n3.example.com"),
                .hint = world_json(w, "{'net-v4addr':'10.2.0.3','net-v6addr':'fd00::3'}")));
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("n4.example.com")));
    const int64_t range = DONE(w, cmd_range(net, "host", "10.1.0.1/24", "10.1.0.9/24"));
    EXPECT_STR(address_in(w, "boss", range), "10.1.0.1/24");
    EXPECT_STR(address_in(w, "n1", range), "10.1.0.3/24");
    EXPECT_STR(address_in(w, "n2", range), "none");
    EXPECT_STR(address_in(w, "n3", range), "none");
    /* The address of the admin node is not given to another. */
    EXPECT_STR(allocated(w, "n4", range), "10.1.0.2/24");
    EXPECT_STR(allocated(w, "n2", range), "10.1.0.4/24");
    const int64_t six = DONE(w, cmd_range(net, "six", "fd00::1/64", "fd00::9/64"));
    EXPECT_STR(address_in(w, "n3", six), "fd00::3/64");
    world_close(w);
}

TEST(an_address_of_the_daemon_is_given_to_no_other_machine)
{
    struct world *w = open_with_nodes();
    /* The hint is that of another network, as on an installation without a network `admin`. */
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("boss.example.com"), .admin = true,
                .hint = world_json(w, "{'admin-v4addr':'10.1.0.10/24','admin-v6addr':7,"
                                      "'other':'10.1.0.11','x-v4addr':'nonsense'}")));
    EXPECT_STR(address_in(w, "boss", host(w)), "none");
    REFUSED(w, cmd_allocate_address(w, "n1", host(w), "10.1.0.10"), ADDRESS_TAKEN, "address");
    REFUSED(w,
            CMD(LEASE_TAKE, lease_take, .range_id = host(w), .address = STR("10.1.0.10"),
                .mac = STR("52:54:00:00:00:01"), .lease_s = 600),
            ADDRESS_TAKEN, "address");
    EXPECT_STR(allocated(w, "n1", host(w)), "10.1.0.11/24");
    DONE(w, cmd_suggest(w, "n2", host(w), "10.1.0.10"));
    EXPECT_STR(address_in(w, "n2", host(w)), "10.1.0.12/24");
    world_reload(w);
    EXPECT_STR(allocated(w, "n3", host(w)), "10.1.0.13/24");
    DONE(w, cmd_allocate_address(w, "boss", host(w), "10.1.0.10"));
    EXPECT_STR(address_in(w, "boss", host(w)), "10.1.0.10/24");
    world_close(w);
}

TEST(an_address_of_a_deleted_admin_node_is_free)
{
    struct world *w = open_with_nodes();
    static const char *const names[] = {"boss.example.com", "chief.example.com"};
    for (int i = 0; i < 2; i++)
        DONE(w, CMD(NODE_CREATE, node_create, .name = str_from(names[i]), .admin = true,
                    .hint = world_json(w, i ? "{'admin-v4addr':'10.1.0.11'}"
                                            : "{'admin-v4addr':'10.1.0.10'}")));
    EXPECT_STR(allocated(w, "n1", host(w)), "10.1.0.12/24");
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "boss")));
    EXPECT_STR(allocated(w, "n2", host(w)), "10.1.0.10/24");
    EXPECT_STR(allocated(w, "n3", host(w)), "10.1.0.13/24");
    world_close(w);
}

TEST(the_address_of_a_router_is_given_by_a_hint_but_not_by_alignment)
{
    struct world *w = open_with_nodes();
    DONE(w, CMD(NETWORK_ROUTER_CREATE, network_router_create, .network_id = 1,
                .given = GIVEN_ROUTER_ADDRESS, .address = STR("10.1.0.100")));
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("gate.example.com"),
                .hint = world_json(w, "{'net-v4addr':'10.1.0.100'}")));
    const int64_t more = DONE(w, cmd_range(1, "more", "10.1.0.100/24", "10.1.0.110/24"));
    EXPECT_STR(address_in(w, "gate", more), "10.1.0.100/24");
    deallocate(w, "gate");
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "gate")));
    w->now_ms += REST_MS;
    DONE(w, with(cmd_network_of(w, "boss", "admin", true,
                                "[{'name':'host','first':'192.168.0.10/24',"
                                "'last':'192.168.0.200/24'}]"),
                 "conduit", "1g1"));
    DONE(w, cmd_allocate_address(w, "n1", range_named(w, "boss", "host"), "192.168.0.100"));
    EXPECT_STR(allocated(w, "n1", more), "10.1.0.101/24");
    world_close(w);
}

TEST(machines_without_an_allocation_are_left_alone)
{
    struct world *w = open_with_nodes();
    CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == 0);
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_DESCRIPTION,
                .description = STR("x")));
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n1")));
    CHECK(core_count(w->core, TABLE_LEASE) == 0);
    world_close(w);
}

/* ---- the index ---- */

TEST(the_check_finds_an_index_that_does_not_match_the_rows)
{
    struct world *w = open_with_nodes();
    struct core *c = w->core;
    DONE(w, cmd_allocate(w, "n1", host(w)));
    DONE(w, cmd_allocate(w, "n2", host(w)));
    DONE(w, CMD(LEASE_TAKE, lease_take, .range_id = host(w), .address = STR("10.1.0.14"),
                .mac = STR("52:54:00:00:00:01"), .lease_s = 600));
    const network_allocation_ix a = network_allocation_by_id(c, allocation_of(w, "n1"));
    const network_allocation_ix b = network_allocation_by_id(c, allocation_of(w, "n2"));
    struct network_allocation *row = network_allocation_edit(c, a);
    const struct network_allocation before = *row;
    row->at.ip.lo += 100;
    HAS(core_check(c, &w->arena), "not in the index");
    *row = before;
    row->at.ip = network_allocation_at(c, b)->at.ip;
    CHECK(core_check(c, &w->arena) != NULL);
    *row = before;
    row->range = network_range_by_id(c, range_named(w, "net", "admin"));
    HAS(core_check(c, &w->arena), "another range");
    *row = before;
    struct network_range *range = network_range_edit(c, before.range);
    range->cursor = 4;
    HAS(core_check(c, &w->arena), "below the cursor");
    range->cursor = 0;
    CHECK(core_check(c, &w->arena) == NULL);
    /* A handle that is left in the index, of a row that another key has. */
    omap_put(&c->addresses, 12345, a.v << 2);
    HAS(core_check(c, &w->arena), "no row has");
    omap_remove(&c->addresses, 12345);
    CHECK(core_check(c, &w->arena) == NULL);
    world_close(w);
}

/* A record is loaded only if a command can have made it. */
TEST(records_of_allocations_that_no_command_makes_are_not_loaded)
{
    struct world *w = open_with_nodes();
    struct core *c = w->core;
    DONE(w, cmd_allocate_address(w, "n1", host(w), "10.1.0.10"));
    const network_range_ix range = network_range_by_id(c, host(w));
    const struct network_allocation good = {.node = node_by_id(c, the_node(w, "n2")),
                                            .range = range,
                                            .network = network_range_at(c, range)->network};
    const struct network_allocation_record record = {.id = 9, .address = STR("10.1.0.11/24")};
    struct network_allocation row = good;
    CHECK(network_allocation_fill(c, &row, &record));
    static const char *const wrong[] = {"10.1.0.10/24", "10.1.0.9/24", "10.1.0.11/25",
                                        "10.1.0.11",    "nonsense",    ""};
    for (int i = 0; i < 6; i++) {
        struct network_allocation_record bad = record;
        bad.address = str_from(wrong[i]);
        row = good;
        CHECK(!network_allocation_fill(c, &row, &bad));
    }
    struct network_allocation rows[4] = {good, good, good, good};
    rows[0].node.v = 0;
    rows[1].range.v = 0;
    rows[2].network.v = 0;
    rows[3].node = node_by_id(c, the_node(w, "n1")); /* has one in the range */
    for (int i = 0; i < 4; i++)
        CHECK(!network_allocation_fill(c, &rows[i], &record));
    struct network_allocation_record high = record;
    high.id = ADDRESS_ID_MAX;
    row = good;
    CHECK(!network_allocation_fill(c, &row, &high));
    world_close(w);
}

/* ---- random commands ---- */

/* The lowest address of the range that no row has; "none". */
static const char *naive_lowest(struct world *w, int64_t range)
{
    const struct ip_range span =
        network_range_at(w->core, network_range_by_id(w->core, range))->addresses;
    struct ip ip = span.first;
    for (; ip_range_has(span, ip); ip.lo++) {
        bool is_used = false;
        struct record record;
        static const enum table tables[] = {TABLE_NETWORK_ALLOCATION, TABLE_LEASE,
                                            TABLE_NETWORK_ROUTER};
        for (int t = 0; t < 3; t++)
            for (int64_t id = 0; (id = core_next_id(w->core, tables[t], id)) != 0;) {
                CHECK(core_record(w->core, tables[t], id, &record));
                struct ip other;
                const char *wrong;
                CHECK(ip_parse(t == 0   ? record.network_allocation.address
                               : t == 1 ? record.lease.address
                                        : record.network_router.address,
                               &other, &wrong));
                is_used = is_used || ip_cmp(other, ip) == 0;
            }
        if (!is_used)
            return shown(w, ip_format(&w->arena, ip));
    }
    return "none";
}

TEST(the_next_address_is_always_the_lowest_free_one)
{
    struct prng r;
    prng_init(&r, 20150914);
    uint32_t allocated_count = 0, full = 0;
    for (int world = 0; world < 12; world++) {
        struct world *w = open_with_nodes();
        DONE(w, with(cmd_network_of(w, "loose", "unmanaged", false,
                                    "[{'name':'host','first':'10.0.0.1/8','last':'10.9.0.1/8',"
                                    "'overlap':true}]"),
                     "conduit", "1g1"));
        const int64_t loose = range_named(w, "loose", "host");
        DONE(w, CMD(NETWORK_ROUTER_CREATE, network_router_create, .network_id = 1));
        static const char *const nodes[] = {"n1", "n2", "n3", "n4"};
        for (int i = 0; i < 120; i++) {
            const char *node = nodes[prng_below(&r, 4)];
            char address[32], mac[32];
            snprintf(address, sizeof address, "10.1.0.%d", (int)prng_between(&r, 9, 15));
            snprintf(mac, sizeof mac, "52:54:00:00:00:%02x", (unsigned)prng_below(&r, 4));
            const int64_t range = prng_chance(&r, 300) ? loose : host(w);
            switch (prng_below(&r, 8)) {
            case 0: world_step(w, cmd_allocate_address(w, node, range, address)); break;
            case 1: world_step(w, cmd_suggest(w, node, range, address)); break;
            case 2:
                world_step(w,
                           CMD(LEASE_TAKE, lease_take, .range_id = host(w),
                               .address = str_from(address), .mac = str_from(mac), .lease_s = 60));
                break;
            case 3:
                world_step(w, CMD(LEASE_DECLINE, lease_decline, .range_id = host(w),
                                  .address = str_from(address), .mac = str_from(mac)));
                break;
            case 4:
                world_step(w, CMD(NETWORK_ROUTER_UPDATE, network_router_update, .id = 1,
                                  .given = GIVEN_ROUTER_ADDRESS, .address = str_from(address)));
                break;
            case 5:
                w->now_ms += (int64_t)prng_below(&r, REST_MS);
                world_step(w, CMD(TICK, tick, .unused = 0));
                break;
            default: {
                const int64_t id = core_next_id(w->core, TABLE_NETWORK_ALLOCATION, 0);
                world_step(w, CMD(NETWORK_DEALLOCATE, network_deallocate, .id = id));
                break;
            }
            }
            if (i % 10 == 0)
                world_reload(w);
            if (strcmp(address_in(w, node, host(w)), "none") != 0)
                continue;
            const char *lowest = naive_lowest(w, host(w));
            world_step(w, cmd_allocate(w, node, host(w)));
            const char *got = address_in(w, node, host(w));
            /* With a free address the lowest one is taken; without, one that has rested, or
             * none. */
            if (strcmp(lowest, "none") != 0)
                EXPECT_STR(got, lowest);
            allocated_count += w->out.verdict == VERDICT_DONE;
            full += w->out.verdict == VERDICT_REFUSED;
        }
        world_close(w);
    }
    printf("%u allocated, %u full\n", allocated_count, full);
    CHECK(allocated_count > 100 && full > 5);
}
