/* Goal: the transport of a node depends on its record, its hammers and its allocations only.
 * Method: nodes, hammers and networks created by commands in a core; every rule, and their
 * precedence. */
#include "daemon/run_facts.h"
#include "power/node_hammers.h"
#include "power/transport.h"
#include "tests/world/world.h"

#include <stdio.h>
#include <string.h>

static struct world *w;

static void begin(void)
{
    w = world_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'ways','source_path':'/w'},'hammers':["
                          "{'name':'ssh','type':'SecureShellHammer','priority':0},"
                          "{'name':'backdoor','type':'ssh','priority':7},"
                          "{'name':'here','type':'local','priority':1},"
                          "{'name':'bmc','type':'ipmi','priority':5}]}"));
}

static int64_t kind(const char *name)
{
    const int64_t id = core_find(w->core, TABLE_HAMMER_KIND, str_from(name));
    CHECK(id);
    return id;
}

/* The hammer of that kind; 0 = none. */
static int64_t bound(int64_t node, const char *name)
{
    uint32_t count;
    struct record record;
    const int64_t *ids = core_hammers_of(w->core, node, &w->arena, &count);
    for (uint32_t i = 0; i < count; i++) {
        CHECK(i == 0 || ids[i - 1] < ids[i]);
        CHECK(core_record(w->core, TABLE_HAMMER, ids[i], &record));
        CHECK(record.hammer.node_id == node);
        if (record.hammer.hammer_kind_id == kind(name))
            return ids[i];
    }
    return 0;
}

/* Creates the hammer, or changes the one that was bound automatically. */
static void hammer(int64_t node, const char *name, const char *endpoint, const char *user,
                   const char *extra)
{
    const int64_t id = bound(node, name);
    if (id)
        DONE(w, CMD(HAMMER_UPDATE, hammer_update, .id = id,
                    .given = GIVEN_HAMMER_ENDPOINT | GIVEN_HAMMER_USERNAME | GIVEN_HAMMER_EXTRA,
                    .endpoint = str_from(endpoint), .username = str_from(user),
                    .extra = world_json(w, extra)));
    else
        DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = node, .hammer_kind_id = kind(name),
                    .endpoint = str_from(endpoint), .username = str_from(user),
                    .extra = world_json(w, extra)));
}

/* "local", or "USER at ADDRESS port PORT"; "none" if the node does not exist. */
static const char *transport_text(int64_t node)
{
    static char text[300];
    struct transport t;
    if (!transport_of(w->core, node, &w->arena, &t))
        return "none";
    CHECK(!t.key_path && !t.known_hosts_path && !t.control_path);
    if (t.kind == TRANSPORT_LOCAL)
        return "local";
    snprintf(text, sizeof text, "%.*s at %.*s port %u", STR_FMT_ARGS(t.user),
             STR_FMT_ARGS(t.address), t.port);
    return text;
}

TEST(a_node_is_reached_at_its_name)
{
    begin();
    const int64_t n = world_node(w, "n1", NULL);
    CHECK(bound(n, "ssh")); /* bound automatically */
    EXPECT_STR(transport_text(n), "root at n1.example.com port 22");
    DONE(w, CMD(HAMMER_DELETE, hammer_delete, .id = bound(n, "ssh")));
    EXPECT_STR(transport_text(n), "root at n1.example.com port 22");
    EXPECT_STR(transport_text(n + 1000), "none");
    EXPECT_STR(transport_text(0), "none");
    world_close(w);
}

TEST(the_endpoint_of_the_ssh_hammer_replaces_the_name)
{
    static const struct {
        const char *endpoint, *extra, *wanted;
    } cases[] = {
        {"10.0.0.7", "", "me at 10.0.0.7 port 22"},
        {"10.0.0.7:2222", "", "me at 10.0.0.7 port 2222"},
        {"host.example.com:22", "{'port':2200}", "me at host.example.com port 22"},
        {"host.example.com", "{'port':2200}", "me at host.example.com port 2200"},
        {"", "{'port':2200}", "me at n1.example.com port 2200"},
        {"fe80::1", "", "me at fe80::1 port 22"},
        {"[2001:db8::1]:2022", "", "me at 2001:db8::1 port 2022"},
        {"[2001:db8::1]", "", "me at 2001:db8::1 port 22"},
        {"10.0.0.7", "{'port':0}", "me at 10.0.0.7 port 22"},
        {"10.0.0.7", "{'port':65536}", "me at 10.0.0.7 port 22"},
        {"10.0.0.7", "{'port':'ssh'}", "me at 10.0.0.7 port 22"},
        {"10.0.0.7:0", "", "me at 10.0.0.7:0 port 22"},
        {"a host", "{'port':7}", "me at a host port 7"},
    };
    begin();
    const int64_t n = world_node(w, "n1", NULL);
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hammer(n, "ssh", cases[i].endpoint, "me", cases[i].extra);
        EXPECT_STR(transport_text(n), cases[i].wanted);
    }
    world_close(w);
}

TEST(the_ssh_hammer_with_the_highest_priority_is_used)
{
    begin();
    const int64_t n = world_node(w, "n1", NULL);
    hammer(n, "ssh", "10.0.0.1", "low", "");
    hammer(n, "backdoor", "10.0.0.2", "high", "");
    hammer(n, "bmc", "10.0.0.3", "admin", "");
    EXPECT_STR(transport_text(n), "high at 10.0.0.2 port 22");
    DONE(w, CMD(HAMMER_UPDATE, hammer_update, .id = bound(n, "backdoor"),
                .given = GIVEN_HAMMER_PRIORITY, .priority = 0));
    EXPECT_STR(transport_text(n), "low at 10.0.0.1 port 22"); /* of equal priorities the older */
    world_close(w);
}

TEST(some_nodes_are_reached_locally)
{
    begin();
    const int64_t n = world_node(w, "n1", NULL);
    hammer(n, "backdoor", "10.0.0.2", "root", "");
    hammer(n, "here", "", "root", "");
    EXPECT_STR(transport_text(n), "local");
    DONE(w, CMD(HAMMER_DELETE, hammer_delete, .id = bound(n, "here")));
    EXPECT_STR(transport_text(n), "root at 10.0.0.2 port 22");

    struct record system;
    CHECK(core_record(w->core, TABLE_DEPLOYMENT, SYSTEM, &system));
    EXPECT_STR(transport_text(system.deployment.phantom_id), "local");

    struct command admin = cmd_node(w, "admin");
    admin.node_create.admin = true;
    const int64_t a = DONE(w, admin);
    EXPECT_STR(transport_text(a), "local");
    hammer(a, "ssh", "10.0.0.9", "root", "");
    hammer(a, "backdoor", "10.0.0.9", "root", "");
    EXPECT_STR(transport_text(a),
               "root at 10.0.0.9 port 22"); /* an admin node with another address */
    world_close(w);
}

/* ---- allocations ---- */

static int64_t network(const char *name, const char *category, uint32_t order, const char *ranges)
{
    return DONE(w,
                CMD(NETWORK_CREATE, network_create, .name = str_from(name), .conduit = STR("1g0"),
                    .category = str_from(category), .order = order, .ranges = world_json(w, ranges),
                    .given = GIVEN_NETWORK_CONDUIT | GIVEN_NETWORK_CATEGORY | GIVEN_NETWORK_ORDER));
}

static int64_t allocate(int64_t node, int64_t network_id, const char *address)
{
    return DONE(w, CMD(NETWORK_ALLOCATE, network_allocate, .node_id = node,
                       .network_id = network_id, .address = str_from(address)));
}

static void deallocate(int64_t allocation)
{
    DONE(w, CMD(NETWORK_DEALLOCATE, network_deallocate, .id = allocation));
}

static const char *address_text(int64_t node)
{
    return str_z(&w->arena, core_node_address(w->core, node, &w->arena));
}

TEST(a_node_is_reached_at_its_allocation)
{
    begin();
    const int64_t n = world_node(w, "n1", NULL);
    const int64_t other = world_node(w, "n2", NULL);
    const int64_t admin = network("admin", "admin", 1000,
                                  "[{'name':'host','first':'10.1.0.1/16','last':'10.1.0.99/16'}]");
    const int64_t general = network(
        "backup", "general", 1, "[{'name':'host','first':'10.9.0.1/16','last':'10.9.0.99/16'}]");
    EXPECT_STR(transport_text(n),
               "root at n1.example.com port 22"); /* networks alone change nothing */
    allocate(n, general, "10.9.0.7");
    EXPECT_STR(transport_text(n),
               "root at n1.example.com port 22"); /* not a network of the daemon */
    const int64_t allocation = allocate(n, admin, "10.1.0.7");
    EXPECT_STR(transport_text(n), "root at 10.1.0.7 port 22");
    EXPECT_STR(transport_text(other), "root at n2.example.com port 22");
    hammer(n, "ssh", "", "me", "{'port':2200}");
    EXPECT_STR(transport_text(n), "me at 10.1.0.7 port 2200");
    hammer(n, "ssh", "192.0.2.1:24", "me", "");
    EXPECT_STR(transport_text(n), "me at 192.0.2.1 port 24"); /* the endpoint has precedence */
    hammer(n, "ssh", "", "root", "");
    world_reload(w);
    EXPECT_STR(transport_text(n), "root at 10.1.0.7 port 22");
    deallocate(allocation);
    EXPECT_STR(transport_text(n), "root at n1.example.com port 22");
    world_close(w);
}

/* Each allocation is removed when it was the preferred one, so that the next one is. */
TEST(the_preferred_allocation_is_that_of_admin_then_unmanaged_v4_first)
{
    begin();
    const int64_t n = world_node(w, "n1", NULL);
    /* Created in the opposite order of preference. */
    const int64_t unmanaged =
        network("unmanaged", "unmanaged", 1,
                "[{'name':'host-v6','first':'fd00:4::1/64','last':'fd00:4::99/64'},"
                "{'name':'host','first':'10.4.0.1/16','last':'10.4.0.99/16'}]");
    const int64_t late = network("late", "admin", 2000,
                                 "[{'name':'host','first':'10.3.0.1/16','last':'10.3.0.99/16'}]");
    const int64_t first =
        network("first", "admin", 1000,
                "[{'name':'host-v6','first':'fd00:1::1/64','last':'fd00:1::99/64'},"
                "{'name':'host','first':'10.1.0.1/16','last':'10.1.0.99/16'}]");
    const int64_t second = network("second", "admin", 1000,
                                   "[{'name':'host','first':'10.2.0.1/16','last':'10.2.0.99/16'}]");
    CHECK(first < second);
    const struct {
        int64_t network;
        const char *address;
    } preferred[] = {{first, "10.1.0.7"},  {second, "10.2.0.7"},    {late, "10.3.0.7"},
                     {first, "fd00:1::7"}, {unmanaged, "10.4.0.7"}, {unmanaged, "fd00:4::7"}};
    enum { COUNT = sizeof preferred / sizeof *preferred };
    int64_t ids[COUNT];
    for (uint32_t i = COUNT; i-- > 0;)
        ids[i] = allocate(n, preferred[i].network, preferred[i].address);
    for (uint32_t i = 0; i < COUNT; i++) {
        EXPECT_STR(address_text(n), preferred[i].address);
        deallocate(ids[i]);
    }
    EXPECT_STR(address_text(n), "n1.example.com");
    EXPECT_STR(address_text(n + 1000), "");
    EXPECT_STR(address_text(0), "");
    world_close(w);
}

TEST(two_allocations_of_one_network_are_ordered_by_id)
{
    begin();
    const int64_t n = world_node(w, "n1", NULL);
    const int64_t admin = network("admin", "admin", 1000,
                                  "[{'name':'host','first':'10.1.0.1/16','last':'10.1.0.99/16'},"
                                  "{'name':'more','first':'10.1.1.1/16','last':'10.1.1.99/16'}]");
    const int64_t older = allocate(n, admin, "10.1.1.7");
    allocate(n, admin, "10.1.0.7");
    EXPECT_STR(address_text(n), "10.1.1.7");
    deallocate(older);
    EXPECT_STR(address_text(n), "10.1.0.7");
    world_close(w);
}

/* The allocation of an admin node is an address of the daemon's own host. */
TEST(an_admin_node_with_an_allocation_is_reached_locally)
{
    begin();
    struct command create = cmd_node(w, "admin");
    create.node_create.admin = true;
    const int64_t a = DONE(w, create);
    allocate(a,
             network("admin", "admin", 1000,
                     "[{'name':'admin','first':'10.1.0.1/16','last':'10.1.0.9/16'}]"),
             "10.1.0.1");
    EXPECT_STR(transport_text(a), "local");
    CHECK(node_hammers_of(w->core, a, &w->arena).count == 0);
    world_close(w);
}

TEST(an_ssh_hammer_gets_the_allocation_and_a_service_processor_does_not)
{
    begin();
    const int64_t n = world_node(w, "n1", NULL);
    hammer(n, "bmc", "", "admin", "");
    allocate(n,
             network("admin", "admin", 1000,
                     "[{'name':'host-v6','first':'fd00:1::1/64','last':'fd00:1::99/64'}]"),
             "fd00:1::7");
    const struct node_hammers all = node_hammers_of(w->core, n, &w->arena);
    CHECK(all.count == 2);
    for (uint32_t i = 0; i < all.count; i++)
        CHECK(str_eq(all.at[i].endpoint,
                     str_eq(all.names[i], STR("ssh")) ? STR("fd00:1::7") : STR("")));
    EXPECT_STR(transport_text(n), "root at fd00:1::7 port 22");
    world_close(w);
}

/* ---- hammers of an order ---- */

static const struct hammer_bound *hammer_of_class(const struct node_hammers *all, const char *name)
{
    uint32_t i = 0;
    while (i < all->count && !str_eq(all->names[i], str_from(name)))
        i++;
    CHECK(i < all->count);
    return &all->at[i];
}

static struct node_hammers hammers_with(int64_t node, const char *keys)
{
    if (keys[0])
        DONE(w, CMD(NODE_PIN_KEYS, node_pin_keys, .id = node, .keys = str_from(keys)));
    return node_hammers_of(w->core, node, &w->arena);
}

TEST(endpoint_and_host_key_of_an_ssh_hammer_are_filled_in)
{
    begin();
    const int64_t n = world_node(w, "n1", NULL);
    hammer(n, "backdoor", "10.0.0.2:2222", "me", "{'host_key':'ssh-rsa OWN'}");
    hammer(n, "bmc", "10.0.0.3", "admin", "{'cipher':3}");
    const struct node_hammers all = hammers_with(n, "ssh-rsa RRRR\nssh-ed25519 EEEE\n");
    CHECK(all.count == 3);
    CHECK(str_eq(hammer_of_class(&all, "ssh")->endpoint, STR("n1.example.com")));
    CHECK(str_eq(hammer_of_class(&all, "ssh")->extra, STR("{\"host_key\":\"ssh-ed25519 EEEE\"}")));
    CHECK(str_eq(hammer_of_class(&all, "backdoor")->endpoint, STR("10.0.0.2:2222")));
    CHECK(str_eq(hammer_of_class(&all, "backdoor")->extra, STR("{\"host_key\":\"ssh-rsa OWN\"}")));
    CHECK(str_eq(hammer_of_class(&all, "bmc")->extra, STR("{\"cipher\":3}")));
    CHECK(str_eq(hammer_of_class(&all, "bmc")->klass, STR("ipmi")) &&
          hammer_of_class(&all, "bmc")->priority == 5);
    CHECK(hammers_with(n + 1000, "").count == 0);
    world_close(w);
}

TEST(an_ssh_hammer_of_a_node_without_pins_is_unchanged)
{
    begin();
    const int64_t n = world_node(w, "n1", NULL);
    const struct node_hammers all = hammers_with(n, "");
    CHECK(str_eq(hammer_of_class(&all, "ssh")->endpoint, STR("n1.example.com")));
    CHECK(hammer_of_class(&all, "ssh")->extra.len == 0);

    struct command admin = cmd_node(w, "admin");
    admin.node_create.admin = true;
    const struct node_hammers here = hammers_with(DONE(w, admin), "");
    /* The machine of the daemon is reached without ssh, so its ssh hammer is left out: no order
     * restarts this machine by mistake, and no poll reports a missing endpoint. */
    CHECK(here.count == 0);
    world_close(w);
}

/* ---- transport of a run ---- */

static int64_t pin_of(int64_t noderole)
{
    struct runner_facts facts;
    const struct run_order order = {.noderole_id = noderole};
    CHECK(run_facts_find(w->core, &order, &w->arena, &facts));
    return facts.pin;
}

TEST(a_run_carries_the_newest_pin_of_its_node)
{
    begin();
    const int64_t n = world_node(w, "n1", NULL);
    world_role(w, "r", "");
    const int64_t noderole = world_bind(w, "r@n1");
    CHECK(pin_of(noderole) == 0);
    hammers_with(n, "ssh-rsa RRRR\nssh-ed25519 EEEE\n");
    const int64_t first = pin_of(noderole);
    CHECK(first > 0);
    DONE(w, CMD(NODE_FORGET_KEY, node_forget_key, .id = n));
    CHECK(pin_of(noderole) == 0);
    world_reload(w);
    hammers_with(n, "ssh-rsa RRRR\nssh-ed25519 EEEE\n");
    CHECK(pin_of(noderole) > first); /* the same keys, but another connection */
    world_close(w);
}
