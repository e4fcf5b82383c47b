/* Goal: a DNS service exists from the first success of a noderole that lists it until that noderole
 * is proposed, redeployed or deleted, so that a run that is repeated changes no entry. Method:
 * every state of the noderole is entered by commands; the ids of the entries show that none was
 * made again. core_check(), which world.h calls after each step, compares the services with the
 * rows. */
#include "tests/world/dns_world.h"

static const char dns[] = "dns-list@dns";

/* The service "system" exists, and the entry of n1. */
static struct world *open_with_entry(int64_t *out_entry)
{
    struct world *w = dns_open();
    dns_serve(w, "['system']");
    dns_node(w, "n1", "prod");
    dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}");
    EXPECT_STR(dns_names(w), "n1 A by f");
    *out_entry = core_next_id(w->core, TABLE_DNS_NAME_ENTRY, 0);
    return w;
}

/* The entry is the same row, now and after a load. */
static void expect_kept(struct world *w, int64_t entry, const char *state, struct where where)
{
    world_is(w, dns, state, where);
    for (int round = 0; round < 2; round++) {
        if (round)
            world_reload(w);
        world_anneal(w);
        world_expect_str(dns_names(w), "n1 A by f", where);
        if (core_next_id(w->core, TABLE_DNS_NAME_ENTRY, 0) != entry)
            world_fail(where, "the entry was made again");
    }
}

#define KEPT(w, entry, state) expect_kept((w), (entry), (state), HERE)

static void expect_none(struct world *w, const char *state, struct where where)
{
    world_anneal(w);
    world_is(w, dns, state, where);
    world_expect_str(dns_names(w), "", where);
    world_reload(w);
    world_anneal(w);
    world_expect_str(dns_names(w), "", where);
}

#define NONE(w, state) expect_none((w), (state), HERE)

/* As dns_open(), with another definition of the role. */
static struct world *open_with_role(const char *definition)
{
    struct world *w = world_open();
    world_role(w, "base", "");
    world_role(w, "dns-list", definition);
    dns_set_lists_services(w, "dns-list", "dns-list_servers");
    world_committed_deployment(w, "prod");
    world_node(w, "dns", NULL);
    world_bind(w, dns);
    dns_network(w, "alpha", "general", "1g0", ALPHA_RANGES);
    return w;
}

TEST(a_noderole_that_has_not_succeeded_lists_nothing)
{
    struct world *w = open_with_role(
        "'attribs':[{'name':'dns-list_servers','map':'dns/servers','schema':{'type':'any'}}]");
    dns_node(w, "n1", "prod");
    dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}");
    DONE(w, cmd_set(w, TABLE_NODEROLE, the_noderole(w, dns), "dns-list_servers", BUCKET_USER,
                    "['system']"));
    NONE(w, "proposed");
    world_commit(w, dns);
    world_deliver(w);
    NONE(w, "transition");
    world_finish(w, dns, RESULT_FAILED);
    NONE(w, "error");
    DONE(w, cmd_retry(w, dns));
    world_deliver(w);
    NONE(w, "transition");
    world_finish(w, dns, RESULT_OK);
    world_anneal(w);
    IS(w, dns, "active");
    EXPECT_STR(dns_names(w), "n1 A by f");
    world_close(w);
}

TEST(a_run_that_is_repeated_changes_no_entry)
{
    int64_t entry;
    struct world *w = open_with_entry(&entry);
    DONE(w, cmd_retry(w, dns));
    IS(w, dns, "todo");
    KEPT(w, entry, "todo");
    world_deliver(w);
    world_anneal(w);
    KEPT(w, entry, "transition");
    world_finish(w, dns, RESULT_OK);
    world_anneal(w);
    KEPT(w, entry, "active");
    world_close(w);
}

TEST(a_run_that_fails_changes_no_entry)
{
    int64_t entry;
    struct world *w = open_with_entry(&entry);
    DONE(w, cmd_retry(w, dns));
    world_deliver(w);
    world_anneal(w);
    world_finish(w, dns, RESULT_FAILED);
    KEPT(w, entry, "error");
    DONE(w, cmd_retry(w, dns));
    world_anneal(w);
    KEPT(w, entry, "transition");
    world_close(w);
}

TEST(a_node_that_is_not_alive_changes_no_entry)
{
    int64_t entry;
    struct world *w = open_with_entry(&entry);
    world_alive(w, "dns", false);
    KEPT(w, entry, "todo");
    world_alive(w, "dns", true);
    world_close(w);
}

TEST(a_noderole_that_waits_for_a_parent_changes_no_entry)
{
    struct world *w = open_with_role("'requires':['base'],'attribs':["
                                     "{'name':'dns-list_servers','map':'dns/servers'}]");
    world_bring(w, "base@dns", "active");
    dns_serve(w, "['system']");
    dns_node(w, "n1", "prod");
    dns_filter(w, "f", "net.name == \"alpha\"", 10, "{{node.name}}");
    const int64_t entry = core_next_id(w->core, TABLE_DNS_NAME_ENTRY, 0);
    DONE(w, cmd_retry(w, "base@dns"));
    world_anneal(w);
    world_finish(w, "base@dns", RESULT_FAILED);
    KEPT(w, entry, "blocked");
    world_close(w);
}

/* Entries follow the list that the run returns, once, when it ends. */
TEST(entries_follow_the_list_at_the_end_of_the_run)
{
    int64_t entry;
    struct world *w = open_with_entry(&entry);
    DONE(w, cmd_retry(w, dns));
    world_deliver(w);
    world_anneal(w);
    KEPT(w, entry, "transition");
    world_finish_with(
        w, dns,
        (struct run_done_command){.result = RESULT_OK,
                                  .has_wall = true,
                                  .wall = world_json(w, "{'dns':{'servers':['lab']}}")});
    NONE(w, "active");
    world_close(w);
}

TEST(a_proposed_noderole_ends_its_services_until_it_is_committed)
{
    int64_t entry;
    struct world *w = open_with_entry(&entry);
    DONE(w, cmd_propose(w, dns));
    NONE(w, "proposed");
    world_commit(w, dns);
    world_anneal(w);
    EXPECT_STR(dns_names(w), "n1 A by f");
    world_close(w);
}

TEST(a_redeploy_ends_services_until_the_next_success)
{
    int64_t entry;
    struct world *w = open_with_entry(&entry);
    DONE(w, CMD(NODE_REDEPLOY, node_redeploy, .id = the_node(w, "dns")));
    world_anneal(w);
    CHECK(read_noderole(w, dns).run_count == 0);
    EXPECT_STR(dns_names(w), "");
    world_alive(w, "dns", true);
    world_available(w, "dns", true);
    dns_serve(w, "['system']");
    EXPECT_STR(dns_names(w), "n1 A by f");
    world_close(w);
}

TEST(a_deleted_noderole_ends_its_services)
{
    int64_t entry;
    struct world *w = open_with_entry(&entry);
    DONE(w, CMD(NODEROLE_DELETE, noderole_delete, .id = the_noderole(w, dns)));
    world_anneal(w);
    EXPECT_STR(dns_names(w), "");
    world_close(w);
}
