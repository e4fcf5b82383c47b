/* Goal: core_why_boot() names everything that keeps the machine of a node from booting what the
 * node says, and nothing else; chains and groups of `why` end with it only while boots are served.
 * Method: one machine for each cause, then the same machines without a role that serves boots. */
#include "tests/unit/core/boot_world.h"

/* The roles `found` (discovery), `joined` (provides it), `plain` and `pxe` (serves boots), and the
 * environment `sledgehammer`; pxe@s is committed, s is an admin node. */
static struct world *open_booting(void)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'b','source_path':'/b'},'roles':["
                          "{'name':'found','jig':'script','flags':['discovery','implicit']},"
                          "{'name':'joined','jig':'script','provides':['found']},"
                          "{'name':'plain','jig':'script'},"
                          "{'name':'pxe','jig':'script','flags':['serves-boot']}],"
                          "'bootenvs':[{'name':'sledgehammer','method':'discovery',"
                          "'kernel':'vmlinuz'}]}"));
    struct command server = cmd_node(w, "s");
    server.node_create.admin = true;
    DONE(w, server);
    world_bind(w, "pxe@s");
    world_commit(w, "pxe@s");
    return w;
}

/* A machine that is not alive, with a committed noderole of the role; NULL: without one. */
static void machine_of(struct world *w, const char *name, const char *role, const char *hint,
                       const char *bootenv)
{
    char pair[64];
    struct command command = cmd_node(w, name);
    command.node_create.hint = world_json(w, hint);
    command.node_create.bootenv = str_from(bootenv);
    DONE(w, command);
    snprintf(pair, sizeof pair, "%s@%s", role ? role : "", name);
    if (!role)
        return;
    world_bind(w, pair);
    world_commit(w, pair);
}

/* The causes of the list by code: "no_mac no_boot_address". */
static const char *codes(struct world *w, const char *node)
{
    struct buf b = buf_in(&w->arena);
    for (const struct cause *c = core_why_boot(w->core, the_node(w, node), &w->arena); c;
         c = c->next) {
        CHECK(c->object == TABLE_NODE && c->object_id && !c->noderole_id && !c->since);
        CHECK(c->code != CAUSE_REASON && c->text.len);
        buf_put_z(&b, b.len ? " " : "");
        buf_put_z(&b, cause_code_name(c));
    }
    return str_z(&w->arena, buf_str(&b));
}

/* The chain of the object by code. */
static const char *chain(struct world *w, enum table table, int64_t id)
{
    struct buf b = buf_in(&w->arena);
    for (const struct cause *c = core_why(w->core, table, id, &w->arena); c; c = c->next) {
        buf_put_z(&b, b.len ? " " : "");
        buf_put_z(&b, cause_code_name(c));
    }
    return str_z(&w->arena, buf_str(&b));
}

#define HINT_A "{'admin_macs':['52:54:00:00:00:0a'],'admin-v4addr':'10.9.0.7/16'}"

TEST(a_machine_that_can_boot_has_no_cause)
{
    struct world *w = open_booting();
    machine_of(w, "n1", "found", HINT_A, "sledgehammer");
    EXPECT_STR(codes(w, "n1"), "");
    /* The name of an environment is compared without regard to case; `local` is none. */
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NODE_BOOTENV,
                .bootenv = STR("SledgeHammer")));
    EXPECT_STR(codes(w, "n1"), "");
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NODE_BOOTENV,
                .bootenv = STR("local")));
    EXPECT_STR(codes(w, "n1"), "");
    CHECK(core_why_boot(w->core, 999, &w->arena) == NULL);
    world_close(w);
}

TEST(each_cause_is_named_and_the_others_too)
{
    struct world *w = open_booting();
    machine_of(w, "n1", "found", "{'admin-v4addr':'10.9.0.7/16'}", "sledgehammer");
    EXPECT_STR(codes(w, "n1"), "no_mac");
    machine_of(w, "n2", "found", "{'admin_macs':['52:54:00:00:00:0b']}", "sledgehammer");
    EXPECT_STR(codes(w, "n2"), "no_boot_address");
    machine_of(w, "n3", "found", "{}", "nothing");
    EXPECT_STR(codes(w, "n3"), "no_mac no_boot_address bootenv_unknown");
    HAS(str_z(&w->arena, core_why_boot(w->core, the_node(w, "n3"), &w->arena)->next->next->text),
        "node `n3.example.com` is to boot `nothing`, which no barclamp defines");
    machine_of(w, "n4", "plain", HINT_A, "sledgehammer");
    EXPECT_STR(codes(w, "n4"), "not_managed");
    /* A proposed noderole of discovery does not make it managed, a committed one does. */
    world_bind(w, "found@n4");
    EXPECT_STR(codes(w, "n4"), "not_managed");
    world_commit(w, "found@n4");
    EXPECT_STR(codes(w, "n4"), "");
    world_close(w);
}

TEST(a_machine_that_boots_its_disk_need_not_be_managed)
{
    struct world *w = open_booting();
    machine_of(w, "n1", "joined", HINT_A, "local");
    EXPECT_STR(codes(w, "n1"), "");
    machine_of(w, "n2", NULL, "{}", "local");
    EXPECT_STR(codes(w, "n2"), "");
    /* Nor need an admin node, whatever it is to boot; a system node has no machine. */
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "s"), .given = GIVEN_NODE_BOOTENV,
                .bootenv = STR("nothing")));
    EXPECT_STR(codes(w, "s"), "");
    const int64_t phantom = core_next_id(w->core, TABLE_NODE, 0);
    struct record record;
    CHECK(core_record(w->core, TABLE_NODE, phantom, &record) && record.node.system);
    CHECK(core_why_boot(w->core, phantom, &w->arena) == NULL);
    world_close(w);
}

TEST(a_mac_of_another_machine_is_named_first_and_eight_at_most)
{
    struct world *w = open_booting();
    struct buf owned = buf_in(&w->arena), found = buf_in(&w->arena);
    buf_put_z(&owned, "{'admin-v4addr':'10.9.0.7/16','admin_macs':[");
    buf_put_z(&found, "{'ohai':{'network':{'interfaces':{");
    for (int i = 0; i < 9; i++) {
        char text[160];
        snprintf(text, sizeof text, "%s'52:54:00:00:01:0%d'", i ? "," : "", i);
        buf_put_z(&owned, text);
        snprintf(text, sizeof text, "%s'eth%d':{'permanent_address':'52:54:00:00:01:0%d'}",
                 i ? "," : "", i, i);
        buf_put_z(&found, text);
    }
    buf_put_z(&owned, "]}");
    buf_put_z(&found, "}}}}");
    machine_of(w, "n1", "found", str_z(&w->arena, buf_str(&owned)), "sledgehammer");
    struct command command = cmd_node(w, "n2");
    command.node_create.hint = world_json(w, "{'admin-v4addr':'10.9.0.8/16'}");
    command.node_create.bootenv = STR("sledgehammer");
    command.node_create.discovery = world_json(w, str_z(&w->arena, buf_str(&found)));
    DONE(w, command);
    world_bind(w, "found@n2");
    world_commit(w, "found@n2");
    EXPECT_STR(codes(w, "n2"),
               "mac_taken mac_taken mac_taken mac_taken mac_taken mac_taken mac_taken mac_taken "
               "no_mac");
    const struct cause *first = core_why_boot(w->core, the_node(w, "n2"), &w->arena);
    CHECK(first->object_id == the_node(w, "n1"));
    HAS(str_z(&w->arena, first->text), "52:54:00:00:01:00, which belongs to node `n1.example.com`");
    EXPECT_STR(chain(w, TABLE_NODE, the_node(w, "n2")), "not_alive mac_taken");
    world_close(w);
}

TEST(chains_end_with_the_cause_while_boots_are_served)
{
    struct world *w = open_booting();
    machine_of(w, "n1", "found", "{}", "sledgehammer");
    machine_of(w, "n2", NULL, "{}", "sledgehammer");
    CHECK(core_boot_is_used(w->core));
    EXPECT_STR(chain(w, TABLE_NODEROLE, the_noderole(w, "found@n1")), "not_alive no_mac");
    EXPECT_STR(chain(w, TABLE_NODE, the_node(w, "n1")), "not_alive no_mac");
    EXPECT_STR(chain(w, TABLE_NODE, the_node(w, "n2")), "not_managed");
    /* An admin node is none of the machines that are booted. */
    world_alive(w, "s", false);
    EXPECT_STR(chain(w, TABLE_NODEROLE, the_noderole(w, "pxe@s")), "not_alive");
    /* A group counts the machines. */
    machine_of(w, "n3", "found", "{}", "sledgehammer");
    struct why_walk *walk = core_why_open(w->core, 1, &w->arena);
    struct cause_groups groups;
    while (core_why_walk(walk, w->core, 100))
        continue;
    core_why_result(walk, w->core, &w->arena, &groups);
    core_why_close(walk);
    bool is_counted = false;
    for (uint32_t i = 0; i < groups.count; i++)
        is_counted |= groups.groups[i].cause.code == CAUSE_NO_MAC && groups.groups[i].roots == 2;
    CHECK(is_counted);
    /* Nothing is served: the machines may boot what they like. */
    DONE(w, CMD(NODEROLE_PROPOSE, noderole_propose, .id = the_noderole(w, "pxe@s")));
    CHECK(!core_boot_is_used(w->core));
    EXPECT_STR(chain(w, TABLE_NODE, the_node(w, "n1")), "not_alive");
    EXPECT_STR(chain(w, TABLE_NODE, the_node(w, "n2")), "none");
    EXPECT_STR(codes(w, "n1"), "no_mac no_boot_address");
    world_close(w);
}
