/* Goal: the last events of each machine are kept, in their order and within the bounds, and explain
 * a machine that is silent.
 * Method: events of one machine beyond the size of its ring, of more machines than are kept, and a
 * table of sentences. */
#include "daemon/boot/boot_seen.h"
#include "tests/check.h"

#include <string.h>

static struct boot_msg_seen seen_of(int64_t node, int64_t wall_ms)
{
    return (struct boot_msg_seen){.kind = BOOT_SEEN_SCRIPT,
                                  .node = node,
                                  .mac = 0x525400000001,
                                  .wall_ms = wall_ms,
                                  .detail = STR("sledgehammer")};
}

TEST(the_last_events_of_a_machine_are_kept_in_their_order)
{
    struct boot_seen *seen = boot_seen_new();
    struct seen_event events[SEEN_OWN_MAX];
    for (int64_t i = 1; i <= 3 * SEEN_OWN_MAX + 1; i++) {
        const struct boot_msg_seen one = seen_of(7, i);
        boot_seen_add(seen, 2, &one);
        const uint32_t count = boot_seen_of_node(seen, 7, events);
        CHECK(count == (i < SEEN_OWN_MAX ? i : SEEN_OWN_MAX));
        for (uint32_t k = 0; k < count; k++)
            CHECK(events[k].wall_ms == i - count + 1 + k && events[k].server == 2);
    }
    CHECK(boot_seen_of_node(seen, 8, events) == 0);
    boot_seen_free(seen);
    boot_seen_free(NULL);
}

TEST(the_machine_without_an_event_for_the_longest_time_makes_room)
{
    struct boot_seen *seen = boot_seen_new();
    struct seen_event events[SEEN_OWN_MAX];
    for (int64_t node = 1; node <= SEEN_MACHINES_MAX; node++) {
        const struct boot_msg_seen one = seen_of(node, node);
        boot_seen_add(seen, 2, &one);
    }
    const struct boot_msg_seen again = seen_of(1, 5), more = seen_of(SEEN_MACHINES_MAX + 1, 6);
    boot_seen_add(seen, 2, &again);
    boot_seen_add(seen, 2, &more);
    CHECK(boot_seen_of_node(seen, 1, events) == 2);
    CHECK(boot_seen_of_node(seen, 2, events) == 0);
    CHECK(boot_seen_of_node(seen, 3, events) == 1);
    CHECK(boot_seen_of_node(seen, SEEN_MACHINES_MAX + 1, events) == 1);
    boot_seen_free(seen);
}

TEST(an_event_without_a_node_is_not_kept)
{
    struct boot_seen *seen = boot_seen_new();
    struct seen_event events[SEEN_OWN_MAX];
    const struct boot_msg_seen one = seen_of(0, 1);
    boot_seen_add(seen, 2, &one);
    CHECK(boot_seen_of_node(seen, 0, events) == 0);
    boot_seen_free(seen);
}

TEST(a_detail_is_cut_at_its_bound)
{
    struct boot_seen *seen = boot_seen_new();
    struct seen_event events[SEEN_OWN_MAX];
    char text[2 * SEEN_DETAIL_MAX];
    memset(text, 'x', sizeof text);
    for (uint32_t len = SEEN_DETAIL_MAX - 2; len <= SEEN_DETAIL_MAX; len++) {
        struct boot_msg_seen one = seen_of(1, 1);
        one.detail = (struct str){text, len};
        boot_seen_add(seen, 2, &one);
        const uint32_t count = boot_seen_of_node(seen, 1, events);
        CHECK(strlen(events[count - 1].detail) ==
              (len < SEEN_DETAIL_MAX ? len : SEEN_DETAIL_MAX - 1));
    }
    boot_seen_free(seen);
}

TEST(the_last_event_explains_a_silent_machine)
{
    static const struct {
        enum boot_seen_kind kind;
        int64_t age_ms;
        const char *detail, *text;
    } rows[] = {
        {BOOT_SEEN_SCRIPT, 12000, "sledgehammer",
         "the last event of its boot, 12 s ago, is script (sledgehammer); it has not reported "
         "since"},
        {BOOT_SEEN_DHCP_ACKED, 119999, "",
         "the last event of its boot, 119 s ago, is dhcp-acknowledged; it has not reported since"},
        {BOOT_SEEN_DHCP_ACKED, 120000, "",
         "the last event of its boot, 2 min ago, is dhcp-acknowledged; it has not reported since"},
        {BOOT_SEEN_NO_LOADER, 7200000, "arch 11",
         "the last event of its boot, 2 h ago, is no-loader (arch 11); it has not reported since"},
        {BOOT_SEEN_SCRIPT, -5, "",
         "the last event of its boot, 0 s ago, is script; it has not reported since"},
        {BOOT_SEEN_ADDRESS_IN_USE, 1, "",
         "its address 10.0.0.7 is not offered, because the host with the MAC 02:00:00:00:00:09 "
         "uses it"},
    };
    struct arena a = {0};
    const int64_t now_ms = INT64_C(1700000000000);
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct boot_seen *seen = boot_seen_new();
        struct reason why;
        struct boot_msg_seen one = seen_of(3, now_ms - rows[i].age_ms);
        one.kind = rows[i].kind;
        one.address = 0x0a000007;
        one.other = 0x020000000009;
        one.detail = str_from(rows[i].detail);
        boot_seen_add(seen, 2, &one);
        CHECK(boot_seen_explain(seen, 3, now_ms, &a, &why));
        CHECK(str_eq(why.text, str_from(rows[i].text)));
        CHECK(why.code ==
              (one.kind == BOOT_SEEN_ADDRESS_IN_USE ? REASON_ADDRESS_IN_USE : REASON_BOOT_SILENT));
        CHECK(!boot_seen_explain(seen, 4, now_ms, &a, &why));
        CHECK(!boot_seen_explain(seen, 3, now_ms + INT64_C(25) * 3600 * 1000, &a, &why));
        boot_seen_free(seen);
    }
    arena_fini(&a);
}
