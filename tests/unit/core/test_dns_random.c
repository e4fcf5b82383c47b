/* Goal: no change of an installation is missed by the evaluation of DNS names. Method: seeded
 * random commands about nodes, roles, data, networks, services and filters, of which some are
 * refused. After each step core_check() compares the names with an evaluation from nothing unless
 * one is pending (world.h); annealing and reloads occur between the commands. Each kind of command
 * must have been executed, and names must have existed. */
#include "base/prng.h"
#include "tests/world/dns_world.h"

#include <string.h>

enum { STEPS = 1500, SEEDS = 8, NODES = 6 };

#define PICK(r, list) (list)[prng_below((r), sizeof(list) / sizeof *(list))]

static const char *const matchers[] = {
    "net.category == \"general\"",
    "net.name == \"alpha\", range.name == \"host\"",
    "deployment.name == \"prod\"",
    "node.role has \"web\"",
    "node.attr.row == \"r1\"",
    "node.attr.web-zone == \"dmz\"",
    "node.role has \"web\", node.attr.row == \"r1\"",
    "net.color == \"red\"",
};
static const char *const templates[] = {
    "{{node.name}}",  "{{node.name}}.{{node.deployment}}", "x{{node.mac}}", "{{network.range}}",
    "{{node.color}}",
};
static const char *const services[] = {"['system']", "['lab','system']", "[]",
                                       "[{'name':'system'},'lab']"};
static const char *const values[] = {"'r1'", "'dmz'", "null", "7"};
static const char *const categories[] = {"general", "lab", "admin"};
static const char *const names[] = {"system", "lab"};

/* The id at a random position of the table; 0 if it is empty. */
static int64_t any_id(struct world *w, struct prng *r, enum table table)
{
    const uint32_t count = core_count(w->core, table);
    int64_t id = 0;
    for (uint32_t i = count ? (uint32_t)prng_below(r, count) + 1 : 0; i; i--)
        id = core_next_id(w->core, table, id);
    return id;
}

/* A node; one that lists DNS services rarely, so that services exist most of the time. */
static int64_t any_node(struct world *w, struct prng *r)
{
    const int64_t n = any_id(w, r, TABLE_NODE);
    return core_noderole(w->core, n, the_role(w, "dns-list")) && prng_chance(r, 970) ? 0 : n;
}

/* A noderole, one of dns-list rarely. */
static int64_t any_noderole(struct world *w, struct prng *r)
{
    struct record record;
    const int64_t id = any_id(w, r, TABLE_NODEROLE);
    return core_record(w->core, TABLE_NODEROLE, id, &record) &&
                   record.noderole.role_id == the_role(w, "dns-list") && prng_chance(r, 950)
               ? 0
               : id;
}

static struct str node_name(struct world *w, struct prng *r)
{
    return STR_CONCAT(&w->arena, STR("n"), str_from_i64(&w->arena, (int64_t)prng_below(r, NODES)),
                      STR(".example.com"));
}

static struct command any_filter_command(struct world *w, struct prng *r, bool is_new)
{
    const struct str matcher = str_from(PICK(r, matchers)), template = str_from(PICK(r, templates));
    const struct str service = str_from(PICK(r, names));
    const uint32_t given = (uint32_t)prng_below(r, 32), priority = (uint32_t)prng_below(r, 5);
    const struct str name =
        STR_CONCAT(&w->arena, STR("f"), str_from_i64(&w->arena, (int64_t)prng_below(r, 4)));
    if (is_new)
        return CMD(DNS_NAME_FILTER_CREATE, dns_name_filter_create, .given = 31, .name = name,
                   .matcher = matcher, .priority = priority, .service = service,
                   .template = template);
    return CMD(DNS_NAME_FILTER_UPDATE, dns_name_filter_update,
               .id = any_id(w, r, TABLE_DNS_NAME_FILTER), .given = given, .name = name,
               .matcher = matcher, .priority = priority, .service = service, .template = template);
}

static struct command any_data_command(struct world *w, struct prng *r)
{
    static const char *const attribs[] = {"row", "web-zone", "hint-admin-macs"};
    const char *attrib = PICK(r, attribs);
    const char *value =
        strcmp(attrib, "hint-admin-macs") == 0 ? "['52:54:00:00:00:01']" : PICK(r, values);
    const enum table target = strcmp(attrib, "web-zone") != 0 ? TABLE_NODE
                              : prng_chance(r, 500)           ? TABLE_NODEROLE
                                                              : TABLE_DEPLOYMENT_ROLE;
    return cmd_set(w, target, any_id(w, r, target), attrib, BUCKET_USER, value);
}

static struct command any_import(struct world *w, struct prng *r)
{
    static const char *const documents[] = {
        "{'barclamp':{'name':'extra','source_path':'/x'},'attribs':[{'name':'row','map':'rack/row',"
        "'schema':{'type':'any'},'default':'r1'},{'name':'hint-admin-macs','map':'admin_macs',"
        "'schema':{'type':'any'}}]}",
        "{'barclamp':{'name':'extra','source_path':'/x'},'attribs':[{'name':'row','map':'rack/row',"
        "'schema':{'type':'any'}},{'name':'hint-admin-macs','map':'admin_macs',"
        "'schema':{'type':'any'}}]}",
        "{'barclamp':{'name':'extra','source_path':'/x'},'attribs':[{'name':'row','map':'row',"
        "'schema':{'type':'any'},'default':'r1'},{'name':'hint-admin-macs','map':'admin_macs',"
        "'schema':{'type':'any'}}]}",
    };
    return cmd_import(w, PICK(r, documents));
}

/* A command about nodes, networks, roles or filters; it may be refused. */
static struct command any_command(struct world *w, struct prng *r)
{
    const int64_t n = any_id(w, r, TABLE_NODE), d = any_id(w, r, TABLE_DEPLOYMENT);
    const int64_t changed = any_node(w, r);
    switch (prng_below(r, 16)) {
    case 0:
        return CMD(NODE_CREATE, node_create, .name = node_name(w, r), .deployment_id = d,
                   .alive = true, .available = true);
    case 1: return CMD(NODE_DELETE, node_delete, .id = prng_chance(r, 200) ? changed : 0);
    case 2:
        return CMD(NODE_UPDATE, node_update, .id = changed, .given = GIVEN_NAME,
                   .name = node_name(w, r));
    case 3:
        return CMD(NODE_UPDATE, node_update, .id = changed, .given = GIVEN_NODE_DEPLOYMENT,
                   .deployment_id = d);
    case 4:
    case 5:
        return CMD(NETWORK_ALLOCATE, network_allocate, .node_id = n,
                   .network_id = any_id(w, r, TABLE_NETWORK));
    case 6:
        return CMD(NETWORK_DEALLOCATE, network_deallocate,
                   .id = prng_chance(r, 300) ? any_id(w, r, TABLE_NETWORK_ALLOCATION) : 0);
    case 7:
        return CMD(NODEROLE_BIND, noderole_bind, .node_id = n,
                   .role_id = the_role(w, prng_chance(r, 500) ? "web" : "dns-list"),
                   .deployment_id = d);
    case 8: return CMD(NODEROLE_DELETE, noderole_delete, .id = any_id(w, r, TABLE_NODEROLE));
    case 9: return any_data_command(w, r);
    case 10: return CMD(DEPLOYMENT_COMMIT, deployment_commit, .id = d);
    case 11:
        return CMD(NETWORK_UPDATE, network_update, .id = any_id(w, r, TABLE_NETWORK),
                   .given = GIVEN_NETWORK_CATEGORY, .category = str_from(PICK(r, categories)));
    case 12: return any_filter_command(w, r, true);
    case 13: return any_filter_command(w, r, false);
    case 14:
        return prng_chance(r, 300) ? CMD(DNS_NAME_FILTER_DELETE, dns_name_filter_delete,
                                         .id = any_id(w, r, TABLE_DNS_NAME_FILTER))
                                   : any_import(w, r);
    default:
        return CMD(NETWORK_RANGE_UPDATE, network_range_update,
                   .id = any_id(w, r, TABLE_NETWORK_RANGE), .given = GIVEN_RANGE_NAME,
                   .name = prng_chance(r, 800) ? STR("host") : STR("rack"));
    }
}

/* Commit everything and end the runs; a noderole that lists services returns one of the lists. */
static void finish_runs(struct world *w, struct prng *r)
{
    for (int64_t id = core_next_id(w->core, TABLE_DEPLOYMENT, 0); id;
         id = core_next_id(w->core, TABLE_DEPLOYMENT, id))
        world_step(w, CMD(DEPLOYMENT_COMMIT, deployment_commit, .id = id));
    world_deliver(w);
    world_anneal(w);
    for (int64_t id = core_next_id(w->core, TABLE_RUN, 0); id;
         id = core_next_id(w->core, TABLE_RUN, id)) {
        struct record run;
        char wall[100];
        CHECK(core_record(w->core, TABLE_RUN, id, &run));
        if (run.run.state != RUN_RUNNING)
            continue;
        snprintf(wall, sizeof wall, "{'dns':{'servers':%s},'web':{'zone':'dmz'}}",
                 PICK(r, services));
        world_step(w, CMD(RUN_DONE, run_done, .run_id = id, .attempt = run.run.attempt,
                          .result = prng_chance(r, 900) ? RESULT_OK : RESULT_FAILED,
                          .has_wall = true, .wall = world_json(w, wall)));
    }
    world_deliver(w);
}

static struct world *open_for(struct prng *r)
{
    struct world *w = dns_open();
    DONE(w, any_import(w, r));
    world_role(w, "web",
               "'attribs':[{'name':'web-zone','map':'web/zone','schema':{'type':'any'}}]");
    dns_network(w, "beta", "lab", "1g1",
                "[{'name':'host','first':'10.0.0.1/29','last':'10.0.0.3/29'}]");
    dns_serve(w, "['system','lab']");
    return w;
}

TEST(names_follow_every_change)
{
    uint32_t done[COMMAND_COUNT] = {0}, named = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct prng r;
        prng_init(&r, seed);
        struct world *w = open_for(&r);
        for (int i = 0; i < STEPS; i++) {
            const struct command command = any_command(w, &r);
            world_step(w, command);
            done[command.kind] += w->out.verdict == VERDICT_DONE;
            if (prng_chance(&r, 200))
                finish_runs(w, &r);
            if (prng_chance(&r, 100))
                world_step(w, CMD(NODEROLE_ENQUEUE, noderole_enqueue, .id = any_noderole(w, &r)));
            if (prng_chance(&r, 100))
                world_step(w, CMD(NODEROLE_RETRY, noderole_retry, .id = any_noderole(w, &r)));
            if (prng_chance(&r, 400))
                world_anneal(w);
            if (prng_chance(&r, 20))
                world_reload(w);
            named += core_count(w->core, TABLE_DNS_NAME_ENTRY) > 0;
        }
        world_anneal(w);
        CHECK(!core_dns_names_are_pending(w->core));
        world_close(w);
    }
    static const enum command_kind kinds[] = {
        COMMAND_NODE_CREATE,
        COMMAND_NODE_DELETE,
        COMMAND_NODE_UPDATE,
        COMMAND_NETWORK_ALLOCATE,
        COMMAND_NETWORK_DEALLOCATE,
        COMMAND_NODEROLE_BIND,
        COMMAND_NODEROLE_DELETE,
        COMMAND_ATTRIB_SET,
        COMMAND_DEPLOYMENT_COMMIT,
        COMMAND_NETWORK_UPDATE,
        COMMAND_DNS_NAME_FILTER_CREATE,
        COMMAND_DNS_NAME_FILTER_UPDATE,
        COMMAND_DNS_NAME_FILTER_DELETE,
        COMMAND_IMPORT,
        COMMAND_NETWORK_RANGE_UPDATE,
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (done[kinds[i]] < 5)
            world_fail(HERE, "%s was done %u times", command_name(kinds[i]), done[kinds[i]]);
    CHECK(named > STEPS);
}
