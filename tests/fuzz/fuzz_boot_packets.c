/* Goal: no packet and no header of a machine is read beyond its end or makes a range outside of its
 * file. Method: the input is read as an IPv4 packet, an ARP packet and a header Range; what was
 * accepted is within the input, and a UDP packet is equal after it was written and read again. */
#include <stdlib.h>
#include <string.h>

#include "boot/server/dhcp_packets.h"
#include "boot/server/file_ranges.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_udp(struct str packet)
{
    struct udp_datagram one, two;
    static uint8_t bytes[65536 + UDP_PACKET_OVERHEAD];
    if (!udp_packet_read(packet, &one))
        return;
    check(one.bytes.at >= packet.at + UDP_PACKET_OVERHEAD &&
          one.bytes.at + one.bytes.len <= packet.at + packet.len);
    const uint32_t size = udp_packet_write(&one, bytes);
    check(udp_packet_read((struct str){(const char *)bytes, size}, &two));
    check(one.source == two.source && one.destination_port == two.destination_port);
    check(str_eq(one.bytes, two.bytes));
}

static void check_arp(struct str packet)
{
    uint32_t address;
    uint64_t mac;
    if (arp_reply_read(packet, &address, &mac))
        check(mac >> 48 == 0);
}

static void check_range(struct str header, uint64_t file)
{
    uint64_t from, size;
    if (range_parse(header, file, &from, &size) == RANGE_PART)
        check(size > 0 && from < file && size <= file - from);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str bytes = {(const char *)data, (uint32_t)size};
    if (size > 65536)
        return 0;
    check_udp(bytes);
    check_arp(bytes);
    check_range(bytes, 0);
    check_range(bytes, 1);
    check_range(bytes, 1000000);
    check_range(bytes, UINT64_MAX);
    return 0;
}
