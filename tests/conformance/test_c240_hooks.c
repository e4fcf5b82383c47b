/* Goal: cases 240 to 250 and 252 of docs/spec/cases.md: hooks and their commands
 * (docs/spec/hooks.md, ADR 0007, ADR 0013), imports (docs/spec/barclamp-format.md), clusters that
 * grow (ADR 0012).
 * Method: commands to a core in memory; the test returns the results of hooks itself. */
#include "tests/world/world.h"

static uint32_t role_count(struct world *w)
{
    return core_count(w->core, TABLE_ROLE);
}

static struct command cmd_add_role(struct world *w, const char *role, const char *deployment)
{
    return CMD(DEPLOYMENT_ROLE_CREATE, deployment_role_create,
               .deployment_id = the_deployment(w, deployment), .role_id = the_role(w, role));
}

static struct command cmd_drop_role(struct world *w, const char *role, const char *deployment)
{
    return CMD(DEPLOYMENT_ROLE_DELETE, deployment_role_delete,
               .id = the_deployment_role(w, role, deployment));
}

static void describe_node(struct world *w, const char *node, const char *text)
{
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, node), .given = GIVEN_DESCRIPTION,
                .description = str_from(text)));
}

/* ---- deployment roles ---- */

TEST(c240_on_deployment_create_is_called_once_per_role_and_deployment)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_deployment_create']");
    world_deployment(w, "d");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_node(w, "n3", "d");
    world_bind(w, "a@n1");
    EXPECT_EFFECTS(w, "ask on_deployment_create a");
    world_bind(w, "a@n2");
    EXPECT_EFFECTS(w, "");
    DONE(w, cmd_add_role(w, "a", "d"));
    EXPECT_EFFECTS(w, "ask on_deployment_create a");
    world_bind_in(w, "a@n3", "d");
    EXPECT_EFFECTS(w, "");
    world_close(w);
}

TEST(c240_a_veto_of_on_deployment_create_refuses_the_bind)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_deployment_create']");
    world_node(w, "n1", NULL);
    w->veto = "on_deployment_create";
    REFUSED(w, cmd_bind(w, "a@n1", NULL), HOOK_VETO, NULL);
    REFUSED(w, cmd_add_role(w, "a", "system"), HOOK_VETO, NULL);
    CHECK(core_count(w->core, TABLE_DEPLOYMENT_ROLE) == 0);
    world_close(w);
}

TEST(c240_a_deployment_role_in_use_stays_and_its_hook_is_not_called)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_deployment_delete']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_clear_effects(w);
    REFUSED(w, cmd_drop_role(w, "a", "system"), IN_USE, NULL);
    EXPECT_EFFECTS(w, "");
    world_close(w);
}

TEST(c240_an_unused_deployment_role_is_deleted_after_its_hook)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_deployment_delete']");
    world_deployment(w, "d");
    DONE(w, cmd_add_role(w, "a", "d"));
    DONE(w, cmd_drop_role(w, "a", "d"));
    CHECK(core_deployment_role(w->core, the_deployment(w, "d"), the_role(w, "a")) == 0);
    EXPECT_EFFECTS(w, "on_deployment_delete a gone");
    world_close(w);
}

/* ---- nodes ---- */

/* z is in cohort 0, a and b in cohort 1; the jig of mute is inactive. */
static struct world *open_with_node_hooks(void)
{
    struct world *w = world_open();
    static const char hooks[] = "'hooks':['on_node_create','on_node_change','on_node_delete']";
    struct buf b = buf_in(&w->arena);
    buf_put_z(&b, "'requires':['z'],");
    buf_put_z(&b, hooks);
    const char *below = str_z(&w->arena, buf_str(&b));
    world_role(w, "b", below);
    world_role(w, "a", below);
    world_role(w, "z", hooks);
    DONE(w, CMD(JIG_CREATE, jig_create, .name = STR("off"), .class_name = STR("script")));
    world_role(w, "mute", "'jig':'off','hooks':['on_node_create','on_node_delete']");
    world_role(w, "deaf", "");
    return w;
}

TEST(c241_on_node_create_is_called_by_ascending_cohort)
{
    struct world *w = open_with_node_hooks();
    DONE(w, cmd_node(w, "n1"));
    EXPECT_EFFECTS(w, "on_node_create z n1; on_node_create a n1; on_node_create b n1");
    world_close(w);
}

TEST(c241_on_node_delete_is_called_by_descending_cohort_even_after_a_failure)
{
    struct world *w = open_with_node_hooks();
    DONE(w, cmd_node(w, "n1"));
    world_deliver(w);
    world_clear_effects(w);
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n1")));
    EXPECT_EFFECTS(w, "on_node_delete a gone; on_node_delete b gone; on_node_delete z gone");
    world_answer(w, "on_node_delete a gone", true, STR(""));
    CHECK(world_waiting(w, "on_node_delete a gone") == 0);
    CHECK(world_waiting(w, "on_node_delete b gone") != 0);
    CHECK(world_waiting(w, "on_node_delete z gone") != 0);
    world_deliver(w);
    world_close(w);
}

TEST(c242_on_node_change_is_not_called_while_the_node_is_not_available)
{
    struct world *w = open_with_node_hooks();
    DONE(w, cmd_node(w, "n1"));
    world_clear_effects(w);
    describe_node(w, "n1", "one");
    EXPECT_EFFECTS(w, "");
    world_available(w, "n1", true);
    EXPECT_EFFECTS(w, "on_node_change z n1; on_node_change a n1; on_node_change b n1");
    describe_node(w, "n1", "two");
    EXPECT_EFFECTS(w, "on_node_change z n1; on_node_change a n1; on_node_change b n1");
    describe_node(w, "n1", "two");
    EXPECT_EFFECTS(w, "");
    world_close(w);
}

TEST(c242_on_node_change_follows_a_bind)
{
    struct world *w = open_with_node_hooks();
    world_node(w, "n1", NULL);
    world_clear_effects(w);
    world_bind(w, "deaf@n1");
    EXPECT_EFFECTS(w, "on_node_change z n1; on_node_change a n1; on_node_change b n1");
    DONE(w, cmd_node(w, "n2"));
    world_clear_effects(w);
    world_bind(w, "deaf@n2");
    EXPECT_EFFECTS(w, "");
    world_close(w);
}

TEST(c242_an_updated_node_without_group_joins_not_set)
{
    struct world *w = world_open();
    world_node(w, "n1", NULL);
    describe_node(w, "n1", "one");
    world_collect(w);
    uint32_t memberships = 0;
    for (size_t i = 0; i < w->kept_count; i++)
        if (w->kept[i].table == TABLE_MEMBERSHIP &&
            w->kept[i].membership.node_id == the_node(w, "n1"))
            memberships++;
    CHECK(memberships == 1);
    world_close(w);
}

/* ---- vetoes and hooks that are not called ---- */

TEST(c243_a_veto_of_the_commit_leaves_everything_proposed)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_commit']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    DONE(w, CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(w, "a@n1"),
                .data = world_json(w, "{'x':1}")));
    w->veto = "on_commit";

    HAS(REFUSED(w, cmd_commit(w, "a@n1"), HOOK_VETO, NULL), "I say no");
    REFUSED(w, CMD(DEPLOYMENT_COMMIT, deployment_commit, .id = SYSTEM), HOOK_VETO, NULL);
    REFUSED(w, CMD(NODE_COMMIT, node_commit, .id = the_node(w, "n1")), HOOK_VETO, NULL);

    IS(w, "a@n1", "proposed");
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").committed_data), "{}");
    w->veto = NULL;
    world_clear_effects(w);
    world_commit(w, "a@n1");
    EXPECT_EFFECTS(w, "ask on_commit a");
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").committed_data), "{'x':1}");
    world_close(w);
}

TEST(c243_on_commit_is_called_for_the_data_of_a_deployment_role_too)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_commit']");
    const int64_t dr = DONE(w, cmd_add_role(w, "a", "system"));
    DONE(w, CMD(DEPLOYMENT_ROLE_DATA, deployment_role_data, .id = dr,
                .data = world_json(w, "{'x':1}")));
    w->veto = "on_commit";
    REFUSED(w, CMD(DEPLOYMENT_ROLE_COMMIT, deployment_role_commit, .id = dr), HOOK_VETO, NULL);
    CHECK(read_deployment_role(w, "a", "system").proposed);
    w->veto = NULL;
    world_clear_effects(w);
    DONE(w, CMD(DEPLOYMENT_ROLE_COMMIT, deployment_role_commit, .id = dr));
    EXPECT_EFFECTS(w, "ask on_commit a");
    DONE(w, CMD(DEPLOYMENT_ROLE_COMMIT, deployment_role_commit, .id = dr));
    EXPECT_EFFECTS(w, "");
    world_close(w);
}

static const char all_state_hooks[] =
    "'hooks':['on_proposed','on_blocked','on_todo','on_transition','on_active','on_error']";

TEST(c244_a_noderole_held_back_by_a_target_has_no_state_hooks)
{
    struct world *w = world_open();
    world_role(w, "stage", "'jig':'noop','flags':['milestone']");
    world_role(w, "a", all_state_hooks);
    world_node(w, "n1", NULL);
    world_bind(w, "stage@n1");
    world_bind(w, "a@n1");
    world_deliver(w);
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NODE_TARGET,
                .target_role_id = the_role(w, "stage")));
    CHECK(read_noderole(w, "a@n1").unavailable);
    world_clear_effects(w);
    DONE(w, CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(w, "a@n1"),
                .data = world_json(w, "{'x':1}")));
    EXPECT_EFFECTS(w, "on_proposed a@n1");
    world_deliver(w);
    world_commit(w, "a@n1");
    IS(w, "a@n1", "todo");
    EXPECT_EFFECTS(w, "");
    world_close(w);
}

TEST(c244_in_a_proposed_deployment_only_on_proposed_fires)
{
    struct world *w = world_open();
    world_role(w, "a", all_state_hooks);
    world_deployment(w, "d");
    world_node(w, "n1", "d");
    world_bind_in(w, "a@n1", "d");
    EXPECT_EFFECTS(w, "on_proposed a@n1");
    world_deliver(w);
    world_commit(w, "a@n1");
    EXPECT_EFFECTS(w, "");
    DONE(w, cmd_propose(w, "a@n1"));
    EXPECT_EFFECTS(w, "on_proposed a@n1");
    world_close(w);
}

TEST(c244_the_end_of_a_run_started_while_committed_is_not_silenced_by_a_recall)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_active']");
    const int64_t d = world_deployment(w, "d");
    world_node(w, "n1", "d");
    world_bind_in(w, "a@n1", "d");
    world_commit_deployment(w, "d");
    world_anneal(w);
    DONE(w, CMD(DEPLOYMENT_RECALL, deployment_recall, .id = d));
    world_clear_effects(w);
    world_finish(w, "a@n1", RESULT_OK);
    EXPECT_EFFECTS(w, "on_active a@n1");
    world_close(w);
}

TEST(c245_on_success_the_hooks_come_in_order_then_the_children_then_the_next_run)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_transition','on_active']");
    world_role(w, "b", "'requires':['a'],'hooks':['on_todo','on_transition','on_active']");
    world_node(w, "n1", NULL);
    world_bind(w, "b@n1");
    world_commit_deployment(w, "system");
    world_run_all(w);
    EXPECT_EFFECTS(w, "on_transition a@n1; start a@n1; on_active a@n1; on_todo b@n1; "
                      "on_transition b@n1; start b@n1; on_active b@n1");
    world_close(w);
}

TEST(c245_an_instant_run_fires_its_hooks_all_the_same)
{
    struct world *w = world_open();
    world_role(w, "a", "'jig':'noop','hooks':['on_todo','on_transition','on_active']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_commit(w, "a@n1");
    world_run_all(w);
    EXPECT_EFFECTS(w, "on_todo a@n1; on_transition a@n1; on_active a@n1");
    world_close(w);
}

TEST(c245_a_noderole_does_not_start_before_its_own_hook_has_returned)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_todo']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_commit(w, "a@n1");
    world_anneal(w);
    EXPECT_EFFECTS(w, "on_todo a@n1");
    IS(w, "a@n1", "todo");
    world_deliver(w);
    world_anneal(w);
    EXPECT_EFFECTS(w, "start a@n1");
    world_close(w);
}

TEST(c245_a_failed_hook_is_an_error_with_its_name_and_message)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_todo']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_commit(w, "a@n1");
    world_answer(w, "on_todo a@n1", true, STR(""));
    IS(w, "a@n1", "error");
    HAS(shown(w, read_noderole(w, "a@n1").runlog), "on_todo: no luck");
    world_close(w);
}

/* ---- hook commands ---- */

static struct str encode_hook_commands(struct world *w, const struct command *commands, int count)
{
    struct buf b = buf_in(&w->arena);
    for (int i = 0; i < count; i++)
        command_encode(&commands[i], &b);
    return buf_str(&b);
}

TEST(c245_the_commands_of_a_hook_are_executed_with_its_result)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_active']");
    world_role(w, "b", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bring(w, "a@n1", "transition");
    world_finish(w, "a@n1", RESULT_OK);
    const struct command commands[] = {
        cmd_bind(w, "b@n1", NULL),
        CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NODE_BOOTENV,
            .bootenv = STR("local")),
    };
    world_answer(w, "on_active a@n1", false, encode_hook_commands(w, commands, 2));
    IS(w, "b@n1", "proposed");
    EXPECT_STR(shown(w, read_node(w, "n1").bootenv), "local");
    CHECK(world_waiting(w, "on_active a@n1") == 0);
    world_close(w);
}

TEST(c245_a_refused_hook_command_fails_the_hook_and_reverts_the_earlier_ones)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_active']");
    world_role(w, "b", "");
    world_role(w, "abstract", "'flags':['abstract']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bring(w, "a@n1", "transition");
    world_finish(w, "a@n1", RESULT_OK);
    const struct command commands[] = {cmd_bind(w, "b@n1", NULL), cmd_bind(w, "abstract@n1", NULL)};
    world_answer(w, "on_active a@n1", false, encode_hook_commands(w, commands, 2));
    CHECK(world_bound(w, "b@n1") == 0);
    CHECK(world_waiting(w, "on_active a@n1") == 0);
    IS(w, "a@n1", "error");
    HAS(shown(w, read_noderole(w, "a@n1").runlog), "on_active: ");
    world_close(w);
}

TEST(c245_the_result_of_an_unknown_hook_call_changes_nothing)
{
    struct world *w = world_open();
    const struct digest128 before = core_digest_now(w->core);
    DONE(w, CMD(OUTBOX_DONE, outbox_done, .outbox_id = 4711, .failed = true));
    CHECK(digest_eq(core_digest_now(w->core), before));
    world_close(w);
}

/* The hook of a proposed noderole changes that noderole, which calls the hook again. */
TEST(c245_hooks_that_keep_causing_hooks_end_as_an_error)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_proposed']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    int rounds = 0;
    while (world_waiting(w, "on_proposed a@n1") && rounds < 100) {
        struct buf b = buf_in(&w->arena);
        buf_put_z(&b, "{'round':");
        buf_put_i64(&b, rounds++);
        buf_put_c(&b, '}');
        const struct command command =
            CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(w, "a@n1"),
                .data = world_json(w, str_z(&w->arena, buf_str(&b))));
        world_answer(w, "on_proposed a@n1", false, encode_hook_commands(w, &command, 1));
    }
    CHECK(rounds >= 16 && rounds <= 18);
    CHECK(read_noderole(w, "a@n1").hook_failed);
    REFUSED(w, cmd_commit(w, "a@n1"), HOOK_FAILED, NULL);
    world_close(w);
}

/* ---- import ---- */

TEST(c246_a_role_of_an_unknown_jig_is_imported_but_not_bound)
{
    struct world *w = world_open();
    world_role(w, "a", "'jig':'no-such-jig'");
    world_node(w, "n1", NULL);
    HAS(REFUSED(w, cmd_bind(w, "a@n1", NULL), JIG_INACTIVE, NULL), "no-such-jig");
    world_close(w);
}

TEST(c246_an_import_needs_a_name_and_a_source_path)
{
    struct world *w = world_open();
    REFUSED(w, cmd_import(w, "{'barclamp':{'source_path':'/src/x'}}"), MISSING, NULL);
    REFUSED(w, cmd_import(w, "{'barclamp':{'name':'x'}}"), MISSING, NULL);
    REFUSED(w, cmd_import(w, "{}"), MISSING, NULL);
    REFUSED(w, cmd_import(w, "[]"), NONE, NULL);
    REFUSED(w,
            cmd_import(w, "{'barclamp':{'name':'x','source_path':'/src/x'},"
                          "'roles':[{'jig':'noop'}]}"),
            MISSING, NULL);
    world_close(w);
}

static const char twice[] =
    "{'barclamp':{'name':'x','source_path':'/src/x'},"
    "'roles':[{'name':'a','jig':'noop','flags':['implicit','milestone'],'requires':['b'],"
    "'attribs':[{'name':'a-x','map':'a/x'}]},{'name':'b','jig':'noop'}],"
    "'attribs':[{'name':'n-x','map':'n/x','default':3}]}";

TEST(c246_a_second_import_changes_nothing)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, twice));
    const uint32_t roles = role_count(w), attribs = core_count(w->core, TABLE_ATTRIB);
    const struct role_record before = read_role(w, "a");
    DONE(w, cmd_import(w, twice));
    const struct role_record after = read_role(w, "a");
    CHECK(role_count(w) == roles && core_count(w->core, TABLE_ATTRIB) == attribs);
    CHECK(after.id == before.id && after.flags == before.flags && after.cohort == before.cohort);
    CHECK(str_eq(after.requires, before.requires));
    world_close(w);
}

TEST(c246_an_import_resets_what_it_does_not_list)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, twice));
    DONE(w, CMD(ROLE_UPDATE, role_update, .id = the_role(w, "a"), .given = GIVEN_ROLE_TEMPLATE,
                .template = world_json(w, "{'x':1}")));
    DONE(w, cmd_import(w, "{'barclamp':{'name':'x','source_path':'/src/x'},'roles':["
                          "{'name':'a','jig':'noop','flags':['milestone']}]}"));
    CHECK(read_role(w, "a").flags == ROLE_MILESTONE);
    CHECK(read_role(w, "a").requires.len <= 2);
    EXPECT_STR(shown(w, read_role(w, "a").template), "{}");
    world_close(w);
}

TEST(c246_an_attrib_of_another_barclamp_is_not_taken_over)
{
    struct world *w = world_open();
    world_role(w, "a", "'attribs':[{'name':'x','map':'a/x'}]");
    REFUSED(w, cmd_role(w, "b", "'attribs':[{'name':'x','map':'b/x'}]"), OWNER_DIFFERS, NULL);
    CHECK(read_attrib(w, "x").role_id == the_role(w, "a"));
    world_close(w);
}

TEST(c246_an_attrib_of_nodes_keeps_its_default)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, twice));
    world_node(w, "n1", NULL);
    CHECK(read_attrib(w, "n-x").role_id == 0);
    EXPECT_STR(world_value(w, TABLE_NODE, the_node(w, "n1"), "n-x", VIEW_ALL), "3");
    world_close(w);
}

TEST(c247_the_cohort_of_a_child_rises_when_its_parent_is_imported)
{
    struct world *w = world_open();
    world_role(w, "child", "'requires':['parent']");
    CHECK(read_role(w, "child").cohort == 0);
    world_role(w, "parent", "");
    CHECK(read_role(w, "child").cohort == 1);
    CHECK(read_role(w, "parent").cohort == 0);
    world_close(w);
}

TEST(c248_a_wrong_schema_is_refused)
{
    static const char *const wrong[] = {
        "{'type':'str','colour':'red'}", "{'type':'seq'}", "{'type':'map'}",
        "{'type':'no-such-type'}", "{'type':'seq','sequence':[{'type':'str'},{'type':'int'}]}"};
    struct world *w = world_open();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const struct str head = STR("'attribs':[{'name':'x','map':'x','schema':");
        const struct str rest = STR_CONCAT(&w->arena, head, str_from(wrong[i]), STR("}]"));
        REFUSED(w, cmd_role(w, "a", str_z(&w->arena, rest)), SCHEMA_INVALID, NULL);
    }
    CHECK(core_find(w->core, TABLE_ROLE, STR("a")) == 0);
    world_close(w);
}

TEST(c248_an_attrib_with_a_schema_is_writable)
{
    struct world *w = world_open();
    world_role(w, "a",
               "'attribs':[{'name':'x','map':'x','schema':{'type':'str'}},"
               "{'name':'y','map':'y'}]");
    CHECK(read_attrib(w, "x").writable);
    CHECK(!read_attrib(w, "y").writable);
    world_close(w);
}

static const char client[] = "{'name':'tool-client','jig':'noop','flags':['implicit']}";
static const char user[] = "{'name':'user','jig':'tool'}";
static const char jig[] = "'jigs':[{'name':'tool','class':'script','implementor':'tool-client'}]";

static void import_parts(struct world *w, const char *jigs, const char *roles)
{
    struct buf b = buf_in(&w->arena);
    buf_put_z(&b, "{'barclamp':{'source_path':'/src/tools','name':'tools");
    buf_put_u64(&b, w->barclamps++);
    buf_put_z(&b, "'}");
    buf_put_z(&b, *jigs ? "," : "");
    buf_put_z(&b, jigs);
    buf_put_z(&b, *roles ? ",'roles':[" : "");
    buf_put_z(&b, roles);
    buf_put_z(&b, *roles ? "]}" : "}");
    DONE(w, cmd_import(w, str_z(&w->arena, buf_str(&b))));
}

static void check_user_requires_client(struct world *w)
{
    CHECK(read_role(w, "user").cohort == 1);
    world_node(w, "n1", NULL);
    world_bind(w, "user@n1");
    CHECK(world_has_edge(w, "tool-client@n1", "user@n1"));
    world_close(w);
}

TEST(c249_roles_of_a_jig_imported_first_require_its_client)
{
    struct world *w = world_open();
    import_parts(w, jig, "");
    import_parts(w, "", client);
    import_parts(w, "", user);
    check_user_requires_client(w);
}

TEST(c249_roles_imported_before_their_jig_require_its_client)
{
    struct world *w = world_open();
    import_parts(w, "", user);
    import_parts(w, "", client);
    import_parts(w, jig, "");
    check_user_requires_client(w);
}

TEST(c249_roles_imported_before_the_client_require_it)
{
    struct world *w = world_open();
    import_parts(w, jig, user);
    import_parts(w, "", client);
    check_user_requires_client(w);
}

TEST(c249_a_client_is_implicit_and_of_another_jig)
{
    struct world *w = world_open();
    import_parts(w, jig, "");
    REFUSED(w, cmd_role(w, "tool-client", "'jig':'noop'"), NONE, NULL);
    REFUSED(w, cmd_role(w, "tool-client", "'jig':'tool','flags':['implicit']"), NONE, NULL);
    world_close(w);
}

TEST(c250_a_wanted_attrib_is_staged_where_the_role_wants_it)
{
    struct world *w = world_open();
    world_role(w, "db", "'attribs':[{'name':'db-port','map':'db/port','default':5432}]");
    world_role(w, "web", "'wants-attribs':[{'name':'db-port','at':'my/own/place'}]");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "db@n1");
    world_bind(w, "web@n2");
    EXPECT_STR(world_staged(w, "web@n2", "my/own/place"), "5432");
    EXPECT_STR(world_staged(w, "web@n2", "db"), "absent");
    world_close(w);
}

/* ---- clusters that grow ---- */

/* m@n1 and its child c@n3 ACTIVE in d; m@n2 has just been bound. */
static struct world *open_a_growing_cluster(void)
{
    struct world *w = world_open();
    world_role(w, "m", "'flags':['cluster']");
    world_role(w, "c", "'requires':['m']");
    world_committed_deployment(w, "d");
    world_node(w, "n1", "d");
    world_node(w, "n2", "d");
    world_node(w, "n3", "d");
    world_bind_in(w, "m@n1", "d");
    world_bind_in(w, "c@n3", "d");
    world_commit_deployment(w, "d");
    world_run_all(w);
    world_bind_in(w, "m@n2", "d");
    world_clear_effects(w);
    return w;
}

TEST(c252_members_whose_data_changed_run_again_and_the_children_are_held)
{
    struct world *w = open_a_growing_cluster();
    DONE(w, CMD(DEPLOYMENT_ROLE_DATA, deployment_role_data, .id = the_deployment_role(w, "m", "d"),
                .data = world_json(w, "{'members':['n1','n2']}")));
    world_commit_deployment(w, "d");
    IS(w, "m@n1", "todo");
    IS(w, "m@n2", "todo");
    IS(w, "c@n3", "blocked");

    world_anneal(w);
    EXPECT_EFFECTS(w, "start m@n1; start m@n2");
    EXPECT_STR(world_path(w, world_start(w, "m@n1")->data, "members"), "['n1','n2']");
    world_finish(w, "m@n1", RESULT_OK);
    IS(w, "c@n3", "blocked");
    world_finish(w, "m@n2", RESULT_OK);
    IS(w, "c@n3", "todo");
    world_close(w);
}

TEST(c252_members_whose_data_did_not_change_stay_active)
{
    struct world *w = open_a_growing_cluster();
    world_commit(w, "m@n2");
    IS(w, "m@n1", "active");
    IS(w, "c@n3", "blocked");
    world_run_all(w);
    EXPECT_EFFECTS(w, "start m@n2; start c@n3");
    world_close(w);
}

TEST(c252_a_member_that_is_running_runs_once_more)
{
    struct world *w = open_a_growing_cluster();
    DONE(w, cmd_enqueue(w, "m@n1"));
    world_anneal(w);
    DONE(w, CMD(DEPLOYMENT_ROLE_DATA, deployment_role_data, .id = the_deployment_role(w, "m", "d"),
                .data = world_json(w, "{'members':['n1','n2']}")));
    world_commit_deployment(w, "d");
    IS(w, "m@n1", "transition");
    CHECK(read_noderole(w, "m@n1").rerun);
    world_run_all(w);
    EXPECT_STR(world_path(w, world_start(w, "m@n1")->data, "members"), "['n1','n2']");
    IS(w, "c@n3", "active");
    world_close(w);
}
