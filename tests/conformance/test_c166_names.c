/* Goal: cases 166 to 171: which allocations a name filter selects, which names it gives, and how
 * names follow filters and DNS services. Method: commands through the core; core_check() compares
 * all names with an evaluation after each step (world.h). */
#include "tests/world/dns_world.h"

#include <string.h>

/* A world in which the node n1, in deployment prod, has an address, a role and an attrib value. */
static struct world *open_with_allocation(int64_t *out_allocation)
{
    struct world *w = dns_open();
    world_role(w, "web", "");
    world_node_attrib(w, "rack-row", "'map':'rack/row','schema':{'type':'str'}");
    *out_allocation = dns_node(w, "n1", "prod");
    world_bind_in(w, "web@n1", "prod");
    DONE(w, cmd_set(w, TABLE_NODE, the_node(w, "n1"), "rack-row", BUCKET_USER, "'r1'"));
    dns_serve(w, "[{'name':'system','address':'192.168.124.10'}]");
    return w;
}

TEST(c166_a_filter_matches_by_network_range_deployment_role_and_attribute)
{
    static const struct {
        const char *matcher;
        bool matches;
    } rows[] = {
        {"net.category == \"general\"", true},
        {"net.category == \"admin\"", false},
        {"net.name == \"alpha\"", true},
        {"net.name == \"beta\"", false},
        {"range.name == \"host\"", true},
        {"range.name == \"dhcp\"", false},
        {"deployment.name == \"prod\"", true},
        {"deployment.name == \"system\"", false},
        {"node.role has \"web\"", true},
        {"node.role has \"dns-list\"", false},
        {"node.attr.no-such-attrib == \"r1\"", false},
        {"node.attr.rack-row == \"r1\"", true},
        {"node.attr.rack-row == \"r2\"", false},
        {"net.category == \"general\", node.role has \"web\"", true},
        {"net.category == \"admin\", node.role has \"web\"", false},
        {"net.category == \"general\", node.role has \"dns-list\"", false},
        {"net.color == \"general\"", false},
    };
    int64_t allocation;
    struct world *w = open_with_allocation(&allocation);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int64_t f = dns_filter(w, "f", rows[i].matcher, 10, "{{node.name}}");
        struct str name;
        const enum dns_name_verdict verdict =
            core_dns_name(w->core, allocation, f, &w->arena, &name);
        if (verdict != (rows[i].matches ? DNS_NAME_GIVEN : DNS_NAME_NO_MATCH))
            world_fail(HERE, "%s: verdict %d", rows[i].matcher, (int)verdict);
        EXPECT_STR(dns_names(w), rows[i].matches ? "n1 A by f" : "");
        DONE(w, CMD(DNS_NAME_FILTER_DELETE, dns_name_filter_delete, .id = f));
    }
    world_close(w);
}

TEST(c167_a_template_replaces_known_tokens_and_keeps_unknown_ones)
{
    int64_t allocation;
    struct world *w = open_with_allocation(&allocation);
    struct str name;
    const int64_t f =
        dns_filter(w, "f", "net.name == \"alpha\"", 10,
                   "{{node.name}}.{{node.id}}.{{node.mac}}.{{node.deployment}}.{{network.name}}."
                   "{{network.range}}.{{network.category}}.{{node.color}}");
    /* The unknown token stays, so the result is no DNS name and no entry is made. */
    CHECK(core_dns_name(w->core, allocation, f, &w->arena, &name) == DNS_NAME_INVALID);
    char wanted[200];
    snprintf(wanted, sizeof wanted, "n1.%lld..prod.alpha.host.general.{{node.color}}",
             (long long)the_node(w, "n1"));
    EXPECT_STR(str_z(&w->arena, name), wanted);
    EXPECT_STR(dns_names(w), "");
    world_node_attrib(w, "hint-admin-macs", "'map':'admin_macs','schema':{'type':'any'}");
    DONE(w, cmd_set(w, TABLE_NODE, the_node(w, "n1"), "hint-admin-macs", BUCKET_USER,
                    "['52:54:00:AB:CD:EF','52:54:00:00:00:01']"));
    CHECK(core_dns_name(w->core, allocation, f, &w->arena, &name) == DNS_NAME_INVALID);
    HAS(str_z(&w->arena, name), ".52-54-00-ab-cd-ef.");
    world_close(w);
}

TEST(c168_a_filter_claims_an_allocation_only_if_it_matches)
{
    int64_t allocation;
    struct world *w = open_with_allocation(&allocation);
    uint32_t count;
    dns_filter(w, "other", "net.name == \"beta\"", 10, "{{node.name}}");
    core_dns_name_entries_of(w->core, allocation, &w->arena, &count);
    CHECK(count == 0);
    const int64_t f = dns_filter(w, "this", "net.name == \"alpha\"", 20, "{{node.name}}");
    const int64_t *ids = core_dns_name_entries_of(w->core, allocation, &w->arena, &count);
    CHECK(count == 1 && core_next_dns_name_entry_of(w->core, f, 0) == ids[0] &&
          core_next_dns_name_entry_of(w->core, f, ids[0]) == 0);
    CHECK(str_eq(core_dns_name_entry_type(w->core, ids[0]), STR("A")));
    EXPECT_STR(dns_names(w), "n1 A by this");
    world_close(w);
}

static void change_filter(struct world *w, int64_t id, uint32_t given, const char *text)
{
    DONE(w, CMD(DNS_NAME_FILTER_UPDATE, dns_name_filter_update, .id = id, .given = given,
                .matcher = str_from(text), .service = str_from(text), .template = str_from(text)));
    world_anneal(w);
}

TEST(c169_names_follow_the_filter_that_gave_them)
{
    int64_t allocation;
    struct world *w = open_with_allocation(&allocation);
    const int64_t f = dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}");
    EXPECT_STR(dns_names(w), "n1 A by f");
    const int64_t entry = core_next_id(w->core, TABLE_DNS_NAME_ENTRY, 0);
    change_filter(w, f, GIVEN_FILTER_TEMPLATE, "{{node.name}}-{{network.name}}");
    EXPECT_STR(dns_names(w), "n1-alpha A by f");
    CHECK(core_next_id(w->core, TABLE_DNS_NAME_ENTRY, 0) == entry);
    change_filter(w, f, GIVEN_FILTER_MATCHER, "net.name == \"beta\"");
    EXPECT_STR(dns_names(w), "");
    change_filter(w, f, GIVEN_FILTER_MATCHER, "range.name == \"host\"");
    EXPECT_STR(dns_names(w), "n1-alpha A by f");
    DONE(w, CMD(DNS_NAME_FILTER_DELETE, dns_name_filter_delete, .id = f));
    EXPECT_STR(dns_names(w), "");
    CHECK(core_count(w->core, TABLE_DNS_NAME_ENTRY) == 0);
    world_close(w);
}

TEST(c170_two_filters_that_match_own_one_entry_each)
{
    for (int order = 0; order < 2; order++) {
        int64_t allocation;
        struct world *w = open_with_allocation(&allocation);
        const int64_t first = dns_filter(w, "first", "net.name == \"alpha\"", order ? 20 : 10, "a");
        const int64_t second =
            dns_filter(w, "second", "range.name == \"host\"", order ? 10 : 20, "b");
        EXPECT_STR(dns_names(w), "a A by first, b A by second");
        DONE(w, CMD(DNS_NAME_FILTER_DELETE, dns_name_filter_delete, .id = first));
        EXPECT_STR(dns_names(w), "b A by second");
        DONE(w, CMD(DNS_NAME_FILTER_DELETE, dns_name_filter_delete, .id = second));
        EXPECT_STR(dns_names(w), "");
        world_close(w);
    }
}

TEST(c171_without_the_dns_service_there_are_no_entries)
{
    struct world *w = dns_open();
    const int64_t allocation = dns_node(w, "n1", "prod");
    struct str name;
    /* No noderole that lists services is ACTIVE. */
    const int64_t f = dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}");
    EXPECT_STR(dns_names(w), "");
    CHECK(core_dns_name(w->core, allocation, f, &w->arena, &name) == DNS_NAME_NO_SERVICE);
    /* The list has another service. */
    dns_serve(w, "['lab']");
    EXPECT_STR(dns_names(w), "");
    change_filter(w, f, GIVEN_FILTER_SERVICE, "lab");
    EXPECT_STR(dns_names(w), "n1 A by f");
    change_filter(w, f, GIVEN_FILTER_SERVICE, "system");
    EXPECT_STR(dns_names(w), "");
    dns_serve(w, "[{'name':'lab'},{'name':'system'}]");
    EXPECT_STR(dns_names(w), "n1 A by f");
    world_close(w);
}
