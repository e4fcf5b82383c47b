/* Changes: create, update, patch, delete, verbs; and all forms of bodies. */
#include "tests/unit/api/api_world.h"

static struct front *world_with_nodes(void)
{
    struct front *f = front_open();
    world_role(f->w, "a", "'flags':['milestone'],'jig':'noop'");
    world_role(f->w, "b", "'requires':['a']");
    world_deployment(f->w, "lab");
    world_node(f->w, "n1", NULL);
    world_collect(f->w);
    return f;
}

#define N1 "/api/v2/nodes/n1.example.com"

/* ---- create ---- */

TEST(a_node_is_created_and_shown)
{
    struct front *f = world_with_nodes();
    struct asked *a = ask(f, HTTP_POST, "/api/v2/nodes",
                          "{'name':'N7.Example.com','description':'d','alive':true,'allocated':"
                          "true,'deployment':'lab','bootenv':'local','nix':[1],'hint':{'a':1}}");
    STATUS(a, 200);
    EXPECT_STR(a->type, "application/vnd.crowbar.node.obj+json; version=2.0");
    EXPECT_STR(at(f, a, "name"), "'n7.example.com'");
    EXPECT_STR(at(f, a, "alive"), "true");
    EXPECT_STR(at(f, a, "available"), "false");
    EXPECT_STR(at(f, a, "deployment_id"), "2");
    EXPECT_STR(at(f, a, "bootenv"), "'local'");
    char line[64];
    snprintf(line, sizeof line, "ETag: \"%lld\"", (long long)f->w->turn);
    SAID(a, line);
    EXPECT_STR(shown(f->w, read_node(f->w, "n7").hint), "{'a':1}");
    front_close(f);
}

TEST(a_deployment_is_created_below_system_or_another)
{
    struct front *f = world_with_nodes();
    struct asked *a = ask(f, HTTP_POST, "/api/v2/deployments", "{'name':'one'}");
    STATUS(a, 200);
    EXPECT_STR(at(f, a, "parent_id"), "1");
    EXPECT_STR(at(f, a, "state"), "0");
    EXPECT_STR(at(f, ask(f, HTTP_POST, "/api/v2/deployments", "{'name':'two','parent':'lab'}"),
                  "parent_id"),
               "2");
    EXPECT_STR(at(f, ask(f, HTTP_POST, "/api/v2/deployments", "{'name':'three','parent_id':'2'}"),
                  "parent_id"),
               "2");
    EXPECT_STR(at(f, ask(f, HTTP_POST, "/api/v2/deployments", "{'name':'four','parent_id':null}"),
                  "parent_id"),
               "1");
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/deployments", "{'name':'one'}"), 409, "name_taken",
            "name");
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/deployments", "{'name':'x','parent':'nix'}"), 404,
            "not_found", "parent");
    /* deployments/sample is another route */
    const char *const words[] = {"{'name':'sample'}", "{'name':'match'}"};
    for (uint32_t i = 0; i < sizeof words / sizeof *words; i++) {
        PROBLEM(f, ask(f, HTTP_POST, "/api/v2/deployments", words[i]), 409, "name_invalid", "name");
        PROBLEM(f, ask(f, HTTP_PUT, "/api/v2/deployments/lab", words[i]), 409, "name_invalid",
                "name");
    }
    PROBLEM(f,
            ask(f, HTTP_PATCH, "/api/v2/deployments/lab",
                "[{'op':'replace','path':'/name','value':'sample'}]"),
            409, "name_invalid", "name");
    front_close(f);
}

TEST(a_role_is_bound_by_names_or_ids)
{
    struct front *f = world_with_nodes();
    struct asked *a = ask(f, HTTP_POST, "/api/v2/node_roles",
                          "{'node':'n1.example.com','role':'b','data':{'k':[1,2]}}");
    STATUS(a, 200);
    EXPECT_STR(at(f, a, "cohort"), "1");
    EXPECT_STR(at(f, a, "deployment_id"), "1");
    EXPECT_STR(shown(f->w, read_noderole(f->w, "b@n1").proposed_data), "{'k':[1,2]}");
    CHECK(world_bound(f->w, "a@n1") != 0);
    char body[96];
    snprintf(body, sizeof body, "{'node_id':%lld,'role_id':'%lld','deployment_id':1}",
             (long long)the_node(f->w, "n1"), (long long)the_role(f->w, "b"));
    EXPECT_STR(at(f, ask(f, HTTP_POST, "/api/v2/node_roles", body), "id"), at(f, a, "id"));
    PROBLEM(f,
            ask(f, HTTP_POST, "/api/v2/node_roles",
                "{'node':'n1.example.com','role':'b','deployment':'lab'}"),
            409, "bound_elsewhere", "deployment_id");
    front_close(f);
}

TEST(missing_parameters_are_named)
{
    struct front *f = world_with_nodes();
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/nodes", "{}"), 400, "missing", "name");
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/nodes", "{'name':null}"), 400, "missing", "name");
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/nodes", "{'name':''}"), 400, "missing", "name");
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/deployments", ""), 400, "missing", "name");
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/node_roles", "{'role':'a'}"), 400, "missing", "node");
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/node_roles", "{'node':'n1.example.com','role':null}"),
            400, "missing", "role");
    front_close(f);
}

TEST(all_problems_are_in_one_reply)
{
    struct front *f = world_with_nodes();
    struct asked *a = ask(f, HTTP_POST, "/api/v2/nodes",
                          "{'name':7,'alive':'maybe','deployment':'nix','hint':'{','admin':null}");
    STATUS(a, 400);
    EXPECT_STR(at(f, a, "code"), "'bad_value'");
    EXPECT_STR(at(f, a, "field"), "'name'");
    EXPECT_STR(at(f, a, "message"),
               "'name must be a string; admin must be true or false; alive must be "
               "true or false; deployment: there is no deployment nix; hint must "
               "be a JSON object'");
    const struct json *all = json_get(body_of(a), STR("problems"));
    CHECK(all && all->count == 5);
    EXPECT_STR(shown(f->w, json_write(&a->kept, all->first)),
               "{'code':'bad_value','field':'name','message':'name must be a string'}");
    front_close(f);
}

TEST(problems_of_the_core_are_passed_on_unchanged)
{
    struct front *f = world_with_nodes();
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/nodes", "{'name':'short'}"), 409, "name_invalid", "name");
    world_role(f->w, "ghost", "'flags':['abstract']");
    world_role(f->w, "hostile", "'conflicts':['b']");
    ask(f, HTTP_POST, "/api/v2/node_roles", "{'node':'n1.example.com','role':'b'}");
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/node_roles", "{'node':'n1.example.com','role':'ghost'}"),
            409, "abstract_role", "role_id");
    struct asked *a =
        ask(f, HTTP_POST, "/api/v2/node_roles", "{'node':'n1.example.com','role':'hostile'}");
    STATUS(a, 409);
    EXPECT_STR(at(f, a, "code"), "'role_conflict'");
    front_close(f);
}

/* ---- update ---- */

TEST(an_update_changes_what_is_given_and_nothing_else)
{
    struct front *f = world_with_nodes();
    struct asked *a =
        ask(f, HTTP_PUT, N1, "{'description':'x','id':77,'admin':true,'alive':false}");
    STATUS(a, 200);
    EXPECT_STR(at(f, a, "description"), "'x'");
    EXPECT_STR(at(f, a, "alive"), "false");
    EXPECT_STR(at(f, a, "available"), "true");
    EXPECT_STR(at(f, a, "admin"), "false");
    a = ask(f, HTTP_PUT, N1,
            "{'name':'n9.example.com','description':null,'bootenv':'local',"
            "'allocated':'true','available':'false','deployment':'lab'}");
    EXPECT_STR(at(f, a, "name"), "'n9.example.com'");
    EXPECT_STR(at(f, a, "description"), "''");
    EXPECT_STR(at(f, a, "bootenv"), "'local'");
    EXPECT_STR(at(f, a, "allocated"), "true");
    EXPECT_STR(at(f, a, "available"), "false");
    EXPECT_STR(at(f, a, "deployment_id"), "2");
    front_close(f);
}

TEST(an_empty_update_changes_nothing)
{
    struct front *f = world_with_nodes();
    struct asked *before = get(f, N1);
    EXPECT_STR(ask(f, HTTP_PUT, N1, "")->body, before->body);
    EXPECT_STR(ask(f, HTTP_PUT, N1, "{'nix':true}")->body, before->body);
    front_close(f);
}

TEST(a_node_moves_only_from_the_given_old_deployment)
{
    struct front *f = world_with_nodes();
    PROBLEM(f, ask(f, HTTP_PUT, N1, "{'deployment':'lab','old_deployment_id':2}"), 409, "stale",
            "old_deployment_id");
    EXPECT_STR(at(f, get(f, N1), "deployment_id"), "1");
    EXPECT_STR(at(f, ask(f, HTTP_PUT, N1, "{'deployment_id':'lab','old_deployment_id':1}"),
                  "deployment_id"),
               "2");
    PROBLEM(f, ask(f, HTTP_PUT, N1, "{'deployment_id':null}"), 400, "bad_value", "deployment_id");
    PROBLEM(f, ask(f, HTTP_PUT, N1, "{'deployment_id':[1]}"), 400, "bad_value", "deployment_id");
    PROBLEM(f, ask(f, HTTP_PUT, N1, "{'deployment_id':-1}"), 404, "not_found", "deployment_id");
    PROBLEM(f, ask(f, HTTP_PUT, N1, "{'deployment_id':1.5}"), 404, "not_found", "deployment_id");
    front_close(f);
}

TEST(a_target_is_set_and_cleared)
{
    struct front *f = world_with_nodes();
    world_bind(f->w, "a@n1");
    struct asked *a = ask(f, HTTP_PUT, N1, "{'target_role_id':'a'}");
    STATUS(a, 200);
    EXPECT_STR(at(f, a, "target_role_id"), "1");
    EXPECT_STR(at(f, ask(f, HTTP_PUT, N1, "{'target_role_id':null}"), "target_role_id"), "null");
    PROBLEM(f, ask(f, HTTP_PUT, N1, "{'target_role_id':'b'}"), 409, "target_invalid",
            "target_role_id");
    front_close(f);
}

TEST(deployments_and_roles_are_updated)
{
    struct front *f = world_with_nodes();
    struct asked *a =
        ask(f, HTTP_PUT, "/api/v2/deployments/lab", "{'name':'labor','description':'d'}");
    EXPECT_STR(at(f, a, "name"), "'labor'");
    EXPECT_STR(at(f, a, "description"), "'d'");
    a = ask(f, HTTP_PUT, "/api/v2/roles/b", "{'description':'r','template':{'t':1},'cohort':9}");
    STATUS(a, 200);
    EXPECT_STR(at(f, a, "description"), "'r'");
    EXPECT_STR(at(f, a, "cohort"), "1");
    EXPECT_STR(shown(f->w, read_role(f->w, "b").template), "{'t':1}");
    front_close(f);
}

TEST(a_jig_is_switched_off_and_on_but_not_created_or_deleted)
{
    struct front *f = world_with_nodes();
    struct asked *a = ask(f, HTTP_PUT, "/api/v2/jigs/script?view=full",
                          "{'active':false,'description':'d','server':'s','client_name':'c',"
                          "'key':'k','order':3}");
    STATUS(a, 200);
    EXPECT_STR(at(f, a, "active"), "false");
    EXPECT_STR(at(f, a, "inactive_reason"), "'it is switched off'");
    EXPECT_STR(at(f, a, "description"), "'d'");
    EXPECT_STR(at(f, a, "server"), "'s'");
    EXPECT_STR(at(f, a, "client_name"), "'c'");
    EXPECT_STR(at(f, a, "key"), "'k'");
    EXPECT_STR(at(f, get(f, "/api/v2/roles/b?view=full"), "unusable"),
               "'role b cannot run: jig script is not active'");
    a = ask(f, HTTP_PATCH, "/api/v2/jigs/script",
            "[{'op':'replace','path':'/active','value':true}]");
    STATUS(a, 200);
    EXPECT_STR(at(f, a, "active"), "true");
    EXPECT_STR(at(f, a, "description"), "'d'");
    EXPECT_STR(at(f, get(f, "/api/v2/roles/b?view=full"), "unusable"), "null");
    STATUS(ask(f, HTTP_POST, "/api/v2/jigs", "{'name':'x'}"), 405);
    STATUS(ask(f, HTTP_DELETE, "/api/v2/jigs/script", ""), 405);
    STATUS(get(f, "/api/v2/jigs/nobody"), 404);
    front_close(f);
}

TEST(data_of_a_noderole_is_edited_while_it_is_proposed)
{
    struct front *f = world_with_nodes();
    world_bind(f->w, "a@n1");
    struct asked *a = ask(f, HTTP_PUT, "/api/v2/node_roles/1", "{'data':{'x':1}}");
    STATUS(a, 200);
    EXPECT_STR(shown(f->w, read_noderole(f->w, "a@n1").proposed_data), "{'x':1}");
    PROBLEM(f, ask(f, HTTP_PUT, "/api/v2/node_roles/1", "{}"), 400, "missing", "data");
    PROBLEM(f, ask(f, HTTP_PUT, "/api/v2/node_roles/1", "{'data':[1]}"), 400, "bad_value", "data");
    PROBLEM(f, ask(f, HTTP_PUT, "/api/v2/node_roles/1", "{'data':'no json'}"), 400, "bad_value",
            "data");
    world_commit(f->w, "a@n1");
    PROBLEM(f, ask(f, HTTP_PUT, "/api/v2/node_roles/1", "{'data':{}}"), 409, "not_proposed",
            "data");
    front_close(f);
}

/* ---- bodies ---- */

TEST(json_forms_and_queries_are_equivalent)
{
    struct front *f = world_with_nodes();
    const char *const form = "Content-Type: application/x-www-form-urlencoded";
    struct asked *a = ask_with(f, HTTP_POST, "/api/v2/nodes",
                               "name=f1.example.com&description=two+words%21&alive=true", form);
    STATUS(a, 200);
    EXPECT_STR(at(f, a, "description"), "'two words!'");
    EXPECT_STR(at(f, a, "alive"), "true");
    a = ask(f, HTTP_POST, "/api/v2/nodes?name=q1.example.com&alive=true&deployment=lab", "");
    EXPECT_STR(at(f, a, "alive"), "true");
    EXPECT_STR(at(f, a, "deployment_id"), "2");
    a = ask(f, HTTP_PUT, N1 "?description=query&allocated=true", "{'description':'body'}");
    EXPECT_STR(at(f, a, "description"), "'body'");
    EXPECT_STR(at(f, a, "allocated"), "true");
    a = ask_with(f, HTTP_POST, "/api/v2/node_roles",
                 "node=n1.example.com&role=1&data=%7B%22a%22%3A1%7D", form);
    STATUS(a, 200);
    EXPECT_STR(shown(f->w, read_noderole(f->w, "a@n1").proposed_data), "{'a':1}");
    a = ask_with(f, HTTP_POST, "/api/v2/deployments", "{'name':'json-in-a-form'}", form);
    EXPECT_STR(at(f, a, "name"), "'json-in-a-form'");
    front_close(f);
}

TEST(parameters_may_be_wrapped_in_the_type)
{
    struct front *f = world_with_nodes();
    struct asked *a = ask(f, HTTP_PUT, N1, "{'node':{'description':'in'},'description':'out'}");
    EXPECT_STR(at(f, a, "description"), "'in'");
    a = ask(f, HTTP_PUT, N1, "node[description]=form&node%5Ballocated%5D=true");
    EXPECT_STR(at(f, a, "description"), "'form'");
    EXPECT_STR(at(f, a, "allocated"), "true");
    a = ask(f, HTTP_POST, "/api/v2/node_roles",
            "{'node_role':{'node':'n1.example.com','role':'a'}}");
    STATUS(a, 200);
    a = ask(f, HTTP_POST, "/api/v2/deployments", "{'deployment':{'name':'w','parent':'lab'}}");
    EXPECT_STR(at(f, a, "parent_id"), "2");
    front_close(f);
}

TEST(a_malformed_body_is_refused)
{
    struct front *f = world_with_nodes();
    struct asked *a = ask(f, HTTP_POST, "/api/v2/nodes", "{'name':");
    PROBLEM(f, a, 400, "bad_json", "absent");
    HAS(a->body, "at byte 8");
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/nodes", "[1]"), 400, "bad_json", "absent");
    PROBLEM(f, ask_with(f, HTTP_POST, "/api/v2/nodes", "7", "Content-Type: application/json"), 400,
            "bad_json", "absent");
    const char *const types[] = {"Content-Type: text/xml", "Content-Type: text/plain",
                                 "Content-Type: text/plain;charset=utf-8", "Content-Type: x"};
    for (uint32_t i = 0; i < sizeof types / sizeof *types; i++) {
        a = ask_with(f, HTTP_POST, "/api/v2/nodes", "{'name':'x.example.com'}", types[i]);
        PROBLEM(f, a, 415, "unsupported_media_type", "absent");
        a = ask_with(f, HTTP_POST, "/api/v2/nodes", "name=x", types[i]);
        PROBLEM(f, a, 415, "unsupported_media_type", "absent");
    }
    const char *const forms[] = {"name=%", "name=%4", "name=%zz", "name=%00", "name=%ff"};
    for (uint32_t i = 0; i < sizeof forms / sizeof *forms; i++)
        PROBLEM(f, ask(f, HTTP_POST, "/api/v2/nodes", forms[i]), 400, "bad_text", "absent");
    PROBLEM(f, ask(f, HTTP_POST, "/api/v2/nodes?name=\xff", ""), 400, "bad_text", "absent");
    front_close(f);
}

TEST(data_deeper_than_documents_may_be_is_refused)
{
    struct front *f = world_with_nodes();
    world_bind(f->w, "a@n1");
    char open[61], close[61], body[200];
    memset(open, '[', 60);
    memset(close, ']', 60);
    open[60] = close[60] = 0;
    snprintf(body, sizeof body, "{'data':{'a':%s%s}}", open, close);
    PROBLEM(f, ask(f, HTTP_PUT, "/api/v2/node_roles/1", body), 400, "bad_json", "data");
    front_close(f);
}

/* ---- delete ---- */

TEST(a_deleted_object_is_not_found)
{
    struct front *f = world_with_nodes();
    world_bind(f->w, "a@n1");
    struct asked *a = ask(f, HTTP_DELETE, "/api/v2/node_roles/1", "");
    STATUS(a, 200);
    EXPECT_STR(a->type, "application/vnd.crowbar.node_role.empty+json; version=2.0");
    EXPECT_STR(a->body, "{\"message\":\"node_role 1 was deleted\"}");
    PROBLEM(f, get(f, "/api/v2/node_roles/1"), 404, "not_found", "id");
    STATUS(ask(f, HTTP_DELETE, N1, ""), 200);
    PROBLEM(f, ask(f, HTTP_DELETE, N1, ""), 404, "not_found", "id");
    STATUS(ask(f, HTTP_DELETE, "/api/v2/deployments/lab", ""), 200);
    PROBLEM(f, ask(f, HTTP_DELETE, "/api/v2/deployments/system", ""), 409, "system_deployment",
            "id");
    EXPECT_STR(ask_with(f, HTTP_POST, "/api/v2/deployments", "{'name':'z'}",
                        "x-return-attributes: [\"name\"]")
                   ->body,
               "{\"name\":\"z\"}");
    EXPECT_STR(
        ask_with(f, HTTP_DELETE, "/api/v2/deployments/z", "", "x-return-attributes: [\"name\"]")
            ->body,
        "{}");
    front_close(f);
}

/* ---- verbs ---- */

TEST(the_verbs_of_a_noderole)
{
    struct front *f = world_with_nodes();
    world_bind(f->w, "b@n1");
    char target[64];
    const long long id = (long long)the_noderole(f->w, "b@n1");
    snprintf(target, sizeof target, "/api/v2/node_roles/%lld/commit", id);
    STATUS(ask(f, HTTP_PUT, "/api/v2/node_roles/1/commit", ""), 200);
    world_anneal(f->w);
    EXPECT_STR(at(f, ask(f, HTTP_PUT, target, ""), "state"), "1");
    world_anneal(f->w);
    world_finish(f->w, "b@n1", RESULT_FAILED);
    snprintf(target, sizeof target, "/api/v2/node_roles/%lld/retry", id);
    EXPECT_STR(at(f, ask(f, HTTP_PUT, target, ""), "state"), "1");
    snprintf(target, sizeof target, "/api/v2/node_roles/%lld/propose", id);
    EXPECT_STR(at(f, ask(f, HTTP_PUT, target, ""), "state"), "4");
    snprintf(target, sizeof target, "/api/v2/node_roles/%lld/retry", id);
    PROBLEM(f, ask(f, HTTP_PUT, target, ""), 409, "wrong_state", "state");
    PROBLEM(f, ask(f, HTTP_PUT, "/api/v2/node_roles/99/retry", ""), 404, "not_found", "id");
    front_close(f);
}

TEST(the_verbs_of_a_deployment)
{
    struct front *f = world_with_nodes();
    struct asked *a = ask(f, HTTP_PUT, "/api/v2/deployments/lab/commit", "");
    STATUS(a, 200);
    EXPECT_STR(a->type, "application/vnd.crowbar.deployment.obj+json; version=2.0");
    EXPECT_STR(at(f, a, "state"), "2");
    a = ask(f, HTTP_PUT, "/api/v2/deployments/lab/propose", "{'name':'again'}");
    EXPECT_STR(at(f, a, "state"), "0");
    EXPECT_STR(str_z(&a->kept, read_head(f->w, "lab").name), "again");
    EXPECT_STR(at(f, ask(f, HTTP_PUT, "/api/v2/deployments/lab/recall", ""), "state"), "0");
    PROBLEM(f, ask(f, HTTP_PUT, "/api/v2/deployments/lab/commit", "{'plan':'old'}"), 409,
            "plan_changed", "plan");
    PROBLEM(f, ask(f, HTTP_PUT, "/api/v2/deployments/system/recall", ""), 409, "system_deployment",
            "id");
    front_close(f);
}

TEST(the_verbs_of_a_node)
{
    struct front *f = world_with_nodes();
    world_bind(f->w, "b@n1");
    world_available(f->w, "n1", false);
    struct asked *a = ask(f, HTTP_PUT, N1 "/commit", "");
    STATUS(a, 200);
    EXPECT_STR(at(f, a, "available"), "true");
    STATUS(ask(f, HTTP_PUT, N1 "/redeploy", ""), 200);
    STATUS(ask(f, HTTP_PUT, N1 "/propose", ""), 200);
    IS(f->w, "b@n1", "proposed");
    /* No role here is a discovery role: the environment changes, and no target is set. */
    struct asked *debugged = ask(f, HTTP_PUT, N1 "/debug", "");
    STATUS(debugged, 200);
    EXPECT_STR(at(f, debugged, "bootenv"), "'sledgehammer'");
    EXPECT_STR(at(f, debugged, "target_role_id"), "null");
    struct asked *un = ask(f, HTTP_PUT, N1 "/undebug", "");
    STATUS(un, 200);
    EXPECT_STR(at(f, un, "bootenv"), "'local'");
    front_close(f);
}

/* ---- patch ---- */

TEST(a_patch_is_an_update_of_what_it_changes)
{
    struct front *f = world_with_nodes();
    struct asked *a = ask(f, HTTP_PATCH, N1,
                          "[{'op':'test','path':'/name','value':'n1.example.com'},"
                          "{'op':'replace','path':'/description','value':'p'},"
                          "{'op':'add','path':'/alive','value':false},"
                          "{'op':'replace','path':'/deployment_id','value':2}]");
    STATUS(a, 200);
    EXPECT_STR(at(f, a, "description"), "'p'");
    EXPECT_STR(at(f, a, "alive"), "false");
    EXPECT_STR(at(f, a, "deployment_id"), "2");
    EXPECT_STR(
        at(f, ask(f, HTTP_PATCH, N1, "[{'op':'remove','path':'/description'}]"), "description"),
        "''");
    EXPECT_STR(at(f,
                  ask(f, HTTP_PATCH, "/api/v2/deployments/lab",
                      "[{'op':'replace','path':'/name','value':'lab2'}]"),
                  "name"),
               "'lab2'");
    front_close(f);
}

TEST(a_patch_without_changes_submits_nothing)
{
    struct front *f = world_with_nodes();
    f->submits = ERR_UNAVAILABLE;
    STATUS(ask(f, HTTP_PATCH, N1, "[]"), 200);
    STATUS(ask(f, HTTP_PATCH, N1, "[{'op':'replace','path':'/alive','value':true}]"), 200);
    STATUS(ask(f, HTTP_PATCH, N1, "[{'op':'replace','path':'/id','value':3}]"), 200);
    front_close(f);
}

TEST(a_patch_may_change_the_hidden_document)
{
    struct front *f = world_with_nodes();
    world_bind(f->w, "a@n1");
    struct asked *a = ask(f, HTTP_PATCH, "/api/v2/node_roles/1",
                          "[{'op':'replace','path':'/data','value':{'k':'v'}}]");
    STATUS(a, 200);
    EXPECT_STR(shown(f->w, read_noderole(f->w, "a@n1").proposed_data), "{'k':'v'}");
    EXPECT_STR(at(f, a, "data"), "absent");
    STATUS(ask(f, HTTP_PATCH, "/api/v2/node_roles/1",
               "[{'op':'test','path':'/data','value':{'k':'v'}},{'op':'remove','path':'/data'}]"),
           200);
    EXPECT_STR(shown(f->w, read_noderole(f->w, "a@n1").proposed_data), "{}");
    STATUS(
        ask(f, HTTP_PATCH, "/api/v2/roles/a", "[{'op':'add','path':'/template','value':{'t':2}}]"),
        200);
    EXPECT_STR(shown(f->w, read_role(f->w, "a").template), "{'t':2}");
    front_close(f);
}

TEST(a_patch_of_anything_else_is_refused)
{
    struct front *f = world_with_nodes();
    world_bind(f->w, "a@n1");
    PROBLEM(f, ask(f, HTTP_PATCH, N1, "[{'op':'replace','path':'/id','value':9}]"), 409,
            "read_only", "id");
    PROBLEM(f, ask(f, HTTP_PATCH, N1, "[{'op':'add','path':'/nix','value':9}]"), 409, "read_only",
            "nix");
    PROBLEM(f, ask(f, HTTP_PATCH, N1, "[{'op':'remove','path':'/admin'}]"), 409, "read_only",
            "admin");
    PROBLEM(
        f,
        ask(f, HTTP_PATCH, "/api/v2/node_roles/1", "[{'op':'replace','path':'/state','value':0}]"),
        409, "read_only", "state");
    PROBLEM(f, ask(f, HTTP_PATCH, N1, "[{'op':'replace','path':'/alive','value':3}]"), 400,
            "bad_value", "alive");
    PROBLEM(f, ask(f, HTTP_PATCH, N1, "[{'op':'replace','path':'/name','value':'x'}]"), 409,
            "name_invalid", "name");
    PROBLEM(f, ask(f, HTTP_PATCH, "/api/v2/nodes/nix", "[]"), 404, "not_found", "id");
    front_close(f);
}

TEST(malformed_operations_are_refused)
{
    struct front *f = world_with_nodes();
    const char *const wrong[] = {"{}",
                                 "7",
                                 "",
                                 "[7]",
                                 "[{}]",
                                 "[{'op':'add'}]",
                                 "[{'op':'add','path':'name','value':1}]",
                                 "[{'op':'add','path':'','value':1}]",
                                 "[{'op':'add','path':'/'}]",
                                 "[{'op':'add','path':'/name'}]",
                                 "[{'op':'replace','path':'/name'}]",
                                 "[{'op':'move','path':'/name'}]",
                                 "[{'op':'copy','path':'/name','from':7}]",
                                 "[{'op':'copy','path':'/name','from':'id'}]",
                                 "[{'op':'move','path':'/a/b','from':'/a'}]",
                                 "[{'op':'move','path':'/a','from':''}]",
                                 "[{'op':'remove','path':''}]",
                                 "[{'op':'replace','path':'','value':{}}]",
                                 "[{'op':1,'path':'/name'}]",
                                 "[{'op':'add','path':'/a~2','value':'q'}]",
                                 "[{'op':'add','path':'/a~','value':'q'}]"};
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        STATUS(ask(f, HTTP_PATCH, N1, wrong[i]), 400);
    PROBLEM(f, ask(f, HTTP_PATCH, N1, "[{'op':'test','path':'/name','value':'x'}]"), 409,
            "patch_conflict", "absent");
    PROBLEM(f, ask(f, HTTP_PATCH, N1, "[{'op':'test','path':'/name'}]"), 409, "patch_conflict",
            "absent");
    PROBLEM(f, ask(f, HTTP_PATCH, N1, "[{'op':'remove','path':'/nix'}]"), 409, "patch_conflict",
            "absent");
    struct asked *a = ask(f, HTTP_PATCH, N1, "[{'op':'add','path':'/a~1b~0','value':1}]");
    PROBLEM(f, a, 409, "read_only", "a/b~");
    a = ask_with(f, HTTP_PATCH, N1, "[]", "Content-Type: text/plain");
    PROBLEM(f, a, 415, "unsupported_media_type", "absent");
    STATUS(ask_with(f, HTTP_PATCH, N1, "[]", "Content-Type: application/json-patch+json"), 200);
    front_close(f);
}

/* The data of a noderole after a patch of {'a':{'b':[1,2,3]},'c':'x'}. */
static const char *patched(struct front *f, const char *operations)
{
    STATUS(ask(f, HTTP_PUT, "/api/v2/node_roles/1", "{'data':{'a':{'b':[1,2,3]},'c':'x'}}"), 200);
    struct asked *a = ask(f, HTTP_PATCH, "/api/v2/node_roles/1", operations);
    return a->status == 200 ? shown(f->w, read_noderole(f->w, "a@n1").proposed_data)
                            : at(f, a, "code");
}

TEST(a_patch_reaches_into_documents)
{
    struct front *f = world_with_nodes();
    world_bind(f->w, "a@n1");
    const char *const cases[][2] = {
        {"{'op':'add','path':'/data/a/d','value':7}", "{'a':{'b':[1,2,3],'d':7},'c':'x'}"},
        {"{'op':'add','path':'/data/a/b/1','value':7}", "{'a':{'b':[1,7,2,3]},'c':'x'}"},
        {"{'op':'add','path':'/data/a/b/3','value':7}", "{'a':{'b':[1,2,3,7]},'c':'x'}"},
        {"{'op':'add','path':'/data/a/b/-','value':7}", "{'a':{'b':[1,2,3,7]},'c':'x'}"},
        {"{'op':'add','path':'/data/','value':7}", "{'':7,'a':{'b':[1,2,3]},'c':'x'}"},
        {"{'op':'remove','path':'/data/a/b/0'}", "{'a':{'b':[2,3]},'c':'x'}"},
        {"{'op':'remove','path':'/data/a/b/2'},{'op':'add','path':'/data/a/b/-','value':4}",
         "{'a':{'b':[1,2,4]},'c':'x'}"},
        {"{'op':'replace','path':'/data/a/b/1','value':[]}", "{'a':{'b':[1,[],3]},'c':'x'}"},
        {"{'op':'replace','path':'/data/c','value':null}", "{'a':{'b':[1,2,3]},'c':null}"},
        {"{'op':'copy','from':'/data/a/b','path':'/data/a/b/0'}",
         "{'a':{'b':[[1,2,3],1,2,3]},'c':'x'}"},
        {"{'op':'copy','from':'/name','path':'/data/n'}", "'patch_conflict'"},
        {"{'op':'copy','from':'/id','path':'/data/c'}", "{'a':{'b':[1,2,3]},'c':1}"},
        {"{'op':'move','from':'/data/a/b','path':'/data/a'}", "{'a':[1,2,3],'c':'x'}"},
        {"{'op':'move','from':'/data/c','path':'/data/a/b/0'},"
         "{'op':'test','path':'/data/a/b','value':['x',1,2,3]}",
         "{'a':{'b':['x',1,2,3]}}"},
        {"{'op':'move','from':'/data/a/b/0','path':'/data/a/b/2'}", "{'a':{'b':[2,3,1]},'c':'x'}"},
        {"{'op':'move','from':'/data/c','path':'/data/c'}", "{'a':{'b':[1,2,3]},'c':'x'}"},
        {"{'op':'test','path':'/data/a/b/2','value':3},{'op':'remove','path':'/data/a'}",
         "{'c':'x'}"},
        {"{'op':'test','path':'/data/a/b/2','value':2}", "'patch_conflict'"},
        {"{'op':'test','path':'/data/a/b/-','value':3}", "'patch_conflict'"},
        {"{'op':'remove','path':'/data/a/b/3'}", "'patch_conflict'"},
        {"{'op':'add','path':'/data/a/b/4','value':1}", "'patch_conflict'"},
        {"{'op':'add','path':'/data/a/b/01','value':1}", "'patch_conflict'"},
        {"{'op':'add','path':'/data/a/b/x','value':1}", "'patch_conflict'"},
        {"{'op':'add','path':'/data/c/x','value':1}", "'patch_conflict'"},
        {"{'op':'add','path':'/data/x/y','value':1}", "'patch_conflict'"},
        {"{'op':'replace','path':'/data/x','value':1}", "'patch_conflict'"},
        {"{'op':'move','from':'/data/x','path':'/data/y'}", "'patch_conflict'"},
        {"{'op':'copy','from':'/data/c','path':'/state'}", "'read_only'"},
        {"{'op':'move','from':'/state','path':'/data/c'}", "'read_only'"},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char operations[256];
        snprintf(operations, sizeof operations, "[%s]", cases[i][0]);
        EXPECT_STR(patched(f, operations), cases[i][1]);
    }
    PROBLEM(f, ask(f, HTTP_PATCH, N1, "[{'op':'add','path':'/quirks/0','value':'q'}]"), 409,
            "read_only", "quirks");
    front_close(f);
}

/* Each operation copies the whole document into itself: deeper and twice as large every time. */
TEST(a_patch_cannot_grow_without_bounds)
{
    struct front *f = world_with_nodes();
    world_bind(f->w, "a@n1");
    const char *const copies[] = {"{'op':'copy','from':'/data','path':'/data/a/b/-'}",
                                  "{'op':'copy','from':'/data/a/b','path':'/data/a/b/-'}",
                                  "{'op':'copy','from':'/data/a','path':'/data/a/d'}"};
    char *operations = malloc(64 << 10);
    CHECK(operations != NULL);
    for (uint32_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        size_t n = (size_t)snprintf(operations, 64 << 10, "[%s", copies[i]);
        for (int k = 0; k < 900; k++)
            n += (size_t)snprintf(operations + n, (64 << 10) - n, ",%s", copies[i]);
        snprintf(operations + n, (64 << 10) - n, "]");
        const char *code = patched(f, operations);
        CHECK(strcmp(code, "'bad_json'") == 0 || strcmp(code, "'limit_reached'") == 0);
        STATUS(get(f, "/api/v2/node_roles/1"), 200);
    }
    free(operations);
    front_close(f);
}

static struct asked *strictly(struct front *f, const char *target, const char *body)
{
    return ask_with(f, HTTP_PUT, target, body, "Prefer: handling=strict");
}

TEST(the_last_value_of_a_repeated_key_counts_unless_strict)
{
    struct front *f = world_with_nodes();
    const char *n1 = "/api/v2/nodes/n1.example.com";
    STATUS(ask(f, HTTP_PUT, n1, "{'description':'first','description':'last'}"), 200);
    EXPECT_STR(at(f, get(f, n1), "description"), "'last'");
    struct asked *a = strictly(f, n1, "{'description':'one','description':'two'}");
    STATUS(a, 400);
    EXPECT_STR(at(f, a, "code"), "'bad_json'");
    EXPECT_STR(at(f, get(f, n1), "description"), "'last'");
    /* Also inside of values and in patches; the stored document has the key once. */
    const char *body =
        "{'node':'n1.example.com','role':'b','data':{'x':1,'y':{'z':1,'z':2},'x':3}}";
    STATUS(ask(f, HTTP_POST, "/api/v2/node_roles", body), 200);
    STATUS(ask(f, HTTP_PATCH, n1,
               "[{'op':'replace','path':'/alive','path':'/description','value':'patched'}]"),
           200);
    EXPECT_STR(at(f, get(f, n1), "description"), "'patched'");
    front_close(f);
}

TEST(strict_handling_refuses_unknown_fields)
{
    struct front *f = world_with_nodes();
    const char *n1 = "/api/v2/nodes/n1.example.com";
    STATUS(ask(f, HTTP_PUT, n1, "{'alvie':true}"), 200);
    struct asked *a = strictly(f, n1, "{'alvie':true,'description':'x'}");
    STATUS(a, 400);
    EXPECT_STR(at(f, a, "field"), "'alvie'");
    EXPECT_STR(at(f, get(f, n1), "description"), "''");
    STATUS(strictly(f, "/api/v2/nodes/n1.example.com?view=full",
                    "{'id':7,'description':'x','deployment':'system'}"),
           200);
    front_close(f);
}
