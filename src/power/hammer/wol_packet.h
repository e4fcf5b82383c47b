/* wol_packet.h - the magic packet of Wake-on-LAN: six bytes 0xff, then the MAC address of the
 * network card sixteen times, then optionally the SecureOn password. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

#define WOL_PACKET_MAX 108u

struct wol_mac {
    uint8_t at[6];
};

/* "52:54:00:12:34:56", also with dashes, in upper or lower case. */
bool wol_mac_parse(struct str text, struct wol_mac *out_mac);
/* Returns the size in bytes: 102, or 108 with a password. `password` may be NULL. */
uint32_t wol_packet_write(uint8_t out_packet[WOL_PACKET_MAX], const struct wol_mac *mac,
                          const struct wol_mac *password);
