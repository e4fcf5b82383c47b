/* Goal: the boot view holds what docs/spec/boot.md says, follows every change that concerns it, and
 * a copy that applies the changes of each batch equals it. Method: one case for each rule, with the
 * entry as text before and after; after each step core_check() computes the view again (world.h),
 * and the tests compare it with a view that is made of records alone (boot_world.h). */
#include "tests/unit/core/boot_world.h"

static const char hint_a[] = "{'admin-v4addr':'10.9.0.7/16','admin_macs':['52:54:00:00:00:0a']}";

/* The roles `found` and `also` (discovery), `joined` (provides `found`) and `web`, and a network of
 * category admin. */
static struct world *boot_open(void)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'b','source_path':'/b'},'roles':["
                          "{'name':'found','jig':'script','flags':['discovery','implicit']},"
                          "{'name':'joined','jig':'script','provides':['found']},"
                          "{'name':'also','jig':'script','flags':['discovery','implicit']},"
                          "{'name':'web','jig':'script'}]}"));
    DONE(w, cmd_network_of(w, "net", "admin", true,
                           "[{'name':'host','first':'10.0.0.2/24','last':'10.0.0.9/24'}]"));
    return w;
}

static void make_node(struct world *w, const char *name, const char *hint, const char *bootenv)
{
    struct command command = cmd_node(w, name);
    command.node_create.hint = world_json(w, hint);
    command.node_create.bootenv = str_from(bootenv);
    DONE(w, command);
}

static struct command cmd_bootenv(struct world *w, const char *node, const char *bootenv)
{
    return CMD(NODE_UPDATE, node_update, .id = the_node(w, node), .given = GIVEN_NODE_BOOTENV,
               .bootenv = str_from(bootenv));
}

static struct command cmd_category(int64_t network, const char *category)
{
    return CMD(NETWORK_UPDATE, network_update, .id = network, .given = GIVEN_NETWORK_CATEGORY,
               .category = str_from(category));
}

static int64_t the_network(struct world *w, const char *name)
{
    return core_find(w->core, TABLE_NETWORK, str_from(name));
}

/* A machine that is in the view: found@n1 committed. */
static struct world *open_with_machine(void)
{
    struct world *w = boot_open();
    make_node(w, "n1", "{'admin_macs':['52:54:00:00:00:0b','52:54:00:00:00:0a']}", "sledgehammer");
    world_bind(w, "found@n1");
    world_commit(w, "found@n1");
    DONE(w, cmd_allocate(w, "n1", range_named(w, "net", "host")));
    return w;
}

#define MACHINE(generation, bootenv)                                                               \
    "machine n1.example.com " bootenv " " generation                                               \
    " [52:54:00:00:00:0a 52:54:00:00:00:0b] [10.0.0.2/24 net.host]"

TEST(a_machine_is_its_name_environment_macs_and_admin_addresses)
{
    struct world *w = open_with_machine();
    EXPECT_STR(machine_text(w, "n1"), MACHINE("0", "sledgehammer"));
    DONE(w, cmd_bootenv(w, "n1", "local"));
    EXPECT_STR(machine_text(w, "n1"), MACHINE("1", "local"));
    DONE(w, CMD(NODE_UPDATE, node_update, .id = the_node(w, "n1"), .given = GIVEN_NAME,
                .name = STR("n2.example.com")));
    HAS(machine_text(w, "n2"), "machine n2.example.com local 1");
    EXPECT_NAIVE_VIEW(w);
    world_close(w);
}

TEST(a_machine_is_in_the_view_while_a_discovery_noderole_is_committed)
{
    struct world *w = boot_open();
    make_node(w, "n1", hint_a, "");
    EXPECT_STR(machine_text(w, "n1"), "none");
    world_bind(w, "found@n1");
    EXPECT_STR(machine_text(w, "n1"), "none");
    world_commit(w, "found@n1");
    HAS(machine_text(w, "n1"), "machine n1");
    DONE(w, cmd_propose(w, "found@n1"));
    EXPECT_STR(machine_text(w, "n1"), "none");
    world_commit(w, "found@n1");
    HAS(machine_text(w, "n1"), "machine n1");
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, "found@n1")));
    EXPECT_STR(machine_text(w, "n1"), "none");
    EXPECT_NAIVE_VIEW(w);
    world_close(w);
}

TEST(a_provider_of_a_discovery_role_counts_only_while_the_environment_is_not_local)
{
    struct world *w = boot_open();
    make_node(w, "n1", "{}", "local");
    world_bind(w, "joined@n1");
    world_commit(w, "joined@n1");
    EXPECT_STR(machine_text(w, "n1"), "none");
    DONE(w, cmd_bootenv(w, "n1", "debian-install"));
    EXPECT_STR(machine_text(w, "n1"), "machine n1.example.com debian-install 1 [] []");
    DONE(w, cmd_bootenv(w, "n1", "local"));
    EXPECT_STR(machine_text(w, "n1"), "none");
    world_bind(w, "also@n1");
    world_commit(w, "also@n1");
    HAS(machine_text(w, "n1"), "machine n1");
    world_bind(w, "web@n1");
    world_commit(w, "web@n1");
    EXPECT_NAIVE_VIEW(w);
    world_close(w);
}

TEST(a_system_node_is_no_machine)
{
    struct world *w = boot_open();
    struct command command = cmd_node(w, "s");
    command.node_create.system = true;
    DONE(w, command);
    world_bind(w, "found@s");
    world_commit(w, "found@s");
    EXPECT_STR(machine_text(w, "s"), "none");
    EXPECT_NAIVE_VIEW(w);
    world_close(w);
}

TEST(a_machine_without_an_allocation_has_the_address_of_its_hint)
{
    struct world *w = boot_open();
    static const struct {
        const char *hint, *addresses;
    } cases[] = {
        {"{'admin-v4addr':'10.9.0.7/16'}", "[10.9.0.7/16 hint]"},
        {"{'admin-v4addr':'10.9.0.8'}", "[10.9.0.8/32 hint]"},
        {"{'admin-v4addr':'fd00::1/64'}", " []"},
        {"{'admin-v4addr':'x'}", " []"},
        {"{'admin-v4addr':7}", " []"},
        {"{'net-v4addr':'10.9.0.7/16'}", " []"},
        {"{}", " []"},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_node(w, "n", cases[i].hint, "");
        world_bind(w, "found@n");
        world_commit(w, "found@n");
        HAS(machine_text(w, "n"), cases[i].addresses);
        DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n")));
    }
    make_node(w, "n1", hint_a, "");
    world_bind(w, "found@n1");
    world_commit(w, "found@n1");
    HAS(machine_text(w, "n1"), "[10.9.0.7/16 hint]");
    DONE(w, cmd_allocate(w, "n1", range_named(w, "net", "host")));
    HAS(machine_text(w, "n1"), "[10.0.0.2/24 net.host]");
    deallocate(w, "n1");
    HAS(machine_text(w, "n1"), "[10.9.0.7/16 hint]");
    EXPECT_NAIVE_VIEW(w);
    world_close(w);
}

/* ---- boot options ---- */

static struct world *open_with_options(void)
{
    struct world *w = boot_open();
    world_node_attrib(w, "hint-boot", "'map':'boot','writable':true");
    world_node_attrib(w, "hint-deep", "'map':'deep/boot','writable':true");
    world_node_attrib(w, "hint-other", "'map':'other','writable':true");
    make_node(w, "n1", "{}", "");
    world_bind(w, "found@n1");
    world_commit(w, "found@n1");
    EXPECT_STR(machine_text(w, "n1"), "machine n1.example.com sledgehammer 0 [] []");
    return w;
}

/* The member "boot" of the hint is set to `value`; the entry ends with `wanted`. */
static void expect_options(struct world *w, const char *attrib, const char *value,
                           const char *wanted)
{
    const struct boot_key key = {BOOT_MACHINE, the_node(w, "n1")};
    struct boot_entry entry;
    DONE(w, cmd_set(w, TABLE_NODE, key.id, attrib, BUCKET_USER, value));
    CHECK(core_boot_view(w->core, key, &w->arena, &entry));
    EXPECT_STR(str_z(&w->arena, entry.machine.options), wanted);
    EXPECT_NAIVE_VIEW(w);
}

TEST(the_member_boot_of_a_hint_is_the_options_of_its_machine)
{
    static const struct {
        const char *value, *options;
    } cases[] = {
        {"{'console':'ttyS1'}", "{\"console\":\"ttyS1\"}"},
        {"{'b':1,'a':[true,null]}", "{\"a\":[true,null],\"b\":1}"}, /* canonical */
        {"{}", ""},
        {"{'a':{}}", "{\"a\":{}}"},
        {"{'boot':{'x':1}}", "{\"boot\":{\"x\":1}}"},
        {"'text'", ""},
        {"'boot:{'", ""},
        {"[{'a':1}]", ""},
        {"7", ""},
        {"true", ""},
        {"null", ""},
    };
    struct world *w = open_with_options();
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_options(w, "hint-boot", "null", ""); /* an object is merged with the one before */
        expect_options(w, "hint-boot", cases[i].value, cases[i].options);
    }
    expect_options(w, "hint-boot", "{'x':1}", "{\"x\":1}");
    world_reload(w);
    expect_options(w, "hint-other", "1", "{\"x\":1}");
    world_close(w);
}

TEST(other_members_of_a_hint_are_no_options)
{
    struct world *w = open_with_options();
    expect_options(w, "hint-deep", "{'a':1}", ""); /* "boot" below another member */
    expect_options(w, "hint-other", "{'boot':{'a':1}}", "");
    expect_options(w, "hint-other", "'\\\"boot\\\":{'", "");
    expect_options(w, "hint-boot", "[]", ""); /* and the member itself is none */
    expect_options(w, "hint-boot", "{'b':2}", "{\"b\":2}");
    make_node(w, "n2", "{'Boot':{'a':1},'boot ':{'a':1},'reboot':{'a':1}}", "");
    world_bind(w, "found@n2");
    world_commit(w, "found@n2");
    EXPECT_STR(machine_text(w, "n2"), "machine n2.example.com sledgehammer 0 [] []");
    world_close(w);
}

TEST(options_that_are_too_long_are_none)
{
    struct world *w = open_with_options();
    char value[BOOT_OPTIONS_LEN_MAX + 8];
    for (uint32_t len = BOOT_OPTIONS_LEN_MAX - 1; len <= BOOT_OPTIONS_LEN_MAX + 1; len++) {
        /* {"k":"xxx"} */
        memset(value, 'x', sizeof value);
        memcpy(value, "{'k':'", 6);
        memcpy(value + len - 2, "'}", 3);
        expect_options(w, "hint-boot", value,
                       len > BOOT_OPTIONS_LEN_MAX ? "" : str_z(&w->arena, world_json(w, value)));
        CHECK(strlen(value) == len);
    }
    world_close(w);
}

TEST(options_change_the_entry_and_nothing_else_does)
{
    static struct view_copy copy;
    struct world *w = open_with_options();
    copy_begin(&copy, w);
    copy_follow(&copy, w);
    expect_options(w, "hint-boot", "{'a':1}", "{\"a\":1}");
    CHECK(copy_follow(&copy, w) == 1);
    expect_options(w, "hint-boot", "{'a':1}", "{\"a\":1}");
    CHECK(copy_follow(&copy, w) == 0);
    expect_options(w, "hint-boot", "{'a':2}", "{\"a\":2}");
    CHECK(copy_follow(&copy, w) == 1);
    expect_options(w, "hint-boot", "'none'", "");
    CHECK(copy_follow(&copy, w) == 1);
    expect_options(w, "hint-boot", "{}", "");
    expect_options(w, "hint-other", "1", "");
    CHECK(copy_follow(&copy, w) == 0);
    arena_fini(&copy.arena);
    world_close(w);
}

/* ---- networks ---- */

TEST(addresses_are_ipv4_of_networks_of_category_admin)
{
    struct world *w = open_with_machine();
    const int64_t lab = DONE(w, cmd_network_of(w, "lab", "lab", true,
                                               "[{'name':'host','first':'10.1.0.2/24',"
                                               "'last':'10.1.0.9/24'},{'name':'host-v6',"
                                               "'first':'fd00::2/64','last':'fd00::9/64'}]"));
    DONE(w, cmd_allocate(w, "n1", range_named(w, "lab", "host")));
    DONE(w, cmd_allocate(w, "n1", range_named(w, "lab", "host-v6")));
    EXPECT_STR(machine_text(w, "n1"), MACHINE("0", "sledgehammer"));
    world_collect(w);
    DONE(w, cmd_category(lab, "admin"));
    HAS(machine_text(w, "n1"), "[10.0.0.2/24 net.host, 10.1.0.2/24 lab.host]");
    DONE(w, cmd_category(the_network(w, "net"), "general"));
    HAS(machine_text(w, "n1"), "[10.1.0.2/24 lab.host]");
    EXPECT_NAIVE_VIEW(w);
    DONE(w, CMD(NETWORK_DELETE, network_delete, .id = lab));
    HAS(machine_text(w, "n1"), "0b] []");
    EXPECT_NAIVE_VIEW(w);
    world_close(w);
}

TEST(a_mac_that_moves_is_of_its_new_machine)
{
    struct world *w = open_with_machine();
    make_node(w, "n2", "{}", "");
    world_bind(w, "found@n2");
    world_commit(w, "found@n2");
    DONE(w, CMD(NIC_MOVE, nic_move, .node_id = the_node(w, "n2"), .mac = STR("52:54:00:00:00:0a")));
    HAS(machine_text(w, "n1"), " [52:54:00:00:00:0b] ");
    HAS(machine_text(w, "n2"), " [52:54:00:00:00:0a] ");
    EXPECT_NAIVE_VIEW(w);
    world_close(w);
}

TEST(networks_ranges_routers_and_leases_are_entries)
{
    struct world *w = boot_open();
    const int64_t range = range_named(w, "net", "host");
    DONE(w, CMD(NETWORK_UPDATE, network_update, .id = the_network(w, "net"),
                .given = GIVEN_NETWORK_GROUP | GIVEN_NETWORK_VLAN | GIVEN_NETWORK_USE_VLAN,
                .group = STR("g"), .vlan = 7, .use_vlan = true));
    EXPECT_STR(entry_text(w, BOOT_NETWORK, the_network(w, "net")),
               "network net admin g configured 7");
    EXPECT_STR(entry_text(w, BOOT_RANGE, range), "range net.host host 10.0.0.2/24 10.0.0.9/24");
    const int64_t router = DONE(w, CMD(NETWORK_ROUTER_CREATE, network_router_create,
                                       .network_id = the_network(w, "net"),
                                       .given = GIVEN_ROUTER_ADDRESS | GIVEN_ROUTER_PREF,
                                       .address = STR("10.0.0.1/24"), .pref = 10));
    EXPECT_STR(entry_text(w, BOOT_ROUTER, router), "router net 10.0.0.1/24 10");
    const int64_t lease = DONE(w, CMD(LEASE_TAKE, lease_take, .range_id = range, .lease_s = 600,
                                      .address = STR("10.0.0.5"), .mac = STR("52:54:00:00:00:0c")));
    EXPECT_STR(entry_text(w, BOOT_LEASE, lease),
               "lease 10.0.0.5/24 52:54:00:00:00:0c net.host 0 2400000");
    EXPECT_NAIVE_VIEW(w);
    DONE(w, CMD(LEASE_RELEASE, lease_release, .address = STR("10.0.0.5"),
                .mac = STR("52:54:00:00:00:0c")));
    DONE(w, CMD(NETWORK_ROUTER_DELETE, network_router_delete, .id = router));
    DONE(w, CMD(NETWORK_UPDATE, network_update, .id = the_network(w, "net"),
                .given = GIVEN_NETWORK_USE_VLAN, .use_vlan = false));
    EXPECT_STR(entry_text(w, BOOT_LEASE, lease), "none");
    EXPECT_STR(entry_text(w, BOOT_ROUTER, router), "none");
    EXPECT_STR(entry_text(w, BOOT_NETWORK, the_network(w, "net")),
               "network net admin g configured 0");
    EXPECT_STR(entry_text(w, BOOT_BOOTENV, 1), "none");
    EXPECT_NAIVE_VIEW(w);
    world_close(w);
}

TEST(a_deleted_node_leaves_the_view_and_its_address_becomes_a_lease_entry)
{
    struct world *w = open_with_machine();
    const int64_t n1 = the_node(w, "n1");
    const struct boot_key key = {BOOT_MACHINE, n1};
    world_collect(w);
    CHECK(core_boot_turn(w->core, key) == w->turn);
    DONE(w, CMD(NODE_DELETE, node_delete, .id = n1));
    EXPECT_STR(entry_text(w, BOOT_MACHINE, n1), "none");
    uint32_t count;
    int64_t turn;
    world_collect(w);
    const struct boot_key *changes = core_boot_changes(w->core, &count, &turn);
    bool has_machine = false, has_lease = false;
    for (uint32_t i = 0; i < count; i++) {
        has_machine = has_machine || boot_key_cmp(changes[i], key) == 0;
        has_lease = has_lease || changes[i].kind == BOOT_LEASE;
    }
    CHECK(has_machine && has_lease && turn == w->turn);
    CHECK(core_boot_turn(w->core, key) == 0);
    EXPECT_NAIVE_VIEW(w);
    world_close(w);
}

/* ---- roles ---- */

static void import_found(struct world *w, const char *flags)
{
    char text[300];
    snprintf(text, sizeof text,
             "{'barclamp':{'name':'b','source_path':'/b'},'roles':["
             "{'name':'found','jig':'script','flags':[%s'implicit']},"
             "{'name':'joined','jig':'script','provides':['found']},"
             "{'name':'web','jig':'script'}]}",
             flags);
    DONE(w, cmd_import(w, text));
}

TEST(a_role_that_stops_or_starts_to_be_of_discovery_moves_its_machines)
{
    struct world *w = open_with_machine();
    make_node(w, "n2", "{}", "debian-install");
    world_bind(w, "joined@n2");
    world_commit(w, "joined@n2");
    HAS(machine_text(w, "n2"), "machine n2");
    import_found(w, "");
    EXPECT_STR(machine_text(w, "n1"), "none");
    EXPECT_STR(machine_text(w, "n2"), "none");
    import_found(w, "'discovery',");
    HAS(machine_text(w, "n1"), "machine n1");
    HAS(machine_text(w, "n2"), "machine n2");
    EXPECT_NAIVE_VIEW(w);
    DONE(w, cmd_import(w, "{'barclamp':{'name':'b','source_path':'/b'},'roles':["
                          "{'name':'found','jig':'script','flags':['discovery','implicit']},"
                          "{'name':'joined','jig':'script'},{'name':'web','jig':'script',"
                          "'provides':['found']}]}"));
    EXPECT_STR(machine_text(w, "n2"), "none");
    EXPECT_NAIVE_VIEW(w);
    world_close(w);
}

/* ---- batches and undo ---- */

TEST(the_changes_of_a_batch_are_those_of_its_entries_once)
{
    struct world *w = open_with_machine();
    const struct boot_key key = {BOOT_MACHINE, the_node(w, "n1")};
    uint32_t count;
    int64_t turn;
    world_collect(w);
    core_boot_changes(w->core, &count, &turn);
    CHECK(count > 0 && turn == w->turn);
    DONE(w, cmd_bootenv(w, "n1", "local"));
    CHECK(core_boot_turn(w->core, key) == BOOT_TURN_OPEN);
    DONE(w, cmd_bootenv(w, "n1", "sledgehammer"));
    core_boot_changes(w->core, &count, &turn);
    CHECK(turn == w->turn); /* still the last batch */
    world_collect(w);
    const struct boot_key *changes = core_boot_changes(w->core, &count, &turn);
    CHECK(count == 1 && turn == w->turn && boot_key_cmp(changes[0], key) == 0);
    CHECK(core_boot_turn(w->core, key) == turn);
    /* A batch that concerns no entry: none, and the turn of the entry stays. */
    DONE(w, CMD(NODE_UPDATE, node_update, .id = key.id, .given = GIVEN_DESCRIPTION,
                .description = STR("changed")));
    world_collect(w);
    core_boot_changes(w->core, &count, &turn);
    CHECK(count == 0 && turn == w->turn);
    CHECK(core_boot_turn(w->core, key) == w->turn - 1);
    world_close(w);
}

TEST(a_refused_step_and_a_dry_one_leave_the_view_and_its_list)
{
    struct world *w = open_with_machine();
    make_node(w, "n2", "{}", "");
    world_bind(w, "found@n2");
    world_collect(w);
    const struct digest128 before = core_boot_digest(w->core);
    /* Refused as a whole after its first part changed an entry. */
    struct command parts[] = {cmd_bootenv(w, "n1", "local"),
                              CMD(NODE_UPDATE, node_update, .id = 999, .given = GIVEN_NAME,
                                  .name = STR("x.example.com"))};
    struct buf batch = buf_in(&w->arena);
    for (uint32_t i = 0; i < 2; i++)
        command_encode(&parts[i], &batch);
    REFUSED(w, CMD(BATCH, batch, .commands = buf_str(&batch)), NONE, NULL);
    CHECK(digest_eq(before, core_boot_digest(w->core)));
    /* A plan executes the commit of the noderole that puts n2 into the view, and rolls it back. */
    const struct command commit = CMD(DEPLOYMENT_COMMIT, deployment_commit, .id = SYSTEM);
    struct outcome out;
    core_plan_whole(w->core, &commit, &w->arena, &out);
    CHECK(digest_eq(before, core_boot_digest(w->core)));
    uint32_t count;
    int64_t turn;
    world_collect(w);
    core_boot_changes(w->core, &count, &turn);
    CHECK(count == 0);
    EXPECT_STR(machine_text(w, "n1"), MACHINE("0", "sledgehammer"));
    world_commit(w, "found@n2");
    CHECK(!digest_eq(before, core_boot_digest(w->core)));
    world_collect(w);
    core_boot_changes(w->core, &count, &turn);
    CHECK(count == 1);
    world_close(w);
}

TEST(a_loaded_core_has_the_same_view)
{
    struct world *w = open_with_machine();
    DONE(w, CMD(LEASE_TAKE, lease_take, .range_id = range_named(w, "net", "host"), .lease_s = 600,
                .address = STR("10.0.0.5"), .mac = STR("52:54:00:00:00:0c")));
    world_collect(w);
    const struct digest128 before = core_boot_digest(w->core);
    const char *view = view_text(w);
    uint32_t count;
    int64_t turn;
    world_reload(w);
    CHECK(digest_eq(before, core_boot_digest(w->core)));
    EXPECT_STR(view_text(w), view);
    EXPECT_NAIVE_VIEW(w);
    core_boot_changes(w->core, &count, &turn);
    CHECK(count == 0);
    CHECK(core_boot_turn(w->core, (struct boot_key){BOOT_MACHINE, the_node(w, "n1")}) > 0);
    world_close(w);
}

TEST(a_copy_that_applies_the_changes_equals_the_view)
{
    static struct view_copy copy;
    struct world *w = boot_open();
    copy_begin(&copy, w);
    copy_follow(&copy, w);
    make_node(w, "n1", hint_a, "");
    world_bind(w, "found@n1");
    copy_follow(&copy, w);
    world_commit(w, "found@n1");
    CHECK(copy_follow(&copy, w) == 1);
    DONE(w, cmd_allocate(w, "n1", range_named(w, "net", "host")));
    CHECK(copy_follow(&copy, w) == 1);
    DONE(w, CMD(NETWORK_DELETE, network_delete, .id = the_network(w, "net")));
    CHECK(copy_follow(&copy, w) >= 3); /* network, range, machine */
    DONE(w, CMD(NODE_DELETE, node_delete, .id = the_node(w, "n1")));
    CHECK(copy_follow(&copy, w) == 1);
    arena_fini(&copy.arena);
    world_close(w);
}

TEST(the_check_finds_an_entry_that_was_not_settled)
{
    struct world *w = open_with_machine();
    const node_ix n = node_by_id(w->core, the_node(w, "n1"));
    CHECK(core_check(w->core, &w->arena) == NULL);
    struct node *node = node_derive(w->core, n);
    node->boot_generation++;
    HAS(core_check(w->core, &w->arena), "I19");
    node->boot_generation--;
    node->boot.turn = 0;
    HAS(core_check(w->core, &w->arena), "I19");
    node->boot.turn = 1;
    w->core->vars.boot_digest.lo++;
    HAS(core_check(w->core, &w->arena), "I19");
    w->core->vars.boot_digest.lo--;
    const network_ix net = network_by_id(w->core, the_network(w, "net"));
    network_derive(w->core, net)->is_admin = false;
    HAS(core_check(w->core, &w->arena), "C21");
    network_derive(w->core, net)->is_admin = true;
    const role_ix role = role_by_id(w->core, the_role(w, "web"));
    role_derive(w->core, role)->boot_part = BOOT_PART_DISCOVERY;
    HAS(core_check(w->core, &w->arena), "C21");
    role_derive(w->core, role)->boot_part = BOOT_PART_NONE;
    CHECK(core_check(w->core, &w->arena) == NULL);
    world_close(w);
}
