/* Attribs and their values, deployment roles, groups: details. tests/api/test_data.py has the cases
 * of the specification. */
#include "tests/unit/api/api_world.h"

#define V2 "/api/v2/"

static const char rack_yml[] =
    "{'barclamp':{'name':'shop','source_path':'/shop'},"
    "'roles':[{'name':'r','jig':'script','attribs':["
    "{'name':'color','map':'app/color','default':'grey','schema':{'type':'str'}},"
    "{'name':'box','map':'app/box','schema':{'type':'map','mapping':{'=':{'type':'any'}}}},"
    "{'name':'fixed','map':'app/fixed'}]},"
    "{'name':'spare','jig':'script','provides':['r']},"
    "{'name':'other','jig':'script','attribs':[{'name':'foreign','map':'f'}]}],"
    "'attribs':[{'name':'asset','map':'dmi/asset','schema':{'type':'any'}}]}";

static struct front *world_with_nodes(void)
{
    struct front *f = front_open();
    world_committed_deployment(f->w, "lab");
    DONE(f->w, cmd_import(f->w, rack_yml));
    world_node(f->w, "n1", "lab");
    world_bind_in(f->w, "r@n1", "lab");
    world_collect(f->w);
    return f;
}

#define N1    V2 "nodes/n1.example.com/"
#define COLOR N1 "attribs/color"
#define ASSET N1 "attribs/asset"

static struct asked *put(struct front *f, const char *target, const char *body)
{
    return ask(f, HTTP_PUT, target, body);
}

/* ---- attribs ---- */

TEST(an_attrib_has_thirteen_fields_and_a_sample)
{
    struct front *f = world_with_nodes();
    struct asked *a = get(f, V2 "attribs/color");
    STATUS(a, 200);
    EXPECT_STR(
        keys(a, body_of(a)),
        "barclamp_id,created_at,default,description,id,map,name,order,role_id,schema,ui_renderer,"
        "updated_at,writable");
    EXPECT_STR(at(f, a, "default"), "{'value':'grey'}");
    EXPECT_STR(at(f, a, "schema"), "{'type':'str'}");
    EXPECT_STR(at(f, a, "writable"), "true");
    a = get(f, V2 "attribs/fixed");
    EXPECT_STR(at(f, a, "default"), "{'value':null}");
    EXPECT_STR(at(f, a, "schema"), "null");
    a = get(f, V2 "attribs/sample");
    EXPECT_STR(keys(a, body_of(a)),
               "default,description,map,name,order,schema,ui_renderer,writable");
    EXPECT_STR(column(ask(f, HTTP_POST, V2 "attribs/match", "{'map':'app/box'}"), "name"), "box");
    front_close(f);
}

TEST(an_attrib_is_created_with_its_default_in_either_form)
{
    struct front *f = world_with_nodes();
    struct asked *a = ask(f, HTTP_POST, V2 "attribs",
                          "{'name':'a1','barclamp':'shop','role':'other','map':'x','type':'Attrib',"
                          "'default':{'value':7},'description':'d','order':3}");
    STATUS(a, 200);
    EXPECT_STR(at(f, a, "default"), "{'value':7}");
    EXPECT_STR(at(f, a, "order"), "3");
    CHECK(strcmp(at(f, a, "role_id"), "null") != 0);
    a = ask(f, HTTP_POST, V2 "attribs", "{'name':'a2','map':'y','default':{'value':1,'b':2}}");
    EXPECT_STR(at(f, a, "default"), "{'value':{'b':2,'value':1}}");
    EXPECT_STR(at(f, a, "barclamp_id"), "null");
    a = ask(f, HTTP_POST, V2 "attribs", "{'name':'a3','map':'z','default':null,'schema':null}");
    EXPECT_STR(at(f, a, "default"), "{'value':null}");
    EXPECT_STR(at(f, a, "schema"), "null");
    PROBLEM(f, ask(f, HTTP_POST, V2 "attribs", "{'name':'match'}"), 409, "name_invalid", "name");
    PROBLEM(f, ask(f, HTTP_POST, V2 "attribs", "{'name':'a1'}"), 409, "name_taken", "name");
    PROBLEM(f, ask(f, HTTP_POST, V2 "attribs", "{}"), 400, "missing", "name");
    PROBLEM(f, ask(f, HTTP_POST, V2 "attribs", "{'name':'a4','barclamp':'nix'}"), 404, "not_found",
            "barclamp");
    front_close(f);
}

TEST(an_attrib_itself_cannot_be_changed)
{
    struct front *f = world_with_nodes();
    PROBLEM(f, put(f, V2 "attribs/color", "{'value':1}"), 405, "not_supported", "absent");
    PROBLEM(f, ask(f, HTTP_PATCH, V2 "attribs/color", "[]"), 405, "not_supported", "absent");
    STATUS(ask(f, HTTP_DELETE, V2 "attribs/color", ""), 200);
    PROBLEM(f, get(f, V2 "attribs/color"), 404, "not_found", "id");
    PROBLEM(f, get(f, COLOR), 404, "not_found", "id");
    front_close(f);
}

/* ---- values ---- */

TEST(objects_list_the_attribs_that_are_defined_on_them)
{
    struct front *f = world_with_nodes();
    EXPECT_STR(column(get(f, N1 "attribs"), "name"), "color,box,fixed,asset");
    EXPECT_STR(column(get(f, N1 "attribs"), "value"), "grey,null,null,null");
    EXPECT_STR(column(get(f, V2 "roles/r/attribs"), "name"), "color,box,fixed");
    EXPECT_STR(column(get(f, V2 "roles/spare/attribs"), "name"), "color,box,fixed");
    EXPECT_STR(column(get(f, V2 "roles/other/attribs"), "name"), "foreign");
    EXPECT_STR(column(get(f, V2 "deployments/lab/attribs"), "name"), "color,box,fixed");
    EXPECT_STR(column(get(f, V2 "deployments/system/attribs"), "name"), "");
    EXPECT_STR(column(get(f, V2 "deployment_roles/r/attribs?deployment=lab"), "name"),
               "color,box,fixed");
    EXPECT_STR(column(get(f, V2 "node_roles/1/attribs"), "name"), "color,box,fixed");
    PROBLEM(f, get(f, V2 "nodes/nix/attribs"), 404, "not_found", "id");
    PROBLEM(f, get(f, N1 "attribs/foreign"), 404, "not_found", "id");
    PROBLEM(f, get(f, N1 "attribs/nix"), 404, "not_found", "id");
    front_close(f);
}

TEST(a_value_follows_the_thirteen_fields)
{
    struct front *f = world_with_nodes();
    struct asked *a = get(f, COLOR);
    STATUS(a, 200);
    EXPECT_STR(a->type, "application/vnd.crowbar.attrib.obj+json; version=2.0");
    EXPECT_STR(
        keys(a, body_of(a)),
        "barclamp_id,created_at,default,description,id,map,name,order,role_id,schema,ui_renderer,"
        "updated_at,value,writable");
    CHECK(a->said_count == 0); /* no ETag: the turn of the attrib does not change with the value */
    a = ask_with(f, HTTP_GET, COLOR, "", "x-return-attributes: [\"value\"]");
    EXPECT_STR(shown(f->w, str_from(a->body)), "{'value':'grey'}");
    a = ask_with(f, HTTP_GET, COLOR, "", "x-return-attributes: [\"name\"]");
    EXPECT_STR(shown(f->w, str_from(a->body)), "{'name':'color'}");
    front_close(f);
}

TEST(any_json_can_be_a_value)
{
    struct front *f = world_with_nodes();
    const char *const values[] = {"false", "''", "[]", "{}", "0", "'456'", "[{'a':null}]"};
    char body[64];
    for (uint32_t i = 0; i < sizeof values / sizeof *values; i++) {
        snprintf(body, sizeof body, "{'value':%s}", values[i]);
        EXPECT_STR(at(f, put(f, ASSET, body), "value"), values[i]);
        EXPECT_STR(at(f, get(f, ASSET), "value"), values[i]);
    }
    EXPECT_STR(at(f, put(f, ASSET, "{'value':null}"), "value"), "null");
    EXPECT_STR(at(f, put(f, COLOR, "{'value':'red'}"), "value"), "'red'");
    EXPECT_STR(at(f, put(f, COLOR, "{'value':null}"), "value"), "'grey'");
    PROBLEM(f, put(f, ASSET, "{}"), 400, "missing", "value");
    EXPECT_STR(at(f,
                  ask_with(f, HTTP_PUT, ASSET, "value=456",
                           "Content-Type: application/x-www-form-urlencoded"),
                  "value"),
               "'456'");
    front_close(f);
}

TEST(only_user_and_note_can_be_written)
{
    struct front *f = world_with_nodes();
    const char *const others[] = {"system", "wall", "discovery", "hint"};
    char body[64];
    for (uint32_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(body, sizeof body, "{'value':1,'bucket':'%s'}", others[i]);
        PROBLEM(f, put(f, ASSET, body), 405, "not_supported", "bucket");
    }
    PROBLEM(f, put(f, ASSET, "{'value':1,'bucket':'nix'}"), 400, "bad_value", "bucket");
    PROBLEM(f, put(f, N1 "attribs/fixed", "{'value':1}"), 409, "read_only", "attrib_id");
    PROBLEM(f, put(f, COLOR, "{'value':7}"), 409, "schema_violated", "value");
    EXPECT_STR(at(f, put(f, N1 "attribs/fixed", "{'value':1,'bucket':'note'}"), "value"), "1");
    EXPECT_STR(at(f, get(f, N1 "attribs/fixed"), "value"), "null");
    EXPECT_STR(at(f, get(f, N1 "attribs/fixed?bucket=note"), "value"), "1");
    front_close(f);
}

TEST(each_bucket_returns_its_layer)
{
    struct front *f = world_with_nodes();
    const int64_t nr = the_noderole(f->w, "r@n1");
    world_bring(f->w, "r@n1", "active");
    EXPECT_STR(at(f, put(f, COLOR, "{'value':'pink'}"), "value"), "'pink'");
    EXPECT_STR(at(f, get(f, COLOR), "value"), "'grey'"); /* invisible until it is committed */
    EXPECT_STR(at(f, get(f, COLOR "?bucket=proposed"), "value"), "'pink'");
    EXPECT_STR(at(f, get(f, COLOR "?bucket=committed"), "value"), "'grey'");
    EXPECT_STR(at(f, put(f, V2 "deployments/lab/attribs/color", "{'value':'blue'}"), "value"),
               "'blue'");
    EXPECT_STR(at(f, get(f, COLOR), "value"), "'blue'");
    EXPECT_STR(at(f, get(f, COLOR "?bucket=committed"), "value"), "'grey'");
    struct command set = cmd_set(f->w, TABLE_NODEROLE, nr, "color", BUCKET_SYSTEM, "'red'");
    set.depth = 1;
    DONE(f->w, set);
    world_collect(f->w);
    EXPECT_STR(at(f, get(f, COLOR), "value"), "'red'");
    EXPECT_STR(at(f, get(f, COLOR "?bucket=system"), "value"), "'red'");
    EXPECT_STR(at(f, get(f, COLOR "?bucket=wall"), "value"), "'grey'");
    EXPECT_STR(at(f, get(f, COLOR "?bucket=user"), "value"), "'grey'");
    EXPECT_STR(at(f, get(f, COLOR "?bucket=hint"), "value"), "'grey'");
    EXPECT_STR(at(f, get(f, V2 "roles/r/attribs/color"), "value"), "'grey'");
    EXPECT_STR(column(get(f, V2 "node_roles/1/attribs?bucket=system"), "value"), "red,null,null");
    PROBLEM(f, get(f, COLOR "?bucket=nix"), 400, "bad_value", "bucket");
    PROBLEM(f, get(f, N1 "attribs?bucket=nix"), 400, "bad_value", "bucket");
    front_close(f);
}

TEST(a_patch_may_change_only_the_value)
{
    struct front *f = world_with_nodes();
    STATUS(put(f, ASSET, "{'value':{'a':1,'list':[1]}}"), 200);
    struct asked *a = ask(f, HTTP_PATCH, ASSET,
                          "[{'op':'test','path':'/value/a','value':1},"
                          "{'op':'add','path':'/value/list/-','value':2},"
                          "{'op':'add','path':'/value/b','value':null}]");
    STATUS(a, 200);
    EXPECT_STR(at(f, a, "value"), "{'a':1,'b':null,'list':[1,2]}");
    PROBLEM(f, ask(f, HTTP_PATCH, ASSET, "[{'op':'replace','path':'/map','value':'x'}]"), 409,
            "read_only", "map");
    PROBLEM(f, ask(f, HTTP_PATCH, ASSET, "[{'op':'add','path':'/nix','value':1}]"), 409,
            "read_only", "nix");
    PROBLEM(f, ask(f, HTTP_PATCH, ASSET, "[{'op':'remove','path':'/value/a'}]"), 400, "bad_value",
            "value");
    PROBLEM(f, ask(f, HTTP_PATCH, ASSET, "[{'op':'test','path':'/value','value':1}]"), 409,
            "patch_conflict", "absent");
    PROBLEM(f, ask(f, HTTP_PATCH, ASSET, "{}"), 400, "bad_json", "absent");
    EXPECT_STR(at(f, ask(f, HTTP_PATCH, COLOR, "[{'op':'remove','path':'/value'}]"), "value"),
               "'grey'");
    EXPECT_STR(at(f,
                  ask(f, HTTP_PATCH, V2 "roles/r/attribs/color",
                      "[{'op':'replace','path':'/value','value':'white'}]"),
                  "value"),
               "'white'");
    EXPECT_STR(at(f, get(f, V2 "deployments/lab/attribs/color"), "value"), "'white'");
    EXPECT_STR(at(f, get(f, COLOR), "value"), "'grey'"); /* null overrides the layers below */
    front_close(f);
}

/* Another client writes between read and command; the patch is computed again from the new value.
 */
TEST(a_patch_of_a_value_is_repeated_after_another_change)
{
    struct front *f = world_with_nodes();
    STATUS(put(f, ASSET, "{'value':[1]}"), 200);
    struct asked *a = asked_new(f, HTTP_PATCH, ASSET);
    asked_header(a, "Authorization", f->bearer);
    asked_body(f, a, "[{'op':'add','path':'/value/-','value':3}]");
    asked_send(f, a);
    CHECK(f->line_count == 1 && a->answers == 0);
    DONE(f->w, cmd_set(f->w, TABLE_NODE, the_node(f->w, "n1"), "asset", BUCKET_USER, "[1,2]"));
    world_collect(f->w);
    while (f->line_count)
        front_take(f);
    EXPECT_STR(at(f, a, "value"), "[1,2,3]");
    front_close(f);
}

/* ---- deployment roles ---- */

TEST(a_deployment_role_is_created_changed_and_deleted)
{
    struct front *f = world_with_nodes();
    struct asked *a =
        ask(f, HTTP_POST, V2 "deployment_roles", "{'role':'other','deployment':'lab'}");
    STATUS(a, 200);
    EXPECT_STR(keys(a, body_of(a)), "created_at,deployment_id,id,role_id,updated_at");
    EXPECT_STR(at(f, get(f, V2 "deployment_roles/other?deployment=lab"), "id"), at(f, a, "id"));
    EXPECT_STR(at(f, get(f, V2 "deployment_roles/other?deployment=2"), "id"), at(f, a, "id"));
    PROBLEM(f, get(f, V2 "deployment_roles/other"), 404, "not_found", "id");
    PROBLEM(f, get(f, V2 "deployment_roles/other?deployment=system"), 404, "not_found", "id");
    STATUS(put(f, V2 "deployment_roles/other?deployment=lab", "{'data':{'f':1}}"), 200);
    EXPECT_STR(at(f, get(f, V2 "deployments/lab/attribs/foreign"), "value"), "1");
    EXPECT_STR(at(f, get(f, V2 "deployments/lab/attribs/foreign?bucket=committed"), "value"),
               "null");
    STATUS(put(f, V2 "deployment_roles/other/commit?deployment=lab", ""), 200);
    EXPECT_STR(at(f, get(f, V2 "deployments/lab/attribs/foreign?bucket=committed"), "value"), "1");
    STATUS(put(f, V2 "deployment_roles/other/propose?deployment=lab", ""), 200);
    PROBLEM(f, put(f, V2 "deployment_roles/other?deployment=lab", "{}"), 400, "missing", "data");
    PROBLEM(f, ask(f, HTTP_PATCH, V2 "deployment_roles/1", "[]"), 405, "not_supported", "absent");
    PROBLEM(f, ask(f, HTTP_DELETE, V2 "deployment_roles/r?deployment=lab", ""), 409, "in_use",
            "id");
    STATUS(ask(f, HTTP_DELETE, V2 "deployment_roles/other?deployment=lab", ""), 200);
    PROBLEM(f, ask(f, HTTP_POST, V2 "deployment_roles", "{}"), 400, "missing", "role");
    front_close(f);
}

TEST(a_role_is_added_through_the_deployment)
{
    struct front *f = world_with_nodes();
    struct asked *a = ask(f, HTTP_POST, V2 "deployments/lab/roles", "{'role':'other'}");
    STATUS(a, 200);
    EXPECT_STR(a->type, "application/vnd.crowbar.deployment_role.obj+json; version=2.0");
    EXPECT_STR(at(f, a, "deployment_id"), "2");
    EXPECT_STR(at(f, ask(f, HTTP_POST, V2 "deployments/lab/roles", "{'role':'other'}"), "id"),
               at(f, a, "id"));
    EXPECT_STR(column(get(f, V2 "deployments/lab/roles"), "name"), "r,other");
    EXPECT_STR(column(get(f, V2 "deployments/lab/deployment_roles"), "id"), "1,2");
    PROBLEM(f, ask(f, HTTP_POST, V2 "deployments/nix/roles", "{'role':'other'}"), 404, "not_found",
            "id");
    PROBLEM(f, ask(f, HTTP_POST, V2 "deployments/lab/roles", "{'deployment':'lab'}"), 400,
            "missing", "role");
    front_close(f);
}

TEST(what_belongs_to_a_role_is_listed_below_it)
{
    struct front *f = world_with_nodes();
    world_node(f->w, "n2", NULL);
    world_bind(f->w, "r@n2");
    world_collect(f->w);
    EXPECT_STR(column(get(f, V2 "roles/r/nodes"), "name"), "n1.example.com,n2.example.com");
    EXPECT_STR(column(get(f, V2 "roles/r/node_roles"), "id"), "1,2");
    EXPECT_STR(column(get(f, V2 "roles/r/deployment_roles"), "deployment_id"), "2,1");
    EXPECT_STR(column(get(f, V2 "roles/other/nodes"), "name"), "");
    EXPECT_STR(column(get(f, V2 "deployment_roles/r/nodes?deployment=lab"), "name"),
               "n1.example.com");
    EXPECT_STR(column(get(f, V2 "deployment_roles/r/roles?deployment=lab"), "name"), "r");
    PROBLEM(f, get(f, V2 "roles/nix/nodes"), 404, "not_found", "id");
    front_close(f);
}

/* ---- groups ---- */

TEST(a_group_is_found_by_name_or_with_its_category)
{
    struct front *f = world_with_nodes();
    STATUS(ask(f, HTTP_POST, V2 "groups", "{'name':'foo','category':'tag'}"), 200);
    struct asked *a = ask(f, HTTP_POST, V2 "groups", "{'name':'foo','category':'rack','order':5}");
    EXPECT_STR(keys(a, body_of(a)), "category,created_at,description,id,name,order,updated_at");
    EXPECT_STR(at(f, a, "order"), "5");
    EXPECT_STR(at(f, get(f, V2 "groups/foo"), "category"), "'tag'");
    EXPECT_STR(at(f, get(f, V2 "groups/rack%2Ffoo"), "category"), "'rack'");
    EXPECT_STR(at(f, put(f, V2 "groups/rack%2Ffoo", "{'description':'d'}"), "description"), "'d'");
    a = ask(f, HTTP_PATCH, V2 "groups/rack%2Ffoo",
            "[{'op':'replace','path':'/category','value':'class'}]");
    EXPECT_STR(at(f, a, "category"), "'class'");
    PROBLEM(f, get(f, V2 "groups/rack%2Ffoo"), 404, "not_found", "id");
    PROBLEM(f, ask(f, HTTP_POST, V2 "groups", "{'name':'foo','category':'nix'}"), 409,
            "name_invalid", "category");
    STATUS(ask(f, HTTP_POST, V2 "groups", "{'name':'sample'}"), 200);
    EXPECT_STR(at(f, get(f, V2 "groups/sample"), "category"), "'ui'");
    front_close(f);
}

TEST(nodes_are_added_to_groups_and_removed)
{
    struct front *f = world_with_nodes();
    STATUS(ask(f, HTTP_POST, V2 "groups", "{'name':'one'}"), 200);
    struct asked *a = ask(f, HTTP_POST, V2 "groups/one/nodes", "{'node':'n1.example.com'}");
    STATUS(a, 200);
    EXPECT_STR(at(f, a, "name"), "'one'");
    EXPECT_STR(column(get(f, V2 "groups/one/nodes"), "name"), "n1.example.com");
    a = ask(f, HTTP_DELETE, V2 "groups/one/nodes/n1.example.com", "");
    STATUS(a, 200);
    EXPECT_STR(column(get(f, V2 "groups/one/nodes"), "name"), "");
    PROBLEM(f, ask(f, HTTP_DELETE, V2 "groups/one/nodes/n1.example.com", ""), 404, "not_found",
            "id");
    PROBLEM(f, ask(f, HTTP_DELETE, V2 "groups/one/nodes/nix", ""), 404, "not_found", "id");
    PROBLEM(f, ask(f, HTTP_POST, V2 "groups/one/nodes", "{}"), 400, "missing", "node");
    PROBLEM(f, ask(f, HTTP_POST, V2 "groups/one/nodes", "{'node_id':99}"), 404, "not_found",
            "node_id");
    PROBLEM(f, ask(f, HTTP_DELETE, V2 "groups/not_set", ""), 409, "in_use", "id");
    front_close(f);
}

/* ---- hammers ---- */

#define PERFORM V2 "hammers/1/perform"

TEST(a_hammer_performs_only_power_actions)
{
    struct front *f = world_with_nodes();
    struct asked *a = ask(f, HTTP_POST, PERFORM, "{'method':'reboot','args':['now']}");
    STATUS(a, 200);
    EXPECT_STR(a->type, "application/vnd.crowbar.secure_shell_hammer.action+json; version=2.0");
    EXPECT_STR(shown(f->w, str_from(a->body)),
               "{'args':['now'],'id':1,'method':'reboot','name':'ssh','node':'n1.example.com',"
               "'result_type':'action','results':'ordered'}");
    CHECK(!read_node(f->w, "n1").alive);
    a = ask(f, HTTP_POST, PERFORM, "{'method':'run','args':{'cmd':'rm'}}");
    STATUS(a, 200);
    EXPECT_STR(at(f, a, "result_type"), "'exception'");
    EXPECT_STR(at(f, a, "args"), "{'cmd':'rm'}");
    HAS(at(f, a, "results"), "reboot");
    EXPECT_STR(at(f, ask(f, HTTP_POST, PERFORM, "{'method':'get_funky'}"), "result_type"),
               "'exception'");
    PROBLEM(f, ask(f, HTTP_POST, PERFORM, "{}"), 400, "missing", "method");
    PROBLEM(f, ask(f, HTTP_POST, V2 "hammers/9/perform", "{'method':'x'}"), 404, "not_found", "id");
    front_close(f);
}

/* ---- barclamps ---- */

TEST(a_barclamp_is_shown_with_all_its_fields)
{
    struct front *f = world_with_nodes();
    DONE(f->w, cmd_import(f->w, "{'barclamp':{'name':'old','source_path':'/o','version':'2.E',"
                                "'parent':'shop'},'git':{'commit':'abc'}}"));
    world_collect(f->w);
    struct asked *a = get(f, V2 "barclamps/old");
    STATUS(a, 200);
    EXPECT_STR(keys(a, body_of(a)),
               "barclamp_id,build_on,build_version,cfg_data,commit,created_at,description,id,name,"
               "source_path,source_url,updated_at,version");
    EXPECT_STR(at(f, a, "version"), "2");
    EXPECT_STR(at(f, a, "commit"), "'abc'");
    EXPECT_STR(at(f, a, "source_url"), "null");
    EXPECT_STR(at(f, a, "cfg_data/git"), "{'commit':'abc'}");
    EXPECT_STR(at(f, a, "barclamp_id"), at(f, get(f, V2 "barclamps/shop"), "id"));
    a = get(f, V2 "barclamps/shop");
    EXPECT_STR(at(f, a, "barclamp_id"), at(f, a, "id"));
    const char *everybody = column(get(f, V2 "barclamps"), "name");
    EXPECT_STR(column(ask(f, HTTP_POST, V2 "barclamps/match", "{}"), "name"), everybody);
    EXPECT_STR(column(ask(f, HTTP_POST, V2 "barclamps/match", "{'nix':1}"), "name"), everybody);
    EXPECT_STR(column(ask(f, HTTP_POST, V2 "barclamps/match", "{'version':2}"), "name"), "old");
    a = get(f, V2 "barclamps/sample");
    EXPECT_STR(at(f, a, "version"), "null");
    EXPECT_STR(at(f, a, "barclamp_id"), "absent");
    PROBLEM(f, ask(f, HTTP_DELETE, V2 "barclamps/old", ""), 405, "not_supported", "absent");
    PROBLEM(f, ask(f, HTTP_PATCH, V2 "barclamps/old", "[]"), 405, "not_supported", "absent");
    PROBLEM(f, get(f, V2 "barclamps/nix"), 404, "not_found", "id");
    front_close(f);
}

/* Accepts JSON objects unchanged and refuses strings. */
static err read_plainly(void *self, struct api_barclamp *sent)
{
    struct front *f = self;
    CHECK(f->w && sent->arena);
    if (sent->is_json) {
        sent->document = sent->text;
        return OK;
    }
    sent->problems = arena_new(sent->arena, struct problem);
    *sent->problems = (struct problem){
        .code = PROBLEM_SCHEMA_INVALID, .field = STR("value"), .text = STR("line 3: no")};
    return OK;
}

TEST(an_uploaded_barclamp_is_parsed_and_imported)
{
    struct front *f = world_with_nodes();
    PROBLEM(f, ask(f, HTTP_POST, V2 "barclamps", "{'value':'x'}"), 503, "unavailable", "absent");
    api_free(f->api);
    f->engine.read_barclamp = read_plainly;
    f->api = api_new(f->engine, f->passwords);
    struct asked *a = ask(f, HTTP_POST, V2 "barclamps",
                          "{'value':{'barclamp':{'name':'new','source_path':'/n'},"
                          "'roles':[{'name':'fresh','jig':'script'}]}}");
    STATUS(a, 200);
    EXPECT_STR(at(f, a, "name"), "'new'");
    STATUS(get(f, V2 "roles/fresh"), 200);
    a = put(f, V2 "barclamps/new", "{'value':{'barclamp':{'name':'new','source_path':'/m'}}}");
    EXPECT_STR(at(f, a, "source_path"), "'/m'");
    PROBLEM(f, put(f, V2 "barclamps/shop", "{'value':{'barclamp':{'name':'new'}}}"), 409,
            "name_invalid", "value");
    PROBLEM(f, put(f, V2 "barclamps/nix", "{'value':{}}"), 404, "not_found", "id");
    PROBLEM(f, ask(f, HTTP_POST, V2 "barclamps", "{'value':'x'}"), 409, "schema_invalid", "value");
    PROBLEM(f, ask(f, HTTP_POST, V2 "barclamps", "{'value':7}"), 400, "bad_value", "value");
    PROBLEM(f, ask(f, HTTP_POST, V2 "barclamps", "{}"), 400, "missing", "value");
    a = ask_with(f, HTTP_PUT, V2 "barclamps/new", "{'value':{'barclamp':{'name':'new'}}}",
                 "If-Match: \"1\"");
    PROBLEM(f, a, 412, "precondition_failed", "if_turn");
    front_close(f);
}

/* ---- simulated discovery ---- */

static err fake_discovery(void *self, struct str source, struct arena *arena, struct str *out_text)
{
    struct front *f = self;
    CHECK(f->w && arena);
    *out_text = STR("{ \"dmi\": {\"asset\": \"found\"} }");
    if (str_eq(source, STR("broken")))
        *out_text = STR("{");
    return str_eq(source, STR("nix")) ? ERR_NOT_FOUND : OK;
}

#define PRETEND "/api/test/nodes/n1.example.com"

TEST(discovery_is_simulated_only_with_the_test_jig)
{
    struct front *f = world_with_nodes();
    api_free(f->api);
    f->engine.test_discovery = fake_discovery;
    f->api = api_new(f->engine, f->passwords);
    PROBLEM(f, put(f, PRETEND, ""), 404, "not_found", "id");
    DONE(f->w,
         CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_TEST_JIG, .test_jig = true));
    STATUS(put(f, PRETEND, ""), 200);
    EXPECT_STR(at(f, get(f, ASSET "?bucket=discovery"), "value"), "'found'");
    EXPECT_STR(at(f, get(f, ASSET), "value"), "'found'");
    PROBLEM(f, put(f, PRETEND "?source=nix", ""), 404, "not_found", "source");
    PROBLEM(f, put(f, PRETEND "?source=broken", ""), 400, "bad_json", "source");
    PROBLEM(f, put(f, PRETEND "?source=..%2Fx", ""), 400, "bad_value", "source");
    PROBLEM(f, put(f, PRETEND, "{'source':'a/b'}"), 400, "bad_value", "source");
    PROBLEM(f, put(f, "/api/test/nodes/nix", ""), 404, "not_found", "id");
    front_close(f);
}
