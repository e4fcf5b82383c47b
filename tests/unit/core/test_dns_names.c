/* Goal: the DNS names of allocations are those that the filters give, whatever changed: nodes,
 * roles, data, networks, services; and a large evaluation is done in slices. Method: one change for
 * each thing that a name depends on. core_check(), which world.h calls after each step, compares
 * all names with an evaluation from nothing unless one is pending; here pending is checked too. */
#include "tests/world/dns_world.h"
#include "core/network/network_private.h"

#include <string.h>

/* The names after a step that evaluates at once. */
static void expect_now(struct world *w, const char *names, struct where where)
{
    if (core_dns_names_are_pending(w->core))
        world_fail(where, "an evaluation is pending");
    world_expect_str(dns_names(w), names, where);
}

/* The names after a step that starts an evaluation of all allocations. */
static void expect_later(struct world *w, const char *names, struct where where)
{
    if (!core_dns_names_are_pending(w->core))
        world_fail(where, "no evaluation is pending");
    world_anneal(w);
    expect_now(w, names, where);
}

#define NOW(w, names)   expect_now((w), (names), HERE)
#define LATER(w, names) expect_later((w), (names), HERE)

/* The service "system" exists; the node n1 has an address. */
static struct world *open_served(void)
{
    struct world *w = dns_open();
    dns_serve(w, "['system']");
    dns_node(w, "n1", "prod");
    return w;
}

/* ---- nodes and allocations ---- */

TEST(a_name_follows_the_name_and_the_deployment_of_its_node)
{
    struct world *w = open_served();
    const int64_t n = the_node(w, "n1");
    dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}.{{node.deployment}}");
    NOW(w, "n1.prod A by f");
    DONE(w, CMD(NODE_UPDATE, node_update, .id = n, .given = GIVEN_NAME,
                .name = STR("m1.example.com")));
    NOW(w, "m1.prod A by f");
    DONE(w, CMD(NODE_UPDATE, node_update, .id = n, .given = GIVEN_NODE_DEPLOYMENT,
                .deployment_id = SYSTEM));
    NOW(w, "m1.system A by f");
    DONE(w, CMD(NODE_UPDATE, node_update, .id = n, .given = GIVEN_NODE_DEPLOYMENT,
                .deployment_id = the_deployment(w, "prod")));
    DONE(w, CMD(DEPLOYMENT_UPDATE, deployment_update, .id = the_deployment(w, "prod"),
                .given = GIVEN_NAME, .name = STR("lab")));
    LATER(w, "m1.lab A by f");
    DONE(w, CMD(DEPLOYMENT_DELETE, deployment_delete, .id = the_deployment(w, "lab")));
    NOW(w, "m1.system A by f");
    world_close(w);
}

TEST(a_name_comes_and_goes_with_its_allocation)
{
    struct world *w = dns_open();
    dns_serve(w, "['system']");
    dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}");
    NOW(w, "");
    const int64_t a1 = dns_node(w, "n1", "prod");
    NOW(w, "n1 A by f");
    dns_node(w, "n2", "prod");
    dns_node(w, "n3", NULL);
    NOW(w, "n1 A by f, n2 A by f, n3 A by f");
    DONE(w, CMD(NETWORK_DEALLOCATE, network_deallocate, .id = a1));
    NOW(w, "n2 A by f, n3 A by f");
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n2")));
    NOW(w, "n3 A by f");
    DONE(w, CMD(NETWORK_DELETE, network_delete,
                .id = core_find(w->core, TABLE_NETWORK, STR("alpha"))));
    NOW(w, "");
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == 0);
    world_close(w);
}

TEST(an_ipv6_allocation_has_an_aaaa_entry)
{
    struct world *w = open_served();
    dns_filter(w, "f", "net.name == \"beta\"", 10, "{{node.name}}");
    DONE(w, CMD(NETWORK_CREATE, network_create, .name = STR("beta"),
                .given = GIVEN_NETWORK_CONDUIT | GIVEN_NETWORK_V6PREFIX, .conduit = STR("1g1"),
                .v6prefix = STR("fd00:1:2:3")));
    DONE(w, CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(w, "n1"),
                .network_id = core_find(w->core, TABLE_NETWORK, STR("beta"))));
    NOW(w, "n1 AAAA by f");
    CHECK(core_dns_name_entry_type(w->core, 4711).len == 0);
    world_close(w);
}

TEST(a_result_that_is_no_dns_name_makes_no_entry)
{
    struct world *w = open_served();
    struct str name;
    uint32_t count;
    const int64_t f = dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}_x");
    const int64_t a = core_next_id(w->core, TABLE_NETWORK_ALLOCATION, 0);
    NOW(w, "");
    CHECK(core_dns_name(w->core, a, f, &w->arena, &name) == DNS_NAME_INVALID);
    CHECK(str_eq(name, STR("n1_x")));
    DONE(w, CMD(DNS_NAME_FILTER_UPDATE, dns_name_filter_update, .id = f,
                .given = GIVEN_FILTER_TEMPLATE, .template = STR("{{node.mac}}")));
    LATER(w, "");
    CHECK(core_dns_name(w->core, a, f, &w->arena, &name) == DNS_NAME_INVALID && name.len == 0);
    /* An entry whose name becomes invalid is removed. */
    world_node_attrib(w, "hint-admin-macs", "'map':'admin_macs','schema':{'type':'any'}");
    world_anneal(w);
    DONE(w, cmd_set(w, TABLE_NODE, the_node(w, "n1"), "hint-admin-macs", BUCKET_USER,
                    "['no mac',7,'52-54-00-AB-CD-EF']"));
    NOW(w, "52-54-00-ab-cd-ef A by f");
    DONE(w, cmd_set(w, TABLE_NODE, the_node(w, "n1"), "hint-admin-macs", BUCKET_USER, "[]"));
    NOW(w, "");
    name = STR("unset");
    CHECK(core_dns_name(w->core, 4711, f, &w->arena, &name) == DNS_NAME_NO_MATCH && !name.len);
    name = STR("unset");
    CHECK(core_dns_name(w->core, a, 4711, &w->arena, &name) == DNS_NAME_NO_MATCH && !name.len);
    core_dns_name_entries_of(w->core, 4711, &w->arena, &count);
    CHECK(count == 0 && core_next_dns_name_entry_of(w->core, 4711, 0) == 0);
    world_close(w);
}

/* ---- roles and data ---- */

TEST(a_name_follows_the_roles_of_its_node)
{
    struct world *w = open_served();
    world_role(w, "web", "");
    world_anneal(w);
    dns_filter(w, "f", "node.role has \"web\"", 10, "{{node.name}}");
    NOW(w, "");
    world_bind_in(w, "web@n1", "prod");
    NOW(w, "n1 A by f");
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "web@n1")));
    NOW(w, "");
    world_close(w);
}

TEST(a_name_follows_the_value_of_a_node_attrib)
{
    struct world *w = open_served();
    const int64_t n = the_node(w, "n1");
    dns_filter(w, "f", "node.attr.row == \"7\"", 10, "{{node.name}}");
    NOW(w, "");
    /* The attrib is defined later than the filter; its default is the value of all nodes. */
    world_node_attrib(w, "row", "'map':'rack/row','schema':{'type':'any'},'default':7");
    LATER(w, "n1 A by f");
    DONE(w, cmd_set(w, TABLE_NODE, n, "row", BUCKET_USER, "'8'"));
    NOW(w, "");
    DONE(w, cmd_set(w, TABLE_NODE, n, "row", BUCKET_USER, "'7'"));
    NOW(w, "n1 A by f");
    DONE(w, cmd_set(w, TABLE_NODE, n, "row", BUCKET_USER, "true"));
    NOW(w, "");
    DONE(w, cmd_set(w, TABLE_NODE, n, "row", BUCKET_USER, "[7]"));
    NOW(w, "");
    DONE(w, cmd_set(w, TABLE_NODE, n, "row", BUCKET_USER, "7"));
    NOW(w, "n1 A by f");
    DONE(w, CMD(ATTRIB_DELETE, attrib_delete, .id = the_attrib(w, "row")));
    LATER(w, "");
    world_close(w);
}

TEST(booleans_are_compared_as_they_are_written)
{
    struct world *w = open_served();
    const int64_t n = the_node(w, "n1");
    world_node_attrib(w, "row", "'map':'rack/row','schema':{'type':'any'}");
    dns_filter(w, "t", "node.attr.row == \"true\"", 10, "t");
    dns_filter(w, "f", "node.attr.row == \"false\"", 20, "f");
    DONE(w, cmd_set(w, TABLE_NODE, n, "row", BUCKET_USER, "true"));
    NOW(w, "t A by t");
    DONE(w, cmd_set(w, TABLE_NODE, n, "row", BUCKET_USER, "false"));
    NOW(w, "f A by f");
    world_close(w);
}

TEST(a_name_follows_the_committed_value_of_a_role_attrib)
{
    struct world *w = open_served();
    world_role(w, "web",
               "'attribs':[{'name':'web-zone','map':'web/zone','schema':{'type':'str'}}]");
    world_anneal(w);
    dns_filter(w, "f", "node.attr.web-zone == \"dmz\"", 10, "{{node.name}}");
    NOW(w, "");
    const int64_t nr = world_bind_in(w, "web@n1", "prod");
    DONE(w, cmd_set(w, TABLE_NODEROLE, nr, "web-zone", BUCKET_USER, "'dmz'"));
    NOW(w, "");
    world_commit(w, "web@n1");
    NOW(w, "n1 A by f");
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = nr));
    NOW(w, "");
    /* A value of the role in the deployment is a value of its noderoles. */
    world_bind_in(w, "web@n1", "prod");
    DONE(w, cmd_set(w, TABLE_DEPLOYMENT_ROLE, the_deployment_role(w, "web", "prod"), "web-zone",
                    BUCKET_USER, "'dmz'"));
    world_anneal(w);
    NOW(w, "");
    world_commit_deployment(w, "prod");
    LATER(w, "n1 A by f");
    world_close(w);
}

/* ---- plans ---- */

static const char *names_of_plan(struct world *w, const char *key)
{
    const struct command commit =
        CMD(DEPLOYMENT_COMMIT, deployment_commit, .id = the_deployment(w, "prod"));
    core_plan(w->core, &commit, &w->arena, &w->out);
    CHECK(w->out.verdict == VERDICT_DONE);
    return world_path(w, w->out.doc, key);
}

TEST(a_plan_lists_the_names_that_the_values_of_a_noderole_change)
{
    struct world *w = open_served();
    world_role(w, "web",
               "'attribs':[{'name':'web-zone','map':'web/zone','schema':{'type':'str'}}]");
    world_anneal(w);
    const int64_t nr = world_bind_in(w, "web@n1", "prod");
    EXPECT_STR(names_of_plan(w, "summary/names_count"), "0"); /* no filter tests values */
    dns_filter(w, "dmz", "node.attr.web-zone == \"dmz\"", 10, "{{node.name}}");
    dns_filter(w, "lab", "node.attr.web-zone == \"lab\"", 20, "lab-{{node.name}}");
    EXPECT_STR(names_of_plan(w, "summary/names"), "[]");
    DONE(w, cmd_set(w, TABLE_NODEROLE, nr, "web-zone", BUCKET_USER, "'dmz'"));
    EXPECT_STR(names_of_plan(w, "summary/names"),
               "[{'address':'192.168.124.81/24','filter':'dmz','from':null,'node':4,"
               "'node_name':'n1.example.com','to':'n1'}]");
    NOW(w, "");
    world_commit_deployment(w, "prod");
    NOW(w, "n1 A by dmz");
    EXPECT_STR(names_of_plan(w, "summary/names"), "[]");
    world_close(w);
}

TEST(a_plan_lists_the_names_that_the_values_of_a_deployment_role_change)
{
    struct world *w = open_served();
    enum { MANY = 101 };
    world_role(w, "web",
               "'attribs':[{'name':'web-zone','map':'web/zone','schema':{'type':'str'}}]");
    world_anneal(w);
    world_bind_in(w, "web@n1", "prod");
    for (int i = 0; i < MANY - 1; i++) {
        char name[24];
        snprintf(name, sizeof name, "many%d", i);
        dns_node(w, name, "prod");
        snprintf(name, sizeof name, "web@many%d", i);
        world_bind_in(w, name, "prod");
    }
    world_node(w, "bare", "prod");
    world_bind_in(w, "web@bare", "prod"); /* has no address */
    world_commit_deployment(w, "prod");
    dns_filter(w, "f", "node.attr.web-zone == \"dmz\"", 10, "{{node.name}}");
    DONE(w, cmd_set(w, TABLE_DEPLOYMENT_ROLE, the_deployment_role(w, "web", "prod"), "web-zone",
                    BUCKET_USER, "'dmz'"));
    EXPECT_STR(names_of_plan(w, "summary/names_count"), "101");
    uint32_t listed = 0;
    for (const char *at = names_of_plan(w, "summary/names"); (at = strstr(at, "filter")); at++)
        listed++;
    CHECK(listed == MANY - 1);
    world_close(w);
}

/* ---- networks ---- */

TEST(a_name_follows_category_and_range)
{
    struct world *w = open_served();
    const int64_t network = core_find(w->core, TABLE_NETWORK, STR("alpha"));
    dns_filter(w, "f", "net.category == \"lab\"", 10, "{{node.name}}-{{network.range}}");
    NOW(w, "");
    DONE(w, CMD(NETWORK_UPDATE, network_update, .id = network, .given = GIVEN_NETWORK_CATEGORY,
                .category = STR("lab")));
    LATER(w, "n1-host A by f");
    const struct vec *ranges = &network_at(w->core, network_by_id(w->core, network))->ranges;
    const network_range_ix r = {vec_at(w->core, ranges, 0)};
    DONE(w,
         CMD(NETWORK_RANGE_UPDATE, network_range_update, .id = network_range_at(w->core, r)->o.id,
             .given = GIVEN_RANGE_NAME, .name = STR("rack")));
    LATER(w, "n1-rack A by f");
    /* A network without allocations changes no name and starts no evaluation. */
    dns_network(w, "beta", "lab", "1g1", "[]");
    NOW(w, "n1-rack A by f");
    world_close(w);
}

/* ---- services ---- */

TEST(names_exist_while_an_active_noderole_lists_the_service)
{
    struct world *w = open_served();
    const int64_t f = dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}");
    NOW(w, "n1 A by f");
    CHECK(core_dns_name_filter_is_served(w->core, f));
    dns_serve(w, "['lab']");
    NOW(w, "");
    CHECK(!core_dns_name_filter_is_served(w->core, f));
    dns_serve(w, "[{'name':'system'}]");
    NOW(w, "n1 A by f");
    /* Values that are no list of names list nothing. */
    dns_serve(w, "{'name':'system'}");
    NOW(w, "");
    dns_serve(w, "[7,{'title':'system'},{'name':7},['system']]");
    NOW(w, "");
    dns_serve(w, "'system'");
    NOW(w, "");
    dns_serve(w, "['lab','system']");
    NOW(w, "n1 A by f");
    /* It is not ACTIVE. */
    DONE(w, cmd_propose(w, "dns-list@dns"));
    LATER(w, "");
    CHECK(core_dns_name_filter_is_served(w->core, 4711) == false);
    world_close(w);
}

TEST(a_second_noderole_keeps_the_service)
{
    struct world *w = open_served();
    world_node(w, "dns2", "prod");
    world_bind_in(w, "dns-list@dns2", "prod");
    dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}");
    world_commit(w, "dns-list@dns2");
    world_deliver(w);
    world_anneal(w);
    world_finish_with(
        w, "dns-list@dns2",
        (struct run_done_command){.result = RESULT_OK,
                                  .has_wall = true,
                                  .wall = world_json(w, "{'dns':{'servers':['system']}}")});
    IS(w, "dns-list@dns2", "active");
    NOW(w, "n1 A by f");
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "dns-list@dns")));
    NOW(w, "n1 A by f");
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "dns-list@dns2")));
    LATER(w, "");
    world_close(w);
}

TEST(a_service_that_the_deployment_role_lists_exists_after_its_commit)
{
    struct world *w = world_open();
    world_role(w, "dns-list",
               "'attribs':[{'name':'dns-list_servers','map':'dns/servers',"
               "'schema':{'type':'any'}}]");
    dns_set_lists_services(w, "dns-list", "dns-list_servers");
    world_committed_deployment(w, "prod");
    world_node(w, "dns", "prod");
    world_bind_in(w, "dns-list@dns", "prod");
    dns_network(w, "alpha", "general", "1g0", ALPHA_RANGES);
    dns_allocate(w, "dns");
    dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}");
    world_bring(w, "dns-list@dns", "active");
    NOW(w, "");
    DONE(w, cmd_set(w, TABLE_DEPLOYMENT_ROLE, the_deployment_role(w, "dns-list", "prod"),
                    "dns-list_servers", BUCKET_USER, "['system']"));
    world_anneal(w);
    NOW(w, "");
    world_commit_deployment(w, "prod");
    world_run_all(w);
    NOW(w, "dns A by f");
    /* Without the attrib nothing is listed. */
    dns_set_lists_services(w, "dns-list", "no-such-attrib");
    world_anneal(w);
    DONE(w, CMD(TICK, tick, .unused = 0));
    LATER(w, "");
    world_close(w);
}

/* ---- slices ---- */

enum { NODES = 12 };

static struct world *open_with_many(void)
{
    struct world *w = dns_open();
    dns_serve(w, "['system']");
    for (int i = 0; i < NODES; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        dns_node(w, name, "prod");
    }
    world_anneal(w);
    return w;
}

/* Annealing steps of one changed row each; returns their number. */
static uint32_t anneal_rows(struct world *w, uint32_t most)
{
    uint32_t steps = 0;
    for (; steps < most && core_has_work(w->core); steps++)
        DONE(w, CMD(ANNEAL, anneal, .budget = 1));
    return steps;
}

TEST(an_evaluation_of_all_is_done_in_slices)
{
    struct world *w = open_with_many();
    DONE(w, cmd_filter("f", "net.name == \"alpha\"", 10, "{{node.name}}"));
    CHECK(core_dns_names_are_pending(w->core) && core_has_work(w->core) &&
          core_has_only_slices_left(w->core));
    anneal_rows(w, 5);
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == 5 && core_dns_names_are_pending(w->core));
    /* A node that changes meanwhile is evaluated in its step. */
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n11"), .given = GIVEN_NAME,
                .name = STR("last.example.com")));
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == 6);
    /* A dry step and a refused one leave the progress as it is. */
    const int64_t cursor = w->core->vars.names_cursor;
    REFUSED(w, cmd_filter("f", "net.name == \"alpha\"", 20, "x"), NAME_TAKEN, "name");
    struct outcome out;
    const struct command other = cmd_filter("g", "net.name == \"alpha\"", 20, "x");
    const struct digest128 before = core_digest_now(w->core);
    core_step_dry(w->core, &other, &w->arena, &out);
    CHECK(out.verdict == VERDICT_DONE && digest_eq(core_digest_now(w->core), before));
    CHECK(w->core->vars.names_cursor == cursor && core_dns_names_are_pending(w->core));
    CHECK(anneal_rows(w, 100) < 20);
    NOW(w, "n0 A by f, n1 A by f, n2 A by f, n3 A by f, n4 A by f, last A by f, n5 A by f, "
           "n6 A by f, n7 A by f, n8 A by f, n9 A by f, n10 A by f");
    world_close(w);
}

TEST(a_change_of_the_filter_starts_the_evaluation_again)
{
    struct world *w = open_with_many();
    const int64_t f = DONE(w, cmd_filter("f", "net.name == \"alpha\"", 10, "a-{{node.name}}"));
    anneal_rows(w, 5);
    DONE(w, CMD(DNS_NAME_FILTER_UPDATE, dns_name_filter_update, .id = f,
                .given = GIVEN_FILTER_TEMPLATE, .template = STR("b-{{node.name}}")));
    world_anneal(w);
    CHECK(!strstr(dns_names(w), "a-n") && core_count(w->core, TABLE_DNS_NAME_ENTRY) == NODES);
    world_close(w);
}

TEST(an_evaluation_continues_after_a_restart_and_writes_only_differences)
{
    struct world *w = open_with_many();
    DONE(w, cmd_filter("f", "net.name == \"alpha\"", 10, "{{node.name}}"));
    anneal_rows(w, 5);
    world_reload(w);
    CHECK(core_dns_names_are_pending(w->core) && core_count(w->core, TABLE_DNS_NAME_ENTRY) == 5);
    world_anneal(w);
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == NODES);
    world_reload(w);
    const struct digest128 before = core_digest(w->core);
    world_anneal(w);
    CHECK(!core_dns_names_are_pending(w->core));
    CHECK(core_changed(w->core) == 0 && digest_eq(core_digest_now(w->core), before));
    world_close(w);
}

/* Slices of an evaluation of all allocations. */
static uint32_t count_slices(struct world *w)
{
    uint32_t steps = 0;
    dns_names_evaluate_all(w->core);
    for (; core_dns_names_are_pending(w->core); steps++)
        DONE(w, CMD(ANNEAL, anneal, .budget = 0));
    return steps;
}

/* The work of a step is bounded also if it changes nothing. */
TEST(a_slice_is_bounded_by_its_work)
{
    struct world *w = open_with_many();
    for (uint32_t i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", i);
        DONE(w, cmd_filter(name, "net.name == \"beta\"", i, "x"));
        world_anneal(w);
    }
    const uint32_t steps = count_slices(w);
    CHECK(steps >= 2 && steps <= NODES);
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == 0);
    world_close(w);
}

/* Reading a large document counts as work: of hints for a MAC, of data for an attrib. */
TEST(a_slice_reads_a_bounded_amount_of_data)
{
    static char large[40000];
    struct world *w = open_with_many();
    memset(large, 'x', sizeof large - 1);
    const struct str hint =
        STR_CONCAT(&w->arena, STR("{\"large\":\""), str_from(large), STR("\"}"));
    for (int64_t id = core_next_id(w->core, TABLE_NODE, 0); id;
         id = core_next_id(w->core, TABLE_NODE, id))
        put_doc(w->core, &node_edit(w->core, node_by_id(w->core, id))->hint, hint);
    world_node_attrib(w, "row", "'map':'rack/row'");
    world_role(w, "web", "'attribs':[{'name':'web-zone','map':'web/zone'}]");
    world_bind_in(w, "web@n0", "prod");
    world_anneal(w);
    int64_t f = dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}");
    CHECK(count_slices(w) == 1);
    DONE(w, CMD(DNS_NAME_FILTER_DELETE, dns_name_filter_delete, .id = f));
    f = dns_filter(w, "f", "net.name == \"alpha\"", 10, "x{{node.mac}}");
    CHECK(count_slices(w) >= NODES / 2);
    DONE(w, CMD(DNS_NAME_FILTER_DELETE, dns_name_filter_delete, .id = f));
    f = dns_filter(w, "f", "node.attr.row == \"7\"", 10, "x");
    CHECK(count_slices(w) >= NODES / 2);
    DONE(w, CMD(DNS_NAME_FILTER_DELETE, dns_name_filter_delete, .id = f));
    /* The data of one noderole are read for each filter. */
    struct noderole *nr =
        noderole_edit(w->core, noderole_by_id(w->core, the_noderole(w, "web@n0")));
    put_doc(w->core, &nr->wall, hint);
    put_doc(w->core, &nr->sysdata, hint);
    dns_filter(w, "f", "node.attr.web-zone == \"7\"", 10, "x");
    CHECK(count_slices(w) == 2);
    world_close(w);
}

/* All layers that are merged count, also those that the noderoles of a role have in common. */
TEST(a_slice_counts_every_layer_of_the_data_of_a_role)
{
    static char large[80000];
    memset(large, 'x', sizeof large - 1);
    for (int layer = 0; layer < 7; layer++) {
        struct world *w = open_with_many();
        const struct str doc =
            STR_CONCAT(&w->arena, STR("{\"large\":\""), str_from(large), STR("\"}"));
        world_role(w, "web", "'attribs':[{'name':'web-zone','map':'web/zone'}]");
        world_bind_in(w, "web@n0", "prod");
        world_bind_in(w, "web@n1", "prod");
        dns_filter(w, "f", "node.attr.web-zone == \"7\"", 10, "x");
        CHECK(count_slices(w) == 1);
        for (int node = 0; node < 2; node++) {
            struct core *c = w->core;
            const noderole_ix nr = noderole_by_id(c, the_noderole(w, node ? "web@n1" : "web@n0"));
            const deployment_role_ix dr = noderole_at(c, nr)->dr;
            struct noderole *row = noderole_edit(c, nr);
            doc_h *const layers[] = {&role_edit(c, row->role)->template,
                                     &deployment_role_edit(c, dr)->wall,
                                     &deployment_role_edit(c, dr)->committed_data,
                                     &row->wall,
                                     &row->computed,
                                     &row->sysdata,
                                     &row->committed_data};
            put_doc(c, layers[layer], doc);
        }
        if (count_slices(w) < 2)
            world_fail(HERE, "layer %d is not counted", layer);
        world_close(w);
    }
}

/* The data of a noderole are merged once for all filters that test them, so their work is bounded
 * by the number of noderoles and not by that of filters. */
TEST(filters_of_one_role_merge_its_data_once)
{
    static char large[40000];
    memset(large, 'x', sizeof large - 1);
    struct world *w = open_with_many();
    world_role(w, "web", "'attribs':[{'name':'web-zone','map':'web/zone'}]");
    world_bind_in(w, "web@n0", "prod");
    for (uint32_t i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", i);
        DONE(w, cmd_filter(name, "node.attr.web-zone == \"7\"", i, "x"));
    }
    world_anneal(w);
    const uint32_t before = count_slices(w);
    struct noderole *nr =
        noderole_edit(w->core, noderole_by_id(w->core, the_noderole(w, "web@n0")));
    put_doc(w->core, &nr->wall,
            STR_CONCAT(&w->arena, STR("{\"large\":\""), str_from(large),
                       STR("\",\"web\":{\"zone\":\"7\"}}")));
    CHECK(count_slices(w) <= before + 1);
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == 20);
    world_close(w);
}

/* More nodes than a step evaluates: the rest is left to annealing. */
TEST(a_step_that_changes_many_nodes_evaluates_some_of_them)
{
    struct world *w = open_with_many();
    for (uint32_t i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", i);
        DONE(w, cmd_filter(name, "deployment.name == \"system\"", i, "{{node.name}}"));
    }
    world_anneal(w);
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == 0);
    DONE(w, CMD(DEPLOYMENT_DELETE, deployment_delete, .id = the_deployment(w, "prod")));
    CHECK(core_dns_names_are_pending(w->core));
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) > 0 &&
          core_count(w->core, TABLE_DNS_NAME_ENTRY) < 100 * NODES);
    world_anneal(w);
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == 100 * NODES);
    world_close(w);
}

/* While other work is left, a batch evaluates one slice of names. */
TEST(names_are_evaluated_while_the_annealer_has_other_work)
{
    struct world *w = open_with_many();
    world_collect(w);
    DONE(w, cmd_filter("f", "net.name == \"alpha\"", 10, "{{node.name}}"));
    anneal_enqueue_all_nodes(w->core);
    CHECK(!core_has_only_slices_left(w->core));
    DONE(w, CMD(ANNEAL, anneal, .budget = 1));
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == 1);
    anneal_enqueue_all_nodes(w->core);
    DONE(w, CMD(ANNEAL, anneal, .budget = 1));
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == 1);
    world_collect(w);
    anneal_enqueue_all_nodes(w->core);
    DONE(w, CMD(ANNEAL, anneal, .budget = 1));
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == 2);
    world_anneal(w);
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == NODES);
    world_close(w);
}

/* ---- limits and undo ---- */

TEST(a_full_table_of_names_refuses_nothing)
{
    struct world *w = open_served();
    dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}");
    struct pool *rows = &w->core->tables[TABLE_DNS_NAME_ENTRY].pool;
    const uint32_t max = rows->max;
    rows->max = rows->live;
    dns_node(w, "n2", "prod");
    NOW(w, "n1 A by f");
    rows->max = max;
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n2"), .given = GIVEN_DESCRIPTION,
                .description = STR("again")));
    NOW(w, "n1 A by f, n2 A by f");
    /* The slot of a name that was removed is used again only after the turn. */
    world_collect(w);
    rows->max = rows->live;
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n1")));
    dns_node(w, "n3", "prod");
    NOW(w, "n2 A by f");
    world_collect(w);
    rows->max = max;
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n3"), .given = GIVEN_DESCRIPTION,
                .description = STR("again")));
    NOW(w, "n2 A by f, n3 A by f");
    world_close(w);
}

TEST(a_dry_step_restores_names_and_queues)
{
    struct world *w = open_served();
    dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}");
    world_collect(w);
    const struct digest128 before = core_digest_now(w->core);
    const struct command commands[] = {
        CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NAME,
            .name = STR("m1.example.com")),
        CMD(NODE_DELETE, node_delete, .id = the_node(w, "n1")),
        CMD(DNS_NAME_FILTER_DELETE, dns_name_filter_delete,
            .id = core_next_id(w->core, TABLE_DNS_NAME_FILTER, 0)),
        cmd_filter("g", "net.name == \"alpha\"", 20, "x"),
        cmd_propose(w, "dns-list@dns"),
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct command command = commands[i];
        struct outcome out;
        command.actor = STR("user tester");
        core_step_dry(w->core, &command, &w->arena, &out);
        CHECK(out.verdict == VERDICT_DONE);
        CHECK(digest_eq(core_digest_now(w->core), before) && core_changed(w->core) == 0);
        CHECK(core_check(w->core, &w->arena) == NULL);
        NOW(w, "n1 A by f");
    }
    world_close(w);
}

/* ---- check ---- */

static void expect_wrong(struct world *w, const char *part)
{
    const char *what = core_check(w->core, &w->arena);
    CHECK(what != NULL);
    HAS(what, part);
}

TEST(the_check_finds_names_that_are_not_those_of_the_filters)
{
    struct world *w = open_served();
    const int64_t f_id = dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}");
    dns_filter(w, "g", "net.name == \"alpha\"", 20, "x");
    const dns_name_filter_ix f = dns_name_filter_by_id(w->core, f_id);
    const dns_name_entry_ix e =
        dns_name_entry_by_id(w->core, core_next_id(w->core, TABLE_DNS_NAME_ENTRY, 0));
    const network_allocation_ix a = dns_name_entry_at(w->core, e)->allocation;
    struct dns_name_entry *entry = dns_name_entry_derive(w->core, e);
    struct dns_name_filter *filter = dns_name_filter_derive(w->core, f);
    CHECK(core_check(w->core, &w->arena) == NULL);

    const text_h name = entry->name;
    entry->name = filter->service;
    expect_wrong(w, "are not those that its filters give");
    entry->name = name;
    filter->is_served = false;
    expect_wrong(w, "marked by whether its service exists");
    filter->is_served = true;
    filter->priority = 30;
    expect_wrong(w, "not sorted by priority");
    filter->priority = 10;
    filter->entry_count++;
    expect_wrong(w, "counts of names are wrong");
    filter->entry_count--;
    w->core->vars.name_needs = NAMES_NEED_ROLES;
    expect_wrong(w, "rows that DNS name filters read");
    w->core->vars.name_needs = 0;
    const dns_name_entry_ix next = entry->next;
    entry->next = (dns_name_entry_ix){0};
    expect_wrong(w, "are not those that its filters give");
    entry->next = e;
    expect_wrong(w, "not its own");
    entry->next = next;
    struct dns_name_entry *second = dns_name_entry_derive(w->core, next);
    const dns_name_filter_ix owner = second->filter;
    second->filter = f;
    expect_wrong(w, "gave two names");
    second->filter = owner;
    entry->filter = owner;
    expect_wrong(w, "not in the index of its filter");
    entry->filter = f;
    network_allocation_derive(w->core, a)->names = next;
    expect_wrong(w, "are not those that its filters give");
    network_allocation_derive(w->core, a)->names = e;
    CHECK(core_check(w->core, &w->arena) == NULL);
    world_close(w);
}
