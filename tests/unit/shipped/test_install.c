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
    EXPECT_STR(world_staged(m.w, "provisioner-os-install@n1", WIPE), "[" DISK_A "]");
    EXPECT_STR(str_z(&m.w->arena, read_node(m.w, "n1").bootenv), "sledgehammer");
    CHECK(world_run(m.w, "provisioner-os-install@n1", RUN_RUNNING));
    work(&m);
    CHECK(m.wipes == 1);
    EXPECT_STR(str_z(&m.w->arena, read_node(m.w, "n1").bootenv), "debian-12-install");
    HAS(entry(&m, "n1"), "'bootenv':'debian-12-install','generation':1");
    /* ACTIVE and not alive in one step, so no child has run on the machine. */
    CHECK(!read_node(m.w, "n1").alive);
    CHECK(read_noderole(m.w, "provisioner-os-install@n1").run_count == 1);
    CHECK(read_noderole(m.w, "crowbar-installed-node@n1").run_count == 0);
    /* The installer is finished; the machine boots from its disk. */
    set_bootenv(m.w, "n1", "local");
    work(&m);
    HAS(entry(&m, "n1"), "'bootenv':'local'");
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

/* ---- the choice of the disk (ADR 0088) ---- */

#define OS_INSTALL "provisioner-os-install@n1"

/* Binds the role in a new deployment, without a commit. */
static struct machine propose_install(const char *quoted_hint)
{
    struct machine m = begin();
    char hint[2000];
    snprintf(hint, sizeof hint, "{%s,%s,%s}", ADDRESS, MAC, quoted_hint);
    discover(&m, "n1", hint);
    world_deployment(m.w, "prod");
    world_bind_in(m.w, OS_INSTALL, "prod");
    return m;
}

static void set_on_node(struct machine *m, const char *attrib, const char *value)
{
    DONE(m->w, cmd_set(m->w, TABLE_NODE, the_node(m->w, "n1"), attrib, BUCKET_USER, value));
}

static void set_on_install(struct machine *m, const char *attrib, const char *value)
{
    DONE(m->w,
         cmd_set(m->w, TABLE_NODEROLE, the_noderole(m->w, OS_INSTALL), attrib, BUCKET_USER, value));
}

static struct command commit_of(struct machine *m)
{
    return CMD(DEPLOYMENT_COMMIT, deployment_commit, .id = the_deployment(m->w, "prod"));
}

static const char *plan_of(struct machine *m)
{
    struct command commit = commit_of(m);
    commit.is_dry = true;
    world_step(m->w, commit);
    CHECK(m->w->out.verdict == VERDICT_DONE);
    return shown(m->w, m->w->out.doc);
}

/* A value of the user data that a commit would publish. */
static const char *proposed(struct machine *m, const char *attrib)
{
    return world_value(m->w, TABLE_NODEROLE, the_noderole(m->w, OS_INSTALL), attrib, VIEW_USER);
}

TEST(the_disk_is_chosen_while_the_noderole_is_proposed)
{
    struct machine m = propose_install(DISKS);
    IS(m.w, OS_INSTALL, "proposed");
    EXPECT_STR(proposed(&m, "provisioner-wipe"), "[" DISK_A "]");
    /* Claims and inventory change: the choice follows. The node itself is not changed by it. */
    set_on_node(&m, "claimed-disks", "{'disk/by-id/a':'ceph'}");
    EXPECT_STR(proposed(&m, "provisioner-wipe"), "[" DISK_B "]");
    EXPECT_STR(node_value(m.w, "n1", "claimed-disks"), "{'disk/by-id/a':'ceph'}");
    EXPECT_STR(node_value(m.w, "n1", "operating-system-disk"), "null");
    set_on_node(&m, "claimed-disks", "{'disk/by-id/a':''}");
    EXPECT_STR(proposed(&m, "provisioner-wipe"), "[" DISK_A "]");
    /* A change of the node that concerns no disk writes nothing. */
    int64_t before, after;
    const int64_t id = the_noderole(m.w, OS_INSTALL);
    CHECK(core_last_turn(m.w->core, TABLE_NODEROLE, id, &before));
    set_on_node(&m, "hint-admin-v4addr", "'192.168.124.99/24'");
    CHECK(core_last_turn(m.w->core, TABLE_NODEROLE, id, &after) && before == after);
    live_close(m.w);
}

TEST(after_the_commit_the_inventory_does_not_change_the_choice)
{
    struct machine m = propose_install(DISKS);
    m.stopped = "provisioner-os-install";
    DONE(m.w, commit_of(&m));
    work(&m);
    EXPECT_STR(world_staged(m.w, OS_INSTALL, WIPE), "[" DISK_A "]");
    set_on_node(&m, "claimed-disks", "{'disk/by-id/a':'ceph'}");
    set_on_install(&m, "provisioner-disk", "'disk/by-id/b'");
    work(&m);
    EXPECT_STR(world_staged(m.w, OS_INSTALL, WIPE), "[" DISK_A "]");
    EXPECT_STR(proposed(&m, "provisioner-wipe"), "[" DISK_A "]");
    /* Proposed again it is chosen again, and committed. */
    DONE(m.w, cmd_propose(m.w, OS_INSTALL));
    EXPECT_STR(proposed(&m, "provisioner-wipe"), "[" DISK_B "]");
    m.stopped = NULL;
    DONE(m.w, commit_of(&m));
    work(&m);
    CHECK(m.wipes == 1);
    EXPECT_STR(node_value(m.w, "n1", "operating-system-disk"), "'disk/by-id/b'");
    live_close(m.w);
}

TEST(without_a_usable_disk_the_commit_is_refused_with_the_machine)
{
    static const char *const hints[][2] = {
        {"'a':1", "no disk of n1.example.com is known: its inventory lists none"},
        {"'reservations':{'disks':{'a':{'removable':true},'b':{'serial':'S','size':7}}},"
         "'claimed-disks':{'b':'ceph'}",
         "no disk of n1.example.com can be used for the operating system: a is removable, "
         "b is claimed by ceph"},
        {"'reservations':{'disks':{'a':{'readonly':true},'b':{'size':7},'c':{'wwn':'5','size':0},"
         "'d':{'serial':'S','size':'x'},'e':{'serial':''},'f':{},'g':{}}}",
         "a is read-only, b has neither a serial number nor a WWN in the inventory, c has no size "
         "in the inventory, d has no size in the inventory, e has neither a serial number "
         "nor a WWN "
         "in the inventory, and 2 more"},
    };
    for (uint32_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        struct machine m = propose_install(hints[i][0]);
        HAS(REFUSED(m.w, commit_of(&m), HOOK_VETO, NULL), hints[i][1]);
        IS(m.w, OS_INSTALL, "proposed");
        EXPECT_STR(proposed(&m, "provisioner-wipe"), "[]");
        live_close(m.w);
    }
    /* A disk is released, and the machine is committed. */
    struct machine m = propose_install("'reservations':{'disks':{'b':{'serial':'S','size':'7'}}},"
                                       "'claimed-disks':{'b':'ceph'}");
    set_on_node(&m, "claimed-disks", "{'b':null}");
    DONE(m.w, commit_of(&m));
    work(&m);
    CHECK(m.wipes == 1 && !read_node(m.w, "n1").alive);
    EXPECT_STR(node_value(m.w, "n1", "operating-system-disk"), "'b'");
    live_close(m.w);
}

TEST(an_operator_chooses_the_disk_before_the_commit)
{
    struct machine m = propose_install(DISKS);
    set_on_install(&m, "provisioner-disk", "'/dev/disk/by-id/b'");
    EXPECT_STR(proposed(&m, "provisioner-wipe"), "[" DISK_B "]");
    /* A disk that cannot be used is not replaced by another one. */
    static const char *const wrong[][2] = {
        {"'disk/by-id/gone'", "the disk disk/by-id/gone of n1.example.com, which the attrib "
                              "provisioner-disk names, is not in the inventory"},
        {"'disk/by-id/stick'", "provisioner-disk names, is removable"},
    };
    for (uint32_t i = 0; i < 2; i++) {
        set_on_install(&m, "provisioner-disk", wrong[i][0]);
        HAS(REFUSED(m.w, commit_of(&m), HOOK_VETO, NULL), wrong[i][1]);
    }
    set_on_install(&m, "provisioner-disk", "'disk/by-id/b'");
    set_on_node(&m, "claimed-disks", "{'disk/by-id/b':'ceph'}");
    HAS(REFUSED(m.w, commit_of(&m), HOOK_VETO, NULL), "is claimed by ceph");
    set_on_install(&m, "provisioner-disk", "null");
    DONE(m.w, commit_of(&m));
    EXPECT_STR(world_staged(m.w, OS_INSTALL, WIPE), "[" DISK_A "]");
    live_close(m.w);
}

TEST(unclaimed_disks_are_wiped_only_in_that_scope)
{
    struct machine m = propose_install(DISKS);
    set_on_install(&m, "provisioner-wipe_scope", "'unclaimed'");
    EXPECT_STR(proposed(&m, "provisioner-wipe"), "[" DISK_A "," DISK_B "]");
    set_on_node(&m, "claimed-disks", "{'disk/by-id/b':'ceph'}");
    EXPECT_STR(proposed(&m, "provisioner-wipe"), "[" DISK_A "]");
    set_on_node(&m, "claimed-disks", "{'disk/by-id/b':''}");
    REFUSED(m.w,
            cmd_set(m.w, TABLE_NODEROLE, the_noderole(m.w, OS_INSTALL), "provisioner-wipe_scope",
                    BUCKET_USER, "'all'"),
            SCHEMA_VIOLATED, NULL);
    set_on_install(&m, "provisioner-wipe_scope", "'disk'");
    EXPECT_STR(proposed(&m, "provisioner-wipe"), "[" DISK_A "]");
    live_close(m.w);
    /* For all machines of the deployment. */
    m = propose_install(DISKS);
    DONE(m.w, cmd_set(m.w, TABLE_DEPLOYMENT, the_deployment(m.w, "prod"), "provisioner-wipe_scope",
                      BUCKET_USER, "'unclaimed'"));
    EXPECT_STR(proposed(&m, "provisioner-wipe"), "[" DISK_A "," DISK_B "]");
    DONE(m.w, commit_of(&m));
    EXPECT_STR(world_staged(m.w, OS_INSTALL, WIPE), "[" DISK_A "," DISK_B "]");
    EXPECT_STR(node_value(m.w, "n1", "claimed-disks"), "{'disk/by-id/a':'operating system'}");
    live_close(m.w);
}

/* Results of hooks are lost, as after a crash: a commit sees settings that the choice does not
 * include yet. */
TEST(a_setting_that_the_choice_does_not_include_refuses_the_commit)
{
    struct machine m = propose_install(DISKS);
    static const char *const settings[][2] = {{"provisioner-disk", "'disk/by-id/b'"},
                                              {"provisioner-wipe_scope", "'unclaimed'"},
                                              {"provisioner-target_os", "'ubuntu-24.04'"}};
    for (uint32_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        live_drop_results(m.w, true);
        set_on_install(&m, settings[i][0], settings[i][1]);
        HAS(REFUSED(m.w, commit_of(&m), HOOK_VETO, NULL),
            "the disk of n1.example.com is not chosen yet");
        live_drop_results(m.w, false);
        live_restart(m.w);
    }
    EXPECT_STR(proposed(&m, "provisioner-wipe"), "[" DISK_B "," DISK_A "]");
    DONE(m.w, commit_of(&m));
    live_close(m.w);
}

TEST(the_plan_lists_the_disks_and_its_hash_covers_them)
{
    struct machine m = propose_install(DISKS);
    struct command commit = commit_of(&m);
    const char *plan = plan_of(&m);
    HAS(plan, "'targets':{'boot':[{'bootenv':'debian-12-install'}],'wipe':[" DISK_A "]}");
    const char *at = strstr(plan, "'hash':'");
    CHECK(at);
    commit.deployment_commit.plan = str_copy(&m.w->arena, (struct str){at + 8, 64});
    set_on_node(&m, "claimed-disks", "{'disk/by-id/a':'ceph'}");
    REFUSED(m.w, commit, PLAN_CHANGED, NULL);
    set_on_node(&m, "claimed-disks", "{'disk/by-id/a':''}");
    DONE(m.w, commit);
    live_close(m.w);
}

TEST(the_plan_lists_the_installer_and_its_hash_covers_it)
{
    struct machine m = propose_install(DISKS);
    struct command commit = commit_of(&m);
    const char *at = strstr(plan_of(&m), "'hash':'");
    CHECK(at);
    commit.deployment_commit.plan = str_copy(&m.w->arena, (struct str){at + 8, 64});
    set_on_install(&m, "provisioner-target_os", "'ubuntu-24.04'");
    HAS(plan_of(&m), "'targets':{'boot':[{'bootenv':'ubuntu-24.04-install'}],'wipe':[" DISK_A "]}");
    REFUSED(m.w, commit, PLAN_CHANGED, NULL);
    commit.deployment_commit.plan = STR("");
    DONE(m.w, commit);
    live_close(m.w);
}

TEST(the_disk_used_before_is_kept_while_it_can_be_used)
{
    static const char *const hints[][2] = {
        {"'operating-system-disk':'disk/by-id/b','claimed-disks':{'disk/by-id/b':"
         "'operating system'}",
         "'disk/by-id/b'"},
        {"'operating-system-disk':'disk/by-id/b'", "'disk/by-id/b'"},
        {"'operating-system-disk':'disk/by-id/gone','claimed-disks':{'disk/by-id/gone':"
         "'operating system'}",
         "'disk/by-id/a'"},
        {"'operating-system-disk':'disk/by-id/b','claimed-disks':{'disk/by-id/b':'ceph'}",
         "'disk/by-id/a'"},
        {"'claimed-disks':{'disk/by-id/a':'ceph'}", "'disk/by-id/b'"},
    };
    for (uint32_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        struct machine m = begin();
        char hint[1200];
        snprintf(hint, sizeof hint, "{%s,%s,%s,%s}", ADDRESS, MAC, DISKS, hints[i][0]);
        discover(&m, "n1", hint);
        order_install(&m, "provisioner-os-install@n1");
        EXPECT_STR(node_value(m.w, "n1", "operating-system-disk"), hints[i][1]);
        const char *claims = node_value(m.w, "n1", "claimed-disks");
        CHECK(!strstr(claims, "gone"));
        if (i >= 3)
            HAS(claims, "ceph");
        live_close(m.w);
    }
}

/* A disk is claimed between the commit and the start of the run. */
TEST(a_committed_disk_that_another_owner_claims_is_not_wiped)
{
    struct machine m = propose_install(DISKS);
    world_alive(m.w, "n1", false);
    DONE(m.w, commit_of(&m));
    IS(m.w, OS_INSTALL, "blocked");
    EXPECT_STR(node_value(m.w, "n1", "claimed-disks"), "{'disk/by-id/a':'operating system'}");
    set_on_node(&m, "claimed-disks", "{'disk/by-id/a':'ceph'}");
    world_alive(m.w, "n1", true);
    work(&m);
    IS(m.w, OS_INSTALL, "error");
    HAS(str_z(&m.w->arena, read_noderole(m.w, OS_INSTALL).runlog),
        "the committed disk disk/by-id/a of n1.example.com is claimed by ceph. Nothing was wiped");
    CHECK(m.wipes == 0);
    live_hook_log(m.w);
    live_close(m.w);
}

/* A redeploy commits what is chosen; it needs a disk as any other commit. */
TEST(a_redeploy_wipes_the_disk_that_is_committed)
{
    struct machine m = propose_install(DISKS);
    DONE(m.w, commit_of(&m));
    work(&m);
    set_bootenv(m.w, "n1", "local");
    world_alive(m.w, "n1", true);
    work(&m);
    IS(m.w, OS_INSTALL, "active");
    set_on_node(&m, "claimed-disks", "{'disk/by-id/a':'ceph','disk/by-id/b':''}");
    /* Proposed, it is chosen again; an installed machine needs no disk for its commit. */
    DONE(m.w, cmd_propose(m.w, OS_INSTALL));
    EXPECT_STR(proposed(&m, "provisioner-wipe"), "[" DISK_B "]");
    DONE(m.w, commit_of(&m));
    work(&m);
    CHECK(m.wipes == 1);
    DONE(m.w, CMD(NODE_REDEPLOY, node_redeploy, .id = the_node(m.w, "n1")));
    work(&m);
    world_alive(m.w, "n1", true);
    work(&m);
    CHECK(m.wipes == 2);
    EXPECT_STR(node_value(m.w, "n1", "operating-system-disk"), "'disk/by-id/b'");
    live_close(m.w);
}

TEST(a_machine_that_runs_from_its_disk_may_not_be_wiped)
{
    struct machine m = begin();
    discover(&m, "n1", "{" ADDRESS "," MAC "," DISKS "}");
    set_bootenv(m.w, "n1", "local");
    order_install(&m, "provisioner-os-install@n1");
    EXPECT_STR(world_staged(m.w, "provisioner-os-install@n1", "provisioner/runs_from_disk"),
               "true");
    EXPECT_STR(node_value(m.w, "n1", "operating-system-disk"), "null");
    live_close(m.w);
    /* It needs no disk. */
    m = begin();
    discover(&m, "n1", "{" ADDRESS "," MAC "}");
    set_bootenv(m.w, "n1", "local");
    order_install(&m, "provisioner-os-install@n1");
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

/* ---- the reboot ---- */

/* What does not serve the installer. */
static const struct late {
    const char *stopped;
    const char *noderole;
    const char *name; /* in the reason */
} late[] = {
    {BOOT_SERVER, "dhcp-database@admin", "dhcp-database on admin.example.com"},
    {"site-dhcp", "site-dhcp@boots", "site-dhcp on boots.example.com"},
    {"site-provisioner", "site-provisioner@boots", "site-provisioner on boots.example.com"},
};

enum { LATE_COUNT = sizeof late / sizeof *late };

static bool is_native(const struct late *l)
{
    return l->stopped == BOOT_SERVER;
}

static struct machine begin_with(const struct late *l)
{
    struct machine m = is_native(l) ? begin() : begin_site();
    discover(&m, "n1", "{" ADDRESS "," MAC "," DISKS "}");
    m.stopped = l->stopped;
    return m;
}

static void fail_late(struct machine *m, const struct late *l)
{
    if (is_native(l))
        report_server(m, BOOT_EVENT_FAILED, 0);
    else
        world_finish(m->w, l->noderole, RESULT_FAILED);
}

static void repair_late(struct machine *m, const struct late *l)
{
    m->stopped = NULL;
    DONE(m->w, cmd_retry(m->w, l->noderole));
    if (is_native(l))
        DONE(m->w, cmd_retry(m->w, "provisioner-database@admin"));
    work(m);
}

/* A machine that waits to be installed, with its run parked. */
static struct machine wait_for(const struct late *l)
{
    struct machine m = begin_with(l);
    order_install(&m, "crowbar-installed-node@n1");
    work(&m);
    CHECK(m.wipes == 1 && world_run(m.w, OS_INSTALL, RUN_PARKED) && read_node(m.w, "n1").alive);
    EXPECT_STR(str_z(&m.w->arena, read_node(m.w, "n1").bootenv), "debian-12-install");
    return m;
}

TEST(the_reboot_waits_for_all_that_serve_boots)
{
    for (uint32_t i = 0; i < LATE_COUNT; i++) {
        struct machine m = wait_for(&late[i]);
        m.stopped = NULL;
        work(&m);
        CHECK(!read_node(m.w, "n1").alive && m.wipes == 1);
        CHECK(read_noderole(m.w, OS_INSTALL).run_count == 1);
        live_close(m.w);
    }
}

TEST(an_installation_that_waits_for_a_database_in_error_fails_with_the_reason)
{
    for (uint32_t i = 0; i < LATE_COUNT; i++) {
        struct machine m = wait_for(&late[i]);
        const int64_t generation = read_node(m.w, "n1").boot_generation;
        fail_late(&m, &late[i]);
        work(&m);
        char reason[120];
        snprintf(reason, sizeof reason, "%s is in error and has not served boot generation %lld",
                 late[i].name, (long long)generation);
        IS(m.w, OS_INSTALL, "error");
        EXPECT_STR(str_z(&m.w->arena, read_noderole(m.w, OS_INSTALL).runlog), reason);
        CHECK(read_noderole(m.w, OS_INSTALL).reason == REASON_BOOT_NOT_SERVED);
        CHECK(read_node(m.w, "n1").alive && m.wipes == 1);
        /* The next attempt succeeds, with a grant of its own. */
        repair_late(&m, &late[i]);
        DONE(m.w, cmd_retry(m.w, OS_INSTALL));
        work(&m);
        CHECK(m.wipes == 2 && !read_node(m.w, "n1").alive);
        CHECK(read_node(m.w, "n1").boot_generation == generation + 1);
        CHECK(read_node(m.w, "n1").grant_void == 0);
        live_close(m.w);
    }
}

/* Case 175: a boot server that acknowledges nothing, a database that does not run. */
TEST(an_installation_waits_for_boot_wait_at_most)
{
    for (uint32_t i = 0; i < LATE_COUNT; i++) {
        struct machine m = wait_for(&late[i]);
        m.w->now_ms += 580000;
        DONE(m.w, CMD(TICK, tick, .unused = 0));
        work(&m);
        CHECK(world_run(m.w, OS_INSTALL, RUN_PARKED));
        m.w->now_ms += 20000;
        DONE(m.w, CMD(TICK, tick, .unused = 0));
        work(&m);
        IS(m.w, OS_INSTALL, "error");
        char reason[120];
        snprintf(reason, sizeof reason, "%s has not served boot generation 1", late[i].name);
        EXPECT_STR(str_z(&m.w->arena, read_noderole(m.w, OS_INSTALL).runlog), reason);
        CHECK(read_node(m.w, "n1").alive && m.wipes == 1);
        m.stopped = NULL; /* too late */
        work(&m);
        IS(m.w, OS_INSTALL, "error");
        CHECK(read_node(m.w, "n1").alive);
        live_close(m.w);
    }
}

/* An operator resumes the run; it parks again and loses nothing. */
TEST(a_run_that_is_resumed_too_early_waits_on)
{
    struct machine m = wait_for(&late[0]);
    DONE(m.w, CMD(RUN_RESUME, run_resume, .run_id = world_run(m.w, OS_INSTALL, RUN_PARKED)));
    work(&m);
    CHECK(world_run(m.w, OS_INSTALL, RUN_PARKED) && m.wipes == 1);
    m.stopped = NULL;
    work(&m);
    CHECK(!read_node(m.w, "n1").alive && m.wipes == 1);
    live_close(m.w);
}

TEST(an_installation_does_not_wait_for_a_database_that_was_in_error_before)
{
    for (uint32_t i = 0; i < LATE_COUNT; i++) {
        struct machine m = begin_with(&late[i]);
        if (!is_native(&late[i]))
            DONE(m.w, cmd_retry(m.w, late[i].noderole));
        fail_late(&m, &late[i]);
        order_install(&m, "crowbar-installed-node@n1");
        work(&m);
        IS(m.w, OS_INSTALL, "error");
        CHECK(read_node(m.w, "n1").alive);
        live_close(m.w);
    }
}
