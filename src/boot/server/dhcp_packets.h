/* dhcp_packets.h - headers of packets that are read from packet sockets or sent through them.
 *
 * Pure functions over bytes: IPv4 and UDP around DHCP messages, and ARP. Addresses are numbers in
 * host order.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

enum {
    ARP_PACKET_SIZE = 28,     /* ARP for IPv4 over Ethernet (RFC 826) */
    UDP_PACKET_OVERHEAD = 28, /* IPv4 header without options, and UDP header */
};

/* A UDP payload and its addresses. */
struct udp_datagram {
    uint32_t source, destination;
    uint16_t source_port, destination_port;
    struct str bytes;
};

/* Reads an IPv4 packet that begins with its header. False if it is not an unfragmented UDP packet,
 * or a length in it is wrong. Checksums are not verified. */
bool udp_packet_read(struct str packet, struct udp_datagram *out_datagram);
/* Writes the packet into `out_bytes`, which has UDP_PACKET_OVERHEAD more bytes than the payload,
 * and returns its size. */
uint32_t udp_packet_write(const struct udp_datagram *datagram, uint8_t *out_bytes);

/* An ARP probe (RFC 5227): which host has the address? */
void arp_probe_write(uint64_t mac, uint32_t address, uint8_t out_bytes[ARP_PACKET_SIZE]);
/* Reads an ARP reply: the sender. False if the bytes are something else. */
bool arp_reply_read(struct str packet, uint32_t *out_address, uint64_t *out_mac);
