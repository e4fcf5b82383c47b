/* Reading: layers, values and their defaults, the owner of an attrib value, and the staged data of
 * runs (docs/spec/data.md, "Layers" to "Read buckets" and "Staged data"). */
#include "tests/unit/core/data_world.h"

#include "base/json/json.h"
#include "base/prng.h"

/* ---- the example of docs/spec/data.md ---- */

static const char example[] =
    "{\"barclamp\":{\"name\":\"example\",\"source_path\":\"x\"},"
    "\"jigs\":[{\"name\":\"script\",\"class\":\"script\"}],"
    "\"roles\":[{\"name\":\"r\",\"jig\":\"script\",\"attribs\":["
    "{\"name\":\"color\",\"map\":\"app/color\",\"default\":\"grey\"},"
    "{\"name\":\"size\",\"map\":\"app/size\",\"default\":1},"
    "{\"name\":\"tags\",\"map\":\"app/tags\"},"
    "{\"name\":\"note\",\"map\":\"app/note\",\"default\":\"n\"}]},"
    "{\"name\":\"other\",\"jig\":\"script\",\"attribs\":[{\"name\":\"foreign\",\"map\":\"f\"}]}],"
    "\"attribs\":[{\"name\":\"asset\",\"map\":\"dmi/asset\",\"default\":\"none\"}]}";

struct cells {
    const char *color, *size, *tags, *note;
};

static void row_reads(struct world *w, enum table target, int64_t id, enum data_view view,
                      struct cells cells)
{
    CHECK(reads(w, target, id, "color", view, cells.color));
    CHECK(reads(w, target, id, "size", view, cells.size));
    CHECK(reads(w, target, id, "tags", view, cells.tags));
    CHECK(reads(w, target, id, "note", view, cells.note));
}

struct example {
    struct world w;
    int64_t node, nr, dr;
};

static struct example open_example(void)
{
    struct example e = {.w = world_open()};
    struct world *w = &e.w;
    import(w, example);
    e.node = add_node(w, "n1.example.com");
    e.nr = bind(w, e.node, "r");
    e.dr = core_deployment_role(w->c, 1, role_id(w, "r"));
    CHECK(e.dr);
    doc(w, &open_role(w, "r")->template,
        "{\"app\":{\"color\":\"red\",\"size\":2,\"tags\":[\"a\"]}}");
    doc(w, &open_role_in(w, e.dr)->wall, "{\"app\":{\"size\":3}}");
    doc(w, &open_role_in(w, e.dr)->committed_data, "{\"app\":{\"color\":\"blue\"}}");
    propose_doc(w, e.dr, "{\"app\":{\"color\":\"green\"}}");
    doc(w, &open_noderole(w, e.nr)->wall, "{\"app\":{\"size\":4,\"up\":true}}");
    doc(w, &open_noderole(w, e.nr)->sysdata, "{\"app\":{\"addr\":\"10.0.0.5/24\"}}");
    doc(w, &open_noderole(w, e.nr)->committed_data, "{\"app\":{\"tags\":[\"b\"]}}");
    doc(w, &open_noderole(w, e.nr)->proposed_data,
        "{\"app\":{\"color\":\"pink\",\"tags\":[\"c\"]}}");
    return e;
}

TEST(the_worked_example_reads_as_printed)
{
    struct example e = open_example();
    struct world *w = &e.w;
    CHECK(state_of(w, e.nr) == NODEROLE_PROPOSED);
    row_reads(w, TABLE_NODEROLE, e.nr, VIEW_COMMITTED,
              (struct cells){"\"blue\"", "4", "[\"b\"]", "\"n\""});
    row_reads(w, TABLE_NODEROLE, e.nr, VIEW_ALL,
              (struct cells){"\"pink\"", "4", "[\"c\"]", "\"n\""});
    row_reads(w, TABLE_DEPLOYMENT_ROLE, e.dr, VIEW_COMMITTED,
              (struct cells){"\"blue\"", "3", "[\"a\"]", "\"n\""});
    row_reads(w, TABLE_ROLE, role_id(w, "r"), VIEW_ALL,
              (struct cells){"\"red\"", "2", "[\"a\"]", "\"n\""});
    row_reads(w, TABLE_NODEROLE, e.nr, VIEW_WALL, (struct cells){"\"grey\"", "4", "null", "\"n\""});
    world_close(w);
}

TEST(an_active_noderole_shows_proposed_data_of_its_deployment_but_not_its_own)
{
    struct example e = open_example();
    struct world *w = &e.w;
    /* Only the state matters here: a commit would publish the data. */
    open_noderole(w, e.nr)->state = NODEROLE_ACTIVE;
    row_reads(w, TABLE_NODEROLE, e.nr, VIEW_ALL,
              (struct cells){"\"green\"", "4", "[\"b\"]", "\"n\""});
    row_reads(w, TABLE_NODEROLE, e.nr, VIEW_USER,
              (struct cells){"\"grey\"", "1", "[\"b\"]", "\"n\""});
    row_reads(w, TABLE_NODEROLE, e.nr, VIEW_PROPOSED,
              (struct cells){"\"pink\"", "4", "[\"c\"]", "\"n\""});
    row_reads(w, TABLE_DEPLOYMENT_ROLE, e.dr, VIEW_PROPOSED,
              (struct cells){"\"green\"", "3", "[\"a\"]", "\"n\""});
    open_noderole(w, e.nr)->state = NODEROLE_PROPOSED;
    world_close(w);
}

TEST(each_view_shows_its_own_documents)
{
    struct example e = open_example();
    struct world *w = &e.w;
    row_reads(w, TABLE_NODEROLE, e.nr, VIEW_USER,
              (struct cells){"\"pink\"", "1", "[\"c\"]", "\"n\""});
    row_reads(w, TABLE_NODEROLE, e.nr, VIEW_SYSTEM,
              (struct cells){"\"grey\"", "1", "null", "\"n\""});
    doc(w, &open_noderole(w, e.nr)->sysdata, "{\"app\":{\"size\":9}}");
    CHECK(reads(w, TABLE_NODEROLE, e.nr, "size", VIEW_SYSTEM, "9"));
    CHECK(reads(w, TABLE_NODEROLE, e.nr, "size", VIEW_COMMITTED, "9"));
    CHECK(reads(w, TABLE_NODEROLE, e.nr, "size", VIEW_DISCOVERY, "4"));
    doc(w, &open_noderole(w, e.nr)->notes, "{\"app\":{\"note\":\"mine\"}}");
    CHECK(reads(w, TABLE_NODEROLE, e.nr, "note", VIEW_NOTE, "\"mine\""));
    CHECK(reads(w, TABLE_NODEROLE, e.nr, "note", VIEW_ALL, "\"n\""));

    row_reads(w, TABLE_DEPLOYMENT_ROLE, e.dr, VIEW_ALL,
              (struct cells){"\"green\"", "3", "[\"a\"]", "\"n\""});
    row_reads(w, TABLE_DEPLOYMENT_ROLE, e.dr, VIEW_USER,
              (struct cells){"\"green\"", "3", "[\"a\"]", "\"n\""});
    row_reads(w, TABLE_DEPLOYMENT_ROLE, e.dr, VIEW_WALL,
              (struct cells){"\"grey\"", "3", "null", "\"n\""});
    CHECK(reads(w, TABLE_DEPLOYMENT_ROLE, e.dr, "size", VIEW_SYSTEM, "3"));
    CHECK(reads(w, TABLE_DEPLOYMENT_ROLE, e.dr, "size", VIEW_DISCOVERY, "3"));
    doc(w, &open_role_in(w, e.dr)->notes, "{\"app\":{\"note\":\"ours\"}}");
    CHECK(reads(w, TABLE_DEPLOYMENT_ROLE, e.dr, "note", VIEW_NOTE, "\"ours\""));

    doc(w, &open_role(w, "r")->notes, "{\"app\":{\"note\":\"all\"}}");
    CHECK(reads(w, TABLE_ROLE, role_id(w, "r"), "note", VIEW_NOTE, "\"all\""));
    CHECK(reads(w, TABLE_ROLE, role_id(w, "r"), "size", VIEW_WALL, "2"));
    world_close(w);
}

TEST(node_attribs_read_discovery_below_hint)
{
    struct example e = open_example();
    struct world *w = &e.w;
    CHECK(reads(w, TABLE_NODE, e.node, "asset", VIEW_ALL, "\"none\""));
    doc(w, &open_node(w, e.node)->discovery, "{\"dmi\":{\"asset\":\"d\",\"x\":1}}");
    CHECK(reads(w, TABLE_NODE, e.node, "asset", VIEW_ALL, "\"d\""));
    CHECK(reads(w, TABLE_NODE, e.node, "asset", VIEW_USER, "\"none\""));
    doc(w, &open_node(w, e.node)->hint, "{\"dmi\":{\"asset\":\"h\"}}");
    doc(w, &open_node(w, e.node)->notes, "{\"dmi\":{\"asset\":\"n\"}}");
    CHECK(reads(w, TABLE_NODE, e.node, "asset", VIEW_ALL, "\"h\""));
    CHECK(reads(w, TABLE_NODE, e.node, "asset", VIEW_COMMITTED, "\"h\""));
    CHECK(reads(w, TABLE_NODE, e.node, "asset", VIEW_USER, "\"h\""));
    CHECK(reads(w, TABLE_NODE, e.node, "asset", VIEW_DISCOVERY, "\"d\""));
    CHECK(reads(w, TABLE_NODE, e.node, "asset", VIEW_SYSTEM, "\"d\""));
    CHECK(reads(w, TABLE_NODE, e.node, "asset", VIEW_WALL, "\"d\""));
    CHECK(reads(w, TABLE_NODE, e.node, "asset", VIEW_NOTE, "\"n\""));
    world_close(w);
}

/* ---- values ---- */

TEST(null_falls_to_the_default_and_hides_the_layers_below)
{
    struct example e = open_example();
    struct world *w = &e.w;
    doc(w, &open_noderole(w, e.nr)->committed_data, "{\"app\":{\"color\":null}}");
    CHECK(reads(w, TABLE_NODEROLE, e.nr, "color", VIEW_COMMITTED, "\"grey\""));
    doc(w, &open_noderole(w, e.nr)->committed_data, "{\"app\":null}");
    CHECK(reads(w, TABLE_NODEROLE, e.nr, "color", VIEW_COMMITTED, "\"grey\""));
    CHECK(reads(w, TABLE_NODEROLE, e.nr, "tags", VIEW_COMMITTED, "null"));
    doc(w, &open_noderole(w, e.nr)->committed_data, "{\"app\":\"text\"}");
    CHECK(reads(w, TABLE_NODEROLE, e.nr, "size", VIEW_COMMITTED, "1"));
    world_close(w);
}

TEST(false_zero_and_empty_values_are_values)
{
    static const char *const values[] = {"false", "0", "\"\"", "[]", "{}"};
    struct example e = open_example();
    struct world *w = &e.w;
    for (uint32_t i = 0; i < sizeof values / sizeof *values; i++) {
        const struct str text =
            STR_CONCAT(&w->arena, STR("{\"app\":{\"color\":"), str_from(values[i]), STR("}}"));
        doc(w, &open_noderole(w, e.nr)->committed_data, str_z(&w->arena, text));
        CHECK(reads(w, TABLE_NODEROLE, e.nr, "color", VIEW_COMMITTED, i == 4 ? "{}" : values[i]));
    }
    world_close(w);
}

TEST(a_layer_that_is_not_an_object_is_ignored)
{
    struct example e = open_example();
    struct world *w = &e.w;
    doc(w, &open_noderole(w, e.nr)->wall, "[1,2,3]");
    CHECK(reads(w, TABLE_NODEROLE, e.nr, "size", VIEW_COMMITTED, "3"));
    CHECK(reads(w, TABLE_NODEROLE, e.nr, "size", VIEW_WALL, "1"));
    CHECK(core_staged(w->c, e.nr, &w->arena).len > 0);
    world_close(w);
}

TEST(an_attrib_without_a_map_is_the_whole_document)
{
    struct world w = world_open();
    import(&w, "{\"barclamp\":{\"name\":\"b\",\"source_path\":\"x\"},"
               "\"attribs\":[{\"name\":\"everything\"}]}");
    const int64_t node = add_node(&w, "n1.example.com");
    CHECK(reads(&w, TABLE_NODE, node, "everything", VIEW_ALL, "{}"));
    doc(&w, &open_node(&w, node)->hint, "{\"a\":1}");
    CHECK(reads(&w, TABLE_NODE, node, "everything", VIEW_ALL, "{\"a\":1}"));
    import(&w, "{\"barclamp\":{\"name\":\"c\",\"source_path\":\"x\"},"
               "\"jigs\":[{\"name\":\"script\",\"class\":\"script\"}],"
               "\"roles\":[{\"name\":\"r\",\"jig\":\"script\","
               "\"wants-attribs\":[\"everything\"]}]}");
    CHECK(staged_is(&w, bind(&w, node, "r"), "{\"a\":1,\"hints\":{\"a\":1},\"quirks\":[]}"));
    world_close(&w);
}

/* ---- owner of a value ---- */

TEST(an_attrib_of_a_role_on_a_node_or_deployment_is_that_of_the_bound_role)
{
    struct example e = open_example();
    struct world *w = &e.w;
    const int64_t empty = add_node(w, "n2.example.com");
    CHECK(reads(w, TABLE_NODE, e.node, "color", VIEW_ALL, "\"pink\""));
    CHECK(reads(w, TABLE_DEPLOYMENT, 1, "color", VIEW_ALL, "\"green\""));
    CHECK(reads(w, TABLE_DEPLOYMENT, 1, "color", VIEW_COMMITTED, "\"blue\""));
    CHECK(reads(w, TABLE_NODE, empty, "color", VIEW_ALL, "?"));
    world_close(w);
}

TEST(an_attrib_without_an_owner_has_no_value)
{
    struct example e = open_example();
    struct world *w = &e.w;
    struct str value = STR("untouched");
    CHECK(reads(w, TABLE_DEPLOYMENT, 1, "asset", VIEW_ALL, "?"));
    CHECK(reads(w, TABLE_DEPLOYMENT, 1, "foreign", VIEW_ALL, "?"));
    CHECK(reads(w, TABLE_DEPLOYMENT_ROLE, e.dr, "foreign", VIEW_ALL, "?"));
    CHECK(reads(w, TABLE_NODEROLE, e.nr, "foreign", VIEW_ALL, "?"));
    CHECK(reads(w, TABLE_NODEROLE, e.nr, "asset", VIEW_ALL, "?"));
    CHECK(reads(w, TABLE_ROLE, role_id(w, "other"), "color", VIEW_ALL, "?"));
    CHECK(reads(w, TABLE_ROLE, role_id(w, "r"), "asset", VIEW_ALL, "?"));
    CHECK(reads(w, TABLE_GROUP, 1, "color", VIEW_ALL, "?"));
    CHECK(reads(w, TABLE_EDGE, 1, "color", VIEW_ALL, "?"));
    CHECK(reads(w, TABLE_NODE, 99, "asset", VIEW_ALL, "?"));
    CHECK(reads(w, TABLE_NODE, 0, "asset", VIEW_ALL, "?"));
    CHECK(reads(w, TABLE_NODE, -1, "asset", VIEW_ALL, "?"));
    CHECK(!core_value(w->c, TABLE_NODE, e.node, 99, VIEW_ALL, &w->arena, &value));
    CHECK(str_eq(value, STR("untouched")));
    world_close(w);
}

/* base is abstract; one and two provide it, two requires a filler and therefore has a higher
 * cohort. */
static const char providers[] =
    "{\"barclamp\":{\"name\":\"p\",\"source_path\":\"x\"},"
    "\"jigs\":[{\"name\":\"script\",\"class\":\"script\"}],"
    "\"roles\":[{\"name\":\"base\",\"jig\":\"script\",\"attribs\":["
    "{\"name\":\"port\",\"map\":\"base/port\",\"default\":1}]},"
    "{\"name\":\"filler\",\"jig\":\"script\"},"
    "{\"name\":\"one\",\"jig\":\"script\",\"provides\":[\"base\"]},"
    "{\"name\":\"two\",\"jig\":\"script\",\"provides\":[\"base\"],\"requires\":[\"filler\"]},"
    "{\"name\":\"user\",\"jig\":\"script\",\"requires\":[\"base\"],"
    "\"wants-attribs\":[\"port\"]}]}";

TEST(a_provider_supplies_attribs_of_the_role_it_provides)
{
    struct world w = world_open();
    import(&w, providers);
    const int64_t a = add_node(&w, "a.example.com"), b = add_node(&w, "b.example.com");
    const int64_t one = bind(&w, a, "one");
    doc(&w, &open_noderole(&w, one)->wall, "{\"base\":{\"port\":11}}");
    CHECK(reads(&w, TABLE_NODE, a, "port", VIEW_ALL, "11"));
    CHECK(reads(&w, TABLE_NODE, b, "port", VIEW_ALL, "?"));
    CHECK(reads(&w, TABLE_NODEROLE, one, "port", VIEW_ALL, "11"));
    CHECK(reads(&w, TABLE_ROLE, role_id(&w, "one"), "port", VIEW_ALL, "1"));
    CHECK(reads(&w, TABLE_ROLE, role_id(&w, "filler"), "port", VIEW_ALL, "?"));
    CHECK(reads(&w, TABLE_DEPLOYMENT, 1, "port", VIEW_ALL, "1"));

    /* In the deployment: the provider with the higher cohort, but the role itself before any
     * provider. */
    bind(&w, b, "two");
    const int64_t dr_two = core_deployment_role(w.c, 1, role_id(&w, "two"));
    doc(&w, &open_role_in(&w, dr_two)->wall, "{\"base\":{\"port\":22}}");
    CHECK(reads(&w, TABLE_DEPLOYMENT, 1, "port", VIEW_ALL, "22"));
    CHECK(reads(&w, TABLE_NODE, a, "port", VIEW_ALL, "11"));
    must_step(&w, (struct command){.kind = COMMAND_DEPLOYMENT_ROLE_CREATE,
                                   .deployment_role_create = {.deployment_id = 1,
                                                              .role_id = role_id(&w, "base")}});
    CHECK(reads(&w, TABLE_DEPLOYMENT, 1, "port", VIEW_ALL, "1"));
    world_close(&w);
}

TEST(of_several_providers_the_highest_cohort_and_then_the_oldest_supplies)
{
    static const char before[] = "{\"barclamp\":{\"name\":\"q\",\"source_path\":\"x\"},"
                                 "\"roles\":[{\"name\":\"x\",\"jig\":\"script\"},"
                                 "{\"name\":\"y\",\"jig\":\"script\",\"requires\":[\"x\"]},"
                                 "{\"name\":\"z\",\"jig\":\"script\",\"requires\":[\"x\"]}]}";
    static const char after[] =
        "{\"barclamp\":{\"name\":\"q\",\"source_path\":\"x\"},\"roles\":["
        "{\"name\":\"x\",\"jig\":\"script\",\"provides\":[\"base\"]},"
        "{\"name\":\"y\",\"jig\":\"script\",\"requires\":[\"x\"],\"provides\":[\"base\"]},"
        "{\"name\":\"z\",\"jig\":\"script\",\"requires\":[\"x\"],\"provides\":[\"base\"]}]}";
    struct world w = world_open();
    import(&w, providers);
    import(&w, before);
    const int64_t node = add_node(&w, "a.example.com");
    const int64_t z = bind(&w, node, "z"), y = bind(&w, node, "y");
    const int64_t x = core_noderole(w.c, node, role_id(&w, "x"));
    doc(&w, &open_noderole(&w, x)->wall, "{\"base\":{\"port\":1}}");
    doc(&w, &open_noderole(&w, y)->wall, "{\"base\":{\"port\":2}}");
    doc(&w, &open_noderole(&w, z)->wall, "{\"base\":{\"port\":3}}");
    /* They could not be bound together as providers, but can become providers later. */
    import(&w, after);
    CHECK(z < y);
    CHECK(reads(&w, TABLE_NODE, node, "port", VIEW_ALL, "3"));
    for (uint32_t i = 0; i < 3; i++) {
        static const char *const roles[] = {"x", "y", "z"};
        static const char *const walls[] = {"{\"base\":{\"port\":4}}", "{\"base\":{\"port\":5}}",
                                            "{\"base\":{\"port\":6}}"};
        const int64_t dr = core_deployment_role(w.c, 1, role_id(&w, roles[i]));
        doc(&w, &open_role_in(&w, dr)->wall, walls[i]);
    }
    /* The deployment role of y was created after that of z. */
    CHECK(reads(&w, TABLE_DEPLOYMENT, 1, "port", VIEW_ALL, "6"));
    world_close(&w);
}

/* ---- staged data ---- */

TEST(a_noderole_without_data_is_staged_empty)
{
    struct world w = world_open();
    import(&w, "{\"barclamp\":{\"name\":\"b\",\"source_path\":\"x\"},"
               "\"jigs\":[{\"name\":\"script\",\"class\":\"script\"}],"
               "\"roles\":[{\"name\":\"below\",\"jig\":\"script\"},"
               "{\"name\":\"plain\",\"jig\":\"script\",\"requires\":[\"below\"]}]}");
    const int64_t node = add_node(&w, "n1.example.com");
    const int64_t nr = bind(&w, node, "plain");
    CHECK(staged_is(&w, nr, "{\"hints\":{},\"quirks\":[]}"));
    CHECK(core_staged(w.c, 4711, &w.arena).len == 0);
    doc(&w, &open_node(&w, node)->quirks, "[\"slow\"]");
    CHECK(staged_is(&w, nr, "{\"hints\":{},\"quirks\":[\"slow\"]}"));
    doc(&w, &open_node(&w, node)->hint, "{\"h\":1}");
    CHECK(staged_is(&w, nr, "{\"hints\":{\"h\":1},\"quirks\":[\"slow\"]}"));
    world_close(&w);
}

static const char pipeline[] =
    "{\"barclamp\":{\"name\":\"p\",\"source_path\":\"x\"},"
    "\"jigs\":[{\"name\":\"script\",\"class\":\"script\"}],"
    "\"attribs\":[{\"name\":\"rack\",\"map\":\"site/rack\"},"
    "{\"name\":\"row\",\"map\":\"site/row\",\"default\":7},"
    "{\"name\":\"lost\",\"map\":\"site/lost\"}],"
    "\"roles\":[{\"name\":\"far\",\"jig\":\"script\",\"attribs\":["
    "{\"name\":\"url\",\"map\":\"far/url\"},{\"name\":\"key\",\"map\":\"far/key\"}]},"
    "{\"name\":\"near\",\"jig\":\"script\",\"requires\":[\"far\"]},"
    "{\"name\":\"leaf\",\"jig\":\"script\",\"requires\":[\"near\"],"
    "\"wants-attribs\":[\"rack\",\"row\",\"lost\",\"url\",{\"name\":\"key\",\"at\":\"my/key\"}],"
    "\"attribs\":[{\"name\":\"mine\",\"map\":\"leaf/mine\",\"default\":\"d\"},"
    "{\"name\":\"unset\",\"map\":\"leaf/unset\"}]}]}";

TEST(wanted_attribs_arrive_at_their_map_or_where_the_role_wants_them)
{
    struct world w = world_open();
    import(&w, pipeline);
    const int64_t there = add_node(&w, "a.example.com"), here = add_node(&w, "b.example.com");
    const int64_t far = bind(&w, there, "far"), near = bind(&w, there, "near");
    const int64_t leaf = bind(&w, here, "leaf");
    /* far is not bound here; the noderole on the other node is the ancestor. */
    CHECK(core_noderole(w.c, here, role_id(&w, "far")) == 0);
    doc(&w, &open_noderole(&w, far)->wall, "{\"far\":{\"key\":\"k\",\"secret\":1}}");
    doc(&w, &open_noderole(&w, near)->wall, "{\"near\":1}");
    doc(&w, &open_node(&w, here)->discovery, "{\"site\":{\"rack\":4,\"other\":1}}");
    /* A wanted attrib of an ancestor is written even when it is null; one of the node is not. */
    CHECK(staged_is(&w, leaf,
                    "{\"far\":{\"url\":null},\"hints\":{},\"leaf\":{\"mine\":\"d\"},"
                    "\"my\":{\"key\":\"k\"},\"quirks\":[],\"site\":{\"rack\":4,\"row\":7}}"));
    world_close(&w);
}

TEST(links_give_the_deployments_value_and_then_the_noderoles_committed_only)
{
    struct world w = world_open();
    import(&w, pipeline);
    const int64_t there = add_node(&w, "a.example.com"), here = add_node(&w, "b.example.com");
    const int64_t far = bind(&w, there, "far");
    bind(&w, there, "near");
    const int64_t leaf = bind(&w, here, "leaf");
    const int64_t dr = core_deployment_role(w.c, 1, role_id(&w, "far"));
    doc(&w, &open_role_in(&w, dr)->committed_data, "{\"far\":{\"key\":{\"d\":1,\"x\":1}}}");
    propose_doc(&w, dr, "{\"far\":{\"key\":{\"p\":1}}}");
    doc(&w, &open_noderole(&w, far)->committed_data, "{\"far\":{\"key\":{\"x\":2}}}");
    doc(&w, &open_noderole(&w, far)->proposed_data, "{\"far\":{\"key\":{\"q\":1}}}");
    CHECK(staged_is(&w, leaf,
                    "{\"far\":{\"url\":null},\"hints\":{},\"leaf\":{\"mine\":\"d\"},"
                    "\"my\":{\"key\":{\"d\":1,\"x\":2}},\"quirks\":[],\"site\":{\"row\":7}}"));
    world_close(&w);
}

TEST(later_parts_of_the_staged_data_win)
{
    struct world w = world_open();
    import(&w, pipeline);
    const int64_t node = add_node(&w, "n1.example.com");
    const int64_t leaf = bind(&w, node, "leaf");
    const int64_t near = core_noderole(w.c, node, role_id(&w, "near"));
    const int64_t far = core_noderole(w.c, node, role_id(&w, "far"));
    CHECK(near && far);
    /* Each part sets the paths of all later parts; the number identifies the part. */
    doc(&w, &open_node(&w, node)->discovery, "{\"site\":{\"rack\":1,\"row\":1}}");
    doc(&w, &open_noderole(&w, far)->committed_data,
        "{\"far\":{\"key\":2,\"url\":2},\"hints\":3,\"site\":{\"rack\":3,\"x\":3},\"w\":3,"
        "\"y\":3,\"z\":3}");
    doc(&w, &open_noderole(&w, near)->committed_data, "{\"x\":4,\"y\":4,\"z\":4}");
    doc(&w, &open_noderole(&w, leaf)->committed_data,
        "{\"leaf\":{\"mine\":null},\"y\":5,\"crowbar_wall\":{\"reservations\":5,\"own\":5}}");
    doc(&w, &open_noderole(&w, leaf)->proposed_data, "{\"y\":99}");
    doc(&w, &open_node(&w, node)->hint, "{\"reservations\":{\"ip\":6}}");
    doc(&w, &open_node(&w, node)->quirks, "[\"q\"]");
    CHECK(staged_is(&w, leaf,
                    "{\"crowbar_wall\":{\"own\":5,\"reservations\":{\"ip\":6}},"
                    "\"far\":{\"key\":2,\"url\":2},\"hints\":{\"reservations\":{\"ip\":6}},"
                    "\"leaf\":{\"mine\":\"d\"},\"my\":{\"key\":2},\"quirks\":[\"q\"],"
                    "\"site\":{\"rack\":3,\"row\":1,\"x\":3},\"w\":3,\"x\":4,\"y\":5,\"z\":4}"));
    world_close(&w);
}

TEST(reservations_come_from_discovery_with_hints_on_top)
{
    struct world w = world_open();
    import(&w, pipeline);
    const int64_t node = add_node(&w, "n1.example.com");
    const int64_t far = bind(&w, node, "far");
    doc(&w, &open_node(&w, node)->discovery, "{\"reservations\":{\"a\":1,\"b\":1}}");
    CHECK(staged_is(&w, far,
                    "{\"crowbar_wall\":{\"reservations\":{\"a\":1,\"b\":1}},\"hints\":{},"
                    "\"quirks\":[]}"));
    doc(&w, &open_node(&w, node)->hint, "{\"reservations\":{\"b\":2}}");
    CHECK(staged_is(&w, far,
                    "{\"crowbar_wall\":{\"reservations\":{\"a\":1,\"b\":2}},"
                    "\"hints\":{\"reservations\":{\"b\":2}},\"quirks\":[]}"));
    /* Only at the top, and not when null. */
    doc(&w, &open_node(&w, node)->discovery, "{\"x\":{\"reservations\":1}}");
    doc(&w, &open_node(&w, node)->hint, "{\"reservations\":null}");
    CHECK(staged_is(&w, far, "{\"hints\":{\"reservations\":null},\"quirks\":[]}"));
    world_close(&w);
}

TEST(data_of_a_server_is_seen_on_other_nodes_and_of_others_it_is_not)
{
    static const char *const format[] = {
        "{\"barclamp\":{\"name\":\"s\",\"source_path\":\"x\"},"
        "\"jigs\":[{\"name\":\"script\",\"class\":\"script\"}],"
        "\"roles\":[{\"name\":\"top\",\"jig\":\"script\"",
        "},{\"name\":\"child\",\"jig\":\"script\",\"requires\":[\"top\"]}]}"};
    for (int server = 0; server < 2; server++) {
        struct world w = world_open();
        const struct str flags = server ? STR(",\"flags\":[\"server\"]") : STR("");
        import(&w, str_z(&w.arena,
                         STR_CONCAT(&w.arena, str_from(format[0]), flags, str_from(format[1]))));
        const int64_t a = add_node(&w, "a.example.com"), b = add_node(&w, "b.example.com");
        const int64_t top = bind(&w, a, "top"), child = bind(&w, b, "child");
        doc(&w, &open_noderole(&w, top)->wall, "{\"v\":{\"wall\":1,\"x\":1}}");
        doc(&w, &open_noderole(&w, top)->sysdata, "{\"v\":{\"system\":1,\"x\":2}}");
        doc(&w, &open_noderole(&w, top)->committed_data, "{\"v\":{\"user\":1,\"x\":3}}");
        doc(&w, &open_noderole(&w, top)->proposed_data, "{\"v\":{\"x\":4}}");
        doc(&w, &open_role(&w, "top")->template, "{\"t\":1}");
        CHECK(staged_is(&w, child,
                        server ? "{\"hints\":{},\"quirks\":[],"
                                 "\"v\":{\"system\":1,\"user\":1,\"wall\":1,\"x\":3}}"
                               : "{\"hints\":{},\"quirks\":[]}"));
        world_close(&w);
    }
}

/* Values and paths that are too deep are left out and never stop the program. */
TEST(what_is_too_deep_to_be_staged_stays_out)
{
    struct world w = world_open();
    import(&w, pipeline);
    const int64_t node = add_node(&w, "n1.example.com");
    const int64_t leaf = bind(&w, node, "leaf");
    struct buf deep = buf_in(&w.arena);
    for (uint32_t i = 0; i < JSON_DEPTH_MAX; i++)
        buf_put_z(&deep, "{\"reservations\":");
    buf_put_z(&deep, "1");
    for (uint32_t i = 0; i < JSON_DEPTH_MAX; i++)
        buf_put_z(&deep, "}");
    put_doc(w.c, &open_node(&w, node)->hint, buf_str(&deep));
    CHECK(staged_is(&w, leaf,
                    "{\"far\":{\"url\":null},\"hints\":{},\"leaf\":{\"mine\":\"d\"},"
                    "\"my\":{\"key\":null},\"quirks\":[],\"site\":{\"row\":7}}"));
    world_close(&w);
}

/* ---- links ---- */

static int64_t linked_parent(struct world *w, int64_t child)
{
    const struct noderole *nr = noderole_at(w->c, noderole_by_id(w->c, child));
    const uint32_t *links = vec_items(&w->c->heap, &nr->links);
    CHECK(nr->links.count == (links ? 2 : 0));
    return links ? noderole_at(w->c, (noderole_ix){links[0]})->o.id : 0;
}

TEST(a_link_goes_to_the_provider_if_the_role_itself_is_not_bound)
{
    struct world w = world_open();
    import(&w, providers);
    const int64_t a = add_node(&w, "a.example.com"), b = add_node(&w, "b.example.com");
    const int64_t one = bind(&w, a, "one"), user = bind(&w, b, "user");
    CHECK(linked_parent(&w, user) == one);
    doc(&w, &open_noderole(&w, one)->wall, "{\"base\":{\"port\":80}}");
    CHECK(staged_is(&w, user, "{\"base\":{\"port\":80},\"hints\":{},\"quirks\":[]}"));
    world_close(&w);
}

TEST(a_link_prefers_the_role_itself_to_a_provider_of_a_higher_cohort)
{
    struct world w = world_open();
    import(&w, providers);
    import(&w, "{\"barclamp\":{\"name\":\"q\",\"source_path\":\"x\"},"
               "\"roles\":[{\"name\":\"first\",\"jig\":\"script\","
               "\"requires\":[\"two\",\"base\"],\"wants-attribs\":[\"port\"]}]}");
    const int64_t a = add_node(&w, "a.example.com"), b = add_node(&w, "b.example.com");
    const int64_t d = add_node(&w, "d.example.com");
    const int64_t base = bind(&w, a, "base"), two = bind(&w, b, "two");
    const int64_t first = bind(&w, d, "first");
    uint32_t count;
    const int64_t *parents = core_parents(w.c, first, &w.arena, &count);
    CHECK(count == 2 && parents[0] == base && parents[1] == two);
    CHECK(linked_parent(&w, first) == base);
    world_close(&w);
}

TEST(an_attrib_that_is_wanted_after_the_bind_has_no_link)
{
    struct world w = world_open();
    import(&w, providers);
    import(&w, "{\"barclamp\":{\"name\":\"q\",\"source_path\":\"x\"},"
               "\"roles\":[{\"name\":\"late\",\"jig\":\"script\"}]}");
    const int64_t node = add_node(&w, "a.example.com");
    const int64_t late = bind(&w, node, "late");
    import(&w, "{\"barclamp\":{\"name\":\"q\",\"source_path\":\"x\"},"
               "\"roles\":[{\"name\":\"late\",\"jig\":\"script\",\"wants-attribs\":[\"port\"]}]}");
    CHECK(linked_parent(&w, late) == 0);
    CHECK(staged_is(&w, late, "{\"hints\":{},\"quirks\":[]}"));
    world_close(&w);
}

TEST(links_are_kept_in_the_order_of_the_attribs)
{
    struct world w = world_open();
    import(&w, pipeline);
    import(&w, "{\"barclamp\":{\"name\":\"q\",\"source_path\":\"x\"},"
               "\"roles\":[{\"name\":\"backwards\",\"jig\":\"script\","
               "\"wants-attribs\":[\"mine\",\"url\",\"key\",\"KEY\"]}]}");
    const int64_t node = add_node(&w, "n1.example.com");
    const noderole_ix nr = noderole_by_id(w.c, bind(&w, node, "backwards"));
    const struct vec *links = &noderole_at(w.c, nr)->links;
    static const char *const expected[] = {"url", "key", "mine"};
    CHECK(links->count == 6);
    for (uint32_t i = 0; i < 3; i++) {
        const attrib_ix attrib = {vec_at(w.c, links, 2 * i + 1)};
        CHECK(attrib_at(w.c, attrib)->o.id == attrib_id(&w, expected[i]));
    }
    CHECK(attrib_id(&w, "url") < attrib_id(&w, "key"));
    world_close(&w);
}

TEST(a_link_prefers_the_role_itself_then_the_deepest_then_the_oldest)
{
    struct world w = world_open();
    import(&w, "{\"barclamp\":{\"name\":\"p\",\"source_path\":\"x\"},"
               "\"jigs\":[{\"name\":\"script\",\"class\":\"script\"}],"
               "\"roles\":[{\"name\":\"base\",\"jig\":\"script\",\"flags\":[\"cluster\"],"
               "\"attribs\":[{\"name\":\"port\",\"map\":\"base/port\",\"default\":1}]},"
               "{\"name\":\"user\",\"jig\":\"script\",\"requires\":[\"base\"],"
               "\"wants-attribs\":[\"port\"]}]}");
    const int64_t a = add_node(&w, "a.example.com"), b = add_node(&w, "b.example.com");
    const int64_t d = add_node(&w, "d.example.com");
    const int64_t first = bind(&w, a, "base"), second = bind(&w, b, "base");
    const int64_t user = bind(&w, d, "user");
    CHECK(linked_parent(&w, user) == first);

    /* Raises the cohort of the second directly in the row, and rebuilds the links. */
    struct command nothing = {.kind = COMMAND_TICK};
    step(&w, nothing);
    w.c->arena = &w.arena;
    noderole_edit(w.c, noderole_by_id(w.c, second))->cohort = 5;
    links_rebuild(w.c, noderole_by_id(w.c, user));
    CHECK(linked_parent(&w, user) == second);
    noderole_edit(w.c, noderole_by_id(w.c, second))->cohort = 0;
    const uint32_t noted = w.c->relations.count;
    links_rebuild(w.c, noderole_by_id(w.c, user));
    CHECK(linked_parent(&w, user) == first);
    CHECK(w.c->relations.count == noted + 2); /* one removed, one added */
    const struct relation_change *last = w.c->relations.items;
    CHECK(last[noted].table == TABLE_LINK && last[noted].gone);
    CHECK(last[noted].key[0] == second && last[noted].key[1] == user);
    CHECK(last[noted].key[2] == attrib_id(&w, "port"));
    CHECK(!last[noted + 1].gone && last[noted + 1].key[0] == first);
    links_rebuild(w.c, noderole_by_id(w.c, user));
    CHECK(w.c->relations.count == noted + 2);
    links_clear(w.c, noderole_by_id(w.c, user));
    CHECK(linked_parent(&w, user) == 0);
    CHECK(w.c->relations.count == noted + 3);
    links_clear(w.c, noderole_by_id(w.c, user));
    CHECK(w.c->relations.count == noted + 3);
    links_rebuild(w.c, noderole_by_id(w.c, user));
    w.c->arena = NULL;
    world_close(&w);
}

/* ---- comparison with a naive model, in random worlds ---- */

enum { ROLES = 7, NODES = 3, ATTRIBS_EACH = 2 };

static const char *const paths[] = {"a", "a/b", "b", "b/c/d", "b/c", "hints"};
static const char *const values[] = {
    "1",
    "null",
    "false",
    "[]",
    "\"t\"",
    "{}",
    "{\"b\":1}",
    "{\"b\":{\"c\":2}}",
    "{\"c\":{\"d\":3}}",
};
#define PICK(r, list) (list)[prng_below((r), sizeof(list) / sizeof *(list))]

static void put_attrib(struct prng *r, struct buf *b, uint32_t role, uint32_t n)
{
    buf_put_z(b, n ? ",{\"name\":\"x" : "{\"name\":\"x");
    buf_put_u64(b, role);
    buf_put_c(b, (char)('a' + n));
    buf_put_z(b, "\",\"map\":\"");
    buf_put_z(b, PICK(r, paths));
    buf_put_c(b, '"');
    if (prng_chance(r, 500)) {
        buf_put_z(b, ",\"default\":");
        buf_put_z(b, PICK(r, values));
    }
    buf_put_c(b, '}');
}

/* Role n requires some of the roles before it, and wants attribs of some of them and of the
 * node. */
static void put_role(struct prng *r, struct buf *b, uint32_t n)
{
    buf_put_z(b, n ? ",{\"name\":\"r" : "{\"name\":\"r");
    buf_put_u64(b, n);
    buf_put_z(b, "\",\"jig\":\"script\",\"flags\":[");
    if (prng_chance(r, 300))
        buf_put_z(b, "\"server\"");
    buf_put_z(b, "],\"requires\":[");
    for (uint32_t i = 0, some = 0; i < n; i++)
        if (prng_chance(r, 400)) {
            buf_put_z(b, some++ ? ",\"r" : "\"r");
            buf_put_u64(b, i);
            buf_put_c(b, '"');
        }
    buf_put_z(b, "],\"wants-attribs\":[\"xn\"");
    for (uint32_t i = 0; i < n; i++)
        if (prng_chance(r, 250)) {
            buf_put_z(b, ",{\"name\":\"x");
            buf_put_u64(b, i);
            buf_put_z(b, "a\"");
            if (prng_chance(r, 500)) {
                buf_put_z(b, ",\"at\":\"");
                buf_put_z(b, PICK(r, paths));
                buf_put_c(b, '"');
            }
            buf_put_c(b, '}');
        }
    buf_put_z(b, "],\"attribs\":[");
    for (uint32_t i = 0; i < ATTRIBS_EACH; i++)
        put_attrib(r, b, n, i);
    buf_put_z(b, "]}");
}

static void draw_roles(struct world *w, struct prng *r)
{
    struct buf b = buf_in(&w->arena);
    buf_put_z(&b, "{\"barclamp\":{\"name\":\"b\",\"source_path\":\"x\"},"
                  "\"jigs\":[{\"name\":\"script\",\"class\":\"script\"}],"
                  "\"attribs\":[{\"name\":\"xn\",\"map\":\"a/b\",\"default\":5}],\"roles\":[");
    for (uint32_t i = 0; i < ROLES; i++)
        put_role(r, &b, i);
    buf_put_z(&b, "]}");
    import(w, str_z(&w->arena, buf_str(&b)));
}

static void draw_doc(struct world *w, struct prng *r, doc_h *slot)
{
    static const char *const keys[] = {"a", "b", "hints", "reservations"};
    struct json *tree = json_make(&w->arena, JSON_OBJECT);
    for (uint32_t i = (uint32_t)prng_below(r, 3); i; i--) {
        const struct str key = str_from(PICK(r, keys));
        json_set(tree, key, doc_tree(&w->arena, str_from(PICK(r, values))));
    }
    put_doc(w->c, slot, json_write(&w->arena, tree));
}

static void draw_documents(struct world *w, struct prng *r)
{
    for (int64_t id = 0; (id = core_next_id(w->c, TABLE_NODEROLE, id)) != 0;) {
        draw_doc(w, r, &open_noderole(w, id)->wall);
        draw_doc(w, r, &open_noderole(w, id)->sysdata);
        draw_doc(w, r, &open_noderole(w, id)->committed_data);
    }
    for (int64_t id = 0; (id = core_next_id(w->c, TABLE_DEPLOYMENT_ROLE, id)) != 0;) {
        draw_doc(w, r, &open_role_in(w, id)->wall);
        draw_doc(w, r, &open_role_in(w, id)->committed_data);
    }
    for (int64_t id = 0; (id = core_next_id(w->c, TABLE_ROLE, id)) != 0;)
        draw_doc(w, r, &role_edit(w->c, role_by_id(w->c, id))->template);
    for (int64_t id = 0; (id = core_next_id(w->c, TABLE_NODE, id)) != 0;) {
        draw_doc(w, r, &open_node(w, id)->hint);
        draw_doc(w, r, &open_node(w, id)->discovery);
    }
}

/* The model: records, strings, and the rules of docs/spec/data.md ("Staged data") one after the
 * other. */
struct model {
    struct world *w;
    struct arena *a;
};

static struct record get(const struct model *m, enum table table, int64_t id)
{
    struct record record = {0};
    CHECK(core_record(m->w->c, table, id, &record));
    return record;
}

static struct str model_merge(const struct model *m, struct str below, struct str above)
{
    const struct str layers[] = {below.len ? below : STR("{}"), above.len ? above : STR("{}")};
    struct json *trees[2];
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t offset;
        const char *what;
        CHECK(json_read(m->a, layers[i], &trees[i], &offset, &what) == OK);
    }
    return json_write(m->a, json_merge(m->a, trees[0], trees[1]));
}

static struct str model_role_data(const struct model *m, const struct noderole_record *nr)
{
    const int64_t id = core_deployment_role(m->w->c, nr->deployment_id, nr->role_id);
    const struct record role = get(m, TABLE_ROLE, nr->role_id);
    const struct record dr = get(m, TABLE_DEPLOYMENT_ROLE, id);
    return model_merge(m, model_merge(m, role.role.template, dr.deployment_role.wall),
                       dr.deployment_role.committed_data);
}

static struct str model_data(const struct model *m, const struct noderole_record *nr, bool layers)
{
    struct str data = layers ? model_role_data(m, nr) : STR("{}");
    data = model_merge(m, data, nr->wall);
    data = model_merge(m, data, nr->sysdata);
    return model_merge(m, data, nr->committed_data);
}

static const struct json *model_value(const struct model *m, const struct attrib_record *attrib,
                                      struct str data)
{
    const struct json *value = json_at(doc_tree(m->a, data), attrib->map);
    if (value && value->kind != JSON_NULL)
        return value;
    value = json_get(doc_tree(m->a, attrib->default_value), STR("value"));
    return value ? value : json_make(m->a, JSON_NULL);
}

static struct str model_put(const struct model *m, struct str tree, struct str path,
                            const struct json *value)
{
    return model_merge(m, tree, json_write(m->a, json_wrap(m->a, path, value)));
}

static void mark_above(const struct model *m, int64_t id, bool *seen)
{
    uint32_t count;
    const int64_t *parents = core_parents(m->w->c, id, m->a, &count);
    for (uint32_t i = 0; i < count; i++)
        if (!seen[parents[i]]) {
            seen[parents[i]] = true;
            mark_above(m, parents[i], seen);
        }
}

enum { IDS = 200 };

static struct str model_wants(const struct model *m, const struct noderole_record *nr,
                              const bool *above, bool of_nodes, struct str tree)
{
    const struct record node = get(m, TABLE_NODE, nr->node_id);
    const struct record role = get(m, TABLE_ROLE, nr->role_id);
    const struct json *wants = doc_tree(m->a, role.role.wants);
    for (const struct json *want = wants->first; want; want = want->next) {
        const struct str name = json_get(want, STR("name"))->text;
        const struct record attrib = get(m, TABLE_ATTRIB, core_find(m->w->c, TABLE_ATTRIB, name));
        const struct json *at = json_get(want, STR("at"));
        const struct str path = at && at->text.len ? at->text : attrib.attrib.map;
        if ((attrib.attrib.role_id == 0) != of_nodes)
            continue;
        if (of_nodes) {
            const struct str data = model_merge(m, node.node.discovery, node.node.hint);
            tree = model_put(m, tree, path, model_value(m, &attrib.attrib, data));
            continue;
        }
        int64_t best = 0;
        uint32_t depth = 0;
        for (int64_t id = 1; id < IDS; id++) {
            struct record other;
            if (!above[id] || !core_record(m->w->c, TABLE_NODEROLE, id, &other) ||
                other.noderole.role_id != attrib.attrib.role_id)
                continue;
            if (!best || other.noderole.cohort > depth) {
                best = id;
                depth = other.noderole.cohort;
            }
        }
        if (!best)
            continue;
        const struct record parent = get(m, TABLE_NODEROLE, best);
        const struct str role_data = model_role_data(m, &parent.noderole);
        const struct str data = model_data(m, &parent.noderole, true);
        tree = model_put(m, tree, path, model_value(m, &attrib.attrib, role_data));
        tree = model_put(m, tree, path, model_value(m, &attrib.attrib, data));
    }
    return tree;
}

static struct str model_above(const struct model *m, const struct noderole_record *nr,
                              const bool *above, struct str tree)
{
    for (uint32_t cohort = 0; cohort < 100; cohort++)
        for (int64_t id = 1; id < IDS; id++) {
            struct record other;
            if (!above[id] || !core_record(m->w->c, TABLE_NODEROLE, id, &other) ||
                other.noderole.cohort != cohort)
                continue;
            const struct record role = get(m, TABLE_ROLE, other.noderole.role_id);
            const bool here = other.noderole.node_id == nr->node_id;
            if (here || role.role.flags & ROLE_SERVER)
                tree = model_merge(m, tree, model_data(m, &other.noderole, here));
        }
    return tree;
}

static struct str model_own(const struct model *m, const struct noderole_record *nr,
                            struct str tree)
{
    const struct str own = model_data(m, nr, true);
    tree = model_merge(m, tree, own);
    for (int64_t id = 0; (id = core_next_id(m->w->c, TABLE_ATTRIB, id)) != 0;) {
        const struct record attrib = get(m, TABLE_ATTRIB, id);
        const struct json *value = model_value(m, &attrib.attrib, own);
        if (attrib.attrib.role_id == nr->role_id && value->kind != JSON_NULL)
            tree = model_put(m, tree, attrib.attrib.map, value);
    }
    return tree;
}

static struct str model_staged(const struct model *m, int64_t id)
{
    bool above[IDS] = {0};
    const struct record nr = get(m, TABLE_NODEROLE, id);
    const struct record node = get(m, TABLE_NODE, nr.noderole.node_id);
    mark_above(m, id, above);
    struct str tree = model_wants(m, &nr.noderole, above, true, STR("{}"));
    tree = model_wants(m, &nr.noderole, above, false, tree);
    tree = model_above(m, &nr.noderole, above, tree);
    tree = model_own(m, &nr.noderole, tree);
    const struct str seen = model_merge(m, node.node.discovery, node.node.hint);
    const struct json *reservations = json_get(doc_tree(m->a, seen), STR("reservations"));
    if (reservations && reservations->kind != JSON_NULL)
        tree = model_put(m, tree, STR("crowbar_wall/reservations"), reservations);
    struct json *last = doc_tree(m->a, tree);
    json_set(last, STR("hints"), doc_tree(m->a, node.node.hint));
    json_set(last, STR("quirks"), json_make(m->a, JSON_ARRAY));
    return json_write(m->a, last);
}

TEST(staged_data_are_what_the_naive_model_says)
{
    uint32_t compared = 0, linked = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct prng r;
        prng_init(&r, seed);
        struct world w = world_open();
        int64_t nodes[NODES];
        draw_roles(&w, &r);
        nodes[0] = add_node(&w, "a.example.com");
        nodes[1] = add_node(&w, "b.example.com");
        nodes[2] = add_node(&w, "c.example.com");
        for (uint32_t i = 0; i < ROLES; i++)
            must_step(&w, (struct command){
                              .kind = COMMAND_NODEROLE_BIND,
                              .noderole_bind = {.node_id = PICK(&r, nodes),
                                                .role_id = (int64_t)prng_below(&r, ROLES) + 1}});
        draw_documents(&w, &r);
        const struct model m = {&w, &w.arena};
        for (int64_t id = 0; (id = core_next_id(w.c, TABLE_NODEROLE, id)) != 0;) {
            CHECK(id < IDS);
            CHECK(staged_is(&w, id, str_z(&w.arena, model_staged(&m, id))));
            linked += noderole_at(w.c, noderole_by_id(w.c, id))->links.count / 2;
            compared++;
        }
        world_close(&w);
    }
    CHECK(compared > 500 && linked > 100); /* otherwise the worlds contain too little to compare */
}
