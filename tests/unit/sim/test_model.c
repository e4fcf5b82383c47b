/* Goal: the reference model accepts each legal order of events that its records do not show, and
 * still reports what is not legal.
 * Method: a small installation whose steps the model follows; a difference is kept as a text. */
#include "sim/model/model.h"
#include "tests/check.h"
#include "tests/world/world.h"

#include <stdio.h>

/* ---- fixture ---- */

struct followed {
    struct world *w;
    struct model *model;
    struct arena scratch;
    bool is_unseen;    /* the model does not follow the steps */
    char trouble[512]; /* the first difference */
};

static void followed_step(void *self, struct command command)
{
    struct followed *f = self;
    struct world *w = f->w;
    w->fx = (struct effects){0};
    w->out = (struct outcome){0};
    core_step(w->core, &command, &w->arena, &w->fx, &w->out);
    if (f->is_unseen)
        return;
    const char *trouble = model_follow(f->model, w->core, &command, &w->out, &f->scratch);
    if (trouble && !f->trouble[0])
        snprintf(f->trouble, sizeof f->trouble, "%s", trouble);
}

static struct world *followed_open(struct followed *f)
{
    *f = (struct followed){.w = world_open(), .model = model_new()};
    model_adopt(f->model, f->w->core, &f->scratch);
    f->w->engine.self = f;
    f->w->engine.step = followed_step;
    return f->w;
}

static void followed_close(struct followed *f)
{
    world_close(f->w);
    model_free(f->model);
    arena_fini(&f->scratch);
}

/* ---- the status of a node that becomes alive ---- */

/* s1@d1 has served n1, and is in ERROR; s1@d2 has not. "on" waits for it, and n1 is not alive. */
static struct world *waiting_open(struct followed *f)
{
    struct world *w = followed_open(f);
    DONE(w, cmd_import(w, "{'barclamp':{'name':'tools','source_path':'/tools'},"
                          "'hammers':[{'name':'power','type':'ipmi','priority':1}]}"));
    world_role(w, "s1", "'flags':['serves-boot']");
    world_role(w, "found", "'jig':'noop','flags':['discovery','milestone']");
    static const char *const nodes[] = {"n1", "d1", "d2"};
    for (uint32_t i = 0; i < 3; i++)
        world_node(w, nodes[i], NULL);
    DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = the_node(w, "n1"),
                .hammer_kind_id = core_find(w->core, TABLE_HAMMER_KIND, STR("power")),
                .username = STR("root")));
    world_bind(w, "s1@d1");
    world_bring(w, "s1@d1", "active");
    world_bind(w, "s1@d2");
    world_bring(w, "s1@d2", "active");
    world_bind(w, "found@n1");
    world_bring(w, "found@n1", "active");
    world_run_all(w);
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NODE_BOOTENV,
                .bootenv = STR("local")));
    world_alive(w, "n1", false);
    world_deliver(w);
    world_anneal(w);
    world_finish(w, "s1@d1", RESULT_OK);
    DONE(w, cmd_retry(w, "s1@d1"));
    world_anneal(w);
    world_finish(w, "s1@d1", RESULT_FAILED);
    DONE(w, CMD(NODE_POWER, node_power, .id = the_node(w, "n1"), .action = STR("on")));
    EXPECT_STR(str_z(&w->arena, read_node(w, "n1").status), "");
    EXPECT_STR(f->trouble, "");
    return w;
}

static void end_wait(struct world *w)
{
    EXPECT_STR(str_z(&w->arena, read_node(w, "n1").status), "");
    w->now_ms += 600 * 1000;
    DONE(w, CMD(TICK, tick, .unused = 0));
    HAS(str_z(&w->arena, read_node(w, "n1").status), "on was not done");
}

/* The report of n1 changes its environment, which s1@d1 has not served. */
TEST(a_report_of_a_machine_may_end_the_wait_of_its_power_order)
{
    struct followed f;
    struct world *w = waiting_open(&f);
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"),
                .given = GIVEN_NODE_ALIVE | GIVEN_NODE_BOOTENV, .alive = true,
                .bootenv = STR("sledgehammer")));
    EXPECT_STR(str_z(&w->arena, read_node(w, "n1").status),
               "on was not done: s1 on d1.example.com is in error and has not served boot "
               "generation 2");
    CHECK(read_node(w, "n1").alive && !read_node(w, "n1").stopped);
    EXPECT_STR(f.trouble, "");
    followed_close(&f);
}

/* No order was given up in the step in which the model finds the node alive. */
TEST(an_earlier_status_of_a_node_that_becomes_alive_is_reported)
{
    struct followed f;
    struct world *w = waiting_open(&f);
    end_wait(w);
    EXPECT_STR(f.trouble, "");
    f.is_unseen = true;
    world_alive(w, "n1", true);
    DONE(w, CMD(NODE_POWER, node_power, .id = the_node(w, "n1"), .action = STR("on")));
    end_wait(w);
    f.is_unseen = false;
    DONE(w, CMD(TICK, tick, .unused = 0));
    HAS(f.trouble, "node status: ");
    followed_close(&f);
}
