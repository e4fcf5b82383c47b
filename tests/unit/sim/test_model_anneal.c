/* Goal: the reference model accepts what the core does in one annealing pass in which several
 * enqueued instant runs are executed, whatever their order is.
 * Method: a core is brought into the state before the pass, which the model adopts; the pass is
 * executed and followed. The order of the core decides the result, and is tested too. */
#include "sim/model/model.h"
#include "tests/world/world.h"

/* child@CHILD depends on parent@n1, which is ACTIVE; the node of the child has a noderole in ERROR,
 * so that nothing but an enqueued run starts there. The child is in TODO. */
static struct world *open_with_child(const char *child, const char *failed)
{
    struct world *w = world_open();
    world_role(w, "parent", "'jig':'noop'");
    world_role(w, "child", "'jig':'noop','requires':['parent']");
    world_role(w, "bad", "");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "parent@n1");
    world_bring(w, "parent@n1", "active");
    world_bind(w, failed);
    world_bring(w, failed, "error");
    world_bind(w, child);
    world_commit(w, child);
    world_deliver(w);
    world_anneal(w);
    IS(w, child, "todo");
    return w;
}

/* One annealing pass, followed by the model. */
static void follow_pass(struct world *w)
{
    struct model *m = model_new();
    struct arena scratch = {0};
    model_adopt(m, w->core, &scratch);
    struct command anneal = CMD(ANNEAL, anneal, .budget = 0);
    world_step(w, anneal);
    anneal.now_ms = anneal.wall_ms = w->now_ms;
    anneal.mono_ms = w->now_ms - 1600000000000;
    const char *trouble = model_follow(m, w->core, &anneal, &w->out, &scratch);
    if (trouble)
        world_fail(HERE, "%s", trouble);
    arena_fini(&scratch);
    model_free(m);
}

/* World 7738: the model executed the parent first, which blocks the child and removes its run. */
TEST(enqueued_runs_of_a_node_are_followed_in_the_order_of_their_ids)
{
    struct world *w = open_with_child("child@n1", "bad@n1");
    DONE(w, cmd_enqueue(w, "child@n1"));
    DONE(w, cmd_enqueue(w, "parent@n1"));
    follow_pass(w);
    IS(w, "child@n1", "active");
    CHECK(read_noderole(w, "child@n1").run_count == 1);
    CHECK(read_noderole(w, "parent@n1").run_count == 2);
    world_close(w);
}

TEST(a_child_whose_enqueued_run_is_removed_is_followed)
{
    struct world *w = open_with_child("child@n1", "bad@n1");
    DONE(w, cmd_enqueue(w, "parent@n1"));
    DONE(w, cmd_enqueue(w, "child@n1"));
    follow_pass(w);
    IS(w, "child@n1", "todo");
    CHECK(!read_noderole(w, "child@n1").run_count);
    CHECK(read_noderole(w, "parent@n1").run_count == 2);
    CHECK(!world_runs(w, NULL));
    world_close(w);
}

/* The nodes are evaluated in the order in which they changed. */
TEST(a_child_on_another_node_that_was_executed_first_is_followed)
{
    struct world *w = open_with_child("child@n2", "bad@n2");
    DONE(w, cmd_enqueue(w, "child@n2"));
    DONE(w, cmd_enqueue(w, "parent@n1"));
    follow_pass(w);
    IS(w, "child@n2", "active");
    CHECK(read_noderole(w, "child@n2").run_count == 1);
    CHECK(read_noderole(w, "parent@n1").run_count == 2);
    world_close(w);
}

TEST(a_child_on_another_node_whose_run_is_removed_is_followed)
{
    struct world *w = open_with_child("child@n2", "bad@n2");
    DONE(w, cmd_enqueue(w, "parent@n1"));
    DONE(w, cmd_enqueue(w, "child@n2"));
    follow_pass(w);
    IS(w, "child@n2", "todo");
    CHECK(!read_noderole(w, "child@n2").run_count && !world_runs(w, NULL));
    CHECK(read_noderole(w, "parent@n1").run_count == 2);
    world_close(w);
}

/* A destructive child that ran before the pass is skipped: its run count does not show that it was
 * executed, only its state does. */
static struct world *open_with_skipped_child(void)
{
    struct world *w = world_open();
    world_role(w, "parent", "'jig':'noop'");
    world_role(w, "child", "'requires':['parent'],'flags':['destructive']");
    world_role(w, "bad", "");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "parent@n1");
    world_bring(w, "parent@n1", "active");
    world_bind(w, "child@n2");
    world_bring(w, "child@n2", "active");
    DONE(w, cmd_propose(w, "child@n2"));
    world_bind(w, "bad@n2");
    world_bring(w, "bad@n2", "error");
    world_commit(w, "child@n2");
    world_run_all(w);
    IS(w, "child@n2", "todo");
    return w;
}

TEST(a_skipped_child_on_another_node_is_followed_in_either_order)
{
    static const char *const names[] = {"child@n2", "parent@n1"};
    for (uint32_t first = 0; first < 2; first++) {
        struct world *w = open_with_skipped_child();
        DONE(w, cmd_enqueue(w, names[first]));
        DONE(w, cmd_enqueue(w, names[1 - first]));
        follow_pass(w);
        IS(w, "child@n2", first ? "todo" : "active"); /* the rerun of the parent removes its run */
        CHECK(read_noderole(w, "child@n2").run_count == 1 && !world_runs(w, NULL));
        CHECK(read_noderole(w, "parent@n1").run_count == 2);
        world_close(w);
    }
}
