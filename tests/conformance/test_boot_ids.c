/* Goal: a report of a machine changes its node only if it is about the current boot (ADR 0049):
 * late reports of an earlier boot, reports of another boot generation, a repeated registration, and
 * alive reported from an environment that the node is not to boot ("Installation races" in
 * docs/spec/hooks.md). The API checks which machine sent a report; that is tested elsewhere.
 * Method: node commands to a core in memory, as the scripts of machines send them
 * (docs/spec/machines.md). */
#include "core/core.h"
#include "model/limits.h"
#include "tests/world/world.h"

#include <stdio.h>
#include <string.h>

/* The update that a machine sends about itself; boot_id may be NULL. */
static struct command cmd_report(struct world *w, const char *node, const char *boot_id, bool alive)
{
    struct command command = CMD(NODE_UPDATE, node_update, .id = the_node(w, node),
                                 .given = GIVEN_NODE_ALIVE, .alive = alive);
    if (boot_id) {
        command.node_update.given |= GIVEN_NODE_BOOT_ID;
        command.node_update.boot_id = str_from(boot_id);
    }
    return command;
}

static struct command with_bootenv(struct command command, const char *bootenv)
{
    command.node_update.given |= GIVEN_NODE_BOOTENV;
    command.node_update.bootenv = str_from(bootenv);
    return command;
}

static struct command in_environment(struct command command, const char *environment)
{
    command.node_update.given |= GIVEN_NODE_ENVIRONMENT;
    command.node_update.environment = str_from(environment);
    return command;
}

static struct command of_generation(struct command command, int64_t generation)
{
    command.node_update.given |= GIVEN_NODE_BOOT_GENERATION;
    command.node_update.boot_generation = generation;
    return command;
}

/* The command succeeds and changes nothing. */
static void check_ignored(struct world *w, struct command command)
{
    const struct digest128 before = core_digest_now(w->core);
    const uint32_t changed = core_changed(w->core);
    CHECK(DONE(w, command) == command.node_update.id);
    CHECK(digest_eq(before, core_digest_now(w->core)) && core_changed(w->core) == changed);
    CHECK(w->fx.count == 0);
}

static struct world *open_one(void)
{
    struct world *w = world_open();
    world_role(w, "app", "");
    world_node(w, "n1", NULL);
    return w;
}

/* ---- boot ids ---- */

TEST(c176_a_late_report_of_an_earlier_boot_changes_nothing)
{
    struct world *w = open_one();
    DONE(w, cmd_report(w, "n1", "boot-1", true));
    world_bind(w, "app@n1");
    DONE(w, cmd_report(w, "n1", "boot-2", true));
    world_bring(w, "app@n1", "active");
    check_ignored(w, cmd_report(w, "n1", "boot-1", false));
    CHECK(read_node(w, "n1").alive);
    IS(w, "app@n1", "active");
    DONE(w, cmd_report(w, "n1", "boot-2", false));
    CHECK(!read_node(w, "n1").alive);
    check_ignored(w, cmd_report(w, "n1", "boot-1", true));
    CHECK(!read_node(w, "n1").alive);
    world_close(w);
}

TEST(a_late_report_is_ignored_whole_even_if_it_is_invalid)
{
    struct world *w = open_one();
    DONE(w, cmd_report(w, "n1", "boot-1", true));
    DONE(w, cmd_report(w, "n1", "boot-2", true));
    struct command late = with_bootenv(cmd_report(w, "n1", "boot-1", false), "debian-install");
    late.node_update.given |= GIVEN_DESCRIPTION | GIVEN_NODE_DEPLOYMENT;
    late.node_update.description = STR("words");
    late.node_update.deployment_id = 4711;
    check_ignored(w, of_generation(late, 99));
    world_close(w);
}

TEST(a_report_without_boot_id_is_accepted)
{
    struct world *w = open_one();
    DONE(w, cmd_report(w, "n1", "boot-1", true));
    DONE(w, cmd_report(w, "n1", "boot-2", true));
    DONE(w, cmd_report(w, "n1", NULL, false));
    CHECK(!read_node(w, "n1").alive);
    CHECK(str_eq(read_node(w, "n1").boot_id, STR("boot-2")));
    world_close(w);
}

TEST(a_new_boot_id_alone_calls_no_hook)
{
    struct world *w = open_one();
    world_role(w, "curious", "'hooks':['on_node_change']");
    DONE(w, cmd_report(w, "n1", "boot-1", true));
    world_clear_effects(w);
    DONE(w, cmd_report(w, "n1", "boot-2", true));
    EXPECT_EFFECTS(w, "");
    CHECK(str_eq(read_node(w, "n1").boot_id, STR("boot-2")));
    DONE(w, cmd_report(w, "n1", "boot-3", false));
    EXPECT_EFFECTS(w, "on_node_change curious n1");
    world_close(w);
}

TEST(the_last_eight_boot_ids_are_stored_and_survive_a_restart)
{
    struct world *w = open_one();
    char id[20];
    for (int i = 1; i <= (int)OLD_BOOTS_MAX + 2; i++) {
        snprintf(id, sizeof id, "boot-%d", i);
        DONE(w, cmd_report(w, "n1", id, true));
        DONE(w, cmd_report(w, "n1", id, true)); /* the same id is the same boot */
    }
    world_reload(w);
    EXPECT_STR(shown(w, read_node(w, "n1").old_boots),
               "['boot-9','boot-8','boot-7','boot-6','boot-5','boot-4','boot-3','boot-2']");
    for (int i = 2; i <= (int)OLD_BOOTS_MAX + 1; i++) {
        snprintf(id, sizeof id, "boot-%d", i);
        check_ignored(w, cmd_report(w, "n1", id, false));
    }
    DONE(w, cmd_report(w, "n1", "boot-1", false)); /* the id is no longer stored */
    CHECK(!read_node(w, "n1").alive);
    world_close(w);
}

TEST(boot_ids_of_one_machine_do_not_affect_another)
{
    struct world *w = open_one();
    world_node(w, "n2", NULL);
    DONE(w, cmd_report(w, "n1", "boot-1", true));
    DONE(w, cmd_report(w, "n1", "boot-2", true));
    DONE(w, cmd_report(w, "n2", "boot-1", false));
    CHECK(!read_node(w, "n2").alive);
    world_close(w);
}

TEST(a_boot_id_is_short_and_printable)
{
    static const char *const wrong[] = {"", "two words", "b\x7f", "b\n", "\xc3\xa4"};
    struct world *w = open_one();
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        REFUSED(w, cmd_report(w, "n1", wrong[i], true), BAD_VALUE, "boot_id");
    char long_id[BOOT_ID_LEN_MAX + 2];
    memset(long_id, 'b', sizeof long_id);
    long_id[BOOT_ID_LEN_MAX + 1] = 0;
    REFUSED(w, cmd_report(w, "n1", long_id, true), BAD_VALUE, "boot_id");
    long_id[BOOT_ID_LEN_MAX] = 0;
    DONE(w, cmd_report(w, "n1", long_id, true));
    DONE(w, cmd_report(w, "n1", "6f9c7b1e-23d4-4d0c-9c33-1f3a8b0e77aa", true));
    world_close(w);
}

TEST(the_boot_ids_of_a_deleted_node_are_deleted)
{
    struct world *w = open_one();
    DONE(w, cmd_report(w, "n1", "boot-1", true));
    DONE(w, cmd_report(w, "n1", "boot-2", true));
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n1")));
    CHECK(core_check(w->core, &w->arena) == NULL);
    world_reload(w);
    world_node(w, "n1", NULL);
    DONE(w, cmd_report(w, "n1", "boot-1", false));
    CHECK(!read_node(w, "n1").alive);
    world_close(w);
}

/* ---- boot generations ---- */

TEST(local_is_accepted_with_the_current_boot_generation_only)
{
    struct world *w = open_one();
    DONE(w, with_bootenv(cmd_report(w, "n1", NULL, false), "debian-install"));
    const int64_t first = read_node(w, "n1").boot_generation;
    DONE(w, with_bootenv(cmd_report(w, "n1", NULL, false), "sledgehammer"));
    DONE(w, with_bootenv(cmd_report(w, "n1", NULL, false), "debian-install"));
    const int64_t now = read_node(w, "n1").boot_generation;
    CHECK(now == first + 2);
    const struct command done = with_bootenv(cmd_report(w, "n1", NULL, false), "local");
    const char *why = REFUSED(w, of_generation(done, first), STALE, "boot_generation");
    char sentence[80];
    snprintf(sentence, sizeof sentence, "is %d, not %d", (int)now, (int)first);
    HAS(why, sentence);
    REFUSED(w, of_generation(done, now + 1), STALE, "boot_generation");
    REFUSED(w, of_generation(done, 0), STALE, "boot_generation");
    CHECK(problem_status(PROBLEM_STALE) == 409);
    DONE(w, of_generation(done, now));
    CHECK(str_eq(read_node(w, "n1").bootenv, STR("local")));
    /* The reply was lost: the repeated report names the previous generation. */
    REFUSED(w, of_generation(done, now), STALE, "boot_generation");
    world_close(w);
}

/* ---- registration ---- */

static struct command cmd_register(struct world *w, const char *name, const char *macs)
{
    char hint[200];
    snprintf(hint, sizeof hint, "{'admin_macs':%s}", macs);
    return CMD(NODE_CREATE, node_create, .name = str_copy(&w->arena, str_from(name)),
               .hint = world_json(w, hint));
}

/* The registration returns the existing node and changes nothing. */
static void check_known_machine(struct world *w, struct command again, int64_t id)
{
    const struct digest128 before = core_digest_now(w->core);
    CHECK(DONE(w, again) == id);
    CHECK(digest_eq(before, core_digest_now(w->core)) && w->fx.count == 0);
}

TEST(a_machine_that_registers_again_gets_its_node)
{
    struct world *w = world_open();
    const int64_t id = DONE(w, cmd_register(w, "d52-54-00-00-00-0a.rack.local",
                                            "['52:54:00:00:00:0a','52:54:00:00:00:0b']"));
    const uint32_t count = core_count(w->core, TABLE_NODE);
    struct command again = cmd_register(w, "d52-54-00-00-00-0a.rack.local",
                                        "['52:54:00:00:00:0a','52:54:00:00:00:0b']");
    check_known_machine(w, again, id);
    again.node_create.alive = true; /* other fields of a repeated registration are check_ignored */
    again.node_create.bootenv = STR("local");
    check_known_machine(w, again, id);
    /* From its other network card, and in other notations of name and address. */
    check_known_machine(
        w, cmd_register(w, "d52-54-00-00-00-0a.rack.local", "['52:54:00:00:00:0b']"), id);
    check_known_machine(
        w, cmd_register(w, "D52-54-00-00-00-0A.rack.local", "['52-54-00-00-00-0B']"), id);
    check_known_machine(
        w, cmd_register(w, "d52-54-00-00-00-0a.rack.local", "['52:54:00:00:00:0A']"), id);
    CHECK(core_count(w->core, TABLE_NODE) == count);
    world_close(w);
}

TEST(another_machine_of_that_name_is_refused)
{
    static const char *const others[] = {"['52:54:00:00:00:0c']",
                                         "['52:54:00:00:00:0a','52:54:00:00:00:0c']",
                                         "[]",
                                         "[7]",
                                         "'52:54:00:00:00:0a'",
                                         "null",
                                         "['52:54:00:00:00:0']",
                                         "['5254:00:00:00:0a:']",
                                         "['']"};
    struct world *w = world_open();
    DONE(w, cmd_register(w, "n1.rack.local", "['52:54:00:00:00:0a']"));
    for (uint32_t i = 0; i < sizeof others / sizeof *others; i++)
        REFUSED(w, cmd_register(w, "n1.rack.local", others[i]), NAME_TAKEN, "name");
    REFUSED(w, CMD(NODE_CREATE, node_create, .name = STR("n1.rack.local")), NAME_TAKEN, "name");
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("n2.rack.local")));
    REFUSED(w, cmd_register(w, "n2.rack.local", "['52:54:00:00:00:0a']"), NAME_TAKEN, "name");
    world_close(w);
}

TEST(the_same_mac_with_another_name_is_refused)
{
    struct world *w = world_open();
    DONE(w, cmd_register(w, "n1.rack.local", "['52:54:00:00:00:0a']"));
    HAS(REFUSED(w, cmd_register(w, "n2.rack.local", "['52:54:00:00:00:0a']"), MAC_TAKEN, "hint"),
        "node n1.rack.local");
    world_close(w);
}

/* ---- boot environments ---- */

TEST(alive_is_refused_while_the_node_boots_an_installer)
{
    struct world *w = open_one();
    DONE(w, with_bootenv(cmd_report(w, "n1", NULL, false), "debian-11-install"));
    const char *why = REFUSED(w, cmd_report(w, "n1", NULL, true), WRONG_STATE, "alive");
    HAS(why, "debian-11-install");
    CHECK(problem_status(PROBLEM_WRONG_STATE) == 409);
    REFUSED(w, cmd_report(w, "n1", "boot-7", true), WRONG_STATE, "alive");
    REFUSED(w, in_environment(cmd_report(w, "n1", NULL, true), "debian-11-install"), WRONG_STATE,
            "alive");
    REFUSED(w, with_bootenv(cmd_report(w, "n1", NULL, true), "other-install"), WRONG_STATE,
            "alive");
    CHECK(!read_node(w, "n1").alive && read_node(w, "n1").boot_id.len == 0);
    DONE(w, cmd_report(w, "n1", NULL, false));
    /* The installed system joins: it reports alive and boots from its disk. */
    DONE(w, with_bootenv(cmd_report(w, "n1", NULL, true), "local"));
    CHECK(read_node(w, "n1").alive && str_eq(read_node(w, "n1").bootenv, STR("local")));
    world_close(w);
}

TEST(alive_is_refused_in_another_environment_than_the_node_boots)
{
    struct world *w = open_one();
    DONE(w, with_bootenv(cmd_report(w, "n1", NULL, false), "local"));
    REFUSED(w, in_environment(cmd_report(w, "n1", NULL, true), "sledgehammer"), WRONG_STATE,
            "environment");
    REFUSED(w, in_environment(cmd_report(w, "n1", NULL, true), ""), WRONG_STATE, "environment");
    DONE(w, in_environment(cmd_report(w, "n1", NULL, true), "local"));
    /* A boot environment in the same report is the one that is compared. */
    REFUSED(w,
            with_bootenv(in_environment(cmd_report(w, "n1", NULL, true), "local"), "sledgehammer"),
            WRONG_STATE, "environment");
    DONE(w, with_bootenv(in_environment(cmd_report(w, "n1", NULL, false), "elsewhere"),
                         "sledgehammer"));
    DONE(w, in_environment(cmd_report(w, "n1", NULL, true), "sledgehammer"));
    world_close(w);
}

/* A client that writes back a whole node repeats its value of alive. */
TEST(alive_of_an_alive_node_may_be_repeated)
{
    struct world *w = open_one();
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NODE_BOOTENV,
                .bootenv = STR("debian-install")));
    CHECK(read_node(w, "n1").alive);
    struct command page = with_bootenv(cmd_report(w, "n1", NULL, true), "debian-install");
    page.node_update.given |= GIVEN_DESCRIPTION;
    page.node_update.description = STR("words");
    DONE(w, page);
    CHECK(str_eq(read_node(w, "n1").description, STR("words")));
    world_close(w);
}
