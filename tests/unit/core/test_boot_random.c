/* Goal: no change of an installation is missed by the boot view. Method: seeded random commands
 * about nodes, noderoles, roles, environments, MACs, hints, networks, ranges, routers,
 * allocations, leases and DNS names, of which some are refused. After each step core_check()
 * computes the view again (world.h); every few steps it is compared with a view made of records
 * alone, and a copy that applies the changes of each batch is compared with a base image
 * (boot_world.h). Each kind of command must have been executed, and every kind of entry must have
 * changed. */
#include "base/prng.h"
#include "tests/unit/core/boot_world.h"
#include "tests/world/dns_world.h"

enum { STEPS = 900, SEEDS = 6, NODES = 6 };

#define PICK(r, list) (list)[prng_below((r), sizeof(list) / sizeof *(list))]

static const char *const environments[] = {"local", "sledgehammer", "debian-install", "nobody"};
static const char *const categories[] = {"admin", "general", "lab"};
static const char *const hints[] = {
    "{'admin-v4addr':'10.9.0.7/16','admin_macs':['52:54:00:00:00:01','52:54:00:00:00:02']}",
    "{'admin-v4addr':'10.9.0.8'}",
    "{'admin_macs':['52:54:00:00:00:03']}",
    "{'admin-v4addr':'nothing','boot':{'console':'ttyS0'}}",
    "{'boot':{'console':'ttyS1','deep':{'boot':{'x':1}}},'other':{'boot':{'y':2}}}",
    "{'boot':['x'],'other':{'boot':{'y':2}}}",
    "{}",
};
static const char *const options[] = {"{'console':'ttyS0'}", "{'console':'ttyS1'}", "{}", "null",
                                      "'text'"};
static const char *const macs[] = {"52:54:00:00:00:01", "52:54:00:00:00:02", "52:54:00:00:00:03"};
static const char *const roles[] = {"found", "joined", "web"};
static const char *const addresses[] = {"10.0.0.2", "10.0.0.3", "10.0.0.4", "10.1.0.3"};

/* The id at a random position of the table; 0 if it is empty. */
static int64_t any_id(struct world *w, struct prng *r, enum table table)
{
    const uint32_t count = core_count(w->core, table);
    int64_t id = 0;
    for (uint32_t i = count ? (uint32_t)prng_below(r, count) + 1 : 0; i; i--)
        id = core_next_id(w->core, table, id);
    return id;
}

/* A node, but not the one with the list of DNS services: names exist all the time. */
static int64_t any_node(struct world *w, struct prng *r)
{
    const int64_t id = any_id(w, r, TABLE_NODE);
    return id == the_node(w, "dns") ? 0 : id;
}

static int64_t any_noderole(struct world *w, struct prng *r)
{
    const int64_t id = any_id(w, r, TABLE_NODEROLE);
    return id == the_noderole(w, "dns-list@dns") ? 0 : id;
}

static struct str node_name(struct world *w, struct prng *r)
{
    return STR_CONCAT(&w->arena, STR("n"), str_from_i64(&w->arena, (int64_t)prng_below(r, NODES)),
                      STR(".example.com"));
}

static struct command any_import(struct world *w, struct prng *r)
{
    static const char *const documents[] = {
        "{'barclamp':{'name':'b','source_path':'/b'},'roles':["
        "{'name':'found','jig':'script','flags':['discovery','implicit']},"
        "{'name':'joined','jig':'script','provides':['found']},{'name':'web','jig':'script'}],"
        "'bootenvs':[{'name':'sledgehammer','kernel':'a','method':'discovery'}]}",
        "{'barclamp':{'name':'b','source_path':'/b'},'roles':["
        "{'name':'found','jig':'script','flags':['discovery','implicit']},"
        "{'name':'joined','jig':'script'},{'name':'web','jig':'script','provides':['FOUND']}]}",
        "{'barclamp':{'name':'b','source_path':'/b'},'roles':["
        "{'name':'found','jig':'script','flags':['implicit']},"
        "{'name':'joined','jig':'script','provides':['found']},"
        "{'name':'web','jig':'script','flags':['discovery']}],'bootenvs':[{'name':'sledgehammer',"
        "'kernel':'b','method':'discovery'},{'name':'x','kernel':'a','method':'image'}]}",
    };
    return cmd_import(w, prng_chance(r, 600) ? documents[0] : PICK(r, documents));
}

static struct command any_node_command(struct world *w, struct prng *r)
{
    const int64_t n = any_node(w, r);
    switch (prng_below(r, 8)) {
    case 0:
        return CMD(NODE_CREATE, node_create, .name = node_name(w, r),
                   .hint = world_json(w, PICK(r, hints)), .deployment_id = SYSTEM,
                   .bootenv = str_from(PICK(r, environments)), .alive = true, .available = true);
    case 1: return CMD(NODE_DELETE, node_delete, .id = prng_chance(r, 150) ? n : 0);
    case 2:
        return CMD(NODE_UPDATE, node_update, .id = n, .given = GIVEN_NAME, .name = node_name(w, r));
    case 3:
        return CMD(NODE_UPDATE, node_update, .id = n,
                   .given = GIVEN_NODE_BOOTENV | (uint32_t)prng_below(r, 4) << 6,
                   .alive = prng_chance(r, 500), .available = prng_chance(r, 500),
                   .bootenv = str_from(PICK(r, environments)));
    case 4: return CMD(NIC_MOVE, nic_move, .node_id = n, .mac = str_from(PICK(r, macs)));
    case 5:
        return cmd_set(w, TABLE_NODE, n, "hint-macs", BUCKET_USER,
                       prng_chance(r, 500) ? "['52:54:00:00:00:01']" : "[]");
    case 6: return cmd_set(w, TABLE_NODE, n, "hint-boot", BUCKET_USER, PICK(r, options));
    default:
        return cmd_set(w, TABLE_NODE, n, "hint-address", BUCKET_USER,
                       prng_chance(r, 500) ? "'10.9.0.7/16'" : "null");
    }
}

static struct command any_noderole_command(struct world *w, struct prng *r)
{
    const int64_t id = any_noderole(w, r), n = any_node(w, r);
    switch (prng_below(r, 6)) {
    case 0:
    case 1:
        return CMD(NODEROLE_BIND, noderole_bind, .node_id = n,
                   .role_id = the_role(w, PICK(r, roles)), .deployment_id = SYSTEM);
    case 2: return CMD(NODEROLE_COMMIT, noderole_commit, .id = id);
    case 3: return CMD(NODEROLE_PROPOSE, noderole_propose, .id = id);
    case 4: return CMD(NODEROLE_DELETE, noderole_delete, .id = prng_chance(r, 300) ? id : 0);
    default: return CMD(NODE_COMMIT, node_commit, .id = n);
    }
}

static struct command any_range_command(struct world *w, struct prng *r)
{
    static const char *const names[] = {"host", "spare"};
    static const char *const lasts[] = {"10.0.0.9/24", "10.0.0.5/24", "10.1.0.9/24"};
    const int64_t range = any_id(w, r, TABLE_NETWORK_RANGE);
    switch (prng_below(r, 3)) {
    case 0:
        return CMD(NETWORK_RANGE_UPDATE, network_range_update, .id = range,
                   .given = GIVEN_RANGE_NAME, .name = str_from(PICK(r, names)));
    case 1:
        return CMD(NETWORK_RANGE_UPDATE, network_range_update, .id = range,
                   .given = GIVEN_RANGE_LAST, .last = str_from(PICK(r, lasts)));
    default: return cmd_range(any_id(w, r, TABLE_NETWORK), "spare", "10.2.0.2/24", "10.2.0.4/24");
    }
}

static struct command any_network_command(struct world *w, struct prng *r)
{
    const int64_t network = any_id(w, r, TABLE_NETWORK), n = any_node(w, r);
    switch (prng_below(r, 9)) {
    case 0:
        return CMD(NETWORK_UPDATE, network_update, .id = network, .given = GIVEN_NETWORK_CATEGORY,
                   .category = str_from(PICK(r, categories)));
    case 1:
        return CMD(NETWORK_UPDATE, network_update, .id = network,
                   .given = GIVEN_NETWORK_USE_VLAN | GIVEN_NETWORK_VLAN,
                   .use_vlan = prng_chance(r, 500), .vlan = (int64_t)prng_between(r, 1, 3));
    case 2:
    case 3: return CMD(NETWORK_ALLOCATE, network_allocate, .node_id = n, .network_id = network);
    case 4:
        return CMD(NETWORK_DEALLOCATE, network_deallocate,
                   .id = prng_chance(r, 500) ? any_id(w, r, TABLE_NETWORK_ALLOCATION) : 0);
    case 5: return any_range_command(w, r);
    case 6:
        return prng_chance(r, 500)
                   ? CMD(NETWORK_ROUTER_CREATE, network_router_create, .network_id = network,
                         .given = GIVEN_ROUTER_ADDRESS, .address = STR("10.0.0.1/24"))
                   : CMD(NETWORK_ROUTER_UPDATE, network_router_update,
                         .id = any_id(w, r, TABLE_NETWORK_ROUTER), .given = GIVEN_ROUTER_PREF,
                         .pref = (uint32_t)prng_below(r, 3));
    case 7:
        return CMD(NETWORK_ROUTER_DELETE, network_router_delete,
                   .id = prng_chance(r, 300) ? any_id(w, r, TABLE_NETWORK_ROUTER) : 0);
    default:
        return prng_chance(r, 200) ? CMD(NETWORK_DELETE, network_delete, .id = network)
                                   : cmd_network_of(w, "more", PICK(r, categories), true,
                                                    "[{'name':'host','first':'10.1.0.2/24',"
                                                    "'last':'10.1.0.4/24'}]");
    }
}

static struct command any_lease_command(struct world *w, struct prng *r)
{
    const struct str address = str_from(PICK(r, addresses));
    const int64_t range = any_id(w, r, TABLE_NETWORK_RANGE);
    switch (prng_below(r, 3)) {
    case 0:
        return CMD(LEASE_TAKE, lease_take, .range_id = range, .address = address,
                   .mac = STR("52:54:00:00:00:09"), .lease_s = 600);
    case 1:
        return CMD(LEASE_RELEASE, lease_release, .address = address,
                   .mac = STR("52:54:00:00:00:09"));
    default:
        return CMD(LEASE_DECLINE, lease_decline, .range_id = range, .address = address,
                   .mac = STR("52:54:00:00:00:09"));
    }
}

static struct command any_command(struct world *w, struct prng *r)
{
    switch (prng_below(r, 12)) {
    case 0:
    case 1:
    case 2: return any_node_command(w, r);
    case 3:
    case 4:
    case 5: return any_noderole_command(w, r);
    case 6:
    case 7:
    case 8: return any_network_command(w, r);
    case 9: return any_lease_command(w, r);
    case 10:
        return CMD(DNS_NAME_FILTER_UPDATE, dns_name_filter_update,
                   .id = any_id(w, r, TABLE_DNS_NAME_FILTER), .given = GIVEN_FILTER_TEMPLATE,
                   .template = prng_chance(r, 500) ? STR("{{node.name}}") : STR("x{{node.id}}"));
    default: return any_import(w, r);
    }
}

static struct world *open_for(struct prng *r)
{
    struct world *w = dns_open();
    DONE(w, any_import(w, r));
    world_node_attrib(w, "hint-macs", "'map':'admin_macs','writable':true");
    world_node_attrib(w, "hint-boot", "'map':'boot','writable':true");
    world_node_attrib(w, "hint-address", "'map':'admin-v4addr','writable':true");
    dns_network(w, "net", "admin", "1g1",
                "[{'name':'host','first':'10.0.0.2/24','last':'10.0.0.5/24'}]");
    dns_serve(w, "['system']");
    dns_filter(w, "f", "net.category == \"admin\"", 1, "{{node.name}}");
    return w;
}

static void check_done(const uint32_t *done)
{
    static const enum command_kind kinds[] = {
        COMMAND_NODE_CREATE,
        COMMAND_NODE_DELETE,
        COMMAND_NODE_UPDATE,
        COMMAND_NIC_MOVE,
        COMMAND_ATTRIB_SET,
        COMMAND_NODEROLE_BIND,
        COMMAND_NODEROLE_COMMIT,
        COMMAND_NODEROLE_PROPOSE,
        COMMAND_NODEROLE_DELETE,
        COMMAND_NETWORK_UPDATE,
        COMMAND_NETWORK_ALLOCATE,
        COMMAND_NETWORK_DEALLOCATE,
        COMMAND_NETWORK_RANGE_UPDATE,
        COMMAND_NETWORK_DELETE,
        COMMAND_NETWORK_CREATE,
        COMMAND_NETWORK_ROUTER_CREATE,
        COMMAND_NETWORK_ROUTER_UPDATE,
        COMMAND_NETWORK_ROUTER_DELETE,
        COMMAND_LEASE_TAKE,
        COMMAND_LEASE_RELEASE,
        COMMAND_LEASE_DECLINE,
        COMMAND_DNS_NAME_FILTER_UPDATE,
        COMMAND_IMPORT,
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (done[kinds[i]] < 5)
            world_fail(HERE, "%s was done %u times", command_name(kinds[i]), done[kinds[i]]);
}

/* The machines of the view that have options. */
static uint32_t count_options(struct world *w)
{
    struct boot_key key = {0};
    uint32_t count = 0;
    while (core_boot_next(w->core, &key)) {
        struct boot_entry entry;
        CHECK(core_boot_view(w->core, key, &w->arena, &entry));
        count += key.kind == BOOT_MACHINE && entry.machine.options.len;
    }
    return count;
}

TEST(the_view_follows_every_change)
{
    static struct view_copy copy;
    uint32_t with_options = 0;
    uint32_t done[COMMAND_COUNT] = {0}, changed[BOOT_FACT_COUNT] = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct prng r;
        prng_init(&r, seed);
        struct world *w = open_for(&r);
        copy_begin(&copy, w);
        for (int i = 0; i < STEPS; i++) {
            const struct command command = any_command(w, &r);
            world_step(w, command);
            done[command.kind] += w->out.verdict == VERDICT_DONE;
            if (prng_chance(&r, 200))
                world_deliver(w);
            if (prng_chance(&r, 400))
                world_anneal(w);
            if (prng_chance(&r, 150))
                EXPECT_NAIVE_VIEW(w);
            if (prng_chance(&r, 300)) {
                uint32_t count;
                int64_t turn;
                copy_follow(&copy, w);
                with_options += count_options(w);
                const struct boot_key *changes = core_boot_changes(w->core, &count, &turn);
                for (uint32_t k = 0; k < count; k++)
                    changed[changes[k].kind]++;
            }
            if (prng_chance(&r, 15)) {
                copy_follow(&copy, w);
                world_reload(w);
            }
        }
        arena_fini(&copy.arena);
        world_close(w);
    }
    check_done(done);
    CHECK(with_options >= 20);
    for (uint32_t kind = 0; kind < BOOT_FACT_COUNT; kind++)
        if (changed[kind] < 20)
            world_fail(HERE, "a %s changed %u times", boot_fact_name((enum boot_fact)kind),
                       changed[kind]);
}
