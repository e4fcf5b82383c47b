/* Goal: an interface is served only after a search for foreign DHCP servers, router advertisements
 * are sent only where they do no harm, and all state is bounded.
 * Method: dialogs in text (dhcp_dialog.h), and floods of messages of more clients than the tables
 * hold. */
#include "tests/unit/boot/dhcp_dialog.h"

#define N3  "> machine id=3 name=n3 env=local macs=3 at=10.0.0.7/24@1\n"
#define PXE " class=PXEClient:Arch:00007 arch=7"

static void dialog_with_new(const char *text)
{
    struct dialog *d = dialog_new(true);
    dialog_run(d, text);
    dialog_free(d);
}

/* ---- foreign servers ---- */

TEST(an_interface_is_served_four_seconds_after_its_search)
{
    dialog_with_new(N3 "> request mac=3 want=10.0.0.7\n"
                       "> wait 0\n"
                       "< discover 0.0.0.0 broadcast class=halligan-boot size=300\n"
                       "> wait 3\n"
                       "> request mac=3 want=10.0.0.7\n"
                       "> wait 1\n"
                       "> request mac=3 want=10.0.0.7\n"
                       "< ack 10.0.0.7\n"
                       "> wait 295\n"
                       "> wait 1\n"
                       "< discover 0.0.0.0\n"
                       "> offer server=10.0.0.1 yi=10.0.0.50\n" /* one of ours */
                       "> request mac=3 want=10.0.0.7\n"
                       "< ack 10.0.0.7\n");
}

TEST(a_segment_with_a_foreign_server_is_left_to_it)
{
    dialog_with_new(N3 "> wait 0\n"
                       "< discover 0.0.0.0\n"
                       "> offer server=10.0.0.9 yi=10.0.0.50 off=1\n" /* of another transaction */
                       "> offer server=10.0.0.9 yi=10.0.0.50 mac=9\n" /* to another client */
                       "> ack server=10.0.0.9 yi=10.0.0.50\n"
                       "> offer server=10.0.0.9 yi=10.0.0.50\n"
                       "< observe foreign-server 10.0.0.9\n"
                       "> offer server=10.0.0.9 yi=10.0.0.50\n"
                       "> wait 4\n"
                       "> request mac=3 want=10.0.0.7\n"
                       "> discover mac=3\n"
                       "> wait 296\n"
                       "< discover 0.0.0.0\n"
                       "> wait 300\n"
                       "< discover 0.0.0.0\n"
                       "> offer server=10.0.0.9 yi=10.0.0.50\n" /* it is still there */
                       "> wait 300\n"
                       "< discover 0.0.0.0\n"
                       "> wait 300\n"
                       "< discover 0.0.0.0\n"
                       "> wait 300\n"
                       "< discover 0.0.0.0\n"
                       "> request mac=3 want=10.0.0.7\n"
                       "> wait 300\n"
                       "< observe foreign-server-gone 10.0.0.9\n"
                       "< discover 0.0.0.0\n"
                       "> request mac=3 want=10.0.0.7\n"
                       "< ack 10.0.0.7\n");
}

TEST(settings_accept_foreign_servers_on_an_interface)
{
    dialog_with_new(N3 "> settings {\"dhcp\":{\"foreign\":[\"eth0\"]},\"provisioner\":{}}\n"
                       "> wait 0\n"
                       "< discover 0.0.0.0\n"
                       "> offer server=10.0.0.9 yi=10.0.0.50\n"
                       "< observe foreign-server 10.0.0.9\n"
                       "> wait 4\n"
                       "> request mac=3 want=10.0.0.7\n"
                       "< ack 10.0.0.7\n"
                       "> discover mac=9 want=10.0.0.101" PXE "\n"
                       "< probe 10.0.0.101\n"
                       "> settings {\"dhcp\":{\"foreign\":[\"eth1\"]},\"provisioner\":{}}\n"
                       "> discover mac=10" PXE "\n");
    dialog_with_new(N3 "> wait 0\n"
                       "< discover 0.0.0.0\n"
                       "> offer server=10.0.0.9 yi=10.0.0.50\n"
                       "< observe foreign-server 10.0.0.9\n"
                       "> wait 4\n"
                       "> settings {\"dhcp\":{\"foreign\":[\"eth0\"]}}\n"
                       "> wait 0\n"
                       "> request mac=3 want=10.0.0.7\n"
                       "< ack 10.0.0.7\n");
}

TEST(leases_are_renewed_while_foreign_servers_are_searched)
{
    dialog_with_new(N3 "> lease id=1 mac=9 at=10.0.0.102/24\n"
                       "> wait 0\n"
                       "< discover 0.0.0.0\n"
                       "> request mac=3 ci=10.0.0.7 from=10.0.0.7 to=10.0.0.1\n"
                       "< ack 10.0.0.7\n"
                       "> request mac=9 ci=10.0.0.102 from=10.0.0.102 to=10.0.0.1\n"
                       "< ack 10.0.0.102\n"
                       "> request mac=3 ci=10.0.0.7 from=10.0.0.7\n" /* rebinding */
                       "> request mac=3 ci=10.0.0.7 from=10.0.0.7 to=10.0.0.9\n"
                       "> request mac=3 want=10.0.0.7 ci=10.0.0.7 to=10.0.0.1\n"
                       "> request mac=3 server=10.0.0.1 ci=10.0.0.7 to=10.0.0.1\n"
                       "> request mac=3 want=10.0.0.7 to=10.0.0.1\n"
                       "> inform mac=3 ci=10.0.0.7 to=10.0.0.1\n"
                       "> discover mac=3 ci=10.0.0.7 to=10.0.0.1\n"
                       "> offer server=10.0.0.9 yi=10.0.0.50\n"
                       "< observe foreign-server 10.0.0.9\n"
                       "> request mac=3 ci=10.0.0.7 from=10.0.0.7 to=10.0.0.1\n"
                       "< ack 10.0.0.7\n"
                       "> wait 4\n" /* the segment is left to it */
                       "> request mac=3 ci=10.0.0.7 from=10.0.0.7 to=10.0.0.1\n");
}

TEST(a_foreign_server_that_comes_later_stops_only_unknown_machines)
{
    dialog_with(N3 "> lease id=1 mac=9 at=10.0.0.102/24\n"
                   "> lease id=2 mac=8 at=10.0.0.103/24 left=100\n"
                   "> offer server=10.0.0.9 yi=10.0.0.50\n"
                   "< observe foreign-server 10.0.0.9\n"
                   "> request mac=3 want=10.0.0.7\n"
                   "< ack 10.0.0.7\n"
                   "> discover mac=9" PXE "\n"
                   "> request mac=9 ci=10.0.0.102 from=10.0.0.102\n"
                   "< ack 10.0.0.102\n"
                   "> request mac=8 ci=10.0.0.103 from=10.0.0.103\n"
                   "< take 10.0.0.103\n"
                   "> discover mac=10" PXE "\n"
                   "> request mac=10 server=10.0.0.1 want=10.0.0.101" PXE "\n"
                   "> inform mac=10 ci=10.0.0.44" PXE "\n"
                   "> discover mac=11 gi=10.9.0.2 local=10.0.0.1 want=10.9.0.105" PXE "\n"
                   "< offer 10.9.0.105\n"); /* another segment */
}

TEST(searches_of_boot_servers_are_not_answered)
{
    dialog_with("> settings {\"dhcp\":{\"unknown\":\"all\"}}\n"
                "> discover mac=9 class=halligan-boot\n"
                "> discover mac=9 class=halligan-boots want=10.0.0.101\n"
                "< probe 10.0.0.101\n");
}

TEST(an_interface_that_changes_is_searched_again_and_others_are_not)
{
    struct dialog *d = dialog_new(false);
    CHECK(dhcp_next_deadline(&d->dhcp) == 1000000 + 300000);
    dialog_interface(d, 0, true); /* the addresses are the same */
    CHECK(d->dhcp.ports[0].phase == DHCP_PHASE_SERVED);
    dhcp_remove_interface(&d->dhcp, 0);
    CHECK(d->dhcp.ports[0].phase == DHCP_PHASE_OFF);
    CHECK(dhcp_next_deadline(&d->dhcp) == INT64_MAX);
    dialog_interface(d, 0, true);
    dialog_run(d, "> wait 0\n< discover 0.0.0.0\n");
    CHECK(d->dhcp.ports[0].phase == DHCP_PHASE_STARTING);
    CHECK(dhcp_next_deadline(&d->dhcp) == d->now_ms + 4000);
    dialog_run(d, "> settings {}\n> wait 0\n");
    CHECK(d->dhcp.ports[0].phase == DHCP_PHASE_OFF);
    CHECK(d->dhcp.ports[1].phase == DHCP_PHASE_OFF); /* no network of ours */
    dhcp_remove_interface(&d->dhcp, 99);
    dialog_free(d);
}

/* ---- router advertisements ---- */

#define LINK_LOCAL "from=fe800000000000005054000000000003"
#define RA         "bytes=86000000000000000000000000000000010152540000ff00"

TEST(a_machine_that_boots_gets_a_bare_advertisement)
{
    dialog_with(N3 "> solicit mac=3 " LINK_LOCAL "\n"
                   "< advertise to=fe800000000000005054000000000003 " RA "\n"
                   "> solicit mac=9\n"
                   "> discover mac=9 want=10.0.0.101" PXE "\n"
                   "< probe 10.0.0.101\n"
                   "> solicit mac=9\n"
                   "< advertise to=ff020000000000000000000000000001 " RA "\n"
                   "> solicit bytes=85000000000000000101525400000009\n"
                   "< advertise " RA "\n"
                   "> solicit mac=3 bytes=8500000000000000010152540000000a\n" /* option 1 counts */
                   "> solicit mac=3 bytes=85000000000000000101535400000003\n" /* a group address */
                   "< advertise " RA "\n"
                   "> wait 600\n"
                   "< discover 0.0.0.0\n"
                   "> solicit mac=9\n");
}

TEST(no_advertisement_is_sent_where_another_router_may_be)
{
    dialog_with(N3 "> forward\n"
                   "> solicit mac=3\n");
    dialog_with(N3 "> advert mac=65280\n" /* our own */
                   "> solicit mac=3\n"
                   "< advertise\n"
                   "> advert mac=7 hops=254\n" /* forwarded: not of this segment */
                   "> solicit mac=3\n"
                   "< advertise\n"
                   "> advert mac=7\n"
                   "> solicit mac=3\n"
                   "> wait 1799\n"
                   "< discover 0.0.0.0\n"
                   "> solicit mac=3\n"
                   "> wait 1\n"
                   "> solicit mac=3\n"
                   "< advertise\n");
    dialog_with_new(N3 "> solicit mac=3\n"); /* not served yet */
}

TEST(solicitations_that_are_not_well_formed_are_ignored)
{
    dialog_with(N3 "> solicit mac=3 hops=254\n"
                   "> solicit mac=3 slot=7\n"
                   "> solicit mac=3 bytes=85000000000000\n"
                   "> solicit mac=3 bytes=8501000000000000\n"
                   "> solicit mac=3 bytes=8000000000000000\n"
                   "> solicit mac=3 bytes=85000000000000000100525400000003\n"
                   "> solicit mac=3 bytes=85000000000000000102525400000003\n"
                   "> solicit mac=3 bytes=850000000000000001015254000000\n"
                   "> solicit mac=3 bytes=85000000000000000e01525400000009\n"
                   "< advertise\n"); /* an unknown option is skipped */
}

/* ---- bounds ---- */

static void put_pool(struct dialog *d, const char *first, const char *last)
{
    struct boot_entry e = {.key = {BOOT_RANGE, 12}};
    e.range = (struct boot_range){
        .network = 1, .name = STR("DHCP"), .first = str_from(first), .last = str_from(last)};
    dialog_put(d, &e);
}

TEST(addresses_of_routers_of_the_server_and_of_the_subnet_itself_are_not_offered)
{
    struct dialog *d = dialog_new(false);
    dialog_run(d, "> settings {\"dhcp\":{\"networks\":{\"big\":{\"unknown\":\"none\"}}}}\n");
    put_pool(d, "10.0.0.253/24", "10.0.0.255/24");
    dialog_run(d, "> discover mac=9 want=10.0.0.254" PXE "\n"
                  "< probe 10.0.0.253\n"
                  "> discover mac=10 want=10.0.0.255" PXE "\n"
                  "< observe pool-full mac=10\n"
                  "> request mac=10 server=10.0.0.1 want=10.0.0.254" PXE "\n");
    put_pool(d, "10.0.0.0/24", "10.0.0.2/24");
    dialog_run(d, "> discover mac=9 want=10.0.0.1" PXE "\n"
                  "< probe 10.0.0.2\n"
                  "> request mac=11 server=10.0.0.1 want=10.0.0.0" PXE "\n"
                  "> request mac=11 server=10.0.0.1 want=10.0.0.3" PXE "\n");
    put_pool(d, "10.0.0.0/31", "10.0.0.1/31"); /* such a subnet has no broadcast address */
    dialog_run(d, "> discover mac=12" PXE "\n"
                  "< probe 10.0.0.0\n");
    dialog_free(d);
}

TEST(unknown_machines_get_no_more_leases_than_allowed)
{
    struct dialog *d = dialog_new(false);
    dialog_run(d, "> settings {\"dhcp\":{\"networks\":{\"big\":{\"unknown\":\"none\"}}},"
                  "\"provisioner\":{\"unknown_max\":2}}\n"
                  "> lease id=1 mac=7 at=10.0.0.102/24 left=2400\n"
                  "> discover mac=8" PXE "\n"
                  "< probe 10.0.0.1*\n"
                  "> lease id=2 mac=9 at=10.0.0.103/24 left=2400\n"
                  "> discover mac=10" PXE "\n"
                  "< observe pool-full mac=10\n"
                  "> request mac=10 server=10.0.0.1 want=10.0.0.104" PXE "\n"
                  "> request mac=9 server=10.0.0.1 want=10.0.0.103" PXE "\n"
                  "< ack 10.0.0.103\n");
    dialog_free(d);
}

TEST(addresses_that_have_rested_are_taken_last)
{
    for (uint32_t mac = 20; mac < 30; mac++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "> settings {\"dhcp\":{\"networks\":{\"big\":{\"unknown\":\"none\"}}}}\n"
                 "> lease id=1 mac=7 at=10.0.0.100/24 state=1 left=10\n"
                 "> lease id=2 at=10.0.0.101/24 state=2 left=10\n"
                 "> lease id=3 mac=7 at=10.0.0.103/24 state=1 left=10\n"
                 "> wait 10\n"
                 "> discover mac=%u want=10.0.0.101" PXE "\n"
                 "< probe 10.0.0.102\n",
                 mac);
        dialog_with(text);
    }
}

TEST(pools_of_other_networks_in_the_same_subnet_are_not_used)
{
    struct dialog *d = dialog_new(false);
    struct boot_entry e = {.key = {BOOT_RANGE, 42}};
    e.range = (struct boot_range){.network = 4,
                                  .name = STR("dhcp"),
                                  .first = STR("10.0.0.200/24"),
                                  .last = STR("10.0.0.250/24")};
    dialog_put(d, &e);
    dialog_run(d, "> settings {\"dhcp\":{\"unknown\":\"all\",\"networks\":{\"big\":"
                  "{\"unknown\":\"none\"}}}}\n"
                  "> discover mac=8 want=10.0.0.205\n"
                  "< probe 10.0.0.10*\n"
                  "> request mac=8 server=10.0.0.1 want=10.0.0.205\n"
                  "> lease id=1 mac=9 at=10.0.0.205/24 range=42\n"
                  "> request mac=9 ci=10.0.0.205 from=10.0.0.205\n"
                  "< nak 0.0.0.0\n");
    dialog_free(d);
}

/* A pool of 65,000 addresses in network 2, which all unknown machines may use. */
static struct dialog *flood_new(void)
{
    struct dialog *d = dialog_new(false);
    struct boot_entry e = {.key = {BOOT_RANGE, 21}};
    e.range = (struct boot_range){.network = 2,
                                  .name = STR("dhcp"),
                                  .first = STR("10.1.1.0/16"),
                                  .last = STR("10.1.255.254/16")};
    dialog_put(d, &e);
    return d;
}

static const struct dhcp_action *flood_discover(struct dialog *d, uint32_t mac)
{
    char text[128];
    snprintf(text, sizeof text, "discover mac=%u class=PXEClient", mac);
    dialog_input(d, str_from(text));
    return d->out.first;
}

TEST(outstanding_offers_and_waiting_requests_are_bounded)
{
    struct dialog *d = flood_new();
    uint64_t first_token = 0;
    for (uint32_t i = 0; i < DHCP_OFFERS_MAX + 100; i++) {
        const struct dhcp_action *action = flood_discover(d, 1000 + i);
        CHECK(action && action->kind == DHCP_PROBE);
        first_token = i ? first_token : action->token;
    }
    CHECK(d->dhcp.offers.index.count == DHCP_OFFERS_MAX);
    CHECK(d->dhcp.offered_addresses.index.count == DHCP_OFFERS_MAX);
    CHECK(d->dhcp.pending.index.count == DHCP_PENDING_MAX);
    /* The oldest one was lost. */
    d->out = (struct dhcp_out){.arena = &d->arena};
    const struct dhcp_probed lost = {first_token, 0, d->now_ms};
    dhcp_probed(&d->dhcp, &d->view, &lost, &d->out);
    CHECK(!d->out.first);
    const struct dhcp_probed kept = {d->token, 0, d->now_ms};
    dhcp_probed(&d->dhcp, &d->view, &kept, &d->out);
    CHECK(d->out.first && d->out.first->kind == DHCP_SEND);
    CHECK(dhcp_next_deadline(&d->dhcp) == d->now_ms + 4000);
    /* All blocks of waiting requests are freed. */
    dialog_run(d, "> wait 31\n");
    CHECK(d->dhcp.pending.index.count == 0 && d->dhcp.offers.index.count == DHCP_OFFERS_MAX);
    const uint64_t used = d->dhcp.heap.used;
    for (uint32_t i = 0; i < 5000; i++)
        flood_discover(d, 20000 + i);
    dialog_run(d, "> wait 31\n");
    CHECK(d->dhcp.heap.used <= used + used / 2);
    dialog_free(d);
}

TEST(each_client_of_a_flood_has_an_address_of_its_own)
{
    struct dialog *d = flood_new();
    enum { CLIENTS = 3000 };
    static uint32_t seen[65536];
    memset(seen, 0, sizeof seen);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        const struct dhcp_action *action = flood_discover(d, 1000 + i);
        CHECK(action->address != 0 && seen[action->address & 0xffff]++ == 0);
    }
    dialog_free(d);
}

TEST(a_long_run_of_used_addresses_is_left_behind)
{
    struct dialog *d = flood_new();
    struct boot_entry e = {.key = {BOOT_LEASE, 1}};
    char address[32];
    d->view.settings.unknown_max = 65536;
    /* All but the last 512 addresses. */
    for (uint32_t i = 0; i < 65279 - 512; i++) {
        snprintf(address, sizeof address, "10.1.%u.%u/16", 1 + i / 256, i % 256);
        e.key.id = 100 + i;
        e.lease = (struct boot_lease){.mac = (int64_t)(MAC_BASE + 0x100000 + i),
                                      .network = 2,
                                      .range = 21,
                                      .address = str_from(address),
                                      .left_ms = 600000};
        struct buf bytes = buf_in(&d->arena);
        boot_entry_encode(&e, &bytes);
        CHECK(view_put(&d->view, buf_str(&bytes), d->now_ms) == OK);
    }
    uint32_t found = 0;
    for (uint32_t i = 0; i < 100; i++) {
        const struct dhcp_action *action = flood_discover(d, 1000 + i);
        found += action && action->kind == DHCP_PROBE;
    }
    CHECK(found >= 99);
    dialog_free(d);
}

TEST(declines_and_observations_are_limited)
{
    struct dialog *d = flood_new();
    uint32_t declined = 0, observed = 0;
    for (uint32_t i = 0; i < 40; i++) {
        char text[128];
        const struct dhcp_action *action = flood_discover(d, 1000 + i);
        CHECK(action && action->kind == DHCP_PROBE);
        snprintf(text, sizeof text, "decline mac=%u want=%s server=10.1.0.1", 1000 + i,
                 dialog_dotted(action->address));
        dialog_input(d, str_from(text));
        for (action = d->out.first; action; action = action->next) {
            declined += action->kind == DHCP_DECLINE;
            observed += action->kind == DHCP_OBSERVE;
        }
    }
    CHECK(declined == 16 && observed == 16);
    CHECK(d->dhcp.counters[DHCP_TYPE_DECLINE][DHCP_RESULT_ACCEPTED] == 16);
    CHECK(d->dhcp.counters[DHCP_TYPE_DECLINE][DHCP_RESULT_LIMITED] == 24);
    dialog_run(d, "> lease id=1 mac=9 at=10.0.0.102/24\n"
                  "> decline mac=9 want=10.0.0.102 server=10.0.0.1\n"
                  "> wait 4\n"
                  "> decline mac=9 want=10.0.0.102 server=10.0.0.1\n"
                  "< decline 10.0.0.102\n"
                  "< observe declined\n"
                  "> decline mac=9 want=10.0.0.102 server=10.0.0.1\n");
    dialog_free(d);
}

TEST(a_table_loses_what_was_written_longest_ago)
{
    struct undo undo;
    struct heap heap;
    struct arena a = {0};
    struct dhcp_table t;
    undo_init(&undo);
    heap_init(&heap, &undo);
    dhcp_table_init(&t, &heap, &a, 3);
    CHECK(!dhcp_table_oldest(&t) && !dhcp_table_is_full(&t));
    for (uint64_t key = 1; key <= 3; key++)
        dhcp_table_put(&t, key, 100)->value = key;
    CHECK(dhcp_table_is_full(&t));
    dhcp_table_put(&t, 1, 200); /* now 2 is the oldest one */
    CHECK(dhcp_table_oldest(&t)->key == 2);
    CHECK(dhcp_table_put(&t, 4, 100)->value == 0);
    CHECK(!dhcp_table_find(&t, 2, 0) && dhcp_table_find(&t, 1, 199)->value == 1);
    CHECK(!dhcp_table_find(&t, 1, 200) && !dhcp_table_find(&t, 3, 100));
    dhcp_table_remove(&t, 1);
    dhcp_table_remove(&t, 1);
    CHECK(!dhcp_table_find(&t, 1, 0) && !dhcp_table_is_full(&t));
    dhcp_table_put(&t, 5, 100);
    CHECK(dhcp_table_oldest(&t)->key == 3 && dhcp_table_is_full(&t) && t.used == 3);
    for (uint64_t key = 3; key <= 5; key++)
        dhcp_table_remove(&t, key);
    CHECK(!dhcp_table_oldest(&t));
    heap_fini(&heap);
    undo_fini(&undo);
    arena_fini(&a);
}

TEST(packets_are_counted_by_type_and_result)
{
    struct dialog *d = dialog_new(false);
    dialog_run(d, N3 "> discover mac=3\n< probe 10.0.0.7\n> probed clear\n< offer 10.0.0.7\n"
                     "> request mac=3 want=10.0.0.7\n< ack 10.0.0.7\n"
                     "> request mac=3 want=10.0.0.8\n< nak 0.0.0.0\n"
                     "> discover slot=1 mac=3\n> discover mac=9\n> solicit mac=3\n< advertise\n");
    /* A message with padding, as long as is accepted, and one byte longer; and none. */
    struct dialog_line line;
    line.count = dialog_words(STR("discover mac=9"), line.words);
    const struct str message = dialog_build(d, &line, DHCPDISCOVER);
    char *longest = arena_zalloc(&d->arena, DHCP_PACKET_MAX + 1);
    memcpy(longest, message.at, message.len);
    const uint32_t lens[] = {DHCP_PACKET_MAX, DHCP_PACKET_MAX + 1, 0};
    for (uint32_t i = 0; i < 3; i++) {
        const struct dhcp_packet packet = {.bytes = {longest, lens[i]}, .now_ms = d->now_ms};
        dhcp_receive(&d->dhcp, &d->view, &packet, &d->out);
    }
    uint64_t(*counters)[DHCP_RESULT_COUNT] = d->dhcp.counters;
    CHECK(counters[DHCP_TYPE_DISCOVER][DHCP_RESULT_PROBING] == 1);
    CHECK(counters[DHCP_TYPE_DISCOVER][DHCP_RESULT_OFFERED] == 1);
    CHECK(counters[DHCP_TYPE_DISCOVER][DHCP_RESULT_OUTSIDE] == 1);
    CHECK(counters[DHCP_TYPE_DISCOVER][DHCP_RESULT_NOT_ELIGIBLE] == 2);
    CHECK(counters[DHCP_TYPE_REQUEST][DHCP_RESULT_ACKED] == 1);
    CHECK(counters[DHCP_TYPE_REQUEST][DHCP_RESULT_NAKED] == 1);
    CHECK(counters[DHCP_TYPE_SOLICITATION][DHCP_RESULT_ADVERTISED] == 1);
    CHECK(counters[DHCP_TYPE_OTHER][DHCP_RESULT_MALFORMED] == 2);
    CHECK(strcmp(dhcp_type_name(DHCP_TYPE_DISCOVER), "discover") == 0);
    CHECK(strcmp(dhcp_result_name(DHCP_RESULT_NOT_ELIGIBLE), "not-eligible") == 0);
    dialog_free(d);
}
