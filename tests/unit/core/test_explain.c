#include <string.h>

#include "core/core_private.h"
#include "model/limits.h"
#include "tests/world/world.h"

/* Output for operators: why an object waits (each text, its object and its time), what a commit
 * would do, what a snapshot contained; and the deployment verbs with all their fields. */

/* ---- why ---- */

/* "code object id: text" of each cause, one per line. */
static const char *why(struct world *w, enum table table, int64_t id)
{
    struct buf b = buf_in(&w->arena);
    for (const struct cause *c = core_why(w->core, table, id, &w->arena); c; c = c->next) {
        buf_put_z(&b, b.len ? "\n" : "");
        buf_put_z(&b, cause_name(c->code));
        buf_put_c(&b, ' ');
        buf_put_z(&b, table_name(c->object));
        buf_put_c(&b, ' ');
        buf_put_i64(&b, c->object_id);
        buf_put_z(&b, ": ");
        buf_put_str(&b, c->text);
    }
    return str_z(&w->arena, buf_str(&b));
}

static const struct cause *cause_of(struct world *w, const char *noderole, uint32_t nth)
{
    const struct cause *c = core_why(w->core, TABLE_NODEROLE, the_noderole(w, noderole), &w->arena);
    while (c && nth--)
        c = c->next;
    CHECK(c != NULL);
    return c;
}

#define WHY(w, noderole, wanted)                                                                   \
    EXPECT_STR(why((w), TABLE_NODEROLE, the_noderole((w), (noderole))), (wanted))

static struct world *open_d(void)
{
    struct world *w = world_open();
    world_role(w, "a", "'flags':['implicit']");
    world_role(w, "b", "'flags':['implicit']");
    world_role(w, "c", "'requires':['a','b'],'flags':['implicit']");
    world_deployment(w, "d");
    world_node(w, "n1", "d");
    world_node(w, "n2", "d");
    return w;
}

TEST(why_has_code_object_and_time)
{
    struct world *w = open_d();
    const int64_t a = world_bind_in(w, "a@n1", "d");
    CHECK(a == 1);
    const int64_t bound = w->now_ms;
    WHY(w, "a@n1", "proposed noderole 1: `a` on `n1.example.com` has not been committed");
    CHECK(cause_of(w, "a@n1", 0)->since == bound);
    world_commit(w, "a@n1");
    const int64_t committed = w->now_ms;
    WHY(w, "a@n1", "head_proposed deployment 2: deployment `d` is proposed, not committed");
    CHECK(cause_of(w, "a@n1", 0)->since == read_head(w, "d").since);
    CHECK(read_head(w, "d").since < bound);
    world_commit_deployment(w, "d");
    WHY(w, "a@n1", "ready noderole 1: `a` on `n1.example.com` is about to start");
    CHECK(cause_of(w, "a@n1", 0)->since == committed);
    world_available(w, "n1", false);
    WHY(w, "a@n1", "not_available node 3: node `n1.example.com` is not available");
    CHECK(cause_of(w, "a@n1", 0)->since == w->now_ms);
    world_alive(w, "n1", false);
    WHY(w, "a@n1", "not_alive node 3: node `n1.example.com` is not alive");
    CHECK(cause_of(w, "a@n1", 0)->since == w->now_ms);
    world_alive(w, "n1", true);
    world_available(w, "n1", true);
    const int64_t jig = core_find(w->core, TABLE_JIG, STR("script"));
    DONE(w, CMD(JIG_UPDATE, jig_update, .id = jig, .given = GIVEN_JIG_ACTIVE));
    HAS(why(w, TABLE_NODEROLE, a),
        "jig_inactive role 1: role `a` cannot run here: jig script is not active");
    CHECK(cause_of(w, "a@n1", 0)->since == 0);
    DONE(w, CMD(JIG_UPDATE, jig_update, .id = jig, .given = GIVEN_JIG_ACTIVE, .active = true));
    world_run_all(w);
    WHY(w, "a@n1", "none noderole 1: `a` on `n1.example.com` is active");
    CHECK(cause_of(w, "a@n1", 0)->since == read_noderole(w, "a@n1").since);
    EXPECT_STR(why(w, TABLE_NODE, the_node(w, "n1")),
               "none node 3: node `n1.example.com` has nothing left to do");
    CHECK(core_why(w->core, TABLE_NODE, 3, &w->arena)->since == 0);
    world_close(w);
}

TEST(why_explains_runs)
{
    struct world *w = open_d();
    world_bind_in(w, "a@n1", "d");
    world_bind_in(w, "b@n1", "d");
    world_commit_deployment(w, "d");
    WHY(w, "b@n1",
        "node_busy noderole 1: `a` on `n1.example.com` starts first\n"
        "ready noderole 1: `a` on `n1.example.com` is about to start");
    world_anneal(w);
    const int64_t started = read_noderole(w, "a@n1").since;
    CHECK(started > read_head(w, "d").since);
    WHY(w, "a@n1", "running run 1: run 1 of `a` on `n1.example.com` is running");
    CHECK(cause_of(w, "a@n1", 0)->since == started);
    WHY(w, "b@n1",
        "node_busy noderole 1: `a` on `n1.example.com` occupies the node\n"
        "running run 1: run 1 of `a` on `n1.example.com` is running");
    CHECK(cause_of(w, "b@n1", 0)->since == started);
    world_finish_with(w, "a@n1",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = 9000});
    WHY(w, "a@n1", "parked run 1: run 1 of `a` on `n1.example.com` waits for an acknowledgement");
    DONE(w, CMD(RUN_RESUME, run_resume, .run_id = 1));
    WHY(w, "a@n1", "node_busy run 1: run 1 of `a` on `n1.example.com` is queued on the node");
    world_anneal(w);
    world_finish(w, "a@n1", RESULT_ASYNC);
    WHY(w, "a@n1",
        "async noderole 1: `a` on `n1.example.com` waits for the asynchronous result of its run");
    DONE(w, cmd_retry(w, "a@n1"));
    world_anneal(w);
    world_finish(w, "a@n1", RESULT_FAILED);
    const int64_t failed = w->now_ms;
    WHY(w, "b@n1",
        "node_closed noderole 1: node `n1.example.com` starts no run while `a` on `n1.example.com` "
        "is in error\n"
        "error noderole 1: `a` on `n1.example.com` is in error: run failed");
    CHECK(cause_of(w, "b@n1", 0)->since == failed && cause_of(w, "b@n1", 1)->since == failed);
    world_close(w);
}

TEST(why_explains_runs_that_are_being_stopped)
{
    struct world *w = open_d();
    world_bind_in(w, "a@n1", "d");
    world_bind_in(w, "b@n1", "d");
    world_commit_deployment(w, "d");
    world_anneal(w);
    const int64_t started = read_noderole(w, "a@n1").since;
    CHECK(started > read_head(w, "d").since);
    DONE(w, cmd_propose(w, "a@n1"));
    WHY(w, "b@n1",
        "node_busy node 3: another run occupies node `n1.example.com`\n"
        "stopping run 1: run 1 was cancelled and has not stopped yet");
    CHECK(cause_of(w, "b@n1", 0)->since == started && cause_of(w, "b@n1", 1)->since == started);
    DONE(w, CMD(RUN_STOPPED, run_stopped, .run_id = 1, .attempt = 1));
    WHY(w, "b@n1", "ready noderole 2: `b` on `n1.example.com` is about to start");
    world_close(w);
}

TEST(why_names_the_earliest_of_several_parents)
{
    struct world *w = open_d();
    const int64_t c = world_bind_in(w, "c@n1", "d");
    world_commit(w, "c@n1");
    WHY(w, "c@n1",
        "parent noderole 1: waits for `a` on `n1.example.com`, which is proposed\n"
        "proposed noderole 1: `a` on `n1.example.com` has not been committed");
    world_commit_deployment(w, "d");
    const int64_t a = the_noderole(w, "a@n1");
    CHECK(a == 1 && the_noderole(w, "b@n1") == 2 && c == 3);
    world_available(w, "n1", false);
    WHY(w, "c@n1",
        "parent noderole 1: waits for `a` on `n1.example.com`, which has not run yet\n"
        "not_available node 3: node `n1.example.com` is not available");
    CHECK(cause_of(w, "c@n1", 0)->since == read_noderole(w, "a@n1").since);
    world_available(w, "n1", true);
    world_anneal(w);
    WHY(w, "c@n1",
        "parent noderole 1: waits for `a` on `n1.example.com`, which is in transition\n"
        "running run 1: run 1 of `a` on `n1.example.com` is running");
    world_finish(w, "a@n1", RESULT_OK);
    WHY(w, "c@n1",
        "parent noderole 2: waits for `b` on `n1.example.com`, which has not run yet\n"
        "ready noderole 2: `b` on `n1.example.com` is about to start");
    world_anneal(w);
    world_finish(w, "b@n1", RESULT_FAILED);
    WHY(w, "c@n1",
        "parent noderole 2: waits for `b` on `n1.example.com`, which is in error\n"
        "error noderole 2: `b` on `n1.example.com` is in error: run failed");
    EXPECT_STR(why(w, TABLE_NODE, 3),
               "error noderole 2: `b` on `n1.example.com` is in error: run failed");
    world_close(w);
}

TEST(why_explains_hooks_targets_stops_and_workers)
{
    struct world *w = open_d();
    world_role(w, "shy", "'hooks':['on_todo'],'flags':['implicit']");
    world_role(w, "gate", "'jig':'noop','flags':['milestone','implicit']");
    world_bind_in(w, "shy@n1", "d");
    world_commit_deployment(w, "d");
    world_anneal(w);
    struct record row;
    const int64_t id = world_waiting(w, "on_todo shy@n1");
    CHECK(id && core_record(w->core, TABLE_OUTBOX, id, &row));
    const struct cause *cause = cause_of(w, "shy@n1", 0);
    CHECK(cause->code == CAUSE_WAITING_FOR_HOOK && cause->object == TABLE_OUTBOX);
    CHECK(cause->object_id == id && cause->since == row.outbox.created_at && !cause->next);
    EXPECT_STR(str_z(&w->arena, cause->text),
               "hook on_todo of `shy` on `n1.example.com` has not answered yet");
    DONE(w, CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_POOL_NORMAL,
                .pool_normal = 1));
    world_bind_in(w, "a@n2", "d");
    world_commit(w, "a@n2");
    world_anneal(w);
    world_deliver(w);
    WHY(w, "shy@n1",
        "no_worker settings 1: `shy` on `n1.example.com` waits for a worker; all workers are busy");
    CHECK(cause_of(w, "shy@n1", 0)->since == read_noderole(w, "shy@n1").since);
    world_bind_in(w, "gate@n1", "d");
    DONE(w, CMD(NODE_UPDATE, node_update, .id = 3, .given = GIVEN_NODE_TARGET,
                .target_role_id = the_role(w, "gate")));
    WHY(w, "shy@n1", "held_by_target node 3: node `n1.example.com` is held at role `gate`");
    CHECK(cause_of(w, "shy@n1", 0)->since == 0);
    DONE(w, CMD(NODE_UPDATE, node_update, .id = 3, .given = GIVEN_NODE_TARGET));
    world_finish_with(w, "a@n2", (struct run_done_command){.result = RESULT_OK, .stop = true});
    world_bind_in(w, "b@n2", "d");
    world_commit(w, "b@n2");
    HAS(why(w, TABLE_NODEROLE, the_noderole(w, "b@n2")),
        "node_stopped node 4: a script requested that nothing else runs on node `n2.example.com`");
    CHECK(cause_of(w, "b@n2", 0)->since == 0);
    world_close(w);
}

/* ---- deployments ---- */

static struct deployment_record read_deployment(struct world *w, const char *name)
{
    struct record r;
    CHECK(core_record(w->core, TABLE_DEPLOYMENT, the_deployment(w, name), &r));
    return r.deployment;
}

TEST(a_deployment_stores_its_fields)
{
    struct world *w = world_open();
    DONE(w, CMD(DEPLOYMENT_CREATE, deployment_create, .name = STR("Prod"),
                .description = STR("the real one")));
    const int64_t created = w->now_ms;
    struct deployment_record d = read_deployment(w, "Prod");
    CHECK(d.parent_id == SYSTEM && !d.system && d.id == w->out.id);
    CHECK(d.created_at == created && d.updated_at == created);
    CHECK(str_eq(d.description, STR("the real one")));
    struct snapshot_record head = read_head(w, "Prod");
    CHECK(head.seq == 1 && head.order == 1000 && head.predecessor_id == 0);
    CHECK(head.state == SNAPSHOT_PROPOSED && head.since == created && head.committed_at == 0);
    CHECK(str_eq(head.name, STR("Prod")) && head.archived_at == 0);
    CHECK(deployment_at(w->core, deployment_by_id(w->core, SYSTEM))->child_count == 1);
    struct record phantom;
    CHECK(core_record(w->core, TABLE_NODE, d.phantom_id, &phantom));
    CHECK(phantom.node.system && phantom.node.deployment_id == d.id && !phantom.node.available);

    const int64_t id =
        DONE(w, CMD(DEPLOYMENT_UPDATE, deployment_update, .id = d.id, .given = GIVEN_DESCRIPTION,
                    .name = STR("unasked"), .description = STR("other")));
    CHECK(id == d.id);
    d = read_deployment(w, "Prod");
    CHECK(str_eq(d.description, STR("other")) && d.updated_at == w->now_ms);
    const int64_t then = w->now_ms;
    DONE(w, CMD(DEPLOYMENT_UPDATE, deployment_update, .id = d.id,
                .given = GIVEN_NAME | GIVEN_DESCRIPTION, .name = STR("Prod"),
                .description = STR("other")));
    CHECK(read_deployment(w, "Prod").updated_at == then); /* the same value is not a change */
    DONE(w, CMD(DEPLOYMENT_UPDATE, deployment_update, .id = d.id, .given = GIVEN_NAME,
                .name = STR("stage"), .description = STR("unasked")));
    CHECK(core_find(w->core, TABLE_DEPLOYMENT, STR("Prod")) == 0);
    d = read_deployment(w, "stage");
    CHECK(str_eq(d.description, STR("other")));
    struct record renamed;
    CHECK(core_record(w->core, TABLE_NODE, d.phantom_id, &renamed));
    CHECK(!str_eq(renamed.node.name, phantom.node.name));
    HAS(str_z(&w->arena, renamed.node.name), "stage");
    REFUSED(
        w,
        CMD(DEPLOYMENT_UPDATE, deployment_update, .id = 99, .given = GIVEN_NAME, .name = STR("x")),
        NOT_FOUND, "id");
    REFUSED(w,
            CMD(DEPLOYMENT_UPDATE, deployment_update, .id = d.id, .given = GIVEN_NAME,
                .name = STR("system")),
            NAME_TAKEN, "name");
    DONE(w, CMD(DEPLOYMENT_UPDATE, deployment_update, .id = d.id, .given = GIVEN_NAME,
                .name = STR("STAGE")));
    world_close(w);
}

TEST(a_deleted_deployment_moves_its_nodes_to_its_parent)
{
    struct world *w = open_d();
    const int64_t d = the_deployment(w, "d");
    DONE(w, CMD(DEPLOYMENT_CREATE, deployment_create, .name = STR("e"), .parent_id = d));
    const int64_t e = w->out.id;
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("m1.example.com"), .deployment_id = e));
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("m2.example.com"), .deployment_id = e));
    HAS(REFUSED(w, CMD(DEPLOYMENT_DELETE, deployment_delete, .id = d), HAS_CHILDREN, "id"),
        "the deployment has child deployments; delete these first");
    HAS(REFUSED(w, CMD(DEPLOYMENT_DELETE, deployment_delete, .id = SYSTEM), NONE, NULL),
        "the system deployment cannot be deleted");
    HAS(REFUSED(w, CMD(DEPLOYMENT_DELETE, deployment_delete, .id = 99), NOT_FOUND, "id"),
        "there is no deployment with id 99");
    const uint32_t nodes = core_count(w->core, TABLE_NODE);
    CHECK(DONE(w, CMD(DEPLOYMENT_DELETE, deployment_delete, .id = e)) == e);
    CHECK(core_count(w->core, TABLE_NODE) == nodes - 1); /* the phantom */
    CHECK(read_node(w, "m1").deployment_id == d && read_node(w, "m2").deployment_id == d);
    CHECK(read_node(w, "n1").deployment_id == d);
    CHECK(core_find(w->core, TABLE_DEPLOYMENT, STR("e")) == 0);
    CHECK(deployment_at(w->core, deployment_by_id(w->core, d))->child_count == 0);
    DONE(w, CMD(DEPLOYMENT_DELETE, deployment_delete, .id = d));
    CHECK(read_node(w, "m1").deployment_id == SYSTEM && read_node(w, "n2").deployment_id == SYSTEM);
    CHECK(core_count(w->core, TABLE_SNAPSHOT) == 1);
    world_close(w);
}

TEST(deployment_verbs_queue_the_hooks_of_their_nodes)
{
    struct world *w = open_d();
    world_role(w, "ear", "'hooks':['on_node_change'],'flags':['implicit']");
    world_deliver(w);
    world_clear_effects(w);
    world_commit_deployment(w, "d"); /* makes the phantom node available */
    HAS(str_z(&w->arena, buf_str(&w->story)), "on_node_change");
    world_deliver(w);
    world_clear_effects(w);
    world_commit_deployment(w, "d"); /* it is available already */
    EXPECT_EFFECTS(w, "");
    DONE(w, CMD(DEPLOYMENT_UPDATE, deployment_update, .id = the_deployment(w, "d"),
                .given = GIVEN_NAME, .name = STR("D")));
    EXPECT_EFFECTS(w, ""); /* its phantom node has the same name */
    DONE(w, CMD(DEPLOYMENT_UPDATE, deployment_update, .id = the_deployment(w, "D"),
                .given = GIVEN_NAME, .name = STR("other")));
    HAS(str_z(&w->arena, buf_str(&w->story)), "on_node_change");
    world_deliver(w);
    world_clear_effects(w);
    DONE(w, CMD(DEPLOYMENT_DELETE, deployment_delete, .id = the_deployment(w, "other")));
    const char *story = str_z(&w->arena, buf_str(&w->story));
    HAS(story, "n1");
    HAS(story, "n2");
    world_clear_effects(w);
    world_close(w);
}

TEST(a_state_of_a_deployment_is_that_of_its_noderoles)
{
    struct world *w = open_d();
    const int64_t d = the_deployment(w, "d");
    CHECK(core_deployment_state(w->core, 99) == DEPLOYMENT_PROPOSED);
    CHECK(core_deployment_state(w->core, d) == DEPLOYMENT_PROPOSED);
    world_bind_in(w, "a@n1", "d");
    world_bind_in(w, "a@n2", "d");
    world_commit_deployment(w, "d");
    CHECK(core_deployment_state(w->core, d) == DEPLOYMENT_COMMITTED);
    world_anneal(w);
    CHECK(core_node_state(w->core, 3) == NODEROLE_TRANSITION);
    world_finish(w, "a@n1", RESULT_FAILED);
    CHECK(core_deployment_state(w->core, d) == DEPLOYMENT_ERROR);
    CHECK(core_node_state(w->core, 3) == NODEROLE_ERROR);
    CHECK(core_node_state(w->core, 99) == NODEROLE_ACTIVE);
    world_finish(w, "a@n2", RESULT_OK);
    DONE(w, cmd_retry(w, "a@n1"));
    world_run_all(w);
    CHECK(core_deployment_state(w->core, d) == DEPLOYMENT_ACTIVE);
    DONE(w, CMD(DEPLOYMENT_RECALL, deployment_recall, .id = d));
    CHECK(core_deployment_state(w->core, d) == DEPLOYMENT_PROPOSED);
    HAS(REFUSED(w, CMD(DEPLOYMENT_RECALL, deployment_recall, .id = SYSTEM), SYSTEM_DEPLOYMENT,
                "id"),
        "the system deployment is always committed");
    REFUSED(w, CMD(DEPLOYMENT_RECALL, deployment_recall, .id = 99), NOT_FOUND, "id");
    REFUSED(w, CMD(DEPLOYMENT_COMMIT, deployment_commit, .id = 99), NOT_FOUND, "id");
    REFUSED(w, CMD(DEPLOYMENT_PROPOSE, deployment_propose, .id = 99), NOT_FOUND, "id");
    world_close(w);
}

TEST(why_of_a_deployment_is_that_of_its_first_waiting_noderole)
{
    struct world *w = open_d();
    const int64_t d = the_deployment(w, "d");
    world_bind_in(w, "c@n1", "d");
    world_bind_in(w, "a@n2", "d");
    EXPECT_STR(why(w, TABLE_DEPLOYMENT, d),
               "head_proposed deployment 2: deployment `d` is proposed, not "
               "committed");
    world_commit_deployment(w, "d");
    world_anneal(w);
    world_finish(w, "a@n2", RESULT_FAILED);
    EXPECT_STR(why(w, TABLE_DEPLOYMENT, d),
               "error noderole 4: `a` on `n2.example.com` is in error: run failed");
    DONE(w, cmd_retry(w, "a@n2"));
    world_run_all(w);
    EXPECT_STR(why(w, TABLE_DEPLOYMENT, d), "none deployment 2: deployment `d` is active");
    CHECK(core_why(w->core, TABLE_DEPLOYMENT, 99, &w->arena) == NULL);
    world_close(w);
}

TEST(what_a_deployment_holds_is_counted_and_listed)
{
    struct world *w = open_d();
    uint32_t counts[NODEROLE_STATE_COUNT], count = 99;
    const int64_t d = the_deployment(w, "d");
    CHECK(core_noderoles_in(w->core, d, &w->arena, &count) != NULL && count == 0);
    const int64_t c1 = world_bind_in(w, "c@n1", "d"), a2 = world_bind_in(w, "a@n2", "d");
    const int64_t *ids = core_noderoles_in(w->core, d, &w->arena, &count);
    CHECK(count == 4 && ids[0] == 1 && ids[1] == 2 && ids[2] == 3 && ids[3] == 4);
    CHECK(c1 <= 4 && a2 == 4);
    core_count_noderoles(w->core, d, counts);
    CHECK(counts[NODEROLE_PROPOSED] == 4 && counts[NODEROLE_ACTIVE] == 0);
    core_count_nodes(w->core, counts); /* phantom nodes are not counted */
    CHECK(counts[NODEROLE_PROPOSED] == 2 && counts[NODEROLE_ACTIVE] == 0);
    world_commit_deployment(w, "d");
    world_run_all(w);
    core_count_noderoles(w->core, d, counts);
    CHECK(counts[NODEROLE_ACTIVE] == 4);
    core_count_nodes(w->core, counts);
    CHECK(counts[NODEROLE_ACTIVE] == 2);
    core_count_noderoles(w->core, 99, counts);
    CHECK(counts[NODEROLE_ACTIVE] == 0);
    core_noderoles_in(w->core, 99, &w->arena, &count);
    CHECK(count == 0);
    world_close(w);
}

/* ---- the timeline ---- */

TEST(snapshots_store_actor_time_and_counts)
{
    struct world *w = open_d();
    const int64_t d = the_deployment(w, "d");
    world_bind_in(w, "a@n1", "d");
    world_bind_in(w, "a@n2", "d");
    struct command commit = CMD(DEPLOYMENT_COMMIT, deployment_commit, .id = d);
    commit.actor = STR("alice");
    CHECK(DONE(w, commit) == d);
    struct snapshot_record first = read_head(w, "d");
    CHECK(first.seq == 1 && first.committed_at == w->now_ms && first.since == w->now_ms);
    world_run_all(w);
    DONE(w, CMD(SNAPSHOT_UPDATE, snapshot_update, .id = first.id, .given = GIVEN_DESCRIPTION,
                .name = STR("unasked"), .description = STR("the first")));
    CHECK(w->out.id == first.id);
    CHECK(str_eq(read_head(w, "d").name, STR("d")));
    CHECK(DONE(w, CMD(DEPLOYMENT_PROPOSE, deployment_propose, .id = d, .name = STR("next"))) == d);
    const struct snapshot_record head = read_head(w, "d");
    CHECK(head.id != first.id && head.seq == 2 && head.order == first.order + 1);
    CHECK(head.predecessor_id == first.id && head.state == SNAPSHOT_PROPOSED);
    CHECK(str_eq(head.name, STR("next")) && str_eq(head.description, STR("the first")));
    CHECK(head.since == w->now_ms && head.committed_at == 0);
    const struct snapshot_record old = read_snapshot(w, first.id);
    CHECK(old.state == SNAPSHOT_ARCHIVED && old.archived_at == w->now_ms);
    CHECK(old.since == w->now_ms && old.committed_at == first.committed_at);
    EXPECT_STR(shown(w, old.counts), "{'active':2,'blocked':0,'error':0,'proposed':0,'todo':0,"
                                     "'transition':0}");
    DONE(w, CMD(SNAPSHOT_UPDATE, snapshot_update, .id = head.id, .given = GIVEN_NAME,
                .name = STR("better"), .description = STR("unasked")));
    CHECK(str_eq(read_head(w, "d").name, STR("better")));
    CHECK(str_eq(read_head(w, "d").description, STR("the first")));
    const int64_t then = w->now_ms;
    DONE(w, CMD(SNAPSHOT_UPDATE, snapshot_update, .id = head.id,
                .given = GIVEN_NAME | GIVEN_DESCRIPTION, .name = STR("better"),
                .description = STR("the first")));
    CHECK(read_head(w, "d").updated_at == then);
    REFUSED(w, CMD(SNAPSHOT_UPDATE, snapshot_update, .id = 99), NOT_FOUND, "id");
    HAS(REFUSED(w, CMD(SNAPSHOT_UPDATE, snapshot_update, .id = head.id, .given = GIVEN_NAME),
                NAME_INVALID, "name"),
        "name ");
    world_close(w);
}

TEST(intervals_in_the_archive_are_distinguished)
{
    struct world *w = open_d();
    world_bind_in(w, "a@n1", "d");
    DONE(w, CMD(NODEROLE_DATA, noderole_data, .id = 1, .data = STR("{\"v\":1}")));
    world_commit_deployment(w, "d");
    const int64_t dr = the_deployment_role(w, "a", "d");
    DONE(w, CMD(DEPLOYMENT_ROLE_DATA, deployment_role_data, .id = dr, .data = STR("{\"r\":1}")));
    world_commit_deployment(w, "d"); /* 2 */
    DONE(w, CMD(DEPLOYMENT_ROLE_DATA, deployment_role_data, .id = dr, .data = STR("{\"r\":2}")));
    world_commit_deployment(w, "d");                         /* 3 */
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = 1)); /* 4 */
    CHECK(read_head(w, "d").seq == 4);
    EXPECT_STR(shown(w, world_snapshot(w, "d", 1)),
               "{'data':[{'data':{'v':1},'node':3,'role':1}],'members':[{'node':3,'role':1}]}");
    EXPECT_STR(shown(w, world_snapshot(w, "d", 2)),
               "{'data':[{'data':{'r':1},'node':0,'role':1},{'data':{'v':1},'node':3,'role':1}],"
               "'members':[{'node':3,'role':1}]}");
    EXPECT_STR(shown(w, world_snapshot(w, "d", 3)),
               "{'data':[{'data':{'r':2},'node':0,'role':1},{'data':{'v':1},'node':3,'role':1}],"
               "'members':[{'node':3,'role':1}]}");
    EXPECT_STR(shown(w, world_snapshot(w, "d", 4)),
               "{'data':[{'data':{'r':2},'node':0,'role':1}],'members':[]}");
    uint32_t members = 0, data = 0;
    for (size_t i = 0; i < w->kept_count; i++) {
        const struct record *r = &w->kept[i];
        if (r->table == TABLE_OLD_MEMBER) {
            members++;
            CHECK(r->old_member.noderole_id == 1 && r->old_member.node_id == 3);
            CHECK(r->old_member.from_seq == 1 && r->old_member.to_seq == 4);
            CHECK(r->old_member.deployment_id == 2 && r->old_member.role_id == 1);
        }
        data += r->table == TABLE_OLD_DATA;
    }
    CHECK(members == 1 && data == 2);
    world_close(w);
}

/* ---- revert ---- */

static struct command cmd_revert(struct world *w, int64_t seq, const char *content)
{
    return CMD(DEPLOYMENT_REVERT, deployment_revert, .id = the_deployment(w, "d"), .seq = seq,
               .content = world_json(w, content));
}

TEST(a_revert_binds_removes_and_skips_each_with_its_reason)
{
    struct world *w = open_d();
    world_role(w, "wipe", "'flags':['destructive','implicit']");
    world_deployment(w, "e");
    world_bind_in(w, "a@n1", "d");
    world_bind_in(w, "b@n1", "d");
    world_bind_in(w, "b@n2", "e");
    world_commit_deployment(w, "d");
    world_run_all(w);
    const int64_t d = the_deployment(w, "d");
    CHECK(DONE(w, cmd_revert(w, 1,
                             "{'data':[{'data':{'v':2},'node':0,'role':99},"
                             "{'data':{'v':3},'node':0,'role':4},"
                             "{'data':{'v':4},'node':4,'role':1}],"
                             "'members':[{'node':3,'role':1},{'node':4,'role':1},"
                             "{'node':4,'role':2},{'node':4,'role':4},{'node':4,'role':99},"
                             "{'node':98,'role':1}]}")) == d);
    EXPECT_STR(shown(w, w->out.doc),
               "{'bound':[{'node':4,'role':1}],'removed':[{'node':3,'role':2}],'skipped':["
               "{'node':4,'role':2,'why':'the role is on the node in another deployment'},"
               "{'node':4,'role':4,'why':'the role is destructive: bind it by hand'},"
               "{'node':4,'role':99,'why':'the role does not exist any more'},"
               "{'node':98,'role':1,'why':'the node does not exist any more'},"
               "{'node':0,'role':4,'why':'the role is not in the deployment any more'},"
               "{'node':0,'role':99,'why':'the role does not exist any more'}]}");
    CHECK(read_head(w, "d").seq == 2 && read_head(w, "d").state == SNAPSHOT_PROPOSED);
    CHECK(read_noderole(w, "b@n1").removing && !read_noderole(w, "a@n1").removing);
    EXPECT_STR(shown(w, read_noderole(w, "a@n2").proposed_data), "{'v':4}");
    IS(w, "a@n2", "proposed");
    IS(w, "a@n1", "active");
    /* Another revert before the commit clears the removal mark. */
    DONE(w, cmd_revert(w, 1, "{'data':[],'members':[{'node':3,'role':1},{'node':3,'role':2}]}"));
    CHECK(!read_noderole(w, "b@n1").removing && read_noderole(w, "a@n2").removing);
    EXPECT_STR(shown(w, w->out.doc), "{'bound':[],'removed':[{'node':4,'role':1}],'skipped':[]}");
    CHECK(read_head(w, "d").seq == 2);
    world_close(w);
}

TEST(binding_what_a_revert_would_remove_keeps_it)
{
    struct world *w = open_d();
    world_bind_in(w, "a@n1", "d");
    world_bind_in(w, "b@n1", "d");
    world_commit_deployment(w, "d");
    world_run_all(w);
    DONE(w, cmd_revert(w, 1, "{'data':[],'members':[{'node':3,'role':1}]}"));
    CHECK(read_noderole(w, "b@n1").removing);
    const int64_t id = the_noderole(w, "b@n1");
    CHECK(DONE(w, cmd_bind(w, "b@n1", "d")) == id);
    CHECK(!read_noderole(w, "b@n1").removing);
    world_commit_deployment(w, "d");
    CHECK(the_noderole(w, "b@n1") == id);
    world_close(w);
}

TEST(a_revert_is_refused_field_by_field)
{
    struct world *w = open_d();
    world_commit_deployment(w, "d");
    HAS(REFUSED(w, cmd_revert(w, 0, "{'data':[],'members':[]}"), NOT_FOUND, "seq"),
        "the deployment has no snapshot 0");
    HAS(REFUSED(w, cmd_revert(w, 2, "{'data':[],'members':[]}"), NOT_FOUND, "seq"),
        "the deployment has no snapshot 2");
    static const char *const wrong[] = {
        "{'members':[]}",
        "{'data':[]}",
        "{'data':{},'members':[]}",
        "{'data':[{'node':1,'role':1}],'members':[]}",
        "{'data':[{'node':1,'role':1,'data':[]}],'members':[]}",
        "{'data':[{'data':{},'node':1}],'members':[]}",
        "{'data':[],'members':[{'role':1}]}",
        "{'data':[],'members':[{'node':1}]}",
    };
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        HAS(REFUSED(w, cmd_revert(w, 1, wrong[i]), BAD_JSON, "content"),
            "is not the content of a snapshot");
    struct command nowhere = cmd_revert(w, 1, "{'data':[],'members':[]}");
    nowhere.deployment_revert.id = 99;
    REFUSED(w, nowhere, NOT_FOUND, "id");
    world_close(w);
}

/* Many documents together may be longer and deeper than a single one. */
TEST(the_content_of_a_revert_is_no_document_but_its_data_are)
{
    struct world *w = open_d();
    world_bind_in(w, "a@n1", "d");
    world_commit_deployment(w, "d");
    struct buf b = buf_in(&w->arena);
    buf_put_z(&b, "{\"data\":[{\"data\":{\"v\":\"");
    for (uint32_t i = 0; i < DOC_MAX - 100; i++)
        buf_put_c(&b, 'x');
    buf_put_z(&b, "\"},\"node\":3,\"role\":1}],\"members\":[{\"node\":3,\"role\":1}");
    for (uint32_t i = 0; i < 10; i++)
        buf_put_z(&b, ",{\"node\":99,\"role\":1}");
    buf_put_z(&b, "]}");
    CHECK(b.len > DOC_MAX);
    struct command revert = cmd_revert(w, 1, "{}");
    revert.deployment_revert.content = buf_str(&b);
    DONE(w, revert);
    CHECK(read_noderole(w, "a@n1").proposed_data.len > DOC_MAX - 100);
    b = buf_in(&w->arena);
    buf_put_z(&b, "{\"data\":[{\"data\":{\"v\":\"");
    for (uint32_t i = 0; i < DOC_MAX; i++)
        buf_put_c(&b, 'x');
    buf_put_z(&b, "\"},\"node\":3,\"role\":1}],\"members\":[{\"node\":3,\"role\":1}]}");
    revert.deployment_revert.content = buf_str(&b);
    REFUSED(w, revert, BAD_TEXT, "content");
    b = buf_in(&w->arena);
    buf_put_z(&b, "{\"data\":[{\"data\":{\"v\":");
    for (uint32_t i = 0; i < DOC_DEPTH_MAX; i++)
        buf_put_c(&b, '[');
    for (uint32_t i = 0; i < DOC_DEPTH_MAX; i++)
        buf_put_c(&b, ']');
    buf_put_z(&b, "},\"node\":3,\"role\":1}],\"members\":[]}");
    revert.deployment_revert.content = buf_str(&b);
    REFUSED(w, revert, BAD_JSON, "content");
    world_close(w);
}

TEST(descendants_are_removed_too_or_forbid_the_revert)
{
    struct world *w = open_d();
    world_role(w, "ground", "");
    world_role(w, "top", "'requires':['ground']");
    world_bind_in(w, "ground@n1", "d");
    world_commit_deployment(w, "d");
    world_run_all(w);
    DONE(w, CMD(DEPLOYMENT_CREATE, deployment_create, .name = STR("e"),
                .parent_id = the_deployment(w, "d")));
    world_bind_in(w, "top@n1", "e");
    world_bind_in(w, "top@n2", "e");
    CHECK(world_has_edge(w, "ground@n1", "top@n1") && world_has_edge(w, "ground@n1", "top@n2"));
    /* Neither ran: both are removed too, but are not marked in other deployments. */
    DONE(w, cmd_revert(w, 1, "{'data':[],'members':[]}"));
    EXPECT_STR(world_path(w, w->out.doc, "removed"),
               "[{'node':3,'role':4},{'node':3,'role':5},{'node':4,'role':5}]");
    CHECK(read_noderole(w, "ground@n1").removing && !read_noderole(w, "top@n1").removing);
    world_commit(w, "top@n1");
    const char *no =
        REFUSED(w, cmd_revert(w, 1, "{'data':[],'members':[]}"), HAS_DEPENDANTS, "seq");
    HAS(no, "e: n2.example.com: top depends on d: n1.example.com: ground");
    HAS(no, ", which is not in the snapshot");
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "top@n2")));
    DONE(w, cmd_revert(w, 1, "{'data':[],'members':[]}")); /* all on one node */
    world_commit_deployment(w, "d");
    CHECK(!world_bound(w, "ground@n1") && !world_bound(w, "top@n1"));
    world_close(w);
}

/* ---- plan ---- */

static const char *plan_of(struct world *w, const char *key)
{
    const struct command commit =
        CMD(DEPLOYMENT_COMMIT, deployment_commit, .id = the_deployment(w, "d"));
    core_plan(w->core, &commit, &w->arena, &w->out);
    CHECK(w->out.verdict == VERDICT_DONE && !w->core->planning);
    return world_path(w, w->out.doc, key);
}

TEST(a_plan_lists_waves_and_kinds_of_runs)
{
    struct world *w = open_d();
    world_role(w, "nop", "'jig':'noop','flags':['implicit'],'requires':['c']");
    world_bind_in(w, "nop@n1", "d");
    world_bind_in(w, "a@n2", "d");
    DONE(w, CMD(DEPLOYMENT_ROLE_DATA, deployment_role_data, .id = the_deployment_role(w, "a", "d"),
                .data = STR("{\"r\":1}")));
    DONE(w, CMD(DEPLOYMENT_ROLE_DATA, deployment_role_data, .id = the_deployment_role(w, "b", "d"),
                .data = STR("{\"r\":1}")));
    EXPECT_STR(plan_of(w, "role_commits"),
               "[{'role':1,'role_name':'a'},{'role':2,'role_name':'b'}]");
    EXPECT_STR(plan_of(w, "seq"), "1");
    EXPECT_STR(
        plan_of(w, "runs"),
        "[{'how':'run','node':3,'node_name':'n1.example.com','role':1,'role_name':'a','wave':1},"
        "{'how':'run','node':3,'node_name':'n1.example.com','role':2,'role_name':'b','wave':1},"
        "{'how':'run','node':4,'node_name':'n2.example.com','role':1,'role_name':'a','wave':1},"
        "{'how':'run','node':3,'node_name':'n1.example.com','role':3,'role_name':'c','wave':2},"
        "{'how':'noop','node':3,'node_name':'n1.example.com','role':4,'role_name':'nop',"
        "'wave':3}]");
    world_commit_deployment(w, "d");
    world_run_all(w);
    DONE(w, cmd_propose(w, "a@n2"));
    EXPECT_STR(plan_of(w, "runs"), "[{'how':'again','node':4,'node_name':'n2.example.com','role':1,"
                                   "'role_name':'a','wave':1}]");
    EXPECT_STR(plan_of(w, "reruns"),
               "[{'node':4,'node_name':'n2.example.com','role':1,'role_name':'a'}]");
    EXPECT_STR(plan_of(w, "role_commits"), "[]");
    HAS(REFUSED(w, CMD(DEPLOYMENT_COMMIT, deployment_commit, .id = 2, .plan = STR("00")),
                PLAN_CHANGED, "plan"),
        "the commit would do something else than the plan; request the plan again");
    world_close(w);
}
