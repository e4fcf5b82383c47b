/* Goal: the shipped roles install a machine as SEMANTICS 8.6 says, and each cure of 12.1 that
 * belongs to them holds.
 * Method: racks of the simulator (sim/rack/rack.h) with the barclamps of the tree, told step by
 * step. A rack watches its machines by itself; where it is cheap the cure is taken out, in a copy
 * of a barclamp or in what a script says, and the rack must notice. */
#include "tests/unit/sim/rack_story.h"

/* ---- the sequence ---- */

static void check_discovered(struct rack *r)
{
    CHECK(is_in(r, PLACE_SLEDGEHAMMER) && serves(r, "sledgehammer"));
    CHECK(str_eq(node(r, 0).bootenv, STR("sledgehammer")));
    CHECK(r->machines[0].boots == 1 && r->machines[0].wipes == 0);
}

/* Chosen and claimed, and nothing else has happened (8.6 step 2, with X14). */
static void check_disk_chosen(struct rack *r)
{
    const char *disk = hint(r, "operating-system-disk");
    CHECK(disk[0]);
    struct json *tree;
    uint32_t offset;
    const char *what;
    CHECK(json_read(&r->scratch, node(r, 0).hint, &tree, &offset, &what) == OK);
    const struct json *owner = json_get(json_get(tree, STR("claimed-disks")), str_from(disk));
    CHECK(owner && str_eq(owner->text, STR("operating system")));
    CHECK(str_eq(node(r, 0).bootenv, STR("sledgehammer")));
    CHECK(r->machines[0].wipes == 0);
}

TEST(a_machine_is_installed_step_by_step)
{
    struct rack *r = rack_of(shipped(), 1);
    discover(r);
    check_discovered(r);
    want_installed(r);
    CHECK(rack_until(r, install_is, NODEROLE_TRANSITION, HOUR));
    check_disk_chosen(r);

    CHECK(rack_until(r, is_parked, 0, HOUR));
    CHECK(r->machines[0].wipes == 1 && str_eq(node(r, 0).bootenv, STR("sledgehammer")));
    CHECK(rack_until(r, boots, 0, HOUR));
    CHECK(str_eq(node(r, 0).bootenv, STR("debian-12-install")));
    CHECK(noderole(r, 0, INSTALL).run_count == 0 && !serves(r, "debian-12-install"));
    CHECK(rack_until(r, serves_installer, 0, HOUR));
    CHECK(is_in(r, PLACE_SLEDGEHAMMER) && r->machines[0].boots == 1);

    CHECK(rack_until(r, was_installed, 1, HOUR));
    CHECK(!node(r, 0).alive); /* in the same step (X2, X3) */
    CHECK(serves(r, "debian-12-install"));
    CHECK(rack_until(r, is_in, PLACE_INSTALLER, HOUR));
    CHECK(noderole(r, 0, "rack-application").run_count == 0);

    CHECK(rack_until(r, is_in, PLACE_LOCAL, HOUR));
    CHECK(serves(r, "local") && str_eq(node(r, 0).bootenv, STR("local")));
    CHECK(rack_until(r, is_done, 0, HOUR));
    CHECK(r->machines[0].boots == 3 && r->machines[0].wipes == 1 && r->machines[0].installs == 1);
    CHECK(noderole(r, 0, INSTALL).run_count == 1);
    end_well(r);
}

TEST(the_target_an_operator_chose_is_installed)
{
    struct rack *r = rack_of(shipped(), 1);
    discover(r);
    CHECK(rack_bind(r, 0, "rack-application", "blue").is_done);
    set_value(r, TABLE_NODEROLE, noderole(r, 0, INSTALL).id, "provisioner-target_os",
              "\"debian-13\"");
    CHECK(rack_commit(r, "blue").is_done);
    CHECK(rack_until(r, boots, 0, HOUR));
    CHECK(str_eq(node(r, 0).bootenv, STR("debian-13-install")));
    CHECK(rack_until(r, is_done, 0, 2 * HOUR));
    end_well(r);
}

/* ---- X1 ---- */

static void put_node(struct rack *r, bool alive)
{
    struct command command = {.kind = COMMAND_NODE_UPDATE};
    command.node_update.id = node(r, 0).id;
    command.node_update.given = GIVEN_NODE_ALIVE | (alive ? 0 : GIVEN_NODE_BOOTENV);
    command.node_update.alive = alive;
    command.node_update.bootenv = STR("sledgehammer");
    CHECK(rack_send(r, &command).is_done);
}

/* The discovery image starts again when the installer is served, and the databases have no chance
 * to hear of it: what they said is that of an attempt before this one. */
static struct rack *start_again(const char *barclamps)
{
    struct rack *r = rack_of(barclamps, 1);
    discover(r);
    want_installed(r);
    r->delay_ms[RACK_HOOK_LATE] = 30 * SECOND;
    CHECK(rack_until(r, serves_installer, 0, HOUR));
    put_node(r, false);
    r->machines[0].marker[0] = 0; /* what a script left in its memory is gone */
    set_admin(r, GIVEN_NODE_AVAILABLE, false);
    rack_pass(r, MINUTE);
    r->delay_ms[RACK_HOOK_LATE] = 0;
    CHECK(!strcmp(hint(r, "dhcp-active-bootstate"), "debian-12-install"));
    CHECK(!strcmp(hint(r, "provisioner-active-bootstate"), "debian-12-install"));
    put_node(r, true);
    CHECK(rack_until(r, boots, 0, HOUR));
    rack_pass(r, 10 * MINUTE);
    return r;
}

/* Nobody waits for a boot generation: edits for the barclamps of both databases. */
#define NO_BARRIER                                                                                 \
    {"provisioner.yml", "    flags: [serves-boot]\n", ""},                                         \
        {"dhcp.yml", "    flags: [serves-boot]\n", ""},                                            \
        {"roles/provisioner-database.lua", SERVED, "if false then"},                               \
    {                                                                                              \
        "roles/dhcp-database.lua", SERVED, "if false then"                                         \
    }
#define SERVED "if is_number(generation) and generation > 0 then"

TEST(x01_what_databases_said_of_an_earlier_attempt_does_not_count)
{
    struct rack *r = start_again(shipped());
    CHECK(is_in(r, PLACE_SLEDGEHAMMER) && r->machines[0].boots == 1 && is_parked(r, 0));
    set_admin(r, GIVEN_NODE_AVAILABLE, true);
    CHECK(rack_until(r, is_done, 0, 2 * HOUR)); /* though what is published is what it was */
    CHECK(r->machines[0].wipes == 2 && r->machines[0].installs == 1);
    end_well(r);

    const struct edit edits[] = {
        {"roles/provisioner-os-install.lua",
         "      halligan.set_attrib('node', node, 'provisioner-active-bootstate', ASKED)\n"
         "      halligan.set_attrib('node', node, 'dhcp-active-bootstate', ASKED)\n",
         ""},
        NO_BARRIER,
        {NULL, NULL, NULL}};
    struct copy copy = {0};
    copy_barclamp(&copy, "provisioner", edits);
    copy_barclamp(&copy, "dhcp", edits);
    r = start_again(copy.path);
    CHECK(r->machines[0].boots > 1);
    rack_free(r);
    remove_copy(&copy);
}

/* ---- X2, X3 ---- */

TEST(x02_children_do_not_run_before_the_machine_is_installed)
{
    struct rack *r = rack_of(shipped(), 2);
    install_all(r); /* what ran where is watched all the time */
    CHECK(noderole(r, 0, "rack-application").run_count == 1);
    end_well(r);

    /* Nobody waits for the installation. */
    const struct edit edits[] = {{"crowbar.yml",
                                  "      - provisioner-os-install\n\n  - name: crowbar-joined-node",
                                  "\n  - name: crowbar-joined-node"},
                                 {NULL, NULL, NULL}};
    struct copy copy = {0};
    copy_barclamp(&copy, "crowbar", edits);
    goes_wrong(copy.path, (struct rack_flaws){0}, "X2:");
    remove_copy(&copy);
}

TEST(x03_active_and_not_alive_come_in_one_step)
{
    struct rack *r = rack_of(shipped(), 1);
    discover(r);
    want_installed(r);
    CHECK(rack_until(r, was_installed, 1, HOUR));
    CHECK(!node(r, 0).alive && noderole(r, 0, INSTALL).state != NODEROLE_TRANSITION);
    CHECK(rack_until(r, is_done, 0, 2 * HOUR));
    end_well(r);
    goes_wrong(shipped(), (struct rack_flaws){.stays_alive = true}, "X3:");
}

/* ---- X4, X5 ---- */

/* Without any of the guards: the engine's, that of the hook and that of the script. */
static const struct edit unguarded[] = {
    {"provisioner.yml", "flags: [destructive, implicit]", "flags: [implicit]"},
    {"roles/provisioner-os-install.lua", "if noderole.run_count > 0 then\n      return",
     "if false then\n      return"},
    {"roles/provisioner-os-install.lua", "if host.bootenv == 'local' then", "if false then"},
    {NULL, NULL, NULL}};

TEST(x04_an_installed_machine_is_not_wiped_again_when_it_comes_back)
{
    struct rack *r = rack_of(shipped(), 1);
    install_all(r);
    for (uint32_t i = 0; i < 3; i++) {
        rack_power_cut(r, 0);
        rack_pass(r, 5 * MINUTE);
        rack_power_on(r, 0);
        CHECK(rack_until(r, is_in, PLACE_LOCAL, HOUR));
        rack_pass(r, HOUR);
        CHECK(rack_missing(r) == NULL);
    }
    CHECK(r->machines[0].wipes == 1 && r->machines[0].installs == 1 && r->machines[0].boots == 6);
    CHECK(noderole(r, 0, INSTALL).run_count == 1);
    CHECK(noderole(r, 0, "rack-application").run_count == 4);
    end_well(r);

    struct copy copy = {0};
    copy_barclamp(&copy, "provisioner", unguarded);
    goes_wrong(copy.path, (struct rack_flaws){.ignores_join = true}, "is wiped in local");
    remove_copy(&copy);
}

TEST(a_redeploy_installs_once_more)
{
    struct rack *r = rack_of(shipped(), 1);
    install_all(r);
    r->machines[0].permits++;
    r->machines[0].boots_allowed += 3;
    CHECK(rack_node_verb(r, 0, COMMAND_NODE_REDEPLOY).is_done);
    CHECK(rack_until(r, is_in, PLACE_INSTALLER, HOUR));
    CHECK(rack_until(r, is_done, 0, 2 * HOUR));
    CHECK(r->machines[0].wipes == 2 && r->machines[0].installs == 2);
    CHECK(noderole(r, 0, INSTALL).run_count == 1);
    end_well(r);
}

TEST(x05_debug_boot_does_not_reboot_again)
{
    struct rack *r = rack_of(shipped(), 1);
    install_all(r);
    r->machines[0].boots_allowed += 2;
    CHECK(rack_node_verb(r, 0, COMMAND_NODE_DEBUG).is_done);
    CHECK(rack_until(r, is_in, PLACE_SLEDGEHAMMER, HOUR));
    rack_pass(r, 3 * HOUR);
    CHECK(is_in(r, PLACE_SLEDGEHAMMER) && node(r, 0).alive && r->machines[0].boots == 4);
    CHECK(rack_node_verb(r, 0, COMMAND_NODE_UNDEBUG).is_done);
    CHECK(rack_until(r, is_done, 0, HOUR));
    rack_pass(r, 3 * HOUR);
    CHECK(r->machines[0].boots == 5 && r->machines[0].wipes == 1);
    end_well(r);

    /* As it once was: whoever becomes active reboots, and the guard is always true. */
    const struct edit edits[] = {
        unguarded[0],
        {"roles/provisioner-os-install.lua", "return {\n  on_todo",
         "return {\n  on_active = function(nr) halligan.power(nr.host.id, 'reboot') end,"
         "\n  on_todo"},
        {NULL, NULL, NULL}};
    struct copy copy = {0};
    copy_barclamp(&copy, "provisioner", edits);
    goes_wrong(copy.path, (struct rack_flaws){0}, "X5:");
    remove_copy(&copy);
}

/* ---- X8, X11 ---- */

/* The machine is wiped and waits; its databases cannot run for two hours. */
static void wait_for_databases(struct rack *r, uint32_t given)
{
    discover(r);
    want_installed(r);
    CHECK(rack_until(r, install_is, NODEROLE_TRANSITION, HOUR));
    set_admin(r, given, false);
    rack_pass(r, 20 * MINUTE);
    CHECK(is_in(r, PLACE_SLEDGEHAMMER) && r->machines[0].boots == 1);
    CHECK(!serves(r, "debian-12-install"));
    set_admin(r, given, true);
}

TEST(x08_a_database_that_cannot_run_now_runs_when_it_can)
{
    static const uint32_t flags[] = {GIVEN_NODE_AVAILABLE, GIVEN_NODE_ALIVE};
    for (uint32_t i = 0; i < 2; i++) {
        struct rack *r = rack_of(shipped(), 1);
        wait_for_databases(r, flags[i]);
        CHECK(rack_until(r, is_done, 0, 2 * HOUR)); /* nobody has done anything about it */
        CHECK(r->machines[0].wipes == 1);
        end_well(r);
    }
    /* As it once was: what comes while it cannot run is dropped. */
    static const char put[] = "  for _, nr in ipairs(noderoles) do\n    halligan.set_attrib";
    static const char drop[] = "  for _, nr in ipairs(noderoles) do\n"
                               "    if nr.state == 'blocked' then return end\n"
                               "    halligan.set_attrib";
    const struct edit edits[] = {{"roles/provisioner-database.lua", put, drop},
                                 {"roles/provisioner-database.lua", "== ASKED then", "== 1 then"},
                                 {"roles/dhcp-database.lua", put, drop},
                                 {"roles/dhcp-database.lua", "== ASKED then", "== 1 then"},
                                 {NULL, NULL, NULL}};
    struct copy copy = {0};
    copy_barclamp(&copy, "provisioner", edits);
    copy_barclamp(&copy, "dhcp", edits);
    struct rack *r = rack_of(copy.path, 1);
    wait_for_databases(r, GIVEN_NODE_ALIVE);
    CHECK(!rack_until(r, is_done, 0, 2 * HOUR));
    rack_free(r);
    remove_copy(&copy);
}

TEST(x11_two_changes_at_once_lose_no_client)
{
    struct rack *r = rack_of(shipped(), RACK_MACHINES_MAX);
    r->delay_ms[RACK_HOOK_LATE] = 7 * SECOND; /* what hooks know is old when they speak */
    install_all(r);
    end_well(r);

    /* As it once was: whoever speaks replaces the whole map by what it knows. */
    const struct edit edits[] = {
        {"roles/dhcp-database.lua",
         "    halligan.set_attrib('noderole', halligan.maybe(nr), 'dhcp-clients', "
         "{ [name] = entry })\n",
         "    local map = { [name] = entry }\n    for i = 1, 8 do\n"
         "      local other = string.format('d52-54-00-00-00-%02x.rack.local', i)\n"
         "      if other ~= name then map[other] = halligan.null end\n    end\n"
         "    halligan.set_attrib('noderole', nr, 'dhcp-clients', map)\n"},
        {NULL, NULL, NULL}};
    struct copy copy = {0};
    copy_barclamp(&copy, "dhcp", edits);
    r = rack_of(copy.path, 3);
    install_all(r);
    CHECK(rack_missing(r) != NULL);
    rack_free(r);
    remove_copy(&copy);
}

/* ---- X9, X10, and the end of the wait ---- */

static bool is_waiting(struct rack *r, int64_t unused)
{
    const struct core *core = rack_core(r);
    for (int64_t id = unused; (id = core_next_id(core, TABLE_OUTBOX, id)) != 0;) {
        struct record record;
        if (core_record(core, TABLE_OUTBOX, id, &record) && record.outbox.generation)
            return true;
    }
    return false;
}

static bool is_stopped(struct rack *r, int64_t unused)
{
    return node(r, 0).stopped && unused == 0;
}

static struct rack_word ask_power(struct rack *r, const char *action)
{
    struct command command = {.kind = COMMAND_NODE_POWER};
    command.node_power.id = node(r, 0).id;
    command.node_power.action = str_from(action);
    return rack_send(r, &command);
}

/* The databases have something to serve, and cannot. */
static void wait_in_vain(struct rack *r)
{
    install_all(r);
    set_admin(r, GIVEN_NODE_AVAILABLE, false);
    r->machines[0].boots_allowed += 3;
    CHECK(rack_node_verb(r, 0, COMMAND_NODE_DEBUG).is_done);
    CHECK(is_waiting(r, 0) && is_in(r, PLACE_LOCAL));
    CHECK(rack_until(r, is_stopped, 0, HOUR));
}

TEST(x01_a_machine_is_not_restarted_into_what_is_not_served)
{
    struct rack *r = rack_of(shipped(), 1);
    wait_in_vain(r);
    CHECK(is_in(r, PLACE_LOCAL) && r->machines[0].boots == 3 && !node(r, 0).alive);
    const char *status = str_z(&r->scratch, node(r, 0).status);
    CHECK(strstr(status, "reboot was not done: dhcp-database on admin.rack.local has not served"));
    CHECK(strstr(status, "within 600 s"));
    set_admin(r, GIVEN_NODE_AVAILABLE, true);
    rack_pass(r, HOUR);
    CHECK(is_in(r, PLACE_LOCAL) && serves(r, "sledgehammer")); /* it is not done by itself */
    CHECK(ask_power(r, "reboot").is_done);
    CHECK(rack_until(r, is_in, PLACE_SLEDGEHAMMER, HOUR));
    rack_pass(r, HOUR);
    CHECK(node(r, 0).alive && node(r, 0).status.len == 0);
    CHECK(rack_node_verb(r, 0, COMMAND_NODE_UNDEBUG).is_done);
    CHECK(rack_until(r, is_done, 0, HOUR));
    end_well(r);
}

TEST(x08_a_machine_does_not_wait_for_a_database_in_error)
{
    struct rack *r = rack_of(shipped(), 1);
    install_all(r);
    const int64_t database = noderole(r, RACK_ADMIN, DHCP).id;
    struct command enqueue = {.kind = COMMAND_NODEROLE_ENQUEUE};
    struct command cancel = {.kind = COMMAND_RUN_CANCEL};
    enqueue.noderole_enqueue.id = database;
    CHECK(rack_send(r, &enqueue).is_done);
    cancel.run_cancel.run_id = core_next_id(rack_core(r), TABLE_RUN, 0);
    CHECK(rack_send(r, &cancel).is_done);
    CHECK(noderole(r, RACK_ADMIN, DHCP).state == NODEROLE_ERROR);
    CHECK(rack_node_verb(r, 0, COMMAND_NODE_DEBUG).is_done);
    CHECK(!is_waiting(r, 0) && node(r, 0).stopped);
    CHECK(strstr(str_z(&r->scratch, node(r, 0).status), "dhcp-database on admin.rack.local is in "
                                                        "error"));
    rack_pass(r, HOUR);
    CHECK(is_in(r, PLACE_LOCAL) && r->machines[0].boots == 3);
    rack_free(r);
}

/* Both databases know the machine; those that came later do not. */
static struct rack *two_databases(const char *barclamps)
{
    struct rack *r = rack_of(barclamps, 1);
    install_all(r);
    r->machines[0].boots_allowed += 3;
    CHECK(rack_add_databases(r));
    CHECK(rack_served(r, r->second_dhcp, 0).len == 0);
    return r;
}

static bool second_serves(struct rack *r, int64_t unused)
{
    return str_eq(rack_served(r, r->second_dhcp, 0), STR("sledgehammer")) &&
           str_eq(rack_served(r, r->second_provisioner, 0), STR("sledgehammer")) && unused == 0;
}

TEST(x09_every_database_has_to_serve_it)
{
    struct rack *r = two_databases(shipped());
    r->delay_ms[RACK_RUN_SLOW] = MINUTE;
    CHECK(rack_node_verb(r, 0, COMMAND_NODE_DEBUG).is_done);
    while (!serves(r, "sledgehammer") || !second_serves(r, 0)) {
        CHECK(is_waiting(r, 0) && is_in(r, PLACE_LOCAL) && r->machines[0].boots == 3);
        rack_pass(r, 5 * SECOND);
        CHECK(!r->failure[0]);
    }
    CHECK(rack_until(r, is_in, PLACE_SLEDGEHAMMER, HOUR));
    rack_pass(r, HOUR);
    CHECK(rack_node_verb(r, 0, COMMAND_NODE_UNDEBUG).is_done);
    CHECK(rack_until(r, is_done, 0, HOUR));
    end_well(r);
}

/* A database that has come since knows only what it is told: a machine that is switched on makes it
 * look. */
TEST(x09_a_database_that_came_later_is_asked_to_serve)
{
    struct rack *r = two_databases(shipped());
    CHECK(ask_power(r, "reboot").is_done);
    CHECK(is_waiting(r, 0));
    CHECK(rack_until(r, is_in, PLACE_FIRMWARE, HOUR));
    CHECK(str_eq(rack_served(r, r->second_dhcp, 0), STR("local")));
    CHECK(rack_until(r, is_done, 0, HOUR));
    end_well(r);
}

/* Down at once, as it once was: it boots what is served at that moment. */
TEST(x10_debug_redeploy_and_undebug_wait_for_the_databases)
{
    struct rack *r = rack_of(shipped(), 1);
    install_all(r);
    r->delay_ms[RACK_RUN_SLOW] = 2 * MINUTE; /* longer than the machine takes to ask */
    r->machines[0].boots_allowed += 2;
    CHECK(rack_node_verb(r, 0, COMMAND_NODE_DEBUG).is_done);
    CHECK(is_in(r, PLACE_LOCAL) && !serves(r, "sledgehammer"));
    CHECK(rack_until(r, is_in, PLACE_FIRMWARE, HOUR));
    CHECK(serves(r, "sledgehammer"));
    CHECK(rack_until(r, is_in, PLACE_SLEDGEHAMMER, HOUR));
    rack_pass(r, HOUR);
    CHECK(rack_node_verb(r, 0, COMMAND_NODE_UNDEBUG).is_done);
    CHECK(rack_until(r, is_in, PLACE_FIRMWARE, HOUR));
    CHECK(serves(r, "local"));
    CHECK(rack_until(r, is_done, 0, HOUR));

    r->machines[0].permits++;
    r->machines[0].boots_allowed += 3;
    CHECK(rack_node_verb(r, 0, COMMAND_NODE_REDEPLOY).is_done);
    CHECK(rack_until(r, is_in, PLACE_FIRMWARE, HOUR));
    CHECK(serves(r, "sledgehammer"));
    CHECK(rack_until(r, is_done, 0, 4 * HOUR));
    CHECK(r->machines[0].boots_into[PLACE_SLEDGEHAMMER] == 3 && r->machines[0].installs == 2);
    end_well(r);

    const struct edit edits[] = {NO_BARRIER, {NULL, NULL, NULL}};
    struct copy copy = {0};
    copy_barclamp(&copy, "provisioner", edits);
    copy_barclamp(&copy, "dhcp", edits);
    r = rack_of(copy.path, 1);
    install_all(r);
    r->delay_ms[RACK_RUN_SLOW] = 2 * MINUTE;
    r->machines[0].boots_allowed += 2;
    CHECK(rack_node_verb(r, 0, COMMAND_NODE_DEBUG).is_done);
    CHECK(rack_until(r, is_in, PLACE_FIRMWARE, HOUR) && rack_until(r, is_in, PLACE_LOCAL, HOUR));
    rack_free(r);
    remove_copy(&copy);
}

/* ---- X14 ---- */

/* The power fails `after_ms` after the noderole became due, and is back a minute later. */
static void cut_before_the_run(const char *barclamps, int64_t after_ms, const char *how)
{
    struct rack *r = rack_of(barclamps, 1);
    r->delay_ms[RACK_RUN_SLOW] = 2 * MINUTE; /* the databases are done long before the wipe is */
    discover(r);
    want_installed(r);
    CHECK(rack_until(r, install_is, NODEROLE_TODO, HOUR));
    rack_pass(r, after_ms);
    const bool is_wiped = r->machines[0].wipes > 0;
    rack_power_cut(r, 0);
    rack_pass(r, 5 * MINUTE);
    rack_power_on(r, 0);
    rack_until(r, is_done, 0, 4 * HOUR);
    if (how) {
        CHECK(strstr(r->failure, how));
        rack_free(r);
        return;
    }
    CHECK(is_wiped || r->machines[0].boots_into[PLACE_SLEDGEHAMMER] >= 2);
    end_well(r);
}

TEST(x14_power_loss_before_the_run_never_boots_the_installer)
{
    static const int64_t instants[] = {0,           1,          40,           SECOND,
                                       20 * SECOND, 2 * MINUTE, 125 * SECOND, 3 * MINUTE};
    for (uint32_t i = 0; i < sizeof instants / sizeof *instants; i++)
        cut_before_the_run(shipped(), instants[i], NULL);
    /* As it once was: the boot environment changes before anything was wiped. */
    const struct edit edits[] = {
        {"roles/provisioner-os-install.lua",
         "    halligan.set_attrib('noderole', noderole, "
         "'provisioner-wipe',\n      wipe_list",
         "    halligan.set_bootenv(host.id, 'debian-12-install')\n"
         "    halligan.set_attrib('noderole', noderole, 'provisioner-wipe',\n      wipe_list"},
        {NULL, NULL, NULL}};
    struct copy copy = {0};
    copy_barclamp(&copy, "provisioner", edits);
    cut_before_the_run(copy.path, 100 * SECOND, "X14:");
    remove_copy(&copy);
}

/* Between the wipe and the reboot the installer may come by itself: then it was the run. */
TEST(a_machine_that_lost_power_while_it_waited_is_installed_all_the_same)
{
    struct rack *r = rack_of(shipped(), 1);
    discover(r);
    want_installed(r);
    r->delay_ms[RACK_HOOK_LATE] = 30 * SECOND; /* it is still parked when the installer is served */
    CHECK(rack_until(r, serves_installer, 0, HOUR));
    CHECK(is_parked(r, 0));
    rack_power_cut(r, 0);
    rack_pass(r, MINUTE);
    r->delay_ms[RACK_HOOK_LATE] = 0;
    rack_power_on(r, 0);
    CHECK(rack_until(r, is_in, PLACE_INSTALLER, HOUR));
    CHECK(rack_until(r, is_in, PLACE_LOCAL, HOUR));
    CHECK(rack_until(r, is_done, 0, HOUR));
    CHECK(r->machines[0].wipes == 1 && r->machines[0].installs == 1);
    end_well(r);
}

/* ---- X15, X16 ---- */

TEST(x15_no_free_disk_is_an_error_and_nothing_is_wiped)
{
    struct rack *r = rack_of(shipped(), 1);
    struct rack_machine *m = &r->machines[0];
    m->disk_count = 2;
    m->disks[0] = (struct rack_disk){.name = "stick", .path = "/dev/sda", .removable = true};
    m->disks[1] = (struct rack_disk){.name = "disk", .path = "/dev/sdb", .claimed = true};
    discover(r);
    want_installed(r);
    CHECK(rack_until(r, install_is, NODEROLE_ERROR, HOUR));
    rack_pass(r, 2 * HOUR);
    CHECK(install_is(r, NODEROLE_ERROR) && m->wipes == 0 && m->boots == 1);
    const struct str log = noderole(r, 0, INSTALL).runlog;
    CHECK(strstr(str_z(&r->scratch, log), "Nothing was wiped"));

    m->disks[1].claimed = false; /* it is given up */
    set_value(r, TABLE_NODE, node(r, 0).id, "claimed-disks", "{\"disk\":\"\"}");
    struct command retry = {.kind = COMMAND_NODEROLE_RETRY};
    retry.noderole_retry.id = noderole(r, 0, INSTALL).id;
    CHECK(rack_send(r, &retry).is_done);
    CHECK(rack_until(r, is_done, 0, 2 * HOUR));
    CHECK(m->disks[1].wipes == 1 && m->disks[0].wipes == 0);
    end_well(r);
}

/* The machine is deleted when both databases have published it and are about to say so. */
static struct rack *delete_while_published(const char *barclamps)
{
    struct rack *r = rack_of(barclamps, 2);
    discover(r);
    want_installed(r);
    CHECK(rack_until(r, boots, 0, HOUR));
    r->delay_ms[RACK_HOOK_LATE] = 30 * SECOND;
    CHECK(rack_until(r, serves_installer, 0, HOUR));
    CHECK(rack_node_verb(r, 0, COMMAND_NODE_DELETE).is_done);
    rack_power_cut(r, 0);
    r->delay_ms[RACK_HOOK_LATE] = 0;
    rack_pass(r, HOUR);
    return r;
}

TEST(x16_acknowledging_a_machine_that_is_gone)
{
    struct rack *r = delete_while_published(shipped());
    struct node_record gone;
    CHECK(!rack_node(r, 0, &gone));
    CHECK(noderole(r, RACK_MACHINES_MAX, DHCP).state == NODEROLE_ACTIVE);
    CHECK(noderole(r, RACK_MACHINES_MAX, PROVISIONER).state == NODEROLE_ACTIVE);
    CHECK(rack_served(r, r->dhcp, 0).len == 0 && rack_served(r, r->provisioner, 0).len == 0);
    CHECK(r->machines[1].place == PLACE_LOCAL); /* the other one never noticed */
    CHECK(!r->failure[0]);
    rack_free(r);

    static const char sure[] = "local node = name";
    static const char maybe[] =
        "local node = halligan.maybe(is_number(client.node_id) and client.node_id or name)";
    const struct edit edits[] = {{"roles/dhcp-database.lua", maybe, sure},
                                 {"roles/provisioner-database.lua", maybe, sure},
                                 {NULL, NULL, NULL}};
    struct copy copy = {0};
    copy_barclamp(&copy, "dhcp", edits);
    copy_barclamp(&copy, "provisioner", edits);
    r = delete_while_published(copy.path);
    CHECK(noderole(r, RACK_MACHINES_MAX, DHCP).state == NODEROLE_ERROR ||
          noderole(r, RACK_MACHINES_MAX, PROVISIONER).state == NODEROLE_ERROR);
    rack_free(r);
    remove_copy(&copy);
}

/* ---- whatever happens ---- */

/* Every death of the daemon on the way, one after the other. */
TEST(a_daemon_that_dies_again_and_again_installs_all_the_same)
{
    struct rack *r = rack_of(shipped(), 2);
    discover(r);
    want_installed(r);
    for (uint32_t i = 0; i < 200 && !rack_until(r, is_done, 0, 11 * SECOND); i++)
        rack_kill(r);
    CHECK(rack_until(r, is_done, 0, 4 * HOUR));
    CHECK(r->life > 10 && r->machines[0].wipes == 1);
    end_well(r);
}

TEST(the_same_seed_tells_the_same_story)
{
    struct rack_counts counts = {0};
    const struct rack_draw draw = rack_draw(3, shipped());
    log_setup(LOG_ERROR, LOG_TEXT);
    const struct rack_result first = rack_live(&draw, &counts);
    const struct rack_result second = rack_live(&draw, &counts);
    CHECK(!first.failed && !second.failed);
    CHECK(!strcmp(first.transcript, second.transcript));
    CHECK(counts.racks == 2 && counts.commands > 1000);
}
