/* Data with several attribs, providers and links, and the exact limits of documents. */
#include "tests/unit/core/data_world.h"

#include "base/json/json.h"
#include "core/data/data.h"

/* clang-format off */
static const char content[] =
    "{\"barclamp\":{\"name\":\"many\",\"source_path\":\"x\"},"
    "\"jigs\":[{\"name\":\"script\",\"class\":\"script\"}],"
    "\"attribs\":[{\"name\":\"x\",\"map\":\"x\"},{\"name\":\"xyz\",\"map\":\"xx/yyy/zz\"},"
    "{\"name\":\"free\",\"map\":\"free\",\"writable\":true}],"
    "\"roles\":["
    "{\"name\":\"one\",\"jig\":\"script\",\"attribs\":[{\"name\":\"o1\",\"map\":\"o/1\"},"
    "{\"name\":\"o2\",\"map\":\"o/2\"},{\"name\":\"o3\",\"map\":\"o/3\"}]},"
    "{\"name\":\"two\",\"jig\":\"script\",\"attribs\":[{\"name\":\"t1\",\"map\":\"t/1\"},"
    "{\"name\":\"t2\",\"map\":\"t/2\",\"writable\":true},{\"name\":\"t3\",\"map\":\"t/3\"}]},"
    "{\"name\":\"both\",\"jig\":\"script\",\"provides\":[\"absent\",\"one\",\"both\",\"two\"],"
    "\"attribs\":[{\"name\":\"b1\",\"map\":\"b/1\"},{\"name\":\"b2\",\"map\":\"b/2\"}]},"
    "{\"name\":\"all\",\"jig\":\"script\",\"requires\":[\"both\"],"
    "\"wants-attribs\":[\"t2\",\"b2\",\"t3\",\"o1\",\"o3\"]},"
    "{\"name\":\"some\",\"jig\":\"script\",\"requires\":[\"both\"],"
    "\"wants-attribs\":[\"b1\",\"t2\"]},"
    "{\"name\":\"none\",\"jig\":\"script\",\"requires\":[\"both\"]}]}";
/* clang-format on */

struct many {
    struct world w;
    int64_t node, both, all, some, none;
};

static struct many open_many(void)
{
    struct many m = {.w = world_open()};
    struct world *w = &m.w;
    import(w, content);
    m.node = add_node(w, "n.example.com");
    m.both = bind(w, m.node, "both");
    m.all = bind(w, m.node, "all");
    m.some = bind(w, m.node, "some");
    m.none = bind(w, m.node, "none");
    commit(w, m.both);
    commit(w, m.all);
    commit(w, m.some);
    commit(w, m.none);
    settle(w, NULL);
    CHECK(state_of(w, m.all) == NODEROLE_ACTIVE && state_of(w, m.none) == NODEROLE_ACTIVE);
    return m;
}

static uint32_t runs_of(struct world *w, int64_t noderole_id)
{
    struct record record;
    CHECK(core_record(w->c, TABLE_NODEROLE, noderole_id, &record));
    return record.noderole.run_count;
}

static void rerun_with(struct world *w, int64_t noderole_id, const char *wall)
{
    must_step(
        w, (struct command){.kind = COMMAND_NODEROLE_RETRY, .noderole_retry = {.id = noderole_id}});
    must_step(w, (struct command){.kind = COMMAND_ANNEAL});
    const struct effect *e = w->fx.first;
    while (e && e->kind != EFFECT_RUN_START)
        e = e->next;
    CHECK(e);
    must_step(w, (struct command){.kind = COMMAND_RUN_DONE,
                                  .run_done = {.run_id = e->id,
                                               .attempt = e->attempt,
                                               .result = RESULT_OK,
                                               .has_wall = true,
                                               .wall = str_from(wall)}});
    CHECK(state_of(w, noderole_id) == NODEROLE_ACTIVE);
    settle(w, NULL);
}

/* ---- reruns of linked noderoles ---- */

TEST(each_linked_attrib_that_changed_reruns_exactly_the_roles_that_want_it)
{
    static const struct {
        const char *wall;
        uint32_t all, some;
    } steps[] = {
        {"{\"o\":{\"1\":1}}", 1, 0},
        {"{\"o\":{\"1\":1,\"2\":1}}", 0, 0},
        {"{\"o\":{\"1\":1,\"2\":1,\"3\":1}}", 1, 0},
        {"{\"o\":{\"1\":1,\"2\":1,\"3\":1},\"t\":{\"1\":1}}", 0, 0},
        {"{\"o\":{\"1\":1,\"2\":1,\"3\":1},\"t\":{\"2\":1}}", 1, 1},
        {"{\"o\":{\"1\":1,\"2\":1,\"3\":1},\"t\":{\"2\":1,\"3\":1}}", 1, 0},
        {"{\"o\":{\"1\":1,\"2\":1,\"3\":1},\"t\":{\"2\":1,\"3\":1},\"b\":{\"1\":1}}", 0, 1},
        {"{\"o\":{\"1\":1,\"2\":1,\"3\":1},\"t\":{\"2\":1,\"3\":1},\"b\":{\"1\":1,\"2\":1}}", 1, 0},
        {"{\"o\":{\"2\":2},\"t\":{\"1\":2},\"b\":{}}", 1, 1},
    };
    struct many m = open_many();
    struct world *w = &m.w;
    for (uint32_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const uint32_t all = runs_of(w, m.all), some = runs_of(w, m.some),
                       none = runs_of(w, m.none);
        rerun_with(w, m.both, steps[i].wall);
        if (runs_of(w, m.all) != all + steps[i].all || runs_of(w, m.some) != some + steps[i].some)
            check_failed(steps[i].wall, (int)i, "reran the wrong noderoles");
        CHECK(runs_of(w, m.none) == none);
    }
    world_close(w);
}

TEST(proposed_data_does_not_make_a_wall_look_new)
{
    struct many m = open_many();
    struct world *w = &m.w;
    const int64_t dr = core_deployment_role(w->c, 1, role_id(w, "both"));
    must_step(
        w, (struct command){.kind = COMMAND_DEPLOYMENT_ROLE_DATA,
                            .deployment_role_data = {.id = dr, .data = STR("{\"t\":{\"2\":9}}")}});
    rerun_with(w, m.both, "{\"news\":1}");
    CHECK(runs_of(w, m.all) == 1 && runs_of(w, m.some) == 1);
    world_close(w);
}

TEST(a_provider_lists_its_own_attribs_and_those_of_each_role_it_provides_once)
{
    static const char *const names[] = {"b1", "b2", "o1", "o2", "o3", "t1", "t2", "t3"};
    struct many m = open_many();
    struct world *w = &m.w;
    uint32_t count;
    const attrib_ix *attribs =
        data_attribs_of(w->c, role_by_id(w->c, role_id(w, "both")), &w->arena, &count);
    CHECK(count == 8);
    for (uint32_t i = 0; i < 8; i++)
        CHECK(str_eq(text_of(w->c, attrib_at(w->c, attribs[i])->name), str_from(names[i])));
    world_close(w);
}

/* ---- links ---- */

struct tally {
    uint32_t came, went;
};

static void tally_links(void *context, const struct change *change)
{
    struct tally *tally = context;
    if (change->record.table != TABLE_LINK)
        return;
    tally->went += change->gone;
    tally->came += !change->gone;
}

static struct tally links_since(struct world *w)
{
    struct tally tally = {0};
    core_collect(w->c, 1, tally_links, &tally);
    return tally;
}

#define GUEST(wants)                                                                               \
    "{\"barclamp\":{\"name\":\"late\",\"source_path\":\"x\"},\"roles\":[{\"name\":\"guest\","      \
    "\"jig\":\"script\",\"requires\":[\"both\"],\"wants-attribs\":[" wants "]}]}"

TEST(links_that_stay_are_not_written_again)
{
    struct many m = open_many();
    struct world *w = &m.w;
    import(w, GUEST("\"t1\",\"o1\",\"b1\""));
    links_since(w);
    const noderole_ix guest = noderole_by_id(w->c, bind(w, m.node, "guest"));
    struct tally tally = links_since(w);
    CHECK(tally.came == 3 && tally.went == 0 && noderole_at(w->c, guest)->links.count == 6);
    import(w, GUEST("\"b1\",\"o2\",\"t1\",\"o1\""));
    tally = links_since(w);
    CHECK(tally.came == 1 && tally.went == 0 && noderole_at(w->c, guest)->links.count == 8);
    import(w, GUEST("\"b1\",\"o2\""));
    tally = links_since(w);
    CHECK(tally.came == 0 && tally.went == 2 && noderole_at(w->c, guest)->links.count == 4);
    import(w, GUEST("\"o2\",\"b1\""));
    tally = links_since(w);
    CHECK(tally.came == 0 && tally.went == 0 && noderole_at(w->c, guest)->links.count == 4);
    import(w, GUEST("\"t3\",\"t2\""));
    tally = links_since(w);
    CHECK(tally.came == 2 && tally.went == 2 && noderole_at(w->c, guest)->links.count == 4);
    must_step(w, (struct command){.kind = COMMAND_NODE_DELETE, .node_delete = {m.node}});
    tally = links_since(w);
    CHECK(tally.came == 0 && tally.went == 2 + 5 + 2);
    world_close(w);
}

/* ---- hooks ---- */

static void drain_hooks(struct world *w)
{
    for (int64_t id; (id = core_next_id(w->c, TABLE_OUTBOX, 0)) != 0;)
        must_step(w,
                  (struct command){.kind = COMMAND_OUTBOX_DONE, .outbox_done = {.outbox_id = id}});
}

TEST(a_node_whose_data_changed_calls_its_hook_once)
{
    struct many m = open_many();
    struct world *w = &m.w;
    import(w, "{\"barclamp\":{\"name\":\"watch\",\"source_path\":\"x\"},\"roles\":[{\"name\":"
              "\"watcher\",\"jig\":\"script\",\"hooks\":[\"on_node_change\"]}]}");
    drain_hooks(w);
    set_user(w, TABLE_NODE, m.node, "free", "1");
    CHECK(core_count(w->c, TABLE_OUTBOX) == 1);
    drain_hooks(w);
    set_user(w, TABLE_NODE, m.node, "free", "1"); /* has the state already */
    must_step(w, set_command(TABLE_NODE, m.node, attrib_id(w, "free"), BUCKET_NOTE, "2"));
    CHECK(core_count(w->c, TABLE_OUTBOX) == 0);
    rerun_with(w, m.none, "{\"free\":2}");
    CHECK(core_count(w->c, TABLE_OUTBOX) == 1);
    drain_hooks(w);
    rerun_with(w, m.none, "{\"free\":2,\"other\":1}");
    CHECK(core_count(w->c, TABLE_OUTBOX) == 0);
    world_close(w);
}

/* ---- limits ---- */

static const char *nested(struct world *w, const char *before, uint32_t levels, const char *after)
{
    struct buf b = buf_in(&w->arena);
    buf_put_z(&b, before);
    for (uint32_t i = 0; i < levels; i++)
        buf_put_c(&b, '[');
    for (uint32_t i = 0; i < levels; i++)
        buf_put_c(&b, ']');
    buf_put_z(&b, after);
    return str_z(&w->arena, buf_str(&b));
}

TEST(a_path_adds_a_level_for_each_of_its_steps)
{
    struct arena a = {0};
    const struct json *value = doc_tree(&a, STR("[[1]]"));
    CHECK(data_depth(STR(""), value) == 2);
    CHECK(data_depth(STR("x"), value) == 3);
    CHECK(data_depth(STR("xx"), value) == 3);
    CHECK(data_depth(STR("xx/yyy"), value) == 4);
    CHECK(data_depth(STR("xx/yyy/zzzz"), value) == 5);
    arena_fini(&a);
}

TEST(the_depth_of_a_value_at_its_map_is_limited)
{
    struct many m = open_many();
    struct world *w = &m.w;
    const uint32_t most = JSON_DEPTH_MAX - STAGED_LEVELS - 20;
    must_step(w, (struct command){
                     .kind = COMMAND_ATTRIB_CREATE,
                     .attrib_create = {.name = STR("far"),
                                       .map = STR("aa/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t")}});
    const int64_t attrib = w->out.id;
    must_refuse(w,
                set_command(TABLE_NODE, m.node, attrib, BUCKET_NOTE, nested(w, "", most + 1, "")),
                PROBLEM_BAD_VALUE, "value");
    must_step(w, set_command(TABLE_NODE, m.node, attrib, BUCKET_NOTE, nested(w, "", most, "")));
    world_close(w);
}

TEST(the_length_of_a_document_is_limited)
{
    struct many m = open_many();
    struct world *w = &m.w;
    const int64_t attrib = attrib_id(w, "x");
    struct buf b = buf_in(&w->arena);
    buf_put_c(&b, '"');
    while (b.len < DOC_MAX - 6) /* {"x":"..."} with exactly the maximum length, and one byte more */
        buf_put_c(&b, 'a');
    buf_put_c(&b, '"');
    struct str value = buf_str(&b);
    struct command set = set_command(TABLE_NODE, m.node, attrib, BUCKET_NOTE, "");
    set.attrib_set.value = value;
    must_refuse(w, set, PROBLEM_BAD_TEXT, "value");
    char *end = arena_copy(&w->arena, value.at, value.len);
    end[value.len - 2] = '"';
    set.attrib_set.value = (struct str){end, value.len - 1};
    must_step(w, set);
    CHECK(str_eq(value_of(w, TABLE_NODE, m.node, "x", VIEW_NOTE), set.attrib_set.value));
    world_close(w);
}

TEST(null_removes_no_reservation)
{
    struct many m = open_many();
    struct world *w = &m.w;
    struct record record;
    rerun_with(w, m.none, "{\"crowbar_wall\":{\"reservations\":{\"a\":1}}}");
    rerun_with(w, m.some, "{\"crowbar_wall\":{\"reservations\":{\"b\":2}}}");
    CHECK(core_record(w->c, TABLE_NODE, m.node, &record));
    CHECK(str_eq(record.node.hint, STR("{\"reservations\":{\"a\":1,\"b\":2}}")));
    rerun_with(w, m.none, "{\"crowbar_wall\":{\"reservations\":null}}");
    CHECK(core_record(w->c, TABLE_NODE, m.node, &record));
    CHECK(str_eq(record.node.hint, STR("{\"reservations\":{\"a\":1,\"b\":2}}")));
    world_close(w);
}

/* ---- deployment roles ---- */

static void forget_change(void *context, const struct change *change)
{
    (void)context, (void)change;
}

static uint32_t texts(struct world *w)
{
    core_collect(w->c, 1, forget_change, NULL);
    return w->c->blobs.rows.live;
}

TEST(a_deleted_deployment_role_leaves_no_document_behind)
{
    struct many m = open_many();
    struct world *w = &m.w;
    const uint32_t before = texts(w);
    must_step(w, (struct command){
                     .kind = COMMAND_DEPLOYMENT_ROLE_CREATE,
                     .deployment_role_create = {.deployment_id = 1, .role_id = role_id(w, "two")}});
    const int64_t dr = w->out.id;
    struct record record;
    CHECK(core_record(w->c, TABLE_DEPLOYMENT_ROLE, dr, &record));
    CHECK(record.deployment_role.created_at == w->now && !record.deployment_role.proposed);
    doc(w, &open_role_in(w, dr)->committed_data, "{\"left\":1}");
    set_inside(w, TABLE_DEPLOYMENT_ROLE, dr, "t1", BUCKET_WALL, "\"wall\"");
    set_inside(w, TABLE_DEPLOYMENT_ROLE, dr, "t1", BUCKET_NOTE, "\"note\"");
    set_user(w, TABLE_DEPLOYMENT_ROLE, dr, "t2", "\"user\"");
    CHECK(w->out.id == dr && texts(w) == before + 4);
    CHECK(core_record(w->c, TABLE_DEPLOYMENT_ROLE, dr, &record));
    CHECK(record.deployment_role.proposed && record.deployment_role.updated_at == w->now);
    must_step(w, (struct command){.kind = COMMAND_DEPLOYMENT_ROLE_DELETE,
                                  .deployment_role_delete = {.id = dr}});
    CHECK(w->out.id == dr && texts(w) == before);
    must_refuse(w,
                (struct command){.kind = COMMAND_DEPLOYMENT_ROLE_DELETE,
                                 .deployment_role_delete = {.id = core_deployment_role(
                                                                w->c, 1, role_id(w, "both"))}},
                PROBLEM_IN_USE, "id");
    CHECK(str_starts(w->out.problems->text,
                     STR("the role has noderoles in the deployment; delete these first: ")));
    world_close(w);
}

static void count_old_data(void *context, const struct change *change)
{
    *(uint32_t *)context += change->record.table == TABLE_OLD_DATA && !change->gone;
}

TEST(data_of_a_deployment_role_is_archived_when_it_is_deleted)
{
    struct many m = open_many();
    struct world *w = &m.w;
    must_step(w, (struct command){.kind = COMMAND_DEPLOYMENT_CREATE,
                                  .deployment_create = {.name = STR("child"), .parent_id = 1}});
    const int64_t d = w->out.id;
    struct command command = {
        .kind = COMMAND_DEPLOYMENT_ROLE_CREATE,
        .deployment_role_create = {.deployment_id = d, .role_id = role_id(w, "two")}};
    must_step(w, command);
    const int64_t dr = w->out.id;
    set_user(w, TABLE_DEPLOYMENT_ROLE, dr, "t2", "7");
    command = (struct command){.kind = COMMAND_DEPLOYMENT_COMMIT, .deployment_commit = {.id = d}};
    must_step(w, command);
    command = (struct command){.kind = COMMAND_DEPLOYMENT_PROPOSE, .deployment_propose = {.id = d}};
    must_step(w, command);
    uint32_t count = 0;
    core_collect(w->c, 1, count_old_data, &count);
    CHECK(count == 0);
    must_step(w, (struct command){.kind = COMMAND_DEPLOYMENT_ROLE_DELETE,
                                  .deployment_role_delete = {.id = dr}});
    core_collect(w->c, 2, count_old_data, &count);
    CHECK(count == 1);
    world_close(w);
}
