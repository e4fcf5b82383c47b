/* Goal: nic rows follow the hint and the discovery of their node and nothing else, a MAC belongs to
 * one node, and a node that is created with `ip` and `mac` gets both or is refused. Method:
 * commands through the core, with reloads that compare digests (world.h); rows are altered for what
 * the check must detect. */
#include "core/network/network_private.h"
#include "tests/world/world.h"

#include <stdio.h>
#include <string.h>

static const char mac_a[] = "52:54:00:00:00:0a", mac_b[] = "52:54:00:00:00:0b";

static struct world *open_with_attribs(void)
{
    struct world *w = world_open();
    world_node_attrib(w, "hint-admin-macs", "'map':'admin_macs','writable':true");
    world_node_attrib(w, "interfaces", "'map':'ohai/network/interfaces','writable':true");
    world_node_attrib(w, "hint-admin-v4addr", "'map':'admin-v4addr','writable':true");
    return w;
}

static struct command cmd_create(struct world *w, const char *name, const char *hint)
{
    return CMD(NODE_CREATE, node_create, .name = str_from(name), .hint = world_json(w, hint));
}

static struct command cmd_register(const char *name, const char *ip, const char *mac)
{
    return CMD(NODE_CREATE, node_create, .name = str_from(name), .ip = str_from(ip),
               .mac = str_from(mac));
}

static struct command cmd_move(struct world *w, const char *node, const char *mac)
{
    return CMD(NIC_MOVE, nic_move, .node_id = core_find(w->core, TABLE_NODE, str_from(node)),
               .mac = str_from(mac));
}

static struct command cmd_macs(struct world *w, const char *node, const char *list)
{
    return cmd_set(w, TABLE_NODE, core_find(w->core, TABLE_NODE, str_from(node)), "hint-admin-macs",
                   BUCKET_USER, list);
}

static struct command cmd_discover(struct world *w, const char *node, const char *interfaces)
{
    return cmd_set(w, TABLE_NODE, core_find(w->core, TABLE_NODE, str_from(node)), "interfaces",
                   BUCKET_DISCOVERY, interfaces);
}

static struct nic_record find_nic(struct world *w, const char *mac)
{
    struct record record;
    for (int64_t id = 0; (id = core_next_id(w->core, TABLE_NIC, id)) != 0;) {
        CHECK(core_record(w->core, TABLE_NIC, id, &record));
        if (str_eq(nic_format_mac(&w->arena, (uint64_t)record.nic.mac), str_from(mac)))
            return record.nic;
    }
    return (struct nic_record){0};
}

static int64_t owner_of(struct world *w, const char *mac)
{
    return find_nic(w, mac).node_id;
}

static int64_t node_id(struct world *w, const char *name)
{
    return core_find(w->core, TABLE_NODE, str_from(name));
}

static void make_network(struct world *w, const char *name, const char *category, const char *first,
                         const char *last)
{
    char ranges[200];
    snprintf(ranges, sizeof ranges, "[{'name':'host','first':'%s','last':'%s'}]", first, last);
    DONE(w, CMD(NETWORK_CREATE, network_create, .name = str_from(name), .conduit = STR("1g0"),
                .category = str_from(category), .ranges = world_json(w, ranges),
                .given = GIVEN_NETWORK_CONDUIT | GIVEN_NETWORK_CATEGORY));
}

/* ---- rows follow documents ---- */

TEST(the_macs_of_a_hint_become_rows)
{
    struct world *w = open_with_attribs();
    DONE(w, cmd_create(w, "n1.example.com",
                       "{'admin_macs':['52:54:00:00:00:0A','52-54-00-00-00-0b','no mac',7]}"));
    CHECK(core_count(w->core, TABLE_NIC) == 2);
    CHECK(owner_of(w, mac_a) == node_id(w, "n1.example.com") && find_nic(w, mac_a).hinted);
    DONE(w, cmd_macs(w, "n1.example.com", "[\"52:54:00:00:00:0b\"]"));
    CHECK(core_count(w->core, TABLE_NIC) == 1 && !owner_of(w, mac_a));
    DONE(w, CMD(NODE_DELETE, node_delete, .id = node_id(w, "n1.example.com")));
    CHECK(core_count(w->core, TABLE_NIC) == 0);
    world_close(w);
}

TEST(a_discovered_interface_becomes_a_row_with_its_facts)
{
    struct world *w = open_with_attribs();
    DONE(w, cmd_create(w, "n1.example.com", "{'admin_macs':['52:54:00:00:00:0a']}"));
    DONE(w,
         cmd_discover(w, "n1.example.com",
                      "{\"eth0\":{\"addresses\":{\"52:54:00:00:00:0A\":{\"family\":\"lladdr\"},"
                      "\"192.0.2.1\":{\"family\":\"inet\"}},\"bus\":\"0000:00:03.0\","
                      "\"driver\":\"virtio_net\",\"link\":true,\"speed_max\":1000},"
                      "\"br0\":{\"addresses\":{\"52:54:00:00:00:0c\":{\"family\":\"lladdr\"}},"
                      "\"bus\":null},"
                      "\"eth1\":{\"addresses\":{\"52:54:00:00:00:0d\":{\"family\":\"lladdr\"}},"
                      "\"permanent_address\":\"52:54:00:00:00:0b\"},"
                      "\"lo\":{\"addresses\":{\"00:00:00:00:00:00\":{\"family\":\"lladdr\"}}}}"));
    const struct nic_record nic = find_nic(w, mac_a);
    CHECK(core_count(w->core, TABLE_NIC) == 2);
    CHECK(nic.hinted && nic.discovered && nic.link && nic.speed_max == 1000);
    CHECK(str_eq(nic.name, STR("eth0")) && str_eq(nic.bus, STR("0000:00:03.0")));
    CHECK(str_eq(nic.driver, STR("virtio_net")));
    CHECK(find_nic(w, mac_b).discovered && !find_nic(w, mac_b).hinted);
    world_close(w);
}

TEST(parts_of_a_report_that_have_another_form_are_left_out)
{
    static const char *const nothing[] = {
        "'eth0'",
        "{'eth0':7}",
        "{'eth0':{}}",
        "{'eth0':{'addresses':['52:54:00:00:00:0a']}}",
        "{'eth0':{'addresses':{'52:54:00:00:00:0a':{}}}}",
        "{'eth0':{'addresses':{'52:54:00:00:00:0a':{'family':7}}}}",
        "{'eth0':{'addresses':{'52:54:00:00:00:0a':{'family':'inet'}}}}",
        "{'eth0':{'addresses':{'52:54:00:00:00':{'family':'lladdr'}}}}",
        "{'eth0':{'bus':'','permanent_address':'52:54:00:00:00:0a'}}",
        "{'eth0':{'bus':7,'permanent_address':'52:54:00:00:00:0a'}}",
        "{'eth0':{'permanent_address':'01:00:5e:00:00:01'}}",
    };
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
        struct world *w = open_with_attribs();
        DONE(w, cmd_create(w, "n1.example.com", "{'admin_macs':'52:54:00:00:00:0a'}"));
        DONE(w, cmd_discover(w, "n1.example.com", nothing[i]));
        CHECK(core_count(w->core, TABLE_NIC) == 0);
        world_close(w);
    }
    /* Facts that are wrong do not prevent the row. The first device of two with one MAC counts. */
    struct world *w = open_with_attribs();
    DONE(w, cmd_create(w, "n1.example.com", "{}"));
    static const char *const odd[] = {"'fast'", "-1", "0", "4294967296", "1.5", "null"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        char report[400];
        snprintf(report, sizeof report,
                 "{'eth0':{'permanent_address':'52:54:00:00:00:0a','driver':7,'link':'yes',"
                 "'speed_max':%s},'eth1':{'permanent_address':'52:54:00:00:00:0a','link':true}}",
                 odd[i]);
        DONE(w, cmd_discover(w, "n1.example.com", report));
        const struct nic_record nic = find_nic(w, mac_a);
        if (!nic.discovered || nic.link || nic.speed_max || nic.driver.len)
            world_fail(HERE, "%s: speed %u", odd[i], nic.speed_max);
        CHECK(str_eq(nic.name, STR("eth0")) && core_count(w->core, TABLE_NIC) == 1);
    }
    DONE(w, cmd_discover(w, "n1.example.com",
                         "{\"eth0\":{\"permanent_address\":"
                         "\"52:54:00:00:00:0a\",\"speed_max\":4294967295}}"));
    CHECK(find_nic(w, mac_a).speed_max == UINT32_MAX);
    DONE(w, cmd_discover(w, "n1.example.com",
                         "{'eth0':{'permanent_address':'52:54:00:00:00:0a','speed_max':1}}"));
    CHECK(find_nic(w, mac_a).speed_max == 1);
    world_close(w);
}

TEST(a_report_that_changes_nothing_writes_no_row)
{
    struct world *w = open_with_attribs();
    const char *report = "{\"eth0\":{\"permanent_address\":\"52:54:00:00:00:0a\"}}";
    DONE(w, cmd_create(w, "n1.example.com", "{}"));
    DONE(w, cmd_discover(w, "n1.example.com", report));
    const int64_t before = find_nic(w, mac_a).updated_at;
    w->now_ms += 1000;
    DONE(w, cmd_discover(w, "n1.example.com", report));
    DONE(w, cmd_discover(w, "n1.example.com",
                         "{\"eth0\":{\"permanent_address\":\"52:54:00:00:00:0a\"},"
                         "\"eth1\":{\"permanent_address\":\"52:54:00:00:00:0b\"}}"));
    CHECK(find_nic(w, mac_a).updated_at == before && find_nic(w, mac_b).updated_at > before);
    world_close(w);
}

/* ---- ownership ---- */

TEST(a_hint_with_the_mac_of_another_node_is_refused_and_names_it)
{
    struct world *w = open_with_attribs();
    DONE(w, cmd_create(w, "n1.example.com", "{'admin_macs':['52:54:00:00:00:0a']}"));
    HAS(REFUSED(w, cmd_create(w, "n2.example.com", "{'admin_macs':['52-54-00-00-00-0A']}"),
                MAC_TAKEN, "hint"),
        "node n1.example.com");
    REFUSED(w, cmd_register("n2.example.com", "", mac_a), MAC_TAKEN, "mac");
    DONE(w, cmd_create(w, "n2.example.com", "{}"));
    REFUSED(w, cmd_macs(w, "n2.example.com", "[\"52:54:00:00:00:0a\"]"), MAC_TAKEN, "value");
    CHECK(owner_of(w, mac_a) == node_id(w, "n1.example.com"));
    world_close(w);
}

TEST(a_reported_mac_of_another_node_is_not_taken_and_is_listed)
{
    struct world *w = open_with_attribs();
    DONE(w, cmd_create(w, "n1.example.com", "{'admin_macs':['52:54:00:00:00:0a']}"));
    DONE(w, cmd_create(w, "n2.example.com", "{}"));
    DONE(w, cmd_discover(w, "n2.example.com",
                         "{\"eth0\":{\"permanent_address\":\"52:54:00:00:00:0a\"},"
                         "\"eth1\":{\"permanent_address\":\"52:54:00:00:00:0b\"}}"));
    CHECK(owner_of(w, mac_a) == node_id(w, "n1.example.com"));
    CHECK(owner_of(w, mac_b) == node_id(w, "n2.example.com"));
    const node_ix n2 = node_by_id(w->core, node_id(w, "n2.example.com"));
    node_ix owner = {0};
    const uint64_t mac = nics_next_conflict(w->core, n2, &w->arena, 0, &owner);
    CHECK(str_eq(nic_format_mac(&w->arena, mac), str_from(mac_a)));
    CHECK(node_at(w->core, owner)->o.id == node_id(w, "n1.example.com"));
    CHECK(nics_next_conflict(w->core, n2, &w->arena, mac, &owner) == 0);
    const struct cause *cause =
        core_why(w->core, TABLE_NODE, node_id(w, "n2.example.com"), &w->arena);
    while (cause->next)
        cause = cause->next;
    CHECK(cause->code == CAUSE_MAC_TAKEN && cause->object_id == node_id(w, "n1.example.com"));
    HAS(str_z(&w->arena, cause->text), "52:54:00:00:00:0a, which belongs to node `n1.example.com`");
    world_close(w);
}

/* ---- a MAC whose owner has gone ---- */

static const char report_a[] = "{\"eth0\":{\"permanent_address\":\"52:54:00:00:00:0a\"}}";

static struct command cmd_delete(struct world *w, const char *name)
{
    return CMD(NODE_DELETE, node_delete, .id = node_id(w, name));
}

/* n1 has the MAC a, and n2 has reported it. */
static struct world *open_with_reported(struct command (*report)(struct world *w))
{
    struct world *w = open_with_attribs();
    DONE(w, cmd_create(w, "n1.example.com", "{'admin_macs':['52:54:00:00:00:0a']}"));
    DONE(w, cmd_create(w, "n2.example.com", "{}"));
    DONE(w, report(w));
    CHECK(owner_of(w, mac_a) == node_id(w, "n1.example.com"));
    return w;
}

static struct command report_attrib(struct world *w)
{
    return cmd_discover(w, "n2.example.com", report_a);
}

static struct command report_discovery(struct world *w)
{
    struct command command =
        CMD(ATTRIB_SET, attrib_set, .target = TABLE_NODE, .id = node_id(w, "n2.example.com"),
            .bucket = BUCKET_DISCOVERY,
            .value = STR_CONCAT(&w->arena, STR("{\"ohai\":{\"network\":{\"interfaces\":"),
                                str_from(report_a), STR("}}}")));
    command.depth = 1;
    return command;
}

TEST(a_reported_mac_is_taken_by_the_next_report_after_its_owner_was_deleted)
{
    struct command (*const reports[])(struct world *) = {report_attrib, report_discovery};
    for (size_t i = 0; i < 2; i++) {
        struct world *w = open_with_reported(reports[i]);
        DONE(w, reports[i](w)); /* the owner is there: nothing changes */
        CHECK(owner_of(w, mac_a) == node_id(w, "n1.example.com"));
        DONE(w, cmd_delete(w, "n1.example.com"));
        CHECK(owner_of(w, mac_a) == 0);
        DONE(w, reports[i](w));
        CHECK(owner_of(w, mac_a) == node_id(w, "n2.example.com") && find_nic(w, mac_a).discovered);
        const struct digest128 before = core_digest_now(w->core);
        DONE(w, reports[i](w));
        CHECK(digest_eq(core_digest_now(w->core), before));
        world_close(w);
    }
}

/* An owner that has dropped the MAC is like one that was deleted. */
TEST(a_reported_mac_is_taken_by_the_next_report_after_its_owner_dropped_it)
{
    struct world *w = open_with_reported(report_discovery);
    DONE(w, cmd_macs(w, "n1.example.com", "[]"));
    DONE(w, report_discovery(w));
    CHECK(owner_of(w, mac_a) == node_id(w, "n2.example.com"));
    world_close(w);
}

/* A store of an earlier version may have one MAC in two hints. */
TEST(a_mac_in_an_unchanged_hint_is_taken_after_its_owner_was_deleted)
{
    for (int way = 0; way < 2; way++) {
        struct world *w = open_with_attribs();
        const char *hint = "{'admin_macs':['52:54:00:00:00:0a']}";
        DONE(w, cmd_create(w, "n1.example.com", hint));
        DONE(w, cmd_create(w, "n2.example.com", "{}"));
        const node_ix n2 = node_by_id(w->core, node_id(w, "n2.example.com"));
        put_doc(w->core, &node_edit(w->core, n2)->hint, world_json(w, hint));
        DONE(w, cmd_delete(w, "n1.example.com"));
        if (way)
            DONE(w, cmd_macs(w, "n2.example.com", "['52:54:00:00:00:0a']"));
        else
            DONE(w, cmd_create(w, "n2.example.com", hint)); /* registers again */
        CHECK(owner_of(w, mac_a) == node_id(w, "n2.example.com") && find_nic(w, mac_a).hinted);
        world_close(w);
    }
}

TEST(a_mac_in_the_unchanged_result_of_a_run_is_taken_after_its_owner_was_deleted)
{
    struct world *w = world_open();
    DONE(w, cmd_import(w, "{'barclamp':{'name':'found','source_path':'/f'},"
                          "'roles':[{'name':'finds','jig':'script'}],"
                          "'attribs':[{'name':'hint-macs','map':'admin_macs'}]}"));
    const struct run_done_command result = {
        .result = RESULT_OK,
        .has_wall = true,
        .wall = world_json(w, "{'admin_macs':['52:54:00:00:00:0a']}")};
    DONE(w, cmd_create(w, "n1.example.com", "{'admin_macs':['52:54:00:00:00:0a']}"));
    world_node(w, "n2", NULL);
    world_bind(w, "finds@n2");
    world_commit(w, "finds@n2");
    for (int run = 0; run < 2; run++) {
        if (run)
            DONE(w, cmd_enqueue(w, "finds@n2"));
        world_deliver(w);
        world_anneal(w);
        world_finish_with(w, "finds@n2", result);
        world_deliver(w);
        world_anneal(w);
        CHECK(owner_of(w, mac_a) == node_id(w, run ? "n2.example.com" : "n1.example.com"));
        if (!run)
            DONE(w, cmd_delete(w, "n1.example.com"));
    }
    world_close(w);
}

TEST(a_moved_mac_belongs_to_the_other_node_and_leaves_the_old_hint)
{
    struct world *w = open_with_attribs();
    DONE(w, cmd_create(w, "n1.example.com",
                       "{'admin_macs':['52:54:00:00:00:0a','52:54:00:00:00:0b']}"));
    DONE(w, cmd_create(w, "n2.example.com", "{}"));
    const int64_t moved = DONE(w, cmd_move(w, "n2.example.com", "52-54-00-00-00-0A"));
    CHECK(moved == find_nic(w, mac_a).id);
    CHECK(owner_of(w, mac_a) == node_id(w, "n2.example.com") && find_nic(w, mac_a).hinted);
    CHECK(owner_of(w, mac_b) == node_id(w, "n1.example.com"));
    DONE(w, cmd_move(w, "n2.example.com", mac_a));
    DONE(w, cmd_macs(w, "n1.example.com", "[\"52:54:00:00:00:0b\"]"));
    REFUSED(w, cmd_move(w, "n2.example.com", "52:54:00:00:00:0c"), NOT_FOUND, "mac");
    REFUSED(w, cmd_move(w, "n2.example.com", "01:00:5e:00:00:01"), BAD_VALUE, "mac");
    REFUSED(w, cmd_move(w, "none", mac_a), NOT_FOUND, "node_id");
    struct command system = cmd_create(w, "s.example.com", "{}");
    system.node_create.system = true;
    DONE(w, system);
    REFUSED(w, cmd_move(w, "s.example.com", mac_a), BAD_VALUE, "node_id");
    world_close(w);
}

/* Of more MACs the first are kept, and the hint or report as a whole is stored. */
TEST(a_node_has_at_most_64_macs)
{
    struct world *w = open_with_attribs();
    char list[66 * 22 + 30];
    for (uint32_t count = 63; count <= 65; count++) {
        uint32_t at = 0;
        for (uint32_t i = 0; i < count; i++)
            at += (uint32_t)snprintf(list + at, sizeof list - at, "%s\"52:54:00:00:00:%02x\"",
                                     i ? "," : "[", i + 1);
        snprintf(list + at, sizeof list - at, "]");
        if (count == 63)
            DONE(w, cmd_create(w, "n1.example.com", "{}"));
        DONE(w, cmd_macs(w, "n1.example.com", list));
        CHECK(core_count(w->core, TABLE_NIC) == (count < 65 ? count : 64));
        CHECK(core_nics_are_complete(w->core, node_id(w, "n1.example.com")) == (count < 65));
    }
    CHECK(owner_of(w, "52:54:00:00:00:40") && !owner_of(w, "52:54:00:00:00:41"));
    DONE(w, cmd_create(w, "n2.example.com", "{'admin_macs':['52:54:00:00:01:00']}"));
    REFUSED(w, cmd_move(w, "n1.example.com", "52:54:00:00:01:00"), LIMIT_REACHED, "mac");
    CHECK(core_nics_are_complete(w->core, node_id(w, "n2.example.com")));
    CHECK(core_nics_are_complete(w->core, 4711)); /* no such node */
    world_close(w);
}

static struct str many_interfaces(struct world *w, uint32_t count)
{
    struct buf b = buf_in(&w->arena);
    for (uint32_t i = 0; i < count; i++) {
        char one[100];
        snprintf(one, sizeof one, "%s\"eth%03u\":{\"permanent_address\":\"52:54:00:00:02:%02x\"}",
                 i ? "," : "{", i, i);
        buf_put_z(&b, one);
    }
    buf_put_z(&b, "}");
    return buf_str(&b);
}

TEST(a_machine_with_more_interfaces_than_a_node_may_have_is_not_refused)
{
    for (int way = 0; way < 3; way++) {
        struct world *w = open_with_attribs();
        const struct str all = many_interfaces(w, 100);
        const struct str document =
            STR_CONCAT(&w->arena, STR("{\"ohai\":{\"network\":{\"interfaces\":"), all, STR("}}}"));
        struct command create =
            cmd_create(w, "n1.example.com", "{'admin_macs':['52:54:00:00:00:0a']}");
        if (way == 0)
            create.node_create.discovery = document;
        DONE(w, create);
        struct command report =
            CMD(ATTRIB_SET, attrib_set, .target = TABLE_NODE, .id = node_id(w, "n1.example.com"),
                .bucket = BUCKET_DISCOVERY, .value = document);
        if (way == 1) /* by the attrib */
            report = cmd_discover(w, "n1.example.com", str_z(&w->arena, all));
        report.depth = 1;
        if (way)
            DONE(w, report);
        /* The hinted one, and the first 63 of the report. */
        CHECK(core_count(w->core, TABLE_NIC) == 64 && owner_of(w, mac_a));
        CHECK(owner_of(w, "52:54:00:00:02:3e") && !owner_of(w, "52:54:00:00:02:3f"));
        CHECK(!core_nics_are_complete(w->core, node_id(w, "n1.example.com")));
        CHECK(str_has(read_node(w, "n1").discovery, STR("eth099")));
        /* Other hints of the node can be changed. */
        DONE(w, cmd_macs(w, "n1.example.com", "[\"52:54:00:00:00:0b\"]"));
        CHECK(owner_of(w, mac_b) && !owner_of(w, mac_a));
        world_close(w);
    }
}

/* ---- registration ---- */

TEST(a_machine_that_registers_again_is_the_same_node)
{
    struct world *w = open_with_attribs();
    DONE(w, cmd_register("n1.example.com", "", mac_a));
    const uint32_t count = core_count(w->core, TABLE_NODE);
    DONE(w, cmd_register("N1.example.com", "", "52-54-00-00-00-0A"));
    CHECK(core_count(w->core, TABLE_NODE) == count);
    REFUSED(w, cmd_register("n1.example.com", "", mac_b), NAME_TAKEN, "name");
    world_close(w);
}

TEST(without_networks_the_address_is_a_hint_for_the_network_admin)
{
    struct world *w = open_with_attribs();
    DONE(w, cmd_register("n1.example.com", "192.168.124.126/24", mac_a));
    struct record node;
    CHECK(core_record(w->core, TABLE_NODE, node_id(w, "n1.example.com"), &node));
    CHECK(str_eq(node.node.hint, STR("{\"admin-v4addr\":\"192.168.124.126/24\","
                                     "\"admin_macs\":[\"52:54:00:00:00:0a\"]}")));
    CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == 0);
    make_network(w, "admin", "admin", "192.168.124.81/24", "192.168.124.254/24");
    CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == 1);
    world_close(w);
}

TEST(the_address_of_a_new_node_is_allocated_in_the_range_that_contains_it)
{
    struct world *w = open_with_attribs();
    make_network(w, "general", "general", "10.0.0.1/24", "10.0.0.200/24");
    make_network(w, "admin", "admin", "192.168.124.81/24", "192.168.124.254/24");
    DONE(w, cmd_register("n1.example.com", "192.168.124.126", mac_a));
    struct record row;
    const int64_t id = core_next_id(w->core, TABLE_NETWORK_ALLOCATION, 0);
    CHECK(core_record(w->core, TABLE_NETWORK_ALLOCATION, id, &row));
    CHECK(str_eq(row.network_allocation.address, STR("192.168.124.126/24")));
    CHECK(row.network_allocation.node_id == node_id(w, "n1.example.com"));
    CHECK(core_record(w->core, TABLE_NODE, node_id(w, "n1.example.com"), &row));
    CHECK(str_starts(row.node.hint, STR("{\"admin-v4addr\":\"192.168.124.126/24\"")));

    /* The address of another node, and one that no range contains. */
    REFUSED(w, cmd_register("n2.example.com", "192.168.124.126/24", mac_b), ADDRESS_TAKEN, "ip");
    REFUSED(w, cmd_register("n2.example.com", "172.16.0.1", mac_b), NOT_FOUND, "ip");
    REFUSED(w, cmd_register("n2.example.com", "172.16.0.300", mac_b), BAD_VALUE, "ip");
    REFUSED(w, cmd_register("n2.example.com", "10.0.0.9", "x"), BAD_VALUE, "mac");
    DONE(w, cmd_register("n2.example.com", "10.0.0.9", mac_b));
    CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == 2);

    /* Of the ranges that overlap, those of the network `unmanaged` only. */
    static const char *const names[] = {"loose", "unmanaged"};
    for (int i = 0; i < 2; i++) {
        REFUSED(w, cmd_register("n3.example.com", "172.16.0.1", ""), NOT_FOUND, "ip");
        DONE(w, CMD(NETWORK_CREATE, network_create, .name = str_from(names[i]),
                    .given = GIVEN_NETWORK_CONDUIT | GIVEN_NETWORK_CONFIGURE, .conduit = STR("1g0"),
                    .ranges = world_json(w, "[{'name':'v6','first':'fd00::1/64',"
                                            "'last':'fd00::9/64','overlap':true},"
                                            "{'name':'any','first':'0.0.0.1/0',"
                                            "'last':'223.255.255.254/0','overlap':true}]")));
    }
    DONE(w, cmd_register("n3.example.com", "172.16.0.1", ""));
    DONE(w, cmd_register("n4.example.com", "10.0.0.10", ""));
    REFUSED(w, cmd_register("n5.example.com", "240.0.0.1", ""), NOT_FOUND, "ip");
    CHECK(core_record(w->core, TABLE_NETWORK_ALLOCATION, 3, &row));
    CHECK(str_eq(row.network_allocation.address, STR("172.16.0.1/0")));
    CHECK(row.network_allocation.network_id == core_find(w->core, TABLE_NETWORK, STR("unmanaged")));
    CHECK(core_record(w->core, TABLE_NETWORK_ALLOCATION, 4, &row));
    CHECK(str_eq(row.network_allocation.address, STR("10.0.0.10/24")));
    world_close(w);
}

TEST(a_hint_that_names_a_free_address_allocates_it)
{
    struct world *w = open_with_attribs();
    make_network(w, "admin", "admin", "192.168.124.81/24", "192.168.124.254/24");
    DONE(w, cmd_create(w, "n1.example.com", "{'admin-v4addr':'192.168.124.90/24'}"));
    CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == 1);
    /* A second node with the same hint works as without networks: it has no allocation. */
    DONE(w, cmd_create(w, "n2.example.com", "{'admin-v4addr':'192.168.124.90/24'}"));
    CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == 1);
    DONE(w, cmd_set(w, TABLE_NODE, node_id(w, "n2.example.com"), "hint-admin-v4addr", BUCKET_USER,
                    "\"192.168.124.91/24\""));
    CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == 2);

    /* A freed address is not taken again because another value of the node changes. */
    DONE(w, CMD(NETWORK_DEALLOCATE, network_deallocate,
                .id = core_next_id(w->core, TABLE_NETWORK_ALLOCATION, 0)));
    DONE(w, cmd_macs(w, "n1.example.com", "[\"52:54:00:00:00:0b\"]"));
    CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == 1);
    world_close(w);
}

TEST(a_known_machine_registers_again_whatever_its_address_is)
{
    struct world *w = open_with_attribs();
    make_network(w, "net", "admin", "10.1.0.1/24", "10.1.0.9/24");
    const int64_t id = DONE(w, cmd_register("n1.example.com", "10.1.0.5", mac_a));
    CHECK(DONE(w, cmd_register("n1.example.com", "10.9.9.9", mac_a)) == id);
    CHECK(core_count(w->core, TABLE_NETWORK_ALLOCATION) == 1);
    REFUSED(w, cmd_register("n1.example.com", "10.9.9", mac_a), BAD_VALUE, "ip");
    REFUSED(w, cmd_register("n2.example.com", "10.9.9.9", mac_b), NOT_FOUND, "ip");
    world_close(w);
}

TEST(a_machine_that_registers_with_its_lease_gets_an_address_of_its_own)
{
    struct world *w = open_with_attribs();
    make_network(w, "net", "admin", "10.1.0.1/24", "10.1.0.9/24");
    const int64_t pool = DONE(
        w, CMD(NETWORK_RANGE_CREATE, network_range_create, .network_id = 1,
               .given = GIVEN_RANGE_NAME | GIVEN_RANGE_FIRST | GIVEN_RANGE_LAST,
               .name = STR("dhcp"), .first = STR("10.1.0.20/24"), .last = STR("10.1.0.29/24")));
    const struct command take = CMD(LEASE_TAKE, lease_take, .range_id = pool, .lease_s = 600,
                                    .address = STR("10.1.0.20"), .mac = str_from(mac_a));
    DONE(w, take);
    REFUSED(w, cmd_register("n2.example.com", "10.1.0.20", mac_b), ADDRESS_TAKEN, "ip");
    DONE(w, cmd_register("n1.example.com", "10.1.0.20", mac_a));
    struct record record;
    CHECK(core_record(w->core, TABLE_NETWORK_ALLOCATION, 1, &record));
    CHECK(str_eq(record.network_allocation.address, STR("10.1.0.1/24")));
    CHECK(core_count(w->core, TABLE_LEASE) == 1);
    CHECK(core_record(w->core, TABLE_NODE, node_id(w, "n1.example.com"), &record));
    CHECK(!str_has(record.node.hint, STR("v4addr")));
    world_close(w);
}

TEST(a_system_node_gets_no_address)
{
    struct world *w = open_with_attribs();
    make_network(w, "net", "admin", "10.1.0.1/24", "10.1.0.9/24");
    struct command command = cmd_register("n1.example.com", "10.1.0.5", "");
    command.node_create.system = true;
    REFUSED(w, command, BAD_VALUE, "ip");
    world_close(w);
}

/* ---- rows of older versions, check ---- */

TEST(records_of_nics_that_no_command_makes_are_not_loaded)
{
    struct world *w = open_with_attribs();
    DONE(w, cmd_create(w, "n1.example.com", "{'admin_macs':['52:54:00:00:00:0a']}"));
    struct nic_record record = find_nic(w, mac_a);
    struct nic row = *nic_at(w->core, nic_find(w->core, (uint64_t)record.mac));
    static const int64_t wrong[] = {0, -1, 0x52540000000a, 0x01005e000001, INT64_C(1) << 48};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        record.mac = wrong[i];
        CHECK(!nic_can_load(w->core, &row, &record));
    }
    record.mac = 0xfe0000000001;
    CHECK(nic_can_load(w->core, &row, &record));
    row.node.v = 0;
    CHECK(!nic_can_load(w->core, &row, &record));
    /* A node with 64 of them gets no other. */
    char list[64 * 22 + 30] = "{'admin_macs':[";
    uint32_t at = (uint32_t)strlen(list);
    for (uint32_t i = 0; i < 64; i++)
        at += (uint32_t)snprintf(list + at, sizeof list - at, "%s'52:54:00:00:01:%02x'",
                                 i ? "," : "", i + 1);
    snprintf(list + at, sizeof list - at, "]}");
    DONE(w, cmd_create(w, "n2.example.com", list));
    row.node = (node_ix){name_find(w->core, TABLE_NODE, STR("n2.example.com"))};
    CHECK(!nic_can_load(w->core, &row, &record));
    world_close(w);
}

TEST(the_check_finds_nics_that_do_not_match_their_nodes)
{
    struct world *w = open_with_attribs();
    struct core *c = w->core;
    DONE(w, cmd_create(w, "n1.example.com", "{'admin_macs':['52:54:00:00:00:0a']}"));
    DONE(w, cmd_create(w, "n2.example.com", "{'admin_macs':['52:54:00:00:00:0b']}"));
    const nic_ix k = nic_find(c, 0x52540000000a);
    const node_ix n1 = nic_at(c, k)->node;
    nic_edit(c, k)->hinted = false;
    HAS(core_check(c, &w->arena), "neither hint nor discovery mentions a nic");
    nic_edit(c, k)->hinted = true;
    nic_edit(c, k)->mac = 0x52540000000b;
    HAS(core_check(c, &w->arena), "two nodes have one MAC");
    nic_edit(c, k)->mac = 0x52540000000a;
    nic_edit(c, k)->node = (node_ix){name_find(c, TABLE_NODE, STR("n2.example.com"))};
    HAS(core_check(c, &w->arena), "a node lists a nic that is not its own");
    nic_edit(c, k)->node.v = 99;
    HAS(core_check(c, &w->arena), "the node of a nic does not exist");
    nic_edit(c, k)->node = n1;
    ids_remove(c, &node_derive(c, n1)->nics, TABLE_NIC, k.v);
    HAS(core_check(c, &w->arena), "incomplete");
    ids_insert(c, &node_derive(c, n1)->nics, TABLE_NIC, k.v);
    omap_put(&c->macs, 7, k.v);
    HAS(core_check(c, &w->arena), "incomplete");
    CHECK(omap_remove(&c->macs, 7) && core_check(c, &w->arena) == NULL);
    world_close(w);
}

TEST(rows_are_made_once_for_a_store_without_them)
{
    struct world *w = open_with_attribs();
    DONE(w, cmd_create(w, "n1.example.com", "{'admin_macs':['52:54:00:00:00:0a']}"));
    const int64_t before = find_nic(w, mac_a).updated_at;
    w->now_ms += 1000;
    DONE(w, CMD(NICS_MAKE, nics_make, .unused = 0));
    CHECK(find_nic(w, mac_a).updated_at == before);

    /* As in a store of a version without these rows: the older of two nodes gets the MAC. */
    struct core *c = w->core;
    DONE(w, cmd_create(w, "n2.example.com", "{}"));
    settings_edit(c, (settings_ix){core_next_row(c, TABLE_SETTINGS, 0)})->nics_made = false;
    DONE(w, CMD(NICS_MAKE, nics_make, .unused = 0));
    CHECK(owner_of(w, mac_a) == node_id(w, "n1.example.com"));
    CHECK(core_count(c, TABLE_NIC) == 1);
    world_close(w);
}

TEST(a_mac_moves_to_a_node_whose_hint_has_one_of_another_node)
{
    struct world *w = open_with_attribs();
    struct core *c = w->core;
    DONE(w, cmd_create(w, "n1.example.com", "{'admin_macs':['52:54:00:00:00:0a']}"));
    DONE(w, cmd_create(w, "n2.example.com", "{}"));
    DONE(w, cmd_create(w, "n3.example.com", "{'admin_macs':['52:54:00:00:00:0b']}"));
    /* As in a store of a version without these rows. */
    put_doc(c, &node_edit(c, (node_ix){name_find(c, TABLE_NODE, STR("n2.example.com"))})->hint,
            world_json(w, "{'admin_macs':['52:54:00:00:00:0a']}"));
    DONE(w, cmd_move(w, "n2.example.com", mac_b));
    CHECK(owner_of(w, mac_b) == node_id(w, "n2.example.com"));
    CHECK(owner_of(w, mac_a) == node_id(w, "n1.example.com"));
    world_close(w);
}
