/* Goal: machines of a rack boot what databases and boot servers serve, are granted an installer
 * once, and are not wiped after a restore before a new commit.
 * Method: racks of the simulator (sim/rack/rack.h) with the barclamps of the tree, driven step by
 * step; the oracles of a rack check its machines all the time. */
#include "tests/unit/sim/rack_story.h"

/* ---- native and published ---- */

static struct rack *native_rack(bool dhcp, bool provisioner, uint32_t machines)
{
    return rack_of((struct rack_scenario){
        .barclamps = shipped(), .machines = machines, .is_native = {dhcp, provisioner}});
}

TEST(databases_and_boot_servers_install_machines_together)
{
    for (uint32_t i = 1; i < 4; i++) {
        struct rack *r = native_rack(i & 1, i & 2, 2);
        install_all(r);
        CHECK(r->machines[1].wipes == 1 && r->machines[1].installs == 1);
        CHECK(r->counts.reached[RACK_REACHED_VIEW_COMPARED] > 0);
        CHECK((r->counts.reached[RACK_REACHED_DATABASE_PUBLISHED] > 0) == (i != 3));
        check_goal_and_free(r);
    }
}

static bool has_no_server(struct rack *r, int64_t unused)
{
    struct boot_serving *all;
    const uint32_t count = core_boot_servings(rack_core(r), node(r, 0).id, &r->scratch, &all);
    for (uint32_t i = 0; i < count; i++)
        if (all[i].is_native && !all[i].is_connected)
            return unused == 0;
    return false;
}

TEST(a_machine_waits_for_a_boot_server_that_is_lost)
{
    struct rack *r = native_rack(true, true, 1);
    install_all(r);
    rack_lose_server(r, 0, 30 * MINUTE);
    CHECK(rack_until(r, has_no_server, 0, 10 * MINUTE));
    r->machines[0].boots_allowed += 3;
    CHECK(rack_node_verb(r, 0, COMMAND_NODE_DEBUG).is_done);
    rack_pass(r, 5 * MINUTE);
    CHECK(is_waiting(r, 0) && is_in_env(r, RACK_ENV_LOCAL) && serves(r, "local"));
    CHECK(rack_until(r, is_stopped, 0, 10 * MINUTE)); /* boot-wait */
    CHECK(noderole(r, RACK_ADMIN, DHCP).state == NODEROLE_ACTIVE);
    rack_pass(r, HOUR); /* it has returned */
    CHECK(serves(r, "sledgehammer") && is_in_env(r, RACK_ENV_LOCAL));
    CHECK(ask_power(r, "reboot").is_done);
    CHECK(rack_until(r, is_in_env, RACK_ENV_SLEDGEHAMMER, HOUR));
    CHECK(!r->failure[0]);
    rack_free(r);
}

/* ---- boot servers ---- */

static uint64_t reached(const struct rack *r, enum rack_reached what)
{
    return r->counts.reached[what];
}

/* A machine without a node gets an address of the pool, then its own; DHCP and scripts give way to
 * the disk at last. */
TEST(machines_boot_through_dhcp_and_scripts)
{
    struct rack *r = native_rack(true, true, 2); /* the first with a BIOS, the second with UEFI */
    install_all(r);
    CHECK(reached(r, RACK_REACHED_DHCP_LEASED) >= 4 && reached(r, RACK_REACHED_DHCP_RESERVED) >= 4);
    CHECK(reached(r, RACK_REACHED_GRANTED) == 2 && !reached(r, RACK_REACHED_SCRIPT_REFUSED));
    CHECK(reached(r, RACK_REACHED_DHCP_NO_FILE) == 1); /* UEFI gets a script that boots the disk */
    for (uint32_t i = 0; i < 2; i++)
        CHECK(r->machines[i].net.address == 0xc0a87c00u + 81 + i);
    check_goal_and_free(r);
}

/* What destroys nothing is answered without the daemon: a known machine boots, an unknown one gets
 * no address. */
TEST(without_the_daemon_known_machines_boot_and_others_wait)
{
    struct rack *r = native_rack(true, true, 2);
    rack_power_on(r, 0);
    CHECK(rack_until(r, is_in_env, RACK_ENV_SLEDGEHAMMER, HOUR));
    rack_pass(r, 20 * MINUTE);
    CHECK(node(r, 0).alive);
    rack_lose_server(r, 0, 2 * HOUR);
    CHECK(rack_until(r, has_no_server, 0, 10 * MINUTE));
    const uint32_t boots = r->machines[0].boots;
    r->machines[0].boots_allowed += 3;
    rack_power_cut(r, 0);
    rack_power_on(r, 0);
    rack_power_on(r, 1);
    rack_pass(r, HOUR);
    CHECK(r->machines[0].boots == boots + 1 && r->machines[0].env == RACK_ENV_SLEDGEHAMMER);
    CHECK(r->machines[1].env == RACK_ENV_FIRMWARE && !r->machines[1].boots);
    CHECK(reached(r, RACK_REACHED_DHCP_FAILED) > 0 && !r->machines[1].net.address);
    rack_pass(r, 3 * HOUR); /* it has returned */
    CHECK(r->machines[1].env == RACK_ENV_SLEDGEHAMMER && node(r, 1).alive);
    CHECK(!r->failure[0]);
    rack_free(r);
}

/* The installer is loaded while the daemon is away, and starts when it is back. */
TEST(an_installer_waits_in_its_loader_for_the_daemon)
{
    struct rack *r = native_rack(true, true, 1);
    discover(r);
    request_installation(r);
    CHECK(rack_until(r, is_in_env, RACK_ENV_FIRMWARE, HOUR));
    rack_lose_server(r, 0, 30 * MINUTE);
    CHECK(rack_until(r, is_in_env, RACK_ENV_LOADER, HOUR));
    rack_pass(r, 10 * MINUTE);
    CHECK(is_in_env(r, RACK_ENV_LOADER) && reached(r, RACK_REACHED_DAEMON_AWAY) > 0);
    CHECK(rack_until(r, is_in_env, RACK_ENV_INSTALLER, 4 * HOUR));
    CHECK(reached(r, RACK_REACHED_GRANTED) == 1 && !r->failure[0]);
    rack_free(r);
}

/* ---- oracles ---- */

TEST(an_answer_that_is_older_than_what_an_action_waited_for_is_a_failure)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct rack *r = native_rack(i, i, 1);
        discover(r);
        r->machines[0].boots_allowed += 3;
        const struct rack_floor floor = {node(r, 0).id, node(r, 0).boot_generation + 1, r->history};
        for (uint32_t k = 0; k < RACK_SERVICE_COUNT; k++)
            r->machines[0].floors[0][k] = floor;
        rack_power_cut(r, 0);
        rack_power_on(r, 0);
        rack_pass(r, 10 * MINUTE);
        CHECK(strstr(r->failure, "older boot: "));
        rack_free(r);
    }
}

/* The publisher is killed when it has applied half of the entries: none of them is acknowledged. */
TEST(half_of_a_publication_is_published_again)
{
    struct rack *r = rack_with(shipped(), 1);
    install_all(r);
    r->scenario.rate[RACK_RUN_HALF] = 1000;
    r->has_faults = true;
    r->machines[0].boots_allowed += 3;
    CHECK(rack_node_verb(r, 0, COMMAND_NODE_DEBUG).is_done);
    CHECK(rack_until(r, is_stopped, 0, HOUR)); /* a database is in ERROR */
    CHECK(is_in_env(r, RACK_ENV_LOCAL) && !serves(r, "sledgehammer"));
    r->has_faults = false;
    for (uint32_t i = 0; i < 2; i++) {
        struct command retry = {.kind = COMMAND_NODEROLE_RETRY};
        retry.noderole_retry.id = noderole(r, RACK_ADMIN, i ? DHCP : PROVISIONER).id;
        rack_send(r, &retry);
    }
    rack_pass(r, 5 * MINUTE);
    CHECK(serves(r, "sledgehammer"));
    CHECK(ask_power(r, "reboot").is_done);
    CHECK(rack_until(r, is_in_env, RACK_ENV_SLEDGEHAMMER, HOUR));
    CHECK(!r->failure[0]);
    rack_free(r);
}

/* ---- grants ---- */

static bool why_names(struct rack *r, int64_t code)
{
    for (const struct cause *cause = core_why(rack_core(r), TABLE_NODE, node(r, 0).id, &r->scratch);
         cause; cause = cause->next)
        if (cause->code == (enum cause_code)code)
            return true;
    return false;
}

static void redeploy(struct rack *r)
{
    r->machines[0].install_requests++;
    r->machines[0].boots_allowed += 4;
    CHECK(rack_node_verb(r, 0, COMMAND_NODE_REDEPLOY).is_done);
    CHECK(rack_until(r, goal_is_reached, 0, 4 * HOUR));
}

TEST(a_machine_whose_power_fails_in_the_installer_is_not_granted_it_again)
{
    struct rack *r = rack_with(shipped(), 1);
    discover(r);
    request_installation(r);
    CHECK(rack_until(r, is_in_env, RACK_ENV_INSTALLER, HOUR));
    rack_pass(r, MINUTE);
    rack_power_cut(r, 0);
    rack_pass(r, MINUTE);
    rack_power_on(r, 0);
    CHECK(rack_until(r, is_in_env, RACK_ENV_NOWHERE, HOUR));
    CHECK(r->counts.reached[RACK_REACHED_TICKET_REFUSED] == 1);
    CHECK(rack_until(r, why_names, CAUSE_INSTALL_STOPPED, 2 * HOUR));
    CHECK(r->machines[0].boots_into[RACK_ENV_INSTALLER] == 1);
    redeploy(r);
    CHECK(r->machines[0].wipes == 2 && r->machines[0].installs == 1);
    check_goal_and_free(r);
}

TEST(an_installer_that_stops_at_a_stamp_is_redeployed_above_it)
{
    struct rack *r = rack_with(shipped(), 1);
    discover(r);
    request_installation(r);
    CHECK(rack_until(r, is_in_env, RACK_ENV_INSTALLER, HOUR));
    for (uint32_t i = 0; i < r->machines[0].disk_count; i++)
        r->machines[0].disks[i].stamp = 7;
    CHECK(rack_until(r, why_names, CAUSE_INSTALL_STOPPED, HOUR));
    CHECK(r->machines[0].installs == 0 && r->machines[0].is_stopped);
    redeploy(r);
    CHECK(node(r, 0).boot_generation > 7 && r->machines[0].installs == 1);
    check_goal_and_free(r);
}

/* The boot server asks for the node and generation of the other machine, as after a restore; both
 * are to be installed. It compares the MAC, or leaves that to the core. */
TEST(no_machine_is_granted_the_installer_of_another_one)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct rack *r = rack_of(
            (struct rack_scenario){.barclamps = shipped(), .machines = 2, .compares_mac = i});
        discover(r);
        request_installation(r);
        r->scenario.rate[RACK_OTHER_NODE] = 1000;
        r->has_faults = true;
        rack_pass(r, 2 * HOUR);
        CHECK(r->counts.reached[i ? RACK_REACHED_OTHER_NODE : RACK_REACHED_OTHER_MAC] > 2);
        CHECK(!r->counts.reached[i ? RACK_REACHED_OTHER_MAC : RACK_REACHED_OTHER_NODE]);
        CHECK(!r->counts.reached[RACK_REACHED_GRANTED] && !r->failure[0]);
        CHECK(!r->machines[0].installs && !r->machines[1].installs);
        r->has_faults = false;
        CHECK(rack_until(r, goal_is_reached, 0, 4 * HOUR));
        CHECK(r->machines[0].wipes == 1 && r->machines[1].wipes == 1);
        CHECK(r->counts.reached[RACK_REACHED_GRANTED] == 2);
        check_goal_and_free(r);
    }
}

/* ---- backups ---- */

static void replace_store(struct rack *r, bool is_restore)
{
    const uint32_t history = r->history;
    if (is_restore)
        rack_restore(r);
    else
        rack_import(r);
    rack_node_verb(r, RACK_ADMIN, COMMAND_NODE_COMMIT); /* the daemon stops at the next turn */
    CHECK(r->history == history + 1);
}

/* The backup was made when the machine had been wiped; since then it was installed, and boots the
 * discovery image. Nothing is wiped before the installation is committed again. */
TEST(a_restored_installation_wipes_nothing_before_a_new_commit)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct rack *r = rack_with(shipped(), 1);
        discover(r);
        request_installation(r);
        CHECK(rack_until(r, install_state_is, i ? NODEROLE_TRANSITION : NODEROLE_TODO, HOUR));
        rack_backup(r);
        CHECK(rack_until(r, goal_is_reached, 0, 4 * HOUR));
        r->machines[0].boots_allowed += 10;
        CHECK(rack_node_verb(r, 0, COMMAND_NODE_DEBUG).is_done);
        CHECK(rack_until(r, is_in_env, RACK_ENV_SLEDGEHAMMER, HOUR));
        rack_pass(r, 10 * MINUTE);
        replace_store(r, true);
        CHECK(rack_until(r, install_state_is, NODEROLE_ERROR, HOUR));
        CHECK(noderole(r, 0, INSTALL).reason == REASON_COMMIT_OUTDATED);
        rack_pass(r, HOUR);
        CHECK(r->machines[0].wipes == 1 && !r->failure[0]);

        const int64_t id = noderole(r, 0, INSTALL).id;
        struct command propose = {.kind = COMMAND_NODEROLE_PROPOSE};
        struct command commit = {.kind = COMMAND_NODEROLE_COMMIT};
        propose.noderole_propose.id = commit.noderole_commit.id = id;
        CHECK(rack_send(r, &propose).is_done);
        rack_pass(r, MINUTE);
        CHECK(rack_send(r, &commit).is_done);
        CHECK(rack_until(r, goal_is_reached, 0, 4 * HOUR));
        CHECK(r->machines[0].wipes == 2 && r->machines[0].installs == 2);
        check_goal_and_free(r);
    }
}

/* The grant is unused when the store is imported; the machine asks for it afterwards. */
TEST(an_import_voids_the_grant_of_a_machine)
{
    struct rack *r = rack_with(shipped(), 1);
    discover(r);
    request_installation(r);
    CHECK(rack_until(r, is_in_env, RACK_ENV_LOADER, HOUR));
    replace_store(r, false);
    rack_pass(r, HOUR);
    CHECK(r->counts.reached[RACK_REACHED_GRANT_REFUSED] && !r->machines[0].installs);
    CHECK(why_names(r, CAUSE_NO_GRANT) && !r->failure[0]);
    redeploy(r);
    check_goal_and_free(r);
}

/* A database that has later boots than the restored store publishes all machines again. */
TEST(databases_publish_all_machines_after_a_restore)
{
    struct rack *r = rack_with(shipped(), 1);
    discover(r);
    rack_backup(r);
    request_installation(r);
    CHECK(rack_until(r, is_in_env, RACK_ENV_INSTALLER, 2 * HOUR));
    CHECK(serves(r, "debian-12-install"));
    replace_store(r, true);
    rack_pass(r, 5 * MINUTE);
    CHECK(serves(r, "sledgehammer"));
    CHECK(!r->failure[0]);
    rack_free(r);
}
