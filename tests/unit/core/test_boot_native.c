/* Goal: core_next_native() lists the noderoles of which a boot server is sent the staged data, and
 * its stamp grows when one of the rows changes that these data are made of (docs/spec/boot.md).
 * Method: a node with native roles and roles with other jigs, in every state that decides; then
 * each row is written, and rows of others. */
#include "tests/unit/core/serve_world.h"

#define NATIVE_ROLE(name)                                                                          \
    "{'name':'" name "','jig':'native','flags':['serves-boot'],'attribs':["                        \
    "{'name':'" name "-port','map':'" name "/port','default':1,'writable':true}]}"

static struct world *native_open(void)
{
    struct world *w = serve_open();
    DONE(w, cmd_import(w, SERVE_IMPORT(NATIVE_ROLE("dhcp") "," NATIVE_ROLE("tftp") "," NATIVE_ROLE(
                              "names") ",{'name':'web','jig':'script'},{'name':'stone','jig':"
                                       "'noop'}")));
    return w;
}

static int64_t next_of(struct world *w, const char *node, int64_t after)
{
    int64_t stamp = -1;
    const int64_t id = core_next_native(w->core, the_node(w, node), after, &stamp);
    CHECK(id ? stamp >= 0 : stamp == -1);
    return id;
}

/* "dhcp tftp" */
static const char *listed(struct world *w, const char *node)
{
    struct buf b = buf_in(&w->arena);
    struct record nr, role;
    int64_t last = 0;
    for (int64_t id = 0; (id = next_of(w, node, id)) != 0; last = id) {
        CHECK(id > last);
        CHECK(core_record(w->core, TABLE_NODEROLE, id, &nr));
        CHECK(core_record(w->core, TABLE_ROLE, nr.noderole.role_id, &role));
        buf_put_z(&b, b.len ? " " : "");
        buf_put_str(&b, role.role.name);
    }
    return str_z(&w->arena, buf_str(&b));
}

TEST(committed_noderoles_of_native_roles_are_listed_by_id)
{
    struct world *w = native_open();
    EXPECT_STR(listed(w, "d1"), "");
    static const char *const bound[] = {"web@d1",  "names@d1", "stone@d1", "dhcp@d1",
                                        "dhcp@d2", "found@d1", "tftp@d1"};
    for (uint32_t i = 0; i < sizeof bound / sizeof *bound; i++)
        world_bind(w, bound[i]);
    EXPECT_STR(listed(w, "d1"), ""); /* all are proposed */
    world_commit(w, "dhcp@d1");
    EXPECT_STR(listed(w, "d1"), "dhcp");
    EXPECT_STR(listed(w, "d2"), "");
    world_commit_deployment(w, "system");
    EXPECT_STR(listed(w, "d1"), "names dhcp tftp");
    EXPECT_STR(listed(w, "d2"), "dhcp");
    DONE(w, cmd_propose(w, "dhcp@d1"));
    EXPECT_STR(listed(w, "d1"), "names tftp");
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "dhcp@d1")));
    EXPECT_STR(listed(w, "d1"), "names tftp");
    world_bind(w, "dhcp@d1"); /* the highest id now */
    world_commit(w, "dhcp@d1");
    EXPECT_STR(listed(w, "d1"), "names tftp dhcp");
    world_reload(w);
    EXPECT_STR(listed(w, "d1"), "names tftp dhcp");
    world_close(w);
}

TEST(every_state_but_proposed_is_listed)
{
    struct world *w = native_open();
    world_bind(w, "dhcp@d1");
    world_available(w, "d1", false);
    world_commit(w, "dhcp@d1");
    IS(w, "dhcp@d1", "todo");
    EXPECT_STR(listed(w, "d1"), "dhcp");
    world_available(w, "d1", true);
    world_run_all(w);
    IS(w, "dhcp@d1", "active");
    EXPECT_STR(listed(w, "d1"), "dhcp");
    DONE(w, CMD(BOOT_SERVER, boot_server, .node_id = the_node(w, "d1"),
                .event = BOOT_EVENT_CONNECTED));
    DONE(w, CMD(BOOT_SERVER, boot_server, .node_id = the_node(w, "d1"), .event = BOOT_EVENT_FAILED,
                .text = STR("port 67 is taken")));
    IS(w, "dhcp@d1", "error");
    EXPECT_STR(listed(w, "d1"), "dhcp");
    world_close(w);
}

TEST(a_role_is_listed_while_its_jig_is_native)
{
    struct world *w = native_open();
    world_bind(w, "dhcp@d1");
    world_commit(w, "dhcp@d1");
    EXPECT_STR(listed(w, "d1"), "dhcp");
    DONE(w, cmd_import(w, SERVE_IMPORT(DHCP_PUBLISHES)));
    EXPECT_STR(listed(w, "d1"), "");
    DONE(w, cmd_import(w, SERVE_IMPORT(NATIVE_ROLE("dhcp"))));
    EXPECT_STR(listed(w, "d1"), "dhcp");
    world_close(w);
}

TEST(ids_outside_the_list_have_no_next_noderole)
{
    static const int64_t unknown[] = {0, -1, 4711, INT64_MAX, INT64_MIN};
    struct world *w = native_open();
    int64_t stamp = 7;
    world_bind(w, "dhcp@d1");
    world_bind(w, "tftp@d1");
    world_commit_deployment(w, "system");
    const int64_t first = the_noderole(w, "dhcp@d1"), second = the_noderole(w, "tftp@d1");
    for (uint32_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        CHECK(core_next_native(w->core, unknown[i], 0, &stamp) == 0 && stamp == 7);
    CHECK(next_of(w, "d1", INT64_MIN) == first && next_of(w, "d1", first - 1) == first);
    CHECK(next_of(w, "d1", first) == second && next_of(w, "d1", second - 1) == second);
    CHECK(!next_of(w, "d1", second) && !next_of(w, "d1", second + 1));
    CHECK(!next_of(w, "d1", INT64_MAX));
    world_close(w);
}

/* ---- the stamp ---- */

static int64_t stamp_of(struct world *w, const char *noderole)
{
    int64_t stamp = 0;
    const struct noderole_record row = read_noderole(w, noderole);
    world_collect(w);
    CHECK(core_next_native(w->core, row.node_id, row.id - 1, &stamp) == row.id);
    return stamp;
}

static int64_t row_of(struct world *w, enum table table)
{
    return table == TABLE_NODEROLE ? the_noderole(w, "dhcp@d1")
           : table == TABLE_ROLE   ? the_role(w, "dhcp")
                                   : the_deployment_role(w, "dhcp", "system");
}

static int64_t turn_of_noderole(struct world *w)
{
    return noderole_at(w->core, noderole_by_id(w->core, the_noderole(w, "dhcp@d1")))->o.turn;
}

/* The first value makes the noderole run again, which is a change of its own row: the others change
 * the row of the role or of the deployment role alone. */
TEST(the_stamp_grows_when_a_row_of_the_staged_data_changes)
{
    static const enum table tables[] = {TABLE_ROLE, TABLE_ROLE, TABLE_DEPLOYMENT_ROLE,
                                        TABLE_DEPLOYMENT_ROLE};
    struct world *w = native_open();
    world_bind(w, "dhcp@d1");
    world_commit(w, "dhcp@d1");
    world_run_all(w);
    int64_t before = stamp_of(w, "dhcp@d1");
    for (uint32_t i = 0; i < 4; i++) {
        char value[8];
        const int64_t row = row_of(w, tables[i]), turn = turn_of_noderole(w);
        snprintf(value, sizeof value, "%u", i + 20);
        DONE(w, cmd_set(w, tables[i], row, "dhcp-port", BUCKET_USER, value));
        if (tables[i] == TABLE_DEPLOYMENT_ROLE)
            DONE(w, CMD(DEPLOYMENT_ROLE_COMMIT, deployment_role_commit, .id = row));
        HAS(str_z(&w->arena, core_staged(w->core, the_noderole(w, "dhcp@d1"), &w->arena)), value);
        const int64_t after = stamp_of(w, "dhcp@d1");
        CHECK(after > before && (i == 0 || turn_of_noderole(w) == turn));
        before = after;
    }
    DONE(w, cmd_propose(w, "dhcp@d1"));
    DONE(w, cmd_set(w, TABLE_NODEROLE, the_noderole(w, "dhcp@d1"), "dhcp-port", BUCKET_USER, "30"));
    DONE(w, cmd_commit(w, "dhcp@d1"));
    HAS(str_z(&w->arena, core_staged(w->core, the_noderole(w, "dhcp@d1"), &w->arena)), "30");
    CHECK(stamp_of(w, "dhcp@d1") > before);
    before = stamp_of(w, "dhcp@d1");
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "d1"), .given = GIVEN_NODE_QUIRKS,
                .quirks = STR("[\"loud\"]")));
    HAS(str_z(&w->arena, core_staged(w->core, the_noderole(w, "dhcp@d1"), &w->arena)), "loud");
    CHECK(stamp_of(w, "dhcp@d1") > before);
    before = stamp_of(w, "dhcp@d1");
    world_reload(w);
    CHECK(stamp_of(w, "dhcp@d1") == before);
    world_close(w);
}

TEST(the_stamp_stays_when_other_rows_change)
{
    struct world *w = native_open();
    world_bind(w, "dhcp@d1");
    world_commit(w, "dhcp@d1");
    world_run_all(w);
    const int64_t before = stamp_of(w, "dhcp@d1");
    CHECK(stamp_of(w, "dhcp@d1") == before);
    world_bind(w, "dns@d2");
    world_commit(w, "dns@d2");
    world_run_all(w);
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "d2"), .given = GIVEN_DESCRIPTION,
                .description = STR("changed")));
    make_machine(w, "n1");
    DONE(w, cmd_environment(w, "n1", "debian-install"));
    CHECK(stamp_of(w, "dhcp@d1") == before);
    world_close(w);
}
