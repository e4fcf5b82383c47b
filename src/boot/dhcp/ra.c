#include "boot/dhcp/ra.h"

#include <string.h>

#include "base/net/mac.h"
#include "boot/dhcp/dhcp_private.h"

/* The advertisement has no flags, no lifetime, no prefix, and one option: the hardware address of
 * the interface. It goes to the sender of the solicitation, or, if the sender has no address yet,
 * to all nodes. */

enum {
    ICMP6_SOLICITATION = 133,
    ICMP6_ADVERTISEMENT = 134,
    SOLICITATION_SIZE = 8,
    ADVERTISEMENT_SIZE = 16,
    OPTION_SOURCE_MAC = 1,
    OPTION_UNIT = 8,
    HOP_LIMIT = 255
};

/* The hardware address in option 1 from `at` on; 0 if there is none. False for options that are not
 * well formed. */
static bool ra_find_mac(struct str bytes, uint32_t at, uint64_t *out_mac)
{
    *out_mac = 0;
    while (at < bytes.len) {
        if (bytes.len - at < OPTION_UNIT)
            return false;
        const uint32_t size = (uint32_t)(uint8_t)bytes.at[at + 1] * OPTION_UNIT;
        if (size == 0 || size > bytes.len - at)
            return false;
        if (bytes.at[at] == OPTION_SOURCE_MAC && size == OPTION_UNIT) {
            struct mac mac;
            memcpy(mac.bytes, bytes.at + at + 2, sizeof mac.bytes);
            *out_mac = mac_is_unicast(mac) ? mac_number(mac) : 0;
        }
        at += size;
    }
    return true;
}

static void ra_add(struct dhcp_out *out, const struct dhcp_port *port,
                   const struct ra_packet *packet)
{
    static const uint8_t unspecified[16] = {0};
    static const uint8_t all_nodes[16] = {0xff, 0x02, [15] = 1};
    const bool has_source = memcmp(packet->source, unspecified, sizeof unspecified) != 0;
    uint8_t *bytes = arena_zalloc(out->arena, ADVERTISEMENT_SIZE + OPTION_UNIT);
    bytes[0] = ICMP6_ADVERTISEMENT;
    bytes[ADVERTISEMENT_SIZE] = OPTION_SOURCE_MAC;
    bytes[ADVERTISEMENT_SIZE + 1] = 1;
    dhcp_write_number(bytes + ADVERTISEMENT_SIZE + 2, (uint32_t)(port->mac >> 32), 2);
    dhcp_write_number(bytes + ADVERTISEMENT_SIZE + 4, (uint32_t)port->mac, 4);
    struct dhcp_action *action = dhcp_add_action(out, DHCP_ADVERTISE, packet->slot);
    action->bytes = (struct str){(const char *)bytes, ADVERTISEMENT_SIZE + OPTION_UNIT};
    memcpy(action->destination6, has_source ? packet->source : all_nodes,
           sizeof action->destination6);
}

static enum dhcp_result ra_answer(struct dhcp *d, const struct view *v,
                                  const struct ra_packet *packet, struct dhcp_out *out)
{
    struct dhcp_port *port = dhcp_port(d, packet->slot);
    const uint8_t type = packet->bytes.len ? (uint8_t)packet->bytes.at[0] : 0;
    uint64_t mac;
    if (!port)
        return DHCP_RESULT_OUTSIDE;
    if (packet->hop_limit != HOP_LIMIT || packet->bytes.len < SOLICITATION_SIZE)
        return DHCP_RESULT_MALFORMED;
    if (type == ICMP6_ADVERTISEMENT) {
        if (packet->source_mac != port->mac)
            port->advertised_ms = packet->now_ms + ADVERTISED_MS;
        return DHCP_RESULT_ACCEPTED;
    }
    if (type != ICMP6_SOLICITATION)
        return DHCP_RESULT_IGNORED;
    if (packet->bytes.at[1] != 0 || !ra_find_mac(packet->bytes, SOLICITATION_SIZE, &mac))
        return DHCP_RESULT_MALFORMED;
    if (port->phase != DHCP_PHASE_SERVED || port->forwards_v6 ||
        packet->now_ms < port->advertised_ms)
        return DHCP_RESULT_NOT_SERVED;
    mac = mac ? mac : packet->source_mac;
    if (!view_machine_of_mac(v, mac) && !dhcp_table_find(&d->booting, mac, packet->now_ms))
        return DHCP_RESULT_NOT_ELIGIBLE;
    ra_add(out, port, packet);
    return DHCP_RESULT_ADVERTISED;
}

void ra_receive(struct dhcp *d, const struct view *v, const struct ra_packet *packet,
                struct dhcp_out *out)
{
    const enum dhcp_result result = ra_answer(d, v, packet, out);
    const bool is_solicitation =
        packet->bytes.len && (uint8_t)packet->bytes.at[0] == ICMP6_SOLICITATION;
    d->counters[is_solicitation ? DHCP_TYPE_SOLICITATION : DHCP_TYPE_OTHER][result]++;
}
