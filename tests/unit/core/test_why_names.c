/* Goal: core_why_names() names each filter that matches an address of a node and gives it no DNS
 * name, with the text that was made, what is wrong with it and what to do; the list is bounded, and
 * nothing is listed that has a name. Method: filters that go wrong in each way. */
#include "tests/world/dns_world.h"

#include <string.h>

/* The service "system" exists; n1 has the address 192.168.124.81. */
static struct world *open_served(void)
{
    struct world *w = dns_open();
    dns_serve(w, "['system']");
    dns_node(w, "n1", "prod");
    return w;
}

/* "name_invalid of f: ..." of each cause, one on a line. */
static const char *why_names(struct world *w, const char *node, bool all)
{
    struct buf b = buf_in(&w->arena);
    bool is_all = !all;
    for (const struct cause *c = core_why_names(w->core, the_node(w, node), &w->arena, &is_all); c;
         c = c->next) {
        CHECK(c->object == TABLE_DNS_NAME_FILTER && c->code != CAUSE_REASON);
        struct record filter;
        CHECK(core_record(w->core, TABLE_DNS_NAME_FILTER, c->object_id, &filter));
        buf_put_z(&b, b.len ? "\n" : "");
        buf_put_z(&b, cause_code_name(c));
        buf_put_z(&b, " of ");
        buf_put_str(&b, c->subject);
        buf_put_z(&b, ": ");
        buf_put_str(&b, c->text);
        CHECK(!c->noderole_id && !c->since);
    }
    CHECK(is_all == all);
    return str_z(&w->arena, buf_str(&b));
}

#define HEAD                                                                                       \
    "name_invalid of 192.168.124.81: filter `f` gives 192.168.124.81 of network `alpha` no name: "
#define REMEDY "; change the template of the filter, or what it inserts"

TEST(a_text_that_is_no_dns_name_is_reported_with_filter_address_and_remedy)
{
    static const struct {
        const char *template, *text;
    } rows[] = {
        {"{{node.name}}_x", HEAD
         "the text `n1_x` has a character other than letters, digits, hyphens and dots" REMEDY},
        {"{{node.color}}",
         HEAD "the text `{{node.color}}` has a character other than letters, digits, hyphens and "
              "dots" REMEDY},
        {"{{node.mac}}", HEAD "the text of its template is empty" REMEDY},
        {"{{node.mac}}.x", HEAD "the text `.x` has an empty label" REMEDY},
        {"{{node.name}}-",
         HEAD "the text `n1-` has a label that begins or ends with a hyphen" REMEDY},
    };
    struct world *w = open_served();
    const int64_t f = dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}");
    EXPECT_STR(why_names(w, "n1", true), "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        DONE(w, CMD(DNS_NAME_FILTER_UPDATE, dns_name_filter_update, .id = f,
                    .given = GIVEN_FILTER_TEMPLATE, .template = str_from(rows[i].template)));
        /* The entry is removed later, and the reason is known at once. */
        EXPECT_STR(why_names(w, "n1", true), rows[i].text);
        world_anneal(w);
        EXPECT_STR(dns_names(w), "");
        EXPECT_STR(why_names(w, "n1", true), rows[i].text);
    }
    /* The result is too long: it has no text. */
    char deployment[56] = "";
    memset(deployment, 'd', sizeof deployment - 1);
    DONE(w, CMD(DEPLOYMENT_UPDATE, deployment_update, .id = the_deployment(w, "prod"),
                .given = GIVEN_NAME, .name = str_from(deployment)));
    DONE(w, CMD(DNS_NAME_FILTER_UPDATE, dns_name_filter_update, .id = f,
                .given = GIVEN_FILTER_TEMPLATE,
                .template = STR("{{node.deployment}}.{{node.deployment}}.{{node.deployment}}."
                                "{{node.deployment}}.{{node.deployment}}")));
    EXPECT_STR(why_names(w, "n1", true),
               HEAD "the text of its template is longer than 253 characters" REMEDY);
    world_close(w);
}

TEST(a_filter_that_does_not_match_is_no_reason)
{
    struct world *w = open_served();
    bool is_all = false;
    dns_filter(w, "f", "net.name == \"beta\"", 10, "_");
    EXPECT_STR(why_names(w, "n1", true), "");
    dns_filter(w, "g", "net.name == \"alpha\"", 20, "_");
    EXPECT_STR(why_names(w, "dns", true), ""); /* no address */
    CHECK(!core_why_names(w->core, 4711, &w->arena, &is_all) && is_all);
    world_close(w);
}

TEST(a_missing_service_is_reported_once_for_each_filter_that_matches)
{
    static const char system[] =
        "name_not_served of system: filter `f` gives 192.168.124.81 of network `alpha` no name: no "
        "noderole that has succeeded lists the DNS service `system`; commit one that does, or "
        "change the service of the filter";
    struct world *w = dns_open();
    dns_node(w, "n1", "prod");
    const int64_t range = core_find(w->core, TABLE_NETWORK_RANGE, STR("alpha.dhcp"));
    DONE(w,
         CMD(NETWORK_ALLOCATE, network_allocate, .node_id = the_node(w, "n1"), .range_id = range));
    dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}_x");
    dns_filter(w, "other", "net.name == \"beta\"", 20, "x");
    EXPECT_STR(why_names(w, "n1", true), system);
    dns_serve(w, "['lab']");
    EXPECT_STR(why_names(w, "n1", true), system);
    /* With the service, each address has a reason of its own. */
    dns_serve(w, "['system']");
    HAS(why_names(w, "n1", true), "of 192.168.124.81: ");
    HAS(why_names(w, "n1", true), "\nname_invalid of 192.168.124.21: ");
    world_close(w);
}

TEST(the_list_and_the_work_are_bounded)
{
    struct world *w = open_served();
    char name[16];
    for (uint32_t i = 0; i < WHY_NAMES; i++) {
        snprintf(name, sizeof name, "f%u", i);
        DONE(w, cmd_filter(name, "net.name == \"alpha\"", i, "_"));
    }
    const char *all = why_names(w, "n1", true);
    DONE(w, cmd_filter("last", "net.name == \"alpha\"", 100, "n1"));
    EXPECT_STR(why_names(w, "n1", true), all);
    DONE(w, CMD(DNS_NAME_FILTER_UPDATE, dns_name_filter_update,
                .id = core_find(w->core, TABLE_DNS_NAME_FILTER, STR("last")),
                .given = GIVEN_FILTER_TEMPLATE, .template = STR("_")));
    EXPECT_STR(why_names(w, "n1", false), all);
    /* Reading a large hint for each filter is work. */
    static char large[200000];
    memset(large, 'x', sizeof large - 1);
    const struct str hint =
        STR_CONCAT(&w->arena, STR("{\"large\":\""), str_from(large), STR("\"}"));
    for (uint32_t i = 0; i < WHY_NAMES; i++) {
        snprintf(name, sizeof name, "f%u", i);
        DONE(w, CMD(DNS_NAME_FILTER_UPDATE, dns_name_filter_update,
                    .id = core_find(w->core, TABLE_DNS_NAME_FILTER, str_from(name)),
                    .given = GIVEN_FILTER_TEMPLATE, .template = STR("x{{node.mac}}")));
    }
    put_doc(w->core, &node_edit(w->core, node_by_id(w->core, the_node(w, "n1")))->hint, hint);
    EXPECT_STR(why_names(w, "n1", false), "");
    world_close(w);
}
