/* Goal: the transport of a node depends on its record and its hammers only.
 * Method: nodes and hammers created by commands in a core; every rule, and their precedence. */
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
