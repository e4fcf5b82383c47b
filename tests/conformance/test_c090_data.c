/* Goal: cases 91 to 94, 97 to 104 and 251 of docs/spec/cases.md: the layers of data, attribs, and
 * the data staged for a run (docs/spec/data.md). What needs HTTP is tested in tests/api.
 * Method: commands to a core in memory; values are read in each view and from started runs. */
#include "tests/world/world.h"

static void set_on_noderole(struct world *w, const char *noderole, const char *attrib,
                            enum bucket bucket, const char *value)
{
    DONE(w, cmd_set(w, TABLE_NODEROLE, the_noderole(w, noderole), attrib, bucket, value));
}

static void set_on_deployment_role(struct world *w, const char *role, const char *attrib,
                                   enum bucket bucket, const char *value)
{
    DONE(w, cmd_set(w, TABLE_DEPLOYMENT_ROLE, the_deployment_role(w, role, "system"), attrib,
                    bucket, value));
}

static void set_on_node(struct world *w, const char *node, const char *attrib, enum bucket bucket,
                        const char *value)
{
    DONE(w, cmd_set(w, TABLE_NODE, the_node(w, node), attrib, bucket, value));
}

static void set_data(struct world *w, const char *noderole, const char *quoted)
{
    DONE(w, CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(w, noderole),
                .data = world_json(w, quoted)));
}

static void finish_with_wall(struct world *w, const char *noderole, const char *quoted)
{
    world_finish_with(w, noderole,
                      (struct run_done_command){
                          .result = RESULT_OK, .has_wall = true, .wall = world_json(w, quoted)});
}

static const char *on_noderole(struct world *w, const char *attrib, enum data_view view)
{
    return world_value(w, TABLE_NODEROLE, the_noderole(w, "r@n1"), attrib, view);
}

static const char *on_deployment_role(struct world *w, const char *attrib, enum data_view view)
{
    return world_value(w, TABLE_DEPLOYMENT_ROLE, the_deployment_role(w, "r", "system"), attrib,
                       view);
}

/* ---- attribs as objects ---- */

static struct command cmd_attrib(struct world *w, const char *name, const char *map)
{
    return CMD(ATTRIB_CREATE, attrib_create, .name = str_from(name), .map = str_from(map),
               .barclamp_id = core_find(w->core, TABLE_BARCLAMP, STR("basics")),
               .schema = world_json(w, "{'type':'str'}"), .writable = true);
}

TEST(c091_an_attrib_of_a_barclamp_is_created_and_deleted)
{
    struct world *w = world_open();
    const int64_t id = DONE(w, cmd_attrib(w, "bdd_marker", "bdd/marker"));
    CHECK(read_attrib(w, "bdd_marker").id == id);
    CHECK(read_attrib(w, "bdd_marker").role_id == 0);
    DONE(w, CMD(ATTRIB_DELETE, attrib_delete, .id = id));
    CHECK(core_find(w->core, TABLE_ATTRIB, STR("bdd_marker")) == 0);
    struct record gone;
    CHECK(!core_record(w->core, TABLE_ATTRIB, id, &gone));
    world_close(w);
}

TEST(c093_an_attrib_keeps_its_map)
{
    struct world *w = world_open();
    DONE(w, cmd_attrib(w, "bdd_value", "bdd/value"));
    EXPECT_STR(shown(w, read_attrib(w, "bdd_value").map), "bdd/value");
    world_close(w);
}

TEST(c094_a_value_set_on_a_node_is_read_back)
{
    struct world *w = world_open();
    DONE(w, cmd_attrib(w, "bdd_easyway", "bdd/easyway"));
    world_node(w, "n1", NULL);
    set_on_node(w, "n1", "bdd_easyway", BUCKET_USER, "'456'");
    EXPECT_STR(world_value(w, TABLE_NODE, the_node(w, "n1"), "bdd_easyway", VIEW_ALL), "'456'");
    world_reload(w);
    EXPECT_STR(world_value(w, TABLE_NODE, the_node(w, "n1"), "bdd_easyway", VIEW_ALL), "'456'");
    world_close(w);
}

/* ---- the example of docs/spec/data.md ---- */

static const char example_role[] =
    "'attribs':[{'name':'color','map':'app/color','default':'grey','schema':{'type':'str'}},"
    "{'name':'size','map':'app/size','default':1,'schema':{'type':'int'}},"
    "{'name':'tags','map':'app/tags','schema':{'type':'seq','sequence':[{'type':'str'}]}},"
    "{'name':'note','map':'app/note','default':'n'},{'name':'addr','map':'app/addr'}]";

/* r@n1 ACTIVE, every layer filled as in the example. */
static struct world *open_the_example(void)
{
    struct world *w = world_open();
    const int64_t r = world_role(w, "r", example_role);
    DONE(w, CMD(ROLE_UPDATE, role_update, .id = r, .given = GIVEN_ROLE_TEMPLATE,
                .template = world_json(w, "{'app':{'color':'red','size':2,'tags':['a']}}")));
    world_node(w, "n1", NULL);
    world_bind(w, "r@n1");
    set_on_deployment_role(w, "r", "size", BUCKET_WALL, "3");
    set_on_deployment_role(w, "r", "color", BUCKET_USER, "'blue'");
    DONE(w, CMD(DEPLOYMENT_ROLE_COMMIT, deployment_role_commit,
                .id = the_deployment_role(w, "r", "system")));
    set_on_noderole(w, "r@n1", "addr", BUCKET_SYSTEM, "'10.0.0.5/24'");
    set_data(w, "r@n1", "{'app':{'tags':['b']}}");
    world_bring(w, "r@n1", "transition");
    finish_with_wall(w, "r@n1", "{'app':{'size':4,'up':true}}");
    set_on_deployment_role(w, "r", "color", BUCKET_USER, "'green'");
    set_on_noderole(w, "r@n1", "tags", BUCKET_USER, "['c']");
    set_on_noderole(w, "r@n1", "color", BUCKET_USER, "'pink'");
    IS(w, "r@n1", "active");
    return w;
}

TEST(c097_the_layers_are_filled_as_in_the_example)
{
    struct world *w = open_the_example();
    const struct noderole_record nr = read_noderole(w, "r@n1");
    EXPECT_STR(shown(w, nr.wall), "{'app':{'size':4,'up':true}}");
    EXPECT_STR(shown(w, nr.sysdata), "{'app':{'addr':'10.0.0.5/24'}}");
    EXPECT_STR(shown(w, nr.committed_data), "{'app':{'tags':['b']}}");
    EXPECT_STR(shown(w, nr.proposed_data), "{'app':{'color':'pink','tags':['c']}}");
    const struct deployment_role_record dr = read_deployment_role(w, "r", "system");
    EXPECT_STR(shown(w, dr.wall), "{'app':{'size':3}}");
    EXPECT_STR(shown(w, dr.committed_data), "{'app':{'color':'blue'}}");
    EXPECT_STR(shown(w, dr.proposed_data), "{'app':{'color':'green'}}");
    CHECK(dr.proposed);
    world_close(w);
}

TEST(c097_the_committed_view_of_a_noderole)
{
    struct world *w = open_the_example();
    EXPECT_STR(on_noderole(w, "color", VIEW_COMMITTED), "'blue'");
    EXPECT_STR(on_noderole(w, "size", VIEW_COMMITTED), "4");
    EXPECT_STR(on_noderole(w, "tags", VIEW_COMMITTED), "['b']");
    EXPECT_STR(on_noderole(w, "note", VIEW_COMMITTED), "'n'");
    world_close(w);
}

TEST(c097_an_active_noderole_shows_the_proposed_data_of_its_deployment_role)
{
    struct world *w = open_the_example();
    EXPECT_STR(on_noderole(w, "color", VIEW_ALL), "'green'");
    EXPECT_STR(on_noderole(w, "size", VIEW_ALL), "4");
    EXPECT_STR(on_noderole(w, "tags", VIEW_ALL), "['b']");
    EXPECT_STR(on_noderole(w, "note", VIEW_ALL), "'n'");
    world_close(w);
}

TEST(c097_a_proposed_noderole_shows_its_own_proposed_data)
{
    struct world *w = open_the_example();
    DONE(w, cmd_propose(w, "r@n1"));
    EXPECT_STR(on_noderole(w, "color", VIEW_ALL), "'pink'");
    EXPECT_STR(on_noderole(w, "size", VIEW_ALL), "4");
    EXPECT_STR(on_noderole(w, "tags", VIEW_ALL), "['c']");
    EXPECT_STR(on_noderole(w, "note", VIEW_ALL), "'n'");
    world_close(w);
}

TEST(c097_the_committed_view_of_a_deployment_role)
{
    struct world *w = open_the_example();
    EXPECT_STR(on_deployment_role(w, "color", VIEW_COMMITTED), "'blue'");
    EXPECT_STR(on_deployment_role(w, "size", VIEW_COMMITTED), "3");
    EXPECT_STR(on_deployment_role(w, "tags", VIEW_COMMITTED), "['a']");
    EXPECT_STR(on_deployment_role(w, "note", VIEW_COMMITTED), "'n'");
    EXPECT_STR(on_deployment_role(w, "color", VIEW_ALL), "'green'");
    world_close(w);
}

TEST(c097_a_role_shows_its_template)
{
    struct world *w = open_the_example();
    const int64_t r = the_role(w, "r");
    EXPECT_STR(world_value(w, TABLE_ROLE, r, "color", VIEW_ALL), "'red'");
    EXPECT_STR(world_value(w, TABLE_ROLE, r, "size", VIEW_ALL), "2");
    EXPECT_STR(world_value(w, TABLE_ROLE, r, "tags", VIEW_ALL), "['a']");
    EXPECT_STR(world_value(w, TABLE_ROLE, r, "note", VIEW_ALL), "'n'");
    world_close(w);
}

TEST(c097_the_wall_of_a_noderole_alone)
{
    struct world *w = open_the_example();
    EXPECT_STR(on_noderole(w, "color", VIEW_WALL), "'grey'");
    EXPECT_STR(on_noderole(w, "size", VIEW_WALL), "4");
    EXPECT_STR(on_noderole(w, "tags", VIEW_WALL), "null");
    EXPECT_STR(on_noderole(w, "note", VIEW_WALL), "'n'");
    world_close(w);
}

TEST(c097_a_committed_null_falls_to_the_default_and_reveals_nothing_below)
{
    struct world *w = open_the_example();
    DONE(w, CMD(DEPLOYMENT_ROLE_COMMIT, deployment_role_commit,
                .id = the_deployment_role(w, "r", "system")));
    DONE(w, cmd_propose(w, "r@n1"));
    set_data(w, "r@n1", "{'app':{'color':null}}");
    world_commit(w, "r@n1");
    EXPECT_STR(on_noderole(w, "color", VIEW_COMMITTED), "'grey'");
    world_close(w);
}

/* ---- values ---- */

TEST(c098_null_falls_to_the_default_and_false_does_not)
{
    static const char *const values[][2] = {{"null", "7"}, {"false", "false"}, {"0", "0"},
                                            {"''", "''"},  {"[]", "[]"},       {"{}", "{}"}};
    struct world *w = world_open();
    world_role(w, "r", "'attribs':[{'name':'x','map':'x','default':7,'schema':{'type':'any'}}]");
    world_node(w, "n1", NULL);
    world_bind(w, "r@n1");
    EXPECT_STR(on_noderole(w, "x", VIEW_ALL), "7");
    for (int i = 0; i < 6; i++) {
        set_on_noderole(w, "r@n1", "x", BUCKET_USER, values[i][0]);
        EXPECT_STR(on_noderole(w, "x", VIEW_ALL), values[i][1]);
    }
    world_close(w);
}

/* ---- schemas ---- */

static struct world *open_with_schemas(void)
{
    struct world *w = world_open();
    world_role(
        w, "r",
        "'attribs':[{'name':'mode','map':'mode','schema':{'type':'str','enum':['on','off']}},"
        "{'name':'host','map':'host','schema':{'type':'str','pattern':'/^[a-z]+$/'}},"
        "{'name':'count','map':'count','schema':{'type':'int'}},"
        "{'name':'must','map':'must','schema':{'type':'str','required':true},'default':'set'},"
        "{'name':'disk','map':'disk','schema':{'type':'map','mapping':{"
        "'path':{'type':'str','required':true},'size':{'type':'int'}}}},"
        "{'name':'free','map':'free','schema':{'type':'map','mapping':{'=':{'type':'int'}}}},"
        "{'name':'list','map':'list','schema':{'type':'seq','sequence':[{'type':'bool'}]}},"
        "{'name':'fixed','map':'fixed','default':1}]");
    world_node(w, "n1", NULL);
    world_bind(w, "r@n1");
    return w;
}

static struct command cmd_put(struct world *w, const char *attrib, const char *value)
{
    return cmd_set(w, TABLE_NODEROLE, the_noderole(w, "r@n1"), attrib, BUCKET_USER, value);
}

TEST(c099_a_value_that_breaks_its_schema_is_refused)
{
    static const char *const bad[][2] = {
        {"mode", "'maybe'"},
        {"host", "'A1'"},
        {"count", "'1'"},
        {"count", "1.5"},
        {"must", "null"},
        {"disk", "{'size':1}"},
        {"disk", "{'path':'/dev/sda','colour':'red'}"},
        {"disk", "{'path':null}"},
        {"disk", "[]"},
        {"free", "{'a':'x'}"},
        {"list", "[true,1]"},
        {"list", "{}"},
    };
    struct world *w = open_with_schemas();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        HAS(REFUSED(w, cmd_put(w, bad[i][0], bad[i][1]), SCHEMA_VIOLATED, NULL), bad[i][0]);
    EXPECT_STR(shown(w, read_noderole(w, "r@n1").proposed_data), "{}");
    world_close(w);
}

TEST(c099_a_value_that_keeps_its_schema_is_stored)
{
    static const char *const good[][2] = {
        {"mode", "'on'"},
        {"host", "'abc'"},
        {"count", "-3"},
        {"count", "null"},
        {"must", "'x'"},
        {"disk", "{'path':'/dev/sda','size':1}"},
        {"disk", "{'path':'/dev/sdb','size':null}"},
        {"free", "{'a':1,'b':2}"},
        {"list", "[true,false]"},
        {"list", "[]"},
    };
    struct world *w = open_with_schemas();
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        DONE(w, cmd_put(w, good[i][0], good[i][1]));
    EXPECT_STR(on_noderole(w, "host", VIEW_ALL), "'abc'");
    world_close(w);
}

TEST(c099_an_attrib_without_schema_is_read_only)
{
    struct world *w = open_with_schemas();
    CHECK(!read_attrib(w, "fixed").writable);
    REFUSED(w, cmd_put(w, "fixed", "2"), READ_ONLY, NULL);
    EXPECT_STR(on_noderole(w, "fixed", VIEW_ALL), "1");
    set_on_noderole(w, "r@n1", "fixed", BUCKET_SYSTEM, "3");
    EXPECT_STR(on_noderole(w, "fixed", VIEW_ALL), "3");
    world_close(w);
}

/* ---- user data ---- */

TEST(c100_data_are_replaced_only_while_proposed)
{
    struct world *w = open_with_schemas();
    set_data(w, "r@n1", "{'count':1}");
    world_bring(w, "r@n1", "active");
    REFUSED(w,
            CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(w, "r@n1"),
                .data = world_json(w, "{'count':2}")),
            NOT_PROPOSED, NULL);
    world_close(w);
}

TEST(c100_an_attrib_set_on_an_active_noderole_changes_only_the_proposed_data)
{
    struct world *w = open_with_schemas();
    set_data(w, "r@n1", "{'count':1,'mode':'on'}");
    world_bring(w, "r@n1", "active");
    set_on_noderole(w, "r@n1", "count", BUCKET_USER, "2");
    IS(w, "r@n1", "active");
    EXPECT_STR(shown(w, read_noderole(w, "r@n1").committed_data), "{'count':1,'mode':'on'}");
    EXPECT_STR(shown(w, read_noderole(w, "r@n1").proposed_data), "{'count':2,'mode':'on'}");
    EXPECT_STR(on_noderole(w, "count", VIEW_ALL), "1");
    DONE(w, cmd_propose(w, "r@n1"));
    EXPECT_STR(on_noderole(w, "count", VIEW_ALL), "2");
    world_commit(w, "r@n1");
    EXPECT_STR(on_noderole(w, "count", VIEW_COMMITTED), "2");
    world_close(w);
}

TEST(c101_a_deployment_attrib_is_proposed_until_the_deployment_is_committed)
{
    struct world *w = open_with_schemas();
    world_bring(w, "r@n1", "active");

    DONE(w, cmd_set(w, TABLE_DEPLOYMENT, SYSTEM, "count", BUCKET_USER, "5"));
    CHECK(read_deployment_role(w, "r", "system").proposed);
    EXPECT_STR(on_noderole(w, "count", VIEW_COMMITTED), "null");
    IS(w, "r@n1", "active");

    world_commit_deployment(w, "system");
    CHECK(!read_deployment_role(w, "r", "system").proposed);
    EXPECT_STR(on_noderole(w, "count", VIEW_COMMITTED), "5");
    IS(w, "r@n1", "todo");
    world_clear_effects(w);
    world_run_all(w);
    EXPECT_EFFECTS(w, "start r@n1");
    EXPECT_STR(world_path(w, world_start(w, "r@n1")->data, "count"), "5");
    world_close(w);
}

TEST(c101_a_commit_that_changes_no_value_reruns_nothing)
{
    struct world *w = open_with_schemas();
    world_bring(w, "r@n1", "active");
    DONE(w, CMD(DEPLOYMENT_ROLE_PROPOSE, deployment_role_propose,
                .id = the_deployment_role(w, "r", "system")));
    CHECK(read_deployment_role(w, "r", "system").proposed);
    world_commit_deployment(w, "system");
    IS(w, "r@n1", "active");
    world_close(w);
}

TEST(c101_a_system_value_of_the_deployment_role_reruns_its_noderoles_at_once)
{
    struct world *w = open_with_schemas();
    world_bring(w, "r@n1", "active");
    set_on_deployment_role(w, "r", "fixed", BUCKET_SYSTEM, "9");
    EXPECT_STR(on_noderole(w, "fixed", VIEW_COMMITTED), "9");
    IS(w, "r@n1", "todo");
    world_close(w);
}

/* ---- staged data ---- */

TEST(c102_a_wanted_attrib_of_a_parent_elsewhere_is_staged_at_its_map)
{
    struct world *w = world_open();
    world_role(w, "db",
               "'attribs':[{'name':'db-port','map':'db/port','default':5432},"
               "{'name':'db-host','map':'db/host'}]");
    world_role(w, "web", "'wants-attribs':['db-port',{'name':'db-host','at':'backend/host'}]");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "db@n1");
    world_bind(w, "web@n2");
    world_bring(w, "db@n1", "transition");
    finish_with_wall(w, "db@n1", "{'db':{'host':'n1','secret':'x'}}");
    EXPECT_STR(world_staged(w, "web@n2", "db/port"), "5432");
    EXPECT_STR(world_staged(w, "web@n2", "backend/host"), "'n1'");
    EXPECT_STR(world_staged(w, "web@n2", "db/host"), "absent");
    EXPECT_STR(world_staged(w, "web@n2", "db/secret"), "absent");
    world_close(w);
}

TEST(c102_hints_quirks_and_wanted_node_attribs_are_staged)
{
    struct world *w = world_open();
    world_node_attrib(w, "ip", "'map':'net/ip','schema':{'type':'str'}");
    world_role(w, "a", "'wants-attribs':['ip']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    set_on_node(w, "n1", "ip", BUCKET_DISCOVERY, "'10.0.0.1'");
    EXPECT_STR(world_staged(w, "a@n1", "net/ip"), "'10.0.0.1'");
    set_on_node(w, "n1", "ip", BUCKET_USER, "'10.0.0.2'");
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NODE_QUIRKS,
                .quirks = world_json(w, "['b','a','b']")));
    EXPECT_STR(world_staged(w, "a@n1", "net/ip"), "'10.0.0.2'");
    EXPECT_STR(world_staged(w, "a@n1", "hints/net/ip"), "'10.0.0.2'");
    EXPECT_STR(world_staged(w, "a@n1", "quirks"), "['a','b']");
    world_close(w);
}

TEST(c102_reservations_of_one_noderole_are_staged_for_all_of_the_node)
{
    struct world *w = world_open();
    world_role(w, "scan", "");
    world_role(w, "a", "");
    world_node(w, "n1", NULL);
    world_bind(w, "scan@n1");
    world_bind(w, "a@n1");
    EXPECT_STR(world_staged(w, "a@n1", "crowbar_wall/reservations"), "absent");
    world_bring(w, "scan@n1", "transition");
    finish_with_wall(w, "scan@n1", "{'crowbar_wall':{'reservations':{'disks':{'sda':1}}}}");
    EXPECT_STR(world_staged(w, "a@n1", "crowbar_wall/reservations/disks/sda"), "1");
    world_close(w);
}

TEST(c102_of_the_ancestors_on_the_node_the_nearest_wins)
{
    struct world *w = world_open();
    world_role(w, "far", "");
    world_role(w, "near", "'requires':['far']");
    world_role(w, "me", "'requires':['near']");
    world_node(w, "n1", NULL);
    world_bind(w, "me@n1");
    set_data(w, "far@n1", "{'x':'far','y':'far','z':'far'}");
    set_data(w, "near@n1", "{'y':'near','z':'near'}");
    set_data(w, "me@n1", "{'z':'me'}");
    world_commit_deployment(w, "system");
    EXPECT_STR(world_staged(w, "me@n1", "x"), "'far'");
    EXPECT_STR(world_staged(w, "me@n1", "y"), "'near'");
    EXPECT_STR(world_staged(w, "me@n1", "z"), "'me'");
    world_close(w);
}

TEST(c102_own_attribs_are_staged_with_their_defaults)
{
    struct world *w = world_open();
    world_role(w, "a",
               "'attribs':[{'name':'a-x','map':'a/x','default':3},"
               "{'name':'a-y','map':'a/y','default':4}]");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    set_on_noderole(w, "a@n1", "a-y", BUCKET_SYSTEM, "5");
    EXPECT_STR(world_staged(w, "a@n1", "a"), "{'x':3,'y':5}");
    world_close(w);
}

TEST(c102_data_that_a_run_reports_about_its_node_becomes_a_hint)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'bios','source_path':'/src/bios'},"
                          "'attribs':[{'name':'bios-version','map':'bios/version'},"
                          "{'name':'bios-vendor','map':'bios/vendor','default':'acme'}],"
                          "'roles':[{'name':'scan','jig':'script'}]}"));
    world_node(w, "n1", NULL);
    world_bind(w, "scan@n1");
    world_bring(w, "scan@n1", "transition");
    finish_with_wall(w, "scan@n1", "{'bios':{'version':'1.2'}}");
    EXPECT_STR(world_path(w, read_node(w, "n1").hint, "bios"), "{'version':'1.2'}");
    world_close(w);
}

TEST(c103_a_provider_satisfies_a_wanted_attrib_of_the_provided_role)
{
    struct world *w = world_open();
    world_role(w, "db", "'attribs':[{'name':'db-port','map':'db/port','default':5432}]");
    world_role(w, "other-db", "'provides':['db']");
    world_role(w, "web", "'wants-attribs':['db-port']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "other-db@n1");
    world_bind(w, "web@n2");
    CHECK(world_has_edge(w, "other-db@n1", "web@n2"));
    CHECK(world_has_link(w, "other-db@n1", "web@n2", "db-port"));
    EXPECT_STR(world_staged(w, "web@n2", "db/port"), "5432");
    world_bring(w, "other-db@n1", "transition");
    finish_with_wall(w, "other-db@n1", "{'db':{'port':3306}}");
    EXPECT_STR(world_staged(w, "web@n2", "db/port"), "3306");
    EXPECT_STR(world_value(w, TABLE_NODE, the_node(w, "n1"), "db-port", VIEW_ALL), "3306");
    world_close(w);
}

/* ---- reruns caused by values ---- */

static struct world *open_a_wanting_role(void)
{
    struct world *w = world_open();
    world_node_attrib(w, "ip", "'map':'net/ip','schema':{'type':'str'}");
    world_role(w, "a", "'wants-attribs':['ip']");
    world_role(w, "deaf", "");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bind(w, "deaf@n1");
    world_bring(w, "a@n1", "active");
    world_bring(w, "deaf@n1", "active");
    return w;
}

TEST(c104_a_note_on_a_node_reruns_nothing)
{
    struct world *w = open_a_wanting_role();
    set_on_node(w, "n1", "ip", BUCKET_NOTE, "'10.0.0.1'");
    IS(w, "a@n1", "active");
    EXPECT_STR(world_value(w, TABLE_NODE, the_node(w, "n1"), "ip", VIEW_NOTE), "'10.0.0.1'");
    EXPECT_STR(world_value(w, TABLE_NODE, the_node(w, "n1"), "ip", VIEW_ALL), "null");
    world_close(w);
}

TEST(c104_any_other_value_reruns_the_noderoles_that_want_it)
{
    struct world *w = open_a_wanting_role();
    set_on_node(w, "n1", "ip", BUCKET_DISCOVERY, "'10.0.0.9'");
    IS(w, "a@n1", "todo");
    IS(w, "deaf@n1", "active");
    world_run_all(w);
    set_on_node(w, "n1", "ip", BUCKET_USER, "'10.0.0.1'");
    IS(w, "a@n1", "todo");
    IS(w, "deaf@n1", "active");
    world_close(w);
}

TEST(c104_a_template_value_reruns_every_noderole_of_the_role)
{
    struct world *w = open_with_schemas();
    world_node(w, "n2", NULL);
    world_bind(w, "r@n2");
    world_bring(w, "r@n1", "active");
    world_bring(w, "r@n2", "active");
    DONE(w, cmd_set(w, TABLE_ROLE, the_role(w, "r"), "fixed", BUCKET_SYSTEM, "8"));
    IS(w, "r@n1", "todo");
    IS(w, "r@n2", "todo");
    EXPECT_STR(on_noderole(w, "fixed", VIEW_ALL), "8");
    world_close(w);
}

/* ---- data of roles with the flag server ---- */

static const char *staged_from_a_server(const char *flags, const char *path)
{
    struct world *w = world_open();
    static char seen[100];
    world_role(w, "s", flags);
    world_role(w, "c", "'requires':['s']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "s@n1");
    world_bind(w, "c@n2");
    set_data(w, "s@n1", "{'user':1}");
    set_on_noderole(w, "s@n1", "s-sys", BUCKET_SYSTEM, "2");
    world_bring(w, "s@n1", "transition");
    finish_with_wall(w, "s@n1", "{'wall':3}");
    const struct str text = str_from(world_staged(w, "c@n2", path));
    CHECK(text.len < sizeof seen);
    for (uint32_t i = 0; i <= text.len; i++)
        seen[i] = i < text.len ? text.at[i] : '\0';
    world_close(w);
    return seen;
}

TEST(c251_the_data_of_a_server_reach_its_children_on_other_nodes)
{
    const char *server = "'flags':['server'],'attribs':[{'name':'s-sys','map':'sys'}]";
    EXPECT_STR(staged_from_a_server(server, "user"), "1");
    EXPECT_STR(staged_from_a_server(server, "sys"), "2");
    EXPECT_STR(staged_from_a_server(server, "wall"), "3");
}

TEST(c251_the_data_of_any_other_role_do_not)
{
    const char *plain = "'attribs':[{'name':'s-sys','map':'sys'}]";
    EXPECT_STR(staged_from_a_server(plain, "user"), "absent");
    EXPECT_STR(staged_from_a_server(plain, "sys"), "absent");
    EXPECT_STR(staged_from_a_server(plain, "wall"), "absent");
}
