#include <stdio.h>

#include "core/core_private.h"
#include "tests/world/world.h"

/* Nodes and binds in detail: every field, the text of every refusal, every hook. */

static void give_hammer(struct world *w, const char *node, const char *kind)
{
    DONE(w, CMD(HAMMER_CREATE, hammer_create, .node_id = the_node(w, node),
                .hammer_kind_id = core_find(w->core, TABLE_HAMMER_KIND, str_from(kind)),
                .username = STR("root")));
}

static struct command cmd_update(struct world *w, const char *node, uint32_t given)
{
    return CMD(NODE_UPDATE, node_update, .id = the_node(w, node), .given = given);
}

static const char *numbered(struct world *w, const char *prefix, int number)
{
    char text[64];
    snprintf(text, sizeof text, "%s%d", prefix, number);
    return str_z(&w->arena, str_from(text));
}

static uint32_t probes(struct world *w)
{
    struct record record;
    uint32_t count = 0;
    int64_t id = core_next_id(w->core, TABLE_OUTBOX, 0);
    for (; id; id = core_next_id(w->core, TABLE_OUTBOX, id))
        count +=
            core_record(w->core, TABLE_OUTBOX, id, &record) && record.outbox.kind == OUTBOX_PROBE;
    return count;
}

/* Number of problems of the last step. */
static uint32_t problems(const struct world *w)
{
    uint32_t count = 0;
    for (const struct problem *p = w->out.problems; p; p = p->next)
        count++;
    return count;
}

/* ---- create ---- */

TEST(a_new_node_holds_every_field_it_was_given)
{
    struct world *w = world_open();
    const int64_t d = world_deployment(w, "d");
    struct command c = cmd_node(w, "Full");
    c.node_create.description = STR("all of it");
    c.node_create.bootenv = STR("debian");
    c.node_create.deployment_id = d;
    c.node_create.admin = true;
    c.node_create.system = true;
    c.node_create.allocated = true;
    c.node_create.alive = true;
    c.node_create.available = true;
    c.node_create.hint = world_json(w, "{'h':1}");
    c.node_create.discovery = world_json(w, "{'d':2}");
    CHECK(DONE(w, c) == the_node(w, "full"));
    const int64_t then = w->now_ms;
    for (int round = 0; round < 2; round++) {
        const struct node_record n = read_node(w, "full");
        CHECK(str_eq(n.name, STR("full.example.com")));
        CHECK(str_eq(n.description, STR("all of it")));
        CHECK(str_eq(n.bootenv, STR("debian")));
        CHECK(n.deployment_id == d && n.target_role_id == 0);
        CHECK(n.admin && n.system && n.allocated && n.alive && n.available && !n.stopped);
        CHECK(n.alive_since == then && n.available_since == then);
        CHECK(n.created_at == then && n.updated_at == then && n.order == 10000);
        EXPECT_STR(shown(w, n.hint), "{'h':1}");
        EXPECT_STR(shown(w, n.discovery), "{'d':2}");
        world_reload(w);
    }
    world_close(w);
}

TEST(a_new_node_has_only_defaults)
{
    struct world *w = world_open();
    DONE(w, cmd_node(w, "bare"));
    const struct node_record n = read_node(w, "bare");
    CHECK(!n.admin && !n.system && !n.allocated && !n.alive && !n.available && !n.stopped);
    CHECK(str_eq(n.bootenv, STR("sledgehammer")) && n.deployment_id == SYSTEM);
    CHECK(n.description.len == 0 && n.quirks.len == 0 && n.notes.len == 0);
    CHECK(core_count(w->core, TABLE_HAMMER) == 1);
    struct record record;
    CHECK(core_record(w->core, TABLE_HAMMER, core_next_id(w->core, TABLE_HAMMER, 0), &record));
    CHECK(record.hammer.node_id == the_node(w, "bare"));
    CHECK(str_eq(record.hammer.username, STR("root")));
    CHECK(record.hammer.hammer_kind_id == core_find(w->core, TABLE_HAMMER_KIND, STR("ssh")));
    world_close(w);
}

TEST(the_phantom_of_a_deployment_is_alive_and_never_probed)
{
    struct world *w = world_open();
    world_deployment(w, "d");
    struct record record;
    CHECK(core_record(w->core, TABLE_NODE,
                      core_find(w->core, TABLE_NODE, STR("d-phantom.internal.local")), &record));
    CHECK(record.node.alive && record.node.system && !record.node.available);
    CHECK(!record.node.admin && !record.node.allocated && record.node.order == 10000);
    CHECK(record.node.alive_since == w->now_ms && record.node.available_since == w->now_ms);
    CHECK(probes(w) == 0);
    world_close(w);
}

TEST(a_refused_node_says_what_is_wrong_with_it)
{
    struct world *w = world_open();
    DONE(w, cmd_node(w, "n1"));
    EXPECT_STR(REFUSED(w, cmd_node(w, "N1"), NAME_TAKEN, "name"),
               "there is a node called n1.example.com already");
    struct command c = cmd_node(w, "n2");
    c.node_create.hint = STR("[]");
    EXPECT_STR(REFUSED(w, c, BAD_JSON, "hint"), "must be a JSON object");
    CHECK(problems(w) == 1);
    c = cmd_node(w, "n2");
    c.node_create.discovery = STR("7");
    EXPECT_STR(REFUSED(w, c, BAD_JSON, "discovery"), "must be a JSON object");
    CHECK(problems(w) == 1);
    c = cmd_node(w, "n2");
    c.node_create.deployment_id = 77;
    HAS(REFUSED(w, c, NOT_FOUND, "deployment_id"), "77");
    c = cmd_node(w, "n2");
    c.node_create.name = STR("");
    HAS(REFUSED(w, c, MISSING, "name"), "name ");
    c.node_create.name = STR("a b.example.com");
    HAS(REFUSED(w, c, NAME_INVALID, "name"), "name ");
    CHECK(problems(w) == 1);
    world_close(w);
}

/* ---- update ---- */

static const char heard_change[] = "on_node_change ear n1";

static struct world *open_with_change_hook(void)
{
    struct world *w = world_open();
    world_role(w, "ear", "'hooks':['on_node_change']");
    world_role(w, "stage", "'jig':'noop','flags':['milestone','discovery','implicit']");
    world_node(w, "n1", NULL);
    world_deployment(w, "d");
    world_bind(w, "stage@n1");
    world_clear_effects(w);
    return w;
}

/* The change queues the hook once; the same update again changes nothing. */
static void change_hook_once(struct world *w, struct command c)
{
    DONE(w, c);
    CHECK(w->out.id == the_node(w, "n1"));
    CHECK(read_node(w, "n1").updated_at == w->now_ms);
    EXPECT_EFFECTS(w, heard_change);
    world_collect(w);
    DONE(w, c);
    EXPECT_EFFECTS(w, "");
    CHECK(core_changed(w->core) == 0);
}

TEST(each_kind_of_change_queues_the_hook_once)
{
    struct world *w = open_with_change_hook();
    struct command c = cmd_update(w, "n1", GIVEN_DESCRIPTION);
    c.node_update.description = STR("x");
    change_hook_once(w, c);
    c = cmd_update(w, "n1", GIVEN_NODE_QUIRKS);
    c.node_update.quirks = world_json(w, "['b','a','b','a']");
    change_hook_once(w, c);
    EXPECT_STR(shown(w, read_node(w, "n1").quirks), "['a','b']");
    c = cmd_update(w, "n1", GIVEN_NODE_ALLOCATED);
    c.node_update.allocated = true;
    change_hook_once(w, c);
    c = cmd_update(w, "n1", GIVEN_NODE_BOOTENV);
    c.node_update.bootenv = STR("local");
    change_hook_once(w, c);
    c = cmd_update(w, "n1", GIVEN_NODE_DEPLOYMENT);
    c.node_update.deployment_id = the_deployment(w, "d");
    change_hook_once(w, c);
    c = cmd_update(w, "n1", GIVEN_NODE_TARGET);
    c.node_update.target_role_id = the_role(w, "stage");
    change_hook_once(w, c);
    CHECK(!read_node(w, "n1").alive && read_node(w, "n1").alive_since == w->now_ms - 1000);
    c.node_update.target_role_id = 0;
    change_hook_once(w, c);
    c = cmd_update(w, "n1", GIVEN_NODE_ALIVE);
    c.node_update.alive = true;
    change_hook_once(w, c);
    CHECK(read_node(w, "n1").alive_since == w->now_ms - 1000);
    c.node_update.alive = false;
    change_hook_once(w, c);
    CHECK(read_node(w, "n1").alive_since == w->now_ms - 1000);
    const struct node_record n = read_node(w, "n1");
    CHECK(n.allocated && str_eq(n.description, STR("x")) && str_eq(n.bootenv, STR("local")));
    CHECK(n.deployment_id == the_deployment(w, "d") && n.available);
    c = cmd_update(w, "n1", GIVEN_NODE_ALLOCATED);
    change_hook_once(w, c);
    CHECK(!read_node(w, "n1").allocated);
    world_close(w);
}

TEST(a_rename_queues_the_hook_and_frees_the_old_name)
{
    struct world *w = open_with_change_hook();
    struct command c = cmd_update(w, "n1", GIVEN_NAME);
    c.node_update.name = STR("Other.example.com");
    DONE(w, c);
    EXPECT_EFFECTS(w, "on_node_change ear other");
    CHECK(str_eq(read_node(w, "other").name, STR("other.example.com")));
    CHECK(read_node(w, "other").updated_at == w->now_ms);
    world_node(w, "n1", NULL);
    CHECK(the_node(w, "n1") != the_node(w, "other"));
    c.node_update.name = STR("n1.example.com");
    EXPECT_STR(REFUSED(w, c, NAME_TAKEN, "name"), "there is a node called n1.example.com already");
    world_close(w);
}

TEST(availability_has_a_time_of_its_own)
{
    struct world *w = open_with_change_hook();
    const int64_t alive_since = read_node(w, "n1").alive_since;
    world_available(w, "n1", false);
    EXPECT_EFFECTS(w, ""); /* not available: no hook is queued */
    CHECK(read_node(w, "n1").available_since == w->now_ms);
    world_available(w, "n1", true);
    EXPECT_EFFECTS(w, heard_change);
    const int64_t then = w->now_ms;
    world_available(w, "n1", true);
    EXPECT_EFFECTS(w, "");
    CHECK(read_node(w, "n1").available_since == then);
    CHECK(read_node(w, "n1").alive_since == alive_since);
    world_close(w);
}

TEST(a_refused_update_says_what_is_wrong_with_it)
{
    struct world *w = open_with_change_hook();
    struct command c = cmd_update(w, "n1", GIVEN_NODE_OLD_DEPLOYMENT);
    c.node_update.old_deployment_id = 77;
    EXPECT_STR(REFUSED(w, c, STALE, "old_deployment_id"), "the node is in deployment 1, not in 77");
    c = cmd_update(w, "n1", GIVEN_NODE_TARGET);
    c.node_update.target_role_id = the_role(w, "ear");
    EXPECT_STR(REFUSED(w, c, TARGET_INVALID, "target_role_id"),
               "role ear must be bound to the node, be a milestone and run on a no-op jig");
    c.node_update.target_role_id = 99;
    HAS(REFUSED(w, c, NOT_FOUND, "target_role_id"), "role with id 99");
    EXPECT_STR(REFUSED(w, cmd_update(w, "n1", GIVEN_NODE_BOOTENV), BAD_VALUE, "bootenv"),
               "must name a boot environment");
    c = cmd_update(w, "n1", GIVEN_NODE_QUIRKS);
    c.node_update.quirks = world_json(w, "['a',1,'b']");
    EXPECT_STR(REFUSED(w, c, BAD_JSON, "quirks"), "must be an array of strings");
    c = CMD(NODE_UPDATE, node_update, .id = 99);
    HAS(REFUSED(w, c, NOT_FOUND, "id"), "node with id 99");
    c.node_update.id = core_find(w->core, TABLE_NODE, STR("d-phantom.internal.local"));
    c.node_update.given = GIVEN_NODE_DEPLOYMENT;
    c.node_update.deployment_id = SYSTEM;
    EXPECT_STR(REFUSED(w, c, IN_USE, "id"),
               "the node carries the services of its deployment; it cannot be moved or renamed");
    c = CMD(NODE_DELETE, node_delete, .id = c.node_update.id);
    EXPECT_STR(REFUSED(w, c, IN_USE, "id"),
               "the node carries the services of its deployment and is deleted with it");
    CHECK(problems(w) == 1);
    world_close(w);
}

TEST(a_node_that_is_created_alive_is_probed)
{
    struct world *w = world_open();
    w->keeps_probes = true;
    world_node(w, "n1", NULL);
    CHECK(probes(w) == 1 && read_node(w, "n1").alive);
    world_answer(w, "probe n1", true, STR(""));
    CHECK(probes(w) == 0 && !read_node(w, "n1").alive);
    struct command c = cmd_node(w, "s");
    c.node_create.system = c.node_create.alive = true;
    DONE(w, c);
    CHECK(probes(w) == 0 && read_node(w, "s").alive);
    world_close(w);
}

TEST(a_node_that_becomes_alive_is_probed_and_stopped_survives_death)
{
    struct world *w = world_open();
    world_node(w, "n1", NULL);
    CHECK(probes(w) == 0);
    world_alive(w, "n1", false);
    CHECK(probes(w) == 0);
    world_alive(w, "n1", true);
    CHECK(probes(w) == 1);
    node_edit(w->core, node_by_id(w->core, the_node(w, "n1")))->stopped = true;
    world_available(w, "n1", false);
    CHECK(read_node(w, "n1").stopped);
    world_alive(w, "n1", false);
    CHECK(read_node(w, "n1").stopped && probes(w) == 0); /* its result would be outdated */
    struct command c = cmd_node(w, "s");
    c.node_create.system = true;
    DONE(w, c);
    world_alive(w, "s", true);
    CHECK(probes(w) == 0);
    world_close(w);
}

/* ---- delete ---- */

TEST(the_last_admin_stays)
{
    struct world *w = world_open();
    world_role(w, "boot", "'jig':'noop','flags':['bootstrap']");
    DONE(w, cmd_node(w, "plain"));
    CHECK(core_count(w->core, TABLE_NODEROLE) == 0);
    static const char *const names[] = {"a1", "a2"};
    for (int i = 0; i < 2; i++) {
        struct command c = cmd_node(w, names[i]);
        c.node_create.admin = true;
        DONE(w, c);
    }
    CHECK(world_bound(w, "boot@a1") && !world_bound(w, "boot@a2"));
    world_reload(w);
    const int64_t a2 = the_node(w, "a2");
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "a1")));
    CHECK(core_count(w->core, TABLE_NODEROLE) == 0 && core_count(w->core, TABLE_HAMMER) == 2);
    EXPECT_STR(REFUSED(w, CMD(NODE_DELETE, node_delete, .id = a2), LAST_ADMIN, "id"),
               "the last admin node cannot be deleted");
    CHECK(problems(w) == 1);
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "plain")));
    CHECK(core_find(w->core, TABLE_NODE, STR("plain.example.com")) == 0);
    REFUSED(w, CMD(NODE_DELETE, node_delete, .id = 99), NOT_FOUND, "id");
    world_close(w);
}

TEST(a_node_is_deleted_with_all_its_noderoles_or_not_at_all)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_node_delete','on_todo']");
    world_role(w, "b", "'requires':['a']");
    world_role(w, "c", "'requires':['b'],'flags':['implicit']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "a@n1");
    world_bind(w, "c@n1");
    world_bind(w, "b@n2");
    world_commit_deployment(w, "system");
    world_run_all(w);
    IS(w, "b@n2", "active");
    EXPECT_STR(
        REFUSED(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n1")), HAS_DEPENDANTS, "id"),
        "system: n2.example.com: b depends on system: n1.example.com: a");
    CHECK(problems(w) == 1);
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "b@n2")));
    CHECK(core_count(w->core, TABLE_NODEROLE) == 3);
    world_clear_effects(w);
    const int64_t n1 = the_node(w, "n1"), role = the_role(w, "a");
    DONE(w, CMD(NODE_DELETE, node_delete, .id = n1));
    CHECK(core_count(w->core, TABLE_NODEROLE) == 0);
    EXPECT_EFFECTS(w, "on_node_delete a gone");
    struct record record;
    CHECK(core_record(w->core, TABLE_OUTBOX, core_next_id(w->core, TABLE_OUTBOX, 0), &record));
    CHECK(str_eq(record.outbox.detail, STR("n1.example.com")) && record.outbox.object_id == n1);
    CHECK(record.outbox.object == TABLE_NODE && record.outbox.role_id == role);
    CHECK(record.outbox.kind == OUTBOX_HOOK && record.outbox.hook == HOOK_NODE_DELETE);
    CHECK(record.outbox.depth == 0 && record.outbox.created_at == w->now_ms);
    CHECK(core_count(w->core, TABLE_OUTBOX) == 1);
    world_close(w);
}

TEST(a_proposed_tree_is_deleted_across_nodes)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_role(w, "b", "'requires':['a']");
    world_role(w, "c", "'requires':['b']");
    static const char *const nodes[] = {"n1", "n2", "n3"};
    for (int i = 0; i < 3; i++)
        world_node(w, nodes[i], NULL);
    world_bind(w, "a@n1");
    world_bind(w, "b@n2");
    world_bind(w, "c@n3");
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "a@n1")));
    CHECK(core_count(w->core, TABLE_NODEROLE) == 0);
    world_bind(w, "a@n1");
    world_bind(w, "b@n2");
    world_commit(w, "b@n2");
    EXPECT_STR(REFUSED(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "a@n1")),
                       HAS_DEPENDANTS, "id"),
               "system: n2.example.com: b depends on system: n1.example.com: a");
    world_close(w);
}

/* ---- moving ---- */

TEST(only_untouched_noderoles_move_with_their_node)
{
    struct world *w = world_open();
    world_deployment(w, "d");
    world_role(w, "a", "'hooks':['on_proposed']");
    world_role(w, "b", "'requires':['a']");
    world_role(w, "c", "'hooks':['on_proposed']");
    world_role(w, "e", "");
    world_node(w, "n1", NULL);
    world_bind(w, "b@n1");
    world_bind(w, "c@n1");
    world_bind(w, "e@n1");
    world_deliver(w);
    world_bring(w, "e@n1", "active");
    DONE(w, cmd_propose(w, "e@n1"));
    world_commit(w, "b@n1"); /* so a, its parent, stays too */
    DONE(w, cmd_enqueue(w, "c@n1"));
    CHECK(read_noderole(w, "c@n1").rerun);
    world_clear_effects(w);
    struct command c = cmd_update(w, "n1", GIVEN_NODE_DEPLOYMENT);
    c.node_update.deployment_id = the_deployment(w, "d");
    DONE(w, c);
    EXPECT_EFFECTS(w, "on_proposed c@n1");
    const int64_t d = the_deployment(w, "d");
    CHECK(read_noderole(w, "a@n1").deployment_id == SYSTEM);
    CHECK(read_noderole(w, "b@n1").deployment_id == SYSTEM);
    CHECK(read_noderole(w, "e@n1").deployment_id == SYSTEM);
    CHECK(read_noderole(w, "c@n1").deployment_id == d && read_noderole(w, "c@n1").rerun);
    CHECK(the_deployment_role(w, "c", "d") != 0);
    CHECK(core_deployment_role(w->core, d, the_role(w, "a")) == 0);
    world_close(w);
}

/* ---- power and verbs ---- */

TEST(what_hammers_offer_is_listed_once_each)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'more','source_path':'p'},'hammers':["
                          "{'name':'fish','type':'redfish','priority':5},"
                          "{'name':'odd','type':'strange','priority':6}]}"));
    world_node(w, "n1", NULL);
    struct command c = CMD(NODE_POWER, node_power, .id = the_node(w, "n1"), .action = STR("sing"));
    EXPECT_STR(REFUSED(w, c, NO_POWER_ACTION, "action"),
               "no hammer of the node offers sing; valid actions: reboot, status");
    give_hammer(w, "n1", "fish");
    give_hammer(w, "n1", "ipmi");
    const char *text = REFUSED(w, c, NO_POWER_ACTION, "action");
    HAS(text, "reboot");
    HAS(text, "pxeboot, identify");
    uint32_t commas = 0;
    for (const char *at = text; *at; at++)
        commas += *at == ',';
    CHECK(commas == 8); /* reboot; status on off cycle reset halt pxeboot identify */
    c = cmd_node(w, "s");
    c.node_create.system = true;
    DONE(w, c);
    c = CMD(NODE_REDEPLOY, node_redeploy, .id = the_node(w, "s"));
    EXPECT_STR(REFUSED(w, c, NO_POWER_ACTION, "action"),
               "no hammer of the node offers reset or reboot; valid actions: none");
    c = CMD(NODE_UNDEBUG, node_undebug, .id = the_node(w, "s"));
    EXPECT_STR(REFUSED(w, c, NO_POWER_ACTION, "action"),
               "no hammer of the node offers reboot or reset; valid actions: none");
    REFUSED(w, CMD(NODE_REDEPLOY, node_redeploy, .id = 99), NOT_FOUND, "id");
    REFUSED(w, CMD(NODE_DEBUG, node_debug, .id = 99), NOT_FOUND, "id");
    REFUSED(w, CMD(NODE_UNDEBUG, node_undebug, .id = 99), NOT_FOUND, "id");
    REFUSED(w, CMD(NODE_COMMIT, node_commit, .id = 99), NOT_FOUND, "id");
    REFUSED(w, CMD(NODE_PROPOSE, node_propose, .id = 99), NOT_FOUND, "id");
    world_close(w);
}

TEST(power_actions_that_stop_a_machine_clear_alive)
{
    static const struct {
        const char *action;
        bool down;
    } cases[] = {{"status", false}, {"on", false},      {"off", true},
                 {"cycle", true},   {"reset", true},    {"halt", true},
                 {"reboot", true},  {"pxeboot", false}, {"identify", false}};
    struct world *w = open_with_change_hook();
    give_hammer(w, "n1", "ipmi");
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        world_alive(w, "n1", true);
        world_clear_effects(w);
        struct command c = CMD(NODE_POWER, node_power, .id = the_node(w, "n1"),
                               .action = str_from(cases[i].action));
        CHECK(DONE(w, c) == the_node(w, "n1"));
        CHECK(read_node(w, "n1").alive == !cases[i].down);
        char story[100];
        snprintf(story, sizeof story, "power %s n1%s", cases[i].action,
                 cases[i].down ? "; on_node_change ear n1" : "");
        EXPECT_EFFECTS(w, story);
    }
    world_close(w);
}

TEST(the_verbs_of_a_node_queue_its_change_hook)
{
    struct world *w = open_with_change_hook();
    const int64_t n1 = the_node(w, "n1");
    DONE(w, CMD(NODE_COMMIT, node_commit, .id = n1));
    EXPECT_EFFECTS(w, ""); /* it was available before */
    world_available(w, "n1", false);
    world_clear_effects(w);
    CHECK(DONE(w, CMD(NODE_COMMIT, node_commit, .id = n1)) == n1);
    EXPECT_EFFECTS(w, heard_change);
    CHECK(read_node(w, "n1").available);
    DONE(w, CMD(NODE_REDEPLOY, node_redeploy, .id = n1));
    EXPECT_EFFECTS(w, "power reboot n1; on_node_change ear n1");
    world_alive(w, "n1", true);
    world_clear_effects(w);
    DONE(w, CMD(NODE_DEBUG, node_debug, .id = n1));
    EXPECT_EFFECTS(w, "power reboot n1; on_node_change ear n1");
    CHECK(str_eq(read_node(w, "n1").bootenv, STR("sledgehammer")));
    DONE(w, CMD(NODE_UNDEBUG, node_undebug, .id = n1));
    EXPECT_EFFECTS(w, "power reboot n1; on_node_change ear n1");
    CHECK(str_eq(read_node(w, "n1").bootenv, STR("local")));
    CHECK(read_node(w, "n1").target_role_id == 0);
    world_node(w, "n2", NULL);
    EXPECT_STR(
        REFUSED(w, CMD(NODE_DEBUG, node_debug, .id = the_node(w, "n2")), TARGET_INVALID, "id"),
        "no discovery role is bound to the node; debug holds the node at this role");
    world_close(w);
}

TEST(debug_without_any_discovery_role_sets_no_target)
{
    struct world *w = world_open();
    world_role(w, "goal", "'jig':'noop','flags':['milestone']");
    world_node(w, "n1", NULL);
    const int64_t n1 = the_node(w, "n1");
    world_alive(w, "n1", true);
    DONE(w, CMD(NODE_UPDATE, node_update, .id = n1, .given = GIVEN_NODE_BOOTENV,
                .bootenv = STR("local")));
    DONE(w, CMD(NODE_DEBUG, node_debug, .id = n1));
    CHECK(str_eq(read_node(w, "n1").bootenv, STR("sledgehammer")));
    CHECK(read_node(w, "n1").target_role_id == 0 && !read_node(w, "n1").alive);
    /* A discovery role exists but is not bound to the node: debug is refused. */
    world_role(w, "found", "'jig':'noop','flags':['discovery','milestone']");
    REFUSED(w, CMD(NODE_DEBUG, node_debug, .id = n1), TARGET_INVALID, "id");
    world_close(w);
}

TEST(discovery_as_a_whole_is_set_from_inside_only)
{
    struct world *w = world_open();
    world_node(w, "n1", NULL);
    const int64_t n1 = the_node(w, "n1");
    struct command command = CMD(ATTRIB_SET, attrib_set, .target = TABLE_NODE, .id = n1,
                                 .bucket = BUCKET_DISCOVERY, .value = STR("{\"a\":{\"b\":1}}"));
    REFUSED(w, command, NOT_FOUND, "attrib_id");
    command.depth = 1;
    DONE(w, command);
    command.attrib_set.value = STR("{\"a\":{\"c\":2}}");
    DONE(w, command);
    CHECK(str_eq(read_node(w, "n1").discovery, STR("{\"a\":{\"b\":1,\"c\":2}}")));
    command.attrib_set.value = STR("[1]");
    REFUSED(w, command, BAD_VALUE, "value");
    command.attrib_set.value = STR("{}");
    command.attrib_set.id = 99;
    REFUSED(w, command, NOT_FOUND, "id");
    command.attrib_set.id = n1;
    command.attrib_set.bucket = BUCKET_HINT;
    REFUSED(w, command, NOT_FOUND, "attrib_id");
    world_close(w);
}

TEST(discovery_comes_to_plain_nodes_in_order_and_to_no_others)
{
    struct world *w = world_open();
    DONE(w, CMD(JIG_CREATE, jig_create, .name = STR("off"), .class_name = STR("script")));
    world_role(w, "z", "'jig':'noop'");
    world_role(w, "c", "'jig':'noop','flags':['discovery'],'requires':['z']");
    world_role(w, "b", "'jig':'noop','flags':['discovery']");
    world_role(w, "a", "'jig':'noop','flags':['discovery']");
    world_role(w, "never", "'flags':['discovery','abstract']");
    world_role(w, "off", "'jig':'off','flags':['discovery']");
    world_node(w, "n1", NULL);
    DONE(w, CMD(NODE_COMMIT, node_commit, .id = the_node(w, "n1")));
    CHECK(the_noderole(w, "a@n1") < the_noderole(w, "b@n1"));
    CHECK(the_noderole(w, "b@n1") < the_noderole(w, "z@n1"));
    CHECK(the_noderole(w, "z@n1") < the_noderole(w, "c@n1"));
    CHECK(core_count(w->core, TABLE_NODEROLE) == 4);
    world_run_all(w);
    IS(w, "c@n1", "active");
    for (int i = 0; i < 2; i++) {
        struct command c = cmd_node(w, i ? "s" : "adm");
        c.node_create.admin = i == 0;
        c.node_create.system = i == 1;
        DONE(w, c);
        DONE(w, CMD(NODE_COMMIT, node_commit, .id = the_node(w, i ? "s" : "adm")));
    }
    CHECK(core_count(w->core, TABLE_NODEROLE) == 4);
    DONE(w, CMD(NODE_PROPOSE, node_propose, .id = the_node(w, "n1")));
    static const char *const all[] = {"a@n1", "b@n1", "z@n1", "c@n1"};
    for (int i = 0; i < 4; i++)
        IS(w, all[i], "proposed");
    world_close(w);
}

/* ---- binding ---- */

TEST(a_bound_noderole_holds_what_it_was_given)
{
    struct world *w = world_open();
    const int64_t d = world_deployment(w, "d");
    const int64_t role = world_role(w, "a", "");
    const int64_t node = world_node(w, "n1", "d");
    struct command c = CMD(NODEROLE_BIND, noderole_bind, .node_id = node, .role_id = role,
                           .data = world_json(w, "{'x':1}"));
    const int64_t id = DONE(w, c);
    CHECK(id == the_noderole(w, "a@n1"));
    const int64_t then = w->now_ms;
    for (int round = 0; round < 2; round++) {
        const struct noderole_record nr = read_noderole(w, "a@n1");
        CHECK(nr.deployment_id == d && nr.role_id == role && nr.node_id == node);
        CHECK(nr.since == then && nr.order == 10000 && nr.created_at == then && nr.cohort == 0);
        CHECK(nr.run_count == 0 && nr.attempt == 0 && nr.member_from == 0 && !nr.unavailable);
        EXPECT_STR(shown(w, nr.proposed_data), "{'x':1}");
        EXPECT_STR(shown(w, nr.committed_data), "{}");
        world_reload(w);
    }
    c.noderole_bind.data = STR("");
    CHECK(DONE(w, c) == id);
    EXPECT_STR(shown(w, read_noderole(w, "a@n1").proposed_data), "{'x':1}");
    world_close(w);
}

TEST(a_refused_bind_says_what_is_wrong)
{
    struct world *w = world_open();
    world_deployment(w, "d");
    world_role(w, "a", "");
    world_role(w, "foe", "'conflicts':['a']");
    world_role(w, "twin", "'provides':['a']");
    world_role(w, "idea", "'flags':['abstract']");
    world_role(w, "lost", "'jig':'nowhere'");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    EXPECT_STR(REFUSED(w, cmd_bind(w, "a@n1", "d"), BOUND_ELSEWHERE, "deployment_id"),
               "the role is already bound to this node: system: n1.example.com: a");
    EXPECT_STR(REFUSED(w, cmd_bind(w, "foe@n1", NULL), ROLE_CONFLICT, "role_id"),
               "roles foe and a conflict and cannot share a node");
    CHECK(problems(w) == 1);
    EXPECT_STR(REFUSED(w, cmd_bind(w, "twin@n1", NULL), PROVIDES_CLASH, "role_id"),
               "roles twin and a provide each other or the same role and cannot share a node");
    CHECK(problems(w) == 1);
    EXPECT_STR(REFUSED(w, cmd_bind(w, "idea@n1", NULL), ABSTRACT_ROLE, "role_id"),
               "role idea is abstract: bind a role that provides it");
    CHECK(problems(w) == 1);
    EXPECT_STR(REFUSED(w, cmd_bind(w, "lost@n1", NULL), JIG_INACTIVE, "role_id"),
               "role lost cannot run: jig nowhere is not known here");
    CHECK(problems(w) == 1);
    DONE(w, CMD(JIG_CREATE, jig_create, .name = STR("off"), .class_name = STR("script")));
    world_role(w, "idle", "'jig':'off'");
    HAS(REFUSED(w, cmd_bind(w, "idle@n1", NULL), JIG_INACTIVE, "role_id"),
        "role idle cannot run: jig off is not active");
    struct command c = CMD(NODEROLE_BIND, noderole_bind, .node_id = 91, .role_id = 92,
                           .deployment_id = 93, .data = STR("[]"));
    HAS(REFUSED(w, c, NOT_FOUND, "node_id"), "node with id 91");
    HAS(REFUSED(w, c, NOT_FOUND, "role_id"), "role with id 92");
    HAS(REFUSED(w, c, NOT_FOUND, "deployment_id"), "deployment with id 93");
    EXPECT_STR(REFUSED(w, c, BAD_JSON, "data"), "must be a JSON object");
    CHECK(problems(w) == 4);
    world_close(w);
}

TEST(a_second_bind_is_no_change)
{
    struct world *w = open_with_change_hook();
    world_role(w, "a", "");
    const int64_t id = world_bind(w, "a@n1");
    EXPECT_EFFECTS(w, heard_change);
    CHECK(world_bind(w, "a@n1") == id);
    EXPECT_EFFECTS(w, "");
    world_close(w);
}

TEST(a_long_chain_is_bound_whole_each_deeper_than_its_parent)
{
    struct world *w = world_open();
    enum { LONG = 40 };
    world_role(w, "r0", "");
    for (int i = 1; i < LONG; i++) {
        char rest[100];
        snprintf(rest, sizeof rest, "'requires':['r%d'],'flags':['implicit']", i - 1);
        world_role(w, numbered(w, "r", i), rest);
    }
    world_node(w, "n1", NULL);
    world_bind(w, "r39@n1");
    CHECK(core_count(w->core, TABLE_NODEROLE) == LONG);
    for (uint32_t i = 0; i < LONG; i++) {
        char name[32];
        snprintf(name, sizeof name, "r%u@n1", i);
        CHECK(read_noderole(w, name).cohort == i);
    }
    CHECK(world_has_edge(w, "r20@n1", "r21@n1") && !world_has_edge(w, "r19@n1", "r21@n1"));
    world_commit_deployment(w, "system");
    world_run_all(w);
    IS(w, "r39@n1", "active");
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "r1@n1")));
    CHECK(core_count(w->core, TABLE_NODEROLE) == 1);
    world_close(w);
}

TEST(an_error_reaches_a_hundred_children_and_the_last_is_named)
{
    struct world *w = world_open();
    enum { MANY = 100 };
    world_role(w, "a", "");
    world_role(w, "b", "'requires':['a'],'jig':'noop'");
    world_node(w, "n0", NULL);
    world_bind(w, "a@n0");
    for (int i = 1; i <= MANY; i++) {
        world_node(w, numbered(w, "n", i), NULL);
        world_bind(w, numbered(w, "b@n", i));
    }
    world_commit_deployment(w, "system");
    world_run_all(w);
    DONE(w, cmd_enqueue(w, "a@n0"));
    world_anneal(w);
    world_finish(w, "a@n0", RESULT_FAILED);
    for (int i = 1; i <= MANY; i++)
        IS(w, numbered(w, "b@n", i), "blocked");
    EXPECT_STR(REFUSED(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "a@n0")),
                       HAS_DEPENDANTS, "id"),
               "system: n100.example.com: b depends on system: n0.example.com: a");
    world_close(w);
}

TEST(a_provider_may_not_descend_from_the_role_it_provides)
{
    struct world *w = world_open();
    world_role(w, "a", "");
    world_role(w, "mid", "'requires':['a']");
    world_role(w, "twin", "'requires':['mid'],'provides':['a']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "mid@n1");
    EXPECT_STR(REFUSED(w, cmd_bind(w, "twin@n2", NULL), PROVIDES_ANCESTRY, "role_id"),
               "system: n2.example.com: twin would depend on system: n1.example.com: a, and one of "
               "the two roles provides the other");
    CHECK(problems(w) == 1);
    world_close(w);
}

/* ---- targets ---- */

TEST(noderoles_bound_to_a_held_node_are_held_until_the_target_is_cleared)
{
    struct world *w = world_open();
    world_role(w, "stage", "'jig':'noop','flags':['milestone']");
    world_role(w, "a", "");
    world_role(w, "b", "");
    world_node(w, "n1", NULL);
    world_bind(w, "stage@n1");
    world_bind(w, "a@n1");
    CHECK(!read_noderole(w, "a@n1").unavailable);
    struct command c = cmd_update(w, "n1", GIVEN_NODE_TARGET);
    c.node_update.target_role_id = the_role(w, "stage");
    DONE(w, c);
    world_bind(w, "b@n1");
    CHECK(read_noderole(w, "b@n1").unavailable && read_noderole(w, "a@n1").unavailable);
    world_reload(w);
    CHECK(read_noderole(w, "b@n1").unavailable && !read_noderole(w, "stage@n1").unavailable);
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "stage@n1")));
    CHECK(read_node(w, "n1").target_role_id == 0);
    CHECK(!read_noderole(w, "b@n1").unavailable && !read_noderole(w, "a@n1").unavailable);
    world_close(w);
}

TEST(a_node_stays_whichever_of_its_noderoles_is_needed)
{
    struct world *w = world_open();
    world_role(w, "x", "");
    world_role(w, "y", "'requires':['x']");
    world_role(w, "a", "");
    world_role(w, "b", "'requires':['a']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "y@n1");
    world_bind(w, "a@n1");
    world_bind(w, "b@n2");
    world_commit_deployment(w, "system");
    EXPECT_STR(
        REFUSED(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n1")), HAS_DEPENDANTS, "id"),
        "system: n2.example.com: b depends on system: n1.example.com: a");
    world_close(w);
}

TEST(roles_that_provide_a_common_role_do_not_share_a_node)
{
    struct world *w = world_open();
    world_role(w, "one", "'provides':['p','q','r']");
    world_role(w, "two", "'provides':['r']");
    world_role(w, "three", "'provides':['s','t','p']");
    world_node(w, "n1", NULL);
    world_bind(w, "two@n1");
    EXPECT_STR(REFUSED(w, cmd_bind(w, "one@n1", NULL), PROVIDES_CLASH, "role_id"),
               "roles one and two provide each other or the same role and cannot share a node");
    world_node(w, "n2", NULL);
    world_bind(w, "one@n2");
    REFUSED(w, cmd_bind(w, "three@n2", NULL), PROVIDES_CLASH, "role_id");
    world_bind(w, "three@n1");
    world_close(w);
}

TEST(a_redeploy_requests_every_commit_hook_again)
{
    struct world *w = world_open();
    world_role(w, "a", "'hooks':['on_commit','on_proposed']");
    world_role(w, "b", "'hooks':['on_commit','on_proposed']");
    world_node(w, "n1", NULL);
    world_bind(w, "a@n1");
    world_bind(w, "b@n1");
    world_deliver(w);
    world_commit_deployment(w, "system");
    world_run_all(w);
    CHECK(read_noderole(w, "b@n1").run_count == 1);
    world_clear_effects(w);
    CHECK(DONE(w, CMD(NODE_REDEPLOY, node_redeploy, .id = the_node(w, "n1"))) == the_node(w, "n1"));
    EXPECT_EFFECTS(w, "ask on_commit a; ask on_commit b; power reboot n1");
    CHECK(read_noderole(w, "a@n1").run_count == 0 && read_noderole(w, "b@n1").run_count == 0);
    IS(w, "a@n1", "todo");
    IS(w, "b@n1", "todo");
    world_close(w);
}

TEST(a_name_is_as_free_after_a_node_as_before)
{
    struct world *w = world_open();
    for (int round = 0; round < 3; round++) {
        CHECK(core_find(w->core, TABLE_NODE, STR("n1.example.com")) == 0);
        world_node(w, "n1", NULL);
        DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n1")));
    }
    CHECK(core_find(w->core, TABLE_NODE, STR("n1.example.com")) == 0);
    world_close(w);
}

TEST(a_node_that_is_switched_off_to_save_power_has_changed)
{
    struct world *w = world_open();
    world_role(w, "ear", "'hooks':['on_node_change']");
    world_role(w, "ready", "'jig':'noop','flags':['milestone','powersave']");
    world_node(w, "n1", NULL);
    give_hammer(w, "n1", "ipmi");
    world_bind(w, "ready@n1");
    world_clear_effects(w);
    world_commit(w, "ready@n1");
    world_anneal(w);
    EXPECT_EFFECTS(w, "power off n1; on_node_change ear n1");
    CHECK(!read_node(w, "n1").alive);
    world_close(w);
}

TEST(a_noderole_in_todo_waits_for_a_new_cluster_member_too)
{
    struct world *w = world_open();
    world_role(w, "m", "'flags':['cluster']");
    world_role(w, "c", "'requires':['m']");
    static const char *const nodes[] = {"n1", "n2", "n3"};
    for (int i = 0; i < 3; i++)
        world_node(w, nodes[i], NULL);
    world_bind(w, "m@n1");
    world_bind(w, "c@n3");
    world_bring(w, "m@n1", "active");
    world_bring(w, "c@n3", "todo");
    world_bind(w, "m@n2");
    IS(w, "c@n3", "blocked");
    world_bring(w, "m@n2", "active");
    IS(w, "c@n3", "todo");
    world_close(w);
}

TEST(a_cycle_of_noderoles_is_reported_edge_by_edge)
{
    struct world *w = world_open();
    world_role(w, "base", "'flags':['abstract']");
    world_role(w, "q", "'provides':['base']");
    world_role(w, "m", "'flags':['cluster'],'requires':['base']");
    world_role(w, "c0", "'requires':['m']");
    world_role(w, "c", "'requires':['c0'],'provides':['base']");
    world_node(w, "n1", NULL);
    world_node(w, "n2", NULL);
    world_bind(w, "q@n1");
    world_bind(w, "m@n1");
    world_bind(w, "c@n2");
    EXPECT_STR(
        REFUSED(w, cmd_bind(w, "m@n2", NULL), GRAPH_CYCLE, "role_id"),
        "the noderoles would depend on each other in a cycle: system: n2.example.com: c0 -> "
        "system: n2.example.com: c -> system: n2.example.com: m -> system: n2.example.com: c0");
    CHECK(problems(w) == 1);
    world_close(w);
}
