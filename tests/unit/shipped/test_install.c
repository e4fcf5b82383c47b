/* Goal: the shipped roles install a machine once, on the right disk, and only after every database
 * serves its installer ("Installation races" in docs/spec/hooks.md).
 * Method: the engine with real hooks; only the runs of scripts are simulated (machine.h). */
#include "tests/unit/shipped/machine.h"

/* ---- installation ---- */

TEST(a_machine_is_installed_once)
{
    struct machine m = begin();
    discover(&m, "n1", "{" ADDRESS "," MAC "," DISKS "}");
    order_install(&m, "crowbar-installed-node@n1");
    CHECK(world_has_edge(m.w, "crowbar-hardware-configured@n1", "provisioner-os-install@n1"));
    CHECK(world_has_edge(m.w, "provisioner-os-install@n1", "crowbar-installed-node@n1"));
    /* Before the wipe the disk is chosen, but the boot environment is unchanged: a machine that
     * loses power boots what it booted before. */
    EXPECT_STR(node_value(m.w, "n1", "operating-system-disk"), "'disk/by-id/a'");
    EXPECT_STR(node_value(m.w, "n1", "claimed-disks"), "{'disk/by-id/a':'operating system'}");
    EXPECT_STR(world_staged(m.w, "provisioner-os-install@n1", "provisioner/wipe"),
               "[{'name':'disk/by-id/a'},{'name':'disk/by-id/b','path':'/dev/sdb'}]");
    EXPECT_STR(str_z(&m.w->arena, read_node(m.w, "n1").bootenv), "sledgehammer");
    CHECK(world_run(m.w, "provisioner-os-install@n1", RUN_RUNNING));
    work(&m);
    CHECK(m.wipes == 1);
    EXPECT_STR(str_z(&m.w->arena, read_node(m.w, "n1").bootenv), "debian-12-install");
    HAS(entry(m.w, "provisioner", "n1"), "'rootdev':'disk/by-id/a'");
    /* ACTIVE and not alive in one step, so no child has run on the machine. */
    CHECK(!read_node(m.w, "n1").alive);
    CHECK(read_noderole(m.w, "provisioner-os-install@n1").run_count == 1);
    CHECK(read_noderole(m.w, "crowbar-installed-node@n1").run_count == 0);
    /* The installer is finished; the machine boots from its disk. */
    set_bootenv(m.w, "n1", "local");
    work(&m);
    EXPECT_STR(node_value(m.w, "n1", "dhcp-active-bootstate"), "'local'");
    CHECK(!strstr(entry(m.w, "provisioner", "n1"), "rootdev"));
    world_alive(m.w, "n1", true);
    work(&m);
    IS(m.w, "crowbar-installed-node@n1", "active");
    IS(m.w, "crowbar-managed-node@n1", "active");
    CHECK(read_noderole(m.w, "provisioner-os-install@n1").run_count == 1 && m.wipes == 1);
    EXPECT_STR(str_z(&m.w->arena, read_node(m.w, "n1").bootenv), "local");
    live_close(m.w);
}

TEST(an_installed_machine_is_not_installed_again)
{
    struct machine m = begin();
    discover(&m, "n1", "{" ADDRESS "," MAC "," DISKS "}");
    order_install(&m, "crowbar-installed-node@n1");
    work(&m);
    set_bootenv(m.w, "n1", "local");
    world_alive(m.w, "n1", true);
    work(&m);
    /* The machine boots the discovery image, as debug orders it. */
    set_bootenv(m.w, "n1", "sledgehammer");
    world_alive(m.w, "n1", false);
    world_alive(m.w, "n1", true);
    work(&m);
    IS(m.w, "provisioner-os-install@n1", "active");
    CHECK(m.wipes == 1 && read_node(m.w, "n1").alive);
    EXPECT_STR(str_z(&m.w->arena, read_node(m.w, "n1").bootenv), "sledgehammer");
    live_close(m.w);
}

TEST(without_a_free_disk_nothing_is_wiped)
{
    struct machine m = begin();
    discover(&m, "n1",
             "{" ADDRESS "," MAC ",'reservations':{'disks':{'a':{'removable':true},'b':{}}},"
             "'claimed-disks':{'b':'ceph'}}");
    order_install(&m, "crowbar-installed-node@n1");
    work(&m);
    IS(m.w, "provisioner-os-install@n1", "error");
    HAS(str_z(&m.w->arena, read_noderole(m.w, "provisioner-os-install@n1").runlog),
        "all of the 2 known disks are removable or claimed. Nothing was wiped");
    CHECK(m.wipes == 0 && !world_run(m.w, "provisioner-os-install@n1", RUN_RUNNING));
    live_hook_log(m.w);
    /* A disk is released, and the noderole is retried. */
    DONE(m.w, cmd_set(m.w, TABLE_NODE, the_node(m.w, "n1"), "claimed-disks", BUCKET_SYSTEM,
                      "{'b':null}"));
    DONE(m.w, cmd_retry(m.w, "provisioner-os-install@n1"));
    work(&m);
    CHECK(m.wipes == 1 && !read_node(m.w, "n1").alive);
    EXPECT_STR(node_value(m.w, "n1", "operating-system-disk"), "'b'");
    live_close(m.w);
}

TEST(the_disk_chosen_before_is_kept_while_it_exists_and_has_no_other_owner)
{
    static const char *const hints[][2] = {
        {"'operating-system-disk':'disk/by-id/b','claimed-disks':{'disk/by-id/b':"
         "'operating system'}",
         "'disk/by-id/b'"},
        {"'operating-system-disk':'disk/by-id/gone','claimed-disks':{'disk/by-id/gone':"
         "'operating system'}",
         "'disk/by-id/a'"},
        {"'operating-system-disk':'disk/by-id/b','claimed-disks':{'disk/by-id/b':'ceph'}",
         "'disk/by-id/a'"},
        {"'claimed-disks':{'disk/by-id/a':'ceph'}", "'disk/by-id/b'"},
    };
    for (uint32_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        struct machine m = begin();
        char hint[800];
        snprintf(hint, sizeof hint, "{%s,%s,%s,%s}", ADDRESS, MAC, DISKS, hints[i][0]);
        discover(&m, "n1", hint);
        order_install(&m, "provisioner-os-install@n1");
        EXPECT_STR(node_value(m.w, "n1", "operating-system-disk"), hints[i][1]);
        const char *claims = node_value(m.w, "n1", "claimed-disks");
        CHECK(!strstr(claims, "gone"));
        if (i >= 2)
            HAS(claims, "ceph");
        if (i >= 2) /* a disk with another owner is not wiped */
            CHECK(!strstr(world_staged(m.w, "provisioner-os-install@n1", "provisioner/wipe"),
                          i == 2 ? "by-id/b" : "by-id/a"));
        live_close(m.w);
    }
}

TEST(a_machine_that_runs_from_its_disk_may_not_be_wiped)
{
    struct machine m = begin();
    discover(&m, "n1", "{" ADDRESS "," MAC "," DISKS "}");
    set_bootenv(m.w, "n1", "local");
    order_install(&m, "provisioner-os-install@n1");
    EXPECT_STR(world_staged(m.w, "provisioner-os-install@n1", "provisioner/wipe"), "[]");
    EXPECT_STR(node_value(m.w, "n1", "operating-system-disk"), "null");
    live_close(m.w);
}

TEST(a_machine_that_joined_is_never_installed_over)
{
    struct machine m = begin();
    REFUSED(m.w, cmd_bind(m.w, "provisioner-os-install@admin", NULL), ROLE_CONFLICT, NULL);
    REFUSED(m.w, cmd_bind(m.w, "crowbar-installed-node@admin", NULL), NONE, NULL);
    live_close(m.w);
}

TEST(the_target_of_the_deployment_counts)
{
    struct machine m = begin();
    discover(&m, "n1", "{" ADDRESS "," MAC "," DISKS "}");
    world_deployment(m.w, "prod");
    world_bind_in(m.w, "crowbar-installed-node@n1", "prod");
    DONE(m.w, cmd_set(m.w, TABLE_DEPLOYMENT, the_deployment(m.w, "prod"), "provisioner-target_os",
                      BUCKET_USER, "'debian-13'"));
    world_commit_deployment(m.w, "prod");
    work(&m);
    EXPECT_STR(str_z(&m.w->arena, read_node(m.w, "n1").bootenv), "debian-13-install");
    CHECK(!read_node(m.w, "n1").alive);
    live_close(m.w);
}

/* The reboot waits until both databases serve the boot environment that was set last. */
TEST(the_reboot_waits_for_both_databases)
{
    static const char *const databases[] = {"dhcp-database@admin", "provisioner-database@admin"};
    static const char *const roles[] = {"dhcp-database", "provisioner-database"};
    for (uint32_t i = 0; i < 2; i++) {
        struct machine m = begin();
        discover(&m, "n1", "{" ADDRESS "," MAC "," DISKS "}");
        m.stale = roles[i];
        order_install(&m, "crowbar-installed-node@n1");
        work(&m);
        CHECK(m.wipes == 1 && world_run(m.w, "provisioner-os-install@n1", RUN_PARKED));
        CHECK(read_node(m.w, "n1").alive);
        m.stale = NULL;
        DONE(m.w, cmd_enqueue(m.w, databases[i]));
        work(&m);
        CHECK(!read_node(m.w, "n1").alive);
        CHECK(read_noderole(m.w, "provisioner-os-install@n1").run_count == 1);
        live_close(m.w);
    }
}

TEST(an_installation_that_waits_for_a_database_in_error_fails_with_the_reason)
{
    static const char *const databases[] = {"dhcp-database@admin", "provisioner-database@admin"};
    static const char *const roles[] = {"dhcp-database", "provisioner-database"};
    static const char *const states[] = {"dhcp-active-bootstate", "provisioner-active-bootstate"};
    for (uint32_t i = 0; i < 2; i++) {
        struct machine m = begin();
        discover(&m, "n1", "{" ADDRESS "," MAC "," DISKS "}");
        m.stale = roles[i];
        order_install(&m, "crowbar-installed-node@n1");
        work(&m);
        CHECK(world_run(m.w, "provisioner-os-install@n1", RUN_PARKED));
        DONE(m.w, cmd_enqueue(m.w, databases[i]));
        world_finish(m.w, databases[i], RESULT_FAILED);
        char reason[100];
        snprintf(reason, sizeof reason, "'failed: %s is in error on admin.example.com'", roles[i]);
        EXPECT_STR(node_value(m.w, "n1", states[i]), reason);
        work(&m);
        IS(m.w, "provisioner-os-install@n1", "error");
        CHECK(read_node(m.w, "n1").alive && m.wipes == 1);
        /* The database is repaired: the node has the new boot state, and the next attempt
         * succeeds. */
        m.stale = NULL;
        DONE(m.w, cmd_retry(m.w, databases[i]));
        work(&m);
        EXPECT_STR(node_value(m.w, "n1", states[i]), "'debian-12-install'");
        DONE(m.w, cmd_retry(m.w, "provisioner-os-install@n1"));
        work(&m);
        CHECK(m.wipes == 2 && !read_node(m.w, "n1").alive);
        live_close(m.w);
    }
}

TEST(an_installation_does_not_wait_for_a_database_that_was_in_error_before)
{
    struct machine m = begin();
    discover(&m, "n1", "{" ADDRESS "," MAC "," DISKS "}");
    m.stopped = "dhcp-database";
    DONE(m.w, cmd_retry(m.w, "dhcp-database@admin"));
    world_finish(m.w, "dhcp-database@admin", RESULT_FAILED);
    order_install(&m, "crowbar-installed-node@n1");
    work(&m);
    IS(m.w, "provisioner-os-install@n1", "error");
    CHECK(read_node(m.w, "n1").alive);
    live_close(m.w);
}
