/* wol_packet.h - the magic packet: six bytes of ones, then the card's address sixteen times. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

#define WOL_PACKET_MAX 108u

struct wol_mac {
    uint8_t at[6];
};

/* "52:54:00:12:34:56", also with dashes, in either case. */
bool wol_mac_parse(struct str text, struct wol_mac *out_mac);
/* Returns its size: 102, or 108 with the password that some cards want. */
uint32_t wol_packet_write(uint8_t out_packet[WOL_PACKET_MAX], const struct wol_mac *mac,
                          const struct wol_mac *password);
