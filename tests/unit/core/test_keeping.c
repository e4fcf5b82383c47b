#include <string.h>

#include "core/network/network_private.h"
#include "tests/world/world.h"

/* Loading and collecting: what a load refuses and with which message, what it rebuilds, and which
 * changes a batch contains. */

/* n1: src ACTIVE, solo in flight, sink TODO. n2: solo parked, shy TODO with a waiting hook. n1 and
 * n2 are in group g. */
static struct world *open_scene(void)
{
    struct world *w = world_open();
    world_role(w, "src",
               "'attribs':[{'name':'x','map':'src/x','default':1},"
               "{'name':'y','map':'src/y','default':2}]");
    world_role(w, "sink", "'requires':['src'],'wants-attribs':['y',{'name':'x','at':'from/x'}]");
    world_role(w, "solo", "'flags':['implicit']");
    world_role(w, "shy", "'hooks':['on_todo']");
    world_deployment(w, "d");
    world_node(w, "n1", "d");
    world_node(w, "n2", "d");
    const int64_t g = DONE(w, CMD(GROUP_CREATE, group_create, .name = STR("g"),
                                  .category = STR("ui"), .description = STR("both")));
    DONE(w, CMD(GROUP_ADD, group_add, .id = g, .node_id = the_node(w, "n2")));
    DONE(w, CMD(GROUP_ADD, group_add, .id = g, .node_id = the_node(w, "n1")));
    world_bind_in(w, "sink@n1", "d");
    world_bind_in(w, "solo@n1", "d");
    world_bind_in(w, "solo@n2", "d");
    world_bind_in(w, "shy@n2", "d");
    world_commit_deployment(w, "d");
    world_anneal(w);
    world_finish(w, "src@n1", RESULT_OK);
    world_finish_with(w, "solo@n2",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = 5000});
    world_anneal(w);
    world_reload(w); /* also sorts the stored records */
    return w;
}

/* Load the stored records of the tables before `until` into a new core. *out_what: NULL on success.
 * */
static struct core *load_into(struct world *w, enum table until, const char **out_what)
{
    struct core *c = core_new();
    err e = OK;
    *out_what = NULL;
    for (size_t i = 0; e == OK && i < w->kept_count && w->kept[i].table < until; i++) {
        e = core_load(c, &w->kept[i], out_what);
        CHECK((e == ERR_CORRUPT) == (*out_what != NULL));
    }
    if (e == OK)
        e = core_load_end(c, 777000, out_what);
    CHECK(e == (*out_what ? ERR_CORRUPT : OK));
    return c;
}

static const char *load(struct world *w, enum table until)
{
    const char *what;
    core_free(load_into(w, until, &what));
    return what ? what : "(fine)";
}

static struct record *kept(struct world *w, enum table table, uint32_t nth)
{
    for (size_t i = 0; i < w->kept_count; i++)
        if (w->kept[i].table == table && nth-- == 0)
            return &w->kept[i];
    check_failed("kept", (int)table, "no such record");
}

static struct record *kept_id(struct world *w, enum table table, int64_t id)
{
    for (size_t i = 0; i < w->kept_count; i++)
        if (w->kept[i].table == table && w->kept[i].id == id)
            return &w->kept[i];
    check_failed("kept", (int)table, "no such id");
}

#define LOADS(w, place, value, sentence)                                                           \
    do {                                                                                           \
        __typeof__(place) kept_ = (place);                                                         \
        (place) = (value);                                                                         \
        EXPECT_STR(load((w), TABLE_LOADED), (sentence));                                           \
        (place) = kept_;                                                                           \
        EXPECT_STR(load((w), TABLE_LOADED), "(fine)");                                             \
    } while (0)

static const char lost[] = "a row has an invalid value or refers to a row that does not exist";

/* ---- contradictions ---- */

TEST(a_duplicate_row_or_one_without_id_is_refused)
{
    static const char twice[] = "a row has no id, or an id that is used twice";
    struct world *w = open_scene();
    struct record *first = kept(w, TABLE_NODE, 0), *second = kept(w, TABLE_NODE, 1);
    LOADS(w, second->id, first->id, twice);
    LOADS(w, first->id, 0, twice);
    LOADS(w, first->id, -1, twice);
    LOADS(w, kept(w, TABLE_SETTINGS, 0)->id, 2, lost);
    LOADS(w, kept(w, TABLE_COUNTER, TABLE_OBJECTS - 1)->id, TABLE_OBJECTS + 1, lost);
    world_close(w);
}

TEST(more_rows_than_fit_are_refused)
{
    struct world *w = open_scene();
    struct core *c = core_new();
    const char *what;
    struct record settings = *kept(w, TABLE_SETTINGS, 0);
    CHECK(core_load(c, &settings, &what) == OK && !what);
    settings.id = 2;
    CHECK(core_load(c, &settings, &what) == ERR_CORRUPT);
    EXPECT_STR(what, "a table has more rows than this build supports");
    core_free(c);
    world_close(w);
}

TEST(stored_strings_are_validated_like_input)
{
    static char name[300];
    memset(name, 'n', sizeof name);
    struct world *w = open_scene();
    struct record *node = kept(w, TABLE_NODE, 0);
    const struct str too_long = {name, sizeof name};
    LOADS(w, node->node.name, too_long, "a name is too long");
    LOADS(w, node->node.description, STR("\xff"), "a string is too long or not valid UTF-8");
    LOADS(w, node->node.hint, STR("{\"b\":1,\"a\":2}"), "a document is not canonical JSON");
    LOADS(w, node->node.hint, STR("nonsense"), "a document is not canonical JSON");
    world_close(w);
}

TEST(references_to_missing_rows_are_refused)
{
    struct world *w = open_scene();
    struct record *d = kept(w, TABLE_DEPLOYMENT, 1);
    LOADS(w, kept(w, TABLE_ROLE, 1)->role.barclamp_id, 99, lost);
    LOADS(w, kept(w, TABLE_ATTRIB, 0)->attrib.role_id, 99, lost);
    LOADS(w, kept(w, TABLE_BARCLAMP, 0)->barclamp.parent_id, 99,
          "the parent of a barclamp does not exist or is below it");
    LOADS(w, d->deployment.parent_id, 99, lost);
    LOADS(w, d->deployment.parent_id, 0, lost);
    LOADS(w, d->deployment.system, true, lost);
    LOADS(w, kept(w, TABLE_DEPLOYMENT, 0)->deployment.system, false, lost);
    LOADS(w, kept(w, TABLE_SNAPSHOT, 1)->snapshot.deployment_id, 99, lost);
    LOADS(w, kept(w, TABLE_SNAPSHOT, 1)->snapshot.deployment_id, 0, lost);
    LOADS(w, kept(w, TABLE_SNAPSHOT, 1)->snapshot.state, SNAPSHOT_ARCHIVED + 1, lost);
    LOADS(w, kept(w, TABLE_SNAPSHOT, 1)->snapshot.state, SNAPSHOT_ARCHIVED,
          "C7: a head is archived");
    LOADS(w, kept(w, TABLE_DEPLOYMENT_ROLE, 0)->deployment_role.role_id, 0, lost);
    LOADS(w, kept(w, TABLE_DEPLOYMENT_ROLE, 0)->deployment_role.deployment_id, 0, lost);
    LOADS(w, kept(w, TABLE_DEPLOYMENT_ROLE, 0)->deployment_role.deployment_id, 99, lost);
    LOADS(w, kept(w, TABLE_NODE, 2)->node.deployment_id, 0, lost);
    LOADS(w, kept(w, TABLE_NODE, 2)->node.deployment_id, 99, lost);
    LOADS(w, kept(w, TABLE_NODE, 2)->node.target_role_id, 99, lost);
    world_close(w);
}

TEST(an_inconsistent_noderole_is_refused)
{
    struct world *w = open_scene();
    struct noderole_record *nr = &kept_id(w, TABLE_NODEROLE, the_noderole(w, "shy@n2"))->noderole;
    LOADS(w, nr->deployment_id, 0, lost);
    LOADS(w, nr->role_id, 0, lost);
    LOADS(w, nr->node_id, 0, lost);
    LOADS(w, nr->node_id, 99, lost);
    LOADS(w, nr->state, NODEROLE_STATE_COUNT, lost);
    LOADS(w, nr->cohort, COHORT_MAX + 1, lost);
    LOADS(w, nr->cohort, COHORT_MAX, "(fine)");
    LOADS(w, nr->deployment_id, SYSTEM, lost); /* the role is not in that deployment */
    LOADS(w, nr->state, NODEROLE_BLOCKED, "I2: a noderole is BLOCKED with all parents ACTIVE");
    world_close(w);
}

TEST(an_inconsistent_run_is_refused)
{
    struct world *w = open_scene();
    const int64_t running = world_run(w, "solo@n1", RUN_RUNNING);
    const int64_t parked = world_run(w, "solo@n2", RUN_PARKED);
    struct run_record *run = &kept_id(w, TABLE_RUN, running)->run;
    LOADS(w, run->node_id, 99, lost);
    LOADS(w, run->noderole_id, 99, lost);
    LOADS(w, run->state, RUN_STOPPING + 1, lost);
    LOADS(w, run->queue, QUEUE_COUNT, lost);
    LOADS(w, run->queue, QUEUE_HIGH, "(fine)");
    LOADS(w, run->attempt, run->attempt + 1, "I3: a live run does not belong to its noderole");
    LOADS(w, kept_id(w, TABLE_RUN, parked)->run.noderole_id, 99, lost);
    /* The noderole and node of a STOPPING run may be deleted. */
    LOADS(w, run->state, RUN_STOPPING, "(fine)");
    run->state = RUN_STOPPING;
    LOADS(w, run->node_id, 99, "(fine)");
    LOADS(w, run->noderole_id, 99, "(fine)");
    run->state = RUN_RUNNING;
    world_close(w);
}

TEST(other_inconsistent_rows_are_refused)
{
    struct world *w = open_scene();
    DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = the_node(w, "n1"), .hammer_kind_id = 2,
                .username = STR("root")));
    world_reload(w);
    struct hammer_record *hammer = &kept(w, TABLE_HAMMER, 0)->hammer;
    LOADS(w, hammer->node_id, 0, lost);
    LOADS(w, hammer->node_id, 99, lost);
    LOADS(w, hammer->hammer_kind_id, 0, lost);
    LOADS(w, hammer->hammer_kind_id, 99, lost);
    struct node_record *node = &kept(w, TABLE_NODE, 1)->node;
    LOADS(w, node->name, kept(w, TABLE_NODE, 0)->node.name, "two rows have the same name");
    struct outbox_record *row = &kept(w, TABLE_OUTBOX, 0)->outbox;
    LOADS(w, row->kind, OUTBOX_PROBE + 1, lost);
    LOADS(w, row->hook, HOOK_COUNT, lost);
    LOADS(w, row->object, TABLE_COUNT, lost);
    LOADS(w, row->kind, OUTBOX_PROBE, "(fine)");
    LOADS(w, row->object_id, 99, "C9: a hook refers to a noderole that does not exist");
    world_close(w);
}

TEST(inconsistent_relations_are_refused)
{
    static const char edge[] =
        "a dependency is a duplicate, closes a cycle or refers to a noderole that does not exist";
    static const char link[] = "an attrib link refers to a row that does not exist";
    static const char member[] =
        "a group membership is a duplicate or refers to a row that does not exist";
    struct world *w = open_scene();
    struct edge_record *e = &kept(w, TABLE_EDGE, 0)->edge;
    LOADS(w, e->parent_id, 99, edge);
    LOADS(w, e->child_id, 99, edge);
    LOADS(w, e->parent_id, e->child_id, edge);
    LOADS(w, e->child_id, the_noderole(w, "solo@n1"), edge); /* not deeper than its parent */
    struct link_record *l = &kept(w, TABLE_LINK, 1)->link;
    LOADS(w, l->parent_id, 99, link);
    LOADS(w, l->child_id, 99, link);
    LOADS(w, l->attrib_id, 99, link);
    uint32_t nth = 0;
    while (kept(w, TABLE_MEMBERSHIP, nth)->membership.group_id != 2)
        nth++;
    struct membership_record *m = &kept(w, TABLE_MEMBERSHIP, nth + 1)->membership;
    LOADS(w, m->group_id, 99, member);
    LOADS(w, m->node_id, 99, member);
    LOADS(w, m->node_id, kept(w, TABLE_MEMBERSHIP, nth)->membership.node_id, member);
    struct core *c = core_new();
    const char *what;
    for (size_t i = 0; i < w->kept_count && w->kept[i].table <= TABLE_EDGE; i++)
        CHECK(core_load(c, &w->kept[i], &what) == OK);
    CHECK(core_load(c, kept(w, TABLE_EDGE, 0), &what) == ERR_CORRUPT);
    EXPECT_STR(what, edge);
    core_free(c);
    world_close(w);
}

TEST(missing_mandatory_rows_are_refused)
{
    static const char missing[] = "the settings, the counters or the system deployment are missing";
    static const char head[] = "the head or the phantom node of a deployment does not exist";
    struct world *w = open_scene();
    EXPECT_STR(load(w, TABLE_SETTINGS), missing);
    EXPECT_STR(load(w, TABLE_COUNTER), missing);
    EXPECT_STR(load(w, TABLE_DEPLOYMENT), missing);
    EXPECT_STR(load(w, TABLE_SNAPSHOT), head);
    EXPECT_STR(load(w, TABLE_NODE), head);
    struct deployment_record *system = &kept(w, TABLE_DEPLOYMENT, 0)->deployment;
    struct deployment_record *d = &kept(w, TABLE_DEPLOYMENT, 1)->deployment;
    LOADS(w, d->head_id, 99, head);
    LOADS(w, d->phantom_id, 99, head);
    LOADS(w, d->head_id, system->head_id, head);
    LOADS(w, system->head_id, d->head_id, head);
    struct core *c = core_new();
    const char *what;
    for (size_t i = 0; i < w->kept_count && w->kept[i].table < TABLE_LOADED; i++)
        if (w->kept[i].table != TABLE_SETTINGS)
            CHECK(core_load(c, &w->kept[i], &what) == OK);
    CHECK(core_load_end(c, 1, &what) == ERR_CORRUPT);
    EXPECT_STR(what, missing);
    core_free(c);
    c = core_new();
    for (size_t i = 0; i < w->kept_count && w->kept[i].table < TABLE_LOADED; i++)
        if (w->kept[i].table != TABLE_COUNTER || w->kept[i].id != 3)
            CHECK(core_load(c, &w->kept[i], &what) == OK);
    CHECK(core_load_end(c, 1, &what) == ERR_CORRUPT);
    EXPECT_STR(what, missing);
    core_free(c);
    world_close(w);
}

TEST(roles_that_contradict_each_other_are_refused)
{
    struct world *w = open_scene();
    struct role_record *src = &kept_id(w, TABLE_ROLE, the_role(w, "src"))->role;
    struct role_record *sink = &kept_id(w, TABLE_ROLE, the_role(w, "sink"))->role;
    LOADS(w, src->requires, STR("[\"sink\"]"), "the stored roles contradict each other");
    LOADS(w, sink->cohort, 0, "the stored cohorts of roles are wrong");
    world_close(w);
}

/* ---- derived state ---- */

TEST(times_and_turns_are_loaded)
{
    struct world *w = open_scene();
    struct record before, after;
    const int64_t n1 = the_node(w, "n1");
    world_available(w, "n1", false);
    world_collect(w);
    CHECK(core_record(w->core, TABLE_NODE, n1, &before));
    CHECK(before.table == TABLE_NODE && before.id == n1 && before.node.id == n1);
    CHECK(before.node.updated_at == w->now_ms && before.node.turn == w->turn);
    CHECK(before.node.created_at > 1700000000000 && before.node.created_at < w->now_ms);
    world_reload(w);
    CHECK(core_record(w->core, TABLE_NODE, n1, &after));
    CHECK(after.node.created_at == before.node.created_at);
    CHECK(after.node.updated_at == before.node.updated_at && after.node.turn == before.node.turn);
    CHECK(w->core->now_ms == 0); /* the next command sets the time */
    CHECK(w->core->mono_ms == w->now_ms - 1600000000000);
    world_available(w, "n1", true);
    world_collect(w);
    CHECK(core_record(w->core, TABLE_NODE, n1, &after));
    CHECK(after.node.turn > before.node.turn && after.node.updated_at > before.node.updated_at);
    CHECK(after.node.created_at == before.node.created_at);
    world_close(w);
}

TEST(derived_state_is_rebuilt)
{
    struct world *w = open_scene();
    DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = the_node(w, "n1"), .hammer_kind_id = 2,
                .username = STR("root")));
    DONE(w, CMD(DEPLOYMENT_CREATE, deployment_create, .name = STR("e"),
                .parent_id = the_deployment(w, "d")));
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("boss.example.com"), .deployment_id = SYSTEM,
                .admin = true, .alive = true));
    DONE(w, CMD(DEPLOYMENT_ROLE_DATA, deployment_role_data,
                .id = the_deployment_role(w, "shy", "d"), .data = STR("{\"v\":1}")));
    const uint32_t hammers =
        node_at(w->core, node_by_id(w->core, the_node(w, "n1")))->hammers.count;
    CHECK(hammers >= 1);
    world_reload(w);
    const struct core *c = w->core;
    const struct node *n1 = node_at(c, node_by_id(c, the_node(w, "n1")));
    const struct deployment *d = deployment_at(c, deployment_by_id(c, the_deployment(w, "d")));
    CHECK(n1->hammers.count == hammers && n1->group_count == 1);
    CHECK(c->vars.admins.count == 1);
    CHECK(d->child_count == 1 && d->proposed_roles == 1 && d->committed);
    CHECK(deployment_at(c, deployment_by_id(c, 1))->child_count == 1);
    CHECK(d->roles.count == 4 && c->vars.busy[QUEUE_NORMAL] == 1);
    CHECK(role_at(c, role_by_id(c, the_role(w, "solo")))->deployed.count == 1);
    CHECK(noderole_at(c, noderole_by_id(c, the_noderole(w, "shy@n2")))->hooks_pending_count == 1);
    CHECK(n1->run.v && noderole_at(c, run_at(c, n1->run)->noderole)->run.v == n1->run.v);
    const struct group *g = group_at(c, group_by_id(c, core_find(c, TABLE_GROUP, STR("ui/g"))));
    CHECK(g->nodes.count == 2);
    CHECK(vec_at(c, &g->nodes, 0) == node_by_id(c, the_node(w, "n1")).v);
    /* The time of a parked run starts anew. */
    const run_ix parked = run_by_id(c, world_run(w, "solo@n2", RUN_PARKED));
    CHECK(run_at(c, parked)->park_left_ms == 5000 && c->timers.count == 1);
    CHECK(core_next_deadline(c) == w->now_ms - 1600000000000 + 5000);
    /* Every node is in the dirty queue. */
    CHECK(core_has_work(c));
    world_close(w);
}

TEST(a_queued_run_is_in_the_queue_again)
{
    struct world *w = open_scene();
    DONE(w, cmd_enqueue(w, "src@n1"));
    world_reload(w);
    const struct core *c = w->core;
    const struct noderole *src = noderole_at(c, noderole_by_id(c, the_noderole(w, "src@n1")));
    const struct node *n1 = node_at(c, src->node);
    CHECK(src->queued.v && !src->run.v && n1->queued.count == 1);
    CHECK(vec_at(c, &n1->queued, 0) == src->queued.v);
    /* A QUEUED run with an attempt number was resumed: it is the live run of its noderole. */
    DONE(w, CMD(RUN_RESUME, run_resume, .run_id = world_run(w, "solo@n2", RUN_PARKED)));
    world_reload(w);
    c = w->core;
    const struct noderole *solo = noderole_at(c, noderole_by_id(c, the_noderole(w, "solo@n2")));
    CHECK(solo->run.v && !solo->queued.v && c->timers.count == 0);
    CHECK(run_at(c, solo->run)->state == RUN_QUEUED);
    world_close(w);
}

TEST(links_are_sorted_by_attrib)
{
    struct world *w = open_scene();
    struct record *first = kept(w, TABLE_LINK, 0), *second = kept(w, TABLE_LINK, 1);
    const char *what;
    for (uint32_t way = 0; way < 2; way++) {
        struct core *c = load_into(w, TABLE_LOADED, &what);
        CHECK(!what);
        const noderole_ix sink = noderole_by_id(c, the_noderole(w, "sink@n1"));
        const noderole_ix src = noderole_by_id(c, the_noderole(w, "src@n1"));
        const struct vec *links = &noderole_at(c, sink)->links;
        CHECK(links->count == 4);
        CHECK(vec_at(c, links, 0) == src.v && vec_at(c, links, 2) == src.v);
        CHECK(vec_at(c, links, 1) == attrib_by_id(c, the_attrib(w, "x")).v);
        CHECK(vec_at(c, links, 3) == attrib_by_id(c, the_attrib(w, "y")).v);
        CHECK(digest_eq(core_digest(c), core_digest(w->core)));
        CHECK(digest_eq(core_digest(c), core_digest_now(c)));
        CHECK(c->mono_ms == 777000);
        core_free(c);
        const struct record other = *first;
        *first = *second;
        *second = other;
    }
    world_close(w);
}

/* ---- collect ---- */

struct seen {
    struct change changes[64];
    uint32_t count;
};

static void see(void *context, const struct change *change)
{
    struct seen *seen = context;
    CHECK(seen->count < 64);
    seen->changes[seen->count++] = *change;
}

static struct seen collect(struct world *w)
{
    struct seen seen = {.count = 0};
    core_collect(w->core, ++w->turn, see, &seen);
    CHECK(core_changed(w->core) == 0);
    CHECK(digest_eq(core_digest(w->core), core_digest_now(w->core)));
    return seen;
}

static uint32_t count_of(const struct seen *seen, enum table table, bool gone)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < seen->count; i++)
        count += seen->changes[i].record.table == table && seen->changes[i].gone == gone;
    return count;
}

static void quit(struct world *w)
{
    core_free(w->core);
    w->core = core_new();
    core_bootstrap(w->core, 1);
    w->kept_count = 0;
    world_close(w);
}

TEST(a_relation_that_was_added_and_removed_is_not_a_change)
{
    struct world *w = open_scene();
    const int64_t g = core_find(w->core, TABLE_GROUP, STR("ui/g"));
    const int64_t n1 = the_node(w, "n1"), n2 = the_node(w, "n2");
    const struct command out1 = CMD(GROUP_REMOVE, group_remove, .id = g, .node_id = n1);
    const struct command in1 = CMD(GROUP_ADD, group_add, .id = g, .node_id = n1);
    const struct command out2 = CMD(GROUP_REMOVE, group_remove, .id = g, .node_id = n2);
    const struct command in2 = CMD(GROUP_ADD, group_add, .id = g, .node_id = n2);
    const struct digest128 before = core_digest(w->core);
    DONE(w, out1);
    DONE(w, in1);
    CHECK(core_changed(w->core) >= 2);
    struct seen seen = collect(w);
    CHECK(count_of(&seen, TABLE_MEMBERSHIP, true) + count_of(&seen, TABLE_MEMBERSHIP, false) == 0);

    DONE(w, out2);
    DONE(w, out1);
    DONE(w, in1);
    DONE(w, out1);
    seen = collect(w);
    CHECK(!digest_eq(before, core_digest(w->core)));
    CHECK(count_of(&seen, TABLE_MEMBERSHIP, true) == 2);
    CHECK(count_of(&seen, TABLE_MEMBERSHIP, false) == 0);
    const struct change *last = &seen.changes[seen.count - 1];
    CHECK(last->record.membership.group_id == g && last->record.membership.node_id == n2);
    CHECK(last[-1].record.membership.group_id == g && last[-1].record.membership.node_id == n1);

    DONE(w, in2);
    DONE(w, out2);
    DONE(w, in1);
    seen = collect(w);
    CHECK(count_of(&seen, TABLE_MEMBERSHIP, false) == 1);
    CHECK(count_of(&seen, TABLE_MEMBERSHIP, true) == 0);
    last = &seen.changes[seen.count - 1];
    CHECK(!last->gone && last->record.membership.node_id == n1);
    quit(w);
}

TEST(relations_are_collected_with_all_their_ids)
{
    struct world *w = open_scene();
    world_bind_in(w, "sink@n2", "d");
    const int64_t child = the_noderole(w, "sink@n2"), src = world_bound(w, "src@n2");
    const int64_t parent = src ? src : the_noderole(w, "src@n1");
    struct seen seen = collect(w);
    CHECK(count_of(&seen, TABLE_EDGE, false) == 1 && count_of(&seen, TABLE_LINK, false) == 2);
    CHECK(count_of(&seen, TABLE_NODEROLE, false) == (src ? 2u : 1u));
    const struct change *c = &seen.changes[seen.count - 3];
    CHECK(c[0].record.table == TABLE_EDGE);
    CHECK(c[0].record.edge.parent_id == parent && c[0].record.edge.child_id == child);
    for (uint32_t i = 1; i < 3; i++) {
        CHECK(c[i].record.table == TABLE_LINK && c[i].record.link.parent_id == parent);
        CHECK(c[i].record.link.child_id == child);
        CHECK(c[i].record.link.attrib_id == the_attrib(w, i == 1 ? "x" : "y"));
    }
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = child));
    seen = collect(w);
    CHECK(count_of(&seen, TABLE_EDGE, true) == 1 && count_of(&seen, TABLE_LINK, true) == 2);
    CHECK(count_of(&seen, TABLE_NODEROLE, true) == 1);
    CHECK(seen.changes[seen.count - 1].record.link.attrib_id == the_attrib(w, "y"));
    quit(w);
}

TEST(a_row_is_collected_once_in_its_final_state)
{
    struct world *w = open_scene();
    const int64_t n1 = the_node(w, "n1");
    world_available(w, "n1", false);
    world_alive(w, "n1", false);
    struct seen seen = collect(w);
    CHECK(count_of(&seen, TABLE_NODE, false) == 1);
    for (uint32_t i = 0; i < seen.count; i++) {
        const struct change *c = &seen.changes[i];
        CHECK(!c->gone && c->bytes.len > 0 && c->record.settings.turn == w->turn);
        CHECK(c->record.table != TABLE_NODE || (c->record.id == n1 && !c->record.node.alive));
    }
    /* A row that was created and deleted within the batch is not visited; its id is not reused. */
    const int64_t node = DONE(w, cmd_node(w, "n9"));
    DONE(w, CMD(NODE_DELETE, node_delete, .id = node));
    seen = collect(w);
    CHECK(count_of(&seen, TABLE_NODE, true) == 0 && count_of(&seen, TABLE_NODE, false) == 0);
    CHECK(count_of(&seen, TABLE_COUNTER, false) >= 1);
    CHECK(DONE(w, cmd_node(w, "n9")) == node + 1);
    collect(w);
    DONE(w, CMD(NODE_DELETE, node_delete, .id = node + 1));
    seen = collect(w);
    CHECK(count_of(&seen, TABLE_NODE, true) == 1);
    for (uint32_t i = 0; i < seen.count; i++)
        CHECK(!seen.changes[i].gone || seen.changes[i].record.id == node + 1 ||
              seen.changes[i].record.table != TABLE_NODE);
    quit(w);
}

/* ---- queries ---- */

TEST(queries_find_existing_objects_only)
{
    struct world *w = open_scene();
    const struct core *c = w->core;
    struct record r;
    uint32_t count = 9;
    CHECK(!core_record(c, TABLE_NODE, 0, &r) && !core_record(c, TABLE_NODE, -1, &r));
    CHECK(!core_record(c, TABLE_NODE, 99, &r));
    CHECK(core_next_id(c, TABLE_NODE, 0) == 1 && core_next_id(c, TABLE_NODE, 1) == 2);
    CHECK(core_next_id(c, TABLE_NODE, 4) == 0 && core_count(c, TABLE_NODE) == 4);
    const int64_t n1 = the_node(w, "n1"), src = the_role(w, "src");
    CHECK(core_noderole(c, n1, src) == the_noderole(w, "src@n1"));
    CHECK(core_noderole(c, 99, src) == 0 && core_noderole(c, n1, 99) == 0);
    CHECK(core_deployment_role(c, the_deployment(w, "d"), src) != 0);
    CHECK(core_deployment_role(c, SYSTEM, src) == 0 && core_deployment_role(c, 99, src) == 0);
    CHECK(core_deployment_role(c, the_deployment(w, "d"), 99) == 0);
    const int64_t *ids = core_parents(c, the_noderole(w, "sink@n1"), &w->arena, &count);
    CHECK(count == 1 && ids[0] == the_noderole(w, "src@n1"));
    ids = core_children(c, the_noderole(w, "src@n1"), &w->arena, &count);
    CHECK(count == 1 && ids[0] == the_noderole(w, "sink@n1"));
    ids = core_noderoles_of(c, n1, &w->arena, &count);
    CHECK(count == 3 && ids[0] == the_noderole(w, "src@n1"));
    CHECK(ids[1] == the_noderole(w, "solo@n1") && ids[2] == the_noderole(w, "sink@n1"));
    CHECK(core_parents(c, 99, &w->arena, &count) && count == 0);
    count = 9;
    CHECK(core_children(c, 99, &w->arena, &count) && count == 0);
    count = 9;
    CHECK(core_noderoles_of(c, 99, &w->arena, &count) && count == 0);
    CHECK(core_find(c, TABLE_NODE, STR("admin")) == 0);
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("b1.example.com"), .deployment_id = SYSTEM,
                .admin = true));
    const int64_t first = core_find(c, TABLE_NODE, STR("b1.example.com"));
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("b2.example.com"), .deployment_id = SYSTEM,
                .admin = true));
    CHECK(first && core_find(c, TABLE_NODE, STR("admin")) == first);
    CHECK(core_find(c, TABLE_GROUP, STR("g")) == 2 && core_find(c, TABLE_GROUP, STR("h")) == 0);
    CHECK(core_find(c, TABLE_GROUP, STR("rack/g")) == 0);
    world_close(w);
}
