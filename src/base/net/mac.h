/* mac.h - 48-bit MAC addresses.
 *
 * Text is accepted with colons or dashes and in either case ("52:54:00:12:34:56",
 * "52-54-00-AB-CD-EF"), because both spellings are on labels and in the output of firmware. It is
 * written with colons in lower case, so that equal addresses have equal text.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem/arena.h"
#include "base/text/str.h"

struct mac {
    uint8_t bytes[6];
};

/* False, with *out_mac unchanged, if the text is not six pairs of hexadecimal digits with one
 * kind of separator. */
bool mac_parse(struct str text, struct mac *out_mac);
/* "52:54:00:12:34:56" */
struct str mac_format(struct arena *a, struct mac mac);
/* The address as a 48-bit number, for indices; its order is that of the text. */
uint64_t mac_number(struct mac mac);
/* The address of such a number; bits above the lowest 48 are ignored. */
struct mac mac_from_number(uint64_t number);
/* False for the zero address and for group addresses (broadcast, multicast), which identify no
 * interface. */
bool mac_is_unicast(struct mac mac);
