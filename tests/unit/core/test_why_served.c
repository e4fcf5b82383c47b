/* Goal: `why` of a machine that waits for its boot names the noderole that has not served it, and
 * continues to the root: a boot server that is lost or late, a failure, a run, or what keeps the
 * run from starting. core_boot_due_after() and core_boot_servings() report the same.
 * Method: two servers, one with a native role and one with a published one, and machines whose
 * environment changes; the chain is compared as codes, and the sentences by their parts. */
#include <stdio.h>

#include "tests/unit/core/boot_world.h"

/* ---- fixture ---- */

static struct command cmd_server(struct world *w, const char *node, enum boot_event event,
                                 int64_t turn, const char *text)
{
    return CMD(BOOT_SERVER, boot_server, .node_id = the_node(w, node), .event = event, .turn = turn,
               .text = str_from(text));
}

/* A machine that is alive, in the boot view and has an IPMI hammer. */
static void add_machine(struct world *w, const char *name, int number)
{
    char hint[160], pair[64];
    struct command command = cmd_node(w, name);
    snprintf(hint, sizeof hint,
             "{'admin_macs':['52:54:00:00:00:%02x'],'admin-v4addr':'10.9.0.%d/16'}", number,
             number);
    command.node_create.hint = world_json(w, hint);
    command.node_create.bootenv = STR("sledgehammer");
    const int64_t id = DONE(w, command);
    DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = id,
                .hammer_kind_id = core_find(w->core, TABLE_HAMMER_KIND, STR("power")),
                .username = STR("root")));
    snprintf(pair, sizeof pair, "found@%s", name);
    world_bind(w, pair);
    world_commit(w, pair);
    world_alive(w, name, true);
    world_available(w, name, true);
    world_run_all(w);
}

/* Roles `found` (discovery), `dhcp` (published), `pxe` (native), `os` (installs); the admin nodes p
 * and q; the machines n1 and n2. */
static struct world *open_serving(void)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'b','source_path':'/b'},"
                          "'jigs':[{'name':'boots','class':'native'}],"
                          "'hammers':[{'name':'power','type':'ipmi','priority':1}],'roles':["
                          "{'name':'found','jig':'noop','flags':['discovery','milestone']},"
                          "{'name':'base','jig':'script'},"
                          "{'name':'dhcp','jig':'script','flags':['serves-boot'],"
                          "'requires':['base']},"
                          "{'name':'pxe','jig':'boots','flags':['serves-boot']},"
                          "{'name':'os','jig':'script','flags':['destructive']}],"
                          "'bootenvs':[{'name':'sledgehammer','method':'discovery',"
                          "'kernel':'vmlinuz'}]}"));
    for (int i = 0; i < 2; i++) {
        struct command server = cmd_node(w, i ? "q" : "p");
        server.node_create.admin = true;
        server.node_create.alive = true;
        DONE(w, server);
        world_available(w, i ? "q" : "p", true);
    }
    world_run_all(w);
    add_machine(w, "n1", 11);
    add_machine(w, "n2", 12);
    return w;
}

static void serve_published(struct world *w)
{
    world_bind(w, "dhcp@p");
    world_commit(w, "base@p");
    world_commit(w, "dhcp@p");
    world_run_all(w);
    IS(w, "dhcp@p", "active");
}

static void serve_native(struct world *w)
{
    world_bind(w, "pxe@q");
    world_commit(w, "pxe@q");
    world_run_all(w);
    IS(w, "pxe@q", "active");
}

/* Another environment, and a restart that waits for it. */
static void change_and_restart(struct world *w, const char *node, const char *bootenv)
{
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, node), .given = GIVEN_NODE_BOOTENV,
                .bootenv = str_from(bootenv)));
    DONE(w, CMD(NODE_POWER, node_power, .id = the_node(w, node), .action = STR("reset")));
}

static const struct cause *chain_of(struct world *w, enum table table, int64_t id)
{
    return core_why(w->core, table, id, &w->arena);
}

static const char *codes_of(struct world *w, enum table table, int64_t id)
{
    struct buf b = buf_in(&w->arena);
    for (const struct cause *c = chain_of(w, table, id); c; c = c->next) {
        CHECK(c->text.len);
        buf_put_z(&b, b.len ? " " : "");
        buf_put_z(&b, cause_code_name(c));
    }
    return str_z(&w->arena, buf_str(&b));
}

static const char *chain(struct world *w, const char *node)
{
    return codes_of(w, TABLE_NODE, the_node(w, node));
}

/* The first cause of that code in the chain of the node. */
static const struct cause *cause_in(struct world *w, const char *node, enum cause_code code)
{
    for (const struct cause *c = chain_of(w, TABLE_NODE, the_node(w, node)); c; c = c->next)
        if (c->code == code)
            return c;
    world_fail(HERE, "no %s in the chain of %s: %s", cause_name(code), node, chain(w, node));
    return NULL;
}

static const char *text_in(struct world *w, const char *node, enum cause_code code)
{
    return str_z(&w->arena, cause_in(w, node, code)->text);
}

static struct boot_serving serving_of(struct world *w, const char *node, const char *noderole)
{
    struct boot_serving *all;
    const uint32_t count = core_boot_servings(w->core, the_node(w, node), &w->arena, &all);
    for (uint32_t i = 0; i < count; i++)
        if (all[i].noderole_id == the_noderole(w, noderole))
            return all[i];
    world_fail(HERE, "%s serves no boots", noderole);
    return (struct boot_serving){0};
}

/* The nodes that are due: "n1 n2". */
static const char *due_of(struct world *w, const char *noderole)
{
    struct boot_due_node due = {0};
    struct buf b = buf_in(&w->arena);
    while (core_boot_due_after(w->core, the_noderole(w, noderole), due.node_id, &due)) {
        struct record node;
        buf_put_z(&b, b.len ? " " : "");
        if (core_record(w->core, TABLE_NODE, due.node_id, &node))
            buf_put_str(&b, str_slice(node.node.name, 0, str_find(node.node.name, '.', 0)));
        else
            buf_put_z(&b, "gone");
    }
    return str_z(&w->arena, buf_str(&b));
}

/* ---- published ---- */

TEST(a_machine_waits_for_the_run_that_publishes_it)
{
    struct world *w = open_serving();
    serve_published(w);
    EXPECT_STR(due_of(w, "dhcp@p"), "");
    const struct boot_serving before = serving_of(w, "n1", "dhcp@p");
    CHECK(before.is_served && !before.is_native && !before.since_ms && !before.attempt);

    change_and_restart(w, "n1", "local");
    EXPECT_STR(chain(w, "n1"), "boot_not_served node_busy");
    HAS(text_in(w, "n1", CAUSE_BOOT_NOT_SERVED),
        "node `n1.example.com` is waiting for `dhcp` on `p.example.com` to serve boot generation "
        "1; it has not published 1 machine yet");
    HAS(text_in(w, "n1", CAUSE_NODE_BUSY), "of `dhcp` on `p.example.com` is queued on the node");
    const struct boot_serving due = serving_of(w, "n1", "dhcp@p");
    CHECK(!due.is_served && due.since_ms > 0 && !due.attempt);
    CHECK(cause_in(w, "n1", CAUSE_BOOT_NOT_SERVED)->since == due.since_ms);

    world_anneal(w);
    EXPECT_STR(chain(w, "n1"), "boot_not_served running");
    CHECK(serving_of(w, "n1", "dhcp@p").attempt == read_noderole(w, "dhcp@p").attempt);
    /* The same of a noderole of the machine, which is not alive while it is restarted. */
    EXPECT_STR(codes_of(w, TABLE_NODEROLE, the_noderole(w, "found@n1")),
               "not_alive boot_not_served running");
    /* A change while it is being published begins anew, but since the first one. */
    change_and_restart(w, "n2", "local");
    EXPECT_STR(due_of(w, "dhcp@p"), "n1 n2");
    HAS(text_in(w, "n2", CAUSE_BOOT_NOT_SERVED), "it has not published 2 machines yet");
    change_and_restart(w, "n1", "sledgehammer");
    CHECK(serving_of(w, "n1", "dhcp@p").since_ms == due.since_ms);
    CHECK(!serving_of(w, "n1", "dhcp@p").attempt);
    world_run_all(w);
    EXPECT_STR(due_of(w, "dhcp@p"), "");
    CHECK(serving_of(w, "n1", "dhcp@p").is_served);
    world_close(w);
}

TEST(a_noderole_that_cannot_run_is_followed_to_its_cause)
{
    struct world *w = open_serving();
    world_bind(w, "dhcp@p");
    world_commit(w, "base@p");
    world_commit(w, "dhcp@p");
    /* It is BLOCKED by `base`, and has published nothing: both machines are due as a part. */
    change_and_restart(w, "n1", "local");
    EXPECT_STR(due_of(w, "dhcp@p"), "n1 n2");
    EXPECT_STR(chain(w, "n1"), "boot_not_served parent ready");
    CHECK(!cause_in(w, "n1", CAUSE_BOOT_NOT_SERVED)->since);
    world_anneal(w);
    EXPECT_STR(chain(w, "n1"), "boot_not_served parent running");
    world_finish(w, "base@p", RESULT_FAILED);
    EXPECT_STR(chain(w, "n1"), "boot_not_served parent error");
    DONE(w, cmd_retry(w, "base@p"));
    world_anneal(w);
    world_finish(w, "base@p", RESULT_OK);
    EXPECT_STR(chain(w, "n1"), "boot_not_served ready");
    world_anneal(w);
    CHECK(serving_of(w, "n1", "dhcp@p").attempt == 1);
    /* The server is closed, taken away or busy while its run is queued. */
    world_run_all(w);
    change_and_restart(w, "n1", "sledgehammer");
    world_available(w, "p", false);
    EXPECT_STR(chain(w, "n1"), "boot_not_served node_busy not_available");
    world_available(w, "p", true);
    world_run_all(w);
    /* The same if it was closed before, so that no run could be enqueued. */
    world_available(w, "p", false);
    change_and_restart(w, "n1", "local");
    EXPECT_STR(chain(w, "n1"), "boot_not_served not_available");
    world_available(w, "p", true);
    world_anneal(w);
    EXPECT_STR(chain(w, "n1"), "boot_not_served running");
    world_close(w);
}

TEST(a_noderole_that_failed_ends_the_wait_and_a_machine_without_an_entry_is_not_due)
{
    struct world *w = open_serving();
    serve_published(w);
    change_and_restart(w, "n1", "local");
    world_anneal(w);
    world_finish(w, "dhcp@p", RESULT_FAILED);
    EXPECT_STR(chain(w, "n1"), "not_alive power_failed boot_not_served");
    HAS(text_in(w, "n1", CAUSE_POWER_FAILED),
        "dhcp on p.example.com is in error and has not served boot generation 1");
    EXPECT_STR(due_of(w, "dhcp@p"), "n1");
    /* A deleted machine is due until it is published; one that is not in the view is not. */
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n1")));
    EXPECT_STR(due_of(w, "dhcp@p"), "gone");
    DONE(w, cmd_node(w, "n3"));
    EXPECT_STR(due_of(w, "dhcp@p"), "gone");
    CHECK(serving_of(w, "n3", "dhcp@p").is_served);
    /* Proposed, it publishes nothing; neither do other noderoles, and no noderole. */
    struct boot_due_node due;
    CHECK(!core_boot_due_after(w->core, the_noderole(w, "base@p"), 0, &due));
    CHECK(!core_boot_due_after(w->core, 99999, 0, &due));
    CHECK(!core_boot_due_after(w->core, the_noderole(w, "dhcp@p"), -1, &due));
    CHECK(!core_boot_due_after(w->core, the_noderole(w, "dhcp@p"), INT64_MAX, &due));
    DONE(w, cmd_propose(w, "dhcp@p"));
    EXPECT_STR(due_of(w, "dhcp@p"), "");
    world_close(w);
}

/* ---- native ---- */

TEST(a_machine_waits_for_a_boot_server_that_is_lost_or_late)
{
    struct world *w = open_serving();
    serve_native(w);
    /* Until one has connected, nothing waits. */
    change_and_restart(w, "n1", "local");
    CHECK(serving_of(w, "n1", "pxe@q").is_served);
    world_alive(w, "n1", true);
    world_run_all(w);

    DONE(w, cmd_server(w, "q", BOOT_EVENT_CONNECTED, 0, ""));
    world_collect(w);
    change_and_restart(w, "n1", "sledgehammer");
    EXPECT_STR(chain(w, "n1"), "boot_not_served");
    HAS(text_in(w, "n1", CAUSE_BOOT_NOT_SERVED),
        "has acknowledged no turn, and the change is not stored yet");
    world_collect(w);
    HAS(text_in(w, "n1", CAUSE_BOOT_NOT_SERVED),
        "its boot server has acknowledged no turn, and turn ");
    DONE(w, cmd_server(w, "q", BOOT_EVENT_TAKEN, 1, ""));
    HAS(text_in(w, "n1", CAUSE_BOOT_NOT_SERVED), "its boot server has acknowledged turn 1 of ");
    const struct boot_serving late = serving_of(w, "n1", "pxe@q");
    CHECK(late.is_native && late.is_connected && !late.is_served && late.taken == 1 &&
          !late.attempt);

    DONE(w, cmd_server(w, "q", BOOT_EVENT_LOST, 0, ""));
    EXPECT_STR(chain(w, "n1"), "boot_not_served boot_server_lost");
    const struct cause *lost = cause_in(w, "n1", CAUSE_BOOT_SERVER_LOST);
    CHECK(lost->object == TABLE_NODE && lost->object_id == the_node(w, "q"));
    CHECK(lost->since == serving_of(w, "n1", "pxe@q").since_ms && lost->since > late.since_ms);
    EXPECT_STR(text_in(w, "n1", CAUSE_BOOT_SERVER_LOST),
               "the boot server of node `q.example.com` is not connected");
    /* A restart of the daemon forgets when. */
    world_reload(w);
    EXPECT_STR(chain(w, "n1"), "boot_not_served boot_server_lost");
    EXPECT_STR(
        text_in(w, "n1", CAUSE_BOOT_SERVER_LOST),
        "the boot server of node `q.example.com` has not connected since the daemon started");
    CHECK(!cause_in(w, "n1", CAUSE_BOOT_SERVER_LOST)->since);
    /* The groups of a deployment count it once for all machines. */
    change_and_restart(w, "n2", "local");
    struct cause_groups groups;
    struct why_walk *walk = core_why_open(w->core, SYSTEM, &w->arena);
    while (core_why_walk(walk, w->core, 1000))
        ;
    core_why_result(walk, w->core, &w->arena, &groups);
    core_why_close(walk);
    CHECK(groups.count == 1 && groups.groups[0].cause.code == CAUSE_BOOT_SERVER_LOST);
    CHECK(groups.groups[0].roots == 1 && groups.groups[0].noderoles == 2);
    HAS(str_z(&w->arena, groups.groups[0].cause.text), "has not connected since");

    DONE(w, cmd_server(w, "q", BOOT_EVENT_CONNECTED, 0, ""));
    world_collect(w);
    DONE(w, cmd_server(w, "q", BOOT_EVENT_TAKEN, w->turn, ""));
    CHECK(serving_of(w, "n1", "pxe@q").is_served);
    EXPECT_STR(codes_of(w, TABLE_NODEROLE, the_noderole(w, "found@n1")), "not_alive");
    world_close(w);
}

/* ---- installers ---- */

TEST(a_parked_run_whose_installer_is_not_served_is_followed)
{
    struct world *w = open_serving();
    serve_published(w);
    serve_native(w);
    DONE(w, cmd_server(w, "q", BOOT_EVENT_CONNECTED, 0, ""));
    world_collect(w);
    DONE(w, cmd_server(w, "q", BOOT_EVENT_TAKEN, w->turn, ""));
    world_bind(w, "os@n1");
    world_bring(w, "os@n1", "transition");
    world_finish_with(w, "os@n1",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = 500000});
    const int64_t run = world_run(w, "os@n1", RUN_PARKED);
    EXPECT_STR(chain(w, "n1"), "parked");
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"),
                .given = GIVEN_NODE_BOOTENV | GIVEN_NODE_PARKED_RUN,
                .bootenv = STR("debian-install"), .parked_run = run));
    EXPECT_STR(chain(w, "n1"), "parked boot_not_served node_busy");
    world_anneal(w);
    EXPECT_STR(chain(w, "n1"), "parked boot_not_served running");
    /* One that failed is named before one that is only late. */
    DONE(w, cmd_server(w, "q", BOOT_EVENT_FAILED, 0, "no kernel for debian-install"));
    EXPECT_STR(chain(w, "n1"), "parked boot_not_served error boot_server");
    HAS(text_in(w, "n1", CAUSE_REASON), "no kernel for debian-install");
    DONE(w, cmd_retry(w, "pxe@q"));
    world_finish(w, "dhcp@p", RESULT_OK);
    world_anneal(w);
    DONE(w, cmd_server(w, "q", BOOT_EVENT_LOST, 0, ""));
    EXPECT_STR(chain(w, "n1"), "parked boot_not_served boot_server_lost");
    DONE(w, cmd_server(w, "q", BOOT_EVENT_CONNECTED, 0, ""));
    world_collect(w);
    DONE(w, cmd_server(w, "q", BOOT_EVENT_TAKEN, w->turn, ""));
    EXPECT_STR(chain(w, "n1"), "parked");
    world_close(w);
}

TEST(a_server_that_waits_for_a_boot_itself_is_followed_once)
{
    struct world *w = open_serving();
    serve_published(w);
    serve_native(w);
    DONE(w, cmd_server(w, "q", BOOT_EVENT_CONNECTED, 0, ""));
    world_collect(w);
    DONE(w, cmd_server(w, "q", BOOT_EVENT_LOST, 0, ""));
    /* p is a machine of the boot view too, and its restart waits. */
    DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = the_node(w, "p"),
                .hammer_kind_id = core_find(w->core, TABLE_HAMMER_KIND, STR("power")),
                .username = STR("root")));
    world_bind(w, "found@p");
    world_commit(w, "found@p");
    change_and_restart(w, "n1", "local");
    change_and_restart(w, "p", "another");
    EXPECT_STR(chain(w, "n1"), "boot_not_served parent not_alive boot_not_served");
    world_close(w);
}
