/* Goal: cases 48 to 64 of docs/spec/cases.md: the states of a noderole (docs/spec/states.md,
 * ADR 0006).
 * Method: commands to a core in memory; states, runs and hook calls are checked after each. */
#include <string.h>

#include "tests/world/world.h"

/* g@n0 <- p@n1 <- c@n2, all PROPOSED in system. */
static struct world *open_a_chain(void)
{
    struct world *w = world_open();
    world_role(w, "g", "");
    world_role(w, "p", "'requires':['g']");
    world_role(w, "c", "'requires':['p']");
    world_node(w, "n0", NULL);
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "g@n0");
    world_bind(w, "p@n1");
    world_bind(w, "c@n2");
    return w;
}

static void set_data(struct world *w, const char *noderole, const char *quoted)
{
    DONE(w, CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(w, noderole),
                .data = world_json(w, quoted)));
}

/* ---- commit ---- */

TEST(c048_commit_without_parents_is_todo)
{
    struct world *w = open_a_chain();
    world_commit(w, "g@n0");
    IS(w, "g@n0", "todo");
    world_close(w);
}

TEST(c048_commit_with_active_parents_is_todo)
{
    struct world *w = open_a_chain();
    world_bring(w, "g@n0", "active");
    world_commit(w, "p@n1");
    IS(w, "p@n1", "todo");
    world_close(w);
}

TEST(c048_commit_with_a_proposed_parent_is_blocked)
{
    struct world *w = open_a_chain();
    world_commit(w, "p@n1");
    IS(w, "p@n1", "blocked");
    world_close(w);
}

TEST(c048_commit_with_a_blocked_parent_is_blocked)
{
    struct world *w = open_a_chain();
    world_commit(w, "p@n1");
    world_commit(w, "c@n2");
    IS(w, "c@n2", "blocked");
    world_close(w);
}

TEST(c048_commit_with_a_todo_parent_is_blocked)
{
    struct world *w = open_a_chain();
    world_bring(w, "g@n0", "todo");
    world_commit(w, "p@n1");
    IS(w, "p@n1", "blocked");
    world_close(w);
}

TEST(c048_commit_with_a_parent_in_transition_is_blocked)
{
    struct world *w = open_a_chain();
    world_bring(w, "g@n0", "transition");
    world_commit(w, "p@n1");
    IS(w, "p@n1", "blocked");
    world_close(w);
}

TEST(c048_commit_with_a_parent_in_error_is_blocked)
{
    struct world *w = open_a_chain();
    world_bring(w, "g@n0", "error");
    world_commit(w, "p@n1");
    IS(w, "p@n1", "blocked");
    world_close(w);
}

TEST(c049_only_a_proposed_noderole_is_committed)
{
    static const char *const states[] = {"todo", "transition", "active", "error"};
    for (int i = 0; i < 4; i++) {
        struct world *w = open_a_chain();
        world_bring(w, "g@n0", states[i]);
        REFUSED(w, cmd_commit(w, "g@n0"), WRONG_STATE, NULL);
        world_close(w);
    }
}

TEST(c049_a_blocked_noderole_is_not_committed_again)
{
    struct world *w = open_a_chain();
    world_commit(w, "p@n1");
    REFUSED(w, cmd_commit(w, "p@n1"), WRONG_STATE, NULL);
    world_close(w);
}

TEST(c050_data_of_the_deployment_role_is_committed_first)
{
    struct world *w = open_a_chain();
    const int64_t dr = the_deployment_role(w, "g", "system");
    DONE(w, CMD(DEPLOYMENT_ROLE_DATA, deployment_role_data, .id = dr,
                .data = world_json(w, "{'x':1}")));

    REFUSED(w, cmd_commit(w, "g@n0"), DATA_PROPOSED, NULL);

    DONE(w, CMD(DEPLOYMENT_ROLE_COMMIT, deployment_role_commit, .id = dr));
    world_commit(w, "g@n0");
    IS(w, "g@n0", "todo");
    world_close(w);
}

TEST(c050_a_commit_of_the_deployment_does_both_in_order)
{
    struct world *w = open_a_chain();
    const int64_t dr = the_deployment_role(w, "g", "system");
    DONE(w, CMD(DEPLOYMENT_ROLE_DATA, deployment_role_data, .id = dr,
                .data = world_json(w, "{'x':1}")));
    world_commit_deployment(w, "system");
    IS(w, "g@n0", "todo");
    IS(w, "p@n1", "blocked");
    CHECK(!read_deployment_role(w, "g", "system").proposed);
    EXPECT_STR(shown(w, read_deployment_role(w, "g", "system").committed_data), "{'x':1}");
    world_close(w);
}

/* ---- effects of a state on parents and children ---- */

TEST(c051_a_blocked_child_becomes_todo_when_its_parent_is_active)
{
    struct world *w = open_a_chain();
    world_commit(w, "p@n1");
    world_commit(w, "c@n2");
    world_bring(w, "g@n0", "active");
    IS(w, "p@n1", "todo");
    IS(w, "c@n2", "blocked");
    world_close(w);
}

TEST(c051_a_child_waits_for_its_last_parent)
{
    struct world *w = open_a_chain();
    world_role(w, "two", "'requires':['g','o']");
    world_role(w, "o", "");
    world_node(w, "n3", NULL);
    world_node(w, "n4", NULL);
    world_bind(w, "o@n3");
    world_bind(w, "two@n4");
    world_commit(w, "two@n4");

    world_bring(w, "g@n0", "active");
    IS(w, "two@n4", "blocked");

    world_bring(w, "o@n3", "active");
    IS(w, "two@n4", "todo");
    world_close(w);
}

/* Opens a world with x@n1 and one descendant of it in each possible state. */
static struct world *open_descendants(void)
{
    struct world *w = world_open();
    world_role(w, "x", "");
    world_role(w, "o", "");
    world_role(w, "act", "'requires':['x']");
    world_role(w, "grand", "'requires':['act']");
    world_role(w, "blk", "'requires':['x','o']");
    world_role(w, "prop", "'requires':['x']");
    world_role(w, "tra", "'requires':['x']");
    static const char *const bound[] = {"x@n1",   "act@n2",  "grand@n3", "o@n4",
                                        "blk@n5", "prop@n6", "tra@n7"};
    for (int i = 0; i < 7; i++) {
        world_node(w, strchr(bound[i], '@') + 1, NULL);
        world_bind(w, bound[i]);
    }
    world_bring(w, "x@n1", "active");
    world_bring(w, "act@n2", "active");
    world_bring(w, "grand@n3", "todo");
    world_commit(w, "blk@n5");
    world_bring(w, "tra@n7", "transition");
    return w;
}

TEST(c052_an_error_blocks_every_descendant_but_proposed_and_running_ones)
{
    struct world *w = open_descendants();
    DONE(w, cmd_enqueue(w, "x@n1"));
    world_anneal(w);
    IS(w, "act@n2", "active");
    IS(w, "grand@n3", "todo");

    world_finish(w, "x@n1", RESULT_FAILED);

    IS(w, "x@n1", "error");
    IS(w, "act@n2", "blocked");
    IS(w, "grand@n3", "blocked");
    IS(w, "blk@n5", "blocked");
    IS(w, "prop@n6", "proposed");
    IS(w, "tra@n7", "transition");
    world_close(w);
}

TEST(c052_a_run_that_outlives_the_error_of_its_parent_still_counts)
{
    struct world *w = open_descendants();
    DONE(w, cmd_enqueue(w, "x@n1"));
    world_anneal(w);
    world_finish(w, "x@n1", RESULT_FAILED);
    world_finish(w, "tra@n7", RESULT_OK);
    IS(w, "tra@n7", "active");
    world_close(w);
}

TEST(c052_an_error_drops_the_queued_runs_of_its_descendants)
{
    struct world *w = open_descendants();
    DONE(w, cmd_enqueue(w, "x@n1"));
    world_anneal(w);
    DONE(w, cmd_enqueue(w, "act@n2"));
    CHECK(world_runs(w, "act@n2") == 1);
    world_finish(w, "x@n1", RESULT_FAILED);
    CHECK(world_runs(w, "act@n2") == 0);
    world_close(w);
}

TEST(c052_an_error_fires_on_blocked_below)
{
    struct world *w = world_open();
    world_role(w, "x", "");
    world_role(w, "y", "'requires':['x'],'hooks':['on_blocked']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "x@n1");
    world_bind(w, "y@n2");
    world_bring(w, "x@n1", "active");
    world_bring(w, "y@n2", "active");
    DONE(w, cmd_enqueue(w, "x@n1"));
    world_anneal(w);
    world_clear_effects(w);
    world_finish(w, "x@n1", RESULT_FAILED);
    EXPECT_EFFECTS(w, "on_blocked y@n2");
    world_close(w);
}

TEST(c053_an_error_does_not_change_a_blocked_noderole)
{
    struct world *w = world_open();
    world_role(w, "p", "");
    world_role(w, "c", "'requires':['p'],'hooks':['on_blocked']");
    world_node(w, "n1", NULL);
    world_bind(w, "c@n1");
    world_commit(w, "c@n1");
    IS(w, "c@n1", "blocked");

    world_answer(w, "on_blocked c@n1", true, STR(""));

    IS(w, "c@n1", "blocked");
    world_close(w);
}

/* ---- retry ---- */

TEST(c054_retry_of_an_error_is_todo)
{
    struct world *w = open_a_chain();
    world_bring(w, "g@n0", "active");
    world_bring(w, "p@n1", "error");
    DONE(w, cmd_retry(w, "p@n1"));
    IS(w, "p@n1", "todo");
    world_close(w);
}

TEST(c054_retry_of_an_active_noderole_is_todo)
{
    struct world *w = open_a_chain();
    world_bring(w, "g@n0", "active");
    world_bring(w, "p@n1", "active");
    DONE(w, cmd_retry(w, "p@n1"));
    IS(w, "p@n1", "todo");
    world_close(w);
}

TEST(c054_retry_needs_every_parent_active)
{
    struct world *w = open_a_chain();
    world_bring(w, "g@n0", "active");
    world_bring(w, "p@n1", "error");
    DONE(w, cmd_propose(w, "g@n0"));
    IS(w, "p@n1", "error");
    REFUSED(w, cmd_retry(w, "p@n1"), PARENTS_NOT_ACTIVE, NULL);
    world_close(w);
}

TEST(c054_retry_of_an_active_noderole_needs_every_parent_active)
{
    struct world *w = open_a_chain();
    world_bring(w, "g@n0", "active");
    world_bring(w, "p@n1", "active");
    world_available(w, "n0", false);
    DONE(w, cmd_retry(w, "g@n0"));
    IS(w, "p@n1", "active");
    REFUSED(w, cmd_retry(w, "p@n1"), PARENTS_NOT_ACTIVE, NULL);
    world_close(w);
}

TEST(c054_retry_of_a_proposed_or_blocked_noderole_is_refused)
{
    struct world *w = open_a_chain();
    REFUSED(w, cmd_retry(w, "g@n0"), WRONG_STATE, NULL);
    world_commit(w, "p@n1");
    REFUSED(w, cmd_retry(w, "p@n1"), NONE, NULL);
    IS(w, "p@n1", "blocked");
    world_close(w);
}

TEST(c055_retry_of_a_parent_blocks_its_waiting_and_failed_children_only)
{
    struct world *w = open_a_chain();
    world_role(w, "err", "'requires':['g']");
    world_role(w, "act", "'requires':['g']");
    world_node(w, "n3", NULL);
    world_node(w, "n4", NULL);
    world_bind(w, "err@n3");
    world_bind(w, "act@n4");
    world_bring(w, "g@n0", "active");
    world_bring(w, "p@n1", "todo");
    world_bring(w, "err@n3", "error");
    world_bring(w, "act@n4", "active");

    DONE(w, cmd_retry(w, "g@n0"));

    IS(w, "p@n1", "blocked");
    IS(w, "err@n3", "blocked");
    IS(w, "act@n4", "active");
    world_close(w);
}

/* ---- start and end of runs ---- */

TEST(c056_a_start_clears_the_runlog)
{
    struct world *w = open_a_chain();
    world_bring(w, "g@n0", "error");
    HAS(shown(w, read_noderole(w, "g@n0").runlog), "it broke");
    DONE(w, cmd_retry(w, "g@n0"));
    world_anneal(w);
    IS(w, "g@n0", "transition");
    CHECK(read_noderole(w, "g@n0").runlog.len == 0);
    world_close(w);
}

TEST(c056_nothing_starts_from_proposed_blocked_or_error)
{
    struct world *w = open_a_chain();
    world_bring(w, "g@n0", "error");
    world_commit(w, "p@n1");
    world_clear_effects(w);
    DONE(w, cmd_enqueue(w, "g@n0"));
    DONE(w, cmd_enqueue(w, "p@n1"));
    DONE(w, cmd_enqueue(w, "c@n2"));
    world_anneal(w);
    EXPECT_EFFECTS(w, "");
    IS(w, "g@n0", "error");
    IS(w, "p@n1", "blocked");
    IS(w, "c@n2", "proposed");
    world_close(w);
}

TEST(c057_every_success_is_counted)
{
    struct world *w = open_a_chain();
    world_bring(w, "g@n0", "active");
    CHECK(read_noderole(w, "g@n0").run_count == 1);
    DONE(w, cmd_retry(w, "g@n0"));
    world_run_all(w);
    CHECK(read_noderole(w, "g@n0").run_count == 2);
    world_close(w);
}

TEST(c057_a_failure_is_not_counted)
{
    struct world *w = open_a_chain();
    world_bring(w, "g@n0", "error");
    CHECK(read_noderole(w, "g@n0").run_count == 0);
    world_close(w);
}

TEST(c057_a_success_that_makes_its_node_not_alive_settles_the_noderole)
{
    struct world *w = open_a_chain();
    world_bring(w, "g@n0", "transition");
    world_finish_with(w, "g@n0", (struct run_done_command){.result = RESULT_OK, .node_dead = true});
    CHECK(!read_node(w, "n0").alive);
    CHECK(read_noderole(w, "g@n0").run_count == 1);
    IS(w, "g@n0", "todo");
    world_close(w);
}

TEST(c057_the_result_of_a_run_cancelled_by_the_death_of_its_node_is_ignored)
{
    struct world *w = open_a_chain();
    world_bring(w, "g@n0", "transition");
    const struct start start = *world_start(w, "g@n0");
    world_alive(w, "n0", false);
    IS(w, "g@n0", "todo");
    DONE(w, CMD(RUN_DONE, run_done, .run_id = start.run, .attempt = start.attempt,
                .result = RESULT_OK));
    IS(w, "g@n0", "todo");
    CHECK(read_noderole(w, "g@n0").run_count == 0);
    CHECK(world_runs(w, NULL) == 0);
    world_close(w);
}

TEST(c058_a_destructive_role_runs_once)
{
    struct world *w = world_open();
    world_role(w, "wipe",
               "'flags':['destructive'],"
               "'hooks':['on_todo','on_transition','on_active']");
    world_node(w, "n1", NULL);
    world_bind(w, "wipe@n1");
    world_commit(w, "wipe@n1");
    world_run_all(w);
    EXPECT_EFFECTS(w, "on_todo wipe@n1; on_transition wipe@n1; start wipe@n1; on_active wipe@n1");
    CHECK(read_noderole(w, "wipe@n1").run_count == 1);

    DONE(w, cmd_retry(w, "wipe@n1"));
    IS(w, "wipe@n1", "todo");
    world_run_all(w);

    EXPECT_EFFECTS(w, "");
    IS(w, "wipe@n1", "active");
    CHECK(read_noderole(w, "wipe@n1").run_count == 1);
    CHECK(world_runs(w, NULL) == 0);
    world_close(w);
}

TEST(c058_a_destructive_role_that_failed_runs_again)
{
    struct world *w = world_open();
    world_role(w, "wipe", "'flags':['destructive']");
    world_node(w, "n1", NULL);
    world_bind(w, "wipe@n1");
    world_bring(w, "wipe@n1", "error");
    DONE(w, cmd_retry(w, "wipe@n1"));
    world_clear_effects(w);
    world_run_all(w);
    EXPECT_EFFECTS(w, "start wipe@n1");
    world_close(w);
}

/* ---- propose ---- */

TEST(c059_propose_keeps_active_children_and_blocks_waiting_ones)
{
    struct world *w = open_a_chain();
    world_role(w, "act", "'requires':['g']");
    world_node(w, "n3", NULL);
    world_bind(w, "act@n3");
    world_bring(w, "g@n0", "active");
    world_bring(w, "act@n3", "active");
    world_bring(w, "p@n1", "todo");

    DONE(w, cmd_propose(w, "g@n0"));

    IS(w, "g@n0", "proposed");
    IS(w, "act@n3", "active");
    IS(w, "p@n1", "blocked");
    world_close(w);
}

TEST(c059_the_next_commit_settles_and_publishes_the_edited_data)
{
    struct world *w = open_a_chain();
    set_data(w, "g@n0", "{'x':1}");
    world_bring(w, "g@n0", "active");
    DONE(w, cmd_propose(w, "g@n0"));
    set_data(w, "g@n0", "{'x':2}");
    EXPECT_STR(shown(w, read_noderole(w, "g@n0").committed_data), "{'x':1}");

    world_commit(w, "g@n0");

    IS(w, "g@n0", "todo");
    EXPECT_STR(shown(w, read_noderole(w, "g@n0").committed_data), "{'x':2}");
    world_run_all(w);
    EXPECT_STR(world_path(w, world_start(w, "g@n0")->data, "x"), "2");
    world_close(w);
}

TEST(c059_propose_of_a_running_noderole_cancels_its_run)
{
    struct world *w = open_a_chain();
    world_bring(w, "g@n0", "transition");
    world_clear_effects(w);
    DONE(w, cmd_propose(w, "g@n0"));
    EXPECT_EFFECTS(w, "cancel g@n0");
    IS(w, "g@n0", "proposed");
    CHECK(world_run(w, "g@n0", RUN_STOPPING) != 0);
    world_run_all(w);
    IS(w, "g@n0", "proposed");
    CHECK(world_runs(w, NULL) == 0);
    world_close(w);
}

/* ---- flags of the node ---- */

/* On n1: a ACTIVE, b (child of a) in TRANSITION, e in ERROR, pr PROPOSED, and a queued run. */
static struct world *open_a_busy_node(void)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_role(w, "b", "'requires':['a']");
    world_role(w, "e", "");
    world_role(w, "pr", "");
    world_node(w, "n1", NULL);
    world_bind(w, "b@n1");
    world_bind(w, "e@n1");
    world_bind(w, "pr@n1");
    world_bring(w, "a@n1", "active");
    world_bring(w, "b@n1", "active");
    world_bring(w, "e@n1", "error");
    DONE(w, cmd_enqueue(w, "b@n1"));
    world_anneal(w);
    DONE(w, cmd_enqueue(w, "a@n1"));
    world_anneal(w);
    IS(w, "b@n1", "transition");
    CHECK(world_run(w, "a@n1", RUN_QUEUED) != 0);
    world_clear_effects(w);
    return w;
}

TEST(c060_the_death_of_a_node_settles_everything_on_it)
{
    struct world *w = open_a_busy_node();
    world_alive(w, "n1", false);
    IS(w, "a@n1", "todo");
    IS(w, "b@n1", "blocked");
    IS(w, "e@n1", "todo");
    IS(w, "pr@n1", "proposed");
    CHECK(world_run(w, "a@n1", RUN_QUEUED) == 0);
    EXPECT_EFFECTS(w, "cancel b@n1");
    world_close(w);
}

TEST(c060_the_slot_of_a_dead_node_is_free_when_its_worker_has_stopped)
{
    struct world *w = open_a_busy_node();
    world_alive(w, "n1", false);
    world_clear_effects(w);
    world_alive(w, "n1", true);
    world_deliver(w);
    world_anneal(w);
    EXPECT_EFFECTS(w, "");
    CHECK(world_run(w, "b@n1", RUN_STOPPING) != 0);

    DONE(w, CMD(RUN_STOPPED, run_stopped, .run_id = world_run(w, "b@n1", RUN_STOPPING),
                .attempt = world_start(w, "b@n1")->attempt));
    world_anneal(w);

    EXPECT_EFFECTS(w, "start a@n1");
    world_close(w);
}

TEST(c060_a_node_that_comes_back_runs_everything_again)
{
    struct world *w = open_a_busy_node();
    world_alive(w, "n1", false);
    world_run_all(w);
    IS(w, "a@n1", "todo");
    world_alive(w, "n1", true);
    world_run_all(w);
    IS(w, "a@n1", "active");
    IS(w, "b@n1", "active");
    IS(w, "e@n1", "active");
    world_close(w);
}

TEST(c061_an_unavailable_node_keeps_its_states_and_starts_nothing)
{
    struct world *w = open_a_chain();
    world_bring(w, "g@n0", "active");
    world_commit(w, "p@n1");
    world_available(w, "n1", false);
    world_available(w, "n0", false);
    world_clear_effects(w);
    world_anneal(w);
    EXPECT_EFFECTS(w, "");
    IS(w, "g@n0", "active");
    IS(w, "p@n1", "todo");

    world_available(w, "n1", true);
    world_anneal(w);

    EXPECT_EFFECTS(w, "start p@n1");
    world_close(w);
}

TEST(c062_one_error_stops_starts_on_the_node_until_it_is_retried)
{
    struct world *w = world_open();
    world_role(w, "bad", "");
    world_role(w, "other", "");
    world_node(w, "n1", NULL);
    world_bind(w, "bad@n1");
    world_bind(w, "other@n1");
    world_bring(w, "bad@n1", "error");
    world_commit(w, "other@n1");
    world_clear_effects(w);
    world_anneal(w);
    EXPECT_EFFECTS(w, "");
    IS(w, "other@n1", "todo");

    DONE(w, cmd_retry(w, "bad@n1"));
    world_run_all(w);

    EXPECT_EFFECTS(w, "start bad@n1; start other@n1");
    IS(w, "other@n1", "active");
    world_close(w);
}

TEST(c062_propose_or_delete_of_the_failed_noderole_permits_starts_again)
{
    struct world *w = world_open();
    world_role(w, "bad", "");
    world_role(w, "other", "");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "bad@n1");
    world_bind(w, "bad@n2");
    world_bind(w, "other@n1");
    world_bind(w, "other@n2");
    world_bring(w, "bad@n1", "error");
    world_bring(w, "bad@n2", "error");
    world_commit(w, "other@n1");
    world_commit(w, "other@n2");
    DONE(w, cmd_propose(w, "bad@n1"));
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "bad@n2")));
    world_run_all(w);
    IS(w, "other@n1", "active");
    IS(w, "other@n2", "active");
    world_close(w);
}

/* ---- proposed noderoles and deployments ---- */

static const char all_state_hooks[] =
    "'hooks':['on_proposed','on_blocked','on_todo','on_transition','on_active','on_error']";

TEST(c063_nothing_runs_in_a_proposed_deployment)
{
    struct world *w = world_open();
    world_role(w, "a", all_state_hooks);
    world_deployment(w, "d");
    world_node(w, "n1", "d");
    world_bind_in(w, "a@n1", "d");
    EXPECT_EFFECTS(w, "on_proposed a@n1");
    world_deliver(w);

    world_commit(w, "a@n1");
    world_anneal(w);

    IS(w, "a@n1", "todo");
    EXPECT_EFFECTS(w, "");
    CHECK(world_runs(w, NULL) == 0);
    world_commit_deployment(w, "d");
    world_run_all(w);
    IS(w, "a@n1", "active");
    world_close(w);
}

TEST(c064_on_proposed_fires_at_creation_and_at_every_later_save)
{
    struct world *w = world_open();
    world_role(w, "a",
               "'hooks':['on_proposed'],"
               "'attribs':[{'name':'a-x','map':'a/x','schema':{'type':'int'}}]");
    world_node(w, "n1", NULL);
    const int64_t a = world_bind(w, "a@n1");
    EXPECT_EFFECTS(w, "on_proposed a@n1");
    set_data(w, "a@n1", "{'b':2}");
    EXPECT_EFFECTS(w, "on_proposed a@n1");
    DONE(w, cmd_set(w, TABLE_NODEROLE, a, "a-x", BUCKET_USER, "1"));
    EXPECT_EFFECTS(w, "on_proposed a@n1");
    world_deliver(w);
    world_bring(w, "a@n1", "active");
    world_clear_effects(w);
    DONE(w, cmd_propose(w, "a@n1"));
    EXPECT_EFFECTS(w, "on_proposed a@n1");
    world_close(w);
}

TEST(c064_a_hook_call_is_an_effect_of_the_step)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_proposed']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    CHECK(w->fx.count == 1);
    CHECK(w->fx.first->kind == EFFECT_OUTBOX);
    CHECK(w->fx.first->id == world_waiting(w, "on_proposed a@n1"));
    world_close(w);
}

TEST(c064_a_failed_on_proposed_refuses_the_commit_until_it_succeeds)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_proposed']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_answer(w, "on_proposed a@n1", true, STR(""));
    IS(w, "a@n1", "proposed");
    HAS(shown(w, read_noderole(w, "a@n1").status), "no luck");
    REFUSED(w, cmd_commit(w, "a@n1"), HOOK_FAILED, NULL);

    set_data(w, "a@n1", "{'x':1}");
    world_answer(w, "on_proposed a@n1", false, STR(""));

    world_commit(w, "a@n1");
    IS(w, "a@n1", "todo");
    world_close(w);
}
