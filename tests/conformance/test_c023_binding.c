/* Goal: cases 23 to 47 and 253 of docs/spec/cases.md: a bind of a role to a node creates every
 * noderole it needs, or is refused and changes nothing (docs/spec/binding.md).
 * Method: commands to a core in memory; the noderoles, their edges and cohorts are checked. */
#include "tests/world/world.h"

static uint32_t noderoles_on(struct world *w, const char *node)
{
    uint32_t count = 0;
    core_noderoles_of(w->core, the_node(w, node), &w->arena, &count);
    return count;
}

static uint32_t parents_of(struct world *w, const char *noderole)
{
    uint32_t count = 0;
    core_parents(w->core, the_noderole(w, noderole), &w->arena, &count);
    return count;
}

static void make_admin_node(struct world *w, const char *name)
{
    struct command command = cmd_node(w, name);
    command.node_create.admin = true;
    DONE(w, command);
}

static void commit_node(struct world *w, const char *name)
{
    DONE(w, CMD(NODE_COMMIT, node_commit, .id = the_node(w, name)));
}

static bool in_deployment(struct world *w, const char *noderole, const char *deployment)
{
    return read_noderole(w, noderole).deployment_id == the_deployment(w, deployment);
}

/* ---- implicit and discovery roles ---- */

TEST(c023_an_implicit_parent_imported_later_is_bound_with_its_child)
{
    struct world *w = world_open();
    world_role(w, "child", "'requires':['parent'],'flags':['implicit']");
    world_role(w, "parent", "'flags':['implicit']");
    make_admin_node(w, "n1");

    world_bind(w, "child@n1");
    commit_node(w, "n1");

    CHECK(noderoles_on(w, "n1") == 2);
    CHECK(world_has_edge(w, "parent@n1", "child@n1"));
    CHECK(read_role(w, "child").flags & ROLE_IMPLICIT);
    CHECK(read_role(w, "parent").flags & ROLE_IMPLICIT);
    world_close(w);
}

TEST(c024_an_implicit_parent_may_be_a_discovery_role)
{
    struct world *w = world_open();
    world_role(w, "parent", "'flags':['implicit','discovery']");
    world_role(w, "child", "'requires':['parent'],'flags':['implicit']");
    DONE(w, cmd_node(w, "n1"));

    world_bind(w, "child@n1");
    commit_node(w, "n1");

    CHECK(noderoles_on(w, "n1") == 2);
    IS(w, "parent@n1", "todo");
    IS(w, "child@n1", "blocked");
    world_close(w);
}

TEST(c025_after_the_commit_a_node_is_listed_in_its_deployment)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    make_admin_node(w, "n1");
    DONE(w, cmd_node(w, "n2"));
    world_bind(w, "a@n1");
    world_bind(w, "a@n2");
    commit_node(w, "n1");
    commit_node(w, "n2");
    CHECK(read_node(w, "n1").deployment_id == SYSTEM && read_node(w, "n1").available);
    CHECK(read_node(w, "n2").deployment_id == SYSTEM && read_node(w, "n2").available);
    CHECK(in_deployment(w, "a@n1", "system") && in_deployment(w, "a@n2", "system"));
    world_close(w);
}

/* ---- refused binds ---- */

TEST(c028_an_abstract_role_is_not_bound)
{
    struct world *w = world_open();
    world_role(w, "a", "'flags':['abstract']");
    world_node(w, "n1", NULL);
    REFUSED(w, cmd_bind(w, "a@n1", NULL), ABSTRACT_ROLE, NULL);
    CHECK(world_bound(w, "a@n1") == 0);
    world_close(w);
}

TEST(c029_a_role_that_conflicts_with_one_on_the_node_is_refused)
{
    struct world *w = world_open();
    world_role(w, "x", "");
    world_role(w, "r", "'conflicts':['x']");
    world_node(w, "n1", NULL);
    world_bind(w, "x@n1");
    HAS(REFUSED(w, cmd_bind(w, "r@n1", NULL), ROLE_CONFLICT, NULL), "x");
    world_close(w);
}

TEST(c029_a_conflict_declared_by_the_other_side_counts)
{
    struct world *w = world_open();
    world_role(w, "x", "");
    world_role(w, "r", "'conflicts':['x']");
    world_node(w, "n1", NULL);
    world_bind(w, "r@n1");
    HAS(REFUSED(w, cmd_bind(w, "x@n1", NULL), ROLE_CONFLICT, NULL), "r");
    world_node(w, "n2", NULL);
    world_bind(w, "x@n2");
    world_close(w);
}

TEST(c030_a_role_provided_by_one_on_the_node_is_refused)
{
    struct world *w = world_open();
    world_role(w, "r", "");
    world_role(w, "x", "'provides':['r']");
    world_node(w, "n1", NULL);
    world_bind(w, "x@n1");
    REFUSED(w, cmd_bind(w, "r@n1", NULL), PROVIDES_CLASH, NULL);
    world_close(w);
}

TEST(c030_a_role_providing_one_on_the_node_is_refused)
{
    struct world *w = world_open();
    world_role(w, "r", "");
    world_role(w, "x", "'provides':['r']");
    world_node(w, "n1", NULL);
    world_bind(w, "r@n1");
    REFUSED(w, cmd_bind(w, "x@n1", NULL), PROVIDES_CLASH, NULL);
    world_close(w);
}

TEST(c030_two_providers_of_one_role_do_not_share_a_node)
{
    struct world *w = world_open();
    world_role(w, "x", "'provides':['r','s']");
    world_role(w, "y", "'provides':['s','t']");
    world_node(w, "n1", NULL);
    world_bind(w, "x@n1");
    REFUSED(w, cmd_bind(w, "y@n1", NULL), PROVIDES_CLASH, NULL);
    world_close(w);
}

TEST(c030_all_problems_are_reported_not_only_the_first)
{
    struct world *w = world_open();
    world_role(w, "x", "'provides':['r']");
    world_role(w, "r", "'conflicts':['x'],'flags':['abstract']");
    world_node(w, "n1", NULL);
    world_bind(w, "x@n1");
    REFUSED(w, cmd_bind(w, "r@n1", NULL), ABSTRACT_ROLE, NULL);
    REFUSED(w, cmd_bind(w, "r@n1", NULL), ROLE_CONFLICT, NULL);
    REFUSED(w, cmd_bind(w, "r@n1", NULL), PROVIDES_CLASH, NULL);
    world_close(w);
}

/* ---- parent search ---- */

TEST(c031_a_provider_on_the_node_is_the_parent)
{
    struct world *w = world_open();
    world_role(w, "p", "");
    world_role(w, "x", "'provides':['p']");
    world_role(w, "child", "'requires':['p']");
    world_node(w, "n1", NULL);
    world_bind(w, "x@n1");

    world_bind(w, "child@n1");

    CHECK(world_has_edge(w, "x@n1", "child@n1"));
    CHECK(world_bound(w, "p@n1") == 0);
    world_close(w);
}

TEST(c032_a_parent_on_another_node_of_an_ancestor_deployment_is_used)
{
    struct world *w = world_open();
    world_role(w, "p", "");
    world_role(w, "child", "'requires':['p']");
    world_deployment(w, "d");
    world_node(w, "n1", NULL);
    world_node(w, "n2", "d");
    world_bind(w, "p@n1");

    world_bind_in(w, "child@n2", "d");

    CHECK(world_has_edge(w, "p@n1", "child@n2"));
    CHECK(noderoles_on(w, "n2") == 1);
    CHECK(noderoles_on(w, "n1") == 1);
    world_close(w);
}

TEST(c033_the_nearer_deployment_is_preferred)
{
    struct world *w = world_open();
    world_role(w, "p", "");
    world_role(w, "child", "'requires':['p']");
    world_deployment(w, "d");
    world_node(w, "n1", NULL);
    world_node(w, "n2", "d");
    world_node(w, "n3", "d");
    world_bind(w, "p@n1");
    world_bind_in(w, "p@n2", "d");

    world_bind_in(w, "child@n3", "d");

    CHECK(world_has_edge(w, "p@n2", "child@n3"));
    CHECK(parents_of(w, "child@n3") == 1);
    world_close(w);
}

TEST(c033_the_same_node_is_preferred_to_both)
{
    struct world *w = world_open();
    world_role(w, "p", "");
    world_role(w, "child", "'requires':['p']");
    world_deployment(w, "d");
    world_node(w, "n1", NULL);
    world_node(w, "n2", "d");
    world_node(w, "n3", "d");
    world_bind(w, "p@n1");
    world_bind_in(w, "p@n2", "d");
    world_bind_in(w, "p@n3", "system");

    world_bind_in(w, "child@n3", "d");

    CHECK(world_has_edge(w, "p@n3", "child@n3"));
    CHECK(parents_of(w, "child@n3") == 1);
    world_close(w);
}

TEST(c033_the_role_is_preferred_to_its_provider_and_the_lowest_id_to_others)
{
    struct world *w = world_open();
    world_role(w, "p", "");
    world_role(w, "x", "'provides':['p']");
    world_role(w, "child", "'requires':['p']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_node(w, "n3", NULL);
    world_node(w, "n4", NULL);
    world_bind(w, "x@n1");
    world_bind(w, "p@n3");
    world_bind(w, "p@n2");

    world_bind(w, "child@n4");

    CHECK(world_has_edge(w, "p@n3", "child@n4"));
    CHECK(parents_of(w, "child@n4") == 1);
    world_close(w);
}

TEST(c034_an_implicit_parent_is_searched_for_on_the_node_only)
{
    struct world *w = world_open();
    world_role(w, "p", "'flags':['implicit']");
    world_role(w, "child", "'requires':['p']");
    world_deployment(w, "d");
    world_node(w, "n1", NULL);
    world_node(w, "n2", "d");
    world_bind(w, "p@n1");

    world_bind_in(w, "child@n2", "d");

    CHECK(world_has_edge(w, "p@n2", "child@n2"));
    CHECK(in_deployment(w, "p@n2", "d"));
    CHECK(parents_of(w, "child@n2") == 1);
    world_close(w);
}

TEST(c035_a_parent_found_nowhere_is_created_on_the_node_in_the_deployment)
{
    struct world *w = world_open();
    world_role(w, "p", "");
    world_role(w, "child", "'requires':['p']");
    world_deployment(w, "d");
    world_node(w, "n1", "d");

    world_bind_in(w, "child@n1", "d");

    CHECK(world_has_edge(w, "p@n1", "child@n1"));
    CHECK(in_deployment(w, "p@n1", "d"));
    CHECK(the_deployment_role(w, "p", "d") != the_deployment_role(w, "child", "d"));
    IS(w, "p@n1", "proposed");
    IS(w, "child@n1", "proposed");
    world_close(w);
}

TEST(c036_an_unresolved_requirement_is_named_until_it_is_imported)
{
    struct world *w = world_open();
    world_role(w, "child", "'requires':['later']");
    world_node(w, "n1", NULL);
    HAS(REFUSED(w, cmd_bind(w, "child@n1", NULL), REQUIRE_UNRESOLVED, NULL), "later");

    world_role(w, "later", "");

    world_bind(w, "child@n1");
    CHECK(world_has_edge(w, "later@n1", "child@n1"));
    world_close(w);
}

TEST(c036_a_refused_parent_refuses_the_whole_bind)
{
    struct world *w = world_open();
    world_role(w, "good", "");
    world_role(w, "bad", "'requires':['later']");
    world_role(w, "child", "'requires':['good','bad']");
    world_node(w, "n1", NULL);
    REFUSED(w, cmd_bind(w, "child@n1", NULL), REQUIRE_UNRESOLVED, NULL);
    CHECK(noderoles_on(w, "n1") == 0);
    CHECK(core_deployment_role(w->core, SYSTEM, the_role(w, "good")) == 0);
    world_close(w);
}

TEST(c037_the_owner_of_a_wanted_attrib_becomes_a_parent)
{
    struct world *w = world_open();
    world_role(w, "q", "'attribs':[{'name':'q-port','map':'q/port'}]");
    world_role(w, "child", "'wants-attribs':['q-port']");
    world_node(w, "n1", NULL);

    world_bind(w, "child@n1");

    CHECK(world_has_edge(w, "q@n1", "child@n1"));
    CHECK(world_has_link(w, "q@n1", "child@n1", "q-port"));
    world_close(w);
}

TEST(c037_a_wanted_attrib_that_does_not_exist_is_named)
{
    struct world *w = world_open();
    world_role(w, "child", "'wants-attribs':['nowhere']");
    world_node(w, "n1", NULL);
    HAS(REFUSED(w, cmd_bind(w, "child@n1", NULL), ATTRIB_UNKNOWN, NULL), "nowhere");
    world_close(w);
}

TEST(c038_the_client_role_of_a_jig_is_a_parent_on_the_node)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'tools','source_path':'/src/tools'},"
                          "'jigs':[{'name':'tool','class':'script','implementor':'tool-client'}],"
                          "'roles':[{'name':'tool-client','jig':'noop','flags':['implicit']},"
                          "{'name':'a','jig':'tool'}]}"));
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "tool-client@n2");

    world_bind(w, "a@n1");

    CHECK(world_has_edge(w, "tool-client@n1", "a@n1"));
    CHECK(parents_of(w, "a@n1") == 1);
    world_close(w);
}

/* ---- jigs ---- */

static void switch_jig(struct world *w, const char *name, bool active)
{
    const int64_t id = core_find(w->core, TABLE_JIG, str_from(name));
    DONE(w, CMD(JIG_UPDATE, jig_update, .id = id, .given = GIVEN_JIG_ACTIVE, .active = active));
}

TEST(c039_without_the_test_jig_a_role_of_an_inactive_jig_is_refused)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    switch_jig(w, "script", false);
    HAS(REFUSED(w, cmd_bind(w, "a@n1", NULL), JIG_INACTIVE, NULL), "script");
    switch_jig(w, "script", true);
    world_bind(w, "a@n1");
    world_close(w);
}

TEST(c039_with_the_test_jig_the_role_runs_on_it_and_keeps_its_own)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    switch_jig(w, "script", false);
    DONE(w,
         CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_TEST_JIG, .test_jig = true));

    world_bind(w, "a@n1");
    world_bring(w, "a@n1", "transition");

    CHECK(str_eq(world_start(w, "a@n1")->jig, STR("test")));
    CHECK(str_eq(read_role(w, "a").jig_name, STR("script")));
    world_close(w);
}

TEST(c039_without_the_test_jig_the_role_runs_on_its_own)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bring(w, "a@n1", "transition");
    CHECK(str_eq(world_start(w, "a@n1")->jig, STR("script")));
    world_close(w);
}

/* ---- clusters ---- */

TEST(c040_a_child_of_a_cluster_depends_on_every_member)
{
    struct world *w = world_open();
    world_role(w, "m", "'flags':['cluster']");
    world_role(w, "child", "'requires':['m']");
    world_committed_deployment(w, "d");
    world_node(w, "n1", "d");
    world_node(w, "n2", "d");
    world_node(w, "n3", "d");
    world_bind_in(w, "m@n1", "d");
    world_bind_in(w, "m@n2", "d");

    world_bind_in(w, "child@n3", "d");

    CHECK(world_has_edge(w, "m@n1", "child@n3"));
    CHECK(world_has_edge(w, "m@n2", "child@n3"));
    CHECK(noderoles_on(w, "n3") == 1);
    world_close(w);
}

TEST(c040_members_of_another_deployment_are_no_peers)
{
    struct world *w = world_open();
    world_role(w, "m", "'flags':['cluster']");
    world_role(w, "child", "'requires':['m']");
    world_committed_deployment(w, "d");
    world_node(w, "n1", "d");
    world_node(w, "n2", NULL);
    world_node(w, "n3", "d");
    world_bind_in(w, "m@n1", "d");
    world_bind_in(w, "m@n2", "system");
    world_bind_in(w, "child@n3", "d");
    CHECK(parents_of(w, "child@n3") == 1);
    CHECK(world_has_edge(w, "m@n1", "child@n3"));
    world_close(w);
}

TEST(c041_a_new_member_adopts_the_children_of_its_peers)
{
    struct world *w = world_open();
    world_role(w, "m", "'flags':['cluster']");
    world_role(w, "child", "'requires':['m']");
    world_committed_deployment(w, "d");
    world_node(w, "n1", "d");
    world_node(w, "n3", "d");
    world_node(w, "n4", "d");
    world_bind_in(w, "m@n1", "d");
    world_bind_in(w, "child@n3", "d");
    world_commit_deployment(w, "d");
    world_run_all(w);
    IS(w, "child@n3", "active");

    world_bind_in(w, "m@n4", "d");
    CHECK(world_has_edge(w, "m@n4", "child@n3"));
    CHECK(world_has_edge(w, "m@n1", "child@n3"));
    IS(w, "child@n3", "active");

    world_commit(w, "m@n4");
    IS(w, "m@n4", "todo");
    IS(w, "m@n1", "active");
    IS(w, "child@n3", "blocked");

    world_anneal(w);
    world_finish(w, "m@n4", RESULT_OK);
    IS(w, "child@n3", "todo");
    world_run_all(w);
    IS(w, "child@n3", "active");
    world_close(w);
}

/* ---- cycles and cohorts of roles ---- */

TEST(c042_a_role_that_requires_itself_is_refused)
{
    struct world *w = world_open();
    HAS(REFUSED(w, cmd_role(w, "ra", "'requires':['ra']"), ROLE_CYCLE, NULL), "ra -> ra");
    world_close(w);
}

TEST(c042_two_roles_that_require_each_other_are_refused)
{
    struct world *w = world_open();
    world_role(w, "ra", "'requires':['rb']");
    const char *text = REFUSED(w, cmd_role(w, "rb", "'requires':['ra']"), ROLE_CYCLE, NULL);
    HAS(text, "ra -> rb");
    HAS(text, "rb -> ra");
    world_close(w);
}

TEST(c042_a_cycle_of_three_roles_is_refused)
{
    struct world *w = world_open();
    const char *text = REFUSED(w,
                               cmd_import(w, "{'barclamp':{'name':'x','source_path':'/src/x'},"
                                             "'roles':["
                                             "{'name':'ra','jig':'noop','requires':['rb']},"
                                             "{'name':'rb','jig':'noop','requires':['rc']},"
                                             "{'name':'rc','jig':'noop','requires':['ra']}]}"),
                               ROLE_CYCLE, NULL);
    HAS(text, " -> ra");
    HAS(text, " -> rb");
    HAS(text, " -> rc");
    world_close(w);
}

TEST(c042_a_cycle_through_a_wanted_attrib_is_refused)
{
    struct world *w = world_open();
    world_role(w, "a", "'requires':['b'],'attribs':[{'name':'a-x','map':'a/x'}]");
    REFUSED(w, cmd_role(w, "b", "'wants-attribs':['a-x']"), ROLE_CYCLE, NULL);
    world_close(w);
}

TEST(c043_a_chain_of_roles_has_cohorts_0_1_2)
{
    struct world *w = world_open();
    world_role(w, "c", "'requires':['b']");
    world_role(w, "a", "");
    world_role(w, "b", "'requires':['a']");
    CHECK(read_role(w, "a").cohort == 0);
    CHECK(read_role(w, "b").cohort == 1);
    CHECK(read_role(w, "c").cohort == 2);
    world_close(w);
}

TEST(c043_an_edge_from_a_role_of_a_high_cohort_raises_the_chain)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_role(w, "b", "'requires':['a']");
    world_role(w, "c", "'requires':['b']");
    world_role(w, "x0", "");
    world_role(w, "x1", "'requires':['x0']");
    world_role(w, "x2", "'requires':['x1']");
    world_role(w, "x3", "'requires':['x2']");
    world_role(w, "x4", "'requires':['x3']");

    world_role(w, "x", "'requires':['x4'],'attaches':['a']");

    CHECK(read_role(w, "x").cohort == 5);
    CHECK(read_role(w, "a").cohort == 6);
    CHECK(read_role(w, "b").cohort == 7);
    CHECK(read_role(w, "c").cohort == 8);
    world_close(w);
}

/* Binds m@n2 in cohort 5, because the provider of its base on n2 is in cohort 4. */
static void bind_member_in_cohort_5(struct world *w)
{
    world_role(w, "base", "");
    world_role(w, "m", "'flags':['cluster'],'requires':['base']");
    world_role(w, "a", "'requires':['m']");
    world_role(w, "b", "'requires':['a']");
    world_role(w, "c", "'requires':['b']");
    world_role(w, "d0", "'flags':['implicit']");
    world_role(w, "d1", "'flags':['implicit'],'requires':['d0']");
    world_role(w, "d2", "'flags':['implicit'],'requires':['d1']");
    world_role(w, "d3", "'flags':['implicit'],'requires':['d2']");
    world_role(w, "deep", "'requires':['d3'],'provides':['base']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_node(w, "n3", NULL);
    world_bind(w, "m@n1");
    world_bind(w, "c@n3");
    world_bind(w, "deep@n2");
    CHECK(read_noderole(w, "a@n3").cohort == 2);
    CHECK(read_noderole(w, "c@n3").cohort == 4);
    world_bind(w, "m@n2");
}

TEST(c043_an_edge_from_a_noderole_of_a_high_cohort_raises_the_chain)
{
    struct world *w = world_open();
    bind_member_in_cohort_5(w);
    CHECK(read_noderole(w, "m@n2").cohort == 5);
    CHECK(read_noderole(w, "a@n3").cohort == 6);
    CHECK(read_noderole(w, "b@n3").cohort == 7);
    CHECK(read_noderole(w, "c@n3").cohort == 8);
    world_close(w);
}

static void import_pair(struct world *w, const char *requires)
{
    const struct str head = STR("{'barclamp':{'name':'pair','source_path':'/src/pair'},'roles':["
                                "{'name':'a','jig':'noop'},{'name':'b','jig':'noop','requires':[");
    const struct str json = STR_CONCAT(&w->arena, head, str_from(requires), STR("]}]}"));
    DONE(w, cmd_import(w, str_z(&w->arena, json)));
}

TEST(c043_cohorts_never_decrease)
{
    struct world *w = world_open();
    import_pair(w, "'a'");
    CHECK(read_role(w, "b").cohort == 1);
    import_pair(w, "");
    CHECK(read_role(w, "b").requires.len <= 2); /* "" or "[]": none */
    CHECK(read_role(w, "b").cohort == 1);
    world_close(w);
}

/* ---- vetoes, repeated binds, ancestry ---- */

TEST(c044_a_veto_of_the_bind_creates_nothing)
{
    struct world *w = world_open();
    world_role(w, "p", "");
    world_role(w, "child", "'requires':['p'],'hooks':['on_node_bind']");
    world_node(w, "n1", NULL);
    w->veto = "on_node_bind";

    HAS(REFUSED(w, cmd_bind(w, "child@n1", NULL), HOOK_VETO, NULL), "I say no");

    CHECK(noderoles_on(w, "n1") == 0);
    CHECK(core_deployment_role(w->core, SYSTEM, the_role(w, "p")) == 0);
    w->veto = NULL;
    world_bind(w, "child@n1");
    CHECK(noderoles_on(w, "n1") == 2);
    world_close(w);
}

TEST(c044_on_node_bind_is_called_once_for_each_new_noderole)
{
    struct world *w = world_open();
    world_role(w, "p", "'hooks':['on_node_bind']");
    world_role(w, "child", "'requires':['p'],'hooks':['on_node_bind']");
    world_node(w, "n1", NULL);
    world_bind(w, "child@n1");
    EXPECT_EFFECTS(w, "ask on_node_bind p; ask on_node_bind child");
    world_bind(w, "child@n1");
    EXPECT_EFFECTS(w, "");
    world_close(w);
}

TEST(c045_the_same_bind_twice_is_the_same_noderole)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    const int64_t first = world_bind(w, "a@n1");
    CHECK(world_bind(w, "a@n1") == first);
    CHECK(noderoles_on(w, "n1") == 1);
    IS(w, "a@n1", "proposed");
    world_close(w);
}

TEST(c045_a_role_is_not_on_a_node_in_two_deployments)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    world_deployment(w, "d");
    world_bind(w, "a@n1");
    REFUSED(w, cmd_bind(w, "a@n1", "d"), BOUND_ELSEWHERE, NULL);
    world_close(w);
}

TEST(c045_without_a_deployment_the_role_is_bound_in_the_nodes_own)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_deployment(w, "d");
    world_node(w, "n1", "d");
    struct command command = cmd_bind(w, "a@n1", NULL);
    command.noderole_bind.deployment_id = 0;
    DONE(w, command);
    CHECK(in_deployment(w, "a@n1", "d"));
    world_close(w);
}

TEST(c045_the_bind_may_carry_data)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    struct command command = cmd_bind(w, "a@n1", NULL);
    command.noderole_bind.data = world_json(w, "{'x': 1}");
    DONE(w, command);
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").proposed_data), "{'x':1}");
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").committed_data), "{}");
    world_close(w);
}

TEST(c046_a_provider_below_the_provided_on_another_node_is_refused)
{
    struct world *w = world_open();
    world_role(w, "r", "");
    world_role(w, "q", "'requires':['r']");
    world_role(w, "x", "'requires':['q'],'provides':['r']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "q@n1");
    REFUSED(w, cmd_bind(w, "x@n2", NULL), PROVIDES_ANCESTRY, NULL);
    world_close(w);
}

TEST(c046_the_provided_below_its_provider_on_another_node_is_refused)
{
    struct world *w = world_open();
    world_role(w, "x", "'provides':['r']");
    world_role(w, "q", "'requires':['x']");
    world_role(w, "r", "'requires':['q']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "q@n1");
    REFUSED(w, cmd_bind(w, "r@n2", NULL), PROVIDES_ANCESTRY, NULL);
    world_close(w);
}

/* m@n2 would be a child of pz@n2, which provides z, and adopt z@n3. */
TEST(c046_an_adoption_may_not_put_a_provider_above_the_provided)
{
    struct world *w = world_open();
    world_role(w, "base", "");
    world_role(w, "m", "'flags':['cluster'],'requires':['base']");
    world_role(w, "z", "'requires':['m']");
    world_role(w, "pz", "'provides':['base','z']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_node(w, "n3", NULL);
    world_bind(w, "m@n1");
    world_bind(w, "z@n3");
    world_bind(w, "pz@n2");
    const char *text = REFUSED(w, cmd_bind(w, "m@n2", NULL), PROVIDES_ANCESTRY, NULL);
    HAS(text, "pz");
    HAS(text, "z");
    world_close(w);
}

/* ---- bootstrap and discovery ---- */

TEST(c047_bootstrap_roles_go_to_the_first_admin_node_only)
{
    struct world *w = world_open();
    world_role(w, "boot", "'flags':['bootstrap']");
    DONE(w, cmd_node(w, "n0"));
    make_admin_node(w, "n1");
    make_admin_node(w, "n2");
    CHECK(world_bound(w, "boot@n0") == 0);
    CHECK(world_bound(w, "boot@n1") != 0);
    CHECK(world_bound(w, "boot@n2") == 0);
    IS(w, "boot@n1", "proposed");
    world_close(w);
}

static struct command cmd_automatic(struct world *w, const char *name)
{
    struct command command = cmd_node(w, name);
    command.node_create.automatic = true;
    return command;
}

TEST(c047_bootstrap_roles_go_to_the_automatic_node_and_to_the_admin_node_that_replaces_it)
{
    struct world *w = world_open();
    world_role(w, "below", "'flags':['implicit']");
    world_role(w, "boot", "'flags':['bootstrap'],'requires':['below']");
    const int64_t old = DONE(w, cmd_automatic(w, "n1"));
    CHECK(read_node(w, "n1").admin && read_node(w, "n1").automatic);
    IS(w, "boot@n1", "proposed");
    CHECK(DONE(w, cmd_automatic(w, "other")) == old); /* a restart */
    world_reload(w);
    CHECK(read_node(w, "n1").automatic);
    DONE(w, cmd_node(w, "plain"));
    CHECK(read_node(w, "n1").id == old); /* not an admin node: nothing is replaced */
    make_admin_node(w, "n1");            /* of the same name */
    CHECK(read_node(w, "n1").id != old && !read_node(w, "n1").automatic);
    IS(w, "boot@n1", "proposed");
    make_admin_node(w, "n2");
    CHECK(world_bound(w, "boot@n2") == 0 && world_bound(w, "boot@n1") != 0);
    world_close(w);
}

TEST(c047_an_automatic_node_that_failed_before_it_ran_is_replaced)
{
    struct world *w = world_open();
    world_role(w, "boot", "'flags':['bootstrap']");
    struct command command = cmd_automatic(w, "n1");
    command.node_create.available = true; /* not alive: its noderole stays in TODO */
    DONE(w, command);
    world_commit(w, "boot@n1");
    IS(w, "boot@n1", "todo");
    make_admin_node(w, "n2");
    CHECK(core_find(w->core, TABLE_NODE, STR("n1.example.com")) == 0);
    CHECK(world_bound(w, "boot@n2") != 0);
    world_close(w);
}

/* An automatic node is in use if it has a role that no bootstrap role requires, a run, a dependent
 * noderole on another node, or if it is in another deployment. */
TEST(c047_an_automatic_node_in_use_stays_as_an_admin_node)
{
    for (int use = 0; use < 4; use++) {
        struct world *w = world_open();
        world_role(w, "boot", "'flags':['bootstrap']");
        world_role(w, "plain", "");
        world_role(w, "child", "'requires':['boot']");
        struct command command = cmd_automatic(w, "n1");
        command.node_create.alive = command.node_create.available = true;
        const int64_t id = DONE(w, command);
        if (use == 0)
            world_bind(w, "plain@n1");
        if (use == 1) {
            world_commit(w, "boot@n1");
            world_run_all(w);
            IS(w, "boot@n1", "active");
        }
        if (use == 2) {
            DONE(w, cmd_node(w, "m"));
            world_bind(w, "child@m");
            CHECK(world_has_edge(w, "boot@n1", "child@m"));
        }
        if (use == 3)
            DONE(w, CMD(NODE_UPDATE, node_update, .id = id, .given = GIVEN_NODE_DEPLOYMENT,
                        .deployment_id = world_deployment(w, "d")));
        make_admin_node(w, "n2");
        CHECK(read_node(w, "n1").id == id && read_node(w, "n1").admin);
        CHECK(!read_node(w, "n1").automatic && world_bound(w, "boot@n2") == 0);
        REFUSED(w, cmd_automatic(w, "n3"), WRONG_STATE, "automatic");
        world_close(w);
    }
}

TEST(c047_an_automatic_node_is_made_only_where_there_is_no_other)
{
    struct world *w = world_open();
    world_role(w, "boot", "'flags':['bootstrap']");
    world_deployment(w, "d"); /* and its phantom node */
    DONE(w, cmd_node(w, "plain"));
    REFUSED(w, cmd_automatic(w, "n1"), WRONG_STATE, "automatic");
    CHECK(core_find(w->core, TABLE_NODE, STR("n1.example.com")) == 0);
    world_close(w);
}

TEST(c047_an_automatic_node_without_noderoles_gets_its_roles_later)
{
    struct world *w = world_open();
    const int64_t id = DONE(w, cmd_automatic(w, "n1"));
    world_role(w, "boot", "'flags':['bootstrap']");
    CHECK(world_bound(w, "boot@n1") == 0);
    CHECK(DONE(w, cmd_automatic(w, "n1")) == id);
    IS(w, "boot@n1", "proposed");
    world_close(w);
}

TEST(c047_discovery_roles_are_bound_when_a_plain_node_is_committed)
{
    struct world *w = world_open();
    world_role(w, "disco", "'flags':['discovery']");
    DONE(w, cmd_node(w, "n1"));
    CHECK(world_bound(w, "disco@n1") == 0);
    commit_node(w, "n1");
    IS(w, "disco@n1", "todo");
    world_close(w);
}

TEST(c047_discovery_roles_are_not_for_admin_and_system_nodes)
{
    struct world *w = world_open();
    world_role(w, "disco", "'flags':['discovery']");
    make_admin_node(w, "n1");
    struct command command = cmd_node(w, "n2");
    command.node_create.system = true;
    DONE(w, command);
    commit_node(w, "n1");
    commit_node(w, "n2");
    CHECK(world_bound(w, "disco@n1") == 0);
    CHECK(world_bound(w, "disco@n2") == 0);
    world_close(w);
}

TEST(c047_a_node_that_carries_a_provider_of_a_discovery_role_is_not_discovered)
{
    struct world *w = world_open();
    world_role(w, "disco", "'flags':['discovery']");
    world_role(w, "joined", "'provides':['disco']");
    DONE(w, cmd_node(w, "n1"));
    world_bind(w, "joined@n1");
    commit_node(w, "n1");
    CHECK(world_bound(w, "disco@n1") == 0);
    IS(w, "joined@n1", "todo");
    world_close(w);
}

/* ---- cycles of noderoles ---- */

/* c@n2 is a child of m@n1 and provides what m requires on n2: m@n2 would be its parent and its
 * child. */
static void prepare_cycle(struct world *w)
{
    world_role(w, "base", "'flags':['abstract']");
    world_role(w, "q", "'provides':['base']");
    world_role(w, "m", "'flags':['cluster'],'requires':['base']");
    world_role(w, "c", "'requires':['m'],'provides':['base']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "q@n1");
    world_bind(w, "m@n1");
    world_bind(w, "c@n2");
    CHECK(world_has_edge(w, "m@n1", "c@n2"));
}

TEST(c253_a_bind_that_closes_a_cycle_by_adoption_is_refused_with_the_chain)
{
    struct world *w = world_open();
    prepare_cycle(w);
    const char *text = REFUSED(w, cmd_bind(w, "m@n2", NULL), GRAPH_CYCLE, NULL);
    HAS(text, "m");
    HAS(text, "c");
    HAS(text, "->");
    CHECK(world_bound(w, "m@n2") == 0);
    CHECK(parents_of(w, "c@n2") == 1);
    world_close(w);
}

/* The same with one more noderole: c0@n2 -> c@n2 -> m@n2 -> c0@n2. */
TEST(c253_a_longer_cycle_is_refused_too)
{
    struct world *w = world_open();
    world_role(w, "base", "'flags':['abstract']");
    world_role(w, "q", "'provides':['base']");
    world_role(w, "m", "'flags':['cluster'],'requires':['base']");
    world_role(w, "c0", "'requires':['m']");
    world_role(w, "c", "'requires':['c0'],'provides':['base']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "q@n1");
    world_bind(w, "m@n1");
    world_bind(w, "c@n2");
    CHECK(world_has_edge(w, "c0@n2", "c@n2"));
    const char *text = REFUSED(w, cmd_bind(w, "m@n2", NULL), GRAPH_CYCLE, NULL);
    HAS(text, "c0");
    CHECK(world_bound(w, "m@n2") == 0);
    world_close(w);
}
