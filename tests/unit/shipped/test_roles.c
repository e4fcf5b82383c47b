/* Goal: the shipped roles do together what barclamps/README.md documents: the admin node gets all
 * its services, and discovered machines have entries in the boot databases ("Installation races" in
 * docs/spec/hooks.md: concurrent node changes, node deleted meanwhile, joined machines).
 * Method: the engine with real hooks; only the runs of scripts are simulated (machine.h). */
#include "tests/unit/shipped/machine.h"

#include "boot/view/boot_settings.h"
#include "sys/files.h"

#include <stdlib.h>

#define ENTRY(addresses, bootenv, generation, macs, name)                                          \
    "{'addresses':[" addresses "],'bootenv':'" bootenv "','generation':" generation                \
    ",'macs':[" macs "],'name':'" name ".example.com'}"

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
    EXPECT_STR(entry(&m, "admin"), "absent"); /* it joined and boots from its disk */
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
    const uint32_t runs = (uint32_t)read_noderole(m.w, "dhcp-server@admin").run_count;
    const int64_t admin = make_admin_network(m.w);
    EXPECT_STR(node_value(m.w, "admin", "ntp_servers"), "['192.168.124.10']");
    work(&m);
    CHECK(read_noderole(m.w, "dhcp-server@admin").run_count > runs); /* an address of its node */
    /* The hint was allocated with the network; another address replaces it. */
    DONE(m.w, CMD(NETWORK_DEALLOCATE, network_deallocate, .id = 1));
    DONE(m.w, CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(m.w, "admin"),
                  .network_id = admin, .address = STR("192.168.124.11")));
    work(&m);
    EXPECT_STR(node_value(m.w, "admin", "ntp_servers"), "['192.168.124.11']");
    EXPECT_STR(world_staged(m.w, "dhcp-server@admin", "dhcp/service_address"), "'192.168.124.11'");
    EXPECT_STR(node_value(m.w, "admin", "provisioner-webservers"),
               "[{'address':'192.168.124.11','port':8091,'url':'http://192.168.124.11:8091'}]");
    EXPECT_STR(world_staged(m.w, "dns-database@admin", "crowbar/dns/records"),
               "{'admin.example.com':{'address':'192.168.124.11','type':'A'}}");
    discover(&m, "n1", "{" MAC "}");
    HAS(entry(&m, "n1"), "'addresses':[],");
    DONE(m.w, CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(m.w, "n1"),
                  .network_id = admin));
    work(&m);
    HAS(entry(&m, "n1"), "'addresses':['192.168.124.81/24']");
    EXPECT_STR(shown(m.w, read_role(m.w, "dns-mgmt_service").lists_services), "dns-mgmt_servers");
    live_close(m.w);
}

/* ---- the settings of the boot server ---- */

/* What the daemon sends to the boot server of the admin node, read as the boot server does. */
static struct boot_settings settings_of(struct machine *m)
{
    struct str documents[16];
    uint32_t count = 0;
    struct boot_settings out;
    int64_t stamp;
    const int64_t node_id = the_node(m->w, "admin");
    for (int64_t id = 0; (id = core_next_native(m->w->core, node_id, id, &stamp)) != 0;) {
        CHECK(count < sizeof documents / sizeof *documents);
        documents[count++] = core_staged(m->w->core, id, &m->w->arena);
    }
    CHECK(count == 4); /* two servers, two databases */
    boot_settings_read(&m->w->arena, documents, count, &out);
    return out;
}

static void set_on(struct machine *m, const char *noderole, const char *attrib, const char *value)
{
    DONE(m->w, cmd_propose(m->w, noderole));
    DONE(m->w,
         cmd_set(m->w, TABLE_NODEROLE, the_noderole(m->w, noderole), attrib, BUCKET_USER, value));
    world_commit(m->w, noderole);
    work(m);
}

TEST(the_boot_server_is_sent_the_settings_of_the_shipped_roles)
{
    struct machine m = begin();
    const struct boot_settings preset = settings_of(&m);
    EXPECT_STR(str_z(&m.w->arena, preset.problem), "");
    CHECK(preset.has_dhcp && preset.has_provisioner && preset.local_boot == LOCAL_BOOT_AUTO);
    CHECK(preset.lease_s == 3600 && preset.pool_lease_s == 600 && preset.unknown_max == 1000);
    CHECK(preset.all.dhcp_unknown == DHCP_UNKNOWN_PXE && preset.all.mtu == 0);
    CHECK(preset.all.boot_unknown == BOOT_UNKNOWN_DISCOVER && !preset.network_count);
    CHECK(!preset.all.domain.len && !preset.all.nameserver_count && !preset.all.timeserver_count);
    CHECK(!preset.console.len && !preset.foreign_count && !preset.args_count);

    static const char *const dhcp[][2] = {
        {"dhcp-unknown", "'all'"},
        {"dhcp-local_boot", "'chain'"},
        {"dhcp-lease_s", "7200"},
        {"dhcp-pool_lease_s", "300"},
        {"dhcp-domain", "'x.example.com'"},
        {"dhcp-nameservers", "['192.0.2.1','192.0.2.2']"},
        {"dhcp-timeservers", "['192.0.2.3']"},
        {"dhcp-mtu", "9000"},
        {"dhcp-foreign", "['eth1']"},
        {"dhcp-networks", "{'admin':{'unknown':'none','mtu':1400,'nameservers':[]}}"},
    };
    static const char *const provisioner[][2] = {
        {"provisioner-unknown", "'hold'"},
        {"provisioner-unknown_max", "7"},
        {"provisioner-console", "'ttyS0,115200'"},
        {"provisioner-kernel_args", "{'*':'panic=10','sledgehammer':'quiet'}"},
        {"provisioner-networks", "{'admin':{'unknown':'local'}}"},
    };
    for (uint32_t i = 0; i < sizeof dhcp / sizeof *dhcp; i++)
        set_on(&m, "dhcp-server@admin", dhcp[i][0], dhcp[i][1]);
    for (uint32_t i = 0; i < sizeof provisioner / sizeof *provisioner; i++)
        set_on(&m, "provisioner-server@admin", provisioner[i][0], provisioner[i][1]);
    const struct boot_settings set = settings_of(&m);
    const struct boot_network_settings *admin = boot_settings_of(&set, STR("admin"));
    EXPECT_STR(str_z(&m.w->arena, set.problem), "");
    CHECK(set.local_boot == LOCAL_BOOT_CHAIN && set.lease_s == 7200 && set.pool_lease_s == 300);
    CHECK(set.all.dhcp_unknown == DHCP_UNKNOWN_ALL && set.all.mtu == 9000);
    CHECK(str_eq(set.all.domain, STR("x.example.com")) && set.all.nameserver_count == 2);
    CHECK(set.all.timeserver_count == 1 && set.all.timeservers[0] == 0xc0000203);
    CHECK(boot_settings_accept_foreign(&set, STR("eth1")) && set.unknown_max == 7);
    CHECK(set.all.boot_unknown == BOOT_UNKNOWN_HOLD && str_eq(set.console, STR("ttyS0,115200")));
    EXPECT_STR(str_z(&m.w->arena, boot_settings_args(&set, STR("sledgehammer"), &m.w->arena)),
               "panic=10 quiet");
    CHECK(admin->dhcp_unknown == DHCP_UNKNOWN_NONE && admin->mtu == 1400);
    CHECK(admin->nameserver_count == 0 && admin->boot_unknown == BOOT_UNKNOWN_LOCAL);
    CHECK(admin->timeserver_count == 1);
    live_close(m.w);
}

TEST(values_that_no_boot_server_accepts_are_refused)
{
    struct machine m = begin();
    static const char *const wrong[][3] = {
        {"dhcp-server@admin", "dhcp-unknown", "'some'"},
        {"dhcp-server@admin", "dhcp-local_boot", "'disk'"},
        {"dhcp-server@admin", "dhcp-lease_s", "'an hour'"},
        {"dhcp-server@admin", "dhcp-domain", "'a b'"},
        {"dhcp-server@admin", "dhcp-nameservers", "['ns.example.com']"},
        {"dhcp-server@admin", "dhcp-foreign", "['a/b']"},
        {"dhcp-server@admin", "dhcp-networks", "{'admin':{'unknown':'some'}}"},
        {"dhcp-server@admin", "dhcp-networks", "{'admin':{'colour':'red'}}"},
        {"provisioner-server@admin", "provisioner-unknown", "'pxe'"},
        {"provisioner-server@admin", "provisioner-console", "'ttyS0 quiet'"},
        {"provisioner-server@admin", "provisioner-kernel_args", "{'*':'a\\nb'}"},
        {"provisioner-server@admin", "provisioner-networks", "{'admin':{'unknown':1}}"},
    };
    for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        REFUSED(m.w,
                cmd_set(m.w, TABLE_NODEROLE, the_noderole(m.w, wrong[i][0]), wrong[i][1],
                        BUCKET_USER, wrong[i][2]),
                SCHEMA_VIOLATED, NULL);
    live_close(m.w);
}

/* ---- discovery ---- */

TEST(a_discovered_machine_is_managed_and_has_an_entry)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct machine m = i ? begin_site() : begin();
        discover(&m, "n1", "{" ADDRESS "," MAC "}");
        IS(m.w, "crowbar-managed-node@n1", "active");
        IS(m.w, "crowbar-access@n1", "active");
        IS(m.w, "ntp-client@n1", "active");
        CHECK(!world_bound(m.w, "ntp-server@n1") && !world_bound(m.w, "crowbar-joined-node@n1"));
        EXPECT_STR(entry(&m, "n1"),
                   ENTRY("'192.168.124.81/24'", "sledgehammer", "0", "'52:54:00:ab:cd:0f'", "n1"));
        live_close(m.w);
    }
}

/* ---- boot generations ---- */

/* True if the noderole has served what the node boots. */
static bool served(struct world *w, const char *node, const char *noderole)
{
    struct boot_serving *all;
    const uint32_t count = core_boot_servings(w->core, the_node(w, node), &w->arena, &all);
    for (uint32_t i = 0; i < count; i++)
        if (all[i].noderole_id == the_noderole(w, noderole))
            return all[i].is_served;
    CHECK(false);
    return false;
}

static const char *const native[] = {"dhcp-database@admin", "provisioner-database@admin"};
static const char *const site[] = {"site-dhcp@boots", "site-provisioner@boots"};
static const char *const site_roles[] = {"site-dhcp", "site-provisioner"};

static bool served_by(struct world *w, const char *const *noderoles)
{
    return served(w, "n1", noderoles[0]) && served(w, "n1", noderoles[1]);
}

TEST(a_generation_is_served_when_the_boot_server_has_it)
{
    struct machine m = begin();
    discover(&m, "n1", "{" ADDRESS "," MAC "}");
    CHECK(served_by(m.w, native));
    m.stopped = BOOT_SERVER;
    set_bootenv(m.w, "n1", "local");
    set_bootenv(m.w, "n1", "sledgehammer");
    work(&m);
    CHECK(read_node(m.w, "n1").boot_generation == 2);
    CHECK(!served(m.w, "n1", native[0]) && !served(m.w, "n1", native[1]));
    report_server(&m, BOOT_EVENT_FAILED, 0);
    work(&m);
    for (uint32_t i = 0; i < 2; i++) {
        IS(m.w, native[i], "error");
        CHECK(!served(m.w, "n1", native[i]) && !world_runs(m.w, native[i]));
        DONE(m.w, cmd_retry(m.w, native[i]));
    }
    m.stopped = NULL;
    work(&m);
    CHECK(served_by(m.w, native));
    live_close(m.w);
}

TEST(a_generation_is_served_when_it_is_published)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct machine m = begin_site();
        discover(&m, "n1", "{" ADDRESS "," MAC "}");
        m.stopped = site_roles[i];
        set_bootenv(m.w, "n1", "local");
        work(&m);
        set_bootenv(m.w, "n1", "sledgehammer");
        work(&m);
        CHECK(read_node(m.w, "n1").boot_generation == 2 && !served(m.w, "n1", site[i]));
        world_finish(m.w, site[i], RESULT_FAILED);
        work(&m);
        CHECK(served(m.w, "n1", site[1 - i]) && !served(m.w, "n1", site[i]));
        m.stopped = NULL;
        DONE(m.w, cmd_retry(m.w, site[i]));
        work(&m);
        CHECK(served_by(m.w, site) && served_by(m.w, native));
        live_close(m.w);
    }
}

/* Case 172: a change gives both databases new data and a run with priority; no change, no run. */
TEST(only_a_change_of_what_a_machine_boots_runs_the_databases_of_a_site)
{
    struct machine m = begin_site();
    discover(&m, "n1", "{" ADDRESS "," MAC "}");
    discover(&m, "n2", "{'admin-v4addr':'192.168.124.82/24','admin_macs':['52:54:00:ab:cd:02']}");
    set_bootenv(m.w, "n1", "sledgehammer");
    DONE(m.w, cmd_set(m.w, TABLE_NODE, the_node(m.w, "n1"), "operating-system-disk", BUCKET_USER,
                      "'disk/by-id/a'"));
    CHECK(world_runs(m.w, site[0]) == 0 && world_runs(m.w, site[1]) == 0);
    set_bootenv(m.w, "n1", "local");
    /* One after the other, since both are on one node. */
    for (uint32_t done = 0; done < 2; done++) {
        const uint32_t i = world_run(m.w, site[0], RUN_RUNNING) ? 0 : 1;
        const int64_t id = world_run(m.w, site[i], RUN_RUNNING);
        struct record run;
        CHECK(core_record(m.w->core, TABLE_RUN, id, &run) && run.run.queue == QUEUE_HIGH);
        const struct json *boot = json_at(read_tree(m.w, run.run.data), STR("boot"));
        const struct json *due = json_get(boot, STR("due"));
        CHECK(due->count == 1 && !json_get(boot, STR("part")));
        CHECK(str_eq(due->first->key, str_from_i64(&m.w->arena, the_node(m.w, "n1"))));
        EXPECT_STR(shown(m.w, json_write(&m.w->arena, json_get(due->first, STR("attribs")))),
                   i ? "{'operating-system-disk':'disk/by-id/a'}" : "{}");
        CHECK(end_run(&m, id));
    }
    work(&m);
    HAS(entry(&m, "n1"), "'bootenv':'local','generation':1");
    HAS(entry(&m, "n2"), "'bootenv':'sledgehammer','generation':0");
    CHECK(world_runs(m.w, NULL) == 0);
    live_close(m.w);
}

/* Case 172, served by the boot server: an acknowledged change is a run of the history. */
TEST(only_a_change_of_what_a_machine_boots_is_acknowledged)
{
    struct machine m = begin();
    discover(&m, "n1", "{" ADDRESS "," MAC "}");
    m.w->now_ms += 2000;
    DONE(m.w, CMD(TICK, tick, .unused = 0));
    const uint32_t before[] = {read_noderole(m.w, native[0]).attempt,
                               read_noderole(m.w, native[1]).attempt};
    set_bootenv(m.w, "n1", "sledgehammer");
    CHECK(!acknowledge(&m));
    set_bootenv(m.w, "n1", "local");
    CHECK(!served(m.w, "n1", native[0]) && !served(m.w, "n1", native[1]));
    CHECK(acknowledge(&m) && !acknowledge(&m) && served_by(m.w, native));
    for (uint32_t i = 0; i < 2; i++) {
        CHECK(read_noderole(m.w, native[i]).attempt == before[i] + 1);
        CHECK(world_runs(m.w, native[i]) == 0);
    }
    live_close(m.w);
}

TEST(a_machine_without_entries_is_served_at_once)
{
    struct machine m = begin_site();
    create(m.w, "n1", false, "{" ADDRESS "," MAC "}"); /* not committed */
    set_bootenv(m.w, "n1", "local");
    CHECK(served_by(m.w, native) && served_by(m.w, site));
    CHECK(world_runs(m.w, site[0]) == 0 && world_runs(m.w, site[1]) == 0);
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
    EXPECT_STR(entry(&m, "n1"), ENTRY("'192.168.124.81/24'", "sledgehammer", "0",
                                      "'00:00:00:00:00:01','52:54:00:ab:cd:0f'", "n1"));
    EXPECT_STR(node_value(m.w, "n1", "number_of_drives"), "2");
    live_close(m.w);
}

TEST(a_deleted_machine_leaves_the_databases)
{
    struct machine m = begin_site();
    discover(&m, "n1", "{" ADDRESS "," MAC "}");
    discover(&m, "n2", "{'admin-v4addr':'192.168.124.82/24','admin_macs':['52:54:00:ab:cd:02']}");
    const int64_t gone = the_node(m.w, "n1");
    DONE(m.w, CMD(NODE_DELETE, node_delete, .id = gone));
    work(&m);
    EXPECT_STR(entry_of(&m, gone), "absent");
    HAS(entry(&m, "n2"), "192.168.124.82/24");
    HAS(world_staged(m.w, "dns-database@admin", "crowbar/dns/records"), "n2.example.com");
    CHECK(!strstr(world_staged(m.w, "dns-database@admin", "crowbar/dns/records"), "n1.example"));
    /* A new machine of the same name gets new entries. */
    discover(&m, "n1", "{" ADDRESS "," MAC "}");
    HAS(entry(&m, "n1"), "192.168.124.81/24");
    live_close(m.w);
}

/* Committed again, a database is given all machines, and removes what it has of others. */
TEST(a_database_that_is_committed_again_gets_all_machines)
{
    struct machine m = begin_site();
    discover(&m, "n1", "{" ADDRESS "," MAC "}");
    discover(&m, "n2", "{'admin-v4addr':'192.168.124.82/24','admin_macs':['52:54:00:ab:cd:02']}");
    for (uint32_t i = 0; i < 2; i++) {
        const int64_t gone = the_node(m.w, "n1");
        DONE(m.w, cmd_propose(m.w, site[i]));
        DONE(m.w, CMD(NODE_DELETE, node_delete, .id = gone));
        work(&m);
        CHECK(json_get(m.published[i], str_from_i64(&m.w->arena, gone)));
        world_commit(m.w, site[i]);
        work(&m);
        EXPECT_STR(published_of(&m, i, gone), "absent");
        HAS(entry(&m, "n2"), "192.168.124.82/24");
        discover(&m, "n1", "{" ADDRESS "," MAC "}");
    }
    live_close(m.w);
}

/* ---- upgrades ---- */

/* Writes a copy of a barclamp document as an earlier version had it: the database is a script. */
static void write_old_document(struct world *w, const char *dir, const char *barclamp)
{
    char path[400], attribs[2000], nodes[500];
    struct str now;
    snprintf(path, sizeof path, "%s/%s/%s.yml", dir, barclamp, barclamp);
    CHECK(file_read(&w->arena, path, 1u << 20, &now) == OK);
    const char *text = str_z(&w->arena, now);
    const char *role = strstr(text, "    jig: native\n    flags: [serves-boot]\n");
    const char *removed = strstr(text, "\n# Of versions that kept the entries");
    CHECK(role && removed && strstr(removed, "removed-attribs:"));
    snprintf(attribs, sizeof attribs,
             "    jig: script\n    flags: [serves-boot]\n    attribs:\n"
             "      - {name: %s-clients, map: crowbar/%s/clients}\n"
             "      - {name: %s-published, map: crowbar_wall/%s/clients}\n"
             "      - {name: %s-acknowledged, map: acknowledged}\n",
             barclamp, barclamp, barclamp, barclamp, barclamp);
    snprintf(nodes, sizeof nodes,
             "%s  - {name: %s-active-bootstate, map: %s-active-bootstate}\n"
             "  - {name: %s-told, map: %s-told}\n",
             strstr(text, "\nattribs:\n") ? "" : "attribs:\n", barclamp, barclamp, barclamp,
             barclamp);
    /* The list of attribs of nodes is before the list of removed ones, if there is one. */
    const char *rest = strstr(removed + 1, "\n\n");
    FILE *file = fopen(path, "w");
    CHECK(file);
    const char *after = strstr(role, "[serves-boot]\n") + 14;
    fprintf(file, "%.*s%s%.*s\n%s%s", (int)(role - text), text, attribs, (int)(removed - after),
            after, nodes, rest ? rest : "\n");
    CHECK(fclose(file) == 0);
    snprintf(path, sizeof path,
             "mkdir -p %s/%s/scripts/%s-database && echo : > "
             "%s/%s/scripts/%s-database/10-publish.sh",
             dir, barclamp, barclamp, dir, barclamp, barclamp);
    CHECK(system(path) == 0);
}

/* The stored values of attribs that are gone do not disturb, and are gone after the import. */
TEST(an_upgrade_removes_the_documents_of_the_databases)
{
    struct machine m = {.w = live_open()};
    char dir[] = "/dev/shm/halligan-shipped-XXXXXX", command[300];
    CHECK(mkdtemp(dir));
    snprintf(command, sizeof command, "cp -r '%s/.' %s", live_path(m.w, "barclamps"), dir);
    CHECK(system(command) == 0);
    write_old_document(m.w, dir, "dhcp");
    write_old_document(m.w, dir, "provisioner");
    live_import(m.w, dir);
    create(m.w, "admin", true, "{'admin-v4addr':'192.168.124.10/24'}");
    commit_node(m.w, "admin");
    work(&m);
    discover(&m, "n1", "{" ADDRESS "," MAC "}");
    static const char *const sections[] = {"dhcp", "provisioner"};
    for (uint32_t i = 0; i < 2; i++) {
        char name[60];
        static const char *const ends[] = {"clients", "acknowledged", "active-bootstate", "told"};
        static const uint32_t buckets[] = {BUCKET_SYSTEM, BUCKET_NOTE, BUCKET_HINT, BUCKET_HINT};
        for (uint32_t k = 0; k < 4; k++) {
            snprintf(name, sizeof name, "%s-%s", sections[i], ends[k]);
            struct command set =
                cmd_set(m.w, k < 2 ? TABLE_NODEROLE : TABLE_NODE,
                        k < 2 ? the_noderole(m.w, native[i]) : the_node(m.w, "n1"), name,
                        buckets[k], k < 2 ? "{'n1.example.com':'x'}" : "'x'");
            set.depth = 1; /* as a hook command */
            DONE(m.w, set);
        }
        snprintf(name, sizeof name, "{'crowbar_wall':{'%s':{'clients':{}}}}", sections[i]);
        world_finish_with(m.w, native[i],
                          (struct run_done_command){
                              .result = RESULT_OK, .has_wall = true, .wall = json(m.w, name)});
        work(&m);
        HAS(shown(m.w, read_noderole(m.w, native[i]).sysdata), "n1.example.com");
    }
    live_import(m.w, live_path(m.w, "barclamps"));
    work(&m);
    EXPECT_STR(live_hook_log(m.w), "");
    for (uint32_t i = 0; i < 2; i++) {
        const struct noderole_record nr = read_noderole(m.w, native[i]);
        CHECK(!strstr(shown(m.w, nr.sysdata), "clients") && !strstr(shown(m.w, nr.notes), "n1"));
        CHECK(!strstr(shown(m.w, nr.wall), "clients"));
        IS(m.w, native[i], "active");
        CHECK(!world_runs(m.w, native[i]) && served(m.w, "n1", native[i]));
    }
    EXPECT_STR(shown(m.w, read_node(m.w, "n1").hint),
               "{'admin-v4addr':'192.168.124.81/24','admin_macs':['52:54:00:ab:cd:0f']}");
    static const char *const gone[] = {"dhcp-clients", "dhcp-told", "provisioner-active-bootstate"};
    for (uint32_t i = 0; i < 3; i++)
        CHECK(!core_find(m.w->core, TABLE_ATTRIB, str_from(gone[i])));
    connect_server(&m);
    set_bootenv(m.w, "n1", "local");
    CHECK(!served(m.w, "n1", native[0]) && !served(m.w, "n1", native[1]));
    work(&m);
    CHECK(served_by(m.w, native));
    live_close(m.w);
    snprintf(command, sizeof command, "rm -r %s", dir);
    CHECK(system(command) == 0);
}

/* ---- operating systems, test roles ---- */

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
