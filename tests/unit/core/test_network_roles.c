/* Goal: entries of a barclamp with `per: network` become roles and attribs of each network and of
 * nothing else, binding such a role gives the node an address, and the hooks about networks and
 * allocations are called in their order, once for each batch. Method: commands through the core,
 * with a check of all invariants after each and a reload at the end (world.h). */
#include "core/core_private.h"
#include "tests/world/world.h"

#include <stdio.h>
#include <string.h>

#define HEAD "'barclamp':{'name':'net','source_path':'/src'}"
#define ROLE_SERVER                                                                                \
    "{'name':'net-server','jig':'script','attribs':[{'name':'maps','map':'maps','default':[]}]}"
#define ROLE_PER                                                                                   \
    "{'name':'net-{name}','per':'network','jig':'script','description':'in {name}',"               \
    "'flags':['implicit'],'requires':['net-server'],'provides':['on-{name}'],"                     \
    "'wants-attribs':['maps',{'name':'hint-{name}-v4addr','at':'own/{name}'}],"                    \
    "'attribs':[{'name':'net-{name}_vlan','map':'net/{name}/vlan',"                                \
    "'schema':{'type':'str','pattern':'/\\\\Ax{2}\\\\z/'}}],"                                      \
    "'hooks':['sysdata','on_network_change','on_network_allocation_create',"                       \
    "'on_network_allocation_delete']}"
#define ATTRIB_PER "{'name':'hint-{name}-v4addr','per':'network','map':'{name}-v4addr'}"
#define DOCUMENT   "{" HEAD ",'roles':[" ROLE_SERVER "," ROLE_PER "],'attribs':[" ATTRIB_PER "]}"

static struct command cmd_network(struct world *w, const char *name, const char *ranges)
{
    return CMD(NETWORK_CREATE, network_create, .name = str_from(name), .conduit = STR("1g0"),
               .ranges = world_json(w, ranges), .given = GIVEN_NETWORK_CONDUIT);
}

/* The networks are 10.N.0.0/24, with hosts from .1 to .`hosts`. */
static int64_t make_network(struct world *w, const char *name, int number, int hosts)
{
    char ranges[200];
    snprintf(ranges, sizeof ranges,
             "[{'name':'host','first':'10.%d.0.1/24','last':'10.%d.0.%d/24'}]", number, number,
             hosts);
    return DONE(w, cmd_network(w, name, ranges));
}

static struct command cmd_unmake(struct world *w, const char *name)
{
    return CMD(NETWORK_DELETE, network_delete,
               .id = core_find(w->core, TABLE_NETWORK, str_from(name)));
}

static struct world *open_with_document(void)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, DOCUMENT));
    return w;
}

static bool exists(struct world *w, enum table table, const char *name)
{
    return core_find(w->core, table, str_from(name)) != 0;
}

/* The addresses of the node, separated by spaces, in the order of their ids. */
static const char *addresses_of(struct world *w, const char *node)
{
    struct buf b = buf_in(&w->arena);
    struct record record;
    for (int64_t id = 0; (id = core_next_id(w->core, TABLE_NETWORK_ALLOCATION, id)) != 0;) {
        CHECK(core_record(w->core, TABLE_NETWORK_ALLOCATION, id, &record));
        if (record.network_allocation.node_id != the_node(w, node))
            continue;
        buf_put_z(&b, b.len ? " " : "");
        buf_put_str(&b, record.network_allocation.address);
    }
    return str_z(&w->arena, buf_str(&b));
}

static struct command cmd_allocate(struct world *w, const char *node, const char *network)
{
    return CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(w, node),
               .network_id = core_find(w->core, TABLE_NETWORK, str_from(network)));
}

/* ---- import ---- */

TEST(a_network_gets_the_roles_and_attribs_of_the_document)
{
    struct world *w = open_with_document();
    CHECK(exists(w, TABLE_ROLE, "net-server") && !exists(w, TABLE_ROLE, "net-{name}"));
    CHECK(core_count(w->core, TABLE_ATTRIB) == 1);
    const int64_t id = make_network(w, "lab", 1, 9);
    const struct role_record role = read_role(w, "net-lab");
    CHECK(role.network_id == id && str_eq(role.per_name, STR("net-{name}")));
    CHECK(role.flags == ROLE_IMPLICIT && role.cohort == 1);
    EXPECT_STR(shown(w, role.description), "in lab");
    EXPECT_STR(shown(w, role.requires), "['net-server']");
    EXPECT_STR(shown(w, role.provides), "['on-lab']");
    EXPECT_STR(shown(w, role.wants),
               "[{'at':'','name':'maps'},{'at':'own/lab','name':'hint-lab-v4addr'}]");
    const struct attrib_record vlan = read_attrib(w, "net-lab_vlan");
    EXPECT_STR(shown(w, vlan.map), "net/lab/vlan");
    HAS(shown(w, vlan.schema), "x{2}"); /* braces of a schema are not replaced */
    EXPECT_STR(shown(w, read_attrib(w, "hint-lab-v4addr").map), "lab-v4addr");
    make_network(w, "store", 2, 9);
    CHECK(exists(w, TABLE_ROLE, "net-store") && exists(w, TABLE_ATTRIB, "hint-store-v4addr"));
    world_close(w);
}

TEST(a_document_that_is_imported_later_makes_the_same)
{
    struct world *w = world_open();
    make_network(w, "lab", 1, 9);
    make_network(w, "store", 2, 9);
    DONE(w, cmd_import(w, DOCUMENT));
    CHECK(exists(w, TABLE_ROLE, "net-lab") && exists(w, TABLE_ROLE, "net-store"));
    CHECK(core_count(w->core, TABLE_ATTRIB) == 5);
    world_collect(w);
    const struct digest128 before = core_digest_now(w->core);
    DONE(w, cmd_import(w, DOCUMENT));
    CHECK(digest_eq(before, core_digest_now(w->core)));
    world_close(w);
}

TEST(a_network_changes_no_other_role)
{
    struct world *w = open_with_document();
    DONE(w, CMD(ROLE_UPDATE, role_update, .id = the_role(w, "net-server"),
                .given = GIVEN_ROLE_TEMPLATE, .template = world_json(w, "{'kept':1}")));
    make_network(w, "lab", 1, 9);
    DONE(w, cmd_unmake(w, "lab"));
    EXPECT_STR(shown(w, read_role(w, "net-server").template), "{'kept':1}");
    world_close(w);
}

TEST(a_document_without_the_entry_removes_the_roles)
{
    struct world *w = open_with_document();
    make_network(w, "lab", 1, 9);
    DONE(w, cmd_import(w, "{" HEAD ",'roles':[" ROLE_SERVER "]}"));
    CHECK(!exists(w, TABLE_ROLE, "net-lab") && !exists(w, TABLE_ATTRIB, "net-lab_vlan"));
    make_network(w, "store", 2, 9);
    CHECK(!exists(w, TABLE_ROLE, "net-store"));
    world_close(w);
}

TEST(a_role_in_use_that_is_no_longer_defined_goes_with_its_network)
{
    struct world *w = open_with_document();
    make_network(w, "lab", 1, 9);
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    DONE(w, cmd_allocate(w, "n1", "lab"));
    DONE(w, cmd_import(w, "{" HEAD ",'roles':[" ROLE_SERVER "]}"));
    CHECK(read_role(w, "net-lab").flags & ROLE_WITHDRAWN);
    /* It is bound to no further node, and the address does not depend on it. */
    DONE(w, cmd_allocate(w, "n2", "lab"));
    CHECK(world_bound(w, "net-lab@n1") && !world_bound(w, "net-lab@n2"));
    DONE(w, cmd_unmake(w, "lab"));
    CHECK(!exists(w, TABLE_ROLE, "net-lab"));
    world_close(w);
}

TEST(removing_the_noderole_frees_no_address)
{
    struct world *w = open_with_document();
    make_network(w, "lab", 1, 9);
    world_node(w, "n1", NULL);
    DONE(w, cmd_allocate(w, "n1", "lab"));
    const int64_t nr = the_noderole(w, "net-lab@n1");
    DONE(w, CMD(NODEROLE_COMMIT, noderole_commit, .id = nr));
    DONE(w, CMD(NODEROLE_PROPOSE, noderole_propose, .id = nr));
    EXPECT_STR(addresses_of(w, "n1"), "10.1.0.1/24");
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = nr));
    EXPECT_STR(addresses_of(w, "n1"), "10.1.0.1/24");
    /* Bound again, it allocates nothing more. */
    world_bind(w, "net-lab@n1");
    EXPECT_STR(addresses_of(w, "n1"), "10.1.0.1/24");
    world_close(w);
}

TEST(an_attrib_of_another_barclamp_is_used_for_the_network)
{
    struct world *w = world_open();
    world_node_attrib(w, "hint-lab-v4addr", "'map':'lab-v4addr','writable':true");
    const int64_t owner = read_attrib(w, "hint-lab-v4addr").barclamp_id;
    DONE(w, cmd_import(w, DOCUMENT));
    make_network(w, "lab", 1, 9);
    CHECK(read_attrib(w, "hint-lab-v4addr").barclamp_id == owner);
    DONE(w, cmd_import(w, DOCUMENT));
    DONE(w, cmd_unmake(w, "lab"));
    CHECK(exists(w, TABLE_ATTRIB, "hint-lab-v4addr"));
    CHECK(!exists(w, TABLE_ATTRIB, "net-lab_vlan"));
    world_close(w);
}

TEST(an_attrib_with_another_place_refuses_the_network)
{
    struct world *w = world_open();
    world_node_attrib(w, "hint-lab-v4addr", "'map':'elsewhere'");
    DONE(w, cmd_import(w, DOCUMENT));
    HAS(REFUSED(w, cmd_network(w, "lab", "[]"), OWNER_DIFFERS, "name"),
        "barclamp net, attribs/0/name: attrib hint-lab-v4addr belongs to ");
    world_close(w);
}

TEST(a_role_with_the_name_refuses_the_network)
{
    struct world *w = open_with_document();
    EXPECT_STR(REFUSED(w, cmd_network(w, "server", "[]"), NAME_TAKEN, "name"),
               "barclamp net, roles/1/name: there is a role net-server already; give the network "
               "another name");
    world_role(w, "net-lab", "");
    HAS(REFUSED(w, cmd_network(w, "lab", "[]"), NAME_TAKEN, "name"), "belongs to barclamp ");
    world_close(w);
}

TEST(an_attrib_of_the_document_refuses_the_network)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{" HEAD ",'roles':[" ROLE_SERVER "],'attribs':[" ATTRIB_PER
                          ",{'name':'hint-lab-v4addr','map':'lab-v4addr'}]}"));
    HAS(REFUSED(w, cmd_network(w, "lab", "[]"), NAME_TAKEN, "name"),
        "there is an attrib hint-lab-v4addr already; give the network another name");
    world_close(w);
}

/* One wrong document and the first problem of its import. */
static void is_refused(const char *content, enum problem_code code, const char *field,
                       const char *text)
{
    struct world *w = world_open();
    const struct str document = world_json(
        w, str_z(&w->arena, STR_CONCAT(&w->arena, STR("{" HEAD ","), str_from(content), STR("}"))));
    HAS(world_refused(w, CMD(IMPORT, import, .barclamp = document), code, field, HERE), text);
    world_close(w);
}

TEST(wrong_entries_are_refused_also_without_a_network)
{
    is_refused("'roles':[{'name':'a-{name}','per':'node','jig':'script'}]", PROBLEM_BAD_VALUE,
               "roles/0/per", "per must be network");
    is_refused("'roles':[{'name':'a','per':'network','jig':'script'}]", PROBLEM_NAME_INVALID,
               "roles/0/name", "name must contain {name}");
    is_refused("'roles':[{'name':'{name}-{name}','per':'network','jig':'script'}]",
               PROBLEM_NAME_INVALID, "roles/0/name", "may contain {name} only once");
    is_refused("'roles':[{'name':'a-{name}','jig':'script'}]", PROBLEM_BAD_VALUE, "roles/0/name",
               "contains {name}, which is replaced only in an entry with per: network");
    is_refused("'roles':[{'name':'a','jig':'script','requires':['b','b-{name}']}]",
               PROBLEM_BAD_VALUE, "roles/0/requires/1", "contains {name}");
    is_refused("'roles':[{'name':'a-{name}','per':'network','jig':'script',"
               "'attribs':[{'name':'same'}]}]",
               PROBLEM_NAME_INVALID, "roles/0/attribs/0/name", "name must contain {name}");
    is_refused("'roles':[{'name':'a-{name}','per':'network','jig':'script',"
               "'attribs':[{'name':'x-{name}','per':'network'}]}]",
               PROBLEM_BAD_VALUE, "roles/0/attribs/0/per", "per belongs to the role");
    is_refused("'roles':[{'name':'a-{name}','per':'network','jig':'script'},"
               "{'name':'A-{name}','per':'network','jig':'script'}]",
               PROBLEM_NAME_TAKEN, "roles/1/name", "role A-{name} is defined twice");
    is_refused("'roles':[{'name':'a-{name}','per':'network','jig':'script','requires':['1']}]",
               PROBLEM_NAME_INVALID, "roles/0/requires/0", "digits only");
    is_refused("'attribs':[{'name':'hint','per':'network'}]", PROBLEM_NAME_INVALID,
               "attribs/0/name", "name must contain {name}");
    is_refused("'attribs':[{'name':'hint-{name}','map':'x'}]", PROBLEM_BAD_VALUE, "attribs/0/name",
               "contains {name}");
    is_refused("'attribs':[{'name':'hint-{name}','per':true}]", PROBLEM_BAD_VALUE, "attribs/0/per",
               "per must be network");
    is_refused("'roles':[{'name':'a','jig':'script','lists-services':'b'}]", PROBLEM_BAD_VALUE,
               "roles/0/lists-services", "must name an attrib of this role");
}

/* A name of 255 characters with the longest name of a network is accepted, one more is not. */
TEST(names_are_bounded_for_the_longest_network)
{
    char name[300];
    for (uint32_t length = 207; length <= 208; length++) {
        struct world *w = world_open();
        memset(name, 'a', length);
        snprintf(name + length, sizeof name - length, "{name}");
        const struct str document = STR_CONCAT(
            &w->arena, STR("{'barclamp':{'name':'net','source_path':'/src'},'roles':[{'name':'"),
            str_from(name), STR("','per':'network','jig':'script'}]}"));
        const struct command import =
            CMD(IMPORT, import, .barclamp = world_json(w, str_z(&w->arena, document)));
        if (length == 207) {
            DONE(w, import);
            DONE(w, cmd_network(w, "a-network-name-with-forty-eight-characters-here-", "[]"));
        } else {
            REFUSED(w, import, NAME_INVALID, "roles/0/name");
        }
        world_close(w);
    }
}

/* The entry {"jig":"script","name":"a-{name}","per":"network","description":"..."} with a network
 * name of 48 characters has exactly the bytes that are permitted, or one more. */
TEST(an_entry_is_bounded_with_the_longest_network)
{
    for (uint32_t more = 0; more <= 1; more++) {
        struct world *w = world_open();
        struct buf b = buf_in(&w->arena);
        const uint32_t fixed =
            (uint32_t)strlen("{'description':'','jig':'script','name':'a-','per':'network'}") + 48;
        buf_put_z(&b, "{'barclamp':{'name':'net','source_path':'/src'},'roles':[{'description':'");
        for (uint32_t i = fixed; i < 16384 + more; i++)
            buf_put_c(&b, 'x');
        buf_put_z(&b, "','jig':'script','name':'a-{name}','per':'network'}]}");
        const struct command import =
            CMD(IMPORT, import, .barclamp = world_json(w, str_z(&w->arena, buf_str(&b))));
        if (more)
            REFUSED(w, import, LIMIT_REACHED, "roles/0");
        else
            DONE(w, import);
        world_close(w);
    }
}

TEST(a_role_lists_the_services_of_an_attrib)
{
    struct world *w = world_open();
    world_role(w, "dns", "'lists-services':'servers','attribs':[{'name':'servers','map':'s'}]");
    EXPECT_STR(shown(w, read_role(w, "dns").lists_services), "servers");
    world_close(w);
}

/* ---- deletion ---- */

TEST(a_deleted_network_takes_its_roles_and_noderoles)
{
    struct world *w = open_with_document();
    make_network(w, "lab", 1, 9);
    make_network(w, "store", 2, 9);
    world_node(w, "n1", NULL);
    world_bind(w, "net-lab@n1");
    world_bind(w, "net-store@n1");
    world_run_all(w);
    DONE(w, cmd_unmake(w, "lab"));
    CHECK(!exists(w, TABLE_ROLE, "net-lab") && exists(w, TABLE_ROLE, "net-store"));
    CHECK(!exists(w, TABLE_ATTRIB, "hint-lab-v4addr") && !exists(w, TABLE_ATTRIB, "net-lab_vlan"));
    CHECK(world_bound(w, "net-store@n1") && core_count(w->core, TABLE_NODEROLE) == 2);
    EXPECT_STR(addresses_of(w, "n1"), "10.2.0.1/24");
    world_close(w);
}

TEST(a_chain_of_roles_goes_with_its_network_while_one_of_them_runs)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{" HEAD ",'roles':[" ROLE_SERVER "," ROLE_PER
                          ",{'name':'top-{name}','per':'network','jig':'script',"
                          "'requires':['net-{name}']}],'attribs':[" ATTRIB_PER "]}"));
    make_network(w, "lab", 1, 9);
    world_node(w, "n1", NULL);
    world_bind(w, "top-lab@n1");
    world_bring(w, "net-server@n1", "active");
    world_bring(w, "net-lab@n1", "transition");
    IS(w, "top-lab@n1", "proposed");
    world_clear_effects(w);
    DONE(w, cmd_unmake(w, "lab"));
    CHECK(!exists(w, TABLE_ROLE, "net-lab") && !exists(w, TABLE_ROLE, "top-lab"));
    CHECK(core_count(w->core, TABLE_NODEROLE) == 1 && world_bound(w, "net-server@n1"));
    CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == 0);
    world_run_all(w);
    CHECK(core_count(w->core, TABLE_RUN) == 0);
    /* A network of the same name begins anew. */
    make_network(w, "lab", 1, 9);
    world_bind(w, "top-lab@n1");
    IS(w, "net-lab@n1", "proposed");
    world_close(w);
}

TEST(a_dependant_of_another_role_keeps_the_network)
{
    struct world *w = open_with_document();
    make_network(w, "lab", 1, 9);
    world_role(w, "top", "'requires':['net-lab']");
    world_node(w, "n1", NULL);
    world_bind(w, "top@n1");
    EXPECT_STR(REFUSED(w, cmd_unmake(w, "lab"), HAS_DEPENDANTS, "id"),
               "system: n1.example.com: top depends on system: n1.example.com: net-lab");
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "top@n1")));
    DONE(w, cmd_unmake(w, "lab"));
    CHECK(!world_bound(w, "net-server@n1") || core_count(w->core, TABLE_NODEROLE) == 1);
    /* The role that required it cannot be bound until there is such a network again. */
    REFUSED(w, cmd_bind(w, "top@n1", NULL), NONE, NULL);
    make_network(w, "lab", 1, 9);
    world_bind(w, "top@n1");
    world_close(w);
}

/* ---- binding ---- */

TEST(binding_allocates_in_the_same_step)
{
    struct world *w = open_with_document();
    make_network(w, "lab", 1, 9);
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "net-lab@n1");
    EXPECT_STR(addresses_of(w, "n1"), "10.1.0.1/24");
    EXPECT_STR(addresses_of(w, "n2"), "");
    /* The address stays when the noderole is removed, and is used again. */
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "net-lab@n1")));
    EXPECT_STR(addresses_of(w, "n1"), "10.1.0.1/24");
    world_bind(w, "net-lab@n1");
    EXPECT_STR(addresses_of(w, "n1"), "10.1.0.1/24");
    world_close(w);
}

TEST(admin_nodes_use_the_range_admin_and_all_the_range_host_v6)
{
    struct world *w = open_with_document();
    DONE(w, cmd_network(w, "lab",
                        "[{'name':'admin','first':'10.1.0.1/24','last':'10.1.0.9/24'},"
                        "{'name':'host','first':'10.1.0.10/24','last':'10.1.0.19/24'},"
                        "{'name':'host-v6','first':'fd00::1/64','last':'fd00::9/64'}]"));
    struct command admin = cmd_node(w, "a1");
    admin.node_create.admin = true;
    DONE(w, admin);
    world_node(w, "n1", NULL);
    world_bind(w, "net-lab@a1");
    world_bind(w, "net-lab@n1");
    EXPECT_STR(addresses_of(w, "a1"), "10.1.0.1/24 fd00::1/64");
    EXPECT_STR(addresses_of(w, "n1"), "10.1.0.10/24 fd00::2/64");
    world_close(w);
}

TEST(a_full_range_refuses_the_bind)
{
    struct world *w = open_with_document();
    make_network(w, "lab", 1, 1);
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "net-lab@n1");
    HAS(REFUSED(w, cmd_bind(w, "net-lab@n2", NULL), RANGE_FULL, "role_id"), "lab.host");
    world_close(w);
}

TEST(a_network_that_is_not_configured_gives_an_address_only_by_hint)
{
    struct world *w = open_with_document();
    DONE(w, CMD(NETWORK_CREATE, network_create, .name = STR("lab"), .conduit = STR("1g0"),
                .ranges =
                    world_json(w, "[{'name':'host','first':'10.1.0.1/24','last':'10.1.0.9/24'}]"),
                .configure = false, .given = GIVEN_NETWORK_CONDUIT | GIVEN_NETWORK_CONFIGURE));
    world_node(w, "n1", NULL);
    world_bind(w, "net-lab@n1");
    EXPECT_STR(addresses_of(w, "n1"), "");
    world_close(w);
}

TEST(an_allocation_binds_the_roles_once)
{
    struct world *w = open_with_document();
    make_network(w, "lab", 1, 9);
    world_deployment(w, "d");
    world_node(w, "n1", "d");
    DONE(w, cmd_allocate(w, "n1", "lab"));
    CHECK(read_noderole(w, "net-lab@n1").deployment_id == the_deployment(w, "d"));
    EXPECT_STR(addresses_of(w, "n1"), "10.1.0.1/24");
    const uint32_t noderoles = core_count(w->core, TABLE_NODEROLE);
    DONE(w, cmd_allocate(w, "n1", "lab"));
    CHECK(core_count(w->core, TABLE_NODEROLE) == noderoles);
    world_close(w);
}

TEST(a_role_that_cannot_be_bound_does_not_keep_a_node_from_its_address)
{
    struct world *w = open_with_document();
    make_network(w, "lab", 1, 9);
    world_node(w, "n1", NULL);
    DONE(w, CMD(JIG_UPDATE, jig_update, .id = core_find(w->core, TABLE_JIG, STR("script")),
                .active = false, .given = GIVEN_JIG_ACTIVE));
    DONE(w, cmd_allocate(w, "n1", "lab"));
    CHECK(!world_bound(w, "net-lab@n1"));
    EXPECT_STR(addresses_of(w, "n1"), "10.1.0.1/24");
    world_close(w);
}

TEST(a_registered_node_gets_the_roles_of_its_network)
{
    struct world *w = open_with_document();
    DONE(w, CMD(NETWORK_CREATE, network_create, .name = STR("lab"), .conduit = STR("1g0"),
                .category = STR("admin"),
                .ranges =
                    world_json(w, "[{'name':'host','first':'10.1.0.1/24','last':'10.1.0.9/24'}]"),
                .given = GIVEN_NETWORK_CONDUIT | GIVEN_NETWORK_CATEGORY));
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("n1.example.com"), .ip = STR("10.1.0.5/24")));
    CHECK(world_bound(w, "net-lab@n1"));
    EXPECT_STR(addresses_of(w, "n1"), "10.1.0.5/24");
    world_close(w);
}

TEST(an_address_by_hint_binds_the_roles)
{
    struct world *w = open_with_document();
    world_node_attrib(w, "hint-lab-v4addr", "'map':'lab-v4addr','writable':true");
    make_network(w, "lab", 1, 9);
    world_node(w, "n1", NULL);
    DONE(w,
         cmd_set(w, TABLE_NODE, the_node(w, "n1"), "hint-lab-v4addr", BUCKET_USER, "\"10.1.0.5\""));
    EXPECT_STR(addresses_of(w, "n1"), "10.1.0.5/24");
    CHECK(world_bound(w, "net-lab@n1"));
    DONE(w, CMD(NODE_CREATE, node_create, .name = STR("n2.example.com"),
                .hint = world_json(w, "{'lab-v4addr':'10.1.0.6'}")));
    EXPECT_STR(addresses_of(w, "n2"), "10.1.0.6/24");
    CHECK(world_bound(w, "net-lab@n2"));
    world_close(w);
}

/* ---- hooks ---- */

#define ALL_HOOKS                                                                                  \
    "'hooks':['on_network_create','on_network_change','on_network_delete',"                        \
    "'on_network_allocation_create','on_network_allocation_delete']"

/* Two roles, "up" above "down". */
static struct world *open_with_hooks(void)
{
    struct world *w = world_open();
    world_role(w, "up", ALL_HOOKS);
    world_role(w, "down", "'requires':['up']," ALL_HOOKS);
    world_clear_effects(w);
    return w;
}

TEST(hooks_of_a_network_are_called_in_the_order_of_cohorts)
{
    struct world *w = open_with_hooks();
    const int64_t id = make_network(w, "lab", 1, 9);
    EXPECT_EFFECTS(w, "on_network_create up lab; on_network_create down lab");
    DONE(w, CMD(NETWORK_UPDATE, network_update, .id = id, .given = GIVEN_NETWORK_VLAN, .vlan = 7));
    EXPECT_EFFECTS(w, "on_network_change down lab; on_network_change up lab");
    DONE(w, CMD(NETWORK_UPDATE, network_update, .id = id, .given = GIVEN_NETWORK_VLAN, .vlan = 7));
    EXPECT_EFFECTS(w, "");
    DONE(w, cmd_unmake(w, "lab"));
    EXPECT_EFFECTS(w, "on_network_delete down lab; on_network_delete up lab");
    world_close(w);
}

TEST(ranges_and_routers_change_their_network)
{
    static const char changed[] = "on_network_change down lab; on_network_change up lab";
    struct world *w = open_with_hooks();
    const int64_t id = make_network(w, "lab", 1, 9);
    world_clear_effects(w);
    const int64_t range = DONE(w, CMD(NETWORK_RANGE_CREATE, network_range_create, .network_id = id,
                                      .name = STR("more"), .first = STR("10.1.0.20/24"),
                                      .last = STR("10.1.0.29/24")));
    EXPECT_EFFECTS(w, changed);
    DONE(w, CMD(NETWORK_RANGE_UPDATE, network_range_update, .id = range, .given = GIVEN_RANGE_NAME,
                .name = STR("other")));
    EXPECT_EFFECTS(w, changed);
    const int64_t router =
        DONE(w, CMD(NETWORK_ROUTER_CREATE, network_router_create, .network_id = id,
                    .given = GIVEN_ROUTER_ADDRESS, .address = STR("10.1.0.254/24")));
    EXPECT_EFFECTS(w, changed);
    DONE(w, CMD(NETWORK_ROUTER_UPDATE, network_router_update, .id = router,
                .given = GIVEN_ROUTER_PREF, .pref = 5));
    EXPECT_EFFECTS(w, changed);
    DONE(w, CMD(NETWORK_ROUTER_UPDATE, network_router_update, .id = router,
                .given = GIVEN_ROUTER_PREF, .pref = 5));
    EXPECT_EFFECTS(w, "");
    DONE(w, CMD(NETWORK_ROUTER_DELETE, network_router_delete, .id = router));
    EXPECT_EFFECTS(w, changed);
    world_close(w);
}

/* The arguments of the first outbox row of this hook and role. */
static struct hook_call_args call_of(struct world *w, enum hook hook, const char *role)
{
    struct record record;
    struct hook_call_args args = {0};
    for (int64_t id = 0; (id = core_next_id(w->core, TABLE_OUTBOX, id)) != 0;)
        if (core_record(w->core, TABLE_OUTBOX, id, &record) && record.outbox.hook == hook &&
            record.outbox.role_id == the_role(w, role)) {
            CHECK(core_hook_args(w->core, &record.outbox, &w->arena, &args));
            return args;
        }
    world_fail(HERE, "there is no call of %s for %s", hook_name(hook), role);
    return args;
}

TEST(the_argument_is_the_network)
{
    struct world *w = open_with_hooks();
    const int64_t id = make_network(w, "lab", 1, 9);
    DONE(w, CMD(NETWORK_ROUTER_CREATE, network_router_create, .network_id = id,
                .given = GIVEN_ROUTER_ADDRESS, .address = STR("10.1.0.254/24")));
    EXPECT_STR(shown(w, call_of(w, HOOK_NETWORK_CREATE, "up").argument),
               "{'category':'general','conduit':'1g0','configure':true,'deployment':'system',"
               "'description':'','group':'default','id':1,'name':'lab','order':1000,'pbr':'',"
               "'ranges':[{'conduit':'1g0','first':'10.1.0.1/24','id':1,'last':'10.1.0.9/24',"
               "'name':'host','overlap':false,'team_mode':5,'use_bridge':false,'use_team':false,"
               "'use_vlan':false,'vlan':0}],'router':{'address':'10.1.0.254/24','pref':65536},"
               "'team_mode':5,'use_bridge':false,'use_team':false,'use_vlan':false,'v6prefix':'',"
               "'vlan':0}");
    DONE(w, cmd_unmake(w, "lab"));
    EXPECT_STR(shown(w, call_of(w, HOOK_NETWORK_DELETE, "down").argument),
               "{'gone':true,'id':1,'name':'lab','taken':false}");
    make_network(w, "lab", 1, 9);
    HAS(shown(w, call_of(w, HOOK_NETWORK_DELETE, "down").argument), "'taken':true");
    world_close(w);
}

static uint32_t count_calls(struct world *w, enum hook hook)
{
    struct record record;
    uint32_t count = 0;
    for (int64_t id = 0; (id = core_next_id(w->core, TABLE_OUTBOX, id)) != 0;)
        count += core_record(w->core, TABLE_OUTBOX, id, &record) && record.outbox.hook == hook;
    return count;
}

TEST(the_allocations_of_a_batch_are_one_call_for_each_role)
{
    struct world *w = open_with_hooks();
    make_network(w, "lab", 1, 9);
    make_network(w, "store", 2, 9);
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_collect(w);
    DONE(w, cmd_allocate(w, "n1", "lab"));
    DONE(w, cmd_allocate(w, "n1", "store"));
    DONE(w, cmd_allocate(w, "n2", "lab"));
    CHECK(count_calls(w, HOOK_NETWORK_ALLOCATION_CREATE) == 2);
    EXPECT_STR(
        shown(w, call_of(w, HOOK_NETWORK_ALLOCATION_CREATE, "up").argument),
        "{'allocations':["
        "{'address':'10.1.0.1/24','category':'general','id':1,'network':'lab','network_id':1,"
        "'node':'n1.example.com','node_id':2,'range':'host'},"
        "{'address':'10.2.0.1/24','category':'general','id':2,'network':'store','network_id':2,"
        "'node':'n1.example.com','node_id':2,'range':'host'},"
        "{'address':'10.1.0.2/24','category':'general','id':3,'network':'lab','network_id':1,"
        "'node':'n2.example.com','node_id':3,'range':'host'}],'more':false}");
    /* The next batch is another call. */
    world_collect(w);
    DONE(w, CMD(NETWORK_DEALLOCATE, network_deallocate, .id = 2));
    DONE(w, cmd_allocate(w, "n2", "store"));
    CHECK(count_calls(w, HOOK_NETWORK_ALLOCATION_CREATE) == 4);
    CHECK(count_calls(w, HOOK_NETWORK_ALLOCATION_DELETE) == 2);
    EXPECT_STR(
        shown(w, call_of(w, HOOK_NETWORK_ALLOCATION_DELETE, "down").argument),
        "{'allocations':[{'address':'10.2.0.1/24','category':'general','gone':true,'id':2,"
        "'network':'store','network_id':2,'node':'n1.example.com','node_id':2,'range':'host'}],"
        "'more':false}");
    /* An allocation that was deleted before the call is not in the list. */
    CHECK(strstr(shown(w, call_of(w, HOOK_NETWORK_ALLOCATION_CREATE, "up").argument), "'store'") ==
          NULL);
    world_close(w);
}

TEST(a_refused_command_adds_nothing_to_the_list)
{
    struct world *w = open_with_hooks();
    make_network(w, "lab", 1, 1);
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    DONE(w, cmd_allocate(w, "n1", "lab"));
    REFUSED(w, cmd_allocate(w, "n2", "lab"), RANGE_FULL, NULL);
    EXPECT_STR(world_path(w, call_of(w, HOOK_NETWORK_ALLOCATION_CREATE, "up").argument, "more"),
               "false");
    world_close(w);
}

/* Creates nodes with addresses in one batch; returns the argument. */
static struct str argument_of_many(struct world *w, uint32_t count)
{
    char name[40];
    world_collect(w);
    for (uint32_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "m%u", i);
        world_node(w, name, NULL);
        DONE(w, cmd_allocate(w, name, "lab"));
    }
    CHECK(count_calls(w, HOOK_NETWORK_ALLOCATION_CREATE) == 2);
    return call_of(w, HOOK_NETWORK_ALLOCATION_CREATE, "up").argument;
}

static uint32_t count_listed(struct world *w, struct str argument)
{
    struct json *tree;
    uint32_t offset;
    const char *what;
    CHECK(json_read(&w->arena, argument, &tree, &offset, &what) == OK);
    return json_get(tree, STR("allocations"))->count;
}

TEST(the_list_is_bounded)
{
    for (uint32_t count = 100; count <= 102; count++) {
        struct world *w = open_with_hooks();
        make_network(w, "lab", 1, 200);
        const struct str argument = argument_of_many(w, count);
        CHECK(count_listed(w, argument) == 100);
        EXPECT_STR(world_path(w, argument, "more"), count > 100 ? "true" : "false");
        world_collect(w);
        DONE(w, cmd_unmake(w, "lab"));
        const struct str gone = call_of(w, HOOK_NETWORK_ALLOCATION_DELETE, "up").argument;
        CHECK(count_listed(w, gone) == 100);
        EXPECT_STR(world_path(w, gone, "more"), count > 100 ? "true" : "false");
        world_reload(w);
        CHECK(count_listed(w, call_of(w, HOOK_NETWORK_ALLOCATION_DELETE, "up").argument) == 100);
        world_close(w);
    }
}

TEST(a_role_of_a_network_is_called_about_its_own_only)
{
    struct world *w = open_with_document();
    const int64_t lab = make_network(w, "lab", 1, 9);
    make_network(w, "store", 2, 9);
    world_node(w, "n1", NULL);
    world_collect(w);
    world_clear_effects(w);
    DONE(w, CMD(NETWORK_UPDATE, network_update, .id = lab, .given = GIVEN_NETWORK_VLAN, .vlan = 7));
    EXPECT_EFFECTS(w, "on_network_change net-lab lab");
    DONE(w, cmd_allocate(w, "n1", "lab"));
    CHECK(count_calls(w, HOOK_NETWORK_ALLOCATION_CREATE) == 1);
    /* The noderole of the role on that node is part of the argument. */
    HAS(shown(w, call_of(w, HOOK_NETWORK_ALLOCATION_CREATE, "net-lab").argument),
        "'noderole':{'id':2,'state':'proposed'}");
    world_close(w);
}

TEST(roles_with_an_inactive_jig_are_not_called)
{
    struct world *w = open_with_hooks();
    DONE(w, CMD(JIG_UPDATE, jig_update, .id = core_find(w->core, TABLE_JIG, STR("script")),
                .active = false, .given = GIVEN_JIG_ACTIVE));
    make_network(w, "lab", 1, 9);
    EXPECT_EFFECTS(w, "");
    world_close(w);
}

/* ---- arguments of noderoles and nodes ---- */

TEST(a_noderole_of_a_network_has_the_network_and_its_addresses)
{
    struct world *w = open_with_document();
    make_network(w, "lab", 1, 9);
    make_network(w, "store", 2, 9);
    world_node(w, "n1", NULL);
    world_bind(w, "net-lab@n1");
    world_bind(w, "net-store@n1");
    const struct hook_call_args args = call_of(w, HOOK_SYSDATA, "net-store");
    EXPECT_STR(world_path(w, args.argument, "addresses"),
               "[{'address':'10.2.0.1/24','category':'general','conduit':'1g0','id':2,"
               "'network':'store','network_id':2,'range':'host','team_mode':5,'use_bridge':false,"
               "'use_team':false,'use_vlan':false,'vlan':0}]");
    EXPECT_STR(world_path(w, args.argument, "network/name"), "'store'");
    EXPECT_STR(world_path(w, args.argument, "host/addresses"),
               "[{'address':'10.1.0.1/24','category':'general','id':1,'network':'lab',"
               "'network_id':1,'range':'host'},{'address':'10.2.0.1/24','category':'general',"
               "'id':2,'network':'store','network_id':2,'range':'host'}]");
    HAS(shown(w, args.context), "'noderoles':[{'addresses':[{'address':'10.2.0.1/24',");
    world_close(w);
}

/* ---- load and check ---- */

TEST(a_network_and_its_roles_survive_a_restart)
{
    struct world *w = open_with_document();
    make_network(w, "lab", 1, 9);
    world_reload(w);
    world_node(w, "n1", NULL);
    DONE(w, cmd_allocate(w, "n1", "lab"));
    CHECK(world_bound(w, "net-lab@n1"));
    DONE(w, cmd_unmake(w, "lab"));
    CHECK(!exists(w, TABLE_ROLE, "net-lab"));
    make_network(w, "store", 2, 9); /* the document is known after a restart */
    CHECK(exists(w, TABLE_ROLE, "net-store"));
    world_close(w);
}

TEST(the_check_detects_roles_that_do_not_fit_their_network)
{
    struct world *w = open_with_document();
    make_network(w, "lab", 1, 9);
    struct core *c = w->core;
    const role_ix r = {name_find(c, TABLE_ROLE, STR("net-lab"))};
    struct role *role = (struct role *)(uintptr_t)role_at(c, r);
    const struct role kept = *role;
    role->network_id = 99;
    HAS(core_check(c, &w->arena), "C19: a role is made for a network that does not exist");
    *role = kept;
    role->network_id = 0;
    HAS(core_check(c, &w->arena), "C19: a role without a network has a pattern of names");
    *role = kept;
    role->per_name = role->name;
    CHECK(core_check(c, &w->arena) != NULL);
    *role = kept;
    struct barclamp *b = (struct barclamp *)(uintptr_t)barclamp_at(c, role->barclamp);
    b->has_per = false;
    HAS(core_check(c, &w->arena), "C19: a barclamp is not marked");
    b->has_per = true;
    CHECK(core_check(c, &w->arena) == NULL);
    world_close(w);
}
