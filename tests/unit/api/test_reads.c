/* Reads: views, lists, order, samples, matches, projections. */
#include "tests/unit/api/api_world.h"

static const char node_keys[] = "admin,alive,allocated,available,bootenv,created_at,"
                                "deployment_id,description,id,name,quirks,system,"
                                "target_role_id,updated_at";
static const char deployment_keys[] =
    "created_at,description,id,name,parent_id,state,system,updated_at";
static const char role_keys[] =
    "abstract,barclamp_id,bootstrap,cluster,cohort,conflicts,created_at,description,destructive,"
    "discovery,id,implicit,jig_name,library,milestone,name,powersave,provides,service,"
    "updated_at";
static const char jig_keys[] = "active,client_name,client_role_name,created_at,description,id,"
                               "key,name,order,server,updated_at";
static const char noderole_keys[] =
    "available,cohort,created_at,deployment_id,id,node_error,node_id,order,role_id,run_count,"
    "runlog,state,status,updated_at";

#define LIST(type) "application/vnd.crowbar." type ".list+json; version=2.0"
#define OBJ(type)  "application/vnd.crowbar." type ".obj+json; version=2.0"

/* Roles a <- b <- c, bound to n1 (all) and n2 (a). */
static struct front *world_with_nodes(void)
{
    struct front *f = front_open();
    world_role(f->w, "a", "'flags':['milestone','server'],'provides':['x','y']");
    world_role(f->w, "b", "'requires':['a']");
    world_role(f->w, "c", "'requires':['b'],'conflicts':['z']");
    world_deployment(f->w, "lab");
    world_node(f->w, "n1", NULL);
    world_node(f->w, "n2", "lab");
    world_bind(f->w, "c@n1");
    world_bind_in(f->w, "a@n2", "lab");
    world_collect(f->w);
    return f;
}

/* ---- objects ---- */

TEST(a_node_shows_its_sixteen_fields)
{
    struct front *f = world_with_nodes();
    struct asked *a = get(f, "/api/v2/nodes/n2.example.com");
    STATUS(a, 200);
    EXPECT_STR(a->type, OBJ("node"));
    EXPECT_STR(keys(a, body_of(a)), node_keys);
    EXPECT_STR(at(f, a, "name"), "'n2.example.com'");
    EXPECT_STR(at(f, a, "description"), "''");
    EXPECT_STR(at(f, a, "alive"), "true");
    EXPECT_STR(at(f, a, "admin"), "false");
    EXPECT_STR(at(f, a, "bootenv"), "'sledgehammer'");
    EXPECT_STR(at(f, a, "quirks"), "[]");
    EXPECT_STR(at(f, a, "target_role_id"), "null");
    EXPECT_STR(at(f, a, "deployment_id"), "2");
    front_close(f);
}

TEST(times_are_written_in_utc_to_the_millisecond)
{
    struct front *f = world_with_nodes();
    f->w->now_ms = 1800000000678 - 1000; /* the next step adds a second */
    world_node(f->w, "n3", NULL);
    struct asked *a = get(f, "/api/v2/nodes/n3.example.com");
    EXPECT_STR(at(f, a, "created_at"), "'2027-01-15T08:00:00.678Z'");
    front_close(f);
}

TEST(the_system_deployment_has_no_parent)
{
    struct front *f = world_with_nodes();
    struct asked *a = get(f, "/api/v2/deployments/system");
    STATUS(a, 200);
    EXPECT_STR(a->type, OBJ("deployment"));
    EXPECT_STR(keys(a, body_of(a)), deployment_keys);
    EXPECT_STR(at(f, a, "id"), "1");
    EXPECT_STR(at(f, a, "system"), "true");
    EXPECT_STR(at(f, a, "parent_id"), "null");
    struct asked *lab = get(f, "/api/v2/deployments/lab");
    EXPECT_STR(at(f, lab, "parent_id"), "1");
    EXPECT_STR(at(f, lab, "state"), "0");
    front_close(f);
}

TEST(a_deployment_state_is_the_number_of_the_specification)
{
    struct front *f = world_with_nodes();
    EXPECT_STR(at(f, get(f, "/api/v2/deployments/lab"), "state"), "0");
    world_commit_deployment(f->w, "lab");
    EXPECT_STR(at(f, get(f, "/api/v2/deployments/lab"), "state"), "1");
    world_anneal(f->w);
    world_finish(f->w, "a@n2", RESULT_FAILED);
    EXPECT_STR(at(f, get(f, "/api/v2/deployments/lab"), "state"), "-1");
    DONE(f->w, cmd_retry(f->w, "a@n2"));
    world_run_all(f->w);
    EXPECT_STR(at(f, get(f, "/api/v2/deployments/lab"), "state"), "2");
    front_close(f);
}

TEST(a_role_shows_its_twenty_fields_and_whether_it_can_be_used)
{
    struct front *f = world_with_nodes();
    struct asked *a = get(f, "/api/v2/roles/a");
    STATUS(a, 200);
    EXPECT_STR(a->type, OBJ("role"));
    EXPECT_STR(keys(a, body_of(a)), role_keys);
    a = get(f, "/api/v2/roles/a?view=full");
    EXPECT_STR(at(f, a, "provides"), "['x','y']");
    EXPECT_STR(at(f, a, "conflicts"), "[]");
    EXPECT_STR(at(f, a, "milestone"), "true");
    EXPECT_STR(at(f, a, "implicit"), "false");
    EXPECT_STR(at(f, a, "jig_name"), "'script'");
    EXPECT_STR(at(f, a, "cohort"), "0");
    EXPECT_STR(at(f, get(f, "/api/v2/roles/c"), "cohort"), "2");
    EXPECT_STR(at(f, a, "unusable"), "null");
    EXPECT_STR(at(f, a, "withdrawn"), "false");
    front_close(f);
}

/* The reason has all sentences of the refusal. */
TEST(a_role_that_cannot_be_bound_has_a_reason)
{
    struct front *f = world_with_nodes();
    world_role(f->w, "lost", "'jig':'nowhere'");
    world_role(f->w, "early", "'requires':['a','later'],'wants-attribs':['size']");
    world_role(f->w, "idea", "'flags':['abstract']");
    struct asked *lost = get(f, "/api/v2/roles/lost?view=full");
    EXPECT_STR(at(f, lost, "unusable"), "'role lost cannot run: jig nowhere is not known here'");
    struct asked *early = get(f, "/api/v2/roles/early?view=full");
    EXPECT_STR(
        at(f, early, "unusable"),
        "'role early requires role later, which has not been imported; role early wants attrib "
        "size, which does not exist'");
    EXPECT_STR(at(f, get(f, "/api/v2/roles/idea?view=full"), "unusable"), "null");
    struct asked *bound =
        ask(f, HTTP_POST, "/api/v2/node_roles", "{'node':'n1.example.com','role':'lost'}");
    STATUS(bound, 409);
    EXPECT_STR(at(f, bound, "message"), at(f, lost, "unusable"));
    EXPECT_STR(column(get(f, "/api/v2/roles"), "name"), "a,b,c,lost,early,idea");
    struct asked *usable = ask(f, HTTP_POST, "/api/v2/roles/match", "{'unusable':null}");
    EXPECT_STR(column(usable, "name"), "a,b,c,idea");
    DONE(f->w,
         CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_TEST_JIG, .test_jig = true));
    EXPECT_STR(at(f, get(f, "/api/v2/roles/lost?view=full"), "unusable"), "null");
    front_close(f);
}

/* It stays bound and is marked. */
TEST(a_role_removed_from_its_barclamp_is_marked)
{
    struct front *f = world_with_nodes();
    DONE(f->w, cmd_import(f->w, "{'barclamp':{'name':'x','source_path':'/x'},'roles':[{'name':'w',"
                                "'jig':'script'}]}"));
    world_bind(f->w, "w@n1");
    DONE(f->w, cmd_import(f->w, "{'barclamp':{'name':'x','source_path':'/x'}}"));
    struct asked *a = get(f, "/api/v2/roles/w?view=full");
    EXPECT_STR(at(f, a, "withdrawn"), "true");
    EXPECT_STR(at(f, a, "unusable"),
               "'role w is no longer in barclamp x and cannot be bound anew'");
    front_close(f);
}

TEST(a_jig_shows_its_eleven_fields_and_why_it_is_not_active)
{
    struct front *f = world_with_nodes();
    DONE(f->w, cmd_import(f->w, "{'barclamp':{'name':'x','source_path':'/x'},'jigs':["
                                "{'name':'odd','class':'Unknown'},{'name':'tried','class':'test'},"
                                "{'name':'idle','class':'noop'}],"
                                "'roles':[{'name':'o','jig':'odd'}]}"));
    struct asked *a = get(f, "/api/v2/jigs/script");
    STATUS(a, 200);
    EXPECT_STR(a->type, OBJ("jig"));
    EXPECT_STR(keys(a, body_of(a)), jig_keys);
    a = get(f, "/api/v2/jigs/script?view=full");
    EXPECT_STR(at(f, a, "active"), "true");
    EXPECT_STR(at(f, a, "inactive_reason"), "null");
    EXPECT_STR(at(f, a, "server"), "null");
    a = get(f, "/api/v2/jigs/odd?view=full");
    EXPECT_STR(at(f, a, "active"), "false");
    EXPECT_STR(at(f, a, "order"), "100");
    EXPECT_STR(at(f, a, "inactive_reason"), "'jig class Unknown is not known here'");
    EXPECT_STR(at(f, get(f, "/api/v2/roles/o?view=full"), "unusable"),
               "'role o cannot run: jig odd is not active: jig class Unknown is not known here'");
    EXPECT_STR(at(f, get(f, "/api/v2/jigs/tried?view=full"), "inactive_reason"),
               "'the test jig is off'");
    DONE(f->w,
         CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_TEST_JIG, .test_jig = true));
    EXPECT_STR(at(f, get(f, "/api/v2/jigs/tried?view=full"), "inactive_reason"), "null");
    a = get(f, "/api/v2/jigs");
    EXPECT_STR(a->type, LIST("jig"));
    HAS(column(a, "name"), "odd,tried,idle");
    front_close(f);
}

TEST(a_noderole_shows_its_fourteen_fields)
{
    struct front *f = world_with_nodes();
    struct asked *a = get(f, "/api/v2/nodes/n1.example.com/node_roles/b");
    STATUS(a, 200);
    EXPECT_STR(a->type, OBJ("node_role"));
    EXPECT_STR(keys(a, body_of(a)), noderole_keys);
    EXPECT_STR(at(f, a, "state"), "4");
    EXPECT_STR(at(f, a, "order"), "10000");
    EXPECT_STR(at(f, a, "available"), "true");
    EXPECT_STR(at(f, a, "node_error"), "false");
    EXPECT_STR(at(f, a, "cohort"), "1");
    front_close(f);
}

/* The state in the reply. */
static const char *state_of(struct front *f, const char *noderole)
{
    char target[64];
    snprintf(target, sizeof target, "/api/v2/node_roles/%lld",
             (long long)the_noderole(f->w, noderole));
    return at(f, get(f, target), "state");
}

TEST(a_noderole_state_is_the_number_of_the_specification)
{
    struct front *f = world_with_nodes();
    EXPECT_STR(state_of(f, "a@n1"), "4");
    world_available(f->w, "n1", false);
    world_commit(f->w, "a@n1");
    world_commit(f->w, "b@n1");
    EXPECT_STR(state_of(f, "a@n1"), "1");
    EXPECT_STR(state_of(f, "b@n1"), "3");
    world_available(f->w, "n1", true);
    world_anneal(f->w);
    EXPECT_STR(state_of(f, "a@n1"), "2");
    world_finish(f->w, "a@n1", RESULT_OK);
    EXPECT_STR(state_of(f, "a@n1"), "0");
    world_anneal(f->w);
    world_finish(f->w, "b@n1", RESULT_FAILED);
    EXPECT_STR(state_of(f, "b@n1"), "-1");
    struct asked *other = get(f, "/api/v2/nodes/n1.example.com/node_roles/a");
    EXPECT_STR(at(f, other, "node_error"), "true");
    struct asked *elsewhere = get(f, "/api/v2/nodes/n2.example.com/node_roles/a");
    EXPECT_STR(at(f, elsewhere, "node_error"), "false");
    struct asked *failed = get(f, "/api/v2/nodes/n1.example.com/node_roles/b");
    EXPECT_STR(at(f, failed, "runlog"), "'it broke'");
    EXPECT_STR(at(f, failed, "run_count"), "0");
    front_close(f);
}

/* ---- by name and by id ---- */

TEST(digits_are_an_id_and_anything_else_a_name)
{
    struct front *f = world_with_nodes();
    char target[64];
    snprintf(target, sizeof target, "/api/v2/nodes/%lld", (long long)the_node(f->w, "n1"));
    EXPECT_STR(at(f, get(f, target), "name"), "'n1.example.com'");
    EXPECT_STR(at(f, get(f, "/api/v2/nodes/N1.EXAMPLE.COM"), "name"), "'n1.example.com'");
    EXPECT_STR(at(f, get(f, "/api/v2/deployments/1"), "name"), "'system'");
    PROBLEM(f, get(f, "/api/v2/nodes/999"), 404, "not_found", "id");
    PROBLEM(f, get(f, "/api/v2/nodes/0"), 404, "not_found", "id");
    PROBLEM(f, get(f, "/api/v2/nodes/99999999999999999999"), 404, "not_found", "id");
    PROBLEM(f, get(f, "/api/v2/nodes/nobody"), 404, "not_found", "id");
    PROBLEM(f, get(f, "/api/v2/roles/nobody"), 404, "not_found", "id");
    PROBLEM(f, get(f, "/api/v2/node_roles/a"), 404, "not_found", "id");
    front_close(f);
}

TEST(admin_is_the_first_admin_node)
{
    struct front *f = world_with_nodes();
    PROBLEM(f, get(f, "/api/v2/nodes/admin"), 404, "not_found", "id");
    struct command command = cmd_node(f->w, "boss");
    command.node_create.admin = true;
    DONE(f->w, command);
    EXPECT_STR(at(f, get(f, "/api/v2/nodes/admin"), "name"), "'boss.example.com'");
    front_close(f);
}

TEST(below_a_node_a_noderole_is_found_by_its_role)
{
    struct front *f = world_with_nodes();
    char target[96];
    snprintf(target, sizeof target, "/api/v2/nodes/n1.example.com/node_roles/%lld",
             (long long)the_role(f->w, "c"));
    EXPECT_STR(at(f, get(f, target), "cohort"), "2");
    snprintf(target, sizeof target, "/api/v2/nodes/n2.example.com/node_roles/%lld",
             (long long)the_role(f->w, "c"));
    PROBLEM(f, get(f, target), 404, "not_found", "id");
    PROBLEM(f, get(f, "/api/v2/nodes/n2.example.com/node_roles/c"), 404, "not_found", "id");
    PROBLEM(f, get(f, "/api/v2/nodes/n2.example.com/node_roles/nix"), 404, "not_found", "id");
    PROBLEM(f, get(f, "/api/v2/nodes/n9.example.com/node_roles/c"), 404, "not_found", "id");
    front_close(f);
}

TEST(the_etag_is_the_turn_of_the_last_change)
{
    struct front *f = world_with_nodes();
    char line[64];
    const struct node_record node = read_node(f->w, "n1");
    snprintf(line, sizeof line, "ETag: \"%lld\"", (long long)node.turn);
    struct asked *a = get(f, "/api/v2/nodes/n1.example.com");
    SAID(a, line);
    CHECK(node.turn > 0);
    front_close(f);
}

/* ---- lists ---- */

TEST(lists_have_the_order_of_the_specification)
{
    struct front *f = world_with_nodes();
    struct asked *nodes = get(f, "/api/v2/nodes");
    STATUS(nodes, 200);
    EXPECT_STR(nodes->type, LIST("node"));
    EXPECT_STR(column(nodes, "id"), "1,2,3,4");
    EXPECT_STR(column(get(f, "/api/v2/deployments"), "name"), "lab,system");
    EXPECT_STR(column(get(f, "/api/v2/roles"), "name"), "a,b,c");
    struct asked *noderoles = get(f, "/api/v2/node_roles");
    EXPECT_STR(noderoles->type, LIST("node_role"));
    EXPECT_STR(column(noderoles, "cohort"), "0,0,1,2");
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%lld,%lld,%lld,%lld", (long long)the_noderole(f->w, "a@n1"),
             (long long)the_noderole(f->w, "a@n2"), (long long)the_noderole(f->w, "b@n1"),
             (long long)the_noderole(f->w, "c@n1"));
    EXPECT_STR(column(noderoles, "id"), wanted);
    front_close(f);
}

TEST(an_empty_list_is_a_list)
{
    struct front *f = front_open();
    EXPECT_STR(get(f, "/api/v2/node_roles")->body, "[]");
    EXPECT_STR(get(f, "/api/v2/roles")->body, "[]");
    front_close(f);
}

TEST(nested_lists_have_the_objects_of_their_owner)
{
    struct front *f = world_with_nodes();
    EXPECT_STR(column(get(f, "/api/v2/deployments/lab/nodes"), "name"),
               "lab-phantom.internal.local,n2.example.com");
    EXPECT_STR(column(get(f, "/api/v2/deployments/lab/node_roles"), "cohort"), "0");
    EXPECT_STR(column(get(f, "/api/v2/deployments/system/node_roles"), "cohort"), "0,1,2");
    EXPECT_STR(column(get(f, "/api/v2/deployments/system/roles"), "name"), "a,b,c");
    EXPECT_STR(column(get(f, "/api/v2/deployments/lab/roles"), "name"), "a");
    EXPECT_STR(column(get(f, "/api/v2/nodes/n1.example.com/node_roles"), "cohort"), "0,1,2");
    EXPECT_STR(column(get(f, "/api/v2/nodes/n1.example.com/roles"), "name"), "a,b,c");
    EXPECT_STR(column(get(f, "/api/v2/nodes/n2.example.com/roles"), "name"), "a");
    EXPECT_STR(get(f, "/api/v2/nodes/lab-phantom.internal.local/roles")->body, "[]");
    EXPECT_STR(get(f, "/api/v2/nodes/n2.example.com/roles")->type, LIST("role"));
    PROBLEM(f, get(f, "/api/v2/deployments/nix/nodes"), 404, "not_found", "id");
    PROBLEM(f, get(f, "/api/v2/nodes/nix/roles"), 404, "not_found", "id");
    front_close(f);
}

TEST(only_the_requested_attributes_are_shown)
{
    struct front *f = world_with_nodes();
    struct asked *one = ask_with(f, HTTP_GET, "/api/v2/nodes/n1.example.com", "",
                                 "x-return-attributes: [\"name\",\"nix\"]");
    EXPECT_STR(one->body, "{\"name\":\"n1.example.com\"}");
    struct asked *many =
        ask_with(f, HTTP_GET, "/api/v2/deployments", "", "X-Return-Attributes: [\"name\",\"id\"]");
    EXPECT_STR(many->body, "[{\"id\":2,\"name\":\"lab\"},\n{\"id\":1,\"name\":\"system\"}]");
    EXPECT_STR(
        ask_with(f, HTTP_GET, "/api/v2/deployments/lab", "", "x-return-attributes: []")->body,
        "{}");
    EXPECT_STR(
        ask_with(f, HTTP_GET, "/api/v2/deployments/sample", "", "x-return-attributes: [\"state\"]")
            ->body,
        "{\"state\":0}");
    front_close(f);
}

TEST(attributes_that_are_no_list_of_names_are_refused)
{
    struct front *f = world_with_nodes();
    const char *const wrong[] = {"x-return-attributes: name", "x-return-attributes: {}",
                                 "x-return-attributes: [1]", "x-return-attributes: [\"a\",null]"};
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        PROBLEM(f, ask_with(f, HTTP_GET, "/api/v2/nodes", "", wrong[i]), 400, "bad_value",
                "absent");
    front_close(f);
}

/* ---- samples ---- */

TEST(samples_have_the_defaults_and_no_ids_or_times)
{
    struct front *f = front_open();
    struct asked *a = get(f, "/api/v2/nodes/sample");
    STATUS(a, 200);
    EXPECT_STR(a->type, OBJ("node"));
    EXPECT_STR(shown(f->w, str_from(a->body)),
               "{'name':null,'description':'','admin':false,'system':false,'allocated':false,"
               "'alive':false,'available':false,'bootenv':'sledgehammer','quirks':[]}");
    EXPECT_STR(shown(f->w, str_from(get(f, "/api/v2/deployments/sample")->body)),
               "{'name':null,'description':'','state':0,'system':false}");
    EXPECT_STR(shown(f->w, str_from(get(f, "/api/v2/node_roles/sample")->body)),
               "{'state':4,'cohort':0,'run_count':0,'status':'','runlog':'','available':true,"
               "'order':10000,'node_error':false}");
    struct asked *role = get(f, "/api/v2/roles/sample");
    CHECK(body_of(role)->count == 16);
    EXPECT_STR(at(f, role, "implicit"), "false");
    EXPECT_STR(at(f, role, "barclamp_id"), "absent");
    EXPECT_STR(shown(f->w, str_from(get(f, "/api/v2/jigs/sample")->body)),
               "{'name':null,'description':'','order':10000,'active':false,'client_role_name':null,"
               "'server':null,'client_name':null,'key':null}");
    front_close(f);
}

/* ---- matches ---- */

static const char *matched(struct front *f, const char *collection, const char *body)
{
    char target[64];
    snprintf(target, sizeof target, "/api/v2/%s/match", collection);
    struct asked *a = ask(f, HTTP_POST, target, body);
    STATUS(a, 200);
    return column(a, "id");
}

TEST(matches_are_exact_and_all_of_them)
{
    struct front *f = world_with_nodes();
    EXPECT_STR(matched(f, "nodes", "{'name':'n1.example.com'}"), "3");
    EXPECT_STR(matched(f, "nodes", "{'name':'n1'}"), "");
    EXPECT_STR(matched(f, "nodes", "{'alive':true,'system':false}"), "3,4");
    EXPECT_STR(matched(f, "nodes", "{'alive':true,'system':'false','deployment_id':2}"), "4");
    EXPECT_STR(matched(f, "nodes", "{'target_role_id':null}"), "1,2,3,4");
    EXPECT_STR(matched(f, "nodes", "{'quirks':[]}"), "1,2,3,4");
    EXPECT_STR(matched(f, "roles", "{'provides':['x','y']}"), "1");
    EXPECT_STR(matched(f, "roles", "{'provides':['x']}"), "");
    EXPECT_STR(matched(f, "roles", "{'milestone':true}"), "1");
    EXPECT_STR(matched(f, "roles", "{'jig_name':'script','cohort':2}"), "3");
    EXPECT_STR(matched(f, "deployments", "{'state':2}"), "");
    EXPECT_STR(matched(f, "deployments", "{'state':1}"), "1");
    EXPECT_STR(matched(f, "deployments", "{'state':'0','parent_id':'1'}"), "2");
    EXPECT_STR(matched(f, "deployments", "{'parent_id':null}"), "1");
    EXPECT_STR(matched(f, "node_roles", "{'cohort':1,'node_error':false}"), "2");
    front_close(f);
}

TEST(a_list_of_values_matches_any_of_them)
{
    struct front *f = world_with_nodes();
    EXPECT_STR(matched(f, "nodes", "{'id':[3,'4',99]}"), "3,4");
    EXPECT_STR(matched(f, "deployments", "{'name':['lab','system','nix']}"), "2,1");
    EXPECT_STR(matched(f, "deployments", "{'name':[]}"), "");
    EXPECT_STR(matched(f, "node_roles", "{'cohort':[2,0]}"), "1,4,3");
    front_close(f);
}

TEST(without_a_known_column_nothing_matches)
{
    struct front *f = world_with_nodes();
    EXPECT_STR(matched(f, "nodes", ""), "");
    EXPECT_STR(matched(f, "nodes", "{}"), "");
    EXPECT_STR(matched(f, "nodes", "{'nix':1}"), "");
    EXPECT_STR(matched(f, "nodes", "{'nix':1,'id':3}"), "3");
    front_close(f);
}

TEST(values_of_another_type_match_nothing)
{
    struct front *f = world_with_nodes();
    EXPECT_STR(matched(f, "nodes", "{'id':true}"), "");
    EXPECT_STR(matched(f, "nodes", "{'id':3.0}"), "");
    EXPECT_STR(matched(f, "nodes", "{'name':3}"), "");
    EXPECT_STR(matched(f, "nodes", "{'alive':1}"), "");
    EXPECT_STR(matched(f, "nodes", "{'alive':{}}"), "");
    EXPECT_STR(matched(f, "nodes", "{'created_at':5}"), "");
    front_close(f);
}

TEST(times_match_in_every_notation)
{
    struct front *f = world_with_nodes();
    struct asked *a = get(f, "/api/v2/nodes/n1.example.com");
    char body[96];
    snprintf(body, sizeof body, "{'created_at':%s}", at(f, a, "created_at"));
    EXPECT_STR(matched(f, "nodes", body), "3");
    front_close(f);
}

TEST(forms_and_queries_match_like_json)
{
    struct front *f = world_with_nodes();
    EXPECT_STR(matched(f, "nodes", "name=n1.example.com&alive=true"), "3");
    EXPECT_STR(matched(f, "nodes", "id[]=4&id[]=3"), "3,4");
    EXPECT_STR(column(ask(f, HTTP_POST, "/api/v2/nodes/match?alive=true&id=4", ""), "id"), "4");
    front_close(f);
}

TEST(a_form_with_too_many_parameters_is_refused)
{
    struct front *f = world_with_nodes();
    char *body = malloc(8100);
    CHECK(body != NULL);
    for (size_t i = 0; i < 2000; i++)
        memcpy(body + 4 * i, "a=1&", 4);
    body[8000] = 0;
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/nodes/match", body), 400, "bad_text", "absent");
    char *target = malloc(9000);
    CHECK(target != NULL);
    snprintf(target, 9000, "/api/v2/nodes/match?%s", body);
    PROBLEM(f, ask(f, HTTP_POST, target, ""), 400, "bad_text", "absent");
    free(target);
    free(body);
    front_close(f);
}

TEST(too_many_filter_values_are_refused)
{
    struct front *f = world_with_nodes();
    char *body = malloc(20000);
    CHECK(body != NULL);
    size_t n = (size_t)snprintf(body, 20000, "{\"id\":[0");
    for (int i = 0; i < 1000; i++)
        n += (size_t)snprintf(body + n, 20000 - n, ",%d", i);
    snprintf(body + n, 20000 - n, "]}");
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/nodes/match", body), 400, "bad_value", "id");
    free(body);
    front_close(f);
}

/* Values are parsed once, not once per row: otherwise this many bytes for so many rows would take
 * too long. */
TEST(values_that_are_too_long_are_refused)
{
    enum { LONG = 4 << 20 };
    struct front *f = world_with_nodes();
    char *body = malloc(LONG + 64), *text = malloc(LONG + 1);
    CHECK(body != NULL && text != NULL);
    memset(text, 'x', LONG);
    text[4097] = 0;
    const char *const forms[] = {"{'name':'%s'}", "{'name':['a','%s']}", "{'quirks':[['%s']]}",
                                 "{'quirks':['%s']}", "{'name':{'a':'%s'}}"};
    for (int again = 0; again < 2; again++) {
        for (uint32_t i = 0; i < sizeof forms / sizeof *forms; i++) {
            const char *split = strchr(forms[i], '%');
            snprintf(body, LONG + 64, "%.*s%s%s", (int)(split - forms[i]), forms[i], text,
                     split + 2);
            struct asked *a = ask(f, HTTP_POST, "/api/v2/nodes/match", body);
            PROBLEM(f, a, 400, "bad_value", i == 2 || i == 3 ? "quirks" : "name");
            HAS(a->body, "longer than");
        }
        memset(text, 'x', LONG - 64);
        text[LONG - 64] = 0;
    }
    text[4096] = 0;
    snprintf(body, LONG + 64, "{'name':['%s','n1.example.com']}", text);
    EXPECT_STR(matched(f, "nodes", body), "3");
    free(text);
    free(body);
    front_close(f);
}

TEST(the_values_of_all_columns_count_together)
{
    struct front *f = world_with_nodes();
    char *body = malloc(20000);
    CHECK(body != NULL);
    size_t n = (size_t)snprintf(body, 20000, "{'name':['n1.example.com'");
    for (int i = 1; i < 999; i++)
        n += (size_t)snprintf(body + n, 20000 - n, ",%d", i);
    snprintf(body + n, 20000 - n, "],'id':3}");
    EXPECT_STR(matched(f, "nodes", body), "3");
    snprintf(body + n, 20000 - n, "],'id':[3,4]}");
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/nodes/match", body), 400, "bad_value", "name");
    free(body);
    front_close(f);
}

/* ---- paths and methods ---- */

TEST(unknown_paths_are_404_and_unsupported_methods_405)
{
    struct front *f = world_with_nodes();
    const char *const nowhere[] = {"/",
                                   "/api",
                                   "/api/v2",
                                   "/api/v1/nodes",
                                   "/api/v10/nodes",
                                   "/api/v2/nodess",
                                   "/api/v2/nodes/1/2/3/4",
                                   "/api/v2//nodes",
                                   "/api/v2/nodes//commit",
                                   "api/v2/nodes",
                                   "/v2/nodes"};
    for (uint32_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
        PROBLEM(f, get(f, nowhere[i]), 404, "not_found", "absent");
    struct asked *a = ask(f, HTTP_POST, "/api/v2/roles", "{'name':'r'}");
    PROBLEM(f, a, 405, "not_supported", "absent");
    SAID(a, "Allow: GET, HEAD");
    a = ask(f, HTTP_DELETE, "/api/v2/roles/a", "");
    PROBLEM(f, a, 405, "not_supported", "absent");
    SAID(a, "Allow: GET, HEAD, PUT, PATCH");
    a = ask(f, HTTP_OTHER, "/api/v2/nodes", "");
    SAID(a, "Allow: GET, HEAD, POST");
    SAID(ask(f, HTTP_GET, "/api/v2/nodes/n1.example.com/commit", ""), "Allow: PUT");
    SAID(ask(f, HTTP_PUT, "/api/v2/tokens/1", ""), "Allow: GET, HEAD, DELETE");
    front_close(f);
}

TEST(every_version_from_two_to_nine_is_served)
{
    struct front *f = world_with_nodes();
    STATUS(get(f, "/api/v9/nodes"), 200);
    STATUS(get(f, "/api/v3/nodes/n1.example.com/node_roles"), 200);
    STATUS(get(f, "/api/v2/nodes/"), 200);
    STATUS(ask(f, HTTP_HEAD, "/api/v2/nodes", ""), 200);
    STATUS(ask(f, HTTP_HEAD, "/healthz", ""), 200);
    front_close(f);
}

TEST(a_slash_that_was_sent_encoded_separates_nothing)
{
    struct front *f = world_with_nodes();
    struct asked *a = get(f, "/api/v2/nodes/n1.example.com%2Fnode_roles");
    PROBLEM(f, a, 404, "not_found", "id");
    EXPECT_STR(at(f, a, "message"), "'there is no node called n1.example.com/node_roles'");
    PROBLEM(f, get(f, "/api%2Fv2/nodes"), 404, "not_found", "absent");
    PROBLEM(f, ask(f, HTTP_DELETE, "/api/v2/nodes%2Fn1.example.com", ""), 404, "not_found",
            "absent");
    front_close(f);
}

/* ---- a long list ---- */

TEST(a_long_list_is_whole_and_in_order)
{
    enum { NODES = 3000 };
    struct front *f = front_open();
    for (int i = 0; i < NODES; i++) {
        char name[64];
        struct effects fx = {0};
        struct outcome out;
        snprintf(name, sizeof name, "node-%d.example.com", i);
        const struct command command = {.kind = COMMAND_NODE_CREATE,
                                        .actor = STR("user tester"),
                                        .now_ms = f->w->now_ms,
                                        .node_create = {.name = str_from(name)}};
        core_step(f->w->core, &command, &f->w->arena, &fx, &out);
        CHECK(out.verdict == VERDICT_DONE);
    }
    struct asked *a = get(f, "/api/v2/nodes");
    const struct json *list = body_of(a);
    CHECK(list->count == NODES + 1);
    int64_t last = 0;
    for (const struct json *item = list->first; item; item = item->next) {
        int64_t id;
        CHECK(json_as_i64(json_get(item, STR("id")), &id) && id > last);
        last = id;
    }
    front_close(f);
}
