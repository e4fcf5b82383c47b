/* Goal: a network breaks no rule of docs/spec/networks.md#networks, all problems of a command are
 * reported at once, a refused command leaves nothing behind, and a network is deleted with all that
 * belongs to it. Method: commands through the core; tables of values for every field, at and beside
 * its bounds; world.h checks all invariants after each step, the digest after each refusal, and the
 * rows after a reload. */
#include "tests/unit/core/network_world.h"

/* Network `other` on 1g7, so that overlaps are possible. */
static struct world *open_with_other(void)
{
    struct world *w = world_open();
    DONE(w, with(cmd_network(w, "other", "", ""), "conduit", "1g7"));
    return w;
}

static struct command make_full(struct world *w)
{
    struct command command = cmd_network(
        w, "net", "[{'name':'host','first':'10.1.0.10/24','last':'10.1.0.99/24'}]", "{'pref':10}");
    struct network_create_command *p = &command.network_create;
    p->given = GIVEN_ALL & ~GIVEN_NETWORK_V6PREFIX;
    p->description = STR("words");
    p->order = 7;
    p->configure = true;
    p->category = STR("general");
    p->group = STR("default");
    return command;
}

static struct command update_full(struct world *w)
{
    struct command command =
        CMD(NETWORK_UPDATE, network_update, .given = GIVEN_ALL, .description = STR("words"),
            .order = 7, .conduit = STR("1g0"), .configure = true, .category = STR("general"),
            .group = STR("default"), .pbr = STR("table"));
    command.network_update.id = core_find(w->core, TABLE_NETWORK, STR("net"));
    return command;
}

static struct world *open_with_net(void)
{
    struct world *w = open_with_other();
    DONE(w, make_full(w));
    return w;
}

static struct network_record read_network(struct world *w, const char *name)
{
    struct record record;
    const int64_t id = core_find(w->core, TABLE_NETWORK, str_from(name));
    CHECK(id && core_record(w->core, TABLE_NETWORK, id, &record));
    return record.network;
}

static char long_name[300];

static const char *letters(size_t count)
{
    memset(long_name, 'a', sizeof long_name);
    CHECK(count < sizeof long_name);
    long_name[count] = 0;
    return long_name;
}

/* ---- values ---- */

#define INVALID PROBLEM_NETWORK_INVALID

static const struct bad_value setting_values[] = {
    {"conduit", "", INVALID, NULL},
    {"conduit", "cow", INVALID, NULL},
    {"conduit", "bmcX", INVALID, NULL},
    {"conduit", "1g0,1g1", INVALID, NULL},
    {"conduit", "1g7,1g8", INVALID, NULL},
    {"conduit", "1g1000", INVALID, NULL},
    {"conduit", "bmc", PROBLEM_NONE, NULL},
    {"conduit", "1g999", PROBLEM_NONE, NULL},
    {"conduit", "1g7", PROBLEM_NONE, NULL},
    {"category", "", INVALID, NULL},
    {"category", "a\nb", INVALID, NULL},
    {"category", "two words", PROBLEM_NONE, NULL},
    {"group", "", INVALID, NULL},
    {"group", "a\x7f", INVALID, NULL},
    {"pbr", "", PROBLEM_NONE, NULL},
    {"pbr", "a\tb", INVALID, NULL},
    {"v6prefix", "automobile", INVALID, NULL},
    {"v6prefix", "fd00:1:2", INVALID, NULL},
    {"v6prefix", "fd00:1:2:3:4", INVALID, NULL},
    {"v6prefix", "FD00:1:2:3", INVALID, NULL},
    {"v6prefix", "10.0.0.0", INVALID, NULL},
    {"vlan", "-2147483647", PROBLEM_NONE, NULL},
    {"vlan", "-2147483648", INVALID, NULL},
    {"vlan", "2147483647", PROBLEM_NONE, NULL},
    {"vlan", "2147483648", INVALID, NULL},
    {"team_mode", "2147483647", PROBLEM_NONE, NULL},
    {"team_mode", "2147483648", INVALID, NULL},
    {"team_mode", "-2147483648", INVALID, NULL},
    {"order", "4294967295", PROBLEM_NONE, NULL},
    {"use_bridge", "true", PROBLEM_NONE, NULL},
    {"use_vlan", "true", INVALID, "vlan"},
    {"use_team", "true", INVALID, "conduit"},
};

static const struct bad_value create_values[] = {
    {"name", "", INVALID, NULL},
    {"name", "1net", INVALID, NULL},
    {"name", "a.b", INVALID, NULL},
    {"name", "a b", INVALID, NULL},
    {"name", "-a", INVALID, NULL},
    {"name", "other", PROBLEM_NAME_TAKEN, NULL},
    {"name", "OTHER", PROBLEM_NAME_TAKEN, NULL},
    {"name", "a-b_9", PROBLEM_NONE, NULL},
    {"deployment_id", "99", PROBLEM_NOT_FOUND, NULL},
    {"deployment_id", "0", PROBLEM_NONE, NULL},
    {"deployment_id", "-1", PROBLEM_NOT_FOUND, NULL},
    {"v6prefix", "auto", PROBLEM_NONE, NULL},
    {"v6prefix", "fd00:1:2:3", PROBLEM_NONE, NULL},
    {"ranges", "{}", PROBLEM_BAD_JSON, NULL},
    {"ranges", "[1]", PROBLEM_BAD_JSON, NULL},
    {"ranges", "\"x\"", PROBLEM_BAD_JSON, NULL},
    {"ranges", "[{}]", INVALID, "ranges/0/name"},
    {"ranges", "[{}]", INVALID, "ranges/0/first"},
    {"ranges", "[{}]", INVALID, "ranges/0/last"},
    {"ranges", "[{\"name\":1}]", PROBLEM_BAD_VALUE, "ranges/0/name"},
    {"ranges", "[{\"first\":null}]", INVALID, "ranges/0/first"},
    {"ranges",
     "[{\"name\":\"a\",\"first\":\"10.3.0.1/24\",\"last\":\"10.3.0.2/24\",\"vlan\":null}]",
     PROBLEM_NONE, NULL},
    {"ranges", "[{\"use_vlan\":1}]", PROBLEM_BAD_VALUE, "ranges/0/use_vlan"},
    {"ranges", "[{\"vlan\":\"3\"}]", PROBLEM_BAD_VALUE, "ranges/0/vlan"},
    {"ranges", "[{\"vlan\":1.5}]", PROBLEM_BAD_VALUE, "ranges/0/vlan"},
    {"ranges", "[{\"vlan\":99999999999999999999}]", PROBLEM_BAD_VALUE, "ranges/0/vlan"},
    {"ranges", "[{\"color\":\"red\"}]", PROBLEM_BAD_VALUE, "ranges/0/color"},
    {"ranges", "[]", INVALID, "router/address"},
    {"router", "[]", PROBLEM_BAD_JSON, NULL},
    {"router", "3", PROBLEM_BAD_JSON, NULL},
    {"router", "{}", PROBLEM_NONE, NULL},
    {"router", "{\"pref\":\"1\"}", PROBLEM_BAD_VALUE, "router/pref"},
    {"router", "{\"pref\":-1}", PROBLEM_BAD_VALUE, "router/pref"},
    {"router", "{\"pref\":4294967296}", PROBLEM_BAD_VALUE, "router/pref"},
    {"router", "{\"pref\":4294967295}", PROBLEM_NONE, NULL},
    {"router", "{\"address\":7}", PROBLEM_BAD_VALUE, "router/address"},
    {"router", "{\"address\":\"10.1.0\"}", INVALID, "router/address"},
    {"router", "{\"address\":\"\"}", INVALID, "router/address"},
    {"router", "{\"port\":7}", PROBLEM_BAD_VALUE, "router/port"},
    {"router", "{\"address\":\"fd00::1/64\"}", PROBLEM_NONE, NULL},
};

static const struct bad_value update_values[] = {
    {"id", "99", PROBLEM_NOT_FOUND, NULL},
    {"id", "0", PROBLEM_NOT_FOUND, NULL},
    {"v6prefix", "auto", PROBLEM_NONE, NULL},
    {"v6prefix", "", PROBLEM_NONE, NULL},
};

TEST(every_setting_is_checked_when_a_network_is_created)
{
    CHECK_VALUES(open_with_other, make_full, create_values);
    struct world *w = open_with_other();
    for (size_t i = 0; i < sizeof setting_values / sizeof *setting_values; i++) {
        struct command command = make_full(w);
        if (strcmp(setting_values[i].field, "v6prefix") == 0)
            command.network_create.given |= GIVEN_NETWORK_V6PREFIX;
        command = with(command, setting_values[i].field, setting_values[i].value);
        if (setting_values[i].code == PROBLEM_NONE) {
            const int64_t id = DONE(w, command);
            DONE(w, CMD(NETWORK_DELETE, network_delete, .id = id));
            continue;
        }
        world_refused(w, command, PROBLEM_NONE, NULL, HERE);
        if (!has_problem(w, INVALID,
                         setting_values[i].named ? setting_values[i].named
                                                 : setting_values[i].field))
            world_fail(HERE, "%s = %s: %s", setting_values[i].field, setting_values[i].value,
                       world_trouble(w));
    }
    world_close(w);
}

TEST(every_setting_is_checked_when_a_network_is_changed)
{
    CHECK_VALUES(open_with_net, update_full, setting_values);
    CHECK_VALUES(open_with_net, update_full, update_values);
}

TEST(names_and_labels_have_the_length_that_is_documented)
{
    struct world *w = world_open();
    static const char *const labels[] = {"category", "group", "pbr"};
    for (size_t length = 47; length <= 48; length++) {
        const int64_t id = DONE(w, cmd_network(w, letters(length), "", ""));
        DONE(w, CMD(NETWORK_DELETE, network_delete, .id = id));
    }
    const char *text = REFUSED(w, cmd_network(w, letters(49), "", ""), NETWORK_INVALID, "name");
    HAS(text, "at most 48 characters");
    CHECK(strlen(text) < 200);
    for (int i = 0; i < 3; i++) {
        for (size_t length = 254; length <= 255; length++) {
            const int64_t id = DONE(w, with(make_full(w), labels[i], letters(length)));
            DONE(w, CMD(NETWORK_DELETE, network_delete, .id = id));
        }
        REFUSED(w, with(make_full(w), labels[i], letters(256)), NETWORK_INVALID, labels[i]);
    }
    world_close(w);
}

TEST(a_vlan_and_a_bonding_mode_are_bounded_while_they_are_used)
{
    static const struct {
        const char *value;
        bool is_vlan, is_mode;
    } table[] = {{"-12", false, false},  {"-1", false, false},   {"0", false, true},
                 {"1", true, true},      {"3", true, true},      {"6", true, true},
                 {"7", true, false},     {"100", true, false},   {"4094", true, false},
                 {"4095", false, false}, {"4096", false, false}, {"50000", false, false}};
    struct world *w = world_open();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct command vlan =
            with(with(make_full(w), "use_vlan", "true"), "vlan", table[i].value);
        const struct command mode =
            with(with(with(make_full(w), "use_team", "true"), "team_mode", table[i].value),
                 "conduit", "1g0,1g1");
        if (table[i].is_vlan)
            DONE(w, CMD(NETWORK_DELETE, network_delete, .id = DONE(w, vlan)));
        else
            REFUSED(w, vlan, NETWORK_INVALID, "vlan");
        if (table[i].is_mode)
            DONE(w, CMD(NETWORK_DELETE, network_delete, .id = DONE(w, mode)));
        else
            REFUSED(w, mode, NETWORK_INVALID, "team_mode");
        DONE(w, CMD(NETWORK_DELETE, network_delete,
                    .id = DONE(w, with(make_full(w), "vlan", table[i].value))));
        DONE(w, CMD(NETWORK_DELETE, network_delete,
                    .id = DONE(w, with(make_full(w), "team_mode", table[i].value))));
    }
    world_close(w);
}

/* ---- creating ---- */

TEST(a_network_has_the_documented_defaults)
{
    struct world *w = world_open();
    DONE(w, cmd_network(w, "net", "", ""));
    const struct network_record net = read_network(w, "net");
    CHECK(net.deployment_id == SYSTEM && net.order == 1000 && net.vlan == 0 && net.team_mode == 5);
    CHECK(!net.use_vlan && !net.use_team && !net.use_bridge && net.configure);
    CHECK(str_eq(net.category, STR("general")) && str_eq(net.group, STR("default")));
    CHECK(!net.v6prefix.len && !net.pbr.len && !net.description.len);
    CHECK(core_count(w->core, TABLE_NETWORK_RANGE) == 0);
    CHECK(core_count(w->core, TABLE_NETWORK_ROUTER) == 0);
    world_close(w);
}

TEST(a_number_is_used_if_a_new_network_is_given_a_positive_one)
{
    struct world *w = world_open();
    struct command command = cmd_network(w, "net", "", "");
    command.network_create.given |= GIVEN_NETWORK_VLAN | GIVEN_NETWORK_TEAM_MODE;
    command.network_create.vlan = 1;
    command.network_create.team_mode = 1;
    command.network_create.conduit = STR("1g0,1g1");
    DONE(w, command);
    CHECK(read_network(w, "net").use_vlan && read_network(w, "net").use_team);
    command.network_create.name = STR("net2");
    command.network_create.given |= GIVEN_NETWORK_USE_VLAN | GIVEN_NETWORK_USE_TEAM;
    REFUSED(w, command, NETWORK_INVALID, "conduit"); /* two interfaces and no team */
    command.network_create.conduit = STR("1g5");
    DONE(w, command);
    CHECK(!read_network(w, "net2").use_vlan && !read_network(w, "net2").use_team);
    /* An update does not switch it on. */
    DONE(w,
         CMD(NETWORK_UPDATE, network_update, .id = core_find(w->core, TABLE_NETWORK, STR("net2")),
             .given = GIVEN_NETWORK_VLAN | GIVEN_NETWORK_TEAM_MODE, .vlan = 9, .team_mode = 1));
    CHECK(!read_network(w, "net2").use_vlan && read_network(w, "net2").vlan == 9);
    /* Neither does 0 in a new network. */
    command = cmd_network(w, "net3", "", "");
    command.network_create.given |= GIVEN_NETWORK_VLAN | GIVEN_NETWORK_TEAM_MODE;
    command.network_create.conduit = STR("1g6");
    DONE(w, command);
    CHECK(!read_network(w, "net3").use_vlan && !read_network(w, "net3").use_team);
    world_close(w);
}

TEST(all_problems_of_a_network_its_ranges_and_its_router_are_reported_at_once)
{
    struct world *w = open_with_other();
    struct command command =
        cmd_network(w, "1net",
                    "[{'name':'a b','first':'10.0.0.0/24','last':'10.0.0.255/24','overlap':true},"
                    "{'name':'host','first':'x','last':'fd00::9/64','conduit':'cow','vlan':9999,"
                    "'use_vlan':true},{'color':1}]",
                    "{'address':'nowhere','pref':'high'}");
    struct network_create_command *p = &command.network_create;
    p->given = GIVEN_ALL;
    p->deployment_id = 77;
    p->conduit = STR("1g7,1g8,cow");
    p->use_vlan = p->use_team = p->configure = true;
    p->vlan = 4095;
    p->team_mode = 7;
    p->v6prefix = STR("dead");
    REFUSED(w, command, NONE, NULL);
    static const struct {
        enum problem_code code;
        const char *field;
    } wanted[] = {
        {INVALID, "name"},
        {PROBLEM_NOT_FOUND, "deployment_id"},
        {INVALID, "conduit"},
        {INVALID, "vlan"},
        {INVALID, "team_mode"},
        {INVALID, "category"},
        {INVALID, "group"},
        {INVALID, "v6prefix"},
        {INVALID, "ranges/0/name"},
        {INVALID, "ranges/0/first"},
        {INVALID, "ranges/0/last"},
        {INVALID, "ranges/0/overlap"},
        {INVALID, "ranges/1/first"},
        {INVALID, "ranges/1/conduit"},
        {INVALID, "ranges/1/vlan"},
        {PROBLEM_BAD_VALUE, "ranges/2/color"},
        {INVALID, "ranges/2/name"},
        {INVALID, "ranges/2/first"},
        {INVALID, "ranges/2/last"},
        {INVALID, "router/address"},
        {PROBLEM_BAD_VALUE, "router/pref"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!has_problem(w, wanted[i].code, wanted[i].field))
            world_fail(HERE, "%s is missing: %s", wanted[i].field, world_trouble(w));
    HAS(world_trouble(w), "Network 1net: ");
    HAS(world_trouble(w), "wrong: cow");
    CHECK(core_count(w->core, TABLE_NETWORK) == 1);
    CHECK(core_find(w->core, TABLE_NETWORK, STR("1net")) == 0);
    world_close(w);
}

TEST(a_refusal_at_each_stage_of_creation_leaves_nothing)
{
    static const char *const ranges[] = {
        "[{'name':'host','first':'10.1.0.10/24','last':'10.1.0.99/24'}]",
        "[{'name':'host','first':'10.1.0.10/24','last':'10.1.0.99/24'},"
        "{'name':'host','first':'10.2.0.10/24','last':'10.2.0.99/24'}]",
        "[{'name':'host','first':'10.1.0.10/24','last':'10.1.0.99/24'},"
        "{'name':'more','first':'10.1.0.50/24','last':'10.1.0.199/24'}]"};
    static const enum problem_code codes[] = {PROBLEM_NETWORK_INVALID, PROBLEM_NAME_TAKEN,
                                              PROBLEM_RANGE_OVERLAP};
    struct world *w = world_open();
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("n1.example.com"),
                .hint = world_json(w, "{'net-v4addr':'10.1.0.77'}")));
    for (int i = 0; i < 3; i++) {
        struct command command =
            cmd_network(w, "net", ranges[i], i == 0 ? "{'address':'10.1.0'}" : "");
        command.network_create.given |= GIVEN_NETWORK_V6PREFIX;
        command.network_create.v6prefix = STR("auto");
        world_refused(w, command, codes[i], NULL, HERE);
        CHECK(core_count(w->core, TABLE_NETWORK) == 0);
        CHECK(core_count(w->core, TABLE_NETWORK_RANGE) == 0);
        CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == 0);
    }
    /* The name and the addresses are free, and the index has no trace of them. */
    DONE(w, cmd_network(w, "net", ranges[0], "{'address':'10.1.0.10'}"));
    EXPECT_STR(address_in(w, "n1", range_named(w, "net", "host")), "10.1.0.77/24");
    world_close(w);
}

/* ---- conduits ---- */

TEST(conduits_of_networks_are_equal_or_disjoint)
{
    struct world *w = world_open();
    DONE(w, with(cmd_network(w, "a", "", ""), "conduit", "1g2"));
    DONE(w, with(cmd_network(w, "b", "", ""), "conduit", "1g3"));
    DONE(w, with(cmd_network(w, "same", "", ""), "conduit", "1g3"));
    struct command team = with(cmd_network(w, "c", "", ""), "conduit", "1g2, 1g3");
    team.network_create.given |= GIVEN_NETWORK_USE_TEAM;
    team.network_create.use_team = true;
    const char *text = REFUSED(w, team, CONDUIT_OVERLAP, "conduit");
    HAS(text, "use the same interfaces or none of them");
    CHECK(problem_count(w) == 3);
    HAS(world_trouble(w), "network a (1g2)");
    HAS(world_trouble(w), "network b (1g3)");
    team.network_create.conduit = STR("1g4,1g5");
    const int64_t id = DONE(w, team);
    CHECK(str_eq(read_network(w, "c").conduit, STR("1g4,1g5")));
    /* A network is not compared with itself: its conduit may change in part. */
    DONE(w, CMD(NETWORK_UPDATE, network_update, .id = id, .given = GIVEN_NETWORK_CONDUIT,
                .conduit = STR("1g5 ,1g6")));
    CHECK(str_eq(read_network(w, "c").conduit, STR("1g5,1g6")));
    REFUSED(w,
            CMD(NETWORK_UPDATE, network_update, .id = id, .given = GIVEN_NETWORK_CONDUIT,
                .conduit = STR("1g3,1g6")),
            CONDUIT_OVERLAP, "conduit");
    world_close(w);
}

/* ---- IPv6 ---- */

TEST(an_ipv6_prefix_makes_the_range_host_v6)
{
    struct world *w = world_open();
    struct command command = cmd_network(
        w, "net", "[{'name':'host','first':'10.1.0.10/24','last':'10.1.0.99/24'}]", "{'pref':1}");
    command.network_create.given |= GIVEN_NETWORK_V6PREFIX;
    command.network_create.v6prefix = STR("auto");
    const int64_t id = DONE(w, command);
    const struct str prefix = read_network(w, "net").v6prefix;
    CHECK(prefix.len == 19 && str_starts(prefix, STR("fd")) && str_ends(prefix, STR(":0001")));
    CHECK(id == 1 && !v6prefix_check(prefix));
    struct record record;
    CHECK(core_record(w->core, TABLE_NETWORK_RANGE, range_named(w, "net", "host-v6"), &record));
    const char *whole = shown(w, prefix);
    HAS(shown(w, record.network_range.first), "::1/64");
    HAS(shown(w, record.network_range.last), ":ffff:ffff:ffff:fffe/64");
    CHECK(strncmp(whole, shown(w, record.network_range.first), 4) == 0);
    /* The router is in the first range of the list. */
    CHECK(core_record(w->core, TABLE_NETWORK_ROUTER, 1, &record) &&
          record.network_router.pref == 1);
    CHECK(core_record(w->core, TABLE_NETWORK_ROUTER, 1, &record));
    CHECK(str_eq(record.network_router.address, STR("10.1.0.10/24")));

    /* It does not change, because addresses have it; `auto` is satisfied by any prefix. */
    DONE(w, CMD(NETWORK_UPDATE, network_update, .id = id, .given = GIVEN_NETWORK_V6PREFIX,
                .v6prefix = STR("auto")));
    DONE(w, CMD(NETWORK_UPDATE, network_update, .id = id, .given = GIVEN_NETWORK_V6PREFIX));
    CHECK(str_eq(read_network(w, "net").v6prefix, prefix));
    REFUSED(w,
            CMD(NETWORK_UPDATE, network_update, .id = id, .given = GIVEN_NETWORK_V6PREFIX,
                .v6prefix = STR("fd00:1:2:3")),
            IN_USE, "v6prefix");
    world_close(w);
}

TEST(two_networks_with_the_same_ipv6_prefix_are_refused)
{
    struct world *w = world_open();
    struct command command = cmd_network(w, "a", "", "");
    command.network_create.given |= GIVEN_NETWORK_V6PREFIX;
    command.network_create.v6prefix = STR("fd00:1:2:3");
    DONE(w, command);
    CHECK(str_eq(read_network(w, "a").v6prefix, STR("fd00:1:2:3")));
    command.network_create.name = STR("b");
    REFUSED(w, command, RANGE_OVERLAP, "v6prefix/first");
    /* A range host-v6 of the list is used instead of the one that would be made. */
    command.network_create.ranges =
        world_json(w, "[{'name':'host-v6','first':'fd00:1:2:4::5/64','last':'fd00:1:2:4::9/64'}]");
    DONE(w, command);
    CHECK(core_count(w->core, TABLE_NETWORK_RANGE) == 2);
    /* A prefix that is given later makes the range too. */
    DONE(w, cmd_network(w, "c", "", ""));
    DONE(w, CMD(NETWORK_UPDATE, network_update, .id = core_find(w->core, TABLE_NETWORK, STR("c")),
                .given = GIVEN_NETWORK_V6PREFIX, .v6prefix = STR("auto")));
    CHECK(range_named(w, "c", "host-v6") && read_network(w, "c").v6prefix.len == 19);
    world_close(w);
}

TEST(an_automatic_prefix_needs_an_id_that_fits_into_one_group)
{
    struct world *w = world_open();
    struct command command = cmd_network(w, "net", "", "");
    command.network_create.given |= GIVEN_NETWORK_V6PREFIX;
    command.network_create.v6prefix = STR("auto");
    struct counter *counter = counter_edit(
        w->core, (counter_ix){omap_find(&w->core->tables[TABLE_COUNTER].by_id, TABLE_NETWORK + 1)});
    counter->last = 65534;
    const int64_t id = DONE(w, command);
    CHECK(id == 65535);
    CHECK(str_ends(read_network(w, "net").v6prefix, STR(":ffff")));
    DONE(w, CMD(NETWORK_DELETE, network_delete, .id = id));
    HAS(REFUSED(w, command, LIMIT_REACHED, "v6prefix"), "give a prefix");
    world_close(w);
}

/* ---- updating ---- */

TEST(an_update_that_changes_nothing_makes_no_edit)
{
    struct world *w = open_with_net();
    DONE(w, update_full(w));
    const uint64_t edits = core_edits(w->core);
    CHECK(DONE(w, update_full(w)) == core_find(w->core, TABLE_NETWORK, STR("net")));
    DONE(w, with(update_full(w), "conduit", " 1g0 "));
    DONE(w, CMD(NETWORK_UPDATE, network_update, .id = 2, .given = 0, .order = 99));
    CHECK(core_edits(w->core) == edits);
    world_close(w);
}

TEST(ranges_are_checked_again_when_what_they_inherit_changes)
{
    struct world *w = world_open();
    struct command command = cmd_network_of(
        w, "net", "general", false,
        "[{'name':'any','first':'10.1.0.10/24','last':'10.1.0.99/24','overlap':true},"
        "{'name':'tagged','first':'10.2.0.10/24','last':'10.2.0.99/24','use_vlan':true},"
        "{'name':'single','first':'10.3.0.10/24','last':'10.3.0.99/24','conduit':'1g4'}]");
    command.network_create.given |= GIVEN_NETWORK_VLAN | GIVEN_NETWORK_USE_VLAN;
    command.network_create.vlan = 5;
    const int64_t id = DONE(w, command);
    HAS(REFUSED(w,
                CMD(NETWORK_UPDATE, network_update, .id = id, .given = GIVEN_NETWORK_CONFIGURE,
                    .configure = true),
                NETWORK_INVALID, "overlap"),
        "NetworkRange net.any: ");
    HAS(REFUSED(w, CMD(NETWORK_UPDATE, network_update, .id = id, .given = GIVEN_NETWORK_VLAN),
                NETWORK_INVALID, "vlan"),
        "NetworkRange net.tagged: ");
    HAS(REFUSED(w,
                CMD(NETWORK_UPDATE, network_update, .id = id,
                    .given = GIVEN_NETWORK_CONDUIT | GIVEN_NETWORK_USE_TEAM, .use_team = true,
                    .conduit = STR("1g0,1g1")),
                NETWORK_INVALID, "conduit"),
        "NetworkRange net.single: ");
    REFUSED(w,
            CMD(NETWORK_UPDATE, network_update, .id = id,
                .given = GIVEN_NETWORK_CONFIGURE | GIVEN_NETWORK_VLAN, .configure = true),
            NONE, NULL);
    CHECK(has_problem(w, INVALID, "overlap") && has_problem(w, INVALID, "vlan"));
    world_close(w);
}

TEST(one_wrong_setting_hides_no_other_problem)
{
    struct world *w = open_with_other();
    struct command command = cmd_network(w, "net", "", "");
    struct network_create_command *p = &command.network_create;
    p->given |= GIVEN_NETWORK_VLAN | GIVEN_NETWORK_USE_VLAN | GIVEN_NETWORK_USE_TEAM;
    p->conduit = STR("1g7,1g8");
    p->use_vlan = p->use_team = true;
    REFUSED(w, command, NONE, NULL);
    CHECK(problem_count(w) == 2 && has_problem(w, INVALID, "vlan"));
    CHECK(has_problem(w, PROBLEM_CONDUIT_OVERLAP, "conduit"));

    /* A change is checked with the ranges that inherit it, whatever else is wrong. */
    command = cmd_network_of(
        w, "loose", "general", false,
        "[{'name':'any','first':'10.1.0.10/24','last':'10.1.0.99/24','overlap':true}]");
    const int64_t id = DONE(w, command);
    REFUSED(w,
            CMD(NETWORK_UPDATE, network_update, .id = id,
                .given = GIVEN_NETWORK_CONFIGURE | GIVEN_NETWORK_PBR | GIVEN_NETWORK_V6PREFIX,
                .configure = true, .pbr = STR("a\nb"), .v6prefix = STR("x")),
            NONE, NULL);
    CHECK(problem_count(w) == 3 && has_problem(w, INVALID, "pbr"));
    CHECK(has_problem(w, INVALID, "v6prefix") && has_problem(w, INVALID, "overlap"));
    world_close(w);
}

TEST(the_conduit_of_the_admin_network_stays)
{
    struct world *w = world_open();
    const int64_t id = DONE(w, cmd_network(w, "admin", "", ""));
    DONE(w, CMD(NETWORK_UPDATE, network_update, .id = id,
                .given = GIVEN_NETWORK_CONDUIT | GIVEN_NETWORK_ORDER, .conduit = STR("1g5"),
                .order = 3));
    CHECK(str_eq(read_network(w, "admin").conduit, STR("1g0")));
    CHECK(read_network(w, "admin").order == 3);
    REFUSED(w, CMD(NETWORK_DELETE, network_delete, .id = id), NOT_SUPPORTED, "id");
    world_close(w);
}

/* ---- deleting ---- */

TEST(a_network_is_deleted_with_all_that_belongs_to_it)
{
    struct world *w = open_with_net();
    const int64_t id = core_find(w->core, TABLE_NETWORK, STR("net"));
    const int64_t range = range_named(w, "net", "host");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    DONE(w, cmd_allocate(w, "n1", range));
    DONE(w, cmd_allocate(w, "n2", range));
    deallocate(w, "n2");
    DONE(w, CMD(LEASE_TAKE, lease_take, .range_id = range, .address = STR("10.1.0.90"),
                .mac = STR("52:54:00:00:00:01"), .lease_s = 600));
    CHECK(core_count(w->core, TABLE_LEASE) == 2);
    REFUSED(w, CMD(NETWORK_DELETE, network_delete, .id = 99), NOT_FOUND, "id");
    CHECK(DONE(w, CMD(NETWORK_DELETE, network_delete, .id = id)) == id);
    CHECK(core_count(w->core, TABLE_NETWORK) == 1 && core_count(w->core, TABLE_NETWORK_RANGE) == 0);
    CHECK(core_count(w->core, TABLE_NETWORK_ROUTER) == 0 && core_count(w->core, TABLE_LEASE) == 0);
    CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == 0);
    CHECK(core_next_deadline(w->core) == -1);
    DONE(w, make_full(w)); /* name, addresses and conduit are free */
    world_close(w);
}

TEST(a_network_with_thousands_of_allocations_is_deleted)
{
    enum { NODES = 3000 };
    struct world *w = world_open();
    const int64_t id =
        DONE(w, cmd_network(w, "net",
                            "[{'name':'host','first':'10.1.0.10/16','last':'10.1.99.99/16'}]", ""));
    const int64_t range = range_named(w, "net", "host");
    struct arena scratch = {0};
    for (int i = 0; i < NODES; i++) {
        char name[32];
        struct effects fx = {0};
        struct outcome out;
        snprintf(name, sizeof name, "m%d.example.com", i);
        struct command create = CMD(NODE_CREATE, node_create, .name = str_from(name));
        create.now_ms = ++w->now_ms;
        create.actor = STR("user tester");
        core_step(w->core, &create, &scratch, &fx, &out);
        CHECK(out.verdict == VERDICT_DONE);
        struct command take =
            CMD(NETWORK_ALLOCATE, network_allocate, .node_id = out.id, .range_id = range);
        take.now_ms = ++w->now_ms;
        take.actor = STR("user tester");
        core_step(w->core, &take, &scratch, &fx, &out);
        CHECK(out.verdict == VERDICT_DONE);
        arena_reset(&scratch);
    }
    arena_fini(&scratch);
    CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == NODES);
    DONE(w, CMD(NETWORK_DELETE, network_delete, .id = id));
    world_anneal(w);
    CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == 0 &&
          core_count(w->core, TABLE_NETWORK) == 0);
    world_close(w);
}

TEST(a_deployment_with_networks_is_not_deleted)
{
    struct world *w = world_open();
    world_deployment(w, "d");
    struct command command = cmd_network(w, "net", "", "");
    command.network_create.deployment_id = the_deployment(w, "d");
    const int64_t id = DONE(w, command);
    HAS(REFUSED(w, CMD(DEPLOYMENT_DELETE, deployment_delete, .id = the_deployment(w, "d")), IN_USE,
                "id"),
        "network net");
    DONE(w, CMD(NETWORK_DELETE, network_delete, .id = id));
    DONE(w, CMD(DEPLOYMENT_DELETE, deployment_delete, .id = the_deployment(w, "d")));
    world_close(w);
}

/* ---- check ---- */

TEST(records_of_networks_and_routers_that_no_command_makes_are_not_loaded)
{
    struct world *w = open_with_net();
    const struct network_record good = {
        .id = 9, .name = STR("more"), .deployment_id = SYSTEM, .conduit = STR("1g5")};
    CHECK(network_can_load(&good));
    struct network_record bad[4] = {good, good, good, good};
    bad[0].name = STR("1st");
    bad[1].deployment_id = 0;
    bad[2].conduit = STR("");
    bad[3].v6prefix = STR("auto");
    for (int i = 0; i < 4; i++)
        CHECK(!network_can_load(&bad[i]));
    const network_ix other = {name_find(w->core, TABLE_NETWORK, STR("other"))};
    const struct network_router_record router = {.id = 9, .address = STR("10.9.0.1/24")};
    struct network_router row = {.network = other};
    CHECK(network_router_fill(w->core, &row, &router));
    const struct network_router_record wrong = {.id = 9, .address = STR("10.9.0")};
    CHECK(!network_router_fill(w->core, &row, &wrong));
    row.network.v = name_find(w->core, TABLE_NETWORK, STR("net")); /* has one */
    CHECK(!network_router_fill(w->core, &row, &router));
    row.network.v = 0;
    CHECK(!network_router_fill(w->core, &row, &router));
    world_close(w);
}

TEST(the_check_finds_lists_that_do_not_match_the_rows)
{
    struct world *w = open_with_net();
    struct core *c = w->core;
    const network_ix net = {name_find(c, TABLE_NETWORK, STR("net"))};
    const network_range_ix range = {vec_at(c, &network_at(c, net)->ranges, 0)};
    struct network *row = network_edit(c, net);
    const struct network before = *row;
    row->ranges.count = 0;
    HAS(core_check(c, &w->arena), "is not listed by its network");
    *row = before;
    row->router.v = 0;
    HAS(core_check(c, &w->arena), "two routers");
    *row = before;
    row->router.v = 99; /* in no row */
    HAS(core_check(c, &w->arena), "a router that is not its own");
    *row = before;
    row->deployment.v = 99;
    CHECK(core_check(c, &w->arena) != NULL);
    *row = before;
    network_range_edit(c, range)->network.v = 1;
    HAS(core_check(c, &w->arena), "not its own");
    network_range_edit(c, range)->network = net;
    CHECK(core_check(c, &w->arena) == NULL);
    world_close(w);
}
