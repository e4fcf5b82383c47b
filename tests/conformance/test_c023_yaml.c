/* Goal: cases 23 to 27, 47, 86, 90 and 96 of docs/spec/cases.md with the shipped barclamps.
 * Method: a live world (tests/world/live.h) reads the YAML and Lua files as they are installed. The
 * programs conformance/yaml_* run all cases with barclamps that the tests write as YAML. */
#include "tests/world/live.h"

static void make_admin_node(struct world *w, const char *name, const char *address)
{
    struct command command = cmd_node(w, name);
    command.node_create.admin = true;
    command.node_create.hint = world_json(w, address);
    DONE(w, command);
}

/* Opens a world with an admin node, on which the other nodes find their servers. */
static struct world *open_shipped(void)
{
    struct world *w = live_open();
    live_import(w, live_path(w, "barclamps"));
    DONE(w,
         CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_TEST_JIG, .test_jig = true));
    make_admin_node(w, "admin1", "{'admin-v4addr':'192.168.124.10/24'}");
    return w;
}

static uint32_t noderoles_on(struct world *w, const char *node)
{
    uint32_t count = 0;
    core_noderoles_of(w->core, the_node(w, node), &w->arena, &count);
    return count;
}

TEST(the_shipped_barclamps_are_imported_without_a_warning_and_again_without_a_change)
{
    struct world *w = open_shipped();
    const struct digest128 before = core_digest_now(w->core);
    live_import(w, live_path(w, "barclamps"));
    CHECK(digest_eq(core_digest_now(w->core), before));
    live_close(w);
}

/* ---- binding ---- */

TEST(c023_an_implicit_parent_is_bound_with_its_child_on_an_admin_node)
{
    struct world *w = open_shipped();
    make_admin_node(w, "n1", "{}");
    world_bind(w, "test-client@n1");
    DONE(w, CMD(NODE_COMMIT, node_commit, .id = the_node(w, "n1")));
    CHECK(noderoles_on(w, "n1") ==
          3); /* and test-server; test-admin is bound to the first admin node only */
    CHECK(world_has_edge(w, "test-library@n1", "test-client@n1"));
    CHECK(read_role(w, "test-library").flags & ROLE_IMPLICIT);
    live_close(w);
}

TEST(c024_a_plain_node_gets_the_discovery_role_when_it_is_committed)
{
    struct world *w = open_shipped();
    DONE(w, cmd_node(w, "n1"));
    world_bind(w, "test-client@n1");
    DONE(w, CMD(NODE_COMMIT, node_commit, .id = the_node(w, "n1")));
    CHECK(world_bound(w, "crowbar-managed-node@n1") != 0);
    CHECK(read_role(w, "crowbar-managed-node").flags & ROLE_DISCOVERY);
    CHECK(world_bound(w, "test-library@n1") != 0);
    live_close(w);
}

TEST(c025_after_the_commit_a_node_is_listed_in_its_deployment)
{
    struct world *w = open_shipped();
    world_deployment(w, "d");
    struct command command = cmd_node(w, "n1");
    command.node_create.deployment_id = the_deployment(w, "d");
    DONE(w, command);
    DONE(w, CMD(NODE_COMMIT, node_commit, .id = the_node(w, "admin1")));
    CHECK(read_node(w, "admin1").deployment_id == SYSTEM && read_node(w, "admin1").available);
    DONE(w, CMD(NODE_COMMIT, node_commit, .id = the_node(w, "n1")));
    CHECK(read_node(w, "n1").deployment_id == the_deployment(w, "d"));
    CHECK(read_noderole(w, "crowbar-managed-node@n1").deployment_id == the_deployment(w, "d"));
    live_close(w);
}

TEST(c026_a_client_binds_its_library_and_finds_or_creates_its_server)
{
    struct world *w = open_shipped();
    world_deployment(w, "d");
    world_node(w, "n1", "d");
    world_node(w, "n2", "d");
    world_bind_in(w, "test-client@n1", "d");
    IS(w, "test-client@n1", "proposed");
    CHECK(world_has_edge(w, "test-library@n1", "test-client@n1"));
    CHECK(world_has_edge(w, "test-server@n1", "test-client@n1"));
    CHECK(world_has_edge(w, "test-admin@admin1", "test-server@n1"));
    world_bind_in(w, "test-client@n2", "d");
    CHECK(world_has_edge(w, "test-library@n2", "test-client@n2"));
    CHECK(world_has_edge(w, "test-server@n1", "test-client@n2"));
    CHECK(noderoles_on(w, "n2") == 2);
    live_close(w);
}

TEST(c027_a_role_that_was_added_to_the_deployment_is_bound)
{
    struct world *w = open_shipped();
    world_deployment(w, "d");
    world_node(w, "n1", "d");
    DONE(w, CMD(DEPLOYMENT_ROLE_CREATE, deployment_role_create,
                .deployment_id = the_deployment(w, "d"), .role_id = the_role(w, "test-event")));
    world_bind_in(w, "test-event@n1", "d");
    IS(w, "test-event@n1", "proposed");
    world_commit_deployment(w, "d");
    IS(w, "test-event@n1", "active");
    live_close(w);
}

TEST(c047_the_first_admin_node_gets_the_bootstrap_roles_and_a_second_does_not)
{
    struct world *w = open_shipped();
    make_admin_node(w, "n2", "{}");
    CHECK(world_bound(w, "crowbar-admin-node@admin1") != 0);
    CHECK(world_bound(w, "dhcp-database@admin1") != 0);
    CHECK(world_bound(w, "provisioner-database@admin1") != 0);
    CHECK(noderoles_on(w, "n2") == 0);
    live_close(w);
}

/* ---- runs ---- */

TEST(c086_an_async_role_waits_in_transition_until_it_is_retried)
{
    struct world *w = open_shipped();
    world_node(w, "n1", NULL);
    world_bind(w, "test-async@n1");
    world_commit(w, "test-async@n1");
    IS(w, "test-async@n1", "transition");
    CHECK(core_node_state(w->core, the_node(w, "n1")) == NODEROLE_TRANSITION);
    DONE(w, cmd_retry(w, "test-async@n1"));
    IS(w, "test-async@n1", "active");
    live_close(w);
}

/* ---- attribs ---- */

TEST(c090_the_attrib_of_a_role_has_its_map_its_owner_and_no_schema)
{
    struct world *w = open_shipped();
    const struct attrib_record attrib = read_attrib(w, "test-random");
    EXPECT_STR(shown(w, attrib.map), "test/random");
    CHECK(attrib.role_id == the_role(w, "test-server"));
    CHECK(attrib.barclamp_id == core_find(w->core, TABLE_BARCLAMP, STR("test")));
    CHECK(!attrib.writable);
    EXPECT_STR(shown(w, attrib.schema), "{}");
    CHECK(read_attrib(w, "test-marker").writable);
    live_close(w);
}

static const char *on_node(struct world *w, const char *attrib)
{
    return world_value(w, TABLE_NODE, the_node(w, "n1"), attrib, VIEW_ALL);
}

TEST(c096_discovered_data_is_read_and_drives_are_counted)
{
    struct world *w = open_shipped();
    struct command command = cmd_node(w, "n1");
    command.node_create.available = true;
    command.node_create.discovery =
        world_json(w, "{'ohai':{'platform':'debian','block_device':{'sda':{},'sr0':{},'loop0':{},"
                      "'sda1':{}}}}");
    DONE(w, command);
    EXPECT_STR(shown(w, read_attrib(w, "os").map), "ohai/platform");
    EXPECT_STR(on_node(w, "os"), "'debian'");
    EXPECT_STR(on_node(w, "number_of_drives"), "1");
    live_close(w);
}

TEST(c096_drives_are_counted_again_when_discovery_finds_more)
{
    struct world *w = open_shipped();
    world_node(w, "n1", NULL);
    EXPECT_STR(on_node(w, "os"), "null");
    EXPECT_STR(on_node(w, "number_of_drives"), "null");
    DONE(w, CMD(ATTRIB_CREATE, attrib_create, .name = STR("seen"), .map = STR("ohai"),
                .barclamp_id = core_find(w->core, TABLE_BARCLAMP, STR("test"))));
    DONE(w, cmd_set(w, TABLE_NODE, the_node(w, "n1"), "seen", BUCKET_DISCOVERY,
                    "{'block_device':{'sda':{},'sdb':{},'sdaa':{}}}"));
    EXPECT_STR(on_node(w, "number_of_drives"), "3");
    live_close(w);
}
