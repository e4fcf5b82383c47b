/* Goal: reads are paused only while packets arrive fast enough to be handled together and not so
 * fast that they are anyway. Method: reads at drawn times. */
#include "boot/server/dhcp_pace.h"
#include "tests/check.h"

#include <string.h>

/* One read in each millisecond, with these packets. A letter for each read: P = pause. */
static const char *paces_of(const uint32_t *packets, uint32_t count, char *out)
{
    struct dhcp_pace pace = {0};
    for (uint32_t i = 0; i < count; i++)
        out[i] = dhcp_pace_should_pause(&pace, packets[i], 1000 + i) ? 'P' : '-';
    out[count] = 0;
    return out;
}

TEST(reads_are_paused_from_four_packets_of_a_millisecond_on)
{
    const uint32_t packets[] = {1, 3, 0, 4, 0, 0, 5, 3, 3};
    char text[16];
    /* The one behind the fast millisecond is paused too, and not the next. */
    CHECK(strcmp(paces_of(packets, 9, text), "---PP-PP-") == 0);
}

TEST(reads_are_not_paused_from_thirty_two_packets_on)
{
    const uint32_t packets[] = {31, 32, 4, 4, 4, 128, 8, 8};
    char text[16];
    CHECK(strcmp(paces_of(packets, 8, text), "P--PP--P") == 0);
}

TEST(packets_of_one_millisecond_are_added)
{
    struct dhcp_pace pace = {0};
    for (uint32_t i = 1; i <= 40; i++)
        CHECK(dhcp_pace_should_pause(&pace, 1, 5) == (i >= DHCP_PACE_FAST && i < DHCP_PACE_FULL));
}

TEST(a_millisecond_long_ago_does_not_count)
{
    struct dhcp_pace pace = {0};
    CHECK(dhcp_pace_should_pause(&pace, 10, 100));
    CHECK(dhcp_pace_should_pause(&pace, 1, 104));
    CHECK(dhcp_pace_should_pause(&pace, 10, 108));
    CHECK(!dhcp_pace_should_pause(&pace, 1, 113));
}
