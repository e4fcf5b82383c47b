/* Goal: cases 178 to 183 of docs/spec/cases.md: the timeline of a deployment, which is the sequence
 * of its snapshots (docs/spec/timeline.md, ADR 0011).
 * Method: commands to a core in memory; heads, states and the content of snapshots are checked. */
#include <string.h>

#include "tests/world/snapshot_diff.h"
#include "tests/world/world.h"

static int64_t propose_deployment(struct world *w, const char *name)
{
    return DONE(w, CMD(DEPLOYMENT_PROPOSE, deployment_propose, .id = the_deployment(w, name)));
}

static void recall(struct world *w, const char *name)
{
    DONE(w, CMD(DEPLOYMENT_RECALL, deployment_recall, .id = the_deployment(w, name)));
}

static enum deployment_state state_of(struct world *w, const char *deployment)
{
    return core_deployment_state(w->core, the_deployment(w, deployment));
}

static void set_data(struct world *w, const char *noderole, const char *quoted)
{
    DONE(w, CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(w, noderole),
                .data = world_json(w, quoted)));
}

static struct command cmd_revert(struct world *w, const char *deployment, int64_t seq)
{
    return CMD(DEPLOYMENT_REVERT, deployment_revert, .id = the_deployment(w, deployment),
               .seq = seq, .content = world_snapshot(w, deployment, seq));
}

/* d, committed with a@n1 {"v":1} in it and annealed. */
static struct world *open_a_deployment(void)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_role(w, "b", "");
    world_deployment(w, "d");
    world_node(w, "n1", "d");
    world_node(w, "n2", "d");
    world_bind_in(w, "a@n1", "d");
    set_data(w, "a@n1", "{'v':1}");
    world_commit_deployment(w, "d");
    world_run_all(w);
    return w;
}

TEST(c178_a_new_deployment_has_one_proposed_head)
{
    struct world *w = world_open();
    world_deployment(w, "d");
    const struct snapshot_record head = read_head(w, "d");
    CHECK(head.state == SNAPSHOT_PROPOSED);
    CHECK(head.seq == 1 && head.predecessor_id == 0);
    CHECK(head.deployment_id == the_deployment(w, "d"));
    EXPECT_STR(shown(w, head.name), "d");
    CHECK(core_count(w->core, TABLE_SNAPSHOT) == 2); /* and the head of system */
    CHECK(read_head(w, "system").state == SNAPSHOT_COMMITTED);
    world_close(w);
}

TEST(c179_a_commit_commits_the_head_and_the_work_makes_it_active)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_deployment(w, "d");
    world_node(w, "n1", "d");
    world_bind_in(w, "a@n1", "d");
    const int64_t head = read_head(w, "d").id;
    world_commit_deployment(w, "d");
    CHECK(read_head(w, "d").id == head && read_head(w, "d").seq == 1);
    CHECK(read_head(w, "d").state == SNAPSHOT_COMMITTED);
    CHECK(read_head(w, "d").committed_at == w->now_ms);
    CHECK(state_of(w, "d") == DEPLOYMENT_COMMITTED);
    world_run_all(w);
    CHECK(state_of(w, "d") == DEPLOYMENT_ACTIVE);
    world_close(w);
}

TEST(c179_a_commit_makes_the_phantom_node_available)
{
    struct world *w = world_open();
    struct record record;
    world_committed_deployment(w, "d");
    const int64_t id = core_find(w->core, TABLE_NODE, STR("d-phantom.internal.local"));
    CHECK(id && core_record(w->core, TABLE_NODE, id, &record));
    CHECK(record.node.available && record.node.alive);
    world_close(w);
}

TEST(c180_propose_of_an_active_head_opens_a_new_one)
{
    struct world *w = open_a_deployment();
    const struct snapshot_record before = read_head(w, "d");
    propose_deployment(w, "d");
    const struct snapshot_record head = read_head(w, "d");
    const struct snapshot_record old = read_snapshot(w, before.id);
    CHECK(head.id != old.id);
    CHECK(head.state == SNAPSHOT_PROPOSED && old.state == SNAPSHOT_ARCHIVED);
    CHECK(head.predecessor_id == old.id);
    CHECK(head.order == old.order + 1);
    CHECK(head.seq == old.seq + 1);
    CHECK(old.archived_at == w->now_ms);
    EXPECT_STR(world_path(w, old.counts, "active"), "1");
    IS(w, "a@n1", "active");
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").committed_data), "{'v':1}");
    world_close(w);
}

TEST(c180_the_new_head_may_be_named)
{
    struct world *w = open_a_deployment();
    DONE(w, CMD(DEPLOYMENT_PROPOSE, deployment_propose, .id = the_deployment(w, "d"),
                .name = STR("second thoughts")));
    EXPECT_STR(shown(w, read_head(w, "d").name), "second thoughts");
    world_close(w);
}

TEST(c180_propose_of_a_head_in_error_opens_a_new_one)
{
    struct world *w = open_a_deployment();
    DONE(w, cmd_retry(w, "a@n1"));
    world_anneal(w);
    world_finish(w, "a@n1", RESULT_FAILED);
    const int64_t before = read_head(w, "d").id;
    propose_deployment(w, "d");
    CHECK(read_head(w, "d").predecessor_id == before);
    IS(w, "a@n1", "error");
    world_close(w);
}

TEST(c181_propose_of_system_is_refused)
{
    struct world *w = world_open();
    REFUSED(w, CMD(DEPLOYMENT_PROPOSE, deployment_propose, .id = SYSTEM), SYSTEM_DEPLOYMENT, NULL);
    world_close(w);
}

TEST(c181_propose_of_a_head_with_unfinished_runs_recalls_it)
{
    struct world *w = open_a_deployment();
    world_available(w, "n1", false);
    DONE(w, cmd_retry(w, "a@n1"));
    const struct snapshot_record before = read_head(w, "d");
    CHECK(state_of(w, "d") == DEPLOYMENT_COMMITTED);
    propose_deployment(w, "d");
    CHECK(read_head(w, "d").id == before.id);
    CHECK(read_head(w, "d").state == SNAPSHOT_PROPOSED);
    world_close(w);
}

TEST(c181_propose_of_a_proposed_head_changes_nothing)
{
    struct world *w = open_a_deployment();
    propose_deployment(w, "d");
    const struct digest128 before = core_digest_now(w->core);
    propose_deployment(w, "d");
    recall(w, "d");
    CHECK(digest_eq(core_digest_now(w->core), before));
    world_close(w);
}

TEST(c182_a_recalled_head_runs_nothing_new_and_a_commit_resumes)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_role(w, "b", "'requires':['a']");
    world_deployment(w, "d");
    world_node(w, "n1", "d");
    world_bind_in(w, "b@n1", "d");
    world_commit_deployment(w, "d");
    world_anneal(w);
    IS(w, "a@n1", "transition");
    const int64_t head = read_head(w, "d").id;

    recall(w, "d");
    CHECK(read_head(w, "d").id == head && read_head(w, "d").state == SNAPSHOT_PROPOSED);
    CHECK(state_of(w, "d") == DEPLOYMENT_PROPOSED);
    IS(w, "a@n1", "transition"); /* a run in progress continues */
    world_finish(w, "a@n1", RESULT_OK);
    IS(w, "a@n1", "active");
    IS(w, "b@n1", "todo");
    world_clear_effects(w);
    world_anneal(w);
    EXPECT_EFFECTS(w, "");

    world_commit_deployment(w, "d");
    world_run_all(w);
    EXPECT_EFFECTS(w, "start b@n1");
    CHECK(state_of(w, "d") == DEPLOYMENT_ACTIVE);
    world_close(w);
}

TEST(c182_a_recall_leaves_the_states_alone)
{
    struct world *w = open_a_deployment();
    recall(w, "d");
    IS(w, "a@n1", "active");
    CHECK(state_of(w, "d") == DEPLOYMENT_PROPOSED);
    world_close(w);
}

/* ---- content of snapshots ---- */

TEST(c183_a_commit_into_a_committed_head_opens_the_next)
{
    struct world *w = open_a_deployment();
    const struct snapshot_record before = read_head(w, "d");
    world_bind_in(w, "b@n2", "d");
    CHECK(read_head(w, "d").id == before.id);
    world_commit(w, "b@n2");
    const struct snapshot_record head = read_head(w, "d");
    CHECK(head.seq == before.seq + 1 && head.predecessor_id == before.id);
    CHECK(head.state == SNAPSHOT_COMMITTED);
    CHECK(read_snapshot(w, before.id).state == SNAPSHOT_ARCHIVED);
    world_close(w);
}

TEST(c183_a_commit_of_many_opens_one)
{
    struct world *w = open_a_deployment();
    const struct snapshot_record before = read_head(w, "d");
    world_bind_in(w, "b@n2", "d");
    world_bind_in(w, "b@n1", "d");
    world_commit_deployment(w, "d");
    CHECK(read_head(w, "d").seq == before.seq + 1);
    world_close(w);
}

TEST(c183_a_commit_that_changes_nothing_opens_none)
{
    struct world *w = open_a_deployment();
    const struct snapshot_record before = read_head(w, "d");
    world_commit_deployment(w, "d");
    CHECK(read_head(w, "d").id == before.id && read_head(w, "d").seq == before.seq);
    world_close(w);
}

TEST(c183_the_data_of_an_archived_snapshot_do_not_change)
{
    struct world *w = open_a_deployment();
    const int64_t first = read_head(w, "d").seq;
    const char *before = shown(w, world_snapshot(w, "d", first));
    HAS(before, "{'v':1}");

    propose_deployment(w, "d");
    DONE(w, cmd_propose(w, "a@n1"));
    set_data(w, "a@n1", "{'v':2}");
    world_commit_deployment(w, "d");
    world_run_all(w);
    DONE(w, cmd_propose(w, "a@n1"));
    set_data(w, "a@n1", "{'v':3}");
    world_commit(w, "a@n1");

    EXPECT_STR(shown(w, world_snapshot(w, "d", first)), before);
    HAS(shown(w, world_snapshot(w, "d", first + 1)), "{'v':2}");
    HAS(shown(w, world_snapshot(w, "d", first + 2)), "{'v':3}");
    world_close(w);
}

TEST(c183_the_members_of_an_archived_snapshot_do_not_change)
{
    struct world *w = open_a_deployment();
    const int64_t first = read_head(w, "d").seq;
    const char *before = shown(w, world_snapshot(w, "d", first));
    world_bind_in(w, "b@n2", "d");
    world_commit_deployment(w, "d");
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "a@n1")));
    EXPECT_STR(shown(w, world_snapshot(w, "d", first)), before);
    world_close(w);
}

TEST(c183_the_difference_of_two_snapshots_lists_the_changes)
{
    struct world *w = open_a_deployment();
    const int64_t first = read_head(w, "d").seq;
    world_bind_in(w, "b@n2", "d");
    world_commit_deployment(w, "d");
    const struct str before = world_snapshot(w, "d", first);
    const struct str after = world_snapshot(w, "d", first + 1);
    const struct str diff = snapshot_diff_text(before, after, &w->arena);
    CHECK(strcmp(world_path(w, diff, "added"), "[]") != 0);
    EXPECT_STR(world_path(w, diff, "removed"), "[]");
    EXPECT_STR(world_path(w, diff, "changed"), "[]");
    const struct str back = snapshot_diff_text(after, before, &w->arena);
    EXPECT_STR(world_path(w, back, "added"), "[]");
    CHECK(strcmp(world_path(w, back, "removed"), "[]") != 0);
    world_close(w);
}

TEST(c183_revert_proposes_the_content_of_the_snapshot)
{
    struct world *w = open_a_deployment();
    const int64_t first = read_head(w, "d").seq;
    DONE(w, cmd_propose(w, "a@n1"));
    set_data(w, "a@n1", "{'v':2}");
    world_bind_in(w, "b@n2", "d");
    world_commit_deployment(w, "d");
    world_run_all(w);

    DONE(w, cmd_revert(w, "d", first));
    CHECK(read_head(w, "d").state == SNAPSHOT_PROPOSED);
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").proposed_data), "{'v':1}");
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").committed_data), "{'v':2}");
    CHECK(read_noderole(w, "b@n2").removing);

    world_commit_deployment(w, "d");
    world_run_all(w);
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").committed_data), "{'v':1}");
    CHECK(world_bound(w, "b@n2") == 0);
    CHECK(state_of(w, "d") == DEPLOYMENT_ACTIVE);
    world_close(w);
}

TEST(c183_revert_binds_missing_noderoles)
{
    struct world *w = open_a_deployment();
    const int64_t first = read_head(w, "d").seq;
    world_bind_in(w, "b@n2", "d");
    world_commit_deployment(w, "d");
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "a@n1")));
    DONE(w, cmd_revert(w, "d", first));
    IS(w, "a@n1", "proposed");
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").proposed_data), "{'v':1}");
    world_close(w);
}

TEST(c183_system_keeps_one_head)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    const struct snapshot_record before = read_head(w, "system");
    world_bind(w, "a@n1");
    world_commit(w, "a@n1");
    world_commit_deployment(w, "system");
    CHECK(read_head(w, "system").id == before.id);
    CHECK(read_head(w, "system").state == SNAPSHOT_COMMITTED);
    CHECK(core_count(w->core, TABLE_SNAPSHOT) == 1);
    world_close(w);
}
