/* Goal: a range breaks no rule of docs/spec/networks.md#ranges, whatever the order in which ranges
 * are made, and changes only as far as the addresses in use permit. Method: commands through the
 * core; tables of values for every field; world.h checks invariants, refusals and reloads. */
#include "tests/unit/core/network_world.h"

/* Network `net` on 1g0 with the range host, and `loose` without configure on 1g1. */
static struct world *open_with_range(void)
{
    struct world *w = world_open();
    DONE(w, cmd_network(w, "net", "[{'name':'host','first':'10.1.0.10/24','last':'10.1.0.99/24'}]",
                        ""));
    DONE(w, with(cmd_network_of(w, "loose", "general", false, ""), "conduit", "1g1"));
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    return w;
}

static int64_t network_id(struct world *w, const char *name)
{
    return core_find(w->core, TABLE_NETWORK, str_from(name));
}

static struct command make_full(struct world *w)
{
    struct command command =
        cmd_range(network_id(w, "net"), "more", "10.1.0.100/24", "10.1.0.200/24");
    struct network_range_create_command *p = &command.network_range_create;
    p->given = GIVEN_ALL & ~GIVEN_RANGE_INHERIT;
    p->conduit = STR("1g0");
    p->team_mode = 5;
    return command;
}

static struct command update_full(struct world *w)
{
    struct command command =
        CMD(NETWORK_RANGE_UPDATE, network_range_update, .given = GIVEN_ALL & ~GIVEN_RANGE_INHERIT,
            .name = STR("host"), .first = STR("10.1.0.100/24"), .last = STR("10.1.0.200/24"),
            .conduit = STR("1g0"), .team_mode = 5);
    command.network_range_update.id = range_named(w, "net", "host");
    return command;
}

static struct network_range_record read_range(struct world *w, const char *network,
                                              const char *name)
{
    struct record record;
    CHECK(core_record(w->core, TABLE_NETWORK_RANGE, range_named(w, network, name), &record));
    return record.network_range;
}

/* ---- values ---- */

#define INVALID PROBLEM_NETWORK_INVALID

static const struct bad_value range_values[] = {
    {"name", "", INVALID, NULL},
    {"name", "1st", INVALID, NULL},
    {"name", "a.b", INVALID, NULL},
    {"name", "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeee", PROBLEM_NONE, NULL},
    {"name", "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeee", PROBLEM_NONE, NULL},
    {"name", "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeee", INVALID, NULL},
    {"first", "", INVALID, NULL},
    {"first", "10.1.0", INVALID, NULL},
    {"first", "10.1.0.100", INVALID, "last"}, /* a host mask */
    {"first", "10.1.0.100/33", INVALID, NULL},
    {"first", "10.1.0.100/255.255.255.0", PROBLEM_NONE, NULL},
    {"first", "10.1.0.100/255.0.255.0", INVALID, NULL},
    {"first", "fd00::1/64", INVALID, "last"},
    {"first", "10.1.0.0/24", INVALID, NULL},
    {"first", "10.1.0.201/24", INVALID, "last"},
    {"first", "10.1.0.200/24", PROBLEM_NONE, NULL},
    {"first", "10.2.0.100/24", INVALID, "last"},
    {"first", "10.1.0.100/28", INVALID, "last"},
    {"last", "", INVALID, NULL},
    {"last", "fd00::9/64", INVALID, NULL},
    {"last", "10.1.0.255/24", INVALID, NULL},
    {"last", "10.1.0.254/24", PROBLEM_NONE, NULL},
    {"last", "10.1.0.99/24", INVALID, NULL},
    {"last", "10.1.0.200/25", INVALID, NULL},
    {"last", "10.1.1.200/24", INVALID, NULL},
    {"last", "10.1.0.200/24 ", INVALID, NULL},
    {"conduit", "", INVALID, NULL},
    {"conduit", "cow", INVALID, NULL},
    {"conduit", "1g0,1g5", INVALID, NULL},
    {"conduit", "1g5", PROBLEM_NONE, NULL},
    {"vlan", "2147483648", INVALID, NULL},
    {"vlan", "2147483647", PROBLEM_NONE, NULL},
    {"vlan", "-2147483648", INVALID, NULL},
    {"team_mode", "2147483648", INVALID, NULL},
    {"team_mode", "-2147483647", PROBLEM_NONE, NULL},
    {"use_vlan", "true", INVALID, "vlan"},
    {"use_team", "true", INVALID, "conduit"},
    {"use_bridge", "true", PROBLEM_NONE, NULL},
    {"overlap", "true", INVALID, NULL},
};

static const struct bad_value create_values[] = {
    {"network_id", "0", PROBLEM_NOT_FOUND, NULL},
    {"network_id", "99", PROBLEM_NOT_FOUND, NULL},
    {"network_id", "-1", PROBLEM_NOT_FOUND, NULL},
    {"name", "host", PROBLEM_NAME_TAKEN, NULL},
    {"name", "HOST", PROBLEM_NAME_TAKEN, NULL},
    {"first", "10.1.0.99/24", PROBLEM_RANGE_OVERLAP, NULL},
};

static const struct bad_value update_values[] = {
    {"id", "0", PROBLEM_NOT_FOUND, NULL},
    {"id", "99", PROBLEM_NOT_FOUND, NULL},
    {"name", "HOST", PROBLEM_NONE, NULL},
};

TEST(every_field_of_a_range_is_checked)
{
    CHECK_VALUES(open_with_range, make_full, range_values);
    CHECK_VALUES(open_with_range, make_full, create_values);
    CHECK_VALUES(open_with_range, update_full, range_values);
    CHECK_VALUES(open_with_range, update_full, update_values);
}

TEST(all_problems_of_a_range_are_reported_at_once)
{
    struct world *w = open_with_range();
    struct command command = make_full(w);
    struct network_range_create_command *p = &command.network_range_create;
    p->name = STR("a b");
    p->conduit = STR("1g0,1g5,cow");
    p->use_vlan = p->use_team = p->overlap = true;
    p->team_mode = 9;
    p->first = STR("10.1.0.0/24");
    p->last = STR("10.1.0.255/24");
    REFUSED(w, command, NONE, NULL);
    static const char *const fields[] = {"name",  "conduit", "team_mode", "vlan",
                                         "first", "last",    "overlap"};
    for (int i = 0; i < 7; i++)
        CHECK(has_problem(w, INVALID, fields[i]));
    CHECK(problem_count(w) == 7);
    HAS(world_trouble(w), "NetworkRange net.a b: ");

    /* A wrong conduit hides no overlap, and wrong addresses hide no conduit. */
    p->name = STR("more");
    p->use_vlan = p->use_team = p->overlap = false;
    p->conduit = STR("cow");
    p->first = STR("10.1.0.50/24");
    p->last = STR("10.1.0.120/24");
    REFUSED(w, command, NONE, NULL);
    CHECK(problem_count(w) == 2 && has_problem(w, INVALID, "conduit"));
    CHECK(has_problem(w, PROBLEM_RANGE_OVERLAP, "first"));
    p->last = STR("nothing");
    REFUSED(w, command, NONE, NULL);
    CHECK(problem_count(w) == 2 && has_problem(w, INVALID, "last"));
    p->last = STR("fd00::9/64");
    p->first = STR("10.1.0.50/24");
    REFUSED(w, command, NONE, NULL);
    CHECK(problem_count(w) == 3 && has_problem(w, INVALID, "last"));
    world_close(w);
}

TEST(one_wrong_setting_hides_no_other_problem)
{
    struct world *w = open_with_range();
    DONE(w, with(cmd_network(w, "far", "", ""), "conduit", "1g5"));
    DONE(w, with(with(cmd_range(network_id(w, "far"), "own", "10.5.0.1/24", "10.5.0.9/24"),
                      "conduit", "1g5"),
                 "given", "15"));
    struct command command = make_full(w);
    struct network_range_create_command *p = &command.network_range_create;
    p->conduit = STR("1g5,1g6");
    p->use_vlan = p->use_team = true;
    REFUSED(w, command, NONE, NULL);
    CHECK(problem_count(w) == 2 && has_problem(w, INVALID, "vlan"));
    CHECK(has_problem(w, PROBLEM_CONDUIT_OVERLAP, "conduit"));

    /* Addresses in use are checked beside other settings, also beside an overlap. */
    DONE(w, cmd_allocate_address(w, "n1", range_named(w, "net", "host"), "10.1.0.20"));
    DONE(w, cmd_range(network_id(w, "net"), "next", "10.1.0.150/24", "10.1.0.160/24"));
    command = update_full(w);
    command.network_range_update.name = STR("next");
    REFUSED(w, command, NONE, NULL);
    CHECK(problem_count(w) == 3 && has_problem(w, PROBLEM_NAME_TAKEN, "name"));
    CHECK(has_problem(w, PROBLEM_RANGE_OVERLAP, "first") &&
          has_problem(w, PROBLEM_IN_USE, "first"));
    world_close(w);
}

TEST(the_same_range_in_other_words_is_no_change)
{
    struct world *w = open_with_range();
    struct command command = update_full(w);
    struct network_range_update_command *p = &command.network_range_update;
    p->first = STR("10.1.0.10/24");
    p->last = STR("10.1.0.99/24");
    DONE(w, command);
    const uint64_t edits = core_edits(w->core);
    p->first = STR("10.1.0.10/255.255.255.0");
    p->conduit = STR(" 01g00");
    DONE(w, command);
    CHECK(core_edits(w->core) == edits);
    world_close(w);
}

/* ---- addresses ---- */

TEST(a_subnet_of_two_addresses_has_no_broadcast_address)
{
    struct world *w = world_open();
    const int64_t net = DONE(w, cmd_network(w, "net", "", ""));
    DONE(w, cmd_range(net, "pair", "10.9.0.0/31", "10.9.0.1/31"));
    DONE(w, cmd_range(net, "single", "10.9.0.7/32", "10.9.0.7/32"));
    DONE(w, cmd_range(net, "six", "fd00::/127", "fd00::1/127"));
    REFUSED(w, cmd_range(net, "four", "10.9.0.8/30", "10.9.0.10/30"), NETWORK_INVALID, "first");
    DONE(w, cmd_range(net, "all", "10.9.1.1/0", "10.9.1.1/0"));
    world_close(w);
}

TEST(ranges_do_not_overlap)
{
    static const struct {
        const char *first, *last, *fields; /* the fields that the problems name */
    } table[] = {
        {"10.1.0.50/24", "10.1.0.120/24", "first"},
        {"10.1.0.2/24", "10.1.0.10/24", "last"},
        {"10.1.0.10/24", "10.1.0.99/24", "first last"},
        {"10.1.0.50/24", "10.1.0.60/24", "first last"},
        {"10.1.0.9/24", "10.1.0.100/24", "first"},
        {"10.1.0.99/16", "10.1.9.1/16", "first"},
        {"10.1.0.2/24", "10.1.0.9/24", ""},
        {"10.1.0.100/24", "10.1.0.200/24", ""},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct world *w = open_with_range();
        const struct command command = cmd_range(network_id(w, i % 2 ? "net" : "loose"), "more",
                                                 table[i].first, table[i].last);
        world_step(w, command);
        CHECK((w->out.verdict == VERDICT_DONE) == !*table[i].fields);
        CHECK(has_problem(w, PROBLEM_RANGE_OVERLAP, "first") ==
              (strstr(table[i].fields, "first") != NULL));
        CHECK(has_problem(w, PROBLEM_RANGE_OVERLAP, "last") ==
              (strstr(table[i].fields, "last") != NULL));
        if (*table[i].fields)
            HAS(world_trouble(w), "net.host");
        world_close(w);
    }
}

TEST(a_range_may_overlap_only_where_machines_are_not_configured)
{
    struct world *w = open_with_range();
    struct command any = cmd_range(network_id(w, "loose"), "any", "0.0.0.1/0", "223.255.255.254/0");
    REFUSED(w, any, RANGE_OVERLAP, "first");
    any.network_range_create.given |= GIVEN_RANGE_OVERLAP;
    any.network_range_create.overlap = true;
    const int64_t id = DONE(w, any);
    /* In the other order: a range inside of it. */
    DONE(w, cmd_range(network_id(w, "net"), "more", "10.1.0.100/24", "10.1.0.200/24"));
    any.network_range_create.name = STR("again");
    DONE(w, any);
    HAS(REFUSED(
            w,
            CMD(NETWORK_RANGE_UPDATE, network_range_update, .id = id, .given = GIVEN_RANGE_OVERLAP),
            RANGE_OVERLAP, "first"),
        "net.host");
    any.network_range_create.network_id = network_id(w, "net");
    HAS(REFUSED(w, any, NETWORK_INVALID, "overlap"), "configure is false");
    world_close(w);
}

/* ---- interface settings ---- */

TEST(interface_settings_are_inherited_until_a_range_has_its_own)
{
    struct world *w = open_with_range();
    const int64_t id = range_named(w, "net", "host");
    const network_range_ix r = network_range_by_id(w->core, id);
    CHECK(str_eq(network_range_interface(w->core, r).conduit, STR("1g0")));
    CHECK(read_range(w, "net", "host").own == 0 && !read_range(w, "net", "host").conduit.len);
    DONE(w, CMD(NETWORK_RANGE_UPDATE, network_range_update, .id = id,
                .given = GIVEN_RANGE_CONDUIT | GIVEN_RANGE_VLAN | GIVEN_RANGE_USE_VLAN |
                         GIVEN_RANGE_USE_BRIDGE,
                .conduit = STR(" 1g4"), .vlan = 7, .use_vlan = true, .use_bridge = true));
    const struct interface_settings own = network_range_interface(w->core, r);
    CHECK(str_eq(own.conduit, STR("1g4")) && own.vlan == 7 && own.use_vlan && own.use_bridge);
    CHECK(own.team_mode == 5 && !own.use_team);
    const uint64_t edits = core_edits(w->core);
    DONE(w, CMD(NETWORK_RANGE_UPDATE, network_range_update, .id = id,
                .given = GIVEN_RANGE_CONDUIT | GIVEN_RANGE_VLAN, .conduit = STR("1g4"), .vlan = 7));
    CHECK(core_edits(w->core) == edits);
    DONE(w, CMD(NETWORK_RANGE_UPDATE, network_range_update, .id = id, .given = GIVEN_RANGE_INHERIT,
                .inherit = RANGE_OWN_CONDUIT | RANGE_OWN_VLAN | RANGE_OWN_USE_VLAN));
    CHECK(read_range(w, "net", "host").own == RANGE_OWN_USE_BRIDGE);
    CHECK(!read_range(w, "net", "host").conduit.len && !read_range(w, "net", "host").vlan);
    CHECK(str_eq(network_range_interface(w->core, r).conduit, STR("1g0")));
    /* A setting that is given and inherited in one command is inherited; unknown bits are
     * ignored. */
    DONE(w, CMD(NETWORK_RANGE_UPDATE, network_range_update, .id = id,
                .given = GIVEN_RANGE_INHERIT | GIVEN_RANGE_VLAN | GIVEN_RANGE_USE_BRIDGE, .vlan = 9,
                .use_bridge = true, .inherit = UINT32_MAX));
    CHECK(read_range(w, "net", "host").own == 0 && !read_range(w, "net", "host").use_bridge);
    DONE(w, CMD(NETWORK_RANGE_UPDATE, network_range_update, .id = id,
                .given = GIVEN_RANGE_TEAM_MODE | GIVEN_RANGE_USE_TEAM | GIVEN_RANGE_CONDUIT,
                .conduit = STR("1g4,1g5"), .team_mode = 6, .use_team = true));
    DONE(w, CMD(NETWORK_RANGE_UPDATE, network_range_update, .id = id, .given = GIVEN_RANGE_INHERIT,
                .inherit = RANGE_OWN_ALL));
    CHECK(!read_range(w, "net", "host").team_mode && !read_range(w, "net", "host").use_team);
    world_close(w);
}

TEST(conduits_of_ranges_are_equal_or_disjoint)
{
    struct world *w = world_open();
    const int64_t net = DONE(w, cmd_network(w, "net", "", ""));
    struct command command = cmd_range(net, "a", "10.1.0.10/24", "10.1.0.20/24");
    struct network_range_create_command *p = &command.network_range_create;
    p->given |= GIVEN_RANGE_CONDUIT;
    p->conduit = STR("1g2");
    DONE(w, command);
    p->name = STR("b");
    p->first = STR("10.1.0.30/24");
    p->last = STR("10.1.0.40/24");
    p->given |= GIVEN_RANGE_USE_TEAM;
    p->use_team = true;
    p->conduit = STR("1g2,1g3");
    HAS(REFUSED(w, command, CONDUIT_OVERLAP, "conduit"), "net.a");
    p->conduit = STR("1g0,1g3"); /* the range c will inherit 1g0 */
    DONE(w, command);
    HAS(REFUSED(w, cmd_range(net, "c", "10.1.0.50/24", "10.1.0.60/24"), CONDUIT_OVERLAP, "conduit"),
        "net.b");
    world_close(w);
}

/* ---- changes with addresses in use ---- */

TEST(a_range_keeps_the_addresses_that_are_in_use)
{
    struct world *w = open_with_range();
    const int64_t id = range_named(w, "net", "host");
    DONE(w, cmd_allocate(w, "n1", id));
    DONE(w, cmd_allocate_address(w, "n2", id, "10.1.0.50"));
    CHECK(DONE(w, cmd_range_span(id, "10.1.0.10/24", "10.1.0.50/24")) == id);
    HAS(REFUSED(w, cmd_range_span(id, "10.1.0.11/24", "10.1.0.49/24"), IN_USE, "first"),
        "2 addresses in use");
    REFUSED(w, cmd_range_span(id, "10.1.0.10/25", "10.1.0.50/25"), IN_USE, "first");
    HAS(REFUSED(w, cmd_range_span(id, "10.2.0.10/24", "10.2.0.50/24"), IN_USE, "first"),
        "free them first");
    DONE(w, CMD(NETWORK_RANGE_UPDATE, network_range_update, .id = id, .given = GIVEN_RANGE_NAME,
                .name = STR("renamed")));
    EXPECT_STR(address_in(w, "n2", id), "10.1.0.50/24");
    world_close(w);
}

TEST(leases_are_in_use_and_resting_addresses_are_not)
{
    struct world *w = open_with_range();
    const int64_t id = range_named(w, "net", "host");
    DONE(w, CMD(LEASE_TAKE, lease_take, .range_id = id, .address = STR("10.1.0.90"),
                .mac = STR("52:54:00:00:00:01"), .lease_s = 600));
    DONE(w, cmd_allocate_address(w, "n1", id, "10.1.0.80"));
    DONE(w, cmd_allocate_address(w, "n2", id, "10.1.0.20"));
    REFUSED(w, cmd_range_span(id, "10.1.0.10/24", "10.1.0.85/24"), IN_USE, "first");
    deallocate(w, "n1");
    deallocate(w, "n2");
    CHECK(core_count(w->core, TABLE_LEASE) == 3);
    HAS(REFUSED(w, cmd_range_span(id, "10.1.0.10/24", "10.1.0.60/24"), IN_USE, "first"),
        ": 1 addresses in use");
    REFUSED(w, cmd_range_span(id, "10.1.0.10/23", "10.1.0.99/23"), IN_USE, "first");
    DONE(w, CMD(LEASE_RELEASE, lease_release, .address = STR("10.1.0.90"),
                .mac = STR("52:54:00:00:00:01")));
    DONE(w, cmd_range_span(id, "10.1.0.10/23", "10.1.0.60/23"));
    CHECK(core_count(w->core, TABLE_LEASE) == 1);
    struct record record;
    CHECK(core_record(w->core, TABLE_LEASE, core_next_id(w->core, TABLE_LEASE, 0), &record));
    CHECK(str_eq(record.lease.address, STR("10.1.0.20/23")));
    REFUSED(w, cmd_allocate_address(w, "n1", id, "10.1.0.20"), ADDRESS_TAKEN, "address");
    world_close(w);
}

TEST(a_changed_range_takes_hinted_addresses_and_finds_its_free_ones)
{
    struct world *w = world_open();
    const int64_t net = DONE(w, cmd_network(w, "net", "", ""));
    const int64_t id = DONE(w, cmd_range(net, "host", "10.1.0.10/24", "10.1.0.12/24"));
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("h.example.com"),
                .hint = world_json(w, "{'net-v4addr':'10.1.0.8/24'}")));
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_node(w, "n3", NULL);
    EXPECT_STR(address_in(w, "h", id), "none");
    EXPECT_STR(allocated(w, "n1", id), "10.1.0.10/24");
    EXPECT_STR(allocated(w, "n2", id), "10.1.0.11/24");
    DONE(w, cmd_range_span(id, "10.1.0.7/24", "10.1.0.12/24"));
    EXPECT_STR(address_in(w, "h", id), "10.1.0.8/24");
    EXPECT_STR(allocated(w, "n3", id), "10.1.0.7/24");
    world_close(w);
}

/* ---- bounds ---- */

TEST(a_network_has_at_most_64_ranges)
{
    struct world *w = world_open();
    const int64_t net = DONE(w, cmd_network(w, "net", "", ""));
    char name[16], first[32];
    for (int i = 0; i < 64; i++) {
        snprintf(name, sizeof name, "r%d", i);
        snprintf(first, sizeof first, "10.1.%d.10/24", i);
        DONE(w, cmd_range(net, name, first, first));
    }
    HAS(REFUSED(w, cmd_range(net, "r64", "10.2.0.1/24", "10.2.0.1/24"), LIMIT_REACHED, "name"),
        "at most 64 ranges");
    world_close(w);
}

/* ---- check and load ---- */

TEST(the_check_finds_ranges_that_overlap_or_are_not_listed)
{
    struct world *w = open_with_range();
    struct core *c = w->core;
    DONE(w, make_full(w));
    const network_range_ix r = network_range_by_id(c, range_named(w, "net", "more"));
    struct network_range *row = network_range_edit(c, r);
    const struct network_range before = *row;
    row->addresses.first.lo -= 1;
    HAS(core_check(c, &w->arena), "in common");
    *row = before;
    row->overlap = true;
    HAS(core_check(c, &w->arena), "disjoint ranges");
    *row = before;
    row->cursor = 1;
    HAS(core_check(c, &w->arena), "below the cursor");
    *row = before;
    row->allocation_count = 1;
    HAS(core_check(c, &w->arena), "counts of a range");
    *row = before;
    CHECK(core_check(c, &w->arena) == NULL);
    world_close(w);
}

/* A record is loaded only if a command can have made it. */
TEST(records_of_ranges_that_no_command_makes_are_not_loaded)
{
    struct world *w = open_with_range();
    const struct network_range_record good = {.id = 9,
                                              .network_id = 1,
                                              .name = STR("more"),
                                              .first = STR("10.1.0.100/24"),
                                              .last = STR("10.1.0.100/24"),
                                              .own = RANGE_OWN_CONDUIT,
                                              .conduit = STR("1g5")};
    const network_ix net = {name_find(w->core, TABLE_NETWORK, STR("net"))};
    struct network_range row = {.network = net};
    CHECK(network_range_fill(&row, &good));
    struct network_range_record bad[10];
    for (int i = 0; i < 10; i++)
        bad[i] = good;
    bad[0].name = STR("1st");
    bad[1].first = STR("nonsense");
    bad[2].last = STR("");
    bad[3].last = STR("10.1.0.99/24");
    bad[4].last = STR("10.1.0.100/25");
    bad[5].last = STR("fd00::1/24");
    bad[6].conduit = STR("cow");
    bad[7].own = 0; /* and a conduit of its own */
    bad[8].own = RANGE_OWN_ALL + 1;
    bad[9].first = STR("");
    for (int i = 0; i < 10; i++) {
        row = (struct network_range){.network = net};
        CHECK(!network_range_fill(&row, &bad[i]));
    }
    row.network.v = 0;
    CHECK(!network_range_fill(&row, &good));
    world_close(w);
}
