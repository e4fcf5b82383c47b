/* Failures of hooks: commands that write too much, late results, endless chains of hooks, and
 * failures of hooks that have no run log. */
#include "tests/world/world.h"

#include <stdio.h>

static void put_command(struct buf *b, struct command command)
{
    command_encode(&command, b);
}

static struct str encode_command(struct world *w, struct command command)
{
    struct buf b = buf_in(&w->arena);
    put_command(&b, command);
    return buf_str(&b);
}

static struct command value_command(struct world *w, const char *noderole, const char *quoted)
{
    struct command command = CMD(ATTRIB_SET, attrib_set, .target = TABLE_NODEROLE,
                                 .id = the_noderole(w, noderole), .attrib_id = the_attrib(w, "all"),
                                 .bucket = BUCKET_SYSTEM, .value = world_json(w, quoted));
    return command;
}

static const char telling[] = "'hooks':['on_todo','on_proposed'],"
                              "'attribs':[{'name':'all','map':'db','schema':{'type':'any'}}]";

/* a@n1 is a TODO noderole whose on_todo has no result. */
static struct world *open_waiting(void)
{
    struct world *w = world_open();
    world_role(w, "a", telling);
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_deliver(w);
    world_commit(w, "a@n1");
    world_clear_effects(w);
    IS(w, "a@n1", "todo");
    return w;
}

/* ---- the size of hook commands ---- */

static const char *large_value(struct world *w, uint32_t size)
{
    struct buf b = buf_in(&w->arena);
    buf_put_z(&b, "{'large':'");
    for (uint32_t i = 0; i < size; i++)
        buf_put_c(&b, 'x');
    buf_put_z(&b, "'}");
    return str_z(&w->arena, buf_str(&b));
}

TEST(commands_that_write_too_much_are_refused_together)
{
    struct world *w = open_waiting();
    struct buf b = buf_in(&w->arena);
    put_command(&b, value_command(w, "a@n1", large_value(w, 900000)));
    for (int i = 0; i < 500; i++)
        put_command(&b, value_command(w, "a@n1", i % 2 ? "{'k':1}" : "{'k':2}"));
    world_answer(w, "on_todo a@n1", false, buf_str(&b));
    IS(w, "a@n1", "error");
    HAS(shown(w, read_noderole(w, "a@n1").runlog), "its commands write more than 8 MiB");
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").sysdata), "{}");
    world_close(w);
}

TEST(a_large_document_may_change_in_a_few_places)
{
    struct world *w = open_waiting();
    struct buf b = buf_in(&w->arena);
    put_command(&b, value_command(w, "a@n1", large_value(w, 500000)));
    for (int i = 0; i < 5; i++)
        put_command(&b, value_command(w, "a@n1", i % 2 ? "{'k':1}" : "{'k':2}"));
    world_answer(w, "on_todo a@n1", false, buf_str(&b));
    IS(w, "a@n1", "todo");
    EXPECT_STR(world_path(w, read_noderole(w, "a@n1").sysdata, "db/k"), "2");
    world_close(w);
}

TEST(many_commands_with_small_documents_are_executed)
{
    struct world *w = open_waiting();
    struct buf b = buf_in(&w->arena);
    for (int i = 0; i < 990; i++)
        put_command(&b, value_command(w, "a@n1", i % 2 ? "{'k':1}" : "{'k':2}"));
    world_answer(w, "on_todo a@n1", false, buf_str(&b));
    IS(w, "a@n1", "todo");
    EXPECT_STR(world_path(w, read_noderole(w, "a@n1").sysdata, "db/k"), "1");
    world_close(w);
}

/* ---- late results ---- */

TEST(on_proposed_that_fails_after_the_commit_reverts_the_commit)
{
    struct world *w = world_open();
    world_role(w, "a", telling);
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_commit(w, "a@n1");
    IS(w, "a@n1", "todo");
    world_anneal(w);
    IS(w, "a@n1", "todo");
    world_answer(w, "on_proposed a@n1", true, STR("not like this"));
    IS(w, "a@n1", "proposed");
    HAS(shown(w, read_noderole(w, "a@n1").status), "on_proposed: ");
    world_close(w);
}

/* ---- user data that a hook chooses ---- */

static const char choosing[] = "'hooks':['on_proposed'],'attribs':[{'name':'pick','map':'x/pick'},"
                               "{'name':'all','map':'db','schema':{'type':'any'}}]";

/* The answer of on_proposed sets user data. */
static void choose(struct world *w, const char *noderole, const char *quoted)
{
    char line[100];
    const struct command pick = CMD(
        ATTRIB_SET, attrib_set, .target = TABLE_NODEROLE, .id = the_noderole(w, noderole),
        .attrib_id = the_attrib(w, "pick"), .bucket = BUCKET_USER, .value = world_json(w, quoted));
    snprintf(line, sizeof line, "on_proposed %s", noderole);
    world_answer(w, line, false, encode_command(w, pick));
}

/* A client may not write the attrib: it has no schema and is not writable. */
TEST(a_hook_sets_user_data_of_a_proposed_noderole_and_of_no_other)
{
    struct world *w = world_open();
    world_role(w, "a", choosing);
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    const int64_t id = the_noderole(w, "a@n1");
    REFUSED(w, cmd_set(w, TABLE_NODEROLE, id, "pick", BUCKET_USER, "'mine'"), READ_ONLY,
            "attrib_id");
    choose(w, "a@n1", "'first'");
    EXPECT_STR(world_value(w, TABLE_NODEROLE, id, "pick", VIEW_USER), "'first'");
    /* The change calls the hook again; the noderole is committed before it answers. */
    world_commit(w, "a@n1");
    choose(w, "a@n1", "'second'");
    EXPECT_STR(world_value(w, TABLE_NODEROLE, id, "pick", VIEW_USER), "'first'");
    EXPECT_STR(world_staged(w, "a@n1", "x/pick"), "'first'");
    CHECK(core_count_unproposed(w->core, SYSTEM) == 0);
    world_close(w);
}

static uint32_t rows(const struct world *w)
{
    return core_count(w->core, TABLE_OUTBOX);
}

/* Two of three noderoles are PROPOSED. */
TEST(on_proposed_is_called_when_the_data_change_that_a_noderole_is_given)
{
    struct world *w = world_open();
    world_role(w, "a", choosing);
    world_role(w, "b", "'attribs':[{'name':'other','map':'o','schema':{'type':'any'}}]");
    for (uint32_t i = 1; i <= 3; i++) {
        char names[3][10];
        snprintf(names[0], sizeof names[0], "n%u", i);
        snprintf(names[1], sizeof names[1], "a@n%u", i);
        snprintf(names[2], sizeof names[2], "b@n%u", i);
        world_node(w, names[0], NULL);
        world_bind(w, names[1]);
        world_bind(w, names[2]);
    }
    world_deliver(w);
    world_commit(w, "a@n1");
    world_deliver(w);
    uint32_t before = rows(w);
    DONE(w, cmd_set(w, TABLE_DEPLOYMENT, SYSTEM, "all", BUCKET_USER, "1"));
    CHECK(rows(w) == before + 2);
    DONE(w, cmd_set(w, TABLE_DEPLOYMENT, SYSTEM, "all", BUCKET_USER, "1")); /* no change */
    CHECK(rows(w) == before + 2);
    DONE(w, cmd_set(w, TABLE_ROLE, the_role(w, "a"), "all", BUCKET_USER, "2"));
    CHECK(rows(w) == before + 4);
    DONE(w, CMD(ROLE_UPDATE, role_update, .id = the_role(w, "a"), .given = GIVEN_ROLE_TEMPLATE,
                .template = world_json(w, "{'db':3}")));
    CHECK(rows(w) == before + 6);
    struct command wall = cmd_set(w, TABLE_DEPLOYMENT, SYSTEM, "all", BUCKET_WALL, "4");
    wall.depth = 1;
    DONE(w, wall);
    CHECK(rows(w) == before + 8);
    DONE(w, CMD(DEPLOYMENT_ROLE_PROPOSE, deployment_role_propose,
                .id = the_deployment_role(w, "a", "system")));
    CHECK(rows(w) == before + 10);
    DONE(w, cmd_set(w, TABLE_DEPLOYMENT, SYSTEM, "other", BUCKET_USER, "1")); /* b has no hook */
    CHECK(rows(w) == before + 10);
    world_close(w);
}

static void import_with_hooks(struct world *w, const char *hooks)
{
    char doc[300];
    snprintf(doc, sizeof doc,
             "{'barclamp':{'name':'again','source_path':'x'},'roles':[{'name':'c','jig':'script',"
             "'hooks':[%s]}]}",
             hooks);
    DONE(w, CMD(IMPORT, import, .barclamp = world_json(w, doc)));
}

/* A new version of a barclamp brings an on_proposed: it is called for what is PROPOSED already. */
TEST(on_proposed_is_called_when_an_import_brings_it)
{
    struct world *w = world_open();
    world_role(w, "a", ""); /* imports the jig */
    import_with_hooks(w, "'on_todo'");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "c@n1");
    world_bind(w, "c@n2");
    world_commit(w, "c@n2");
    world_deliver(w);
    import_with_hooks(w, "'on_todo','on_proposed'");
    CHECK(rows(w) == 1 && world_waiting(w, "on_proposed c@n1"));
    import_with_hooks(w, "'on_proposed'"); /* it is not new */
    CHECK(rows(w) == 1);
    world_close(w);
}

/* ---- failures that change no state ---- */

TEST(a_failed_on_blocked_is_in_status_and_runlog)
{
    struct world *w = world_open();
    world_role(w, "p", "");
    world_role(w, "a", "'requires':['p'],'hooks':['on_blocked']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_commit_deployment(w, "system");
    IS(w, "a@n1", "blocked");
    world_answer(w, "on_blocked a@n1", true, STR("no such thing"));
    IS(w, "a@n1", "blocked");
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").status), "on_blocked failed");
    HAS(shown(w, read_noderole(w, "a@n1").runlog), "on_blocked: ");
    world_close(w);
}

TEST(the_status_of_a_failed_sysdata_is_cleared_by_its_success)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['sysdata']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_answer(w, "sysdata a@n1", true, STR("no address"));
    HAS(shown(w, read_noderole(w, "a@n1").status), "sysdata: ");
    DONE(w, cmd_commit(w, "a@n1"));
    DONE(w, cmd_propose(w, "a@n1"));
    world_deliver(w);
    CHECK(str_is_empty(read_noderole(w, "a@n1").status));
    world_close(w);
}

/* A node hook has no run log; the observers of the turn get the failure. */
TEST(a_refused_command_of_a_node_hook_is_in_the_outcome)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_node_change']");
    const int64_t node = world_node(w, "n1", NULL);
    world_deliver(w);
    DONE(w, CMD(NODE_UPDATE, node_update, .id = node,
                .given = GIVEN_NODE_AVAILABLE | GIVEN_DESCRIPTION, .available = true,
                .description = STR("seen")));
    const int64_t row = world_waiting(w, "on_node_change a n1");
    CHECK(row != 0);
    struct command done =
        CMD(OUTBOX_DONE, outbox_done, .outbox_id = row,
            .hook_commands = encode_command(w, CMD(NODEROLE_COMMIT, noderole_commit, .id = 999)));
    DONE(w, done);
    EXPECT_STR(world_path(w, w->out.doc, "role"), "'a'");
    EXPECT_STR(world_path(w, w->out.doc, "hook"), "'on_node_change'");
    EXPECT_STR(world_path(w, w->out.doc, "object"), "'node'");
    HAS(shown(w, w->out.doc), "there is no noderole with id 999");
    world_close(w);
}

/* ---- chains ---- */

TEST(a_hook_that_reruns_its_own_noderole_ends_in_error)
{
    struct world *w = world_open();
    world_role(w, "a", "'jig':'noop','hooks':['on_active']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_commit(w, "a@n1");
    world_anneal(w);
    int calls = 0;
    for (; calls < 100 && world_waiting(w, "on_active a@n1"); calls++) {
        world_answer(w, "on_active a@n1", false, encode_command(w, cmd_retry(w, "a@n1")));
        world_anneal(w);
    }
    CHECK(calls > 10 && calls < 20);
    IS(w, "a@n1", "error");
    HAS(shown(w, read_noderole(w, "a@n1").runlog), "hooks keep causing hooks");
    world_close(w);
}

TEST(an_operator_begins_a_new_chain)
{
    struct world *w = world_open();
    world_role(w, "a", "'jig':'noop','hooks':['on_active']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_commit(w, "a@n1");
    for (int i = 0; i < 40; i++) {
        world_anneal(w);
        world_answer(w, "on_active a@n1", false, STR(""));
        DONE(w, cmd_retry(w, "a@n1"));
    }
    IS(w, "a@n1", "todo");
    world_close(w);
}
