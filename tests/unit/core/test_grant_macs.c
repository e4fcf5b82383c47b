/* Goal: a machine gets the installer of a node only if the MAC that it booted from belongs to that
 * node (docs/spec/machines.md, "Installation grants"; ADR 0089).
 * Method: questions with the MAC of the node, of another node, and of none, while MACs are moved
 * and deleted; then a store is replaced by one in which the ids of two nodes are exchanged. */
#include <stdio.h>
#include <string.h>

#include "model/limits.h"
#include "tests/unit/core/grant_world.h"

TEST(only_a_machine_of_the_node_gets_its_installer)
{
    static const char *const others[] = {N2_MAC, UNKNOWN_MAC};
    struct world *w = install_world();
    for (uint32_t i = 0; i < 2; i++) {
        world_collect(w);
        const struct digest128 before = core_digest_now(w->core);
        ANSWER_FROM(w, others[i], 1, TICKET_A, "stale");
        CHECK(core_changed(w->core) == 0 && digest_eq(before, core_digest_now(w->core)));
        CHECK(grant_of(w, "n1").state == GRANT_UNUSED);
    }
    ANSWER_FROM(w, N1_MAC, 1, TICKET_B, "granted");
    /* Also with the ticket that has used the grant. */
    for (uint32_t i = 0; i < 2; i++)
        ANSWER_FROM(w, others[i], 1, TICKET_B, "stale");
    CHECK(str_eq(grant_of(w, "n1").ticket, STR(TICKET_B)));
    world_close(w);
}

/* The answer "local" would make the other machine boot its disk, and the time of the installer that
 * starts again would hide that it is silent. */
TEST(another_machine_does_not_read_the_grant_or_start_its_time_again)
{
    struct world *w = install_world();
    world_alive(w, "n1", false);
    ANSWER_FROM(w, N1_MAC, 1, TICKET_A, "granted");
    const int64_t deadline = core_next_deadline(w->core);
    CHECK(deadline > 0);
    w->now_ms += 5000;
    ANSWER_FROM(w, N2_MAC, 1, TICKET_A, "stale");
    ANSWER_FROM(w, UNKNOWN_MAC, 1, TICKET_A, "stale");
    CHECK(core_next_deadline(w->core) == deadline);
    ANSWER_FROM(w, N1_MAC, 1, TICKET_A, "granted");
    CHECK(core_next_deadline(w->core) > deadline);
    DONE(w, cmd_propose(w, "os@n1"));
    ANSWER_FROM(w, N2_MAC, 1, TICKET_A, "stale");
    ANSWER_FROM(w, N1_MAC, 1, TICKET_A, "local");
    world_close(w);
}

/* Firmware may boot from another interface of the machine at the next attempt. */
TEST(every_mac_of_the_node_is_one_of_its_machine)
{
    struct world *w = install_world();
    ANSWER_FROM(w, N1_OTHER_MAC, 1, TICKET_A, "granted");
    ANSWER_FROM(w, N1_MAC, 1, TICKET_A, "granted");
    ANSWER_FROM(w, N1_MAC, 1, TICKET_B, "local");
    ANSWER_FROM(w, "52-54-00-00-01-01", 1, TICKET_A, "granted");
    world_reload(w);
    ANSWER_FROM(w, N1_OTHER_MAC, 1, TICKET_A, "granted");
    ANSWER_FROM(w, N2_MAC, 1, TICKET_A, "stale");
    world_close(w);
}

TEST(letters_and_separators_of_a_mac_do_not_matter)
{
    struct world *w = install_world();
    world_node_attrib(w, "hint-macs", "'map':'admin_macs','writable':true");
    DONE(w, cmd_set(w, TABLE_NODE, the_node(w, "n1"), "hint-macs", BUCKET_USER,
                    "['52:54:00:AB:cd:ef']"));
    ANSWER_FROM(w, "52:54:00:ab:cd:ee", 1, TICKET_A, "stale");
    ANSWER_FROM(w, "52-54-00-AB-CD-EF", 1, TICKET_A, "granted");
    ANSWER_FROM(w, "52:54:00:ab:CD:ef", 1, TICKET_A, "granted");
    world_close(w);
}

/* ---- MACs that change ---- */

static struct command cmd_move(struct world *w, const char *node, const char *mac)
{
    return CMD(NIC_MOVE, nic_move, .node_id = the_node(w, node), .mac = str_from(mac));
}

TEST(a_mac_that_moves_is_of_its_new_node)
{
    struct world *w = install_world();
    DONE(w, cmd_move(w, "n2", N1_MAC));
    ANSWER_FROM(w, N1_MAC, 1, TICKET_A, "stale");
    ANSWER_FROM(w, N1_OTHER_MAC, 1, TICKET_A, "granted");
    DONE(w, cmd_move(w, "n1", N1_MAC));
    ANSWER_FROM(w, N1_MAC, 1, TICKET_A, "granted");
    DONE(w, cmd_move(w, "n1", N2_MAC));
    ANSWER_FROM(w, N2_MAC, 1, TICKET_B, "local");
    ANSWER_FROM(w, N2_MAC, 1, TICKET_A, "granted");
    DONE(w, cmd_move(w, "n2", N2_MAC));
    world_reload(w);
    ANSWER_FROM(w, N2_MAC, 1, TICKET_A, "stale");
    world_close(w);
}

TEST(a_mac_that_is_deleted_is_of_no_machine)
{
    struct world *w = install_world();
    world_node_attrib(w, "hint-macs", "'map':'admin_macs','writable':true");
    DONE(w, cmd_set(w, TABLE_NODE, the_node(w, "n1"), "hint-macs", BUCKET_USER,
                    "['" N1_OTHER_MAC "']"));
    ANSWER_FROM(w, N1_MAC, 1, TICKET_A, "stale");
    ANSWER_FROM(w, N1_OTHER_MAC, 1, TICKET_A, "granted");
    DONE(w, cmd_set(w, TABLE_NODE, the_node(w, "n1"), "hint-macs", BUCKET_USER, "[]"));
    CHECK(core_count(w->core, TABLE_NIC) == 1);
    ANSWER_FROM(w, N1_OTHER_MAC, 1, TICKET_A, "stale");
    CHECK(grant_of(w, "n1").state == GRANT_USED);
    /* A report of the machine with this interface makes it its own again. */
    world_node_attrib(w, "interfaces", "'map':'ohai/network/interfaces','writable':true");
    DONE(w, cmd_set(w, TABLE_NODE, the_node(w, "n1"), "interfaces", BUCKET_DISCOVERY,
                    "{'eth0':{'permanent_address':'" N1_OTHER_MAC "'}}"));
    ANSWER_FROM(w, N1_OTHER_MAC, 1, TICKET_A, "granted");
    world_close(w);
}

TEST(the_mac_of_a_deleted_node_is_of_no_machine)
{
    struct world *w = install_world();
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n2")));
    ANSWER_FROM(w, N2_MAC, 1, TICKET_A, "stale");
    node_with_macs(w, "n3", "'" N2_MAC "'");
    ANSWER_FROM(w, N2_MAC, 1, TICKET_A, "stale");
    ANSWER_FROM(w, N1_MAC, 1, TICKET_A, "granted");
    world_close(w);
}

TEST(a_node_without_a_mac_gets_no_installer)
{
    struct world *w = world_open();
    world_role(w, "os", "'flags':['destructive']");
    world_node(w, "n1", NULL);
    world_bind(w, "os@n1");
    DONE(w, cmd_install(w, park_install(w)));
    ANSWER_FROM(w, N1_MAC, 1, TICKET_A, "stale");
    CHECK(grant_of(w, "n1").state == GRANT_UNUSED);
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("n2.example.com"), .mac = STR(N1_MAC)));
    DONE(w, cmd_move(w, "n1", N1_MAC));
    ANSWER_FROM(w, N1_MAC, 1, TICKET_A, "granted");
    world_close(w);
}

/* ---- restore ---- */

/* Two machines registered in this order, and the first one is being installed. In the other order
 * ids and generations are the same, and those of the other machine. */
static struct world *world_registered(const char *first, const char *second)
{
    struct world *w = world_open();
    world_role(w, "os", "'flags':['destructive']");
    node_with_macs(w, "n1", first);
    node_with_macs(w, "n2", second);
    world_bind(w, "os@n1");
    DONE(w, cmd_install(w, park_install(w)));
    return w;
}

TEST(ids_that_are_exchanged_by_a_restore_grant_no_other_machine_the_installer)
{
    struct world *before = world_registered("'" N1_MAC "'", "'" N2_MAC "'");
    struct world *after = world_registered("'" N2_MAC "'", "'" N1_MAC "'");
    /* The boot server has the view of the store before: it asks for the machine of N1_MAC. */
    const struct command question = cmd_use_from(before, N1_MAC, 1, TICKET_A);
    CHECK(question.grant_use.node_id == the_node(after, "n1"));
    EXPECT_STR(answer_of(after, question), "stale");
    CHECK(grant_of(after, "n1").state == GRANT_UNUSED);
    EXPECT_STR(answer_of(before, question), "granted");
    /* The right machine of that node gets it, with its own ticket or the same. */
    ANSWER_FROM(after, N2_MAC, 1, TICKET_A, "granted");
    EXPECT_STR(answer_of(after, question), "stale");
    world_close(before);
    world_close(after);
}

/* The restored store has its own grants void and committed again: the generation grows, and a late
 * question of the generation before is stale for two reasons. */
TEST(a_restored_store_answers_the_machine_of_its_own_node_only)
{
    struct world *w = world_registered("'" N1_MAC "'", "'" N2_MAC "'");
    world_restore(w, GRANT_VOID_RESTORED);
    ANSWER_FROM(w, N1_MAC, 1, TICKET_A, "local");
    ANSWER_FROM(w, N2_MAC, 1, TICKET_A, "stale");
    DONE(w, cmd_propose(w, "os@n1"));
    DONE(w, cmd_commit(w, "os@n1"));
    world_alive(w, "n1", true);
    world_deliver(w);
    world_anneal(w);
    world_finish_with(w, "os@n1",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = 5000});
    DONE(w, cmd_install(w, world_run(w, "os@n1", RUN_PARKED)));
    ANSWER_FROM(w, N2_MAC, 2, TICKET_A, "stale");
    ANSWER_FROM(w, N1_MAC, 1, TICKET_A, "stale");
    ANSWER_FROM(w, N1_MAC, 2, TICKET_A, "granted");
    world_close(w);
}

/* ---- wrong MACs ---- */

TEST(a_mac_that_is_missing_or_malformed_is_refused)
{
    static const char *const wrong[] = {
        "",
        "5",
        "52:54:00:00:00:0",   /* 16 characters */
        "52:54:00:00:00:001", /* 18 */
        "52:54:00:00:00:01 ",
        " 52:54:00:00:00:01",
        "52:54:00:00:00",
        "52:54:00:00:00:01:02",
        "52:54:00:00:00-01",
        "52:54:00:00:00:0g",
        "52:54:00:00:00.01",
        "525400000001",
        "00:00:00:00:00:00",
        "ff:ff:ff:ff:ff:ff",
        "01:00:5e:00:00:01",
        "10.0.0.1",
    };
    struct world *w = install_world();
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        HAS(REFUSED(w, cmd_use_from(w, wrong[i], 1, TICKET_A), BAD_VALUE, "mac"), "mac must be");
    char *text = arena_alloc(&w->arena, TEXT_MAX + 1);
    memset(text, '5', TEXT_MAX + 1);
    struct command longest = cmd_use(w, 1, TICKET_A);
    longest.grant_use.mac = (struct str){text, TEXT_MAX};
    REFUSED(w, longest, BAD_VALUE, "mac");
    longest.grant_use.mac = (struct str){text, TEXT_MAX + 1};
    REFUSED(w, longest, BAD_TEXT, "mac");
    REFUSED(w, cmd_use_from(w, "52:54:00:00:00:\xff\x01", 1, TICKET_A), BAD_TEXT, "mac");
    /* In a wrong generation, and where there is no grant, too. */
    REFUSED(w, cmd_use_from(w, "", 7, TICKET_A), BAD_VALUE, "mac");
    struct command other = cmd_use_from(w, "", 0, TICKET_A);
    other.grant_use.node_id = the_node(w, "n2");
    REFUSED(w, other, BAD_VALUE, "mac");
    CHECK(grant_of(w, "n1").state == GRANT_UNUSED);
    ANSWER(w, 1, TICKET_A, "granted"); /* 17 characters */
    world_close(w);
}
