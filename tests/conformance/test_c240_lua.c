/* Goal: cases 240 to 245 of docs/spec/cases.md with hooks written in Lua (docs/spec/hooks.md).
 * Method: a live world (tests/world/live.h) with barclamps/recorder, whose roles define every hook
 * and record each call. */
#include "tests/world/live.h"

/* n1 is alive and available; roles are bound to it in d, which is proposed. */
static struct world *open_recorder(void)
{
    struct world *w = live_open();
    live_import(w, live_path(w, "tests/conformance/barclamps/recorder"));
    world_deployment(w, "d");
    world_node(w, "n1", NULL);
    world_clear_effects(w);
    return w;
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

static struct command cmd_data(struct world *w, const char *noderole, const char *quoted)
{
    return CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(w, noderole),
               .data = world_json(w, quoted));
}

/* ---- deployment roles ---- */

TEST(c240_on_deployment_create_is_called_once_per_role_and_deployment)
{
    struct world *w = open_recorder();
    DONE(w, cmd_add_role(w, "record-base", "d"));
    EXPECT_EFFECTS(w, "on_deployment_create record-base in d");
    world_bind_in(w, "record-base@n1", "d");
    EXPECT_EFFECTS(
        w, "on_node_bind record-base@n1; on_proposed record-base@n1; template record-base; "
           "sysdata record-base@n1; on_node_change record-base n1; on_node_change record-idle n1; "
           "on_node_change record-wipe n1; on_node_change record-child n1; "
           "on_node_change record-work n1");
    DONE(w, cmd_add_role(w, "record-base", "system"));
    EXPECT_EFFECTS(w, "on_deployment_create record-base in system");
    live_close(w);
}

TEST(c240_a_veto_of_on_deployment_create_creates_nothing)
{
    struct world *w = open_recorder();
    world_deployment(w, "forbidden");
    HAS(REFUSED(w, cmd_add_role(w, "record-base", "forbidden"), HOOK_VETO, NULL),
        "role record-base vetoed this");
    REFUSED(w, cmd_bind(w, "record-base@n1", "forbidden"), HOOK_VETO, NULL);
    CHECK(core_count(w->core, TABLE_DEPLOYMENT_ROLE) == 0);
    CHECK(world_bound(w, "record-base@n1") == 0);
    live_close(w);
}

TEST(c240_on_deployment_delete_is_called_only_for_an_unused_deployment_role)
{
    struct world *w = open_recorder();
    world_bind_in(w, "record-base@n1", "d");
    world_clear_effects(w);
    REFUSED(w, cmd_drop_role(w, "record-base", "d"), IN_USE, NULL);
    EXPECT_EFFECTS(w, "");
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "record-base@n1")));
    world_clear_effects(w);
    DONE(w, cmd_drop_role(w, "record-base", "d"));
    EXPECT_EFFECTS(w, "on_deployment_delete record-base in d");
    live_close(w);
}

/* ---- nodes ---- */

TEST(c241_hooks_of_roles_of_an_inactive_jig_are_not_called)
{
    struct world *w = open_recorder();
    DONE(w, CMD(JIG_UPDATE, jig_update, .id = core_find(w->core, TABLE_JIG, STR("idle")),
                .given = GIVEN_JIG_ACTIVE, .active = false));
    world_clear_effects(w);
    DONE(w, cmd_node(w, "n2"));
    EXPECT_EFFECTS(w, "on_node_create record-base n2; on_node_create record-wipe n2; "
                      "on_node_create record-child n2; on_node_create record-work n2");
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n2")));
    EXPECT_EFFECTS(w, "on_node_delete record-child n2; on_node_delete record-work n2; "
                      "on_node_delete record-base n2; on_node_delete record-wipe n2");
    live_close(w);
}

TEST(c242_a_bind_to_a_node_that_is_not_available_is_no_change_of_it)
{
    struct world *w = open_recorder();
    DONE(w, cmd_node(w, "n2"));
    world_clear_effects(w);
    world_bind(w, "record-stage@n2");
    EXPECT_EFFECTS(w, "");
    world_bind(w, "record-stage@n1");
    EXPECT_EFFECTS(w, "on_node_change record-base n1; on_node_change record-idle n1; "
                      "on_node_change record-wipe n1; on_node_change record-child n1; "
                      "on_node_change record-work n1");
    live_close(w);
}

/* ---- vetoes and hooks that are not called ---- */

TEST(c243_a_veto_of_the_commit_leaves_everything_proposed)
{
    struct world *w = open_recorder();
    world_bind_in(w, "record-child@n1", "d");
    DONE(w, cmd_data(w, "record-child@n1", "{'record':{'veto':'on_commit'}}"));
    HAS(REFUSED(w, cmd_commit(w, "record-child@n1"), HOOK_VETO, "on_commit"),
        "role record-child vetoed this: veto requested by the test");
    REFUSED(w, CMD(DEPLOYMENT_COMMIT, deployment_commit, .id = the_deployment(w, "d")), HOOK_VETO,
            "on_commit");
    REFUSED(w, CMD(NODE_COMMIT, node_commit, .id = the_node(w, "n1")), HOOK_VETO, "on_commit");
    IS(w, "record-base@n1", "proposed");
    IS(w, "record-child@n1", "proposed");
    EXPECT_STR(shown(w, read_noderole(w, "record-child@n1").committed_data), "{}");
    DONE(w, cmd_data(w, "record-child@n1", "{'x':1}"));
    world_commit_deployment(w, "d");
    EXPECT_STR(shown(w, read_noderole(w, "record-child@n1").committed_data), "{'x':1}");
    live_close(w);
}

TEST(c243_a_veto_of_the_bind_creates_no_parents)
{
    struct world *w = open_recorder();
    world_node(w, "forbidden1", NULL);
    REFUSED(w, cmd_bind(w, "record-child@forbidden1", "d"), HOOK_VETO, "on_node_bind");
    CHECK(world_bound(w, "record-base@forbidden1") == 0);
    CHECK(core_count(w->core, TABLE_DEPLOYMENT_ROLE) == 0);
    live_close(w);
}

TEST(c244_in_a_proposed_deployment_only_on_proposed_is_called)
{
    struct world *w = open_recorder();
    world_bind_in(w, "record-base@n1", "d");
    world_clear_effects(w);
    world_commit(w, "record-base@n1");
    EXPECT_EFFECTS(w, "on_commit record-base@n1; template record-base; sysdata record-base@n1");
    IS(w, "record-base@n1", "todo");
    DONE(w, cmd_propose(w, "record-base@n1"));
    EXPECT_EFFECTS(w, "on_proposed record-base@n1");
    DONE(w, cmd_data(w, "record-base@n1", "{'x':1}"));
    EXPECT_EFFECTS(w, "on_proposed record-base@n1");
    live_close(w);
}

TEST(c244_a_noderole_held_back_by_a_target_has_no_state_hooks)
{
    struct world *w = open_recorder();
    world_bind(w, "record-stage@n1");
    world_bind(w, "record-base@n1");
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NODE_TARGET,
                .target_role_id = the_role(w, "record-stage")));
    CHECK(read_noderole(w, "record-base@n1").unavailable);
    world_clear_effects(w);
    world_commit(w, "record-base@n1");
    EXPECT_EFFECTS(w, "on_commit record-base@n1; template record-base; sysdata record-base@n1");
    IS(w, "record-base@n1", "todo");
    live_close(w);
}

TEST(c244_state_hooks_of_a_destructive_role_are_called_for_its_first_run_only)
{
    struct world *w = open_recorder();
    world_bind(w, "record-wipe@n1");
    world_clear_effects(w);
    world_commit(w, "record-wipe@n1");
    EXPECT_EFFECTS(w, "on_commit record-wipe@n1; on_todo record-wipe@n1; template record-wipe; "
                      "sysdata record-wipe@n1; on_transition record-wipe@n1; start record-wipe@n1");
    world_finish(w, "record-wipe@n1", RESULT_OK);
    EXPECT_EFFECTS(w, "on_active record-wipe@n1");
    DONE(w, cmd_enqueue(w, "record-wipe@n1"));
    EXPECT_EFFECTS(w, "template record-wipe; sysdata record-wipe@n1");
    IS(w, "record-wipe@n1", "active");
    CHECK(world_runs(w, NULL) == 0);
    live_close(w);
}

/* ---- order of calls and hook commands ---- */

TEST(c245_the_hooks_of_a_run_then_the_children_then_the_next_run)
{
    struct world *w = open_recorder();
    world_bind_in(w, "record-work@n1", "d");
    world_bind_in(w, "record-child@n1", "d");
    world_commit_deployment(w, "d");
    world_clear_effects(w);
    world_finish(w, "record-base@n1", RESULT_OK);
    EXPECT_EFFECTS(
        w, "on_active record-base@n1; on_todo record-work@n1; template record-work; "
           "sysdata record-work@n1; on_todo record-child@n1; template record-child; "
           "sysdata record-child@n1; on_transition record-work@n1; do_transition record-work@n1; "
           "on_active record-work@n1; on_transition record-child@n1; start record-child@n1");
    live_close(w);
}

static struct world *open_with_hook_commands(const char *roles)
{
    struct world *w = open_recorder();
    world_bind(w, "record-base@n1");
    const struct str data =
        STR_CONCAT(&w->arena, STR("{'record':{'bind':["), str_from(roles), STR("],'value':1}}"));
    DONE(w, cmd_data(w, "record-base@n1", str_z(&w->arena, data)));
    world_commit(w, "record-base@n1");
    world_finish(w, "record-base@n1", RESULT_OK);
    return w;
}

TEST(c245_the_commands_of_a_hook_are_executed)
{
    struct world *w = open_with_hook_commands("'record-stage'");
    IS(w, "record-base@n1", "active");
    IS(w, "record-stage@n1", "proposed");
    live_close(w);
}

TEST(c245_a_refused_hook_command_fails_the_hook_and_reverts_the_earlier_ones)
{
    struct world *w = open_with_hook_commands("'record-stage','record-abstract'");
    IS(w, "record-base@n1", "error");
    HAS(shown(w, read_noderole(w, "record-base@n1").runlog),
        "on_active: the command that it requested, noderole_bind, was refused: ");
    CHECK(world_bound(w, "record-stage@n1") == 0);
    live_close(w);
}

TEST(c245_a_hook_command_with_an_unknown_name_fails_the_hook)
{
    struct world *w = open_with_hook_commands("'record-stage','nobody'");
    IS(w, "record-base@n1", "error");
    HAS(shown(w, read_noderole(w, "record-base@n1").runlog), "nobody");
    HAS(live_hook_log(w),
        "on_active: a hook failed; the commands that it requested are not executed");
    CHECK(world_bound(w, "record-stage@n1") == 0);
    live_close(w);
}

TEST(c245_a_hook_command_that_needs_a_veto_request_is_refused)
{
    struct world *w = open_with_hook_commands("'record-wipe'");
    IS(w, "record-base@n1", "error");
    HAS(shown(w, read_noderole(w, "record-base@n1").runlog), "must be asked for a veto");
    live_close(w);
}

TEST(c245_hook_commands_are_executed_once_even_if_the_hook_is_called_again)
{
    struct world *w = open_recorder();
    world_bind(w, "record-base@n1");
    DONE(w, cmd_data(w, "record-base@n1", "{'record':{'bind':['record-stage']}}"));
    world_commit(w, "record-base@n1");
    world_clear_effects(w);
    live_drop_results(w, true);
    world_finish(w, "record-base@n1", RESULT_OK);
    EXPECT_EFFECTS(w, "on_active record-base@n1");
    CHECK(world_bound(w, "record-stage@n1") == 0);
    live_restart(w);
    CHECK(world_bound(w, "record-stage@n1") != 0);
    live_restart(w);
    CHECK(core_count(w->core, TABLE_NODEROLE) == 2);
    CHECK(core_count(w->core, TABLE_OUTBOX) == 0);
    live_close(w);
}
