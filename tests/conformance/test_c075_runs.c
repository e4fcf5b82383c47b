/* Goal: cases 75 to 87 of docs/spec/cases.md: the run queue and the annealer, which starts the runs
 * of noderoles in TODO (docs/spec/runs.md, ADR 0008, ADR 0010, ADR 0019).
 * Method: commands to a core in memory; the started runs, their data and results are checked. */
#include <stdio.h>
#include <string.h>

#include "tests/world/world.h"

/* Returns the prefix followed by the number: "a@n3". */
static const char *numbered(struct world *w, const char *prefix, int number)
{
    char text[64];
    snprintf(text, sizeof text, "%s%d", prefix, number);
    return str_z(&w->arena, str_from(text));
}

static void set_quirks(struct world *w, const char *node, const char *quoted)
{
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, node), .given = GIVEN_NODE_QUIRKS,
                .quirks = world_json(w, quoted)));
}

static const char *started_with(struct world *w, const char *noderole, const char *path)
{
    const struct start *start = world_start(w, noderole);
    return start ? world_path(w, start->data, path) : "never started";
}

/* a@n1 is ACTIVE. */
static struct world *open_an_active(const char *rest)
{
    struct world *w = world_open();
    world_role(w, "a", rest);
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bring(w, "a@n1", "active");
    world_clear_effects(w);
    return w;
}

/* ---- order ---- */

TEST(c075_on_one_node_the_lower_cohort_goes_first)
{
    struct world *w = world_open();
    world_role(w, "late", "'requires':['early']");
    world_role(w, "early", "'jig':'noop'");
    world_role(w, "zero", "");
    world_node(w, "n1", NULL);
    world_bind(w, "late@n1");
    world_bind(w, "zero@n1");
    world_bring(w, "early@n1", "active");
    world_commit(w, "late@n1");
    world_commit(w, "zero@n1");
    CHECK(the_noderole(w, "late@n1") < the_noderole(w, "zero@n1"));
    world_clear_effects(w);
    world_run_all(w);
    EXPECT_EFFECTS(w, "start zero@n1; start late@n1");
    world_close(w);
}

TEST(c075_in_one_cohort_the_lower_id_goes_first_and_they_never_overlap)
{
    struct world *w = world_open();
    world_role(w, "z", "");
    world_role(w, "y", "");
    world_node(w, "n1", NULL);
    world_bind(w, "z@n1");
    world_bind(w, "y@n1");
    world_commit_deployment(w, "system");
    world_anneal(w);
    EXPECT_EFFECTS(w, "start z@n1");
    IS(w, "y@n1", "todo");
    world_finish(w, "z@n1", RESULT_OK);
    world_anneal(w);
    EXPECT_EFFECTS(w, "start y@n1");
    world_close(w);
}

TEST(c076_nodes_run_concurrently_up_to_the_size_of_the_pool)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    for (int i = 1; i <= 11; i++) {
        world_node(w, numbered(w, "n", i), NULL);
        world_bind(w, numbered(w, "a@n", i));
    }
    world_commit_deployment(w, "system");
    world_anneal(w);
    CHECK(world_runs(w, NULL) == 10);
    IS(w, "a@n11", "todo");

    world_finish(w, "a@n4", RESULT_OK);
    world_anneal(w);

    IS(w, "a@n11", "transition");
    CHECK(world_runs(w, NULL) == 10);
    world_close(w);
}

TEST(c076_the_size_of_the_pool_is_a_setting)
{
    struct world *w = world_open();
    struct record record;
    CHECK(core_record(w->core, TABLE_SETTINGS, 1, &record));
    CHECK(record.settings.pool_normal == 10 && record.settings.pool_high == 2);
    DONE(w, CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_POOL_NORMAL,
                .pool_normal = 1));
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "a@n1");
    world_bind(w, "a@n2");
    world_commit_deployment(w, "system");
    world_anneal(w);
    EXPECT_EFFECTS(w, "start a@n1");
    DONE(w, CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_POOL_NORMAL,
                .pool_normal = 2));
    world_anneal(w);
    EXPECT_EFFECTS(w, "start a@n2");
    world_close(w);
}

TEST(c076_an_instant_run_needs_no_worker)
{
    struct world *w = world_open();
    world_role(w, "a", "'jig':'noop'");
    for (int i = 1; i <= 30; i++) {
        world_node(w, numbered(w, "n", i), NULL);
        world_bind(w, numbered(w, "a@n", i));
    }
    world_commit_deployment(w, "system");
    world_anneal(w);
    for (int i = 1; i <= 30; i++)
        IS(w, numbered(w, "a@n", i), "active");
    EXPECT_EFFECTS(w, "");
    world_close(w);
}

/* ---- enqueue ---- */

TEST(c077_an_enqueued_active_noderole_runs_once_and_is_active_again)
{
    struct world *w = open_an_active("");
    DONE(w, cmd_enqueue(w, "a@n1"));
    CHECK(world_run(w, "a@n1", RUN_QUEUED) != 0);
    IS(w, "a@n1", "active");
    world_anneal(w);
    IS(w, "a@n1", "transition");
    world_run_all(w);
    EXPECT_EFFECTS(w, "start a@n1");
    IS(w, "a@n1", "active");
    CHECK(world_runs(w, NULL) == 0);
    CHECK(read_noderole(w, "a@n1").run_count == 2);
    world_close(w);
}

TEST(c077_enqueued_twice_it_runs_once_with_the_second_data)
{
    struct world *w = open_an_active("");
    set_quirks(w, "n1", "['first']");
    DONE(w, cmd_enqueue(w, "a@n1"));
    set_quirks(w, "n1", "['second']");
    DONE(w, cmd_enqueue(w, "a@n1"));
    CHECK(world_runs(w, "a@n1") == 1);
    world_run_all(w);
    EXPECT_EFFECTS(w, "start a@n1");
    EXPECT_STR(started_with(w, "a@n1", "quirks"), "['second']");
    world_close(w);
}

TEST(c077_an_enqueued_run_has_the_data_of_the_time_of_the_enqueue)
{
    struct world *w = open_an_active("");
    set_quirks(w, "n1", "['first']");
    DONE(w, cmd_enqueue(w, "a@n1"));
    set_quirks(w, "n1", "['second']");
    world_run_all(w);
    EXPECT_STR(started_with(w, "a@n1", "quirks"), "['first']");
    world_close(w);
}

TEST(c077_an_annealed_run_has_the_data_of_its_start)
{
    struct world *w = open_an_active("");
    DONE(w, cmd_retry(w, "a@n1"));
    set_quirks(w, "n1", "['newest']");
    world_run_all(w);
    EXPECT_STR(started_with(w, "a@n1", "quirks"), "['newest']");
    world_close(w);
}

TEST(c078_enqueued_while_it_runs_it_runs_exactly_once_more_with_the_newest_data)
{
    struct world *w = open_an_active("");
    DONE(w, cmd_enqueue(w, "a@n1"));
    world_anneal(w);
    world_clear_effects(w);
    static const char *const quirks[] = {"['1']", "['2']", "['3']"};
    for (int i = 0; i < 3; i++) {
        set_quirks(w, "n1", quirks[i]);
        DONE(w, cmd_enqueue(w, "a@n1"));
        world_anneal(w);
    }
    EXPECT_EFFECTS(w, "");
    world_run_all(w);
    EXPECT_EFFECTS(w, "start a@n1");
    EXPECT_STR(started_with(w, "a@n1", "quirks"), "['3']");
    IS(w, "a@n1", "active");
    CHECK(read_noderole(w, "a@n1").run_count == 3);
    world_close(w);
}

TEST(c079_a_proposed_blocked_or_failed_noderole_gets_no_run)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_role(w, "b", "'requires':['a']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "a@n1");
    world_bind(w, "b@n2");
    DONE(w, cmd_enqueue(w, "a@n1"));
    CHECK(world_runs(w, NULL) == 0);
    world_commit(w, "b@n2");
    DONE(w, cmd_enqueue(w, "b@n2"));
    CHECK(world_runs(w, NULL) == 0);
    world_bring(w, "a@n1", "error");
    DONE(w, cmd_enqueue(w, "a@n1"));
    CHECK(world_runs(w, NULL) == 0);
    world_close(w);
}

TEST(c079_a_noderole_of_a_dead_node_gets_no_run)
{
    struct world *w = open_an_active("");
    world_alive(w, "n1", false);
    DONE(w, cmd_enqueue(w, "a@n1"));
    CHECK(world_runs(w, NULL) == 0);
    world_close(w);
}

TEST(c079_a_noderole_enqueued_while_it_cannot_run_runs_when_it_can)
{
    struct world *w = open_an_active("");
    world_available(w, "n1", false);
    DONE(w, cmd_enqueue(w, "a@n1"));
    world_anneal(w);
    CHECK(world_runs(w, NULL) == 0);
    CHECK(read_noderole(w, "a@n1").rerun);
    EXPECT_EFFECTS(w, "");

    world_available(w, "n1", true);
    world_run_all(w);

    EXPECT_EFFECTS(w, "start a@n1");
    IS(w, "a@n1", "active");
    CHECK(!read_noderole(w, "a@n1").rerun);
    world_close(w);
}

TEST(c080_a_failed_run_is_an_error_with_its_message)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bring(w, "a@n1", "transition");
    world_finish(w, "a@n1", RESULT_FAILED);
    IS(w, "a@n1", "error");
    HAS(shown(w, read_noderole(w, "a@n1").runlog), "it broke");
    CHECK(world_runs(w, NULL) == 0);
    world_close(w);
}

TEST(c080_after_a_failure_the_next_queued_run_of_the_node_starts)
{
    struct world *w = open_an_active("");
    world_role(w, "b", "");
    world_bind(w, "b@n1");
    world_bring(w, "b@n1", "transition");
    DONE(w, cmd_enqueue(w, "a@n1"));
    world_anneal(w);
    CHECK(world_run(w, "a@n1", RUN_QUEUED) != 0);
    world_clear_effects(w);
    world_finish(w, "b@n1", RESULT_FAILED);
    world_anneal(w);
    EXPECT_EFFECTS(w, "start a@n1");
    world_close(w);
}

TEST(c080_only_the_tail_of_a_long_log_is_kept)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bring(w, "a@n1", "transition");
    char *log = arena_zalloc(&w->arena, 10000);
    memset(log, '.', 9990);
    memcpy(log + 9986, "last", 4);
    world_finish_with(w, "a@n1",
                      (struct run_done_command){.result = RESULT_FAILED, .runlog = {log, 9990}});
    const struct str kept = read_noderole(w, "a@n1").runlog;
    CHECK(kept.len <= 2048 && str_ends(kept, STR("last")));
    world_close(w);
}

TEST(c081_a_high_priority_run_starts_while_all_normal_workers_are_busy)
{
    struct world *w = open_an_active("");
    DONE(w, CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_POOL_NORMAL,
                .pool_normal = 1));
    world_node(w, "n2", NULL);
    world_bind(w, "a@n2");
    world_bring(w, "a@n2", "transition");
    world_clear_effects(w);
    DONE(w, cmd_enqueue(w, "a@n1"));
    world_anneal(w);
    EXPECT_EFFECTS(w, "start a@n1");
    CHECK(world_runs(w, NULL) == 2);
    world_close(w);
}

TEST(c081_high_priority_runs_have_a_pool_of_their_own)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    for (int i = 1; i <= 3; i++) {
        world_node(w, numbered(w, "n", i), NULL);
        world_bind(w, numbered(w, "a@n", i));
        world_bring(w, numbered(w, "a@n", i), "active");
    }
    world_clear_effects(w);
    for (int i = 1; i <= 3; i++)
        DONE(w, cmd_enqueue(w, numbered(w, "a@n", i)));
    world_anneal(w);
    EXPECT_EFFECTS(w, "start a@n1; start a@n2");
    world_finish(w, "a@n2", RESULT_OK);
    world_anneal(w);
    EXPECT_EFFECTS(w, "start a@n3");
    world_close(w);
}

TEST(c081_a_queued_run_keeps_the_annealer_from_starting_on_its_node)
{
    struct world *w = open_an_active("");
    world_role(w, "b", "");
    world_bind(w, "b@n1");
    world_commit(w, "b@n1");
    DONE(w, cmd_enqueue(w, "a@n1"));
    world_clear_effects(w);
    world_anneal(w);
    EXPECT_EFFECTS(w, "start a@n1");
    world_finish(w, "a@n1", RESULT_OK);
    world_anneal(w);
    EXPECT_EFFECTS(w, "start b@n1");
    world_close(w);
}

/* ---- restarts, changed data, unavailable nodes ---- */

TEST(c082_after_a_restart_the_run_is_queried_and_its_result_counts)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bring(w, "a@n1", "transition");
    const struct start start = *world_start(w, "a@n1");

    world_reload(w);
    struct effects fx = {0};
    core_resume(w->core, &w->arena, &fx);

    CHECK(fx.count == 1 && fx.first->kind == EFFECT_RUN_QUERY);
    CHECK(fx.first->id == start.run && fx.first->attempt == start.attempt);
    CHECK(fx.first->noderole_id == the_noderole(w, "a@n1"));
    world_clear_effects(w);
    world_anneal(w);
    EXPECT_EFFECTS(w, "");
    world_finish(w, "a@n1", RESULT_OK);
    IS(w, "a@n1", "active");
    world_close(w);
}

TEST(c082_after_a_restart_hooks_and_queued_runs_are_still_there)
{
    struct world *w = open_an_active("'hooks':['on_active']");
    world_role(w, "b", "'hooks':['on_proposed']");
    world_bind(w, "b@n1");
    DONE(w, cmd_enqueue(w, "a@n1"));
    world_reload(w);
    struct effects fx = {0};
    core_resume(w->core, &w->arena, &fx);
    CHECK(fx.count == 1 && fx.first->kind == EFFECT_OUTBOX);
    CHECK(fx.first->id == world_waiting(w, "on_proposed b@n1"));
    world_clear_effects(w);
    world_run_all(w);
    EXPECT_EFFECTS(w, "start a@n1; on_active a@n1");
    world_close(w);
}

TEST(c082_a_run_that_the_runner_does_not_know_is_an_error)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bring(w, "a@n1", "transition");
    world_reload(w);
    world_finish(w, "a@n1", RESULT_LOST);
    IS(w, "a@n1", "error");
    HAS(shown(w, read_noderole(w, "a@n1").runlog), "lost");
    CHECK(world_runs(w, NULL) == 0);
    world_close(w);
}

TEST(c082_the_result_of_another_attempt_changes_nothing)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bring(w, "a@n1", "transition");
    const struct start start = *world_start(w, "a@n1");
    const struct digest128 before = core_digest_now(w->core);
    DONE(w, CMD(RUN_DONE, run_done, .run_id = start.run, .attempt = start.attempt + 1));
    DONE(w, CMD(RUN_DONE, run_done, .run_id = start.run + 7, .attempt = start.attempt));
    DONE(w, CMD(RUN_STOPPED, run_stopped, .run_id = start.run, .attempt = start.attempt - 1));
    CHECK(digest_eq(core_digest_now(w->core), before));
    world_finish(w, "a@n1", RESULT_OK);
    const struct digest128 after = core_digest_now(w->core);
    DONE(w, CMD(RUN_DONE, run_done, .run_id = start.run, .attempt = start.attempt,
                .result = RESULT_FAILED));
    CHECK(digest_eq(core_digest_now(w->core), after));
    world_close(w);
}

TEST(c083_a_change_during_the_run_is_followed_by_another_run)
{
    struct world *w = open_an_active("'attribs':[{'name':'a-x','map':'a/x'}]");
    DONE(w, cmd_retry(w, "a@n1"));
    world_anneal(w);
    world_clear_effects(w);
    DONE(w, cmd_set(w, TABLE_NODEROLE, the_noderole(w, "a@n1"), "a-x", BUCKET_SYSTEM, "7"));
    IS(w, "a@n1", "transition");
    CHECK(read_noderole(w, "a@n1").rerun);

    world_finish(w, "a@n1", RESULT_OK);

    IS(w, "a@n1", "todo");
    world_run_all(w);
    EXPECT_EFFECTS(w, "start a@n1");
    EXPECT_STR(started_with(w, "a@n1", "a/x"), "7");
    IS(w, "a@n1", "active");
    CHECK(!read_noderole(w, "a@n1").rerun);
    world_close(w);
}

TEST(c083_a_stale_success_starts_no_child)
{
    struct world *w = open_an_active("'attribs':[{'name':'a-x','map':'a/x'}]");
    world_role(w, "b", "'requires':['a']");
    world_node(w, "n2", NULL);
    world_bind(w, "b@n2");
    DONE(w, cmd_retry(w, "a@n1"));
    world_commit(w, "b@n2");
    world_anneal(w);
    DONE(w, cmd_retry(w, "a@n1"));
    world_finish(w, "a@n1", RESULT_OK);
    IS(w, "a@n1", "todo");
    IS(w, "b@n2", "blocked");
    world_close(w);
}

TEST(c083_a_system_value_that_changes_reruns_an_active_noderole)
{
    struct world *w = open_an_active("'attribs':[{'name':'a-x','map':'a/x'}]");
    DONE(w, cmd_set(w, TABLE_NODEROLE, the_noderole(w, "a@n1"), "a-x", BUCKET_SYSTEM, "7"));
    IS(w, "a@n1", "todo");
    world_run_all(w);
    DONE(w, cmd_set(w, TABLE_NODEROLE, the_noderole(w, "a@n1"), "a-x", BUCKET_SYSTEM, "7"));
    IS(w, "a@n1", "active");
    world_close(w);
}

/* b on another node wants the attrib a-x; the run of a reports another value of it. */
TEST(c083_a_linked_child_runs_again_when_the_value_it_wants_changed)
{
    struct world *w = open_an_active("'attribs':[{'name':'a-x','map':'a/x'}]");
    world_role(w, "b", "'wants-attribs':['a-x']");
    world_role(w, "deaf", "'requires':['a']");
    world_node(w, "n2", NULL);
    world_bind(w, "b@n2");
    world_bind(w, "deaf@n2");
    world_bring(w, "b@n2", "active");
    world_bring(w, "deaf@n2", "active");
    DONE(w, cmd_enqueue(w, "a@n1"));
    world_anneal(w);
    world_finish_with(w, "a@n1",
                      (struct run_done_command){.result = RESULT_OK,
                                                .has_wall = true,
                                                .wall = world_json(w, "{'a':{'x':1}}")});
    IS(w, "b@n2", "todo");
    IS(w, "deaf@n2", "active");
    world_run_all(w);
    EXPECT_STR(started_with(w, "b@n2", "a/x"), "1");

    DONE(w, cmd_enqueue(w, "a@n1"));
    world_anneal(w);
    world_finish_with(w, "a@n1",
                      (struct run_done_command){.result = RESULT_OK,
                                                .has_wall = true,
                                                .wall = world_json(w, "{'a':{'x':1}}")});
    IS(w, "b@n2", "active");
    world_close(w);
}

TEST(c084_a_node_unavailable_during_the_run_does_not_change_the_result)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bring(w, "a@n1", "transition");
    world_available(w, "n1", false);
    IS(w, "a@n1", "transition");
    world_finish(w, "a@n1", RESULT_OK);
    IS(w, "a@n1", "active");
    world_close(w);
}

TEST(c085_propose_drops_a_queued_run)
{
    struct world *w = open_an_active("");
    DONE(w, cmd_enqueue(w, "a@n1"));
    DONE(w, cmd_propose(w, "a@n1"));
    CHECK(world_runs(w, NULL) == 0);
    world_anneal(w);
    EXPECT_EFFECTS(w, "");
    IS(w, "a@n1", "proposed");
    world_close(w);
}

TEST(c085_a_propose_of_the_node_drops_it_too)
{
    struct world *w = open_an_active("");
    DONE(w, cmd_enqueue(w, "a@n1"));
    DONE(w, CMD(NODE_PROPOSE, node_propose, .id = the_node(w, "n1")));
    CHECK(world_runs(w, NULL) == 0);
    IS(w, "a@n1", "proposed");
    world_close(w);
}

TEST(c085_a_recall_of_the_deployment_drops_it_and_the_commit_starts_it)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    const int64_t d = world_committed_deployment(w, "d");
    world_node(w, "n1", "d");
    world_bind_in(w, "a@n1", "d");
    world_bring(w, "a@n1", "active");
    DONE(w, cmd_enqueue(w, "a@n1"));
    DONE(w, CMD(DEPLOYMENT_RECALL, deployment_recall, .id = d));
    CHECK(world_runs(w, NULL) == 0);
    world_clear_effects(w);
    world_anneal(w);
    EXPECT_EFFECTS(w, "");
    IS(w, "a@n1", "active");

    world_commit_deployment(w, "d");
    world_run_all(w);
    EXPECT_EFFECTS(w, "start a@n1");
    world_close(w);
}

/* ---- parked runs ---- */

TEST(c086_an_async_run_waits_in_transition_until_it_is_retried)
{
    struct world *w = world_open();
    world_role(w, "a", "'jig':'role-provided'");
    world_role(w, "b", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bind(w, "b@n1");
    world_commit_deployment(w, "system");
    world_anneal(w);
    world_finish(w, "a@n1", RESULT_ASYNC);
    world_clear_effects(w);
    world_anneal(w);
    EXPECT_EFFECTS(w, ""); /* b does not start while a is in TRANSITION */
    IS(w, "a@n1", "transition");
    CHECK(world_runs(w, NULL) == 0);
    CHECK(core_node_state(w->core, the_node(w, "n1")) == NODEROLE_TRANSITION);

    DONE(w, cmd_retry(w, "a@n1"));
    IS(w, "a@n1", "todo");
    world_run_all(w);

    IS(w, "a@n1", "active");
    IS(w, "b@n1", "active");
    world_close(w);
}

TEST(c086_a_retry_during_the_run_sets_the_rerun_mark)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bring(w, "a@n1", "transition");
    DONE(w, cmd_retry(w, "a@n1"));
    IS(w, "a@n1", "transition");
    CHECK(read_noderole(w, "a@n1").rerun);
    world_close(w);
}

/* The run of a@n1 is parked for a minute; b@n1 is in TODO, c@n1 is ACTIVE. */
static struct world *open_a_parked_run(void)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_role(w, "b", "");
    world_role(w, "c", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bind(w, "b@n1");
    world_bind(w, "c@n1");
    world_bring(w, "c@n1", "active");
    world_bring(w, "a@n1", "transition");
    world_commit(w, "b@n1");
    world_finish_with(w, "a@n1",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = 60000});
    world_clear_effects(w);
    return w;
}

TEST(c086_a_parked_run_keeps_only_the_annealer_from_starting_on_its_node)
{
    struct world *w = open_a_parked_run();
    IS(w, "a@n1", "transition");
    CHECK(world_run(w, "a@n1", RUN_PARKED) != 0);
    world_anneal(w);
    EXPECT_EFFECTS(w, "");
    DONE(w, cmd_enqueue(w, "c@n1"));
    world_anneal(w);
    EXPECT_EFFECTS(w, "start c@n1");
    world_close(w);
}

TEST(c086_an_acknowledged_run_is_resumed_as_the_same_run)
{
    struct world *w = open_a_parked_run();
    const struct start before = *world_start(w, "a@n1");
    DONE(w, CMD(RUN_RESUME, run_resume, .run_id = world_run(w, "a@n1", RUN_PARKED)));
    world_anneal(w);
    EXPECT_EFFECTS(w, "start a@n1");
    CHECK(world_start(w, "a@n1")->run == before.run);
    CHECK(world_start(w, "a@n1")->attempt == before.attempt + 1); /* a number is never used twice */
    IS(w, "a@n1", "transition");
    world_finish(w, "a@n1", RESULT_OK);
    IS(w, "a@n1", "active");
    CHECK(core_next_deadline(w->core) == -1);
    world_close(w);
}

TEST(c086_a_parked_run_is_resumed_at_its_deadline)
{
    struct world *w = open_a_parked_run();
    const struct start before = *world_start(w, "a@n1");
    CHECK(core_next_deadline(w->core) == w->now_ms - 1600000000000 + 60000);
    DONE(w, CMD(TICK, tick, .unused = 0));
    world_anneal(w);
    EXPECT_EFFECTS(w, "");
    w->now_ms += 60000;
    DONE(w, CMD(TICK, tick, .unused = 0));
    world_anneal(w);
    EXPECT_EFFECTS(w, "start a@n1");
    CHECK(world_start(w, "a@n1")->attempt == before.attempt + 1); /* a number is never used twice */
    world_close(w);
}

TEST(c086_the_death_of_the_node_cancels_the_parked_run)
{
    struct world *w = open_a_parked_run();
    world_alive(w, "n1", false);
    CHECK(world_runs(w, NULL) == 0);
    IS(w, "a@n1", "todo");
    CHECK(core_next_deadline(w->core) == -1);
    world_close(w);
}

/* ---- changes of the node that a run requests ---- */

TEST(c086_a_run_may_stop_its_node)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_role(w, "b", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bind(w, "b@n1");
    world_commit_deployment(w, "system");
    world_anneal(w);
    world_finish_with(w, "a@n1", (struct run_done_command){.result = RESULT_OK, .stop = true});
    world_clear_effects(w);
    world_anneal(w);
    EXPECT_EFFECTS(w, "");
    IS(w, "a@n1", "active");
    IS(w, "b@n1", "todo");
    CHECK(read_node(w, "n1").stopped);

    DONE(w, cmd_retry(w, "b@n1"));
    world_anneal(w);

    EXPECT_EFFECTS(w, "start b@n1");
    CHECK(!read_node(w, "n1").stopped);
    world_close(w);
}

TEST(c086_a_run_may_make_its_node_not_alive_and_reboot_it)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_active']");
    world_role(w, "b", "'requires':['a']");
    world_node(w, "n1", NULL);
    world_bind(w, "b@n1");
    world_commit_deployment(w, "system");
    world_anneal(w);
    world_clear_effects(w);
    world_finish_with(
        w, "a@n1",
        (struct run_done_command){.result = RESULT_OK, .node_dead = true, .power = STR("reboot")});
    EXPECT_EFFECTS(w, "on_active a@n1; power reboot n1");
    CHECK(!read_node(w, "n1").alive);
    IS(w, "a@n1", "todo");
    IS(w, "b@n1", "blocked");
    world_close(w);
}

TEST(c087_a_plain_node_has_nothing_to_do)
{
    struct world *w = world_open();
    world_node(w, "n1", NULL);
    world_anneal(w);
    EXPECT_EFFECTS(w, "");
    CHECK(!core_has_work(w->core));
    CHECK(core_node_state(w->core, the_node(w, "n1")) == NODEROLE_ACTIVE);
    world_close(w);
}
