/* Goal: headers that are written are read again, have correct checksums, and no packet with a wrong
 * length is accepted.
 * Method: round trips, each cut of a packet, and each field changed. */
#include <string.h>

#include "boot/server/dhcp_packets.h"
#include "tests/check.h"

static struct udp_datagram sample(const char *payload)
{
    return (struct udp_datagram){.source = 0x0a090001,
                                 .destination = 0x0a090002,
                                 .source_port = 67,
                                 .destination_port = 68,
                                 .bytes = str_from(payload)};
}

static uint32_t sum_words(const uint8_t *at, uint32_t size, uint32_t sum)
{
    for (uint32_t i = 0; i < size; i++)
        sum += i % 2 ? at[i] : (uint32_t)at[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

TEST(a_packet_that_was_written_is_read_again)
{
    static const char *const payloads[] = {"", "a", "ab", "abc", "an even number of bytes."};
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        uint8_t bytes[128];
        struct udp_datagram read;
        const struct udp_datagram written = sample(payloads[i]);
        const uint32_t size = udp_packet_write(&written, bytes);
        CHECK(size == UDP_PACKET_OVERHEAD + written.bytes.len);
        CHECK(udp_packet_read((struct str){(const char *)bytes, size}, &read));
        CHECK(read.source == written.source && read.destination == written.destination);
        CHECK(read.source_port == 67 && read.destination_port == 68);
        CHECK(str_eq(read.bytes, written.bytes));
        /* Bytes after the packet are padding of Ethernet. */
        CHECK(udp_packet_read((struct str){(const char *)bytes, size + 5}, &read));
        CHECK(str_eq(read.bytes, written.bytes));
    }
}

TEST(checksums_of_header_and_datagram_are_correct)
{
    uint8_t bytes[128];
    const struct udp_datagram written = sample("odd");
    const uint32_t size = udp_packet_write(&written, bytes);
    CHECK(sum_words(bytes, 20, 0) == 0xffff);
    CHECK(sum_words(bytes + 20, size - 20, sum_words(bytes + 12, 8, 17 + size - 20)) == 0xffff);
}

TEST(a_checksum_of_zero_is_sent_as_all_ones)
{
    /* The payload makes the sum of all other words ffff. */
    uint8_t bytes[128];
    char payload[2] = {0, 0};
    struct udp_datagram written = sample("");
    written.bytes = (struct str){payload, 2};
    udp_packet_write(&written, bytes);
    const uint32_t checksum = (uint32_t)bytes[26] << 8 | bytes[27];
    payload[0] = (char)(checksum >> 8);
    payload[1] = (char)checksum;
    udp_packet_write(&written, bytes);
    CHECK(bytes[26] == 0xff && bytes[27] == 0xff);
}

TEST(a_packet_that_is_cut_is_refused)
{
    uint8_t bytes[128];
    struct udp_datagram read;
    const struct udp_datagram written = sample("payload");
    const uint32_t size = udp_packet_write(&written, bytes);
    for (uint32_t len = 0; len < size; len++)
        CHECK(!udp_packet_read((struct str){(const char *)bytes, len}, &read));
}

static bool is_accepted(uint32_t at, uint8_t value)
{
    uint8_t bytes[128];
    struct udp_datagram read;
    const struct udp_datagram written = sample("payload");
    const uint32_t size = udp_packet_write(&written, bytes);
    bytes[at] = value;
    return udp_packet_read((struct str){(const char *)bytes, size}, &read);
}

TEST(fragments_other_protocols_and_wrong_lengths_are_refused)
{
    CHECK(is_accepted(6, 0x40));  /* "do not fragment" */
    CHECK(!is_accepted(6, 0x20)); /* more fragments */
    CHECK(!is_accepted(7, 1));    /* a later fragment */
    CHECK(!is_accepted(9, 6));    /* TCP */
    CHECK(!is_accepted(0, 0x65)); /* version 6 */
    CHECK(!is_accepted(0, 0x44)); /* a header of 16 bytes */
    CHECK(!is_accepted(0, 0x4f)); /* a header that is longer than the packet */
    CHECK(!is_accepted(3, 27));   /* no space for the UDP header */
    CHECK(is_accepted(3, 35) && !is_accepted(3, 36));
    CHECK(!is_accepted(25, 7) && is_accepted(25, 8));
    CHECK(is_accepted(25, 15) && !is_accepted(25, 16)); /* length of UDP */
}

TEST(a_header_with_options_is_skipped)
{
    uint8_t bytes[128], longer[132] = {0};
    struct udp_datagram read;
    const struct udp_datagram written = sample("payload");
    const uint32_t size = udp_packet_write(&written, bytes);
    memcpy(longer, bytes, 20);
    memcpy(longer + 24, bytes + 20, size - 20);
    longer[0] = 0x46;
    longer[3] = (uint8_t)(size + 4);
    CHECK(udp_packet_read((struct str){(const char *)longer, size + 4}, &read));
    CHECK(str_eq(read.bytes, STR("payload")));
}

TEST(an_arp_probe_has_no_sender_address_and_its_reply_is_read)
{
    static const uint8_t expected[ARP_PACKET_SIZE] = {
        0, 1, 8, 0, 6, 4, 0, 1, 0x52, 0x54, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 9, 0, 2};
    uint8_t bytes[ARP_PACKET_SIZE + 18] = {0};
    uint32_t address = 1;
    uint64_t mac = 1;
    const struct str packet = {(const char *)bytes, sizeof bytes};
    arp_probe_write(0x525400000007, 0x0a090002, bytes);
    CHECK(memcmp(bytes, expected, sizeof expected) == 0);
    CHECK(!arp_reply_read(packet, &address, &mac)); /* a request */
    bytes[7] = 2;
    bytes[14] = 10, bytes[15] = 9, bytes[16] = 0, bytes[17] = 3;
    CHECK(arp_reply_read(packet, &address, &mac));
    CHECK(address == 0x0a090003 && mac == 0x525400000007);
    for (uint32_t len = 0; len < ARP_PACKET_SIZE; len++)
        CHECK(!arp_reply_read((struct str){packet.at, len}, &address, &mac));
    for (uint32_t at = 0; at < 8; at++) {
        bytes[at] ^= 0x10;
        CHECK(!arp_reply_read(packet, &address, &mac));
        bytes[at] ^= 0x10;
    }
}
