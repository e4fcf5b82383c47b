/* Goal: the shipped roles do together what barclamps/README.md documents: the admin node gets all
 * its services, and discovered machines have entries in the boot databases ("Installation races" in
 * docs/spec/hooks.md: concurrent node changes, node deleted meanwhile, joined machines).
 * Method: the engine with real hooks; only the runs of scripts are simulated (machine.h). */
#include "tests/unit/shipped/machine.h"

/* ---- the admin node ---- */

TEST(the_first_admin_node_gets_all_services_and_they_become_active)
{
    struct machine m = begin();
    static const char *const roles[] = {
        "crowbar-admin-node@admin",  "crowbar-joined-node@admin",
        "crowbar-access@admin",      "dhcp-server@admin",
        "dhcp-database@admin",       "dhcp-service@admin",
        "dns-server@admin",          "dns-database@admin",
        "dns-service@admin",         "dns-mgmt_server@admin",
        "dns-mgmt_service@admin",    "ntp-server@admin",
        "ntp-service@admin",         "ntp-client@admin",
        "provisioner-server@admin",  "provisioner-base-images@admin",
        "provisioner-repos@admin",   "provisioner-database@admin",
        "provisioner-service@admin",
    };
    for (uint32_t i = 0; i < sizeof roles / sizeof *roles; i++)
        IS(m.w, roles[i], "active");
    CHECK(!world_bound(m.w, "provisioner-os-install@admin"));
    CHECK(!world_bound(m.w, "crowbar-managed-node@admin"));
    EXPECT_STR(world_value(m.w, TABLE_NODE, the_node(m.w, "admin"), "ntp_servers", VIEW_ALL),
               "['192.168.124.10']");
    EXPECT_STR(world_staged(m.w, "ntp-client@admin", "crowbar/ntp/servers"), "['192.168.124.10']");
    EXPECT_STR(world_staged(m.w, "dns-server@admin", "dns/default_domain"), "'example.com'");
    EXPECT_STR(world_staged(m.w, "dns-server@admin", "dns/ttl"), "'1h'");
    EXPECT_STR(node_value(m.w, "admin", "dns_servers"),
               "[{'address':'192.168.124.10','name':'system','type':'BIND'}]");
    EXPECT_STR(node_value(m.w, "admin", "dns-mgmt_servers"),
               "[{'address':'192.168.124.10','name':'system','port':6754,"
               "'url':'https://192.168.124.10:6754'}]");
    EXPECT_STR(node_value(m.w, "admin", "provisioner-webservers"),
               "[{'address':'192.168.124.10','port':8091,'url':'http://192.168.124.10:8091'}]");
    EXPECT_STR(world_staged(m.w, "dns-database@admin", "crowbar/dns/records"),
               "{'admin.example.com':{'address':'192.168.124.10','type':'A'}}");
    EXPECT_STR(entry(m.w, "dhcp", "admin"), "absent"); /* it joined and boots from its disk */
    EXPECT_STR(entry(m.w, "provisioner", "admin"), "absent");
    live_close(m.w);
}

TEST(a_server_without_an_address_fails_with_the_reason)
{
    struct machine m = {.w = live_open()};
    live_import(m.w, live_path(m.w, "barclamps"));
    create(m.w, "admin", true, "{}");
    commit_node(m.w, "admin");
    work(&m);
    IS(m.w, "ntp-server@admin", "error");
    HAS(str_z(&m.w->arena, read_noderole(m.w, "ntp-server@admin").runlog),
        "has no address in the admin network: set its attrib hint-admin-v4addr");
    live_hook_log(m.w);
    DONE(m.w, cmd_set(m.w, TABLE_NODE, the_node(m.w, "admin"), "hint-admin-v4addr", BUCKET_USER,
                      "'10.0.0.1/8'"));
    for (int i = 0; i < 6; i++) {
        static const char *const servers[] = {"ntp-server@admin", "dhcp-server@admin",
                                              "dns-server@admin", "dns-mgmt_server@admin",
                                              "provisioner-server@admin"};
        for (uint32_t k = 0; k < sizeof servers / sizeof *servers; k++)
            if (read_noderole(m.w, servers[k]).state == NODEROLE_ERROR)
                DONE(m.w, cmd_retry(m.w, servers[k]));
        work(&m);
    }
    IS(m.w, "crowbar-admin-node@admin", "active");
    EXPECT_STR(node_value(m.w, "admin", "ntp_servers"), "['10.0.0.1']");
    live_close(m.w);
}

TEST(a_changed_address_is_staged_for_all_clients)
{
    struct machine m = begin();
    DONE(m.w, cmd_set(m.w, TABLE_NODE, the_node(m.w, "admin"), "hint-admin-v4addr", BUCKET_USER,
                      "'10.0.0.1/8'"));
    work(&m);
    IS(m.w, "crowbar-admin-node@admin", "active");
    EXPECT_STR(node_value(m.w, "admin", "ntp_servers"), "['10.0.0.1']");
    EXPECT_STR(world_staged(m.w, "ntp-client@admin", "crowbar/ntp/servers"), "['10.0.0.1']");
    live_close(m.w);
}

/* ---- networks ---- */

/* 192.168.124.0/24, with admin nodes from .10, other machines from .81 and a router. */
static int64_t make_admin_network(struct world *w)
{
    return DONE(
        w, CMD(NETWORK_CREATE, network_create, .name = STR("admin"), .conduit = STR("1g1,1g0"),
               .use_team = true, .category = STR("admin"), .group = STR("internal"),
               .ranges = world_json(
                   w, "[{'name':'admin','first':'192.168.124.10/24','last':'192.168.124.11/24'},"
                      "{'name':'host','first':'192.168.124.81/24','last':'192.168.124.254/24',"
                      "'vlan':7,'use_vlan':true}]"),
               .router = world_json(w, "{'address':'192.168.124.1/24','pref':10}"),
               .given = GIVEN_NETWORK_CONDUIT | GIVEN_NETWORK_USE_TEAM | GIVEN_NETWORK_CATEGORY |
                        GIVEN_NETWORK_GROUP));
}

TEST(the_role_of_a_network_computes_what_its_script_configures)
{
    struct machine m = begin();
    make_admin_network(m.w);
    CHECK(str_eq(read_role(m.w, "network-admin").per_name, STR("network-{name}")));
    CHECK(read_role(m.w, "network-admin").flags == (ROLE_IMPLICIT | ROLE_MILESTONE));
    IS(m.w, "network-server@admin", "active");
    discover(&m, "n1", "{" MAC "}");
    discover(&m, "n2", "{}");
    world_bind(m.w, "network-admin@n1");
    world_bind(m.w, "network-admin@n2");
    world_commit(m.w, "network-admin@n1");
    work(&m);
    IS(m.w, "network-admin@n1", "active");
    EXPECT_STR(
        world_staged(m.w, "network-admin@n1", "crowbar/network/admin"),
        "{'addresses':['192.168.124.81/24'],'conduit':'1g0,1g1','config':{'192.168.124.81/24':"
        "{'category':'admin','conduit':'1g0,1g1','group':'internal','network':'admin','pbr':'',"
        "'range':'host','router':{'address':'192.168.124.1/24','pref':10},'team_mode':5,"
        "'use_bridge':false,'use_team':true,'use_vlan':true,'vlan':7}},'configure':true,"
        "'targets':['192.168.124.81'],'team_mode':5,'use_bridge':false,'use_team':true,"
        "'use_vlan':false,'vlan':0}");
    EXPECT_STR(world_staged(m.w, "network-admin@n1", "crowbar/network_name"), "'admin'");
    EXPECT_STR(world_staged(m.w, "network-admin@n1", "crowbar/interface_map"), "[]");
    /* The second machine pings the first one. */
    world_commit(m.w, "network-admin@n2");
    work(&m);
    EXPECT_STR(world_staged(m.w, "network-admin@n2", "crowbar/network/admin/targets"),
               "['192.168.124.81']");
    live_close(m.w);
}

TEST(a_machine_whose_addresses_change_is_configured_again)
{
    struct machine m = begin();
    const int64_t admin = make_admin_network(m.w);
    discover(&m, "n1", "{" MAC "}");
    world_bind(m.w, "network-admin@n1");
    world_commit(m.w, "network-admin@n1");
    work(&m);
    const uint32_t runs = (uint32_t)read_noderole(m.w, "network-admin@n1").run_count;
    DONE(m.w, CMD(NETWORK_RANGE_CREATE, network_range_create, .network_id = admin,
                  .name = STR("host-v6"), .first = STR("fd00::1/64"), .last = STR("fd00::9/64")));
    work(&m);
    CHECK(read_noderole(m.w, "network-admin@n1").run_count == runs);
    DONE(m.w, CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(m.w, "n1"),
                  .network_id = admin));
    work(&m);
    CHECK(read_noderole(m.w, "network-admin@n1").run_count == runs + 1);
    EXPECT_STR(world_staged(m.w, "network-admin@n1", "crowbar/network/admin/addresses"),
               "['192.168.124.81/24','fd00::1/64']");
    EXPECT_STR(world_staged(m.w, "network-admin@n1",
                            "crowbar/network/admin/config"), /* a router of the other family */
               "{'192.168.124.81/24':{'category':'admin','conduit':'1g0,1g1','group':'internal',"
               "'network':'admin','pbr':'','range':'host','router':{'address':'192.168.124.1/24',"
               "'pref':10},'team_mode':5,'use_bridge':false,'use_team':true,'use_vlan':true,"
               "'vlan':7},'fd00::1/64':{'category':'admin','conduit':'1g0,1g1',"
               "'group':'internal','network':'admin','pbr':'','range':'host-v6','team_mode':5,"
               "'use_bridge':false,'use_team':true,'use_vlan':false,'vlan':0}}");
    live_close(m.w);
}

TEST(servers_and_databases_use_the_allocated_address_first)
{
    struct machine m = begin();
    const int64_t admin = make_admin_network(m.w);
    EXPECT_STR(node_value(m.w, "admin", "ntp_servers"), "['192.168.124.10']");
    const uint32_t runs = (uint32_t)read_noderole(m.w, "dhcp-server@admin").run_count;
    work(&m);
    CHECK(read_noderole(m.w, "dhcp-server@admin").run_count == runs + 1); /* a new network */
    /* The hint was allocated with the network; another address replaces it. */
    DONE(m.w, CMD(NETWORK_DEALLOCATE, network_deallocate, .id = 1));
    DONE(m.w, CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(m.w, "admin"),
                  .network_id = admin, .address = STR("192.168.124.11")));
    work(&m);
    EXPECT_STR(node_value(m.w, "admin", "ntp_servers"), "['192.168.124.11']");
    EXPECT_STR(node_value(m.w, "admin", "provisioner-webservers"),
               "[{'address':'192.168.124.11','port':8091,'url':'http://192.168.124.11:8091'}]");
    EXPECT_STR(world_staged(m.w, "dns-database@admin", "crowbar/dns/records"),
               "{'admin.example.com':{'address':'192.168.124.11','type':'A'}}");
    discover(&m, "n1", "{" MAC "}");
    EXPECT_STR(entry(m.w, "dhcp", "n1"), "absent");
    DONE(m.w, CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(m.w, "n1"),
                  .network_id = admin));
    work(&m);
    HAS(entry(m.w, "dhcp", "n1"), "'v4addr':'192.168.124.81/24'");
    HAS(entry(m.w, "provisioner", "n1"), "'v4addr':'192.168.124.81/24'");
    EXPECT_STR(shown(m.w, read_role(m.w, "dns-mgmt_service").lists_services), "dns-mgmt_servers");
    live_close(m.w);
}

/* ---- discovery ---- */

TEST(a_discovered_machine_is_managed_and_has_entries_in_the_databases)
{
    struct machine m = begin();
    discover(&m, "n1", "{" ADDRESS "," MAC "}");
    IS(m.w, "crowbar-managed-node@n1", "active");
    IS(m.w, "crowbar-access@n1", "active");
    IS(m.w, "ntp-client@n1", "active");
    CHECK(!world_bound(m.w, "ntp-server@n1") && !world_bound(m.w, "crowbar-joined-node@n1"));
    EXPECT_STR(entry(m.w, "dhcp", "n1"),
               "{'bootenv':'sledgehammer','generation':0,'mac_addresses':['52:54:00:AB:CD:0F'],"
               "'node_id':3,'v4addr':'192.168.124.81/24'}");
    EXPECT_STR(
        entry(m.w, "provisioner", "n1"),
        "{'bootenv':'sledgehammer','generation':0,'node_id':3,'v4addr':'192.168.124.81/24'}");
    EXPECT_STR(node_value(m.w, "n1", "dhcp-active-bootstate"), "'sledgehammer'");
    EXPECT_STR(node_value(m.w, "n1", "provisioner-active-bootstate"), "'sledgehammer'");
    live_close(m.w);
}

TEST(a_machine_without_an_address_or_a_mac_has_no_entry)
{
    struct machine m = begin();
    discover(&m, "n1", "{" ADDRESS "}");
    discover(&m, "n2", "{" MAC "}");
    EXPECT_STR(entry(m.w, "dhcp", "n1"), "absent");
    EXPECT_STR(entry(m.w, "provisioner", "n2"), "absent");
    EXPECT_STR(node_value(m.w, "n1", "dhcp-active-bootstate"), "null");
    live_close(m.w);
}

/* ---- boot generations ---- */

/* Returns the boot generation of the node that the database has served; 0: none. */
static int64_t served(struct world *w, const char *node, const char *database)
{
    char key[32];
    struct json *tree;
    uint32_t offset;
    const char *what;
    int64_t value = 0;
    const struct str seen = read_node(w, node).boot_seen;
    if (!seen.len)
        return 0;
    CHECK(json_read(&w->arena, seen, &tree, &offset, &what) == OK);
    snprintf(key, sizeof key, "%lld", (long long)the_noderole(w, database));
    const struct json *generation = json_get(tree, str_from(key));
    return generation && json_as_i64(generation, &value) ? value : 0;
}

TEST(a_generation_is_served_when_it_is_published)
{
    static const char *const roles[] = {"dhcp-database", "provisioner-database"};
    static const char *const databases[] = {"dhcp-database@admin", "provisioner-database@admin"};
    for (uint32_t i = 0; i < 2; i++) {
        struct machine m = begin();
        discover(&m, "n1", "{" ADDRESS "," MAC "}");
        m.stale = roles[i];
        set_bootenv(m.w, "n1", "local");
        work(&m);
        set_bootenv(m.w, "n1", "sledgehammer");
        work(&m);
        CHECK(read_node(m.w, "n1").boot_generation == 2);
        CHECK(served(m.w, "n1", databases[1 - i]) == 2 && served(m.w, "n1", databases[i]) == 0);
        m.stale = NULL;
        DONE(m.w, cmd_enqueue(m.w, databases[i]));
        work(&m);
        CHECK(served(m.w, "n1", databases[0]) == 2 && served(m.w, "n1", databases[1]) == 2);
        live_close(m.w);
    }
}

TEST(a_machine_without_entries_is_served_at_once)
{
    struct machine m = begin();
    discover(&m, "n1", "{" ADDRESS "}"); /* its hardware address is not known */
    set_bootenv(m.w, "n1", "local");
    CHECK(served(m.w, "n1", "dhcp-database@admin") == 1);
    CHECK(served(m.w, "n1", "provisioner-database@admin") == 1);
    CHECK(world_runs(m.w, NULL) == 0);
    live_close(m.w);
}

/* A late result about a deleted node does not apply to a new node of the same name. */
TEST(entries_published_for_another_node_of_that_name_do_not_count)
{
    struct machine m = begin();
    discover(&m, "n1", "{" ADDRESS "," MAC "}");
    const long long old = the_node(m.w, "n1");
    DONE(m.w, CMD(NODE_DELETE, node_delete, .id = old));
    discover(&m, "n1", "{" ADDRESS "," MAC "}");
    m.stopped = "dhcp-database";
    set_bootenv(m.w, "n1", "debian-12-install");
    char wall[300];
    snprintf(wall, sizeof wall,
             "{'crowbar_wall':{'dhcp':{'clients':{'n1.example.com':{'bootenv':'debian-12-install',"
             "'generation':1,'node_id':%lld}}}}}",
             old);
    world_finish_with(
        m.w, "dhcp-database@admin",
        (struct run_done_command){.result = RESULT_OK, .has_wall = true, .wall = json(m.w, wall)});
    CHECK(served(m.w, "n1", "dhcp-database@admin") == 0);
    EXPECT_STR(node_value(m.w, "n1", "dhcp-active-bootstate"), "'sledgehammer'");
    EXPECT_STR(live_hook_log(m.w), "");
    live_close(m.w);
}

TEST(discovered_macs_count_and_drives_are_counted)
{
    struct machine m = begin();
    struct command command = cmd_node(m.w, "n1");
    command.node_create.deployment_id = SYSTEM;
    command.node_create.bootenv = STR("sledgehammer");
    command.node_create.hint = json(m.w, "{" ADDRESS ",'admin_macs':['52-54-00-AB-CD-0f','x']}");
    command.node_create.discovery = json(
        m.w, "{'ohai':{'block_device':{'sda':{},'sdab':{},'sr0':{},'sda1':{}},'network':"
             "{'interfaces':{'eth0':{'addresses':{'52:54:00:ab:cd:0f':{'family':'lladdr'},"
             "'00:00:00:00:00:01':{'family':'lladdr'},'10.0.0.1':{'family':'inet'}}},'lo':{}}}}}");
    DONE(m.w, command);
    commit_node(m.w, "n1");
    work(&m);
    EXPECT_STR(entry(m.w, "dhcp", "n1"),
               "{'bootenv':'sledgehammer','generation':0,'mac_addresses':['00:00:00:00:00:01',"
               "'52:54:00:AB:CD:0F'],'node_id':3,'v4addr':'192.168.124.81/24'}");
    EXPECT_STR(node_value(m.w, "n1", "number_of_drives"), "2");
    live_close(m.w);
}

TEST(a_deleted_machine_leaves_the_databases)
{
    struct machine m = begin();
    discover(&m, "n1", "{" ADDRESS "," MAC "}");
    discover(&m, "n2", "{'admin-v4addr':'192.168.124.82/24','admin_macs':['52:54:00:ab:cd:02']}");
    DONE(m.w, CMD(NODE_DELETE, node_delete, .id = the_node(m.w, "n1")));
    work(&m);
    EXPECT_STR(entry(m.w, "dhcp", "n1"), "absent");
    HAS(entry(m.w, "dhcp", "n2"), "192.168.124.82/24");
    EXPECT_STR(world_staged(m.w, "dhcp-database@admin", "crowbar_wall/dhcp/clients"),
               "{'n2.example.com':{'bootenv':'sledgehammer','generation':0,'node_id':4}}");
    HAS(world_staged(m.w, "dns-database@admin", "crowbar/dns/records"), "n2.example.com");
    CHECK(!strstr(world_staged(m.w, "dns-database@admin", "crowbar/dns/records"), "n1.example"));
    /* A new machine of the same name gets new entries. */
    discover(&m, "n1", "{" ADDRESS "," MAC "}");
    EXPECT_STR(node_value(m.w, "n1", "dhcp-active-bootstate"), "'sledgehammer'");
    live_close(m.w);
}

TEST(a_machine_that_was_deleted_meanwhile_is_omitted)
{
    static const char *const sections[] = {"dhcp", "provisioner"};
    for (int i = 0; i < 2; i++) {
        char noderole[100], wall[300];
        struct machine m = begin();
        discover(&m, "n1", "{" ADDRESS "," MAC "}");
        set_bootenv(m.w, "n1", "local");
        work(&m);
        snprintf(noderole, sizeof noderole, "%s-database@admin", sections[i]);
        snprintf(wall, sizeof wall,
                 "{'crowbar_wall':{'%s':{'clients':{'ghost.example.com':{'bootenv':'local'},"
                 "'n1.example.com':{'bootenv':'sledgehammer'}}}}}",
                 sections[i]);
        DONE(m.w, cmd_enqueue(m.w, noderole));
        world_finish_with(m.w, noderole,
                          (struct run_done_command){
                              .result = RESULT_OK, .has_wall = true, .wall = json(m.w, wall)});
        IS(m.w, noderole, "active");
        EXPECT_STR(live_hook_log(m.w), "");
        snprintf(wall, sizeof wall, "%s-active-bootstate", sections[i]);
        EXPECT_STR(node_value(m.w, "n1", wall), "'sledgehammer'");
        live_close(m.w);
    }
}

TEST(notes_of_entries_that_are_no_longer_published_are_deleted)
{
    struct machine m = begin();
    discover(&m, "n1", "{" ADDRESS "," MAC "}");
    HAS(shown(m.w, read_noderole(m.w, "dhcp-database@admin").notes), "n1.example.com");
    DONE(m.w, cmd_set(m.w, TABLE_NODE, the_node(m.w, "n1"), "hint-admin-macs", BUCKET_USER, "[]"));
    work(&m);
    EXPECT_STR(entry(m.w, "dhcp", "n1"), "absent");
    EXPECT_STR(entry(m.w, "provisioner", "n1"), "absent");
    CHECK(!strstr(shown(m.w, read_noderole(m.w, "dhcp-database@admin").notes), "n1"));
    CHECK(!strstr(shown(m.w, read_noderole(m.w, "provisioner-database@admin").notes), "n1"));
    live_close(m.w);
}

TEST(a_change_of_one_machine_does_not_change_the_others)
{
    struct machine m = begin();
    m.stopped = "dhcp-database";
    discover(&m, "n1", "{" ADDRESS "," MAC "}");
    discover(&m, "n2", "{'admin-v4addr':'192.168.124.82/24','admin_macs':['52:54:00:ab:cd:02']}");
    struct record run;
    CHECK(core_record(m.w->core, TABLE_RUN, world_run(m.w, "dhcp-database@admin", RUN_RUNNING),
                      &run));
    CHECK(run.run.queue == QUEUE_HIGH);
    set_bootenv(m.w, "n1", "local");
    set_bootenv(m.w, "n2", "debian-12-install");
    m.stopped = NULL;
    work(&m);
    HAS(entry(m.w, "dhcp", "n1"), "'bootenv':'local'");
    HAS(entry(m.w, "dhcp", "n2"), "'bootenv':'debian-12-install'");
    EXPECT_STR(node_value(m.w, "n1", "dhcp-active-bootstate"), "'local'");
    EXPECT_STR(node_value(m.w, "n2", "dhcp-active-bootstate"), "'debian-12-install'");
    live_close(m.w);
}

/* ---- operating systems, large installations, test roles ---- */

TEST(the_first_available_operating_system_becomes_the_target)
{
    struct machine m = begin();
    DONE(m.w, cmd_enqueue(m.w, "provisioner-base-images@admin"));
    world_finish_with(m.w, "provisioner-base-images@admin",
                      (struct run_done_command){
                          .result = RESULT_OK,
                          .has_wall = true,
                          .wall = json(m.w, "{'crowbar_wall':{'provisioner':"
                                            "{'available_oses':['debian-14','debian-13']}}}"),
                      });
    work(&m);
    EXPECT_STR(shown(m.w, read_role(m.w, "provisioner-os-install").template),
               "{'provisioner':{'target_os':'debian-13'}}");
    EXPECT_STR(world_staged(m.w, "provisioner-base-images@admin", "provisioner/images"),
               "{'debian-12':['debian-12/install/linux','debian-12/install/initrd.gz']}");
    live_close(m.w);
}

TEST(more_machines_than_one_hook_call_may_change_are_changed_by_several)
{
    struct machine m = begin();
    struct buf wall = buf_in(&m.w->arena);
    enum { MACHINES = 310 };
    buf_put_z(&wall, "{'crowbar_wall':{'dhcp':{'clients':{");
    for (int i = 0; i < MACHINES; i++) {
        char name[20], text[100];
        snprintf(name, sizeof name, "m%03d", i);
        create(m.w, name, false, "{}");
        snprintf(text, sizeof text, "%s'%s.example.com':{'bootenv':'sledgehammer'}", i ? "," : "",
                 name);
        buf_put_z(&wall, text);
    }
    buf_put_z(&wall, "}}}}");
    const struct run_done_command done = {
        .result = RESULT_OK,
        .has_wall = true,
        .wall = json(m.w, str_z(&m.w->arena, buf_str(&wall))),
    };
    DONE(m.w, cmd_enqueue(m.w, "dhcp-database@admin"));
    world_finish_with(m.w, "dhcp-database@admin", done);
    EXPECT_STR(node_value(m.w, "m299", "dhcp-active-bootstate"), "'sledgehammer'");
    EXPECT_STR(node_value(m.w, "m300", "dhcp-active-bootstate"), "null");
    world_finish_with(m.w, "dhcp-database@admin", done);
    EXPECT_STR(node_value(m.w, "m309", "dhcp-active-bootstate"), "'sledgehammer'");
    CHECK(!world_run(m.w, "dhcp-database@admin", RUN_RUNNING));
    live_close(m.w);
}

/* Every node waits for the database to serve its installer, and the database fails: the reason is
 * set on all nodes. */
static void check_database_failure(const char *section)
{
    enum { MACHINES = 1900 };
    char text[200], noderole[100], clients[100], state[100];
    struct machine m = begin();
    struct buf value = buf_in(&m.w->arena);
    snprintf(noderole, sizeof noderole, "%s-database@admin", section);
    snprintf(clients, sizeof clients, "%s-clients", section);
    snprintf(state, sizeof state, "%s-active-bootstate", section);
    for (int i = 0; i < MACHINES; i++) {
        snprintf(text, sizeof text, "m%04d", i);
        create(m.w, text, false, "{}");
        snprintf(text, sizeof text, "%s'm%04d.example.com':{'bootenv':'debian-12-install'}",
                 i ? "," : "{", i);
        buf_put_z(&value, text);
    }
    buf_put_z(&value, "}");
    work(&m);
    struct command set = cmd_set(m.w, TABLE_NODEROLE, the_noderole(m.w, noderole), clients,
                                 BUCKET_SYSTEM, str_z(&m.w->arena, buf_str(&value)));
    set.depth = 1; /* as a hook command */
    DONE(m.w, set);
    DONE(m.w, cmd_enqueue(m.w, noderole));
    world_finish_with(m.w, noderole, (struct run_done_command){.result = RESULT_FAILED});
    IS(m.w, noderole, "error");
    EXPECT_STR(live_hook_log(m.w), "");
    snprintf(text, sizeof text, "'failed: %s-database is in error on admin.example.com'", section);
    for (int i = 0; i < MACHINES; i += 1 + i % 7) {
        char name[20];
        snprintf(name, sizeof name, "m%04d", i);
        EXPECT_STR(node_value(m.w, name, state), text);
    }
    EXPECT_STR(node_value(m.w, "m1899", state), text);
    live_close(m.w);
}

TEST(an_error_of_the_dhcp_database_is_set_on_all_waiting_nodes)
{
    check_database_failure("dhcp");
}

TEST(an_error_of_the_provisioner_database_is_set_on_all_waiting_nodes)
{
    check_database_failure("provisioner");
}

TEST(test_async_needs_a_second_run)
{
    struct machine m = begin();
    discover(&m, "n1", "{}");
    world_bind(m.w, "test-async@n1");
    world_commit(m.w, "test-async@n1");
    IS(m.w, "test-async@n1", "transition");
    DONE(m.w, cmd_retry(m.w, "test-async@n1"));
    IS(m.w, "test-async@n1", "active");
    EXPECT_STR(shown(m.w, read_noderole(m.w, "test-async@n1").wall), "{}");
    DONE(m.w, cmd_retry(m.w, "test-async@n1"));
    IS(m.w, "test-async@n1", "transition");
    live_close(m.w);
}

TEST(the_test_roles_bind_as_the_cases_say)
{
    struct machine m = begin();
    DONE(m.w,
         CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_TEST_JIG, .test_jig = true));
    discover(&m, "n1", "{}");
    world_bind(m.w, "test-client@n1");
    CHECK(world_bound(m.w, "test-library@n1") && world_bound(m.w, "test-server@n1"));
    CHECK(world_bound(m.w, "test-admin@n1"));
    world_bind(m.w, "test-event@n1");
    world_bind(m.w, "test-fails@n1");
    EXPECT_STR(world_staged(m.w, "test-fails@n1", "fail"), "true");
    EXPECT_STR(world_staged(m.w, "test-client@n1", "delay"), "0");
    live_close(m.w);
}

TEST(the_test_jig_brings_its_roles_to_the_first_admin_node_and_to_what_is_discovered)
{
    struct machine m = {.w = live_open()};
    live_import(m.w, live_path(m.w, "barclamps"));
    DONE(m.w,
         CMD(SETTINGS_UPDATE, settings_update, .given = GIVEN_SETTINGS_TEST_JIG, .test_jig = true));
    create(m.w, "admin", true, "{" ADDRESS "}");
    CHECK(world_bound(m.w, "test-admin@admin") && world_bound(m.w, "test-discovery@admin"));
    CHECK(world_bound(m.w, "crowbar-admin-node@admin"));
    commit_node(m.w, "admin");
    work(&m);
    IS(m.w, "test-discovery@admin", "active");
    create(m.w, "n1", false, "{}");
    commit_node(m.w, "n1");
    work(&m);
    IS(m.w, "test-discovery@n1", "active");
    CHECK(!world_bound(m.w, "test-admin@n1"));
    live_close(m.w);
}

TEST(without_the_test_jig_its_roles_are_not_bound)
{
    struct machine m = begin();
    discover(&m, "n1", "{" ADDRESS "," MAC "}");
    static const char *const roles[] = {"test-admin@admin", "test-discovery@admin",
                                        "test-discovery@n1"};
    for (uint32_t i = 0; i < sizeof roles / sizeof *roles; i++)
        CHECK(!world_bound(m.w, roles[i]));
    live_close(m.w);
}
