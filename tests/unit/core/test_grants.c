#include <stdio.h>

#include "core/core_private.h"
#include "tests/unit/core/grant_world.h"

/* Goal: an installer is started at most once for each run that asked for it, and only while that
 * run is wanted (docs/spec/machines.md, "Grants"; ADR 0089).
 * Method: a role whose run is parked sets the environment, as provisioner-os-install does; machines
 * ask with tickets; then everything that ends a grant happens. */

enum { SECOND = 1000, INSTALL_MS = 3600 * SECOND };

/* ---- fixture ---- */

static int64_t generation(struct world *w)
{
    return read_node(w, "n1").boot_generation;
}

static void expect_void(struct world *w, enum grant_void reason)
{
    const struct grant grant = grant_of(w, "n1");
    CHECK(grant.state == GRANT_VOID && grant.void_reason == reason && !grant.ticket.len);
    ANSWER(w, generation(w), TICKET_A, "local");
    ANSWER(w, generation(w), TICKET_B, "local");
    CHECK(grant_of(w, "n1").state == GRANT_VOID);
}

/* The monotonic clock of the fixture. */
static int64_t mono_ms(const struct world *w)
{
    return w->now_ms - 1600000000000;
}

/* Every step takes some time, so a tick is stepped at a time, not after a duration. */
static void tick_at(struct world *w, int64_t mono)
{
    const int64_t before = w->now_ms;
    DONE(w, CMD(TICK, tick, .unused = 0));
    const int64_t step_ms = w->now_ms - before;
    w->now_ms = mono + 1600000000000 - step_ms;
    DONE(w, CMD(TICK, tick, .unused = 0));
    CHECK(mono_ms(w) == mono);
}

static struct command cmd_report(struct world *w, int64_t boot_generation)
{
    return CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"),
               .given = GIVEN_NODE_BOOTENV | GIVEN_NODE_BOOT_GENERATION, .bootenv = STR("local"),
               .boot_generation = boot_generation);
}

/* ---- use ---- */

TEST(c177_a_second_boot_in_one_generation_boots_the_disk)
{
    struct world *w = install_world();
    const struct grant unused = grant_of(w, "n1");
    CHECK(unused.state == GRANT_UNUSED && unused.generation == 1 && !unused.used_at);
    CHECK(unused.noderole_id == the_noderole(w, "os@n1"));
    ANSWER(w, 1, TICKET_A, "granted");
    const struct grant used = grant_of(w, "n1");
    CHECK(used.state == GRANT_USED && used.used_at > 0 && str_eq(used.ticket, STR(TICKET_A)));
    ANSWER(w, 1, TICKET_B, "local");
    CHECK(str_eq(grant_of(w, "n1").ticket, STR(TICKET_A)));
    world_close(w);
}

TEST(the_same_ticket_is_granted_again_and_nothing_is_written)
{
    struct world *w = install_world();
    ANSWER(w, 1, TICKET_A, "granted");
    world_collect(w);
    const struct digest128 before = core_digest_now(w->core);
    w->now_ms += SECOND;
    ANSWER(w, 1, TICKET_A, "granted");
    ANSWER(w, 1, TICKET_B, "local");
    CHECK(core_changed(w->core) == 0 && digest_eq(before, core_digest_now(w->core)));
    world_reload(w);
    ANSWER(w, 1, TICKET_A, "granted");
    ANSWER(w, 1, TICKET_B, "local");
    world_close(w);
}

TEST(another_generation_is_stale_and_uses_nothing)
{
    struct world *w = install_world();
    ANSWER(w, 0, TICKET_A, "stale");
    ANSWER(w, 2, TICKET_A, "stale");
    CHECK(grant_of(w, "n1").state == GRANT_UNUSED);
    ANSWER(w, 1, TICKET_B, "granted");
    world_close(w);
}

TEST(a_wrong_question_is_refused_with_its_field)
{
    struct world *w = install_world();
    REFUSED(w, cmd_use(w, -1, TICKET_A), BAD_VALUE, "generation");
    REFUSED(w, cmd_use(w, 1, ""), BAD_VALUE, "ticket");
    REFUSED(w, cmd_use(w, 1, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
            BAD_VALUE, "ticket");
    REFUSED(w, cmd_use(w, 1, TICKET_A "0"), BAD_VALUE, "ticket");
    struct command unknown = cmd_use(w, 1, TICKET_A);
    unknown.grant_use.node_id = 4711;
    REFUSED(w, unknown, NOT_FOUND, "node_id");
    CHECK(grant_of(w, "n1").state == GRANT_UNUSED);
    world_close(w);
}

/* ---- where a grant comes from ---- */

static struct command cmd_bootenv(struct world *w, const char *bootenv)
{
    return CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NODE_BOOTENV,
               .bootenv = str_from(bootenv));
}

TEST(an_environment_that_no_waiting_run_has_set_has_no_grant)
{
    struct world *w = world_open();
    node_with_macs(w, "n1", "'" N1_MAC "'");
    ANSWER(w, 0, TICKET_A, "local"); /* it boots no installer */
    DONE(w, cmd_bootenv(w, "debian-install"));
    CHECK(grant_of(w, "n1").state == GRANT_NONE);
    ANSWER(w, 1, TICKET_A, "local");
    CHECK(grant_of(w, "n1").state == GRANT_NONE);
    world_close(w);
}

TEST(a_run_of_another_node_gives_no_grant)
{
    struct world *w = install_world();
    struct command command = cmd_install(w, world_run(w, "os@n1", RUN_PARKED));
    command.node_update.id = the_node(w, "n2");
    DONE(w, command);
    struct grant grant;
    CHECK(core_grant(w->core, the_node(w, "n2"), &grant) && grant.state == GRANT_NONE);
    world_close(w);
}

TEST(an_environment_that_the_run_sets_again_keeps_its_grant)
{
    struct world *w = install_world();
    DONE(w, cmd_install(w, world_run(w, "os@n1", RUN_PARKED)));
    CHECK(generation(w) == 1 && grant_of(w, "n1").state == GRANT_UNUSED);
    world_close(w);
}

TEST(a_run_that_finds_its_environment_without_a_grant_opens_a_generation)
{
    struct world *w = world_open();
    world_role(w, "os", "'flags':['destructive']");
    node_with_macs(w, "n1", "'" N1_MAC "'");
    world_bind(w, "os@n1");
    const int64_t run = park_install(w);
    DONE(w, cmd_bootenv(w, "debian-install"));
    CHECK(grant_of(w, "n1").state == GRANT_NONE);
    DONE(w, cmd_install(w, run));
    CHECK(generation(w) == 2 && grant_of(w, "n1").state == GRANT_UNUSED);
    ANSWER(w, 1, TICKET_A, "stale");
    ANSWER(w, 2, TICKET_A, "granted");
    world_close(w);
}

/* ---- what ends a grant ---- */

TEST(a_grant_is_void_when_its_noderole_is_proposed_or_fails)
{
    static const enum grant_void reasons[] = {GRANT_VOID_PROPOSED, GRANT_VOID_ERROR};
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t used = 0; used < 2; used++) {
            struct world *w = install_world();
            if (used)
                ANSWER(w, 1, TICKET_A, "granted");
            DONE(w, i ? CMD(RUN_CANCEL, run_cancel, .run_id = world_run(w, "os@n1", RUN_PARKED))
                      : cmd_propose(w, "os@n1"));
            expect_void(w, reasons[i]);
            /* A commit or retry alone does not make it valid again; the next run does. */
            DONE(w, i ? cmd_retry(w, "os@n1") : cmd_commit(w, "os@n1"));
            expect_void(w, reasons[i]);
            world_anneal(w);
            world_finish_with(w, "os@n1",
                              (struct run_done_command){.result = RESULT_PARKED, .park_ms = 5000});
            DONE(w, cmd_install(w, world_run(w, "os@n1", RUN_PARKED)));
            CHECK(generation(w) == 2);
            ANSWER(w, 1, TICKET_A, "stale");
            ANSWER(w, 2, TICKET_B, "granted");
            world_close(w);
        }
}

TEST(a_grant_is_void_when_its_noderole_is_deleted)
{
    struct world *w = install_world();
    ANSWER(w, 1, TICKET_A, "granted");
    DONE(w, cmd_propose(w, "os@n1"));
    DONE(w, CMD(NODE_REDEPLOY, node_redeploy, .id = the_node(w, "n1")));
    DONE(w, cmd_install(w, park_install(w)));
    CHECK(grant_of(w, "n1").state == GRANT_UNUSED);
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "os@n1")));
    const struct grant grant = grant_of(w, "n1");
    CHECK(grant.state == GRANT_VOID);
    ANSWER(w, generation(w), TICKET_B, "local");
    world_close(w);
}

TEST(a_grant_survives_the_death_of_its_machine)
{
    struct world *w = install_world();
    world_alive(w, "n1", false);
    IS(w, "os@n1", "todo");
    ANSWER(w, 1, TICKET_A, "granted");
    world_close(w);
}

TEST(the_end_of_the_installation_ends_the_grant)
{
    struct world *w = install_world();
    ANSWER(w, 1, TICKET_A, "granted");
    DONE(w, cmd_report(w, 1));
    CHECK(generation(w) == 2 && grant_of(w, "n1").state == GRANT_NONE);
    ANSWER(w, 1, TICKET_A, "stale");
    ANSWER(w, 2, TICKET_A, "local");
    CHECK(core_next_deadline(w->core) < w->now_ms + INSTALL_MS - 1600000000000 ||
          core_next_deadline(w->core) < 0);
    world_close(w);
}

TEST(a_repeated_report_of_the_installer_changes_nothing)
{
    struct world *w = install_world();
    ANSWER(w, 1, TICKET_A, "granted");
    DONE(w, cmd_report(w, 1));
    REFUSED(w, cmd_report(w, 1), STALE, "boot_generation");
    DONE(w, CMD(NODE_REDEPLOY, node_redeploy, .id = the_node(w, "n1")));
    REFUSED(w, cmd_report(w, 1), STALE, "boot_generation");
    DONE(w, cmd_install(w, park_install(w)));
    REFUSED(w, cmd_report(w, 1), STALE, "boot_generation");
    CHECK(grant_of(w, "n1").state == GRANT_UNUSED);
    world_close(w);
}

TEST(a_report_after_the_grant_became_void_is_accepted_once)
{
    struct world *w = install_world();
    ANSWER(w, 1, TICKET_A, "granted");
    DONE(w, cmd_propose(w, "os@n1"));
    DONE(w, cmd_report(w, 1));
    CHECK(grant_of(w, "n1").state == GRANT_NONE);
    REFUSED(w, cmd_report(w, 1), STALE, "boot_generation");
    world_close(w);
}

TEST(another_installer_without_a_run_replaces_the_grant)
{
    struct world *w = install_world();
    ANSWER(w, 1, TICKET_A, "granted");
    DONE(w, cmd_bootenv(w, "ubuntu-install"));
    expect_void(w, GRANT_VOID_REPLACED);
    ANSWER(w, 1, TICKET_A, "stale");
    DONE(w, cmd_bootenv(w, "sledgehammer"));
    CHECK(grant_of(w, "n1").state == GRANT_NONE);
    world_close(w);
}

TEST(a_deleted_node_has_no_grant)
{
    struct world *w = install_world();
    ANSWER(w, 1, TICKET_A, "granted");
    struct command question = cmd_use(w, 1, TICKET_A);
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n1")));
    REFUSED(w, question, NOT_FOUND, "node_id");
    world_close(w);
}

/* ---- restore and import ---- */

TEST(a_restored_store_grants_nothing_before_a_new_commit)
{
    static const enum grant_void how[] = {GRANT_VOID_RESTORED, GRANT_VOID_IMPORTED};
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t used = 0; used < 2; used++) {
            struct world *w = install_world();
            const int64_t run = world_run(w, "os@n1", RUN_PARKED);
            if (used)
                ANSWER(w, 1, TICKET_A, "granted");
            world_restore(w, how[i]);
            expect_void(w, how[i]);
            /* The run that was parked before asks again: it fails and names the remedy. */
            CHECK(world_run(w, "os@n1", RUN_PARKED) == run);
            DONE(w, cmd_install(w, run));
            IS(w, "os@n1", "error");
            expect_void(w, how[i]);
            const struct noderole_record failed = read_noderole(w, "os@n1");
            CHECK(failed.reason == REASON_COMMIT_OUTDATED);
            CHECK(str_eq(failed.reason_subject, str_from(grant_void_name(how[i]))));
            /* A retry is no commit: the run, which wipes, does not start. */
            DONE(w, cmd_retry(w, "os@n1"));
            world_anneal(w);
            CHECK(!world_run(w, "os@n1", RUN_RUNNING));
            IS(w, "os@n1", "error");
            CHECK(read_noderole(w, "os@n1").reason == REASON_COMMIT_OUTDATED);
            CHECK(read_noderole(w, "os@n1").attempt == failed.attempt && generation(w) == 1);
            /* A commit is. */
            DONE(w, cmd_propose(w, "os@n1"));
            DONE(w, cmd_commit(w, "os@n1"));
            world_anneal(w);
            world_finish_with(w, "os@n1",
                              (struct run_done_command){.result = RESULT_PARKED, .park_ms = 5000});
            DONE(w, cmd_install(w, world_run(w, "os@n1", RUN_PARKED)));
            ANSWER(w, 2, TICKET_B, "granted");
            world_close(w);
        }
}

TEST(a_noderole_that_is_proposed_at_the_restore_is_not_barred)
{
    struct world *w = world_open();
    world_role(w, "os", "'flags':['destructive']");
    node_with_macs(w, "n1", "'" N1_MAC "'");
    world_bind(w, "os@n1");
    world_restore(w, GRANT_VOID_RESTORED);
    CHECK(!read_noderole(w, "os@n1").grant_barred);
    DONE(w, cmd_install(w, park_install(w)));
    ANSWER(w, 1, TICKET_A, "granted");
    world_close(w);
}

/* The run that wipes is RUNNING in the backup: a runner that does not know it would start it. */
TEST(a_destructive_run_of_a_restored_store_is_stopped)
{
    struct world *w = world_open();
    struct effects fx = {0};
    world_role(w, "os", "'flags':['destructive']");
    world_role(w, "other", "");
    node_with_macs(w, "n1", "'" N1_MAC "'");
    world_node(w, "n2", NULL);
    world_bind(w, "os@n1");
    world_bind(w, "other@n2");
    world_commit_deployment(w, "system");
    world_anneal(w);
    const int64_t run = world_run(w, "os@n1", RUN_RUNNING);
    world_restore(w, GRANT_VOID_RESTORED);
    core_resume(w->core, &w->arena, &fx);
    CHECK(fx.first->kind == EFFECT_RUN_CANCEL && fx.first->id == run);
    CHECK(fx.first->next->kind == EFFECT_RUN_QUERY); /* of the other run */
    DONE(w, CMD(RUN_STOPPED, run_stopped, .run_id = run, .attempt = 1));
    IS(w, "os@n1", "error");
    CHECK(read_noderole(w, "os@n1").reason == REASON_COMMIT_OUTDATED);
    CHECK(core_count(w->core, TABLE_RUN) == 1);
    /* Another run is not stopped by such a message. */
    DONE(w, CMD(RUN_STOPPED, run_stopped, .run_id = world_run(w, "other@n2", RUN_RUNNING),
                .attempt = 1));
    IS(w, "other@n2", "transition");
    world_close(w);
}

TEST(a_parked_destructive_run_of_a_restored_store_is_not_resumed)
{
    struct world *w = install_world();
    const int64_t run = world_run(w, "os@n1", RUN_PARKED);
    world_restore(w, GRANT_VOID_RESTORED);
    DONE(w, CMD(RUN_RESUME, run_resume, .run_id = run));
    world_anneal(w);
    CHECK(!world_run(w, "os@n1", RUN_RUNNING));
    IS(w, "os@n1", "error");
    CHECK(read_noderole(w, "os@n1").reason == REASON_COMMIT_OUTDATED);
    world_close(w);
}

/* ---- a silent installer ---- */

TEST(an_installer_that_does_not_report_in_time_is_silent)
{
    struct world *w = install_world();
    world_alive(w, "n1", false);
    ANSWER(w, 1, TICKET_A, "granted");
    const int64_t end = mono_ms(w) + INSTALL_MS;
    CHECK(core_next_deadline(w->core) == end);
    tick_at(w, end - 1);
    CHECK(grant_of(w, "n1").state == GRANT_USED && !read_node(w, "n1").status.len);
    tick_at(w, end);
    expect_void(w, GRANT_VOID_SILENT);
    const struct node_record node = read_node(w, "n1");
    CHECK(node.reason == REASON_INSTALLER_SILENT);
    CHECK(str_eq(node.reason_subject, STR("debian-install")));
    EXPECT_STR(str_z(&w->arena, node.status),
               "the installer debian-install of boot generation 1 was started and has not reported "
               "within 3600 s");
    const struct cause *cause =
        core_why(w->core, TABLE_NODEROLE, the_noderole(w, "os@n1"), &w->arena);
    CHECK(cause->code == CAUSE_NOT_ALIVE && cause->next->code == CAUSE_INSTALL_STOPPED);
    CHECK(cause->next->since == node.grant_at);
    HAS(str_z(&w->arena, cause->next->text), "is silent since it was started");
    CHECK(cause->next->next->reason == REASON_INSTALLER_SILENT);

    /* It reports late: the installation has ended all the same. */
    DONE(w, cmd_report(w, 1));
    CHECK(grant_of(w, "n1").state == GRANT_NONE && !read_node(w, "n1").status.len);
    world_close(w);
}

TEST(a_redeploy_after_a_silent_installer_leads_to_a_new_grant)
{
    struct world *w = install_world();
    world_alive(w, "n1", false);
    ANSWER(w, 1, TICKET_A, "granted");
    tick_at(w, mono_ms(w) + INSTALL_MS);
    DONE(w, CMD(NODE_REDEPLOY, node_redeploy, .id = the_node(w, "n1")));
    CHECK(grant_of(w, "n1").state == GRANT_NONE && generation(w) == 2);
    CHECK(!read_node(w, "n1").status.len);
    world_alive(w, "n1", true);
    world_deliver(w);
    world_anneal(w);
    world_finish_with(w, "os@n1",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = 5000});
    DONE(w, cmd_install(w, world_run(w, "os@n1", RUN_PARKED)));
    ANSWER(w, 3, TICKET_B, "granted");
    world_close(w);
}

TEST(the_time_of_an_installer_starts_anew_after_a_load_and_with_each_question)
{
    struct world *w = install_world();
    world_alive(w, "n1", false);
    ANSWER(w, 1, TICKET_A, "granted");
    tick_at(w, core_next_deadline(w->core) - 1);
    world_reload(w);
    CHECK(core_next_deadline(w->core) == mono_ms(w) + INSTALL_MS);
    tick_at(w, core_next_deadline(w->core) - 1);
    ANSWER(w, 1, TICKET_A, "granted");
    const int64_t end = mono_ms(w) + INSTALL_MS;
    CHECK(core_next_deadline(w->core) == end);
    tick_at(w, end - 1);
    ANSWER(w, 1, TICKET_B, "local"); /* not a question of the machine that installs */
    CHECK(core_next_deadline(w->core) == end);
    tick_at(w, end);
    CHECK(grant_of(w, "n1").void_reason == GRANT_VOID_SILENT && core_next_deadline(w->core) < 0);
    world_close(w);
}

static struct command cmd_install_wait(uint32_t seconds)
{
    return CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_INSTALL_WAIT,
               .install_wait_s = seconds);
}

TEST(the_setting_bounds_installers_that_run_already)
{
    struct world *w = install_world();
    DONE(w, cmd_install_wait(0));
    ANSWER(w, 1, TICKET_A, "granted");
    tick_at(w, mono_ms(w) + 10 * INSTALL_MS);
    CHECK(grant_of(w, "n1").state == GRANT_USED);
    DONE(w, cmd_install_wait(60));
    tick_at(w, mono_ms(w) + 60 * SECOND);
    CHECK(grant_of(w, "n1").void_reason == GRANT_VOID_SILENT);
    REFUSED(w, cmd_install_wait(RUN_TIME_S_MAX + 1), BAD_VALUE, "install_wait_s");
    world_close(w);
}

TEST(many_silent_installers_are_handled_in_several_ticks)
{
    enum { MACHINES = 300 };
    struct world *w = world_open();
    world_role(w, "os", "'flags':['destructive']");
    DONE(w, CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_POOL_NORMAL,
                .pool_normal = 1000));
    char names[MACHINES][16], roles[MACHINES][24], macs[MACHINES][24];
    for (uint32_t i = 0; i < MACHINES; i++) {
        snprintf(names[i], sizeof names[i], "m%u", i);
        snprintf(roles[i], sizeof roles[i], "os@m%u", i);
        snprintf(macs[i], sizeof macs[i], "'52:54:00:00:%02x:%02x'", i >> 8, i & 255);
        node_with_macs(w, names[i], macs[i]);
        world_bind(w, roles[i]);
        world_commit(w, roles[i]);
    }
    world_deliver(w);
    world_anneal(w);
    for (uint32_t i = 0; i < MACHINES; i++) {
        world_finish_with(w, roles[i],
                          (struct run_done_command){.result = RESULT_PARKED, .park_ms = 5000000});
        DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, names[i]),
                    .given = GIVEN_NODE_BOOTENV | GIVEN_NODE_PARKED_RUN,
                    .bootenv = STR("debian-install"),
                    .parked_run = world_run(w, roles[i], RUN_PARKED)));
        world_alive(w, names[i], false);
        EXPECT_STR(answer_of(w, CMD(GRANT_USE, grant_use, .node_id = the_node(w, names[i]),
                                    .generation = 1, .ticket = STR(TICKET_A),
                                    .mac = str_slice(str_from(macs[i]), 1, 18))),
                   "granted");
    }
    /* A tick handles a part of them, and the next one is due at once. */
    w->now_ms += INSTALL_MS;
    DONE(w, CMD(TICK, tick, .unused = 0));
    const int64_t next = core_next_deadline(w->core);
    CHECK(next >= 0 && next <= mono_ms(w));
    DONE(w, CMD(TICK, tick, .unused = 0));
    CHECK(core_next_deadline(w->core) < 0);
    uint32_t silent = 0;
    for (uint32_t i = 0; i < MACHINES; i++)
        silent += read_node(w, names[i]).grant_void == GRANT_VOID_SILENT;
    CHECK(silent == MACHINES);
    world_close(w);
}

/* ---- stamps ---- */

static struct command cmd_stamp(struct world *w, int64_t stamp)
{
    return CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"),
               .given = GIVEN_NODE_STAMP | GIVEN_NODE_BOOT_GENERATION,
               .boot_generation = generation(w), .stamp_generation = stamp);
}

TEST(a_redeploy_opens_a_generation_above_the_stamp)
{
    struct world *w = install_world();
    world_alive(w, "n1", false);
    ANSWER(w, 1, TICKET_A, "granted");
    DONE(w, cmd_stamp(w, 9));
    const struct node_record node = read_node(w, "n1");
    CHECK(node.stamp_generation == 9 && node.reason == REASON_DISK_STAMPED);
    EXPECT_STR(str_z(&w->arena, node.status),
               "the installer stopped: the disk has the stamp of boot generation 9 of this "
               "installation, and ours is 1");
    const struct cause *cause = core_why(w->core, TABLE_NODE, the_node(w, "n1"), &w->arena);
    CHECK(cause->code == CAUSE_NOT_ALIVE && cause->next->code == CAUSE_INSTALL_STOPPED);
    HAS(str_z(&w->arena, cause->next->text), "the stamp of boot generation 9");
    DONE(w, CMD(NODE_REDEPLOY, node_redeploy, .id = the_node(w, "n1")));
    CHECK(generation(w) == 10 && read_node(w, "n1").stamp_generation == 0);
    CHECK(!read_node(w, "n1").status.len);
    world_close(w);
}

TEST(a_redeploy_passes_the_stamp_also_if_the_environment_stays)
{
    struct world *w = install_world();
    DONE(w, cmd_bootenv(w, "sledgehammer"));
    DONE(w, cmd_stamp(w, 2));
    DONE(w, CMD(NODE_REDEPLOY, node_redeploy, .id = the_node(w, "n1")));
    CHECK(generation(w) == 3 && str_eq(read_node(w, "n1").bootenv, STR("sledgehammer")));
    DONE(w, CMD(NODE_REDEPLOY, node_redeploy, .id = the_node(w, "n1")));
    CHECK(generation(w) == 3);
    world_close(w);
}

TEST(only_a_stamp_that_stops_the_installer_is_kept)
{
    struct world *w = install_world();
    DONE(w, cmd_bootenv(w, "sledgehammer"));
    DONE(w, cmd_bootenv(w, "debian-install")); /* generation 3 */
    DONE(w, cmd_stamp(w, 2));
    CHECK(read_node(w, "n1").stamp_generation == 0 && !read_node(w, "n1").status.len);
    DONE(w, cmd_stamp(w, 5));
    DONE(w, cmd_stamp(w, 4));
    CHECK(read_node(w, "n1").stamp_generation == 5);
    REFUSED(w, cmd_stamp(w, 0), BAD_VALUE, "stamp_generation");
    REFUSED(w, cmd_stamp(w, -3), BAD_VALUE, "stamp_generation");
    REFUSED(w, cmd_stamp(w, (INT64_C(1) << 53) + 1), BAD_VALUE, "stamp_generation");
    DONE(w, cmd_stamp(w, INT64_C(1) << 53));
    DONE(w, CMD(NODE_REDEPLOY, node_redeploy, .id = the_node(w, "n1")));
    CHECK(generation(w) == (INT64_C(1) << 53) + 1);
    world_close(w);
}

/* ---- why ---- */

static const char *root_text(struct world *w, enum cause_code code)
{
    const struct cause *cause = core_why(w->core, TABLE_NODE, the_node(w, "n1"), &w->arena);
    while (cause->next)
        cause = cause->next;
    CHECK(cause->code == code);
    return str_z(&w->arena, cause->text);
}

TEST(why_names_a_void_grant_and_its_reason)
{
    struct world *w = install_world();
    DONE(w, cmd_propose(w, "os@n1"));
    DONE(w, cmd_commit(w, "os@n1"));
    world_alive(w, "n1", false);
    EXPECT_STR(root_text(w, CAUSE_NO_GRANT),
               "node `n1.example.com` may not start the installer debian-install of boot "
               "generation 1: `os` on `n1.example.com` was proposed; redeploy the node");
    DONE(w, cmd_propose(w, "os@n1"));
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "os@n1")));
    world_close(w);
}

TEST(why_names_an_installer_without_a_grant)
{
    struct world *w = world_open();
    node_with_macs(w, "n1", "'" N1_MAC "'");
    world_alive(w, "n1", false);
    DONE(w, cmd_bootenv(w, "debian-install"));
    EXPECT_STR(root_text(w, CAUSE_NO_GRANT),
               "node `n1.example.com` may not start the installer debian-install: the environment "
               "was not set by a run that waits for it");
    world_close(w);
}

TEST(why_is_quiet_while_the_installer_may_run)
{
    struct world *w = install_world();
    world_alive(w, "n1", false);
    root_text(w, CAUSE_NOT_ALIVE);
    ANSWER(w, 1, TICKET_A, "granted");
    root_text(w, CAUSE_NOT_ALIVE);
    world_close(w);
}
