/* Goal: a command is done only if its caller has the level in every deployment that it touches, as
 * the rows are in the step that does it (ADR 0051).
 * Method: one node of deployment lab that carries noderoles of lab, of prod and of system; commands
 * of operators of lab, of lab and prod, and of the daemon itself, each through core_step. A refusal
 * must leave the digest as it was (world.h). */
#include "tests/world/world.h"

#include <stdio.h>

struct site {
    struct world *w;
    int64_t lab, prod, node;
    int64_t lab_user, both_user, system_user, viewer; /* operators by grant, except the last */
};

static int64_t user_with(struct world *w, const char *name, const char *grants)
{
    return DONE(w, CMD(USER_CREATE, user_create, .username = str_from(name),
                       .access = ACCESS_VIEWER, .grants = world_json(w, grants)));
}

static struct command by(int64_t user_id, struct command command)
{
    command.by = (struct principal){.is_external = true, .user_id = user_id};
    return command;
}

static struct command by_token(int64_t user_id, int64_t token_id, struct command command)
{
    command = by(user_id, command);
    command.by.token_id = token_id;
    return command;
}

static struct site site_open(void)
{
    struct site s = {.w = world_open()};
    struct world *w = s.w;
    char grants[128];
    DONE(w, cmd_import(w, "{'barclamp':{'name':'tools','source_path':'/t'},"
                          "'hammers':[{'name':'ipmi','type':'ipmi','priority':3}]}"));
    world_role(w, "scan", "");
    world_role(w, "disk", "");
    world_role(w, "shop", "'attribs':[{'name':'size','map':'shop/size','writable':true}]");
    s.lab = world_committed_deployment(w, "lab");
    s.prod = world_committed_deployment(w, "prod");
    s.node = world_node(w, "n1", "lab");
    DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = s.node,
                .hammer_kind_id = core_find(w->core, TABLE_HAMMER_KIND, STR("ipmi")),
                .username = STR("root")));
    snprintf(grants, sizeof grants, "{'%lld':'operator'}", (long long)s.lab);
    s.lab_user = user_with(w, "lab", grants);
    snprintf(grants, sizeof grants, "{'%lld':'operator','%lld':'operator'}", (long long)s.lab,
             (long long)s.prod);
    s.both_user = user_with(w, "both", grants);
    s.system_user = user_with(w, "system", "{'1':'operator'}");
    s.viewer = user_with(w, "viewer", "{}");
    return s;
}

/* scan@n1 in system, disk@n1 in lab, shop@n1 in prod. */
static void bind_all(struct site *s)
{
    world_bind_in(s->w, "scan@n1", "system");
    world_bind_in(s->w, "disk@n1", "lab");
    world_bind_in(s->w, "shop@n1", "prod");
}

/* ---- rule 2: touched deployments ---- */

TEST(a_commit_of_a_node_needs_the_level_wherever_it_commits)
{
    struct site s = site_open();
    const struct command commit = CMD(NODE_COMMIT, node_commit, .id = s.node);
    world_bind_in(s.w, "disk@n1", "lab");
    world_bind_in(s.w, "shop@n1", "prod");
    HAS(REFUSED(s.w, by(s.lab_user, commit), FORBIDDEN, "deployment"), "prod");
    REFUSED(s.w, by(s.viewer, commit), FORBIDDEN, "deployment");
    IS(s.w, "disk@n1", "proposed");
    DONE(s.w, by(s.both_user, commit));
    IS(s.w, "shop@n1", "todo");
    world_close(s.w);
}

TEST(a_propose_of_a_node_needs_the_level_only_where_something_is_proposed)
{
    struct site s = site_open();
    const struct command propose = CMD(NODE_PROPOSE, node_propose, .id = s.node);
    bind_all(&s);
    world_commit(s.w, "disk@n1");
    DONE(s.w, by(s.lab_user, propose)); /* shop and scan are proposed already */
    IS(s.w, "disk@n1", "proposed");
    world_commit(s.w, "disk@n1");
    world_commit(s.w, "shop@n1");
    HAS(REFUSED(s.w, by(s.lab_user, propose), FORBIDDEN, "deployment"), "prod");
    DONE(s.w, by(s.both_user, propose));
    world_commit(s.w, "scan@n1");
    HAS(REFUSED(s.w, by(s.both_user, propose), FORBIDDEN, "deployment"), "system");
    DONE(s.w, by(s.system_user, propose));
    world_close(s.w);
}

TEST(deleting_a_node_needs_the_level_for_all_its_noderoles)
{
    struct site s = site_open();
    const struct command delete = CMD(NODE_DELETE, node_delete, .id = s.node);
    bind_all(&s);
    REFUSED(s.w, by(s.lab_user, delete), FORBIDDEN, "deployment");
    HAS(REFUSED(s.w, by(s.both_user, delete), FORBIDDEN, "deployment"), "system");
    DONE(s.w, by(s.system_user, delete));
    const int64_t plain = world_node(s.w, "n2", "lab");
    DONE(s.w, by(s.lab_user, CMD(NODE_DELETE, node_delete, .id = plain)));
    world_close(s.w);
}

TEST(deleting_dependants_elsewhere_needs_the_level_there)
{
    struct site s = site_open();
    world_role(s.w, "cart", "'requires':['disk']");
    world_bind_in(s.w, "disk@n1", "lab");
    world_bind_in(s.w, "cart@n1", "prod");
    const struct command delete =
        CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(s.w, "disk@n1"));
    HAS(REFUSED(s.w, by(s.lab_user, delete), FORBIDDEN, "deployment"), "prod");
    CHECK(world_bound(s.w, "cart@n1") != 0);
    DONE(s.w, by(s.both_user, delete));
    CHECK(world_bound(s.w, "cart@n1") == 0);
    world_close(s.w);
}

TEST(data_of_a_noderole_elsewhere_are_not_set_through_its_node)
{
    struct site s = site_open();
    bind_all(&s);
    const struct command set = cmd_set(s.w, TABLE_NODE, s.node, "size", BUCKET_USER, "7");
    HAS(REFUSED(s.w, by(s.lab_user, set), FORBIDDEN, "deployment"), "prod");
    DONE(s.w, by(s.both_user, set));
    world_close(s.w);
}

TEST(edges_and_reruns_elsewhere_need_nothing_there)
{
    struct site s = site_open();
    world_role(s.w, "cart", "'requires':['disk']");
    world_bind_in(s.w, "disk@n1", "lab");
    world_bind_in(s.w, "cart@n1", "prod"); /* below a noderole of lab */
    world_commit(s.w, "disk@n1");
    world_commit(s.w, "cart@n1");
    world_run_all(s.w);
    IS(s.w, "cart@n1", "active");
    /* cart waits and runs again: these are consequences */
    DONE(s.w, by(s.lab_user, cmd_propose(s.w, "disk@n1")));
    DONE(s.w, by(s.lab_user, cmd_commit(s.w, "disk@n1")));
    world_run_all(s.w);
    IS(s.w, "cart@n1", "active");
    world_role(s.w, "till", "'requires':['cart']");
    DONE(s.w, by(s.lab_user, cmd_bind(s.w, "till@n1", "lab"))); /* an edge of cart */
    CHECK(world_has_edge(s.w, "cart@n1", "till@n1"));
    world_close(s.w);
}

TEST(a_revert_binds_only_on_nodes_of_deployments_the_caller_operates)
{
    struct site s = site_open();
    const int64_t other = world_node(s.w, "n2", "lab");
    world_bind_in(s.w, "disk@n2", "lab");
    world_commit_deployment(s.w, "lab");
    const int64_t seq = read_head(s.w, "lab").seq;
    const struct str content = world_snapshot(s.w, "lab", seq);
    const struct command revert =
        CMD(DEPLOYMENT_REVERT, deployment_revert, .id = s.lab, .seq = seq, .content = content);
    DONE(s.w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(s.w, "disk@n2")));
    DONE(s.w, CMD(NODE_UPDATE, node_update, .id = other, .given = GIVEN_NODE_DEPLOYMENT,
                  .deployment_id = s.prod));
    HAS(REFUSED(s.w, by(s.lab_user, revert), FORBIDDEN, "deployment"), "prod");
    DONE(s.w, by(s.both_user, revert));
    CHECK(world_bound(s.w, "disk@n2") != 0);
    world_close(s.w);
}

/* ---- rule 3: the node as a whole ---- */

TEST(verbs_of_the_whole_node_need_the_level_of_every_noderole_except_above)
{
    struct site s = site_open();
    bind_all(&s);
    const struct command verbs[] = {
        CMD(NODE_POWER, node_power, .id = s.node, .action = STR("on")),
        CMD(NODE_REDEPLOY, node_redeploy, .id = s.node),
        CMD(NODE_UPDATE, node_update, .id = s.node, .given = GIVEN_NODE_BOOTENV,
            .bootenv = STR("local")),
        CMD(NODE_UPDATE, node_update, .id = s.node, .given = GIVEN_NODE_AVAILABLE,
            .available = false),
        CMD(NODE_UPDATE, node_update, .id = s.node, .given = GIVEN_NODE_ALIVE, .alive = true),
        CMD(NODE_UPDATE, node_update, .id = s.node, .given = GIVEN_NODE_ALIVE, .alive = false),
        CMD(NODE_UPDATE, node_update, .id = s.node, .given = GIVEN_NODE_BOOT_ID,
            .boot_id = STR("b1")),
        CMD(TOKEN_CREATE, token_create, .node_id = s.node, .name = STR("t"),
            .hash = STR("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")),
    };
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        const bool changes = verbs[i].kind != COMMAND_NODE_UPDATE ||
                             verbs[i].node_update.given != GIVEN_NODE_ALIVE ||
                             verbs[i].node_update.alive != read_node(s.w, "n1").alive;
        REFUSED(s.w, by(s.viewer, verbs[i]), FORBIDDEN, "deployment");
        if (changes)
            HAS(REFUSED(s.w, by(s.lab_user, verbs[i]), FORBIDDEN, "deployment"), "prod");
        else
            DONE(s.w, by(s.lab_user, verbs[i]));
        DONE(s.w, by(s.both_user, verbs[i])); /* scan@n1 is in system, above lab */
        world_deliver(s.w);
    }
    world_close(s.w);
}

TEST(a_redeploy_resets_the_noderoles_above_the_node)
{
    struct site s = site_open();
    bind_all(&s);
    DONE(s.w, CMD(NODE_COMMIT, node_commit, .id = s.node));
    world_run_all(s.w);
    CHECK(read_noderole(s.w, "scan@n1").run_count == 1);
    DONE(s.w, by(s.both_user, CMD(NODE_REDEPLOY, node_redeploy, .id = s.node)));
    CHECK(read_noderole(s.w, "scan@n1").run_count == 0);
    world_close(s.w);
}

TEST(a_commit_that_makes_a_node_available_is_of_the_whole_node)
{
    struct site s = site_open();
    bind_all(&s);
    world_commit(s.w, "shop@n1");
    world_commit(s.w, "scan@n1");
    world_available(s.w, "n1", false);
    const struct command commit = CMD(NODE_COMMIT, node_commit, .id = s.node);
    HAS(REFUSED(s.w, by(s.lab_user, commit), FORBIDDEN, "deployment"), "prod");
    world_available(s.w, "n1", true);
    DONE(s.w, by(s.lab_user, commit));
    IS(s.w, "disk@n1", "todo");
    world_close(s.w);
}

/* ---- rule 4: identity of a node ---- */

TEST(the_identity_of_a_node_needs_operators_of_system)
{
    struct site s = site_open();
    world_node_attrib(s.w, "address", "'map':'ip','writable':true");
    const int64_t hammer = core_next_id(s.w->core, TABLE_HAMMER, 0);
    const struct command commands[] = {
        CMD(NODE_CREATE, node_create, .name = STR("alias.example.com"), .deployment_id = s.lab),
        CMD(NODE_UPDATE, node_update, .id = s.node, .given = GIVEN_NAME,
            .name = STR("alias2.example.com")),
        cmd_set(s.w, TABLE_NODE, s.node, "address", BUCKET_USER, "'10.0.0.1'"),
        CMD(HAMMER_UPDATE, hammer_update, .id = hammer, .given = GIVEN_HAMMER_ENDPOINT,
            .endpoint = STR("10.0.0.1")),
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        REFUSED(s.w, by(s.viewer, commands[i]), FORBIDDEN, "deployment");
        HAS(REFUSED(s.w, by(s.both_user, commands[i]), FORBIDDEN, "deployment"), "system");
        DONE(s.w, by(s.system_user, commands[i]));
    }
    /* the name is unchanged */
    DONE(s.w, by(s.lab_user, CMD(NODE_UPDATE, node_update, .id = s.node,
                                 .given = GIVEN_NAME | GIVEN_DESCRIPTION,
                                 .name = STR("Alias2.example.com"), .description = STR("mine"))));
    world_close(s.w);
}

/* ---- networks and addresses ---- */

TEST(networks_routers_and_filters_are_changed_by_operators_of_system)
{
    struct site s = site_open();
    const struct command commands[] = {
        CMD(NETWORK_CREATE, network_create, .name = STR("net"), .deployment_id = s.lab,
            .given = GIVEN_NETWORK_CONDUIT, .conduit = STR("1g0")),
        CMD(NETWORK_UPDATE, network_update, .id = 1, .given = GIVEN_NETWORK_ORDER, .order = 3),
        CMD(NETWORK_RANGE_CREATE, network_range_create, .network_id = 1, .name = STR("host"),
            .given = GIVEN_RANGE_NAME | GIVEN_RANGE_FIRST | GIVEN_RANGE_LAST,
            .first = STR("10.1.0.1/24"), .last = STR("10.1.0.9/24")),
        CMD(NETWORK_RANGE_UPDATE, network_range_update, .id = 1, .given = GIVEN_RANGE_NAME,
            .name = STR("hosts")),
        CMD(NETWORK_ROUTER_CREATE, network_router_create, .network_id = 1),
        CMD(NETWORK_ROUTER_UPDATE, network_router_update, .id = 1, .given = GIVEN_ROUTER_PREF,
            .pref = 7),
        CMD(NETWORK_ROUTER_DELETE, network_router_delete, .id = 1),
        CMD(NODE_CREATE, node_create, .name = STR("n2.example.com"), .deployment_id = s.lab,
            .ip = STR("10.1.0.5"), .mac = STR("52:54:00:00:00:0a")),
        CMD(NIC_MOVE, nic_move, .node_id = s.node, .mac = STR("52:54:00:00:00:0a")),
        CMD(DNS_NAME_FILTER_CREATE, dns_name_filter_create, .name = STR("f"), .given = 1),
        CMD(DNS_NAME_FILTER_UPDATE, dns_name_filter_update, .id = 1, .given = 1, .name = STR("g")),
        CMD(DNS_NAME_FILTER_DELETE, dns_name_filter_delete, .id = 1),
        CMD(NETWORK_DELETE, network_delete, .id = 1),
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        REFUSED(s.w, by(s.viewer, commands[i]), FORBIDDEN, "deployment");
        HAS(REFUSED(s.w, by(s.both_user, commands[i]), FORBIDDEN, "deployment"), "system");
        DONE(s.w, by(s.system_user, commands[i]));
    }
    const struct command internal[] = {
        CMD(LEASE_TAKE, lease_take, .range_id = 1, .address = STR("10.1.0.1")),
        CMD(LEASE_RELEASE, lease_release, .address = STR("10.1.0.1")),
        CMD(LEASE_DECLINE, lease_decline, .range_id = 1, .address = STR("10.1.0.1")),
        CMD(NICS_MAKE, nics_make, .unused = 0),
    };
    for (size_t i = 0; i < sizeof internal / sizeof *internal; i++) {
        world_step(s.w, by(s.system_user, internal[i]));
        CHECK(s.w->out.verdict == VERDICT_REFUSED);
        CHECK(s.w->out.problems->code == PROBLEM_FORBIDDEN);
    }
    world_close(s.w);
}

/* Network `net` of prod and `loose`, which is not configured, of lab. */
static struct site site_open_with_networks(void)
{
    struct site s = site_open();
    DONE(s.w, CMD(NETWORK_CREATE, network_create, .name = STR("net"), .deployment_id = s.prod,
                  .given = GIVEN_NETWORK_CONDUIT, .conduit = STR("1g0"),
                  .ranges = world_json(s.w, "[{'name':'host','first':'10.1.0.1/24',"
                                            "'last':'10.1.0.9/24'}]")));
    DONE(s.w, CMD(NETWORK_CREATE, network_create, .name = STR("loose"), .deployment_id = s.lab,
                  .given = GIVEN_NETWORK_CONDUIT | GIVEN_NETWORK_CONFIGURE, .conduit = STR("1g1"),
                  .ranges = world_json(s.w, "[{'name':'host','first':'10.1.0.1/16',"
                                            "'last':'10.1.9.9/16','overlap':true}]")));
    return s;
}

TEST(a_chosen_address_needs_the_level_in_the_deployment_of_its_network)
{
    struct site s = site_open_with_networks();
    struct world *w = s.w;
    const int64_t other = world_node(w, "n2", "prod");
    const struct command next =
        CMD(NETWORK_ALLOCATE, network_allocate, .node_id = s.node, .network_id = 1);
    struct command chosen = next, suggested = next, by_range = next;
    chosen.network_allocate.address = STR("10.1.0.7");
    suggested.network_allocate.suggestion = STR("10.1.0.8");
    by_range.network_allocate.network_id = 0;
    by_range.network_allocate.range_id = 1;
    by_range.network_allocate.address = STR("10.1.0.9");
    const struct command all[] = {next, chosen, suggested, by_range};
    for (size_t i = 0; i < 4; i++) {
        REFUSED(w, by(s.viewer, all[i]), FORBIDDEN, "deployment");
        if (i)
            HAS(REFUSED(w, by(s.lab_user, all[i]), FORBIDDEN, "deployment"), "prod");
        const int64_t id = DONE(w, by(i ? s.both_user : s.lab_user, all[i]));
        const struct command back = CMD(NETWORK_DEALLOCATE, network_deallocate, .id = id);
        REFUSED(w, by(s.viewer, back), FORBIDDEN, "deployment");
        DONE(w, by(s.lab_user, back));
    }
    /* For a node of prod, and its address, lab has no say. */
    struct command theirs = next;
    theirs.network_allocate.node_id = other;
    REFUSED(w, by(s.lab_user, theirs), FORBIDDEN, "deployment");
    const int64_t id = DONE(w, by(s.both_user, theirs));
    REFUSED(w, by(s.lab_user, CMD(NETWORK_DEALLOCATE, network_deallocate, .id = id)), FORBIDDEN,
            "deployment");
    world_close(w);
}

/* ---- rule 5: the data of network roles ---- */

/* The role of a network is bound in lab. Its data would give the machine any address. */
TEST(data_of_the_role_of_a_network_are_set_by_operators_of_system)
{
    struct site s = site_open();
    struct world *w = s.w;
    DONE(w, cmd_import(w, "{'barclamp':{'name':'net','source_path':'/src'},'roles':["
                          "{'name':'net-{name}','per':'network','jig':'script','attribs':["
                          "{'name':'net-{name}_addresses','map':'net/{name}/addresses',"
                          "'writable':true}]}]}"));
    DONE(w, CMD(NETWORK_CREATE, network_create, .name = STR("a"), .deployment_id = s.lab,
                .given = GIVEN_NETWORK_CONDUIT, .conduit = STR("1g0"),
                .ranges = world_json(w, "[{'name':'host','first':'10.1.0.1/24',"
                                        "'last':'10.1.0.9/24'}]")));
    const struct str data = world_json(w, "{'net':{'a':{'addresses':['10.9.0.1/24']}}}");
    struct command bind = cmd_bind(w, "net-a@n1", "lab");
    bind.noderole_bind.data = data;
    REFUSED(w, by(s.both_user, bind), FORBIDDEN, "deployment");
    bind.noderole_bind.data = STR("");
    DONE(w, by(s.lab_user, bind)); /* the next free address needs the level for the node only */
    const int64_t nr = the_noderole(w, "net-a@n1");
    const int64_t dr = core_deployment_role(w->core, s.lab, the_role(w, "net-a"));
    const char *const value = "['10.9.0.1/24']", *const name = "net-a_addresses";
    const struct command sets[] = {
        CMD(NODEROLE_DATA, noderole_data, .id = nr, .data = data),
        CMD(DEPLOYMENT_ROLE_DATA, deployment_role_data, .id = dr, .data = data),
        cmd_set(w, TABLE_NODE, s.node, name, BUCKET_USER, value),
        cmd_set(w, TABLE_NODEROLE, nr, name, BUCKET_USER, "['10.9.0.2/24']"),
        cmd_set(w, TABLE_DEPLOYMENT_ROLE, dr, name, BUCKET_USER, "['10.9.0.3/24']"),
        cmd_set(w, TABLE_DEPLOYMENT, s.lab, name, BUCKET_USER, "['10.9.0.4/24']"),
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        HAS(REFUSED(w, by(s.both_user, sets[i]), FORBIDDEN, "deployment"), "system");
        DONE(w, by(s.system_user, sets[i]));
    }
    /* Notes are no data of a run; what operators of system proposed may be withdrawn, committed. */
    DONE(w, by(s.lab_user, cmd_set(w, TABLE_NODEROLE, nr, name, BUCKET_NOTE, "'x'")));
    DONE(w, by(s.lab_user, CMD(DEPLOYMENT_ROLE_PROPOSE, deployment_role_propose, .id = dr)));
    DONE(w, by(s.lab_user, CMD(DEPLOYMENT_COMMIT, deployment_commit, .id = s.lab)));
    world_close(w);
}

TEST(a_revert_that_changes_data_of_the_role_of_a_network_needs_operators_of_system)
{
    struct site s = site_open();
    struct world *w = s.w;
    DONE(w, cmd_import(w, "{'barclamp':{'name':'net','source_path':'/src'},'roles':["
                          "{'name':'net-{name}','per':'network','jig':'script'}]}"));
    DONE(w, CMD(NETWORK_CREATE, network_create, .name = STR("a"), .given = GIVEN_NETWORK_CONDUIT,
                .conduit = STR("1g0")));
    DONE(w, cmd_bind(w, "net-a@n1", "lab"));
    const int64_t nr = the_noderole(w, "net-a@n1");
    DONE(w, CMD(NODEROLE_DATA, noderole_data, .id = nr, .data = world_json(w, "{'x':1}")));
    world_commit_deployment(w, "lab");
    const int64_t seq = read_head(w, "lab").seq;
    const struct command revert = CMD(DEPLOYMENT_REVERT, deployment_revert, .id = s.lab, .seq = seq,
                                      .content = world_snapshot(w, "lab", seq));
    DONE(w, by(s.lab_user, revert)); /* the data are as they were */
    DONE(w, cmd_propose(w, "net-a@n1"));
    DONE(w, CMD(NODEROLE_DATA, noderole_data, .id = nr, .data = world_json(w, "{'x':2}")));
    world_commit_deployment(w, "lab");
    HAS(REFUSED(w, by(s.lab_user, revert), FORBIDDEN, "deployment"), "system");
    DONE(w, by(s.system_user, revert));
    world_close(w);
}

TEST(an_address_of_a_network_that_is_not_configured_is_chosen_by_operators_of_system)
{
    struct site s = site_open_with_networks();
    struct command chosen = CMD(NETWORK_ALLOCATE, network_allocate, .node_id = s.node,
                                .network_id = 2, .suggestion = STR("10.1.0.5"));
    HAS(REFUSED(s.w, by(s.both_user, chosen), FORBIDDEN, "deployment"), "system");
    chosen.network_allocate.network_id = 0;
    chosen.network_allocate.range_id = 2;
    HAS(REFUSED(s.w, by(s.both_user, chosen), FORBIDDEN, "deployment"), "system");
    DONE(s.w, by(s.system_user, chosen));
    world_close(s.w);
}

/* The phantom node of lab is the host of the daemon. */
static int64_t phantom_of_lab(const struct site *s)
{
    return core_find(s->w->core, TABLE_NODE, STR("lab-phantom.internal.local"));
}

static struct command bind_to_phantom(const struct site *s, const char *role)
{
    return CMD(NODEROLE_BIND, noderole_bind, .node_id = phantom_of_lab(s),
               .role_id = core_find(s->w->core, TABLE_ROLE, str_from(role)),
               .deployment_id = s->lab);
}

/* Requirements of a service, and members that a revert binds, are bound there like every role that
 * is not a service. */
TEST(requirements_and_reverts_bind_only_services_to_a_phantom)
{
    struct site s = site_open();
    world_role(s.w, "keeper", "'flags':['service'],'requires':['disk']");
    world_role(s.w, "clerk", "'flags':['service']");
    const struct command bind = bind_to_phantom(&s, "keeper");
    HAS(REFUSED(s.w, by(s.lab_user, bind), FORBIDDEN, "deployment"), "system");
    DONE(s.w, by(s.lab_user, bind_to_phantom(&s, "clerk")));
    const int64_t keeper = DONE(s.w, by(s.system_user, bind));
    const int64_t disk = DONE(s.w, bind_to_phantom(&s, "disk")); /* bound already */
    world_commit_deployment(s.w, "lab");
    const int64_t seq = read_head(s.w, "lab").seq, count = core_count(s.w->core, TABLE_NODEROLE);
    const struct command revert = CMD(DEPLOYMENT_REVERT, deployment_revert, .id = s.lab, .seq = seq,
                                      .content = world_snapshot(s.w, "lab", seq));
    DONE(s.w, CMD(NODEROLE_DELETE, noderole_delete, .id = keeper));
    DONE(s.w, CMD(NODEROLE_DELETE, noderole_delete, .id = disk));
    CHECK(core_count(s.w->core, TABLE_NODEROLE) == count - 2);
    HAS(REFUSED(s.w, by(s.lab_user, revert), FORBIDDEN, "deployment"), "system");
    DONE(s.w, by(s.system_user, revert));
    CHECK(core_count(s.w->core, TABLE_NODEROLE) == count);
    world_close(s.w);
}

/* ---- time of the check ---- */

TEST(rights_are_checked_in_the_step_not_at_the_request)
{
    struct site s = site_open();
    struct arena arena = {0};
    const struct command commit = by(s.both_user, CMD(NODE_COMMIT, node_commit, .id = s.node));
    world_bind_in(s.w, "disk@n1", "lab");
    CHECK(!core_check_rights(s.w->core, &commit.by, &commit, &arena));
    DONE(s.w, CMD(USER_UPDATE, user_update, .id = s.both_user, .given = GIVEN_USER_GRANTS,
                  .grants = STR("{}")));
    REFUSED(s.w, commit, FORBIDDEN, "deployment");
    struct command other = by(s.lab_user, commit);
    CHECK(!core_check_rights(s.w->core, &other.by, &other, &arena));
    DONE(s.w, CMD(NODE_UPDATE, node_update, .id = s.node, .given = GIVEN_NODE_DEPLOYMENT,
                  .deployment_id = s.prod));
    REFUSED(s.w, other, FORBIDDEN, "deployment");
    DONE(s.w, CMD(USER_UPDATE, user_update, .id = s.system_user, .given = GIVEN_USER_IS_LOCKED,
                  .is_locked = true));
    REFUSED(s.w, by(s.system_user, commit), FORBIDDEN, "deployment");
    DONE(s.w, CMD(NODE_COMMIT, node_commit, .id = s.node)); /* a command of the daemon */
    arena_fini(&arena);
    world_close(s.w);
}

TEST(a_restricted_token_restricts_what_is_touched)
{
    struct site s = site_open();
    const int64_t admin =
        DONE(s.w, CMD(USER_CREATE, user_create, .username = STR("root"), .is_admin = true));
    const int64_t token = DONE(
        s.w,
        CMD(TOKEN_CREATE, token_create, .user_id = admin, .name = STR("t"), .deployment_id = s.lab,
            .hash = STR("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")));
    const struct command commit = CMD(NODE_COMMIT, node_commit, .id = s.node);
    world_bind_in(s.w, "disk@n1", "lab");
    world_bind_in(s.w, "shop@n1", "prod");
    REFUSED(s.w, by_token(admin, token, commit), FORBIDDEN, "deployment");
    REFUSED(s.w, by_token(s.lab_user, token, commit), FORBIDDEN, "deployment"); /* not the owner */
    REFUSED(s.w, by_token(admin, 99, commit), FORBIDDEN, "deployment");
    DONE(s.w, by(admin, commit));
    world_close(s.w);
}

/* ---- batches ---- */

static struct command batch_of(struct site *s, int64_t user, const struct command *parts,
                               uint32_t count)
{
    struct buf b = buf_in(&s->w->arena);
    for (uint32_t i = 0; i < count; i++)
        command_encode(&parts[i], &b);
    return by(user, CMD(BATCH, batch, .commands = buf_str(&b)));
}

TEST(a_part_that_touches_too_much_refuses_the_batch)
{
    struct site s = site_open();
    world_bind_in(s.w, "disk@n1", "lab");
    world_bind_in(s.w, "shop@n1", "prod");
    struct command parts[] = {
        cmd_commit(s.w, "disk@n1"),
        CMD(NODE_COMMIT, node_commit, .id = s.node),
    };
    REFUSED(s.w, batch_of(&s, s.lab_user, parts, 2), FORBIDDEN, "1.deployment");
    IS(s.w, "disk@n1", "proposed");
    parts[1].by = (struct principal){0}; /* a part cannot claim to be of the daemon */
    REFUSED(s.w, batch_of(&s, s.lab_user, parts, 2), FORBIDDEN, "1.deployment");
    DONE(s.w, batch_of(&s, s.both_user, parts, 2));
    world_close(s.w);
}

TEST(a_batch_that_ends_its_own_session_is_checked_with_the_rights_at_its_start)
{
    struct site s = site_open();
    int64_t tokens[2];
    for (int i = 0; i < 2; i++)
        tokens[i] = DONE(
            s.w,
            CMD(TOKEN_CREATE, token_create, .user_id = s.viewer, .name = STR("t"),
                .kind = TOKEN_SESSION,
                .hash =
                    i ? STR("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde0")
                      : STR("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde1")));
    const struct command parts[] = {
        CMD(TOKEN_DELETE, token_delete, .id = tokens[0]),
        CMD(TOKEN_DELETE, token_delete, .id = tokens[1]),
    };
    struct command batch = batch_of(&s, s.viewer, parts, 2);
    batch.by.token_id = tokens[0];
    DONE(s.w, batch);
    CHECK(core_count(s.w->core, TABLE_TOKEN) == 0);
    world_close(s.w);
}
