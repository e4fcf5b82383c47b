/* Goal: cases 65 to 74 of docs/spec/cases.md: targets and power of nodes, states of deployments,
 * deletes, moves and redeploy (docs/spec/machines.md, docs/spec/states.md, ADR 0022, ADR 0032).
 * Method: commands to a core in memory; records, states and power actions are checked. */
#include "tests/world/world.h"

static void set_target(struct world *w, const char *node, int64_t role)
{
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, node), .given = GIVEN_NODE_TARGET,
                .target_role_id = role));
}

static void give_hammer(struct world *w, const char *node, const char *kind)
{
    const int64_t id = core_find(w->core, TABLE_HAMMER_KIND, str_from(kind));
    CHECK(id != 0);
    DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = the_node(w, node), .hammer_kind_id = id,
                .username = STR("root")));
}

static void set_bootenv(struct world *w, const char *node, const char *bootenv)
{
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, node), .given = GIVEN_NODE_BOOTENV,
                .bootenv = str_from(bootenv)));
}

static struct command cmd_delete(struct world *w, const char *noderole)
{
    return CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, noderole));
}

static struct command cmd_delete_node(int64_t id)
{
    return CMD(NODE_DELETE, node_delete, .id = id);
}

static struct command cmd_delete_deployment(int64_t id)
{
    return CMD(DEPLOYMENT_DELETE, deployment_delete, .id = id);
}

static struct command cmd_move(struct world *w, const char *node, const char *deployment)
{
    return CMD(NODE_UPDATE, node_update, .id = the_node(w, node), .given = GIVEN_NODE_DEPLOYMENT,
               .deployment_id = the_deployment(w, deployment));
}

static bool in_deployment(struct world *w, const char *noderole, const char *deployment)
{
    return read_noderole(w, noderole).deployment_id == the_deployment(w, deployment);
}

/* ---- target ---- */

/* base <- stage (a milestone of the jig noop) <- late on n1; other, unrelated, on n1; base on
 * n2. */
static struct world *open_a_staged_node(void)
{
    struct world *w = world_open();
    world_role(w, "base", "'flags':['implicit']");
    world_role(w, "stage", "'jig':'noop','flags':['milestone'],'requires':['base']");
    world_role(w, "late", "'requires':['stage']");
    world_role(w, "other", "");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "stage@n1");
    world_bind(w, "late@n1");
    world_bind(w, "other@n1");
    world_bind(w, "base@n2");
    return w;
}

TEST(c065_a_target_leaves_only_itself_and_its_ancestors_on_the_node)
{
    struct world *w = open_a_staged_node();
    set_target(w, "n1", the_role(w, "stage"));
    CHECK(!read_noderole(w, "stage@n1").unavailable);
    CHECK(!read_noderole(w, "base@n1").unavailable);
    CHECK(read_noderole(w, "late@n1").unavailable);
    CHECK(read_noderole(w, "other@n1").unavailable);
    CHECK(!read_noderole(w, "base@n2").unavailable);
    CHECK(!read_node(w, "n1").alive);
    CHECK(read_node(w, "n1").target_role_id == the_role(w, "stage"));
    world_close(w);
}

TEST(c065_beyond_the_target_nothing_runs_until_it_is_cleared)
{
    struct world *w = open_a_staged_node();
    set_target(w, "n1", the_role(w, "stage"));
    world_alive(w, "n1", true);
    world_commit_deployment(w, "system");
    world_run_all(w);
    IS(w, "stage@n1", "active");
    IS(w, "late@n1", "todo");
    IS(w, "other@n1", "todo");

    set_target(w, "n1", 0);

    CHECK(read_node(w, "n1").alive);
    CHECK(read_node(w, "n1").target_role_id == 0);
    CHECK(!read_noderole(w, "late@n1").unavailable && !read_noderole(w, "other@n1").unavailable);
    world_run_all(w);
    IS(w, "late@n1", "active");
    IS(w, "other@n1", "active");
    world_close(w);
}

TEST(c065_a_target_is_a_bound_milestone_on_noop)
{
    struct world *w = open_a_staged_node();
    world_role(w, "script-stage", "'flags':['milestone']");
    world_role(w, "no-stage", "'jig':'noop'");
    world_bind(w, "script-stage@n1");
    world_bind(w, "no-stage@n1");
    static const char *const bad[] = {"script-stage", "no-stage", "late"};
    for (int i = 0; i < 3; i++)
        REFUSED(w,
                CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NODE_TARGET,
                    .target_role_id = the_role(w, bad[i])),
                TARGET_INVALID, "target_role_id");
    REFUSED(w,
            CMD(NODE_UPDATE, node_update, .id = the_node(w, "n2"), .given = GIVEN_NODE_TARGET,
                .target_role_id = the_role(w, "stage")),
            TARGET_INVALID, "target_role_id");
    world_close(w);
}

/* ---- powersave ---- */

static struct world *open_an_idle_node(const char *hammer)
{
    struct world *w = world_open();
    world_node_attrib(w, "stay_on", "'map':'stay_on','schema':{'type':'bool'}");
    world_role(w, "ready", "'flags':['milestone','powersave']");
    world_node(w, "n1", NULL);
    if (hammer)
        give_hammer(w, "n1", hammer);
    world_bind(w, "ready@n1");
    world_clear_effects(w);
    return w;
}

/* Runs the powersave role to success. If the node is switched off, the noderole is in TODO
 * again. */
static void run_ready(struct world *w, bool goes_off)
{
    world_commit(w, "ready@n1");
    world_deliver(w);
    world_anneal(w);
    world_finish(w, "ready@n1", RESULT_OK);
    IS(w, "ready@n1", goes_off ? "todo" : "active");
    CHECK(read_noderole(w, "ready@n1").run_count == 1);
    CHECK(read_node(w, "n1").alive == !goes_off);
}

TEST(c066_an_idle_node_is_switched_off)
{
    struct world *w = open_an_idle_node("ipmi");
    run_ready(w, true);
    EXPECT_EFFECTS(w, "start ready@n1; power off n1");
    world_close(w);
}

TEST(c066_an_idle_node_that_boots_from_disk_is_halted)
{
    struct world *w = open_an_idle_node("ipmi");
    set_bootenv(w, "n1", "local");
    world_deliver(w);
    world_clear_effects(w);
    run_ready(w, true);
    EXPECT_EFFECTS(w, "start ready@n1; power halt n1");
    world_close(w);
}

TEST(c066_a_node_that_cannot_be_switched_on_again_stays_on)
{
    struct world *w = open_an_idle_node(NULL);
    run_ready(w, false);
    EXPECT_EFFECTS(w, "start ready@n1");
    world_close(w);
}

TEST(c066_a_proposed_child_does_not_keep_a_node_on)
{
    struct world *w = open_an_idle_node("ipmi");
    world_role(w, "next", "'requires':['ready']");
    world_bind(w, "next@n1");
    run_ready(w, true);
    EXPECT_EFFECTS(w, "start ready@n1; power off n1");
    world_close(w);
}

TEST(c066_a_committed_child_keeps_a_node_on)
{
    struct world *w = open_an_idle_node("ipmi");
    world_role(w, "next", "'requires':['ready']");
    world_bind(w, "next@n1");
    world_commit(w, "next@n1");
    run_ready(w, false);
    EXPECT_EFFECTS(w, "start ready@n1");
    world_close(w);
}

TEST(c066_stay_on_keeps_a_node_on)
{
    struct world *w = open_an_idle_node("ipmi");
    DONE(w, cmd_set(w, TABLE_NODE, the_node(w, "n1"), "stay_on", BUCKET_USER, "true"));
    run_ready(w, false);
    EXPECT_EFFECTS(w, "start ready@n1");
    world_close(w);
}

/* ---- deployments ---- */

TEST(c067_a_committed_deployment_without_noderoles_is_active)
{
    struct world *w = world_open();
    const int64_t d = world_deployment(w, "d");
    CHECK(core_deployment_state(w->core, d) == DEPLOYMENT_PROPOSED);
    world_commit_deployment(w, "d");
    CHECK(core_deployment_state(w->core, d) == DEPLOYMENT_ACTIVE);
    CHECK(core_deployment_state(w->core, SYSTEM) == DEPLOYMENT_ACTIVE);
    world_close(w);
}

TEST(c067_one_error_makes_a_deployment_an_error_and_a_mix_leaves_it_committed)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    const int64_t d = world_committed_deployment(w, "d");
    world_node(w, "n1", "d");
    world_node(w, "n2", "d");
    world_bind_in(w, "a@n1", "d");
    world_bind_in(w, "a@n2", "d");
    world_bring(w, "a@n1", "active");
    CHECK(core_deployment_state(w->core, d) == DEPLOYMENT_COMMITTED);
    world_bring(w, "a@n2", "error");
    CHECK(core_deployment_state(w->core, d) == DEPLOYMENT_ERROR);
    DONE(w, cmd_retry(w, "a@n2"));
    CHECK(core_deployment_state(w->core, d) == DEPLOYMENT_COMMITTED);
    world_run_all(w);
    CHECK(core_deployment_state(w->core, d) == DEPLOYMENT_ACTIVE);
    DONE(w, CMD(DEPLOYMENT_RECALL, deployment_recall, .id = d));
    CHECK(core_deployment_state(w->core, d) == DEPLOYMENT_PROPOSED);
    world_close(w);
}

TEST(c068_system_is_neither_proposed_nor_recalled)
{
    struct world *w = world_open();
    REFUSED(w, CMD(DEPLOYMENT_PROPOSE, deployment_propose, .id = SYSTEM), SYSTEM_DEPLOYMENT, NULL);
    REFUSED(w, CMD(DEPLOYMENT_RECALL, deployment_recall, .id = SYSTEM), SYSTEM_DEPLOYMENT, NULL);
    world_close(w);
}

TEST(c068_a_commit_of_system_commits_its_proposed_noderoles)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_role(w, "b", "'requires':['a']");
    world_node(w, "n1", NULL);
    world_bind(w, "b@n1");
    world_commit_deployment(w, "system");
    IS(w, "a@n1", "todo");
    IS(w, "b@n1", "blocked");
    world_close(w);
}

/* ---- deletes ---- */

/* a@n1 <- b@n1 <- leaf@n1, and a@n1 <- far@n2. */
static struct world *open_a_tree(void)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_role(w, "b", "'requires':['a']");
    world_role(w, "leaf", "'requires':['b'],'flags':['implicit']");
    world_role(w, "far", "'requires':['a']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "leaf@n1");
    return w;
}

TEST(c069_a_leaf_is_deleted)
{
    struct world *w = open_a_tree();
    world_commit_deployment(w, "system");
    world_run_all(w);
    DONE(w, cmd_delete(w, "leaf@n1"));
    CHECK(world_bound(w, "leaf@n1") == 0);
    IS(w, "b@n1", "active");
    world_close(w);
}

TEST(c069_descendants_on_the_same_node_go_with_it)
{
    struct world *w = open_a_tree();
    world_commit_deployment(w, "system");
    world_run_all(w);
    DONE(w, cmd_delete(w, "a@n1"));
    CHECK(core_count(w->core, TABLE_NODEROLE) == 0);
    world_close(w);
}

TEST(c069_a_descendant_elsewhere_that_has_run_keeps_it)
{
    struct world *w = open_a_tree();
    world_bind(w, "far@n2");
    world_commit_deployment(w, "system");
    world_run_all(w);
    REFUSED(w, cmd_delete(w, "a@n1"), HAS_DEPENDANTS, NULL);
    DONE(w, cmd_propose(w, "far@n2"));
    REFUSED(w, cmd_delete(w, "a@n1"), HAS_DEPENDANTS, NULL);
    world_close(w);
}

TEST(c069_a_descendant_elsewhere_that_is_only_drawn_goes_with_it)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_role(w, "far", "'requires':['a']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "a@n1");
    world_bind(w, "far@n2");
    world_bring(w, "a@n1", "active");
    DONE(w, cmd_delete(w, "a@n1"));
    CHECK(world_bound(w, "far@n2") == 0);
    world_close(w);
}

TEST(c069_a_committed_descendant_elsewhere_that_has_not_run_keeps_it)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_role(w, "far", "'requires':['a']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "a@n1");
    world_bind(w, "far@n2");
    world_commit(w, "far@n2");
    REFUSED(w, cmd_delete(w, "a@n1"), HAS_DEPENDANTS, NULL);
    world_close(w);
}

TEST(c069_the_run_of_a_deleted_noderole_is_cancelled_and_holds_the_node_until_it_stopped)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_role(w, "b", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bind(w, "b@n1");
    world_bring(w, "a@n1", "transition");
    const struct start start = *world_start(w, "a@n1");
    world_commit(w, "b@n1");

    DONE(w, cmd_delete(w, "a@n1"));
    CHECK(w->fx.count == 1 && w->fx.first->kind == EFFECT_RUN_CANCEL);
    CHECK(w->fx.first->id == start.run && w->fx.first->attempt == start.attempt);
    world_anneal(w);
    IS(w, "b@n1", "todo");

    DONE(w, CMD(RUN_STOPPED, run_stopped, .run_id = start.run, .attempt = start.attempt));
    world_anneal(w);
    IS(w, "b@n1", "transition");
    world_close(w);
}

TEST(c070_the_last_admin_node_is_not_deleted)
{
    struct world *w = world_open();
    struct command command = cmd_node(w, "n1");
    command.node_create.admin = true;
    const int64_t n1 = DONE(w, command);
    REFUSED(w, cmd_delete_node(n1), LAST_ADMIN, NULL);
    command = cmd_node(w, "n2");
    command.node_create.admin = true;
    DONE(w, command);
    DONE(w, cmd_delete_node(n1));
    REFUSED(w, cmd_delete_node(the_node(w, "n2")), LAST_ADMIN, NULL);
    world_close(w);
}

TEST(c070_a_node_that_others_depend_on_is_not_deleted)
{
    struct world *w = open_a_tree();
    world_bind(w, "far@n2");
    world_commit_deployment(w, "system");
    world_run_all(w);
    REFUSED(w, cmd_delete_node(the_node(w, "n1")), HAS_DEPENDANTS, NULL);
    DONE(w, cmd_delete_node(the_node(w, "n2")));
    DONE(w, cmd_delete_node(the_node(w, "n1")));
    CHECK(core_count(w->core, TABLE_NODEROLE) == 0);
    CHECK(core_count(w->core, TABLE_RUN) == 0);
    world_close(w);
}

TEST(c070_a_deleted_node_deletes_its_hammers_and_memberships)
{
    struct world *w = world_open();
    world_node(w, "n1", NULL);
    give_hammer(w, "n1", "ipmi");
    const int64_t rack =
        DONE(w, CMD(GROUP_CREATE, group_create, .name = STR("r1"), .category = STR("rack")));
    DONE(w, CMD(GROUP_ADD, group_add, .id = rack, .node_id = the_node(w, "n1")));
    DONE(w, cmd_delete_node(the_node(w, "n1")));
    CHECK(core_count(w->core, TABLE_HAMMER) == 0);
    CHECK(core_find(w->core, TABLE_NODE, STR("n1.example.com")) == 0);
    world_close(w);
}

TEST(c070_the_phantom_of_an_existing_deployment_is_not_deleted)
{
    struct world *w = world_open();
    world_deployment(w, "d");
    const int64_t phantom = core_find(w->core, TABLE_NODE, STR("d-phantom.internal.local"));
    REFUSED(w, cmd_delete_node(phantom), IN_USE, NULL);
    world_close(w);
}

TEST(c071_system_and_deployments_with_children_are_not_deleted)
{
    struct world *w = world_open();
    const int64_t d = world_deployment(w, "d");
    DONE(w, CMD(DEPLOYMENT_CREATE, deployment_create, .name = STR("below"), .parent_id = d));
    REFUSED(w, cmd_delete_deployment(SYSTEM), SYSTEM_DEPLOYMENT, NULL);
    REFUSED(w, cmd_delete_deployment(d), HAS_CHILDREN, NULL);
    DONE(w, cmd_delete_deployment(the_deployment(w, "below")));
    DONE(w, cmd_delete_deployment(d));
    world_close(w);
}

TEST(c071_the_nodes_of_a_deleted_deployment_return_to_its_parent)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    const int64_t d = world_committed_deployment(w, "d");
    world_node(w, "n1", "d");
    world_bind_in(w, "a@n1", "d");
    world_bring(w, "a@n1", "active");

    DONE(w, cmd_delete_deployment(d));

    CHECK(core_find(w->core, TABLE_DEPLOYMENT, STR("d")) == 0);
    CHECK(core_find(w->core, TABLE_NODE, STR("d-phantom.internal.local")) == 0);
    CHECK(read_node(w, "n1").deployment_id == SYSTEM);
    CHECK(world_bound(w, "a@n1") == 0);
    CHECK(core_count(w->core, TABLE_DEPLOYMENT_ROLE) == 0);
    world_close(w);
}

/* ---- moves ---- */

TEST(c072_proposed_noderoles_that_never_ran_follow_their_node)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_role(w, "b", "'requires':['a']");
    world_deployment(w, "d");
    world_node(w, "n1", NULL);
    world_bind(w, "b@n1");
    DONE(w, cmd_move(w, "n1", "d"));
    CHECK(read_node(w, "n1").deployment_id == the_deployment(w, "d"));
    CHECK(in_deployment(w, "a@n1", "d") && in_deployment(w, "b@n1", "d"));
    CHECK(the_deployment_role(w, "a", "d") != 0);
    world_close(w);
}

TEST(c072_a_noderole_that_ran_stays_in_its_deployment)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_role(w, "b", "");
    world_deployment(w, "d");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bind(w, "b@n1");
    world_bring(w, "a@n1", "active");
    DONE(w, cmd_move(w, "n1", "d"));
    CHECK(in_deployment(w, "a@n1", "system"));
    CHECK(in_deployment(w, "b@n1", "d"));
    world_close(w);
}

/* The second member of a cluster is new, but the child it adopted is ACTIVE. */
TEST(c072_a_noderole_with_an_active_child_stays_in_its_deployment)
{
    struct world *w = world_open();
    world_role(w, "m", "'flags':['cluster']");
    world_role(w, "c", "'requires':['m']");
    world_deployment(w, "d");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_node(w, "n3", NULL);
    world_bind(w, "m@n1");
    world_bind(w, "c@n3");
    world_bring(w, "m@n1", "active");
    world_bring(w, "c@n3", "active");
    world_bind(w, "m@n2");
    DONE(w, cmd_move(w, "n2", "d"));
    CHECK(in_deployment(w, "m@n2", "system"));
    CHECK(read_node(w, "n2").deployment_id == the_deployment(w, "d"));
    world_close(w);
}

TEST(c072_a_move_may_name_the_old_deployment)
{
    struct world *w = world_open();
    const int64_t d = world_deployment(w, "d");
    world_node(w, "n1", NULL);
    struct command command = cmd_move(w, "n1", "d");
    command.node_update.given |= GIVEN_NODE_OLD_DEPLOYMENT;
    command.node_update.old_deployment_id = d;
    REFUSED(w, command, NONE, "old_deployment_id");
    command.node_update.old_deployment_id = SYSTEM;
    DONE(w, command);
    world_close(w);
}

/* ---- redeploy ---- */

TEST(c073_redeploy_resets_the_noderoles_of_a_node)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_role(w, "b", "'requires':['a']");
    world_node(w, "n1", NULL);
    give_hammer(w, "n1", "ipmi");
    world_bind(w, "b@n1");
    world_commit_deployment(w, "system");
    world_run_all(w);
    set_bootenv(w, "n1", "local");
    world_deliver(w);
    world_clear_effects(w);

    DONE(w, CMD(NODE_REDEPLOY, node_redeploy, .id = the_node(w, "n1")));

    CHECK(read_noderole(w, "a@n1").run_count == 0 && read_noderole(w, "b@n1").run_count == 0);
    IS(w, "a@n1", "todo");
    IS(w, "b@n1", "blocked");
    EXPECT_STR(shown(w, read_node(w, "n1").bootenv), "sledgehammer");
    CHECK(world_waiting(w, "power reset n1") != 0);
    world_close(w);
}

TEST(c073_redeploy_reboots_where_no_reset_is_offered)
{
    struct world *w = world_open();
    world_node(w, "n1", NULL);
    DONE(w, CMD(NODE_REDEPLOY, node_redeploy, .id = the_node(w, "n1")));
    CHECK(world_waiting(w, "power reboot n1") != 0);
    world_close(w);
}

TEST(c073_redeploy_of_a_node_without_power_changes_nothing)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bring(w, "a@n1", "active");
    int64_t hammer = core_next_id(w->core, TABLE_HAMMER, 0);
    CHECK(hammer != 0);
    DONE(w, CMD(HAMMER_DELETE, hammer_delete, .id = hammer));
    REFUSED(w, CMD(NODE_REDEPLOY, node_redeploy, .id = the_node(w, "n1")), NO_POWER_ACTION, NULL);
    IS(w, "a@n1", "active");
    world_close(w);
}

TEST(c073_a_redeployed_destructive_role_runs_again)
{
    struct world *w = world_open();
    world_role(w, "wipe", "'flags':['destructive']");
    world_node(w, "n1", NULL);
    world_bind(w, "wipe@n1");
    world_bring(w, "wipe@n1", "active");
    DONE(w, CMD(NODE_REDEPLOY, node_redeploy, .id = the_node(w, "n1")));
    world_clear_effects(w);
    world_alive(w, "n1", false);
    world_alive(w, "n1", true);
    world_run_all(w);
    CHECK(world_start(w, "wipe@n1")->attempt == 2);
    CHECK(read_noderole(w, "wipe@n1").run_count == 1);
    world_close(w);
}

/* ---- the state of a node ---- */

TEST(c074_one_failed_noderole_makes_the_node_an_error)
{
    struct world *w = world_open();
    world_role(w, "client", "");
    world_role(w, "fails", "");
    world_node(w, "n1", NULL);
    const int64_t n1 = the_node(w, "n1");
    world_bind(w, "client@n1");
    world_bring(w, "client@n1", "active");
    CHECK(core_node_state(w->core, n1) == NODEROLE_ACTIVE);
    world_bind(w, "fails@n1");
    CHECK(core_node_state(w->core, n1) == NODEROLE_PROPOSED);
    world_bring(w, "fails@n1", "transition");
    CHECK(core_node_state(w->core, n1) == NODEROLE_TRANSITION);
    world_finish(w, "fails@n1", RESULT_FAILED);
    CHECK(core_node_state(w->core, n1) == NODEROLE_ERROR);
    DONE(w, cmd_retry(w, "fails@n1"));
    CHECK(core_node_state(w->core, n1) == NODEROLE_TODO);
    world_close(w);
}

TEST(c074_the_worst_state_wins)
{
    struct world *w = world_open();
    world_role(w, "err", "");
    world_role(w, "run", "");
    world_role(w, "pro", "");
    world_node(w, "n1", NULL);
    const int64_t n1 = the_node(w, "n1");
    world_bind(w, "pro@n1");
    world_bind(w, "run@n1");
    world_bind(w, "err@n1");
    world_bring(w, "run@n1", "active");
    world_bring(w, "err@n1", "error");
    DONE(w, cmd_enqueue(w, "run@n1"));
    world_anneal(w);
    IS(w, "run@n1", "transition");
    CHECK(core_node_state(w->core, n1) == NODEROLE_ERROR);
    DONE(w, cmd_propose(w, "err@n1"));
    CHECK(core_node_state(w->core, n1) == NODEROLE_TRANSITION);
    world_finish(w, "run@n1", RESULT_OK);
    CHECK(core_node_state(w->core, n1) == NODEROLE_PROPOSED);
    world_close(w);
}
