/* The arguments of role code, compared byte by byte (docs/hooks.md). Tests in Lua cannot do that:
 * an empty list is an empty table there. */
#include "model/limits.h"
#include "tests/unit/core/network_world.h"

#include <stdio.h>

/* ---- rows ---- */

static struct outbox_record row_of(struct world *w, enum hook hook, const char *role,
                                   enum table object, int64_t id)
{
    return (struct outbox_record){.kind = OUTBOX_HOOK,
                                  .hook = hook,
                                  .role_id = the_role(w, role),
                                  .object = object,
                                  .object_id = id};
}

static struct hook_call_args facts_of(struct world *w, struct outbox_record row)
{
    struct hook_call_args facts = {0};
    CHECK(core_hook_args(w->core, &row, &w->arena, &facts));
    return facts;
}

static struct hook_call_args noderole_facts(struct world *w, const char *noderole)
{
    const struct str name = str_from(noderole);
    const char *role = str_z(&w->arena, str_slice(name, 0, str_find(name, '@', 0)));
    return facts_of(w, row_of(w, HOOK_TODO, role, TABLE_NODEROLE, the_noderole(w, noderole)));
}

static struct hook_call_args node_facts(struct world *w, const char *role, const char *node)
{
    return facts_of(w, row_of(w, HOOK_NODE_CHANGE, role, TABLE_NODE, the_node(w, node)));
}

static bool has_facts(struct world *w, struct outbox_record row)
{
    struct hook_call_args facts;
    return core_hook_args(w->core, &row, &w->arena, &facts);
}

/* Canonical JSON reads back as the same bytes. */
static void check_canonical(struct world *w, struct str json)
{
    struct str again;
    uint32_t offset;
    const char *what;
    CHECK(json_canonical(&w->arena, json, &again, &offset, &what) == OK);
    CHECK(str_eq(json, again));
}

static void check_facts(struct world *w, struct hook_call_args facts, const char *argument,
                        const char *context)
{
    EXPECT_STR(shown(w, facts.argument), argument);
    EXPECT_STR(shown(w, facts.context), context);
    check_canonical(w, facts.argument);
    check_canonical(w, facts.context);
}

/* r provides p and is bound to n1, which has discovery data. */
static struct world *open_scene(void)
{
    struct world *w = world_open();
    world_role(w, "p", "");
    world_role(w, "r",
               "'provides':['p'],'attribs':[{'name':'x','map':'r/x','schema':"
               "{'type':'any'}}]");
    world_role(w, "idle", "");
    world_node_attrib(w, "ip", "'map':'net/ip','schema':{'type':'str'}");
    world_node(w, "n1", NULL);
    const int64_t n1 = the_node(w, "n1");
    DONE(w, cmd_set(w, TABLE_NODE, n1, "ip", BUCKET_DISCOVERY, "'10.0.0.1'"));
    DONE(w, CMD(NODE_UPDATE, node_update, .id = n1, .given = GIVEN_NODE_QUIRKS | GIVEN_DESCRIPTION,
                .quirks = world_json(w, "['slow','loud']"), .description = STR("the \"first\"")));
    world_bind(w, "r@n1");
    return w;
}

/* ---- noderoles ---- */

#define SEEN   "{'net':{'ip':'10.0.0.1'}}"
#define HINTED "{'net':{'ip':'10.0.0.2'}}"
#define HOST(data, hint)                                                                           \
    "'host':{'addresses':[],'admin':false,'admin_address':'','alive':true,"                        \
    "'available':true,'boot_generation':0,"                                                        \
    "'boot_problem':'','boot_served':true,"                                                        \
    "'bootenv':'sledgehammer','data':" data                                                        \
    ",'deployment':'system','deployment_id':1,'description':'the \\'first\\'',"                    \
    "'grant':'none','hint':" hint                                                                  \
    ",'id':2,'macs':[],'name':'n1.example.com','quirks':['loud','slow'],'status':'',"              \
    "'system':false},"
#define SEEN_HOST   HOST(SEEN, "{}")
#define HINTED_HOST HOST(HINTED, HINTED)

TEST(a_noderole_that_was_just_bound)
{
    struct world *w = open_scene();
    check_facts(
        w, noderole_facts(w, "r@n1"),
        "{'available':true,'cohort':0,'data':{},'deployment':'system','deployment_id':1," SEEN_HOST
        "'id':1,'node':'n1.example.com','node_id':2,'notes':{},'proposed':{},'role':'r',"
        "'role_id':2,'run_count':0,'state':'proposed','status':'','system':{},'wall':{}}",
        "{'noderoles':[{'deployment':'system','id':1,'node':'n1.example.com','node_id':2,"
        "'state':'proposed'}],'role':{'id':2,'name':'r'}}");
    world_close(w);
}

TEST(a_noderole_with_every_layer_filled)
{
    struct world *w = open_scene();
    const int64_t id = the_noderole(w, "r@n1");
    DONE(w, CMD(ROLE_UPDATE, role_update, .id = the_role(w, "r"), .given = GIVEN_ROLE_TEMPLATE,
                .template = world_json(w, "{'r':{'t':1,'x':'template'}}")));
    struct command computed = CMD(NODEROLE_COMPUTED, noderole_computed, .id = id,
                                  .data = world_json(w, "{'r':{'c':2,'x':'computed'}}"));
    computed.depth = 1;
    DONE(w, computed);
    DONE(w, cmd_set(w, TABLE_NODEROLE, id, "x", BUCKET_SYSTEM, "'system'"));
    DONE(w, cmd_set(w, TABLE_NODEROLE, id, "x", BUCKET_NOTE, "'note'"));
    DONE(w, cmd_set(w, TABLE_NODE, the_node(w, "n1"), "ip", BUCKET_USER, "'10.0.0.2'"));
    DONE(w, CMD(NODEROLE_DATA, noderole_data, .id = id, .data = world_json(w, "{'u':3}")));
    world_bring(w, "r@n1", "transition");
    world_finish_with(w, "r@n1",
                      (struct run_done_command){
                          .result = RESULT_OK, .has_wall = true, .wall = world_json(w, "{'w':4}")});
    DONE(w, cmd_set(w, TABLE_NODEROLE, id, "x", BUCKET_USER, "'not committed'"));
    EXPECT_STR(shown(w, noderole_facts(w, "r@n1").argument),
               "{'available':true,'cohort':0,"
               "'data':{'r':{'c':2,'t':1,'x':'system'},'u':3,'w':4},"
               "'deployment':'system','deployment_id':1," HINTED_HOST
               "'id':1,'node':'n1.example.com','node_id':2,'notes':{'r':{'x':'note'}},'role':'r',"
               "'role_id':2,'run_count':1,'state':'active','status':'',"
               "'system':{'r':{'c':2,'x':'system'}},'wall':{'w':4}}");
    check_canonical(w, noderole_facts(w, "r@n1").argument);
    world_close(w);
}

static const char *run_of(struct world *w)
{
    return world_path(w, noderole_facts(w, "r@n1").argument, "run");
}

TEST(a_noderole_has_its_run_in_every_state)
{
    struct world *w = open_scene();
    EXPECT_STR(run_of(w), "absent");
    world_bring(w, "r@n1", "transition");
    EXPECT_STR(run_of(w), "{'attempt':1,'id':1,'state':'running'}");
    world_finish_with(w, "r@n1",
                      (struct run_done_command){.result = RESULT_PARKED, .park_ms = 5000});
    EXPECT_STR(run_of(w), "{'attempt':1,'id':1,'state':'parked'}");
    DONE(w, CMD(RUN_RESUME, run_resume, .run_id = 1));
    world_anneal(w);
    EXPECT_STR(run_of(w), "{'attempt':2,'id':1,'state':'running'}");
    DONE(w, cmd_propose(w, "r@n1"));
    EXPECT_STR(run_of(w), "absent"); /* a STOPPING run has no noderole */
    world_close(w);
}

TEST(a_noderole_has_its_queued_run)
{
    struct world *w = open_scene();
    world_bring(w, "r@n1", "active");
    world_bind(w, "idle@n1");
    world_commit(w, "idle@n1");
    world_anneal(w);
    DONE(w, cmd_enqueue(w, "r@n1"));
    HAS(run_of(w), "'state':'queued'");
    world_close(w);
}

TEST(a_held_or_failed_noderole_is_marked)
{
    struct world *w = open_scene();
    world_bring(w, "r@n1", "error");
    const struct str argument = noderole_facts(w, "r@n1").argument;
    EXPECT_STR(world_path(w, argument, "state"), "'error'");
    EXPECT_STR(world_path(w, argument, "status"), "'run failed'");
    EXPECT_STR(world_path(w, argument, "available"), "true");
    world_role(w, "stage", "'jig':'noop','flags':['milestone']");
    world_bind(w, "stage@n1");
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NODE_TARGET,
                .target_role_id = the_role(w, "stage")));
    EXPECT_STR(world_path(w, noderole_facts(w, "r@n1").argument, "available"), "false");
    world_close(w);
}

/* ---- nodes ---- */

TEST(a_node_has_its_roles_and_provided_roles)
{
    struct world *w = open_scene();
    world_bring(w, "r@n1", "active");
    const struct hook_call_args facts = node_facts(w, "idle", "n1");
    check_facts(w, facts,
                "{'addresses':[],'admin':false,'admin_address':'','alive':true,'available':true,"
                "'boot_generation':0,"
                "'boot_problem':'','boot_served':true,"
                "'bootenv':'sledgehammer','data':" SEEN
                ",'deployment':'system','deployment_id':1,'description':'the \\'first\\'',"
                "'grant':'none','hint':{},'id':2,'macs':[],'name':'n1.example.com',"
                "'quirks':['loud','slow'],"
                "'roles':{'p':'active','r':'active'},'status':'','system':false}",
                "{'noderoles':[],'role':{'id':3,'name':'idle'}}");
    world_close(w);
}

TEST(a_node_without_data_has_all_fields)
{
    struct world *w = open_scene();
    struct command command = cmd_node(w, "n2");
    command.node_create.admin = true;
    DONE(w, command);
    EXPECT_STR(
        shown(w, node_facts(w, "r", "n2").argument),
        "{'addresses':[],'admin':true,'admin_address':'','alive':false,'available':false,"
        "'boot_generation':0,"
        "'boot_problem':'','boot_served':true,"
        "'bootenv':'sledgehammer','data':{},"
        "'deployment':'system','deployment_id':1,'description':'','grant':'none','hint':{},'id':3,"
        "'macs':[],'name':'n2.example.com','quirks':[],'roles':{},'status':'','system':false}");
    world_close(w);
}

TEST(the_admin_address_is_an_allocation_or_the_hint)
{
    static const struct {
        const char *hint, *address;
    } cases[] = {
        {"{'admin-v4addr':'10.9.0.7/16'}", "'10.9.0.7/16'"},
        {"{'admin-v4addr':'10.9.0.8'}", "'10.9.0.8/32'"},
        {"{'admin-v4addr':'fd00::1/64'}", "''"},
        {"{'admin-v4addr':'x'}", "''"},
        {"{}", "''"},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world *w = open_scene();
        struct command command = cmd_node(w, "n2");
        command.node_create.hint = world_json(w, cases[i].hint);
        DONE(w, command);
        EXPECT_STR(world_path(w, node_facts(w, "r", "n2").argument, "admin_address"),
                   cases[i].address);
        world_close(w);
    }
    struct world *w = open_scene();
    struct command command = cmd_node(w, "n2");
    command.node_create.hint = world_json(w, "{'admin-v4addr':'10.9.0.7/16'}");
    DONE(w, command);
    DONE(w, cmd_network_of(w, "bmc", "bmc", true,
                           "[{'name':'host','first':'10.8.0.5/16','last':'10.8.0.9/16'}]"));
    DONE(w, cmd_allocate(w, "n2", range_named(w, "bmc", "host")));
    EXPECT_STR(world_path(w, node_facts(w, "r", "n2").argument, "admin_address"), "'10.9.0.7/16'");
    DONE(w, cmd_network_of(w, "admin", "admin", true,
                           "[{'name':'host','first':'10.7.0.5/16','last':'10.7.0.9/16'}]"));
    DONE(w, cmd_allocate(w, "n2", range_named(w, "admin", "host")));
    EXPECT_STR(world_path(w, node_facts(w, "r", "n2").argument, "admin_address"), "'10.7.0.5/16'");
    world_close(w);
}

TEST(hooks_of_a_node_have_their_noderole_in_the_context)
{
    struct world *w = open_scene();
    const struct hook_call_args facts = node_facts(w, "r", "n1");
    const char *own = world_path(w, facts.context, "noderole");
    EXPECT_STR(own, shown(w, noderole_facts(w, "r@n1").argument));
    check_canonical(w, facts.context);
    world_node(w, "n2", NULL);
    EXPECT_STR(world_path(w, node_facts(w, "r", "n2").context, "noderole"), "absent");
    EXPECT_STR(world_path(w, node_facts(w, "r", "n2").context, "noderoles/0/id"), "absent");
    EXPECT_STR(shown(w, node_facts(w, "r", "n2").context),
               "{'noderoles':[{'deployment':'system','id':1,'node':'n1.example.com','node_id':2,"
               "'state':'proposed'}],'role':{'id':2,'name':'r'}}");
    world_close(w);
}

TEST(a_deleted_node_has_its_name)
{
    struct world *w = open_scene();
    struct outbox_record row = row_of(w, HOOK_NODE_DELETE, "r", TABLE_NODE, the_node(w, "n1"));
    row.detail = STR("n1.example.com");
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n1")));
    check_facts(w, facts_of(w, row), "{'gone':true,'id':2,'name':'n1.example.com','taken':false}",
                "{'noderoles':[],'role':{'id':2,'name':'r'}}");
    world_node(w, "n1", NULL);
    EXPECT_STR(world_path(w, facts_of(w, row).argument, "taken"), "true");
    row.hook = HOOK_NODE_CHANGE;
    CHECK(!has_facts(w, row));
    row.hook = HOOK_NODE_CREATE;
    CHECK(!has_facts(w, row));
    world_close(w);
}

/* ---- deployment roles ---- */

TEST(a_deployment_role_has_its_data)
{
    struct world *w = open_scene();
    const int64_t dr = the_deployment_role(w, "r", "system");
    DONE(w, CMD(DEPLOYMENT_ROLE_DATA, deployment_role_data, .id = dr,
                .data = world_json(w, "{'a':1}")));
    DONE(w, CMD(DEPLOYMENT_ROLE_COMMIT, deployment_role_commit, .id = dr));
    DONE(w, CMD(DEPLOYMENT_ROLE_DATA, deployment_role_data, .id = dr,
                .data = world_json(w, "{'a':2}")));
    DONE(w, cmd_set(w, TABLE_DEPLOYMENT_ROLE, dr, "x", BUCKET_WALL, "3"));
    struct outbox_record row = row_of(w, HOOK_DEPLOYMENT_DELETE, "r", TABLE_DEPLOYMENT_ROLE, dr);
    row.detail = STR("system");
    check_facts(w, facts_of(w, row),
                "{'data':{'a':1,'r':{'x':3}},'deployment':'system','deployment_id':1,'id':1,"
                "'role':'r','role_id':2,'wall':{'r':{'x':3}}}",
                "{'noderoles':[{'deployment':'system','id':1,'node':'n1.example.com',"
                "'node_id':2,'state':'proposed'}],'role':{'id':2,'name':'r'}}");
    world_close(w);
}

TEST(a_deleted_deployment_role_has_its_names)
{
    struct world *w = open_scene();
    struct outbox_record row = row_of(w, HOOK_DEPLOYMENT_DELETE, "r", TABLE_DEPLOYMENT_ROLE, 77);
    row.detail = STR("d");
    check_facts(w, facts_of(w, row),
                "{'deployment':'d','gone':true,'id':77,'role':'r','role_id':2}",
                "{'noderoles':[{'deployment':'system','id':1,'node':'n1.example.com',"
                "'node_id':2,'state':'proposed'}],'role':{'id':2,'name':'r'}}");
    world_close(w);
}

/* ---- calls without an object ---- */

TEST(a_template_call_has_no_object)
{
    struct world *w = open_scene();
    const struct hook_call_args facts =
        facts_of(w, row_of(w, HOOK_TEMPLATE, "r", TABLE_ROLE, the_role(w, "r")));
    CHECK(facts.argument.len == 0);
    HAS(shown(w, facts.context), "'role':{'id':2,'name':'r'}");
    world_close(w);
}

TEST(hooks_of_deleted_objects_have_no_arguments)
{
    struct world *w = open_scene();
    CHECK(!has_facts(w, row_of(w, HOOK_TODO, "r", TABLE_NODEROLE, 4711)));
    CHECK(!has_facts(w, row_of(w, HOOK_SYSDATA, "r", TABLE_NODEROLE, 4711)));
    struct outbox_record row = row_of(w, HOOK_TODO, "r", TABLE_NODEROLE, the_noderole(w, "r@n1"));
    CHECK(has_facts(w, row));
    row.role_id = 4711;
    CHECK(!has_facts(w, row));
    world_close(w);
}

/* ---- many noderoles ---- */

static const char *numbered(struct world *w, const char *prefix, int number)
{
    char text[40];
    snprintf(text, sizeof text, "%s%03d", prefix, number);
    return str_z(&w->arena, str_from(text));
}

/* More noderoles than are listed, alternating between two deployments. */
static struct world *open_crowd(int count)
{
    struct world *w = world_open();
    world_role(w, "r", "");
    world_deployment(w, "d");
    for (int i = 0; i < count; i++) {
        world_node(w, numbered(w, "n", i), i % 2 ? "d" : NULL);
        world_bind_in(w, numbered(w, "r@n", i), i % 2 ? "d" : "system");
    }
    return w;
}

TEST(the_hundred_noderoles_with_the_lowest_ids_are_listed)
{
    struct world *w = open_crowd(103);
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "r@n001")));
    const struct str context = node_facts(w, "r", "n102").context;
    struct json *tree;
    uint32_t offset, count = 0;
    const char *what;
    CHECK(json_read(&w->arena, context, &tree, &offset, &what) == OK);
    int64_t last = 0, id = 0;
    for (const struct json *nr = json_get(tree, STR("noderoles"))->first; nr; nr = nr->next) {
        CHECK(json_as_i64(json_get(nr, STR("id")), &id) && id > last);
        CHECK(str_eq(json_get(nr, STR("deployment"))->text, id % 2 ? STR("system") : STR("d")));
        last = id;
        count++;
    }
    CHECK(count == 100 && last == 101);
    EXPECT_STR(world_path(w, context, "noderole/id"),
               "103"); /* its own, which is not in the list */
    world_close(w);
}

TEST(the_list_of_noderoles_has_the_requested_bound)
{
    struct world *w = open_crowd(6);
    uint32_t count;
    const int64_t *ids = core_noderoles_of_role(w->core, the_role(w, "r"), 4, &w->arena, &count);
    CHECK(count == 4 && ids[0] == 1 && ids[1] == 2 && ids[2] == 3 && ids[3] == 4);
    core_noderoles_of_role(w->core, the_role(w, "r"), 10, &w->arena, &count);
    CHECK(count == 6);
    core_noderoles_of_role(w->core, the_role(w, "r"), 0, &w->arena, &count);
    CHECK(count == 0);
    core_noderoles_of_role(w->core, 4711, 10, &w->arena, &count);
    CHECK(count == 0);
    world_close(w);
}

/* ---- runs ---- */

TEST(the_arguments_of_a_run_have_the_parents)
{
    struct world *w = world_open();
    world_role(w, "far", "'attribs':[{'name':'x','map':'far/x','default':1}]");
    world_role(w, "near", "'flags':['implicit'],'requires':['far']");
    world_role(w, "r", "'requires':['near','far']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_node_attrib(w, "addr", "'map':'admin-v4addr','schema':{'type':'str'}");
    DONE(w, cmd_set(w, TABLE_NODE, the_node(w, "n1"), "addr", BUCKET_USER, "'10.0.0.1/24'"));
    world_bind(w, "far@n1");
    world_bind(w, "r@n2");
    world_bring(w, "far@n1", "transition");
    world_finish_with(w, "far@n1",
                      (struct run_done_command){.result = RESULT_OK,
                                                .has_wall = true,
                                                .wall = world_json(w, "{'far':{'up':true}}")});
    struct str argument;
    CHECK(core_run_args(w->core, the_noderole(w, "r@n2"), &w->arena, &argument));
    check_canonical(w, argument);
    EXPECT_STR(world_path(w, argument, "parents"),
               "[{'data':{'far':{'up':true}},'hint':{'admin-v4addr':'10.0.0.1/24'},'id':1,"
               "'node':'n1.example.com','node_id':2,'role':'far','state':'active'},"
               "{'data':{},'hint':{},'id':2,'node':'n2.example.com','node_id':3,'role':'near',"
               "'state':'proposed'}]");
    EXPECT_STR(world_path(w, argument, "role"), "'r'");
    EXPECT_STR(world_path(w, noderole_facts(w, "r@n2").argument, "parents"), "absent");
    CHECK(core_run_args(w->core, the_noderole(w, "far@n1"), &w->arena, &argument));
    EXPECT_STR(world_path(w, argument, "parents"), "[]");
    CHECK(!core_run_args(w->core, 4711, &w->arena, &argument));
    world_close(w);
}

/* The deepest value of an attrib with a long map: nested lists below the objects of the map. */
static const char *deep_value(struct world *w, uint32_t levels)
{
    struct buf b = buf_in(&w->arena);
    for (uint32_t i = 0; i < levels; i++)
        buf_put_c(&b, '[');
    for (uint32_t i = 0; i < levels; i++)
        buf_put_c(&b, ']');
    return str_z(&w->arena, buf_str(&b));
}

static bool reads_again(struct world *w, struct str text)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    return json_read(&w->arena, text, &tree, &offset, &what) == OK;
}

/* The arguments must be parseable: the levels around a document count as well. */
TEST(a_document_that_is_too_deep_is_left_out)
{
    struct world *w = open_scene();
    world_node_attrib(w, "usual", "'map':'usual'");
    world_node_attrib(w, "deep", "'map':'a/b/c/d/e/f/g/h/i/j/k/l/m/n'");
    const char *value = deep_value(w, DOC_DEPTH_MAX);
    DONE(w, cmd_set(w, TABLE_NODE, the_node(w, "n1"), "usual", BUCKET_DISCOVERY, value));
    HAS(shown(w, node_facts(w, "r", "n1").argument), value);
    DONE(w, cmd_set(w, TABLE_NODE, the_node(w, "n1"), "deep", BUCKET_HINT, value));
    const struct hook_call_args facts = node_facts(w, "r", "n1");
    CHECK(reads_again(w, facts.argument) && reads_again(w, facts.context));
    EXPECT_STR(world_path(w, facts.argument, "data"), "{}");
    EXPECT_STR(world_path(w, facts.argument, "hint"), "{}");
    EXPECT_STR(world_path(w, facts.argument, "name"), "'n1.example.com'");
    check_canonical(w, facts.argument);
    world_close(w);
}
