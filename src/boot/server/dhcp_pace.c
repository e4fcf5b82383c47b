#include "boot/server/dhcp_pace.h"

bool dhcp_pace_should_pause(struct dhcp_pace *pace, uint32_t packets, int64_t now_ms)
{
    if (pace->ms != now_ms)
        *pace = (struct dhcp_pace){
            .ms = now_ms, .before = now_ms - pace->ms <= 2 * DHCP_PACE_MS ? pace->packets : 0};
    pace->packets += packets;
    const uint32_t most = pace->packets > pace->before ? pace->packets : pace->before;
    return most >= DHCP_PACE_FAST && most < DHCP_PACE_FULL;
}
