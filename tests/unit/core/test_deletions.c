/* Goal: a network or a DNS name filter with more rows than one slice is marked and deleted in
 * slices: each removes a bounded number of rows, a reload continues it, the object gets nothing new
 * meanwhile, and nothing of it remains. A small one is deleted at once. Method: the slices are 4
 * rows; world.h checks all invariants after each step and the digest after each
 * refusal. */
#include "core/network/network_private.h"
#include "tests/world/dns_world.h"

#include <string.h>

enum { SLICE = 4, NODES = 9 };

static struct command cmd_unmake(struct world *w, const char *name)
{
    return CMD(NETWORK_DELETE, network_delete,
               .id = core_find(w->core, TABLE_NETWORK, str_from(name)));
}

static struct command cmd_take(struct world *w, const char *node, const char *network)
{
    return CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(w, node),
               .network_id = core_find(w->core, TABLE_NETWORK, str_from(network)));
}

static int64_t range_of(struct world *w, const char *name)
{
    const int64_t id = core_find(w->core, TABLE_NETWORK_RANGE, str_from(name));
    CHECK(id);
    return id;
}

static bool has_network(struct world *w, const char *name)
{
    return core_find(w->core, TABLE_NETWORK, str_from(name)) != 0;
}

static bool is_marked(struct world *w, const char *name)
{
    struct record record;
    const int64_t id = core_find(w->core, TABLE_NETWORK, str_from(name));
    return id && core_record(w->core, TABLE_NETWORK, id, &record) && record.network.deleting;
}

/* Nodes n0 to n8 with an address in "wide"; its router and a lease of another machine. */
static struct world *open_wide(void)
{
    struct world *w = world_open();
    core_set_deletion_rows(w->core, SLICE);
    DONE(w, CMD(NETWORK_CREATE, network_create, .name = STR("wide"), .conduit = STR("1g1"),
                .given = GIVEN_NETWORK_CONDUIT,
                .ranges = world_json(
                    w, "[{'name':'host','first':'10.1.0.1/24','last':'10.1.0.99/24'},"
                       "{'name':'dhcp','first':'10.1.0.100/24','last':'10.1.0.199/24'}]"),
                .router = world_json(w, "{'address':'10.1.0.254/24'}")));
    for (int i = 0; i < NODES; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        world_node(w, name, NULL);
        DONE(w, cmd_take(w, name, "wide"));
    }
    DONE(w, CMD(LEASE_TAKE, lease_take, .range_id = range_of(w, "wide.dhcp"),
                .address = STR("10.1.0.100"), .mac = STR("52:54:00:00:00:01"), .lease_s = 600));
    world_anneal(w);
    world_collect(w);
    return w;
}

/* One slice; the number of rows that it removed of the two tables. */
static uint32_t removed_by_slice(struct world *w)
{
    const uint32_t before =
        core_count(w->core, TABLE_NETWORK_ALLOCATION) + core_count(w->core, TABLE_LEASE);
    DONE(w, CMD(ANNEAL, anneal, .budget = 0));
    return before - core_count(w->core, TABLE_NETWORK_ALLOCATION) -
           core_count(w->core, TABLE_LEASE);
}

/* ---- networks ---- */

TEST(a_large_network_is_deleted_in_slices)
{
    struct world *w = open_wide();
    const int64_t id = core_find(w->core, TABLE_NETWORK, STR("wide"));
    CHECK(DONE(w, cmd_unmake(w, "wide")) == id);
    CHECK(is_marked(w, "wide") && core_count(w->core, TABLE_NETWORK_ALLOCATION) == NODES);
    CHECK(core_has_only_slices_left(w->core));
    CHECK(removed_by_slice(w) == SLICE && removed_by_slice(w) == SLICE);
    CHECK(is_marked(w, "wide"));
    CHECK(removed_by_slice(w) == 2);
    CHECK(!has_network(w, "wide") && !core_has_work(w->core));
    CHECK(core_count(w->core, TABLE_NETWORK_RANGE) == 0 &&
          core_count(w->core, TABLE_NETWORK_ROUTER) == 0);
    world_close(w);
}

TEST(the_bound_is_the_number_of_rows_of_one_slice)
{
    for (uint32_t rows = NODES; rows <= NODES + 1; rows++) {
        struct world *w = open_wide();
        core_set_deletion_rows(w->core, rows);
        DONE(w, cmd_unmake(w, "wide"));
        CHECK(has_network(w, "wide") == (rows == NODES)); /* there is a lease too */
        world_close(w);
    }
}

TEST(the_default_is_a_few_hundred_rows)
{
    struct world *w = open_wide();
    struct core *fresh = core_new();
    CHECK(fresh->deletion_rows == DELETION_ROWS && DELETION_ROWS <= 500);
    core_free(fresh);
    world_close(w);
}

TEST(the_budget_of_a_step_bounds_a_slice)
{
    struct world *w = open_wide();
    DONE(w, cmd_unmake(w, "wide"));
    world_collect(w);
    DONE(w, CMD(ANNEAL, anneal, .budget = 2));
    CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == NODES - 2);
    world_close(w);
}

TEST(a_deletion_continues_after_a_reload)
{
    struct world *w = open_wide();
    DONE(w, cmd_unmake(w, "wide"));
    CHECK(removed_by_slice(w) == SLICE);
    world_reload(w);
    CHECK(is_marked(w, "wide") && core_has_work(w->core));
    core_set_deletion_rows(w->core, SLICE);
    CHECK(removed_by_slice(w) == SLICE);
    world_reload(w);
    world_anneal(w);
    CHECK(!has_network(w, "wide") && core_count(w->core, TABLE_LEASE) == 0);
    world_close(w);
}

TEST(a_second_deletion_changes_nothing)
{
    struct world *w = open_wide();
    const int64_t id = DONE(w, cmd_unmake(w, "wide"));
    world_collect(w);
    const uint64_t edits = core_edits(w->core);
    CHECK(DONE(w, cmd_unmake(w, "wide")) == id && core_edits(w->core) == edits);
    world_anneal(w);
    REFUSED(w, CMD(NETWORK_DELETE, network_delete, .id = id), NOT_FOUND, "id");
    world_close(w);
}

TEST(networks_are_deleted_one_after_the_other)
{
    struct world *w = open_wide();
    DONE(w, CMD(NETWORK_CREATE, network_create, .name = STR("next"), .conduit = STR("1g2"),
                .given = GIVEN_NETWORK_CONDUIT,
                .ranges = world_json(
                    w, "[{'name':'host','first':'10.2.0.1/24','last':'10.2.0.99/24'}]")));
    for (int i = 0; i < NODES; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        DONE(w, cmd_take(w, name, "next"));
    }
    DONE(w, cmd_unmake(w, "next"));
    DONE(w, cmd_unmake(w, "wide"));
    while (has_network(w, "wide")) {
        CHECK(has_network(w, "next"));
        DONE(w, CMD(ANNEAL, anneal, .budget = 0));
    }
    CHECK(is_marked(w, "next"));
    world_anneal(w);
    CHECK(!has_network(w, "next") && core_count(w->core, TABLE_NETWORK_ALLOCATION) == 0);
    world_close(w);
}

/* ---- what a network gets no more ---- */

TEST(a_network_that_is_being_deleted_gets_nothing_new)
{
    struct world *w = open_wide();
    const int64_t id = core_find(w->core, TABLE_NETWORK, STR("wide"));
    struct record router;
    const int64_t router_id = core_next_id(w->core, TABLE_NETWORK_ROUTER, 0);
    CHECK(core_record(w->core, TABLE_NETWORK_ROUTER, router_id, &router));
    world_node(w, "late", NULL);
    DONE(w, cmd_unmake(w, "wide"));
    HAS(REFUSED(w, cmd_take(w, "late", "wide"), BEING_DELETED, "network_id"),
        "network wide is being deleted");
    REFUSED(w,
            CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(w, "late"),
                .range_id = range_of(w, "wide.host")),
            BEING_DELETED, "range_id");
    REFUSED(w,
            CMD(LEASE_TAKE, lease_take, .range_id = range_of(w, "wide.dhcp"),
                .address = STR("10.1.0.101"), .mac = STR("52:54:00:00:00:02"), .lease_s = 600),
            BEING_DELETED, "range_id");
    REFUSED(w,
            CMD(NETWORK_UPDATE, network_update, .id = id, .given = GIVEN_NETWORK_DESCRIPTION,
                .description = STR("words")),
            BEING_DELETED, "id");
    REFUSED(w,
            CMD(NETWORK_RANGE_CREATE, network_range_create, .network_id = id,
                .given = GIVEN_RANGE_NAME | GIVEN_RANGE_FIRST | GIVEN_RANGE_LAST,
                .name = STR("more"), .first = STR("10.1.1.1/24"), .last = STR("10.1.1.9/24")),
            BEING_DELETED, "network_id");
    REFUSED(w,
            CMD(NETWORK_RANGE_UPDATE, network_range_update, .id = range_of(w, "wide.host"),
                .given = GIVEN_RANGE_LAST, .last = STR("10.1.0.98/24")),
            BEING_DELETED, "id");
    REFUSED(w, CMD(NETWORK_ROUTER_CREATE, network_router_create, .network_id = id), BEING_DELETED,
            "network_id");
    REFUSED(w,
            CMD(NETWORK_ROUTER_UPDATE, network_router_update, .id = router_id,
                .given = GIVEN_ROUTER_PREF, .pref = 1),
            BEING_DELETED, "id");
    REFUSED(w, CMD(NETWORK_ROUTER_DELETE, network_router_delete, .id = router_id), BEING_DELETED,
            "id");
    REFUSED(w, CMD(NODE_CREATE, node_create, .name = STR("x.example.com"), .ip = STR("10.1.0.77")),
            BEING_DELETED, "ip");
    REFUSED(w,
            CMD(NETWORK_CREATE, network_create, .name = STR("wide"), .conduit = STR("1g1"),
                .given = GIVEN_NETWORK_CONDUIT),
            NAME_TAKEN, "name");
    /* A hint is no request for an address: it is stored and allocates nothing. */
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("y.example.com"),
                .hint = world_json(w, "{'wide-v4addr':'10.1.0.77/24'}")));
    CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == NODES);
    world_close(w);
}

/* Addresses that are freed meanwhile do not rest: their range is deleted. */
TEST(addresses_of_a_network_that_is_being_deleted_can_be_freed)
{
    struct world *w = open_wide();
    DONE(w, cmd_unmake(w, "wide"));
    DONE(w, CMD(NETWORK_DEALLOCATE, network_deallocate,
                .id = core_next_id(w->core, TABLE_NETWORK_ALLOCATION, 0)));
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n8")));
    CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == NODES - 2 &&
          core_count(w->core, TABLE_LEASE) == 1);
    DONE(w, CMD(LEASE_RELEASE, lease_release, .address = STR("10.1.0.100"),
                .mac = STR("52:54:00:00:00:01")));
    CHECK(core_count(w->core, TABLE_LEASE) == 0);
    world_anneal(w);
    CHECK(!has_network(w, "wide"));
    world_close(w);
}

TEST(a_network_that_is_being_deleted_starts_no_evaluation_of_names)
{
    struct world *w = dns_open();
    core_set_deletion_rows(w->core, 1);
    dns_serve(w, "['system']");
    dns_node(w, "n1", "prod");
    dns_node(w, "n2", "prod");
    dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}");
    world_anneal(w);
    DONE(w, cmd_unmake(w, "alpha"));
    CHECK(is_marked(w, "alpha") && !core_dns_names_are_pending(w->core));
    world_anneal(w);
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == 0 && !has_network(w, "alpha"));
    world_close(w);
}

/* ---- roles per network ---- */

#define ROLE(name, rest) "{'name':'" name "-{name}','per':'network','jig':'script'" rest "}"
#define ATTRIB           "{'name':'hint-{name}','per':'network','map':'{name}'}"
#define DOCUMENT                                                                                   \
    "{'barclamp':{'name':'net','source_path':'/src'},'roles':["                                    \
    "{'name':'other','jig':'script'}," ROLE("net", ",'flags':['implicit']") "," ROLE(              \
        "above", ",'requires':['net-{name}']") "],"                                                \
                                               "'attribs':[" ATTRIB "]}"

/* Each node has the noderoles net-wide and, as its child, above-wide. */
static struct world *open_with_roles(void)
{
    struct world *w = world_open();
    core_set_deletion_rows(w->core, SLICE);
    DONE(w, cmd_import(w, DOCUMENT));
    DONE(w, CMD(NETWORK_CREATE, network_create, .name = STR("wide"), .conduit = STR("1g1"),
                .given = GIVEN_NETWORK_CONDUIT,
                .ranges = world_json(
                    w, "[{'name':'host','first':'10.1.0.1/24','last':'10.1.0.99/24'}]")));
    for (int i = 0; i < NODES; i++) {
        char name[16], above[40];
        snprintf(name, sizeof name, "n%d", i);
        snprintf(above, sizeof above, "above-wide@n%d", i);
        world_node(w, name, NULL);
        world_bind(w, above);
    }
    CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == NODES);
    world_collect(w);
    return w;
}

static uint32_t count_noderoles(struct world *w)
{
    uint32_t count = 0;
    for (int64_t id = 0; (id = core_next_id(w->core, TABLE_NODEROLE, id)) != 0;)
        count++;
    return count;
}

TEST(noderoles_of_a_network_are_removed_in_slices_children_first)
{
    struct world *w = open_with_roles();
    DONE(w, cmd_unmake(w, "wide"));
    uint32_t before = count_noderoles(w), slices = 0;
    CHECK(before == 2 * NODES);
    while (count_noderoles(w)) {
        DONE(w, CMD(ANNEAL, anneal, .budget = 0));
        CHECK(before - count_noderoles(w) <= 1); /* a noderole counts as four rows */
        CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == NODES);
        before = count_noderoles(w);
        CHECK(++slices < 100);
    }
    CHECK(core_find(w->core, TABLE_ROLE, STR("net-wide")));
    world_anneal(w);
    CHECK(!has_network(w, "wide") && !core_find(w->core, TABLE_ROLE, STR("net-wide")) &&
          !core_find(w->core, TABLE_ATTRIB, STR("hint-wide")));
    world_close(w);
}

TEST(roles_of_a_network_that_is_being_deleted_are_bound_to_no_node)
{
    struct world *w = open_with_roles();
    world_node(w, "late", NULL);
    DONE(w, cmd_unmake(w, "wide"));
    HAS(REFUSED(w, cmd_bind(w, "net-wide@late", NULL), BEING_DELETED, "role_id"),
        "is made for network wide, which is being deleted");
    world_deployment(w, "lab");
    REFUSED(w,
            CMD(DEPLOYMENT_ROLE_CREATE, deployment_role_create,
                .deployment_id = the_deployment(w, "lab"), .role_id = the_role(w, "net-wide")),
            BEING_DELETED, "role_id");
    /* The role that is bound already is found. */
    CHECK(DONE(w, cmd_bind(w, "net-wide@n1", NULL)) == the_noderole(w, "net-wide@n1"));
    world_close(w);
}

TEST(no_role_gets_a_parent_of_a_network_that_is_being_deleted)
{
    struct world *w = open_with_roles();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'more','source_path':'/more'},'roles':["
                          "{'name':'child','jig':'script','requires':['net-wide']}]}"));
    DONE(w, cmd_unmake(w, "wide"));
    HAS(REFUSED(w, cmd_bind(w, "child@n1", NULL), BEING_DELETED, "role_id"), "network wide");
    world_anneal(w);
    CHECK(!has_network(w, "wide"));
    REFUSED(w, cmd_bind(w, "child@n1", NULL), REQUIRE_UNRESOLVED, "role_id");
    world_close(w);
}

TEST(a_descendant_of_another_role_refuses_the_deletion_before_anything_is_marked)
{
    struct world *w = open_with_roles();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'more','source_path':'/more'},'roles':["
                          "{'name':'child','jig':'script','requires':['net-wide']}]}"));
    world_bind(w, "child@n1");
    HAS(REFUSED(w, cmd_unmake(w, "wide"), HAS_DEPENDANTS, "id"), "depends on");
    CHECK(!is_marked(w, "wide"));
    world_close(w);
}

/* An import meanwhile neither withdraws the roles nor makes new ones for the network. */
TEST(an_import_leaves_a_network_that_is_being_deleted_alone)
{
    struct world *w = open_with_roles();
    DONE(w, cmd_unmake(w, "wide"));
    DONE(w, CMD(ANNEAL, anneal, .budget = 0));
    DONE(w, cmd_import(w, "{'barclamp':{'name':'net','source_path':'/src'},'roles':["
                          "{'name':'other','jig':'script','description':'changed'}," ROLE(
                              "fresh", "") "]}"));
    CHECK(core_find(w->core, TABLE_ROLE, STR("net-wide")) &&
          !core_find(w->core, TABLE_ROLE, STR("fresh-wide")));
    CHECK(!(read_role(w, "net-wide").flags & ROLE_WITHDRAWN));
    world_reload(w);
    world_anneal(w);
    CHECK(!has_network(w, "wide") && !core_find(w->core, TABLE_ROLE, STR("net-wide")));
    world_close(w);
}

/* ---- filters ---- */

static struct world *open_named(void)
{
    struct world *w = dns_open();
    core_set_deletion_rows(w->core, 2);
    dns_serve(w, "['system']");
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        dns_node(w, name, "prod");
    }
    dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}");
    dns_filter(w, "g", "net.name == \"alpha\"", 20, "g-{{node.name}}");
    world_anneal(w);
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == 10);
    return w;
}

static struct command cmd_unfilter(struct world *w, const char *name)
{
    return CMD(DNS_NAME_FILTER_DELETE, dns_name_filter_delete,
               .id = core_find(w->core, TABLE_DNS_NAME_FILTER, str_from(name)));
}

static bool has_filter(struct world *w, const char *name)
{
    return core_find(w->core, TABLE_DNS_NAME_FILTER, str_from(name)) != 0;
}

TEST(a_filter_with_many_names_is_deleted_in_slices)
{
    struct world *w = open_named();
    const int64_t id = DONE(w, cmd_unfilter(w, "f"));
    struct record record;
    CHECK(core_record(w->core, TABLE_DNS_NAME_FILTER, id, &record) &&
          record.dns_name_filter.deleting);
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == 10);
    CHECK(core_has_work(w->core) && !core_dns_names_are_pending(w->core));
    for (uint32_t left = 8; left >= 6; left -= 2) {
        DONE(w, CMD(ANNEAL, anneal, .budget = 0));
        CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == left && has_filter(w, "f"));
        CHECK(DONE(w, cmd_unfilter(w, "f")) == id);
    }
    world_reload(w);
    CHECK(has_filter(w, "f"));
    world_anneal(w);
    CHECK(!has_filter(w, "f") && has_filter(w, "g"));
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == 5);
    REFUSED(w, CMD(DNS_NAME_FILTER_DELETE, dns_name_filter_delete, .id = id), NOT_FOUND, "id");
    world_close(w);
}

TEST(a_filter_that_is_being_deleted_gives_no_names)
{
    struct world *w = open_named();
    struct str name;
    const int64_t id = DONE(w, cmd_unfilter(w, "f"));
    CHECK(!core_dns_name_filter_is_served(w->core, id));
    CHECK(core_dns_name(w->core, core_next_id(w->core, TABLE_NETWORK_ALLOCATION, 0), id, &w->arena,
                        &name) == DNS_NAME_NO_SERVICE);
    dns_node(w, "late", "prod");
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == 11); /* one by g */
    /* An evaluation removes its names earlier. */
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NAME,
                .name = STR("m1.example.com")));
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == 10);
    vars_edit(w->core)->services_due = true; /* settled by the next step */
    world_alive(w, "n2", true);
    CHECK(!w->core->vars.services_due && !core_dns_name_filter_is_served(w->core, id));
    HAS(REFUSED(w,
                CMD(DNS_NAME_FILTER_UPDATE, dns_name_filter_update, .id = id,
                    .given = GIVEN_FILTER_PRIORITY, .priority = 77),
                BEING_DELETED, "id"),
        "the DNS name filter f is being deleted");
    REFUSED(w, cmd_filter("f", "net.name == \"alpha\"", 99, "x"), NAME_TAKEN, "name");
    REFUSED(w, cmd_filter("h", "net.name == \"alpha\"", 10, "x"), NAME_TAKEN, "priority");
    world_anneal(w);
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == 6);
    DONE(w, cmd_filter("f", "net.name == \"beta\"", 10, "x"));
    world_close(w);
}

TEST(a_filter_with_few_names_is_deleted_at_once)
{
    struct world *w = open_named();
    core_set_deletion_rows(w->core, 5);
    DONE(w, cmd_unfilter(w, "f"));
    CHECK(!has_filter(w, "f") && core_count(w->core, TABLE_DNS_NAME_ENTRY) == 5);
    world_close(w);
}

/* ---- check ---- */

TEST(the_check_finds_marks_that_are_not_listed)
{
    struct world *w = open_named();
    const network_ix net = network_by_id(w->core, 1);
    const dns_name_filter_ix f = dns_name_filter_by_id(w->core, 1);
    network_derive(w->core, net)->deleting = true;
    HAS(core_check(w->core, &w->arena), "C20");
    network_derive(w->core, net)->deleting = false;
    dns_name_filter_derive(w->core, f)->deleting = true;
    dns_name_filter_derive(w->core, f)->is_served = false;
    HAS(core_check(w->core, &w->arena), "C20");
    dns_name_filter_derive(w->core, f)->deleting = false;
    dns_name_filter_derive(w->core, f)->is_served = true;
    CHECK(core_check(w->core, &w->arena) == NULL);
    deletions_index(w->core, TABLE_NETWORK, net.v);
    HAS(core_check(w->core, &w->arena), "C20");
    vec_clear(&w->core->heap, &w->core->vars.deleting_networks);
    CHECK(core_check(w->core, &w->arena) == NULL);
    world_close(w);
}
