/* Goal: the hooks of deployments, nodes, noderoles and computed data, and do_transition, are called
 * at the specified points, in order, with the arguments that docs/hooks.md documents
 * (docs/spec/hooks.md).
 * Method: a live world with barclamps/recorder, whose roles define all hooks in Lua and record each
 * call. */
#include "tests/world/live.h"

static struct world *open_recorder(void)
{
    struct world *w = live_open();
    live_import(w, live_path(w, "tests/conformance/barclamps/recorder"));
    return w;
}

static struct world *open_with_node(void)
{
    struct world *w = open_recorder();
    world_node(w, "n1", NULL);
    world_clear_effects(w);
    return w;
}

/* The calls of one hook for all roles: by ascending cohort, then by name. */
#define TO_ALL(hook, node)                                                                         \
    hook " record-base " node "; " hook " record-idle " node "; " hook " record-wipe " node        \
         "; " hook " record-child " node "; " hook " record-work " node
#define N1_CHANGED      TO_ALL("on_node_change", "n1")
#define PHANTOM_CHANGED TO_ALL("on_node_change", "d-phantom")
/* The calls before the start of a run. */
#define GOES(noderole, role)                                                                       \
    "on_todo " noderole "; template " role "; sysdata " noderole "; on_transition " noderole
#define BASE_GOES  GOES("record-base@n1", "record-base")
#define CHILD_GOES GOES("record-child@n1", "record-child")
#define WORK_GOES  GOES("record-work@n1", "record-work")

static void set_data(struct world *w, const char *noderole, const char *quoted)
{
    DONE(w, CMD(NODEROLE_DATA, noderole_data, .id = the_noderole(w, noderole),
                .data = world_json(w, quoted)));
}

static void set_bootenv(struct world *w, const char *node, const char *name)
{
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, node), .given = GIVEN_NODE_BOOTENV,
                .bootenv = str_from(name)));
}

static void delete_node(struct world *w, const char *node)
{
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, node)));
}

static void delete_deployment_role(struct world *w, const char *role, const char *deployment)
{
    DONE(w, CMD(DEPLOYMENT_ROLE_DELETE, deployment_role_delete,
                .id = the_deployment_role(w, role, deployment)));
}

/* ---- order of calls ---- */

TEST(an_import_has_every_template_computed)
{
    struct world *w = open_recorder();
    EXPECT_EFFECTS(w, "template record-base; template record-child; template record-idle; "
                      "template record-wipe; template record-work");
    EXPECT_STR(shown(w, read_role(w, "record-base").template), "{'record':{'kind':'recorded'}}");
    live_close(w);
}

TEST(hooks_of_a_node_are_called_when_it_is_created_available_changed_and_deleted)
{
    struct world *w = open_recorder();
    world_clear_effects(w);
    DONE(w, cmd_node(w, "n1"));
    EXPECT_EFFECTS(w, TO_ALL("on_node_create", "n1"));
    world_alive(w, "n1", true);
    EXPECT_EFFECTS(w, "");
    world_available(w, "n1", true);
    EXPECT_EFFECTS(w, N1_CHANGED);
    set_bootenv(w, "n1", "local");
    EXPECT_EFFECTS(w, N1_CHANGED);
    set_bootenv(w, "n1", "local");
    EXPECT_EFFECTS(w, "");
    delete_node(w, "n1");
    EXPECT_EFFECTS(w, "on_node_delete record-child n1; on_node_delete record-work n1; "
                      "on_node_delete record-base n1; on_node_delete record-idle n1; "
                      "on_node_delete record-wipe n1");
    live_close(w);
}

TEST(a_bind_calls_the_veto_hooks_then_those_of_each_noderole_then_those_of_the_node)
{
    struct world *w = open_with_node();
    world_bind(w, "record-child@n1");
    EXPECT_EFFECTS(
        w,
        "on_deployment_create record-base in system; on_node_bind record-base@n1; "
        "on_deployment_create record-child in system; on_node_bind record-child@n1; "
        "on_proposed record-base@n1; template record-base; sysdata record-base@n1; "
        "on_proposed record-child@n1; template record-child; sysdata record-child@n1; " N1_CHANGED);
    world_bind(w, "record-child@n1");
    EXPECT_EFFECTS(w, "");
    live_close(w);
}

TEST(hooks_from_the_commit_of_a_deployment_to_its_deletion)
{
    struct world *w = open_with_node();
    world_deployment(w, "d");
    EXPECT_EFFECTS(w, TO_ALL("on_node_create", "d-phantom"));
    world_bind_in(w, "record-child@n1", "d");
    world_clear_effects(w);
    world_commit_deployment(w, "d");
    EXPECT_EFFECTS(w, "on_commit record-base@n1; on_commit record-child@n1; "
                      "on_todo record-base@n1; template record-base; sysdata record-base@n1; "
                      "on_blocked record-child@n1; template record-child; "
                      "sysdata record-child@n1; " PHANTOM_CHANGED
                      "; on_transition record-base@n1; start record-base@n1");
    world_finish(w, "record-base@n1", RESULT_OK);
    EXPECT_EFFECTS(w, "on_active record-base@n1; " CHILD_GOES "; start record-child@n1");
    world_finish(w, "record-child@n1", RESULT_FAILED);
    EXPECT_EFFECTS(w, "on_error record-child@n1");
    DONE(w, cmd_retry(w, "record-child@n1"));
    EXPECT_EFFECTS(w, CHILD_GOES "; start record-child@n1");
    world_finish(w, "record-child@n1", RESULT_OK);
    EXPECT_EFFECTS(w, "on_active record-child@n1");
    delete_node(w, "n1");
    world_clear_effects(w);
    delete_deployment_role(w, "record-child", "d");
    EXPECT_EFFECTS(w, "on_deployment_delete record-child in d");
    live_close(w);
}

TEST(a_second_run_computes_data_again_and_does_not_call_on_todo)
{
    struct world *w = open_with_node();
    world_bind(w, "record-base@n1");
    world_commit(w, "record-base@n1");
    world_finish(w, "record-base@n1", RESULT_OK);
    world_clear_effects(w);
    DONE(w, cmd_enqueue(w, "record-base@n1"));
    EXPECT_EFFECTS(w, "template record-base; sysdata record-base@n1; on_transition record-base@n1; "
                      "start record-base@n1");
    live_close(w);
}

TEST(do_transition_is_the_run_of_its_role)
{
    struct world *w = open_with_node();
    world_bind(w, "record-work@n1");
    world_commit(w, "record-base@n1");
    world_clear_effects(w);
    world_commit(w, "record-work@n1");
    EXPECT_EFFECTS(w, "on_commit record-work@n1; on_blocked record-work@n1; template record-work; "
                      "sysdata record-work@n1");
    world_finish(w, "record-base@n1", RESULT_OK);
    EXPECT_EFFECTS(w, "on_active record-base@n1; " WORK_GOES
                      "; do_transition record-work@n1; on_active record-work@n1");
    IS(w, "record-work@n1", "active");
    live_close(w);
}

TEST(hooks_are_called_when_do_transition_fails_or_waits)
{
    struct world *w = open_with_node();
    world_bind(w, "record-work@n1");
    world_commit(w, "record-base@n1");
    world_finish(w, "record-base@n1", RESULT_OK);
    set_data(w, "record-work@n1", "{'record':{'result':'failed'}}");
    world_clear_effects(w);
    world_commit(w, "record-work@n1");
    EXPECT_EFFECTS(w, "on_commit record-work@n1; " WORK_GOES
                      "; do_transition record-work@n1; on_error record-work@n1");
    HAS(shown(w, read_noderole(w, "record-work@n1").runlog), "worked on n1.example.com");
    DONE(w, cmd_propose(w, "record-work@n1"));
    set_data(w, "record-work@n1", "{'record':{'result':'async'}}");
    world_commit(w, "record-work@n1");
    IS(w, "record-work@n1", "transition");
    world_clear_effects(w);
    DONE(w, cmd_retry(w, "record-work@n1"));
    EXPECT_EFFECTS(w, WORK_GOES "; do_transition record-work@n1");
    live_close(w);
}

/* ---- arguments of calls ---- */

static const char host[] =
    "{'addresses':{},'admin':false,'admin_address':'','alive':true,'available':true,"
    "'boot_generation':0,'boot_problem':'','boot_served':true,'bootenv':'sledgehammer',"
    "'data':{},'deployment':'system','deployment_id':1,'description':'',"
    "'grant':'none','hint':{},'id':2,'macs':{},'name':'n1.example.com','quirks':{},"
    "'status':'','system':false}";

/* Returns the argument of a call without its member `host`, which is compared here. An empty list
 * and an empty table are the same in Lua, so `quirks` is shown as a table. */
static const char *without_host(struct world *w, const char *line)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    CHECK(json_read(&w->arena, live_call(w, line)->argument, &tree, &offset, &what) == OK);
    EXPECT_STR(shown(w, json_write(&w->arena, json_get(tree, STR("host")))), host);
    CHECK(json_unset(tree, STR("host")));
    return shown(w, json_write(&w->arena, tree));
}

/* Compares the context of a call: the role and its noderoles. */
static void check_context(struct world *w, const char *line, const char *noderoles)
{
    EXPECT_STR(live_context(w, line, "noderoles"), noderoles);
    EXPECT_STR(live_context(w, line, "role"), "{'id':1,'name':'record-base'}");
    EXPECT_STR(live_context(w, line, "noderole"), "absent");
}

TEST(state_hooks_are_given_the_noderole_as_it_is_then)
{
    struct world *w = open_with_node();
    world_bind(w, "record-base@n1");
    EXPECT_STR(without_host(w, "on_proposed record-base@n1"),
               "{'available':true,'cohort':0,'data':{'record':{'kind':'recorded'}},"
               "'deployment':'system','deployment_id':1,'id':1,'node':'n1.example.com','node_id':2,"
               "'notes':{},'proposed':{'record':{'kind':'recorded'}},'role':'record-base',"
               "'role_id':1,'run_count':0,'state':'proposed',"
               "'status':'','system':{},'wall':{}}");
    check_context(w, "on_proposed record-base@n1",
                  "[{'deployment':'system','id':1,'node':'n1.example.com','node_id':2,"
                  "'state':'proposed'}]");
    set_data(w, "record-base@n1", "{'record':{'value':5}}");
    EXPECT_STR(live_argument(w, "on_proposed record-base@n1", "data/record"),
               "{'kind':'recorded','value':0}");
    EXPECT_STR(live_argument(w, "on_proposed record-base@n1", "proposed/record"),
               "{'kind':'recorded','value':5}");
    world_commit(w, "record-base@n1");
    EXPECT_STR(live_argument(w, "on_todo record-base@n1", "state"), "'todo'");
    EXPECT_STR(without_host(w, "on_transition record-base@n1"),
               "{'available':true,'cohort':0,'data':{'record':{'kind':'recorded','value':5}},"
               "'deployment':'system','deployment_id':1,'id':1,'node':'n1.example.com','node_id':2,"
               "'notes':{},'role':'record-base','role_id':1,"
               "'run':{'attempt':1,'id':1,'state':'running'},'run_count':0,'state':'transition',"
               "'status':'','system':{'record':{'value':5}},'wall':{}}");
    check_context(w, "on_transition record-base@n1",
                  "[{'deployment':'system','id':1,'node':'n1.example.com','node_id':2,"
                  "'state':'transition'}]");
    world_finish_with(w, "record-base@n1",
                      (struct run_done_command){.result = RESULT_OK,
                                                .has_wall = true,
                                                .wall = world_json(w, "{'up':true}")});
    EXPECT_STR(
        without_host(w, "on_active record-base@n1"),
        "{'available':true,'cohort':0,'data':{'record':{'kind':'recorded','value':5},'up':true},"
        "'deployment':'system','deployment_id':1,'id':1,'node':'n1.example.com','node_id':2,"
        "'notes':{},'role':'record-base','role_id':1,'run_count':1,'state':'active','status':'',"
        "'system':{'record':{'value':5}},'wall':{'up':true}}");
    live_close(w);
}

TEST(on_blocked_and_on_error_see_their_states)
{
    struct world *w = open_with_node();
    world_bind(w, "record-child@n1");
    world_commit_deployment(w, "system");
    EXPECT_STR(live_argument(w, "on_blocked record-child@n1", "state"), "'blocked'");
    EXPECT_STR(live_argument(w, "on_blocked record-child@n1", "cohort"), "1");
    world_finish(w, "record-base@n1", RESULT_FAILED);
    EXPECT_STR(live_argument(w, "on_error record-base@n1", "state"), "'error'");
    EXPECT_STR(live_argument(w, "on_error record-base@n1", "run"), "absent");
    live_close(w);
}

TEST(hooks_of_nodes_are_given_the_node_its_roles_and_their_own_noderole)
{
    struct world *w = open_with_node();
    EXPECT_STR(live_argument(w, "on_node_create record-base n1", "roles"), "{}");
    check_context(w, "on_node_create record-base n1", "{}");
    world_bind(w, "record-child@n1");
    set_bootenv(w, "n1", "local");
    const char *line = "on_node_change record-child n1";
    EXPECT_STR(
        shown(w, live_call(w, line)->argument),
        "{'addresses':{},'admin':false,'admin_address':'','alive':true,'available':true,"
        "'boot_generation':1,'boot_problem':'','boot_served':true,'bootenv':'local','data':{},"
        "'deployment':'system','deployment_id':1,'description':'','grant':'none','hint':{},'id':2,"
        "'macs':{},'name':'n1.example.com','quirks':{},"
        "'roles':{'record-base':'proposed','record-child':'proposed'},'status':'','system':false}");
    EXPECT_STR(live_context(w, line, "noderole/id"), "2");
    EXPECT_STR(live_context(w, line, "noderole/role"), "'record-child'");
    EXPECT_STR(live_context(w, line, "noderole/host/bootenv"), "'local'");
    EXPECT_STR(live_context(w, line, "noderole/host/roles"), "absent");
    EXPECT_STR(live_context(w, line, "role"), "{'id':2,'name':'record-child'}");
    EXPECT_STR(live_context(w, line, "noderoles"),
               "[{'deployment':'system','id':2,'node':'n1.example.com','node_id':2,"
               "'state':'proposed'}]");
    EXPECT_STR(live_context(w, "on_node_change record-wipe n1", "noderole"), "absent");
    live_close(w);
}

TEST(on_node_delete_is_given_the_last_state_of_the_node)
{
    struct world *w = open_with_node();
    world_node(w, "n2", NULL);
    world_bind(w, "record-base@n1");
    world_bind(w, "record-base@n2");
    delete_node(w, "n1");
    EXPECT_STR(shown(w, live_call(w, "on_node_delete record-base n1")->argument),
               "{'gone':true,'id':2,'name':'n1.example.com','taken':false}");
    check_context(w, "on_node_delete record-base n1",
                  "[{'deployment':'system','id':2,'node':'n2.example.com','node_id':3,"
                  "'state':'proposed'}]");
    live_close(w);
}

TEST(veto_hooks_are_given_the_object_as_it_would_be)
{
    struct world *w = open_with_node();
    world_bind(w, "record-base@n1");
    EXPECT_STR(shown(w, live_call(w, "on_deployment_create record-base in system")->argument),
               "{'data':{},'deployment':'system','role':'record-base'}");
    EXPECT_STR(shown(w, live_call(w, "on_node_bind record-base@n1")->argument),
               "{'bootenv':'sledgehammer','data':{},'deployment':'system','node':'n1.example.com',"
               "'proposed':{'record':{'kind':'recorded'}},'role':'record-base','run_count':0}");
    EXPECT_STR(shown(w, live_call(w, "on_node_bind record-base@n1")->context), "null");
    set_data(w, "record-base@n1", "{'record':{'value':3}}");
    world_commit(w, "record-base@n1");
    EXPECT_STR(shown(w, live_call(w, "on_commit record-base@n1")->argument),
               "{'bootenv':'sledgehammer','data':{'record':{'value':3}},'deployment':'system',"
               "'node':'n1.example.com','proposed':{'record':{'kind':'recorded','value':3}},"
               "'role':'record-base','run_count':0}");
    const int64_t dr = the_deployment_role(w, "record-base", "system");
    DONE(w, CMD(DEPLOYMENT_ROLE_DATA, deployment_role_data, .id = dr,
                .data = world_json(w, "{'x':1}")));
    DONE(w, CMD(DEPLOYMENT_ROLE_COMMIT, deployment_role_commit, .id = dr));
    EXPECT_STR(shown(w, live_call(w, "on_commit record-base in system")->argument),
               "{'data':{'x':1},'deployment':'system','role':'record-base'}");
    live_close(w);
}

TEST(on_deployment_delete_is_given_the_last_state_of_the_deployment_role)
{
    struct world *w = open_with_node();
    world_deployment(w, "d");
    world_bind_in(w, "record-base@n1", "d");
    delete_node(w, "n1");
    delete_deployment_role(w, "record-base", "d");
    const char *line = "on_deployment_delete record-base in d";
    EXPECT_STR(shown(w, live_call(w, line)->argument),
               "{'deployment':'d','gone':true,'id':1,'role':'record-base','role_id':1}");
    check_context(w, line, "{}");
    live_close(w);
}

TEST(computed_data_see_what_was_committed_and_the_template_sees_nothing)
{
    struct world *w = open_with_node();
    world_bind(w, "record-base@n1");
    const char *line = "sysdata record-base@n1";
    EXPECT_STR(live_argument(w, line, "state"), "'proposed'");
    EXPECT_STR(live_argument(w, line, "data/record/kind"), "'recorded'");
    set_data(w, "record-base@n1", "{'record':{'value':9}}");
    EXPECT_STR(shown(w, read_noderole(w, "record-base@n1").computed), "{'record':{'value':0}}");
    world_commit(w, "record-base@n1");
    EXPECT_STR(live_argument(w, line, "state"), "'todo'");
    EXPECT_STR(live_argument(w, line, "data/record/value"), "9");
    EXPECT_STR(shown(w, read_noderole(w, "record-base@n1").computed), "{'record':{'value':9}}");
    EXPECT_STR(shown(w, live_call(w, "template record-base")->argument), "null");
    EXPECT_STR(shown(w, live_call(w, "template record-base")->context), "null");
    live_close(w);
}

TEST(a_run_is_given_what_was_computed_for_it)
{
    struct world *w = open_with_node();
    world_bind(w, "record-child@n1");
    set_data(w, "record-base@n1", "{'record':{'value':9}}");
    world_commit_deployment(w, "system");
    EXPECT_STR(world_path(w, world_start(w, "record-base@n1")->data, "record"),
               "{'kind':'recorded','value':9}");
    live_close(w);
}

TEST(do_transition_is_given_the_noderole_its_parents_and_the_staged_data)
{
    struct world *w = open_with_node();
    world_bind(w, "record-work@n1");
    world_commit_deployment(w, "system");
    world_finish_with(w, "record-base@n1",
                      (struct run_done_command){.result = RESULT_OK,
                                                .has_wall = true,
                                                .wall = world_json(w, "{'port':80}")});
    const char *line = "do_transition record-work@n1";
    EXPECT_STR(without_host(w, line),
               "{'available':true,'cohort':1,'data':{'record':{'kind':'recorded','value':0}},"
               "'deployment':'system','deployment_id':1,'id':2,'node':'n1.example.com','node_id':2,"
               "'notes':{},'parents':[{'data':{'port':80,'record':{'kind':'recorded','value':0}},"
               "'hint':{},'id':1,'node':'n1.example.com','node_id':2,'role':'record-base',"
               "'state':'active'}],'role':'record-work','role_id':5,"
               "'run':{'attempt':1,'id':2,'state':'running'},'run_count':0,'state':'transition',"
               "'status':'','system':{'record':{'value':0}},'wall':{}}");
    EXPECT_STR(shown(w, live_call(w, line)->context),
               "{'hints':{},'port':80,'quirks':{},'record':{'kind':'recorded','value':0}}");
    live_close(w);
}

/* ---- failures ---- */

/* Commits record-base@n1 with data that make the given hook fail. */
static struct world *open_and_fail(const char *hook)
{
    struct world *w = open_with_node();
    world_bind(w, "record-base@n1");
    const struct str data =
        STR_CONCAT(&w->arena, STR("{'record':{'fail':'"), str_from(hook), STR("','value':1}}"));
    set_data(w, "record-base@n1", str_z(&w->arena, data));
    world_clear_effects(w);
    world_commit(w, "record-base@n1");
    return w;
}

static void check_failed_hook(struct world *w, const char *hook)
{
    IS(w, "record-base@n1", "error");
    const char *log = shown(w, read_noderole(w, "record-base@n1").runlog);
    HAS(log, str_z(&w->arena, STR_CONCAT(&w->arena, str_from(hook), STR(": record-base.lua:"))));
    HAS(log, "failure requested by the test");
    HAS(log, "stack traceback:");
    HAS(live_hook_log(w), "failure requested by the test");
}

TEST(a_state_hook_that_fails_is_an_error_and_on_error_is_called)
{
    struct world *w = open_and_fail("on_todo");
    EXPECT_EFFECTS(w, "on_commit record-base@n1; on_todo record-base@n1; template record-base; "
                      "sysdata record-base@n1; on_error record-base@n1");
    check_failed_hook(w, "on_todo");
    live_close(w);
}

TEST(sysdata_that_fails_is_an_error_and_nothing_starts)
{
    struct world *w = open_and_fail("sysdata");
    EXPECT_EFFECTS(w, "on_commit record-base@n1; on_todo record-base@n1; template record-base; "
                      "sysdata record-base@n1; on_error record-base@n1");
    check_failed_hook(w, "sysdata");
    CHECK(world_runs(w, NULL) == 0);
    EXPECT_STR(shown(w, read_noderole(w, "record-base@n1").computed), "{'record':{'value':0}}");
    live_close(w);
}

TEST(on_active_that_fails_is_an_error_after_the_run)
{
    struct world *w = open_and_fail("on_active");
    world_clear_effects(w);
    world_finish(w, "record-base@n1", RESULT_OK);
    EXPECT_EFFECTS(w, "on_active record-base@n1; on_error record-base@n1");
    check_failed_hook(w, "on_active");
    CHECK(read_noderole(w, "record-base@n1").run_count == 1);
    live_close(w);
}

/* A noderole in ERROR keeps its status; the message of the failed hook is appended to its run
 * log. */
TEST(on_error_that_fails_causes_no_further_errors)
{
    struct world *w = open_and_fail("on_error");
    world_clear_effects(w);
    world_finish(w, "record-base@n1", RESULT_FAILED);
    EXPECT_EFFECTS(w, "on_error record-base@n1");
    IS(w, "record-base@n1", "error");
    HAS(shown(w, read_noderole(w, "record-base@n1").runlog), "it broke\non_error: ");
    EXPECT_STR(shown(w, read_noderole(w, "record-base@n1").status), "run failed");
    HAS(live_hook_log(w), "on_error: a hook failed");
    live_close(w);
}

TEST(do_transition_that_fails_is_an_error_with_its_traceback)
{
    struct world *w = open_with_node();
    world_bind(w, "record-work@n1");
    set_data(w, "record-work@n1", "{'record':{'result':'nonsense'}}");
    world_commit_deployment(w, "system");
    world_finish(w, "record-base@n1", RESULT_OK);
    IS(w, "record-work@n1", "error");
    const char *log = shown(w, read_noderole(w, "record-work@n1").runlog);
    HAS(log, "the result of a run is");
    HAS(log, "in do_transition");
    live_close(w);
}

/* A proposed noderole does not become ERROR. Its commit is refused until on_proposed succeeds. */
TEST(on_proposed_that_fails_keeps_it_from_being_committed)
{
    struct world *w = open_with_node();
    world_bind(w, "record-base@n1");
    DONE(w, CMD(DEPLOYMENT_ROLE_DATA, deployment_role_data,
                .id = the_deployment_role(w, "record-base", "system"),
                .data = world_json(w, "{'record':{'fail':'on_proposed'}}")));
    DONE(w, CMD(DEPLOYMENT_ROLE_COMMIT, deployment_role_commit,
                .id = the_deployment_role(w, "record-base", "system")));
    set_data(w, "record-base@n1", "{'x':1}");
    IS(w, "record-base@n1", "proposed");
    HAS(shown(w, read_noderole(w, "record-base@n1").status), "on_proposed: record-base.lua:");
    HAS(live_hook_log(w), "failure requested by the test");
    REFUSED(w, cmd_commit(w, "record-base@n1"), HOOK_FAILED, NULL);
    live_close(w);
}

TEST(a_hook_of_a_node_that_fails_stops_no_other_and_its_commands_are_dropped)
{
    struct world *w = open_recorder();
    world_clear_effects(w);
    world_node(w, "broken", NULL);
    EXPECT_EFFECTS(w, TO_ALL("on_node_create", "broken"));
    HAS(live_hook_log(w),
        "on_node_create: a hook failed; the commands that it requested are not executed: "
        "record-base.lua:");
    EXPECT_STR(shown(w, read_node(w, "broken").bootenv), "sledgehammer");
    set_bootenv(w, "broken", "local");
    EXPECT_EFFECTS(w, TO_ALL("on_node_change", "broken"));
    HAS(live_hook_log(w), "the node is broken");
    delete_node(w, "broken");
    EXPECT_EFFECTS(w, "on_node_delete record-child broken; on_node_delete record-work broken; "
                      "on_node_delete record-base broken; on_node_delete record-idle broken; "
                      "on_node_delete record-wipe broken");
    HAS(live_hook_log(w), "the node is broken");
    CHECK(core_count(w->core, TABLE_OUTBOX) == 0);
    live_close(w);
}

/* ---- delivery at least once ---- */

TEST(hooks_without_a_result_are_called_again_after_a_restart)
{
    struct world *w = open_with_node();
    world_bind(w, "record-base@n1");
    world_clear_effects(w);
    live_drop_results(w, true);
    world_commit(w, "record-base@n1");
    EXPECT_EFFECTS(w, "on_commit record-base@n1; on_todo record-base@n1; template record-base; "
                      "sysdata record-base@n1");
    IS(w, "record-base@n1", "todo");
    live_restart(w);
    EXPECT_EFFECTS(w, BASE_GOES "; start record-base@n1");
    IS(w, "record-base@n1", "transition");
    live_restart(w);
    EXPECT_EFFECTS(w, "start record-base@n1");
    live_close(w);
}
