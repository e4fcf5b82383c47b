#include "core/core_private.h"
#include "tests/world/world.h"

/* What waits for boots: across a load, of a machine that has left the boot view; and when what the
 * machine is to boot changes meanwhile. */

/* Machine n1 with environment local; dhcp@d1 publishes boots and has published n1. */
static struct world *waits_open(const char *jig)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'tools','source_path':'/tools'},"
                          "'jigs':[{'name':'native','class':'native'}],"
                          "'hammers':[{'name':'power','type':'ipmi','priority':1}]}"));
    struct buf rest = buf_in(&w->arena);
    buf_put_z(&rest, "'flags':['serves-boot'],'jig':'");
    buf_put_z(&rest, jig);
    buf_put_z(&rest, "'");
    world_role(w, "dhcp", str_z(&w->arena, buf_str(&rest)));
    world_role(w, "found", "'jig':'noop','flags':['discovery','milestone']");
    world_node(w, "n1", NULL);
    world_node(w, "d1", NULL);
    DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = the_node(w, "n1"),
                .hammer_kind_id = core_find(w->core, TABLE_HAMMER_KIND, STR("power")),
                .username = STR("root")));
    world_bind(w, "found@n1");
    world_bring(w, "found@n1", "active");
    world_bind(w, "dhcp@d1");
    world_commit(w, "dhcp@d1");
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NODE_BOOTENV,
                .bootenv = STR("local")));
    world_run_all(w);
    IS(w, "dhcp@d1", "active");
    return w;
}

static void order_power(struct world *w)
{
    DONE(w, CMD(NODE_POWER, node_power, .id = the_node(w, "n1"), .action = STR("on")));
}

/* The number of power actions that wait. */
static uint32_t waiting_actions(struct world *w)
{
    struct record row;
    uint32_t count = 0;
    for (int64_t id = 0; (id = core_next_id(w->core, TABLE_OUTBOX, id)) != 0;) {
        CHECK(core_record(w->core, TABLE_OUTBOX, id, &row));
        count += row.outbox.kind == OUTBOX_POWER && row.outbox.generation != 0;
    }
    return count;
}

static void tick(struct world *w)
{
    DONE(w, CMD(TICK, tick, .unused = 0));
}

TEST(a_machine_that_left_the_view_waits_for_its_row_after_a_load)
{
    struct world *w = waits_open("script");
    DONE(w, cmd_propose(w, "found@n1"));
    CHECK(core_count(w->core, TABLE_BOOT_DUE) == 1);
    order_power(w);
    CHECK(waiting_actions(w) == 1);
    world_reload(w);
    tick(w);
    CHECK(waiting_actions(w) == 1);
    world_anneal(w);
    world_finish(w, "dhcp@d1", RESULT_OK);
    CHECK(waiting_actions(w) == 0);
    world_close(w);
}

/* The base image that a boot server gets after a load does not have the machine. */
TEST(a_machine_that_left_the_view_waits_for_no_boot_server_after_a_load)
{
    struct world *w = waits_open("native");
    DONE(w, CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_BOOT_SERVER,
                .boot_server = true));
    DONE(w, cmd_propose(w, "found@n1"));
    order_power(w);
    CHECK(waiting_actions(w) == 1);
    world_reload(w);
    CHECK(waiting_actions(w) == 1);
    tick(w);
    CHECK(waiting_actions(w) == 0);
    world_close(w);
}

TEST(a_changed_machine_does_not_wait_for_a_noderole_in_error_that_had_served_it)
{
    struct world *w = waits_open("script");
    world_role(w, "zone", "'flags':['serves-boot']");
    world_node(w, "d2", NULL);
    world_bind(w, "zone@d2");
    world_commit(w, "zone@d2");
    world_run_all(w);
    DONE(w, cmd_enqueue(w, "zone@d2"));
    world_anneal(w);
    world_finish(w, "zone@d2", RESULT_FAILED);
    IS(w, "zone@d2", "error"); /* it has published n1 */
    DONE(w, cmd_propose(w, "dhcp@d1"));
    world_commit(w, "dhcp@d1");
    order_power(w);
    CHECK(waiting_actions(w) == 1); /* for dhcp@d1 */
    const int64_t id = the_node(w, "n1");
    DONE(w, CMD(NODE_UPDATE, node_update, .id = id, .given = GIVEN_NAME,
                .name = STR("n2.example.com")));
    CHECK(waiting_actions(w) == 0);
    HAS(str_z(&w->arena, read_node(w, "n2").status), "zone on d2");
    world_close(w);
}
