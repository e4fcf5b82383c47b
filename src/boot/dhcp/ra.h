/* ra.h - bare router advertisements of IPv6 (RFC 4861).
 *
 * iPXE waits 16 seconds for an IPv6 router before it continues. A router advertisement with
 * lifetime 0 and without a prefix ends the wait, and adds no route to any host. It is sent only as
 * the answer to a solicitation of a machine that boots, and never where another router may be: on
 * an interface of a host that forwards IPv6, or where another advertisement was received.
 */
#pragma once

#include <stdint.h>

#include "boot/dhcp/dhcp_engine.h"

/* An ICMPv6 message that came to the all-routers or the all-nodes address. */
struct ra_packet {
    uint32_t slot;    /* of the interface */
    struct str bytes; /* from the ICMPv6 header on */
    uint8_t source[16];
    uint64_t source_mac; /* of the frame; 0 = not known, option 1 of the message is used */
    uint8_t hop_limit;   /* 255 unless it was forwarded */
    int64_t now_ms;
};

void ra_receive(struct dhcp *d, const struct view *v, const struct ra_packet *packet,
                struct dhcp_out *out);
