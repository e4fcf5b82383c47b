/* Goal: what machines say about themselves counts only when it is about now (SEMANTICS 12.1): X12
 * late words of an earlier boot, X13 the matching boot generation, X17 a machine that registers
 * twice, X20 alive in another environment than it was told. Whose word it is, is the API's to see.
 * Method: commands as the machines' scripts send them (SEMANTICS 8.2, 8.6). */
#include "core/core.h"
#include "model/limits.h"
#include "tests/world/world.h"

#include <stdio.h>
#include <string.h>

static struct command word(struct world *w, const char *node, const char *boot_id, bool alive)
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

/* Done, and nothing came of it. */
static void ignored(struct world *w, struct command command)
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

/* ---- X12: each boot has an id ---- */

TEST(x12_a_late_word_of_an_earlier_boot_changes_nothing)
{
    struct world *w = open_one();
    DONE(w, word(w, "n1", "boot-1", true));
    world_bind(w, "app@n1");
    DONE(w, word(w, "n1", "boot-2", true));
    world_bring(w, "app@n1", "active");
    ignored(w, word(w, "n1", "boot-1", false));
    CHECK(read_node(w, "n1").alive);
    IS(w, "app@n1", "active");
    DONE(w, word(w, "n1", "boot-2", false));
    CHECK(!read_node(w, "n1").alive);
    ignored(w, word(w, "n1", "boot-1", true));
    CHECK(!read_node(w, "n1").alive);
    world_close(w);
}

TEST(x12_all_of_a_late_word_is_ignored_even_what_is_wrong_with_it)
{
    struct world *w = open_one();
    DONE(w, word(w, "n1", "boot-1", true));
    DONE(w, word(w, "n1", "boot-2", true));
    struct command late = with_bootenv(word(w, "n1", "boot-1", false), "debian-install");
    late.node_update.given |= GIVEN_DESCRIPTION | GIVEN_NODE_DEPLOYMENT;
    late.node_update.description = STR("words");
    late.node_update.deployment_id = 4711;
    ignored(w, of_generation(late, 99));
    world_close(w);
}

TEST(x12_a_machine_without_boot_ids_is_believed)
{
    struct world *w = open_one();
    DONE(w, word(w, "n1", "boot-1", true));
    DONE(w, word(w, "n1", "boot-2", true));
    DONE(w, word(w, "n1", NULL, false));
    CHECK(!read_node(w, "n1").alive);
    CHECK(str_eq(read_node(w, "n1").boot_id, STR("boot-2")));
    world_close(w);
}

TEST(x12_a_boot_by_itself_is_nothing_that_roles_have_to_know)
{
    struct world *w = open_one();
    world_role(w, "curious", "'hooks':['on_node_change']");
    DONE(w, word(w, "n1", "boot-1", true));
    world_forget(w);
    DONE(w, word(w, "n1", "boot-2", true));
    HEARD(w, "");
    CHECK(str_eq(read_node(w, "n1").boot_id, STR("boot-2")));
    DONE(w, word(w, "n1", "boot-3", false));
    HEARD(w, "on_node_change curious n1");
    world_close(w);
}

TEST(x12_the_last_eight_are_known_to_be_over_and_survive_a_restart)
{
    struct world *w = open_one();
    char id[20];
    for (int i = 1; i <= (int)OLD_BOOTS_MAX + 2; i++) {
        snprintf(id, sizeof id, "boot-%d", i);
        DONE(w, word(w, "n1", id, true));
        DONE(w, word(w, "n1", id, true)); /* once more is the same boot */
    }
    world_reload(w);
    SAYS(shown(w, read_node(w, "n1").old_boots),
         "['boot-9','boot-8','boot-7','boot-6','boot-5','boot-4','boot-3','boot-2']");
    for (int i = 2; i <= (int)OLD_BOOTS_MAX + 1; i++) {
        snprintf(id, sizeof id, "boot-%d", i);
        ignored(w, word(w, "n1", id, false));
    }
    DONE(w, word(w, "n1", "boot-1", false)); /* nobody remembers it */
    CHECK(!read_node(w, "n1").alive);
    world_close(w);
}

TEST(x12_boots_of_one_machine_are_nothing_to_another)
{
    struct world *w = open_one();
    world_node(w, "n2", NULL);
    DONE(w, word(w, "n1", "boot-1", true));
    DONE(w, word(w, "n1", "boot-2", true));
    DONE(w, word(w, "n2", "boot-1", false));
    CHECK(!read_node(w, "n2").alive);
    world_close(w);
}

TEST(x12_a_boot_id_is_short_and_printable)
{
    static const char *const wrong[] = {"", "two words", "b\x7f", "b\n", "\xc3\xa4"};
    struct world *w = open_one();
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        REFUSED(w, word(w, "n1", wrong[i], true), BAD_VALUE, "boot_id");
    char long_id[BOOT_ID_LEN_MAX + 2];
    memset(long_id, 'b', sizeof long_id);
    long_id[BOOT_ID_LEN_MAX + 1] = 0;
    REFUSED(w, word(w, "n1", long_id, true), BAD_VALUE, "boot_id");
    long_id[BOOT_ID_LEN_MAX] = 0;
    DONE(w, word(w, "n1", long_id, true));
    DONE(w, word(w, "n1", "6f9c7b1e-23d4-4d0c-9c33-1f3a8b0e77aa", true));
    world_close(w);
}

TEST(x12_a_node_that_goes_takes_its_boots_along)
{
    struct world *w = open_one();
    DONE(w, word(w, "n1", "boot-1", true));
    DONE(w, word(w, "n1", "boot-2", true));
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n1")));
    CHECK(core_check(w->core, &w->arena) == NULL);
    world_reload(w);
    world_node(w, "n1", NULL);
    DONE(w, word(w, "n1", "boot-1", false));
    CHECK(!read_node(w, "n1").alive);
    world_close(w);
}

/* ---- X13: the generation it was told to boot ---- */

TEST(x13_local_is_taken_from_the_matching_install_only)
{
    struct world *w = open_one();
    DONE(w, with_bootenv(word(w, "n1", NULL, false), "debian-install"));
    const int64_t first = read_node(w, "n1").boot_generation;
    DONE(w, with_bootenv(word(w, "n1", NULL, false), "sledgehammer"));
    DONE(w, with_bootenv(word(w, "n1", NULL, false), "debian-install"));
    const int64_t now = read_node(w, "n1").boot_generation;
    CHECK(now == first + 2);
    const struct command done = with_bootenv(word(w, "n1", NULL, false), "local");
    const char *why = REFUSED(w, of_generation(done, first), STALE, "boot_generation");
    char sentence[80];
    snprintf(sentence, sizeof sentence, "is %d, not %d", (int)now, (int)first);
    HAS(why, sentence);
    REFUSED(w, of_generation(done, now + 1), STALE, "boot_generation");
    REFUSED(w, of_generation(done, 0), STALE, "boot_generation");
    CHECK(problem_status(PROBLEM_STALE) == 409);
    DONE(w, of_generation(done, now));
    CHECK(str_eq(read_node(w, "n1").bootenv, STR("local")));
    /* Its reply got lost: the same word again is of a generation that is over. */
    REFUSED(w, of_generation(done, now), STALE, "boot_generation");
    world_close(w);
}

/* ---- X17: registration ---- */

static struct command registers(struct world *w, const char *name, const char *macs)
{
    char hint[200];
    snprintf(hint, sizeof hint, "{'admin_macs':%s}", macs);
    return CMD(NODE_CREATE, node_create, .name = str_copy(&w->arena, str_from(name)),
               .hint = world_json(w, hint));
}

static void welcome(struct world *w, struct command again, int64_t id)
{
    const struct digest128 before = core_digest_now(w->core);
    CHECK(DONE(w, again) == id);
    CHECK(digest_eq(before, core_digest_now(w->core)) && w->fx.count == 0);
}

TEST(x17_a_machine_that_registers_again_is_welcome)
{
    struct world *w = world_open();
    const int64_t id = DONE(w, registers(w, "d52-54-00-00-00-0a.rack.local",
                                         "['52:54:00:00:00:0a','52:54:00:00:00:0b']"));
    const uint32_t count = core_count(w->core, TABLE_NODE);
    struct command again =
        registers(w, "d52-54-00-00-00-0a.rack.local", "['52:54:00:00:00:0a','52:54:00:00:00:0b']");
    welcome(w, again, id);
    again.node_create.alive = true; /* whatever else it says: it is there, and that is all */
    again.node_create.bootenv = STR("local");
    welcome(w, again, id);
    /* From its other card; in other spellings. */
    welcome(w, registers(w, "d52-54-00-00-00-0a.rack.local", "['52:54:00:00:00:0b']"), id);
    welcome(w, registers(w, "D52-54-00-00-00-0A.rack.local", "['52-54-00-00-00-0B']"), id);
    welcome(w, registers(w, "d52-54-00-00-00-0a.rack.local", "['52:54:00:00:00:0A']"), id);
    CHECK(core_count(w->core, TABLE_NODE) == count);
    world_close(w);
}

TEST(x17_another_machine_of_that_name_is_not)
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
    DONE(w, registers(w, "n1.rack.local", "['52:54:00:00:00:0a']"));
    for (uint32_t i = 0; i < sizeof others / sizeof *others; i++)
        REFUSED(w, registers(w, "n1.rack.local", others[i]), NAME_TAKEN, "name");
    REFUSED(w, CMD(NODE_CREATE, node_create, .name = STR("n1.rack.local")), NAME_TAKEN, "name");
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("n2.rack.local")));
    REFUSED(w, registers(w, "n2.rack.local", "['52:54:00:00:00:0a']"), NAME_TAKEN, "name");
    world_close(w);
}

TEST(x17_only_the_name_makes_it_the_same_machine)
{
    struct world *w = world_open();
    const int64_t one = DONE(w, registers(w, "n1.rack.local", "['52:54:00:00:00:0a']"));
    CHECK(DONE(w, registers(w, "n2.rack.local", "['52:54:00:00:00:0a']")) != one);
    world_close(w);
}

/* ---- X20: alive where it is expected ---- */

TEST(x20_a_node_is_not_alive_while_it_is_installed)
{
    struct world *w = open_one();
    DONE(w, with_bootenv(word(w, "n1", NULL, false), "debian-11-install"));
    const char *why = REFUSED(w, word(w, "n1", NULL, true), WRONG_STATE, "alive");
    HAS(why, "debian-11-install");
    CHECK(problem_status(PROBLEM_WRONG_STATE) == 409);
    REFUSED(w, word(w, "n1", "boot-7", true), WRONG_STATE, "alive");
    REFUSED(w, in_environment(word(w, "n1", NULL, true), "debian-11-install"), WRONG_STATE,
            "alive");
    REFUSED(w, with_bootenv(word(w, "n1", NULL, true), "other-install"), WRONG_STATE, "alive");
    CHECK(!read_node(w, "n1").alive && read_node(w, "n1").boot_id.len == 0);
    DONE(w, word(w, "n1", NULL, false));
    /* SEMANTICS 8.6, step 7: the installed system joins. */
    DONE(w, with_bootenv(word(w, "n1", NULL, true), "local"));
    CHECK(read_node(w, "n1").alive && str_eq(read_node(w, "n1").bootenv, STR("local")));
    world_close(w);
}

TEST(x20_a_node_is_alive_in_the_environment_it_was_told_only)
{
    struct world *w = open_one();
    DONE(w, with_bootenv(word(w, "n1", NULL, false), "local"));
    REFUSED(w, in_environment(word(w, "n1", NULL, true), "sledgehammer"), WRONG_STATE,
            "environment");
    REFUSED(w, in_environment(word(w, "n1", NULL, true), ""), WRONG_STATE, "environment");
    DONE(w, in_environment(word(w, "n1", NULL, true), "local"));
    /* What it will be told with the same word counts. */
    REFUSED(w, with_bootenv(in_environment(word(w, "n1", NULL, true), "local"), "sledgehammer"),
            WRONG_STATE, "environment");
    DONE(w, with_bootenv(in_environment(word(w, "n1", NULL, false), "elsewhere"), "sledgehammer"));
    DONE(w, in_environment(word(w, "n1", NULL, true), "sledgehammer"));
    world_close(w);
}

/* A page that writes a whole node back says nothing new about it. */
TEST(x20_that_a_live_node_lives_may_be_said_again)
{
    struct world *w = open_one();
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NODE_BOOTENV,
                .bootenv = STR("debian-install")));
    CHECK(read_node(w, "n1").alive);
    struct command page = with_bootenv(word(w, "n1", NULL, true), "debian-install");
    page.node_update.given |= GIVEN_DESCRIPTION;
    page.node_update.description = STR("words");
    DONE(w, page);
    CHECK(str_eq(read_node(w, "n1").description, STR("words")));
    world_close(w);
}
