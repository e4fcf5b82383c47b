/* Goal: a network has at most one router, with the address that was requested or the first one of
 * its oldest range, and no node gets that address unless it is asked for exactly
 * (docs/spec/networks.md#routers). Method: commands through the core; a table of values; world.h
 * checks invariants, refusals and reloads. */
#include "tests/unit/core/network_world.h"

static struct world *open_with_net(void)
{
    struct world *w = world_open();
    DONE(w, cmd_network(w, "net", "[{'name':'host','first':'10.1.0.10/24','last':'10.1.0.12/24'}]",
                        ""));
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    return w;
}

static struct command make_router(struct world *w)
{
    return CMD(NETWORK_ROUTER_CREATE, network_router_create,
               .network_id = core_find(w->core, TABLE_NETWORK, STR("net")),
               .given = GIVEN_ROUTER_ADDRESS | GIVEN_ROUTER_PREF, .address = STR("10.1.0.1"),
               .pref = 42);
}

static struct world *open_with_router(void)
{
    struct world *w = open_with_net();
    DONE(w, make_router(w));
    return w;
}

static struct command update_router(struct world *w)
{
    return CMD(NETWORK_ROUTER_UPDATE, network_router_update,
               .id = core_next_id(w->core, TABLE_NETWORK_ROUTER, 0),
               .given = GIVEN_ROUTER_ADDRESS | GIVEN_ROUTER_PREF, .address = STR("10.1.0.1"),
               .pref = 42);
}

static struct network_router_record read_router(struct world *w)
{
    struct record record;
    CHECK(core_record(w->core, TABLE_NETWORK_ROUTER, core_next_id(w->core, TABLE_NETWORK_ROUTER, 0),
                      &record));
    return record.network_router;
}

static const struct bad_value address_values[] = {
    {"address", "", PROBLEM_NETWORK_INVALID, NULL},
    {"address", "10.1.0", PROBLEM_NETWORK_INVALID, NULL},
    {"address", "10.1.0.1/33", PROBLEM_NETWORK_INVALID, NULL},
    {"address", "10.1.0.01", PROBLEM_NETWORK_INVALID, NULL},
    {"address", "router.example.com", PROBLEM_NETWORK_INVALID, NULL},
    {"address", "FD00::1", PROBLEM_NETWORK_INVALID, NULL},
    {"address", "fe80::1%eth0", PROBLEM_NETWORK_INVALID, NULL},
    {"address", "fd00::1/64", PROBLEM_NONE, NULL},
    {"address", "10.1.0.1/255.255.0.0", PROBLEM_NONE, NULL},
    {"pref", "0", PROBLEM_NONE, NULL},
    {"pref", "4294967295", PROBLEM_NONE, NULL},
};
static const struct bad_value network_values[] = {
    {"network_id", "0", PROBLEM_NOT_FOUND, NULL},
    {"network_id", "99", PROBLEM_NOT_FOUND, NULL},
    {"network_id", "-1", PROBLEM_NOT_FOUND, NULL},
};
static const struct bad_value id_values[] = {
    {"id", "0", PROBLEM_NOT_FOUND, NULL},
    {"id", "99", PROBLEM_NOT_FOUND, NULL},
};

TEST(every_field_of_a_router_is_checked)
{
    CHECK_VALUES(open_with_net, make_router, address_values);
    CHECK_VALUES(open_with_net, make_router, network_values);
    CHECK_VALUES(open_with_router, update_router, address_values);
    CHECK_VALUES(open_with_router, update_router, id_values);
    struct world *w = open_with_router();
    REFUSED(w, CMD(NETWORK_ROUTER_DELETE, network_router_delete, .id = 99), NOT_FOUND, "id");
    world_close(w);
}

TEST(a_network_has_one_router)
{
    struct world *w = open_with_router();
    CHECK(str_eq(read_router(w).address, STR("10.1.0.1/32")) && read_router(w).pref == 42);
    HAS(REFUSED(w, make_router(w), IN_USE, "network_id"), "has a router already");
    CHECK(DONE(w, CMD(NETWORK_ROUTER_DELETE, network_router_delete, .id = 1)) == 1);
    CHECK(core_count(w->core, TABLE_NETWORK_ROUTER) == 0);
    DONE(w, make_router(w));
    world_close(w);
}

TEST(all_problems_of_a_router_are_reported_at_once)
{
    struct world *w = open_with_router();
    REFUSED(w, with(make_router(w), "address", "nowhere"), NONE, NULL);
    CHECK(problem_count(w) == 2 && has_problem(w, PROBLEM_IN_USE, "network_id"));
    CHECK(has_problem(w, PROBLEM_NETWORK_INVALID, "address"));
    world_close(w);
}

TEST(a_router_has_defaults)
{
    struct world *w = open_with_net();
    struct command command = make_router(w);
    command.network_router_create.given = 0;
    DONE(w, command);
    CHECK(str_eq(read_router(w).address, STR("10.1.0.10/24")) && read_router(w).pref == 65536);
    command.network_router_create.network_id =
        DONE(w, with(cmd_network(w, "bare", "", ""), "conduit", "1g5"));
    HAS(REFUSED(w, command, NETWORK_INVALID, "address"), "has no range");
    world_close(w);
}

TEST(an_update_changes_what_is_given)
{
    struct world *w = open_with_router();
    const uint64_t edits = core_edits(w->core);
    CHECK(DONE(w, update_router(w)) == read_router(w).id);
    CHECK(core_edits(w->core) == edits);
    struct command command = update_router(w);
    command.network_router_update.given = GIVEN_ROUTER_PREF;
    command.network_router_update.address = STR("nonsense");
    command.network_router_update.pref = 100;
    DONE(w, command);
    CHECK(str_eq(read_router(w).address, STR("10.1.0.1/32")) && read_router(w).pref == 100);
    command = with(update_router(w), "address", "10.1.0.1/24");
    command.network_router_update.given = GIVEN_ROUTER_ADDRESS;
    DONE(w, command);
    CHECK(str_eq(read_router(w).address, STR("10.1.0.1/24")) && read_router(w).pref == 100);
    world_close(w);
}

TEST(the_address_of_a_router_is_allocated_only_on_request)
{
    struct world *w = open_with_net();
    const int64_t range = range_named(w, "net", "host");
    DONE(w, with(make_router(w), "address", "10.1.0.10"));
    EXPECT_STR(allocated(w, "n1", range), "10.1.0.11/24");
    DONE(w, cmd_allocate_address(w, "n2", range, "10.1.0.10")); /* the node is the router */
    EXPECT_STR(address_in(w, "n2", range), "10.1.0.10/24");
    deallocate(w, "n2");
    /* When the router moves, its address is the lowest free one again. */
    world_node(w, "n3", NULL);
    world_node(w, "n4", NULL);
    EXPECT_STR(allocated(w, "n3", range), "10.1.0.12/24");
    REFUSED(w, cmd_allocate(w, "n4", range), RANGE_FULL, "range_id");
    w->now_ms += REST_MS;
    REFUSED(w, cmd_allocate(w, "n4", range), RANGE_FULL, "range_id");
    DONE(w, with(update_router(w), "address", "10.1.0.1"));
    EXPECT_STR(allocated(w, "n4", range), "10.1.0.10/24");
    world_close(w);
}

TEST(a_deleted_router_frees_its_address)
{
    struct world *w = open_with_net();
    const int64_t range = range_named(w, "net", "host");
    DONE(w, with(make_router(w), "address", "10.1.0.10"));
    EXPECT_STR(allocated(w, "n1", range), "10.1.0.11/24");
    DONE(w, CMD(NETWORK_ROUTER_DELETE, network_router_delete, .id = read_router(w).id));
    EXPECT_STR(allocated(w, "n2", range), "10.1.0.10/24");
    world_close(w);
}

TEST(two_networks_may_have_the_same_router)
{
    struct world *w = open_with_router();
    struct command command = make_router(w);
    command.network_router_create.network_id =
        DONE(w, with(cmd_network(w, "other", "", ""), "conduit", "1g5"));
    DONE(w, command);
    command.network_router_create.network_id =
        DONE(w, with(cmd_network(w, "third", "", ""), "conduit", "1g6"));
    DONE(w, command);
    DONE(w, CMD(NETWORK_ROUTER_DELETE, network_router_delete, .id = read_router(w).id));
    DONE(w, CMD(NETWORK_ROUTER_DELETE, network_router_delete, .id = read_router(w).id));
    CHECK(core_count(w->core, TABLE_NETWORK_ROUTER) == 1);
    world_reload(w);
    CHECK(str_eq(read_router(w).address, STR("10.1.0.1/32")));
    world_close(w);
}
