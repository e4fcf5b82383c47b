#include "boot/server/dhcp_packets.h"

#include <string.h>

enum {
    IPV4_HEADER = 20,
    UDP_HEADER = 8,
    TTL = 64,
    PROTOCOL_UDP = 17,
    FRAGMENT_BITS = 0x3fff, /* more fragments, or an offset */
    MAC_SIZE = 6,
};

static uint32_t packet_get16(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t packet_get32(const uint8_t *at)
{
    return packet_get16(at) << 16 | packet_get16(at + 2);
}

static void packet_put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void packet_put32(uint8_t *at, uint32_t value)
{
    packet_put16(at, value >> 16);
    packet_put16(at + 2, value & 0xffff);
}

bool udp_packet_read(struct str packet, struct udp_datagram *out_datagram)
{
    const uint8_t *ip = (const uint8_t *)packet.at;
    if (packet.len < IPV4_HEADER || ip[0] >> 4 != 4)
        return false;
    const uint32_t header = (ip[0] & 15u) * 4, total = packet_get16(ip + 2);
    if (header < IPV4_HEADER || total > packet.len || total < header + UDP_HEADER ||
        ip[9] != PROTOCOL_UDP || (packet_get16(ip + 6) & FRAGMENT_BITS) != 0)
        return false;
    const uint8_t *udp = ip + header;
    const uint32_t size = packet_get16(udp + 4);
    if (size < UDP_HEADER || size > total - header)
        return false;
    *out_datagram = (struct udp_datagram){
        .source = packet_get32(ip + 12),
        .destination = packet_get32(ip + 16),
        .source_port = (uint16_t)packet_get16(udp),
        .destination_port = (uint16_t)packet_get16(udp + 2),
        .bytes = {packet.at + header + UDP_HEADER, size - UDP_HEADER},
    };
    return true;
}

/* The sum of RFC 1071 of 16-bit words; an odd last byte is padded with zero. */
static uint32_t packet_sum(uint32_t sum, const uint8_t *at, uint32_t size)
{
    for (uint32_t i = 0; i + 1 < size; i += 2)
        sum += packet_get16(at + i);
    if (size % 2)
        sum += (uint32_t)at[size - 1] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

uint32_t udp_packet_write(const struct udp_datagram *datagram, uint8_t *out_bytes)
{
    const uint32_t udp_size = UDP_HEADER + datagram->bytes.len;
    const uint32_t total = IPV4_HEADER + udp_size;
    uint8_t *ip = out_bytes, *udp = out_bytes + IPV4_HEADER;
    memset(out_bytes, 0, UDP_PACKET_OVERHEAD);
    ip[0] = 0x45;
    packet_put16(ip + 2, total);
    ip[8] = TTL;
    ip[9] = PROTOCOL_UDP;
    packet_put32(ip + 12, datagram->source);
    packet_put32(ip + 16, datagram->destination);
    packet_put16(ip + 10, ~packet_sum(0, ip, IPV4_HEADER) & 0xffff);
    packet_put16(udp, datagram->source_port);
    packet_put16(udp + 2, datagram->destination_port);
    packet_put16(udp + 4, udp_size);
    if (datagram->bytes.len)
        memcpy(udp + UDP_HEADER, datagram->bytes.at, datagram->bytes.len);
    /* The pseudo header of RFC 768: addresses, protocol, length. A sum of 0 is sent as ffff. */
    const uint32_t pseudo = packet_sum(PROTOCOL_UDP + udp_size, ip + 12, 8);
    const uint32_t checksum = ~packet_sum(pseudo, udp, udp_size) & 0xffff;
    packet_put16(udp + 6, checksum ? checksum : 0xffff);
    return total;
}

/* Hardware type Ethernet, protocol IPv4, and their lengths. */
static const uint8_t arp_head[6] = {0, 1, 8, 0, 6, 4};

void arp_probe_write(uint64_t mac, uint32_t address, uint8_t out_bytes[ARP_PACKET_SIZE])
{
    memset(out_bytes, 0, ARP_PACKET_SIZE);
    memcpy(out_bytes, arp_head, sizeof arp_head);
    packet_put16(out_bytes + 6, 1);
    packet_put16(out_bytes + 8, (uint32_t)(mac >> 32) & 0xffff);
    packet_put32(out_bytes + 10, (uint32_t)mac);
    packet_put32(out_bytes + 24, address);
}

bool arp_reply_read(struct str packet, uint32_t *out_address, uint64_t *out_mac)
{
    const uint8_t *at = (const uint8_t *)packet.at;
    if (packet.len < ARP_PACKET_SIZE || memcmp(at, arp_head, sizeof arp_head) != 0 ||
        packet_get16(at + 6) != 2)
        return false;
    *out_mac = (uint64_t)packet_get16(at + 8) << 32 | packet_get32(at + 10);
    *out_address = packet_get32(at + 8 + MAC_SIZE);
    return true;
}
