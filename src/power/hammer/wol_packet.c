/* wol_packet.c - parsing of a MAC address, and the bytes of the magic packet. Stateless. */
#include "power/hammer/wol_packet.h"

#include <string.h>

static int wol_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool wol_mac_parse(struct str text, struct wol_mac *out_mac)
{
    struct wol_mac mac;
    if (text.len != 17)
        return false;
    for (uint32_t i = 0; i < 6; i++) {
        const char *at = text.at + (size_t)3 * i;
        const bool is_last = i == 5;
        if (wol_hex_digit(at[0]) < 0 || wol_hex_digit(at[1]) < 0 ||
            (!is_last && at[2] != ':' && at[2] != '-'))
            return false;
        mac.at[i] = (uint8_t)(wol_hex_digit(at[0]) * 16 + wol_hex_digit(at[1]));
    }
    *out_mac = mac;
    return true;
}

uint32_t wol_packet_write(uint8_t out_packet[WOL_PACKET_MAX], const struct wol_mac *mac,
                          const struct wol_mac *password)
{
    memset(out_packet, 0xff, 6);
    for (uint32_t i = 1; i <= 16; i++)
        memcpy(out_packet + (size_t)6 * i, mac->at, 6);
    if (!password)
        return 102;
    memcpy(out_packet + 102, password->at, 6);
    return 108;
}
