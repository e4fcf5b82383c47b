/* dhcp_pace.h - when packets of a socket are read after a pause instead of one by one.
 *
 * A packet that is read as soon as it arrives costs a wake-up of the process and two system calls
 * of its own. If packets arrive fast, a pause of two milliseconds before the next read has many of
 * them handled together, as network cards do with their interrupts. If they arrive so fast that
 * several are there at each read anyway, a pause would only delay them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    DHCP_PACE_FAST = 4,  /* packets of one millisecond from which on reads are paused */
    DHCP_PACE_FULL = 32, /* from which on they are not */
    DHCP_PACE_MS = 2     /* length of a pause */
};

/* Zeroed at first. */
struct dhcp_pace {
    int64_t ms; /* of the last read */
    uint32_t packets;
    uint32_t before; /* in the millisecond before, if packets were read then */
};

/* Call it after each read with the number of packets. True: pause before the next one. */
bool dhcp_pace_should_pause(struct dhcp_pace *pace, uint32_t packets, int64_t now_ms);
