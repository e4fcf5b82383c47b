/* Goal: cases 172 and 175: what serves boots gets each change of a boot environment and nothing
 * else, and a machine is not rebooted while its boot is not served (docs/spec/boot.md, "Served").
 * Method: a machine, two databases that publish, and a boot server; each case once with the
 * databases and once with the boot server. Runs, reports and the time are those of the test. */
#include <stdio.h>
#include <string.h>

#include "core/core.h"
#include "tests/world/world.h"

enum { BOOT_WAIT_MS = 600 * 1000 };

/* ---- fixture ---- */

static void add_server(struct world *w, const char *name)
{
    struct command server = cmd_node(w, name);
    server.node_create.admin = true;
    server.node_create.alive = true;
    DONE(w, server);
    world_available(w, name, true);
}

/* Roles `found` (discovery), `dhcp` and `tftp` (publish boots), `pxe` (served by a boot server) and
 * `os` (installs); the machine n1, discovered, alive and in the boot view. */
static struct world *open_boots(void)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'b','source_path':'/b'},"
                          "'jigs':[{'name':'boots','class':'native'}],"
                          "'hammers':[{'name':'power','type':'ipmi','priority':1}],'roles':["
                          "{'name':'found','jig':'noop','flags':['discovery','milestone']},"
                          "{'name':'dhcp','jig':'script','flags':['serves-boot']},"
                          "{'name':'tftp','jig':'script','flags':['serves-boot']},"
                          "{'name':'pxe','jig':'boots','flags':['serves-boot']},"
                          "{'name':'os','jig':'script','flags':['destructive'],"
                          "'announces':['wipe','boot']}]}"));
    add_server(w, "s");
    add_server(w, "t");
    struct command machine = cmd_node(w, "n1");
    machine.node_create.bootenv = STR("sledgehammer");
    machine.node_create.hint =
        world_json(w, "{'admin_macs':['52:54:00:00:00:01'],'admin-v4addr':'10.9.0.1/16'}");
    const int64_t n1 = DONE(w, machine);
    DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = n1,
                .hammer_kind_id = core_find(w->core, TABLE_HAMMER_KIND, STR("power")),
                .username = STR("root")));
    world_bind(w, "found@n1");
    world_commit(w, "found@n1");
    world_alive(w, "n1", true);
    world_available(w, "n1", true);
    world_run_all(w);
    return w;
}

static void commit_all(struct world *w, const char *const *noderoles)
{
    for (; *noderoles; noderoles++) {
        world_bind(w, *noderoles);
        world_commit(w, *noderoles);
    }
    world_run_all(w);
}

static const char *const databases[] = {"dhcp@s", "tftp@t", NULL};
static const char *const native[] = {"pxe@s", NULL};

static void report(struct world *w, enum boot_event event)
{
    world_collect(w);
    DONE(w, CMD(BOOT_SERVER, boot_server, .node_id = the_node(w, "s"), .event = event,
                .turn = event == BOOT_EVENT_TAKEN ? w->turn : 0));
}

static void boot_next(struct world *w, const char *bootenv)
{
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NODE_BOOTENV,
                .bootenv = str_from(bootenv)));
}

/* The member `boot` of the staged data of the newest start. */
static const struct json *staged_boot(struct world *w, const char *noderole)
{
    const struct start *start = world_start(w, noderole);
    struct json *tree;
    uint32_t offset;
    const char *what;
    CHECK(start && json_read(&w->arena, start->data, &tree, &offset, &what) == OK);
    return json_get(tree, STR("boot"));
}

/* The environment of n1 that the newest run published. */
static const char *published(struct world *w, const char *noderole)
{
    char key[32];
    snprintf(key, sizeof key, "%lld", (long long)the_node(w, "n1"));
    const struct json *due = json_get(staged_boot(w, noderole), STR("due"));
    CHECK(due && due->count == 1);
    return str_z(&w->arena, json_get(json_get(due, str_from(key)), STR("bootenv"))->text);
}

/* Logs of the ended runs of the noderole, the oldest first: "1 machine: n1.example.com". */
static const char *history(struct world *w, const char *noderole)
{
    struct buf b = buf_in(&w->arena);
    world_collect(w);
    for (size_t i = 0; i < w->kept_count; i++) {
        const struct old_run_record *run = &w->kept[i].old_run;
        if (w->kept[i].table != TABLE_OLD_RUN || run->noderole_id != the_noderole(w, noderole) ||
            !run->runlog.len)
            continue;
        CHECK(run->result == RESULT_OK);
        buf_put_z(&b, b.len ? "; " : "");
        buf_put_str(&b, run->runlog);
    }
    return str_z(&w->arena, buf_str(&b));
}

/* The run of `os` has wiped the machine, waits, and has set the environment of the installer. */
static void park_install(struct world *w)
{
    world_bind(w, "os@n1");
    world_bring(w, "os@n1", "transition");
    world_finish_with(w, "os@n1",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = BOOT_WAIT_MS});
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"),
                .given = GIVEN_NODE_BOOTENV | GIVEN_NODE_PARKED_RUN,
                .bootenv = STR("debian-install"), .parked_run = world_run(w, "os@n1", RUN_PARKED)));
}

static void pass(struct world *w, int64_t ms)
{
    w->now_ms += ms;
    DONE(w, CMD(TICK, tick, .unused = 0));
}

/* What the run of `os` gets about the boot: the member `served`, then `problem`. */
static const char *staged_problem(struct world *w)
{
    const struct json *boot = staged_boot(w, "os@n1");
    const bool is_served = json_is_true(json_get(boot, STR("served")));
    return str_z(&w->arena, STR_CONCAT(&w->arena, is_served ? STR("served: ") : STR("late: "),
                                       json_get(boot, STR("problem"))->text));
}

/* ---- 172 ---- */

TEST(c172_each_database_gets_a_change_with_priority_and_no_change_gives_no_run)
{
    struct world *w = open_boots();
    commit_all(w, databases);
    const uint32_t before = read_noderole(w, "dhcp@s").attempt;
    boot_next(w, "local");
    for (uint32_t i = 0; databases[i]; i++) {
        struct record run;
        const int64_t id = world_run(w, databases[i], RUN_QUEUED);
        CHECK(id && core_record(w->core, TABLE_RUN, id, &run) && run.run.queue == QUEUE_HIGH);
    }
    world_run_all(w);
    EXPECT_STR(published(w, "dhcp@s"), "local");
    EXPECT_STR(published(w, "tftp@t"), "local");
    CHECK(read_noderole(w, "dhcp@s").attempt == before + 1);
    /* The same value again, and what no boot depends on. */
    boot_next(w, "local");
    world_available(w, "n1", false);
    CHECK(!world_run(w, "dhcp@s", RUN_QUEUED) && !world_run(w, "tftp@t", RUN_QUEUED));
    world_run_all(w);
    CHECK(read_noderole(w, "dhcp@s").attempt == before + 1);
    world_close(w);
}

TEST(c172_a_boot_server_acknowledges_a_change_and_no_change_gives_no_run)
{
    struct world *w = open_boots();
    commit_all(w, native);
    report(w, BOOT_EVENT_CONNECTED);
    report(w, BOOT_EVENT_TAKEN);
    EXPECT_STR(history(w, "pxe@s"), "");
    const uint32_t before = read_noderole(w, "pxe@s").attempt;
    boot_next(w, "local");
    EXPECT_STR(history(w, "pxe@s"), ""); /* it has not been acknowledged */
    pass(w, 2000);
    report(w, BOOT_EVENT_TAKEN);
    pass(w, 2000);
    EXPECT_STR(history(w, "pxe@s"), "1 machine: n1.example.com");
    CHECK(read_noderole(w, "pxe@s").attempt == before + 1 && !world_run(w, "pxe@s", RUN_QUEUED));
    boot_next(w, "local");
    pass(w, 2000);
    report(w, BOOT_EVENT_TAKEN);
    pass(w, 2000);
    EXPECT_STR(history(w, "pxe@s"), "1 machine: n1.example.com");
    CHECK(read_noderole(w, "pxe@s").attempt == before + 1);
    world_close(w);
}

/* ---- 175 ---- */

/* The run begins its second part unserved, so it fails; nothing has restarted the machine. */
static void fails_without_a_restart(struct world *w, const char *wanted)
{
    world_anneal(w);
    EXPECT_STR(staged_problem(w), wanted);
    world_finish(w, "os@n1", RESULT_FAILED);
    IS(w, "os@n1", "error");
    CHECK(!strstr(str_z(&w->arena, buf_str(&w->story)), "reset") &&
          !strstr(str_z(&w->arena, buf_str(&w->story)), "reboot"));
    CHECK(read_node(w, "n1").alive);
}

TEST(c175_an_installation_with_a_stopped_database_ends_in_error_without_a_restart)
{
    struct world *w = open_boots();
    commit_all(w, databases);
    park_install(w);
    world_clear_effects(w);
    world_anneal(w);
    world_finish(w, "tftp@t", RESULT_OK); /* the run of dhcp@s does not end */
    pass(w, BOOT_WAIT_MS - 60000);
    IS(w, "os@n1", "transition");
    CHECK(world_run(w, "os@n1", RUN_PARKED));
    pass(w, 61000);
    fails_without_a_restart(w, "late: dhcp on s.example.com has not served boot generation 1");
    world_close(w);
}

TEST(c175_an_installation_with_a_lost_boot_server_ends_in_error_without_a_restart)
{
    struct world *w = open_boots();
    commit_all(w, native);
    report(w, BOOT_EVENT_CONNECTED);
    report(w, BOOT_EVENT_TAKEN);
    park_install(w);
    world_clear_effects(w);
    report(w, BOOT_EVENT_LOST);
    IS(w, "pxe@s", "active");
    pass(w, BOOT_WAIT_MS - 60000);
    CHECK(world_run(w, "os@n1", RUN_PARKED));
    pass(w, 61000);
    fails_without_a_restart(w, "late: pxe on s.example.com has not served boot generation 1");
    world_close(w);
}

TEST(c175_a_machine_whose_boot_is_not_served_is_not_restarted_and_says_so)
{
    struct world *w = open_boots();
    commit_all(w, native);
    report(w, BOOT_EVENT_CONNECTED);
    report(w, BOOT_EVENT_TAKEN);
    report(w, BOOT_EVENT_LOST);
    boot_next(w, "local");
    DONE(w, CMD(NODE_POWER, node_power, .id = the_node(w, "n1"), .action = STR("reset")));
    CHECK(w->fx.count == 0 && world_waiting(w, "power reset n1")); /* it was not sent */
    pass(w, BOOT_WAIT_MS + 1000);
    CHECK(w->fx.count == 0 && !world_waiting(w, "power reset n1") && read_node(w, "n1").stopped);
    HAS(str_z(&w->arena, read_node(w, "n1").status),
        "reset was not done: pxe on s.example.com has not served boot generation 1 within 600 s");
    world_close(w);
}
