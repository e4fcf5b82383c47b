#include "tests/unit/core/data_world.h"

/* The message of core_check() after one field of a consistent core was changed: every invariant is
 * violated once, restored and checked again. Also the rows of a new core. */

/* clang-format off */
static const char content[] =
    "{\"barclamp\":{\"name\":\"tools\",\"source_path\":\"p\"},"
    "\"jigs\":[{\"name\":\"noop\",\"class\":\"noop\"},{\"name\":\"test\",\"class\":\"test\"},"
    "{\"name\":\"script\",\"class\":\"script\"}],"
    "\"roles\":["
    "{\"name\":\"base\",\"jig\":\"script\",\"flags\":[\"implicit\"]},"
    "{\"name\":\"solo\",\"jig\":\"script\",\"flags\":[\"implicit\"]},"
    "{\"name\":\"mid\",\"jig\":\"script\",\"flags\":[\"implicit\"],\"requires\":[\"base\"]},"
    "{\"name\":\"top\",\"jig\":\"script\",\"flags\":[\"implicit\"],"
    "\"requires\":[\"base\",\"mid\"]},"
    "{\"name\":\"park\",\"jig\":\"script\",\"flags\":[\"implicit\"]},"
    "{\"name\":\"shy\",\"jig\":\"script\",\"flags\":[\"implicit\"],\"hooks\":[\"on_todo\"],"
    "\"provides\":[\"timid\",\"bashful\"],\"conflicts\":[\"bold\",\"brave\"]}]}";
/* clang-format on */

/* n1: base ACTIVE, solo ACTIVE with a queued run, mid in flight, top BLOCKED. n2: park parked, shy
 * TODO with a waiting hook. n3: base and solo TODO, for n3 is not available. */
struct scene {
    struct world w;
    int64_t d;
    int64_t n1, n2, n3;
    int64_t base, solo, mid, top, park, shy, base3, solo3;
};

static int64_t bind_in(struct scene *s, int64_t node, const char *role)
{
    must_step(&s->w, (struct command){.kind = COMMAND_NODEROLE_BIND,
                                      .noderole_bind = {.node_id = node,
                                                        .role_id = role_id(&s->w, role),
                                                        .deployment_id = s->d}});
    return s->w.out.id;
}

/* One annealing step; what starts is finished, but for mid (stays) and park (is parked). */
static void anneal_once(struct scene *s)
{
    must_step(&s->w, (struct command){.kind = COMMAND_ANNEAL});
    for (const struct effect *e = s->w.fx.first, *next; e; e = next) {
        next = e->next;
        if (e->kind != EFFECT_RUN_START || e->noderole_id == s->mid)
            continue;
        const bool parks = e->noderole_id == s->park;
        must_step(&s->w, (struct command){.kind = COMMAND_RUN_DONE,
                                          .run_done = {.run_id = e->id,
                                                       .attempt = e->attempt,
                                                       .result = parks ? RESULT_PARKED : RESULT_OK,
                                                       .park_ms = parks ? 1000 : 0}});
    }
}

static struct scene open_scene(void)
{
    struct scene s = {.w = world_open()};
    import(&s.w, content);
    must_step(&s.w, (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                     .deployment_create = {.name = STR("d")}});
    s.d = s.w.out.id;
    s.n1 = add_node(&s.w, "n1.example.com");
    s.n2 = add_node(&s.w, "n2.example.com");
    s.n3 = add_node(&s.w, "n3.example.com");
    must_step(&s.w, (struct command){.kind = COMMAND_NODE_UPDATE,
                                     .node_update = {.id = s.n3, .given = GIVEN_NODE_AVAILABLE}});
    s.top = bind_in(&s, s.n1, "top");
    s.base = core_noderole(s.w.c, s.n1, role_id(&s.w, "base"));
    s.mid = core_noderole(s.w.c, s.n1, role_id(&s.w, "mid"));
    s.solo = bind_in(&s, s.n1, "solo");
    s.park = bind_in(&s, s.n2, "park");
    s.shy = bind_in(&s, s.n2, "shy");
    s.base3 = bind_in(&s, s.n3, "base");
    s.solo3 = bind_in(&s, s.n3, "solo");
    must_step(&s.w, (struct command){.kind = COMMAND_DEPLOYMENT_COMMIT,
                                     .deployment_commit = {.id = s.d}});
    while (core_has_work(s.w.c))
        anneal_once(&s);
    must_step(&s.w, (struct command){.kind = COMMAND_NODEROLE_ENQUEUE,
                                     .noderole_enqueue = {.id = s.solo}});
    while (core_has_work(s.w.c))
        anneal_once(&s);
    CHECK(state_of(&s.w, s.base) == NODEROLE_ACTIVE && state_of(&s.w, s.solo) == NODEROLE_ACTIVE);
    CHECK(state_of(&s.w, s.mid) == NODEROLE_TRANSITION &&
          state_of(&s.w, s.top) == NODEROLE_BLOCKED);
    CHECK(state_of(&s.w, s.park) == NODEROLE_TRANSITION && state_of(&s.w, s.shy) == NODEROLE_TODO);
    CHECK(state_of(&s.w, s.base3) == NODEROLE_TODO && state_of(&s.w, s.solo3) == NODEROLE_TODO);
    world_check(&s.w);
    return s;
}

/* ---- direct access to rows, without undo ---- */

#define ROW(s, TABLE, type, id)                                                                    \
    ((struct type *)pool_at(&(s)->w.c->tables[TABLE].pool, type##_by_id((s)->w.c, (id)).v))
#define NODEROLE(s, id) ROW(s, TABLE_NODEROLE, noderole, id)
#define NODE(s, id)     ROW(s, TABLE_NODE, node, id)

static uint32_t *items_of(struct scene *s, const struct vec *v)
{
    return (uint32_t *)heap_at(&s->w.c->heap, v->ref);
}

static struct run *run_row(struct scene *s, run_ix ix)
{
    CHECK(ix.v);
    return (struct run *)pool_at(&s->w.c->tables[TABLE_RUN].pool, ix.v);
}

static struct deployment_role *role_in(struct scene *s, deployment_role_ix ix)
{
    return (struct deployment_role *)pool_at(&s->w.c->tables[TABLE_DEPLOYMENT_ROLE].pool, ix.v);
}

static void check_reports(struct scene *s, int line, const char *sentence)
{
    const char *what = core_check(s->w.c, &s->w.arena);
    if (!str_eq(str_from(what ? what : "(healthy)"), str_from(sentence ? sentence : "(healthy)")))
        check_failed(__FILE__, line, what ? what : "(healthy)");
}

/* core_check() reports the sentence while `place` has the value, and nothing before and after. */
#define BREAKS(s, place, value, sentence)                                                          \
    do {                                                                                           \
        __typeof__(place) kept_ = (place);                                                         \
        (place) = (__typeof__(place))(value);                                                      \
        check_reports((s), __LINE__, (sentence));                                                  \
        (place) = kept_;                                                                           \
        check_reports((s), __LINE__, NULL);                                                        \
    } while (0)

/* ---- noderoles ---- */

TEST(inactive_parents_are_counted_again)
{
    struct scene s = open_scene();
    BREAKS(&s, NODEROLE(&s, s.top)->inactive_parents, 0,
           "C1: the count of inactive parents is wrong");
    BREAKS(&s, NODEROLE(&s, s.top)->inactive_parents, 2,
           "C1: the count of inactive parents is wrong");
    BREAKS(&s, NODEROLE(&s, s.base)->inactive_parents, 1,
           "C1: the count of inactive parents is wrong");
    BREAKS(&s, NODEROLE(&s, s.top)->state, NODEROLE_TODO,
           "I2: a noderole is TODO with a parent outside ACTIVE");
    BREAKS(&s, NODEROLE(&s, s.base3)->state, NODEROLE_BLOCKED,
           "I2: a noderole is BLOCKED with all parents ACTIVE");
    world_close(&s.w);
}

TEST(a_noderole_and_its_deployment_role_refer_to_each_other)
{
    struct scene s = open_scene();
    BREAKS(&s, NODEROLE(&s, s.solo3)->dr.v, 0, "C2: the deployment role of a noderole is wrong");
    BREAKS(&s, NODEROLE(&s, s.solo3)->dr.v, NODEROLE(&s, s.base3)->dr.v,
           "C2: the deployment role of a noderole is wrong");
    struct vec *members = &role_in(&s, NODEROLE(&s, s.solo3)->dr)->noderoles;
    CHECK(members->count == 2);
    BREAKS(&s, members->count, 1, "C2: a deployment role does not list its noderole");
    world_close(&s.w);
}

TEST(edges_are_listed_at_both_ends_and_go_to_deeper_cohorts)
{
    struct scene s = open_scene();
    struct noderole *top = NODEROLE(&s, s.top), *base = NODEROLE(&s, s.base);
    const uint32_t cohort = base->cohort;
    CHECK(top->parents.count == 2 && base->children.count == 2 && cohort == 0);
    BREAKS(&s, base->children.count, 1, "C3: a parent does not list its child");
    BREAKS(&s, NODEROLE(&s, s.mid)->children.count, 0, "C3: a parent does not list its child");
    BREAKS(&s, base->cohort, NODEROLE(&s, s.mid)->cohort,
           "C4: a child is not deeper than its parent");
    BREAKS(&s, top->cohort, NODEROLE(&s, s.mid)->cohort,
           "C4: a child is not deeper than its parent");
    /* A duplicate is found, because it is out of order. */
    vec_insert(&s.w.c->heap, &top->parents, 0, noderole_by_id(s.w.c, s.base).v);
    check_reports(&s, __LINE__, "C3: parents are out of order");
    core_free(s.w.c);
    arena_fini(&s.w.arena);
}

TEST(a_child_that_is_no_child_is_found)
{
    struct scene s = open_scene();
    struct noderole *base = NODEROLE(&s, s.base);
    /* The parent lists a noderole that is not its child as the last one. */
    uint32_t *children = items_of(&s, &NODEROLE(&s, s.mid)->children);
    const uint32_t top = children[0];
    struct noderole *solo = NODEROLE(&s, s.solo3);
    const struct vec none = solo->children;
    CHECK(none.count == 0 && top == noderole_by_id(s.w.c, s.top).v && base->children.count == 2);
    solo->children = NODEROLE(&s, s.mid)->children;
    check_reports(&s, __LINE__, "C3: a child does not list its parent");
    solo->children = none;
    check_reports(&s, __LINE__, NULL);
    world_close(&s.w);
}

/* ---- runs ---- */

TEST(a_live_run_belongs_to_its_noderole)
{
    static const char wrong[] = "I3: a live run does not belong to its noderole";
    struct scene s = open_scene();
    struct noderole *mid = NODEROLE(&s, s.mid);
    struct run *run = run_row(&s, mid->run);
    BREAKS(&s, run->attempt, run->attempt + 1, wrong);
    BREAKS(&s, mid->attempt, mid->attempt + 1, wrong);
    BREAKS(&s, run->noderole.v, noderole_by_id(s.w.c, s.top).v, wrong);
    BREAKS(&s, run->noderole.v, 0, wrong);
    BREAKS(&s, NODEROLE(&s, s.park)->state, NODEROLE_TODO, wrong);
    BREAKS(&s, NODEROLE(&s, s.park)->state, NODEROLE_ERROR, wrong);
    BREAKS(&s, mid->run.v, 0, "I3: no noderole refers to the run");
    BREAKS(&s, NODEROLE(&s, s.park)->run.v, 0, "I3: no noderole refers to the run");
    world_close(&s.w);
}

TEST(a_queued_run_belongs_to_its_noderole)
{
    static const char wrong[] = "I3: a queued run does not belong to its noderole";
    static const char cannot[] = "C5: a noderole that cannot run has a queued run";
    struct scene s = open_scene();
    struct noderole *solo = NODEROLE(&s, s.solo);
    struct run *run = run_row(&s, solo->queued);
    CHECK(run->state == RUN_QUEUED && !solo->run.v);
    BREAKS(&s, run->state, RUN_RUNNING, wrong);
    BREAKS(&s, run->state, RUN_STOPPING, wrong);
    BREAKS(&s, run->noderole.v, noderole_by_id(s.w.c, s.top).v, wrong);
    BREAKS(&s, solo->state, NODEROLE_PROPOSED, cannot);
    BREAKS(&s, solo->state, NODEROLE_ERROR, cannot);
    BREAKS(&s, solo->queued.v, 0, "I3: no noderole refers to the run");
    /* A TODO noderole may have a queued run; the counts of its node are wrong. */
    BREAKS(&s, solo->state, NODEROLE_TODO,
           "C6: a TODO noderole is before the todo cursor of its node");
    world_close(&s.w);
}

TEST(busy_workers_and_timers_are_counted_again)
{
    struct scene s = open_scene();
    struct vars *vars = &s.w.c->vars;
    CHECK(vars->busy[QUEUE_NORMAL] == 1 && vars->busy[QUEUE_HIGH] == 0);
    BREAKS(&s, vars->busy[QUEUE_NORMAL], 0, "C1: the count of busy workers is wrong");
    BREAKS(&s, vars->busy[QUEUE_NORMAL], 2, "C1: the count of busy workers is wrong");
    BREAKS(&s, vars->busy[QUEUE_HIGH], 1, "C1: the count of busy workers is wrong");
    struct run *parked = run_row(&s, NODEROLE(&s, s.park)->run);
    CHECK(parked->state == RUN_PARKED && s.w.c->timers.count == 1);
    BREAKS(&s, s.w.c->timers.count, 0, "C8: a parked run has no timer");
    BREAKS(&s, s.w.c->timers.count, 2, "C8: a parked run has no timer");
    BREAKS(&s, parked->state, RUN_QUEUED, "C8: a parked run has no timer");
    BREAKS(&s, parked->state, RUN_RUNNING, "I3: two runs run on one node");
    BREAKS(&s, parked->state, RUN_STOPPING, "I3: two runs run on one node");
    world_close(&s.w);
}

/* ---- nodes ---- */

TEST(a_node_lists_its_own_noderoles_in_order)
{
    struct scene s = open_scene();
    struct node *n1 = NODE(&s, s.n1), *n3 = NODE(&s, s.n3);
    uint32_t *list = items_of(&s, &n3->noderoles);
    CHECK(n1->noderoles.count == 4 && n3->noderoles.count == 2);
    BREAKS(&s, NODEROLE(&s, s.solo3)->node.v, node_by_id(s.w.c, s.n2).v,
           "C2: a node lists a noderole that is not its own");
    BREAKS(&s, list[0], noderole_by_id(s.w.c, s.shy).v,
           "C2: a node lists a noderole that is not its own");
    BREAKS(&s, list[1], list[0], "C2: a node's noderoles are out of order");
    BREAKS(&s, list[0], list[1], "C2: a node's noderoles are out of order");
    BREAKS(&s, n3->noderoles.count, 1, "C1: a node's counts of states are wrong");
    world_close(&s.w);
}

TEST(an_automatic_node_is_the_only_admin_node)
{
    struct scene s = open_scene();
    struct node *n1 = NODE(&s, s.n1), *n2 = NODE(&s, s.n2);
    BREAKS(&s, n1->automatic, true, "I13: an automatic node is no admin node");
    n1->admin = n1->automatic = true;
    n2->admin = true;
    check_reports(&s, __LINE__, "I13: an automatic node is beside another admin node");
    n2->automatic = true;
    check_reports(&s, __LINE__, "I13: there are two automatic nodes");
    n1->admin = n1->automatic = n2->admin = n2->automatic = false;
    world_close(&s.w);
}

TEST(the_todo_cursor_is_not_after_the_first_todo)
{
    struct scene s = open_scene();
    struct node *n3 = NODE(&s, s.n3);
    const uint32_t was = n3->todo_cursor;
    n3->todo_cursor = 0;
    check_reports(&s, __LINE__, NULL);
    n3->todo_cursor = 1;
    check_reports(&s, __LINE__, "C6: a TODO noderole is before the todo cursor of its node");
    n3->todo_cursor = was;
    world_close(&s.w);
}

TEST(states_are_counted_again_on_nodes_and_in_deployments)
{
    struct scene s = open_scene();
    struct node *n1 = NODE(&s, s.n1);
    struct deployment *d = ROW(&s, TABLE_DEPLOYMENT, deployment, s.d);
    for (uint32_t i = 0; i < NODEROLE_STATE_COUNT; i++) {
        BREAKS(&s, n1->counts[i], n1->counts[i] + 1, "C1: a node's counts of states are wrong");
        BREAKS(&s, d->counts[i], d->counts[i] + 1, "C1: a deployment's counts are wrong");
    }
    BREAKS(&s, d->reruns, 1, "C1: a deployment's counts are wrong");
    BREAKS(&s, d->removing, 1, "C1: a deployment's counts are wrong");
    BREAKS(&s, d->proposed_roles, 1, "C1: a deployment's counts are wrong");
    BREAKS(&s, NODEROLE(&s, s.solo3)->rerun, true, "C1: a deployment's counts are wrong");
    BREAKS(&s, NODEROLE(&s, s.solo3)->removing, true, "C1: a deployment's counts are wrong");
    BREAKS(&s, role_in(&s, NODEROLE(&s, s.shy)->dr)->proposed, true,
           "C1: a deployment's counts are wrong");
    world_close(&s.w);
}

TEST(a_node_is_held_by_a_run_of_its_own)
{
    static const char wrong[] = "I3: the slot of a node is held by a run that does not run there";
    struct scene s = open_scene();
    struct node *n1 = NODE(&s, s.n1);
    struct run *run = run_row(&s, n1->run);
    BREAKS(&s, run->node.v, node_by_id(s.w.c, s.n3).v, wrong);
    BREAKS(&s, run->state, RUN_PARKED, wrong);
    BREAKS(&s, run->state, RUN_QUEUED, wrong);
    BREAKS(&s, run->state, RUN_STOPPING, NULL); /* a STOPPING run holds the slot as well */
    BREAKS(&s, n1->run.v, 0, "I3: two runs run on one node");
    BREAKS(&s, NODE(&s, s.n3)->run.v, n1->run.v, wrong);
    struct run *queued = run_row(&s, NODEROLE(&s, s.solo)->queued);
    CHECK(n1->queued.count == 1);
    BREAKS(&s, queued->node.v, node_by_id(s.w.c, s.n3).v,
           "C5: the queue of runs of a node is wrong");
    BREAKS(&s, items_of(&s, &n1->queued)[0], n1->run.v, "C5: the queue of runs of a node is wrong");
    world_close(&s.w);
}

/* ---- deployments ---- */

TEST(a_deployment_and_its_head_agree)
{
    struct scene s = open_scene();
    struct deployment *d = ROW(&s, TABLE_DEPLOYMENT, deployment, s.d);
    struct snapshot *head =
        (struct snapshot *)pool_at(&s.w.c->tables[TABLE_SNAPSHOT].pool, d->head.v);
    BREAKS(&s, d->committed, false, "C7: a deployment and its head disagree");
    BREAKS(&s, head->state, SNAPSHOT_PROPOSED, "C7: a deployment and its head disagree");
    BREAKS(&s, head->state, SNAPSHOT_ARCHIVED, "C7: a deployment and its head disagree");
    world_close(&s.w);
}

TEST(a_head_is_not_archived)
{
    struct scene s = open_scene();
    struct deployment *d = ROW(&s, TABLE_DEPLOYMENT, deployment, s.d);
    struct snapshot *head =
        (struct snapshot *)pool_at(&s.w.c->tables[TABLE_SNAPSHOT].pool, d->head.v);
    d->committed = false;
    head->state = SNAPSHOT_PROPOSED;
    check_reports(&s, __LINE__, NULL);
    head->state = SNAPSHOT_ARCHIVED;
    check_reports(&s, __LINE__, "C7: a head is archived");
    head->state = SNAPSHOT_COMMITTED;
    d->committed = true;
    world_close(&s.w);
}

/* ---- hooks and queues ---- */

TEST(waiting_hooks_are_counted_again)
{
    struct scene s = open_scene();
    struct noderole *shy = NODEROLE(&s, s.shy);
    CHECK(shy->hooks_pending_count == 1);
    BREAKS(&s, shy->hooks_pending_count, 0, "C9: the count of waiting hooks is wrong");
    BREAKS(&s, NODEROLE(&s, s.solo3)->hooks_pending_count, 1,
           "C9: the count of waiting hooks is wrong");
    struct outbox *row = NULL;
    for (int64_t id = 0; (id = core_next_id(s.w.c, TABLE_OUTBOX, id));)
        if (ROW(&s, TABLE_OUTBOX, outbox, id)->object_id == s.shy)
            row = ROW(&s, TABLE_OUTBOX, outbox, id);
    CHECK(row && row->object == TABLE_NODEROLE);
    BREAKS(&s, row->object_id, 99, "C9: a hook refers to a noderole that does not exist");
    BREAKS(&s, row->object, TABLE_NODE, "C9: the count of waiting hooks is wrong");
    world_close(&s.w);
}

TEST(the_queues_of_the_annealer_are_consistent)
{
    struct scene s = open_scene();
    struct core *c = s.w.c;
    struct node *n2 = NODE(&s, s.n2), *n3 = NODE(&s, s.n3);
    const node_ix i2 = node_by_id(c, s.n2), i3 = node_by_id(c, s.n3);
    CHECK(!c->vars.dirty_first.v);
    BREAKS(&s, n3->in_dirty_queue, true,
           "C6: a node is marked as queued and not in the dirty queue");
    BREAKS(&s, c->vars.dirty_first.v, i3.v,
           "C6: a node in the dirty queue is not marked as queued");
    const uint32_t live = core_count(c, TABLE_NODE);
    CHECK(live == 5);
    c->vars.dirty_first = i2;
    n2->in_dirty_queue = n3->in_dirty_queue = true;
    check_reports(&s, __LINE__, "C6: a node is marked as queued and not in the dirty queue");
    n2->dirty_next = i3;
    check_reports(&s, __LINE__, NULL);
    n3->dirty_next = i2;
    check_reports(&s, __LINE__, "C6: the dirty queue is cyclic");
    n3->dirty_next = n2->dirty_next = c->vars.dirty_first = (node_ix){0};
    n2->in_dirty_queue = n3->in_dirty_queue = false;
    for (uint32_t q = 0; q < QUEUE_COUNT; q++) {
        BREAKS(&s, n3->waiting[q], 7, "C6: a candidate is not in the map of its pool");
        BREAKS(&s, c->waiting[q].count, c->waiting[q].count + 1,
               "C6: a candidate is not in the map of its pool");
    }
    world_close(&s.w);
}

TEST(all_nodes_may_be_in_the_dirty_queue)
{
    struct scene s = open_scene();
    struct core *c = s.w.c;
    struct node *before = NULL;
    for (int64_t id = 0; (id = core_next_id(c, TABLE_NODE, id));) {
        struct node *node = NODE(&s, id);
        node->in_dirty_queue = true;
        if (before)
            before->dirty_next = node_by_id(c, id);
        else
            c->vars.dirty_first = node_by_id(c, id);
        c->vars.dirty_last = node_by_id(c, id);
        before = node;
    }
    check_reports(&s, __LINE__, NULL);
    world_close(&s.w);
}

/* ---- tables and strings ---- */

TEST(rows_are_found_by_their_ids)
{
    struct scene s = open_scene();
    struct core *c = s.w.c;
    BREAKS(&s, c->tables[TABLE_USER].pool.live, 1, "C10: rows and ids do not match");
    BREAKS(&s, NODE(&s, s.n3)->o.id, 77, "C10: a row is not found by its id");
    BREAKS(&s, ROW(&s, TABLE_COUNTER, counter, 3)->o.id, 77, "C10: a row is not found by its id");
    BREAKS(&s, ROW(&s, TABLE_COUNTER, counter, TABLE_NODE + 1)->last, s.n3 - 1,
           "C10: an id was never assigned");
    BREAKS(&s, ROW(&s, TABLE_COUNTER, counter, TABLE_OUTBOX + 1)->last, 0,
           "C10: an id was never assigned");
    BREAKS(&s, ROW(&s, TABLE_COUNTER, counter, TABLE_NODE + 1)->last, s.n3 + 9, NULL);
    world_close(&s.w);
}

TEST(references_to_strings_are_counted_again)
{
    static const char wrong[] = "I9: the reference count of a string is wrong";
    struct scene s = open_scene();
    BREAKS(&s, NODE(&s, s.n3)->description, NODE(&s, s.n3)->name, wrong);
    BREAKS(&s, NODEROLE(&s, s.top)->notes, NODE(&s, s.n3)->name, wrong);
    struct role *shy = ROW(&s, TABLE_ROLE, role, role_id(&s.w, "shy"));
    CHECK(shy->provided.count == 2 && shy->conflicting.count == 2);
    BREAKS(&s, shy->provided.count, 1, wrong);
    BREAKS(&s, shy->provided.count, 0, wrong);
    BREAKS(&s, shy->conflicting.count, 1, wrong);
    BREAKS(&s, shy->conflicting.count, 0, wrong);
    BREAKS(&s, shy->announces, NODE(&s, s.n3)->name, wrong);
    world_close(&s.w);
}

/* ---- a new core ---- */

TEST(a_new_installation_has_what_it_needs)
{
    struct core *c = core_new();
    struct arena a = {0};
    struct record r;
    core_bootstrap(c, 4711);
    CHECK(!core_check(c, &a));
    CHECK(core_record(c, TABLE_SETTINGS, 1, &r));
    CHECK(r.settings.created_at == 4711 && r.settings.updated_at == 4711);
    CHECK(r.settings.pool_normal == POOL_NORMAL_DEFAULT);
    CHECK(r.settings.pool_high == POOL_HIGH_DEFAULT && r.settings.max_depth == 0);
    CHECK(core_record(c, TABLE_GROUP, 1, &r));
    CHECK(str_eq(r.group.name, STR("not_set")) && str_eq(r.group.category, STR("ui")));
    CHECK(str_eq(r.group.description, STR("nodes in no other group")) && r.group.order == 10000);
    CHECK(core_find(c, TABLE_GROUP, STR("ui/not_set")) == 1);
    CHECK(core_find(c, TABLE_GROUP, STR("NOT_set")) == 1);
    CHECK(core_record(c, TABLE_DEPLOYMENT, 1, &r));
    CHECK(str_eq(r.deployment.name, STR("system")) && r.deployment.system);
    CHECK(str_eq(r.deployment.description, STR("discovery and bootstrap")));
    CHECK(r.deployment.parent_id == 0 && r.deployment.created_at == 4711);
    CHECK(core_record(c, TABLE_SNAPSHOT, r.deployment.head_id, &r));
    CHECK(r.snapshot.state == SNAPSHOT_COMMITTED && str_eq(r.snapshot.actor, STR("founding")));
    CHECK(r.snapshot.committed_at == 4711 && r.snapshot.since == 4711);
    CHECK(r.snapshot.seq == 1 && r.snapshot.order == 1000 && r.snapshot.archived_at == 0);
    CHECK(core_count(c, TABLE_COUNTER) == TABLE_OBJECTS);
    CHECK(!c->arena && !c->out && !c->fx && !c->command);
    CHECK(!core_needs_reload(c));
    c->step_number = UINT32_MAX / 2;
    CHECK(!core_needs_reload(c));
    c->step_number++;
    CHECK(core_needs_reload(c));
    c->step_number = 0;
    c->undo.stamp = UINT32_MAX / 2 + 1;
    CHECK(core_needs_reload(c));
    core_free(c);
    core_free(NULL);
    arena_fini(&a);
}

TEST(every_table_has_the_limit_of_its_kind)
{
    static const uint32_t wanted[TABLE_OBJECTS] = {
        [TABLE_SETTINGS] = 1,
        [TABLE_COUNTER] = TABLE_COUNT,
        [TABLE_BARCLAMP] = BARCLAMPS_MAX,
        [TABLE_JIG] = JIGS_MAX,
        [TABLE_HAMMER_KIND] = JIGS_MAX,
        [TABLE_ROLE] = ROLES_MAX,
        [TABLE_ATTRIB] = ATTRIBS_MAX,
        [TABLE_DEPLOYMENT] = DEPLOYMENTS_MAX,
        [TABLE_SNAPSHOT] = SNAPSHOTS_MAX,
        [TABLE_DEPLOYMENT_ROLE] = DEPLOYMENT_ROLES_MAX,
        [TABLE_NODE] = NODES_MAX,
        [TABLE_NODEROLE] = NODEROLES_MAX,
        [TABLE_RUN] = RUNS_MAX,
        [TABLE_HAMMER] = HAMMERS_MAX,
        [TABLE_GROUP] = GROUPS_MAX,
        [TABLE_USER] = USERS_MAX,
        [TABLE_TOKEN] = TOKENS_MAX,
        [TABLE_OUTBOX] = OUTBOX_MAX,
        [TABLE_HOST_KEY] = HOST_KEYS_MAX,
        [TABLE_NETWORK] = NETWORKS_MAX,
        [TABLE_NETWORK_RANGE] = NETWORK_RANGES_MAX,
        [TABLE_NETWORK_ROUTER] = NETWORKS_MAX,
        [TABLE_NETWORK_ALLOCATION] = ALLOCATIONS_MAX,
        [TABLE_LEASE] = LEASES_MAX,
        [TABLE_NIC] = NICS_MAX,
        [TABLE_DNS_NAME_FILTER] = NAME_FILTERS_MAX,
        [TABLE_DNS_NAME_ENTRY] = NAME_ENTRIES_MAX,
        [TABLE_BOOTENV] = BOOTENVS_MAX,
        [TABLE_BOOT_DUE] = BOOT_DUE_MAX,
    };
    struct core *c = core_new();
    for (uint32_t t = 0; t < TABLE_OBJECTS; t++)
        CHECK(c->tables[t].pool.max == wanted[t]);
    core_free(c);
}
